"""Draw the dot product of a query with three keys as lengths and an angle, and the weights.

The vectors are those of `make_soft_lookup.py`.
"""

import math

from make_soft_lookup import KEYS, QUERY_VECTOR, lookup, vector
from matplotlib.patches import Arc
from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    PLUM,
    SMALL_TEXT,
    TEXT,
    arrow,
    canvas,
    cell,
    label,
    line,
    save,
)

UNIT = 0.82  # inches that one unit of the plane has
CENTRES = [1.65, 4.95, 8.25]
HEIGHT = 3.05  # of the planes' origins
BAR = 2.4  # inches of a weight of 1


def length(v):
    return math.hypot(*v)


def plane(ax, centre, key, weight):
    """The query and one key as arrows, the angle between them, the product and the weight."""
    origin = x, y = centre - 0.42, HEIGHT

    def point(v):
        return x + UNIT * v[0], y + UNIT * v[1]

    line(ax, [(x - 1.05, y), (x + 1.85, y)], MUTED, 1.0, zorder=1)
    line(ax, [(x, y - 0.3), (x, y + 1.85)], MUTED, 1.0, zorder=1)
    product = sum(a * b for a, b in zip(QUERY_VECTOR, key, strict=True))
    share = product / length(QUERY_VECTOR) ** 2
    foot = point([share * part for part in QUERY_VECTOR])
    # How far the key reaches in the query's direction.
    line(ax, [point(key), foot], MUTED, 1.6, ":", zorder=1)
    line(ax, [origin, point([1.75, 1.75])], INK, 1.0, (0, (5, 4)), zorder=1)
    arrow(ax, origin, point(QUERY_VECTOR), line=3.4, role="query")
    arrow(ax, origin, point(key), line=3.4, role="key")
    from_query, from_key = (math.degrees(math.atan2(v[1], v[0])) for v in (QUERY_VECTOR, key))
    low, high = sorted((from_query, from_key))
    ax.add_patch(Arc(origin, 0.95, 0.95, theta1=low, theta2=high, color=INK, linewidth=1.8))

    cosine = product / length(QUERY_VECTOR) / length(key)
    angle = round(math.degrees(math.acos(cosine)))
    for y, role, v in [(5.75, "key", key), (5.33, "query", QUERY_VECTOR)]:
        label(ax, centre, y, f"{role} {vector(v)}", role=role, weight="bold")
    label(ax, centre, 2.4, f"angle {angle}°", TEXT)
    parts = rf"{length(QUERY_VECTOR):.2f} × {length(key):.2f} × cos {angle}°"
    label(ax, centre, 1.92, parts, TEXT)
    label(ax, centre, 1.42, f"score {round(product)}", LARGE_TEXT, role="score", weight="bold")
    left = centre - BAR / 2
    cell(ax, left, 0.75, BAR, 0.3)
    cell(ax, left, 0.75, BAR * weight, 0.3, PLUM, PLUM)
    label(ax, centre, 0.4, f"weight {weight:.3f}", SMALL_TEXT)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(9.9, 6.1)
    weights, _ = lookup()
    for centre, key, weight in zip(CENTRES, KEYS, weights, strict=True):
        plane(ax, centre, key, weight)
    for x in (3.3, 6.6):
        line(ax, [(x, 0.2), (x, 5.9)], MUTED, 1.2, ":")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
