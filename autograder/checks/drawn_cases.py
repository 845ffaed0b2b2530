"""What one submission is asked about a part: the cases with its own inputs, and what is right."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import torch
from torch import nn

from autograder.checks.cases import (
    Call,
    Case,
    Chain,
    Drawing,
    Randn,
    Recipe,
    Step,
    drawn_weights,
    shapes_of,
)
from autograder.checks.check import Part
from autograder.checks.problem import Problem
from autograder.faults import GraderError
from autograder.probe.runners import Report, Request, describe, run_case
from autograder.probe.wire import LONGEST_TEXT, MOST_NUMBERS, decode, encode

# of tensors that travel as they are
PLAIN_DTYPES = frozenset({torch.float32, torch.float64, torch.int64, torch.bool})


class DrawnCases:
    """The cases of a part with inputs and weights drawn for a seed.

    Args:
        part: the part that is asked about.
        seed: of the inputs.

    Attributes:
        plan: (step, case) pairs in the order in which they are asked.
        requests: what the probe is asked to do in each.
    """

    def __init__(self, part: Part, seed: int) -> None:
        self.part = part
        self.plan: list[tuple[Step, Case]] = [
            (step, case) for step in part.steps for case in step.cases
        ]
        self.requests = [
            _request(part, step, case, seed + 7919 * number)
            for number, (step, case) in enumerate(self.plan)
        ]
        self._done: dict[tuple[Callable[..., Any], int], Report] = {}

    @cached_property
    def expected(self) -> list[Report]:
        """What the reference does in each case."""
        return [
            _as_it_arrives(
                _performed(
                    _made_once(self.part.reference, request),
                    {**request, "training": False} if case.random else request,
                )
            )
            for (_, case), request in zip(self.plan, self.requests, strict=True)
        ]

    def refuse_stopped_reference(self) -> None:
        """See to it that ours returns wherever no error is asked for.

        Raises:
            GraderError: it does not, so that nobody can tell who is wrong.
        """
        for (_, case), report in zip(self.plan, self.expected, strict=True):
            if report["status"] != "returned" and not case.raises:
                error = report.get("error", {"type": report["status"], "message": "", "line": ""})
                raise GraderError(
                    f"our own `{self.part.name}` gives no result in the case '{case.label}': "
                    f"{error['type']}: {error['message']}, in `{error['line']}`"
                )

    def done_by(self, answer: Callable[..., Any], number: int) -> Report:
        """What a wrong answer of ours does in a case, in the form in which a student's comes back.

        Args:
            answer: the function or class.
            number: of the case in `plan`.
        """
        key = (answer, number)
        if key not in self._done:
            self._done[key] = _as_it_arrives(_performed(answer, self.requests[number]))
        return self._done[key]


@dataclass(frozen=True)
class CaseRun:
    """A student's way through one case of an exam: what is right, what came back, what is wrong.

    Attributes:
        exam, number: the exam, and the number of the case in its plan.
        report: what the student's code did.
        problem: what is wrong with it; None if it is right.
    """

    drawn: DrawnCases
    number: int
    report: Report
    problem: Problem | None = None

    @property
    def part(self) -> Part:
        return self.drawn.part

    @property
    def step(self) -> Step:
        return self.drawn.plan[self.number][0]

    @property
    def case(self) -> Case:
        return self.drawn.plan[self.number][1]

    @property
    def request(self) -> Request:
        return self.drawn.requests[self.number]

    @property
    def expected(self) -> Report:
        return self.drawn.expected[self.number]


def is_a_state(item: Any) -> bool:
    """Whether an argument came back as what an experiment says of a model or of a generator."""
    return isinstance(item, dict) and ("training" in item or "drawn_from" in item)


@lru_cache(maxsize=4)
def drawn_for(part: Part, seed: int) -> DrawnCases:
    """The exam on a part for a seed; it is the same for whoever has the same seed."""
    return DrawnCases(part, seed)


def _request(part: Part, step: Step, case: Case, seed: int) -> Request:
    """What the probe is asked to do in a case, with inputs and weights drawn for this seed."""
    randn = Randn(seed % 2**63, case.dtype)
    drawn = case.draw(randn)
    request: Request = {
        "subject": part.name,
        "strided": case.strided,
        "gradient": case.gradient,
        "seed": seed % 2**31,
        "memory": case.memory > 0,
    }
    if isinstance(drawn, Chain):
        return {
            **request,
            "experiment": "chain",
            "arguments": drawn.calls,
            "names": [f"call {number}" for number in range(len(drawn.calls))],
            "argument_names": [
                _argument_names(part.reference, len(given)) for given in drawn.calls
            ],
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
    if isinstance(drawn, list):
        drawn = Call(drawn)
    if isinstance(drawn, Call):
        names = _argument_names(part.reference, len(drawn.arguments))
        return {
            **request,
            "experiment": "call",
            "arguments": drawn.arguments,
            "names": names,
            "times": drawn.times,
            "anew": drawn.anew,
            "tries": drawn.tries,
            "traces": step.strict,
        }
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
        "rested": drawn.rested,
        "before": drawn.before,
        "dtype": str(dtype).removeprefix("torch."),
        "times": drawn.times,
    }
    if drawn.method is not None and not case.raises:
        shapes = shapes_of(part.reference, drawn.construct, drawn.keywords)
        state = drawn_weights(shapes, randn.generator) | drawn.state
        request["state"] = {name: value.to(dtype) for name, value in state.items()}
    return request


def _argument_names(function: Callable[..., Any], number: int) -> list[str]:
    """The names of the first arguments, as the text of the assignment calls them."""
    return _parameters(function)[:number]


@cache
def _parameters(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


def _made_once(reference: Callable[..., Any], request: Request) -> Callable[..., Any]:
    """The reference; where all its weights are loaded, with a module that is made but once."""
    if request["experiment"] != "module" or not request["state"]:
        return reference
    recipe = Recipe.of(reference, request["construct"], request["keywords"])
    module = _made(recipe, request["dtype"])
    return lambda *_, **__: module


@lru_cache(maxsize=64)
def _made(recipe: Recipe, _dtype: str) -> nn.Module:
    """A module for each dtype, to which whoever uses it turns it."""
    return recipe.make()


def _performed(subject: Callable[..., Any], request: Request) -> Report:
    try:
        return run_case(subject, request)
    except Exception as error:  # noqa: BLE001 (a mistake's own error is what it does)
        return {"status": "raised", "error": describe(error)}


def _as_it_arrives(value: Any) -> Any:
    """A value of ours in the form in which a student's comes back, and a copy of it.

    What is plain already is copied; the wire says what becomes of all else.
    """
    kind = type(value)
    if kind is torch.Tensor and _is_plain(value):
        return value.detach().clone(memory_format=torch.contiguous_format)
    if kind in (list, tuple):
        return kind(map(_as_it_arrives, value))
    if kind is dict and all(type(key) is str for key in value):
        return {key: _as_it_arrives(item) for key, item in value.items()}
    if value is None or kind in (bool, float) or (kind is int and value.bit_length() < 64):
        return value
    if kind is str and len(value) <= LONGEST_TEXT and value.isascii():
        return value
    return decode(encode(value))


def _is_plain(tensor: torch.Tensor) -> bool:
    return (
        tensor.dtype in PLAIN_DTYPES
        and tensor.layout is torch.strided
        and tensor.numel() <= MOST_NUMBERS
    )
