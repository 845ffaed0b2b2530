"""Whose score a grading changes, from what to what, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from nbgrader.api import (
    Assignment,
    Grade,
    Gradebook,
    GradeCell,
    SubmittedAssignment,
    SubmittedNotebook,
)

from autograder.batch.table import padded, rows_in, width, wrapped, write_csv
from autograder.files import harmless, printable
from autograder.grade.report import CHECK
from autograder.points import counted

PLANNED, WRITTEN = "changes_planned.csv", "changes.csv"
HEAD = ("graded (UTC)", "student", "before", "of", "after", "of now", "reasons")


@dataclass(frozen=True)
class CellScore:
    """What one cell earned, what can be had there, and whether a person gave any of it."""

    score: float
    of: float
    by_hand: bool


@dataclass(frozen=True)
class Scores:
    """What one student has in the gradebook: scores by cell, and what coming in late costs."""

    cells: Mapping[str, CellScore] = field(default_factory=dict)
    penalty: float = 0.0

    @property
    def total(self) -> float:
        return counted(sum(cell.score for cell in self.cells.values()), self.penalty)

    @property
    def of(self) -> float:
        return sum(cell.of for cell in self.cells.values())


@dataclass(frozen=True)
class Changed:
    """A student whose score changes, and why."""

    student: str
    before: Scores
    after: Scores
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class ScoreChanges:
    """What a grading changes.

    Attributes:
        students: those whose score changes, in alphabetical order.
        same: how many keep theirs.
        first: how many are graded for the first time.
        written: it stands in the gradebook; else it was only tried.
    """

    students: tuple[Changed, ...]
    same: int
    first: int
    written: bool


def scores_of(gradebook: Gradebook, assignment: str) -> dict[str, Scores]:
    """What every student has for an assignment, by one question to the gradebook."""
    question = (
        gradebook.db.query(
            SubmittedAssignment.student_id,
            SubmittedNotebook.late_submission_penalty,
            GradeCell.name,
            GradeCell.max_score,
            Grade.score,
            Grade.manual_score,
            Grade.extra_credit,
        )
        .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .join(GradeCell, GradeCell.id == Grade.cell_id)
        .filter(Assignment.name == assignment)
    )
    cells: dict[str, dict[str, CellScore]] = {}
    penalties: dict[str, float] = {}
    for student, penalty, cell, of, score, manual, extra in question:
        by_hand = manual is not None or extra is not None
        cells.setdefault(student, {})[cell] = CellScore(score, of, by_hand)
        penalties.setdefault(student, penalty or 0.0)
    return {student: Scores(cells[student], penalties[student]) for student in cells}


def compare(
    before: Mapping[str, Scores],
    after: Mapping[str, Scores],
    handed_in_again: Collection[str],
    written: bool,
) -> ScoreChanges:
    """Hold the scores of a class before a grading against those after it, both as `scores_of` gives them."""
    known = sorted(after.keys() & before.keys())
    changed = []
    for student in known:
        old, new = before[student], after[student]
        if old.total != new.total:
            reasons = tuple(_reasons(old, new, student in handed_in_again))
            changed.append(Changed(student, old, new, reasons))
    return ScoreChanges(
        tuple(changed),
        same=len(known) - len(changed),
        first=len(after) - len(known),
        written=written,
    )


def _reasons(old: Scores, new: Scores, again: bool) -> Iterator[str]:
    """Why a student's score changes, cell by cell."""
    for name, cell in new.cells.items():
        was = old.cells[name]
        if was.score != cell.score:
            how = "handed in again" if again else "graded by hand" if cell.by_hand else "decided otherwise"  # fmt: skip
            yield f"{name.removeprefix(CHECK)} {how}: {was.score:g} → {cell.score:g}"
    if old.penalty != new.penalty:
        yield f"late penalty: {old.penalty:g} → {new.penalty:g}"


def as_text(changes: ScoreChanges) -> str:
    """The changes for a terminal."""
    lines: list[str] = []
    changed = changes.students
    if changed:
        names = [printable(row.student) for row in changed]
        wide = max(map(width, ("student", *names)))
        head = "  ".join([padded("student", wide), "before".rjust(9), "after".rjust(9), "why"])
        lines += [head, "─" * width(head)]
        for name, row in zip(names, changed, strict=True):
            numbers = (f"{scores.total:g} / {scores.of:g}" for scores in (row.before, row.after))
            first = "  ".join([padded(name, wide), *(cell.rjust(9) for cell in numbers), ""])
            reasons = "; ".join(map(printable, row.reasons))
            lines += wrapped(reasons, first, " " * width(first))
    gets = "gets" if len(changed) == 1 else "get"
    graded = len(changed) + changes.same
    counts = f"{len(changed)} of {graded} graded before {gets} another score"
    lines.append(counts + (f"; {changes.first} graded for the first time" if changes.first else ""))
    return "\n".join(lines)


def write_changes(folder: Path, changes: ScoreChanges, now: datetime | None = None) -> None:
    """Put the changes into a CSV: those that were only tried alone, those written after the earlier ones."""
    if changes.written and not changes.students:
        return
    path = folder / (WRITTEN if changes.written else PLANNED)
    rows = [
        (_time(now), row.student, row.before.total, row.before.of, row.after.total, row.after.of,
         " | ".join(row.reasons))
        for row in changes.students
    ]  # fmt: skip
    known = rows_in(path) if changes.written else []
    write_csv(path, [HEAD, *known, *(map(harmless, row) for row in rows)])


def _time(now: datetime | None) -> str:
    return f"{now or datetime.now(UTC):%Y-%m-%d %H:%M}"
