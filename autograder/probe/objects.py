"""Objects and functions that a check may hand to student code, made by the probe from their names.

Neither can cross the border as data. A name is that of one of the makers below, or says where in a module
of the course something is, as ``package.module.name``.

What student code gets in the place of a function is an operation that PyTorch carries out for it, with a
name drawn anew: it can be called, and holds nothing else that could be read. For that, functions are written
in what of Python PyTorch's own compiler understands.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import secrets
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from autograder.probe.wire import Instance

NAMESPACE = "probe"
_elsewhere: dict[str, Callable[..., Any]] = {}  # by name, what another process computes
_operations: list[Any] = []  # what is defined lasts as long as what has defined it


def made(instance: Instance) -> Any:
    """The object that an instance stands for."""
    maker = MAKERS.get(instance.name) or named(instance.name)
    return maker(**instance.arguments)


def disguised(name: str) -> Callable[[Tensor], Tensor]:
    """A function of which nothing but its results can be seen.

    It is a call of another process where there is one, so that nobody can list what it computes with. Else
    it is an operation of PyTorch's.
    """
    if name in _elsewhere:
        return _elsewhere[name]
    operation = f"f_{secrets.token_hex(8)}"
    library = torch._C._dispatch_library("FRAGMENT", NAMESPACE, "")
    library.define(f"{operation}(Tensor x) -> Tensor", "")
    library.impl(operation, "CPU", _compiled(name))
    _operations.append(library)
    return torch._C._jit_get_operation(f"{NAMESPACE}::{operation}")[0]


@contextlib.contextmanager
def computed_elsewhere(functions: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """Hand these over in the place of functions of the course, by their names."""
    _elsewhere.update(functions)
    try:
        yield
    finally:
        _elsewhere.clear()


def compile_all(modules: Sequence[str]) -> None:
    """Compile the ``FUNCTIONS`` of the course's modules that have some."""
    for module in modules:
        for function in getattr(sys.modules[module], "FUNCTIONS", ()):
            _compiled(f"{module}.{function.__name__}")


@cache
def named(name: str) -> Any:
    """What stands in a module of the course under a name."""
    place, _, own = name.rpartition(".")
    return getattr(importlib.import_module(place), own)


@cache
def _compiled(name: str) -> Callable[[Tensor], Tensor]:
    """A function in a form that runs without Python, under the same name as all others, and used twice.

    PyTorch looks at what it has compiled when it runs for the first times, which takes a while.
    """
    function = named(name)
    text = inspect.getsource(function).replace(f"def {function.__name__}(", "def f(", 1)
    helpers = [
        inspect.getsource(helper)
        for own, helper in vars(sys.modules[function.__module__]).items()
        if own.startswith("_") and inspect.isfunction(helper) and f"{own}(" in text
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated in favour of what needs a compiler of C
        compiled = torch.jit.CompilationUnit("\n".join([*helpers, text])).f
        for _ in range(2):
            compiled(torch.ones(2, 2))
    return compiled


def generator(seed: int) -> torch.Generator:
    """A generator of random numbers in the state that belongs to a seed."""
    return torch.Generator().manual_seed(seed)


def set_of(items: Iterable[Any]) -> set[Any]:
    """A set, which has no plain form of its own."""
    return set(items)


class Recorder:
    """A hook that somebody else has put on a module: it notes what it sees, and changes nothing."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, module: nn.Module, *given: Any) -> None:
        self.seen.append(type(module).__name__)


def module(
    made_by: str,
    construct: Iterable[Any],
    keywords: dict[str, Any],
    state: dict[str, Tensor],
    dtype: str,
    training: Iterable[str],
    recorded: Iterable[str],
) -> nn.Module:
    """A module of a class that the notebook may import, with weights that are sent along.

    Args:
        made_by: the class, as ``package.module.Class``.
        construct, keywords: arguments of its constructor.
        state: weights by name, all of them.
        dtype: of its parameters, such as "float64".
        training: names of the modules in it that are in train mode, "" for the module itself.
        recorded: names of the modules in it that have a `Recorder` before and after their forward
            pass. Where there are such, somebody else is training the module: its parameters have
            gradients, and the first one is frozen.
    """
    made: nn.Module = named(made_by)(*construct, **keywords)
    made.to(getattr(torch, dtype)).load_state_dict(state)
    for own, part in made.named_modules():
        part.training = own in training
        if own in recorded:
            part.register_forward_pre_hook(Recorder())
            part.register_forward_hook(Recorder())
    for number, parameter in enumerate(made.parameters() if recorded else ()):
        parameter.grad = torch.ones_like(parameter)
        parameter.requires_grad_(number > 0)
    return made


MAKERS: dict[str, Callable[..., Any]] = {
    maker.__name__: maker for maker in (generator, module, set_of)
}
