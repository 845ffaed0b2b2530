"""The drawing style of the course's diagrams.

A diagram is a matplotlib figure on a canvas without axes, measured in inches from the lower left
corner. `save` writes it as SVG beside the script that draws it; the same script writes the same
bytes at every run, and on dark pages it shows the dark partners of its colours. Tints differ in
lightness and every shape has an outline and a label, so that a diagram can be read in grey.
"""

import io
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from course_utils.plotting.colours import (  # noqa: F401  the scripts take their colours from here
    INK,
    KEY,
    KEY_TINT,
    MUTED,
    OCHRE,
    OCHRE_TINT,
    PAPER,
    PLAIN_TINT,
    PLUM,
    PLUM_TINT,
    QUERY,
    QUERY_TINT,
    SIGNED,
    SLATE,
    SLATE_TINT,
    VALUE,
    VALUE_TINT,
)
from course_utils.plotting.output import SVG_SETTINGS, refuse_small_letters, rounded, themed

TEXT = 16
SMALL_TEXT = 14.5
LARGE_TEXT = 20
# Sizes are for a canvas of this many inches; on a wider one, letters grow with it.
USUAL_WIDTH = 13.2

_SETTINGS = {**SVG_SETTINGS, "font.family": "DejaVu Sans", "mathtext.fontset": "dejavusans"}


def canvas(width, height):
    """An empty figure of this size in inches, and its Axes: one unit is one inch."""
    figure = Figure(figsize=(width, height), facecolor=PAPER)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_xlim(0, width)
    ax.set_ylim(0, height)
    ax.set_axis_off()
    return figure, ax


def label(ax, x, y, text, size=TEXT, colour=INK, ha="center", va="center", weight="normal"):
    """Text at a point."""
    size *= max(1, ax.figure.get_figwidth() / USUAL_WIDTH)
    ax.text(x, y, text, fontsize=size, color=colour, ha=ha, va=va, fontweight=weight, zorder=5)


def box(ax, x, y, width, height, text="", fill=PLAIN_TINT, edge=INK, size=TEXT, line=1.6):
    """A rounded box centred on (x, y), with its text in the middle."""
    radius = min(0.12, height / 3)
    ax.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - height / 2),
            width,
            height,
            boxstyle=f"round,pad=0,rounding_size={radius}",
            facecolor=fill,
            edgecolor=edge,
            linewidth=line,
            zorder=3,
        )
    )
    if text:
        label(ax, x, y, text, size)


def arrow(ax, start, end, colour=INK, line=1.8, bend=0.0, dashed=False, head=True):
    """An arrow from one point to another; `bend` curves it to one side."""
    ax.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>" if head else "-",
            mutation_scale=13 + 2.2 * line,
            connectionstyle=f"arc3,rad={bend}",
            color=colour,
            linewidth=line,
            linestyle="--" if dashed else "-",
            shrinkA=0,
            shrinkB=0,
            zorder=2,
        )
    )


def strip(ax, x, y, width, height, values, limit):
    """A vector as a row of cells centred on (x, y), from orange (-limit) over white to purple."""
    colours = mpl.colormaps[SIGNED]
    cell = width / len(values)
    for k, value in enumerate(values):
        shade = round(min(max(0.5 + 0.5 * value / limit, 0.0), 1.0), 2)
        ax.add_patch(
            Rectangle(
                (x - width / 2 + k * cell, y - height / 2),
                cell,
                height,
                facecolor=colours(shade),
                edgecolor=colours(shade),  # no hairline between cells
                linewidth=0.5,
                zorder=3,
            )
        )
    ax.add_patch(
        Rectangle(
            (x - width / 2, y - height / 2),
            width,
            height,
            facecolor="none",
            edgecolor=INK,
            linewidth=1.4,
            zorder=4,
        )
    )


def save(figure, script):
    """Write the figure beside `script`: make_name.py writes name.svg. Returns the path.

    Raises:
        ValueError: letters would be smaller than 9 pixels on a page of 600.
    """
    refuse_small_letters(figure)
    script = Path(script)
    target = script.with_name(script.stem.removeprefix("make_") + ".svg")
    drawn = io.StringIO()
    with mpl.rc_context(_SETTINGS):
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    target.write_text(themed(rounded(drawn.getvalue())), encoding="utf-8")
    return target
