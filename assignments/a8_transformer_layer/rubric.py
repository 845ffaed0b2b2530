"""Assignment 8: the position-wise feed-forward network and one layer of the encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from autograder.verdict.check import Assignment, Build, Case, Part, Randn, taking
from autograder.verdict.compare import dropped, kind_of, numbers, two_results_differ, values_agree
from course_utils import layers, masks

LECTURE = "../../lectures/07_layer_normalization.ipynb"
EVERYTHING = 1 - 1e-9  # a dropout that lets nothing through, also where it divides by 1 - p
DEFAULT = 0.1  # the dropout where none is given
SIZES = D_MODEL, HEADS, D_FF = 12, 3, 10
ATTENTION, NETWORK = "self_attn.w_o", "feed_forward.w_2"  # the last linear map of each sublayer
SUBLAYERS = {ATTENTION: "attention", NETWORK: "the feed-forward network"}

# ------------------------------------------------------------------------------ what is drawn


def twins(x: Tensor) -> Tensor:
    """Make all sentences the first one, but for their last word."""
    return torch.cat([x[:1, :-1].expand_as(x[:, :-1]), x[:, -1:]], dim=1)


def network(B: int, T: int, d_model: int = 5, d_ff: int = 7, *, training: bool = False) -> Case:
    """A feed-forward network without dropout, and sentences that differ in their last word."""

    def draw(randn: Randn) -> Build:
        x = twins(randn(B, T, d_model))
        return Build((d_model, d_ff, 0.0), arguments=[x], training=training)

    return Case(f"{B=}, {T=}, {d_model=}, {d_ff=}{', train mode' * training}", draw)


def positive_network(B: int, T: int, dropout: float, *, training: bool) -> Case:
    """A network of positive numbers whose sums are large.

    A ReLU has nothing to do wherever it stands, nor has a GELU: what is asked about dropout then
    asks about nothing else.
    """

    def draw(randn: Randn) -> Build:
        x = randn(B, T, 5).abs() + 0.5
        shapes = {"w_1.weight": (7, 5), "w_1.bias": (7,), "w_2.weight": (5, 7), "w_2.bias": (5,)}
        state = {name: randn(*shape).abs() + 0.2 for name, shape in shapes.items()}
        state["w_1.bias"] += 6
        return Build((5, 7, dropout), arguments=[x], state=state, training=training)

    return Case(f"{'train' if training else 'eval'} mode, {dropout=}, all numbers positive", draw)


def bare_dropout() -> Case:
    """A network that does nothing but drop, from positive inputs, twice."""
    one, zero = torch.eye(40), torch.zeros(40)
    state = {"w_1.weight": one, "w_1.bias": zero, "w_2.weight": one, "w_2.bias": zero}

    def draw(randn: Randn) -> Build:
        x = randn(2, 15, 40).abs() + 6.5
        return Build((40, 40), arguments=[x], state=state, training=True, times=2)

    label = "train mode, the default dropout, w_1 and w_2 the identity"
    return Case(label, draw, random=True)


def layer(
    B: int,
    T: int,
    mask: tuple[int, ...] = (),
    *,
    sizes: tuple[int, int, int] = SIZES,
    dropout: float = 0.0,
    training: bool = False,
    silent: str = "",
    blind: bool = False,
) -> Case:
    """A layer of these sizes (d_model, num_heads, d_ff), x (B, T, d_model), a mask of this shape.

    The sublayer ``silent`` gives zeros. Where words are ``blind``, the mask's first row shows
    nothing.
    """

    def draw(randn: Randn) -> Build:
        d_model, _, d_ff = sizes
        arguments = [randn(B, T, d_model)]
        if mask:
            arguments.append(drawn_mask(randn, mask, blind))
        state = constant({silent: 0.0}, d_model, d_ff) if silent else {}
        return Build((*sizes, dropout), arguments=arguments, state=state, training=training)

    label = f"TransformerLayer{(*sizes, dropout)}{' in train mode' * training}, {B=}, {T=}"
    label += f", mask {mask}" * bool(mask) + " with rows that show nothing" * blind
    return Case(label + (f", {SUBLAYERS[silent]} gives zeros" if silent else ""), draw)


def drawn_mask(randn: Randn, shape: tuple[int, ...], blind: bool = False) -> Tensor:
    """A mask whose rows all show and hide something; with ``blind``, the first shows nothing."""
    mask = torch.rand(shape, generator=randn.generator) < 0.6
    seen = torch.randint(shape[-1], (*shape[:-1], 1), generator=randn.generator)
    mask = mask.scatter(-1, seen, True).scatter(-1, (seen + 1) % shape[-1], False)
    if blind:
        mask[..., 0, :] = False
    return mask


def last_word_hidden(B: int, T: int, mask: tuple[int, ...] = ()) -> Case:
    """A layer, sentences that differ in their last word alone, and a mask of this shape.

    It hides the last word from every second word; where all words share one row, from those of
    the first two sentences.
    """

    def draw(randn: Randn) -> Build:
        arguments = [twins(randn(B, T, D_MODEL))]
        if mask:
            seen = torch.ones(mask, dtype=torch.bool)
            rows = seen[:2] if mask[-2] == 1 else seen[..., ::2, :]
            rows[..., -1] = False
            arguments.append(seen)
        return Build((*SIZES, 0.0), arguments=arguments)

    return Case(f"{B=}, {T=}, {f'mask {mask}' if mask else 'no mask'}", draw)


def constant(values: dict[str, float], d_model: int, d_ff: int) -> dict[str, Tensor]:
    """Weights with which the last maps of sublayers give these numbers, each for all features."""
    state = {}
    for name, value in values.items():
        state[f"{name}.weight"] = torch.zeros(d_model, d_ff if name == NETWORK else d_model)
        state[f"{name}.bias"] = torch.full((d_model,), value)
    return state


WORD = torch.linspace(-1, 1, D_MODEL)
LOUD = 0.4  # beyond it, a number from a loud sublayer is no rounding of 0


def left_to_chance(sublayers: dict[str, str]) -> list[Case]:
    """Layers in train mode with the default dropout, each called twice.

    In one there is a single number inside the feed-forward network, d_ff = 1. The norm before it
    gives the same word everywhere, so what the layer returns for a word tells whether this number
    was dropped: then nothing is added, and the word stays as it was.

    In the others the inputs are 0, one sublayer gives the same number for each feature, and the
    others give 0. So all features of a word are equal, and the norms make 0 of them, unless some
    were dropped: those are negative in the result, and the others are positive.

    Args:
        sublayers: the last linear map of each, and what it is called.
    """
    norms = [f"layer_norm{number}" for number in range(1, len(sublayers) + 1)]
    inputs = len(sublayers) - 1  # x, and the memory where a third sublayer attends to it
    plain = {f"{norm}.weight": torch.ones(D_MODEL) for norm in norms}
    plain |= {f"{norm}.bias": torch.zeros(D_MODEL) for norm in norms}

    def case(label: str, d_ff: int, size: float, state: dict[str, Tensor]) -> Case:
        def draw(randn: Randn) -> Build:
            return Build(
                (D_MODEL, HEADS, d_ff),
                arguments=[randn(250, 4, D_MODEL) * size for _ in range(inputs)],
                state=plain | state,
                training=True,
                times=2,
            )

        return Case(f"train mode, the default dropout, {label}", draw, random=True)

    one_number = {
        f"{norms[-2]}.weight": torch.zeros(D_MODEL), f"{norms[-2]}.bias": WORD,
        "feed_forward.w_1.weight": torch.zeros(1, D_MODEL), "feed_forward.w_1.bias": torch.ones(1),
        "feed_forward.w_2.weight": torch.tensor([-1.0, 1.0]).repeat(D_MODEL // 2).unsqueeze(1),
        "feed_forward.w_2.bias": torch.zeros(D_MODEL),
    }  # fmt: skip
    cases = [case("d_ff=1", 1, 1.0, one_number)]
    for loud, called in sublayers.items():
        values = {name: 8.0 if name == loud else 0.0 for name in sublayers}
        state = constant(values, D_MODEL, D_FF)
        cases.append(case(f"x=0, only {called} gives no zeros", D_FF, 0.0, state))
    return cases


# ------------------------------------------------------------------------------ what decides


def word_by_word(expected: Tensor, got: Any) -> str | None:
    """Compare; where equal words of two sentences get different results, say that they do."""
    problem = values_agree(expected, got)
    if problem and isinstance(got, Tensor) and got.shape == expected.shape and len(got) > 1:
        apart = words_agree(expected[0], expected[1]) & ~words_agree(got[0], got[1])
        if apart.any():
            t = int(apart.nonzero()[0])
            return (
                "the two sentences differ in their last word alone, but word "
                f"{t} (counting from 0) gets {numbers(got[0, t])} in one "
                f"and {numbers(got[1, t])} in the other. Each word should pass through "
                "the network by itself"
            )
    return problem


def words_agree(one: Tensor, other: Tensor) -> Tensor:
    """For each word whether two sentences hold the same there, up to rounding."""
    return torch.isclose(one.double(), other.double(), rtol=1e-4, atol=2e-5).all(dim=-1)


def the_mask_acts(expected: Tensor, got: Any) -> str | None:
    """Accept what depends on the last word where it should, and only there.

    The sentences come in pairs that differ in their last word alone. So a wrong order of norms,
    say, which is another step's matter, does not cost the points for the mask.
    """
    if not isinstance(got, Tensor) or got.shape != expected.shape:
        return values_agree(expected, got)
    if not torch.isfinite(got).all():
        return "the result holds NaN or infinity"
    wanted = words_agree(expected[::2], expected[1::2])
    found = words_agree(got[::2], got[1::2])
    if (wanted == found).all():
        return None
    pair, t = (wanted != found).nonzero()[0].tolist()
    if found[pair, t]:
        return (
            f"word {t} (counting from 0) may see the last word, but another last word makes no "
            "difference to its result"
        )
    return (
        f"the mask hides the last word from word {t} (counting from 0), but another last word "
        f"changes its result from {numbers(got[2 * pair, t])} to {numbers(got[2 * pair + 1, t])}"
    )


def network_drops(expected: Any, got: Any) -> str | None:
    """Compare; two results of `bare_dropout` are to be the input, dropped by chance."""
    if not isinstance(expected, list):
        return values_agree(expected, got)
    problem = two_results_differ(expected, got)
    for value in [] if problem else got:
        problem = problem or dropped(DEFAULT)(expected[0], value) or drops_together(value == 0)
    return problem


def drops_together(gone: Tensor) -> str | None:
    """Whether chance decides for less than each single number, told which (B, T, D) are gone."""
    for axis, what in ((-1, "all numbers of a word"), (1, "all words of a sentence")):
        if (gone == gone.narrow(axis, 0, 1)).all():
            return (
                f"chance should decide for each number by itself; yours decides for {what} at once"
            )
    return None


def layer_drops(expected: Any, got: Any) -> str | None:
    """Compare; in two results of a layer `left_to_chance`, look at what was dropped."""
    if not isinstance(expected, list):
        return values_agree(expected, got)
    problem = two_results_differ(expected, got)
    for value in [] if problem else got:
        if not isinstance(value, Tensor):
            return f"expected {kind_of(expected[0])}, got {kind_of(value)}"
        # without dropout, a loud sublayer's result is 0
        one_number = (expected[0].abs() > LOUD).any()
        problem = problem or (one_number_drops if one_number else loud_sublayer_drops)(value)
    return problem


def one_number_drops(value: Tensor) -> str | None:
    gone = words_agree(value, F.layer_norm(WORD, (D_MODEL,)))
    if far_from_default(gone):
        return (
            "with d_ff=1, the one number inside the feed-forward network should be dropped for "
            f"about {DEFAULT:.0%} of the words; yours was for {gone.double().mean():.0%}. Is "
            "`dropout` handed on to the network, and is its default 0.1?"
        )
    return None


def loud_sublayer_drops(value: Tensor) -> str | None:
    gone = value < -LOUD
    if far_from_default(gone):
        return (
            f"about {DEFAULT:.0%} of the numbers that this sublayer gives should be dropped before "
            f"they are added to x; yours were {gone.double().mean():.0%}. How often do they pass a "
            "dropout, and with which probability?"
        )
    return drops_together(gone)


def far_from_default(gone: Tensor) -> bool:
    """Whether the share of what was dropped is more than five standard deviations off."""
    share = float(gone.double().mean())
    return abs(share - DEFAULT) > 5 * (DEFAULT * (1 - DEFAULT) / gone.numel()) ** 0.5


# ------------------------------------------------------------------- PositionwiseFeedForward

feed_forward = Part(
    "PositionwiseFeedForward(d_model, d_ff, dropout=0.1), "
    "forward(x (B, T, d_model)) -> (B, T, d_model)",
    layers.PositionwiseFeedForward,
    reads=(
        "lecture 7, on the position-wise feed-forward network",
        f"{LECTURE}#7.-The-position-wise-feed-forward-network",
    ),
)
feed_forward.step(
    "two linear maps with one ReLU between them, for each word by itself",
    1,
    network(B=2, T=3),
    network(B=1, T=4),
    network(B=3, T=4, d_model=6, d_ff=3),
    network(B=2, T=1, d_model=5, d_ff=5),
    network(B=3, T=4, d_model=4, d_ff=9),
    judge=word_by_word,
)
feed_forward.step(
    "dropout on the numbers between the two maps, in train mode alone",
    1,
    positive_network(B=2, T=3, dropout=0.0, training=True),
    positive_network(B=2, T=3, dropout=EVERYTHING, training=True),
    positive_network(B=3, T=2, dropout=EVERYTHING, training=False),
    bare_dropout(),
    judge=network_drops,
)
feed_forward.manners(
    1,
    network(B=2, T=3),
    network(B=3, T=2, d_model=6, d_ff=5, training=True).in_float64().with_gradients(),
    asks="float64, an untouched x of any memory layout, gradients",
)


class Network(layers.PositionwiseFeedForward):
    """The right network in steps, each of which a mistake can change."""

    def between(self, hidden: Tensor) -> Tensor:
        return self.dropout(torch.relu(hidden))

    def forward(self, x):
        return self.w_2(self.between(self.w_1(x)))


TRAILING = (
    "Your result is never negative: a ReLU stands behind `w_2`. What is added to a word must be "
    "able to take something away from it, too. Between which two things does the one ReLU belong?"
)
MIXED = (
    "A word's result depends on other words of its sentence. *Position-wise* means that each word "
    "passes through the network by itself. Which axis does `nn.Linear` work on, and which ones "
    "does it leave alone?"
)
OWN_WORK = (
    "Your network does more than it should: {} in it. That is the layer's work, in part 2. Here, "
    "return what `w_2` gives."
)


@feed_forward.mistake("trailing ReLU", TRAILING, costs=(1,))
@taking(Network, Network.forward)
def trailing_relu(self, x):
    return torch.relu(Network.forward(self, x))


@feed_forward.mistake("the ReLU at the end instead of between", TRAILING, costs=(1,))
@taking(Network, Network.forward)
def relu_at_the_end(self, x):
    return torch.relu(self.w_2(self.dropout(self.w_1(x))))


@feed_forward.mistake("the ReLU before both maps", costs=(1,))
@taking(Network, Network.forward)
def relu_at_the_start(self, x):
    """Your ReLU works on x, before `w_1`, so nothing negative of a word is seen at all, and the two
    maps behind it are no more than one. Where does the formula have it?"""
    return self.w_2(self.dropout(self.w_1(torch.relu(x))))


@feed_forward.mistake("no ReLU", costs=(1,))
@taking(Network, Network.between)
def no_relu(self, hidden):
    """There is no ReLU between your two linear maps. Without it they are no more than a single
    linear map, however large `d_ff` is."""
    return self.dropout(hidden)


@feed_forward.mistake("GELU", costs=(1,))
@taking(Network, Network.between)
def gelu(self, hidden):
    """Your activation is the GELU. Many later models use it; the text and the original paper have
    the ReLU, max(0, a)."""
    return self.dropout(F.gelu(hidden))


@feed_forward.mistake("sigmoid", costs=(1,))
@taking(Network, Network.between)
def sigmoid(self, hidden):
    """Your activation is the sigmoid, which squeezes every number between 0 and 1. The text has the
    ReLU, max(0, a)."""
    return self.dropout(hidden.sigmoid())


@feed_forward.mistake("softmax", costs=(1,))
@taking(Network, Network.between)
def softmax(self, hidden):
    """Between your maps stands a softmax. These are no weights of a sum, so nothing has to sum to
    one: the text has the ReLU, max(0, a)."""
    return self.dropout(hidden.softmax(dim=-1))


@feed_forward.mistake("tokens mixed: the average of all words", MIXED, costs=(1,))
@taking(Network, Network.forward)
def average_of_the_words(self, x):
    return Network.forward(self, x.mean(dim=1, keepdim=True).expand_as(x))


@feed_forward.mistake("tokens mixed: one vector for a sentence", costs=(1,))
@taking(Network, Network.forward)
def sentence_in_one_vector(self, x):
    """You return one vector for each sentence. Every word gets a result of its own, so the shape of
    x comes back: (B, T, d_model)."""
    return Network.forward(self, x.mean(dim=1))


@feed_forward.mistake("tokens mixed: the average inside", MIXED, costs=(1,))
@taking(Network, Network.between)
def hidden_averages(self, hidden):
    return self.dropout(torch.relu(hidden).mean(dim=1, keepdim=True).expand_as(hidden))


@feed_forward.mistake("tokens mixed: sums over earlier words", MIXED, costs=(1,))
@taking(Network, Network.forward)
def sum_of_earlier_words(self, x):
    return Network.forward(self, x.cumsum(dim=1))


@feed_forward.mistake(
    "residual inside the network", OWN_WORK.format("x is added to the result"), costs=(1,)
)
@taking(Network, Network.forward)
def residual_inside(self, x):
    return x + Network.forward(self, x)


@feed_forward.mistake(
    "residual and norm inside the network",
    OWN_WORK.format("residual connection and norm stand"),
    costs=(1,),
)
@taking(Network, Network.forward)
def residual_and_norm_inside(self, x):
    return F.layer_norm(x + Network.forward(self, x), x.shape[-1:])


@feed_forward.mistake(
    "norm inside the network", OWN_WORK.format("the result is normalised"), costs=(1,)
)
@taking(Network, Network.forward)
def norm_inside(self, x):
    return F.layer_norm(Network.forward(self, x), x.shape[-1:])


@feed_forward.mistake("second map missing", costs=(1,))
@taking(Network, Network.forward)
def second_map_missing(self, x):
    """Your result has the width d_ff, since `w_2` is not applied. It leads back to d_model."""
    return self.between(self.w_1(x))


@feed_forward.mistake("no dropout", costs=(2,))
@taking(Network, Network.between)
def network_without_dropout(self, hidden):
    """In train mode nothing is dropped. The numbers between the two maps should be, with the
    probability `dropout`."""
    return torch.relu(hidden)


@feed_forward.mistake("dropout on the result", costs=(2,))
@taking(Network, Network.forward)
def dropout_on_the_result(self, x):
    """You drop what `w_2` gives. In this network dropout stands between the two maps; what comes
    out is dropped by the layer, in part 2."""
    return self.dropout(self.w_2(torch.relu(self.w_1(x))))


@feed_forward.mistake("dropout on the input", costs=(2,))
@taking(Network, Network.forward)
def dropout_on_the_input(self, x):
    """You drop numbers of x, before `w_1`. The text drops those between the two maps."""
    return self.w_2(torch.relu(self.w_1(self.dropout(x))))


@feed_forward.mistake("dropout in eval mode", costs=(2,))
@taking(Network, Network.between)
def network_drops_in_eval_mode_too(self, hidden):
    """Your network drops numbers in eval mode, too. `nn.Dropout` knows the mode by itself;
    `F.dropout` must be told: what does its argument `training` mean?"""
    return F.dropout(torch.relu(hidden), self.dropout.p)


@feed_forward.mistake("dropout taken and not kept", costs=(2,))
@taking(Network, Network.__init__)
def network_dropout_not_kept(self, d_model, d_ff, dropout=DEFAULT):
    """Whatever `dropout` is, your network drops a tenth. What becomes of the argument?"""
    Network.__init__(self, d_model, d_ff)


@feed_forward.mistake("leaky ReLU", costs=(1,))
@taking(Network, Network.between)
def leaky(self, hidden):
    """Negative numbers get through your activation, only smaller. The text has the ReLU, max(0, a):
    what is negative becomes 0."""
    return self.dropout(F.leaky_relu(hidden))


@feed_forward.mistake("tanh", costs=(1,))
@taking(Network, Network.between)
def tanh(self, hidden):
    """Your activation is the hyperbolic tangent, which squeezes every number between −1 and 1. The
    text has the ReLU, max(0, a)."""
    return self.dropout(hidden.tanh())


@feed_forward.mistake("ReLU6", costs=(1,))
@taking(Network, Network.between)
def relu6(self, hidden):
    """Your activation cuts off what is above 6. The text has the ReLU, max(0, a), without an upper
    end."""
    return self.dropout(F.relu6(hidden))


@feed_forward.mistake("minimum for maximum", costs=(1,))
@taking(Network, Network.between)
def negative_part(self, hidden):
    """Your activation keeps what is negative. The ReLU is max(0, a): which numbers become 0?"""
    return self.dropout(hidden.clamp(max=0))


@feed_forward.mistake("absolute value", costs=(1,))
@taking(Network, Network.between)
def absolute(self, hidden):
    """Your activation turns negative numbers into positive ones. In the text they become 0."""
    return self.dropout(hidden.abs())


# -------------------------------------------------------------------------- TransformerLayer

encoder_layer = Part(
    "TransformerLayer(d_model, num_heads, d_ff, dropout=0.1), "
    "forward(x (B, T, D), mask=None) -> (B, T, D)",
    layers.TransformerLayer,
    reads=("lecture 7, on the whole layer", f"{LECTURE}#8.-The-whole-layer"),
    may_call=("PositionwiseFeedForward",),
)
encoder_layer.step(
    "self-attention, with its residual connection and layer_norm1 behind the sum",
    1,
    layer(B=1, T=4, silent=NETWORK),
    layer(B=2, T=5, silent=NETWORK),
    layer(B=3, T=2, sizes=(10, 1, 4), silent=NETWORK),
)
encoder_layer.step(
    "the feed-forward network, with its residual connection and layer_norm2 behind the sum",
    1,
    layer(B=1, T=4, silent=ATTENTION),
    layer(B=2, T=3, sizes=(12, 4, 17), silent=ATTENTION),
    layer(B=3, T=1, sizes=(9, 3, 9), silent=ATTENTION),
)
encoder_layer.step(
    "what the mask hides has no effect, and what it shows has one",
    1,
    last_word_hidden(2, 4),
    last_word_hidden(2, 4, mask=(4, 4)),
    last_word_hidden(4, 5, mask=(4, 1, 1, 5)),
    last_word_hidden(2, 5, mask=(2, 1, 5, 5)),
    judge=the_mask_acts,
)
encoder_layer.step(
    "dropout in train mode: on each sublayer's output, and inside the feed-forward network",
    1,
    layer(B=3, T=5, dropout=0.0, training=True),
    layer(B=2, T=3, dropout=EVERYTHING, training=True),
    layer(B=2, T=5, dropout=EVERYTHING),
    *left_to_chance(SUBLAYERS),
    judge=layer_drops,
)
encoder_layer.step(
    "the whole layer: float64, untouched inputs of any memory layout, words that see nothing, "
    "gradients",
    1,
    layer(B=2, T=5, mask=(2, 1, 5, 5)).in_float64(),
    layer(B=2, T=4, mask=(2, HEADS, 4, 4)),
    layer(B=2, T=5, mask=(5, 5)).with_gaps(),
    layer(B=2, T=4, mask=(2, 1, 4, 4), blind=True),
    layer(B=2, T=5).in_float64().with_gradients(),
    layer(B=2, T=4, mask=(2, 1, 4, 4), blind=True).in_float64().with_gradients(),
    strict=True,
)


class PostNorm:
    """What stands around every sublayer, in steps."""

    dropout: nn.Module

    def keep(self, norm: nn.Module, x: Tensor) -> Tensor:
        return x

    def drop(self, norm: nn.Module, change: Tensor) -> Tensor:
        return self.dropout(change)

    def normalise(self, norm: nn.Module, total: Tensor) -> Tensor:
        return norm(total)

    def add(self, norm: nn.Module, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Pass x through a sublayer, from its residual connection to its ``norm``."""
        return self.normalise(norm, self.keep(norm, x) + self.drop(norm, sublayer(x)))


