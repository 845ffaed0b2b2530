"""Who is in the class: ``students.csv`` of the course folder, with the columns of nbgrader's own import.

The gradebook gets their names, and the reports say who of them has handed in nothing.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import Gradebook, Student

from autograder.batch.course import open_course
from autograder.batch.entries import one_transaction
from autograder.batch.run_lock import nothing_lost
from autograder.errors import CourseError

FILE = "students.csv"
COLUMNS = ("first_name", "last_name", "email", "lms_user_id")


@dataclass(frozen=True)
class Enrolled:
    """Somebody on the list, as nbgrader's gradebook has it; empty is what the list does not say."""

    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_id: str = ""

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()


Roster = Mapping[str, Enrolled]  # by the id that the gradebook and folders have


def roster_of(course: Path) -> Roster:
    """Everybody on the list of a course folder; nobody where there is none.

    Raises:
        CourseError: the list cannot be read.
    """
    path = course / FILE
    if not path.exists():
        return {}
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} cannot be read: {error}. Save it as CSV in UTF-8") from None
    heading = lines[0] if lines else ""
    table = csv.DictReader(lines, delimiter=";" if ";" in heading else ",")
    if "id" not in (table.fieldnames or ()):
        raise CourseError(
            f"{path}: expected a first line that names a column id, found {heading!r}. The columns are "
            f"id, {', '.join(COLUMNS)}, and all but the first may be missing"
        )
    return {
        row["id"].strip(): Enrolled(*((row.get(column) or "").strip() for column in COLUMNS))
        for row in table
        if (row["id"] or "").strip()
    }


def enrol(course: Path, roster: Roster) -> None:
    """Tell the gradebook who is in the class, so that exports and the formgrader list everybody by name.

    Raises:
        CourseError: the gradebook cannot be used.
    """
    coursedir = open_course(course).coursedir
    if not roster:
        return
    with (
        nothing_lost(coursedir.db_url),
        Gradebook(coursedir.db_url, coursedir.course_id) as gradebook,
    ):
        known = {student.id: student for student in gradebook.students}
        if all(_said(known.get(name), person) for name, person in roster.items()):
            return
        with one_transaction(gradebook):
            for name, person in roster.items():
                student = known.get(name) or Student(id=name)
                for column, value in _values(person):
                    setattr(student, column, value)
                gradebook.db.add(student)


def _said(student: Student | None, person: Enrolled) -> bool:
    return student is not None and all(
        getattr(student, column) == value for column, value in _values(person)
    )


def _values(person: Enrolled) -> list[tuple[str, str]]:
    pairs = ((column, getattr(person, column)) for column in COLUMNS)
    return [(column, value) for column, value in pairs if value]


def missing_from(roster: Roster, students: Iterable[str]) -> dict[str, str]:
    """Who of the list is not among some students, by id, in the order of the list; with names."""
    there = set(students)
    return {name: person.name for name, person in roster.items() if name not in there}
