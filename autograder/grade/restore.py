"""Put a submitted notebook back into the shape that was released, before any of it runs."""

from __future__ import annotations

from collections.abc import Sequence

from nbformat import NotebookNode
from nbgrader.api import Gradebook

from autograder.grade.messages import ReleasedCell
from autograder.grade.report import Restored, grade_id_of
from autograder.grade.submission import free_id


def metadata_of(released: ReleasedCell) -> NotebookNode:
    """nbgrader's own metadata for a released cell."""
    metadata = NotebookNode(
        cell_type=released.cell_type,
        checksum=released.checksum,
        grade=released.points is not None,
        grade_id=released.name,
        locked=released.locked,
        schema_version=3,
        solution=released.written,
        task=False,
    )
    if released.points is not None:
        metadata.points = released.points
    return metadata


def cell_of(released: ReleasedCell) -> NotebookNode:
    """The whole cell, without outputs."""
    cell = NotebookNode(
        cell_type=released.cell_type,
        id=released.name,
        metadata=NotebookNode(deletable=False, editable=False, nbgrader=metadata_of(released)),
        source=released.source,
    )
    if released.cell_type == "code":
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


def solution_cells(released: Sequence[ReleasedCell]) -> dict[str, str]:
    """Source of the cells that students fill in, as they got them, by name."""
    return {cell.name: cell.source for cell in released if cell.written}


def restore(nb: NotebookNode, released: Sequence[ReleasedCell]) -> Restored:
    """Restore locked cells to what was released, and put deleted ones back.

    A student's own code is never touched. A locked cell gets the source, type and metadata of
    the source version, so an edited or deleted test cannot change a grade.

    The submission may be made of an earlier release, whose texts were others, so that a locked cell which some
    release gave out like this is nobody's doing.

    Args:
        nb: the submitted notebook, changed in place; its locked cells that are as some release gave
            them out are marked as ``given_out``.
        released: what it should hold.
    """
    cells = {cell.name: cell for cell in released}
    present, edited = set(), []
    for place, cell in enumerate(nb.cells):
        cell.metadata.pop("tags", None)
        name = grade_id_of(cell)
        if name not in cells or name in present:
            # nbgrader's markers on a cell that it does not know, or on a copy, mean nothing
            cell.metadata.pop("nbgrader", None)
            continue
        present.add(name)
        if not cells[name].locked:
            cell.metadata["nbgrader"] = metadata_of(cells[name])
            continue
        known = cells[name].source, as_given_out(cells[name].source)
        same = cell.cell_type == cells[name].cell_type and cell.source in known
        if not same and not _given_out(cell):
            edited.append(name)
        nb.cells[place] = cell_of(cells[name])
    deleted = _put_back(nb, released, present)
    _tell_apart(nb, set(cells))
    return Restored(tuple(edited), tuple(deleted))


def _given_out(cell: NotebookNode) -> bool:
    marks = cell.metadata.get("nbgrader")
    return isinstance(marks, dict) and marks.get("given_out") is True


def _tell_apart(nb: NotebookNode, names: set[str]) -> None:
    """Give a cell of a student's own another id where it has that of a released one."""
    taken = {cell.get("id") for cell in nb.cells}
    for cell in nb.cells:
        if cell.get("id") in names and cell.id != grade_id_of(cell):
            cell.id = free_id(cell.id, taken)


def as_given_out(source: str) -> str:
    """A cell's source as students get it: nbgrader takes out what stands between its marks."""
    kept, hidden = [], False
    for line in source.split("\n"):
        if "### BEGIN HIDDEN TESTS" in line or "### END HIDDEN TESTS" in line:
            hidden = "BEGIN" in line
        elif not hidden:
            kept.append(line)
    return "\n".join(kept)


def _put_back(nb: NotebookNode, released: Sequence[ReleasedCell], present: set[str]) -> list[str]:
    """Insert missing locked cells just before the next released cell that is there.

    Whatever the student wrote in place of the deleted cells then still runs before them.
    """
    put = []
    for position in range(len(released) - 1, -1, -1):
        missing = released[position]
        if missing.name in present or not missing.locked:
            continue
        after = next((cell.name for cell in released[position + 1 :] if cell.name in present), None)
        places = (index for index, cell in enumerate(nb.cells) if grade_id_of(cell) == after)
        end = len(nb.cells)
        nb.cells.insert(next(places, end) if after else end, cell_of(missing))
        present.add(missing.name)
        put.append(missing.name)
    return put[::-1]
