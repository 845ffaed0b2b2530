"""``python -m autograder settle``: the points of one student's work are a person's, and nothing of it waits.

They stand in nbgrader's gradebook, as if typed into the formgrader, until other work comes in.

    python -m autograder settle ASSIGNMENT STUDENT --points 0 --reason "the file cannot be read"
    python -m autograder settle ASSIGNMENT STUDENT
    python -m autograder settle ASSIGNMENT STUDENT --part PART --reason "your rows sum to one over the wrong axis"

The last is about one part, and answers a student's request to look again at it, with points or with a sentence.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.errors import CourseError
from autograder.files import listed, meant, printable
from autograder.grade.report import CHECK, Report, report_in

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
    empty = [grade.name for grade in grades if grade.auto_score is None is grade.manual_score]
    if points is None:
        if empty:
            raise CourseError(
                f"expected points for {', '.join(empty)}, found none. Give them in the formgrader, or with "
                f"--part {empty[0].removeprefix(CHECK)} --points N"
            )
    else:
        most = sum(map(entry.of, grades))
        if not 0 <= points <= most:
            raise CourseError(f"expected points from 0 to {most:g}, found {points:g}")
        stands = sum(new.values())
        if empty and 0 < points < stands:
            raise CourseError(
                f"--points is the new total, and {points:g} is less than the {stands:g} that stand without "
                f"{', '.join(empty)}. Give the points of a part with --part {empty[0].removeprefix(CHECK)} "
                f"--points {points:g}"
            )
        left = points - stands
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
        _say(entry.comments[0], reason)
    return sum(new.values(), 0.0)


def settle_part(
    entry: Entry, part: str, points: float | None, reason: str, doubted: Collection[str]
) -> float:
    """Answer for one part: by points, which are a person's then, or by a sentence, which leaves them the check's.

    Args:
        points: those of the part; None for those that stand.
        reason, doubted: as for `settle`.

    Returns:
        the part's points.

    Raises:
        CourseError: there is no such part, there are not so many points, none so far, or there is no answer.
    """
    from autograder.batch.entries import points_of

    grades = {grade.name.removeprefix(CHECK): grade for grade in entry.own if entry.of(grade)}
    grade = grades.get(part)
    if grade is None:
        said = meant(part, grades) or listed([*grades])
        raise CourseError(f"expected the name of a part, found “{printable(part)}”. {said}")
    if points is None and not reason:
        raise CourseError(f"expected an answer for {part}, by --points or --reason, found neither")
    if points is None and grade.auto_score is None is grade.manual_score:
        raise CourseError(f"expected points for {part}, found none. Give them with --points")
    score = points_of(grade) if points is None else points
    if points is not None and not 0 <= points <= entry.of(grade):
        raise CourseError(
            f"expected points from 0 to {entry.of(grade):g} for {part}, found {points:g}"
        )
    if points is not None or grade.needs_manual_grade or grade.name in doubted:
        grade.manual_score, grade.extra_credit, grade.needs_manual_grade = score, None, False
    if reason and entry.comments:
        beside = (one for one in entry.comments if one.name in (part, grade.name))
        found = next(beside, None)
        _say(found or entry.comments[0], reason if found else f"{part}: {reason}")
    return score


def _say(comment: Any, reason: str) -> None:
    said = comment.manual_comment or ""
    if reason not in said:
        comment.manual_comment = f"{said}\n\n{reason}".strip()


def add_to(commands: Any) -> None:
    """Add the subcommand to those of the command line."""
    command = commands.add_parser(
        "settle",
        help="say that one student's points stand, or what they are, so that nothing waits",
    )
    command.add_argument("assignment", help="its id, which begins with a and a number")
    command.add_argument("student", help="the id")
    command.add_argument("--part", default="", help="only this one; points are then the part's")
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
    from autograder.batch.appeals import keep_settled
    from autograder.batch.course import open_assignment
    from autograder.batch.entries import Entries, one_transaction
    from autograder.batch.run_lock import open_gradebook

    course, assignment = options.course, options.assignment.rstrip("/")
    student, part = options.student, options.part.removeprefix(CHECK)
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
            report = _graded_in(course / "autograded" / student / assignment)
            doubted = _doubted_in(report)
            if part:
                points = settle_part(entry, part, options.points, options.reason, doubted)
            else:
                total = settle(entry, options.points, options.reason, doubted)
            of, penalty = sum(entry.worth.values()), entry.penalty
    marks = {one.part: one.mark for one in report.appeals if part in ("", one.part)}
    if marks:
        keep_settled(course, assignment, student, marks)
    if part:
        return (
            f"{printable(student)} has {points:g} points for {part} of {assignment}, and it is answered. Grade again, "
            "which takes seconds, and the pages say so."
        )
    less = f", less {penalty:g} for coming in late" if penalty else ""
    return (
        f"{printable(student)} has {total:g} of {of:g} points for {assignment}{less}, and nothing of it waits until "
        "other work comes in. Grade again, which takes seconds, and the pages say so."
    )


def _graded_in(folder: Path) -> Report:
    """What the graded notebook in a folder carries; nothing where there is none."""
    import nbformat

    path = folder / f"{folder.name}.ipynb"
    return report_in(nbformat.read(path, as_version=4)) if path.exists() else Report()


def _doubted_in(report: Report) -> set[str]:
    """The check cells at which a person is to look."""
    from autograder.batch.student_result import doubts

    return {f"{CHECK}{part}" for parts, _ in doubts(report) for part in parts}
