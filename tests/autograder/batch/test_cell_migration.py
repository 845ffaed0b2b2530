"""What became of an assignment's cells, how old submissions fit them, and how a change of scores is told."""

import re
from datetime import datetime

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.utils import compute_checksum

from autograder.batch.cell_migration import ByHand, Change, change_between, renamed_cells
from autograder.batch.score_changes import (
    BY_HAND,
    CellScore,
    Scores,
    as_text,
    compare,
    keep_by_hand,
    write_changes,
)
from autograder.errors import CourseError
from autograder.grade.messages import ReleasedCell
from autograder.grade.release_history import ReleaseHistory, read_history, write_history
from autograder.grade.restore import restore, with_history
from autograder.grade.submission import notebook_in
from tests.sample_class import ROOT


def cell(name, source="", points=None, locked=True, kind="code"):
    return ReleasedCell(name, kind, source or name, "", locked, not locked, points)


def names(cells):
    return [found.metadata.get("nbgrader", {}).get("grade_id", "") for found in cells]


OLD = [cell("a", locked=False), cell("test_a"), cell("check_a", points=2), cell("why", points=1, locked=False)]  # fmt: skip


def test_what_became_of_the_cells_is_told_apart():
    new = [cell("why", points=2, locked=False), OLD[0], cell("test_a", "other"), cell("check_b", points=1)]  # fmt: skip
    change = change_between(OLD, new, {})
    assert change == Change({}, ("check_b",), ("check_a",), {"why": (1, 2)}, ("a", "test_a"))
    assert list(change.in_words()) == [
        "cells added: check_b", "cells removed: check_a", "points changed: why 1 → 2",
        "other text, or another place: a, test_a",
    ]  # fmt: skip
    assert not change_between(OLD, OLD, {}) and not change_between(OLD, OLD, {}).concerns_points
    assert change_between(OLD, [*OLD[:3], cell("reason", points=1, locked=False, source="why")], {"why": "reason"}) == Change({"why": "reason"})  # fmt: skip


def test_the_name_of_a_part_stands_for_its_cells_and_is_never_guessed():
    new = [cell("b", locked=False), cell("test_b"), cell("check_b", points=2), OLD[3]]
    both = {"a": "b", "test_a": "test_b", "check_a": "check_b"}
    assert renamed_cells([("a", "b")], {}, OLD, new) == both
    assert renamed_cells([], both, OLD, new) == both, "a grading that was stopped goes on"
    assert renamed_cells([("a", "b")], both, new, new) == {}, "said again when all is done"
    assert renamed_cells([], {}, OLD, new) == {}
    for pair in (("a", "why"), ("why", "b"), ("c", "b")):
        with pytest.raises(CourseError, match="In the gradebook alone: a, check_a, test_a; in the source alone: b"):  # fmt: skip
            renamed_cells([pair], {}, OLD, new)


def test_names_are_remembered_from_one_change_to_the_next(tmp_path):
    (tmp_path / "grading" / "a1").mkdir(parents=True)
    assert read_history(tmp_path, "a1") == ReleaseHistory()
    first = ReleaseHistory().and_now({"why": "reason"}, {"more"}, {"reason", "more"})
    write_history(tmp_path, "a1", first)
    second = read_history(tmp_path, "a1").and_now({"reason": "cause"}, set(), {"cause", "more"})
    assert second == ReleaseHistory({"why": "cause", "reason": "cause"}, ("more",))
    assert second.and_now({}, set(), {"why"}) == ReleaseHistory(), (
        "a name that is there again is itself"
    )
    (cause,) = with_history([cell("cause")], second)
    assert cause.was == ("reason", "why") and not cause.added


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
        given_out("a = 1", "a", locked=False), given_out("assert a", "test_a"), edited,
        given_out("assert gone", "test_gone"),
    )  # fmt: skip
    released = [cell("a", locked=False), cell("test_a", "assert a == 1"), cell("test_b")]
    restored = restore(notebook, released)
    assert (restored.edited, restored.deleted, restored.added) == (("test_b",), (), ())
    assert [found.source for found in notebook.cells] == ["a = 1", "assert a == 1", "test_b"]


def test_what_a_student_made_of_a_cell_that_is_gone_stays():
    edited = given_out("assert gone", "test_gone")
    edited.source = "my own notes"
    answer = given_out("def gone(): return 3", "gone", locked=False)
    notebook = handed_in(answer, edited, new_markdown_cell("and more"))
    restore(notebook, [])
    assert [found.source for found in notebook.cells] == [answer.source, edited.source, "and more"]
    assert names(notebook.cells) == ["", "", ""]


def test_a_mark_that_a_student_makes_up_opens_nothing():
    for marks in ({"given_out": True}, {"locked": True, "checksum": "0"}, {"locked": 1}, {"points": "x", "locked": True, "checksum": 1}):  # fmt: skip
        made = new_code_cell("mine")
        made.metadata.nbgrader = {"grade_id": "test_gone", **marks}
        notebook = handed_in(made)
        restore(notebook, [])
        assert [found.source for found in notebook.cells] == ["mine"], marks


