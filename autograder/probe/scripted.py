"""Objects that a check may hand to student code, made by the probe from a name and plain data.

An object cannot cross the border as data, so a check sends an `autograder.probe.wire.Instance` and the
probe makes it here. What it answers comes from the tables or weights that are sent along.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn


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


def generator(seed: int) -> torch.Generator:
    """A generator of random numbers in the state that belongs to a seed."""
    return torch.Generator().manual_seed(seed)


def set_of(items: Iterable[Any]) -> set[Any]:
    """A set, which has no plain form of its own."""
    return set(items)


class GradebookWriter:
    """A hook that somebody else has put on a module: it notes what it sees, and changes nothing."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, module: nn.Module, *given: Any) -> None:
        self.seen.append(type(module).__name__)


def module(
    made_by: str,
    construct: Iterable[Any],
    keywords: dict[str, Any],
    state: dict[str, Tensor],
    dtype: str,
    training: Iterable[str],
    recorded: Iterable[str],
) -> nn.Module:
    """A module of a class that the notebook may import, with weights that are sent along.

    Args:
        made_by: the class, as ``package.module.Class``.
        construct, keywords: arguments of its constructor.
        state: weights by name, all of them.
        dtype: of its parameters, such as "float64".
        training: names of the modules in it that are in train mode, "" for the module itself.
        recorded: names of the modules in it that have a `GradebookWriter` before and after their forward
            pass. Where there are such, somebody else is training the module: its parameters have
            gradients, and the first one is frozen.
    """
    place, _, name = made_by.rpartition(".")
    made: nn.Module = getattr(importlib.import_module(place), name)(*construct, **keywords)
    made.to(getattr(torch, dtype)).load_state_dict(state)
    for own, part in made.named_modules():
        part.training = own in training
        if own in recorded:
            part.register_forward_pre_hook(GradebookWriter())
            part.register_forward_hook(GradebookWriter())
    for number, parameter in enumerate(made.parameters() if recorded else ()):
        parameter.grad = torch.ones_like(parameter)
        parameter.requires_grad_(number > 0)
    return made


MAKERS: dict[str, Callable[..., Any]] = {
    maker.__name__: maker for maker in (ScriptedTranslator, generator, module, set_of)
}
