"""Every colour of the course, once: what it stands for, on white pages and on dark ones.

`docs/notation.md` shows them. A colour is written for white pages. Pictures swap it for its partner
where the page is dark, so that text and lines keep a contrast of at least 4.5 to 1 on both.
"""

from matplotlib.colors import LinearSegmentedColormap, to_rgb

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

# One scale for all maps: white is zero, purple above it, orange below.
SIGNED = "PuOr"


def weight_colours():
    """White to dark purple, the upper half of the signed scale, as a matplotlib colour map."""
    from matplotlib import colormaps

    upper = colormaps[SIGNED]([0.5 + k / 510 for k in range(256)])
    return LinearSegmentedColormap.from_list("weights", ["#ffffff", *upper[1:]])


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
