"""What a learning platform has: tables of scores, and archives with names that say who handed in."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from autograder.batch.csv_file import Row, Table, TableError, number_in
from autograder.files import plain_id, printable

EMPTY = ("", "-")
TIME = "time"  # names the column with times in a table of one's own


@dataclass(frozen=True)
class SubmittedFile:
    """A file in an archive of submissions, and what its name says.

    Attributes:
        path: the whole name.
        number: by which the platform knows who handed it in.
        called: how the platform calls them there.
        own: the name that the student gave it, with folders.
        prefix: what stands before that name.
        late: it is marked as late.
        order: what is later has a higher one, where the platform says that.
        text: it was typed into a form, and is no file.
        index: which entry of the archive it is.
        size: in bytes, by the archive's list; no more of it is read.
        others: what the name would say if other numbers in it were meant.
    """

    path: str
    number: str
    called: str
    own: str
    prefix: str
    late: bool = False
    order: int = 0
    text: bool = False
    index: int = 0
    size: int = 0
    others: tuple[SubmittedFile, ...] = ()


class GradebookCsv:
    """A table of scores of which we know nothing but its columns' names.

    The person in front of it says which column names students (``--by``), which takes the scores
    (``--column``) and how many points there are (``--points``). The platforms' own tables, which are
    subclasses, know more.
    """

    platform: ClassVar[str] = "table"
    aliases: ClassVar[Mapping[str, str]] = {}  # what --by may say: short name → column
    advice: ClassVar[str] = ""  # on how to upload the file
    # where the numbers stand by which the platform's archives name people
    number_column: ClassVar[str] = "number"
    number_pattern: ClassVar[str] = r"(?s).+"

    def __init__(self, table: Table) -> None:
        self.table = table
        self.heading = table.heading

    @classmethod
    def knows(cls, table: Table) -> bool:
        """Whether a table is of this kind."""
        return True

    @property
    def id_columns(self) -> dict[str, int]:
        """Columns by which students can be known, by short name."""
        return {
            alias: self.heading.index(name)
            for alias, name in self.aliases.items()
            if self.heading.count(name) == 1
        }

    @cached_property
    def people(self) -> Sequence[Row]:
        """The rows that are about a person; one that was cut at the wrong places could be about another."""
        return [row for row in self.table.rows if not self.table.spilt(row)]

    @property
    def spilt_in_words(self) -> list[str]:
        """The rows that were cut at the wrong places, to be listed."""
        spilt = filter(self.table.spilt, self.table.rows)
        return [
            f"line {row.line}: expected {len(self.heading)} cells as in the header, found {len(row.cells)}"
            for row in spilt
        ]

    @property
    def score_columns(self) -> dict[int, str]:
        """Columns that can take scores, and what they are called."""
        return {column: name for column, name in enumerate(self.heading) if name}

    def id_column(self, by: str) -> int:
        """The column that ``--by`` names, in short or in full; a `TableError` if there is none."""
        if by.casefold() in self.id_columns:
            return self.id_columns[by.casefold()]
        return self._named(by, "--by", dict(enumerate(self.heading)))

    def column_named(self, wanted: str) -> int:
        """The column that ``--column`` names, whatever stands in it; a `TableError` if there is none."""
        return self._named(wanted, "--column", dict(enumerate(self.heading)))

    def score_column(self, wanted: str, also: Collection[str] = ()) -> int:
        """The column that takes the scores.

        Args:
            wanted: what ``--column`` says; empty where it was left out.
            also: names under which the assignment may stand there, if it was.

        Raises:
            TableError: there is none, or several.
        """
        if wanted:
            return self._named(wanted, "--column", self.score_columns)
        found = [
            column
            for column, name in self.score_columns.items()
            if any(self.same_name(known, name) for known in also)
        ]
        if len(found) != 1:
            raise TableError(
                f"which column of {self.table.name} takes the scores? Name it with --column. "
                f"There {_are(self.score_columns.values())}"
            )
        return found[0]

    def same_name(self, wanted: str, name: str) -> bool:
        """Whether a column is the one that is wanted."""
        return wanted.strip().casefold() == name.casefold()

    def _named(self, wanted: str, flag: str, columns: Mapping[int, str]) -> int:
        found = [column for column, name in columns.items() if name == wanted.strip()] or [
            column for column, name in columns.items() if self.same_name(wanted, name)
        ]
        if len(found) == 1:
            return found[0]
        what = "no column of that name" if not found else f"{len(found)} columns of that name"
        raise TableError(
            f"{flag} {printable(wanted)}: expected a column of {self.table.name}, found {what}. "
            f"There {_are(filter(None, columns.values()))}"
        )

    def possible(self, column: int) -> float | None:
        """The points that the platform gives for this column at most; None where it does not say."""
        return None

    def caution(self, column: int) -> str:
        """What the platform may do with this column that nobody would expect; empty if nothing."""
        return ""

    def stays(self, row: Row, column: int, points: float) -> str:
        """Why a student's cell must not be changed to so many points; empty if it may."""
        if row[column] not in EMPTY and number_in(row[column]) is None:
            return "no score stands there"
        return ""

    def called(self, row: Row) -> str:
        """How a person of the table is called, to be shown."""
        return printable(" ".join(filter(None, (row[0], row[1]))))

    def aside(self, row: Row) -> str:
        """What a row is that is about nobody of the class; empty if it may be."""
        return ""

    def is_of(self, row: Row, called: str) -> bool:
        """Whether an archive's name for somebody fits the row that has the same number."""
        return True

    def late(self, row: Row) -> bool:
        """Whether the table says that the work came in late."""
        return False

    def came_in(self, row: Row) -> str:
        """When the work came in, as the table has it; empty if it does not say."""
        places = self.table.columns(TIME)
        text = row[places[0]] if len(places) == 1 else ""
        return "" if text in EMPTY else text

    def to_upload(
        self, column: int, id_column: int, scores: Mapping[Row, str], same: Collection[Row]
    ) -> bytes:
        """The file to upload.

        Args:
            column, id_column: where the scores are, and what names a student.
            scores: what changes.
            same: rows that have a score of ours already.
        """
        return self.table.with_values(column, scores)

    def numbers(self) -> dict[str, Row]:
        """The rows by the number that the platform's archives give people; none that two rows share.

        Raises:
            TableError: the table has no such column.
        """
        if not self.table.columns(self.number_column):
            raise TableError(
                f"expected a column “{self.number_column}” in {self.table.name}, which holds the numbers "
                f"that stand in the names of the archive's files. There {_are(self.heading)}"
            )
        column = self.table.column(self.number_column)
        rows: dict[str, list[Row]] = {}
        for row in self.people:
            if number := re.search(f"{self.number_pattern}$", plain_id(row[column])):
                rows.setdefault(number[0], []).append(row)
        return {number: found[0] for number, found in rows.items() if len(found) == 1}


@dataclass(frozen=True)
class Platform:
    """A learning platform.

    Attributes:
        name: how it is called.
        tables: the kinds of tables that it exports.
        submitted_file: what the name of a file in its archives says; None if it is not its own.
        lasting_numbers: its numbers for people are the same in every archive, so they can be ids.
        advice: on how to upload feedback pages.
    """

    name: str
    tables: tuple[type[GradebookCsv], ...]
    submitted_file: Callable[[str], SubmittedFile | None]
    lasting_numbers: bool
    advice: str


def letters(text: str) -> str:
    """What stays of a name when signs that no file's name may have are taken out."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(sign for sign in plain if sign.isalnum())


def _are(names: Iterable[str]) -> str:
    listed = [printable(name) for name in names]
    if not listed:
        return "is none"
    return f"{'are' if len(listed) > 1 else 'is'}: {', '.join(listed)}"
