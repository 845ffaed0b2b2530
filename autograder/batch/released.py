"""The cells of an assignment: what its solution has today, and what was released into the gradebook.

nbgrader's rule holds: cells and points of an assignment stay once students have work in the gradebook.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path

import msgspec
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.apps import NbGraderAPI

from autograder.batch.course import AnyName
from autograder.batch.run import grader_digest
from autograder.errors import CourseError
from autograder.files import plain_files
from autograder.grade.messages import ReleasedCell
from autograder.grade.restore import released_cells


def cells_of_source(
    api: NbGraderAPI, assignment: str, log: Path, url: str = ""
) -> list[ReleasedCell]:
    """The cells as the source has them today: nbgrader releases it elsewhere.

    Args:
        url: the gradebook that is told about them; if empty, one that is thrown away.

    Raises:
        CourseError: nbgrader cannot release it.
    """
    directory = api.coursedir.source_directory
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(
            Path(api.coursedir.root, directory, assignment), Path(folder, directory, assignment)
        )
        config = deepcopy(api.config)
        config.CourseDirectory.root = folder
        config.CourseDirectory.db_url = url = url or f"sqlite:///{folder}/gradebook.db"
        release(NbGraderAPI(AnyName(config=config), config=config), assignment, log)
        with Gradebook(url, api.coursedir.course_id) as gradebook:
            return released_cells(gradebook, assignment, assignment)


def release(api: NbGraderAPI, assignment: str, log: Path) -> None:
    """Let nbgrader make the release version, and tell the gradebook about the assignment's cells.

    Raises:
        CourseError: it cannot.
    """
    outcome = api.generate_assignment(assignment, force=True, create=True)
    if not outcome["success"]:
        if "KeyboardInterrupt" in outcome.get("error", ""):
            raise KeyboardInterrupt
        reason = _last_line(outcome.get("error") or outcome.get("log") or "")
        raise CourseError(
            f"nbgrader could not make the release version of {assignment}, with the gradebook "
            f"{api.coursedir.db_url}: {reason}. More in {log}"
        )


def state_of_release(api: NbGraderAPI, assignment: str, cells: Sequence[ReleasedCell]) -> str:
    """A digest of what a release is made of, and of what was made of it, by which a later one is spared.

    It is made of the source, what stands beside it or in the course folder's own files, as headers
    and plugins do, and of the code of the grader, the course and nbgrader. Made were the folder that
    students get, and the gradebook's cells.
    """
    root, digest = Path(api.coursedir.root), hashlib.sha256(grader_digest().encode())
    source, released = api.coursedir.source_directory, api.coursedir.release_directory
    files = [
        *(path for kind in ("*.py", "*.yml") for path in sorted(root.glob(kind))),
        *sorted(root.glob(f"{source}/*.*")),
        *plain_files(root / source / assignment),
        *plain_files(root / released / assignment),
    ]
    for path in files:
        if path.is_file():
            content = path.read_bytes()
            digest.update(f"{path.relative_to(root)} {len(content)} ".encode() + content)
    digest.update(msgspec.json.encode(cells))
    return digest.hexdigest()


def _last_line(text: str) -> str:
    lines = [line.strip() for line in (text or "no reason given").splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no reason given"


def cells_in(gradebook: Gradebook, assignment: str) -> tuple[list[ReleasedCell], bool]:
    """The cells that the gradebook has of an assignment, and whether students have entries for them."""
    try:
        entries = gradebook.find_notebook(assignment, assignment).submissions
    except MissingEntry:
        return [], False
    return released_cells(gradebook, assignment, assignment), bool(entries)


def refuse_others(
    assignment: str, before: Sequence[ReleasedCell], today: Sequence[ReleasedCell]
) -> None:
    """Stop where the cells or their points are not those by which students have been graded.

    Raises:
        CourseError: which ones, and what to do.
    """
    known, now = ({cell.name: cell.points for cell in cells} for cells in (before, today))
    if odd := "; ".join(_differences(known, now)):
        raise CourseError(
            f"the solution of {assignment} has other cells or points than the gradebook, in which students have work: "
            f"{odd}. Cells and points stay once an assignment is released, so put these back, or give what has "
            "changed the name of a new assignment"
        )


def _differences(known: dict[str, float | None], now: dict[str, float | None]) -> Iterator[str]:
    for name in known | now:
        expected, found = (_in_words(cells, name) for cells in (known, now))
        if expected != found:
            yield f"{name}: expected {expected}, found {found}"


def _in_words(cells: dict[str, float | None], name: str) -> str:
    points = cells.get(name)
    if points is not None:
        return f"{points:g} {'point' if points == 1 else 'points'}"
    return "a cell without points" if name in cells else "no such cell"
