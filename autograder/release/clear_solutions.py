"""nbgrader's step that takes solutions out, for solutions in whose place an author hands something out."""

from __future__ import annotations

from nbformat import NotebookNode
from nbgrader.preprocessors import ClearSolutions

from autograder.release.handed_out import with_what_is_handed_out


class ClearSolutionsOrHandOut(ClearSolutions):
    """nbgrader's `ClearSolutions`, with `handed_out` in place of its stub where there is some.

    It takes the settings of `ClearSolutions`. nbgrader saves a cell after this step, so what its
    gradebook holds as released is what students get.
    """

    def _replace_solution_region(self, cell: NotebookNode, language: str) -> bool:
        """As nbgrader calls it: change the cell, and say whether a solution was replaced in it."""
        before = cell.source
        if cell.cell_type == "code":
            cell.source = with_what_is_handed_out(before)
        return super()._replace_solution_region(cell, language) or cell.source != before
