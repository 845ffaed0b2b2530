"""Four students of the sample class, in several copies: graded by the command, as users do."""

import re
import sys
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from nbgrader.api import Gradebook

from autograder.batch.course import scores_in
from tests.sample_class import ASSIGNMENT, ISOLATION, submission

STUDENTS = ("right_loops", "scaled_scores", "softmax_over_columns", "mixed_batch")
COPIES = 3


def small_class(copies: int = COPIES) -> dict[str, NotebookNode]:
    """The same four notebooks several times, each signed, so that no two are alike."""
    notebooks = {}
    for copy in range(copies):
        for student in STUDENTS:
            notebook = notebooks[f"{student}_{copy}"] = submission(student)
            notebook.cells.append(new_code_cell(f"# {copy}", id="signature"))
    return notebooks


def command(course: Path) -> list[str]:
    """The command line that grades a course folder."""
    return [
        sys.executable, "-m", "autograder", "grade", ASSIGNMENT, "--course", str(course),
        "--isolation", ISOLATION, "--jobs", "2",
    ]  # fmt: skip


def outcome(course: Path) -> tuple[list[tuple], list[tuple], dict[Path, str]]:
    """Scores and students in the gradebook, and what graded notebooks and feedback pages say."""
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        students = [
            (entry.student_id, entry.score, entry.needs_manual_grade)
            for entry in gradebook.assignment_submissions(ASSIGNMENT)
        ]
    pages = {
        path.relative_to(course): without_the_time(path.read_text(encoding="utf-8"))
        for pattern in ("autograded/*/*/*.ipynb", "feedback/*/*/*.html")
        for path in sorted(course.glob(pattern))
    }
    return scores_in(course), sorted(students), pages


def without_the_time(page: str) -> str:
    """A notebook or page, but for the line that says when it ran, and ids that are drawn anew."""
    page = re.sub(r"Finished  \S+ \S+ UTC", "", page)
    return re.sub(r"ipykernel_\d+|[0-9a-f]{8}-[0-9a-f-]{27}", "", page)
