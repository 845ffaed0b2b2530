"""Assignment 3: a softmax that cannot overflow, self-attention in NumPy, then in PyTorch.

Two facts about floating-point numbers shape the cases below.

NaN equals nothing, not even NaN, so a case in which a wrong answer gives NaN cannot tell which
mistake was made. Such cases decide points and nothing else: `points_only` makes them, and a case
with gradients is of the same kind. The others are drawn so that wrong answers stay finite: where
overflow is to be recognised, every exponential is just below the largest float64 and only their sum
overflows, so that the weights become 0; masks leave no row and no column wholly hidden or visible.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assignments.common.weights import Weights
from autograder.checks.cases import Case, Randn
from autograder.checks.check import Part
from autograder.checks.compare import hidden_are_zero, kind_of, values_agree
from autograder.checks.problem import Judgement
from course_utils import attention

LECTURE = "../../lectures/03_scaled_dot_product_attention.ipynb"
# exp(709.1 … 709.6) is finite in float64, and the sum of two such numbers is not
CROWDED, CROWDED_SPREAD = 709.35, 0.25
LONG_ROW = 20
Hide = Callable[[torch.Generator, tuple[int, ...]], Tensor]


# ------------------------------------------------------------------------------ what is drawn


def points_only(case: Case) -> Case:
    """Wrong answers may hold NaN here, so that this case cannot tell which mistake was made."""
    return replace(case, random=True)


def in_float32(case: Case) -> Case:
    """A case in NumPy, whose own dtype is float64."""
    return replace(case, label=f"{case.label}, float32", dtype="float32")


def scores(*shape: int, axis: int | None = None, start: float = 0.0, size: float = 1.5) -> Case:
    """(scores,) or (scores, axis): normal numbers about ``start``, of deviation ``size``."""
    given = [] if axis is None else [axis]
    return Case(
        f"shape {shape}, scores {start:g} ± {size:g}{f', {axis=}' * len(given)}",
        lambda randn: [(randn(*shape) * size + start).numpy(), *given],
        "float64",
    )


def crowded_scores(lowest: float | None = None) -> Case:
    """(scores (3, 5),) whose exponentials are finite, their sum is not; one may be far below."""

    def draw(randn: Randn) -> list[Any]:
        values = CROWDED + CROWDED_SPREAD * randn(3, 5).tanh()
        if lowest is not None:
            values[:, 1] = lowest
        return [values.numpy()]

    also = "" if lowest is None else f" and one at {lowest:g}"
    return Case(f"shape (3, 5), scores near 709{also}", draw, "float64")


def rows_far_apart() -> Case:
    """Two rows, the second so far below the first that exp of the distance loses its digits."""
    middles = torch.tensor([[0.0], [-741.0]])
    return Case(
        "two rows, one near 0, one near -741",
        lambda randn: [(randn(2, 5).tanh() + middles).numpy()],
        "float64",
    )


def with_infinities(*shape: int, axis: int) -> Case:
    """(scores, axis) in which every third score is minus infinity, none of a kind alone."""

    def draw(randn: Randn) -> list[Any]:
        values = randn(*shape)
        values.transpose(axis, -1)[..., 1::3] = -math.inf
        return [values.numpy(), axis]

    return Case(f"shape {shape}, some scores are minus infinity, {axis=}", draw, "float64")


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.mT / key.shape[-1] ** 0.5


def hidden_by_infinity(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    return scores if mask is None else scores.masked_fill(~mask, -math.inf)


def well_apart(scores: Tensor) -> bool:
    """Whether no rounding can change the order of the weights in a row.

    Long rows are never so. They are for judges that do not ask about the order.
    """
    return scores.shape[-1] > LONG_ROW or bool(
        (scores.sort(dim=-1).values.diff(dim=-1) > 0.02).all()
    )


def words(T: int, D: int, d_k: int, d_v: int, size: float = 1.0) -> Case:
    """X (T, D), ``size`` times as large as usual, Wq (D, d_k), Wk (D, d_k) and Wv (D, d_v)."""

    def draw(randn: Randn) -> list[Any]:
        # entries of queries and keys have a standard deviation of 1.2, whatever the widths
        loud = 1.2 / D**0.5
        while True:
            X, Wq, Wk = randn(T, D), randn(D, d_k) * loud, randn(D, d_k) * loud
            if well_apart(scaled_scores(X @ Wq, X @ Wk)):
                return [item.numpy() for item in (X * size, Wq, Wk, randn(D, d_v))]

    times = f", X {size:g} times as large" if size != 1 else ""
    return Case(f"{T=}, {D=}, {d_k=}, {d_v=}{times}", draw, "float64")


def crowded_words(T: int, D: int, d_k: int, d_v: int) -> Case:
    """(X, Wq, Wk, Wv) whose scaled scores are crowded: each exp is finite, no sum of them is."""

    def draw(randn: Randn) -> list[Any]:
        X, Wq, Wk = randn(T, D), randn(D, d_k), randn(D, d_k)
        # a first entry that all words share gives all scores the same large part
        X[:, 0] = 1.0
        Wq[:, 0] = Wk[:, 0] = 0.0
        Wq *= CROWDED_SPREAD / scaled_scores(X @ Wq, X @ Wk).abs().max()
        Wq[0, 0] = Wk[0, 0] = (CROWDED * d_k**0.5) ** 0.5
        return [item.numpy() for item in (X, Wq, Wk, randn(D, d_v))]

    return Case(f"{T=}, {D=}, {d_k=}, {d_v=}, scaled scores near 709", draw, "float64")


def partial(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    """A mask of which no row and no column is wholly hidden or wholly visible."""
    while True:
        mask = torch.rand(shape, generator=generator) < 0.55
        if all(bool((mask.any(dim) & ~mask.all(dim)).all()) for dim in (-1, -2)):
            return mask


def padding(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    """A mask over keys that hides the last one or two of each sentence."""
    hidden = torch.randint(1, 3, (*shape[:-1], 1), generator=generator)
    return torch.arange(shape[-1]).expand(shape) < shape[-1] - hidden


def causal(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    """The mask of lecture 4 that hides the future; its last row hides nothing."""
    return torch.ones(shape, dtype=torch.bool).tril()


def with_empty_rows(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    """A mask in which the second row, and the last one, may attend to nothing."""
    mask = partial(generator, shape)
    mask[..., [1, -1], :] = False
    return mask


def one_empty_row(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    """A mask of several heads, in the last of which the second row may attend to nothing."""
    one_by_one = [partial(generator, shape[-2:]) for _ in range(math.prod(shape[:-2]))]
    mask = torch.stack(one_by_one).reshape(shape)
    mask[0, -1, 1] = False
    return mask


def all_or_nothing(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    """A mask of shape (T, 1): a query may attend to all keys, the second one to none."""
    return torch.arange(shape[0]).unsqueeze(1) != 1


def triple(
    *leading: int, T: int, S: int, d_k: int, d_v: int,
    mask: tuple[int, ...] | None = (), hide: Hide = partial,
) -> Case:  # fmt: skip
    """(query, key, value), and a mask of this shape; () means that there is none."""

    def draw(randn: Randn) -> list[Any]:
        while True:
            query, key = randn(*leading, T, d_k) * 1.4, randn(*leading, S, d_k)
            if well_apart(scaled_scores(query, key)):
                break
        drawn = [query, key, randn(*leading, S, d_v)]
        return drawn if mask == () else [*drawn, mask and hide(randn.generator, mask)]

    shapes = f"query {(*leading, T, d_k)}, key {(*leading, S, d_k)}, value {(*leading, S, d_v)}"
    kind = f" {hide.__name__.replace('_', ' ')}" if mask else ""
    return Case(shapes if mask == () else f"{shapes}, mask {mask}{kind}", draw)


def scores_near(common: float, spread: float, mask: tuple[int, ...] = ()) -> Case:
    """(query, key, value), and a mask, with scaled scores within ``spread`` of ``common``.

    In every row one visible score is clearly above the others. Where they are far apart, it does
    not matter in which order an answer rounds.
    """

    def draw(randn: Randn) -> list[Any]:
        while True:
            query, key = randn(2, 4, 4), randn(2, 4, 4)
            query[..., 0] = key[..., 0] = 0.0
            query *= spread / scaled_scores(query, key).abs().max()
            query[..., 0] = root = (abs(common) * 4**0.5) ** 0.5
            key[..., 0] = math.copysign(root, common)
            masks = [partial(randn.generator, mask)] if mask else []
            visible = hidden_by_infinity(scaled_scores(query, key), *masks)
            if (visible.topk(2, dim=-1).values.diff(dim=-1) < -spread / 40).all():
                return [query, key, randn(2, 4, 4), *masks]

    hidden = f", mask {mask} partial" if mask else ""
    return Case(f"scaled scores {common:g} ± {spread:g}{hidden}", draw)


def loud_hidden_keys(size: float) -> Case:
    """(query, key, value, mask): what is hidden would take all the weight if it were seen."""

    def draw(randn: Randn) -> list[Any]:
        query, key, value = randn(2, 3, 4), randn(2, 5, 4), randn(2, 5, 6)
        query[..., 0] = query[..., 0].abs() + 1.0
        mask = torch.ones(2, 1, 5, dtype=torch.bool)
        mask[0, :, 3] = mask[1, :, 1] = False
        key[~mask[:, 0]] = torch.tensor([size, 0.0, 0.0, 0.0])
        value[~mask[:, 0]] = 1e4
        return [query, key, value, mask]

    return Case(f"hidden keys of size {size:g}, with very large scores", draw)


# ------------------------------------------------------------------------------------ judges

WEIGHTS = Weights(**{"...": "sentence", "T": "query", "S": "key"})


def ranks(expected: tuple, got: Any) -> Judgement:
    """Like `Weights.rank`, down to the smallest weights; the output must have the right shape."""
    problem = WEIGHTS.rank(expected, got, apart=0.0)
    if problem is None and getattr(got[0], "shape", None) != expected[0].shape:
        problem = f"for the output, expected {kind_of(expected[0])}, got {kind_of(got[0])}"
    return problem


NO_WEIGHT = 1e-30  # who keeps exponents above -700 gives less than that


def bears_any_size(expected: np.ndarray, got: Any) -> Judgement:
    """Compare, and say what a softmax that was not made for these scores did with them."""
    problem = values_agree(expected, got)
    if not isinstance(got, np.ndarray) or got.shape != expected.shape:
        return problem
    if not np.isfinite(got).all():
        return (
            "NaN or infinity came out. Was something subtracted from each row before exp, so that "
            "its largest exponent is 0? And where a whole row of exponentials is 0, what is 0 / 0?"
        )
    shown = got[(expected == 0) & (got > NO_WEIGHT)]
    if shown.size:
        return (
            "a score of minus infinity, or one far below the others, has the weight 0, but you "
            f"give one of them {shown[0]:.3g}. Are scores changed before exp, other than by what is "
            "subtracted from the whole row?"
        )
    return problem


# ---------------------------------------------------------------------------- stable_softmax

ATTENTION = (
    "scaled_dot_product_attention", "_scaled_dot_product_attention", "MultiheadAttention",
    "multi_head_attention_forward",
)  # fmt: skip
stable = Part(
    "stable_softmax(scores, axis=-1) -> weights, an array like scores",
    attention.stable_softmax,
    reads=(
        "lecture 3, section 5, a softmax that cannot overflow",
        f"{LECTURE}#5.-A-softmax-that-cannot-overflow",
    ),
    disallowed=(
        "softmax", "log_softmax", "softmin", "logsumexp", "Softmax", "LogSoftmax", "Softmin",
        "_softmax", "special_softmax", "special_log_softmax", "special_logsumexp", *ATTENTION,
    ),
)  # fmt: skip
stable.example = scores(2, 3)
LAST_AXIS = stable.step(
    "along the last axis: exact weights for one row and for a matrix",
    1, scores(5), scores(3, 5), scores(5, 2, axis=-1), scores(4, 4), scores(2, 150, size=6.0),
)  # fmt: skip
ANY_AXIS = stable.step(
    "along any axis of any array, and the scores stay as they were",
    1,
    scores(3, 5, axis=0), scores(4, 4, axis=1), scores(4, 4, axis=0),
    scores(2, 3, 5, axis=1), scores(2, 3, 5, axis=-3),
    scores(2, 7, 3, 5), scores(2, 7, 3, 5, axis=-2),
    scores(3, 1, axis=-1), in_float32(scores(3, 5, start=2.0)),
    strict=True,
)  # fmt: skip
ANY_SIZE = stable.step(
    "scores of any size, also rows far apart from each other; minus infinity gets weight 0",
    1,
    crowded_scores(),
    crowded_scores(lowest=0.0),
    rows_far_apart(),
    points_only(scores(3, 5, size=3000.0)),
    points_only(in_float32(scores(4, 4, start=200.0, size=30.0))),
    points_only(scores(5, start=1e5)),
    points_only(scores(3, 5, start=-1e5, axis=0)),
    points_only(in_float32(scores(3, 5, size=2000.0))),
    points_only(with_infinities(2, 5, axis=-1)),
    points_only(with_infinities(7, 3, axis=0)),
    judge=bears_any_size,
)


# ---------------------------------------------------------------------- numpy_self_attention

in_numpy = Part(
    "numpy_self_attention(X (T, D), Wq (D, d_k), Wk (D, d_k), Wv (D, d_v)) "
    "-> (output (T, d_v), weights (T, T))",
    attention.numpy_self_attention,
    reads=("lecture 3, sections 3 and 5", f"{LECTURE}#3.-The-function"),
    may_call=("stable_softmax",),
)
in_numpy.example = words(T=3, D=2, d_k=2, d_v=1)
ROWS = in_numpy.step(
    "the second result holds weights: each row sums to one and ranks the words rightly",
    1, words(T=5, D=3, d_k=4, d_v=6), words(T=3, D=6, d_k=5, d_v=2), judge=ranks,
)  # fmt: skip
EXACT = in_numpy.step(
    "output and weights are exact, whatever the length and the widths",
    1,
    words(T=5, D=3, d_k=4, d_v=6),
    words(T=110, D=2, d_k=3, d_v=4),
    words(T=3, D=70, d_k=2, d_v=4),
    words(T=3, D=2, d_k=40, d_v=4),
    words(T=3, D=2, d_k=4, d_v=30),
    words(T=3, D=3, d_k=3, d_v=3),
    words(T=2, D=5, d_k=1, d_v=1),
    words(T=1, D=3, d_k=4, d_v=6),
)
LARGE = in_numpy.step(
    "large scores give no NaN; float32 arrays work; the inputs stay as they were",
    1,
    crowded_words(T=5, D=3, d_k=4, d_v=6),
    words(T=5, D=3, d_k=4, d_v=6, size=100.0),
    in_float32(words(T=5, D=3, d_k=4, d_v=6)),
    strict=True,
)


# --------------------------------------------------------------- scaled_dot_product_attention

scaled = Part(
    "scaled_dot_product_attention(query (..., T, d_k), key (..., S, d_k), value (..., S, d_v), "
    "mask=None) -> (output (..., T, d_v), weights (..., T, S))",
    attention.scaled_dot_product_attention,
    reads=(
        "lecture 3, section 3, the function and the mask in brief",
        f"{LECTURE}#3.-The-function",
    ),
)
scaled.example = triple(T=2, S=3, d_k=2, d_v=1, mask=(2, 3))
ONE = scaled.step(
    "one sentence: weights of shape (T, S), whose rows sum to one and rank the keys rightly",
    1, triple(T=3, S=5, d_k=4, d_v=6), triple(T=5, S=2, d_k=3, d_v=4),
    triple(T=4, S=4, d_k=3, d_v=3),  # slips that stop elsewhere go on here
    judge=ranks,
)  # fmt: skip
ANY_AXES = scaled.step(
    "output and weights are exact, with any number of leading axes",
    1,
    triple(T=3, S=5, d_k=4, d_v=6), triple(2, T=3, S=5, d_k=4, d_v=6),
    triple(2, T=5, S=5, d_k=3, d_v=4),
    triple(2, T=40, S=3, d_k=2, d_v=4), triple(2, T=3, S=150, d_k=2, d_v=4),
    triple(2, T=3, S=2, d_k=70, d_v=4), triple(2, T=3, S=2, d_k=4, d_v=50),
    triple(2, T=5, S=5, d_k=3, d_v=3), triple(12, T=2, S=3, d_k=3, d_v=4),
    triple(2, 12, T=3, S=5, d_k=4, d_v=6), triple(2, 3, T=4, S=3, d_k=3, d_v=5),
    triple(2, 1, 3, T=2, S=4, d_k=5, d_v=1), triple(1, T=3, S=5, d_k=4, d_v=6, mask=None),
    triple(2, T=1, S=5, d_k=4, d_v=6), triple(2, T=3, S=1, d_k=4, d_v=6),
    triple(3, T=3, S=3, d_k=3, d_v=3),
    triple(2, 3, T=4, S=5, d_k=4, d_v=6).with_gaps(),  # no view can merge two of these axes
)  # fmt: skip
MASK = scaled.step(
    "a mask: hidden weights are exactly 0, the visible ones sum to one and keep their order",
    1,
    # as many keys as queries, as wide as the values: who needs that loses no points for the mask
    triple(2, T=5, S=5, d_k=4, d_v=4, mask=(2, 5, 5)),
    triple(3, T=3, S=3, d_k=3, d_v=3, mask=(3, 3, 3)),
    judge=ranks,
)
ANY_MASK = scaled.step(
    "masks of fewer axes; what is hidden has no effect, whatever the scores; mask untouched",
    1,
    triple(2, T=3, S=5, d_k=4, d_v=6, mask=(3, 5)),
    triple(2, T=3, S=5, d_k=4, d_v=6, mask=(1, 3, 5)),
    triple(2, T=4, S=4, d_k=3, d_v=3, mask=(4, 4)),
    points_only(triple(2, 4, T=4, S=4, d_k=4, d_v=4, mask=(2, 1, 4, 4))),
    points_only(triple(2, T=3, S=5, d_k=4, d_v=6, mask=(5,), hide=padding)),
    points_only(triple(2, T=3, S=5, d_k=4, d_v=6, mask=(2, 1, 5), hide=padding)),
    points_only(triple(2, 3, T=4, S=5, d_k=3, d_v=6, mask=(2, 1, 1, 5), hide=padding)),
    points_only(triple(2, 3, T=4, S=5, d_k=3, d_v=6, mask=(2, 3, 4, 5), hide=one_empty_row)),
    points_only(triple(2, 3, T=4, S=5, d_k=3, d_v=6, mask=(3, 4, 5))),
    points_only(triple(2, 3, T=4, S=5, d_k=3, d_v=6, mask=(4, 5))),
    points_only(triple(T=5, S=5, d_k=4, d_v=6, mask=(5, 5), hide=causal)),
    loud_hidden_keys(2000.0),
    loud_hidden_keys(80.0),  # a low number that is added is enough here, dividing again is not
    # below the numbers that some people hide keys by, such as the lowest one of float16
    scores_near(-2e8, 1e6, mask=(2, 4, 4)),
    judge=WEIGHTS.where_something_is_seen(hidden_are_zero),
    strict=True,
)
EMPTY = scaled.step(
    "a query with nothing to attend to gets zeros, and all gradients stay finite",
    1,
    triple(2, T=4, S=4, d_k=3, d_v=3, mask=(2, 4, 4), hide=with_empty_rows),
    points_only(triple(2, 3, T=4, S=4, d_k=3, d_v=3, mask=(2, 3, 4, 4), hide=one_empty_row)),
    triple(2, 3, T=4, S=4, d_k=3, d_v=3, mask=(2, 3, 4, 4), hide=one_empty_row).with_gradients(),
    triple(2, T=5, S=5, d_k=4, d_v=4, mask=(5, 5), hide=with_empty_rows).with_gradients(),
    triple(3, T=3, S=3, d_k=3, d_v=3, mask=(3, 1), hide=all_or_nothing).with_gradients(),
    judge=WEIGHTS.agree,
)
MANNERS = scaled.manners(
    1,
    triple(4, T=4, S=4, d_k=4, d_v=4),
    triple(4, T=4, S=4, d_k=4, d_v=4, mask=(4, 4, 4)).with_gaps(),
    triple(4, T=4, S=4, d_k=4, d_v=4, mask=(4, 4, 4)).in_float64(),
    scores_near(CROWDED, CROWDED_SPREAD).in_float64(),
    points_only(scores_near(0.0, 40_000.0)),
    asks="float64 stays float64, any memory layout, untouched inputs, gradients, large scores",
)
