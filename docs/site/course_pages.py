"""What the course's pages have beyond Sphinx: their heads, their anchors, sections that go deeper."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinxcontrib import katex

from autograder.order import by_number

LONGEST_DESCRIPTION = 200  # letters; more is cut where links are shown
COLOUR = re.compile(r"#[0-9a-f]{6}")
WITHIN_NUMBER = re.compile(r"(?<=\d) (?=%|\d{3}\b)")  # as in 5 % and 12 288
VIEWPORT = re.compile(r'<meta [^>]*name="viewport"[^>]*>\s*')
DEEPER = re.compile(r"(\d+\. )?Going deeper\b")


def setup(app: Sphinx) -> dict[str, Any]:
    katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = (
        60  # seconds; its own 5 are few on a busy machine
    )
    katex.KaTeXServer.start_server_process = started_katex
    # it goes from its own folder to KaTeX's by way of `..`, which ends elsewhere where .venv is a link
    katex.SRC_DIR = str(Path(katex.SRC_DIR).resolve())
    app.add_config_value("course_repository", "", "html", str)
    app.add_config_value("course_address", "", "html", str)
    app.add_directive("live-translation", LiveTranslation)
    app.add_directive("course-cards", CourseCards)
    app.connect("doctree-read", mark_deeper)
    app.connect("doctree-read", mark_captions)
    app.connect("doctree-read", show_colours)
    app.connect("doctree-read", leave_corners_empty)
    app.connect("doctree-read", keep_numbers_together)
    app.connect("html-page-context", add_head)
    app.connect("autodoc-process-docstring", as_restructured, priority=0)
    app.connect("autodoc-skip-member", skip_unexplained)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def jupyter_anchor(title: str) -> str:
    """The anchor that JupyterLab gives a heading, so that links between notebooks hold here, too."""
    return title.strip().replace(" ", "-")


def mark_deeper(app: Sphinx, doctree: nodes.document) -> None:
    """Give sections that go deeper a class, by which the style sheet tells them from the core."""
    for section in doctree.findall(nodes.section):
        if DEEPER.match(section[0].astext()):
            section["classes"].append("deeper")


def mark_captions(app: Sphinx, doctree: nodes.document) -> None:
    """Give the sentence in italics below a figure the class of a caption."""
    for paragraph in doctree.findall(nodes.paragraph):
        above = paragraph.previous_sibling()
        italics = [type(part) for part in paragraph.children] == [nodes.emphasis]
        if italics and above is not None and any(above.findall(nodes.image)):
            paragraph["classes"].append("caption")


def show_colours(app: Sphinx, doctree: nodes.document) -> None:
    """Put a patch of the colour before every colour that a table names, `#0069a6`."""
    for code in list(doctree.findall(nodes.literal)):
        colour = code.astext()
        if COLOUR.fullmatch(colour) and isinstance(code.parent.parent, nodes.entry):
            patch = f'<i class="colour" style="border-color:{colour}"></i>'
            code.parent.insert(code.parent.index(code), nodes.raw("", patch, format="html"))


def leave_corners_empty(app: Sphinx, doctree: nodes.document) -> None:
    """A table's head without a word is no head that a screen reader should announce."""
    for head in doctree.findall(nodes.thead):
        for entry in list(head.findall(nodes.entry)):
            if not entry.astext().strip():
                entry.replace_self(nodes.raw("", "<td></td>", format="html"))


def keep_numbers_together(app: Sphinx, doctree: nodes.document) -> None:
    """Let no line end within a number, or between a number and its per cent sign."""
    fixed = (nodes.literal, nodes.math, nodes.raw)
    for paragraph in doctree.findall(nodes.paragraph):
        for text in list(paragraph.findall(nodes.Text)):
            if not isinstance(text.parent, fixed):
                whole = WITHIN_NUMBER.sub("\N{NO-BREAK SPACE}", text.astext())
                text.parent.replace(text, nodes.Text(whole))