class Layer(PostNorm, layers.TransformerLayer):
    """The right layer in steps, each of which a mistake can change."""

    def attend(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.self_attn(x, x, x, mask)[0]

    def forward(self, x, mask=None):
        x = self.add(self.layer_norm1, x, lambda x: self.attend(x, mask))
        return self.add(self.layer_norm2, x, self.feed_forward)


@encoder_layer.mistake("no residual connections", costs=(1, 2))
@taking(Layer, Layer.keep)
def no_residuals(self, norm, x):
    """What enters a sublayer is lost behind it. Add it to the sublayer's output before the norm."""
    return torch.zeros_like(x)


@encoder_layer.mistake("no residual connection around attention", costs=(1,))
@taking(Layer, Layer.keep)
def no_first_residual(self, norm, x):
    """Behind attention the word itself is lost. What does the first equation add to attention's
    output?"""
    return (norm is not self.layer_norm1) * x


@encoder_layer.mistake("no residual connection around the feed-forward network", costs=(2,))
@taking(Layer, Layer.keep)
def no_second_residual(self, norm, x):
    """Behind the feed-forward network, what attention found is lost. What does the second equation
    add to the network's output?"""
    return (norm is not self.layer_norm2) * x


@encoder_layer.mistake("the layer's input as second residual", costs=(2,))
@taking(Layer, Layer.forward)
def input_as_second_residual(self, x, mask=None):
    """To the feed-forward network's output you add the x that entered the layer. The second
    equation takes the x of the first one."""
    attended = self.add(self.layer_norm1, x, lambda x: self.attend(x, mask))
    return self.add(self.layer_norm2, x, lambda _: self.feed_forward(attended))


@encoder_layer.mistake("the layer's input to the feed-forward network", costs=(2,))
@taking(Layer, Layer.forward)
def input_to_feed_forward(self, x, mask=None):
    """Your feed-forward network reads the x that entered the layer, so it never sees what attention
    found. The second equation takes the x of the first one."""
    attended = self.add(self.layer_norm1, x, lambda x: self.attend(x, mask))
    return self.add(self.layer_norm2, attended, lambda _: self.feed_forward(x))


@encoder_layer.mistake("norm first (pre-LN)", costs=(1, 2))
@taking(Layer, Layer.add)
def norm_first(self, norm, x, sublayer):
    """You normalise before each sublayer (pre-LN). This layer is post-LN, as in the paper: add
    first, then normalise the sum."""
    return x + self.dropout(sublayer(norm(x)))


@encoder_layer.mistake("norm first, and the residual normalised with it", costs=(1, 2))
@taking(Layer, Layer.add)
def norm_first_also_of_the_residual(self, norm, x, sublayer):
    """You normalise what goes into each sublayer. This layer is post-LN, as in the paper: add
    first, then normalise the sum."""
    return norm(x) + self.dropout(sublayer(norm(x)))


@encoder_layer.mistake("norm before the sum", costs=(1, 2))
@taking(Layer, Layer.add)
def norm_before_the_sum(self, norm, x, sublayer):
    """You normalise each sublayer's output and add x afterwards. What stands inside the brackets of
    LayerNorm in the equations?"""
    return x + self.dropout(norm(sublayer(x)))


@encoder_layer.mistake("one norm for both", costs=(2,))
@taking(Layer, Layer.normalise)
def one_norm(self, norm, total):
    """Both of your sums pass through `layer_norm1`. The second line has a norm of its own,
    `layer_norm2`."""
    return self.layer_norm1(total)


@encoder_layer.mistake("only one norm made")
@taking(Layer, Layer.__init__)
def one_norm_made(self, *sizes, **keywords):
    """There is no `layer_norm2` in your layer. Each of the two lines has a norm of its own, with
    weights of its own."""
    Layer.__init__(self, *sizes, **keywords)
    del self.layer_norm2


@encoder_layer.mistake("one norm under both names", costs=(2,))
@taking(Layer, Layer.__init__)
def one_norm_of_two_names(self, *sizes, **keywords):
    """`layer_norm1` and `layer_norm2` are one and the same norm in your layer, or the second one
    does the work of both. `a = b = norm` and `[norm] * 2` hold one norm twice; each line needs one
    of its own."""
    Layer.__init__(self, *sizes, **keywords)
    self.layer_norm2 = self.layer_norm1


@encoder_layer.mistake("attention whose layers have other names")
@taking(Layer, Layer.__init__)
def library_attention(self, d_model, num_heads, d_ff, dropout=DEFAULT):
    """Your `self_attn` has no `w_q`, `w_k`, `w_v` and `w_o`. `nn.MultiheadAttention` keeps its
    weights under other names, and its masks mean the opposite; which attention does the text let
    you import?"""
    Layer.__init__(self, d_model, num_heads, d_ff, dropout)
    self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)


