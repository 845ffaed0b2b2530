"""A test that ends its worker fails alone: all others are run, and the run comes to its end."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scheduling import LONG

ROOT = Path(__file__).parents[1]
CONFTEST = """
from tests.scheduling import Together

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


def test_what_takes_long_is_there():
    assert [path for path in LONG if not (ROOT / path).is_file()] == []


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
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name, (tests, deadly) in files.items():
        (tmp_path / name).write_text(TESTS.format(tests=tests, deadly=deadly))
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-pxdist", "-n2", "--dist=loadscope", "."],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    died = sum(len(deadly) for _, deadly in files.values())
    passed = sum(tests for tests, _ in files.values()) - died
    said = f"{died} failed, {passed} passed" if passed else f"{died} failed"
    assert said in ran.stdout.splitlines()[-1], ran.stdout


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


def test_without_xdist_one_process_runs_the_tests():
    """Also those that need the sample class, which is graded once for all workers."""
    arguments = ["-pno:xdist", "-pno:xdist.looponfail", "-q", "--setup-plan"]
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_XDIST, *arguments, "tests/autograder/batch/test_classroom.py"],
        cwd=ROOT, capture_output=True, check=False, text=True, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "graded_class" in ran.stdout
