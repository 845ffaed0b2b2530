"""The examples that students see, run on any answer to a part."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jupytext

ASSIGNMENTS = Path(__file__).parents[2] / "assignments"


@cache
def _cells(assignment: str) -> tuple[tuple[str, str, str], ...]:
    """Code cells of an assignment's source as (kind, name, code); kind is "" for all others."""
    found = []
    for cell in jupytext.read(ASSIGNMENTS / assignment / "notebook.py").cells:
        if cell.cell_type != "code" or "signoff" in cell.source or cell.source == "check()":
            continue
        kind = next((tag for tag in ("solution", "test", "check") if tag in cell.metadata), "")
        found.append((kind, cell.metadata.get(kind, ""), cell.source))
    return tuple(found)


def example_of(assignment: str, part: str) -> str:
    """The cell with the example of a part, without blank lines."""
    code = next(code for kind, name, code in _cells(assignment) if (kind, name) == ("test", part))
    return "\n".join(line for line in code.splitlines() if line.strip())


def failure(assignment: str, part: str, answer: Callable[..., Any] | None = None) -> str | None:
    """What the example of a part says to an answer; None where it holds.

    Args:
        assignment, part: whose example.
        answer: stands in the place of the model answer; None tries the model answer itself.
            Earlier parts are the model answer's.
    """
    namespace: dict[str, Any] = {"__name__": "visible"}
    for kind, name, code in _cells(assignment):
        if kind in ("", "solution"):
            exec(code, namespace)
        if kind == "solution" and name == part and answer is not None:
            namespace[part] = answer
        if kind == "test" and name == part:
            namespace["check"] = lambda part: namespace[f"test_{part}"]()
            try:
                with warnings.catch_warnings():  # which stop nothing in a student's notebook
                    warnings.simplefilter("ignore")
                    exec(code, namespace)
            except Exception as error:  # noqa: BLE001 (whatever a wrong answer does)
                return f"{type(error).__name__}: {error}"
            return None
    raise LookupError(f"{assignment} has no example of '{part}'")
