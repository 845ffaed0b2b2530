"""Draw where absolute positions, biases and rotations enter a stack of layers."""

from matplotlib.patches import Rectangle
from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    OCHRE_TINT,
    PLAIN_TINT,
    PLUM,
    PLUM_TINT,
    SMALL_TEXT,
    arrow,
    box,
    canvas,
    label,
    save,
)

# Inside a layer: name of the step and its height above the layer's lower edge.
STEPS = [("query, key", 0.5), ("scores", 1.22), ("softmax, values", 1.94)]
LAYER_HEIGHT = 2.45
LAYER_BOTTOMS = [2.1, 4.9]
WORDS_Y, SUM_Y, OUTPUT_Y = 0.9, 1.63, 7.75
BOX_WIDTH, BOX_HEIGHT = 1.9, 0.48


def entry(ax, x, y, text):
    """The blue arrow by which positions enter, and its name."""
    arrow(ax, (x - 1.85, y), (x - BOX_WIDTH / 2, y), PLUM, 3.0)
    label(ax, x - 1.93, y, text, SMALL_TEXT, PLUM, ha="right", weight="bold")


def stack(ax, x, title, names, blue_step, enters):
    """One column: words, two layers, output. `blue_step` is the step at which positions enter."""
    label(ax, x, 8.82, title, LARGE_TEXT, weight="bold")
    label(ax, x, 8.4, names, SMALL_TEXT, MUTED)
    box(ax, x, WORDS_Y, BOX_WIDTH, BOX_HEIGHT, "word vectors", OCHRE_TINT, size=SMALL_TEXT)
    box(ax, x, OUTPUT_Y, BOX_WIDTH, BOX_HEIGHT, "output", PLAIN_TINT, size=SMALL_TEXT)
    half = BOX_HEIGHT / 2
    below = WORDS_Y + half
    for number, bottom in enumerate(LAYER_BOTTOMS, start=1):
        frame = {"fill": False, "edgecolor": MUTED, "linewidth": 1.6, "linestyle": "--"}
        ax.add_patch(Rectangle((x - 1.18, bottom), 2.36, LAYER_HEIGHT, **frame))
        label(
            ax, x + 1.28, bottom + LAYER_HEIGHT / 2, f"layer {number}", SMALL_TEXT, MUTED, ha="left"
        )
        for step, (name, height) in enumerate(STEPS):
            y = bottom + height
            here = step == blue_step
            tint, edge = (PLUM_TINT, PLUM) if here else (PLAIN_TINT, INK)
            box(ax, x, y, BOX_WIDTH, BOX_HEIGHT, name, tint, edge, SMALL_TEXT, 2.6 if here else 1.6)
            arrow(ax, (x, below), (x, y - half), MUTED, 1.6)
            if here:
                entry(ax, x, y, enters)
            below = y + half
    arrow(ax, (x, below), (x, OUTPUT_Y - half), MUTED, 1.6)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(15.4, 9.2)
    stack(ax, 2.9, "absolute", "sinusoidal, learned", None, "")
    # The plus sign covers the arrow from the words to the first layer.
    box(ax, 2.9, SUM_Y, 0.46, 0.46, "+", PLUM_TINT, PLUM, LARGE_TEXT, 2.6)
    arrow(ax, (1.35, SUM_Y), (2.65, SUM_Y), PLUM, 3.0)
    label(ax, 1.27, SUM_Y, "position", SMALL_TEXT, PLUM, ha="right", weight="bold")

    stack(ax, 8.1, "a bias on the scores", "learned bias, ALiBi", 1, "offset")
    stack(ax, 13.3, "a rotation", "rotary", 0, "position")
    for x, text in [
        (2.9, "once, at the bottom"),
        (8.1, "in every layer"),
        (13.3, "in every layer"),
    ]:
        label(ax, x, 0.3, text, SMALL_TEXT)
    for x in (5.2, 10.28):
        ax.plot([x, x], [0.15, 9.05], color=MUTED, linewidth=1.2, linestyle=":")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
