"""Answers that are right at first: the first time, for small sizes, or without a row that shows nothing."""

import math

import numpy as np
import torch

from assignments.a3_scaled_dot_product_attention.answers.bank import BANK
from course_utils import attention


@BANK.wrong("stable_softmax", told="all the same")
def softmax_that_shifts_where_it_seems_needed(scores, axis=-1):
    if np.abs(scores[np.isfinite(scores)]).max() > 300:
        return attention.stable_softmax(scores, axis)
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@BANK.wrong("stable_softmax")
def softmax_of_exponents_above_minus_30(scores, axis=-1):
    shifted = scores - scores.max(axis=axis, keepdims=True)
    exponentials = np.exp(shifted.clip(-30, 0))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@BANK.wrong("stable_softmax", told="hidden ones have weight, or visible ones none")
def softmax_of_a_hundred_scores(scores, axis=-1):
    last = np.moveaxis(scores, axis, -1)
    weights = np.zeros_like(last)
    weights[..., :100] = attention.stable_softmax(last[..., :100])
    return np.moveaxis(weights, -1, axis)


@BANK.wrong("numpy_self_attention")
def sentence_of_a_hundred_words(X, Wq, Wk, Wv):
    return attention.numpy_self_attention(X[:100], Wq, Wk, Wv)


@BANK.wrong(
    "scaled_dot_product_attention",
    told=(
        "hidden ones have weight, or visible ones none",
        "wrong with a row in which nothing may be seen",
    ),
)
def attention_blind_where_all_heads_are(query, key, value, mask=None):
    if mask is None:
        return attention.scaled_dot_product_attention(query, key, value)
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    mask = mask.expand(scores.shape)
    blind = ~mask.any(dim=-1, keepdim=True)
    if blind.dim() > 3:
        blind = blind.all(dim=1, keepdim=True)
    weights = scores.masked_fill(~mask, -1e30).softmax(dim=-1).masked_fill(blind, 0.0)
    return weights @ value, weights


@BANK.wrong(
    "scaled_dot_product_attention",
    told=("inputs changed", "wrong with a row in which nothing may be seen"),
)
def attention_that_opens_the_mask(query, key, value, mask=None):
    if mask is None:
        return attention.scaled_dot_product_attention(query, key, value)
    seen = mask.clone()
    mask[~mask.any(dim=-1)] = True
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1) * seen
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", told=("rounded", "wrong in float64"))
def attention_in_float32_under_a_mask(query, key, value, mask=None):
    if mask is None:
        return attention.scaled_dot_product_attention(query, key, value)
    given = query.float(), key.float(), value.float(), mask
    output, weights = attention.scaled_dot_product_attention(*given)
    return output.to(query.dtype), weights.to(query.dtype)


@BANK.wrong("scaled_dot_product_attention", named="hidden by a number that is not low enough")
def attention_hidden_by_a_million(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        weights = scores.masked_fill(~mask, -1e6).softmax(dim=-1) * mask
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention")
def attention_to_a_hundred_keys(query, key, value, mask=None):
    key, value = key[..., :100, :], value[..., :100, :]
    return attention.scaled_dot_product_attention(query, key, value, mask)


@BANK.wrong("scaled_dot_product_attention", named="scores kept within bounds")
def attention_with_scores_up_to_ten_thousand(query, key, value, mask=None):
    scores = (query @ key.mT / math.sqrt(query.shape[-1])).clamp(-1e4, 1e4)
    weights = attention.masked_softmax(scores, mask)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", told=("wrong gradient", "wrong about gradients"))
def attention_with_the_logarithm_of_the_mask(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores + mask.to(scores.dtype).log()
    weights = scores.softmax(dim=-1).nan_to_num()
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", told="right in part")
def attention_of_eight_sentences(query, key, value, mask=None):
    if query.dim() > 2 and len(query) > 8:
        query = torch.cat([query[:8], query[:1].expand(len(query) - 8, *query.shape[1:])])
    return attention.scaled_dot_product_attention(query, key, value, mask)
