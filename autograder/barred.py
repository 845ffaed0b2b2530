"""Find what a part may not use: by reading the code it reaches, never by running it."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from IPython.core.inputtransformer2 import TransformerManager

OWN_PACKAGES = ("course_utils", "autograder")


@dataclass
class Definitions:
    """Top-level statements of a notebook's code cells, by the names that they bind."""

    statements: dict[str, list[ast.stmt]] = field(default_factory=dict)

    @classmethod
    def of(cls, cells: Iterable[str]) -> Definitions:
        """Read the cells; one that is no Python is left out, since it defines nothing either."""
        found = cls()
        for cell in cells:
            for statement, names in _read(cell):
                for name in names:
                    found.statements.setdefault(name, []).append(statement)
        return found

    def reached_from(self, name: str, but: Iterable[str] = ()) -> Iterator[ast.stmt]:
        """Every statement that the definition of ``name`` can reach through other global names."""
        todo, done = [name], set(but) - {name}
        while todo:
            current = todo.pop()
            if current in done:
                continue
            done.add(current)
            for statement in self.statements.get(current, []):
                yield statement
                todo.extend(_global_names(ast.unparse(statement)))


@lru_cache(maxsize=64)
def _read(cell: str) -> list[tuple[ast.stmt, set[str]]]:
    """A cell's top-level statements and the names that they bind; each part asks again."""
    try:
        tree = ast.parse(TransformerManager().transform_cell(cell))
    except (SyntaxError, ValueError, RecursionError):
        return []
    return [(statement, _bound_names(statement)) for statement in _bindings(tree.body)]


def _bindings(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Top-level statements, taken apart: one import for each name, and what `if` and `with` hold.

    So a name is charged with its own definition and not with what happens to stand beside it.
    """
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in statement.names:
                one = ast.Import([alias])
                if isinstance(statement, ast.ImportFrom):
                    one = ast.ImportFrom(statement.module, [alias], statement.level)
                yield ast.fix_missing_locations(ast.copy_location(one, statement))
        elif isinstance(statement, ast.If | ast.With | ast.For | ast.While | ast.Try):
            for branch in ("body", "orelse", "finalbody"):
                yield from _bindings(getattr(statement, branch, []))
            for handler in getattr(statement, "handlers", []):
                yield from _bindings(handler.body)
            if isinstance(statement, ast.For | ast.With):
                yield _header(statement)
        else:
            yield statement


def _header(statement: ast.For | ast.With) -> ast.stmt:
    """The `for … in …` or `with … as …` line alone: it binds names, too."""
    empty = [ast.Pass()]
    if isinstance(statement, ast.For):
        header: ast.stmt = ast.For(statement.target, statement.iter, empty, [])
    else:
        header = ast.With(statement.items, empty)
    return ast.fix_missing_locations(ast.copy_location(header, statement))


def _bound_names(statement: ast.stmt) -> set[str]:
    """Names that one top-level statement gives a meaning to, also inside `if`, `for`, `with`."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            base = node.value
            while isinstance(base, ast.Attribute):
                base = base.value
            if isinstance(base, ast.Name):
                names.add(base.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return names


def _global_names(text: str) -> set[str]:
    """Names that a statement looks up in the notebook, as opposed to its own locals."""

    def walk(table: symtable.SymbolTable, top: bool) -> Iterator[str]:
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (top or symbol.is_global()):
                yield symbol.get_name()
        for child in table.get_children():
            yield from walk(child, False)

    try:
        return set(walk(symtable.symtable(text, "notebook", "exec"), True))
    except SyntaxError:
        return set()


def find(
    cells: Iterable[str],
    part: str,
    barred: Iterable[str],
    modules: Iterable[str],
    other_parts: Iterable[str] = (),
) -> str:
    """The first thing that ``part`` uses and may not, in words; empty if there is none.

    Args:
        cells: source of the notebook's code cells.
        part: name of the function or class that is graded.
        barred: library names that would be the answer itself. What the notebook itself defines
            under such a name is the student's own, and free.
        modules: modules of the course that may be imported, whole or name by name.
        other_parts: parts that this one may call; what they use is charged there.
    """
    definitions, barred, modules = Definitions.of(cells), set(barred), set(modules)
    own = {
        name
        for name, statements in definitions.statements.items()
        if any(not isinstance(node, ast.Import | ast.ImportFrom) for node in statements)
    }
    # what a star brings in has no name here, so it counts for every part
    stars = definitions.statements.get("*", [])
    for statement in [*stars, *definitions.reached_from(part, other_parts)]:
        docstrings = _docstrings(statement)
        for node in ast.walk(statement):
            if node in docstrings:
                continue
            used = _uses(node, barred, own) or _imports(node, modules) or _smuggles(node)
            if used:
                return used
    return ""


def _docstrings(statement: ast.stmt) -> set[ast.AST]:
    """Texts that stand by themselves and do nothing."""
    return {
        node.value
        for node in ast.walk(statement)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def _smuggles(node: ast.AST) -> str:
    """A module of the course that is named in a text, as for `importlib`, `exec` or `%run`."""
    text = _text_of(node)
    for package in OWN_PACKAGES:
        if package in text:
            return f"import {package}"
    return ""


def _text_of(node: ast.AST) -> str:
    """The text that an expression stands for, also one put together from pieces; else empty."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text_of(node.left) + _text_of(node.right)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            _text_of(part.value if isinstance(part, ast.FormattedValue) else part)
            for part in node.values
        )
    return ""


def _uses(node: ast.AST, barred: set[str], own: set[str]) -> str:
    if isinstance(node, ast.Attribute) and node.attr in barred:
        mine = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        return "" if mine else ast.unparse(node)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in barred - own:
        return node.id
    if isinstance(node, ast.alias) and node.name.split(".")[-1] in barred:
        return node.name
    if _text_of(node) in barred:
        return repr(_text_of(node))
    return ""


def _imports(node: ast.AST, modules: set[str]) -> str:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        base = node.module
        names = [f"{base}.{alias.name}" if base in OWN_PACKAGES else base for alias in node.names]
    else:
        return ""
    for name in names:
        allowed = any(name == module or name.startswith(f"{module}.") for module in modules)
        if name.split(".")[0] in OWN_PACKAGES and not allowed:
            return f"import {name}"
    return ""
