"""What can be written in another way in a piece of code, such as `dim=0` for `dim=-1`, or `*` for `/`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

# axes and places, an exponent, the base of positions' frequencies, and a number that saves a root
OTHER_NUMBER = {-1: "0", 0: "1", 1: "0", -2: "-1", 2: "1", 3: "2", 0.5: "1", 1e4: "100", 1e-5: "1"}
HIDES, SHOWS = -1e4, "0.0"  # a number as low as this leaves a score no weight, and that one does
OTHER_SIGN: dict[type[ast.AST], tuple[str, str]] = {
    ast.Div: ("/", "*"), ast.Mult: ("*", "/"), ast.Add: ("+", "-"), ast.Sub: ("-", "+"),
    ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"), ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
}  # fmt: skip
OTHER_NAMES = {
    "sin": "cos", "cos": "sin", "tril": "triu", "triu": "tril", "tanh": "sigmoid", "sum": "mean",
    "mean": "sum", "relu": "tanh sigmoid", "ReLU": "Tanh Sigmoid", "exp": "exp2", "sqrt": "square",
    "softmax": "log_softmax sigmoid", "Softmax": "LogSoftmax", "cat": "stack", "stack": "cat",
    "hstack": "vstack", "dstack": "hstack", "eq": "ne", "ne": "eq", "mul": "div", "div": "mul",
    "ones": "zeros", "zeros": "ones",
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """Something in a line that somebody could write in another way.

    Attributes:
        line: its number, from 1.
        start, end: from which byte of the line to which.
        new: what to put there.
    """

    line: int
    start: int
    end: int
    new: str

    def made_in(self, line: str) -> str:
        """The line with this change."""
        was = line.encode()
        return (was[: self.start] + self.new.encode() + was[self.end :]).decode()


def lines_of(source: str) -> list[str]:
    """The lines that Python's reader finds; to it, other line ends than usual are letters."""
    return [line.decode() for line in source.encode().splitlines()]


def changes_in(source: str) -> list[Change]:
    """What somebody could write in another way.

    What then comes out, and whether that is anything else, is not known. In a constructor few things are
    changed, because most would only show in other random weights.
    """
    lines = [line.encode() for line in lines_of(source)]  # places in a line are counted in bytes
    found: list[Change] = []

    def note(line: int, column: int, old: str, new: str) -> None:
        # a text's letters may be halves of one, which no line holds
        was = old.encode("utf-8", "surrogatepass")
        start = lines[line - 1].find(was, column)
        if was and start >= 0 and new != old:
            found.append(Change(line, start, start + len(was), new))

    # a number is changed with its sign, results keep their order, and types do nothing
    kept = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for types in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            kept |= {*map(id, ast.walk(types))} if types else set()
        match node:
            case ast.UnaryOp(operand=part) | ast.Return(value=ast.Tuple() as part):
                kept.add(id(part))
            case ast.FunctionDef(name="__init__"):
                kept |= {*map(id, ast.walk(node))}
    for node in ast.walk(tree):
        for place, old, new in () if id(node) in kept else _replaced(lines, node):
            note(place.lineno, place.col_offset, old, new)
        for place, old, new in _replaced_behind(node):
            note(place.end_lineno or 1, place.end_col_offset or 0, old, new)
    return found


def _replaced(lines: list[bytes], node: ast.AST) -> Iterator[tuple[ast.expr, str, str]]:
    """Expressions that begin with something, and what to put in its place."""
    match node:
        case ast.Constant(value=bool() as value):
            yield node, str(value), str(not value)
        case ast.Constant(value=str() as value) if _is_of_an_einsum(value):
            yield node, value, value[:-2] + value[:-3:-1]
        case ast.Constant() | ast.Call() | ast.UnaryOp() if new := _other_number(node):
            yield node, _text_of(lines, node), new
        case ast.UnaryOp(op=ast.Invert()):
            yield node, "~", ""
        case ast.Call(args=several) | ast.List(elts=several) | ast.Tuple(elts=several):
            for one, other in pairwise(several):  # in each other's place
                texts = [_text_of(lines, each) for each in (one, other)]
                numbers = [isinstance(each, ast.Constant) for each in (one, other)]
                if numbers[0] == numbers[1] and texts[0] != texts[1] and all(texts):
                    yield one, ", ".join(texts), ", ".join(reversed(texts))
        case ast.FunctionDef(args=ast.arguments(args=arguments, defaults=defaults)):
            needed = arguments[: len(arguments) - len(defaults)]
            names = [one.arg for one in needed if one.arg != "self"]
            others = dict(zip(names, [*names[1:], *names[:1]], strict=True))
            for each in ast.walk(node):
                match each:
                    case ast.Name(id=name, ctx=ast.Load()) if others.get(name, name) != name:
                        yield each, name, others[name]


def _is_of_an_einsum(text: str) -> bool:
    """Whether a text ends with an arrow and axes, of which the last two can change places."""
    _, arrow, axes = text.rpartition("->")
    return bool(arrow and re.fullmatch(r"\w\w", axes[-2:]))


def _text_of(lines: list[bytes], node: ast.expr) -> str:
    """How an expression is written, if that is on one line, within which things are changed; else empty."""
    if node.lineno != node.end_lineno:
        return ""
    return lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()


def _replaced_behind(node: ast.AST) -> Iterator[tuple[ast.expr, str, str]]:
    """Expressions behind which something stands, and what to put in its place."""
    match node:
        case (
            ast.BinOp(left=one, op=sign)
            | ast.Compare(left=one, ops=[sign])
            | ast.AugAssign(target=one, op=sign)
        ) if type(sign) in OTHER_SIGN:
            yield one, *OTHER_SIGN[type(sign)]
        case ast.Attribute(value=value, attr=name):
            for other in OTHER_NAMES.get(name, "").split():
                yield value, f".{name}", f".{other}"


def _other_number(node: ast.expr) -> str:
    """What to write for a number; empty for any other expression."""
    match node:
        case ast.Call(ast.Name("float"), [ast.Constant("-inf")]) | ast.UnaryOp(
            ast.USub(), ast.Attribute(attr="inf")
        ):
            return SHOWS
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as size)):
            return SHOWS if -size <= HIDES else OTHER_NUMBER.get(-size, "")
        case ast.Constant(int() | float() as number):
            return OTHER_NUMBER.get(number, "")
    return ""