@encoder_layer.mistake("network whose layers have other names")
@taking(Layer, Layer.__init__)
def sequential_network(self, d_model, num_heads, d_ff, dropout=DEFAULT):
    """Your `feed_forward` has no `w_1` and `w_2`. The class of part 1 has them; an `nn.Sequential`
    numbers its layers instead."""
    Layer.__init__(self, d_model, num_heads, d_ff, dropout)
    self.feed_forward = nn.Sequential(
        nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model)
    )


@encoder_layer.mistake("norms swapped", costs=(1, 2))
@taking(Layer, Layer.normalise)
def norms_swapped(self, norm, total):
    """Your two norms have changed places: `layer_norm1` belongs behind attention, `layer_norm2`
    behind the feed-forward network."""
    return (self.layer_norm2 if norm is self.layer_norm1 else self.layer_norm1)(total)


@encoder_layer.mistake("first norm missing", costs=(1,))
@taking(Layer, Layer.normalise)
def no_first_norm(self, norm, total):
    """The sum behind attention is not normalised. `layer_norm1` belongs there."""
    return total if norm is self.layer_norm1 else norm(total)


@encoder_layer.mistake("last norm missing", costs=(2,))
@taking(Layer, Layer.normalise)
def no_last_norm(self, norm, total):
    """The sum behind the feed-forward network is not normalised. `layer_norm2` belongs there."""
    return total if norm is self.layer_norm2 else norm(total)


