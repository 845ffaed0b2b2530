"""Relations of places that are wrong where others are right."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.checks.explain.evidence import Array, ResultPair


def right_in_part(seen: ResultPair) -> Iterator[str]:
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


def _is_no_chance(seen: ResultPair, right: Array) -> bool:
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
            "What changes from the first to the next, an index, a length or a factor?",
        )
    if places == [0]:
        yield "only the first {0.one} is wrong", "What is special about it?"
    if places == [length - 1] and length > 2:
        yield "only the last {0.one} is wrong", "Where does a range end one too early?"
    if places == list(range(length - 1)) and length > 2:
        yield (
            "only the last {0.one} is right, all others are wrong",
            "Is a result overwritten in a loop, or is something hidden from the others?",
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


def right_but_for_special_places(seen: ResultPair) -> Iterator[str]:
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
            if not wrong[..., ~places].any() and wrong.any(-1).sum() > 1:
                yield f"{seen.yours} {seen.verb} wrong only {words}. {question}"
    empty = (right == 0).all(-1)
    if empty.any() and not empty.all() and not wrong[~empty].any():
        if np.isnan(seen.found[empty]).any():
            yield (
                f"{seen.yours} {seen.verb} right but for the rows in which nothing may be seen, where "
                "NaN stands for 0. What is divided by what there?"
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


def some_rows_right(seen: ResultPair) -> Iterator[str]:
    """Some rows are right, others are not, and there is no order in it."""
    if not (seen.same_shape and seen.floating) or seen.expected.ndim < 2:
        return
    right = np.asarray(seen.agree(seen.expected, seen.found).all(-1))
    if not right.all() and right.sum() >= 2 and np.unique(seen.expected[right].round(6)).size > 3:
        yield (
            f"some rows of {seen.yours} are right to the last digit, others wrong. What do the "
            "wrong ones have in common?"
        )
