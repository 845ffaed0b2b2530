"""Right answers that are slow: in loops over single numbers, and in products that are not optimised."""

import torch

from assignments.a2_self_attention.answers.bank import BANK
from autograder.bank.answers import LOOPS, PRODUCTS


def weights_in_loops(queries, keys):
    """As lecture 2 begins: (T, d) and (S, d) -> (T, S), number by number."""
    T, S = len(queries), len(keys)
    rows = []
    for i in range(T):
        scores = []
        for j in range(S):
            total = 0.0
            for k in range(queries.shape[1]):
                total = total + queries[i, k] * keys[j, k]
            scores.append(total)
        whole = 0.0
        for j in range(S):
            whole = whole + torch.exp(scores[j])
        rows.append(torch.stack([torch.exp(scores[j]) / whole for j in range(S)]))
    return torch.stack(rows)


def sums_in_loops(weights, values):
    """(T, S) and (S, d) -> (T, d), number by number."""
    rows = []
    for i in range(len(weights)):
        row = []
        for k in range(values.shape[1]):
            total = 0.0
            for j in range(len(values)):
                total = total + weights[i, j] * values[j, k]
            row.append(total)
        rows.append(torch.stack(row))
    return torch.stack(rows)


@BANK.right("attention_weights", slow=LOOPS)
def weights_number_by_number(x):
    return weights_in_loops(x, x)


@BANK.right("attention_weights", slow=PRODUCTS)
def weights_by_products_of_four(x):
    eye = torch.eye(x.shape[1], dtype=x.dtype)
    return torch.einsum("td,dk,ek,se->ts", x, eye, eye, x).softmax(dim=-1)


@BANK.right("basic_self_attention", slow=LOOPS)
def context_number_by_number(x):
    weights = weights_in_loops(x, x)
    return sums_in_loops(weights, x), weights


@BANK.right("basic_self_attention", slow=PRODUCTS)
def context_by_products_of_all_with_all(x):
    weights = (x[:, None] * x[None]).sum(dim=-1).softmax(dim=-1)  # (T, T, D) before the sum
    return (weights[:, :, None] * x[None]).sum(dim=1), weights  # (T, T, D) before the sum


@BANK.right("self_attention", slow=LOOPS)
def attention_number_by_number(query, key, value):
    sentences = zip(query, key, value, strict=True)
    return torch.stack([sums_in_loops(weights_in_loops(q, k), v) for q, k, v in sentences])


@BANK.right("self_attention", slow=PRODUCTS)
def attention_by_products_of_all_with_all(query, key, value):
    scores = (query[:, :, None] * key[:, None]).sum(dim=-1)  # (B, T, S, d_k) before the sum
    return (scores.softmax(dim=-1)[..., None] * value[:, None]).sum(dim=2)


@BANK.right("is_permutation_equivariant", slow=LOOPS)
def compared_number_by_number(f, x, permutation):
    reordered = torch.zeros_like(x)
    for i in range(x.shape[0]):
        for d in range(x.shape[1]):
            reordered[i, d] = x[permutation[i], d]
    before, after = f(reordered), f(x)
    before, after = before.reshape(len(x), -1), after.reshape(len(x), -1)
    for i in range(before.shape[0]):
        for k in range(before.shape[1]):
            one, other = float(before[i, k]), float(after[permutation[i], k])
            if abs(one - other) > 1e-5 + 1e-4 * abs(other):
                return False
    return True


@BANK.right("is_permutation_equivariant", slow=PRODUCTS)
def compared_by_a_matrix_of_the_permutation(f, x, permutation):
    moves = torch.eye(len(x), dtype=x.dtype)[permutation]
    before = f(torch.einsum("ij,jk,kd->id", moves, torch.eye(len(x), dtype=x.dtype), x))
    after = torch.einsum("ij,j...->i...", moves, f(x))
    return bool(((before - after).abs() <= 1e-5 + 1e-4 * after.abs()).all())
