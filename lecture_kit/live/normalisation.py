"""The normalisation view: which entries of a batch share one mean, and who moves with whom.

Shapes: B sentences, T tokens, D features.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lecture_kit.live.checked import as_float64, as_words, refuse_beyond
from lecture_kit.live.page import View, framed, plain_table

AXES = ("B", "T", "D")

MOST = (4, 8, 8)
"""Sentences, tokens and features that fit a page."""

SMALLEST_EPS, LARGEST_EPS = 1e-12, 1.0


def normalisation_view(
    x: Any,
    sentences: Sequence[Sequence[str]] | None = None,
    caption: str = "Which entries share one mean?",
    over: Iterable[str] = ("D",),
    chosen: tuple[int, int, int] = (0, 0, 0),
    eps: float = 1e-5,
) -> View:
    """A view in which the reader chooses the axes that share a mean, and changes single numbers.

    y = (x − μ) / √(σ² + ε),  μ and σ² over the entries that differ only along the chosen axes

    The browser computes in float64, with the variance divided by the number of entries, what
    `layers.LayerNorm` (over D) and `nn.BatchNorm1d` in training mode (over B and T) compute with
    γ = 1 and β = 0. Numbers that moved, because the reader changed one of x, are marked.

    Args:
        x: (B, T, D) numbers: a tensor, an array or lists; up to 4 sentences, 8 tokens, 8 features.
        sentences: B lists of T words; None counts the tokens.
        caption: what the view shows, in a sentence; also the frame's name for screen readers.
        over: the axes that are averaged over at the start, some of "B", "T" and "D".
        chosen: (sentence, token, feature) at the start, counted from 0.
        eps: ε, 1e-12 to 1.

    Returns:
        View: HTML below 50 kB beside the numbers.

    Raises:
        ValueError: a shape, word, axis, place, ε or caption does not fit; a number is not finite or
            beyond 1e100.

    Source: Ba et al. (2016), eq. 4; Ioffe and Szegedy (2015), algorithm 1; lecture 7.
    """
    batch = _batch(x)
    words = _words(sentences, batch.shape[:2])
    axes = _axes(over)
    _refuse_place(chosen, batch.shape)
    _refuse_eps(eps)
    content = {
        "x": batch.tolist(),
        "words": words,
        "over": axes,
        "chosen": [int(place) for place in chosen],
        "eps": float(eps),
    }
    table = _table("before", batch, words, caption) + _table(
        f"after, averaged over {', '.join(axes) or 'no axis'}",
        _normalised(batch, axes, eps),
        words,
        caption,
    )
    return framed("normalisation", caption, content, table, 560 + 70 * batch.shape[0])


def _batch(x: Any) -> NDArray[np.float64]:
    batch = as_float64("x", x)
    if batch.ndim != 3 or not all(
        1 <= size <= most for size, most in zip(batch.shape, MOST, strict=True)
    ):
        raise ValueError(
            f"x: expected the shape (B, T, D) with 1 to {MOST[0]} sentences, {MOST[1]} tokens and "
            f"{MOST[2]} features; found {batch.shape}. Take a small piece of a batch."
        )
    refuse_beyond("x", batch, "A mean over them would not be finite.")
    return batch


def _words(sentences: Sequence[Sequence[str]] | None, shape: tuple[int, ...]) -> list[list[str]]:
    if sentences is None:
        return [[f"token {t + 1}" for t in range(shape[1])] for _ in range(shape[0])]
    words = [list(as_words("sentences", sentence)) for sentence in sentences]
    if [len(sentence) for sentence in words] != [shape[1]] * shape[0]:
        raise ValueError(
            f"sentences: expected {shape[0]} of {shape[1]} words, as x has; found "
            f"{[len(sentence) for sentence in words]!r:.80}. Fill short sentences with <pad>."
        )
    return words


def _axes(over: Iterable[str]) -> list[str]:
    found = list(over)
    if len(set(found)) < len(found) or not set(found) <= set(AXES):
        raise ValueError(
            f"over: expected some of 'B', 'T' and 'D', each once; found {found!r:.80}. "
            "Layer norm is 'D'."
        )
    return [axis for axis in AXES if axis in found]


def _refuse_place(chosen: tuple[int, int, int], shape: tuple[int, ...]) -> None:
    if len(chosen) != 3 or any(
        place not in range(size) for place, size in zip(chosen, shape, strict=True)
    ):
        raise ValueError(
            f"chosen: expected (sentence, token, feature) within {shape}, counted from 0; found "
            f"{chosen!r:.80}."
        )


def _refuse_eps(eps: float) -> None:
    if not SMALLEST_EPS <= eps <= LARGEST_EPS:
        raise ValueError(
            f"eps: expected {SMALLEST_EPS:g} to {LARGEST_EPS:g}; found {eps!r}. Without it, equal "
            "entries would be divided by zero."
        )


def _normalised(batch: NDArray[np.float64], axes: list[str], eps: float) -> NDArray[np.float64]:
    """(B, T, D)"""
    over = tuple(AXES.index(axis) for axis in axes)
    centred = batch - batch.mean(axis=over, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=over, keepdims=True) + eps)


def _table(when: str, batch: NDArray[np.float64], words: list[list[str]], caption: str) -> str:
    """A row for each token, two decimals."""
    rows = [
        (f"sentence {b + 1}: {word}", [f"{x:.2f}" for x in batch[b, t]])
        for b, sentence in enumerate(words)
        for t, word in enumerate(sentence)
    ]
    heads = [f"feature {d + 1}" for d in range(batch.shape[2])]
    return plain_table(f"{caption} The numbers {when}", heads, rows)
