"""Answers to `basic_self_attention`."""

import torch

from assignments.a2_self_attention.answers.attention_weights import (
    weights_by_broadcasting,
    weights_by_einsum,
    weights_by_exp_and_sum,
    weights_by_logarithms,
    weights_by_loops,
    weights_by_symmetry,
)
from assignments.a2_self_attention.answers.bank import BANK


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


@BANK.wrong("basic_self_attention", named="scores returned for weights")
def context_with_the_scores_beside_it(x):
    return weights_by_einsum(x) @ x, x @ x.T


@BANK.wrong("basic_self_attention", told=("wrong gradient", "wrong about gradients"))
def context_detached(x):
    weights = weights_by_einsum(x)
    return (weights @ x).detach(), weights


@BANK.wrong("basic_self_attention", told=("wrong gradient", "wrong about gradients"))
def context_with_detached_weights(x):
    weights = weights_by_einsum(x.detach())
    return weights @ x, weights


@BANK.wrong("basic_self_attention", told=("another dtype", "wrong in float64"))
def context_always_float32(x):
    z, weights = context_by_einsum(x.float())
    return z, weights


@BANK.wrong("basic_self_attention", told="results in a dict")
def context_in_a_dict(x):
    z, weights = context_by_einsum(x)
    return {"z": z, "weights": weights}


@BANK.wrong("basic_self_attention", named="z and weights joined")
def context_stacked(x):
    z, weights = context_by_einsum(x)
    return torch.cat([z, weights], dim=1)


@BANK.wrong("basic_self_attention", named="scores returned for weights")
def context_and_scores(x):
    scores = torch.inner(x, x)
    return scores.softmax(-1) @ x, scores


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


@BANK.wrong("basic_self_attention", told="too short or too long")
def context_of_the_last_word(x):
    weights = weights_by_loops(x)
    return weights[-1:] @ x, weights


@BANK.wrong("basic_self_attention", told="another number of axes")
def context_added_up(x):
    weights = weights_by_loops(x)
    return (weights @ x).sum(dim=0), weights


@BANK.wrong("basic_self_attention", told="stops with RuntimeError")
def context_on_the_wrong_side(x):
    weights = weights_by_loops(x)
    return x @ weights, weights


@BANK.wrong("basic_self_attention", told="the z right, the weights wrong")
def context_and_scaled_weights(x):
    weights = weights_by_loops(x)
    return weights @ x, (x @ x.T / x.shape[1] ** 0.5).softmax(-1)


@BANK.wrong("basic_self_attention", told="another number of results")
def context_three_results(x):
    weights = weights_by_loops(x)
    return weights @ x, weights, x


@BANK.wrong("basic_self_attention", told="another type")
def context_as_arrays(x):
    weights = weights_by_loops(x).detach()
    return (weights @ x.detach()).numpy(), weights.numpy()


@BANK.wrong(
    "basic_self_attention",
    named=("results in the wrong order", "weights transposed before the sum"),
)
def context_transposed_and_swapped(x):
    weights = weights_by_loops(x)
    return weights, weights.T @ x


@BANK.wrong(
    "basic_self_attention",
    named=("z returned without the weights", "scaled although unscaled was asked"),
)
def context_scaled_and_alone(x):
    return (x @ x.T / x.shape[1] ** 0.5).softmax(-1) @ x


class Attended:
    def __init__(self, x):
        self.x = x

    @property
    def weights(self):
        return torch.mm(self.x, self.x.t()).softmax(dim=1)

    @property
    def z(self):
        return torch.mm(self.weights, self.x)


@BANK.right("basic_self_attention")
def context_in_properties(x):
    attended = Attended(x)
    return attended.z, attended.weights


@BANK.wrong("basic_self_attention", named="the last word alone")
def context_overwritten(x):
    weights = torch.softmax(x @ x.T, dim=-1)
    z = torch.zeros_like(x)
    for i in range(len(x)):
        for j in range(len(x)):
            z[i] = weights[i, j] * x[j]
    return z, weights


@BANK.wrong("basic_self_attention", named="the last word left out of the sum")
def context_without_the_last_word(x):
    weights = torch.softmax(x @ x.T, dim=-1)
    words = range(len(x) - 1)
    return sum((weights[:, j : j + 1] * x[j] for j in words), torch.zeros_like(x)), weights


@BANK.wrong("basic_self_attention", named="divided by the number of words")
def context_by_a_mean(x):
    weights = torch.softmax(x @ x.T, dim=-1)
    return (weights.unsqueeze(-1) * x).mean(dim=1), weights


@BANK.wrong("basic_self_attention", named="a softmax of the context vectors")
def context_with_a_softmax(x):
    weights = torch.softmax(x @ x.T, dim=-1)
    return torch.softmax(weights @ x, dim=-1), weights
