"""Results beside the right ones, and what is true of all that was seen of them.

A relation looks at one result of one case (a `ResultPair`) and yields sentences that are true of it, the
most specific first; each ends in the question that leads on. What is said to a student holds in all
the cases for which it is said, see `in_common`, so that a letter such as d_k means itself and not a
number that happens to be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from autograder.checks.axes import Axis
from autograder.checks.compare import ABSOLUTE, RELATIVE, TOLERANCES

Array = np.ndarray
Relation = Callable[["ResultPair"], Iterator[str]]
Sentences = tuple[tuple[str, str], ...]

MOST_NUMBERS = 30_000  # of an array that is looked at


@dataclass(frozen=True)
class ResultPair:
    """One result of one case: what is right, and what came back.

    Attributes:
        expected, found: as float64 arrays, where truth values are 0 and 1.
        axes: of ``expected``.
        called: what the signature calls the result, "" if nothing.
        inputs: floating arrays that went in, by name.
        sizes: lengths by their letters, such as d_k.
        share: of the numbers that dropout keeps, 1 where there is none.
        kind: "float64", "float32", "int64", "bool" …, of ``expected``.
        found_kind: the same of ``found``.
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

    @property
    def yours(self) -> str:
        return f"your {self.called or 'result'}"

    @property
    def verb(self) -> str:
        return "are" if self.called == "weights" else "is"

    @property
    def has(self) -> str:
        return "have" if self.called == "weights" else "has"

    @property
    def same_shape(self) -> bool:
        return self.expected.shape == self.found.shape

    @property
    def tells(self) -> bool:
        """Whether so many different numbers were asked for that chance makes nothing of them."""
        if self.expected.size > MOST_NUMBERS or self.found.size > MOST_NUMBERS:
            return False
        finite = self.expected[np.isfinite(self.expected)]
        if self.kind == "bool":
            return finite.size >= 9 and finite.min() != finite.max()
        return np.unique(finite.round(6)).size >= 5

    @property
    def floating(self) -> bool:
        return self.kind.startswith("float")

    def axis(self, number: int) -> Axis:
        if number < len(self.axes):
            return self.axes[number]
        return Axis.numbered(number)

    def close(self, one: Array, other: Array) -> bool:
        """Whether two arrays of this result's kind are the same, NaN like NaN."""
        return one.shape == other.shape and bool(self.agree(one, other).all())

    def agree(self, one: Array, other: Array) -> Array:
        """Entry by entry, for arrays that broadcast."""
        if not self.floating:
            return one == other
        relative, absolute = RELATIVE, ABSOLUTE
        if self.kind == "float64" == self.found_kind:
            relative, absolute = TOLERANCES[torch.float64]
        size = np.abs(self.expected[np.isfinite(self.expected)])
        absolute *= min(1.0, float(size.max())) if size.size else 1.0
        with np.errstate(all="ignore"):
            near = np.abs(one - other) <= absolute + relative * np.abs(one)
        return near | (one == other) | (np.isnan(one) & np.isnan(other))


def as_array(value: Any) -> Array | None:
    """A result as a float64 array, if it is one, or a number, or lists of numbers."""
    if isinstance(value, torch.Tensor):
        if value.is_complex() or value.numel() > 10 * MOST_NUMBERS:
            return None
        return value.detach().double().numpy()
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


def in_common(relations: Sequence[tuple[str, Relation]], seen: Sequence[ResultPair]) -> Sentences:
    """The first relation with a sentence that is true of all that was seen, as (name, sentence).

    Args:
        relations: (name, relation) pairs, the specific ones first.
        seen: results of several cases; at least one must tell something.
    """
    telling = sorted((item for item in seen if item.tells), key=lambda item: item.found.size)
    if not telling:
        return ()
    # a small one rules most relations out at little cost
    others = [*telling[1:], *(item for item in seen if not item.tells)]
    others = [item for item in others if item.expected.size >= 4 and item.found.size]
    if any(max(item.expected.size, item.found.size) > MOST_NUMBERS for item in others):
        others = [item for item in others if item.expected.size <= MOST_NUMBERS >= item.found.size]
    for name, relation in relations:
        sentences = _told(relation, telling[0])
        for item in others:
            if not sentences:
                break
            also = _told(relation, item)
            sentences = [sentence for sentence in sentences if sentence in also]
        if sentences:
            return ((name, sentences[0][0].upper() + sentences[0][1:]),)
    return ()


def _told(relation: Relation, seen: ResultPair) -> list[str]:
    with np.errstate(all="ignore"):
        return list(relation(seen))


def unit_axes(values: Array) -> list[int]:
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
