"""What ``nbgrader export`` writes: nbgrader's own columns, in a table that is safe to open.

nbgrader joins its cells with commas and quotes nothing, so that a comma in a name moves every score
behind it into the next column, and a name that begins with "=" is a formula.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from nbgrader.api import Assignment, Gradebook, Student, SubmittedAssignment
from nbgrader.plugins import ExportPlugin

from autograder.batch.table import csv_text
from autograder.files import harmless, write_whole
from autograder.order import by_number
from autograder.points import counted

COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
    "raw_score", "late_submission_penalty", "score", "max_score",
)  # fmt: skip


class GradesTable(ExportPlugin):
    """Writes ``grades.csv``; `nbgrader_config.py` names it, so that nbgrader's own command uses it."""

    def export(self, gradebook: Gradebook) -> None:
        path = Path(self.to or "grades.csv")
        self.log.info("Exporting grades to %s", path)
        rows = grades(gradebook, self.assignment, self.student)
        write_whole(path, csv_text(map(harmless, row) for row in rows))


def grades(
    gradebook: Gradebook, assignments: Collection[str] = (), students: Collection[str] = ()
) -> Iterator[tuple[object, ...]]:
    """Every student's score in every assignment, or in some, below `COLUMNS`; who handed in nothing has 0."""
    yield COLUMNS
    names, ids = set(map(str, assignments)), set(map(str, students))
    handed_in = {
        (submission.assignment_id, submission.student_id): submission
        for submission in gradebook.db.query(SubmittedAssignment)
    }
    everybody = sorted(gradebook.students, key=_place)
    for assignment in sorted(gradebook.assignments, key=lambda found: by_number(found.name)):
        for student in everybody:
            if (not names or assignment.name in names) and (not ids or student.id in ids):
                yield _row(assignment, student, handed_in.get((assignment.id, student.id)))


def _place(student: Student) -> tuple[str, str, str]:
    """Where a student stands in the table: as nbgrader has it, and by id where there are no names."""
    return student.last_name or "", student.first_name or "", student.id


def _row(
    assignment: Assignment, student: Student, submission: SubmittedAssignment | None
) -> tuple[object, ...]:
    score = submission.score if submission else 0.0
    penalty = submission.late_submission_penalty if submission else 0.0
    return (
        assignment.name, assignment.duedate, submission and submission.timestamp,
        student.id, student.last_name, student.first_name, student.email,
        counted(score), penalty, counted(score, penalty), assignment.max_score,
    )  # fmt: skip
