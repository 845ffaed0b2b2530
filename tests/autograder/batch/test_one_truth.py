"""Table, class.csv, grades.csv and feedback page say the same, whatever happens to a submission."""

import csv
import dataclasses
import html
import io
import re

import nbformat
import pytest
from nbgrader.api import Gradebook

from assignments import allowed_modules
from autograder.batch.class_report import as_text, write_report
from autograder.batch.classroom import grade_class
from autograder.batch.engine import engine_for
from autograder.batch.grades_table import GradesTable
from autograder.errors import CourseError
from tests.sample_class import ASSIGNMENT, ISOLATION, SETTINGS, hand_in, submission

pytestmark = pytest.mark.long

LATE = """
from nbgrader.plugins import BasePlugin


class OnePoint(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return 1.0
"""
CONFIG = '\nc.AssignLatePenalties.plugin_class = "{module}.OnePoint"\n'
ADA, EVE = "ada", "eve"


class Course:
    """A course folder with an engine that stays, and what its four reports say of a student."""

    def __init__(self, folder, engine):
        self.folder, self.engine = folder, engine

    def grade(self, **changes):
        settings = dataclasses.replace(SETTINGS, collected_times=True, **changes)
        rows = grade_class(self.folder, ASSIGNMENT, lambda *_: None, (), settings, self.engine)
        write_report(self.folder, ASSIGNMENT, rows, ISOLATION)
        self.rows = {row.student: row for row in rows}
        self.table = as_text(rows)

    def gradebook(self):
        return Gradebook(f"sqlite:///{self.folder}/gradebook.db", "attention")

    def hand_in(self, student, answers, when):
        folder = self.folder / "submitted" / student / ASSIGNMENT
        folder.mkdir(parents=True, exist_ok=True)
        text = nbformat.writes(submission(answers))
        (folder / f"{ASSIGNMENT}.ipynb").write_text(text, encoding="utf-8")
        (folder / "timestamp.txt").write_text(f"{when} UTC", encoding="ascii")

    def page(self, student=ADA):
        return self.folder / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html"

    def page_text(self, student=ADA):
        text = self.page(student).read_text(encoding="utf-8")
        text = re.sub(r"<(style|script)\b.*?</\1>", " ", text, flags=re.DOTALL)
        return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())

    def by_table(self, student):
        line = next(line for line in self.table.splitlines() if line.startswith(student))
        return float(line.split()[1]), line[-16:]

    def by_class_csv(self, student):
        path = self.folder / "grading" / ASSIGNMENT / "class.csv"
        (row,) = [
            row
            for row in csv.DictReader(io.StringIO(path.read_text("utf-8-sig")))
            if row["student"] == student
        ]
        return float(row["points"]), row["came in (UTC)"]

    def by_grades_csv(self, student):
        target = self.folder / "grades.csv"
        with self.gradebook() as gradebook:
            GradesTable(to=str(target)).export(gradebook)
        (row,) = [
            row
            for row in csv.DictReader(io.StringIO(target.read_text(encoding="utf-8")))
            if row["student_id"] == student
        ]
        return float(row["score"]), row["timestamp"][:16]

    def by_page(self, student):
        found = re.search(r"([\d.]+) (?:/|of) 10(\.0)?\b", self.page_text(student))
        return float(found[1])

    def say(self, student, points, came_in):
        """Hold all four to the same points, and those with times to the same time."""
        assert self.by_grades_csv(student) == (points, came_in)
        assert self.by_class_csv(student) == (points, came_in)
        assert self.by_table(student) == (points, came_in)
        assert self.by_page(student) == points


@pytest.fixture
def course(tmp_path):
    folder = tmp_path / "course"
    hand_in(folder, {})
    module = f"late_{abs(hash(tmp_path))}"
    (folder / f"{module}.py").write_text(LATE)
    with (folder / "nbgrader_config.py").open("a") as file:
        file.write(CONFIG.format(module=module))
    with engine_for(SETTINGS, allowed_modules(ASSIGNMENT)) as engine:
        yield Course(folder, engine)


