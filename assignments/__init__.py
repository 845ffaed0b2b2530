"""The checks, one module per assignment, each with a constant ``ASSIGNMENT``."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autograder.verdict.check import Assignment

ALWAYS_ALLOWED = ("course_utils.signoff",)


def known() -> list[str]:
    """Ids of all assignments that have checks, by their numbers: a10 after a9."""
    names = [path.stem for path in Path(__file__).parent.glob("a[0-9]*_*.py")]
    return sorted(names, key=lambda name: (len(name.partition("_")[0]), name))


def load(name: str) -> Assignment:
    """The checks of one assignment.

    Raises:
        LookupError: no assignment has this id; the message lists those there are.
    """
    if name not in known():
        raise LookupError(f"there is no assignment '{name}'. There are: {', '.join(known())}.")
    return importlib.import_module(f"autograder.checks.{name}").ASSIGNMENT


def allowed_modules(name: str) -> tuple[str, ...]:
    """Modules of the course that an assignment's notebook may import; unknown ones get the usual.

    Read and not imported: kernels start with them, before there is time for anything else.
    """
    if name not in known():
        return ALWAYS_ALLOWED
    source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg == "allowed_modules":
            return tuple(ast.literal_eval(node.value))
    return ALWAYS_ALLOWED
