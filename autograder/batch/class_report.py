"""What a class did in one assignment: a page to show, without names, and a table with them."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median

from autograder.batch.findings import Finding
from autograder.batch.row import Row
from autograder.batch.term import Standing, standings, title_of
from autograder.files import printable, write_whole
from autograder.pages import render
from autograder.verdict.obstacles import Obstacle

KINDS = MISTAKE, RELATION, OBSTACLE, NAMELESS = "by name", "relation", "obstacle", "no name"
MOST_ANSWERS = 3  # that are shown of those who made the same mistake

FORMULA = ("=", "+", "-", "@")  # how a cell begins that a spreadsheet works out


@dataclass(frozen=True)
class Trouble:
    """Something that went wrong in a part, and who of the class had it.

    Attributes:
        kind: `MISTAKE`, `RELATION`, `OBSTACLE`, or `NAMELESS`, which goes by the step it missed.
        name: in a few words.
        students: how many.
        codes: some of their answers, each once.
        says: what those students read.
        also: in how many of their answers further steps are wrong, and not charged again.
    """

    kind: str
    name: str
    students: int
    codes: tuple[str, ...]
    says: str = ""
    also: int = 0


@dataclass(frozen=True)
class PartReport:
    """How a part went: ``share`` of all points that could be earned, ``whole`` who earned all."""

    name: str
    signature: str
    share: float
    whole: int
    troubles: tuple[Trouble, ...]


def write_report(
    course: Path, assignment: str, rows: Sequence[Row], isolation: str
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
    write_whole(page, as_page(assignment, title, rows, isolation, students, term))
    # with a mark at the beginning by which spreadsheets know that it is UTF-8
    write_whole(table, "\ufeff" + as_csv(rows, isolation))
    return page, table


def as_page(
    assignment: str,
    title: str,
    rows: Sequence[Row],
    isolation: str,
    students: int = 0,
    term: Sequence[Standing] = (),
) -> str:
    """The page, as HTML.

    Args:
        assignment, title: the id, and what people call it.
        rows: one for each student.
        isolation: how submissions were kept apart.
        students: how many the gradebook knows.
        term: all assignments so far.
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
        isolation=isolation,
        seconds=median(row.seconds for row in graded) if graded else 0,
        students=students,
        term=term,
    )


def _parts(rows: Sequence[Row]) -> list[PartReport]:
    graded = [row for row in rows if not row.failed]
    found = []
    for name, possible in _possible(rows).items():
        earned = [row.parts[name] for row in graded]
        share = sum(earned) / max(possible * len(graded), 1)
        whole = sum(value == possible for value in earned)
        findings = [item for row in graded for item in row.findings if item.part == name]
        signature = next((row.signatures[name] for row in graded if name in row.signatures), name)
        found.append(PartReport(name, signature, share, whole, tuple(_troubles(findings))))
    return found


def _troubles(findings: Sequence[Finding]) -> Iterator[Trouble]:
    """What went wrong in a part, the most frequent first."""
    codes: dict[tuple[str, str], list[str]] = {}
    also: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        for trouble in _named(finding):
            answered = finding.obstacle not in (Obstacle.UNANSWERED, Obstacle.MISSING)
            codes.setdefault(trouble, []).append(finding.code if answered else "")
            also[trouble] += bool(finding.also)
    told_of = [mistake for finding in findings for mistake in finding.mistakes]
    # the shortest comes last, which is the one that was behind all that went wrong
    says = dict(sorted(told_of, key=lambda mistake: -len(mistake[1])))
    order = sorted(codes, key=lambda item: (-len(codes[item]), KINDS.index(item[0]), item[1]))
    for kind, name in order:
        given = codes[kind, name]
        shown = [code for code, _ in Counter(filter(None, given)).most_common(MOST_ANSWERS)]
        told = says.get(name, "") if kind == MISTAKE else ""
        yield Trouble(kind, name, len(given), tuple(shown), told, also[kind, name])


def _named(finding: Finding) -> list[tuple[str, str]]:
    """Kind and name of all that went wrong; at least one."""
    found = [(MISTAKE, name) for name in dict.fromkeys(name for name, _ in finding.mistakes)]
    found += [(RELATION, name) for name in dict.fromkeys(finding.relations)]
    found += [(OBSTACLE, finding.obstacle.words)] if finding.obstacle else []
    return found or [(NAMELESS, finding.missed)]


def _possible(rows: Sequence[Row]) -> dict[str, float]:
    """The points that there are, by part; a row that stands in no gradebook has none."""
    return max((row.possible for row in rows), key=len, default={})


def _histogram(points: Sequence[float], of: float) -> list[tuple[str, int]]:
    """(points, students) for every number of points that can be had, halves where there are some."""
    per = 2 if any(value % 1 for value in points) else 1
    counts = Counter(round(value * per) for value in points)
    return [(f"{place / per:g}", counts[place]) for place in range(round(of * per) + 1)]


def as_csv(rows: Sequence[Row], isolation: str) -> str:
    """The table with names, points by part and reasons, as CSV text."""
    names = list(_possible(rows))
    text = io.StringIO()
    writer = csv.writer(text)
    head = ["student", "points", "of", *names, "late penalty", "came in (UTC)", "due (UTC)"]
    writer.writerow([*head, "needs a person", "reasons", "isolation", "seconds"])
    for row in rows:
        cells = [row.student, row.points, row.of, *(row.parts.get(name, "") for name in names)]
        cells += [row.penalty, _time(row.came_in), _time(row.due)]
        cells += ["yes" if row.needs_person else "", " | ".join(row.reasons)]
        writer.writerow([*map(harmless, cells), isolation, f"{row.seconds:.2f}"])
    return text.getvalue()


def _time(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""


def harmless(cell: object) -> object:
    """A text without what a screen would obey; what a spreadsheet would take for a formula is quoted."""
    if not isinstance(cell, str):
        return cell
    text = printable(cell)
    return f"'{text}" if unicodedata.normalize("NFKC", text).lstrip().startswith(FORMULA) else text
