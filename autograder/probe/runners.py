"""Use a function or a class as a request says, and report as plain data what could be observed.

The same code runs on the student's answer (by the probe), and on the reference and the named
mistakes (by the verdict), so that like is compared with like. It knows no right answer.
"""

from __future__ import annotations

import contextlib
import linecache
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import torch
from torch import nn

from autograder.probe.disallowed import Disallowed
from autograder.probe.functions import disguised
from autograder.probe.memory import GradingService, tensors_in
from autograder.probe.scripted import MAKERS
from autograder.probe.side_effects import SideEffects
from autograder.probe.wire import GIVEN, RETURNED, Function, Instance

LONGEST_MESSAGE = 400


class Request(TypedDict, total=False):
    """What the probe is asked to do once, see `perform` and the experiments."""

    subject: str
    experiment: str
    arguments: list[Any]
    names: list[str]
    strided: bool
    gradient: bool
    seed: int
    replace: dict[str, str]
    disallowed: Disallowed
    construct: list[Any]
    keywords: dict[str, Any]
    method: str | None
    state: dict[str, torch.Tensor]
    training: bool
    rested: bool
    before: list[Any]
    dtype: str
    times: int
    anew: bool
    tries: list[Any]
    traces: bool
    memory: bool
    argument_names: list[list[str]]
    on_axes: bool


class ErrorReport(TypedDict):
    """An error of the subject's, see `describe`."""

    type: str
    types: list[str]
    message: str
    line: str


class Report(TypedDict, total=False):
    """What was seen when a request was carried out; ``status`` is always there."""

    status: str
    value: Any
    arguments: list[Any]
    gradients: dict[str, Any]
    error: ErrorReport
    seconds: float
    largest: int
    kind: str
    missing: list[str]
    has: list[str]
    shapes: list[tuple[str, list[int], list[int]]]
    used: str


def run_case(subject: Callable[..., Any], request: Request) -> Report:
    """Carry out one request; errors of the subject pass through.

    Args:
        subject: the function or class under test.
        request: ``experiment`` names one of `RUNNERS`; the rest is described there. Common to
            all: ``arguments`` and their ``names``, ``strided`` (hand tensors over with gaps in
            memory), ``gradient`` (also differentiate the result), ``seed`` (of torch's own
            randomness).

    Returns:
        a report: ``status`` "returned" with ``value``, ``arguments`` as they are afterwards (of a
        module, what was left in it, see `side_effects.LeftBehind`; of a generator, whether its numbers
        were drawn, and whether torch's own were left alone), and ``gradients`` by name if asked for; or another status
        that the experiment describes. Where a module is among the arguments, an error is reported
        with what was left, too: status "raised" with ``error`` and ``arguments``. Without ``traces``
        nobody looks at what is left in modules.
    """
    # torch.manual_seed would also write down where it was called, for devices that wake up later
    torch.default_generator.manual_seed(request["seed"])
    return RUNNERS[request["experiment"]](subject, request)


def call(subject: Callable[..., Any], request: Request) -> Report:
    """Call a function with ``arguments``, so many ``times``; ``anew`` is with new ones each time.

    Above one, the value is the list of all results. Modules among the arguments are themselves called
    with ``tries``, before and after, to see whether they still give the same.
    """
    times = request.get("times", 1)
    made = [_arguments(request) for _ in range(times if request.get("anew") else 1)]
    return _observe(subject, made if request.get("anew") else made * times, request, {})


def chain(subject: Callable[..., Any], request: Request) -> Report:
    """Call a function with each of ``arguments``, which are lists; the value is the tuple of results.

    An argument may be an instance named `RETURNED`, which stands for the entry ``place`` of what the
    call of this number has returned, or `GIVEN`, for the argument that it was given at this place.
    """
    results: list[Any] = []
    calls: list[list[Any]] = []
    leaves: dict[str, torch.Tensor] = {}
    for number, names in enumerate(request["argument_names"]):
        given = []
        for name, value in zip(names, request["arguments"][number], strict=True):
            if isinstance(value, Instance) and value.name == RETURNED:
                given.append(results[value.arguments["call"]][value.arguments["place"]])
            elif isinstance(value, Instance) and value.name == GIVEN:
                given.append(calls[value.arguments["call"]][value.arguments["place"]])
            else:
                given.append(_materialise(value, request))
                leaves |= _leaves(f"{name} of call {number + 1}", given[-1])
        calls.append(given)
        results.append(subject(*given))
    report: Report = {"status": "returned", "value": tuple(results), "arguments": []}
    if request["gradient"]:
        report["gradients"] = _gradients(report["value"], leaves)
    return report


