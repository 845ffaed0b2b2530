"""Assignment 1: annotations of a bidirectional network, and additive attention over them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checks.judges import Weights
from autograder.verdict.check import Assignment, Build, Case, Part, Randn
from autograder.verdict.compare import kind_of, numbers, values_agree
from course_utils import attention

LECTURE = "../../lectures/01_rnn_attention.ipynb"

# ------------------------------------------------------------------------------ what is drawn

# what it is called, and how it is drawn for B sentences of S words
Mask = tuple[str, Callable[[Randn, int, int], Tensor | None]]
NO_MASK: Mask = ("mask=None given", lambda randn, B, S: None)


def hiding(count: int) -> Mask:
    """Hides this many words of each sentence, and none of them in two.

    So every sentence and every place shows something, and most wrong ways to use a mask still
    give finite numbers by which they can be told apart.
    """

    def draw(randn: Randn, B: int, S: int) -> Tensor:
        start = torch.randint(S, (1,), generator=randn.generator)
        hidden = (start + torch.arange(B * count).reshape(B, count)) % S
        return torch.ones(B, S, dtype=torch.bool).scatter(1, hidden, False)

    return f"{count} of the words hidden in each sentence", draw


def padding(*lengths: int) -> Mask:
    """Shows as many words of each sentence as these."""
    what = f"sentences with {', '.join(map(str, lengths))} visible words"
    return what, lambda randn, B, S: torch.arange(S) < torch.tensor(lengths).unsqueeze(1)


def two_directions(B: int, S: int, h: int) -> Case:
    """forward_states and backward_states (B, S, h)."""
    return Case(f"{B=}, {S=}, {h=}", lambda randn: [randn(B, S, h), randn(B, S, h)])


def fixed_annotations(*shape: int) -> Tensor:
    """Annotations that depend on nothing but their shape, so that a judge knows them, too."""
    return Randn(seed=1)(*shape)


def looking(
    B: int,
    S: int,
    dims: tuple[int, int, int],
    mask: Mask | None = None,
    *,
    fixed: bool = False,
    training: bool = False,
    **how: Any,
) -> Case:
    """A state and annotations, maybe `fixed_annotations`, and a mask.

    ``dims`` are decoder_dim, encoder_dim, attention_dim.
    """
    decoder, encoder, _ = dims
    label = f"{B=}, {S=}, widths of decoder, encoder, attention {dims}"
    if mask:
        label += f", {mask[0]}"
    if training:
        label += ", train mode"

    def draw(randn: Randn) -> Build:
        words = fixed_annotations(B, S, encoder) if fixed else randn(B, S, encoder)
        masks = [mask[1](randn, B, S)] if mask else []
        return Build(dims, arguments=[randn(B, decoder), words, *masks], training=training)

    return Case(label, draw, **how)


def on_one_line(
    B: int, S: int, decoder: int, encoder: int, mask: Mask | None = None, **how: Any
) -> Case:
    """A case with attention_dim = 1 in which v, W s and W s + U h_j are positive.

    Any score that grows with U h_j puts the words into one order there, with tanh or without, sum
    or product. So a slip in the score does not cost the points for the softmax and the mask.
    """
    anywhere = looking(B, S, (decoder, encoder, 1), mask, **how)

    def draw(randn: Randn) -> Build:
        def rand(*shape: int) -> Tensor:
            return torch.rand(*shape, generator=randn.generator)

        drawn = anywhere.draw(randn)
        assert isinstance(drawn, Build)
        W, U, v = randn(1, decoder), randn(1, encoder), 1.5 + rand(1, 1)
        state_part = 0.4 + 0.4 * rand(B, 1)
        word_part = (rand(B, S).argsort(dim=1) / S * 1.2 - 0.3).unsqueeze(-1)  # well apart
        words = drawn.arguments[1]
        drawn.arguments[0] = state_part * W / W.square().sum()  # so that W s is state_part
        drawn.arguments[1] = words + (word_part - words @ U.T) * U / U.square().sum()
        return replace(drawn, state={"W.weight": W, "U.weight": U, "v.weight": v})

    return replace(anywhere, draw=draw)


# ------------------------------------------------------------------------------- what decides

WEIGHTS = Weights("context", B="sentence", S="word")


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
    """Accept weights in the right order, and a new module whose W, U and v have no bias.

    What else it holds is free.
    """
    if not isinstance(expected, dict):
        return WEIGHTS.rank(expected, got)
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


def weights_agree(expected: tuple, got: Any) -> str | None:
    """Compare the weights; the context is another step's matter."""
    problem = WEIGHTS.missing(expected, got) or values_agree(expected[1], got[1])
    return problem and f"for the weights, {problem}"


