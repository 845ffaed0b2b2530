"""Assignment 1: annotations of a bidirectional network, and additive attention over them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checks.judges import Weights
from autograder.verdict.check import Assignment, Build, Case, Part, Randn, Steps, taking
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


def louder_where_hidden(B: int, S: int, decoder: int, encoder: int) -> Case:
    """Scores up to about 60, where the one hidden word of each sentence has far the largest.

    What it takes from the others, if it takes part in the softmax, does not come back by dividing.
    """
    quiet = on_one_line(B, S, decoder, encoder, hiding(1), random=True)

    def draw(randn: Randn) -> Build:
        drawn = quiet.draw(randn)
        assert isinstance(drawn, Build)
        _, words, mask = drawn.arguments
        U = drawn.state["U.weight"]
        along = words @ U.T  # (B, S, 1): 1.5 where hidden, at most 0 elsewhere
        wanted = torch.where(mask.unsqueeze(-1), along - 0.9, 1.5)
        drawn.arguments[1] = words + (wanted - along) * U / U.square().sum()
        return replace(drawn, state={**drawn.state, "v.weight": torch.full((1, 1), 60.0)})

    return replace(quiet, label=f"{quiet.label}, whose scores are far the largest", draw=draw)


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


class Joining(Steps):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def answer(self, forward_states, backward_states):
        return self.join(self.forwards(forward_states), self.backwards(backward_states))

    def forwards(self, states):
        return states

    def backwards(self, states):
        return states.flip(1)

    def join(self, forward, backward):
        return torch.cat([forward, backward], dim=-1)


ORDER, OWN_STATES = 1, 2  # numbers of the steps above


@annotate.mistake("backward states not reversed", costs=(OWN_STATES,))
@taking(Joining, Joining.backwards)
def not_turned_round(self, states):
    """You join the two lists as they come. The backward network starts at the last word, so its
    first state belongs to which word? Compare with the example."""
    return states


@annotate.mistake("forward states reversed", costs=(OWN_STATES,))
class ForwardTurnedRound(Joining):
    """You turn the forward states round, so your first annotation belongs to the last word. Which
    of the two networks read the last word first?"""

    def answer(self, forward_states, backward_states):
        return self.join(forward_states.flip(1), backward_states)


@annotate.mistake("both directions reversed", costs=(OWN_STATES,))
@taking(Joining, Joining.forwards)
def both_turned_round(self, states):
    """You turn both lists round. The forward network read the first word first, so its list already
    is in the order of the words. And the other one?"""
    return states.flip(1)


@annotate.mistake("batch reversed", costs=(OWN_STATES,))
@taking(Joining, Joining.backwards)
def batch_turned_round(self, states):
    """You turn the order of the sentences round: each gets the backward states of another. Which of
    the three axes holds the words?"""
    return states.flip(0)


@annotate.mistake("features reversed", costs=(OWN_STATES,))
@taking(Joining, Joining.backwards)
def features_turned_round(self, states):
    """You turn the entries of each state round, and the states stay where they were. Which of the
    three axes holds the words?"""
    return states.flip(2)


@annotate.mistake("words and features reversed", costs=(OWN_STATES,))
@taking(Joining, Joining.backwards)
def words_and_features_turned_round(self, states):
    """The words are in order, but the entries of each backward state are turned round, too. One
    axis is enough: that of the words."""
    return states.flip(1, 2)


@annotate.mistake("words and batch reversed", costs=(OWN_STATES,))
@taking(Joining, Joining.backwards)
def words_and_batch_turned_round(self, states):
    """The words are in order, but the order of the sentences is turned round, too: each gets the
    backward states of another. One axis is enough: that of the words."""
    return states.flip(0, 1)


@annotate.mistake("all axes reversed", costs=(OWN_STATES,))
@taking(Joining, Joining.backwards)
def everything_turned_round(self, states):
    """You turn every axis round: the sentences and the entries of each state, too. One axis is
    enough: that of the words."""
    return states.flip(0, 1, 2)


for turned, shift in ((True, 1), (True, -1), (False, 1), (False, -1)):

    @annotate.mistake("backward states one word off", costs=(OWN_STATES,))
    @taking(Joining, Joining.backwards)
    def one_word_off(self, states, turned=turned, shift=shift):
        """Your backward states are moved by one place, and one of them comes out at the other end.
        Which state did the backward network produce first, and which word is it at? Follow your
        index at the first and at the last word."""
        return (states.flip(1) if turned else states).roll(shift, dims=1)


for place in (0, -1):

    @annotate.mistake("one backward state for all words", costs=(OWN_STATES,))
    @taking(Joining, Joining.backwards)
    def one_state_for_all(self, states, place=place):
        """Every word gets the same backward state. Each has one of its own, which has read the word
        and all that follow it."""
        return states[:, place].unsqueeze(1).expand_as(states)


for turn in ([], [1]):

    @annotate.mistake("forward states twice", costs=(OWN_STATES,))
    def forward_twice(forward_states, backward_states, turn=turn):
        """Both halves of your annotations come from the forward network, so no word knows what
        follows it. What is `backward_states` for?"""
        return torch.cat([forward_states, forward_states.flip(turn)], dim=-1)


@annotate.mistake("backward states first", costs=(ORDER,))
@taking(Joining, Joining.join)
def backward_first(self, forward, backward):
    """Both states of a word are its own, but the backward one comes first. The annotation is
    [forward; backward]."""
    return torch.cat([backward, forward], dim=-1)


@annotate.mistake("backward states first and not reversed", costs=(ORDER, OWN_STATES))
class BackwardFirstNotTurnedRound(Joining):
    """The annotation is [forward; backward], in this order. And the backward network starts at the
    last word, so its first state belongs to which word?"""

    def answer(self, forward_states, backward_states):
        return torch.cat([backward_states, forward_states], dim=-1)


@annotate.mistake("joined along the words", costs=(ORDER,))
@taking(Joining, Joining.join)
def joined_along_the_words(self, forward, backward):
    """Your result is (B, 2S, h): twice as many words. The number of words stays, and each
    word's vector gets wider. Which axis holds the features?"""
    return torch.cat([forward, backward], dim=1)


