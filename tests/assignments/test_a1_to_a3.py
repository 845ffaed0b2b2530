"""Assignments 1 to 3: what single answers earn."""

from __future__ import annotations

import itertools
import random
from operator import itemgetter

import numpy as np
import pytest
import torch
from torch import nn

from assignments import load
from autograder.bank.measure import pairs_of, verdict_on
from autograder.checks.decide import decide
from autograder.probe.probe import answer
from course_utils import attention

ASSIGNMENTS = ("a1_rnn_attention", "a2_self_attention", "a3_scaled_dot_product_attention")
PARTS = [(name, part) for name in ASSIGNMENTS for part in load(name).parts]

ENOUGH_NAMED = 0.7  # of pairs of mistakes, at least one has its name
# a bare True or False may come from any pair, so pairs are not looked for there
BARE_ANSWERS = "is_permutation_equivariant"


IDS = {"ids": lambda value: getattr(value, "name", value)}


def names(verdict):
    return [name for name, _ in verdict.mistakes]


def share_named(assignment, part, most):
    """Of pairs of mistakes in different steps, at most so many: how many have a name at least."""
    pairs = sorted(pairs_of(part), key=itemgetter(0, 1))  # in whichever order they were named
    random.Random(0).shuffle(pairs)
    named = [
        bool({one, other} & set(names(verdict_on(assignment, part, both))))
        for one, other, both in pairs[:most]
    ]
    return sum(named) / len(named)


PAIRED = [(name, part) for name, part in PARTS if part.name != BARE_ANSWERS]


@pytest.mark.parametrize(("assignment", "part"), PAIRED, **IDS)
@pytest.mark.parametrize(
    "most",
    [pytest.param(60, marks=pytest.mark.long), pytest.param(200, marks=pytest.mark.slow)],
)
def test_of_two_mistakes_at_once_one_is_named(assignment, part, most):
    assert share_named(assignment, part, most) >= ENOUGH_NAMED


def test_a_mean_that_reads_neither_queries_nor_keys_earns_nothing():
    def mean(query, key, value):
        return value.mean(dim=1, keepdim=True).expand(-1, query.shape[1], -1)

    part = load("a2_self_attention").part("self_attention")
    verdict = verdict_on("a2_self_attention", part, mean)
    assert names(verdict) == ["plain mean of the values"] and verdict.earned == 0


def test_zeros_are_no_two_mistakes_at_once():
    """Two mistakes may come to 0 everywhere, and so does an answer that has made neither of them."""
    part = load("a3_scaled_dot_product_attention").part("stable_softmax")
    for answered in (
        lambda scores, axis=-1: np.zeros_like(scores),
        lambda scores, axis=-1: np.ones_like(scores),
    ):
        verdict = verdict_on("a3_scaled_dot_product_attention", part, answered)
        assert names(verdict) == [] and verdict.earned == 0


def test_two_mistakes_have_both_their_names():
    part = load("a3_scaled_dot_product_attention").part("scaled_dot_product_attention")

    def unscaled_with_nan(query, key, value, mask=None):
        scores = query @ key.mT
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(dim=-1)
        return weights @ value, weights

    verdict = verdict_on("a3_scaled_dot_product_attention", part, unscaled_with_nan)
    assert set(names(verdict)) == {"not scaled", "NaN where nothing is visible"}
    assert verdict.earned == 4


def test_results_in_a_dict_are_charged_once():
    def in_a_dict(query, key, value, mask=None):
        output, weights = attention.scaled_dot_product_attention(query, key, value, mask)
        return {"output": output, "weights": weights}

    part = load("a3_scaled_dot_product_attention").part("scaled_dot_product_attention")
    verdict = verdict_on("a3_scaled_dot_product_attention", part, in_a_dict)
    assert verdict.points - verdict.earned == 1
    assert [name for name, _ in verdict.relations] == ["results in a dict"]


@pytest.mark.parametrize("order", list(itertools.permutations("WUv")), ids="".join)
def test_a_bias_is_charged_once_in_whatever_order_layers_are_made(order):
    part = load("a1_rnn_attention").part("BahdanauAttention")

    class WithBias(part.reference):
        def __init__(self, decoder_dim, encoder_dim, attention_dim):
            super().__init__(decoder_dim, encoder_dim, attention_dim)
            widths = {"W": (decoder_dim, attention_dim), "U": (encoder_dim, attention_dim)}
            for name in order:
                setattr(self, name, nn.Linear(*widths.get(name, (attention_dim, 1))))

    verdict = verdict_on("a1_rnn_attention", part, WithBias)
    assert verdict.earned == part.points - 1
    assert "`W` has a bias" in verdict.steps[0].problem


