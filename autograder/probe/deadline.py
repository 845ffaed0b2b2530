"""Stop code that runs too long, from inside its own process."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

from autograder.alarms import is_to_be_done_whole

# how many times slower than alone a process may be while the machine is busy with something else
TIMES_SLOWER = 20
SECONDS_BETWEEN_ALARMS, SECONDS_PUT_OFF = 1.0, 0.1
# of processor time; a loop in C hears no alarm, and after this Linux ends the process
SECONDS_OF_GRACE = 2
# Linux holds RLIMIT_CPU to a clock that counts in ticks; `time.process_time` is finer, and after
# minutes of work the two are seconds apart, which is more than the grace
TICKED_CLOCK = -8


def waited(clock: float, cpu: float) -> float:
    """Of so many seconds on the clock, those in which a process that got so many to compute only waited."""
    return clock - TIMES_SLOWER * cpu


class _Held:
    """How many `hold`s there are inside each other, and the error that waits for their end."""

    depth = 0
    waiting: type[BaseException] | None = None


@contextlib.contextmanager
def deadline(
    cpu: float, seconds: float, error: type[BaseException], ends_process: bool = True
) -> Iterator[None]:
    """Raise an error in what runs inside when its time is up, and again until it listens.

    Processor time is what counts, so that a machine which is busy with something else stops nobody.
    The second limit is in seconds in which it only waits, see `waited`.
    Where the platform has no such timers, or in another thread than the first, nothing is stopped.

    Args:
        ends_process: a loop in C, which hears no alarm, ends with the process; else nothing ends it.
    """
    if not hasattr(signal, "setitimer") or (
        threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    over = False  # an alarm on the way then stops nothing, least of all what cleans up
    rung = False
    began = time.monotonic(), time.process_time()

    def ring(number: int, frame: FrameType | None) -> None:
        nonlocal rung
        clock, used = time.monotonic() - began[0], time.process_time() - began[1]
        if over or (number == signal.SIGALRM and used < cpu and waited(clock, used) < seconds):
            return
        if _Held.depth:
            _Held.waiting = error
            return
        first, rung = not rung, True
        # once, since what is to be done whole may be the notebook's own, and without an end
        if first and is_to_be_done_whole(frame):
            signal.setitimer(timers[number][0], SECONDS_PUT_OFF, SECONDS_BETWEEN_ALARMS)
            return
        raise error

    _Held.waiting = None

    timers: dict[int, tuple[int, float]] = {
        signal.SIGPROF: (signal.ITIMER_PROF, cpu),
        signal.SIGALRM: (signal.ITIMER_REAL, seconds),
    }
    import resource  # there where interval timers are

    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    last = math.ceil(_processor_time() + cpu) + SECONDS_OF_GRACE
    if hard != resource.RLIM_INFINITY:
        last = min(last, hard)
    before = {number: signal.signal(number, ring) for number in timers}
    try:
        if ends_process:
            resource.setrlimit(resource.RLIMIT_CPU, (last, hard))
        for timer, limit in timers.values():
            signal.setitimer(timer, limit, SECONDS_BETWEEN_ALARMS)
        yield
    finally:
        over = True
        if ends_process:
            resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
        for timer, _ in timers.values():
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _processor_time() -> float:
    """Seconds of processor time as the system's own limit counts them."""
    try:
        return time.clock_gettime(TICKED_CLOCK)
    except OSError:  # other systems have one clock
        return time.process_time()


@contextlib.contextmanager
def hold() -> Iterator[None]:
    """Let the error of a `deadline` wait, so that what runs inside is done whole."""
    if threading.current_thread() is not threading.main_thread():
        yield  # errors of signals are raised in the first thread alone
        return
    _Held.depth += 1
    try:
        yield
    finally:
        _Held.depth -= 1
    if _Held.waiting and not _Held.depth:
        waiting, _Held.waiting = _Held.waiting, None
        raise waiting
