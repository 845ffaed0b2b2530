"""Every HTML that the grader writes, as templates; what is put into them is escaped."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("autograder", "pages"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters.update(code=_code, points=lambda number: f"{number:g}", capital=_capital)
    return made


def render(template: str, **values: Any) -> str:
    """The HTML of a template in this folder, such as ``verdict.html``."""
    return _environment().get_template(template).render(values)


def _capital(text: str) -> str:
    """The text with its first letter large, and the others as they are."""
    return text[:1].upper() + text[1:]


def _code(text: str) -> Markup:
    """Escape a sentence and set what stands between backticks as code."""
    pieces = escape(text).split("`")
    if len(pieces) % 2 == 0:
        return Markup(escape(text))
    return Markup(
        "".join(
            f"<code>{piece}</code>" if number % 2 else piece for number, piece in enumerate(pieces)
        )
    )
