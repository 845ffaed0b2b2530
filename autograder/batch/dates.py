"""The dates of a term: when each lecture is given and each assignment due, as term.toml of the course has them.

From here the gradebook has its due dates, and the students' copy its table.

    python -m autograder plan
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import msgspec
from dateutil import tz
from msgspec import Struct

from autograder.batch.final_mark import PLAN, RULES
from autograder.batch.toml_file import read_toml
from autograder.errors import CourseError
from autograder.files import cut, listed, meant, printable
from autograder.order import by_number

if TYPE_CHECKING:  # nbgrader is imported when a command runs
    from nbgrader.api import Gradebook

HANDING_IN = "handing_in.md"  # where students hand in, in the words of whoever teaches
ADVICE = "docs/instructors.md says how dates are written"
SUNDAY = 6


class Written(Struct, frozen=True):
    """The dates as the file has them; `docs/instructors.md` says what each key means."""

    zone: str = ""
    lectures: dict[str, Any] = {}
    due: dict[str, Any] = {}


@dataclass(frozen=True)
class Dates:
    """The dates of a term, in the order of the course.

    Attributes:
        lectures: days, by the number of the lecture.
        due: moments with their zone, by assignment.
    """

    lectures: Mapping[int, date] = field(default_factory=dict)
    due: Mapping[str, datetime] = field(default_factory=dict)


def read_dates(course: Path) -> Dates:
    """The dates of a course folder; none where it says none.

    Raises:
        CourseError: one of them is no date, leaves something to guess, or is of nothing that the course has.
    """
    path = course / RULES
    said = read_toml(path) or {}
    try:
        written = msgspec.convert({key: said[key] for key in PLAN if key in said}, Written)
    except msgspec.ValidationError as error:
        raise CourseError(f"{path}: {error}. {ADVICE}") from None
    if not (written.lectures or written.due):
        return Dates()
    zone = _zone(written.zone, path)
    there = lectures_of(course)  # none in an archive, which holds assignments alone
    known = {str(number): number for number in there or range(1, 100)}
    lectures = {
        _known(name, known, "lecture", path): _day(name, day, path)
        for name, day in written.lectures.items()
    }  # fmt: skip
    assignments = {name: name for name in assignments_in(course)}
    due = {
        _known(name, assignments, "assignment", path): _moment(name, moment, zone, path)
        for name, moment in written.due.items()
    }
    return Dates(
        dict(sorted(lectures.items())), {name: due[name] for name in sorted(due, key=by_number)}
    )


def zone_in(course: Path) -> tzinfo | None:
    """The zone that a course's dates are in; None where it names none.

    Raises:
        CourseError: there is no such zone.
    """
    path = course / RULES
    name = (read_toml(path) or {}).get("zone", "")
    return _zone(str(name), path) if name else None


def zone_of(options: argparse.Namespace) -> tzinfo:
    """The zone of times that name none: the one that is given, or the term's, or this machine's.

    Raises:
        CourseError: the term's is none.
    """
    return options.time_zone or zone_in(options.course) or tz.tzlocal()


def lectures_of(course: Path) -> list[int]:
    """The numbers of a course folder's lectures."""
    names = (path.name.partition("_")[0] for path in course.glob("lectures/*_*.ipynb"))
    return sorted(int(name) for name in names if name.isdecimal())


def assignments_in(course: Path) -> dict[str, int | None]:
    """The assignments of a course folder, and the numbers of the lectures to which they belong."""
    from autograder.batch.course import assignments_of, open_course

    api = open_course(course)
    found: dict[str, int | None] = {}
    for name in assignments_of(api, course):
        path = course / api.coursedir.source_directory / name / f"{name}.ipynb"
        try:
            lecture = json.loads(path.read_bytes())["metadata"]["course"]["lecture"]
            found[name] = int(str(lecture).partition("_")[0])
        except (ValueError, LookupError, TypeError):  # of an assignment that belongs to none
            found[name] = None
    return found


def _zone(name: str, path: Path) -> tzinfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, KeyError, OSError):
        raise CourseError(
            f"{path}: expected a time zone such as Europe/Berlin in zone, found “{printable(cut(name, 60))}”"
        ) from None


def _known(name: str, known: Mapping[str, Any], kind: str, path: Path) -> Any:
    if name not in known:
        names = list(known)
        raise CourseError(
            f"{path}: expected {kind}s of the course, found {printable(cut(name, 60))}. "
            f"{meant(name, names) or listed(names)}"
        )
    return known[name]


def _day(lecture: str, day: object, path: Path) -> date:
    if isinstance(day, datetime) or not isinstance(day, date):
        raise CourseError(
            f"{path}: expected a day such as 2026-10-12, without quotes, for lecture {lecture}, found “{_shown(day)}”"
        )
    return day


