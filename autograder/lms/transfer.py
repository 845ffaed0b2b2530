"""Scores into a platform's table: what would change, what would not and why, and the file to upload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.batch.release_text import title_of
from autograder.batch.table import padded, width
from autograder.files import printable
from autograder.lms.csv_file import TableError, as_number, number_in
from autograder.lms.gradebook import scores_in
from autograder.lms.gradebook_csv import EMPTY, GradebookCsv
from autograder.lms.matching import Matching, key_of, match
from autograder.lms.platforms import gradebook_csv_in


@dataclass(frozen=True)
class Wishes:
    """What the command line says.

    Attributes:
        by, column: columns of the table; empty to look for them.
        points: what the platform gives at most; None where its table says so.
        scale: turn our points into the platform's where these differ.
        also_waiting: also those for whom a person has to look first.
    """

    by: str = ""
    column: str = ""
    points: float | None = None
    scale: bool = False
    also_waiting: bool = False


@dataclass(frozen=True)
class Transfer:
    """Scores on their way into a table.

    Attributes:
        sheet: the platform's table.
        key, column: places of what names students, and of the scores.
        possible, of: points that the platform and that we give at most.
        values: the new content of each cell that changes.
        same: students whose cell says it already.
        stay: students whose cell must stay, and why.
        waiting: students for whom a person has to look first.
        ungraded: students who stand in the table and handed in nothing.
        matching: who is who.
        data: the file to upload.
    """

    sheet: GradebookCsv
    key: int
    column: int
    possible: float
    of: float
    values: Mapping[str, str]
    same: tuple[str, ...]
    stay: Mapping[str, str]
    waiting: tuple[str, ...]
    ungraded: tuple[str, ...]
    matching: Matching
    data: bytes

    @property
    def strangers(self) -> list[int]:
        """Rows of people whom we do not know, but for those that are no students."""
        return [row for row in self.matching.strangers if not self.sheet.aside(row)]

    @property
    def whole(self) -> bool:
        """Whether every student has a row and every row a student, and nobody waits."""
        return not (self.matching.missing or self.strangers or self.waiting or self.stay)


def transfer(course: Path, assignment: str, path: Path, wishes: Wishes) -> Transfer:
    """Work out what becomes of a platform's table.

    Raises:
        CourseError: nothing has been graded, the table is none, or it does not say which column or
            how many points; the message says what to do.
    """
    of, known = scores_in(course, assignment)
    sheet = gradebook_csv_in(path)
    _refuse_ragged(sheet)
    column = sheet.target_named(wishes.column, (assignment, title_of(course, assignment)))
    possible = _possible(sheet, column, wishes, of)
    alias, key = key_of(sheet, wishes.by, known.values())
    if key == column:
        raise TableError(
            f"expected two columns, found that --by and --column both name “{sheet.heading[key]}”"
        )
    matching = match(
        {student: one.key(alias) for student, one in known.items()},
        {row: sheet.table.value(row, key) for row in sheet.people},
    )
    everywhere = range(len(sheet.heading))
    comma = sheet.table.decimal_comma([column]) or sheet.table.decimal_comma(everywhere)
    values: dict[str, str] = {}
    same, waiting, ungraded, stay = [], [], [], {}
    for student, row in matching.rows.items():
        one = known[student]
        if one.points is None:
            ungraded.append(student)
            continue
        if one.waits and not wishes.also_waiting:
            waiting.append(student)
            continue
        points = one.points * (possible / of if wishes.scale else 1)
        why = sheet.stays(row, column, points)
        old = number_in(sheet.table.value(row, column))
        if why:
            stay[student] = why
        elif old is not None and as_number(old) == as_number(points):
            same.append(student)
        else:
            values[student] = as_number(points, comma)
    cells = {(matching.rows[student], column): value for student, value in values.items()}
    rows = [matching.rows[student] for student in (*values, *same)]
    data = sheet.written(column, key, rows, cells)
    return Transfer(
        sheet, key, column, possible, of, values, tuple(same), stay, tuple(waiting),
        tuple(ungraded), matching, data,
    )  # fmt: skip


def _possible(sheet: GradebookCsv, column: int, wishes: Wishes, of: float) -> float:
    """What the platform gives at most, which must be what we give, or be scaled to."""
    said = sheet.possible(column)
    name = sheet.heading[column]
    if said is None and wishes.points is None:
        raise TableError(
            f"{sheet.table.name} does not say how many points “{name}” gives at most, and here it "
            f"is {of:g}. Look it up on the platform, and say it with --points"
        )
    if said is not None and wishes.points not in (None, said):
        raise TableError(
            f"--points says {wishes.points:g}, and {sheet.table.name} says {said:g}. Leave it out"
        )
    possible = said if said is not None else wishes.points
    assert possible is not None
    if possible <= 0 or of <= 0:
        raise TableError(
            f"expected points to be had, found {possible:g} for “{name}” and {of:g} here. Set the "
            "points on the platform"
        )
    if possible != of and not wishes.scale:
        raise TableError(
            f"“{name}” gives {possible:g} points at most, and here it is {of:g}. Set {of:g} points on "
            f"the platform and export again, or let --scale multiply by {possible / of:g}"
        )
    return possible


def _refuse_ragged(sheet: GradebookCsv) -> None:
    """A row with other columns than the header was cut at the wrong places, and belongs to nobody."""
    for row in sheet.people:
        found = sheet.table.rows[row]
        if len(found.cells) != len(sheet.heading):
            raise TableError(
                f"line {found.line} of {sheet.table.name}: expected {len(sheet.heading)} cells as in "
                f"the header, found {len(found.cells)}. Export the table again; a spreadsheet program "
                "may have spoilt it"
            )


def in_words(transfer: Transfer) -> str:
    """What changes as a table, and everybody for whom nothing does."""
    sheet, column, rows = transfer.sheet, transfer.column, transfer.matching.rows
    scaled = "" if transfer.possible == transfer.of else f", from {transfer.of:g} here"
    of = f"column “{printable(sheet.heading[column])}”, {transfer.possible:g} points{scaled}"
    by = f"students by “{printable(sheet.heading[transfer.key])}”"
    lines = [f"{sheet.platform}: {of}; {by}"]
    if transfer.values:
        lines += ["", *_changes(transfer)]
    lines += ["", f"{len(transfer.values)} to change, {len(transfer.same)} there already"]
    stay = [
        f"{printable(student)} ({printable(why)}: {_cell(sheet, rows[student], column)})"
        for student, why in transfer.stay.items()
    ]
    missing = sorted(map(printable, transfer.matching.missing))
    strangers = [_person(transfer, row) for row in transfer.strangers]
    asides = [
        f"{_person(transfer, row)}: {sheet.aside(row)}"
        for row in transfer.matching.strangers
        if sheet.aside(row)
    ]
    for what, who in (
        ("left as they are", stay),
        ("waiting for a person, left as they are (--also-waiting takes them along)",
         list(map(printable, transfer.waiting))),
        ("in the platform's table, and handed in nothing", list(map(printable, transfer.ungraded))),
        ("known here, and not in the platform's table", missing),
        ("in the platform's table, and not known here", strangers),
        ("not a student", asides),
        ("shared by several, so that it names nobody", list(map(printable, transfer.matching.shared))),
    ):  # fmt: skip
        if who:
            lines.append(f"{len(who)} {what}: {', '.join(who)}")
    return "\n".join([*lines, *sheet.table.doubts])


def _person(transfer: Transfer, row: int) -> str:
    sheet = transfer.sheet
    key = sheet.table.value(row, transfer.key)
    return f"{printable(sheet.called(row))} ({printable(key) or 'no id'})"


def _cell(sheet: GradebookCsv, row: int, column: int) -> str:
    cell = printable(sheet.table.value(row, column))
    return "empty" if cell in EMPTY else cell


def _changes(transfer: Transfer) -> list[str]:
    head = ("student", "on the platform", "new", "called there")
    cells = [head]
    for student, value in sorted(transfer.values.items()):
        row = transfer.matching.rows[student]
        old = _cell(transfer.sheet, row, transfer.column)
        cells.append((printable(student), old, value, printable(transfer.sheet.called(row))))
    wide = [max(width(line[place]) for line in cells) for place in range(3)]
    lines = [
        f"{padded(student, wide[0])}  {old.rjust(wide[1])}  {new.rjust(wide[2])}  {called}"
        for student, old, new, called in cells
    ]
    return [lines[0], "─" * width(lines[0]), *lines[1:]]
