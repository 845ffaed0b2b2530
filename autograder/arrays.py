"""Arrays of NumPy's and tensors of PyTorch's alike, for whoever only looks at their numbers.

PyTorch is not imported for that: where nobody has imported it, nothing can be a tensor.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeGuard, TypeVar

import numpy as np

Array = np.ndarray
Given = ParamSpec("Given")
Result = TypeVar("Result")

INSTALLED = find_spec("torch") is not None
_known: list[Any] = []


def quietly(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function, in which NumPy says nothing of numbers that overflow: what submissions return may be any."""

    @wraps(function)
    def call(*arguments: Given.args, **named: Given.kwargs) -> Result:
        with np.errstate(all="ignore"):
            return function(*arguments, **named)

    return call


def pytorch() -> Any:
    """PyTorch, where it is installed and has been imported; else None.

    Kept from the first time on, before any submission runs that could put something in its place.
    """
    if not _known and INSTALLED and "torch" in sys.modules:
        _known.append(sys.modules["torch"])
    return _known[0] if _known else None


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of PyTorch's."""
    torch = pytorch()
    return torch is not None and isinstance(value, torch.Tensor)


def is_array(value: Any) -> bool:
    """Whether a value is an array of NumPy's or a tensor."""
    return isinstance(value, np.ndarray) or is_tensor(value)


def is_module_class(value: Any) -> TypeGuard[type[Any]]:
    """Whether a value is a class of PyTorch's modules."""
    torch = pytorch()
    return torch is not None and isinstance(value, type) and issubclass(value, torch.nn.Module)


def is_module(value: Any) -> bool:
    """Whether a value is a module of PyTorch's."""
    torch = pytorch()
    return torch is not None and isinstance(value, torch.nn.Module)


def as_numpy(value: Any) -> Array:
    """An array, a scalar or a tensor as an array of NumPy's; nothing is copied that need not be."""
    if not is_tensor(value):
        return np.asarray(value)
    value = value.detach()
    return (
        value.float() if dtype_name(value) == "bfloat16" else value
    ).numpy()  # NumPy has no bfloat16


def dtype_name(value: Any) -> str:
    """The dtype of an array or of a tensor, such as "float32"; "" of what has none."""
    return str(getattr(value, "dtype", "")).removeprefix("torch.")
