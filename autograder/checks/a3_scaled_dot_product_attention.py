"""Assignment 3: a softmax that cannot overflow, self-attention in NumPy, scaled attention in PyTorch.

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
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.check import Assignment, Case, Mistake, Part, Step
from autograder.compare import hidden_are_zero, kind_of, numbers
from course_utils import attention

LECTURE = "../../lectures/03_scaled_dot_product_attention.ipynb"

# exp(709.1 … 709.6) is finite in float64, and the sum of two such numbers is not
CROWDED, CROWDED_SPREAD = 709.35, 0.25


def points_only(label: str, draw: Callable[..., list], **how: Any) -> Case:
    """A case in which wrong answers may hold NaN, so that it says nothing about which one it was."""
    return Case(label, draw, random=True, **how)


# -------------------------------------------------------------------------------- what is drawn


def as_scores(
    *shape: int,
    axis: int | None = None,
    size: float = 1.5,
    start: float = 0.0,
    dtype: type = np.float64,
) -> Callable[..., list]:
    """Draws (scores,) or (scores, axis): normal numbers of standard deviation `size` about `start`."""

    def draw(generator: torch.Generator) -> list[Any]:
        values = torch.randn(shape, generator=generator, dtype=torch.float64) * size + start
        array = values.numpy().astype(dtype)
        return [array] if axis is None else [array, axis]

    return draw


def crowded_scores(rows: int, columns: int, lowest: float | None = None) -> Callable[..., list]:
    """Draws scores whose exponentials are finite while their sum is not, maybe with one far below."""

    def draw(generator: torch.Generator) -> list[Any]:
        values = torch.rand(rows, columns, generator=generator, dtype=torch.float64)
        values = CROWDED + CROWDED_SPREAD * (2 * values - 1)
        if lowest is not None:
            values[:, 1] = lowest
        return [values.numpy()]

    return draw


def rows_far_apart(generator: torch.Generator) -> list[Any]:
    """Draws two rows, the second so far below the first that exp of the distance loses its digits."""
    values = torch.rand(2, 5, generator=generator, dtype=torch.float64)
    values[0] *= -3
    values[0, 2] = 1.0
    values[1] = -740 - 2 * values[1]
    return [values.numpy()]


def with_infinities(*shape: int, axis: int) -> Callable[..., list]:
    """Draws (scores, axis) in which every third score is minus infinity, none of a kind alone."""

    def draw(generator: torch.Generator) -> list[Any]:
        values = torch.randn(shape, generator=generator, dtype=torch.float64)
        places = torch.arange(shape[axis]) % 3 == 1
        return [values.transpose(axis, -1).masked_fill(places, -math.inf).transpose(axis, -1)
                .contiguous().numpy(), axis]  # fmt: skip

    return draw


def well_apart(weights: Tensor) -> bool:
    """Whether no rounding can change the order of the weights in a row."""
    return bool((weights.log().sort(dim=-1).values.diff(dim=-1) > 0.02).all())


def projections(
    length: int, width: int, d_k: int, d_v: int, size: float = 1.0, dtype: type = np.float64
) -> Callable[..., list]:
    """Draws (X, Wq, Wk, Wv) with weights that differ clearly from each other."""

    def draw(generator: torch.Generator) -> list[Any]:
        while True:
            X, Wq, Wk, Wv = (
                torch.randn(rows, columns, generator=generator, dtype=torch.float64)
                for rows, columns in ((length, width), (width, d_k), (width, d_k), (width, d_v))
            )
            # entries of queries and keys have a standard deviation of 1.2, whatever the widths
            Wq, Wk = Wq * 1.2 / width**0.5, Wk * 1.2 / width**0.5
            scores = (X @ Wq) @ (X @ Wk).T / d_k**0.5
            if well_apart(scores.softmax(dim=-1)):
                return [(X * size).numpy().astype(dtype)] + [
                    item.numpy().astype(dtype) for item in (Wq, Wk, Wv)
                ]

    return draw


def crowded_projections(length: int, width: int, d_k: int, d_v: int) -> Callable[..., list]:
    """Draws (X, Wq, Wk, Wv) whose scaled scores are crowded: each exp is finite, no sum of them is."""

    def draw(generator: torch.Generator) -> list[Any]:
        X, Wq, Wk, Wv = projections(length, width, d_k, d_v)(generator)
        # a first entry that all words share gives all scores the same large part
        X[:, 0] = 1.0
        Wq[:, 0] = Wk[:, 0] = 0.0
        rest = (X @ Wq) @ (X @ Wk).T / d_k**0.5
        Wq *= CROWDED_SPREAD / np.abs(rest).max()
        Wq[0, 0] = Wk[0, 0] = (CROWDED * d_k**0.5) ** 0.5
        return [X, Wq, Wk, Wv]

    return draw


def triple(
    leading: tuple[int, ...],
    queries: int,
    keys: int,
    d_k: int,
    d_v: int,
    dtype: torch.dtype = torch.float32,
    mask: Callable[[torch.Generator], Tensor | None] | None = None,
    common: float = 0.0,
    spread: float = 1.0,
) -> Callable[..., list]:
    """Draws (query, key, value), and a mask if there is one.

    The scaled scores vary by about `spread` around `common`.
    """

    def draw(generator: torch.Generator) -> list[Any]:
        while True:
            query, key, value = (
                torch.randn(*leading, rows, columns, generator=generator, dtype=torch.float64)
                for rows, columns in ((queries, d_k), (keys, d_k), (keys, d_v))
            )
            query = query * 1.4 * spread
            if common:
                query[..., 0] = (abs(common) * d_k**0.5) ** 0.5
                key[..., 0] = math.copysign((abs(common) * d_k**0.5) ** 0.5, common)
            scores = query @ key.transpose(-2, -1) / d_k**0.5
            if spread > 1 or well_apart(scores.softmax(dim=-1)):
                break
        drawn = [item.to(dtype) for item in (query, key, value)]
        return drawn if mask is None else [*drawn, mask(generator)]

    return draw


def crowded_triple(queries: int, keys: int, d_k: int, d_v: int) -> Callable[..., list]:
    """Draws (query, key, value) whose scaled scores are crowded: each exp is finite, no sum is."""

    def draw(generator: torch.Generator) -> list[Any]:
        draw_one = triple((2,), queries, keys, d_k, d_v, torch.float64)
        query, key, value = draw_one(generator)
        query[..., 0] = key[..., 0] = 0.0
        rest = query @ key.transpose(-2, -1) / d_k**0.5
        query *= CROWDED_SPREAD / rest.abs().max()
        query[..., 0] = key[..., 0] = (CROWDED * d_k**0.5) ** 0.5
        return [query, key, value]

    return draw


def decided_triple(
    queries: int,
    keys: int,
    d_k: int,
    d_v: int,
    mask: Callable[[torch.Generator], Tensor] | None = None,
    common: float = 0.0,
    spread: float = 8000.0,
) -> Callable[..., list]:
    """Draws float32 (query, key, value), and a mask, with scaled scores in the ten thousands.

    In every row one visible score is far above the others, so that it does not matter in which
    order an answer rounds.
    """
    draw_one = triple((2,), queries, keys, d_k, d_v, mask=mask, common=common, spread=spread)

    def draw(generator: torch.Generator) -> list[Any]:
        while True:
            drawn = draw_one(generator)
            scores = drawn[0] @ drawn[1].transpose(-2, -1) / d_k**0.5
            visible = scores if mask is None else scores.masked_fill(~drawn[3], -math.inf)
            best = visible.topk(2, dim=-1).values
            clear = (best[..., 0] - best[..., 1]).min() > 200
            if clear and scores.abs().max() < 90_000 and (not common or scores.max() < -66_000):
                return drawn

    return draw


def partial(*shape: int) -> Callable[[torch.Generator], Tensor]:
    """Draws a mask of which no row and no column is wholly hidden or wholly visible."""

    def draw(generator: torch.Generator) -> Tensor:
        while True:
            mask = torch.rand(shape, generator=generator) < 0.55
            mixed = [mask.any(dim) & ~mask.all(dim) for dim in (-1, -2)]
            if all(bool(item.all()) for item in mixed):
                return mask

    return draw


def padding(*shape: int) -> Callable[[torch.Generator], Tensor]:
    """Draws a mask over keys that hides the last one or two of each sentence."""

    def draw(generator: torch.Generator) -> Tensor:
        hidden = torch.randint(1, 3, (*shape[:-1], 1), generator=generator)
        return torch.arange(shape[-1]).expand(shape) < shape[-1] - hidden

    return draw


def with_empty_rows(*shape: int) -> Callable[[torch.Generator], Tensor]:
    """Draws a mask in which the second row, and the last one, may attend to nothing."""

    def draw(generator: torch.Generator) -> Tensor:
        mask = partial(*shape)(generator)
        mask[..., 1, :] = False
        mask[..., -1, :] = False
        return mask

    return draw


def whole_rows(queries: int) -> Callable[[torch.Generator], Tensor]:
    """A mask of shape (T, 1): a query may attend to all keys or to none."""
    return lambda generator: (torch.arange(queries) != 1).unsqueeze(1)


def causal(length: int) -> Callable[[torch.Generator], Tensor]:
    """The mask of lecture 4 that hides the future; its last row hides nothing."""
    return lambda generator: torch.ones(length, length, dtype=torch.bool).tril()


def loud_hidden_keys(generator: torch.Generator) -> list[Any]:
    """Draws (query, key, value, mask): what is hidden would take all the weight if it were seen."""
    query, key, value = triple((2,), 3, 5, 4, 6)(generator)
    query[..., 0] = query[..., 0].abs() + 1.0
    mask = torch.ones(2, 1, 5, dtype=torch.bool)
    mask[0, :, 3] = mask[1, :, 1] = False
    hidden = ~mask.transpose(-2, -1)
    key = torch.where(hidden, torch.tensor([2000.0, 0.0, 0.0, 0.0]), key)
    return [query, key, torch.where(hidden, 1e4, value), mask]


# ------------------------------------------------------------------------------------ judges


def ranks(expected: Any, got: Any) -> str | None:
    """Accept any weights, as second result, that sum to one and order the keys as expected.

    Hidden weights must be exactly 0. So an answer that has only the scale wrong earns this step.
    """
    problem = _two_of_these_shapes(expected, got)
    if problem:
        return problem
    wanted, found = (torch.as_tensor(pair[1]).double() for pair in (expected, got))
    if not torch.isfinite(found).all():
        return "the weights hold NaN or infinity"
    sums = found.sum(dim=-1)
    if (found[wanted == 0] != 0).any():
        return (
            "a hidden key has weight "
            f"{float(found[wanted == 0].abs().max()):.3g}: hidden weights are exactly 0"
        )
    if not torch.allclose(sums, torch.ones_like(sums), atol=1e-4):
        down = found.sum(dim=-2)
        downwards = torch.allclose(down, torch.ones_like(down), atol=1e-4)
        return (
            f"each row of the weights should sum to 1; your rows sum to {numbers(sums)}"
            f"{' and your columns to 1: along which axis does the softmax run?' * downwards}"
        )
    if (found < 0).any():
        return f"weights cannot be negative; the smallest is {float(found.min()):.4g}"
    order, other = (item.argsort(dim=-1, descending=True, stable=True) for item in (wanted, found))
    if not torch.equal(order, other):
        row = tuple((order != other).any(dim=-1).nonzero()[0].tolist())
        return (
            f"in row {list(row)}, the keys by falling weight should be {order[row].tolist()} and "
            f"are {other[row].tolist()} (counting from 0)"
        )
    return None


def _two_of_these_shapes(expected: tuple, got: Any) -> str | None:
    if not isinstance(got, tuple | list) or len(got) != 2:
        return f"expected {kind_of(expected)}, got {kind_of(got)}"
    for number, (wanted, item) in enumerate(zip(expected, got, strict=True)):
        if not isinstance(item, torch.Tensor | np.ndarray) or item.shape != wanted.shape:
            return f"in result {number} (counting from 0), expected {kind_of(wanted)}, got {kind_of(item)}"
    return None


def empty_rows_are_zero(expected: Any, got: Any) -> str | None:
    """Like `hidden_are_zero`; says what went wrong in rows with nothing to attend to."""
    problem = _two_of_these_shapes(expected, got)
    if problem:
        return problem
    found = torch.as_tensor(got[1])[(expected[1] == 0).all(dim=-1)]
    if found.isnan().any():
        return (
            "NaN rows: a query that may attend to nothing gets NaN. A softmax of nothing but minus "
            "infinity is 0 divided by 0; which rows are these, and what belongs there instead?"
        )
    if (found != 0).any():
        return (
            "a query that may attend to nothing should get only zeros; its weights are "
            f"{numbers(found[0])}. Does it attend to what is hidden?"
        )
    return hidden_are_zero(expected, got)


# ------------------------------------------------------------- wrong answers that people give


def quietly(answer: Callable[..., Any]) -> Callable[..., Any]:
    """The same function without NumPy's warnings: overflow is its mistake, and not ours to hear."""

    def call(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return answer(*arguments)

    return call


def softmax_with(
    subtract: Callable[[np.ndarray, int], Any],
    total: Callable[[np.ndarray, int], Any] = lambda e, axis: e.sum(axis=axis, keepdims=True),
) -> Callable[..., np.ndarray]:
    """stable_softmax that subtracts something else, or divides by something else."""

    def answer(scores: np.ndarray, axis: int = -1) -> np.ndarray:
        exponentials = np.exp(scores - subtract(scores, axis))
        return exponentials / total(exponentials, axis)

    return quietly(answer)


def row_maximum(scores: np.ndarray, axis: int) -> np.ndarray:
    return scores.max(axis=axis, keepdims=True)


def flat_total(exponentials: np.ndarray, axis: int) -> np.ndarray:
    return exponentials.sum(axis=axis)


literal_softmax = softmax_with(lambda scores, axis: 0.0)


def last_axis_always(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    return attention.stable_softmax(scores)


def first_axis_always(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    return attention.stable_softmax(scores, axis=0)


def exponentials_alone(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.exp(scores - scores.max(axis=axis, keepdims=True))


def logarithms(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.log(attention.stable_softmax(scores, axis))


def divided_by_maximum(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    with np.errstate(all="ignore"):
        exponentials = np.exp(scores / scores.max(axis=axis, keepdims=True))
        return exponentials / exponentials.sum(axis=axis, keepdims=True)


def numpy_attention(
    divide: Callable[..., float] = lambda X, Wq, Wk, Wv: Wk.shape[1] ** 0.5,
    softmax: Callable[..., np.ndarray] = attention.stable_softmax,
    after: bool = False,
    swap: bool = False,
    mix: Callable[..., np.ndarray] = lambda X, Wq, Wk, Wv: X @ Wv,
    result: Callable[..., Any] = lambda output, weights: (output, weights),
    show: Callable[..., np.ndarray] = lambda scores, weights: weights,
) -> Callable[..., Any]:
    """numpy_self_attention with one thing different."""

    def answer(X: np.ndarray, Wq: np.ndarray, Wk: np.ndarray, Wv: np.ndarray) -> Any:
        query, key = (X @ Wk, X @ Wq) if swap else (X @ Wq, X @ Wk)
        by = divide(X, Wq, Wk, Wv)
        scores = query @ key.T if after else query @ key.T / by
        weights = softmax(scores) / by if after else softmax(scores)
        return result(weights @ mix(X, Wq, Wk, Wv), show(scores, weights))

    return quietly(answer)


def over_the_matrix(scores: np.ndarray) -> np.ndarray:
    return attention.stable_softmax(scores.ravel()).reshape(scores.shape)


def hide(scores: Tensor, mask: Tensor | None) -> Tensor:
    return scores if mask is None else scores.masked_fill(~mask, -math.inf)


def root_of_width(query: Tensor, key: Tensor, value: Tensor) -> float:
    return math.sqrt(key.shape[-1])


def attend(
    divide: Callable[[Tensor, Tensor, Tensor], float] = root_of_width,
    dim: int = -1,
    after: bool = False,
    hide: Callable[[Tensor, Tensor | None], Tensor] = hide,
    score: Callable[[Tensor, Tensor], Tensor] = lambda query, key: query @ key.transpose(-2, -1),
    softmax: Callable[..., Tensor] = torch.softmax,
    mix: Callable[..., Tensor] = lambda query, key, value: value,
    result: Callable[..., Any] = lambda output, weights, scores: (output, weights),
) -> Callable[..., Any]:
    """scaled_dot_product_attention with one thing different."""

    def answer(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Any:
        by = divide(query, key, value)
        scores = score(query, key) if after else score(query, key) / by
        weights = softmax(hide(scores, mask), dim=dim)
        if after:
            weights = weights / by
        return result(weights @ mix(query, key, value), weights, scores)

    return answer


def hidden_after_softmax(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    weights = attention.scaled_dot_product_attention(query, key, value)[1]
    weights = weights if mask is None else weights * mask
    return weights @ value, weights


def torch_exp_and_sum(scores: Tensor, dim: int) -> Tensor:
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def inverted(scores: Tensor, mask: Tensor | None) -> Tensor:
    return scores if mask is None else scores.masked_fill(mask, -math.inf)


def ignored(scores: Tensor, mask: Tensor | None) -> Tensor:
    return scores


def set_to_zero(scores: Tensor, mask: Tensor | None) -> Tensor:
    return scores if mask is None else scores * mask


def added(scores: Tensor, mask: Tensor | None) -> Tensor:
    return scores if mask is None else scores + mask


def by_index(scores: Tensor, mask: Tensor | None) -> Tensor:
    if mask is not None:
        scores[~mask] = -math.inf
    return scores


def all_axes_reversed(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.permute(*reversed(range(key.dim())))


def axes_one_and_two(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(1, 2)


def reshaped(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])


def three_axes(query: Tensor, key: Tensor) -> Tensor:
    return torch.bmm(query, key.transpose(1, 2))


def value_as_wide_as_key(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    output, weights = attention.scaled_dot_product_attention(query, key, value, mask)
    return output.reshape(query.shape), weights


def as_many_keys_as_queries(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    output, weights = attention.scaled_dot_product_attention(query, key, value, mask)
    return output, weights.reshape(*query.shape[:-1], query.shape[-2])


def one_long_sentence(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    flat = [item.reshape(-1, item.shape[-1]) for item in (query, key, value)]
    output, weights = attention.scaled_dot_product_attention(*flat, mask)
    return output.reshape(*query.shape[:-1], -1), weights


# ------------------------------------------------------------------------------------ the parts


OVERFLOW = (
    "Your numbers match exp without anything subtracted first. From about 709 on, exp (or already "
    "the sum of several) is too large for float64. What may you subtract from a whole row without "
    "changing its weights?"
)
UNSCALED = "Your numbers match scores that are not scaled. Where does √d_k come in?"
ROOT_OF_LENGTH = (
    "Your numbers match scores divided by the root of the number of words. The scale is about the "
    "width of a key, the number of terms in one dot product. Which axis of `key` is that?"
)
BY_WIDTH = "Your numbers match scores divided by d_k itself. Is there a root missing?"
TIMES_ROOT = (
    "Your numbers match scores multiplied by √d_k. The scale makes scores smaller: is there an "
    "operator, or a sign in an exponent, the wrong way round?"
)
SCALED_AFTER = (
    "Your weights match a softmax that is divided by √d_k afterwards, so that rows sum to 1/√d_k. "
    "Which of the two comes first, the scale or the softmax?"
)
ROOT_OF_AXIS_ONE = (
    "Your numbers match scores divided by the root of the length of axis 1, `shape[1]`. That is the "
    "width only where there is no batch. How do you name the last axis, however many there are?"
)
ONE_ROOT_TOO_FAR = (
    "Your numbers match scores divided by the root of the value's width. The dot product runs over "
    "query and key; the values take no part in it."
)

stable_softmax = Part(
    name="stable_softmax",
    signature="stable_softmax(scores, axis=-1) -> weights, an array like scores",
    reference=attention.stable_softmax,
    steps=(
        Step(
            "along the last axis: exact weights for one row and for a matrix",
            1,
            (
                Case("a row of 5 scores", as_scores(5)),
                Case("scores of shape (3, 5)", as_scores(3, 5)),
                Case("scores of shape (5, 2), axis=-1", as_scores(5, 2, axis=-1)),
            ),
        ),
        Step(
            "along any axis of any array, and the scores stay as they were",
            1,
            (
                Case("shape (3, 5), axis=0", as_scores(3, 5, axis=0)),
                Case("shape (4, 4), axis=1", as_scores(4, 4, axis=1)),
                Case("shape (4, 4), axis=0", as_scores(4, 4, axis=0)),
                Case("shape (2, 3, 5), axis=1", as_scores(2, 3, 5, axis=1)),
                Case("shape (2, 3, 5), axis=-3", as_scores(2, 3, 5, axis=-3)),
                Case("shape (2, 7, 3, 5), no axis given", as_scores(2, 7, 3, 5)),
                Case("shape (2, 7, 3, 5), axis=-2", as_scores(2, 7, 3, 5, axis=-2)),
                Case("shape (3, 1), axis=-1", as_scores(3, 1, axis=-1)),
                Case("float32, shape (3, 5)", as_scores(3, 5, start=2.0, dtype=np.float32)),
            ),
            strict=True,
        ),
        Step(
            "scores of any size, also rows far apart from each other; minus infinity gets weight 0",
            1,
            (
                Case("shape (3, 5), all scores near 709", crowded_scores(3, 5)),
                Case("shape (3, 5), scores near 709 and one at 0", crowded_scores(3, 5, 0.0)),
                Case("two rows, one near 0, one near -741", rows_far_apart),
                points_only("scores in the thousands, shape (3, 5)", as_scores(3, 5, size=3000.0)),
                points_only("a row near 100 000", as_scores(5, start=1e5)),
                points_only("shape (3, 5), near -100 000, axis=0",
                            as_scores(3, 5, axis=0, start=-1e5)),
                points_only("float32, scores in the thousands",
                            as_scores(3, 5, size=2000.0, dtype=np.float32)),
                points_only("some scores are minus infinity", with_infinities(2, 5, axis=-1)),
                points_only("some are minus infinity, axis=0", with_infinities(7, 3, axis=0)),
            ),
        ),
    ),
    mistakes=(
        Mistake("overflow", literal_softmax, OVERFLOW),
        Mistake(
            "one maximum for the whole array",
            softmax_with(lambda scores, axis: scores.max()),
            "You subtract the largest number of the whole array. A row far below it becomes nothing "
            "but zeros. Each row needs a maximum of its own.",
        ),
        Mistake(
            "a maximum of at least 0",
            softmax_with(lambda scores, axis: np.maximum(row_maximum(scores, axis), 0.0)),
            "Your maximum is never below 0. Does its search start at 0? In a row far below 0, all "
            "exponentials then become 0, or lose their digits. Start with a score of the row.",
        ),
        Mistake(
            "minimum subtracted",
            softmax_with(lambda scores, axis: scores.min(axis=axis, keepdims=True)),
            "You subtract the smallest score of each row, so the largest exponent is still large. "
            "Which number must you subtract so that no exponent is above 0?",
        ),
        Mistake(
            "divided by the maximum",
            divided_by_maximum,
            "Your numbers match scores divided by the largest one. That changes the weights; a "
            "softmax forgives a number that is added to all scores, not a factor.",
        ),
        Mistake(
            "axis ignored",
            last_axis_always,
            "Your weights sum to one along the last axis whatever `axis` says. Does each step use "
            "the argument?",
        ),
        Mistake(
            "first axis always",
            first_axis_always,
            "Your weights sum to one along axis 0 whatever `axis` says. Does each step use the "
            "argument?",
        ),
        Mistake(
            "sum over the whole array",
            softmax_with(row_maximum, lambda e, axis: e.sum()),
            "You divide by the sum of the whole array. Each row is divided by its own sum: give the "
            "sum its axis.",
        ),
        Mistake(
            "maximum and sum lose their axis",
            softmax_with(lambda scores, axis: scores.max(axis=axis), flat_total),
            "`max` and `sum` drop the axis that they run along, and what is left is spread over the "
            "wrong one. Which argument keeps it, with length 1?",
        ),
        Mistake(
            "the sum loses its axis",
            softmax_with(row_maximum, flat_total),
            "The maximum is right, but the sum drops the axis that it runs along and is spread over "
            "the wrong one. Which argument keeps it, with length 1?",
        ),
        Mistake(
            "the maximum loses its axis",
            softmax_with(lambda scores, axis: scores.max(axis=axis)),
            "The sum is right, but the maximum drops the axis that it runs along and is spread over "
            "the wrong one. Which argument keeps it, with length 1?",
        ),
        Mistake(
            "exp without the division",
            exponentials_alone,
            "Your numbers match exp of the differences to the maximum. The last step is missing: "
            "weights sum to one.",
        ),
        Mistake(
            "logarithms of the weights",
            logarithms,
            "Your numbers are the logarithms of the weights. Is there an exp missing at the end?",
        ),
    ),
    reads=(
        "lecture 3, section 5, a softmax that cannot overflow",
        f"{LECTURE}#5.-A-softmax-that-cannot-overflow",
    ),
    barred=(
        "softmax", "log_softmax", "softmin", "logsumexp", "Softmax", "LogSoftmax", "Softmin",
        "_softmax", "special_softmax", "special_log_softmax", "special_logsumexp",
        "scaled_dot_product_attention", "_scaled_dot_product_attention", "MultiheadAttention",
        "multi_head_attention_forward",
    ),
)  # fmt: skip

numpy_self_attention = Part(
    name="numpy_self_attention",
    signature="numpy_self_attention(X (T, D), Wq (D, d_k), Wk (D, d_k), Wv (D, d_v)) "
    "-> (output (T, d_v), weights (T, T))",
    reference=attention.numpy_self_attention,
    steps=(
        Step(
            "the second result holds weights: each row sums to one and ranks the words rightly",
            1,
            (
                Case("T=5, D=3, d_k=4, d_v=6", projections(5, 3, 4, 6)),
                Case("T=3, D=6, d_k=5, d_v=2", projections(3, 6, 5, 2)),
            ),
            judge=ranks,
        ),
        Step(
            "output and weights are exact, whatever the length and the widths",
            1,
            (
                Case("T=5, D=3, d_k=4, d_v=6", projections(5, 3, 4, 6)),
                Case("T=4, D=7, d_k=2, d_v=3", projections(4, 7, 2, 3)),
                Case("T=D=d_k=d_v=3", projections(3, 3, 3, 3)),
                Case("T=2, D=5, d_k=1, d_v=1", projections(2, 5, 1, 1)),
                Case("a single word, D=3, d_k=4, d_v=6", projections(1, 3, 4, 6)),
            ),
        ),
        Step(
            "large scores give no NaN; float32 arrays work; the inputs stay as they were",
            1,
            (
                Case("scaled scores near 709, T=5, D=3, d_k=4, d_v=6",
                     crowded_projections(5, 3, 4, 6)),
                points_only("X 100 times as large, T=5, D=3, d_k=4, d_v=6",
                            projections(5, 3, 4, 6, size=100.0)),
                Case("float32, T=5, D=3, d_k=4, d_v=6",
                     projections(5, 3, 4, 6, dtype=np.float32)),
            ),
            strict=True,
        ),
    ),
    mistakes=(
        Mistake("overflow", numpy_attention(softmax=literal_softmax), OVERFLOW),
        Mistake("not scaled", numpy_attention(lambda X, Wq, Wk, Wv: 1.0), UNSCALED),
        Mistake(
            "√ of the length", numpy_attention(lambda X, Wq, Wk, Wv: len(X) ** 0.5), ROOT_OF_LENGTH
        ),
        Mistake("divided by d_k", numpy_attention(lambda X, Wq, Wk, Wv: Wk.shape[1]), BY_WIDTH),
        Mistake(
            "multiplied by √d_k",
            numpy_attention(lambda X, Wq, Wk, Wv: Wk.shape[1] ** -0.5),
            TIMES_ROOT,
        ),
        Mistake("scaled after the softmax", numpy_attention(after=True), SCALED_AFTER),
        Mistake(
            "√ of the word vectors' width",
            numpy_attention(lambda X, Wq, Wk, Wv: X.shape[1] ** 0.5),
            "Your numbers match scores divided by √D, the width of the words in X. What counts is "
            "the width of queries and keys, after the projection.",
        ),
        Mistake(
            "√ of the value's width",
            numpy_attention(lambda X, Wq, Wk, Wv: Wv.shape[1] ** 0.5),
            ONE_ROOT_TOO_FAR,
        ),
        Mistake(
            "softmax over the columns",
            numpy_attention(softmax=lambda scores: attention.stable_softmax(scores, axis=0)),
            "Your columns sum to one, and it should be your rows: row i says how word i shares out "
            "its attention.",
        ),
        Mistake(
            "softmax over the whole matrix",
            numpy_attention(softmax=over_the_matrix),
            "Your weights sum to one over the whole matrix. Each row is one word's attention and "
            "sums to one by itself.",
        ),
        Mistake(
            "the sum loses its axis",
            numpy_attention(
                softmax=lambda scores: softmax_with(row_maximum, flat_total)(scores)
            ),
            "Each row should be divided by its own sum, but your sums are spread along the other "
            "axis. The matrix is square, so NumPy does not complain. Which argument of `sum` helps?",
        ),
        Mistake(
            "query and key swapped",
            numpy_attention(swap=True),
            "You score keys against queries. Row i of the scores belongs to the query of word i.",
        ),
        Mistake(
            "words averaged instead of values",
            numpy_attention(mix=lambda X, Wq, Wk, Wv: X),
            "Your weights are right, but what you average are the words in X. What are Wv and V for?",
        ),
        Mistake(
            "keys averaged instead of values",
            numpy_attention(mix=lambda X, Wq, Wk, Wv: X @ Wk),
            "Your weights are right, but what you average are the keys. What are Wv and V for?",
        ),
        Mistake(
            "scores returned for weights",
            numpy_attention(show=lambda scores, weights: scores),
            "The output is right, but the second result holds the scores. Return what comes out of "
            "the softmax.",
        ),
        Mistake(
            "results in the wrong order",
            numpy_attention(result=lambda output, weights: (weights, output)),
            "You return the weights first. The course returns the output first, the weights second.",
        ),
        Mistake(
            "output returned without the weights",
            numpy_attention(result=lambda output, weights: output),
            "The output is right, but it comes alone. The weights are asked for, too.",
        ),
    ),
    reads=("lecture 3, sections 4 and 5", f"{LECTURE}#4.-The-function"),
    may_call=("stable_softmax",),
)  # fmt: skip

scaled_dot_product_attention = Part(
    name="scaled_dot_product_attention",
    signature="scaled_dot_product_attention(query (..., T, d_k), key (..., S, d_k), "
    "value (..., S, d_v), mask=None) -> (output (..., T, d_v), weights (..., T, S))",
    reference=attention.scaled_dot_product_attention,
    steps=(
        Step(
            "one sentence: weights of shape (T, S), whose rows sum to one and rank the keys rightly",
            1,
            (
                Case("no batch, T=3, S=5, d_k=4, d_v=6", triple((), 3, 5, 4, 6)),
                Case("no batch, T=5, S=2, d_k=3, d_v=4", triple((), 5, 2, 3, 4)),
            ),
            judge=ranks,
        ),
        Step(
            "output and weights are exact, with any number of leading axes",
            1,
            (
                Case("no batch, T=3, S=5, d_k=4, d_v=6", triple((), 3, 5, 4, 6)),
                Case("two sentences, T=3, S=5, d_k=4, d_v=6", triple((2,), 3, 5, 4, 6)),
                Case("two sentences, T=S=5, d_k=3, d_v=4", triple((2,), 5, 5, 3, 4)),
                Case("two sentences, T=3, S=7, d_k=d_v=5", triple((2,), 3, 7, 5, 5)),
                Case("two sentences, T=S=5, d_k=d_v=3", triple((2,), 5, 5, 3, 3)),
                Case("three sentences, T=2, S=d_k=3, d_v=4", triple((3,), 2, 3, 3, 4)),
                Case("leading axes (2, 7), T=3, S=5, d_k=4, d_v=6", triple((2, 7), 3, 5, 4, 6)),
                Case("leading axes (2, 3), T=4, S=d_k=3, d_v=5", triple((2, 3), 4, 3, 3, 5)),
                Case("leading axes (2, 1, 3), T=2, S=4, d_k=5, d_v=1",
                     triple((2, 1, 3), 2, 4, 5, 1)),
                Case("one sentence in a batch, mask=None", triple((1,), 3, 5, 4, 6,
                                                                  mask=lambda generator: None)),
                Case("a single query, two sentences", triple((2,), 1, 5, 4, 6)),
                Case("a single key, two sentences", triple((2,), 3, 1, 4, 6)),
            ),
        ),
        Step(
            "a mask: hidden weights are exactly 0, the visible ones sum to one and keep their order",
            1,
            (
                Case("two sentences, d_k=d_v=4, mask (2, 3, 5)",
                     triple((2,), 3, 5, 4, 4, mask=partial(2, 3, 5))),
                Case("three sentences, d_k=d_v=3, mask (3, 6, 4)",
                     triple((3,), 6, 4, 3, 3, mask=partial(3, 6, 4))),
            ),
            judge=ranks,
        ),
        Step(
            "masks of fewer axes; what is hidden has no effect, whatever the scores; mask untouched",
            1,
            (
                Case("two sentences, mask (3, 5)", triple((2,), 3, 5, 4, 6, mask=partial(3, 5))),
                Case("two sentences, mask (1, 3, 5)", triple((2,), 3, 5, 4, 6,
                                                             mask=partial(1, 3, 5))),
                points_only("two sentences, mask (5,)", triple((2,), 3, 5, 4, 6, mask=padding(5))),
                points_only("two sentences, mask (2, 1, 5)", triple((2,), 3, 5, 4, 6,
                                                                    mask=padding(2, 1, 5))),
                points_only("leading axes (2, 3), mask (2, 1, 1, 5)",
                            triple((2, 3), 4, 5, 3, 6, mask=padding(2, 1, 1, 5))),
                points_only("leading axes (2, 3), mask (2, 1, 4, 5)",
                            triple((2, 3), 4, 5, 3, 6, mask=partial(2, 1, 4, 5))),
                points_only("leading axes (2, 3), mask (3, 4, 5)",
                            triple((2, 3), 4, 5, 3, 6, mask=partial(3, 4, 5))),
                points_only("leading axes (2, 3), mask (4, 5)",
                            triple((2, 3), 4, 5, 3, 6, mask=partial(4, 5))),
                points_only("no batch, T=S=5, a causal mask (5, 5)",
                            triple((), 5, 5, 4, 6, mask=causal(5))),
                points_only("hidden keys with very large scores", loud_hidden_keys),
                # below the lowest number of float16, which some people hide keys by
                points_only("all scaled scores below -66 000, mask (2, 3, 5)",
                            decided_triple(3, 5, 4, 6, common=-75_000.0, spread=2000.0,
                                           mask=partial(2, 3, 5))),
            ),
            judge=hidden_are_zero,
            strict=True,
        ),
        Step(
            "a query with nothing to attend to gets zeros, and all gradients stay finite",
            1,
            (
                Case("two sentences, T=S=4, mask (2, 4, 4) with empty rows",
                     triple((2,), 4, 4, 3, 3, mask=with_empty_rows(2, 4, 4)), gradient=True),
                Case("leading axes (2, 3), T=S=5, mask (2, 3, 5, 5) with empty rows",
                     triple((2, 3), 5, 5, 4, 4, mask=with_empty_rows(2, 3, 5, 5)), gradient=True),
                Case("two sentences, T=S=3, mask (3, 1): all keys or none",
                     triple((2,), 3, 3, 4, 4, mask=whole_rows(3)), gradient=True),
            ),
            judge=empty_rows_are_zero,
        ),
        Step(
            "float64 stays float64, any memory layout, untouched inputs, gradients, large scores",
            1,
            (
                Case("float64, two sentences", triple((2,), 3, 5, 4, 6, torch.float64)),
                Case("inputs with gaps in memory", triple((2,), 3, 5, 4, 6), strided=True),
                Case("gradients for query, key, value", triple((2,), 3, 5, 4, 6), gradient=True),
                Case("float64, scaled scores near 709", crowded_triple(3, 5, 4, 6)),
                points_only("float32, scaled scores in the ten thousands",
                            decided_triple(3, 5, 4, 6)),
            ),
            strict=True,
        ),
    ),
    mistakes=(
        Mistake("overflow", attend(softmax=torch_exp_and_sum), OVERFLOW),
        Mistake("not scaled", attend(lambda query, key, value: 1.0), UNSCALED),
        Mistake(
            "√ of the number of keys",
            attend(lambda query, key, value: key.shape[-2] ** 0.5),
            ROOT_OF_LENGTH,
        ),
        Mistake(
            "√ of the number of queries",
            attend(lambda query, key, value: query.shape[-2] ** 0.5),
            ROOT_OF_LENGTH,
        ),
        Mistake(
            "√ of the first axis",
            attend(lambda query, key, value: len(key) ** 0.5),
            "Your numbers match scores divided by the root of the first axis's length, which is the "
            "batch size as soon as there is a batch. Which axis of `key` holds its width, however "
            "many axes there are?",
        ),
        Mistake(
            "√ of the key's axis 1",
            attend(lambda query, key, value: key.shape[1] ** 0.5),
            ROOT_OF_AXIS_ONE,
        ),
        Mistake(
            "√ of the query's axis 1",
            attend(lambda query, key, value: query.shape[1] ** 0.5),
            ROOT_OF_AXIS_ONE,
        ),
        Mistake(
            "√ of the value's width",
            attend(lambda query, key, value: value.shape[-1] ** 0.5),
            ONE_ROOT_TOO_FAR,
        ),
        Mistake("divided by d_k", attend(lambda query, key, value: key.shape[-1]), BY_WIDTH),
        Mistake(
            "multiplied by √d_k", attend(lambda query, key, value: key.shape[-1] ** -0.5), TIMES_ROOT
        ),
        Mistake("scaled after the softmax", attend(after=True), SCALED_AFTER),
        Mistake(
            "softmax over the queries",
            attend(dim=-2),
            "Your weights match a softmax over the queries. Each query shares out its attention "
            "over the keys: which axis of the scores are they?",
        ),
        Mistake(
            "softmax axis counted from the front",
            attend(dim=1),
            "Your softmax runs over axis 1. These are the keys only where there is no batch. How "
            "do you name the last axis of a tensor, however many there are?",
        ),
        Mistake(
            "inverted mask",
            attend(hide=inverted),
            "You hide what should be seen, and see what should be hidden. Here True means may "
            "attend; what does `masked_fill` fill?",
        ),
        Mistake(
            "mask after the softmax",
            hidden_after_softmax,
            "Your hidden weights are 0, but the rest no longer sums to one: they were hidden after "
            "the softmax. What must a score be before the softmax so that its weight is 0?",
        ),
        Mistake(
            "mask ignored",
            attend(hide=ignored),
            "Your results do not depend on the mask. Where should it act?",
        ),
        Mistake(
            "hidden scores set to 0",
            attend(hide=set_to_zero),
            "Your numbers match hidden scores of 0. But exp(0) is 1, so a hidden key still gets "
            "weight. Of which number is exp equal to 0?",
        ),
        Mistake(
            "mask added as numbers",
            attend(hide=added),
            "You add the mask to the scores, so that True counts as 1 and False as 0. A hidden "
            "score must be minus infinity; the others stay as they are.",
        ),
        Mistake(
            "mask needs all axes",
            attend(hide=by_index),
            "Your function works when the mask has the very shape of the scores and stops when it "
            "has fewer axes: indexing with a mask does not broadcast. `masked_fill` and "
            "`torch.where` do.",
        ),
        Mistake(
            ".T on batches",
            attend(score=all_axes_reversed),
            "Your transpose reverses all axes of the key, the batch too, as `.T` does. Only the last "
            "two should change places, however many there are.",
        ),
        Mistake(
            "axes 1 and 2 transposed",
            attend(score=axes_one_and_two),
            "You transpose axes 1 and 2. These are the last two only when there are three. Count "
            "the axes from the end.",
        ),
        Mistake(
            "three axes only",
            attend(score=three_axes),
            "Your function works for exactly three axes, as `torch.bmm` does. Which product treats "
            "the last two axes as matrices and everything before them as a stack?",
        ),
        Mistake(
            "reshape for transpose",
            attend(score=reshaped),
            "The shape fits, but `reshape` and `view` keep the numbers in their old order. "
            "Rows become columns with a transpose.",
        ),
        Mistake(
            "query and key swapped",
            attend(score=lambda query, key: key @ query.transpose(-2, -1)),
            "You score keys against queries. Rows of the scores belong to the queries: their shape "
            "is (..., T, S).",
        ),
        Mistake(
            "query used as key",
            attend(score=lambda query, key: query @ query.transpose(-2, -1)),
            "You compare the queries with themselves. Compare each query with the keys.",
        ),
        Mistake(
            "key used as value",
            attend(mix=lambda query, key, value: key),
            "Your output is a weighted sum of the keys. What the weights weigh are the values.",
        ),
        Mistake(
            "value width assumed = key width",
            value_as_wide_as_key,
            "Your function works only where the values are as wide as the keys. The output is "
            "(..., T, d_v): where does your code use the width of query or key for it?",
        ),
        Mistake(
            "as many keys as queries assumed",
            as_many_keys_as_queries,
            "Your function works only where T = S. The weights are (..., T, S): where does your code "
            "take one length for the other?",
        ),
        Mistake(
            "sentences of a batch mixed",
            one_long_sentence,
            "Your words attend to words of other sentences: the leading axes were flattened into "
            "one long sentence. They stay apart.",
        ),
        Mistake(
            "scores returned for weights",
            attend(result=lambda output, weights, scores: (output, scores)),
            "The output is right, but the second result holds the scores. Return what comes out of "
            "the softmax.",
        ),
        Mistake(
            "results in the wrong order",
            attend(result=lambda output, weights, scores: (weights, output)),
            "You return the weights first. The course returns the output first, the weights second.",
        ),
        Mistake(
            "output returned without the weights",
            attend(result=lambda output, weights, scores: output),
            "The output is right, but it comes alone. The weights are asked for, too.",
        ),
    ),
    reads=("lecture 3, section 4, the function and the mask in brief", f"{LECTURE}#4.-The-function"),
)  # fmt: skip

ASSIGNMENT = Assignment(
    name="a3_scaled_dot_product_attention",
    parts=(stable_softmax, numpy_self_attention, scaled_dot_product_attention),
    barred=(
        "scaled_dot_product_attention", "_scaled_dot_product_attention", "MultiheadAttention",
        "multi_head_attention_forward",
    ),
)  # fmt: skip
