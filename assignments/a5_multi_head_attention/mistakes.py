"""The right answers of assignment 5 in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from assignments.a5_multi_head_attention.rubric import (
    ANY_SIZE,
    MANNERS,
    MASKED,
    OWN_FEATURES,
    SIDE_BY_SIDE,
    TO_ITSELF,
    TO_OTHERS,
    WEIGHTS_OF_HEADS,
    merge,
    multi_head,
    split,
)
from assignments.common.hiding import WAYS_TO_HIDE
from autograder.checks.mistakes import Steps, called, costs, costs_more, message, variants
from course_utils import attention

# ------------------------------------------------------------------ what parts have in common

RESHAPED_IN = (
    "The shape fits, but a reshape leaves the numbers in the order in which they stand in memory, "
    "word after word. So each of your heads holds some whole words instead of its share of every "
    "word. Which two axes have to change places, and from which shape?"
)
RESHAPED_OUT = (
    "The shape fits, but the numbers still stand head after head, so each row of the result mixes "
    "several words. Which two axes have to change places before two axes become one?"
)
INTERLEAVED = (
    "Your head h holds the features h, h + H, h + 2H and so on. The text gives each head "
    "neighbours, from h · d_k to (h + 1) · d_k - 1. In which order do H and d_k come when you cut "
    "a row?"
)
DROPPED = (
    "An axis of length 1 is missing, that of a single head, sentence or word. It stays, so that "
    "whoever uses your result can count on its axes. Is there a squeeze, or a special case?"
)


# -------------------------------------------------------------------------------- split_heads


class SplitInSteps(Steps):
    """Splitting in steps: cut every row, bring the heads in front of the words, give it a shape."""

    def answer(self, x, num_heads):
        return self.shaped(self.placed(self.cut(x, num_heads)))

    def cut(self, x, num_heads):
        return x.unflatten(-1, (num_heads, -1))  # (B, T, H, d_k)

    def placed(self, cut):
        return cut.transpose(1, 2)  # (B, H, T, d_k)

    def shaped(self, heads):
        return heads


@split.mistake("reshape without transpose", RESHAPED_IN, costs=OWN_FEATURES)
class SplitByReshapeAlone(SplitInSteps):
    def cut(self, x, num_heads):
        B, T, d_model = x.shape
        return x.reshape(B, num_heads, T, d_model // num_heads)

    def placed(self, cut):
        return cut


@split.mistake("reshape without transpose", RESHAPED_IN, costs=OWN_FEATURES)
class SplitByViewAlone(SplitByReshapeAlone):
    """A view stops where the words have gaps in memory."""

    def cut(self, x, num_heads):
        B, T, d_model = x.shape
        return x.view(B, num_heads, T, d_model // num_heads)


@split.mistakes_in(SplitInSteps.placed, costs=OWN_FEATURES)
class SplitPlaced:
    def heads_not_moved_in_front_of_the_words(self, cut):
        """The features are cut as they should be, but the result is (B, T, H, d_k). Each head needs
        all its words together. Which two axes have to change places?"""
        return cut

    def words_and_features_swapped_in_each_head(self, cut):
        """Your result is (B, H, d_k, T), so within a head the words are in the columns. They stay
        in the rows, (B, H, T, d_k), and only the product of queries and keys turns one of the
        two."""
        return cut.permute(0, 2, 3, 1)

    def heads_in_front_of_the_batch(self, cut):
        """Your result is (H, B, T, d_k). The batch stays in front, (B, H, T, d_k). Along which axis
        do the heads belong?"""
        return cut.movedim(2, 0)


@split.mistakes_in(SplitInSteps.cut, costs=OWN_FEATURES)
class SplitCut:
    @called("heads hold every H-th feature")
    @message(INTERLEAVED)
    def split_interleaved(self, x, num_heads):
        return x.unflatten(-1, (-1, num_heads)).mT

    def number_and_width_of_heads_swapped(self, x, num_heads):
        """You make d_model / H heads of width H. It should be H heads of width d_model / H."""
        return x.unflatten(-1, (-1, num_heads))

    def every_head_gets_all_features(self, x, num_heads):
        """Each of your heads holds the whole row, d_model features. The features are shared out, so
        head h gets d_k of them, from h · d_k on."""
        return x.unsqueeze(2).expand(-1, -1, num_heads, -1)


@split.mistakes_in(SplitInSteps.shaped, costs=OWN_FEATURES)
class SplitShaped:
    @costs(ANY_SIZE)
    @variants("axes", ((1,), (), (0,)))
    @message(DROPPED)
    def an_axis_of_length_1_dropped(self, heads, axes):
        return heads.squeeze(*axes)

    def heads_one_by_one(self, heads):
        """Every head is right, but they come as several tensors. One tensor with an axis for the
        heads is asked, (B, H, T, d_k), so that later steps need no loop."""
        return heads.unbind(dim=1)

    def batch_and_heads_in_one_axis(self, heads):
        """Your result is (B·H, T, d_k). The heads get an axis of their own, (B, H, T, d_k)."""
        return heads.flatten(0, 1)

    def heads_side_by_side_along_the_words(self, heads):
        """Your result is (B, H·T, d_k), with the heads below each other as if they were more words.
        They get an axis of their own, (B, H, T, d_k)."""
        return heads.flatten(1, 2)

    def heads_in_reverse_order(self, heads):
        """Your head 0 holds the last features. It holds the first ones, 0 to d_k - 1."""
        return heads.flip(1)


# -------------------------------------------------------------------------------- merge_heads


class MergeInSteps(Steps):
    """Merging in steps: bring the words in front of the heads, and make one axis of two."""

    def answer(self, x):
        return self.joined(self.turned(x))

    def turned(self, x):
        return x.transpose(1, 2)  # (B, T, H, d_k)

    def joined(self, words):
        return words.flatten(start_dim=2)  # (B, T, H * d_k)


@merge.mistakes_in(MergeInSteps.turned, costs=SIDE_BY_SIDE)
class MergeTurned:
    @message(RESHAPED_OUT)
    def reshape_without_transpose(self, x):
        B, H, T, d_k = x.shape
        return x.reshape(B, T, H, d_k)

    def features_of_the_heads_taken_in_turns(self, x):
        """You take feature 0 of every head, then feature 1 of every head. The heads belong side by
        side, first all features of head 0, then all of head 1."""
        return x.permute(0, 2, 3, 1)

    def heads_in_reverse_order(self, x):
        """Head 0 stands last in your rows. It stands first, features 0 to d_k - 1."""
        return x.flip(1).transpose(1, 2)


@merge.mistakes_in(MergeInSteps.joined, costs=SIDE_BY_SIDE)
class MergeJoined:
    @costs()
    @costs_more("it stops with an error")
    def view_of_a_transposed_tensor(self, words):
        """`view` never moves numbers, so it refuses a tensor whose axes were swapped (it only
        passes when x happens to lie the right way round). `reshape` and `flatten` move them where
        needed; so does `contiguous` before `view`."""
        B, T, H, d_k = words.shape
        return words.view(B, T, H * d_k)

    def heads_not_joined(self, words):
        """The axes are in the right order, but the result is still (B, T, H, d_k). What remains is
        to make one axis of the last two."""
        return words

    def heads_added_up(self, words):
        """You add the heads up, which leaves d_k features. They are put side by side instead, H ·
        d_k features; mixing them is the task of w_o."""
        return words.sum(dim=2)

    def heads_averaged(self, words):
        """You average the heads, which leaves d_k features. They are put side by side instead, H ·
        d_k features; mixing them is the task of w_o."""
        return words.mean(dim=2)

    def words_and_features_swapped(self, words):
        """Your result is (B, H·d_k, T). The words stay in the rows, (B, T, H·d_k)."""
        return words.flatten(start_dim=2).mT

    def the_batch_joined_as_well(self, words):
        """Your result is (B·T, H·d_k), because the sentences were put below each other. The axis of
        the batch stays, (B, T, H·d_k)."""
        return words.flatten(0, 1).flatten(1)


@merge.mistake("heads joined along the sentence", costs=SIDE_BY_SIDE)
class MergedAlongTheSentence(MergeInSteps):
    """Your result is (B, H·T, d_k), so the sentence got longer. The words' features should grow
    instead, (B, T, H·d_k)."""

    def turned(self, x):
        return x

    def joined(self, words):
        return words.flatten(1, 2)


# ------------------------------------------------------------------------- MultiHeadAttention


class InSteps(attention.MultiHeadAttention):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def forward(self, query, key, value, mask=None):
        query, key, value = map(self.split, self.project(*self.asked(query, key, value)))
        scores = self.scaled(self.compared(query, key), query)
        weights = self.weigh(scores, self.prepared(mask))
        output = self.mix(self.merge(self.collected(weights, value)))
        return self.result(output, weights)

    def asked(self, query, key, value):
        return query, key, value

    def maps(self):
        return self.w_q, self.w_k, self.w_v

    def project(self, query, key, value):
        w_q, w_k, w_v = self.maps()
        return w_q(query), w_k(key), w_v(value)

    def split(self, x):
        return attention.split_heads(x, self.num_heads)

    def compared(self, query, key):
        return query @ key.mT

    def scaled(self, scores, query):
        return scores / self.divisor(query)

    def divisor(self, query):
        return math.sqrt(query.shape[-1])

    def prepared(self, mask):
        return mask

    def weigh(self, scores, mask):
        return attention.masked_softmax(scores, mask)

    def collected(self, weights, value):
        return weights @ value

    def merge(self, context):
        return attention.merge_heads(context)

    def mix(self, merged):
        return self.w_o(merged)

    def result(self, output, weights):
        return output, weights


@multi_head.mistakes_in(InSteps.divisor, costs=(TO_ITSELF, TO_OTHERS))
class MultiHeadDivisor:
    @called("scaled by √d_model")
    def root_of_model_width(self, query):
        """Your numbers match scores divided by √d_model. How many products does one score add up,
        now that each head sees only its share of the width?"""
        return math.sqrt(self.w_q.in_features)

    def not_scaled(self, query):
        """Your numbers match plain dot products. Before the softmax, each score is divided by the
        root of a width (lecture 3). Which width do two vectors have within a head?"""
        return 1.0

    @called("divided by d_k")
    def divided_by_head_width(self, query):
        """Your numbers match scores divided by d_k. It should be the root of d_k, because the
        standard deviation of a sum of d_k products grows with √d_k."""
        return query.shape[-1]

    @variants("axis", (2, 1))
    def scaled_by_the_root_of_another_axis(self, query, axis):
        """Your numbers match scores divided by the root of the query's length or of the number of
        heads. It is the root of a head's width. Which axis of (B, H, T, d_k) is that?"""
        return math.sqrt(query.shape[axis])


