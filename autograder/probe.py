"""Call student code on given inputs and report, as plain data, what came back.

The probe knows no right answer and decides nothing. It runs wherever the student's code runs.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import linecache
import signal
import threading
import traceback
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch

from autograder.functions import FUNCTIONS
from autograder.wire import Function, decode, encode

SECONDS_PER_CALL = 5.0
LONGEST_MESSAGE = 400


class TimeLimit(BaseException):
    """A call ran too long. Not an Exception, so that a loop's ``except Exception`` lets it pass."""


def answer(message: bytes, namespace: dict[str, Any], seconds: float = SECONDS_PER_CALL) -> bytes:
    """Carry out the requests in a message against a namespace of student code.

    Args:
        message: an encoded list of requests: ``call`` (name of the function), ``arguments``,
            ``strided`` (hand tensors over with gaps in memory), ``gradient`` (also differentiate
            the result), ``replace`` (name -> module of a stand-in to use for the duration).
        namespace: the global names of the student's notebook.
        seconds: how long one call may take.

    Returns:
        an encoded list with one report a request; see :func:`_carry_out`.
    """
    reports: list[dict[str, Any]] = []
    for request in decode(message):
        if reports and reports[-1]["status"] == "timeout":
            reports.append(dict(reports[-1]))
            continue
        reports.append(_carry_out(request, namespace, seconds))
    return encode(reports)


def _carry_out(request: dict, namespace: dict[str, Any], seconds: float) -> dict[str, Any]:
    """One request, one report.

    ``status`` is ``returned`` (with ``value``, ``arguments`` as they are afterwards and, if asked
    for, ``gradients``), ``raised`` (with ``error``), ``missing``, or ``timeout``.
    """
    function = namespace.get(request["call"])
    if not callable(function):
        return {"status": "missing", "seconds": seconds}
    arguments = [_materialise(value, request) for value in request["arguments"]]
    with _stand_ins(namespace, request.get("replace", {})):
        try:
            with _quiet(), _deadline(seconds):
                value = function(*arguments)
                report = {"status": "returned", "value": value, "arguments": arguments}
                if request.get("gradient"):
                    report["gradients"] = gradients(value, arguments)
                return report
        except TimeLimit:
            return {"status": "timeout", "seconds": seconds}
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 (student code may raise SystemExit, too)
            return {"status": "raised", "error": _describe(error)}


def _materialise(value: Any, request: dict) -> Any:
    """An argument as the student's function receives it."""
    if isinstance(value, Function):
        return FUNCTIONS[value.name]
    if isinstance(value, torch.Tensor):
        if request.get("strided") and value.dim() > 1:
            # same values, but every other element of a buffer whose last two axes are swapped
            buffer = torch.zeros(*value.shape[:-2], value.shape[-1], 2 * value.shape[-2])
            buffer = buffer.to(value.dtype)
            view = buffer[..., ::2].transpose(-1, -2)
            value = view.copy_(value)
        if request.get("gradient") and value.is_floating_point():
            value.requires_grad_(True)
    return value


def gradients(value: Any, arguments: list) -> list:
    """Derivatives of a fixed weighted sum of all floating outputs, one per floating argument."""
    outputs = value if isinstance(value, tuple | list) else [value]
    total = 0.0
    for output in outputs:
        if isinstance(output, torch.Tensor) and output.is_floating_point():
            weights = torch.arange(output.numel(), dtype=output.dtype).cos().reshape(output.shape)
            total = total + (output * weights).sum()
    inputs = [item for item in arguments if isinstance(item, torch.Tensor) and item.requires_grad]
    if not (isinstance(total, torch.Tensor) and total.requires_grad):
        return [None for _ in inputs]
    return list(torch.autograd.grad(total, inputs, allow_unused=True))


@contextlib.contextmanager
def _stand_ins(namespace: dict[str, Any], replace: dict[str, str]) -> Iterator[None]:
    """Put stand-ins in place of the student's own earlier parts, and take them out again."""
    missing = object()
    before = {name: namespace.get(name, missing) for name in replace}
    for name, module in replace.items():
        namespace[name] = getattr(importlib.import_module(module), name)
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


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Raise TimeLimit inside the call when time is up, where the platform has interval timers."""
    if not hasattr(signal, "setitimer") or (
        threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise TimeLimit

    before = signal.signal(signal.SIGALRM, ring)
    # repeated, for code that swallows even this once
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _describe(error: BaseException) -> dict[str, str]:
    """Type, message and the student's own line of an error."""
    line = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == __file__ or "site-packages" in frame.filename:
            continue
        line = frame.line or linecache.getline(frame.filename, frame.lineno or 0).strip() or line
    return {
        "type": type(error).__name__,
        "message": str(error)[:LONGEST_MESSAGE],
        "line": line[:LONGEST_MESSAGE],
    }
