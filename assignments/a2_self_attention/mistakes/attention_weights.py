"""`attention_weights` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch

from assignments.a2_self_attention.mistakes.in_common import RESHAPED, SCALED
from assignments.a2_self_attention.rubric import (
    EXACT,
    ROWS,
    weights,
)
from autograder.checks.mistakes import Steps, called, costs, message, variants


class Weighing(Steps):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def answer(self, x):
        return self.share(self.scale(self.compare(x), x))

    def compare(self, x):
        return x @ x.T

    def scale(self, scores, x):
        return scores

    def share(self, scores):
        return scores.softmax(dim=-1)


@weights.mistakes_in(Weighing.share, costs=ROWS)
class WeightsShare:
    def softmax_over_the_columns(self, scores):
        """Your weights match a softmax over the wrong axis, so their columns sum to one, not their
        rows. Row i holds how word i shares out its attention, so use `dim=-1` (and, if you sum by
        hand, `keepdim=True`)."""
        return scores.softmax(dim=0)

    def scores_returned_for_weights(self, scores):
        """Your numbers are the scores ω = x xᵀ themselves. Turn each row into weights with a
        softmax."""
        return scores

    def divided_by_the_sum_without_exp(self, scores):
        """Your numbers match each score divided by its row's sum. Scores can be negative, so take
        exp of each first, which is what the softmax does."""
        return scores / scores.sum(dim=-1, keepdim=True)

    def exp_without_the_division(self, scores):
        """Your numbers match exp of the scores. Divide each row by its own sum."""
        return scores.exp()

    def softmax_over_all_words_at_once(self, scores):
        """Your weights sum to one over the whole matrix. Each row is a word's own attention and
        sums to one by itself, so use `dim=-1`."""
        return scores.flatten().softmax(dim=0).reshape(scores.shape)

    @costs(EXACT)
    def softmax_taken_twice(self, scores):
        """Your weights match a softmax of a softmax, which brings them closer together. Once is
        enough."""
        return scores.softmax(dim=-1).softmax(dim=-1)

    def logarithms_of_the_weights(self, scores):
        """Your numbers are the logarithms of the weights, as `log_softmax` gives them. Which
        function gives the weights themselves?"""
        return scores.log_softmax(dim=-1)

    def sigmoid_instead_of_softmax(self, scores):
        """Each of your weights looks at its own score alone, as a sigmoid does, so rows do not sum
        to one. What makes the words of a row compete?"""
        return scores.sigmoid()

    @costs(EXACT)
    @variants("low", (-1e9, -torch.inf))
    def a_word_does_not_attend_to_itself(self, scores, low):
        """The weights on the diagonal are 0, so no word attends to itself. Here each word is
        compared with every word, itself included. Where is the diagonal taken out?"""
        return scores.masked_fill(torch.eye(len(scores), dtype=torch.bool), low).softmax(dim=-1)

    @called("a word does not attend to itself")
    @costs(EXACT)
    def own_score_left_at_0(self, scores):
        """The scores on the diagonal are 0, as they are where a loop leaves out j = i. Each word is
        compared with every word, itself included, and its own score is rarely 0."""
        own = torch.eye(len(scores), dtype=torch.bool)
        return scores.masked_fill(own, 0.0).softmax(dim=-1)

    @called("a word does not attend to itself")
    @costs(EXACT)
    def own_weight_erased(self, scores):
        """The weights on the diagonal are 0, and what is left of a row does not sum to one. Here each
        word is compared with every word, itself included. Where is the diagonal taken out?"""
        own = torch.eye(len(scores), dtype=torch.bool)
        return scores.softmax(dim=-1).masked_fill(own, 0.0)

    @called("scores {where} the diagonal left at 0")
    @costs(EXACT)
    @variants("half, where", ((torch.triu, "below"), (torch.tril, "above")))
    def half_of_the_scores(self, scores, half, where):
        """Your scores {where} the diagonal are 0, as they are where a loop fills one half of the matrix.
        Each word is compared with every word, with those before it and those after it."""
        return half(scores).softmax(dim=-1)

    @costs(EXACT)
    def the_future_hidden(self, scores):
        """Your words attend to themselves and to earlier words only. There is no mask here, so
        every word is compared with every word. (The mask over the future comes in lecture 4.)"""
        future = torch.ones(scores.shape, dtype=torch.bool).triu(1)
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1)


@weights.mistakes_in(Weighing.scale, costs=EXACT)
class WeightsScale:
    @message(SCALED.format(width="D"))
    def scaled_although_unscaled_was_asked(self, scores, x):
        return scores / x.shape[1] ** 0.5

    @called("multiplied by √D")
    def multiplied_by_the_root(self, scores, x):
        """Your numbers match scores multiplied by √D. This assignment asks for plain dot products, and
        the scale of lecture 3 divides."""
        return scores * x.shape[1] ** 0.5

    def divided_by_D(self, scores, x):
        """Your numbers match scores divided by D, the width of a word. This assignment asks for
        plain dot products. Is there a mean where a sum should be, or a division too much?"""
        return scores / x.shape[1]

    @variants("power", (0.5, 1.0))
    def divided_by_the_number_of_words(self, scores, x, power):
        """Your numbers match scores divided by the number of words, or by its root. Nothing is
        divided before the softmax here; and the softmax does its own division."""
        return scores / len(x) ** power

    @costs(ROWS)
    def scores_negated(self, scores, x):
        """The more similar a word, the less weight it gets, so your scores have the wrong sign. Is
        there a minus in the exponent?"""
        return -scores


@weights.mistakes_in(Weighing.compare, costs=EXACT)
class WeightsCompare:
    def cosine_similarity(self, x):
        """Your numbers match cosine similarity, in which the word vectors are divided by their
        lengths first. Take the plain dot products, because their sizes matter."""
        unit = x / x.norm(dim=-1, keepdim=True)
        return unit @ unit.T

    @variants(
        "distances",
        (
            lambda x: torch.cdist(x, x),  # of many words it rounds, so that none is 0
            lambda x: (x.unsqueeze(1) - x).norm(dim=-1),
            lambda x: (x.unsqueeze(1) - x).square().sum(dim=-1),
        ),
    )
    def distances_for_dot_products(self, x, distances):
        """Your numbers match scores made of distances, which are the larger the nearer two words
        are. The score asked for is the dot product, which also counts how long the vectors are."""
        return -distances(x)

    @message(RESHAPED)
    def reshape_for_transpose(self, x):
        return x @ x.reshape(x.shape[1], x.shape[0])

    def features_compared_instead_of_words(self, x):
        """Your result is (D, D), because it compares columns of x, the features. Rows are words, so
        ω = x xᵀ, not xᵀ x."""
        return x.T @ x
