"""Put a submitted notebook back into the shape that was released, before any of it runs."""

from __future__ import annotations

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.api import Gradebook, GradeCell, SourceCell
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import compute_checksum


class Intake(NbGraderPreprocessor):
    """Restore locked cells to what the gradebook holds, and put deleted ones back.

    A student's own code is never touched. A locked cell gets the source, type and metadata of
    the source version, so an edited or deleted test cannot change a grade. What was put right is
    listed in the notebook's metadata under ``restored``. nbgrader's own ``add_missing_cells`` stops
    with a KeyError where the answer before a deleted cell is gone too.
    """

    def preprocess(
        self, nb: NotebookNode, resources: ResourcesDict
    ) -> tuple[NotebookNode, ResourcesDict]:
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            notebook = gradebook.find_notebook(names["notebook"], names["assignment"])
            order = [cell.name for cell in notebook.source_cells]
            sources = {cell.name: cell for cell in notebook.source_cells}
            graded = {cell.name: cell for cell in notebook.grade_cells}
            written = {cell.name for cell in notebook.solution_cells}
            present, edited = self._restore(nb, sources, graded, written)
            deleted = self._put_back(nb, order, present, sources, graded, written)
        nb.metadata["restored"] = NotebookNode(edited=edited, deleted=deleted)
        return nb, resources

    def _restore(
        self,
        nb: NotebookNode,
        sources: dict[str, SourceCell],
        graded: dict[str, GradeCell],
        written: set[str],
    ) -> tuple[set[str], list[str]]:
        """Rebuild the locked cells that are there; return all names, and those that were edited."""
        present, edited = set(), []
        for index, cell in enumerate(nb.cells):
            cell.metadata.pop("tags", None)
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name not in sources or name in present:
                # nbgrader's markers on a cell that it does not know, or on a copy, mean nothing
                cell.metadata.pop("nbgrader", None)
                continue
            present.add(name)
            if sources[name].locked:
                if compute_checksum(cell) != cell.metadata.nbgrader.get("checksum"):
                    edited.append(name)
                nb.cells[index] = self._cell(sources[name], graded.get(name), name in written)
            else:
                cell.metadata["nbgrader"] = self._metadata(
                    sources[name], graded.get(name), name in written
                )
        return present, edited

    def _put_back(
        self,
        nb: NotebookNode,
        order: list[str],
        present: set[str],
        sources: dict[str, SourceCell],
        graded: dict[str, GradeCell],
        written: set[str],
    ) -> list[str]:
        """Insert missing locked cells just before the next released cell that is there.

        Whatever the student wrote in place of the deleted cells then still runs before them.
        """
        deleted = []
        for position in range(len(order) - 1, -1, -1):
            name = order[position]
            if name in present or not sources[name].locked:
                continue
            after = next((other for other in order[position + 1 :] if other in present), None)
            where = next(
                (
                    index
                    for index, cell in enumerate(nb.cells)
                    if cell.metadata.get("nbgrader", {}).get("grade_id") == after
                ),
                len(nb.cells),
            )
            nb.cells.insert(
                where if after else len(nb.cells),
                self._cell(sources[name], graded.get(name), name in written),
            )
            present.add(name)
            deleted.append(name)
        return deleted

    def _cell(self, source: SourceCell, graded: GradeCell | None, written: bool) -> NotebookNode:
        cell = NotebookNode(
            cell_type=source.cell_type,
            id=source.name,
            metadata=NotebookNode(
                deletable=False,
                editable=False,
                nbgrader=self._metadata(source, graded, written),
            ),
            source=source.source,
        )
        if source.cell_type == "code":
            cell.update(execution_count=None, outputs=[])
        return cell

    def _metadata(
        self, source: SourceCell, graded: GradeCell | None, written: bool
    ) -> NotebookNode:
        metadata = NotebookNode(
            cell_type=source.cell_type,
            checksum=source.checksum,
            grade=graded is not None,
            grade_id=source.name,
            locked=source.locked,
            schema_version=3,
            solution=written,
            task=False,
        )
        if graded is not None:
            metadata.points = graded.max_score
        return metadata
