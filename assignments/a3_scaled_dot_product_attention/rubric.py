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

from autograder.checks.judges import Weights
from autograder.verdict.check import Assignment, Case, Part, Randn, Steps, taking
from autograder.verdict.compare import hidden_are_zero, kind_of, values_agree
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


def bears_any_size(expected: np.ndarray, got: Any) -> str | None:
    """Compare, and say what a softmax that was not made for these scores did with them."""
    problem = values_agree(expected, got)
    if problem is None or not isinstance(got, np.ndarray) or got.shape != expected.shape:
        return problem
    if not np.isfinite(got).all():
        return (
            "NaN or infinity came out. Was something subtracted from each row before exp, so that "
            "its largest exponent is 0? And where a whole row of exponentials is 0, what is 0 / 0?"
        )
    shown = got[(expected == 0) & (got > 1e-6)]
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
    1, scores(5), scores(3, 5), scores(5, 2, axis=-1), scores(4, 4),
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
    points_only(scores(4, 4, size=3000.0)),
    points_only(scores(5, start=1e5)),
    points_only(scores(3, 5, start=-1e5, axis=0)),
    points_only(in_float32(scores(3, 5, size=2000.0))),
    points_only(with_infinities(2, 5, axis=-1)),
    points_only(with_infinities(7, 3, axis=0)),
    judge=bears_any_size,
)


class Softmax(Steps):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def answer(self, scores, axis=-1):
        with np.errstate(all="ignore"):  # overflow is a mistake of theirs, and not ours to hear
            return self.share(self.power(self.shift(scores, axis)), axis)

    def shift(self, scores, axis):
        return scores - scores.max(axis=axis, keepdims=True)

    def power(self, shifted):
        return np.exp(shifted)

    def share(self, exponentials, axis):
        return exponentials / exponentials.sum(axis=axis, keepdims=True)


LAST_AXIS, ANY_AXIS, ANY_SIZE = 1, 2, 3  # numbers of the steps above


@stable.mistake("overflow", OVERFLOW, costs=(ANY_SIZE,))
@taking(Softmax, Softmax.shift)
def not_shifted(self, scores, axis):
    return scores


@stable.mistake("overflow", OVERFLOW, costs=(ANY_SIZE,))
class NotShiftedAndGuarded(Softmax):
    def shift(self, scores, axis):
        return scores

    def share(self, exponentials, axis):
        return exponentials / (exponentials.sum(axis=axis, keepdims=True) + 1e-9)


for number in (700.0, 709.0, 1000.0, 100.0):

    @stable.mistake("a fixed number subtracted", costs=(ANY_SIZE,))
    @taking(Softmax, Softmax.shift)
    def fixed_number_subtracted(self, scores, axis, number=number):
        """You subtract the same number from every row. That helps rows about as large as it, and no
        others. Which number of a row makes the largest exponent 0, whatever the row holds?"""
        return scores - number


@stable.mistake("one maximum for the whole array", costs=(ANY_SIZE,))
@taking(Softmax, Softmax.shift)
def one_maximum(self, scores, axis):
    """You subtract the largest number of the whole array. A row far below it becomes nothing but
    zeros. Each row needs a maximum of its own."""
    return scores - scores.max()


@stable.mistake("a maximum of at least 0", costs=(ANY_SIZE,))
@taking(Softmax, Softmax.shift)
def maximum_from_zero(self, scores, axis):
    """Your maximum is never below 0. Does its search start at 0? In a row far below 0, all
    exponentials then become 0, or lose their digits. Start with a score of the row."""
    return scores - scores.max(axis=axis, keepdims=True).clip(min=0.0)


@stable.mistake("minimum subtracted", costs=(ANY_SIZE,))
@taking(Softmax, Softmax.shift)
def minimum_subtracted(self, scores, axis):
    """You subtract the smallest score of each row, so the largest exponent is still large. Which
    number must you subtract so that no exponent is above 0?"""
    return scores - scores.min(axis=axis, keepdims=True)


for middle in (np.mean, np.median):

    @stable.mistake("mean subtracted", costs=(ANY_SIZE,))
    @taking(Softmax, Softmax.shift)
    def mean_subtracted(self, scores, axis, middle=middle):
        """You subtract the mean of each row, so a score far above it still has a large exponent.
        Which number must you subtract so that no exponent is above 0?"""
        return scores - middle(scores, axis=axis, keepdims=True)


@stable.mistake("largest size subtracted", costs=(ANY_SIZE,))
@taking(Softmax, Softmax.shift)
def largest_size_subtracted(self, scores, axis):
    """You subtract the largest absolute value. Where all scores are far below 0, that makes them
    lower still, and all exponentials 0. Which number of the row makes the largest exponent 0?"""
    return scores - np.abs(scores).max(axis=axis, keepdims=True)


