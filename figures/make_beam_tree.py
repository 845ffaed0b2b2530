"""Draw the beginnings that a beam of two keeps, with their probabilities, and the one that greedy takes.

The four nouns and their probabilities are those of lecture 8, section 14.
"""

from itertools import pairwise

from style import INK, MUTED, OCHRE, PLUM, PLUM_TINT, SMALL_TEXT, arrow, box, canvas, label, save

FOLLOW = {
    "<bos>": {"a": 0.6, "an": 0.4},
    "a": {"house": 0.4, "horse": 0.3, "hat": 0.3},
    "an": {"owl": 1.0},
}
KEPT = 2  # beginnings after each step
COLUMNS = (1.0, 3.9, 6.8)
ROWS = {"<bos>": 2.2, "a": 3.15, "an": 0.85, "house": 4.05, "horse": 3.15, "hat": 2.25, "owl": 0.85}
WIDE, HIGH = 1.5, 0.58


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(11.0, 5.1)
    label(ax, COLUMNS[0] - WIDE / 2, 4.75, "kept in a beam of two", colour=PLUM, ha="left")
    box(ax, COLUMNS[0], ROWS["<bos>"], WIDE, HIGH, "<bos>")
    race, greedy = {"<bos>": 1.0}, "<bos>"
    for column, next_column in pairwise(COLUMNS):
        reached = {
            (last, word): chance * p
            for last, chance in race.items()
            for word, p in FOLLOW[last].items()
        }
        best = sorted(reached, key=reached.get, reverse=True)[:KEPT]
        taken = max(FOLLOW[greedy], key=FOLLOW[greedy].get)
        for (last, word), chance in reached.items():
            kept = (last, word) in best
            end = (next_column - WIDE / 2, ROWS[word])
            arrow(
                ax,
                (column + WIDE / 2, ROWS[last]),
                end,
                PLUM if kept else MUTED,
                3 if kept else 1.4,
            )
            fill = {"fill": PLUM_TINT, "edge": PLUM} if kept else {"edge": MUTED}
            box(ax, next_column, ROWS[word], WIDE, HIGH, word, **fill)
            if last == "<bos>":
                label(ax, next_column, ROWS[word] + 0.52, f"{chance:.2f}")
                continue
            text = f"{race[last]:g} × {FOLLOW[last][word]:g} = {chance:.2f}"
            label(ax, next_column + 0.95, ROWS[word], text, ha="left")
            if (last, word) == (greedy, taken):
                label(ax, 10.0, ROWS[word], "greedy", SMALL_TEXT, OCHRE, ha="left", weight="bold")
            if chance == max(reached.values()):
                label(ax, 10.0, ROWS[word], "best", SMALL_TEXT, INK, ha="left", weight="bold")
        race, greedy = {word: reached[last, word] for last, word in best}, taken
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
