"""All relations of a wrong result to the right one, the specific before the general."""

from __future__ import annotations

from autograder.checks.explain.evidence import Relation
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
