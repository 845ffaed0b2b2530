"""Draw a query and a key turned by their positions: moved on together, they keep their angle."""

import math

import torch
from matplotlib.patches import Arc, Circle
from style import INK, LARGE_TEXT, MUTED, PAPER, arrow, canvas, label, line, save

from course_utils.positional import rotate

QUERY, KEY = [0.55, 0.75], [1.0, 0.35]  # one pair of features, which turns by 1 radian a token
PLACES = [(1, 2), (3, 4), (3, 5)]  # positions of query and key
MIDDLES = [1.65, 4.95, 8.25]
HEIGHT, RADIUS, UNIT = 3.95, 1.2, 1.1


def turned(vector, position):
    """The vector at this position, in lecture 6's words R(position) times it."""
    return rotate(torch.tensor([[vector]]), start=position)[0, 0].tolist()


def plane(ax, x, places):
    """The two vectors at their places, what they were, and the angle between them."""
    centre = x, HEIGHT
    ax.add_patch(Circle(centre, RADIUS, facecolor=PAPER, edgecolor=MUTED, linewidth=1.2, zorder=1))
    angles, vectors = [], []
    for role, vector, position in zip(("query", "key"), (QUERY, KEY), places, strict=True):
        before, after = vector, turned(vector, position)
        for v, thick, dashed in [(before, 1.6, True), (after, 3.6, False)]:
            tip = x + UNIT * v[0], HEIGHT + UNIT * v[1]
            arrow(ax, centre, tip, line=thick, dashed=dashed, role=role)
        angles.append(math.degrees(math.atan2(after[1], after[0])))
        vectors.append(after)
        tip = [1.34 * UNIT * part / math.hypot(*after) for part in after]
        name = f"${role[0]}$ at position {position}"
        label(ax, x + tip[0], HEIGHT + tip[1], f"${role[0]}$", LARGE_TEXT, role=role)
        label(ax, x, 2.15 - 0.4 * (role == "key"), name, role=role)
    between = (angles[1] - angles[0]) % 360
    ax.add_patch(
        Arc(centre, 0.9, 0.9, theta1=angles[0], theta2=angles[1], color=INK, linewidth=2, zorder=4)
    )
    product = sum(a * b for a, b in zip(*vectors, strict=True))
    label(ax, x, 1.05, f"angle {min(between, 360 - between):.0f}°", weight="bold")
    label(ax, x, 0.6, f"product {product:.2f}".replace("-", "−"), weight="bold")


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(9.9, 6.3)
    titles = ["one token apart", "both 2 tokens later", "two tokens apart"]
    for x, places, title in zip(MIDDLES, PLACES, titles, strict=True):
        label(ax, x, 5.95, title, LARGE_TEXT, weight="bold")
        plane(ax, x, places)
    for x in (3.3, 6.6):
        line(ax, [(x, 0.2), (x, 6.1)], MUTED, 1.2, ":")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
