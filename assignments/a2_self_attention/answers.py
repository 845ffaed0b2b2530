"""Answers to assignment 2."""


import torch
import torch.nn.functional as F

from assignments.bank import Bank

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


@BANK.wrong("attention_weights", named="distances for dot products")
def weights_of_negative_distances(x):
    return (-torch.cdist(x, x)).softmax(dim=-1)


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


@BANK.wrong("basic_self_attention", named="plain mean of all words")
def context_is_the_mean(x):
    return x.mean(dim=0).expand_as(x), weights_by_einsum(x)


@BANK.wrong("basic_self_attention", named="the words themselves returned")
def context_is_the_input(x):
    return x.clone(), weights_by_einsum(x)


@BANK.wrong("basic_self_attention", named="words added to the context")
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


@BANK.wrong("basic_self_attention", named="z and weights joined")
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
def batch_only_when_lengths_agree(query, key, value):
    if query.shape[1] != key.shape[1]:
        key, value = key[:, : query.shape[1]], value[:, : query.shape[1]]
    return batch_by_einsum(query, key, value)


@BANK.wrong("self_attention", named="only the first sentence used")
def batch_of_one_only(query, key, value):
    return ((query[0] @ key[0].T).softmax(-1) @ value[0]).unsqueeze(0)


@BANK.wrong("self_attention", named="output as wide as the key")
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


@BANK.wrong("self_attention", named="plain mean of the values")
def batch_averaged(query, key, value):
    return value.mean(dim=1, keepdim=True).expand(-1, query.shape[1], -1)


@BANK.wrong("self_attention", named="the best key alone")
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


@BANK.wrong("is_permutation_equivariant", named="one number compared for the whole output")
def asked_about_sums(f, x, permutation):
    return torch.allclose(f(x[permutation]).sum(), f(x).sum(), rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="always True")
def asked_about_shapes(f, x, permutation):
    return f(x[permutation]).shape == f(x).shape


@BANK.wrong("is_permutation_equivariant", named="only the first row compared")
def asked_about_the_first_row(f, x, permutation):
    return torch.allclose(f(x[permutation])[0], f(x)[permutation][0], rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="only the last row compared")
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
def asked_about_the_mean_difference(f, x, permutation):
    return float((f(x[permutation]) - f(x)[permutation]).abs().mean()) < 1e-4


@BANK.wrong("is_permutation_equivariant")
def asked_about_columns(f, x, permutation):
    one = f(x[:, permutation % x.shape[1]])
    return one.shape == f(x).shape and torch.allclose(one, f(x), rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="rows averaged before they are compared")
def asked_on_the_mean_row(f, x, permutation):
    return torch.allclose(f(x[permutation]).mean(0), f(x).mean(0), rtol=1e-4, atol=1e-5)


@BANK.wrong("basic_self_attention", named="scores returned for weights")
def context_and_scores(x):
    scores = torch.inner(x, x)
    return scores.softmax(-1) @ x, scores


@BANK.wrong("self_attention", named="query used as key and value")
def attend_to_the_query_alone(query, key, value):
    return torch.bmm(torch.bmm(query, query.mT).softmax(-1), query)


# ------------------------------------------------------------------- further ways to go about it


@BANK.right("attention_weights")
def weights_by_inner_products(x):
    scores = torch.inner(x, x)
    powers = scores.sub(scores.amax(1, keepdim=True)).exp()
    return powers.div(powers.sum(1).unsqueeze(1))


@BANK.right("attention_weights")
def weights_by_columns(x):
    powers = (x @ x.T).exp()
    return (powers / powers.sum(0)).T


@BANK.right("attention_weights")
def weights_as_a_layer(x):
    return torch.nn.Softmax(dim=1)(torch.tensordot(x, x, dims=([1], [1])))


@BANK.right("attention_weights")
def weights_as_a_batch_of_one(x):
    return torch.bmm(x[None], x[None].transpose(1, 2)).softmax(2)[0]


@BANK.right("attention_weights")
def weights_filled_in_place(x):
    weights = x.new_zeros(len(x), len(x))
    for i, word in enumerate(x):
        weights[i] = torch.softmax(x.mv(word), 0)
    return weights


@BANK.wrong("attention_weights", named="softmax over the columns")
def weights_without_keepdim(x):
    powers = torch.exp(x @ x.T)
    return powers / powers.sum(dim=1)


@BANK.wrong("attention_weights", named="the future hidden")
def weights_of_the_past(x):
    mask = torch.tril(torch.ones(len(x), len(x))) == 0
    return (x @ x.T).masked_fill(mask, -1e9).softmax(-1)


