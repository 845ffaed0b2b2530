"""Lecture 4's language model under three masks, with more seeds, another learning rate and longer training.

    python sources/recorded/leaks.py

prints the table that lecture 4 shows: for each mask, learning rate and number of steps the median and
the range of five seeds, of four shares. It takes about three minutes on one core.

- teacher-forced: right next tokens when the whole held-out sentence goes in;
- token by token: right next tokens when the input ends where the question is asked;
- free-running: sentences that are well-formed when three words are given and the model goes on;
- copied: how often output i is the random word that was put at input i + 1.
"""

from collections.abc import Iterator
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.attention import masked_softmax
from course_utils.masks import shift_right
from lecture_kit import data
from lecture_kit.data import BOS_ID, EOS_ID, PAD_ID

LONGEST, SEEDS = 10, range(5)
LENGTH = LONGEST + 1  # with <eos>
MASKS = {
    "causal": torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril(),
    "off by one": torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril(diagonal=1),
    "padding only": torch.ones(LENGTH, LENGTH, dtype=torch.bool),
}
TRAININGS = [(0.006, 150), (0.002, 150), (0.002, 600)]  # learning rate, steps


class MaskedSelfAttention(nn.Module):
    """Lecture 4's layer: one head under a mask that is a buffer."""

    def __init__(self, d_model: int, may_attend: Tensor) -> None:
        super().__init__()
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.register_buffer("may_attend", may_attend)

    def forward(self, x: Tensor, is_token: Tensor) -> Tensor:
        """x (B, T, D), is_token (B, T) -> (B, T, D)."""
        query, key, value = self.w_q(x), self.w_k(x), self.w_v(x)
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        size = x.shape[1]
        mask = self.may_attend[:size, :size] & is_token[:, None, :]
        return masked_softmax(scores, mask) @ value


class LanguageModel(nn.Module):
    """Lecture 4's model: two layers, each with a residual connection around both of its parts."""

    def __init__(self, vocabulary_size: int, may_attend: Tensor, d_model: int = 64) -> None:
        super().__init__()
        self.token_vectors = nn.Embedding(vocabulary_size, d_model)
        self.position_vectors = nn.Embedding(len(may_attend), d_model)
        self.attention = nn.ModuleList(MaskedSelfAttention(d_model, may_attend) for _ in range(2))
        self.feed_forward = nn.ModuleList(
            nn.Sequential(nn.Linear(d_model, 128), nn.ReLU(), nn.Linear(128, d_model))
            for _ in range(2)
        )
        self.to_logits = nn.Linear(d_model, vocabulary_size)

    def forward(self, ids: Tensor) -> Tensor:
        """ids (B, T) -> logits (B, T, V)."""
        x = self.token_vectors(ids) + self.position_vectors.weight[: ids.shape[1]]
        for attention, feed_forward in zip(self.attention, self.feed_forward, strict=True):
            x = x + attention(x, ids != PAD_ID)
            x = x + feed_forward(x)
        return self.to_logits(x)


class Sentences:
    """The sentences of lecture 4: 300 held out, the others to train on."""

    def __init__(self) -> None:
        drawn = [pair.target for pair in data.sample_pairs(30_000, seed=0, part="train")]
        texts = list(dict.fromkeys(text for text in drawn if len(text.split()) <= LONGEST))
        self.vocabulary = data.Vocabulary.from_sentences(texts)
        rows = [[*self.vocabulary.encode(text), EOS_ID] for text in texts]
        ids = torch.tensor([row + [PAD_ID] * (LENGTH - len(row)) for row in rows])
        self.held_out, self.train = ids[:300], ids[300:]
        self.known = set().union(*(neighbours(row) for row in self.train.tolist()))


def neighbours(row: list[int]) -> set[tuple[int, int]]:
    """The pairs of tokens that follow each other, from <bos> to <eos>."""
    ids = [BOS_ID, *row]
    ids = ids[: ids.index(EOS_ID) + 1] if EOS_ID in ids else ids
    return set(pairwise(ids))


def trained(
    sentences: Sentences, may_attend: Tensor, rate: float, steps: int, seed: int
) -> LanguageModel:
    """Lecture 4's training."""
    torch.manual_seed(seed)
    model = LanguageModel(len(sentences.vocabulary), may_attend)
    batches = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    decay = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=steps)
    for _ in range(steps):
        chosen = torch.randint(len(sentences.train), (32,), generator=batches)
        target = sentences.train[chosen]
        logits = model(shift_right(target, BOS_ID))
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD_ID)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay.step()
    return model


@torch.no_grad()
def shares(model: LanguageModel, sentences: Sentences) -> list[float]:
    """Teacher-forced, token by token, free-running, copied."""
    target = sentences.held_out
    shifted, counts = shift_right(target, BOS_ID), target != PAD_ID
    forced = model(shifted).argmax(dim=-1)
    prefixes = [model(shifted[:, : i + 1])[:, -1].argmax(dim=-1) for i in range(LENGTH)]
    stepwise = torch.stack(prefixes, dim=1)

    written = shifted[:, :4]
    while written.shape[1] <= LENGTH:
        following = model(written)[:, -1].argmax(dim=-1, keepdim=True)
        written = torch.cat([written, following], dim=1)
    rows = written[:, 1:].tolist()
    good = [EOS_ID in row and neighbours(row) <= sentences.known for row in rows]

    draw = torch.Generator().manual_seed(0)
    copied = []
    for i in range(LENGTH - 1):
        changed = shifted.clone()
        words = (EOS_ID + 1, len(sentences.vocabulary))
        changed[:, i + 1] = torch.randint(*words, (len(target),), generator=draw)
        named = model(changed)[:, i].argmax(dim=-1) == changed[:, i + 1]
        copied.append(named[shifted[:, i + 1] != PAD_ID])
    return [
        (forced == target)[counts].float().mean().item(),
        (stepwise == target)[counts].float().mean().item(),
        sum(good) / len(good),
        torch.cat(copied).float().mean().item(),
    ]


def lines(sentences: Sentences) -> Iterator[str]:
    """One line for each mask and training."""
    for name, may_attend in MASKS.items():
        for rate, steps in TRAININGS:
            models = [trained(sentences, may_attend, rate, steps, seed) for seed in SEEDS]
            rows = torch.tensor([shares(model, sentences) for model in models])  # (seeds, 4)
            numbers = "".join(
                f"   {column.median():.3f} {column.min():.3f} {column.max():.3f}"
                for column in rows.T
            )
            yield f"{name:<13}{rate:.3f}{steps:6d}{numbers}"


if __name__ == "__main__":
    torch.set_num_threads(1)
    heads = ("teacher-forced", "token by token", "free-running", "copied")
    print(f"{'mask':<13} rate steps" + "".join(f"   {head:<17}" for head in heads))
    for line in lines(Sentences()):
        print(line, flush=True)
