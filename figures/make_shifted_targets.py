"""Draw the shifted input above which a decoder is trained, and the arrow that would be a leak."""

from style import (
    INK,
    KEY,
    KEY_TINT,
    LARGE_TEXT,
    MUTED,
    PLAIN_TINT,
    QUERY,
    QUERY_TINT,
    SMALL_TEXT,
    VALUE_TINT,
    arrow,
    box,
    canvas,
    label,
    save,
)

INPUTS = ["<bos>", "can", "you", "help", "me"]
TARGETS = ["can", "you", "help", "me", "<eos>"]
ASKING = 2  # the position whose arrows are drawn

LEFT, PITCH = 3.9, 2.05
COLUMNS = [LEFT + PITCH * k for k in range(len(INPUTS))]
INPUT_Y, OUTPUT_Y, TARGET_Y = 1.35, 4.2, 5.55
WIDTH, HEIGHT = 1.6, 0.7


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(13.2, 6.2)

    for text, y in [("target", TARGET_Y), ("output", OUTPUT_Y), ("shifted input", INPUT_Y)]:
        label(ax, 0.25, y, text, LARGE_TEXT, ha="left", weight="bold")
    label(ax, 0.25, TARGET_Y - 0.4, "what it must say", SMALL_TEXT, MUTED, ha="left")
    label(ax, 0.25, INPUT_Y - 0.4, "what it is given", SMALL_TEXT, MUTED, ha="left")

    for k, (x, given, target) in enumerate(zip(COLUMNS, INPUTS, TARGETS, strict=True)):
        asking = k == ASKING
        label(ax, x, 0.5, f"{k + 1}", SMALL_TEXT, MUTED)
        is_answer = k == ASKING + 1
        fill = QUERY_TINT if k <= ASKING else KEY_TINT if is_answer else PLAIN_TINT
        edge = KEY if is_answer else INK
        box(ax, x, INPUT_Y, WIDTH, HEIGHT, given, fill, edge, 18, 3 if is_answer else 1.6)
        box(ax, x, OUTPUT_Y, WIDTH, HEIGHT, f"$z^{{({k + 1})}}$", PLAIN_TINT, INK, 18)
        fill = KEY_TINT if asking else VALUE_TINT
        box(ax, x, TARGET_Y, WIDTH, HEIGHT, target, fill, KEY if asking else INK, 18)
        arrow(ax, (x, OUTPUT_Y + HEIGHT / 2), (x, TARGET_Y - HEIGHT / 2), MUTED, 1.8)
    label(ax, 0.25, 0.5, "position", SMALL_TEXT, MUTED, ha="left")

    for k, x in enumerate(COLUMNS):
        start = (x, INPUT_Y + HEIGHT / 2)
        # Side by side, so that every arrow keeps a head of its own.
        end = (COLUMNS[ASKING] + 0.3 * (k - ASKING), OUTPUT_Y - HEIGHT / 2)
        if k <= ASKING:
            arrow(ax, start, end, QUERY, 3.2)
        else:
            arrow(ax, start, end, KEY, 2.6, dashed=True)
            middle = [(a + b) / 2 for a, b in zip(start, end, strict=True)]
            label(ax, *middle, "✕", 26, KEY, weight="bold")
    label(ax, COLUMNS[0] - 0.6, 3.05, "the past and itself:", SMALL_TEXT, QUERY)
    label(ax, COLUMNS[0] - 0.6, 2.7, "may be seen", SMALL_TEXT, QUERY)
    label(ax, COLUMNS[4] - 0.05, 3.4, "the future: hidden,", SMALL_TEXT, KEY)
    label(ax, COLUMNS[4] - 0.05, 3.05, "“help” is the answer", SMALL_TEXT, KEY)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
