"""The answers that are always tried are chosen by name, and all others are tried in `make test-all`."""

import random

from assignments import known, load
from autograder.bank.measure import bank_of
from tests.assignments.sample import answers_in_sample, first_of_each, mistakes_in_sample
from tests.assignments.test_each_mistake import MISTAKES
from tests.autograder.test_checks import ANSWERS

PARTS = [(name, part) for name in known() for part in load(name).parts]


def test_names_decide_and_not_the_order_of_writing():
    kinds = {"ab": "x", "ba": "y", "aa": "x", "c": "xy", "b": "z"}
    for seed in range(5):
        names = random.Random(seed).sample(sorted(kinds), len(kinds))
        assert first_of_each(names, str, lambda name: kinds[name]) == ["aa", "b", "ba"]


def test_every_part_has_mistakes_and_answers_in_the_sample():
    for name, part in PARTS:
        costing = {step for one in mistakes_in_sample(name, part.name) for step in one.costs}
        assert costing == {step for one in part.mistakes for step in one.costs}
        assert {one.right for one in answers_in_sample(name, part.name)} == {True, False}


def quick_and_all(parameters):
    """How many of these tests `make test` runs, and how many there are."""
    return sum(not given.marks for given in parameters), len(parameters)


def test_what_is_not_in_the_sample_is_left_to_the_longer_run_and_not_out():
    quick, every = quick_and_all(MISTAKES)
    assert every == sum(len(part.mistakes) for _, part in PARTS)
    assert quick == sum(len(mistakes_in_sample(name, part.name)) for name, part in PARTS)
    quick, every = quick_and_all(ANSWERS)
    banks = [given for name in known() for given in bank_of(name) if not given.slow]
    assert every == len(banks)
    assert quick == sum(len(answers_in_sample(name, part.name)) for name, part in PARTS)
