"""Draw the transformer: encoder, decoder, cross-attention, generator, with the shapes between."""

from style import (
    INK,
    KEY,
    LARGE_TEXT,
    MUTED,
    OCHRE_TINT,
    PAPER,
    PLAIN_TINT,
    PLUM_TINT,
    QUERY,
    SLATE_TINT,
    SMALL_TEXT,
    TEXT,
    arrow,
    box,
    canvas,
    label,
    save,
)

ENCODER, DECODER = 3.3, 9.3  # the columns' middles
WIDTH, HEIGHT = 3.1, 0.58  # of a box
BYPASS = 2.0  # from a column's middle to the lines around its sublayers
TOKENS, EMBEDDING, POSITIONS = 0.4, 1.25, 2.05
FIRST, SECOND, THIRD = 3.6, 5.35, 7.1  # the sublayers; each has its norm above it
NORM = 0.72
LEGEND = [
    ("B", "sentences"),
    ("S", "tokens of the source"),
    ("T", "tokens of the target"),
    ("D", "width, d_model"),
    ("V", "words in the target vocabulary"),
]


def bottom(ax, x, tokens, sizes):
    """Words, embedding and positions, up to where the layers begin."""
    label(ax, x, TOKENS, tokens, SMALL_TEXT, weight="bold")
    box(ax, x, EMBEDDING, WIDTH, HEIGHT, "embedding × √d_model", SLATE_TINT)
    box(ax, x, POSITIONS, WIDTH, HEIGHT, "+ positions", SLATE_TINT)
    arrow(ax, (x, TOKENS + 0.2), (x, EMBEDDING - HEIGHT / 2))
    arrow(ax, (x, EMBEDDING + HEIGHT / 2), (x, POSITIONS - HEIGHT / 2))
    arrow(ax, (x, POSITIONS + HEIGHT / 2), (x, FIRST - HEIGHT / 2))
    shape(ax, x, EMBEDDING - 0.45, f"ids {sizes}")
    shape(ax, x, POSITIONS + 0.42, f"{sizes[:-1]}, D)")


def shape(ax, x, y, text):
    """What flows here, to the right of a column."""
    label(ax, x + 1.7, y, text, SMALL_TEXT, MUTED, ha="left")


def sublayer(ax, x, y, name, fill, side, edge=INK):
    """A sublayer, its norm, and the residual line around it. Returns where the norm ends."""
    norm, below, bypass = y + NORM, y - HEIGHT / 2 - 0.3, x + side * BYPASS
    box(ax, x, y, WIDTH, HEIGHT, name, fill, edge, line=1.6 if edge == INK else 2.6)
    box(ax, x, norm, WIDTH, 0.44, "add, layer norm", PLAIN_TINT, size=SMALL_TEXT)
    arrow(ax, (x, y + HEIGHT / 2), (x, norm - 0.22))
    ax.plot([x, bypass, bypass], [below, below, norm], color=MUTED, linewidth=1.8, zorder=1)
    arrow(ax, (bypass, norm), (x + side * WIDTH / 2, norm), MUTED)
    return norm + 0.22


def frame(ax, x, top, side, name):
    """The dashed frame around one layer, with the name of the stack and its height."""
    low, half = FIRST - 0.9, 2.25
    xs, ys = (
        [x - half, x + half, x + half, x - half, x - half],
        [low, low, top, top, low],
    )
    ax.plot(xs, ys, color=INK, linewidth=1.6, linestyle=(0, (5, 4)), zorder=1)
    label(ax, x + side * (half + 0.13), top - 0.25, "× N", ha="left" if side > 0 else "right")
    label(ax, x - half, top + 0.32, name, LARGE_TEXT, ha="left", weight="bold")


def key_and_value_line(ax, start):
    """From the top of the last encoder layer into the decoder's cross-attention."""
    turn, middle = start + 0.65, (ENCODER + DECODER) / 2
    xs, ys = [ENCODER, ENCODER, middle, middle], [start, turn, turn, SECOND]
    # A white seam keeps the line apart from the frames that it crosses.
    ax.plot(xs, ys, color=PAPER, linewidth=8, zorder=1.5)
    ax.plot(xs, ys, color=KEY, linewidth=2.8, zorder=2)
    end = DECODER - WIDTH / 2
    ax.plot([middle, end - 0.3], [SECOND, SECOND], color=PAPER, linewidth=8, zorder=1.5)
    arrow(ax, (middle - 0.02, SECOND), (end, SECOND), KEY, 2.8)
    label(ax, middle - 0.15, turn + 0.26, "memory (B, S, D)", colour=KEY, ha="right")
    label(ax, middle + 0.1, SECOND + 0.56, "key,", SMALL_TEXT, KEY, ha="left")
    label(ax, middle + 0.1, SECOND + 0.26, "value", SMALL_TEXT, KEY, ha="left")


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(13.2, 11.15)
    bottom(ax, ENCODER, "kannst du mir helfen …  <eos>", "(B, S)")
    bottom(ax, DECODER, "<bos>  can you help me …", "(B, T)")

    top = sublayer(ax, ENCODER, FIRST, "self-attention", PLUM_TINT, -1)
    arrow(ax, (ENCODER, top), (ENCODER, SECOND - HEIGHT / 2))
    top = sublayer(ax, ENCODER, SECOND, "feed-forward", OCHRE_TINT, -1)
    frame(ax, ENCODER, top + 0.25, -1, "encoder")
    key_and_value_line(ax, top)

    top = sublayer(ax, DECODER, FIRST, "masked self-attention", PLUM_TINT, 1)
    arrow(ax, (DECODER, top), (DECODER, SECOND - HEIGHT / 2), QUERY, 2.8)
    label(ax, DECODER - 0.15, SECOND - 0.62, "query", SMALL_TEXT, QUERY, ha="right")
    top = sublayer(ax, DECODER, SECOND, "cross-attention", PLUM_TINT, 1, KEY)
    arrow(ax, (DECODER, top), (DECODER, THIRD - HEIGHT / 2))
    top = sublayer(ax, DECODER, THIRD, "feed-forward", OCHRE_TINT, 1)
    frame(ax, DECODER, top + 0.25, 1, "decoder")

    generator, softmax, words = 9.3, 10.1, 10.85
    arrow(ax, (DECODER, top), (DECODER, generator - HEIGHT / 2))
    shape(ax, DECODER, generator - 0.42, "(B, T, D)")
    box(ax, DECODER, generator, WIDTH, HEIGHT, "generator: linear", SLATE_TINT)
    arrow(ax, (DECODER, generator + HEIGHT / 2), (DECODER, softmax - HEIGHT / 2))
    shape(ax, DECODER, (generator + softmax) / 2, "logits (B, T, V)")
    box(ax, DECODER, softmax, WIDTH, HEIGHT, "softmax", SLATE_TINT)
    arrow(ax, (DECODER, softmax + HEIGHT / 2), (DECODER, words - 0.18))
    shape(ax, DECODER, softmax + 0.42, "probabilities")
    label(ax, DECODER, words, "can  you  help  me  to …", SMALL_TEXT, weight="bold")

    for line, (letter, meaning) in enumerate(LEGEND):
        label(ax, 1.05, 10.6 - 0.42 * line, letter, TEXT, ha="left", weight="bold")
        label(ax, 1.55, 10.6 - 0.42 * line, meaning, SMALL_TEXT, ha="left")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
