"""Who is who: students of the gradebook, rows of a platform's table, numbers in its archives.

They are put together by one column of the table, and never by name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.batch.csv_file import Row, TableError, read_table
from autograder.batch.roster import FILE, names_folder
from autograder.batch.roster import roster_of as list_of
from autograder.errors import CourseError
from autograder.files import (
    is_rounded,
    plain_id,
    printable,
    usual_id,
    without_zeros,
)
from autograder.lms.archives import Refused
from autograder.lms.brightspace import BrightspaceGrades
from autograder.lms.canvas import CANVAS
from autograder.lms.gradebook import KINDS, Known, students_in
from autograder.lms.moodle import MOODLE
from autograder.lms.platform import GradebookCsv, Platform, SubmittedFile

SHARED = "shared by several rows or students, so that it names nobody"
STUDENT = "student"  # names the column with ids in a table of one's own


def read_gradebook(path: Path) -> GradebookCsv:
    """The table of a platform in a file, as what it is.

    Raises:
        TableError: it is none.
    """
    table = read_table(path)
    kinds: list[type[GradebookCsv]] = [*CANVAS.tables, BrightspaceGrades, *MOODLE.tables]
    return next((kind for kind in kinds if kind.knows(table)), GradebookCsv)(table)


def key_of(text: str) -> str:
    """By what an id is known again, whichever program wrote it into a table."""
    return usual_id(plain_id(text))


@dataclass(frozen=True)
class Matching:
    """What belongs together, and what is left on either side.

    Attributes:
        rows: of each student.
        missing: students without a row.
        strangers: rows without a student.
        shared: ids that several students or several rows have, so that they say nothing; these are on neither side.
    """

    rows: dict[str, Row]
    missing: list[str]
    strangers: list[Row]
    shared: list[str]


def match(students: Mapping[str, str], rows: Mapping[Row, str]) -> Matching:
    """Put together what has the same id and shares it with nobody else; an empty one is none."""
    by_id: dict[str, tuple[list[str], list[Row]]] = defaultdict(lambda: ([], []))
    for student, key in students.items():
        by_id[key_of(key)][0].append(student)
    for row, key in rows.items():
        by_id[key_of(key)][1].append(row)
    by_id.pop("", None)
    matched = {
        ours[0]: theirs[0] for ours, theirs in by_id.values() if len(ours) == len(theirs) == 1
    }
    shared = sorted(key for key, found in by_id.items() if max(len(found[0]), len(found[1])) > 1)
    left_over = {*matched.values(), *(row for key in shared for row in by_id[key][1])}
    ours = {*matched, *(student for key in shared for student in by_id[key][0])}
    return Matching(
        matched,
        missing=[student for student in students if student not in ours],
        strangers=[row for row in rows if row not in left_over],
        shared=shared,
    )


def id_column_of(sheet: GradebookCsv, by: str, known: Collection[Known]) -> tuple[str, int]:
    """The column by which students are known: what ``--by`` says, or the only one that fits.

    A column fits if it names a student whom we know. Where two fit and do not name the same student in
    every row, one might fit by chance, so that a person has to say which it is.

    Args:
        sheet: the platform's table.
        by: a short name or a column; empty to look for one.
        known: students of ours.

    Returns:
        by what of ours the column knows students, as `Known.id_in` takes it, and the column.

    Raises:
        TableError: there is no such column, or not just one fits.
    """
    if by:
        column = sheet.id_column(by)
        names = {column: alias for alias, column in sheet.id_columns.items()}
        return _kind_of(sheet, names.get(column, ""), column, known)[0], column
    kinds, fitting = {}, {}
    for alias, column in sheet.id_columns.items():
        kinds[alias], fitting[alias] = _kind_of(sheet, alias, column, known)
    aliases = sorted(filter(fitting.get, fitting), key=lambda alias: -len(fitting[alias]))
    if aliases and all(_agree(fitting[aliases[0]], fitting[alias]) for alias in aliases[1:]):
        return kinds[aliases[0]], sheet.id_columns[aliases[0]]
    choices = ", ".join(
        f"--by {alias} (“{sheet.heading[column]}”, names {len(fitting[alias])} of our students)"
        for alias, column in sheet.id_columns.items()
    )
    columns = ", ".join(printable(name) for name in sheet.heading if name)
    raise TableError(
        f"which column of {sheet.table.name} holds the ids of your students, which are the names "
        f"of their folders? Name it with --by: {choices or f'one of {columns}'}"
    )


def _kind_of(
    sheet: GradebookCsv, alias: str, column: int, known: Collection[Known]
) -> tuple[str, dict[Row, str]]:
    """By what of ours a column knows students, and whom it names: what stands in it decides, unless its name does.

    A login may be an address, and so may whatever stands in a column of another language.
    """
    named: dict[str, dict[Row, str]] = {}
    for kind in (alias,) if alias in KINDS else ("", *KINDS):
        ours = by_id_in(kind, known)
        found = {row: ours.get(key_of(row[column])) for row in sheet.people if row[column]}
        named[kind] = {row: student for row, student in found.items() if student}
    best = max(named, key=lambda kind: len(named[kind]))
    return best, named[best]


def by_id_in(alias: str, known: Collection[Known]) -> dict[str, str]:
    """The students whom a platform's column can name, by what stands there; none whom another one shares it with."""
    found: dict[str, list[str]] = defaultdict(list)
    for student in known:
        found[key_of(student.id_in(alias))].append(student.student)
    return {key: students[0] for key, students in found.items() if key and len(students) == 1}


