"""Bars: measurements with a dot for each seed, histograms, and one panel for each step."""

import matplotlib.pyplot as plt
import numpy as np

from lecture_kit.plotting.colours import INK, PAPER, SERIES
from lecture_kit.plotting.grids import _as_array, _number

# A number stands within its bar if the bar has room for it, in points.
ROOM = 22


def bars(ax, groups, series, colours=None, *, decimals=2, legend=True, **axes):
    """Draw bars side by side in each group, each with its number, and beside it a dot for each seed.

    Args:
        ax: the Axes to draw on.
        groups: names along the x axis.
        series: name -> (groups,) numbers, or (seeds, groups): the bar is then the median.
        colours: name -> colour, for those that have one in the course (`plotting.MODELS`).
        decimals: digits after the point; None writes no numbers.
        legend: whether the Axes name the series; False where one legend serves several panels.
        axes: what `Axes.set` takes: `xlabel`, `ylabel`, `title`, …

    Raises:
        ValueError: a series does not have one number for each group.
    """
    width = 0.8 / len(series)
    drawn = []
    for k, (name, values) in enumerate(series.items()):
        values = np.atleast_2d(_as_array(values))
        if values.shape[1:] != (len(groups),):
            raise ValueError(
                f"'{name}' needs one number for each of {len(groups)} groups, but has the shape "
                f"{values.shape}"
            )
        places = np.arange(len(groups)) + (k - (len(series) - 1) / 2) * width
        middle = np.median(values, axis=0)
        colour = (colours or {}).get(name, SERIES[k % len(SERIES)])
        ax.bar(places, middle, 0.9 * width, color=colour, label=name)
        if len(values) > 1:
            beside = np.tile(places + 0.33 * width, len(values))
            dots = ax.plot(beside, values.ravel(), "o", color=INK)
            dots[0].set(markersize=5, label="_seeds", linestyle="none", markeredgecolor=PAPER)
        drawn.append((places, middle, values))
    ax.set_xticks(range(len(groups)), groups)
    ax.grid(axis="x", visible=False)
    ax.margins(y=0.12)
    ax.set(**axes)
    if decimals is not None:
        for places, middle, values in drawn:
            for place, number, seeds in zip(places, middle, values.T, strict=True):
                _write_number(ax, place, number, seeds, decimals)
    if legend and len(series) > 1:
        ax.legend(ncols=len(series), loc="lower center", bbox_to_anchor=(0.5, 1.0))
        if ax.get_title():
            ax.set_title(ax.get_title(), pad=36)


def _write_number(ax, place, number, seeds, decimals):
    """The number within its bar, below the lowest dot; a short bar has it above its dots."""
    low, high = ax.get_ylim()
    height = ax.get_window_extent().height * 72 / ax.figure.dpi
    lowest = min(number, seeds.min())
    within = number > 0 and (lowest - max(low, 0.0)) / (high - low) * height > ROOM
    if within:
        at, points, side, colour = lowest, -5, "top", PAPER
    elif number < 0:
        at, points, side, colour = lowest, -5, "top", INK
    else:
        at, points, side, colour = max(number, seeds.max()), 5, "bottom", INK
    ax.annotate(
        _number(number, decimals),
        (place, at),
        xytext=(0, points),
        textcoords="offset points",
        ha="center",
        va=side,
        color=colour,
    )


def histogram(ax, values, bins=30, mark=None, **axes):
    """Draw how often numbers occur, as shares of all; `mark` is a line at one number.

    Args:
        ax: the Axes to draw on.
        values: numbers of any shape.
        bins: how many bars, or their edges.
        mark: (number, text) for a line with its name; None for none.
        axes: what `Axes.set` takes: `xlabel`, `title`, …
    """
    numbers = _as_array(values).ravel()
    ax.hist(numbers, bins=bins, weights=np.full(numbers.size, 1 / numbers.size), color=SERIES[0])
    if mark is not None:
        number, text = mark
        ax.axvline(number, color=INK, linestyle="--", linewidth=1.8)
        ax.annotate(
            text,
            (number, 1),
            xycoords=("data", "axes fraction"),
            xytext=(6, -4),
            textcoords="offset points",
            va="top",
        )
    ax.set(**{"ylabel": "share", **axes})


def step_panels(titles, labels, rows, *, columns=3, limit=1.0, xlabel="weight", size=None):
    """Draw one panel for each step: a row of weights as horizontal bars, one for each word.

    Args:
        titles: n titles, one for each step.
        labels: S words, the first on top; they stand at the left of each line of panels.
        rows: n rows of S numbers, or a tensor (n, S).
        columns: panels side by side.
        limit: the number at the right end of every panel.
        xlabel: what the numbers are.
        size: (width, height) in inches; None makes it fit.

    Returns:
        The Figure.

    Raises:
        ValueError: there is not one row for each title, or not one number for each word.
    """
    rows = _as_array(rows)
    if rows.shape != (len(titles), len(labels)):
        raise ValueError(
            f"rows need the shape (titles, labels) = ({len(titles)}, {len(labels)}), but have "
            f"{rows.shape}"
        )
    lines = -(-len(titles) // columns)
    size = size or (8.5, lines * (0.9 + 0.28 * len(labels)))
    figure, axes = plt.subplots(
        lines, columns, figsize=size, sharex=True, sharey=True, squeeze=False
    )
    for ax in list(axes.flat)[len(titles) :]:
        ax.remove()
    for number, (ax, title, row) in enumerate(zip(axes.flat, titles, rows, strict=False)):
        ax.barh(range(len(labels)), row, color=SERIES[0])
        ax.set(title=title, xlim=(0, limit), xticks=[0, limit / 2, limit])
        ax.set_xticklabels(f"{tick:g}" for tick in (0, limit / 2, limit))
        ax.set_yticks(range(len(labels)), labels)
        ax.grid(axis="y", visible=False)
        if number + columns >= len(titles):
            ax.tick_params(labelbottom=True)
            ax.set_xlabel(xlabel)
    axes.flat[0].invert_yaxis()
    return figure
