"""Grids of numbers: attention weights, scores, masks, tables of encodings.

Shapes:
    T  queries (rows of a map)     S  keys (columns of a map)
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from lecture_kit.plotting.colours import (
    MUTED,
    PAPER,
    PLUM,
    SHADE,
    ink_on,
    signed_colours,
    weight_colours,
)

# A map with more cells than this prints no numbers: they would be too small to read.
MAX_CELLS_WITH_VALUES = 150
# With more labels than this along an axis, every second one stands, or every fourth, …
MAX_NUMBERED_TICKS = 17

QUERY_LABEL = "query: the word that looks"
KEY_LABEL = "key: the word looked at"


def attention_map(
    weights,
    queries=None,
    keys=None,
    ax=None,
    *,
    hidden=None,
    limit=None,
    signed=None,
    decimals=2,
    numbers=True,
    bar=True,
    colour_label="attention weight",
    query_label=QUERY_LABEL,
    key_label=KEY_LABEL,
):
    """Draw weights, scores or any table as a grid: one row per query, one column per key.

    Zero has the colour of the page, purple is above it and ochre below. Numbers stand in the cells
    when there are at most `MAX_CELLS_WITH_VALUES` of them. Where all are weights, those that
    would round to zero stay without a number.

    Args:
        weights: (T, S) tensor or array.
        queries: T labels, one per row, the first on top; None numbers the rows from 0.
        keys: S labels, one per column; None numbers the columns from 0.
        ax: the Axes to draw on; None makes a new figure.
        hidden: (T, S) booleans, True where no attention is allowed; these cells are hatched and
            have no number, whatever stands there.
        limit: the number that gets the strongest colour; None takes the largest magnitude. Give the
            same limit to maps that readers compare.
        signed: whether the colour bar has a side below zero; None looks at the numbers.
        decimals: digits after the point in the cells.
        numbers: False for no numbers in the cells.
        bar: whether a colour bar stands beside the map.
        colour_label: what the numbers are; written beside the colour bar.
        query_label, key_label: names of the two axes.

    Returns:
        The Axes.

    Raises:
        ValueError: the weights are not a (T, S) grid that fits the labels and `hidden`, or are not
            finite where they show.
    """
    weights, hidden = _checked(weights, queries, keys, hidden)
    if ax is None:
        rows, columns = weights.shape
        _, ax = plt.subplots(figsize=(3.4 + 0.72 * columns, 1.6 + 0.5 * rows))
    if signed is None:
        signed = bool((weights < 0).any())
    limit = _largest(weights) if limit is None else limit
    norm = Normalize(-limit if signed else 0.0, limit)
    cells = ax.imshow(
        weights,
        cmap=signed_colours() if signed else weight_colours(),
        norm=norm,
        aspect="auto",
        interpolation="none" if weights.size > MAX_CELLS_WITH_VALUES else "nearest",
    )
    _label(ax, queries, keys, query_label, key_label)
    if weights.size <= MAX_CELLS_WITH_VALUES:
        _gaps(ax, weights.shape)
        if numbers:
            empty = hidden if signed else hidden | (weights < 0.5 * 10.0**-decimals)
            _write(ax, weights, empty, decimals, lambda weight: cells.cmap(norm(weight)))
    for row, column in np.argwhere(hidden):
        hatch_cell(ax, row, column)
    if bar:
        ax.figure.colorbar(cells, ax=ax, label=colour_label)
    return ax


def attention_maps(
    weights,
    titles,
    queries=None,
    keys=None,
    *,
    hidden=None,
    limit=None,
    columns=None,
    size=None,
    colour_label="attention weight",
    query_label=QUERY_LABEL,
    key_label=KEY_LABEL,
    **how,
):
    """Draw several maps on one scale, with one colour bar and one name for each axis.

    Args:
        weights: sequence of n maps, each (T, S).
        titles: n titles.
        queries, keys: labels for all maps, as `attention_map` takes them, or n lists of labels.
        hidden: (T, S) booleans for all maps, or n of them; as in `attention_map`.
        limit: the number that gets the strongest colour in all maps; None takes the largest.
        columns: maps in one row; None puts all in one row.
        size: (width, height) of the figure in inches; None makes it fit, at most 10 wide.
        colour_label, query_label, key_label: as in `attention_map`.
        how: anything else that `attention_map` takes.

    Returns:
        The Figure; its first n Axes are the maps.
    """
    maps = [_as_array(one) for one in weights]
    columns = columns or len(maps)
    lines = -(-len(maps) // columns)
    if size is None:
        rows = max(len(one) for one in maps)
        size = (10 if columns > 1 else 8, lines * (1.3 + 0.42 * min(rows, 10)))
    figure, axes = plt.subplots(lines, columns, figsize=size, squeeze=False)
    shown = list(axes.flat)[: len(maps)]
    for ax in list(axes.flat)[len(maps) :]:
        ax.remove()
    if limit is None:
        limit = max(_largest(one) for one in maps)
    signed = any(bool((one < 0).any()) for one in maps)
    for number, (ax, one, title) in enumerate(zip(shown, maps, titles, strict=True)):
        attention_map(
            one,
            _of(queries, number),
            _of(keys, number),
            ax,
            hidden=_of(hidden, number, plain=2),
            limit=limit,
            signed=signed,
            bar=False,
            query_label=query_label if number % columns == 0 else "",
            key_label=key_label if number + columns >= len(maps) else "",
            **how,
        )
        ax.set_title(title)
    figure.colorbar(shown[0].images[0], ax=shown, label=colour_label, shrink=0.8)
    return figure


def mask_map(mask, queries=None, keys=None, ax=None, *, query_label="query", key_label="key"):
    """Draw who may attend to whom: filled cells are allowed, hatched ones are hidden.

    Args:
        mask: (T, S) booleans, True where the query may attend to the key.
        queries, keys, ax, query_label, key_label: as in `attention_map`.

    Returns:
        The Axes.
    """
    allowed = np.array(_as_array(mask), dtype=bool)
    ax = attention_map(
        np.zeros(allowed.shape),
        queries,
        keys,
        ax,
        hidden=~allowed,
        limit=1.0,
        numbers=False,
        bar=False,
        query_label=query_label,
        key_label=key_label,
    )
    for row, column in np.argwhere(allowed):
        fill_cell(ax, row, column)
    return ax


def fill_cell(ax, row, column):
    """Fill a cell with the plum that the diagrams of masks have too.

    Args:
        ax: Axes that `attention_map` returned.
        row, column: the cell, counted from 0.
    """
    ax.add_patch(_cell(row, column, facecolor=PLUM, edgecolor=PAPER, linewidth=1.5))


def hatch_cell(ax, row, column):
    """Cover a cell of a map with grey stripes: nothing can be attended to here.

    Args:
        ax: Axes that `attention_map` returned.
        row, column: the cell, counted from 0.
    """
    ax.add_patch(_cell(row, column, facecolor=SHADE, edgecolor=MUTED, linewidth=0, hatch="////"))


def outline_cell(ax, row, column):
    """Draw a frame around one cell of a map, to lead the eye to it.

    The frame is black with a white rim, because cells are light and dark, on white pages and on dark ones.

    Args:
        ax: Axes that `attention_map` returned.
        row, column: the cell, counted from 0.
    """
    frame = Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=2.5)
    frame.set(zorder=3, path_effects=[withStroke(linewidth=5.5, foreground="white")])
    ax.add_patch(frame)


def dot_cell(ax, row, column):
    """Put a dot into a cell of a map that is too small for a frame: black with a white rim.

    Args:
        ax: Axes that `attention_map` returned.
        row, column: the cell, counted from 0.
    """
    ax.plot(column, row, "o", color="black", markersize=5.5, markeredgecolor="white")


def _cell(row, column, **look):
    """A patch that covers a cell."""
    return Rectangle((column - 0.5, row - 0.5), 1, 1, zorder=2, **look)


def _checked(weights, queries, keys, hidden):
    """Weights and hidden as arrays of one shape; hidden cells hold zero."""
    weights = _as_array(weights)
    if weights.ndim != 2 or any(
        labels is not None and len(labels) != size
        for labels, size in zip((queries, keys), weights.shape, strict=True)
    ):
        wanted = [str(len(labels)) if labels is not None else "any" for labels in (queries, keys)]
        raise ValueError(
            f"weights need the shape (queries, keys) = ({', '.join(wanted)}), but have "
            f"{weights.shape}; draw one sentence and one head at a time"
        )
    if hidden is None:
        hidden = np.zeros(weights.shape, dtype=bool)
    hidden = np.array(_as_array(hidden), dtype=bool)
    if hidden.shape != weights.shape:
        raise ValueError(f"hidden needs the shape {weights.shape}, but has {hidden.shape}")
    weights = np.where(hidden, 0.0, weights)
    if not np.isfinite(weights).all():
        raise ValueError("weights hold NaN or infinity; draw them after the softmax")
    return weights, hidden


def _label(ax, queries, keys, query_label, key_label):
    """Words or numbers along the two axes."""
    rows, columns = (round(abs(end - start)) for start, end in (ax.get_ylim(), ax.get_xlim()))
    places, names = _ticks(keys, columns)
    if keys is None:
        ax.set_xticks(places, names)
    else:
        ax.set_xticks(places, names, rotation=40, ha="right", rotation_mode="anchor")
    ax.set_yticks(*_ticks(queries, rows))
    ax.set_xlabel(key_label)
    ax.set_ylabel(query_label)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.grid(False)


def _ticks(labels, size):
    if labels is not None:
        return range(size), labels
    step = 1
    while size > step * MAX_NUMBERED_TICKS:
        step *= 2
    return range(0, size, step), range(0, size, step)


def _gaps(ax, shape):
    """Lines in the colour of the page keep neighbouring cells apart where both are strong."""
    rows, columns = shape
    ax.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    ax.grid(which="minor", color=PAPER, linewidth=1.5, zorder=2.5)
    ax.tick_params(which="minor", length=0)


def _write(ax, weights, empty, decimals, colour_of):
    """The numbers of all cells but those that stay empty."""
    for (row, column), weight in np.ndenumerate(weights):
        if not empty[row, column]:
            ax.text(
                column,
                row,
                _number(weight, decimals),
                ha="center",
                va="center",
                fontsize=11,
                color=ink_on(colour_of(weight)),
            )


def _of(labels, number, plain=1):
    """What map `number` gets: its own of a list of lists, or what all share."""
    if labels is None:
        return None
    own = np.ndim(labels[0]) == plain if plain > 1 else not isinstance(labels[0], str | int)
    return labels[number] if own else labels


def _largest(values):
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 1.0


def _as_array(values):
    """A NumPy copy of a tensor, array or list."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.array(values, dtype=float)


def _number(value, decimals):
    """The number as text: a true minus sign, and no minus in front of a rounded zero."""
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")
