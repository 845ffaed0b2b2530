"""Assignment 1: annotations of a bidirectional network, and additive attention over them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from autograder.check import Assignment, Build, Case, Mistake, Part, Step
from autograder.compare import hidden_are_zero, kind_of, numbers, values_agree
from course_utils import attention

LECTURE = "../../lectures/01_rnn_attention.ipynb"

# ----------------------------------------------------------------------------- what is drawn


def two_directions(
    batch: int, length: int, width: int, dtype: torch.dtype = torch.float32
) -> Callable[..., list]:
    """Draws forward and backward states (batch, length, width)."""

    def draw(generator: torch.Generator) -> list[Any]:
        shape = (batch, length, width)
        drawn = [torch.randn(*shape, generator=generator, dtype=torch.float64) for _ in range(2)]
        return [states.to(dtype) for states in drawn]

    return draw


def hiding(batch: int, length: int, hidden: int) -> Callable[[torch.Generator], Tensor]:
    """Draws a mask that hides this many words of each sentence, and none of them in two.

    So every sentence and every place shows something, and most wrong ways to use a mask still
    give finite numbers by which they can be told apart.
    """

    def draw(generator: torch.Generator) -> Tensor:
        start = int(torch.randint(length, (1,), generator=generator))
        mask = torch.ones(batch, length, dtype=torch.bool)
        for b in range(batch):
            for k in range(hidden):
                mask[b, (start + b * hidden + k) % length] = False
        return mask

    return draw


def padding(keys: int, *lengths: int) -> Callable[[torch.Generator], Tensor]:
    """The mask (B, S) of sentences that have these lengths."""
    return lambda generator: torch.stack([torch.arange(keys) < n for n in lengths])


def no_mask(generator: torch.Generator) -> None:
    """A third argument, None."""


def looking(
    batch: int,
    length: int,
    dims: tuple[int, int, int],
    mask: Callable[[torch.Generator], Tensor | None] | None = None,
    *,
    fixed: bool = False,
    **build: Any,
) -> Callable[..., Build]:
    """Draws a state and annotations; ``dims`` are decoder_dim, encoder_dim, attention_dim.

    With ``fixed`` the annotations are those that the judge of the context knows.
    """

    def draw(generator: torch.Generator) -> Build:
        decoder_dim, encoder_dim, _ = dims
        state = torch.randn(batch, decoder_dim, generator=generator, dtype=torch.float64)
        shape = (batch, length, encoder_dim)
        words = torch.randn(*shape, generator=generator, dtype=torch.float64)
        if fixed:
            words = fixed_annotations(*shape)
        dtype = build.get("dtype", torch.float32)
        arguments = [state.to(dtype), words.to(dtype)]
        if mask is not None:
            arguments.append(mask(generator))
        return Build(construct=dims, arguments=arguments, **build)

    return draw


def on_one_line(
    batch: int,
    length: int,
    decoder_dim: int,
    encoder_dim: int,
    mask: Callable[[torch.Generator], Tensor] | None = None,
) -> Callable[..., Build]:
    """Draws a case with attention_dim = 1 in which v, W s and W s + U h_j are positive.

    Any score that grows with U h_j puts the words into one order there, with tanh or without, sum
    or product. So a slip in the score does not cost the points for the softmax and the mask.
    """

    def draw(generator: torch.Generator) -> Build:
        drawn = looking(batch, length, (decoder_dim, encoder_dim, 1), mask)(generator)
        W = torch.randn(1, decoder_dim, generator=generator)
        U = torch.randn(1, encoder_dim, generator=generator)
        v = 1.5 + torch.rand(1, 1, generator=generator)
        state_part = 0.4 + 0.4 * torch.rand(batch, 1, generator=generator)
        places = torch.rand(batch, length, generator=generator).argsort(dim=1)
        word_part = (places / length * 1.2 - 0.3).unsqueeze(-1)  # (B, S, 1), well apart
        words = drawn.arguments[1]
        drawn.arguments[0] = state_part * W / W.square().sum()  # so that W s is state_part
        drawn.arguments[1] = words + (word_part - words @ U.T) * U / U.square().sum()
        drawn.state.update({"W.weight": W, "U.weight": U, "v.weight": v})
        return drawn

    return draw


def fixed_annotations(batch: int, length: int, encoder_dim: int) -> Tensor:
    """Annotations (batch, length, encoder_dim) that depend on nothing but their shape."""
    generator = torch.Generator().manual_seed(1)
    shape = (batch, length, encoder_dim)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


# ------------------------------------------------------------------------------ what decides


def halves_are_joined(expected: Tensor, got: Any) -> str | None:
    """Accept the forward states with the sentence's backward states beside them, in any order.

    So a list that was not turned round does not cost the point for putting the two together.
    """
    if not isinstance(got, Tensor) or got.shape != expected.shape:
        return values_agree(expected, got)
    width = expected.shape[-1] // 2
    problem = values_agree(expected[..., :width], got[..., :width])
    if problem:
        return f"in the first half of the features, {problem}"
    wanted, found = expected[..., width:].double(), got[..., width:].double()
    same = torch.isclose(wanted[:, :, None], found[:, None], atol=1e-5).all(dim=-1)  # (B, S, S)
    if not (same.any(dim=1).all() and same.any(dim=2).all()):
        return (
            "the second half of the features should hold the sentence's backward states, each at "
            f"one of its words, but for sentence 0 it begins with {numbers(found[0, 0])}"
        )
    return None


def layers_and_ranks(expected: Any, got: Any) -> str | None:
    """Judges what a new module holds, and weights that put the words into the right order."""
    return no_bias(got) if isinstance(expected, dict) else weights_rank(expected, got)


def no_bias(got: Any) -> str | None:
    """W, U and v are linear maps without bias; what else a module holds is free."""
    parameters = got.get("parameters") if isinstance(got, dict) else None
    if not isinstance(parameters, dict):
        return f"expected a module with the layers W, U and v, got {kind_of(got)}"
    for layer in ("W", "U", "v"):
        if f"{layer}.weight" not in parameters:
            names = ", ".join(f"`{name}`" for name in parameters) or "none"
            return f"there is no layer `{layer}` in a new module; its parameters are: {names}"
        if f"{layer}.bias" in parameters:
            return (
                f"`{layer}` has a bias; the formula has none. Which argument of nn.Linear says so?"
            )
    return None


def weights_rank(expected: tuple, got: Any) -> str | None:
    """Accept weights (B, S) that put the visible words into the right order, however sharply.

    What is exactly 0 in ``expected`` must be exactly 0, and the rest of a row must sum to one.
    """
    problem = _no_weights(expected, got)
    if problem:
        return problem
    wanted, found = expected[1].double(), got[1].double()
    empty = (wanted == 0).all(dim=-1)  # (B,)
    return (
        _empty_are_zero(found[empty])
        or _no_distribution(found, wanted.sum(dim=-1))
        or _hidden_are_zero(wanted, found)
        or _not_in_order(wanted, found)
    )


def weights_agree(expected: tuple, got: Any) -> str | None:
    """Compare the weights; the context is another step's matter."""
    problem = _no_weights(expected, got) or values_agree(expected[1], got[1])
    return f"for the weights, {problem}" if problem else None


