"""Difficulty and discrimination of a part, against numbers that can be worked out by hand."""

import random

import numpy as np
import pytest

from autograder.batch.item_analysis import FEWEST, item_analysis_of


def test_difficulty_is_the_share_of_points_that_were_earned():
    items = item_analysis_of([{"p": 3.0, "q": 0.0}, {"p": 1.5, "q": 1.0}], {"p": 3, "q": 1})
    assert (items["p"].difficulty, items["p"].whole) == (0.75, 1)
    assert (items["q"].difficulty, items["q"].whole) == (0.5, 1)


def test_discrimination_is_the_correlation_with_all_other_parts():
    chance = random.Random(0)
    earned = [{part: float(chance.randrange(4)) for part in "pqr"} for _ in range(50)]
    found = item_analysis_of(earned, dict.fromkeys("pqr", 3))["q"].discrimination
    others = [own["p"] + own["r"] for own in earned]
    assert found == pytest.approx(np.corrcoef([own["q"] for own in earned], others)[0, 1])
    whole = np.corrcoef([own["q"] for own in earned], [sum(own.values()) for own in earned])[0, 1]
    assert whole > found + 0.3, "with itself in the total, a part of pure chance would seem to tell"


def test_a_part_that_those_solve_who_solve_the_rest_tells_most():
    able = [number >= FEWEST / 2 for number in range(FEWEST)]
    earned = [{"p": float(knows), "q": float(knows), "r": float(not knows)} for knows in able]
    items = item_analysis_of(
        [{**own, "s": 2 * own["p"]} for own in earned], dict.fromkeys("pqrs", 1)
    )
    assert items["p"].discrimination == pytest.approx(1)
    assert items["r"].discrimination == pytest.approx(-1)


@pytest.mark.parametrize(
    "earned",
    [
        [{"p": 1.0, "q": float(number % 2)} for number in range(FEWEST)],
        [{"p": float(number % 2), "q": float(number % 2)} for number in range(FEWEST - 1)],
        [{"p": float(number % 2)} for number in range(FEWEST)],
        [],
    ],
    ids=["all earned the same", "too few", "no other part", "nobody"],
)
def test_where_nothing_can_be_said_nothing_is(earned):
    possible = dict.fromkeys(earned[0] if earned else "p", 1)
    assert item_analysis_of(earned, possible)["p"].discrimination is None
