"""Take off for coming in late what the course's plugin says."""

from __future__ import annotations

from functools import cached_property

from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Config

from autograder.batch.entries import Entry
from autograder.batch.student_result import due_of
from autograder.errors import CourseError


class Penalties:
    """What nbgrader's own preprocessor would take off, by today's score and due date."""

    def __init__(self, config: Config) -> None:
        self._config = config

    @cached_property
    def _nbgraders(self) -> AssignLatePenalties:
        made = AssignLatePenalties(config=self._config)
        made.init_plugin()
        return made

    def assign(self, entry: Entry) -> None:
        """Put them down in a student's entry.

        Raises:
            CourseError: the plugin fails.
        """
        submission = entry.submission
        due = due_of(submission.assignment.duedate, submission.extension)
        late = 0.0
        if submission.timestamp and due:
            late = max(0.0, (submission.timestamp - due).total_seconds())
        for notebook in submission.notebooks:
            penalty = self._penalty(submission.student_id, entry.score(notebook.id), late)
            if notebook.late_submission_penalty != penalty:
                notebook.late_submission_penalty = penalty

    def _penalty(self, student: str, score: float, late: float) -> float | None:
        if not late:
            return None
        try:
            penalty = self._nbgraders.plugin_inst.late_submission_penalty(student, score, late)
        except Exception as error:
            raise CourseError(
                f"the course's plugin for late penalties failed: {type(error).__name__}: "
                f"{error}. nbgrader_config.py names it"
            ) from error
        return None if penalty is None else min(max(penalty, 0.0), score)
