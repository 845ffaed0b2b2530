"""What slow right answers to several assignments are made of.

The first half goes through single numbers, as a beginner does who writes a sum down. The second half
multiplies everything with everything, and sums what belongs together.

Shapes: B batch, H heads, T queries, S keys, D width, d_k = D / H.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

Numbers = Sequence[Tensor]

# --------------------------------------------------------------------------- number by number


def each_word(change: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Change the words (D,) of x (..., D) one after the other."""
    if x.dim() == 1:
        return change(x)
    return torch.stack([each_word(change, part) for part in x])


def mapped(layer: nn.Linear, word: Tensor) -> Tensor:
    """What a linear map makes of one word (D,)."""
    made, bias = [], layer.bias
    for i, row in enumerate(layer.weight):
        total = word.new_zeros(()) if bias is None else bias[i]
        for weight, number in zip(row, word, strict=True):
            total = total + weight * number
        made.append(total)
    return torch.stack(made)


def rectified(word: Tensor) -> Tensor:
    """ReLU of one word (D,)."""
    return torch.stack([number if number > 0 else 0 * number for number in word])


def normed(norm: nn.LayerNorm, word: Tensor) -> Tensor:
    """Layer norm of one word (D,)."""
    D, weight, bias = len(word), norm.weight, norm.bias
    mean = sum(word[j] for j in range(D)) / D
    variance = sum((word[j] - mean) * (word[j] - mean) for j in range(D)) / D
    root = (variance + norm.eps) ** 0.5
    return torch.stack([(word[j] - mean) / root * weight[j] + bias[j] for j in range(D)])


def shares(scores: Numbers) -> list[Tensor]:
    """Softmax of some scores."""
    largest = scores[0]
    for score in scores:
        largest = max(largest, score)
    powers = [(score - largest).exp() for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def weighed(query: Tensor, key: Tensor, value: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
    """Scaled dot-product attention of one head: (T, d_k), (S, d_k), (S, d_v), bool (T, S)."""
    (T, d_k), (S, d_v) = query.shape, value.shape
    nothing = value.new_zeros(())
    output, weights = [], []
    for t in range(T):
        scores, where = [], []
        for s in range(S):
            if seen[t, s]:
                score = nothing
                for j in range(d_k):
                    score = score + query[t, j] * key[s, j]
                scores.append(score / d_k**0.5)
                where.append(s)
        row = [nothing] * S
        for s, share in zip(where, shares(scores) if scores else [], strict=True):
            row[s] = share
        word = []
        for j in range(d_v):
            total = nothing
            for s in where:
                total = total + row[s] * value[s, j]
            word.append(total)
        output.append(torch.stack(word))
        weights.append(torch.stack(row))
    return torch.stack(output), torch.stack(weights)


def turned_by_numbers(
    x: Tensor, positions: Tensor, base: float = 10000.0, factor: float = 1.0
) -> Tensor:
    """Rotary positions of x (B, H, T, d_k)."""
    B, H, T, d_k = x.shape
    sentences = []
    for b in range(B):
        heads = []
        for h in range(H):
            words = []
            for t in range(T):
                place = int(positions[b, t] if positions.dim() == 2 else positions[t]) / factor
                word = []
                for j in range(0, d_k, 2):
                    angle = place / base ** (j / d_k)
                    cos, sin = math.cos(angle), math.sin(angle)
                    even, odd = x[b, h, t, j], x[b, h, t, j + 1]
                    word += [even * cos - odd * sin, even * sin + odd * cos]
                words.append(torch.stack(word))
            heads.append(torch.stack(words))
        sentences.append(torch.stack(heads))
    return torch.stack(sentences)


def seen_by_heads(mask: Tensor | None, *shape: int) -> Tensor:
    """A mask of all axes (B, H, T, S)."""
    return torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)


def attended(
    attention: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    """The output (B, T, D) of multi-head attention, whose weights are those of ``attention``."""
    (B, T, D), S, H = query.shape, key.shape[1], attention.num_heads
    seen, d_k = seen_by_heads(mask, B, H, T, S), D // H
    sentences = []
    for b in range(B):
        q, k, v = (
            each_word(partial(mapped, layer), x[b])
            for layer, x in ((attention.w_q, query), (attention.w_k, key), (attention.w_v, value))
        )
        heads = []
        for h in range(H):
            part = slice(h * d_k, (h + 1) * d_k)
            heads.append(weighed(q[:, part], k[:, part], v[:, part], seen[b, h])[0])
        joined = torch.cat(heads, dim=1)
        sentences.append(each_word(partial(mapped, attention.w_o), joined))
    return torch.stack(sentences)


# ------------------------------------------------------------------ everything with everything


def mapped_at_once(layer: nn.Linear, x: Tensor) -> Tensor:
    """What a linear map makes of x (..., D), with all products (..., out, in) side by side."""
    made = (x.unsqueeze(-2) * layer.weight).sum(-1)
    return made if layer.bias is None else made + layer.bias


def normed_at_once(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    """Layer norm of x (..., D)."""
    D = x.shape[-1]
    apart = x - (x.unsqueeze(-2) * torch.ones(D, D, dtype=x.dtype)).sum(-1) / D
    variance = torch.einsum("...i,...i->...", apart, apart).unsqueeze(-1) / D
    return apart / (variance + norm.eps).sqrt() * norm.weight + norm.bias


def turned_by_products(
    x: Tensor, positions: Tensor, base: float = 10000.0, factor: float = 1.0
) -> Tensor:
    """Rotary positions of x (B, H, T, d_k), by a matrix (d_k, d_k) for each word."""
    d_k = x.shape[-1]
    speeds = base ** (torch.arange(0, d_k, 2).double() / d_k)
    angles = positions.double().unsqueeze(-1) / factor / speeds
    cos, sin = (part.repeat_interleave(2, -1) for part in (angles.cos(), angles.sin()))
    places = torch.arange(d_k)
    even = (places % 2 == 0).double()
    # where the other one of a pair stands, with its sign: (d_k, d_k)
    partner = (places.unsqueeze(1) == places + 1 - 2 * (places % 2)) * (1 - 2 * even).unsqueeze(1)
    turn = (cos.unsqueeze(-1) * torch.eye(d_k) + sin.unsqueeze(-1) * partner).to(x.dtype)
    if positions.dim() == 2:
        turn = turn.unsqueeze(1)
    return (turn * x.unsqueeze(-2)).sum(-1)


def weighed_at_once(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Scaled dot-product attention for any leading axes."""
    scores = (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(-1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    powers = (scores - scores.max(-1, keepdim=True).values).exp()
    if mask is not None:
        powers = powers * mask
    total = powers.sum(-1, keepdim=True)
    weights = powers / total.masked_fill(total == 0, 1)
    return (weights.unsqueeze(-1) * value.unsqueeze(-3)).sum(-2), weights


def attended_at_once(
    attention: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    """The output (B, T, D) of multi-head attention, whose weights are those of ``attention``."""
    H = attention.num_heads
    q, k, v = (
        mapped_at_once(layer, x).unflatten(-1, (H, -1)).transpose(1, 2)
        for layer, x in ((attention.w_q, query), (attention.w_k, key), (attention.w_v, value))
    )
    output, _ = weighed_at_once(q, k, v, mask)
    w_o = attention.w_o.weight.unflatten(1, (H, -1))
    return torch.einsum("bhtd,ohd->bto", output, w_o) + attention.w_o.bias
