"""The drawing style of the course's diagrams.

A diagram is a matplotlib figure on a canvas without axes, measured in inches from the lower left
corner. `save` writes it as SVG beside the script that draws it; the same script writes the same
bytes at every run, and on dark pages it shows the dark partners of its colours. Tints differ in
lightness and every shape has an outline and a label, so that a diagram can be read in grey.
"""

import io
import pathlib
from itertools import pairwise

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Patch, PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D

from lecture_kit.plotting import colours
from lecture_kit.plotting.colours import (  # noqa: F401  the scripts take their colours from here
    INK,
    MUTED,
    OCHRE,
    OCHRE_TINT,
    PAPER,
    PLAIN_TINT,
    PLUM,
    PLUM_TINT,
    SHADE,
    SLATE,
    SLATE_TINT,
    STEPS,
    shade,
)
from lecture_kit.plotting.output import SVG_SETTINGS, refuse_small_letters, rounded, themed

TEXT = 16
SMALL_TEXT = 14.5
LARGE_TEXT = 20
# Sizes are for a canvas of this many inches; on a wider one, letters grow with it.
USUAL_WIDTH = 13.2

# What is drawn in a colour that means something, and its colour and tint. Scripts name the role and
# do not take the colours of query, key and value themselves; an artist keeps its role as its label.
ROLES = {
    "query": (colours.QUERY, colours.QUERY_TINT),
    "key": (colours.KEY, colours.KEY_TINT),
    "value": (colours.VALUE, colours.VALUE_TINT),
    "score": (PLUM, PLUM_TINT),
    "weight": (PLUM, PLUM_TINT),
    "one vector": (OCHRE, OCHRE_TINT),
}

# Words keep this many pixels from other words, from lines and from edges, on a page that shows
# PAGE pixels of the figure's width.
PAGE = 840
APART = 4

_SETTINGS = {**SVG_SETTINGS, "font.family": "DejaVu Sans", "mathtext.fontset": "dejavusans"}


def canvas(width, height):
    """An empty figure of this size in inches, and its Axes: one unit is one inch."""
    figure = Figure(figsize=(width, height), facecolor=PAPER)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_xlim(0, width)
    ax.set_ylim(0, height)
    ax.set_axis_off()
    return figure, ax


def label(
    ax, x, y, text, size=TEXT, colour=INK, ha="center", va="center", weight="normal", role=""
):
    """Text at a point, in the colour of its role if it has one."""
    size *= max(1, ax.figure.get_figwidth() / USUAL_WIDTH)
    colour = ROLES[role][0] if role else colour
    style = {"fontsize": size, "color": colour, "fontweight": weight, "label": role}
    ax.text(x, y, text, ha=ha, va=va, zorder=5, **style)


def box(
    ax, x, y, width, height, text="", fill=PLAIN_TINT, edge=INK, size=TEXT, line=1.6, *, role=""
):
    """A rounded box centred on (x, y), with its text in the middle; a role gives it both colours."""
    radius = min(0.12, height / 3)
    edge, fill = ROLES[role] if role else (edge, fill)
    ax.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - height / 2),
            width,
            height,
            boxstyle=f"round,pad=0,rounding_size={radius}",
            facecolor=fill,
            edgecolor=edge,
            linewidth=line,
            label=role,
            zorder=3,
        )
    )
    if text:
        label(ax, x, y, text, size)


def arrow(ax, start, end, colour=INK, line=1.8, bend=0.0, dashed=False, head=True, role=""):
    """An arrow from one point to another; `bend` curves it to one side."""
    ax.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>" if head else "-",
            mutation_scale=13 + 2.2 * line,
            connectionstyle=f"arc3,rad={bend}",
            color=ROLES[role][0] if role else colour,
            linewidth=line,
            linestyle="--" if dashed else "-",
            shrinkA=0,
            shrinkB=0,
            label=role,
            zorder=2,
        )
    )


def line(ax, points, colour=INK, width=1.8, dashes="-", zorder=2, role=""):
    """A line through points, without a head."""
    colour = ROLES[role][0] if role else colour
    style = {"color": colour, "linewidth": width, "linestyle": dashes, "label": role}
    ax.plot(*zip(*points, strict=True), zorder=zorder, **style)


def cell(
    ax,
    left,
    bottom,
    width,
    height,
    fill=PAPER,
    edge=MUTED,
    thin=0.7,
    zorder=3,
    *,
    hatch=None,
    role="",
):
    """A rectangle with sharp corners, given by its lower left one; a role gives it both colours."""
    edge, fill = ROLES[role] if role else (edge, fill)
    style = {"facecolor": fill, "edgecolor": edge, "linewidth": thin, "zorder": zorder}
    ax.add_patch(Rectangle((left, bottom), width, height, hatch=hatch, label=role, **style))


def weight_map(ax, left, top, size, rows, mark=None):
    """Weights as cells of this size, from the page's own ground for 0 to plum for 1.

    The shade is the opacity of one colour, so that a map is dark on dark pages as well. `mark` is a
    (row, column) that gets a frame.
    """
    height, width = len(rows), len(rows[0])
    cell(ax, left, top - height * size, width * size, height * size, thin=1.2)
    for i, row in enumerate(rows):
        for j, weight in enumerate(row):
            corner = (left + j * size, top - (i + 1) * size)
            ax.add_patch(
                Rectangle(
                    corner, size, size, facecolor=PLUM, alpha=round(weight, 2), zorder=3, lw=0
                )
            )
    if mark:
        corner = left + mark[1] * size, top - (mark[0] + 1) * size
        cell(ax, *corner, size, size, fill="none", edge=INK, thin=2.2, zorder=4)


