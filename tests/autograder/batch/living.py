"""A course whose assignment changes while it is taught: assignment 2, with a question in words."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader.api import Gradebook

from autograder.batch.classroom import Graded, grade_and_compare
from autograder.batch.course import open_assignment
from autograder.batch.engine import Engine
from autograder.batch.released import release
from autograder.batch.score_changes import as_text
from tests.sample_class import ASSIGNMENT, SETTINGS, SUBMISSIONS, answers_in, new_course, place_for

LAST = "is_permutation_equivariant"
WORDS = "Nothing in a sum knows its order."


def question(name: str, points: float) -> NotebookNode:
    """A cell for an answer in words, as an assignment's source has it."""
    marks = {
        "grade": True, "grade_id": name, "locked": False, "points": points, "schema_version": 3,
        "solution": True, "task": False,
    }  # fmt: skip
    return new_markdown_cell("A model answer.", id=name, metadata={"nbgrader": marks})


def grade_id(cell: NotebookNode) -> str:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def without_import(notebook: NotebookNode) -> NotebookNode:
    """The notebook, which stops now before torch is there."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and not grade_id(cell) and "import torch" in cell.source:
            cell.source = "open('/content/drive/data')\ntorch = __import__('torch')"
    return notebook


class Living:
    """The course folder, and what its author, its students and its graders do there.

    Args:
        folder: where it is made, unless it is there.
        engine: what grades.
    """

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.folder, self.engine = folder, engine
        self.source = folder / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        if not folder.exists():
            new_course(folder)
            self.change(lambda cells: [*cells, question("why", 2)])
            folder.joinpath("log.txt").touch()
            release(open_assignment(folder, ASSIGNMENT), ASSIGNMENT, folder / "log.txt")

    def change(self, how) -> None:
        """Let a function make other cells of those of the source."""
        notebook = nbformat.read(self.source, as_version=4)
        notebook.cells = how(notebook.cells)
        nbformat.write(notebook, self.source)

    def points(self, name: str, points: float) -> None:
        def changed(cells):
            for cell in cells:
                if grade_id(cell) == name:
                    cell.metadata.nbgrader.points = points
            return cells

        self.change(changed)

    def reword(self) -> None:
        """Add a sentence to the assignment, so that all work has to be graded anew."""

        def reworded(cells):
            cells[0].source += "\n\nA sentence more."
            return cells

        self.change(reworded)

    def decided_earlier(self, cell: str, score: float) -> None:
        """Let all that is graded be the work of an earlier check, which gave everybody this score for a cell."""
        journal = self.kept("journal.jsonl")
        lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
        lines = [line | {"key": "0" * 32} if "key" in line else line for line in lines]
        journal.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        with self.gradebook() as gradebook:
            for submission in gradebook.assignment_submissions(ASSIGNMENT):
                gradebook.find_grade(
                    cell, ASSIGNMENT, ASSIGNMENT, submission.student_id
                ).auto_score = score
            gradebook.db.commit()

    def hand_in(self, student: str, answers: str, **others: str) -> None:
        """Hand in a notebook that is made of the release as it is now, in place of an earlier one.

        Args:
            student: the id.
            answers: the name of those in the sample class.
            others: answers to other cells.
        """
        given = {**answers_in(SUBMISSIONS / f"{answers}.py"), "why": WORDS, **others}
        file = self.folder / "exercises" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        notebook = nbformat.read(file, as_version=4)
        for cell in notebook.cells:
            cell.source = given.get(grade_id(cell), cell.source)
        place = self.folder / "submitted" / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        if not place.exists():
            place_for(self.folder, student)
        nbformat.write(notebook, place)

    def by_file(self, student: str, text: str) -> None:
        """Hand in a file as it is, in place of an earlier one."""
        place = self.folder / "submitted" / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        if not place.exists():
            place_for(self.folder, student)
        place.write_text(text, encoding="utf-8")

    def without_import(self, student: str) -> None:
        """Let what a student has handed in stop before torch is there."""
        place = self.folder / "submitted" / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        nbformat.write(without_import(nbformat.read(place, as_version=4)), place)

    def grade(self, students: tuple[str, ...] = (), **settings) -> Graded:
        changed = dataclasses.replace(SETTINGS, feedback=False, **settings)
        return grade_and_compare(
            self.folder, ASSIGNMENT, lambda *_: None, students, changed, self.engine
        )

    def said(self, students: tuple[str, ...] = (), **settings) -> str:
        """What a grading says of whose score changes, in one line."""
        return " ".join(as_text(self.grade(students, **settings).changes).split())

    def gradebook(self) -> Gradebook:
        return Gradebook(f"sqlite:///{self.folder}/gradebook.db", "attention")

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

    def marks(self, student: str) -> dict[str, tuple[float, float, bool]]:
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

    def kept(self, name: str) -> Path:
        return self.folder / "grading" / ASSIGNMENT / name

    def autograded(self, student: str) -> dict[str, str]:
        """Sources of the graded notebook, by grade_id or, for a student's own cells, by number."""
        path = self.folder / "autograded" / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        cells = nbformat.read(path, as_version=4).cells
        return {grade_id(cell) or str(place): cell.source for place, cell in enumerate(cells)}

    def state(self) -> tuple[list[str], dict[Path, str]]:
        """All that a grading writes of scores: the gradebook's contents, and the graded notebooks."""
        with sqlite3.connect(self.folder / "gradebook.db") as gradebook:
            held = sorted(gradebook.iterdump())
        gradebook.close()
        graded = sorted(self.folder.glob("autograded/**/*.ipynb"))
        return held, {path: path.read_text(encoding="utf-8") for path in graded}
