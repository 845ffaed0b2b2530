"""Scaled attention in steps, which a sentence in NumPy and any batch in PyTorch have in common."""

from __future__ import annotations

from assignments.a3_scaled_dot_product_attention.rubric import (
    hidden_by_infinity,
)
from autograder.checks.mistakes import Steps

ROOT_OF_LENGTH = (
    "Your numbers match scores divided by the root of the number of words. The scale is about the "
    "width of a key, the number of terms in one dot product. Which axis of `key` is that?"
)


class InSteps(Steps):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def answer(self, query, key, value, mask=None):
        scores = self.compare(query, key) / self.divisor(query, key, value)
        weights = self.fill(self.share(self.hide(scores, mask)), mask)
        return self.result(self.collect(weights, query, key, value), weights, scores)

    def compare(self, query, key):
        return query @ key.mT

    def divisor(self, query, key, value):
        return key.shape[-1] ** 0.5

    def hide(self, scores, mask):
        return hidden_by_infinity(scores, mask)

    def share(self, scores):
        return scores.softmax(dim=-1)

    def fill(self, weights, mask):
        return weights if mask is None else weights.masked_fill(~mask, 0.0)

    def collect(self, weights, query, key, value):
        return weights @ value

    def result(self, output, weights, scores):
        return output, weights
