"""Who handed in a file of an archive: the platform's number for a person becomes a student's id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from autograder.errors import CourseError
from autograder.files import plain_name, printable
from autograder.lms.archive_entry import Entry
from autograder.lms.csv_file import TableError
from autograder.lms.gradebook import Known, students_in
from autograder.lms.gradebook_csv import GradebookCsv
from autograder.lms.matching import key_of, usual
from autograder.lms.platforms import gradebook_csv_in


@dataclass(frozen=True)
class Roster:
    """The people of a course, by the numbers that stand in a platform's archives.

    Attributes:
        ids: the student's id for each number.
        called: how the platform calls them.
        rows: where they stand in the platform's table.
        sheet: that table; None where the platform's numbers themselves are the ids.
        odd: what is wrong with those who have no id that names a folder.
    """

    ids: dict[str, str] = field(default_factory=dict)
    called: dict[str, str] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    sheet: GradebookCsv | None = None
    odd: tuple[str, ...] = ()

    def whose(self, entry: Entry) -> tuple[str, Entry]:
        """The id of whoever handed this in, and the entry as its name has to be read.

        Raises:
            LookupError: it is nobody's of the table, or could be two people's; the message says so.
        """
        ways = (entry, *entry.others)
        if self.sheet is None:
            if len(ways) > 1:
                numbers = " or ".join(way.number for way in ways)
                raise LookupError(
                    f"the person's number in it can be {numbers}. Name the platform's table with "
                    "--students"
                )
            return entry.number, entry
        table = self.sheet.table.name
        known = [way for way in ways if way.number in self.ids]
        if not known:
            raise LookupError(f"the number {entry.number} is nobody's in {table}")
        fitting = [way for way in known if self.sheet.is_of(self.rows[way.number], way.called)]
        if not fitting:
            number = known[0].number
            raise LookupError(
                f"the number {number} is in {table} that of {printable(self.called[number])}, who is "
                "called otherwise in the archive. In work by groups the archive names groups"
            )
        if len(fitting) > 1:
            names = " or ".join(printable(self.called[way.number]) for way in fitting)
            raise LookupError(f"it can be of {names}")
        return self.ids[fitting[0].number], fitting[0]

    def late(self, entry: Entry) -> bool:
        """Whether the platform says that this came in late."""
        row = self.rows.get(entry.number)
        return entry.late or (self.sheet is not None and row is not None and self.sheet.late(row))


def roster_of(course: Path, assignment: str, table: Path | None, by: str, numbers: bool) -> Roster:
    """The people of a platform's own table.

    Args:
        course, assignment: for which something was handed in.
        table: the platform's export; None where its numbers are the students' ids.
        by: the column with the ids; empty to look for it.
        numbers: whether the platform's numbers can be ids, since they stay the same.

    Raises:
        CourseError: there is no table, and one is needed, or it does not say who is who.
    """
    if table is None:
        if not numbers:
            raise CourseError(
                "Moodle's archive names people by numbers that are other ones in each assignment. "
                "Download the assignment's grading worksheet as well, and name it with --students"
            )
        return Roster()
    sheet = gradebook_csv_in(table)
    rows = sheet.numbers()
    _, place = key_of(sheet, by or _only(sheet), _known(course, assignment))
    ids: dict[str, str] = {}
    odd = []
    cells = [usual(sheet.table.value(row, place)) for row in sheet.people]
    for number, row in rows.items():
        student = sheet.table.value(row, place)
        name = printable(sheet.called(row))
        if sheet.aside(row):
            continue
        if not student:
            odd.append(f"{name}: nothing in “{sheet.heading[place]}”")
        elif plain_name(student) != student:
            odd.append(f"{name}: “{printable(student)}” cannot be the name of a folder")
        elif cells.count(usual(student)) > 1:
            odd.append(f"{name}: “{printable(student)}” is several people's")
        else:
            ids[number] = student
    called = {number: sheet.called(row) for number, row in rows.items()}
    if not ids:
        raise TableError(
            f"expected ids of students in “{sheet.heading[place]}” of {sheet.table.name}, found none "
            "that name a folder. Name another column with --by"
        )
    return Roster(ids, called, rows, sheet, tuple(odd))


def _only(sheet: GradebookCsv) -> str:
    """The column of ids in a table that was made for this and has no other; empty otherwise."""
    return "student" if type(sheet) is GradebookCsv and "student" in sheet.heading else ""


def _known(course: Path, assignment: str) -> Iterable[Known]:
    _, known = students_in(course, assignment)
    for folder in (course / "submitted").glob("*"):
        known.setdefault(folder.name, Known(folder.name))
    return known.values()
