"""Who is excused from what, by a table of the course: it counts neither for them nor against them, anywhere."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from autograder.batch.course import assignments_of, open_course
from autograder.batch.roster import roster_of
from autograder.batch.run_lock import open_gradebook
from autograder.batch.student_result import StudentResult
from autograder.batch.term import EXCUSED, excused_in

REASON = "excused, so that it does not count"


def excused_of(course: Path) -> dict[str, set[str]]:
    """The assignments that do not count, by student.

    Raises:
        CourseError: the table names a student or an assignment that nobody knows.
    """
    path = course / EXCUSED
    if not path.exists():
        return {}
    api = open_course(course)
    with open_gradebook(api.coursedir) as gradebook:
        students = {one.id for one in gradebook.students} | roster_of(course).keys()
        assignments = {one.name for one in gradebook.assignments}
    submitted = course / api.coursedir.submitted_directory
    students |= {folder.name for folder in submitted.glob("*/")}
    return excused_in(path, students, assignments | {*assignments_of(api, course)})


def excused_from(course: Path, assignment: str) -> frozenset[str]:
    """Who is excused from an assignment; errors are those of `excused_of`."""
    excused = excused_of(course)
    return frozenset(student for student, names in excused.items() if assignment in names)


def without_excused(rows: Sequence[StudentResult], excused: Collection[str]) -> list[StudentResult]:
    """The rows, in which those who are excused have 0 of 0 points, and nothing of theirs waits."""
    return [
        replace(
            row, points=0, of=0, parts={}, marked={}, markable={}, findings=(), courses_own=(), penalty=0.0,
            due=None, reasons=(REASON,), needs_person=False, excused=True, asked=(),
        )
        if row.student in excused
        else row
        for row in rows
    ]  # fmt: skip
