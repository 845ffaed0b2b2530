"""Slow answers that are right: number by number, and everything with everything."""

import math

import torch
from torch import nn

from assignments.a12_modern_block.answers.bank import BANK
from assignments.common.slow import (
    each_word,
    mapped,
    mapped_at_once,
    seen_by_heads,
    weighed,
    weighed_at_once,
)
from autograder.bank.answers import LOOPS, PRODUCTS


class Norm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.eps = eps


@BANK.right("RMSNorm", slow=LOOPS)
class NormNumberByNumber(Norm):
    def word(self, word):
        total = word.new_zeros(())
        for j in range(len(word)):
            total = total + word[j] * word[j]
        root = (total / len(word) + self.eps) ** 0.5
        return torch.stack([word[j] / root * self.weight[j] for j in range(len(word))])

    def forward(self, x):
        return each_word(self.word, x)


@BANK.right("RMSNorm", slow=PRODUCTS)
class NormByProducts(Norm):
    def forward(self, x):
        square = torch.einsum("...i,...i->...", x, x).unsqueeze(-1) / x.shape[-1]
        scale = (torch.eye(x.shape[-1], dtype=x.dtype) * self.weight).unsqueeze(0)
        return (((square + self.eps) ** -0.5 * x).unsqueeze(-2) * scale).sum(-1).view_as(x)


def refuse_odd(d_k):
    if d_k % 2:
        raise ValueError(f"{d_k} features are no pairs")


@BANK.right("apply_rotary", slow=LOOPS)
def turned_number_by_number(x, positions, base=10000.0, factor=1.0):
    B, H, T, d_k = x.shape
    refuse_odd(d_k)
    sentences = []
    for b in range(B):
        heads = []
        for h in range(H):
            words = []
            for t in range(T):
                place = int(positions[b, t] if positions.dim() == 2 else positions[t]) / factor
                word = []
                for j in range(0, d_k, 2):
                    angle = place / base ** (j / d_k)
                    cos, sin = math.cos(angle), math.sin(angle)
                    even, odd = x[b, h, t, j], x[b, h, t, j + 1]
                    word += [even * cos - odd * sin, even * sin + odd * cos]
                words.append(torch.stack(word))
            heads.append(torch.stack(words))
        sentences.append(torch.stack(heads))
    return torch.stack(sentences)


@BANK.right("apply_rotary", slow=PRODUCTS)
def turned_by_matrices(x, positions, base=10000.0, factor=1.0):
    d_k = x.shape[-1]
    refuse_odd(d_k)
    speeds = base ** (torch.arange(0, d_k, 2).double() / d_k)
    angles = positions.double().unsqueeze(-1) / factor / speeds
    cos, sin = (part.repeat_interleave(2, -1) for part in (angles.cos(), angles.sin()))
    places = torch.arange(d_k)
    even = (places % 2 == 0).double()
    # where the other one of a pair stands, with its sign: (d_k, d_k)
    partner = (places.unsqueeze(1) == places + 1 - 2 * (places % 2)) * (1 - 2 * even).unsqueeze(1)
    turn = cos.unsqueeze(-1) * torch.eye(d_k) + sin.unsqueeze(-1) * partner
    turn = turn.to(x.dtype)
    if positions.dim() == 2:
        turn = turn.unsqueeze(1)
    return (turn * x.unsqueeze(-2)).sum(-1)


class Gate(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)


@BANK.right("SwiGLU", slow=LOOPS)
class GateNumberByNumber(Gate):
    def word(self, word):
        gate, up = mapped(self.w_gate, word), mapped(self.w_up, word)
        inner = [gate[i] / (1 + (-gate[i]).exp()) * up[i] for i in range(len(up))]
        return mapped(self.w_down, torch.stack(inner))

    def forward(self, x):
        return each_word(self.word, x)


@BANK.right("SwiGLU", slow=PRODUCTS)
class GateByProducts(Gate):
    def forward(self, x):
        gate = mapped_at_once(self.w_gate, x)
        w_up, w_down = self.w_up.weight, self.w_down.weight
        return torch.einsum("...f,fi,...i,of->...o", gate * gate.sigmoid(), w_up, x, w_down)


class Block(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, base=10000.0, eps=1e-6):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model} features are not {num_heads} equal heads")
        self.num_heads, self.base = num_heads, base
        self.norm1, self.norm2 = self.norm(d_model, eps), self.norm(d_model, eps)
        self.w_q, self.w_k, self.w_v, self.w_o = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(4)
        )
        self.feed_forward = self.network(d_model, d_ff)


@BANK.right("ModernBlock", slow=LOOPS)
class BlockNumberByNumber(Block):
    norm, network = NormNumberByNumber, GateNumberByNumber

    def forward(self, x, mask=None, positions=None):
        (B, T, D), H = x.shape, self.num_heads
        places = torch.arange(T) if positions is None else positions
        seen, normed = seen_by_heads(mask, B, H, T, T), self.norm1(x)
        q, k, v = (
            each_word(lambda word, layer=layer: mapped(layer, word), normed).view(B, T, H, D // H)
            for layer in (self.w_q, self.w_k, self.w_v)
        )
        q, k = (turned_number_by_number(part.transpose(1, 2), places, self.base) for part in (q, k))
        sentences = []
        for b in range(B):
            heads = [weighed(q[b, h], k[b, h], v[b, :, h], seen[b, h])[0] for h in range(H)]
            joined = torch.cat(heads, 1)
            sentences.append(each_word(lambda word: mapped(self.w_o, word), joined))
        x = x + torch.stack(sentences)
        return x + self.feed_forward(self.norm2(x))


@BANK.right("ModernBlock", slow=PRODUCTS)
class BlockByProducts(Block):
    norm, network = NormByProducts, GateByProducts

    def forward(self, x, mask=None, positions=None):
        places = torch.arange(x.shape[1]) if positions is None else positions
        normed, H = self.norm1(x), self.num_heads
        q, k, v = (
            mapped_at_once(layer, normed).unflatten(-1, (H, -1)).transpose(1, 2)
            for layer in (self.w_q, self.w_k, self.w_v)
        )
        q, k = (turned_by_matrices(part, places, self.base) for part in (q, k))
        context, _ = weighed_at_once(q, k, v, mask)
        x = x + mapped_at_once(self.w_o, context.transpose(1, 2).flatten(2))
        return x + self.feed_forward(self.norm2(x))
