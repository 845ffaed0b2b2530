"""Find what a notebook could look into its own process with: by reading it, never by running it.

Of what stands in such a process, a notebook could open again what is closed while it is asked. Only
what is known to lead nowhere is let pass, so an honest notebook may well be found here; it is then
asked once more, see `autograder.grade.grading`, and loses nothing.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from autograder.bounds import MOST_CODE, MOST_NESTED, SECONDS_TO_READ, OutOfTime, within
from autograder.checks.notebook_source import UNREADABLE, once_a_cell, parsed

# what may be imported, whole or name by name
MODULES = frozenset({
    "__future__", "abc", "cmath", "collections", "collections.abc", "copy", "dataclasses", "einops",
    "enum", "fractions", "functools", "itertools", "math", "matplotlib", "matplotlib.colors",
    "matplotlib.pyplot", "numbers", "numpy", "numpy.linalg", "numpy.random", "random", "re",
    "statistics", "textwrap", "time", "torch", "torch.nn", "torch.nn.functional", "torch.nn.init",
    "torch.nn.utils.rnn", "torch.optim", "torch.utils.data", "tqdm", "tqdm.auto", "typing",
    "warnings",
})  # fmt: skip
# attributes and imported names that lead to frames, to all objects, to memory or to code in texts;
# a module that may not be imported is found in others, too
NAMES = frozenset({
    "ag_frame", "asyncio", "atexit", "attrgetter", "autograder", "benchmark", "builtins", "cr_frame",
    "ctypes", "ctypeslib", "currentframe", "distributed", "export", "f2py", "f_back", "f_builtins",
    "f_globals", "f_locals", "from_file", "fromfile", "fx", "gc", "get_type_hints", "gi_frame", "hub",
    "importlib", "inspect", "io", "jit", "library", "load", "loads", "logging", "marshal", "memmap",
    "methodcaller", "multiprocessing", "operator", "ops", "os", "overrides", "package", "pathlib",
    "pickle", "pydoc", "runpy", "setprofile", "settrace", "signal", "singledispatch",
    "singledispatchmethod", "stride_tricks", "string", "subprocess", "sys", "tb_frame", "tb_next",
    "testing", "threading", "timeit", "traceback", "types", "unittest", "weakref",
})  # fmt: skip
BUILT_IN = frozenset({
    "breakpoint", "compile", "delattr", "eval", "exec", "get_ipython", "getattr", "globals", "hasattr",
    "locals", "open", "setattr", "vars",
})  # fmt: skip
BY_NAME = ("getattr", "setattr", "hasattr")  # with a text that stands there, as good as a dot
RUNNING = ("time", "timeit")  # magics whose text is code, which is read
MAGICS = (*RUNNING, "cd", "ls", "matplotlib", "pip", "precision", "pwd", "who", "whos")
# what begins with an underscore and is nobody's secret
PLAIN = frozenset({
    "_", "__", "___", "__call__", "__class__", "__doc__", "__file__", "__init__", "__len__",
    "__name__", "__qualname__", "__version__", "_forward_hooks", "_forward_pre_hooks",
})  # fmt: skip


def introspects(
    cells: Iterable[str],
    beside: Iterable[tuple[str, str]] = (),
    libraries: Iterable[str] = (),
) -> str:
    """What a notebook looks into its process with, or might; "" for nothing.

    Args:
        cells: source of the notebook's code cells.
        beside: (name, source) of the modules that lie beside it.
        libraries: packages of the course, which are harmless.
    """
    beside = tuple(beside)
    modules = MODULES | {name for name, _ in beside} | {f"{name}." for name in libraries}
    sources = *cells, *(source for _, source in beside)
    if sum(map(len, sources)) > MOST_CODE:
        return "what cannot be read"
    try:
        with within(SECONDS_TO_READ):
            looked_at = [_doubtful(source) for source in sources]
    except (*UNREADABLE, OutOfTime):
        return "what cannot be read"
    own = frozenset(name for cell in looked_at for name in cell.own if _is_free(name))
    nodes = (node for cell in looked_at for node in cell.nodes)
    return next(filter(None, (_reaches(node, modules, own) for node in nodes)), "")


class Doubtful(NamedTuple):
    """What may be odd in a cell: whether it is, the rest of the notebook decides.

    Attributes:
        own: hidden names to which it gives a meaning.
        nodes: what looks into the process, unless it is the notebook's own.
    """

    own: frozenset[str]
    nodes: tuple[ast.AST, ...]


@once_a_cell
def _doubtful(source: str) -> Doubtful:
    """What a cell would reach if nothing were the notebook's own; errors are those of `parsed`."""
    nodes = _nodes(source)
    own = frozenset(name for name in _names_given_by(nodes) if _is_hidden(name, frozenset()))
    reaching = (node for node in nodes if _reaches(node, MODULES, frozenset()))
    return Doubtful(own, tuple(reaching))


def _nodes(source: str, depth: int = 0) -> list[ast.AST]:
    """All nodes of a cell and of the code that is handed to its magics."""
    if depth > MOST_NESTED:
        raise ValueError("magics in magics, and deeper than is read")
    todo: list[ast.AST] = [*parsed(source)]
    nodes: list[ast.AST] = []
    while todo:
        node = todo.pop()
        match node:
            case ast.Call(
                ast.Attribute(ast.Call(ast.Name("get_ipython"), [], []), attr=how),
                [ast.Constant(str() as name), *_, ast.Constant(str() as code)],
                [],
            ) if name in MAGICS and how in ("run_line_magic", "run_cell_magic"):
                nodes += _nodes(code, depth + 1) if name in RUNNING else []
            case ast.Call(ast.Name(name), [subject, ast.Constant(str() as said), *rest]) if (
                name in BY_NAME
            ):
                nodes.append(ast.Attribute(subject, said, ast.Load()))
                todo += [subject, *rest]
            case _:
                nodes.append(node)
                todo += ast.iter_child_nodes(node)
    return nodes


def _names_given_by(nodes: list[ast.AST]) -> Iterator[str]:
    """Names to which a cell gives a meaning."""
    for node in nodes:
        match node:
            case (
                ast.Name(name, ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
                | ast.FunctionDef(name=name)
                | ast.arg(name)
            ):
                yield name


def _is_free(name: str) -> bool:
    """Whether no module that may be imported has such a name."""
    return not any(name in vars(sys.modules[each]) for each in MODULES if each in sys.modules)


def _reaches(node: ast.AST, modules: frozenset[str], own: frozenset[str]) -> str:
    match node:
        case ast.Import(names):
            named = [alias.name for alias in names if not _may(alias.name, modules)]
        case ast.ImportFrom(str() as module, names, 0):
            named = [] if _may(module, modules) else [module]
            named += [alias.name for alias in names if _is_odd(alias.name, own)]
        case ast.ImportFrom():
            named = ["."]
        case ast.Attribute(attr=name):
            named = [name] if _is_odd(name, own) else []
        case ast.Name(id=name):
            named = [name] if name in BUILT_IN or _is_hidden(name, own) else []
        case ast.MatchClass(kwd_attrs=names):
            named = [name for name in names if _is_odd(name, own)]
        case _:
            named = []
    return named[0] if named else ""


def _may(module: str, modules: frozenset[str]) -> bool:
    return module in modules or f"{module.partition('.')[0]}." in modules


def _is_odd(name: str, own: frozenset[str]) -> bool:
    return name in NAMES or _is_hidden(name, own)


def _is_hidden(name: str, own: frozenset[str]) -> bool:
    return name.startswith("_") and name not in PLAIN and name not in own
