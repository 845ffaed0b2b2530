"""Assignment 11: attention with a cache, sliding windows, shared key heads, and softmax in tiles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from assignments.common.layers import drawn_mask
from assignments.common.weights import Weights
from autograder.checks.cases import Build, Case, Chain, Randn, returned_by
from autograder.checks.check import Part
from autograder.checks.compare import hidden_are_zero, kind_of, values_agree
from autograder.checks.problem import Judgement
from course_utils import fast_attention

LECTURE = "../../lectures/10_fast_attention.ipynb"


# ---------------------------------------------------------------------- what is drawn: a cache


def heads(
    randn: Randn, B: int, H: int, T: int, d_k: int, d_v: int, size: float = 1.0
) -> list[Tensor]:
    """Query and key (B, H, T, d_k), value (B, H, T, d_v); the size is that of the queries."""
    return [size * randn(B, H, T, d_k), randn(B, H, T, d_k), randn(B, H, T, d_v)]


def words(
    B: int, H: int, T: int, d_k: int, d_v: int, P: int | None = None, *, size: float = 1.0
) -> Case:
    """T new words, after a cache of P; without P there is none."""

    def draw(randn: Randn) -> list[Any]:
        given: list[Any] = heads(randn, B, H, T, d_k, d_v, size)
        if P is not None:
            given.append((randn(B, H, P, d_k), randn(B, H, P, d_v)))
        return given

    notes = f"{B=}, {H=}, {T=}, {d_k=}, {d_v=}" + ("" if P is None else f", a cache of {P=} words")
    return Case(notes + f", queries times {size:g}" * (size != 1), draw)


def one_after_the_other(*pieces: int, B: int = 2, H: int = 3, d_k: int = 4, d_v: int = 5) -> Case:
    """One text in pieces, each with the cache that the call before it returned."""

    def draw(randn: Randn) -> Chain:
        calls: list[list[Any]] = []
        for number, T in enumerate(pieces):
            calls.append([*heads(randn, B, H, T, d_k, d_v)])
            if number:
                calls[-1].append(returned_by(number - 1, 1))
        return Chain(calls)

    return Case(f"a text in pieces of {', '.join(map(str, pieces))} words", draw)


def two_continuations(B: int = 2, H: int = 2, d_k: int = 3, d_v: int = 5) -> Case:
    """One beginning that goes on in two ways, both with the cache that it returned."""

    def draw(randn: Randn) -> Chain:
        calls: list[list[Any]] = [[*heads(randn, B, H, T, d_k, d_v)] for T in (3, 2, 2, 1)]
        calls[1].append(returned_by(0, 1))
        calls[2].append(returned_by(0, 1))
        calls[3].append(returned_by(1, 1))
        return Chain(calls)

    return Case("one beginning, continued in two ways", draw)


def two_texts_in_turns(B: int = 1, H: int = 2, d_k: int = 4, d_v: int = 3) -> Case:
    """Two texts whose words come in turns."""

    def draw(randn: Randn) -> Chain:
        calls: list[list[Any]] = [[*heads(randn, B, H, T, d_k, d_v)] for T in (2, 3, 1, 1, 2)]
        for call, before in ((2, 0), (3, 1), (4, 2)):
            calls[call].append(returned_by(before, 1))
        return Chain(calls)

    return Case("two texts in turns", draw)


# -------------------------------------------------------------------- what is drawn: the others


def window(query_length: int, key_length: int, size: int) -> Case:
    """The arguments (query_length, key_length, window); there is nothing to draw."""
    label = f"`sliding_window_mask({query_length}, {key_length}, {size})`"
    return Case(label, lambda randn: [query_length, key_length, size])


def no_window(query_length: int, key_length: int, size: int) -> Case:
    """A ValueError is right."""
    return replace(window(query_length, key_length, size), raises=("ValueError",))


def grouped(
    B: int,
    T: int,
    S: int,
    d_model: int,
    H: int,
    G: int,
    *,
    mask: str = "",
    blind: str = "",
    size: float = 1.0,
    training: bool = False,
    biases: bool = True,
    before: tuple[int, int, str] | None = None,
) -> Case:
    """query (B, T, d_model), key and value (B, S, d_model), and a mask of the axes named.

    Args:
        mask: its axes.
        blind: whose first row shows nothing: "all" heads', or that of "one" head of a sentence.
        size: of the queries.
        training: in train mode.
        biases: those of the maps are drawn; otherwise they are 0, so that a module without any
            answers, too.
        before: T, S and mask of another call that was made before.
    """

    def given(randn: Randn, T: int, S: int, mask: str) -> list[Any]:
        arguments = [size * randn(B, T, d_model), randn(B, S, d_model), randn(B, S, d_model)]
        if mask:
            sizes = {"B": B, "H": H, "T": T, "S": S, "1": 1}
            shape = tuple(sizes[axis] for axis in mask.split(", "))
            seen = drawn_mask(randn, shape, blind == "all")
            arguments.append(one_row_hidden(seen) if blind == "one" else seen)
        return arguments

    def draw(randn: Randn) -> Build:
        earlier = given(randn, *before) if before else []
        arguments = given(randn, T, S, mask)
        widths = {"w_q": d_model, "w_k": d_model // H * G, "w_v": d_model // H * G, "w_o": d_model}
        nothing = {f"{name}.bias": torch.zeros(width) for name, width in widths.items()}
        return Build(
            (d_model, H, G),
            arguments=arguments,
            state={} if biases else nothing,
            training=training,
            before=earlier,
        )

    notes = f"{B=}, {T=}, {S=}, {d_model=}, num_heads={H}, num_kv_heads={G}"
    notes += f", mask ({mask})" * bool(mask) + BLIND[blind]
    if before:
        notes += f", after a call with T={before[0]}, S={before[1]}"
        notes += f", mask ({before[2]})" * bool(before[2])
    notes += f", queries times {size:g}" * (size != 1) + ", train mode" * training
    # random: there are too many ways to treat a row that shows nothing to know a mistake by it
    return Case(notes, draw, random=bool(blind))


BLIND = {
    "": "",
    "all": ", a row that shows nothing",
    "one": ", a row that shows nothing in one head of one sentence",
}


def one_row_hidden(mask: Tensor) -> Tensor:
    """The mask with nothing to see in the first row of its last head alone, in the last sentence."""
    head = tuple(size - 1 for size in mask.shape[:-2])
    mask[head][0] = False
    return mask


def refused(d_model: int, H: int, G: int) -> Case:
    """Heads that do not share evenly; the error names both numbers."""
    numbers = (d_model, H) if d_model % H else (H, G)
    return Case(
        f"GroupedQueryAttention({d_model}, {H}, {G})",
        lambda randn: Build((d_model, H, G), method=None),
        raises=("ValueError", *map(str, numbers)),
    )


def made(d_model: int, H: int, G: int) -> Case:
    """A module that is made and not used."""
    label = f"GroupedQueryAttention({d_model}, {H}, {G})"
    return Case(label, lambda randn: Build((d_model, H, G), method=None), random=True)


def tiles(
    leading: tuple[int, ...],
    T: int,
    S: int,
    block_size: int,
    *,
    d_k: int = 4,
    d_v: int = 6,
    mask: tuple[int, ...] = (),
    blind: str = "",
    hidden: tuple[int, int] = (0, 0),
    in_all: bool = True,
    size: float = 1.0,
    apart: float = 0.0,
    lowered: float = 0.0,
    memory: bool = False,
) -> Case:
    """query (…, T, d_k), key (…, S, d_k), value (…, S, d_v), a block size, and a mask of this shape.

    Args:
        blind: whose first row of the mask shows nothing: "all", or that of "one" head.
        hidden: the mask hides the keys from one up to another from all queries or, without ``in_all``,
            from all but the last two.
        size: of the queries, and so of the scores.
        apart: the first feature of all queries is 1, and that of the keys rises by this much from
            one key to the next, so the largest score comes last.
        lowered: by so much that feature of all keys is lower, and with it every score.
        memory: ask that the new tensors of no time hold as many numbers as leading axes times S.
    """

    def draw(randn: Randn) -> list[Any]:
        query, key = size * randn(*leading, T, d_k), randn(*leading, S, d_k)
        if apart or lowered:
            query[..., 0] = 1
            key[..., 0] = apart * torch.arange(S) - lowered
        given: list[Any] = [query, key, randn(*leading, S, d_v), block_size]
        if mask:
            seen = drawn_mask(randn, mask, blind == "all")
            rows = seen if in_all else seen[..., :-2, :]
            rows[..., slice(*hidden)] = False
            given.append(one_row_hidden(seen) if blind == "one" else seen)
        return given

    notes = f"leading axes {leading}, {T=}, {S=}, {block_size=}, {d_k=}, {d_v=}"
    notes += f", mask {mask}" * bool(mask) + BLIND[blind]
    notes += f", the keys {hidden[0]} to {hidden[1] - 1} hidden" * bool(hidden[1])
    notes += " in all rows but the last two" * (not in_all)
    notes += f", queries times {size:g}" * (size != 1)
    notes += f", scores that rise by {apart / d_k**0.5:g} from key to key" * bool(apart)
    notes += f", all scores lower by {lowered / d_k**0.5:g}" * bool(lowered)
    limit = int(torch.tensor(leading).prod()) * S if memory else 0
    # random: as in `grouped`
    return Case(notes + ", memory watched" * memory, draw, random=bool(blind), memory=limit)


# ------------------------------------------------------------------------------ what decides


def in_calls(expected: tuple, got: Any) -> Judgement:
    """Compare (output, (keys, values)), or of a chain each of these, and say in which call."""
    if not isinstance(expected[0], tuple):
        return _of_call(expected, got)
    if not isinstance(got, tuple) or len(got) != len(expected):
        return values_agree(expected, got)
    for number, (wanted, item) in enumerate(zip(expected, got, strict=True), 1):
        problem = _of_call(wanted, item)
        if problem:
            return f"in call {number} of {len(expected)}, {problem}"
    return None


def _of_call(expected: tuple, got: Any) -> Judgement:
    if not isinstance(got, tuple | list) or len(got) != 2:
        return f"expected the pair (output, cache), got {kind_of(got)}"
    problem = values_agree(expected[0], got[0])
    if problem:
        return f"for the output, {problem}"
    if not isinstance(got[1], tuple | list) or len(got[1]) != 2:
        return f"expected the cache as a pair (keys, values), got {kind_of(got[1])}"
    for name, wanted, found in zip(("keys", "values"), expected[1], got[1], strict=True):
        problem = values_agree(wanted, found)
        if problem:
            return f"for the {name} of the cache, {problem}"
    return None


WEIGHTS = Weights(B="sentence", H="head", T="query", S="key")


def is_made_or_right(expected: Any, got: Any) -> Judgement:
    """Weights that are exactly 0 where they should be, and the output; any module with layers will do."""
    if not isinstance(expected, dict):
        return WEIGHTS.missing(expected, got) or hidden_are_zero(expected, got)
    if not isinstance(got, dict) or not got.get("parameters"):
        return f"expected a module with layers, got {kind_of(got)}"
    if got.get("distinct") == expected["distinct"]:
        return None
    names = ", ".join(f"`{name}`" for name in got["parameters"])
    return (
        f"the module should learn the weights and biases of four layers and no more; it has {names}"
    )


def weights_agree(expected: tuple, got: Any) -> Judgement:
    """Compare the weights alone, and say first which of them are out of order."""
    problem = WEIGHTS.rank(expected, got)
    if problem:
        return problem
    problem = values_agree(expected[1], got[1])
    return problem and f"for the weights, {problem}"


def output_agrees(expected: tuple, got: Any) -> Judgement:
    """Compare the output alone; what stands beside it is another step's matter."""
    problem = values_agree(expected[0], got[0] if isinstance(got, tuple | list) and got else got)
    return problem and f"for the output, {problem}"


