"""Relations of places that are wrong where others are right."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.checks.axes import Axis
from autograder.checks.explain.evidence import Array, ResultPair


def right_in_part(pair: ResultPair) -> Iterator[str]:
    """Right but for some places: the first or last of an axis, every second one, one half."""
    wrong = pair.wrong
    if not _is_right_in_places(pair):
        return
    for number, length in enumerate(pair.expected.shape):
        others = tuple(axis for axis in range(wrong.ndim) if axis != number)
        places: Array = np.asarray(wrong.any(others))
        if length < 2 or places.all():
            continue
        for sentence in _which_are_wrong(pair.axis(number), places):
            yield f"in {pair.yours}, {sentence}"


def _is_right_in_places(pair: ResultPair) -> bool:
    """Whether some is wrong, and so much is right that it was calculated and not met by chance."""
    right = ~pair.wrong
    if right.size < 4 or right.all() or not right.any():
        return False
    if pair.floating:
        return np.unique(pair.expected[right].round(6)).size >= 3 or int(right.sum()) >= 8
    return int(right.sum()) >= (16 if pair.kind == "bool" else 4)


def _which_are_wrong(axis: Axis, wrong: Array) -> Iterator[str]:
    """In words, which of the places along an axis are wrong, and what to ask."""
    length, places = len(wrong), np.flatnonzero(wrong).tolist()
    half = length // 2

    def are(*expected: int) -> bool:
        return places == list(range(*expected))

    if are(1, length):
        yield (
            f"only the first {axis.one} is right, all others are wrong. What changes from the first to "
            "the next, an index, a length or a factor?"
        )
    if are(1):
        yield f"only the first {axis.one} is wrong. What is special about it?"
    if length > 2 and are(length - 1, length):
        yield f"only the last {axis.one} is wrong. Where does a range end one too early?"
    if length > 2 and are(length - 1):
        yield (
            f"only the last {axis.one} is right, all others are wrong. Is a result overwritten in a "
            "loop, or is something hidden from the others?"
        )
    if length > 3:
        if are(1, length, 2):
            yield (
                f"every second one of the {axis.many} is wrong, from 1 on. What is made of the odd ones?"
            )
        if are(0, length, 2):
            yield (
                f"every second one of the {axis.many} is wrong, from 0 on. What is made of the even ones?"
            )
        if length % 2 == 0 and are(half, length):
            yield (
                f"the second half of the {axis.many} is wrong, the first right. Where does it come from?"
            )
        if length % 2 == 0 and are(half):
            yield (
                f"the first half of the {axis.many} is wrong, the second right. Where does it come from?"
            )
        if places[0] >= half:
            yield (
                f"only {axis.many} of the second half are wrong, the first half is right. Where does "
                "the second half come from?"
            )
        if places[-1] < half:
            yield (
                f"only {axis.many} of the first half are wrong, the second half is right. Where does "
                "the first half come from?"
            )
        if places[0] > 1 and are(places[0], length):
            yield (
                f"the first {places[0]} of the {axis.many} are right, all after them wrong. Why "
                f"{places[0]}: which number in your code stops there?"
            )
        if places[0] > 0 and are(places[0], length):
            yield (
                f"{axis.many} are right up to some place, and wrong from there on. What changes along "
                "the way?"
            )
    if places[0] > 0:
        yield (
            f"the first {axis.one} is right, and others are wrong. Is something shared that each should "
            "have of its own?"
        )


def right_but_for_special_places(pair: ResultPair) -> Iterator[str]:
    """Wrong only on the diagonal, beside it, or where the right number is 0."""
    right, wrong = pair.expected, pair.wrong
    if not _is_right_in_places(pair):
        return
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
            if not wrong[..., ~places].any() and wrong.any(-1).sum() > 1:
                yield f"{pair.yours} {pair.verb} wrong only {words}. {question}"
    empty = (right == 0).all(-1)
    if empty.any() and not empty.all() and not wrong[~empty].any():
        if np.isnan(pair.found[empty]).any():
            yield (
                f"{pair.yours} {pair.verb} right but for the rows in which nothing may be seen, where "
                "NaN stands for 0. What is divided by what there?"
            )
        yield (
            f"{pair.yours} {pair.verb} right but for the rows that should be 0 throughout. What "
            "happens there, where nothing may be seen?"
        )
    if pair.floating and (right == 0).any() and (right != 0).any():
        if not wrong[right != 0].any():
            yield (
                f"in {pair.yours}, all is right but for numbers that should be 0 and are not. What "
                "should make them 0?"
            )
        if not wrong[right == 0].any() and wrong[right != 0].all():
            yield (
                f"in {pair.yours}, what should be 0 is 0, and everything else is wrong. What happens "
                "to the others?"
            )
    zero = wrong & (pair.found == 0)
    if pair.floating and (zero == wrong).all():
        yield (
            f"in {pair.yours}, some numbers are 0 that should not be, and all others are right. What "
            "sets them to 0, or was never filled in?"
        )


def some_rows_right(pair: ResultPair) -> Iterator[str]:
    """Some rows are right, others are not, and there is no order in it."""
    if pair.expected.ndim < 2:
        return
    right = ~pair.wrong.any(-1)
    if not right.all() and right.sum() >= 2 and np.unique(pair.expected[right].round(6)).size > 3:
        yield (
            f"some rows of {pair.yours} are right to the last digit, others wrong. What do the "
            "wrong ones have in common?"
        )
