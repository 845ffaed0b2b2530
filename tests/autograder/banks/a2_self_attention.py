"""Answers to assignment 2."""

import math

import torch
import torch.nn.functional as F

from tests.autograder.banks import Bank

BANK = Bank("a2_self_attention")


# ------------------------------------------------------------------------- attention_weights


@BANK.right("attention_weights")
def weights_by_loops(x):
    rows = []
    for i in range(len(x)):
        scores = torch.stack([torch.dot(x[i], x[j]) for j in range(len(x))])
        rows.append(torch.exp(scores) / torch.exp(scores).sum())
    return torch.stack(rows)


@BANK.right("attention_weights")
def weights_by_einsum(x):
    return F.softmax(torch.einsum("id,jd->ij", x, x), dim=1)


@BANK.right("attention_weights")
def weights_by_exp_and_sum(x, eps=0.0):
    exponentials = torch.exp(x @ x.transpose(0, 1))
    return exponentials / (exponentials.sum(dim=1, keepdim=True) + eps)


@BANK.right("attention_weights")
def weights_by_broadcasting(x):
    scores = (x[:, None, :] * x[None, :, :]).sum(-1)
    return torch.softmax(scores - scores.max(dim=-1, keepdim=True).values, dim=-1)


@BANK.right("attention_weights")
def weights_by_symmetry(x):
    # the scores are symmetric, so a softmax down the columns, turned round, is one along the rows
    return (x @ x.mT).softmax(dim=0).mT


@BANK.right("attention_weights")
def weights_by_logarithms(x):
    scores = torch.mm(x, x.t())
    return torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))


@BANK.wrong("attention_weights")
def weights_divided_by_the_width(x):
    return (x @ x.T / x.shape[1]).softmax(dim=-1)


@BANK.wrong("attention_weights")
def weights_divided_by_root_of_length(x):
    return (x @ x.T / math.sqrt(len(x))).softmax(dim=-1)


@BANK.wrong("attention_weights")
def weights_of_negative_distances(x):
    return (-torch.cdist(x, x)).softmax(dim=-1)


@BANK.wrong("attention_weights")
def weights_without_the_word_itself(x):
    scores = (x @ x.T).masked_fill(torch.eye(len(x), dtype=torch.bool), -1e9)
    return scores.softmax(dim=-1)


@BANK.wrong("attention_weights")
def weights_detached(x):
    return (x @ x.T).softmax(dim=-1).detach()


@BANK.wrong("attention_weights")
def weights_always_float32(x):
    x = x.float()
    return (x @ x.T).softmax(dim=-1)


@BANK.wrong("attention_weights")
def weights_that_change_their_input(x):
    x -= x.mean()
    x += x.mean()
    return (x @ x.T).softmax(dim=-1)


@BANK.wrong("attention_weights")
def weights_by_view_of_contiguous_input_only(x):
    flat = x.view(-1)
    return (flat.view(x.shape) @ x.T).softmax(dim=-1)


@BANK.wrong("attention_weights")
def weights_as_numpy(x):
    return (x @ x.T).softmax(dim=-1).detach().numpy()


@BANK.wrong("attention_weights")
def weights_as_a_list(x):
    return (x @ x.T).softmax(dim=-1).tolist()


@BANK.wrong("attention_weights")
def weights_for_two_words_only(x):
    if x.shape == (2, 2):
        return torch.tensor([[0.9526, 0.0474], [0.7311, 0.2689]])
    return torch.full((len(x), len(x)), 1 / len(x))


# ---------------------------------------------------------------------- basic_self_attention


@BANK.right("basic_self_attention")
def context_by_loops(x):
    weights = weights_by_loops(x)
    z = [sum(weights[i, j] * x[j] for j in range(len(x))) for i in range(len(x))]
    return torch.stack(z), weights


@BANK.right("basic_self_attention")
def context_by_einsum(x):
    weights = weights_by_einsum(x)
    return torch.einsum("ij,jd->id", weights, x), weights


@BANK.right("basic_self_attention")
def context_as_a_list_of_two(x):
    weights = weights_by_exp_and_sum(x)
    return [torch.matmul(weights, x), weights]


@BANK.right("basic_self_attention")
def context_with_a_batch_of_one(x):
    weights = weights_by_logarithms(x)
    return torch.bmm(weights[None], x[None])[0], weights


@BANK.right("basic_self_attention")
def context_transposed_twice(x):
    weights = weights_by_broadcasting(x)
    return (x.T @ weights.T).T, weights