def context_follows(expected: tuple, got: Any) -> str | None:
    """Accept the right context, or the one that belongs to the weights beside it.

    So an error in the weights, or in how they are returned, is not charged again. Weights that are
    all the same do not count, for then the mean would do.
    """
    context = got[0] if isinstance(got, tuple | list) and got else got
    if values_agree(expected[0], context) is None:
        return None
    problem = _no_weights(expected, got)
    if problem:
        return problem
    weights = got[1].double()
    if not torch.isfinite(weights).all():
        return "the weights hold NaN or infinity, so no context can be right"
    if (weights.amax(dim=-1) - weights.amin(dim=-1) < 1e-3).any():
        return f"the words of a sentence have the same weights, {numbers(weights[0])}"
    annotations = fixed_annotations(*weights.shape, expected[0].shape[-1])
    wanted = torch.einsum("bs,bsd->bd", weights, annotations)
    problem = values_agree(wanted.float(), context)
    return f"for the context that belongs to the weights you return, {problem}" if problem else None


def empty_gives_zero(expected: tuple, got: Any) -> str | None:
    """Like `weights_rank`, and a sentence in which all is hidden has the context zero."""
    problem = weights_rank(expected, got)
    if problem:
        return problem
    context, empty = got[0], (expected[1] == 0).all(dim=-1)
    if not isinstance(context, Tensor) or context.shape != expected[0].shape:
        return f"expected {kind_of(expected[0])} as the context, got {kind_of(context)}"
    if not torch.isfinite(context).all():
        return "the context holds NaN or infinity"
    if (context[empty] != 0).any():
        return (
            "nothing may be attended to here, so the context should be 0; "
            f"yours is {numbers(context[empty][0])}"
        )
    return None


def _no_weights(expected: tuple, got: Any) -> str | None:
    if not isinstance(got, tuple | list) or len(got) != 2:
        return f"expected the pair (context, weights), got {kind_of(got)}"
    wanted, found = expected[1], got[1]
    if not isinstance(found, Tensor) or found.shape != wanted.shape:
        return (
            f"expected weights of shape (B, S) = {tuple(wanted.shape)} as the second result, got "
            f"{kind_of(found)}"
        )
    return None


def _empty_are_zero(rows: Tensor) -> str | None:
    if torch.isnan(rows).any():
        return (
            "nothing may be attended to in one of the sentences, and its weights are NaN: if all "
            "scores are minus infinity, the softmax divides 0 by 0. Its weights should be 0"
        )
    if (rows != 0).any():
        return (
            "nothing may be attended to in one of the sentences, so its weights should be 0; yours "
            f"are {numbers(rows[0])}. If all its scores are the same, what does a softmax make of "
            "them?"
        )
    return None


def _no_distribution(found: Tensor, wanted_sums: Tensor) -> str | None:
    if not torch.isfinite(found).all():
        return "the weights hold NaN or infinity"
    if (found < 0).any():
        return f"weights cannot be negative; the smallest is {float(found.min()):.4g}"
    sums = found.sum(dim=-1)
    if torch.allclose(sums, wanted_sums, atol=1e-4):
        return None
    if found.shape[-1] > 1 and (found == 1).all():
        return "all your weights are 1. How long is the axis along which your softmax runs?"
    return (
        "the weights of a sentence should sum to 1 over its words; "
        f"the sums of your sentences are {numbers(sums)}"
    )


def _hidden_are_zero(wanted: Tensor, found: Tensor) -> str | None:
    wrong = (wanted == 0) != (found == 0)
    if not wrong.any():
        return None
    b, j = (int(index) for index in wrong.nonzero()[0])
    where = f"in sentence {b}, word {j} (counting from 0)"
    if wanted[b, j] != 0:
        return f"{where} is visible, but its weight is 0"
    return (
        f"{where} is hidden, but its weight is {float(found[b, j]):.3g} and not exactly 0. Which "
        "score has the weight 0 after a softmax?"
    )