@annotate.mistake("joined along the batch", costs=(ORDER,))
@taking(Joining, Joining.join)
def joined_along_the_batch(self, forward, backward):
    """Your result is (2B, S, h): twice as many sentences. Each word's vector gets wider
    instead. Which axis holds the features?"""
    return torch.cat([forward, backward], dim=0)


for axis in (1, 0):

    @annotate.mistake(
        ("joined along the batch", "joined along the words")[axis],
        says="Two things: your lists are joined as they come, and along another axis than that of "
        "the features. The backward network starts at the last word; and in the result each word's "
        "vector gets wider, (B, S, 2h).",
        costs=(ORDER, OWN_STATES),
    )
    class JoinedAsTheyCome(Joining):
        def answer(self, forward_states, backward_states, axis=axis):
            return torch.cat([forward_states, backward_states], dim=axis)


@annotate.mistake("joined along the words and cut anew", costs=(ORDER,))
@taking(Joining, Joining.join)
def joined_along_the_words_and_cut_anew(self, forward, backward):
    """The shape is right, but you join along the words and then cut the result anew, so that two
    words that stand side by side share a vector. Which axis holds the features?"""
    return torch.cat([forward, backward], dim=1).reshape(*forward.shape[:2], -1)


for blend in (torch.add, torch.mul, lambda one, other: (one + other) / 2):

    @annotate.mistake("states added", costs=(ORDER,))
    @taking(Joining, Joining.join)
    def added(self, forward, backward, blend=blend):
        """You add or multiply the two states of a word, or take their mean. Side by side they keep
        apart what came before the word and what comes after it: (B, S, 2h)."""
        return blend(forward, backward)


@annotate.mistake("states stacked", costs=(ORDER,))
@taking(Joining, Joining.join)
def stacked(self, forward, backward):
    """The right states meet, but in an axis of their own: (B, S, 2, h). An annotation is one vector
    of width 2h."""
    return torch.stack([forward, backward], dim=2)


for place in (0, 1, 3):

    @annotate.mistake("states stacked", costs=(ORDER,))
    @taking(Joining, Joining.join)
    def stacked_elsewhere(self, forward, backward, place=place):
        """The right states meet, but `stack` gives them an axis of their own, of length 2. An
        annotation is one vector of width 2h: which function makes an axis longer instead?"""
        return torch.stack([forward, backward], dim=place)


@annotate.mistake("entries of the two states in turns", costs=(ORDER,))
@taking(Joining, Joining.join)
def interleaved(self, forward, backward):
    """You take entry 0 of both states, then entry 1 of both. The whole forward state comes first,
    then the whole backward state."""
    return torch.stack([forward, backward], dim=-1).flatten(2)


