"""Draw scaled dot-product self-attention as a flow of matrices, all drawn to scale.

Four words of width 6, queries and keys of width 3, values of width 5: every size differs from
the others, so that the shapes show which product fits which. The numbers behind the shades are a
seeded example, computed here.
"""

import torch
from matplotlib.patches import Rectangle
from style import (
    INK,
    KEY,
    KEY_TINT,
    MUTED,
    PAPER,
    PLAIN_TINT,
    QUERY,
    QUERY_TINT,
    SMALL_TEXT,
    VALUE,
    VALUE_TINT,
    arrow,
    box,
    canvas,
    label,
    save,
)

from course_utils.plotting.colours import weight_colours

WORDS = ["can", "you", "help", "me"]
WIDTH, D_K, D_V = 6, 3, 5
CELL = 0.26
ROW = 1  # the word that is followed through the picture


def weights():
    """Attention weights (T, T) of a seeded example."""
    generator = torch.Generator().manual_seed(9)
    query = torch.randn(len(WORDS), D_K, generator=generator)  # (T, d_k)
    key = torch.randn(len(WORDS), D_K, generator=generator)  # (T, d_k)
    return (query @ key.T / D_K**0.5).softmax(dim=-1).tolist()


def matrix(ax, x, y, columns, fill, edge=INK, shades=None):
    """A matrix with one row per word, centred on (x, y); the row of the followed word is framed."""
    rows = len(WORDS)
    left, top = x - columns * CELL / 2, y + rows * CELL / 2
    for i in range(rows):
        for j in range(columns):
            face = fill
            if shades is not None:
                face = weight_colours()(shades[i][j])
            corner = (left + j * CELL, top - (i + 1) * CELL)
            cell = Rectangle(
                corner, CELL, CELL, facecolor=face, edgecolor=MUTED, linewidth=0.7, zorder=3
            )
            ax.add_patch(cell)
    for first, height, line in [(0, rows, 1.6), (ROW, 1, 3.0)]:
        corner = (left, top - (first + height) * CELL)
        frame = Rectangle(
            corner, columns * CELL, height * CELL, fill=False, edgecolor=edge, linewidth=line
        )
        frame.set_zorder(4)
        ax.add_patch(frame)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(13.2, 7.0)
    high, middle, low = 5.35, 3.35, 1.35
    scores_y = (high + middle) / 2

    for x, text in [
        (4.1, "project"),
        (7.3, "1  similarity"),
        (9.45, "2  normalise"),
        (11.7, "3  weighted sum"),
    ]:
        label(ax, x, 6.72, text, SMALL_TEXT, weight="bold")

    matrix(ax, 1.75, middle, WIDTH, PLAIN_TINT)
    for i, word in enumerate(WORDS):
        y = middle + (1.5 - i) * CELL
        weight = "bold" if i == ROW else "normal"
        label(ax, 0.9, y, word, SMALL_TEXT, ha="right", weight=weight)
    label(ax, 1.75, middle + 0.85, "$X$")
    label(ax, 1.75, middle - 0.8, r"$T \times d_\mathrm{model}$", SMALL_TEXT, MUTED)

    roles = [
        ("q", "Q", "queries", high, D_K, QUERY, QUERY_TINT),
        ("k", "K", "keys", middle, D_K, KEY, KEY_TINT),
        ("v", "V", "values", low, D_V, VALUE, VALUE_TINT),
    ]
    for small, name, words, y, columns, colour, tint in roles:
        arrow(ax, (2.58, middle + 0.14 * (y - middle)), (3.08, y), colour, 2.4)
        box(ax, 3.5, y, 0.8, 0.66, rf"$W_{small}$", tint, colour, line=2.2)
        arrow(ax, (3.93, y), (4.75 - columns * CELL / 2, y), colour, 2.4)
        matrix(ax, 4.85, y, columns, tint, colour)
        label(ax, 4.85, y + 0.76, f"{words} ${name}$", SMALL_TEXT)
        shape = "d_v" if small == "v" else "d_k"
        label(ax, 4.85, y - 0.74, rf"$T \times {shape}$", SMALL_TEXT, MUTED)

    arrow(ax, (5.35, high), (6.67, scores_y + 0.25), QUERY, 2.4)
    arrow(ax, (5.35, middle), (6.67, scores_y - 0.25), KEY, 2.4)
    matrix(ax, 7.3, scores_y, 4, PAPER)
    label(ax, 7.3, scores_y + 0.8, r"scores $\Omega = QK^\top$", SMALL_TEXT)
    label(ax, 7.3, scores_y - 0.76, r"$T \times T$", SMALL_TEXT, MUTED)

    arrow(ax, (7.88, scores_y), (8.2, scores_y))
    box(ax, 8.67, scores_y, 0.9, 0.66, r"$\div\sqrt{d_k}$")
    arrow(ax, (9.14, scores_y), (9.4, scores_y))
    box(ax, 10.03, scores_y, 1.2, 0.86)
    label(ax, 10.03, scores_y + 0.16, "softmax", SMALL_TEXT)
    label(ax, 10.03, scores_y - 0.17, "each row", SMALL_TEXT)
    arrow(ax, (10.66, scores_y), (11.1, scores_y))
    matrix(ax, 11.7, scores_y, 4, PAPER, shades=weights())
    label(ax, 11.7, scores_y + 0.8, "weights $A$", SMALL_TEXT)
    label(ax, 12.28, scores_y - 0.74, r"$T \times T$", SMALL_TEXT, MUTED, ha="left")

    box(ax, 11.7, 2.65, 0.62, 0.56, r"$\times$")
    arrow(ax, (11.7, scores_y - 0.58), (11.7, 2.97), INK, 2.4)
    ax.plot([5.6, 10.4], [low, low], color=VALUE, linewidth=2.4, zorder=2)
    arrow(ax, (10.4, low), (11.36, 2.5), VALUE, 2.4)
    arrow(ax, (11.7, 2.35), (11.7, 1.9), INK, 2.4)
    matrix(ax, 11.7, 1.35, D_V, PLAIN_TINT)
    label(ax, 12.42, 1.35, "$Z$", ha="left")
    label(ax, 11.7, 0.62, r"context vectors, $T \times d_v$", SMALL_TEXT, MUTED)
    label(ax, 8.0, low - 0.3, "the values skip the comparison", SMALL_TEXT, VALUE)
    label(
        ax, 0.3, 0.22, "three learned maps; what follows has no parameters", SMALL_TEXT, ha="left"
    )
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
