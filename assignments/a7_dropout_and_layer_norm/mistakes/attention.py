"""`SelfAttentionWithDropoutAndNorm` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from assignments.a7_dropout_and_layer_norm.mistakes.layer_norm import NOTHING_RUNS
from assignments.a7_dropout_and_layer_norm.rubric import (
    COLLECTS,
    DROPS,
    EVAL_MODE,
    SCALED,
    attention,
)
from autograder.checks.mistakes import called, costs, message, variants
from course_utils import layers

NOT_MADE = "no module can be made"


class Attention(layers.SelfAttentionWithDropoutAndNorm):
    """The right module in steps, each of which a mistake can take in another way."""

    def divisor(self, query: Tensor, key: Tensor, value: Tensor) -> float:
        return math.sqrt(key.shape[-1])

    def share(self, scores: Tensor) -> Tensor:
        return scores.softmax(dim=-1)

    def weigh(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return self.share(query @ key.mT / self.divisor(query, key, value))

    def drop(self, weights: Tensor) -> Tensor:
        return self.dropout(weights)

    def collect(self, weights: Tensor, value: Tensor) -> Tensor:
        return weights @ value

    def norm(self, collected: Tensor) -> Tensor:
        return self.layer_norm(collected)

    def finish(self, collected: Tensor, query: Tensor, value: Tensor) -> Tensor:
        return self.norm(collected)

    def forward(self, query, key, value):
        weights = self.drop(self.weigh(query, key, value))
        return self.finish(self.collect(weights, value), query, value)


@attention.mistake("features undefined", costs_more=NOT_MADE)
def constructor_that_stops(*arguments, **keywords):
    """No module can be made from `features` and `dropout_rate`, because the constructor stops with
    the error in the line above. In the class as it was handed out, `features` is a name that has no
    value, since no argument brings it in."""
    raise NameError("name 'features' is not defined")


@attention.mistake("call of super().__init__() missing", costs_more=NOT_MADE)
def constructor_without_super(*arguments, **keywords):
    """No module can be made, because an `nn.Module` has to be set up before it can hold other
    modules. Is `super().__init__()` the first line of your constructor?"""
    raise AttributeError("cannot assign module before Module.__init__() call")


@attention.mistake("features undefined", costs_more=NOT_MADE)
def constructor_of_other_arguments(*arguments, **keywords):
    """No module can be made, because your constructor does not take `features` and `dropout_rate`,
    in this order and under these names. In the class as it was handed out, nothing brings `features`
    in, but the caller knows the width."""
    raise TypeError("__init__() got an unexpected keyword argument")


@attention.mistake("arguments of the constructor in the wrong order")
def rate_first(dropout_rate=0.1, features=None):
    """The constructor's arguments arrive when they are given by name, but not when they are given
    by position. The width of the values should come first, then the rate. `dropout_rate` has a
    default, so it comes last."""
    return layers.SelfAttentionWithDropoutAndNorm(features, dropout_rate)


@attention.mistake("no layer_norm with weight and bias", costs_more=NOTHING_RUNS)
def norm_without_parameters(features, dropout_rate=0.1):
    """The module has no submodule `layer_norm` with a `weight` and a `bias`. Is it made in
    `__init__`, under this name, with a scale and a shift?"""
    model = layers.SelfAttentionWithDropoutAndNorm(features, dropout_rate)
    model.layer_norm = nn.LayerNorm(features, elementwise_affine=False)
    return model


@attention.mistakes_in(Attention.__init__, costs=(DROPS, EVAL_MODE), of=Attention)
class AttentionInit:
    @called("argument dropout_rate not kept")
    @costs(DROPS)
    @variants(
        "share, named",
        ((0.1, "a tenth, which is the default"), (0.5, "half, as `nn.Dropout()` does")),
    )
    def rate_not_kept(self, features, dropout_rate=0.1, *, share, named):
        """Whatever `dropout_rate` is, your module drops {named}. What becomes of the argument?"""
        Attention.__init__(self, features, share)


@attention.mistakes_in(Attention.divisor, costs=SCALED)
class AttentionDivisor:
    def not_scaled(self, query, key, value):
        """Your numbers match plain dot products, as in the class that was handed out. Before the softmax,
        each score should be divided by a root (lecture 3)."""
        return 1.0

    @called("divided by the root of the value's width")
    def root_of_features(self, query, key, value):
        """Your numbers match scores divided by √features. A score adds up as many products as query
        and key have entries. Which width is that?"""
        return math.sqrt(value.shape[-1])

    def divided_by_the_root_of_the_length(self, query, key, value):
        """Your numbers match scores divided by √S, where S is the number of keys. A score adds up
        as many products as query and key have entries. Which axis is that?"""
        return math.sqrt(key.shape[1])

    @called("divided by the root of the length")
    def root_of_queries(self, query, key, value):
        """Your numbers match scores divided by √T, where T is the number of queries. A score adds
        up as many products as query and key have entries. Which axis is that?"""
        return math.sqrt(query.shape[1])

    @called("divided by d_k")
    def divided_by_width(self, query, key, value):
        """Your numbers match scores divided by d_k. They should be divided by its root, because the
        standard deviation of a sum of d_k products grows with √d_k."""
        return key.shape[-1]

    @called("multiplied by √d_k")
    def multiplied(self, query, key, value):
        """Your numbers match scores multiplied by √d_k. Should the factor make the scores larger or
        smaller?"""
        return key.shape[-1] ** -0.5


@attention.mistakes_in(Attention.weigh, costs=SCALED)
class AttentionWeigh:
    def scaled_after_the_softmax(self, query, key, value):
        """You divide the weights, after the softmax. The norm removes nearly any factor of a row,
        so this changes next to nothing. What has to be kept from getting large, and before which
        step?"""
        return self.share(query @ key.mT) / self.divisor(query, key, value)


@attention.mistakes_in(Attention.share, costs=COLLECTS)
class AttentionShare:
    def softmax_over_the_queries(self, scores):
        """Your weights match a softmax over the queries. Each query should distribute its attention
        over the keys. Which axis of (B, T, S) is that?"""
        return scores.softmax(dim=1)

    def softmax_over_the_batch(self, scores):
        """Your weights match a softmax over the batch, so sentences compete with each other. Each
        query should distribute its attention over the keys. Which axis of (B, T, S) is that?"""
        return scores.softmax(dim=0)

    def no_softmax(self, scores):
        """You weight the values with the scores themselves. What turns a row of scores into
        weights?"""
        return scores

    def softmax_taken_twice(self, scores):
        """Your weights have passed a softmax twice, so they are nearly even. After the first
        softmax they are weights already. Which of the two can go?"""
        return scores.softmax(dim=-1).softmax(dim=-1)

    def later_words_hidden(self, scores):
        """Your queries do not see later keys. There is no mask in this class, so each query should
        distribute its attention over all keys."""
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        return scores.masked_fill(~seen, -torch.inf).softmax(dim=-1)


@attention.mistakes_in(Attention.norm, costs=COLLECTS)
class AttentionNorm:
    def weight_and_bias_of_the_norm_not_used(self, collected):
        """Your output is normalised, but it does not depend on the `weight` and the `bias` of
        `layer_norm`. Which norm does `forward` use?"""
        return F.layer_norm(collected, collected.shape[-1:])

    def norm_missing(self, collected):
        """The module has a `layer_norm`, but the output is the weighted sum of the values, without
        any norm. What is the last step of the formula?"""
        return collected


@attention.mistake("norm before the product", costs=COLLECTS)
class NormBefore(Attention):
    """You normalise the values and then average them, but an average of normalised rows is not
    normalised itself. Which step comes last?"""

    def collect(self, weights, value):
        return weights @ self.layer_norm(value)

    def norm(self, collected):
        return collected


@attention.mistakes_in(Attention.collect, costs=COLLECTS)
class AttentionCollect:
    def norm_before_and_after_the_product(self, weights, value):
        """You normalise both the values and the output, but the formula has only one norm. Which
        one should stay?"""
        return weights @ self.layer_norm(value)

    @costs(DROPS)
    def dropout_also_on_what_was_collected(self, weights, value):
        """You drop weights, but also numbers of the weighted sum. The formula has one dropout, on
        the weights."""
        return self.dropout(weights @ value)


class WithoutDropout(Attention):
    """Where dropout acts in another place than it should."""

    def drop(self, weights):
        return weights


@attention.mistake("dropout on the scores", costs=DROPS)
class DropoutOnScores(WithoutDropout):
    """You drop before the softmax, which then distributes the whole weight again. A score of 0 does
    not give a weight of 0, since exp(0) = 1. What should be dropped, and after which step?"""

    def weigh(self, query, key, value):
        return self.share(self.dropout(query @ key.mT / self.divisor(query, key, value)))


@attention.mistake("dropout on what was collected", costs=DROPS)
class DropoutOnCollected(WithoutDropout):
    """You drop numbers of the weighted sum. Dropout should act on the weights, so that a query
    misses whole words. In which of the formula's two products is it?"""

    def collect(self, weights, value):
        return self.dropout(weights @ value)


