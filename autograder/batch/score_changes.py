"""Whose score a grading changes, from what to what, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
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

from autograder.batch.cell_migration import ByHand, Change
from autograder.batch.table import padded, rows_in, width, wrapped, write_csv
from autograder.files import harmless, printable
from autograder.grade.report import CHECK
from autograder.points import counted

PLANNED, WRITTEN, BY_HAND = "changes_planned.csv", "changes.csv", "removed_by_hand.csv"
HEAD = ("graded (UTC)", "student", "before", "of", "after", "of now", "reasons")
HEAD_BY_HAND = ("removed (UTC)", "student", "cell", "by hand", "of", "extra credit", "comment")


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
    """A student whose score or maximum changes, and why."""

    student: str
    before: Scores
    after: Scores
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class ScoreChanges:
    """What a grading changes.

    Attributes:
        change: what became of the assignment's cells.
        students: those whose score changes, in alphabetical order.
        same: how many keep theirs.
        first: how many are graded for the first time.
        removed: what a person gave for cells that are gone.
        written: it stands in the gradebook; else it was only tried.
    """

    change: Change
    students: tuple[Changed, ...]
    same: int
    first: int
    removed: tuple[ByHand, ...]
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
    change: Change,
    handed_in_again: Collection[str],
    removed: Sequence[ByHand],
    written: bool,
    never_ran: Collection[str] = (),
) -> ScoreChanges:
    """Hold the scores of a class before a grading against those after it, both as `scores_of` gives them.

    Who is of those that `never_ran`, and has no points before and after, has no other score.
    """
    known = sorted(after.keys() & before.keys())
    changed = []
    for student in known:
        old, new = before[student], after[student]
        nothing = student in never_ran and old.total == new.total == 0
        if (old.total, old.of) != (new.total, new.of) and not nothing:
            reasons = tuple(_reasons(old, new, change, student in handed_in_again))
            changed.append(Changed(student, old, new, reasons))
    return ScoreChanges(
        change,
        tuple(changed),
        same=len(known) - len(changed),
        first=len(after) - len(known),
        removed=tuple(removed),
        written=written,
    )


def _reasons(old: Scores, new: Scores, change: Change, again: bool) -> Iterator[str]:
    """Why a student's score changes, cell by cell."""
    former = {now: was for was, now in change.renamed.items()}
    for name, cell in new.cells.items():
        part = name.removeprefix(CHECK)
        was = old.cells.get(former.get(name, name))
        if was is None:
            if cell.of or cell.score:
                yield f"{part} added: {cell.score:g} of {cell.of:g}"
            continue
        scores = f"{was.score:g} → {cell.score:g}"
        if was.of != cell.of:
            points = f"{part} counts {cell.of:g} instead of {was.of:g}"
            yield f"{points}: {f'{cell.score:g} given by hand stays' if cell.by_hand else scores}"
        elif was.score != cell.score:
            how = "handed in again" if again else "graded by hand" if cell.by_hand else "decided otherwise"  # fmt: skip
            yield f"{part} {how}: {scores}"
    stays = {former.get(name, name) for name in new.cells}
    for name, cell in old.cells.items():
        if name not in stays and (cell.of or cell.score):
            kept = f", given by hand and kept in {BY_HAND}" if cell.by_hand else ""
            yield f"{name.removeprefix(CHECK)} removed: {cell.score:g} of {cell.of:g}{kept}"
    if old.penalty != new.penalty:
        yield f"late penalty: {old.penalty:g} → {new.penalty:g}"


def as_text(changes: ScoreChanges) -> str:
    """The changes for a terminal."""
    lines = list(changes.change.in_words())
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
    for item in changes.removed:
        lines.append(f"    {printable(item.student)}: {_given(item)}, kept in {BY_HAND}")
    return "\n".join(lines)


def _given(item: ByHand) -> str:
    """What a person gave for a cell that is gone, in words."""
    if item.comment is not None:
        return f"a comment on {item.cell}"
    extra = f" and {item.extra_credit:g} extra" if item.extra_credit is not None else ""
    score = "no score" if item.score is None else f"{item.score:g} of {item.of:g}"
    return f"{score}{extra} by hand for {item.cell}"


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


def keep_by_hand(folder: Path, removed: Sequence[ByHand], now: datetime | None = None) -> None:
    """Keep on record what a person gave for cells that are gone; what is there already stays."""
    if not removed:
        return
    path = folder / BY_HAND
    known = rows_in(path)
    # where a grading was stopped just before it was written, they stand there already
    there = [row[1:] for row in known]
    rows = []
    for item in removed:
        given = (item.student, item.cell, item.score, item.of, item.extra_credit, item.comment)
        cells = ["" if cell is None else str(harmless(cell)) for cell in given]
        if cells not in there:
            rows.append([_time(now), *cells])
    write_csv(path, [HEAD_BY_HAND, *known, *rows])


def _time(now: datetime | None) -> str:
    return f"{now or datetime.now(UTC):%Y-%m-%d %H:%M}"