def started_katex(folder: Path, timeout: float) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start KaTeX's server and connect, however long it needs between making its socket and listening.

    `sphinxcontrib.katex` 0.9.11 tries to connect once, as soon as the socket is there, and on a busy
    machine that is refused now and then.
    """
    address = folder / "katex.sock"
    command = katex.KaTeXServer.build_command(socket=address)
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=folder)
    until = time.monotonic() + timeout
    while time.monotonic() < until and process.poll() is None:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(address))
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            time.sleep(0.001)
        else:
            return process, connection
    process.kill()
    process.communicate()  # so that none is left behind
    raise katex.KaTeXServer.timeout_error(timeout)


# ------------------------------------------------------------------------------ the head of a page


def add_head(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """What the template shows above a notebook: minutes, and where else it can be opened."""
    notebook = Path(app.srcdir, f"{page}.ipynb")
    context["metatags"] = VIEWPORT.sub("", context.get("metatags", ""))  # the theme has its own
    context["repository"] = app.config.course_repository
    context["address"] = app.config.course_address
    context["description"] = described(page, notebook, doctree)
    if notebook.exists():
        context["notebook"] = {
            "name": notebook.name,
            **course_of(notebook),
            **addresses(app.config.course_repository, page),
        }


def described(page: str, notebook: Path, doctree: nodes.document | None) -> str:
    """What a page is about, in a sentence or two for who sees only a link to it."""
    if notebook.exists():
        text = str(course_of(notebook).get("summary", ""))
    else:
        first = next(iter(doctree.findall(nodes.paragraph)), None) if doctree else None
        text = first.astext() if first else ""
    return " ".join(re.sub(r"[*`$]", "", text).split())[:LONGEST_DESCRIPTION]


@cache
def course_of(notebook: Path) -> dict[str, Any]:
    """The title of a notebook and what its metadata say of the course: minutes, summary."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    texts = ["".join(cell["source"]) for cell in content["cells"]]
    title = next(
        found[1] for text in texts if (found := re.search(r"^# (.+)$", text, re.MULTILINE))
    )
    return {"title": title, **content["metadata"]["course"]}


def addresses(repository: str, page: str) -> dict[str, str]:
    """Where a notebook can be edited, and opened with a kernel; nothing without a host."""
    if not repository:
        return {}
    kind, name = page.split("/")[0], page.split("/")[-1]
    project = repository.partition("://")[2].partition("/")[2]
    notebook = f"{page}.ipynb"
    source = (
        f"sources/{kind}/{name}.py" if kind == "lectures" else f"assignments/{name}/notebook.py"
    )
    return {
        "edit": f"{repository}/edit/main/{source}",
        "binder": f"https://mybinder.org/v2/gh/{project}/HEAD?labpath={quote(notebook, safe='')}",
        "colab": f"https://colab.research.google.com/github/{project}/blob/main/{notebook}",
    }


# ---------------------------------------------------------------------------- the live translator, cards


class LiveTranslation(SphinxDirective):
    """The course's translator at work, in a frame whose page `tools/website.py` has put beside the others.

    The option `small` leaves out what takes it apart. Otherwise the address of the page holds what the
    reader looks at, so that it can be linked to.
    """

    option_spec: ClassVar = {"small": directives.flag}

    def run(self) -> list[nodes.Node]:
        small = "small" in self.options
        up = "../" * self.env.docname.count("/")
        frame = (
            f'<iframe class="live-view" src="{up}_frames/translator.html{"?small" if small else ""}" '
            f'title="Watch it translate: a whole translator, word by word"'
            f"{'' if small else ' data-address'}></iframe>"
        )
        kind = "live-home" if small else "live-home live-page"
        return [nodes.raw("", f'<div class="{kind}">{frame}</div>', format="html")]


