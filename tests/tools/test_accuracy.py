"""docs/accuracy.md says what the banks and the checks hold today."""

import pytest

from assignments import known, load
from autograder.bank.measure import (
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
from tools.accuracy import (
    COLUMNS,
    PAGE,
    PUBLISHED,
    QUOTING,
    page,
    published_line,
    published_lines_in,
    published_section,
    quoted,
    rows_in,
    rows_of,
    sections_of,
    with_section,
)

PARTS = [(name, part) for name in known() for part in load(name).parts]
STALE = "docs/accuracy.md is older than the banks or the checks: run `make accuracy`"
IDS = {"ids": lambda value: getattr(value, "name", value)}


def stale(assignment):
    return f"{STALE} ONLY={assignment}"


@pytest.fixture(scope="module")
def stored():
    """The page's table: a dictionary a part."""
    assert PAGE.exists(), STALE
    rows = rows_in(PAGE.read_text(encoding="utf-8"))
    return {key: dict(zip(COLUMNS, numbers, strict=True)) for key, numbers in rows.items()}


def test_every_part_is_on_the_page(stored):
    assert list(stored) == [(name, part.name) for name, part in PARTS], STALE


@pytest.mark.parametrize(("assignment", "part"), PARTS, **IDS)
def test_answers_are_those_of_the_banks(stored, assignment, part):
    assert (assignment, part.name) in stored, stale(assignment)
    row = stored[assignment, part.name]
    bank = [given for given in bank_of(assignment) if given.part == part.name]
    right = sum(given.right for given in bank)
    assert row["right"] == right, stale(assignment)
    assert row["wrong"] == len(bank) - right + len(part.mistakes), stale(assignment)
    assert row["pairs"] == min(MOST_PAIRS, len(list(pairs_of(part)))), stale(assignment)


@pytest.mark.parametrize(("assignment", "part"), PARTS, **IDS)
def test_what_the_page_claims_is_what_the_tests_demand(stored, assignment, part):
    row = stored.get((assignment, part.name))
    assert row, stale(assignment)
    assert row["false alarms"] == 0
    assert row["caught"] == row["wrong"]
    assert row["misled"] == 0
    assert row["named"] + row["explained"] <= row["wrong"]
    assert row["one named"] <= row["pairs"]


@pytest.mark.long
def test_one_part_measured_again_gives_the_same_row(stored):
    assignment = "a4_masks"
    part = load(assignment).part("shift_right")
    tally = Tally(measured(assignment, part))
    ((_, _, *numbers),) = tally.rows()
    assert list(stored[assignment, part.name].values()) == list(map(int, numbers)), STALE


def test_the_table_counts_what_happened():
    def outcome(kind, caught=True, named=False, explained=False, misled=False):
        return Outcome("a4_masks", "causal_mask", kind, caught, named, explained, misled)

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
    text = page(rows_of(outcomes))
    assert "| a4_masks | `causal_mask` | 2 | 1 | 4 | 3 | 2 | 1 | 1 | 2 | 1 |" in text
    assert "of 4 wrong ones 3 lost some, and 3 (75.0 %)\nwere named or explained" in text


def test_a_page_that_is_read_is_written_again_as_it_was():
    text = PAGE.read_text(encoding="utf-8")
    assert page(rows_in(text)) + sections_of(text) == text, STALE
    assert with_section(text, PUBLISHED, published_section(published_lines_in(text))) == text, STALE


def test_a_section_is_put_in_the_place_of_its_predecessor():
    text = with_section(with_section("# A page\n\nwords\n", "One", "1\n"), "Two", "2\n")
    assert text == "# A page\n\nwords\n\n## One\n\n1\n\n## Two\n\n2\n"
    assert with_section(text, "One", "11\n") == text.replace("\n1\n", "\n11\n")
    assert with_section(text, "Two", "22\n") == text.replace("\n2\n", "\n22\n")


def test_every_published_mistake_has_a_row_that_is_still_true():
    rows = published_lines_in(PAGE.read_text(encoding="utf-8"))
    published = [(name, given) for name in known() for given in bank_of(name) if given.published]
    assert len(rows) == len(published), STALE
    for assignment, given in published[::20]:
        assert published_line(assignment, given) in rows, STALE


def test_a_guide_that_quotes_the_page_gets_its_numbers():
    text = QUOTING.read_text(encoding="utf-8")
    rows = rows_in(PAGE.read_text(encoding="utf-8"))
    assert quoted(text, rows) == text, STALE
    one = {("a4_masks", "causal_mask"): [12, 0, 80, 80, 40, 20, 0, 2, 1]}
    said = " ".join(quoted(text, one).split())
    for words in (
        "12 right ones, of which none",
        "80 wrong ones, of which all",
        "75.0 % of the wrong",
    ):
        assert words in said


def test_readme_links_the_page():
    assert "(docs/accuracy.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
