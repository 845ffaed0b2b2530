"""Grade one notebook for its own author: the same checks and the same words as in a class."""

from __future__ import annotations

from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.checks import known, load
from autograder.notebook.execute import Execute
from autograder.notebook.handed_in import Unreadable, notebook_in, read_text
from autograder.pages import render
from autograder.verdict.decide import PartVerdict
from autograder.verdict.report import as_text

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
    try:
        notebook = notebook_in(read_text(path))
    except Unreadable as problem:
        raise NotGradable(f"{path}: {problem}") from None
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    add_checks(notebook, assignment)
    runner = Execute(timeout=SECONDS_PER_CELL)
    runner.preprocess(notebook, {"metadata": {"path": str(path.resolve().parent)}})
    return [runner.verdicts[part.name] for part in load(assignment).parts]


def add_checks(notebook: NotebookNode, assignment: str) -> None:
    """Fill the check cells, which are empty in a release; put those that are gone at the end."""
    cells = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in notebook.cells}
    for part in load(assignment).parts:
        text = f'from autograder.cell import grade\n\ngrade("{assignment}", "{part.name}")'
        cell = cells.get(f"check_{part.name}")
        if cell is None or cell.cell_type != "code":
            cell = new_code_cell()
            notebook.cells.append(cell)
        cell.source = text
        cell.metadata = NotebookNode(nbgrader={"grade_id": f"check_{part.name}", "locked": True})


def summary(verdicts: list[PartVerdict]) -> str:
    """All verdicts as text, with the total."""
    earned, points = total(verdicts)
    return "\n\n".join([*map(as_text, verdicts), f"{earned:g} of {points:g} points"])


def page(title: str, verdicts: list[PartVerdict]) -> str:
    """All verdicts as an HTML page."""
    earned, points = total(verdicts)
    return render("check.html", title=title, verdicts=verdicts, earned=earned, points=points)


def total(verdicts: list[PartVerdict]) -> tuple[float, float]:
    """Points earned, and points that there are."""
    return sum(item.earned for item in verdicts), sum(item.points for item in verdicts)
