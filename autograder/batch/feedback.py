"""Our feedback page in place of nbgrader's: what its ``generate_feedback`` asks for a page.

`nbgrader_config.py` names the two classes, so that the command, the formgrader's button and a batch
write the same page into nbgrader's folder, from which it is handed out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import Exporter
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.api import Grade, Gradebook
from nbgrader.converters import GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import capture_log
from traitlets import List, default

from autograder.batch.course import open_course
from autograder.batch.entries import Entry
from autograder.batch.for_grader import without_notes
from autograder.checks.course import course
from autograder.grade.feedback_page import (
    Mark,
    Plan,
    feedback_page,
    on_site,
    page_that_could_not_be_run,
    plan_of,
)
from autograder.grade.report import Report, report_in


class Marks(NbGraderPreprocessor):
    """Reads a student's points and comments from the gradebook into the exporter's resources."""

    def preprocess(
        self, nb: NotebookNode, resources: ResourcesDict
    ) -> tuple[NotebookNode, ResourcesDict]:
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            submission = gradebook.find_submission_notebook(
                names["notebook"], names["assignment"], names["student"]
            )
            names["marks"] = {grade.name: mark_of(grade) for grade in submission.grades}
            names["comments"] = {
                comment.name: comment.manual_comment
                for comment in submission.comments
                if comment.manual_comment
            }
            names["penalty"] = submission.late_submission_penalty or 0.0
        return nb, resources


def mark_of(grade: Grade) -> Mark:
    """What a row of the gradebook says to a student."""
    by_hand = grade.manual_score is not None
    return Mark(
        score=grade.score,
        of=grade.max_score,
        by_hand=by_hand,
        earlier=by_hand and grade.needs_manual_grade,
        waits=not by_hand and grade.auto_score is None,
        found=grade.auto_score if by_hand else None,
        extra=grade.extra_credit or 0.0,
    )


class FeedbackPage(Exporter):
    """Makes the page of a notebook whose marks `Marks` has read."""

    file_extension = ".html"
    output_mimetype = "text/html"

    def from_notebook_node(
        self, nb: NotebookNode, resources: Any = None, **_kw: Any
    ) -> tuple[str, ResourcesDict]:
        notebook, resources = super().from_notebook_node(nb, resources)
        names = resources["nbgrader"]
        notebook, report = without_notes(notebook), report_in(notebook)
        plan = plan_in(self.parent.coursedir, names["assignment"], names["notebook"])
        plan = plan or plan_of(notebook)
        if report.broken:
            given = points_settled(names["marks"].values(), names["penalty"])
            comments = names["comments"].values()
            return page_that_could_not_be_run(plan, report, given, comments), resources
        page = feedback_page(
            plan,
            notebook,
            report,
            names["marks"],
            names["comments"],
            names["penalty"],
            leads_to=partial(on_site, course().site),
        )
        return page, resources


def plan_in(course: CourseDirectory, assignment: str, notebook: str) -> Plan | None:
    """What an assignment of a course asks; None where its source is not there any more."""
    folder = course.format_path(course.source_directory, ".", assignment)
    source = Path(course.root, folder, f"{notebook}.ipynb")
    return _plan_at(source, source.stat().st_mtime_ns) if source.exists() else None


@lru_cache(maxsize=4)
def _plan_at(source: Path, _written: int) -> Plan:
    return plan_of(nbformat.read(source, as_version=4))


def points_settled(marks: Iterable[Mark], penalty: float) -> float | None:
    """The points of somebody whose work could not be run and is settled by hand; None where it is not."""
    marks = list(marks)
    if not all(mark.by_hand and not mark.earlier for mark in marks if mark.of):
        return None
    return max(0.0, sum(mark.score for mark in marks) - penalty)


def page_of_unreadable(
    course: CourseDirectory, assignment: str, result: Report, entry: Entry
) -> str:
    """The page of a submission from which no points could come, see `InvalidSubmission`."""
    plan = plan_in(course, assignment, assignment) or Plan(assignment, ())
    settled = not any(grade.needs_manual_grade for grade in entry.own)
    given = max(0.0, entry.score() - entry.penalty) if settled else None
    said = [one.manual_comment for one in entry.comments if one.manual_comment]
    return page_that_could_not_be_run(plan, result, given, said)


class FeedbackOfOne(GenerateFeedback):
    """nbgrader's feedback for one student, whose name is no pattern: `*` would be the whole class."""

    student = ""
    preprocessors = List([Marks]).tag(config=True)

    @default("exporter_class")
    def _our_page(self) -> type[Exporter]:
        return FeedbackPage

    def init_notebooks(self) -> None:
        assignment = self.coursedir.assignment_id
        folder = self._format_source(assignment, self.student)
        self.assignments = {folder: [os.path.join(folder, f"{assignment}.ipynb")]}
        self.notebooks: list[str] = []


def feedback_of(course: Path, assignment: str, student: str) -> dict[str, Any]:
    """Let nbgrader write a student's feedback page, as `NbGraderAPI.generate_feedback` does."""
    api = open_course(course)
    api.coursedir.assignment_id = assignment
    app = FeedbackOfOne(coursedir=api.coursedir, parent=api)
    app.force, app.student = True, student
    return capture_log(app)
