"""What a course's ``nbgrader_config.py`` says, so that nbgrader's own commands grade as the engine does."""

from __future__ import annotations

from typing import Any

from autograder.notebook.work import RELEASES


def use_engine(config: Any) -> None:
    """Let this engine run and decide notebooks, and write the pages that students get.

    Args:
        config: what ``get_config()`` gives in ``nbgrader_config.py``.
    """
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

    # Cells that students deleted, moved or edited are put right before anything runs.
    config.Autograde.sanitize_preprocessors = [
        "autograder.notebook.intake.Intake",
        "nbgrader.preprocessors.ClearOutput",
        "nbgrader.preprocessors.DeduplicateIds",
        "nbgrader.preprocessors.OverwriteKernelspec",
        "nbgrader.preprocessors.OverwriteCells",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]

    # Notebooks run in a kernel, checks are decided outside it, and outputs cannot act in a browser.
    config.Autograde.autograde_preprocessors = [
        "autograder.notebook.execute.Execute",
        "autograder.notebook.sanitize.Sanitize",
        "nbgrader.preprocessors.IgnorePattern",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        "nbgrader.preprocessors.LimitOutput",
        "nbgrader.preprocessors.SaveAutoGrades",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]

    # Seconds for one cell. A check gives a call five of them and then names the endless loop itself.
    config.Execute.timeout = 20

    # The kernels' own warnings do not belong between an instructor's results.
    config.Execute.extra_arguments = ["--log-level=ERROR"]

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
