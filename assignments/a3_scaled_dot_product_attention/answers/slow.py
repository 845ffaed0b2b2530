"""Right answers that are slow: in loops over single numbers, and in products that are not optimised."""

import math

import numpy as np
import torch

from assignments.a3_scaled_dot_product_attention.answers.bank import BANK
from autograder.bank.answers import LOOPS, PRODUCTS


@BANK.right("stable_softmax", slow=LOOPS)
def softmax_number_by_number(scores, axis=-1):
    weights = np.zeros_like(scores)
    axis = axis % scores.ndim
    for place in np.ndindex(*scores.shape):
        row = [
            float(scores[(*place[:axis], j, *place[axis + 1 :])]) for j in range(scores.shape[axis])
        ]
        largest, whole = max(row), 0.0
        for score in row:
            whole = whole + math.exp(score - largest)
        weights[place] = math.exp(float(scores[place]) - largest) / whole
    return weights


@BANK.right("stable_softmax", slow=PRODUCTS)
def softmax_by_products(scores, axis=-1):
    rows = np.moveaxis(scores, axis, -1)
    powers = np.exp(rows - rows.max(axis=-1, keepdims=True))
    everywhere = np.ones((rows.shape[-1], rows.shape[-1]))
    wholes = np.einsum("...j,jk,kl->...l", powers, everywhere, everywhere) / rows.shape[-1]
    return np.moveaxis(powers / wholes, -1, axis)


def product(a, b):
    """(n, m) and (m, l) -> (n, l), number by number."""
    result = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(b.shape[0]):
                result[i, j] += a[i, k] * b[k, j]
    return result


@BANK.right("numpy_self_attention", slow=LOOPS)
def attention_number_by_number(X, Wq, Wk, Wv):
    scores = product(product(X, Wq), product(X, Wk).T)
    weights = np.zeros_like(scores)
    for i in range(len(X)):
        largest, whole = max(scores[i]), 0.0
        for j in range(len(X)):
            whole = whole + math.exp((scores[i, j] - largest) / math.sqrt(Wk.shape[1]))
        for j in range(len(X)):
            weights[i, j] = math.exp((scores[i, j] - largest) / math.sqrt(Wk.shape[1])) / whole
    return product(weights, product(X, Wv)), weights


@BANK.right("numpy_self_attention", slow=PRODUCTS)
def attention_by_products_of_four(X, Wq, Wk, Wv):
    scores = np.einsum("td,dk,ek,se->ts", X, Wq, Wk, X) / np.sqrt(Wk.shape[1])
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = powers / powers.sum(axis=1, keepdims=True)
    return np.einsum("ts,sd,dk->tk", weights, X, Wv), weights


@BANK.right("scaled_dot_product_attention", slow=LOOPS)
def scaled_number_by_number(query, key, value, mask=None):
    *leading, T, d_k = query.shape
    S, d_v = value.shape[-2:]
    if mask is not None:
        mask = mask.expand(*leading, T, S)
    outputs, all_weights = [], []
    for place in np.ndindex(*leading):
        q, k, v = query[place], key[place], value[place]
        for t in range(T):
            scores = []
            for s in range(S):
                total = 0.0
                for d in range(d_k):
                    total = total + q[t, d] * k[s, d]
                scores.append(total / math.sqrt(d_k))
            visible = [s for s in range(S) if mask is None or mask[(*place, t, s)]]
            weights = [torch.zeros_like(score) for score in scores]
            if visible:
                largest = max(float(scores[s].detach()) for s in visible)
                whole = 0.0
                for s in visible:
                    whole = whole + torch.exp(scores[s] - largest)
                for s in visible:
                    weights[s] = torch.exp(scores[s] - largest) / whole
            output = []
            for d in range(d_v):
                total = 0.0
                for s in range(S):
                    total = total + weights[s] * v[s, d]
                output.append(total)
            outputs.append(torch.stack(output))
            all_weights.append(torch.stack(weights))
    return (
        torch.stack(outputs).reshape(*leading, T, d_v),
        torch.stack(all_weights).reshape(*leading, T, S),
    )


@BANK.right("scaled_dot_product_attention", slow=PRODUCTS)
def scaled_by_products_of_all_with_all(query, key, value, mask=None):
    products = query[..., :, None, :] * key[..., None, :, :]  # (..., T, S, d_k)
    scores = products.sum(dim=-1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True).clamp(min=-1e38))
    weights = powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-30)
    return (weights[..., None] * value[..., None, :, :]).sum(dim=-2), weights
