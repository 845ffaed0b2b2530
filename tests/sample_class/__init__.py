"""A class that hands in assignment 2: right in different ways, wrong in the usual ones, broken.

Each file in ``submissions/`` holds one student's answers, one ``# %% part`` after the other. They
are put into today's release version, as a student would type them, so that the class never lags
behind the assignment.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder import sandbox
from autograder.classroom import Settings

ROOT = Path(__file__).resolve().parents[2]
SUBMISSIONS = Path(__file__).parent / "submissions"
ASSIGNMENT = "a2_self_attention"
# behind walls wherever there can be walls
ISOLATION = sandbox.NONE if sandbox.missing() else sandbox.FULL
SETTINGS = Settings(workers=2, isolation=ISOLATION)


def answers_in(path: Path) -> dict[str, str]:
    """The answers of one file, by part."""
    pieces = re.split(r"^# %% (\w+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: text.strip() for name, text in zip(pieces[1::2], pieces[2::2], strict=True)}


def filled_in(answers: dict[str, str]) -> NotebookNode:
    """The release version with answers typed into its solution cells."""
    release = ROOT / "exercises" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    notebook = nbformat.read(release, as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in answers:
            cell.source = answers[name]
    return notebook


def delete_cells(notebook: NotebookNode) -> None:
    """Part 1 in a cell of the student's own, its three released cells gone."""
    gone = {"attention_weights", "test_attention_weights", "check_attention_weights"}
    for index, cell in enumerate(notebook.cells):
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "attention_weights":
            notebook.cells[index] = nbformat.v4.new_code_cell(cell.source, id="own-cell")
    notebook.cells = [
        cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") not in gone
    ]


def edit_tests(notebook: NotebookNode) -> None:
    """Tests that pass whatever stands above them, points raised, checks that print a score."""
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("grade_id", "").startswith("test_"):
            cell.source = "print('all fine')"
        elif marks.get("grade_id", "").startswith("check_"):
            cell.source = "100.0"
            cell.metadata.tags = ["skip-execution"]
            marks.points = 100


ACCIDENTS: dict[str, Callable[[NotebookNode], None]] = {
    "deleted_cells": delete_cells,
    "edited_tests": edit_tests,
}


def hand_in(course: Path) -> None:
    """Make a course folder with every student's submission in nbgrader's layout."""
    course.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "nbgrader_config.py", course)
    solution = f"{ASSIGNMENT}/{ASSIGNMENT}.ipynb"
    (course / "solutions" / ASSIGNMENT).mkdir(parents=True)
    shutil.copy(ROOT / "solutions" / solution, course / "solutions" / solution)
    for path in sorted(SUBMISSIONS.glob("*.py")):
        target = course / "submitted" / path.stem / solution
        target.parent.mkdir(parents=True)
        if path.stem == "not_json":
            shutil.copy(path, target)
            continue
        notebook = filled_in(answers_in(path))
        ACCIDENTS.get(path.stem, lambda _notebook: None)(notebook)
        nbformat.write(notebook, target)
