"""Grade one notebook for its own author: the same checks and the same words as in a class."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_code_cell

from autograder.checks.check import Assignment
from autograder.checks.course import Course, course
from autograder.checks.decide import disallowed_lists_of
from autograder.checks.rendering import as_text
from autograder.grade.feedback_page import Mark, Plan, feedback_page, on_site, plan_of
from autograder.grade.grading import Grading, graded_part
from autograder.grade.invalid import InvalidSubmission
from autograder.grade.report import CHECK, TEST, Report, error_in, grade_id_of
from autograder.grade.run import SandboxedKernel, grade_notebook
from autograder.grade.submission import files_beside, notebook_in, read_text
from autograder.sandbox import bubblewrap
from autograder.sandbox.client import KernelNotStarted
from autograder.sandbox.forks import ZygoteError
from autograder.sandbox.kernels import close, own_kernels
from autograder.sandbox.limits import Limits

SECONDS_PER_CELL = 60


class NotGradable(Exception):
    """The notebook cannot be graded; the message says why and what to do."""


@dataclass(frozen=True)
class SelfCheck:
    """What a check found.

    Attributes:
        report: what became of the notebook, all parts in the assignment's order.
        plan: what the assignment asks, answers in words included.
        notebook: as run, with what the checks say in it.
        isolation: `bubblewrap.FULL`, or `bubblewrap.NONE` where this machine has no sandbox.
    """

    report: Report
    plan: Plan
    notebook: NotebookNode
    isolation: str

    @property
    def by_a_person(self) -> float:
        """Points for answers in words, which no check reads."""
        return sum(task.of for task in self.plan.tasks if task.in_words)


class Progress:
    """Tells of each cell of a notebook, before it is taken, where it stands."""

    def __init__(self, notebook: NotebookNode, tell: Callable[[str], None]) -> None:
        code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
        starts = [cell for cell in code if grade_id_of(cell).startswith(CHECK)]
        checks = [cell for cell in starts if graded_part(cell.source)]
        self._places = {id(cell): place for place, cell in enumerate(code, start=1)}
        self._parts = {id(cell): place for place, cell in enumerate(checks, start=1)}
        self._tell = tell

    def at(self, cell: NotebookNode) -> None:
        """Tell that this cell is next."""
        if id(cell) in self._parts:
            name = grade_id_of(cell).removeprefix(CHECK)
            self._tell(f"deciding part {self._parts[id(cell)]} of {len(self._parts)}: {name}")
        elif id(cell) in self._places:
            self._tell(f"running cell {self._places[id(cell)]} of {len(self._places)}")


def check_notebook(
    path: Path, assignment: str = "", tell: Callable[[str], None] = lambda _: None
) -> SelfCheck:
    """Run a notebook in a kernel of its own and decide all parts of its assignment.

    The file is not changed.

    Args:
        assignment: the assignment's id; if empty, see `answered_by`.
        tell: told what is being done, before each cell.

    Raises:
        NotGradable: no such file, no notebook, or no such assignment.
    """
    notebook, checks = opened(path, assignment)
    plan = plan_of(notebook)
    with own_grading(checks, path.resolve().parent) as (grading, isolation):
        report = grade_notebook(notebook, grading, tell=Progress(notebook, tell).at)
    verdicts = {part.name: report.verdicts[part.name] for part in checks.parts}
    report = replace(report, verdicts=verdicts)
    return SelfCheck(report, replace(plan, title=plan.title or checks.name), notebook, isolation)


def opened(path: Path, assignment: str = "") -> tuple[NotebookNode, Assignment]:
    """A notebook with all that earns points in it, and the assignment that it answers; see `check_notebook`."""
    if not path.is_file():
        raise NotGradable(f"there is no file {path}")
    taught = course()
    if assignment and assignment not in taught.known():
        raise NotGradable(
            f"there is no assignment '{assignment}'; there are {', '.join(taught.known())}."
        )
    try:
        text = read_text(path)
        notebook = notebook_in(text)
    except InvalidSubmission as problem:
        raise NotGradable(f"{path}: {problem}") from None
    assignment = assignment or answered_by(notebook, path.stem, taught)
    if not assignment:
        raise NotGradable(
            f"neither the name of {path.name} nor its cells tell which assignment it answers. Say "
            f"which one with --assignment; there are {', '.join(taught.known())}."
        )
    checks = taught.load(assignment)
    add_checks(notebook, checks)
    _keep_points(notebook, text)
    return notebook, checks


def answered_by(notebook: NotebookNode, name: str, taught: Course) -> str:
    """Which assignment a notebook answers, by its file's name or else its cells; empty if that is not known."""
    if name in taught.known():
        return name
    cells = {grade_id_of(cell) for cell in notebook.cells}
    of_each = {
        known: sum(f"{CHECK}{part.name}" in cells for part in taught.load(known).parts)
        for known in taught.known()
    }
    most = max(of_each.values(), default=0)
    found = [known for known, number in of_each.items() if number == most]
    return found[0] if most and len(found) == 1 else ""


