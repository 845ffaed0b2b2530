"""Draw scaled dot-product self-attention as a flow of matrices, all drawn to scale.

Four words of width 6, queries and keys of width 3, values of width 5: every size differs from
the others, so that the shapes show which product fits which. The numbers behind the shades are a
seeded example, computed here.
"""

import torch
from matplotlib.patches import Rectangle
from style import (
    INK,
    MUTED,
    PAPER,
    PLAIN_TINT,
    ROLES,
    SMALL_TEXT,
    arrow,
    box,
    canvas,
    label,
    line,
    save,
    weight_map,
)

WORDS = ["can", "you", "help", "me"]
WIDTH, D_K, D_V = 6, 3, 5
CELL = 0.27
ROW = 1  # the word that is followed through the picture


def weights():
    """Attention weights (T, T) of a seeded example."""
    generator = torch.Generator().manual_seed(9)
    query = torch.randn(len(WORDS), D_K, generator=generator)  # (T, d_k)
    key = torch.randn(len(WORDS), D_K, generator=generator)  # (T, d_k)
    return (query @ key.T / D_K**0.5).softmax(dim=-1).tolist()


def matrix(ax, x, y, columns, fill=PAPER, edge=INK, shades=None, role=""):
    """A matrix with one row per word, centred on (x, y); the row of the followed word is framed."""
    rows = len(WORDS)
    left, top = x - columns * CELL / 2, y + rows * CELL / 2
    edge, fill = ROLES[role] if role else (edge, fill)
    for i in range(rows):
        for j in range(columns):
            corner = (left + j * CELL, top - (i + 1) * CELL)
            style = {"facecolor": fill, "edgecolor": MUTED, "linewidth": 0.7, "zorder": 3}
            ax.add_patch(Rectangle(corner, CELL, CELL, label=role, **style))
    if shades is not None:
        weight_map(ax, left, top, CELL, shades)
    for first, height, thick in [(0, rows, 1.6), (ROW, 1, 3.0)]:
        corner = (left, top - (first + height) * CELL)
        frame = Rectangle(
            corner,
            columns * CELL,
            height * CELL,
            fill=False,
            edgecolor=edge,
            linewidth=thick,
            label=role,
            zorder=4,
        )
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
        label(ax, 0.87, y, word, SMALL_TEXT, ha="right", weight=weight)
    label(ax, 1.75, middle + 0.85, "$X$")
    label(ax, 1.75, middle - 0.8, r"$T \times d_\mathrm{model}$", SMALL_TEXT, MUTED)

    roles = [
        ("q", "Q", "queries", high, D_K, "query"),
        ("k", "K", "keys", middle, D_K, "key"),
        ("v", "V", "values", low, D_V, "value"),
    ]
    for small, name, words, y, columns, role in roles:
        arrow(ax, (2.58, middle + 0.14 * (y - middle)), (3.08, y), line=2.4, role=role)
        box(ax, 3.5, y, 0.8, 0.66, rf"$W_{small}$", line=2.2, role=role)
        arrow(ax, (3.93, y), (4.75 - columns * CELL / 2, y), line=2.4, role=role)
        matrix(ax, 4.85, y, columns, role=role)
        label(ax, 4.85, y + 0.76, f"{words} ${name}$", SMALL_TEXT)
        shape = "d_v" if small == "v" else "d_k"
        label(ax, 4.85, y - 0.74, rf"$T \times {shape}$", SMALL_TEXT, MUTED)

    arrow(ax, (5.35, high), (6.67, scores_y + 0.25), line=2.4, role="query")
    arrow(ax, (5.35, middle), (6.67, scores_y - 0.25), line=2.4, role="key")
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
    line(ax, [(5.6, low), (10.4, low)], width=2.4, role="value")
    arrow(ax, (10.4, low), (11.36, 2.5), line=2.4, role="value")
    arrow(ax, (11.7, 2.35), (11.7, 1.9), INK, 2.4)
    matrix(ax, 11.7, 1.35, D_V, PLAIN_TINT)
    label(ax, 12.47, 1.35, "$Z$", ha="left")
    label(ax, 11.7, 0.62, r"context vectors, $T \times d_v$", SMALL_TEXT, MUTED)
    label(ax, 8.0, low - 0.3, "the values skip the comparison", SMALL_TEXT, role="value")
    label(
        ax, 0.3, 0.22, "three learned maps; what follows has no parameters", SMALL_TEXT, ha="left"
    )
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
