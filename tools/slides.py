"""Slides of a lecture in one file, from the lecture's stored notebook and the marks in it.

    python -m tools.slides                 every lecture, into build/slides/
    python -m tools.slides --only "1-8"    a part of the course, see tools/part.py
    python -m tools.slides --pdf           and print each deck

`docs/authors.md` says what a mark looks like and what a slide shows. Nothing is executed: code and
outputs are those of the notebook. A deck holds all that it needs, so that it runs without a network.
"""

from __future__ import annotations

import argparse
import ast
import base64
import json
import math
import mimetypes
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape, unescape
from pathlib import Path
from string import Template

import nbformat
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

from autograder.order import by_number
from lecture_kit import questions
from lecture_kit.live.page import STORED_FRAME
from tools import pdf
from tools.part import PartError, part_of
from tools.website import KATEX, LETTERS, NODE, PACKAGES, PICTURE, ROOT, SITE, fetch_packages

PAGE = SITE / "slides"
REVEAL = PACKAGES / "reveal.js/dist"
MARK = re.compile(r"<!-- slide: (.+?) -->")
NUMBERED = re.compile(r"(\d+)\. (.+)")
ASKED = re.compile(r'questions\.ask\("(\d\d)", "([\w-]+)"\)')
CAPTION = re.compile(r"<figcaption>(.*?)</figcaption>")
FORMULA = re.compile(r"<tex (display|inline)( spoken)?>(.*?)</tex>", re.DOTALL)
STYLES = {"light": "github-light-high-contrast", "dark": "github-dark"}  # as on the website

# A slide has 1280 by 720 pixels; slides.css gives its body this room below a headline of one line, and
# slides.js makes its text no smaller than this.
WIDTH, HEIGHT = 1200, 560
HEADLINE, SECOND_LINE = 62, 44  # letters on a line of the headline; pixels that a second line takes
SMALLEST_TEXT, SMALLEST_CODE, LARGEST_CODE = 20, 17, 28
LETTER, LINE = 0.602, 1.35  # of the size of code: how wide a letter is, and how high a line
WORDS = 0.46  # of the size of text: how wide a letter is on average

SET = """const katex = require(process.argv[1]);
const formulas = JSON.parse(require('fs').readFileSync(0, 'utf8'));
console.log(JSON.stringify(formulas.map(([kind, spoken, text]) => katex.renderToString(text,
    {displayMode: kind === 'display', output: spoken ? 'mathml' : 'html', strict: 'error'}))));"""


READY = "return document.documentElement.dataset.shown === 'true'"


class SlideError(Exception):
    """A slide that cannot be shown: which one, and what to do."""


@dataclass
class Slide:
    """One slide; texts are HTML, with formulas still to be set."""

    head: str
    kind: str
    body: str = ""
    section: str = ""
    notes: list[str] = field(default_factory=list)


