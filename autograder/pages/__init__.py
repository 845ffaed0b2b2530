"""Every HTML that the grader writes, as templates; what is put into them is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from autograder.points import in_decimals, shown


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("autograder", "pages"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters.update(code=_code, points=shown, decimals=in_decimals, capital=sentence_case)
    made.filters.update(tone=tone, minus=with_minus_signs)
    made.globals.update(shades=range(-SHADES, SHADES + 1))
    return made


def render(template: str, **values: Any) -> str:
    """The HTML of a template in this folder, such as ``verdict.html``."""
    return _environment().get_template(template).render(values)


# of code: a dot, an underscore, a bracket or a capital inside, or backticks around it
CODE_NAME = re.compile(r"`|[α-ω]|\w+[._(]\w|\w+\(|[a-z]+[A-Z]")


def sentence_case(text: str) -> str:
    """The text with its first letter large, unless it begins with a name of code, or a Greek letter."""
    if CODE_NAME.match(text):
        return text
    return text[:1].upper() + text[1:]


def _code(text: str) -> Markup:
    """Escape a sentence and set what stands between backticks as code."""
    escaped = escape(text)
    if escaped.count("`") % 2 == 0:
        escaped = re.sub("`([^`]*)`", r"<code>\1</code>", escaped)
    return Markup(escaped)


# before a number, or between it and its power of ten
HYPHEN = re.compile(r"(?<!\w)-(?=[\d∞])|(?<=\de)-(?=\d)")


def with_minus_signs(text: str) -> str:
    """The text with a true minus before its numbers, as wide as a plus; what is hyphenated stays."""
    return HYPHEN.sub("−", text)


# of numbers in a map, on white pages and on dark ones; the course's own pictures have the same
PAPER = {"light": "#ffffff", "dark": "#1b1d21"}
ABOVE = {"light": "#6a3d9a", "dark": "#c3a0ee"}
BELOW = {"light": "#856000", "dark": "#e3b640"}
SHADES = 4


@cache
def tone(shade: int, theme: str = "light") -> str:
    """The colours of a number in a map, as CSS: its background, and black or white upon it.

    Args:
        shade: from -`SHADES` to `SHADES`, see `autograder.checks.pictures.shade`.
        theme: ``light`` or ``dark``.
    """
    full, part = (BELOW if shade < 0 else ABOVE)[theme], 0.85 * abs(shade) / SHADES
    # red, green and blue, from 0 to 255
    channels = zip(bytes.fromhex(PAPER[theme][1:]), bytes.fromhex(full[1:]), strict=True)
    mixed = [round(zero + part * (most - zero)) for zero, most in channels]
    text = "#000" if _luminance(mixed) > 0.179 else "#fff"  # where both have the same contrast
    return f"background:#{bytes(mixed).hex()};color:{text}"


def _luminance(colour: Sequence[int]) -> float:
    """Relative luminance of an sRGB colour as WCAG defines it, from 0 to 1."""
    parts = (channel / 255 for channel in colour)
    linear = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return sum(weight * p for weight, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
