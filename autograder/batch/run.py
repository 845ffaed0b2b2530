"""Run many jobs and lose none: whatever dies, the next start goes on from there.

Each job has a key, the digest of everything that its result depends on. Results are kept by key in
a folder; a job whose result is there is not run again. Only what could not be graded is tried again on
the next start, unless it is *poisoned*: processes died over it.
"""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path

import msgspec

from autograder.batch.task import Engine, Task
from autograder.checks.course import course
from autograder.files import cut
from autograder.grade.messages import Job, from_json, to_json
from autograder.grade.report import Report

ENVIRONMENT = ("torch", "numpy", "ipykernel", "nbclient", "nbgrader")


def key_of(student: str, job: Job) -> str:
    """A digest of a student's job, of the grader's code and of the packages that it stands on."""
    digest = hashlib.sha256(grader_digest().encode())
    digest.update(repr(student).encode() + to_json(replace(job, came_in="")))
    return digest.hexdigest()[:32]


@cache
def grader_digest() -> str:
    """A digest of the grader, its pages, the course's code and the versions of what they need."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    code = [path for folder in (package, *course().folders) for path in folder.rglob("*.py")]
    for path in sorted([*code, *package.rglob("pages/*.*")]):
        digest.update(path.read_bytes())
    for name in ENVIRONMENT:
        digest.update(f"{name} {version(name)}".encode())
    return digest.hexdigest()


def run_jobs(
    jobs: Iterable[tuple[str, Job | Report]],
    folder: Path,
    engine: Engine,
    tell: Callable[[str, str, Report], None],
    again: bool = False,
) -> None:
    """Run jobs, and hand each result over as it comes.

    Args:
        jobs: (student, job) pairs, taken as they are needed; in a job's place may stand a result
            that says why there is none.
        folder: where job and result files stand.
        engine: what runs them.
        tell: called in this thread with a student, the job's key and its result, once for each
            job, in the order in which results come.
        again: also run jobs whose results are kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    finished: queue.SimpleQueue[Task | tuple[str, Report] | Exception | None]
    finished = queue.SimpleQueue()
    done: Callable[[Task], None] = finished.put

    def tasks() -> Iterator[Task]:
        for student, job in jobs:
            if isinstance(job, Report):
                finished.put((student, job))
                continue
            try:
                key = key_of(student, job)
            except Exception as error:  # noqa: BLE001 (one student's job stops nobody)
                reason = f"what was handed in cannot be sent: {type(error).__name__}: {error}"
                finished.put((student, Report(cut(reason), digest=job.digest, came_in=job.came_in)))
                continue
            task = Task(student, key, job, folder / f"{key}.json")
            if again:
                task.target.unlink(missing_ok=True)
            if task.target.exists():
                done(task)
            else:
                yield task

    def drive() -> None:
        try:
            engine.run(tasks(), done)
        except Exception as error:  # noqa: BLE001 (raised in the thread that waits for results)
            finished.put(error)
        finally:
            finished.put(None)

    driver = threading.Thread(target=drive, daemon=True)
    driver.start()
    try:
        while (item := finished.get()) is not None:
            if isinstance(item, Exception):
                raise item
            if isinstance(item, Task):
                # an engine's own words on a job, and a kept result of work that came in again
                result, job = _read(item.target), item.job
                result = replace(result, digest=job.digest, came_in=job.came_in)
                tell(item.student, item.key, result)
            else:
                tell(item[0], "", item[1])
    except BaseException:
        engine.close()
        raise
    finally:
        driver.join()


def _read(path: Path) -> Report:
    """A kept result; one that could not be graded is not kept, so that the next start tries again."""
    try:
        result = from_json(path.read_bytes(), Report)
    except msgspec.MsgspecError as error:
        result = Report(f"its result cannot be read ({error})")
    if result.broken and not result.poisoned:
        path.unlink()
    return result
