"""Assignments 7 to 9: an error is charged once, and under its own heading."""

import pytest
import torch
from torch import nn

from assignments import load
from assignments.a7_dropout_and_layer_norm.drawn_sums import outcomes_of
from assignments.common.layers import DROPS_IN_EVAL, layer_drops
from autograder.bank.measure import verdict_on
from course_utils import layers, transformer
from course_utils.evaluation import evaluating

ASSIGNMENTS = ("a7_dropout_and_layer_norm", "a8_transformer_layer", "a9_transformer")
PARTS = [(name, part) for name in ASSIGNMENTS for part in load(name).parts]


def part_of(name):
    return next(found for found in PARTS if found[1].name == name)


def earned_by(name, code):
    """The points of each step, in their order, and the names of the mistakes."""
    verdict = verdict_on(*part_of(name), code)
    return [step.earned for step in verdict.steps], [found for found, _ in verdict.mistakes]


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


def test_a_mask_that_sentences_share_leaves_eval_mode_and_rate():
    name = "one draw for several weights"
    mistakes = part_of("SelfAttentionWithDropoutAndNorm")[1].named(name)
    assert len(mistakes) == 12
    for mistake in mistakes:
        assert earned_by("SelfAttentionWithDropoutAndNorm", mistake.answer) == (
            [1, 2, 0, 1, 1],
            [name],
        )


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


@pytest.mark.long
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


@pytest.mark.parametrize(
    ("row", "rate", "draws"), [((0.5, 0.3, 0.2), 0.4, 3), ((1.0, 0.0), 0.7, 9)]
)
def test_what_can_become_of_a_row_has_the_moments_of_the_formula(row, rate, draws):
    """Grading counts on these probabilities, and not on the reference."""
    mean, std, chance = torch.tensor(outcomes_of(row, rate, draws), dtype=torch.float64).T
    usual, variance = sum(row), rate / (1 - rate) * sum(weight**2 for weight in row)
    assert float(chance.sum()) == pytest.approx(1)
    assert float(chance @ mean) == pytest.approx(usual)
    assert float(chance @ (mean - usual) ** 2) == pytest.approx(variance / draws)
    assert float(chance @ std**2) == pytest.approx((draws - 1) / draws * variance)


def test_two_calls_in_eval_mode_are_judged_whatever_is_sent_for_them():
    right, other = torch.zeros(2, 3, 4), torch.ones(2, 3, 4)
    assert layer_drops([right, right], [right, right]) is None
    assert layer_drops([right, right], [right, other]) == DROPS_IN_EVAL
    for sent in ([other, other], [right, right[:1]], [right], [right] * 3, [], 1, "two", None):
        problem = layer_drops([right, right], sent)
        assert problem and problem != DROPS_IN_EVAL, sent


def test_a_result_in_a_dict_is_charged_once():
    part = load("a7_dropout_and_layer_norm").part("LayerNorm")

    class InADict(part.reference):
        def forward(self, x):
            return {"normalised": super().forward(x)}

    verdict = verdict_on("a7_dropout_and_layer_norm", part, InADict)
    assert verdict.points - verdict.earned == 1
    ((name, sentence),) = verdict.relations
    assert name == "results in a dict"
    assert "The result comes in a dict" in sentence
