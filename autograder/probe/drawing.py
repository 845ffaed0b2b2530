"""Let a function draw a table of numbers, and report as plain data what there is to see.

Nothing is judged: numbers are read off the cells, with the place at which the axes show them.
Values can so be compared however the cells were drawn (`imshow`, `matshow`, `pcolormesh`, `pcolor`,
seaborn's `heatmap`). Of those that are asked for, one is also rendered, to look whether its cells
are there to see.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib import get_backend, rc_context
from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyQuadMesh, QuadMesh
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import AxesImage, NonUniformImage, PcolorImage

from autograder.probe.subject import errors_are_its_own

# what labels call the two axes
POSITIONS = re.compile(r"\b(pos|word|token)", re.IGNORECASE)
DIMENSIONS = re.compile(r"\b(dim|depth|embed|feature|d_model)", re.IGNORECASE)
# how images show one cell as one patch; all others blur cells into each other
CRISP = {"none", "nearest", "auto", "antialiased"}

# cells of a picture that is rendered: in larger ones a cell may be under a pixel wide, and most of
# those asked for are smaller, since rendering takes time
RENDERED = range(64, 129)
SMALLEST_CELL = 2.0  # pixels that a cell is wide and high, to be seen
SMALLEST_SHARE = 0.4  # of the limits of an axis that the cells take up
SAME_COLOUR = 0.08  # two channels this close, of 1, are the same


class Picture(NamedTuple):
    """What a drawing shows. Read from the axes' numbers: row y, column x is what stands at (x, y).

    Attributes:
        values: the numbers shown, (rows, columns) float32, by rising y and x; (0, 0) if there are
            no cells, or if they make no grid.
        counted_from_zero: row y stands at y or between y and y + 1, and columns likewise.
        complete: the limits of the axes cut off no more than a tenth of any cell.
        crisp: each cell is a patch of one colour, not blurred into its neighbours.
        fills: the cells take up a good part of what the axes show.
        seen: once rendered, each cell is there in its colour, and large enough; True if the picture
            is not rendered.
        colours_differ: numbers from one end to the other have colours of their own.
        zero_on_top: the y axis runs downwards.
        x_labelled, y_labelled: the axis has a label that can be seen.
        labels_exchanged: the label of the x axis speaks of positions, that of the y axis of dimensions.
        colour_bar: the figure has one.
        bar_fits: it shows the colours that the cells have; True if there is none.
        on_given_axes: the cells are on the Axes that the function was given; if it was given none,
            they are not in a figure that was open before.
        axes_returned: what came back is an Axes.
        right_axes_returned: it is the one given, or where none was given, the one with the cells.
        other_figures: more figures were opened than the one that holds the cells.
        shown: a figure was shown.
        closed: the figure with the cells, or one that was open before, is not open in pyplot.
    """

    values: torch.Tensor
    counted_from_zero: bool
    complete: bool
    crisp: bool
    fills: bool
    seen: bool
    colours_differ: bool
    zero_on_top: bool
    x_labelled: bool
    y_labelled: bool
    labels_exchanged: bool
    colour_bar: bool
    bar_fits: bool
    on_given_axes: bool
    axes_returned: bool
    right_axes_returned: bool
    other_figures: bool
    shown: bool
    closed: bool


class Cells(NamedTuple):
    """Cells as they were drawn: numbers (H, W), centres (H, W, 2), corners (n, 2)."""

    artist: Any
    numbers: np.ndarray
    centres: np.ndarray
    corners: np.ndarray
    crisp: bool


def observe(
    function: Callable[..., Any], arguments: list[Any], keywords: dict[str, Any], on_axes: bool
) -> Picture:
    """Call a function that draws, without a screen; afterwards no figure is open.

    Args:
        function: draws one grid of cells.
        arguments, keywords: what it is called with.
        on_axes: also give it ``ax``, the left of two Axes in a figure whose right one is current,
            so that drawing on the current Axes is not the same. Without it, some other figure is
            open and current.
    """
    with _no_screen() as shows:
        given = others = None
        if on_axes:
            _, (given, current) = plt.subplots(1, 2)
            plt.sca(current)
            keywords = {**keywords, "ax": given}
        else:
            others, _ = plt.subplots()
        with errors_are_its_own():
            returned = function(*arguments, **keywords)
        return _look(returned, given, others, bool(shows))


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


def _look(returned: Any, given: Axes | None, others: Figure | None, shown: bool) -> Picture:
    ax, cells = _find_cells(returned, given)
    home = _figure_of(ax)
    open_figures = [plt.figure(number) for number in plt.get_fignums()]
    opened = [figure for figure in open_figures if figure is not others]
    values, counted_from_zero = _as_table(cells)
    bars = _colour_bars(home, cells)
    # labels on the Axes given count, too: that the cells are elsewhere is one mistake, not two
    likely = [one for one in (ax, given) if one is not None]
    return Picture(
        values=torch.from_numpy(values.astype(np.float32)),
        counted_from_zero=counted_from_zero,
        complete=_is_complete(ax, cells),
        crisp=cells is not None and cells.crisp,
        fills=_fills(ax, cells),
        seen=_can_be_seen(ax, cells),
        colours_differ=_colours_differ(cells),
        zero_on_top=ax is not None and bool(ax.yaxis_inverted()),
        x_labelled=any(_is_labelled(one, one.xaxis) for one in likely),
        y_labelled=any(_is_labelled(one, one.yaxis) for one in likely),
        labels_exchanged=any(map(_labels_exchanged, likely)),
        colour_bar=bool(bars),
        bar_fits=bool(cells) and (not bars or any(_same_colours(cells, bar) for bar in bars)),
        on_given_axes=ax is not None and (ax is given if given else home is not others),
        axes_returned=isinstance(returned, Axes),
        right_axes_returned=isinstance(returned, Axes) and returned is (given or ax),
        other_figures=any(figure is not _figure_of(given or ax) for figure in opened),
        shown=shown,
        closed=any(figure and figure not in open_figures for figure in (home, others)),
    )


def _find_cells(returned: Any, given: Axes | None) -> tuple[Axes | None, Cells | None]:
    """The Axes with the cells: the one given if it has any, else wherever they were drawn."""
    likely = [ax for ax in (given, returned) if isinstance(ax, Axes)]
    for ax in likely + [ax for number in plt.get_fignums() for ax in plt.figure(number).axes]:
        # a colour bar is itself a mesh of cells
        found = None if hasattr(ax, "_colorbar") else _cells_on(ax)
        if found:
            return ax, found
    return None, None


def _cells_on(ax: Axes) -> Cells | None:
    """The cells on top, if there are any and they show numbers (and not colours)."""
    # among equals, what was drawn last is on top
    last_first = reversed(ax.get_children())
    for artist in sorted(last_first, key=lambda item: item.get_zorder(), reverse=True):
        if not artist.get_visible():
            continue
        if isinstance(artist, AxesImage) and not isinstance(artist, NonUniformImage | PcolorImage):
            cells = _of_image(artist)
        elif isinstance(artist, QuadMesh | PolyQuadMesh):
            cells = _of_mesh(artist)
        else:
            continue
        if cells:
            return cells
    return None


def _of_image(image: AxesImage) -> Cells | None:
    numbers = _numbers(image)
    if numbers is None or numbers.ndim != 2:
        return None
    height, width = numbers.shape
    left, right, bottom, top = image.get_extent()
    first, last = (top, bottom) if image.origin == "upper" else (bottom, top)
    x = left + (np.arange(width) + 0.5) * (right - left) / width
    y = first + (np.arange(height) + 0.5) * (last - first) / height
    corners = np.array([(left, bottom), (right, top)])
    centres = np.stack(np.meshgrid(x, y), axis=-1)
    return Cells(image, numbers, centres, corners, image.get_interpolation() in CRISP)


def _of_mesh(mesh: QuadMesh | PolyQuadMesh) -> Cells | None:
    numbers, corners = _numbers(mesh), np.asarray(mesh.get_coordinates(), dtype=float)
    height, width = corners.shape[0] - 1, corners.shape[1] - 1
    if numbers is not None and numbers.size == height * width:
        middle = corners[:-1, :-1] + corners[1:, :-1] + corners[:-1, 1:] + corners[1:, 1:]
        crisp, centres = True, middle / 4
    elif numbers is not None and numbers.size == (height + 1) * (width + 1):
        crisp, centres = False, corners  # colours run from corner to corner
    else:
        return None
    return Cells(mesh, numbers.reshape(centres.shape[:2]), centres, corners.reshape(-1, 2), crisp)


def _numbers(artist: Any) -> np.ndarray | None:
    array = artist.get_array()
    if array is None or not np.issubdtype(array.dtype, np.number):
        return None
    return np.ma.filled(np.ma.asarray(array, dtype=float), np.nan)


def _as_table(cells: Cells | None) -> tuple[np.ndarray, bool]:
    """Numbers by rising y and x, and whether these coordinates count rows and columns from 0."""
    nothing = np.zeros((0, 0)), False
    if cells is None or not np.isfinite(cells.centres).all():
        return nothing
    spread = np.ptp(cells.corners, axis=0)
    steps = np.where(spread > 0, spread, 1) * 1e-9  # two centres this close are the same
    places = np.round(cells.centres.reshape(-1, 2) / steps) * steps
    xs, columns = np.unique(places[:, 0], return_inverse=True)
    ys, rows = np.unique(places[:, 1], return_inverse=True)
    if len(xs) * len(ys) != cells.numbers.size:
        return nothing
    table = np.full((len(ys), len(xs)), np.nan)
    table[rows, columns] = cells.numbers.ravel()
    # a centre at 3 or at 3.5 says 3, and so does a cell that has 3 within its edges
    offsets = np.concatenate([xs - np.arange(len(xs)), ys - np.arange(len(ys))])
    return table, bool(((offsets > -0.4999) & (offsets < 0.55)).all())


def _is_complete(ax: Axes | None, cells: Cells | None) -> bool:
    """Whether every cell lies within the limits, but for a sliver at the edges."""
    if ax is None or cells is None:
        return False
    for axis, limits in enumerate((ax.get_xlim(), ax.get_ylim())):
        corners = cells.corners[:, axis]
        room = 0.1 * float(np.ptp(corners)) / cells.numbers.shape[1 - axis]
        if corners.min() < min(limits) - room or corners.max() > max(limits) + room:
            return False
    return True


def _fills(ax: Axes | None, cells: Cells | None) -> bool:
    """Whether the cells take up a good part of both axes."""
    if ax is None or cells is None:
        return False
    shown = [abs(end - start) for start, end in (ax.get_xlim(), ax.get_ylim())]
    return bool((np.ptp(cells.corners, axis=0) >= SMALLEST_SHARE * np.array(shown)).all())


def _can_be_seen(ax: Axes | None, cells: Cells | None) -> bool:
    """Whether every cell is found in its colour, if this is a picture to be rendered."""
    figure = _figure_of(ax)
    if ax is None or cells is None or figure is None:
        return False
    if cells.numbers.size not in RENDERED:
        return True
    canvas = FigureCanvasAgg(figure)
    with errors_are_its_own():
        canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3] / 255.0
    corners = ax.transData.transform(cells.corners)
    size = np.ptp(corners, axis=0) / np.array(cells.numbers.shape[::-1])
    if not (size >= SMALLEST_CELL).all():
        return False
    # a few points of each cell, since a line or a number may be written on it
    steps = [(x, y) for x in (-0.3, 0.0, 0.3) for y in (-0.3, 0.0, 0.3)]
    places = ax.transData.transform(cells.centres.reshape(-1, 2))
    wanted = _colours(cells, cells.numbers.ravel())
    found = np.zeros(len(places), dtype=bool)
    for step in steps:
        columns, rows = np.round(places + size * step - 0.5).astype(int).T
        rows = len(pixels) - 1 - rows
        inside = (rows >= 0) & (rows < len(pixels)) & (columns >= 0) & (columns < pixels.shape[1])
        colour = pixels[np.where(inside, rows, 0), np.where(inside, columns, 0)]
        found |= inside & (np.abs(colour - wanted) < SAME_COLOUR).all(axis=1)
    return bool(found.all())


def _colours(cells: Cells, numbers: np.ndarray) -> np.ndarray:
    """The colours (n, 3) of numbers (n,), as they look on the background of their Axes."""
    rgba = np.asarray(cells.artist.to_rgba(numbers, norm=True))
    alpha = cells.artist.get_alpha()
    share = rgba[:, 3:] * (alpha if isinstance(alpha, int | float) else 1.0)
    behind = np.array(to_rgb(cells.artist.axes.get_facecolor()))
    return share * rgba[:, :3] + (1 - share) * behind


def _colours_differ(cells: Cells | None) -> bool:
    """Whether colours change from the least number to the greatest, and go on to both ends."""
    if cells is None or not np.isfinite(cells.numbers).all():
        return False
    least, greatest = float(cells.numbers.min()), float(cells.numbers.max())
    if least == greatest:
        return True
    along = _colours(cells, np.linspace(least, greatest, 6))
    apart = np.abs(np.diff(along, axis=0)).max(axis=1)
    low, high = cells.artist.get_clim()
    room = 0.02 * (greatest - least)
    covered = low is None or high is None or (low - room <= least and greatest <= high + room)
    return bool((apart > SAME_COLOUR / 4).all() and covered)


def _same_colours(cells: Cells | None, bar: Any) -> bool:
    """Whether a colour bar tells the colours of the cells."""
    if cells is None or not np.isfinite(cells.numbers).all():
        return False
    along = np.linspace(cells.numbers.min(), cells.numbers.max(), 6)
    told = np.asarray(bar.mappable.to_rgba(along))[:, :3]
    shown = np.asarray(cells.artist.to_rgba(along))[:, :3]
    return bool((np.abs(told - shown) < 3 * SAME_COLOUR).all())


def _labels_exchanged(ax: Axes) -> bool:
    """Whether each label speaks of what runs along the other axis, and of nothing else."""
    x, y = ax.get_xlabel(), ax.get_ylabel()
    of_positions = [bool(POSITIONS.search(text)) for text in (x, y)]
    of_dimensions = [bool(DIMENSIONS.search(text)) for text in (x, y)]
    return of_positions == [True, False] and of_dimensions == [False, True]


def _is_labelled(ax: Axes, axis: Any) -> bool:
    visible = ax.axison and axis.get_visible() and axis.label.get_visible()
    return bool(visible and axis.label.get_text().strip() and axis.label.get_alpha() != 0)


def _colour_bars(home: Figure | None, cells: Cells | None) -> list[Any]:
    """The colour bars of a figure."""
    if home is None or cells is None:
        return []
    bars = [cells.artist.colorbar, *(getattr(ax, "_colorbar", None) for ax in home.axes)]
    return [bar for bar in bars if bar is not None and _figure_of(bar.ax) is home]


def _figure_of(ax: Axes | None) -> Figure | None:
    """The whole figure, also where the Axes is in a part of one."""
    return None if ax is None else ax.figure.canvas.figure