@encoder_layer.mistake("no norms", costs=(1, 2))
@taking(Layer, Layer.normalise)
def no_norms(self, norm, total):
    """Your sums are not normalised. Each of the two has a norm of its own behind it."""
    return total


@encoder_layer.mistake("mask dropped", costs=(3,))
@taking(Layer, Layer.attend)
def no_mask(self, x, mask):
    """Where a cross stands, `mask` has no effect in your layer, so words attend to what they may
    not see, padding for example. Who needs to be told of it, whatever its shape?"""
    return Layer.attend(self, x, None)


@encoder_layer.mistake("mask inverted", costs=(3,))
@taking(Layer, Layer.attend)
def inverted_mask(self, x, mask):
    """Your layer hides what the mask shows, and shows what it hides. Here True means: may attend.
    Which convention does the attention that you call have?"""
    return Layer.attend(self, x, None if mask is None else ~mask)


@encoder_layer.mistake("always causal", costs=(3,))
@taking(Layer, Layer.attend)
def always_causal(self, x, mask):
    """Your layer hides later words also where `mask` does not ask for it. An encoder reads the
    whole sentence: the layer makes no mask of its own."""
    causal = masks.causal_mask(x.shape[1], x.device)
    return Layer.attend(self, x, causal if mask is None else mask & causal)


