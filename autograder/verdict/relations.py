"""Say how a wrong result differs from the right one: each relation is a small function of both.

A relation looks at one result of one case (a `Seen`) and yields sentences that are true of it, the
most specific first; each ends in the question that leads on. What is said to a student holds in all
the cases for which it is said, see `in_common`, so that a letter such as d_k means itself and not a
number that happens to be the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from autograder.verdict.axes import Axis
from autograder.verdict.compare import ABSOLUTE, RELATIVE, TOLERANCES

Array = np.ndarray
Relation = Callable[["Seen"], Iterator[str]]
Sentences = tuple[tuple[str, str], ...]

MOST_NUMBERS = 30_000  # of an array that is looked at
MOST_AXES = 4  # of which every order is tried
MOST_SLICES = 40  # along an axis whose order is looked for


@dataclass(frozen=True)
class Seen:
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


def in_common(relations: Sequence[tuple[str, Relation]], seen: Sequence[Seen]) -> Sentences:
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


def _told(relation: Relation, seen: Seen) -> list[str]:
    with np.errstate(all="ignore"):
        return list(relation(seen))


# ------------------------------------------------------------------- the same numbers elsewhere


def axes_exchanged(seen: Seen) -> Iterator[str]:
    """The right numbers with two axes exchanged, or all in another order."""
    ndim = seen.expected.ndim
    if (
        not 2 <= ndim <= MOST_AXES
        or seen.found.ndim != ndim
        or seen.found.size != seen.expected.size
    ):
        return
    straight = tuple(range(ndim))
    orders = sorted(
        itertools.permutations(straight),
        key=lambda order: sum(a != b for a, b in zip(order, straight, strict=True)),
    )
    for order in orders[1:]:
        if not seen.close(seen.expected.transpose(order), seen.found):
            continue
        moved = [place for place in straight if order[place] != place]
        if len(moved) == 2:
            yield (
                f"{seen.yours} {seen.verb} right but for two axes that are exchanged: "
                f"{seen.axis(moved[0])}, and {seen.axis(moved[1])}. Is there a transpose too many, "
                "or one too few?"
            )
        else:
            letters = ", ".join(seen.axis(place).letter or str(place) for place in order)
            yield (
                f"{seen.yours} {seen.verb} right but for the order of the axes: it comes as "
                f"({letters}). Which axes have to change places, and in which step?"
            )


def in_another_order(seen: Seen) -> Iterator[str]:
    """What stands along one axis is right, but reversed, moved along, or in another order."""
    if not seen.same_shape:
        return
    for number, length in enumerate(seen.expected.shape):
        if not 2 <= length <= MOST_SLICES:
            continue
        axis = seen.axis(number)
        if length > 2 and seen.close(np.flip(seen.expected, number), seen.found):
            yield (
                f"in {seen.yours}, the {axis.many} stand in reverse order. Where is their order "
                "turned round, and should it be turned back?"
            )
        for places in _rolled(seen, number, length):
            where = f"{abs(places)} place{'s' * (abs(places) > 1)} too {'late' if places > 0 else 'early'}"
            yield (
                f"in {seen.yours}, the {axis.many} are moved along: each stands {where}, and what "
                "falls off one end comes in at the other. Where does an index begin one off?"
            )
        source = _sources(seen, number)
        if source and sorted(source) == list(range(length)) != source:
            yield (
                f"in {seen.yours}, every one of the {axis.many} is right, but they stand in another "
                "order. Which step puts them in this order?"
            )
        if source and set(source) == {0}:
            yield (
                f"in {seen.yours}, every {axis.one} has what belongs to the first. Is an index 0 "
                "written where each should have its own?"
            )
        if source and set(source) == {length - 1}:
            yield (
                f"in {seen.yours}, every {axis.one} has what belongs to the last. Is a result "
                "overwritten in a loop?"
            )


def _rolled(seen: Seen, number: int, length: int) -> Iterator[int]:
    if length < 3:
        return
    for places in (1, -1, 2, -2):
        if abs(places) < length - 1 and seen.close(
            np.roll(seen.expected, places, number), seen.found
        ):
            yield places


def _sources(seen: Seen, number: int) -> list[int]:
    """For each slice of what came back the right slice that it equals; [] if one equals none."""
    right = np.moveaxis(seen.expected, number, 0).reshape(seen.expected.shape[number], -1)
    found = np.moveaxis(seen.found, number, 0).reshape(right.shape)
    if right.shape[1] < 2 or right.shape[0] * right.size > 10 * MOST_NUMBERS:
        return []
    equal = seen.agree(right[None], found[:, None]).all(-1)
    if (equal.sum(1) != 1).any():
        return []
    return [int(place) for place in equal.argmax(1)]


def one_place_off(seen: Seen) -> Iterator[str]:
    """Along one axis, everything is right but one place late or early; only the rim differs."""
    if not seen.same_shape:
        return
    for number, length in enumerate(seen.expected.shape):
        if length < 4:
            continue
        right, found = (np.moveaxis(item, number, 0) for item in (seen.expected, seen.found))
        if np.unique(right[1:-1]).size < 4:
            continue
        for late, one, other in (("late", right[:-1], found[1:]), ("early", right[1:], found[:-1])):
            if seen.close(one, other):
                yield (
                    f"in {seen.yours}, the {seen.axis(number).many} stand one place too {late}. "
                    "Where does the count begin?"
                )


def mixed_up(seen: Seen) -> Iterator[str]:
    """The same numbers in other places."""
    if not seen.tells or not seen.floating or seen.expected.size != seen.found.size:
        return
    right, found = (np.sort(item.ravel()) for item in (seen.expected, seen.found))
    if not seen.close(right, found):
        return
    if not seen.same_shape:
        yield (
            f"{seen.yours} {'hold' if seen.verb == 'are' else 'holds'} the right numbers, in another "
            "shape and in other places. Which axes have to change places before a reshape?"
        )
        return
    for number in reversed(range(seen.expected.ndim)):
        one, other = (np.sort(item, axis=number) for item in (seen.expected, seen.found))
        if seen.expected.shape[number] > 1 and seen.close(one, other):
            yield (
                f"all numbers of {seen.yours} are there, but along {seen.axis(number)}, they stand "
                "in other places. Which step gives them their order?"
            )
    yield (
        f"all numbers of {seen.yours} are there, but in other places. A reshape leaves the numbers "
        "in the order in which they lie; is a transpose needed before it?"
    )


# ------------------------------------------------------------------------ calculated differently


def _constants(seen: Seen) -> Iterator[tuple[str, float]]:
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


def _named(seen: Seen, factor: float) -> Iterator[str]:
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


def times_a_constant(seen: Seen) -> Iterator[str]:
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
    for words in _named(seen, factor):
        yield (
            f"every number in {seen.yours} is {words} what it should be. Where is it multiplied or "
            "divided by that, and where should it be?"
        )
    yield (
        f"all numbers in {seen.yours} are off by one factor, another from case to case. What is "
        "multiplied or divided by something that it should not be?"
    )


def _factor(seen: Seen, right: Array, found: Array) -> float | None:
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


def rows_times_constants(seen: Seen) -> Iterator[str]:
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
    if ndim - 1 in _unit_axes(seen.expected):
        yield (
            f"within each row, {seen.yours} {seen.verb} right in proportion, but the rows do not sum "
            "to one. By what is each row divided?"
        )
    yield (
        f"each row of {seen.yours} is right but for a factor of its own. What is each row multiplied "
        "or divided by, and by what should it be?"
    )


def _factors_fit(seen: Seen, along: tuple[int, ...]) -> bool:
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


def offset(seen: Seen) -> Iterator[str]:
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


def rows_scaled_and_moved(seen: Seen) -> Iterator[str]:
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


def plus_an_input(seen: Seen) -> Iterator[str]:
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


def replaced(seen: Seen, right: Array) -> Seen:
    """The same with another array in the place of what is right."""
    return Seen(
        right, seen.found, seen.axes, seen.called, kind=seen.kind, found_kind=seen.found_kind
    )


def _fits(given: Array, seen: Seen) -> bool:
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


def through_a_function(seen: Seen) -> Iterator[str]:
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


# -------------------------------------------------------------------------- shares that sum to 1


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


def _softmax(values: Array, axis: int) -> Array:
    lowered = np.exp(values - values.max(axis, keepdims=True))
    return lowered / lowered.sum(axis, keepdims=True)


def softmax_misplaced(seen: Seen) -> Iterator[str]:
    """Softmax is left out, done twice, or runs along another axis."""
    if not (seen.same_shape and seen.floating and seen.expected.ndim and seen.tells):
        return
    right, found = seen.expected, seen.found
    for axis in _unit_axes(right):
        where = seen.axis(axis)
        if not np.isfinite(found).all():
            return
        if seen.close(right, _softmax(found, axis)):
            if found.max() <= 1e-6 and seen.close(np.exp(found), right):
                yield (
                    f"{seen.yours} hold the logarithms of the right weights. Which step turns them "
                    "into weights?"
                )
            yield (
                f"a softmax of {seen.yours} along {where} gives the right numbers: they are still "
                "scores. Is the softmax left out?"
            )
        if seen.close(_softmax(right, axis), found):
            yield (
                f"{seen.yours} {seen.verb} the softmax of the right numbers. Is there one softmax too "
                "many?"
            )
        sums = _unit_axes(found)
        other = [number for number in sums if number not in _unit_axes(right)]
        if other and axis not in sums:
            yield (
                f"{seen.yours} sum to one along {seen.axis(other[0])}; they should along {where}. "
                "Over which axis does the softmax run?"
            )
        total = float(found.sum())
        many = right.size > right.shape[axis]
        if axis not in sums and many and found.min() >= 0 and abs(total - 1) < 1e-3:
            yield (
                f"all numbers of {seen.yours} together sum to one; along {where}, each slice "
                "should. Over what does the softmax, or its sum, run?"
            )


def sharper_or_flatter(seen: Seen) -> Iterator[str]:
    """Weights from scores that are a constant factor too large or too small."""
    if not (seen.same_shape and seen.floating and seen.expected.ndim and seen.tells):
        return
    right, found = seen.expected, seen.found
    for axis in _unit_axes(right):
        if axis not in _unit_axes(found) or ((right > 0) != (found > 0)).any():
            continue
        visible = right > 0
        if (right[visible] < 1e-12).any() or visible.sum() - visible.any(axis).sum() < 4:
            continue
        counts = np.maximum(visible.sum(axis, keepdims=True), 1)
        logs = [
            np.where(visible, np.log(np.where(visible, item, 1.0)), 0.0) for item in (right, found)
        ]
        one, other = (
            np.where(visible, item - item.sum(axis, keepdims=True) / counts, 0.0) for item in logs
        )
        factor = float((one * other).sum() / (one * one).sum())
        apart = np.abs(one * factor - other).max()
        if apart > 2e-3 * np.abs(other).max() + 1e-6 or math.isclose(factor, 1, rel_tol=1e-3):
            continue
        if factor < 0:
            yield (
                f"{seen.yours} fall where they should rise: they come from scores with the wrong "
                "sign. Which difference is taken the wrong way round?"
            )
            return
        if abs(factor) < 1e-3:
            return
        for words in _named(seen, round(factor, 4)):
            yield (
                f"{seen.yours} are in the right order, but {'sharper' if factor > 1 else 'flatter'} "
                f"than they should be: they come from scores {words} the right ones. By what are the "
                "scores divided?"
            )
        yield (
            f"{seen.yours} are in the right order, but too {'sharp' if factor > 1 else 'flat'}: all "
            "scores are off by one factor, another from case to case. By what are the scores divided?"
        )


def shared_among_others(seen: Seen) -> Iterator[str]:
    """Weights that are right in proportion, but shared among too many keys, or too few."""
    if not (seen.same_shape and seen.floating and seen.expected.ndim and seen.tells):
        return
    right, found = seen.expected, seen.found
    for axis in _unit_axes(right):
        if not np.isfinite(found).all() or found.min() < 0:
            return
        both = (right > 0) & (found > 1e-7)
        if both.sum() - both.any(axis).sum() < 4:
            continue
        ratio = np.where(both, found / np.where(both, right, 1.0), np.nan)
        flat = np.where(both, ratio, -np.inf).max(axis) - np.where(both, ratio, np.inf).min(axis)
        some = both.any(axis)
        if (flat[some] > 1e-3 * np.nanmax(ratio)).any():
            continue
        many = seen.axis(axis).many
        if ((found > 1e-7) & (right == 0)).any() and not ((found <= 1e-7) & (right > 1e-5)).any():
            yield (
                f"in {seen.yours}, {many} that should be hidden have a share; the others are right in "
                "proportion. Where does the mask act, and what does it leave of the hidden scores?"
            )
        if ((found <= 1e-7) & (right > 1e-5)).any() and not ((found > 1e-7) & (right == 0)).any():
            square = right.ndim > 1 and right.shape[-1] == right.shape[-2]
            if square and axis == right.ndim - 1:
                if not np.triu(found, 1).any() and seen.close(_shares(np.tril(right)), found):
                    yield (
                        f"in {seen.yours}, every word sees only itself and what stands before it; the "
                        "rest is right in proportion. Is there a causal mask that was not asked for?"
                    )
                diagonal = np.eye(right.shape[-1], dtype=bool)
                if not found[..., diagonal].any():
                    yield (
                        f"in {seen.yours}, no word sees itself; the rest is right in proportion. Why "
                        "is the diagonal hidden?"
                    )
            yield (
                f"in {seen.yours}, some {many} are hidden that should have a share; the others are "
                "right in proportion. What hides them?"
            )


def _shares(values: Array) -> Array:
    return values / values.sum(-1, keepdims=True)


def not_shares(seen: Seen) -> Iterator[str]:
    """Where shares should sum to one, they do not, or are all alike, or all in one place."""
    if not (seen.same_shape and seen.floating and seen.expected.ndim):
        return
    right, found = seen.expected, seen.found
    for axis in _unit_axes(right):
        where = seen.axis(axis)
        if not np.isfinite(found).all() or found.shape[axis] < 2:
            return
        if axis in _unit_axes(found):
            if np.ptp(found, axis=axis).max() < 1e-6 < np.ptp(right, axis=axis).max():
                yield (
                    f"{seen.yours} are the same for all {where.many}. What are the scores before the "
                    "softmax, and do they differ?"
                )
            if (found.max(axis) > 1 - 1e-6).all() and not (right.max(axis) > 1 - 1e-3).any():
                yield (
                    f"{seen.yours} give everything to one of the {where.many} and nothing to the "
                    "others. A softmax shares out: is there an argmax, or are the scores far too large?"
                )
            return
        sums = found.sum(axis)
        if found.min() < -1e-6:
            yield (
                f"{seen.yours} should be shares, and some are negative. Which step makes shares of "
                "scores?"
            )
        elif (np.abs(sums[right.sum(axis) > 0] - 1) > 1e-3).all():
            yield (
                f"{seen.yours} should sum to one along {where}, and do nowhere. What is changed after "
                "the softmax, or divided by the wrong sum?"
            )


# --------------------------------------------------------------------------------- right in part


def right_in_part(seen: Seen) -> Iterator[str]:
    """Right but for some places: the first or last of an axis, every second one, one half."""
    if not seen.same_shape or seen.expected.size < 4:
        return
    wrong = ~seen.agree(seen.expected, seen.found)
    if not wrong.any() or wrong.all() or not _is_no_chance(seen, ~wrong):
        return
    for number, length in enumerate(seen.expected.shape):
        others = tuple(axis for axis in range(wrong.ndim) if axis != number)
        places: Array = np.asarray(wrong.any(others))
        if length < 2 or places.all():
            continue
        for which, question in _which(places):
            yield f"in {seen.yours}, {which.format(seen.axis(number))}. {question}"


def _is_no_chance(seen: Seen, right: Array) -> bool:
    """Whether so much is right that it was calculated and not met by chance."""
    if seen.floating:
        return np.unique(seen.expected[right].round(6)).size >= 3 or int(right.sum()) >= 8
    return int(right.sum()) >= (16 if seen.kind == "bool" else 4)


def _which(wrong: Array) -> Iterator[tuple[str, str]]:
    """In words, which of the places along an axis are wrong, and what to ask."""
    length, places = len(wrong), np.flatnonzero(wrong).tolist()
    if places == list(range(1, length)):
        yield (
            "only the first {0.one} is right, all others are wrong",
            "Which index or length is taken from the first alone?",
        )
    if places == [0]:
        yield "only the first {0.one} is wrong", "What is different where the count begins?"
    if places == [length - 1] and length > 2:
        yield "only the last {0.one} is wrong", "Where does a range end one too early?"
    if places == list(range(length - 1)) and length > 2:
        yield (
            "only the last {0.one} is right, all others are wrong",
            "Is a result overwritten in a loop?",
        )
    if length > 3:
        half = length // 2
        if places == list(range(1, length, 2)):
            yield (
                "every second one of the {0.many} is wrong, from 1 on",
                "What is made of the odd ones?",
            )
        if places == list(range(0, length, 2)):
            yield (
                "every second one of the {0.many} is wrong, from 0 on",
                "What is made of the even ones?",
            )
        if length % 2 == 0 and places == list(range(half, length)):
            yield (
                "the second half of the {0.many} is wrong, the first right",
                "Where does it come from?",
            )
        if length % 2 == 0 and places == list(range(half)):
            yield (
                "the first half of the {0.many} is wrong, the second right",
                "Where does it come from?",
            )
        if places and min(places) >= half:
            yield (
                "only {0.many} of the second half are wrong, the first half is right",
                "Where does the second half come from?",
            )
        if places and max(places) < half:
            yield (
                "only {0.many} of the first half are wrong, the second half is right",
                "Where does the first half come from?",
            )
        if places[0] > 1 and places == list(range(places[0], length)):
            yield (
                f"the first {places[0]} of the {{0.many}} are right, all after them wrong",
                f"Why {places[0]}: which number in your code stops there?",
            )
        if places[0] > 0 and places == list(range(places[0], length)):
            yield (
                "{0.many} are right up to some place, and wrong from there on",
                "What changes along the way?",
            )
    if 0 not in places and 0 < len(places):
        yield (
            "the first {0.one} is right, and others are wrong",
            "Is something shared that each should have of its own?",
        )


def right_but_for_special_places(seen: Seen) -> Iterator[str]:
    """Wrong only on the diagonal, beside it, or where the right number is 0."""
    if not seen.same_shape or seen.expected.ndim < 1 or seen.expected.size < 4:
        return
    wrong = ~seen.agree(seen.expected, seen.found)
    if not wrong.any() or wrong.all() or not _is_no_chance(seen, ~wrong):
        return
    right = seen.expected
    if right.ndim > 1 and right.shape[-1] == right.shape[-2] > 2:
        rows, columns = np.indices(right.shape[-2:])
        for words, places, question in (
            ("on the diagonal", rows == columns, "May a word look at itself?"),
            (
                "just above the diagonal",
                rows + 1 == columns,
                "Where exactly does the future begin?",
            ),
            ("just below the diagonal", rows == columns + 1, "Where exactly does the past end?"),
            ("above the diagonal", rows < columns, "What is asked of the words that come later?"),
            ("below the diagonal", rows > columns, "What is asked of the words that came before?"),
        ):
            if not wrong[..., ~places].any():
                yield f"{seen.yours} {seen.verb} wrong only {words}. {question}"
    empty = (right == 0).all(-1)
    if empty.any() and not empty.all() and not wrong[~empty].any():
        if np.isnan(seen.found[empty]).any():
            yield (
                f"{seen.yours} {seen.verb} right but for the rows in which nothing may be seen, where "
                "NaN stands for 0. What does a softmax make of scores that are all −∞?"
            )
        yield (
            f"{seen.yours} {seen.verb} right but for the rows that should be 0 throughout. What "
            "happens there, where nothing may be seen?"
        )
    if seen.floating and (right == 0).any() and (right != 0).any():
        if not wrong[right != 0].any():
            yield (
                f"in {seen.yours}, all is right but for numbers that should be 0 and are not. What "
                "should make them 0?"
            )
        if not wrong[right == 0].any() and wrong[right != 0].all():
            yield (
                f"in {seen.yours}, what should be 0 is 0, and everything else is wrong. What happens "
                "to the others?"
            )
    zero = wrong & (seen.found == 0)
    if seen.floating and (zero == wrong).all():
        yield (
            f"in {seen.yours}, some numbers are 0 that should not be, and all others are right. What "
            "sets them to 0, or was never filled in?"
        )


def some_rows_right(seen: Seen) -> Iterator[str]:
    """Some rows are right, others are not, and there is no order in it."""
    if not (seen.same_shape and seen.floating) or seen.expected.ndim < 2:
        return
    right = np.asarray(seen.agree(seen.expected, seen.found).all(-1))
    if not right.all() and right.sum() >= 2 and np.unique(seen.expected[right].round(6)).size > 3:
        yield (
            f"some rows of {seen.yours} are right to the last digit, others wrong. What do the "
            "wrong ones have in common?"
        )


def masks_differ(seen: Seen) -> Iterator[str]:
    """Truth values: the opposite everywhere, too many of them, or too few."""
    if seen.kind != "bool" or not (seen.same_shape and seen.tells):
        return
    right = seen.expected != 0
    if not np.isfinite(seen.found).all():
        if (np.isneginf(seen.found) == ~right).all() and not seen.found[right].any():
            yield (
                f"{seen.yours} holds 0 and −∞, to be added to scores. Asked are truth values: True "
                "where a word may be seen. At which place do you make numbers of them?"
            )
        return
    found = seen.found != 0
    if (found == ~right).all():
        yield (
            f"{seen.yours} is the opposite of what is asked, everywhere. Does True mean “may be "
            "seen” or “is hidden”?"
        )
        return
    if found.all():
        yield f"{seen.yours} shows everything. Which condition hides something?"
    if not found.any():
        yield f"{seen.yours} hides everything. Which condition lets something be seen?"
    if found[right].all():
        yield (
            f"everything that should be seen is, but {seen.yours} also shows what should be hidden. "
            "Which condition is missing, or is there an “or” where both must hold?"
        )
    if not found[~right].any():
        yield (
            f"everything that should be hidden is, but {seen.yours} also hides what should be seen. "
            "Which condition is too strict?"
        )


# -------------------------------------------------------------- not calculated, or not precisely


def taken_from_an_input(seen: Seen) -> Iterator[str]:
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


def _repeats(seen: Seen, value: Array) -> bool:
    try:
        return seen.close(np.broadcast_to(value, seen.found.shape), seen.found)
    except ValueError:
        return False


def all_alike(seen: Seen) -> Iterator[str]:
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
            f"every number in {seen.yours} is {found.flat[0]:.4g}. From which line on do the inputs "
            "play no part?"
        )
        yield (
            f"all numbers in {seen.yours} are one and the same. From which line on do the inputs play "
            "no part?"
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


def not_finite(seen: Seen) -> Iterator[str]:
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


def rounded(seen: Seen) -> Iterator[str]:
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
    if seen.kind == "float64" and seen.found_kind == "float64":
        apart = np.abs(seen.expected - seen.found).max() / max(np.abs(seen.expected).max(), 1e-300)
        if 1e-10 < apart < 3e-6:
            yield (
                f"{seen.yours} should be in float64 and {seen.verb} right to about seven digits only, "
                "as in float32. Which step, or which tensor that you make yourself, is in float32?"
            )


def nearly_right(seen: Seen) -> Iterator[str]:
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


# ---------------------------------------------------------------------------------------- shapes


def axis_gone_or_new(seen: Seen) -> Iterator[str]:
    """The right numbers in another shape, or all of them summed or averaged along one axis."""
    right, found = seen.expected, seen.found
    if seen.same_shape:
        return
    if right.size == found.size and seen.close(right.ravel(), found.ravel()):
        long, longer = [n for n in right.shape if n != 1], [n for n in found.shape if n != 1]
        if long == longer and found.ndim < right.ndim:
            yield (
                f"{seen.yours} {seen.verb} right, but an axis of length 1 is missing. Is there a "
                "squeeze, or an index where a slice keeps the axis?"
            )
        elif long == longer and found.ndim > right.ndim:
            yield (
                f"{seen.yours} {seen.verb} right, but with an axis of length 1 too many. Where does "
                "it come in?"
            )
        elif found.ndim < right.ndim:
            yield (
                f"the numbers of {seen.yours} are right, but axes that should stay apart were made "
                "into one. Which ones, and by which step?"
            )
        elif found.ndim > right.ndim:
            yield (
                f"the numbers of {seen.yours} are right, but one axis is still cut in two. Which two "
                "axes become one at the end?"
            )
        else:
            yield (
                f"{seen.yours} {seen.has} the right numbers in the right order and another shape. Which "
                "lengths should the axes have?"
            )
    for number, length in enumerate(right.shape):
        axis = seen.axis(number)
        if length < 2:
            continue
        for keep in (False, True):
            for words, value in (
                ("summed", right.sum(number, keepdims=keep)),
                ("averaged", right.mean(number, keepdims=keep)),
            ):
                if seen.floating and value.size > 1 and seen.close(value, found):
                    yield (
                        f"{seen.yours} {seen.verb} right, but {words} over {axis}. Over which axis "
                        "should that run, if at all?"
                    )
        for words, place in (("first", 0), ("last", length - 1)):
            if right.size > length and seen.close(right.take(place, number), found):
                yield (
                    f"{seen.yours} {seen.verb} that of the {words} {axis.one} alone, and "
                    f"{axis} is gone. Which index takes it out?"
                )


def shorter_or_longer(seen: Seen) -> Iterator[str]:
    """Too short or too long along one axis, and right as far as it goes."""
    right, found = seen.expected, seen.found
    if seen.same_shape or right.ndim != found.ndim:
        return
    differ = [n for n in range(right.ndim) if right.shape[n] != found.shape[n]]
    if len(differ) != 1:
        return
    number = differ[0]
    axis, wanted, length = seen.axis(number), right.shape[number], found.shape[number]
    overlap = min(wanted, length)
    if not overlap:
        return
    begins, ends = slice(0, overlap), slice(-overlap, None)
    for words, place in (("begins", begins), ("ends", ends)):
        one, other = (np.moveaxis(item, number, 0)[place] for item in (right, found))
        if one.size < 4 or not seen.close(one, other):
            continue
        if length == 1 and words == "begins":
            yield (
                f"{seen.yours} {seen.verb} right for the first {axis.one}, and the others are "
                "missing. Is there an index or a slice that keeps only one?"
            )
        if length < wanted:
            yield (
                f"{seen.yours} {seen.verb} right as far as it goes, but too short along {axis}: it "
                f"{words} as it should. Which length, or which condition to stop, cuts it off?"
            )
        else:
            yield (
                f"{seen.yours} {words} as it should, but is too long along {axis}. What is appended, "
                "or not cut off?"
            )
    # without a look at the numbers: the length of another axis
    for letter, size in seen.sizes.items():
        if size == length and letter != axis.letter and len(letter) < 8:
            yield (
                f"{seen.yours} {seen.has} the length of {letter} along {axis}. Where does your code take "
                f"{letter} for {axis.letter or 'it'}?"
            )
    if wanted > 1 and length == 1:
        yield (
            f"along {axis}, {seen.yours} {seen.has} the length 1. Which step takes only one of them, or sums "
            "them up?"
        )


def other_number_of_axes(seen: Seen) -> Iterator[str]:
    """A shape that is the right one with an axis missing, one too many, or in another order."""
    right, found = seen.expected.shape, seen.found.shape
    if right == found:
        return
    if len(found) == len(right) - 1:
        gone = [n for n in range(len(right)) if found == right[:n] + right[n + 1 :]]
        for number in gone:
            yield (
                f"in the shape of {seen.yours}, {seen.axis(number)}, is missing. Which step takes it "
                "away, an index, a sum or a squeeze?"
            )
    if len(found) == len(right) + 1:
        for number in range(len(found)):
            if right == found[:number] + found[number + 1 :]:
                yield (
                    f"{seen.yours} {seen.has} one axis too many, of the length {found[number]}. Which step "
                    "adds it, and which should take it away?"
                )
                yield f"{seen.yours} {seen.has} one axis too many. Which step adds it?"
    if len(found) == len(right) and sorted(found) == sorted(right):
        moved = [n for n in range(len(right)) if found[n] != right[n]]
        if len(moved) == 2:
            yield (
                f"in the shape of {seen.yours}, two axes are exchanged: {seen.axis(moved[0])}, and "
                f"{seen.axis(moved[1])}. Which step puts them in this order?"
            )
        yield f"the axes of {seen.yours} stand in another order than asked. Which step turns them?"
    if len(found) < len(right):
        yield (
            f"{seen.yours} {seen.has} {len(found)} ax{'i' if len(found) == 1 else 'e'}s where {len(right)} "
            "are asked. Which step drops one: an index, a sum, a flatten?"
        )
    if len(found) > len(right):
        yield (
            f"{seen.yours} {seen.has} {len(found)} axes where {len(right)} are asked. Which step adds one?"
        )


# what relates results of one shape, the specific before the general
RELATIONS: tuple[tuple[str, Relation], ...] = (
    ("an input given back", taken_from_an_input),
    ("axes exchanged", axes_exchanged),
    ("in another order", in_another_order),
    ("softmax left out, twice or along another axis", softmax_misplaced),
    ("the opposite mask, or one that hides too much or too little", masks_differ),
    ("wrong by a constant factor", times_a_constant),
    ("an input added or left out", plus_an_input),
    ("wrong by a constant", offset),
    ("rounded", rounded),
    ("scores too large or too small", sharper_or_flatter),
    ("hidden ones have weight, or visible ones none", shared_among_others),
    ("a function too many or left out", through_a_function),
    ("all the same", all_alike),
    ("right but for special places", right_but_for_special_places),
    ("right in part", right_in_part),
    ("one place too early or late", one_place_off),
    ("each row has a factor of its own", rows_times_constants),
    ("weights that are no shares", not_shares),
    ("each row has a factor and an offset of its own", rows_scaled_and_moved),
    ("right numbers in other places", mixed_up),
    ("NaN or infinity", not_finite),
    ("some rows right", some_rows_right),
    ("nearly right", nearly_right),
)

# what relates results of different shapes
SHAPES: tuple[tuple[str, Relation], ...] = (
    ("an input given back", taken_from_an_input),
    ("axes exchanged", axes_exchanged),
    ("right numbers in another shape", axis_gone_or_new),
    ("too short or too long", shorter_or_longer),
    ("right numbers in other places", mixed_up),
    ("another number of axes", other_number_of_axes),
)
