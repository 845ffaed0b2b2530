"""Grade one submission: its notebook goes in as JSON, the graded one and the scores come out.

A job knows nothing of the course folder, the gradebook or other submissions, so it can run in
another process or on another machine that has this package. By hand, or for a cluster's own queue:

    python -m autograder.grade.run JOB_FILE RESULT_FILE
"""

from __future__ import annotations

import argparse
import contextlib
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import nbformat
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.preprocessors import LimitOutput

from autograder.bounds import LARGEST_RESULT, LONGEST_TEXT, SECONDS_TO_DECIDE, in_time
from autograder.checks.behaviour import Behaviour
from autograder.checks.course import course_named
from autograder.checks.decide import disallowed_lists_of
from autograder.checks.notebook_source import forget
from autograder.checks.verdicts import Obstacle, PartVerdict
from autograder.faults import fault_of
from autograder.files import NO_ROOM, digest_of, write_whole
from autograder.grade.appeals import appeals_in
from autograder.grade.grading import ENDED, SPENT, STUCK, Grading, NotebookStopped, graded_part
from autograder.grade.invalid import InvalidSubmission
from autograder.grade.messages import Job, from_json, to_json
from autograder.grade.outputs import Outputs
from autograder.grade.report import CHECK, TEST, Report, errors_of_tests, grade_id_of, put_into
from autograder.grade.restore import restore, solution_cells
from autograder.grade.sanitize import Sanitize
from autograder.grade.shown_points import shown_points
from autograder.grade.submission import notebook_in
from autograder.probe.disallowed import Disallowed
from autograder.probe.messages import Ending, Observation, Questions
from autograder.probe.wire import WireError, decode, encode, joined
from autograder.sandbox.client import KernelClient, KernelDied, KernelSpent, KernelStuck
from autograder.sandbox.forks import ZygoteError
from autograder.sandbox.kernels import Kernels, own_kernels
from autograder.sandbox.limits import Limits
from autograder.sandbox.messages import Done

TOO_LARGE = (
    "[The notebook is too large to be shown whole: this is left out. It was run and graded.]\n"
)
OURS = "the grader itself failed, which is no fault of yours; your instructor has it graded again"
SHORT = 1_000  # characters of a cell that stays in any case
KEPT_METADATA = ("nbgrader", "deletable", "editable")


def run_job(job: Job, kernels: Kernels) -> Report:
    """Grade one submission in a kernel of its own.

    Raises:
        ZygoteError: kernels cannot be had, which is no fault of the submission.
    """
    began = time.perf_counter()
    try:
        notebook = notebook_in(job.notebook)
    except InvalidSubmission as problem:
        return problem.report
    assignment = course_named(job.course).load(job.assignment)
    restored = restore(notebook, job.released)
    appeals = appeals_in(notebook, job.released)
    prepared = time.perf_counter()
    with SandboxedKernel(kernels, job.limits, job.files, disallowed_lists_of(assignment)) as kernel:
        handed_out = solution_cells(job.released)
        grading = Grading(kernel, assignment, job.files, job.secret, handed_out, job.sheet)
        report = grade_notebook(notebook, grading, job.own_text)
    report = replace(
        report,
        restored=restored,
        appeals=appeals,
        remark=job.remark,
        seconds={"prepare": prepared - began, **report.seconds},
    )
    put_into(notebook, report)
    return replace(report, notebook=text_of_graded(notebook))


def text_of_graded(notebook: NotebookNode) -> str:
    """A graded notebook as text that can be sent, without what would make it too large for that.

    Outputs go first, then what stands around the answers; the points are not in it and stay.
    """
    text = nbformat.v4.writes_json(notebook)
    for shorten in (_leave_out_outputs, _leave_out_sources):
        if len(msgspec.json.encode(text)) <= LARGEST_RESULT:
            break
        for cell in notebook.cells:
            shorten(cell)
        text = nbformat.v4.writes_json(notebook)
    return text


def _leave_out_outputs(cell: NotebookNode) -> None:
    if cell.get("outputs") and not grade_id_of(cell).startswith(CHECK):
        cell.outputs = [nbformat.v4.new_output("stream", text=TOO_LARGE)]


def _leave_out_sources(cell: NotebookNode) -> None:
    if not cell.metadata.get("nbgrader", {}).get("locked") and len(cell.source) > SHORT:
        most = LONGEST_TEXT if grade_id_of(cell) else 0
        cell.source = f"{cell.source[:most]}\n# {TOO_LARGE}".strip()


