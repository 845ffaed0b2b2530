"""Draw where absolute positions, biases and rotations enter a stack of layers."""

from matplotlib.patches import Rectangle
from style import (
    INK,
    LARGE_TEXT,
    MUTED,
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
STEPS = [("query, key", 0.5), ("scores", 1.25), ("softmax, values", 2.0)]
LAYER_WIDTH, LAYER_HEIGHT = 2.6, 2.8
LAYER_BOTTOMS = [2.95, 6.05]
FORMULA_Y, OFTEN_Y, WORDS_Y, SUM_Y, OUTPUT_Y = 0.85, 0.35, 1.65, 2.45, 9.3
BOX_WIDTH, BOX_HEIGHT = 2.15, 0.5


def entry(ax, x, y, text, width):
    """The purple arrow by which positions enter at a box of this width, and its name."""
    arrow(ax, (x - 1.55, y), (x - width / 2, y), PLUM, 3.0)
    label(ax, x - 1.63, y, text, SMALL_TEXT, PLUM, ha="right", weight="bold")


def stack(ax, x, title, names, purple_step, enters):
    """One column: words, two layers, output. Positions enter at `purple_step`."""
    label(ax, x, 10.45, title, LARGE_TEXT, weight="bold")
    label(ax, x, 10.02, names, SMALL_TEXT, MUTED)
    box(ax, x, WORDS_Y, BOX_WIDTH, BOX_HEIGHT, "word vectors", size=SMALL_TEXT)
    box(ax, x, OUTPUT_Y, BOX_WIDTH, BOX_HEIGHT, "output", size=SMALL_TEXT)
    half = BOX_HEIGHT / 2
    below = WORDS_Y + half
    for number, bottom in enumerate(LAYER_BOTTOMS, start=1):
        frame = {"fill": False, "edgecolor": MUTED, "linewidth": 1.6, "linestyle": "--"}
        left, top = x - LAYER_WIDTH / 2, bottom + LAYER_HEIGHT
        ax.add_patch(Rectangle((left, bottom), LAYER_WIDTH, LAYER_HEIGHT, **frame))
        label(ax, left + 0.1, top - 0.22, f"layer {number}", SMALL_TEXT, MUTED, ha="left")
        for step, (name, height) in enumerate(STEPS):
            y = bottom + height
            here = step == purple_step
            tint, edge = (PLUM_TINT, PLUM) if here else (PLAIN_TINT, INK)
            box(ax, x, y, BOX_WIDTH, BOX_HEIGHT, name, tint, edge, SMALL_TEXT, 2.6 if here else 1.6)
            arrow(ax, (x, below), (x, y - half), MUTED, 1.6)
            if here:
                entry(ax, x, y, enters, BOX_WIDTH)
            below = y + half
    arrow(ax, (x, below), (x, OUTPUT_Y - half), MUTED, 1.6)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(13.2, 10.75)
    middles = [3.0, 7.35, 11.7]
    stack(ax, middles[0], "absolute", "sinusoidal, learned", None, "")
    # The plus sign covers the arrow from the words to the first layer.
    box(ax, middles[0], SUM_Y, 0.46, 0.46, "+", PLUM_TINT, PLUM, LARGE_TEXT, 2.6)
    entry(ax, middles[0], SUM_Y, "position", 0.46)
    stack(ax, middles[1], "a bias", "learned bias, ALiBi", 1, "offset")
    stack(ax, middles[2], "a rotation", "rotary", 0, "position")
    formulas = [
        "$x^{(i)} + PE_i$",
        r"$\omega_{ij}/\sqrt{d_k} + b_{j-i}$",
        "$R(-i)\\,q^{(i)} \\cdot R(-j)\\,k^{(j)}$",
    ]
    often = ["once, at the bottom", "in every layer", "in every layer"]
    for x, formula, text in zip(middles, formulas, often, strict=True):
        label(ax, x, FORMULA_Y, formula, LARGE_TEXT, PLUM)
        label(ax, x, OFTEN_Y, text, SMALL_TEXT)
    for x in (4.6, 8.95):
        ax.plot([x, x], [0.15, 10.6], color=MUTED, linewidth=1.2, linestyle=":")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
