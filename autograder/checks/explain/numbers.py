"""Relations of numbers: a factor, an offset, a function too many, an input given back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from autograder.checks.explain.evidence import Array, ResultPair, unit_axes


def _constants(seen: ResultPair) -> Iterator[tuple[str, float]]:
    """Numbers that a wrong factor often is, with their names; roots first."""
    order = ("d_k", "D", "d_model", "features", "h", "H", "T", "S", "B")
    letters = [name for name in order if name in seen.sizes]
    for name in letters:
        yield f"√{name}", math.sqrt(seen.sizes[name])
    for name in letters:
        yield name, float(seen.sizes[name])
    for name, size in seen.sizes.items():
        if name not in order and size > 2:
            yield f"√{name}", math.sqrt(size)
            yield name, float(size)


def factor_in_words(seen: ResultPair, factor: float) -> Iterator[str]:
    """A factor in words, such as "√d_k times"; at last as a number."""

    def same(value: float) -> bool:
        return value > 0 and math.isclose(abs(factor), value, rel_tol=2e-4)

    if same(1.0) and factor < 0:
        yield "minus"
        return
    sign = "minus " * (factor < 0)
    for name, value in _constants(seen):
        if value > 1 and same(value):
            yield f"{sign}{name} times"
        if value > 1 and same(1 / value):
            yield f"{sign}1/{name} times"
    if 0 < seen.share < 1:
        if same(1 / seen.share):
            yield f"{sign}1/(1 − p) times, with the dropout p,"
        if same(seen.share):
            yield f"{sign}(1 − p) times, with the dropout p,"
    for value, words in ((2.0, "twice"), (0.5, "half")):
        if same(value):
            yield f"{sign}{words}"
    yield f"{factor:.4g} times"


def times_a_constant(seen: ResultPair) -> Iterator[str]:
    """All numbers are right but for one factor."""
    factor = _factor(seen, seen.expected, seen.found)
    if factor is None:
        return
    if factor == -1 or math.isclose(factor, -1, rel_tol=2e-4):
        yield (
            f"every number in {seen.yours} is right but for its sign. Which difference is taken the "
            "wrong way round?"
        )
        return
    for words in factor_in_words(seen, factor):
        yield (
            f"every number in {seen.yours} is {words} what it should be. Where is it multiplied or "
            "divided by that, and where should it be?"
        )
    yield (
        f"all numbers in {seen.yours} are off by one factor, another from case to case. What is "
        "multiplied or divided by something that it should not be?"
    )


def _factor(seen: ResultPair, right: Array, found: Array) -> float | None:
    """The one number by which ``found`` is larger, if there is one and it is not 1."""
    if not seen.floating or right.shape != found.shape:
        return None
    used = right[np.isfinite(right)]
    if (np.abs(used) > 1e-6).sum() < 4 or np.unique(np.abs(used).round(6)).size < 3:
        return None
    top = np.nanargmax(np.abs(np.where(np.isfinite(right), right, 0)))
    factor = float(found.flat[top] / right.flat[top])
    if not math.isfinite(factor) or abs(factor) < 1e-6 or math.isclose(factor, 1, rel_tol=2e-4):
        return None
    return factor if seen.close(right * factor, found) else None


def rows_times_constants(seen: ResultPair) -> Iterator[str]:
    """Right but for a factor that each row, or each place along one axis, has of its own."""
    if not (seen.same_shape and seen.floating and seen.expected.ndim):
        return
    ndim = seen.expected.ndim
    for own in range(ndim):
        others = tuple(other for other in range(ndim) if other != own)
        if _factors_fit(seen, others):
            what = seen.axis(own).one
            yield (
                f"each {what} of {seen.yours} is right but for a factor of its own. What is each "
                f"{what} multiplied or divided by, and by what should it be?"
            )
    if not _factors_fit(seen, (ndim - 1,)):
        return
    if ndim - 1 in unit_axes(seen.expected):
        yield (
            f"within each row, {seen.yours} {seen.verb} right in proportion, but the rows do not sum "
            "to one. By what is each row divided?"
        )
    yield (
        f"each row of {seen.yours} is right but for a factor of its own. What is each row multiplied "
        "or divided by, and by what should it be?"
    )


def _factors_fit(seen: ResultPair, along: tuple[int, ...]) -> bool:
    """Whether one factor for all that lies along some axes leads from the right to the found."""
    right, found = seen.expected, seen.found
    length = math.prod(right.shape[axis] for axis in along)
    if length < 3 or right.size // length < 2 or right.size < 8:
        return False
    if not (np.isfinite(right).all() and np.isfinite(found).all()):
        return False
    size = (right * right).sum(along, keepdims=True)
    factor = (right * found).sum(along, keepdims=True) / np.where(size > 0, size, 1.0)
    if (np.abs(factor) < 1e-6).all() or np.ptp(factor) < 1e-4 * np.abs(factor).max():
        return False
    return seen.close(factor * right, found)


def offset(seen: ResultPair) -> Iterator[str]:
    """Off by one number, or by one for each row, or by one for each place in a row."""
    if not (seen.same_shape and seen.floating) or seen.expected.size < 4:
        return
    apart = seen.found - seen.expected
    if not np.isfinite(apart).all():
        return
    size = float(np.abs(apart).max())
    if not size > 1e-3 * float(np.abs(seen.expected).max()):
        return

    def flat(along: tuple[int, ...]) -> bool:
        return bool((np.ptp(apart, axis=along) <= 1e-4 * size + 1e-9).all())

    everything = tuple(range(apart.ndim))
    if flat(everything):
        yield (
            f"every number in {seen.yours} is off by the same {float(apart.flat[0]):.4g}. What is "
            "added, or not taken away?"
        )
        yield (
            f"all numbers in {seen.yours} are off by one and the same number, another from case to "
            "case. What is added, or not taken away?"
        )
    elif apart.ndim > 1 and apart.shape[-1] > 2 and flat((apart.ndim - 1,)):
        yield (
            f"each row of {seen.yours} is off by one number of its own. What should be taken away "
            "from a row, or added to it: its mean, its maximum?"
        )
    elif apart.ndim > 1 and math.prod(apart.shape[:-1]) > 2 and flat(everything[:-1]):
        yield (
            f"in {seen.yours}, each {seen.axis(apart.ndim - 1).one} is off by one number, the same in "
            "every row. Is a bias left out, or one too many?"
        )


def rows_scaled_and_moved(seen: ResultPair) -> Iterator[str]:
    """In each row, one factor and one offset of its own lead from the right numbers to the found."""
    if not (seen.same_shape and seen.floating and seen.expected.ndim) or seen.expected.size < 8:
        return
    if seen.expected.shape[-1] < 5:
        return
    right, found = seen.expected, seen.found
    middle, middle_found = (item.mean(-1, keepdims=True) for item in (right, found))
    size = ((right - middle) ** 2).sum(-1, keepdims=True)
    if not (size > 1e-9).all():
        return
    factor = ((right - middle) * (found - middle_found)).sum(-1, keepdims=True) / size
    if (np.abs(factor) > 1e-4).all() and seen.close(
        (right - middle) * factor + middle_found, found
    ):
        yield (
            f"each row of {seen.yours} is right but for a factor and an offset of its own. What is "
            "taken away from a row, and by what is the rest divided?"
        )


def plus_an_input(seen: ResultPair) -> Iterator[str]:
    """An input was added that should not be, or left out, or taken away."""
    if not (seen.same_shape and seen.floating and seen.tells):
        return
    apart = seen.found - seen.expected
    for name, given in seen.inputs.items():
        if not _fits(given, seen) or given.size < 4 or not np.abs(given).max() > 1e-2:
            continue
        if seen.close(seen.expected + given, seen.found):
            yield (
                f"{seen.yours} {seen.verb} right, with `{name}` added to it. Does the formula have "
                "that sum, and here?"
            )
        elif seen.close(seen.expected - given, seen.found):
            yield (
                f"{seen.yours} {seen.verb} right but for `{name}`, which is missing in it as a term. "
                "Where does the formula add it, and how often?"
            )
        elif (
            given.shape == apart.shape and _factor(replaced(seen, given), given, apart) is not None
        ):
            yield (
                f"{seen.yours} {seen.verb} right, with a multiple of `{name}` added to it. How often "
                "and with which factor does the formula have it?"
            )


def replaced(seen: ResultPair, right: Array) -> ResultPair:
    """The same with another array in the place of what is right."""
    return ResultPair(
        right, seen.found, seen.axes, seen.called, kind=seen.kind, found_kind=seen.found_kind
    )


def _fits(given: Array, seen: ResultPair) -> bool:
    try:
        return np.broadcast_shapes(given.shape, seen.expected.shape) == seen.expected.shape
    except ValueError:
        return False


FUNCTIONS: tuple[tuple[str, Callable[[Array], Array]], ...] = (
    ("exp", np.exp),
    ("the logarithm", np.log),
    ("tanh", np.tanh),
    ("ReLU", lambda x: np.maximum(x, 0.0)),
    ("the square", np.square),
    ("the root", np.sqrt),
    ("the absolute value", np.abs),
    ("1/x", np.reciprocal),
    ("the sigmoid", lambda x: 1 / (1 + np.exp(-x))),
)


def through_a_function(seen: ResultPair) -> Iterator[str]:
    """A function such as exp or tanh was applied too often, or left out."""
    if not (seen.same_shape and seen.floating and seen.tells):
        return
    for name, function in FUNCTIONS:
        value = function(seen.expected)
        differ = np.isfinite(value).all() and np.unique(value.round(6)).size > 4
        if differ and seen.close(value, seen.found):
            yield (
                f"{seen.yours} {seen.verb} {name} of what is right, for every number. Is that "
                "step in the formula, or one too many?"
            )
        value = function(seen.found)
        if np.isfinite(value).all() and seen.close(seen.expected, value):
            yield (f"the right numbers are {name} of those in {seen.yours}. Is that step left out?")


def taken_from_an_input(seen: ResultPair) -> Iterator[str]:
    """An input itself, or its mean, sum or maximum."""
    if not seen.floating or not seen.found.size:
        return
    for name, given in seen.inputs.items():
        if given.size < 4 or np.unique(given.round(6)).size < 4:
            continue
        if seen.close(given, seen.found):
            yield (
                f"{seen.yours} {seen.verb} `{name}` itself, as it was given. Which step changes it, "
                "and what does that step give back?"
            )
        for words, function in (("mean", np.mean), ("sum", np.sum), ("maximum", np.max)):
            for number, length in enumerate(given.shape):
                value = function(given, axis=number, keepdims=True)
                if length > 1 and np.unique(value.round(6)).size > 2 and _repeats(seen, value):
                    yield (
                        f"{seen.yours} {seen.verb} nothing but the {words} of `{name}` along its axis "
                        f"{number}. Where do the weights come in?"
                    )


def _repeats(seen: ResultPair, value: Array) -> bool:
    try:
        return seen.close(np.broadcast_to(value, seen.found.shape), seen.found)
    except ValueError:
        return False


def all_alike(seen: ResultPair) -> Iterator[str]:
    """One number everywhere, or the same along an axis, where it should differ."""
    found, right = seen.found, seen.expected
    if found.size < 4 or not np.isfinite(found).all():
        if found.size > 3 and np.isnan(found).all() and np.isfinite(right).all():
            yield (
                f"{seen.yours} {seen.verb} NaN throughout. Where is 0 divided by 0, or −∞ taken from "
                "−∞? Print the numbers after each step."
            )
        return
    if np.ptp(found) == 0 and seen.tells:
        yield (
            f"every number in {seen.yours} is {found.flat[0]:.4g}. Which step makes them alike, and do "
            "the inputs still play a part after it?"
        )
        yield (
            f"all numbers in {seen.yours} are one and the same, another from case to case. Over which "
            "axis is a mean or a sum taken that should stay?"
        )
    if not seen.same_shape or not (seen.tells and seen.floating):
        return
    for number, length in enumerate(right.shape):
        if length < 2 or right.size // length < 2:
            continue
        spread = np.ptp(found, axis=number).max()
        if spread <= 1e-6 * np.abs(found).max() < 1e-3 * np.ptp(right, axis=number).max():
            axis = seen.axis(number)
            yield (
                f"in {seen.yours}, all {axis.many} have the same numbers, along {axis}; they should "
                "differ. Where do they become alike?"
            )


def not_finite(seen: ResultPair) -> Iterator[str]:
    """NaN or infinity where numbers are asked; what else there is, is right or wrong."""
    found, right = seen.found, seen.expected
    odd = ~np.isfinite(found)
    if not seen.same_shape or not odd.any() or not np.isfinite(right).all() or odd.all():
        return
    if seen.agree(right, found)[~odd].all():
        yield (
            f"{seen.yours} {seen.verb} right where it is a number; the rest is NaN or infinite. Which "
            "step overflows, or divides 0 by 0: exp of a large score, a row that is all −∞?"
        )
    yield (
        f"{'some' if not odd.all() else 'all'} numbers of {seen.yours} are NaN or infinite. Which step "
        "overflows, or divides 0 by 0? Print the numbers after each step."
    )


def rounded(seen: ResultPair) -> Iterator[str]:
    """The right numbers with fewer digits."""
    if not (seen.same_shape and seen.floating and seen.tells):
        return
    for digits in range(5):
        value = seen.expected.round(digits)
        if np.unique(value).size > 2 and np.abs(value - seen.found).max() < 1e-7:
            yield (
                f"{seen.yours} {seen.verb} right but rounded to {digits or 'no'} "
                f"digit{'s' * (digits != 1)} behind the point. Where is it rounded?"
            )
    if seen.found_kind in ("float16", "bfloat16") and seen.kind != seen.found_kind:
        apart = np.abs(seen.expected - seen.found).max() / max(np.abs(seen.expected).max(), 1e-300)
        if apart < 1e-2:
            yield (
                f"{seen.yours} {seen.verb} right but rounded to two or three digits, because it comes "
                f"as {seen.found_kind}. Which step makes it so?"
            )
    if seen.kind == "float64" and seen.found_kind == "float64":
        apart = np.abs(seen.expected - seen.found).max() / max(np.abs(seen.expected).max(), 1e-300)
        zeros = seen.expected == 0  # which no rounding changes
        if 1e-10 < apart < 3e-6 and not seen.found[zeros].any():
            yield (
                f"{seen.yours} should be in float64 and {seen.verb} right to about seven digits only, "
                "as in float32. Which step, or which tensor that you make yourself, is in float32?"
            )


def nearly_right(seen: ResultPair) -> Iterator[str]:
    """Close to what is right, and yet not within rounding."""
    if not (seen.same_shape and seen.floating and seen.tells) or seen.expected.size < 8:
        return
    if not (np.isfinite(seen.expected).all() and np.isfinite(seen.found).all()):
        return
    apart = np.abs(seen.expected - seen.found).max() / np.ptp(seen.expected)
    if apart < 0.01:
        yield (
            f"{seen.yours} {seen.verb} nearly right: no number is off by more than a hundredth of "
            "their range. Is a small number (such as ε or 1e-9) in another place or of another size, "
            "or is there rounding on the way?"
        )