def _agree(most: Mapping[Row, str], others: Mapping[Row, str]) -> bool:
    """Whether two columns name the same students in the same rows."""
    return all(most.get(row) == student for row, student in others.items())


@dataclass(frozen=True)
class Roster:
    """The people of a course, by the numbers that stand in a platform's archives.

    Attributes:
        ids: the student's id for each number.
        rows: where they stand in the platform's table.
        sheet: that table; None where the platform's numbers are the ids, but for those that the class's own
            list says to be somebody's.
        odd: what is wrong with those who have no id that names a folder.
        listed: who is in the class by its own list; nobody where there is none.
    """

    ids: dict[str, str] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    sheet: GradebookCsv | None = None
    odd: Sequence[str] = ()
    listed: Collection[str] = ()

    def not_listed(self, students: Iterable[str]) -> list[str]:
        """Who of them is not on the class's own list, where there is one."""
        return sorted(set(students) - set(self.listed)) if self.listed else []

    def by_student(
        self, files: Iterable[SubmittedFile]
    ) -> tuple[dict[str, list[SubmittedFile]], list[Refused]]:
        """What each student handed in, with names as they have to be read, and what is nobody's."""
        handed_in: dict[str, list[SubmittedFile]] = {}
        strangers = []
        for file in files:
            try:
                read = self._whose(file)
            except LookupError as error:
                strangers.append(Refused(file.path, str(error)))
            else:
                student = self.ids.get(read.number, read.number)
                handed_in.setdefault(student, []).append(read)
        return handed_in, strangers

    def _whose(self, file: SubmittedFile) -> SubmittedFile:
        """A file as its name has to be read, so that its number is the right person's.

        Raises:
            LookupError: it is nobody's of the table, or could be two people's; the message says so.
        """
        ways = (file, *file.others)
        if self.sheet is None:
            if len(ways) > 1:
                numbers = " or ".join(way.number for way in ways)
                raise LookupError(
                    f"the person's number in it can be {numbers}. Name the platform's table with "
                    "--students"
                )
            return file
        table = self.sheet.table.name
        known = [way for way in ways if way.number in self.ids]
        if not known:
            raise LookupError(f"the number {file.number} is nobody's in {table}")
        fitting = [way for way in known if self.sheet.is_of(self.rows[way.number], way.called)]
        names = [
            printable(self.sheet.called(self.rows[way.number])) for way in fitting or known[:1]
        ]
        if not fitting:
            raise LookupError(
                f"the number {known[0].number} is in {table} that of {names[0]}, who is "
                "called otherwise in the archive. In work by groups the archive names groups"
            )
        if len(fitting) > 1:
            raise LookupError(f"it can be of {' or '.join(names)}")
        return fitting[0]

    def late(self, file: SubmittedFile) -> bool:
        """Whether the platform says that this came in late."""
        row = self.rows.get(file.number)
        return file.late or (self.sheet is not None and row is not None and self.sheet.late(row))

    def came_in(self, file: SubmittedFile) -> str:
        """When the platform's table says that this came in; empty if it does not say."""
        row = self.rows.get(file.number)
        return "" if self.sheet is None or row is None else self.sheet.came_in(row)