def module(subject: Callable[..., Any], request: Request) -> Report:
    """Build a module, give it weights, and use it.

    The request says how to build it (``construct``, ``keywords``, ``dtype``), which weights to
    load by name (``state``), whether it is ``training``, which ``method`` to call with
    ``arguments``, whether it has ``rested``, that is, was called so in eval mode before, the arguments
    of another call made ``before``, and how often to call it (``times``; above one, the value is the
    list of all results).
    Without a method the value is what the module holds: its parameters, how many of them are
    distinct (a tensor may have two names), the names of its buffers and those of its submodules.
    Status "unfit" means that it is no module, or that weights of ``state`` found no place:
    ``missing`` names them, ``shapes`` holds (name, asked, found).
    """
    made = subject(*request["construct"], **request["keywords"])
    if not isinstance(made, nn.Module):
        return {"status": "unfit", "kind": type(made).__name__}
    if request["dtype"] != "float32":  # a module is made so, and what it holds otherwise shows
        made.to(getattr(torch, request["dtype"]))
    own = made.state_dict()
    # a bias that is not there is as good as one of zeros
    missing = [
        name
        for name, value in request["state"].items()
        if name not in own and (not name.endswith(".bias") or value.any())
    ]
    shapes = [
        (name, list(value.shape), list(own[name].shape))
        for name, value in request["state"].items()
        if name in own and own[name].shape != value.shape
    ]
    if missing or shapes:
        return {"status": "unfit", "missing": missing, "shapes": shapes, "has": list(own)}
    # a bias that should not be there shows in what a new module holds, and spoils no numbers
    surplus = {
        name: torch.zeros_like(value)
        for name, value in own.items()
        if name.endswith(".bias") and name[:-4] + "weight" in request["state"]
    }
    asked = {name: value for name, value in request["state"].items() if name in own}
    made.load_state_dict({**own, **surplus, **asked})
    made.train(request["training"])
    if request["method"] is None:
        value = {
            "parameters": dict(made.named_parameters(remove_duplicate=False)),
            "distinct": len(list(made.parameters())),
            "buffers": [name for name, _ in made.named_buffers()],
            "modules": [name for name, _ in made.named_modules() if name],
        }
        return {"status": "returned", "value": value, "arguments": []}
    use = getattr(made, request["method"])
    if request.get("rested"):
        made.eval()
        use(*_arguments(request))
        made.train(request["training"])
    if request.get("before"):
        use(*(_materialise(value, request) for value in request["before"]))
    arguments = [_arguments(request)] * request.get("times", 1)
    parameters = {
        name: value
        for name, value in made.named_parameters(remove_duplicate=False)
        if name in request["state"]
    }
    return _observe(use, arguments, request, parameters)


def drawing(subject: Callable[..., Any], request: Request) -> Report:
    """Let a function draw with ``arguments`` and ``keywords``; the value is a `drawing.Picture`.

    With ``on_axes`` it is also given matplotlib Axes to draw on, as ``ax``.
    """
    from autograder.probe.drawing import observe  # here, because few checks need a drawing library

    arguments = _arguments(request)
    value = observe(subject, arguments, request["keywords"], request["on_axes"])
    return {"status": "returned", "value": value, "arguments": arguments}


RUNNERS: dict[str, Callable[[Callable[..., Any], Request], Report]] = {
    "call": call,
    "chain": chain,
    "module": module,
    "drawing": drawing,
}


def _observe(
    function: Callable[..., Any], calls: list[list[Any]], request: Request, parameters: dict
) -> Report:
    """Call with each of these arguments, and report what came of it.

    That is the value, the arguments of the last call as they are afterwards and, if asked for, the
    gradients.
    """
    arguments = calls[-1]
    before = [_random_state(item) for item in (*arguments, torch.default_generator)]
    tries = [_materialise(value, request) for value in request.get("tries", [])]
    traces = {
        place: SideEffects(item, tries)
        for place, item in enumerate(arguments)
        if isinstance(item, nn.Module) and request.get("traces", True)
    }
    watch = GradingService(arguments) if request.get("memory") else None
    try:
        with watch or contextlib.nullcontext():
            values = [function(*given) for given in calls]
    except Exception as error:
        if not traces:
            raise
        left = _afterwards(arguments, before, traces)
        return {"status": "raised", "error": describe(error), "arguments": left}
    value = values[0] if len(values) == 1 else values
    afterwards = _afterwards(arguments, before, traces)
    report: Report = {"status": "returned", "value": value, "arguments": afterwards}
    if watch:
        report["largest"] = watch.largest
    if request["gradient"]:
        leaves: dict[str, torch.Tensor] = {}
        for name, item in zip(request["names"], arguments, strict=True):
            leaves |= _leaves(name, item)
        report["gradients"] = _gradients(value, {**leaves, **parameters})
    return report


