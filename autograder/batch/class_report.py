"""What a class did in one assignment: a page to show, without names, and a table with them."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from statistics import median

from autograder.batch.record import Row
from autograder.files import printable, write_whole
from autograder.pages import render

FORMULA = ("=", "+", "-", "@")  # how a cell begins that a spreadsheet works out


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
    write_whole(page, as_page(assignment, rows, isolation))
    # with a mark at the beginning by which spreadsheets know that it is UTF-8
    write_whole(table, "\ufeff" + as_csv(rows, isolation))
    return page, table


def as_page(assignment: str, rows: Sequence[Row], isolation: str) -> str:
    """The page, as HTML."""
    graded = [row for row in rows if not row.failed]
    points = [row.points for row in graded]
    of = max((row.of for row in rows), default=0)
    parts = []
    for part, possible in _possible(rows).items():
        earned = [row.parts[part] for row in graded]
        share = sum(earned) / max(possible * len(graded), 1)
        parts.append((part, share, sum(value == possible for value in earned)))
    # a student who made a mistake in three parts made it once
    mistakes = Counter(
        name
        for row in graded
        for name in {name for finding in row.findings for name in finding.mistakes}
    ).most_common()
    return render(
        "class.html",
        title=assignment,
        graded=len(graded),
        failed=len(rows) - len(graded),
        waiting=sum(row.needs_person and not row.failed for row in rows),
        middle=median(points) if points else 0,
        of=of,
        bars=_histogram(points, of),
        parts=parts,
        mistakes=mistakes,
        most=max((count for _, count in mistakes), default=1),
        isolation=isolation,
        seconds=median(row.seconds for row in graded) if graded else 0,
    )


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
        writer.writerow([*map(_harmless, cells), isolation, f"{row.seconds:.2f}"])
    return text.getvalue()


def _time(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""


def _harmless(cell: object) -> object:
    """A text without what a screen would obey; what a spreadsheet would take for a formula is quoted."""
    if not isinstance(cell, str):
        return cell
    text = printable(cell)
    return f"'{text}" if unicodedata.normalize("NFKC", text).lstrip().startswith(FORMULA) else text
