"""Results beside the right ones, in which relations are looked for.

A relation looks at one result of one case, a `ResultPair`, and yields sentences that are true of it, the
most specific first; each ends in the question that leads on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from autograder.arrays import Array, as_numpy, is_tensor
from autograder.checks.axes import Axis
from autograder.checks.compare import ABSOLUTE, RELATIVE, TOLERANCES
from autograder.checks.course import Letter

MOST_NUMBERS = 30_000  # of an array that is looked at


class Explanation(NamedTuple):
    """Something that is true of an answer: its name for the class report, and what the student reads."""

    name: str
    sentence: str


Sentences = tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class ResultPair:
    """One result of one case: what is right, and what came back.

    Attributes:
        expected, found: as float64 arrays, where truth values are 0 and 1.
        axes: of ``expected``.
        called: what the signature calls the result, "" if nothing.
        inputs: floating arrays that went in, by name.
        sizes: lengths by their letters, such as d_k.
        letters: what such letters count, see `Course`.
        share: of the numbers that dropout keeps, 1 where there is none.
        kind: "float64", "float32", "int64", "bool" …, of ``expected``.
        found_kind: the same of ``found``.
        known: sentences that are true of it, by the relations that were looked for so far.
    """

    expected: Array
    found: Array
    axes: tuple[Axis, ...] = ()
    called: str = ""
    inputs: Mapping[str, Array] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    share: float = 1.0
    kind: str = "float32"
    found_kind: str = "float32"
    letters: Mapping[str, Letter] = field(default_factory=dict)
    known: dict[str, list[str]] = field(default_factory=dict, init=False)

    @property
    def yours(self) -> str:
        return f"your {self.called or 'result'}"

    @property
    def several(self) -> bool:
        """Whether its name is a plural, such as weights or ids, and not one such as loss or bias."""
        return self.called.endswith("s") and not self.called.endswith(("ss", "us", "is", "bias"))

    @property
    def verb(self) -> str:
        return "are" if self.several else "is"

    @property
    def has(self) -> str:
        return "have" if self.several else "has"

    @property
    def same_shape(self) -> bool:
        return self.expected.shape == self.found.shape

    @property
    def largest_size(self) -> int:
        return max(self.expected.size, self.found.size)

    @property
    def floating(self) -> bool:
        return self.kind.startswith("float")

    @cached_property
    def finite(self) -> bool:
        return bool(np.isfinite(self.expected).all() and np.isfinite(self.found).all())

    @cached_property
    def telling(self) -> bool:
        """Whether so many different numbers were asked for that chance makes nothing of them."""
        if self.largest_size > MOST_NUMBERS:
            return False
        finite = self.expected[np.isfinite(self.expected)]
        if self.kind == "bool":
            return finite.size >= 9 and finite.min() != finite.max()
        return np.unique(finite.round(6)).size >= 5

    @cached_property
    def wrong(self) -> Array:
        """Where what came back is not what is right, entry by entry, for results of one shape."""
        return ~np.asarray(self.agree(self.expected, self.found))

    @cached_property
    def unit_axes(self) -> list[int]:
        """Along which axes the right numbers are shares, which sum to one."""
        return _unit_axes(self.expected)

    @cached_property
    def found_unit_axes(self) -> list[int]:
        """Along which axes the numbers that came back are shares."""
        return _unit_axes(self.found)

    def axis(self, number: int) -> Axis:
        if number < len(self.axes):
            return self.axes[number]
        return Axis.numbered(number)

    def close(self, one: Array, other: Array) -> bool:
        """Whether two arrays of this result's kind are the same, NaN like NaN."""
        return one.shape == other.shape and bool(self.agree(one, other).all())

    @property
    def lost_digits_alone(self) -> bool:
        """Whether what came back is in float32 instead of float64, and near what is right."""
        return (self.kind, self.found_kind) == ("float64", "float32") and bool(
            self.same_shape
            and self.expected.size
            and (np.abs(self.found - self.expected) <= 1e-3 * np.abs(self.expected).max()).all()
        )

    def agree(self, one: Array, other: Array) -> Array:
        """Entry by entry, for arrays that broadcast."""
        if not self.floating:
            return one == other
        relative, absolute = self._tolerances
        with np.errstate(all="ignore"):
            near = np.abs(one - other) <= absolute + relative * np.abs(one)
        return near | (one == other) | (np.isnan(one) & np.isnan(other))

    @cached_property
    def _tolerances(self) -> tuple[float, float]:
        relative, absolute = RELATIVE, ABSOLUTE
        if self.kind == "float64" == self.found_kind:
            relative, absolute = TOLERANCES["float64"]
        size = np.abs(self.expected[np.isfinite(self.expected)])
        return relative, absolute * (min(1.0, float(size.max())) if size.size else 1.0)


def as_array(value: Any) -> Array | None:
    """A result as a float64 array, if it is one, or a number, or lists of numbers."""
    if is_tensor(value):
        value = as_numpy(value)
    if isinstance(value, np.ndarray):
        small = value.dtype.kind in "fiub" and value.size <= 10 * MOST_NUMBERS
        return value.astype(np.float64) if small else None
    if isinstance(value, bool) or not isinstance(value, int | float | list):
        return None
    try:
        array = np.array(value)
    except (ValueError, TypeError, RuntimeError, RecursionError):
        return None
    return array.astype(np.float64) if array.dtype.kind in "fiub" else None


def _unit_axes(values: Array) -> list[int]:
    """The axes along which non-negative numbers sum to one; slices of zeros alone do not count."""
    if not (np.isfinite(values).all() and values.size and values.min() >= -1e-7):
        return []
    found = []
    for axis, length in enumerate(values.shape):
        sums = values.sum(axis)
        some = sums[sums > 1e-6] if sums.ndim else sums
        if length > 1 and some.size and (np.abs(some - 1) < 1e-3).all():
            found.append(axis)
    return found
