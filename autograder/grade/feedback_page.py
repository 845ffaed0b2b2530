"""The page that a student reads: what was earned, what to mend first, and each part of the work.

Points and comments come from whoever asks for the page, verdicts from the report, code and outputs from
the notebook as it was graded. Nothing that a student wrote is put there but escaped, or cleaned after rendering.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

from nbconvert.filters import strip_ansi
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from autograder.bounds import (
    LONGEST_COLOURED,
    LONGEST_TEXT,
    ROOM_FOR_CODE,
    ROOM_FOR_OUTPUTS,
    ROOM_FOR_TEXT,
)
from autograder.checks.rendering import pictured_step
from autograder.checks.verdicts import Obstacle, PartVerdict, StepVerdict
from autograder.grade.report import CHECK, TEST, Report, error_in, grade_id_of
from autograder.grade.sanitize import GAP, clean, is_readable, rendered
from autograder.grade.submission import PICTURE
from autograder.pages import render

TITLE, HEADING = re.compile(r"^# +(.+)$", re.MULTILINE), re.compile(r"^## +(.+)$", re.MULTILINE)
NUMBER = re.compile(r"^(\d+)\. +")
LINK = re.compile(r"<a [^<>]*>(.*?)</a>", re.DOTALL)  # pages leave the folder that links start from
NO_ROOM = "<p>Something here is too long for this page; it stands in your notebook.</p>"
ASKS = re.compile(r'^check\("\w+"\)$', re.MULTILINE)


@dataclass(frozen=True)
class Mark:
    """What the gradebook holds of a cell that earns points.

    Attributes:
        score: points, as they count.
        of: points that there are.
        by_hand: a person gave them.
        earlier: a person gave them for an earlier version of the work.
        waits: nobody has given any so far.
        found: what the checks gave, where a person gave something else.
        extra: points on top, which are part of ``score``.
    """

    score: float
    of: float
    by_hand: bool = False
    earlier: bool = False
    waits: bool = False
    found: float | None = None
    extra: float = 0.0


@dataclass(frozen=True)
class Task:
    """Something of an assignment that earns points, as its text presents it.

    Attributes:
        cell: id of the cell that holds the points.
        name: what is to be defined; for an answer in words, the cell's id.
        title: the heading above, without its number.
        number: that number; "" if it has none.
        of: points that there are.
        in_words: it is answered in words, and read by a person.
        question: the text before, Markdown, where it is answered in words.
    """

    cell: str
    name: str
    title: str
    number: str
    of: float
    in_words: bool
    question: str = ""


@dataclass(frozen=True)
class Plan:
    """An assignment as it was given out.

    Attributes:
        title: in words.
        tasks: in the order of the text.
        given: sources of all its cells, which are nobody's own.
    """

    title: str
    tasks: tuple[Task, ...]
    given: frozenset[str] = frozenset()

    @property
    def of(self) -> float:
        return sum(task.of for task in self.tasks)


@dataclass
class Section:
    """A part of the page: a task, and what a student did about it."""

    task: Task
    mark: Mark
    verdict: PartVerdict | None = None
    doubted: bool = False  # its visible test says that something is wrong
    comment: str = ""
    code: list[str] = field(default_factory=list)
    answer: str = ""
    tests: str = ""
    stopped: str = ""  # the error with which the visible tests stop
    traceback: str = ""
    own: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    asked: str = ""  # why the student asks a person to look again
    lecture: str = ""  # address of the one to read again; "" if it leads nowhere

    @property
    def anchor(self) -> str:
        return f"part-{self.task.number or self.task.name}"

    @property
    def answered(self) -> bool:
        if self.verdict is None:
            return bool(self.answer) or not self.task.in_words
        return self.verdict.obstacle is not Obstacle.UNANSWERED

    @property
    def right(self) -> bool:
        return self.mark.score >= self.task.of and not self.mark.waits

    @property
    def state(self) -> str:
        if self.mark.waits:
            return "waits"
        return "right" if self.right else "wrong"

    @property
    def excused(self) -> bool:
        """A person gave all points although the checks found something."""
        found_wrong = self.verdict is not None and not self.verdict.right
        return self.mark.by_hand and self.right and found_wrong

    @property
    def pictured(self) -> StepVerdict | None:
        return pictured_step(self.verdict) if self.verdict else None

    @property
    def told(self) -> StepVerdict | None:
        """The step whose problem is told unfolded: none where a mistake has a name, or a picture."""
        if not self.verdict or self.verdict.mistakes or self.verdict.relations or self.pictured:
            return None
        wrong = [step for step in self.verdict.steps if step.problem]
        return min(wrong, key=lambda step: step.state == "also", default=None)


def plan_of(notebook: NotebookNode) -> Plan:
    """What an assignment asks, in the words of a notebook with the solutions, or one that was handed in."""
    title = heading = ""
    question: list[str] = []
    tasks = []
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        name, points = grade_id_of(cell), marks.get("points")
        if cell.cell_type == "markdown" and not marks:
            title = title or _first(TITLE, cell.source)
            if _first(HEADING, cell.source):
                heading, question = _first(HEADING, cell.source), []
            question.append(HEADING.sub("", cell.source))
        elif marks.get("grade") and isinstance(points, int | float) and 0 < points < 1000:
            found = NUMBER.match(heading)
            in_words = not name.startswith(CHECK)
            task = Task(
                cell=name,
                name=name if in_words else name.removeprefix(CHECK),
                title=NUMBER.sub("", heading) or name.removeprefix(CHECK),
                number=found[1] if found else "",
                of=float(points),
                in_words=in_words,
                question="\n\n".join(question) if in_words else "",
            )
            tasks.append(task)
    return Plan(title, tuple(tasks), frozenset(cell.source for cell in notebook.cells))


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1].strip() if found else ""


def on_site(site: str, link: str) -> str:
    """The address on the course's website of what an assignment links to; "" if there is no site.

    Args:
        site: address of the website; "" if there is none.
        link: from the assignment's folder, such as ``../../lectures/02_title.ipynb#A-heading``.
    """
    site = site.rstrip("/")
    path, mark, anchor = link.partition("#")
    page = re.sub(r"\.(ipynb|md)$", ".html", path.lstrip("./"))
    return f"{site}/{page}{mark}{anchor}" if site else ""


def feedback_page(
    plan: Plan,
    notebook: NotebookNode,
    report: Report,
    marks: Mapping[str, Mark],
    comments: Mapping[str, str] | None = None,
    penalty: float = 0.0,
    alone: bool = False,
    leads_to: Callable[[str], str] = lambda _: "",
) -> str:
    """The page on one submission.

    Args:
        notebook: as graded.
        report: what became of it, see `report_in`.
        marks: points by the id of the cell that holds them.
        comments: a person's, Markdown, by the id of the cell that they are about.
        penalty: points taken off for coming in late.
        alone: the student graded the work: nobody else has seen it.
        leads_to: gives the address of a file of the course, as seen from the page, from its link as
            seen from the assignment; "" if it cannot be reached.
    """
    comments = comments or {}
    sections = list(_sections(plan, notebook, report, marks))
    for section in sections:
        about = (section.task.name, section.task.cell)
        told = [comments[name] for name in dict.fromkeys(about) if comments.get(name)]
        if section.verdict and section.verdict.reads[1]:
            section.lecture = leads_to(section.verdict.reads[1])
        section.comment = text_as_html("\n\n".join(told)) if told else ""
    known = {name for section in sections for name in (section.task.name, section.task.cell)}
    others = [text_as_html(text) for name, text in comments.items() if text and name not in known]
    cells = {section.task.cell for section in sections}
    beside = {name: mark.score for name, mark in marks.items() if mark.score and name not in cells}
    earned = sum(section.mark.score for section in sections) + sum(beside.values())
    return render(
        "feedback.html",
        title=plan.title,
        sections=sections,
        earned=max(earned - penalty, 0.0),
        before=earned,
        beside=beside,
        of=sum(section.task.of for section in sections),
        waiting=sum(section.task.of for section in sections if section.mark.waits),
        penalty=penalty,
        comments=others,
        first=next((item for item in sections if item.state == "wrong"), None),
        ended=_ended(sections),
        doubted=next((item for item in sections if item.doubted), None),
        excused=next((item for item in sections if item.excused), None),
        restored=_restored(report),
        alone=alone,
    )


def _ended(sections: Iterable[Section]) -> str:
    """Why the notebook could not be run to its end, if it could not."""
    verdicts = [section.verdict for section in sections if section.verdict]
    return next(
        (verdict.remark for verdict in verdicts if verdict.obstacle is Obstacle.STOPPED), ""
    )


def _restored(report: Report) -> list[tuple[str, Sequence[str]]]:
    """Locked cells that were put right, as (what was done to them, names)."""
    return [(what, names) for what, names in asdict(report.restored).items() if names]


class Room:
    """How much of a student's own a page takes, in characters of HTML."""

    def __init__(self, most: int) -> None:
        self.left = most
        self._said = False

    def take(self, html: str | None) -> str:
        """The HTML; where there is no room for it, a note the first time, and then nothing."""
        if html is None or len(html) > self.left:
            note = "" if self._said else NO_ROOM
            self._said = True
            return note
        self.left -= len(html)
        return html


