"""What of a cell still runs after a line in it has failed.

A package that is not installed where grading is done, such as `google.colab`, would take all that stands
below it with it, `import torch` among it. So the cell runs again from there on, without that import, and goes
on below each line that needs what is missing. A definition runs without the decorators and types that do, and
computes what stands in it. After any other error, such as a file that lies on the student's machine alone, imports
still run and nothing else.
"""

from __future__ import annotations

import ast
from types import TracebackType

from IPython.core.interactiveshell import InteractiveShell

Import = ast.Import | ast.ImportFrom


class Rest:
    """What of a cell is still to run, each line where it stood.

    Args:
        shell: runs the cell.
        source: the cell's, as it was written.
        missing: names that lines of the notebook have failed to bring; changed in place.
    """

    def __init__(self, shell: InteractiveShell, source: str, missing: set[str]) -> None:
        self._shell, self._missing = shell, missing
        try:
            self._body = ast.parse(shell.transform_cell(source)).body
        except (SyntaxError, ValueError):
            self._body = []

    def is_left_after(self, error: BaseException | None) -> bool:
        """Let the cell run as the rest of itself when it runs next, if anything is left below an error."""
        place = _place_of(error.__traceback__) if isinstance(error, Exception) else None
        while place and self._body and not _holds(self._body[0], place):
            del self._body[0]  # it has run
        if place is None or not self._body:
            return False
        failed = self._body.pop(0)
        if isinstance(error, ImportError):
            self._missing |= _bound(failed)
            without = _Without(place, isinstance(error, ModuleNotFoundError))
            again = without.visit(ast.Module([failed], []))
            self._body[:0] = again.body if without.found else []
        elif isinstance(error, NameError) and error.name in self._missing:
            bare = _Bare(self._missing)
            again = bare.visit(failed)
            self._missing |= set() if bare.found else _bound(failed)
            self._body[:0] = [again] if bare.found else []
        else:
            self._body = [one for one in self._body if isinstance(one, Import)]
        self._shell.ast_transformers += [self] if self._body else []
        return bool(self._body)

    def visit(self, _: ast.Module) -> ast.Module:
        """The cell as it runs next, of which IPython asks whatever transforms code."""
        self._shell.ast_transformers.remove(self)  # `%time` and others transform code, too
        return ast.Module(self._body.copy(), [])


class _Without(ast.NodeTransformer):
    """Takes out the import at a place; one that brings several things becomes one for each."""

    def __init__(self, place: tuple[int, int], no_module: bool) -> None:
        self.place, self.no_module, self.found = place, no_module, False

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> ast.stmt | list[ast.stmt]:
        if not _holds(node, self.place):
            return node
        self.found = True
        if len(node.names) == 1 or (self.no_module and isinstance(node, ast.ImportFrom)):
            return ast.copy_location(ast.Pass(), node)
        return [ast.copy_location(_alone(node, name), name) for name in node.names]

    visit_ImportFrom = visit_Import


class _Bare(ast.NodeTransformer):
    """Takes decorators and types that need what is missing from a definition, which computes the same without."""

    def __init__(self, missing: set[str]) -> None:
        self.missing, self.found = missing, False

    def _is_victim(self, node: ast.AST | None) -> bool:
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} if node else set()
        self.found = self.found or not self.missing.isdisjoint(names)
        return not self.missing.isdisjoint(names)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = [one for one in node.decorator_list if not self._is_victim(one)]
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = [one for one in node.decorator_list if not self._is_victim(one)]
        node.returns = None if self._is_victim(node.returns) else node.returns
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None if self._is_victim(node.annotation) else node.annotation
        return node


def _place_of(traceback: TracebackType | None) -> tuple[int, int] | None:
    """Line and column in the cell at which an error arose."""
    while traceback and traceback.tb_frame.f_code.co_name != "<module>":
        traceback = traceback.tb_next
    if traceback is None:
        return None
    positions = list(traceback.tb_frame.f_code.co_positions())
    line, _, column, _ = positions[traceback.tb_lasti // 2]
    return line or traceback.tb_lineno, column or 0


def _alone(node: Import, name: ast.alias) -> Import:
    """An import of one of its names."""
    if isinstance(node, ast.Import):
        return ast.Import([name])
    return ast.ImportFrom(node.module, [name], node.level)


def _holds(node: ast.stmt, place: tuple[int, int]) -> bool:
    """Whether a line and column are in a statement, or in what decorates it."""
    first = min([node, *getattr(node, "decorator_list", [])], key=lambda one: one.lineno)
    start = first.lineno, 0 if first is not node else node.col_offset
    return start <= place <= (node.end_lineno or node.lineno, node.end_col_offset or 0)


def _bound(statement: ast.stmt) -> set[str]:
    """Names that a statement binds at the top of its cell."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.split(".")[0])
    return found