@encoder_layer.mistake("attention missing", costs=(1, 3))
@taking(Layer, Layer.forward)
def no_attention(self, x, mask=None):
    """Words never meet in your layer: there is no self-attention in front of the feed-forward
    network."""
    return self.add(self.layer_norm2, x, self.feed_forward)


@encoder_layer.mistake("feed-forward network missing", costs=(2,))
@taking(Layer, Layer.forward)
def no_feed_forward(self, x, mask=None):
    """Your layer ends behind attention. The second line, with the feed-forward network and
    `layer_norm2`, is missing."""
    return self.add(self.layer_norm1, x, lambda x: self.attend(x, mask))


@encoder_layer.mistake("feed-forward network before attention", costs=(1, 2))
@taking(Layer, Layer.forward)
def feed_forward_before_attention(self, x, mask=None):
    """Your layer begins with the feed-forward network. In which order do the two equations
    stand?"""
    x = self.add(self.layer_norm1, x, self.feed_forward)
    return self.add(self.layer_norm2, x, lambda x: self.attend(x, mask))


DROPPED = (
    "Your dropout acts in another place, or not at all. In the equations of the text it stands "
    "around the sublayer's output alone: before the residual is added, and before the norm."
)


@encoder_layer.mistake("no dropout", DROPPED, costs=(4,))
@taking(Layer, Layer.drop)
def layer_without_dropout(self, norm, change):
    return change