@attention.mistake("dropout on the values", costs=DROPS)
class DropoutOnValues(WithoutDropout):
    """You drop numbers of the values, the same for all queries. Dropout should act on the weights,
    so that each query misses whole words, independently of the others."""

    def collect(self, weights, value):
        return weights @ self.dropout(value)


@attention.mistake("dropout after the norm", costs=DROPS)
class DropoutAfterNorm(WithoutDropout):
    """You drop entries of the output, after the norm. Dropout should act on the weights, so that a
    query misses whole words, and the norm should come last."""

    def norm(self, collected):
        return self.dropout(self.layer_norm(collected))


SHARED = {
    "for all sentences": lambda weights: weights[:1],
    "for all queries of a sentence": lambda weights: weights[:, :1],
    "for all queries of all sentences": lambda weights: weights[:1, :1],
    "for all weights of a query": lambda weights: weights[..., :1],
}
KEPT = (
    lambda some, p: F.dropout(torch.ones_like(some), p),
    lambda some, p: (torch.rand_like(some) >= p) / (1 - p),
    lambda some, p: (torch.rand_like(some) < 1 - p) / (1 - p),
)


@attention.mistakes_in(Attention.drop, costs=DROPS)
class AttentionDrop:
    def rows_made_to_sum_to_one_after_the_dropout(self, weights):
        """After the dropout you make each row sum to one again. The dropped weights may be missing
        from the sum, because the kept ones are divided by 1 − p and by nothing else, so that rows
        sum to one on average."""
        kept = self.dropout(weights)
        return kept / kept.sum(dim=-1, keepdim=True)

    @called("rows made to sum to one after the dropout")
    def renormalised_with_care(self, weights):
        """After the dropout you make each row sum to one again. The dropped weights may be missing
        from the sum, because the kept ones are divided by 1 − p and by nothing else, so that rows
        sum to one on average."""
        kept = self.dropout(weights)
        return kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-9)

    @costs(EVAL_MODE)
    def dropout_in_eval_mode(self, weights):
        """In eval mode something is dropped. `nn.Dropout` follows the module's mode by itself, but
        `F.dropout` has to be told."""
        return F.dropout(weights, self.dropout.p)

    @costs(DROPS, EVAL_MODE)
    @variants("share", (0.5, 0.1))
    def a_fixed_dropout_in_either_mode(self, weights, share):
        """Whatever `dropout_rate` is, the same share of weights is dropped, and in eval mode as well.
        `F.dropout` knows neither your argument nor the mode of your module. Who tells it?"""
        return F.dropout(weights, share)

    @costs(DROPS, EVAL_MODE)
    def train_and_eval_mode_mixed_up(self, weights):
        """You drop in eval mode but not in train mode. In which mode should a word be missing now
        and then?"""
        return F.dropout(weights, self.dropout.p, not self.training)

    @costs(DROPS, EVAL_MODE)
    @variants("drawn", ("dropout", "from", "above"))
    def kept_weights_divided_by_the_rate(self, weights, drawn):
        """The weights that are kept are divided by the rate p itself, and not by 1 − p. What is the weight on
        average then, if it is kept with probability 1 − p?"""
        p = self.dropout.p
        if not self.training or p == 0:
            return weights
        if drawn == "dropout":
            return self.dropout(weights) * (1 - p) / p
        numbers = torch.rand_like(weights)
        return weights * (numbers >= p if drawn == "from" else numbers > p) / p

    @variants("shared, kept", [(shared, kept) for shared in SHARED for kept in KEPT])
    def one_draw_for_several_weights(self, weights, shared, kept):
        """Your dropout decides once {shared}, because one random number is drawn and used several
        times. Each weight should be dropped independently of all others. Which shape should the
        random numbers have?"""
        if not self.training:
            return weights
        return weights * kept(SHARED[shared](weights), self.dropout.p)

    def no_dropout(self, weights):
        """In train mode nothing is dropped. Between which two steps does the formula have the
        dropout?"""
        return weights


