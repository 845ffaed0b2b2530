"""Draw what a feedback page shows of a wrong answer: its name, and its numbers beside the right ones.

The name, the sentence and the numbers are those of the course's own check on a softmax over the columns;
the shades are those of the page. Written as text, as `make_hero.py` is.
"""

import re
import textwrap
from html import escape
from pathlib import Path

from style import INK, MUTED, PAPER, themed

from assignments import load
from autograder.checks.drawn_cases import CaseRun, DrawnCases
from autograder.checks.heatmaps import pictured
from autograder.pages import SHADES, sentence_case, tone, with_minus_signs

WIDTH, HEIGHT, MARGIN = 880, 432, 22
CELL_WIDTH, CELL_HEIGHT, LETTERS = 76, 42, 25
NAME = "softmax over the columns"


def decided():
    """The mistake, and the maps of what it returns on the first sentence that is drawn."""
    part = load("a2_self_attention").part("attention_weights")
    mistake = next(one for one in part.mistakes if one.name == NAME)
    drawn = DrawnCases(part, seed=3)
    maps, _ = pictured(CaseRun(drawn, 0, drawn.done_by(mistake.answer, 0)))
    return mistake, maps


def text(x, y, content, kind=""):
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(with_minus_signs(content))}</text>'


def map_of(left, top, caption, names, rows):
    """One map, its caption above it and its row and column numbers around it."""
    drawn = [text(left, top - 40, caption, "name")]
    for column, name in enumerate(names):
        drawn.append(text(left + (column + 0.5) * CELL_WIDTH, top - 10, str(name), "index"))
    worst = ""
    for row, (name, cells) in enumerate(rows):
        y = top + row * CELL_HEIGHT
        drawn.append(text(left - 14, y + 29, name, "index"))
        for column, cell in enumerate(cells):
            x = left + column * CELL_WIDTH
            box = f'x="{x}" y="{y}" width="{CELL_WIDTH}" height="{CELL_HEIGHT}"'
            drawn.append(f'<rect {box} class="b{cell.shade}"/>')
            drawn.append(text(x + CELL_WIDTH / 2, y + 30, cell.text, f"number i{cell.shade}"))
            if cell.worst:
                worst = f'<rect {box} fill="none" stroke="{INK}" stroke-width="4"/>'
    return "".join([*drawn, worst])


def shades(theme):
    """The page's colours as rules for boxes and for the numbers on them."""
    rules = []
    for shade in range(-SHADES, SHADES + 1):
        background, letters = re.findall(r"#\w+", tone(shade, theme))
        rules.append(f".b{shade}{{fill:{background}}}.i{shade}{{fill:{letters}}}")
    return "".join(rules)


def draw():
    """The picture as SVG."""
    mistake, maps = decided()
    says = mistake.message.split(". ", 1)[0].replace("`", "") + "."
    drawn = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="{PAPER}"/>',
        f'<g fill="{INK}">',
        text(MARGIN, 46, f"{sentence_case(NAME)}.", "name large"),
        *(
            text(MARGIN, 82 + 31 * k, line, "says")
            for k, line in enumerate(textwrap.wrap(says, 66))
        ),
    ]
    lefts = MARGIN + 28, WIDTH - MARGIN - CELL_WIDTH * len(maps.columns)
    for left, (caption, rows) in zip(lefts, maps.tables()[:2], strict=True):
        drawn.append(map_of(left, 202, caption, maps.columns, rows))
    drawn.append("</g>")
    sheet = (
        f"text{{font:{LETTERS}px 'DejaVu Sans',Verdana,sans-serif}}.name{{font-weight:700}}"
        f".large{{font-size:28px}}.message{{font-size:24px}}.number,.index{{text-anchor:middle}}.index{{font-size:20px;fill:{MUTED}}}"
        f"{shades('light')}@media (prefers-color-scheme: dark){{{shades('dark')}}}"
    )
    body = "\n".join([f"<style>{sheet}</style>", *drawn])
    return themed(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">\n'
        f"<title>{escape(sentence_case(NAME))}</title>\n{body}\n</svg>\n"
    )


if __name__ == "__main__":
    target = Path(__file__).with_name("feedback_map.svg")
    target.write_text(draw(), encoding="utf-8")
