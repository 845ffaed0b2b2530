"""Answers to `scaled_dot_product_attention`."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from assignments.a3_scaled_dot_product_attention.answers.bank import BANK


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


@BANK.wrong(
    "scaled_dot_product_attention",
    told=("wrong gradient", "wrong about gradients"),
    published="pytorch/pytorch#41508",
)
def attention_with_nan_in_the_gradient(query, key, value, mask=None):
    """Results are mended where nothing is visible, but NaN flows back."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])
    if mask is not None:
        scores = scores + torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1).nan_to_num()
    return weights @ value, weights


@BANK.wrong(
    "scaled_dot_product_attention",
    named="hidden by a number that is not low enough",
    published="karpathy/minGPT#75",
)
def attention_hidden_by_ten_thousand(query, key, value, mask=None):
    """Hidden keys get −10 000, which scores that are seen can undercut."""
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


@BANK.wrong("scaled_dot_product_attention", told=("another dtype", "wrong in float64"))
def attention_in_float32(query, key, value, mask=None):
    return attention_filled_twice(query.float(), key.float(), value.float(), mask)


@BANK.wrong("scaled_dot_product_attention", told=("no gradient", "wrong about gradients"))
def attention_repaired_in_numpy(query, key, value, mask=None):
    q, k, v = (item.detach().numpy() for item in (query, key, value))
    scores = torch.from_numpy(q @ np.swapaxes(k, -2, -1) / math.sqrt(k.shape[-1]))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1).nan_to_num()
    return weights @ torch.from_numpy(v), weights


@BANK.wrong("scaled_dot_product_attention", told=("no gradient", "wrong about gradients"))
def attention_with_detached_weights(query, key, value, mask=None):
    _, weights = attention_filled_twice(query, key, value, mask)
    weights = weights.detach()
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", told="inputs changed")
def attention_that_scales_the_query_itself(query, key, value, mask=None):
    with torch.no_grad():
        query /= key.shape[-1] ** 0.5
    return attention_filled_twice(query * key.shape[-1] ** 0.5, key, value, mask)


@BANK.wrong("scaled_dot_product_attention", told=("inputs changed", "wrong with `mask` given"))
def attention_that_changes_the_mask(query, key, value, mask=None):
    if mask is not None:
        mask.logical_not_()
        mask = ~mask
        output, weights = attention_filled_twice(query, key, value, mask)
        return output, weights
    return attention_filled_twice(query, key, value)


@BANK.wrong(
    "scaled_dot_product_attention", told=("stops with RuntimeError", "wrong with gaps in memory")
)
def attention_on_contiguous_inputs(query, key, value, mask=None):
    flat = [item.view(-1) for item in (query, key, value)]
    q, k, v = (a.view(b.shape) for a, b in zip(flat, (query, key, value), strict=True))
    return attention_filled_twice(q, k, v, mask)


@BANK.wrong("scaled_dot_product_attention", named="a new axis put into the mask")
def attention_with_a_mask_per_head(query, key, value, mask=None):
    if mask is not None and mask.dim() == 3:
        mask = mask.unsqueeze(1)
    return attention_filled_twice(query, key, value, mask)


@BANK.wrong("scaled_dot_product_attention", told="stops with TypeError")
def attention_that_must_have_a_mask(query, key, value, mask):
    return attention_filled_twice(query, key, value, mask)


@BANK.wrong("scaled_dot_product_attention", told="stops with TypeError")
def attention_without_a_mask(query, key, value):
    return attention_filled_twice(query, key, value)


@BANK.wrong(
    "scaled_dot_product_attention",
    told=(
        "right but for special places",
        "hidden ones have weight, or visible ones none",
        "wrong with a row in which nothing may be seen",
    ),
)
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


