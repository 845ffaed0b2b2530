"""Layers with residual connections and norms: their inputs, what dropout does in them, and one in steps."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from assignments.common.draws import copied_along
from autograder.checks.cases import Build, Case, Randn, drawn_weights
from autograder.checks.compare import kind_of, two_results_differ, values_agree
from autograder.checks.problem import Judgement
from course_utils.attention import MultiHeadAttention

EVERYTHING = 1 - 1e-9  # a dropout that keeps nothing, even where it divides by 1 - p
DEFAULT = 0.1  # the dropout where none is given
SIZES = D_MODEL, HEADS, D_FF = 12, 3, 10
ATTENTION, NETWORK = "self_attn.w_o", "feed_forward.w_2"  # the last linear map of each sublayer


def drawn_mask(randn: Randn, shape: tuple[int, ...], blind: bool = False) -> Tensor:
    """A mask whose rows all show and hide something; with ``blind``, the first shows nothing."""
    mask = torch.rand(shape, generator=randn.generator) < 0.6
    seen = torch.randint(shape[-1], (*shape[:-1], 1), generator=randn.generator)
    mask = mask.scatter(-1, seen, True).scatter(-1, (seen + 1) % shape[-1], False)
    if blind:
        mask[..., 0, :] = False
    return mask


def near_mask(length: int) -> Tensor:
    """A mask (length, length) of a long sentence, in which each word sees itself and the two before it.

    Who skips hidden words has little to do, so the sentence may be long.
    """
    return torch.ones(length, length, dtype=torch.bool).tril().triu(-2)


def drawn_mask_of_heads(randn: Randn, shape: tuple[int, ...]) -> Tensor:
    """A mask (B, H, T, S) like `drawn_mask`, in which one head's first row alone shows nothing."""
    mask = drawn_mask(randn, shape)
    mask[0, -1, 0] = False
    return mask


def constant(values: dict[str, float], d_model: int, d_ff: int) -> dict[str, Tensor]:
    """Weights with which the last maps of sublayers give these numbers, each for all features."""
    state = {}
    for name, value in values.items():
        state[f"{name}.weight"] = torch.zeros(d_model, d_ff if name == NETWORK else d_model)
        state[f"{name}.bias"] = torch.full((d_model,), value)
    return state


def few_units(randn: Randn, d_model: int, d_ff: int, units: int, of: str = "") -> dict[str, Tensor]:
    """Weights of a feed-forward network that uses its first inner features alone, as many as ``units``.

    A network with more or fewer of them, which another step is about, can then be used all the same.
    ``of`` stands before the names.
    """
    shapes = [
        (f"{of}w_1.weight", (d_ff, d_model)),
        (f"{of}w_1.bias", (d_ff,)),
        (f"{of}w_2.weight", (d_model, d_ff)),
    ]
    return first_units(drawn_weights(shapes, randn.generator), units)


def first_units(state: dict[str, Tensor], units: int) -> dict[str, Tensor]:
    """The weights of a feed-forward network without all inner features but the first ones."""
    kept = {name: value.clone() for name, value in state.items()}
    for name, value in kept.items():
        if "w_1." in name:
            value[units:] = 0
        elif name.endswith("w_2.weight"):
            value[:, units:] = 0
    return kept


NARROW, WIDER = 2, 4  # widths of words, where words are counted, and where the numbers in them are
SENTENCES = 40  # or more, in cases of `left_to_chance`
WORD = torch.linspace(-1, 1, NARROW)
DROPS_IN_EVAL = (
    "in eval mode two calls with the same input should give the same result, and they do not. Is "
    "something dropped there, too? `nn.Dropout` follows the mode by itself, but `F.dropout` must "
    "be told, with `training=self.training`"
)
LOUD = 0.4  # a larger number from a loud sublayer is no rounding of 0


