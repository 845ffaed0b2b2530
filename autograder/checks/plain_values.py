"""Compare plain values, which are numbers of Python and NumPy, text, None and containers, and say what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from autograder.checks.problem import Kind, Problem

Agree = Callable[[Any, Any], Problem | None]  # what compares the entries of a container

LONGEST_QUOTE = 60  # characters of a text or an entry in a sentence
MOST_IN_ANY_ORDER = 200  # entries of a list for which another order is looked for


def is_number(value: Any) -> bool:
    """Whether a value is a single real number, of Python or of NumPy; True and False are none."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iuf"
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether a number is of a type for whole numbers."""
    return value.dtype.kind in "iu" if isinstance(value, np.ndarray) else isinstance(value, int)


def quoted(value: Any) -> str:
    """A value as Python writes it, its middle left out where it is long."""
    text = repr(value)
    half = LONGEST_QUOTE // 2
    return text if len(text) <= LONGEST_QUOTE else f"{text[:half]} … {text[-half:]}"


def texts_agree(expected: str, got: str) -> Problem | None:
    """None if two texts are the same, letter for letter."""
    if got == expected:
        return None
    if got.casefold() == expected.casefold():
        how = "they differ in capital letters alone"
    elif got.split() == expected.split() or "".join(got.split()) == "".join(expected.split()):
        how = "they differ in blanks and line breaks alone"
    else:
        pairs = enumerate(zip(expected, got, strict=False))
        place = next((n for n, (one, other) in pairs if one != other), min(len(expected), len(got)))
        how = f"they differ from character {place} on (counting from 0)"
    return Problem(Kind.NUMBERS, f"expected the text {quoted(expected)}, got {quoted(got)}: {how}")


def entries_agree(expected: Sequence[Any], got: Any, agree: Agree) -> Problem | None:
    """None if a list or tuple holds what a list holds, in its order."""
    if len(got) != len(expected):
        return Problem(Kind.SHAPE, f"expected {_entries(len(expected))}, got {_entries(len(got))}")
    for number, (wanted, item) in enumerate(zip(expected, got, strict=True)):
        if problem := agree(wanted, item):
            if len(got) <= MOST_IN_ANY_ORDER and _in_another_order(expected, got, agree):
                return Problem(
                    Kind.NUMBERS,
                    f"these are the right entries, in another order: entry {number} (counting from 0) should be "
                    f"{quoted(wanted)} and is {quoted(item)}",
                )
            return _within(f"in entry {number} (counting from 0)", problem)
    return None


def _entries(number: int) -> str:
    return f"a list of {number} entr{'y' if number == 1 else 'ies'}"


def _in_another_order(expected: Sequence[Any], got: Sequence[Any], agree: Agree) -> bool:
    """Whether each entry that is right stands somewhere, as often as it should."""
    left = list(got)
    for wanted in expected:
        place = next((n for n, item in enumerate(left) if agree(wanted, item) is None), None)
        if place is None:
            return False
        del left[place]
    return True


def keys_agree(expected: Mapping[Any, Any], got: Mapping[Any, Any], agree: Agree) -> Problem | None:
    """None if a dict holds what another holds, under the same keys as text; their order is free."""
    wanted, found = ({str(key): value for key, value in one.items()} for one in (expected, got))
    if lacking := [key for key in wanted if key not in found]:
        there = (
            f"; there {'is' if len(found) == 1 else 'are'} {quoted(list(found))}" if found else ""
        )
        return Problem(Kind.SHAPE, f"the key {quoted(lacking[0])} is missing{there}")
    if surplus := [key for key in found if key not in wanted]:
        return Problem(
            Kind.SHAPE, f"there is a key {quoted(surplus[0])}, which should not be there"
        )
    for key, value in wanted.items():
        if problem := agree(value, found[key]):
            return _within(f"under the key {quoted(key)}", problem)
    return None


def members_agree(
    expected: AbstractSet[Any], got: AbstractSet[Any], agree: Agree
) -> Problem | None:
    """None if a set holds what another holds."""

    def holds(one: AbstractSet[Any], item: Any) -> bool:
        return item in one or any(agree(item, other) is None for other in one)

    for item in sorted(expected, key=repr):
        if not holds(got, item):
            return Problem(Kind.NUMBERS, f"{quoted(item)} should be in the set, and is not")
    for item in sorted(got, key=repr):
        if not holds(expected, item):
            return Problem(Kind.NUMBERS, f"{quoted(item)} is in the set, and should not be")
    return None


def _within(where: str, problem: Problem) -> Problem:
    return Problem(problem.kind, f"{where}, {problem}")
