"""The exact distribution of a kind of sentence against what is drawn."""

import math
from collections import Counter

import pytest

from lecture_kit.corpus.draws import Draw
from lecture_kit.corpus.exact import EveryThrow, distribution, throws
from lecture_kit.corpus.sentences import write_down
from lecture_kit.corpus.statements import mood


def test_every_throw_comes_once_with_its_probability():
    dice, seen = EveryThrow(), {}
    more = True
    while more:
        dice.begin()
        word = dice.pick("ab") + (dice.weighted([(1, "x"), (3, "y")]) if dice.chance(0.25) else "")
        seen[word] = dice.probability
        more = dice.advance()
    assert seen == pytest.approx(
        {"ax": 1 / 32, "ay": 3 / 32, "a": 3 / 8, "bx": 1 / 32, "by": 3 / 32, "b": 3 / 8}
    )


def test_moods_have_the_probabilities_with_which_they_are_drawn():
    exact = distribution([(1, mood)])
    assert sum(exact.values()) == pytest.approx(1)
    draw, drawn = Draw(5), Counter()
    for _ in range(20_000):
        draw.begin()
        written = write_down(mood(draw))
        if written is not None:
            drawn[written[1]] += 1
    assert set(drawn) <= set(exact)
    total = sum(drawn.values())
    for sentence, number in drawn.most_common(40):
        expected = total * exact[sentence]
        assert abs(number - expected) < 5 * math.sqrt(expected)


def test_the_numbers_that_lecture_9_starts_from():
    exact = distribution([(1, mood)])
    entropy = -sum(share * math.log(share) for share in exact.values())
    assert len(exact) == 3024 and sum(1 for _ in throws(mood)) == 4592
    assert entropy == pytest.approx(6.3552, abs=1e-4)
