"""What a fork of a kernels' zygote is asked to become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.probe.disallowed import Disallowed
from autograder.sandbox.limits import Limits

EXIT = "exit"  # how a kernel says that a cell has told it to end


@dataclass(frozen=True)
class Confinement:
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
class SpawnRequest:
    """What a fork of the kernels' zygote is asked to become.

    Attributes:
        env: the environment.
        cwd: the working folder.
        confinement: what to put around itself; None confines nothing.
        limits: what it may take where it is not confined; None sets no limit.
        closed: what is closed before anything runs, and for good.
        disallowed_lists: what will be closed while parts are asked; worked out before the fork.
    """

    env: dict[str, str]
    cwd: str
    confinement: Confinement | None = None
    closed: Disallowed | None = None
    disallowed_lists: Sequence[Disallowed] = ()
    limits: Limits | None = None