def _moment(assignment: str, when: object, zone: tzinfo | None, path: Path) -> datetime:
    """A due date of which nothing is left to guess."""
    if not isinstance(when, datetime):
        raise CourseError(
            f"{path}: expected a day and an hour such as 2026-10-19T23:59:00, without quotes, for {assignment}, "
            f"found “{_shown(when)}”"
        )
    if when.tzinfo is None and zone is None:
        raise CourseError(
            f'{path}: expected a time zone for {assignment}, found none. Write zone = "Europe/Berlin" above the '
            "tables, or an offset behind each time, as in 2026-10-19T23:59:00+02:00"
        )
    local = when.astimezone(zone) if when.tzinfo else when.replace(tzinfo=zone)
    if when.tzinfo is None and (tz.datetime_ambiguous(local) or not tz.datetime_exists(local)):
        raise CourseError(
            f"{path}: the clock is put forward or back when {assignment} is due, so {_shown(when)} is no hour or two. "
            "Choose another one"
        )
    return local


def _shown(value: object) -> str:
    return printable(cut(str(value), 60))


def odd(dates: Dates, course: Path, now: datetime) -> Iterator[str]:
    """What a person would not have meant, a sentence each.

    Args:
        now: with its zone.
    """
    lecture_of = assignments_in(course)
    names = list(dates.due)
    for name, due in dates.due.items():
        if due.weekday() == SUNDAY:
            yield f"{name} is due on a Sunday"
        if due < now and not any(course.glob(f"submitted/*/{name}")):
            yield f"{name} was due in the past, and nobody has handed in"
        given = dates.lectures.get(lecture_of[name] or 0)
        if given and due.date() <= given:
            yield f"{name} is due before its lecture, {lecture_of[name]}, is over, on {given}"
    for before, after in itertools.pairwise(names):
        if dates.due[after] < dates.due[before]:
            yield f"{after} is due before {before}"
    yield from _on_one_day({name: due.date() for name, due in dates.due.items()}, "are due")
    yield from _on_one_day({f"lecture {one}": day for one, day in dates.lectures.items()}, "are")
    numbers = list(dates.lectures)
    for one, other in itertools.pairwise(numbers):
        if dates.lectures[other] < dates.lectures[one]:
            yield f"lecture {other} comes before lecture {one}"


def _on_one_day(days: Mapping[str, date], are: str) -> Iterator[str]:
    for day in sorted(set(days.values())):
        names = [name for name, other in days.items() if other == day]
        if len(names) > 1:
            yield f"{', '.join(names)} {are} on one day, {day}"


def enter(gradebook: Gradebook, due: Mapping[str, datetime], names: Collection[str]) -> list[str]:
    """Give the gradebook the due dates of some assignments, and say what that changes."""
    before = {one.name: one.duedate for one in gradebook.assignments}
    lines = []
    for name in names:
        if name in due and before.get(name) != (
            when := due[name].astimezone(UTC).replace(tzinfo=None)
        ):
            gradebook.update_or_create_assignment(name, duedate=when)
            was = f"{before[name]:%Y-%m-%d %H:%M} UTC" if before.get(name) else "none"
            lines.append(
                f"the gradebook's due date of {name} is that of {RULES} now, and was {was}"
            )
    return lines  # fmt: skip


def by_day(dates: Dates) -> list[tuple[date, str, str]]:
    """Day by day: the day, the hour, and what is then."""
    days = [(day, "", f"lecture {number}") for number, day in dates.lectures.items()]
    days += [(due.date(), f"{due:%H:%M}", f"{name} is due") for name, due in dates.due.items()]
    return sorted(days)


def as_text(dates: Dates) -> str:
    """The plan for a terminal."""
    lines = (f"{day}  {day:%a}  {hour:5}  {what}" for day, hour, what in by_day(dates))
    return "\n".join(lines)


def as_table(dates: Dates) -> str:
    """The plan for students, in Markdown."""
    zones = {str(getattr(due.tzinfo, "key", due.tzname())) for due in dates.due.values()}
    hour = f"until ({', '.join(sorted(zones))})" if zones else "until"
    rows = [f"| day | {hour} | what |", "|---|---|---|"]
    for day, until, what in by_day(dates):
        rows.append(f"| {day:%A}, {day.day} {day:%B %Y} | {until} | {what} |")
    return "\n".join(rows)


def add_to(commands: Any) -> None:
    """Add the subcommand to those of the command line."""
    command = commands.add_parser("plan", help=f"look at the dates of {RULES}, and enter them")
    command.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit status 0: the gradebook has the dates; 1: it has, and some are odd; 2: nothing was done."""
    from autograder.batch.course import open_course
    from autograder.batch.run_lock import open_gradebook

    try:
        dates = read_dates(options.course)
        if not (dates.due or dates.lectures):
            raise CourseError(f"expected [due] in {options.course / RULES}, found none. {ADVICE}")
        strange = list(odd(dates, options.course, datetime.now(UTC)))
        with open_gradebook(open_course(options.course).coursedir) as gradebook:
            lines = enter(gradebook, dates.due, list(dates.due))
            others = sorted(
                (one.name for one in gradebook.assignments if one.duedate and one.name not in dates.due),
                key=by_number,
            )  # fmt: skip
    except (CourseError, OSError) as error:
        print(f"no plan: {error}", file=sys.stderr)
        return 2
    print(as_text(dates))
    if others:
        lines.append(f"due by the gradebook alone: {', '.join(map(printable, others))}")
    for line in lines:
        print(f"\n{line}")
    if strange:
        print("\nodd:", *strange, sep="\n    ")
    return 1 if strange else 0
