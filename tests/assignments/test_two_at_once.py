"""Two named mistakes at once cost no less than the dearer one, and their sum where they break other steps."""

import random
from functools import cache
from itertools import combinations

import pytest

from assignments import known, load
from autograder.bank.measure import verdict_at, verdict_on
from autograder.checks.check import Part
from autograder.checks.mistakes import Mistake
from tests.assignments.cheaper import TWO_AT_ONCE

PARTS = [(name, part) for name in known() for part in load(name).parts]
IDS = {"ids": lambda value: getattr(value, "name", value)}
SAMPLE = 10  # pairs of a part; all are tried where time is no matter


@cache
def pairs_of(part: Part) -> list[tuple[Mistake, Mistake]]:
    """All pairs of the part's mistakes that can be made at once, a sample of them first."""
    pairs = [
        pair
        for pair in combinations(part.mistakes, 2)
        if pair[0].name != pair[1].name and pair[0].together_with(pair[1])
    ]
    pairs.sort(key=lambda pair: (pair[0].name, pair[1].name))
    sample = random.Random(part.name).sample(range(len(pairs)), min(SAMPLE, len(pairs)))
    rest = sorted({*range(len(pairs))} - {*sample})
    return [pairs[number] for number in [*sample, *rest]]


def wrong_with(assignment: str, part: Part, pair: tuple[Mistake, Mistake]) -> str:
    """What is wrong with the verdict on a pair; empty if nothing is.

    Where one takes away what the other would break, the answer is that of the one alone, and its price is.
    """
    both = pair[0].together_with(pair[1])
    verdict = verdict_on(assignment, part, both, cells=["0"])
    alone = [verdict_at(assignment, part, one.answer, 0) for one in pair]
    lost = part.points - verdict.earned
    each = [part.points - one.earned for one in alone]
    broken = [{step.asks for step in one.steps if step.problem} for one in alone]
    now_broken = {step.asks for step in verdict.steps if step.problem}
    found = {name for name, _ in verdict.mistakes}
    for one, price, steps in zip(pair, each, broken, strict=True):
        if found == {one.name} and lost >= price and now_broken == steps:
            return ""
    if not broken[0] & broken[1] and (lost < sum(each) or found != {one.name for one in pair}):
        return f"costs {lost:g} and not {sum(each):g}, named {sorted(found)}"
    return "" if lost >= max(each) else f"costs {lost:g}, less than {max(each):g}"


@pytest.mark.parametrize(
    "which",
    [
        pytest.param(slice(SAMPLE), marks=pytest.mark.long),
        pytest.param(slice(SAMPLE, None), marks=pytest.mark.slow),
    ],
    ids=["some", "all"],
)
@pytest.mark.parametrize(("assignment", "part"), PARTS, **IDS)
def test_two_mistakes_cost_what_both_do(assignment, part, which):
    told = {
        tuple(one.name for one in pair): wrong_with(assignment, part, pair)
        for pair in pairs_of(part)[which]
    }
    listed = TWO_AT_ONCE.get(part.name, {})
    assert {pair: said for pair, said in told.items() if said and pair not in listed} == {}
    stale = [pair for pair in listed if pair in told and not told[pair]]
    assert not stale, "these pairs cost what both do, so they need no reason any more"


def test_what_breaks_other_steps_is_charged_and_named_beside_what_shows_by_chance_alone():
    """In this part, rows that see nothing are judged in cases by which no mistake is known."""
    name = "a5_multi_head_attention"
    part = load(name).part("MultiHeadAttention")
    [blind] = part.named("NaN where nothing is visible")
    [silent] = part.named("error without the numbers")
    verdict = verdict_on(name, part, blind.together_with(silent), cells=["0"])
    assert verdict.earned == part.points - 2
    assert {found for found, _ in verdict.mistakes} == {blind.name, silent.name}
    assert not [step for step in verdict.steps if step.waived]
