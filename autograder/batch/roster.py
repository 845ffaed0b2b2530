"""Who is in the class: ``students.csv`` of the course folder, with the columns of nbgrader's own import.

The gradebook gets their names, and the reports say who of them has handed in nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import Student

from autograder.batch.course import open_course
from autograder.batch.csv_file import Row, Table, TableError, read_own_table
from autograder.batch.entries import one_transaction
from autograder.batch.run_lock import open_gradebook
from autograder.bounds import LONGEST_NAME
from autograder.files import (
    cut,
    is_rounded,
    plain_id,
    printable,
    usual_id,
    without_zeros,
)

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

    What students chose, such as a name, is cut where it is too long. An id says whose work is whose, so that
    a list with a wrong one is not read.

    Raises:
        TableError: the list cannot be read, or does not say for sure who is in it.
    """
    path = course / FILE
    table = read_own_table(path, fewest=1)
    if table is None:
        return {}
    if not table.columns("id"):
        raise TableError(
            f"{path}: expected a first line that names a column id. The columns are id, {', '.join(COLUMNS)}, and "
            f"all but the first may be missing. Found: {', '.join(table.heading)}"
        )
    ids = table.column("id")
    places = [table.column(name) if table.columns(name) else len(table.heading) for name in COLUMNS]
    found: dict[str, Enrolled] = {}
    twins: dict[str, str] = {}  # an id as files know it that make no difference of case
    for row in table.rows:
        student = plain_id(row[ids])
        if not student:
            continue
        _refuse_odd(table, row, student, path)
        first, last, email, number = (
            cut(" ".join(row[place].split()), LONGEST_NAME) for place in places
        )
        person = Enrolled(first, last, email, plain_id(number))
        twin = twins.setdefault(usual_id(student), student)
        if twin != student or found.setdefault(twin, person) != person:
            raise TableError(
                f"{path}: expected each id once, found “{twin}” again in line {row.line}, for somebody else or "
                "in other letters. Take one of the two out"
            )
    return found


def _refuse_odd(table: Table, row: Row, student: str, path: Path) -> None:
    """Refuse a row whose cells may stand in the wrong columns, or whose id no folder can have."""
    if table.spilt(row):
        raise TableError(
            f"{path}: expected {len(table.heading)} cells in line {row.line}, as in the first, found "
            f"{len(row.cells)}. Put a cell in quotes that holds a separator"
        )
    if not names_folder(student):
        raise TableError(
            f"{path}: expected an id that a folder can have in line {row.line}, found “{cut(student, 60)}”"
        )
    if is_rounded(student):
        raise TableError(
            f"{path}: expected an id in line {row.line}, found “{student}”, which a spreadsheet makes of a long "
            "number. Let it take the column for text, and save the list again"
        )


def names_folder(student: str) -> bool:
    """Whether an id can be the name of a student's folder; one that is hidden or looks like an option is none."""
    odd = "/" in student or "\\" in student or printable(student) != student
    return not odd and 0 < len(student.encode()) <= LONGEST_NAME and student[0] not in ".-"


def enrol(course: Path, roster: Roster) -> None:
    """Tell the gradebook who is in the class, so that exports and the formgrader list everybody by name.

    Raises:
        CourseError: the gradebook cannot be used, or it or a folder has somebody's id in other letters.
    """
    coursedir = open_course(course).coursedir
    if not roster:
        return
    folders = (course / coursedir.submitted_directory).glob("*")
    _refuse_other_letters(course, roster, {path.name for path in folders}, "a folder")
    with open_gradebook(coursedir) as gradebook:
        known = {student.id: student for student in gradebook.students}
        if all(_said(known.get(name), person) for name, person in roster.items()):
            return
        _refuse_other_letters(course, roster, known, "the gradebook")
        with one_transaction(gradebook):
            for name, person in roster.items():
                student = known.get(name) or Student(id=name)
                for column, value in _values(person):
                    setattr(student, column, value)
                gradebook.db.add(student)


def _refuse_other_letters(course: Path, roster: Roster, there: Collection[str], where: str) -> None:
    """Refuse an id of the list that is another student's but for large letters or zeros before it, since both would
    be the same person."""
    usual = {without_zeros(name): name for name in there if name not in roster}
    for name in roster:
        twin = usual.get(without_zeros(name), name)
        if twin != name and name not in there:
            raise TableError(
                f"{course / FILE}: expected the id “{printable(twin)}”, as {where} has it, found “{printable(name)}”. "
                "Large and small letters count in an id, and so do accents, and zeros before a number, which "
                "spreadsheets drop: write it the same in both"
            )


def _said(student: Student | None, person: Enrolled) -> bool:
    return student is not None and all(
        getattr(student, column) == value for column, value in _values(person)
    )


def _values(person: Enrolled) -> list[tuple[str, str]]:
    pairs = ((column, getattr(person, column)) for column in COLUMNS)
    return [(column, value) for column, value in pairs if value]


def not_on(roster: Roster, students: Iterable[str]) -> list[str]:
    """Which students are not on the list; none where there is no list."""
    return [name for name in students if name not in roster] if roster else []


def missing_from(roster: Roster, students: Iterable[str]) -> dict[str, str]:
    """Who of the list is not among some students, by id, in the order of the list; with names."""
    there = set(students)
    return {name: person.name for name, person in roster.items() if name not in there}
