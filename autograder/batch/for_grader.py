"""What an author wrote for graders of an answer in words, beside that answer in the formgrader and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader.utils import is_grade, is_solution

from autograder.grade.report import grade_id_of

FOR_GRADER = (
    "for_grader"  # in the metadata of a cell; grading drops whatever a student's cell says there
)
HEAD = (
    "**For the grader: a model answer, and what points are given for. No student sees this cell.**"
)


def notes_in(source: Path) -> dict[str, str]:
    """The model answers that stand in an assignment's source where students answer in words, by cell."""
    return {
        grade_id_of(cell): cell.source
        for cell in nbformat.read(source, as_version=4).cells
        if cell.cell_type == "markdown" and is_grade(cell) and is_solution(cell)
    }


def with_notes(notebook: NotebookNode, notes: Mapping[str, str]) -> NotebookNode:
    """A graded notebook, in which below each answer stands what is written for its grader."""
    cells: list[NotebookNode] = []
    for cell in notebook.cells:
        cells.append(cell)
        name = grade_id_of(cell)
        if note := notes.get(name):
            text = f"{HEAD}\n\n{note}"
            cells.append(
                new_markdown_cell(text, id=f"notes-{name}"[:64], metadata={FOR_GRADER: True})
            )
    notebook.cells = cells
    return notebook


def without_notes(notebook: NotebookNode) -> NotebookNode:
    """The notebook as its student may see it."""
    notebook.cells = [cell for cell in notebook.cells if FOR_GRADER not in cell.metadata]
    return notebook
