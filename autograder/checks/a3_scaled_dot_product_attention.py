"""Assignment 3: a softmax that cannot overflow, self-attention in NumPy, then in PyTorch.

Two facts about floating-point numbers shape the cases below.

NaN equals nothing, not even NaN, so a case in which a wrong answer gives NaN cannot tell which
mistake was made. Such cases decide points and nothing else: `points_only` makes them, and a case
with gradients is of the same kind. The others are drawn so that wrong answers stay finite: where
overflow is to be recognised, every exponential is just below the largest float64 and only their sum
overflows, so that the weights become 0; masks leave no row and no column wholly hidden or visible.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.checks.judges import Weights
from autograder.verdict.check import Assignment, Case, Part, Randn
from autograder.verdict.compare import hidden_are_zero, kind_of
from course_utils import attention

LECTURE = "../../lectures/03_scaled_dot_product_attention.ipynb"

# exp(709.1 … 709.6) is finite in float64, and the sum of two such numbers is not
CROWDED, CROWDED_SPREAD = 709.35, 0.25

Hide = Callable[[torch.Generator, tuple[int, ...]], Tensor]

# ------------------------------------------------------------------------------ what is drawn


def points_only(case: Case) -> Case:
    """Wrong answers may hold NaN here, so that this case cannot tell which mistake was made."""
    return replace(case, random=True)


def in_float32(case: Case) -> Case:
    """A case in NumPy, whose own dtype is float64."""
    return replace(case, label=f"{case.label}, float32", dtype=torch.float32)


def scores(*shape: int, axis: int | None = None, start: float = 0.0, size: float = 1.5) -> Case:
    """(scores,) or (scores, axis): normal numbers about ``start``, of deviation ``size``."""
    given = [] if axis is None else [axis]
    return Case(
        f"shape {shape}, scores {start:g} ± {size:g}{f', {axis=}' * len(given)}",
        lambda randn: [(randn(*shape) * size + start).numpy(), *given],
        torch.float64,
    )


def crowded_scores(lowest: float | None = None) -> Case:
    """(scores (3, 5),) whose exponentials are finite, their sum is not; one may be far below."""

    def draw(randn: Randn) -> list[Any]:
        values = CROWDED + CROWDED_SPREAD * randn(3, 5).tanh()
        if lowest is not None:
            values[:, 1] = lowest
        return [values.numpy()]

    also = "" if lowest is None else f" and one at {lowest:g}"
    return Case(f"shape (3, 5), scores near 709{also}", draw, torch.float64)


def rows_far_apart() -> Case:
    """Two rows, the second so far below the first that exp of the distance loses its digits."""
    middles = torch.tensor([[0.0], [-741.0]])
    return Case(
        "two rows, one near 0, one near -741",
        lambda randn: [(randn(2, 5).tanh() + middles).numpy()],
        torch.float64,
    )


def with_infinities(*shape: int, axis: int) -> Case:
    """(scores, axis) in which every third score is minus infinity, none of a kind alone."""

    def draw(randn: Randn) -> list[Any]:
        values = randn(*shape)
        values.transpose(axis, -1)[..., 1::3] = -math.inf
        return [values.numpy(), axis]

    return Case(f"shape {shape}, some scores are minus infinity, {axis=}", draw, torch.float64)


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.mT / key.shape[-1] ** 0.5


def hidden_by_infinity(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    return scores if mask is None else scores.masked_fill(~mask, -math.inf)


def well_apart(scores: Tensor) -> bool:
    """Whether no rounding can change the order of the weights in a row."""
    return bool((scores.sort(dim=-1).values.diff(dim=-1) > 0.02).all())


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
    return Case(f"{T=}, {D=}, {d_k=}, {d_v=}{times}", draw, torch.float64)


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

    return Case(f"{T=}, {D=}, {d_k=}, {d_v=}, scaled scores near 709", draw, torch.float64)


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
            query, key = randn(2, 3, 4), randn(2, 5, 4)
            query[..., 0] = key[..., 0] = 0.0
            query *= spread / scaled_scores(query, key).abs().max()
            query[..., 0] = root = (abs(common) * 4**0.5) ** 0.5
            key[..., 0] = math.copysign(root, common)
            masks = [partial(randn.generator, mask)] if mask else []
            visible = hidden_by_infinity(scaled_scores(query, key), *masks)
            if (visible.topk(2, dim=-1).values.diff(dim=-1) < -spread / 40).all():
                return [query, key, randn(2, 5, 6), *masks]

    hidden = f", mask {mask} partial" if mask else ""
    return Case(f"scaled scores {common:g} ± {spread:g}{hidden}", draw)


def loud_hidden_keys() -> Case:
    """(query, key, value, mask): what is hidden would take all the weight if it were seen."""

    def draw(randn: Randn) -> list[Any]:
        query, key, value = randn(2, 3, 4), randn(2, 5, 4), randn(2, 5, 6)
        query[..., 0] = query[..., 0].abs() + 1.0
        mask = torch.ones(2, 1, 5, dtype=torch.bool)
        mask[0, :, 3] = mask[1, :, 1] = False
        key[~mask[:, 0]] = torch.tensor([2000.0, 0.0, 0.0, 0.0])
        value[~mask[:, 0]] = 1e4
        return [query, key, value, mask]

    return Case("hidden keys with very large scores", draw)


# ------------------------------------------------------------------------------------ judges

WEIGHTS = Weights(**{"...": "sentence", "T": "query", "S": "key"})


def ranks(expected: tuple, got: Any) -> str | None:
    """Like `Weights.rank`, down to the smallest weights; the output must have the right shape."""
    problem = WEIGHTS.rank(expected, got, apart=0.0)
    if problem is None and getattr(got[0], "shape", None) != expected[0].shape:
        problem = f"for the output, expected {kind_of(expected[0])}, got {kind_of(got[0])}"
    return problem


# ---------------------------------------------------------------------------- stable_softmax

ATTENTION = (
    "scaled_dot_product_attention", "_scaled_dot_product_attention", "MultiheadAttention",
    "multi_head_attention_forward",
)  # fmt: skip
OVERFLOW = (
    "Your numbers match exp without anything subtracted first. From about 709 on, exp (or already "
    "the sum of several) is too large for float64. What may you subtract from a whole row without "
    "changing its weights?"
)

stable = Part(
    "stable_softmax(scores, axis=-1) -> weights, an array like scores",
    attention.stable_softmax,
    reads=(
        "lecture 3, section 5, a softmax that cannot overflow",
        f"{LECTURE}#5.-A-softmax-that-cannot-overflow",
    ),
    barred=(
        "softmax", "log_softmax", "softmin", "logsumexp", "Softmax", "LogSoftmax", "Softmin",
        "_softmax", "special_softmax", "special_log_softmax", "special_logsumexp", *ATTENTION,
    ),
)  # fmt: skip
stable.step(
    "along the last axis: exact weights for one row and for a matrix",
    1, scores(5), scores(3, 5), scores(5, 2, axis=-1),
)  # fmt: skip
stable.step(
    "along any axis of any array, and the scores stay as they were",
    1,
    scores(3, 5, axis=0), scores(4, 4, axis=1), scores(4, 4, axis=0),
    scores(2, 3, 5, axis=1), scores(2, 3, 5, axis=-3),
    scores(2, 7, 3, 5), scores(2, 7, 3, 5, axis=-2),
    scores(3, 1, axis=-1), in_float32(scores(3, 5, start=2.0)),
    strict=True,
)  # fmt: skip
stable.step(
    "scores of any size, also rows far apart from each other; minus infinity gets weight 0",
    1,
    crowded_scores(),
    crowded_scores(lowest=0.0),
    rows_far_apart(),
    points_only(scores(3, 5, size=3000.0)),
    points_only(scores(5, start=1e5)),
    points_only(scores(3, 5, start=-1e5, axis=0)),
    points_only(in_float32(scores(3, 5, size=2000.0))),
    points_only(with_infinities(2, 5, axis=-1)),
    points_only(with_infinities(7, 3, axis=0)),
)


@np.errstate(all="ignore")  # overflow is the mistake of these answers, and not ours to hear
def shares(scores: np.ndarray, axis: int | None, keepdims: bool = True) -> np.ndarray:
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=keepdims)


def below_maximum(scores: np.ndarray, axis: int) -> np.ndarray:
    return scores - scores.max(axis=axis, keepdims=True)


@stable.mistake("overflow", OVERFLOW)
def literal_softmax(scores, axis=-1):
    return shares(scores, axis)


@stable.mistake("one maximum for the whole array")
def one_maximum(scores, axis=-1):
    """You subtract the largest number of the whole array. A row far below it becomes nothing but
    zeros. Each row needs a maximum of its own."""
    return shares(scores - scores.max(), axis)


@stable.mistake("a maximum of at least 0")
def maximum_from_zero(scores, axis=-1):
    """Your maximum is never below 0. Does its search start at 0? In a row far below 0, all
    exponentials then become 0, or lose their digits. Start with a score of the row."""
    return shares(scores - scores.max(axis=axis, keepdims=True).clip(min=0.0), axis)


@stable.mistake("minimum subtracted")
@np.errstate(invalid="ignore")
def minimum_subtracted(scores, axis=-1):
    """You subtract the smallest score of each row, so the largest exponent is still large. Which
    number must you subtract so that no exponent is above 0?"""
    return shares(scores - scores.min(axis=axis, keepdims=True), axis)


@stable.mistake("divided by the maximum")
def divided_by_maximum(scores, axis=-1):
    """Your numbers match scores divided by the largest one. That changes the weights; a softmax
    forgives a number that is added to all scores, not a factor."""
    return shares(scores / scores.max(axis=axis, keepdims=True), axis)


@stable.mistake("axis ignored")
def last_axis_always(scores, axis=-1):
    """Your weights sum to one along the last axis whatever `axis` says. Does each step use the
    argument?"""
    return attention.stable_softmax(scores)


@stable.mistake("first axis always")
def first_axis_always(scores, axis=-1):
    """Your weights sum to one along axis 0 whatever `axis` says. Does each step use the
    argument?"""
    return attention.stable_softmax(scores, axis=0)


@stable.mistake("sum over the whole array")
def one_sum(scores, axis=-1):
    """You divide by the sum of the whole array. Each row is divided by its own sum: give the sum
    its axis."""
    return shares(below_maximum(scores, axis), axis=None)


@stable.mistake("maximum and sum lose their axis")
def without_keepdims(scores, axis=-1):
    """`max` and `sum` drop the axis that they run along, and what is left is spread over the wrong
    one. Which argument keeps it, with length 1?"""
    return shares(scores - scores.max(axis=axis), axis, keepdims=False)


@stable.mistake("the sum loses its axis")
def sum_without_keepdims(scores, axis=-1):
    """The maximum is right, but the sum drops the axis that it runs along and is spread over the
    wrong one. Which argument keeps it, with length 1?"""
    return shares(below_maximum(scores, axis), axis, keepdims=False)


@stable.mistake("the maximum loses its axis")
def maximum_without_keepdims(scores, axis=-1):
    """The sum is right, but the maximum drops the axis that it runs along and is spread over the
    wrong one. Which argument keeps it, with length 1?"""
    return shares(scores - scores.max(axis=axis), axis)


@stable.mistake("exp without the division")
def exponentials_alone(scores, axis=-1):
    """Your numbers match exp of the differences to the maximum. The last step is missing: weights
    sum to one."""
    return np.exp(below_maximum(scores, axis))


@stable.mistake("logarithms of the weights")
@np.errstate(divide="ignore")
def logarithms(scores, axis=-1):
    """Your numbers are the logarithms of the weights. Is there an exp missing at the end?"""
    return np.log(attention.stable_softmax(scores, axis))


# ---------------------------------------------------------------------- numpy_self_attention

ROOT_OF_LENGTH = (
    "Your numbers match scores divided by the root of the number of words. The scale is about the "
    "width of a key, the number of terms in one dot product. Which axis of `key` is that?"
)

in_numpy = Part(
    "numpy_self_attention(X (T, D), Wq (D, d_k), Wk (D, d_k), Wv (D, d_v)) "
    "-> (output (T, d_v), weights (T, T))",
    attention.numpy_self_attention,
    reads=("lecture 3, sections 4 and 5", f"{LECTURE}#4.-The-function"),
    may_call=("stable_softmax",),
)
in_numpy.step(
    "the second result holds weights: each row sums to one and ranks the words rightly",
    1, words(T=5, D=3, d_k=4, d_v=6), words(T=3, D=6, d_k=5, d_v=2), judge=ranks,
)  # fmt: skip
in_numpy.step(
    "output and weights are exact, whatever the length and the widths",
    1,
    words(T=5, D=3, d_k=4, d_v=6),
    words(T=4, D=7, d_k=2, d_v=3),
    words(T=3, D=3, d_k=3, d_v=3),
    words(T=2, D=5, d_k=1, d_v=1),
    words(T=1, D=3, d_k=4, d_v=6),
)
in_numpy.step(
    "large scores give no NaN; float32 arrays work; the inputs stay as they were",
    1,
    crowded_words(T=5, D=3, d_k=4, d_v=6),
    points_only(words(T=5, D=3, d_k=4, d_v=6, size=100.0)),
    in_float32(words(T=5, D=3, d_k=4, d_v=6)),
    strict=True,
)


def attend_in_numpy(
    X: np.ndarray, Wq: np.ndarray, Wk: np.ndarray, Wv: np.ndarray,
    by: float | None = None,
    softmax: Callable[[np.ndarray], np.ndarray] = attention.stable_softmax,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """In steps, of which a mistake changes one."""
    scores = X @ Wq @ (X @ Wk).T / (Wk.shape[1] ** 0.5 if by is None else by)
    weights = softmax(scores)
    return weights @ X @ Wv, weights


@in_numpy.mistake("√ of the length", ROOT_OF_LENGTH)
def root_of_length(X, Wq, Wk, Wv):
    return attend_in_numpy(X, Wq, Wk, Wv, by=len(X) ** 0.5)


@in_numpy.mistake("√ of the word vectors' width")
def root_of_word_width(X, Wq, Wk, Wv):
    """Your numbers match scores divided by √D, the width of the words in X. What counts is the
    width of queries and keys, after the projection."""
    return attend_in_numpy(X, Wq, Wk, Wv, by=X.shape[1] ** 0.5)


@in_numpy.mistake("softmax over the columns")
def over_columns(X, Wq, Wk, Wv):
    """Your columns sum to one, and it should be your rows: row i says how word i shares out its
    attention."""
    return attend_in_numpy(X, Wq, Wk, Wv, softmax=first_axis_always)


@in_numpy.mistake("softmax over the whole matrix")
def over_matrix(X, Wq, Wk, Wv):
    """Your weights sum to one over the whole matrix. Each row is one word's attention and sums to
    one by itself."""
    over_all = functools.partial(attention.stable_softmax, axis=None)
    return attend_in_numpy(X, Wq, Wk, Wv, softmax=over_all)


@in_numpy.mistake("the sum loses its axis")
def sums_along_the_other_axis(X, Wq, Wk, Wv):
    """Each row should be divided by its own sum, but your sums are spread along the other axis. The
    matrix is square, so NumPy does not complain. Which argument of `sum` helps?"""
    return attend_in_numpy(X, Wq, Wk, Wv, softmax=sum_without_keepdims)


@in_numpy.mistake("query and key swapped")
def maps_swapped(X, Wq, Wk, Wv):
    """You score keys against queries. Row i of the scores belongs to the query of word i."""
    return attend_in_numpy(X, Wk, Wq, Wv)


@in_numpy.mistake("words averaged instead of values")
def words_averaged(X, Wq, Wk, Wv):
    """Your weights are right, but what you average are the words in X. What are Wv and V for?"""
    return attend_in_numpy(X, Wq, Wk, np.eye(X.shape[1], dtype=X.dtype))


@in_numpy.mistake("keys averaged instead of values")
def keys_averaged(X, Wq, Wk, Wv):
    """Your weights are right, but what you average are the keys. What are Wv and V for?"""
    return attend_in_numpy(X, Wq, Wk, Wk)


# --------------------------------------------------------------- scaled_dot_product_attention

ROOT_OF_AXIS_ONE = (
    "Your numbers match scores divided by the root of the length of axis 1, `shape[1]`. That is "
    "the width only where there is no batch. How do you name the last axis, however many there are?"
)

scaled = Part(
    "scaled_dot_product_attention(query (..., T, d_k), key (..., S, d_k), value (..., S, d_v), "
    "mask=None) -> (output (..., T, d_v), weights (..., T, S))",
    attention.scaled_dot_product_attention,
    reads=(
        "lecture 3, section 4, the function and the mask in brief",
        f"{LECTURE}#4.-The-function",
    ),
)
scaled.step(
    "one sentence: weights of shape (T, S), whose rows sum to one and rank the keys rightly",
    1, triple(T=3, S=5, d_k=4, d_v=6), triple(T=5, S=2, d_k=3, d_v=4), judge=ranks,
)  # fmt: skip
scaled.step(
    "output and weights are exact, with any number of leading axes",
    1,
    triple(T=3, S=5, d_k=4, d_v=6), triple(2, T=3, S=5, d_k=4, d_v=6),
    triple(2, T=5, S=5, d_k=3, d_v=4), triple(2, T=3, S=7, d_k=5, d_v=5),
    triple(2, T=5, S=5, d_k=3, d_v=3), triple(3, T=2, S=3, d_k=3, d_v=4),
    triple(2, 7, T=3, S=5, d_k=4, d_v=6), triple(2, 3, T=4, S=3, d_k=3, d_v=5),
    triple(2, 1, 3, T=2, S=4, d_k=5, d_v=1), triple(1, T=3, S=5, d_k=4, d_v=6, mask=None),
    triple(2, T=1, S=5, d_k=4, d_v=6), triple(2, T=3, S=1, d_k=4, d_v=6),
)  # fmt: skip
scaled.step(
    "a mask: hidden weights are exactly 0, the visible ones sum to one and keep their order",
    1,
    triple(2, T=3, S=5, d_k=4, d_v=4, mask=(2, 3, 5)),
    triple(3, T=6, S=4, d_k=3, d_v=3, mask=(3, 6, 4)),
    judge=ranks,
)
scaled.step(
    "masks of fewer axes; what is hidden has no effect, whatever the scores; mask untouched",
    1,
    triple(2, T=3, S=5, d_k=4, d_v=6, mask=(3, 5)),
    triple(2, T=3, S=5, d_k=4, d_v=6, mask=(1, 3, 5)),
    points_only(triple(2, T=3, S=5, d_k=4, d_v=6, mask=(5,), hide=padding)),
    points_only(triple(2, T=3, S=5, d_k=4, d_v=6, mask=(2, 1, 5), hide=padding)),
    points_only(triple(2, 3, T=4, S=5, d_k=3, d_v=6, mask=(2, 1, 1, 5), hide=padding)),
    points_only(triple(2, 3, T=4, S=5, d_k=3, d_v=6, mask=(2, 1, 4, 5))),
    points_only(triple(2, 3, T=4, S=5, d_k=3, d_v=6, mask=(3, 4, 5))),
    points_only(triple(2, 3, T=4, S=5, d_k=3, d_v=6, mask=(4, 5))),
    points_only(triple(T=5, S=5, d_k=4, d_v=6, mask=(5, 5), hide=causal)),
    points_only(loud_hidden_keys()),
    # below the lowest number of float16, which some people hide keys by
    points_only(scores_near(-75_000.0, 8_000.0, mask=(2, 3, 5))),
    judge=hidden_are_zero,
    strict=True,
)
scaled.step(
    "a query with nothing to attend to gets zeros, and all gradients stay finite",
    1,
    triple(2, T=4, S=4, d_k=3, d_v=3, mask=(2, 4, 4), hide=with_empty_rows).with_gradients(),
    triple(2, 3, T=5, S=5, d_k=4, d_v=4, mask=(2, 3, 5, 5), hide=with_empty_rows).with_gradients(),
    triple(2, T=3, S=3, d_k=4, d_v=4, mask=(3, 1), hide=all_or_nothing).with_gradients(),
    judge=WEIGHTS.agree,
)
scaled.manners(
    1,
    triple(2, T=3, S=5, d_k=4, d_v=6),
    scores_near(CROWDED, CROWDED_SPREAD).in_float64(),
    points_only(scores_near(0.0, 40_000.0)),
    asks="float64 stays float64, any memory layout, untouched inputs, gradients, large scores",
)


def attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *,
    scores: Tensor | None = None,
    by: float | None = None,
    hide: Callable[[Tensor, Tensor], Tensor] = hidden_by_infinity,
    dim: int = -1,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """In steps, of which a mistake changes one."""
    scores = query @ key.mT if scores is None else scores
    scores = scores / (key.shape[-1] ** 0.5 if by is None else by)
    weights = (scores if mask is None else hide(scores, mask)).softmax(dim)
    return weights @ value, weights


@scaled.mistake("overflow", OVERFLOW)
def overflow(query, key, value, mask=None):
    exponentials = hidden_by_infinity(scaled_scores(query, key), mask).exp()
    weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
    return weights @ value, weights


@scaled.mistake("not scaled")
def not_scaled(query, key, value, mask=None):
    """Your numbers match scores that are not scaled. Where does √d_k come in?"""
    return attend(query, key, value, mask, by=1.0)


@scaled.mistake("√ of the number of keys", ROOT_OF_LENGTH)
def root_of_keys(query, key, value, mask=None):
    return attend(query, key, value, mask, by=key.shape[-2] ** 0.5)


@scaled.mistake("√ of the number of queries", ROOT_OF_LENGTH)
def root_of_queries(query, key, value, mask=None):
    return attend(query, key, value, mask, by=query.shape[-2] ** 0.5)


@scaled.mistake("√ of the first axis")
def root_of_first_axis(query, key, value, mask=None):
    """Your numbers match scores divided by the root of the first axis's length, which is the batch
    size as soon as there is a batch. Which axis of `key` holds its width, however many axes there
    are?"""
    return attend(query, key, value, mask, by=len(key) ** 0.5)


@scaled.mistake("√ of the key's axis 1", ROOT_OF_AXIS_ONE)
def root_of_keys_axis_one(query, key, value, mask=None):
    return attend(query, key, value, mask, by=key.shape[1] ** 0.5)


@scaled.mistake("√ of the query's axis 1", ROOT_OF_AXIS_ONE)
def root_of_querys_axis_one(query, key, value, mask=None):
    return attend(query, key, value, mask, by=query.shape[1] ** 0.5)


@scaled.mistake("√ of the value's width")
def root_of_value_width(query, key, value, mask=None):
    """Your numbers match scores divided by the root of the value's width. The dot product runs over
    query and key; the values take no part in it."""
    return attend(query, key, value, mask, by=value.shape[-1] ** 0.5)


@scaled.mistake("divided by d_k")
def divided_by_width(query, key, value, mask=None):
    """Your numbers match scores divided by d_k itself. Is there a root missing?"""
    return attend(query, key, value, mask, by=key.shape[-1])


@scaled.mistake("multiplied by √d_k")
def times_root(query, key, value, mask=None):
    """Your numbers match scores multiplied by √d_k. The scale makes scores smaller: is there an
    operator, or a sign in an exponent, the wrong way round?"""
    return attend(query, key, value, mask, by=key.shape[-1] ** -0.5)


@scaled.mistake("scaled after the softmax")
def scaled_after_softmax(query, key, value, mask=None):
    """Your weights match a softmax that is divided by √d_k afterwards, so that rows sum to 1/√d_k.
    Which of the two comes first, the scale or the softmax?"""
    weights = attend(query, key, value, mask, by=1.0)[1] / key.shape[-1] ** 0.5
    return weights @ value, weights


@scaled.mistake("softmax over the queries")
def over_queries(query, key, value, mask=None):
    """Your weights match a softmax over the queries. Each query shares out its attention over the
    keys: which axis of the scores are they?"""
    return attend(query, key, value, mask, dim=-2)


@scaled.mistake("softmax axis counted from the front")
def over_axis_one(query, key, value, mask=None):
    """Your softmax runs over axis 1. These are the keys only where there is no batch. How do you
    name the last axis of a tensor, however many there are?"""
    return attend(query, key, value, mask, dim=1)


@scaled.mistake("inverted mask")
def inverted_mask(query, key, value, mask=None):
    """You hide what should be seen, and see what should be hidden. Here True means may attend; what
    does `masked_fill` fill?"""
    return attend(query, key, value, None if mask is None else ~mask)


@scaled.mistake("mask after the softmax")
def hidden_after_softmax(query, key, value, mask=None):
    """Your hidden weights are 0, but the rest no longer sums to one: they were hidden after the
    softmax. What must a score be before the softmax so that its weight is 0?"""
    weights = attend(query, key, value)[1]
    weights = weights if mask is None else weights * mask
    return weights @ value, weights


@scaled.mistake("mask ignored")
def mask_ignored(query, key, value, mask=None):
    """Your results do not depend on the mask. Where should it act?"""
    return attend(query, key, value)


@scaled.mistake("hidden scores set to 0")
def hidden_set_to_zero(query, key, value, mask=None):
    """Your numbers match hidden scores of 0. But exp(0) is 1, so a hidden key still gets weight. Of
    which number is exp equal to 0?"""
    return attend(query, key, value, mask, hide=torch.mul)


@scaled.mistake("mask added as numbers")
def mask_added(query, key, value, mask=None):
    """You add the mask to the scores, so that True counts as 1 and False as 0. A hidden score must
    be minus infinity; the others stay as they are."""
    return attend(query, key, value, mask, hide=torch.add)


@scaled.mistake("mask needs all axes")
def hidden_by_index(query, key, value, mask=None):
    """Your function works when the mask has the very shape of the scores and stops when it has
    fewer axes: indexing with a mask does not broadcast. `masked_fill` and `torch.where` do."""

    def hide(scores, mask):
        scores[~mask] = -math.inf
        return scores

    return attend(query, key, value, mask, hide=hide)


@scaled.mistake(".T on batches")
def all_axes_reversed(query, key, value, mask=None):
    """Your transpose reverses all axes of the key, the batch too, as `.T` does. Only the last two
    should change places, however many there are."""
    reversed_key = key.permute(*reversed(range(key.dim())))
    return attend(query, key, value, mask, scores=query @ reversed_key)


@scaled.mistake("axes 1 and 2 transposed")
def axes_one_and_two(query, key, value, mask=None):
    """You transpose axes 1 and 2. These are the last two only when there are three. Count the axes
    from the end."""
    return attend(query, key, value, mask, scores=query @ key.transpose(1, 2))


@scaled.mistake("three axes only")
def three_axes(query, key, value, mask=None):
    """Your function works for exactly three axes, as `torch.bmm` does. Which product treats the
    last two axes as matrices and everything before them as a stack?"""
    return attend(query, key, value, mask, scores=torch.bmm(query, key.mT))


@scaled.mistake("reshape for transpose")
def key_reshaped(query, key, value, mask=None):
    """The shape fits, but `reshape` and `view` keep the numbers in their old order. Rows become
    columns with a transpose."""
    return attend(query, key, value, mask, scores=query @ key.reshape(key.mT.shape))


@scaled.mistake("query and key swapped")
def query_and_key_swapped(query, key, value, mask=None):
    """You score keys against queries. Rows of the scores belong to the queries: their shape is
    (..., T, S)."""
    return attend(key, query, value, mask)


@scaled.mistake("query used as key")
def query_for_key(query, key, value, mask=None):
    """You compare the queries with themselves. Compare each query with the keys."""
    return attend(query, query, value, mask)


@scaled.mistake("key used as value")
def key_for_value(query, key, value, mask=None):
    """Your output is a weighted sum of the keys. What the weights weigh are the values."""
    return attend(query, key, key, mask)


@scaled.mistake("value width assumed = key width")
def value_as_wide_as_key(query, key, value, mask=None):
    """Your function works only where the values are as wide as the keys. The output is (..., T,
    d_v): where does your code use the width of query or key for it?"""
    output, weights = attention.scaled_dot_product_attention(query, key, value, mask)
    return output.reshape(query.shape), weights


@scaled.mistake("as many keys as queries assumed")
def as_many_keys_as_queries(query, key, value, mask=None):
    """Your function works only where T = S. The weights are (..., T, S): where does your code take
    one length for the other?"""
    output, weights = attention.scaled_dot_product_attention(query, key, value, mask)
    return output, weights.reshape(*query.shape[:-1], query.shape[-2])


@scaled.mistake("sentences of a batch mixed")
def one_long_sentence(query, key, value, mask=None):
    """Your words attend to words of other sentences: the leading axes were flattened into one long
    sentence. They stay apart."""
    flat = [item.reshape(-1, item.shape[-1]) for item in (query, key, value)]
    output, weights = attention.scaled_dot_product_attention(*flat, mask)
    return output.reshape(*query.shape[:-1], -1), weights


@scaled.mistake("scores returned for weights")
def scores_for_weights(query, key, value, mask=None):
    """The output is right, but the second result holds the scores. Return what comes out of the
    softmax."""
    return attend(query, key, value, mask)[0], scaled_scores(query, key)


@scaled.mistake("results in the wrong order")
def swapped_results(query, key, value, mask=None):
    """You return the weights first. The course returns the output first, the weights second."""
    return attend(query, key, value, mask)[::-1]


@scaled.mistake("output returned without the weights")
def output_alone(query, key, value, mask=None):
    """The output is right, but it comes alone. The weights are asked for, too."""
    return attend(query, key, value, mask)[0]


def of_words(wrong: Callable[..., Any]) -> Callable[..., Any]:
    """The same mistake in NumPy, with queries, keys and values made from words."""

    def answer(X: np.ndarray, *maps: np.ndarray) -> Any:
        results = wrong(*(torch.from_numpy(X @ item) for item in maps))
        if isinstance(results, Tensor):
            return results.numpy()
        return tuple(item.numpy() for item in results)

    return answer


in_numpy.inherit(
    scaled, of_words,
    overflow, not_scaled, divided_by_width, times_root, scaled_after_softmax, root_of_value_width,
    scores_for_weights, swapped_results, output_alone,
)  # fmt: skip

ASSIGNMENT = Assignment(
    "a3_scaled_dot_product_attention", parts=(stable, in_numpy, scaled), barred=ATTENTION
)
