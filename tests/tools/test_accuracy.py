"""docs/grading.md says what the banks and the checks hold today."""

import pytest

from assignments import known, load
from autograder.bank.measure import (
    MISTAKE,
    MOST_PAIRS,
    PAIR,
    RIGHT,
    WRONG,
    Outcome,
    bank_of,
    measured,
    pairs_of,
)
from tests.sample_class import ROOT
from tools.accuracy import (
    COLUMNS,
    HEADING,
    PAGE,
    parts_table,
    published_line,
    published_lines,
    rows_in,
    rows_of,
    section,
    with_section,
)

STALE = "docs/grading.md is older than the banks or the checks: run `make accuracy`"
by_assignment = pytest.mark.parametrize("assignment", known())


def stale(assignment):
    return f"{STALE} ONLY={assignment}"


@pytest.fixture(scope="module")
def stored():
    """The page's table: a dictionary an assignment."""
    rows = rows_in(PAGE.read_text(encoding="utf-8"))
    return {key: dict(zip(COLUMNS, numbers, strict=True)) for key, numbers in rows.items()}


def test_every_assignment_is_on_the_page(stored):
    assert list(stored) == known(), STALE


@by_assignment
def test_answers_are_those_of_the_banks(stored, assignment):
    assert assignment in stored, stale(assignment)
    row, parts = stored[assignment], load(assignment).parts
    right = [given.right for given in bank_of(assignment)]
    assert row["right"] == sum(right), stale(assignment)
    wrong = len(right) - sum(right) + sum(len(part.mistakes) for part in parts)
    assert row["wrong"] == wrong, stale(assignment)
    pairs = sum(min(MOST_PAIRS, len(list(pairs_of(part)))) for part in parts)
    assert row["pairs"] == pairs, stale(assignment)
    published = sum(bool(given.published) for given in bank_of(assignment))
    assert row["published"] == published, stale(assignment)


@by_assignment
def test_what_the_page_claims_is_what_the_tests_demand(stored, assignment):
    row = stored.get(assignment)
    assert row, stale(assignment)
    assert row["false alarms"] == 0
    assert row["caught"] == row["wrong"]
    assert row["misled"] == 0
    assert row["named"] + row["explained"] <= row["wrong"]
    assert row["one named"] <= row["pairs"]
    assert row["and told"] <= row["published"]


@pytest.mark.long
def test_an_assignment_measured_again_gives_the_same_row(stored):
    name = "a4_masks"
    outcomes = [item for part in load(name).parts for item in measured(name, part)]
    assert list(stored[name].values()) == rows_of(outcomes, published_lines([name]))[name], STALE


def test_the_table_counts_what_happened():
    def outcome(kind, part="causal_mask", caught=True, named=False, explained=False, misled=False):
        return Outcome("a4_masks", part, kind, caught, named, explained, misled)

    outcomes = [
        outcome(RIGHT, caught=False),
        outcome(RIGHT),
        outcome(WRONG, named=True),
        outcome(WRONG, explained=True, misled=True),
        outcome(MISTAKE, named=True),
        outcome(WRONG, caught=False),
        outcome(PAIR, named=True),
        outcome(PAIR),
    ]
    assert "| a4_masks | causal_mask | 2 | 1 | 4 | 3 | 2 | 1 | 1 | 2 | 1 |" in parts_table(outcomes)
    others = [outcome(WRONG, "shift_right"), outcome(RIGHT, "shift_right", caught=False)]
    published = [
        "| … | … | a4 `causal_mask` | 1 of 2 | a name |",
        "| … | … | a4 `shift_right` | 1 of 2 | *no words* |",
        "| … | … | a40 `shift_right` | 1 of 2 | a name |",
    ]
    text = section(rows_of(outcomes + others, published))
    assert "| a4_masks | 3 | 1 | 5 | 4 | 2 | 1 | 1 | 2 | 1 | 2 | 1 |" in text
    assert "Of 3 right answers 1 lost a point.\nOf 5 wrong ones 4 lost some, and 3 (60.0 %)" in text


def test_a_page_that_is_read_is_written_again_as_it_was():
    text = PAGE.read_text(encoding="utf-8")
    assert with_section(text, HEADING, section(rows_in(text))) == text, STALE


def test_a_section_is_put_in_the_place_of_its_predecessor():
    text = with_section(with_section("# A page\n\nwords\n", "One", "1\n"), "Two", "2\n")
    assert text == "# A page\n\nwords\n\n## One\n\n1\n\n## Two\n\n2\n"
    assert with_section(text, "One", "11\n") == text.replace("\n1\n", "\n11\n")
    assert with_section(text, "Two", "22\n") == text.replace("\n2\n", "\n22\n")


def test_published_mistakes_lose_points_and_all_but_some_are_told(stored):
    published = [(name, given) for name in known() for given in bank_of(name) if given.published]
    untold = sum(row["published"] - row["and told"] for row in stored.values())
    lines = [published_line(name, given) for name, given in published[::20]]
    assert not [line for line in lines if "| 0 of " in line]
    assert sum("*no words*" in line for line in lines) <= untold, STALE


def test_readme_links_the_page():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"(docs/grading.md#{HEADING.replace(' ', '-')})" in readme
