"""Whose score a grading changes, from what to what, and why."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from autograder.batch.table import padded, width
from autograder.files import harmless, printable, write_whole
from autograder.grade.report import CHECK

PLANNED, WRITTEN, BY_HAND = "changes_planned.csv", "changes.csv", "removed_by_hand.csv"


@dataclass(frozen=True)
class Mark:
    """What one cell earned.

    Attributes:
        score: what counts.
        of: what can be had.
        by_hand: a person gave it.
    """

    score: float
    of: float
    by_hand: bool


@dataclass(frozen=True)
class Scores:
    """What one student has in the gradebook: marks by cell, and what coming in late costs."""

    marks: Mapping[str, Mark] = field(default_factory=dict)
    penalty: float = 0.0

    @property
    def total(self) -> float:
        return max(0.0, sum(mark.score for mark in self.marks.values()) - self.penalty)

    @property
    def of(self) -> float:
        return sum(mark.of for mark in self.marks.values())


@dataclass(frozen=True)
class Changed:
    """One line of the table: a student whose score or maximum changes; ``before`` is None at first."""

    student: str
    before: Scores | None
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
    found: dict[str, Scores] = {}
    for student, penalty, cell, of, score, manual, extra in question:
        known = found.setdefault(student, Scores({}, penalty or 0.0))
        by_hand = manual is not None or extra is not None
        found[student] = Scores({**known.marks, cell: Mark(score, of, by_hand)}, known.penalty)
    return found


def compare(
    before: Mapping[str, Scores],
    after: Mapping[str, Scores],
    change: Change,
    handed_in_again: Iterable[str],
    removed: Sequence[ByHand],
    written: bool,
) -> ScoreChanges:
    """Hold the scores of a class before a grading against those after it.

    Args:
        before, after: as `scores_of` gives them.
        change: what became of the assignment's cells.
        handed_in_again: students whose work is another one than was graded before.
        removed: what a person gave for cells that are gone.
        written: as in `ScoreChanges`.
    """
    again = set(handed_in_again)
    lines = []
    for student in sorted(after):
        old, new = before.get(student), after[student]
        if old and (old.total, old.of) != (new.total, new.of):
            reasons = tuple(_reasons(old, new, change, student in again))
            lines.append(Changed(student, old, new, reasons))
    known = sum(student in before for student in after)
    return ScoreChanges(
        change,
        tuple(lines),
        known - len(lines),
        len(after) - known,
        tuple(removed),
        written,
    )


def _reasons(old: Scores, new: Scores, change: Change, again: bool) -> Iterator[str]:
    """Why a student's score changes, cell by cell."""
    former = {now: was for was, now in change.renamed.items()}
    for cell, mark in new.marks.items():
        part = cell.removeprefix(CHECK)
        was = old.marks.get(former.get(cell, cell))
        if was is None:
            if mark.of or mark.score:
                yield f"{part} added: {mark.score:g} of {mark.of:g}"
            continue
        scores = f"{was.score:g} → {mark.score:g}"
        if was.of != mark.of:
            points = f"{part} counts {mark.of:g} instead of {was.of:g}"
            yield f"{points}: {f'{mark.score:g} given by hand stays' if mark.by_hand else scores}"
        elif was.score != mark.score:
            how = "handed in again" if again else "graded by hand" if mark.by_hand else "decided otherwise"  # fmt: skip
            yield f"{part} {how}: {scores}"
    stays = {former.get(cell, cell) for cell in new.marks}
    for cell, mark in old.marks.items():
        if cell not in stays and (mark.of or mark.score):
            kept = f", given by hand and kept in {BY_HAND}" if mark.by_hand else ""
            part = cell.removeprefix(CHECK)
            yield f"{part} removed: {mark.score:g} of {mark.of:g}{kept}"
    if old.penalty != new.penalty:
        yield f"late penalty: {old.penalty:g} → {new.penalty:g}"


