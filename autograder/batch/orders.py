"""What a worker is told, and what it answers."""

from __future__ import annotations

from msgspec import Struct


class GradeOrder(Struct, frozen=True, tag_field="do", tag="grade"):
    """Run the job beside it; a `Report` is beside the outcome."""


class FeedbackOrder(Struct, frozen=True, tag_field="do", tag="feedback"):
    """Let nbgrader write a student's feedback page, in a course folder."""

    course: str
    assignment: str
    student: str


class Outcome(Struct, frozen=True):
    """How an order was carried out: why there is nothing to show for it, if there is nothing."""

    failed: str = ""
