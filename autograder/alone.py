"""Grade one notebook for its own author: the same checks and the same words as in a class."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.checks import known, load
from autograder.classroom import unreadable
from autograder.execute import Execute
from autograder.report import as_html, as_text
from autograder.verdict import PartVerdict

SECONDS_PER_CELL = 60


class NotGradable(Exception):
    """The notebook cannot be graded; the message says why and what to do."""


def check_notebook(path: Path, assignment: str = "") -> list[PartVerdict]:
    """Run a notebook in a kernel of its own and decide all parts of its assignment.

    The file is not changed.

    Args:
        path: the notebook.
        assignment: the assignment's id; the file's name if empty.

    Returns:
        one verdict a part, in the assignment's order.

    Raises:
        NotGradable: no such file, no notebook, or no such assignment.
    """
    if not path.is_file():
        raise NotGradable(f"there is no file {path}")
    assignment = assignment or path.stem
    if assignment not in known():
        raise NotGradable(
            f"the file is named {path.name}, and there is no assignment '{assignment}'. Say which "
            f"one it answers with --assignment; there are {', '.join(known())}."
        )
    problem = unreadable(path)
    if problem:
        raise NotGradable(f"{path}: {problem}")
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    add_checks(notebook, assignment)
    runner = Execute(timeout=SECONDS_PER_CELL, extra_arguments=["--log-level=ERROR"])
    runner.preprocess(notebook, {"metadata": {"path": str(path.resolve().parent)}})
    return [runner.verdicts[part.name] for part in load(assignment).parts]


def add_checks(notebook: NotebookNode, assignment: str) -> None:
    """Fill the check cells, which are empty in a release; put those that are gone at the end."""
    cells = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in notebook.cells}
    for part in load(assignment).parts:
        text = f'from autograder.cell import grade\n\ngrade("{assignment}", "{part.name}")'
        cell = cells.get(f"check_{part.name}")
        if cell is None or cell.cell_type != "code":
            notebook.cells.append(new_code_cell(text))
        else:
            cell.source = text
            cell.metadata.pop("tags", None)


def summary(verdicts: list[PartVerdict]) -> str:
    """All verdicts as text, with the total."""
    earned, points = total(verdicts)
    return "\n\n".join([*map(as_text, verdicts), f"{earned:g} of {points:g} points"])


def page(title: str, verdicts: list[PartVerdict]) -> str:
    """All verdicts as an HTML page."""
    earned, points = total(verdicts)
    return (
        "<!DOCTYPE html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'>"
        f"<title>{title}</title>"
        "<body style='font:17px/1.5 system-ui,sans-serif;max-width:52em;margin:2em auto;"
        f"padding:0 1em'><h1>{title}</h1><p><b>{earned:g} of {points:g} points</b></p>"
        + "".join(map(as_html, verdicts))
        + "</body></html>"
    )


def total(verdicts: list[PartVerdict]) -> tuple[float, float]:
    """Points earned, and points that there are."""
    return sum(item.earned for item in verdicts), sum(item.points for item in verdicts)
