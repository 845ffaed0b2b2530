"""Set an author's formulas as MathML, which browsers show by themselves: no script, no font, no network."""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape

from latex2mathml.converter import convert

FORMULA = re.compile(
    r"\$\$([^$]{1,1000})\$\$|(?<![\\$\w])\$(?!\s)((?:[^$\n]|\n(?!\n)){1,500}?)(?<!\s)\$(?![\w$])"
)
PIECE = re.compile(r"(<[^<>]*>)")
UNTOUCHED = ("pre", "code", "a")


def formulas_set(html: str) -> str:
    """HTML with its formulas, which stand between dollar signs, as MathML."""
    untouched = 0
    pieces = PIECE.split(html)
    for place, piece in enumerate(pieces):
        name = re.match(r"</?(\w+)", piece)
        if name:
            if name[1] in UNTOUCHED:
                untouched += -1 if piece.startswith("</") else 1
        elif untouched <= 0:
            pieces[place] = FORMULA.sub(_set, piece)
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
