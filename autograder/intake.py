"""Put a submitted notebook back into the shape that was released, before any of it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import compute_checksum


@dataclass(frozen=True)
class ReleasedCell:
    """One of nbgrader's cells as it was released; ``points`` is None where none can be earned."""

    name: str
    cell_type: str
    source: str
    checksum: str
    locked: bool
    written: bool
    points: float | None

    def metadata(self) -> NotebookNode:
        """nbgrader's own metadata for this cell."""
        metadata = NotebookNode(
            cell_type=self.cell_type,
            checksum=self.checksum,
            grade=self.points is not None,
            grade_id=self.name,
            locked=self.locked,
            schema_version=3,
            solution=self.written,
            task=False,
        )
        if self.points is not None:
            metadata.points = self.points
        return metadata

    def cell(self) -> NotebookNode:
        """The whole cell, without outputs."""
        cell = NotebookNode(
            cell_type=self.cell_type,
            id=self.name,
            metadata=NotebookNode(deletable=False, editable=False, nbgrader=self.metadata()),
            source=self.source,
        )
        if self.cell_type == "code":
            cell.update(execution_count=None, outputs=[])
        return cell


def released_cells(gradebook: Gradebook, notebook: str, assignment: str) -> list[ReleasedCell]:
    """nbgrader's cells of an assignment, in the order in which they were released."""
    entry = gradebook.find_notebook(notebook, assignment)
    points = {cell.name: cell.max_score for cell in entry.grade_cells}
    written = {cell.name for cell in entry.solution_cells}
    return [
        ReleasedCell(
            cell.name,
            cell.cell_type,
            cell.source,
            cell.checksum,
            cell.locked,
            cell.name in written,
            points.get(cell.name),
        )
        for cell in entry.source_cells
    ]


def restore(nb: NotebookNode, released: Sequence[ReleasedCell]) -> NotebookNode:
    """Restore locked cells to what was released, and put deleted ones back.

    A student's own code is never touched. A locked cell gets the source, type and metadata of
    the source version, so an edited or deleted test cannot change a grade.

    Args:
        nb: the submitted notebook, changed in place.
        released: what it should hold.

    Returns:
        names of the locked cells that were ``edited`` and ``deleted``.
    """
    cells = {cell.name: cell for cell in released}
    present, edited = set(), []
    for index, cell in enumerate(nb.cells):
        cell.metadata.pop("tags", None)
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name not in cells or name in present:
            # nbgrader's markers on a cell that it does not know, or on a copy, mean nothing
            cell.metadata.pop("nbgrader", None)
            continue
        present.add(name)
        if not cells[name].locked:
            cell.metadata["nbgrader"] = cells[name].metadata()
            continue
        if compute_checksum(cell) != cell.metadata.nbgrader.get("checksum"):
            edited.append(name)
        nb.cells[index] = cells[name].cell()
    return NotebookNode(edited=edited, deleted=_put_back(nb, released, present))


def _put_back(nb: NotebookNode, released: Sequence[ReleasedCell], present: set[str]) -> list[str]:
    """Insert missing locked cells just before the next released cell that is there.

    Whatever the student wrote in place of the deleted cells then still runs before them.
    """
    deleted = []
    for position in range(len(released) - 1, -1, -1):
        missing = released[position]
        if missing.name in present or not missing.locked:
            continue
        after = next((cell.name for cell in released[position + 1 :] if cell.name in present), None)
        places = (
            index
            for index, cell in enumerate(nb.cells)
            if cell.metadata.get("nbgrader", {}).get("grade_id") == after
        )
        end = len(nb.cells)
        nb.cells.insert(next(places, end) if after else end, missing.cell())
        present.add(missing.name)
        deleted.append(missing.name)
    return deleted


class Intake(NbGraderPreprocessor):
    """`restore` as a step of stock ``nbgrader autograde``, by what the gradebook holds.

    What was put right is listed in the notebook's metadata under ``restored``. nbgrader's own
    ``add_missing_cells`` stops with a KeyError where the answer before a deleted cell is gone too.
    """

    def preprocess(
        self, nb: NotebookNode, resources: ResourcesDict
    ) -> tuple[NotebookNode, ResourcesDict]:
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            released = released_cells(gradebook, names["notebook"], names["assignment"])
        nb.metadata["restored"] = restore(nb, released)
        return nb, resources
