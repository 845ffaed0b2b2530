"""Old submissions beside today's locked cells: what a release gave out is nobody's doing, what a student wrote stays."""

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.utils import compute_checksum

from autograder.grade.messages import ReleasedCell
from autograder.grade.report import Restored
from autograder.grade.restore import restore
from autograder.grade.submission import notebook_in


def cell(name, source="", points=None, locked=True, kind="code"):
    return ReleasedCell(name, kind, source or name, "", locked, not locked, points)


def names(cells):
    return [found.metadata.get("nbgrader", {}).get("grade_id", "") for found in cells]


def given_out(source, name, locked=True):
    """A cell as nbgrader gives it out, its checksum in it."""
    made = new_code_cell(source, id=name.replace("_", "-"))
    made.metadata.nbgrader = nbformat.from_dict(
        {"grade": locked, "grade_id": name, "locked": locked, "points": 1, "solution": not locked}
    )
    made.metadata.nbgrader.checksum = compute_checksum(made)
    return made


def handed_in(*cells):
    return notebook_in(nbformat.writes(new_notebook(cells=list(cells))))


def test_locked_cells_of_an_earlier_release_are_nobodys_doing():
    edited = given_out("assert a == 3", "test_b")
    edited.source = "pass"
    notebook = handed_in(
        given_out("a = 1", "a", locked=False), given_out("assert a", "test_a"), edited
    )
    released = [cell("a", locked=False), cell("test_a", "assert a == 1"), cell("test_b")]
    restored = restore(notebook, released)
    assert restored == Restored(("test_b",), ())
    assert [found.source for found in notebook.cells] == ["a = 1", "assert a == 1", "test_b"]


def test_what_a_student_made_of_a_cell_that_is_gone_stays():
    edited = given_out("assert gone", "test_gone")
    edited.source = "my own notes"
    answer = given_out("def gone(): return 3", "gone", locked=False)
    notebook = handed_in(answer, edited, new_markdown_cell("and more"))
    restore(notebook, [])
    assert [found.source for found in notebook.cells] == [answer.source, edited.source, "and more"]
    assert names(notebook.cells) == ["", "", ""]


def test_a_mark_that_a_student_makes_up_hides_no_edit():
    for marks in ({"given_out": True}, {"locked": True, "checksum": "0"}, {"locked": 1}, {"points": "x", "locked": True, "checksum": 1}):  # fmt: skip
        made = new_code_cell("mine")
        made.metadata.nbgrader = {"grade_id": "test_b", **marks}
        notebook = handed_in(made)
        assert restore(notebook, [cell("test_b")]) == Restored(("test_b",), ()), marks
        assert [found.source for found in notebook.cells] == ["test_b"]


def test_deleted_locked_cells_are_put_back_where_they_belong():
    notebook = handed_in(given_out("a = 1", "a", locked=False), given_out("z", "test_z"))
    answers = [cell("a", locked=False), cell("b", locked=False)]
    released = [*answers, *map(cell, ("test_a", "test_b", "test_z"))]
    assert restore(notebook, released) == Restored((), ("test_a", "test_b"))
    assert names(notebook.cells) == ["a", "test_a", "test_b", "test_z"]


def test_of_two_cells_of_one_name_the_first_counts():
    copy = given_out("a = 2", "a", locked=False)
    copy.id = "copy"
    notebook = handed_in(given_out("a = 1", "a", locked=False), copy)
    restore(notebook, [cell("a", locked=False)])
    assert names(notebook.cells) == ["a", ""]
