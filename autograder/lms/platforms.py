"""Which platform a table comes from."""

from __future__ import annotations

from pathlib import Path

from autograder.lms.canvas import CanvasGradebook
from autograder.lms.moodle import MoodleGrades, MoodleWorksheet
from autograder.lms.sheet import Sheet
from autograder.lms.tables import read_table

KINDS: tuple[type[Sheet], ...] = (CanvasGradebook, MoodleWorksheet, MoodleGrades)


def sheet_in(path: Path) -> Sheet:
    """The table in a file, as what it is.

    Raises:
        TableError: it is none.
    """
    table = read_table(path)
    kind = next((kind for kind in KINDS if kind.knows(table)), Sheet)
    return kind(table)
