"""Run jobs in processes of this machine, side by side; whoever dies is replaced."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from autograder.batch.task import FeedbackOrder, GradeOrder, Outcome, Task
from autograder.checks.course import course
from autograder.errors import EngineError
from autograder.files import write_whole
from autograder.grade.messages import to_json
from autograder.grade.report import Report
from autograder.sandbox import bubblewrap
from autograder.sandbox.channel import LARGEST_BODY, Channel, ChannelClosed
from autograder.sandbox.forks import LOST, Zygote, ZygoteError
from autograder.sandbox.kernels import KERNEL

# of a process over one job: then it is poisoned, or this machine cannot grade
DEATHS, LOSSES = 2, 5
# beyond the limit that the worker itself keeps, for starting and deciding
SECONDS_OF_GRACE = 120

WORKER = "autograder.batch.worker"

Item = TypeVar("Item")


class Pool:
    """Workers that are forked from one zygote, and kernels from another.

    Both start to import at once, while the caller does something else.

    Args:
        workers: how many submissions are graded side by side.
        isolation: of the kernels, `sandbox.FULL` or `sandbox.NONE`.
        modules: of the course, those that submissions may import.

    Where full isolation is unavailable nothing is started, and `run` says so: what was asked may be
    wrong in a way that is simpler to put right.
    """

    def __init__(self, workers: int, isolation: str, modules: Sequence[str] = ()) -> None:
        self.workers = workers
        taught = course()
        self._missing = bubblewrap.missing() if isolation == bubblewrap.FULL else ""
        self._start: dict[str, Callable[[], Zygote]] = {
            "kernel": partial(Zygote, KERNEL, isolation, modules),
            "worker": partial(Zygote, WORKER, packages=(taught.package, *taught.libraries)),
        }
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._zygotes = (
            {} if self._missing else {name: start() for name, start in self._start.items()}
        )

    def run(self, tasks: Iterator[Task], done: Callable[[Task], None]) -> None:
        """See `engine.Engine`."""
        if self._missing:
            raise bubblewrap.SandboxError(self._missing)

        def grade(worker: Worker, task: Task) -> bool:
            seconds = task.job.limits.seconds + SECONDS_OF_GRACE
            job = to_json(task.job)
            if len(job) > LARGEST_BODY:
                message = f"what was handed in takes {len(job) >> 20} MiB to send"
                write_whole(
                    task.target, to_json(Report(f"{message}, more than {LARGEST_BODY >> 20}"))
                )
                return True
            answer = worker.obey(GradeOrder(), seconds, job)
            if answer is None:
                return False
            failed, result = answer
            if failed == LOST:
                raise ZygoteError(failed)
            if failed:
                raise EngineError(failed)
            write_whole(task.target, result)
            return True

        def finish(task: Task, _well: bool) -> None:
            if not task.target.exists():
                reason = f"the process that graded it died {DEATHS} times over it"
                write_whole(task.target, to_json(Report(reason, poisoned=True)))
            done(task)

        self._side_by_side(tasks, grade, finish)

    def write_feedback(
        self,
        course: Path,
        assignment: str,
        students: Iterable[str],
        done: Callable[[str, bool], None],
    ) -> None:
        """Let nbgrader write feedback pages; ``done`` is told for whom, and whether it could."""

        def write(worker: Worker, student: str) -> bool:
            order = FeedbackOrder(str(course.resolve()), assignment, student)
            return worker.obey(order, SECONDS_OF_GRACE) == ("", b"")

        self._side_by_side(iter(students), write, done)

    def close(self) -> None:
        """End all processes; threads that wait for them come back."""
        self._stop.set()
        with self._lock:
            for zygote in self._zygotes.values():
                zygote.close()

    def _side_by_side(
        self,
        items: Iterator[Item],
        work: Callable[[Worker, Item], bool],
        finish: Callable[[Item, bool], None],
    ) -> None:
        taking, telling = threading.Lock(), threading.Lock()
        errors: list[Exception] = []

        def tend() -> None:
            """Keep one worker busy, and start another one whenever it dies."""
            worker = None
            try:
                while not self._stop.is_set() and not errors:
                    with taking:
                        item = next(items, None)
                    if item is None:
                        return
                    deaths = losses = 0
                    while True:
                        worker = worker or self._new_worker()
                        try:
                            well = work(worker, item)
                            deaths += not well
                        except ZygoteError as error:  # no fault of the submission
                            well = False
                            losses += 1
                            self._give_up(worker.kernel)
                            if losses == LOSSES:
                                raise EngineError(f"{error}, {losses} times over") from error
                        if well or self._stop.is_set():
                            break
                        worker.end()
                        worker = None
                        if deaths == DEATHS:
                            break
                    with telling:
                        if not self._stop.is_set():
                            finish(item, well)
            except Exception as error:  # noqa: BLE001 (raised below, in the thread that waits)
                errors.append(error)
            finally:
                if worker:
                    worker.end()

        threads = [threading.Thread(target=tend, daemon=True) for _ in range(self.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors and not self._stop.is_set():
            raise errors[0]

    def _give_up(self, kernels: Zygote) -> None:
        """End a zygote whose kernels were lost, unless another worker did so before."""
        with self._lock:
            if self._zygotes["kernel"] is kernels and not self._stop.is_set():
                kernels.close()

    def _new_worker(self) -> Worker:
        with self._lock:
            if self._stop.is_set():
                raise EngineError("the batch has been stopped")
            try:
                for kind, zygote in self._zygotes.items():
                    if not zygote.alive():
                        zygote.close()
                        self._zygotes[kind] = self._start[kind]()
                for zygote in self._zygotes.values():
                    zygote.wait_until_ready()
                return Worker(**self._zygotes)
            except ZygoteError as error:
                raise EngineError(f"a worker did not start: {error}") from error


class Worker:
    """A process that carries out orders, see `autograder.batch.worker`.

    Args:
        worker: the zygote that it is forked from.
        kernel: the zygote of its kernels.
    """

    def __init__(self, worker: Zygote, kernel: Zygote) -> None:
        self.kernel = kernel
        ours, theirs = socket.socketpair()
        self.orders: Channel[Outcome] = Channel(ours, Outcome)
        with theirs:
            try:
                self.process = worker.client.fork(kernel.client.address, theirs, kernel.requests)
            except ZygoteError:
                ours.close()
                raise

    def obey(
        self, order: GradeOrder | FeedbackOrder, seconds: float, body: bytes = b""
    ) -> tuple[str, bytes] | None:
        """Its answer to an order; None if it died over it or did not answer in time."""
        try:
            deadline = time.monotonic() + seconds
            self.orders.send(order, body, deadline)
            outcome, answer = self.orders.receive(deadline)
        except (ChannelClosed, TimeoutError):
            return None
        return outcome.failed, answer

    def end(self) -> None:
        self.process.close()
        self.orders.close()