@annotate.mistake("states not joined", costs=(ORDER,))
@taking(Joining, Joining.join)
def two_results(self, forward, backward):
    """Both lists are in order, but they are still two. The result is one tensor (B, S, 2h)."""
    return forward, backward


@annotate.mistake("words in front of sentences", costs=(ORDER,))
@taking(Joining, Joining.join)
def words_in_front(self, forward, backward):
    """Your result is (S, B, 2h): the axes of sentences and words have changed places. The sentences
    stay in front, (B, S, 2h)."""
    return torch.cat([forward, backward], dim=-1).transpose(0, 1)


@annotate.mistake("negative step", costs=(OWN_STATES,))
@taking(Joining, Joining.backwards)
def negative_step(self, states):
    """Lists and NumPy arrays can be read with a step of -1; PyTorch tensors cannot, and stop with a
    ValueError. Which method of a tensor turns an axis round?"""
    raise ValueError("step must be greater than zero")


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
    on_one_line(B=3, S=3, decoder=4, encoder=4),  # slips that stop elsewhere go on here
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
    looking(3, 3, (2, 5, 5), fixed=True), looking(4, 4, (5, 5, 6), fixed=True),
    judge=context_follows,
)  # fmt: skip
bahdanau.step(
    "hidden words get the weight 0, and the visible ones still sum to one",
    1,
    on_one_line(2, 5, 3, 4, hiding(2)),
    on_one_line(3, 4, 2, 5, hiding(1)),
    on_one_line(3, 3, 4, 4, hiding(1)),
    louder_where_hidden(2, 5, 3, 4),
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
    on_one_line(3, 3, 4, 4, padding(2, 0, 3), random=True),
    judge=WEIGHTS.empty_rows_give("0"),
)
bahdanau.manners(
    1,
    looking(2, 5, (7, 6, 3)), looking(1, 4, (7, 6, 3)), looking(3, 1, (7, 6, 3)),
    looking(3, 3, (4, 4, 5)),
    looking(2, 5, (7, 6, 3), hiding(2)).in_float64(),
    looking(2, 5, (3, 4, 7), hiding(1)).with_gaps(),
    looking(2, 5, (7, 6, 3), hiding(2), training=True),
    # NaN easily flows back from a sentence in which all is hidden
    looking(2, 5, (7, 6, 3), padding(3, 0)).with_gradients(),
    asks="one sentence, one word, float64, untouched inputs, any memory layout, gradients",
    judge=WEIGHTS.agree,
)  # fmt: skip


SHARES, WEIGHTS_EXACT, CONTEXT, MASK, NOTHING_VISIBLE, MANNERS = range(1, 7)  # the steps above


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


@bahdanau.mistake("no tanh", costs=(WEIGHTS_EXACT,))
@taking(InSteps, InSteps.compare)
def no_tanh(self, state, words):
    """Your numbers match a score without tanh. Then v(W s) is added to the score of every word, and
    what does a softmax do with a number that all scores share? The state has no say."""
    return state + words


@bahdanau.mistake("relu instead of tanh", costs=(WEIGHTS_EXACT,))
@taking(InSteps, InSteps.compare)
def relu_for_tanh(self, state, words):
    """Your numbers match relu in place of tanh. The formula has a tanh."""
    return torch.relu(state + words)


@bahdanau.mistake("sigmoid instead of tanh", costs=(WEIGHTS_EXACT,))
@taking(InSteps, InSteps.compare)
def sigmoid_for_tanh(self, state, words):
    """Your numbers match a sigmoid in place of tanh. The formula has a tanh."""
    return torch.sigmoid(state + words)


for other in (nn.functional.gelu, nn.functional.silu, nn.functional.softplus, nn.functional.elu,
              nn.functional.leaky_relu, nn.functional.softsign, torch.sin, torch.atan):  # fmt: skip

    @bahdanau.mistake("another function than tanh", costs=(WEIGHTS_EXACT,))
    @taking(InSteps, InSteps.compare)
    def another_for_tanh(self, state, words, other=other):
        """Your numbers match another function in place of tanh. The formula has a tanh."""
        return other(state + words)


