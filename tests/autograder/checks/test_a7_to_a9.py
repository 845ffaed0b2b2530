"""Assignments 7 to 9: visible tests against every mistake, what a mistake costs, two at once."""

import pytest
import torch
from torch import nn

from autograder.checks import load
from autograder.probe import watch
from autograder.probe.probe import answer
from autograder.verdict.decide import decide
from course_utils import layers, transformer
from course_utils.evaluation import evaluating
from tests.autograder.checks.visible import failure

ASSIGNMENTS = ("a7_dropout_and_layer_norm", "a8_transformer_layer", "a9_transformer")
PARTS = [(name, part) for name in ASSIGNMENTS for part in load(name).parts]
MISTAKES = [(name, part, mistake) for name, part in PARTS for mistake in part.mistakes]

NOTHING_RUNS = "weights of the text find no place, so nothing can be run"
NOT_MADE = "no module can be made"
# what a mistake leaves nothing right to be seen beside, with the reason
COSTS_MORE = {
    ("LayerNorm", "weight and bias missing"): NOTHING_RUNS,
    ("LayerNorm", "bias missing"): NOTHING_RUNS,
    ("LayerNorm", "statistics without their axis"): "it stops with an error",
    ("SelfAttentionWithDropoutAndNorm", "features undefined"): NOT_MADE,
    ("SelfAttentionWithDropoutAndNorm", "call of super().__init__() missing"): NOT_MADE,
    ("SelfAttentionWithDropoutAndNorm", "no layer_norm with weight and bias"): NOTHING_RUNS,
    ("TransformerLayer", "only one norm made"): NOTHING_RUNS,
    ("TransformerLayer", "attention whose layers have other names"): NOTHING_RUNS,
    ("TransformerLayer", "network whose layers have other names"): NOTHING_RUNS,
}


def shown(value):
    return getattr(value, "name", value)


IDS = {"ids": shown}


@pytest.fixture(autouse=True)
def _the_course_may_call_itself(monkeypatch):
    monkeypatch.setattr(watch, "course_within_reach", lambda: False)


def part_of(name):
    return next(found for found in PARTS if found[1].name == name)


def verdict_on(assignment, part, code):
    return decide(
        load(assignment), part, lambda message: answer(message, {part.name: code}), cells=["0"]
    )


def earned_by(name, code):
    """The points of each step, in their order, and the names of the mistakes."""
    verdict = verdict_on(*part_of(name), code)
    return [step.earned for step in verdict.steps], [found for found, _ in verdict.mistakes]


@pytest.mark.parametrize(("assignment", "part"), PARTS, **IDS)
def test_model_answers_pass_the_visible_tests(assignment, part):
    assert failure(assignment, part.name) is None


@pytest.mark.filterwarnings("ignore:var.. degrees of freedom")
@pytest.mark.parametrize(("assignment", "part", "mistake"), MISTAKES, **IDS)
def test_no_named_mistake_passes_the_visible_tests(assignment, part, mistake):
    assert failure(assignment, part.name, mistake.answer) is not None


@pytest.mark.parametrize(("assignment", "part", "mistake"), MISTAKES, **IDS)
def test_a_single_mistake_costs_at_most_half(assignment, part, mistake):
    earned = verdict_on(assignment, part, mistake.answer).earned
    assert earned < part.points
    assert earned >= part.points / 2 or (part.name, mistake.name) in COSTS_MORE


@pytest.mark.parametrize(("name", "mistake"), COSTS_MORE)
def test_what_costs_more_than_half_does_so(name, mistake):
    assignment, part = part_of(name)
    answers = [one.answer for one in part.mistakes if one.name == mistake]
    assert min(verdict_on(assignment, part, one).earned for one in answers) < part.points / 2


TWO_AT_ONCE = [
    ("LayerNorm", "mean not taken off", "unbiased variance"),
    ("LayerNorm", "epsilon outside the root", "bias not used"),
    ("SelfAttentionWithDropoutAndNorm", "not scaled", "norm missing"),
    ("SelfAttentionWithDropoutAndNorm", "divided by d_k", "residual added behind the norm"),
    ("PositionwiseFeedForward", "GELU", "residual inside the network"),
    ("TransformerLayer", "norms swapped", "no residual connection around attention"),
    ("TransformerLayer", "mask dropped", "last norm missing"),
    ("DecoderLayer", "memory mask missing", "no residual connection around cross-attention"),
    ("DecoderLayer", "norms in another order", "self mask missing"),
    ("Transformer", "embeddings not scaled", "the future leaks"),
    ("Transformer", "memory mask missing", "softmax before the loss"),
    ("greedy_decode", "BOS left out", "least likely word"),
    ("greedy_decode", "filled up with EOS", "max_len words after BOS"),
]


@pytest.mark.parametrize(("name", "one", "other"), TWO_AT_ONCE)
def test_two_mistakes_at_once_are_both_named(name, one, other):
    assignment, part = part_of(name)
    first, second = (
        next(mistake for mistake in part.mistakes if mistake.name == given)
        for given in (one, other)
    )
    verdict = verdict_on(assignment, part, first.together_with(second))
    assert {found for found, _ in verdict.mistakes} == {one, other}
    assert verdict.earned < part.points


