"""Run many jobs and lose none: whatever dies, the next start goes on from there.

Each job has a key, the digest of everything that its result depends on. Results are kept by key in
a folder; a job whose result is there is not run again. Only what could not be graded is tried again on
the next start, unless it is *poisoned*: processes died over it.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from autograder.batch.engine import Engine
from autograder.checks.course import course
from autograder.files import cut, write_whole
from autograder.grade.messages import Job, from_json, to_json
from autograder.grade.report import Report

ENVIRONMENT = ("torch", "numpy", "ipykernel", "nbclient", "nbgrader")
MOST_TOGETHER = 32  # pieces of work that are handed over at a time
SECONDS_BETWEEN_LOOKS = 5  # at an engine all of whose workers are busy


@dataclass(frozen=True)
class Work:
    """What a student handed in, and what became of it.

    Attributes:
        student: the id.
        key: of its result; empty where there is none that could be kept.
        digest, came_in: the job's.
        result: None where it was not read, since it is recorded already or stands in its file.
    """

    student: str
    key: str
    digest: str
    came_in: str
    result: Report | None = None


def digest_of_class(whole: Job) -> str:
    """A digest of what a class has in common, of the grader's code and of the packages that it stands on."""
    return hashlib.sha256(grader_digest().encode() + to_json(whole)).hexdigest()


def key_of(student: str, job: Job, common: str) -> str:
    """The name of a job's result, by all that it depends on, the `digest_of_class` among it."""
    return hashlib.sha256(repr((common, student, job.digest, job.remark)).encode()).hexdigest()[:32]


@cache
def grader_digest() -> str:
    """A digest of the grader, its pages, the course's code and the versions of what they need."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    code = [path for folder in (package, *course().folders) for path in folder.rglob("*.py")]
    for path in sorted([*code, *package.rglob("pages/*.*")]):
        digest.update(path.read_bytes())
    for name in ENVIRONMENT:
        with contextlib.suppress(PackageNotFoundError):  # PyTorch is where a course needs it
            digest.update(f"{name} {version(name)}".encode())
    return digest.hexdigest()


def run_jobs(
    jobs: Iterable[tuple[str, Job | Report]],
    common: str,
    folder: Path,
    engine: Engine,
    recorded: Callable[[str, str], bool],
    again: bool = False,
) -> Iterator[list[Work]]:
    """Run jobs, and hand results over as they come, each once and several together.

    Args:
        jobs: (student, job) pairs, taken as they are needed; in a job's place may stand a result
            that says why there is none.
        common: the `digest_of_class`.
        recorded: whether a student's result with a key is recorded, so that it need not be read.
        again: also run jobs whose results are kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    left, running = iter(jobs), dict[Future[bytes], Work]()

    def known(student: str, job: Job | Report) -> Work | None:
        """Work with its result, or with none where it is recorded; None where the engine is at it from now on."""
        if isinstance(job, Report):
            return Work(student, "", job.digest, job.came_in, job)
        work = Work(student, key_of(student, job, common), job.digest, job.came_in)
        if not again:
            found = work if recorded(student, work.key) else _kept(folder, work)
            if found:
                return found
        try:
            running[engine.submit(to_json(job), job.limits.on_the_clock)] = work
        except UnicodeError as error:  # one student's job stops nobody
            reason = f"what was handed in cannot be sent: {type(error).__name__}: {error}"
            return _with(work, Report(cut(reason)))
        return None

    try:
        while True:
            most, ready = engine.at_once(), list[Work]()
            while len(running) < most and len(ready) < MOST_TOGETHER:
                item = next(left, None)
                if item is None:
                    break
                if work := known(*item):
                    ready.append(work)
            if not (running or ready):
                return
            patience = 0 if ready else SECONDS_BETWEEN_LOOKS
            done, _ = wait(running, patience, FIRST_COMPLETED)
            graded = [_keep(folder, running.pop(future), future.result()) for future in done]
            yield [*ready, *graded]
    finally:
        for future in running:
            future.cancel()


def _kept(folder: Path, work: Work) -> Work | None:
    """Work with its result of an earlier run, which perhaps was of the same work before it came in again."""
    try:
        return _with(work, from_json((folder / f"{work.key}.json").read_bytes(), Report))
    except (FileNotFoundError, msgspec.MsgspecError):  # it was never written, or spoilt since
        return None


def _keep(folder: Path, work: Work, data: bytes) -> Work:
    """Work with its result, which is kept unless it says that it could not be graded for now."""
    try:
        result = from_json(data, Report)
    except msgspec.MsgspecError as error:  # one student's result stops nobody
        return _with(work, Report(cut(f"its result cannot be read: {error}")))
    if result.poisoned or not result.broken:
        write_whole(folder / f"{work.key}.json", data)
    return _with(work, result)


def _with(work: Work, result: Report) -> Work:
    # a result in an engine's own words, or of an earlier run, does not know when this came in
    return replace(work, result=replace(result, digest=work.digest, came_in=work.came_in))
