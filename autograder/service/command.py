"""``python -m autograder watch``: grade what comes in, or say what waits."""

from __future__ import annotations

import argparse
import contextlib
import signal
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.errors import CourseError
from autograder.files import printable
from autograder.sandbox import bubblewrap

if TYPE_CHECKING:  # what is only asked for its flags imports nothing heavy
    from autograder.service.daemon import GradingService

IDLE = 1.0  # seconds between two looks at what came in


def add_to(commands: Any) -> None:
    """Add the subcommand to those of ``python -m autograder``."""
    watch = commands.add_parser("watch", help="grade submissions as they come in")
    watch.set_defaults(run=run)
    watch.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    watch.add_argument("--once", action="store_true", help="grade what waits by now, then end")
    watch.add_argument("--status", action="store_true", help="say what waits, and for what")
    watch.add_argument(
        "--now", metavar="ASSIGNMENT", type=lambda text: text.rstrip("/"),
        help="have what waits for the deadline or for you graded now",
    )  # fmt: skip
    watch.add_argument(
        "--isolation",
        choices=(bubblewrap.FULL, bubblewrap.NONE),
        default=bubblewrap.FULL,
        help="none: submissions can read and change all that you can; only where that is no harm",
    )


def run(options: argparse.Namespace) -> int:
    """Exit status 0: done, or ended by a signal; 2: nothing could be done, and the message says why."""
    from autograder.service.daemon import GradingService

    try:
        service = GradingService(options.course, options.isolation, say)
        if options.status:
            print("\n".join(status_of(service)))
            return 0
        if options.now:
            print(order(service, options.now))
            return 0
        with alone(service), contextlib.closing(service):
            keep_on(service, options.once)
    except KeyboardInterrupt:
        say("stopped; what waits is kept, and the same command goes on")
        return 0
    except (CourseError, bubblewrap.SandboxError) as error:
        print(f"not watching: {error}", file=sys.stderr)
        return 2
    return 0


def say(line: str) -> None:
    """A line with the time, for whoever looks on or reads the log."""
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {line}", flush=True)


def keep_on(service: GradingService, once: bool) -> None:
    """Take step after step until a signal says that it is enough, or until nothing is left to do."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if missing := service.isolation == bubblewrap.FULL and bubblewrap.missing():
        raise bubblewrap.SandboxError(missing)
    exchange = service.course.exchange
    say(f"watching {exchange.inbound if exchange else service.course.folder / 'submitted'}")
    service.grader.warm_up()
    while True:
        did = service.step()
        if once and not did:
            return
        if not did:
            time.sleep(IDLE)


@contextlib.contextmanager
def alone(service: GradingService) -> Iterator[None]:
    """Wait until no other service grades this course, and let none do while this one does."""
    from filelock import FileLock, Timeout

    service.course.place.mkdir(parents=True, exist_ok=True)
    lock = FileLock(service.course.place / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say("another service grades this course; waiting until it ends")
        lock.acquire()
    service.read_journal()  # as the one before has left it
    try:
        yield
    finally:
        lock.release()


def order(service: GradingService, assignment: str) -> str:
    """Note that what waits of an assignment is to be graded now; what will be done, in words."""
    assignments = service.course.assignments
    if assignment not in assignments:
        raise CourseError(
            f"there is no assignment '{assignment}'. There are: {', '.join(assignments)}"
        )
    marker = service.course.order(assignment)
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()
    waits = sum(item.arrival.assignment == assignment for item in service.journal.waiting())
    does = "grades them" if is_running(service) else "will grade them when it is started"
    return f"{waits} of {assignment} wait; the service {does}"


def is_running(service: GradingService) -> bool:
    """Whether a service grades this course."""
    from filelock import FileLock, Timeout

    if not service.course.place.exists():
        return False
    try:
        with FileLock(service.course.place / "lock").acquire(timeout=0):
            return False
    except Timeout:
        return True


def status_of(service: GradingService) -> Iterator[str]:
    """What waits, and for what; how fast it has gone; what was refused."""
    now = time.time()
    service.course.read_again()
    yield "the service is running" if is_running(service) else "the service is not running"
    waiting = list(service.scheduler.waiting())
    yield f"{len(waiting)} {'waits' if len(waiting) == 1 else 'wait'}"
    for item, why in waiting:
        student, assignment = item.arrival.work
        minutes = (now - item.seen) / 60
        yield f"  {printable(student)}  {assignment}  {minutes:.0f} min  {why or 'Its turn comes.'}"
    waits = [
        item.graded_at - item.seen
        for item in service.journal.known.values()
        if item.state == "graded" and now - item.graded_at < 24 * 3600
    ]
    if waits:
        yield (
            f"{len(waits)} graded within a day, each seen for the first time "
            f"{statistics.median(waits):.0f} s before (median; the longest {max(waits):.0f} s)"
        )
    for name, why in service.journal.refused.items():
        yield f"refused: {printable(name)}: {why}"