def _not_in_order(wanted: Tensor, found: Tensor) -> str | None:
    # only pairs that are clearly apart: near ties may come out either way
    clearly_more = wanted.unsqueeze(-1) > wanted.unsqueeze(-2) + 0.01
    confused = clearly_more & ~(found.unsqueeze(-1) > found.unsqueeze(-2))
    if not confused.any():
        return None
    b, more, less = (int(index) for index in confused.nonzero()[0])
    return (
        f"in sentence {b} (counting from 0), word {more} should get a larger weight than word "
        f"{less}; yours are {float(found[b, more]):.4g} and {float(found[b, less]):.4g}"
    )


# ------------------------------------------------------------- wrong ways to make annotations


def not_turned_round(forward_states: Tensor, backward_states: Tensor) -> Tensor:
    return torch.cat([forward_states, backward_states], dim=-1)


def forward_turned_round(forward_states: Tensor, backward_states: Tensor) -> Tensor:
    return torch.cat([forward_states.flip(1), backward_states], dim=-1)


def both_turned_round(forward_states: Tensor, backward_states: Tensor) -> Tensor:
    return torch.cat([forward_states, backward_states], dim=-1).flip(1)


def batch_turned_round(forward_states: Tensor, backward_states: Tensor) -> Tensor:
    return torch.cat([forward_states, backward_states.flip(0)], dim=-1)


def features_turned_round(forward_states: Tensor, backward_states: Tensor) -> Tensor:
    return torch.cat([forward_states, backward_states.flip(-1)], dim=-1)


def words_and_features_turned_round(forward_states: Tensor, backward_states: Tensor) -> Tensor:
    return torch.cat([forward_states, backward_states.flip(1, 2)], dim=-1)


def words_and_batch_turned_round(forward_states: Tensor, backward_states: Tensor) -> Tensor:
    return torch.cat([forward_states, backward_states.flip(0, 1)], dim=-1)


def everything_turned_round(forward_states: Tensor, backward_states: Tensor) -> Tensor:
    return torch.cat([forward_states, backward_states.flip(0, 1, 2)], dim=-1)


def backward_first(forward_states: Tensor, backward_states: Tensor) -> Tensor:
    return torch.cat([backward_states.flip(1), forward_states], dim=-1)


def backward_first_not_turned_round(forward_states: Tensor, backward_states: Tensor) -> Tensor:
    return torch.cat([backward_states, forward_states], dim=-1)


def joined_along_the_words(forward_states: Tensor, backward_states: Tensor) -> Tensor:
    return torch.cat([forward_states, backward_states.flip(1)], dim=1)


def joined_along_the_words_not_turned_round(
    forward_states: Tensor, backward_states: Tensor
) -> Tensor:
    return torch.cat([forward_states, backward_states], dim=1)


def joined_along_the_words_and_cut_anew(forward_states: Tensor, backward_states: Tensor) -> Tensor:
    batch, length, width = forward_states.shape
    joined = torch.cat([forward_states, backward_states.flip(1)], dim=1)
    return joined.reshape(batch, length, 2 * width)


def joined_along_the_batch(forward_states: Tensor, backward_states: Tensor) -> Tensor:
    return torch.cat([forward_states, backward_states.flip(1)])


def joined_along_the_batch_not_turned_round(
    forward_states: Tensor, backward_states: Tensor
) -> Tensor:
    return torch.cat([forward_states, backward_states])


def added(forward_states: Tensor, backward_states: Tensor) -> Tensor:
    return forward_states + backward_states.flip(1)


def stacked(forward_states: Tensor, backward_states: Tensor) -> Tensor:
    return torch.stack([forward_states, backward_states.flip(1)], dim=2)


def interleaved(forward_states: Tensor, backward_states: Tensor) -> Tensor:
    return torch.stack([forward_states, backward_states.flip(1)], dim=-1).flatten(2)


def two_results(forward_states: Tensor, backward_states: Tensor) -> tuple[Tensor, Tensor]:
    return forward_states, backward_states.flip(1)


# ------------------------------------------------------------------ wrong additive attentions


class InSteps(attention.BahdanauAttention):
    """The reference step by step, so that each mistake below can replace one step."""

    def forward(self, state, annotations, mask=None):
        scores = self.score(state, annotations)  # (B, S)
        weights = self.weigh(scores, mask)  # (B, S)
        return self.finish(weights, annotations, scores)

    def score(self, state, annotations):
        hidden = self.compare(self.W(state).unsqueeze(1), self.U(annotations))
        return self.v(hidden).squeeze(-1)

    def compare(self, state, words):
        return torch.tanh(state + words)

    def weigh(self, scores, mask):
        return attention.masked_softmax(scores, mask)

    def finish(self, weights, annotations, scores):
        return torch.einsum("bs,bsd->bd", weights, annotations), weights


class NoTanh(InSteps):
    def compare(self, state, words):
        return state + words


class ReluForTanh(InSteps):
    def compare(self, state, words):
        return torch.relu(state + words)


class SigmoidForTanh(InSteps):
    def compare(self, state, words):
        return torch.sigmoid(state + words)


class TanhOfTheScore(NoTanh):
    def score(self, state, annotations):
        return torch.tanh(super().score(state, annotations))


class ProductForSum(InSteps):
    def compare(self, state, words):
        return torch.tanh(state * words)


class ProductWithoutTanh(InSteps):
    def compare(self, state, words):
        return state * words


class DotProduct(InSteps):
    """The maps W and U are there, and what they give is multiplied."""

    def score(self, state, annotations):
        return (self.W(state).unsqueeze(1) * self.U(annotations)).sum(dim=-1)


class ScaledDotProduct(DotProduct):
    def score(self, state, annotations):
        return super().score(state, annotations) / math.sqrt(self.W.out_features)


class DotProductOfTanhs(InSteps):
    def score(self, state, annotations):
        return (self.W(state).tanh().unsqueeze(1) * self.U(annotations).tanh()).sum(dim=-1)


