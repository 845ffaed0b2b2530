"""The grader's own errors: kept with what they happened to, so that a person looks and no student pays.

Whoever decides a submission collects them, and they travel with its result. Where nobody collects, an
error is raised as it is, so that none is passed over in silence.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from contextvars import ContextVar

from msgspec import Struct

from autograder.files import cut

LONGEST_TRACE = 4000


class Fault(Struct, frozen=True):
    """One error of the grader's own.

    Attributes:
        doing: what it was about, with the part and the case.
        error: its type and message.
        trace: where it came from, as Python prints it, the last lines of it.
        undecided: no points can be given before a person has looked; else the points stand, and what
            is said of them may be less than could be.
    """

    doing: str
    error: str
    trace: str = ""
    undecided: bool = True

    def __str__(self) -> str:
        return f"the grader itself failed while {self.doing}: {self.error}"


class GraderError(Exception):
    """Something of the grader's own is not as it must be; the message says what."""


_collected: ContextVar[list[Fault] | None] = ContextVar("collected", default=None)


@contextlib.contextmanager
def collected() -> Iterator[list[Fault]]:
    """Collect what is noted inside, in the order in which it happens."""
    faults: list[Fault] = []
    token = _collected.set(faults)
    try:
        yield faults
    finally:
        _collected.reset(token)


def note(doing: str, error: Exception, undecided: bool = True) -> None:
    """Note an error of the grader's own; raise it where nobody collects."""
    faults = _collected.get()
    if faults is None:
        raise error
    faults.append(fault_of(doing, error, undecided))


def fault_of(doing: str, error: Exception, undecided: bool = True) -> Fault:
    """An error as a `Fault`."""
    trace = "".join(traceback.format_exception(error))[-LONGEST_TRACE:]
    return Fault(cut(doing), cut(f"{type(error).__name__}: {error}"), trace, undecided)