class Reader:
    """Reads the cells of a lecture in their order, and gathers its slides."""

    def __init__(self, name: str, notebook: NotebookNode) -> None:
        self.name = name
        self.slides: list[Slide] = []
        self.marked: Slide | None = None  # the slide of the last mark, while it goes on
        self.lines = 0.0  # that it takes in the smallest letters
        self.opening = ""  # of a section, until it has something to show
        self.ahead: list[str] | None = []  # what is said after a heading, before the next slide
        self.section = self.heading = ""
        self.markdown = markdown()
        for cell in notebook.cells:
            read = self.read_text if cell.cell_type == "markdown" else self.read_code
            read(cell)
        self.close()
        self.slides[0].body = f"<p>{escape(notebook.metadata.course['summary'])}</p>"

    def add(self, head: str, kind: str, body: str = "", notes: Iterable[str] = ()) -> Slide:
        self.close()
        said, self.ahead = self.ahead or [], None
        if self.opening:
            self.slides.append(Slide(self.opening, "section", "", self.section, said))
            self.opening, said = "", []
        slide = Slide(head, kind, body, self.section, [*said, *notes])
        self.slides.append(slide)
        return slide

    def close(self) -> None:
        """End the slide of a mark, which must have something to show."""
        if self.marked and not self.marked.body:
            raise self.error(
                self.marked.head,
                "nothing follows its mark that a slide shows: a displayed formula, a table, a list or a "
                "figure. Put the mark above one of these. The headline of code, of a picture, of a view "
                'or of a question stands in the header of its cell, as in # %% slide="Headline".',
            )
        self.marked = None

    def error(self, head: str, trouble: str) -> SlideError:
        shown = re.sub(r"<[^>]+>", "", unescape(head))
        return SlideError(f'{self.name}, slide "{shown}": {trouble}')

    # ------------------------------------------------------------------------------------ text

    def read_text(self, cell: NotebookNode) -> None:
        blocks = list(blocks_of(self.markdown.parse(cell.source)))
        alone = [mark_in(block) for block in blocks]
        for mark in [*MARK.findall(cell.source), cell.metadata.get("slide")]:
            if mark and mark not in alone:
                raise self.error(
                    mark,
                    "in text, a mark stands on a line of its own between empty lines: "
                    f"<!-- slide: {mark} -->",
                )
        for block in blocks:
            first, inner = block[0], block[min(1, len(block) - 1)]
            if first.type == "heading_open":
                self.read_heading(first.tag, inner.content)
            elif mark := mark_in(block):
                self.marked, self.lines = self.add(self.inline(mark), "shown"), 0
            elif first.type == "html_block":
                continue
            elif self.marked and (first.type != "paragraph_open" or is_picture(inner)):
                self.show(self.marked, block)
            elif not is_picture(inner):
                said = self.slides[-1].notes if self.ahead is None else self.ahead
                said.append(self.rendered(block))

    def read_heading(self, tag: str, text: str) -> None:
        self.close()
        self.heading = self.inline(text)
        if tag == "h1":
            self.section, _, title = text.partition(": ")
            self.add(self.inline(title or text), "title")
        elif tag == "h2":
            numbered = NUMBERED.fullmatch(text)
            self.opening = (
                f"<span>{numbered[1]}</span> {self.inline(numbered[2])}" if numbered else ""
            )
            self.section, self.ahead = self.heading, []
        elif self.ahead is None:
            self.ahead = []

    def show(self, slide: Slide, block: list[Token]) -> None:
        slide.body += self.rendered(block)
        self.lines += lines_of(block)
        there = self.room_below(slide.head) / SMALLEST_TEXT / 1.3
        if self.lines > there:
            raise self.error(
                slide.head,
                f"it needs about {self.lines:.0f} lines of the smallest letters, and there is room for "
                f"{there:.0f}. Give a part of it a mark of its own, or shorten it.",
            )

    def room_below(self, head: str) -> int:
        """The height that a headline of one line or two leaves."""
        length = len(FORMULA.sub("xxx", head))
        if length > 2 * HEADLINE:
            raise self.error(head, f"shorten it to {2 * HEADLINE} letters, which are two lines.")
        return HEIGHT - SECOND_LINE * (length > HEADLINE)

    def inline(self, text: str) -> str:
        return self.markdown.renderInline(text)

    def rendered(self, block: list[Token]) -> str:
        return self.markdown.renderer.render(block, self.markdown.options, {})

    # ------------------------------------------------------------------------------------ code

    def read_code(self, cell: NotebookNode) -> None:
        given = cell.metadata.get("slide", "")
        head = self.inline(given)
        if re.search(r"[\t\n\b\f\r]", given):
            raise self.error(
                head, r'in the header of a cell write two backslashes: "$d_\\text{model}$".'
            )
        if asked := ASKED.search(cell.source):
            question = {each.id: each for each in questions.questions_of(asked[1])}[asked[2]]
            answer = questions.answered(question)
            self.add(head or "Your turn", "question", on_a_slide(question), [answer])
            return
        seen = False
        for html in (output.get("data", {}).get("text/html", "") for output in cell.outputs):
            if picture := PICTURE.search(html):
                caption = CAPTION.search(html)
                own = caption[1].rstrip(".") if caption else self.heading
                source = f"data:image/svg+xml;base64,{picture['svg']}"
                notes = [f"<p>{caption[1]}</p>"] if caption else []
                self.add(
                    head or own, "shown", f'<img alt="{picture["alt"]}" src="{source}">', notes
                )
            elif view := STORED_FRAME.search(html):
                frame = f'<iframe title="{view["title"]}" data-page="{view["page"]}"></iframe>'
                self.add(head or view["title"], "view", frame)
            seen |= bool(PICTURE.search(html) or STORED_FRAME.search(html))
        if head and not seen:
            self.add(head, "code", self.code(head, essence(cell.source), printed_by(cell)))

    def code(self, head: str, source: str, printed: str) -> str:
        """Code above or beside what it printed, in letters as large as the slide has room for."""
        (wide, high), (wide_out, high_out) = extent(source), extent(printed)
        room = self.room_below(head)
        below = size_for(max(wide, wide_out), high + high_out, 40, room - (70 if printed else 28))
        beside = size_for(wide + wide_out, max(high, high_out), 110, room - 28) if printed else 0
        size = min(max(below, beside), LARGEST_CODE)
        if size < SMALLEST_CODE:
            raise self.error(
                head,
                f"its {high} lines of code, up to {wide} letters long, and {high_out} lines of output need "
                f"letters of {size:.0f} pixels; {SMALLEST_CODE} is the least. Split the cell, print less, or "
                "take its slide away.",
            )
        shown = highlight(source, PythonLexer(), HtmlFormatter(nowrap=True))
        output = f'<pre class="output">{escape(printed)}</pre>' if printed else ""
        side = " beside" if beside > below else ""
        return f'<div class="run{side}" style="font-size:{size:.1f}px"><pre>{shown}</pre>{output}</div>'


