"""Answers to `stable_softmax`."""

import math

import numpy as np
import torch

from assignments.a3_scaled_dot_product_attention.answers.bank import BANK
from assignments.a3_scaled_dot_product_attention.rubric import (
    ANY_AXIS,
    ANY_SIZE,
    LAST_AXIS,
    stable,
)
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.edits import Answers

OVERFLOW = (
    "Your numbers match exp without anything subtracted first. From about 709 on, exp (or already the sum of several) "
    "is too large for float64. What may you subtract from a whole row without changing its weights?"
)
NEGATED = "The larger a score, the less weight it gets, so the sign in the exponent is the wrong way round."


def row_softmax(row):
    shares = np.exp(row - row.max())
    return shares / shares.sum()


ANSWERS = Answers(
    __name__, BANK, stable,
    """
    def stable_softmax(scores, axis=-1):
        shifted = scores - scores.max(axis=axis, keepdims=True)
        powers = np.exp(shifted)
        whole = powers.sum(axis=axis, keepdims=True)
        weights = powers / whole
        return weights
    """,
    math=math, np=np, torch=torch, row_softmax=row_softmax,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("overflow", "shifted = scores", ANY_SIZE, OVERFLOW,
     published=("tenstorrent/tt-metal#12661", "Nothing is subtracted, so large scores overflow."))
slip("a fixed number subtracted", "shifted = scores - {number}", ANY_SIZE,
     "You subtract the same number from every row. That helps rows about as large as it, and no others. Which number "
     "of a row makes the largest exponent 0, whatever the row holds?",
     each={"number": (700.0, 709.0, 1000.0, 100.0)})
slip("one maximum for the whole array", "shifted = scores - scores.max()", ANY_SIZE,
     "You subtract the largest number of the whole array. A row far below it becomes nothing but zeros. Each row needs "
     "a maximum of its own.",
     published=("keras-team/keras#9606", "One maximum is subtracted from the whole array."))
slip("a maximum of at least 0", "shifted = scores - scores.max(axis=axis, keepdims=True).clip(min=0.0)", ANY_SIZE,
     "In a row whose scores are all below 0, nothing is subtracted. Far below 0, all its exponentials become 0, or "
     "lose their digits. Subtract the largest score of each row, whatever its sign. Does the search for it start at 0, "
     "or does an `if` leave such rows alone?",
     published=("FluxML/NNlib.jl#43", "What is subtracted is the maximum or 0, whichever is larger."))
slip("minimum subtracted", "shifted = scores - scores.min(axis=axis, keepdims=True)", ANY_SIZE,
     "You subtract the smallest score of each row, so the largest exponent is still large. Which number must you "
     "subtract so that no exponent is above 0?")
slip("mean subtracted", "shifted = scores - np.{middle}(scores, axis=axis, keepdims=True)", ANY_SIZE,
     "You subtract the mean of each row, so a score far above it still has a large exponent. Which number must you "
     "subtract so that no exponent is above 0?",
     each={"middle": ("mean", "median")})
slip("largest size subtracted", "shifted = scores - np.abs(scores).max(axis=axis, keepdims=True)", ANY_SIZE,
     "You subtract the largest absolute value. Where all scores are far below 0, that makes them lower still, and all "
     "exponentials 0. Which number of the row makes the largest exponent 0?")
slip("maximum added", "shifted = scores + scores.max(axis=axis, keepdims=True)", ANY_SIZE,
     "You add the maximum of each row, so large exponents get larger still. The same number may be added to a whole "
     "row; with which sign does the largest exponent become 0?")
slip("scores cut off", "shifted = np.clip(scores, -{bound}, {bound})", ANY_SIZE,
     "Scores beyond a bound are all made equal to it, so they get equal weights. Nothing overflows, but which of them "
     "was the largest is lost. What may be subtracted from a whole row instead?",
     each={"bound": (700.0, 709.0, 500.0, 100.0, 50.0)})
slip("axis used for the sum alone", "shifted = scores - scores.max(axis=-1, keepdims=True)", ANY_AXIS,
     "Your maximum runs along the last axis, whatever `axis` says, so what you subtract differs within a row, and its "
     "weights change. The maximum and the sum belong to the same row.")
slip("divided by the maximum", "shifted = scores / scores.max(axis=axis, keepdims=True)", LAST_AXIS,
     "Your numbers match scores divided by the largest one. That changes the weights; a softmax forgives a number that "
     "is added to all scores, not a factor.")
slip("the maximum loses its axis", "shifted = scores - scores.max(axis=axis)", LAST_AXIS,
     "The sum is right, but the maximum drops the axis that it runs along and is spread over the wrong one. Which "
     "argument keeps it, with length 1?",
     published=("DeNA/HandyRL#209", "The maximum loses its axis."))
slip("overflow", "shifted = scores; whole = powers.sum(axis=axis, keepdims=True) + 1e-9", ANY_SIZE, OVERFLOW)


# no edit, since beside an exp that is left out it is what a minimum that is subtracted is
@stable.mistake("scores negated", NEGATED, costs=LAST_AXIS)
def scores_negated_at_first(scores, axis=-1):
    return ANSWERS.code(-scores, axis)


slip("shares along the last axis alone", "axis = -1", ANY_AXIS,
     "Your weights sum to one along the last axis whatever `axis` says. Does each step use the argument?")


@stable.mistake("axis 0 where none is given", costs=LAST_AXIS)
def axis_0_where_none_is_given(scores, axis=0):
    """Where `axis` is given, all is right. Without it you take axis 0, and the text takes the last axis, −1. What
    stands behind `axis=` in the line with `def`?"""
    return ANSWERS.code(scores, axis)


slip("maximum subtracted in one of two places", "{place}", LAST_AXIS,
     "You subtract the maximum on one side of the fraction alone, so your rows do not sum to one. The weights stay as "
     "they are if it is subtracted above and below.",
     each={"place": ("whole = np.exp(scores).sum(axis=axis, keepdims=True)", "weights = np.exp(scores) / whole")})
slip("rows of a matrix alone", """
    rows = [np.exp(row - row.max()) for row in scores]
    return np.stack([row / row.sum() for row in rows])
""", ANY_AXIS,
     "You go through the first axis and take all that is there for one row. That is right for a matrix whose rows lie "
     "along its last axis. An array may have one axis or more than two, and `axis` says where its rows lie.")
slip("first axis always", "axis = 0", ANY_AXIS,
     "Your weights sum to one along axis 0 whatever `axis` says. Does each step use the argument?")
slip("sum over the whole array", "whole = powers.sum()", LAST_AXIS,
     "You divide by the sum of the whole array. Each row is divided by its own sum, so give the sum its axis.")
slip("axis used for the maximum alone", "whole = powers.sum(axis=-1, keepdims=True)", ANY_AXIS,
     "Your sum runs along the last axis, whatever `axis` says, so your weights sum to one along that one. The maximum "
     "and the sum belong to the same row.")
slip("the sum loses its axis", "whole = powers.sum(axis=axis)", LAST_AXIS,
     "The maximum is right, but the sum drops the axis that it runs along and is spread over the wrong one. Which "
     "argument keeps it, with length 1?")
slip("something added to the sum", "whole = powers.sum(axis=axis, keepdims=True) + {little}", LAST_AXIS,
     "You add a small number to the sum that you divide by, so your weights sum to a little less than one. Once the "
     "maximum is subtracted, the largest exponential is 1 and the sum is never 0. What is the number for?",
     each={"little": (1e-6, 1e-5, 1e-4, 1e-3)})
slip("exp without the division", "weights = powers", LAST_AXIS,
     "Your numbers are those of exp alone. The last step is missing, which makes the weights sum to one.")
slip("logarithms of the weights", "weights = np.log(powers / whole)", LAST_AXIS,
     "Your numbers are the logarithms of the weights. Is there an exp missing at the end?")
slip("softmax taken twice", "again = np.exp(powers / whole); weights = again / again.sum(axis=axis, keepdims=True)",
     LAST_AXIS,
     "Your weights match a softmax of a softmax, which brings them closer together. Once is enough.")
slip("maximum and sum lose their axis", "shifted = scores - scores.max(axis=axis); whole = powers.sum(axis=axis)",
     LAST_AXIS,
     "`max` and `sum` drop the axis that they run along, and what is left is spread over the wrong one. Which argument "
     "keeps it, with length 1?")
slip("softmax over the whole array", "shifted = scores - scores.max(); whole = powers.sum()", LAST_AXIS,
     "Your weights sum to one over the whole array, because what is taken off the scores, or divided by, comes from "
     "all of them. Each row sums to one by itself, and has a maximum and a sum of its own. Which argument says along "
     "which axis?",
     published=("apache/singa#540", "The recipe for one vector: maximum and sum of everything, whatever the axis."))
slip("powers of 2", "powers = np.exp2(shifted)", LAST_AXIS,
     "Your weights match powers of 2 in place of powers of e. Which function of NumPy is exp?")
slip("scores negated", "powers = np.exp(-shifted)", LAST_AXIS, NEGATED)
slip("exp left out", "powers = shifted", LAST_AXIS,
     "You divide the scores themselves by their sum, or what is left of them after a subtraction. Which step makes "
     "each of them positive, and large ones count more?")

right = ANSWERS.right
right("softmax_in_two_lines", """
    e = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)
""")
right("softmax_along_slices", """
    def one_row(row):
        e = np.exp(row - row.max())
        return e / e.sum()

    return np.apply_along_axis(one_row, axis, scores)
""")
right("softmax_by_logarithms",
      "return np.exp(scores - np.expand_dims(np.logaddexp.reduce(scores, axis=axis), axis))")
right("softmax_by_a_loop_over_rows", """
    moved = np.swapaxes(scores, axis, -1)
    flat = moved.reshape(-1, moved.shape[-1])
    shares = np.empty_like(flat)
    for i, row in enumerate(flat):
        largest = max(row)
        e = np.array([math.exp(score - largest) for score in row])
        shares[i] = e / e.sum()
    return np.swapaxes(shares.reshape(moved.shape), axis, -1)
""")
right("softmax_in_place_on_a_copy", """
    copy = scores.copy()
    copy -= copy.max(axis=axis, keepdims=True)
    np.exp(copy, out=copy)
    copy /= copy.sum(axis=axis, keepdims=True)
    return copy
""")
right("softmax_by_pairs", """
    moved = np.moveaxis(scores, axis, -1)
    with np.errstate(all="ignore"):
        distances = moved[..., None, :] - moved[..., :, None]
        distances = np.where(np.isnan(distances), np.inf, distances)
        sums = np.exp(distances).sum(axis=-1)
    return np.moveaxis(1 / sums, -1, axis)
""")
right("softmax_with_ufuncs", """
    shifted = np.subtract(scores, np.amax(scores, axis, keepdims=True))
    whole = np.sum(powers, axis, keepdims=True)
    weights = np.divide(powers, whole)
""")
right("softmax_through_torch_arithmetic", """
    values = torch.from_numpy(np.ascontiguousarray(scores))
    e = (values - values.amax(dim=axis, keepdim=True)).exp()
    return (e / e.sum(dim=axis, keepdim=True)).numpy()
""")
right("softmax_with_more_subtracted", """
    scores = np.array(scores, dtype=np.float64)
    shifted = scores - (scores.max(axis=axis, keepdims=True) + 5)
""")
right("softmax_with_maximum_reduce", """
    shifted = scores - np.expand_dims(np.maximum.reduce(scores, axis=axis), axis=axis)
    whole = np.add.reduce(powers, axis=axis, keepdims=True)
""")
right("softmax_by_index", """
    shares = np.zeros(scores.shape)
    others = [range(n) for n in np.delete(scores.shape, axis)]
    for index in np.ndindex(*[len(other) for other in others]):
        place = list(index)
        place.insert(axis % scores.ndim, slice(None))
        shares[tuple(place)] = row_softmax(scores[tuple(place)])
    return shares
""")
right("softmax_along_an_axis_by_numpy", "return np.apply_along_axis(row_softmax, axis, scores)")
right("softmax_number_by_number", """
    shares = np.zeros_like(scores)
    axis = axis % scores.ndim
    for place in np.ndindex(*scores.shape):
        row = [float(scores[(*place[:axis], j, *place[axis + 1 :])]) for j in range(scores.shape[axis])]
        largest, total = max(row), 0.0
        for score in row:
            total = total + math.exp(score - largest)
        shares[place] = math.exp(float(scores[place]) - largest) / total
    return shares
""", slow=LOOPS)
right("softmax_by_products", """
    rows = np.moveaxis(scores, axis, -1)
    e = np.exp(rows - rows.max(axis=-1, keepdims=True))
    everywhere = np.ones((rows.shape[-1], rows.shape[-1]))
    totals = np.einsum("...j,jk,kl->...l", e, everywhere, everywhere) / rows.shape[-1]
    return np.moveaxis(e / totals, -1, axis)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("softmax_that_shares_among_the_infinite", """
    e = np.exp(np.asarray(scores, dtype=np.float64))
    infinite = np.isinf(e)
    crowds = infinite.sum(axis=axis, keepdims=True)
    total = np.where(infinite, 0, e).sum(axis=axis, keepdims=True)
    return np.where(crowds > 0, infinite / np.maximum(crowds, 1), np.where(infinite, 0, e) / total)
""", named="overflow",
      published=("open-edge-platform/geti#1507",
                 "Scores too large for exp share the weight evenly, however much they differ."))
wrong("softmax_in_place_on_the_input", "scores -= scores.max(axis=axis, keepdims=True); shifted = scores",
      told="inputs changed")
wrong("softmax_of_matrices_only", "rows, columns = scores.shape; return weights.reshape(rows, columns)",
      told="stops with ValueError")
wrong("softmax_without_exp", "shifted = scores - scores.min(axis=axis, keepdims=True); powers = shifted",
      named=("minimum subtracted", "exp left out"))
wrong("softmax_without_infinities", "scores = np.where(np.isfinite(scores), scores, 0.0)",
      told="hidden ones have weight, or visible ones none")
wrong("softmax_in_long_double", "shifted = scores.astype(np.longdouble); return weights.astype(float)",
      told="all the same")
wrong("softmax_as_a_tensor", "return torch.from_numpy(weights)", told="another type")
wrong("softmax_of_the_example_only", "return np.array([0.6652, 0.2447, 0.0900])", told="always one shape")
for name, wild in {"softmax_with_nan_to_num": 0.0, "softmax_with_nan_to_one": 1.0}.items():
    wrong(name, f"shifted = scores; return np.nan_to_num(weights, nan={wild})", named="overflow")
wrong("softmax_with_a_shift_when_large", "shifted = scores - scores.max() if scores.max() > 700 else scores",
      named="a maximum of at least 0")
wrong("softmax_scaled_down", "shifted = scores / 10")
wrong("softmax_in_halves", "scores = scores.astype(np.float16); return weights.astype(np.float64)")
wrong("softmax_one_axis_less", "return weights.squeeze()")
wrong("softmax_as_a_nested_list", "return weights.tolist()", told="a list of numbers")
wrong("softmax_of_absolute_values", "scores = np.abs(scores)")
wrong("softmax_to_base_two_and_one_maximum", "shifted = scores - scores.max(); powers = np.exp2(shifted)",
      named="powers of 2")
wrong("softmax_unshifted_and_undivided", "shifted = scores; weights = powers",
      named=("overflow", "exp without the division"))
wrong("softmax_that_shifts_where_it_seems_needed", """
    large = np.abs(scores[np.isfinite(scores)]).max() > 300
    shifted = scores - scores.max(axis=axis, keepdims=True) if large else scores
""", told="all the same")
wrong("softmax_of_exponents_above_minus_30",
      "shifted = (scores - scores.max(axis=axis, keepdims=True)).clip(-30, 0)")
wrong("softmax_of_a_hundred_scores", """
    last = np.moveaxis(scores, axis, -1).copy()
    last[..., 100:] = -np.inf
    scores = np.moveaxis(last, -1, axis)
""", told="hidden ones have weight, or visible ones none")
# fmt: on


@BANK.right("stable_softmax")
def softmax_with_the_axis_moved(scores, axis=-1, dtype=float):
    rows = np.moveaxis(np.array(scores, dtype=dtype), axis, -1)
    rows = rows - rows.max(axis=-1)[..., None]
    e = np.exp(rows)
    return np.moveaxis(e / e.sum(axis=-1)[..., None], -1, axis)
