"""What a class did in one assignment: a page to show, without names, and a table with them."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from types import MappingProxyType

from autograder.batch.findings import Finding
from autograder.batch.item_analysis import FEWEST, Item, item_analysis_of
from autograder.batch.recurring import (
    Made,
    RecurringMistake,
    earlier_mistakes,
    in_words,
    keep,
    recurring_in,
)
from autograder.batch.student_result import StudentResult
from autograder.batch.term import Standing, standings, title_of
from autograder.checks.verdicts import Behaviour, Obstacle
from autograder.files import harmless, write_whole
from autograder.pages import render

KINDS = MISTAKE, RELATION, OBSTACLE, NAMELESS = "by name", "relation", "obstacle", "no name"
MOST_ANSWERS = 3  # that are shown of those who made the same mistake


@dataclass(frozen=True)
class Trouble:
    """Something that went wrong in a part, and who of the class had it.

    Attributes:
        kind: `MISTAKE`, `RELATION`, `OBSTACLE`, or `NAMELESS`, which goes by the step it missed.
        name: in a few words.
        students: how many.
        codes: some of their answers, each once.
        message: what those students read.
        also: in how many of their answers further steps are wrong, and not charged again.
        alike: nothing explains what they did, and all of them did the same.
    """

    kind: str
    name: str
    students: int
    codes: tuple[str, ...]
    message: str = ""
    also: int = 0
    alike: bool = False


@dataclass(frozen=True)
class PartReport:
    """How a part went, as an item of a test and by what went wrong."""

    name: str
    signature: str
    item: Item
    troubles: tuple[Trouble, ...]


def write_report(
    course: Path, assignment: str, rows: Sequence[StudentResult], isolation: str
) -> tuple[Path, Path]:
    """Write the page and the table beside the journal of the assignment.

    Args:
        course: the course folder.
        assignment: the assignment's id.
        rows: one for each student.
        isolation: how submissions were kept apart.

    Returns:
        paths of the page (HTML, no names) and of the table (CSV, with names and reasons).
    """
    folder = course / "grading" / assignment
    page, table = folder / "class.html", folder / "class.csv"
    students, term = standings(course)
    title = title_of(course, assignment)
    earlier = earlier_mistakes(course, assignment)
    again = recurring_in(rows, earlier)
    write_whole(page, as_page(assignment, title, rows, isolation, students, term, again))
    # with a mark at the beginning by which spreadsheets know that it is UTF-8
    write_whole(table, "\ufeff" + as_csv(rows, isolation, earlier))
    keep(course, assignment, rows)
    return page, table


def as_page(
    assignment: str,
    title: str,
    rows: Sequence[StudentResult],
    isolation: str,
    students: int = 0,
    term: Sequence[Standing] = (),
    again: Sequence[RecurringMistake] = (),
) -> str:
    """The page, as HTML.

    Args:
        assignment, title: the id, and what people call it.
        rows: one for each student.
        isolation: how submissions were kept apart.
        students: how many the gradebook knows.
        term: all assignments so far.
        again: mistakes that were made in an earlier one, too.
    """
    graded = [row for row in rows if not row.failed]
    points = [row.points for row in graded]
    of = max((row.of for row in rows), default=0)
    return render(
        "class.html",
        title=title,
        assignment=assignment,
        graded=len(graded),
        failed=len(rows) - len(graded),
        waiting=sum(row.needs_person and not row.failed for row in rows),
        late=sum(row.late for row in rows),
        middle=median(points) if points else 0,
        of=of,
        bars=_histogram(points, of),
        parts=_parts(rows),
        fewest=FEWEST,
        again=again,
        isolation=isolation,
        seconds=median(row.seconds for row in graded) if graded else 0,
        students=students,
        term=term,
    )


def _parts(rows: Sequence[StudentResult]) -> list[PartReport]:
    graded = [row for row in rows if not row.failed]
    items = item_analysis_of([row.parts for row in graded], _possible(rows))
    found = []
    for name, item in items.items():
        findings = [one for row in graded for one in row.findings if one.part == name]
        signature = next((row.signatures[name] for row in graded if name in row.signatures), name)
        found.append(PartReport(name, signature, item, tuple(_troubles(findings))))
    return found


def _troubles(findings: Sequence[Finding]) -> Iterator[Trouble]:
    """What went wrong in a part, the most frequent first."""
    codes: dict[tuple[str, str, int], list[str]] = {}
    also: Counter[tuple[str, str, int]] = Counter()
    groups = _groups(findings)
    for finding, group in zip(findings, groups, strict=True):
        for kind, name in _named(finding):
            trouble = kind, name, group if kind == NAMELESS else 0
            answered = finding.obstacle not in (Obstacle.UNANSWERED, Obstacle.MISSING)
            codes.setdefault(trouble, []).append(finding.code if answered else "")
            also[trouble] += bool(finding.also)
    told_of = [mistake for finding in findings for mistake in finding.mistakes]
    # the shortest comes last, which is the one that was behind all that went wrong
    message = dict(sorted(told_of, key=lambda mistake: -len(mistake[1])))
    order = sorted(codes, key=lambda item: (-len(codes[item]), KINDS.index(item[0]), *item[1:]))
    for kind, name, group in order:
        given = codes[kind, name, group]
        shown = [code for code, _ in Counter(filter(None, given)).most_common(MOST_ANSWERS)]
        told = message.get(name, "") if kind == MISTAKE else ""
        told_also = also[kind, name, group]
        yield Trouble(kind, name, len(given), tuple(shown), told, told_also, group > 0)


def _groups(findings: Sequence[Finding]) -> list[int]:
    """Numbers that are the same for answers that did the same; 0 for those that nobody else gave."""
    first: list[Behaviour] = []
    groups = []
    for finding in findings:
        seen = finding.behaviour
        place = next((place for place, one in enumerate(first) if seen and one.same_as(seen)), None)
        if seen and place is None:
            place = len(first)
            first.append(seen)
        groups.append(0 if place is None else place + 1)
    size = Counter(groups)
    return [group if size[group] > 1 else 0 for group in groups]


def _named(finding: Finding) -> list[tuple[str, str]]:
    """Kind and name of all that went wrong; at least one."""
    found = [(MISTAKE, name) for name in dict.fromkeys(name for name, _ in finding.mistakes)]
    found += [(RELATION, name) for name in dict.fromkeys(finding.relations)]
    found += [(OBSTACLE, finding.obstacle.words)] if finding.obstacle else []
    return found or [(NAMELESS, finding.missed)]


def _possible(rows: Sequence[StudentResult]) -> dict[str, float]:
    """The points that there are, by part; a row that stands in no gradebook has none."""
    return max((row.possible for row in rows), key=len, default={})


def _histogram(points: Sequence[float], of: float) -> list[tuple[str, int]]:
    """(points, students) for every number of points that can be had, halves where there are some."""
    per = 2 if any(value % 1 for value in points) else 1
    counts = Counter(round(value * per) for value in points)
    return [(f"{place / per:g}", counts[place]) for place in range(round(of * per) + 1)]


def as_csv(
    rows: Sequence[StudentResult],
    isolation: str,
    earlier: Mapping[str, Made] = MappingProxyType({}),
) -> str:
    """The table with names, points by part and reasons, as CSV text.

    Args:
        rows: one for each student.
        isolation: how submissions were kept apart.
        earlier: who made which mistake in earlier assignments.
    """
    names = list(_possible(rows))
    text = io.StringIO()
    writer = csv.writer(text)
    head = ["student", "points", "of", *names, "late penalty", "came in (UTC)", "due (UTC)"]
    head += ["needs a person", "reasons", "made again", "isolation", "seconds"]
    writer.writerow(map(harmless, head))
    for row in rows:
        cells = [row.student, row.points, row.of, *(row.parts.get(name, "") for name in names)]
        cells += [row.penalty, _time(row.came_in), _time(row.due)]
        cells += ["yes" if row.needs_person else "", " | ".join(row.reasons)]
        cells += [in_words(row, earlier)]
        writer.writerow([*map(harmless, cells), isolation, f"{row.seconds:.2f}"])
    return text.getvalue()


def _time(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""
