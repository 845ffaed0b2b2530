"""A course that is kept and brought back by the commands of docs/instructors.md."""

import contextlib
import shutil
import sqlite3

import pytest

from tests.autograder.batch.living import Living
from tests.course_copy import blocks_in, run
from tests.sample_class import ASSIGNMENT

pytestmark = pytest.mark.long

KEEP, BRING_BACK, NEXT_TERM = blocks_in(
    "instructors.md", "Keep a course, bring it back, and begin the next term"
)


def files_in(course):
    """Every file with its bytes, but for those that each run writes anew."""
    return {
        path.relative_to(course.folder): path.read_bytes()
        for path in course.folder.rglob("*")
        if path.is_file() and path.name not in ("gradebook.db", "lock", "log.txt")
    }


def contents(gradebook):
    with contextlib.closing(sqlite3.connect(gradebook)) as opened:
        return sorted(opened.iterdump())


@pytest.fixture
def course(engine, tmp_path):
    """Ada and Bob are graded, Bob by hand as well, and Eve handed in an empty folder."""
    course = Living(tmp_path / "course", engine)
    course.hand_in("ada", "right_loops")
    course.hand_in("bob", "softmax_over_columns")
    (course.folder / "submitted" / "eve" / ASSIGNMENT).mkdir(parents=True)
    course.grade()
    course.by_hand("bob", "why", 1.5)
    return course


def test_a_course_comes_back_and_grading_again_changes_nothing(course, engine, tmp_path):
    rows = course.grade().rows
    held = contents(course.folder / "gradebook.db")
    run(course.folder, KEEP)
    assert (tmp_path / "kept").stat().st_mode & 0o077 == 0
    run(course.folder, BRING_BACK)
    moved = Living(tmp_path / "moved", engine)
    assert files_in(moved) == files_in(course)
    assert contents(moved.folder / "gradebook.db") == held
    shutil.rmtree(course.folder)

    graded = moved.grade()
    assert graded.rows == rows and not graded.changes.students
    assert contents(moved.folder / "gradebook.db") == held
    again = moved.grade(again=True)
    assert [row.points for row in again.rows] == [row.points for row in rows]
    assert moved.marks("bob")["why"] == (1.5, 2, False)


def test_the_next_term_has_what_is_taught_and_nobody_of_the_last(course, engine, tmp_path):
    (course.folder / "students.csv").write_text("id\nada\n")
    run(course.folder, NEXT_TERM)
    there = {path.name for path in (tmp_path / "next_term").iterdir()}
    assert {"solutions", "exercises", "nbgrader_config.py"} <= there
    assert not there & {"submitted", "autograded", "feedback", "grading", "gradebook.db"}
    assert not {path for path in there if path.endswith(".csv")}
    following = Living(tmp_path / "next_term", engine)
    following.hand_in("eve", "right_loops")
    assert [row.student for row in following.grade().rows] == ["eve"]
    secrets = {(one.folder / "grading" / "secret").read_text() for one in (course, following)}
    assert len(secrets) == 2
