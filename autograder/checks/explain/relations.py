"""All relations of a wrong result to the right one, and the first of them that holds.

What is said to a student holds in all the cases for which it is said, so that a letter such as d_k
means itself and not a number that happens to be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from autograder.checks.explain import numbers, partial, positions, shapes, weights
from autograder.checks.explain.evidence import MOST_NUMBERS, Explanation, ResultPair

# what a relation takes for granted: properties of a `ResultPair`
SAME_SHAPE, FLOATING, TELLING, FINITE = "same_shape", "floating", "telling", "finite"
NUMBERS = (SAME_SHAPE, FLOATING)
FINITE_NUMBERS = (*NUMBERS, FINITE)
MANY_NUMBERS = (*NUMBERS, TELLING)
SHARES = (*MANY_NUMBERS, FINITE)


@dataclass(frozen=True)
class Relation:
    """A relation of what came back to what is right.

    Attributes:
        name: for the class report.
        find: yields the sentences that are true of a result.
        needs: what it takes for granted; the same shape it asks of all results that are looked at together.
        weak: by chance, it is true of one case more easily than of all.
    """

    name: str
    find: Callable[[ResultPair], Iterator[str]]
    needs: tuple[str, ...] = ()
    weak: bool = False

    def sentences_on(self, pair: ResultPair) -> list[str]:
        if self.name not in pair.known:
            with np.errstate(all="ignore"):
                met = all(getattr(pair, need) for need in self.needs)
                found = self.find(pair) if met else ()
                pair.known[self.name] = list(found)
        return pair.known[self.name]


# the specific before the general
RELATIONS = (
    Relation("axes exchanged", positions.axes_exchanged),
    Relation("right numbers in another shape", shapes.axis_gone_or_new),
    Relation("too short or too long", shapes.shorter_or_longer, weak=True),
    Relation("in another order", positions.in_another_order, (SAME_SHAPE,)),
    Relation(
        "the opposite mask, or one that hides too much or too little",
        weights.masks_differ,
        (SAME_SHAPE, TELLING),
    ),
    Relation("wrong by a constant factor", numbers.times_a_constant, NUMBERS),
    Relation("rounded", numbers.rounded, MANY_NUMBERS),
    Relation("hidden ones have weight, or visible ones none", weights.shared_among_others, SHARES),
    Relation("all the same", numbers.all_alike, (SAME_SHAPE,)),
    Relation("right but for special places", partial.right_but_for_special_places, (SAME_SHAPE,)),
    Relation("right in part", partial.right_in_part, (SAME_SHAPE,), weak=True),
    Relation("each row has a factor of its own", numbers.rows_times_constants, FINITE_NUMBERS),
    Relation("weights that are no shares", weights.not_shares, FINITE_NUMBERS),
    Relation(
        "each row has a factor and an offset of its own", numbers.rows_scaled_and_moved, NUMBERS
    ),
    Relation("right numbers in other places", positions.mixed_up, (FLOATING, TELLING)),
    Relation("another number of axes", shapes.other_number_of_axes),
    Relation("some rows right", partial.some_rows_right, NUMBERS),
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
    same_shape = all(pair.same_shape for pair in pairs)
    for relation in RELATIONS:
        if (relation.weak and not weak) or (SAME_SHAPE in relation.needs and not same_shape):
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
