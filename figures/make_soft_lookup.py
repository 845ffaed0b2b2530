"""Draw an exact lookup in a dictionary beside the soft lookup of attention.

The weights on the right are computed from two-dimensional vectors, which are printed in the
picture.
"""

import torch
from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    SMALL_TEXT,
    arrow,
    box,
    canvas,
    label,
    save,
)

ROWS = [4.2, 3.2, 2.2]
RESULT = 0.82
KEYS = [[2.0, 0.0], [1.0, 2.0], [-1.0, 1.0]]
QUERY_VECTOR = [1.0, 1.0]
VALUES = [10.0, 20.0, 30.0]


def lookup():
    """Weights of the three keys, and the weighted sum of the three values."""
    query, keys = torch.tensor(QUERY_VECTOR), torch.tensor(KEYS)
    weights = (keys @ query / len(QUERY_VECTOR) ** 0.5).softmax(dim=0)  # (S,)
    return weights.tolist(), (weights @ torch.tensor(VALUES)).item()


def vector(values):
    """The vector as text, with a true minus sign."""
    return "(" + ", ".join(f"{value:.0f}" for value in values).replace("-", "−") + ")"


def collect(ax, x, rows):
    """A line from the right edge of the value boxes in these rows down to the result's box."""
    bus = x + 0.22
    for y in rows:
        ax.plot([x + 0.02, bus], [y, y], color=INK, linewidth=2.4, zorder=2)
    ax.plot([bus, bus], [rows[0], RESULT], color=INK, linewidth=2.4, zorder=2)
    arrow(ax, (bus, RESULT), (x + 0.02, RESULT), INK, 2.4)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(13.2, 5.9)
    weights, result = lookup()

    label(ax, 2.9, 5.55, "dictionary: one key fits", LARGE_TEXT, weight="bold")
    box(ax, 0.9, 3.2, 1.2, 0.7, '"rice"', line=2.4, role="query")
    label(ax, 0.9, 3.8, "query", SMALL_TEXT, role="query")
    label(ax, 3.2, 4.9, "keys", SMALL_TEXT, role="key")
    label(ax, 4.75, 4.9, "values", SMALL_TEXT, role="value")
    for y, name, value in zip(ROWS, ["milk", "rice", "tea"], VALUES, strict=True):
        box(ax, 3.2, y, 1.2, 0.7, f'"{name}"', role="key")
        box(ax, 4.75, y, 1.0, 0.7, f"{value:.0f}", role="value")
    arrow(ax, (1.54, 3.2), (2.56, 3.2), INK, 3.4)
    arrow(ax, (3.84, 3.2), (4.22, 3.2), INK, 3.4)
    collect(ax, 5.25, ROWS[1:2])
    box(ax, 4.75, RESULT, 1.0, 0.7, "20")
    label(ax, 2.2, RESULT, "all of one value", SMALL_TEXT, MUTED)

    ax.plot([5.85, 5.85], [0.3, 5.7], color=MUTED, linewidth=1.2, linestyle=":")

    label(ax, 9.5, 5.55, "attention: every key fits a little", LARGE_TEXT, weight="bold")
    box(ax, 6.9, 3.2, 1.3, 0.7, vector(QUERY_VECTOR), line=2.4, role="query")
    label(ax, 6.9, 3.8, "query", SMALL_TEXT, role="query")
    label(ax, 9.3, 4.9, "keys", SMALL_TEXT, role="key")
    label(ax, 10.93, 4.9, "weights", SMALL_TEXT)
    label(ax, 12.4, 4.9, "values", SMALL_TEXT, role="value")
    for y, key, value, weight in zip(ROWS, KEYS, VALUES, weights, strict=True):
        arrow(ax, (7.58, 3.2), (8.6, y), INK, 1.2 + 5 * weight)
        box(ax, 9.3, y, 1.34, 0.7, vector(key), role="key")
        label(ax, 10.93, y, f"{weight:.3f}")
        label(ax, 11.6, y, "×", ha="center")
        box(ax, 12.4, y, 1.0, 0.7, f"{value:.0f}", role="value")
    collect(ax, 12.9, ROWS)
    box(ax, 12.4, RESULT, 1.0, 0.7, f"{result:.1f}")
    label(ax, 9.6, RESULT, "a share of every value, added up", SMALL_TEXT, MUTED)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
