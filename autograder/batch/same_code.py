"""Answers that are the course's own code, word for word: a hint for a person, never a score."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from autograder.batch.course import open_course
from autograder.bounds import LONGEST_CODE
from autograder.checks.course import course as course_taught
from autograder.checks.notebook_source import statements_of, written_out
from autograder.grade.report import Report

FEWEST_LINES = 5  # below the first, since the text all but dictates what is shorter

Definitions = frozenset[tuple[str, str]]  # names and code


def own_code_in(notebook: str) -> Iterator[str]:
    """The code cells of a graded notebook, JSON text, that are no cells of the course's.

    What is longer together than one cell may be is left out.
    """
    left = LONGEST_CODE
    for cell in json.loads(notebook)["cells"]:
        source = "".join(cell["source"])
        ours = cell["metadata"].get("nbgrader", {}).get("locked")
        if cell["cell_type"] == "code" and not ours and len(source) <= left:
            left -= len(source)
            yield source


def given_out(course: Path, assignment: str) -> list[str]:
    """The code cells of the solution and of the release that nobody is kept from changing."""
    coursedir = open_course(course).coursedir
    folders = coursedir.source_directory, coursedir.release_directory
    paths = (course / name / assignment / f"{assignment}.ipynb" for name in folders)
    return [
        code for path in paths if path.exists() for code in own_code_in(path.read_text("utf-8"))
    ]


def plain_code(statement: ast.stmt) -> str:
    """Code without comments, docstrings, types and layout; nothing where Python cannot write it."""
    tree = ast.parse(written_out(statement))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    return written_out(tree)


def definitions_in(cells: Iterable[str], parts: Collection[str]) -> Definitions:
    """The functions and classes at the top of code cells that are called as parts, as far as they are long enough."""
    with warnings.catch_warnings(action="ignore"):  # of what a student has typed
        found = (
            (statement.name, plain_code(statement))
            for source in cells
            if any(part in source for part in parts)  # to read all of the course takes a second
            for statement in statements_of(source)
            if isinstance(statement, ast.FunctionDef | ast.ClassDef) and statement.name in parts
        )
        return frozenset((name, code) for name, code in found if code.count("\n") >= FEWEST_LINES)


def taught_by(course: Path, assignment: str, parts: Collection[str]) -> Definitions:
    """How the solution and the course's libraries, which all students have, define the parts."""
    libraries = course_taught().folders[1:]
    files = (path for folder in libraries for path in sorted(folder.rglob("*.py")))
    texts = [path.read_text(encoding="utf-8") for path in files]
    return definitions_in([*given_out(course, assignment), *texts], parts)


def courses_own(report: Report, taught: Definitions) -> tuple[str, ...]:
    """Which parts of a submission that earned points are the course's own code."""
    parts = [part for part, verdict in report.verdicts.items() if verdict.earned]
    same = definitions_in(own_code_in(report.notebook), parts) & taught
    return tuple(part for part in parts if part in dict(same))
