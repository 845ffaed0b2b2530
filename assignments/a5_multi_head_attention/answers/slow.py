"""Right answers that are slow: in loops over single numbers, and in products that are not optimised."""

import math

import torch

from assignments.a5_multi_head_attention.answers.bank import BANK
from assignments.a5_multi_head_attention.answers.multi_head_attention import FourMaps
from autograder.bank.answers import LOOPS, PRODUCTS


@BANK.right("split_heads", slow=LOOPS)
def split_by_single_numbers(x, num_heads):
    B, T, d_model = x.shape
    d_k = d_model // num_heads
    heads = x.new_zeros(B, num_heads, T, d_k)
    for b in range(B):
        for h in range(num_heads):
            for t in range(T):
                for k in range(d_k):
                    heads[b, h, t, k] = x[b, t, h * d_k + k]
    return heads


@BANK.right("split_heads", slow=PRODUCTS)
def split_by_products(x, num_heads):
    d_model = x.shape[-1]
    owners = torch.eye(d_model, dtype=x.dtype).reshape(d_model, num_heads, d_model // num_heads)
    return (x[:, None, :, :, None] * owners.transpose(0, 1)[:, None]).sum(dim=3)


@BANK.right("merge_heads", slow=LOOPS)
def merged_number_by_number(x):
    B, H, T, d_k = x.shape
    sentences = []
    for b in range(B):
        words = []
        for t in range(T):
            words.append(torch.stack([x[b, h, t, k] for h in range(H) for k in range(d_k)]))
        sentences.append(torch.stack(words))
    return torch.stack(sentences)


@BANK.right("merge_heads", slow=PRODUCTS)
def merged_by_products(x):
    _, H, _, d_k = x.shape
    owners = torch.eye(H * d_k, dtype=x.dtype).reshape(H, d_k, H * d_k)
    return torch.einsum("bhtk,hkd,de->bte", x, owners, torch.eye(H * d_k, dtype=x.dtype))


def mapped(x, layer):
    """A linear layer on (B, T, d_model), number by number, as lists in lists."""
    sentences = []
    for b in range(x.shape[0]):
        words = []
        for t in range(x.shape[1]):
            word = []
            for i in range(layer.weight.shape[0]):
                total = layer.bias[i]
                for k in range(layer.weight.shape[1]):
                    total = total + layer.weight[i, k] * x[b, t, k]
                word.append(total)
            words.append(torch.stack(word))
        sentences.append(torch.stack(words))
    return torch.stack(sentences)


@BANK.right("MultiHeadAttention", slow=LOOPS)
class NumberByNumber(FourMaps):
    def forward(self, query, key, value, mask=None):
        (B, T, _), S, H, d_k = query.shape, key.shape[1], self.num_heads, self.d_k
        if mask is not None:
            mask = mask.expand(B, H, T, S)
        q, k, v = mapped(query, self.w_q), mapped(key, self.w_k), mapped(value, self.w_v)
        weights = q.new_zeros(B, H, T, S)
        contexts = q.new_zeros(B, T, self.d_model)
        for b in range(B):
            for h in range(H):
                features = range(h * d_k, (h + 1) * d_k)
                for t in range(T):
                    scores = []
                    for s in range(S):
                        if mask is not None and not mask[b, h, t, s]:
                            continue
                        total = 0.0
                        for d in features:
                            total = total + q[b, t, d] * k[b, s, d]
                        scores.append((s, total / math.sqrt(d_k)))
                    if not scores:
                        continue
                    largest = max(float(score.detach()) for _, score in scores)
                    powers = [(s, torch.exp(score - largest)) for s, score in scores]
                    whole = sum(power for _, power in powers)
                    for s, power in powers:
                        weights[b, h, t, s] = power / whole
                    for d in features:
                        total = 0.0
                        for s, power in powers:
                            total = total + power / whole * v[b, s, d]
                        contexts[b, t, d] = total
        return mapped(contexts, self.w_o), weights


@BANK.right("MultiHeadAttention", slow=PRODUCTS)
class InProductsOfAllWithAll(FourMaps):
    def maps(self, x, layer):
        return (x[:, :, None, :] * layer.weight).sum(dim=-1) + layer.bias

    def forward(self, query, key, value, mask=None):
        q = self.maps(query, self.w_q).unflatten(-1, (self.num_heads, self.d_k))
        k = self.maps(key, self.w_k).unflatten(-1, (self.num_heads, self.d_k))
        v = self.maps(value, self.w_v).unflatten(-1, (self.num_heads, self.d_k))
        scores = (q[:, :, None] * k[:, None]).sum(dim=-1)  # (B, T, S, H, d_k) before the sum
        weights = self.softmax(scores.permute(0, 3, 1, 2) / math.sqrt(self.d_k), mask)
        contexts = torch.einsum("bhts,bshd,hg->btgd", weights, v, torch.eye(self.num_heads).to(v))
        return self.maps(contexts.flatten(2), self.w_o), weights
