"""Draw how a padding mask and a causal mask broadcast to one mask per sentence."""

from matplotlib.patches import Rectangle
from style import INK, LARGE_TEXT, MUTED, PAPER, PLUM, SMALL_TEXT, canvas, label, save

SENTENCES = [["<bos>", "can", "you", "help", "me"], ["<bos>", "thanks", "<eos>", "<pad>", "<pad>"]]
SIZE = 5
CELL = 0.44


def tiles(ax, left, top, mask):
    """A mask as cells: filled where a query may attend, hatched where it may not."""
    for row, line in enumerate(mask):
        for column, visible in enumerate(line):
            ax.add_patch(
                Rectangle(
                    (left + column * CELL, top - (row + 1) * CELL),
                    CELL,
                    CELL,
                    facecolor=PLUM if visible else PAPER,
                    edgecolor=INK if visible else MUTED,
                    hatch=None if visible else "///",
                    linewidth=1.3,
                    zorder=4 if visible else 3,
                )
            )


def words(ax, left, top, sentence):
    """The keys' words, written upwards above their columns."""
    for column, word in enumerate(sentence):
        x = left + (column + 0.5) * CELL
        ax.text(
            x,
            top + 0.1,
            word,
            rotation=90,
            fontsize=SMALL_TEXT,
            color=INK,
            ha="center",
            va="bottom",
        )


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(13.2, 8.4)
    causal = [[j <= i for j in range(SIZE)] for i in range(SIZE)]
    padding = [[word != "<pad>" for word in sentence] for sentence in SENTENCES]
    width = SIZE * CELL
    first, second, third = 1.6, 5.2, 9.0
    tops = [6.15, 2.75]

    for x, name, shape in [
        (first, "padding mask", "(B, 1, 1, S)"),
        (second, "causal mask", "(T, T)"),
        (third, "decoder mask", "(B, 1, T, T)"),
    ]:
        label(ax, x + width / 2, 8.0, name, LARGE_TEXT, weight="bold")
        label(ax, x + width / 2, 7.55, shape, LARGE_TEXT)

    for b, (sentence, line) in enumerate(zip(SENTENCES, padding, strict=True)):
        top = tops[b]
        middle = top - width / 2
        label(ax, 0.2, middle, f"b = {b}", LARGE_TEXT, ha="left")
        tiles(ax, first, middle + CELL / 2, [line])
        words(ax, first, middle + CELL / 2, sentence)
        label(ax, first + width / 2, middle - 0.55, "one row for all queries", SMALL_TEXT, MUTED)
        both = [[a and c for a, c in zip(line, row, strict=True)] for row in causal]
        tiles(ax, third, top, both)
        words(ax, third, top, sentence)
        label(ax, (second + width + third) / 2, middle, "=", 34)
        label(ax, third + width + 0.15, middle, f"mask[{b}, 0]", SMALL_TEXT, MUTED, ha="left")

    centre = (tops[0] + tops[1] - width) / 2
    tiles(ax, second, centre + width / 2, causal)
    label(ax, second + width / 2, centre - width / 2 - 0.35, "one for all", SMALL_TEXT, MUTED)
    label(ax, second + width / 2, centre - width / 2 - 0.65, "sentences", SMALL_TEXT, MUTED)
    label(ax, (first + width + second) / 2, centre, "&", 34)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
