"""nbgrader's own command and the formgrader's button, on the one road by which a class is graded.

`Grade` takes the place of nbgrader's execution: it reads what was handed in and grades it as a batch does,
in the sandbox, with the course's secret, the same limits and the same options. `SaveScores` writes
what it found into the gradebook.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import nbformat
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution, is_task
from traitlets import Enum

from autograder.batch.classroom import job_of, job_of_class
from autograder.batch.for_grader import notes_in, with_notes
from autograder.batch.settings import Settings
from autograder.batch.sheets import Sheets
from autograder.errors import CourseError
from autograder.grade.invalid import InvalidSubmission
from autograder.grade.report import Report
from autograder.grade.restore import released_cells
from autograder.grade.run import attempt
from autograder.sandbox import bubblewrap
from autograder.sandbox.kernels import own_kernels

RESULT = "autograder"  # of the resources that one step hands to the next


class Grade(NbGraderPreprocessor):
    """Puts the graded notebook in the place of what was handed in."""

    isolation = Enum(
        (bubblewrap.FULL, bubblewrap.NONE), bubblewrap.FULL, help="How submissions are kept apart."
    ).tag(config=True)

    def preprocess(
        self, nb: NotebookNode, resources: ResourcesDict
    ) -> tuple[NotebookNode, ResourcesDict]:
        names = resources["nbgrader"]
        assignment, course = names["assignment"], Path.cwd()  # where nbgrader's converters work
        if self.isolation == bubblewrap.FULL and bubblewrap.missing():
            raise CourseError(
                f"{bubblewrap.missing()} For nbgrader's own commands that is a line in nbgrader_config.py, "
                f'c.Grade.isolation = "{bubblewrap.NONE}".'
            )
        with Gradebook(names["db_url"]) as gradebook:
            released = released_cells(gradebook, names["notebook"], assignment)
        settings = Settings(isolation=self.isolation)
        whole = job_of_class(course, assignment, tuple(released), settings)
        try:
            job = job_of(course / "submitted" / names["student"] / assignment, whole)
        except InvalidSubmission as problem:
            raise CourseError(str(problem)) from None
        kept = course / "grading" / assignment
        kept.mkdir(parents=True, exist_ok=True)
        job = replace(job, sheet=Sheets(kept).of(names["student"], job.digest))
        result = attempt(job, own_kernels(job.isolation, job.modules))
        if result.broken:
            raise CourseError(result.broken)
        resources[RESULT] = result
        graded = nbformat.reads(result.notebook, as_version=4)
        source = course / "solutions" / assignment / f"{names['notebook']}.ipynb"
        return with_notes(graded, notes_in(source)), resources


class SaveScores(NbGraderPreprocessor):
    """Writes the scores of a result into the gradebook, and which answers are still as they were given out.

    What a person gave stays, and is to be seen again.
    """

    def preprocess(
        self, nb: NotebookNode, resources: ResourcesDict
    ) -> tuple[NotebookNode, ResourcesDict]:
        names, result = resources["nbgrader"], resources[RESULT]
        assert isinstance(result, Report)
        work = names["notebook"], names["assignment"], names["student"]
        with Gradebook(names["db_url"]) as gradebook:
            for cell in nb.cells:
                name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
                if is_grade(cell):
                    grade = gradebook.find_grade(name, *work)
                    grade.auto_score = result.scores.get(name)
                    by_hand = grade.manual_score is not None
                    grade.needs_manual_grade = by_hand or grade.auto_score is None
                if is_solution(cell) or is_task(cell):
                    comment = gradebook.find_comment(name, *work)
                    comment.auto_comment = "No response." if name in result.unanswered else None
            gradebook.db.commit()
        return nb, resources
