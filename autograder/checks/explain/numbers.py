"""Relations of numbers: a factor, an offset, a function too many, an input given back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from autograder.checks.explain.evidence import Array, ResultPair

FEWEST_TO_TELL = 8  # numbers, by which chance is told from a rule


def _constants(pair: ResultPair) -> Iterator[tuple[str, float]]:
    """Numbers that a wrong factor often is, with their names; roots first."""
    letters = pair.letters
    usual = [name for name in letters if letters[name].is_a_factor and name in pair.sizes]
    for name in usual:
        yield f"√{name}", math.sqrt(pair.sizes[name])
    for name in usual:
        yield name, float(pair.sizes[name])
    for name, size in pair.sizes.items():
        if name not in usual and size > 2:
            yield f"√{name}", math.sqrt(size)
            yield name, float(size)


def factor_in_words(pair: ResultPair, factor: float) -> Iterator[str]:
    """A factor in words, such as "√d_k times"; at last as a number."""

    def same(value: float) -> bool:
        return value > 0 and math.isclose(abs(factor), value, rel_tol=2e-4)

    if same(1.0) and factor < 0:
        yield "minus"
        return
    sign = "minus " * (factor < 0)
    for name, value in _constants(pair):
        if value > 1 and same(value):
            yield f"{sign}{name} times"
        if value > 1 and same(1 / value):
            yield f"{sign}1/{name} times"
    if 0 < pair.share < 1:
        if same(1 / pair.share):
            yield f"{sign}1/(1 − p) times, with the dropout p,"
        if same(pair.share):
            yield f"{sign}(1 − p) times, with the dropout p,"
    for value, words in ((2.0, "twice"), (0.5, "half")):
        if same(value):
            yield f"{sign}{words}"
    yield f"{factor:.4g} times"


def times_a_constant(pair: ResultPair) -> Iterator[str]:
    """All numbers are right but for one factor."""
    factor = _factor(pair, pair.found)
    if factor is None:
        return
    if math.isclose(factor, -1, rel_tol=2e-4):
        yield (
            f"every number in {pair.yours} is right but for its sign. Which difference is taken the "
            "wrong way round?"
        )
        return
    for words in factor_in_words(pair, factor):
        yield (
            f"every number in {pair.yours} is {words} what it should be. Where is it multiplied or "
            "divided by that, and where should it be?"
        )
    yield (
        f"all numbers in {pair.yours} are off by one factor, another from case to case. What is "
        "multiplied or divided by something that it should not be?"
    )


def _factor(pair: ResultPair, found: Array) -> float | None:
    """The one number by which ``found`` is larger than what is right, if there is one but 1."""
    right = pair.expected
    used = right[np.isfinite(right)]
    if (np.abs(used) > 1e-6).sum() < 4 or np.unique(np.abs(used).round(6)).size < 3:
        return None
    top = np.nanargmax(np.abs(np.where(np.isfinite(right), right, 0)))
    factor = float(found.flat[top] / right.flat[top])
    if not math.isfinite(factor) or abs(factor) < 1e-6 or math.isclose(factor, 1, rel_tol=2e-4):
        return None
    return factor if pair.close(right * factor, found) else None


def rows_times_constants(pair: ResultPair) -> Iterator[str]:
    """Right but for a factor that each row, or each place along one axis, has of its own."""
    ndim = pair.expected.ndim
    for own in range(ndim):
        others = tuple(other for other in range(ndim) if other != own)
        if _factors_fit(pair, others):
            what = pair.axis(own).one
            yield (
                f"each {what} of {pair.yours} is right but for a factor of its own. What is each "
                f"{what} multiplied or divided by, and by what should it be?"
            )
    if not ndim or not _factors_fit(pair, (ndim - 1,)):
        return
    if ndim - 1 in pair.unit_axes:
        yield (
            f"within each row, {pair.yours} {pair.verb} right in proportion, but the rows do not sum "
            "to one. By what is each row divided?"
        )
    yield (
        f"each row of {pair.yours} is right but for a factor of its own. What is each row multiplied "
        "or divided by, and by what should it be?"
    )


def _factors_fit(pair: ResultPair, along: tuple[int, ...]) -> bool:
    """Whether one factor for all that lies along some axes leads from the right to the found."""
    right, found = pair.expected, pair.found
    length = math.prod(right.shape[axis] for axis in along)
    if length < 3 or right.size // length < 2 or right.size < 8:
        return False
    size = (right * right).sum(along, keepdims=True)
    factor = (right * found).sum(along, keepdims=True) / np.where(size > 0, size, 1.0)
    if (np.abs(factor) < 1e-6).all() or np.ptp(factor) < 1e-4 * np.abs(factor).max():
        return False
    return pair.close(factor * right, found)


def offset(pair: ResultPair) -> Iterator[str]:
    """Off by one number, or by one for each row, or by one for each place in a row."""
    if pair.expected.size < 4:
        return
    apart = pair.found - pair.expected
    if not np.isfinite(apart).all():
        return
    size = float(np.abs(apart).max())
    if not size > 1e-3 * float(np.abs(pair.expected).max()):
        return

    def flat(along: tuple[int, ...]) -> bool:
        return bool((np.ptp(apart, axis=along) <= 1e-4 * size + 1e-9).all())

    everything = tuple(range(apart.ndim))
    if flat(everything):
        yield (
            f"every number in {pair.yours} is off by the same {float(apart.flat[0]):.4g}. What is "
            "added, or not taken away?"
        )
        yield (
            f"all numbers in {pair.yours} are off by one and the same number, another from case to "
            "case. What is added, or not taken away?"
        )
    elif apart.ndim > 1 and apart.shape[-1] > 2 and flat((apart.ndim - 1,)):
        yield (
            f"each row of {pair.yours} is off by one number of its own. What should be taken away "
            "from a row, or added to it: its mean, its maximum?"
        )
    elif apart.ndim > 1 and math.prod(apart.shape[:-1]) > 2 and flat(everything[:-1]):
        yield (
            f"in {pair.yours}, each {pair.axis(apart.ndim - 1).one} is off by one number, the same in "
            "every row. Is a bias left out, or one too many?"
        )


def rows_scaled_and_moved(pair: ResultPair) -> Iterator[str]:
    """In each row, one factor and one offset of its own lead from the right numbers to the found."""
    if pair.expected.size < 8 or pair.expected.shape[-1] < 5:
        return
    right, found = pair.expected, pair.found
    middle, middle_found = (item.mean(-1, keepdims=True) for item in (right, found))
    size = ((right - middle) ** 2).sum(-1, keepdims=True)
    if not (size > 1e-9).all():
        return
    factor = ((right - middle) * (found - middle_found)).sum(-1, keepdims=True) / size
    moved = (right - middle) * factor + middle_found
    if (np.abs(factor) > 1e-4).all() and pair.close(moved, found):
        yield (
            f"each row of {pair.yours} is right but for a factor and an offset of its own. What is "
            "taken away from a row, and by what is the rest divided?"
        )


def plus_an_input(pair: ResultPair) -> Iterator[str]:
    """An input was added that should not be, or left out, or taken away."""
    apart = pair.found - pair.expected
    for name, given in pair.inputs.items():
        if given.size < 4 or not np.abs(given).max() > 1e-2:
            continue
        if _repeated(given, pair.expected) is None:
            continue
        if pair.close(pair.expected + given, pair.found):
            yield (
                f"{pair.yours} {pair.verb} right, with `{name}` added to it. Does the formula have "
                "that sum, and here?"
            )
        elif pair.close(pair.expected - given, pair.found):
            yield (
                f"{pair.yours} {pair.verb} right but for `{name}`, which is missing as a term. "
                "Where does the formula add it, and how often?"
            )
        elif given.shape == apart.shape and _factor(replace(pair, expected=given), apart):
            yield (
                f"{pair.yours} {pair.verb} right, with a multiple of `{name}` added to it. How often "
                "and with which factor does the formula have it?"
            )


def _repeated(values: Array, like: Array) -> Array | None:
    """Values repeated to the shape of others, if they can be."""
    try:
        return np.broadcast_to(values, like.shape)
    except ValueError:
        return None


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


def through_a_function(pair: ResultPair) -> Iterator[str]:
    """A function such as exp or tanh was applied too often, or left out."""
    for name, function in FUNCTIONS:
        value = function(pair.expected)
        differ = np.isfinite(value).all() and np.unique(value.round(6)).size > 4
        if differ and pair.close(value, pair.found):
            yield (
                f"{pair.yours} {pair.verb} {name} of what is right, for every number. Is that "
                "step in the formula, or one too many?"
            )
        value = function(pair.found)
        if np.isfinite(value).all() and pair.close(pair.expected, value):
            yield f"the right numbers are {name} of those in {pair.yours}. Is that step left out?"


def taken_from_an_input(pair: ResultPair) -> Iterator[str]:
    """An input itself, or its mean, sum or maximum."""
    if not pair.found.size:
        return
    for name, given in pair.inputs.items():
        if given.size < 4 or np.unique(given.round(6)).size < 4:
            continue
        if pair.close(given, pair.found):
            yield (
                f"{pair.yours} {pair.verb} `{name}` itself, as it was given. Which step changes it, "
                "and what does that step give back?"
            )
        for words, function in (("mean", np.mean), ("sum", np.sum), ("maximum", np.max)):
            for number, length in enumerate(given.shape):
                if length < 2:
                    continue
                value = function(given, axis=number, keepdims=True)
                repeated = _repeated(value, pair.found)
                if repeated is None or not pair.close(repeated, pair.found):
                    continue
                if np.unique(value.round(6)).size > 2:
                    yield (
                        f"{pair.yours} {pair.verb} nothing but the {words} of `{name}` along its axis "
                        f"{number}. What else goes into it?"
                    )


def all_alike(pair: ResultPair) -> Iterator[str]:
    """One number everywhere, or the same along an axis, where it should differ."""
    found, right = pair.found, pair.expected
    if found.size < 4 or not np.isfinite(found).all():
        if found.size > 3 and np.isnan(found).all() and np.isfinite(right).all():
            yield (
                f"{pair.yours} {pair.verb} NaN throughout. Where is 0 divided by 0, or −∞ taken from "
                "−∞? Print the numbers after each step."
            )
        return
    if np.ptp(found) == 0 and pair.telling:
        yield (
            f"every number in {pair.yours} is {found.flat[0]:.4g}. Which step makes them alike, and do "
            "the inputs still play a part after it?"
        )
        yield (
            f"all numbers in {pair.yours} are one and the same, another from case to case. Over which "
            "axis is a mean or a sum taken that should stay?"
        )
    if not (pair.telling and pair.floating):
        return
    for number, length in enumerate(right.shape):
        if length < 2 or right.size // length < 2:
            continue
        spread = np.ptp(found, axis=number).max()
        if spread <= 1e-6 * np.abs(found).max() < 1e-3 * np.ptp(right, axis=number).max():
            axis = pair.axis(number)
            yield (
                f"in {pair.yours}, all {axis.many} have the same numbers, along {axis}; they should "
                "differ. Where do they become alike?"
            )


def not_finite(pair: ResultPair) -> Iterator[str]:
    """NaN or infinity where numbers are asked; what else there is, is right or wrong."""
    found, right = pair.found, pair.expected
    odd = ~np.isfinite(found)
    if not odd.any() or odd.all() or not np.isfinite(right).all():
        return
    if not pair.wrong[~odd].any():
        yield (
            f"{pair.yours} {pair.verb} right but for numbers that are NaN or infinite. Which "
            "step overflows, or divides 0 by 0: exp of a large score, a row that is all −∞?"
        )
    yield (
        f"some numbers of {pair.yours} are NaN or infinite. Which step "
        "overflows, or divides 0 by 0? Print the numbers after each step."
    )


def rounded(pair: ResultPair) -> Iterator[str]:
    """The right numbers with fewer digits, or all of them a tiny bit too small or too large."""
    for digits in range(5):
        value = pair.expected.round(digits)
        if np.unique(value).size > 2 and np.abs(value - pair.found).max() < 1e-7:
            yield (
                f"{pair.yours} {pair.verb} right but rounded to {digits or 'no'} "
                f"digit{'s' * (digits != 1)} behind the point. Where is it rounded?"
            )
    apart = np.abs(pair.expected - pair.found).max() / max(np.abs(pair.expected).max(), 1e-300)
    if pair.found_kind in ("float16", "bfloat16") and pair.kind != pair.found_kind and apart < 1e-2:
        yield (
            f"{pair.yours} {pair.verb} right but rounded to two or three digits, as in "
            f"{pair.found_kind}. Which step makes it so?"
        )
    zeros = pair.expected == 0  # which no rounding changes
    if (
        pair.kind == pair.found_kind == "float64"
        and 1e-10 < apart < 3e-6
        and not pair.found[zeros].any()
    ):
        ratios = pair.found[~zeros] / pair.expected[~zeros]
        # rounding goes up as often as down
        on_one_side = (ratios < 1).all() or (ratios > 1).all()
        if on_one_side and ratios.size >= FEWEST_TO_TELL:
            side = "small" if ratios[0] < 1 else "large"
            yield (
                f"{pair.yours} {pair.verb} nearly right: every number is too {side}, by at most "
                f"{np.abs(ratios - 1).max():.0e} of its size. Is a small number such as ε or 1e-8 added to what "
                "you divide by? It changes every result, so leave it out, and treat a division by zero by itself."
            )
        elif not on_one_side:
            yield (
                f"{pair.yours} should be in float64 and {pair.verb} right to about seven digits only, "
                "as in float32. Which step, or which tensor that you make yourself, is in float32?"
            )


def nearly_right(pair: ResultPair) -> Iterator[str]:
    """Close to what is right, and yet not within rounding."""
    if pair.expected.size < 8:
        return
    apart = np.abs(pair.expected - pair.found).max() / np.ptp(pair.expected)
    if apart < 0.01:
        yield (
            f"{pair.yours} {pair.verb} nearly right: no number is off by more than a hundredth of "
            "their range. Is a small number (such as ε or 1e-9) in another place or of another size, "
            "or is there rounding on the way?"
        )