def _sections(
    plan: Plan, notebook: NotebookNode, report: Report, marks: Mapping[str, Mark]
) -> Iterator[Section]:
    """Go through the graded notebook; all between two cells with points belongs to the second."""
    asked = {one.part: one.why for one in report.appeals}
    sections = {
        task.cell: Section(
            task,
            marks.get(task.cell) or Mark(0.0, task.of),
            report.verdicts.get(task.name),
            doubted=task.name in report.doubted,
            asked=asked.get(task.name, ""),
        )
        for task in plan.tasks
    }
    budgets = Room(ROOM_FOR_CODE), Room(ROOM_FOR_TEXT), Room(ROOM_FOR_OUTPUTS)
    waiting: list[NotebookNode] = []
    for cell in notebook.cells:
        waiting.append(cell)
        section = sections.get(grade_id_of(cell))
        if section:
            _fill(section, waiting, plan.given, budgets)
            waiting = []
    if waiting and sections:
        _fill(list(sections.values())[-1], waiting, plan.given, budgets)
    for name in sections.keys() & set(report.unanswered):
        sections[name].answer = ""
    return iter(sections.values())


def _fill(
    section: Section,
    cells: Iterable[NotebookNode],
    given: frozenset[str],
    budgets: tuple[Room, Room, Room],
) -> None:
    """Put into a section what a student wrote and what came of it."""
    for_code, for_text, for_outputs = budgets
    task = section.task
    # within a line: a search that ran on from one empty line to the next would never end
    defines = re.compile(rf"^[^\S\n]*(def|class)\s+{re.escape(task.name)}\b", re.MULTILINE)
    for cell in cells:
        name, outputs = grade_id_of(cell), cell.get("outputs", [])
        if name == task.cell and not task.in_words:
            continue  # what the check says stands in the report
        if name == task.cell:
            render = code_as_html if cell.cell_type == "code" else text_as_html
            section.answer = for_text.take(render(cell.source)) if cell.source.strip() else ""
        elif name.startswith(TEST):
            # an example that only `check` would run did neither pass nor stop
            section.tests = "" if ASKS.search(cell.source) else code_as_html(cell.source)
            section.stopped, section.traceback = error_in(outputs)
        elif name or (cell.cell_type == "code" and defines.search(cell.source)):
            section.code.append(for_code.take(code_as_html(cell.source)))
            section.outputs.extend(map(for_outputs.take, outputs_as_html(outputs)))
        elif cell.source not in given and cell.source.strip():
            code = cell.cell_type == "code"
            room, render = (for_code, code_as_html) if code else (for_text, text_as_html)
            section.own.append(room.take(render(cell.source)))
            section.own.extend(map(for_outputs.take, outputs_as_html(outputs)))