class DotProductOfTheRaw(InSteps):
    def score(self, state, annotations):
        return (annotations @ state.unsqueeze(-1)).squeeze(-1)


class WithoutV(InSteps):
    def score(self, state, annotations):
        return self.compare(self.W(state).unsqueeze(1), self.U(annotations)).sum(dim=-1)


class WithoutState(InSteps):
    def compare(self, state, words):
        return torch.tanh(words)


class WithoutWords(InSteps):
    def compare(self, state, words):
        return torch.tanh(state.expand_as(words))


class Scaled(InSteps):
    def score(self, state, annotations):
        return super().score(state, annotations) / math.sqrt(self.W.out_features)


class StateWithoutAxis(InSteps):
    def score(self, state, annotations):
        return self.v(torch.tanh(self.W(state) + self.U(annotations))).squeeze(-1)


class StateWithoutAxisThenBmm(StateWithoutAxis):
    """As above, but the context insists on as many weights as there are words."""

    def finish(self, weights, annotations, scores):
        return torch.bmm(weights.unsqueeze(1), annotations).squeeze(1), weights


class Swapped(nn.Module):
    """W belongs to the annotations and U to the state."""

    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__()
        self.W = nn.Linear(encoder_dim, attention_dim, bias=False)
        self.U = nn.Linear(decoder_dim, attention_dim, bias=False)
        self.v = nn.Linear(attention_dim, 1, bias=False)

    def forward(self, state, annotations, mask=None):
        hidden = torch.tanh(self.U(state).unsqueeze(1) + self.W(annotations))
        weights = attention.masked_softmax(self.v(hidden).squeeze(-1), mask)
        return torch.einsum("bs,bsd->bd", weights, annotations), weights


class DimensionsSwapped(attention.BahdanauAttention):
    def __init__(self, encoder_dim, decoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)


class VectorForLayer(attention.BahdanauAttention):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        del self.v
        self.v = nn.Parameter(torch.zeros(attention_dim))


class LayersOutOfSight(nn.Module):
    """No layer is an attribute when the module is new."""

    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__()
        self.layers = [nn.Linear(decoder_dim, attention_dim, bias=False)]