@BANK.wrong("attention_weights", named="sigmoid instead of softmax")
def weights_by_sigmoid(x):
    return 1 / (1 + torch.exp(-(x @ x.T)))


@BANK.wrong("attention_weights", named="distances for dot products")
def weights_by_squared_distances(x):
    return (-(torch.cdist(x, x) ** 2)).softmax(-1)


@BANK.wrong("attention_weights")
def weights_rounded(x):
    return (x @ x.T).softmax(-1).mul(100).round().div(100)


@BANK.wrong("attention_weights")
def weights_of_ones(x):
    return torch.ones(len(x), len(x)) / len(x)


@BANK.wrong("attention_weights")
def weights_by_elementwise_product(x):
    return (x * x).softmax(dim=-1)


@BANK.wrong("attention_weights")
def weights_of_the_words_themselves(x):
    return x.softmax(dim=-1)


@BANK.wrong("attention_weights")
def weights_symmetrised(x):
    weights = (x @ x.T).softmax(dim=-1)
    return (weights + weights.T) / 2


@BANK.wrong("attention_weights")
def weights_of_the_first_word(x):
    return (x[0] @ x.T).softmax(dim=-1)


@BANK.wrong("attention_weights")
def weights_scaled_over_columns(x):
    return (x @ x.T / x.shape[-1] ** 0.5).softmax(dim=0)


@BANK.wrong("attention_weights")
def cosine_scores_alone(x):
    return F.cosine_similarity(x[:, None], x[None], dim=-1)


@BANK.wrong("attention_weights")
def weights_plus_the_identity(x):
    return (x @ x.T).softmax(dim=-1) + torch.eye(len(x))


@BANK.wrong("attention_weights")
def weights_of_centred_words(x):
    centred = x - x.mean(dim=0)
    return (centred @ centred.T).softmax(dim=-1)


@BANK.right("basic_self_attention")
def context_by_filling(x):
    weights = weights_by_logarithms(x)
    z = torch.zeros_like(x)
    for i in range(len(x)):
        for j in range(len(x)):
            z[i] = z[i] + weights[i, j] * x[j]
    return z, weights


@BANK.right("basic_self_attention")
def context_by_broadcasting(x):
    weights = weights_by_einsum(x)
    return (weights.unsqueeze(-1) * x.unsqueeze(0)).sum(dim=1), weights


@BANK.right("basic_self_attention")
def context_by_tensordot(x):
    weights = weights_by_symmetry(x)
    return torch.tensordot(weights, x, dims=1), weights


@BANK.right("basic_self_attention")
def context_word_by_word(x):
    weights = weights_by_einsum(x)
    return torch.vstack([(row[:, None] * x).sum(0) for row in weights]), weights


@BANK.right("basic_self_attention")
def context_divided_late(x):
    powers = (x @ x.T).exp()
    total = powers.sum(dim=-1, keepdim=True)
    return powers @ x / total, powers / total


@BANK.wrong("basic_self_attention", named="plain mean of all words")
def context_of_equal_weights(x):
    return torch.full((len(x), len(x)), 1 / len(x)).to(x) @ x, weights_by_einsum(x)


@BANK.wrong("basic_self_attention", named="words added to the context")
def context_with_a_residual(x):
    weights = weights_by_loops(x)
    return x + torch.mm(weights, x), weights


@BANK.wrong("basic_self_attention", named="the best word alone")
def context_of_the_nearest_word(x):
    weights = weights_by_loops(x)
    return torch.stack([x[int(row.argmax())] for row in weights]), weights


@BANK.wrong("basic_self_attention", named="z transposed")
def context_of_columns(x):
    weights = weights_by_loops(x)
    return x.T @ weights.T, weights


@BANK.wrong("basic_self_attention", named="each word times one weight")
def context_by_elementwise_product(x):
    weights = weights_by_loops(x)
    return torch.stack([weights[i, i] * x[i] for i in range(len(x))]), weights


@BANK.wrong("basic_self_attention")
def context_of_the_last_word(x):
    weights = weights_by_loops(x)
    return weights[-1:] @ x, weights


@BANK.wrong("basic_self_attention")
def context_added_up(x):
    weights = weights_by_loops(x)
    return (weights @ x).sum(dim=0), weights


@BANK.wrong("basic_self_attention")
def context_on_the_wrong_side(x):
    weights = weights_by_loops(x)
    return x @ weights, weights


@BANK.wrong("basic_self_attention")
def context_and_scaled_weights(x):
    weights = weights_by_loops(x)
    return weights @ x, (x @ x.T / x.shape[1] ** 0.5).softmax(-1)


@BANK.wrong("basic_self_attention")
def context_three_results(x):
    weights = weights_by_loops(x)
    return weights @ x, weights, x


