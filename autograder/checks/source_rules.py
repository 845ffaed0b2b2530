"""Find what a part may not use: by reading the code it reaches, never by running it."""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager

from autograder.checks.course import course

# other names under which PyTorch has what a disallowed name stands for
BACK_WAYS = {
    "log_softmax": (
        "_safe_softmax", "cross_entropy", "CrossEntropyLoss", "cross_entropy_loss",
        "gumbel_softmax", "AdaptiveLogSoftmaxWithLoss",
    ),
    "logsumexp": ("logcumsumexp", "_logcumsumexp"),
    "scaled_dot_product_attention": (
        "_scaled_dot_product_attention_math", "_scaled_dot_product_attention_math_for_mps",
        "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_fused_attention_overrideable", "_triton_scaled_dot_attention",
        "_flash_attention_forward", "_efficient_attention_forward", "_cudnn_attention_forward",
        "_flash_attention_forward_no_dropout_inplace", "flex_attention", "math_attention",
        "varlen_attn", "_scaled_dot_product_flash_attention_for_cpu_backward",
    ),
    "MultiheadAttention": (
        "_native_multi_head_attention", "_triton_multi_head_attention",
        "_transformer_encoder_layer_fwd", "TransformerEncoderLayer", "TransformerDecoderLayer",
    ),
}  # fmt: skip

# a line that is no Python, but IPython's own: `%time f()`, `!ls`, `files = !ls`, `f?`
MAGIC = re.compile(r"^\s*[%!?]|=\s*[%!]|\?\s*$")
MOST_MAGICS = 100  # of a cell that is read as a whole


@dataclass(frozen=True)
class Used:
    """Something that a part uses and may not.

    Attributes:
        message: the same as its author wrote it, or nearly so.
        of_course: it is a module of the course or of the grader, and no disallowed name.
    """

    message: str
    of_course: bool = False


@cache
def own_packages() -> tuple[str, ...]:
    """Packages of the course and of the grader, which hold the answers."""
    return "autograder", course().package.split(".")[0], *course().libraries


def with_back_ways(disallowed: Iterable[str]) -> tuple[str, ...]:
    """Barred names, and the other names under which the library has the same."""
    names = tuple(disallowed)
    return (*names, *(way for name in names for way in BACK_WAYS.get(name, ())))


@dataclass
class Definitions:
    """Top-level statements of a notebook's code cells, by the names that they bind.

    Those of a file beside the notebook stand here as well, and once more under ``<module>.*``.
    """

    statements: dict[str, list[ast.stmt]] = field(default_factory=dict)

    @classmethod
    @lru_cache(maxsize=4)  # each part of a submission asks again
    def of(cls, cells: tuple[str, ...], beside: tuple[tuple[str, str], ...] = ()) -> Definitions:
        """Read the cells, and modules (name, source); what is no Python defines nothing either."""
        found = cls()
        for module, source in (*(("", cell) for cell in cells), *beside):
            for statement, names in _read(source):
                for name in names | ({f"{module}.*"} if module else set()):
                    found.statements.setdefault(name, []).append(statement)
        return found

    def reached_from(self, name: str, but: Iterable[str] = ()) -> Iterator[ast.stmt]:
        """Every statement that the definition of ``name`` can reach through other global names."""
        todo, done = [name], set(but) - {name}
        seen: set[ast.stmt] = set()  # one that binds many names is read once
        while todo:
            current = todo.pop()
            if current in done:
                continue
            done.add(current)
            for statement in self.statements.get(current, []):
                if statement in seen:
                    continue
                seen.add(statement)
                yield statement
                todo.extend(_global_names(statement))
                todo.extend(_imported_names(statement))


@lru_cache(maxsize=64)
def _read(cell: str) -> list[tuple[ast.stmt, set[str]]]:
    """A cell's top-level statements and the names that they bind; each part asks again."""
    statements = statements_of(cell) or ()
    body = [inner for statement in statements for inner in _under_its_magic(statement)]
    return [(statement, _bound_names(statement)) for statement in _bindings(body)]


