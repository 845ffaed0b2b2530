"""Draw how attention goes through the keys in blocks and carries three quantities for each query."""

import numpy as np
from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    PAPER,
    PLUM,
    SMALL_TEXT,
    arrow,
    box,
    canvas,
    cell,
    label,
    line,
    save,
    strip,
)

SCORES = np.array(
    [
        [1.0, 0.2, 2.0, -0.5, 0.4, 1.1, 0.3, 2.5],
        [0.3, 1.5, -1.0, 0.6, 3.0, 0.7, 1.2, 0.1],
        [2.2, 0.8, 0.5, 1.0, -0.6, 1.9, 0.0, 0.9],
        [-0.4, 0.5, 1.2, 0.9, 1.6, 2.1, 1.0, -1.1],
    ]
)
VALUES = np.random.default_rng(3).normal(size=(8, 4))
BLOCK = 2
NOW = 2  # the block in memory
CELL = 0.78
LEFT, TOP = 1.55, 3.8
CARRIED = {"before": 8.65, "rescale": 9.75, "after": 10.7, "total": 11.6, "output": 12.85}


def carried(blocks):
    """The largest score, the sum and the output of each query after so many blocks."""
    seen = slice(0, blocks * BLOCK)
    largest = SCORES[:, seen].max(axis=1)
    weights = np.exp(SCORES[:, seen] - largest[:, None])
    return largest, weights.sum(axis=1), weights @ VALUES[seen]


def vectors(ax):
    """The keys and values above the matrix, and the queries on its left."""
    for name, role, y in [("keys", "key", 4.95), ("values", "value", 4.3)]:
        label(ax, LEFT - 0.2, y, name, SMALL_TEXT, ha="right", role=role)
        for column in range(SCORES.shape[1]):
            here = role if column // BLOCK == NOW else ""
            x = LEFT + (column + 0.5) * CELL
            text = f"${role[0]}^{{({column + 1})}}$"
            box(ax, x, y, CELL - 0.14, 0.54, text, PAPER, MUTED, SMALL_TEXT, role=here)
    for row in range(len(SCORES)):
        y = TOP - (row + 0.5) * CELL
        box(ax, LEFT - 0.5, y, CELL - 0.14, 0.54, f"$q^{{({row + 1})}}$", role="query")


def tiles(ax):
    """The matrix of scores, of which one tile of all queries and two keys exists at a time."""
    for row, scores in enumerate(SCORES):
        for column, score in enumerate(scores):
            block = column // BLOCK
            corner = LEFT + column * CELL, TOP - (row + 1) * CELL
            if block == NOW:
                cell(ax, *corner, CELL, CELL, role="score")
                x, y = corner[0] + CELL / 2, corner[1] + CELL / 2
                label(ax, x, y, f"${score:.1f}$", SMALL_TEXT)
            else:
                cell(ax, *corner, CELL, CELL, hatch="///" if block > NOW else None)
    bottom = TOP - len(SCORES) * CELL
    width = BLOCK * CELL
    cell(ax, LEFT + NOW * width, bottom, width, TOP - bottom, "none", PLUM, 3, zorder=4)
    for block, text in [
        (0.5, "done, and not kept"),
        (NOW, "in memory"),
        (NOW + 1, "still to come"),
    ]:
        label(ax, LEFT + (block + 0.5) * width, bottom - 0.35, text, SMALL_TEXT, MUTED)


def running(ax):
    """What each query carries on: one row of numbers, and its output as a strip."""
    before, _, _ = carried(NOW)
    largest, total, output = carried(NOW + 1)
    heads = {"before": "$m$", "rescale": "$e^{m - m'}$", "after": "$m'$", "total": r"$\ell'$"}
    for name, text in {**heads, "output": "$o'$"}.items():
        label(ax, CARRIED[name], 4.3, text, LARGE_TEXT)
    label(ax, (CARRIED["after"] + CARRIED["output"]) / 2, 4.95, "carried on", SMALL_TEXT, MUTED)
    for row in range(len(SCORES)):
        y = TOP - (row + 0.5) * CELL
        grown = largest[row] > before[row]
        look = {"colour": INK if grown else MUTED, "weight": "bold" if grown else "normal"}
        label(ax, CARRIED["before"], y, f"{before[row]:.1f}")
        label(ax, CARRIED["rescale"], y, f"{np.exp(before[row] - largest[row]):.2f}", **look)
        label(ax, CARRIED["after"], y, f"{largest[row]:.1f}")
        label(ax, CARRIED["total"], y, f"{total[row]:.2f}")
        strip(ax, CARRIED["output"], y, 1.3, 0.46, output[row], 3.0)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(13.8, 5.7)
    vectors(ax)
    tiles(ax)
    running(ax)
    right = LEFT + SCORES.shape[1] * CELL
    line(ax, [(8.2, 0.4), (8.2, 5.2)], MUTED, 1.2, ":")
    arrow(ax, (LEFT + 0.1, 5.42), (right, 5.42), MUTED)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