def shows(expected: Tensor, got: Any) -> Judgement:
    """Where a mask shows something, in whatever kind of number that is written."""
    if isinstance(got, Tensor) and got.shape == expected.shape:
        return values_agree(expected, got != 0)
    return values_agree(expected, got)


# ------------------------------------------------------------------------- cached_attention

cached = Part(
    "cached_attention(query (B, H, T, d_k), key (B, H, T, d_k), value (B, H, T, d_v), cache=None) -> "
    "(output (B, H, T, d_v), (keys (B, H, P + T, d_k), values (B, H, P + T, d_v)))",
    fast_attention.cached_attention,
    reads=("lecture 10, on what generation repeats", f"{LECTURE}#1.-What-generation-repeats"),
)
PROMPT = cached.step(
    "a prompt without a cache: causal attention, and keys and values as they came",
    1,
    words(B=1, H=2, T=4, d_k=3, d_v=5),
    words(B=2, H=3, T=5, d_k=4, d_v=4),
    words(B=3, H=1, T=1, d_k=6, d_v=2),
    words(B=12, H=1, T=3, d_k=2, d_v=2),
    words(B=1, H=1, T=130, d_k=1, d_v=2),
    judge=in_calls,
)
CONTINUED = cached.step(
    "words after a cache, one by one, in pieces or many at once",
    1,
    words(B=2, H=3, T=1, d_k=4, d_v=5, P=6),
    words(B=5, H=9, T=2, d_k=4, d_v=5, P=3),
    words(B=1, H=1, T=20, d_k=1, d_v=2, P=140),
    words(B=1, H=1, T=2, d_k=2, d_v=3, P=1030),  # longer than masks of a fixed size
    words(B=2, H=2, T=5, d_k=3, d_v=6, P=2),
    words(B=3, H=2, T=4, d_k=4, d_v=5, P=1),
    one_after_the_other(4, 1, 1, 2),
    one_after_the_other(1, 1, 1, 1, H=2),
    judge=in_calls,
)
CACHE_MANNERS = cached.step(
    "the cache given stays as it was; an empty one, large scores, float64, any layout, gradients",
    1,
    two_continuations(),
    two_texts_in_turns(),
    words(B=2, H=2, T=3, d_k=4, d_v=5, P=0),
    words(B=3, H=4, T=6, d_k=4, d_v=5, size=400),
    words(B=2, H=2, T=5, d_k=3, d_v=6, P=2).in_float64(),
    words(B=2, H=2, T=5, d_k=3, d_v=6, P=2).with_gaps(),
    words(B=2, H=3, T=2, d_k=4, d_v=5, P=3).in_float64().with_gradients(),
    one_after_the_other(2, 2, 1).with_gradients(),
    judge=in_calls,
    strict=True,
)