def context_follows(expected: tuple, got: Any) -> str | None:
    """Accept the right context, or the one that belongs to the weights beside it.

    So an error in the weights, or in how they are returned, is not charged again. Weights that are
    all the same do not count, for then the mean would do.
    """
    context = got[0] if isinstance(got, tuple | list) and got else got
    if values_agree(expected[0], context) is None:
        return None
    problem = WEIGHTS.missing(expected, got)
    if problem:
        return problem
    weights = torch.as_tensor(got[1]).float()
    if not weights.isfinite().all():
        return "the weights hold NaN or infinity, so no context can be right"
    if (weights.amax(dim=-1) - weights.amin(dim=-1) < 1e-3).any():
        return f"the words of a sentence have the same weights, {numbers(weights[0])}"
    annotations = fixed_annotations(*weights.shape, expected[0].shape[-1])
    problem = values_agree(torch.einsum("bs,bsd->bd", weights, annotations), context)
    return problem and f"for the context that belongs to the weights you return, {problem}"


# -------------------------------------------------------------------------------- annotations

annotate = Part(
    "annotations(forward_states (B, S, h), backward_states (B, S, h)) -> (B, S, 2h)",
    attention.annotations,
    reads=("lecture 1, section 4, on annotations", LECTURE),
)
annotate.step(
    "every word has two states side by side, the forward one first",
    1, two_directions(B=3, S=5, h=2), two_directions(B=2, S=3, h=4), judge=halves_are_joined,
)  # fmt: skip
annotate.step(
    "both states of a word are its own, whatever the length and width",
    1,
    two_directions(B=1, S=5, h=3), two_directions(B=2, S=5, h=4), two_directions(B=5, S=2, h=3),
    two_directions(B=3, S=3, h=3),  # no shape tells one axis from another
    two_directions(B=3, S=1, h=5), two_directions(B=2, S=4, h=1),
)  # fmt: skip
annotate.manners(
    1,
    two_directions(B=2, S=5, h=4),
    asks="float64 stays float64, inputs stay as they were, any memory layout, gradients flow",
)


def side_by_side(*states: Tensor) -> Tensor:
    return torch.cat(states, dim=-1)


@annotate.mistake("backward states not reversed")
def not_turned_round(forward_states, backward_states):
    """You join the two lists as they come. The backward network starts at the last word, so its
    first state belongs to which word? Compare with the example."""
    return side_by_side(forward_states, backward_states)


@annotate.mistake("forward states reversed")
def forward_turned_round(forward_states, backward_states):
    """You turn the forward states round, so your first annotation belongs to the last word. Which
    of the two networks read the last word first?"""
    return side_by_side(forward_states.flip(1), backward_states)


@annotate.mistake("both directions reversed")
def both_turned_round(forward_states, backward_states):
    """You turn both lists round. The forward network read the first word first, so its list already
    is in the order of the words. And the other one?"""
    return side_by_side(forward_states, backward_states).flip(1)


@annotate.mistake("batch reversed")
def batch_turned_round(forward_states, backward_states):
    """You turn the order of the sentences round: each gets the backward states of another. Which of
    the three axes holds the words?"""
    return side_by_side(forward_states, backward_states.flip(0))


