"""The checks, one module per assignment, each with a constant ``ASSIGNMENT``."""

from __future__ import annotations

import importlib
from pathlib import Path

from autograder.check import Assignment


def known() -> list[str]:
    """Ids of all assignments that have checks."""
    return sorted(path.stem for path in Path(__file__).parent.glob("a[0-9]*_*.py"))


def load(name: str) -> Assignment:
    """The checks of one assignment.

    Raises:
        LookupError: no assignment has this id; the message lists those there are.
    """
    if name not in known():
        raise LookupError(f"there is no assignment '{name}'. There are: {', '.join(known())}.")
    return importlib.import_module(f"autograder.checks.{name}").ASSIGNMENT
