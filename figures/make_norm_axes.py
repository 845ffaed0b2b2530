"""Draw which entries share one mean: batch norm, layer norm, and one mean per sentence."""

from matplotlib.patches import Rectangle
from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    OCHRE_TINT,
    PAPER,
    PLUM,
    SMALL_TEXT,
    TEXT,
    canvas,
    label,
    save,
)

SENTENCES = [["can", "you", "help", "me"], ["i", "read", "<pad>", "<pad>"]]
FEATURES = 6
CELL = 0.42
TOPS = [4.95, 2.85]  # upper edges of the two sentences' grids
LEFTS = [1.35, 5.75, 10.15]
GROUPS = [
    {(s, t, 2) for s in range(2) for t in range(4)},
    {(0, 1, d) for d in range(FEATURES)},
    {(0, t, d) for t in range(4) for d in range(FEATURES)},
]
TITLES = ["batch norm", "layer norm", "not in a transformer"]
CAPTIONS = [
    ("one mean for each feature,", "over all tokens, pads too: D means"),
    ("one mean for each token,", "over its own features: B × T means"),
    ("one mean for each sentence,", "over tokens and features: B means"),
]


def grid(ax, left, top, sentence, group):
    """One sentence: a row of cells for each token; the cells of the group are filled."""
    for token, word in enumerate(SENTENCES[sentence]):
        pad = word == "<pad>"
        middle = top - (token + 0.5) * CELL
        label(ax, left - 0.12, middle, word, SMALL_TEXT, MUTED if pad else INK, ha="right")
        for feature in range(FEATURES):
            inside = (sentence, token, feature) in group
            ax.add_patch(
                Rectangle(
                    (left + feature * CELL, top - (token + 1) * CELL),
                    CELL,
                    CELL,
                    facecolor=PLUM if inside else OCHRE_TINT if pad else PAPER,
                    edgecolor=INK if inside else MUTED,
                    hatch=None if inside or not pad else "///",
                    linewidth=1.1,
                    zorder=4 if inside else 3,
                )
            )


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(13.2, 6.2)
    for left, group, title, caption in zip(LEFTS, GROUPS, TITLES, CAPTIONS, strict=True):
        middle = left + FEATURES * CELL / 2
        label(ax, middle, 5.85, title, LARGE_TEXT, weight="bold")
        label(ax, middle, 5.3, "features →", SMALL_TEXT, MUTED)
        for sentence, top in enumerate(TOPS):
            grid(ax, left, top, sentence, group)
        label(ax, middle - 0.35, 0.68, caption[0], TEXT)
        label(ax, middle - 0.35, 0.3, caption[1], SMALL_TEXT)
    for x in (4.35, 8.75):
        ax.plot([x, x], [0.1, 6.0], color=MUTED, linewidth=1.2, linestyle=":")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
