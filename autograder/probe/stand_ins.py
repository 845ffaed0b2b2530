"""What stands in for a wrong earlier part, or is handed over: a call of another process that has it.

The process in which a submission runs is given objects of the same name that can be called, and send what
they are called with. The other process computes, also gradients, and sends back plain data. A class is
made there; here stands a module with the same parameters, of which each call takes the values along.
"""

from __future__ import annotations

import builtins
import copy
import dis
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from autograder.probe.objects import named
from autograder.probe.wire import Instance, decode, encode

Transport = Callable[[bytes], bytes]
# which hold others and do nothing else that is not in PyTorch's own class
CONTAINERS = {kind.__name__: kind for kind in (nn.Sequential, nn.ModuleList, nn.ModuleDict)}
# what has no plain form, and the place of a tensor
DEVICE, DTYPE, PLACE = "device", "dtype", "tensor"
ORDERS = ("make", "call", "use", "backward")
STAND_IN = "stand_in"  # the module of what is defined here
STOPPED = "what stands in for an earlier part, or was handed over, stops on what it is given here"


class RefusedError(Exception):
    """What is sent is no call of ours.

    Attributes:
        kind: what is raised where it was sent from.
    """

    def __init__(self, message: str, kind: type[Exception] = ValueError) -> None:
        super().__init__(message)
        self.kind = kind


# ------------------------------------------------------------------------------ where ours is


class StandIns:
    """The side that has ours; it is asked by `stand_ins`.

    A submission can send what it likes. It gets what ours compute, and nothing of how: only `ORDERS` are
    carried out, and only methods that ours have in public are called.

    Args:
        sources: Python that defines each, by its name.
        functions: names of the course's own that are handed over, as ``package.module.name``.
    """

    def __init__(self, sources: dict[str, str], functions: Iterable[str] = ()) -> None:
        self._named = {name: _defined(name, source) for name, source in sources.items()}
        self._named |= {name: named(name) for name in functions}
        self._modules_of_ours = {STAND_IN, *(name.rpartition(".")[0] for name in functions)}
        self._modules: list[nn.Module] = []
        self._graphs: list[tuple[list[Tensor], list[Tensor]]] = []

    def answer(self, message: bytes) -> bytes:
        """What comes of one call, or the error that was raised."""
        try:
            asked = decode(message)
            order = asked.pop("do")
            if order not in ORDERS:
                raise RefusedError(f"there is no order {order!r}")
            return encode(getattr(self, f"_{order}")(**asked))
        except RefusedError as error:
            return encode({"error": error.kind.__name__, "message": str(error)})
        except Exception as error:  # noqa: BLE001 (told to whoever has asked)
            # what PyTorch says of an error shows what ours computes
            told = str(error) if self._says_so(error) else STOPPED
            return encode({"error": type(error).__name__, "message": told})

    def _says_so(self, error: Exception) -> bool:
        """Whether ours raises it in so many words."""
        place = error.__traceback__
        while place and place.tb_next:
            place = place.tb_next
        if place is None or place.tb_frame.f_globals.get("__name__") not in self._modules_of_ours:
            return False
        return dis.opname[place.tb_frame.f_code.co_code[place.tb_lasti]] == "RAISE_VARARGS"

    @property
    def kinds(self) -> dict[str, bool]:
        """The names, and whether each is a class."""
        return {name: isinstance(value, type) for name, value in self._named.items()}

    def _make(self, name: str, given: Any) -> dict[str, Any]:
        positional, keywords = _filled(given, [])
        made = _called(self._named[name], positional, keywords)
        self._modules.append(made)
        return {
            "module": len(self._modules) - 1,
            "parameters": dict(made.named_parameters()),
            "buffers": dict(made.named_buffers()),
            "modules": {place: type(one).__name__ for place, one in made.named_modules() if place},
            "methods": _methods_of(made),
        }

    def _call(self, name: str, given: Any, tensors: list[Tensor], wanted: list[int]) -> Any:
        return self._run(self._named[name], given, tensors, [], wanted)

    def _use(
        self,
        module: int,
        place: str,
        method: str,
        training: list[str],
        state: dict[str, Tensor],
        drawn: Tensor,
        given: Any,
        tensors: list[Tensor],
        wanted: list[int],
    ) -> Any:
        made = self._modules[module].get_submodule(place)
        held = {**dict(made.named_parameters()), **dict(made.named_buffers())}
        for name, value in state.items():
            held[name].data = value
        for name, part in made.named_modules():
            part.training = name in training
        torch.default_generator.set_state(drawn)
        if method != "forward" and (place or method not in _methods_of(made)):
            raise RefusedError(f"there is no method {method!r}", AttributeError)
        use = made if method == "forward" else getattr(made, method)
        result = self._run(use, given, tensors, [held[name] for name in state], wanted)
        return result | {"drawn": torch.default_generator.get_state()}

    def _run(
        self,
        subject: Callable[..., Any],
        given: Any,
        tensors: list[Tensor],
        held: list[Tensor],
        wanted: list[int],
    ) -> dict[str, Any]:
        leaves = [*tensors, *held]
        for number in wanted:
            leaves[number].requires_grad_()
        positional, keywords = _filled(given, tensors)
        with torch.set_grad_enabled(bool(wanted)):
            value = _called(subject, positional, keywords)
        found: list[Tensor] = []
        emptied = _emptied(value, found)
        if wanted:
            self._graphs.append((found, [leaves[number] for number in wanted]))
        return {"value": emptied, "tensors": found, "graph": len(self._graphs) - 1}

    def _backward(self, graph: int, gradients: list[Any]) -> list[Any]:
        found, leaves = self._graphs[graph]
        pairs = [
            (one, gradient)
            for one, gradient in zip(found, gradients, strict=True)
            if gradient is not None and one.requires_grad
        ]
        if not pairs:
            return [None for _ in leaves]
        # with gradients of several outputs autograd imports sympy, which takes longer than all else
        with torch.enable_grad():
            total = sum((one * gradient).sum() for one, gradient in pairs)
        return list(torch.autograd.grad(total, leaves, retain_graph=True, allow_unused=True))


