"""How long a lecture takes, by one rule for all, and how much of its code only draws.

    python sources/minutes.py

A minute is 180 words, or 8 lines of code that are not folded. A displayed formula takes one minute, a
picture two thirds of one, a question one and a half, a live view with its tasks seven, and to that comes
what the cells take to run. Not counted are folded code (`tags=["hide-input"]`), texts that stand in for
pictures, the list of further reading, and the words of "Check yourself", since a question has its own
minutes. Sections whose heading begins with "Going deeper" count apart
from the core.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jupytext
from nbformat import NotebookNode

from autograder.order import by_number

WORDS_A_MINUTE = 180
LINES_A_MINUTE = 8
# What takes time beside words and lines: how it is found in a text or in code, and its minutes.
IN_TEXT = {
    r"\$\$.+?\$\$": 1,
    r"!\[[^\]]*\]\([^)]*\)": 2 / 3,
    r"<summary>Answer</summary>": 1.5,
}
IN_CODE = {
    r"\bplotting\.picture\(": 2 / 3,
    r"\bquestions\.ask\(": 1.5,
    r"\blive\.\w+_view\(": 7,
}
# The most that a core may ask of a reader.
CORE_LIMIT = 60
CORE_WORDS = 2200
CORE_LINES = 175
CORE_SECTIONS = 5
TOLERANCE = 0.15

DEEPER = re.compile(r"## (\d+\. )?Going deeper\b")
UNREAD = re.compile(r"## Further reading\b")
ASKED = re.compile(r"## (\d+\. )?(Check yourself|Questions)\b")
NUMBERED = re.compile(r"## \d+\. ")
STATED = re.compile(
    r"\*\*Time\*\* about (\d+) minutes with views and questions(?:, and (\d+) for going deeper)?\."
)
# What no reader reads as words: pictures, tags, targets of links.
SKIPPED = re.compile(r"!\[[^\]]*\]\([^)]*\)|<!--.*?-->|</?\w+[^>]*>|\]\([^)]*\)", re.DOTALL)


@dataclass
class Reading:
    """What one part of a lecture, its core or what goes deeper, asks of a reader."""

    sections: int = 0
    words: int = 0
    lines: int = 0
    seconds: float = 0.0
    others: float = 0.0

    @property
    def minutes(self) -> float:
        read = self.words / WORDS_A_MINUTE + self.lines / LINES_A_MINUTE
        return read + self.others + self.seconds / 60


def is_folded(cell: NotebookNode) -> bool:
    """Whether a reader sees only what the cell puts out."""
    return "hide-input" in cell.metadata.get("tags", [])


def words_in(text: str) -> int:
    """Words, numbers and symbols of formulas; marks such as | and - are none."""
    return sum(bool(re.search(r"[^\W_]", token)) for token in SKIPPED.sub(" ", text).split())


def lines_in(cell: NotebookNode) -> int:
    """Lines of code that a reader sees, without empty ones."""
    return 0 if is_folded(cell) else sum(bool(line.strip()) for line in cell.source.splitlines())


def others_in(text: str, kinds: dict[str, float]) -> float:
    """Minutes for what is neither a word nor a line of code: formulas, pictures, views, questions."""
    return sum(
        minutes * len(re.findall(pattern, text, re.DOTALL)) for pattern, minutes in kinds.items()
    )


def parts(notebook: NotebookNode) -> Iterator[tuple[str, NotebookNode, str]]:
    """("core", "deeper" or "unread", cell, text) for each cell, split where a section begins."""
    part = "core"
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            yield part, cell, cell.source
            continue
        for text in re.split(r"^(?=## )", cell.source, flags=re.MULTILINE):
            if text.startswith("## "):
                part = (
                    "deeper" if DEEPER.match(text) else "unread" if UNREAD.match(text) else "core"
                )
            yield part, cell, text


def readings(notebook: NotebookNode) -> dict[str, Reading]:
    """The readings of the core and of what goes deeper."""
    found = {"core": Reading(), "deeper": Reading(), "unread": Reading()}
    for part, cell, text in parts(notebook):
        reading = found[part]
        if cell.cell_type == "markdown":
            reading.sections += bool(NUMBERED.match(text))
            reading.words += 0 if ASKED.match(text) else words_in(text)
            reading.others += others_in(text, IN_TEXT)
        else:
            reading.lines += lines_in(cell)
            reading.others += others_in(text, IN_CODE)
            reading.seconds += cell.metadata.get("seconds", 0)
    del found["unread"]
    return found


def stated(notebook: NotebookNode) -> tuple[int, int] | None:
    """The minutes that the lecture's first page says, for the core and for going deeper."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    found = STATED.search(text)
    return (int(found[1]), int(found[2] or 0)) if found else None


def draws(cell: NotebookNode) -> bool:
    """Whether a cell of code makes a picture, or defines what does."""
    marks = r"\bplt\.|\bplotting\.(?!use_course_style)|\bax\.\w+\(|\.add_patch\("
    return cell.cell_type == "code" and bool(re.search(marks, cell.source))


def drawing_lines(notebook: NotebookNode) -> int:
    """Lines of code that a reader sees in cells that draw."""
    return sum(lines_in(cell) for cell in notebook.cells if draws(cell))


def only_asserts(cell: NotebookNode) -> bool:
    """Whether nothing in a cell of code is for the reader: every statement is an assert."""
    if cell.cell_type != "code":
        return False
    body = ast.parse(cell.source).body
    return bool(body) and all(isinstance(statement, ast.Assert) for statement in body)


def table(paths: list[Path]) -> str:
    """One line a lecture: minutes by the rule and as stated, what the core holds, lines that draw."""
    head = (
        f"{'lecture':<34}{'core':>6}{'stated':>8}{'deeper':>8}{'stated':>8}"
        f"{'sections':>10}{'words':>7}{'lines':>7}{'drawing':>9}"
    )
    rows = [head]
    for path in paths:
        notebook = jupytext.read(path, fmt="py:percent")
        found = readings(notebook)
        core, deeper = stated(notebook) or ("?", "?")
        rows.append(
            f"{path.stem:<34}{found['core'].minutes:>6.0f}{core:>8}{found['deeper'].minutes:>8.0f}"
            f"{deeper:>8}{found['core'].sections:>10}{found['core'].words:>7}{found['core'].lines:>7}"
            f"{drawing_lines(notebook):>9}"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    folder = Path(__file__).resolve().parent / "lectures"
    sys.stdout.write(table(sorted(folder.glob("*.py"), key=by_number)) + "\n")
