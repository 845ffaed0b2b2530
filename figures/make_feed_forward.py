"""Draw what the feed-forward network does with one word: 64 numbers, 128 hidden units, 64 numbers.

All numbers are those of the trained translator of lecture 8, in layer 2 of its encoder.
"""

from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    OCHRE_TINT,
    SMALL_TEXT,
    arrow,
    box,
    canvas,
    label,
    line,
    save,
    strip,
)
from trained import Translation

SENTENCE = "kannst du mir helfen ?"
LAYER, PLACE = 2, 3  # of the word "helfen"
LIMIT = 2.5
MIDDLE, WIDE, HIGH = 5.6, 8.0, 0.5  # of the hidden strip; the others are half as wide


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(11.0, 5.6)
    translation = Translation(SENTENCE)
    x, hidden, output = translation.feed_forward(LAYER, PLACE)
    on = sum(unit > 0 for unit in hidden)
    rows = [4.75, 2.85, 0.95]
    label(ax, 0.25, 5.3, f"one word, “{translation.german[PLACE]}”", ha="left", weight="bold")

    strip(ax, MIDDLE, rows[0], WIDE / 2, HIGH, x, LIMIT)
    strip(ax, MIDDLE, rows[1], WIDE, HIGH, hidden, LIMIT)
    strip(ax, MIDDLE, rows[2], WIDE / 2, HIGH, output, LIMIT)
    for y, name, size in zip(
        rows,
        ("$x$", "hidden", "$\\mathrm{FFN}(x)$"),
        (len(x), len(hidden), len(output)),
        strict=True,
    ):
        near = MIDDLE - (WIDE if size == len(hidden) else WIDE / 2) / 2 - 0.15
        label(ax, near, y + 0.14, name, ha="right")
        label(ax, near, y - 0.17, f"{size}", SMALL_TEXT, MUTED, ha="right")
    steps = [
        (3.8, "$x W_1 + b_1$, then what is below 0 becomes 0"),
        (1.9, "hidden $W_2 + b_2$"),
    ]
    for (y, text), above, under in zip(steps, rows, rows[1:], strict=False):
        arrow(ax, (MIDDLE, above - HIGH / 2), (MIDDLE, y + 0.26), line=2.2)
        box(ax, MIDDLE, y, 5.4, 0.52, text, OCHRE_TINT)
        arrow(ax, (MIDDLE, y - 0.26), (MIDDLE, under + HIGH / 2), line=2.2)
    label(ax, MIDDLE + WIDE / 2, rows[1] - 0.5, f"{on} of {len(hidden)} units are on", ha="right")

    # the stream passes by
    side = MIDDLE + WIDE / 2 + 0.6
    path = [(MIDDLE + WIDE / 4, rows[0]), (side, rows[0]), (side, 0.3), (MIDDLE + 0.35, 0.3)]
    line(ax, path[:3], MUTED, 1.8)
    arrow(ax, path[2], path[3], MUTED)
    arrow(ax, (MIDDLE, rows[2] - HIGH / 2), (MIDDLE, 0.5), line=2.2)
    label(ax, MIDDLE, 0.3, "+", LARGE_TEXT, INK)
    label(ax, side, rows[0] + 0.3, "the stream goes on", SMALL_TEXT, MUTED, ha="right")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