@annotate.mistake("features reversed")
def features_turned_round(forward_states, backward_states):
    """You turn the entries of each state round, and the states stay where they were. Which of the
    three axes holds the words?"""
    return side_by_side(forward_states, backward_states.flip(2))


@annotate.mistake("words and features reversed")
def words_and_features_turned_round(forward_states, backward_states):
    """The words are in order, but the entries of each backward state are turned round, too. One
    axis is enough: that of the words."""
    return side_by_side(forward_states, backward_states.flip(1, 2))


@annotate.mistake("words and batch reversed")
def words_and_batch_turned_round(forward_states, backward_states):
    """The words are in order, but the order of the sentences is turned round, too: each gets the
    backward states of another. One axis is enough: that of the words."""
    return side_by_side(forward_states, backward_states.flip(0, 1))


@annotate.mistake("all axes reversed")
def everything_turned_round(forward_states, backward_states):
    """You turn every axis round: the sentences and the entries of each state, too. One axis is
    enough: that of the words."""
    return side_by_side(forward_states, backward_states.flip(0, 1, 2))


@annotate.mistake("backward states first")
def backward_first(forward_states, backward_states):
    """Both states of a word are its own, but the backward one comes first. The annotation is
    [forward; backward]."""
    return side_by_side(backward_states.flip(1), forward_states)


@annotate.mistake("backward states first and not reversed")
def backward_first_not_turned_round(forward_states, backward_states):
    """The annotation is [forward; backward], in this order. And the backward network starts at the
    last word, so its first state belongs to which word?"""
    return side_by_side(backward_states, forward_states)


for turned in ([1], []):

    @annotate.mistake("joined along the words")
    def joined_along_the_words(forward_states, backward_states, turned=turned):
        """Your result is (B, 2S, h): twice as many words. The number of words stays, and each
        word's vector gets wider. Which axis holds the features?"""
        return torch.cat([forward_states, backward_states.flip(turned)], dim=1)

    @annotate.mistake("joined along the batch")
    def joined_along_the_batch(forward_states, backward_states, turned=turned):
        """Your result is (2B, S, h): twice as many sentences. Each word's vector gets wider
        instead. Which axis holds the features?"""
        return torch.cat([forward_states, backward_states.flip(turned)], dim=0)


@annotate.mistake("joined along the words and cut anew")
def joined_along_the_words_and_cut_anew(forward_states, backward_states):
    """The shape is right, but you join along the words and then cut the result anew, so that two
    words that stand side by side share a vector. Which axis holds the features?"""
    joined = torch.cat([forward_states, backward_states.flip(1)], dim=1)
    return joined.reshape(*forward_states.shape[:2], -1)


@annotate.mistake("states added")
def added(forward_states, backward_states):
    """You add the two states of a word. Side by side they keep apart what came before the word and
    what comes after it: (B, S, 2h)."""
    return forward_states + backward_states.flip(1)


@annotate.mistake("states stacked")
def stacked(forward_states, backward_states):
    """The right states meet, but in an axis of their own: (B, S, 2, h). An annotation is one vector
    of width 2h."""
    return torch.stack([forward_states, backward_states.flip(1)], dim=2)


@annotate.mistake("entries of the two states in turns")
def interleaved(forward_states, backward_states):
    """You take entry 0 of both states, then entry 1 of both. The whole forward state comes first,
    then the whole backward state."""
    return torch.stack([forward_states, backward_states.flip(1)], dim=-1).flatten(2)


@annotate.mistake("states not joined")
def two_results(forward_states, backward_states):
    """Both lists are in order, but they are still two. The result is one tensor (B, S, 2h)."""
    return forward_states, backward_states.flip(1)


# -------------------------------------------------------------------------- BahdanauAttention

