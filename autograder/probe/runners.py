"""Use a function or a class as a request says, and note as plain data what could be observed.

The same code runs on the student's answer (by the probe), and on the reference and the named
mistakes (by the checks), so that like is compared with like. It knows no right answer.

What the code under test raises passes through as a `SubjectError`; every other error is our own.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from autograder.arrays import Array, is_module, is_tensor, pytorch
from autograder.probe.messages import (
    CallRequest,
    ChainRequest,
    DrawingRequest,
    ModuleRequest,
    Observation,
    RepeatedRequest,
    Request,
    Unfit,
    WrongShape,
)
from autograder.probe.objects import made, named
from autograder.probe.subject import SubjectError, errors_are_its_own
from autograder.probe.wire import GIVEN, RETURNED, Function, Instance

if TYPE_CHECKING:
    import torch
    from torch import nn

    from autograder.probe.side_effects import SideEffects


def run_case(subject: Callable[..., Any], request: Request) -> Observation:
    """Carry out one request on the function or class under test.

    Raises:
        SubjectError: it has stopped with an error.
    """
    _seed(request)
    return RUNNERS[type(request)](subject, request)


def _seed(request: Request) -> None:
    """Put PyTorch's own generator into the state that belongs to a request, where there is one."""
    if torch := pytorch():
        # torch.manual_seed would also write down where it was called, for devices that wake up later
        torch.default_generator.manual_seed(request.seed)


def call(subject: Callable[..., Any], request: CallRequest) -> Observation:
    """Call a function, see `CallRequest`."""
    if request.anew:
        calls = [_arguments(request) for _ in range(request.times)]
    else:
        calls = [_arguments(request)] * request.times
    return _observe(subject, calls, request, request.tries, request.traces)


def chain(subject: Callable[..., Any], request: ChainRequest) -> Observation:
    """Call a function several times, see `ChainRequest`; the value is the tuple of results.

    An argument may be an instance named `RETURNED`, which stands for the entry ``place`` of what the
    call of this number has returned, or `GIVEN`, for the argument that it was given at this place.
    """
    results: list[Any] = []
    calls: list[list[Any]] = []
    leaves: dict[str, torch.Tensor] = {}
    for number, names in enumerate(request.argument_names):
        given = []
        for name, value in zip(names, request.arguments[number], strict=True):
            if isinstance(value, Instance) and value.name == RETURNED:
                earlier, place = value.arguments["call"], value.arguments["place"]
                with errors_are_its_own():
                    given.append(results[earlier][place])
            elif isinstance(value, Instance) and value.name == GIVEN:
                given.append(calls[value.arguments["call"]][value.arguments["place"]])
            else:
                given.append(_materialise(value, request))
                leaves |= _leaves(f"{name} of call {number + 1}", given[-1])
        calls.append(given)
        with errors_are_its_own():
            results.append(subject(*given))
    value = tuple(results)
    gradients = _gradients(value, leaves) if request.gradient else {}
    return Observation(status="returned", value=value, gradients=gradients)


def module(subject: Callable[..., Any], request: ModuleRequest) -> Observation:
    """Build a module, give it weights, and use it, see `ModuleRequest`.

    Without a method the value is what the module holds: its parameters, how many of them are
    distinct (a tensor may have two names), the names of its buffers and those of its submodules.
    """
    dtype, training = getattr(pytorch(), request.dtype), request.training
    with errors_are_its_own():
        made = subject(*request.construct, **request.keywords)
    if not is_module(made):
        return Observation(status="unfit", unfit=Unfit(kind=type(made).__name__))
    with errors_are_its_own():
        if request.dtype != "float32":  # a module is made so, and what it holds otherwise shows
            made.to(dtype)
        own = made.state_dict()
        places = _places_of(made, own, request.state)
        state = {places[name]: value for name, value in request.state.items()}
        unfit = _load(made, own, state, request.fitted)
        made.train(training)
    if unfit:
        return Observation(status="unfit", unfit=unfit)
    # how many numbers were drawn for weights at first should not decide what is dropped
    _seed(request)
    if request.method is None:
        with errors_are_its_own():
            return Observation(status="returned", value=_held_by(made))
    with errors_are_its_own():
        # `__getattribute__` by itself finds neither parameters nor buffers
        by_name = request.method == "__getattribute__"
        use = partial(getattr, made) if by_name else getattr(made, request.method)
    if request.rested:
        arguments = _arguments(request)
        with errors_are_its_own():
            made.eval()
            use(*arguments)
            made.train(training)
    if request.before:
        arguments = [_materialise(value, request) for value in request.before]
        with errors_are_its_own():
            getattr(made, request.before_method or request.method)(*arguments)
    # what a call changes in its arguments is looked at by itself, and no matter of the next call
    calls = [_arguments(request) for _ in range(request.times)]
    with errors_are_its_own():
        held = dict(made.named_parameters(remove_duplicate=False))
    parameters: dict[str, torch.Tensor] = {
        name: held[place] for name, place in places.items() if place in held
    }
    seen = _observe(use, calls, request, parameters=parameters)
    if not request.fitted:
        return seen
    with errors_are_its_own():
        gradients = {
            name: _of_shape(request.state[name].shape, value)
            if name in request.state and value is not None
            else value
            for name, value in seen.gradients.items()
        }
    return structs.replace(seen, gradients=gradients)


