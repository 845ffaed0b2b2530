"""A table of people (CSV) that others wrote, and may be written back with other values in some cells.

All other bytes stay then: the mark at the beginning, separators, quotes, line ends. Python's csv module could
not promise that. No dialect of it writes what Moodle's PHP and Canvas's Ruby write, which put some cells
in quotes and not others by rules of their own, and it takes an empty cell and "" for the same.
"""

from __future__ import annotations

import codecs
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from autograder.bounds import LARGEST_TABLE, MOST_ROWS, MOST_TABLE_CELLS
from autograder.errors import CourseError
from autograder.grade.submission import read_plain
from autograder.points import in_decimals

SEPARATORS = ",;\t"
EXCELS_LINE = re.compile(r'"?sep=([,;\t])"?(?:\r\n|\r|\n)', re.IGNORECASE)
LINE_END = re.compile(r"\r\n|\r|\n")
QUOTED = re.compile(r'"((?:[^"]+|"")*+)"')
NUMBER = re.compile(r"-?\d[\d.,]*")
WINDOWS = "latin-1"
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class TableError(CourseError):
    """A table is not as it must be; the message says what was expected, found, and what to do."""


@dataclass(frozen=True, eq=False)
class Row:
    """A row as it stands in the file, where quoted cells may stretch it over several lines.

    Attributes:
        cells: the text of each, quotes included.
        end: its line end.
        line: the number of its first line, from 1 on.
    """

    cells: tuple[str, ...]
    end: str
    line: int

    @cached_property
    def values(self) -> list[str]:
        """What the cells say."""
        return [_unquoted(cell) for cell in self.cells]

    def __getitem__(self, column: int) -> str:
        """What a cell says, without spaces around it; nothing where the row is too short."""
        return self.values[column].strip() if column < len(self.values) else ""

    @property
    def blank(self) -> bool:
        return not any(value.strip() for value in self.values)


@dataclass(frozen=True)
class Table:
    """A table as it stands in a file.

    Attributes:
        name: the file's.
        mark: the bytes before the text, by which its encoding is known.
        encoding: of the text.
        excels_line: a first line with which Excel names the separator; empty if there is none.
        separator: what stands between two cells.
        lines: all rows, blank ones among them.
    """

    name: str
    mark: bytes
    encoding: str
    excels_line: str
    separator: str
    lines: tuple[Row, ...]

    @cached_property
    def head(self) -> Row:
        """The row with the names of the columns."""
        return next(row for row in self.lines if not row.blank)

    @cached_property
    def rows(self) -> list[Row]:
        """Those after it that are not blank."""
        return [row for row in self.lines if not row.blank and row is not self.head]

    @cached_property
    def heading(self) -> list[str]:
        """The names of the columns, without spaces around them."""
        return [value.strip() for value in self.head.values]

    def spilt(self, row: Row) -> bool:
        """Whether something stands beyond the last column, so that the row was cut at the wrong places."""
        return any(value.strip() for value in row.values[len(self.heading) :])

    def columns(self, name: str) -> list[int]:
        """The columns of this name; where there is none, those whose name differs in large letters and spaces alone."""
        exact = [place for place, known in enumerate(self.heading) if known == name]
        alike = [place for place, known in enumerate(self.heading) if _usual(known) == _usual(name)]
        return exact or alike

    def column(self, name: str) -> int:
        """The one column of this name; a `TableError` if there is none, or several."""
        places = self.columns(name)
        if len(places) != 1:
            found = f"{len(places)} of them" if places else "none"
            there = ", ".join(filter(None, self.heading))
            raise TableError(
                f"expected one column {name} in the first row of {self.name}, found {found}. There stands: {there}"
            )
        return places[0]

    @property
    def doubts(self) -> list[str]:
        """What a spreadsheet program has left in the file, and a platform may not understand."""
        found = []
        if self.excels_line:
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

    def decimal_comma(self, columns: Collection[int]) -> bool:
        """Whether numbers in these columns have a comma where others have a point."""
        values = [row[column] for row in self.rows for column in columns]
        commas = any(re.fullmatch(r"-?\d+,\d+", value) for value in values)
        return commas and not any(re.fullmatch(r"-?\d+\.\d+", value) for value in values)

    def with_values(
        self,
        column: int,
        values: Mapping[Row, str],
        rows: Collection[Row] | None = None,
        columns: Collection[int] | None = None,
    ) -> bytes:
        """The file with other values in some rows of a column.

        Args:
            column, values: what stands there from now on.
            rows, columns: which of them to keep besides the header; all if None.
        """
        text = self.excels_line
        for row in self.lines:
            if rows is not None and row is not self.head and row not in rows:
                continue
            cells = list(row.cells)
            if row in values:  # in quotes where the old one had some or the separator needs them
                quoted = cells[column].startswith('"') or self.separator in values[row]
                cells[column] = f'"{values[row]}"' if quoted else values[row]
            if columns is not None:
                cells = [cells[column] for column in sorted(columns)]
            text += self.separator.join(cells) + (row.end or "\n" * (rows is not None))
        return self.mark + text.encode(self.encoding)


