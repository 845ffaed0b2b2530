"""Go through a submitted notebook: run what the student wrote, decide the cells that earn points.

A check cell calls `autograder.cell.grade`; it is not run. What it would show, and the points, are
put there at the end, when nothing that the notebook has sent can change them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from nbformat import NotebookNode, from_dict

from autograder.checks.behaviour import Behaviour, behaviour_of, is_unexplained
from autograder.checks.check import Assignment, Part
from autograder.checks.decide import decide, nothing, seed_of
from autograder.checks.missing import StoppedCell, Surroundings
from autograder.checks.rendering import as_bundle
from autograder.checks.verdicts import Obstacle, PartVerdict
from autograder.faults import Fault, collected, note
from autograder.files import cut
from autograder.grade.report import CHECK, error_in, grade_id_of
from autograder.probe.messages import Ending
from autograder.sandbox.client import KernelNotStarted
from autograder.sandbox.forks import ZygoteError


class NotebookStopped(Exception):
    """Nothing more can be run; ``message`` goes into a sentence after 'The notebook'."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


# by how its process ended
ENDED = {
    how: f"'s process ended {{place}}, and nothing after it could run. {what}"
    for how, what in {
        Ending.EXIT: "Is there an `os._exit()`?",
        Ending.TIME: "It used more processor time than a cell may, in code that cannot be stopped in its middle.",
        Ending.KILLED: "It was killed, which happens where there is not enough memory. Does it need that much?",
        Ending.CRASH: "It crashed in compiled code, as libraries do that are handed what they do not check.",
        Ending.JUNK: "What it sent made no sense. Does it write to a socket that it has not opened?",
    }.items()
}
STUCK = " was stopped {place}: it did not end within its time, nor when it was asked to."
SPENT = (
    " was stopped {place}: all its cells and answers together had used the time of a whole notebook. What was "
    "decided before counts."
)


HEADING = re.compile(r"^#{1,6}[^\S\n]+(.{1,80})", re.MULTILINE)
UNDECIDED = "The grader itself failed over this part, which is no fault of yours. A person has to decide it."
TOO_LONG = (
    "The grader has used the time that it has for a whole notebook, and had not yet decided this part. A person "
    "has to look at it. Does what you return hold far more than the text asks for?"
)


class Kernel(Protocol):
    """Whatever runs a notebook's cells."""

    def run(self, cell: NotebookNode, index: int) -> None:
        """Run a cell and store its outputs; `NotebookStopped` if nothing will run after it."""

    def ask(self, message: bytes) -> bytes:
        """What the probe answers to a message; `NotebookStopped` as above."""

    def close(self) -> None:
        """End it, and wait until its memory is free."""


