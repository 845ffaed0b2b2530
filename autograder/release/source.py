"""A notebook as its author writes it: a py:percent file, with a title and a header."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from autograder.batch.release_text import title_in
from autograder.order import by_number
from autograder.release.tags import BuildError

ASSIGNMENT_TEXT = "notebook.py"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
ASSIGNMENT_NAME, ASSIGNMENT_EXAMPLE = r"a[1-9][0-9]*_\w+", "a10_long_sentences"


@dataclass(frozen=True)
class Source:
    """One py:percent file and the notebook read from it, before any metadata is added."""

    path: Path
    notebook: NotebookNode

    @property
    def name(self) -> str:
        return name_of(self.path)

    @property
    def file(self) -> str:
        """As messages name it."""
        of_assignment = self.path.name == ASSIGNMENT_TEXT
        return f"{self.name}/{ASSIGNMENT_TEXT}" if of_assignment else self.path.name

    @property
    def course(self) -> dict:
        return self.notebook.metadata.get("course", {})

    @property
    def title(self) -> str:
        title = title_in(self.notebook)
        if not title:
            raise BuildError(f"{self.file}: no title. Begin the first markdown cell with '# …'.")
        return title


def name_of(path: Path) -> str:
    """What a source is called: an assignment after its folder, a lecture after its file."""
    return path.parent.name if path.name == ASSIGNMENT_TEXT else path.stem


def read_source(path: Path) -> Source:
    """Read one source and check what every notebook needs."""
    source = Source(path, jupytext.read(path, fmt="py:percent"))
    for field in ("summary", "minutes"):
        if field not in source.course:
            raise BuildError(
                f"{source.file}: the header has no 'course: {field}:' entry, which the course map "
                "shows. Add it under 'jupyter:' in the first lines of the file."
            )
    for field in ("minutes", "deeper"):
        if not isinstance(source.course.get(field, 0), int):
            raise BuildError(
                f"{source.file}: 'course: {field}:' in the header is '{source.course[field]}'. The "
                "course map adds up minutes: give a whole number."
            )
    return source


def in_order(paths: Iterable[Path]) -> list[Path]:
    """By the numbers of what they hold: a10 after a9, 10 after 09."""
    return sorted(paths, key=lambda path: by_number(name_of(path)))


def sources_in(root: Path, files: str, form: str, example: str) -> list[Source]:
    """The sources that a pattern finds, in the order of the course, which their names tell."""
    paths = in_order(root.glob(files))
    for path in paths:
        if not re.fullmatch(form, name_of(path)):
            raise BuildError(
                f"{path.relative_to(root)}: the name does not tell its place in the course. Give it "
                f"one such as {example}."
            )
    return [read_source(path) for path in paths]


def slug(text: str) -> str:
    """A heading as a cell id can hold it: lower case, words joined by hyphens."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return words[:40].strip("-") or "section"


def give_ids(notebook: NotebookNode, name: str) -> None:
    """Give each cell a stable id: its grade_id, else the heading it stands under and a count."""
    section, taken = "start", set()
    count: Counter[str] = Counter()
    for cell in notebook.cells:
        heading = re.match(r"^#+ (.+)$", cell.source, re.MULTILINE)
        if cell.cell_type == "markdown" and heading:
            section = slug(heading.group(1))
        if "nbgrader" in cell.metadata:
            cell.id = cell.metadata.nbgrader.grade_id
        elif "id" in cell.metadata:
            cell.id = cell.metadata.pop("id")
        else:
            count[section] += 1
            cell.id = f"{section}-{count[section]}"
        if cell.id in taken:
            raise BuildError(
                f"{name}: two cells have the id '{cell.id}'. Give one of the headings, or one of "
                'the cells (id="…"), another name.'
            )
        taken.add(cell.id)


def clean_metadata(notebook: NotebookNode, course: dict) -> None:
    """Keep what a reader's Jupyter needs; drop what would differ between two builds."""
    notebook.metadata = NotebookNode(
        course=NotebookNode(course),
        kernelspec=NotebookNode(KERNEL),
        language_info={"name": "python"},
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    nbformat.validate(notebook)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
