"""Points as people write and round them; nothing else in the course rounds a score.

A computer keeps 0.1 as a number beside it, and three times 2.665 as 7.994999999999999. So a number is read back to
twelve digits, which is what it was before it was added up, worked with as a fraction, and rounded once, half up, where
it leaves for a table or decides about a mark.
"""

from __future__ import annotations

import math
from fractions import Fraction

DIGITS = 12  # of the sixteen that a computer keeps; the last are wrong in sums


def as_written(number: float | Fraction) -> Fraction:
    """The number as people write it: 0.1 is a tenth, and so is what comes of 0.3 - 0.2. It must be finite."""
    return number if isinstance(number, Fraction) else Fraction(f"{number:.{DIGITS}g}")


def counted(score: float, penalty: float = 0.0) -> float:
    """The points that count: those that were earned less the late penalty, never below 0, as people write them."""
    if not math.isfinite(score - penalty):
        return max(0.0, score - penalty)
    return max(0.0, float(as_written(score) - as_written(penalty)))


def rounded(number: float | Fraction, decimals: int) -> Fraction:
    """The number with so many decimals, half up."""
    scale = 10**decimals
    return Fraction(math.floor(as_written(number) * scale + Fraction(1, 2)), scale)


def in_decimals(number: float | Fraction, decimals: int) -> str:
    """The number with so many decimals, half up, as a table has it."""
    value = rounded(number, decimals)
    whole, rest = divmod(abs(value.numerator) * 10**decimals // value.denominator, 10**decimals)
    return f"{'-' * (value < 0)}{whole}" + (f".{rest:0{decimals}d}" if decimals else "")


def shown(number: float) -> str:
    """Points as a page shows them: with up to three decimals, which eighths have."""
    if not math.isfinite(number):
        return str(number)
    return in_decimals(number, 3).rstrip("0").rstrip(".")
