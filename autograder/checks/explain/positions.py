"""Relations of places: the right numbers, and where they stand instead."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from autograder.checks.explain.evidence import MOST_NUMBERS, ResultPair

MOST_AXES = 4  # of which every order is tried
MOST_SLICES = 40  # along an axis whose order is looked for


def axes_exchanged(pair: ResultPair) -> Iterator[str]:
    """The right numbers with two axes exchanged, or all in another order."""
    ndim = pair.expected.ndim
    if (
        not 2 <= ndim <= MOST_AXES
        or pair.found.ndim != ndim
        or pair.found.size != pair.expected.size
    ):
        return
    straight = tuple(range(ndim))
    orders = sorted(
        itertools.permutations(straight),
        key=lambda order: sum(a != b for a, b in zip(order, straight, strict=True)),
    )
    for order in orders[1:]:
        if not pair.close(pair.expected.transpose(order), pair.found):
            continue
        moved = [place for place in straight if order[place] != place]
        if len(moved) == 2:
            yield (
                f"{pair.yours} {pair.verb} right but for two axes that are exchanged: "
                f"{pair.axis(moved[0])}, and {pair.axis(moved[1])}. Is there a transpose too many, "
                "or one too few?"
            )
        else:
            letters = ", ".join(pair.axis(place).letter or str(place) for place in order)
            yield (
                f"{pair.yours} {pair.verb} right but for the order of the axes, which is "
                f"({letters}). Which axes have to change places, and in which step?"
            )


def in_another_order(pair: ResultPair) -> Iterator[str]:
    """What stands along one axis is right, but reversed, moved along, or in another order."""
    for number, length in enumerate(pair.expected.shape):
        if not 2 <= length <= MOST_SLICES:
            continue
        axis = pair.axis(number)
        if length > 2 and pair.close(np.flip(pair.expected, number), pair.found):
            yield (
                f"in {pair.yours}, the {axis.many} stand in reverse order. Where is their order "
                "turned round, and should it be turned back?"
            )
        for places in _rolled(pair, number, length):
            where = f"{abs(places)} place{'s' * (abs(places) > 1)} too {'late' if places > 0 else 'early'}"
            yield (
                f"in {pair.yours}, the {axis.many} are moved along: each stands {where}, and what "
                "falls off one end comes in at the other. Where does an index begin one off?"
            )
        source = _sources(pair, number)
        if source and sorted(source) == list(range(length)) != source:
            yield (
                f"in {pair.yours}, every one of the {axis.many} is right, but they stand in another "
                "order. Which step puts them in this order?"
            )
        if source and set(source) == {0}:
            yield (
                f"in {pair.yours}, every {axis.one} has what belongs to the first. Is an index 0 "
                "written where each should have its own?"
            )
        if source and set(source) == {length - 1}:
            yield (
                f"in {pair.yours}, every {axis.one} has what belongs to the last. Is a result "
                "overwritten in a loop?"
            )


def _rolled(pair: ResultPair, number: int, length: int) -> Iterator[int]:
    if length < 3:
        return
    for places in (1, -1, 2, -2):
        if abs(places) < length - 1 and pair.close(
            np.roll(pair.expected, places, number), pair.found
        ):
            yield places


def _sources(pair: ResultPair, number: int) -> list[int]:
    """For each slice of what came back the right slice that it equals; [] if one equals none."""
    right = np.moveaxis(pair.expected, number, 0).reshape(pair.expected.shape[number], -1)
    found = np.moveaxis(pair.found, number, 0).reshape(right.shape)
    if right.shape[1] < 2 or right.shape[0] * right.size > 10 * MOST_NUMBERS:
        return []
    equal = pair.agree(right[None], found[:, None]).all(-1)
    if (equal.sum(1) != 1).any():
        return []
    places = [int(place) for place in equal.argmax(1)]
    # zeros throughout may come from anywhere
    return places if right[places].any() else []


def mixed_up(pair: ResultPair) -> Iterator[str]:
    """The same numbers in other places."""
    if pair.expected.size != pair.found.size:
        return
    right, found = (np.sort(item.ravel()) for item in (pair.expected, pair.found))
    if not pair.close(right, found):
        return
    if not pair.same_shape:
        yield (
            f"{pair.yours} {'hold' if pair.verb == 'are' else 'holds'} the right numbers, in another "
            "shape and in other places. Which axes are cut or joined, by which lengths, and does one "
            "have to change places before?"
        )
        return
    for number in reversed(range(pair.expected.ndim)):
        one, other = (np.sort(item, axis=number) for item in (pair.expected, pair.found))
        if pair.expected.shape[number] > 1 and pair.close(one, other):
            yield (
                f"all numbers of {pair.yours} are there, but along {pair.axis(number)}, they stand "
                "in other places. Which step gives them their order?"
            )
    yield (
        f"all numbers of {pair.yours} are there, but in other places. A reshape leaves the numbers "
        "in the order in which they lie; is a transpose needed before it?"
    )
