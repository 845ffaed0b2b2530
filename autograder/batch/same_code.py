"""Answers that are the course's own code, and groups of students who wrote the same: a hint, never a score.

`similarity` looks for what is rare and says nothing of what stands in the solution. Here whole definitions are
compared: word for word, or but for the names that their author chose.
"""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat

from autograder.batch.course import open_course
from autograder.batch.similarity import signs_of, statements_in
from autograder.bounds import LONGEST_CODE, SECONDS_TO_COMPARE, in_time
from autograder.checks.course import course as course_taught
from autograder.checks.notebook_source import written_out
from autograder.grade.report import Report, grade_id_of

# of an answer, for it to say anything if names agree, and if they do not; a line with a softmax has some fifteen
FEWEST_WITH_NAMES, FEWEST_SIGNS = 18, 30
WORD_FOR_WORD, BUT_FOR_NAMES = "word for word", "but for names"


@dataclass(frozen=True)
class Definition:
    """A function or class, without comments and layout.

    Attributes:
        text: its code; docstrings are left out.
        signs: what it computes, without the names that its author chose.
    """

    text: str
    signs: tuple[str, ...]


Definitions = Sequence[tuple[str, Definition]]  # by their names, in their order


def definitions_in(
    cells: Iterable[str], parts: Collection[str]
) -> Iterator[tuple[str, Definition]]:
    """The functions and classes at the top of code cells that are called as parts of the assignment."""
    for source in cells:
        if not any(part in source for part in parts):
            continue  # to read all of the course takes a second
        for statement in statements_in(source):
            if isinstance(statement, ast.FunctionDef | ast.ClassDef) and statement.name in parts:
                without = _without_docstrings(statement)
                if text := written_out(without):
                    yield statement.name, Definition(text, tuple(signs_of(without.body)))


def _without_docstrings(
    definition: ast.FunctionDef | ast.ClassDef,
) -> ast.FunctionDef | ast.ClassDef:
    for node in ast.walk(definition):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            match node.body:
                case [ast.Expr(ast.Constant(str())), *rest]:
                    node.body = rest or [ast.Pass()]
    return definition


def given_out(folder: Path, assignment: str) -> tuple[list[str], set[str]]:
    """The code of the solution and of the release, and the names of the cells that nobody may change."""
    coursedir = open_course(folder).coursedir
    folders = coursedir.source_directory, coursedir.release_directory
    paths = [folder / name / assignment / f"{assignment}.ipynb" for name in folders]
    cells = [
        cell for path in paths if path.exists() for cell in nbformat.read(path, as_version=4).cells
    ]
    locked = {
        grade_id_of(cell) for cell in cells if cell.metadata.get("nbgrader", {}).get("locked")
    }
    return [cell.source for cell in cells if cell.cell_type == "code"], locked


def taught_by(folder: Path, given: Iterable[str], parts: Collection[str]) -> Definitions:
    """How the course's own code defines the parts: its libraries, lectures and a solution."""
    taught = [*given]
    for library in course_taught().folders[1:]:
        taught += [path.read_text(encoding="utf-8") for path in sorted(library.rglob("*.py"))]
    for path in sorted((folder / "lectures").glob("*.ipynb")):
        taught += own_code_in(path.read_text(encoding="utf-8"))
    return [*definitions_in(taught, parts)]


def own_code_in(notebook: str) -> list[str]:
    """The code cells of a notebook, JSON text, that nobody was kept from changing."""
    return [
        "".join(cell["source"])
        for cell in json.loads(notebook)["cells"]
        if cell["cell_type"] == "code" and not cell["metadata"].get("nbgrader", {}).get("locked")
    ]


def courses_own(report: Report, taught: Definitions) -> dict[str, str]:
    """Which parts of a submission that earned points are the course's own code, as below."""
    parts = [part for part, verdict in report.verdicts.items() if verdict.earned]

    def compared() -> dict[str, str]:
        cells = (code for code in own_code_in(report.notebook) if len(code) <= LONGEST_CODE)
        answers = {"": [*definitions_in(cells, parts)]}
        return own_code_of_the_course(answers, parts, taught).get("", {})

    return in_time(SECONDS_TO_COMPARE, compared, {}) if parts else {}


def own_code_of_the_course(
    answers: Mapping[str, Definitions], parts: Sequence[str], taught: Definitions
) -> dict[str, dict[str, str]]:
    """Which parts of which students are the course's own code, as `taught_by` gives it.

    By student and part stands `WORD_FOR_WORD` or `BUT_FOR_NAMES`; students without such parts are left out.
    """
    known: dict[str, list[Definition]] = defaultdict(list)
    for name, definition in taught:
        if name in parts and len(definition.signs) >= FEWEST_WITH_NAMES:
            known[name].append(definition)
    found: dict[str, dict[str, str]] = {}
    for student, defined in answers.items():
        for name, definition in defined:
            if any(definition.text == one.text for one in known[name]):
                found.setdefault(student, {})[name] = WORD_FOR_WORD
            elif len(definition.signs) >= FEWEST_SIGNS and any(
                definition.signs == one.signs for one in known[name]
            ):
                found.setdefault(student, {})[name] = BUT_FOR_NAMES
    return found


def same_answers(
    answers: Mapping[str, Definitions], parts: Sequence[str], taught: Definitions
) -> list[list[str]]:
    """Groups of students who wrote the same, names included, in all that they answered, the largest first.

    Where all of it is the course's own code, `own_code_of_the_course` says so, and none need have copied.
    """
    ours = {definition.text for _, definition in taught}
    groups: dict[tuple[tuple[str, str], ...], list[str]] = defaultdict(list)
    for student, defined in answers.items():
        own = {
            name: definition
            for name, definition in defined
            if name in parts and definition.text not in ours
        }
        if sum(len(definition.signs) for definition in own.values()) >= FEWEST_SIGNS:
            groups[tuple(sorted((name, one.text) for name, one in own.items()))].append(student)
    alike = [sorted(students) for students in groups.values() if len(students) > 1]
    return sorted(alike, key=lambda students: (-len(students), students))
