"""The unit of work: what goes to whoever grades a submission, and what comes back.

Both are JSON and nothing else, so that they can travel to another process or machine; both are
checked where they arrive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from autograder.checks.course import USUAL
from autograder.grade.report import Report
from autograder.sandbox.limits import Limits


@dataclass(frozen=True)
class ReleasedCell:
    """One of nbgrader's cells as it was released.

    Attributes:
        name: its grade_id.
        cell_type, source, checksum: as nbgrader keeps them.
        locked: students cannot change it.
        written: students write in it.
        points: None where none can be earned.
    """

    name: str
    cell_type: str
    source: str
    checksum: str
    locked: bool
    written: bool
    points: float | None


@dataclass(frozen=True)
class Job:
    """Everything that grading one submission needs.

    Attributes:
        assignment: its id.
        notebook: what was handed in, the file's text.
        digest: of what was handed in, taken when it was read; it says which submission this is.
        came_in: when, as nbgrader wrote it beside the submission; empty if it did not.
        files: what lies beside the notebook, by relative name.
        released: nbgrader's cells of the assignment, in order.
        isolation: `bubblewrap.FULL` or `bubblewrap.NONE`.
        limits: what the notebook may use.
        modules: of the course, those that it may import.
        secret: the course's own, which the inputs of checks depend on.
        sheet: of inputs, see `batch.sheets`; without one, they depend on the submission.
        own_text: digests of the assignment's Markdown, see `files.digest_of`.
        remark: what is to be said of the submission in any case.
        course: the package that holds the assignment.
    """

    assignment: str
    notebook: str
    released: tuple[ReleasedCell, ...]
    isolation: str
    digest: str = ""
    came_in: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    modules: tuple[str, ...] = ()
    secret: str = ""
    sheet: str = ""
    own_text: tuple[str, ...] = ()
    remark: str = ""
    course: str = USUAL


Kind = TypeVar("Kind", Job, Report)


def to_json(item: Job | Report) -> bytes:
    """The item as JSON."""
    return msgspec.json.encode(item)


def from_json(data: bytes, kind: type[Kind]) -> Kind:
    """The item that `to_json` made JSON of.

    Raises:
        msgspec.ValidationError: a field is missing or of another type; the message says which.
        msgspec.DecodeError: it is no JSON.
    """
    return msgspec.json.decode(data, type=kind)
