"""What went wrong in a submission, part by part, as the page of the class counts it."""

from __future__ import annotations

import io
import json
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from autograder.checks.verdicts import Behaviour, Obstacle
from autograder.files import printable
from autograder.grade.report import Report

MOST_LINES, LONGEST_LINE = 60, 120  # of code that is shown


@dataclass(frozen=True)
class Finding:
    """What kept points back in one part.

    Attributes:
        part: its name.
        mistakes: (name, sentence) of the mistakes that were made.
        relations: names of how the result differs, where no mistake has a name.
        obstacle: what kept the part from being decided.
        missed: what the first step asks that earned less than its points.
        also: how many further steps are wrong, and not charged again.
        code: the student's own, without what could tell who wrote it.
        behaviour: what it does on the class's inputs, where nothing tells what is wrong with it.
    """

    part: str
    mistakes: tuple[tuple[str, str], ...] = ()
    relations: tuple[str, ...] = ()
    obstacle: Obstacle = Obstacle.NONE
    missed: str = ""
    also: int = 0
    code: str = ""
    behaviour: Behaviour | None = None


def findings_in(result: Report, student: str) -> Iterator[Finding]:
    """A finding for each part that lost points; the student's id is taken out of the code."""
    lost = {part: verdict for part, verdict in result.verdicts.items() if not verdict.right}
    cells = json.loads(result.notebook)["cells"] if lost else []
    cells = [cell for cell in cells if cell["cell_type"] == "code"]
    for part, verdict in lost.items():
        yield Finding(
            part,
            verdict.mistakes,
            tuple(name for name, _ in verdict.relations),
            verdict.obstacle,
            next((step.asks for step in verdict.steps if step.earned < step.points), ""),
            sum(step.state == "also" for step in verdict.steps),
            anonymous(_answer_to(part, cells), student),
            result.behaviours.get(part),
        )


def _answer_to(part: str, cells: list[dict[str, Any]]) -> str:
    """The source of the cell that answers a part: nbgrader's own, else one that defines it."""
    defines = re.compile(rf"^[^\S\n]*(def|class)\s+{re.escape(part)}\b", re.MULTILINE)
    released = own = ""
    for cell in cells:
        source, marks = "".join(cell["source"]), cell["metadata"].get("nbgrader", {})
        if marks.get("solution") and marks.get("grade_id") == part:
            released = source
        if defines.search(source) and not marks.get("locked"):
            own = source
    return released if defines.search(released) else own or released


def anonymous(code: str, student: str) -> str:
    """Code without comments and without the student's id, cut to what a page can show."""
    code = code.replace("\r\n", "\n").replace("\r", "\n")
    lines = code.split("\n")  # as Python's reader does, to which other line ends are letters
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
    except (tokenize.TokenError, SyntaxError, IndexError):
        lines = [line.partition("#")[0] for line in lines]
    name = re.compile(rf"(?<!\w){re.escape(student)}(?!\w)", re.IGNORECASE)
    lines = [printable(name.sub("…", line.expandtabs(4)).rstrip()) for line in lines]
    lines = [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines]
    lines = "\n".join(lines).strip("\n").split("\n")
    return "\n".join([*lines[:MOST_LINES], "…"] if len(lines) > MOST_LINES else lines)
