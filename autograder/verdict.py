"""Decide a part: ask the probe, compare with the reference, name the mistake, award the steps."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from IPython.core.inputtransformer2 import TransformerManager

from autograder import barred
from autograder.check import Assignment, Case, Part, Step
from autograder.compare import strict_differences, values_agree
from autograder.functions import FUNCTIONS
from autograder.probe import gradients
from autograder.wire import Function, WireError, decode, encode

Probe = Callable[[bytes], bytes]


@dataclass(frozen=True)
class StepVerdict:
    """One step: what it asked, what it earned, and the case on which it failed."""

    asks: str
    earned: float
    points: float
    case: str = ""
    problem: str = ""


@dataclass(frozen=True)
class PartVerdict:
    """One part: its steps, and what the student should know.

    ``mistakes`` holds (name, sentence) pairs; ``remark`` says what concerns the whole part.
    """

    part: str
    signature: str
    steps: tuple[StepVerdict, ...]
    mistakes: tuple[tuple[str, str], ...] = ()
    remark: str = ""
    reads: tuple[str, str] = ("", "")
    stood_in: tuple[str, ...] = field(default=())

    @property
    def points(self) -> float:
        return sum(step.points for step in self.steps)

    @property
    def earned(self) -> float:
        return min(max(sum(step.earned for step in self.steps), 0.0), self.points)

    @property
    def right(self) -> bool:
        return self.earned == self.points

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "earned": self.earned, "points": self.points}


def seed_of(assignment: str, cells: Iterable[str]) -> int:
    """A seed that differs by submission and can be computed again from it."""
    digest = hashlib.sha256("\0".join([assignment, *cells]).encode("utf-8", "replace"))
    return int.from_bytes(digest.digest()[:6], "big")


def decide(
    assignment: Assignment,
    part: Part,
    probe: Probe,
    cells: Iterable[str],
    failed_before: Iterable[str] = (),
) -> PartVerdict:
    """Decide one part of a submission.

    Args:
        assignment: the checks it belongs to.
        part: the part to decide.
        probe: takes an encoded list of requests and returns the encoded reports.
        cells: source of the student's code cells, read for what is barred and for the seed.
        failed_before: earlier parts that did not earn all their points. Where this part may build
            on one of them and fails, it is decided again with the reference in their place, so
            that one error is not charged twice.
    """
    cells = list(cells)
    used = barred.find(cells, part.name, assignment.barred, assignment.allowed_modules)
    if used:
        return _nothing(
            part,
            f"This part uses `{used}`, which is the answer itself. Write it with the operations of "
            "the lecture instead; everything you have around it can stay.",
        )
    seed = seed_of(f"{assignment.name}/{part.name}", cells)
    verdict = _decide_once(part, probe, seed, {}, cells)
    broken = tuple(name for name in part.may_call if name in set(failed_before))
    if verdict.right or not broken:
        return verdict
    again = _decide_once(part, probe, seed, {name: part.stand_ins for name in broken}, cells)
    if again.earned <= verdict.earned:
        return verdict
    names = " and ".join(f"`{name}`" for name in broken)
    return PartVerdict(
        **{
            **vars(again),
            "stood_in": broken,
            "remark": f"{names} did not earn all points, so this part was decided with our {names} "
            "in its place: an error is charged once.",
        }
    )


def _nothing(part: Part, remark: str) -> PartVerdict:
    steps = tuple(StepVerdict(step.asks, 0.0, step.points) for step in part.steps)
    return PartVerdict(part.name, part.signature, steps, remark=remark, reads=part.reads)


def _why_missing(name: str, cells: list[str]) -> str:
    """Why a name is not there after the notebook ran, as far as its source tells."""
    for cell in cells:
        if not re.search(rf"\b(def|class)\s+{name}\b", cell):
            continue
        try:
            ast.parse(TransformerManager().transform_cell(cell))
        except SyntaxError as error:
            line = (error.text or "").strip()
            return (
                f"No `{name}`: its cell has a typing error, so none of it ran. Line {error.lineno}, "
                f"`{line}`: {error.msg}."
            )
        return f"No `{name}`: its cell stopped with an error before the definition was done."
    return f"No `{name}`: no cell defines it. Was the cell deleted, or the name changed?"


def _decide_once(
    part: Part, probe: Probe, seed: int, replace: dict[str, str], cells: list[str]
) -> PartVerdict:
    plan = [(step, case) for step in part.steps for case in step.cases]
    drawn = [_draw(case, seed, number) for number, (_, case) in enumerate(plan)]
    requests = [
        {
            "call": part.name,
            "arguments": arguments,
            "strided": case.strided,
            "gradient": case.gradient,
            "replace": replace,
        }
        for (_, case), arguments in zip(plan, drawn, strict=True)
    ]
    try:
        reports = decode(probe(encode(requests)))
    except WireError as error:
        return _nothing(part, f"The answers of this part could not be read: {error}.")
    if not isinstance(reports, list) or len(reports) != len(plan):
        return _nothing(part, "The answers of this part are not those that were asked for.")
    if all(report.get("status") == "missing" for report in reports):
        return _nothing(part, _why_missing(part.name, cells))
    problems = [
        _problem(part, step, case, arguments, report)
        for (step, case), arguments, report in zip(plan, drawn, reports, strict=True)
    ]
    steps = []
    for step in part.steps:
        failures = [
            (case, problem)
            for (owner, case), problem in zip(plan, problems, strict=True)
            if owner is step and problem
        ]
        if failures:
            case, problem = failures[0]
            steps.append(StepVerdict(step.asks, 0.0, step.points, case.label, problem))
        else:
            steps.append(StepVerdict(step.asks, step.points, step.points))
    mistakes = () if not any(problems) else _named(part, [case for _, case in plan], drawn, reports)
    return PartVerdict(part.name, part.signature, tuple(steps), mistakes, reads=part.reads)


def _draw(case: Case, seed: int, number: int) -> list[Any]:
    generator = torch.Generator().manual_seed((seed + 7919 * number) % 2**63)
    return case.draw(generator)


def _call(function: Callable[..., Any], arguments: list[Any]) -> Any:
    """Run an implementation of ours on inputs of its own."""
    return function(
        *(
            FUNCTIONS[item.name]
            if isinstance(item, Function)
            else item.clone()
            if isinstance(item, torch.Tensor)
            else item
            for item in arguments
        )
    )


def _reference_gradients(part: Part, arguments: list[Any]) -> list[torch.Tensor | None]:
    leaves = [
        item.clone().requires_grad_(True)
        if isinstance(item, torch.Tensor) and item.is_floating_point()
        else item
        for item in arguments
    ]
    return gradients(part.reference(*leaves), leaves)


def _problem(part: Part, step: Step, case: Case, arguments: list[Any], report: dict) -> str | None:
    """None if one report is right, else what is wrong with it."""
    status = report.get("status")
    if status == "raised":
        return _error_in_words(report["error"])
    if status == "timeout":
        return (
            f"no answer within {report['seconds']:g} seconds: is there a loop that never ends? "
            "It was stopped and not tried again."
        )
    if status != "returned":
        return "no answer came back"
    expected, got = _call(part.reference, arguments), report["value"]
    problem = step.judge(expected, got)
    if problem is None and step.strict:
        problem = strict_differences(expected, got)
        problem = problem or _changed_inputs(arguments, report.get("arguments"))
    if problem is None and case.gradient:
        problem = _wrong_gradients(part, arguments, report.get("gradients"))
    return problem


def _error_in_words(error: dict) -> str:
    if error["type"] == "NotImplementedError":
        return "not answered yet (NotImplementedError)"
    line = f", in `{error['line']}`" if error["line"] else ""
    message = f": {error['message']}" if error["message"] else ""
    return f"it stopped with {error['type']}{message}{line}"


def _changed_inputs(before: list[Any], after: Any) -> str | None:
    for number, (was, now) in enumerate(zip(before, after or [], strict=False)):
        if isinstance(was, torch.Tensor) and (
            not isinstance(now, torch.Tensor) or not torch.equal(was, now)
        ):
            return (
                f"argument {number} (counting from 0) was changed: compute into new tensors, "
                "without +=, names that end in _ or assignments to x[...]"
            )
    return None


def _wrong_gradients(part: Part, arguments: list[Any], got: Any) -> str | None:
    expected = _reference_gradients(part, arguments)
    if not isinstance(got, list) or len(got) != len(expected):
        return "no gradients came back"
    for number, (wanted, found) in enumerate(zip(expected, got, strict=True)):
        if wanted is None:
            continue
        if found is None:
            return (
                f"no gradient reaches argument {number} (counting from 0): is there a .detach(), "
                ".data, .item(), .numpy() or no_grad, or a torch.tensor(…) made from old values?"
            )
        problem = values_agree(wanted, found)
        if problem:
            return (
                f"the gradient for argument {number} (counting from 0) is off: {problem}. Is there a "
                ".detach() or no_grad on one of the ways from it to the result?"
            )
    return None


def _named(
    part: Part, cases: list[Case], drawn: list[list[Any]], reports: list[dict]
) -> tuple[tuple[str, str], ...]:
    """The named mistake that explains what came back, as ((name, sentence),), or nothing.

    Best is a mistake that gives what the student's code gave on every call, right or wrong. Where
    there is none, one that explains every wrong answer will do, if a tensor is among them: two
    different mistakes rarely give the same numbers.
    """
    calls, wrong = [], []
    for case, arguments, report in zip(cases, drawn, reports, strict=True):
        if case.gradient:
            continue
        if report.get("status") not in ("returned", "raised"):
            return ()
        calls.append((arguments, report))
        expected = _call(part.reference, arguments)
        if report["status"] == "raised" or not _same(expected, report["value"]):
            wrong.append((arguments, report))
    if not wrong:
        return ()
    # errors and bools are too little to tell by: many mistakes share them
    telling = [
        (arguments, report)
        for arguments, report in wrong
        if report["status"] == "returned" and not isinstance(report["value"], bool)
    ]
    for evidence in (calls, wrong) if telling else (calls,):
        for mistake in part.mistakes:
            if all(_explains(mistake.answer, *call) for call in evidence):
                return ((mistake.name, mistake.says),)
    return ()


def _same(expected: Any, got: Any) -> bool:
    return values_agree(expected, got) is None and strict_differences(expected, got) is None


def _explains(answer: Callable[..., Any], arguments: list[Any], report: dict) -> bool:
    """Whether a wrong implementation of ours fails in the same way as the student's."""
    try:
        value = _call(answer, arguments)
    except (RuntimeError, ValueError, IndexError, TypeError):
        return report["status"] == "raised"
    if report["status"] == "raised":
        return False
    return _same(value, report["value"])