def _called(
    subject: Callable[..., Any], positional: Iterable[Any], keywords: dict[str, Any]
) -> Any:
    """What ours returns.

    Raises:
        RefusedError: the arguments have not the names and the number that the text gives.
    """
    try:
        return subject(*positional, **keywords)
    except TypeError:
        called = subject.forward if isinstance(subject, nn.Module) else subject
        try:
            inspect.signature(called).bind(*positional, **keywords)
        except TypeError as error:
            raise RefusedError(str(error), TypeError) from None
        except ValueError:  # it has no signature
            pass
        raise


def _methods_of(made: nn.Module) -> list[str]:
    """The public methods that a module's own class defines."""
    own = vars(type(made)).items()
    return [name for name, what in own if callable(what) and not name.startswith("_")]


def _defined(name: str, source: str) -> Any:
    names: dict[str, Any] = {"__name__": STAND_IN, "__builtins__": builtins}
    exec(source, names)  # noqa: S102 (ours, where no submission runs)
    return names[name]


# ------------------------------------------------------------------------------ where a submission is


def stand_ins(
    transport: Transport, kinds: Mapping[str, bool], tell: Callable[[str], object] = str
) -> dict[str, Callable[..., Any]]:
    """Objects that do what ours do, by their names.

    Args:
        transport: takes a message to `StandIns.answer`, and brings back its reply.
        kinds: the names, and whether each is a class.
        tell: is told the name of what is called.
    """
    return {
        name: (_class_of if is_class else _function_of)(transport, name, tell)
        for name, is_class in kinds.items()
    }


