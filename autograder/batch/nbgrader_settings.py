"""What a course's ``nbgrader_config.py`` says, so that nbgrader's own commands grade as the engine does."""

from __future__ import annotations

from typing import Any


def use_engine(config: Any) -> None:
    """Let this engine run and decide notebooks, and write the pages that students get.

    Args:
        config: what ``get_config()`` gives in ``nbgrader_config.py``.
    """
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
    config.CourseDirectory.release_directory = "exercises"
    config.ClearSolutions.code_stub = {
        "python": "# Write your answer here and delete the next line.\n"
        'raise NotImplementedError("not answered yet")'
    }