@bahdanau.mistake("difference instead of sum", costs=(WEIGHTS_EXACT,))
@taking(InSteps, InSteps.compare)
def difference_for_sum(self, state, words):
    """You subtract W s and U h_j from each other. The formula adds them, and then takes tanh."""
    return torch.tanh(state - words)


@bahdanau.mistake("tanh of the score, too", costs=(WEIGHTS_EXACT,))
@taking(InSteps, InSteps.score)
def tanh_of_the_score_too(self, state, annotations):
    """You take tanh twice: of the hidden layer, and of the score that v makes of it. The formula
    has the first alone."""
    return InSteps.score(self, state, annotations).tanh()


@bahdanau.mistake("tanh of the score", costs=(WEIGHTS_EXACT,))
@taking(InSteps, InSteps.score)
def tanh_of_the_score(self, state, annotations):
    """You take tanh last, of the finished score. In the formula it comes between the sum and v:
    which brackets does it stand in front of?"""
    return self.v(self.W(state).unsqueeze(1) + self.U(annotations)).squeeze(-1).tanh()


for activation in (torch.tanh, nn.Identity()):

    @bahdanau.mistake("product instead of sum", costs=(WEIGHTS_EXACT,))
    @taking(InSteps, InSteps.compare)
    def product_for_sum(self, state, words, activation=activation):
        """You multiply W s and U h_j entry by entry. The formula adds them, and then takes tanh."""
        return activation(state * words)


for products in (
    lambda self, s, h: self.W(s).unsqueeze(1) * self.U(h),
    lambda self, s, h: self.W(s).unsqueeze(1) * self.U(h) / math.sqrt(self.W.out_features),
    lambda self, s, h: self.W(s).tanh().unsqueeze(1) * self.U(h).tanh(),
    lambda self, s, h: s.unsqueeze(1) * h,
):

    @bahdanau.mistake("dot-product score", costs=(WEIGHTS_EXACT,))
    @taking(InSteps, InSteps.score)
    def dot_product(self, state, annotations, products=products):
        """Your score is a dot product. Here a small network compares the two: W and U bring state
        and annotation to one width, they are added, and v makes a number of what tanh leaves."""
        return products(self, state, annotations).sum(dim=-1)


@bahdanau.mistake("scores negated", costs=(SHARES, WEIGHTS_EXACT))
@taking(InSteps, InSteps.score)
def negated(self, state, annotations):
    """The better a word fits, the less weight it gets: your scores have the wrong sign. Is there a
    minus in front of a score, or inside the exponential?"""
    return -InSteps.score(self, state, annotations)


@bahdanau.mistake("v left out", costs=(WEIGHTS_EXACT,))
@taking(InSteps, InSteps.score)
def without_v(self, state, annotations):
    """You add up the entries of the hidden layer as they are. v says how much each of them
    counts."""
    return self.compare(self.W(state).unsqueeze(1), self.U(annotations)).sum(dim=-1)


@bahdanau.mistake("state left out", costs=(WEIGHTS_EXACT,))
@taking(InSteps, InSteps.compare)
def without_state(self, state, words):
    """Your weights depend on the annotations alone, so every step of the decoder would look at the
    same words. Does W s enter, and before the tanh? (What is added to all scores of a sentence
    alike, the softmax does not see.)"""
    return torch.tanh(words)


@bahdanau.mistake("annotations left out", costs=(SHARES, WEIGHTS_EXACT))
@taking(InSteps, InSteps.compare)
def without_words(self, state, words):
    """All words of a sentence get the same score, so every weight is 1/S and the context is the
    plain mean. Where does U h_j enter?"""
    return torch.tanh(state.expand_as(words))


for width in (
    lambda self: math.sqrt(self.W.out_features),
    lambda self: math.sqrt(self.W.in_features),
    lambda self: math.sqrt(self.U.in_features),
    lambda self: self.W.out_features,
):

    @bahdanau.mistake("scores scaled", costs=(WEIGHTS_EXACT,))
    @taking(InSteps, InSteps.score)
    def scaled(self, state, annotations, width=width):
        """Your numbers match scores divided by a width or its root, such as √attention_dim. That
        scale belongs to dot products (lecture 3); the formula here has none."""
        return InSteps.score(self, state, annotations) / width(self)


@bahdanau.mistake("states averaged over the batch", costs=(WEIGHTS_EXACT,))
@taking(InSteps, InSteps.score)
def states_averaged(self, state, annotations):
    """All sentences are compared with one state, the mean over the batch. Each sentence has a
    decoder state of its own, row b of `state`."""
    return InSteps.score(self, state.mean(dim=0, keepdim=True), annotations)


