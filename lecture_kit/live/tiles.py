"""The view of a softmax in one pass: block by block, with a running maximum, sum and output."""

import math
from collections.abc import Sequence

from lecture_kit.live.checked import as_float64, refuse_beyond
from lecture_kit.live.page import View, framed, plain_table

MOST_KEYS = 12
LARGEST_SCORE = 100.0


def tiles_view(
    scores: Sequence[float],
    values: Sequence[float],
    block_size: int = 2,
    *,
    caption: str = "A softmax in one pass, block by block",
) -> View:
    """A view in which one query meets its keys block by block, and the reader changes their scores.

    m' = max(m, ω_j),  ℓ' = e^(m - m') ℓ + Σ e^(ω_j - m'),  o' = e^(m - m') o + Σ e^(ω_j - m') v_j

    Args:
        scores: 2 to 12 numbers from -100 to 100, one for each key.
        values: as many numbers.
        block_size: how many keys a block holds at the start, from 1 to the number of keys.
        caption: what the view shows, in a sentence; also the frame's name for screen readers.

    Returns:
        View: HTML below 50 kB.

    Raises:
        ValueError: numbers are missing, not finite or too large, or there is no caption.

    Source: Milakov and Gimelshein (2018), algorithm 3; lecture 10.
    """
    rows = {"scores": as_float64("scores", scores), "values": as_float64("values", values)}
    for name, row in rows.items():
        if row.ndim != 1 or not 2 <= len(row) <= MOST_KEYS or len(row) != len(rows["scores"]):
            raise ValueError(
                f"{name}: expected 2 to {MOST_KEYS} numbers, as many as scores; found the shape "
                f"{row.shape}. Give one score and one value for each key."
            )
        refuse_beyond(name, row, "Choose smaller ones.")
        if abs(row).max() > LARGEST_SCORE:
            raise ValueError(
                f"{name}: expected numbers from -{LARGEST_SCORE:g} to {LARGEST_SCORE:g}; found "
                f"{abs(row).max():g}. The picture would hold nothing else."
            )
    if block_size not in range(1, len(rows["scores"]) + 1):
        raise ValueError(
            f"block_size: expected a whole number from 1 to {len(rows['scores'])}; found "
            f"{block_size!r:.40}. A block holds at least one key."
        )
    lists = {name: row.tolist() for name, row in rows.items()}
    table = _table(lists["scores"], lists["values"], block_size, caption)
    return framed("tiles", caption, {**lists, "block": block_size}, table, height=520)


def _table(scores: list[float], values: list[float], size: int, caption: str) -> str:
    """A row for each block: the maximum, the factor, the sum and the output after it."""
    m, total, output = -math.inf, 0.0, 0.0
    rows = []
    for start in range(0, len(scores), size):
        block = list(zip(scores, values, strict=True))[start : start + size]
        largest = max(m, *(score for score, _ in block))
        factor = math.exp(m - largest)
        total = factor * total + sum(math.exp(score - largest) for score, _ in block)
        output = factor * output + sum(math.exp(score - largest) * value for score, value in block)
        m = largest
        last = min(start + size, len(scores))
        name = f"key {last}" if last == start + 1 else f"keys {start + 1} to {last}"
        rows.append((name, [f"{number:.4g}" for number in (m, factor, total, output)]))
    heads = ["maximum m", "factor", "sum ℓ", "output o"]
    return plain_table(f"{caption}; o / ℓ is {output / total:.4g} in the end", heads, rows)
