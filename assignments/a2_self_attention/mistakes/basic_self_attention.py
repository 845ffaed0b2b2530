"""`basic_self_attention` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch

from assignments.a2_self_attention.mistakes import attention_weights  # noqa: F401 (some of its names are shared below)
from assignments.a2_self_attention.rubric import (
    BESIDE,
    CONTEXT,
    context,
    weights,
)
from autograder.checks.mistakes import Steps, called, message, variants
from course_utils import attention


class Collecting(Steps):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def answer(self, x):
        weights = self.weigh(x)
        return self.result(self.collect(weights, x), weights, x)

    def weigh(self, x):
        return attention.attention_weights(x)

    def collect(self, weights, x):
        return weights @ x

    def result(self, z, weights, x):
        return z, weights


@context.mistakes_in(Collecting.result, costs=BESIDE)
class ContextResult:
    def results_in_the_wrong_order(self, z, weights, x):
        """You return the weights first. The course returns (output, weights), here `return z,
        weights`."""
        return weights, z

    def z_returned_without_the_weights(self, z, weights, x):
        """z is right, but it comes alone. Return both, with `return z, weights`."""
        return z

    def z_and_weights_joined(self, z, weights, x):
        """z and the weights come in one tensor. Return two, with `return z, weights`."""
        return torch.cat([z, weights], dim=1)

    def scores_returned_for_weights(self, z, weights, x):
        """z is right, but what comes with it are the scores before the softmax. Return the
        weights."""
        return z, x @ x.T


@context.mistakes_in(Collecting.collect, costs=CONTEXT)
class ContextCollect:
    def weights_transposed_before_the_sum(self, weights, x):
        """Your z sums down the columns of the weights. Word i uses row i, so z = weights @ x, with
        no transpose."""
        return weights.T @ x

    def z_transposed(self, weights, x):
        """Your z is (D, T), because rows and columns have changed places. Row i of z belongs to
        word i."""
        return (weights @ x).T

    def summed_with_scores_instead_of_weights(self, weights, x):
        """Your z weighs the words with the raw scores. Use the weights after the softmax."""
        return x @ x.T @ x

    def context_vectors_written_over_the_words(self, weights, x):
        """You store z_i in row i of x while later words still need it. From the second word on, the
        sums use context vectors in place of words, and the caller's x is changed. Collect the
        results in a new tensor."""
        x = x.clone()
        for i in range(len(x)):
            x[i] = weights[i] @ x
        return x

    def plain_mean_of_all_words(self, weights, x):
        """Each row of your z is the mean of all words, in which every word counts the same. Where
        do the weights enter?"""
        return x.mean(dim=0).expand_as(x)

    @called("the {which} word left out of the sum")
    @variants("words, which", ((slice(1, None), "first"), (slice(-1), "last")))
    def one_word_left_out(self, weights, x, words, which):
        """Your z adds up all words without the {which} one. Which words does your loop go through?
        `range(T)` counts from 0 to T − 1."""
        return weights[:, words] @ x[words]

    def the_last_word_alone(self, weights, x):
        """Row i of your z is the last word times its weight. If a loop should add up, is there a `=` in
        it where `+=` belongs?"""
        return weights[:, -1:] * x[-1]

    def divided_by_the_number_of_words(self, weights, x):
        """Your z is the weighted sum divided by the number of words. The weights sum to one already. Is
        there a `mean` where a `sum` should be?"""
        return weights @ x / len(x)

    def a_softmax_of_the_context_vectors(self, weights, x):
        """You take a softmax of the weighted sums. There is one softmax here, and it makes the weights.
        A context vector is the sum as it is."""
        return (weights @ x).softmax(dim=-1)

    def the_words_themselves_returned(self, weights, x):
        """Your z holds the words as they came. What has each word collected from the others?"""
        return x.clone()

    def words_added_to_the_context(self, weights, x):
        """Your z is the weighted sum plus the word itself. Each word is in its own sum already,
        with the weight that it gives itself. (Adding the input comes in lecture 8.)"""
        return weights @ x + x

    def each_word_times_one_weight(self, weights, x):
        """Row i of your z is word i times the weight that it gives itself. It should be a sum over
        all words. Which product multiplies and adds up?"""
        return weights.diagonal().unsqueeze(-1) * x

    def weights_used_twice(self, weights, x):
        """Your z weighs words that were weighed before. One product of weights and words is
        enough."""
        return weights @ weights @ x

    def the_best_word_alone(self, weights, x):
        """Row i of your z is the one word with the largest weight. All words count, each with its
        weight."""
        return x[weights.argmax(dim=-1)]


@context.mistakes_in(Collecting.weigh, costs=CONTEXT)
class ContextWeigh:
    @called("{wrong.name}")
    @message("{wrong.message}")
    @variants(
        "wrong",
        (
            *weights.named(
                "softmax over the columns",
                "softmax over all words at once",
                "softmax taken twice",
                "scaled although unscaled was asked",
                "divided by D",
            ),
            weights.named("divided by the number of words")[-1],
            *weights.named(
                "scores negated",
                "a word does not attend to itself",
                "the future hidden",
                "cosine similarity",
            ),
            weights.named("distances for dot products")[-1],
            *weights.named("reshape for transpose"),
        ),
    )
    def weighed_otherwise(self, x, wrong):
        return wrong.answer(x)
