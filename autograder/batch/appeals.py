"""Students' requests to look again at a part, and whether somebody has: what the class's page lists."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.batch.entries import Entry, points_of
from autograder.batch.kept import read_kept, write_kept
from autograder.files import cut, printable
from autograder.grade.report import CHECK, Report

FILE = "appeals.json"  # beside an assignment's results: by student and part, the mark, and whether it is settled
REMEDY = "grade again; what was settled by a sentence alone is then asked once more"
SHORT = 100  # characters of a reason in a line of the table


@dataclass(frozen=True)
class Asked:
    """A request, beside what it is about.

    Attributes:
        part, why, mark: as of an `Appeal`.
        verdict: what the checks say of the part, in a few words.
        points, of: as they stand.
        settled: a person gave the part's points for this work, or has settled this very request.
    """

    part: str
    why: str
    mark: str
    verdict: str
    points: float = 0.0
    of: float = 0.0
    settled: bool = False

    @property
    def in_words(self) -> str:
        """The same for a line of the table."""
        if self.settled:
            return f"{self.part}: asked to look again, and settled"
        return f"{self.part}: asks to look again, “{cut(self.why, SHORT)}”"

    def settles(self, assignment: str, student: str) -> str:
        """The command that does so; its end is for a person to write."""
        words = ("settle", assignment, student, "--part", self.part)
        return f'python -m autograder {shlex.join(words)} --reason "…"'


def asked_in(report: Report) -> Iterator[Asked]:
    """The requests of a submission with the verdicts on their parts."""
    for one in report.appeals:
        verdict = report.verdicts.get(one.part)
        words = "marked by a person" if verdict is None else verdict.in_short or "nothing wrong"
        yield Asked(one.part, one.why, one.mark, words)


def asked_now(asked: Asked, entry: Entry, settled: Mapping[str, str]) -> Asked:
    """A request with the part's points, settled by them or by its mark, see `settled_of`."""
    for grade in entry.own:
        if grade.name.removeprefix(CHECK) == asked.part and entry.of(grade):
            by_hand = grade.manual_score is not None and not grade.needs_manual_grade
            done = by_hand or settled.get(asked.part) == asked.mark
            return replace(asked, points=points_of(grade), of=entry.of(grade), settled=done)
    return asked


def settled_of(course: Path, assignment: str, student: str) -> dict[str, str]:
    """The marks of a student's requests that are settled, by part; other words or code have another mark."""
    known = _read(course, assignment).get(student, {})
    return {part: mark for part, (mark, settled) in known.items() if settled}


def keep_asked(course: Path, assignment: str, student: str, asked: Sequence[Asked]) -> None:
    """Note what a student asks now, and what of it is settled."""
    known, now = _read(course, assignment), {one.part: (one.mark, one.settled) for one in asked}
    if known.pop(student, {}) != now:
        write_kept(_file(course, assignment), known | ({student: now} if now else {}))


def keep_settled(course: Path, assignment: str, student: str, marks: Mapping[str, str]) -> None:
    """Note that requests of a student's are settled, given by part and mark."""
    known = _read(course, assignment)
    known[student] = known.get(student, {}) | {part: (mark, True) for part, mark in marks.items()}
    write_kept(_file(course, assignment), known)


def who_asks(course: Path, assignment: str) -> set[str]:
    """Students of whose requests one is not settled, as it was when they were last graded."""
    return {
        student
        for student, parts in _read(course, assignment).items()
        if not all(settled for _, settled in parts.values())
    }


def in_the_end(rows: Mapping[str, Sequence[Asked]], where: str) -> str:
    """The last lines of a run: who asks, and where it says for what; empty if nobody does."""
    students = [
        printable(name) for name, asked in rows.items() if not all(one.settled for one in asked)
    ]
    if not students:
        return ""
    who = "1 student asks" if len(students) == 1 else f"{len(students)} students ask"
    return f"{who} you to look again: {', '.join(students)}\n    {where}"


def _file(course: Path, assignment: str) -> Path:
    return course / "grading" / assignment / FILE


def _read(course: Path, assignment: str) -> dict[str, dict[str, tuple[str, bool]]]:
    return read_kept(_file(course, assignment), dict[str, tuple[str, bool]], REMEDY)
