"""What takes long begins first; a test that ends its worker fails alone, and all others are run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.scheduling import Together, seconds_in

ROOT = Path(__file__).parents[1]
CONFTEST = """
from tests.scheduling import Together, longest_first

def pytest_collection_modifyitems(items):
    longest_first(items)

def pytest_xdist_make_scheduler(config, log):
    return Together(config, log)
"""
TESTS = """
import os, signal, pytest

@pytest.mark.parametrize("number", range({tests}))
def test_one(number):
    if number in {deadly}:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_lecture_takes_the_seconds_that_its_cells_say():
    lectures = sorted(ROOT.glob("lectures/*.ipynb"))
    seconds = {path.stem: seconds_in(path) for path in lectures}
    source = (ROOT / "sources/lectures/08_transformer.py").read_text(encoding="utf-8")
    said = [int(number) for number in re.findall(r"^# %%.* seconds=(\d+)$", source, re.MULTILINE)]
    assert seconds["08_transformer"] == sum(said) > 0


def ran_in(folder, files, workers):
    """Run files of tests there with this scheduler, and return what pytest said."""
    (folder / "conftest.py").write_text(CONFTEST)
    for name, (tests, deadly) in files.items():
        (folder / name).write_text(TESTS.format(tests=tests, deadly=deadly))
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-pxdist", f"-n{workers}", "--dist=loadscope", "."],
        cwd=folder,
        env=os.environ
        | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    return ran.stdout


LONG = """
import pytest
pytestmark = pytest.mark.long
def test_one(): pass
"""


@pytest.mark.long
def test_what_is_long_begins_first_and_what_is_spread_comes_last(tmp_path):
    files = {"test_few.py": (2, []), "test_many.py": (5, []), "test_run.py": (7, [])}
    (tmp_path / "test_slow.py").write_text(LONG)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = long: takes long\n")
    began = re.findall(r"PASSED (\w+)\.py", ran_in(tmp_path, files, 1))
    assert len(began) == 15
    assert list(dict.fromkeys(began)) == ["test_slow", "test_many", "test_few", "test_run"]


def test_the_notebook_that_trains_longest_comes_first_of_all():
    ids = ["tests/test_a.py::test", "lectures/02_basic_self_attention.ipynb::Cell 0"]
    ids += ["lectures/08_transformer.ipynb::Cell 0", "tests/test_checks.py::test[a4_masks-f-x-0]"]
    scheduler = Together(SimpleNamespace(rootpath=ROOT, getvalue=lambda name: ["popen"]))
    scopes = sorted(map(scheduler._split_scope, ids), key=scheduler._lateness)
    assert scopes == [
        "lectures/08_transformer.ipynb",
        "lectures/02_basic_self_attention.ipynb",
        "tests/test_a.py",
        "the answers to a4_masks-f",
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    "files",
    [
        {"test_first.py": (9, [4]), "test_second.py": (9, []), "test_third.py": (9, [])},
        {"test_run.py": (12, [0, 5]), "test_second.py": (3, [])},
        {"test_run.py": (4, [3]), "test_second.py": (3, [2])},
        {"test_only.py": (1, [0])},
    ],
    ids=["one file", "spread", "at the end", "nothing else"],
)
def test_a_worker_that_dies_takes_one_test_with_it(tmp_path, files):
    ran = ran_in(tmp_path, files, 2)
    died = sum(len(deadly) for _, deadly in files.values())
    passed = sum(tests for tests, _ in files.values()) - died
    said = f"{died} failed, {passed} passed" if passed else f"{died} failed"
    assert said in ran.splitlines()[-1], ran


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


@pytest.mark.long
@pytest.mark.parametrize("flags", [("-pxdist", "-n2"), ()], ids=["two workers", "one process"])
def test_a_files_tests_stay_together_and_find_programs_whatever_is_typed(tmp_path, flags):
    """As the cells of a lecture must, of which each needs those before it."""
    shutil.copy(ROOT / "conftest.py", tmp_path)
    for number in range(4):
        (tmp_path / f"test_{number}.py").write_text(STEPS)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *flags, "."],
        cwd=tmp_path, env=os.environ | BARE, capture_output=True, check=False, text=True, timeout=120,
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
