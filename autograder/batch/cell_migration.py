"""An assignment that changed after submissions came in: its cells today, and the gradebook brought up to them.

nbgrader refuses to add or remove cells then ("Cannot add or remove cells for notebook … because there are
submissions associated with it"). Here its gradebook is changed cell by cell: what stays keeps its scores
and comments, what is new waits to be graded, and what a person gave for a cell that goes is handed back.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from nbgrader.api import (
    Comment,
    Grade,
    Gradebook,
    GradeCell,
    MissingEntry,
    SolutionCell,
    SourceCell,
)
from nbgrader.apps import NbGraderAPI

from autograder.batch.course import AnyName
from autograder.batch.run import grader_digest
from autograder.errors import CourseError
from autograder.files import plain_files
from autograder.grade.messages import ReleasedCell
from autograder.grade.report import CHECK
from autograder.grade.restore import released_cells

OF_A_PART = ("", "test_", CHECK)  # how the names of its cells begin


@dataclass(frozen=True)
class Change:
    """What became of an assignment's cells.

    Attributes:
        renamed: new names by old ones.
        added, removed: names of cells.
        worth: points before and after, by today's name, where they differ.
        text: names of the other cells whose text or place in the notebook differs.
    """

    renamed: dict[str, str] = field(default_factory=dict)
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    worth: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)
    text: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.concerns_points or self.text)

    @property
    def concerns_points(self) -> bool:
        """Whether the gradebook needs other cells, or other points, than it has."""
        return bool(self.renamed or self.added or self.removed or self.worth)

    def in_words(self) -> Iterator[str]:
        """A sentence for each kind of change."""
        if self.renamed:
            pairs = (f"{old} is now {new}" for old, new in self.renamed.items())
            yield f"cells renamed: {', '.join(pairs)}"
        for what, names in (("added", self.added), ("removed", self.removed)):
            if names:
                yield f"cells {what}: {', '.join(names)}"
        if self.worth:
            pairs = (f"{name} {_points(a)} → {_points(b)}" for name, (a, b) in self.worth.items())
            yield f"points changed: {', '.join(pairs)}"
        if self.text:
            yield f"other text, or another place: {', '.join(self.text)}"


def _points(points: float | None) -> str:
    return "none" if points is None else f"{points:g}"


@dataclass(frozen=True)
class ByHand:
    """What a person gave for a cell that is gone."""

    student: str
    cell: str
    score: float | None
    extra_credit: float | None
    of: float | None
    comment: str | None


def cells_of_source(api: NbGraderAPI, assignment: str, log: Path) -> list[ReleasedCell]:
    """The cells as the source has them today: nbgrader releases it elsewhere, into a gradebook of its own.

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
        config.CourseDirectory.db_url = url = f"sqlite:///{folder}/gradebook.db"
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


def change_between(
    before: Sequence[ReleasedCell], after: Sequence[ReleasedCell], renamed: Mapping[str, str]
) -> Change:
    """What became of the cells, where some were renamed (new names by old ones)."""
    old = {renamed.get(cell.name, cell.name): cell for cell in before}
    new = {cell.name: cell for cell in after}
    stays = [name for name in new if name in old]
    order = [name for name in old if name in new]
    worth = {
        name: (old[name].points, new[name].points)
        for name in stays
        if old[name].points != new[name].points
    }
    return Change(
        {was: name for was, name in renamed.items() if any(cell.name == was for cell in before)},
        tuple(name for name in new if name not in old),
        tuple(name for name in old if name not in new),
        worth,
        tuple(
            name
            for place, name in enumerate(stays)
            if name not in worth
            and (order[place] != name or _shape(old[name]) != _shape(new[name]))
        ),
    )


def _shape(cell: ReleasedCell) -> tuple[object, ...]:
    return cell.cell_type, cell.source, cell.locked, cell.written


