"""What the answers to several parts share."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class OwnAttention(nn.Module):
    """Attention by einsum, with dropout on the weights."""

    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        self.heads, self.p = num_heads, dropout
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask):
        b, t, d = query.shape
        q = self.w_q(query).reshape(b, t, self.heads, -1)
        k = self.w_k(key).reshape(b, key.shape[1], self.heads, -1)
        v = self.w_v(value).reshape(b, key.shape[1], self.heads, -1)
        scores = torch.einsum("bthk,bshk->bhts", q, k) / math.sqrt(d // self.heads)
        if mask is None:
            mask = torch.ones(t, key.shape[1], dtype=torch.bool)
        hidden = ~mask.expand(scores.shape)
        weights = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(-1)
        weights = F.dropout(weights.masked_fill(hidden, 0.0), self.p, self.training)
        return self.w_o(torch.einsum("bhts,bshk->bthk", weights, v).reshape(b, t, d))
