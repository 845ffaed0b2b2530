"""docs/accuracy.md says what the banks and the checks hold today."""

import re

import pytest

from assignments import known, load
from tests.autograder.measure import (
    HEAD,
    MISTAKE,
    MOST_PAIRS,
    PAIR,
    RIGHT,
    WRONG,
    Outcome,
    Tally,
    bank_of,
    measured,
    pairs_of,
)
from tests.sample_class import ROOT
from tools.accuracy import PAGE, page

PARTS = [(name, part) for name in known() for part in load(name).parts]
STALE = "docs/accuracy.md is older than the banks or the checks: run `make accuracy`"


@pytest.fixture(scope="module")
def stored():
    """The page's table: a dictionary a part."""
    assert PAGE.exists(), STALE
    rows = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        found = [cell.strip(" `") for cell in line.strip("|").split("|")]
        if len(found) == len(HEAD) and re.fullmatch(r"a\d+_\w+", found[0]):
            numbers = map(int, found[2:])
            rows[found[0], found[1]] = dict(zip(HEAD[2:], numbers, strict=True))
    return rows


def test_every_part_is_on_the_page(stored):
    assert list(stored) == [(name, part.name) for name, part in PARTS], STALE


@pytest.mark.parametrize(("assignment", "part"), PARTS, ids=str)
def test_answers_are_those_of_the_banks(stored, assignment, part):
    row = stored[assignment, part.name]
    bank = [given for given in bank_of(assignment) if given.part == part.name]
    right = sum(given.right for given in bank)
    assert row["right"] == right, STALE
    assert row["wrong"] == len(bank) - right + len(part.mistakes), STALE
    assert row["pairs"] == min(MOST_PAIRS, len(list(pairs_of(part)))), STALE


def test_what_the_page_claims_is_what_the_tests_demand(stored):
    for part, row in stored.items():
        assert row["false alarms"] == 0, part
        assert row["caught"] == row["wrong"], part
        assert row["named"] + row["explained"] <= row["wrong"], part
        assert row["one named"] <= row["pairs"], part


def test_one_part_measured_again_gives_the_same_row(stored):
    assignment = "a4_masks"
    part = load(assignment).part("shift_right")
    tally = Tally(measured(assignment, part))
    ((_, _, *numbers),) = tally.rows()
    assert list(stored[assignment, part.name].values()) == list(map(int, numbers)), STALE


def test_the_table_counts_what_happened():
    def outcome(kind, caught=True, named=False, explained=False):
        return Outcome("a4_masks", "causal_mask", kind, caught, named, explained)

    outcomes = [
        outcome(RIGHT, caught=False),
        outcome(RIGHT),
        outcome(WRONG, named=True),
        outcome(WRONG, explained=True),
        outcome(MISTAKE, named=True),
        outcome(WRONG, caught=False),
        outcome(PAIR, named=True),
        outcome(PAIR),
    ]
    assert "| a4_masks | `causal_mask` | 2 | 1 | 4 | 3 | 2 | 1 | 2 | 1 |" in page(outcomes)
    assert "of 4 wrong ones 3 lost some, and 3 (75.0 %)\nwere named or explained" in page(outcomes)


def test_readme_links_the_page():
    assert "(docs/accuracy.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
