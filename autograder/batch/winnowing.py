"""Code as sets of numbers that stay the same when it is renamed, moved or laid out anew.

A program is cut into units, which are its functions, its methods, and what stands outside of them.
A unit becomes the sequence of what its syntax tree holds, without the names that its author chose,
and winnowing chooses some of the sequence's pieces: Schleimer, Wilkerson and Aiken, "Winnowing: Local
Algorithms for Document Fingerprinting", SIGMOD 2003, section 3.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

PIECE = 5  # signs in a piece, so that nothing shorter is ever alike
WINDOW = 2  # pieces that follow each other, of which at least one is chosen
OUTSIDE = ""  # the name of what stands in no function

COMMAND = re.compile(r"^\s*[%!].*$", re.MULTILINE)  # what IPython reads and Python does not
BUILTINS = frozenset(dir(builtins))
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# what says how a name is used and not what is computed
LEFT_OUT = (ast.Load, ast.Store, ast.Del, ast.Expr, ast.Module)


@dataclass(frozen=True)
class Unit:
    """A piece of a program.

    Attributes:
        part: the function or class at the top that it belongs to; `OUTSIDE` for neither.
        prints: its fingerprints.
    """

    part: str
    prints: frozenset[int]


def units_of(sources: Iterable[str]) -> Iterator[Unit]:
    """The units of a program that stands in several cells; cells that cannot be read have none."""
    for source in sources:
        outside: list[ast.stmt] = []
        for statement in _statements(source):
            if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
                yield from _units_in(statement)
            elif not isinstance(statement, ast.Import | ast.ImportFrom):
                outside.append(statement)
        if outside:
            yield Unit(OUTSIDE, prints_of(_signs(outside)))


def code_of(part: str, sources: Iterable[str]) -> str:
    """The text of what is defined at the top under this name, or of all that is in no function."""
    found = []
    for source in sources:
        for statement in _statements(source):
            if getattr(statement, "name", OUTSIDE) == part:
                found.append(ast.get_source_segment(COMMAND.sub("", source), statement) or "")
    return "\n".join(found)


def _statements(source: str) -> list[ast.stmt]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a student has typed
            return ast.parse(COMMAND.sub("", source)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _units_in(top: ast.stmt) -> Iterator[Unit]:
    """A function is one unit; of a class, each method is, and the rest is left out."""
    name = getattr(top, "name", OUTSIDE)
    methods = [top] if isinstance(top, FUNCTIONS) else getattr(top, "body", [])
    for method in methods:
        if isinstance(method, FUNCTIONS):
            yield Unit(name, prints_of(_signs(_without_docstring(method.body))))


def _without_docstring(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    match body:
        case [ast.Expr(ast.Constant(str())), *rest]:
            return rest
    return body


def _signs(statements: Sequence[ast.AST]) -> list[str]:
    """What the statements hold, in their order: kinds of nodes, operators, numbers and known names.

    A name that an author chose is a sign without a name, and so is every text. What stays is what
    Python, PyTorch and the assignment call things, which is what follows a dot or names an argument.
    """
    try:
        return [sign for statement in statements for sign in _signs_of(statement)]
    except RecursionError:
        return []


def _signs_of(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(name):
            yield name if name in BUILTINS else "name"
            return
        case ast.Constant(value):
            yield "text" if isinstance(value, str | bytes) else repr(value)
            return
        case ast.arg() | ast.JoinedStr():
            yield type(node).__name__
            return
        case ast.Attribute(inner, name):
            yield from _signs_of(inner)
            yield f".{name}"
            return
        case ast.AnnAssign(target, _, value, _):
            # a type beside a name is not part of what is computed
            yield from _signs_of(ast.Assign([target], value or ast.Constant(None)))
            return
        case ast.keyword(name):
            yield f"{name}="
    if not isinstance(node, LEFT_OUT):
        yield type(node).__name__
    for child in ast.iter_child_nodes(node):
        yield from _signs_of(child)


def prints_of(signs: Sequence[str]) -> frozenset[int]:
    """The fingerprints of a sequence of signs; one that is shorter than a piece has none."""
    pieces = [_digest(signs[place : place + PIECE]) for place in range(len(signs) - PIECE + 1)]
    windows = range(max(len(pieces) - WINDOW + 1, min(len(pieces), 1)))
    return frozenset(min(pieces[place : place + WINDOW]) for place in windows)


def _digest(signs: Sequence[str]) -> int:
    text = "\0".join(signs).encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
