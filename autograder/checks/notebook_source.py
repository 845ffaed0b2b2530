"""A notebook's code cells as Python, each read once for all that look for something in it."""

from __future__ import annotations

import ast
import contextlib
import functools
import re
import symtable
import textwrap
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cached_property, lru_cache
from itertools import islice
from typing import ClassVar, TypeVar

from IPython.core.inputtransformer2 import TransformerManager

from autograder.bounds import (
    LONGEST_CODE,
    LONGEST_KEPT,
    LONGEST_MAGIC,
    MOST_AT_ONCE,
    MOST_CODE,
    MOST_KEPT,
    MOST_LETTERS_KEPT,
    MOST_MAGICS,
    MOST_NESTED,
    MOST_STATEMENTS,
)

# a line that is no Python, but IPython's own: `%time f()`, `!ls`, `files = !ls`, `f?`
MAGIC = re.compile(r"^\s*[%!?]|=\s*[%!]|\?\s*$")
# whatever IPython may take for its own: such signs and prompts, and ends of lines that Python has not;
# each within its line, since a search that ran on from one empty line to the next would never end
SPECIAL = re.compile(
    r"^[^\S\n]*(?:[%!?,;/]|>>>|\.\.\.)|=[^\S\n]*[%!]|\?[^\S\n]*$|In \[|"
    r"[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]",
    re.MULTILINE,
)
WORD = re.compile(r"[\w*.\[\]-]+")  # what IPython may take for one name, as in `a.b[-1]?`

TEXTUAL = (ast.BinOp, ast.JoinedStr, ast.Constant)  # what may stand for a text
NAMING = (ast.Attribute, ast.Name, ast.alias, ast.Import, ast.ImportFrom)
# what Python raises over a text that is none, or code that it cannot write as one
UNREADABLE = (ValueError, RecursionError, MemoryError)

Read = TypeVar("Read")

_until_forgotten: list[Callable[[], None]] = []


class _Lasting:
    """What is remembered beyond one submission, and how many letters were read for it since `forget`."""

    forget: ClassVar[list[Callable[[], None]]] = []
    letters = 0


def once_a_cell(read: Callable[[str], Read]) -> Callable[[str], Read]:
    """Remember what is read of a cell: until `forget`, and if it is short, for the next submissions.

    Most cells of a notebook are the course's own, and the same in every submission. An error is not
    remembered: it may be that one submission took all the memory there is.
    """

    @lru_cache(MOST_KEPT)
    def of_short(cell: str) -> Read:
        _Lasting.letters += len(cell)
        return read(cell)

    of_long = lru_cache(MOST_AT_ONCE)(read)
    _Lasting.forget.append(of_short.cache_clear)
    _until_forgotten.append(of_long.cache_clear)

    @functools.wraps(read)
    def remembered(cell: str) -> Read:
        return (of_short if len(cell) <= LONGEST_KEPT else of_long)(cell)

    return remembered


def forget() -> None:
    """Let go of what was read, of which a submission may have made a great deal."""
    Definitions.of.cache_clear()
    lasting = _Lasting.forget if _Lasting.letters > MOST_LETTERS_KEPT else []
    for clear in (*_until_forgotten, *lasting):
        clear()
    _Lasting.letters = 0


