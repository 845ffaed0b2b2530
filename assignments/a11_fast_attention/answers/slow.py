"""Slow answers that are right: number by number, and everything with everything."""

import torch
from torch import nn

from assignments.a11_fast_attention.answers.bank import BANK
from assignments.common.slow import (
    each_word,
    mapped,
    mapped_at_once,
    seen_by_heads,
    weighed,
    weighed_at_once,
)
from autograder.bank.answers import LOOPS, PRODUCTS


@BANK.right("cached_attention", slow=LOOPS)
def cached_number_by_number(query, key, value, cache=None):
    (B, H, T, _), P = query.shape, 0 if cache is None else cache[0].shape[2]
    if cache is not None:
        key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
    seen = torch.zeros(T, P + T, dtype=torch.bool)
    for t in range(T):
        for s in range(P + t + 1):
            seen[t, s] = True
    output = [
        torch.stack([weighed(query[b, h], key[b, h], value[b, h], seen)[0] for h in range(H)])
        for b in range(B)
    ]
    return torch.stack(output), (key, value)


@BANK.right("cached_attention", slow=PRODUCTS)
def cached_by_broadcasting(query, key, value, cache=None):
    if cache is not None:
        key, value = (torch.cat(pair, 2) for pair in zip(cache, (key, value), strict=True))
    T, S = query.shape[2], key.shape[2]
    seen = torch.arange(S) <= torch.arange(S - T, S).unsqueeze(1)
    return weighed_at_once(query, key, value, seen)[0], (key, value)


def refuse_window(query_length, key_length, window):
    if query_length > key_length or window < 1:
        raise ValueError(f"{query_length=}, {key_length=} and {window=} do not go")


@BANK.right("sliding_window_mask", slow=LOOPS)
def window_place_by_place(query_length, key_length, window):
    refuse_window(query_length, key_length, window)
    mask = torch.zeros(query_length, key_length, dtype=torch.bool)
    for i in range(query_length):
        for j in range(key_length):
            place = key_length - query_length + i
            if place - window < j <= place:
                mask[i, j] = True
    return mask


@BANK.right("sliding_window_mask", slow=PRODUCTS)
def window_by_broadcasting(query_length, key_length, window):
    refuse_window(query_length, key_length, window)
    places = torch.arange(key_length - query_length, key_length)
    # whether each key is one of the window's: (query_length, window, key_length)
    back = places[:, None, None] - torch.arange(window)[None, :, None]
    return (back == torch.arange(key_length)).sum(1) > 0


class Groups(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        for whole, part in ((d_model, num_heads), (num_heads, num_kv_heads)):
            if whole % part:
                raise ValueError(f"{whole} is no multiple of {part}")
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        width = d_model // num_heads * num_kv_heads
        self.w_q, self.w_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_k, self.w_v = nn.Linear(d_model, width), nn.Linear(d_model, width)


@BANK.right("GroupedQueryAttention", slow=LOOPS)
class GroupsNumberByNumber(Groups):
    def forward(self, query, key, value, mask=None):
        (B, T, D), S, H = query.shape, key.shape[1], self.num_heads
        seen, d_k, each = seen_by_heads(mask, B, H, T, S), D // H, H // self.num_kv_heads
        outputs, weights = [], []
        for b in range(B):
            q, k, v = (
                each_word(lambda word, layer=layer: mapped(layer, word), x[b])
                for layer, x in ((self.w_q, query), (self.w_k, key), (self.w_v, value))
            )
            heads = []
            for h in range(H):
                own = slice(h * d_k, (h + 1) * d_k)
                shared = slice(h // each * d_k, (h // each + 1) * d_k)
                heads.append(weighed(q[:, own], k[:, shared], v[:, shared], seen[b, h]))
            joined = torch.cat([output for output, _ in heads], 1)
            outputs.append(each_word(lambda word: mapped(self.w_o, word), joined))
            weights.append(torch.stack([rows for _, rows in heads]))
        return torch.stack(outputs), torch.stack(weights)


@BANK.right("GroupedQueryAttention", slow=PRODUCTS)
class GroupsByBroadcasting(Groups):
    def forward(self, query, key, value, mask=None):
        H, G = self.num_heads, self.num_kv_heads
        q = mapped_at_once(self.w_q, query).unflatten(-1, (H, -1)).transpose(1, 2)
        k, v = (
            mapped_at_once(layer, x).unflatten(-1, (G, -1)).transpose(1, 2)
            for layer, x in ((self.w_k, key), (self.w_v, value))
        )
        # which key head serves which query head: (H, G)
        serves = (torch.arange(H).unsqueeze(1) // (H // G) == torch.arange(G)).to(k.dtype)
        k, v = (torch.einsum("hg,bgsd->bhsd", serves, heads) for heads in (k, v))
        context, weights = weighed_at_once(q, k, v, mask)
        return mapped_at_once(self.w_o, context.transpose(1, 2).flatten(2)), weights


@BANK.right("online_softmax_attention", slow=LOOPS)
def online_number_by_number(query, key, value, block_size, mask=None):
    if query.dim() > 2:
        shown = [None] * len(query)
        if mask is not None:
            shown = mask.expand(*query.shape[:-1], key.shape[-2])
        return torch.stack(
            [
                online_number_by_number(query[b], key[b], value[b], block_size, shown[b])
                for b in range(len(query))
            ]
        )
    (T, d_k), (S, d_v) = query.shape, value.shape
    shown = None if mask is None else mask.expand(T, S)
    rows = []
    for t in range(T):
        nothing = query.new_zeros(())
        largest, total, output = None, nothing, [nothing] * d_v
        for begin in range(0, S, block_size):
            for s in range(begin, min(begin + block_size, S)):
                if shown is not None and not shown[t, s]:
                    continue
                score = nothing
                for j in range(d_k):
                    score = score + query[t, j] * key[s, j]
                score = score / d_k**0.5
                if largest is None:
                    largest = score.detach()
                elif score > largest:
                    factor = (largest - score.detach()).exp()
                    largest = score.detach()
                    total = total * factor
                    output = [number * factor for number in output]
                weight = (score - largest).exp()
                total = total + weight
                output = [output[j] + weight * value[s, j] for j in range(d_v)]
        rows.append(torch.stack(output if largest is None else [one / total for one in output]))
    return torch.stack(rows)


@BANK.right("online_softmax_attention", slow=PRODUCTS)
def online_by_broadcasting(query, key, value, block_size, mask=None):
    shape, S = query.shape[:-1], key.shape[-2]
    largest = query.new_full((*shape, 1), -1e30)
    total, output = query.new_zeros((*shape, 1)), query.new_zeros((*shape, value.shape[-1]))
    for begin in range(0, S, block_size):
        k, v = key[..., begin : begin + block_size, :], value[..., begin : begin + block_size, :]
        scores = torch.einsum("...td,...sd->...ts", query, k) / query.shape[-1] ** 0.5
        seen = torch.ones((), dtype=torch.bool)
        if mask is not None:
            seen = mask if mask.shape[-1] == 1 else mask[..., begin : begin + block_size]
        scores = scores.masked_fill(~seen, -1e30)
        before = largest
        largest = largest.maximum(scores.detach().amax(-1, keepdim=True))
        weights = (scores - largest).exp() * seen
        factor = (before - largest).exp()
        total = total * factor + weights.sum(-1, keepdim=True)
        output = output * factor + torch.einsum("...ts,...sd->...td", weights, v)
    return output / total.masked_fill(total == 0, 1)
