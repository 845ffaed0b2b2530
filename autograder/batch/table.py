"""Tables that instructors open: CSV in a spreadsheet, and text in a terminal."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable
from pathlib import Path

from wcwidth import wcswidth

from autograder.batch.csv_file import read_table
from autograder.files import write_whole

LONGEST_LINE = 96  # columns of a terminal that sentences fill


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows as CSV; whoever passes what others wrote makes it `harmless` first."""
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def write_csv(path: Path, rows: Iterable[Iterable[object]]) -> None:
    """Write a CSV file, with a mark at the beginning by which spreadsheets know that it is UTF-8."""
    write_whole(path, "\ufeff" + csv_text(rows))


def rows_in(path: Path) -> list[list[str]]:
    """The rows of a file that `write_csv` wrote, without the first; none where there is no file.

    Raises:
        TableError: it cannot be read any more.
    """
    return [row.values for row in read_table(path).rows] if path.exists() else []


def width(text: str) -> int:
    """How many columns of a terminal a printable text takes; Chinese characters take two."""
    return max(0, wcswidth(text))


def padded(text: str, columns: int) -> str:
    """The text with spaces behind it, so that it takes so many columns."""
    return text + " " * (columns - width(text))


def wrapped(text: str, first: str, others: str) -> list[str]:
    """A text as lines of a terminal, with what stands in front of the first one and of the others."""
    return textwrap.wrap(text, LONGEST_LINE, initial_indent=first, subsequent_indent=others)