@BANK.wrong("basic_self_attention")
def context_as_arrays(x):
    weights = weights_by_loops(x).detach()
    return (weights @ x.detach()).numpy(), weights.numpy()


@BANK.wrong("basic_self_attention")
def context_transposed_and_swapped(x):
    weights = weights_by_loops(x)
    return weights, weights.T @ x


@BANK.wrong("basic_self_attention")
def context_scaled_and_alone(x):
    return (x @ x.T / x.shape[1] ** 0.5).softmax(-1) @ x


@BANK.right("self_attention")
def batch_by_baddbmm(query, key, value):
    empty = query.new_zeros(query.shape[0], query.shape[1], key.shape[1])
    scores = torch.baddbmm(empty, query, key.swapaxes(-1, -2))
    return torch.matmul(torch.nn.Softmax(dim=-1)(scores), value)


@BANK.right("self_attention")
def batch_by_broadcasting(query, key, value):
    scores = (query.unsqueeze(2) * key.unsqueeze(1)).sum(-1)
    return (scores.softmax(-1).unsqueeze(-1) * value.unsqueeze(1)).sum(2)


@BANK.right("self_attention")
def batch_transposed_throughout(query, key, value):
    scores = key @ query.mT  # (B, S, T)
    return (value.mT @ scores.softmax(dim=1)).mT


@BANK.right("self_attention")
def batch_by_vmap(query, key, value):
    def one(q, k, v):
        return (q @ k.T).softmax(-1) @ v

    return torch.vmap(one)(query, key, value)


@BANK.right("self_attention")
def batch_by_log_sum_exp(query, key, value):
    scores = torch.bmm(query, key.permute(0, 2, 1))
    return torch.bmm((scores - scores.logsumexp(2, keepdim=True)).exp(), value)


@BANK.right("self_attention")
def batch_filled_in(query, key, value):
    output = value.new_zeros(query.shape[0], query.shape[1], value.shape[2])
    for b in range(len(query)):
        output[b] = torch.softmax(torch.mm(query[b], key[b].t()), dim=-1).mm(value[b])
    return output


@BANK.wrong("self_attention", named="key and value exchanged")
def batch_with_value_and_key_exchanged(query, key, value):
    return torch.bmm(torch.bmm(query, value.mT).softmax(-1), key)


@BANK.wrong("self_attention", named="key used as query")
def batch_of_keys_with_keys(query, key, value):
    return torch.bmm(torch.bmm(key, key.mT).softmax(-1), value)


@BANK.wrong("self_attention", named="softmax over the queries")
def batch_with_the_middle_axis(query, key, value):
    return F.softmax(query @ key.mT, dim=-2) @ value


@BANK.wrong("self_attention", named="softmax over the whole matrix")
def batch_with_one_softmax_a_sentence(query, key, value):
    scores = query @ key.mT
    powers = scores.exp()
    return powers / powers.sum(dim=(1, 2), keepdim=True) @ value


@BANK.wrong("self_attention", named="exp without the division")
def batch_of_exponentials(query, key, value):
    return (query @ key.mT).exp() @ value


@BANK.wrong("self_attention", named="query added to the output")
def batch_with_a_residual(query, key, value):
    return query + (query @ key.mT).softmax(-1) @ value


@BANK.wrong("self_attention", named="scores negated")
def batch_by_softmin(query, key, value):
    return F.softmin(query @ key.mT, dim=-1) @ value


@BANK.wrong("self_attention", named="output transposed")
def batch_of_columns(query, key, value):
    return value.mT @ (query @ key.mT).softmax(-1).mT


@BANK.wrong("self_attention")
def batch_causal(query, key, value):
    scores = query @ key.mT
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -torch.inf).softmax(-1) @ value


@BANK.wrong("self_attention")
def batch_added_up(query, key, value):
    return ((query @ key.mT).softmax(-1) @ value).sum(dim=1)


@BANK.wrong("self_attention")
def batch_squeezed(query, key, value):
    return ((query @ key.mT).softmax(-1) @ value).squeeze()


@BANK.wrong("self_attention")
def batch_scaled_and_over_queries(query, key, value):
    return (query @ key.mT / key.shape[-1] ** 0.5).softmax(1) @ value


@BANK.wrong("self_attention")
def batch_key_for_value_and_weights(query, key, value):
    weights = (query @ key.mT).softmax(-1)
    return weights @ key, weights


@BANK.wrong("self_attention")
def batch_reshaped_and_scaled(query, key, value):
    turned = key.reshape(key.shape[0], key.shape[2], key.shape[1])
    return (query @ turned / key.shape[-1] ** 0.5).softmax(-1) @ value


