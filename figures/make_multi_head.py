"""Draw multi-head attention: on the left what happens in one head, on the right all heads."""

from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    arrow,
    box,
    canvas,
    label,
    save,
    weight_map,
)

from lecture_kit.trained import learned

LETTERS = [
    ("query", "Q", "q", "T"),
    ("key", "K", "k", "S"),
    ("value", "V", "v", "S"),
]
SENTENCE, LAYER = "she", 1  # of lecture 5, section 5: the maps of one layer, for their patterns
CELL = 0.14


def cards(ax, x, y, width, height, text, role, copies=3):
    """A pile of boxes, one per head, seen from the front."""
    for copy in reversed(range(copies)):
        shift = 0.14 * copy
        box(ax, x + shift, y + shift, width, height, text if copy == 0 else "", role=role)


def inside(ax):
    """One head: scaled dot-product attention."""
    label(ax, 2.9, 9.65, "inside one head", LARGE_TEXT, weight="bold")
    label(ax, 2.9, 9.27, "scaled dot-product attention", colour=MUTED)
    for x, (role, letter, _, length) in zip([0.95, 2.55, 4.9], LETTERS, strict=True):
        box(ax, x, 8.05, 1.1, 0.7, f"${letter}_h$", size=LARGE_TEXT, role=role)
        label(ax, x, 8.63, f"$({length},\\ d_k)$", colour=MUTED)
    middle = 1.75
    arrow(ax, (0.95, 7.7), (1.4, 7.06), line=2.2, role="query")
    arrow(ax, (2.55, 7.7), (2.1, 7.06), line=2.2, role="key")
    steps = ["$Q_h K_h^{\\top}$", "$\\div \\sqrt{d_k}$", "mask (if any)", "softmax per row"]
    for place, step in enumerate(steps):
        y = 6.75 - 1.17 * place
        box(ax, middle, y, 2.4, 0.62, step)
        if place:
            arrow(ax, (middle, y + 0.86), (middle, y + 0.31))
    arrow(ax, (middle, 2.93), (2.55, 1.94), line=2.2, role="weight")
    label(ax, 0.2, 2.4, "weights $(T,\\ S)$", colour=MUTED, ha="left")
    arrow(ax, (4.9, 7.7), (3.6, 1.94), line=2.2, role="value")
    box(ax, 3.05, 1.63, 2.4, 0.62, "weights $\\times\\ V_h$")
    arrow(ax, (3.05, 1.32), (3.05, 0.83), line=2.2)
    label(ax, 3.05, 0.55, "context of head $h$,  $(T,\\ d_k)$")


def outside(ax):
    """All heads: project, attend, concatenate, project."""
    middle = 10.1
    label(ax, middle, 9.65, "outside: $H$ heads", LARGE_TEXT, weight="bold")
    label(ax, middle, 9.27, "project, attend, concatenate, project", colour=MUTED)
    for x, (name, letter, small, length) in zip([7.9, 10.1, 12.3], LETTERS, strict=True):
        box(ax, x, 8.4, 1.5, 0.62, name, role=name)
        label(ax, x + 0.15, 7.83, f"$({length},\\ d_\\text{{model}})$", colour=MUTED, ha="left")
        arrow(ax, (x, 8.09), (x, 7.34), line=2.2, role=name)
        cards(ax, x, 6.75, 1.5, 0.7, f"$W_{{{small},h}}$", role=name)
        arrow(ax, (x, 6.4), (x, 5.67), line=2.2, role=name)
        label(ax, x + 0.15, 6.03, f"${letter}_h$ $({length},\\ d_k)$", colour=MUTED, ha="left")
    label(ax, 13.5, 6.9, "$\\times\\ H$", LARGE_TEXT, INK, ha="left")
    heads(ax, middle)
    label(ax, 12.55, 3.27, "$H$ contexts", colour=MUTED, ha="left")
    label(ax, 12.55, 2.89, "$(T,\\ d_k)$", colour=MUTED, ha="left")
    box(ax, middle, 2.65, 4.2, 0.62, "concatenate: $(T,\\ H \\cdot d_k)$")
    arrow(ax, (middle, 2.34), (middle, 1.94), line=2.2)
    box(ax, middle, 1.63, 4.2, 0.62, "$W_o$: mix the heads")
    arrow(ax, (middle, 1.32), (middle, 0.83), line=2.2)
    label(ax, middle, 0.55, "output $(T,\\ d_\\text{model})$")


def heads(ax, middle):
    """The four heads of one layer of the trained translator, each with its own map."""
    example = learned.sentence(SENTENCE)
    asking, words = example.words("cross")
    width, height, bottom = len(words) * CELL, len(asking) * CELL, 3.9
    box(ax, middle, 4.62, 6.9, 2.1)
    label(ax, middle, 5.42, "scaled dot-product attention, here $H = 4$")
    for head in range(1, 5):
        weights = example.weights("cross", LAYER, head)  # (T, S)
        x = middle + 1.66 * (head - 2.5)
        label(
            ax, x - width / 2 - 0.12, bottom + height - 0.12, f"{head}", ha="right", weight="bold"
        )
        weight_map(ax, x - width / 2, bottom + height, CELL, weights.tolist())
        arrow(ax, (x, 3.57), (middle + 1.1 * (head - 2.5), 2.96))


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(14.4, 10.0)
    inside(ax)
    ax.plot([6.5, 6.5], [0.3, 9.8], color=MUTED, linewidth=1.2, linestyle=":")
    outside(ax)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
