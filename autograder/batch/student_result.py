"""What one student got, and why: a row of the table, in words and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from autograder.batch.appeals import Asked, asked_in, asked_now
from autograder.batch.entries import Entry, points_of
from autograder.batch.findings import Finding, findings_in
from autograder.batch.run import grader_digest
from autograder.batch.same_code import Definitions, courses_own
from autograder.checks.verdicts import SIGNS
from autograder.faults import fault_of
from autograder.files import digest_of
from autograder.grade.report import CHECK, Report
from autograder.points import counted


@dataclass(frozen=True)
class Summary:
    """What a student's row takes from a result, so small that the journal of a class can keep it.

    Attributes:
        broken: why there are no points, and what to do, in words; empty if there are.
        told: why alone.
        reasons: why points were lost, and what else is to be said.
        findings: what went wrong, by part.
        signatures: how each part is called, with shapes.
        seconds: what running and deciding took.
        doubts: what a person must look at: its check cells, all of them where none is named, and why.
        courses_own: the parts whose answer is the course's own code, word for word.
        asked: what its student asks a person to look at again.
    """

    broken: str = ""
    told: str = ""
    reasons: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    signatures: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    doubts: tuple[tuple[tuple[str, ...], str], ...] = ()
    courses_own: tuple[str, ...] = ()
    asked: tuple[Asked, ...] = ()


@dataclass(frozen=True)
class StudentResult:
    """What one student got, and why.

    Attributes:
        student: the id.
        points, of: what counts, late penalty taken off, and what can be had.
        parts, possible: points by part, and those that there are.
        marked: points by the cells that a person marks; None while they wait.
        markable: the points that there are in these cells.
        reasons: the sentences for the table.
        findings, signatures, seconds, courses_own: as of a `Summary`.
        failed: it could not be run.
        needs_person: somebody must look.
        excused: it does not count.
        came_in, due: UTC, the second with this student's extension; None where nobody said.
        penalty: points taken off for coming in late.
        asked: as of a `Summary`, with points as they stand, settled or not.
        shown: digest of all that the feedback page shows.
    """

    student: str
    points: float
    of: float
    parts: dict[str, float] = field(default_factory=dict)
    possible: dict[str, float] = field(default_factory=dict)
    marked: dict[str, float | None] = field(default_factory=dict)
    markable: dict[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    signatures: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    failed: bool = False
    needs_person: bool = False
    excused: bool = False
    came_in: datetime | None = None
    due: datetime | None = None
    penalty: float = 0.0
    courses_own: tuple[str, ...] = ()
    asked: tuple[Asked, ...] = ()
    shown: str = field(default="", compare=False)

    @property
    def late(self) -> bool:
        return bool(self.came_in and self.due and self.came_in > self.due)

    @property
    def timeless(self) -> bool:
        """Whether it could be late, and nothing says when it came in."""
        return bool(self.due and not self.came_in)


def due_of(due: datetime | None, extension: timedelta | None) -> datetime | None:
    """When a student's work was due, with an extension where there is one; None if nobody said."""
    return due + extension if due and extension else due


def digest_of_page(entry: Entry, key: str) -> str:
    """A digest of all that a feedback page shows, beside what stands in the pages of others."""
    grades = [
        (grade.name, grade.auto_score, grade.manual_score, grade.extra_credit, entry.of(grade),
         grade.needs_manual_grade)
        for grade in entry.own
    ]  # fmt: skip
    comments = [
        (comment.name, comment.auto_comment, comment.manual_comment) for comment in entry.comments
    ]
    submission = entry.submission
    times = submission.timestamp, due_of(submission.assignment.duedate, submission.extension)
    return digest_of(
        repr((grader_digest(), key, sorted(grades), sorted(comments), times, entry.penalty))
    )


def lateness(row: StudentResult) -> Iterator[str]:
    """That work came in late, and what it cost."""
    if row.late and row.came_in and row.due:
        taken = f"{row.penalty:g} {'point' if row.penalty == 1 else 'points'} taken off"
        yield f"came in {in_words(row.came_in - row.due)} late: {taken}"


def in_words(time: timedelta) -> str:
    """A length of time as people say it: "3 h 20 min", "2 days"."""
    minutes = max(1, round(time.total_seconds() / 60))
    if minutes >= 2 * 24 * 60:
        return f"{minutes / 24 / 60:.0f} days"
    hours, rest = divmod(minutes, 60)
    return " ".join([*([f"{hours} h"] if hours else []), *([f"{rest} min"] if rest else [])])


def by_hand(grades: Iterable[Any]) -> Iterator[str]:
    """That scores stand which a person gave for an earlier version of the work."""
    given = []
    for grade in grades:
        if grade.manual_score is not None:
            score = grade.auto_score
            now = "" if score is None else f", this version would get {score:g}"
            given.append(f"{grade.name.removeprefix(CHECK)} ({grade.manual_score:g}{now})")
    if given:
        yield f"graded by hand for an earlier version: {', '.join(given)}"


def above(entry: Entry) -> Iterator[str]:
    """That a person gave more points than there are, perhaps in the box of another cell."""
    given = [
        f"{grade.name.removeprefix(CHECK)} ({points_of(grade):g} of {entry.of(grade):g})"
        for grade in entry.grades
        if points_of(grade) > entry.of(grade)
    ]
    if given:
        yield f"given by hand, and more than there is to be had: {', '.join(given)}"


