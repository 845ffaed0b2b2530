"""What nbgrader's gradebook holds for a platform: points as they count, and who a student is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from nbgrader.api import MissingEntry

from autograder.batch.course import open_course
from autograder.batch.excused import excused_from
from autograder.batch.roster import roster_of
from autograder.batch.run_lock import open_gradebook
from autograder.batch.term import TERM, term_of
from autograder.points import counted

KINDS = ("email", "id")  # what a platform may know a student by besides our own id


@dataclass(frozen=True)
class Known:
    """A student of the gradebook or of the class's own list.

    Attributes:
        student: the id, which is the name of a folder.
        email: empty, if neither has one.
        number: the platform's own, empty if neither has one.
        points: late penalty taken off, points given by hand included; None if nothing was graded.
        excused: the assignment does not count for this student.
        waits: somebody must read or look before these points count.
    """

    student: str
    email: str = ""
    number: str = ""
    points: float | None = None
    waits: bool = False
    excused: bool = False

    def id_in(self, column: str) -> str:
        """By what a platform's column knows this student: "email", "id", or any other."""
        return {"email": self.email, "id": self.number}.get(column) or self.student


def students_in(course: Path, assignment: str) -> tuple[float | None, dict[str, Known]]:
    """The points that an assignment gives at most, and all students of the gradebook and of the class's list.

    Args:
        assignment: the assignment's id, or `TERM` for the final marks, which are percentages.

    Returns:
        None in place of the points where the gradebook does not know the assignment.

    Raises:
        CourseError: the gradebook or the list cannot be read.
    """
    listed = roster_of(course)
    coursedir = open_course(course).coursedir
    with open_gradebook(coursedir) as gradebook:
        known = {
            student.id: Known(student.id, student.email or "", student.lms_user_id or "")
            for student in gradebook.students
        }
        for name, person in listed.items():
            before = known.get(name, Known(name))
            email, number = person.email or before.email, person.lms_user_id or before.number
            known[name] = replace(before, email=email, number=number)
        if assignment == TERM:
            for one in term_of(course).standings:
                mark = None if one.mark.percent is None else float(one.mark.percent)
                student = known.get(one.student, Known(one.student))
                known[one.student] = replace(student, points=mark, waits=one.waits)
            return 100.0, known
        try:
            entry = gradebook.find_assignment(assignment)
        except MissingEntry:
            return None, known
        for submission in entry.submissions:
            student = submission.student_id
            points = counted(submission.score, submission.late_submission_penalty)
            waits = bool(submission.needs_manual_grade)
            known[student] = replace(known[student], points=points, waits=waits)
        for name in excused_from(course, assignment) & known.keys():
            known[name] = replace(known[name], excused=True)
        return entry.max_score, known
