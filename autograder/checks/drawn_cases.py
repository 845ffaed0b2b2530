"""What is asked about a part: the cases with inputs drawn for a seed, and what is right."""

from __future__ import annotations

import inspect
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

from msgspec import structs

from autograder.arrays import dtype_name, is_tensor
from autograder.checks.cases import (
    Build,
    Call,
    Case,
    Chain,
    Drawing,
    Recipe,
    Step,
    drawn_weights,
    shapes_of,
)
from autograder.checks.check import Part
from autograder.checks.problem import Problem
from autograder.faults import GraderError
from autograder.probe.messages import (
    AnyRequest,
    CallRequest,
    ChainRequest,
    DrawingRequest,
    ModuleRequest,
    Observation,
    RepeatedRequest,
)
from autograder.probe.runners import run_case
from autograder.probe.subject import SubjectError
from autograder.probe.wire import LONGEST_TEXT, MOST_NUMBERS, decode, encode

# of tensors that travel as they are
PLAIN_DTYPES = frozenset({"float32", "float64", "int64", "bool"})


class DrawnCases:
    """The cases of a part with inputs and weights drawn for a seed.

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
            request_of(part, case, seed + 7919 * number, traces=step.strict)
            for number, (step, case) in enumerate(self.plan)
        ]
        self.seconds: list[float] = []  # that the reference takes in each, of processor time
        self._done: dict[tuple[Callable[..., Any], int], Observation] = {}

    @cached_property
    def expected(self) -> list[Observation]:
        """What the reference does in each case."""
        found = []
        for (_, case), request in zip(self.plan, self.requests, strict=True):
            began = time.process_time()
            reference = _made_once(self.part.reference, request)
            found.append(_as_it_arrives(_observed(reference, _without_chance(case, request))))
            self.seconds.append(time.process_time() - began)
        return found

    @property
    def steps(self) -> list[int]:
        """Of each request, the number of its step."""
        return [self.part.steps.index(step) for step, _ in self.plan]

    def refuse_stopped_reference(self) -> None:
        """Raise a `GraderError` where ours gives no result and no error is asked for: nobody can tell who is wrong."""
        for (_, case), seen in zip(self.plan, self.expected, strict=True):
            if seen.status != "returned" and not case.raises:
                error = seen.error
                why = f"{error.type}: {error.message}, in `{error.line}`" if error else seen.status
                raise GraderError(
                    f"our own `{self.part.name}` gives no result in the case '{case.label}': {why}"
                )

    def done_by(self, answer: Callable[..., Any], number: int) -> Observation:
        """What a wrong answer of ours does in a case of the plan, in the form in which a student's comes back."""
        key = (answer, number)
        if key not in self._done:
            self._done[key] = _as_it_arrives(_observed(answer, self.requests[number]))
        return self._done[key]


@dataclass(frozen=True)
class CaseRun:
    """A student's way through one drawn case: what is right, what came back, what is wrong.

    Attributes:
        drawn, number: the cases, and the number of this one in their plan.
        actual: what the student's code did.
        problem: what is wrong with it; None if it is right.
    """

    drawn: DrawnCases
    number: int
    actual: Observation
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
    def request(self) -> AnyRequest:
        return self.drawn.requests[self.number]

    @property
    def expected(self) -> Observation:
        return self.drawn.expected[self.number]

    @property
    def seconds(self) -> float:
        """Of processor time that the reference takes."""
        return self.drawn.seconds[self.number]


def is_a_state(item: Any) -> bool:
    """Whether an argument came back as what is said of a model or of a generator."""
    return isinstance(item, dict) and ("training" in item or "drawn_from" in item)


def state_of(request: AnyRequest) -> dict[str, Any]:
    """The weights that are loaded; none where no module is built."""
    return request.state if isinstance(request, ModuleRequest) else {}


def size_of(item: CaseRun) -> int:
    """How many numbers go into a case, which is roughly what it costs."""
    values = [*item.request.arguments, *state_of(item.request).values()]
    return sum(math.prod(value.shape) for value in values if hasattr(value, "shape"))


def arguments_of(request: AnyRequest) -> dict[str, Any]:
    """The arguments by their names; of several calls, those of the first."""
    if isinstance(request, ChainRequest):
        return dict(zip(request.argument_names[0], request.arguments[0], strict=False))
    return dict(zip(request.names, request.arguments, strict=False))


def method_of(request: AnyRequest) -> str | None:
    """The method that is called; None where it is no module's."""
    return request.method if isinstance(request, ModuleRequest) else None


def times_of(request: AnyRequest) -> int:
    """How often the subject is called in one go."""
    return request.times if isinstance(request, RepeatedRequest) else 1


def is_in_train_mode(request: AnyRequest) -> bool:
    """Whether a module is built that is asked in train mode."""
    return isinstance(request, ModuleRequest) and request.training


def is_left_to_chance(item: CaseRun) -> bool:
    """Whether two right answers may give different numbers in a case."""
    by_chance = item.case.chance or is_in_train_mode(item.request) or times_of(item.request) > 1
    return item.case.random and bool(by_chance)


