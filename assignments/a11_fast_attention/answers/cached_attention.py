"""Answers to `cached_attention`."""

import math

import torch
from torch.nn import functional as F

from assignments.a11_fast_attention.answers.bank import BANK
from course_utils.attention import masked_softmax

PART = "cached_attention"


def after(T, S):
    """The right mask: the queries are the last of S words."""
    return torch.ones(T, S, dtype=torch.bool).tril(S - T)


def attend(query, key, value, mask):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -torch.inf).softmax(-1) @ value


def grown(key, value, cache):
    if cache is None:
        return key, value
    return torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)


# ------------------------------------------------------------------------------------- right


@BANK.right(PART)
def cached_by_einsum(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    scores = torch.einsum("bhtd,bhsd->bhts", query, key) / query.shape[-1] ** 0.5
    T, S = scores.shape[-2:]
    hidden = torch.arange(S) > torch.arange(S - T, S)[:, None]
    weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
    return torch.einsum("bhts,bhsd->bhtd", weights, value), (key, value)


@BANK.right(PART)
def cached_word_by_word(query, key, value, cache=None):
    keys, values = grown(key, value, cache)
    P, rows = keys.shape[2] - key.shape[2], []
    for i in range(query.shape[2]):
        seen = slice(0, P + i + 1)
        scores = (query[:, :, i : i + 1] @ keys[:, :, seen].mT) * query.shape[-1] ** -0.5
        rows.append(F.softmax(scores, dim=-1) @ values[:, :, seen])
    return torch.cat(rows, dim=2), [keys, values]


@BANK.right(PART)
def cached_with_the_courses_softmax(query, key, value, cache=None):
    past = (key[:, :, :0], value[:, :, :0]) if cache is None else cache
    key, value = (torch.cat(pair, dim=-2) for pair in zip(past, (key, value), strict=True))
    T, S = query.size(-2), key.size(-2)
    weights = masked_softmax(query / math.sqrt(key.size(-1)) @ key.transpose(-1, -2), after(T, S))
    return weights @ value, (key, value)


@BANK.right(PART)
def cached_with_an_additive_mask(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[-2], key.shape[-2]
    future = torch.full((T, S), -math.inf, dtype=query.dtype).triu(S - T + 1)
    return ((query @ key.mT) / key.shape[-1] ** 0.5 + future).softmax(-1) @ value, (key, value)


@BANK.right(PART)
def cached_in_two_halves(query, key, value, cache=None):
    root = query.shape[-1] ** 0.5
    T = query.shape[-2]
    new = (query @ key.mT / root).masked_fill(~torch.ones(T, T).tril().bool(), -torch.inf)
    if cache is None:
        return new.softmax(-1) @ value, (key, value)
    both = torch.cat([query @ cache[0].mT / root, new], dim=-1).softmax(-1)
    P = cache[0].shape[-2]
    output = both[..., :P] @ cache[1] + both[..., P:] @ value
    return output, (torch.cat([cache[0], key], -2), torch.cat([cache[1], value], -2))


@BANK.right(PART)
def cached_by_logsumexp(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[-2], key.shape[-2]
    scores = (query @ key.mT).div(query.shape[-1] ** 0.5).masked_fill(~after(T, S), -torch.inf)
    return (scores - scores.logsumexp(-1, keepdim=True)).exp() @ value, (key, value)


@BANK.right(PART)
def cached_with_a_padded_query(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    P = key.shape[-2] - query.shape[-2]
    whole = F.pad(query, (0, 0, P, 0))
    S = key.shape[-2]
    return attend(whole, key, value, after(S, S))[..., P:, :], (key, value)


@BANK.right(PART)
def cached_by_heads(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[-2], key.shape[-2]
    heads = [
        attend(query[:, h], key[:, h], value[:, h], after(T, S)) for h in range(query.shape[1])
    ]
    return torch.stack(heads, dim=1), (key, value)


# ------------------------------------------------------------------------------------- wrong


@BANK.wrong(PART, named="mask from the top left")
def tril_without_a_diagonal(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    seen = torch.tril(torch.ones(query.shape[2], key.shape[2])).bool()
    return attend(query, key, value, seen), (key, value)


@BANK.wrong(PART, named="no mask")
def without_any_mask(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    weights = F.softmax(query @ key.mT / query.shape[-1] ** 0.5, dim=-1)
    return weights @ value, (key, value)


@BANK.wrong(PART, named="no mask once there is a cache")
def masked_in_the_prompt_alone(query, key, value, cache=None):
    T = query.shape[2]
    if cache is None:
        return attend(query, key, value, after(T, T)), (key, value)
    key, value = grown(key, value, cache)
    return (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1) @ value, (key, value)


@BANK.wrong(PART, named="mask leaks by one")
def one_place_too_far(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    seen = torch.arange(S) <= torch.arange(S - T, S)[:, None] + 1
    return attend(query, key, value, seen), (key, value)


@BANK.wrong(PART, named="word itself hidden")
def strictly_before(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    seen = torch.arange(S) < torch.arange(S - T, S)[:, None]
    weights = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf).softmax(-1)
    return weights.nan_to_num(0.0) @ value, (key, value)


@BANK.wrong(PART, named="past hidden")
def new_words_among_themselves(query, key, value, cache=None):
    T = query.shape[2]
    return attend(query, key, value, after(T, T)), grown(key, value, cache)


@BANK.wrong(PART, named="a window over cache and new words")
def as_many_words_as_are_cached_and_one(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    seen = torch.ones(T, S).tril(S - T).triu().bool()
    return attend(query, key, value, seen), (key, value)


@BANK.wrong(PART, named="a window over cache and new words")
def as_many_words_as_are_new(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    back = torch.arange(S - T, S)[:, None] - torch.arange(S)
    return attend(query, key, value, (back >= 0) & (back < T)), (key, value)


@BANK.wrong(PART, told=("the keys right, the output wrong", "some rows right"))
def at_most_a_hundred_words_back(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    back = torch.arange(S - T, S)[:, None] - torch.arange(S)
    return attend(query, key, value, (back >= 0) & (back < 100)), (key, value)


@BANK.wrong(PART, told=("right in part", "some rows right"))
def a_hundred_below_for_minus_infinity(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    scores = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(~after(T, S), -100.0)
    return scores.softmax(-1) @ value, (key, value)


@BANK.wrong(PART, told="right in part")
def scores_held_below_fifty(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    scores = (query @ key.mT / query.shape[-1] ** 0.5).clamp(-50, 50)
    powers = scores.exp() * after(T, S)
    return powers / powers.sum(-1, keepdim=True) @ value, (key, value)


@BANK.wrong(PART, named="new words first")
def new_in_front(query, key, value, cache=None):
    if cache is not None:
        key, value = torch.cat([key, cache[0]], 2), torch.cat([value, cache[1]], 2)
    T, S = query.shape[2], key.shape[2]
    return attend(query, key, value, after(T, S)), (key, value)


@BANK.wrong(PART, named="cached words not used")
def the_cache_forgotten(query, key, value, cache=None):
    T = query.shape[2]
    return attend(query, key, value, after(T, T)), (key, value)


@BANK.wrong(PART, named="only the new words given back")
def new_words_alone_back(query, key, value, cache=None):
    keys, values = grown(key, value, cache)
    T, S = query.shape[2], keys.shape[2]
    return attend(query, keys, values, after(T, S)), (key, value)


@BANK.wrong(PART, named="only the old cache given back")
def the_same_cache_back(query, key, value, cache=None):
    keys, values = grown(key, value, cache)
    cache = cache or (key, value)
    T, S = query.shape[2], keys.shape[2]
    return attend(query, keys, values, after(T, S)), cache


@BANK.wrong(PART, named="(values, keys) for (keys, values)")
def values_before_keys(query, key, value, cache=None):
    if cache is not None:
        key, value = torch.cat([cache[1], key], 2), torch.cat([cache[0], value], 2)
    T, S = query.shape[2], key.shape[2]
    return attend(query, key, value, after(T, S)), (value, key)


@BANK.wrong(PART, named="scaled keys kept")
def keys_divided_and_kept(query, key, value, cache=None):
    key = key / key.shape[-1] ** 0.5
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    scores = (query @ key.mT).masked_fill(~after(T, S), -torch.inf)
    return scores.softmax(-1) @ value, (key, value)


@BANK.wrong(PART, told="stops with RuntimeError")
def cache_written_into(query, key, value, cache=None):
    if cache is not None:
        keys, values = cache
        key, value = torch.cat([keys, key], 2), torch.cat([values, value], 2)
        with torch.no_grad():
            keys.zero_()
    T, S = query.shape[2], key.shape[2]
    return attend(query, key, value, after(T, S)), (key, value)


@BANK.wrong(PART, told="wrong about gradients")
def detached_cache(query, key, value, cache=None):
    if cache is not None:
        key = torch.cat([cache[0].detach(), key], 2)
        value = torch.cat([cache[1].detach(), value], 2)
    T, S = query.shape[2], key.shape[2]
    return attend(query, key, value, after(T, S)), (key, value)


@BANK.wrong(PART, told=("wrong about gradients", "wrong gradient"))
def cache_given_back_detached(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    return attend(query, key, value, after(T, S)), (key.detach(), value.detach())


class Remembering:
    """Keeps the words of all calls in itself."""

    def __init__(self):
        self.cache = None

    def __call__(self, query, key, value, cache=None):
        if cache is None:
            self.cache = None
        key, value = self.cache = grown(key, value, self.cache or cache)
        T, S = query.shape[2], key.shape[2]
        return attend(query, key, value, after(T, S)), (key, value)


@BANK.wrong(PART, named="a memory outside the function")
def remembers_by_itself(query, key, value, cache=None, memory=Remembering()):  # noqa: B008
    return memory(query, key, value, cache)


@BANK.wrong(PART, named=("mask from the top left", "no mask once there is a cache"))
def one_new_word_assumed(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    seen = torch.ones(1, S, dtype=torch.bool) if S > T else after(T, T)
    return attend(query, key, value, seen), (key, value)


@BANK.wrong(PART, told="too short or too long")
def last_query_alone(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    if cache is not None:
        query = query[:, :, -1:]
    T, S = query.shape[2], key.shape[2]
    return attend(query, key, value, after(T, S)), (key, value)


@BANK.wrong(PART, named="an empty cache refused")
def an_empty_cache_means_none_left(query, key, value, cache=None):
    if cache is not None and cache[0].numel() == 0:
        raise ValueError("expected a cache with words in it, found an empty one")
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    return attend(query, key, value, after(T, S)), (key, value)


@BANK.wrong(PART, named="not scaled")
def scores_as_they_are(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    scores = (query @ key.mT).masked_fill(~after(T, S), -torch.inf)
    return scores.softmax(-1) @ value, (key, value)


@BANK.wrong(PART, named="divided by d_k itself")
def divided_by_the_whole_width(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    scores = (query @ key.mT / query.shape[-1]).masked_fill(~after(T, S), -torch.inf)
    return scores.softmax(-1) @ value, (key, value)


@BANK.wrong(PART, named="divided by the root of another width")
def root_of_the_width_of_values(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    scores = (query @ key.mT / value.shape[-1] ** 0.5).masked_fill(~after(T, S), -torch.inf)
    return scores.softmax(-1) @ value, (key, value)


@BANK.wrong(PART, named="softmax over the queries")
def softmax_of_the_wrong_axis(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    scores = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(~after(T, S), -torch.inf)
    return scores.softmax(2).nan_to_num() @ value, (key, value)


@BANK.wrong(PART, named="no cache given back")
def output_alone(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    return attend(query, key, value, after(T, S))


@BANK.wrong(PART, named="three results side by side")
def three_results(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    return attend(query, key, value, after(T, S)), key, value


@BANK.wrong(PART, told="the output right, the keys wrong")
def a_dict_for_a_pair(query, key, value, cache=None):
    if isinstance(cache, dict):
        cache = cache["keys"], cache["values"]
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    return attend(query, key, value, after(T, S)), {"keys": key, "values": value}


@BANK.wrong(PART, told="stops with RuntimeError")
def joined_along_the_heads(query, key, value, cache=None):
    if cache is not None and cache[0].shape == key.shape:
        key, value = torch.cat([cache[0], key], 1), torch.cat([cache[1], value], 1)
        query = torch.cat([query, query], 1)
    elif cache is not None:
        key, value = torch.cat([cache[0], key], 1), torch.cat([cache[1], value], 1)
    T, S = query.shape[2], key.shape[2]
    return attend(query, key, value, after(T, S)), (key, value)


@BANK.wrong(PART, named="exponentials that overflow")
def exponentials_as_they_are(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    powers = torch.exp(query @ key.mT / query.shape[-1] ** 0.5) * after(T, S)
    return powers @ value / powers.sum(-1, keepdim=True), (key, value)


@BANK.wrong(PART, told=("rounded", "wrong in float64"))
def in_float32_throughout(query, key, value, cache=None):
    dtype = query.dtype
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    return attend(query.float(), key.float(), value.float(), after(T, S)).to(dtype), (key, value)


@BANK.wrong(PART, told=("stops with RuntimeError", "wrong with gaps in memory"))
def a_view_that_needs_one_layout(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    B, H, T, d_k = query.shape
    S = key.shape[2]
    flat = query.view(B * H, T, d_k), key.reshape(B * H, S, d_k), value.reshape(B * H, S, -1)
    return attend(*flat, after(T, S)).view(B, H, T, -1), (key, value)


@BANK.wrong(PART, named="a softmax for the cache and one for the new words")
def half_from_the_cache(query, key, value, cache=None):
    asks, T = query * query.shape[-1] ** -0.5, query.shape[-2]
    ahead = torch.ones(T, T, dtype=torch.bool).triu(1)
    own = (asks @ key.mT).masked_fill(ahead, -torch.inf).softmax(dim=-1) @ value
    if cache is None:
        return own, (key, value)
    keys, values = cache
    if keys.shape[-2]:
        own = ((asks @ keys.mT).softmax(dim=-1) @ values + own) / 2
    return own, (torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2))


@BANK.right(PART)
def cached_with_past_and_new_apart(query, key, value, cache=None):
    """Scores with old and new keys apart, and one softmax over both."""
    old_keys, old_values = cache or (key[..., :0, :], value[..., :0, :])
    T, P, root = query.shape[2], old_keys.shape[2], math.sqrt(query.shape[-1])
    later = torch.ones(T, T, dtype=torch.bool).triu(1)
    new = (query @ key.mT / root).masked_fill(later, -torch.inf)
    weights = torch.cat([query @ old_keys.mT / root, new], dim=-1).softmax(-1)
    output = weights[..., :P] @ old_values + weights[..., P:] @ value
    return output, (torch.cat([old_keys, key], 2), torch.cat([old_values, value], 2))


@BANK.right(PART)
def cached_with_vmap(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    seen = after(query.shape[2], key.shape[2])

    def one_head(q, k, v):
        return (q @ k.T / q.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf).softmax(-1) @ v

    return torch.vmap(torch.vmap(one_head))(query, key, value), (key, value)


@BANK.wrong(PART, told="stops with RuntimeError")
def cached_with_a_mask_of_a_fixed_size(query, key, value, cache=None):
    key, value = grown(key, value, cache)
    T, S = query.shape[2], key.shape[2]
    triangle = torch.ones(1024, 1024, dtype=torch.bool).tril()
    return attend(query, key, value, triangle[S - T : S, :S]), (key, value)
