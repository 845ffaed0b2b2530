"""A right answer beside what is made to exhaust the grader keeps its points, and no worker dies over it."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.batch.settings import Settings
from autograder.sandbox import bubblewrap
from autograder.sandbox.limits import Limits
from tests.autograder.batch.odd_code import outputs_of
from tests.autograder.batch.odd_files import ALL, with_cell
from tests.sample_class import ASSIGNMENT, grade, hand_in, place_for

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(bubblewrap.missing()), reason=bubblewrap.missing()),
]

SENDS = "for number in range(100):\n    name = 'x' * (1 << 20) + str(number)\n    "
CELLS = {
    "long_names": SENDS + "display({name: ''}, raw=True)",
    "long_display_ids": SENDS + "display({'text/plain': ''}, raw=True, display_id=name)",
    "empty_traceback": outputs_of(
        ("error", "{'ename': '', 'evalue': '', 'traceback': [''] * 3_000_000}")
    ),
    "deep_transient": "deep = []\nfor _ in range(500): deep = [deep]\n"
    + outputs_of(("stream", "{'name': 'stdout', 'text': 'x', 'transient': deep}")),
    "lines": "print(' \\n' * (3 << 20))",
    "signs": "print('\\x01\"\\\\' * (2 << 20))",
    "long_list": "x = [" + "1," * 300_000 + "]",
    "long_word": "a" * 12_000 + "-?",
    "blank_lines": "x = 1" + "\n" * 100_000 + "y = 1",
}


def notebooks():
    """By student, the right notebook with something beside it."""
    made = {student: with_cell(code) for student, code in CELLS.items()}
    made["long_cells"] = with_cell(
        *(f"a{number} = [" + "1," * 50_000 + "]" for number in range(20))
    )
    made["headings"] = with_cell(
        *["# a" + " " * 90_000 + "b"] * 100, kind=lambda text, id: new_markdown_cell(text, id=id)
    )
    made["gaps"] = with_cell(*["# " + "\n \n" * 4_000] * 100)
    made["picture"] = with_cell("![a](attachment:x)" * 400, kind=new_markdown_cell)
    place = next(cell for cell in made["picture"].cells if "attachment:x" in cell.source)
    place.attachments = {"x": {"image/png": "A" * (1 << 20)}}
    long = "A" * 90_000
    made["addresses"] = with_cell(
        *["[a][x]" * 24 + f"\n\n[x]: https://e.org/{long}\n"] * 140, kind=new_markdown_cell
    )
    made["shell"] = with_cell(f"```console\n{long}\n```", kind=new_markdown_cell)
    made["old_outputs"] = with_cell("1")
    shown = nbformat.v4.new_output("stream", text="x" * (20 << 20))
    made["old_outputs"].cells.append(new_code_cell("2", outputs=[shown]))
    return made


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    course = tmp_path_factory.mktemp("bounds")
    made = notebooks()
    hand_in(course, made)
    renamed = place_for(course, "renamed")
    nbformat.write(with_cell("1"), renamed.with_name("my answers (2).ipynb"))
    patient = Limits(seconds=900)  # for what takes long by itself, on a machine that is busy, too
    rows = grade(course, settings=Settings(workers=1, limits=patient, feedback=True))
    return course, {row.student: row for row in rows}, [*made, "renamed"]


def test_a_right_answer_keeps_its_points(graded):
    _, rows, students = graded
    got = {student: (rows[student].points, rows[student].reasons) for student in students}
    assert got == dict.fromkeys(students, (ALL, got["renamed"][1]))


def test_everybody_has_a_page_that_a_mail_can_hold(graded):
    course, _, students = graded
    sizes = {
        student: (course / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html").stat().st_size
        for student in students
    }
    assert max(sizes.values()) < 2 << 20, sizes
