"""Answers to `attention_weights`."""

import torch
import torch.nn.functional as F

from assignments.a2_self_attention.answers.bank import BANK


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


@BANK.wrong("attention_weights", told=("no gradient", "wrong about gradients"))
def weights_detached(x):
    return (x @ x.T).softmax(dim=-1).detach()


@BANK.wrong("attention_weights", told=("another dtype", "wrong in float64"))
def weights_always_float32(x):
    x = x.float()
    return (x @ x.T).softmax(dim=-1)


@BANK.wrong("attention_weights", told="stops with RuntimeError")
def weights_that_change_their_input(x):
    x -= x.mean()
    x += x.mean()
    return (x @ x.T).softmax(dim=-1)


@BANK.wrong("attention_weights", told=("stops with RuntimeError", "wrong with gaps in memory"))
def weights_by_view_of_contiguous_input_only(x):
    flat = x.view(-1)
    return (flat.view(x.shape) @ x.T).softmax(dim=-1)


@BANK.wrong("attention_weights", told="another type")
def weights_as_numpy(x):
    return (x @ x.T).softmax(dim=-1).detach().numpy()


@BANK.wrong("attention_weights", told="a list of numbers")
def weights_as_a_list(x):
    return (x @ x.T).softmax(dim=-1).tolist()


@BANK.wrong("attention_weights", told="weights that are no shares")
def weights_for_two_words_only(x):
    if x.shape == (2, 2):
        return torch.tensor([[0.9526, 0.0474], [0.7311, 0.2689]])
    return torch.full((len(x), len(x)), 1 / len(x))


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


@BANK.wrong("attention_weights", told="rounded")
def weights_rounded(x):
    return (x @ x.T).softmax(-1).mul(100).round().div(100)


@BANK.wrong("attention_weights", told="weights that are no shares")
def weights_of_ones(x):
    return torch.ones(len(x), len(x)) / len(x)


@BANK.wrong("attention_weights", told="too short or too long")
def weights_by_elementwise_product(x):
    return (x * x).softmax(dim=-1)


@BANK.wrong("attention_weights", told="too short or too long")
def weights_of_the_words_themselves(x):
    return x.softmax(dim=-1)


@BANK.wrong("attention_weights", told="weights that are no shares")
def weights_symmetrised(x):
    weights = (x @ x.T).softmax(dim=-1)
    return (weights + weights.T) / 2


@BANK.wrong("attention_weights", told="right numbers in another shape")
def weights_of_the_first_word(x):
    return (x[0] @ x.T).softmax(dim=-1)


@BANK.wrong(
    "attention_weights", named=("softmax over the columns", "scaled although unscaled was asked")
)
def weights_scaled_over_columns(x):
    return (x @ x.T / x.shape[-1] ** 0.5).softmax(dim=0)


@BANK.wrong("attention_weights", named=("scores returned for weights", "cosine similarity"))
def cosine_scores_alone(x):
    return F.cosine_similarity(x[:, None], x[None], dim=-1)


@BANK.wrong("attention_weights", told="weights that are no shares")
def weights_plus_the_identity(x):
    return (x @ x.T).softmax(dim=-1) + torch.eye(len(x))


@BANK.wrong("attention_weights")
def weights_of_centred_words(x):
    centred = x - x.mean(dim=0)
    return (centred @ centred.T).softmax(dim=-1)


@BANK.wrong("attention_weights", named="a word does not attend to itself")
def weights_of_the_others(x):
    scores = x @ x.T
    scores.fill_diagonal_(float("-inf"))
    return torch.softmax(scores, dim=-1)


@BANK.right("attention_weights")
def weights_by_nested_vmap(x):
    def scores_of(word):
        return torch.vmap(lambda other: word @ other)(x)

    return torch.vmap(scores_of)(x).softmax(dim=-1)


@BANK.wrong("attention_weights", named="a word does not attend to itself")
def weights_of_a_loop_without_itself(x):
    scores = x.new_zeros(len(x), len(x))
    for i in range(len(x)):
        for j in range(len(x)):
            if i != j:
                scores[i, j] = x[i] @ x[j]
    return scores.softmax(dim=-1)


@BANK.wrong("attention_weights", named="a word does not attend to itself")
def weights_with_the_diagonal_erased(x):
    weights = torch.softmax(x @ x.T, dim=-1)
    return weights * (1 - torch.eye(len(x), dtype=x.dtype))


@BANK.wrong("attention_weights", named="scores below the diagonal left at 0")
def weights_of_half_a_loop(x):
    scores = x.new_zeros(len(x), len(x))
    for i in range(len(x)):
        for j in range(i, len(x)):
            scores[i, j] = x[i] @ x[j]
    return scores.softmax(dim=-1)


@BANK.wrong("attention_weights", named="multiplied by √D")
def weights_scaled_up(x):
    return (x @ x.T * x.size(-1) ** 0.5).softmax(dim=-1)