def test_cells_that_came_later_are_put_in_where_they_belong():
    notebook = handed_in(given_out("a = 1", "why", locked=False), given_out("z", "test_z"))
    released = with_history(
        [
            cell("reason", locked=False),
            cell("b", locked=False),
            cell("test_b"),
            cell("test_z", "z"),
        ],
        ReleaseHistory({"why": "reason"}, ("b", "test_b")),
    )
    restored = restore(notebook, released)
    assert restored.added == ("b", "test_b") and not restored.deleted
    assert names(notebook.cells) == ["reason", "b", "test_b", "test_z"]
    assert notebook.cells[0].source == "a = 1"


BEFORE = Scores({"check_moving_average": CellScore(2, 3, False), "check_standardise": CellScore(2, 2, False), "why": CellScore(1.5, 2, True)})  # fmt: skip
AFTER = Scores({**BEFORE.cells, "check_moving_average": CellScore(4, 5, False), "why": CellScore(1.5, 1, True)})  # fmt: skip
WORTH = Change(worth={"check_moving_average": (3, 5), "why": (2, 1)})


def test_the_table_in_the_guide_is_what_is_printed():
    page = (ROOT / "docs" / "living_course.md").read_text(encoding="utf-8")
    block = re.search(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
    said = as_text(compare({"bob": BEFORE}, {"bob": AFTER}, WORTH, (), (), written=False))
    assert said == block + "1 of 1 graded before gets another score"


@pytest.mark.parametrize(
    ("before", "after", "change", "again", "reason"),
    [
        (CellScore(1, 2, False), CellScore(2, 2, False), Change(), False, "part decided otherwise: 1 → 2"),
        (CellScore(1, 2, False), CellScore(2, 2, False), Change(), True, "part handed in again: 1 → 2"),
        (CellScore(1, 2, False), CellScore(2, 2, True), Change(), False, "part graded by hand: 1 → 2"),
        (CellScore(1, 2, False), CellScore(0, 1, False), Change(), False, "part counts 1 instead of 2: 1 → 0"),
        (None, CellScore(0, 1, False), Change(), False, "part added: 0 of 1"),
        (CellScore(1, 2, False), None, Change(), False, "part removed: 1 of 2"),
        (CellScore(1, 2, True), None, Change(), False, f"part removed: 1 of 2, given by hand and kept in {BY_HAND}"),
    ],
)  # fmt: skip
def test_each_change_has_its_reason(before, after, change, again, reason):
    sides = [Scores({} if mark is None else {"check_part": mark}) for mark in (before, after)]
    told = compare({"ada": sides[0]}, {"ada": sides[1]}, change, ["ada"] * again, (), True)
    assert [row.reasons for row in told.students] == [(reason,)]


def test_a_penalty_is_a_reason_and_no_change_is_none():
    late = Scores(BEFORE.cells, 1.0)
    told = compare({"ada": BEFORE, "bob": BEFORE}, {"ada": late, "bob": BEFORE, "eve": BEFORE}, Change(), (), (), True)  # fmt: skip
    assert [(row.student, row.reasons) for row in told.students] == [
        ("ada", ("late penalty: 0 → 1",))
    ]
    assert (told.same, told.first) == (1, 1)


def test_changes_are_added_to_those_before_and_trials_are_not(tmp_path):
    told = compare({"=bob": BEFORE}, {"=bob": AFTER}, WORTH, (), (), True)
    for day in (1, 2):
        write_changes(tmp_path, told, datetime(2026, 3, day))
    lines = (tmp_path / "changes.csv").read_text(encoding="utf-8-sig").splitlines()
    assert len(lines) == 3 and lines[1].startswith("2026-03-01 00:00,'=bob,5.5,7,7.5,8,")
    nothing = compare({}, {}, Change(), (), (), True)
    write_changes(tmp_path / "none", nothing)
    assert not (tmp_path / "none").exists()


def test_what_was_given_by_hand_is_written_once(tmp_path):
    removed = [ByHand("ada", "why", 1.5, None, 2, None), ByHand("ada", "why", None, None, None, "so,\n=1")]  # fmt: skip
    for day in (1, 2):
        keep_by_hand(tmp_path, removed, datetime(2026, 3, day))
    keep_by_hand(tmp_path, [ByHand("bob", "why", 1, 0.5, 2, None)], datetime(2026, 3, 3))
    keep_by_hand(tmp_path, [])
    said = (tmp_path / BY_HAND).read_text(encoding="utf-8-sig")
    assert said.count("ada,why,1.5") == 1 and said.count("so,") == 1
    assert "2026-03-03 00:00,bob,why,1,2,0.5," in said
