"""Find what a part may not use: by reading the code it reaches, never by running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from autograder.checks.course import GRADER
from autograder.checks.notebook_source import written_out
from autograder.checks.reached import NOTEBOOK, Code
from autograder.files import cut, printable

LONGEST_LINE = 100  # letters of one that is quoted
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


@dataclass(frozen=True)
class Used:
    """Something that a part uses and may not.

    Attributes:
        message: the same as its author wrote it, or nearly so.
        of_course: it is a module of the course or of the grader, and no disallowed name.
        where: the line in which it stands, to follow upon the message; empty if that is not known.
    """

    message: str
    of_course: bool = False
    where: str = field(default="", compare=False)


def with_back_ways(disallowed: Iterable[str]) -> tuple[str, ...]:
    """Disallowed names, and the other names under which the library has the same."""
    names = tuple(disallowed)
    return (*names, *(way for name in names for way in BACK_WAYS.get(name, ())))


def find(
    cells: Iterable[str],
    part: str,
    disallowed: Iterable[str],
    modules: Iterable[str],
    other_parts: Iterable[str] = (),
    beside: tuple[tuple[str, str], ...] = (),
    packages: tuple[str, ...] = (),
) -> Used | None:
    """The first thing that ``part`` uses and may not; None if there is none.

    Args:
        part: name of the function or class that is graded.
        disallowed: library names that would be the answer itself. What the notebook itself defines
            under such a name is the student's own, and free.
        modules: modules of the course that may be imported, whole or name by name.
        other_parts: parts that this one may call; what they use is charged there.
        beside: (name, source) of the files beside the notebook that a cell names; of these, what the part imports
            is read.
        packages: of the course, which hold the answers; the assignments' comes first.
    """
    code = Code(tuple(cells), beside)
    disallowed, modules = set(disallowed), set(modules)
    mine: dict[
        str, set[str]
    ] = {}  # names of objects that are the student's own, by the place that has them
    for reached in code.reached_from(part, other_parts):
        statement, place = reached.statement, reached.place
        given = code.given_by(place, statement)
        if place not in mine:
            modules_beside = [
                name for name, own in code.given_in(place).items() if own & disallowed
            ]
            mine[place] = {"self", "cls"} - code.definitions(place).statements.keys()
            mine[place].update(modules_beside)
        mine[place] -= statement.binds_inside - given.keys()
        free = {*given} | code.own(place)
        for node, text in statement.names:
            used = _imports(node, modules, packages)
            theirs = isinstance(node, ast.alias) and (node.asname or node.name) in given
            if not used and not reached.only_runs and not theirs:
                used = _uses(node, text, disallowed, free, mine[place]) or _smuggles(text, packages)
            if used:
                return replace(used, where=_where(code, place, node, used))
    return None


def _where(code: Code, place: str, node: ast.AST, used: Used) -> str:
    """The line in which something stands, by its number and as it is written."""
    word = re.split(r"[ .]", used.message)[1 if used.of_course else -1].strip("'")
    number, line = code.line_of(place, getattr(node, "lineno", 0), word)
    if not number:
        return ""
    named = "a cell" if place == NOTEBOOK else f"`{printable(place)}`"
    written = "" if line == used.message else f", `{cut(printable(line), LONGEST_LINE)}`"
    return f", in line {number} of {named}{written}"


def _smuggles(text: str, packages: tuple[str, ...]) -> Used | None:
    """A module of the course that is named in a text, as for `importlib`, `exec` or `%run`."""
    for package, named in _ways_to_name(packages).items() if text else ():
        if named.search(text):
            return Used(f"import {package}", of_course=True)
    return None


@lru_cache(maxsize=8)
def _ways_to_name(packages: tuple[str, ...]) -> dict[str, re.Pattern[str]]:
    """Of each package of ours, how a text names it; every text of a notebook is looked at."""
    plain = {package.partition(".")[0]: re.compile(package) for package in (GRADER, *packages)}
    # the assignments' may be a plain word, so only where it is used as a module
    word = packages[0] if packages else ""
    used = rf"\bimport {word}\b|\bfrom {word} import\b|\b{word}\.\w"
    return {**plain, **({word: re.compile(used)} if word in plain else {})}


def _uses(
    node: ast.AST, text: str, disallowed: set[str], free: set[str], mine: set[str]
) -> Used | None:
    if isinstance(node, ast.Attribute) and node.attr in disallowed:
        own_method = isinstance(node.value, ast.Name) and node.value.id in mine
        return None if own_method else Used(written_out(node) or node.attr)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return Used(node.id) if node.id in disallowed and node.id not in free else None
    if isinstance(node, ast.alias) and node.name.split(".")[-1] in disallowed:
        return Used(node.name)
    return Used(repr(text)) if text in disallowed else None


def _imports(node: ast.AST, modules: set[str], packages: tuple[str, ...]) -> Used | None:
    own = {GRADER, *(package.partition(".")[0] for package in packages)}
    if isinstance(node, ast.Import):
        names = {alias.name: alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        base = node.module  # a module, or a package whose modules are asked for by name
        whole = [f"{base}.{alias.name}" for alias in node.names]
        names = {name: name if base in own else base for name in whole}
    else:
        return None
    for name, written in names.items():
        allowed = any(name == module or name.startswith(f"{module}.") for module in modules)
        if name.split(".")[0] in own and not allowed:
            return Used(f"import {written}", of_course=True)
    return None
