"""Attention that saves work or memory: a cache, windows, shared key heads, and tiles.

Shapes: B batch, H query heads, G key and value heads, T words that ask, P words in the cache,
S = P + T or the length of the memory, d_k and d_v widths of a head. Masks are bool, True = may
attend.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_utils.attention import merge_heads, scaled_dot_product_attention, split_heads


def cached_attention(
    query: Float[Tensor, "B H T d_k"],
    key: Float[Tensor, "B H T d_k"],
    value: Float[Tensor, "B H T d_v"],
    cache: tuple[Float[Tensor, "B H P d_k"], Float[Tensor, "B H P d_v"]] | None = None,
) -> tuple[
    Float[Tensor, "B H T d_v"], tuple[Float[Tensor, "B H S d_k"], Float[Tensor, "B H S d_v"]]
]:
    """Causal attention for new words, with the keys and values of the words before them.

    Args:
        query, key, value: of the new words, cut into heads.
        cache: None, or the keys and values of the P words before, as an earlier call returned
            them. It stays as it is.

    Returns:
        output: new word i attends to the cached words and to new words 0 … i.
        cache: the keys and values of all S = P + T words, old ones first.

    Source: Shazeer (2019), section 2.4; Pope et al. (2022), section 2.
    """
    if cache is not None:
        key = torch.cat([cache[0], key], dim=-2)  # (B, H, P + T, d_k)
        value = torch.cat([cache[1], value], dim=-2)  # (B, H, P + T, d_v)
    length = key.shape[-2]
    mask = sliding_window_mask(query.shape[-2], length, window=length).to(query.device)
    output, _ = scaled_dot_product_attention(query, key, value, mask)
    return output, (key, value)


def sliding_window_mask(
    query_length: int, key_length: int, window: int
) -> Bool[Tensor, "{query_length} {key_length}"]:
    """Each query sees its own word and the `window - 1` words before it.

    The queries are the last `query_length` of `key_length` words: query i stands at
    p = key_length - query_length + i, and mask[i, j] = (p - window < j ≤ p). With a window of
    key_length or more the mask is causal.

    Raises:
        ValueError: there are more queries than keys, or window < 1.

    Source: Beltagy et al. (2020), section 3.1, on one side; Jiang et al. (2023), section 2.
    """
    if query_length > key_length:
        raise ValueError(
            f"the queries are the last words among the keys, but there are {query_length} queries "
            f"and only {key_length} keys"
        )
    if window < 1:
        raise ValueError(f"expected a window of 1 or more words, found {window}")
    everything = torch.ones(query_length, key_length, dtype=torch.bool)
    newest = key_length - query_length  # the place of the first query among the keys
    return everything.tril(newest) & everything.triu(newest - window + 1)


class GroupedQueryAttention(nn.Module):
    """Multi-head attention in which neighbouring query heads share a key head and a value head.

    Query head h uses key and value head h // (num_heads / num_kv_heads). With as many key heads as
    query heads this is multi-head attention, with a single one it is multi-query attention.

    Args:
        d_model: width of queries, keys, values and output.
        num_heads: H, a divisor of d_model; a head has the width d_k = d_model / H.
        num_kv_heads: G, a divisor of H.

    Raises:
        ValueError: num_heads does not divide d_model, or num_kv_heads does not divide num_heads.

    Source: Ainslie et al. (2023), section 2.2; Shazeer (2019), section 3, for one key head.
    """

    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(
                f"d_model must split evenly into heads, but d_model = {d_model} and "
                f"num_heads = {num_heads}"
            )
        if num_heads % num_kv_heads != 0:
            raise ValueError(
                f"every key head serves equally many query heads, but num_heads = {num_heads} and "
                f"num_kv_heads = {num_kv_heads}"
            )
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        d_k = d_model // num_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, num_kv_heads * d_k)
        self.w_v = nn.Linear(d_model, num_kv_heads * d_k)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(
        self,
        query: Float[Tensor, "B T d_model"],
        key: Float[Tensor, "B S d_model"],
        value: Float[Tensor, "B S d_model"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "B T d_model"], Float[Tensor, "B H T S"]]:
        """Let every query attend to every key that the mask, which broadcasts to (B, H, T, S), allows.

        The output comes back, and the weights of every query head.
        """
        query_heads = split_heads(self.w_q(query), self.num_heads)  # (B, H, T, d_k)
        key_heads = self._shared(self.w_k(key))  # (B, H, S, d_k)
        value_heads = self._shared(self.w_v(value))  # (B, H, S, d_k)
        context, weights = scaled_dot_product_attention(query_heads, key_heads, value_heads, mask)
        return self.w_o(merge_heads(context)), weights

    def _shared(self, projected: Float[Tensor, "B S kv_width"]) -> Float[Tensor, "B H S d_k"]:
        """Cut into G heads, and give each to all query heads of its group."""
        heads = split_heads(projected, self.num_kv_heads)  # (B, G, S, d_k)
        return heads.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)


def online_softmax_attention(
    query: Float[Tensor, "... T d_k"],
    key: Float[Tensor, "... S d_k"],
    value: Float[Tensor, "... S d_v"],
    block_size: int,
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "... T d_v"]:
    """Scaled dot-product attention that never holds more than one block of scores.

    For every query it keeps the maximum m of the scores seen so far, and ℓ = Σ exp(ω - m) and
    o = Σ exp(ω - m) v over them. A block with a larger maximum m' rescales both by exp(m - m').
    In the end the output is o / ℓ, or zero where all keys are hidden.

    Args:
        query, key, value: with the same leading axes.
        block_size: how many keys are looked at together; it need not divide S.
        mask: broadcasts to (..., T, S), True = may attend; None hides nothing.

    Source: Milakov and Gimelshein (2018), algorithm 3, for m and ℓ; Rabe and Staats (2021), section 2,
    and Dao et al. (2022), section 3.1, algorithm 1, for o.
    """
    query = query / math.sqrt(query.shape[-1])
    rows = (*query.shape[:-1], 1)
    largest = query.new_full(rows, -torch.inf)  # m, (..., T, 1)
    total = query.new_zeros(rows)  # ℓ
    output = query.new_zeros((*query.shape[:-1], value.shape[-1]))  # o, (..., T, d_v)
    for start in range(0, key.shape[-2], block_size):
        block = slice(start, start + block_size)
        scores = query @ key[..., block, :].transpose(-2, -1)  # (..., T, block_size)
        if mask is not None:
            shown = mask if mask.shape[-1] == 1 else mask[..., block]
            scores = scores.masked_fill(~shown, -torch.inf)
        # m cancels out in the end, so no gradient has to flow through it.
        before, largest = largest, largest.maximum(scores.detach().amax(dim=-1, keepdim=True))
        finite = largest.masked_fill(largest == -torch.inf, 0.0)  # nothing to see so far
        weights = torch.exp(scores - finite)
        rescaled = torch.exp(before - finite)  # 0 in the first block
        total = total * rescaled + weights.sum(dim=-1, keepdim=True)
        output = output * rescaled + weights @ value[..., block, :]
    return output / total.masked_fill(total == 0, 1.0)