@multi_head.mistakes_in(InSteps.scaled, costs=(TO_ITSELF, TO_OTHERS))
class MultiHeadScaled:
    @called("scaled by the root of another axis")
    def root_of_the_number_of_keys(self, scores, query):
        """Your numbers match scores divided by the root of the number of keys. It is the root of a
        head's width, which is the number of products that one score adds up."""
        return scores / math.sqrt(scores.shape[-1])

    def scores_multiplied_instead_of_divided(self, scores, query):
        """Your scores are multiplied by √d_k. They are divided by it, so that they stay small
        however wide a head is."""
        return scores * math.sqrt(query.shape[-1])

    def scaled_twice(self, scores, query):
        """Your scores are divided by √d_k and by √d_model. Once is enough, by the root of the width
        in which two vectors are compared."""
        return scores / math.sqrt(query.shape[-1]) / math.sqrt(self.w_q.in_features)


@multi_head.mistakes_in(InSteps.split, costs=(WEIGHTS_OF_HEADS, TO_ITSELF))
class MultiHeadSplit:
    @called("reshape without transpose, on the way in")
    @message(RESHAPED_IN)
    def reshaped_in(self, x):
        return SplitByReshapeAlone().answer(x, self.num_heads)


@multi_head.mistake("reshape without transpose, both ways", costs=(WEIGHTS_OF_HEADS, TO_ITSELF))
class ReshapedBothWays(InSteps):
    """All shapes fit, but a reshape leaves the numbers in their order, so your heads hold whole
    words instead of a share of every word, and words in different heads never meet. On the way in
    and on the way out, two axes have to change places as well."""

    def split(self, x):
        return SplitByReshapeAlone().answer(x, self.num_heads)

    def merge(self, context):
        B, _, T, _ = context.shape
        return context.reshape(B, T, -1)


