"""Wrong answers to `BahdanauAttention` whose layers have other names, or that add up wrongly."""

import torch
from torch import nn

from assignments.a1_rnn_attention.answers.bank import BANK
from assignments.a1_rnn_attention.answers.shared import ThreeMaps


@BANK.wrong("BahdanauAttention", told="weights with other names")
class LayersWithACapitalV(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        del self.v
        self.V = nn.Linear(attention_dim, 1, bias=False)

    def scores(self, state, annotations):
        return self.V(torch.tanh(self.W(state)[:, None] + self.U(annotations)))[..., 0]


@BANK.wrong("BahdanauAttention", told="weights with other names")
class VInASequential(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        self.v = nn.Sequential(nn.Tanh(), self.v)

    def scores(self, state, annotations):
        return self.v(self.W(state)[:, None] + self.U(annotations))[..., 0]


@BANK.wrong("BahdanauAttention", named="v a bare parameter")
class VAsAColumn(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        del self.v
        self.v = nn.Parameter(torch.randn(attention_dim, 1))

    def scores(self, state, annotations):
        return (torch.tanh(self.W(state)[:, None] + self.U(annotations)) @ self.v)[..., 0]


@BANK.wrong("BahdanauAttention", named="the sum loses its axis")
class SumsWithoutTheirAxis(ThreeMaps):
    def softmax(self, scores, mask):
        shares = torch.exp(scores)
        if mask is not None:
            shares = shares.masked_fill(~mask, 0.0)
        return shares / shares.sum(1)


@BANK.wrong("BahdanauAttention", named="the last word alone in the context")
class ContextOverwritten(ThreeMaps):
    def context(self, weights, annotations):
        for j in range(annotations.shape[1]):
            context = weights[:, j : j + 1] * annotations[:, j]
        return context


@BANK.wrong("BahdanauAttention", named="the first word left out of the context")
class ContextFromTheSecondWord(ThreeMaps):
    def context(self, weights, annotations):
        context = annotations.new_zeros(len(annotations), annotations.shape[2])
        for j in range(1, annotations.shape[1]):
            context = context + weights[:, j : j + 1] * annotations[:, j]
        return context


@BANK.wrong("BahdanauAttention", named="the last word left out of the context")
class ContextWithoutTheLastWord(ThreeMaps):
    def context(self, weights, annotations):
        words = range(annotations.shape[1] - 1)
        none = torch.zeros_like(annotations[:, 0])
        return sum((weights[:, j, None] * annotations[:, j] for j in words), none)
