"""What people enter in nbgrader's gradebook while the service runs: due dates, scores, comments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    MissingEntry,
    SubmittedAssignment,
    SubmittedNotebook,
)

from autograder.batch.course import open_course
from autograder.batch.student_result import due_of
from autograder.files import digest_of
from autograder.service.journal import Work


@dataclass(frozen=True)
class Entered:
    """What people have entered.

    Attributes:
        dues: by assignment, UTC; None where there is none.
        extended: by student and assignment, when work is due that has an extension.
        hands: a digest, by student and assignment, of scores and comments given by hand, and of
            the due date; none where there is nothing of that.
    """

    dues: dict[str, datetime | None] = field(default_factory=dict)
    extended: dict[Work, datetime | None] = field(default_factory=dict)
    hands: dict[Work, str] = field(default_factory=dict)

    def due(self, student: str, assignment: str) -> datetime | None:
        """When a student's work is due; None if nobody said."""
        return self.extended.get((student, assignment), self.dues.get(assignment))


def entered_in(course: Path) -> Entered:
    """What people have entered in a course's gradebook; nothing if there is none so far."""
    coursedir = open_course(course).coursedir
    if coursedir.db_url.startswith("sqlite:///") and not (course / "gradebook.db").exists():
        return Entered()
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        ask = gradebook.db.query
        dues = dict(ask(Assignment.name, Assignment.duedate).all())
        submissions = (
            ask(
                SubmittedAssignment.id, SubmittedAssignment.student_id, Assignment.name,
                Assignment.duedate, SubmittedAssignment.extension,
            )
            .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
            .all()
        )  # fmt: skip
        scores = (
            ask(
                SubmittedNotebook.assignment_id, BaseCell.name, Grade.manual_score,
                Grade.extra_credit,
            )
            .filter(Grade.manual_score.is_not(None) | Grade.extra_credit.is_not(None))
            .join(SubmittedNotebook, Grade.notebook_id == SubmittedNotebook.id)
            .join(BaseCell, Grade.cell_id == BaseCell.id)
            .all()
        )  # fmt: skip
        comments = (
            ask(SubmittedNotebook.assignment_id, BaseCell.name, Comment.manual_comment)
            .join(SubmittedNotebook, Comment.notebook_id == SubmittedNotebook.id)
            .join(BaseCell, Comment.cell_id == BaseCell.id)
            .filter(Comment.manual_comment.is_not(None))
            .all()
        )
    given: dict[str, list[str]] = defaultdict(list)
    for submission, *what in [*scores, *comments]:
        given[submission].append(repr(what))
    extended, hands = {}, {}
    for number, student, assignment, due, extension in submissions:
        mine = due_of(due, extension)
        if extension:
            extended[student, assignment] = mine
        if mine or given[number]:
            hands[student, assignment] = digest_of(repr((mine, sorted(given[number]))))
    return Entered(dues, extended, hands)


def points_by_checks(course: Path, assignment: str, students: Iterable[str]) -> dict[str, float]:
    """What the checks gave each student, whatever persons have entered; late penalty taken off."""
    coursedir = open_course(course).coursedir
    points = {}
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        for student in students:
            try:
                submission = gradebook.find_submission(assignment, student)
            except MissingEntry:
                continue
            grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
            earned = sum(grade.auto_score or 0.0 for grade in grades)
            points[student] = earned - (submission.late_submission_penalty or 0.0)
    return points
