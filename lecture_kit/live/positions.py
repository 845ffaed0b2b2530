"""The view of sinusoids: every entry of the table, the waves of its pairs, two positions together."""

import math

from course_utils.positional import positional_encoding
from lecture_kit.live.page import View, framed, plain_table

WIDTHS = (8, 16, 32, 64, 128)
LENGTHS = (8, 256)


def positions_view(
    *,
    d_model: int = 32,
    length: int = 48,
    pair: int = 0,
    position: int = 5,
    offset: int | None = None,
    caption: str = "Sinusoids, position by position",
) -> View:
    """A view in which the reader walks over the table of sinusoids and changes its size.

    PE[pos, 2k] = sin(pos · θ_k),  PE[pos, 2k + 1] = cos(pos · θ_k),  θ_k = 10000^(-2k / d_model)

    Pointing at a cell, or walking there by keyboard, shows its formula with numbers, its pair as waves
    and as the hand of a clock, and the dot product with a second position. The browser computes what
    `positional_encoding` computes, in float64; all arguments but the caption only say where it starts.

    Args:
        d_model: width, one of 8, 16, 32, 64 and 128.
        length: number of positions T, 8 to 256.
        pair: k, from 0 to d_model / 2 - 1.
        position: counted from 0.
        offset: how far the second position is from the first, which may be negative; with None, the
            part about two positions is folded.
        caption: what the view shows, in a sentence; also the frame's name for screen readers.

    Returns:
        View: HTML below 50 kB.

    Raises:
        ValueError: a number out of range, or no caption.

    Source: Vaswani et al. (2017), section 3.5; lecture 6.
    """
    if d_model not in WIDTHS:
        raise ValueError(
            f"d_model: expected one of {WIDTHS}; found {d_model!r:.40}. These are the widths that "
            "the reader can choose."
        )
    shortest, longest = LENGTHS
    _refuse_outside("length", length, range(shortest, longest + 1))
    _refuse_outside("pair", pair, range(d_model // 2))
    _refuse_outside("position", position, range(length))
    if offset is not None:
        _refuse_outside("offset", offset, range(-position, length - position))
    content = {
        "widths": WIDTHS,
        "lengths": LENGTHS,
        "width": d_model,
        "length": length,
        "pair": pair,
        "position": position,
        "offset": offset,
    }
    table = _table(d_model, position, offset, caption)
    return framed("positions", caption, content, table, height=900)


def _refuse_outside(name: str, number: int, allowed: range) -> None:
    if number not in allowed:
        raise ValueError(
            f"{name}: expected a whole number from {allowed[0]} to {allowed[-1]}; found "
            f"{number!r:.40}. Choose a place in the table."
        )


def _table(d_model: int, position: int, offset: int | None, caption: str) -> str:
    """A plain table with a row for each pair: its speed, its two entries, its part of the product."""
    vector = positional_encoding(position + 1, d_model)[position].tolist()
    heads = ["frequency θ", "once round in", f"sine at {position}", f"cosine at {position}"]
    if offset is not None:
        heads.append(f"cosine of {offset} · θ")
    rows = []
    for pair in range(d_model // 2):
        frequency = 10000 ** (-2 * pair / d_model)
        sine, cosine = vector[2 * pair : 2 * pair + 2]
        texts = [f"{frequency:.5g}", f"{2 * math.pi / frequency:,.1f} words"]
        texts += [f"{sine:.3f}", f"{cosine:.3f}"]
        if offset is not None:
            texts.append(f"{math.cos(offset * frequency):.3f}")
        rows.append((f"pair {pair}", texts))
    title = f"{caption}: width {d_model}, a row for each pair of columns"
    if offset is not None:
        title += f"; the last column adds up to PE[{position}] · PE[{position + offset}]"
    return plain_table(title, heads, rows)
