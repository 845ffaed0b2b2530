"""In the place of `autograder.cell` where a notebook is graded: what its cells ask is decided outside, and once."""

from __future__ import annotations

import sys
from collections.abc import Callable


def checker(_assignment: str) -> Callable[..., None]:
    """The function `check` of a notebook."""
    return check


def check(_part: str = "") -> None:
    """Say nothing."""


def put_in_place() -> None:
    """Let notebooks of this process import this module as ``autograder.cell``."""
    sys.modules["autograder.cell"] = sys.modules[__name__]