@stable.mistake("maximum added", costs=(ANY_SIZE,))
@taking(Softmax, Softmax.shift)
def maximum_added(self, scores, axis):
    """You add the maximum of each row, so large exponents get larger still. The same number may be
    added to a whole row; with which sign does the largest exponent become 0?"""
    return scores + scores.max(axis=axis, keepdims=True)


for bound in (700.0, 709.0, 500.0, 100.0, 50.0):

    @stable.mistake("scores cut off", costs=(ANY_SIZE,))
    @taking(Softmax, Softmax.shift)
    def cut_off(self, scores, axis, bound=bound):
        """Scores beyond a bound are all made equal to it, so they get equal weights. Nothing
        overflows, but which of them was the largest is lost. What may be subtracted from a whole
        row instead?"""
        return np.clip(scores, -bound, bound)


@stable.mistake("divided by the maximum", costs=(LAST_AXIS,))
@taking(Softmax, Softmax.shift)
def divided_by_maximum(self, scores, axis):
    """Your numbers match scores divided by the largest one. That changes the weights; a softmax
    forgives a number that is added to all scores, not a factor."""
    return scores / scores.max(axis=axis, keepdims=True)


@stable.mistake("scores negated", costs=(LAST_AXIS,))
@taking(Softmax, Softmax.shift)
def negated(self, scores, axis):
    """The larger a score, the less weight it gets: the sign in the exponent is the wrong way
    round."""
    return scores.min(axis=axis, keepdims=True) - scores


@stable.mistake("axis ignored", costs=(ANY_AXIS,))
@taking(Softmax, Softmax.answer)
def last_axis_always(self, scores, axis=-1):
    """Your weights sum to one along the last axis whatever `axis` says. Does each step use the
    argument?"""
    return Softmax.answer(self, scores)


@stable.mistake("first axis always", costs=(ANY_AXIS,))
@taking(Softmax, Softmax.answer)
def first_axis_always(self, scores, axis=-1):
    """Your weights sum to one along axis 0 whatever `axis` says. Does each step use the
    argument?"""
    return Softmax.answer(self, scores, axis=0)


@stable.mistake("sum over the whole array", costs=(LAST_AXIS,))
@taking(Softmax, Softmax.share)
def one_sum(self, exponentials, axis):
    """You divide by the sum of the whole array. Each row is divided by its own sum: give the sum
    its axis."""
    return exponentials / exponentials.sum()


@stable.mistake("maximum and sum lose their axis", costs=(LAST_AXIS,))
class WithoutKeepdims(Softmax):
    """`max` and `sum` drop the axis that they run along, and what is left is spread over the wrong
    one. Which argument keeps it, with length 1?"""

    def shift(self, scores, axis):
        return scores - scores.max(axis=axis)

    def share(self, exponentials, axis):
        return exponentials / exponentials.sum(axis=axis)


@stable.mistake("the sum loses its axis", costs=(LAST_AXIS,))
@taking(Softmax, Softmax.share)
def sum_without_keepdims(self, exponentials, axis):
    """The maximum is right, but the sum drops the axis that it runs along and is spread over the
    wrong one. Which argument keeps it, with length 1?"""
    return exponentials / exponentials.sum(axis=axis)


@stable.mistake("the maximum loses its axis", costs=(LAST_AXIS,))
@taking(Softmax, Softmax.shift)
def maximum_without_keepdims(self, scores, axis):
    """The sum is right, but the maximum drops the axis that it runs along and is spread over the
    wrong one. Which argument keeps it, with length 1?"""
    return scores - scores.max(axis=axis)


@stable.mistake("exp without the division", costs=(LAST_AXIS,))
@taking(Softmax, Softmax.share)
def exponentials_alone(self, exponentials, axis):
    """Your numbers match exp of the differences to the maximum. The last step is missing: weights
    sum to one."""
    return exponentials


@stable.mistake("logarithms of the weights", costs=(LAST_AXIS,))
@taking(Softmax, Softmax.share)
def logarithms(self, exponentials, axis):
    """Your numbers are the logarithms of the weights. Is there an exp missing at the end?"""
    return np.log(exponentials / exponentials.sum(axis=axis, keepdims=True))


@stable.mistake("softmax taken twice", costs=(LAST_AXIS,))
@taking(Softmax, Softmax.share)
def softmax_twice(self, exponentials, axis):
    """Your weights match a softmax of a softmax, which brings them closer together. Once is
    enough."""
    weights = np.exp(exponentials / exponentials.sum(axis=axis, keepdims=True))
    return weights / weights.sum(axis=axis, keepdims=True)


@stable.mistake("powers of 2", costs=(LAST_AXIS,))
@taking(Softmax, Softmax.power)
def powers_of_two(self, shifted):
    """Your weights match powers of 2 in place of powers of e. Which function of NumPy is exp?"""
    return np.exp2(shifted)


