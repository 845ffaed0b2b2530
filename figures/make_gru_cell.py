"""Draw one step of a GRU: two gates, a proposal, and the new state that is mixed from them.

All numbers are those of the trained recurrent translator of lecture 1, which reads from the left.
"""

from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    OCHRE_TINT,
    PAPER,
    SLATE_TINT,
    SMALL_TEXT,
    arrow,
    box,
    canvas,
    cell,
    label,
    line,
    save,
    strip,
)
from trained import gates

SENTENCE, PLACE = "kannst du mir helfen ?", 3  # the word "helfen" is read
REPLACED, KEPT = 14, 21  # units that are framed, counted from 1

LIMIT = 1.4  # all numbers lie between -1 and 1; the ends of the scale are nearly black

UPDATE, RESET, PROPOSAL = 2.75, 7.4, 12.05  # the columns' middles
STATES, WIRE, MIXED, STRIPS, BOXES, FROM_H, FROM_X = 7.95, 6.8, 5.6, 4.35, 2.85, 1.3, 0.5
WIDE, HIGH, BOX, RADIUS = 3.64, 0.46, 1.7, 0.3


def vector(ax, x, y, values):
    """A strip of all units, the two that the text follows in frames."""
    strip(ax, x, y, WIDE, HIGH, values, LIMIT)
    each = WIDE / len(values)
    for unit in (REPLACED, KEPT):
        left = x - WIDE / 2 + (unit - 1) * each
        cell(ax, left, y - HIGH / 2 - 0.07, each, HIGH + 0.14, "none", INK, 2.6, zorder=5)


def unit_at(x, unit, units):
    return x - WIDE / 2 + (unit - 0.5) * WIDE / units


def sign(ax, x, y, text):
    """A small circle in which two vectors meet, entry by entry."""
    box(ax, x, y, 2 * RADIUS, 2 * RADIUS, fill=PAPER)
    label(ax, x, y, text, LARGE_TEXT)


def column(ax, x, fill, lines, values):
    """A box with its name and formula, what comes into it from below, and what it gives."""
    box(ax, x, BOXES, 4.1, BOX, fill=fill)
    for k, text in enumerate(lines):
        y = BOXES + 0.46 * ((len(lines) - 1) / 2 - k)
        label(ax, x, y, text, weight="normal" if k else "bold")
    for start, side, colour in [(FROM_H, -0.6, INK), (FROM_X, 0.6, MUTED)]:
        arrow(ax, (x + side, start), (x + side, BOXES - BOX / 2), colour)
    # where the way of x crosses that of h, it passes above
    line(ax, [(x + 0.6, FROM_H - 0.15), (x + 0.6, FROM_H + 0.15)], PAPER, 8, zorder=1.5)
    arrow(ax, (x, BOXES + BOX / 2), (x, STRIPS - HIGH / 2 - 0.07))
    vector(ax, x, STRIPS, values)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(14.6, 9.2)
    step = gates(SENTENCE, PLACE)
    units = len(step["h"])

    end = PROPOSAL + 0.6
    way = [(UPDATE - WIDE / 2, STATES), (0.45, STATES), (0.45, FROM_H), (end - 1.2, FROM_H)]
    line(ax, way, zorder=1)
    line(ax, [(2.6, FROM_X), (end, FROM_X)], MUTED)
    label(ax, 0.3, FROM_X, f"word $x$, “{SENTENCE.split()[PLACE]}”", ha="left")
    gate = "W_{{x{0}}}\\,x + W_{{h{0}}}\\,h + b_{0}"
    column(ax, UPDATE, SLATE_TINT, ["update gate $z$", f"$\\sigma({gate.format('z')})$"], step["z"])
    column(ax, RESET, SLATE_TINT, ["reset gate $r$", f"$\\sigma({gate.format('r')})$"], step["r"])
    proposal = [
        "proposal $n$",
        "$\\tanh(W_{xn}\\,x + b_{xn}$",
        "$+\\ r \\odot (W_{hn}\\,h + b_{hn}))$",
    ]
    column(ax, PROPOSAL, OCHRE_TINT, proposal, step["n"])
    turn = RESET + WIDE / 2 + 0.4
    line(ax, [(RESET + WIDE / 2, STRIPS), (turn, STRIPS), (turn, BOXES + 0.2)])
    arrow(ax, (turn, BOXES + 0.2), (PROPOSAL - 2.05, BOXES + 0.2))
    label(ax, turn + 0.15, STRIPS, "$r$", ha="left")

    for x, name in [(UPDATE, "old state $h$"), (PROPOSAL, "new state $h_\\text{new}$")]:
        vector(ax, x, STATES, step["h" if x == UPDATE else "h_new"])
        label(ax, x - WIDE / 2, STATES + 0.9, name, ha="left", weight="bold")
        for unit in (REPLACED, KEPT):
            label(ax, unit_at(x, unit, units), STATES + 0.51, f"{unit}", SMALL_TEXT, MUTED)
    label(ax, RESET, STATES + 0.2, f"{units} units, each between −1 and 1", SMALL_TEXT, MUTED)
    label(ax, RESET, STATES - 0.2, "blank = 0, purple > 0", SMALL_TEXT, MUTED)
    under = STRIPS + HIGH / 2 + 0.07
    arrow(ax, (UPDATE, STATES - HIGH / 2 - 0.07), (UPDATE, WIRE + RADIUS))
    arrow(ax, (UPDATE, under), (UPDATE, WIRE - RADIUS))
    arrow(ax, (UPDATE, MIXED), (PROPOSAL - RADIUS, MIXED))
    arrow(ax, (PROPOSAL, under), (PROPOSAL, MIXED - RADIUS))
    arrow(ax, (PROPOSAL, MIXED + RADIUS), (PROPOSAL, WIRE - RADIUS))
    arrow(ax, (UPDATE + RADIUS, WIRE), (PROPOSAL - RADIUS, WIRE))
    arrow(ax, (PROPOSAL, WIRE + RADIUS), (PROPOSAL, STATES - HIGH / 2 - 0.07))
    for x, y, text in [(UPDATE, WIRE, "⊙"), (PROPOSAL, MIXED, "⊙"), (PROPOSAL, WIRE, "+")]:
        sign(ax, x, y, text)
    label(ax, RESET, WIRE + 0.28, "$z \\odot h$: what is kept")
    label(ax, RESET, MIXED + 0.28, "$1 - z$")
    label(ax, UPDATE + 0.15, MIXED - 0.5, "$z$", ha="left")
    label(ax, PROPOSAL + 0.15, MIXED - 0.5, "$n$", ha="left")
    label(ax, PROPOSAL + 0.15, (WIRE + MIXED) / 2, "$(1 - z) \\odot n$", ha="left")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
