"""Wrong answers to assignment 3 that public projects really gave, written anew."""

import math

import numpy as np
import torch

from assignments.a3_scaled_dot_product_attention.answers.bank import BANK


@BANK.wrong(
    "stable_softmax", named="one maximum for the whole array", published="keras-team/keras#9606"
)
def softmax_with_the_largest_of_all(scores, axis=-1):
    """One maximum is subtracted from the whole array."""
    e = np.exp(scores - np.max(scores))
    return e / np.sum(e, axis=axis, keepdims=True)


@BANK.wrong(
    "stable_softmax",
    named="softmax over the whole array",
    published="apache/singa#540",
)
def softmax_of_a_vector_applied_to_arrays(scores, axis=-1):
    """The recipe for one vector: maximum and sum of everything, whatever the axis."""
    e = np.exp(scores - np.max(scores))
    return e / e.sum()


@BANK.wrong("stable_softmax", named="overflow", published="open-edge-platform/geti#1507")
def softmax_that_shares_among_the_infinite(scores, axis=-1):
    """Scores too large for exp share the weight evenly, however much they differ."""
    with np.errstate(over="ignore"):
        e = np.exp(np.asarray(scores, dtype=np.float64))
    infinite = np.isinf(e)
    crowds = infinite.sum(axis=axis, keepdims=True)
    total = np.where(infinite, 0, e).sum(axis=axis, keepdims=True)
    return np.where(crowds > 0, infinite / np.maximum(crowds, 1), np.where(infinite, 0, e) / total)


def scores_of(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])


@BANK.wrong("scaled_dot_product_attention", named="not scaled", published="delzac/cntkx#10")
def attention_without_the_root(query, key, value, mask=None):
    """The scores are not scaled."""
    scores = query @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ value, weights


@BANK.wrong(
    "scaled_dot_product_attention", named="multiplied by √d_k", published="esceptico/perceiver-io#9"
)
def attention_divided_by_the_reciprocal(query, key, value, mask=None):
    """The scale is 1/√d_k already, and the scores are divided by it."""
    scale = key.shape[-1] ** -0.5
    scores = query @ key.transpose(-2, -1) / scale
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).masked_fill(~mask, 0)
    return weights @ value, weights


@BANK.wrong(
    "scaled_dot_product_attention",
    published="huggingface/pytorch-image-models#2236",
    told="wrong with `mask` given",
)
def attention_with_minus_infinity_for_weights(query, key, value, mask=None):
    """Hidden keys get minus infinity after the softmax, as their weight."""
    weights = scores_of(query, key).softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, -torch.inf)
    return weights @ value, weights


@BANK.wrong(
    "scaled_dot_product_attention", named="inverted mask", published="lucidrains/x-transformers#160"
)
def attention_where_true_is_hidden(query, key, value, mask=None):
    """The mask is read the other way round: True hides."""
    scores = scores_of(query, key)
    if mask is not None:
        scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(mask, 0)
    return weights @ value, weights


@BANK.wrong(
    "scaled_dot_product_attention",
    named="NaN where nothing is visible",
    published="tracel-ai/burn#4697",
)
def attention_without_a_thought_of_empty_rows(query, key, value, mask=None):
    """A row in which every key is hidden becomes NaN."""
    scores = scores_of(query, key)
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@BANK.wrong(
    "scaled_dot_product_attention", named="mask ignored", published="pytorch/pytorch#117939"
)
def attention_with_minus_infinity_in_a_bool(query, key, value, mask=None):
    """Minus infinity is written into the bool mask itself, and the bias stays zero."""
    scores = scores_of(query, key)
    bias = torch.zeros(scores.shape[-2:], dtype=scores.dtype)
    if mask is not None:
        mask.masked_fill_(mask.logical_not(), float("-inf"))
    weights = (scores + bias).softmax(dim=-1)
    return weights @ value, weights


@BANK.wrong(
    "scaled_dot_product_attention",
    published="FudanNLP/fastNLP#254",
    told=("weights that are no shares", "wrong with more or fewer than 3 axes of `query`"),
)
def attention_for_three_axes_by_number(query, key, value, mask=None):
    """The softmax takes axis 2, which holds the keys only where there are three axes."""
    scores = scores_of(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(dim=2)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0)
    return weights @ value, weights