@stable.mistake("exp left out", costs=(LAST_AXIS,))
@taking(Softmax, Softmax.power)
def without_exp(self, shifted):
    """You divide the scores themselves by their sum, or what is left of them after a subtraction.
    Which step makes each of them positive, and large ones count more?"""
    return shifted


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
    words(T=5, D=3, d_k=4, d_v=6, size=100.0),
    in_float32(words(T=5, D=3, d_k=4, d_v=6)),
    strict=True,
)


class InSteps(Steps):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def answer(self, query, key, value, mask=None):
        scores = self.compare(query, key) / self.divisor(query, key, value)
        weights = self.fill(self.share(self.hide(scores, mask)), mask)
        return self.result(self.collect(weights, query, key, value), weights, scores)

    def compare(self, query, key):
        return query @ key.mT

    def divisor(self, query, key, value):
        return key.shape[-1] ** 0.5

    def hide(self, scores, mask):
        return hidden_by_infinity(scores, mask)

    def share(self, scores):
        return scores.softmax(dim=-1)

    def fill(self, weights, mask):
        return weights if mask is None else weights.masked_fill(~mask, 0.0)

    def collect(self, weights, query, key, value):
        return weights @ value

    def result(self, output, weights, scores):
        return output, weights


ROWS, EXACT, LARGE = 1, 2, 3  # numbers of the steps of `in_numpy`


class OfWords(InSteps):
    """The same, of words: queries, keys and values are made first, and all are NumPy arrays."""

    def answer(self, X, Wq, Wk, Wv):
        made = (torch.from_numpy(item) for item in self.project(X, Wq, Wk, Wv))
        results = InSteps.answer(self, *made)
        if isinstance(results, Tensor):
            return results.numpy()
        return tuple(item.numpy() for item in results)

    def project(self, X, Wq, Wk, Wv):
        return X @ Wq, X @ Wk, X @ Wv


@in_numpy.mistake("√ of the length", ROOT_OF_LENGTH, costs=(EXACT,))
@taking(OfWords, OfWords.divisor)
def root_of_length(self, query, key, value):
    return len(query) ** 0.5


@in_numpy.mistake("√ of the word vectors' width", costs=(EXACT,))
class RootOfWordWidth(OfWords):
    """Your numbers match scores divided by √D, the width of the words in X. What counts is the
    width of queries and keys, after the projection."""

    def answer(self, X, Wq, Wk, Wv):
        self.root = X.shape[1] ** 0.5
        return super().answer(X, Wq, Wk, Wv)

    def divisor(self, query, key, value):
        return self.root


@in_numpy.mistake("divided by the number of words", costs=(EXACT,))
@taking(OfWords, OfWords.divisor)
def divided_by_length(self, query, key, value):
    """Your numbers match scores divided by the number of words. It is the root of the width of a
    key, √d_k: which axis of `key` is that?"""
    return len(query)


@in_numpy.mistake("always divided by 2", costs=(EXACT,))
@taking(OfWords, OfWords.divisor)
def always_two(self, query, key, value):
    """You divide by 2, as in the example, where d_k is 4. With another width it is another root."""
    return 2.0


@in_numpy.mistake("softmax over the columns", costs=(ROWS,))
@taking(OfWords, OfWords.share)
def over_columns(self, scores):
    """Your columns sum to one, and it should be your rows: row i says how word i shares out its
    attention."""
    return scores.softmax(dim=0)


@in_numpy.mistake("softmax over the whole matrix", costs=(ROWS,))
@taking(OfWords, OfWords.share)
def over_matrix(self, scores):
    """Your weights sum to one over the whole matrix. Each row is one word's attention and sums to
    one by itself."""
    return scores.flatten().softmax(dim=0).reshape(scores.shape)


@in_numpy.mistake("the sum loses its axis", costs=(ROWS,))
@taking(OfWords, OfWords.share)
def sums_along_the_other_axis(self, scores):
    """Each row should be divided by its own sum, but your sums are spread along the other axis. The
    matrix is square, so NumPy does not complain. Which argument of `sum` helps?"""
    exponentials = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim=-1)


@in_numpy.mistake("one maximum for the whole matrix", costs=(LARGE,))
@taking(OfWords, OfWords.share)
def one_maximum_for_all(self, scores):
    """You subtract the largest score of the whole matrix. In a row far below it all exponentials
    are 0, and 0 divided by 0 is NaN. Each row needs a maximum of its own."""
    exponentials = (scores - scores.max()).exp()
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@in_numpy.mistake("query and key swapped", costs=(ROWS,))
@taking(OfWords, OfWords.project)
def maps_swapped(self, X, Wq, Wk, Wv):
    """You score keys against queries. Row i of the scores belongs to the query of word i."""
    return X @ Wk, X @ Wq, X @ Wv


