"""Judges of attention weights, which several assignments ask for.

`rank` accepts weights that look at the right places, however sharply, so that one slip in the
scores, such as a missing scale, does not cost the points for the softmax and the mask as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.checks.cases import Judge
from autograder.checks.compare import hidden_are_zero, kind_of, numbers, values_agree
from autograder.checks.problem import Judgement

NEARLY_HIDDEN = 1e-3  # a hidden weight below this comes from a score that is not low enough


class Weights:
    """Judges of results (output, weights), where the weights of a row are those along the last axis.

    Args:
        output: what the assignment calls the first result.
        axes: what each axis of the weights counts, as in ``B="sentence", T="query", S="key"``;
            further leading axes may come before them.

    Further judges of an assignment are made of these: each returns None or what is wrong.
    """

    def __init__(self, output: str = "output", **axes: str) -> None:
        self.output, self.shape = output, f"({', '.join(axes)})"
        *self.rows, self.key = axes.values()

    def missing(self, expected: tuple, got: Any) -> Judgement:
        """Whether there are weights of this shape, as the second of two results."""
        if not isinstance(got, tuple | list) or len(got) != 2:
            return f"expected the pair ({self.output}, weights), got {kind_of(got)}"
        wanted, found = tuple(expected[1].shape), got[1]
        if not isinstance(found, Tensor | np.ndarray) or tuple(found.shape) != wanted:
            return (
                f"expected weights of shape {self.shape} = {wanted} as the second result, got "
                f"{kind_of(found)}"
            )
        return None

    def rank(self, expected: tuple, got: Any, apart: float = 0.01) -> Judgement:
        """Accept weights that sum to one and put the visible keys into the right order.

        What is exactly 0 in ``expected`` must be exactly 0, and nothing else may be. Only weights
        that should be more than ``apart`` from each other are compared, because near ties may come
        out either way.
        """
        problem = self.missing(expected, got)
        if problem:
            return problem
        wanted, found = (torch.as_tensor(pair[1]).double() for pair in (expected, got))
        return (
            self._not_empty(wanted, found)
            or self._no_shares(wanted, found)
            or self._wrongly_hidden(wanted, found)
            or self._out_of_order(wanted, found, apart)
        )

    def agree(self, expected: tuple, got: Any) -> Judgement:
        """Like `hidden_are_zero`, but says what went wrong where nothing may be attended to."""
        problem = self.missing(expected, got)
        if problem:
            return problem
        wanted, found = (torch.as_tensor(pair[1]).double() for pair in (expected, got))
        return self._not_empty(wanted, found) or hidden_are_zero(expected, got)

    def where_something_is_seen(self, judge: Judge) -> Judge:
        """A judge that leaves out rows in which nothing may be seen, unless their weights are 0.

        Another step asks for these zeros. Where they are there, what such a row does to the rest
        counts like everything else.
        """

        def judge_the_rest(expected: tuple, got: Any) -> Judgement:
            if values_agree(expected, got) is None or self.missing(expected, got):
                return judge(expected, got)
            output, weights = got
            if not isinstance(output, Tensor) or output.shape != expected[0].shape:
                return judge(expected, got)
            wrong = (expected[1] == 0).all(dim=-1) & (weights != 0).any(dim=-1)
            weights = torch.where(wrong.unsqueeze(-1), expected[1], weights)
            while wrong.dim() >= output.dim():  # one head is enough to spoil the output
                wrong = wrong.any(dim=1)
            return judge(expected, (torch.where(wrong.unsqueeze(-1), expected[0], output), weights))

        return judge_the_rest

    def empty_rows_give(self, nothing: str) -> Judge:
        """A judge like `rank`, which also asks for the right output where all is hidden.

        Args:
            nothing: what that output is, in words.
        """

        def judge(expected: tuple, got: Any) -> Judgement:
            problem = self.rank(expected, got)
            if problem:
                return problem
            output, empty = got[0], (expected[1] == 0).all(dim=-1)
            if not isinstance(output, Tensor) or output.shape != expected[0].shape:
                wanted = kind_of(expected[0])
                return f"for the {self.output}, expected {wanted}, got {kind_of(output)}"
            if not output.isfinite().all():
                return f"the {self.output} should be finite, but it contains NaN or infinity"
            while empty.dim() >= output.dim():  # every head must be empty
                empty = empty.all(dim=1)
            problem = values_agree(expected[0][empty], output[empty])
            where = "where nothing may be attended to"
            return problem and f"{where}, the {self.output} should be {nothing}: {problem}"

        return judge

    def _where(self, index: list[int]) -> str:
        rows = self.rows[-len(index) :]
        unnamed, named = index[: -len(rows)], index[-len(rows) :]
        place = [f"{row} {i}" for row, i in zip(rows, named, strict=True)]
        return f"in {', '.join([str(unnamed)] * bool(unnamed) + place)} (counting from 0)"

    def _not_empty(self, wanted: Tensor, found: Tensor) -> str | None:
        wrong = (wanted == 0).all(dim=-1) & (found != 0).any(dim=-1)
        if not wrong.any():
            return None
        place = wrong.nonzero()[0].tolist()
        row = found[tuple(place)]
        why = f"{self._where(place)}, nothing may be attended to, so the weights should be 0, but yours"
        if row.isnan().any():
            return f"{why} are NaN. If all scores are minus infinity, the softmax divides 0 by 0"
        alike = ". What does a softmax make of scores that are all the same?"
        return f"{why} are {numbers(row)}{alike if torch.allclose(row, row[:1]) else ''}"

    def _no_shares(self, wanted: Tensor, found: Tensor) -> str | None:
        if not found.isfinite().all():
            return "the weights should be finite, but they contain NaN or infinity"
        if (found < 0).any():
            return f"weights cannot be negative, but your smallest is {float(found.min()):.4g}"
        sums = found.sum(dim=-1)
        if torch.allclose(sums, wanted.sum(dim=-1), atol=1e-4):
            return None
        if found.shape[-1] > 1 and (found == 1).all():
            return "all your weights are 1. How long is the axis along which your softmax runs?"
        problem = (
            f"the weights of each {self.rows[-1]} should sum to 1 over its {self.key}s, but the sums "
            f"of yours are {numbers(sums)}"
        )
        for axis in range(found.dim() - 1):
            across = found.sum(dim=axis)
            if torch.allclose(across, torch.ones_like(across), atol=1e-4):
                return f"{problem}. Along axis {axis} they are 1. Along which axis does your softmax run?"
        return problem

    def _wrongly_hidden(self, wanted: Tensor, found: Tensor) -> str | None:
        wrong = (wanted == 0) != (found == 0)
        if not wrong.any():
            return None
        *row, key = wrong.nonzero()[0].tolist()
        weight, where = float(found[*row, key]), f"{self._where(row)}, {self.key} {key}"
        if weight == 0:
            return f"{where} is visible, so its weight should not be 0, but it is"
        nearly = (
            "A score of minus infinity always has the weight 0, but a large negative one does not"
        )
        question = "Which score has the weight 0 after a softmax?"
        return (
            f"{where} is hidden, so its weight should be exactly 0, but it is {weight:.3g}. "
            f"{nearly if weight < NEARLY_HIDDEN else question}"
        )

    def _out_of_order(self, wanted: Tensor, found: Tensor, apart: float) -> str | None:
        above = wanted.unsqueeze(-1) > wanted.unsqueeze(-2) + apart
        confused = above & ~(found.unsqueeze(-1) > found.unsqueeze(-2))
        if not confused.any():
            return None
        *row, more, less = confused.nonzero()[0].tolist()
        return (
            f"{self._where(row)}, {self.key} {more} should get a larger weight than {self.key} "
            f"{less}, but yours are {float(found[*row, more]):.4g} and {float(found[*row, less]):.4g}"
        )
