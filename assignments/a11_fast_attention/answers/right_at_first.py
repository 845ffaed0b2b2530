"""Answers that are right at first: the first time, for small sizes, or without a row that shows nothing."""

import torch

from assignments.a11_fast_attention.answers.bank import BANK
from course_utils import fast_attention


@BANK.wrong("cached_attention", told="the output right, the keys wrong")
def cache_of_a_hundred_words(query, key, value, cache=None):
    output, (keys, values) = fast_attention.cached_attention(query, key, value, cache)
    return output, (keys[..., -100:, :], values[..., -100:, :])


@BANK.wrong("GroupedQueryAttention", named="one mask for each group")
class FirstMaskOfEachGroup(fast_attention.GroupedQueryAttention):
    def forward(self, query, key, value, mask=None):
        if mask is not None and mask.dim() == 4 and mask.shape[1] == self.num_heads:
            share = self.num_heads // self.num_kv_heads
            mask = mask[:, ::share].repeat_interleave(share, dim=1)
        return super().forward(query, key, value, mask)


@BANK.right("sliding_window_mask")
def window_by_vmap(query_length, key_length, window):
    if query_length > key_length or window < 1:
        raise ValueError(f"{query_length} queries, {key_length} keys, window {window}")
    keys = torch.arange(key_length)
    return torch.vmap(lambda own: (keys <= own) & (keys > own - window))(keys[-query_length:])
