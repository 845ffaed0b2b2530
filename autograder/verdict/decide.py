"""Decide a part: ask the probe, compare with the reference, name the mistake, award the steps."""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from IPython.core.inputtransformer2 import TransformerManager

from autograder.files import cut
from autograder.probe.experiments import Problem, Report, Request, describe, perform
from autograder.probe.wire import WireError, decode, encode
from autograder.verdict import forbidden
from autograder.verdict.arrived import LONGEST_PROBLEM, reports_in
from autograder.verdict.check import Assignment, Build, Case, Drawing, Part, Randn, Step
from autograder.verdict.compare import strict_differences, values_agree
from autograder.verdict.stand_in import source_of

Probe = Callable[[bytes], bytes]
Shapes = list[tuple[str, tuple[int, ...]]]


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


@dataclass(frozen=True)
class Try:
    """A case with what was asked, what is right, and what the student's code did."""

    case: Case
    request: Request
    expected: Report
    report: Report

    def tells(self) -> bool:
        """Whether it says much: many mistakes share an error, or a bare True."""
        if self.case.raises or self.report["status"] == "unfit":
            return True
        value = self.report.get("value")
        return self.report["status"] == "returned" and not isinstance(value, bool)


USED = (
    "This part uses `{used}`, which is the answer itself. Write it with the operations of the lecture "
    "instead; everything you have around it can stay."
)

# what was tried, and what was wrong with it
Evidence = list[tuple[Try, str | None]]


def seed_of(assignment: str, cells: Iterable[str], secret: str = "") -> int:
    """A seed that differs by submission, and can be computed again by who knows the secret."""
    text = "\0".join([*([secret] if secret else []), assignment, *cells])
    digest = hashlib.sha256(text.encode("utf-8", "replace"))
    return int.from_bytes(digest.digest()[:6], "big")