@encoder_layer.mistake("no dropout behind attention", costs=(4,))
@taking(Layer, Layer.drop)
def no_dropout_behind_attention(self, norm, change):
    """In train mode, attention's output is added without dropout. Both equations have one."""
    return change if norm is self.layer_norm1 else self.dropout(change)


@encoder_layer.mistake("no dropout behind the feed-forward network", costs=(4,))
@taking(Layer, Layer.drop)
def no_dropout_behind_feed_forward(self, norm, change):
    """In train mode, the feed-forward network's output is added without dropout. The one inside the
    network does not replace it: both equations have one."""
    return change if norm is self.layer_norm2 else self.dropout(change)


@encoder_layer.mistake("dropout on the sum", DROPPED, costs=(4,))
@taking(Layer, Layer.add)
def dropout_on_the_sum(self, norm, x, sublayer):
    return norm(self.dropout(x + sublayer(x)))


@encoder_layer.mistake("dropout after the norm", DROPPED, costs=(4,))
@taking(Layer, Layer.add)
def dropout_after_the_norm(self, norm, x, sublayer):
    return self.dropout(norm(x + sublayer(x)))


@encoder_layer.mistake("dropout in eval mode", costs=(4,))
@taking(Layer, Layer.drop)
def layer_drops_in_eval_mode_too(self, norm, change):
    """Your layer drops numbers in eval mode, too. `nn.Dropout` knows the mode by itself;
    `F.dropout` must be told: what does its argument `training` mean?"""
    return F.dropout(change, self.dropout.p)


