"""Relations of shapes: an axis gone or new, too short or too long."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.checks.explain.evidence import ResultPair


def axis_gone_or_new(pair: ResultPair) -> Iterator[str]:
    """The right numbers in another shape, or all of them summed or averaged along one axis."""
    right, found = pair.expected, pair.found
    if pair.same_shape:
        return
    if right.size == found.size and pair.close(right.ravel(), found.ravel()):
        long, longer = [n for n in right.shape if n != 1], [n for n in found.shape if n != 1]
        if long == longer and found.ndim < right.ndim:
            yield (
                f"{pair.yours} {pair.verb} right, but an axis of length 1 is missing. Is there a "
                "squeeze, or an index where a slice keeps the axis?"
            )
        elif long == longer and found.ndim > right.ndim:
            yield (
                f"{pair.yours} {pair.verb} right, but with an axis of length 1 too many. Where does "
                "it come in?"
            )
        elif found.ndim < right.ndim:
            yield (
                f"the numbers of {pair.yours} are right, but axes that should stay apart were made "
                "into one. Which ones, and by which step?"
            )
        elif found.ndim > right.ndim:
            yield (
                f"the numbers of {pair.yours} are right, but one axis is still cut in two. Which two "
                "axes become one at the end?"
            )
        else:
            yield (
                f"{pair.yours} {pair.has} the right numbers in the right order and another shape. Which "
                "lengths should the axes have?"
            )
    for number, length in enumerate(right.shape):
        axis = pair.axis(number)
        if length < 2:
            continue
        for keep in (False, True):
            for words, value in (
                ("summed", right.sum(number, keepdims=keep)),
                ("averaged", right.mean(number, keepdims=keep)),
            ):
                if pair.floating and value.size > 1 and pair.close(value, found):
                    yield (
                        f"{pair.yours} {pair.verb} right, but {words} over {axis}. Over which axis "
                        "should that run, if at all?"
                    )
        for words, place in (("first", 0), ("last", length - 1)):
            if right.size > length and pair.close(right.take(place, number), found):
                yield (
                    f"{pair.yours} {pair.has} the numbers of the {words} {axis.one} alone, and "
                    f"{axis} is gone. Which index takes it out?"
                )


def shorter_or_longer(pair: ResultPair) -> Iterator[str]:
    """Too short or too long along one axis, and right as far as it goes."""
    right, found = pair.expected, pair.found
    if pair.same_shape or right.ndim != found.ndim:
        return
    differ = [n for n in range(right.ndim) if right.shape[n] != found.shape[n]]
    if len(differ) != 1:
        return
    number = differ[0]
    axis, wanted, length = pair.axis(number), right.shape[number], found.shape[number]
    overlap = min(wanted, length)
    if not overlap:
        return
    begins, ends = slice(0, overlap), slice(-overlap, None)
    for words, place in (("beginning", begins), ("end", ends)):
        one, other = (np.moveaxis(item, number, 0)[place] for item in (right, found))
        if one.size < 4 or not pair.close(one, other):
            continue
        if length == 1 and words == "beginning":
            yield (
                f"{pair.yours} {pair.verb} right for the first {axis.one}, and the others are "
                "missing. Is there an index or a slice that keeps only one?"
            )
        if length < wanted:
            yield (
                f"{pair.yours} {pair.verb} too short along {axis}, and what is there is the right "
                f"{words}. Which length, or which condition to stop, cuts off the rest?"
            )
        else:
            yield (
                f"{pair.yours} {pair.verb} too long along {axis}, and the {words} is right. What is "
                "appended, or not cut off?"
            )
    # without a look at the numbers: the length of another axis
    for letter, size in pair.sizes.items():
        if size == length and letter != axis.letter and len(letter) < 4:
            yield (
                f"{pair.yours} {pair.has} the length of {letter} along {axis}. Where does your code take "
                f"{letter} for {axis.letter or 'it'}?"
            )
    if wanted > 1 and length == 1:
        yield (
            f"along {axis}, {pair.yours} {pair.has} the length 1. Which step takes only one of them, or sums "
            "them up?"
        )


def other_number_of_axes(pair: ResultPair) -> Iterator[str]:
    """A shape that is the right one with an axis missing, one too many, or in another order."""
    right, found = pair.expected.shape, pair.found.shape
    if right == found:
        return
    if len(found) == len(right) - 1:
        gone = [n for n in range(len(right)) if found == right[:n] + right[n + 1 :]]
        for number in gone:
            yield (
                f"the shape of {pair.yours} lacks {pair.axis(number)}. Which step takes it away, an "
                "index, a sum or a squeeze?"
            )
    if len(found) == len(right) + 1:
        for number in range(len(found)):
            if right == found[:number] + found[number + 1 :]:
                yield (
                    f"{pair.yours} {pair.has} one axis too many, of the length {found[number]}. Which step "
                    "adds it, and which should take it away?"
                )
                yield f"{pair.yours} {pair.has} one axis too many. Which step adds it?"
    if len(found) == len(right) and sorted(found) == sorted(right):
        moved = [n for n in range(len(right)) if found[n] != right[n]]
        if len(moved) == 2:
            yield (
                f"in the shape of {pair.yours}, two axes are exchanged: {pair.axis(moved[0])}, and "
                f"{pair.axis(moved[1])}. Which step puts them in this order?"
            )
        yield f"the axes of {pair.yours} stand in another order than asked. Which step turns them?"
    if len(found) < len(right):
        yield (
            f"{pair.yours} {pair.has} {len(found)} ax{'i' if len(found) == 1 else 'e'}s where {len(right)} "
            "are asked. Which step drops one: an index, a sum, a flatten?"
        )
    if len(found) > len(right):
        yield (
            f"{pair.yours} {pair.has} {len(found)} axes where {len(right)} are asked. Which step adds one?"
        )