# ------------------------------------------------------------------------------------------ Markdown


def markdown() -> MarkdownIt:
    """A parser as the website's, that keeps formulas as they are, and no links."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")

    def formula(_renderer, tokens: list[Token], place: int, _options, _env) -> str:
        text = escape(tokens[place].content.strip())
        if tokens[place].type == "math_inline":
            return f"<tex inline>{text}</tex>"
        return "".join(f"<tex display>{part}</tex>" for part in stacked(text))

    def image(_renderer, tokens: list[Token], place: int, _options, _env) -> str:
        file = ROOT / "lectures" / str(tokens[place].attrs["src"])
        alt = escape(" ".join(tokens[place].content.split()))
        return f'<img alt="{alt}" src="{as_data(file)}">'

    parser.use(dollarmath_plugin, double_inline=True)
    parser.add_render_rule("image", image)
    for kind in ("math_inline", "math_inline_double", "math_block"):
        parser.add_render_rule(kind, formula)
    for part in ("link_open", "link_close"):
        parser.add_render_rule(part, lambda *_: "")
    return parser


def blocks_of(tokens: list[Token]) -> Iterator[list[Token]]:
    """The top-level blocks of a text, each as its tokens."""
    block: list[Token] = []
    for token in tokens:
        block.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield block
            block = []


def mark_in(block: list[Token]) -> str | None:
    found = MARK.fullmatch(block[0].content.strip()) if block[0].type == "html_block" else None
    return found and found[1]


def stacked(formula: str) -> list[str]:
    """Formulas that stand side by side, one below the other."""
    parts = [part.strip(" ,\n") for part in re.split(r"\\qquad|,\s*\\quad", formula)]
    whole = all(
        part.count(opens) == part.count(closes)
        for part in parts
        for opens, closes in (("{", "}"), (r"\begin", r"\end"), (r"\left", r"\right"))
    )
    return parts if whole else [formula]


def is_picture(inner: Token) -> bool:
    return [child.type for child in inner.children or []] == ["image"]


def lines_of(block: list[Token]) -> float:
    """About how many lines of the smallest letters a block takes: a list, a table, a formula, a figure."""
    if block[0].type in ("fence", "math_block"):
        return max(3.5, block[0].content.count("\n"))
    room = WIDTH / SMALLEST_TEXT / WORDS
    rows, in_table = [0.0], block[0].type == "table_open"
    for token in block:
        if token.type == "inline":
            rows[-1] += 8 * room if is_picture(token) else letters(token) + 4 * in_table
        if token.type == "tr_open" or (token.type == "inline" and not in_table):
            rows.append(0)
    return sum(math.ceil(row * (1.2 if in_table else 1) / room) + 0.4 for row in rows if row)


def letters(token: Token) -> int:
    """About how many letters of a text are seen."""
    return len(re.sub(r"\]\([^)]*\)|\\(?:text|math)\w+|[{}$^_*`\[\]\\]", "", token.content))


# ---------------------------------------------------------------------------------------------- code


def printed_by(cell: NotebookNode) -> str:
    """What a cell printed, and the value it ended with."""
    texts = [
        output.get("text", "") or output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
        if output.get("name") != "stderr"
    ]
    return "\n".join(text.rstrip("\n") for text in texts if text.strip())


def essence(source: str) -> str:
    """Code without what only asserts or prints; all of it where nothing else would be left."""
    lines = source.splitlines()
    gone: set[int] = set()
    for node in superfluous(ast.parse(source).body):
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        while first and lines[first - 1].lstrip().startswith("#"):
            first -= 1
        gone.update(range(first, last))
    kept = [line for n, line in enumerate(lines) if n not in gone and "# fmt: " not in line]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n") or source


def superfluous(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that only assert or print, and the asserts within the others."""
    for node in body:
        if only_tells(node):
            yield node
        elif isinstance(node, ast.For | ast.With | ast.If):
            yield from (inner for inner in node.body if isinstance(inner, ast.Assert))