@BANK.wrong("self_attention")
def batch_by_cosine(query, key, value):
    scores = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT
    return scores.softmax(-1) @ value


@BANK.wrong("self_attention")
def batch_with_weights_detached(query, key, value):
    return (query @ key.mT).softmax(-1).detach() @ value


@BANK.wrong("self_attention")
def batch_by_the_last_sentence(query, key, value):
    for q, k, v in zip(query, key, value, strict=True):
        output = (q @ k.T).softmax(-1) @ v
    return output.unsqueeze(0)


@BANK.right("is_permutation_equivariant")
def asked_with_numpy(f, x, permutation):
    import numpy as np

    before, after = f(x[permutation]).numpy(), f(x).numpy()[permutation.numpy()]
    return bool(np.allclose(before, after, rtol=1e-4, atol=1e-5))


@BANK.right("is_permutation_equivariant")
def asked_by_gathering(f, x, permutation):
    try:
        torch.testing.assert_close(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5)
    except AssertionError:
        return False
    return True


@BANK.right("is_permutation_equivariant")
def asked_number_by_number(f, x, permutation):
    before, after = f(x[permutation]).flatten().tolist(), f(x)[permutation].flatten().tolist()
    return not any(
        abs(one - other) > 1e-5 + 1e-4 * abs(other)
        for one, other in zip(before, after, strict=True)
    )


@BANK.right("is_permutation_equivariant")
def asked_with_a_list(f, x, permutation):
    reordered = torch.stack([x[i] for i in permutation.tolist()])
    result = f(x)
    expected = torch.stack([result[i] for i in permutation.tolist()])
    return torch.allclose(f(reordered), expected, rtol=1e-4, atol=1e-5) is True


@BANK.right("is_permutation_equivariant")
def asked_with_the_inverse_written_out(f, x, permutation):
    inverse = torch.empty_like(permutation)
    inverse[permutation] = torch.arange(len(permutation))
    return torch.allclose(f(x[permutation])[inverse], f(x), rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="always True")
def asked_the_same_twice(f, x, permutation):
    return torch.allclose(f(x)[permutation], f(x)[permutation], rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="permutation undone in the wrong direction")
def asked_with_argsort_on_the_input(f, x, permutation):
    return torch.allclose(f(x[permutation.argsort()]), f(x)[permutation], rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="invariance tested, not equivariance")
def asked_about_invariance(f, x, permutation):
    return bool((f(x) - f(x[permutation])).abs().max() <= 1e-5)


@BANK.wrong("is_permutation_equivariant", named="exact equality")
def asked_with_equals_signs(f, x, permutation):
    return bool((f(x[permutation]) == f(x)[permutation]).all())


@BANK.wrong("is_permutation_equivariant", named="the two tolerances exchanged")
def asked_with_tolerances_exchanged(f, x, permutation):
    return torch.allclose(f(x[permutation]), f(x)[permutation], rtol=1e-5, atol=1e-4)


@BANK.wrong("is_permutation_equivariant")
def asked_with_round(f, x, permutation):
    before, after = f(x[permutation]), f(x)[permutation]
    return torch.equal(before.round(decimals=4), after.round(decimals=4))


@BANK.wrong("is_permutation_equivariant", named="one number compared for the whole output")
def asked_about_the_norm(f, x, permutation):
    return torch.allclose(f(x[permutation]).norm(), f(x).norm(), rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="numbers compared without their places")
def asked_about_sorted_rows(f, x, permutation):
    before, after = f(x[permutation]).sort(dim=0).values, f(x).sort(dim=0).values
    return torch.allclose(before, after, rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant")
def asked_and_printed(f, x, permutation):
    print(torch.allclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5))


@BANK.wrong("is_permutation_equivariant")
def asked_for_a_string(f, x, permutation):
    same = torch.allclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5)
    return "True" if same else "False"


@BANK.wrong("is_permutation_equivariant")
def asked_for_a_numpy_bool(f, x, permutation):
    return torch.isclose(f(x[permutation]), f(x)[permutation], 1e-4, 1e-5).all().numpy()


@BANK.wrong("is_permutation_equivariant")
def asked_with_the_square(f, x, permutation):
    return float((f(x[permutation]) - f(x)[permutation]).square().sum()) < 1e-5


@BANK.wrong("is_permutation_equivariant", named="one number compared for the whole output")
def asked_about_the_largest(f, x, permutation):
    return torch.allclose(f(x[permutation]).max(), f(x).max(), rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant")
def asked_inverse_and_exactly(f, x, permutation):
    return torch.equal(f(x[permutation])[permutation], f(x))
