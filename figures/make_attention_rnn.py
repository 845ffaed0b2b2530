"""Draw the recurrent network with attention at the moment when it writes its second word.

The weights are those of the trained translator of lecture 1, in the question of its section 2.
"""

from itertools import pairwise

from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    PAPER,
    SHADE,
    SMALL_TEXT,
    arrow,
    box,
    canvas,
    cell,
    label,
    line,
    save,
)
from trained import alignment

SENTENCE = "kannst du mir helfen ?"
WORDS = SENTENCE.split()
STEP = 1  # counted from 0: the word is "you"
COLUMNS = [3.55 + 1.75 * k for k in range(5)]
WORD_Y, FORWARD_Y, BACKWARD_Y, ANNOTATION_Y = 0.4, 1.45, 2.4, 3.55
BUS_Y = 4.95  # the line on which the decoder's old state reaches the scores
SCORE_Y, SOFTMAX_Y, WEIGHT_Y, TIMES_Y, CONTEXT_Y = 5.65, 6.6, 7.45, 8.5, 9.3
STATES_X = [13.15, 15.35]
STATE_Y = 7.2
HALF = 0.3  # half the height of a box
PORT = 0.72  # from a column's middle to the line that carries its annotation to the product


def lanes(ax):
    """A grey band for each of the three steps, with its name."""
    right = COLUMNS[-1] + 1.0
    for bottom, top, name, below in [
        (5.2, 6.08, "1  scores", ""),
        (6.22, 7.98, "2  weights", "by a softmax"),
        (8.12, 9.72, "3  context", "a weighted sum"),
    ]:
        cell(ax, 0.15, bottom, right - 0.15, top - bottom, SHADE, SHADE, zorder=0)
        middle = (bottom + top) / 2 + (0.19 if below else 0)
        label(ax, 0.3, middle, name, ha="left", weight="bold")
        label(ax, 0.3, middle - 0.38, below, SMALL_TEXT, MUTED, ha="left")


def encoder(ax):
    """RNN #1: two chains of states and the annotations made from them."""
    label(ax, 0.3, 4.42, "RNN #1", LARGE_TEXT, ha="left", weight="bold")
    label(ax, 0.3, ANNOTATION_Y + 0.17, "annotations", ha="left")
    label(ax, 0.3, ANNOTATION_Y - 0.2, "both, side by side", SMALL_TEXT, MUTED, ha="left")
    label(ax, 0.3, BACKWARD_Y, "reads backward", ha="left")
    label(ax, 0.3, FORWARD_Y, "reads forward", ha="left")
    for j, (column, word) in enumerate(zip(COLUMNS, WORDS, strict=True), start=1):
        label(ax, column, WORD_Y, word, weight="bold")
        box(ax, column - 0.16, FORWARD_Y, 0.98, 2 * HALF, f"$h_F^{{({j})}}$")
        box(ax, column + 0.16, BACKWARD_Y, 0.98, 2 * HALF, f"$h_B^{{({j})}}$")
        arrow(ax, (column - 0.16, WORD_Y + 0.28), (column - 0.16, FORWARD_Y - HALF))
        arrow(ax, (column + 0.5, WORD_Y + 0.28), (column + 0.5, BACKWARD_Y - HALF))
        arrow(ax, (column - 0.5, FORWARD_Y + HALF), (column - 0.5, ANNOTATION_Y - HALF))
        arrow(ax, (column + 0.16, BACKWARD_Y + HALF), (column + 0.16, ANNOTATION_Y - HALF))
        box(ax, column, ANNOTATION_Y, 1.3, 2 * HALF, f"$h^{{({j})}}$")
    for here, there in pairwise(COLUMNS):
        arrow(ax, (here + 0.33, FORWARD_Y), (there - 0.65, FORWARD_Y), MUTED)
        arrow(ax, (there - 0.33, BACKWARD_Y), (here + 0.65, BACKWARD_Y), MUTED)


