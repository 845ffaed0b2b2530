"""Draw the transformer with a sentence inside: encoder, decoder, cross-attention, generator.

Ids, vectors, maps and probabilities are those of the trained translator of lecture 8.
"""

from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    OCHRE_TINT,
    PAPER,
    PLAIN_TINT,
    PLUM,
    SLATE_TINT,
    SMALL_TEXT,
    arrow,
    box,
    canvas,
    cell,
    label,
    line,
    save,
    strips,
    weight_map,
)
from trained import Translation

SENTENCE = "kannst du mir helfen ?"
LAYER, HEAD = 2, 3  # whose maps are shown
ASKING = 2  # the position whose next word is asked for: after "can you"
LIMIT = 2.5  # nearly all entries of the vectors lie between -2.5 and 2.5

ENCODER, DECODER = 3.0, 9.2  # the columns' middles
WIDTH, HEIGHT = 3.1, 0.58  # of a box
TALL = 0.98  # of a box with a map in it
BYPASS = 2.0  # from a column's middle to the lines around its sublayers
TOKENS, IDS, EMBEDDING, POSITIONS, VECTORS = 0.35, 0.8, 1.6, 2.45, 3.4
FIRST, SECOND, THIRD = 5.25, 7.3, 9.15  # the sublayers; each has its norm above it
MEMORY = 9.75


def bottom(ax, x, words, ids, sizes):
    """Words, ids, embedding and positions, up to where the layers begin."""
    for k, (word, number) in enumerate(zip(words, ids, strict=True)):
        place = x + 0.82 * (k - (len(words) - 1) / 2)
        label(ax, place, TOKENS, word, SMALL_TEXT, weight="bold")
        label(ax, place, IDS, f"{number}", SMALL_TEXT, MUTED)
    box(ax, x, EMBEDDING, WIDTH, HEIGHT, "embedding × $\\sqrt{d_\\text{model}}$", SLATE_TINT)
    box(ax, x, POSITIONS, WIDTH, HEIGHT, "+ positions", SLATE_TINT)
    arrow(ax, (x, IDS + 0.2), (x, EMBEDDING - HEIGHT / 2))
    arrow(ax, (x, EMBEDDING + HEIGHT / 2), (x, POSITIONS - HEIGHT / 2))
    arrow(ax, (x, POSITIONS + HEIGHT / 2), (x, FIRST - TALL / 2))
    shape(ax, x, EMBEDDING - 0.45, f"ids {sizes}")
    shape(ax, x, POSITIONS + 0.5, f"{sizes[:-1]}, D)")


def shape(ax, x, y, text):
    """What flows here, to the right of a column."""
    label(ax, x + 1.7, y, text, SMALL_TEXT, MUTED, ha="left")


def sublayer(ax, x, y, side, fill, name="", weights=None):
    """A sublayer, its norm, and the residual line around it. Returns where the norm ends.

    With weights, its name has two lines and stands beside their map.
    """
    half = HEIGHT / 2 if weights is None else TALL / 2
    norm, below, bypass = y + half + 0.43, y - half - 0.3, x + side * BYPASS
    if weights is None:
        box(ax, x, y, WIDTH, HEIGHT, name, fill)
    else:
        box(ax, x, y, WIDTH, TALL, role="weight")
        weight_map(ax, x - 1.43, y + 0.39, 0.13, weights.tolist())
        above, under = name
        label(ax, x + 0.45, y + 0.19, above)
        label(ax, x + 0.45, y - 0.19, under)
    box(ax, x, norm, WIDTH, 0.44, "add, layer norm", PLAIN_TINT, size=SMALL_TEXT)
    arrow(ax, (x, y + half), (x, norm - 0.22))
    line(ax, [(x, below), (bypass, below), (bypass, norm)], MUTED, zorder=1)
    arrow(ax, (bypass, norm), (x + side * WIDTH / 2, norm), MUTED)
    return norm + 0.22


def frame(ax, x, top, side, name):
    """The dashed frame around one layer, with the name of the stack and its height."""
    low, half = FIRST - TALL / 2 - 0.5, 2.25
    corners = [(x - half, low), (x + half, low), (x + half, top), (x - half, top), (x - half, low)]
    line(ax, corners, INK, 1.6, (0, (5, 4)), zorder=1)
    label(ax, x + side * (half + 0.13), top - 0.25, "× N", ha="left" if side > 0 else "right")
    label(ax, x - half, top + 0.32, name, LARGE_TEXT, ha="left", weight="bold")