class CourseCards(SphinxDirective):
    """Lectures, each with its assignments, as a list of cards."""

    def run(self) -> list[nodes.Node]:
        source = Path(self.env.srcdir)
        lectures = by_their_numbers(source, "lectures/*.ipynb")
        exercises = by_their_numbers(source, "exercises/*/*.ipynb")
        for path in (*lectures, *exercises):
            self.env.note_dependency(str(path))
        cards = "".join(card(path, source, exercises) for path in lectures)
        return [nodes.raw("", f'<ol class="cards">{cards}</ol>', format="html")]


def by_their_numbers(source: Path, pattern: str) -> list[Path]:
    return sorted(source.glob(pattern), key=by_number)


def card(lecture: Path, source: Path, exercises: list[Path]) -> str:
    """One lecture in the list of lectures."""
    course = course_of(lecture)
    text = lecture.read_text(encoding="utf-8")
    tasks = [path for path in exercises if f"/{path.name}" in text]
    links = "".join(
        f'<li><a href="{link(path, source)}">{course_of(path)["title"]}</a></li>' for path in tasks
    )
    number, _, title = course["title"].partition(": ")
    deeper = f", + {course['deeper']} deeper" if course.get("deeper") else ""
    return (
        f'<li><span class="number">{number}</span>'
        f'<a class="title" href="{link(lecture, source)}">{title}</a>'
        f'<p>{course["summary"]}</p><p class="minutes">{course["minutes"]} minutes{deeper}</p>'
        f"<ul>{links}</ul></li>"
    )


def link(notebook: Path, source: Path) -> str:
    return notebook.relative_to(source).with_suffix(".html").as_posix()


# ------------------------------------------------------------------------- docstrings as they stand


def as_restructured(app, what, name, thing, options, lines: list[str]) -> None:
    """Docstrings are plain text: keep `names`, signs, formulas and tables as they were typed."""
    text = "\n".join(lines)
    text = re.sub(r"[*|]", r"\\\g<0>", text)
    text = re.sub(r"`([^`\n]+)`", r"``\1``\\ ", text)
    text = re.sub(r"(?<=\n\n)(?:[^\s`].* = .*[^.:`\s]\n)+(?=\n)", formulas, text)
    text = re.sub(
        r"^Source: .*(\n +\S.*)+",
        lambda lines: " ".join(lines[0].split()),
        text,
        flags=re.MULTILINE,
    )
    text = re.sub(r"^Returns:\n((?: {4}.*\n?|\n)+)", listed, text, flags=re.MULTILINE)
    if what == "module":
        text = re.sub(r"([^\n])\n((?:\n| {4}.*\n?)+)", as_typed, text)
    lines[:] = text.splitlines()


def skip_unexplained(app, what, name, thing, skip, options) -> bool | None:
    """Leave out fields of named tuples that nobody described."""
    return True if (getattr(thing, "__doc__", "") or "").startswith("Alias for field") else None


def formulas(lines: re.Match[str]) -> str:
    """Formulas that stand alone, a line each."""
    return "".join(f"``{line}``\n\n" for line in lines[0].splitlines())


def listed(section: re.Match[str]) -> str:
    """What a function returns; where it is several things, as a list."""
    items = re.findall(r"^ {4}\w+: ", section[1], flags=re.MULTILINE)
    if len(items) < 2:
        return section[0]
    inside = re.sub(r"^", "  ", section[1].rstrip(), flags=re.MULTILINE)
    return (
        "Returns:\n"
        + re.sub(r"^ {6}(\w+): ", r"    - ``\1``: ", inside, flags=re.MULTILINE)
        + "\n\n"
    )


def as_typed(block: re.Match[str]) -> str:
    """An indented block of a module's docstring, such as a table of shapes, letter by letter."""
    if "    " not in block[2]:
        return block[0]
    plain = block[2].replace("``\\ ", "`").replace("``", "`").replace("\\", "")
    return f"{block[1]}\n\n::\n\n{plain.strip(chr(10))}\n\n"
