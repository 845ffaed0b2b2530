"""Small language models whose blocks differ in one thing at a time, for comparing these things.

All of them are pre-LN, have two layers, tied embeddings and nearly equally many parameters, and learn
the English side of the course's grammar.

Shapes: B batch, T length, D = d_model = 48, V vocabulary.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.attention import merge_heads, scaled_dot_product_attention, split_heads
from course_utils.evaluation import evaluating
from course_utils.masks import causal_mask
from course_utils.modern import RMSNorm, apply_rotary
from course_utils.positional import positional_encoding
from lecture_kit import data

D_MODEL, HEADS, LAYERS, D_FF = 48, 4, 2, 192
WINDOW, BATCH, WARM_UP = 48, 16, 30
Activation = Callable[[Tensor], Tensor]
GATES: dict[str, Activation] = {"swiglu": F.silu, "bilinear": lambda x: x}
ACTIVATIONS: dict[str, Activation] = {"relu": F.relu, "gelu": F.gelu}


class Variant(NamedTuple):
    """What a block is made of; the defaults are those of 2017, with the norms in front."""

    rms_norm: bool = False
    feed_forward: str = "relu"  # or "gelu", "swiglu", "bilinear"
    rotary: bool = False
    biases: bool = True
    scaled: bool = True  # embeddings times √D


class VariantModel(nn.Module):
    """A causal language model of blocks of one kind.

    Args:
        vocab_size: V, the number of words.
        variant: what the blocks are made of.

    Raises:
        ValueError: the feed-forward network is none of the four.
    """

    table: Tensor

    def __init__(self, vocab_size: int, variant: Variant):
        super().__init__()
        self.variant = variant
        self.embedding = nn.Embedding(vocab_size, D_MODEL)
        nn.init.normal_(self.embedding.weight, std=D_MODEL**-0.5)
        self.layers = nn.ModuleList(_Block(variant) for _ in range(LAYERS))
        self.norm = _norm(variant)
        self.register_buffer("table", positional_encoding(4 * WINDOW, D_MODEL), persistent=False)

    def forward(self, token_ids: Tensor) -> Tensor:
        """Score every word as the next one: (B, T) int64 tensor → (B, T, V) logits."""
        length = token_ids.shape[1]
        x = self.embedding(token_ids)  # (B, T, D)
        if self.variant.scaled:
            x = x * math.sqrt(D_MODEL)
        if not self.variant.rotary:
            x = x + self.table[:length]
        mask = causal_mask(length, token_ids.device)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x) @ self.embedding.weight.T


class _Block(nn.Module):
    def __init__(self, variant: Variant):
        super().__init__()
        self.rotary = variant.rotary
        self.norm1, self.norm2 = _norm(variant), _norm(variant)
        self.maps = nn.ModuleList(
            nn.Linear(D_MODEL, D_MODEL, bias=variant.biases) for _ in range(4)
        )
        self.feed_forward = _FeedForward(variant)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        w_q, w_k, w_v, w_o = self.maps
        normed = self.norm1(x)
        query, key, value = (split_heads(w(normed), HEADS) for w in (w_q, w_k, w_v))
        if self.rotary:
            positions = torch.arange(x.shape[1], device=x.device)
            query, key = apply_rotary(query, positions), apply_rotary(key, positions)
        context, _ = scaled_dot_product_attention(query, key, value, mask)
        x = x + w_o(merge_heads(context))
        return x + self.feed_forward(self.norm2(x))


class _FeedForward(nn.Module):
    """Two maps, or three of two thirds of the width where one of them is a gate."""

    def __init__(self, variant: Variant):
        super().__init__()
        kind = variant.feed_forward
        if kind not in GATES and kind not in ACTIVATIONS:
            known = ", ".join([*ACTIVATIONS, *GATES])
            raise ValueError(f"expected one of {known} as feed_forward, found {kind!r}")
        self.kind, inner = kind, D_FF if kind in ACTIVATIONS else 2 * D_FF // 3
        self.up = nn.Linear(D_MODEL, inner, bias=variant.biases)
        self.gate = nn.Linear(D_MODEL, inner, bias=variant.biases) if kind in GATES else None
        self.down = nn.Linear(inner, D_MODEL, bias=variant.biases)

    def forward(self, x: Tensor) -> Tensor:
        if self.gate is None:
            return self.down(ACTIVATIONS[self.kind](self.up(x)))
        return self.down(GATES[self.kind](self.gate(x)) * self.up(x))


def _norm(variant: Variant) -> nn.Module:
    return RMSNorm(D_MODEL) if variant.rms_norm else nn.LayerNorm(D_MODEL, bias=variant.biases)


@cache
def english_text() -> tuple[data.Vocabulary, Tensor, Tensor]:
    """The vocabulary, and the ids of the text to learn from and of the text to test with.

    Returns:
        vocabulary, and two int64 tensors (words,): English sentences one after the other, each with
        its <eos>, about 82 000 and 20 000 words.
    """
    parts = data.splits(train=6_000, validation=0, test=1_500)
    vocabulary = data.Vocabulary.from_sentences(pair.target for pair in parts.train)
    train, test = (
        torch.tensor([k for pair in pairs for k in (*vocabulary.encode(pair.target), data.EOS_ID)])
        for pairs in (parts.train, parts.test)
    )
    return vocabulary, train, test


def train(variant: Variant, seed: int, steps: int = 200, rate: float = 3e-3) -> VariantModel:
    """Train a model; with the same seed, every variant gets the same batches in the same order.

    AdamW without weight decay; the learning rate warms up over 30 steps and then decays linearly to 0.

    Args:
        variant: what the blocks are made of.
        seed: of the weights and of the batches.
        steps: batches of 16 windows of 48 words.
        rate: the highest learning rate, at the end of the warm-up.

    Returns:
        the model, in eval mode.
    """
    vocabulary, _, _ = english_text()
    torch.manual_seed(seed)
    model = VariantModel(len(vocabulary), variant)
    fit(model, seed, steps, rate)
    return model.eval()


def fit(model: nn.Module, seed: int, steps: int = 200, rate: float = 3e-3) -> None:
    """Train any language model on the text, with the batches and rates of `train`."""
    _, text, _ = english_text()
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.0)
    generator = torch.Generator().manual_seed(seed)
    for step in range(1, steps + 1):
        share = min(step / WARM_UP, (steps - step + 1) / (steps - WARM_UP))
        optimizer.param_groups[0]["lr"] = rate * share
        starts = torch.randint(len(text) - WINDOW, (BATCH, 1), generator=generator)
        windows = text[starts + torch.arange(WINDOW + 1)]  # (B, T + 1)
        logits = model(windows[:, :-1])  # (B, T, V)
        loss = F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def held_out_loss(model: nn.Module) -> float:
    """Mean surprise at the next word in new sentences, in nats."""
    _, _, text = english_text()
    count = (len(text) - 1) // WINDOW
    reads = text[: count * WINDOW].view(count, WINDOW)  # (N, T)
    says = text[1 : count * WINDOW + 1].view(count, WINDOW)
    with evaluating(model):
        return F.cross_entropy(model(reads).flatten(0, 1), says.flatten()).item()