def grade_notebook(
    notebook: NotebookNode,
    grading: Grading,
    own_text: Collection[str] = (),
    tell: Callable[[NotebookNode], None] = lambda _: None,
) -> Report:
    """Go through a notebook, and make of it the one that people see.

    Args:
        notebook: as it is to be run; what it shows, and what the checks say, is put into it.
        grading: fresh, with the kernel that runs it.
        own_text: digests of the assignment's Markdown, which is the course's own.
        tell: is told each cell before it is taken.

    Returns:
        the report, without a graded notebook.
    """
    began = time.perf_counter()
    grading.look_over(notebook.cells)

    def go_through() -> dict[str, Behaviour]:
        for index, cell in enumerate(notebook.cells):
            tell(cell)
            grading.take(cell, index)
        return grading.behaviours()

    behaviours = in_time(SECONDS_TO_DECIDE, go_through, None)
    if behaviours is None:
        grading.leave_to_a_person(notebook.cells)
    seconds = time.perf_counter() - began
    given = grading.handed_out
    unanswered = [
        name
        for name, cell in ((grade_id_of(cell), cell) for cell in notebook.cells)
        if name in given and cell.source.strip() in ("", given[name].strip())
    ]
    # words in another cell may be the answer, so a person has to look
    nothing_written = not any(is_own_text(cell, own_text) for cell in notebook.cells)
    untouched = {*unanswered} if nothing_written else set()
    Sanitize(set(own_text)).preprocess(notebook, {})
    LimitOutput().preprocess(notebook, {})
    grading.finish()
    for cell in notebook.cells:
        kept = {name: cell.metadata[name] for name in KEPT_METADATA if name in cell.metadata}
        cell.metadata = NotebookNode(kept)
    graded = [cell for cell in notebook.cells if utils.is_grade(cell)]
    scores = {
        name: 0.0 if name in untouched else score_of(cell, grading.verdicts)
        for name, cell in ((grade_id_of(cell), cell) for cell in graded)
    }
    notebook.metadata = NotebookNode(
        kernelspec={"name": "python3", "display_name": "Python 3", "language": "python"}
    )
    return Report(
        scores=scores,
        by_a_person={
            grade_id_of(cell): cell.metadata.nbgrader.points
            for cell in graded
            if scores[grade_id_of(cell)] is None and cell.metadata.nbgrader.points
        },
        unanswered=tuple(unanswered),
        verdicts=grading.verdicts,
        tests=errors_of_tests(notebook.cells),
        behaviours=behaviours or {},
        faults=tuple(grading.faults),
        seconds={"run": seconds},
    )


def is_own_text(cell: NotebookNode, own_text: Collection[str]) -> bool:
    """Whether a cell is Markdown that a student put between those that were given out, or changed there."""
    apart = cell.cell_type == "markdown" and not grade_id_of(cell) and cell.source.strip()
    return bool(apart) and digest_of(cell.source) not in own_text


def score_of(cell: NotebookNode, verdicts: Mapping[str, PartVerdict]) -> float | None:
    """What a cell earns by its part's verdict, or else by what it shows; None where a person must look."""
    verdict = verdicts.get(grade_id_of(cell).removeprefix(CHECK))
    if verdict and graded_part(cell.source):
        waits = verdict.obstacle in (Obstacle.FAULT, Obstacle.UNDECIDED)
        return None if waits else verdict.earned
    return shown_points(cell)


