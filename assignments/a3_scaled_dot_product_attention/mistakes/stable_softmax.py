"""`stable_softmax` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import numpy as np

from assignments.a3_scaled_dot_product_attention.rubric import (
    ANY_AXIS,
    ANY_SIZE,
    LAST_AXIS,
    stable,
)
from autograder.checks.mistakes import Steps, called, costs, message, variants

OVERFLOW = (
    "Your numbers match exp without anything subtracted first. From about 709 on, exp (or already "
    "the sum of several) is too large for float64. What may you subtract from a whole row without "
    "changing its weights?"
)


class Softmax(Steps):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def answer(self, scores, axis=-1):
        with np.errstate(all="ignore"):  # overflow is a mistake of theirs, and not ours to hear
            return self.share(self.power(self.shift(scores, axis)), axis)

    def shift(self, scores, axis):
        return scores - scores.max(axis=axis, keepdims=True)

    def power(self, shifted):
        return np.exp(shifted)

    def share(self, exponentials, axis):
        return exponentials / exponentials.sum(axis=axis, keepdims=True)


@stable.mistakes_in(Softmax.shift, costs=ANY_SIZE)
class StableShift:
    @message(OVERFLOW)
    def overflow(self, scores, axis):
        return scores

    @variants("number", (700.0, 709.0, 1000.0, 100.0))
    def a_fixed_number_subtracted(self, scores, axis, number):
        """You subtract the same number from every row. That helps rows about as large as it, and no
        others. Which number of a row makes the largest exponent 0, whatever the row holds?"""
        return scores - number

    def one_maximum_for_the_whole_array(self, scores, axis):
        """You subtract the largest number of the whole array. A row far below it becomes nothing
        but zeros. Each row needs a maximum of its own."""
        return scores - scores.max()

    def a_maximum_of_at_least_0(self, scores, axis):
        """In a row whose scores are all below 0, nothing is subtracted. Far below 0, all its
        exponentials become 0, or lose their digits. Subtract the largest score of each row,
        whatever its sign. Does the search for it start at 0, or does an `if` leave such rows
        alone?"""
        return scores - scores.max(axis=axis, keepdims=True).clip(min=0.0)

    def minimum_subtracted(self, scores, axis):
        """You subtract the smallest score of each row, so the largest exponent is still large.
        Which number must you subtract so that no exponent is above 0?"""
        return scores - scores.min(axis=axis, keepdims=True)

    @variants("middle", (np.mean, np.median))
    def mean_subtracted(self, scores, axis, middle):
        """You subtract the mean of each row, so a score far above it still has a large exponent.
        Which number must you subtract so that no exponent is above 0?"""
        return scores - middle(scores, axis=axis, keepdims=True)

    def largest_size_subtracted(self, scores, axis):
        """You subtract the largest absolute value. Where all scores are far below 0, that makes
        them lower still, and all exponentials 0. Which number of the row makes the largest exponent
        0?"""
        return scores - np.abs(scores).max(axis=axis, keepdims=True)

    def maximum_added(self, scores, axis):
        """You add the maximum of each row, so large exponents get larger still. The same number may
        be added to a whole row; with which sign does the largest exponent become 0?"""
        return scores + scores.max(axis=axis, keepdims=True)

    @variants("bound", (700.0, 709.0, 500.0, 100.0, 50.0))
    def scores_cut_off(self, scores, axis, bound):
        """Scores beyond a bound are all made equal to it, so they get equal weights. Nothing
        overflows, but which of them was the largest is lost. What may be subtracted from a whole
        row instead?"""
        return np.clip(scores, -bound, bound)

    @costs(ANY_AXIS)
    def axis_used_for_the_sum_alone(self, scores, axis):
        """Your maximum runs along the last axis, whatever `axis` says, so what you subtract differs
        within a row, and its weights change. The maximum and the sum belong to the same row."""
        return scores - scores.max(axis=-1, keepdims=True)

    @costs(LAST_AXIS)
    def divided_by_the_maximum(self, scores, axis):
        """Your numbers match scores divided by the largest one. That changes the weights; a softmax
        forgives a number that is added to all scores, not a factor."""
        return scores / scores.max(axis=axis, keepdims=True)

    @costs(LAST_AXIS)
    def the_maximum_loses_its_axis(self, scores, axis):
        """The sum is right, but the maximum drops the axis that it runs along and is spread over
        the wrong one. Which argument keeps it, with length 1?"""
        return scores - scores.max(axis=axis)


@stable.mistake("overflow", OVERFLOW, costs=ANY_SIZE)
class NotShiftedAndGuarded(Softmax):
    def shift(self, scores, axis):
        return scores

    def share(self, exponentials, axis):
        return exponentials / (exponentials.sum(axis=axis, keepdims=True) + 1e-9)


# no step, since beside an exp that is left out it is what a minimum that is subtracted is
@stable.mistake("scores negated", costs=LAST_AXIS)
def scores_negated_at_first(scores, axis=-1):
    """The larger a score, the less weight it gets, so the sign in the exponent is the wrong way
    round."""
    return Softmax.function()(-scores, axis)


@stable.mistakes_in(Softmax.answer, costs=ANY_AXIS)
class StableAnswer:
    def shares_along_the_last_axis_alone(self, scores, axis=-1):
        """Your weights sum to one along the last axis whatever `axis` says. Does each step use the
        argument?"""
        return Softmax.answer(self, scores)

    @costs(LAST_AXIS)
    def axis_0_where_none_is_given(self, scores, axis=0):
        """Where `axis` is given, all is right. Without it you take axis 0, and the text takes the last
        axis, −1. What stands behind `axis=` in the line with `def`?"""
        return Softmax.answer(self, scores, axis)

    @called("maximum subtracted in one of two places")
    @costs(LAST_AXIS)
    @variants("above", (True, False))
    def subtracted_once(self, scores, axis=-1, *, above):
        """You subtract the maximum on one side of the fraction alone, so your rows do not sum to one.
        The weights stay as they are if it is subtracted above and below."""
        plain, shifted = np.exp(scores), np.exp(self.shift(scores, axis))
        over, under = (shifted, plain) if above else (plain, shifted)
        return over / under.sum(axis=axis, keepdims=True)

    def rows_of_a_matrix_alone(self, scores, axis=-1):
        """You go through the first axis and take all that is there for one row. That is right for a
        matrix whose rows lie along its last axis. An array may have one axis or more than two, and
        `axis` says where its rows lie."""
        rows = [np.exp(row - row.max()) for row in scores]
        return np.stack([row / row.sum() for row in rows])

    def first_axis_always(self, scores, axis=-1):
        """Your weights sum to one along axis 0 whatever `axis` says. Does each step use the
        argument?"""
        return Softmax.answer(self, scores, axis=0)


@stable.mistakes_in(Softmax.share, costs=LAST_AXIS)
class StableShare:
    def sum_over_the_whole_array(self, exponentials, axis):
        """You divide by the sum of the whole array. Each row is divided by its own sum, so give the
        sum its axis."""
        return exponentials / exponentials.sum()

    @costs(ANY_AXIS)
    def axis_used_for_the_maximum_alone(self, exponentials, axis):
        """Your sum runs along the last axis, whatever `axis` says, so your weights sum to one along
        that one. The maximum and the sum belong to the same row."""
        return exponentials / exponentials.sum(axis=-1, keepdims=True)

    def the_sum_loses_its_axis(self, exponentials, axis):
        """The maximum is right, but the sum drops the axis that it runs along and is spread over
        the wrong one. Which argument keeps it, with length 1?"""
        return exponentials / exponentials.sum(axis=axis)

    @called("something added to the sum")
    @variants("little", (1e-6, 1e-5, 1e-4, 1e-3))
    def a_little_more(self, exponentials, axis, little):
        """You add a small number to the sum that you divide by, so your weights sum to a little less than
        one. Once the maximum is subtracted, the largest exponential is 1 and the sum is never 0. What is
        the number for?"""
        return exponentials / (exponentials.sum(axis=axis, keepdims=True) + little)

    def exp_without_the_division(self, exponentials, axis):
        """Your numbers are those of exp alone. The last step is missing, which makes the weights
        sum to one."""
        return exponentials

    def logarithms_of_the_weights(self, exponentials, axis):
        """Your numbers are the logarithms of the weights. Is there an exp missing at the end?"""
        return np.log(exponentials / exponentials.sum(axis=axis, keepdims=True))

    def softmax_taken_twice(self, exponentials, axis):
        """Your weights match a softmax of a softmax, which brings them closer together. Once is
        enough."""
        weights = np.exp(exponentials / exponentials.sum(axis=axis, keepdims=True))
        return weights / weights.sum(axis=axis, keepdims=True)


@stable.mistake("maximum and sum lose their axis", costs=LAST_AXIS)
class WithoutKeepdims(Softmax):
    """`max` and `sum` drop the axis that they run along, and what is left is spread over the wrong
    one. Which argument keeps it, with length 1?"""

    def shift(self, scores, axis):
        return scores - scores.max(axis=axis)

    def share(self, exponentials, axis):
        return exponentials / exponentials.sum(axis=axis)


@stable.mistake("softmax over the whole array", costs=LAST_AXIS)
class OverTheWholeArray(Softmax):
    """Your weights sum to one over the whole array, because what is taken off the scores, or divided
    by, comes from all of them. Each row sums to one by itself, and has a maximum and a sum of its own.
    Which argument says along which axis?"""

    def shift(self, scores, axis):
        return scores - scores.max()

    def share(self, exponentials, axis):
        return exponentials / exponentials.sum()


@stable.mistakes_in(Softmax.power, costs=LAST_AXIS)
class StablePower:
    def powers_of_2(self, shifted):
        """Your weights match powers of 2 in place of powers of e. Which function of NumPy is
        exp?"""
        return np.exp2(shifted)

    def scores_negated(self, shifted):
        """The larger a score, the less weight it gets, so the sign in the exponent is the wrong way
        round."""
        return np.exp(-shifted)

    def exp_left_out(self, shifted):
        """You divide the scores themselves by their sum, or what is left of them after a
        subtraction. Which step makes each of them positive, and large ones count more?"""
        return shifted
