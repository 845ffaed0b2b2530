"""What a course's ``nbgrader_config.py`` says, so that nbgrader's own commands grade as the engine does."""

from __future__ import annotations

import os
import sys
from functools import wraps
from pathlib import Path
from typing import Any

import nbgrader
from nbformat.v4 import new_notebook
from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.preprocessors import ClearSolutions

from autograder.batch import validate
from autograder.batch.exchange_time import read_in_its_zone
from autograder.checks.course import RELEASES
from autograder.grade.submission import notebook_in_folder
from autograder.validation import sentences_first

# ours first: it has a macro in the place of nbconvert's, which loads MathJax from another host whatever is configured
TEMPLATES = [
    str(Path(__file__).parents[1] / "pages"),
    str(Path(nbgrader.__file__).parent / "server_extensions/formgrader/templates"),
]


def use_own_programs() -> None:
    """Put this environment's programs on PATH: nbgrader starts ``alembic`` by its bare name.

    Without it, ``nbgrader generate_assignment --force`` takes the old release away, and then stops.
    """
    own = str(Path(sys.executable).parent)
    there = os.environ.get("PATH", os.defpath)
    if own not in there.split(os.pathsep):
        os.environ["PATH"] = own + os.pathsep + there


def leave_reading_to_the_engine() -> None:
    """Let `nbgrader autograde` take what a batch takes; twice does no more than once.

    nbgrader reads what was handed in before a preprocessor sees it, and only under the right name. The engine
    takes the one notebook of a folder under whatever name, and reads files that nbgrader stumbles over.
    """
    if hasattr(Autograde.init_assignment, "__wrapped__"):
        return
    init = Autograde.init_assignment

    @wraps(init)
    def init_assignment(self: Autograde, assignment: str, student: str) -> None:
        folder = Path(self._format_source(assignment, student))
        found = notebook_in_folder(folder, assignment)
        if str(found) in self.notebooks:
            self.notebooks = [str(folder / f"{assignment}.ipynb")]
            if found.name != f"{assignment}.ipynb":
                self.log.warning("Taking %s for %s.ipynb", found.name, assignment)
        init(self, assignment, student)

    def convert(self: Autograde, notebook: str) -> None:
        resources = self.init_single_notebook_resources(notebook)
        self._sanitizing = False
        try:
            self._init_preprocessors()
            written, resources = self.exporter.from_notebook_node(new_notebook(), resources)
            self.write_single_notebook(written, resources)
        finally:
            self._sanitizing = True

    Autograde.init_assignment, Autograde.convert_single_notebook = init_assignment, convert


def use_engine(config: Any) -> None:
    """Let this engine run and decide notebooks, and write the pages that students get.

    The configuration is what ``get_config()`` gives in ``nbgrader_config.py``. nbgrader finds the programs
    that it calls, whether or not this environment is on PATH, and reads times in the zone in which it wrote them.
    """
    use_own_programs()
    leave_reading_to_the_engine()
    read_in_its_zone()
    sentences_first(validate)

    # What is handed out in the place of a solution may be more than a line that stops.
    ours = "autograder.release.clear_solutions.ClearSolutionsOrHandOut"
    config.GenerateAssignment.preprocessors = [
        ours if step is ClearSolutions else step
        for step in GenerateAssignment.preprocessors.default()
    ]

    # What was handed in is read and graded as in a batch, and its metadata, which the engine has put right,
    # is not checked again: an answer that became a cell of text would stop that.
    config.Autograde.autograde_preprocessors = [
        "autograder.batch.autograde.Grade",
        "autograder.batch.autograde.SaveScores",
        "nbgrader.preprocessors.AssignLatePenalties",
    ]

    # The page that students get, from the command, the formgrader and a batch alike.
    config.GenerateFeedback.preprocessors = ["autograder.batch.feedback.Marks"]
    config.GenerateFeedback.exporter_class = "autograder.batch.feedback.FeedbackPage"

    # What graders read in the formgrader, without a network.
    config.HTMLExporter.preprocessors = ["autograder.batch.formgrader_page.Complete"]
    config.HTMLExporter.extra_template_basedirs = TEMPLATES

    # A table in which every name stays in its cell, and none is a formula.
    config.ExportApp.plugin_class = "autograder.batch.grades_table.GradesTable"

    config.CourseDirectory.source_directory = "solutions"
    config.CourseDirectory.release_directory = RELEASES
    config.ClearSolutions.code_stub = {
        "python": "# Write your answer here and delete the next line.\n"
        'raise NotImplementedError("not answered yet")'
    }
