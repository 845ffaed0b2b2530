"""Set formulas as MathML, which browsers show by themselves: no script, no font, no network."""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape

from latex2mathml.converter import convert

from autograder.bounds import MOST_FORMULAS
from autograder.grade.sanitize import ATTRIBUTES, TAGS, clean, formula_acts, is_short_made

FORMULA = re.compile(
    r"\$\$([^$]{1,1000})\$\$|(?<![\\$\w])\$(?!\s)((?:[^$\n]|\n(?!\n)){1,500}?)(?<!\s)\$(?![\w$])"
)
PIECE = re.compile(r"(<[^<>]*>)")
UNTOUCHED = ("pre", "code", "a")
MATH = {
    "math", "mfrac", "mi", "mn", "mo", "mover", "mpadded", "mphantom", "mroot", "mrow", "mspace",
    "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder",
    "munderover",
}  # fmt: skip
OF_MATH = {
    "math": {"display"},
    "mi": {"mathvariant"},
    "mo": {"stretchy", "fence", "form", "separator", "accent", "minsize", "maxsize"},
    "mspace": {"width"},
    "mfrac": {"linethickness"},
    "mtable": {"columnalign", "rowspacing"},
}


def with_formulas(html: str) -> str:
    """Clean HTML with its formulas, which stand between dollar signs, set as MathML, and cleaned again."""
    if "$" not in html or formula_acts(html):
        return html
    made = formulas_set(html)
    return clean(made, TAGS | MATH, {**ATTRIBUTES, **OF_MATH}) if is_short_made(made) else html


def formulas_set(html: str) -> str:
    """The same for HTML of an author's, which is not cleaned."""
    left, untouched = MOST_FORMULAS, 0
    pieces = PIECE.split(html)
    for place, piece in enumerate(pieces):
        name = re.match(r"</?(\w+)", piece)
        if name:
            if name[1] in UNTOUCHED:
                untouched += -1 if piece.startswith("</") else 1
        elif untouched <= 0 and left > 0:
            pieces[place], found = FORMULA.subn(_set, piece, count=left)
            left -= found
    return "".join(pieces)


def _set(found: re.Match[str]) -> str:
    return _mathml(found[1] or found[2], bool(found[1])) or found[0]


@lru_cache(maxsize=512)
def _mathml(formula: str, on_its_own: bool) -> str:
    """A formula as MathML; nothing where it cannot be read."""
    try:
        return convert(unescape(formula), display="block" if on_its_own else "inline")
    except Exception:  # noqa: BLE001 (whatever was typed between two dollar signs)
        return ""
