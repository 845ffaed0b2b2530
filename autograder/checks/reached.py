"""What the code of a part reaches: by names in the notebook, and by imports in the files beside it.

A file counts for what is imported of it, and not because it lies there: a helper that nobody imports, or another
function of an imported one, is nobody's answer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from autograder.bounds import MOST_CODE
from autograder.checks.notebook_source import (
    SPECIAL,
    Definitions,
    Statement,
    nodes_in,
    once_a_cell,
    statements_of,
)

NOTEBOOK = ""  # where the other places are files, by their relative names
# what runs, or reads to run, the code of a text or of the file that it names
RUNNERS = frozenset({
    "exec", "eval", "compile", "open", "Path", "__import__", "import_module", "run_module", "run_path",
    "spec_from_file_location", "run_line_magic", "run_cell_magic",
})  # fmt: skip
IMPORTED_IN_A_TEXT = re.compile(r"\b(?:import|from)\s+([\w.]+)")
FILE_IN_A_TEXT = re.compile(r"[\w./-]+\.py\b")


@dataclass(frozen=True)
class Reached:
    """A statement that a part reaches.

    Attributes:
        place: `NOTEBOOK`, or the file in which it stands.
        only_runs: it is an import that runs when its file is imported, whoever uses what it brings.
    """

    statement: Statement
    place: str
    only_runs: bool = False


class Code:
    """A notebook's cells, and the files beside it that they name."""

    def __init__(self, cells: tuple[str, ...], beside: tuple[tuple[str, str], ...] = ()) -> None:
        self.cells, self.files = cells, dict(_as_much_as_is_read(cells, beside))
        self._modules: dict[str, list[str]] = {}  # files by the last word of their dotted names
        for file in self.files:
            self._modules.setdefault(_dotted(file).rpartition(".")[2], []).append(file)
        self._own: dict[str, set[str]] = {}
        self._given: dict[str, dict[str, set[str]]] = {}

    def texts(self, place: str) -> tuple[str, ...]:
        """What is written in a place."""
        return self.cells if place == NOTEBOOK else (self.files[place],)

    def definitions(self, place: str) -> Definitions:
        """The statements of a place by the names that they bind."""
        return Definitions.of(self.texts(place))

    def reached_from(self, part: str, but: Iterable[str] = ()) -> Iterator[Reached]:
        """Every statement that the definition of a part can reach; other parts are passed over.

        What a star brings in has no name here, so it counts for every part.
        """
        walk = _Walk(self, {(NOTEBOOK, name) for name in {*but} - {part}})
        walk.want(NOTEBOOK, "*")
        walk.want(NOTEBOOK, part)
        yield from walk

    def own(self, place: str) -> set[str]:
        """Names that are the student's own in a place: made there, or taken from a file beside, where they are."""
        if place not in self._own:
            self._own[place] = {
                *self.definitions(place).own
            }  # while files that import each other are read
            self._own[place] |= self.given_in(place).keys()
        return self._own[place]

    def given_in(self, place: str) -> dict[str, set[str]]:
        """The same as `given_by`, of all statements of a place."""
        if place not in self._given:
            self._given[place] = {}
            for statements in self.definitions(place).statements.values() if self.files else ():
                for name, own in (
                    pair for each in statements for pair in self.given_by(place, each).items()
                ):
                    self._given[place].setdefault(name, set()).update(own)
        return self._given[place]

    def given_by(self, place: str, statement: Statement) -> dict[str, set[str]]:
        """Names that the imports in a statement give to what is the student's own, and what is so inside of them.

        The latter are names in a file, where the whole file has that name.
        """
        found: dict[str, set[str]] = {}
        for node in statement.nodes if self.files else ():
            if isinstance(node, ast.ImportFrom):
                for file in self.imported_from(place, node):
                    own = self.own(file)
                    found |= {
                        each.asname or each.name: set() for each in node.names if each.name in own
                    }
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    for file in self.files_of(alias.name):
                        name = alias.asname or alias.name.partition(".")[0]
                        found.setdefault(name, set()).update(self.own(file))
        return found

    def files_of(self, module: str, near: str = "") -> list[str]:
        """The files that a module may be: where none has this very name, those of other folders."""
        name = f"{near}.{module}".strip(".")
        called = self._modules.get(name.rpartition(".")[2], ())
        exact = [file for file in called if _dotted(file) == name]
        return exact or [file for file in called if f".{_dotted(file)}".endswith(f".{name}")]

    def packages_of(self, module: str, near: str = "") -> list[str]:
        """The files of the packages in which a module lies: they run before it."""
        words = f"{near}.{module}".strip(".").split(".")
        return [
            file
            for count in range(1, len(words))
            for file in self.files_of(".".join(words[:count]))
        ]

    def imported_from(self, place: str, node: ast.ImportFrom) -> list[str]:
        """The files of the module from which such an import takes names."""
        return self.files_of(node.module or "", _package(place, node.level))

    def named_in(self, text: str) -> Iterator[str]:
        """Files that a text names, as for `%run`, `exec` and `importlib`."""
        for named in FILE_IN_A_TEXT.findall(text):
            path = named.removeprefix("./")
            yield from (file for file in self.files if f"/{file}".endswith(f"/{path}"))
        for module in [*IMPORTED_IN_A_TEXT.findall(text), text.strip()]:
            yield from self.files_of(module)

    def line_of(self, place: str, number: int, word: str) -> tuple[int, str]:
        """The line of a place in which a word stands, as near to this number as cells allow; (0, "") if none has it."""
        found = (0, "")
        for text in self.texts(place):
            for count, line in enumerate(text.splitlines(), 1):
                if word in line and (count == number or not found[0]):
                    found = count, line.strip()
                    if count == number:
                        return found
        return found


