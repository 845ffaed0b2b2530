"""How a class is graded."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from autograder.sandbox.bubblewrap import FULL
from autograder.sandbox.limits import Limits


@dataclass(frozen=True)
class Settings:
    """How a class is graded.

    Attributes:
        workers: processes that grade side by side.
        isolation: `bubblewrap.FULL`, or `bubblewrap.NONE` where nothing can be lost.
        limits: what one notebook may use.
        feedback: also write nbgrader's feedback pages.
        again: grade also what has not changed.
        collected_times: believe the times in ``timestamp.txt``, which students can write, too.
        dry_run: work out who would get what, and write nothing of it.
        scheduler: address of a Dask scheduler whose cluster grades; empty for this machine.
    """

    workers: int = os.cpu_count() or 1
    isolation: str = FULL
    limits: Limits = field(default_factory=Limits)
    feedback: bool = True
    again: bool = False
    collected_times: bool = False
    dry_run: bool = False
    scheduler: str = ""
