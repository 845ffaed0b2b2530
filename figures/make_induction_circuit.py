"""Draw how a head of layer 0 and a head of layer 1 work together to copy what came next."""

from style import (
    LARGE_TEXT,
    MUTED,
    OCHRE_TINT,
    PLAIN_TINT,
    SMALL_TEXT,
    TEXT,
    arrow,
    box,
    canvas,
    label,
    line,
    save,
)

COLUMNS = {"A": 3.3, "B": 6.1, "C": 8.9, "again": 11.9}
WORDS, BEFORE, MATCH, VALUE, AFTER = 0.8, 3.0, 4.6, 5.75, 6.9
HIGH = 0.66


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(13.2, 8.4)
    for y, name in [(WORDS, "words"), (BEFORE, "before layer 1"), (AFTER, "after layer 1")]:
        label(ax, 0.2, y, name, SMALL_TEXT, MUTED, ha="left")
    label(ax, 0.2, (WORDS + BEFORE) / 2, "layer 0", TEXT, ha="left", weight="bold")
    label(ax, 0.2, (BEFORE + AFTER) / 2, "layer 1", TEXT, ha="left", weight="bold")

    for name, x in COLUMNS.items():
        box(ax, x, WORDS, 0.9, HIGH, "A" if name == "again" else name, size=LARGE_TEXT)
        arrow(ax, (x, WORDS + HIGH / 2), (x, BEFORE - HIGH / 2))
    for y in (WORDS, BEFORE):
        label(ax, 10.55, y, "…", LARGE_TEXT)

    # layer 0: each word takes in the word before it
    for word, before in (("B", "A"), ("C", "B")):
        start, end = COLUMNS[before], COLUMNS[word]
        arrow(ax, (start + 0.45, WORDS + 0.2), (end - 0.3, BEFORE - HIGH / 2), role="weight")
    label(ax, COLUMNS["A"] + 0.18, 2.36, "one word back", SMALL_TEXT, role="weight", ha="left")
    for name, after in (("A", None), ("B", "A"), ("C", "B"), ("again", None)):
        word, x = ("A" if name == "again" else name), COLUMNS[name]
        text = word if after is None else f"{word}, after {after}"
        box(
            ax,
            x,
            BEFORE,
            0.9 if after is None else 2.0,
            HIGH,
            text,
            OCHRE_TINT if after else PLAIN_TINT,
        )

    # layer 1: the question meets its key, and the value is copied
    query, key = COLUMNS["again"], COLUMNS["B"]
    box(ax, query, MATCH, 2.3, HIGH, "query: after A?", role="query")
    box(ax, key, MATCH, 2.3, HIGH, "key: after A", role="key")
    box(ax, key, VALUE, 2.3, HIGH, "value: B", role="value")
    arrow(ax, (query, BEFORE + HIGH / 2), (query, MATCH - HIGH / 2))
    arrow(ax, (key, BEFORE + HIGH / 2), (key, MATCH - HIGH / 2))
    line(ax, [(key + 1.15, MATCH), (query - 1.15, MATCH)], width=4, role="weight")
    label(ax, (query + key) / 2, MATCH + 0.38, "they match", SMALL_TEXT, role="weight")
    arrow(ax, (key + 1.15, VALUE), (query - 0.95, AFTER - 0.12), role="value", line=3)
    label(ax, (query + key) / 2 - 0.75, AFTER - 0.05, "what is copied", SMALL_TEXT, role="value")
    box(ax, query, AFTER, 1.9, HIGH, "A, next B", OCHRE_TINT)
    arrow(ax, (query, AFTER + HIGH / 2), (query, AFTER + 0.8))
    label(ax, query, AFTER + 1.08, "B", LARGE_TEXT, weight="bold")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
