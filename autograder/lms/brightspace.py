"""Brightspace: the export of its grades, *Grades → Enter Grades → Export*.

Source: D2L's pages on importing and exporting grades.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from autograder.batch.csv_file import Row, Table, number_in
from autograder.files import plain_id
from autograder.lms.platform import GradebookCsv

END = "End-of-Line Indicator"  # a column of #, by which the import knows that a row is whole
POINTS = re.compile(r"(.*?) Points Grade(?: <(.*)>)?", re.DOTALL)
MOST = re.compile(r"MaxPoints:([\d.,]*\d)")


class BrightspaceGrades(GradebookCsv):
    """What *Export to CSV* writes, with the grades as *Points grade*."""

    platform = "Brightspace grades"
    aliases: ClassVar[Mapping[str, str]] = {
        "id": "OrgDefinedId", "login": "Username", "email": "Email",
    }  # fmt: skip
    advice = "in Brightspace: Grades → Enter Grades → Import"

    @classmethod
    def knows(cls, table: Table) -> bool:
        return table.heading[-1] == END

    @property
    def score_columns(self) -> dict[int, str]:
        return {column: name for column, name in enumerate(self.heading) if POINTS.fullmatch(name)}

    def same_name(self, wanted: str, name: str) -> bool:
        """By the whole name, or by the grade item's alone."""
        item = POINTS.fullmatch(name)
        names = [name, item[1] if item else name]
        return wanted.strip().casefold() in [known.strip().casefold() for known in names]

    def possible(self, column: int) -> float | None:
        most = MOST.search(self.heading[column])
        return number_in(most[1]) if most else None

    def called(self, row: Row) -> str:
        places = [self.table.columns(name) for name in ("First Name", "Last Name")]
        return " ".join(row[place[0]] for place in places if place) or plain_id(row[0])