def _afterwards(
    arguments: list[Any], before: list[torch.Tensor | None], traces: dict[int, SideEffects]
) -> list[Any]:
    """Arguments as they are after a call; of generators and modules, what was done with them."""
    *states, own = before
    own_is_kept = _same_state(own, torch.default_generator)
    afterwards: list[Any] = []
    for place, (item, state) in enumerate(zip(arguments, states, strict=True)):
        if isinstance(item, torch.Generator):
            drawn = not _same_state(state, item)
            afterwards.append({"drawn_from": drawn, "own_left_alone": own_is_kept})
        else:
            afterwards.append(traces[place].left() if place in traces else item)
    return afterwards


def _random_state(item: Any) -> torch.Tensor | None:
    """The state of a generator; None of anything else."""
    return item.get_state() if isinstance(item, torch.Generator) else None


def _same_state(before: torch.Tensor | None, generator: Any) -> bool:
    return before is not None and torch.equal(before, generator.get_state())


def _arguments(request: Request) -> list[Any]:
    return [_materialise(value, request) for value in request["arguments"]]


def _materialise(value: Any, request: Request) -> Any:
    """An argument as the subject receives it: always its own copy."""
    if isinstance(value, Function):
        return disguised(value.name)
    if isinstance(value, Instance):
        return MAKERS[value.name](**value.arguments)
    if isinstance(value, tuple):
        return tuple(_materialise(item, request) for item in value)
    if not isinstance(value, torch.Tensor):
        return value.copy() if hasattr(value, "copy") else value
    value = value.clone()
    if request["strided"] and value.dim() > 1:
        # same values, but in every other place of a buffer in which the axes stand in reverse, so
        # that no two of them can be merged by a view
        shape = value.shape[::-1]
        buffer = torch.zeros(2 * shape[0], *shape[1:], dtype=value.dtype)[::2]
        value = buffer.permute(*reversed(range(value.dim()))).copy_(value)
    if request["gradient"] and value.is_floating_point():
        value.requires_grad_(True)
    return value


def _leaves(name: str, value: Any) -> dict[str, torch.Tensor]:
    """The tensors of an argument that gradients should reach, by name; of a pair, each of its own."""
    if isinstance(value, tuple):
        found: dict[str, torch.Tensor] = {}
        for place, item in enumerate(value):
            found |= _leaves(f"{name}[{place}]", item)
        return found
    return {name: value} if isinstance(value, torch.Tensor) and value.requires_grad else {}


def _gradients(value: Any, leaves: dict[str, torch.Tensor]) -> dict[str, torch.Tensor | None]:
    """Derivatives of a fixed weighted sum of all floating outputs, by the names of the leaves."""
    total: torch.Tensor | float = 0.0
    with torch.enable_grad():  # a notebook may have switched gradients off for its own thread
        for output in tensors_in(value):
            if output.is_floating_point():
                numbers = torch.arange(output.numel(), dtype=output.dtype)
                total = total + (output * numbers.cos().reshape(output.shape)).sum()
    if not (isinstance(total, torch.Tensor) and total.requires_grad) or not leaves:
        return dict.fromkeys(leaves)
    asked = {name: leaf for name, leaf in leaves.items() if leaf.requires_grad}
    found = torch.autograd.grad(total, list(asked.values()), allow_unused=True) if asked else ()
    return {**dict.fromkeys(leaves), **dict(zip(asked, found, strict=True))}


def describe(error: BaseException) -> ErrorReport:
    """Type, its bases, message and the subject's own line of an error."""
    line = ""
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        # what lies in a package is the grader's, the course's or a library's: no line for its author
        if (path.parent / "__init__.py").exists() or "site-packages" in path.parts:
            continue
        line = frame.line or linecache.getline(frame.filename, frame.lineno or 0).strip() or line
    return {
        "type": type(error).__name__,
        "types": [kind.__name__ for kind in type(error).__mro__],
        "message": str(error)[:LONGEST_MESSAGE],
        "line": line[:LONGEST_MESSAGE],
    }
