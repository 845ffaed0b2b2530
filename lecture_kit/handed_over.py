"""What checks hand to answers: functions of a sequence, and a model that reads its results from a table.

Where an answer runs, it is made there by its name, since neither can travel as data. Assignment 2 is asked
about the functions, (T, D) in and T rows out, and assignment 9 decodes with the model. They hold no answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn


def doubled(x: Tensor) -> Tensor:
    """Treats each row alone: equivariant."""
    return 2 * x


def unchanged(x: Tensor) -> Tensor:
    """The identity: equivariant, not invariant."""
    return x.clone()


def centred(x: Tensor) -> Tensor:
    """Mixes rows through their mean: equivariant, with rounding that depends on the order."""
    return x - x.mean(dim=0)


def share_of_total(x: Tensor) -> Tensor:
    """Softmax down the sequence: equivariant, with rounding that depends on the order."""
    return x.softmax(dim=0)


def total_everywhere(x: Tensor) -> Tensor:
    """The same row at every position: equivariant and invariant at once."""
    return x.sum(dim=0).expand_as(x).clone()


def row_lengths(x: Tensor) -> Tensor:
    """One number a row, shape (T,): equivariant."""
    return x.norm(2, dim=1)


def running_sum(x: Tensor) -> Tensor:
    """Each row adds those before it: depends on the order."""
    return x.cumsum(dim=0)


def backwards(x: Tensor) -> Tensor:
    """Rows in reverse: depends on the order."""
    return x.flip(0)


def sorted_rows(x: Tensor) -> Tensor:
    """Sorts each column: the order of the input leaves no trace, so invariant, not equivariant."""
    return x.sort(dim=0)[0]


def minus_first(x: Tensor) -> Tensor:
    """Compares each row with the first: depends on the order."""
    return x - x[0]


def slightly_positional(x: Tensor) -> Tensor:
    """Adds 0.0005 times the position: depends on the order, but only a little."""
    return x + 0.0005 * _positions(x)


def barely_positional(x: Tensor) -> Tensor:
    """Numbers near 1 with an effect of order below the tolerances: equivariant for all purposes."""
    return 1 + torch.sigmoid(x) + 6e-5 * _positions(x) / len(x)


def large_and_barely_positional(x: Tensor) -> Tensor:
    """Numbers near 1000 with an effect of order of 0.03: forgiven by the relative tolerance only."""
    return 1000 + torch.sigmoid(x) + 0.03 * _positions(x) / len(x)


def nearly_nothing(x: Tensor) -> Tensor:
    """Numbers below 1e-5 that depend on the order: forgiven by the absolute tolerance only."""
    return (8e-6 * _positions(x) / len(x)).expand_as(x).clone()


def large_and_positional(x: Tensor) -> Tensor:
    """Numbers near 1000 with an effect of order of 0.4: too large for the relative tolerance."""
    return 1000 + torch.sigmoid(x) + 0.7 * _positions(x) / len(x)


def small_and_positional(x: Tensor) -> Tensor:
    """Numbers below 1e-4 that depend on the order: too much for the absolute tolerance."""
    return (8e-5 * _positions(x) / len(x)).expand_as(x).clone()


def last_column_positional(x: Tensor) -> Tensor:
    """Only the last column depends on the order."""
    return torch.cat([x[:, :-1], x[:, -1:] + _positions(x)], dim=1)


def first_everywhere(x: Tensor) -> Tensor:
    """The first row at every position: one number of each row grows or shrinks with the order."""
    return x[:1].expand_as(x).clone()


def minus_first_everywhere(x: Tensor) -> Tensor:
    """The first row, negated, at every position."""
    return -x[:1].expand_as(x)


def in_three_axes(x: Tensor) -> Tensor:
    """Each row times itself, shape (T, D, D): equivariant, with a third axis."""
    return x.unsqueeze(2) * x.unsqueeze(1)


def _positions(x: Tensor) -> Tensor:
    """The number of each row, (T, 1)."""
    return torch.arange(len(x), dtype=x.dtype).unsqueeze(1)


def all_pairs(x: Tensor) -> Tensor:
    """Distances between rows, shape (T, T): permutes along both axes, so not equivariant."""
    return torch.cdist(x, x)


class Backwards(nn.Module):
    """Turns the last axis round in train mode, where dropout would leave things to chance."""

    def forward(self, x: Tensor) -> Tensor:
        return x.flip(-1) if self.training else x


class ScriptedTranslator(nn.Module):
    """Looks like a trained transformer, and reads its logits from a table.

    The logits after each target position depend on the first source token and on every target
    token so far, and on no later one. In train mode encoder and decoder give something else.

    Args:
        scores: (N, M, V) float tensor: one row of logits for each source sentence and each
            `state_of` the target so far.
        pad_id: the id that fills up short sentences.
        training: names of the modules that are in train mode: "" for the model itself, "encoder",
            "decoder".
        rows: how many rows of targets may be decoded, counted over all calls; None is no limit.
        max_len: the longest target that can be read; None is no limit.
    """

    def __init__(
        self,
        scores: Tensor,
        pad_id: int,
        training: Iterable[str] = (),
        rows: int | None = None,
        max_len: int | None = None,
    ) -> None:
        super().__init__()
        self.scores = nn.Parameter(scores.clone())
        self.pad_id = pad_id
        self.rows, self.max_len = rows, max_len
        self.encoder, self.decoder = Backwards(), Backwards()
        for name, module in self.named_modules():
            module.training = name in training

    def encode(self, src: Tensor) -> Tensor:
        """Read source sentences: (B, S) int64 ids → memory (B, S, 2)."""
        _check_ids(src, "src")
        return self.encoder(torch.stack([src, src + 1], dim=-1).to(self.scores.dtype))

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """Score the word after each target position: (B, T), (B, S, 2), (B, S) → (B, T, V)."""
        _check_ids(tgt, "tgt")
        _check_ids(src, "src")
        if not memory.is_floating_point() or memory.shape[:2] != src.shape:
            raise ValueError(
                "memory is what encode(src) gives for this src, (B, S, D); got the shapes "
                f"{tuple(memory.shape)} and {tuple(src.shape)}"
            )
        if len(tgt) != len(src):
            raise ValueError(f"tgt has {len(tgt)} rows and src has {len(src)}")
        if self.max_len is not None and tgt.shape[1] > self.max_len:
            raise ValueError(
                f"a target of length {tgt.shape[1]} is longer than max_len = {self.max_len}"
            )
        if self.rows is not None:
            self.rows -= len(tgt)
            if self.rows < 0:
                raise RuntimeError("every sentence has ended, and the model is asked again")
        sentence = memory[:, 0, 0].round().long() % self.scores.shape[0]  # (B,)
        logits = self.scores[sentence.unsqueeze(1), state_of(tgt, self.scores.shape[1])]
        return self.decoder(logits)  # (B, T, V)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Both together: (B, S), (B, T) → (B, T, V)."""
        return self.decode(tgt, self.encode(src), src)


def state_of(tgt: Tensor, states: int) -> Tensor:
    """A number below ``states`` for each beginning of each target: (B, T) → (B, T)."""
    places = torch.arange(1, tgt.shape[1] + 1, device=tgt.device)
    return (tgt * places).cumsum(dim=1) % states


def _check_ids(ids: Any, name: str) -> None:
    if not isinstance(ids, Tensor) or ids.dtype != torch.int64 or ids.dim() != 2:
        kind = (
            f"{ids.dtype} of shape {tuple(ids.shape)}"
            if isinstance(ids, Tensor)
            else type(ids).__name__
        )
        raise TypeError(f"{name} is an int64 tensor with two axes, (batch, length); got {kind}")
