"""Scores into a platform's table: what would change, what would not and why, and the file to upload."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from autograder.batch.csv_file import Row, TableError, as_number, number_in
from autograder.batch.release_text import title_of
from autograder.batch.table import padded, width
from autograder.errors import CourseError
from autograder.files import plain_id, printable, without_zeros
from autograder.lms.gradebook import students_in
from autograder.lms.platform import EMPTY, GradebookCsv
from autograder.lms.roster import SHARED, Matching, id_column_of, match, read_gradebook
from autograder.lms.summary import Summary
from autograder.points import as_written


@dataclass(frozen=True)
class Options:
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


@dataclass
class Transfer:
    """Scores on their way into a table.

    Attributes:
        sheet: the platform's table.
        column, id_column: where the scores are, and what names students.
        possible, of: points that the platform and that we give at most.
        matching: who is who.
        new: the new content of the cells that change, by student.
        same: students whose cell says it already.
        stay: students whose cell must stay, and why.
        waiting: students for whom a person has to look first.
        ungraded: students who stand in the table and have no score here.
        excused: students for whom the assignment does not count.
    """

    sheet: GradebookCsv
    column: int
    id_column: int
    possible: float
    of: float
    matching: Matching
    new: dict[str, str] = field(default_factory=dict)
    same: list[str] = field(default_factory=list)
    stay: dict[str, str] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    ungraded: list[str] = field(default_factory=list)
    excused: list[str] = field(default_factory=list)

    def to_upload(self) -> bytes:
        """The file for the platform."""
        rows = self.matching.rows
        scores = {rows[student]: text for student, text in self.new.items()}
        same = [rows[student] for student in self.same]
        return self.sheet.to_upload(self.column, self.id_column, scores, same)


def transfer_of(course: Path, assignment: str, path: Path, options: Options) -> Transfer:
    """Work out what becomes of a platform's table.

    Raises:
        CourseError: nothing has been graded, the table is none, or it does not say which column or
            how many points; the message says what to do.
    """
    of, known = students_in(course, assignment)
    if of is None or all(student.points is None for student in known.values()):
        raise CourseError(
            f"expected scores of {assignment} in the gradebook of {course}, found none. Grade it "
            f"first: python -m autograder grade {assignment}"
        )
    sheet = read_gradebook(path)
    _refuse_ragged(sheet)
    column = sheet.score_column(options.column, (assignment, title_of(course, assignment)))
    possible = _possible(sheet, column, options, of)
    alias, id_column = id_column_of(sheet, options.by, known.values())
    if id_column == column:
        raise TableError(
            f"expected two columns, found that --by and --column both name “{sheet.heading[column]}”"
        )
    matching = match(
        {name: student.id_in(alias) for name, student in known.items()},
        {row: row[id_column] for row in sheet.people},
    )
    transfer = Transfer(sheet, column, id_column, possible, of, matching)
    everywhere = range(len(sheet.heading))
    comma = sheet.table.decimal_comma([column]) or sheet.table.decimal_comma(everywhere)
    for name, row in matching.rows.items():
        student = known[name]
        if student.excused:
            transfer.excused.append(name)
            continue
        if student.points is None:
            transfer.ungraded.append(name)
            continue
        if student.waits and not options.also_waiting:
            transfer.waiting.append(name)
            continue
        old = number_in(row[column])
        if not math.isfinite(student.points):
            transfer.stay[name] = "the gradebook holds a score without end"
            continue
        points = as_written(student.points)
        if options.scale:
            points *= as_written(possible) / as_written(of)
        if why := sheet.stays(row, column, float(points)):
            transfer.stay[name] = why
        elif old is not None and as_number(old) == as_number(points):
            transfer.same.append(name)
        else:
            transfer.new[name] = as_number(points, comma)
    return transfer


def _possible(sheet: GradebookCsv, column: int, options: Options, of: float) -> float:
    """What the platform gives at most, which must be what we give, or be scaled to."""
    by_table, name = sheet.possible(column), sheet.heading[column]
    possible = options.points if by_table is None else by_table
    if possible is None:
        raise TableError(
            f"{sheet.table.name} does not say how many points “{name}” gives at most, and here it "
            f"is {of:g}. Look it up on the platform, and say it with --points"
        )
    if options.points not in (None, possible):
        raise TableError(
            f"--points says {options.points:g}, and {sheet.table.name} says {possible:g}. Leave it out"
        )
    if possible <= 0 or of <= 0:
        raise TableError(
            f"expected points to be had, found {possible:g} for “{name}” and {of:g} here. Set the "
            "points on the platform"
        )
    if possible != of and not options.scale:
        raise TableError(
            f"“{name}” gives {possible:g} points at most, and here it is {of:g}. Set {of:g} points on "
            f"the platform and export again, or let --scale multiply by {possible / of:g}"
        )
    return possible


def _refuse_ragged(sheet: GradebookCsv) -> None:
    """A row with other columns than the header was cut at the wrong places, and belongs to nobody."""
    for row in sheet.table.rows:
        if len(row.cells) != len(sheet.heading):
            raise TableError(
                f"line {row.line} of {sheet.table.name}: expected {len(sheet.heading)} cells as in "
                f"the header, found {len(row.cells)}. Export the table again; a spreadsheet program "
                "may have spoilt it"
            )


def summary_of(transfer: Transfer) -> Summary:
    """What changes as a table, and everybody for whom nothing does."""
    sheet, matching = transfer.sheet, transfer.matching

    def cell(row: Row) -> str:
        return "empty" if row[transfer.column] in EMPTY else printable(row[transfer.column])

    def person(row: Row) -> str:
        return f"{printable(sheet.called(row))} ({printable(row[transfer.id_column]) or 'no id'})"

    scaled = "" if transfer.possible == transfer.of else f", from {transfer.of:g} here"
    name = printable(sheet.heading[transfer.column])
    by = printable(sheet.heading[transfer.id_column])
    summary = Summary(
        [f"{sheet.platform}: column “{name}”, {transfer.possible:g} points{scaled}; students by “{by}”"]
    )  # fmt: skip
    if transfer.new:
        changes = [("student", "on the platform", "new", "called there")]
        for student, new in sorted(transfer.new.items()):
            row = matching.rows[student]
            changes.append((printable(student), cell(row), new, printable(sheet.called(row))))
        wide = [max(width(line[column]) for line in changes) for column in range(3)]
        head, *rest = [
            f"{padded(student, wide[0])}  {old.rjust(wide[1])}  {new.rjust(wide[2])}  {called}"
            for student, old, new, called in changes
        ]
        summary.lines += ["", head, "─" * width(head), *rest]
    summary.lines += ["", f"{len(transfer.new)} to change, {len(transfer.same)} there already"]
    stay = [f"{student} ({why}: {cell(matching.rows[student])})" for student, why in transfer.stay.items()]  # fmt: skip
    summary.miss("left unchanged", stay)
    summary.miss("waiting for a person, left unchanged without --also-waiting", transfer.waiting)
    summary.tell("in the platform's table, and without a score here", transfer.ungraded)
    summary.tell("excused, and left alone", transfer.excused)
    summary.miss("known here, and not in the platform's table", sorted(matching.missing))
    asides = {row: why for row in matching.strangers if (why := sheet.aside(row))}
    strangers = [person(row) for row in matching.strangers if row not in asides]
    summary.miss("in the platform's table, and not known here", strangers)
    summary.tell("not a student", [f"{person(row)}: {why}" for row, why in asides.items()])
    missing = set(map(without_zeros, matching.missing))
    nearly = [plain_id(row[transfer.id_column]) for row in matching.strangers]
    summary.tell(
        "here as well but for zeros before the number, which a spreadsheet has dropped from one of the two",
        [one for one in nearly if one and without_zeros(one) in missing],
    )
    summary.miss(SHARED, matching.shared)
    summary.lines += sheet.table.doubts
    return summary
