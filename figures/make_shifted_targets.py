"""Draw the shifted input above which a decoder is trained, and the arrow that would be a leak."""

from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    OCHRE,
    OCHRE_TINT,
    PLAIN_TINT,
    PLUM,
    PLUM_TINT,
    SLATE_TINT,
    SMALL_TEXT,
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
    label(ax, 0.25, TARGET_Y - 0.4, "what it must predict", SMALL_TEXT, MUTED, ha="left")
    label(ax, 0.25, INPUT_Y - 0.4, "what it is given", SMALL_TEXT, MUTED, ha="left")

    for k, (x, given, target) in enumerate(zip(COLUMNS, INPUTS, TARGETS, strict=True)):
        asking = k == ASKING
        label(ax, x, 0.5, f"{k + 1}", SMALL_TEXT, MUTED)
        is_answer = k == ASKING + 1
        fill = PLUM_TINT if k <= ASKING else OCHRE_TINT if is_answer else PLAIN_TINT
        edge = OCHRE if is_answer else INK
        box(ax, x, INPUT_Y, WIDTH, HEIGHT, given, fill, edge, 18, 3 if is_answer else 1.6)
        box(ax, x, OUTPUT_Y, WIDTH, HEIGHT, f"$z^{{({k + 1})}}$", PLAIN_TINT, INK, 18)
        fill = OCHRE_TINT if asking else SLATE_TINT
        box(ax, x, TARGET_Y, WIDTH, HEIGHT, target, fill, OCHRE if asking else INK, 18)
        arrow(ax, (x, OUTPUT_Y + HEIGHT / 2), (x, TARGET_Y - HEIGHT / 2), MUTED, 1.8)
    label(ax, 0.25, 0.5, "position", SMALL_TEXT, MUTED, ha="left")

    for k, x in enumerate(COLUMNS):
        start = (x, INPUT_Y + HEIGHT / 2)
        # Side by side, so that every arrow keeps a head of its own.
        end = (COLUMNS[ASKING] + 0.3 * (k - ASKING), OUTPUT_Y - HEIGHT / 2)
        if k <= ASKING:
            arrow(ax, start, end, PLUM, 3.2)
        else:
            arrow(ax, start, end, OCHRE, 2.6, dashed=True)
            middle = [(a + b) / 2 for a, b in zip(start, end, strict=True)]
            label(ax, *middle, "✕", 26, OCHRE, weight="bold")
    label(ax, COLUMNS[0] - 0.6, 3.05, "the past and itself:", SMALL_TEXT, PLUM)
    label(ax, COLUMNS[0] - 0.6, 2.7, "may be seen", SMALL_TEXT, PLUM)
    label(ax, COLUMNS[4] - 0.05, 3.4, "the future: hidden,", SMALL_TEXT, OCHRE)
    label(ax, COLUMNS[4] - 0.05, 3.05, "“help” is the answer", SMALL_TEXT, OCHRE)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
