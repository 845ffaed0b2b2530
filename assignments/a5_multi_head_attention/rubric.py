"""Assignment 5: cut features into heads, merge them again, and multi-head attention."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import Tensor

from assignments.common.weights import Weights
from autograder.checks.cases import Build, Case, Randn
from autograder.checks.check import Part
from autograder.checks.compare import kind_of, values_agree
from autograder.checks.problem import Judgement
from course_utils import attention

LECTURE = "../../lectures/05_multi_head_attention.ipynb"
LAYERS = ("w_q", "w_k", "w_v", "w_o")


# ------------------------------------------------------------------------------ what is drawn


def features(B: int, T: int, d_model: int, H: int) -> Case:
    """x (B, T, d_model) and the number of heads."""
    return Case(f"{B=}, {T=}, {d_model=}, {H=}", lambda randn: [randn(B, T, d_model), H])


def in_heads(B: int, H: int, T: int, d_k: int) -> Case:
    """x (B, H, T, d_k)."""
    return Case(f"{B=}, {H=}, {T=}, {d_k=}", lambda randn: [randn(B, H, T, d_k)])


def drawn_mask(randn: Randn, mask: str, sizes: dict[str, int]) -> Tensor:
    """A mask of the shape that stands in its name, such as "padding (B, 1, 1, S)".

    Unless it is causal, every row shows something and hides something.
    """
    shape = [sizes.get(axis, 1) for axis in re.findall(r"\w+", mask.partition("(")[2])]
    if mask.startswith("causal"):
        return torch.ones(shape, dtype=torch.bool).tril()
    if mask.startswith("padding"):
        lengths = sizes["S"] - 1 - torch.arange(sizes["B"])
        return torch.arange(sizes["S"]).expand(shape) < lengths[:, None, None, None]
    drawn = torch.rand(shape, generator=randn.generator) < 0.5
    shown = torch.randint(shape[-1], (*shape[:-1], 1), generator=randn.generator)
    return drawn.scatter(-1, shown, True).scatter(-1, (shown + 1) % shape[-1], False)


def attending(
    B: int,
    T: int,
    d_model: int,
    H: int,
    S: int = 0,
    mask: str = "",
    hidden: tuple[int, ...] = (),
    loudness: float = 1.0,
    training: bool = False,
    times: int = 1,
    biases: bool = True,
    before: str | None = None,
    **how: Any,
) -> Case:
    """A module with query, key and value; without ``S``, all three are one sequence.

    Args:
        mask: see `drawn_mask`; nothing of it is left to attend to at the index ``hidden``.
        loudness: of query and key; the scores grow with its square.
        training, times: see `Build`.
        biases: those of the layers are drawn; otherwise they are 0, so that a module without any
            answers, too.
        before: the module was used on other numbers of the same shapes before, with a mask of this
            name; with "", on one sentence of two words, without a mask.
        how: see `Case`.
    """
    label = ", ".join(
        [f"{B=}, {T=}", f"{S=}" if S else "self-attention", f"{d_model=}, {H=}"]
        + [f"mask {mask}"] * bool(mask)
        + [f"all hidden at {list(hidden)}"] * bool(hidden)
        + [f"query and key times {loudness:g}"] * (loudness != 1)
        + ["train mode"] * training
        + [f"called {times} times"] * (times > 1)
        + [f"used before, {f'mask {before}' if before else 'B=1, T=S=2'}"] * (before is not None)
    )
    sizes = {"B": B, "H": H, "T": T, "S": S or T}

    def draw(randn: Randn) -> Build:
        arguments = [randn(B, T, d_model)] * 3
        if S:
            arguments[1:] = randn(B, S, d_model) * loudness, randn(B, S, d_model)
            arguments[0] = arguments[0] * loudness
        if mask:
            arguments.append(drawn_mask(randn, mask, sizes))
            if hidden:
                arguments[3][hidden] = False
        others = []
        if before:
            others = [randn(*item.shape) for item in arguments[:3]]
            others.append(drawn_mask(randn, before, sizes))
        elif before is not None:
            others = [randn(1, 2, d_model) for _ in range(3)]
        state = {} if biases else {f"{name}.bias": torch.zeros(d_model) for name in LAYERS}
        return Build(
            (d_model, H),
            arguments=arguments,
            state=state,
            training=training,
            before=others,
            times=times,
        )

    return Case(label, draw, **how)


def quiet_and_loud(B: int, d_model: int, H: int) -> Case:
    """Queries of very different size, keys that are all alike, and each query sees one of them.

    So the weights are exact, however low the score of the one that is seen, and that is far below
    -10000 here and there, a number that people hide keys by.
    """
    loudness = torch.tensor([1e7, 1.0, 1e2, 1e5, 1e4, 1e3, 1e1])
    T = len(loudness)

    def draw(randn: Randn) -> Build:
        query = randn(B, T, d_model) * loudness[:, None]
        key = randn(B, 1, d_model).repeat(1, T, 1)
        arguments = [query, key, randn(B, T, d_model), torch.eye(T, dtype=torch.bool)]
        return Build((d_model, H), arguments=arguments)

    label = f"{B=}, {T=}, {d_model=}, {H=}, each query sees one key, scores up to ±10⁷"
    # random: overflow takes too many forms to know a mistake by it
    return Case(label, draw, random=True)


def made(d_model: int, H: int) -> Case:
    """A module that is made and not used."""
    label = f"MultiHeadAttention({d_model}, {H})"
    # random: what it holds tells of no mistake
    return Case(label, lambda randn: Build((d_model, H), method=None), random=True)


def refused(d_model: int, H: int) -> Case:
    """Heads that do not share the width evenly."""
    return Case(
        f"MultiHeadAttention({d_model}, {H})",
        lambda randn: Build((d_model, H), method=None),
        raises=("ValueError", str(d_model), str(H)),
    )


# ------------------------------------------------------------------------------- what decides

WEIGHTS = Weights(B="sentence", H="head", T="query", S="key")


def output_agrees(expected: tuple | list, got: Any) -> Judgement:
    """Compare the output; whether weights stand beside it is another step's matter.

    A list is what a module gave that was called several times.
    """
    if isinstance(expected, list):
        for number, (wanted, item) in enumerate(zip(expected, got, strict=True), 1):
            problem = output_agrees(wanted, item)
            if problem:
                return f"in call {number} of the same module with the same inputs, {problem}"
        return None
    problem = values_agree(expected[0], got[0] if isinstance(got, tuple | list) and got else got)
    return problem and f"for the output, {problem}"


def is_made(expected: dict, got: Any) -> Judgement:
    """Accept any module with layers in it: what they do is another step's matter."""
    if not isinstance(got, dict) or not got.get("parameters"):
        return f"expected a module with layers, got {kind_of(got)}"
    return None


