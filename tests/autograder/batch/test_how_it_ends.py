"""How the command ends where the grader, the gradebook or the disk fails: each has a status and a sentence."""

import re
import shutil
import subprocess
import sys

import pytest

from autograder.batch.settings import Settings
from autograder.files import write_whole
from autograder.sandbox import bubblewrap
from tests.autograder.batch.odd_files import RIGHT
from tests.sample_class import (
    ASSIGNMENT,
    ISOLATION,
    ROOT,
    filled_in,
    grade,
    hand_in,
)
from tests.sample_class.small import command

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(bubblewrap.missing()), reason=bubblewrap.missing()),
]


def run_in(course, program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", program, *command(course)[3:], *arguments],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip


@pytest.fixture(scope="module")
def graded_once(tmp_path_factory):
    course = tmp_path_factory.mktemp("small") / "course"
    hand_in(course, {"ada": filled_in(RIGHT)})
    grade(course, settings=Settings(workers=1, isolation=ISOLATION, feedback=False))
    return course


@pytest.fixture
def small(graded_once, tmp_path):
    """A course folder that has graded one student, and has another who is new."""
    course = tmp_path / "course"
    shutil.copytree(graded_once, course)
    hand_in(course, {"new": filled_in(RIGHT)})
    return course


def test_a_crash_of_the_grader_has_an_exit_status_of_its_own(small):
    program = (
        "import sys; from autograder import __main__ as m; from autograder.batch import classroom\n"
        "def crash(*_): raise RuntimeError('nobody has thought of this')\n"
        "classroom.grade_and_compare = crash\nsys.exit(m.guarded())"
    )
    run = run_in(small, program)
    assert run.returncode == 3 and "nobody has thought of this" in run.stderr, run


def test_a_reader_who_has_seen_enough_is_no_crash(small):
    """As head or less, which close what they read from."""
    words = [sys.executable, "-m", "autograder", "extension", ASSIGNMENT, "--course", str(small)]
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    run.stdout.close()
    assert run.stderr.read() == "" and run.wait() == 141
    run.stderr.close()


@pytest.mark.parametrize("again", [[], ["--again"]], ids=["new", "again"])
def test_a_read_only_gradebook_is_named_where_a_new_student_comes(small, again):
    db = str(small / "gradebook.db")
    run = subprocess.run(
        [bubblewrap.bubblewrap(), "--dev-bind", "/", "/", "--ro-bind", db, db, *command(small), "--no-feedback",
         "--isolation", "none", *again],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 2, run
    assert db in run.stderr and "Traceback" not in run.stderr, run.stderr


@pytest.mark.parametrize("again", [[], ["--again"]], ids=["new", "again"])
def test_a_read_only_folder_is_named_where_a_new_student_comes(small, again):
    kept = str(small / "autograded")
    run = subprocess.run(
        [bubblewrap.bubblewrap(), "--dev-bind", "/", "/", "--ro-bind", kept, kept, *command(small), "--no-feedback",
         "--isolation", "none", *again],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 2, run
    assert kept in run.stderr and "Traceback" not in run.stderr, run.stderr


def test_a_disk_that_is_full_when_the_report_is_written_is_named(small):
    """By a folder that has no more room than the files that are there already."""
    program = (
        "import errno, os, sys; from autograder import __main__ as m\n"
        "def full(*_): raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))\n"
        "from autograder.batch import classroom\ngrade = classroom.grade_and_compare\n"
        "def graded(*a):\n    rows = grade(*a)\n    os.fsync = full\n    return rows\n"
        "os.fsync = lambda *_: None\nclassroom.grade_and_compare = graded\nsys.exit(m.guarded())"
    )
    run = run_in(small, program, "--no-feedback", "--isolation", "none")
    assert run.returncode == 2, run
    assert str(small / "grading" / ASSIGNMENT) in run.stderr and "No space" in run.stderr, (
        run.stderr
    )


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(OSError, match=re.escape(str(tmp_path / "none"))):
        write_whole(tmp_path / "none" / "x", "y")
