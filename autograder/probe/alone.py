"""Call student code in a thread of its own, in which no frame of the probe's can be seen.

Who is called can look at the frames of its callers, and what they hold: what is asked, what comes
next, and functions that could be replaced.
"""

from __future__ import annotations

import _thread
import ctypes
import time
from collections.abc import Callable
from typing import Any

SECONDS_BETWEEN_LOOKS, SECONDS_BETWEEN_TELLINGS = 0.05, 0.5
SECONDS_TO_LISTEN = 1.5  # to be told to end and to do it; what sleeps does not listen

_start, _lock = _thread.start_new_thread, _thread.allocate_lock
_raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc


def alone(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Return what a function returns, or raise what it raises; it is called in a new thread.

    An error that a signal raises meanwhile in this thread, as that of a `deadline`, is raised in the
    other one too, and then here.
    """
    outcome: list[tuple[Any, BaseException | None]] = []
    ended = _lock()
    ended.acquire()

    def run() -> None:
        try:
            outcome.append((function(*arguments, **keywords), None))
        except BaseException as error:  # noqa: BLE001 (raised where it was called)
            outcome.append((None, error))
        finally:
            ended.release()

    thread = _start(run, ())
    try:
        # a signal that another thread is given is only looked at when this one runs
        while not ended.acquire(timeout=SECONDS_BETWEEN_LOOKS):
            pass
    except BaseException as told:
        _end(thread, type(told), ended)
        raise
    value, error = outcome[0]
    if error is not None:
        raise error
    return value


def _end(thread: int, error: type[BaseException], ended: Any) -> None:
    """Raise an error in a thread until it has ended, or nobody waits any more."""
    give_up = time.monotonic() + SECONDS_TO_LISTEN
    while time.monotonic() < give_up:
        try:
            _raise_in_thread(ctypes.c_ulong(thread), ctypes.py_object(error))
            if ended.acquire(timeout=SECONDS_BETWEEN_TELLINGS):
                return
        except error:
            pass  # the signal once more