@multi_head.mistake(
    "heads hold every H-th feature", INTERLEAVED, costs=(WEIGHTS_OF_HEADS, TO_ITSELF)
)
class Interleaved(InSteps):
    def split(self, x):
        return x.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)

    def merge(self, context):
        return context.permute(0, 2, 3, 1).flatten(start_dim=2)


@multi_head.mistake("heads attend to heads", costs=(WEIGHTS_OF_HEADS, TO_OTHERS))
class HeadsMeetHeads(InSteps):
    """At each word, your heads attend to each other, with weights (B, T, H, H). Words should attend
    to words, in each head separately, so the last two axes must be words and features when you
    multiply."""

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1))

    def merge(self, context):
        return context.flatten(start_dim=2)


@multi_head.mistakes_in(InSteps.mix, costs=(TO_ITSELF, TO_OTHERS))
class MultiHeadMix:
    def no_output_projection(self, merged):
        """Your output is that of the heads side by side. The last step is missing, w_o, which
        combines the heads."""
        return merged


OVER_HEADS = (
    "Your weights sum to one over the heads. Within each head, a query shares out its attention "
    "over the keys. Which axis of (B, H, T, S) is that?"
)
OVER_QUERIES = (
    "Your weights sum to one over the queries. Each query shares out its attention over the keys. "
    "Which axis of (B, H, T, S) is that?"
)
OVER_BATCH = (
    "Your weights sum to one over the sentences of the batch. Each query shares out its attention "
    "over the keys. Which axis of (B, H, T, S) is that?"
)


