"""Draw the trained translator at work: two rows of words, and how much each new word takes from which.

It moves where the reader's system allows that, and else shows the end. Unlike the diagrams it is written
as text and not by matplotlib, whose letters are outlines: it stays small, and its parts have classes.
"""

from html import escape
from pathlib import Path

import torch
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath
from style import INK, MUTED, PAPER, PLAIN_TINT, PLUM, ROLES, themed

from course_utils import transformer
from lecture_kit import data
from lecture_kit.trained import translators

SENTENCE = data.EXAMPLE.source
WIDTH, HEIGHT, MARGIN = 880, 300, 22
LETTERS, TILE = 27, 46
GERMAN_Y, ENGLISH_Y = 48, 252
LEAST = 0.02  # a weight below this is no line
WIDEST = 24  # a line of weight 1
START, STEP, LAST, WHOLE = 0.6, 1.0, 11.4, 12.0  # seconds
GROWS, FADES = 0.55, 0.35  # how long a line takes, and what comes or goes


def translated():
    """The words of the sentence, those of its translation, and weights.

    Returns:
        S German words, T English ones, and a (T, S) tensor: how much the word that is written looks at each
        German word, the mean of the heads in the last layer's cross-attention.
    """
    asked = translators.recorded()
    source = data.collate([data.Pair(SENTENCE, "")], asked.german, asked.english).source
    written = asked.write(source)
    with torch.no_grad():
        maps = transformer.attention_maps(asked.model, source, written[:, :-1])
    german, english = SENTENCE.split(), asked.translate(SENTENCE).split()
    weights = maps["cross"][-1][0].mean(dim=0)  # (T, S): the ends of both sentences included
    return german, english, weights[: len(english), : len(german)]


def places(words):
    """Centre and width of a tile for each word, spread over the whole width."""
    font = FontProperties(family="DejaVu Sans", size=LETTERS)
    measure = TextToPath().get_text_width_height_descent
    widths = [max(measure(word, font, ismath=False)[0] + 12, 30) for word in words]
    gap = (WIDTH - 2 * MARGIN - sum(widths)) / (len(words) - 1)
    assert gap >= 3, f"the words need {-gap:.0f} pixels more between them"
    starts = [MARGIN + sum(widths[:k]) + k * gap for k in range(len(words))]
    return [(start + width / 2, width) for start, width in zip(starts, widths, strict=True)]


def tile(word, place, y, fill):
    """A word in its box."""
    x, width = place
    return (
        f'<rect x="{x - width / 2:.1f}" y="{y - TILE / 2}" width="{width:.1f}" height="{TILE}" rx="7" '
        f'fill="{fill}" stroke="{MUTED}"/><text x="{x:.1f}" y="{y + 9}">{escape(word)}</text>'
    )


def line(start, end, weight):
    """A band from a German word to an English one, as wide as its weight."""
    top, bottom = GERMAN_Y + TILE / 2, ENGLISH_Y - TILE / 2
    middle = (top + bottom) / 2
    return (
        f'<path pathLength="1" stroke-width="{WIDEST * weight:.1f}" '
        f'd="M{start:.1f} {top}C{start:.1f} {middle} {end:.1f} {middle} {end:.1f} {bottom}"/>'
    )


def keyframes(name, *frames):
    """The rules for all of a class: what is declared from one moment, in seconds, to another."""
    steps = "".join(
        f"{100 * begin / WHOLE:.1f}%,{100 * end / WHOLE:.1f}%{{{declared}}}"
        for begin, end, declared in frames
    )
    return f".{name}{{animation:{name} {WHOLE:g}s linear infinite}}@keyframes {name}{{{steps}to{{opacity:0}}}}"


def motion(count):
    """Word by word its lines grow, then it appears, and its lines step back for the next."""
    rules = []
    for t in range(count):
        begins, ends = START + STEP * t, START + STEP * count
        grown = begins + GROWS
        rules += [
            keyframes(
                f"l{t}",
                (0, begins, "stroke-dashoffset:1;opacity:.9"),
                (grown, begins + STEP, "stroke-dashoffset:0;opacity:.9"),
                (begins + STEP + FADES, ends + FADES, "opacity:.14"),
                (ends + 2 * FADES, LAST, "stroke-dashoffset:0;opacity:.5"),
            ),
            keyframes(f"w{t}", (0, grown, "opacity:0"), (grown + FADES / 2, LAST, "opacity:1")),
        ]
    return "\n".join(rules)


def draw():
    """The picture as SVG."""
    german, english, weights = translated()
    above, below = places(german), places(english)
    drawn = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="{PAPER}"/>',
        f'<g fill="none" stroke="{PLUM}" stroke-dasharray="1">',
    ]
    for t, (end, _) in enumerate(below):
        found = [
            line(start, end, float(weight))
            for (start, _), weight in zip(above, weights[t], strict=True)
            if weight >= LEAST
        ]
        drawn.append(f'<g class="l l{t}">{"".join(found)}</g>')
    drawn.append("</g>")
    drawn.append(f'<g fill="{INK}">')
    for word, place in zip(german, above, strict=True):
        drawn.append(f"<g>{tile(word, place, GERMAN_Y, ROLES['key'][1])}</g>")
    for t, (word, place) in enumerate(zip(english, below, strict=True)):
        drawn.append(f'<g class="w{t}">{tile(word, place, ENGLISH_Y, PLAIN_TINT)}</g>')
    drawn.append("</g>")
    sheet = (
        f"text{{font:{LETTERS}px 'DejaVu Sans',Verdana,sans-serif;text-anchor:middle}}"
        "rect{stroke-opacity:.35}.l{opacity:.5}\n"
        f"@media (prefers-reduced-motion: no-preference){{\n{motion(len(english))}\n}}"
    )
    body = "\n".join([f"<style>{sheet}</style>", *drawn])
    return themed(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">\n'
        f"<title>{escape(SENTENCE)} → {escape(' '.join(english))}</title>\n{body}\n</svg>\n"
    )


if __name__ == "__main__":
    target = Path(__file__).with_name("hero.svg")
    target.write_text(draw(), encoding="utf-8")
