"""What a class did in one assignment: a page to show, without names, and a table with them."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from jinja2 import Environment
from matplotlib.figure import Figure

from autograder.record import Row

PAGE = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{{ assignment }}: the class</title>
<style>
body { font: 18px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #1a1a1a; }
h1 { font-size: 1.8rem; } h2 { font-size: 1.3rem; margin-top: 2.5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #ddd; }
td.number { text-align: right; white-space: nowrap; }
.bar { background: #0072b2; height: 1.1rem; } .track { background: #eee; width: 100%; }
svg { max-width: 100%; height: auto; }
</style>
</head>
<body>
<h1>{{ assignment }}</h1>
<p>Submissions: {{ graded }} graded, {{ failed }} that could not be run; {{ waiting }} of the graded wait
for a person. Median {{ "%g"|format(middle) }} of {{ "%g"|format(of) }} points.</p>
<h2>Points</h2>
{{ histogram|safe }}
<h2>How far each part was solved</h2>
<table>
<tr><th>part</th><th style="width:50%">points earned, of all that could be</th><th></th></tr>
{% for name, share, whole in parts %}
<tr><td><code>{{ name }}</code></td>
<td><div class="track"><div class="bar" style="width:{{ "%.1f"|format(100 * share) }}%"></div></div></td>
<td class="number">{{ "%.0f"|format(100 * share) }} %, {{ whole }} in full</td></tr>
{% endfor %}
</table>
<h2>Mistakes by name</h2>
{% if mistakes %}
<table>
<tr><th>mistake</th><th style="width:50%">students</th><th></th></tr>
{% for name, count in mistakes %}
<tr><td>{{ name }}</td>
<td><div class="track"><div class="bar" style="width:{{ "%.1f"|format(100 * count / most) }}%"></div></div></td>
<td class="number">{{ count }}</td></tr>
{% endfor %}
</table>
{% else %}
<p>None of the mistakes that the checks know by name.</p>
{% endif %}
<h2>How it was graded</h2>
<p>Isolation: {{ isolation }}. Running and deciding one submission took {{ "%.2f"|format(seconds) }} s in
the median.</p>
</body>
</html>
""")


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
    page.write_text(as_page(assignment, rows, isolation), encoding="utf-8")
    # with a mark at the beginning by which spreadsheets know that it is UTF-8
    text = as_csv(rows, isolation)
    table.write_text(text, encoding="utf-8-sig", errors="backslashreplace", newline="")
    return page, table


def as_page(assignment: str, rows: Sequence[Row], isolation: str) -> str:
    """The page, as HTML."""
    graded = [row for row in rows if not row.failed]
    points = [row.points for row in graded]
    parts = []
    for part, possible in _possible(rows).items():
        earned = [row.parts[part] for row in graded]
        share = sum(earned) / max(possible * len(graded), 1)
        parts.append((part, share, sum(value == possible for value in earned)))
    # a student who made a mistake in three parts made it once
    mistakes = Counter(name for row in graded for name in set(row.mistakes)).most_common()
    return PAGE.render(
        assignment=assignment,
        graded=len(graded),
        failed=len(rows) - len(graded),
        waiting=sum(row.needs_person and not row.failed for row in rows),
        middle=median(points) if points else 0,
        of=rows[0].of if rows else 0,
        histogram=_histogram(points, rows[0].of if rows else 0),
        parts=parts,
        mistakes=mistakes,
        most=max((count for _, count in mistakes), default=1),
        isolation=isolation,
        seconds=median(row.seconds for row in graded) if graded else 0,
    )


def _possible(rows: Sequence[Row]) -> dict[str, float]:
    """The points that there are, by part."""
    return rows[0].possible if rows else {}


def _histogram(points: Sequence[float], of: float) -> str:
    """How many students have how many points, as an SVG element."""
    figure = Figure(figsize=(9, 3), layout="constrained")
    ax = figure.subplots()
    counts = Counter(round(value) for value in points)
    places = range(round(of) + 1)
    ax.bar(places, [counts[place] for place in places], color="#0072B2")
    ax.set_xlabel("points", fontsize=14)
    ax.set_ylabel("students", fontsize=14)
    ax.set_xticks(places)
    ax.tick_params(labelsize=13)
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.spines[["top", "right"]].set_visible(False)
    text = io.StringIO()
    # no date and fixed ids, so that the same class gives the same page
    figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    described = ", ".join(f"{counts[place]} with {place}" for place in places if counts[place])
    label = f'<svg role="img" aria-label="Students by points: {described}." '
    return svg[svg.index("<svg") :].replace("<svg ", label, 1)


def as_csv(rows: Sequence[Row], isolation: str) -> str:
    """The table with names, points by part and reasons, as CSV text."""
    names = list(_possible(rows))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(
        ["student", "points", "of", *names, "needs a person", "reasons", "isolation", "seconds"]
    )
    for row in rows:
        cells = [row.student, row.points, row.of, *(row.parts.get(name, "") for name in names)]
        cells += ["yes" if row.needs_person else "", " | ".join(row.reasons)]
        cells = [_harmless(cell) for cell in cells]
        writer.writerow([*cells, isolation, f"{row.seconds:.2f}"])
    return text.getvalue()


def _harmless(cell: object) -> object:
    """A text that a spreadsheet would take for a formula gets an apostrophe in front."""
    risky = isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t"))
    return f"'{cell}" if risky else cell
