"""Pictures for the lectures: one style, labelled attention maps, curves with their spread.

Shapes:
    T  queries (rows of a map)     S  keys (columns of a map)

A picture that is shown carries a text that says the same, for readers who cannot see it.
"""

import base64
import io
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle

# Screens show 96 pixels per inch of figure; twice as many are stored, so that the picture stays
# crisp on a projector and when a reader zooms in.
DISPLAY_DPI = 96
PIXEL_RATIO = 2

# A map with more cells than this prints no numbers: they would be too small to read.
MAX_CELLS_WITH_VALUES = 150


def use_course_style():
    """Make the course's style the default for every figure that is drawn from now on.

    The style is in `course_utils/course.mplstyle`.
    """
    plt.style.use(Path(__file__).with_name("course.mplstyle"))


def show(figure, alt):
    """Display a figure as a PNG that carries an alternative text, then close it.

    Args:
        figure: a matplotlib Figure.
        alt: what the picture shows, in words. It is stored as `alt` in the output's metadata under
            image/png, and as the output's plain text, which stands in for the picture where no
            images can be shown.

    Raises:
        ValueError: the text is empty.
    """
    if not alt.strip():
        raise ValueError(
            "alt is empty; describe what the picture shows for readers who cannot see it"
        )
    buffer = io.BytesIO()
    # Without the version of matplotlib in it, the same picture is the same file.
    figure.savefig(buffer, format="png", dpi=DISPLAY_DPI * PIXEL_RATIO, metadata={"Software": None})
    plt.close(figure)
    width = round(figure.get_figwidth() * DISPLAY_DPI)
    display(
        {"image/png": base64.b64encode(buffer.getvalue()).decode("ascii"), "text/plain": alt},
        metadata={"image/png": {"alt": alt, "width": width}},
        raw=True,
    )


def attention_map(
    weights,
    queries,
    keys,
    ax=None,
    *,
    limit=None,
    decimals=2,
    colour_label="attention weight",
    query_label="query: the word that looks",
    key_label="key: the word looked at",
):
    """Draw weights or scores as a grid: one row per query, one column per key.

    Weights run from white to dark blue. Where a number is negative, the colours run from orange
    through white to purple, with white at zero. Numbers stand in the cells when there are at most
    `MAX_CELLS_WITH_VALUES` of them.

    Args:
        weights: (T, S) tensor or array.
        queries: T labels, one per row, the first on top.
        keys: S labels, one per column.
        ax: the Axes to draw on; None makes a new figure.
        limit: the number that gets the darkest colour; None takes the largest magnitude. Give the
            same limit to maps that readers compare.
        decimals: digits after the point in the cells.
        colour_label: what the numbers are; written beside the colour bar.
        query_label, key_label: names of the two axes.

    Returns:
        The Axes.

    Raises:
        ValueError: the weights are not a (T, S) grid that fits the labels, or are not finite.
    """
    weights = _as_array(weights)
    if weights.shape != (len(queries), len(keys)):
        raise ValueError(
            f"weights need the shape (queries, keys) = ({len(queries)}, {len(keys)}), but have "
            f"{weights.shape}; draw one sentence and one head at a time"
        )
    if not np.isfinite(weights).all():
        raise ValueError("weights hold NaN or infinity; draw them after the softmax")
    if ax is None:
        height = 1.6 + 0.5 * len(queries)
        _, ax = plt.subplots(figsize=(3.4 + 0.72 * len(keys), height))

    signed = bool((weights < 0).any())
    limit = float(np.abs(weights).max()) if limit is None else limit
    norm = Normalize(-limit if signed else 0.0, limit)
    cells = ax.imshow(weights, cmap="PuOr" if signed else "Blues", norm=norm, aspect="auto")

    ax.set_xticks(range(len(keys)), keys, rotation=40, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(queries)), queries)
    ax.set_xlabel(key_label)
    ax.set_ylabel(query_label)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.grid(False)
    # White gaps keep neighbouring cells apart where both are dark.
    ax.set_xticks(np.arange(len(keys) + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(len(queries) + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1.5)
    ax.tick_params(which="minor", length=0)

    if weights.size <= MAX_CELLS_WITH_VALUES:
        for (row, column), weight in np.ndenumerate(weights):
            ax.text(
                column,
                row,
                _number(weight, decimals),
                ha="center",
                va="center",
                fontsize=11,
                color=_text_colour(cells.cmap(norm(weight))),
            )
    ax.figure.colorbar(cells, ax=ax, label=colour_label)
    return ax


def outline_cell(ax, row, column):
    """Draw a frame around one cell of an attention map, to lead the eye to it.

    Args:
        ax: Axes that `attention_map` returned.
        row, column: the cell, counted from 0.
    """
    ax.add_patch(
        Rectangle(
            (column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=2.5, zorder=3
        )
    )


def seed_curves(x, values, label, ax):
    """Draw the median over seeds as a line, and the range over seeds as a band around it.

    Args:
        x: (points,) numbers.
        values: (seeds, points) numbers, one row for each seed.
        label: the curve's name in the legend.
        ax: the Axes to draw on. Colour, line style and marker come from its cycle.

    Raises:
        ValueError: `values` has no row per seed and column per point.
    """
    x, values = _as_array(x), _as_array(values)
    if values.ndim != 2 or values.shape[1] != len(x):
        raise ValueError(
            f"values need the shape (seeds, points) with {len(x)} points, but have {values.shape}"
        )
    (line,) = ax.plot(x, np.median(values, axis=0), label=label)
    ax.fill_between(
        x,
        values.min(axis=0),
        values.max(axis=0),
        color=line.get_color(),
        alpha=0.25,
        linewidth=0,
    )


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


def _text_colour(background):
    """Black or white, whichever is easier to read on this background (Rec. 709 luminance)."""
    red, green, blue, _ = background
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "black" if luminance > 0.5 else "white"
