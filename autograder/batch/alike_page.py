"""The page about answers that are alike, which is for the instructor alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from autograder.batch.class_statistics import points_possible
from autograder.batch.release_text import title_of
from autograder.batch.same_code import (
    definitions_in,
    given_out,
    own_code_of_the_course,
    same_answers,
    taught_by,
)
from autograder.batch.similarity import (
    COMMAND,
    FEWEST_STUDENTS,
    OUTSIDE,
    Cells,
    similar_pairs,
    statements_in,
)
from autograder.batch.student_result import StudentResult
from autograder.bounds import LONGEST_CODE, LONGEST_RENDERED
from autograder.files import cut, printable, write_whole
from autograder.grade.code_changes import lines_of
from autograder.grade.report import grade_id_of
from autograder.grade.submission import InvalidSubmission, notebook_in, read_folder
from autograder.pages import render

MOST_PAIRS = 100  # that the page shows


def write_similar_pairs(course: Path, assignment: str, rows: Sequence[StudentResult]) -> Path:
    """Compare what a class handed in, and write the page for the instructor, names included, beside the journal."""
    given, locked = given_out(course, assignment)
    answers = dict(_handed_in(course, assignment, locked))
    parts = tuple(points_possible(rows))
    pairs = similar_pairs(answers, parts, given)
    taught = taught_by(course, given, parts)
    defined = {student: [*definitions_in(cells, parts)] for student, cells in answers.items()}
    ours = own_code_of_the_course(defined, parts, taught)
    shown = [
        {
            "pair": pair,
            "names": [printable(student) for student in pair.students],
            "codes": [
                (part, share, *(_code_of(part, answers[student]) for student in pair.students))
                for part, share in pair.parts.items()
                if part != OUTSIDE
            ],
        }
        for pair in pairs[:MOST_PAIRS]
    ]
    text = render(
        "alike.html",
        title=title_of(course, assignment),
        compared=len(answers),
        few=len(answers) < FEWEST_STUDENTS,
        found=len(pairs),
        shown=shown,
        same=[list(map(printable, students)) for students in same_answers(defined, parts, taught)],
        ours=[(printable(student), found) for student, found in ours.items()],
    )
    page = course / "grading" / assignment / "alike.html"
    write_whole(page, text)
    return page


def _handed_in(course: Path, assignment: str, locked: set[str]) -> Iterator[tuple[str, Cells]]:
    """The code cells of each student that are the student's own; what cannot be read is left out.

    So is what is longer together than one cell may be.
    """
    for folder in sorted((course / "submitted").glob(f"*/{assignment}")):
        try:
            notebook = notebook_in(read_folder(folder, assignment).notebook)
        except (InvalidSubmission, OSError):
            continue
        cells, left = [], LONGEST_CODE
        for cell in notebook.cells:
            if (
                cell.cell_type == "code"
                and grade_id_of(cell) not in locked
                and len(cell.source) <= left
            ):
                cells.append(cell.source)
                left -= len(cell.source)
        yield folder.parent.name, cells


def _code_of(part: str, cells: Cells) -> str:
    """The text of what is defined at the top under this name, as a page can show it."""
    found = []
    for source in cells:
        lines = lines_of(COMMAND.sub("", source))
        for statement in statements_in(source):
            if getattr(statement, "name", OUTSIDE) == part:
                found += lines[statement.lineno - 1 : statement.end_lineno]
    text = [printable(line.expandtabs(4)) for line in found]
    return cut("\n".join(text), LONGEST_RENDERED)
