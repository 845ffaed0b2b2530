"""Draw attention between two networks beside self-attention within one sequence."""

from itertools import pairwise

from style import (
    LARGE_TEXT,
    MUTED,
    SMALL_TEXT,
    arrow,
    box,
    canvas,
    label,
    save,
)

GERMAN = ["kannst", "du", "mir", "helfen"]
ENGLISH = ["can", "you", "help", "me"]
LOW, HIGH = 1.75, 4.35
HALF = 0.36  # half the height of a box


def row(ax, columns, y, names, roles, words, word_y):
    """A row of boxes, and their words above or below."""
    for column, name, role, word in zip(columns, names, roles, words, strict=True):
        box(ax, column, y, 1.15, 2 * HALF, name, line=2.4 if role == "query" else 1.6, role=role)
        label(ax, column, word_y, word, SMALL_TEXT)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(13.2, 6.2)
    left = [0.85 + 1.5 * k for k in range(4)]
    right = [7.75 + 1.5 * k for k in range(4)]

    label(ax, 3.1, 5.85, "between two networks (lecture 1)", LARGE_TEXT, weight="bold")
    names = [f"$h^{{({k})}}$" for k in range(1, 5)]
    row(ax, left, LOW, names, ["key"] * 4, GERMAN, 1.1)
    states = [f"$s^{{({k})}}$" for k in range(1, 4)]
    above = [0.85 + 0.75 + 1.5 * k for k in range(3)]
    # A state is named after the word that it has just produced.
    row(ax, above, HIGH, states, ["", "query", ""], ENGLISH[:3], 5.05)
    for here, there in pairwise(left):
        arrow(ax, (here + 0.6, LOW), (there - 0.6, LOW), MUTED, 1.6)
        arrow(ax, (there - 0.6, LOW - 0.2), (here + 0.6, LOW - 0.2), MUTED, 1.6)
    for here, there in pairwise(above):
        arrow(ax, (here + 0.6, HIGH), (there - 0.6, HIGH), MUTED, 1.6)
    for column in left:
        arrow(ax, (above[1], HIGH - HALF), (column, LOW + HALF), line=2.2, role="query")
    # It asks on behalf of the next word: lecture 1's s(i-1) chooses word i.
    label(ax, 4.2, 3.6, "to choose word 3", SMALL_TEXT, ha="left", role="query")
    label(ax, 3.1, 0.55, "a state of the decoder asks,", SMALL_TEXT)
    label(ax, 3.1, 0.22, "the annotations of the encoder answer", SMALL_TEXT)

    ax.plot([6.55, 6.55], [0.2, 6.0], color=MUTED, linewidth=1.2, linestyle=":")

    label(ax, 10.0, 5.85, "within one sequence (this lecture)", LARGE_TEXT, weight="bold")
    names = [f"$x^{{({k})}}$" for k in range(1, 5)]
    row(ax, right, LOW, names, ["key"] * 4, ENGLISH, 1.1)
    row(ax, right, HIGH, names, ["", "query", "", ""], ENGLISH, 5.05)
    for column in right:
        arrow(ax, (right[1], HIGH - HALF), (column, LOW + HALF), line=2.2, role="query")
    label(ax, 10.0, 0.55, "a word of the sentence asks, all words of the", SMALL_TEXT)
    label(ax, 10.0, 0.22, "same sentence answer; nothing recurs", SMALL_TEXT)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