def left_to_chance(sublayers: dict[str, str]) -> list[Case]:
    """Layers in train mode with the default dropout, each called twice.

    There are many words, and all else is small, so that who goes through single numbers has time for it.

    In one there is a single number inside the feed-forward network, d_ff = 1. The norm before it
    gives the same word everywhere, so the layer's result for a word shows whether this number was
    dropped, because then nothing is added, and the word stays as it was.

    In the others the inputs are 0, one sublayer gives the same number for each feature, and the
    others give 0. So all features of a word are equal, and the norms turn them into 0, unless some
    were dropped. Those are negative in the result, and the others are positive.

    Where two sublayers do so, the features of a word have up to four values, by which of the two were
    dropped. There, 1 is added to everything in the end.

    Args:
        sublayers: the last linear map of each, and what it is called.
    """
    norms = [f"layer_norm{number}" for number in range(1, len(sublayers) + 1)]
    inputs = len(sublayers) - 1  # x, and the memory where a third sublayer attends to it
    least = 50 if inputs == 1 else 40  # sentences of two words

    def case(label: str, B: int, T: int, width: int, d_ff: int, state: dict[str, Tensor]) -> Case:
        plain = {f"{norm}.weight": torch.ones(width) for norm in norms}
        plain |= {f"{norm}.bias": torch.zeros(width) for norm in norms}

        def draw(randn: Randn) -> Build:
            return Build(
                (width, 1, d_ff),
                arguments=[randn(B, T, width) * (d_ff == 1) for _ in range(inputs)],
                state=plain | state,
                fitted=True,
                training=True,
                times=2,
            )

        return Case(f"train mode, the default dropout, {label}", draw, random=True)

    one_number = {
        f"{norms[-2]}.weight": torch.zeros(NARROW), f"{norms[-2]}.bias": WORD,
        "feed_forward.w_1.weight": torch.zeros(1, NARROW), "feed_forward.w_1.bias": torch.ones(1),
        "feed_forward.w_2.weight": -3 * WORD.unsqueeze(1),
        "feed_forward.w_2.bias": torch.zeros(NARROW),
    }  # fmt: skip
    cases = [case("d_ff=1", 6 * least, 1, NARROW, 1, one_number)]
    for loud, called in sublayers.items():
        values = {name: 8.0 if name == loud else 0.0 for name in sublayers}
        state = constant(values, WIDER, 2)
        for B in range(least, least + 4):  # in one alone, a rate that is not far off may pass
            cases.append(case(f"{B=}, x=0, only {called} gives no zeros", B, 2, WIDER, 2, state))
    raised = {f"{norms[-1]}.bias": torch.ones(WIDER)}
    for two in pairwise(sublayers):
        values = {name: 8.0 if name in two else 0.0 for name in sublayers}
        state = constant(values, WIDER, 2) | raised
        both = " and ".join(sublayers[name] for name in two)
        cases.append(case(f"x=0, only {both} give no zeros", 40, 2, WIDER, 2, state))
    return cases


READ = 26  # words of a sentence, in cases of `whole_inputs`
READ_SIZES = 6, HEADS, 4  # of the layers that read them
# part of a word, which sums to 0 unless a number is lost, and the rest of it, with one sign or the other
EVEN = torch.tensor([1.0, -1.0, 1.0, -1.0, 0.0, 0.0])
KIND = torch.tensor([0.0, 0.0, 0.0, 0.0, 1.0, -1.0])
# what a sublayer gives that has missed a number
ANSWER = torch.tensor([-1.0, -1.0, 0.0, 0.0, 1.0, 1.0])


