"""Draw what permutation-equivariant means, and what permutation-invariant would mean."""

from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    OCHRE_TINT,
    PLAIN_TINT,
    PLUM_TINT,
    SLATE_TINT,
    SMALL_TEXT,
    arrow,
    box,
    canvas,
    label,
    save,
)

WORDS = ["you", "help", "me"]
ORDER = [2, 0, 1]
TINTS = [PLUM_TINT, OCHRE_TINT, SLATE_TINT]
TOP, BOTTOM = 4.4, 1.6
ROW = 0.62


def stack(ax, x, y, letter, order):
    """Three vectors on top of each other, in this order; each word keeps its tint."""
    for place, word in enumerate(order):
        text = f"${letter}^{{(\\mathrm{{{WORDS[word]}}})}}$"
        box(ax, x, y + (1 - place) * ROW, 1.4, ROW - 0.08, text, TINTS[word], size=18)


def routes(ax, left, right, title, function):
    """The parts that both halves share: the inputs in two orders and the arrows."""
    identity = [0, 1, 2]
    middle = (left + right) / 2
    label(ax, middle, 5.85, title, LARGE_TEXT, weight="bold")
    stack(ax, left, TOP, "x", identity)
    stack(ax, left, BOTTOM, "x", ORDER)
    for y in (TOP, BOTTOM):
        arrow(ax, (left + 0.85, y), (right - 0.85, y), INK, 2.4)
        label(ax, middle, y + 0.28, function, SMALL_TEXT)
    arrow(ax, (left, TOP - 1.05), (left, BOTTOM + 1.05), MUTED, 2.4)
    label(ax, left + 0.15, (TOP + BOTTOM) / 2, "permute", SMALL_TEXT, MUTED, ha="left")


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(13.2, 6.2)

    left, right = 1.1, 5.1
    routes(ax, left, right, "equivariant: self-attention", "self-attention")
    stack(ax, right, TOP, "z", [0, 1, 2])
    stack(ax, right, BOTTOM, "z", ORDER)
    arrow(ax, (right, TOP - 1.05), (right, BOTTOM + 1.05), MUTED, 2.4)
    label(ax, right - 0.15, (TOP + BOTTOM) / 2, "permute", SMALL_TEXT, MUTED, ha="right")
    label(ax, 3.1, 0.22, "the outputs move with their words", SMALL_TEXT)

    ax.plot([6.6, 6.6], [0.1, 6.0], color=MUTED, linewidth=1.2, linestyle=":")

    left, right = 8.1, 12.1
    routes(ax, left, right, "invariant: the mean of the words", "mean")
    for y in (TOP, BOTTOM):
        box(ax, right, y, 1.4, 0.7, r"$\bar{x}$", PLAIN_TINT, size=LARGE_TEXT)
    label(ax, right, (TOP + BOTTOM) / 2, "the same", SMALL_TEXT, MUTED)
    label(ax, 10.1, 0.22, "the output does not notice", SMALL_TEXT)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
