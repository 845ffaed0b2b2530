"""What one notebook may use: written once, and offered as flags by the command line."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from autograder.probe.deadline import TIMES_SLOWER

MEBIBYTE = 1 << 20


def _limit(default: int, help_text: str, unit: int = 1) -> Any:
    """A limit in its own unit, which is what a person gives on the command line."""
    return field(default=default * unit, metadata={"help": help_text, "unit": unit})


@dataclass(frozen=True)
class Limits:
    """What one notebook may use.

    What counts is processor time, so that a busy machine costs nobody a point; the limits on the
    clock are for what only waits (`autograder.probe.deadline.waited`).
    """

    seconds_per_cell: int = _limit(20, "seconds of processor time for one cell")
    seconds_per_call: int = _limit(5, "seconds of processor time for one case of a part")
    cpu: int = _limit(600, "seconds of processor time for the whole notebook and its answers")
    clock_per_cell: int = _limit(45, "seconds in which one cell may only wait")
    clock_per_call: int = _limit(30, "seconds in which one case of a part may only wait")
    seconds: int = _limit(240, "seconds in which the whole notebook may only wait")
    memory: int = _limit(2048, "MiB beyond what the imports take", MEBIBYTE)
    disk: int = _limit(128, "MiB in its folder and /tmp together", MEBIBYTE)
    entries: int = _limit(10_000, "files and folders in /tmp, its own included")
    file: int = _limit(64, "MiB in one file", MEBIBYTE)
    files: int = _limit(256, "open files")
    threads: int = _limit(512, "threads at a time")
    output: int = _limit(8, "MiB that it may print and show; the rest is left out", MEBIBYTE)

    @property
    def on_the_clock(self) -> float:
        """Seconds after which it has ended, however busy the machine is."""
        return self.seconds + TIMES_SLOWER * self.cpu


def keep_to(limits: Limits) -> None:
    """Let the calling process take no more memory, processor time and files than these."""
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    now = pages * resource.getpagesize()
    for kind, most in {
        resource.RLIMIT_AS: now + limits.memory,
        resource.RLIMIT_CPU: limits.cpu,
        resource.RLIMIT_FSIZE: limits.file,
        resource.RLIMIT_NOFILE: limits.files,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_SIGPENDING: 0,  # those that wait are counted for all kernels together
    }.items():
        resource.setrlimit(kind, (most, most))


def keep_threads_to(limits: Limits) -> None:
    """Let the calling process's user have no more threads than these, in all its processes together.

    Linux does not count root's.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_NPROC, (limits.threads, limits.threads))


def flags() -> list[tuple[str, int, str]]:
    """(name, default, help) of a command-line flag for each limit, in the unit that people use."""
    return [
        (item.name, item.default // item.metadata["unit"], item.metadata["help"])
        for item in fields(Limits)
    ]


def from_flags(given: dict[str, int]) -> Limits:
    """The limits that flags of these names and values mean."""
    units = {item.name: item.metadata["unit"] for item in fields(Limits)}
    return Limits(**{name: number * units[name] for name, number in given.items() if name in units})
