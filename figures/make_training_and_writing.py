"""Draw the same decoder in training, all positions at once, and when it writes, word by word."""

from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    OCHRE,
    PLAIN_TINT,
    PLUM_TINT,
    SLATE_TINT,
    SMALL_TEXT,
    TEXT,
    arrow,
    box,
    canvas,
    label,
    save,
)

INPUTS = ["<bos>", "can", "you", "help"]
TARGETS = ["can", "you", "help", "me"]
PITCH, TOKEN = 1.32, 1.14
TRAINING, WRITING = 0.95, 7.6  # the first column of each panel


def tokens(ax, first, y, words, fill, edges=None):
    """A row of words in boxes."""
    for k, word in enumerate(words):
        edge = edges[k] if edges else INK
        line = 1.6 if edge == INK else 2.6
        box(ax, first + PITCH * k, y, TOKEN, 0.52, word, fill, edge, SMALL_TEXT, line)


def training(ax):
    """All inputs are known: one pass answers at every position."""
    label(ax, TRAINING + 1.5 * PITCH, 7.3, "training", LARGE_TEXT, weight="bold")
    tokens(ax, TRAINING, 2.2, INPUTS, PLAIN_TINT)
    tokens(ax, TRAINING, 5.2, TARGETS, SLATE_TINT)
    box(ax, TRAINING + 1.5 * PITCH, 3.7, 3 * PITCH + TOKEN, 0.9, "decoder, one pass", PLUM_TINT)
    for k in range(4):
        x = TRAINING + PITCH * k
        arrow(ax, (x, 2.46), (x, 3.25))
        arrow(ax, (x, 4.15), (x, 4.94))
    label(ax, TRAINING + 1.5 * PITCH, 1.55, "given: the right tokens, shifted by one", SMALL_TEXT)
    label(ax, TRAINING + 1.5 * PITCH, 5.85, "to be predicted: the next token", SMALL_TEXT)
    label(ax, TRAINING + 1.5 * PITCH, 0.6, "the mask hides the future", SMALL_TEXT, MUTED)


def writing(ax):
    """Only the start is known: each token is fed back before the next can be generated."""
    label(ax, WRITING + 1.5 * PITCH, 7.3, "generation", LARGE_TEXT, weight="bold")
    for step in range(4):
        y = 5.95 - 1.42 * step
        written = INPUTS[: step + 1]
        label(ax, WRITING - 0.75, y, f"{step + 1}", TEXT, MUTED, weight="bold")
        tokens(ax, WRITING, y, written, PLAIN_TINT, [INK] * step + [OCHRE if step else INK])
        x = WRITING + PITCH * (step + 1)
        arrow(ax, (x - PITCH + TOKEN / 2, y), (x + 0.14 - TOKEN / 2, y))
        box(ax, x + 0.14, y, TOKEN, 0.52, TARGETS[step], SLATE_TINT, size=SMALL_TEXT)
        if step < 3:
            arrow(ax, (x + 0.14, y - 0.26), (x, y - 1.42 + 0.26), OCHRE, 2.4, dashed=True)
    label(ax, WRITING + 1.5 * PITCH, 0.6, "there is no future yet", SMALL_TEXT, MUTED)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(13.8, 7.7)
    training(ax)
    ax.plot([6.05, 6.05], [0.4, 7.4], color=MUTED, linewidth=1.2, linestyle=":")
    writing(ax)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