def renamed_cells(
    pairs: Sequence[tuple[str, str]],
    known: Mapping[str, str],
    before: Sequence[ReleasedCell],
    after: Sequence[ReleasedCell],
) -> dict[str, str]:
    """New names of cells by old ones, where a person says what was renamed.

    Args:
        pairs: old and new names; that of a part stands for all its cells.
        known: what has been said before; a grading that was stopped is told the same again.
        before, after: the cells that were, and those of today.

    Raises:
        CourseError: there was no such cell, there is none, or it is still there.
    """
    was, now = {cell.name for cell in before}, {cell.name for cell in after}
    gone, new_ones = was - now, now - was
    found = {old: new for old, new in known.items() if old in gone and new in new_ones}
    for old, new in pairs:
        cells = {f"{kind}{old}": f"{kind}{new}" for kind in OF_A_PART}
        said_before = any(known.get(one) == other for one, other in cells.items())
        cells = {one: other for one, other in cells.items() if one in gone and other in new_ones}
        if not cells and not said_before:
            raise CourseError(
                f"--renamed {old}={new}: expected a cell '{old}' that the gradebook has and the "
                f"source no longer has, and '{new}' the other way round. In the gradebook alone: "
                f"{', '.join(sorted(gone)) or 'none'}; in the source alone: "
                f"{', '.join(sorted(new_ones)) or 'none'}"
            )
        found |= cells
    return found


def bring_up_to(
    gradebook: Gradebook, assignment: str, cells: Sequence[ReleasedCell], change: Change
) -> list[ByHand]:
    """Give the gradebook today's cells, and every entry of a student a grade or comment for each.

    What a person gave for cells that are gone comes back. It flushes and does not commit: call it within
    a transaction, and give scores in the same one.
    """
    session = gradebook.db()
    gradebook.update_or_create_assignment(assignment)
    notebook = gradebook.update_or_create_notebook(assignment, assignment)
    for kind in (GradeCell, SolutionCell):
        for cell in _cells(gradebook, notebook, kind):
            cell.name = change.renamed.get(cell.name, cell.name)
    session.flush()
    lost: list[ByHand] = []
    for kind, wanted in (
        (GradeCell, [cell for cell in cells if cell.points is not None]),
        (SolutionCell, [cell for cell in cells if cell.written]),
    ):
        lost += _keep_only(gradebook, notebook, kind, {cell.name for cell in wanted})
        _put(gradebook, notebook, kind, wanted)
    # in their order, which the table keeps
    for cell in _cells(gradebook, notebook, SourceCell):
        session.delete(cell)
    session.flush()
    for cell in cells:
        session.add(
            SourceCell(
                name=cell.name,
                cell_type=cell.cell_type,
                source=cell.source,
                checksum=cell.checksum,
                locked=cell.locked,
                notebook_id=notebook.id,
            )
        )
        session.flush()
    session.expire_all()
    return lost


def _cells(gradebook: Gradebook, notebook: Any, kind: Any) -> list[Any]:
    return gradebook.db.query(kind).filter(kind.notebook_id == notebook.id).all()


def _put(gradebook: Gradebook, notebook: Any, kind: Any, wanted: Sequence[ReleasedCell]) -> None:
    """Make the cells of a kind what they are today, and add those that are missing."""
    session = gradebook.db()
    known = {cell.name: cell for cell in _cells(gradebook, notebook, kind)}
    of_student = Grade if kind is GradeCell else Comment
    for cell in wanted:
        worth = {"max_score": cell.points, "cell_type": cell.cell_type}
        values = worth if kind is GradeCell else {}
        if cell.name in known:
            for name, value in values.items():
                setattr(known[cell.name], name, value)
            continue
        entry = kind(name=cell.name, notebook=notebook, **values)
        session.add(entry)
        session.flush()
        for submitted in notebook.submissions:
            session.add(of_student(cell_id=entry.id, notebook=submitted))
    session.flush()


def _keep_only(gradebook: Gradebook, notebook: Any, kind: Any, names: set[str]) -> Iterator[ByHand]:
    """Remove the other cells of a kind with all that hangs on them; what a person gave there comes back."""
    session = gradebook.db()
    for cell in _cells(gradebook, notebook, kind):
        if cell.name in names:
            continue
        of_student = Grade if kind is GradeCell else Comment
        for item in session.query(of_student).filter(of_student.cell_id == cell.id).all():
            student = item.notebook.assignment.student_id
            if isinstance(item, Comment):
                if item.manual_comment:
                    yield ByHand(student, cell.name, None, None, None, item.manual_comment)
            elif item.manual_score is not None or item.extra_credit is not None:
                yield ByHand(
                    student, cell.name, item.manual_score, item.extra_credit, cell.max_score, None
                )
            session.delete(item)
        session.flush()
        session.delete(cell)
        session.flush()
