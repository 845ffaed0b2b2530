"""Ways to hide what a mask hides, in a softmax that runs over a wrong axis."""

from __future__ import annotations

import math

from torch import Tensor


def weights_over(dim: int, scores: Tensor, mask: Tensor | None) -> Tensor:
    """A softmax over any axis that hides what the mask hides."""
    if mask is None:
        return scores.softmax(dim)
    return scores.masked_fill(~mask, -math.inf).softmax(dim).masked_fill(~mask, 0.0)


def weights_guarded_over(dim: int, scores: Tensor, mask: Tensor | None) -> Tensor:
    """The same, but the scores of a query that may attend to nothing become 0, against NaN."""
    if mask is None:
        return scores.softmax(dim)
    nothing = ~mask.any(dim=-1, keepdim=True)
    guarded = scores.masked_fill(~mask, -math.inf).masked_fill(nothing, 0.0)
    return guarded.softmax(dim).masked_fill(~mask, 0.0)


def weights_bounded_over(dim: int, scores: Tensor, mask: Tensor | None) -> Tensor:
    """The same with a large negative number for minus infinity."""
    return (scores if mask is None else scores.masked_fill(~mask, -1e9)).softmax(dim)


WAYS_TO_HIDE = (weights_over, weights_guarded_over, weights_bounded_over)
