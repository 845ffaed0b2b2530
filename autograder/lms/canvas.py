"""Canvas: the export of its gradebook, and the names in its archives of submissions.

Source: instructure/canvas-lms, lib/gradebook_exporter.rb and lib/gradebook_importer.rb for the table,
lib/content_zipper.rb and app/models/abstract_assignment.rb for the names of files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

from autograder.batch.csv_file import Row, Table, TableError, number_in
from autograder.files import printable
from autograder.lms.platform import GradebookCsv, Platform, SubmittedFile, letters

STUDENT, NUMBER, SECTION = "Student", "ID", "Section"
POSSIBLE = "Points Possible"
HIDDEN = re.compile(r"(?:muted|manual posting.*)?", re.IGNORECASE)
WITH_NUMBER = re.compile(r"(.*) \((\d+)\)", re.DOTALL)
TEST_STUDENT = "Student, Test"
LONGEST_NUMBER = 20  # digits; Canvas counts in 64 bits
ANONYMOUS = re.compile(r"(?:LATE_)?anon_\w+_\d+_")
MOST_WAYS = 10  # of reading one name
# titles in which Canvas finds these are taken for totals of its own, and passed over; some versions take less for one
TOTAL = re.compile("(?:Current|Final) (?:Score|Points|Grade)|Override (?:Score|Grade|Status)")
PERHAPS_TOTAL = re.compile("Current|Final|Override")
NO_SCORE = {"EX": "excused in Canvas", "N/A": "not assigned to them in Canvas"}


class CanvasGradebook(GradebookCsv):
    """What *Grades → Export* writes.

    A column without a number at its end, such as “Assignment 5 (12345)”, is no assignment. Uploaded
    under another name, the scores would become a new assignment, so the column must be there.
    """

    platform = "Canvas gradebook"
    aliases: ClassVar = {"sis": "SIS User ID", "login": "SIS Login ID", "id": NUMBER}
    advice = "in Canvas: Grades → Import"
    number_column = NUMBER

    @classmethod
    def knows(cls, table: Table) -> bool:
        names = table.heading
        return NUMBER in names and SECTION in names and names[0] in (STUDENT, "LastName")

    @cached_property
    def people(self) -> Sequence[Row]:
        return [
            row
            for row in super().people
            if POSSIBLE not in row[0]
            if not all(HIDDEN.fullmatch(value.strip()) for value in row.values)
        ]

    @property
    def score_columns(self) -> dict[int, str]:
        first = self.heading.index(SECTION) + 1
        return {
            column: name
            for column, name in enumerate(self.heading)
            if column >= first and WITH_NUMBER.fullmatch(name)
        }

    def same_name(self, wanted: str, name: str) -> bool:
        """By the whole name, by its title alone, or by its number alone."""
        parts = WITH_NUMBER.fullmatch(name)
        names = [name, *(parts.groups() if parts else ())]
        return wanted.strip().casefold() in [known.strip().casefold() for known in names]

    def possible(self, column: int) -> float | None:
        row = next((row for row in self.table.rows if POSSIBLE in row[0]), None)
        if row is None:
            raise TableError(
                f"expected a row “{POSSIBLE}” in {self.table.name}, found none. Export the gradebook "
                "again, and change nothing in it"
            )
        points = number_in(row[column])
        if points is None:
            raise TableError(
                f"expected the points possible of “{self.heading[column]}” in line {row.line} "
                f"of {self.table.name}, found “{row[column]}”. Canvas takes no scores for such a column"
            )
        return points

    def caution(self, column: int) -> str:
        name = self.heading[column]
        if not (found := PERHAPS_TOTAL.search(name)):
            return ""
        passes = "passes" if TOTAL.search(name) else "may pass"
        return (
            f"Canvas {passes} over “{printable(name)}” when the file is imported, and say that there are no changes: "
            f"it takes a title with “{found[0]}” in it for a total of its own. Give the assignment another title in "
            "Canvas, and export again"
        )

    def stays(self, row: Row, column: int, points: float) -> str:
        return NO_SCORE.get(row[column].upper()) or super().stays(row, column, points)

    def called(self, row: Row) -> str:
        names = row.values[: 2 if self.heading[0] == "LastName" else 1]
        return ", ".join(filter(None, map(str.strip, names)))

    def aside(self, row: Row) -> str:
        return "Canvas's test student" if self.called(row) == TEST_STUDENT else ""

    def is_of(self, row: Row, called: str) -> bool:
        return letters(called) == letters(self.called(row))


def submitted_file(path: str) -> SubmittedFile | None:
    """Who handed in a file of Canvas's archive, by its name; None if that is not Canvas's.

    Canvas writes ``lastfirst_LATE_12345_67890_name.ipynb``: who, whether late, the person's number,
    the file's, which grows with time, and the file's own name. It finds the numbers again as the
    first two parts that are digits alone. But a person or a file can be called so that others would
    do as well, and these ways of reading it come along. A name with more than `MOST_WAYS` is nobody's:
    with some of them left out, it could be taken for another person's.
    """
    parts = path.split("_")
    digits = [part.isdecimal() and part.isascii() and len(part) <= LONGEST_NUMBER for part in parts]
    numbers = [
        number
        for number in range(1, len(parts) - 2)
        if digits[number] and digits[number + 1] and (number < len(parts) - 3 or parts[-1])
    ]
    if "/" in path or not 0 < len(numbers) <= MOST_WAYS:
        return None
    first, *others = [_read(path, parts, number) for number in numbers]
    return replace(first, others=tuple(others))


def _read(path: str, parts: Sequence[str], number: int) -> SubmittedFile:
    """What a name says if this part of it is the person's number."""
    front = parts[:number]
    return SubmittedFile(
        path=path,
        number=parts[number],
        called=" ".join(part for part in front if part != "LATE"),
        own="_".join(parts[number + 2 :]),
        prefix="_".join(parts[: number + 2]) + "_",
        late="LATE" in front[1:],
        order=int(parts[number + 1]),
    )


CANVAS = Platform(
    "Canvas",
    (CanvasGradebook,),
    submitted_file,
    lasting_numbers=True,
    advice="in Canvas: the gradebook's menu of the assignment → Re-Upload Submissions; each upload adds "
    "a comment, so upload it once",
)
