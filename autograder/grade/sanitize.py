"""Take out of a notebook what could act in the browser of whoever reads it.

The formgrader and the feedback pages show a submission's outputs and Markdown as HTML, next to the
buttons that enter grades. What students wrote is rendered here, and cleaned as parsed HTML: no pattern
on Markdown tells what a renderer will make of it.
"""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Callable, Collection
from functools import lru_cache
from html import escape
from typing import TypeVar

import nh3
from nbconvert.exporters.exporter import ResourcesDict
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode

from autograder.bounds import (
    LONGEST_COLOURED,
    LONGEST_GAP,
    LONGEST_RENDERED,
    LONGEST_TEXT,
    MOST_ELEMENTS,
    MOST_MARKS,
    MOST_RENDERED,
    ROOM_FOR_COPIES,
)
from autograder.files import digest_of
from autograder.grade.grading import graded_part
from autograder.grade.submission import PICTURE

# what people write by hand, and the tables of pandas; nothing that loads or runs
TAGS = {
    "a", "abbr", "b", "blockquote", "br", "caption", "code", "dd", "del", "details", "div", "dl", "dt",
    "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "li", "ol", "p", "pre", "s", "span",
    "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul",
}  # fmt: skip
CELL = {"colspan", "rowspan"}
ATTRIBUTES = {"a": {"href", "title"}, "img": {"src", "alt"}, "td": CELL, "th": CELL}
LINK = re.compile(r"(https?://|mailto:|#|\.\./|[\w-]+\.(ipynb|html|md)\b)", re.IGNORECASE)
INLINE_PICTURE = re.compile(r"data:image/(png|jpeg|gif);base64,[A-Za-z0-9+/=\s]*")
# what begins an element that is opened anew in each block until it is closed, and whether it is plain; links are
# not, since one ends the other
REOPENED = re.compile(
    r"<(b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(\s*/?>|(?=[\s/]))", re.IGNORECASE
)
# a "<", and the whole of a tag where it begins one
TAG_OR_SIGN = re.compile(
    r"<(?:(?P<end>/?)(?P<name>[a-z][^\s/<>]*+)"
    r"(?P<said>(?:\s++[^\s\"'<>/=]++(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'=<>`]++))?+)*+)\s*+(?P<alone>/?)>)?",
    re.IGNORECASE,
)
BARE = re.compile(
    r"\s++(?!open\b)[^\s\"'<>/=]++(?!\s*+=)(?=\s|$)", re.IGNORECASE
)  # an attribute without a value
OPEN_ENDED = {
    "br", "caption", "dd", "dt", "hr", "img", "li", "p", "tbody", "td", "tfoot", "th", "thead", "tr",
}  # fmt: skip
# what a program writes beside words
UNSEEN = re.compile(r"<!--|<!doctype(?=[\s>])|<(?:style|script)(?=[\s>])", re.IGNORECASE)
ENDS = {"<!--": "-->", "<!doctype": ">", "<style": "</style>", "<script": "</script>"}
CODE = re.compile(r"[{}();=]")
MOST_ALIKE = 3  # of such elements without a difference that are opened anew
IGNORED = ' class="tex2jax_ignore mathjax_ignore"'  # by what reads formulas
# letters to which Markdown gives a meaning, as HTML writes them
MARKDOWN = str.maketrans({sign: f"&#{ord(sign)};" for sign in "[]!`*_~|\\"})
# shown as text, or inside <img>, where nothing runs
SHOWN = ("text/plain", "image/png", "image/jpeg", "image/svg+xml", "text/html")
MARKS = "[]*_`<&\\$|#>-+~!\n"  # of Markdown's own
GAP = re.compile(rf"\s{{{LONGEST_GAP}}}")
# colours; every other command to a terminal stays without its first sign
COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
PYTHON = ("python", "python3", "py", "ipython", "ipython3")
NOT_CLEANED = "[An output that cannot be looked through is left out.]\n"
TOO_LONG = "[The rest of this text is left out: it is longer than what is shown.]"
TOO_MUCH = "<div>(A text that takes too long to look through is left out.)</div>"
LEFT_OUT = "[An output that could act in a browser is left out.]"


Cleaned = TypeVar("Cleaned")


def _or_else(
    clean: Callable[[], Cleaned], otherwise: Callable[[], Cleaned], at_last: Cleaned
) -> Cleaned:
    """What cleaning gives; whatever it raises is what somebody typed, and costs nothing but itself.

    Args:
        otherwise: makes something simpler of it.
        at_last: what is there without making anything.
    """
    for make in (clean, otherwise):
        with contextlib.suppress(Exception):
            return make()
    return at_last


