"""A verdict as a student reads it: plain text for terminals, HTML for notebooks and feedback."""

from __future__ import annotations

from typing import Any

from autograder.pages import render
from autograder.verdict.decide import PartVerdict

VERDICT_MIME = "application/vnd.attention-course.verdict+json"


def as_bundle(verdict: PartVerdict) -> dict[str, Any]:
    """The verdict in every form in which an output cell holds it, by MIME type."""
    return {
        "text/plain": as_text(verdict),
        "text/html": as_html(verdict),
        VERDICT_MIME: verdict.as_dict(),
    }


def as_text(verdict: PartVerdict) -> str:
    """The verdict on one part as a few lines of text."""
    lines = [f"{verdict.part}: {verdict.earned:g} of {verdict.points:g} points"]
    for step in verdict.steps:
        mark = "✓" if step.earned == step.points else "✗"
        lines.append(f"  {mark} {step.earned:g} of {step.points:g}  {step.asks}")
        if step.problem:
            lines.append(f"        on {step.case}: {step.problem}")
    if verdict.remark:
        lines.append(f"  {verdict.remark}")
    lines.extend(f"  {name[0].upper() + name[1:]}. {says}" for name, says in verdict.mistakes)
    if not verdict.right:
        lines.append(f"  Read again: {verdict.reads[0]}.")
    return "\n".join(lines)


def as_html(verdict: PartVerdict) -> str:
    """The verdict on one part as an HTML fragment; everything from the student is escaped."""
    return render("verdict.html", verdict=verdict)
