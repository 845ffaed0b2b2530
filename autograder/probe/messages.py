"""What the probe is asked, and what it answers: the messages that `autograder.probe.wire` carries."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from msgspec import field, structs

from autograder.probe.disallowed import NOTHING_DISALLOWED, Disallowed
from autograder.probe.wire import Message

# ----------------------------------------------------------------------------------- questions


class Request(Message, frozen=True, kw_only=True, tag_field="runner"):
    """What is to be done once with a function or a class.

    Attributes:
        subject: its name in the notebook.
        arguments, names: what it is called with, and what the text calls that.
        strided: whether tensors are handed over with gaps in memory.
        gradient: whether the result is also differentiated.
        seed: of torch's own randomness.
    """

    subject: str
    arguments: list[Any]
    names: list[str]
    strided: bool = False
    gradient: bool = False
    seed: int = 0


class RepeatedRequest(Request, frozen=True, kw_only=True):
    """What can be called several times in one go.

    Attributes:
        times: how often; above one, the value is the list of all results.
        memory: whether the largest new piece of memory is noted.
    """

    times: int = 1
    memory: bool = False


class CallRequest(RepeatedRequest, frozen=True, kw_only=True, tag="call"):
    """A call of a function.

    Attributes:
        anew: whether each of several calls gets new arguments.
        tries: arguments with which modules among the arguments are themselves called, before and
            after, to see whether they still give the same.
        traces: whether anybody looks at what is left in modules.
    """

    anew: bool = False
    tries: list[Any] = field(default_factory=list)
    traces: bool = True


class ChainRequest(Request, frozen=True, kw_only=True, tag="chain"):
    """Calls one after the other: ``arguments`` holds a list for each of them, and so do their names."""

    argument_names: list[list[str]]


class ModuleRequest(RepeatedRequest, frozen=True, kw_only=True, tag="module"):
    """A module that is built, given weights, and used, as `autograder.checks.cases.Build` says."""

    construct: list[Any] = field(default_factory=list)
    keywords: dict[str, Any] = field(default_factory=dict)
    dtype: str = "float32"
    state: dict[str, Any] = field(default_factory=dict)
    fitted: bool = False
    training: bool = False
    method: str | None = None
    rested: bool = False
    before: list[Any] = field(default_factory=list)
    before_method: str | None = None


class DrawingRequest(Request, frozen=True, kw_only=True, tag="drawing"):
    """A call of a function that draws, on matplotlib Axes that it is given as ``ax`` or on its own."""

    keywords: dict[str, Any] = field(default_factory=dict)
    on_axes: bool = False


AnyRequest = CallRequest | ChainRequest | ModuleRequest | DrawingRequest


class Questions(Message, frozen=True, kw_only=True):
    """All that is asked about a part at a time.

    Attributes:
        requests: what is to be done, one after the other.
        steps: the step that each of them belongs to, by its number. Where one is not done in its time, the
            rest of its step is not tried, since the step is lost; empty where all are asked.
        substitutes: by the name that it takes, source of ours that stands in for an earlier part.
        disallowed: what is closed meanwhile.
    """

    requests: list[AnyRequest]
    steps: list[int] = field(default_factory=list)
    substitutes: dict[str, str] = field(default_factory=dict)
    disallowed: Disallowed = field(default_factory=lambda: NOTHING_DISALLOWED)

    def rest_of_step(self, number: int) -> int:
        """How many requests after this one belong to its step."""
        return self.steps[number + 1 :].count(self.steps[number]) if self.steps else 0

    def after(self, number: int) -> Questions:
        """The same about all but so many of the first requests."""
        return structs.replace(self, requests=self.requests[number:], steps=self.steps[number:])


# ------------------------------------------------------------------------------------- answers


class ErrorSeen(Message, frozen=True):
    """An error by its type, the names of that type and its bases, its message and its author's line."""

    type: str
    types: list[str]
    message: str
    line: str


class WrongShape(Message, frozen=True):
    """A weight whose shape is another than was asked for."""

    name: str
    asked: list[int]
    found: list[int]


class Unfit(Message, frozen=True, kw_only=True):
    """Why what a class makes cannot be used.

    Attributes:
        kind: the type of what it makes, where that is no module.
        missing: names of weights that find no place; ``has`` are the names of those there are.
        shapes: of weights that do not fit.
    """

    kind: str = ""
    missing: list[str] = field(default_factory=list)
    has: list[str] = field(default_factory=list)
    shapes: list[WrongShape] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not (self.kind or self.missing or self.shapes):
            raise ValueError("something is unfit, but not what")


class Ending(StrEnum):
    """How a process ended that runs a submission, as far as it can be seen from outside."""

    EXIT = "exit"  # by itself
    TIME = "time"  # by its limit on processor time, where no alarm was heard
    KILLED = "killed"
    CRASH = "crash"
    JUNK = "junk"  # by whoever has asked it, since what it sent made no sense


class Observation(Message, frozen=True, kw_only=True):
    """What was seen when a request was carried out.

    Attributes:
        status: "returned"; "raised", with the ``error``; "missing" where there is nothing to call;
            "unfit", see there; "timeout" after so many ``seconds``; "ended" where the process did, see
            there; "fault" for an ``error`` of the probe's own.
        value: what was returned.
        arguments: as they are afterwards; of a module what was left in it, see
            `side_effects.LeftBehind`; of a generator whether its numbers were drawn, and whether
            torch's own were left alone. Where a module is among them, an error has them, too.
        gradients: by name, if they were asked for.
        seconds: of processor time; where it only ``waited``, these are seconds on the clock.
        line: in which it was when the time was up, if that is known.
        ended: how the process did, see `Ending`.
        largest: how many numbers the largest new piece of memory holds, if that was asked for.
        used: what was called though it is disallowed.
        stood_in: names of earlier parts of which ours were called.
    """

    status: Literal["returned", "raised", "missing", "unfit", "timeout", "ended", "fault"]
    value: Any = None
    arguments: list[Any] = field(default_factory=list)
    gradients: dict[str, Any] = field(default_factory=dict)
    error: ErrorSeen | None = None
    unfit: Unfit | None = None
    seconds: float = 0.0
    waited: bool = False
    line: str = ""
    ended: Ending | None = None
    largest: int = 0
    used: str = ""
    stood_in: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if (self.error is None) == (self.status in ("raised", "fault")):
            raise ValueError(f"{self.status}, and no error that belongs to it")
        if (self.unfit is None) == (self.status == "unfit"):
            raise ValueError(f"{self.status}, and nothing unfit that belongs to it")
        if (self.ended is None) == (self.status == "ended"):
            raise ValueError(f"{self.status}, and not how the process ended")

    @property
    def came_to_an_end(self) -> bool:
        """Whether there is anything that could be compared with what other answers do."""
        return self.status not in ("timeout", "ended", "missing")
