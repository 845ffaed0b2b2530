"""A class that hands in assignment 2: right in different ways, wrong in the usual ones, broken.

Each file in ``submissions/`` holds one student's answers, one ``# %% part`` after the other. They
are put into today's release version, as a student would type them, so that the class never lags
behind the assignment.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from assignments import allowed_modules
from autograder.batch.classroom import grade_class
from autograder.batch.course import course_secret
from autograder.batch.engine import engine_for
from autograder.batch.settings import Settings
from autograder.batch.student_result import StudentResult
from autograder.sandbox import bubblewrap

ROOT = Path(__file__).resolve().parents[2]
SUBMISSIONS = Path(__file__).parent / "submissions"
ASSIGNMENT = "a2_self_attention"
# behind walls wherever there can be walls
ISOLATION = bubblewrap.NONE if bubblewrap.missing() else bubblewrap.FULL
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


def submission(student: str) -> NotebookNode | str:
    """What a student of the sample class hands in: a notebook, or what is none."""
    path = SUBMISSIONS / f"{student}.py"
    if student == "not_json":
        return path.read_text(encoding="utf-8")
    notebook = filled_in(answers_in(path))
    ACCIDENTS.get(student, lambda _notebook: None)(notebook)
    return notebook


def whole_class() -> dict[str, NotebookNode | str]:
    """What every student hands in."""
    return {path.stem: submission(path.stem) for path in sorted(SUBMISSIONS.glob("*.py"))}


def new_course(course: Path, assignment: str = ASSIGNMENT) -> None:
    """Make a course folder in which nothing has been handed in."""
    (course / "solutions" / assignment).mkdir(parents=True)
    shutil.copy(ROOT / "nbgrader_config.py", course)
    solution = f"solutions/{assignment}/{assignment}.ipynb"
    shutil.copy(ROOT / solution, course / solution)


def hand_in(
    course: Path, notebooks: Mapping[str, NotebookNode | str], assignment: str = ASSIGNMENT
) -> None:
    """Put what students hand in into a course folder, in nbgrader's layout; made if there is none."""
    if not (course / "nbgrader_config.py").exists():
        new_course(course, assignment)
    for student, notebook in notebooks.items():
        text = notebook if isinstance(notebook, str) else nbformat.writes(notebook)
        place_for(course, student, assignment).write_text(text, encoding="utf-8")


def same_inputs(course: Path, other: Path) -> None:
    """Let the checks draw in another course folder the inputs that they draw in this one."""
    (other / "grading").mkdir(exist_ok=True)
    (other / "grading" / "secret").write_text(course_secret(course), encoding="ascii")


def place_for(course: Path, student: str, assignment: str = ASSIGNMENT) -> Path:
    """Where a student's notebook belongs, its folder made."""
    folder = course / "submitted" / student / assignment
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{assignment}.ipynb"


def grade(
    course: Path,
    students: Sequence[str] = (),
    settings: Settings = SETTINGS,
    assignment: str = ASSIGNMENT,
    progress: Callable[[int, int, str], None] = lambda *_: None,
) -> list[StudentResult]:
    """Grade a class as the command line does."""
    with engine_for(settings, allowed_modules(assignment)) as engine:
        return grade_class(course, assignment, progress, students, settings, engine)
