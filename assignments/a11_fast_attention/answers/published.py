"""Mistakes that real projects made in what assignment 11 asks for."""

import math

import torch

from assignments.a11_fast_attention.answers.bank import BANK
from assignments.a11_fast_attention.answers.cached_attention import attend, grown
from assignments.a11_fast_attention.answers.grouped_query_attention import Base
from assignments.a11_fast_attention.answers.online_softmax_attention import (
    blocks,
    cut,
    nothing,
    scored,
)


@BANK.wrong("cached_attention", named="mask from the top left", published="pytorch/pytorch#103082")
def causal_as_pytorch_defines_it(query, key, value, cache=None):
    """The causal mask of an oblong matrix begins at the top left, so a new word sees key 0 alone."""
    key, value = grown(key, value, cache)
    mask = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril(diagonal=0)
    return attend(query, key, value, mask), (key, value)


@BANK.wrong(
    "cached_attention", named="mask from the top left", published="gittensor-ai-lab/sparkinfer#3"
)
def keys_up_to_the_place_within_the_chunk(query, key, value, cache=None):
    """The last key of a query is counted within its chunk, and the cached words before are left out."""
    key, value = grown(key, value, cache)
    rows = []
    for place in range(query.shape[2]):
        end = min(key.shape[2], place + 1)
        scores = query[:, :, [place]] @ key[:, :, :end].mT / math.sqrt(query.shape[-1])
        rows.append(scores.softmax(-1) @ value[:, :, :end])
    return torch.cat(rows, dim=2), (key, value)


@BANK.wrong(
    "sliding_window_mask",
    named="queries taken for the first words",
    published="Dao-AILab/flash-attention#20",
)
def query_i_sees_keys_up_to_i(query_length, key_length, window):
    """Causal means here that query i sees keys up to i, also where there are more keys than queries."""
    if query_length > key_length or window < 1:
        raise ValueError(f"{query_length} queries, {key_length} keys, a window of {window}")
    back = torch.arange(query_length)[:, None] - torch.arange(key_length)
    return (back >= 0) & (back < window)


@BANK.wrong(
    "GroupedQueryAttention",
    named=("key heads by remainder", "value heads by remainder"),
    published="onnx/onnx#7274",
)
class KeyHeadsTiled(Base):
    """Key heads are tiled, so that query heads meet them in turns instead of in groups."""

    def spread(self, heads):
        return torch.tile(heads, (1, self.h // self.g, 1, 1))


@BANK.wrong(
    "GroupedQueryAttention",
    told=("stops with RuntimeError", "wrong with `forward`"),
    published="state-spaces/mamba#462",
)
class KeyHeadsNotRepeated(Base):
    """Key and value heads are not repeated at all."""

    def spread(self, heads):
        return heads


@BANK.wrong(
    "online_softmax_attention",
    named="the average where nothing may be attended to",
    published="flashinfer-ai/flashinfer#4401",
)
def a_sentinel_for_minus_infinity(query, key, value, block_size, mask=None):
    """A finite number stands for −∞, so rows in which all is hidden get the average of all values."""
    lowest, total, output = nothing(query, value)
    m = torch.full_like(lowest, -5e4)
    for block in blocks(key, block_size):
        scores = scored(query, key, None, block)
        if mask is not None:
            scores = scores.masked_fill(~cut(mask, block), -5e4)
        new = torch.maximum(m, scores.detach().amax(-1, keepdim=True))
        old, powers = (m - new).exp(), (scores - new).exp()
        total, output = (
            total * old + powers.sum(-1, keepdim=True),
            output * old + powers @ value[..., block, :],
        )
        m = new
    return output / total.masked_fill(total == 0, 1.0)


@BANK.wrong(
    "online_softmax_attention",
    named="NaN from a hidden block",
    published="tracel-ai/burn#4694",
)
def minus_infinity_less_itself(query, key, value, block_size, mask=None):
    """Where all scores of a row are −∞, so is their maximum, and −∞ less −∞ is NaN."""
    m, total, output = nothing(query, value)
    for block in blocks(key, block_size):
        scores = scored(query, key, mask, block)
        new = torch.maximum(m, scores.detach().amax(-1, keepdim=True))
        old, powers = (m - new).exp(), (scores - new).exp()
        total, output = (
            total * old + powers.sum(-1, keepdim=True),
            output * old + powers @ value[..., block, :],
        )
        m = new
    return output / total
