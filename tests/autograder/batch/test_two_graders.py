"""Two people give scores in formgraders of their own while the class is graded: nothing that they gave is lost."""

import json
import subprocess
import sys

import pytest

from assignments import allowed_modules
from autograder.batch.engine import engine_for
from tests.autograder.batch.living import Living
from tests.sample_class import ASSIGNMENT, SETTINGS

pytestmark = pytest.mark.long

STUDENTS = ("ada", "bob", "eve", "zoe")
# what nbgrader's server does for a score: find the grade, set it, commit; it does not try twice
GRADER = """
import json, sys, time
from pathlib import Path
from nbgrader.api import Gradebook

folder, assignment, cell, begin, *students = sys.argv[1:]
given, refused, score = {}, [], float(begin)
with Gradebook(f"sqlite:///{folder}/gradebook.db", "attention") as gradebook:
    print("ready", flush=True)
    while not Path(folder, "enough").exists():
        for student in students:
            score += 1 / 64
            try:
                grade = gradebook.find_grade(cell, assignment, assignment, student)
                grade.manual_score, grade.needs_manual_grade = score, False
                gradebook.find_comment(cell.removeprefix("check_"), assignment, assignment, student).manual_comment = str(score)
                gradebook.db.commit()
                given[student] = score
            except Exception as error:
                gradebook.db.rollback()
                refused.append(str(error))
            time.sleep(0.02)
print(json.dumps([given, refused, score]))
"""


@pytest.fixture
def course(tmp_path):
    with engine_for(SETTINGS, allowed_modules(ASSIGNMENT)) as engine:
        made = Living(tmp_path / "course", engine)
        for student in STUDENTS:
            made.hand_in(student, "softmax_over_columns")
        yield made


def test_nothing_is_lost_while_two_graders_and_the_grader_write(course):
    course.grade()
    before = {student: course.marks(student) for student in STUDENTS}
    graders = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", GRADER, str(course.folder), ASSIGNMENT, cell, begin, *STUDENTS],
            stdout=subprocess.PIPE, text=True,
        )
        for cell, begin in (("why", "0"), ("check_self_attention", "1"))
    ]  # fmt: skip
    try:
        for grader in graders:
            assert grader.stdout.readline() == "ready\n"
        course.grade(again=True)  # a student at a time
        course.reword()
        course.grade()  # the whole class at once
    finally:
        (course.folder / "enough").touch()
    said = [json.loads(grader.communicate(timeout=120)[0]) for grader in graders]
    for (given, refused, last), begin in zip(said, (0, 1), strict=True):
        assert not refused
        assert set(given) == set(STUDENTS)
        assert (last - begin) * 64 > 2 * len(STUDENTS), "they gave scores all the while"
    (whys, _, _), (parts, _, _) = said
    for student in STUDENTS:
        marks = course.marks(student)
        assert marks["why"][:2] == (whys[student], 2)
        assert marks["check_self_attention"][:2] == (parts[student], 3)
        others = set(marks) - {"why", "check_self_attention"}
        assert {cell: marks[cell] for cell in others} == {cell: before[student][cell] for cell in others}  # fmt: skip
        with course.gradebook() as gradebook:
            comment = gradebook.find_comment("why", ASSIGNMENT, ASSIGNMENT, student)
            assert comment.manual_comment == str(whys[student])
    again = course.grade()
    assert not again.changes.students
    assert all(row.points == course.total(row.student)[0] for row in again.rows)
