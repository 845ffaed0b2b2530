"""A language whose every sentence has a known probability, and models that are trained on it.

It is made of the two kinds of sentences of the course's grammar that are few enough to be counted through:
how somebody feels, and how something is. Lecture 9 judges its models on it.

Shapes: N sentences, T length with <bos>, <eos> and padding, V vocabulary, B batch.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lecture_kit import data
from lecture_kit.corpus.exact import distribution
from lecture_kit.corpus.statements import judgement, mood

BATCH, WARM_UP, PEAK = 128, 50, 0.004


class KnownLanguage(NamedTuple):
    """All sentences, and how probable each is."""

    sentences: tuple[str, ...]
    vocabulary: data.Vocabulary
    ids: Tensor  # (N, T) int64: <bos>, words, <eos>, padding
    probability: Tensor  # (N,) float64, sums to one
    tokens: float  # in a sentence on average, without <bos>
    floor: float  # the entropy in nats per token: no model has a smaller loss on average


@cache
def known_language() -> KnownLanguage:
    """The language of lecture 9: 70 678 sentences, 1.0208 nats per token. It takes two seconds, once."""
    exact = distribution([(2, mood), (3, judgement)])
    vocabulary = data.Vocabulary.from_sentences(exact)
    rows = [[data.BOS_ID, *vocabulary.encode(text), data.EOS_ID] for text in exact]
    longest = max(map(len, rows))
    ids = torch.tensor([row + [data.PAD_ID] * (longest - len(row)) for row in rows])
    probability = torch.tensor(list(exact.values()), dtype=torch.float64)
    counted = (ids != data.PAD_ID).sum(dim=1) - 1
    tokens = (probability * counted).sum().item()
    entropy = -(probability * probability.log()).sum().item()
    return KnownLanguage(tuple(exact), vocabulary, ids, probability, tokens, entropy / tokens)


def train(
    model: nn.Module,
    loss_of: Callable[[nn.Module, Tensor, torch.Generator], Tensor],
    steps: int = 600,
    seed: int = 0,
    peak: float = PEAK,
) -> nn.Module:
    """Train a model on sentences drawn from the known language, as lecture 9 does.

    Adam; the learning rate climbs for 50 steps and then falls to almost nothing.

    Args:
        model: takes ids (B, T).
        loss_of: gets the model, a batch (B, T) and a generator, and gives the loss.
        steps: batches of 128 sentences.
        seed: of what is drawn.
        peak: the largest learning rate.

    Returns:
        the model, in eval mode.
    """
    language = known_language()
    optimizer = torch.optim.Adam(model.parameters())
    generator = torch.Generator().manual_seed(seed)
    for step in range(1, steps + 1):
        rate = peak * min(step / WARM_UP, (steps - step + 1) / (steps - WARM_UP))
        optimizer.param_groups[0]["lr"] = rate
        drawn = torch.multinomial(
            language.probability, BATCH, replacement=True, generator=generator
        )
        loss = loss_of(model, language.ids[drawn], generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


@cache
def beginnings() -> Tensor:
    """Which beginning precedes each token of the known language.

    Returns:
        (N, T - 1) int64 tensor: entry t of sentence s numbers its first t + 1 tokens, from 0. Equal
        beginnings share a number. Where a sentence has ended, the entry is 0.
    """
    language = known_language()
    numbers = torch.zeros_like(language.ids[:, 1:])  # (N, T - 1)
    before, total = torch.zeros_like(numbers[:, 0]), 0  # of the beginning that is one token shorter
    for t in range(numbers.shape[1]):
        goes_on = language.ids[:, t + 1] != data.PAD_ID
        longer = before[goes_on] * len(language.vocabulary) + language.ids[goes_on, t]
        distinct, found = longer.unique(return_inverse=True)
        before[goes_on] = found
        numbers[goes_on, t] = total + found
        total += len(distinct)
    return numbers


@torch.no_grad()
def logits_of_beginnings(model: nn.Module) -> Tensor:
    """What a causal model predicts after every beginning of the known language: (beginnings, V)."""
    language, numbers = known_language(), beginnings()
    logits = torch.zeros(int(numbers.max()) + 1, len(language.vocabulary))
    for ids, which in zip(language.ids.split(2000), numbers.split(2000), strict=True):
        asked = ids[:, 1:] != data.PAD_ID  # (B, T - 1)
        logits[which[asked]] = model(ids)[:, :-1][asked][:, : logits.shape[1]]
    return logits


@torch.no_grad()
def exact_loss(model: nn.Module) -> float:
    """A causal model's loss over every sentence of the known language, in nats per token."""
    language = known_language()
    total = 0.0
    for batch, weights in zip(
        language.ids.split(2000), language.probability.split(2000), strict=True
    ):
        logits = model(batch)[:, :-1].transpose(1, 2)  # (B, V, T - 1)
        surprises = F.cross_entropy(
            logits, batch[:, 1:], ignore_index=data.PAD_ID, reduction="none"
        )
        total += (weights * surprises.double().sum(dim=1)).sum().item()
    return total / language.tokens