@lru_cache(maxsize=16)  # those of an assignment, also with ours in the place of earlier parts
def drawn_for(part: Part, seed: int) -> DrawnCases:
    """The cases of a part, drawn for a seed; they are the same for whoever has the same seed."""
    return DrawnCases(part, seed)


def request_of(part: Part, case: Case, seed: int, traces: bool = False) -> AnyRequest:
    """What the probe is asked to do in a case, with inputs and weights drawn for this seed."""
    source = case.source(seed % 2**63)
    drawn = case.draw(source)
    common: dict[str, Any] = {
        "subject": part.name,
        "strided": case.strided,
        "gradient": case.gradient,
        "seed": seed % 2**31,
    }
    memory = case.memory > 0
    if isinstance(drawn, Chain):
        return ChainRequest(
            **common,
            arguments=drawn.calls,
            names=[f"call {number}" for number in range(len(drawn.calls))],
            argument_names=[_argument_names(part.reference, len(given)) for given in drawn.calls],
        )
    if isinstance(drawn, list):
        drawn = Call(drawn)
    common |= vars(drawn)  # a request has the fields of what is drawn
    method = getattr(drawn, "method", None)
    called = getattr(part.reference, method) if method else part.reference
    common["names"] = _argument_names(called, len(drawn.arguments))
    if isinstance(drawn, Drawing):
        return DrawingRequest(**common)
    if isinstance(drawn, Call):
        return CallRequest(**common, memory=memory, traces=traces)
    return _module_request(part, case, drawn, source, common | {"memory": memory})


def _module_request(
    part: Part, case: Case, drawn: Build, source: Any, common: dict[str, Any]
) -> ModuleRequest:
    import torch  # here, since only modules need it

    dtype = str(drawn.dtype or case.dtype).removeprefix("torch.")
    state: dict[str, Any] = {}
    if drawn.method is not None and not case.raises:
        shapes = shapes_of(part.reference, drawn.construct, drawn.keywords)
        state = drawn_weights(shapes, source.generator) | drawn.state
    common |= {
        "construct": list(drawn.construct),
        "dtype": dtype,
        "state": {name: value.to(getattr(torch, dtype)) for name, value in state.items()},
    }
    return ModuleRequest(**common)


def _argument_names(function: Callable[..., Any], number: int) -> list[str]:
    """The names of the first arguments, as the text of the assignment calls them."""
    return parameters_of(function)[:number]


@cache
def parameters_of(function: Callable[..., Any]) -> list[str]:
    """The names of a function's parameters, or of a class's constructor."""
    return [name for name in inspect.signature(function).parameters if name != "self"]


def defaults_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The parameters that may be left out, with their defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.default is not each.empty}


def _made_once(reference: Callable[..., Any], request: AnyRequest) -> Callable[..., Any]:
    """The reference; where all its weights are loaded, with a module that is made but once."""
    if not isinstance(request, ModuleRequest) or not request.state:
        return reference
    recipe = Recipe.of(reference, request.construct, request.keywords)
    module = _made(recipe, request.dtype)
    return lambda *_, **__: module


@lru_cache(maxsize=64)
def _made(recipe: Recipe, _dtype: str) -> Any:
    """A module for each dtype, to which whoever uses it turns it."""
    return recipe.make()


def _without_chance(case: Case, request: AnyRequest) -> AnyRequest:
    """The request as the reference gets it: where results are left to chance, in eval mode."""
    if case.random and isinstance(request, ModuleRequest):
        return structs.replace(request, training=False)
    return request


def _observed(subject: Callable[..., Any], request: AnyRequest) -> Observation:
    """What code of ours does; a wrong answer may well warn, which is none of the student's business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run_case(subject, request)
        except SubjectError as raised:
            return Observation(status="raised", error=raised.seen)


def _as_it_arrives(value: Any) -> Any:
    """A value of ours in the form in which a student's comes back, and a copy of it.

    What is plain already is copied; the wire says what becomes of all else.
    """
    kind = type(value)
    if kind is Observation:
        return structs.replace(
            value,
            value=_as_it_arrives(value.value),
            arguments=_as_it_arrives(value.arguments),
            gradients=_as_it_arrives(value.gradients),
        )
    if is_tensor(value) and kind.__name__ == "Tensor" and _is_plain(value):
        return value.detach().clone().contiguous()
    if kind in (list, tuple):
        return kind(map(_as_it_arrives, value))
    if kind is dict and all(type(key) is str for key in value):
        return {key: _as_it_arrives(item) for key, item in value.items()}
    if value is None or kind in (bool, float) or (kind is int and value.bit_length() < 64):
        return value
    if kind is str and len(value) <= LONGEST_TEXT and value.isascii():
        return value
    return decode(encode(value))


def _is_plain(tensor: Any) -> bool:
    return (
        dtype_name(tensor) in PLAIN_DTYPES
        and str(tensor.layout) == "torch.strided"
        and tensor.numel() <= MOST_NUMBERS
    )
