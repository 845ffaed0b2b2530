"""Run jobs in processes of this machine, side by side; whoever dies is replaced."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

from autograder.batch.orders import FeedbackOrder, GradeOrder, Outcome
from autograder.checks.course import course
from autograder.errors import EngineError
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


class Pool:
    """Workers that are forked from one zygote, so many side by side, and kernels from another.

    Both start to import at once, while the caller does something else.

    Where full isolation is unavailable nothing is started, and the first job says so: what was asked
    may be wrong in a way that is simpler to put right.
    """

    def __init__(self, workers: int, isolation: str, modules: Sequence[str]) -> None:
        self.workers = workers
        taught = course()
        self._missing = bubblewrap.missing() if isolation == bubblewrap.FULL else ""
        self._start: dict[str, Callable[[], Zygote]] = {
            "kernel": partial(Zygote, KERNEL, isolation, modules),
            "worker": partial(Zygote, WORKER, packages=(taught.package, *taught.libraries)),
        }
        self._lock = threading.Lock()
        self._stopped = False
        self._zygotes = (
            {} if self._missing else {name: start() for name, start in self._start.items()}
        )
        self._idle: list[Worker] = []
        self._threads = ThreadPoolExecutor(workers)  # each waits for one worker

    def at_once(self) -> int:
        """As many jobs again as there are workers, so that none has to wait for the next one."""
        return 2 * self.workers

    def submit(self, job: bytes, seconds: float) -> Future[bytes]:
        """See `engine.Engine`."""
        if len(job) > LARGEST_BODY:
            too_large: Future[bytes] = Future()
            message = f"what was handed in takes {len(job) >> 20} MiB to send"
            too_large.set_result(to_json(Report(f"{message}, more than {LARGEST_BODY >> 20}")))
            return too_large
        return self._threads.submit(self._grade, job, seconds)

    def _grade(self, job: bytes, seconds: float) -> bytes:
        answer = self._obey(GradeOrder(), seconds + SECONDS_OF_GRACE, job)
        if answer is None:
            reason = f"the process that graded it died {DEATHS} times over it"
            return to_json(Report(reason, poisoned=True))
        failed, result = answer
        if failed:
            raise EngineError(failed)
        return result

    def write_feedback(self, course: Path, assignment: str, student: str) -> Future[bool]:
        """Let nbgrader write a student's feedback page, and say whether it could."""
        order = FeedbackOrder(str(course.resolve()), assignment, student)
        return self._threads.submit(lambda: self._obey(order, SECONDS_OF_GRACE) == ("", b""))

    def close(self) -> None:
        """End all processes; threads that wait for them come back."""
        with self._lock:
            self._stopped = True
            for zygote in self._zygotes.values():
                zygote.close()
        self._threads.shutdown(cancel_futures=True)
        while self._idle:
            self._idle.pop().end()

    def _obey(
        self, order: GradeOrder | FeedbackOrder, seconds: float, body: bytes = b""
    ) -> tuple[str, bytes] | None:
        """What a worker answers to an order; None where too many died over it.

        Raises:
            EngineError: this machine cannot grade.
            SandboxError: it cannot isolate as was asked.
        """
        deaths = losses = 0
        while deaths < DEATHS:
            # one that waited may have died meanwhile, so that the next try is with a new one
            worker = (None if deaths or losses else self._waiting()) or self._new_worker()
            try:
                answer = worker.obey(order, seconds, body)
                if answer and answer[0] == LOST:
                    raise ZygoteError(LOST)
            except ZygoteError as error:  # no fault of the submission
                worker.end()
                losses += 1
                self._give_up(worker.kernel)
                if losses == LOSSES:
                    raise EngineError(f"{error}, {losses} times over") from error
                continue
            if answer:
                self._idle.append(worker)
                return answer
            worker.end()
            deaths += 1
        return None

    def _waiting(self) -> Worker | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _give_up(self, kernels: Zygote) -> None:
        """End a zygote whose kernels were lost, unless another thread did so before."""
        with self._lock:
            if self._zygotes["kernel"] is kernels and not self._stopped:
                kernels.close()

    def _new_worker(self) -> Worker:
        if self._missing:
            raise bubblewrap.SandboxError(self._missing)
        with self._lock:
            if self._stopped:
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
    """A process that carries out orders, see `autograder.batch.worker`."""

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
