"""Of the files beside a notebook, those of Python that its cells read, and what cells write there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from autograder.bounds import LONGEST_CODE

WRITEFILE = re.compile(r"%%writefile +((?:[\w-]+/)*[\w-]+\.py) *\n")


def beside_as_text(cells: Iterable[str], files: Mapping[str, bytes]) -> tuple[tuple[str, str], ...]:
    """(relative name, source) of the same files."""
    read = read_beside(cells, files)
    return tuple((name, data.decode("utf-8", "replace")) for name, data in read.items())


def read_beside(cells: Iterable[str], files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The Python files beside a notebook that a cell names, or such a file; also those that cells write."""
    unnamed: dict[str, dict[str, bytes]] = {}  # by module
    in_name: dict[str, frozenset[str]] = {}  # words, by module
    read: dict[str, bytes] = {}

    def add(name: str, content: bytes) -> None:
        module = _module_of(name)
        unnamed.setdefault(module, {})[name] = content
        in_name[module] = frozenset(re.findall(r"\w+", module))

    for name, content in files.items():
        if name.endswith(".py"):
            add(name, content)
    for cell in cells:
        if written := _written_by(cell):
            add(*written)
        todo = [cell]
        while todo and unnamed:
            text = todo.pop()[:LONGEST_CODE]  # of what is longer, nothing is read
            # so that a text is not searched once for each file
            words = set(re.findall(r"\w+", text))
            near = [one for one in unnamed if in_name[one] <= words]
            # a name of several words stands there somewhere; to look for its ends takes far longer
            for module in [one for one in near if one in words or one in text]:
                for name, content in unnamed.pop(module).items():
                    read[name] = content
                    todo.append(content.decode("utf-8", "replace"))
    return read


def _module_of(name: str) -> str:
    """By what name the file of a module is imported, or the folder of a package."""
    path = Path(name)
    return path.parent.name if path.stem == "__init__" else path.stem


def _written_by(cell: str) -> tuple[str, bytes] | None:
    """The Python file that a cell writes beside the notebook, if it does, and what it then holds."""
    found = WRITEFILE.match(cell)
    return (found[1], cell[found.end() :].encode("utf-8", "replace")) if found else None