# ---------------------------------------------------------------------- sliding_window_mask

sliding = Part(
    "sliding_window_mask(query_length, key_length, window) -> (query_length, key_length)",
    fast_attention.sliding_window_mask,
    reads=("lecture 10, on sliding windows", f"{LECTURE}#5.-Sliding-windows"),
)
SQUARE = sliding.step(
    "with as many queries as keys, each sees itself and the words before it, `window` in all",
    1,
    window(6, 6, 3),
    window(7, 7, 2),
    window(5, 5, 1),
    window(140, 140, 5),
    window(6, 6, 6),
    window(5, 5, 9),
    window(1, 1, 1),
    judge=shows,
)
NEWEST = sliding.step(
    "fewer queries than keys: they are the last words; torch.bool; errors",
    1,
    window(2, 4, 2),
    window(3, 9, 4),
    window(1, 7, 3),
    window(4, 6, 1),
    window(3, 7, 20),
    window(40, 300, 130),
    no_window(5, 3, 2),
    no_window(4, 4, 0),
    no_window(2, 6, -1),
    strict=True,
)


# -------------------------------------------------------------------- GroupedQueryAttention

group_attention = Part(
    "GroupedQueryAttention(d_model, num_heads, num_kv_heads); forward(query (B, T, D), key (B, S, D), "
    "value (B, S, D), mask=None) -> (output (B, T, D), weights (B, H, T, S))",
    fast_attention.GroupedQueryAttention,
    reads=("lecture 10, on fewer KV heads", f"{LECTURE}#3.-Fewer-KV-heads"),
)
SHARED = group_attention.step(
    "which query heads share a key head: the weights of every query head",
    1,
    grouped(B=1, T=4, S=4, d_model=8, H=4, G=2),
    grouped(B=2, T=3, S=5, d_model=12, H=6, G=2),
    grouped(B=2, T=3, S=4, d_model=12, H=6, G=3),
    grouped(B=2, T=4, S=3, d_model=10, H=5, G=1),
    grouped(B=1, T=3, S=6, d_model=6, H=3, G=3),
    judge=weights_agree,
)
GROUP_OUTPUT = group_attention.step(
    "the output: values shared as the keys are, heads side by side, through w_o",
    1,
    grouped(B=1, T=4, S=4, d_model=8, H=4, G=2),
    grouped(B=2, T=3, S=5, d_model=12, H=6, G=2),
    grouped(B=1, T=2, S=140, d_model=4, H=2, G=1),
    grouped(B=1, T=2, S=3, d_model=48, H=12, G=4),
    grouped(B=40, T=2, S=3, d_model=5, H=5, G=1),
    grouped(B=2, T=1, S=4, d_model=6, H=3, G=3),
    grouped(B=2, T=4, S=1, d_model=7, H=1, G=1),
    judge=output_agrees,
)
GROUP_MASKS = group_attention.step(
    "masks of every shape that broadcasts, rows that show nothing; no further weights",
    1,
    made(d_model=8, H=4, G=2),
    grouped(B=2, T=3, S=5, d_model=8, H=4, G=2, mask="T, S", biases=False),
    grouped(B=2, T=3, S=5, d_model=12, H=6, G=2, mask="B, 1, 1, S", biases=False),
    grouped(B=2, T=3, S=5, d_model=12, H=6, G=3, mask="B, H, T, S", biases=False),
    grouped(B=3, T=2, S=4, d_model=8, H=4, G=2, mask="H, 1, S", biases=False),
    grouped(B=2, T=130, S=3, d_model=4, H=2, G=1, mask="B, 1, T, S", biases=False),
    grouped(B=2, T=3, S=5, d_model=8, H=4, G=2, mask="T, S", blind="all"),
    grouped(B=2, T=3, S=5, d_model=12, H=6, G=3, mask="B, H, T, S", blind="one"),
    judge=is_made_or_right,
)
GROUP_MANNERS = group_attention.step(
    "errors from the constructor, large scores, float64, any layout, gradients",
    1,
    refused(d_model=10, H=4, G=2),
    refused(d_model=12, H=6, G=4),
    refused(d_model=9, H=2, G=1),
    refused(d_model=8, H=4, G=8),
    grouped(B=2, T=3, S=5, d_model=12, H=6, G=3, mask="B, H, T, S", size=200),
    grouped(B=2, T=3, S=5, d_model=8, H=4, G=2, training=True),
    grouped(B=2, T=3, S=5, d_model=12, H=6, G=2, before=(3, 5, "B, H, T, S")),
    grouped(B=2, T=3, S=5, d_model=12, H=6, G=3, mask="B, H, T, S", before=(3, 5, "B, H, T, S")),
    grouped(B=2, T=3, S=5, d_model=12, H=6, G=3, mask="B, H, T, S", before=(2, 3, "")),
    grouped(B=2, T=3, S=5, d_model=12, H=6, G=3, mask="B, H, T, S").in_float64(),
    grouped(B=2, T=3, S=5, d_model=12, H=6, G=3, mask="B, H, T, S").with_gaps(),
    grouped(B=2, T=3, S=4, d_model=8, H=4, G=2, mask="B, 1, T, S").in_float64().with_gradients(),
    grouped(B=2, T=3, S=5, d_model=12, H=6, G=3, mask="B, H, T, S", blind="one")
    .in_float64()
    .with_gradients(),
    judge=is_made_or_right,
    strict=True,
)


