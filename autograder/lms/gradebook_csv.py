"""What stands where in a platform's table of scores, whichever platform it is."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import ClassVar

from autograder.files import printable
from autograder.lms.csv_file import Table, TableError, number_in

EMPTY = ("", "-")


class GradebookCsv:
    """A table of scores of which we know nothing but its columns' names.

    The person in front of it says which column names students (``--by``), which takes the scores
    (``--column``) and how many points there are (``--points``). The platforms' own tables, which are
    subclasses, know more.

    Args:
        table: the file.
    """

    platform: ClassVar[str] = "table"
    aliases: ClassVar[Mapping[str, str]] = {}  # what --by may say: short name → column
    advice: ClassVar[str] = ""  # on how to upload the file

    def __init__(self, table: Table) -> None:
        self.table = table
        self.heading = table.heading

    @classmethod
    def knows(cls, table: Table) -> bool:
        """Whether a table is of this kind."""
        return True

    @property
    def keys(self) -> dict[str, int]:
        """Columns by which students can be known: short name and place."""
        return {
            alias: self.heading.index(column)
            for alias, column in self.aliases.items()
            if column in self.heading
        }

    @property
    def people(self) -> Sequence[int]:
        """The rows that are about a person."""
        return range(len(self.table.rows))

    @property
    def targets(self) -> dict[int, str]:
        """Columns that can take scores, and what they are called."""
        return {place: name for place, name in enumerate(self.heading) if name}

    def key_named(self, by: str) -> int:
        """The place of the column that ``--by`` names, in short or in full.

        Raises:
            TableError: there is none.
        """
        for alias, place in self.keys.items():
            if by.casefold() == alias:
                return place
        return self._place(by, "--by", dict(enumerate(self.heading)))

    def target_named(self, column: str, also: Collection[str] = ()) -> int:
        """The place of the column that takes the scores.

        Args:
            column: what ``--column`` says; empty where it was left out.
            also: names under which the assignment may stand there, if it was.

        Raises:
            TableError: there is none, or several.
        """
        if column:
            return self._place(column, "--column", self.targets)
        found = {
            place
            for place, name in self.targets.items()
            for known in also
            if self.same_name(known, name)
        }
        if len(found) != 1:
            raise TableError(
                f"which column of {self.table.name} takes the scores? Name it with --column. "
                f"There {_are(self.targets.values())}"
            )
        return found.pop()

    def same_name(self, wanted: str, name: str) -> bool:
        """Whether a column is the one that is wanted."""
        return wanted.strip().casefold() == name.casefold()

    def _place(self, wanted: str, flag: str, among: Mapping[int, str]) -> int:
        found = [place for place, name in among.items() if name == wanted.strip()]
        found = found or [place for place, name in among.items() if self.same_name(wanted, name)]
        if len(found) == 1:
            return found[0]
        what = "no column of that name" if not found else f"{len(found)} columns of that name"
        raise TableError(
            f"{flag} {printable(wanted)}: expected a column of {self.table.name}, found {what}. "
            f"There {_are(filter(None, among.values()))}"
        )

    def possible(self, column: int) -> float | None:
        """The points that the platform gives for this column at most; None where it does not say."""
        return None

    def stays(self, row: int, column: int, points: float) -> str:
        """Why a student's cell must not be changed to so many points; empty if it may."""
        old = self.table.value(row, column)
        if old not in EMPTY and number_in(old) is None:
            return "no score stands there"
        return ""

    def called(self, row: int) -> str:
        """How a person of the table is called, to be shown."""
        return printable(" ".join(filter(None, (self.table.value(row, place) for place in (0, 1)))))

    def aside(self, row: int) -> str:
        """What a row is that is about nobody of the class; empty if it may be."""
        return ""

    def written(
        self, column: int, key: int, rows: Collection[int], values: Mapping[tuple[int, int], str]
    ) -> bytes:
        """The file to upload.

        Args:
            column, key: places of the scores, and of what names a student.
            rows: those with a score of ours, changed or not.
            values: what becomes of which cells.
        """
        return self.table.with_values(values)

    def is_of(self, row: int, called: str) -> bool:
        """Whether an archive's name for somebody fits the row that has the same number.

        In work by groups the number may be a group's, and some student's as well.
        """
        return True

    def late(self, row: int) -> bool:
        """Whether the table says that the work came in late."""
        return False

    def numbers(self) -> dict[str, int]:
        """The row of each number by which the platform's archives name people.

        Raises:
            TableError: the table has none.
        """
        return numbered(self, "number", lambda cell: cell)


def letters(text: str) -> str:
    """What stays of a name when signs that no file's name may have are taken out."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(sign for sign in plain if sign.isalnum())


def numbered(sheet: GradebookCsv, column: str, number: Callable[[str], str]) -> dict[str, int]:
    """The rows by the number in a column; what two rows share belongs to neither."""
    if column not in sheet.heading:
        raise TableError(
            f"expected a column “{column}” in {sheet.table.name}, which holds the numbers that stand "
            f"in the names of the archive's files. There {_are(sheet.heading)}"
        )
    place = sheet.heading.index(column)
    found: dict[str, int] = {}
    twice = set()
    for row in sheet.people:
        name = number(sheet.table.value(row, place))
        if name and name in found:
            twice.add(name)
        elif name:
            found[name] = row
    return {name: row for name, row in found.items() if name not in twice}


def _are(names: object) -> str:
    listed = [printable(name) for name in names]  # type: ignore[attr-defined]
    if not listed:
        return "is none"
    return f"{'are' if len(listed) > 1 else 'is'}: {', '.join(listed)}"