@in_numpy.mistake("words averaged instead of values", costs=(EXACT,))
@taking(OfWords, OfWords.project)
def words_averaged(self, X, Wq, Wk, Wv):
    """Your weights are right, but what you average are the words in X. What are Wv and V for?"""
    return X @ Wq, X @ Wk, X


@in_numpy.mistake("keys averaged instead of values", costs=(EXACT,))
@taking(OfWords, OfWords.project)
def keys_averaged(self, X, Wq, Wk, Wv):
    """Your weights are right, but what you average are the keys. What are Wv and V for?"""
    return X @ Wq, X @ Wk, X @ Wk


for first, second in ((0, 0), (1, 1)):

    @in_numpy.mistake("one map for queries and keys", costs=(ROWS,))
    @taking(OfWords, OfWords.project)
    def one_map(self, X, Wq, Wk, Wv, first=first, second=second):
        """Queries and keys are made by the same map, so your scores are symmetric. Which map makes
        the queries, which the keys?"""
        maps = Wq, Wk
        return X @ maps[first], X @ maps[second], X @ Wv


@in_numpy.mistake("words not projected", costs=(ROWS,))
@taking(OfWords, OfWords.project)
def not_projected(self, X, Wq, Wk, Wv):
    """You compare the words in X themselves. Which maps make queries and keys of them?"""
    return X, X, X @ Wv


@in_numpy.mistake("the future hidden", costs=(ROWS,))
@taking(OfWords, OfWords.hide)
def future_hidden(self, scores, mask):
    """Your words attend to themselves and to earlier words only. There is no mask here: every word
    is compared with every word. (The mask over the future comes in lecture 4.)"""
    future = torch.ones(scores.shape, dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -math.inf)


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
    1, triple(T=3, S=5, d_k=4, d_v=6), triple(T=5, S=2, d_k=3, d_v=4),
    triple(T=4, S=4, d_k=3, d_v=3),  # slips that stop elsewhere go on here
    judge=ranks,
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
    triple(3, T=3, S=3, d_k=3, d_v=3),
    triple(2, 3, T=4, S=5, d_k=4, d_v=6).with_gaps(),  # no view can merge two of these axes
)  # fmt: skip
scaled.step(
    "a mask: hidden weights are exactly 0, the visible ones sum to one and keep their order",
    1,
    # as many keys as queries, as wide as the values: who needs that loses no points for the mask
    triple(2, T=5, S=5, d_k=4, d_v=4, mask=(2, 5, 5)),
    triple(3, T=3, S=3, d_k=3, d_v=3, mask=(3, 3, 3)),
    judge=ranks,
)
scaled.step(
    "masks of fewer axes; what is hidden has no effect, whatever the scores; mask untouched",
    1,
    triple(2, T=3, S=5, d_k=4, d_v=6, mask=(3, 5)),
    triple(2, T=3, S=5, d_k=4, d_v=6, mask=(1, 3, 5)),
    triple(2, T=4, S=4, d_k=3, d_v=3, mask=(4, 4)),
    points_only(triple(2, 4, T=4, S=4, d_k=4, d_v=4, mask=(2, 1, 4, 4))),
    points_only(triple(2, T=3, S=5, d_k=4, d_v=6, mask=(5,), hide=padding)),
    points_only(triple(2, T=3, S=5, d_k=4, d_v=6, mask=(2, 1, 5), hide=padding)),
    points_only(triple(2, 3, T=4, S=5, d_k=3, d_v=6, mask=(2, 1, 1, 5), hide=padding)),
    points_only(triple(2, 3, T=4, S=5, d_k=3, d_v=6, mask=(2, 1, 4, 5))),
    points_only(triple(2, 3, T=4, S=5, d_k=3, d_v=6, mask=(3, 4, 5))),
    points_only(triple(2, 3, T=4, S=5, d_k=3, d_v=6, mask=(4, 5))),
    points_only(triple(T=5, S=5, d_k=4, d_v=6, mask=(5, 5), hide=causal)),
    loud_hidden_keys(),
    # below the lowest number of float16, which some people hide keys by
    scores_near(-75_000.0, 8_000.0, mask=(2, 4, 4)),
    judge=hidden_are_zero,
    strict=True,
)
scaled.step(
    "a query with nothing to attend to gets zeros, and all gradients stay finite",
    1,
    triple(2, T=4, S=4, d_k=3, d_v=3, mask=(2, 4, 4), hide=with_empty_rows),
    triple(2, T=4, S=4, d_k=3, d_v=3, mask=(2, 4, 4), hide=with_empty_rows).with_gradients(),
    triple(2, T=5, S=5, d_k=4, d_v=4, mask=(5, 5), hide=with_empty_rows).with_gradients(),
    triple(3, T=3, S=3, d_k=3, d_v=3, mask=(3, 1), hide=all_or_nothing).with_gradients(),
    judge=WEIGHTS.agree,
)
scaled.manners(
    1,
    triple(4, T=4, S=4, d_k=4, d_v=4),
    triple(4, T=4, S=4, d_k=4, d_v=4, mask=(4, 4, 4)).with_gaps(),
    scores_near(CROWDED, CROWDED_SPREAD).in_float64(),
    points_only(scores_near(0.0, 40_000.0)),
    asks="float64 stays float64, any memory layout, untouched inputs, gradients, large scores",
)


