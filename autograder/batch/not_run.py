"""What stands in the place of a graded notebook where a submission could not be run.

The formgrader lists nobody without a graded notebook, and gives points in its cells alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import nbformat
from nbformat.v4 import new_markdown_cell, new_notebook

from autograder.grade.messages import ReleasedCell
from autograder.grade.report import Report, put_into
from autograder.grade.restore import cell_of

NOTE = """**This work could not be run, and the cells below are empty.** It counts 0 points, and waits for you:

    {why}

Points that you type below are this student's, and a comment is read with them. When each cell has some, 0 among them,
nothing waits any more, until other work comes in."""


def notebook_to_mark(cells: Sequence[ReleasedCell], report: Report) -> str:
    """Of an assignment as it was given out, the cells for answers and points, and why nothing stands there, as JSON."""
    wanted = [cell for cell in cells if cell.written or cell.points]
    # as code, in which nothing of a student's is markup
    note = new_markdown_cell(NOTE.format(why=" ".join(report.broken.split())), id="not-run")
    notebook = new_notebook(cells=[note, *map(cell_of, wanted)])
    put_into(notebook, report)
    return nbformat.writes(notebook)