# ------------------------------------------------------------------ what parts have in common

ALL_AT_ONCE = ("lecture 5, on all heads at once", f"{LECTURE}#3.-All-heads-at-once")
MANNERS_OF_X = "float64 stays float64, x stays as it was, any memory layout works, gradients flow"


# -------------------------------------------------------------------------------- split_heads

split = Part(
    "split_heads(x (B, T, d_model), num_heads) -> (B, H, T, d_k)",
    attention.split_heads,
    reads=ALL_AT_ONCE,
)
split.example = features(B=1, T=2, d_model=4, H=2)
OWN_FEATURES = split.step(
    "each head holds its own features of every word",
    1, features(B=1, T=3, d_model=8, H=2), features(B=1, T=2, d_model=15, H=3),
)  # fmt: skip
ANY_SIZE = split.step(
    "any batch, length and number of heads",
    1,
    features(B=2, T=5, d_model=12, H=3), features(B=12, T=2, d_model=20, H=5),
    features(B=2, T=150, d_model=39, H=13), features(B=2, T=3, d_model=7, H=1),
    features(B=2, T=5, d_model=6, H=6), features(B=3, T=1, d_model=10, H=2),
    features(B=2, T=6, d_model=6, H=2),
)  # fmt: skip
SPLIT_MANNERS = split.manners(1, features(B=2, T=5, d_model=12, H=3), asks=MANNERS_OF_X)


# -------------------------------------------------------------------------------- merge_heads

merge = Part(
    "merge_heads(x (B, H, T, d_k)) -> (B, T, H·d_k)",
    attention.merge_heads,
    reads=ALL_AT_ONCE,
    may_call=("split_heads",),
)
merge.example = in_heads(B=1, H=2, T=3, d_k=2)
SIDE_BY_SIDE = merge.step(
    "the heads' features stand side by side again, for every word",
    1,
    in_heads(B=1, H=2, T=3, d_k=4), in_heads(B=2, H=3, T=5, d_k=4), in_heads(B=2, H=3, T=3, d_k=2),
    in_heads(B=2, H=1, T=3, d_k=5), in_heads(B=12, H=13, T=2, d_k=1), in_heads(B=2, H=2, T=1, d_k=5),
    in_heads(B=2, H=3, T=150, d_k=4),
)  # fmt: skip
MERGE_MANNERS = merge.manners(1, in_heads(B=2, H=3, T=5, d_k=4), asks=MANNERS_OF_X)


# ------------------------------------------------------------------------- MultiHeadAttention

