"""Right answers that are slow: in loops over single numbers, and in products that are not optimised."""

import math

import torch

from assignments.a7_dropout_and_layer_norm.answers.bank import BANK
from assignments.a7_dropout_and_layer_norm.answers.self_attention_with_dropout_and_norm import Parts
from assignments.a7_dropout_and_layer_norm.answers.shared import Learned
from autograder.bank.answers import LOOPS, PRODUCTS


@BANK.right("LayerNorm", slow=LOOPS)
class NumberByNumber(Learned):
    def forward(self, x):
        rows = []
        for token in x.reshape(-1, self.features):
            mean = 0.0
            for k in range(self.features):
                mean = mean + token[k] / self.features
            variance = 0.0
            for k in range(self.features):
                variance = variance + (token[k] - mean) ** 2 / self.features
            row = []
            for k in range(self.features):
                normed = (token[k] - mean) / torch.sqrt(variance + self.eps)
                row.append(normed * self.weight[k] + self.bias[k])
            rows.append(torch.stack(row))
        return torch.stack(rows).reshape(x.shape)


@BANK.right("LayerNorm", slow=PRODUCTS)
class ByPairsOfFeatures(Learned):
    def forward(self, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        # half the mean square of all differences is the variance: (..., D, D) before the mean
        apart = centred[..., :, None] - centred[..., None, :]
        variance = apart.square().mean(dim=(-2, -1)).unsqueeze(-1) / 2
        diagonal = torch.eye(self.features).to(x)
        normed = centred / torch.sqrt(variance + self.eps)
        return torch.einsum("...d,de,e->...e", normed, diagonal, self.weight) + self.bias


@BANK.right("SelfAttentionWithDropoutAndNorm", slow=LOOPS)
class AttentionNumberByNumber(Parts):
    def forward(self, query, key, value):
        (B, T, d_k), S, features = query.shape, key.shape[1], value.shape[2]
        weights = []
        for b in range(B):
            for t in range(T):
                scores = []
                for s in range(S):
                    total = 0.0
                    for k in range(d_k):
                        total = total + query[b, t, k] * key[b, s, k]
                    scores.append(total / math.sqrt(d_k))
                largest = max(float(score.detach()) for score in scores)
                whole = 0.0
                for score in scores:
                    whole = whole + torch.exp(score - largest)
                for score in scores:
                    weights.append(torch.exp(score - largest) / whole)
        weights = self.dropout(torch.stack(weights).reshape(B, T, S))
        sums = []
        for b in range(B):
            for t in range(T):
                for d in range(features):
                    total = 0.0
                    for s in range(S):
                        total = total + weights[b, t, s] * value[b, s, d]
                    sums.append(total)
        return self.layer_norm(torch.stack(sums).reshape(B, T, features))


@BANK.right("SelfAttentionWithDropoutAndNorm", slow=PRODUCTS)
class AttentionInProductsOfAllWithAll(Parts):
    def forward(self, query, key, value):
        products = query[:, :, None] * key[:, None]  # (B, T, S, d_k)
        weights = self.dropout((products.sum(dim=-1) / math.sqrt(key.shape[-1])).softmax(dim=-1))
        return self.layer_norm((weights[..., None] * value[:, None]).sum(dim=2))


@BANK.right("row_sums_under_dropout", slow=LOOPS)
def sums_number_by_number(weights, rate, draws, generator=None):
    T, S = weights.shape
    means, deviations = [], []
    for i in range(T):
        sums = []
        for _ in range(draws):
            total = 0.0
            for j in range(S):
                if torch.rand((), generator=generator) >= rate:
                    total = total + float(weights[i, j]) / (1 - rate)
            sums.append(total)
        mean = sum(sums) / draws
        means.append(mean)
        deviations.append(math.sqrt(sum((each - mean) ** 2 for each in sums) / draws))
    return weights.new_tensor(means), weights.new_tensor(deviations)


@BANK.right("row_sums_under_dropout", slow=PRODUCTS)
def sums_by_products_of_three(weights, rate, draws, generator=None):
    T, S = weights.shape
    kept = (torch.rand(draws, T, S, generator=generator) >= rate).to(weights.dtype)
    same = torch.eye(T, dtype=weights.dtype)  # 1 where the weights are those of the mask's own row
    sums = torch.einsum("nts,us,tu->nt", kept, weights, same) / (1 - rate)
    return sums.mean(dim=0), sums.std(dim=0, correction=0)
