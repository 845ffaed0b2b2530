"""A course whose gradebook holds scores, and the platforms' own tables and archives, as these write them."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from nbgrader.api import Gradebook

from autograder.__main__ import main
from tests.sample_class import ASSIGNMENT, hand_in

TITLE = "Assignment 2"


def course_with(
    course: Path, scores: Mapping[str, float | None], emails: Mapping[str, str] | None = None, of=10
) -> Path:
    """A course folder whose gradebook holds these scores; who has None handed in nothing."""
    hand_in(course, {})
    (course / "gradebook.db").write_bytes(new_gradebook())
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        gradebook.add_assignment(ASSIGNMENT)
        gradebook.add_notebook(ASSIGNMENT, ASSIGNMENT)
        gradebook.add_grade_cell("check_x", ASSIGNMENT, ASSIGNMENT, max_score=of, cell_type="code")
        for student, score in scores.items():
            gradebook.add_student(student, email=(emails or {}).get(student))
            if score is not None:
                entry = gradebook.add_submission(ASSIGNMENT, student)
                [grade] = entry.notebooks[0].grades
                grade.auto_score, grade.needs_manual_grade = score, False
        gradebook.db.commit()
    return course


@cache
def new_gradebook() -> bytes:
    """An empty gradebook. nbgrader starts a program to make one, so it is made once."""
    with TemporaryDirectory() as folder:
        with Gradebook(f"sqlite:///{folder}/gradebook.db", "attention"):
            pass
        return Path(folder, "gradebook.db").read_bytes()


def edit(course: Path, student: str, **grade) -> None:
    """Change what the gradebook holds of a student: ``penalty``, or fields of the one grade."""
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        entry = gradebook.find_submission(ASSIGNMENT, student).notebooks[0]
        entry.late_submission_penalty = grade.pop("penalty", entry.late_submission_penalty)
        for name, value in grade.items():
            setattr(entry.grades[0], name, value)
        gradebook.db.commit()


def lms(course: Path, job: str, *words: object) -> int:
    """Run ``python -m autograder lms JOB``; its exit status."""
    return main(["lms", job, ASSIGNMENT, *map(str, words), "--course", str(course)])


def written(
    rows: list[list[object]], separator: str = ",", line_end: str = "\n", quote=csv.QUOTE_MINIMAL
) -> str:
    """Rows as a platform writes them."""
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator=line_end, quoting=quote).writerows(rows)
    return text.getvalue()


def archive(path: Path, files: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return path


# ----------------------------------------------------- Canvas, by instructure/canvas-lms

CANVAS_HEAD = [
    "Student", "ID", "SIS User ID", "SIS Login ID", "Section",
    "Warm-up (11000)", f"{TITLE} (11001)", "Assignments Current Score", "Current Score", "Final Score",
]  # fmt: skip
READ_ONLY = "(read only)"


def canvas_export(people: list[list[object]], possible: str = "10.00") -> list[list[object]]:
    """The rows of a gradebook export: the hidden row, the points possible, people, the test student."""
    return [
        [*CANVAS_HEAD],
        [None] * 5 + [None, "Manual Posting", None, None, None],
        ["    Points Possible", *[None] * 4, "5.00", possible, *[READ_ONLY] * 3],
        *([*person[:5], "4.00", person[5], "80.00", "80.00", "80.00"] for person in people),
        ["Student, Test", 999, None, "5f3759df5f3759df5f3759df5f3759df5f3759df", "S1", None, None, "0.00", "0.00", "0.00"],
    ]  # fmt: skip


class CanvasImport:
    """What Canvas's importer makes of a file, by lib/gradebook_importer.rb.

    Attributes:
        scores: by person's number and column, for columns that are assignments.
        new_assignments: columns that it would create.
    """

    KNOWN = (11000, 11001)
    INFO = 5  # columns about a person, with the SIS ones
    NOT_ASSIGNMENTS = re.compile("Current Score|Final Score|Current Grade|Final Grade|Override")

    def __init__(self, data: bytes) -> None:
        text = data.decode("utf-8")  # with the mark still there: Ruby does not take it away
        lines = text.splitlines()[:3]
        fields = {
            sign: {len(next(csv.reader([line], delimiter=sign), [])) for line in lines}
            for sign in ";,"
        }
        count = {sign: found.pop() if len(found) == 1 else 0 for sign, found in fields.items()}
        separator = ";" if count[";"] > count[","] else ","
        rows = [
            row
            for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator)
            if not re.fullmatch(r"[;, ]*", separator.join(row))
        ]
        head = rows[0]
        assert "Student" in head[0] and "ID" in head[1] and "Section" in head[self.INFO - 1], (
            "header"
        )
        self.scores: dict[int, dict[int, str]] = {}
        self.points: dict[int, str] = {}
        self.new_assignments = []
        columns = {}
        for name in head[self.INFO :]:
            if self.NOT_ASSIGNMENTS.search(name):
                continue
            found = re.search(r"\((\d+)\)$", name)
            if found and int(found[1]) in self.KNOWN:
                columns[int(found[1])] = head.index(name)
            else:
                self.new_assignments.append(name)
        for row in rows[1:]:
            if "Points Possible" in row[0]:
                self.points = {number: self.number(row[place]) for number, place in columns.items()}
            elif all(
                re.fullmatch(r"\s*(Muted|Manual Posting.*)?\s*", cell, re.IGNORECASE)
                for cell in row
            ):
                continue
            else:
                self.scores[int(row[1])] = {
                    number: self.number(row[place]) for number, place in columns.items()
                }

    @staticmethod
    def number(field: str) -> str:
        """`decimal_comma_to_period`: the last part of a pure number is its decimals."""
        if not re.fullmatch(r"-?[0-9.,]+%?", field):
            return field.strip()
        *front, last = re.split(r"[,.]", field)
        return f"{''.join(front)}.{last}" if front else last


# ----------------------------------------------------- Moodle, by moodle/moodle

WORKSHEET_HEAD = [
    "Identifier", "Full name", "ID number", "Email address", "Status", "Grade", "Maximum Grade",
    "Grade can be changed", "Last modified (submission)", "Last modified (grade)", "Feedback comments",
]  # fmt: skip


def worksheet(people: list[list[object]], most: str = "10.00") -> list[list[object]]:
    """The rows of an offline grading worksheet; of a person number, name, ID number, email, status, grade."""
    when = "Thursday, 5 March 2026, 11:58 PM"
    return [
        [*WORKSHEET_HEAD],
        *(
            [f"Participant {person[0]}", *person[1:5], person[5], most, "Yes", when, "-", "Well, “done”\nso far"]
            for person in people
        ),
    ]  # fmt: skip


class WorksheetImport:
    """What assignfeedback_offline_grade_importer makes of a worksheet: new grades by participant."""

    def __init__(self, data: bytes, separator: str = ",", comma: bool = False) -> None:
        text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        head, *rows = csv.reader(io.StringIO(text), delimiter=separator)
        places = [head.index(name) for name in ("Identifier", "Grade", "Last modified (grade)")]
        self.grades, self.feedback = {}, {}
        for row in rows:
            assert len(row) == len(head), "csvweirdcolumns"
            number = row[places[0]][len("Participant ") :]
            grade = row[places[1]].replace(" ", "")
            grade = grade.replace(",", ".") if comma else grade
            if grade != "":
                self.grades[number] = float(grade)
            self.feedback[number] = row[head.index("Feedback comments")]


GRADES_HEAD = [
    "First name", "Last name", "ID number", "Institution", "Department", "Email address",
    "Assignment: Warm-up (Real)", "Assignment: Warm-up (Feedback)",
    f"Assignment: {TITLE} (Real)", f"Assignment: {TITLE} (Feedback)", "Course total (Real)",
    "Last downloaded from this course",
]  # fmt: skip


def grade_book(people: list[list[object]]) -> list[list[object]]:
    """The rows of a grade book's plain text export; of a person first, last name, ID number, email, grade."""
    return [
        [*GRADES_HEAD],
        *(
            [*person[:3], "", "", person[3], "4.00", "fine", person[4], "good, so far", "4.00", 1772755080]
            for person in people
        ),
    ]  # fmt: skip


class GradesImport:
    """What gradeimport_csv_load_data makes of a file, when a column is mapped to a grade item.

    Every row that is read overrides a grade, also with none, and an unknown person stops it all.
    """

    def __init__(
        self, data: bytes, by: str, column: str, users: set[str], separator: str = ","
    ) -> None:
        text = data.decode("utf-8-sig")
        head, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        self.head = [name.strip() for name in head]
        who, grade = self.head.index(by), self.head.index(column)
        assert self.head[-1] == "Last downloaded from this course", (
            "grades changed since would be lost"
        )
        self.grades = {}
        for row in rows:
            assert row[who].strip() in users, "usermappingerror"
            value = row[grade].strip()
            if value in ("", "-"):
                self.grades[row[who].strip()] = None
            else:
                self.grades[row[who].strip()] = float(value.replace(",", "."))
