"""A verdict comes from one trial, whole, and what our own answers do on the way stays among us."""

import warnings
from types import SimpleNamespace

import pytest

from assignments import load
from autograder.checks.decide import _better_of, decide
from autograder.checks.drawn_cases import DrawnCases
from autograder.checks.verdicts import PartVerdict, StepVerdict
from autograder.probe.messages import Questions
from autograder.probe.probe import answer
from autograder.probe.wire import decode

MASKS = load("a4_masks")
DECODER = MASKS.part("decoder_mask")


HALVES = """
import torch

def causal_mask(size):
    return torch.ones(size, size, dtype=torch.bool).tril(1)

def padding_mask(token_ids, pad_id=0):
    return (token_ids != pad_id)[:, None, None, :]

def joined(token_ids, pad_id):
    return causal_mask(token_ids.shape[1]) & padding_mask(token_ids, pad_id)[:, 0]
"""


@pytest.mark.parametrize(
    ("axes", "name"),
    [
        ("", "the axis of the heads left out"),
        ("[None]", "sentences where the heads belong"),
    ],
)
def test_steps_names_and_remark_come_from_the_trial_with_ours(axes, name):
    namespace = {}
    exec(
        f"{HALVES}\ndef decoder_mask(token_ids, pad_id=0):\n    return joined(token_ids, pad_id){axes}",
        namespace,
    )

    def probe(message):
        return answer(message, namespace)

    alone = decide(MASKS, DECODER, probe, [""])
    verdict = decide(MASKS, DECODER, probe, [""], failed_before=["causal_mask"])
    assert alone.earned < verdict.earned < DECODER.points
    problems = {step.asks: step.problem for step in verdict.steps if step.problem}
    assert list(problems) == ["the shape (B, 1, T, T)"]
    assert problems["the shape (B, 1, T, T)"].startswith("expected shape")
    assert [found for found, _ in verdict.mistakes] == [name]
    assert verdict.stood_in == ("causal_mask",) and "ours in its place" in verdict.remark


def test_what_is_not_lent_stays_away_and_the_verdict_says_whose_was_used(monkeypatch):
    namespace, sources = {}, []
    exec(HALVES.replace("tril(1)", "tril(2)"), namespace)
    exec("def decoder_mask(ids, pad_id=0):\n    return joined(ids, pad_id)[:, None]", namespace)

    def probe(message):
        sources.append(decode(message, Questions).substitutes)
        return answer(message, namespace)

    failed = ["causal_mask", "padding_mask"]
    decide(MASKS, DECODER, probe, [""], failed_before=failed)
    assert sources.pop(0).keys() == {*failed}
    monkeypatch.setattr(MASKS.part("causal_mask"), "lend", False)
    sources.clear()
    verdict = decide(MASKS, DECODER, probe, [""], failed_before=["causal_mask"])
    assert sources == [{}] and not verdict.stood_in and not verdict.right
    assert "decided with your own `causal_mask`" in verdict.remark
    exec(HALVES.replace("tril(1)", "tril()"), namespace)
    verdict = decide(MASKS, DECODER, probe, [""], failed_before=["causal_mask"])
    assert verdict.right and not verdict.remark


SLOW = """
import time, torch

def attention_weights(x):
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass
    return (x @ x.T).softmax(-1)

def basic_self_attention(x):
    weights = attention_weights(x)
    return weights @ x, weights
"""


def test_a_part_is_not_charged_for_the_time_of_an_earlier_one():
    assignment, namespace = load("a2_self_attention"), {}
    exec(SLOW, namespace)
    part, seconds = assignment.part("basic_self_attention"), 0.1

    def probe(message):
        return answer(message, namespace, seconds)

    right = ["attention_weights"]
    verdict = decide(assignment, part, probe, [""], right_before=right)
    assert verdict.right and verdict.stood_in == ("attention_weights",)
    assert "Time that earlier parts take is not charged" in verdict.remark
    assert not decide(assignment, part, probe, [""]).right
    seconds = 5.0
    verdict = decide(assignment, part, probe, [""], right_before=right)
    assert verdict.right and not verdict.stood_in  # in its time, with its own