ONE, ANY_AXES, MASK, ANY_MASK, EMPTY, MANNERS = range(1, 7)  # the steps above


for little in (0.0, 1e-9):

    @scaled.mistake("overflow", OVERFLOW, costs=(MANNERS,))
    @taking(InSteps, InSteps.share)
    def overflow(self, scores, little=little):
        exponentials = scores.exp()
        return exponentials / (exponentials.sum(dim=-1, keepdim=True) + little)


@scaled.mistake("not scaled", costs=(ANY_AXES,))
@taking(InSteps, InSteps.divisor)
def not_scaled(self, query, key, value):
    """Your numbers match scores that are not scaled. Where does √d_k come in?"""
    return 1.0


@scaled.mistake("√ of the number of keys", ROOT_OF_LENGTH, costs=(ANY_AXES,))
@taking(InSteps, InSteps.divisor)
def root_of_keys(self, query, key, value):
    return key.shape[-2] ** 0.5


@scaled.mistake("√ of the number of queries", ROOT_OF_LENGTH, costs=(ANY_AXES,))
@taking(InSteps, InSteps.divisor)
def root_of_queries(self, query, key, value):
    return query.shape[-2] ** 0.5


@scaled.mistake("√ of the first axis", costs=(ANY_AXES,))
@taking(InSteps, InSteps.divisor)
def root_of_first_axis(self, query, key, value):
    """Your numbers match scores divided by the root of the first axis's length, which is the batch
    size as soon as there is a batch. Which axis of `key` holds its width, however many axes there
    are?"""
    return len(key) ** 0.5


@scaled.mistake("√ of the key's axis 1", ROOT_OF_AXIS_ONE, costs=(ANY_AXES,))
@taking(InSteps, InSteps.divisor)
def root_of_keys_axis_one(self, query, key, value):
    return key.shape[1] ** 0.5


@scaled.mistake("√ of the query's axis 1", ROOT_OF_AXIS_ONE, costs=(ANY_AXES,))
@taking(InSteps, InSteps.divisor)
def root_of_querys_axis_one(self, query, key, value):
    return query.shape[1] ** 0.5


@scaled.mistake("√ of the value's width", costs=(ANY_AXES,))
@taking(InSteps, InSteps.divisor)
def root_of_value_width(self, query, key, value):
    """Your numbers match scores divided by the root of the value's width. The dot product runs over
    query and key; the values take no part in it."""
    return value.shape[-1] ** 0.5


@scaled.mistake("divided by d_k", costs=(ANY_AXES,))
@taking(InSteps, InSteps.divisor)
def divided_by_width(self, query, key, value):
    """Your numbers match scores divided by d_k itself. Is there a root missing?"""
    return key.shape[-1]


@scaled.mistake("multiplied by √d_k", costs=(ANY_AXES,))
@taking(InSteps, InSteps.divisor)
def times_root(self, query, key, value):
    """Your numbers match scores multiplied by √d_k. The scale makes scores smaller: is there an
    operator, or a sign in an exponent, the wrong way round?"""
    return key.shape[-1] ** -0.5


@scaled.mistake("scores negated", costs=(ANY_AXES,))
@taking(InSteps, InSteps.divisor)
def scores_negated(self, query, key, value):
    """The better a key matches, the less weight it gets: your scores have the wrong sign."""
    return -(key.shape[-1] ** 0.5)


@scaled.mistake("scaled after the softmax", costs=(ONE, ANY_AXES))
class ScaledAfterSoftmax(InSteps):
    """Your weights match a softmax that is divided by √d_k afterwards, so that rows sum to 1/√d_k.
    Which of the two comes first, the scale or the softmax?"""

    def divisor(self, query, key, value):
        self.root = key.shape[-1] ** 0.5
        return 1.0

    def share(self, scores):
        return scores.softmax(dim=-1) / self.root


@scaled.mistake("softmax over the queries", costs=(ONE, ANY_AXES))
@taking(InSteps, InSteps.share)
def over_queries(self, scores):
    """Your weights match a softmax over the queries. Each query shares out its attention over the
    keys: which axis of the scores are they?"""
    return scores.softmax(dim=-2)


