"""Moodle: its two tables of grades, and the names in its archives of submissions.

Source: moodle/moodle, grade/export/txt/grade_export_txt.php and grade/import/csv/classes/load_data.php
for the grade book, mod/assign/gradingtable.php and mod/assign/feedback/offline/ for the worksheet,
mod/assign/classes/downloader.php and mod/assign/feedback/file/importziplib.php for archives.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import ClassVar

from autograder.lms.archive_entry import Entry
from autograder.lms.csv_file import Table, TableError, number_in
from autograder.lms.gradebook_csv import EMPTY, GradebookCsv, letters, numbered

IDENTIFIER, FULL_NAME, GRADE = "Identifier", "Full name", "Grade"
MAXIMUM, CHANGEABLE, MARKED, STATUS = (
    "maximum grade",
    "grade can be changed",
    "last modified (grade)",
    "status",
)
MOMENT = re.compile(r"\d{9,11}")  # seconds since 1970, in which Moodle says when it exported
WITH_KIND = re.compile(r"(.*) \((?:Real|Feedback|Percentage|Letter)\)", re.DOTALL)
PEOPLE: Mapping[str, str] = {"id": "ID number", "email": "Email address", "login": "Username"}
# who_number_kind_plugin, and then the file, in a folder of that name or behind a "_"
NAME = re.compile(r"([^/_]*)_(\d+)_(assignsubmission)_([a-z]+)(?:_?/(.+)|_([^/]+))", re.DOTALL)
TEXT_PLUGIN, FILE_PLUGIN = "onlinetext", "file"


class MoodleWorksheet(GradebookCsv):
    """The *offline grading worksheet* of an assignment: *Submissions → Download grading worksheet*.

    Moodle finds people in it by *Identifier*, and passes over a row whose grade was changed after the
    worksheet was downloaded, so the column *Last modified (grade)* has to stay.
    """

    platform = "Moodle worksheet"
    aliases: ClassVar = PEOPLE
    advice = "in Moodle: Submissions → Upload grading worksheet, separated as the file is"

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._small = [name.casefold() for name in self.heading]

    @classmethod
    def knows(cls, table: Table) -> bool:
        small = [name.casefold() for name in table.heading]
        return {IDENTIFIER, GRADE} <= set(table.heading) and MARKED in small

    @property
    def targets(self) -> dict[int, str]:
        return {self.heading.index(GRADE): GRADE}

    def target_named(self, column: str, also: Collection[str] = ()) -> int:
        return super().target_named(column or GRADE, also)

    def _says(self, row: int, name: str) -> str:
        return self.table.value(row, self._small.index(name)) if name in self._small else ""

    def possible(self, column: int) -> float | None:
        said = {self._says(row, MAXIMUM) for row in self.people} - {""}
        found = {number_in(cell) for cell in said}
        if len(found) != 1 or None in found:
            raise TableError(
                f"expected one maximum grade in {self.table.name}, found "
                f"{', '.join(sorted(said)) or 'none'}. Points cannot go into a scale: give the "
                "assignment the type of grade “Point” in Moodle"
            )
        return found.pop()

    def stays(self, row: int, column: int, points: float) -> str:
        if self._says(row, CHANGEABLE).casefold() == "no":
            return "Moodle says that the grade cannot be changed"
        most = number_in(self._says(row, MAXIMUM))
        if most is not None and points > most:
            return f"Moodle takes {most:g} at most, and would pass over {points:g}"
        return super().stays(row, column, points)

    def called(self, row: int) -> str:
        place = self.heading.index(FULL_NAME if FULL_NAME in self.heading else IDENTIFIER)
        return self.table.value(row, place)

    def numbers(self) -> dict[str, int]:
        return numbered(self, IDENTIFIER, lambda cell: (re.findall(r"\d+$", cell) or [""])[0])

    def late(self, row: int) -> bool:
        return bool(re.search(r"\blate\b", self._says(row, STATUS)))

    def is_of(self, row: int, called: str) -> bool:
        names = [self.table.value(row, self.heading.index(IDENTIFIER)).rstrip("0123456789 ")]
        if FULL_NAME in self.heading:
            names.append(self.table.value(row, self.heading.index(FULL_NAME)))
        return letters(called) in map(letters, names)


class MoodleGrades(GradebookCsv):
    """The grade book of a course: *Grades → Export → Plain text file*, with the grades as *Real*.

    Its import overrides the grade of every row that it reads, also where that is empty, and a column
    of feedback that comes without its grade deletes the grade. So what is to be uploaded holds the
    students with a score, what names them, and the one column, besides the time of the export, by
    which Moodle sees that a grade has been changed since.
    """

    platform = "Moodle grade book"
    aliases: ClassVar = PEOPLE
    advice = (
        "in Moodle: Grades → Import → CSV file; map the one column of grades to its grade item, "
        "and nothing to feedback"
    )

    @classmethod
    def knows(cls, table: Table) -> bool:
        last = len(table.heading) - 1
        moments = [table.value(row, last) for row in range(len(table.rows))]
        return last > 1 and bool(moments) and all(MOMENT.fullmatch(cell) for cell in moments)

    @property
    def targets(self) -> dict[int, str]:
        """Columns in which there is nothing but points."""
        return {
            place: name
            for place, name in enumerate(self.heading[:-1])
            if place > 1 and place not in self.keys.values() and self._only_points(place)
            if not name.endswith("(Feedback)")
        }

    def _only_points(self, place: int) -> bool:
        cells = [self.table.value(row, place) for row in self.people]
        return all(cell in EMPTY or number_in(cell) is not None for cell in cells)

    def same_name(self, wanted: str, name: str) -> bool:
        """By the whole name, or without “(Real)”, or without what kind of activity it is."""
        parts = WITH_KIND.fullmatch(name)
        short = parts[1] if parts else name
        names = [name, short, short.partition(": ")[2] or short]
        return wanted.strip().casefold() in [known.casefold() for known in names]

    def written(
        self, column: int, key: int, rows: Collection[int], values: Mapping[tuple[int, int], str]
    ) -> bytes:
        columns = {0, 1, key, column, len(self.heading) - 1}
        return self.table.part(rows, columns, values)


def in_archive(path: str) -> Entry | None:
    """Who handed in a file of Moodle's archive, by its name; None if that is not Moodle's.

    Moodle writes ``Full Name_123456_assignsubmission_file_/name.ipynb``, since version 4.1 without
    the last “_” of the folder, and where somebody has switched folders off
    ``Full Name_123456_assignsubmission_file_name.ipynb``.
    """
    found = NAME.fullmatch(path)
    if not found:
        return None
    called, number, _, plugin, in_folder, flat = found.groups()
    own = in_folder or flat
    return Entry(
        path=path,
        number=number,
        called=called,
        own=own,
        prefix=path[: len(path) - len(own)],
        text=plugin == TEXT_PLUGIN,
    )
