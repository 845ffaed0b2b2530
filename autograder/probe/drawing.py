"""Let a function draw a table of numbers, and report as plain data what the axes say of it.

Nothing is judged, and nothing is rendered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import get_backend, rc_context
from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.collections import PolyQuadMesh, QuadMesh
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from autograder.arrays import Array, pytorch
from autograder.probe.subject import errors_are_its_own

# what labels call the two axes
POSITIONS = re.compile(r"\b(pos|word|token)", re.IGNORECASE)
DIMENSIONS = re.compile(r"\b(dim|depth|embed|feature|d_model)", re.IGNORECASE)
# how images show one cell as one patch; all others blur cells into each other
CRISP = {"none", "nearest", "auto", "antialiased"}
SMALLEST_SHARE = 0.4  # of the limits of an axis that the cells take up
SAME_COLOUR = 0.02  # two channels this close, of 1, are the same


class Picture(NamedTuple):
    """What a drawing shows.

    Attributes:
        values: the numbers shown, (rows, columns) float32, by rising y and x; (0, 0) if no grid is found. A
            tensor where PyTorch is.
        counted_from_zero: row y stands at y or between y and y + 1, and columns likewise.
        complete: the limits of the axes cut off no more than a tenth of any cell.
        centres_seen: they cut off the centre of none.
        crisp: cells are not blurred into their neighbours.
        fills: the cells take up a good part of what the axes show.
        colours_differ: numbers from one end to the other have colours of their own.
        zero_on_top: the y axis runs downwards.
        x_labelled, y_labelled: the axis has a label.
        labels_exchanged: the label of the x axis speaks of positions, that of the y axis of dimensions.
        colour_bar: the figure has one.
        on_given_axes: the cells are on the Axes that the function was given; if it was given none,
            they are not in a figure that was open before.
        axes_returned: what came back is the Axes given, or where none was given, the one with the cells.
        other_figures: more figures were opened than the one that holds the cells.
        shown: a figure was shown.
        closed: the figure with the cells, or one that was open before, is not open in pyplot.
    """

    values: Any
    counted_from_zero: bool = False
    complete: bool = False
    centres_seen: bool = False
    crisp: bool = False
    fills: bool = False
    colours_differ: bool = False
    zero_on_top: bool = False
    x_labelled: bool = False
    y_labelled: bool = False
    labels_exchanged: bool = False
    colour_bar: bool = False
    on_given_axes: bool = False
    axes_returned: bool = False
    other_figures: bool = False
    shown: bool = False
    closed: bool = False


def observe(
    function: Callable[..., Any], arguments: list[Any], keywords: dict[str, Any], on_axes: bool
) -> Picture:
    """Call a function that draws one grid of cells, without a screen; afterwards no figure is open.

    ``on_axes`` also gives it ``ax``, the left of two Axes in a figure whose right one is current, so that
    drawing on the current Axes is not the same. Without it, some other figure is open and current.
    """
    with _no_screen() as shows:
        figure, (first, current) = plt.subplots(1, 2)
        plt.sca(current)
        if on_axes:
            keywords = {**keywords, "ax": first}
        with errors_are_its_own():
            returned = function(*arguments, **keywords)
        likely = [one for one in (on_axes and first, returned) if isinstance(one, Axes)]
        is_open = [plt.figure(number) for number in plt.get_fignums()]
        for ax in [*likely, *(one for opened in is_open for one in opened.axes)]:
            # a colour bar is itself a mesh of cells
            found = None if hasattr(ax, "_colorbar") else _cells_on(ax)
            if found is None:
                continue
            home = _figure_of(ax)
            expected = first if on_axes else ax
            return _read(ax, *found)._replace(
                # labels on the Axes given count, too: that the cells are elsewhere is one mistake, not two
                x_labelled=any(_label(one, one.xaxis) for one in (ax, expected)),
                y_labelled=any(_label(one, one.yaxis) for one in (ax, expected)),
                on_given_axes=ax is expected and (on_axes or home is not figure),
                axes_returned=returned is expected,
                other_figures=any(one not in (figure, _figure_of(expected)) for one in is_open),
                shown=bool(shows),
                closed=home not in is_open or figure not in is_open,
            )
        return Picture(_shown(np.zeros((0, 0))))


@contextmanager
def _no_screen() -> Iterator[list]:
    """Draw into memory, with a list of the figures that are shown, and leave no trace."""
    shows: list = []
    backend = get_backend()
    plt.close("all")
    try:
        with (
            rc_context(),
            patch.object(FigureManagerBase, "show", lambda manager: shows.append(manager)),
        ):
            plt.switch_backend("agg")
            yield shows
    finally:
        plt.close("all")
        plt.switch_backend(backend)


def _cells_on(ax: Axes) -> tuple[Any, np.ndarray, np.ndarray] | None:
    """What shows numbers there, with these, and the corners (H + 1, W + 1, 2) of their cells."""
    for artist in reversed([*ax.images, *ax.collections]):
        numbers = artist.get_array()
        if numbers is None or not artist.get_visible():
            continue
        numbers = np.ma.filled(np.ma.asarray(numbers, dtype=float), np.nan)
        if type(artist) is AxesImage and numbers.ndim == 2:
            left, right, bottom, top = artist.get_extent()
            y = (top, bottom) if artist.origin == "upper" else (bottom, top)
            height, width = numbers.shape
            edges = np.linspace(left, right, width + 1), np.linspace(*y, height + 1)
            return artist, numbers, np.stack(np.meshgrid(*edges), axis=-1)
        if isinstance(artist, QuadMesh | PolyQuadMesh):
            corners = np.asarray(artist.get_coordinates(), dtype=float)
            if numbers.size == (len(corners) - 1) * (corners.shape[1] - 1):
                return artist, numbers, corners
    return None


def _read(ax: Axes, artist: Any, numbers: np.ndarray, corners: np.ndarray) -> Picture:
    """What there is to see of cells on an Axes: row y, column x is what stands at (x, y)."""
    centres = (corners[:-1, :-1] + corners[1:, 1:]).reshape(-1, 2) / 2
    spread = np.ptp(corners, axis=(0, 1))
    if not spread.all() or not np.isfinite(spread).all():
        return Picture(_shown(np.zeros((0, 0))))
    x, y = np.round(centres / (spread * 1e-9)).T  # two centres this close are the same
    shape = len(np.unique(y)), len(np.unique(x))
    if shape[0] * shape[1] != numbers.size:
        return Picture(_shown(np.zeros((0, 0))))
    order = np.lexsort((x, y))
    table, places = numbers.ravel()[order].reshape(shape), centres[order].reshape(*shape, 2)
    # a centre at 3 or at 3.5 says 3, and so does a cell that has 3 within its edges
    offsets = places - np.stack(np.meshgrid(*map(np.arange, shape[::-1])), axis=-1)
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    limits = np.sort([ax.get_xlim(), ax.get_ylim()]).T  # the lower ones, the upper ones
    room = 0.1 * spread / shape[::-1]
    texts = [_label(ax, axis) for axis in (ax.xaxis, ax.yaxis)]
    of_positions, of_dimensions = (
        [bool(words.search(text)) for text in texts] for words in (POSITIONS, DIMENSIONS)
    )
    return Picture(
        values=_shown(table),
        counted_from_zero=bool(((offsets > -0.4999) & (offsets < 0.55)).all()),
        complete=bool(((low + room >= limits[0]) & (high - room <= limits[1])).all()),
        centres_seen=bool(((places >= limits[0]) & (places <= limits[1])).all()),
        crisp=not isinstance(artist, AxesImage) or artist.get_interpolation() in CRISP,
        fills=bool((spread >= SMALLEST_SHARE * (limits[1] - limits[0])).all()),
        colours_differ=_colours_differ(artist, float(table.min()), float(table.max())),
        zero_on_top=bool(ax.yaxis_inverted()),
        labels_exchanged=of_positions == [True, False] and of_dimensions == [False, True],
        colour_bar=any(hasattr(one, "_colorbar") for one in _figure_of(ax).findobj(Axes)),
    )


def _colours_differ(artist: Any, least: float, greatest: float) -> bool:
    """Whether colours change from the least number to the greatest, and go on to both ends."""
    if least == greatest or not np.isfinite([least, greatest]).all():
        return least == greatest
    rgba = artist.to_rgba(np.linspace(least, greatest, 6))
    alpha = artist.get_alpha()
    seen = rgba[:, :3] * rgba[:, 3:] * np.max(1.0 if alpha is None else alpha)
    low, high = artist.get_clim()
    room = 0.02 * (greatest - least)
    apart = np.abs(np.diff(seen, axis=0)).max(axis=1)
    return bool((apart > SAME_COLOUR).all() and low - room <= least and greatest <= high + room)


def _label(ax: Axes, axis: Any) -> str:
    """The label of an axis as it can be seen; "" if there is none."""
    visible = ax.axison and axis.get_visible() and axis.label.get_visible()
    return axis.label.get_text().strip() if visible else ""


def _figure_of(ax: Axes) -> Figure:
    """The whole figure, also where the Axes is in a part of one."""
    return ax.figure.canvas.figure


def _shown(table: Array) -> Any:
    torch, numbers = pytorch(), table.astype(np.float32)
    return torch.from_numpy(numbers) if torch else numbers