@encoder_layer.mistake("weights returned beside the result", costs=(1,))
@taking(Layer, Layer.forward)
def weights_beside_the_result(self, x, mask=None):
    """Your result comes in a tuple, with the attention weights beside it. The layer returns x
    alone, so that layers can be stacked."""
    return Layer.forward(self, x, mask), self.self_attn(x, x, x, mask)[1]


@encoder_layer.mistake("dropout taken and not handed on to the network", costs=(4,))
@taking(Layer, Layer.__init__)
def default_dropout_inside(self, d_model, num_heads, d_ff, dropout=DEFAULT):
    """Inside your feed-forward network, a tenth is dropped whatever `dropout` is. The network takes
    the probability as an argument: does yours hand it on?"""
    Layer.__init__(self, d_model, num_heads, d_ff, dropout)
    self.feed_forward = layers.PositionwiseFeedForward(d_model, d_ff)


@encoder_layer.mistake("dropout taken and not kept", costs=(4,))
@taking(Layer, Layer.__init__)
def dropout_not_kept(self, d_model, num_heads, d_ff, dropout=DEFAULT):
    """Whatever `dropout` is, your layer drops a tenth. What becomes of the argument?"""
    Layer.__init__(self, d_model, num_heads, d_ff)


@encoder_layer.mistake("no dropout inside the network", costs=(4,))
@taking(Layer, Layer.__init__)
def no_dropout_inside(self, d_model, num_heads, d_ff, dropout=DEFAULT):
    """Inside your feed-forward network nothing is dropped. The text has dropout in three places: the
    two of the equations, and between the two maps of the network."""
    Layer.__init__(self, d_model, num_heads, d_ff, dropout)
    self.feed_forward = layers.PositionwiseFeedForward(d_model, d_ff, 0.0)