@BANK.wrong("basic_self_attention")
def context_is_the_mean(x):
    return x.mean(dim=0).expand_as(x), weights_by_einsum(x)


@BANK.wrong("basic_self_attention")
def context_is_the_input(x):
    return x.clone(), weights_by_einsum(x)


@BANK.wrong("basic_self_attention")
def context_plus_the_input(x):
    weights = weights_by_einsum(x)
    return weights @ x + x, weights


@BANK.wrong("basic_self_attention")
def context_with_the_scores_beside_it(x):
    return weights_by_einsum(x) @ x, x @ x.T


@BANK.wrong("basic_self_attention")
def context_detached(x):
    weights = weights_by_einsum(x)
    return (weights @ x).detach(), weights


@BANK.wrong("basic_self_attention")
def context_with_detached_weights(x):
    weights = weights_by_einsum(x.detach())
    return weights @ x, weights


@BANK.wrong("basic_self_attention")
def context_always_float32(x):
    z, weights = context_by_einsum(x.float())
    return z, weights


@BANK.wrong("basic_self_attention")
def context_in_a_dict(x):
    z, weights = context_by_einsum(x)
    return {"z": z, "weights": weights}


@BANK.wrong("basic_self_attention")
def context_stacked(x):
    z, weights = context_by_einsum(x)
    return torch.cat([z, weights], dim=1)


# ---------------------------------------------------------------------------- self_attention


@BANK.right("self_attention")
def batch_by_einsum(query, key, value):
    scores = torch.einsum("btd,bsd->bts", query, key)
    return torch.einsum("bts,bsv->btv", scores.softmax(-1), value)


@BANK.right("self_attention")
def batch_by_a_loop(query, key, value):
    results = []
    for q, k, v in zip(query, key, value, strict=True):
        results.append(torch.softmax(q @ k.T, dim=1) @ v)
    return torch.stack(results)


@BANK.right("self_attention")
def batch_by_matmul(query, key, value):
    return F.softmax(query @ key.mT, dim=2) @ value


@BANK.right("self_attention")
def batch_by_hand_written_softmax(query, key, value):
    e = torch.exp(query.matmul(key.permute(0, 2, 1)))
    return e.matmul(value) / e.sum(dim=-1, keepdim=True)


@BANK.right("self_attention")
def batch_by_three_loops(query, key, value, dropout=None):
    output = []
    for b in range(query.shape[0]):
        rows = []
        for t in range(query.shape[1]):
            scores = torch.stack([query[b, t] @ key[b, s] for s in range(key.shape[1])])
            rows.append(scores.softmax(0) @ value[b])
        output.append(torch.stack(rows))
    return torch.stack(output)


@BANK.wrong("self_attention")
def batch_scaled_by_length(query, key, value):
    return torch.bmm((query @ key.mT / key.shape[1] ** 0.5).softmax(-1), value)


@BANK.wrong("self_attention")
def batch_only_when_lengths_agree(query, key, value):
    if query.shape[1] != key.shape[1]:
        key, value = key[:, : query.shape[1]], value[:, : query.shape[1]]
    return batch_by_einsum(query, key, value)


@BANK.wrong("self_attention")
def batch_of_one_only(query, key, value):
    return ((query[0] @ key[0].T).softmax(-1) @ value[0]).unsqueeze(0)


@BANK.wrong("self_attention")
def batch_with_value_as_wide_as_the_key(query, key, value):
    output = batch_by_einsum(query, key, value)
    return output[..., : key.shape[-1]]


@BANK.wrong("self_attention")
def batch_with_the_keys_reversed(query, key, value):
    return batch_by_einsum(query, key.flip(1), value)


@BANK.wrong("self_attention")
def batch_without_gradient_for_the_keys(query, key, value):
    return batch_by_einsum(query, key.detach(), value)


@BANK.wrong("self_attention")
def batch_without_gradient(query, key, value):
    with torch.no_grad():
        return batch_by_einsum(query, key, value)


@BANK.wrong("self_attention")
def batch_in_place(query, key, value):
    value.mul_(1.0 + 1e-3)
    return batch_by_einsum(query, key, value)


@BANK.wrong("self_attention")
def batch_averaged(query, key, value):
    return value.mean(dim=1, keepdim=True).expand(-1, query.shape[1], -1)


