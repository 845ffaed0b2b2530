"""Draw how features become heads and heads become features again, and the reshape that does not.

Three words, six features, two heads: cell 24 is feature 4 of word 2, as in lecture 5.
"""

from matplotlib.patches import Rectangle
from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    OCHRE_TINT,
    PLAIN_TINT,
    PLUM_TINT,
    SHADE,
    arrow,
    box,
    canvas,
    cell,
    label,
    save,
)

WORDS, FEATURES, HEADS = 3, 6, 2
WIDTH = FEATURES // HEADS
CELL = 0.53
TINTS = [PLUM_TINT, OCHRE_TINT]
SHEETS = [(10.95, 8.7), (12.95, 8.15)]  # left and top of the two heads, slid apart


def cells(ax, left, top, rows, primed=False):
    """A grid of numbered cells; the tint says which head the feature belongs to."""
    for r, row in enumerate(rows):
        for c, number in enumerate(row):
            x, y = left + c * CELL, top - (r + 1) * CELL
            cell(ax, x, y, CELL, CELL, TINTS[(number % 10 - 1) // WIDTH], INK, 1.2)
            text = f"{number}′" if primed else str(number)
            label(ax, x + CELL / 2, y + CELL / 2, text)


def words(ax, right, top, numbers):
    """To the left of a grid's rows, whose features they are."""
    for row, word in enumerate(numbers):
        label(ax, right, top - (row + 0.5) * CELL, f"word {word}", colour=MUTED, ha="right")


def numbers():
    """(words, features): 11 … 16, 21 … 26, 31 … 36."""
    return [[10 * word + f for f in range(1, FEATURES + 1)] for word in range(1, WORDS + 1)]


def halves(x):
    """The two heads' grids, cut as they should be."""
    return [[row[head * WIDTH : (head + 1) * WIDTH] for row in x] for head in range(HEADS)]


def split(ax, x):
    """From rows of features to one sheet for each head."""
    top = 8.7
    middle = top - 1.5 * CELL
    label(ax, 1.25 + 3 * CELL, 9.2, "$(T,\\ d_\\text{model})$")
    words(ax, 1.12, top, range(1, WORDS + 1))
    cells(ax, 1.25, top, x)
    arrow(ax, (4.55, middle), (5.9, middle), line=2.4)
    label(ax, 5.2, middle - 0.33, "reshape")
    label(ax, 6.05 + 3.15 * CELL, 9.2, "$(T,\\ H,\\ d_k)$")
    for head, grid in enumerate(halves(x)):
        cells(ax, 6.05 + head * (WIDTH + 0.3) * CELL, top, grid)
    arrow(ax, (9.5, middle), (10.8, middle), line=2.4)
    label(ax, 10.15, middle - 0.33, "transpose")
    label(ax, 12.7, 9.2, "$(H,\\ T,\\ d_k)$")
    # Where the second head was before the heads slid apart.
    ghost = {"fill": False, "edgecolor": MUTED, "linewidth": 1.6, "linestyle": "--"}
    ax.add_patch(
        Rectangle((SHEETS[0][0] + 3.3 * CELL, top - 3 * CELL), 3 * CELL, 3 * CELL, **ghost)
    )
    for (left, y), grid in zip(SHEETS, halves(x), strict=True):
        cells(ax, left, y, grid)


def attend_and_merge(ax, x):
    """Each head's attention, and the way back to rows of features."""
    top = 4.85
    middle = top - 1.5 * CELL
    for head, ((left, y), grid) in enumerate(zip(SHEETS, halves(x), strict=True), start=1):
        centre = left + 1.5 * CELL
        label(ax, centre - 0.12, y - 3 * CELL - 0.32, f"head {head}", colour=MUTED, ha="right")
        arrow(ax, (centre, y - 3 * CELL), (centre, 5.72), line=2.4)
        box(ax, centre, 5.42, 1.5, 0.6, "attention", PLAIN_TINT)
        arrow(ax, (centre, 5.12), (centre, top), line=2.4)
        cells(ax, left, top, grid, primed=True)
    arrow(ax, (10.75, middle), (7.5, middle), line=2.4)
    label(ax, 9.12, middle + 0.3, "transpose, flatten:")
    label(ax, 9.12, middle - 0.3, "put the heads side by side")
    label(ax, 4.2 + 3 * CELL, top + 0.38, "$(T,\\ d_\\text{model})$")
    cells(ax, 4.2, top, x, primed=True)
    arrow(ax, (4.05, middle), (3.0, middle), line=2.4)
    box(ax, 2.1, middle, 1.7, 0.8, "$W_o$", PLAIN_TINT, size=LARGE_TEXT)
    label(ax, 2.1, middle + 0.75, "mix the heads")


def trap(ax, x):
    """The reshape that gives the same shape and other rows."""
    cell(ax, 0.2, 0.15, 14.4, 2.55, SHADE, SHADE, zorder=0)
    label(ax, 0.45, 2.25, "✗", 26, weight="bold", ha="left")
    label(ax, 0.95, 2.25, "the trap", LARGE_TEXT, weight="bold", ha="left")
    label(ax, 0.45, 1.6, "reshape at once", ha="left")
    label(ax, 0.45, 1.22, "to $(H,\\ T,\\ d_k)$", ha="left")
    flat = [number for row in x for number in row]
    rows = [flat[k : k + WIDTH] for k in range(0, len(flat), WIDTH)]
    for head, left in enumerate([4.3, 8.0]):
        grid = rows[head * WORDS : (head + 1) * WORDS]
        words(ax, left - 0.13, 2.05, [row[0] // 10 for row in grid])
        cells(ax, left, 2.05, grid)
        label(ax, left + 1.5 * CELL, 2.36, f"“head {head + 1}”")
    label(ax, 10.2, 1.6, "the shape is right, but", ha="left")
    label(ax, 10.2, 1.22, "row 2 of “head 1” is still", ha="left")
    label(ax, 10.2, 0.84, "the second half of word 1", ha="left")


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(14.8, 10.2)
    label(ax, 0.3, 9.85, "split, attend, merge", LARGE_TEXT, weight="bold", ha="left")
    x = numbers()
    split(ax, x)
    attend_and_merge(ax, x)
    trap(ax, x)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
