"""An error is charged once: by its name, or half of the part at most where it has none."""

from dataclasses import replace

import pytest
import torch

from autograder.bank.answers import Bank
from autograder.bank.edits import Answers
from autograder.bank.measure import attempts_at
from autograder.checks.cases import Build, Case
from autograder.checks.check import Part
from autograder.checks.credit import waived
from autograder.checks.diagnosis import diagnosis_of
from autograder.checks.verdicts import Waived


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


def charged(part, code):
    """The steps that failed, each with why it keeps its points, if it does."""
    attempts = attempts_at(part, code)
    return {
        step.asks: why for step, why in waived(attempts, lambda: diagnosis_of(attempts)).items()
    }


def lost(part, code):
    """The steps that are lost, once a mistake is charged once."""
    return [asks for asks, why in charged(part, code).items() if not why]


@pytest.mark.parametrize("code", [unscaled, unscaled_by_hand])
def test_a_mistake_costs_the_steps_that_it_is_about(code):
    assert lost(part_with([0]), code) == ["the scale"]
    assert lost(part_with([1]), code) == ["any size"]


def test_a_step_that_is_wrong_by_the_same_mistake_keeps_its_points():
    assert charged(part_with([0]), unscaled) == {
        "the scale": Waived.NO,
        "any size": Waived.SAME,
    }


def test_a_mistake_that_costs_no_step_in_particular_costs_the_first_that_it_spoils():
    assert lost(part_with([]), unscaled) == ["the scale"]


def test_a_mistake_that_is_as_good_as_no_answer_costs_all_that_it_spoils():
    part = part_with([])
    part.mistake("all alike", "Nothing is read.", costs_more="as good as no answer")(
        torch.zeros_like
    )
    assert lost(part, torch.zeros_like) == ["the scale", "any size", "shares"]


def test_what_is_wrong_beside_the_mistake_is_charged_as_well():
    assert lost(part_with([0]), unscaled_and_wide) == ["the scale", "any size"]


def test_a_mistake_that_was_not_made_gives_nothing_back():
    assert lost(part_with([0]), lambda x: scaled_shares(x).flip(0)) == ["the scale", "any size"]


def test_what_has_no_name_costs_half_where_the_plainest_case_is_right():
    def right_for_three_rows(x):
        return scaled_shares(x) if len(x) == 3 else x.softmax(dim=0)

    assert charged(part_with([0]), right_for_three_rows) == {
        "any size": Waived.NO,
        "shares": Waived.HALF,
    }


def test_what_has_no_name_costs_all_that_it_spoils_where_the_plainest_case_is_wrong():
    assert lost(part_with([0]), lambda x: x) == ["the scale", "any size", "shares"]


def part_with_gradients(*first):
    part = Part("shares(x (T, D)) -> z (T, D)", scaled_shares, ("lecture 0", "link"))
    part.step("the scale", 1, *first, case(3, 4).with_gradients())
    part.step("any size", 2, case(5, 3), case(2, 5).with_gradients())
    return part


def test_gradients_that_are_wrong_in_the_same_way_are_charged_once():
    assert charged(part_with_gradients(case(3, 4)), lambda x: scaled_shares(x.detach())) == {
        "the scale": Waived.SAME,
        "any size": Waived.NO,
    }


def test_a_step_in_which_nothing_is_right_is_not_spared_for_its_gradients():
    def stops(x):
        raise ValueError("fnord")

    assert lost(part_with_gradients(), stops) == ["the scale", "any size"]
    assert lost(part_with_gradients(case(3, 4)), stops) == ["the scale", "any size"]


def test_to_pass_on_zeros_or_nothing_at_all_is_the_same():
    """An answer in which the input has no say, found by name, is not charged for its gradients as well."""
    part = part_with_gradients(case(3, 4))
    [first, _] = part.steps
    part.mistake("equal shares", "Where does x enter?", costs=first)(lambda x: unscaled(0 * x))

    assert charged(part, lambda x: torch.full_like(x, 1 / x.shape[-1])) == {
        "the scale": Waived.NO,
        "any size": Waived.SAME,
    }
    # but where the mistake passes something on
    assert lost(part_with_gradients(), lambda x: unscaled(x.detach())) == ["the scale", "any size"]


