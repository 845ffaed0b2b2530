"""What a function leaves behind in a module that it was given to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import torch
from torch import nn

HOOKS = (
    "_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks",
)  # fmt: skip
RELATIVE, ABSOLUTE = 1e-4, 1e-5  # within which a module gives the same again


class LeftBehind(TypedDict):
    """A module after a function has used it, compared with what it was before.

    Attributes:
        training: which of its parts are in train mode, by name; the module itself has the name "".
        hooks_left, hooks_gone: names of the parts that have hooks more, or no longer have some.
        changed: names of parameters and buffers that are not the same bit by bit.
        renamed: names of those that are new or gone, as where a part was put in the place of another.
        replaced: names of parts, parameters and buffers that are other objects than before, or, of parts,
            new or gone or of another class.
        gradients: names of parameters whose ``requires_grad`` or ``grad`` is not what it was.
        attributes: names of attributes that are new or gone, of its parts or of its own class.
        same_results: whether it gives what it gave before, in train mode with the same random numbers.
    """

    training: dict[str, bool]
    hooks_left: list[str]
    hooks_gone: list[str]
    changed: list[str]
    renamed: list[str]
    replaced: list[str]
    gradients: list[str]
    attributes: list[str]
    same_results: bool


class SideEffects:
    """A module as it is before a function uses it; it is called with `tries`, now and afterwards, if there are any."""

    def __init__(self, model: nn.Module, tries: Sequence[Any]) -> None:
        self._model, self._tries = model, tries
        # a class of its own shows what is put into it, also if the same was put into it before
        model.__class__ = self._class = _subclass_of(type(model))
        self._members = set(vars(self._class))
        self._hooks = _hooks(model)
        self._objects, self._attributes = _objects(model), _attributes(model)
        self._gradients = _gradients(model)
        self._tensors = {name: tensor.clone() for name, tensor in _tensors(model).items()}
        self._result = self._result_now() if tries else None

    def left(self) -> LeftBehind:
        """What the module is like now."""
        hooks, tensors = _hooks(self._model), _tensors(self._model)
        renamed = self._tensors.keys() ^ tensors.keys()
        attributes = {
            f"{name}.{own}".lstrip(".")
            for name, now in _attributes(self._model).items()
            for own in now ^ self._attributes.get(name, now)
        }
        changed = [
            name
            for name, tensor in self._tensors.items()
            if name in tensors and not _bit_by_bit(tensor, tensors[name])
        ]
        return {
            "training": {name: part.training for name, part in self._model.named_modules()},
            "hooks_left": [name for name in hooks if _more(hooks, self._hooks, name)],
            "hooks_gone": [name for name in self._hooks if _more(self._hooks, hooks, name)],
            "changed": changed,
            "renamed": sorted(renamed),
            "replaced": [name for name in self._replaced() if name not in renamed],
            "gradients": [
                name
                for name, now in _gradients(self._model).items()
                if name in self._gradients and not _same_gradient(self._gradients[name], now)
            ],
            "attributes": sorted(attributes | (vars(self._class).keys() - self._members)),
            "same_results": self._gives_the_same(),
        }

    def _replaced(self) -> list[str]:
        before, now = self._objects, _objects(self._model)
        return [
            name
            for name in {**before, **now}
            if before.get(name, (None,))[0] is not now.get(name, (None,))[0]
            or before[name][1] is not now[name][1]
        ]

    def _gives_the_same(self) -> bool:
        if self._result is None:
            return True
        try:
            result = self._result_now()
            return result.shape == self._result.shape and torch.allclose(
                result, self._result, RELATIVE, ABSOLUTE
            )
        except Exception:  # noqa: BLE001 (what was put into it may do anything)
            return False

    def _result_now(self) -> torch.Tensor:
        """Its result in train mode, where also what acts only there is seen."""
        own = torch.default_generator.get_state()
        modes = {part: part.training for part in self._model.modules()}
        torch.default_generator.manual_seed(0)
        with torch.no_grad():
            result = self._model.train()(*self._tries)
        for part, training in modes.items():
            part.training = training
        torch.default_generator.set_state(own)
        return result


Hooks = dict[str, dict[int, Any]]


def _hooks(model: nn.Module) -> Hooks:
    """Of each part, by name, the hooks that are on it, by their identity."""
    return {
        name: {id(hook): hook for kind in HOOKS for hook in getattr(part, kind).values()}
        for name, part in model.named_modules()
    }


def _more(hooks: Hooks, than: Hooks, name: str) -> bool:
    """Whether a part has hooks that it does not have in the other list."""
    return bool(hooks[name].keys() - than.get(name, {}).keys())


def _tensors(model: nn.Module) -> dict[str, torch.Tensor]:
    return {
        name: tensor.detach()
        for name, tensor in (
            *model.named_parameters(remove_duplicate=False),
            *model.named_buffers(remove_duplicate=False),
        )
    }


def _objects(model: nn.Module) -> dict[str, tuple[Any, type]]:
    """Its parts, parameters and buffers by name, each with its class."""
    everything = {
        **dict(model.named_modules()),
        **dict(model.named_parameters(remove_duplicate=False)),
        **dict(model.named_buffers(remove_duplicate=False)),
    }
    return {name: (item, type(item)) for name, item in everything.items()}


def _attributes(model: nn.Module) -> dict[str, set[str]]:
    """Of each part, by name, the names of its attributes."""
    return {name: set(vars(part)) for name, part in model.named_modules()}


def _subclass_of(kind: type) -> type:
    """A class that is called the same, does the same, and is nobody else's."""
    return type(
        kind.__name__,
        (kind,),
        {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__},
    )


Gradient = tuple[bool, torch.Tensor | None, torch.Tensor | None]


def _gradients(model: nn.Module) -> dict[str, Gradient]:
    """Of each parameter, by name, whether it asks for a gradient, this gradient, and a copy of it."""
    return {
        name: (item.requires_grad, item.grad, None if item.grad is None else item.grad.clone())
        for name, item in model.named_parameters()
    }


def _same_gradient(before: Gradient, now: Gradient) -> bool:
    (asked, gradient, copy), (asks, gradient_now, copy_now) = before, now
    if asked != asks or gradient is not gradient_now:
        return False
    return copy is None or copy_now is None or _bit_by_bit(copy, copy_now)


def _bit_by_bit(one: torch.Tensor, other: torch.Tensor) -> bool:
    return (
        one.dtype == other.dtype
        and one.shape == other.shape
        and torch.equal(one.contiguous().view(torch.uint8), other.contiguous().view(torch.uint8))
    )