MASKS_OF_QUERIES = (
    lambda mask, scores: mask.expand(scores.shape).reshape(*scores.shape[:-1], scores.shape[-2]),
    lambda mask, scores: mask[..., : scores.shape[-2], : scores.shape[-2]],
)


@multi_head.mistakes_in(InSteps.weigh)
class MultiHeadWeigh:
    @called("one head's weights for all")
    @costs(WEIGHTS_OF_HEADS, TO_ITSELF)
    def first_head_for_all(self, scores, mask):
        """Every head uses the weights of head 0. Each head has queries and keys of its own, so it
        has weights of its own."""
        return attention.masked_softmax(scores, mask)[:, :1].expand_as(scores)

    @costs(WEIGHTS_OF_HEADS, TO_ITSELF)
    def no_softmax(self, scores, mask):
        """Your heads weigh the values with the scores themselves. What makes weights of a row of
        scores?"""
        return scores if mask is None else scores * mask

    def mask_after_the_softmax(self, scores, mask):
        """Hidden weights are zero, but the visible ones no longer sum to one, because the softmax
        had already shared out attention among all keys. Hide the scores before the softmax."""
        return scores.softmax(dim=-1) if mask is None else scores.softmax(dim=-1) * mask

    @variants("low", (0.0, 1e-9))
    def hidden_scores_set_to_0(self, scores, mask, low):
        """A hidden score became 0, or as good as 0 (1e-9 is not -1e9), and exp(0) = 1 is a weight
        like any other. Which score has the weight 0?"""
        return (scores if mask is None else scores.masked_fill(~mask, low)).softmax(dim=-1)

    def softmax_that_overflows(self, scores, mask):
        """With small scores all is right; the exponential of a large one is infinite, and infinity
        divided by infinity is NaN. What may be subtracted from a row of scores without changing its
        weights (assignment 3)?"""
        return exp_and_sum(scores, mask)

    def one_maximum_subtracted_from_all_rows(self, scores, mask):
        """Your softmax subtracts the largest score of the whole tensor. In a row far below it, all
        exponentials become 0, and 0 divided by 0 is NaN. Each row has a largest score of its
        own."""
        return exp_and_sum(scores - scores.max(), mask)

    def NaN_where_nothing_is_visible(self, scores, mask):
        """Masks work, until a query may attend to nothing. Then all its scores are minus infinity,
        the softmax divides 0 by 0, and NaN goes everywhere. What has to be done with hidden weights
        after the softmax?"""
        return (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(dim=-1)

    def hidden_keys_shared_where_nothing_is_visible(self, scores, mask):
        """Masks work, until a query may attend to nothing. Then all its scores are the same large
        negative number, and the softmax gives each hidden key 1/S. What has to be done with hidden
        weights after the softmax?"""
        return (scores if mask is None else scores.masked_fill(~mask, -1e9)).softmax(dim=-1)

    @costs(WEIGHTS_OF_HEADS, TO_ITSELF)
    def causal_although_nobody_asked(self, scores, mask):
        """Your words never see what comes after them, also where no mask asks for that. Which keys
        are hidden is up to the mask alone; `None` hides nothing."""
        past = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        return attention.masked_softmax(scores, past if mask is None else mask & past)

    @costs(WEIGHTS_OF_HEADS, TO_ITSELF)
    @variants("over", WAYS_TO_HIDE)
    @message(OVER_HEADS)
    def softmax_over_the_heads(self, scores, mask, over):
        return over(1, scores, mask)

    @costs(WEIGHTS_OF_HEADS, TO_ITSELF)
    @variants("over", WAYS_TO_HIDE)
    @message(OVER_QUERIES)
    def softmax_over_the_queries(self, scores, mask, over):
        return over(2, scores, mask)

    @costs(WEIGHTS_OF_HEADS, TO_ITSELF)
    @variants("over", WAYS_TO_HIDE)
    def softmax_over_heads_and_keys_together(self, scores, mask, over):
        """A query's weights sum to one over all its heads together. Each head has a softmax of its
        own. Which axes did you join, and which one holds the keys?"""
        side_by_side = scores.transpose(1, 2)
        hiding = None if mask is None else mask.expand(scores.shape).transpose(1, 2).flatten(2)
        return over(2, side_by_side.flatten(2), hiding).view(side_by_side.shape).transpose(1, 2)

    @called("T = S assumed")
    @variants("cut", MASKS_OF_QUERIES)
    def mask_as_wide_as_the_queries(self, scores, mask, cut):
        """All is well while there are as many keys as queries, and a mask stops it where there are not. Do
        you give the mask the number of queries on both sides? Its last axis holds the keys, S of them."""
        return attention.masked_softmax(scores, None if mask is None else cut(mask, scores))

    @costs(WEIGHTS_OF_HEADS, TO_ITSELF)
    @variants("over", WAYS_TO_HIDE)
    @message(OVER_BATCH)
    def softmax_over_the_batch(self, scores, mask, over):
        return over(0, scores, mask)


@multi_head.mistakes_in(InSteps.asked, costs=(TO_OTHERS, MANNERS))
class MultiHeadAsked:
    @called("arguments in the order value, key, query")
    def arguments_in_reverse(self, value, key, query):
        """Your `forward` takes value, key, query. Self-attention cannot tell, since all three are
        the same there; cross-attention can. The order is query, key, value, mask."""
        return query, key, value

    @called("T = S assumed")
    @costs()
    def lengths_assumed_equal(self, query, key, value):
        """All is well while there are as many keys as queries, and it stops where there are not. Do
        you take the length of the keys from the query? Key and value have a length of their own,
        S."""
        return query, key.reshape(query.shape), value.reshape(query.shape)

    def key_used_as_value(self, query, key, value):
        """Your values are made from the key, because w_v gets the wrong argument. Does a test with
        key and value of different content pass?"""
        return query, key, key

    @costs(TO_OTHERS)
    def query_and_key_exchanged(self, query, key, value):
        """The key asks and the query answers. Self-attention cannot tell, since both are the same
        there. Which argument goes through w_q, and which through w_k?"""
        return key, query, value

    def query_used_as_key_and_value(self, query, key, value):
        """All three maps get the query, so your module attends to the queries themselves. Key and
        value may come from elsewhere."""
        return query, query, query


@multi_head.mistakes_in(InSteps.forward, costs=TO_ITSELF)
class MultiHeadForward:
    def stops_where_no_mask_is_given(self, query, key, value, mask):
        """Your module stops where no mask is given. `mask=None` is the default of the argument, and `None`
        hides nothing. Is there a line that needs a tensor there?"""
        return InSteps.forward(self, query, key, value, mask)


@multi_head.mistakes_in(InSteps.maps, costs=(WEIGHTS_OF_HEADS, TO_ITSELF))
class MultiHeadMaps:
    @called("one map for query, key and value")
    def one_map_for_all(self):
        """All three are projected by w_q. Which layer belongs to the key, which to the value?"""
        return self.w_q, self.w_q, self.w_q

    @called("one layer for two: {twice} does the work of {unused}")
    @costs(TO_ITSELF, TO_OTHERS)
    @variants(
        "order, twice, unused",
        (
            ((0, 1, 1), "w_k", "w_v"),
            ((0, 1, 0), "w_q", "w_v"),
            ((0, 0, 2), "w_q", "w_k"),
            ((0, 2, 2), "w_v", "w_k"),
            ((1, 1, 2), "w_k", "w_q"),
            ((2, 1, 2), "w_v", "w_q"),
        ),
    )
    def one_layer_twice(self, order, twice, unused):
        """Your numbers match a module in which {twice} also does the work of {unused}. w_q belongs to the
        query, w_k to the key, w_v to the value. Is one of them called twice in `forward`?"""
        three = InSteps.maps(self)
        return [three[i] for i in order]

    @called("layers exchanged: {exchanged}")
    @variants(
        "order, exchanged",
        (
            ((0, 2, 1), "w_k and w_v"),
            ((1, 0, 2), "w_q and w_k"),
            ((2, 1, 0), "w_q and w_v"),
            ((1, 2, 0), "the three layers"),
            ((2, 0, 1), "the three layers"),
        ),
    )
    def layers_exchanged(self, order, exchanged):
        """Your numbers match a module in which {exchanged} have changed places. w_q belongs to the
        query, w_k to the key, w_v to the value. Where in `forward`, or under which name in
        `__init__`, does one take the place of another?"""
        three = InSteps.maps(self)
        return [three[i] for i in order]

    @costs(TO_ITSELF, TO_OTHERS)
    @variants("last", range(3))
    def output_layer_used_on_the_way_in(self, last):
        """w_o stands in the place of one of the first three layers. It mixes the merged heads, at
        the end; query, key and value have layers of their own."""
        three = list(InSteps.maps(self))
        three[last] = self.w_o
        return three


@multi_head.mistakes_in(InSteps.compared, costs=(WEIGHTS_OF_HEADS, TO_OTHERS))
class MultiHeadCompared:
    def scores_of_keys_with_queries(self, query, key):
        """Your keys ask and your queries answer, because the scores are K Qᵀ, turned round. Rows of
        the scores are queries, columns are keys. Which of the two is transposed in the product?"""
        return key @ query.mT


@multi_head.mistake("scaled after the softmax", costs=(WEIGHTS_OF_HEADS, TO_ITSELF))
class ScaledAfterTheSoftmax(InSteps):
    """Your weights are divided by √d_k after the softmax, so they no longer sum to one. It is the
    scores that are divided, before."""

    def scaled(self, scores, query):
        self.root = math.sqrt(query.shape[-1])
        return scores

    def weigh(self, scores, mask):
        return super().weigh(scores, mask) / self.root


@multi_head.mistake("the query added to the output", costs=(TO_ITSELF, TO_OTHERS))
class WithAResidual(InSteps):
    """Your output is that of attention plus the query. Such a sum is the matter of the layer around
    it (assignment 8); here only w_o's result is asked."""

    def asked(self, query, key, value):
        self.query = query
        return query, key, value

    def mix(self, merged):
        return super().mix(merged) + self.query


@multi_head.mistakes_in(InSteps.merge, costs=(TO_ITSELF, TO_OTHERS))
class MultiHeadMerge:
    def merged_features_taken_in_turns(self, context):
        """Your merged rows hold feature 0 of every head, then feature 1 of every head. The heads
        belong side by side, first all features of head 0, then all of head 1."""
        return context.permute(0, 2, 3, 1).flatten(start_dim=2)

    @called("reshape without transpose, on the way out")
    @message(RESHAPED_OUT)
    def reshaped_out(self, context):
        B, _, T, _ = context.shape
        return context.reshape(B, T, -1)


@multi_head.mistakes_in(InSteps.__init__, of=InSteps)
class MultiHeadInit:
    @costs(WEIGHTS_OF_HEADS, TO_ITSELF)
    def one_layer_with_four_names(self, d_model, num_heads):
        """w_q, w_k, w_v and w_o are the same layer under four names, so whatever one learns, all
        learn. Make a layer for each."""
        InSteps.__init__(self, d_model, num_heads)
        self.w_q = self.w_k = self.w_v = self.w_o

    @called("the layer w_o without bias")
    def without_output_bias(self, d_model, num_heads):
        """The four layers are `nn.Linear` as PyTorch makes them, with a bias. Here w_o has none."""
        InSteps.__init__(self, d_model, num_heads)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def bare_assert(self, d_model, num_heads):
        """An assert stops a wrong number of heads, but only while nobody runs Python with `-O`, and
        it says nothing about what to mend. Which error says that a value is wrong?"""
        assert d_model % num_heads == 0
        InSteps.__init__(self, d_model, num_heads)

    def width_and_heads_not_compared(self, d_model, num_heads):
        """Your constructor takes any number of heads. If they do not divide d_model, it should say
        so at once, with both numbers, because later errors are hard to trace back."""
        InSteps.__init__(self, d_model, 1)
        self.num_heads = num_heads

    def error_without_the_numbers(self, d_model, num_heads):
        """The ValueError comes, but its message does not hold both numbers, d_model and num_heads.
        With them, its reader knows what to mend."""
        if d_model % num_heads:
            raise ValueError
        InSteps.__init__(self, d_model, num_heads)

    def layers_without_bias(self, d_model, num_heads):
        """The four layers are `nn.Linear` as PyTorch makes them, with a bias. Yours have none."""
        InSteps.__init__(self, d_model, num_heads)
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))

    @called("layers without bias, but for w_o")
    def without_input_bias(self, d_model, num_heads):
        """The four layers are `nn.Linear` as PyTorch makes them, with a bias. Here only w_o has
        one."""
        InSteps.__init__(self, d_model, num_heads)
        for name in ("w_q", "w_k", "w_v"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))


@multi_head.mistakes_in(InSteps.project, costs=(WEIGHTS_OF_HEADS, TO_ITSELF))
class MultiHeadProject:
    @costs(TO_ITSELF, TO_OTHERS)
    def values_not_projected(self, query, key, value):
        """Query and key are projected, the value is not. What is w_v for?"""
        return self.w_q(query), self.w_k(key), value

    def queries_and_keys_not_projected(self, query, key, value):
        """The value is projected, query and key are not. What are w_q and w_k for?"""
        return query, key, self.w_v(value)

    def nothing_projected(self, query, key, value):
        """Query, key and value go into the heads as they come. What are w_q, w_k and w_v for?"""
        return query, key, value


@multi_head.mistakes_in(InSteps.result, costs=(WEIGHTS_OF_HEADS, TO_OTHERS))
class MultiHeadResult:
    def output_returned_without_the_weights(self, output, weights):
        """The output is right, but it comes alone. Return the pair (output, weights)."""
        return output

    def results_in_the_wrong_order(self, output, weights):
        """You return the weights first. The course returns (output, weights)."""
        return weights, output

    @costs(TO_ITSELF, TO_OTHERS)
    @message(DROPPED)
    def an_axis_of_length_1_dropped(self, output, weights):
        return output, weights.squeeze(1)

    @called("an axis of length 1 dropped")
    @costs(TO_ITSELF, TO_OTHERS)
    @variants("axes", ((), (0,)))
    @message(DROPPED)
    def squeezed(self, output, weights, axes):
        return output.squeeze(*axes), weights.squeeze(*axes)

    def weights_of_the_first_head_alone(self, output, weights):
        """Your weights are those of the first head, (B, T, S). Return those of every head, (B, H, T, S)."""
        return output, weights[:, 0]

    def weights_averaged_over_the_heads(self, output, weights):
        """Your weights are the mean over the heads, (B, T, S), as `nn.MultiheadAttention` gives
        them by default. Return those of every head, (B, H, T, S)."""
        return output, weights.mean(dim=1)


