"""Slow answers that are right: number by number, and everything with everything."""

import math

import torch
from torch import nn

from assignments.a8_transformer_layer.answers import BANK as ENCODER
from assignments.a10_language_models.answers.bank import BANK
from assignments.common.slow import each_word
from autograder.bank.answers import LOOPS, PRODUCTS

ENCODERS = {given.code.__name__: given.code for given in ENCODER.answers if given.slow}


class Model(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, dropout=0.1, max_len=128):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_len, d_model)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            self.layer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        self.max_len = max_len

    def check(self, token_ids):
        if token_ids.shape[1] > self.max_len:
            raise ValueError(f"{token_ids.shape[1]} tokens are more than {self.max_len}")


@BANK.right("CausalLanguageModel", slow=LOOPS)
class ModelNumberByNumber(Model):
    layer = ENCODERS["LayerNumberByNumber"]

    def likely(self, word):
        logits = []
        for row in self.embedding.weight:
            total = word.new_zeros(())
            for one, other in zip(row, word, strict=True):
                total = total + one * other
            logits.append(total)
        return torch.stack(logits)

    def forward(self, token_ids):
        self.check(token_ids)
        (B, T), E, P = token_ids.shape, self.embedding.weight, self.position_embedding.weight
        sentences = []
        for b in range(B):
            words = []
            for t in range(T):
                numbers = [E[token_ids[b, t], j] + P[t, j] for j in range(E.shape[1])]
                words.append(torch.stack(numbers))
            sentences.append(torch.stack(words))
        x = self.dropout(torch.stack(sentences))
        seen = torch.zeros(T, T, dtype=torch.bool)
        for t in range(T):
            for s in range(t + 1):
                seen[t, s] = True
        for layer in self.layers:
            x = layer(x, seen)
        return each_word(self.likely, x)


@BANK.right("CausalLanguageModel", slow=PRODUCTS)
class ModelByBroadcasting(Model):
    layer = ENCODERS["LayerByBroadcasting"]

    def forward(self, token_ids):
        self.check(token_ids)
        E, T = self.embedding.weight, token_ids.shape[1]
        chosen = (token_ids.unsqueeze(-1) == torch.arange(len(E))).to(E.dtype)
        words = torch.einsum("btv,vd->btd", chosen, E)
        x = self.dropout(words + self.position_embedding.weight[:T])
        places = torch.arange(T)
        for layer in self.layers:
            x = layer(x, places <= places.unsqueeze(1))
        return (x.unsqueeze(-2) * E).sum(-1)


@BANK.right("next_token_loss", slow=LOOPS)
def loss_number_by_number(logits, token_ids, pad_id=0):
    (B, T, V), total, number = logits.shape, 0.0, 0
    for b in range(B):
        for t in range(T - 1):
            if token_ids[b, t + 1] == pad_id:
                continue
            largest = logits[b, t, 0]
            for v in range(V):
                largest = max(largest, logits[b, t, v])
            powers = 0.0
            for v in range(V):
                powers = powers + (logits[b, t, v] - largest).exp()
            total = total + powers.log() + largest - logits[b, t, token_ids[b, t + 1]]
            number += 1
    return total / number


@BANK.right("next_token_loss", slow=PRODUCTS)
def loss_by_products(logits, token_ids, pad_id=0):
    asked = (token_ids[:, 1:] != pad_id).to(logits.dtype)
    wanted = token_ids[:, 1:, None] == torch.arange(logits.shape[2])
    surprise = -logits[:, :-1].log_softmax(-1)
    total = torch.einsum("btv,btv,bt->", surprise, wanted.to(logits.dtype), asked)
    return total / torch.einsum("bt,bt->", asked, asked)


def refuse(temperature, top_k, top_p):
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError(f"{temperature=} and {top_k=} do not go")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"{top_p=} is not above 0 and up to 1")


