"""How a class is graded."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from autograder.sandbox import FULL, Limits


@dataclass(frozen=True)
class Settings:
    """How a class is graded.

    Attributes:
        workers: processes that grade side by side.
        isolation: `sandbox.FULL`, or `sandbox.NONE` where nothing can be lost.
        seconds_per_cell, seconds: for one cell, and for a whole notebook.
        limits: what a notebook may use besides.
        feedback: also write nbgrader's feedback pages.
        again: grade also what has not changed.
        scheduler: address of a Dask scheduler whose cluster grades; empty for this machine.
    """

    workers: int = os.cpu_count() or 1
    isolation: str = FULL
    seconds_per_cell: int = 20
    seconds: int = 120
    limits: Limits = field(default_factory=Limits)
    feedback: bool = True
    again: bool = False
    scheduler: str = ""