@multi_head.mistake("scores returned for weights", costs=(WEIGHTS_OF_HEADS, TO_OTHERS))
class ScoresForWeights(InSteps):
    """The output is right, but what comes with it are the scores before the softmax. Return the
    weights."""

    def weigh(self, scores, mask):
        self.scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
        return super().weigh(scores, mask)

    def result(self, output, weights):
        return output, self.scores


@multi_head.mistakes_in(InSteps.prepared, costs=MASKED)
class MultiHeadPrepared:
    def mask_ignored(self, mask):
        """Without a mask all is right; with one, the same comes out as without. Where does the mask
        enter?"""

    def mask_inverted(self, mask):
        """You hide what the mask allows. In this course, True says that a word may be attended to.
        (`nn.MultiheadAttention` has it the other way round.)"""
        return None if mask is None else ~mask

    def one_more_axis_for_the_mask(self, mask):
        """You give the mask one more axis for the heads. It comes ready to broadcast to (B, H, T,
        S); a mask per sentence is already (B, 1, T, S)."""
        return None if mask is None else mask.unsqueeze(1)

    def a_mask_of_three_axes_taken_for_one_per_sentence(self, mask):
        """A mask of three axes gets one more, as if it were (B, T, S). Here three axes are (H, T,
        S), one mask for each head, so it is broadcast as it comes."""
        return mask.unsqueeze(1) if mask is not None and mask.dim() == 3 else mask

    def masks_of_four_axes_alone(self, mask):
        """You ask a mask for four axes, and it stops where there are fewer. A mask may have any
        shape that broadcasts to (B, H, T, S), such as (T, S) or (S,), so use it as it comes."""
        if mask is not None and mask.dim() != 4:
            raise ValueError("not enough values to unpack")
        return mask

    @called("the first sentence's mask for all")
    def mask_of_the_first_sentence(self, mask):
        """Every sentence gets the mask of the first one. Axis 0 of a mask with four axes belongs to
        the sentences. Is there an index 0, or a slice that ends at 1?"""
        return mask[:1] if mask is not None and mask.dim() == 4 else mask

    @called("the first head's mask for all")
    def mask_of_the_first_head(self, mask):
        """Every head gets the mask of the first one. A mask may be (B, H, T, S), with another
        pattern for each head, so use it as it comes."""
        return mask[:, :1] if mask is not None and mask.dim() == 4 else mask


def exp_and_sum(scores: Tensor, mask: Tensor | None) -> Tensor:
    exponentials = scores.exp() if mask is None else scores.exp() * mask
    return exponentials / exponentials.sum(dim=-1, keepdim=True)
