"""The text of an assignment: its title, and how students get it, told to check their own notebook or not."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.files import digest_of

SELF_CHECK = re.compile(
    r"^(?:\*\*)?No instructor\?(?:(?!\n\n).)*(?:\n\n```\w*\n!?python -m autograder.*?```\n\n(?:(?!\n\n).)*)?\n\n",
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


def title_of(course: Path, assignment: str) -> str:
    """The first heading of an assignment's notebook; its id, if there is none."""
    # here, since what only reads texts does without nbgrader, which takes a while to import
    from autograder.batch.course import open_course

    folder = course / open_course(course).coursedir.source_directory / assignment
    try:
        notebook = nbformat.read(folder / f"{assignment}.ipynb", as_version=4)
    except (OSError, nbformat.reader.NotJSONError):
        return assignment
    return title_in(notebook) or assignment


def title_in(notebook: NotebookNode) -> str:
    """The first heading of a notebook; "" if it has none."""
    for cell in notebook.cells:
        heading = re.search(r"^# (.+)$", cell.source, re.MULTILINE)
        if cell.cell_type == "markdown" and heading:
            return heading[1].strip()
    return ""
