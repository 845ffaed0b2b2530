"""What a kernel's zygote, the kernel, and whoever has asked for it tell each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from autograder.probe.disallowed import Disallowed
from autograder.sandbox.limits import Limits

LARGEST_COUNT = 1 << 31
OVERFLOW = "overflow"  # the kind of an output that is too large for a frame


class SpawnRequest(Struct, frozen=True, kw_only=True):
    """What a fork of the kernels' zygote is asked to become.

    Attributes:
        env: the environment.
        cwd: the working folder.
        limits: what it may take; None sets no limit.
        confined: whether it confines itself, and then it has limits.
        modules: of the course, those that it may import when it is confined.
        closed: what is closed before anything runs, and for good.
        disallowed_lists: what will be closed while parts are asked; worked out before the fork.
        files: how many orders to write a file come before it says that it is ready.
    """

    env: dict[str, str]
    cwd: str
    limits: Limits | None = None
    confined: bool = False
    modules: tuple[str, ...] = ()
    disallowed_lists: Sequence[Disallowed] = ()
    files: int = 0


# -------------------------------------------------------------------------- orders to a kernel


class Order(Struct, frozen=True, tag_field="do"):
    """What a kernel is to do."""


class FileOrder(Order, frozen=True, tag="file"):
    """Write the file beside it under a plain relative name."""

    name: str


class CellOrder(Order, frozen=True, tag="cell"):
    """Run a cell within so many seconds of processor time, and of waiting.

    Where it `asks` for an answer, everything is switched as it was at the start while it runs.
    """

    code: str
    cell: str
    cpu: float
    seconds: float
    asks: bool = False


class ProbeOrder(Order, frozen=True, tag="probe"):
    """Let the probe answer the questions beside it, each within so many seconds."""

    cpu: float
    seconds: float


ORDERS: Any = FileOrder | CellOrder | ProbeOrder


# ------------------------------------------------------------------------- what a kernel says


class Reply(Struct, frozen=True, tag_field="type"):
    """What a kernel says."""


class Ready(Reply, frozen=True, tag="ready"):
    """It stands before the first line of a submission, or never will: then how its start failed."""

    failed: str = ""


class Output(Reply, frozen=True, tag="output"):
    """One output message of Jupyter's, of a kind such as "stream"."""

    kind: str
    content: dict[str, Any]


class Done(Reply, frozen=True, tag="done"):
    """How a cell ended: its number in the order of execution, and "ok", "error" or "late"."""

    count: Annotated[int, Meta(ge=0, lt=LARGEST_COUNT)] | None
    status: str


class Answer(Reply, frozen=True, tag="answer"):
    """What the probe answers to the next request is beside it."""


class Answered(Reply, frozen=True, tag="answered"):
    """There are no more answers; too few have come where one has no bytes or too many."""


REPLIES: Any = Ready | Output | Done | Answer | Answered
