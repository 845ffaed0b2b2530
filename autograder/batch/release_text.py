"""The text of an assignment as students get it: with how to check one's own notebook, or without."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat

from autograder.files import digest_of

SELF_CHECK = re.compile(
    r"^(?:\*\*)?No instructor\?(?:(?!\n\n).)*(?:\n\n```\npython -m autograder.*?```\n\n(?:(?!\n\n).)*)?\n\n",
    re.MULTILINE | re.DOTALL,
)


def own_text(solutions: Path, assignment: str) -> tuple[str, ...]:
    """Digests of the Markdown cells that stand in an assignment as it is given out, in either way."""
    notebook = nbformat.read(solutions / assignment / f"{assignment}.ipynb", as_version=4)
    texts = {cell.source for cell in notebook.cells if cell.cell_type == "markdown"}
    return tuple(sorted(map(digest_of, texts | set(map(without_self_check, texts)))))


def without_self_check(text: str) -> str:
    """A text of the course, without the paragraphs on how to check one's own notebook.

    They begin with "No instructor?" and name the command; one that stands in a block of its own
    takes the paragraph behind it along.
    """
    return SELF_CHECK.sub("", text)