bahdanau = Part(
    "BahdanauAttention(decoder_dim, encoder_dim, attention_dim); forward(state (B, decoder_dim), "
    "annotations (B, S, encoder_dim), mask=None) -> (context (B, encoder_dim), weights (B, S))",
    attention.BahdanauAttention,
    reads=(
        "lecture 1, section 5, on scores, weights and context",
        f"{LECTURE}#5.-Attention:-scores,-weights,-context",
    ),
)
bahdanau.step(
    "layers without bias; positive weights, larger for better words, with sum one",
    1,
    # random: its value is no result by which a mistake could be known
    Case("what a new module holds", lambda randn: Build((7, 6, 3), method=None), random=True),
    on_one_line(B=2, S=5, decoder=3, encoder=4),
    on_one_line(B=4, S=3, decoder=5, encoder=2),
    judge=layers_and_ranks,
)
bahdanau.step(
    "the weights are those of the formula, whatever the sizes",
    2,
    looking(2, 5, (7, 6, 3)), looking(4, 2, (3, 5, 11)),
    looking(3, 3, (4, 6, 5)),  # a state without an axis for the words fits here
    looking(2, 3, (5, 5, 7)),  # and state and annotations swapped, or multiplied, here
    looking(3, 13, (2, 3, 4), NO_MASK), judge=weights_agree,
)  # fmt: skip
bahdanau.step(
    "the context is the sum of the annotations, each with its weight",
    1,
    looking(2, 5, (7, 6, 3), fixed=True), looking(3, 4, (5, 9, 8), fixed=True),
    looking(3, 3, (2, 5, 5), fixed=True), judge=context_follows,
)  # fmt: skip
bahdanau.step(
    "hidden words get the weight 0, and the visible ones still sum to one",
    1,
    on_one_line(2, 5, 3, 4, hiding(2)),
    on_one_line(3, 4, 2, 5, hiding(1)),
    # random: wrong ways to use these masks may give NaN
    on_one_line(3, 5, 3, 4, padding(5, 2, 3), random=True),
    on_one_line(2, 3, 4, 5, padding(3, 3), random=True),
    judge=WEIGHTS.rank,
)
bahdanau.step(
    "where nothing may be attended to, weights and context are 0",
    1,
    # random: there are too many ways to treat this to know a mistake by it
    on_one_line(2, 5, 3, 4, padding(3, 0), random=True),
    on_one_line(3, 4, 2, 5, padding(0, 0, 0), random=True),
    judge=WEIGHTS.empty_rows_give("0"),
)
bahdanau.manners(
    1,
    looking(2, 5, (7, 6, 3)), looking(1, 4, (7, 6, 3)), looking(3, 1, (7, 6, 3)),
    looking(2, 5, (7, 6, 3), hiding(2)).in_float64(),
    looking(2, 5, (3, 4, 7), hiding(1)).with_gaps(),
    looking(2, 5, (7, 6, 3), hiding(2), training=True),
    # NaN easily flows back from a sentence in which all is hidden
    looking(2, 5, (7, 6, 3), padding(3, 0)).with_gradients(),
    asks="one sentence, one word, float64, untouched inputs, any memory layout, gradients",
    judge=WEIGHTS.agree,
)  # fmt: skip


class InSteps(attention.BahdanauAttention):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def forward(self, state, annotations, mask=None):
        scores = self.score(state, annotations)  # (B, S)
        weights = self.weigh(scores, mask)  # (B, S)
        return self.result(self.average(weights, annotations, scores), weights)

    def score(self, state, annotations):
        hidden = self.compare(self.W(state).unsqueeze(1), self.U(annotations))
        return self.v(hidden).squeeze(-1)

    def compare(self, state, words):
        return torch.tanh(state + words)

    def weigh(self, scores, mask):
        return attention.masked_softmax(scores, mask)

    def average(self, weights, annotations, scores):
        return torch.einsum("bs,bsd->bd", weights, annotations)

    def result(self, context, weights):
        return context, weights