def _places_of(
    made: nn.Module, own: dict[str, torch.Tensor], state: dict[str, torch.Tensor]
) -> dict[str, str]:
    """Under which of its own names a module holds each of the weights that are to be set.

    It may have them as attributes of the names that are asked, such as a property, and hold them under others.
    """
    places = {name: name for name in state}
    lacking = [name for name in state if name not in own]
    if lacking:
        tensors = (
            *made.named_parameters(remove_duplicate=False),
            *made.named_buffers(remove_duplicate=False),
        )
        held = {id(tensor): name for name, tensor in tensors if name in own}
        for name in lacking:
            with contextlib.suppress(AttributeError):
                places[name] = held.get(id(operator.attrgetter(name)(made)), name)
    return places


def _load(
    made: nn.Module, own: dict[str, torch.Tensor], state: dict[str, torch.Tensor], fitted: bool
) -> Unfit | None:
    """Give a module its weights, in the place of its own; why that cannot be, if it cannot."""
    if fitted:
        state = {
            name: _of_shape(own[name].shape, value) if name in own else value
            for name, value in state.items()
        }
    # a bias that is not there is as good as one of zeros
    missing = [
        name
        for name, value in state.items()
        if name not in own and (not name.endswith(".bias") or value.any())
    ]
    shapes = [
        WrongShape(name, list(value.shape), list(own[name].shape))
        for name, value in state.items()
        if name in own and own[name].shape != value.shape
    ]
    if missing or shapes:
        return Unfit(missing=missing, shapes=shapes, has=list(own))
    # a bias that should not be there shows in what a new module holds, and spoils no numbers
    surplus = {
        name: value.new_zeros(value.shape)
        for name, value in own.items()
        if name.endswith(".bias") and name[:-4] + "weight" in state
    }
    asked = {name: value for name, value in state.items() if name in own}
    made.load_state_dict({**own, **surplus, **asked})
    return None


def _of_shape(shape: torch.Size, value: torch.Tensor) -> torch.Tensor:
    """A tensor cut to a shape with as many axes, or filled with zeros; as it is where there are others."""
    if len(shape) != value.dim():
        return value
    shared = tuple(slice(min(lengths)) for lengths in zip(shape, value.shape, strict=True))
    fitting = value.new_zeros(shape)
    fitting[shared] = value[shared]
    return fitting


def _held_by(made: nn.Module) -> dict[str, Any]:
    return {
        "parameters": dict(made.named_parameters(remove_duplicate=False)),
        "distinct": len(list(made.parameters())),
        "buffers": [name for name, _ in made.named_buffers()],
        "modules": [name for name, _ in made.named_modules() if name],
    }


def drawing(subject: Callable[..., Any], request: DrawingRequest) -> Observation:
    """Let a function draw, see `DrawingRequest`; the value is a `drawing.Picture`."""
    from autograder.probe.drawing import observe  # here, because few checks need a drawing library

    arguments = _arguments(request)
    value = observe(subject, arguments, request.keywords, request.on_axes)
    return Observation(status="returned", value=value, arguments=arguments)


RUNNERS: dict[type[Request], Callable[[Callable[..., Any], Any], Observation]] = {
    CallRequest: call,
    ChainRequest: chain,
    ModuleRequest: module,
    DrawingRequest: drawing,
}


def _observe(
    function: Callable[..., Any],
    calls: list[list[Any]],
    request: RepeatedRequest,
    tries: Sequence[Any] = (),
    traces: bool = True,
    parameters: dict[str, torch.Tensor] | None = None,
) -> Observation:
    """Call with each of these arguments, and note what came of it.

    That is the value, the arguments of the last call as they are afterwards and, if asked for, the
    gradients, those of ``parameters`` as well.
    """
    arguments = calls[-1]
    before = _random_states(arguments)
    tried = [_materialise(value, request) for value in tries]
    effects = dict(_watched(arguments, tried)) if traces else {}
    watch = _memory_watch(arguments) if request.memory else None
    try:
        with errors_are_its_own(), watch or contextlib.nullcontext():
            values = [function(*given) for given in calls]
    except SubjectError as raised:
        if not effects:
            raise
        left = _afterwards(arguments, before, effects)
        return Observation(status="raised", error=raised.seen, arguments=left)
    value = values[0] if len(values) == 1 else values
    gradients: dict[str, torch.Tensor | None] = {}
    afterwards = _afterwards(arguments, before, effects)
    if request.gradient:
        leaves: dict[str, torch.Tensor] = {}
        for name, item in zip(request.names, arguments, strict=True):
            leaves |= _leaves(name, item)
        gradients = _gradients(value, leaves | (parameters or {}))
    return Observation(
        status="returned",
        value=value,
        arguments=afterwards,
        gradients=gradients,
        largest=watch.largest if watch else 0,
    )


