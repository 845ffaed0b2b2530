"""The Validate button on the road of a class: a notebook is read, run and decided as `check` does it."""

import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_output

from autograder.grade.invalid import InvalidSubmission
from autograder.grade.submission import read_text

DECIDED = "This is how the part is graded in a class."


def read(name: str, as_version: int) -> NotebookNode:
    """A notebook's file as it is read for grading, in the place of nbformat's `read`."""
    with suppress(InvalidSubmission):  # nbformat says what is wrong with it
        notebook = nbformat.reads(read_text(Path(name)), as_version)
        for cell in notebook.cells:
            cell.source = cell.source.replace("\r\n", "\n")
        return notebook
    return nbformat.read(name, as_version)


def checked(path: str) -> dict[str, Any] | None:
    """What `python -m autograder check` finds in a notebook, see `autograder.grade.self_check.as_data`.

    None where it answers no assignment of the course.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder, "found.json")
        command = [sys.executable, "-m", "autograder", "check", path, "--json", str(found)]
        subprocess.run(command, capture_output=True, check=False)
        return json.loads(found.read_text(encoding="utf-8")) if found.exists() else None


def shown_in(notebook: NotebookNode, found: dict[str, Any]) -> None:
    """Give the cells of a notebook the outputs by which nbgrader tells what failed, as `checked` found it."""
    errors = {test["cell"]: test["traceback"] for test in found["tests"] if test["error"]}
    lost = {part["cell"]: part["text"] for part in found["parts"] if part["earned"] < part["of"]}
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if cell.cell_type == "code":
            cell.outputs = []
        if name in errors:
            cell.outputs = [new_output("error", traceback=[errors[name]])]
        elif name in lost:
            cell.outputs = [new_output("error", traceback=[f"{DECIDED}\n{lost[name]}"])]


def text_in(error: str) -> tuple[str, str] | None:
    """What a check said of a part, and how it came about, out of what `shown_in` has put into a cell."""
    decided, _, text = error.partition("\n")
    return (text, DECIDED) if decided == DECIDED else None
