"""How a class moves from one assignment to the next, by nbgrader's gradebook."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import mean, median

import nbformat
from nbgrader.api import Assignment, Gradebook, Student, SubmittedAssignment

from autograder.batch.course import open_course
from autograder.batch.student_result import due_of
from autograder.order import by_number


@dataclass(frozen=True)
class Standing:
    """One assignment of the term.

    Attributes:
        assignment: its id.
        title: in words.
        handed_in, late: numbers of students.
        of: points that can be had.
        mean, median: of the points of those who handed in, late penalty taken off.
    """

    assignment: str
    title: str
    handed_in: int
    late: int
    of: float
    mean: float
    median: float


def title_of(course: Path, assignment: str) -> str:
    """The first heading of an assignment's notebook; its id, if there is none."""
    path = course / open_course(course).coursedir.source_directory / assignment
    try:
        notebook = nbformat.read(path / f"{assignment}.ipynb", as_version=4)
    except (OSError, nbformat.reader.NotJSONError):
        return assignment
    for cell in notebook.cells:
        heading = re.search(r"^# (.+)$", cell.source, re.MULTILINE)
        if cell.cell_type == "markdown" and heading:
            return heading[1].strip()
    return assignment


def standings(course: Path) -> tuple[int, list[Standing]]:
    """How many students the gradebook knows, and every assignment that somebody handed in."""
    coursedir = open_course(course).coursedir
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        students = gradebook.db.query(Student).count()
        question = (
            gradebook.db.query(
                Assignment.name,
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
        found = [
            _standing(course, name, list(rows))
            for name, rows in groupby(question, key=lambda row: row.name)
        ]
    return students, sorted(found, key=lambda item: by_number(item.assignment))


def _standing(course: Path, name: str, rows: list) -> Standing:
    points = [max(0.0, row.score - row.late_submission_penalty) for row in rows]
    late = 0
    for row in rows:
        due = due_of(row.duedate, row.extension)
        late += bool(due and row.timestamp and row.timestamp > due)
    return Standing(
        name,
        title_of(course, name),
        handed_in=len(rows),
        late=late,
        of=rows[0].max_score,
        mean=mean(points),
        median=median(points),
    )
