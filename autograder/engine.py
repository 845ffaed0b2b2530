"""What can run jobs: processes of this machine, or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from autograder.settings import Settings

Job = dict[str, Any]
Result = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A job, the student whose it is, its key, and the file in which its result must stand."""

    student: str
    key: str
    job: Job
    target: Path


class Engine(Protocol):
    """Whatever runs jobs."""

    def run(self, tasks: Iterator[Task], done: Callable[[Task], None]) -> None:
        """Run jobs as they come; ``done`` is called, in some thread, when a result stands.

        A job over which processes die is *poisoned*: its result says so, and a person must look.

        Raises:
            EngineError: no job can be run.
            sandbox.SandboxError: a machine cannot isolate as was asked.
        """

    def close(self) -> None:
        """End all that was started; threads that wait for it come back."""


def engine_for(settings: Settings) -> Engine:
    """The engine that settings ask for, already starting.

    Raises:
        EngineError: it cannot be had.
        sandbox.SandboxError: full isolation is not to be had here.
    """
    if settings.scheduler:
        from autograder.cluster import Dask

        return Dask(settings.scheduler)
    from autograder.local import Local

    return Local(settings.workers, settings.isolation)
