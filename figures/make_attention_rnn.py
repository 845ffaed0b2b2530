"""Draw the recurrent network with attention at the moment when it writes its second word."""

from itertools import pairwise

from style import (
    KEY_TINT,
    LARGE_TEXT,
    MUTED,
    PLAIN_TINT,
    QUERY,
    QUERY_TINT,
    VALUE,
    VALUE_TINT,
    arrow,
    box,
    canvas,
    label,
    save,
)

WORDS = ["kannst", "du", "mir", "helfen"]
COLUMNS = [3.6 + 1.75 * k for k in range(4)]
WORD_Y, FORWARD_Y, BACKWARD_Y, ANNOTATION_Y = 0.4, 1.45, 2.4, 3.55
BUS_Y = 4.85  # the line on which the decoder's old state reaches the scores
SCORE_Y, SOFTMAX_Y, WEIGHT_Y, CONTEXT_Y = 5.5, 6.35, 7.15, 8.45
STATES_X = [11.4, 13.7]
STATE_Y = 6.8
HALF = 0.3  # half the height of a box


def encoder(ax):
    """RNN #1: two chains of states and the annotations made from them."""
    label(ax, 0.2, 4.32, "RNN #1", LARGE_TEXT, ha="left", weight="bold")
    label(ax, 0.2, ANNOTATION_Y + 0.17, "annotations", ha="left")
    label(ax, 0.2, ANNOTATION_Y - 0.2, "both, side by side", colour=MUTED, ha="left")
    label(ax, 0.2, BACKWARD_Y, "reads backward", ha="left")
    label(ax, 0.2, FORWARD_Y, "reads forward", ha="left")
    for j, (column, word) in enumerate(zip(COLUMNS, WORDS, strict=True), start=1):
        label(ax, column, WORD_Y, word, weight="bold")
        box(ax, column - 0.16, FORWARD_Y, 0.98, 2 * HALF, f"$h_F^{{({j})}}$", PLAIN_TINT)
        box(ax, column + 0.16, BACKWARD_Y, 0.98, 2 * HALF, f"$h_B^{{({j})}}$", PLAIN_TINT)
        arrow(ax, (column - 0.16, WORD_Y + 0.22), (column - 0.16, FORWARD_Y - HALF))
        arrow(ax, (column + 0.5, WORD_Y + 0.22), (column + 0.5, BACKWARD_Y - HALF))
        arrow(ax, (column - 0.5, FORWARD_Y + HALF), (column - 0.5, ANNOTATION_Y - HALF))
        arrow(ax, (column + 0.16, BACKWARD_Y + HALF), (column + 0.16, ANNOTATION_Y - HALF))
        box(ax, column, ANNOTATION_Y, 1.3, 2 * HALF, f"$h^{{({j})}}$", KEY_TINT)
    for here, there in pairwise(COLUMNS):
        arrow(ax, (here + 0.33, FORWARD_Y), (there - 0.65, FORWARD_Y), MUTED)
        arrow(ax, (there - 0.33, BACKWARD_Y), (here + 0.65, BACKWARD_Y), MUTED)


def attention(ax):
    """Scores, softmax, weights and the weighted sum, for step 2."""
    label(ax, 0.2, 9.1, "Attention", LARGE_TEXT, ha="left", weight="bold")
    label(ax, 0.2, SCORE_Y, "1  scores", ha="left")
    label(ax, 0.2, SOFTMAX_Y, "2  weights", ha="left")
    label(ax, 0.2, CONTEXT_Y, "3  context", ha="left")
    for j, column in enumerate(COLUMNS, start=1):
        arrow(ax, (column, ANNOTATION_Y + HALF), (column, SCORE_Y - HALF))
        box(ax, column, SCORE_Y, 0.98, 2 * HALF, rf"$\omega_{{2{j}}}$", QUERY_TINT, QUERY)
        arrow(ax, (column, SCORE_Y + HALF), (column, SOFTMAX_Y - 0.22))
        arrow(ax, (column, SOFTMAX_Y + 0.22), (column, WEIGHT_Y - HALF))
        box(ax, column, WEIGHT_Y, 0.98, 2 * HALF, rf"$\alpha_{{2{j}}}$", VALUE_TINT, VALUE)
        arrow(ax, (column, WEIGHT_Y + HALF), (column, CONTEXT_Y - HALF))
        label(ax, column + 0.14, 7.78, rf"$\times\,h^{{({j})}}$", ha="left")
    middle, width = (COLUMNS[0] + COLUMNS[-1]) / 2, COLUMNS[-1] - COLUMNS[0] + 1.3
    box(ax, middle, SOFTMAX_Y, width, 0.44, "softmax over the source words")
    box(ax, middle, CONTEXT_Y, width, 2 * HALF, "add up", VALUE_TINT)


def decoder(ax):
    """RNN #2: two states, and what the second one is made from."""
    first, second = STATES_X
    label(ax, 10.8, 9.1, "RNN #2", LARGE_TEXT, ha="left", weight="bold")
    for i, x in enumerate(STATES_X, start=1):
        box(ax, x, STATE_Y, 1.2, 0.8, f"$s^{{({i})}}$", QUERY_TINT, QUERY, line=2.2)
    arrow(ax, (first + 0.6, STATE_Y), (second - 0.6, STATE_Y), MUTED)

    # The context goes into the new state, the old state goes into the scores.
    right = COLUMNS[-1] + 0.65
    ax.plot([right, second], [CONTEXT_Y] * 2, color=VALUE, linewidth=2.4, zorder=2)
    arrow(ax, (second, CONTEXT_Y), (second, STATE_Y + 0.4), VALUE, 2.4)
    label(ax, (right + second) / 2, CONTEXT_Y - 0.32, "context $c^{(2)}$", colour=VALUE)
    start = COLUMNS[0] + 0.3
    corner = [first, first, start], [STATE_Y - 0.4, BUS_Y, BUS_Y]
    ax.plot(*corner, color=QUERY, linewidth=2.4, zorder=2)
    for column in COLUMNS:
        arrow(ax, (column + 0.3, BUS_Y), (column + 0.3, SCORE_Y - HALF), QUERY, 2.4)
    label(ax, 10.25, BUS_Y - 0.3, "the old state asks", colour=QUERY)

    for x, text, word in ((first, "$y^{(1)}$", "can"), (second, "$o^{(2)}$", "you")):
        box(ax, x, 3.55, 1.2, 2 * HALF, text, PLAIN_TINT)
        label(ax, x, 3.0, word, weight="bold")
    arrow(ax, (second, STATE_Y - 0.4), (second, 3.85))
    label(ax, second + 0.12, 5.35, "a score for", colour=MUTED, ha="left")
    label(ax, second + 0.12, 5.02, "every word", colour=MUTED, ha="left")
    arrow(ax, (first + 0.6, 3.75), (second - 0.4, STATE_Y - 0.42))
    label(ax, first, 2.55, "the word before", colour=MUTED)
    label(ax, second, 2.55, "the word written", colour=MUTED)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(15.3, 9.5)
    encoder(ax)
    attention(ax)
    decoder(ax)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