class Sanitize(Preprocessor):
    """Cleans all but locked text, the verdicts, and the assignment's own text, known by its `files.digest_of`."""

    def __init__(self, own: Collection[str] = (), **kwargs: object) -> None:
        super().__init__(**kwargs)
        self._own = own
        self._rendered = 0  # characters of HTML

    def preprocess_cell(
        self, cell: NotebookNode, resources: ResourcesDict, index: int
    ) -> tuple[NotebookNode, ResourcesDict]:
        locked = cell.get("metadata", {}).get("nbgrader", {}).get("locked", False)
        if cell.cell_type == "code":
            if not (locked and graded_part(cell.source)):
                outputs, cell.outputs = cell.outputs, [odd_output()]
                cell.outputs = _or_else(
                    lambda: [*map(self._cleaned, outputs)], lambda: [odd_output()], cell.outputs
                )
        elif locked:
            pass
        elif cell.cell_type == "raw":
            # in <pre>, where no formula is read either
            cell.source = f"<pre>{escape(shortened(cell.source))}</pre>" if cell.source else ""
            self._rendered += len(cell.source)
        elif digest_of(cell.source) not in self._own:
            source, pictures = cell.source, cell.pop("attachments", {})
            cell.source = TOO_MUCH
            cell.source = _or_else(
                lambda: harmless_markdown(source, pictures, self._rendered > MOST_RENDERED),
                lambda: as_typed(source),
                TOO_MUCH,
            )
            self._rendered += len(cell.source)
        return cell, resources

    def _cleaned(self, output: NotebookNode) -> NotebookNode:
        """An output of which nothing can act."""
        if "data" in output:
            output.metadata = NotebookNode()
            output.data = self._shown(output.data)
        for name in ("text", "evalue"):
            if name in output:
                output[name] = calm(output[name])
        if "traceback" in output:
            output.traceback = [calm(line) for line in output.traceback]
        return output

    def _shown(self, data: NotebookNode) -> NotebookNode:
        """Those forms of an output that cannot act."""
        kept = NotebookNode({kind: text for kind, text in data.items() if kind in SHOWN})
        if "text/markdown" in data and "text/html" not in data:
            text = data["text/markdown"]
            typed = f"<pre>{escape(shortened(text))}</pre>"
            kept["text/html"] = rendered(text) if is_readable(text) else typed
        html = kept.pop("text/html", "")
        if html and len(html) <= LONGEST_TEXT and self._rendered <= MOST_RENDERED:
            kept["text/html"] = f"<div{IGNORED}>{clean(html, made=True)}</div>"
            self._rendered += len(kept["text/html"])
        if "text/plain" in kept:
            kept["text/plain"] = calm(kept["text/plain"])
        return kept or NotebookNode({"text/plain": LEFT_OUT})


def calm(text: str) -> str:
    """Text without commands to a terminal."""
    return COLOUR.sub("", text).replace("\x1b", "")


def odd_output() -> NotebookNode:
    """What stands in place of outputs that could not be cleaned."""
    return NotebookNode(output_type="stream", name="stdout", text=NOT_CLEANED)


def clean(html: str, made: bool = False) -> str:
    """HTML of which nothing loads or runs, and no word is lost: what is no element of these tags is shown as typed.

    The parser in nh3 leaves out what it does not know, and elements of SVG or MathML with all that they hold; a
    student who writes about the token <mask> means the word.

    Args:
        html: of whoever wrote it.
        made: a program made it, and what a browser does not show of it need not be shown.
    """
    seen = elements_only(without_code(html) if made else html, made)
    return nh3.clean(seen if is_short_made(seen) else f"<pre>{escape(html)}</pre>", tags=TAGS,
                     attributes=ATTRIBUTES, attribute_filter=attribute,
                     url_schemes={"http", "https", "mailto", "data"})  # fmt: skip


def elements_only(html: str, made: bool = False) -> str:
    """HTML in which every "<" begins one of these elements, which is whole, or is one that is shown.

    Of what a program made, other elements go if they say more than a name, and pictures go but for their words.
    """
    pieces: list[str] = []
    opened: dict[str, list[tuple[int, str]]] = defaultdict(
        list
    )  # where, and what is to become of its end
    at = pictures = 0
    for found in TAG_OR_SIGN.finditer(html):
        text, name = found[0], (found["name"] or "").lower()
        typed = text.replace("<", "&lt;").replace(">", "&gt;")
        pieces.append(html[at : found.start()])
        at = found.end()
        if found["end"]:
            fate = opened[name].pop()[1] if opened[name] else "typed"
            pictures -= (name, fate) == ("svg", "")
            pieces.append({"kept": text, "typed": typed, "": ""}[fate])
            continue
        fate = "typed"
        if name in TAGS and (made or not BARE.search(found["said"])):
            fate = "kept"
        elif name and made and (found["said"] or found["alone"] or pictures):
            fate = ""
        if name and not found["alone"]:
            pictures += (name, fate) == ("svg", "")
            opened[name].append((len(pieces), fate))
        pieces.append({"kept": text, "typed": typed, "": ""}[fate])
    for name in opened.keys() - OPEN_ENDED:
        for place, fate in opened[name]:
            if fate == "kept":  # a word that looks like an element, as <s> does
                pieces[place] = pieces[place].replace("<", "&lt;").replace(">", "&gt;")
    return "".join([*pieces, html[at:]])


