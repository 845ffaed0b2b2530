"""Vectors of width 2 as points in a plane."""

from lecture_kit.plotting.colours import INK, SERIES
from lecture_kit.plotting.grids import _as_array


def words_in_plane(ax, points, offset=(9, 7), **axes):
    """Draw vectors of width 2 as named dots.

    Args:
        ax: the Axes to draw on.
        points: name -> (2,) numbers.
        offset: how far each name begins from its dot, to the right and upwards, in points.
        axes: what `Axes.set` takes: `xlabel`, `ylabel`, `title`, …
    """
    places = _as_array(list(points.values()))
    ax.plot(*places.T, "o", color=INK, markersize=9)
    for name, place in zip(points, places, strict=True):
        ax.annotate(name, place, xytext=offset, textcoords="offset points", fontsize=14)
    ax.set(**axes)


def shift_arrow(ax, start, end, text):
    """An arrow from one point to another, with a cross and a name at its end.

    Args:
        ax: the Axes to draw on.
        start, end: (2,) numbers.
        text: the name of the end.
    """
    start, end = _as_array(start), _as_array(end)
    look = {"arrowstyle": "-|>", "linewidth": 2.4, "color": SERIES[0], "shrinkA": 6}
    ax.annotate("", end, xytext=start, arrowprops=look)
    ax.plot(*end, "X", color=SERIES[0], markersize=11)
    beyond = (0, 11 if end[1] > start[1] else -19)  # on the side to which the arrow points
    ax.annotate(text, end, xytext=beyond, textcoords="offset points", ha="center")