@contextmanager
def own_grading(assignment: Assignment, folder: Path) -> Iterator[tuple[Grading, str]]:
    """What grades a notebook of a folder on its author's machine, and how far it is kept apart there."""
    isolation = bubblewrap.here()
    limits, taught = Limits(clock_per_cell=SECONDS_PER_CELL), assignment.course
    files, _ = files_beside(folder, taught)
    try:
        kernels = own_kernels(isolation, taught.allowed_modules(assignment.name))
        with SandboxedKernel(kernels, limits, files, disallowed_lists_of(assignment)) as kernel:
            given = taught.handed_out(assignment.name)
            yield Grading(kernel, assignment, files, handed_out=given), isolation
    except (KernelNotStarted, ZygoteError) as error:
        raise NotGradable(
            f"the grader itself failed, which is no fault of your notebook: {error}"
        ) from error
    finally:
        close()


def add_checks(notebook: NotebookNode, assignment: Assignment) -> None:
    """Fill the check cells, which are empty in a release; put those that are gone at the end."""
    cells = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in notebook.cells}
    for part in assignment.parts:
        text = f'from autograder.cell import grade\n\ngrade("{assignment.name}", "{part.name}")'
        cell = cells.get(f"{CHECK}{part.name}")
        if cell is None or cell.cell_type != "code":
            cell = new_code_cell()
            notebook.cells.append(cell)
        cell.source = text
        marks = {"grade_id": f"{CHECK}{part.name}", "grade": True, "locked": True}
        cell.metadata = from_dict({"nbgrader": {**marks, "points": part.points}})


def _keep_points(notebook: NotebookNode, text: str) -> None:
    """Mark the cells that a person reads as their file does: reading it drops all but names."""
    cells = {grade_id_of(cell): cell for cell in notebook.cells}
    for cell in json.loads(text)["cells"]:
        metadata = cell.get("metadata") if isinstance(cell, dict) else None
        marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        if isinstance(marks, dict) and marks.get("grade") and marks.get("solution"):
            found, points = cells.get(str(marks.get("grade_id"))), marks.get("points")
            if found is not None and isinstance(points, int | float):
                found.metadata.nbgrader.update(grade=True, solution=True, points=points)


def summary(checked: SelfCheck) -> str:
    """All verdicts as text, with the points of the whole assignment."""
    report = checked.report
    total = f"{report.earned:g} of {report.of:g} points"
    if checked.by_a_person:
        more = checked.by_a_person
        total += f" that this check can give; {more:g} more {'is' if more == 1 else 'are'} given by a person"
    return "\n\n".join([*map(as_text, report.verdicts.values()), total, *_without_sandbox(checked)])


def as_data(checked: SelfCheck) -> dict[str, Any]:
    """What a program needs of a check: points and sentences by part, and errors of visible tests by cell."""
    errors = {
        grade_id_of(cell): error_in(cell.get("outputs", []))
        for cell in checked.notebook.cells
        if grade_id_of(cell).startswith(TEST)
    }
    return {
        "parts": [
            {
                "cell": f"{CHECK}{part}",
                "earned": verdict.earned,
                "of": verdict.points,
                "text": as_text(verdict),
            }
            for part, verdict in checked.report.verdicts.items()
        ],
        "tests": [
            {"cell": cell, "error": error, "traceback": traceback}
            for cell, (error, traceback) in errors.items()
        ],
    }


def _without_sandbox(checked: SelfCheck) -> Iterator[str]:
    """What may differ from a class, where the notebook did not run as it does there."""
    if checked.isolation == bubblewrap.NONE:
        yield (
            "This machine has no sandbox, so the notebook could reach the network and your files. In a "
            "class it cannot."
        )


def page(checked: SelfCheck, notebook: Path, place: Path) -> str:
    """The feedback page on a check; nobody but the student has seen the work.

    Args:
        notebook: the file that was checked; the course's lectures lie where its links lead.
        place: where the page will lie.
    """

    def leads_to(link: str) -> str:
        path, mark, anchor = link.partition("#")
        file = Path(os.path.normpath(notebook.resolve().parent / path))
        beside = Path(os.path.relpath(file, place.resolve().parent)).as_posix()
        return on_site(course().site, link) or (f"{beside}{mark}{anchor}" if file.exists() else "")

    marks = {
        f"{CHECK}{verdict.part}": Mark(verdict.earned, verdict.points)
        for verdict in checked.report.verdicts.values()
    }
    for task in checked.plan.tasks:
        if task.in_words:
            marks[task.cell] = Mark(0.0, task.of, waits=True)
    return feedback_page(
        checked.plan, checked.notebook, checked.report, marks, alone=True, leads_to=leads_to
    )
