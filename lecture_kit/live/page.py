"""The page that a live view is: written once, into an `iframe` that needs nothing from outside.

An `iframe` keeps several views apart, the page's style away from the view's, and JupyterLab's
keyboard shortcuts away from the arrow keys. JupyterLab runs it in a notebook that the reader trusts
or has executed. From any other notebook it takes the frame away, and then the same numbers stand
there as a table; so it is on code hosts. A page made from stored outputs has the frame.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape, unescape
from importlib.resources import files
from typing import Any

from lecture_kit.plotting.colours import PAIRS, SIGNED

MAX_BYTES = 1_000_000
"""Of the words and numbers in one view."""

MAX_LETTERS = 200
"""Of a word, a name or a caption."""

# The table is there for readers who do not get the frame: style sheets are taken away with frames.
STAND_IN = "<style>iframe.live-view+div{display:none}</style>"

# What the frame may do, should a browser be asked for more: run its own script and style, no network.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"

PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width"><title>{title}</title>
<style>{style}</style></head><body><main id="view" data-view="{name}"><noscript>{table}</noscript></main>
<script type="application/json" id="data">{data}</script><script>{scale}</script>
<script>{script}</script>{tail}</body></html>"""

# What a view may do without while it is first painted: the views that open within it, and large data.
TAIL = """<script type="application/json" id="inner">{inner}</script>
<script type="application/json" id="late">{late}</script><script>arrive()</script>"""

# The scripts of a view, in their order; most have their own alone.
SCRIPTS = {
    "inside": ("weights", "copiers", "inside"),
    "positions": ("charts", "positions"),
    "rotary": ("charts", "rotary"),
    "translation": ("weights", "models", "picture", "blocks", "apart", "translation"),
    "writing": ("weights", "models", "writing"),
}

STYLES = {"positions": ("charts", "positions"), "rotary": ("charts", "rotary")}  # likewise

# The views that open within a view, each in a frame of its own.
INNER = {"translation": ("attention", "normalisation", "positions")}

FRAME = (
    '{stand_in}<iframe class="live-view" title="{title}" '
    'style="width:100%;height:{height}px;border:0;display:block" srcdoc="{page}"></iframe>'
    "<div>{table}<p>This stands in for a live view, which appears when the cell is run or the "
    "notebook is trusted.</p></div>"
)

STORED_FRAME = re.compile(
    r'<iframe class="live-view" title="(?P<title>[^"]*)" style="width:100%;height:(?P<height>\d+)px'
    r'[^"]*" srcdoc="(?P<page>[^"]*)">'
)
STORED_PAGE = re.compile(
    r'<main id="view" data-view="(?P<name>\w+)"><noscript>(?P<table>.*?)</noscript></main>\s*'
    r'<script type="application/json" id="data">(?P<data>.*?)</script>'
    r'(?:.*<script type="application/json" id="late">(?P<late>.*?)</script>)?',
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class View:
    """A live view, shown by a notebook as the last value of a cell.

    Attributes:
        html: an `iframe` with all that it needs, and a table that stands in for it.
        caption: what it shows, in a sentence.
    """

    html: str
    caption: str

    def _repr_html_(self) -> str:
        return self.html

    @property
    def page(self) -> str:
        """What stands in the frame: a page that also works by itself."""
        frame = STORED_FRAME.search(self.html)
        assert frame, "a view is a frame"
        return unescape(frame["page"])

    def __repr__(self) -> str:
        return f"live view: {self.caption}"


def framed(
    name: str,
    caption: str,
    content: dict[str, Any],
    table: str,
    height: int,
    late: dict[str, Any] | None = None,
) -> View:
    """The view whose script and style sheet are `name`.js and `name`.css.

    Args:
        name: which view: "attention", "caching", "inside", "merges", "positions",
            "normalisation", "question", "rotary", "tiles", "translation" or "writing".
        caption: what it shows; also the frame's name for screen readers.
        content: what the script reads, as JSON.
        table: HTML that stands in where no script runs.
        height: pixels, until the script knows better.
        late: what the script reads after its first picture, as JSON; it comes last in the page.

    Raises:
        ValueError: no caption or a long one; more than 1 MB of content.
    """
    _refuse_caption(caption)
    data = _as_json(content)
    more = _as_json(late) if late else None
    return View(_html(name, escape(caption), data, table, height, more), caption)


def renewed(html: str) -> str:
    """A stored view's HTML with the script and style of today; its words and numbers stay.

    Args:
        html: what `View` showed, now or in an earlier version; anything else comes back as it is.
    """
    frame = STORED_FRAME.search(html)
    page = STORED_PAGE.search(unescape(frame["page"])) if frame else None
    if not (frame and page):
        return html
    height = int(frame["height"])
    return _html(page["name"], frame["title"], page["data"], page["table"], height, page["late"])


def _html(name: str, title: str, data: str, table: str, height: int, late: str | None) -> str:
    inner = _safe(json.dumps(_inner(name), ensure_ascii=False))
    page = PAGE.format(
        policy=POLICY,
        title=title,
        style=_style(name),
        name=name,
        table=table,
        data=data,
        scale=_scale(),
        script=_script(name),
        tail=TAIL.format(inner=inner, late=late) if late else "",
    )
    return FRAME.format(
        stand_in=STAND_IN, title=title, height=height, page=_in_quotes(page), table=table
    )


def plain_table(caption: str, heads: Sequence[str], rows: Sequence[tuple[str, list[str]]]) -> str:
    """A table of texts as HTML, a row for each name."""
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{escape(text)}</td>" for text in texts)
        + "</tr>"
        for name, texts in rows
    )
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr><td></td>{top}</tr></thead><tbody>{body}</tbody></table>"
    )


