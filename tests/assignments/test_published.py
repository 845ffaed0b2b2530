"""Mistakes that people published: each has a source, loses points, and is called by name or explained."""

import pytest

from assignments import known, load
from autograder.bank.answers import Bank, address_of
from autograder.bank.measure import bank_of, ours_may_answer, verdict_on

pytestmark = pytest.mark.long

PUBLISHED = [(name, given) for name in known() for given in bank_of(name) if given.published]


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("karpathy/minGPT#75", "https://github.com/karpathy/minGPT/issues/75"),
        ("https://discuss.pytorch.org/t/a/1", "https://discuss.pytorch.org/t/a/1"),
    ],
)
def test_a_source_leads_somewhere(source, address):
    assert address_of(source) == address


@pytest.mark.parametrize(
    "source", ["minGPT#75", "karpathy/minGPT", "http://example.org/a", "a forum"]
)
def test_what_is_no_source_is_refused(source):
    with pytest.raises(ValueError, match="expected owner/repository#number or a link"):
        address_of(source)


def test_a_bank_keeps_the_source():
    bank = Bank("a1_rnn_attention")
    bank.wrong("annotations", published="d2l-ai/d2l-en#2306")(print)
    assert [given.published for given in bank.answers] == ["d2l-ai/d2l-en#2306"]


def test_there_are_enough_and_none_is_told_twice():
    sources = [given.published for _, given in PUBLISHED]
    assert len(sources) >= 60
    assert len(set(sources)) == len(sources)


def test_each_is_wrong_and_says_what_is_wrong_and_where_it_was_published():
    for _, given in PUBLISHED:
        assert not given.right
        assert address_of(given.published)
        what = (given.code.__doc__ or "").strip()
        assert what.endswith(".") and "|" not in what and len(what.splitlines()[0]) <= 100, given


def test_all_lose_points_and_nine_in_ten_are_named_or_explained():
    told = 0
    with ours_may_answer():
        for assignment, given in PUBLISHED:
            part = load(assignment).part(given.part)
            verdict = verdict_on(assignment, part, given.code, cells=["0"])
            assert verdict.earned < part.points, f"{given.published} keeps all points"
            told += bool(verdict.mistakes or verdict.relations)
    assert told >= 0.9 * len(PUBLISHED)
