"""What is wrong is called by its name, alone or in company, or it is said how it differs."""

from __future__ import annotations

import random
import re
from collections import Counter

import numpy as np
import pytest
import torch

from assignments import known, load
from autograder.bank.measure import attempts_at, bank_of, ours_may_answer, pairs_of, verdict_on
from autograder.checks.diagnosis import diagnosis_of, mistakes_in
from autograder.checks.drawn_cases import CaseRun, DrawnCases
from autograder.checks.explain.differences import relations_in
from autograder.checks.problem import as_problem
from autograder.probe.messages import Observation

PARTS = [(name, part) for name in known() for part in load(name).parts]
IDS = {"ids": lambda value: getattr(value, "name", value)}
A_FEW = 2  # pairs of each part, for the quick test


@pytest.fixture(autouse=True)
def _the_course_may_call_itself():
    with ours_may_answer():
        yield


def names_in(attempts):
    return mistakes_in(attempts, diagnosis_of(attempts))


def part_of(assignment, name):
    return load(assignment).part(name)


SELF_ATTENTION = part_of("a2_self_attention", "self_attention")
MULTI_HEAD = part_of("a5_multi_head_attention", "MultiHeadAttention")


# ------------------------------------------------------------------------------------ in company


def shares_of_pairs(assignment, part, most=None):
    """How many pairs were tried, lost points, and had at least one of their names."""
    pairs = list(pairs_of(part))
    chosen = random.Random(part.name).sample(pairs, min(most or len(pairs), len(pairs)))
    found = Counter()
    for one, other, both in chosen:
        verdict = verdict_on(assignment, part, both)
        found["tried"] += 1
        found["caught"] += verdict.earned < part.points
        found["named"] += bool({one, other} & {name for name, _ in verdict.mistakes})
    return found


@pytest.mark.long
def test_of_two_mistakes_at_once_one_at_least_is_named():
    found = Counter()
    for assignment, part in PARTS:
        found += shares_of_pairs(assignment, part, A_FEW)
    assert found["caught"] == found["tried"] > 20
    assert found["named"] >= 0.7 * found["tried"]


@pytest.mark.slow
def test_of_all_pairs_of_mistakes_one_at_least_is_named():
    found = Counter()
    for assignment, part in PARTS:
        here = shares_of_pairs(assignment, part)
        print(f"{part.name:35} {here['tried']:5} pairs, {here['named']:5} named")
        assert here["caught"] == here["tried"]
        found += here
    assert found["named"] >= 0.7 * found["tried"]


@pytest.mark.long
def test_both_of_two_mistakes_are_named():
    pairs = {frozenset((one, other)): both for one, other, both in pairs_of(MULTI_HEAD)}
    tried = named = 0
    for names, both in list(pairs.items())[::60]:
        found = {name for name, _ in names_in(attempts_at(MULTI_HEAD, both))}
        tried, named = tried + 1, named + (found == names)
    assert tried > 5
    assert named >= tried / 2


def test_two_mistakes_that_both_act_everywhere_are_named():
    """Neither can be ruled out by what it does alone, so many pairs have to be tried."""
    layer = part_of("a9_transformer", "DecoderLayer")
    pairs = {frozenset((one, other)): both for one, other, both in pairs_of(layer)}
    names = frozenset(
        [
            "no residual connection around the feed-forward network",
            "a norm missing behind cross-attention",
        ]
    )
    assert {name for name, _ in names_in(attempts_at(layer, pairs[names]))} == names


def test_what_is_dropped_does_not_depend_on_how_weights_were_drawn():
    layer = part_of("a9_transformer", "DecoderLayer")

    class WithMoreWeightsAtFirst(layer.reference):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
            super().__init__(d_model, num_heads, d_ff)
            torch.nn.Linear(50, 50)
            self.dropout = torch.nn.Dropout(dropout)

    found = names_in(attempts_at(layer, WithMoreWeightsAtFirst))
    assert [name for name, _ in found] == ["dropout taken and not handed on to the network"]


def test_no_mistake_is_named_that_was_not_made():
    def noise(query, key, value):
        made = torch.Generator().manual_seed(query.numel())
        shape = (*query.shape[:-1], value.shape[-1])
        return torch.randn(shape, generator=made, dtype=query.dtype)

    attempts = attempts_at(SELF_ATTENTION, noise)
    assert names_in(attempts) == ()
    assert relations_in(attempts) == ()


def test_a_mistake_about_gradients_is_named_by_the_very_gradients():
    norm = part_of("a12_modern_block", "RMSNorm")

    class Detached(norm.reference):
        def forward(self, x):
            root = (x.square().mean(dim=-1, keepdim=True) + self.eps).sqrt().detach()
            return x / root * self.weight

    class AllDetached(norm.reference):
        def forward(self, x):
            return super().forward(x.detach())

    class WeightDetached(norm.reference):
        def forward(self, x):
            root = (x.square().mean(dim=-1, keepdim=True) + self.eps).sqrt()
            return x / root * self.weight.detach()

    assert [name for name, _ in names_in(attempts_at(norm, Detached))] == ["root without gradient"]
    for other in (AllDetached, WeightDetached):
        assert names_in(attempts_at(norm, other)) == ()


def turned_with_angles_in_single_precision(x, positions, base=10000.0, factor=1.0):
    """Right but for the sign before the first sine."""
    if x.shape[-1] % 2:
        raise ValueError(f"d_k = {x.shape[-1]}")
    angles = (
        positions[..., None] / factor * base ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    )
    angles = angles[:, None] if positions.dim() == 2 else angles
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    one, two = x[..., ::2], x[..., 1::2]
    return torch.stack([one * cos + two * sin, one * sin + two * cos], dim=-1).flatten(-2)


