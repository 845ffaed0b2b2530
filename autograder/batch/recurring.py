"""Mistakes that the same student makes again in a later assignment, by the mistakes' names.

The report of each assignment keeps who made which named mistake, in a file beside its journal; that of
a later one reads the files of all that come before it. The file has names of students in it, as the
journal has, and what is shown to a class only counts them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from autograder.batch.student_result import StudentResult
from autograder.files import write_whole
from autograder.order import by_number

FILE = "mistakes.json"

Made = dict[str, frozenset[str]]  # names of mistakes by student


@dataclass(frozen=True)
class RecurringMistake:
    """A mistake that was made in an earlier assignment, and what became of it.

    Attributes:
        name: the mistake's.
        earlier: the assignments in which it was made before.
        before: how many of today's students had made it.
        again: how many of those made it today.
    """

    name: str
    earlier: tuple[str, ...]
    before: int
    again: int


def mistakes_made(rows: Sequence[StudentResult]) -> Made:
    """The names of the mistakes that each student made."""
    return {
        row.student: frozenset(name for item in row.findings for name, _ in item.mistakes)
        for row in rows
        if not row.failed
    }


def keep(course: Path, assignment: str, rows: Sequence[StudentResult]) -> None:
    """Write down who made which mistake, for the reports of later assignments."""
    made = {student: sorted(names) for student, names in mistakes_made(rows).items()}
    write_whole(course / "grading" / assignment / FILE, msgspec.json.encode(made))


def earlier_mistakes(course: Path, assignment: str) -> dict[str, Made]:
    """Who made which mistake in each assignment before this one, in the order of their numbers."""
    found = {}
    for path in sorted((course / "grading").glob(f"*/{FILE}"), key=by_number):
        if by_number(path.parent.name) < by_number(assignment):
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                found[path.parent.name] = msgspec.json.decode(path.read_bytes(), type=Made)
    return found


def recurring_in(
    rows: Sequence[StudentResult], earlier: Mapping[str, Made]
) -> list[RecurringMistake]:
    """The mistakes that somebody made again, the most frequent first.

    Args:
        rows: of today's assignment.
        earlier: as `earlier_mistakes` returns it.
    """
    today = mistakes_made(rows)
    found = []
    for name in sorted(set().union(*today.values())):
        where = tuple(
            item for item, made in earlier.items() if any(name in of for of in made.values())
        )
        before = {
            student
            for student in today
            if any(name in earlier[item].get(student, ()) for item in where)
        }
        again = sum(name in today[student] for student in before)
        if again:
            found.append(RecurringMistake(name, where, len(before), again))
    return sorted(found, key=lambda item: (-item.again, item.name))


def in_words(row: StudentResult, earlier: Mapping[str, Made]) -> str:
    """The mistakes of one student that the student has made before, and in which assignments."""
    names = dict.fromkeys(name for item in row.findings for name, _ in item.mistakes)
    told = []
    for name in names:
        where = [item for item, made in earlier.items() if name in made.get(row.student, ())]
        if where:
            told.append(f"{name} (as in {', '.join(where)})")
    return " | ".join(told)
