"""Draw the encoder layer twice: norm after the sum (post-LN) and norm inside the branch (pre-LN)."""

from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    OCHRE_TINT,
    PAPER,
    PLAIN_TINT,
    PLUM,
    PLUM_TINT,
    SLATE_TINT,
    SMALL_TEXT,
    arrow,
    box,
    canvas,
    label,
    save,
)

WIDTH, HEIGHT = 2.9, 0.62
NORM, ATTENTION, NETWORK, DROPOUT = "layer norm", "self-attention", "feed-forward", "dropout"
TINTS = {NORM: SLATE_TINT, ATTENTION: PLUM_TINT, NETWORK: OCHRE_TINT, DROPOUT: PLAIN_TINT}
STEP = 0.86


def plus(ax, x, y):
    """The sum of the stream and the branch."""
    ax.plot([x], [y], "o", markersize=24, markerfacecolor=PAPER, markeredgecolor=INK, zorder=4)
    label(ax, x, y + 0.01, "+", LARGE_TEXT)


def layer(ax, stream, branch, title, blocks):
    """A layer from bottom to top: the stream goes straight up, branches leave it and come back.

    Each block is a list of boxes on the branch, and then a list of boxes on the stream.
    """
    label(ax, branch, 8.95, title, LARGE_TEXT, weight="bold")
    y = 0.35
    label(ax, stream, y, "$x$", LARGE_TEXT)
    y += 0.3
    for on_branch, on_stream in blocks:
        fork = y + 0.35
        total = fork + 0.62 + STEP * len(on_branch)
        arrow(ax, (stream, y), (stream, total - 0.24), PLUM, 3.2)
        arrow(ax, (stream, fork), (branch, fork), INK, 1.8, head=False)
        below = fork
        for place, name in enumerate(on_branch):
            middle = fork + 0.66 + STEP * place
            arrow(ax, (branch, below), (branch, middle - HEIGHT / 2), INK, 1.8)
            box(ax, branch, middle, WIDTH, HEIGHT, name, TINTS[name])
            below = middle + HEIGHT / 2
        arrow(ax, (branch, below), (branch, total), INK, 1.8, head=False)
        arrow(ax, (branch, total), (stream + 0.24, total), INK, 1.8)
        plus(ax, stream, total)
        y = total + 0.22
        for name in on_stream:
            middle = y + 0.66
            arrow(ax, (stream, y), (stream, middle - HEIGHT / 2), PLUM, 3.2)
            box(ax, stream, middle, 1.9, HEIGHT, name, TINTS[name])
            y = middle + HEIGHT / 2
    arrow(ax, (stream, y), (stream, y + 0.6), PLUM, 3.2)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(13.2, 9.3)
    layer(
        ax,
        1.6,
        4.6,
        "post-LN (2017)",
        [([ATTENTION, DROPOUT], [NORM]), ([NETWORK, DROPOUT], [NORM])],
    )
    ax.plot([6.6, 6.6], [0.2, 9.1], color=MUTED, linewidth=1.2, linestyle=":")
    layer(
        ax,
        8.2,
        11.2,
        "pre-LN",
        [([NORM, ATTENTION, DROPOUT], []), ([NORM, NETWORK, DROPOUT], [])],
    )
    label(ax, 4.3, 0.35, "every sum is normalised", SMALL_TEXT, MUTED)
    label(ax, 10.9, 0.35, "the stream runs through, unnormalised", SMALL_TEXT, MUTED)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