def only_tells(node: ast.stmt) -> bool:
    match node:
        case ast.Assert() | ast.Expr(ast.Call(ast.Name("print"))):
            return True
        case ast.For(body=body, orelse=[]):
            return all(map(only_tells, body))
    return False


def extent(text: str) -> tuple[int, int]:
    """The letters of the longest line, and the number of lines."""
    lines = text.splitlines()
    return max(map(len, lines), default=0), len(lines)


def size_for(wide: int, high: int, margin: int, room: int) -> float:
    """The largest letters in which so many letters and lines of code fit."""
    return min((WIDTH - margin) / (wide * LETTER), room / (high * LINE))


# ---------------------------------------------------------------------------------------- questions


def on_a_slide(question: questions.Question) -> str:
    """A question, and its answer, which comes with a click."""
    marked = questions.marked
    says = ""
    match question:
        case questions.ChoiceQuestion(choices=choices):
            items = [(choice.text, choice.right) for choice in choices]
            says = next(choice.says for choice in choices if choice.right)
            offered = '<ol class="choices">{}</ol>'
        case questions.OrderQuestion(steps=steps, shown=shown):
            items = [(steps[place].text, False) for place in shown]
            right = "".join(f"<li>{marked(step.text)}</li>" for step in steps)
            says = question.says
            order = f'<ol class="fragment" data-fragment-index="0">{right}</ol>'
            offered = f'<div class="steps"><ul>{{}}</ul>{order}</div>'
        case questions.NumberQuestion():
            items, says, offered = [], f"{question.answer:g}. {question.says}", "{}"
    listed = "".join(
        f"<li{' class=right' if right else ''}>{marked(text)}</li>" for text, right in items
    )
    return (
        f'<p class="asked">{marked(question.text)}</p>{offered.format(listed)}'
        f'<p class="answer fragment" data-fragment-index="0">{marked(says)}</p>'
    )


# --------------------------------------------------------------------------------------------- pages


def as_data(file: Path) -> str:
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return f"data:{kind};base64,{base64.b64encode(file.read_bytes()).decode()}"


def with_files(sheet: str, folder: Path) -> str:
    """A style sheet with its letters in it, each in the form that all browsers of today read."""
    first = re.sub(r"(url\([^)]*\.woff2\)[^,;}]*),[^;}]*", r"\1", sheet)
    return re.sub(r"url\(([^)]+)\)", lambda found: f"url({as_data(folder / found[1])})", first)


def style() -> str:
    letters = [
        part
        for name in ("wght.css", "wght-italic.css")
        for part in re.findall(r"@font-face {.*?}", (LETTERS / name).read_text("utf-8"), re.DOTALL)
        if re.search(r"4-(latin|greek)-wght", part)
    ]
    code = [
        HtmlFormatter(style=name).get_style_defs(f'[data-theme="{theme}"] .run')
        for theme, name in STYLES.items()
    ]
    return "\n".join([
        (REVEAL / "reveal.css").read_text("utf-8"),
        with_files((KATEX / "katex.min.css").read_text("utf-8"), KATEX),
        *(with_files(part, LETTERS) for part in letters),
        *code,
        (PAGE / "slides.css").read_text("utf-8"),
    ])  # fmt: skip