def _watched(arguments: list[Any], tried: list[Any]) -> Iterator[tuple[int, SideEffects]]:
    """The modules among the arguments, each with what is to be seen of it afterwards."""
    for place, item in enumerate(arguments):
        if is_module(item):
            from autograder.probe.side_effects import SideEffects

            yield place, SideEffects(item, tried)


def _memory_watch(arguments: list[Any]) -> Any:
    from autograder.probe.memory import MemoryWatch

    return MemoryWatch(arguments)


def _afterwards(
    arguments: list[Any], before: list[torch.Tensor], effects: dict[int, SideEffects]
) -> list[Any]:
    """Arguments as they are after a call; of generators and modules, what was done with them."""
    changed = [
        not one.equal(other) for one, other in zip(before, _random_states(arguments), strict=True)
    ]
    drawn = iter(changed[1:])
    afterwards: list[Any] = []
    for place, item in enumerate(arguments):
        if _is_generator(item):
            afterwards.append({"drawn_from": next(drawn), "own_left_alone": not changed[0]})
        else:
            afterwards.append(effects[place].left() if place in effects else item)
    return afterwards


def _random_states(arguments: list[Any]) -> list[torch.Tensor]:
    """The states of torch's own generator and of those among the arguments, if there are any."""
    given = [item for item in arguments if _is_generator(item)]
    return [one.get_state() for one in (pytorch().default_generator, *given)] if given else []


def _is_generator(value: Any) -> bool:
    """Whether a value is a generator of PyTorch's."""
    torch = pytorch()
    return torch is not None and isinstance(value, torch.Generator)


def _arguments(request: Request) -> list[Any]:
    return [_materialise(value, request) for value in request.arguments]


def _materialise(value: Any, request: Request) -> Any:
    """An argument as the subject receives it: always its own copy."""
    if isinstance(value, Function):
        return named(value.name)
    if isinstance(value, Instance):
        return made(value)
    if isinstance(value, tuple):
        return tuple(_materialise(item, request) for item in value)
    if not is_tensor(value):
        value = value.copy() if hasattr(value, "copy") else value
        return _with_gaps(value) if request.strided and isinstance(value, np.ndarray) else value
    value = value.clone()
    if request.strided and value.dim() > 1:
        buffer = value.new_zeros(_shape_of_buffer(value.shape))[::2]
        value = buffer.permute(*reversed(range(value.dim()))).copy_(value)
    if request.gradient and value.is_floating_point():
        value.requires_grad_(True)
    return value


def _with_gaps(array: Array) -> Array:
    buffer = (
        np.zeros(_shape_of_buffer(array.shape), array.dtype)[::2].T if array.ndim > 1 else array
    )
    buffer[...] = array
    return buffer


def _shape_of_buffer(shape: Sequence[int]) -> tuple[int, ...]:
    """Of a buffer in which an array takes every other place, and its axes stand in reverse.

    So no two of them can be merged by a view.
    """
    first, *others = reversed(shape)
    return 2 * first, *others


def _leaves(name: str, value: Any) -> dict[str, torch.Tensor]:
    """The tensors of an argument that gradients should reach, by name; of a pair, each of its own."""
    if isinstance(value, tuple):
        found: dict[str, torch.Tensor] = {}
        for place, item in enumerate(value):
            found |= _leaves(f"{name}[{place}]", item)
        return found
    return {name: value} if is_tensor(value) and value.requires_grad else {}


def _gradients(value: Any, leaves: dict[str, torch.Tensor]) -> dict[str, torch.Tensor | None]:
    """Derivatives of a fixed weighted sum of all floating outputs, by the names of the leaves."""
    from autograder.probe.memory import tensors_in  # here, since it brings PyTorch along

    torch = pytorch()
    total: Any = 0.0
    # a notebook may have switched gradients off for its own thread
    with errors_are_its_own(), torch.enable_grad():
        for output in tensors_in(value):
            if output.is_floating_point():
                numbers = torch.arange(output.numel(), dtype=output.dtype)
                total = total + (output * numbers.cos().reshape(output.shape)).sum()
    if not (is_tensor(total) and total.requires_grad) or not leaves:
        return dict.fromkeys(leaves)
    asked = {name: leaf for name, leaf in leaves.items() if leaf.requires_grad}
    with errors_are_its_own():
        found = torch.autograd.grad(total, list(asked.values()), allow_unused=True) if asked else ()
    return {**dict.fromkeys(leaves), **dict(zip(asked, found, strict=True))}
