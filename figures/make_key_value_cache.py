"""Draw the step that writes a decoder's next word, without and with a cache of keys and values."""

from style import (
    LARGE_TEXT,
    MUTED,
    PAPER,
    SMALL_TEXT,
    box,
    canvas,
    cell,
    label,
    line,
    save,
)

WORDS = ["<bos>", "can", "you", "help", "me"]
NEW = len(WORDS) - 1
CELL = 0.64
TOP = 3.95  # upper edge of the masks
HALF = 0.26  # half the height of a box of a key or a value


def panel(ax, left, title, below, kept):
    """One mask; the rows, keys and values before `kept` are not computed again."""
    middle = left + len(WORDS) * CELL / 2
    label(ax, middle - 0.4, 6.6, title, LARGE_TEXT, weight="bold")
    for name, role, y in [("keys", "key", 5.15), ("values", "value", 4.52)]:
        label(ax, left - 0.15, y, name, SMALL_TEXT, ha="right", role=role)
        for column in range(len(WORDS)):
            fresh = role if column >= kept else ""
            x = left + (column + 0.5) * CELL
            text = f"${role[0]}^{{({column + 1})}}$"
            box(ax, x, y, CELL - 0.1, 2 * HALF, text, PAPER, MUTED, SMALL_TEXT, role=fresh)
    for row, word in enumerate(WORDS):
        y = TOP - (row + 0.5) * CELL
        fresh = row >= kept
        label(ax, left + (row + 0.5) * CELL, 5.68, word, SMALL_TEXT)
        colour = {} if fresh else {"colour": MUTED}
        label(ax, left - 0.88, y, word, SMALL_TEXT, ha="right", **colour)
        role = "query" if fresh else ""
        text = f"$q^{{({row + 1})}}$" if fresh else ""
        if fresh:
            box(ax, left - 0.46, y, CELL - 0.1, 2 * HALF, text, size=SMALL_TEXT, role=role)
        for column in range(len(WORDS)):
            seen = column <= row
            x = left + column * CELL
            corner = x, TOP - (row + 1) * CELL
            part = {"role": "weight"} if seen and fresh else {"hatch": None if seen else "///"}
            cell(ax, *corner, CELL, CELL, **part)
            if seen:
                text = rf"$\alpha_{{{row + 1}{column + 1}}}$"
                label(ax, x + CELL / 2, y, text, SMALL_TEXT, **colour)
    for first, last, text in [(0, kept, "kept"), (kept, len(WORDS), "new" if kept else "computed")]:
        if first < last:
            x = left + (first + last) / 2 * CELL
            label(ax, x, 6.08, text, SMALL_TEXT, MUTED)
    label(ax, middle - 0.4, 0.35, below, SMALL_TEXT)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(10.5, 6.9)
    panel(ax, 1.8, "without a cache", "15 weights, all rows again", 0)
    line(ax, [(5.35, 0.2), (5.35, 6.7)], MUTED, 1.2, ":")
    panel(ax, 7.1, "with a cache", "5 weights, one new row", NEW)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
