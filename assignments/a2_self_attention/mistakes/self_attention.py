"""`self_attention` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch

from assignments.a2_self_attention.mistakes.in_common import RESHAPED, SCALED
from assignments.a2_self_attention.rubric import (
    BATCH,
    ONE,
    batch,
)
from autograder.checks.mistakes import Steps, called, costs, costs_more, message, variants


class Attending(Steps):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def answer(self, query, key, value):
        weights = self.share(self.scale(self.compare(query, key), query, key, value))
        return self.result(self.collect(weights, value, query, key), weights)

    def compare(self, query, key):
        return query @ key.mT

    def scale(self, scores, query, key, value):
        return scores

    def share(self, scores):
        return scores.softmax(dim=-1)

    def collect(self, weights, value, query, key):
        return torch.bmm(weights, value)

    def result(self, output, weights):
        return output


@batch.mistakes_in(Attending.share, costs=ONE)
class BatchShare:
    def softmax_over_the_queries(self, scores):
        """Your weights match a softmax over the queries. Each query shares out its attention over
        the keys, the last axis of query · keyᵀ, so use `dim=-1`."""
        return scores.softmax(dim=1)

    @costs(BATCH)
    def softmax_over_the_batch(self, scores):
        """Your weights match a softmax over the batch, so sentences compete with each other. The
        keys are the last axis, so use `dim=-1`."""
        return scores.softmax(dim=0)

    def softmax_over_the_whole_matrix(self, scores):
        """Your weights sum to one over all queries and keys of a sentence together. Each query
        shares out an attention of its own over the keys, so use `dim=-1`."""
        return scores.flatten(1).softmax(dim=-1).reshape(scores.shape)

    def the_future_hidden(self, scores):
        """Your queries attend to keys up to their own place only. There is no mask here, so every query
        is compared with every key. (The mask over the future comes in lecture 4.)"""
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1)

    def exp_without_the_division(self, scores):
        """Your output weighs the values with exp of the scores. Divide each row by its own sum, so
        that it sums to one."""
        return scores.exp()

    def the_sum_loses_its_axis(self, scores):
        """You divide by a sum that has lost its axis, (B, T), so it is spread along the keys, or stops
        with an error. Which argument of `sum` keeps the axis, with length 1?"""
        exponentials = scores.exp()
        return exponentials / exponentials.sum(dim=-1)

    def softmax_taken_twice(self, scores):
        """Your weights match a softmax of a softmax, which brings them closer together. Once is
        enough."""
        return scores.softmax(dim=-1).softmax(dim=-1)

    def no_softmax(self, scores):
        """Your output weighs the values with raw scores. Turn each row of scores into weights with
        a softmax first."""
        return scores

    @costs()
    @costs_more("as good as no answer: neither queries nor keys are read")
    def plain_mean_of_the_values(self, scores):
        """Every query gets the mean of all values, in which every key counts the same. Where do the
        scores enter? And along which axis runs the softmax?"""
        return torch.full_like(scores, 1 / scores.shape[-1])

    def the_best_key_alone(self, scores):
        """Each query gets the value of the one key with the largest score. All values count, each
        with its weight; and through a choice of the largest no gradient reaches the scores."""
        return torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1]).to(scores.dtype)


@batch.mistakes_in(Attending.scale, costs=ONE)
class BatchScale:
    @message(SCALED)
    @variants("width", ("d_k", "d_v"))
    def scaled_although_unscaled_was_asked(self, scores, query, key, value, width):
        return scores / {"d_k": key, "d_v": value}[width].shape[-1] ** 0.5

    @called("multiplied by √d_k")
    def multiplied_by_the_root(self, scores, query, key, value):
        """Your numbers match scores multiplied by √d_k. This assignment asks for unscaled scores, and
        the scale of lecture 3 divides."""
        return scores * key.shape[-1] ** 0.5

    @called("divided by {width}")
    @variants("width", ("d_k", "d_v"))
    def batch_divided_by_width(self, scores, query, key, value, width):
        """Your numbers match scores divided by {width}. This assignment asks for unscaled
        scores."""
        return scores / {"d_k": key, "d_v": value}[width].shape[-1]

    @variants("axis_of", (lambda query, key: key.shape[1], lambda query, key: query.shape[1]))
    def scaled_by_the_number_of_words(self, scores, query, key, value, axis_of):
        """Your numbers match scores divided by the root of a number of words. This assignment asks
        for unscaled scores."""
        return scores / axis_of(query, key) ** 0.5

    def scores_negated(self, scores, query, key, value):
        """The better a key matches, the less weight it gets, so your scores have the wrong sign. Is
        there a minus in the exponent?"""
        return -scores


@batch.mistakes_in(Attending.compare, costs=ONE)
class BatchCompare:
    @message(RESHAPED)
    def reshape_for_transpose(self, query, key):
        return query @ key.reshape(len(key), key.shape[2], key.shape[1])

    def query_and_key_swapped(self, query, key):
        """You score keys against queries (key · queryᵀ). Rows of the scores belong to the queries,
        so it is query · keyᵀ, of shape (B, T, S)."""
        return key @ query.mT


@batch.mistakes_in(Attending.collect, costs=ONE)
class BatchCollect:
    def key_used_as_value(self, weights, value, query, key):
        """Your output is a weighted sum of the keys. Weights come from query and key; what they
        weigh is the value."""
        return torch.bmm(weights, key)

    def query_used_as_value(self, weights, value, query, key):
        """Your output is a weighted sum of the queries. What the weights weigh is the value."""
        return torch.bmm(weights, query)

    @costs(BATCH)
    def output_as_wide_as_the_key(self, weights, value, query, key):
        """Your output is cut to the width of the keys. It is as wide as the values, (B, T, d_v).
        Where does your code take d_k for d_v?"""
        return torch.bmm(weights, value)[..., : key.shape[-1]]

    @costs(ONE)
    def weights_transposed_before_the_sum(self, weights, value, query, key):
        """Your output sums down the columns of the weights. Each query uses its own row. Is there a
        transpose too much?"""
        return torch.bmm(weights.mT, value)

    def query_added_to_the_output(self, weights, value, query, key):
        """Your output is the weighted sum plus the query. Nothing is added here. (Adding the input
        comes in lecture 8.)"""
        return torch.bmm(weights, value) + query

    def value_added_to_the_output(self, weights, value, query, key):
        """Your output is the weighted sum plus the values. Nothing is added here. (Adding the input
        comes in lecture 8.)"""
        return torch.bmm(weights, value) + value

    def weights_returned_for_the_output(self, weights, value, query, key):
        """You return the weights. The last step is missing, in which they are multiplied by the
        values."""
        return weights


def with_scores_of(steps, left, right, query, key, value):
    """The answer of some steps, but that ``left`` is compared with ``right``."""
    weights = steps.share(steps.scale(steps.compare(left, right), query, key, value))
    return steps.result(steps.collect(weights, value, query, key), weights)


@batch.mistakes_in(Attending.answer, costs=BATCH)
class BatchAnswer:
    @costs(ONE)
    def query_used_as_key_and_value(self, query, key, value):
        """Your output depends on the query alone. It is compared with the keys, and what is
        collected are the values."""
        return Attending.answer(self, query, query, query)

    @costs(ONE)
    def key_and_value_exchanged(self, query, key, value):
        """You compare with the values and collect the keys. It is the other way round. Compare with
        the key and collect from the value."""
        return Attending.answer(self, query, value, key)

    def sentences_of_a_batch_mixed(self, query, key, value):
        """A word attends to words of other sentences, because the batch was flattened into one long
        sentence. Keep axis 0 apart, as `torch.bmm` does."""
        flat = [item.reshape(1, -1, item.shape[-1]) for item in (query, key, value)]
        return Attending.answer(self, *flat).reshape(*query.shape[:2], value.shape[-1])

    def only_the_first_sentence_used(self, query, key, value):
        """Every sentence of the batch gets the first one's output. Keep axis 0 throughout."""
        return Attending.answer(self, query[:1], key[:1], value[:1]).expand(len(query), -1, -1)

    @called("only the first sentence used")
    def first_sentence_alone(self, query, key, value):
        """Only the output of the first sentence comes back. Keep axis 0 throughout, (B, T, d_v)."""
        return Attending.answer(self, query[:1], key[:1], value[:1])

    @called("only the {which} sentence used")
    @variants("place, which", ((0, "first"), (-1, "last")))
    def one_sentence_without_its_axis(self, query, key, value, place, which):
        """Only the output of the {which} sentence comes back, (T, d_v). All of them are asked for, (B,
        T, d_v). In a loop over sentences, what becomes of each result, and where does `return` stand?"""
        return Attending.answer(self, query, key, value)[place]

    @called("sentences of a batch added up")
    @variants("collected", (torch.sum, torch.mean))
    def outputs_added_up(self, query, key, value, collected):
        """The outputs of all sentences are added up or averaged, which leaves (T, d_v). Each sentence
        keeps its own, (B, T, d_v). Over which axis do you sum, and does a `stack` belong there?"""
        return collected(Attending.answer(self, query, key, value), dim=0)

    def sentences_joined_end_to_end(self, query, key, value):
        """Each sentence is right, but they are joined to one long one, (B · T, d_v). The sentences keep
        an axis of their own, (B, T, d_v). `torch.stack` makes one, and `torch.cat` does not."""
        return Attending.answer(self, query, key, value).flatten(0, 1)

    @costs(ONE)
    def query_used_as_key(self, query, key, value):
        """You compare the queries with themselves. Compare each query with the keys."""
        return with_scores_of(self, query, query, query, key, value)

    @costs(ONE)
    def key_used_as_query(self, query, key, value):
        """You compare the keys with themselves. Compare each query with the keys."""
        return with_scores_of(self, key, key, query, key, value)

    @costs(ONE)
    @variants("asks", (2, 0))
    def value_used_as_key(self, query, key, value, asks):
        """You compare with the values. What the query is compared with are the keys; the values are
        collected afterwards."""
        return with_scores_of(self, (query, key, value)[asks], value, query, key, value)


