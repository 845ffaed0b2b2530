"""``python -m autograder hand-in``: one student's file, as by e-mail, put where it is graded from, with its time.

    python -m autograder hand-in FILE --student ada --at 2026-03-05T10:00+01:00

Of a file that lies in ``submitted/`` already, it sets the time.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

from autograder.batch.came_in import Times, add_zone_to
from autograder.batch.dates import zone_of
from autograder.errors import CourseError
from autograder.files import listed, printable


def add_to(commands: Any) -> None:
    """Add the subcommand to those of the command line."""
    command = commands.add_parser("hand-in", help="put one student's file in, with its time")
    command.add_argument("file", type=Path, help="the notebook")
    command.add_argument("--student", required=True, help="the id")
    command.add_argument("--at", required=True, metavar="TIME", help="as 2026-03-05T10:00+01:00")
    command.add_argument(
        "--assignment", default="", help="its id; if left out, that of the notebook's cells or name"
    )
    command.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    add_zone_to(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit status 0: it is there; 2: nothing was done, and the message says why."""
    try:
        when = time_of(options.at, zone_of(options))
        assignment = options.assignment.rstrip("/")
        print(hand_in(options.course, options.file, options.student, when, assignment))
    except (CourseError, OSError) as error:
        print(f"nothing handed in: {error}", file=sys.stderr)
        return 2
    return 0


def time_of(text: str, zone: tzinfo) -> datetime:
    """A time in UTC.

    Raises:
        CourseError: it is none at which work can have come in.
    """
    from autograder.lms.came_in import TimesOfTable

    times = TimesOfTable(zone, None)
    times.add("", text)
    when = times.found.get("")
    if when is None:
        raise CourseError(
            f"expected a time that is over, such as 2026-03-05T10:00+01:00, found “{printable(text)[:60]}”"
        )
    return when


def hand_in(course: Path, file: Path, student: str, when: datetime, assignment: str = "") -> str:
    """Put a file where a student's work is graded from, what was there aside, and say so.

    Args:
        when: it came in, in UTC.
        assignment: for which; empty for that of its cells, or of its name.

    Raises:
        CourseError: there is no such file, student or assignment.
    """
    from autograder.batch.course import open_assignment
    from autograder.batch.extensions import refuse_stranger
    from autograder.batch.run_lock import only_one, open_gradebook
    from autograder.bounds import LARGEST_FILE
    from autograder.grade.submission import read_plain
    from autograder.lms.archives import safe
    from autograder.lms.target import NotTaken, Origin, Target

    data = read_plain(file, LARGEST_FILE)
    if data is None:
        raise CourseError(
            f"expected a file of at most {LARGEST_FILE >> 20} MiB at {file}, found none"
        )
    if not safe(student) or "/" in student:
        raise CourseError(f"expected a student's id, found “{printable(student)}”")
    assignment = assignment or _assignment_of(course, file, data)
    coursedir = open_assignment(course, assignment).coursedir
    with open_gradebook(coursedir) as gradebook:
        refuse_stranger(course, gradebook, student)
    target = Target(course, assignment, UTC, later=True, dry_run=False)
    place = target.submitted / student / assignment
    target.grading.mkdir(parents=True, exist_ok=True)
    said = []
    with only_one(target.grading / "lock"):
        if file.resolve().parent != place.resolve():
            try:
                origin = Origin(time=when.replace(tzinfo=UTC).isoformat())
                target.put(student, [{f"{assignment}.ipynb": data}], origin)
            except NotTaken as why:
                raise CourseError(str(why)) from None
            if target.older:
                raise CourseError(
                    f"a later one is in {place} ({target.older[student]}). Put the file there yourself, if it counts"
                )
            target.remember({student: when})
            said = [f"It replaces what was there: {which}." for which in target.replaced.values()]
        Times(course, assignment).put({student: when})
    came = f"came in {when:%Y-%m-%d %H:%M} UTC"
    first = f"{printable(student)}: {place / assignment}.ipynb, {came}."
    return " ".join([first, *said, "It counts when you grade."])


def _assignment_of(course: Path, file: Path, data: bytes) -> str:
    """The assignment of a notebook by its cells, or else by the name of its file."""
    from autograder.batch.course import assignments_of, open_course
    from autograder.batch.whose_notebook import assignment_of
    from autograder.lms.unpack import AGAIN

    there = assignments_of(open_course(course), course)
    named = AGAIN.sub("", file.stem).casefold()
    by_name = next((name for name in there if name.casefold() == named), "")
    found = assignment_of(course, data.decode("utf-8", "replace")) or by_name
    if not found:
        raise CourseError(
            f"which assignment {printable(file.name)} is for cannot be told by its cells or its name. Say it with "
            f"--assignment. {listed(there)}"
        )
    return found
