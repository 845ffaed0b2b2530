"""The source of a reference and of what it needs, and of nothing else.

Where an earlier part of a submission is wrong, a later one is tried with ours in its place. These lines are
sent to where it runs: a whole module would bring the answers of other parts along.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any


@cache
def source_of(reference: Callable[..., Any], libraries: tuple[str, ...]) -> str:
    """Python that defines a function or class by its name; code of the course's libraries is written out."""
    found = _statements(reference.__module__, reference.__name__, libraries)
    return "\n\n".join(dict.fromkeys(found))


def _statements(module: str, name: str, libraries: tuple[str, ...]) -> Iterator[str]:
    """The statement that gives a module's name its meaning, after those that it needs itself."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in statement.names:
                if (alias.asname or alias.name).split(".")[0] == name:
                    yield from _imported(statement, alias, libraries)
        elif name in _names_bound_by(statement):
            _leave_types_out(statement)
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and node.id != name:
                    yield from _statements(module, node.id, libraries)
            yield ast.unparse(statement)


def _leave_types_out(statement: ast.stmt) -> None:
    """They compute nothing, and what they need may not be there where the source runs."""
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None


def _imported(
    statement: ast.Import | ast.ImportFrom, alias: ast.alias, libraries: tuple[str, ...]
) -> Iterator[str]:
    origin = statement.module or "" if isinstance(statement, ast.ImportFrom) else alias.name
    if origin.split(".")[0] in libraries:
        yield from _statements(origin, alias.name, libraries)
    else:
        one: ast.stmt = ast.Import([alias])
        if isinstance(statement, ast.ImportFrom):
            one = ast.ImportFrom(statement.module, [alias], statement.level)
        yield ast.unparse(one)


def _names_bound_by(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Assign):
        return {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return set()