@lru_cache(maxsize=64)  # each part asks again
def statements_of(cell: str) -> list[ast.stmt] | None:
    """A cell's statements as IPython runs them: none if it cannot run, None if it cannot be read."""
    try:
        return ast.parse(as_python(cell)).body
    except SyntaxError:
        return []
    except (ValueError, RecursionError, MemoryError):
        return None


def _under_its_magic(statement: ast.stmt) -> list[ast.stmt]:
    """What stands below a cell magic, as below `%%time`, after the statement itself."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not (isinstance(call, ast.Call) and _is_magic(call)):
        return [statement]
    text = call.args[-1]
    return [statement, *_statements_in(text.value if isinstance(text, ast.Constant) else "")]


def as_python(cell: str) -> str:
    """A cell as IPython would run it; line by line where it has more magics than are read at once."""
    lines = cell.splitlines(keepends=True)
    magics = [MAGIC.search(line) is not None for line in lines]
    if sum(magics) <= MOST_MAGICS:
        return TransformerManager().transform_cell(cell)
    # IPython reads the whole cell again for each of them, and gives up at 500
    return "".join(
        _line_as_python(line) if magic else line for line, magic in zip(lines, magics, strict=True)
    )


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


def _bound_names(statement: ast.stmt) -> set[str]:
    """Names that one top-level statement gives a meaning to, also inside `if`, `for`, `with`."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        said = (node.names for node in ast.walk(statement) if isinstance(node, ast.Global))
        return {statement.name, *(name for names in said for name in names)}
    names = set()
    for node in ast.walk(statement):
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


@lru_cache(maxsize=4096)
def _global_names(statement: ast.stmt) -> set[str]:
    """Names that a statement looks up in the notebook, as opposed to its own locals."""

    def walk(table: symtable.SymbolTable, top: bool) -> Iterator[str]:
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (top or symbol.is_global()):
                yield symbol.get_name()
        for child in table.get_children():
            yield from walk(child, False)

    try:
        text = ast.unparse(statement)
        return set(walk(symtable.symtable(text, "notebook", "exec"), True))
    except (SyntaxError, RecursionError, MemoryError):  # a sum of some thousand pieces
        return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def forget() -> None:
    """Let go of what was read, of which a submission may have made a great deal."""
    for read in (statements_of, _read, _global_names, Definitions.of):
        read.cache_clear()


