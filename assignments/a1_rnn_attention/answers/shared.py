"""What the answers to several parts share."""

import torch
import torch.nn.functional as F
from torch import nn


class ThreeMaps(nn.Module):
    """What most answers below share: the three layers. The rest is their own."""

    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__()
        self.W = nn.Linear(decoder_dim, attention_dim, bias=False)
        self.U = nn.Linear(encoder_dim, attention_dim, bias=False)
        self.v = nn.Linear(attention_dim, 1, bias=False)

    def scores(self, state, annotations):
        return self.v(torch.tanh(self.W(state)[:, None] + self.U(annotations)))[..., 0]

    def softmax(self, scores, mask):
        if mask is None:
            return F.softmax(scores, dim=1)
        hidden = mask.logical_not()
        return F.softmax(scores.masked_fill(hidden, -torch.inf), dim=1).masked_fill(hidden, 0)

    def context(self, weights, annotations):
        return (weights[..., None] * annotations).sum(dim=1)

    def forward(self, state, annotations, mask=None):
        weights = self.softmax(self.scores(state, annotations), mask)
        return self.context(weights, annotations), weights
