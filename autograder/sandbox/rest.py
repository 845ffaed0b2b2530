"""What of a cell still runs after an import in it has failed.

A package that is not installed where grading is done, such as `google.colab`, would take all that stands
below it with it, `import torch` among it. So each later statement runs, unless it needs what is missing.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from types import TracebackType

from IPython.core.interactiveshell import InteractiveShell

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Rest:
    """The statements of a cell that do not need what an import has failed to bring.

    Args:
        shell: runs the cell.
        source: the cell's, as it was written.
    """

    def __init__(self, shell: InteractiveShell, source: str) -> None:
        self._shell, self._source = shell, source
        self._missing: set[str] = set()
        self._text = ""

    def after(self, error: BaseException | None) -> str:
        """What to run after an error; empty if nothing is left, or the error is none of this kind.

        Lines stand where they stood, so that errors name the right ones.
        """
        of_missing = isinstance(error, NameError) and error.name in self._missing
        if error is None or not (isinstance(error, ImportError) or of_missing):
            return ""
        self._text = self._text or self._shell.transform_cell(self._source)
        body = ast.parse(self._text).body
        place = _place_of(error.__traceback__)
        failed = next((n for n, one in enumerate(body) if place and _holds(one, *place)), None)
        if failed is None:
            return ""
        self._missing |= _bound(body[failed])
        kept = []
        for statement in body[failed + 1 :]:
            if self._missing & set(_needed(statement)):
                self._missing |= _bound(statement)
            else:
                self._missing -= _bound(statement)
                kept.append(statement)
        self._text = self._only(kept, body)
        return self._text

    def _only(self, kept: list[ast.stmt], body: list[ast.stmt]) -> str:
        """The cell with these statements of its body alone, each where it stood."""
        lines = self._text.splitlines()
        on_line = Counter(
            number for one in body for number in {_first_line(one), one.end_lineno or one.lineno}
        )
        found: dict[int, str] = {}
        for statement in kept:
            first, last = _first_line(statement), statement.end_lineno or statement.lineno
            if (
                max(on_line[first], on_line[last]) > 1
            ):  # beside others, with a semicolon between them
                text = ast.unparse(statement)
                found[first] = f"{found[first]}; {text}" if first in found else text
            else:
                found |= {number: lines[number - 1] for number in range(first, last + 1)}
        if not found:
            return ""
        found.setdefault(1, "#")  # IPython takes empty lines above the first one away
        return "\n".join(found.get(number, "") for number in range(1, max(found) + 1))


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
    """Names that are looked up when a statement runs: not those in the bodies of functions."""
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load):
            yield node.id
        return
    for name, child in ast.iter_fields(node):
        if name == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        for one in child if isinstance(child, list) else [child]:
            if isinstance(one, ast.AST):
                yield from _needed(one)