@BANK.wrong("self_attention")
def batch_by_the_best_key_alone(query, key, value):
    best = (query @ key.mT).argmax(dim=-1)
    return value.gather(1, best.unsqueeze(-1).expand(-1, -1, value.shape[-1]))


# -------------------------------------------------------------- is_permutation_equivariant


@BANK.right("is_permutation_equivariant")
def asked_with_isclose(f, x, permutation):
    return bool(torch.isclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5).all())


@BANK.right("is_permutation_equivariant")
def asked_by_index_select(f, x, permutation):
    before = f(torch.index_select(x, 0, permutation))
    after = torch.index_select(f(x), 0, permutation)
    return torch.allclose(before, after, rtol=1e-4, atol=1e-5)


@BANK.right("is_permutation_equivariant")
def asked_row_by_row(f, x, permutation):
    one, other = f(x), f(x[permutation])
    return all(
        torch.allclose(other[i], one[p], rtol=1e-4, atol=1e-5)
        for i, p in enumerate(permutation.tolist())
    )


@BANK.right("is_permutation_equivariant")
def asked_with_the_inverse(f, x, permutation):
    return torch.allclose(f(x[permutation])[permutation.argsort()], f(x), rtol=1e-4, atol=1e-5)


@BANK.right("is_permutation_equivariant")
def asked_by_differences(f, x, permutation, rtol=1e-4, atol=1e-5):
    one, other = f(x)[permutation], f(x[permutation])
    return not ((one - other).abs() > atol + rtol * one.abs()).any().item()


@BANK.right("is_permutation_equivariant")
def asked_with_a_permutation_matrix(f, x, permutation):
    p = torch.eye(len(x))[permutation]
    return torch.allclose(f(p @ x), f(x)[permutation], rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant")
def asked_about_sums(f, x, permutation):
    return torch.allclose(f(x[permutation]).sum(), f(x).sum(), rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant")
def asked_about_shapes(f, x, permutation):
    return f(x[permutation]).shape == f(x).shape


@BANK.wrong("is_permutation_equivariant")
def asked_about_the_first_row(f, x, permutation):
    return torch.allclose(f(x[permutation])[0], f(x)[permutation][0], rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant")
def asked_about_the_last_row(f, x, permutation):
    return torch.allclose(f(x[permutation])[-1], f(x)[permutation][-1], rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant")
def asked_about_rises_alone(f, x, permutation):
    one, other = f(x)[permutation], f(x[permutation])
    return bool((other - one <= 1e-5 + 1e-4 * one.abs()).all())


@BANK.wrong("is_permutation_equivariant")
def asked_about_falls_alone(f, x, permutation):
    one, other = f(x)[permutation], f(x[permutation])
    return bool((one - other <= 1e-5 + 1e-4 * one.abs()).all())


@BANK.wrong("is_permutation_equivariant")
def asked_with_a_tolerance_of_a_thousandth(f, x, permutation):
    return torch.allclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-3)


@BANK.wrong("is_permutation_equivariant")
def asked_about_the_mean_difference(f, x, permutation):
    return float((f(x[permutation]) - f(x)[permutation]).abs().mean()) < 1e-4


@BANK.wrong("is_permutation_equivariant")
def asked_with_a_permutation_of_its_own(f, x, permutation):
    permutation = torch.arange(len(x) - 1, -1, -1)
    return torch.allclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant")
def asked_about_columns(f, x, permutation):
    one = f(x[:, permutation % x.shape[1]])
    return one.shape == f(x).shape and torch.allclose(one, f(x), rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant")
def asked_the_other_way_round(f, x, permutation):
    return not torch.allclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant")
def asked_about_any_row(f, x, permutation):
    return bool(torch.isclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5).any())


@BANK.wrong("is_permutation_equivariant")
def asked_with_relative_tolerance_only(f, x, permutation):
    return torch.allclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=0)


@BANK.wrong("is_permutation_equivariant")
def asked_on_the_mean_row(f, x, permutation):
    return torch.allclose(f(x[permutation]).mean(0), f(x).mean(0), rtol=1e-4, atol=1e-5)


@BANK.wrong("basic_self_attention", named="scores returned for weights")
def context_and_scores(x):
    scores = torch.inner(x, x)
    return scores.softmax(-1) @ x, scores


@BANK.wrong("self_attention", named="query used as key and value")
def attend_to_the_query_alone(query, key, value):
    return torch.bmm(torch.bmm(query, query.mT).softmax(-1), query)
