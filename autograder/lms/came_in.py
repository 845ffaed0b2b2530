"""When work came in, by a platform's table: a time where it has one, a mark that says "late" where it has not."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from nbgrader.api import MissingEntry

from autograder.batch.came_in import Times, moment_in, zone_in_words
from autograder.batch.course import open_assignment
from autograder.batch.csv_file import TableError
from autograder.batch.dates import read_dates
from autograder.batch.run_lock import open_gradebook
from autograder.files import printable
from autograder.lms.platform import EMPTY, TIME, GradebookCsv
from autograder.lms.roster import SHARED, STUDENT, everybody_in, id_column_of, match, read_gradebook
from autograder.lms.summary import Summary

# what programs write for no time lies before, and what people mistype often ahead of every clock
EARLIEST, ZONES = datetime(2000, 1, 1), timedelta(days=1)
LATE = timedelta(minutes=1)  # the least that a mark proves, which does not say by how much


def due_in(course: Path, assignment: str) -> datetime | None:
    """When an assignment is due, in UTC and without anybody's extension; None if nobody said."""
    planned = read_dates(course).due.get(assignment)
    if planned:
        return planned.astimezone(UTC).replace(tzinfo=None)
    coursedir = open_assignment(course, assignment).coursedir
    with open_gradebook(coursedir) as gradebook:
        try:
            return gradebook.find_assignment(assignment).duedate
        except MissingEntry:
            return None


@dataclass
class TimesOfTable:
    """The times that a platform's table gives, and what is to be said of them.

    Args:
        zone: of times that name none.
        due: when the work was due; None if nobody said.

    Attributes:
        found: in UTC, by student; None where an earlier time does not hold any more.
        by_mark: students of whom only a mark says that they were late.
        odd: students whose time is not understood, and what stands there.
    """

    zone: tzinfo
    due: datetime | None
    found: dict[str, datetime | None] = field(default_factory=dict)
    by_mark: list[str] = field(default_factory=list)
    odd: dict[str, str] = field(default_factory=dict)

    def add(self, student: str, text: str, late: bool = False, replaced: bool = False) -> None:
        """Take a student's time.

        Args:
            text: what stands in the table; empty if nothing does.
            late: whether the platform marks the work as late.
            replaced: whether it takes the place of other work, so that the time of that one is over.
        """
        when = moment_in(text, self.zone)
        if when and not EARLIEST <= when <= datetime.now(UTC).replace(tzinfo=None) + ZONES:
            # no work came in then, and a wrong year would cost all points for being late
            when = None
        if text and when is None:
            self.odd[student] = text
        if when is None and late and self.due:
            self.by_mark.append(student)
            when = self.due + LATE
        if when or replaced:
            self.found[student] = when

    def tell(self, summary: Summary) -> None:
        """Say whose times were taken, and how they were read."""
        count = sum(when is not None for when in self.found.values()) - len(self.by_mark)
        if count:
            summary.lines.append(
                f"{count} with the time at which it came in, read in {zone_in_words(self.zone)}; it counts "
                "when you grade"
            )
        summary.tell(
            "late by the platform's mark, which does not say by how much, so that one minute counts until "
            "lms came-in says more",
            self.by_mark,
        )
        odd = [f"{student} (“{printable(text)[:60]}”)" for student, text in self.odd.items()]
        summary.tell(
            "with a time that is not understood, or cannot be (lms came-in takes a table with times such as "
            "2026-03-05 23:58)",
            odd,
        )


def take_times(
    course: Path,
    assignment: str,
    path: Path,
    by: str,
    column: str,
    zone: tzinfo,
    dry_run: bool = False,
) -> Summary:
    """Take from a table when the work of a class came in.

    Args:
        course, assignment: for which it came in.
        path: the table, a platform's own or any other.
        by: the column with the ids; empty to look for it.
        column: the one with the times; empty for a platform's own, or for one called `TIME`.
        zone: of times that name none.
        dry_run: write nothing.

    Raises:
        CourseError: there is no such assignment, table or column.
    """
    open_assignment(course, assignment)
    sheet = read_gradebook(path)
    known = everybody_in(course, assignment)
    if not by and sheet.table.columns(STUDENT) and type(sheet) is GradebookCsv:
        by = STUDENT
    alias, id_column = id_column_of(sheet, by, known.values())
    if not column and not sheet.table.columns(TIME) and not any(map(sheet.came_in, sheet.people)):
        raise TableError(
            f"expected a column “{TIME}” in {sheet.table.name}, found none. Name the one with the times with "
            f"--column. There are: {', '.join(filter(None, sheet.heading))}"
        )
    matching = match(
        {name: student.id_in(alias) for name, student in known.items()},
        {row: row[id_column] for row in sheet.people},
    )
    in_column = column or sheet.table.columns(TIME)
    place = sheet.column_named(column or TIME) if in_column else None
    times = TimesOfTable(zone, None)
    for student, row in matching.rows.items():
        text = sheet.came_in(row) if place is None else row[place]
        times.add(student, "" if text in EMPTY else text)
    if not dry_run:
        Times(course, assignment).put(times.found)
    summary = Summary([])
    times.tell(summary)
    summary.complete = not times.odd
    strangers = [printable(row[id_column]) or "no id" for row in matching.strangers]
    summary.miss("in the table, and not known here", strangers)
    summary.miss("left out", sheet.spilt_in_words, one_a_line=True)
    summary.miss(SHARED, matching.shared)
    if dry_run:
        summary.lines.append("nothing was written")
    return summary
