"""What a class got, as text for a terminal."""

from __future__ import annotations

import textwrap

from wcwidth import wcswidth

from autograder.batch.student_result import StudentResult
from autograder.files import printable


def as_table(rows: list[StudentResult]) -> str:
    """The rows as text: points, points by part, when it came in, and why points were lost."""
    parts = next((list(row.parts) for row in rows if row.parts), [])
    names = [printable(row.student) for row in rows]
    wide = max(map(width, ("student", *names)))
    times = any(row.came_in for row in rows)
    fined = any(row.penalty for row in rows)
    head = [padded("student", wide), "points".rjust(9), *parts]
    head += ["late".rjust(5)] * fined + ["came in (UTC)"] * times
    first = "  ".join(head)
    lines = [first, "─" * width(first)]
    for name, row in zip(names, rows, strict=True):
        cells = [(f"{row.parts[part]:g}" if row.parts else "–").rjust(len(part)) for part in parts]
        if fined:
            cells.append((f"−{row.penalty:g}" if row.penalty else "").rjust(5))
        if times:
            cells.append(f"{row.came_in:%Y-%m-%d %H:%M}" if row.came_in else "")
        total = f"{row.points:g} / {row.of:g}".rjust(9)
        lines.append("  ".join([padded(name, wide), total, *cells]).rstrip())
        for reason in row.reasons:
            lines.extend(
                textwrap.wrap(
                    printable(reason), 96, initial_indent="    ", subsequent_indent="      "
                )
            )
    return "\n".join(lines)


def width(text: str) -> int:
    """How many columns of a terminal a printable text takes; Chinese characters take two."""
    return max(0, wcswidth(text))


def padded(text: str, columns: int) -> str:
    """The text with spaces behind it, so that it takes so many columns."""
    return text + " " * (columns - width(text))
