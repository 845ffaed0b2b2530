"""A table that a platform has written: read as it stands, and written back with other values in some cells.

Whatever is not changed keeps its very bytes: the mark at the beginning, separators, quotes, line ends.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from autograder.errors import CourseError
from autograder.grade.submission import read_plain

LARGEST_TABLE = 64 << 20  # bytes
SEPARATORS = ",;\t"
EXCELS_LINE = re.compile(r'"?sep=([,;\t])"?(?:\r\n|\r|\n)', re.IGNORECASE)
LINE_END = re.compile(r"\r\n|\r|\n")
QUOTED = re.compile(r'"((?:[^"]|"")*)"')
NUMBER = re.compile(r"-?\d[\d.,]*")
WINDOWS = "latin-1"
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class TableError(CourseError):
    """A table is not as it must be; the message says what was expected, found, and what to do."""


@dataclass(frozen=True)
class Cell:
    """What a cell says, and where it stands in the text, its quotes included."""

    value: str
    start: int
    end: int


@dataclass(frozen=True)
class StudentResult:
    """A line of the table, which quoted cells may stretch over several lines of the file.

    Attributes:
        cells: from left to right.
        start, end: its place in the text, line end included.
        line: the number of its first line in the file, from 1 on.
    """

    cells: tuple[Cell, ...]
    start: int
    end: int
    line: int

    @property
    def blank(self) -> bool:
        return not any(cell.value.strip() for cell in self.cells)


@dataclass(frozen=True)
class Table:
    """A table as it stands in a file.

    Attributes:
        name: the file's.
        mark: the bytes before the text, by which its encoding is known.
        encoding: of the text.
        text: all of it.
        separator: what stands between two cells.
        head: the row with the names of the columns.
        rows: those after it that are not blank.
    """

    name: str
    mark: bytes
    encoding: str
    text: str
    separator: str
    head: StudentResult
    rows: tuple[StudentResult, ...]

    @cached_property
    def heading(self) -> list[str]:
        """The names of the columns, without spaces around them."""
        return [cell.value.strip() for cell in self.head.cells]

    @property
    def doubts(self) -> list[str]:
        """What a spreadsheet program has left in the file, and a platform may not understand."""
        found = []
        if EXCELS_LINE.match(self.text):
            found.append(
                f"{self.name} begins with a line of Excel's, “sep={self.separator}”, which platforms "
                "take for the header: export the table again"
            )
        if self.encoding == WINDOWS:
            found.append(
                f"{self.name} is not in UTF-8, which platforms expect: export the table again, or its "
                "letters with accents may be spoilt"
            )
        return found

    def value(self, row: int, column: int) -> str:
        """What a cell says, without spaces around it; nothing where the row is too short."""
        cells = self.rows[row].cells
        return cells[column].value.strip() if column < len(cells) else ""

    def decimal_comma(self, columns: Collection[int]) -> bool:
        """Whether numbers in these columns have a comma where others have a point."""
        values = [self.value(row, column) for row in range(len(self.rows)) for column in columns]
        commas = any(re.fullmatch(r"-?\d+,\d+", value) for value in values)
        return commas and not any(re.fullmatch(r"-?\d+\.\d+", value) for value in values)

    def with_values(self, values: Mapping[tuple[int, int], str]) -> bytes:
        """The file with other values in some cells, given by row and column."""
        pieces, at = [], 0
        for row, column in sorted(values):
            cell = self.rows[row].cells[column]
            pieces += [self.text[at : cell.start], self._written(cell, values[row, column])]
            at = cell.end
        return self._encoded("".join([*pieces, self.text[at:]]))

    def part(
        self, rows: Collection[int], columns: Collection[int], values: Mapping[tuple[int, int], str]
    ) -> bytes:
        """A file with some rows and columns only, and other values in some cells."""
        lines = [self._line(self.head, columns, {})]
        for row in sorted(rows):
            new = {column: values[row, column] for column in columns if (row, column) in values}
            lines.append(self._line(self.rows[row], columns, new))
        return self._encoded(self.text[: self.head.start] + "".join(lines))

    def _line(self, row: StudentResult, columns: Collection[int], new: Mapping[int, str]) -> str:
        cells = [
            self._written(row.cells[column], new[column])
            if column in new
            else self.text[row.cells[column].start : row.cells[column].end]
            for column in sorted(columns)
        ]
        line_end = LINE_END.search(self.text, row.cells[-1].end)
        return self.separator.join(cells) + (line_end[0] if line_end else "\n")

    def _written(self, cell: Cell, value: str) -> str:
        """A number as a cell, in quotes where the old one had some or the separator asks for them."""
        quoted = self.text[cell.start : cell.start + 1] == '"' or self.separator in value
        return f'"{value}"' if quoted else value

    def _encoded(self, text: str) -> bytes:
        return self.mark + text.encode(self.encoding)


def read_table(path: Path) -> Table:
    """Read a table of values between separators (CSV), whichever of , ; and tab these are.

    Raises:
        TableError: there is no such file, or no table with a header in it.
    """
    data = read_plain(path, LARGEST_TABLE)
    if data is None:
        raise TableError(
            f"expected a table of at most {LARGEST_TABLE >> 20} MiB in {path}, found no such file. "
            "Download the platform's own export (CSV), and name that"
        )
    mark, encoding = next((known for known in MARKS if data.startswith(known[0])), (b"", ""))
    try:
        text = data[len(mark) :].decode(encoding or "utf-8")
        encoding = encoding or "utf-8"
    except UnicodeDecodeError:
        if mark or b"\0" in data:
            raise TableError(
                f"expected a table of text in {path}, found other bytes. If it is a spreadsheet "
                "(.xlsx), save it as CSV first"
            ) from None
        # as Windows programs write where they do not write UTF-8; every byte has a sign here
        encoding = WINDOWS
        text = data.decode(encoding)
    if text.startswith("PK\x03\x04"):
        raise TableError(
            f"expected a table of text in {path}, found an archive or a spreadsheet. "
            "Export it as CSV, or save it so"
        )
    excels = EXCELS_LINE.match(text)
    begin = excels.end() if excels else 0
    separator = excels[1] if excels else _separator(text, begin, path)
    rows = [row for row in _rows(text, separator, begin, path) if not row.blank]
    if not rows or len(rows[0].cells) < 2:
        raise TableError(
            f"expected a table with names of columns in {path}, found "
            f"{'a single column' if rows else 'nothing'}. Download the platform's export again"
        )
    return Table(path.name, mark, encoding, text, separator, rows[0], tuple(rows[1:]))


def _separator(text: str, begin: int, path: Path) -> str:
    """The sign that makes the most columns of the header; a comma, if none makes any."""

    def columns(separator: str) -> int:
        rows = _rows(text, separator, begin, path)
        return len(next((row.cells for row in rows if not row.blank), ()))

    return max(SEPARATORS, key=columns)


def _rows(text: str, separator: str, at: int, path: Path) -> Iterator[StudentResult]:
    """The rows of a table, as RFC 4180 and Python's csv module read them."""
    unquoted = re.compile(rf"[^{separator}\r\n]*")
    line = 1 + len(LINE_END.findall(text, 0, at))
    while at < len(text):
        start, cells = at, []
        while True:
            begin, value = at, ""
            if text.startswith('"', at):
                quoted = QUOTED.match(text, at)
                if not quoted:
                    raise TableError(
                        f"line {line} of {path}: expected a quote that ends the cell, found none. "
                        "Download the platform's export again"
                    )
                value, at = quoted[1].replace('""', '"'), quoted.end()
            rest = unquoted.match(text, at)
            assert rest  # it matches nothing as well
            at = rest.end()
            cells.append(Cell(value + rest[0], begin, at))
            if not text.startswith(separator, at):
                break
            at += len(separator)
        line_end = LINE_END.match(text, at)
        at = line_end.end() if line_end else at
        yield StudentResult(tuple(cells), start, at, line)
        line += len(LINE_END.findall(text, start, at))


def number_in(text: str) -> float | None:
    """The number that a cell holds; the last point or comma is the decimal one, as Canvas reads it."""
    if not NUMBER.fullmatch(text.strip()):
        return None
    *front, last = re.split(r"[.,]", text.strip())
    return float(f"{''.join(front)}.{last or 0}" if front else last)


def as_number(value: float, comma: bool = False) -> str:
    """A score with two decimals, which is what platforms show and compare."""
    text = f"{value:.2f}"
    return text.replace(".", ",") if comma else text
