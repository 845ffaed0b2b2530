"""Find what a part may not use: by reading the code it reaches, never by running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from autograder.checks.notebook_source import Definitions, written_out

# other names under which PyTorch has what a disallowed name stands for
GRADER = "autograder"  # a package that holds answers, as those of the course do
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
    """

    message: str
    of_course: bool = False


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
        beside: what `modules_beside` finds.
        packages: of the course, which hold the answers; the assignments' comes first.
    """
    definitions = Definitions.of(tuple(cells), beside)
    disallowed, modules = set(disallowed), set(modules)
    free = definitions.own & disallowed
    mine = {"self", "cls"} - definitions.statements.keys()
    # what a star brings in has no name here, so it counts for every part
    stars = definitions.statements.get("*", [])
    for statement in [*stars, *definitions.reached_from(part, other_parts)]:
        mine = mine - statement.binds_inside
        for node, text in statement.names:
            used = (
                _uses(node, text, disallowed, free, mine)
                or _imports(node, modules, packages)
                or _smuggles(text, packages)
            )
            if used:
                return used
    return None


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