def summary_of(student: str, report: Report, taught: Definitions) -> Summary:
    """What a row says of a report; `taught` is how the course's own code defines the parts."""
    if report.broken:
        return Summary(report.broken, report.told or report.broken)
    failures = [f"{fault}; log.txt has the rest" for fault in report.faults]
    try:
        own = courses_own(report, taught)
    except Exception as error:  # noqa: BLE001 (it is a hint, and the row holds points)
        own = ()
        failures.append(str(fault_of("comparing answers with the course's own code", error)))
    return Summary(
        reasons=(*failures, *reasons_for(report)),
        findings=tuple(findings_in(report, student)),
        signatures={part: verdict.signature for part, verdict in report.verdicts.items()},
        seconds=sum(report.seconds.values()),
        doubts=(*doubts(report), *[((), "") for _ in report.faults[:1]]),
        courses_own=own,
        asked=tuple(asked_in(report)),
    )


def row_of(
    student: str,
    entry: Entry,
    key: str,
    summary: Summary,
    answered: Mapping[str, str] = MappingProxyType({}),
) -> StudentResult:
    """A student's row, of what the gradebook holds, and of the result that is recorded there by its key.

    `answered` has the marks of the requests to look again that are settled, by part.
    """
    submission, penalty = entry.submission, entry.penalty
    checks = {
        grade.name.removeprefix(CHECK): grade for grade in entry.own if grade.name.startswith(CHECK)
    }
    row = StudentResult(
        student,
        counted(entry.score(), penalty),
        counted(sum(entry.worth.values())),
        possible={part: entry.of(check) for part, check in checks.items()},
        came_in=submission.timestamp,
        due=due_of(submission.assignment.duedate, submission.extension),
        penalty=penalty,
        shown=digest_of_page(entry, key),
    )
    unseen = [grade for grade in entry.own if grade.needs_manual_grade]
    reasons = [*lateness(row), *by_hand(unseen), *above(entry)]
    if summary.broken:
        settled = f"{row.points:g} of {row.of:g} points by hand, and settled: {summary.told}"
        reasons.insert(0, summary.broken if unseen else settled)
        return replace(row, reasons=tuple(reasons), failed=True, needs_person=bool(unseen))
    doubted, settled_doubts = _open_and_settled(summary, entry)
    asked = tuple(asked_now(one, entry, answered) for one in summary.asked)
    waiting = [grade.name for grade in unseen if grade.manual_score is None]
    if waiting:
        reasons.append(f"waits for a person: {', '.join(waiting)}")
    marked = [grade for grade in entry.own if not grade.name.startswith(CHECK) and entry.of(grade)]
    return replace(
        row,
        parts={part: points_of(check) for part, check in checks.items()},
        marked={
            grade.name: None if grade.name in waiting else points_of(grade) for grade in marked
        },
        markable={grade.name: entry.of(grade) for grade in marked},
        reasons=(
            *summary.reasons,
            *filter(None, doubted),
            *settled_doubts,
            *(one.in_words for one in asked),
            *reasons,
        ),
        findings=summary.findings,
        signatures=summary.signatures,
        seconds=summary.seconds,
        courses_own=summary.courses_own,
        asked=asked,
        needs_person=bool(unseen or doubted or any(not one.settled for one in asked)),
    )


def _open_and_settled(summary: Summary, entry: Entry) -> tuple[list[str], list[str]]:
    """What a person must still look at, and what is settled, since a person gave all points that it is about."""
    of_parts = {
        grade.name.removeprefix(CHECK): grade.manual_score is not None
        and not grade.needs_manual_grade
        for grade in entry.own
        if entry.of(grade)
    }
    doubted, settled = [], []
    for parts, why in summary.doubts:
        if all(of_parts.get(part, True) for part in parts or of_parts):
            settled += [f"{why}, and settled by hand"] if why else []
        else:
            doubted.append(f"{why}: please look" if why else "")
    return doubted, settled


def reasons_for(report: Report) -> Iterator[str]:
    """Why points were lost, in the words of the verdicts."""
    if report.remark:
        yield report.remark
    for what, names in asdict(report.restored).items():
        if names:
            yield f"locked cells were {what} and have been put right: {', '.join(names)}"
    for part, verdict in report.verdicts.items():
        if verdict.right:
            continue
        also = [step for step in verdict.steps if step.state == "also"]
        yield f"{part}: {verdict.in_short}{_also_wrong(len(also))}"
    for name in report.unanswered:
        if report.scores.get(name) == 0:
            yield f"{name}: no answer"


def _also_wrong(steps: int) -> str:
    if not steps:
        return ""
    return f" ({SIGNS['also']} {steps} more {'step' if steps == 1 else 'steps'} wrong, not charged again)"


def doubts(report: Report) -> Iterator[tuple[tuple[str, ...], str]]:
    """Parts that a person must look at, and why: one slip took several, or only a visible test finds fault."""
    for name, parts in report.lacking.items():
        yield (
            parts,
            f"{', '.join(parts)}: no points, and all for one name, `{name}`, that is not defined",
        )
    for part, error in report.doubted.items():
        told = " ".join(error.split())  # a tensor is printed over several lines
        yield (part,), f"{part}: all points, but its visible test stops ({told})"
