"""Ways to take a step of `scaled_dot_product_attention` wrongly."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from assignments.a3_scaled_dot_product_attention.mistakes.scaled_in_steps import (
    ROOT_OF_LENGTH,
    InSteps,
)
from assignments.a3_scaled_dot_product_attention.mistakes.stable_softmax import OVERFLOW
from assignments.a3_scaled_dot_product_attention.rubric import (
    ANY_AXES,
    ANY_MASK,
    EMPTY,
    MANNERS,
    MASK,
    ONE,
    hidden_by_infinity,
    scaled,
)
from autograder.checks.mistakes import called, costs, message, variants
from course_utils import attention

ROOT_OF_AXIS_ONE = (
    "Your numbers match scores divided by the root of the length of axis 1, `shape[1]`. That is "
    "the width only where there is no batch. How do you name the last axis, however many there are?"
)


@scaled.mistakes_in(InSteps.divisor, costs=ANY_AXES)
class ScaledDivisor:
    def not_scaled(self, query, key, value):
        """Your numbers match scores that are not scaled. Where does √d_k come in?"""
        return 1.0

    @called("√ of the number of keys")
    @message(ROOT_OF_LENGTH)
    def root_of_keys(self, query, key, value):
        return key.shape[-2] ** 0.5

    @called("√ of the number of queries")
    @message(ROOT_OF_LENGTH)
    def root_of_queries(self, query, key, value):
        return query.shape[-2] ** 0.5

    @called("√ of the first axis")
    def root_of_first_axis(self, query, key, value):
        """Your numbers match scores divided by the root of the first axis's length, which is the
        batch size as soon as there is a batch. Which axis of `key` holds its width, however many
        axes there are?"""
        return len(key) ** 0.5

    @called("√ of the key's axis 1")
    @message(ROOT_OF_AXIS_ONE)
    def root_of_keys_axis_one(self, query, key, value):
        return key.shape[1] ** 0.5

    @called("√ of the query's axis 1")
    @message(ROOT_OF_AXIS_ONE)
    def root_of_querys_axis_one(self, query, key, value):
        return query.shape[1] ** 0.5

    @called("√ of axis 2")
    @variants("which", (0, 1))
    def root_of_axis_two(self, query, key, value, which):
        """Your numbers match scores divided by the root of the length of axis 2, `shape[2]`. That is the
        width only where there are exactly three axes. How do you name the last axis, however many
        there are?"""
        return (query, key)[which].shape[2] ** 0.5

    def always_divided_by_2(self, query, key, value):
        """You divide by 2, as in the example, where d_k is 4. With another width it is another
        root."""
        return 2.0

    @called("d_k ** 1 / 2 for the root")
    @variants("divisor, means", ((lambda d_k: d_k / 2, "d_k / 2"), (lambda d_k: 2 * d_k, "2 d_k")))
    def power_before_division(self, query, key, value, divisor, means):
        """Your numbers match scores divided by {means}. `** 1 / 2` takes the power 1 and then divides by
        2. A root is `** 0.5` or `math.sqrt`."""
        return divisor(key.shape[-1])

    @called("√ of the value's width")
    def root_of_value_width(self, query, key, value):
        """Your numbers match scores divided by the root of the value's width. The dot product runs
        over query and key; the values take no part in it."""
        return value.shape[-1] ** 0.5

    @called("divided by d_k")
    def divided_by_width(self, query, key, value):
        """Your numbers match scores divided by d_k itself. Is there a root missing?"""
        return key.shape[-1]

    @called("multiplied by √d_k")
    def times_root(self, query, key, value):
        """Your numbers match scores multiplied by √d_k. The scale makes scores smaller. Is there an
        operator, or a sign in an exponent, the wrong way round?"""
        return key.shape[-1] ** -0.5

    def scores_negated(self, query, key, value):
        """The better a key matches, the less weight it gets, so your scores have the wrong sign."""
        return -(key.shape[-1] ** 0.5)


@scaled.mistakes_in(InSteps.share, costs=(ONE, ANY_AXES))
class ScaledShare:
    @costs(MANNERS)
    @variants("little", (0.0, 1e-9))
    @message(OVERFLOW)
    def overflow(self, scores, little):
        exponentials = scores.exp()
        return exponentials / (exponentials.sum(dim=-1, keepdim=True) + little)

    def softmax_over_the_queries(self, scores):
        """Your weights match a softmax over the queries. Each query shares out its attention over
        the keys. Which axis of the scores are they?"""
        return scores.softmax(dim=-2)

    @costs(ANY_AXES)
    def softmax_axis_counted_from_the_front(self, scores):
        """Your softmax runs over axis 1. These are the keys only where there is no batch. How do you
        name the last axis of a tensor, however many there are?"""
        return scores.softmax(dim=1)

    @called("softmax axis counted from the front")
    @costs(ANY_AXES)
    def softmax_over_the_first_axis(self, scores):
        """Your softmax runs over axis 0. How do you name the last axis of a tensor, however many
        there are?"""
        return scores.softmax(dim=0)

    @costs(ANY_AXES)
    def softmax_taken_twice(self, scores):
        """Your weights match a softmax of a softmax, which brings them closer together. Once is
        enough."""
        return scores.softmax(dim=-1).softmax(dim=-1)

    def no_softmax(self, scores):
        """Your weights are the scores themselves. What makes weights of a row of scores?"""
        return scores

    def exp_without_the_division(self, scores):
        """Your weights match exp of the scores. They are positive, but does each row sum to one?"""
        return scores.exp()

    def plain_mean_of_the_values(self, scores):
        """All your weights are the same, so every query gets the plain mean. Where do the scores
        enter? And along which axis runs the softmax?"""
        return torch.full_like(scores, 1 / scores.shape[-1])


@scaled.mistake("scaled after the softmax", costs=(ONE, ANY_AXES))
class ScaledAfterSoftmax(InSteps):
    """Your weights match a softmax that is divided by √d_k afterwards, so that rows sum to 1/√d_k.
    Which of the two comes first, the scale or the softmax?"""

    def divisor(self, query, key, value):
        self.root = key.shape[-1] ** 0.5
        return 1.0

    def share(self, scores):
        return scores.softmax(dim=-1) / self.root


@scaled.mistake("inverted mask", costs=(MASK, ANY_MASK))
class InvertedMask(InSteps):
    """You hide what should be seen, and see what should be hidden. Here True means may attend; what
    does `masked_fill` fill?"""

    def hide(self, scores, mask):
        return hidden_by_infinity(scores, None if mask is None else ~mask)

    def fill(self, weights, mask):
        return weights if mask is None else weights.masked_fill(mask, 0.0)


@scaled.mistakes_in(InSteps.hide, costs=(MASK, ANY_MASK))
class ScaledHide:
    @called("inverted mask")
    def inverted_at_first(self, scores, mask):
        """Before the softmax you hide what the mask allows, and after it the rest, so nothing is
        left. Here True means may attend; what does `masked_fill` fill?"""
        return hidden_by_infinity(scores, None if mask is None else ~mask)

    def mask_after_the_softmax(self, scores, mask):
        """Your hidden weights are 0, but the rest no longer sums to one, because they were hidden
        after the softmax. What must a score be before the softmax so that its weight is 0?"""
        return scores

    @called("hidden scores set to 0, then weights, too")
    def zero_before_and_after(self, scores, mask):
        """Your hidden weights are 0, but the rest no longer sums to one. Your numbers match hidden
        scores of 0, and exp(0) is 1, so hidden keys have had their share of the sum by then. Of which
        number is exp equal to 0?"""
        return scores if mask is None else scores * mask

    @called("mask added as numbers, then hidden weights set to 0")
    def added_before_and_filled_after(self, scores, mask):
        """Your hidden weights are 0, but the rest no longer sums to one. You add the mask to the
        scores, so that True counts as 1 and False as 0, and hidden keys have had their share of the
        sum by then. A hidden score must be minus infinity; the others stay as they are."""
        return scores if mask is None else scores + mask

    @costs(ANY_MASK)
    @variants("low", (-1e4, -65504.0, -1e3, -100.0))
    def hidden_by_a_number_that_is_not_low_enough(self, scores, mask, low):
        """You hide a key by a number such as -10000 in place of its score. Scores that are seen may
        be lower still, and then the hidden keys get all the weight. Which number is below all
        others?"""
        return scores if mask is None else scores.masked_fill(~mask, low)

    @costs(ANY_MASK)
    @variants("low", (-1e4, -1e5, -1e3, -100.0))
    def a_number_added_that_is_not_low_enough(self, scores, mask, low):
        """You add a number such as -10000 to the score of a hidden key. If that score is above the others
        by more, the key keeps the weight, or took it from the others. Fill in minus infinity in place of
        the score, and nothing of it is left."""
        return scores if mask is None else scores + low * ~mask

    @costs(ANY_MASK)
    def mask_needs_all_axes(self, scores, mask):
        """Your function works when the mask has the very shape of the scores and stops when it has
        fewer axes, because indexing with a mask does not broadcast. `masked_fill` and `torch.where`
        do."""
        if mask is None:
            return scores
        scores = scores.clone()
        scores[~mask] = -math.inf
        return scores


AGAIN = (
    "You hide keys after the softmax and then divide what is left by its sum. A hidden key with a "
    "large score has taken nearly all of the one by then, and what is left has lost its digits or "
    "is as small as the number that guards the division. Before the softmax, what must a score be "
    "so that its weight is 0?"
)


def divided_again(guard: Callable[[Tensor], Tensor]) -> type:
    """Hidden after the softmax, and the rest divided by its guarded sum."""

    class DividedAgain(InSteps):
        def hide(self, scores, mask):
            return scores

        def fill(self, weights, mask):
            if mask is None:
                return weights
            weights = weights * mask
            return weights / guard(weights.sum(dim=-1, keepdim=True))

    return DividedAgain


for guard in (
    lambda total: total.clamp(min=1e-9),
    lambda total: total + 1e-9,
    lambda total: total + 1e-8,
    lambda total: total.clamp(min=1e-12),
    lambda total: total,
):
    scaled.mistake("mask after the softmax, then divided again", AGAIN, costs=ANY_MASK)(
        divided_again(guard)
    )


@scaled.mistake("mask ignored", costs=(MASK, ANY_MASK, EMPTY))
class MaskIgnored(InSteps):
    """Your results do not depend on the mask. Where should it act?"""

    def hide(self, scores, mask):
        return scores

    def fill(self, weights, mask):
        return weights


@scaled.mistake("hidden scores set to 0", costs=(MASK, ANY_MASK, EMPTY))
class HiddenSetToZero(InSteps):
    """Your numbers match hidden scores of 0. But exp(0) is 1, so a hidden key still gets weight. Of
    which number is exp equal to 0?"""

    def hide(self, scores, mask):
        return scores if mask is None else scores * mask

    def fill(self, weights, mask):
        return weights


@scaled.mistake("mask added as numbers", costs=(MASK, ANY_MASK, EMPTY))
class MaskAdded(InSteps):
    """You add the mask to the scores, so that True counts as 1 and False as 0. A hidden score must be
    minus infinity; the others stay as they are."""

    def hide(self, scores, mask):
        return scores if mask is None else scores + mask

    def fill(self, weights, mask):
        return weights


@scaled.mistakes_in(InSteps.fill, costs=EMPTY)
class ScaledFill:
    def NaN_where_nothing_is_visible(self, weights, mask):
        """All is right until a query may attend to nothing. Then all its scores are minus infinity,
        and the softmax divides 0 by 0. What do you know about such a row after the softmax?"""
        return weights


for lowest in (lambda scores: -1e9, lambda scores: torch.finfo(scores.dtype).min):

    @scaled.mistake("all is seen where nothing is visible", costs=EMPTY)
    class AllSeenWhereNothingIs(InSteps):
        """All is right until a query may attend to nothing. Then all its scores are one and the
        same number, and a softmax of equal scores gives equal weights. What do you know about such
        a row after the softmax?"""

        def hide(self, scores, mask, lowest=lowest):
            return scores if mask is None else scores.masked_fill(~mask, lowest(scores))

        def fill(self, weights, mask):
            return weights


@scaled.mistakes_in(InSteps.compare, costs=(ONE, ANY_AXES))
class ScaledCompare:
    @called(".T on batches")
    @costs(ANY_AXES)
    def all_axes_reversed(self, query, key):
        """Your transpose moves the first axis of the key, which is the batch, to the end, as `.T` does. Only the
        last two should change places, however many there are."""
        return query @ key.permute(*reversed(range(key.dim())))

    @costs(ANY_AXES)
    def axes_1_and_2_transposed(self, query, key):
        """You transpose axes 1 and 2. These are the last two only when there are three. Count the
        axes from the end."""
        return query @ key.transpose(1, 2)

    @costs(ANY_AXES)
    def three_axes_only(self, query, key):
        """Your function works for exactly three axes, as `torch.bmm` does. Which product treats the
        last two axes as matrices and everything before them as a stack?"""
        return torch.bmm(query, key.mT)

    @variants("keep", ("reshape", "view"))
    def reshape_for_transpose(self, query, key, keep):
        """The shape fits, but `reshape` and `view` keep the numbers in their old order. Rows become
        columns with a transpose."""
        return query @ getattr(key, keep)(key.mT.shape)

    def query_and_key_swapped(self, query, key):
        """You score keys against queries. Rows of the scores belong to the queries, so their shape
        is (..., T, S)."""
        return key @ query.mT

    def query_used_as_key(self, query, key):
        """You compare the queries with themselves. Compare each query with the keys."""
        return query @ query.mT

    @costs(ANY_MASK, MANNERS)
    @variants("most", (20.0, 50.0, 100.0, 1e3, 1e4))
    def scores_kept_within_bounds(self, query, key, most):
        """Scores beyond some number are set to it, so that keys far apart from one another get the same
        weight. The softmax takes scores of any size, once the largest of a row is taken off."""
        root = math.sqrt(query.shape[-1])
        return (query @ key.mT / root).clamp(-most, most) * root

    def cosine_similarity(self, query, key):
        """Your numbers match cosine similarity, in which queries and keys are divided by their
        lengths first. Take the plain dot products, because their sizes matter."""
        return (query / query.norm(dim=-1, keepdim=True)) @ (
            key / key.norm(dim=-1, keepdim=True)
        ).mT


@scaled.mistakes_in(InSteps.collect, costs=ANY_AXES)
class ScaledCollect:
    def key_used_as_value(self, weights, query, key, value):
        """Your output is a weighted sum of the keys. What the weights weigh are the values."""
        return weights @ key

    def query_used_as_value(self, weights, query, key, value):
        """Your output is a weighted sum of the queries. What the weights weigh are the values."""
        return weights @ query

    def weights_transposed_before_the_sum(self, weights, query, key, value):
        """Your output sums down the columns of the weights. Each query uses its own row. Is there a
        transpose too much?"""
        return weights.mT @ value

    def values_added_to_the_output(self, weights, query, key, value):
        """Your output is the weighted sum plus the values. Nothing is added here. (Adding the input
        comes in lecture 8.)"""
        return weights @ value + value

    @called("value width assumed = key width")
    def value_as_wide_as_key(self, weights, query, key, value):
        """Your function works only where the values are as wide as the keys. The output is (..., T,
        d_v). Where does your code use the width of query or key for it?"""
        return (weights @ value).reshape(query.shape)

    @called("value width assumed = key width")
    def value_cut_to_width_of_key(self, weights, query, key, value):
        """Your output is cut to the width of the keys. It is as wide as the values, (..., T, d_v).
        Where does your code use the width of query or key for it?"""
        return (weights @ value)[..., : key.shape[-1]]


@scaled.mistakes_in(InSteps.answer, costs=ANY_MASK)
class ScaledAnswer:
    def mask_in_the_weights_alone(self, query, key, value, mask=None):
        """Your weights know the mask, but your output does not, so hidden values are in the sum.
        Which weights does your output use?"""
        without = InSteps.answer(self, query, key, value)
        return without[0], InSteps.answer(self, query, key, value, mask)[1]

    @costs(MASK, ANY_MASK)
    def a_new_axis_put_into_the_mask(self, query, key, value, mask=None):
        """You put a new axis into the mask, as for heads, so its axes no longer lie under those of the
        scores. Here the mask comes with an axis for the heads where there are any. It broadcasts as it
        is."""
        wider = None if mask is None else mask.unsqueeze(1)
        return InSteps.answer(self, query, key, value, wider)

    @costs(ANY_AXES)
    def sentences_of_a_batch_mixed(self, query, key, value, mask=None):
        """Your words attend to words of other sentences, because the leading axes were flattened
        into one long sentence. They stay apart."""
        flat = [item.reshape(-1, item.shape[-1]) for item in (query, key, value)]
        output, weights = attention.scaled_dot_product_attention(*flat, mask)
        return output.reshape(*query.shape[:-1], -1), weights


@scaled.mistakes_in(InSteps.result, costs=ONE)
class ScaledResult:
    @costs(ANY_AXES)
    def as_many_keys_as_queries_assumed(self, output, weights, scores):
        """Your function works only where T = S. The weights are (..., T, S). Where does your code
        take one length for the other?"""
        return output, weights.reshape(*weights.shape[:-1], weights.shape[-2])

    @costs(ONE, ANY_AXES)
    def scores_returned_for_weights(self, output, weights, scores):
        """The output is right, but the second result holds the scores. Return what comes out of the
        softmax."""
        return output, scores

    def results_in_the_wrong_order(self, output, weights, scores):
        """You return the weights first. The course returns the output first, the weights second."""
        return weights, output

    def output_returned_without_the_weights(self, output, weights, scores):
        """The output is right, but it comes alone. The weights are asked for, too."""
        return output