# ------------------------------------------------------------ an error is charged once, and there


class Attention(layers.SelfAttentionWithDropoutAndNorm):
    """What students change stands in their own words below."""

    def weights(self, query, key):
        scores = torch.einsum("btd,bsd->bts", query, key) / key.shape[-1] ** 0.5
        return torch.softmax(scores, -1)


def test_dropout_on_what_was_collected_leaves_eval_mode_and_rate():
    class OnTheVector(Attention):
        def forward(self, query, key, value):
            return self.layer_norm(self.dropout(torch.bmm(self.weights(query, key), value)))

    steps, named = earned_by("SelfAttentionWithDropoutAndNorm", OnTheVector)
    assert steps == [1, 2, 0, 1, 1]
    assert named == ["dropout on what was collected"]


def test_a_residual_is_not_charged_to_the_scale():
    class WithResidual(Attention):
        def forward(self, query, key, value):
            found = torch.bmm(self.dropout(self.weights(query, key)), value)
            return self.layer_norm(found + query)

    steps, named = earned_by("SelfAttentionWithDropoutAndNorm", WithResidual)
    assert steps[:2] == [0, 2]
    assert named == ["residual added"]


def test_a_constructor_that_stops_is_told_with_its_own_error():
    class CountsItsHeads(nn.Module):
        def __init__(self, features, dropout_rate=0.1):
            super().__init__()
            self.heads = [][features]

    steps, named = earned_by("SelfAttentionWithDropoutAndNorm", CountsItsHeads)
    assert steps == [0, 0, 0, 0, 0]
    assert named == []


def test_all_parts_woken_up_at_the_end_cost_the_modes_alone():
    def decoded(model, src, bos_id, eos_id, max_len):
        with evaluating(model):
            ids = transformer.greedy_decode(model, src, bos_id, eos_id, max_len)
        model.train()
        return ids

    steps, named = earned_by("greedy_decode", decoded)
    assert steps == [1, 1, 0]
    assert named == ["all parts in train mode afterwards"]


def test_an_extra_norm_leaves_the_dropout():
    class NormOnTop(transformer.Transformer):
        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, **keywords)
            self.norm = nn.LayerNorm(self.d_model)

        def encode(self, src):
            return self.norm(super().encode(src))

    steps, named = earned_by("Transformer", NormOnTop)
    assert steps == [0, 2, 1, 1]
    assert named == ["a norm on top of the encoder"]


def residual_of_the_input(self, x, memory, self_mask=None, memory_mask=None):
    first = self.layer_norm1(x + self.dropout(self.self_attn(x, x, x, self_mask)[0]))
    found, _ = self.cross_attn(first, memory, memory, memory_mask)
    second = self.layer_norm2(x + self.dropout(found))
    return self.layer_norm3(second + self.dropout(self.feed_forward(second)))


def norms_exchanged(self, x, memory, self_mask=None, memory_mask=None):
    x = self.layer_norm1(x + self.dropout(self.self_attn(x, x, x, self_mask)[0]))
    found, _ = self.cross_attn(x, memory, memory, memory_mask)
    x = self.layer_norm3(x + self.dropout(found))
    return self.layer_norm2(x + self.dropout(self.feed_forward(x)))


@pytest.mark.parametrize(
    ("forward", "name"),
    [
        (residual_of_the_input, "the layer's input as second residual"),
        (norms_exchanged, "norms in another order"),
    ],
)
def test_one_slip_in_a_decoder_layer_costs_one_step(forward, name):
    slip = type("Slip", (layers.DecoderLayer,), {"forward": forward})
    assert earned_by("DecoderLayer", slip) == ([0, 1, 1, 1], [name])


def test_a_missing_scale_on_the_target_side_costs_what_decodes():
    class QuietTarget(transformer.Transformer):
        def _embed(self, embedding, ids, start=0):
            x = embedding(ids)
            if embedding is self.src_embedding:
                x = x * self.d_model**0.5
            return self.positional_encoding(x, start)

    assert earned_by("Transformer", QuietTarget) == ([1, 0, 1, 1], ["target embeddings not scaled"])


def test_an_argument_that_is_not_kept_is_missed():
    class ForgetsPadding(transformer.Transformer):
        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, **keywords)
            self.padding = self.__dict__.pop("pad_id")

        def encode(self, src):
            self.pad_id = self.padding
            memory = super().encode(src)
            del self.pad_id
            return memory

        def decode(self, tgt, memory, src):
            self.pad_id = self.padding
            logits = super().decode(tgt, memory, src)
            del self.pad_id
            return logits

    verdict = verdict_on(*part_of("Transformer"), ForgetsPadding)
    assert [step.earned for step in verdict.steps] == [1, 2, 0, 1]
    assert "no attribute 'pad_id'" in verdict.steps[2].problem


def test_a_gradient_that_is_not_finite_is_told_in_plain_words():
    class RootOfZero(layers.LayerNorm):
        def forward(self, x):
            spread = x.var(dim=-1, keepdim=True, correction=0).sqrt()
            return super().forward(x) + 0.0 * spread

    verdict = verdict_on(*part_of("LayerNorm"), RootOfZero)
    assert "square root at 0" in verdict.steps[3].problem