@BANK.wrong(
    "scaled_dot_product_attention",
    named=("softmax axis counted from the front", "all is seen where nothing is visible"),
)
def attention_over_the_first_axis(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(dim=0)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", told="always one shape")
def attention_of_the_example_only(query, key, value, mask=None):
    weights = torch.tensor([[0.731, 0.269, 0.0]])
    return torch.tensor([[12.69]]), weights


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


@BANK.wrong(
    "scaled_dot_product_attention", told=("stops with RuntimeError", "wrong with gaps in memory")
)
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


@BANK.wrong(
    "scaled_dot_product_attention", told=("stops with RuntimeError", "wrong with gaps in memory")
)
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


@BANK.wrong("scaled_dot_product_attention", named=("not scaled", "NaN where nothing is visible"))
def attention_unscaled_with_nan_rows(query, key, value, mask=None):
    scores = query @ key.mT
    scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", named=("not scaled", "softmax over the queries"))
def attention_unscaled_over_queries(query, key, value, mask=None):
    scores = query @ key.mT
    scores = scores if mask is None else scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-2)
    weights = weights if mask is None else weights * mask
    return weights @ value, weights


@BANK.wrong(
    "scaled_dot_product_attention", named=("divided by d_k", "all is seen where nothing is visible")
)
def attention_divided_by_width_with_a_billion(query, key, value, mask=None):
    scores = query @ key.mT / key.shape[-1]
    scores = scores if mask is None else scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", named=("inverted mask", "results in the wrong order"))
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


@BANK.wrong("scaled_dot_product_attention", told="weights that are no shares")
def attention_with_dropout(query, key, value, mask=None, p=0.1):
    _, weights = attention_filled_twice(query, key, value, mask)
    weights = F.dropout(weights, p)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", told="hidden ones have weight, or visible ones none")
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


@BANK.wrong("scaled_dot_product_attention", named="hidden scores set to 0, then weights, too")
def attention_with_zeros_before_and_after(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    if mask is None:
        weights = scores.softmax(-1)
    else:
        weights = scores.masked_fill(~mask, 0).softmax(-1).masked_fill(~mask, 0)
    return weights @ value, weights


@BANK.wrong(
    "scaled_dot_product_attention", named="mask added as numbers, then hidden weights set to 0"
)
def attention_with_the_mask_added_and_multiplied(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    scores = scores if mask is None else scores + mask
    weights = scores.softmax(-1)
    weights = weights if mask is None else weights * mask
    return weights @ value, weights


@BANK.right("scaled_dot_product_attention")
def attention_with_open_empty_rows_closed_again(query, key, value, mask=None, scale=None):
    scores = torch.einsum("...td,...sd->...ts", query, key) * (scale or key.size(-1) ** -0.5)
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        empty = ~mask.any(dim=-1, keepdim=True)
        weights = torch.where(mask | empty, scores, -torch.inf).softmax(dim=-1)
        weights = torch.where(empty, 0.0, weights)
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


def filled(scores, mask, low=-torch.inf):
    return scores if mask is None else scores.masked_fill(~mask, low)


@BANK.wrong("scaled_dot_product_attention", named="√ of axis 2")
def attention_with_the_width_on_axis_two(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[2])
    weights = filled(filled(scores, mask).softmax(dim=-1), mask, 0.0)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", named="d_k ** 1 / 2 for the root")
def attention_with_a_root_that_is_none(query, key, value, mask=None):
    scores = query @ key.mT / (key.shape[-1] ** 1 / 2)
    weights = filled(filled(scores, mask).softmax(dim=-1), mask, 0.0)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", named="always divided by 2")
def attention_of_width_four(query, key, value, mask=None):
    weights = filled(filled(query @ key.mT / 2, mask).softmax(dim=-1), mask, 0.0)
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", named="a number added that is not low enough")
def attention_with_ten_thousand_taken_off(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    if mask is not None:
        scores = scores + (1.0 - mask.to(scores.dtype)) * -10_000
    weights = scores.softmax(dim=-1)
    weights = weights if mask is None else weights * mask
    return weights @ value, weights


@BANK.wrong("scaled_dot_product_attention", named="a new axis put into the mask")
def attention_with_a_mask_for_heads(query, key, value, mask=None):
    mask = mask if mask is None else mask.unsqueeze(1)
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    weights = filled(filled(scores, mask).softmax(dim=-1), mask, 0.0)
    return weights @ value, weights