def taking(step: Callable[..., Any]) -> Callable[[Callable[..., Any]], type]:
    """Make a module of a function: it takes this step as the function does, and others rightly."""

    def make(function: Callable[..., Any]) -> type:
        changed = {step.__name__: function, "__doc__": function.__doc__}
        return type(function.__name__, (InSteps,), changed)

    return make


@bahdanau.mistake("no tanh")
@taking(InSteps.compare)
def no_tanh(self, state, words):
    """Your numbers match a score without tanh. Then v(W s) is added to the score of every word, and
    what does a softmax do with a number that all scores share? The state has no say."""
    return state + words


@bahdanau.mistake("relu instead of tanh")
@taking(InSteps.compare)
def relu_for_tanh(self, state, words):
    """Your numbers match relu in place of tanh. The formula has a tanh."""
    return torch.relu(state + words)


@bahdanau.mistake("sigmoid instead of tanh")
@taking(InSteps.compare)
def sigmoid_for_tanh(self, state, words):
    """Your numbers match a sigmoid in place of tanh. The formula has a tanh."""
    return torch.sigmoid(state + words)


@bahdanau.mistake("tanh of the score")
@taking(InSteps.score)
def tanh_of_the_score(self, state, annotations):
    """You take tanh last, of the finished score. In the formula it comes between the sum and v:
    which brackets does it stand in front of?"""
    return self.v(self.W(state).unsqueeze(1) + self.U(annotations)).squeeze(-1).tanh()


for activation in (torch.tanh, nn.Identity()):

    @bahdanau.mistake("product instead of sum")
    @taking(InSteps.compare)
    def product_for_sum(self, state, words, activation=activation):
        """You multiply W s and U h_j entry by entry. The formula adds them, and then takes tanh."""
        return activation(state * words)


for products in (
    lambda self, s, h: self.W(s).unsqueeze(1) * self.U(h),
    lambda self, s, h: self.W(s).unsqueeze(1) * self.U(h) / math.sqrt(self.W.out_features),
    lambda self, s, h: self.W(s).tanh().unsqueeze(1) * self.U(h).tanh(),
    lambda self, s, h: s.unsqueeze(1) * h,
):

    @bahdanau.mistake("dot-product score")
    @taking(InSteps.score)
    def dot_product(self, state, annotations, products=products):
        """Your score is a dot product. Here a small network compares the two: W and U bring state
        and annotation to one width, they are added, and v makes a number of what tanh leaves."""
        return products(self, state, annotations).sum(dim=-1)


@bahdanau.mistake("v left out")
@taking(InSteps.score)
def without_v(self, state, annotations):
    """You add up the entries of the hidden layer as they are. v says how much each of them
    counts."""
    return self.compare(self.W(state).unsqueeze(1), self.U(annotations)).sum(dim=-1)


@bahdanau.mistake("state left out")
@taking(InSteps.compare)
def without_state(self, state, words):
    """Your weights depend on the annotations alone, so every step of the decoder would look at the
    same words. Does W s enter, and before the tanh? (What is added to all scores of a sentence
    alike, the softmax does not see.)"""
    return torch.tanh(words)


@bahdanau.mistake("annotations left out")
@taking(InSteps.compare)
def without_words(self, state, words):
    """All words of a sentence get the same score, so every weight is 1/S and the context is the
    plain mean. Where does U h_j enter?"""
    return torch.tanh(state.expand_as(words))


@bahdanau.mistake("scores scaled")
@taking(InSteps.score)
def scaled(self, state, annotations):
    """Your numbers match scores divided by √attention_dim. That scale belongs to dot products
    (lecture 3); the formula here has none."""
    return InSteps.score(self, state, annotations) / math.sqrt(self.W.out_features)


NO_AXIS = (
    "W s is (B, attention_dim) and U h is (B, S, attention_dim). Broadcasting compares axes from "
    "the right, so your B meets S: it stops, or mixes sentences silently. Which axis has to be put "
    "between the two of W s?"
)


