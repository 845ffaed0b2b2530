"""Judge results that chance decides, by how often each outcome came.

A count whose mean is m strays from it by about √m, so five times that is beyond all luck. Where fewer
than `FEWEST` are expected, the tails are longer, and nothing is judged but what can never come.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.arrays import Array, as_numpy, dtype_name, is_tensor
from autograder.checks.cases import Chance
from autograder.checks.compare import another_shape, another_type
from autograder.checks.problem import Kind, Problem

DEVIATIONS, FEWEST = 5.0, 20
STRAYS = 8.0  # deviations of χ², whose upper tail is longer


def frequencies_agree(
    chance: Chance, arguments: list[Any], expected: Any, got: Any
) -> Problem | None:
    """None if the outcomes come as often as they should, within five standard deviations.

    What is expected is a result of the reference, for its type and shape alone.
    """
    problem = _other_form(expected, got)
    if problem:
        return problem
    counts, usual = _counts(chance.tally(got)), _counts(chance.expects(*arguments))
    for number, what in enumerate(chance.outcomes):
        count, mean = float(counts[number]), float(usual[number])
        strays = DEVIATIONS * mean**0.5
        if mean == 0 and count:
            return Problem(Kind.NUMBERS, f"{what} came {_times(count)}, and should never come")
        if mean >= FEWEST and abs(count - mean) > strays:
            return Problem(
                Kind.NUMBERS,
                f"{what} came {_times(count)}, where about {mean:,.0f} are to be expected; chance "
                f"explains {strays:,.0f} more or less, and no more",
            )
    return None


def drawn_alike(chance: Chance, expected: Any, got: Any) -> bool:
    """Whether two results may come from the same chances, by a χ² test of their counts."""
    if _other_form(expected, got):
        return False
    one, other = _counts(chance.tally(expected)), _counts(chance.tally(got))
    many = one + other >= FEWEST
    # with as many degrees of freedom as outcomes, χ² has this mean, and its root of twice that strays
    freedom = float(many.sum())
    apart = float(((one - other)[many] ** 2 / (one + other)[many]).sum())
    return apart <= freedom + STRAYS * (2 * freedom) ** 0.5


def _counts(tally: Any) -> Array:
    return as_numpy(tally).astype(np.float64)


def _times(count: float) -> str:
    return {0: "not once", 1: "once"}.get(int(count), f"{count:,.0f} times")


def _other_form(expected: Any, got: Any) -> Problem | None:
    """What differs in type or shape; whole numbers of any kind will do, or floats of any precision."""
    if isinstance(expected, tuple):
        if not isinstance(got, tuple | list) or len(got) != len(expected):
            return another_type(expected, got)
        pairs = enumerate(zip(expected, got, strict=True))
        found = ((number, _other_form(wanted, item)) for number, (wanted, item) in pairs)
        return next((one.in_result(number) for number, one in found if one), None)
    if not is_tensor(got):
        return another_type(expected, got)
    if got.shape != expected.shape:
        return another_shape(expected, got)
    if expected.is_floating_point():
        fits, wanted = got.is_floating_point(), "floats"
    else:
        fits, wanted = not got.is_floating_point() and dtype_name(got) != "bool", "whole numbers"
    if not fits:
        return Problem(Kind.DTYPE, f"expected {wanted} ({expected.dtype}), got {got.dtype}")
    return None