class Grading:
    """One submission on its way, see `grade_notebook`.

    Args:
        kernel: runs its cells.
        assignment: the checks of the one that it answers.
        files: what lies beside the notebook, by relative name.
        secret: the course's own, for `seed_of`.
        sheet: of inputs, that all submissions of a run have in common; without one, each has inputs of its own.
        handed_out: source of the solution cells as students got them, by the names of their parts.

    Attributes:
        verdicts: the verdict on each part so far.
        faults: the grader's own errors on the way.
    """

    def __init__(
        self,
        kernel: Kernel,
        assignment: Assignment,
        files: Mapping[str, bytes] | None = None,
        secret: str = "",
        handed_out: Mapping[str, str] | None = None,
        sheet: str = "",
    ) -> None:
        self.kernel, self.assignment = kernel, assignment
        self.files, self.secret, self.sheet = files or {}, secret, sheet
        self.handed_out = handed_out or {}
        self.verdicts: dict[str, PartVerdict] = {}
        self.faults: list[Fault] = []
        self._decided: list[tuple[NotebookNode, str]] = []
        self._cells: list[str] = []
        self._asked: list[str] = []  # parts, each with the number of cells before it
        self._own: list[str] = []  # those of them that are not the course's
        self._stopped_cells: list[StoppedCell] = []
        self._texts: list[str] = []
        self._below: list[str] = []
        self._named: set[str] = set()
        self._headings: dict[str, str] = {}  # below which a check stands, by its part
        self._stopped = ""

    @property
    def stopped(self) -> str:
        """Why nothing more runs, as a sentence; empty while something does."""
        return self._stopped

    def look_over(self, cells: Sequence[NotebookNode]) -> None:
        """Read a notebook as a whole, before the first of its cells is taken."""
        self._texts = [cell.source for cell in cells if cell.cell_type != "code"]
        self._below = [cell.source for cell in cells if cell.cell_type == "code"]
        self._named = {grade_id_of(cell) for cell in cells}
        heading = ""
        for cell in cells:
            if cell.cell_type == "markdown" and (found := HEADING.search(cell.source)):
                heading = " ".join(found[1].split())
            elif grade_id_of(cell).startswith(CHECK):
                self._headings[grade_id_of(cell).removeprefix(CHECK)] = heading

    def take(self, cell: NotebookNode, index: int) -> None:
        """Run or decide the notebook's next cell."""
        if cell.cell_type != "code":
            return
        self._below = self._below[1:]
        locked = cell.metadata.get("nbgrader", {}).get("locked", False)
        asked = graded_part(cell.source) if locked else None
        if asked:
            self._decide(cell, asked, index)
        elif cell.source.strip():
            self._cells.append(cell.source)
            if not locked:
                self._own.append(cell.source)
            if not self._stopped:
                try:
                    self.kernel.run(cell, index)
                except NotebookStopped as stopped:
                    self._stop(stopped, cell, index)
                if stopped_cell := stopped_in(cell):
                    self._stopped_cells.append(stopped_cell)

    def behaviours(self) -> dict[str, Behaviour]:
        """By part, what answers do of which nothing tells what is wrong with them.

        It comes after all is decided, since an answer may end its kernel this time.
        """
        found: dict[str, Behaviour] = {}
        for name, verdict in self.verdicts.items():
            if self._stopped or not is_unexplained(verdict):
                continue
            part = self.assignment.part(name)
            with collected() as faults:
                try:
                    seen = behaviour_of(
                        self.assignment, part, self.kernel.ask, verdict.stood_in, self.secret
                    )
                except NotebookStopped:
                    break
            self.faults += faults
            if seen:
                found[name] = seen
        return found

    def finish(self) -> None:
        """Put the verdicts where the checks stand."""
        for cell, name in self._decided:
            verdict = self.verdicts[name]
            shown = {"output_type": "display_data", "data": as_bundle(verdict), "metadata": {}}
            points = {"text/plain": repr(verdict.earned)}
            result = {"output_type": "execute_result", "data": points, "metadata": {}}
            # nbformat's own makers ask a schema about each
            cell.outputs = [from_dict(shown), from_dict({**result, "execution_count": None})]

    def _decide(self, cell: NotebookNode, name: str, index: int) -> None:
        part = self.assignment.part(name)

        def probe(message: bytes) -> bytes:
            if self._stopped:
                return b""
            try:
                return self.kernel.ask(message)
            except NotebookStopped as stopped:
                self._stop(stopped, cell, index)
                return b""

        around = Surroundings(
            tuple(self._stopped_cells),
            tuple(self._texts),
            tuple(self._below),
            courses=tuple(cell for cell in self._cells if cell not in self._own),
            parts=tuple(self.handed_out),
            gone=name in self.handed_out and name not in self._named,
            heading=self._headings.get(name, ""),
        )
        with collected() as faults:
            try:
                verdict = decide(
                    self.assignment,
                    part,
                    probe,
                    self._cells,
                    failed_before=self._before(part, right=False),
                    right_before=self._before(part, right=True),
                    files=self.files,
                    seed=self._seed(part),
                    handed_out=self.handed_out.get(name, ""),
                    around=around,
                )
            except (KernelNotStarted, ZygoteError, OSError):
                raise  # the machine's trouble, not this part's
            except Exception as error:  # noqa: BLE001 (noted; what was earned before stays)
                note(f"deciding `{name}`", error)
        self.faults += faults
        if any(fault.undecided for fault in faults):
            verdict = nothing(part, UNDECIDED, Obstacle.FAULT)
        if self._stopped:
            verdict = nothing(part, self._stopped)
        self.verdicts[name] = verdict
        self._asked.append(f"{name} {len(self._cells)}")
        self._decided.append((cell, name))

    def _seed(self, part: Part) -> int:
        name = f"{self.assignment.name}/{part.name}"
        if self.sheet:
            return seed_of(name, [self.sheet], self.secret)
        return seed_of(name, self._cells, self.secret, self.files, self._asked)

    def leave_to_a_person(self, cells: Sequence[NotebookNode]) -> None:
        """Let all wait that is not decided, since the time for it is up."""
        for cell in cells:
            name = graded_part(cell.source) if cell.cell_type == "code" else ""
            if name and name not in self.verdicts:
                part = self.assignment.part(name)
                self.verdicts[name] = nothing(part, TOO_LONG, Obstacle.UNDECIDED)
                self._decided.append((cell, name))

    def _before(self, part: Part, right: bool) -> list[str]:
        """Earlier parts, right or wrong, in whose place ours may be put; none if one was still to be decided.

        Ours may hold the answer to another earlier part, and a submission can keep what it sees.
        """
        parts = self.assignment.parts
        earlier = [other.name for other in parts[: parts.index(part)]]
        if any(name not in self.verdicts for name in earlier):
            return []
        return [name for name in earlier if self.verdicts[name].right == right]

    def _stop(self, stopped: NotebookStopped, cell: NotebookNode, index: int) -> None:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        place = f"in the cell `{name}`" if name else f"in cell {index + 1}"
        self._stopped = f"The notebook{stopped.message.format(place=place)}"


def stopped_in(cell: NotebookNode) -> StoppedCell | None:
    """What a cell shows of an error that has stopped it; None if it shows none."""
    error, traceback = error_in(cell.outputs)
    if not error:
        return None
    found = re.search(r"Cell In\[\d+\], line \d+\n\s*(.*)", traceback)
    line = cut(found[1].strip()) if found else ""
    return StoppedCell(cell.source, cut(" ".join(error.split())), line)


def graded_part(source: str) -> str:
    """The part that a cell decides, empty for every other cell."""
    if "autograder.cell" not in source:
        return ""
    try:
        last = ast.parse(source).body[-1]
    except (SyntaxError, ValueError, IndexError, RecursionError, MemoryError):
        return ""
    match last:
        case ast.Expr(
            ast.Call(ast.Name("grade"), [ast.Constant(str()), ast.Constant(str() as part)], [])
        ):
            return part
    return ""
