"""Draw translation through one fixed vector above translation with attention."""

from itertools import pairwise

from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    PLAIN_TINT,
    SMALL_TEXT,
    arrow,
    box,
    canvas,
    label,
    line,
    save,
)
from trained import alignment

GERMAN = ["kannst", "du", "mir", "helfen", "?"]
ENGLISH = ["can", "you", "help", "me", "?"]
GERMAN_COLUMNS = [0.85 + 1.3 * k for k in range(5)]
ENGLISH_COLUMNS = [8.35 + 1.3 * k for k in range(5)]
HALF = 0.34  # half the height of a box
ASKING = 2  # the step that generates "help"


def shares():
    """The weights of the five words when the trained translator of lecture 1 generates "help"."""
    words, weights = alignment(" ".join(GERMAN))
    assert words == ENGLISH, words
    return weights[ASKING][: len(GERMAN)]


def chain(ax, columns, y, both_ways):
    """Recurrent arrows between neighbouring states."""
    for here, there in pairwise(columns):
        shift = 0.15 if both_ways else 0.0
        arrow(ax, (here + 0.53, y + shift), (there - 0.53, y + shift), MUTED, 1.6)
        if both_ways:
            arrow(ax, (there - 0.53, y - shift), (here + 0.53, y - shift), MUTED, 1.6)


def networks(ax, y):
    """The encoder on the left and the decoder on the right, with their words."""
    for k, (column, word) in enumerate(zip(GERMAN_COLUMNS, GERMAN, strict=True), start=1):
        box(ax, column, y, 1.02, 2 * HALF, f"$h^{{({k})}}$", PLAIN_TINT)
        label(ax, column, y - 0.98, word)
        arrow(ax, (column, y - 0.78), (column, y - HALF))
    for k, (column, word) in enumerate(zip(ENGLISH_COLUMNS, ENGLISH, strict=True), start=1):
        box(ax, column, y, 1.02, 2 * HALF, f"$s^{{({k})}}$", PLAIN_TINT)
        label(ax, column, y - 0.98, word)
        arrow(ax, (column, y - HALF), (column, y - 0.78))
    chain(ax, GERMAN_COLUMNS, y, both_ways=True)
    chain(ax, ENGLISH_COLUMNS, y, both_ways=False)


def fixed_vector(ax, y):
    """The upper panel: one summary feeds every step."""
    title = "one vector for the whole sentence"
    label(ax, 0.3, y + 2.5, title, LARGE_TEXT, ha="left", weight="bold")
    label(ax, GERMAN_COLUMNS[2], y + 2.0, "RNN #1, the encoder, reads", colour=MUTED)
    label(ax, ENGLISH_COLUMNS[2], y + 2.0, "RNN #2, the decoder, generates", colour=MUTED)
    networks(ax, y)
    box(ax, 7.0, y + 1.25, 1.5, 0.76, "summary", role="one vector")
    # The forward direction ends at the last word, the backward direction at the first.
    for column, state, side in (
        (GERMAN_COLUMNS[0], "$h_B^{(1)}$", "left"),
        (GERMAN_COLUMNS[-1], "$h_F^{(5)}$", "right"),
    ):
        ax.plot([column, column], [y + HALF, y + 1.25], color=INK, linewidth=1.8, zorder=2)
        beside = column + (0.12 if side == "left" else -0.12)
        label(ax, beside, y + 0.8, state, SMALL_TEXT, ha=side)
    arrow(ax, (GERMAN_COLUMNS[0], y + 1.25), (6.24, y + 1.25))
    ax.plot([7.76, ENGLISH_COLUMNS[-1]], [y + 1.25] * 2, color=INK, linewidth=1.8, zorder=2)
    for column in ENGLISH_COLUMNS:
        arrow(ax, (column, y + 1.25), (column, y + HALF))
    label(ax, 3.4, y + 1.5, "all that was read must fit in here", SMALL_TEXT)
    label(ax, 10.9, y + 1.5, "the same vector at every step", SMALL_TEXT)


def attention(ax, y):
    """The lower panel: a step weighs all annotations anew."""
    label(ax, 0.3, y + 3.15, "attention", LARGE_TEXT, ha="left", weight="bold")
    networks(ax, y)
    shares_y, top = y + 1.2, y + 2.4
    box(ax, 7.0, top, 1.5, 0.76, "context", PLAIN_TINT)
    for column, share in zip(GERMAN_COLUMNS, shares(), strict=True):
        below, above = [(column, y + HALF), (column, shares_y)], [(column, shares_y), (6.3, top)]
        for part in (below, above):
            line(ax, part, width=1.0 + 9 * share, role="weight")
        box(ax, column, shares_y, 0.86, 0.48, f"{share:.2f}", size=SMALL_TEXT, role="weight")
    asking, bus_y = ENGLISH_COLUMNS[ASKING - 1], y + HALF + 0.26
    bus = [(asking, y + HALF), (asking, bus_y), (GERMAN_COLUMNS[0] - 0.28, bus_y)]
    line(ax, bus, width=1.8, role="query")
    for column in GERMAN_COLUMNS:
        arrow(ax, (column - 0.28, bus_y), (column - 0.28, shares_y - 0.24), role="query")
    label(ax, 8.1, bus_y + 0.26, "the state asks", SMALL_TEXT, role="query")
    column = ENGLISH_COLUMNS[ASKING]
    ax.plot([7.75, column], [top, top], color=INK, linewidth=1.8, zorder=2)
    arrow(ax, (column, top), (column, y + HALF))
    label(ax, column + 0.2, y + 1.65, "a new mixture", SMALL_TEXT, ha="left")
    label(ax, column + 0.2, y + 1.3, "for every step", SMALL_TEXT, ha="left")
    label(ax, column - 0.2, y + 1.65, "here: step 3,", SMALL_TEXT, ha="right")
    label(ax, column - 0.2, y + 1.3, "which generates help", SMALL_TEXT, ha="right")


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(14.3, 9.1)
    fixed_vector(ax, 6.25)
    ax.plot([0.3, 14.0], [4.85, 4.85], color=MUTED, linewidth=1.2, linestyle=":")
    attention(ax, 1.25)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