def script() -> str:
    """What the deck runs, with nothing in it that HTML could take for the end of a script."""
    files = REVEAL / "reveal.js", REVEAL / "plugin/notes.js", PAGE / "slides.js"
    text = ";\n".join(file.read_text("utf-8") for file in files)
    return re.sub(r"<(?=/?script|!--)", r"\\x3c", text)


def with_formulas(html: str) -> str:
    """The page with its formulas set by KaTeX; in notes as MathML, which needs no style sheet."""
    found = [(kind, bool(spoken), unescape(text)) for kind, spoken, text in FORMULA.findall(html)]
    command = [str(NODE / "node"), "-e", SET, str(KATEX / "katex.min.js")]
    done = subprocess.run(
        command, input=json.dumps(found), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SlideError(f"KaTeX cannot set a formula:\n{done.stderr}")
    drawn = iter(json.loads(done.stdout))
    return FORMULA.sub(lambda _: next(drawn), html)


def html_of(slide: Slide, lecture: str) -> str:
    notes = "".join(slide.notes).replace("<tex display>", "<tex display spoken>")
    notes = notes.replace("<tex inline>", "<tex inline spoken>")
    level = "h1" if slide.kind == "title" else "h2"
    foot = lecture if slide.section == lecture else f"{lecture} · {slide.section}"
    return (
        f'<section class="{slide.kind}"><div class="slide"><{level}>{slide.head}</{level}>'
        f'<div class="body">{slide.body}</div>'
        f"<footer>{foot}</footer></div>{f'<aside class=notes>{notes}</aside>' if notes else ''}</section>"
    )


def page_of(name: str, notebook: NotebookNode) -> tuple[str, int]:
    """The whole deck of a lecture, and how many slides it has."""
    slides = Reader(name, notebook).slides
    lecture = slides[0].section
    body = with_formulas("\n".join(html_of(slide, lecture) for slide in slides))
    page = Template((PAGE / "page.html").read_text("utf-8"))
    title = f"{lecture}: {re.sub('<[^>]+>', '', slides[0].head)}"
    return page.substitute(title=title, style=style(), slides=body, script=script()), len(slides)


def print_out(deck: Path) -> Path:
    """A PDF with a page a slide, and one more for each answer."""
    browser, driver = (
        next(filter(None, map(shutil.which, pdf.BROWSERS)), None),
        shutil.which("chromedriver"),
    )
    if not (browser and driver):
        raise SlideError(
            "a print-out needs Chromium and its chromedriver; without them, open a deck with ?print-pdf "
            "behind its address in any browser, and print it from there."
        )
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in ("--headless=new", "--no-sandbox"):
        options.add_argument(flag)
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(driver)) as chromium:
        chromium.get(f"{deck.resolve().as_uri()}?print-pdf")
        WebDriverWait(chromium, 120).until(lambda page: page.execute_script(READY))
        printed = chromium.execute_cdp_cmd(
            "Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True}
        )
    printed_out = deck.with_suffix(".pdf")
    printed_out.write_bytes(base64.b64decode(printed["data"]))
    return printed_out


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help='a part of the course, as "1-8"')
    parser.add_argument("--pdf", action="store_true", help="print each deck")
    parser.add_argument("--to", type=Path, default=ROOT / "build/slides")
    chosen = parser.parse_args(arguments)
    there = {path.stem: path for path in sorted(ROOT.glob("lectures/*.ipynb"), key=by_number)}
    try:
        names = [lecture.name for lecture in part_of(chosen.only).lectures]
    except PartError as error:
        sys.exit(f"no slides: {error}")
    fetch_packages()
    chosen.to.mkdir(parents=True, exist_ok=True)
    for name in names or there:
        try:
            page, count = page_of(name, nbformat.read(there[name], as_version=4))
            deck = chosen.to / f"{name}.html"
            deck.write_text(page, "utf-8")
            print(f"{deck}: {count} slides, {deck.stat().st_size / 1e6:.2f} MB", flush=True)
            if chosen.pdf:
                print(print_out(deck))
        except SlideError as error:
            sys.exit(f"no slides: {error}")


if __name__ == "__main__":
    main()
