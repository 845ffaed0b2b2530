"""A mistake costs the steps that it is about; what other steps lose by it alone is given back."""

import pytest
import torch

from autograder.verdict.charge import charged_once
from autograder.verdict.check import Case, Part
from autograder.verdict.naming import found_in
from tests.autograder.measure import attempts_at


def scaled_shares(x):
    """A part of our own: a scale, and then shares."""
    return (x / x.shape[-1] ** 0.5).softmax(dim=-1)


def case(rows, columns):
    return Case(f"{rows}, {columns}", lambda randn: [randn(rows, columns)])


def sums_to_one(expected, got):
    good = got.shape == expected.shape and torch.allclose(got.sum(-1), torch.ones(len(got)))
    return None if good else "the rows do not sum to one"


def part_with(costs):
    """The part, with the mistake of leaving out the scale, which costs the steps of these numbers."""
    part = Part("shares(x (T, D)) -> z (T, D)", scaled_shares, ("lecture 0", "link"))
    steps = [
        part.step("the scale", 1, case(3, 4)),
        part.step("any size", 1, case(2, 9), case(5, 3)),
        part.step("shares", 1, case(2, 4), judge=sums_to_one),
    ]
    part.mistake("no scale", "Divide by √D.", costs=tuple(steps[n] for n in costs))(unscaled)
    return part


def unscaled(x):
    return x.softmax(dim=-1)


def unscaled_by_hand(x):
    return x.exp() / x.exp().sum(dim=-1, keepdim=True)


def unscaled_and_wide(x):
    shares = unscaled(x)
    return shares if x.shape[-1] < 9 else shares.flip(0)


def lost(part, code):
    """The steps that are lost, once a mistake is charged once."""
    attempts = attempts_at(part, code)
    charged = charged_once(attempts, lambda: found_in(attempts))
    return [
        step.asks
        for step in part.steps
        if any(item.problem and item.step is step for item in charged)
    ]


@pytest.mark.parametrize("code", [unscaled, unscaled_by_hand])
def test_a_mistake_costs_the_steps_that_it_is_about(code):
    assert lost(part_with([0]), code) == ["the scale"]
    assert lost(part_with([1]), code) == ["any size"]


def test_a_mistake_that_costs_no_step_in_particular_costs_all_that_it_spoils():
    assert lost(part_with([]), unscaled) == ["the scale", "any size"]


def test_what_is_wrong_beside_the_mistake_is_charged_as_well():
    assert lost(part_with([0]), unscaled_and_wide) == ["the scale", "any size"]


def test_a_mistake_that_was_not_made_gives_nothing_back():
    assert lost(part_with([0]), lambda x: scaled_shares(x).flip(0)) == ["the scale", "any size"]


def test_that_all_stops_with_an_error_is_no_mistake_in_particular():
    def stops(x):
        raise ValueError("fnord")

    part = part_with([])
    part.mistake("stops", "It stops.", costs=(part.steps[0],))(stops)
    assert lost(part, stops) == ["the scale", "any size", "shares"]


def test_one_step_that_failed_is_left_as_it_is():
    part = part_with([1])
    attempts = attempts_at(part, lambda x: scaled_shares(x) * (1 + (x.shape == (3, 4))))

    def never():
        raise AssertionError("nobody need look for a mistake")

    assert charged_once(attempts, never) == attempts