class Statement:
    """A top-level statement; what is known of it is found out once."""

    def __init__(self, node: ast.stmt) -> None:
        self.node = node

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node in it, itself among them."""
        return nodes_in(self.node)

    @cached_property
    def binds(self) -> set[str]:
        """Names that it gives a meaning to, also inside `if`, `for`, `with`."""
        if isinstance(self.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            said = (node.names for node in self.nodes if isinstance(node, ast.Global))
            return {self.node.name, *(name for names in said for name in names)}
        names = set()
        for node in self.nodes:
            if isinstance(node, ast.alias):
                names.add((node.asname or node.name).split(".")[0])
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                    names.add(node.slice.value)  # as in `globals()["name"] = …`
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                base = node.value
                while isinstance(base, ast.Attribute):
                    base = base.value
                if isinstance(base, ast.Name):
                    names.add(base.id)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
        return names

    @cached_property
    def binds_inside(self) -> set[str]:
        """Names that an import or an assignment anywhere in it gives a meaning to."""
        aliases = (node for node in self.nodes if isinstance(node, ast.alias))
        names = (node for node in self.nodes if isinstance(node, ast.Name))
        return {alias.asname or alias.name for alias in aliases} | {
            name.id for name in names if isinstance(name.ctx, ast.Store)
        }

    @cached_property
    def needs(self) -> list[str]:
        """Names that it looks up where it stands."""
        return sorted(_global_names(self.node))

    @cached_property
    def names(self) -> list[tuple[ast.AST, str]]:
        """Its nodes that name something, each with the text that it stands for, if any.

        Also those of the code that is handed to a cell magic as a text.
        """
        return [
            (node, text)
            for node, text in _read_nodes(self.node)
            if text or isinstance(node, NAMING)
        ]


def nodes_in(tree: ast.AST) -> list[ast.AST]:
    """As `ast.walk` has it, in half the time."""
    found = [tree]
    for node in found:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                found += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


class Definitions:
    """Top-level statements of code, such as a notebook's cells, by the names that they bind."""

    def __init__(self) -> None:
        self.statements: dict[str, list[Statement]] = {}

    @classmethod
    @lru_cache(maxsize=32)  # each part of a submission asks again, and of files beside the notebook
    def of(cls, cells: tuple[str, ...]) -> Definitions:
        """Read the cells; what is no Python, or too much, defines nothing."""
        found, letters, number = cls(), 0, 0
        for source in cells:
            letters += len(source)
            if letters > MOST_CODE:
                break
            try:
                statements = _taken_apart(source)
            except UNREADABLE:
                continue
            number += len(statements)
            if number > MOST_STATEMENTS:
                break
            for statement in statements:
                for name in statement.binds:
                    found.statements.setdefault(name, []).append(statement)
        return found

    @cached_property
    def own(self) -> set[str]:
        """Names that are more than imported."""
        return {
            name
            for name, statements in self.statements.items()
            if any(not isinstance(each.node, ast.Import | ast.ImportFrom) for each in statements)
        }


@once_a_cell
def _taken_apart(cell: str) -> list[Statement]:
    """A cell's top-level statements, refused if they are too many; an error of `UNREADABLE` passes through."""
    body = [inner for statement in parsed(cell) for inner in _under_its_magic(statement)]
    taken = [*map(Statement, islice(_bindings(body), MOST_STATEMENTS + 1))]
    if len(taken) > MOST_STATEMENTS:
        raise ValueError(f"more than {MOST_STATEMENTS} statements")
    return taken


@once_a_cell
def parsed(cell: str) -> list[ast.stmt]:
    """A cell's statements as IPython runs them, none if it cannot run.

    Raises:
        ValueError, RecursionError, MemoryError: it cannot be read.
    """
    _refuse_if_long(cell)
    try:
        plain = not cell[:1].isspace() and not SPECIAL.search(cell)
        # IPython would take a plain cell apart, too, which takes it ten times as long as Python
        return ast.parse(textwrap.dedent(cell) if plain else as_python(cell)).body
    except SyntaxError:
        return []


def statements_of(cell: str) -> list[ast.stmt]:
    """The same, and none either if it cannot be read."""
    try:
        return parsed(cell)
    except UNREADABLE:
        return []


def written_out(node: ast.AST) -> str:
    """Code that says the same as a node; empty where there is none, or none that Python writes.

    It writes no expression in an f-string that would need a backslash there, as one with a no-break space does, no
    whole number of more than 4300 digits, which code may hold in base 16, and nothing too deep.
    """
    try:
        return ast.unparse(node)
    except UNREADABLE:
        return ""


def _under_its_magic(statement: ast.stmt) -> list[ast.stmt]:
    """What stands below a cell magic, as below `%%time`, after the statement itself."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not (isinstance(call, ast.Call) and _is_magic(call)):
        return [statement]
    text = call.args[-1]
    return [statement, *statements_of(str(text.value) if isinstance(text, ast.Constant) else "")]


def as_python(cell: str) -> str:
    """A cell as IPython would run it; line by line where it has more magics than are read at once.

    Raises:
        ValueError: IPython would take minutes to read it.
    """
    _refuse_if_long(cell)
    lines = cell.splitlines(keepends=True)
    magics = [MAGIC.search(line) is not None for line in lines]
    words = (WORD.findall(line) for line, magic in zip(lines, magics, strict=True) if magic)
    if any(len(word) > LONGEST_MAGIC for found in words for word in found):
        raise ValueError("a word that IPython is to look up, and longer than is read")
    # IPython reads the whole cell again for each of them, and gives up at 500
    if not _is_read_soon(sum(map(_calls_by_a_sign, lines)), cell):
        raise ValueError("more signs for IPython than are read")
    if _is_read_soon(sum(magics), cell):
        return TransformerManager().transform_cell(cell)
    return "".join(
        _line_as_python(line) if magic else line for line, magic in zip(lines, magics, strict=True)
    )


def _refuse_if_long(cell: str) -> None:
    if len(cell) > LONGEST_CODE:
        raise ValueError(f"{len(cell)} letters, of which {LONGEST_CODE} are read")


def _calls_by_a_sign(line: str) -> bool:
    """Whether IPython may take a line such as `/f x` or `;f x` for a call."""
    return line.lstrip()[:1] in (",", ";", "/")


def _is_read_soon(times: int, cell: str) -> bool:
    return times <= MOST_MAGICS and times * len(cell) <= MOST_CODE


def _line_as_python(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return indent + TransformerManager().transform_cell(line.lstrip())


def _bindings(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Top-level statements, taken apart: one import for each name, and what `if` and `with` hold.

    So a name is charged with its own definition and not with what happens to stand beside it.
    """
    todo = body[::-1]  # a chain of `elif` is as deep as it is long
    while todo:
        statement = todo.pop()
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in statement.names:
                one: ast.stmt = ast.Import([alias])
                if isinstance(statement, ast.ImportFrom):
                    one = ast.ImportFrom(statement.module, [alias], statement.level)
                yield ast.fix_missing_locations(ast.copy_location(one, statement))
        elif isinstance(statement, ast.If | ast.With | ast.For | ast.While | ast.Try):
            if not isinstance(statement, ast.Try):
                yield _header(statement)
            for handler in getattr(statement, "handlers", [])[::-1]:
                todo += handler.body[::-1]
            for branch in ("finalbody", "orelse", "body"):
                todo += getattr(statement, branch, [])[::-1]
        else:
            yield statement


