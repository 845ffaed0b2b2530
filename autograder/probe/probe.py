"""Let student code answer requests, within limits, and report as plain data what came back.

The probe knows no right answer and decides nothing. It runs wherever the student's code runs.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import warnings
from collections.abc import Iterator
from typing import Any

from autograder.probe import functions, op_blocker
from autograder.probe.deadline import deadline
from autograder.probe.disallowed import NOTHING_DISALLOWED
from autograder.probe.op_blocker import OpBlocker
from autograder.probe.runners import Report, Request, describe, run_case
from autograder.probe.wire import decode, encode

SECONDS_PER_CALL, SECONDS_ON_THE_CLOCK = 5.0, 15.0


class TimeLimit(BaseException):
    """A call ran too long. Not an Exception, so that a loop's ``except Exception`` lets it pass."""


def prepare() -> None:
    """Work out what is only looked up later; before any submission runs, so that it has no say."""
    functions.compiled()
    op_blocker.operations()
    op_blocker.known()


def answer(
    message: bytes,
    namespace: dict[str, Any],
    cpu: float = SECONDS_PER_CALL,
    seconds: float = SECONDS_ON_THE_CLOCK,
) -> bytes:
    """Carry out the requests in a message against a namespace of student code.

    Args:
        message: an encoded list of requests, see `autograder.probe.runners.perform`; beside what
            stands there, ``subject`` (name of the function or class), ``replace`` (name ->
            source of a stand-in to use for the duration) and ``disallowed`` (what an `OpBlocker` closes; the
            first request's holds for all).
        namespace: the global names of the student's notebook.
        cpu: seconds of processor time that one request may take.
        seconds: the same on the clock.

    Returns:
        an encoded list with one report a request. Beside the experiment's own ones there are the
        statuses "raised" (with ``error``), "missing" and "timeout" (with ``seconds``); ``used``
        names what was called though it is disallowed.
    """
    reports: list[Report] = []
    requests = decode(message)
    disallowed = (
        requests[0].get("disallowed", NOTHING_DISALLOWED) if requests else NOTHING_DISALLOWED
    )
    with OpBlocker(disallowed) as closed:
        for request in requests:
            if reports and reports[-1]["status"] == "timeout":
                reports.append(reports[-1])
                continue
            closed.close_what_is_new()
            report = _carry_out(request, namespace, cpu, seconds)
            reports.append({**report, "used": closed.found[0]} if closed.found else report)
    return encode(reports)


def _carry_out(request: Request, namespace: dict[str, Any], cpu: float, seconds: float) -> Report:
    subject = namespace.get(request["subject"])
    if not callable(subject):
        return {"status": "missing"}
    with _substitutes(namespace, request["replace"]):
        try:
            with _quiet(), deadline(cpu, seconds, TimeLimit):
                return run_case(subject, request)
        except TimeLimit:
            return {"status": "timeout", "seconds": cpu}
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 (student code may raise SystemExit, too)
            return {"status": "raised", "error": describe(error)}


@contextlib.contextmanager
def _substitutes(namespace: dict[str, Any], replace: dict[str, str]) -> Iterator[None]:
    """Put stand-ins in place of the student's own earlier parts, and take them out again."""
    missing = object()
    before = {name: namespace.get(name, missing) for name in replace}
    for name, source in replace.items():
        substitute: dict[str, Any] = {"__name__": "stand_in", "__builtins__": builtins}
        exec(source, substitute)  # noqa: S102 (ours, and inside the sandbox)
        namespace[name] = substitute[name]
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