@bahdanau.mistake("state without an axis for the words", NO_AXIS)
class StateWithoutAxis(InSteps):
    def score(self, state, annotations):
        return self.v(torch.tanh(self.W(state) + self.U(annotations))).squeeze(-1)


@bahdanau.mistake("state without an axis for the words", NO_AXIS)
class StateWithoutAxisThenBmm(StateWithoutAxis):
    def average(self, weights, annotations, scores):
        # unlike einsum, this insists on as many weights as there are words
        return torch.bmm(weights.unsqueeze(1), annotations).squeeze(1)


@bahdanau.mistake("W and U swapped")
class Swapped(InSteps):
    """Your W maps the annotations and your U the state. It is the other way round: W belongs to the
    state."""

    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(encoder_dim, decoder_dim, attention_dim)

    def score(self, state, annotations):
        return self.v(torch.tanh(self.U(state).unsqueeze(1) + self.W(annotations))).squeeze(-1)


@bahdanau.mistake("decoder_dim and encoder_dim swapped")
class DimensionsSwapped(InSteps):
    """Your constructor takes the width of the annotations first. The order is decoder_dim,
    encoder_dim, attention_dim."""

    def __init__(self, encoder_dim, decoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)


@bahdanau.mistake("v a bare parameter")
class VectorForLayer(InSteps):
    """Your v is a parameter by itself. Make it a layer like W and U, so that its weights have the
    name `v.weight`: from which width to which?"""

    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        del self.v
        self.v = nn.Parameter(torch.zeros(attention_dim))


@bahdanau.mistake("no layers W, U and v")
class LayersOutOfSight(nn.Module):
    """A new module has none of the weights `W.weight`, `U.weight`, `v.weight`. Make each an
    `nn.Linear` in `__init__`, directly as the attribute of this name. Layers made in `forward` or
    kept in a plain list are neither trained nor saved; bare parameters and layers inside an
    `nn.Sequential` have other names."""

    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__()
        self.layers = [nn.Linear(decoder_dim, attention_dim, bias=False)]


@bahdanau.mistake("softmax over the batch")
@taking(InSteps.weigh)
def softmax_over_batch(self, scores, mask):
    """Your weights sum to one over the sentences of the batch, so sentences compete with each
    other. Which axis of (B, S) holds the words of one sentence?"""
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=0)


for masked in (False, True):

    @bahdanau.mistake("softmax over the features")
    @taking(InSteps.weigh)
    def softmax_of_one(self, scores, mask, masked=masked):
        """Your softmax does not run over the words. Which axis of your scores holds the words of a
        sentence, and which sum should be one?"""
        # the last axis of scores (B, S, 1) has length 1
        return torch.ones_like(scores) if mask is None or not masked else mask.to(scores.dtype)


SOFTMAX_OF_HIDDEN = (
    "Your numbers match a softmax over the entries of the hidden layer. These are features. There "
    "is one softmax here, over the scores of the words of a sentence."
)


@bahdanau.mistake("softmax over the features", SOFTMAX_OF_HIDDEN)
class SoftmaxOverFeaturesAndWords(InSteps):
    def compare(self, state, words):
        return super().compare(state, words).softmax(dim=-1)


@bahdanau.mistake("softmax over the features", SOFTMAX_OF_HIDDEN)
class SoftmaxOverFeatures(SoftmaxOverFeaturesAndWords):
    def weigh(self, scores, mask):
        return scores if mask is None else scores * mask


@bahdanau.mistake("softmax taken twice")
@taking(InSteps.weigh)
def softmax_twice(self, scores, mask):
    """Your weights match a softmax of a softmax, which brings them closer together. Once is
    enough."""
    return attention.masked_softmax(attention.masked_softmax(scores, mask), mask)


@bahdanau.mistake("no softmax")
@taking(InSteps.weigh)
def no_softmax(self, scores, mask):
    """Your weights are the scores themselves: some are negative, and they do not sum to one. What
    makes weights of scores?"""
    return scores if mask is None else scores * mask