def _function_of(
    transport: Transport, name: str, tell: Callable[[str], object]
) -> Callable[..., Any]:
    def stand_in(*positional: Any, **keywords: Any) -> Any:
        tell(name)
        return _asked(transport, {"do": "call", "name": name}, positional, keywords, {})

    stand_in.__name__ = stand_in.__qualname__ = name
    return stand_in


def _class_of(transport: Transport, name: str, tell: Callable[[str], object]) -> type[nn.Module]:
    def made(self: nn.Module, *positional: Any, **keywords: Any) -> None:
        tell(name)
        nn.Module.__init__(self)
        given = [list(positional), keywords]
        reply = _reply_to(transport, {"do": "make", "name": name, "given": _emptied(given, [])})
        for place, kind in reply["modules"].items():
            parent, _, own = place.rpartition(".")
            part = CONTAINERS[kind]() if kind in CONTAINERS else type(kind, (nn.Module,), {})()
            if kind not in CONTAINERS:
                vars(part)["forward"] = _Method(part, transport, reply["module"], place, "forward")
            self.get_submodule(parent).add_module(own, part)
        for place, value in reply["parameters"].items():
            parent, _, own = place.rpartition(".")
            self.get_submodule(parent).register_parameter(own, nn.Parameter(value))
        for place, value in reply["buffers"].items():
            parent, _, own = place.rpartition(".")
            self.get_submodule(parent).register_buffer(own, value)
        for method in reply["methods"]:
            vars(self)[method] = _Method(self, transport, reply["module"], "", method)

    return type(name, (nn.Module,), {"__init__": made})


class _Method:
    """A method of a module that stands elsewhere, which is given the module's tensors as they are here."""

    def __init__(
        self, module: nn.Module, transport: Transport, number: int, place: str, name: str
    ) -> None:
        self._module, self._transport = module, transport
        self._number, self._place, self._name = number, place, name

    def __deepcopy__(self, memo: dict[int, Any]) -> _Method:
        module = copy.deepcopy(self._module, memo)
        return _Method(module, self._transport, self._number, self._place, self._name)

    def __call__(self, *positional: Any, **keywords: Any) -> Any:
        state = {**dict(self._module.named_parameters()), **dict(self._module.named_buffers())}
        order = {
            "do": "use",
            "module": self._number,
            "place": self._place,
            "method": self._name,
            "training": [name for name, part in self._module.named_modules() if part.training],
        }
        return _asked(self._transport, order, positional, keywords, state)


class _Call:
    """One call on its way.

    Args:
        transport: to the other side.
        order: what is to be done there.
        given: the arguments, without the tensors among them.
        names: of the module's tensors, which come behind those.
    """

    def __init__(
        self, transport: Transport, order: dict[str, Any], given: Any, names: list[str]
    ) -> None:
        self.transport, self.order, self.given, self.names = transport, order, given, names
        self.value: Any = None
        self.graph = -1  # the number under which the other side keeps the last one

    def sent(self, tensors: tuple[Tensor, ...], wanted: list[int]) -> tuple[Tensor, ...]:
        """The tensors that are returned."""
        number = len(tensors) - len(self.names)
        message = self.order | {
            "given": self.given,
            "tensors": list(tensors[:number]),
            "wanted": wanted,
        }
        if self.order["do"] == "use":
            state = dict(zip(self.names, tensors[number:], strict=True))
            message |= {"state": state, "drawn": torch.default_generator.get_state()}
        reply = _reply_to(self.transport, message)
        if "drawn" in reply:
            torch.default_generator.set_state(reply["drawn"])
        self.value, self.graph = reply["value"], reply["graph"]
        return tuple(reply["tensors"])