@encoder_layer.mistake("one head", costs=(1,))
@taking(Layer, Layer.__init__)
def one_head(self, d_model, num_heads, d_ff, dropout=DEFAULT):
    """Your attention has one head, whatever `num_heads` is. What becomes of the argument?"""
    Layer.__init__(self, d_model, 1, d_ff, dropout)


@encoder_layer.mistake("dropout on the residual", DROPPED, costs=(4,))
class DropoutOnResidual(Layer):
    def keep(self, norm, x):
        return self.dropout(x)

    def drop(self, norm, change):
        return change


@encoder_layer.mistake("residual added twice", costs=(1, 2))
@taking(Layer, Layer.keep)
def residual_twice(self, norm, x):
    """In your sums x counts twice. Does a sublayer add it already, before the layer does?"""
    return 2 * x


@encoder_layer.mistake("residual added twice around the feed-forward network", costs=(2,))
@taking(Layer, Layer.keep)
def second_residual_twice(self, norm, x):
    """Behind the feed-forward network x counts twice. Does the network add it already, before the
    layer does?"""
    return x if norm is self.layer_norm1 else 2 * x


@encoder_layer.mistake("sublayers side by side", costs=(1, 2))
@taking(Layer, Layer.forward)
def side_by_side(self, x, mask=None):
    """Both of your sublayers read the x that entered the layer, and their outputs are added up at
    once. The second equation takes the x of the first one."""
    changes = self.dropout(self.attend(x, mask)) + self.dropout(self.feed_forward(x))
    return self.layer_norm2(self.layer_norm1(x + changes))


@encoder_layer.mistake("both norms at the end", costs=(1, 2))
@taking(Layer, Layer.forward)
def norms_at_the_end(self, x, mask=None):
    """Both of your norms stand behind the last sum. The first one belongs behind attention: in
    which line does it stand?"""
    x = x + self.drop(self.layer_norm1, self.attend(x, mask))
    x = x + self.drop(self.layer_norm2, self.feed_forward(x))
    return self.layer_norm2(self.layer_norm1(x))


@encoder_layer.mistake("a third norm on top", costs=(2,))
@taking(Layer, Layer.forward)
def norm_on_top(self, x, mask=None):
    """You normalise once more at the end. Each of the two lines has one norm, and the second line's
    is the last step."""
    return F.layer_norm(Layer.forward(self, x, mask), x.shape[-1:])


@encoder_layer.mistake("ReLU at the end of the layer", costs=(2,))
@taking(Layer, Layer.forward)
def relu_on_top(self, x, mask=None):
    """Nothing in your result is negative: a ReLU stands behind the layer. The only one belongs
    inside the feed-forward network."""
    return torch.relu(Layer.forward(self, x, mask))


@encoder_layer.mistake("norm in front of attention as well", costs=(1,))
@taking(Layer, Layer.attend)
def attend_to_normed(self, x, mask):
    """Attention reads x behind `layer_norm1`, and the sum is normalised once more. In the first
    equation, query, key and value are x as it came in."""
    normed = self.layer_norm1(x)
    return self.self_attn(normed, normed, normed, mask)[0]


ASSIGNMENT = Assignment(
    "a8_transformer_layer",
    parts=(feed_forward, encoder_layer),
    barred=(
        "Transformer", "TransformerEncoder", "TransformerEncoderLayer",
        "TransformerDecoder", "TransformerDecoderLayer", "_transformer_encoder_layer_fwd",
        "course_utils.layers", "course_utils.transformer",
    ),
    allowed_modules=("course_utils.attention", "course_utils.signoff"),
)  # fmt: skip