multi_head = Part(
    "MultiHeadAttention(d_model, num_heads); forward(query, key, value, mask=None) -> "
    "(output (B, T, d_model), weights (B, H, T, S))",
    attention.MultiHeadAttention,
    reads=("lecture 5, on two sequences", f"{LECTURE}#4.-Two-sequences:-cross-attention"),
    may_call=("split_heads", "merge_heads"),
)
multi_head.example = attending(B=1, T=2, d_model=4, H=2, S=3, mask="(T, S)")
WEIGHTS_OF_HEADS = multi_head.step(
    "every head has weights of its own, larger for keys that match the query better",
    2,
    attending(B=1, T=5, d_model=12, H=3, biases=False),
    attending(B=2, T=4, d_model=10, H=2, biases=False),
    judge=WEIGHTS.rank,
)
TO_ITSELF = multi_head.step(
    "self-attention: the output of a sequence that attends to itself",
    2,
    attending(B=1, T=5, d_model=12, H=3), attending(B=2, T=4, d_model=10, H=2),
    attending(B=2, T=3, d_model=7, H=1),
    # random: a list of results tells nothing more about a mistake
    attending(B=2, T=4, d_model=10, H=2, times=2, before="(B, 1, T, S)", random=True),
    judge=output_agrees,
)  # fmt: skip
TO_OTHERS = multi_head.step(
    "cross-attention: output and weights where queries, keys and values differ",
    2,
    *(
        attending(B, T, d_model, H, S, biases=False)
        for B, T, S, d_model, H in (
            (2, 5, 5, 12, 3),
            (2, 3, 5, 8, 2),
            (12, 3, 2, 6, 3),
            (1, 2, 150, 4, 2),
            (2, 70, 3, 4, 2),
            (1, 3, 2, 22, 11),
            (2, 3, 2, 15, 5),
            (2, 1, 4, 6, 2),
            (2, 4, 1, 6, 3),
            (1, 3, 5, 7, 1),
            (2, 3, 4, 5, 5),
        )
    ),
)
MASKED = multi_head.step(
    "masks of every shape: hidden keys get weight 0, visible ones still sum to one",
    1,
    # with as many heads as words, a mask (T, 1, T) answers wrongly where it stops with an error
    # elsewhere, so that not every error over a mask is taken for "one more axis for the mask"
    *(
        attending(B, T, d_model, H, S, mask, biases=False, before=before)
        for mask, B, T, S, d_model, H, before in (
            ("causal (T, T)", 2, 4, 0, 8, 4, ""),
            ("padding (B, 1, 1, S)", 2, 3, 5, 12, 4, None),
            ("(B, 1, T, S)", 2, 3, 5, 12, 4, None),
            ("(B, H, T, S)", 2, 3, 5, 8, 2, "(B, H, T, S)"),
            ("(H, 1, S)", 2, 4, 5, 12, 3, None),
            ("(S,)", 2, 3, 5, 8, 2, None),
        )
    ),
    judge=WEIGHTS.rank,
)
NOTHING_VISIBLE = multi_head.step(
    "a query that may attend to nothing gets weights of 0 and the output w_o(0)",
    1,
    # random: there are too many ways to treat this to know a mistake by it
    attending(B=2, T=3, S=5, d_model=8, H=2, mask="(T, S)", hidden=(1,), random=True),
    attending(B=2, T=3, S=5, d_model=8, H=2, mask="padding (B, 1, 1, S)", hidden=(1,), random=True),
    attending(B=2, T=3, S=5, d_model=8, H=2, mask="(B, H, T, S)", hidden=(0, 1, 2), random=True),
    # NaN easily flows back from a query that may attend to nothing
    attending(
        B=2, T=3, S=5, d_model=8, H=2, mask="(B, H, T, S)", hidden=(0, 1, 2)
    ).with_gradients(),
    judge=WEIGHTS.empty_rows_give("w_o(0)"),
)
REFUSED = multi_head.step(
    "heads that do not share the width evenly are refused, in words, by the constructor",
    1, made(d_model=9, H=1), refused(d_model=10, H=4), refused(d_model=9, H=2),
    refused(d_model=6, H=12), judge=is_made,
)  # fmt: skip
MANNERS = multi_head.manners(
    1,
    attending(B=2, T=3, S=5, d_model=8, H=2),
    # with 13 keys every query has a large score; without one, exp of them all would be 0
    attending(B=2, T=3, S=13, d_model=8, H=2, loudness=50).in_float64(),
    attending(B=2, T=3, S=13, d_model=8, H=2, loudness=8),
    quiet_and_loud(B=2, d_model=8, H=2),
    attending(B=2, T=3, S=5, d_model=8, H=2, mask="(T, S)").in_float64(),
    # random: see `NOTHING_VISIBLE`
    attending(B=2, T=3, S=5, d_model=8, H=2, mask="(B, H, T, S)", hidden=(0, 1, 2), random=True),
    attending(B=2, T=3, S=5, d_model=8, H=2, mask="(B, 1, T, S)").with_gaps(),
    attending(B=2, T=5, d_model=8, H=2, training=True),
    attending(B=2, T=3, S=5, d_model=8, H=2, mask="(B, 1, T, S)").with_gradients(),
    asks="float64, large scores, untouched inputs, any memory layout, train mode, gradients "
    "everywhere",
    judge=WEIGHTS.where_something_is_seen(values_agree),
)
