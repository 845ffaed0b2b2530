"""All relations of a wrong result to the right one, and the first of them that holds.

What is said to a student holds in all the cases for which it is said, so that a letter such as d_k
means itself and not a number that happens to be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Flag, auto

import numpy as np

from autograder.checks.explain.evidence import MOST_NUMBERS, Explanation, ResultPair
from autograder.checks.explain.numbers import (
    all_alike,
    nearly_right,
    not_finite,
    offset,
    plus_an_input,
    rounded,
    rows_scaled_and_moved,
    rows_times_constants,
    taken_from_an_input,
    through_a_function,
    times_a_constant,
)
from autograder.checks.explain.partial import (
    right_but_for_special_places,
    right_in_part,
    some_rows_right,
)
from autograder.checks.explain.positions import (
    axes_exchanged,
    in_another_order,
    mixed_up,
    one_place_off,
)
from autograder.checks.explain.shapes import (
    axis_gone_or_new,
    other_number_of_axes,
    shorter_or_longer,
)
from autograder.checks.explain.weights import (
    masks_differ,
    not_shares,
    shared_among_others,
    sharper_or_flatter,
    softmax_misplaced,
)


class Needs(Flag):
    """What must be true of a result before a relation is looked for in it."""

    NOTHING = 0
    ONE_SHAPE = (
        auto()
    )  # what came back has the right shape; in common, this must hold of all results
    FLOATING = auto()
    TELLING = auto()
    FINITE = auto()


NUMBERS = Needs.ONE_SHAPE | Needs.FLOATING
MANY_NUMBERS = NUMBERS | Needs.TELLING


@dataclass(frozen=True)
class Relation:
    """A relation of what came back to what is right.

    Attributes:
        name: for the class report.
        find: yields the sentences that are true of a result.
        needs: what it takes for granted.
        weak: by chance, it is true of one case more easily than of all.
    """

    name: str
    find: Callable[[ResultPair], Iterator[str]]
    needs: Needs = Needs.NOTHING
    weak: bool = False

    def sentences_on(self, pair: ResultPair) -> list[str]:
        if (
            (Needs.ONE_SHAPE in self.needs and not pair.same_shape)
            or (Needs.FLOATING in self.needs and not pair.floating)
            or (Needs.TELLING in self.needs and not pair.telling)
            or (Needs.FINITE in self.needs and not pair.finite)
        ):
            return []
        with np.errstate(all="ignore"):
            return list(self.find(pair))


# the specific before the general
RELATIONS = (
    Relation("an input given back", taken_from_an_input, Needs.FLOATING),
    Relation("axes exchanged", axes_exchanged),
    Relation("right numbers in another shape", axis_gone_or_new),
    Relation("too short or too long", shorter_or_longer, weak=True),
    Relation("in another order", in_another_order, Needs.ONE_SHAPE),
    Relation(
        "softmax left out, twice or along another axis",
        softmax_misplaced,
        MANY_NUMBERS | Needs.FINITE,
    ),
    Relation(
        "the opposite mask, or one that hides too much or too little",
        masks_differ,
        Needs.ONE_SHAPE | Needs.TELLING,
    ),
    Relation("wrong by a constant factor", times_a_constant, NUMBERS),
    Relation("an input added or left out", plus_an_input, MANY_NUMBERS),
    Relation("wrong by a constant", offset, NUMBERS),
    Relation("rounded", rounded, MANY_NUMBERS),
    Relation("scores too large or too small", sharper_or_flatter, MANY_NUMBERS | Needs.FINITE),
    Relation(
        "hidden ones have weight, or visible ones none",
        shared_among_others,
        MANY_NUMBERS | Needs.FINITE,
    ),
    Relation("a function too many or left out", through_a_function, MANY_NUMBERS),
    Relation("all the same", all_alike, Needs.ONE_SHAPE),
    Relation("right but for special places", right_but_for_special_places, Needs.ONE_SHAPE),
    Relation("right in part", right_in_part, Needs.ONE_SHAPE, weak=True),
    Relation("one place too early or late", one_place_off, Needs.ONE_SHAPE),
    Relation("each row has a factor of its own", rows_times_constants, NUMBERS | Needs.FINITE),
    Relation("weights that are no shares", not_shares, NUMBERS | Needs.FINITE),
    Relation("each row has a factor and an offset of its own", rows_scaled_and_moved, NUMBERS),
    Relation("right numbers in other places", mixed_up, Needs.FLOATING | Needs.TELLING),
    Relation("another number of axes", other_number_of_axes),
    Relation("NaN or infinity", not_finite, Needs.ONE_SHAPE),
    Relation("some rows right", some_rows_right, NUMBERS),
    Relation("nearly right", nearly_right, MANY_NUMBERS | Needs.FINITE, weak=True),
)


def in_common(pairs: Sequence[ResultPair], weak: bool = True) -> Explanation | None:
    """The first relation with a sentence that is true of all these results.

    Args:
        pairs: results of several cases; at least one must tell something.
        weak: also look for weak relations.
    """
    telling = sorted((pair for pair in pairs if pair.telling), key=lambda pair: pair.found.size)
    if not telling:
        return None
    # a small one rules most relations out at little cost
    others = [*telling[1:], *(pair for pair in pairs if not pair.telling)]
    others = [
        pair
        for pair in others
        if pair.expected.size >= 4 and pair.found.size and pair.largest_size <= MOST_NUMBERS
    ]
    one_shape = all(pair.same_shape for pair in pairs)
    for relation in RELATIONS:
        if (relation.weak and not weak) or (Needs.ONE_SHAPE in relation.needs and not one_shape):
            continue
        sentences = relation.sentences_on(telling[0])
        for pair in others:
            if not sentences:
                break
            also = relation.sentences_on(pair)
            sentences = [sentence for sentence in sentences if sentence in also]
        if sentences:
            return Explanation(relation.name, sentences[0][0].upper() + sentences[0][1:])
    return None
