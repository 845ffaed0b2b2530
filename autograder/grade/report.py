"""What became of one submission: made once, and read by the gradebook, pages, tables and platforms.

A graded notebook carries in its metadata what its page shows of the report, so that nbgrader's own
commands make the same page from the notebook alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from autograder.checks.verdicts import VERDICT_MIME, Behaviour, PartVerdict
from autograder.faults import Fault

if TYPE_CHECKING:  # an engine's processes start when this is imported, and import meanwhile
    from nbformat import NotebookNode

# how the ids of the cells begin that decide a part, and of its visible tests
CHECK, TEST = "check_", "test_"
KEY = "report"  # of the notebook's metadata
LONGEST_ERROR, LONGEST_TRACEBACK = 400, 6000


@dataclass(frozen=True)
class Restored:
    """Names of the locked cells that were put right."""

    edited: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Appeal:
    """A student's request to look again at a part: why, and a digest of that and of the part's code."""

    part: str
    why: str
    mark: str = ""


@dataclass(frozen=True)
class Report:
    """What became of one submission.

    Attributes:
        broken: why it could not be graded, in words; empty if it was.
        told: the same for the student; empty where the words are the same.
        no_json: the reason is that what was handed in is not JSON.
        poisoned: processes died over it, so that it is not tried again by itself.
        digest, came_in, files: the job's, so that what is recorded is what was graded.
        notebook: as graded, JSON text.
        scores: by grade_id; None where a person must look.
        by_a_person: points that no check gives, by grade_id.
        unanswered: names of solution cells that are as they were released.
        verdicts: by part, in the order of the notebook.
        tests: by part, the error with which its visible test stopped.
        behaviours: of the parts whose answer nothing explains, what it does on the class's inputs.
        restored: locked cells that were put right.
        appeals: what its student asks a person to look at again.
        faults: the grader's own errors over it, for which a person must look.
        remark: what concerns the whole submission.
        seconds: by stage.
    """

    broken: str = ""
    told: str = ""
    no_json: bool = False
    poisoned: bool = False
    digest: str = ""
    came_in: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    notebook: str = ""
    scores: dict[str, float | None] = field(default_factory=dict)
    by_a_person: dict[str, float] = field(default_factory=dict)
    unanswered: tuple[str, ...] = ()
    verdicts: dict[str, PartVerdict] = field(default_factory=dict)
    tests: dict[str, str] = field(default_factory=dict)
    behaviours: dict[str, Behaviour] = field(default_factory=dict)
    restored: Restored = field(default_factory=Restored)
    appeals: tuple[Appeal, ...] = ()
    faults: tuple[Fault, ...] = ()
    remark: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def earned(self) -> float:
        """Points that the checks have given."""
        return sum(verdict.earned for verdict in self.verdicts.values())

    @property
    def of(self) -> float:
        """Points that the checks can give."""
        return sum(verdict.points for verdict in self.verdicts.values())

    @property
    def doubted(self) -> dict[str, str]:
        """Parts that a person must look at, with the error: a visible test says that a right one is wrong.

        A visible test calls the student's own earlier parts. Where one of them was wrong, and the check
        put ours in its place, the test has to stop, and that says nothing about this part.
        """
        return {
            part: self.tests[part]
            for part, verdict in self.verdicts.items()
            if verdict.right
            and not verdict.stood_in
            and self.tests.get(part, "").startswith("AssertionError")
        }

    @property
    def lacking(self) -> dict[str, tuple[str, ...]]:
        """Names that are not defined, by which several parts have lost all their points, with these parts.

        One slip has taken them all, as an import that stopped, so a person must look.
        """
        lost: dict[str, tuple[str, ...]] = {}
        for part, verdict in self.verdicts.items():
            if verdict.lacks and not verdict.earned:
                lost[verdict.lacks] = (*lost.get(verdict.lacks, ()), part)
        return {name: parts for name, parts in lost.items() if len(parts) > 1}


class OnPage(msgspec.Struct, frozen=True):
    """What the page shows of a report beside the notebook itself, see `Report`."""

    verdicts: dict[str, PartVerdict] = {}
    tests: dict[str, str] = {}
    restored: Restored = Restored()
    unanswered: tuple[str, ...] = ()
    broken: str = ""
    told: str = ""
    no_json: bool = False
    faults: tuple[Fault, ...] = ()
    appeals: tuple[Appeal, ...] = ()


def put_into(notebook: NotebookNode, report: Report) -> None:
    """Let a notebook carry what its page shows of the report."""
    on_page = OnPage(
        report.verdicts, report.tests, report.restored, report.unanswered, appeals=report.appeals
    )
    if report.broken:
        on_page = OnPage(
            broken=report.broken, told=report.told, no_json=report.no_json, faults=report.faults
        )
    notebook.metadata[KEY] = msgspec.to_builtins(on_page)


def report_in(notebook: NotebookNode) -> Report:
    """What a graded notebook carries of its report.

    A notebook that was graded before it carried one has the verdicts in its outputs.
    """
    held = notebook.metadata.get(KEY)
    if held is None:
        held = {
            "verdicts": dict(_verdicts_shown(notebook.cells)),
            "tests": errors_of_tests(notebook.cells),
            "restored": notebook.metadata.get("restored", {}),
        }
    try:
        on_page = msgspec.convert(held, OnPage)
    except msgspec.ValidationError:
        on_page = OnPage()
    return Report(**msgspec.structs.asdict(on_page))


def _verdicts_shown(cells: Iterable[NotebookNode]) -> Iterable[tuple[str, Any]]:
    for cell in cells:
        for output in cell.get("outputs", []):
            held = output.get("data", {}).get(VERDICT_MIME)
            if held is not None and grade_id_of(cell).startswith(CHECK):
                yield grade_id_of(cell).removeprefix(CHECK), held


def errors_of_tests(cells: Iterable[NotebookNode]) -> dict[str, str]:
    """By part, the error with which the visible test before its check stopped."""
    found, error = {}, ""
    for cell in cells:
        name = grade_id_of(cell)
        if name.startswith(TEST):
            error, _ = error_in(cell.get("outputs", []))
        elif name.startswith(CHECK):
            if error:
                found[name.removeprefix(CHECK)] = error
            error = ""
    return found


def grade_id_of(cell: NotebookNode) -> str:
    """The name by which nbgrader knows a cell; empty for every other."""
    marks = cell.metadata.get("nbgrader")
    name = marks.get("grade_id") if isinstance(marks, dict) else None
    return name if isinstance(name, str) else ""


def error_in(outputs: Iterable[Mapping[str, Any]]) -> tuple[str, str]:
    """The error with which a cell stopped, as a line and as a traceback; empty if it did not."""
    from nbconvert.filters import strip_ansi  # here, since it takes a while to import

    for output in outputs:
        if output.get("output_type") == "error":
            line = f"{output.get('ename', '')}: {output.get('evalue', '')}".strip(": \n")
            traceback = strip_ansi("\n".join(output.get("traceback", [])))
            return line[:LONGEST_ERROR], traceback[-LONGEST_TRACEBACK:]
    return "", ""