def even_words(randn: Randn, B: int = 1, apart: bool = False) -> Tensor:
    """Sentences (B, READ, 6) of two kinds of words, as many of each.

    Where they are ``apart``, no two words have the same numbers beside their kind, so that of those that have lost
    one, one alone is attended to. Their rounding differs, too, which a norm shows where nothing is added before it.
    """
    signs = torch.tensor([1.0, -1.0]).repeat(READ // 2)
    sizes = 1 + torch.arange(READ) / 8 if apart else torch.ones(READ)
    kinds, evens = (
        torch.stack([values[torch.randperm(READ, generator=randn.generator)] for _ in range(B)])
        for values in (signs, sizes)
    )  # fmt: skip
    return (kinds.unsqueeze(-1) * KIND + evens.unsqueeze(-1) * EVEN).to(randn.dtype)


def misses_numbers(sublayer: str) -> dict[str, Tensor]:
    """Weights with which a sublayer gives 0 for `even_words`, and large numbers once one is lost.

    Of an attention's heads, the first has queries of 0, the second values, and the third keys,
    unless a number of theirs is lost. All words get the same weight then, and their values, which
    go by the kinds, cancel, whatever little is dropped of the weights.

    Args:
        sublayer: its last linear map.
    """
    width, heads, d_ff = READ_SIZES
    part, lost, kind = sublayer.rpartition(".")[0], 30 * EVEN.abs(), KIND / 2
    nothing = torch.zeros(width)
    last = torch.zeros(width, d_ff if sublayer == NETWORK else width)
    if sublayer == NETWORK:
        last[:, 0], last[:, 1] = ANSWER, -ANSWER
        first = torch.zeros(d_ff, width)
        first[0], first[1] = lost, -lost
        inner = {"w_1.weight": first, "w_1.bias": torch.zeros(D_FF)}
    else:
        rows = range(0, width, width // heads)  # the first feature of each head
        inner = {"w_q.bias": nothing.clone(), "w_k.bias": nothing, "w_v.bias": nothing}
        inner["w_q.bias"][rows[2]] = 1.0
        for name, of_heads in {
            "w_q": (lost, nothing, nothing),
            "w_k": (kind, nothing, lost),
            "w_v": (kind, lost, kind),
        }.items():
            inner[f"{name}.weight"] = torch.zeros(width, width)
            for row, values in zip(rows, of_heads, strict=True):
                inner[f"{name}.weight"][row] = values
        last[:, rows] = ANSWER.unsqueeze(1)
    state = {f"{part}.{name}": value for name, value in inner.items()}
    return state | {f"{sublayer}.weight": last, f"{sublayer}.bias": nothing}


def whole_inputs(sublayers: dict[str, str]) -> list[Case]:
    """Layers in train mode with the default dropout, in each of which one sublayer `misses_numbers`.

    Nothing of x or of the memory should be lost before it is read.

    Args:
        sublayers: the last linear map of each, and what it is called.
    """

    width, _, d_ff = READ_SIZES
    inputs = len(sublayers) - 1

    def case(reader: str, called: str) -> Case:
        state = constant(dict.fromkeys(sublayers, 0.0), width, d_ff) | misses_numbers(reader)
        for number in range(1, len(sublayers) + 1):
            state[f"layer_norm{number}.weight"] = torch.ones(width)
            state[f"layer_norm{number}.bias"] = torch.zeros(width)

        def draw(randn: Randn) -> Build:
            given = [even_words(randn, 3 - inputs, inputs == 1) for _ in range(inputs)]
            return Build(READ_SIZES, arguments=given, state=state, fitted=True, training=True)

        label = f"train mode, the default dropout, {called} gives 0 unless a number is missing in what it reads"
        return Case(label, draw, random=True)

    return [case(*one) for one in sublayers.items()]


def reads_all(expected: Tensor, got: Any) -> Judgement:
    """Whether results are those of a sublayer that missed nothing; what is lost of weights is little."""
    if not (isinstance(got, Tensor) and got.is_floating_point() and got.shape == expected.shape):
        return values_agree(expected, got)
    if ((got - expected).abs() < 0.5).all():
        return None
    return (
        f"{values_agree(expected, got)}. Without dropout the numbers are right only if nothing is "
        "missing in what a sublayer reads. Do you also drop numbers before they are read? Dropout belongs on "
        "what a sublayer gives, and not on what it reads"
    )


def words_agree(one: Tensor, other: Tensor) -> Tensor:
    """For each word, whether two sentences are the same there, up to rounding."""
    return torch.isclose(one.double(), other.double(), rtol=1e-4, atol=2e-5).all(dim=-1)


def drops_together(gone: Tensor) -> str | None:
    """Whether chance decides for less than each single number, told which (B, T, D) are gone."""
    for axis, what in ((-1, "all numbers of a word"), (1, "all words of a sentence")):
        if (gone == gone.narrow(axis, 0, 1)).all():
            return f"each number should be dropped independently, but in yours {what} are dropped together"
    for axis, what in enumerate(("sentences", "words", "numbers of a word")):
        if copied_along(gone, axis):
            return (
                "each number should be dropped independently, but in yours some "
                f"{what} lose the same as others, far more often than by chance"
            )
    return None


def layer_drops(expected: Any, got: Any) -> Judgement:
    """Compare, and in two results of a layer `left_to_chance` look at what was dropped.

    Two results of fewer sentences come from eval mode, and should be the same.
    """
    if not isinstance(expected, list):
        return (reads_all if expected.shape[1] == READ else values_agree)(expected, got)
    problem: Judgement = two_results_differ(expected, got)
    if len(expected[0]) < SENTENCES:
        each = got if isinstance(got, list) and len(got) == 2 else [got]
        found = (values_agree(expected[0], value) for value in each)
        return next(filter(None, found), None) if problem else DROPS_IN_EVAL
    for value in [] if problem else got:
        if not isinstance(value, Tensor):
            return f"expected {kind_of(expected[0])}, got {kind_of(value)}"
    if problem:
        return problem
    together = torch.cat(got)
    # without dropout, the result of a loud sublayer is 0, and that of two is 1
    if (expected[0] > LOUD).all():
        return loud_sublayers_drop(together)
    if (expected[0].abs() > LOUD).any():
        return one_number_drops(together)
    return loud_sublayer_drops(together)


def one_number_drops(value: Tensor) -> str | None:
    gone = words_agree(value, F.layer_norm(WORD, (NARROW,)))
    # a word stays as it was, too, where all that the network gives is dropped behind it
    if far_from(DEFAULT + (1 - DEFAULT) * DEFAULT**NARROW, gone):
        # what drops whole words behind the network adds to what is dropped inside it
        more = gone.double().mean() > DEFAULT
        return (
            "with d_ff=1, about "
            f"{DEFAULT:.0%} of the words should get nothing from the feed-forward network, as the one "
            f"number inside is dropped for them, but in yours {gone.double().mean():.0%} do. "
            + (
                "Is 0.1 the default of every `dropout`, and does any of them drop whole words?"
                if more
                else "Is `dropout` passed on to the network, and is its default 0.1?"
            )
        )
    return None


def loud_sublayer_drops(value: Tensor) -> str | None:
    gone = value < -LOUD
    # a word that lost all its numbers looks like one that lost none
    if far_from(DEFAULT - DEFAULT ** value.shape[-1], gone):
        return (
            f"about {DEFAULT:.0%} of the numbers that this sublayer gives should be dropped before "
            f"they are added to x, but {gone.double().mean():.0%} were. How often do they pass through "
            "a dropout, and with which probability?"
        )
    return drops_together(gone)


def loud_sublayers_drop(value: Tensor) -> str | None:
    """Whether two sublayers drop the same numbers, so that a word never has more than two values."""
    gaps = value.sort(dim=-1).values.diff(dim=-1) > 0.05
    if (gaps.sum(dim=-1) < 2).all():
        return (
            "each sublayer should drop numbers of its own, but in yours two sublayers lose the same ones. "
            "Is one mask drawn, and used for both?"
        )
    return None


def far_from(chance: float, gone: Tensor) -> bool:
    """Whether the share of what was dropped is more than five standard deviations off."""
    share = float(gone.double().mean())
    return abs(share - chance) > 5 * (chance * (1 - chance) / gone.numel()) ** 0.5


class LibraryAttention(MultiHeadAttention):
    """The heads by PyTorch's function, whose results for empty rows are corrected afterwards."""

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for linear, x in ((self.w_q, query), (self.w_k, key), (self.w_v, value))
        )
        if mask is None:
            heads = F.scaled_dot_product_attention(q, k, v)
        else:
            mask = mask.expand(*q.shape[:3], k.shape[2])
            seen = mask.any(-1, keepdim=True)
            heads = F.scaled_dot_product_attention(q, k, v, mask | ~seen) * seen
        return self.w_o(heads.transpose(1, 2).flatten(2)), None


class PostNorm:
    """What surrounds every sublayer, in steps."""

    dropout: nn.Dropout

    def keep(self, norm: nn.Module, x: Tensor) -> Tensor:
        return x

    def drop(self, norm: nn.Module, change: Tensor) -> Tensor:
        return self.dropout(change)

    def normalise(self, norm: nn.Module, total: Tensor) -> Tensor:
        return norm(total)

    def add(self, norm: nn.Module, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Pass x through a sublayer, from its residual connection to its ``norm``."""
        return self.normalise(norm, self.keep(norm, x) + self.drop(norm, sublayer(x)))
