"""Answers to `self_attention`."""

import torch
import torch.nn.functional as F

from assignments.a2_self_attention.answers.bank import BANK


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


@BANK.wrong("self_attention", told="wrong with T ≠ S")
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


@BANK.wrong("self_attention", told=("no gradient", "wrong about gradients"))
def batch_without_gradient_for_the_keys(query, key, value):
    return batch_by_einsum(query, key.detach(), value)


@BANK.wrong("self_attention", told=("no gradient", "wrong about gradients"))
def batch_without_gradient(query, key, value):
    with torch.no_grad():
        return batch_by_einsum(query, key, value)


@BANK.wrong("self_attention", told="wrong by a constant factor")
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


@BANK.wrong("self_attention", named="query used as key and value")
def attend_to_the_query_alone(query, key, value):
    return torch.bmm(torch.bmm(query, query.mT).softmax(-1), query)


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


@BANK.wrong(
    "self_attention",
    named="softmax over the queries",
    published="labmlai/annotated_deep_learning_paper_implementations#146",
)
def batch_with_the_middle_axis(query, key, value):
    """The softmax runs along the axis of the queries."""
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


@BANK.wrong("self_attention", named="the future hidden")
def batch_causal(query, key, value):
    scores = query @ key.mT
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -torch.inf).softmax(-1) @ value


@BANK.wrong("self_attention", told="another number of axes")
def batch_added_up(query, key, value):
    return ((query @ key.mT).softmax(-1) @ value).sum(dim=1)


@BANK.wrong("self_attention", named="axes of length 1 squeezed")
def batch_squeezed(query, key, value):
    return ((query @ key.mT).softmax(-1) @ value).squeeze()


@BANK.wrong(
    "self_attention", named=("softmax over the queries", "scaled although unscaled was asked")
)
def batch_scaled_and_over_queries(query, key, value):
    return (query @ key.mT / key.shape[-1] ** 0.5).softmax(1) @ value


@BANK.wrong("self_attention", named=("key used as value", "weights returned beside the output"))
def batch_key_for_value_and_weights(query, key, value):
    weights = (query @ key.mT).softmax(-1)
    return weights @ key, weights


@BANK.wrong("self_attention", named=("scaled although unscaled was asked", "reshape for transpose"))
def batch_reshaped_and_scaled(query, key, value):
    turned = key.reshape(key.shape[0], key.shape[2], key.shape[1])
    return (query @ turned / key.shape[-1] ** 0.5).softmax(-1) @ value


@BANK.wrong("self_attention")
def batch_by_cosine(query, key, value):
    scores = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT
    return scores.softmax(-1) @ value


@BANK.wrong("self_attention", told=("no gradient", "wrong about gradients"))
def batch_with_weights_detached(query, key, value):
    return (query @ key.mT).softmax(-1).detach() @ value


@BANK.wrong("self_attention", told=("too short or too long", "wrong with several sentences"))
def batch_by_the_last_sentence(query, key, value):
    for q, k, v in zip(query, key, value, strict=True):
        output = (q @ k.T).softmax(-1) @ v
    return output.unsqueeze(0)


@BANK.wrong("self_attention", named="scaled although unscaled was asked")
def batch_scaled_by_the_values(query, key, value):
    return F.softmax(query @ key.mT / value.size(-1) ** 0.5, dim=-1) @ value


@BANK.wrong("self_attention", named="divided by d_v")
def batch_divided_by_the_width_of_the_values(query, key, value):
    return F.softmax(query @ key.mT / value.size(-1), dim=-1) @ value


@BANK.wrong("self_attention", named="axes of length 1 squeezed")
def batch_without_its_axis(query, key, value):
    return batch_by_matmul(query, key, value).squeeze(0)


@BANK.wrong("self_attention", named="axes of length 1 squeezed")
def batch_of_squeezed_weights(query, key, value):
    return torch.matmul((query @ key.mT).softmax(dim=-1).squeeze(), value)


@BANK.right("self_attention")
def batch_by_a_map_over_triples(query, key, value):
    def one_sentence(triple):
        q, k, v = triple
        return torch.softmax(q @ k.T, dim=1) @ v

    return torch.stack(list(map(one_sentence, zip(query, key, value, strict=True))))


@BANK.wrong("self_attention", named="only the first sentence used")
def batch_with_a_return_in_the_loop(query, key, value):
    for q, k, v in zip(query, key, value, strict=True):
        return torch.softmax(q @ k.T, dim=-1) @ v


@BANK.wrong("self_attention", named="only the last sentence used")
def batch_overwritten(query, key, value):
    for q, k, v in zip(query, key, value, strict=True):
        output = torch.softmax(q @ k.T, dim=-1) @ v
    return output


@BANK.wrong("self_attention", named="sentences joined end to end")
def batch_by_cat(query, key, value):
    triples = zip(query, key, value, strict=True)
    return torch.cat([torch.softmax(q @ k.T, dim=-1) @ v for q, k, v in triples])


@BANK.wrong("self_attention", named="a list of sentences")
def batch_in_a_list(query, key, value):
    triples = zip(query, key, value, strict=True)
    return [torch.softmax(q @ k.T, dim=-1) @ v for q, k, v in triples]


@BANK.wrong("self_attention", named="weights transposed before the sum")
def batch_with_columns_of_weights(query, key, value):
    weights = torch.bmm(query, key.transpose(1, 2)).softmax(dim=-1)
    return torch.bmm(weights.transpose(1, 2), value)


@BANK.wrong("self_attention", named="multiplied by √d_k")
def batch_scaled_up(query, key, value):
    scores = torch.bmm(query, key.transpose(1, 2)) * query.shape[-1] ** 0.5
    return torch.bmm(scores.softmax(dim=-1), value)


@BANK.wrong("self_attention", named="the sum loses its axis")
def batch_without_keepdim(query, key, value):
    shares = torch.exp(query @ key.mT)
    return shares / shares.sum(-1) @ value


@BANK.wrong("self_attention", named="the future hidden")
def batch_with_a_triangle(query, key, value):
    scores = torch.bmm(query, key.transpose(1, 2))
    seen = torch.tril(torch.ones_like(scores))
    return torch.bmm(scores.masked_fill(seen == 0, -torch.inf).softmax(dim=-1), value)


@BANK.wrong("self_attention", named="sentences of a batch added up")
def batch_in_one_sum(query, key, value):
    total = 0
    for asks, is_asked, carries in zip(query, key, value, strict=True):
        total = total + torch.softmax(asks @ is_asked.T, dim=-1) @ carries
    return total