def _header(statement: ast.For | ast.With | ast.If | ast.While) -> ast.stmt:
    """The line `for … in …`, `with … as …`, `if …` or `while …` alone: it binds names, too."""
    empty: list[ast.stmt] = [ast.Pass()]
    if isinstance(statement, ast.If | ast.While):
        header: ast.stmt = ast.Expr(statement.test)
    elif isinstance(statement, ast.For):
        header = ast.For(statement.target, statement.iter, empty, [])
    else:
        header = ast.With(statement.items, empty)
    return ast.fix_missing_locations(ast.copy_location(header, statement))


class _NamesAlone(ast.NodeTransformer):
    """Takes out of a statement texts and numbers, which are what Python may be unable to write."""

    def visit_Constant(self, _node: ast.Constant) -> ast.expr:
        return ast.Constant(None)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return ast.Tuple([self.visit(each) for each in node.values], ast.Load())

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        both = [node.value, *([node.format_spec] if node.format_spec else [])]
        return ast.Tuple([self.visit(each) for each in both], ast.Load())


def _global_names(statement: ast.stmt) -> set[str]:
    """Names that a statement looks up in the notebook, as opposed to its own locals."""

    def walk(table: symtable.SymbolTable, top: bool) -> Iterator[str]:
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (top or symbol.is_global()):
                yield symbol.get_name()
        for child in table.get_children():
            yield from walk(child, False)

    with contextlib.suppress(SyntaxError, *UNREADABLE):  # a sum of some thousand pieces
        text = written_out(statement) or ast.unparse(_NamesAlone().visit(deepcopy(statement)))
        return set(walk(symtable.symtable(text, "notebook", "exec"), True))
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def _read_nodes(statement: ast.stmt) -> Iterator[tuple[ast.AST, str]]:
    """Every node of a statement that does something, and the text that it stands for, if any.

    Also those of the code that is handed to a cell magic as a text.
    """
    todo: list[ast.AST] = [statement]
    followed = 0
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a text that stands by itself
        text, rest = _text_of(node)
        yield node, text
        todo += rest
        if (
            isinstance(node, ast.Call)
            and _is_magic(node)
            and isinstance(node.args[-1], ast.Constant)
            and followed < MOST_NESTED
        ):
            followed += 1
            todo += statements_of(str(node.args[-1].value))


def _is_magic(node: ast.Call) -> bool:
    return (
        isinstance(node.func, ast.Attribute)
        and node.func.attr == "run_cell_magic"
        and len(node.args) == 3
    )


def _text_of(node: ast.AST) -> tuple[str, list[ast.AST]]:
    """The text that an expression stands for, also one put together from pieces, and what to read next.

    Pieces that are joined are read once, as a whole: a sum may be as long as a notebook.
    """
    if not isinstance(node, TEXTUAL):
        return "", list(ast.iter_child_nodes(node))
    pieces: list[str] = []
    rest: list[ast.AST] = []
    todo: list[ast.AST] = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, ast.Constant):
            if isinstance(one.value, str):
                pieces.append(one.value)
        elif isinstance(one, ast.BinOp) and isinstance(one.op, ast.Add):
            todo += [one.right, one.left]
        elif isinstance(one, ast.JoinedStr):
            todo += reversed(one.values)
        elif isinstance(one, ast.FormattedValue):
            todo.append(one.value)
        elif one is node:
            rest += ast.iter_child_nodes(one)
        else:
            rest.append(one)
    return "".join(pieces), rest
