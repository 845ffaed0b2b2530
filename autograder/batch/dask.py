"""Run jobs on a Dask cluster: each of its workers grades in a sandbox of its own machine."""

from __future__ import annotations

import platform
import threading
import time
from concurrent.futures import Future

from autograder.errors import EngineError
from autograder.grade.messages import Job, from_json, to_json
from autograder.grade.report import Report
from autograder.sandbox import bubblewrap
from autograder.sandbox.forks import ZygoteError
from autograder.sandbox.kernels import own_kernels

_one_at_a_time = threading.Lock()
SECONDS_TO_CONNECT, SECONDS_WITHOUT_WORKERS = 20, 300


class Dask:
    """A Dask cluster, on whose machines this package is installed as it is here.

    Dask starts the job of a worker that died again on another.

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
        self._executor = self.client.get_executor(pure=False)
        self._last_seen = time.monotonic()

    def at_once(self) -> int:
        """A few more jobs than there are workers."""
        workers = len(self.client.scheduler_info(n_workers=-1)["workers"])
        if workers:
            self._last_seen = time.monotonic()
        elif time.monotonic() > self._last_seen + SECONDS_WITHOUT_WORKERS:
            raise EngineError(
                f"the Dask cluster has had no worker for {SECONDS_WITHOUT_WORKERS} seconds. "
                "Results so far are kept: start workers, and grade again"
            )
        return max(2 * workers, 1)

    def submit(self, job: bytes, seconds: float) -> Future[bytes]:
        """See `engine.Engine`; a worker keeps the limits itself."""
        graded: Future[bytes] = Future()
        self._executor.submit(grade, job).add_done_callback(lambda sent: _hand_over(sent, graded))
        return graded

    def close(self) -> None:
        self.client.close()


def _hand_over(sent: Future[bytes], graded: Future[bytes]) -> None:
    """Let one future end as the other has ended, in the engine's own words."""
    from distributed import KilledWorker

    if not graded.set_running_or_notify_cancel():
        return
    try:
        graded.set_result(sent.result())
    except KilledWorker:
        reason = "several workers of the cluster died over it"
        graded.set_result(to_json(Report(reason, poisoned=True)))
    except bubblewrap.SandboxError as error:
        graded.set_exception(error)
    except Exception as error:  # noqa: BLE001 (whatever goes wrong between machines)
        failed = EngineError(f"the cluster cannot go on: {error}")
        failed.__cause__ = error
        graded.set_exception(failed)


def grade(job: bytes) -> bytes:
    """Run one job on a worker of the cluster."""
    from autograder.grade.run import attempt  # so that who only sends jobs imports little

    what = from_json(job, Job)
    if what.isolation == bubblewrap.FULL and bubblewrap.missing():
        raise bubblewrap.SandboxError(f"on {platform.node()}: {bubblewrap.missing()}")
    with _one_at_a_time:  # also where a worker has several threads
        for last in (False, True):
            try:
                return to_json(attempt(what, own_kernels(what.isolation, what.modules)))
            except ZygoteError as error:  # once more: kernels are forked from a new one
                if last:
                    return to_json(Report(str(error)))
    raise AssertionError("never reached")
