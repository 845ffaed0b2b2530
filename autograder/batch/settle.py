"""``python -m autograder settle``: the points of one student's work are a person's, and nothing of it waits.

They stand in nbgrader's gradebook, as if typed into the formgrader, until other work comes in.

    python -m autograder settle ASSIGNMENT STUDENT --points 0 --reason "the file cannot be read"
    python -m autograder settle ASSIGNMENT STUDENT
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.errors import CourseError
from autograder.files import meant, printable

if TYPE_CHECKING:
    from autograder.batch.entries import Entry


def settle(entry: Entry, points: float | None, reason: str, doubted: Collection[str]) -> float:
    """Make the scores of cells a person's own: those that wait or are doubted, else all, and those that change.

    Args:
        points: the new total before a late penalty; None for that which stands.
        reason: what the student reads with it; it may be empty.
        doubted: the cells at which a person is to look, though they have points.

    Returns:
        the total.

    Raises:
        CourseError: there are not so many points, or none so far for a cell that waits.
    """
    from autograder.batch.entries import points_of

    grades = [grade for grade in entry.own if entry.of(grade)]
    new = {grade.name: points_of(grade) for grade in grades}
    if points is None:
        empty = [grade.name for grade in grades if grade.auto_score is None is grade.manual_score]
        if empty:
            raise CourseError(
                f"expected points for {', '.join(empty)}, found none. Give them in the formgrader, or all with --points"
            )
    else:
        most = sum(map(entry.of, grades))
        if not 0 <= points <= most:
            raise CourseError(f"expected points from 0 to {most:g}, found {points:g}")
        left = points - sum(new.values())
        # more from the first cell on, and less from the last one, so that most of them stay
        for grade in grades if left > 0 else reversed(grades):
            score = min(max(new[grade.name] + left, 0.0), entry.of(grade))
            new[grade.name], left = score, left - (score - new[grade.name])
    waiting = {grade.name for grade in grades if grade.needs_manual_grade}.union(doubted)
    for grade in grades:
        score = new[grade.name]
        if not waiting or grade.name in waiting or score != points_of(grade):
            grade.manual_score, grade.extra_credit = score, None
            grade.needs_manual_grade = False
    if reason and entry.comments:
        first = entry.comments[0]
        said = first.manual_comment or ""
        if reason not in said:
            first.manual_comment = f"{said}\n\n{reason}".strip()
    return sum(new.values(), 0.0)


def add_to(commands: Any) -> None:
    """Add the subcommand to those of the command line."""
    command = commands.add_parser(
        "settle",
        help="say that one student's points stand, or what they are, so that nothing waits",
    )
    command.add_argument("assignment", help="its id, which begins with a and a number")
    command.add_argument("student", help="the id")
    command.add_argument(
        "--points", type=_number, help="in all, before a late penalty; without it, those that stand"
    )
    command.add_argument("--reason", default="", help="which the student reads as a comment")
    command.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    command.set_defaults(run=run)


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"expected a number of points, got {text}")
    return number


def run(options: argparse.Namespace) -> int:
    """Exit status 0: settled; 2: nothing was done, and the message says why."""
    try:
        print(_carried_out(options))
    except CourseError as error:
        print(f"nothing settled: {error}", file=sys.stderr)
        return 2
    return 0


def _carried_out(options: argparse.Namespace) -> str:
    from autograder.batch.course import open_assignment
    from autograder.batch.entries import Entries, one_transaction
    from autograder.batch.run_lock import open_gradebook

    course, assignment = options.course, options.assignment.rstrip("/")
    student = options.student
    coursedir = open_assignment(course, assignment).coursedir
    with open_gradebook(coursedir) as gradebook:
        entries = Entries(gradebook, assignment)
        known = entries.students()
        if student not in known:
            raise CourseError(
                f"expected work of “{printable(student)}” for {assignment} in the gradebook, found none. "
                f"{meant(student, known) or 'Grade first'}"
            )
        with one_transaction(gradebook):
            entry = entries.of([student])[student]
            doubted = _doubted_in(course / "autograded" / student / assignment)
            total = settle(entry, options.points, options.reason, doubted)
            of, penalty = sum(entry.worth.values()), entry.penalty
    less = f", less {penalty:g} for coming in late" if penalty else ""
    return (
        f"{printable(student)} has {total:g} of {of:g} points for {assignment}{less}, and nothing of it waits until "
        "other work comes in. Grade again, which takes seconds, and the pages say so."
    )


def _doubted_in(folder: Path) -> set[str]:
    """The check cells at which a person is to look, by the graded notebook in a folder."""
    import nbformat

    from autograder.batch.student_result import doubts
    from autograder.grade.report import CHECK, report_in

    path = folder / f"{folder.name}.ipynb"
    if not path.exists():
        return set()
    report = report_in(nbformat.read(path, as_version=4))
    return {f"{CHECK}{part}" for parts, _ in doubts(report) for part in parts}
