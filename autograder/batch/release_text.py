"""The text of an assignment: its title, and how students get it, told to check their own notebook or not."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.files import digest_of

# what the texts say of `check`, and what is said where the checks are not handed out
OF_CHECK = {
    re.compile(pattern.replace(" ", r"\s+"), re.DOTALL): instead
    for pattern, instead in {
        r"(It holds the example of the text), and `check` says .*? what your code does instead\.": r"\1.",
        r"`check` tries your code on (.*?)\. (Your points|The points of parts 1 to 3) are decided later by the same "
        r"checks, on inputs that are drawn anew\.": r"\2 are decided later by checks that try your code on \1.",
        r" The last cell sums up (?:all parts|parts 1 to 3)\.": "",
    }.items()
}


def own_text(solutions: Path, assignment: str) -> tuple[str, ...]:
    """Digests of the Markdown cells that stand in an assignment as it is given out, in either way."""
    notebook = nbformat.read(solutions / assignment / f"{assignment}.ipynb", as_version=4)
    texts = {cell.source for cell in notebook.cells if cell.cell_type == "markdown"}
    return tuple(sorted(map(digest_of, texts | set(map(without_self_check, texts)))))


def without_self_check(text: str) -> str:
    """A text of the course without what it says of `check`, which then runs the examples alone."""
    for pattern, instead in OF_CHECK.items():
        text = pattern.sub(instead, text)
    return text


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