def as_text(comparison: ScoreChanges) -> str:
    """The comparison for a terminal."""
    lines = list(comparison.change.in_words())
    rows = comparison.students
    if rows:
        wide = max(map(width, ("student", *(printable(row.student) for row in rows))))
        head = "  ".join([padded("student", wide), "before".rjust(9), "after".rjust(9), "why"])
        lines += [head, "─" * width(head)]
        for row in rows:
            lines.extend(
                textwrap.wrap(
                    "; ".join(map(printable, row.reasons)),
                    96,
                    initial_indent="  ".join(
                        [
                            padded(printable(row.student), wide),
                            *map(_total, (row.before, row.after)),
                            "",
                        ]
                    ),
                    subsequent_indent=" " * (wide + 24),
                )
            )
    graded = len(rows) + comparison.same
    gets = "gets" if len(rows) == 1 else "get"
    counts = [f"{len(rows)} of {graded} graded before {gets} another score"]
    if comparison.first:
        counts.append(f"{comparison.first} graded for the first time")
    lines.append("; ".join(counts))
    for item in comparison.removed:
        lines.append(f"    {printable(item.student)}: {_given(item)}, kept in {BY_HAND}")
    return "\n".join(lines)


def _given(item: ByHand) -> str:
    """What a person gave for a cell that is gone, in words."""
    if item.comment is not None:
        return f"a comment on {item.cell}"
    extra = f" and {item.extra_credit:g} extra" if item.extra_credit is not None else ""
    score = "no score" if item.score is None else f"{item.score:g} of {item.of:g}"
    return f"{score}{extra} by hand for {item.cell}"


def _total(scores: Scores | None) -> str:
    return (f"{scores.total:g} / {scores.of:g}" if scores else "–").rjust(9)


def write_changes(
    folder: Path, comparison: ScoreChanges, now: datetime | None = None
) -> Path | None:
    """Put the lines into a CSV: those that were only tried alone, those written after the earlier ones.

    Returns:
        its path; None where nothing was to be written down.
    """
    path = folder / (WRITTEN if comparison.written else PLANNED)
    if comparison.written and not comparison.students:
        return None
    time = f"{now or datetime.now(UTC):%Y-%m-%d %H:%M}"
    rows = [
        [time, row.student, row.before.total, row.before.of, row.after.total, row.after.of,
         " | ".join(row.reasons)]
        for row in comparison.students
        if row.before
    ]  # fmt: skip
    head = ["graded (UTC)", "student", "before", "of", "after", "of now", "reasons"]
    _write_rows(path, head, rows, _rows_in(path) if comparison.written else [])
    return path


def keep_by_hand(folder: Path, removed: Sequence[ByHand], now: datetime | None = None) -> None:
    """Keep on record what a person gave for cells that are gone; what is there already stays."""
    if not removed:
        return
    time = f"{now or datetime.now(UTC):%Y-%m-%d %H:%M}"
    rows = [
        [time, item.student, item.cell, item.score, item.of, item.extra_credit, item.comment]
        for item in removed
    ]
    head = ["removed (UTC)", "student", "cell", "by hand", "of", "extra credit", "comment"]
    path = folder / BY_HAND
    known = _rows_in(path)
    # where a grading was stopped just before it was written, they stand there already
    there = {tuple(row[1:]) for row in known}
    new = [row for row in rows if tuple(map(str, _cells(row[1:]))) not in there]
    _write_rows(path, head, new, known)


def _rows_in(path: Path) -> list[list[str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))[1:]


def _write_rows(path: Path, head: list[str], rows: list[list], known: list[list[str]]) -> None:
    """Write a CSV: a head, the rows that are known, and new ones."""
    text = io.StringIO()
    csv.writer(text).writerows([head, *known, *map(_cells, rows)])
    write_whole(path, "\ufeff" + text.getvalue())


def _cells(row: list) -> list:
    return ["" if item is None else harmless(item) for item in row]
