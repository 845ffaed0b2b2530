"""The page that a live view is: written once, into an `iframe` that needs nothing from outside.

An `iframe` keeps several views apart, the page's style away from the view's, and JupyterLab's
keyboard shortcuts away from the arrow keys. JupyterLab runs it in a notebook that the reader trusts
or has executed. From any other notebook it takes the frame away, and then the same weights stand
there as a table; so it is on code hosts. A page made from stored outputs has the frame.
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.colors import to_hex

from course_utils.attention import scaled_dot_product_attention
from course_utils.live.attentions import MAX_LETTERS, Attention
from course_utils.plotting.colours import PAIRS, SIGNED

MAX_BYTES = 1_000_000
"""Of the attentions in one view."""

TEMPERATURES = (1e-6, 1e6)

SHADES = 33

# The table is there for readers who do not get the frame: style sheets are taken away with frames.
STAND_IN = "<style>iframe.live-attention+div{display:none}</style>"

# What the frame may do, should a browser be asked for more: run its own script and style, no network.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"

PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width"><title>{title}</title>
<style>{style}</style></head><body><main id="view"><noscript>{table}</noscript></main>
<script type="application/json" id="data">{data}</script>
<script>{script}</script></body></html>"""


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

    def __repr__(self) -> str:
        return f"live view: {self.caption}"


def attention_view(
    *attentions: Attention,
    caption: str = "Attention, number by number",
    temperature: float | None = None,
    compare: bool = False,
    query: int = 0,
) -> View:
    """A view in which the reader follows the numbers from a query to its output, and changes them.

    weights = softmax(mask(q · k / τ)),  output = Σ weight · value

    The reader chooses among the attentions, points at or walks over the weights, and changes the
    query, the temperature and the mask; the browser computes what `scaled_dot_product_attention`
    computes, in float64.

    Args:
        attentions: one or more, see `Attention`. The first one is shown at the start. Attentions over
            the same words can be compared.
        caption: what the view shows, in a sentence; also the frame's name for screen readers.
        temperature: τ at the start; None is √d_k.
        compare: start with the next comparable attention, or else the unchanged one, side by side.
        query: which query is shown at the start, counted from 0.

    Returns:
        View: HTML below 50 kB beside the attentions' numbers.

    Raises:
        ValueError: no attention, or something else; two of one name; caption, temperature or query
            out of range; more than 1 MB of numbers.

    Source: Vaswani et al. (2017), section 3.2.1, eq. 1; lecture 3.
    """
    _refuse(attentions, caption, temperature, query)
    data = _as_json(
        {
            "items": [_stored(attention) for attention in attentions],
            "temperature": None if temperature is None else float(temperature),
            "compare": bool(compare),
            "query": query,
            "ramp": _shades(),
        }
    )
    table = _table(attentions[0], temperature, caption)
    page = PAGE.format(
        policy=POLICY,
        title=escape(caption),
        style=_style(),
        table=table,
        data=data,
        script=_own_file("view.js"),
    )
    first = attentions[0]
    height = 900 + 75 * len(first.key)
    html = (
        f'{STAND_IN}<iframe class="live-attention" title="{escape(caption)}" '
        f'style="width:100%;height:{height}px;border:0;display:block" srcdoc="{_in_quotes(page)}">'
        f"</iframe><div>{table}<p>This table stands in for a live view, which appears when the cell "
        "is run or the notebook is trusted.</p></div>"
    )
    return View(html, caption)


def _refuse(attentions, caption, temperature, query) -> None:
    if not attentions or not all(isinstance(one, Attention) for one in attentions):
        found = ", ".join(type(one).__name__ for one in attentions) or "nothing"
        raise ValueError(
            f"expected one or more `live.Attention`; found {found:.80}. Unpack a list with a star: "
            "attention_view(*attentions)."
        )
    names = [(one.sentence, one.model, one.layer, one.head) for one in attentions]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                "expected attentions that differ in sentence, model, layer or head; found "
                f"{names.count(name)} with {name!r:.120}. Name them, so that a reader can choose."
            )
    if not (isinstance(caption, str) and 1 <= len(caption.strip()) <= MAX_LETTERS):
        raise ValueError(
            f"caption: expected a sentence of 1 to {MAX_LETTERS} letters; found {caption!r:.80}. "
            "Say what the view shows."
        )
    low, high = TEMPERATURES
    if temperature is not None and not low <= temperature <= high:
        raise ValueError(
            f"temperature: expected {low:g} to {high:g}, or None for √d_k; found {temperature!r}. "
            "Colder or hotter than that, weights no longer change."
        )
    if query not in range(len(attentions[0].queries)):
        raise ValueError(
            f"query: expected 0 to {len(attentions[0].queries) - 1}; found {query!r}. Count the "
            "first attention's queries from 0."
        )


def _stored(attention: Attention) -> dict[str, Any]:
    mask = attention.mask
    return {
        "sentence": attention.sentence,
        "model": attention.model,
        "layer": attention.layer,
        "head": attention.head,
        "queries": attention.queries,
        "keys": attention.keys,
        "q": attention.query.tolist(),
        "k": attention.key.tolist(),
        "v": attention.value.tolist(),
        "mask": None if mask is None else ["".join("01"[seen] for seen in row) for row in mask * 1],
    }


def _as_json(content: dict[str, Any]) -> str:
    """JSON that cannot end the script element in which it stands."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    size = len(safe.encode())
    if size > MAX_BYTES:
        raise ValueError(
            f"expected at most {MAX_BYTES:,} bytes of words and numbers; found {size:,}. Show fewer "
            "attentions in one view, or round their vectors to 3 decimals."
        )
    return safe


def _in_quotes(page: str) -> str:
    """The page as the value of an attribute in double quotes."""
    return page.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def _table(attention: Attention, temperature: float | None, caption: str) -> str:
    """The first attention's weights as a plain table, two decimals."""
    query, key, value = map(torch.from_numpy, (attention.query, attention.key, attention.value))
    if temperature is not None:
        query = query * (key.shape[1] ** 0.5 / temperature)
    mask = None if attention.mask is None else torch.from_numpy(attention.mask)
    weights = scaled_dot_product_attention(query, key, value, mask)[1]  # (T, S)
    heads = "".join(f'<th scope="col">{escape(word)}</th>' for word in attention.keys or ())
    rows = "".join(
        f'<tr><th scope="row">{escape(word)}</th>'
        + "".join(f"<td>{weight:.2f}</td>" for weight in row)
        + "</tr>"
        for word, row in zip(attention.queries, weights.tolist(), strict=True)
    )
    return (
        f"<table><caption>{escape(caption)}: weights, a row for each query</caption>"
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


@cache
def _style() -> str:
    """The view's style sheet, with the course's colours for light and for dark pages."""
    colours = "".join(
        f"--{name}:light-dark({light},{dark});" for name, (light, dark) in PAIRS.items()
    )
    return f":root{{{colours}}}{_own_file('view.css')}"


@cache
def _shades() -> list[str]:
    """The course's scale from dark orange over white to dark purple."""
    shades = [to_hex(colour) for colour in colormaps[SIGNED](np.linspace(0, 1, SHADES))]
    shades[SHADES // 2] = "#ffffff"
    return shades


@cache
def _own_file(name: str) -> str:
    """A file beside this one, without the blanks at the beginnings of its lines."""
    text = files("course_utils.live").joinpath(name).read_text(encoding="utf-8")
    return re.sub(r"\n\s+", "\n", text)