def test_digits_that_the_text_leaves_free_do_not_hide_a_mistake():
    rotary = part_of("a12_modern_block", "apply_rotary")
    attempts = attempts_at(rotary, turned_with_angles_in_single_precision)
    [(name, sentence)] = names_in(attempts)
    assert name == "reflected instead of turned"
    assert sentence.startswith("A sign is wrong"), (
        "it explains all cases, so nothing is put before it"
    )


def refuses_one_query_too_few(error):
    def score(weights, period, start=0):
        T = weights.shape[-1]
        if start + period >= T:
            raise ValueError("nothing is repeated")
        if start + period + 1 >= T:
            raise error
        queries = [
            sum(weights[:, :, i, j + 1] for j in range(i - period, start - 1, -period))
            for i in range(start + period, T)
        ]
        return torch.stack(queries).mean((0, 1))

    return score


@pytest.mark.parametrize("error", [ValueError("too short"), AssertionError()], ids=repr)
def test_a_refusal_too_many_has_its_name_by_whatever_error_it_comes(error):
    attempts = attempts_at(
        part_of("a13_looking_inside", "induction_score"), refuses_one_query_too_few(error)
    )
    assert [name for name, _ in names_in(attempts)] == ["a single repeated token refused"]


# ---------------------------------------------------------------------------- without any name


def attend(query, key, value):
    return (query @ key.mT).softmax(dim=-1) @ value


def lengths_mixed_up(query, key, value):
    output = attend(query, key, value)
    return output if query.shape[1] == key.shape[1] else output + 1.0


def one_sentence(query, key, value):
    return attend(query[:1], key[:1], value[:1])


def odd_factor(query, key, value):
    return attend(query, key, value) * query.shape[-1] ** 0.5


def nothing(query, key, value):
    attend(query, key, value)


def with_its_weights(query, key, value):
    return attend(query, key, value), query


def as_numbers(query, key, value):
    return attend(query, key, value).tolist()


def needs_three(query, key, value):
    batch, _, width = query.shape
    return attend(query.reshape(batch, 3, width), key, value)


def in_float32(query, key, value):
    return attend(query.float(), key.float(), value.float())


def changes_its_value(query, key, value):
    output = attend(query, key, value)
    value.data += 1
    return output


def without_gradient(query, key, value):
    return attend(query, key.detach(), value)


def of_an_example(query, key, value):
    return torch.eye(2)[None]


SAID = {
    lengths_mixed_up: "T = S",
    one_sentence: "the first sentence",
    odd_factor: "√d_k times",
    nothing: "Nothing comes back",
    with_its_weights: "The right result is there",
    as_numbers: "in a list",
    needs_three: "RuntimeError",
    in_float32: "come as float32|float64",
    changes_its_value: "an input changed",
    without_gradient: "no gradient reaches `key`",
    of_an_example: r"\(1, 2, 2\) in every case",
}


@pytest.mark.parametrize(
    ("code", "words"), SAID.items(), ids=lambda value: getattr(value, "__name__", "")
)
def test_it_is_said_how_a_result_differs_or_when(code, words):
    for seed in range(3):
        found = relations_in(attempts_at(SELF_ATTENTION, code, seed))
        text = " ".join(sentence for _, sentence in found)
        assert 1 <= len(found) <= 2
        assert re.search(words, text), text
        assert all(name and sentence.endswith((".", "?")) for name, sentence in found)


ODD = [
    None,
    float("nan"),
    {},
    [],
    [[1.0], [2.0, 3.0]],
    (),
    "text",
    torch.zeros(0),
    torch.full((2, 3), float("nan")),
    torch.ones(2, 3, dtype=torch.complex64),
    torch.ones(1, 1, 1, 1, 1, 1),
    np.ones((2, 2), dtype=bool),
    torch.ones(2, 3).to(torch.bfloat16),
]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_whatever_comes_back_something_true_is_said_or_nothing(odd):
    drawn = DrawnCases(SELF_ATTENTION, 0)
    attempts = [
        CaseRun(drawn, number, Observation(status="returned", value=odd), as_problem("wrong"))
        for number in range(len(drawn.plan))
    ]
    assert names_in(attempts) == ()
    assert len(relations_in(attempts)) <= 2


@pytest.mark.slow
def test_nearly_every_wrong_answer_of_the_banks_is_named_or_explained():
    found, left = Counter(), []
    for assignment in known():
        for given in (given for given in bank_of(assignment) if not given.right):
            verdict = verdict_on(assignment, part_of(assignment, given.part), given.code)
            kind = "named" if verdict.mistakes else "explained" if verdict.relations else "neither"
            found[given.part, kind] += 1
            if kind == "neither":
                left.append(f"{given.part}: {given.code.__name__}")
    for _, part in PARTS:
        kinds = (f"{found[part.name, kind]:4} {kind}" for kind in ("named", "explained", "neither"))
        print(f"{part.name:35}", *kinds)
    print(*left, sep="\n")
    assert len(left) <= 0.1 * found.total()


def test_who_draws_as_a_mistake_does_is_named_only_for_the_same_fault():
    part = part_of("a6_positional_encoding", "PositionalEncoding")

    class AlwaysFloat32(part.reference):
        def forward(self, x):
            return super().forward(x).float()

    attempts = attempts_at(part, AlwaysFloat32)
    assert any(item.problem for item in attempts)
    assert names_in(attempts) == ()
