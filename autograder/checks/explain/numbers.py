"""Relations of numbers: a factor for all or for each row, too few digits, all alike."""

from __future__ import annotations

import math
from collections.abc import Iterator

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