def read_table(path: Path, fewest: int = 2) -> Table:
    """Read a table of values between separators (CSV), whichever of , ; and tab these are.

    It must have at least `fewest` columns.

    Raises:
        TableError: there is no such file, no table with a header in it, or a larger one than is read.
    """
    if not path.exists():
        raise TableError(f"expected a table (CSV) in {path}, found no such file")
    data = read_plain(path, LARGEST_TABLE)
    if data is None:
        raise TableError(
            f"expected a table of at most {LARGEST_TABLE >> 20} MiB in {path}, found no such file. "
            "Download the export (CSV) again, and name the file itself, no link"
        )
    mark, encoding = next((known for known in MARKS if data.startswith(known[0])), (b"", "utf-8"))
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError:
        if mark:
            raise _no_text(path) from None
        # as Windows programs write where they do not write UTF-8; every byte has a sign here
        encoding = WINDOWS
        text = data.decode(encoding)
    if text.startswith("PK\x03\x04"):
        raise TableError(
            f"expected a table of text in {path}, found an archive or a spreadsheet. "
            "Export it as CSV, or save it so"
        )
    if "\0" in text:
        raise _no_text(path)
    excels = EXCELS_LINE.match(text)
    excels_line, separators = (excels[0], excels[1]) if excels else ("", SEPARATORS)
    rest, first = text[len(excels_line) :], 2 if excels else 1

    def columns(separator: str) -> int:
        rows = _rows(rest, separator, first, path)
        return next((len(row.cells) for row in rows if not row.blank), 0)

    # the sign that makes the most columns of the header; a comma, if none makes any
    separator = max(separators, key=columns)
    if columns(separator) < fewest:
        raise TableError(
            f"expected a table with names of columns in {path}, found "
            f"{'a single column' if columns(separator) else 'nothing'}. Export it again as CSV"
        )
    return Table(
        path.name,
        mark,
        encoding,
        excels_line,
        separator,
        tuple(_rows(rest, separator, first, path)),
    )


def read_own_table(path: Path, fewest: int = 2) -> Table | None:
    """Read a table that somebody keeps in the course folder; None if there is none.

    Raises:
        TableError: as `read_table`, or it is not in UTF-8, so that letters in it are anybody's guess.
    """
    if not path.exists() and not path.is_symlink():
        return None
    table = read_table(Path(os.path.realpath(path)), fewest)
    if table.encoding == WINDOWS:
        raise TableError(
            f"{path} cannot be read, since it is not in UTF-8. Save it as CSV in UTF-8"
        )
    return table


def _no_text(path: Path) -> TableError:
    return TableError(
        f"expected a table of text in {path}, found other bytes. If it is a spreadsheet (.xlsx), save it as "
        "CSV in UTF-8 first"
    )


def _rows(text: str, separator: str, line: int, path: Path) -> Iterator[Row]:
    """The rows of a table that begins in this line, as RFC 4180 and Python's csv module read them."""
    cell = re.compile(
        rf'((?:{QUOTED.pattern}|(?!"))[^{separator}\r\n]*)(?P<end>{separator}|\r\n|\r|\n|\Z)'
    )
    cells: list[str] = []
    at = rows = all_cells = 0
    while at < len(text) or cells:
        match = cell.match(text, at)
        if not match:
            raise TableError(
                f"line {line} of {path}: expected a quote that ends the cell, found none. "
                "Export the table again"
            )
        cells.append(match[1])
        all_cells += 1
        rows += match["end"] != separator
        if rows > MOST_ROWS or all_cells > MOST_TABLE_CELLS:
            raise TableError(
                f"expected at most {MOST_ROWS} rows and {MOST_TABLE_CELLS} cells in {path}, found more. Is it "
                "the table of one course?"
            )
        at = match.end()
        if match["end"] != separator:
            yield Row(tuple(cells), match["end"], line)
            line += len(LINE_END.findall(separator.join(cells))) + 1
            cells = []


def _usual(name: str) -> str:
    """The name of a column in small letters, and with _ between its words."""
    return re.sub(r"[\s_-]+", "_", name.strip().casefold())


def _unquoted(cell: str) -> str:
    """What a cell says."""
    quoted = QUOTED.match(cell)
    return quoted[1].replace('""', '"') + cell[quoted.end() :] if quoted else cell


def number_in(text: str) -> float | None:
    """The number that a cell holds; the last point or comma is the decimal one, as Canvas reads it.

    There is none where it is larger than a computer's numbers are.
    """
    if not NUMBER.fullmatch(text.strip()):
        return None
    *front, last = re.split(r"[.,]", text.strip())
    number = float(f"{''.join(front)}.{last or 0}" if front else last)
    return number if math.isfinite(number) else None


def as_number(value: float | Fraction, comma: bool = False) -> str:
    """A score with two decimals, which is what platforms show and compare."""
    text = in_decimals(value, 2)
    return text.replace(".", ",") if comma else text
