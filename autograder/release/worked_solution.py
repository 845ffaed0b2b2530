"""What students may read after the deadline: an assignment with its answers, and why they earn their points.

It is made from the source version, and holds what students had, the answers in their places, and behind each
what it is judged by and the sentences of mistakes that have a name. What grades stays behind: hidden tests, the
marks of nbgrader, and everything that says how a cell is graded.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from markupsafe import Markup
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme

from autograder.batch.release_text import title_in, without_self_check
from autograder.checks.check import Assignment, Part
from autograder.checks.mistakes import Mistake
from autograder.grade.feedback_page import code_as_html, text_as_html
from autograder.grade.formulas import formulas_set
from autograder.grade.report import CHECK, TEST, grade_id_of
from autograder.pages import render
from autograder.release.handed_out import BEGIN, BEGIN_SOLUTION, END, END_SOLUTION
from autograder.release.source import KERNEL
from autograder.release.tags import SET_UP

HANDED_OUT = re.compile(rf"^ *{BEGIN}$.*?^ *{END}$\n?", re.MULTILINE | re.DOTALL)
TAG = re.compile(rf"^ *(?:{BEGIN_SOLUTION}|{END_SOLUTION})$\n?", re.MULTILINE)
# how an author tells graders apart what a written answer must say
FOR_GRADERS = re.compile(r"^\*\*For the grader\.\*\*.*", re.MULTILINE | re.DOTALL)
# sections on how to answer and to hand in, which a reader of answers does not need
ON_HANDING_IN = re.compile(r"^## (?:How it works|Before you hand in)$", re.MULTILINE)
SECTION = re.compile(r"^##? ", re.MULTILINE)
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
FIGURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+\.svg)\)")
# a formula within a line that the source breaks, which stays whole in a notebook
BROKEN_FORMULA = re.compile(
    r"(?<![\\$\w])\$(?!\s)((?:[^$\n]|\n(?!\s*\n)){1,500}?)(?<!\s)\$(?![\w$])"
)
ANCHOR = "<b>¶</b>"  # what nbconvert puts behind a heading, once it is no link
DISPLAYED = re.compile(r'<math [^>]*display="block">.*?</math>', re.DOTALL)
ASKED = re.compile(r'^check\("(\w+)"\)$', re.MULTILINE)
TESTED = "<details><summary>The example below it</summary>{}</details>"
MOST_MISTAKES = 2  # of each step; authors put the usual ones first


def worked_solution(source: NotebookNode, assignment: Assignment) -> NotebookNode:
    """The notebook that students may read, from the source version, which is not changed."""
    notebook = nbformat.from_dict(source)
    for clear in (ClearHiddenTests(), ClearMarkScheme()):
        notebook, _ = clear.preprocess(notebook, {})
    parts = {part.name: part for part in assignment.parts}
    made = nbformat.v4.new_notebook(metadata={"kernelspec": dict(KERNEL)})
    left_out = False
    for cell in notebook.cells:
        name = grade_id_of(cell)
        if cell.cell_type == "markdown" and SECTION.search(cell.source):
            left_out = bool(ON_HANDING_IN.search(cell.source))
        if left_out and cell.cell_type == "markdown":
            continue
        if name.startswith((CHECK, SET_UP)) or "signoff" in cell.source or cell.source == "check()":
            continue
        cell.metadata = NotebookNode()
        cell.source = ASKED.sub(r"test_\1()", without_tags(cell.source))
        if cell.cell_type == "markdown":
            cell.source = without_self_check(FOR_GRADERS.sub("", cell.source)).rstrip()
        made.cells.append(cell)
        if part := parts.get(name):
            made.cells.append(new_markdown_cell(reasons(part), id=f"why-{name}"))
    first = made.cells[0]
    first.source = TITLE.sub(r"# \1 (a solution)", first.source, count=1)
    return made


def without_tags(source: str) -> str:
    """An answer without the marks around it, and without the code that was handed out in its place."""
    return TAG.sub("", HANDED_OUT.sub("", source)).strip("\n")


def reasons(part: Part) -> str:
    """What a part is judged by, and what usually goes wrong, as Markdown."""
    lines = [f"**What the {part.points:g} points of `{part.name}` are for**", ""]
    for step in part.steps:
        points = "1 point" if step.points == 1 else f"{step.points:g} points"
        lines.append(f"- {step.asks} ({points})")
    named = list(dict.fromkeys(_usual(part)))
    if named:
        lines += [
            "",
            "<details><summary>Mistakes that are made here, and what is said of them</summary>",
            "",
        ]
        lines += [f"- **{name}:** {' '.join(message.split())}" for name, message in named]
        lines += ["", "</details>"]
    text, link = part.reads
    if text:
        lines += ["", f"Read again: [{text}]({link})."]
    return "\n".join(lines)


def _usual(part: Part) -> Iterator[tuple[str, str]]:
    """Names and sentences of a few mistakes of each step."""
    for step in part.steps:
        of_step: list[Mistake] = [
            mistake
            for mistake in part.mistakes
            if step in mistake.costs or (not mistake.costs and step is part.steps[0])
        ]
        yield from ((one.name, one.message) for one in of_step[:MOST_MISTAKES])


def as_page(notebook: NotebookNode, folder: Path) -> str:
    """A worked solution as a single page that loads nothing, with pictures of this folder and no links into it."""
    cells = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            code = code_as_html(cell.source)
            cells.append(Markup(TESTED.format(code) if cell.id.startswith(TEST) else code))
        else:
            text = TITLE.sub("", cell.source, count=1) if number == 0 else cell.source
            whole = BROKEN_FORMULA.sub(lambda found: " ".join(found[0].split()), text)
            cells.append(Markup("".join(_with_pictures(whole, folder))))
    return render("solution.html", title=title_in(notebook), cells=cells)


def _with_pictures(text: str, folder: Path) -> Iterator[str]:
    """Markdown as HTML, with the drawings of the course in it."""
    *pieces, rest = FIGURE.split(text)
    for before, alt, address in zip(*[iter(pieces)] * 3, strict=True):
        yield _html(before)
        drawing = base64.b64encode((folder / address).read_bytes()).decode()
        words = Markup.escape(" ".join(alt.split()))
        yield f'<img alt="{words}" src="data:image/svg+xml;base64,{drawing}">'
    yield _html(rest)


def _html(text: str) -> str:
    """Markdown as HTML, in which wide formulas scroll, and headings have no anchors."""
    html = formulas_set(text_as_html(text)).replace(ANCHOR, "")
    return DISPLAYED.sub(r'<span class="wide" tabindex="0">\g<0></span>', html)