def test_numbers_that_are_wrong_beside_gradients_are_charged():
    def detached_and_turned_round(x):
        return scaled_shares(x.detach()).flip(0)

    part = part_with_gradients(case(1, 4), case(3, 4))
    assert lost(part, detached_and_turned_round) == ["the scale", "any size"]


def exact(expected, got):
    return None if (got - expected).abs().max() <= 1e-3 else "off by more than a thousandth"


def test_what_a_judge_forgives_is_no_other_mistake():
    part = part_with([0])
    large = Case("large", lambda randn: [randn(7, 4)], random=True)
    part.step("large", 1, large, judge=exact)
    assert charged(part, lambda x: unscaled(x) + 5e-4 * (len(x) == 7)) == {
        "the scale": Waived.NO,
        "any size": Waived.SAME,
        "large": Waived.SAME,
    }


def test_that_all_stops_with_an_error_is_no_mistake_in_particular():
    def stops(x):
        raise ValueError("fnord")

    part = part_with([])
    part.mistake("stops", "It stops.", costs=(part.steps[0],))(stops)
    assert lost(part, stops) == ["the scale", "any size", "shares"]


def test_weights_that_cannot_be_set_show_nothing_that_is_right(trained_part):
    part, without_weights = trained_part
    assert lost(part, without_weights) == ["its numbers", "any size"]


SHARES = """
    def shares(x):
        columns = "0 columns"
        refuse(x, columns)
        scaled = x / x.shape[-1] ** 0.5
        return scaled.softmax(dim=-1)
"""


def refuse(x, message):
    if not x.shape[-1]:
        raise ValueError(message)


@pytest.mark.parametrize("costs", [[], [0], [1]])
def test_each_of_two_mistakes_costs_what_it_would_cost_alone(costs):
    part = Part("shares(x (T, D)) -> z (T, D)", scaled_shares, ("lecture 0", "link"))
    steps = [
        part.step("the scale", 1, case(3, 4)),
        part.step("any size", 1, case(2, 9), case(5, 3)),
        part.step("refused", 1, replace(case(2, 0), raises=("ValueError", "0"))),
        part.step("other sizes", 1, case(7, 2)),
    ]
    about = tuple(steps[number] for number in costs)
    answers = Answers(__name__, Bank("a1"), part, SHARES, refuse=refuse)
    part.reference = answers.code
    answers.slip("no scale", "scaled = x", about, "Divide by √D.")
    answers.slip("error without the number", "columns = 'no columns'", (), "The number is missing.")
    of_scale, of_error = part.mistakes
    both = of_scale.together_with(of_error)
    for_the_scale = about or (steps[0],)
    assert lost(part, of_scale.answer) == [step.asks for step in for_the_scale]
    assert lost(part, both) == [step.asks for step in (*for_the_scale, steps[2])]


@pytest.fixture
def trained_part():
    """A part whose answer is a module, and an answer without the weights that are set."""

    def built(rows):
        return Case(f"{rows} rows", lambda randn: Build((4,), arguments=[randn(rows, 4)]))

    class Without(torch.nn.Module):
        def __init__(self, width):
            super().__init__()

        def forward(self, x):
            return x

    class Map(torch.nn.Linear):
        def __init__(self, width):
            super().__init__(width, 2)

    part = Part("Map(width)", Map, ("lecture 0", "link"))
    part.step("its numbers", 1, built(3))
    part.step("any size", 1, built(5))
    part.mistake("no weights", "There are none.")(Without)
    return part, Without


def test_one_step_that_failed_is_left_as_it_is():
    part = part_with([1])
    attempts = attempts_at(part, lambda x: scaled_shares(x) * (1 + (x.shape == (3, 4))))

    def never():
        raise AssertionError("nobody need look for a mistake")

    assert waived(attempts, never) == {part.steps[0]: Waived.NO}
