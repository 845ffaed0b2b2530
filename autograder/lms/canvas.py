"""Canvas: the export of its gradebook, and the names in its archives of submissions.

Source: instructure/canvas-lms, lib/gradebook_exporter.rb and lib/gradebook_importer.rb for the table,
lib/content_zipper.rb and app/models/abstract_assignment.rb for the names of files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from autograder.lms.archive_entry import Entry
from autograder.lms.csv_file import Table, TableError, number_in
from autograder.lms.gradebook_csv import GradebookCsv, letters, numbered

STUDENT, NUMBER, SECTION = "Student", "ID", "Section"
POSSIBLE = "Points Possible"
HIDDEN = re.compile(r"\s*(?:muted|manual posting.*)?\s*", re.IGNORECASE)
WITH_NUMBER = re.compile(r"(.*) \((\d+)\)", re.DOTALL)
TEST_STUDENT = "Student, Test"
EXCUSED, NOT_ASSIGNED = "EX", "N/A"


class CanvasGradebook(GradebookCsv):
    """What *Grades → Export* writes.

    A column without a number at its end, such as “Assignment 5 (12345)”, is no assignment. Uploaded
    under another name, the scores would become a new assignment, so the column must be there.
    """

    platform = "Canvas gradebook"
    aliases: ClassVar = {"sis": "SIS User ID", "login": "SIS Login ID", "id": NUMBER}
    advice = "in Canvas: Grades → Import"

    @classmethod
    def knows(cls, table: Table) -> bool:
        names = table.heading
        return NUMBER in names and SECTION in names and names[0] in (STUDENT, "LastName")

    @property
    def people(self) -> Sequence[int]:
        return [row for row in range(len(self.table.rows)) if not self._about_columns(row)]

    def _about_columns(self, row: int) -> bool:
        cells = self.table.rows[row].cells
        return POSSIBLE in cells[0].value or all(HIDDEN.fullmatch(cell.value) for cell in cells)

    @property
    def targets(self) -> dict[int, str]:
        first = self.heading.index(SECTION) + 1
        return {
            place: name
            for place, name in enumerate(self.heading)
            if place >= first and WITH_NUMBER.fullmatch(name)
        }

    def same_name(self, wanted: str, name: str) -> bool:
        """By the whole name, by its title alone, or by its number alone."""
        parts = WITH_NUMBER.fullmatch(name)
        names = [name, *(parts.groups() if parts else ())]
        return wanted.strip().casefold() in [known.strip().casefold() for known in names]

    def possible(self, column: int) -> float | None:
        for row in self.table.rows:
            if POSSIBLE in row.cells[0].value:
                cell = row.cells[column].value.strip() if column < len(row.cells) else ""
                points = number_in(cell)
                if points is None:
                    raise TableError(
                        f"expected the points possible of “{self.heading[column]}” in line {row.line} "
                        f"of {self.table.name}, found “{cell}”. Canvas takes no scores for such a column"
                    )
                return points
        raise TableError(
            f"expected a row “{POSSIBLE}” in {self.table.name}, found none. Export the gradebook "
            "again, and change nothing in it"
        )

    def stays(self, row: int, column: int, points: float) -> str:
        old = self.table.value(row, column)
        if old.upper() == EXCUSED:
            return "excused in Canvas"
        if old.upper() == NOT_ASSIGNED:
            return "not assigned to them in Canvas"
        return super().stays(row, column, points)

    def called(self, row: int) -> str:
        places = (0, 1) if self.heading[0] == "LastName" else (0,)
        return ", ".join(filter(None, (self.table.value(row, place) for place in places)))

    def aside(self, row: int) -> str:
        return "Canvas's test student" if self.called(row) == TEST_STUDENT else ""

    def is_of(self, row: int, called: str) -> bool:
        return letters(called) == letters(self.called(row))

    def numbers(self) -> dict[str, int]:
        return numbered(self, NUMBER, lambda cell: cell)


def in_archive(path: str) -> Entry | None:
    """Who handed in a file of Canvas's archive, by its name; None if that is not Canvas's.

    Canvas writes ``lastfirst_LATE_12345_67890_name.ipynb``: who, whether late, the person's number,
    the file's, which grows with time, and the file's own name. It finds the numbers again as the
    first two parts that are digits alone. But a person or a file can be called so that others would
    do as well, and these ways of reading it come along.
    """
    parts = path.split("_")
    digits = [part.isdecimal() and part.isascii() for part in parts]
    ways = [
        place
        for place in range(1, len(parts) - 2)
        if digits[place] and digits[place + 1] and "_".join(parts[place + 2 :])
    ]
    if "/" in path or not ways:
        return None
    first, *others = (_entry(path, parts, place) for place in ways)
    return replace(first, others=tuple(others))


def _entry(path: str, parts: Sequence[str], person: int) -> Entry:
    """What a name says if the person's number is the part in this place."""
    front = parts[:person]
    return Entry(
        path=path,
        number=parts[person],
        called=" ".join(part for part in front if part != "LATE"),
        own="_".join(parts[person + 2 :]),
        prefix="_".join(parts[: person + 2]) + "_",
        late="LATE" in front[1:],
        order=int(parts[person + 1]),
    )
