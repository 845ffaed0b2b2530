"""Moodle: its two tables of grades, and the names in its archives of submissions.

Source: moodle/moodle, grade/export/txt/grade_export_txt.php and grade/import/csv/classes/load_data.php
for the grade book, mod/assign/gradingtable.php and mod/assign/feedback/offline/ for the worksheet,
mod/assign/classes/downloader.php and mod/assign/feedback/file/importziplib.php for archives.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import ClassVar

from autograder.batch.csv_file import Row, Table, TableError, number_in
from autograder.lms.platform import EMPTY, GradebookCsv, Platform, SubmittedFile, letters

IDENTIFIER, FULL_NAME, GRADE = "Identifier", "Full name", "Grade"
# these begin with a small or a large letter, depending on Moodle's version
MAXIMUM, CHANGEABLE = "maximum grade", "grade can be changed"
MARKED, STATUS = "last modified (grade)", "status"
CAME_IN = "last modified (submission)"
MOMENT = re.compile(r"\d{9,11}")  # seconds since 1970, in which Moodle says when it exported
WITH_KIND = re.compile(r"(.*) \((?:Real|Feedback|Percentage|Letter)\)", re.DOTALL)
PEOPLE: Mapping[str, str] = {"id": "ID number", "email": "Email address", "login": "Username"}
# who_number_kind_plugin, and then the file, in a folder of that name or behind a "_"
NAME = re.compile(r"([^/_]*)_(\d+)_assignsubmission_([a-z]+)(?:_?/(.+)|_([^/]+))", re.DOTALL)
TEXT_PLUGIN = "onlinetext"


class MoodleWorksheet(GradebookCsv):
    """The *offline grading worksheet* of an assignment: *Submissions → Download grading worksheet*.

    Moodle finds people in it by *Identifier*, and passes over a row whose grade was changed after the
    worksheet was downloaded, so the column *Last modified (grade)* has to stay.
    """

    platform = "Moodle worksheet"
    aliases: ClassVar = PEOPLE
    advice = "in Moodle: Submissions → Upload grading worksheet, separated as the file is"
    number_column, number_pattern = IDENTIFIER, r"(?<!\d)\d+"

    @classmethod
    def knows(cls, table: Table) -> bool:
        small = [name.casefold() for name in table.heading]
        return {IDENTIFIER, GRADE} <= set(table.heading) and MARKED in small

    @property
    def score_columns(self) -> dict[int, str]:
        return {self.heading.index(GRADE): GRADE}

    def score_column(self, wanted: str, also: Collection[str] = ()) -> int:
        return super().score_column(wanted or GRADE, also)

    def _cell(self, row: Row, name: str) -> str:
        names = [known.casefold() for known in self.heading]
        return row[names.index(name)] if name in names else ""

    def possible(self, column: int) -> float | None:
        cells = {self._cell(row, MAXIMUM) for row in self.people} - {""}
        points = {number_in(cell) for cell in cells}
        if len(points) != 1 or None in points:
            raise TableError(
                f"expected one maximum grade in {self.table.name}, found "
                f"{', '.join(sorted(cells)) or 'none'}. Points cannot go into a scale: give the "
                "assignment the type of grade “Point” in Moodle"
            )
        return points.pop()

    def stays(self, row: Row, column: int, points: float) -> str:
        if self._cell(row, CHANGEABLE).casefold() == "no":
            return "Moodle says that the grade cannot be changed"
        most = number_in(self._cell(row, MAXIMUM))
        if most is not None and points > most:
            return f"Moodle takes {most:g} at most, and would pass over {points:g}"
        return super().stays(row, column, points)

    def called(self, row: Row) -> str:
        return row[self.heading.index(FULL_NAME if FULL_NAME in self.heading else IDENTIFIER)]

    def late(self, row: Row) -> bool:
        return bool(re.search(r"\blate\b", self._cell(row, STATUS)))

    def came_in(self, row: Row) -> str:
        text = self._cell(row, CAME_IN)
        return "" if text in EMPTY else text

    def is_of(self, row: Row, called: str) -> bool:
        anonymous = row[self.heading.index(IDENTIFIER)].rstrip("0123456789 ")
        return letters(called) in map(letters, (anonymous, self.called(row)))


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
        return (
            last > 1 and bool(table.rows) and all(MOMENT.fullmatch(row[last]) for row in table.rows)
        )

    @property
    def score_columns(self) -> dict[int, str]:
        """Columns in which there is nothing but points."""
        return {
            column: name
            for column, name in enumerate(self.heading[:-1])
            if column > 1 and column not in self.id_columns.values()
            if not name.endswith("(Feedback)")
            if all(row[column] in EMPTY or number_in(row[column]) is not None for row in self.people)
        }  # fmt: skip

    def same_name(self, wanted: str, name: str) -> bool:
        """By the whole name, or without “(Real)”, or without what kind of activity it is."""
        parts = WITH_KIND.fullmatch(name)
        short = parts[1] if parts else name
        names = [name, short, short.partition(": ")[2] or short]
        return wanted.strip().casefold() in [known.casefold() for known in names]

    def to_upload(
        self, column: int, id_column: int, scores: Mapping[Row, str], same: Collection[Row]
    ) -> bytes:
        columns = {0, 1, id_column, column, len(self.heading) - 1}
        return self.table.with_values(column, scores, {*scores, *same}, columns)


def submitted_file(path: str) -> SubmittedFile | None:
    """Who handed in a file of Moodle's archive, by its name; None if that is not Moodle's.

    Moodle writes ``Full Name_123456_assignsubmission_file_/name.ipynb``, since version 4.1 without
    the last “_” of the folder, and where somebody has switched folders off
    ``Full Name_123456_assignsubmission_file_name.ipynb``.
    """
    match = NAME.fullmatch(path)
    if not match:
        return None
    called, number, plugin, in_folder, flat = match.groups()
    own = in_folder or flat
    prefix = path.removesuffix(own)
    return SubmittedFile(path, number, called, own, prefix, text=plugin == TEXT_PLUGIN)


MOODLE = Platform(
    "Moodle",
    (MoodleWorksheet, MoodleGrades),
    submitted_file,
    lasting_numbers=False,
    advice="in Moodle: Submissions → Upload multiple feedback files in a zip",
)
