"""A small course whose assignment changes while it is taught: the second course, with a question in words."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook

from tests.sample_class import ISOLATION, ROOT

ASSIGNMENT = "a1_averages"
GRADER = "-m", "autograder"
RIGHT = {
    "moving_average": "def moving_average(x, window):\n    return x.unfold(0, window, 1).mean(dim=-1)",
    "standardise": "def standardise(x):\n    return (x - x.mean(dim=0)) / x.std(dim=0)",
    "why": "Because a mean of means is a mean.",
}
TOO_SHORT = {
    **RIGHT,
    "moving_average": RIGHT["moving_average"] + "[:-1]",
}
QUESTION = """
# %% [markdown]
# **Say** why that is so.

# %% [markdown] written="why" points=2
# Because a mean of means is a mean.
"""


class Living:
    """The course folder, and what its author, its students and its graders do there.

    Args:
        folder: where it is made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(
            ROOT / "tests" / "second_course", folder, ignore=shutil.ignore_patterns("__pycache__")
        )
        self.text = folder / "averages" / ASSIGNMENT / "notebook.py"
        self.rubric = folder / "averages" / ASSIGNMENT / "rubric.py"
        self.text.write_text(self.text.read_text(encoding="utf-8") + QUESTION, encoding="utf-8")
        self.build()

    def nbgrader(self, *words: str) -> str:
        """What one of nbgrader's own commands says."""
        return self.run(*words, program=("-m", "nbgrader"))

    def run(self, *words: str, status: int = 0, program: tuple[str, ...] = GRADER) -> str:
        """What a command of the grader says; it must end with this status."""
        paths = os.pathsep.join([str(self.folder), str(ROOT)])
        done = subprocess.run(
            [sys.executable, *program, *words],
            cwd=self.folder,
            env={**os.environ, "AUTOGRADER_COURSE": "averages", "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def build(self) -> None:
        self.run("build")

    def edit(self, file: Path, *changes: tuple[str, str]) -> None:
        """Replace words in a file, each of which must stand there once, and build."""
        text = file.read_text(encoding="utf-8")
        for old, new in changes:
            assert text.count(old) == 1, f"{old!r} stands there {text.count(old)} times"
            text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")
        self.build()

    def grade(self, *flags: str, status: int = 0) -> str:
        words = ("grade", ASSIGNMENT, "--isolation", ISOLATION, "--jobs", "2", "--no-feedback")
        return self.run(*words, *flags, status=status)

    def hand_in(self, **answers: dict[str, str]) -> None:
        """Hand in notebooks made of the release as it is now, by student."""
        for student, given in answers.items():
            release = self.folder / "exercises" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
            notebook = nbformat.read(release, as_version=4)
            for cell in notebook.cells:
                name = cell.metadata.get("nbgrader", {}).get("grade_id")
                cell.source = given.get(name, cell.source)
            place = self.folder / "submitted" / student / ASSIGNMENT
            place.mkdir(parents=True, exist_ok=True)
            nbformat.write(notebook, place / f"{ASSIGNMENT}.ipynb")

    def gradebook(self) -> Gradebook:
        return Gradebook(f"sqlite:///{self.folder}/gradebook.db", "averages")

    def by_hand(self, student: str, cell: str, score: float) -> None:
        """Give a score as the formgrader does."""
        with self.gradebook() as gradebook:
            grade = gradebook.find_grade(cell, ASSIGNMENT, ASSIGNMENT, student)
            grade.manual_score, grade.needs_manual_grade = score, False
            gradebook.db.commit()

    def comment(self, student: str, cell: str, text: str) -> None:
        with self.gradebook() as gradebook:
            comment = gradebook.find_comment(cell, ASSIGNMENT, ASSIGNMENT, student)
            comment.manual_comment = text
            gradebook.db.commit()

    def scores(self, student: str) -> dict[str, tuple[float, float, bool]]:
        """(score, of, waits for a person) by cell, for cells with points."""
        with self.gradebook() as gradebook:
            notebook = gradebook.find_submission_notebook(ASSIGNMENT, ASSIGNMENT, student)
            return {
                grade.name: (grade.score, grade.max_score, grade.needs_manual_grade)
                for grade in notebook.grades
                if grade.max_score
            }

    def total(self, student: str) -> tuple[float, float]:
        with self.gradebook() as gradebook:
            submission = gradebook.find_submission(ASSIGNMENT, student)
            return submission.score, submission.max_score

    def kept(self, name: str) -> str:
        """What stands in a file of the assignment's folder in grading/."""
        return (self.folder / "grading" / ASSIGNMENT / name).read_text(encoding="utf-8-sig")

    def autograded(self, student: str) -> nbformat.NotebookNode:
        path = self.folder / "autograded" / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        return nbformat.read(path, as_version=4)
