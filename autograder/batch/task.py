"""What an engine is given, and what it must do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:  # an engine's processes import while this one has little to do
    from autograder.grade.messages import Job


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


# ---------------------------------------------------------------------- what a worker is told


class GradeOrder(Struct, frozen=True, tag_field="do", tag="grade"):
    """Run the job beside it; a `Result` is beside the outcome."""


class FeedbackOrder(Struct, frozen=True, tag_field="do", tag="feedback"):
    """Let nbgrader write a student's feedback page, in a course folder."""

    course: str
    assignment: str
    student: str


class Outcome(Struct, frozen=True):
    """How an order was carried out: why there is nothing to show for it, if there is nothing."""

    failed: str = ""
