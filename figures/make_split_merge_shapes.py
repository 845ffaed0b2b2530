"""Draw how features become heads and heads become features again, and the reshape that does not.

Three words, six features, two heads: cell 24 is feature 4 of word 2, as in lecture 5.
"""

from matplotlib.patches import Rectangle
from style import (
    INK,
    KEY,
    LARGE_TEXT,
    MUTED,
    OCHRE_TINT,
    PLAIN_TINT,
    PLUM_TINT,
    arrow,
    box,
    canvas,
    label,
    save,
)

WORDS, FEATURES, HEADS = 3, 6, 2
WIDTH = FEATURES // HEADS
CELL = 0.46
TINTS = [PLUM_TINT, OCHRE_TINT]


def cells(ax, left, top, rows, primed=False):
    """A grid of numbered cells; the tint says which head the feature belongs to."""
    for r, row in enumerate(rows):
        for c, number in enumerate(row):
            x, y = left + c * CELL, top - (r + 1) * CELL
            tint = TINTS[(number % 10 - 1) // WIDTH]
            ax.add_patch(
                Rectangle((x, y), CELL, CELL, facecolor=tint, edgecolor=INK, linewidth=1.2)
            )
            text = f"{number}′" if primed else str(number)
            label(ax, x + CELL / 2, y + CELL / 2, text)


def numbers():
    """(words, features): 11 … 16, 21 … 26, 31 … 36."""
    return [[10 * word + f for f in range(1, FEATURES + 1)] for word in range(1, WORDS + 1)]


def halves(x):
    """The two heads' grids, cut as they should be."""
    return [[row[head * WIDTH : (head + 1) * WIDTH] for row in x] for head in range(HEADS)]


def draw():
    """The diagram as a matplotlib Figure."""
    x = numbers()
    figure, ax = canvas(14.6, 8.3)
    top = 6.75

    label(ax, 0.3, 7.9, "split, attend, merge", LARGE_TEXT, weight="bold", ha="left")
    label(ax, 1.15 + 3 * CELL, 7.3, "$(T,\\ d_{model})$")
    for word in range(WORDS):
        label(ax, 1.05, top - (word + 0.5) * CELL, f"word {word + 1}", colour=MUTED, ha="right")
    cells(ax, 1.15, top, x)

    label(ax, 5.0 + 3.2 * CELL, 7.3, "$(T,\\ H,\\ d_k)$")
    for head, grid in enumerate(halves(x)):
        cells(ax, 5.0 + head * (WIDTH + 0.4) * CELL, top, grid)
    arrow(ax, (4.0, top - 0.7), (4.9, top - 0.7), line=2.4)
    label(ax, 4.45, top - 0.38, "reshape")

    label(ax, 9.2 + 1.5 * CELL, 7.3, "$(H,\\ T,\\ d_k)$")
    arrow(ax, (8.05, top - 0.7), (9.1, top - 0.7), line=2.4)
    label(ax, 8.57, top - 0.38, "transpose")
    for head, grid in enumerate(halves(x)):
        y = top - head * 1.85
        cells(ax, 9.2, y, grid)
        label(ax, 9.2 + 1.5 * CELL, y - 3 * CELL - 0.19, f"head {head + 1}", colour=MUTED)
        arrow(ax, (10.63, y - 0.7), (10.88, y - 0.7), line=2.4)
        box(ax, 11.57, y - 0.7, 1.38, 0.95, "attention", PLAIN_TINT)
        arrow(ax, (12.26, y - 0.7), (12.6, y - 0.7), line=2.4)
        cells(ax, 12.7, y, grid, primed=True)

    label(ax, 12.7 + 1.5 * CELL, 7.3, "contexts")
    label(ax, 5.6, 3.6, "$(T,\\ d_{model})$")
    cells(ax, 5.6 - 3 * CELL, 3.3, x, primed=True)
    ax.plot([13.39, 13.39], [3.2, 2.6], color=INK, linewidth=2.4)
    arrow(ax, (13.39, 2.6), (7.15, 2.6), line=2.4)
    label(ax, 10.0, 2.86, "transpose, flatten: put the heads side by side")
    arrow(ax, (4.15, 2.6), (3.2, 2.6), line=2.4)
    box(ax, 2.3, 2.6, 1.7, 0.8, "$W_o$", PLAIN_TINT, size=LARGE_TEXT)
    label(ax, 2.3, 3.3, "mix the heads")

    ax.plot([0.3, 14.3], [1.72, 1.72], color=MUTED, linewidth=1.2, linestyle=":")
    label(ax, 0.3, 1.3, "the trap", LARGE_TEXT, KEY, weight="bold", ha="left")
    label(ax, 0.3, 0.85, "reshape at once to $(H,\\ T,\\ d_k)$", ha="left")
    flat = [number for row in x for number in row]
    rows = [flat[k : k + WIDTH] for k in range(0, len(flat), WIDTH)]
    cells(ax, 4.6, 1.5, rows[:WORDS])
    cells(ax, 7.7, 1.5, rows[WORDS:])
    label(ax, 6.1, 0.8, "“head 1”", ha="left")
    label(ax, 9.2, 0.8, "“head 2”", ha="left")
    label(ax, 10.6, 1.05, "the shape is right, but row 2 of", ha="left")
    label(ax, 10.6, 0.7, "“head 1” still belongs to word 1", ha="left")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