class SoftmaxOverBatch(InSteps):
    def weigh(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        return scores.softmax(dim=0)


class SoftmaxOfOne(InSteps):
    """Softmax over the last axis of scores (B, S, 1), of length one."""

    def weigh(self, scores, mask):
        return torch.ones_like(scores)


class SoftmaxOfOneThenMask(InSteps):
    def weigh(self, scores, mask):
        return torch.ones_like(scores) if mask is None else mask.to(scores.dtype)


class SoftmaxOverFeatures(InSteps):
    """Softmax over the hidden layer; what v makes of it is used as it is."""

    def compare(self, state, words):
        return super().compare(state, words).softmax(dim=-1)

    def weigh(self, scores, mask):
        return scores if mask is None else scores * mask


class SoftmaxOverFeaturesAndWords(InSteps):
    def compare(self, state, words):
        return super().compare(state, words).softmax(dim=-1)


class SoftmaxTwice(InSteps):
    def weigh(self, scores, mask):
        return super().weigh(super().weigh(scores, mask), mask)


class NoSoftmax(InSteps):
    def weigh(self, scores, mask):
        return scores if mask is None else scores * mask


class ExpWithoutSum(InSteps):
    def weigh(self, scores, mask):
        return scores.exp() if mask is None else scores.exp() * mask


class MaskIgnored(InSteps):
    def weigh(self, scores, mask):
        return scores.softmax(dim=-1)


class MaskInverted(InSteps):
    def weigh(self, scores, mask):
        return attention.masked_softmax(scores, None if mask is None else ~mask)


class MaskInvertedOnce(InSteps):
    """Inverted before the softmax, the right way round after it: nothing is left."""

    def weigh(self, scores, mask):
        if mask is None:
            return scores.softmax(dim=-1)
        return super().weigh(scores, ~mask).masked_fill(~mask, 0.0)


class MaskAfterSoftmax(InSteps):
    def weigh(self, scores, mask):
        return scores.softmax(dim=-1) if mask is None else scores.softmax(dim=-1) * mask


class MaskOnTheWeightsAlone(MaskIgnored):
    """The context is made of weights that know no mask."""

    def forward(self, state, annotations, mask=None):
        context, weights = super().forward(state, annotations)
        return context, weights if mask is None else weights * mask


class MaskInTheContextAlone(MaskAfterSoftmax):
    """The weights that are returned know no mask."""

    def forward(self, state, annotations, mask=None):
        context, _ = super().forward(state, annotations, mask)
        return context, super().forward(state, annotations)[1]


class ZeroForMinusInfinity(InSteps):
    def weigh(self, scores, mask):
        return (scores if mask is None else scores * mask).softmax(dim=-1)


class ZeroForMinusInfinityThenMask(ZeroForMinusInfinity):
    def weigh(self, scores, mask):
        weights = super().weigh(scores, mask)
        return weights if mask is None else weights * mask


class SumWithoutWeights(InSteps):
    def finish(self, weights, annotations, scores):
        return annotations.sum(dim=1), weights


class SumOfTheVisible(InSteps):
    def finish(self, weights, annotations, scores):
        return ((weights != 0).unsqueeze(-1) * annotations).sum(dim=1), weights


class MeanForContext(InSteps):
    def finish(self, weights, annotations, scores):
        return annotations.mean(dim=1), weights


class ContextFromScores(InSteps):
    def finish(self, weights, annotations, scores):
        return torch.einsum("bs,bsd->bd", scores, annotations), weights


class ContextOfProjections(InSteps):
    def finish(self, weights, annotations, scores):
        return torch.einsum("bs,bsa->ba", weights, self.U(annotations)), weights


class ContextNotSummed(InSteps):
    def finish(self, weights, annotations, scores):
        return weights.unsqueeze(-1) * annotations, weights


class MostWeightedWord(InSteps):
    def finish(self, weights, annotations, scores):
        return annotations[torch.arange(len(weights)), weights.argmax(dim=-1)], weights


class ScoresForWeights(InSteps):
    def finish(self, weights, annotations, scores):
        return torch.einsum("bs,bsd->bd", weights, annotations), scores


class MaskedScoresForWeights(InSteps):
    def forward(self, state, annotations, mask=None):
        context, _ = super().forward(state, annotations, mask)
        scores = self.score(state, annotations)
        return context, scores if mask is None else scores.masked_fill(~mask, -math.inf)


class WeightsFirst(InSteps):
    def finish(self, weights, annotations, scores):
        return weights, torch.einsum("bs,bsd->bd", weights, annotations)


class ContextAlone(InSteps):
    def finish(self, weights, annotations, scores):
        return torch.einsum("bs,bsd->bd", weights, annotations)


class AxisLeftOver(InSteps):
    """Weights (B, S, 1); the other variants keep an axis of the context, or of both."""

    context_axis: int | None = None
    weights_axis: int | None = -1

    def finish(self, weights, annotations, scores):
        context = torch.einsum("bs,bsd->bd", weights, annotations)
        if self.context_axis is not None:
            context = context.unsqueeze(self.context_axis)
        if self.weights_axis is not None:
            weights = weights.unsqueeze(self.weights_axis)
        return context, weights


class ContextAxisLeftOver(AxisLeftOver):
    context_axis, weights_axis = 1, None


class WeightsRowLeftOver(AxisLeftOver):
    weights_axis = 1


class BothRowsLeftOver(AxisLeftOver):
    context_axis, weights_axis = 1, 1


class BothAxesLeftOver(AxisLeftOver):
    context_axis = 1


class EveryAxisSqueezed(InSteps):
    """``squeeze()`` without an axis also takes away a batch or a sentence of length one."""

    def score(self, state, annotations):
        return super().score(state, annotations).squeeze()

    def finish(self, weights, annotations, scores):
        return torch.bmm(weights.unsqueeze(1), annotations).squeeze(1), weights


class ContextSqueezed(InSteps):
    def finish(self, weights, annotations, scores):
        return torch.bmm(weights.unsqueeze(1), annotations).squeeze(), weights


class BothSqueezed(ContextSqueezed):
    def finish(self, weights, annotations, scores):
        context, weights = super().finish(weights, annotations, scores)
        return context, weights.squeeze()


class EveryAxisSqueezedAndBroadcast(EveryAxisSqueezed):
    def finish(self, weights, annotations, scores):
        return (weights.unsqueeze(-1) * annotations).sum(dim=1), weights


# --------------------------------------------------------------------------------- the two parts

NOT_TURNED = (
    "You join the two lists as they come. The backward network starts at the last word, so its "
    "first state belongs to which word? Compare with the example."
)
ALONG_WORDS = (
    "Your result is (B, 2S, h): twice as many words. The number of words stays, and each word's "
    "vector gets wider. Which axis holds the features?"
)
ALONG_BATCH = (
    "Your result is (2B, S, h): twice as many sentences. Each word's vector gets wider instead. "
    "Which axis holds the features?"
)
DOT_PRODUCT = (
    "Your score is a dot product. Here a small network compares the two: W and U bring state and "
    "annotation to one width, they are added, and v makes a number of what tanh leaves."
)
FEATURES = (
    "Your softmax does not run over the words. Which axis of your scores holds the words of a "
    "sentence, and which sum should be one?"
)
SOFTMAX_OF_HIDDEN = (
    "Your numbers match a softmax over the entries of the hidden layer. These are features. There is "
    "one softmax here, over the scores of the words of a sentence."
)
PRODUCT = "You multiply W s and U h_j entry by entry. The formula adds them, and then takes tanh."
NO_AXIS = (
    "W s is (B, attention_dim) and U h is (B, S, attention_dim). Broadcasting compares axes from the "
    "right, so your B meets S: it stops, or mixes sentences silently. Which axis has to be put "
    "between the two of W s?"
)
SHARE_KEPT = (
    "Hidden weights are zero, but the visible ones no longer sum to one: hidden words took part in "
    "the softmax and kept their share. At which step must they drop out?"
)
ZERO_SCORE = (
    "A hidden score became 0, and exp(0) = 1 is a weight like any other. Which score has the "
    "weight 0?"
)
SCORES = (
    "The context is right, but what stands beside it are the scores before the softmax. Return the "
    "weights."
)
AXIS = (
    "The numbers are right, but an axis of length 1 is left over. The context is (B, encoder_dim) "
    "and the weights are (B, S): which axis did you need only on the way?"
)
SQUEEZED = (
    "All is right until there is a single sentence, or a single word. `squeeze()` takes away every "
    "axis of length 1. Can you name the one that you mean?"
)
NO_WEIGHTS_IN_SUM = (
    "The weights are right, but your context adds up the annotations as they are. How much of each "
    "annotation belongs into the sum?"
)

annotations = Part(
    name="annotations",
    signature="annotations(forward_states (B, S, h), backward_states (B, S, h)) -> (B, S, 2h)",
    reference=attention.annotations,
    steps=(
        Step(
            "every word has two states side by side, the forward one first",
            1,
            (
                Case("three sentences, S=5, h=2", two_directions(3, 5, 2)),
                Case("two sentences, S=3, h=4", two_directions(2, 3, 4)),
            ),
            judge=halves_are_joined,
        ),
        Step(
            "both states of a word are its own, whatever the length and width",
            1,
            (
                Case("one sentence, S=5, h=3", two_directions(1, 5, 3)),
                Case("two sentences, S=5, h=4", two_directions(2, 5, 4)),
                Case("five sentences, S=2, h=3", two_directions(5, 2, 3)),
                Case("as many sentences as words, B=S=3, h=3", two_directions(3, 3, 3)),
                Case("a single word, S=1, h=5", two_directions(3, 1, 5)),
                Case("states of width 1, S=4", two_directions(2, 4, 1)),
            ),
        ),
        Step(
            "float64 stays float64, inputs stay as they were, any memory layout, gradients flow",
            1,
            (
                Case("states in float64", two_directions(2, 5, 3, torch.float64)),
                Case("states with gaps in memory", two_directions(2, 5, 4), strided=True),
                Case(
                    "gradients for forward_states and backward_states",
                    two_directions(2, 5, 3),
                    gradient=True,
                ),
            ),
            strict=True,
        ),
    ),
    mistakes=(
        Mistake("backward states not reversed", not_turned_round, NOT_TURNED),
        Mistake(
            "forward states reversed",
            forward_turned_round,
            "You turn the forward states round, so your first annotation belongs to the last word. "
            "Which of the two networks read the last word first?",
        ),
        Mistake(
            "both directions reversed",
            both_turned_round,
            "You turn both lists round. The forward network read the first word first, so its list "
            "already is in the order of the words. And the other one?",
        ),
        Mistake(
            "batch reversed",
            batch_turned_round,
            "You turn the order of the sentences round: each gets the backward states of another. "
            "Which of the three axes holds the words?",
        ),
        Mistake(
            "features reversed",
            features_turned_round,
            "You turn the entries of each state round, and the states stay where they were. Which "
            "of the three axes holds the words?",
        ),
        Mistake(
            "words and features reversed",
            words_and_features_turned_round,
            "The words are in order, but the entries of each backward state are turned round, too. "
            "One axis is enough: that of the words.",
        ),
        Mistake(
            "words and batch reversed",
            words_and_batch_turned_round,
            "The words are in order, but the order of the sentences is turned round, too: each gets "
            "the backward states of another. One axis is enough: that of the words.",
        ),
        Mistake(
            "all axes reversed",
            everything_turned_round,
            "You turn every axis round: the sentences and the entries of each state, too. One axis "
            "is enough: that of the words.",
        ),
        Mistake(
            "backward states first",
            backward_first,
            "Both states of a word are its own, but the backward one comes first. The annotation is "
            "[forward; backward].",
        ),
        Mistake(
            "backward states first and not reversed",
            backward_first_not_turned_round,
            "The annotation is [forward; backward], in this order. And the backward network starts "
            "at the last word, so its first state belongs to which word?",
        ),
        Mistake("joined along the words", joined_along_the_words, ALONG_WORDS),
        Mistake("joined along the words", joined_along_the_words_not_turned_round, ALONG_WORDS),
        Mistake(
            "joined along the words and cut anew",
            joined_along_the_words_and_cut_anew,
            "The shape is right, but you join along the words and then cut the result anew, so that "
            "two words that stand side by side share a vector. Which axis holds the features?",
        ),
        Mistake("joined along the batch", joined_along_the_batch, ALONG_BATCH),
        Mistake("joined along the batch", joined_along_the_batch_not_turned_round, ALONG_BATCH),
        Mistake(
            "states added",
            added,
            "You add the two states of a word. Side by side they keep apart what came before the "
            "word and what comes after it: (B, S, 2h).",
        ),
        Mistake(
            "states stacked",
            stacked,
            "The right states meet, but in an axis of their own: (B, S, 2, h). An annotation is one "
            "vector of width 2h.",
        ),
        Mistake(
            "entries of the two states in turns",
            interleaved,
            "You take entry 0 of both states, then entry 1 of both. The whole forward state comes "
            "first, then the whole backward state.",
        ),
        Mistake(
            "states not joined",
            two_results,
            "Both lists are in order, but they are still two. The result is one tensor (B, S, 2h).",
        ),
    ),
    reads=("lecture 1, section 4, on annotations", LECTURE),
)

bahdanau_attention = Part(
    name="BahdanauAttention",
    signature="BahdanauAttention(decoder_dim, encoder_dim, attention_dim); forward(state (B, "
    "decoder_dim), annotations (B, S, encoder_dim), mask=None) -> (context (B, encoder_dim), "
    "weights (B, S))",
    reference=attention.BahdanauAttention,
    steps=(
        Step(
            "layers without bias; positive weights, larger for better words, with sum one",
            1,
            (
                Case(
                    "what a new module holds",
                    lambda generator: Build(construct=(7, 6, 3), method=None),
                    random=True,  # its value is no result by which a mistake could be known
                ),
                Case("two sentences, S=5, attention_dim=1", on_one_line(2, 5, 3, 4)),
                Case("four sentences, S=3, attention_dim=1", on_one_line(4, 3, 5, 2)),
            ),
            judge=layers_and_ranks,
        ),
        Step(
            "the weights are those of the formula, whatever the sizes",
            2,
            (
                Case("B=2, S=5, decoder 7, encoder 6, attention 3", looking(2, 5, (7, 6, 3))),
                Case("B=4, S=2, decoder 3, encoder 5, attention 11", looking(4, 2, (3, 5, 11))),
                Case("B=S=3, decoder 4, encoder 6, attention 5", looking(3, 3, (4, 6, 5))),
                Case("B=2, S=3, decoder 5, encoder 5, attention 7", looking(2, 3, (5, 5, 7))),
                Case(
                    "mask=None given, B=3, S=13, decoder 2, encoder 3, attention 4",
                    looking(3, 13, (2, 3, 4), no_mask),
                ),
            ),
            judge=weights_agree,
        ),
        Step(
            "the context is the sum of the annotations, each with its weight",
            1,
            (
                Case("B=2, S=5, encoder 6", looking(2, 5, (7, 6, 3), fixed=True)),
                Case("B=3, S=4, encoder 9", looking(3, 4, (5, 9, 8), fixed=True)),
                Case("B=S=3, encoder 5, attention 5", looking(3, 3, (2, 5, 5), fixed=True)),
            ),
            judge=context_follows,
        ),
        Step(
            "hidden words get the weight 0, and the visible ones still sum to one",
            1,
            (
                Case(
                    "two words of each sentence hidden, S=5",
                    on_one_line(2, 5, 3, 4, hiding(2, 5, 2)),
                ),
                Case(
                    "one word of each sentence hidden, S=4",
                    on_one_line(3, 4, 2, 5, hiding(3, 4, 1)),
                ),
                Case(
                    "sentences of 5, 2 and 3 words, padded",
                    on_one_line(3, 5, 3, 4, padding(5, 5, 2, 3)),
                    random=True,  # wrong ways to use this mask may give NaN
                ),
                Case(
                    "a mask that hides nothing",
                    on_one_line(2, 3, 4, 5, padding(3, 3, 3)),
                    random=True,  # wrong ways to use this mask may give NaN
                ),
            ),
            judge=weights_rank,
        ),
        Step(
            "where nothing may be attended to, weights and context are 0",
            1,
            (
                Case(
                    "all words of sentence 1 hidden, S=5",
                    on_one_line(2, 5, 3, 4, padding(5, 3, 0)),
                    random=True,  # there are too many ways to treat this to know a mistake by it
                ),
                Case(
                    "all words of all sentences hidden, S=4",
                    on_one_line(3, 4, 2, 5, padding(4, 0, 0, 0)),
                    random=True,
                ),
            ),
            judge=empty_gives_zero,
        ),
        Step(
            "one sentence, one word, float64, untouched inputs, any memory layout, gradients",
            1,
            (
                Case("a single sentence, B=1, S=4", looking(1, 4, (7, 6, 3))),
                Case("a single word, B=3, S=1", looking(3, 1, (7, 6, 3))),
                Case("float64", looking(2, 5, (7, 6, 3), dtype=torch.float64)),
                Case(
                    "float64 with a mask",
                    looking(2, 5, (7, 6, 3), hiding(2, 5, 2), dtype=torch.float64),
                ),
                Case(
                    "inputs and mask with gaps in memory",
                    looking(2, 5, (3, 4, 7), hiding(2, 5, 1)),
                    strided=True,
                ),
                Case(
                    "train mode with a mask",
                    looking(2, 5, (7, 6, 3), hiding(2, 5, 2), training=True),
                ),
                Case(
                    "gradients for state, annotations and all weights",
                    looking(2, 5, (7, 6, 3)),
                    gradient=True,
                ),
                Case(
                    "gradients with a sentence in which all is hidden: NaN easily flows back there",
                    looking(2, 5, (7, 6, 3), padding(5, 3, 0)),
                    gradient=True,
                ),
            ),
            judge=hidden_are_zero,
            strict=True,
        ),
    ),
    mistakes=(
        Mistake(
            "no tanh",
            NoTanh,
            "Your numbers match a score without tanh. Then v(W s) is added to the score of every "
            "word, and what does a softmax do with a number that all scores share? The state has no "
            "say.",
        ),
        Mistake(
            "relu instead of tanh",
            ReluForTanh,
            "Your numbers match relu in place of tanh. The formula has a tanh.",
        ),
        Mistake(
            "sigmoid instead of tanh",
            SigmoidForTanh,
            "Your numbers match a sigmoid in place of tanh. The formula has a tanh.",
        ),
        Mistake(
            "tanh of the score",
            TanhOfTheScore,
            "You take tanh last, of the finished score. In the formula it comes between the sum and "
            "v: which brackets does it stand in front of?",
        ),
        Mistake("product instead of sum", ProductForSum, PRODUCT),
        Mistake("product instead of sum", ProductWithoutTanh, PRODUCT),
        Mistake("dot-product score", DotProduct, DOT_PRODUCT),
        Mistake("dot-product score", ScaledDotProduct, DOT_PRODUCT),
        Mistake("dot-product score", DotProductOfTanhs, DOT_PRODUCT),
        Mistake("dot-product score", DotProductOfTheRaw, DOT_PRODUCT),
        Mistake(
            "v left out",
            WithoutV,
            "You add up the entries of the hidden layer as they are. v says how much each of them "
            "counts.",
        ),
        Mistake(
            "state left out",
            WithoutState,
            "Your weights depend on the annotations alone, so every step of the decoder would look at "
            "the same words. Does W s enter, and before the tanh? (What is added to all scores of a "
            "sentence alike, the softmax does not see.)",
        ),
        Mistake(
            "annotations left out",
            WithoutWords,
            "All words of a sentence get the same score, so every weight is 1/S and the context is the "
            "plain mean. Where does U h_j enter?",
        ),
        Mistake(
            "scores scaled",
            Scaled,
            "Your numbers match scores divided by √attention_dim. That scale belongs to dot products "
            "(lecture 3); the formula here has none.",
        ),
        Mistake("state without an axis for the words", StateWithoutAxis, NO_AXIS),
        Mistake("state without an axis for the words", StateWithoutAxisThenBmm, NO_AXIS),
        Mistake(
            "W and U swapped",
            Swapped,
            "Your W maps the annotations and your U the state. It is the other way round: W belongs "
            "to the state.",
        ),
        Mistake(
            "decoder_dim and encoder_dim swapped",
            DimensionsSwapped,
            "Your constructor takes the width of the annotations first. The order is decoder_dim, "
            "encoder_dim, attention_dim.",
        ),
        Mistake(
            "v a bare parameter",
            VectorForLayer,
            "Your v is a parameter by itself. Make it a layer like W and U, so that its weights have "
            "the name `v.weight`: from which width to which?",
        ),
        Mistake(
            "no layers W, U and v",
            LayersOutOfSight,
            "A new module has none of the weights `W.weight`, `U.weight`, `v.weight`. Make each an "
            "`nn.Linear` in `__init__`, directly as the attribute of this name. Layers made in "
            "`forward` or kept in a plain list are neither trained nor saved; bare parameters and "
            "layers inside an `nn.Sequential` have other names.",
        ),
        Mistake(
            "softmax over the batch",
            SoftmaxOverBatch,
            "Your weights sum to one over the sentences of the batch, so sentences compete with each "
            "other. Which axis of (B, S) holds the words of one sentence?",
        ),
        Mistake("softmax over the features", SoftmaxOfOne, FEATURES),
        Mistake("softmax over the features", SoftmaxOfOneThenMask, FEATURES),
        Mistake("softmax over the features", SoftmaxOverFeatures, SOFTMAX_OF_HIDDEN),
        Mistake("softmax over the features", SoftmaxOverFeaturesAndWords, SOFTMAX_OF_HIDDEN),
        Mistake(
            "softmax taken twice",
            SoftmaxTwice,
            "Your weights match a softmax of a softmax, which brings them closer together. Once is "
            "enough.",
        ),
        Mistake(
            "no softmax",
            NoSoftmax,
            "Your weights are the scores themselves: some are negative, and they do not sum to one. "
            "What makes weights of scores?",
        ),
        Mistake(
            "exp without the division",
            ExpWithoutSum,
            "Your weights match exp of the scores. They are positive, but do they sum to one?",
        ),
        Mistake(
            "mask ignored",
            MaskIgnored,
            "Without a mask all is right; with one, the same comes out as without. Where does the "
            "mask enter?",
        ),
        Mistake(
            "mask inverted",
            MaskInverted,
            "You hide what the mask allows. In this course True means: may attend.",
        ),
        Mistake(
            "mask inverted",
            MaskInvertedOnce,
            "Before the softmax you hide what the mask allows, and after it the rest, so nothing is "
            "left. In this course True means: may attend.",
        ),
        Mistake("mask applied after the softmax", MaskAfterSoftmax, SHARE_KEPT),
        Mistake("mask applied after the softmax", MaskOnTheWeightsAlone, SHARE_KEPT),
        Mistake(
            "mask applied after the softmax",
            MaskInTheContextAlone,
            "The context leaves the hidden words out, but they took part in the softmax and kept "
            "their weights. At which step must they drop out?",
        ),
        Mistake("hidden scores set to 0", ZeroForMinusInfinity, ZERO_SCORE),
        Mistake("hidden scores set to 0", ZeroForMinusInfinityThenMask, ZERO_SCORE),
        Mistake("context sums without weights", SumWithoutWeights, NO_WEIGHTS_IN_SUM),
        Mistake("context sums without weights", SumOfTheVisible, NO_WEIGHTS_IN_SUM),
        Mistake(
            "context is the plain mean",
            MeanForContext,
            "The weights are right, but your context is the plain mean of the annotations, in which "
            "every word counts the same. Where do the weights enter?",
        ),
        Mistake(
            "context from the scores",
            ContextFromScores,
            "The weights are right, but your context multiplies the annotations by the scores from "
            "before the softmax.",
        ),
        Mistake(
            "context of the projected annotations",
            ContextOfProjections,
            "Your context is a sum of U h_j, with the width attention_dim. U serves the score alone; "
            "what is averaged are the annotations themselves.",
        ),
        Mistake(
            "context not summed",
            ContextNotSummed,
            "Every annotation is multiplied by its weight, but they still stand one by one, "
            "(B, S, encoder_dim). What remains is the sum over the words.",
        ),
        Mistake(
            "context is the best word alone",
            MostWeightedWord,
            "Your context is the annotation with the largest weight. All of them count, each with "
            "its weight; and through a choice of the largest no gradient would reach the scores.",
        ),
        Mistake("scores returned for weights", ScoresForWeights, SCORES),
        Mistake("scores returned for weights", MaskedScoresForWeights, SCORES),
        Mistake(
            "results in the wrong order",
            WeightsFirst,
            "You return the weights first. The order is (context, weights).",
        ),
        Mistake(
            "context returned without the weights",
            ContextAlone,
            "The context is right, but it comes alone. Return the pair (context, weights).",
        ),
        Mistake("axis of length 1 left over", AxisLeftOver, AXIS),
        Mistake("axis of length 1 left over", ContextAxisLeftOver, AXIS),
        Mistake("axis of length 1 left over", WeightsRowLeftOver, AXIS),
        Mistake("axis of length 1 left over", BothRowsLeftOver, AXIS),
        Mistake("axis of length 1 left over", BothAxesLeftOver, AXIS),
        Mistake("every axis of length 1 squeezed", EveryAxisSqueezed, SQUEEZED),
        Mistake("every axis of length 1 squeezed", EveryAxisSqueezedAndBroadcast, SQUEEZED),
        Mistake("every axis of length 1 squeezed", ContextSqueezed, SQUEEZED),
        Mistake("every axis of length 1 squeezed", BothSqueezed, SQUEEZED),
    ),
    reads=(
        "lecture 1, section 5, on scores, weights and context",
        f"{LECTURE}#5.-Attention:-scores,-weights,-context",
    ),
)

# PyTorch has no additive attention, so there is no library answer to bar: only `course_utils` is.
ASSIGNMENT = Assignment(name="a1_rnn_attention", parts=(annotations, bahdanau_attention), barred=())