def _refuse_caption(caption: str) -> None:
    if not (isinstance(caption, str) and 1 <= len(caption.strip()) <= MAX_LETTERS):
        raise ValueError(
            f"caption: expected a sentence of 1 to {MAX_LETTERS} letters; found {caption!r:.80}. "
            "Say what the view shows."
        )


def _as_json(content: dict[str, Any]) -> str:
    """JSON that cannot end the script element in which it stands."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    safe = _safe(text)
    size = len(safe.encode())
    if size > MAX_BYTES:
        raise ValueError(
            f"expected at most {MAX_BYTES:,} bytes of words and numbers; found {size:,}. Show fewer "
            "attentions in one view, or round their vectors to 3 decimals."
        )
    return safe


def _safe(text: str) -> str:
    """JSON whose letters mean nothing in HTML."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _scale() -> str:
    """The stops of the maps' scale, for the scripts; single quotes stay short within an attribute."""
    stops = ",".join(f"{theme}:'{' '.join(colours)}'" for theme, colours in SIGNED.items())
    return f"const SIGNED={{{stops}}}"


def _script(name: str) -> str:
    parts = "common.js", *(f"{part}.js" for part in _parts(name))
    return "".join(map(_own_file, parts))


def _parts(name: str) -> tuple[str, ...]:
    return SCRIPTS.get(name, (name,))


def _inner(name: str) -> dict[str, Any]:
    """The page of a view with marks for its parts, and the parts of each view that opens within."""
    marks = {part: f"@{part}@" for part in ("title", "style", "name", "data", "script")}
    return {
        "page": PAGE.format(policy=POLICY, table="", tail="", scale=_scale(), **marks),
        "views": {
            view: {"style": _style(view), "script": _script(view)} for view in INNER.get(name, ())
        },
    }


def _in_quotes(page: str) -> str:
    """The page as the value of an attribute in double quotes."""
    return page.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


@cache
def _style(name: str) -> str:
    """The view's style sheet, with those of the course's colours that it uses, for both themes."""
    parts = "common", *STYLES.get(name, (name,))
    style = "".join(_own_file(f"{part}.css") for part in parts)
    colours = "".join(
        f"--{colour}:light-dark({light},{dark});"
        for colour, (light, dark) in PAIRS.items()
        if f"--{colour})" in style + _script(name) or f"'{colour}'" in _script(name)
    )
    return re.sub(r"\s*([{};,])\s*|(?<=:)\s+", r"\1", f":root{{{colours}}}{style}").replace(
        ";}", "}"
    )


@cache
def _own_file(name: str) -> str:
    """A file beside this one, without its lines of comment and the blanks before its lines."""
    text = files("lecture_kit.live").joinpath(name).read_text(encoding="utf-8")
    return re.sub(r"\n(\s*(//.*|/\*.*\*/))*\s*", "\n", text)