@bahdanau.mistake("exp without the division")
@taking(InSteps.weigh)
def exp_without_sum(self, scores, mask):
    """Your weights match exp of the scores. They are positive, but do they sum to one?"""
    return scores.exp() if mask is None else scores.exp() * mask


@bahdanau.mistake("mask ignored")
@taking(InSteps.weigh)
def mask_ignored(self, scores, mask):
    """Without a mask all is right; with one, the same comes out as without. Where does the mask
    enter?"""
    return scores.softmax(dim=-1)


@bahdanau.mistake("mask inverted")
@taking(InSteps.weigh)
def mask_inverted(self, scores, mask):
    """You hide what the mask allows. In this course True means: may attend."""
    return attention.masked_softmax(scores, None if mask is None else ~mask)


@bahdanau.mistake("mask inverted")
@taking(InSteps.weigh)
def mask_inverted_once(self, scores, mask):
    """Before the softmax you hide what the mask allows, and after it the rest, so nothing is left.
    In this course True means: may attend."""
    if mask is None:
        return scores.softmax(dim=-1)
    return attention.masked_softmax(scores, ~mask) * mask


SHARE_KEPT = (
    "Hidden weights are zero, but the visible ones no longer sum to one: hidden words took part in "
    "the softmax and kept their share. At which step must they drop out?"
)


@bahdanau.mistake("mask applied after the softmax", SHARE_KEPT)
class MaskAfterSoftmax(InSteps):
    def weigh(self, scores, mask):
        return scores.softmax(dim=-1) if mask is None else scores.softmax(dim=-1) * mask


@bahdanau.mistake("mask applied after the softmax", SHARE_KEPT)
class MaskOnTheWeightsAlone(MaskAfterSoftmax):
    def forward(self, state, annotations, mask=None):
        context, _ = super().forward(state, annotations)
        return context, super().forward(state, annotations, mask)[1]


@bahdanau.mistake("mask applied after the softmax")
class MaskInTheContextAlone(MaskAfterSoftmax):
    """The context leaves the hidden words out, but they took part in the softmax and kept their
    weights. At which step must they drop out?"""

    def forward(self, state, annotations, mask=None):
        _, weights = super().forward(state, annotations)
        return super().forward(state, annotations, mask)[0], weights


for masked in (False, True):

    @bahdanau.mistake("hidden scores set to 0")
    @taking(InSteps.weigh)
    def zero_for_minus_infinity(self, scores, mask, masked=masked):
        """A hidden score became 0, and exp(0) = 1 is a weight like any other. Which score has the
        weight 0?"""
        if mask is None:
            return scores.softmax(dim=-1)
        weights = (scores * mask).softmax(dim=-1)
        return weights * mask if masked else weights


NO_WEIGHTS_IN_SUM = (
    "The weights are right, but your context adds up the annotations as they are. How much of each "
    "annotation belongs into the sum?"
)


@bahdanau.mistake("context sums without weights", NO_WEIGHTS_IN_SUM)
@taking(InSteps.average)
def sum_without_weights(self, weights, annotations, scores):
    return annotations.sum(dim=1)


@bahdanau.mistake("context sums without weights", NO_WEIGHTS_IN_SUM)
@taking(InSteps.average)
def sum_of_the_visible(self, weights, annotations, scores):
    return ((weights != 0).unsqueeze(-1) * annotations).sum(dim=1)


@bahdanau.mistake("context is the plain mean")
@taking(InSteps.average)
def mean_for_context(self, weights, annotations, scores):
    """The weights are right, but your context is the plain mean of the annotations, in which every
    word counts the same. Where do the weights enter?"""
    return annotations.mean(dim=1)


@bahdanau.mistake("context from the scores")
@taking(InSteps.average)
def context_from_scores(self, weights, annotations, scores):
    """The weights are right, but your context multiplies the annotations by the scores from before
    the softmax."""
    return InSteps.average(self, scores, annotations, scores)


