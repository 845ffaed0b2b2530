"""Pictures for the lectures: one style, one set of colours, a text that says the same.

colours   what each colour stands for, on white pages and on dark ones; text on colour
output    show a figure with its alternative text and its caption
grids     attention maps, masks, tables; several on one scale
lines     medians and ranges over seeds, with names at the ends of the lines
barcharts bars with values, histograms, one panel for each step
plane     vectors of width 2 as points
symbols   names such as d_k as formulas
"""

from pathlib import Path

import matplotlib.pyplot as plt

from lecture_kit.plotting.barcharts import bars, histogram, step_panels
from lecture_kit.plotting.colours import (
    INK,
    MODELS,
    MUTED,
    SERIES,
    SHADE,
    contrast,
    signed_colours,
    text_on,
)
from lecture_kit.plotting.grids import (
    attention_map,
    attention_maps,
    dot_cell,
    fill_cell,
    hatch_cell,
    mask_map,
    outline_cell,
)
from lecture_kit.plotting.lines import curves, label_ends, level, seed_curves, ticks_at
from lecture_kit.plotting.output import picture
from lecture_kit.plotting.plane import shift_arrow, words_in_plane
from lecture_kit.plotting.symbols import symbol

__all__ = [
    "INK",
    "MODELS",
    "MUTED",
    "SERIES",
    "SHADE",
    "attention_map",
    "attention_maps",
    "bars",
    "contrast",
    "curves",
    "dot_cell",
    "fill_cell",
    "hatch_cell",
    "histogram",
    "label_ends",
    "level",
    "mask_map",
    "outline_cell",
    "panels",
    "picture",
    "seed_curves",
    "shift_arrow",
    "signed_colours",
    "step_panels",
    "symbol",
    "text_on",
    "ticks_at",
    "use_course_style",
    "words_in_plane",
]


def use_course_style():
    """Make the course's style the default for every figure that is drawn from now on.

    The style is in `lecture_kit/plotting/course.mplstyle`.
    """
    plt.style.use(Path(__file__).with_name("course.mplstyle"))


def panels(count=2, height=4.4, width=None, **how):
    """Axes side by side in a figure of the course's width.

    Args:
        count: how many.
        height: of the figure, in inches.
        width: of the figure, in inches; None takes 8 for one and 10 for more.
        how: what `plt.subplots` takes, such as `sharey=True`.

    Returns:
        The Figure and its Axes: one, or an array of `count`.
    """
    width = width or (8 if count == 1 else 10)
    return plt.subplots(1, count, figsize=(width, height), **how)
