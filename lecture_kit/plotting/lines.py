"""Curves over widths, steps and lengths, with their names at their ends."""

import itertools

import numpy as np

from lecture_kit.plotting.colours import MUTED
from lecture_kit.plotting.grids import _as_array


def seed_curves(x, values, label, ax, **look):
    """Draw the median over seeds as a line, and the range over seeds as a band around it.

    Args:
        x: (points,) numbers.
        values: (seeds, points) numbers, one row for each seed.
        label: the curve's name, for a legend or `label_ends`.
        ax: the Axes to draw on. Colour, line style and marker come from its cycle.
        look: anything that `Axes.plot` takes, such as `color=plotting.MODELS["attention"]`.

    Raises:
        ValueError: `values` has no row per seed and column per point.
    """
    x, values = _as_array(x), _as_array(values)
    if values.ndim != 2 or values.shape[1] != len(x):
        raise ValueError(
            f"values need the shape (seeds, points) with {len(x)} points, but have {values.shape}"
        )
    (line,) = ax.plot(x, np.median(values, axis=0), label=label, **look)
    ax.fill_between(
        x,
        values.min(axis=0),
        values.max(axis=0),
        color=line.get_color(),
        alpha=0.25,
        linewidth=0,
    )


def curves(ax, x, series, colours=None, **axes):
    """Draw several curves and write each one's name at its end, in its colour.

    Args:
        ax: the Axes to draw on.
        x: (points,) numbers.
        series: name -> (points,) numbers, or (seeds, points) for a median with its range.
        colours: name -> colour, for those that have one in the course (`plotting.MODELS`).
        axes: what `Axes.set` takes: `xlabel`, `ylabel`, `xscale`, `title`, …

    Raises:
        ValueError: a series has another number of points than x.
    """
    ax.set(**axes)
    for name, values in series.items():
        values = np.atleast_2d(_as_array(values))
        look = {"color": colours[name]} if colours and name in colours else {}
        seed_curves(x, values, name, ax, **look)
    label_ends(ax)


def label_ends(ax):
    """Write the name of each labelled line behind its right end; no legend is needed.

    Names that would touch are moved apart. Call it last: limits and scales must stand.
    """
    lines = [line for line in ax.lines if not line.get_label().startswith("_")]
    ax.figure.draw_without_rendering()
    size = ax.xaxis.label.get_fontsize() * ax.figure.dpi / 72
    ends = [_end_of(line, ax) for line in lines]
    places = _apart([y for _, y in ends], 1.25 * size)
    edge = max(x for x, _ in ends)
    for line, (_, y), place in zip(lines, ends, places, strict=True):
        ax.annotate(
            line.get_label(),
            ax.transData.inverted().transform((edge, y)),
            xytext=(9, (place - y) * 72 / ax.figure.dpi),
            textcoords="offset points",
            color=line.get_color(),
            va="center",
            annotation_clip=False,
        )


def level(ax, y, text, at=0.02):
    """A thin line across the picture for a number to compare with, such as chance.

    Args:
        ax: the Axes to draw on.
        y: the number.
        text: what the number is; it stands above the line.
        at: where the text begins, from 0 (left) to 1 (right).
    """
    ax.axhline(y, color=MUTED, linewidth=1.2, linestyle="-", marker="", zorder=1)
    ax.annotate(
        text,
        (at, y),
        xycoords=("axes fraction", "data"),
        xytext=(0, 4),
        textcoords="offset points",
        color=MUTED,
    )


def ticks_at(ax, x=None, y=None):
    """Write exactly these numbers along the axes, as on a logarithmic axis of widths 4, 16, 64.

    Args:
        ax: the Axes to label.
        x, y: the numbers; None leaves an axis as it is.
    """
    ax.minorticks_off()
    for places, axis in ((x, ax.xaxis), (y, ax.yaxis)):
        if places is not None:
            axis.set_ticks(list(places), [f"{place:g}" for place in places])


def _end_of(line, ax):
    """The last finite point of a line, in pixels."""
    points = np.column_stack(line.get_data())
    return ax.transData.transform(points[np.isfinite(points).all(axis=1)][-1])


def _apart(places, gap):
    """The same places in the same order, moved until neighbours are `gap` apart."""
    order = np.argsort(places, kind="stable")
    moved = np.array(places, dtype=float)[order]
    groups = [[place] for place in moved]
    while True:
        centres = [np.mean(group) for group in groups]
        touching = [
            k
            for k, (low, high) in enumerate(itertools.pairwise(groups))
            if centres[k + 1] - centres[k] < gap * (len(low) + len(high)) / 2 - 1e-9
        ]
        if not touching:
            break
        k = touching[0]
        groups[k : k + 2] = [groups[k] + groups[k + 1]]
    spread = [
        np.mean(group) + gap * (k - (len(group) - 1) / 2)
        for group in groups
        for k in range(len(group))
    ]
    result = np.empty(len(spread))
    result[order] = spread
    return result.tolist()
