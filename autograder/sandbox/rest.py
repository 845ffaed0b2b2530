"""What of a cell still runs after a line in it has failed.

A package that is not installed where grading is done, such as `google.colab`, would take all that stands
below it with it, `import torch` among it. So each later statement runs, unless it needs what is missing. A
definition runs without the decorators that do, such as `@typechecked`, and computes what stands in it. After
any other error, such as a file that lies on the student's machine alone, imports still run and nothing else.
"""

from __future__ import annotations
import __future__

import ast
import re
from collections import Counter
from collections.abc import Iterator
from types import TracebackType

from IPython.core.interactiveshell import InteractiveShell

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Import = ast.Import | ast.ImportFrom
# types come from packages that are not there, and are no part of what a function computes
FLAGS = __future__.annotations.compiler_flag


class Rest:
    """The statements of a cell that do not need what has failed.

    They are compiled with `FLAGS`, by which annotations are not looked up.

    Args:
        shell: runs the cell.
        source: the cell's, as it was written.
        missing: names that imports of the notebook have failed to bring so far; changed in place.
    """

    def __init__(self, shell: InteractiveShell, source: str, missing: set[str]) -> None:
        self._shell, self._source = shell, source
        self._missing = missing
        self._text = ""
        self._left_out: set[int] = set()  # lines of decorators

    def after(self, error: BaseException | None) -> str:
        """What to run after an error; empty if nothing is left.

        Lines stand where they stood, so that errors name the right ones.
        """
        place = _place_of(error.__traceback__) if isinstance(error, Exception) else None
        if error is None or place is None:
            return ""
        self._missing.difference_update(self._shell.user_ns)  # what has come from elsewhere
        first = not self._text
        self._text = self._text or self._shell.transform_cell(self._source)
        try:
            body = ast.parse(self._text).body
        except (SyntaxError, ValueError):
            return ""
        failed = next((n for n, one in enumerate(body) if _holds(one, *place)), None)
        if failed is None:
            return ""
        of_missing = isinstance(error, NameError) and error.name in self._missing
        kept = [*_others(body[failed], error), *_imports_below(body[failed], place[0])]
        if not (of_missing or isinstance(error, ImportError)):
            kept += [one for one in body[failed + 1 :] if isinstance(one, Import)]
        else:
            self._leave_out_decorators(body[failed])
            by_what_is_left_out = isinstance(body[failed], Definition) and not self._is_victim(
                body[failed]
            )
            if not by_what_is_left_out:
                self._missing |= _bound(body[failed])
                self._missing -= {name for one in kept for name in _bound(one)}
            later = body[failed if first and by_what_is_left_out else failed + 1 :]
            for statement in later:
                self._leave_out_decorators(statement)
                if self._is_victim(statement):
                    self._missing |= _bound(statement)
                else:
                    self._missing -= _bound(statement)
                    kept.append(statement)
        self._text = self._only(kept, body)
        return self._text

    def _leave_out_decorators(self, statement: ast.stmt) -> None:
        """Take from a definition, and from those in a class, the decorators that need what is missing."""
        if not isinstance(statement, Definition):
            return
        for one in filter(self._is_victim, statement.decorator_list):
            self._left_out.update(range(one.lineno, (one.end_lineno or one.lineno) + 1))
        statement.decorator_list = [
            one for one in statement.decorator_list if not self._is_victim(one)
        ]
        if isinstance(statement, ast.ClassDef):
            for inner in statement.body:
                self._leave_out_decorators(inner)

    def _is_victim(self, node: ast.AST) -> bool:
        return not self._missing.isdisjoint(_needed(node))

    def _only(self, kept: list[ast.stmt], body: list[ast.stmt]) -> str:
        """The cell with these statements of its body alone, each where it stood."""
        lines = self._text.splitlines()
        on_line = Counter(
            number for one in body for number in {_first_line(one), one.end_lineno or one.lineno}
        )
        found: dict[int, str] = {}
        for statement in kept:
            first, last = _first_line(statement), statement.end_lineno or statement.lineno
            beside_others = max(on_line[first], on_line[last]) > 1  # a semicolon is between them
            if beside_others or statement not in body:
                text = _written(self._text, statement)
                found[first] = f"{found[first]}; {text}" if first in found else text
            else:
                standing = set(range(first, last + 1)) - self._left_out
                found |= {number: lines[number - 1] for number in standing}
        if not found:
            return ""
        found.setdefault(1, "#")  # IPython takes empty lines above the first one away
        return "\n".join(found.get(number, "") for number in range(1, max(found) + 1))


def _written(source: str, statement: ast.stmt) -> str:
    """A simple statement on one line, or as it was typed where Python cannot write it."""
    try:
        return ast.unparse(statement)
    except (ValueError, RecursionError, MemoryError):  # such as over `f"{'\u00a0'}"`
        return ast.get_source_segment(source, statement) or ""


def _others(statement: ast.stmt, error: BaseException) -> list[ast.stmt]:
    """What an import brings beside the one thing over which it has failed."""
    if not isinstance(statement, Import) or not isinstance(error, ImportError):
        return []
    if isinstance(statement, ast.ImportFrom):
        if isinstance(error, ModuleNotFoundError):
            return []
        found = re.match(r"cannot import name '(\w+)'", error.msg)
        failed = found[1] if found else ""
    else:
        failed = error.name or ""
    names = [alias.name for alias in statement.names]
    place = next((n for n, name in enumerate(names) if f"{name}.".startswith(f"{failed}.")), 0)
    others = [alias for n, alias in enumerate(statement.names) if n != place]
    if not others:
        return []
    if isinstance(statement, ast.Import):
        rest: Import = ast.Import(others)
    else:
        rest = ast.ImportFrom(statement.module, others, statement.level)
    return [ast.copy_location(rest, statement)]


def _imports_below(node: ast.AST, line: int) -> Iterator[ast.stmt]:
    """The imports inside a statement, such as an `if` or a `with`, that stand below a line of it."""
    if isinstance(node, Definition):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Import):
            if child.lineno > line:
                yield child
        elif isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from _imports_below(child, line)


def _place_of(traceback: TracebackType | None) -> tuple[int, int] | None:
    """Line and column in the cell at which an error arose."""
    while traceback and traceback.tb_frame.f_code.co_name != "<module>":
        traceback = traceback.tb_next
    if traceback is None:
        return None
    positions = list(traceback.tb_frame.f_code.co_positions())
    line, _, column, _ = positions[traceback.tb_lasti // 2]
    return line or traceback.tb_lineno, column or 0


def _holds(statement: ast.stmt, line: int, column: int) -> bool:
    start = _first_line(statement), statement.col_offset
    end = statement.end_lineno or statement.lineno, statement.end_col_offset or 0
    return start <= (line, column) <= end


def _first_line(statement: ast.stmt) -> int:
    if isinstance(statement, Definition) and statement.decorator_list:
        return statement.decorator_list[0].lineno
    return statement.lineno


def _bound(statement: ast.stmt) -> set[str]:
    """Names that a statement binds at the top of its cell."""
    if isinstance(statement, Definition):
        return {statement.name}
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.split(".")[0])
    return found


def _needed(node: ast.AST) -> Iterator[str]:
    """Names that are looked up when a statement runs: not in the bodies of functions, nor in annotations."""
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load):
            yield node.id
        return
    for name, child in ast.iter_fields(node):
        if name == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if name in ("annotation", "returns"):
            continue
        for one in child if isinstance(child, list) else [child]:
            if isinstance(one, ast.AST):
                yield from _needed(one)
