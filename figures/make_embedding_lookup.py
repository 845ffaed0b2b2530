"""Draw how a word becomes a vector: its id, that row of a table, and later its position added.

The table is that of lecture 2, ten rows of width 16 with seed 123, and the positions are the
sinusoids of lecture 6.
"""

import torch
from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    PLUM,
    PLUM_TINT,
    SMALL_TEXT,
    box,
    canvas,
    label,
    line,
    save,
    strip,
)

from course_utils.positional import positional_encoding

WORDS = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
WORD_IDS = [0, 7, 1, 2, 5, 6, 4, 3]
FOLLOWED = 1  # the word whose way is drawn bold
SIZE, WIDTH = 10, 16
LIMIT = 2.5  # nearly all entries of the embedding lie between -2.5 and 2.5

TOP, ROW, STRIP = 5.12, 0.56, 0.36
TABLE_TOP, TABLE_ROW = 5.3, 0.49
ID, TABLE, VECTORS, POSITIONS, SUMS = 2.1, 4.25, 6.7, 8.45, 10.15  # the columns' middles
WIDE, NARROW = 1.7, 1.3


def numbers():
    """The table (V, D), and the positions (T, D) of the words."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(123)
        table = torch.nn.Embedding(SIZE, WIDTH).weight.detach()  # (V, D)
    return table, positional_encoding(len(WORDS), WIDTH)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(11.0, 6.5)
    table, positions = numbers()
    for x, name in [(0.95, "word"), (ID, "id"), (TABLE, "table"), (VECTORS, "vector")]:
        label(ax, x, 6.15, name, LARGE_TEXT, weight="bold")
    label(ax, (POSITIONS + SUMS) / 2, 6.15, "from lecture 6 on", LARGE_TEXT, MUTED)
    for x, text in [
        (TABLE, "(10, 16)"),
        (VECTORS, "$x^{(i)}$, (8, 16)"),
        (POSITIONS, "position $p^{(i)}$"),
        (SUMS, "$x^{(i)} + p^{(i)}$"),
    ]:
        label(ax, x, 5.75, text, SMALL_TEXT, MUTED)

    for number, row in enumerate(table.tolist()):
        y = TABLE_TOP - TABLE_ROW * number
        followed = number == WORD_IDS[FOLLOWED]
        weight, colour = ("bold", PLUM) if followed else ("normal", INK)
        label(
            ax, TABLE - WIDE / 2 - 0.16, y, f"{number}", SMALL_TEXT, colour, "right", weight=weight
        )
        strip(ax, TABLE, y, WIDE, STRIP, row, LIMIT)
    for place, (word, number) in enumerate(zip(WORDS, WORD_IDS, strict=True)):
        y, there = TOP - ROW * place, TABLE_TOP - TABLE_ROW * number
        followed = place == FOLLOWED
        colour, thick = (PLUM, 3.0) if followed else (MUTED, 1.3)
        weight = "bold" if followed else "normal"
        label(ax, 1.6, y, word, SMALL_TEXT, colour if followed else INK, "right", weight=weight)
        fill = {"fill": PLUM_TINT, "edge": PLUM} if followed else {}
        box(ax, ID, y, 0.56, 0.42, f"{number}", size=SMALL_TEXT, **fill)
        order = 4 if followed else 1
        start = [(ID + 0.28, y), (TABLE - WIDE / 2 - 0.5, there)]
        line(ax, start, colour, thick, zorder=order)
        end = [(TABLE + WIDE / 2, there), (VECTORS - NARROW / 2, y)]
        line(ax, end, colour, thick, zorder=order)
        strip(ax, VECTORS, y, NARROW, STRIP, table[number].tolist(), LIMIT)
        strip(ax, POSITIONS, y, NARROW, STRIP, positions[place].tolist(), LIMIT)
        strip(ax, SUMS, y, NARROW, STRIP, (table[number] + positions[place]).tolist(), LIMIT)
    middle = TOP - ROW * 3.5
    label(ax, (VECTORS + POSITIONS) / 2, middle, "+", 28)
    label(ax, (POSITIONS + SUMS) / 2, middle, "=", 28)
    label(ax, TABLE, 0.35, "rows 8 and 9: no word here", SMALL_TEXT, MUTED)
    label(ax, POSITIONS, 0.35, "blank = 0, purple > 0", SMALL_TEXT, MUTED)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