def key_and_value_lines(ax, start):
    """The memory, and how it goes into the decoder's cross-attention as keys and as values."""
    right, end = ENCODER + WIDTH / 2, DECODER - WIDTH / 2
    arrow(ax, (ENCODER, start), (ENCODER, MEMORY - 0.48))
    for role, turn, offset in [("key", 6.15, 0.24), ("value", 5.85, -0.24)]:
        path = [(right, MEMORY + offset / 2), (turn, MEMORY + offset / 2), (turn, SECOND + offset)]
        line(ax, path, width=2.8, role=role)
        # A seam keeps the line apart from the decoder's frame that it crosses.
        line(ax, [(6.8, SECOND + offset), (end - 0.3, SECOND + offset)], PAPER, 8, zorder=1.5)
        arrow(ax, (turn, SECOND + offset), (end, SECOND + offset), line=2.8, role=role)
    label(ax, 6.25, SECOND + 0.55, "key", SMALL_TEXT, ha="left", role="key")
    label(ax, 6.25, SECOND - 0.58, "value", SMALL_TEXT, ha="left", role="value")


def top_five(ax, middle, translation):
    """The five likeliest next words at one position."""
    said = " ".join(translation.english[: ASKING + 1])
    label(ax, 1.0, middle + 1.05, f"next after “{said}”", SMALL_TEXT, MUTED, ha="left")
    for place, (word, p) in enumerate(translation.likeliest(ASKING, 5)):
        y = middle + 0.62 - 0.36 * place
        label(ax, 2.2, y, word, SMALL_TEXT, ha="right", weight="normal" if place else "bold")
        cell(ax, 2.3, y - 0.12, max(2.6 * p, 0.02), 0.24, PLUM, PLUM)
        text = "> 0.999" if p >= 0.9995 else f"{p:.3f}" if p >= 0.0005 else "< 0.001"
        label(ax, 2.4 + 2.6 * p, y, text, SMALL_TEXT, ha="left")


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(13.2, 12.9)
    translation = Translation(SENTENCE)
    maps = {kind: layers[LAYER - 1][HEAD - 1] for kind, layers in translation.maps.items()}
    bottom(ax, ENCODER, translation.german, translation.german_ids, "(B, S)")
    bottom(ax, DECODER, translation.english, translation.english_ids, "(B, T)")
    strips(ax, ENCODER, VECTORS, WIDTH, 0.96, translation.embedded.tolist(), LIMIT)

    top = sublayer(ax, ENCODER, FIRST, -1, None, ("self-", "attention"), maps["encoder"])
    arrow(ax, (ENCODER, top), (ENCODER, SECOND - HEIGHT / 2))
    top = sublayer(ax, ENCODER, SECOND, -1, OCHRE_TINT, "feed-forward")
    frame(ax, ENCODER, top + 0.25, -1, "encoder")
    key_and_value_lines(ax, top)
    strips(ax, ENCODER, MEMORY, WIDTH, 0.96, translation.memory.tolist(), LIMIT)
    label(ax, ENCODER + 1.65, MEMORY + 0.42, "memory (B, S, D)", ha="left")

    top = sublayer(ax, DECODER, FIRST, 1, None, ("masked", "self-attention"), maps["decoder"])
    arrow(ax, (DECODER, top), (DECODER, SECOND - TALL / 2), line=2.8, role="query")
    label(ax, DECODER - 0.15, SECOND - 0.7, "query", SMALL_TEXT, ha="right", role="query")
    top = sublayer(ax, DECODER, SECOND, 1, None, ("cross-", "attention"), maps["cross"])
    arrow(ax, (DECODER, top), (DECODER, THIRD - HEIGHT / 2))
    top = sublayer(ax, DECODER, THIRD, 1, OCHRE_TINT, "feed-forward")
    frame(ax, DECODER, top + 0.25, 1, "decoder")

    generator, softmax = 11.25, 12.2
    arrow(ax, (DECODER, top), (DECODER, generator - HEIGHT / 2))
    shape(ax, DECODER, generator - 0.6, "(B, T, D)")
    box(ax, DECODER, generator, WIDTH, HEIGHT, "generator: linear", SLATE_TINT)
    arrow(ax, (DECODER, generator + HEIGHT / 2), (DECODER, softmax - HEIGHT / 2))
    shape(ax, DECODER, (generator + softmax) / 2, "logits (B, T, V)")
    box(ax, DECODER, softmax, WIDTH, HEIGHT, "softmax", SLATE_TINT)
    arrow(ax, (DECODER - WIDTH / 2, softmax), (6.3, softmax))
    label(ax, 6.95, softmax + 0.28, "probabilities", SMALL_TEXT, MUTED)
    top_five(ax, 11.6, translation)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