NO_AXIS = (
    "W s is (B, attention_dim) and U h is (B, S, attention_dim). Broadcasting compares axes from "
    "the right, so your B meets S: it stops, or mixes sentences silently. Which axis has to be put "
    "between the two of W s?"
)


@bahdanau.mistake("state without an axis for the words", NO_AXIS, costs=(WEIGHTS_EXACT,))
class StateWithoutAxis(InSteps):
    def score(self, state, annotations):
        return self.v(torch.tanh(self.W(state) + self.U(annotations))).squeeze(-1)


@bahdanau.mistake("state without an axis for the words", NO_AXIS, costs=(WEIGHTS_EXACT,))
class StateWithoutAxisThenBmm(StateWithoutAxis):
    def average(self, weights, annotations, scores):
        # unlike einsum, this insists on as many weights as there are words
        return torch.bmm(weights.unsqueeze(1), annotations).squeeze(1)


@bahdanau.mistake("W and U swapped", costs=(WEIGHTS_EXACT,))
@taking(InSteps, InSteps.score)
def swapped_in_use(self, state, annotations):
    """Your `forward` gives the annotations to W and the state to U. It is the other way round: W
    belongs to the state. Where both have the same width, nothing stops you."""
    return self.v(torch.tanh(self.U(state).unsqueeze(1) + self.W(annotations))).squeeze(-1)


@bahdanau.mistake("W and U swapped", costs=(WEIGHTS_EXACT,))
class Swapped(InSteps):
    """Your W maps the annotations and your U the state. It is the other way round: W belongs to the
    state."""

    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(encoder_dim, decoder_dim, attention_dim)

    def score(self, state, annotations):
        return self.v(torch.tanh(self.U(state).unsqueeze(1) + self.W(annotations))).squeeze(-1)


@bahdanau.mistake("decoder_dim and encoder_dim swapped", costs=(WEIGHTS_EXACT,))
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


@bahdanau.mistake("softmax over the batch", costs=(WEIGHTS_EXACT,))
@taking(InSteps, InSteps.weigh)
def softmax_over_batch(self, scores, mask):
    """Your weights sum to one over the sentences of the batch, so sentences compete with each
    other. Which axis of (B, S) holds the words of one sentence?"""
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=0)


@bahdanau.mistake("softmax over the batch", costs=(SHARES, WEIGHTS_EXACT))
@taking(InSteps, InSteps.weigh)
def softmax_over_batch_and_words(self, scores, mask):
    """Your weights sum to one over all words of all sentences together. Each sentence shares out
    an attention of its own: which axis of (B, S) holds its words?"""
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.flatten().softmax(dim=0).reshape(scores.shape)


@bahdanau.mistake("softmax over the batch", costs=(SHARES, WEIGHTS_EXACT))
@taking(InSteps, InSteps.weigh)
def softmax_over_batch_filled(self, scores, mask):
    """Your weights sum to one over the sentences of the batch, so sentences compete with each
    other. Which axis of (B, S) holds the words of one sentence?"""
    if mask is None:
        return scores.softmax(dim=0)
    return scores.masked_fill(~mask, -1e9).softmax(dim=0).masked_fill(~mask, 0.0)


for masked in (False, True):

    @bahdanau.mistake("softmax over the features", costs=(SHARES, WEIGHTS_EXACT))
    @taking(InSteps, InSteps.weigh)
    def softmax_of_one(self, scores, mask, masked=masked):
        """Your softmax does not run over the words. Which axis of your scores holds the words of a
        sentence, and which sum should be one?"""
        # the last axis of scores (B, S, 1) has length 1
        return torch.ones_like(scores) if mask is None or not masked else mask.to(scores.dtype)


SOFTMAX_OF_HIDDEN = (
    "Your numbers match a softmax over the entries of the hidden layer. These are features. There "
    "is one softmax here, over the scores of the words of a sentence."
)


@bahdanau.mistake("softmax over the features", SOFTMAX_OF_HIDDEN, costs=(SHARES, WEIGHTS_EXACT))
class SoftmaxOverFeaturesAndWords(InSteps):
    def compare(self, state, words):
        return super().compare(state, words).softmax(dim=-1)