def test_the_second_trial_has_inputs_of_its_own():
    """Between the two all is open again, and what was noted in the first could be looked up in the second."""
    asked, names = [], {}
    exec("def basic_self_attention(x): return attention_weights(x)", names)

    def probe(message):
        asked.append(decode(message, Questions))
        return answer(message, names)

    assignment = load("a2_self_attention")
    part = assignment.part("basic_self_attention")
    decide(assignment, part, probe, [""], failed_before=["attention_weights"])
    first, second = (
        {request.arguments[0].numpy().tobytes() for request in questions.requests}
        for questions in asked
    )
    assert first and second and first.isdisjoint(second)


@pytest.mark.parametrize(
    ("wrong", "called"),
    [
        ("return (token_ids != pad_id)[:, None, :] & past", ()),
        ("return causal_mask(T)[None] & (token_ids != pad_id)[:, None, :]", ("causal_mask",)),
        ("return padding_mask(token_ids, pad_id)[:, 0] & past", ("padding_mask",)),
        (
            "return padding_mask(token_ids, pad_id)[:, 0] & causal_mask(T)",
            ("causal_mask", "padding_mask"),
        ),
    ],
)
def test_ours_are_said_to_stand_in_for_those_parts_alone_that_an_answer_uses(wrong, called):
    namespace = {}
    halves = HALVES.replace("!= pad_id", "!= 0")
    lines = "T = token_ids.shape[1]\n    past = torch.ones(T, T).tril().bool()\n    "
    exec(f"{halves}\ndef decoder_mask(token_ids, pad_id=0):\n    {lines}{wrong}", namespace)
    verdict = decide(
        MASKS,
        DECODER,
        lambda message: answer(message, namespace),
        [""],
        failed_before=["causal_mask", "padding_mask"],
    )
    assert [name for name, _ in verdict.mistakes] == ["the axis of the heads left out"]
    assert verdict.stood_in == called
    assert all((f"`{name}`" in verdict.remark) == (name in called) for name in DECODER.may_call)


@pytest.mark.parametrize(
    ("joined", "times"),
    [
        ("padding_mask(token_ids, pad_id) & causal_mask(T)", 1),
        ("padding_mask(token_ids, pad_id)[:, 0] & causal_mask(T)", 2),
        ("((token_ids != pad_id)[:, None] & past)[:, None]", 1),
        ("((token_ids != pad_id)[:, None] | past)[:, None]", 1),
    ],
    ids=["right with ours", "wrong with ours", "right and needs none", "wrong and needs none"],
)
def test_an_answer_is_tried_twice_only_where_ours_do_not_make_it_right(joined, times):
    namespace = {}
    lines = "T = token_ids.shape[1]\n    past = torch.ones(T, T).tril().bool()\n    "
    exec(f"{HALVES}\ndef decoder_mask(token_ids, pad_id=0):\n    {lines}return {joined}", namespace)
    asked = []

    def probe(message):
        asked.append(message)
        return answer(message, namespace)

    decide(MASKS, DECODER, probe, [""], failed_before=["causal_mask", "padding_mask"])
    assert len(asked) == times


@pytest.mark.parametrize(
    ("points", "counts"), [(0.5, "with ours"), (1.0, "with ours"), (1.5, "alone")]
)
def test_with_points_alike_the_trial_with_ours_counts_whole(points, counts):
    def trial(name, earned):
        step = StepVerdict("asks", earned, 2.0, problem=name)
        return SimpleNamespace(
            verdict=PartVerdict("decoder_mask", "", (step,)),
            with_names=lambda verdict: verdict,
            stood_in=("causal_mask",),
            slow=(),
        )

    verdict = _better_of(trial("alone", points), trial("with ours", 1.0))
    assert [step.problem for step in verdict.steps] == [counts]
    assert bool(verdict.stood_in and verdict.remark) == (counts == "with ours")


def test_no_warning_of_a_wrong_answer_of_ours_is_heard():
    def warns(token_ids, pad_id=0):
        warnings.warn("deprecated", stacklevel=1)
        return DECODER.reference(token_ids, pad_id)

    drawn = DrawnCases(DECODER, 0)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        seen = drawn.done_by(warns, 0)
    assert seen.status == "returned" and not heard