@bahdanau.mistake("context of the projected annotations")
@taking(InSteps.average)
def context_of_projections(self, weights, annotations, scores):
    """Your context is a sum of U h_j, with the width attention_dim. U serves the score alone; what
    is averaged are the annotations themselves."""
    return InSteps.average(self, weights, self.U(annotations), scores)


@bahdanau.mistake("context not summed")
@taking(InSteps.average)
def context_not_summed(self, weights, annotations, scores):
    """Every annotation is multiplied by its weight, but they still stand one by one, (B, S,
    encoder_dim). What remains is the sum over the words."""
    return weights.unsqueeze(-1) * annotations


@bahdanau.mistake("context is the best word alone")
@taking(InSteps.average)
def most_weighted_word(self, weights, annotations, scores):
    """Your context is the annotation with the largest weight. All of them count, each with its
    weight; and through a choice of the largest no gradient would reach the scores."""
    return annotations[torch.arange(len(weights)), weights.argmax(dim=-1)]


for masked in (False, True):

    @bahdanau.mistake("scores returned for weights")
    @taking(InSteps.forward)
    def scores_for_weights(self, state, annotations, mask=None, masked=masked):
        """The context is right, but what stands beside it are the scores before the softmax. Return
        the weights."""
        context, _ = InSteps.forward(self, state, annotations, mask)
        scores = self.score(state, annotations)
        hidden = masked and mask is not None
        return context, scores.masked_fill(~mask, -math.inf) if hidden else scores


@bahdanau.mistake("results in the wrong order")
@taking(InSteps.result)
def weights_first(self, context, weights):
    """You return the weights first. The order is (context, weights)."""
    return weights, context


@bahdanau.mistake("context returned without the weights")
@taking(InSteps.result)
def context_alone(self, context, weights):
    """The context is right, but it comes alone. Return the pair (context, weights)."""
    return context


for context_axis, weights_axis in ((None, -1), (1, None), (None, 1), (1, 1), (1, -1)):

    @bahdanau.mistake("axis of length 1 left over")
    @taking(InSteps.result)
    def axis_left_over(self, context, weights, axes=(context_axis, weights_axis)):
        """The numbers are right, but an axis of length 1 is left over. The context is (B,
        encoder_dim) and the weights are (B, S): which axis did you need only on the way?"""
        return tuple(
            item if axis is None else item.unsqueeze(axis)
            for item, axis in zip((context, weights), axes, strict=True)
        )


SQUEEZED = (
    "All is right until there is a single sentence, or a single word. `squeeze()` takes away every "
    "axis of length 1. Can you name the one that you mean?"
)


@bahdanau.mistake("every axis of length 1 squeezed", SQUEEZED)
class EveryAxisSqueezed(InSteps):
    def score(self, state, annotations):
        return super().score(state, annotations).squeeze()

    def average(self, weights, annotations, scores):
        return torch.bmm(weights.unsqueeze(1), annotations).squeeze(1)


@bahdanau.mistake("every axis of length 1 squeezed", SQUEEZED)
class EveryAxisSqueezedAndBroadcast(EveryAxisSqueezed):
    def average(self, weights, annotations, scores):
        return (weights.unsqueeze(-1) * annotations).sum(dim=1)


@bahdanau.mistake("every axis of length 1 squeezed", SQUEEZED)
@taking(InSteps.result)
def context_squeezed(self, context, weights):
    return context.squeeze(), weights


@bahdanau.mistake("every axis of length 1 squeezed", SQUEEZED)
@taking(InSteps.result)
def both_squeezed(self, context, weights):
    return context.squeeze(), weights.squeeze()


# PyTorch has no additive attention, so there is no library answer to bar: only `course_utils` is.
ASSIGNMENT = Assignment("a1_rnn_attention", parts=(annotate, bahdanau))
