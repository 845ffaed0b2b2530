"""A part of the course: which lectures and assignments are given out, and texts without links to the rest.

1-8                  these lectures and their assignments
1-8 -a5 11           without assignment 5, and with lecture 11
-12                  everything but lecture 12 and its assignments
03_scaled_dot_product_attention a3_scaled_dot_product_attention
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import nbformat

from autograder.files import meant
from autograder.release.assignment import assignments_in
from autograder.release.source import Source, sources_in
from sources.course_map import course_map, tables

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
FENCED = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1[ \t]*$", re.MULTILINE | re.DOTALL)
RANGE = re.compile(r"(?<=\d)(?:\s+[-–]\s+|–)(?=\d)")  # as people write one who do not program
WORD = re.compile(r"(?P<without>-?)(?:(?P<first>\d+)(?:-(?P<last>\d+))?|(?P<name>\w+))")


class PartError(Exception):
    """There is no such part; the message says what was expected and found."""


@dataclass(frozen=True)
class Part:
    """What of the course is given out.

    Attributes:
        lectures, exercises: what belongs to it; none are named of the whole course.
        left_out: paths of the notebooks that do not, from the root on.
    """

    lectures: tuple[Source, ...] = ()
    exercises: tuple[Source, ...] = ()
    left_out: frozenset[str] = frozenset()

    @property
    def without(self) -> set[str]:
        """The ids of the assignments that are left out."""
        return {Path(path).stem for path in self.left_out if path.startswith("exercises/")}

    @property
    def numbers(self) -> list[int]:
        """The numbers of the lectures that belong to it; none of the whole course."""
        return [_number(lecture) for lecture in self.lectures]

    def teaches(self, lecture: int | str) -> bool:
        """Whether a lecture, by its number, belongs to it."""
        return not self.lectures or int(lecture) in self.numbers

    def without_links(self, text: str, place: str) -> str:
        """A text of Markdown in which nothing leads to what is left out.

        Args:
            text: the Markdown.
            place: its file's path from the root on.
        """

        def adjusted(found: re.Match[str]) -> str:
            target = posixpath.join(posixpath.dirname(place), unquote(found[2]))
            return found[1] if posixpath.normpath(target) in self.left_out else found[0]

        return each_link(text, adjusted)

    def without_rows(self, text: str) -> str:
        """A text of Markdown whose tables have no rows on the assignments that are left out."""
        ids = "|".join(map(re.escape, self.without))
        of_others = rf"^\| (?:{ids}) \|.*\n"
        return re.sub(of_others, "", text, flags=re.MULTILINE) if ids else text

    def cut(self, folder: Path) -> None:
        """Take what is left out, and every link to it, out of a copy of the course."""
        for name in self.left_out:
            (folder / name).unlink()
            if name.startswith("exercises/"):
                (folder / name).parent.rmdir()
        for path in folder.rglob("*.md"):
            text = path.read_text(encoding="utf-8")
            place = path.relative_to(folder).as_posix()
            path.write_text(self.without_links(self.without_rows(text), place), encoding="utf-8")
        for path in folder.rglob("*.ipynb"):
            notebook = nbformat.read(path, as_version=4)
            self.cut_notebook(notebook, path.relative_to(folder).as_posix())
            path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
        text = course_map(self.lectures, self.exercises)
        (folder / "course_map.md").write_text(text, encoding="utf-8")

    def cut_notebook(self, notebook: nbformat.NotebookNode, place: str) -> None:
        """Take links to what is left out from a notebook's text."""
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = self.without_links(cell.source, place)

    @property
    def tables(self) -> str:
        """The two tables of README.md."""
        return tables(self.lectures, self.exercises)


WHOLE = Part()


def each_link(text: str, adjusted: Callable[[re.Match[str]], str]) -> str:
    """The text with every link of Markdown replaced, but for those in code, which stays as it is."""
    between = 0
    pieces = []
    for code in FENCED.finditer(text):
        pieces += [LINK.sub(adjusted, text[between : code.start()]), code[0]]
        between = code.end()
    return "".join([*pieces, LINK.sub(adjusted, text[between:])])


def part_of(only: str) -> Part:
    """The part that these words name; the whole course if there are none.

    Raises:
        PartError: they name something that is not there, or nothing is left.
    """
    words = RANGE.sub("-", only).replace(",", " ").split()
    if not words:
        return WHOLE
    lectures = sources_in(ROOT, "sources/lectures/*.py", r"[0-9]{2,}_\w+", "10_long_sentences.py")
    exercises = assignments_in(ROOT / "assignments")
    chosen: set[str] = set()
    if words[0].startswith("-"):
        chosen = {source.name for source in (*lectures, *exercises)}
    for word in words:
        named = _named(word, lectures, exercises)
        chosen = chosen - named if word.startswith("-") else chosen | named
    read = tuple(source for source in lectures if source.name in chosen)
    answered = tuple(source for source in exercises if source.name in chosen)
    if not read:
        raise PartError(f"expected at least one lecture in {only!r}, found none")
    places = {source.name: f"lectures/{source.name}.ipynb" for source in lectures}
    places |= {source.name: f"exercises/{source.name}/{source.name}.ipynb" for source in exercises}
    left_out = frozenset(place for name, place in places.items() if name not in chosen)
    return Part(read, answered, left_out)


def _named(word: str, lectures: Sequence[Source], exercises: Sequence[Source]) -> set[str]:
    """The names of the notebooks that a word stands for; a lecture brings its assignments along.

    Raises:
        PartError: it stands for none.
    """
    found = WORD.fullmatch(word)
    names: set[str] = set()
    if found and found["name"]:
        names = {source.name for source in lectures if source.name == found["name"]}
        names |= {
            source.name
            for source in exercises
            if found["name"] in (source.name, source.name.partition("_")[0])
        }
    elif found:
        numbers = range(int(found["first"]), int(found["last"] or found["first"]) + 1)
        names = {source.name for source in lectures if _number(source) in numbers}
        if len(names) != len(numbers):
            names = set()
    if not names:
        first, last = (exercises[place].name.partition("_")[0] for place in (0, -1))
        question = meant(word.lstrip("-"), [source.name for source in (*lectures, *exercises)])
        raise PartError(
            f"expected numbers of lectures from 1 to {_number(lectures[-1])}, such as 1-8, assignments from {first} to "
            f"{last}, or the name of one, found {word!r}. {question}".rstrip()
        )
    return names | {source.name for source in exercises if source.course.get("lecture") in names}


def _number(lecture: Source) -> int:
    return int(lecture.name.partition("_")[0])
