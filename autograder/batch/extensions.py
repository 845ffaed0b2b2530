"""More time for one student: extensions stand in nbgrader's gradebook, and wait where there is no entry yet.

nbgrader keeps an extension with a submission, so one that is given before anything came in has no
place there. It waits in ``grading/<assignment>/extensions.json`` until the work is graded.

    python -m autograder extension ASSIGNMENT STUDENT "2 days"
    python -m autograder extension ASSIGNMENT STUDENT --remove
    python -m autograder extension ASSIGNMENT
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from autograder.batch.kept import read_kept, write_kept
from autograder.errors import CourseError
from autograder.files import meant, printable

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

UNITS = {"minute": 1, "hour": 60, "day": 24 * 60, "week": 7 * 24 * 60}
PIECE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(minute|hour|day|week)s?\s*(?:,|and\b)?", re.IGNORECASE)


def length_of(text: str) -> timedelta:
    """The length of time that words name, as "2 days" or "1 day 12 hours".

    Raises:
        argparse.ArgumentTypeError: they name none.
    """
    minutes = sum(float(count) * UNITS[unit.lower()] for count, unit in PIECE.findall(text))
    if PIECE.sub("", text) or not 1 <= minutes < 10 * 365 * UNITS["day"]:
        raise argparse.ArgumentTypeError(
            f"expected a length of time such as '2 days' or '1 day 12 hours', got '{text}'"
        )
    return timedelta(minutes=minutes)


def spelt_out(length: timedelta) -> str:
    """A length of time in the words that `length_of` reads."""
    left, pieces = round(length.total_seconds() / 60), []
    for unit in ("day", "hour", "minute"):
        count, left = divmod(left, UNITS[unit])
        if count:
            pieces.append(f"{count} {unit}{'' if count == 1 else 's'}")
    return " ".join(pieces)


Seconds = Annotated[float, Meta(ge=-8e13, le=8e13)]  # of which a timedelta can be made


class Waiting:
    """Extensions as they were given, by student; kept also when the gradebook has them.

    Raises:
        CourseError: they cannot be read any more.
    """

    def __init__(self, course: Path, assignment: str) -> None:
        self.path = course / "grading" / assignment / "extensions.json"
        kept = read_kept(self.path, Seconds, "give the extensions once more")
        self.lengths = {name: timedelta(seconds=seconds) for name, seconds in kept.items()}

    def put(self, student: str, length: timedelta | None) -> None:
        """Keep a length for a student, or none."""
        self.lengths.pop(student, None)
        if length:
            self.lengths[student] = length
        write_kept(self.path, {name: one.total_seconds() for name, one in self.lengths.items()})

    def hand_over(self, submission: Any) -> None:
        """Give a submission's entry the extension that has waited for it."""
        if submission.extension is None and submission.student_id in self.lengths:
            submission.extension = self.lengths[submission.student_id]


def extend(
    course: Path, assignment: str, gradebook: Gradebook, student: str, length: timedelta | None
) -> str:
    """Give a student more time, or take it back, and say so; it replaces what was given before."""
    from nbgrader.api import MissingEntry, Student

    from autograder.batch.roster import roster_of

    Waiting(course, assignment).put(student, length)
    with contextlib.suppress(MissingEntry):
        gradebook.find_submission(assignment, student).extension = length
        gradebook.db.commit()
    name = printable(student)
    if length is None:
        return f"{name} has no extension for {assignment}."
    message = f"{name} has {spelt_out(length)} more for {assignment}."
    there = (course / "submitted" / student).exists() or student in roster_of(course)
    if not (there or gradebook.db.get(Student, student)):
        message += f" Nobody called '{name}' is known yet, so it waits until something comes in."
    return message


def extensions(course: Path, assignment: str, gradebook: Gradebook) -> dict[str, timedelta]:
    """All extensions for an assignment, by student; the gradebook has the last word."""
    in_gradebook = {
        submission.student_id: submission.extension
        for submission in gradebook.assignment_submissions(assignment)
        if submission.extension
    }
    return dict(sorted({**Waiting(course, assignment).lengths, **in_gradebook}.items()))


def add_to(commands: Any) -> None:
    """Add the subcommand to those of the command line."""
    command = commands.add_parser("extension", help="give one student more time, or list who has")
    command.add_argument("assignment", help="its id, which begins with a and a number")
    command.add_argument("student", nargs="?", help="the id; without it, all extensions are listed")
    command.add_argument("length", nargs="?", type=length_of, help='as in "2 days"')
    command.add_argument("--remove", action="store_true", help="take the student's extension back")
    command.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit status 0: done; 2: nothing was done, and the message says why."""
    try:
        print(_carried_out(options))
    except CourseError as error:
        print(f"no extension changed: {error}", file=sys.stderr)
        return 2
    return 0


def refuse_stranger(course: Path, gradebook: Gradebook, student: str) -> None:
    """Refuse an id that nobody has, where the class's list says who there is."""
    from autograder.batch.roster import FILE, roster_of

    listed = roster_of(course)
    folders = (path.name for path in (course / "submitted").glob("*"))
    known = {*listed, *folders, *(one.id for one in gradebook.students)}
    if listed and student not in known:
        what_to_do = meant(student, known) or "Name the id as the list has it"
        raise CourseError(f"nobody in {FILE} has the id “{printable(student)}”. {what_to_do}")


def _carried_out(options: argparse.Namespace) -> str:
    from autograder.batch.course import open_assignment
    from autograder.batch.run_lock import open_gradebook

    asked = bool(options.student), bool(options.length), options.remove
    if asked not in ((False, False, False), (True, True, False), (True, False, True)):
        raise CourseError(
            "name a student and a length of time, as in: extension a2_self_attention anna "
            '"2 days"; or a student and --remove; or neither, and all are listed'
        )
    course, assignment = options.course, options.assignment.rstrip("/")
    coursedir = open_assignment(course, assignment).coursedir
    with open_gradebook(coursedir) as gradebook:
        due = gradebook.update_or_create_assignment(assignment).duedate
        if options.student:
            if options.length:
                refuse_stranger(course, gradebook, options.student)
            lines = [extend(course, assignment, gradebook, options.student, options.length)]
            lines.append("It counts when you grade again, which takes seconds.")
        else:
            found = extensions(course, assignment, gradebook)
            lines = [f"{printable(name)}: {spelt_out(length)}" for name, length in found.items()]
            lines = lines or [f"nobody has an extension for {assignment}"]
        if not due:
            lines.append(
                f"{assignment} has no due date yet: write one into term.toml, or set it in the formgrader."
            )
    return "\n".join(lines)
