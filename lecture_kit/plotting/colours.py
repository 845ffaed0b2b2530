"""Every colour of the course, once: what it stands for, on white pages and on dark ones.

`docs/glossary.md` shows them. A colour is written for white pages. Pictures swap it for its partner
where the page is dark, so that text and lines keep a contrast of at least 4.5 to 1 on both.
"""

from itertools import product

import numpy as np
from matplotlib.colors import ListedColormap, to_hex, to_rgb

INK = "#1a1a1a"
MUTED = "#5c5c5c"
GRID = "#e2e2e2"
SHADE = "#efefef"
PAPER = "#fefefe"

# What asks, what is compared, what is mixed. Nothing else in the course has these colours.
QUERY = "#0069a6"
KEY = "#b84a00"
VALUE = "#00775a"
QUERY_TINT = "#a6cde7"
KEY_TINT = "#fce8d8"
VALUE_TINT = "#c6e5d6"
PLAIN_TINT = "#f6f6f6"

# Curves and bars: each model of the course keeps its colour, other series take them in this order.
PLUM = "#6a3d9a"
OCHRE = "#856000"
ROSE = "#b0246e"
SLATE = "#55636e"
PLUM_TINT = "#e4d8f0"
OCHRE_TINT = "#f3e7c4"
SLATE_TINT = "#dfe5ea"
SERIES = (PLUM, OCHRE, ROSE, INK, SLATE)
MODELS = {
    "attention": PLUM,
    "one vector": OCHRE,
    "transformer": ROSE,
    "recurrent": INK,
    "no positions": SLATE,
}

# name in a picture's style sheet: (on white pages, on dark pages)
PAIRS = {
    "ink": (INK, "#ececec"),
    "muted": (MUTED, "#b4b4b4"),
    "grid": (GRID, "#3a3a3a"),
    "shade": (SHADE, "#2c2c2c"),
    "paper": (PAPER, "#141414"),
    "query": (QUERY, "#6cb8ec"),
    "key": (KEY, "#ff9a57"),
    "value": (VALUE, "#3cc99b"),
    "query-tint": (QUERY_TINT, "#0b4165"),
    "key-tint": (KEY_TINT, "#5a2a0a"),
    "value-tint": (VALUE_TINT, "#0d4a39"),
    "plain-tint": (PLAIN_TINT, "#242424"),
    "plum": (PLUM, "#c3a0ee"),
    "ochre": (OCHRE, "#e3b640"),
    "rose": (ROSE, "#f47db4"),
    "slate": (SLATE, "#a9b6c0"),
    "plum-tint": (PLUM_TINT, "#3d2a57"),
    "ochre-tint": (OCHRE_TINT, "#4a3b0c"),
    "slate-tint": (SLATE_TINT, "#333e47"),
}

# One scale for all maps, from -1 to 1. Zero has the page's own colour, so that what is large stands
# out on white pages and on dark ones. Purple is above zero and ochre below, each step on the one
# side as light as its partner on the other.
SIGNED = {
    "light": "#392a00 #5b4200 #997719 #d3ab38 #eddaa4 "
    f"{PAPER} #d8daeb #b2abd2 #8073ac #5a2d90 #3d1070".split(),
    "dark": "#ffe295 #c79b23 #886d1a #564410 #32280e "
    f"{PAIRS['paper'][1]} #2e2440 #513a7c #7f5fbd #b48fec #ecdfff".split(),
}
STEPS = 32


def shade(step, theme="light"):
    """The colour of a number in a map, as "#rrggbb".

    Args:
        step: from -`STEPS`, the largest number below zero, over 0 to `STEPS`.
        theme: "light" or "dark".
    """
    stops = np.array([to_rgb(colour) for colour in SIGNED[theme]])
    places = np.linspace(-STEPS, STEPS, len(stops))
    return to_hex([np.interp(step, places, channel) for channel in stops.T])


def signed_colours():
    """The scale of the maps, from -1 to 1, as a matplotlib colour map for white pages."""
    return ListedColormap([shade(step) for step in range(-STEPS, STEPS + 1)], "signed")


def weight_colours():
    """The upper half of the scale of the maps, from 0 to 1, as a matplotlib colour map."""
    return ListedColormap([shade(step) for step in range(STEPS + 1)], "weights")


def luminance(colour):
    """Relative luminance of a colour, from 0 (black) to 1 (white), as WCAG 2.2 defines it.

    Args:
        colour: anything that matplotlib takes for a colour; its opacity does not count.
    """
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in to_rgb(colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """Contrast of two colours, from 1 (equal) to 21; AA asks 4.5 of text (WCAG 2.2, 1.4.3)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def text_on(background):
    """ "black" or "white", whichever has more contrast on this background: 4.58 at least."""
    return max(("black", "white"), key=lambda ink: contrast(ink, background))


# Of a number in a map, for each pair of what it needs on white pages and on dark ones; a hair away
# from black and white, so that a picture knows its four inks apart.
INKS = {
    pair: {"black": "#0{0}0{0}0{0}", "white": "#f{0}f{0}f{0}"}[pair[0]].format("cd"[number % 2])
    for number, pair in enumerate(product(("black", "white"), repeat=2))
}

# name in a picture's style sheet: (on white pages, on dark pages)
MAP_PAIRS = {
    f"map{step}": (shade(step), shade(step, "dark")) for step in range(-STEPS, STEPS + 1) if step
} | {f"{light}-{dark}": (ink, to_hex(dark)) for (light, dark), ink in INKS.items()}


def ink_on(background):
    """The colour of a number on a cell of a map; pictures swap it where the page is dark.

    Args:
        background: the cell's colour on white pages, from `signed_colours` or `weight_colours`.
    """
    partners = dict([*MAP_PAIRS.values(), PAIRS["paper"]])
    on_light = to_hex(background)
    return INKS[text_on(on_light), text_on(partners[on_light])]
