"""The picture beside a link to the course: which German words the translator looks at for each English one."""

from __future__ import annotations

from pathlib import Path

import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from course_utils.attention import scaled_dot_product_attention
from lecture_kit import live
from lecture_kit.plotting import colours

WIDTH, HEIGHT = 1200, 630  # what sites that show links ask for
DOTS = 100  # an inch
FAINTEST = 0.04  # a weight below it is no line


def draw(path: Path) -> None:
    """Write the picture as a PNG of 1200 × 630."""
    head = live.translator("cross")[0]
    vectors = (torch.from_numpy(x) for x in (head.query, head.key, head.value))
    _, weights = scaled_dot_product_attention(*vectors)  # (T, S)
    figure = Figure((WIDTH / DOTS, HEIGHT / DOTS), dpi=DOTS, facecolor=colours.PAPER)
    FigureCanvasAgg(figure)
    ax = figure.add_axes((0.03, 0.06, 0.94, 0.54))
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.axis("off")
    read, written = list(head.keys or ()), list(head.queries or ())
    german, english = places(read), places(written)
    for x, word in zip(german, read, strict=True):
        ax.text(x, 0.9, word, color=colours.KEY, ha="center", va="center", fontsize=19)
    for x, word in zip(english, written, strict=True):
        ax.text(x, 0.1, word, color=colours.QUERY, ha="center", va="center", fontsize=19)
    for x, row in zip(english, weights.tolist(), strict=True):
        for seen, weight in zip(german, row, strict=True):
            if weight >= FAINTEST:
                ax.plot(
                    [x, seen],
                    [0.2, 0.8],
                    color=colours.PLUM,
                    lw=9 * weight,
                    alpha=0.25 + 0.6 * weight,
                    solid_capstyle="round",
                )
    figure.text(0.05, 0.83, "Attention and transformers", fontsize=42, color=colours.INK)
    figure.text(
        0.05,
        0.72,
        "A course in notebooks: build a translator, and find out what every number is for",
        fontsize=18.5,
        color=colours.MUTED,
    )
    figure.savefig(path, dpi=DOTS, facecolor=colours.PAPER, metadata={"Software": None})


def places(words: list[str]) -> list[float]:
    """Where the middle of each word stands, from 0 to 1, so that long words have more room."""
    room = [len(word) + 3 for word in words]
    return [(sum(room[:k]) + room[k] / 2) / sum(room) for k in range(len(words))]
