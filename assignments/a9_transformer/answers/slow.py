"""Slow answers that are right: number by number, and everything with everything."""

import math

import torch
from torch import nn

from assignments.a8_transformer_layer.answers import BANK as ENCODER
from assignments.a9_transformer.answers.bank import BANK
from assignments.a9_transformer.answers.transformer import Outline
from assignments.common.slow import (
    attended,
    attended_at_once,
    each_word,
    mapped,
    mapped_at_once,
    normed,
    normed_at_once,
)
from autograder.bank.answers import LOOPS, PRODUCTS
from course_utils.attention import MultiHeadAttention

ENCODERS = {given.code.__name__: given.code for given in ENCODER.answers if given.slow}


class Layer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.cross_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = ENCODERS[self.network](d_model, d_ff, dropout)
        self.layer_norm1 = nn.LayerNorm(d_model)
        self.layer_norm2 = nn.LayerNorm(d_model)
        self.layer_norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)


@BANK.right("DecoderLayer", slow=LOOPS)
class DecoderNumberByNumber(Layer):
    network = "NetworkNumberByNumber"

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = x + self.dropout(attended(self.self_attn, x, x, x, self_mask))
        x = each_word(lambda word: normed(self.layer_norm1, word), x)
        x = x + self.dropout(attended(self.cross_attn, x, memory, memory, memory_mask))
        x = each_word(lambda word: normed(self.layer_norm2, word), x)
        x = x + self.dropout(self.feed_forward(x))
        return each_word(lambda word: normed(self.layer_norm3, word), x)


@BANK.right("DecoderLayer", slow=PRODUCTS)
class DecoderByBroadcasting(Layer):
    network = "NetworkByBroadcasting"

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        change = attended_at_once(self.self_attn, x, x, x, self_mask)
        x = normed_at_once(self.layer_norm1, x + self.dropout(change))
        change = attended_at_once(self.cross_attn, x, memory, memory, memory_mask)
        x = normed_at_once(self.layer_norm2, x + self.dropout(change))
        return normed_at_once(self.layer_norm3, x + self.dropout(self.feed_forward(x)))


class Model(Outline):
    def dropped(self, x):
        return self.positional_encoding.dropout(x)

    def check(self, ids):
        if ids.shape[1] > self.max_len:
            raise ValueError(f"{ids.shape[1]} words are more than max_len={self.max_len}")


@BANK.right("Transformer", slow=LOOPS)
class ModelNumberByNumber(Model):
    encoder, decoder = ENCODERS["LayerNumberByNumber"], DecoderNumberByNumber

    def embedded(self, table, ids):
        self.check(ids)
        sentences = []
        for sentence in ids:
            words = []
            for t in range(len(sentence)):
                word = []
                for j in range(self.d_model):
                    angle = t / 10000 ** ((j - j % 2) / self.d_model)
                    place = math.sin(angle) if j % 2 == 0 else math.cos(angle)
                    word.append(table.weight[sentence[t], j] * self.d_model**0.5 + place)
                words.append(torch.stack(word))
            sentences.append(torch.stack(words))
        return self.dropped(torch.stack(sentences))

    def real(self, ids):
        real = torch.zeros(len(ids), 1, 1, ids.shape[1], dtype=torch.bool)
        for b in range(len(ids)):
            for t in range(ids.shape[1]):
                real[b, 0, 0, t] = bool(ids[b, t] != self.pad_id)
        return real

    def encode(self, src):
        x = self.embedded(self.src_embedding, src)
        for layer in self.encoder_layers:
            x = layer(x, self.real(src))
        return x

    def decode(self, tgt, memory, src):
        x, T = self.embedded(self.tgt_embedding, tgt), tgt.shape[1]
        real = self.real(tgt)
        seen = torch.zeros(len(tgt), 1, T, T, dtype=torch.bool)
        for t in range(T):
            seen[:, 0, t, : t + 1] = real[:, 0, 0, : t + 1]
        for layer in self.decoder_layers:
            x = layer(x, memory, seen, self.real(src))
        return each_word(lambda word: mapped(self.generator, word), x)


@BANK.right("Transformer", slow=PRODUCTS)
class ModelByBroadcasting(Model):
    encoder, decoder = ENCODERS["LayerByBroadcasting"], DecoderByBroadcasting

    def embedded(self, table, ids):
        self.check(ids)
        chosen = (ids.unsqueeze(-1) == torch.arange(table.num_embeddings)).to(table.weight.dtype)
        words = torch.einsum("btv,vd->btd", chosen, table.weight) * self.d_model**0.5
        places = torch.arange(ids.shape[1], dtype=torch.float64).unsqueeze(1)
        j = torch.arange(self.d_model)
        angles = places / 10000 ** ((j - j % 2) / self.d_model)
        return self.dropped(words + torch.where(j % 2 == 0, angles.sin(), angles.cos()).to(words))

    def encode(self, src):
        x = self.embedded(self.src_embedding, src)
        for layer in self.encoder_layers:
            x = layer(x, (src != self.pad_id)[:, None, None])
        return x

    def decode(self, tgt, memory, src):
        x, places = self.embedded(self.tgt_embedding, tgt), torch.arange(tgt.shape[1])
        seen = (tgt != self.pad_id)[:, None, None] & (places <= places.unsqueeze(1))
        for layer in self.decoder_layers:
            x = layer(x, memory, seen, (src != self.pad_id)[:, None, None])
        return mapped_at_once(self.generator, x)


class Asleep:
    """Has all parts of a model in eval mode, and gives each its own mode back."""

    def __init__(self, model):
        self.modes = [(part, part.training) for part in model.modules()]

    def __enter__(self):
        for part, _ in self.modes:
            part.training = False

    def __exit__(self, *_):
        for part, training in self.modes:
            part.training = training


@BANK.right("greedy_decode", slow=LOOPS)
def greedy_number_by_number(model, src, bos_id, eos_id, max_len):
    with Asleep(model), torch.no_grad():
        memory = model.encode(src)
        rows = [[bos_id] for _ in src]
        while len(rows[0]) < max_len and not all(eos_id in row[1:] for row in rows):
            logits = model.decode(torch.tensor(rows), memory, src)
            for b in range(len(rows)):
                likeliest = 0
                for v in range(logits.shape[2]):
                    if logits[b, -1, v] > logits[b, -1, likeliest]:
                        likeliest = v
                rows[b].append(model.pad_id if eos_id in rows[b][1:] else likeliest)
    return torch.tensor(rows)


@BANK.right("greedy_decode", slow=PRODUCTS)
def greedy_among_all_pairs(model, src, bos_id, eos_id, max_len):
    with Asleep(model), torch.no_grad():
        memory = model.encode(src)
        ids = torch.full((len(src), 1), bos_id)
        ended = torch.zeros(len(src), dtype=torch.bool)
        while ids.shape[1] < max_len and not ended.all():
            last = model.decode(ids, memory, src)[:, -1]
            # the likeliest word is above all others: (B, V, V)
            above = (last.unsqueeze(2) >= last.unsqueeze(1)).all(-1).to(torch.int64)
            word = (above * torch.arange(last.shape[1])).sum(-1).where(~ended, model.pad_id)
            ids = torch.cat([ids, word.unsqueeze(1)], 1)
            ended = ended | (word == eos_id)
    return ids