for axis in (1, 0):

    @scaled.mistake(
        "softmax axis counted from the front",
        says=f"Your softmax runs over axis {axis}. "
        + "These are the keys only where there is no batch. " * (axis == 1)
        + "How do you name the last axis of a tensor, however many there are?",
        costs=(ANY_AXES,),
    )
    @taking(InSteps, InSteps.share)
    def over_axis_from_front(self, scores, axis=axis):
        return scores.softmax(dim=axis)


@scaled.mistake("softmax taken twice", costs=(ANY_AXES,))
@taking(InSteps, InSteps.share)
def weights_softmaxed_again(self, scores):
    """Your weights match a softmax of a softmax, which brings them closer together. Once is
    enough."""
    return scores.softmax(dim=-1).softmax(dim=-1)


@scaled.mistake("no softmax", costs=(ONE, ANY_AXES))
@taking(InSteps, InSteps.share)
def no_softmax(self, scores):
    """Your weights are the scores themselves. What makes weights of a row of scores?"""
    return scores


@scaled.mistake("exp without the division", costs=(ONE, ANY_AXES))
@taking(InSteps, InSteps.share)
def exp_without_sum(self, scores):
    """Your weights match exp of the scores. They are positive, but does each row sum to one?"""
    return scores.exp()


@scaled.mistake("inverted mask", costs=(MASK, ANY_MASK))
class InvertedMask(InSteps):
    """You hide what should be seen, and see what should be hidden. Here True means may attend; what
    does `masked_fill` fill?"""

    def hide(self, scores, mask):
        return hidden_by_infinity(scores, None if mask is None else ~mask)

    def fill(self, weights, mask):
        return weights if mask is None else weights.masked_fill(mask, 0.0)


@scaled.mistake("inverted mask", costs=(MASK, ANY_MASK))
@taking(InSteps, InSteps.hide)
def inverted_at_first(self, scores, mask):
    """Before the softmax you hide what the mask allows, and after it the rest, so nothing is left.
    Here True means may attend; what does `masked_fill` fill?"""
    return hidden_by_infinity(scores, None if mask is None else ~mask)


@scaled.mistake("mask after the softmax", costs=(MASK, ANY_MASK))
@taking(InSteps, InSteps.hide)
def hidden_after_softmax(self, scores, mask):
    """Your hidden weights are 0, but the rest no longer sums to one: they were hidden after the
    softmax. What must a score be before the softmax so that its weight is 0?"""
    return scores


AGAIN = (
    "You hide keys after the softmax and then divide what is left by its sum. A hidden key with a "
    "large score has taken nearly all of the one by then, and what is left has lost its digits or "
    "is as small as the number that guards the division. Before the softmax, what must a score be "
    "so that its weight is 0?"
)


def divided_again(guard: Callable[[Tensor], Tensor]) -> type:
    """Hidden after the softmax, and the rest divided by its guarded sum."""

    class DividedAgain(InSteps):
        def hide(self, scores, mask):
            return scores

        def fill(self, weights, mask):
            if mask is None:
                return weights
            weights = weights * mask
            return weights / guard(weights.sum(dim=-1, keepdim=True))

    return DividedAgain


for guard in (
    lambda total: total.clamp(min=1e-9),
    lambda total: total + 1e-9,
    lambda total: total + 1e-8,
    lambda total: total.clamp(min=1e-12),
    lambda total: total,
):
    scaled.mistake("mask after the softmax, then divided again", AGAIN, costs=(ANY_MASK,))(
        divided_again(guard)
    )


@scaled.mistake("mask ignored", costs=(MASK, ANY_MASK, EMPTY))
class MaskIgnored(InSteps):
    """Your results do not depend on the mask. Where should it act?"""

    def hide(self, scores, mask):
        return scores

    def fill(self, weights, mask):
        return weights


for filled in (False, True):

    @scaled.mistake("hidden scores set to 0", costs=(MASK, ANY_MASK, EMPTY))
    class HiddenSetToZero(InSteps):
        """Your numbers match hidden scores of 0. But exp(0) is 1, so a hidden key still gets
        weight. Of which number is exp equal to 0?"""

        def hide(self, scores, mask):
            return scores if mask is None else scores * mask

        def fill(self, weights, mask, filled=filled):
            return weights * mask if filled and mask is not None else weights


for filled in (False, True):

    @scaled.mistake("mask added as numbers", costs=(MASK, ANY_MASK, EMPTY))
    class MaskAdded(InSteps):
        """You add the mask to the scores, so that True counts as 1 and False as 0. A hidden score
        must be minus infinity; the others stay as they are."""

        def hide(self, scores, mask):
            return scores if mask is None else scores + mask

        def fill(self, weights, mask, filled=filled):
            return weights * mask if filled and mask is not None else weights


