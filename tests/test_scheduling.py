"""Whatever shares a kernel, a folder or verdicts stays on one worker, and what takes longest begins first."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import conftest

ROOT = Path(__file__).parents[1]
STEPS = """
import shutil
done = []

def test_programs_of_the_environment_are_found():
    done.append(1)
    assert shutil.which("alembic")

def test_second():
    assert done == [1]
    done.append(2)

def test_third():
    assert done == [1, 2]
"""
BARE = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def test_a_lecture_takes_the_seconds_that_its_cells_say():
    source = (ROOT / "sources/lectures/08_transformer.py").read_text(encoding="utf-8")
    said = [int(number) for number in re.findall(r"^# %%.* seconds=(\d+)$", source, re.MULTILINE)]
    assert conftest.seconds_in(ROOT / "lectures/08_transformer.ipynb") == sum(said) > 0


def test_what_shares_something_stays_together():
    assert [
        conftest.group_of(nodeid)
        for nodeid in (
            "lectures/08_transformer.ipynb::Cell 0",
            "tests/autograder/batch/test_course.py::test_one[x]",
            "tests/autograder/batch/test_run.py::test_one",
            "tests/autograder/test_checks.py::test_one[a4_masks-shift_right-x-0]",
            "tests/autograder/test_checks.py::test_other",
        )
    ] == [
        "lectures/08_transformer.ipynb",
        "the sample class",
        "tests/autograder/batch/test_run.py::test_one",
        "the answers to a4_masks-shift_right",
        "tests/autograder/test_checks.py",
    ]


def test_what_trains_longest_begins_first_and_is_left_to_make_test_all():
    def item(nodeid):
        marks = []
        path = ROOT / conftest.where(nodeid)
        return SimpleNamespace(nodeid=nodeid, path=path, marks=marks, add_marker=marks.append)

    names = ["tests/autograder/batch/test_run.py::test", "tests/test_guides.py::test"]
    names += [
        f"lectures/{name}.ipynb::Cell 0" for name in ("02_basic_self_attention", "08_transformer")
    ]
    items = [*map(item, names)]
    conftest.pytest_collection_modifyitems(items)
    assert [one.nodeid for one in items] == [names[3], names[2], names[1], names[0]]
    assert [len(one.marks) for one in items] == [1, 0, 0, 0]


@pytest.mark.long
@pytest.mark.parametrize("flags", [("-pxdist", "-n2"), ()], ids=["two workers", "one process"])
def test_a_files_tests_stay_together_and_find_programs_whatever_is_typed(tmp_path, flags):
    """As the cells of a lecture must, of which each needs those before it."""
    shutil.copy(ROOT / "conftest.py", tmp_path)
    for number in range(4):
        (tmp_path / f"test_{number}.py").write_text(STEPS)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *flags, "."],
        cwd=tmp_path, env=os.environ | BARE, capture_output=True, check=False, text=True, timeout=300,
    )  # fmt: skip
    assert "12 passed" in ran.stdout.splitlines()[-1], ran.stdout


WITHOUT_XDIST = """
import sys
import pytest
sys.modules["xdist.scheduler"] = None
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.mark.long
def test_without_xdist_one_process_runs_the_tests():
    """Also those that need the sample class, which is graded once for all workers."""
    arguments = ["-pno:xdist", "-pno:xdist.looponfail", "-q", "--setup-plan"]
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_XDIST, *arguments, "tests/autograder/batch/test_classroom.py"],
        cwd=ROOT, capture_output=True, check=False, text=True, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "graded_class" in ran.stdout