def strip(ax, x, y, width, height, values, limit):
    """A vector as a row of cells centred on (x, y), see `strips`."""
    strips(ax, x, y, width, height, [values], limit)


def strips(ax, x, y, width, height, rows, limit, zorder=3, thin=1.4):
    """Vectors as rows of cells, all centred on (x, y), in the scale of the maps to -limit … limit."""
    left, top = x - width / 2, y + height / 2
    wide, high = width / len(rows[0]), height / len(rows)
    by_step = {}
    for i, row in enumerate(rows):
        for k, value in enumerate(row):
            step = STEPS // 16 * round(16 * min(max(value / limit, -1.0), 1.0))
            corner = left + k * wide, top - (i + 1) * high
            by_step.setdefault(step, []).append(_rectangle(corner, wide, high))
    # One shape for each shade: a picture with a thousand cells stays small.
    for step, cells in sorted(by_step.items()):
        colour = shade(step)
        style = {"facecolor": colour, "edgecolor": colour, "linewidth": 0.5, "zorder": zorder}
        ax.add_patch(PathPatch(Path.make_compound_path(*cells), **style))  # no hairlines between
    for i in range(len(rows)):
        cell(ax, left, top - (i + 1) * high, width, high, "none", INK, thin, zorder=zorder + 1)


def _rectangle(corner, width, height):
    moved = Affine2D().scale(width, height).translate(*corner)
    return moved.transform_path(Path.unit_rectangle())


def save(figure, script):
    """Write the figure beside `script`: make_name.py writes name.svg. Returns the path.

    Raises:
        ValueError: letters would be smaller than 9 pixels on a page of 600, or words would touch.
    """
    refuse_small_letters(figure)
    refuse_touching_words(figure)
    script = pathlib.Path(script)
    target = script.with_name(script.stem.removeprefix("make_") + ".svg")
    target.write_text(svg_of(figure), encoding="utf-8")
    return target


def svg_of(figure):
    """The figure as SVG text that follows the page's theme."""
    drawn = io.StringIO()
    with mpl.rc_context(_SETTINGS):
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    return themed(rounded(drawn.getvalue()))


def refuse_touching_words(figure):
    """Raise a ValueError that names each word nearer than 4 pixels to another, a line or an edge."""
    with mpl.rc_context(_SETTINGS):
        found = touching_words(figure)
    if found:
        raise ValueError("move these apart, or make room for them: " + "; ".join(found))


def touching_words(figure):
    """What stands too near to what, as sentences; nothing if the figure has room everywhere."""
    figure.canvas.draw()
    pixel = figure.bbox.width / PAGE
    (ax,) = figure.axes
    artists = sorted(ax.get_children(), key=lambda artist: artist.get_zorder())  # as they are drawn
    texts = [
        (artist, artist.get_window_extent())
        for artist in artists
        # a sign may stand on a line, as a cross that strikes it out does
        if isinstance(artist, Text) and any(letter.isalnum() for letter in artist.get_text())
    ]
    drawn = [
        _Drawn(artist, _outline(artist, pixel))
        for artist in artists
        # the Axes' own ground ends where the picture does; a single point is a sign, too
        if artist is not ax.patch
        and isinstance(artist, (Patch, Line2D))
        and len(artist.get_path()) > 1
    ]
    found = []
    for number, (text, place) in enumerate(texts):
        x0, y0, x1, y1 = place.extents
        edge = min(x0, y0, figure.bbox.width - x1, figure.bbox.height - y1)
        near = {"the edge of the picture": edge}
        for other, there in texts[number + 1 :]:
            gaps = there.x0 - x1, x0 - there.x1, there.y0 - y1, y0 - there.y1
            near[f"'{other.get_text()}'"] = max(gaps)
        for one in _seen_around(place, drawn):
            left, bottom, right, top = one.box
            if max(left - x1, x0 - right, bottom - y1, y0 - top) >= APART * pixel:
                continue  # all of it is far enough away
            beside = np.maximum(np.array([x0, y0]) - one.points, one.points - np.array([x1, y1]))
            gap, what = np.hypot(*np.maximum(beside, 0).T).min(), f"a {type(one.artist).__name__}"
            near[what] = min(gap, near.get(what, gap))
        found += [
            f"'{text.get_text()}' stands {max(gap, 0) / pixel:.1f} px from {what}"
            for what, gap in near.items()
            if gap < APART * pixel
        ]
    return found


class _Drawn:
    """Something drawn: the artist, points (N, 2) on its lines, and left, bottom, right and top of them."""

    def __init__(self, artist, points):
        self.artist, self.points = artist, points
        self.box = (*points.min(axis=0), *points.max(axis=0))


def _outline(artist, step):
    """Points (N, 2) on the lines of an artist, on the screen, no further apart than a step."""
    path = artist.get_transform().transform_path(artist.get_path())
    points = []
    for polygon in path.to_polygons(closed_only=False):
        for start, end in pairwise(polygon):
            steps = 2 + int(np.hypot(*(end - start)) / step)
            points.append(np.linspace(start, end, steps))
    return np.concatenate(points)


def _seen_around(place, drawn):
    """Of what is drawn, in its order, all that no filled shape around this place covers."""
    seen = []
    for one in drawn:
        left, bottom, right, top = one.box
        around = left <= place.x0 and place.x1 <= right and bottom <= place.y0 and place.y1 <= top
        shape = isinstance(one.artist, (FancyBboxPatch, Rectangle))
        if around and shape and one.artist.get_facecolor()[3] == 1:
            seen = []
        seen.append(one)
    return seen
