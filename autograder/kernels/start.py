"""What a fork of a kernels' zygote is asked to become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from autograder.kernels.limits import Limits
from autograder.probe.bar import Bar

EXIT = "exit"  # how a kernel says that a cell has told it to end


@dataclass(frozen=True)
class Walls:
    """What `enter` needs to know.

    Attributes:
        limits: what the notebook may use.
        cwd: where its files are wanted.
        modules: modules of the course that it may import.
    """

    limits: Limits
    cwd: str
    modules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Start:
    """What a fork of the kernels' zygote is asked to become.

    Attributes:
        env: the environment.
        cwd: the working folder.
        walls: what to put around itself; None leaves all doors open.
        limits: what it may take where it has no walls; None sets no limit.
        arguments: of ipykernel's command line, for a kernel that talks ZMQ.
        closed: what is closed before anything runs, and for good.
        bars: what will be closed while parts are asked; worked out before the fork.
    """

    env: dict[str, str]
    cwd: str
    walls: Walls | None = None
    arguments: list[str] = field(default_factory=list)
    closed: Bar | None = None
    bars: Sequence[Bar] = ()
    limits: Limits | None = None
