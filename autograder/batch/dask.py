"""Run jobs on a Dask cluster: each of its workers grades in a sandbox of its own machine."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from autograder.batch.task import Task
from autograder.errors import EngineError
from autograder.files import write_whole
from autograder.grade.messages import Job, to_json
from autograder.grade.report import Report
from autograder.sandbox import bubblewrap
from autograder.sandbox.forks import ZygoteError
from autograder.sandbox.kernels import own_kernels

_one_at_a_time = threading.Lock()
SECONDS_TO_CONNECT, SECONDS_WITHOUT_WORKERS = 20, 300


class Dask:
    """A Dask cluster, on whose machines this package is installed as it is here.

    Args:
        scheduler: its address, such as ``tcp://10.0.0.1:8786``.

    Raises:
        EngineError: Dask is not installed, or nobody answers at the address.
    """

    def __init__(self, scheduler: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise EngineError(
                "--engine dask needs Dask: `pip install -e '.[dask]'`, here and on every worker"
            ) from error
        try:
            self.client = Client(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
        except (OSError, ValueError) as error:
            raise EngineError(f"no Dask scheduler answers at {scheduler}: {error}") from error

    def run(self, tasks: Iterator[Task], done: Callable[[Task], None]) -> None:
        """See `engine.Engine`; a few more jobs are sent than there are workers.

        Dask starts the job of a worker that died again on another.
        """
        from distributed import KilledWorker, wait

        pending: dict[Any, Task] = {}
        last_seen = time.monotonic()
        while True:
            wanted = max(2 * self._workers(), 1) - len(pending)
            for task in islice(tasks, max(wanted, 0)):
                pending[self.client.submit(grade, task.job, pure=False)] = task
            if not pending:
                return
            try:
                with self.client.as_current():
                    finished = wait(list(pending), timeout=5, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                finished = ()
            if self._workers():
                last_seen = time.monotonic()
            elif time.monotonic() > last_seen + SECONDS_WITHOUT_WORKERS:
                raise EngineError(
                    f"the Dask cluster has had no worker for {SECONDS_WITHOUT_WORKERS} seconds. "
                    "Results so far are kept: start workers, and grade again"
                )
            for future in finished:
                task = pending.pop(future)
                try:
                    result = future.result()
                except KilledWorker:
                    result = Report("several workers of the cluster died over it", poisoned=True)
                except bubblewrap.SandboxError:
                    raise
                except Exception as error:  # whatever goes wrong between machines
                    raise EngineError(f"the cluster cannot go on: {error}") from error
                write_whole(task.target, to_json(result))
                done(task)

    def close(self) -> None:
        self.client.close()

    def _workers(self) -> int:
        return len(self.client.scheduler_info(n_workers=-1)["workers"])


def grade(job: Job) -> Report:
    """Run one job on a worker of the cluster."""
    from autograder.grade.run import attempt  # so that who only sends jobs imports little

    if job.isolation == bubblewrap.FULL and bubblewrap.missing():
        raise bubblewrap.SandboxError(f"on {platform.node()}: {bubblewrap.missing()}")
    with _one_at_a_time:  # also where a worker has several threads
        for last in (False, True):
            try:
                return attempt(job, own_kernels(job.isolation, job.modules))
            except ZygoteError as error:  # once more: kernels are forked from a new one
                if last:
                    return Report(str(error))
    raise AssertionError("never reached")
