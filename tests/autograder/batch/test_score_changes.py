"""How a change of scores is told."""

import re
from datetime import datetime

import pytest

from autograder.batch.score_changes import CellScore, Scores, as_text, compare, write_changes
from tests.sample_class import ROOT

BEFORE = Scores({"check_moving_average": CellScore(2, 3, False), "check_standardise": CellScore(2, 2, False), "why": CellScore(1.5, 2, True)})  # fmt: skip
AFTER = Scores({**BEFORE.cells, "check_moving_average": CellScore(3, 3, False), "check_standardise": CellScore(1, 2, False), "why": CellScore(2, 2, True)})  # fmt: skip


def test_the_table_in_the_guide_is_what_is_printed():
    page = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    [block] = [block for block in blocks if "decided otherwise" in block]
    said = as_text(compare({"bob": BEFORE}, {"bob": AFTER}, (), written=False))
    assert said == block + "1 of 1 graded before gets another score"


@pytest.mark.parametrize(
    ("before", "after", "again", "reason"),
    [
        (CellScore(1, 2, False), CellScore(2, 2, False), False, "part decided otherwise: 1 → 2"),
        (CellScore(1, 2, False), CellScore(2, 2, False), True, "part handed in again: 1 → 2"),
        (CellScore(1, 2, False), CellScore(2, 2, True), False, "part graded by hand: 1 → 2"),
    ],
)  # fmt: skip
def test_each_change_has_its_reason(before, after, again, reason):
    sides = [Scores({"check_part": mark}) for mark in (before, after)]
    told = compare({"ada": sides[0]}, {"ada": sides[1]}, ["ada"] * again, True)
    assert [row.reasons for row in told.students] == [(reason,)]


def test_a_penalty_is_a_reason_and_no_change_is_none():
    late = Scores(BEFORE.cells, 1.0)
    told = compare({"ada": BEFORE, "bob": BEFORE}, {"ada": late, "bob": BEFORE, "eve": BEFORE}, (), True)  # fmt: skip
    assert [(row.student, row.reasons) for row in told.students] == [
        ("ada", ("late penalty: 0 → 1",))
    ]
    assert (told.same, told.first) == (1, 1)


def test_changes_are_added_to_those_before_and_trials_are_not(tmp_path):
    told = compare({"=bob": BEFORE}, {"=bob": AFTER}, (), True)
    for day in (1, 2):
        write_changes(tmp_path, told, datetime(2026, 3, day))
    lines = (tmp_path / "changes.csv").read_text(encoding="utf-8-sig").splitlines()
    assert len(lines) == 3 and lines[1].startswith("2026-03-01 00:00,'=bob,5.5,7,6.0,7,")
    nothing = compare({}, {}, (), True)
    write_changes(tmp_path / "none", nothing)
    assert not (tmp_path / "none").exists()