@pytest.mark.parametrize("low", [-1e9, -1e20])
def test_equal_weights_where_nothing_is_visible_are_not_called_nan(low):
    part = load("a3_scaled_dot_product_attention").part("scaled_dot_product_attention")

    def hidden_by_a_number(query, key, value, mask=None):
        scores = query @ key.mT / key.shape[-1] ** 0.5
        weights = (scores if mask is None else scores.masked_fill(~mask, low)).softmax(dim=-1)
        return weights @ value, weights

    verdict = verdict_on("a3_scaled_dot_product_attention", part, hidden_by_a_number)
    said = " ".join([*(step.problem for step in verdict.steps), *dict(verdict.mistakes).values()])
    assert verdict.earned == 5
    assert names(verdict) == ["all is seen where nothing is visible"]
    assert "NaN" not in said


def test_a_changed_mask_is_not_explained_by_nan_where_nothing_is_visible():
    part = load("a3_scaled_dot_product_attention").part("scaled_dot_product_attention")

    def both(query, key, value, mask=None):
        scores = query @ key.mT / key.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not_(), float("-inf"))
        weights = scores.softmax(dim=-1)
        return weights @ value, weights

    verdict = verdict_on("a3_scaled_dot_product_attention", part, both)
    lost = [step.problem for step in verdict.steps if not step.earned]
    assert verdict.earned == 3 and names(verdict) == ["NaN where nothing is visible"]
    assert ["`mask` was changed" in problem for problem in lost] == [True, False, True]


def wrong_answers_to(part):
    """Named mistakes that give a wrong True or False, with the sentences on the steps they fail."""
    for mistake in part.mistakes:
        verdict = verdict_on("a2_self_attention", part, mistake.answer)
        yield mistake.name, [step.problem for step in verdict.steps if step.problem]


@pytest.mark.long
def test_a_wrong_true_and_a_wrong_false_are_explained_differently():
    part = load("a2_self_attention").part("is_permutation_equivariant")
    said = {sentence for _, sentences in wrong_answers_to(part) for sentence in sentences}
    assert any("at its own place" in sentence for sentence in said)
    assert any("forgive rounding" in sentence for sentence in said)
    assert not any(
        sentence in ("expected True, got False", "expected False, got True") for sentence in said
    )


def test_many_answers_are_not_said_to_be_one():
    def number_by_number(f, x, permutation):
        return torch.isclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5)

    name = "a2_self_attention"
    verdict = verdict_on(name, load(name).part("is_permutation_equivariant"), number_by_number)
    assert verdict.steps[0].problem == "expected True or False, got a tensor of shape (5, 3)"
    assert verdict.earned == 1 and names(verdict) == ["an answer for each number"]


@pytest.mark.parametrize("tolerances", [{"rtol": 1e-3, "atol": 1e-5}, {"rtol": 1e-4, "atol": 1e-4}])
def test_a_tolerance_ten_times_too_wide_is_seen(tolerances):
    part = load("a2_self_attention").part("is_permutation_equivariant")

    def too_wide(f, x, permutation):
        return torch.allclose(f(x[permutation]), f(x)[permutation], **tolerances)

    verdict = verdict_on("a2_self_attention", part, too_wide)
    assert verdict.earned == 1
    assert names(verdict) == ["tolerance too wide"]


def test_a_layout_that_no_view_can_merge_is_tried_in_four_axes_and_for_the_mask():
    part = load("a3_scaled_dot_product_attention").part("scaled_dot_product_attention")
    reference = part.reference

    def merged(query, key, value, mask=None):
        query.view(-1, *query.shape[-2:])
        return reference(query, key, value, mask)

    def mask_merged(query, key, value, mask=None):
        return reference(
            query, key, value, None if mask is None else mask.view(-1).view(mask.shape)
        )

    for code in (merged, mask_merged):
        verdict = verdict_on("a3_scaled_dot_product_attention", part, code)
        assert verdict.earned == 5
        assert "view size is not compatible" in next(s.problem for s in verdict.steps if s.problem)


def test_np_logaddexp_is_welcome():
    assignment = load("a3_scaled_dot_product_attention")
    source = (
        "def stable_softmax(scores, axis=-1):\n"
        "    total = np.logaddexp.reduce(scores, axis=axis)\n"
        "    return np.exp(scores - np.expand_dims(total, axis))\n"
    )
    namespace = {"np": np}
    exec(source, namespace)
    part = assignment.part("stable_softmax")
    verdict = decide(assignment, part, lambda message: answer(message, namespace), [source])
    assert verdict.right, verdict.remark