def test_one_truth_from_the_first_grading_to_the_last(course):
    course.hand_in(ADA, "key_used_as_value", "2026-01-02 12:00:00")
    course.hand_in(EVE, "right_loops", "2026-01-01 12:00:00")
    course.grade()
    first = "2026-01-02 12:00"
    checked = course.rows[ADA]
    assert 0 < checked.points < 10
    course.say(ADA, checked.points, first)
    course.say(EVE, 10, "2026-01-01 12:00")
    others = course.page(EVE).stat().st_mtime_ns

    with course.gradebook() as gradebook:
        gradebook.update_or_create_assignment(ASSIGNMENT, duedate="2026-01-01 23:00:00 UTC")
    course.grade()
    course.say(ADA, checked.points - 1, first)
    assert course.rows[ADA].penalty == 1
    assert "came in 13 h late: 1 point taken off" in course.table

    with course.gradebook() as gradebook:
        grade = gradebook.find_grade("check_self_attention", ASSIGNMENT, ASSIGNMENT, ADA)
        grade.manual_score = 2.5
        gradebook.db.commit()
    course.grade()
    by_hand = checked.points - checked.parts["self_attention"] + 2.5
    course.say(ADA, by_hand - 1, first)
    assert not course.rows[ADA].needs_person

    with course.gradebook() as gradebook:
        comment = gradebook.find_comment("self_attention", ASSIGNMENT, ASSIGNMENT, ADA)
        comment.manual_comment = "The idea is right: look at V once more."
        gradebook.db.commit()
    course.grade()
    course.say(ADA, by_hand - 1, first)
    assert "look at V once more" in course.page_text()

    made = course.page().stat().st_mtime_ns
    course.grade()
    assert course.page().stat().st_mtime_ns == made

    course.hand_in(ADA, "right_loops", "2026-01-03 09:30:00")
    course.grade()
    second = "2026-01-03 09:30"
    course.say(ADA, 8.5, second)
    assert course.rows[ADA].needs_person
    said = "graded by hand for an earlier version: self_attention (2.5, this version would get 3)"
    assert said in " ".join(course.rows[ADA].reasons)
    assert "look at V once more" in course.page_text()
    assert "Graded by hand for an earlier version" in course.page_text()

    with course.gradebook() as gradebook:
        gradebook.grant_extension(ASSIGNMENT, ADA, days=3)
    course.grade()
    course.say(ADA, 9.5, second)
    assert "late" not in course.table

    course.grade(again=True)
    course.say(ADA, 9.5, second)
    assert said in " ".join(course.rows[ADA].reasons)

    with course.gradebook() as gradebook:
        grade = gradebook.find_grade("check_self_attention", ASSIGNMENT, ASSIGNMENT, ADA)
        grade.needs_manual_grade = False  # as the formgrader does when the score is confirmed
        gradebook.db.commit()
    course.grade(again=True)
    course.say(ADA, 9.5, second)
    assert not course.rows[ADA].reasons and not course.rows[ADA].needs_person
    assert "for an earlier version" not in course.page_text()
    assert course.page(EVE).stat().st_mtime_ns > others  # --again makes all pages again


def test_another_programs_page_gives_way(course):
    course.hand_in(ADA, "right_loops", "2026-01-02 12:00:00")
    course.grade()
    course.page().write_text("made by somebody else, from older numbers")
    course.grade()
    course.say(ADA, 10, "2026-01-02 12:00")


def test_a_late_submission_that_cannot_be_run_keeps_a_score_given_by_hand(course):
    course.hand_in(ADA, "key_used_as_value", "2026-01-02 12:00:00")
    course.grade()
    with course.gradebook() as gradebook:
        gradebook.update_or_create_assignment(ASSIGNMENT, duedate="2026-01-01 12:00:00 UTC")
        grade = gradebook.find_grade("check_self_attention", ASSIGNMENT, ASSIGNMENT, ADA)
        grade.manual_score, grade.needs_manual_grade = 8.995, False
        gradebook.db.commit()
    notebook = course.folder / "submitted" / ADA / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    notebook.write_text("no notebook")
    course.grade()
    row = course.rows[ADA]
    # a computer's 8.995 - 1 is 7.994999999999999
    assert (row.failed, row.points, row.penalty) == (True, 7.995, 1)
    assert "graded by hand for an earlier version" in " ".join(row.reasons)
    assert course.by_table(ADA)[0] == course.by_class_csv(ADA)[0] == course.by_grades_csv(ADA)[0]


def test_a_score_in_the_box_of_a_cell_without_points_counts_everywhere_and_is_said(course):
    course.hand_in(ADA, "right_loops", "2026-01-02 12:00:00")
    course.grade()
    course.say(ADA, 10, "2026-01-02 12:00")
    assert "to be had" not in course.table
    with course.gradebook() as gradebook:
        box = gradebook.find_grade("test_attention_weights", ASSIGNMENT, ASSIGNMENT, ADA)
        box.manual_score = 2.0
        gradebook.db.commit()
    course.grade()
    course.say(ADA, 12, "2026-01-02 12:00")
    assert "more than there is to be had: test_attention_weights (2 of 0)" in course.table
    assert "That is more than there is to be had" in course.page_text()


def test_cells_without_points_ask_nobody_for_a_score(course):
    course.hand_in(ADA, "key_used_as_value", "2026-01-02 12:00:00")
    course.grade()
    notebook = course.folder / "submitted" / ADA / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    for broken in (False, True):
        if broken:
            notebook.write_text("no notebook")
            course.grade()
        with course.gradebook() as gradebook:
            grades = gradebook.find_submission(ASSIGNMENT, ADA).notebooks[0].grades
            asked = {grade.name for grade in grades if grade.needs_manual_grade}
            points = {grade.name for grade in grades if grade.max_score}
        assert asked == (points if broken else set())


def test_a_plugin_that_fails_stops_with_its_reason(course):
    (module,) = course.folder.glob("late_*.py")
    module.write_text(LATE.replace("return 1.0", "return score / 0"))
    course.hand_in(ADA, "right_loops", "2026-01-02 12:00:00")
    course.grade()
    with course.gradebook() as gradebook:
        gradebook.update_or_create_assignment(ASSIGNMENT, duedate="2026-01-01 12:00:00 UTC")
    with pytest.raises(CourseError, match="plugin for late penalties failed: ZeroDivisionError"):
        course.grade()
