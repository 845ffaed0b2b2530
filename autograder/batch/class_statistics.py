"""Numbers about a class: how its parts went, which mistakes come again, and how the term goes.

A part's two numbers are those of classical test theory. *Difficulty* is the share of the points that
were earned, so that an easy part has a high one. *Discrimination* is the corrected correlation of a part
with the total: Pearson's r of the points for the part and the points for all other parts together, in
which the part itself is left out because it would correlate with itself; Henrysson (1963), "Correction of
item-total correlations in item analysis", Psychometrika 28(2), 211-218.

The report of each assignment keeps who made which named mistake, in a file beside its journal; that of
a later one reads the files of all that come before it. The file has names of students in it, as the
journal has, and what is shown to a class only counts them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import StatisticsError, correlation, mean, median
from types import MappingProxyType

import msgspec
from nbgrader.api import Assignment, Gradebook, Student, SubmittedAssignment
from sqlalchemy import Row

from autograder.batch.course import open_course
from autograder.batch.release_text import title_of
from autograder.batch.student_result import StudentResult, due_of
from autograder.files import write_whole
from autograder.order import by_number
from autograder.points import counted

FEWEST = 20  # students from which a correlation is more than chance
FILE = "mistakes.json"

MistakesMade = dict[str, frozenset[str]]  # their names by student


@dataclass(frozen=True)
class PartStatistics:
    """How a class did in a part.

    Attributes:
        difficulty: the share of all points that the class earned, from 0 to 1; none is more than all.
        whole: how many earned all of them, or were given more.
        discrimination: from -1 to 1; None where too few were graded, where all earned the same for the
            part or for the rest, or where there is no other part.
    """

    difficulty: float
    whole: int
    discrimination: float | None


@dataclass(frozen=True)
class RecurringMistake:
    """A mistake that was made in an earlier assignment, and what became of it.

    Attributes:
        name: the mistake's.
        earlier: the assignments in which it was made before.
        before: how many of today's students had made it.
        again: how many of those made it today.
    """

    name: str
    earlier: tuple[str, ...]
    before: int
    again: int


@dataclass(frozen=True)
class Standing:
    """One assignment of the term, and the points of those who handed in, late penalty taken off."""

    assignment: str
    title: str
    handed_in: int
    late: int
    of: float
    mean: float
    median: float


def points_possible(rows: Sequence[StudentResult]) -> dict[str, float]:
    """The points that there are, by part; a row that stands in no gradebook has none."""
    return max((row.possible for row in rows), key=len, default={})


def part_statistics(
    part: str, earned: Sequence[Mapping[str, float]], possible: float
) -> PartStatistics:
    """What the points of a class, by student and part, say about one part."""
    points = [own[part] for own in earned]
    others = [sum(own.values()) - own[part] for own in earned]
    discrimination = None
    if len(points) >= FEWEST:
        with contextlib.suppress(StatisticsError):  # one of the two is the same for all
            discrimination = correlation(points, others)
    return PartStatistics(
        difficulty=sum(min(value, possible) for value in points) / max(possible * len(points), 1),
        whole=sum(value >= possible for value in points),
        discrimination=discrimination,
    )


def mistakes_made(rows: Sequence[StudentResult]) -> MistakesMade:
    """The names of the mistakes that each student made."""
    return {row.student: frozenset(_names_in(row)) for row in rows if not row.failed}


def _names_in(row: StudentResult) -> list[str]:
    return [name for finding in row.findings for name, _ in finding.mistakes]


def keep_mistakes(course: Path, assignment: str, rows: Sequence[StudentResult]) -> None:
    """Write down who made which mistake, for the reports of later assignments."""
    made = {student: sorted(names) for student, names in mistakes_made(rows).items()}
    write_whole(course / "grading" / assignment / FILE, msgspec.json.encode(made))


def earlier_mistakes(course: Path, assignment: str) -> dict[str, MistakesMade]:
    """Who made which mistake in each assignment before this one, in the order of their numbers."""
    found = {}
    for path in sorted((course / "grading").glob(f"*/{FILE}"), key=by_number):
        if by_number(path.parent.name) < by_number(assignment):
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                found[path.parent.name] = msgspec.json.decode(path.read_bytes(), type=MistakesMade)
    return found


def recurring_in(
    rows: Sequence[StudentResult], earlier: Mapping[str, MistakesMade]
) -> list[RecurringMistake]:
    """The mistakes of today that somebody had made earlier, the most frequent first."""
    today = mistakes_made(rows)
    found = []
    for name in set().union(*today.values()):
        who = {
            assignment: {student for student, names in made.items() if name in names}
            for assignment, made in earlier.items()
        }
        before = today.keys() & set().union(*who.values())
        again = sum(name in today[student] for student in before)
        if again:
            where = tuple(assignment for assignment, students in who.items() if students)
            found.append(RecurringMistake(name, where, len(before), again))
    return sorted(found, key=lambda mistake: (-mistake.again, mistake.name))


def made_again(row: StudentResult, earlier: Mapping[str, MistakesMade]) -> str:
    """The mistakes of one student that the student has made before, and in which assignments."""
    before = {
        name: [
            assignment for assignment, made in earlier.items() if name in made.get(row.student, ())
        ]
        for name in _names_in(row)
    }
    return " | ".join(
        f"{name} (as in {', '.join(where)})" for name, where in before.items() if where
    )


def standings(
    course: Path, excused: Mapping[str, Collection[str]] = MappingProxyType({})
) -> tuple[int, list[Standing]]:
    """How many students the gradebook knows, and every assignment that somebody handed in.

    Of who is excused from one, by student, nothing counts there.
    """
    coursedir = open_course(course).coursedir
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        # by columns, since nbgrader's objects for a term of 300 students take half a minute
        question = (
            gradebook.db.query(
                Assignment.name,
                SubmittedAssignment.student_id,
                Assignment.duedate,
                Assignment.max_score,
                SubmittedAssignment.timestamp,
                SubmittedAssignment.extension,
                SubmittedAssignment.score,
                SubmittedAssignment.late_submission_penalty,
            )
            .join(SubmittedAssignment, SubmittedAssignment.assignment_id == Assignment.id)
            .order_by(Assignment.name)
        )
        counted = [row for row in question if row.name not in excused.get(row.student_id, ())]
        found = [
            _standing(course, name, list(rows))
            for name, rows in groupby(counted, key=lambda row: row.name)
        ]
        students = gradebook.db.query(Student).count()
    return students, sorted(found, key=lambda standing: by_number(standing.assignment))


def _standing(course: Path, name: str, rows: Sequence[Row]) -> Standing:
    points = [counted(row.score, row.late_submission_penalty) for row in rows]
    dues = [due_of(row.duedate, row.extension) for row in rows]
    return Standing(
        name,
        title_of(course, name),
        handed_in=len(rows),
        late=sum(
            bool(due and row.timestamp and row.timestamp > due)
            for row, due in zip(rows, dues, strict=True)
        ),
        of=rows[0].max_score,
        mean=mean(points),
        median=median(points),
    )
