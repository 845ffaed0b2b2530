"""Which platform a table comes from."""

from __future__ import annotations

from pathlib import Path

from autograder.lms.canvas import CanvasGradebook
from autograder.lms.csv_file import read_table
from autograder.lms.gradebook_csv import GradebookCsv
from autograder.lms.moodle import MoodleGrades, MoodleWorksheet

KINDS: tuple[type[GradebookCsv], ...] = (CanvasGradebook, MoodleWorksheet, MoodleGrades)


def gradebook_csv_in(path: Path) -> GradebookCsv:
    """The table in a file, as what it is.

    Raises:
        TableError: it is none.
    """
    table = read_table(path)
    kind = next((kind for kind in KINDS if kind.knows(table)), GradebookCsv)
    return kind(table)