@attention.mistakes_in(Attention.forward, costs=COLLECTS)
class AttentionForward:
    def weights_returned_beside_the_output(self, query, key, value):
        """You return a pair, but this module should return the output alone."""
        return Attention.forward(self, query, key, value), self.weigh(query, key, value)

    @called("weights returned beside the output")
    def output_and_dropped_weights(self, query, key, value):
        """You return a pair, but this module should return the output alone."""
        weights = self.drop(self.weigh(query, key, value))
        return self.finish(self.collect(weights, value), query, value), weights

    def key_used_as_value(self, query, key, value):
        """You multiply the weights by the key. They should be multiplied by the value, which has
        its own content and its own width."""
        return Attention.forward(self, query, key, key)

    def query_used_as_value(self, query, key, value):
        """You multiply the weights by the query. They should be multiplied by the value."""
        return Attention.forward(self, query, key, query)

    @called("query used as value")
    def query_and_value_swapped(self, query, key, value):
        """You score values against keys, and multiply the weights by the query. Do your parameters stand
        in the order (query, key, value)?"""
        return Attention.forward(self, value, key, query)

    def query_and_key_swapped(self, query, key, value):
        """You score keys against queries, (B, S, T), so the module only runs where T = S, and is
        wrong there. Rows of the scores should belong to the queries, (B, T, S)."""
        return Attention.forward(self, key, query, value)


def with_library_norm(answer: Callable[..., Any]) -> Callable[..., Any]:
    """The same with PyTorch's norm, which refuses a wrong width; one by hand may not."""

    def build(features, dropout_rate=0.1):
        model = answer(features, dropout_rate)
        model.layer_norm = nn.LayerNorm(features)
        return model

    return build


for mistake in attention.named("key used as value", "query used as value"):
    attention.mistake(mistake.name, mistake.message, COLLECTS)(with_library_norm(mistake.answer))


RESIDUAL = (
    "You add the {} to the weighted sum. A residual connection belongs to a whole layer (assignment "
    "8), but this class has none, and its inputs may differ in width and length."
)


@attention.mistakes_in(Attention.finish, costs=COLLECTS)
class AttentionFinish:
    @message(RESIDUAL.format("query"))
    def residual_added(self, collected, query, value):
        return self.norm(query + collected)

    @message(RESIDUAL.format("query"))
    def residual_added_behind_the_norm(self, collected, query, value):
        return query + self.norm(collected)

    @message(RESIDUAL.format("value"))
    def value_added_as_a_residual(self, collected, query, value):
        return self.norm(value + collected)