def everybody_in(course: Path, assignment: str) -> dict[str, Known]:
    """Students of the gradebook and of the class's own list, and whoever has a folder."""
    _, known = students_in(course, assignment)
    for folder in (course / "submitted").glob("*"):
        known.setdefault(folder.name, Known(folder.name))
    return known


def roster_of(
    course: Path, assignment: str, table: Path | None, by: str, platform: Platform
) -> Roster:
    """The people of a platform's own table.

    Args:
        course, assignment: for which something was handed in.
        table: the platform's export; None where its numbers are the students' ids.
        by: the column with the ids; empty to look for it.
        platform: whose numbers they are.

    Raises:
        CourseError: there is no table, and one is needed, or it does not say who is who.
    """
    listed = list_of(course)
    known = everybody_in(course, assignment).values()
    if table is None:
        if not platform.lasting_numbers:
            raise CourseError(
                f"{platform.name}'s archive names people by numbers that are other ones in each assignment. "
                "Download the assignment's grading worksheet as well, and name it with --students"
            )
        numbers = by_id_in("id", known)
        return Roster({key: name for key, name in numbers.items() if key != name}, listed=listed)
    sheet = read_gradebook(table)
    rows = sheet.numbers()
    if type(sheet) is GradebookCsv and sheet.table.columns(STUDENT):
        by = by or STUDENT  # a table that was made for this
    alias, column = id_column_of(sheet, by, known)
    ours = by_id_in(alias, known)
    shared = {key_of(student.id_in(alias)) for student in known} - ours.keys()
    ids: dict[str, str] = {}
    odd = sheet.spilt_in_words
    count = Counter(key_of(row[column]) for row in sheet.people)
    in_table = {key_of(row[column]) for row in sheet.people}
    lacking = {without_zeros(key): name for key, name in ours.items() if key not in in_table}
    for number, row in rows.items():
        student = plain_id(row[column])
        if sheet.aside(row):
            continue
        if not student:
            why = f"nothing in “{sheet.heading[column]}”"
        elif count[key_of(student)] > 1 or key_of(student) in shared:
            why = f"“{printable(student)}” is several people's"
        elif key_of(student) in ours:
            ids[number] = ours[key_of(student)]
            continue
        elif is_rounded(student):
            why = f"“{student}” is what a spreadsheet makes of a long number"
        elif without_zeros(student) in lacking:
            there = printable(lacking[without_zeros(student)])
            why = f"“{printable(student)}” is nobody's here and “{there}” is: a spreadsheet drops zeros"
        elif not names_folder(student):
            why = f"“{printable(student)}” cannot be the name of a folder"
        else:
            ids[number] = student
            continue
        odd.append(f"{printable(sheet.called(row))}: {why}")
    if not ids:
        raise TableError(
            f"expected ids of students in “{sheet.heading[column]}” of {sheet.table.name}, found none "
            "that name a folder. Name another column with --by"
        )
    if listed and not set(ids.values()) & listed.keys():
        raise TableError(
            f"expected ids or addresses of {FILE} in “{sheet.heading[column]}” of {sheet.table.name}, found others "
            f"alone, such as “{printable(min(ids.values()))}”. Name the column of your ids with --by, or correct {FILE}"
        )
    return Roster(ids, rows, sheet, odd, listed)