@bahdanau.mistake("softmax over the features", SOFTMAX_OF_HIDDEN, costs=(SHARES, WEIGHTS_EXACT))
class SoftmaxOverFeatures(SoftmaxOverFeaturesAndWords):
    def weigh(self, scores, mask):
        return scores if mask is None else scores * mask


@bahdanau.mistake("softmax taken twice", costs=(WEIGHTS_EXACT,))
@taking(InSteps, InSteps.weigh)
def softmax_twice(self, scores, mask):
    """Your weights match a softmax of a softmax, which brings them closer together. Once is
    enough."""
    return attention.masked_softmax(attention.masked_softmax(scores, mask), mask)


@bahdanau.mistake("no softmax", costs=(SHARES, WEIGHTS_EXACT))
@taking(InSteps, InSteps.weigh)
def no_softmax(self, scores, mask):
    """Your weights are the scores themselves: some are negative, and they do not sum to one. What
    makes weights of scores?"""
    return scores if mask is None else scores * mask


@bahdanau.mistake("exp without the division", costs=(SHARES, WEIGHTS_EXACT))
@taking(InSteps, InSteps.weigh)
def exp_without_sum(self, scores, mask):
    """Your weights match exp of the scores. They are positive, but do they sum to one?"""
    return scores.exp() if mask is None else scores.exp() * mask


@bahdanau.mistake("sigmoid instead of softmax", costs=(SHARES, WEIGHTS_EXACT))
@taking(InSteps, InSteps.weigh)
def sigmoid_for_softmax(self, scores, mask):
    """Each of your weights looks at its own score alone, as a sigmoid does, so a sentence's weights
    do not sum to one. What makes words compete?"""
    return scores.sigmoid() if mask is None else scores.sigmoid() * mask


@bahdanau.mistake("logarithms of the weights", costs=(WEIGHTS_EXACT,))
@taking(InSteps, InSteps.result)
def logarithms(self, context, weights):
    """What you return are the logarithms of the weights. Is there a `log` too much, as in
    `log_softmax`?"""
    return context, weights.log()


