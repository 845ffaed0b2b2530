"""What a course's ``nbgrader_config.py`` says, so that nbgrader's own commands grade as the engine does."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from autograder.grade.messages import RELEASES


def use_own_programs() -> None:
    """Put this environment's programs on PATH: nbgrader starts ``alembic`` by its bare name.

    Without it, ``nbgrader generate_assignment --force`` takes the old release away, and then stops.
    """
    own = str(Path(sys.executable).parent)
    there = os.environ.get("PATH", os.defpath)
    if own not in there.split(os.pathsep):
        os.environ["PATH"] = own + os.pathsep + there


def use_engine(config: Any) -> None:
    """Let this engine run and decide notebooks, and write the pages that students get.

    nbgrader finds the programs that it calls, whether or not this environment is on PATH.

    Args:
        config: what ``get_config()`` gives in ``nbgrader_config.py``.
    """
    use_own_programs()

    # What is handed out in the place of a solution may be more than a line that stops.
    config.GenerateAssignment.preprocessors = [
        "nbgrader.preprocessors.IncludeHeaderFooter",
        "nbgrader.preprocessors.InstantiateTests",
        "nbgrader.preprocessors.LockCells",
        "autograder.release.clear_solutions.ClearSolutionsOrHandOut",
        "nbgrader.preprocessors.ClearOutput",
        "nbgrader.preprocessors.CheckCellMetadata",
        "nbgrader.preprocessors.ComputeChecksums",
        "nbgrader.preprocessors.SaveCells",
        "nbgrader.preprocessors.ClearHiddenTests",
        "nbgrader.preprocessors.ClearMarkScheme",
        "nbgrader.preprocessors.ComputeChecksums",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]

    # What was handed in is read and graded as in a batch, so that nothing has to be put right before.
    config.Autograde.sanitize_preprocessors = ["nbgrader.preprocessors.ClearOutput"]
    config.Autograde.autograde_preprocessors = [
        "autograder.batch.autograde.Grade",
        "autograder.batch.autograde.SaveScores",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]

    # The page that students get, from the command, the formgrader and a batch alike.
    config.GenerateFeedback.preprocessors = ["autograder.batch.feedback.Marks"]
    config.GenerateFeedback.exporter_class = "autograder.batch.feedback.FeedbackPage"

    # A table in which every name stays in its cell, and none is a formula.
    config.ExportApp.plugin_class = "autograder.batch.grades_table.GradesTable"

    config.CourseDirectory.source_directory = "solutions"
    config.CourseDirectory.release_directory = RELEASES
    config.ClearSolutions.code_stub = {
        "python": "# Write your answer here and delete the next line.\n"
        'raise NotImplementedError("not answered yet")'
    }
