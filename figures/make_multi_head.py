"""Draw multi-head attention: on the left what happens in one head, on the right all heads."""

from style import (
    INK,
    KEY_TINT,
    LARGE_TEXT,
    MUTED,
    PLAIN_TINT,
    QUERY_TINT,
    VALUE_TINT,
    arrow,
    box,
    canvas,
    label,
    save,
)

ROLES = [
    ("query", "Q", "q", "T", QUERY_TINT),
    ("key", "K", "k", "S", KEY_TINT),
    ("value", "V", "v", "S", VALUE_TINT),
]


def cards(ax, x, y, width, height, text, fill, copies=3):
    """A pile of boxes, one per head, seen from the front."""
    for copy in reversed(range(copies)):
        shift = 0.14 * copy
        box(ax, x + shift, y + shift, width, height, text if copy == 0 else "", fill)


def inside(ax):
    """One head: scaled dot-product attention."""
    label(ax, 2.9, 8.65, "inside one head", LARGE_TEXT, weight="bold")
    label(ax, 2.9, 8.27, "scaled dot-product attention", colour=MUTED)
    for x, (_, letter, _, length, tint) in zip([0.9, 2.5, 4.9], ROLES, strict=True):
        box(ax, x, 7.25, 1.1, 0.7, f"${letter}_h$", tint, size=LARGE_TEXT)
        label(ax, x, 7.83, f"$({length},\\ d_k)$", colour=MUTED)
    middle = 1.7
    arrow(ax, (0.9, 6.9), (1.35, 6.37), line=2.2)
    arrow(ax, (2.5, 6.9), (2.05, 6.37), line=2.2)
    box(ax, middle, 6.05, 2.4, 0.62, "$Q_h K_h^{\\top}$")
    arrow(ax, (middle, 5.74), (middle, 5.33))
    box(ax, middle, 5.02, 2.4, 0.62, "$\\div \\sqrt{d_k}$")
    arrow(ax, (middle, 4.71), (middle, 4.3))
    box(ax, middle, 3.99, 2.4, 0.62, "mask (if any)")
    arrow(ax, (middle, 3.68), (middle, 3.27))
    box(ax, middle, 2.96, 2.4, 0.62, "softmax per row")
    arrow(ax, (middle, 2.65), (2.6, 1.94), line=2.2)
    label(ax, 0.2, 2.25, "weights $(T,\\ S)$", colour=MUTED, ha="left")
    arrow(ax, (4.9, 6.9), (3.5, 1.94), line=2.2)
    box(ax, 3.05, 1.63, 2.4, 0.62, "weights $\\times\\ V_h$")
    arrow(ax, (3.05, 1.32), (3.05, 0.83), line=2.2)
    label(ax, 3.05, 0.55, "context of head $h$,  $(T,\\ d_k)$")


def outside(ax):
    """All heads: project, attend, concatenate, project."""
    middle = 10.1
    label(ax, middle, 8.65, "outside: $H$ heads", LARGE_TEXT, weight="bold")
    label(ax, middle, 8.27, "project, attend, concatenate, project", colour=MUTED)
    for x, (name, letter, small, length, tint) in zip([7.9, 10.1, 12.3], ROLES, strict=True):
        box(ax, x, 7.4, 1.5, 0.62, name, tint)
        label(ax, x + 0.15, 6.83, f"$({length},\\ d_\\text{{model}})$", colour=MUTED, ha="left")
        arrow(ax, (x, 7.09), (x, 6.29), line=2.2)
        cards(ax, x, 5.7, 1.5, 0.7, f"$W_{{{small},h}}$", tint)
        arrow(ax, (x, 5.35), (x, 4.62), line=2.2)
        label(ax, x + 0.15, 4.98, f"${letter}_h$ $({length},\\ d_k)$", colour=MUTED, ha="left")
    cards(ax, middle, 3.95, 5.9, 0.74, "scaled dot-product attention", PLAIN_TINT)
    label(ax, 13.5, 5.85, "$\\times\\ H$", LARGE_TEXT, INK, ha="left")
    label(ax, 13.5, 4.1, "$\\times\\ H$", LARGE_TEXT, INK, ha="left")
    for x in (8.6, 9.6, 10.6, 11.6):
        arrow(ax, (x, 3.58), (x, 2.96))
    label(ax, 12.0, 3.27, "$H$ contexts $(T,\\ d_k)$", colour=MUTED, ha="left")
    box(ax, middle, 2.65, 4.2, 0.62, "concatenate: $(T,\\ H \\cdot d_k)$")
    arrow(ax, (middle, 2.34), (middle, 1.94), line=2.2)
    box(ax, middle, 1.63, 4.2, 0.62, "$W_o$: mix the heads")
    arrow(ax, (middle, 1.32), (middle, 0.83), line=2.2)
    label(ax, middle, 0.55, "output $(T,\\ d_\\text{model})$")


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(14.4, 9.0)
    inside(ax)
    ax.plot([6.5, 6.5], [0.3, 8.8], color=MUTED, linewidth=1.2, linestyle=":")
    outside(ax)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