def decide(
    assignment: Assignment,
    part: Part,
    probe: Probe,
    cells: Iterable[str],
    failed_before: Iterable[str] = (),
    secret: str = "",
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
        secret: the course's own, for `seed_of`.
    """
    cells = list(cells)
    barred = forbidden.with_doors(assignment.barred if part.barred is None else part.barred)
    used = forbidden.find(cells, part.name, barred, assignment.allowed_modules, part.may_call)
    if used.startswith("import "):
        free = " and ".join(f"`{module}`" for module in assignment.allowed_modules)
        return nothing(
            part,
            f"This part has `{used}`. Of the course's own modules, {free} may be imported here; "
            "write this part yourself, and all you have around it can stay.",
        )
    if used:
        return nothing(part, USED.format(used=used))
    seed = seed_of(f"{assignment.name}/{part.name}", cells, secret)
    trial = Trial(part, seed, cells, barred)
    verdict, evidence = trial.run(probe, {})
    broken = tuple(name for name in part.may_call if name in set(failed_before))
    if not verdict.right and broken:
        ours = {name: source_of(assignment.part(name).reference) for name in broken}
        again, new_evidence = trial.run(probe, ours)
        if again.earned > verdict.earned:
            names = " and ".join(f"`{name}`" for name in broken)
            evidence = new_evidence
            verdict = replace(
                again,
                stood_in=broken,
                remark=f"{names} did not earn all points, so this part was decided with our "
                f"{names} in its place: an error is charged once.",
            )
    try:
        return replace(verdict, mistakes=_named(part, evidence))
    except Exception:  # noqa: BLE001 (what is too odd to compare has no name either)
        return verdict


def nothing(part: Part, remark: str) -> PartVerdict:
    """The verdict on a part that could not be decided step by step, with the reason."""
    steps = tuple(StepVerdict(step.asks, 0.0, step.points) for step in part.steps)
    return PartVerdict(part.name, part.signature, steps, remark=remark, reads=part.reads)


def _why_unanswered(name: str, cells: list[str]) -> str:
    """What to say of a part that only says that it is not answered."""
    if (
        sum(bool(re.search(rf"^\s*(def|class)\s+{name}\b", cell, re.MULTILINE)) for cell in cells)
        > 1
    ):
        return (
            f"Two cells define `{name}`, and the later one is not answered yet: it takes the other's "
            "place. Is there an answer in a cell of your own? Put it where the text says."
        )
    return "This part is not answered yet."


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
        except (ValueError, RecursionError, MemoryError) as error:
            return f"No `{name}`: Python cannot read its cell ({type(error).__name__}). Is it too long?"
        return f"No `{name}`: its cell stopped with an error before the definition was done."
    return f"No `{name}`: no cell defines it. Was the cell deleted, or the name changed?"


class Trial:
    """A part of one submission, tried with the same inputs once or twice.

    Args:
        part: the part to decide.
        seed: of the inputs.
        cells: source of the student's code cells.
        barred: names of functions that the part may not use.
    """

    def __init__(
        self, part: Part, seed: int, cells: list[str], barred: tuple[str, ...] = ()
    ) -> None:
        self.part, self.cells, self.barred = part, cells, list(barred)
        self.plan = [(step, case) for step in part.steps for case in step.cases]
        # watching slows a call, so two are watched, and nobody knows which
        self.watched = {seed % len(self.plan), seed // 7 % len(self.plan)}
        self.requests = [
            _request(part, case, seed + 7919 * number) for number, (_, case) in enumerate(self.plan)
        ]

    @cached_property
    def expected(self) -> list[Report]:
        """What the reference does in each case."""
        reports = [
            _performed(
                self.part.reference, {**request, "training": False} if case.random else request
            )
            for (_, case), request in zip(self.plan, self.requests, strict=True)
        ]
        return decode(encode(reports))

    def run(self, probe: Probe, stand_ins: dict[str, str]) -> tuple[PartVerdict, Evidence]:
        """Ask the probe, and award the steps; ``stand_ins`` maps names to source of ours."""
        part, plan = self.part, self.plan
        requests = [
            {
                **request,
                "replace": stand_ins,
                "watch": self.barred if number in self.watched else [],
            }
            for number, request in enumerate(self.requests)
        ]
        try:
            reports = reports_in(probe(encode(requests)), len(plan))
        except WireError as error:
            return nothing(part, f"The answers of this part could not be read: {error}."), []
        used = next((report["used"] for report in reports if report.get("used") in self.barred), "")
        if used:
            return nothing(part, USED.format(used=used)), []
        if all(report["status"] == "missing" for report in reports):
            return nothing(part, _why_missing(part.name, self.cells)), []
        if all(_unanswered(report) for report in reports):
            return nothing(part, _why_unanswered(part.name, self.cells)), []
        tries = [
            Try(case, request, right, report)
            for (_, case), request, right, report in zip(
                plan, self.requests, self.expected, reports, strict=True
            )
        ]
        evidence = [
            (item, _judged(step, item)) for (step, _), item in zip(plan, tries, strict=True)
        ]
        steps = []
        for step in part.steps:
            failures = [
                (case, problem)
                for (owner, case), (_, problem) in zip(plan, evidence, strict=True)
                if owner is step and problem
            ]
            if failures:
                case, problem = failures[0]
                steps.append(StepVerdict(step.asks, 0.0, step.points, case.label, problem))
            else:
                steps.append(StepVerdict(step.asks, step.points, step.points))
        return PartVerdict(part.name, part.signature, tuple(steps), reads=part.reads), evidence


def _request(part: Part, case: Case, seed: int) -> Request:
    """What the probe is asked to do in a case, with inputs and weights drawn for this seed."""
    randn = Randn(seed % 2**63, case.dtype)
    drawn = case.draw(randn)
    request: Request = {
        "subject": part.name,
        "strided": case.strided,
        "gradient": case.gradient,
        "seed": seed % 2**31,
    }
    if isinstance(drawn, Drawing):
        names = _argument_names(part.reference, len(drawn.arguments))
        return {
            **request,
            "experiment": "drawing",
            "names": names,
            "arguments": drawn.arguments,
            "keywords": drawn.keywords,
            "on_axes": drawn.on_axes,
        }
    if not isinstance(drawn, Build):
        names = _argument_names(part.reference, len(drawn))
        return {**request, "experiment": "call", "arguments": drawn, "names": names}
    dtype = drawn.dtype or case.dtype
    method = getattr(part.reference, drawn.method) if drawn.method else part.reference
    request |= {
        "experiment": "module",
        "construct": list(drawn.construct),
        "keywords": drawn.keywords,
        "arguments": drawn.arguments,
        "names": _argument_names(method, len(drawn.arguments)),
        "method": drawn.method,
        "state": {},
        "training": drawn.training,
        "dtype": str(dtype).removeprefix("torch."),
        "times": drawn.times,
    }
    if drawn.method is not None and not case.raises:
        shapes = _shapes(part.reference, repr((drawn.construct, drawn.keywords)), drawn)
        state = _drawn_weights(shapes, randn.generator) | drawn.state
        request["state"] = {name: value.to(dtype) for name, value in state.items()}
    return request


def _argument_names(function: Callable[..., Any], number: int) -> list[str]:
    """The names of the first arguments, as the text of the assignment calls them."""
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    return names[:number]


_known_shapes: dict[tuple[Any, str], Shapes] = {}


def _shapes(reference: Callable[..., Any], key: str, drawn: Build) -> Shapes:
    """Names and shapes of a module's parameters; it is built once for all submissions."""
    if (reference, key) not in _known_shapes:
        model = reference(*drawn.construct, **drawn.keywords)
        _known_shapes[reference, key] = [
            (name, tuple(parameter.shape)) for name, parameter in model.named_parameters()
        ]
    return _known_shapes[reference, key]


def _drawn_weights(shapes: Shapes, generator: torch.Generator) -> dict[str, torch.Tensor]:
    """Weights for every parameter, of a size at which no layer is silent or saturated."""
    state = {}
    for name, shape in shapes:
        values = torch.randn(shape, generator=generator)
        if len(shape) > 1:
            values *= shape[-1] ** -0.5
        elif name.endswith("weight"):
            values = 1 + 0.4 * values
        else:
            values *= 0.5
        state[name] = values
    return state


def _attempt(subject: Callable[..., Any], request: Request) -> Report:
    """What an implementation of ours does, in the form in which a student's answer comes back."""
    return decode(encode(_performed(subject, request)))


def _performed(subject: Callable[..., Any], request: Request) -> Report:
    try:
        return perform(subject, request)
    except Exception as error:  # noqa: BLE001 (a mistake's own error is what it does)
        return {"status": "raised", "error": describe(error)}


def _judged(step: Step, item: Try) -> str | None:
    """Like `_problem`, also where what came back is so odd that nobody can compare it."""
    try:
        problem = _problem(step, item)
    except Exception as error:  # noqa: BLE001 (a submission may return anything at all)
        problem = f"the result cannot be compared ({type(error).__name__})"
    return None if problem is None else cut(problem, LONGEST_PROBLEM)


def _problem(step: Step, item: Try) -> str | None:
    """None if one report is right, else what is wrong with it."""
    report, status = item.report, item.report["status"]
    if status == "timeout":
        return (
            f"no answer within {report.get('seconds', 0):g} seconds: is there a loop that never "
            "ends? It was stopped and not tried again."
        )
    if status == "unfit":
        return _unfit_in_words(report)
    if item.case.raises:
        return _wrong_error(item.case.raises, report)
    if status == "raised":
        return _error_in_words(report["error"])
    if status != "returned":
        return "no answer came back"
    expected, value = item.expected["value"], report.get("value")
    problem = step.judge(expected, value)
    if problem is None and step.strict:
        problem = strict_differences(expected, value) or _changed_inputs(
            item.request["names"], item.expected["arguments"], report.get("arguments")
        )
    if problem is None and item.case.gradient:
        problem = _wrong_gradients(item.expected["gradients"], report.get("gradients"))
    return problem


def _unanswered(report: Report) -> bool:
    return report["status"] == "raised" and report["error"]["type"] == "NotImplementedError"


def _error_in_words(error: Problem) -> str:
    if error["type"] == "NotImplementedError":
        return "not answered yet (NotImplementedError)"
    line = f", in `{error['line']}`" if error["line"] else ""
    message = f": {error['message']}" if error["message"] else ""
    return f"it stopped with {error['type']}{message}{line}"


def _wrong_error(raises: tuple[str, ...], report: Report) -> str | None:
    """None if the error came that was asked for."""
    kind, *words = raises
    if report["status"] != "raised":
        return f"expected a {kind} here, but no error came"
    error = report["error"]
    if kind not in error["types"]:
        return f"expected a {kind} here, but {_error_in_words(error)}"
    left_out = [word for word in words if word not in error["message"]]
    if left_out:
        return (
            f"the {kind} should name {' and '.join(words)}, so that its reader knows what to mend; "
            f"its message is '{error['message']}'"
        )
    return None


def _unfit_in_words(report: Report) -> str:
    if "kind" in report:
        return (
            f"the class does not make an nn.Module but a {report['kind']}: inherit from nn.Module"
        )
    if report.get("missing"):
        missing = ", ".join(f"`{name}`" for name in report["missing"])
        has = ", ".join(f"`{name}`" for name in report["has"]) or "none"
        return (
            f"weights are set by name, and these are not there: {missing}. There are: {has}. Are "
            "the layers made in `__init__`, as attributes with the names of the text?"
        )
    name, asked, found = report["shapes"][0]
    return f"`{name}` should have the shape {tuple(asked)} and has {tuple(found)}"


def _changed_inputs(names: list[str], before: list[Any], after: Any) -> str | None:
    for name, was, now in zip(names, before, after or [], strict=False):
        # compared as text, since what came back may be anything
        if isinstance(was, dict) and "training" in was and str(was) != str(now):
            return (
                f"parts of `{name}` were left in another mode than they were found in. Each part "
                "has a mode of its own: note them all before you change any, and give each back "
                "at the end"
            )
        if isinstance(was, torch.Tensor | np.ndarray) and not _identical(was, now):
            return (
                f"`{name}` was changed: compute into new tensors, without +=, names that end in _ "
                "or assignments to x[...]"
            )
    return None


def _identical(one: torch.Tensor | np.ndarray, other: Any) -> bool:
    return type(one) is type(other) and np.array_equal(np.asarray(one), np.asarray(other))


def _wrong_gradients(expected: dict[str, Any], got: Any) -> str | None:
    if not isinstance(got, dict):
        return "no gradients came back"
    for name, wanted in expected.items():
        found = got.get(name)
        if wanted is None:
            continue
        if found is None:
            return (
                f"no gradient reaches `{name}`: is there a .detach(), .data, .item(), .numpy(), "
                "no_grad or requires_grad=False, or a torch.tensor(…) made from old values?"
            )
        if isinstance(found, torch.Tensor) and not found.isfinite().all():
            return (
                f"the gradient for `{name}` holds NaN or infinity. Does a step on the way have none "
                "of its own, as a root at 0 or a division of 0 by 0 has, or was −∞ added where it "
                "could be filled in?"
            )
        problem = values_agree(wanted, found)
        if problem:
            return (
                f"the gradient for `{name}` is off: {problem}. Is there a .detach() or no_grad on "
                "one of the ways from it to the result?"
            )
    return None


def _named(part: Part, evidence: Evidence) -> tuple[tuple[str, str], ...]:
    """The named mistake that explains what came back, as ((name, sentence),), or nothing.

    Best is a mistake that does what the student's code did in every case, right or wrong. Where
    there is none, one that explains every wrong answer will do, if one of them tells enough: two
    different mistakes rarely give the same numbers. A case counts as wrong if it was judged wrong
    and its value shows it; what is right in a form of its own says nothing about a mistake.
    """
    if any(item.report["status"] in ("timeout", "missing") for item, _ in evidence):
        return ()
    judged = [
        (item, problem)
        for item, problem in evidence
        if not item.case.gradient and not item.case.random
    ]
    tries = [item for item, _ in judged]
    wrong = [
        item
        for item, problem in judged
        if problem and not _alike(item.case, item.expected, item.report)
    ]
    if not wrong:
        return ()
    for explained in (tries, wrong) if any(item.tells() for item in wrong) else (tries,):
        for mistake in part.mistakes:
            if all(_explains(mistake.answer, item) for item in explained):
                return ((mistake.name, mistake.says),)
    return ()


def _explains(answer: Callable[..., Any], item: Try) -> bool:
    """Whether a wrong implementation of ours does what the student's code did."""
    return _alike(item.case, _attempt(answer, item.request), item.report)


def _alike(case: Case, one: Report, other: Report) -> bool:
    if one["status"] != other["status"]:
        return False
    if one["status"] == "unfit":
        return one.get("missing") == other.get("missing") and one.get("shapes") == other.get(
            "shapes"
        )
    if case.raises:
        # right errors come in words of their own, and so do wrong ones of one type
        wrong = [bool(_wrong_error(case.raises, report)) for report in (one, other)]
        same_type = one["status"] != "raised" or one["error"]["type"] == other["error"]["type"]
        return wrong == [False, False] or (all(wrong) and same_type)
    if one["status"] == "raised":
        return True
    value, found = one["value"], other.get("value")
    return values_agree(value, found) is None and strict_differences(value, found) is None