def outputs_as_html(outputs: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What a cell of a student's showed, output by output; nothing of it loads or runs."""
    for output in outputs:
        data = output.get("data", {})
        pictures = (kind for kind in ("image/png", "image/jpeg") if kind in data)
        kind = next(pictures, "")
        if output.get("output_type") == "stream":
            yield _pre(output.get("text", ""))
        elif output.get("output_type") == "error":
            yield _pre("\n".join(output.get("traceback", []))[-6000:])
        elif kind and PICTURE.fullmatch(kind):
            packed = re.sub(r"[^A-Za-z0-9+/=]", "", data[kind])
            yield f'<img alt="a picture that your cell drew" src="data:{kind};base64,{packed}">'
        elif "text/html" in data and len(data["text/html"]) <= LONGEST_TEXT:
            yield f'<div class="wide" tabindex="0">{without_links(clean(data["text/html"]))}</div>'
        elif "text/plain" in data:
            yield _pre(data["text/plain"])


def _pre(text: str) -> str:
    return f'<pre tabindex="0">{escape(strip_ansi(text))}</pre>'


def code_as_html(source: str) -> str:
    """Code in colours; long code without, and what has gaps that Pygments goes through over and over."""
    if len(source) > LONGEST_COLOURED or GAP.search(source):
        return _pre(source)
    coloured = highlight(source, PythonLexer(), HtmlFormatter(nowrap=True))
    return f'<pre class="code" tabindex="0"><code>{coloured}</code></pre>'


def text_as_html(source: str) -> str:
    """Markdown, rendered and cleaned."""
    if not is_readable(source):
        return _pre(source)
    return without_links(rendered(source))


def without_links(html: str) -> str:
    """Clean HTML in which links into the course are plain text: the page has left its folder."""
    return LINK.sub(_as_text, html)


def _as_text(link: re.Match[str]) -> str:
    address = re.search(r'href="([^"]*)"', link[0])
    if address and re.match(r"https?:|mailto:", address[1], re.IGNORECASE):
        return link[0]
    return f"<b>{link[1]}</b>"


def page_that_could_not_be_run(
    plan: Plan, report: Report, given: float | None = None, comments: Collection[str] = ()
) -> str:
    """The page of a submission from which no points could come; the reason may be an error of the grader's own.

    Args:
        given: the points of somebody whose work is settled by hand; None for everybody else.
        comments: of a person.
    """
    return render(
        "broken.html",
        title=plan.title,
        of=plan.of,
        reason=report.told or report.broken,
        no_json=report.no_json,
        ours=bool(report.faults),
        given=given,
        comments=list(dict.fromkeys(comments)),
    )