def without_code(html: str) -> str:
    """HTML that a program made without its style sheets, scripts and comments."""
    pieces, at = [], 0
    ends = {sign: re.compile(end, re.IGNORECASE) for sign, end in ENDS.items()}
    for found in UNSEEN.finditer(html):
        sign = found[0].lower()
        if found.start() < at or sign not in ends:
            continue
        end = ends[sign].search(html, found.end())
        if end is None:
            del ends[sign]  # nor is there one after it
            continue
        named, _, held = html[found.end() : end.start()].partition(">")
        if found[0][1] == "!" or named or CODE.search(held):
            pieces.append(html[at : found.start()])
            at = end.end()
    return "".join([*pieces, html[at:]])


def is_short_made(html: str) -> bool:
    """Whether few elements come of HTML, of which nh3 makes all that a browser would, at the end of its memory, too."""
    found = REOPENED.findall(html)
    alike = {name.lower() for name, plain in found if plain}
    each = MOST_ALIKE * len(alike) + sum(not plain for _, plain in found)
    return each * html.count("<") <= MOST_ELEMENTS


def attribute(tag: str, name: str, value: str) -> str | None:
    if tag == "img" and name == "src":
        return value if INLINE_PICTURE.fullmatch(value) else None
    if name == "href":
        return value if LINK.match(value.strip()) else None
    return value


def marks_in(source: str) -> int:
    """How many letters of a text may mean something to Markdown."""
    return sum(map(source.count, MARKS))


def is_readable(source: str) -> bool:
    """Whether Markdown can be rendered soon: not long, nor full of signs, nor with gaps that are read over and over."""
    short = len(source) <= LONGEST_TEXT and marks_in(source) <= MOST_MARKS
    return short and not GAP.search(source)


def harmless_markdown(
    source: str, pictures: dict[str, dict[str, str]] | None = None, plain: bool = False
) -> str:
    """Markdown that shows what this Markdown would, and does nothing else.

    It is HTML in which no letter means anything to Markdown any more.

    Args:
        source: what a student wrote.
        pictures: its attachments, pictures only.
        plain: show it as it was typed.
    """
    if not source.strip():
        return source
    if plain or not is_readable(source):
        return as_typed(source)
    return within_markdown(_render(source, pictures) if pictures else rendered(source))


def as_typed(source: str) -> str:
    """The same for a text that nothing is made of, as far as it is shown."""
    short = shortened(source)
    return within_markdown(f"<pre>{escape(short)}</pre>") if source.strip() else source


def shortened(source: str) -> str:
    """A text, or its beginning where it is longer than what is shown."""
    return source if len(source) <= LONGEST_TEXT else f"{source[:LONGEST_TEXT]}\n{TOO_LONG}"


def within_markdown(html: str) -> str:
    """HTML in which no letter means anything to Markdown, nor to what sets formulas."""
    lines = [line.strip("\n") for line in html.translate(MARKDOWN).split("\n")]
    # an empty line would end the HTML, for Markdown
    shown = "\n".join(line if line.strip() else "&#8203;" for line in lines)
    return f"<div{IGNORED}>{shown}</div>"


class Renderer(IPythonRenderer):
    """Shows what is named many times again only where there is room: no page could hold a large picture, or the
    long address or title of a reference, over and over."""

    def __init__(self, attachments: dict[str, dict[str, str]]) -> None:
        super().__init__(escape=False, attachments=attachments)
        self._shown: set[object] = set()
        self._left = ROOM_FOR_COPIES

    def _embed_image_or_attachment(self, src: str) -> str:
        embedded: str = super()._embed_image_or_attachment(src)
        return embedded if self._has_room(src, embedded) else ""

    def image(self, text: str, url: str, title: str | None = None) -> str:
        shown: str = super().image(text, url, title if self._has_room(title, title) else None)
        return shown

    def link(self, text: str, url: str, title: str | None = None) -> str:
        if not self._has_room((url, title), f"{url}{title}"):
            return text
        shown: str = super().link(text, url, title)
        return shown

    def block_code(self, code: str, info: str | None = None) -> str:
        """Python in colours, as far as it is short; what reads other languages may take minutes over a line."""
        language = (info or "").split(maxsplit=1)[:1]
        coloured = language and language[0] in PYTHON and len(code) <= LONGEST_COLOURED
        shown: str = super().block_code(code, info if coloured else None)
        return shown

    def _has_room(self, what: object, written: str | None) -> bool:
        """Whether there is room to write something; the first time that it is shown there always is."""
        if what in self._shown:
            self._left -= len(written or "")
        self._shown.add(what)
        return self._left >= 0


def rendered(source: str) -> str:
    """Markdown as clean HTML."""
    return _rendered_before(source) if len(source) <= LONGEST_RENDERED else _render(source, {})


@lru_cache(maxsize=512)
def _rendered_before(source: str) -> str:
    """The same, kept: most of it is the assignment's own."""
    return _render(source, {})


def _render(source: str, pictures: dict[str, dict[str, str]]) -> str:
    named = {name: kinds for name, kinds in pictures.items() if all(map(PICTURE.fullmatch, kinds))}
    try:
        renderer = Renderer(named)
        html = MarkdownWithMath(renderer=renderer).render(source)
    except Exception:  # noqa: BLE001 (an attachment that is not there, or text that its reader cannot take)
        html = f"<pre>{escape(source)}</pre>"
    return clean(html)