def attention(ax):
    """Scores, softmax, weights and the weighted sum, for step 2."""
    label(ax, 0.3, 10.1, "Attention", LARGE_TEXT, ha="left", weight="bold")
    words, rows = alignment(SENTENCE)
    assert words[STEP] == "you", words
    left, width = COLUMNS[0] - 0.49, COLUMNS[-1] - COLUMNS[0] + 0.98
    middle = left + width / 2
    # An annotation is compared and mixed: it leaves as a key and as a value, from one port. The
    # value passes in front of the softmax, which is not made from it.
    box(ax, middle, SOFTMAX_Y, width, 0.3)
    box(ax, middle, CONTEXT_Y, width, 2 * HALF, "add up")
    for j, column in enumerate(COLUMNS, start=1):
        weight = rows[STEP][j - 1]
        port, fork = (column, ANNOTATION_Y + HALF), ANNOTATION_Y + HALF + 0.3
        arrow(ax, port, (column, SCORE_Y - HALF), line=2.4, role="key")
        aside = [(column, fork), (column + PORT, fork), (column + PORT, TIMES_Y)]
        line(
            ax,
            [(column + PORT, BUS_Y - 0.1), (column + PORT, SOFTMAX_Y + 0.3)],
            PAPER,
            7,
            zorder=3.5,
        )
        line(ax, aside, width=2.4, zorder=3.6, role="value")
        arrow(ax, aside[-1], (column + 0.2, TIMES_Y), line=2.4, role="value")
        box(ax, column, SCORE_Y, 0.98, 2 * HALF, rf"$\omega_{{2{j}}}$", role="score")
        arrow(ax, (column, SCORE_Y + HALF), (column, SOFTMAX_Y - 0.15))
        arrow(ax, (column, SOFTMAX_Y + 0.15), (column, WEIGHT_Y - 0.43))
        box(ax, column, WEIGHT_Y, 0.98, 0.86, role="weight")
        label(ax, column, WEIGHT_Y + 0.2, rf"$\alpha_{{2{j}}}$")
        label(ax, column, WEIGHT_Y - 0.19, f"{weight:.2f}", weight="bold")
        arrow(ax, (column, WEIGHT_Y + 0.43), (column, TIMES_Y - 0.19), role="weight")
        ax.plot([column], [TIMES_Y], "o", ms=22, mfc=PAPER, mec=INK, mew=1.6, zorder=4)
        label(ax, column, TIMES_Y, "×")
        above = [(column, TIMES_Y + 0.19), (column, CONTEXT_Y - HALF)]
        line(ax, above, width=1 + 12 * weight)


def decoder(ax):
    """RNN #2: two states, and what the second one is made from."""
    first, second = STATES_X
    label(ax, first - 0.6, 10.1, "RNN #2", LARGE_TEXT, ha="left", weight="bold")
    box(ax, first, STATE_Y, 1.2, 0.8, "$s^{(1)}$", line=2.2, role="query")
    box(ax, second, STATE_Y, 1.2, 0.8, "$s^{(2)}$", line=2.2)
    arrow(ax, (first + 0.6, STATE_Y), (second - 0.6, STATE_Y), MUTED)

    # The context goes into the new state and past it into the output; the old state goes into the scores.
    right, past = COLUMNS[-1] + 0.49, second + 0.95
    line(ax, [(right, CONTEXT_Y), (past, CONTEXT_Y), (past, 3.55)], width=2.4)
    arrow(ax, (past, 3.55), (second + 0.6, 3.55), line=2.4)
    arrow(ax, (second, CONTEXT_Y), (second, STATE_Y + 0.4), line=2.4)
    label(ax, (first + second) / 2, CONTEXT_Y - 0.32, "context $c^{(2)}$")
    start = COLUMNS[0] - 0.3
    bus = [(first, STATE_Y - 0.4), (first, BUS_Y), (start, BUS_Y)]
    line(ax, bus, width=2.4, role="query")
    for column in COLUMNS:
        arrow(ax, (column - 0.3, BUS_Y), (column - 0.3, SCORE_Y - HALF), line=2.4, role="query")
    label(ax, first - 0.9, BUS_Y - 0.32, "the old", role="query")
    label(ax, first - 0.9, BUS_Y - 0.7, "state asks", role="query")

    for x, text, word in ((first, "$y^{(1)}$", "can"), (second, "$o^{(2)}$", "you")):
        box(ax, x, 3.55, 1.2, 2 * HALF, text)
        label(ax, x, 3.0, word, weight="bold")
    arrow(ax, (second, STATE_Y - 0.4), (second, 3.85))
    arrow(ax, (first + 0.6, 3.75), (second - 0.4, STATE_Y - 0.42))
    label(ax, first, 2.55, "word before", SMALL_TEXT, MUTED)
    label(ax, second, 2.55, "logits, best: you", SMALL_TEXT, MUTED)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(16.9, 10.5)
    lanes(ax)
    encoder(ax)
    attention(ax)
    decoder(ax)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
