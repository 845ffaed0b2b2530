"""Assignment 8: the position-wise feed-forward network and one layer of the encoder."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from assignments.common.layers import (
    ATTENTION,
    D_MODEL,
    DEFAULT,
    EVERYTHING,
    HEADS,
    NETWORK,
    SIZES,
    constant,
    drawn_mask,
    drawn_mask_of_heads,
    drops_together,
    few_units,
    first_units,
    layer_drops,
    left_to_chance,
    near_mask,
    whole_inputs,
    words_agree,
)
from autograder.checks.cases import Build, Case, Randn
from autograder.checks.check import Part
from autograder.checks.compare import dropped, numbers, two_results_differ, values_agree
from autograder.checks.problem import Judgement
from course_utils import layers

LECTURE = "../../lectures/07_layer_normalization.ipynb"
SUBLAYERS = {ATTENTION: "attention", NETWORK: "the feed-forward network"}
UNITS = 4  # inner features that are used where a step is not about their number


# ------------------------------------------------------------------------------ what is drawn


def twins(x: Tensor) -> Tensor:
    """Make all sentences the first one, but for their last word."""
    return torch.cat([x[:1, :-1].expand_as(x[:, :-1]), x[:, -1:]], dim=1)


def network(
    B: int,
    T: int,
    d_model: int = 5,
    d_ff: int = 7,
    *,
    units: int = 0,
    training: bool = False,
    again: bool = False,
) -> Case:
    """A feed-forward network without dropout, and sentences that differ in their last word.

    With ``again``, it was used on other numbers of the same shape before. Of ``units`` see `few_units`;
    0 uses all inner features.
    """

    def draw(randn: Randn) -> Build:
        x = twins(randn(B, T, d_model))
        before = [randn(B, T, d_model)] if again else []
        state = few_units(randn, d_model, d_ff, units) if units else {}
        return Build(
            (d_model, d_ff, 0.0),
            arguments=[x],
            state=state,
            fitted=units > 0,
            training=training,
            before=before,
        )

    label = f"{B=}, {T=}, {d_model=}, {d_ff=}{', train mode' * training}"
    return Case(label + ", used before" * again, draw)


def positive_network(B: int, T: int, dropout: float, *, training: bool) -> Case:
    """A network of positive numbers whose sums are large.

    A ReLU has nothing to do there, wherever it is, and neither has a GELU, so what is asked about
    dropout asks about nothing else. Only three inner features are used.
    """

    def draw(randn: Randn) -> Build:
        x = randn(B, T, 5).abs() + 0.5
        shapes = {"w_1.weight": (7, 5), "w_1.bias": (7,), "w_2.weight": (5, 7), "w_2.bias": (5,)}
        state = {name: randn(*shape).abs() + 0.2 for name, shape in shapes.items()}
        state["w_1.bias"] += 6
        return Build(
            (5, 7, dropout),
            arguments=[x],
            state=first_units(state, 3),
            fitted=True,
            training=training,
        )

    return Case(f"{'train' if training else 'eval'} mode, {dropout=}, all numbers positive", draw)


def bare_dropout() -> Case:
    """A network that does nothing but drop, from positive inputs, twice; half of its inner features are not used."""
    one, zero = torch.eye(8, 4), torch.zeros(8)
    state = {"w_1.weight": one, "w_1.bias": zero, "w_2.weight": one.T, "w_2.bias": zero[:4]}

    def draw(randn: Randn) -> Build:
        x = randn(4, 60, 4).abs() + 6.5
        return Build((4, 8), arguments=[x], state=state, fitted=True, training=True, times=2)

    label = "train mode, the default dropout, w_1 and w_2 give each number back"
    return Case(label, draw, random=True)


def layer(
    B: int,
    T: int,
    mask: tuple[int, ...] = (),
    *,
    sizes: tuple[int, int, int] = SIZES,
    units: int = 0,
    dropout: float = 0.0,
    training: bool = False,
    silent: str = "",
    blind: bool = False,
    near: bool = False,
    before: tuple[int, ...] | None = None,
) -> Case:
    """A layer of these sizes (d_model, num_heads, d_ff), x (B, T, d_model), a mask of this shape.

    The sublayer ``silent`` gives zeros. Of ``units`` see `few_units`; 0 uses all inner features.
    Where words are ``blind``, the mask's first row shows nothing, or that of one head, where each head
    has its own. With ``near``, it shows each word itself and the two before it. With ``before``, the layer
    was used on other words, with a mask of this shape, () for none.
    """

    def draw(randn: Randn) -> Build:
        d_model, _, d_ff = sizes
        state = constant({silent: 0.0}, d_model, d_ff) if silent else {}
        if units:
            state = few_units(randn, d_model, d_ff, units, of="feed_forward.")
        arguments = [randn(B, T, d_model)]
        if mask and blind and HEADS in mask[1:-2]:
            arguments.append(drawn_mask_of_heads(randn, mask))
        elif mask:
            arguments.append(near_mask(T) if near else drawn_mask(randn, mask, blind))
        others = [] if before is None else [randn(B, T, d_model)]
        others += [drawn_mask(randn, before)] if before else []
        return Build(
            (*sizes, dropout),
            arguments=arguments,
            state=state,
            fitted=units > 0 or silent == NETWORK,
            training=training,
            before=others,
        )

    label = f"TransformerLayer{(*sizes, dropout)}{' in train mode' * training}, {B=}, {T=}"
    label += f", mask {mask}" * bool(mask) + " with rows that show nothing" * blind
    if before is not None:
        label += f", used before with {f'a mask {before}' if before else 'no mask'}"
    return Case(label + (f", {SUBLAYERS[silent]} gives zeros" if silent else ""), draw)


def last_word_hidden(B: int, T: int, mask: tuple[int, ...] = (), *, dropout: float = 0.0) -> Case:
    """A layer, sentences that differ in their last word alone, and a mask of this shape.

    It hides the last word from every second word or, where all words share one row, from the words
    of the first two sentences.
    """

    def draw(randn: Randn) -> Build:
        arguments = [twins(randn(B, T, D_MODEL))]
        if mask:
            seen = torch.ones(mask, dtype=torch.bool)
            rows = seen[:2] if mask[-2] == 1 else seen[..., ::2, :]
            rows[..., -1] = False
            arguments.append(seen)
        state = few_units(randn, D_MODEL, SIZES[-1], UNITS, of="feed_forward.")
        return Build((*SIZES, dropout), arguments=arguments, state=state, fitted=True)

    label = f"{B=}, {T=}, {f'mask {mask}' if mask else 'no mask'}"
    return Case(label + f", {dropout=} in eval mode" * bool(dropout), draw)


# ------------------------------------------------------------------------------ what decides


def word_by_word(expected: Tensor, got: Any) -> Judgement:
    """Compare, and say where equal words of two sentences get different results."""
    problem = values_agree(expected, got)
    if problem and isinstance(got, Tensor) and got.shape == expected.shape and len(got) > 1:
        apart = words_agree(expected[0], expected[1]) & ~words_agree(got[0], got[1])
        if apart.any():
            t = int(apart.nonzero()[0])
            return (
                "two sentences differ in their last word alone, so all others should get the same result, "
                f"but word {t} (counting from 0) gets {numbers(got[0, t])} in one and "
                f"{numbers(got[1, t])} in the other. Does each word pass through the network on "
                "its own?"
            )
    return problem


def the_mask_acts(expected: Tensor, got: Any) -> Judgement:
    """Accept what depends on the last word where it should, and only there.

    The sentences come in pairs that differ in their last word alone. A wrong order of norms, for
    example, which another step decides about, then does not cost the points for the mask.
    """
    if not isinstance(got, Tensor) or got.shape != expected.shape:
        return values_agree(expected, got)
    if not torch.isfinite(got).all():
        return "the result should be finite, but it contains NaN or infinity"
    wanted = words_agree(expected[::2], expected[1::2])
    found = words_agree(got[::2], got[1::2])
    if (wanted == found).all():
        return None
    pair, t = (wanted != found).nonzero()[0].tolist()
    if found[pair, t]:
        return (
            f"word {t} (counting from 0) may see the last word, so another last word should change its "
            "result, but it does not"
        )
    return (
        f"the mask hides the last word from word {t} (counting from 0), so another last word should "
        f"have no effect, but it changes the result from {numbers(got[2 * pair, t])} to {numbers(got[2 * pair + 1, t])}"
    )


def network_drops(expected: Any, got: Any) -> Judgement:
    """Compare; two results of `bare_dropout` should be the input with numbers dropped by chance."""
    if not isinstance(expected, list):
        return values_agree(expected, got)
    problem: Judgement = two_results_differ(expected, got)
    for value in [] if problem else got:
        problem = problem or dropped(DEFAULT)(expected[0], value) or drops_together(value == 0)
    return problem


# ------------------------------------------------------------------- PositionwiseFeedForward

feed_forward = Part(
    "PositionwiseFeedForward(d_model, d_ff, dropout=0.1), "
    "forward(x (B, T, d_model)) -> (B, T, d_model)",
    layers.PositionwiseFeedForward,
    reads=(
        "lecture 7, on the position-wise feed-forward network",
        f"{LECTURE}#The-position-wise-feed-forward-network",
    ),
)
feed_forward.example = network(B=1, T=2, d_model=2, d_ff=3)
TWO_MAPS = feed_forward.step(
    "two linear maps with one ReLU between them, for each word on its own",
    1,
    network(B=2, T=3),
    network(B=1, T=4),
    network(B=12, T=6, d_model=6, d_ff=3),
    network(B=2, T=1, d_model=5, d_ff=5),
    network(B=3, T=4, d_model=5, d_ff=9, again=True),
    network(B=2, T=150, d_model=2, d_ff=3),
    network(B=2, T=2, d_model=40, d_ff=3),
    network(B=2, T=2, d_model=3, d_ff=130),
    judge=word_by_word,
)
MAPS_DROP = feed_forward.step(
    "dropout on the numbers between the two maps, in train mode alone",
    1,
    positive_network(B=2, T=3, dropout=0.0, training=True),
    positive_network(B=2, T=3, dropout=EVERYTHING, training=True),
    positive_network(B=3, T=2, dropout=EVERYTHING, training=False),
    bare_dropout(),
    judge=network_drops,
)
MAPS_MANNERS = feed_forward.manners(
    1,
    network(B=2, T=3, units=3),
    network(B=3, T=2, d_model=6, d_ff=5, units=2, training=True).in_float64().with_gradients(),
    asks="float64, an untouched x of any memory layout, gradients",
)


# -------------------------------------------------------------------------- TransformerLayer

encoder_layer = Part(
    "TransformerLayer(d_model, num_heads, d_ff, dropout=0.1), "
    "forward(x (B, T, D), mask=None) -> (B, T, D)",
    layers.TransformerLayer,
    reads=("lecture 7, on the whole layer", f"{LECTURE}#4.-The-whole-layer"),
    may_call=("PositionwiseFeedForward",),
)
encoder_layer.example = layer(B=1, T=3, mask=(3, 3), sizes=(4, 2, 3))
ATTENDS = encoder_layer.step(
    "self-attention, with its residual connection and layer_norm1 after the sum",
    1,
    layer(B=1, T=4, silent=NETWORK),
    layer(B=2, T=5, silent=NETWORK),
    layer(B=3, T=2, sizes=(10, 1, 4), silent=NETWORK),
    layer(B=1, T=40, sizes=(3, 1, 2), silent=NETWORK),
    layer(B=1, T=2, sizes=(33, 11, 4), silent=NETWORK),
)
FEEDS_FORWARD = encoder_layer.step(
    "the feed-forward network, with its residual connection and layer_norm2 after the sum",
    1,
    layer(B=1, T=4, silent=ATTENTION),
    layer(B=12, T=3, sizes=(4, 2, 3), silent=ATTENTION),
    layer(B=1, T=2, sizes=(12, 4, 70), silent=ATTENTION),
    layer(B=3, T=1, sizes=(9, 3, 9), silent=ATTENTION),
)
MASKED = encoder_layer.step(
    "what the mask hides has no effect, and what it shows has one",
    1,
    last_word_hidden(2, 4),
    last_word_hidden(2, 4, mask=(4, 4)),
    # with as many heads as words, a mask (T, 1, T) answers wrongly where it stops with an error elsewhere
    last_word_hidden(2, HEADS, mask=(HEADS, HEADS)),
    last_word_hidden(4, 5, mask=(4, 1, 1, 5)),
    last_word_hidden(2, 5, mask=(2, 1, 5, 5)),
    last_word_hidden(2, 4, mask=(4, 4), dropout=0.5),
    judge=the_mask_acts,
)
LAYER_DROPS = encoder_layer.step(
    "dropout in train mode, on each sublayer's output and inside the feed-forward network",
    1,
    layer(B=3, T=5, units=UNITS, dropout=0.0, training=True),
    layer(B=2, T=3, units=UNITS, dropout=EVERYTHING, training=True),
    layer(B=2, T=5, units=UNITS, dropout=EVERYTHING),
    *left_to_chance(SUBLAYERS),
    *whole_inputs(SUBLAYERS),
    judge=layer_drops,
)
LAYER_MANNERS = encoder_layer.step(
    "the whole layer: float64, untouched inputs of any memory layout, words that see nothing, "
    "gradients",
    1,
    layer(B=2, T=5, units=UNITS, mask=(2, 1, 5, 5)).in_float64(),
    layer(B=1, T=130, sizes=(3, 1, 2 * UNITS), units=UNITS, mask=(130, 130), near=True),
    layer(B=2, T=5, units=UNITS, before=(5, 5)),
    layer(B=2, T=4, units=UNITS, mask=(2, HEADS, 4, 4), before=(2, HEADS, 4, 4)),
    layer(B=2, T=5, units=UNITS, mask=(5, 5), before=()),
    layer(B=2, T=5, units=UNITS, mask=(5, 5)).with_gaps(),
    layer(B=2, T=4, units=UNITS, mask=(2, 1, 4, 4), blind=True),
    layer(B=2, T=4, units=UNITS, mask=(2, HEADS, 4, 4), blind=True),
    layer(B=2, T=5, units=UNITS).in_float64().with_gradients(),
    layer(B=2, T=4, units=UNITS, mask=(2, HEADS, 4, 4), blind=True).in_float64().with_gradients(),
    strict=True,
)
