"""Pairs of submissions that are alike beyond what was given out: a hint for a person, never a score.

Code becomes numbers that stay the same when it is renamed, moved or laid out anew. It is cut into
functions, methods, and what stands outside of them; each becomes the sequence of what its syntax tree
holds, without the names that its author chose; and winnowing chooses some of the sequence's pieces:
Schleimer, Wilkerson and Aiken, "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD 2003,
section 3.

What stands in the release or in the solution counts for nothing, and what many students wrote counts
for little. The rest is weighed as *rarity*: a fingerprint that m of n students have is log₂(n/m) bits, as
in the inverse document frequency of Spärck Jones (1972), "A statistical interpretation of term
specificity and its application in retrieval", Journal of Documentation 28.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import itertools
import math
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

PIECE = 5  # signs in a piece, so that nothing shorter is ever alike
WINDOW = 2  # pieces that follow each other, of which at least one is chosen
OUTSIDE = ""  # the name of what stands in no function

SHARE = 0.75  # of what is rare in both, from which a pair is a hint
FEWEST_PRINTS = 5  # of an answer beyond what was given out, for it to say anything
FEWEST_STUDENTS = 5  # among whom something can be called rare

COMMAND = re.compile(r"^[^\S\n]*[%!].*$", re.MULTILINE)  # what IPython reads and Python does not
BUILTINS = frozenset(dir(builtins))
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# what says how a name is used and not what is computed
LEFT_OUT = (ast.Load, ast.Store, ast.Del, ast.Expr, ast.Module)

Cells = Sequence[str]  # the code cells of a notebook
Fingerprints = frozenset[int]


@dataclass(frozen=True)
class Pair:
    """Two students whose answers are alike.

    Attributes:
        students: their ids.
        share: how much of what is rare in their answers both have, from 0 to 1.
        bits: how rare that is, one part after the other added up.
        parts: the share of each part in which there is something rare.
    """

    students: tuple[str, str]
    share: float
    bits: float
    parts: dict[str, float]


def similar_pairs(
    answers: Mapping[str, Cells], parts: Sequence[str], given: Iterable[str]
) -> list[Pair]:
    """The pairs of a class that are alike, the rarest likeness first.

    A part's bits are the mean rarity of its fingerprints, where those that only one of the two has
    count as nothing. Added over parts, they are compared with what the two answers would have in
    common with themselves, which gives the share. Beside the share, a pair needs half as many bits
    as it takes to tell one pair of the class from all others.

    Args:
        answers: code cells by student; what was given out may be among them.
        parts: the names of the assignment's functions and classes.
        given: code cells that say nothing, which are the release's and the solution's.
    """
    students = sorted(answers)
    if len(students) < FEWEST_STUDENTS:
        return []
    known = frozenset().union(*(prints for _, prints in fingerprints(given)))
    own = [_prints_by_part(answers[student], parts, known) for student in students]
    having = Counter(itertools.chain.from_iterable(set().union(*prints.values()) for prints in own))
    by_part = {
        part: _bits([prints.get(part, set()) for prints in own], having)
        for part in (*parts, OUTSIDE)
    }
    total = np.sum([*by_part.values()], axis=0)
    with_itself = np.diag(total)
    most = (with_itself[:, None] + with_itself[None, :]) / 2
    share = np.divide(total, most, out=np.zeros_like(total), where=most > 0)
    enough = math.log2(math.comb(len(students), 2)) / 2
    alike = np.argwhere(np.triu((share >= SHARE) & (total >= enough), 1))
    found = [
        Pair(
            (students[one], students[other]),
            float(share[one, other]),
            float(total[one, other]),
            {
                part: float(2 * bits[one, other] / (bits[one, one] + bits[other, other]))
                for part, bits in by_part.items()
                if bits[one, one] and bits[other, other]
            },
        )
        for one, other in alike
    ]
    return sorted(found, key=lambda pair: (-pair.bits, pair.students))


def _prints_by_part(cells: Cells, parts: Sequence[str], known: Fingerprints) -> dict[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for name, prints in fingerprints(cells):
        found[name if name in parts else OUTSIDE] |= prints - known
    return found


def _bits(prints: Sequence[set[int]], having: Counter[int]) -> np.ndarray:
    """How rare it is what each two answers to a part have in common, (n, n).

    An answer that has next to nothing of its own has nothing in common with any.
    """
    prints = [own if len(own) >= FEWEST_PRINTS else set() for own in prints]
    places = {number: place for place, number in enumerate(set().union(*prints))}
    has = np.zeros((len(prints), len(places)), dtype=np.float32)
    for row, own in enumerate(prints):
        has[row, [places[number] for number in own]] = 1
    students = np.array([having[number] for number in places], dtype=np.float32)
    rarity = np.log2(len(prints) / students)
    sizes = has.sum(axis=1)
    return 2 * ((has * rarity) @ has.T) / np.maximum(sizes[:, None] + sizes[None, :], 1)


def fingerprints(cells: Iterable[str]) -> Iterator[tuple[str, Fingerprints]]:
    """The fingerprints of each function and method, and of what stands outside, cell by cell.

    Yields:
        the function or class at the top that something belongs to, `OUTSIDE` for neither, and its
        fingerprints. Imports have none, nor has a class beside its methods, nor a cell that Python
        cannot read.
    """
    for source in cells:
        outside: list[ast.stmt] = []
        for statement in statements_in(source):
            match statement:
                case ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
                    yield name, _prints_of_function(statement)
                case ast.ClassDef(name):
                    for method in statement.body:
                        if isinstance(method, FUNCTIONS):
                            yield name, _prints_of_function(method)
                case ast.Import() | ast.ImportFrom():
                    pass
                case _:
                    outside.append(statement)
        if outside:
            yield OUTSIDE, prints_of(signs_of(outside))


def statements_in(source: str) -> list[ast.stmt]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a student has typed
            return ast.parse(COMMAND.sub("", source)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _prints_of_function(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Fingerprints:
    match function.body:
        case [ast.Expr(ast.Constant(str())), *body]:  # a docstring
            return prints_of(signs_of(body))
    return prints_of(signs_of(function.body))


def signs_of(statements: Iterable[ast.AST]) -> list[str]:
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
        case ast.Constant(str() | bytes()):
            yield "text"
            return
        case ast.Constant(value):
            # only to base 16 does Python write all whole numbers that code may hold
            yield hex(value) if type(value) is int else repr(value)
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


def prints_of(signs: Sequence[str]) -> Fingerprints:
    """The fingerprints of a sequence of signs; one that is shorter than a piece has none."""
    pieces = [_digest(signs[place : place + PIECE]) for place in range(len(signs) - PIECE + 1)]
    windows = range(max(len(pieces) - WINDOW + 1, min(len(pieces), 1)))
    return frozenset(min(pieces[place : place + WINDOW]) for place in windows)


def _digest(signs: Sequence[str]) -> int:
    text = "\0".join(signs).encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
