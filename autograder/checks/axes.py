"""What the axes of a part's arrays count, read from its signature, and how long each one is.

A signature such as ``f(query (B, T, d_k), key (B, S, d_k)) -> (output (B, T, d_v), weights (B, T, S))``
names inputs and results, and gives every axis the letter by which the course knows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, repeat
from typing import Any

from autograder.checks.check import Part
from autograder.checks.course import Letter
from autograder.checks.drawn_cases import CaseRun, arguments_of, method_of, parameters_of
from autograder.probe.messages import ModuleRequest

ARRAY = re.compile(r"(\w+) \(([^()]*)\)")


@dataclass(frozen=True)
class Axis:
    """One axis of an array.

    Attributes:
        letter: how the course calls its length; "" where the signature does not say.
        one, many: what it counts.
        along: of an axis that counts nothing with a name, what its entries go by, as "of axis 0".
    """

    letter: str
    one: str
    many: str
    along: str = ""

    def __str__(self) -> str:
        if self.letter and self.along:
            return f"the axis of length {self.letter}"
        if self.letter:
            return f"the axis of the {self.many}, {self.letter}"
        return self.along.removeprefix("of ") or f"the {self.many}"

    def place(self, index: int) -> str:
        """One place on it: ``word 2``, ``index 0 of axis 1``."""
        return f"index {index} {self.along}" if self.along else f"{self.one} {index}"

    @classmethod
    def numbered(cls, number: int) -> Axis:
        """An axis that has no letter and goes by its number."""
        return cls("", f"entry of axis {number}", f"entries of axis {number}", f"of axis {number}")


@cache
def arrays_of(part: Part) -> dict[str, tuple[str, ...]]:
    """The letters of each array that the signature names."""
    return {name: _letters(axes) for name, axes in ARRAY.findall(part.signature)}


@cache
def results_of(part: Part, method: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Name and letters of each result of a method; a name is "" where the signature has none."""
    called = part.signature.partition(f"{method}(")[2] or part.signature
    text = called.partition("->")[2].strip()
    if re.match(r"\(\w+ \(", text):
        inside = text[1:].partition("))")[0] + ")"
        return tuple((name, _letters(axes)) for name, axes in ARRAY.findall(inside))
    named = re.match(r"(\w*) ?\(([^()]*)\)", text)
    if named:
        return ((named[1], _letters(named[2])),)
    arrays = arrays_of(part)
    return ((text, arrays[text]),) if text in arrays else ()


def results_in(item: CaseRun) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Name and letters of each result of what a case calls."""
    return results_of(item.part, method_of(item.request) or item.part.name)


def results_beside(item: CaseRun) -> Iterator[tuple[str, tuple[str, ...], Any, Any]]:
    """Name, letters, right value and a student's of each result; nothing where they are not as many."""
    expected, found = item.expected.value, item.actual.value
    if not isinstance(expected, tuple):
        expected, found = (expected,), (found,)
    if isinstance(found, tuple | list) and len(found) == len(expected):
        names = chain(results_in(item), repeat(("", ())))
        for (name, letters), right, own in zip(names, expected, found, strict=False):
            yield name, letters, right, own


def axes_of(
    name: str, letters: Sequence[str], ndim: int, counted: Mapping[str, Letter]
) -> tuple[Axis, ...]:
    """The axes of an array with so many; those in front that have no letter go by their number.

    Args:
        name: of the array.
        letters: of its axes, as the signature gives them.
        ndim: how many there are.
        counted: what each letter counts, see `Course`.
    """
    spread = [letter for letter in letters if letter != "..."]
    if len(spread) > ndim or ("..." not in letters and len(spread) != ndim):
        spread = []
    leading = ndim - len(spread)
    found = [Axis.numbered(number) for number in range(leading)]
    for place, letter in enumerate(spread):
        from_end = len(spread) - place
        found.append(_axis(name, letter, spread, from_end, counted))
    return tuple(found)


def _axis(
    name: str, letter: str, letters: Sequence[str], from_end: int, counted: Mapping[str, Letter]
) -> Axis:
    if name == "weights" and len(letters) > 1 and letters[-2] == "T":
        if from_end == 1:
            return Axis(letter, "key", "keys")
        if from_end == 2:
            return Axis(letter, "query", "queries")
    known = counted.get(letter)
    if known:
        return Axis(letter, known.one, known.many)
    if letter == "1":
        what = "of an axis of length 1"
        return Axis(letter, f"entry {what}", f"entries {what}", what)
    return Axis(letter, f"entry along {letter}", f"entries along {letter}", f"along {letter}")


def _sizes_in(item: CaseRun) -> dict[str, int]:
    """The lengths of what goes in by their letters, and other counts by their names; of the first call."""
    sizes: dict[str, int] = {}
    arrays = arrays_of(item.part)
    for name, value in arguments_of(item.request).items():
        if name in arrays and hasattr(value, "shape"):
            _bind(sizes, arrays[name], tuple(value.shape))
    for name, number in built_with(item).items():
        if isinstance(number, int) and not isinstance(number, bool):
            sizes.setdefault({"num_heads": "H"}.get(name, name), number)
    if "H" in sizes and "d_model" in sizes and sizes["H"] and not sizes["d_model"] % sizes["H"]:
        sizes.setdefault("d_k", sizes["d_model"] // sizes["H"])
    return sizes


def sizes_of(item: CaseRun) -> dict[str, int]:
    """The lengths in a case by their letters, of what goes in and of what should come out."""
    sizes = _sizes_in(item)
    value = item.expected.value
    values = value if isinstance(value, tuple) else (value,)
    for (_, letters), result in zip(results_in(item), values, strict=False):
        if hasattr(result, "shape"):
            _bind(sizes, letters, tuple(result.shape))
    return sizes


def built_with(item: CaseRun) -> dict[str, Any]:
    """What a module was constructed with, or the plain numbers that a function was called with."""
    request = item.request
    if isinstance(request, ModuleRequest):
        names = parameters_of(item.part.reference)
        return {**dict(zip(names, request.construct, strict=False)), **request.keywords}
    given = zip(request.names, request.arguments, strict=False)
    return {name: value for name, value in given if isinstance(value, int | float)}


def _letters(text: str) -> tuple[str, ...]:
    return tuple(letter.strip() for letter in text.split(",") if letter.strip())


def _bind(sizes: dict[str, int], letters: Sequence[str], shape: tuple[int, ...]) -> None:
    known = [letter for letter in letters if letter != "..."]
    if len(known) > len(shape) or ("..." not in letters and len(known) != len(shape)):
        return
    for letter, length in zip(reversed(known), reversed(shape), strict=False):
        if re.fullmatch(r"[A-Za-z_]+", letter):
            sizes.setdefault(letter, length)
