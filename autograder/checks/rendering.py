"""A verdict as a student reads it: plain text for terminals, HTML for notebooks and feedback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from autograder.checks.verdicts import PartVerdict, StepVerdict
from autograder.files import printable
from autograder.pages import render, sentence_case


def as_bundle(verdict: PartVerdict) -> dict[str, Any]:
    """The verdict in every form in which an output cell holds it, by MIME type."""
    return {
        "text/plain": as_text(verdict),
        "text/html": as_html(verdict),
    }


def in_one_line(verdict: PartVerdict, where: str = "") -> dict[str, Any]:
    """A verdict of which there is not more to say than one line: it is right, or not answered yet.

    Args:
        where: in which cell that is so, to stand before the full stop.
    """
    verdict = (
        structs.replace(verdict, remark=f"{verdict.remark.removesuffix('.')}{where}.")
        if where
        else verdict
    )
    text = f"{verdict.part}: {verdict.remark}"
    if verdict.right:
        text = (
            f"✓ {verdict.part}: {verdict.earned:g} of {verdict.points:g} points. {verdict.remark}"
        )
    return {
        "text/plain": printable(text.strip()),
        "text/html": render("line.html", verdict=verdict),
    }


def summed_up(verdicts: Sequence[PartVerdict], by_a_person: float = 0.0) -> dict[str, Any]:
    """All parts of an assignment, a line each, and their sum.

    Args:
        by_a_person: points for answers in words, which no check reads.
    """
    earned, of = (sum(getattr(one, name) for one in verdicts) for name in ("earned", "points"))
    width = max(len(one.part) for one in verdicts)
    lines = [
        f"{'✓' if one.right else '✗'} {one.part:{width}}  {one.earned:g} of {one.points:g}  {one.in_short}".rstrip()
        for one in verdicts
    ]
    more = f", and {by_a_person:g} more by a person" if by_a_person else ""
    lines.append(f"together {earned:g} of {of:g} points{more}")
    page = render("sum.html", verdicts=verdicts, earned=earned, of=of, by_a_person=by_a_person)
    return {"text/plain": "\n".join(map(printable, lines)), "text/html": page}


def as_text(verdict: PartVerdict) -> str:
    """The verdict on one part as a few lines of text."""
    lines = [f"{verdict.part}: {verdict.earned:g} of {verdict.points:g} points"]
    shown = pictured_step(verdict)
    for step in verdict.steps:
        lines.append(f"{step.sign:>3} {step.earned:g} of {step.points:g}  {step.asks}")
        if step.waived:
            lines.append(f"        {step.waived.words}")
        elif step.problem:
            lines.append(f"        on {step.case}: {step.problem}")
        if step is shown and step.maps:
            lines.extend(f"          {line}" for line in step.maps.as_lines())
    if verdict.remark:
        lines.append(f"  {verdict.remark}")
    lines.extend(f"  {sentence_case(name)}. {message}" for name, message in verdict.mistakes)
    lines.extend(f"  {sentence_case(message)}" for _, message in verdict.relations)
    if verdict.reads[0] and not verdict.right:
        lines.append(f"  Read again: {verdict.reads[0]}.")
    # a student's own error stands in them, which could look like lines of ours, or act in a terminal
    return "\n".join(printable(" ".join(line.splitlines())) for line in lines)


def as_html(verdict: PartVerdict) -> str:
    """The verdict on one part as an HTML fragment; everything from the student is escaped."""
    return render("verdict.html", verdict=verdict, pictured=pictured_step(verdict))


def pictured_step(verdict: PartVerdict) -> StepVerdict | None:
    """The first step of which there is something to see; one picture a part is enough.

    What is charged comes before what is only wrong as well.
    """
    shown = [step for step in verdict.steps if step.maps or step.shapes]
    return min(shown, key=lambda step: step.state == "also", default=None)
