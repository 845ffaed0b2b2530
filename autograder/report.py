"""A verdict as a student reads it: plain text for terminals, HTML for notebooks and feedback."""

from __future__ import annotations

from html import escape
from typing import Any

from autograder.verdict import PartVerdict

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
    colour = "#1b7f4d" if verdict.right else "#a33b20"
    rows = []
    for step in verdict.steps:
        right = step.earned == step.points
        detail = (
            f"<br><span style='color:#555'>on {_code(step.case)}: {_code(step.problem)}</span>"
            if step.problem
            else ""
        )
        rows.append(
            f"<tr><td style='padding:2px 8px;color:{'#1b7f4d' if right else '#a33b20'}'>"
            f"{'✓' if right else '✗'}</td>"
            f"<td style='padding:2px 8px;white-space:nowrap'>{step.earned:g} of {step.points:g}</td>"
            f"<td style='padding:2px 8px;text-align:left'>{_code(step.asks)}{detail}</td></tr>"
        )
    notes = [f"<p>{_code(verdict.remark)}</p>"] if verdict.remark else []
    for name, says in verdict.mistakes:
        title = _code(name[0].upper() + name[1:])
        notes.append(f"<p><b>{title}.</b> {_code(says)}</p>")
    if not verdict.right:
        text, link = verdict.reads
        notes.append(f"<p>Read again: <a href='{escape(link)}'>{escape(text)}</a>.</p>")
    return (
        f"<div style='border-left:4px solid {colour};padding:2px 12px;margin:4px 0'>"
        f"<p><b><code>{escape(verdict.part)}</code>: {verdict.earned:g} of {verdict.points:g} "
        f"points</b></p><table style='border:none'>{''.join(rows)}</table>{''.join(notes)}</div>"
    )


def _code(text: str) -> str:
    """Escape a sentence and set what stands between backticks as code."""
    pieces = escape(text).split("`")
    if len(pieces) % 2 == 0:
        return escape(text)
    return "".join(
        f"<code>{piece}</code>" if number % 2 else piece for number, piece in enumerate(pieces)
    )