# ----------------------------------------------------------------- online_softmax_attention

online = Part(
    "online_softmax_attention(query (..., T, d_k), key (..., S, d_k), value (..., S, d_v), block_size, "
    "mask=None) -> (..., T, d_v)",
    fast_attention.online_softmax_attention,
    reads=("lecture 10, on a softmax in one pass", f"{LECTURE}#4.-A-softmax-in-one-pass"),
)
BLOCKS = online.step(
    "equal to attention for every block size, whichever axes lead",
    1,
    tiles((2,), T=3, S=6, block_size=2),
    tiles((2, 3), T=4, S=7, block_size=3),
    tiles((), T=2, S=5, block_size=1),
    tiles((2,), T=5, S=4, block_size=9),
    tiles((1, 2), T=1, S=8, block_size=8),
    tiles((2, 1, 2), T=3, S=9, block_size=4, d_k=5, d_v=2),
    tiles((2,), T=3, S=10, block_size=3, apart=3.0),
    tiles((17,), T=2, S=5, block_size=4),
    tiles((), T=40, S=5, block_size=3),
    tiles((), T=2, S=150, block_size=64),
    tiles((), T=2, S=6, block_size=4, d_k=20, d_v=30),
)
ANY_SCORES = online.step(
    "masks of every shape, hidden blocks and rows, scores of any size",
    1,
    tiles((2, 3), T=4, S=7, block_size=3, mask=(4, 7)),
    tiles((2, 3), T=4, S=7, block_size=2, mask=(2, 1, 1, 7)),
    tiles((2, 3), T=4, S=7, block_size=2, mask=(1, 3, 4, 1)),
    tiles((3,), T=5, S=6, block_size=4, mask=(6,)),
    tiles((2,), T=4, S=8, block_size=2, mask=(4, 8), hidden=(0, 4)),
    tiles((2,), T=4, S=8, block_size=2, mask=(4, 8), hidden=(0, 4), in_all=False),
    tiles((2,), T=4, S=8, block_size=2, mask=(4, 8), hidden=(4, 6)),
    tiles((2,), T=4, S=7, block_size=2, mask=(4, 7), blind="all"),
    tiles((2,), T=4, S=9, block_size=2, size=30),
    tiles((2,), T=4, S=9, block_size=4, size=400),
    tiles((2,), T=3, S=12, block_size=5, apart=60.0),
    tiles((2,), T=3, S=12, block_size=5, apart=-60.0),
    tiles((2,), T=3, S=11, block_size=4, apart=400.0, mask=(3, 11)),
    tiles((2,), T=3, S=7, block_size=3, lowered=900.0),
    # here the largest visible score is that of all rows, and a hidden one lies far above it
    tiles((2,), T=3, S=11, block_size=4, apart=400.0, mask=(11,), hidden=(8, 11)),
)
LITTLE_MEMORY = online.step(
    "no large piece of memory; float64, inputs as they were, any layout, gradients",
    1,
    # in blocks so small that sums for each, kept up to the end, are more than the scores
    tiles((2,), T=2, S=300, block_size=3, d_k=2, d_v=3, memory=True),
    tiles((2, 2), T=1, S=240, block_size=6, d_k=2, d_v=3, mask=(1, 240), memory=True),
    tiles((2, 2), T=1, S=240, block_size=6, d_k=2, d_v=3, mask=(2, 1, 1, 240), memory=True),
    tiles((2, 3), T=4, S=7, block_size=3, mask=(4, 7)).in_float64(),
    tiles((2, 3), T=4, S=7, block_size=3, mask=(4, 7)).with_gaps(),
    tiles((2,), T=3, S=7, block_size=2, mask=(3, 7)).in_float64().with_gradients(),
    tiles((2, 3), T=3, S=5, block_size=2, mask=(2, 3, 3, 5), blind="one")
    .in_float64()
    .with_gradients(),
    tiles((2,), T=3, S=8, block_size=3, apart=40.0).in_float64().with_gradients(),
    strict=True,
)