@batch.mistakes_in(Attending.result, costs=ONE)
class BatchResult:
    def weights_returned_beside_the_output(self, output, weights):
        """The output is right, but it comes in a tuple. This function returns the output alone."""
        return output, weights

    def a_list_of_sentences(self, output, weights):
        """The output is right, but it comes in a list, with a tensor for each sentence. Which function
        makes one tensor of them, with a new axis in front?"""
        return tuple(output)

    def output_transposed(self, output, weights):
        """Your output is (B, d_v, T), because its last two axes have changed places. Row i of a
        sentence's output belongs to query i."""
        return output.mT

    @variants("axes", ((0, 1, 2), 0))
    def axes_of_length_1_squeezed(self, output, weights, axes):
        """The numbers are right, but an axis is gone where it has length 1, as with a single
        sentence. The result is always (B, T, d_v). Is there a `squeeze`?"""
        return output.squeeze(axes)


@batch.mistake("axes of length 1 squeezed", costs=BATCH)
class ScoresSqueezed(Attending):
    """All is right until there is a single query or key. On your scores or weights, `squeeze()`
    takes away every axis of length 1, so that the next step takes one axis for another. The scores
    are always (B, T, S)."""

    def share(self, scores):
        return super().share(scores.squeeze())

    def collect(self, weights, value, query, key):
        return weights @ value
