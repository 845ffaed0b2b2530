"""Answers to assignment 3."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from assignments.bank import Bank

BANK = Bank("a3_scaled_dot_product_attention")


# ---------------------------------------------------------------------------- stable_softmax


@BANK.right("stable_softmax")
def softmax_in_two_lines(scores, axis=-1):
    e = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


@BANK.right("stable_softmax")
def softmax_along_slices(scores, axis=-1):
    def one_row(row):
        e = np.exp(row - row.max())
        return e / e.sum()

    return np.apply_along_axis(one_row, axis, scores)


@BANK.right("stable_softmax")
def softmax_with_the_axis_moved(scores, axis=-1, dtype=float):
    rows = np.moveaxis(np.array(scores, dtype=dtype), axis, -1)
    rows = rows - rows.max(axis=-1)[..., None]
    e = np.exp(rows)
    return np.moveaxis(e / e.sum(axis=-1)[..., None], -1, axis)


@BANK.right("stable_softmax")
def softmax_by_logarithms(scores, axis=-1):
    return np.exp(scores - np.expand_dims(np.logaddexp.reduce(scores, axis=axis), axis))


@BANK.right("stable_softmax")
def softmax_by_a_loop_over_rows(scores, axis=-1):
    moved = np.swapaxes(scores, axis, -1)
    flat = moved.reshape(-1, moved.shape[-1])
    weights = np.empty_like(flat)
    for i, row in enumerate(flat):
        largest = max(row)
        e = np.array([math.exp(score - largest) for score in row])
        weights[i] = e / e.sum()
    return np.swapaxes(weights.reshape(moved.shape), axis, -1)


@BANK.right("stable_softmax")
def softmax_in_place_on_a_copy(scores, axis=-1):
    weights = scores.copy()
    weights -= weights.max(axis=axis, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=axis, keepdims=True)
    return weights


@BANK.wrong("stable_softmax", named="overflow")
def softmax_taken_literally(scores, axis=-1):
    return np.exp(scores) / np.exp(scores).sum(axis, keepdims=True)


@BANK.wrong("stable_softmax")
def softmax_in_place_on_the_input(scores, axis=-1):
    scores -= scores.max(axis=axis, keepdims=True)
    e = np.exp(scores)
    return e / e.sum(axis=axis, keepdims=True)


@BANK.wrong("stable_softmax", named="scores cut off")
def softmax_of_clipped_scores(scores, axis=-1):
    return softmax_taken_literally(np.clip(scores, -700, 700), axis)


@BANK.wrong("stable_softmax", named="mean subtracted")
def softmax_with_the_mean_subtracted(scores, axis=-1):
    return softmax_taken_literally(scores - scores.mean(axis=axis, keepdims=True), axis)


@BANK.wrong("stable_softmax", named="largest size subtracted")
def softmax_with_the_largest_size_subtracted(scores, axis=-1):
    return softmax_taken_literally(scores - np.abs(scores).max(axis=axis, keepdims=True), axis)


@BANK.wrong("stable_softmax")
def softmax_of_matrices_only(scores, axis=-1):
    rows, columns = scores.shape
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return (e / e.sum(axis=axis, keepdims=True)).reshape(rows, columns)


@BANK.wrong("stable_softmax", named="the maximum loses its axis")
def softmax_without_keepdims(scores, axis=-1):
    e = np.exp(scores - scores.max(axis))
    return e / e.sum(axis, keepdims=True)


@BANK.wrong("stable_softmax")
def softmax_without_exp(scores, axis=-1):
    shifted = scores - scores.min(axis=axis, keepdims=True)
    return shifted / shifted.sum(axis=axis, keepdims=True)


@BANK.wrong("stable_softmax", named="powers of 2")
def softmax_to_base_two(scores, axis=-1):
    e = np.exp2(scores - scores.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@BANK.wrong("stable_softmax")
def softmax_without_infinities(scores, axis=-1):
    scores = np.where(np.isfinite(scores), scores, 0.0)
    return softmax_in_two_lines(scores, axis)


@BANK.wrong("stable_softmax")
def softmax_in_long_double(scores, axis=-1):
    return softmax_taken_literally(scores.astype(np.longdouble), axis).astype(float)


@BANK.wrong("stable_softmax")
def softmax_with_a_little_in_the_denominator(scores, axis=-1):
    e = np.exp(scores)
    return e / (e.sum(axis=axis, keepdims=True) + 1e-9)


@BANK.wrong("stable_softmax")
def softmax_as_a_tensor(scores, axis=-1):
    return torch.from_numpy(softmax_in_two_lines(scores, axis))


@BANK.wrong("stable_softmax")
def softmax_of_the_example_only(scores, axis=-1):
    return np.array([0.6652, 0.2447, 0.0900])


# ---------------------------------------------------------------------- numpy_self_attention


def rows_softmax(scores):
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@BANK.right("numpy_self_attention")
def sentence_by_matrices(X, Wq, Wk, Wv):
    Q, K, V = X @ Wq, X @ Wk, X @ Wv
    weights = rows_softmax(Q @ K.T / np.sqrt(K.shape[-1]))
    return weights @ V, weights


@BANK.right("numpy_self_attention")
def sentence_by_loops(X, Wq, Wk, Wv):
    length, d_k = len(X), Wk.shape[1]
    weights, output = np.zeros((length, length)), np.zeros((length, Wv.shape[1]))
    for i in range(length):
        scores = [np.dot(X[i] @ Wq, X[j] @ Wk) / math.sqrt(d_k) for j in range(length)]
        e = [math.exp(score - max(scores)) for score in scores]
        for j in range(length):
            weights[i, j] = e[j] / sum(e)
            output[i] += weights[i, j] * (X[j] @ Wv)
    return output, weights


@BANK.right("numpy_self_attention")
def sentence_by_einsum(X, Wq, Wk, Wv):
    query = np.einsum("td,dk->tk", X, Wq) * Wq.shape[1] ** -0.5
    weights = rows_softmax(np.einsum("tk,sk->ts", query, np.einsum("sd,dk->sk", X, Wk)))
    return np.einsum("ts,sv->tv", weights, np.dot(X, Wv)), weights


@BANK.right("numpy_self_attention")
def sentence_with_the_maps_joined(X, Wq, Wk, Wv, temperature=1.0):
    scores = X @ (Wq @ Wk.T) @ X.T / (temperature * math.sqrt(Wk.shape[1]))
    weights = rows_softmax(scores)
    return [(weights @ X) @ Wv, weights]


@BANK.right("numpy_self_attention")
def sentence_with_roots_shared(X, Wq, Wk, Wv):
    root = Wk.shape[1] ** 0.25
    scores = np.inner(X.dot(Wq) / root, X.dot(Wk) / root)
    weights = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
    return weights.dot(X.dot(Wv)), weights


@BANK.right("numpy_self_attention")
def sentence_on_columns(X, Wq, Wk, Wv):
    Q, K, V = (Wq.T @ X.T), (Wk.T @ X.T), (Wv.T @ X.T)
    scores = K.T @ Q / np.sqrt(len(K))
    weights = rows_softmax(scores.T)
    return (V @ weights.T).T, weights


@BANK.wrong("numpy_self_attention", named="overflow")
def sentence_as_printed(X, Wq, Wk, Wv):
    Q, K, V = X @ Wq, X @ Wk, X @ Wv
    e = np.exp(Q @ K.T / np.sqrt(K.shape[1]))
    weights = e / e.sum(axis=1, keepdims=True)
    return weights @ V, weights


@BANK.wrong("numpy_self_attention", named="one maximum for the whole matrix")
def sentence_with_one_maximum(X, Wq, Wk, Wv):
    Q, K, V = X @ Wq, X @ Wk, X @ Wv
    scores = Q @ K.T / np.sqrt(K.shape[1])
    e = np.exp(scores - scores.max())
    weights = e / e.sum(axis=1, keepdims=True)
    return weights @ V, weights


@BANK.wrong("numpy_self_attention")
def sentence_with_transposed_maps(X, Wq, Wk, Wv):
    return sentence_by_matrices(X, Wq.T, Wk.T, Wv.T)


@BANK.wrong("numpy_self_attention")
def sentence_that_scales_its_input(X, Wq, Wk, Wv):
    X /= np.sqrt(Wk.shape[1])
    output, weights = sentence_by_matrices(X * Wk.shape[1] ** 0.25, Wq, Wk, Wv)
    return output * Wk.shape[1] ** 0.25, weights


@BANK.wrong("numpy_self_attention", named="weights transposed before the sum")
def sentence_with_weights_transposed(X, Wq, Wk, Wv):
    _, weights = sentence_by_matrices(X, Wq, Wk, Wv)
    return weights.T @ (X @ Wv), weights


@BANK.wrong("numpy_self_attention", named="values added to the output")
def sentence_plus_the_values(X, Wq, Wk, Wv):
    output, weights = sentence_by_matrices(X, Wq, Wk, Wv)
    return output + X @ Wv, weights


@BANK.wrong("numpy_self_attention", named="the future hidden")
def sentence_that_sees_the_past_only(X, Wq, Wk, Wv):
    scores = (X @ Wq) @ (X @ Wk).T / np.sqrt(Wk.shape[1])
    scores = np.where(np.tri(len(X), dtype=bool), scores, -1e9)
    weights = rows_softmax(scores)
    return weights @ (X @ Wv), weights


@BANK.wrong("numpy_self_attention")
def sentence_by_cosine(X, Wq, Wk, Wv):
    Q, K = X @ Wq, X @ Wk
    Q, K = (item / np.linalg.norm(item, axis=1, keepdims=True) for item in (Q, K))
    weights = rows_softmax(Q @ K.T)
    return weights @ (X @ Wv), weights


@BANK.wrong("numpy_self_attention", named="always divided by 2")
def sentence_with_width_four(X, Wq, Wk, Wv):
    weights = rows_softmax((X @ Wq) @ (X @ Wk).T / 2.0)
    return weights @ (X @ Wv), weights


@BANK.wrong("numpy_self_attention")
def sentence_with_scores_beside_it(X, Wq, Wk, Wv):
    output, _ = sentence_by_matrices(X, Wq, Wk, Wv)
    return output, (X @ Wq) @ (X @ Wk).T / np.sqrt(Wk.shape[1])


@BANK.wrong("numpy_self_attention", named="plain mean of the values")
def sentence_of_equal_weights(X, Wq, Wk, Wv):
    weights = np.full((len(X), len(X)), 1 / len(X))
    return weights @ (X @ Wv), weights


@BANK.wrong("numpy_self_attention")
def sentence_of_the_example_only(X, Wq, Wk, Wv):
    return np.array([[12.69], [17.31]]), np.array([[0.731, 0.269], [0.269, 0.731]])


# -------------------------------------------------------------- scaled_dot_product_attention


@BANK.right("scaled_dot_product_attention")
def attention_filled_twice(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = F.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return torch.matmul(weights, value), weights


@BANK.right("scaled_dot_product_attention")
def attention_without_nan(query, key, value, mask=None):
    scores = torch.einsum("...td,...sd->...ts", query, key) / key.shape[-1] ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)
    weights = torch.nan_to_num(scores.softmax(-1), nan=0.0)
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


@BANK.right("scaled_dot_product_attention")
def attention_with_a_billion(query, key, value, mask=None, dropout=0.0):
    scores = (query * key.shape[-1] ** -0.5) @ key.mT
    if mask is None:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool)
    weights = scores.masked_fill(mask == 0, -1e9).softmax(dim=-1)
    weights = weights * mask
    return weights @ value, weights


@BANK.right("scaled_dot_product_attention")
def attention_with_its_own_softmax(query, key, value, mask=None):
    root = key.shape[-1] ** 0.25
    scores = (query / root) @ (key / root).transpose(-1, -2)
    if mask is None:
        mask = scores.new_ones((), dtype=torch.bool)
    lowest = torch.finfo(scores.dtype).min
    largest = scores.masked_fill(~mask, lowest).amax(dim=-1, keepdim=True)
    e = torch.exp((scores - largest).masked_fill(~mask, -math.inf))
    weights = e / e.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)
    return weights @ value, weights


@BANK.right("scaled_dot_product_attention")
def attention_by_recursion(query, key, value, mask=None):
    if query.dim() > 2:
        if mask is not None:
            mask = mask.expand(*query.shape[:-1], key.shape[-2])
        parts = [
            attention_by_recursion(query[i], key[i], value[i], None if mask is None else mask[i])
            for i in range(len(query))
        ]
        outputs, weights = zip(*parts, strict=True)
        return torch.stack(outputs), torch.stack(weights)
    scores = torch.mm(query, key.t()) / math.sqrt(key.shape[1])
    if mask is not None:
        mask = mask.expand(scores.shape)
        scores = scores.masked_fill(mask.logical_not(), -math.inf)
    weights = torch.softmax(scores, dim=1)
    if mask is not None:
        weights = torch.where(mask.any(dim=1, keepdim=True), weights, torch.zeros_like(weights))
    return torch.mm(weights, value), weights


@BANK.right("scaled_dot_product_attention")
def attention_flattened_for_bmm(query, key, value, mask=None):
    leading, (queries, width), keys = query.shape[:-2], query.shape[-2:], key.shape[-2]
    q, k, v = (item.reshape(-1, *item.shape[-2:]) for item in (query, key, value))
    scores = torch.bmm(q, k.transpose(1, 2)).reshape(*leading, queries, keys)
    scores = scores / torch.sqrt(torch.tensor(width))
    if mask is not None:
        visible = torch.broadcast_to(mask, scores.shape)
        scores[~visible] = -torch.inf
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.where(visible, 0)
    output = torch.bmm(weights.reshape(-1, queries, keys), v)
    return output.reshape(*leading, queries, value.shape[-1]), weights


@BANK.right("scaled_dot_product_attention")
def attention_by_logarithms(query, key, value, mask=None):
    scores = torch.matmul(query, key.swapaxes(-1, -2)) / math.sqrt(key.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.exp(scores - scores.logsumexp(dim=-1, keepdim=True))
    if mask is not None:
        weights = torch.where(mask, weights, 0.0)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention")
def attention_with_nan_in_the_gradient(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])
    if mask is not None:
        scores = scores + torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1).nan_to_num()
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", named="hidden by a number that is not low enough")
def attention_hidden_by_ten_thousand(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        weights = scores.masked_fill(~mask, -1e4).softmax(dim=-1) * mask
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", named="three axes only")
def attention_in_three_axes(query, key, value, mask=None):
    batch, queries, width = query.shape
    if mask is not None:
        mask = mask.expand(batch, queries, key.shape[1])
    scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(width)
    scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=2).nan_to_num()
    return torch.bmm(weights, value), weights


@BANK.wrong("scaled_dot_product_attention")
def attention_in_float32(query, key, value, mask=None):
    return attention_filled_twice(query.float(), key.float(), value.float(), mask)


@BANK.wrong("scaled_dot_product_attention")
def attention_repaired_in_numpy(query, key, value, mask=None):
    q, k, v = (item.detach().numpy() for item in (query, key, value))
    scores = torch.from_numpy(q @ np.swapaxes(k, -2, -1) / math.sqrt(k.shape[-1]))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1).nan_to_num()
    return weights @ torch.from_numpy(v), weights


@BANK.wrong("scaled_dot_product_attention")
def attention_with_detached_weights(query, key, value, mask=None):
    _, weights = attention_filled_twice(query, key, value, mask)
    weights = weights.detach()
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention")
def attention_that_scales_the_query_itself(query, key, value, mask=None):
    with torch.no_grad():
        query /= key.shape[-1] ** 0.5
    return attention_filled_twice(query * key.shape[-1] ** 0.5, key, value, mask)


@BANK.wrong("scaled_dot_product_attention")
def attention_that_changes_the_mask(query, key, value, mask=None):
    if mask is not None:
        mask.logical_not_()
        mask = ~mask
        output, weights = attention_filled_twice(query, key, value, mask)
        return output, weights
    return attention_filled_twice(query, key, value)


@BANK.wrong("scaled_dot_product_attention")
def attention_on_contiguous_inputs(query, key, value, mask=None):
    flat = [item.view(-1) for item in (query, key, value)]
    q, k, v = (a.view(b.shape) for a, b in zip(flat, (query, key, value), strict=True))
    return attention_filled_twice(q, k, v, mask)


@BANK.wrong("scaled_dot_product_attention")
def attention_with_a_mask_per_head(query, key, value, mask=None):
    if mask is not None and mask.dim() == 3:
        mask = mask.unsqueeze(1)
    return attention_filled_twice(query, key, value, mask)


@BANK.wrong("scaled_dot_product_attention")
def attention_that_must_have_a_mask(query, key, value, mask):
    return attention_filled_twice(query, key, value, mask)


@BANK.wrong("scaled_dot_product_attention")
def attention_without_a_mask(query, key, value):
    return attention_filled_twice(query, key, value)


@BANK.wrong("scaled_dot_product_attention")
def attention_whose_empty_rows_look_at_the_first_key(query, key, value, mask=None):
    if mask is not None:
        mask = mask.expand(*query.shape[:-1], key.shape[-2]).clone()
        mask[..., 0] |= ~mask.any(dim=-1)
    return attention_filled_twice(query, key, value, mask)


@BANK.wrong("scaled_dot_product_attention", named="mask in the weights alone")
def attention_with_the_hidden_values_kept(query, key, value, mask=None):
    _, weights = attention_filled_twice(query, key, value, mask)
    output, _ = attention_filled_twice(query, key, value)
    return output, weights


@BANK.wrong("scaled_dot_product_attention")
def attention_over_the_first_axis(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(dim=0)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention")
def attention_of_the_example_only(query, key, value, mask=None):
    weights = torch.tensor([[0.731, 0.269, 0.0]])
    return torch.tensor([[12.69]]), weights


@BANK.wrong("stable_softmax", named="a maximum of at least 0")
def softmax_with_a_search_from_zero(scores, axis=-1):
    def one_row(row):
        largest = 0.0
        for score in row:
            largest = max(largest, score)
        return np.exp(row - largest) / np.exp(row - largest).sum()

    with np.errstate(all="ignore"):
        return np.apply_along_axis(one_row, axis, scores)


@BANK.right("stable_softmax")
def softmax_by_pairs(scores, axis=-1):
    moved = np.moveaxis(scores, axis, -1)
    with np.errstate(all="ignore"):
        distances = moved[..., None, :] - moved[..., :, None]
        distances = np.where(np.isnan(distances), np.inf, distances)
        return np.moveaxis(1 / np.exp(distances).sum(axis=-1), -1, axis)


@BANK.wrong("numpy_self_attention", named="scores returned for weights")
def sentence_with_scaled_scores_beside_it(X, Wq, Wk, Wv):
    scores = X @ Wq @ (X @ Wk).T / np.sqrt(Wk.shape[1])
    return rows_softmax(scores) @ X @ Wv, scores


@BANK.right("scaled_dot_product_attention")
def attention_with_nan_replaced(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    if mask is None:
        mask = torch.ones((), dtype=torch.bool)
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    weights = torch.where(weights.isnan(), 0.0, weights)
    return weights @ value, weights


@BANK.right("scaled_dot_product_attention")
def attention_of_visible_keys_only(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand_as(scores)
    rows = []
    for row, visible in zip(scores.flatten(0, -2), mask.flatten(0, -2), strict=True):
        places = visible.nonzero()[:, 0]
        shares = row[places].softmax(dim=0)
        rows.append(torch.zeros_like(row).index_put((places,), shares))
    weights = torch.stack(rows).reshape(scores.shape)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", named="√ of the key's axis 1")
def attention_with_the_width_on_axis_one(query, key, value, mask=None):
    return attention_filled_twice(query * math.sqrt(key.shape[-1] / key.shape[1]), key, value, mask)


@BANK.wrong("scaled_dot_product_attention", named="hidden by a number that is not low enough")
def attention_hidden_by_the_lowest_half(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    if mask is None:
        mask = torch.ones((), dtype=torch.bool)
    lowest = torch.finfo(torch.float16).min
    weights = scores.masked_fill(~mask, lowest).softmax(dim=-1) * mask
    return weights @ value, weights


# ------------------------------------------------------------------- further ways to go about it


@BANK.right("stable_softmax")
def softmax_with_ufuncs(scores, axis=-1):
    shifted = np.subtract(scores, np.amax(scores, axis, keepdims=True))
    powers = np.exp(shifted)
    return np.divide(powers, np.sum(powers, axis, keepdims=True))


@BANK.right("stable_softmax")
def softmax_through_torch_arithmetic(scores, axis=-1):
    values = torch.from_numpy(np.ascontiguousarray(scores))
    powers = (values - values.amax(dim=axis, keepdim=True)).exp()
    return (powers / powers.sum(dim=axis, keepdim=True)).numpy()


@BANK.right("stable_softmax")
def softmax_with_more_subtracted(scores, axis=-1):
    scores = np.array(scores, dtype=np.float64)
    powers = np.exp(scores - (scores.max(axis=axis, keepdims=True) + 5))
    return powers / powers.sum(axis=axis, keepdims=True)


@BANK.right("stable_softmax")
def softmax_with_maximum_reduce(scores, axis=-1):
    largest = np.expand_dims(np.maximum.reduce(scores, axis=axis), axis=axis)
    weights = np.exp(scores - largest)
    return weights / np.add.reduce(weights, axis=axis, keepdims=True)


@BANK.right("stable_softmax")
def softmax_by_index(scores, axis=-1):
    weights = np.zeros(scores.shape)
    others = [range(n) for n in np.delete(scores.shape, axis)]
    for index in np.ndindex(*[len(other) for other in others]):
        place = list(index)
        place.insert(axis % scores.ndim, slice(None))
        row = scores[tuple(place)]
        powers = np.exp(row - np.max(row))
        weights[tuple(place)] = powers / np.sum(powers)
    return weights


@BANK.wrong("stable_softmax", named="mean subtracted")
def softmax_with_the_median_subtracted(scores, axis=-1):
    return softmax_taken_literally(scores - np.median(scores, axis=axis, keepdims=True), axis)


@BANK.wrong("stable_softmax", named="scores cut off")
def softmax_of_scores_cut_at_fifty(scores, axis=-1):
    return softmax_taken_literally(np.clip(scores, -50, 50), axis)


@BANK.wrong("stable_softmax", named="softmax taken twice")
def softmax_of_a_softmax(scores, axis=-1):
    return softmax_in_two_lines(softmax_in_two_lines(scores, axis), axis)


@BANK.wrong("stable_softmax", named="scores negated")
def softmin_instead(scores, axis=-1):
    return softmax_in_two_lines(-scores, axis)


@BANK.wrong("stable_softmax", named="exp without the division")
def softmax_divided_by_the_largest(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return e / e.max(axis=axis, keepdims=True)


@BANK.wrong("stable_softmax", named="maximum added")
def softmax_with_a_plus(scores, axis=-1):
    return softmax_taken_literally(scores + scores.max(axis=axis, keepdims=True), axis)


@BANK.wrong("stable_softmax")
def softmax_with_nan_to_num(scores, axis=-1):
    with np.errstate(all="ignore"):
        return np.nan_to_num(softmax_taken_literally(scores, axis))


@BANK.wrong("stable_softmax")
def softmax_with_nan_to_one(scores, axis=-1):
    with np.errstate(all="ignore"):
        return np.nan_to_num(softmax_taken_literally(scores, axis), nan=1.0)


@BANK.wrong("stable_softmax", named="a fixed number subtracted")
def softmax_with_a_fixed_shift(scores, axis=-1):
    return softmax_taken_literally(scores - 700, axis)


@BANK.wrong("stable_softmax")
def softmax_with_a_shift_when_large(scores, axis=-1):
    if scores.max() > 700:
        scores = scores - scores.max()
    return softmax_taken_literally(scores, axis)


@BANK.wrong("stable_softmax")
def softmax_scaled_down(scores, axis=-1):
    return softmax_taken_literally(scores / 10, axis)


@BANK.wrong("stable_softmax")
def softmax_in_halves(scores, axis=-1):
    return softmax_in_two_lines(scores.astype(np.float16), axis).astype(np.float64)


@BANK.wrong("stable_softmax")
def softmax_one_axis_less(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return (e / e.sum(axis=axis, keepdims=True)).squeeze()


@BANK.wrong("stable_softmax")
def softmax_as_a_nested_list(scores, axis=-1):
    return softmax_in_two_lines(scores, axis).tolist()


@BANK.wrong("stable_softmax")
def softmax_of_absolute_values(scores, axis=-1):
    return softmax_in_two_lines(np.abs(scores), axis)


@BANK.wrong("stable_softmax")
def softmax_to_base_two_and_one_maximum(scores, axis=-1):
    with np.errstate(all="ignore"):
        e = np.exp2(scores - scores.max())
        return e / e.sum(axis=axis, keepdims=True)


@BANK.wrong("stable_softmax")
def softmax_unshifted_and_undivided(scores, axis=-1):
    with np.errstate(all="ignore"):
        return np.exp(scores)


@BANK.right("numpy_self_attention")
def sentence_word_by_word(X, Wq, Wk, Wv):
    K, V = X @ Wk, X @ Wv
    rows = []
    for word in X:
        scores = K @ (word @ Wq) / np.sqrt(K.shape[1])
        e = np.exp(scores - scores.max())
        rows.append(e / e.sum())
    weights = np.stack(rows)
    return weights @ V, weights


@BANK.right("numpy_self_attention")
def sentence_through_torch(X, Wq, Wk, Wv):
    X, Wq, Wk, Wv = (torch.as_tensor(item) for item in (X, Wq, Wk, Wv))
    weights = ((X @ Wq) @ (X @ Wk).T / Wk.shape[1] ** 0.5).softmax(dim=1)
    return (weights @ (X @ Wv)).numpy(), weights.numpy()


@BANK.right("numpy_self_attention")
def sentence_by_broadcasting(X, Wq, Wk, Wv):
    Q, K, V = np.matmul(X, Wq), np.matmul(X, Wk), np.matmul(X, Wv)
    scores = (Q[:, None, :] * K[None, :, :]).sum(-1) / np.sqrt(Q.shape[1])
    weights = rows_softmax(scores)
    return (weights[..., None] * V[None]).sum(1), weights


@BANK.right("numpy_self_attention")
def sentence_with_the_scaled_map(X, Wq, Wk, Wv):
    scaled = Wq / np.sqrt(Wq.shape[-1])
    weights = rows_softmax(np.linalg.multi_dot([X, scaled, Wk.T, X.T]))
    return np.linalg.multi_dot([weights, X, Wv]), weights


@BANK.right("numpy_self_attention")
def sentence_in_double(X, Wq, Wk, Wv):
    X, Wq, Wk, Wv = (np.asarray(item, dtype=np.float64) for item in (X, Wq, Wk, Wv))
    scores = (X @ Wq) @ (X @ Wk).T
    scores /= math.sqrt(Wk.shape[1])
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores @ (X @ Wv), scores


@BANK.wrong("numpy_self_attention", named="one map for queries and keys")
def sentence_with_wq_twice(X, Wq, Wk, Wv):
    return sentence_by_matrices(X, Wq, Wq, Wv)


@BANK.wrong("numpy_self_attention", named="words not projected")
def sentence_of_plain_words(X, Wq, Wk, Wv):
    weights = rows_softmax(X @ X.T / np.sqrt(X.shape[1]))
    return weights @ (X @ Wv), weights


@BANK.wrong("numpy_self_attention", named="no softmax")
def sentence_without_softmax(X, Wq, Wk, Wv):
    scores = X @ Wq @ (X @ Wk).T / np.sqrt(Wk.shape[1])
    return scores @ X @ Wv, scores


@BANK.wrong("numpy_self_attention", named="the sum loses its axis")
def sentence_without_keepdims(X, Wq, Wk, Wv):
    scores = X @ Wq @ (X @ Wk).T / np.sqrt(Wk.shape[1])
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = e / e.sum(axis=1)
    return weights @ X @ Wv, weights


@BANK.wrong("numpy_self_attention")
def sentence_as_tensors(X, Wq, Wk, Wv):
    return tuple(torch.from_numpy(item) for item in sentence_by_matrices(X, Wq, Wk, Wv))


@BANK.wrong("numpy_self_attention", named="divided by the number of words")
def sentence_divided_by_length(X, Wq, Wk, Wv):
    weights = rows_softmax(X @ Wq @ (X @ Wk).T / len(X))
    return weights @ X @ Wv, weights


@BANK.wrong("numpy_self_attention")
def sentence_with_the_output_added_up(X, Wq, Wk, Wv):
    output, weights = sentence_by_matrices(X, Wq, Wk, Wv)
    return output.sum(axis=0), weights


@BANK.wrong("numpy_self_attention")
def sentence_with_output_transposed(X, Wq, Wk, Wv):
    output, weights = sentence_by_matrices(X, Wq, Wk, Wv)
    return output.T, weights


@BANK.wrong("numpy_self_attention", named="divided by d_k")
def sentence_scaled_before_and_after(X, Wq, Wk, Wv):
    root = np.sqrt(Wk.shape[1])
    weights = rows_softmax((X @ Wq / root) @ (X @ Wk / root).T)
    return weights @ X @ Wv, weights


@BANK.wrong("numpy_self_attention")
def sentence_unscaled_over_columns(X, Wq, Wk, Wv):
    weights = rows_softmax((X @ Wq @ (X @ Wk).T).T).T
    return weights @ X @ Wv, weights


@BANK.wrong("numpy_self_attention")
def sentence_swapped_and_weights_first(X, Wq, Wk, Wv):
    return sentence_by_matrices(X, Wk, Wq, Wv)[::-1]


@BANK.wrong("numpy_self_attention")
def sentence_of_keys_unscaled(X, Wq, Wk, Wv):
    weights = rows_softmax(X @ Wq @ (X @ Wk).T)
    return weights @ X @ Wk, weights


@BANK.right("scaled_dot_product_attention")
def attention_by_broadcasting(query, key, value, mask=None):
    scores = (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(-1).div(query.size(-1) ** 0.5)
    if mask is None:
        weights = F.softmax(scores, -1)
    else:
        weights = F.softmax(scores.masked_fill(mask.logical_not(), -torch.inf), -1)
        weights = weights.masked_fill(mask.logical_not(), 0)
    return (weights.unsqueeze(-1) * value.unsqueeze(-3)).sum(-2), weights


@BANK.right("scaled_dot_product_attention")
def attention_with_open_empty_rows(query, key, value, mask=None):
    scores = query @ key.transpose(-1, -2) * (1.0 / math.sqrt(query.shape[-1]))
    if mask is None:
        weights = scores.softmax(dim=-1)
        return weights @ value, weights
    some = mask.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(~mask & some, float("-inf"))
    weights = torch.softmax(scores, dim=-1) * some
    return weights @ value, weights


@BANK.right("scaled_dot_product_attention")
def attention_sentence_by_sentence(query, key, value, mask=None):
    leading = query.shape[:-2]
    if mask is not None:
        mask = mask.broadcast_to(*leading, query.shape[-2], key.shape[-2])
    output = query.new_zeros(*query.shape[:-1], value.shape[-1])
    weights = query.new_zeros(*query.shape[:-1], key.shape[-2])
    for index in np.ndindex(*leading):
        scores = query[index] @ key[index].T / key.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask[index], -math.inf)
        shares = scores.softmax(-1)
        if mask is not None:
            shares = shares.masked_fill(~mask[index], 0.0)
        weights[index] = shares
        output[index] = shares @ value[index]
    return output, weights


@BANK.right("scaled_dot_product_attention")
def attention_with_the_lowest_number(query, key, value, mask=None):
    scores = torch.matmul(query, key.mT).true_divide(math.sqrt(key.shape[-1]))
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1)
    if mask is not None:
        weights = torch.where(mask, weights, torch.zeros_like(weights))
    return weights.matmul(value), weights


@BANK.right("scaled_dot_product_attention")
def attention_with_a_float_root(query, key, value, mask=None):
    d_k = torch.tensor(key.shape[-1], dtype=query.dtype)
    scores = torch.einsum("...qd,...kd->...qk", query / torch.sqrt(d_k), key)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    top = scores.amax(dim=-1, keepdim=True).detach()
    powers = (scores - top.masked_fill(top == -torch.inf, 0.0)).exp()
    total = powers.sum(dim=-1, keepdim=True)
    weights = powers / total.masked_fill(total == 0, 1.0)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention")
def attention_flattened_by_a_view(query, key, value, mask=None):
    leading, (queries, width), keys = query.shape[:-2], query.shape[-2:], key.shape[-2]
    q, k = query.view(-1, queries, width), key.view(-1, keys, width)
    scores = torch.bmm(q, k.mT).view(*leading, queries, keys) / math.sqrt(width)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention")
def attention_with_a_view_of_the_mask(query, key, value, mask=None):
    if mask is not None:
        mask = mask.view(-1).view(mask.shape)
    return attention_filled_twice(query, key, value, mask)


@BANK.wrong("scaled_dot_product_attention", named="mask after the softmax, then divided again")
def attention_divided_by_what_is_left(query, key, value, mask=None):
    weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0)
        weights = weights / (weights.sum(-1, keepdim=True) + 1e-9)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", named="exp without the division")
def attention_of_exponentials(query, key, value, mask=None):
    weights = (query @ key.mT / key.shape[-1] ** 0.5).exp()
    weights = weights if mask is None else weights * mask
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", named="weights transposed before the sum")
def attention_down_the_columns(query, key, value, mask=None):
    _, weights = attention_filled_twice(query, key, value, mask)
    return weights.transpose(-1, -2) @ value, weights


@BANK.wrong("scaled_dot_product_attention", named="query used as value")
def attention_to_queries(query, key, value, mask=None):
    _, weights = attention_filled_twice(query, key, value, mask)
    return weights @ query, weights


@BANK.wrong("scaled_dot_product_attention")
def attention_unscaled_with_nan_rows(query, key, value, mask=None):
    scores = query @ key.mT
    scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention")
def attention_unscaled_over_queries(query, key, value, mask=None):
    scores = query @ key.mT
    scores = scores if mask is None else scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-2)
    weights = weights if mask is None else weights * mask
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention")
def attention_divided_by_width_with_a_billion(query, key, value, mask=None):
    scores = query @ key.mT / key.shape[-1]
    scores = scores if mask is None else scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention")
def attention_inverted_and_weights_first(query, key, value, mask=None):
    return attention_filled_twice(query, key, value, None if mask is None else ~mask)[::-1]


@BANK.wrong("scaled_dot_product_attention", named="all is seen where nothing is visible")
def attention_with_a_small_penalty(query, key, value, mask=None):
    scores = query @ key.mT / key.shape[-1] ** 0.5
    if mask is not None:
        scores = scores + (1.0 - mask.to(scores.dtype)) * -1e9
    weights = scores.softmax(-1)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", named="hidden scores set to 0")
def attention_with_a_billionth(query, key, value, mask=None):
    scores = query @ key.mT / key.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, 1e-9)
    weights = scores.softmax(-1)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention")
def attention_with_dropout(query, key, value, mask=None, p=0.1):
    _, weights = attention_filled_twice(query, key, value, mask)
    weights = F.dropout(weights, p)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention")
def attention_causal_by_itself(query, key, value, mask=None):
    if mask is None:
        mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
    return attention_filled_twice(query, key, value, mask)


@BANK.wrong("scaled_dot_product_attention", named="all is seen where nothing is visible")
def attention_with_hidden_keys_erased(query, key, value, mask=None):
    scores = query @ key.mT / key.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.nan_to_num() - 1e9 * (~mask).float()
    weights = (scores - scores.amax(-1, keepdim=True)).exp()
    weights = weights / weights.sum(-1, keepdim=True)
    return weights @ value, weights