for low in (-1e4, -65504.0, -1e3, -100.0):

    @scaled.mistake("hidden by a number that is not low enough", costs=(ANY_MASK,))
    @taking(InSteps, InSteps.hide)
    def not_low_enough(self, scores, mask, low=low):
        """You hide a key by a number such as -10000 in place of its score. Scores that are seen may
        be lower still, and then the hidden keys get all the weight. Which number is below all
        others?"""
        return scores if mask is None else scores.masked_fill(~mask, low)


@scaled.mistake("NaN where nothing is visible", costs=(EMPTY,))
@taking(InSteps, InSteps.fill)
def nan_rows(self, weights, mask):
    """All is right until a query may attend to nothing: then all its scores are minus infinity, and
    the softmax divides 0 by 0. What do you know about such a row after the softmax?"""
    return weights


for lowest in (lambda scores: -1e9, lambda scores: torch.finfo(scores.dtype).min):

    @scaled.mistake("all is seen where nothing is visible", costs=(EMPTY,))
    class AllSeenWhereNothingIs(InSteps):
        """All is right until a query may attend to nothing: then all its scores are the same large
        negative number, and a softmax of equal scores gives equal weights. What do you know about
        such a row after the softmax?"""

        def hide(self, scores, mask, lowest=lowest):
            return scores if mask is None else scores.masked_fill(~mask, lowest(scores))

        def fill(self, weights, mask):
            return weights


@scaled.mistake("mask needs all axes", costs=(ANY_MASK,))
@taking(InSteps, InSteps.hide)
def hidden_by_index(self, scores, mask):
    """Your function works when the mask has the very shape of the scores and stops when it has
    fewer axes: indexing with a mask does not broadcast. `masked_fill` and `torch.where` do."""
    if mask is None:
        return scores
    scores = scores.clone()
    scores[~mask] = -math.inf
    return scores


@scaled.mistake(".T on batches", costs=(ANY_AXES,))
@taking(InSteps, InSteps.compare)
def all_axes_reversed(self, query, key):
    """Your transpose reverses all axes of the key, the batch too, as `.T` does. Only the last two
    should change places, however many there are."""
    return query @ key.permute(*reversed(range(key.dim())))


@scaled.mistake("axes 1 and 2 transposed", costs=(ANY_AXES,))
@taking(InSteps, InSteps.compare)
def axes_one_and_two(self, query, key):
    """You transpose axes 1 and 2. These are the last two only when there are three. Count the axes
    from the end."""
    return query @ key.transpose(1, 2)


@scaled.mistake("three axes only", costs=(ANY_AXES,))
@taking(InSteps, InSteps.compare)
def three_axes(self, query, key):
    """Your function works for exactly three axes, as `torch.bmm` does. Which product treats the
    last two axes as matrices and everything before them as a stack?"""
    return torch.bmm(query, key.mT)


@scaled.mistake("reshape for transpose", costs=(ONE, ANY_AXES))
@taking(InSteps, InSteps.compare)
def key_reshaped(self, query, key):
    """The shape fits, but `reshape` and `view` keep the numbers in their old order. Rows become
    columns with a transpose."""
    return query @ key.reshape(key.mT.shape)


@scaled.mistake("query and key swapped", costs=(ONE, ANY_AXES))
@taking(InSteps, InSteps.compare)
def query_and_key_swapped(self, query, key):
    """You score keys against queries. Rows of the scores belong to the queries: their shape is
    (..., T, S)."""
    return key @ query.mT


@scaled.mistake("query used as key", costs=(ONE, ANY_AXES))
@taking(InSteps, InSteps.compare)
def query_for_key(self, query, key):
    """You compare the queries with themselves. Compare each query with the keys."""
    return query @ query.mT


@scaled.mistake("key used as value", costs=(ANY_AXES,))
@taking(InSteps, InSteps.collect)
def key_for_value(self, weights, query, key, value):
    """Your output is a weighted sum of the keys. What the weights weigh are the values."""
    return weights @ key


@scaled.mistake("query used as value", costs=(ANY_AXES,))
@taking(InSteps, InSteps.collect)
def query_for_value(self, weights, query, key, value):
    """Your output is a weighted sum of the queries. What the weights weigh are the values."""
    return weights @ query


@scaled.mistake("weights transposed before the sum", costs=(ANY_AXES,))
@taking(InSteps, InSteps.collect)
def weights_transposed(self, weights, query, key, value):
    """Your output sums down the columns of the weights. Each query uses its own row: is there a
    transpose too much?"""
    return weights.mT @ value


