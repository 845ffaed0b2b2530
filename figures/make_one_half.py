"""Draw the transformer of 2017 and the two models that kept one half of it."""

from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    OCHRE_TINT,
    PLAIN_TINT,
    PLUM_TINT,
    SMALL_TEXT,
    arrow,
    box,
    canvas,
    cell,
    label,
    save,
)

WIDTH, HEIGHT = 2.7, 0.62
SELF, MASKED, CROSS, NETWORK = (
    "self-attention",
    "masked self-att.",
    "cross-attention",
    "feed-forward",
)
TINTS = {SELF: PLUM_TINT, MASKED: PLUM_TINT, CROSS: PLUM_TINT, NETWORK: OCHRE_TINT}
FIRST, STEP = 2.55, 0.98
SIZE, SIDE = 5, 0.17  # of the small masks: words, and the side of a cell


def stack(ax, x, blocks, below, above):
    """A column of blocks from bottom to top, with what goes in and what comes out."""
    label(ax, x, 1.25, below, SMALL_TEXT)
    y = 1.5
    for place, name in enumerate(blocks):
        middle = FIRST + STEP * place
        arrow(ax, (x, y), (x, middle - HEIGHT / 2))
        box(ax, x, middle, WIDTH, HEIGHT, name, TINTS[name])
        y = middle + HEIGHT / 2
    arrow(ax, (x, y), (x, 6.0))
    label(ax, x, 6.25, above, SMALL_TEXT)


def mask(ax, x, sees):
    """Who may look at whom: rows are queries, and a filled cell may be seen."""
    left, top = x - SIZE * SIDE / 2, 0.92
    for i in range(SIZE):
        for j in range(SIZE):
            face = INK if sees(i, j) else PLAIN_TINT
            cell(ax, left + j * SIDE, top - (i + 1) * SIDE, SIDE, SIDE, face, MUTED, zorder=3)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(15.6, 7.4)
    encoder, decoder, gpt, bert = 1.75, 5.45, 9.75, 13.75
    for x, title in [((encoder + decoder) / 2, "transformer (2017)"), (gpt, "GPT"), (bert, "BERT")]:
        label(ax, x, 7.05, title, LARGE_TEXT, weight="bold")
    stack(ax, encoder, [SELF, NETWORK], "German words", "memory")
    stack(ax, decoder, [MASKED, CROSS, NETWORK], "English words so far", "next English word")
    memory = FIRST + STEP
    ax.plot([encoder + 0.62, 3.6, 3.6], [6.25, 6.25, memory], color=INK, linewidth=1.8, zorder=2)
    arrow(ax, (3.6, memory), (decoder - WIDTH / 2, memory))
    stack(ax, gpt, [MASKED, NETWORK], "words so far", "next word")
    stack(ax, bert, [SELF, NETWORK], "words, some hidden", "the hidden words")
    for x in (7.6, 11.75):
        ax.plot([x, x], [0.1, 7.2], color=MUTED, linewidth=1.2, linestyle=":")
    for x, sees in [
        (encoder, lambda i, j: True),
        (decoder, lambda i, j: j <= i),
        (gpt, lambda i, j: j <= i),
        (bert, lambda i, j: True),
    ]:
        mask(ax, x, sees)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
