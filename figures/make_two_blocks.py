"""Draw the block of 2017 beside that of 2023, with what changed."""

from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    OCHRE_TINT,
    PAPER,
    PLAIN_TINT,
    SMALL_TEXT,
    arrow,
    box,
    canvas,
    label,
    line,
    save,
)

WIDTH, HEIGHT = 3.7, 0.56
STEP = 0.82
SIDEWAYS = 2.75  # from the stream to the middle of a branch
# name, and whether the block of 2023 changed it
OLD = [
    [
        ("layer norm", True),
        ("maps with biases", True),
        ("attention", False),
        ("map with bias", True),
    ],
    [("layer norm", True), ("up, with bias", True), ("ReLU", True), ("down, with bias", True)],
]
NEW = [
    [("RMSNorm", True), ("maps", True), ("turn queries and keys", True), ("attention", False),
     ("map", True)],
    [("RMSNorm", True), ("gate and up", True), ("SiLU(gate) · up", True), ("down", True)],
]  # fmt: skip


def block(ax, x, parts, below):
    """A stream that goes up, with two branches that leave it and come back at a plus sign."""
    label(ax, x + SIDEWAYS / 2, 0.45, below, SMALL_TEXT)
    bottom = y = 0.85
    for branch in parts:
        y += 0.35
        beside = x + SIDEWAYS
        line(ax, [(x, y), (beside, y)])
        start = y
        for name, changed in branch:
            y += STEP
            arrow(ax, (beside, start), (beside, y - HEIGHT / 2))
            box(ax, beside, y, WIDTH, HEIGHT, name, OCHRE_TINT if changed else PLAIN_TINT)
            start = y + HEIGHT / 2
        y += 0.62
        line(ax, [(beside, start), (beside, y)])
        arrow(ax, (beside, y), (x + 0.22, y))
        box(ax, x, y, 0.44, 0.44, "+", PAPER, size=LARGE_TEXT)
    line(ax, [(x, bottom), (x, y)], width=3.2, zorder=1)
    arrow(ax, (x, y + 0.22), (x, y + 0.75), line=3.2)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(13.2, 11.6)
    label(ax, 2.9, 11.1, "2017, norm first", LARGE_TEXT, weight="bold")
    label(ax, 9.9, 11.1, "2023", LARGE_TEXT, weight="bold")
    block(ax, 1.2, OLD, r"embedding × $\sqrt{d_\mathrm{model}}$, plus positions")
    block(ax, 8.2, NEW, "embedding")
    line(ax, [(6.6, 0.3), (6.6, 11.3)], MUTED, 1.2, ":")
    box(ax, 1.6, 10.35, 0.5, 0.34, fill=OCHRE_TINT, edge=INK)
    label(ax, 2.05, 10.35, "differs between the two", SMALL_TEXT, ha="left")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
