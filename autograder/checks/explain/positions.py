"""Relations of places: the right numbers, and where they stand instead."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from autograder.checks.explain.evidence import MOST_NUMBERS, ResultPair

MOST_AXES = 4  # of which every order is tried
MOST_SLICES = 40  # along an axis whose order is looked for


def axes_exchanged(seen: ResultPair) -> Iterator[str]:
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


def in_another_order(seen: ResultPair) -> Iterator[str]:
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


def _rolled(seen: ResultPair, number: int, length: int) -> Iterator[int]:
    if length < 3:
        return
    for places in (1, -1, 2, -2):
        if abs(places) < length - 1 and seen.close(
            np.roll(seen.expected, places, number), seen.found
        ):
            yield places


def _sources(seen: ResultPair, number: int) -> list[int]:
    """For each slice of what came back the right slice that it equals; [] if one equals none."""
    right = np.moveaxis(seen.expected, number, 0).reshape(seen.expected.shape[number], -1)
    found = np.moveaxis(seen.found, number, 0).reshape(right.shape)
    if right.shape[1] < 2 or right.shape[0] * right.size > 10 * MOST_NUMBERS:
        return []
    equal = seen.agree(right[None], found[:, None]).all(-1)
    if (equal.sum(1) != 1).any():
        return []
    return [int(place) for place in equal.argmax(1)]


def one_place_off(seen: ResultPair) -> Iterator[str]:
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


def mixed_up(seen: ResultPair) -> Iterator[str]:
    """The same numbers in other places."""
    if not seen.tells or not seen.floating or seen.expected.size != seen.found.size:
        return
    right, found = (np.sort(item.ravel()) for item in (seen.expected, seen.found))
    if not seen.close(right, found):
        return
    if not seen.same_shape:
        yield (
            f"{seen.yours} {'hold' if seen.verb == 'are' else 'holds'} the right numbers, in another "
            "shape and in other places. Which axes are cut or joined, by which lengths, and does one "
            "have to change places before?"
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