class SandboxedKernel(contextlib.AbstractContextManager["SandboxedKernel"]):
    """`grading.Kernel` over a channel, without nbclient; what it is given is given to a `KernelClient`.

    Where a process ends over what it is asked, that costs the case, and what is left is asked in another one, in
    which the same cells were run.

    Raises:
        ZygoteError, KernelNotStarted: kernels cannot be had, or this one could not start.
    """

    def __init__(
        self,
        kernels: Kernels,
        limits: Limits,
        files: Mapping[str, bytes],
        disallowed_lists: Sequence[Disallowed] = (),
    ) -> None:
        self.kernels, self.limits, self.files = kernels, limits, files
        self.disallowed_lists = disallowed_lists
        self.outputs = Outputs(limits.output)
        self._cpu = limits.cpu
        self._ran: list[Ran] = []
        self._running = True  # as far as it was
        self.kernel = self._started()

    def _started(self) -> KernelClient:
        limits = replace(self.limits, cpu=self._cpu)
        files = sorted(self.files.items())
        return KernelClient(self.kernels, limits, files, self.disallowed_lists)

    def __exit__(self, *_: object) -> None:
        self.kernel.__exit__()

    def close(self) -> None:
        self.kernel.process.kill()
        self.kernel.process.wait()

    def run(self, cell: NotebookNode, index: int) -> None:
        self.outputs.begin(cell.outputs)
        # its own id could hold what its source does not
        number, asks = f"cell-{len(self._ran) + 1}", grade_id_of(cell).startswith(TEST)
        ran = Ran(cell.source, number, asks)
        with self._or_stopped():
            self._start_again_if_ended()
            done = ran.by(self.kernel, self.outputs.take)
        self._ran.append(ran)
        cell.execution_count = done.count

    def ask(self, message: bytes) -> bytes:
        seen: list[bytes] = []
        with self._or_stopped():
            while True:
                before = len(seen)
                try:
                    self._start_again_if_ended()
                    return self.kernel.ask(message, seen)
                except (KernelDied, KernelStuck) as end:
                    if not self._running or self._spent:
                        raise
                    self.close()
                    asked, done = decode(message, Questions), len(seen) - before
                    lost = 1 + asked.rest_of_step(done)
                    seen += [encode(self._lost(end))] * lost
                    if done + lost >= len(asked.requests):
                        return joined(seen)
                    message = encode(asked.after(done + lost))
                except WireError:
                    return b""

    def _lost(self, end: KernelDied | KernelStuck) -> Observation:
        """What is seen of a case over which the process ended, or had to be ended."""
        if isinstance(end, KernelStuck):
            return Observation(status="timeout", seconds=self.limits.clock_per_call, waited=True)
        if end.how is Ending.TIME:
            return Observation(status="timeout", seconds=self.limits.seconds_per_call)
        return Observation(status="ended", ended=end.how)

    @property
    def _spent(self) -> bool:
        """Whether it has used the processor time of the whole notebook, or nearly."""
        return self.kernel.process.processor_time() > self._cpu - 1

    def _start_again_if_ended(self) -> None:
        """Run the notebook as far as it was in another kernel; what it shows is known."""
        if not self.kernel.ended:
            return
        self._running = False
        self._cpu = max(1, self._cpu - math.ceil(self.kernel.process.processor_time()))
        self.kernel.__exit__()
        self.kernel = self._started()
        for ran in self._ran:
            ran.by(self.kernel, lambda *_: None)
        self._running = True

    @contextlib.contextmanager
    def _or_stopped(self) -> Iterator[None]:
        """Whatever ends the kernel inside, nothing more runs."""
        try:
            yield
        except KernelDied as died:
            raise NotebookStopped(SPENT if self._spent else ENDED[died.how]) from None
        except KernelStuck:
            raise NotebookStopped(STUCK) from None
        except KernelSpent:
            raise NotebookStopped(SPENT) from None


class Ran(NamedTuple):
    """A cell as it was run, so that it can be run once more.

    Attributes:
        source: the cell.
        number: what the kernel knows it by.
        asks: see `CellOrder`.
    """

    source: str
    number: str
    asks: bool

    def by(self, kernel: KernelClient, take: Callable[[str, dict[str, Any]], None]) -> Done:
        return kernel.run(self.source, self.number, take, self.asks)


def attempt(job: Job, kernels: Kernels) -> Report:
    """Grade one submission; where that fails, the result says why and a person will look.

    Raises:
        ZygoteError: kernels cannot be had, which is no fault of the submission.
        OSError: the machine has no room; nor is this.
    """
    return replace(_attempt(job, kernels), digest=job.digest, files=job.files)


def _attempt(job: Job, kernels: Kernels) -> Report:
    try:
        return run_job(job, kernels)
    except ZygoteError:
        raise
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        return broken(error)
    except Exception as error:  # noqa: BLE001 (the batch goes on)
        return broken(error)
    finally:
        forget()


def broken(error: Exception) -> Report:
    """The result of a job over which the grader itself stumbled."""
    fault = fault_of("grading a notebook", error)
    return Report(broken=f"grading stopped with {fault.error}", told=OURS, faults=(fault,))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m autograder.grade.run", description=__doc__)
    parser.add_argument("job", type=Path, help="the file that holds the job")
    parser.add_argument("result", type=Path, help="the file that the result is written to")
    options = parser.parse_args()
    job = from_json(options.job.read_bytes(), Job)
    result = attempt(job, own_kernels(job.isolation, job.modules))
    write_whole(options.result, to_json(result))


if __name__ == "__main__":
    main()