@bahdanau.mistake("all weight on the best word", costs=(SHARES, WEIGHTS_EXACT))
@taking(InSteps, InSteps.weigh)
def hardest(self, scores, mask):
    """One word gets the weight 1 and all others 0, as after an `argmax`. Every visible word gets
    some weight here; and through a choice of the largest no gradient reaches the scores."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1]).to(scores.dtype)


@bahdanau.mistake("only the first sentence used", costs=(WEIGHTS_EXACT, CONTEXT))
@taking(InSteps, InSteps.forward)
def first_sentence_only(self, state, annotations, mask=None):
    """Every sentence of the batch gets the result of the first. Is there an index 0, or a shape
    without its first axis, on the way?"""
    first = InSteps.forward(self, state[:1], annotations[:1], None if mask is None else mask[:1])
    return tuple(item.expand(len(state), -1) for item in first)


@bahdanau.mistake("mask ignored", costs=(MASK, NOTHING_VISIBLE))
@taking(InSteps, InSteps.weigh)
def mask_ignored(self, scores, mask):
    """Without a mask all is right; with one, the same comes out as without. Where does the mask
    enter?"""
    return scores.softmax(dim=-1)


@bahdanau.mistake("mask inverted", costs=(MASK, NOTHING_VISIBLE))
@taking(InSteps, InSteps.weigh)
def mask_inverted(self, scores, mask):
    """You hide what the mask allows. In this course True means: may attend."""
    return attention.masked_softmax(scores, None if mask is None else ~mask)


@bahdanau.mistake("mask inverted", costs=(MASK, NOTHING_VISIBLE))
@taking(InSteps, InSteps.weigh)
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


@bahdanau.mistake("mask applied after the softmax", SHARE_KEPT, costs=(MASK,))
class MaskAfterSoftmax(InSteps):
    def weigh(self, scores, mask):
        return scores.softmax(dim=-1) if mask is None else scores.softmax(dim=-1) * mask


@bahdanau.mistake("mask applied after the softmax", SHARE_KEPT, costs=(MASK,))
class MaskOnTheWeightsAlone(MaskAfterSoftmax):
    def forward(self, state, annotations, mask=None):
        context, _ = super().forward(state, annotations)
        return context, super().forward(state, annotations, mask)[1]


@bahdanau.mistake("mask applied after the softmax", costs=(MASK,))
class MaskInTheContextAlone(MaskAfterSoftmax):
    """The context leaves the hidden words out, but they took part in the softmax and kept their
    weights. At which step must they drop out?"""

    def forward(self, state, annotations, mask=None):
        _, weights = super().forward(state, annotations)
        return super().forward(state, annotations, mask)[0], weights


for masked in (False, True):

    @bahdanau.mistake("hidden scores set to 0", costs=(MASK, NOTHING_VISIBLE))
    @taking(InSteps, InSteps.weigh)
    def zero_for_minus_infinity(self, scores, mask, masked=masked):
        """A hidden score became 0, and exp(0) = 1 is a weight like any other. Which score has the
        weight 0?"""
        if mask is None:
            return scores.softmax(dim=-1)
        weights = (scores * mask).softmax(dim=-1)
        return weights * mask if masked else weights


@bahdanau.mistake("mask added as numbers", costs=(MASK, NOTHING_VISIBLE))
@taking(InSteps, InSteps.weigh)
def mask_added(self, scores, mask):
    """You add the mask to the scores, so that True counts as 1 and False as 0. A hidden score must
    be minus infinity; the others stay as they are."""
    return (scores if mask is None else scores + mask).softmax(dim=-1)


@bahdanau.mistake("the first sentence's mask for all", costs=(MASK, NOTHING_VISIBLE))
@taking(InSteps, InSteps.weigh)
def first_mask_for_all(self, scores, mask):
    """Every sentence is hidden as the first one is. Row b of the mask belongs to sentence b."""
    return attention.masked_softmax(scores, None if mask is None else mask[:1].expand_as(mask))


@bahdanau.mistake("mask applied after the softmax, then divided again", costs=(MASK,))
class RestDividedAgain(InSteps):
    """You hide words after the softmax and then divide what is left by its sum. A hidden word with
    a large score has taken nearly all of the one by then: what is left may be as small as the
    number that you add to the sum, or lose its digits. At which step must hidden words drop out?"""

    little = 1e-9

    def weigh(self, scores, mask):
        weights = scores.softmax(dim=-1)
        if mask is None:
            return weights
        weights = weights * mask
        return weights / (weights.sum(dim=-1, keepdim=True) + self.little)


@bahdanau.mistake("mask in the weights alone", costs=(NOTHING_VISIBLE,))
@taking(InSteps, InSteps.forward)
def mask_in_the_weights_alone(self, state, annotations, mask=None):
    """Your weights know the mask, and your context does not: hidden words are in the sum. Which
    weights does your context use?"""
    _, weights = InSteps.forward(self, state, annotations, mask)
    return InSteps.forward(self, state, annotations)[0], weights


NO_WEIGHTS_IN_SUM = (
    "The weights are right, but your context adds up the annotations as they are. How much of each "
    "annotation belongs into the sum?"
)


@bahdanau.mistake("context sums without weights", NO_WEIGHTS_IN_SUM, costs=(CONTEXT,))
@taking(InSteps, InSteps.average)
def sum_without_weights(self, weights, annotations, scores):
    return annotations.sum(dim=1)


@bahdanau.mistake("context sums without weights", NO_WEIGHTS_IN_SUM, costs=(CONTEXT,))
@taking(InSteps, InSteps.average)
def sum_of_the_visible(self, weights, annotations, scores):
    return ((weights != 0).unsqueeze(-1) * annotations).sum(dim=1)


@bahdanau.mistake("context is the plain mean", costs=(CONTEXT,))
@taking(InSteps, InSteps.average)
def mean_for_context(self, weights, annotations, scores):
    """The weights are right, but your context is the plain mean of the annotations, in which every
    word counts the same. Where do the weights enter?"""
    return annotations.mean(dim=1)


@bahdanau.mistake("context from the scores", costs=(CONTEXT,))
@taking(InSteps, InSteps.average)
def context_from_scores(self, weights, annotations, scores):
    """The weights are right, but your context multiplies the annotations by the scores from before
    the softmax."""
    return InSteps.average(self, scores, annotations, scores)


@bahdanau.mistake("context of the projected annotations", costs=(CONTEXT,))
@taking(InSteps, InSteps.average)
def context_of_projections(self, weights, annotations, scores):
    """Your context is a sum of U h_j, with the width attention_dim. U serves the score alone; what
    is averaged are the annotations themselves."""
    return InSteps.average(self, weights, self.U(annotations), scores)


@bahdanau.mistake("context not summed", costs=(CONTEXT,))
@taking(InSteps, InSteps.average)
def context_not_summed(self, weights, annotations, scores):
    """Every annotation is multiplied by its weight, but they still stand one by one, (B, S,
    encoder_dim). What remains is the sum over the words."""
    return weights.unsqueeze(-1) * annotations


@bahdanau.mistake("context divided by the number of words", costs=(CONTEXT,))
@taking(InSteps, InSteps.average)
def divided_by_length(self, weights, annotations, scores):
    """Your context is the weighted sum divided by the number of words. The weights sum to one
    already: is there a `mean` where a `sum` should be?"""
    return (weights.unsqueeze(-1) * annotations).mean(dim=1)


@bahdanau.mistake("context summed over the sentences", costs=(CONTEXT,))
@taking(InSteps, InSteps.average)
def summed_over_batch(self, weights, annotations, scores):
    """Your context is (S, encoder_dim): it adds up sentences. What is added up are the words of
    each sentence: which axis of (B, S, encoder_dim) is that?"""
    return (weights.unsqueeze(-1) * annotations).sum(dim=0)


@bahdanau.mistake("context summed over the features", costs=(CONTEXT,))
@taking(InSteps, InSteps.average)
def summed_over_features(self, weights, annotations, scores):
    """Your context is (B, S): it adds up the entries of each annotation. What is added up are the
    words of each sentence: which axis of (B, S, encoder_dim) is that?"""
    return (weights.unsqueeze(-1) * annotations).sum(dim=-1)


@bahdanau.mistake("every sentence's weights on every sentence", costs=(CONTEXT,))
@taking(InSteps, InSteps.average)
def matrix_product(self, weights, annotations, scores):
    """Your context is (B, B, encoder_dim): `weights @ annotations` takes the weights as one matrix
    and multiplies it with every sentence. Which axis must the weights get first, so that each row
    meets its own sentence?"""
    return weights @ annotations


@bahdanau.mistake("context is the best word alone", costs=(CONTEXT,))
@taking(InSteps, InSteps.average)
def most_weighted_word(self, weights, annotations, scores):
    """Your context is the annotation with the largest weight. All of them count, each with its
    weight; and through a choice of the largest no gradient would reach the scores."""
    return annotations[torch.arange(len(weights)), weights.argmax(dim=-1)]


for masked in (False, True):

    @bahdanau.mistake("scores returned for weights", costs=(SHARES, WEIGHTS_EXACT))
    @taking(InSteps, InSteps.forward)
    def scores_for_weights(self, state, annotations, mask=None, masked=masked):
        """The context is right, but what stands beside it are the scores before the softmax. Return
        the weights."""
        context, _ = InSteps.forward(self, state, annotations, mask)
        scores = self.score(state, annotations)
        hidden = masked and mask is not None
        return context, scores.masked_fill(~mask, -math.inf) if hidden else scores


@bahdanau.mistake("results in the wrong order", costs=(WEIGHTS_EXACT,))
@taking(InSteps, InSteps.result)
def weights_first(self, context, weights):
    """You return the weights first. The order is (context, weights)."""
    return weights, context


@bahdanau.mistake("context returned without the weights", costs=(WEIGHTS_EXACT,))
@taking(InSteps, InSteps.result)
def context_alone(self, context, weights):
    """The context is right, but it comes alone. Return the pair (context, weights)."""
    return context


for context_axis, weights_axis in ((None, -1), (1, None), (None, 1), (1, 1), (1, -1)):

    @bahdanau.mistake(
        "axis of length 1 left over",
        costs=(CONTEXT,) * (context_axis is not None)
        + (WEIGHTS_EXACT,) * (weights_axis is not None),
    )
    @taking(InSteps, InSteps.result)
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
@taking(InSteps, InSteps.result)
def context_squeezed(self, context, weights):
    return context.squeeze(), weights


@bahdanau.mistake("every axis of length 1 squeezed", SQUEEZED)
@taking(InSteps, InSteps.result)
def both_squeezed(self, context, weights):
    return context.squeeze(), weights.squeeze()


# PyTorch has no additive attention, so there is no library answer to bar: only `course_utils` is.
ASSIGNMENT = Assignment("a1_rnn_attention", parts=(annotate, bahdanau))
