"""Run many jobs side by side, and lose none: whatever dies, the next start goes on from there.

Each job has a key, the digest of everything that its result depends on. Results are kept by key in
a folder; a job whose result is there is not run again. A worker that dies twice over the same job
gets no third chance with it: the submission is *poisoned*, and a person must look.
"""

from __future__ import annotations

import hashlib
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

from autograder import sandbox
from autograder.files import write_whole
from autograder.job import Job, Result

DEATHS = 2
# beyond the limit that the worker itself keeps, for starting and deciding
SECONDS_OF_GRACE = 120
ENVIRONMENT = ("torch", "numpy", "ipykernel", "nbclient", "nbgrader")


class WorkerError(Exception):
    """No worker could be started; the message says why."""


def key_of(job: Job) -> str:
    """A digest of a job, of the grader's own code and of the packages that it stands on."""
    text = json.dumps(job, sort_keys=True) + grader_digest()
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def grader_digest() -> str:
    """A digest of the grader, the reference code and the versions of what both are built on."""
    package = Path(__file__).resolve().parent
    digest = hashlib.sha256()
    for path in sorted([*package.rglob("*.py"), *(package.parent / "course_utils").rglob("*.py")]):
        digest.update(path.read_bytes())
    for name in ENVIRONMENT:
        digest.update(f"{name} {version(name)}".encode())
    return digest.hexdigest()


def run_jobs(
    jobs: dict[str, Job],
    folder: Path,
    workers: int,
    isolation: str,
    tell: Callable[[str, str, Result], None],
    again: bool = False,
) -> None:
    """Run jobs in worker processes, and hand each result over as it comes.

    Args:
        jobs: by name (the student).
        folder: where job and result files stand while they are needed.
        workers: how many processes.
        isolation: of the kernels, `sandbox.FULL` or `sandbox.NONE`.
        tell: called in this thread with a name, the job's key and its result, once for each job,
            in the order in which results come.
        again: also run jobs whose results are kept.

    Raises:
        sandbox.SandboxError: full isolation is not to be had here.
        WorkerError: workers do not start.
    """
    if isolation == sandbox.FULL and sandbox.missing():
        raise sandbox.SandboxError(sandbox.missing())
    folder.mkdir(parents=True, exist_ok=True)
    waiting: queue.SimpleQueue[tuple[str, Job, Path] | None] = queue.SimpleQueue()
    results: queue.SimpleQueue[tuple[str, Result] | Exception] = queue.SimpleQueue()
    keys = {name: key_of(job) for name, job in jobs.items()}
    expected = 0
    for name, job in jobs.items():
        target = folder / f"{keys[name]}.json"
        if again:
            target.unlink(missing_ok=True)
        if target.exists():
            tell(name, keys[name], json.loads(target.read_text(encoding="utf-8")))
        else:
            waiting.put((name, job, target))
            expected += 1
    workers = min(workers, expected)
    for _ in range(workers):
        waiting.put(None)
    stop = threading.Event()
    threads = [
        threading.Thread(target=_tend, args=(waiting, results, isolation, stop), daemon=True)
        for _ in range(workers)
    ]
    for thread in threads:
        thread.start()
    try:
        for _ in range(expected):
            item = results.get()
            if isinstance(item, Exception):
                raise item
            name, result = item
            tell(name, keys[name], result)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _tend(
    waiting: queue.SimpleQueue, results: queue.SimpleQueue, isolation: str, stop: threading.Event
) -> None:
    """Keep one worker busy, and start another one whenever it dies."""
    worker = None
    try:
        while not stop.is_set() and (item := waiting.get()) is not None:
            name, job, target = item
            deaths = 0
            while not target.exists() and deaths < DEATHS and not stop.is_set():
                worker = worker or Worker(isolation)
                if not worker.run(job, target, stop):
                    worker.end()
                    worker = None
                    deaths += 1
            if stop.is_set():
                return
            if target.exists():
                results.put((name, json.loads(target.read_text(encoding="utf-8"))))
            else:
                reason = f"the process that graded it died {DEATHS} times over it"
                write_whole(target, json.dumps({"broken": reason}))
                results.put((name, {"broken": reason}))
    except Exception as error:  # noqa: BLE001 (handed to the thread that waits for results)
        results.put(error)
    finally:
        if worker:
            worker.end()


class Worker:
    """A process that runs one job after the other, with the zygote of its own kernels."""

    def __init__(self, isolation: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "autograder.job", "--isolation", isolation],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._last_words: list[str] = []
        for stream, take in (
            (self.process.stdout, self._lines.put),
            (self.process.stderr, self._remember),
        ):
            threading.Thread(target=_pass_on, args=(stream, take), daemon=True).start()
        if self._next_line(SECONDS_OF_GRACE) != "ready\n":
            self.end()
            raise WorkerError(f"a worker did not start: {''.join(self._last_words)[-1500:]}")

    def run(self, job: Job, target: Path, stop: threading.Event) -> bool:
        """Run one job; False if the worker died over it or did not answer in time."""
        source = target.with_suffix(".job")
        write_whole(source, json.dumps(job))
        try:
            self.process.stdin.write(json.dumps([str(source), str(target)]) + "\n")
            self.process.stdin.flush()
            deadline = time.monotonic() + job["seconds"] + SECONDS_OF_GRACE
            while time.monotonic() < deadline and not stop.is_set():
                line = self._next_line(0.2)
                if line is not None:
                    return line == "done\n"
            return False
        except OSError:
            return False
        finally:
            source.unlink(missing_ok=True)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()

    def _next_line(self, seconds: float) -> str | None:
        """The next line of its output; empty if there are no more, None if none has come yet."""
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            return None

    def _remember(self, line: str) -> None:
        self._last_words = [*self._last_words[-20:], line]


def _pass_on(stream: Iterator[str], take: Callable[[str], None]) -> None:
    for line in stream:
        take(line)
    take("")