@scaled.mistake("values added to the output", costs=(ANY_AXES,))
@taking(InSteps, InSteps.collect)
def plus_values(self, weights, query, key, value):
    """Your output is the weighted sum plus the values. Nothing is added here. (Adding the input
    comes in lecture 8.)"""
    return weights @ value + value


@scaled.mistake("plain mean of the values", costs=(ONE, ANY_AXES))
@taking(InSteps, InSteps.share)
def equal_weights(self, scores):
    """All your weights are the same, so every query gets the plain mean. Where do the scores
    enter? And along which axis runs the softmax?"""
    return torch.full_like(scores, 1 / scores.shape[-1])


@scaled.mistake("cosine similarity", costs=(ONE, ANY_AXES))
@taking(InSteps, InSteps.compare)
def cosine(self, query, key):
    """Your numbers match cosine similarity: queries and keys were divided by their lengths first.
    Take the plain dot products; their sizes matter."""
    return (query / query.norm(dim=-1, keepdim=True)) @ (key / key.norm(dim=-1, keepdim=True)).mT


@scaled.mistake("mask in the weights alone", costs=(ANY_MASK,))
class MaskInTheWeightsAlone(InSteps):
    """Your weights know the mask, and your output does not: hidden values are in the sum. Which
    weights does your output use?"""

    def answer(self, query, key, value, mask=None):
        without = InSteps.answer(self, query, key, value)
        return without[0], InSteps.answer(self, query, key, value, mask)[1]


@scaled.mistake("value width assumed = key width", costs=(ANY_AXES,))
@taking(InSteps, InSteps.collect)
def value_as_wide_as_key(self, weights, query, key, value):
    """Your function works only where the values are as wide as the keys. The output is (..., T,
    d_v): where does your code use the width of query or key for it?"""
    return (weights @ value).reshape(query.shape)


@scaled.mistake("value width assumed = key width", costs=(ANY_AXES,))
@taking(InSteps, InSteps.collect)
def value_cut_to_width_of_key(self, weights, query, key, value):
    """Your output is cut to the width of the keys. It is as wide as the values, (..., T, d_v):
    where does your code use the width of query or key for it?"""
    return (weights @ value)[..., : key.shape[-1]]


@scaled.mistake("as many keys as queries assumed", costs=(ANY_AXES,))
@taking(InSteps, InSteps.result)
def as_many_keys_as_queries(self, output, weights, scores):
    """Your function works only where T = S. The weights are (..., T, S): where does your code take
    one length for the other?"""
    return output, weights.reshape(*weights.shape[:-1], weights.shape[-2])


@scaled.mistake("sentences of a batch mixed", costs=(ANY_AXES,))
class OneLongSentence(InSteps):
    """Your words attend to words of other sentences: the leading axes were flattened into one long
    sentence. They stay apart."""

    def answer(self, query, key, value, mask=None):
        flat = [item.reshape(-1, item.shape[-1]) for item in (query, key, value)]
        output, weights = attention.scaled_dot_product_attention(*flat, mask)
        return output.reshape(*query.shape[:-1], -1), weights


@scaled.mistake("scores returned for weights", costs=(ONE, ANY_AXES))
@taking(InSteps, InSteps.result)
def scores_for_weights(self, output, weights, scores):
    """The output is right, but the second result holds the scores. Return what comes out of the
    softmax."""
    return output, scores


@scaled.mistake("results in the wrong order", costs=(ONE,))
@taking(InSteps, InSteps.result)
def swapped_results(self, output, weights, scores):
    """You return the weights first. The course returns the output first, the weights second."""
    return weights, output


@scaled.mistake("output returned without the weights", costs=(ONE,))
@taking(InSteps, InSteps.result)
def output_alone(self, output, weights, scores):
    """The output is right, but it comes alone. The weights are asked for, too."""
    return output


def of_words(wrong: type) -> type:
    """The same mistake in NumPy, with queries, keys and values made from words."""
    changed = {name: value for name, value in vars(wrong).items() if callable(value)}
    return type(wrong.__name__, (OfWords,), {**changed, "__doc__": wrong.__doc__})


for costs, shared in (
    (LARGE, (overflow,)),
    (EXACT, (not_scaled, divided_by_width, times_root, root_of_value_width, weights_softmaxed_again,
             weights_transposed, plus_values)),
    (ROWS, (ScaledAfterSoftmax, scores_for_weights, swapped_results, output_alone, scores_negated,
            no_softmax, exp_without_sum, equal_weights, cosine)),
):  # fmt: skip
    for wrong in shared:
        known = next(mistake for mistake in scaled.mistakes if mistake.in_steps is wrong)
        in_numpy.mistake(known.name, known.says, costs=(costs,))(of_words(wrong))

ASSIGNMENT = Assignment(
    "a3_scaled_dot_product_attention", parts=(stable, in_numpy, scaled), barred=ATTENTION
)
