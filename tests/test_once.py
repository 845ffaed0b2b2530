"""Two runs that leave out what has passed run every test once, and say what they leave to other runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.once import need_not_run

ROOT = Path(__file__).parents[1]
CONFTEST = "from tests.hooks import *\n"
SETTINGS = """
[pytest]
markers =
    long: takes long
    slow: takes longer
addopts = -m 'not slow'
"""
TESTS = """
import os, pytest

equipped = bool(os.environ.get("EQUIPPED"))

def test_passes(): pass

@pytest.mark.skipif(not equipped, reason="something is missing")
def test_skips(): pass

def test_fails(): assert equipped

@pytest.fixture
def breaks_afterwards():
    yield
    assert equipped

def test_breaks(breaks_afterwards): pass

@pytest.mark.long
def test_long(): pass

@pytest.mark.slow
@pytest.mark.long
def test_slow(): pass
"""


@pytest.fixture
def course(tmp_path):
    """A folder under git with tests that pass, fail, or need something."""
    files = {"conftest.py": CONFTEST, "pytest.ini": SETTINGS, "test_one.py": TESTS}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    as_somebody = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "."], [*as_somebody, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def ran(course, workers, *arguments, **environment):
    """What pytest says of these tests."""
    spread = ["-pxdist", f"-n{workers}", "--dist=loadscope"] if workers else []
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-v", "-pno:cacheprovider", *spread, *arguments],
        cwd=course,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""} | environment,
        capture_output=True, check=False, text=True, timeout=120,
    )  # fmt: skip
    return done.stdout + done.stderr


def names(said):
    """The tests that passed, of which workers are told before what becomes of them."""
    found = set(re.findall(r"PASSED.*::(\w+)|::(\w+) PASSED", said))
    return sorted(before or after for before, after in found)


@pytest.mark.long
@pytest.mark.parametrize("workers", [0, 2])
def test_two_runs_cover_everything_and_repeat_nothing(course, workers):
    first = ran(course, workers, "--once", "build/passed", "-m", "not slow and not long")
    assert "0 tests had passed before, 1 have passed now, 3 were skipped or have failed" in first
    second = ran(course, workers, "--once", "build/passed", EQUIPPED="1")
    assert names(second) == ["test_breaks", "test_fails", "test_long", "test_skips"]
    assert "1 tests had passed before, 4 have passed now, 0 were skipped or have failed" in second
    third = ran(course, workers, "--once", "build/passed", EQUIPPED="1")
    assert names(third) == []
    slow = ran(course, workers, "--once", "build/passed", "-m", "slow", EQUIPPED="1")
    assert names(slow) == ["test_slow"]


def test_what_passed_in_another_state_of_the_course_does_not_count(course):
    ran(course, 0, "--once", "passed")
    (course / "test_one.py").write_text(TESTS + "\n")
    said = ran(course, 0, "--once", "passed")
    assert "says what passed before the files in" in said and "remove it, or name another" in said


def test_of_a_notebook_all_cells_are_run_again_or_none():
    passed = {"a.ipynb::Cell 0", "a.ipynb::Cell 1", "b.ipynb::Cell 0", "test_c.py::test_d"}
    ids = [*passed, "b.ipynb::Cell 1", "test_c.py::test_e"]
    assert need_not_run(ids, passed) == {"a.ipynb::Cell 0", "a.ipynb::Cell 1", "test_c.py::test_d"}


@pytest.mark.long
@pytest.mark.parametrize("workers", [0, 2])
def test_it_is_said_what_is_left_to_which_command(course, workers):
    said = ran(course, workers, "-m", "not slow and not long")
    section = said.partition("left to make test-all")[2]
    assert re.search(r"1 +test_one\.py\n +1 +together", section), said
    said = ran(course, workers)
    assert "make test-all" not in said
    assert re.search(r"left to make test-slow =+\n +1 +test_one\.py\n +1 +together", said), said