def _imported_names(statement: ast.stmt) -> Iterator[str]:
    """What `Definitions` would have of the modules that a statement imports, or imports from."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Import):
            yield from (f"{alias.name}.*" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield f"{node.module}.*" if alias.name == "*" else alias.name
                yield f"{alias.name}.*"


def modules_beside(cells: Iterable[str], files: Mapping[str, bytes]) -> tuple[tuple[str, str], ...]:
    """(name, source) of the Python files beside a notebook that a cell names, or such a file."""
    waiting = {Path(name).stem: data for name, data in files.items() if name.endswith(".py")}
    todo, found = list(cells), []
    while todo and waiting:
        text = todo.pop()
        for module in [name for name in waiting if re.search(rf"\b{re.escape(name)}\b", text)]:
            todo.append(waiting.pop(module).decode("utf-8", "replace"))
            found.append((module, todo[-1]))
    return tuple(found)


def find(
    cells: Iterable[str],
    part: str,
    disallowed: Iterable[str],
    modules: Iterable[str],
    other_parts: Iterable[str] = (),
    beside: tuple[tuple[str, str], ...] = (),
) -> Used | None:
    """The first thing that ``part`` uses and may not; None if there is none.

    Args:
        cells: source of the notebook's code cells.
        part: name of the function or class that is graded.
        disallowed: library names that would be the answer itself. What the notebook itself defines
            under such a name is the student's own, and free.
        modules: modules of the course that may be imported, whole or name by name.
        other_parts: parts that this one may call; what they use is charged there.
        beside: what `modules_beside` finds.
    """
    definitions, disallowed, modules = (
        Definitions.of(tuple(cells), beside),
        set(disallowed),
        set(modules),
    )
    own = {
        name
        for name, statements in definitions.statements.items()
        if any(not isinstance(node, ast.Import | ast.ImportFrom) for node in statements)
    }
    mine = {"self", "cls"} - definitions.statements.keys()
    # what a star brings in has no name here, so it counts for every part
    stars = definitions.statements.get("*", [])
    for statement in [*stars, *definitions.reached_from(part, other_parts)]:
        mine = mine - _taken_for_something_else(statement)
        for node, text in _read_nodes(statement):
            used = (
                _uses(node, text, disallowed, own, mine)
                or _imports(node, modules)
                or _smuggles(text)
            )
            if used:
                return used
    return None


def _read_nodes(statement: ast.stmt) -> Iterator[tuple[ast.AST, str]]:
    """Every node of a statement that does something, and the text that it stands for, if any.

    Also those of the code that is handed to a cell magic as a text.
    """
    todo: list[ast.AST] = [statement]
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
        ):
            todo += _statements_in(node.args[-1].value)


def _is_magic(node: ast.Call) -> bool:
    return (
        isinstance(node.func, ast.Attribute)
        and node.func.attr == "run_cell_magic"
        and len(node.args) == 3
    )


def _statements_in(source: object) -> list[ast.stmt]:
    return statements_of(str(source)) or []


def _smuggles(text: str) -> Used | None:
    """A module of the course that is named in a text, as for `importlib`, `exec` or `%run`."""
    for package, named in _ways_to_name().items() if text else ():
        if named.search(text):
            return Used(f"import {package}", of_course=True)
    return None


@cache
def _ways_to_name() -> dict[str, re.Pattern[str]]:
    """Of each package of ours, how a text names it; every text of a notebook is looked at."""
    plain = {package: re.compile(package) for package in own_packages()}
    # the assignments' may be a plain word, so only where it is used as a module
    word = course().package
    used = rf"\bimport {word}\b|\bfrom {word} import\b|\b{word}\.\w"
    return {**plain, **({word: re.compile(used)} if word in plain else {})}


def _text_of(node: ast.AST) -> tuple[str, list[ast.AST]]:
    """The text that an expression stands for, also one put together from pieces, and what else to read.

    Pieces that are joined are read once, as a whole: a sum may be as long as a notebook.
    """
    if not isinstance(node, ast.BinOp | ast.JoinedStr | ast.Constant):
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


def _taken_for_something_else(statement: ast.stmt) -> set[str]:
    """Names that an import or an assignment inside a statement gives a meaning to."""
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            names.add(node.asname or node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def _uses(
    node: ast.AST, text: str, disallowed: set[str], own: set[str], mine: set[str]
) -> Used | None:
    if isinstance(node, ast.Attribute) and node.attr in disallowed:
        own_method = isinstance(node.value, ast.Name) and node.value.id in mine
        return None if own_method else Used(ast.unparse(node))
    if (
        isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and node.id in disallowed - own
    ):
        return Used(node.id)
    if isinstance(node, ast.alias) and node.name.split(".")[-1] in disallowed:
        return Used(node.name)
    return Used(repr(text)) if text in disallowed else None


def _imports(node: ast.AST, modules: set[str]) -> Used | None:
    if isinstance(node, ast.Import):
        names = {alias.name: alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        base = node.module  # a module, or a package whose modules are asked for by name
        whole = [f"{base}.{alias.name}" for alias in node.names]
        names = {name: name if base in own_packages() else base for name in whole}
    else:
        return None
    for name, written in names.items():
        allowed = any(name == module or name.startswith(f"{module}.") for module in modules)
        if name.split(".")[0] in own_packages() and not allowed:
            return Used(f"import {written}", of_course=True)
    return None
