"""Grade one submission: its notebook goes in as JSON, the graded one and the scores come out.

A job knows nothing of the course folder, the gradebook or other submissions, so it can run in
another process or on another machine that has this package. By hand, or for a cluster's own queue:

    python -m autograder.grade.run JOB_FILE RESULT_FILE
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import nbformat
from msgspec import structs
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.preprocessors import LimitOutput

from autograder.bounds import LARGEST_RESULT, LONGEST_TEXT
from autograder.checks.course import course_named
from autograder.checks.decide import disallowed_lists_of
from autograder.checks.follow_through import is_class
from autograder.checks.notebook_source import FilesBeside, forget
from autograder.checks.verdicts import Obstacle, PartVerdict
from autograder.faults import fault_of
from autograder.files import NO_ROOM, digest_of, write_whole
from autograder.grade.grading import ENDED, STUCK, Grading, NotebookStopped, graded_part
from autograder.grade.messages import Job, from_json, to_json
from autograder.grade.outputs import Outputs
from autograder.grade.report import CHECK, TEST, Report, errors_of_tests, grade_id_of, put_into
from autograder.grade.restore import restore, solution_cells
from autograder.grade.sanitize import Sanitize
from autograder.grade.shown_points import shown_points
from autograder.grade.submission import InvalidSubmission, notebook_in
from autograder.probe.disallowed import Disallowed
from autograder.probe.messages import Questions
from autograder.probe.wire import decode, encode
from autograder.sandbox.client import KernelClient, KernelDied, KernelStuck
from autograder.sandbox.forks import ZygoteError
from autograder.sandbox.kernels import Kernels, own_kernels
from autograder.sandbox.limits import Limits

TOO_LARGE = (
    "[The notebook is too large to be shown whole: this is left out. It was run and graded.]\n"
)
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
    prepared = time.perf_counter()
    with SandboxedKernel(kernels, job.limits, job.files, disallowed_lists_of(assignment)) as kernel:
        handed_out = solution_cells(job.released)
        grading = Grading(kernel, assignment, job.files, job.secret, handed_out)
        report = grade_notebook(notebook, grading, job.own_text, added=restored.added)
    remarks = [job.remark] if job.remark else []
    if report.seconds["run"] >= job.limits.seconds:
        remarks.append(f"the notebook took more than {job.limits.seconds:g} seconds")
    report = replace(
        report,
        restored=restored,
        remark="; ".join(remarks),
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
    added: Collection[str] = (),
) -> Report:
    """Go through a notebook, and make of it the one that people see.

    Args:
        notebook: as it is to be run; what it shows, and what the checks say, is put into it.
        grading: fresh, with the kernel that runs it.
        own_text: digests of the assignment's Markdown, which is the course's own.
        tell: is told each cell before it is taken.
        added: names of cells that were not there when it was given out.

    Returns:
        the report, without a graded notebook.
    """
    began = time.perf_counter()
    grading.look_over(notebook.cells)
    for index, cell in enumerate(notebook.cells):
        tell(cell)
        grading.take(cell, index)
    behaviours = grading.behaviours()
    grading.look_again()
    seconds = time.perf_counter() - began
    given = grading.handed_out
    unanswered = [
        name
        for name, cell in ((grade_id_of(cell), cell) for cell in notebook.cells)
        if name in given and cell.source.strip() in ("", given[name].strip())
    ]
    # words in another cell may be the answer, so a person has to look
    nothing_written = not any(is_own_text(cell, own_text) for cell in notebook.cells)
    untouched = {*unanswered} - {*added} if nothing_written else set()
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
        behaviours=behaviours,
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
        return None if verdict.obstacle is Obstacle.FAULT else verdict.earned
    return shown_points(cell)


class SandboxedKernel(contextlib.AbstractContextManager["SandboxedKernel"]):
    """`grading.Kernel` over a channel, without nbclient; what it is given is given to a `KernelClient`.

    Raises:
        NotebookStopped: it does not take the files.
        ZygoteError: kernels cannot be had.
    """

    def __init__(
        self,
        kernels: Kernels,
        limits: Limits,
        files: Mapping[str, bytes],
        disallowed_lists: Sequence[Disallowed] = (),
        closed: Disallowed | None = None,
    ) -> None:
        self.kernels, self.limits, self.files = kernels, limits, files
        self.disallowed_lists = disallowed_lists
        self.outputs = Outputs(limits.output)
        # what stands in for earlier parts, when it is needed
        self._ours: KernelClient | None = None
        self._beside, self._cells = FilesBeside(files), 0
        try:
            self.kernel = KernelClient(
                kernels, limits, sorted(files.items()), closed, disallowed_lists
            )
        except (KernelDied, KernelStuck):
            raise NotebookStopped(ENDED) from None

    def __exit__(self, *_: object) -> None:
        self.kernel.__exit__()
        if self._ours:
            self._ours.__exit__()

    def close(self) -> None:
        self.kernel.process.kill()
        self.kernel.process.wait()

    def closed(self, disallowed: Disallowed) -> SandboxedKernel:
        left = max(1, round(self.kernel.seconds_left))
        limits = replace(self.limits, seconds=left)
        return SandboxedKernel(self.kernels, limits, self.files, self.disallowed_lists, disallowed)

    def run(self, cell: NotebookNode, index: int) -> None:
        self.outputs.begin(cell.outputs)
        self._cells += 1
        try:
            for name, content in self._beside.named_by(cell.source).items():
                self.kernel.let_import(name, content)
            # its own id could hold what its source does not
            number, asks = f"cell-{self._cells}", grade_id_of(cell).startswith(TEST)
            done = self.kernel.run(cell.source, number, self.outputs.take, asks)
        except KernelDied:
            raise NotebookStopped(ENDED) from None
        except KernelStuck:
            raise NotebookStopped(STUCK) from None
        cell.execution_count = done.count

    def ask(self, message: bytes) -> bytes:
        questions = decode(message, Questions)
        sources, functions = questions.substitutes, questions.functions
        try:
            if not sources and not functions:
                return self.kernel.ask(message)
            # ours never comes where a submission runs: not even its source travels there
            elsewhere = {
                **{name: is_class(source) for name, source in sources.items()},
                **dict.fromkeys(functions, False),
            }
            questions = structs.replace(questions, substitutes={}, elsewhere=elsewhere)
            return self.kernel.ask(encode(questions), self._stand_ins(sources, functions))
        except KernelDied:
            raise NotebookStopped(ENDED) from None
        except KernelStuck:
            raise NotebookStopped(STUCK) from None

    def _stand_ins(self, sources: dict[str, str], functions: list[str]) -> Callable[[bytes], bytes]:
        """What passes calls on to a kernel of ours, which begins with the first of them."""

        @cache
        def ours() -> KernelClient:
            if self._ours is None or self._ours.ended:
                if self._ours:
                    self._ours.__exit__()
                limits = replace(self.limits, seconds=max(1, round(self.kernel.seconds_left)))
                self._ours = KernelClient(self.kernels, limits)
            self._ours.let_stand_in(sources, functions)
            return self._ours

        return lambda message: ours().call(message)


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
    return Report(broken=f"grading stopped with {fault.error}", faults=(fault,))


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
