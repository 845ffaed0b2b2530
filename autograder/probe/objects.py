"""Objects and functions that a check may hand to student code, made by the probe from their names.

Neither can cross the border as data. A name is that of one of the makers below, or says where in a module
of the course something is, as ``package.module.name``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from autograder.arrays import pytorch
from autograder.probe.wire import Instance

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn


def made(instance: Instance) -> Any:
    """The object that an instance stands for."""
    maker = MAKERS.get(instance.name) or named(instance.name)
    return maker(**instance.arguments)


@cache
def named(name: str) -> Any:
    """What stands in a module of the course under a name."""
    place, _, own = name.rpartition(".")
    return getattr(importlib.import_module(place), own)


def generator(seed: int) -> torch.Generator:
    """A generator of random numbers in the state that belongs to a seed."""
    made: torch.Generator = pytorch().Generator()
    return made.manual_seed(seed)


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
    torch = pytorch()
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