class _Walk:
    """What is still to be read, and how files and names hang together in the places that were reached."""

    def __init__(self, code: Code, done: set[tuple[str, str]]) -> None:
        self.code, self._done = code, done
        self._todo: list[tuple[str, str]] = []
        self._ran: list[Reached] = []
        self._open: dict[str, set[str]] = {}  # files that a place has as a whole
        self._words: dict[str, set[str]] = {}  # attributes and texts in what was reached of a place
        self._starred: dict[str, set[str]] = {}  # files whose names are a place's own
        self._running: set[tuple[str, bool]] = set()
        self._run(NOTEBOOK, like_a_cell=True)

    def __iter__(self) -> Iterator[Reached]:
        seen: set[tuple[str, int]] = set()  # one that binds many names is read once
        while self._todo or self._ran:
            while self._ran:
                yield self._ran.pop()
            if not self._todo:
                return
            place, name = self._todo.pop()
            for statement in self.code.definitions(place).statements.get(name, []):
                if (place, id(statement)) not in seen:
                    seen.add((place, id(statement)))
                    yield Reached(statement, place)
                    self._follow(place, statement)
            for file in self._starred.get(place, ()):
                self.want(file, name)

    def want(self, place: str, name: str) -> None:
        if (place, name) not in self._done:
            self._done.add((place, name))
            self._todo.append((place, name))

    def _follow(self, place: str, statement: Statement) -> None:
        for name in statement.needs:
            self.want(place, name)
        if not self.code.files:
            return
        for node in statement.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._opened(place, alias.name)
            elif isinstance(node, ast.ImportFrom):
                self._taken_from(place, node)
        words = self._words.setdefault(place, set())
        new = {getattr(node, "attr", text) for node, text in statement.names} - words
        words |= new
        for file in self._open.get(place, ()):
            for word in new:
                self.want(file, word)

    def _opened(self, place: str, module: str, near: str = "") -> None:
        """Let a place have a module as a whole: what it names in it is reached."""
        for file in [*self.code.packages_of(module, near), *self.code.files_of(module, near)]:
            self._run(file)
            self._open.setdefault(place, set()).add(file)
            for word in self._words.get(place, ()):
                self.want(file, word)

    def _taken_from(self, place: str, node: ast.ImportFrom) -> None:
        module, near = node.module or "", _package(place, node.level)
        files = self.code.files_of(module, near)
        for file in [*self.code.packages_of(module, near), *files]:
            self._run(file)
        for alias in node.names:
            for file in files:
                if alias.name == "*":
                    self._star(place, file)
                else:
                    self.want(file, alias.name)
            self._opened(place, f"{module}.{alias.name}".strip("."), near)

    def _star(self, place: str, file: str, like_a_cell: bool = False) -> None:
        self._run(file, like_a_cell)
        self._starred.setdefault(place, set()).add(file)
        for other, name in [*self._done]:
            if other == place:
                self.want(file, name)

    def _run(self, place: str, like_a_cell: bool = False) -> None:
        """Note what a place does when it runs: its imports, and the files whose names it takes over.

        Of what runs like a cell, as by `%run`, an import counts for those parts that use what it brings.
        """
        if (place, like_a_cell) in self._running or not self.code.files:
            return
        self._running.add((place, like_a_cell))
        self.want(place, "*")
        for text in self.code.texts(place):
            for said in _texts_to_run(text):
                for file in self.code.named_in(said):
                    self._star(place, file, like_a_cell)
            for node in statements_of(text) if place != NOTEBOOK else ():
                if isinstance(node, ast.Import | ast.ImportFrom):
                    if not like_a_cell:
                        self._ran.append(Reached(Statement(node), place, only_runs=True))
                    self._run_imported(place, node)

    def _run_imported(self, place: str, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            modules, near = [alias.name for alias in node.names], ""
        else:
            first, near = node.module or "", _package(place, node.level)
            modules = [first, *(f"{first}.{alias.name}".strip(".") for alias in node.names)]
        for module in modules:
            for file in [*self.code.packages_of(module, near), *self.code.files_of(module, near)]:
                self._run(file)


@once_a_cell
def _texts_to_run(source: str) -> tuple[str, ...]:
    """The texts in calls that run code, or read it to be run."""
    if not any(runner in source for runner in RUNNERS) and not SPECIAL.search(source):
        return ()
    calls = (node for each in statements_of(source) for node in nodes_in(each))
    return tuple(
        inner.value
        for call in calls
        if isinstance(call, ast.Call) and _last_name(call.func) in RUNNERS
        for inner in nodes_in(call)
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
    )


def _last_name(function: ast.expr) -> str:
    return getattr(function, "attr", "") or getattr(function, "id", "")


def _as_much_as_is_read(
    cells: Iterable[str], beside: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """The files that are read, of which the first that is too much ends them."""
    letters = sum(map(len, cells))
    for file, source in beside:
        letters += len(source)
        if letters > MOST_CODE:
            return
        yield file, source


def _dotted(file: str) -> str:
    """By what name the file of a module is imported from the notebook's folder."""
    path = PurePosixPath(file)
    return ".".join((path.parent if path.stem == "__init__" else path.with_suffix("")).parts)


def _package(place: str, level: int) -> str:
    """The package from which an import in a file counts that begins with so many dots."""
    return ".".join(PurePosixPath(place).parts[:-level]) if level else ""