class _RemoteCall(torch.autograd.Function):
    """A call whose values and gradients both come from the other side."""

    @staticmethod
    def forward(call: _Call, wanted: list[int], *tensors: Tensor) -> tuple[Any, ...]:
        return call.sent(tensors, wanted)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        ctx.call, ctx.wanted, *tensors = inputs
        ctx.number, ctx.graph = len(tensors), ctx.call.graph
        ctx.mark_non_differentiable(*(one for one in output if not one.is_floating_point()))
        ctx.set_materialize_grads(False)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        message = {"do": "backward", "graph": ctx.graph, "gradients": list(gradients)}
        found = _reply_to(ctx.call.transport, message) if ctx.wanted else []
        by_place = dict(zip(ctx.wanted, found, strict=True))
        return (None, None, *(by_place.get(place) for place in range(ctx.number)))

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], call: _Call, wanted: list[int], *tensors: Tensor
    ) -> tuple[Any, Any]:
        rows = [
            _RemoteCall.apply(
                call,
                wanted,
                *(
                    one if axis is None else one.select(axis, number)
                    for one, axis in zip(tensors, in_dims[2:], strict=True)
                ),
            )
            for number in range(info.batch_size)
        ]
        stacked = tuple(torch.stack(column) for column in zip(*rows, strict=True))
        return stacked, tuple(0 for _ in stacked)


def _asked(
    transport: Transport,
    order: dict[str, Any],
    positional: tuple[Any, ...],
    keywords: dict[str, Any],
    state: dict[str, Tensor],
) -> Any:
    tensors: list[Tensor] = []
    given = _emptied([list(positional), keywords], tensors)
    leaves = [*tensors, *state.values()]
    wanted = [
        place
        for place, one in enumerate(leaves)
        if one.requires_grad and torch.is_grad_enabled() and one.is_floating_point()
    ]
    call = _Call(transport, order, given, list(state))
    found = _RemoteCall.apply(call, wanted, *leaves) if leaves else call.sent((), [])
    return _filled(call.value, list(found))


def _reply_to(transport: Transport, message: dict[str, Any]) -> Any:
    """What the other side replies; an error of its own is raised here, a RuntimeError if its type is not built in."""
    answer = transport(encode(message))
    if not answer:
        raise RuntimeError("what stands in for an earlier part did not answer in its time")
    reply = decode(answer)
    if isinstance(reply, dict) and "error" in reply:
        kind = getattr(builtins, reply["error"], RuntimeError)
        is_one = isinstance(kind, type) and issubclass(kind, Exception)
        raise (kind if is_one else RuntimeError)(reply["message"])
    return reply


# ------------------------------------------------------------------------------ what crosses


def _emptied(value: Any, tensors: list[Tensor]) -> Any:
    """A tree in which places stand for tensors, which are put into a list in their order."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return Instance(PLACE, {"number": len(tensors) - 1})
    if isinstance(value, list):
        return [_emptied(item, tensors) for item in value]
    if isinstance(value, tuple):
        return tuple(_emptied(item, tensors) for item in value)
    if isinstance(value, dict):
        return {name: _emptied(item, tensors) for name, item in value.items()}
    if isinstance(value, torch.device):
        return Instance(DEVICE, {"name": str(value)})
    if isinstance(value, torch.dtype):
        return Instance(DTYPE, {"name": str(value).removeprefix("torch.")})
    return value


def _filled(value: Any, tensors: list[Tensor]) -> Any:
    """The tree again, with its tensors."""
    if isinstance(value, Instance):
        if value.name == PLACE:
            return tensors[value.arguments["number"]]
        name = value.arguments["name"]
        if value.name == DEVICE:
            return torch.device(name)
        dtype = getattr(torch, name)
        if not isinstance(dtype, torch.dtype):
            raise RefusedError(f"{name!r} is no dtype", TypeError)
        return dtype
    if isinstance(value, list):
        return [_filled(item, tensors) for item in value]
    if isinstance(value, tuple):
        return tuple(_filled(item, tensors) for item in value)
    if isinstance(value, dict):
        return {name: _filled(item, tensors) for name, item in value.items()}
    return value