@BANK.right("sample_next", slow=LOOPS)
def sample_number_by_number(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    refuse(temperature, top_k, top_p)
    ids = []
    for b in range(logits.shape[0]):
        numbers = [float(logits[b, v].detach()) for v in range(logits.shape[1])]
        order = sorted(range(len(numbers)), key=lambda v: -numbers[v])
        if temperature == 0:
            ids.append(order[0])
            continue
        kept = [v for v in order[:top_k] if numbers[v] > -math.inf]
        powers = [math.exp((numbers[v] - numbers[order[0]]) / temperature) for v in kept]
        chances = [power / sum(powers) for power in powers]
        if top_p is not None:
            total, count = 0.0, 0
            while count < len(kept) and total < top_p:
                total += chances[count]
                count += 1
            kept, chances = kept[:count], chances[:count]
        point = float(torch.rand((), generator=generator)) * sum(chances)
        place = 0
        while place < len(kept) - 1 and point >= chances[place]:
            point -= chances[place]
            place += 1
        ids.append(kept[place])
    return torch.tensor(ids)


@BANK.right("sample_next", slow=PRODUCTS)
def sample_among_all_pairs(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    refuse(temperature, top_k, top_p)
    logits = logits.detach()
    places = torch.arange(logits.shape[1])
    one, other = logits.unsqueeze(2), logits.unsqueeze(1)
    # of two words that are equally likely the first comes first: (B, V, V)
    before = (other > one) | ((other == one) & (places < places.unsqueeze(1)))
    rank = before.sum(-1)
    if temperature == 0:
        return ((rank == 0) * places).sum(-1)
    logits = logits / temperature
    if top_k is not None:
        logits = logits.masked_fill(rank >= top_k, -torch.inf)
    chances = logits.softmax(-1)
    if top_p is not None:
        likelier = torch.einsum("bvw,bw->bv", before.to(chances.dtype), chances)
        chances = chances * (likelier < top_p)
    sums = (chances.unsqueeze(1) * (places <= places.unsqueeze(1))).sum(-1)
    points = torch.rand(len(logits), 1, generator=generator, dtype=sums.dtype) * sums[:, -1:]
    ids = (points >= sums).sum(-1)
    likeliest = ((rank == 0) * places).sum(-1)
    possible = (chances > 0).gather(1, ids.clamp(max=len(places) - 1).unsqueeze(1)).squeeze(1)
    return ids.where(possible & (ids < len(places)), likeliest)


@BANK.right("mask_words", slow=LOOPS)
def hide_word_by_word(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    inputs, targets = token_ids.clone(), torch.empty_like(token_ids)
    for b in range(token_ids.shape[0]):
        for t in range(token_ids.shape[1]):
            targets[b, t] = -100
            word = int(token_ids[b, t])
            if word in special_ids or torch.rand((), generator=generator) >= share:
                continue
            targets[b, t] = word
            fate = torch.rand((), generator=generator)
            if fate < 0.8:
                inputs[b, t] = mask_id
            elif fate < 0.9:
                inputs[b, t] = torch.randint(vocab_size, (), generator=generator)
    return inputs, targets


@BANK.right("mask_words", slow=PRODUCTS)
def hide_by_products(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    special = (token_ids.unsqueeze(-1) == torch.tensor(special_ids)).sum(-1)
    chosen = (torch.rand(token_ids.shape, generator=generator) < share) * (1 - special)
    fate = torch.rand(token_ids.shape, generator=generator)
    words = torch.randint(vocab_size, token_ids.shape, generator=generator)
    hidden, random = chosen * (fate < 0.8), chosen * (fate >= 0.9)
    inputs = hidden * mask_id + random * words + (1 - hidden - random) * token_ids
    return inputs, chosen * token_ids - 100 * (1 - chosen)


@BANK.right("learn_merges", slow=LOOPS)
def merges_letter_by_letter(word_counts, num_merges):
    words = [[letter for letter in word] for word in word_counts]
    numbers = [word_counts[word] for word in word_counts]
    merges = []
    for _ in range(num_merges):
        counts = {}
        for symbols, number in zip(words, numbers, strict=True):
            for place in range(len(symbols) - 1):
                pair = symbols[place], symbols[place + 1]
                counts[pair] = counts.get(pair, 0) + number
        best = None
        for pair, count in counts.items():
            if best is None or (-count, pair) < (-counts[best], best):
                best = pair
        if best is None or counts[best] == 0:
            break
        merges.append(best)
        for symbols in words:
            place = 0
            while place < len(symbols) - 1:
                if (symbols[place], symbols[place + 1]) == best:
                    symbols[place : place + 2] = [best[0] + best[1]]
                place += 1
    return merges


@BANK.right("learn_merges", slow=PRODUCTS)
def merges_of_all_symbols_with_all(word_counts, num_merges):
    words, merges = {word: tuple(word) for word in word_counts}, []
    while len(merges) < num_merges:
        symbols = sorted({symbol for word in words.values() for symbol in word})
        place = {symbol: number for number, symbol in enumerate(symbols)}
        counts = torch.zeros(len(symbols), len(symbols), dtype=torch.int64)
        for word, cut in words.items():
            if len(cut) > 1:
                hot = torch.eye(len(symbols), dtype=torch.int64)[[place[one] for one in cut]]
                pairs = hot[:-1].unsqueeze(2) * hot[1:].unsqueeze(1)
                counts = counts + word_counts[word] * pairs.sum(0)
        if not counts.any():
            break
        best = min((-int(counts[i, j]), symbols[i], symbols[j]) for i, j in counts.nonzero())[1:]
        merges.append(best)
        for word, cut in words.items():
            joined, k = [], 0
            while k < len(cut):
                together = cut[k : k + 2] == best
                joined.append("".join(best) if together else cut[k])
                k += 1 + together
            words[word] = tuple(joined)
    return merges
