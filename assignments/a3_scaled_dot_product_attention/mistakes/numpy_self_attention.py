"""`numpy_self_attention` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from assignments.a3_scaled_dot_product_attention.mistakes import (
    scaled_dot_product_attention,  # noqa: F401 (some of its names are shared below)
)
from assignments.a3_scaled_dot_product_attention.mistakes.scaled_in_steps import (
    ROOT_OF_LENGTH,
    InSteps,
)
from assignments.a3_scaled_dot_product_attention.rubric import (
    EXACT,
    LARGE,
    ROWS,
    in_numpy,
    scaled,
)
from autograder.checks.cases import Step
from autograder.checks.mistakes import Mistake, called, costs, message, variants


class OfWords(InSteps):
    """The same, of words: queries, keys and values are made first, and all are NumPy arrays."""

    def answer(self, X, Wq, Wk, Wv):
        made = (torch.from_numpy(item) for item in self.project(X, Wq, Wk, Wv))
        results = InSteps.answer(self, *made)
        if isinstance(results, Tensor):
            return results.numpy()
        return tuple(item.numpy() for item in results)

    def project(self, X, Wq, Wk, Wv):
        return X @ Wq, X @ Wk, X @ Wv


@in_numpy.mistakes_in(OfWords.divisor, costs=EXACT, of=OfWords)
class InNumpyDivisor:
    @called("√ of the length")
    @message(ROOT_OF_LENGTH)
    def root_of_length(self, query, key, value):
        return len(query) ** 0.5

    def divided_by_the_number_of_words(self, query, key, value):
        """Your numbers match scores divided by the number of words. It is the root of the width of
        a key, √d_k. Which axis of `key` is that?"""
        return len(query)

    def always_divided_by_2(self, query, key, value):
        """You divide by 2, as in the example, where d_k is 4. With another width it is another
        root."""
        return 2.0


@in_numpy.mistake("√ of the word vectors' width", costs=EXACT)
class RootOfWordWidth(OfWords):
    """Your numbers match scores divided by √D, the width of the words in X. What counts is the
    width of queries and keys, after the projection."""

    def answer(self, X, Wq, Wk, Wv):
        self.root = X.shape[1] ** 0.5
        return super().answer(X, Wq, Wk, Wv)

    def divisor(self, query, key, value):
        return self.root


@in_numpy.mistakes_in(OfWords.share, costs=ROWS, of=OfWords)
class InNumpyShare:
    def softmax_over_the_columns(self, scores):
        """Your columns sum to one, and it should be your rows, because row i says how word i shares
        out its attention."""
        return scores.softmax(dim=0)

    def softmax_over_the_whole_matrix(self, scores):
        """Your weights sum to one over the whole matrix. Each row is one word's attention and sums
        to one by itself."""
        return scores.flatten().softmax(dim=0).reshape(scores.shape)

    def the_sum_loses_its_axis(self, scores):
        """Each row should be divided by its own sum, but your sums are spread along the other axis.
        The matrix is square, so NumPy does not complain. Which argument of `sum` helps?"""
        exponentials = (scores - scores.amax(dim=-1, keepdim=True)).exp()
        return exponentials / exponentials.sum(dim=-1)

    @costs(LARGE)
    def one_maximum_for_the_whole_matrix(self, scores):
        """You subtract the largest score of the whole matrix. In a row far below it all
        exponentials are 0, and 0 divided by 0 is NaN. Each row needs a maximum of its own."""
        exponentials = (scores - scores.max()).exp()
        return exponentials / exponentials.sum(dim=-1, keepdim=True)


@in_numpy.mistakes_in(OfWords.project, costs=ROWS)
class InNumpyProject:
    def query_and_key_swapped(self, X, Wq, Wk, Wv):
        """You score keys against queries. Row i of the scores belongs to the query of word i."""
        return X @ Wk, X @ Wq, X @ Wv

    @costs(EXACT)
    def words_averaged_instead_of_values(self, X, Wq, Wk, Wv):
        """Your weights are right, but what you average are the words in X. What are Wv and V
        for?"""
        return X @ Wq, X @ Wk, X

    @costs(EXACT)
    def keys_averaged_instead_of_values(self, X, Wq, Wk, Wv):
        """Your weights are right, but what you average are the keys. What are Wv and V for?"""
        return X @ Wq, X @ Wk, X @ Wk

    @variants("first, second", ((0, 0), (1, 1)))
    def one_map_for_queries_and_keys(self, X, Wq, Wk, Wv, first, second):
        """Queries and keys are made by the same map, so your scores are symmetric. Which map makes
        the queries, which the keys?"""
        maps = Wq, Wk
        return X @ maps[first], X @ maps[second], X @ Wv

    def words_not_projected(self, X, Wq, Wk, Wv):
        """You compare the words in X themselves. Which maps make queries and keys of them?"""
        return X, X, X @ Wv


@in_numpy.mistakes_in(OfWords.hide, costs=ROWS, of=OfWords)
class InNumpyHide:
    def the_future_hidden(self, scores, mask):
        """Your words attend to themselves and to earlier words only. There is no mask here, so
        every word is compared with every word. (The mask over the future comes in lecture 4.)"""
        future = torch.ones(scores.shape, dtype=torch.bool).triu(1)
        return scores.masked_fill(future, -math.inf)


def shared(costs: Step, mistakes: list[Mistake]) -> None:
    """Name the same mistakes in NumPy, with queries, keys and values made from words."""
    for mistake in mistakes:
        changed = {name: way for name, way in vars(mistake.in_steps).items() if callable(way)}
        of_words = type("OfWordsOtherwise", (OfWords,), changed)
        in_numpy.mistake(mistake.name, mistake.message, costs)(of_words)


shared(LARGE, scaled.named("overflow")[-1:])
shared(
    EXACT,
    scaled.named(
        "not scaled",
        "divided by d_k",
        "multiplied by √d_k",
        "√ of the value's width",
        "d_k ** 1 / 2 for the root",
        "softmax taken twice",
        "weights transposed before the sum",
        "values added to the output",
    ),
)
shared(
    ROWS,
    scaled.named(
        "scaled after the softmax",
        "scores returned for weights",
        "results in the wrong order",
        "output returned without the weights",
        "scores negated",
        "no softmax",
        "exp without the division",
        "plain mean of the values",
        "cosine similarity",
    ),
)
