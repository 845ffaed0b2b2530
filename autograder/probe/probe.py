"""Let student code answer requests, within limits, and tell as plain data what was seen.

The probe knows no right answer and decides nothing. It runs wherever the student's code runs.
"""

from __future__ import annotations

import contextlib
import io
import time
import traceback
import warnings
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import structs

from autograder.probe import op_blocker
from autograder.probe.deadline import deadline
from autograder.probe.lent import lent
from autograder.probe.messages import Observation, Questions, Request
from autograder.probe.op_blocker import OpBlocker
from autograder.probe.runners import run_case
from autograder.probe.subject import SubjectError, TimeLimit, describe
from autograder.probe.switches import as_at_the_start
from autograder.probe.wire import WireError, decode, encode, joined, packed

SECONDS_PER_CALL, SECONDS_ON_THE_CLOCK, SECONDS_AFTER_A_LATE_STEP = 5.0, 15.0, 1.0
# what of an observation may hold objects of a notebook's own
FROM_A_NOTEBOOK = ("value", "arguments", "gradients", "error", "unfit")
OUT_OF_ROOM = (MemoryError, RecursionError)


def prepare() -> None:
    """Work out what is only looked up later; before any submission runs, so that it has no say."""
    op_blocker.operations()
    op_blocker.known()


def answer(
    message: bytes,
    namespace: dict[str, Any],
    cpu: float = SECONDS_PER_CALL,
    seconds: float = SECONDS_ON_THE_CLOCK,
) -> bytes:
    """All `answers` in one message, as a list, in a process that goes on."""
    return joined(list(answers(message, namespace, cpu, seconds, ends_process=False)))


def answers(
    message: bytes,
    namespace: dict[str, Any],
    cpu: float,
    seconds: float,
    ends_process: bool = True,
) -> Generator[bytes, None, None]:
    """Carry out what is asked of student code.

    Args:
        message: encoded `Questions`.
        namespace: the global names of the student's notebook.
        cpu: seconds of processor time that one request may take.
        seconds: the same in which it only waits.
        ends_process: see `deadline`.

    Yields:
        an encoded `Observation` for each request, once it is carried out; a single fault where the probe
        itself cannot begin.
    """
    try:
        for seen in _observations(
            decode(message, Questions), namespace, cpu, seconds, ends_process
        ):
            yield encode(seen)
    except OUT_OF_ROOM:
        raise
    except Exception as error:  # noqa: BLE001 (ours, and told as ours)
        yield encode(_fault(error))


def _observations(
    questions: Questions,
    namespace: dict[str, Any],
    cpu: float,
    seconds: float,
    ends_process: bool,
) -> Iterator[Observation]:
    late: dict[int, Observation] = {}  # by step
    called: set[str] = set()
    ours = {name: lent(name, text, called.add) for name, text in questions.substitutes.items()}
    with contextlib.ExitStack() as stack:
        stack.enter_context(as_at_the_start())
        blocker = stack.enter_context(OpBlocker(questions.disallowed))
        steps = questions.steps or range(len(questions.requests))
        for request, step in zip(questions.requests, steps, strict=True):
            if step in late:
                yield late[step]
                continue
            called.clear()
            # its author waits for each step, so one that takes too long has used up most of the others' time
            left = cpu if ends_process or not late else min(cpu, SECONDS_AFTER_A_LATE_STEP)
            seen = _carry_out(request, ours, namespace, left, seconds, ends_process)
            if stood_in := sorted(called):
                seen = structs.replace(seen, stood_in=stood_in)
            if blocker.found:
                seen = structs.replace(seen, used=blocker.found[0])
            if seen.status == "timeout":
                late[step] = seen
            yield seen


def _carry_out(
    request: Request,
    ours: Mapping[str, Any],
    namespace: dict[str, Any],
    cpu: float,
    seconds: float,
    ends_process: bool,
) -> Observation:
    subject = namespace.get(request.subject)
    if not callable(subject):
        return Observation(status="missing")
    began = time.process_time()
    try:
        limit = deadline(cpu, seconds, TimeLimit, ends_process)
        with _in_place(ours, namespace), _quiet(), limit:
            try:
                return _in_plain_form(run_case(subject, request))
            except SubjectError as raised:  # whose text is made by the notebook's code, too
                return Observation(status="raised", error=raised.seen)
    except TimeLimit as late:
        waited = time.process_time() - began < 0.9 * cpu
        line = describe(late).line
        took = seconds if waited else cpu
        return Observation(status="timeout", seconds=took, waited=waited, line=line)
    except OUT_OF_ROOM as error:  # which the notebook has taken
        return Observation(status="raised", error=describe(error))
    except Exception as error:  # noqa: BLE001 (ours, and told as ours)
        return _fault(error)


def _in_plain_form(seen: Observation) -> Observation:
    """The same as plain data, made while what is disallowed is closed.

    What a notebook returns may run its code when it is looked at: a subclass has a shape, a `detach` or an
    iterator of its own.

    Raises:
        SubjectError: its code has raised an error.
        MemoryError: there is more of it than a message may hold.
    """
    try:
        fields = {name: getattr(seen, name) for name in FROM_A_NOTEBOOK}
        held = {name: packed(value) for name, value in fields.items() if value is not None}
        return structs.replace(seen, **held)
    except WireError as error:
        raise MemoryError(f"what comes out is too large to be looked at: {error}") from None
    except OUT_OF_ROOM:
        raise
    except Exception as error:
        raise SubjectError from error


def _fault(error: Exception) -> Observation:
    """An error of the probe's own, with the line on which it was raised."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    line = f"{Path(frame.filename).name}:{frame.lineno}: {frame.line}"
    return Observation(status="fault", error=structs.replace(describe(error), line=line))


@contextlib.contextmanager
def _in_place(ours: Mapping[str, Any], namespace: dict[str, Any]) -> Iterator[None]:
    """Put stand-ins in place of the student's own earlier parts, and take them out again.

    The notebook may have given a part other names as well, as in ``Norm = LayerNorm``.
    """
    missing = object()
    own = {id(namespace[name]): name for name in ours if callable(namespace.get(name))}
    others = {name: ours[own[id(value)]] for name, value in namespace.items() if id(value) in own}
    before = {name: namespace.get(name, missing) for name in (*ours, *others)}
    namespace.update({**others, **ours})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is missing:
                namespace.pop(name, None)
            else:
                namespace[name] = value


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep prints and warnings out of the graded cell: text on stderr costs points in nbgrader."""
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield
