"""Arrays of NumPy's and tensors of PyTorch's alike, for whoever only looks at their numbers.

PyTorch is not imported for that: where it is not there, nothing can be a tensor.
"""

from __future__ import annotations

import sys
from typing import Any, TypeGuard

import numpy as np

Array = np.ndarray


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of PyTorch's."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_array(value: Any) -> bool:
    """Whether a value is an array of NumPy's or a tensor."""
    return isinstance(value, np.ndarray) or is_tensor(value)


def is_module_class(value: Any) -> TypeGuard[type[Any]]:
    """Whether a value is a class of PyTorch's modules."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, type) and issubclass(value, torch.nn.Module)


def as_numpy(value: Any) -> Array:
    """An array of NumPy's, a scalar or a tensor as an array of NumPy's, of which nothing is copied if it need not be."""
    if not is_tensor(value):
        return np.asarray(value)
    value = value.detach()
    return (
        value.float() if dtype_name(value) == "bfloat16" else value
    ).numpy()  # NumPy has no bfloat16


def dtype_name(value: Any) -> str:
    """The dtype of an array or of a tensor, such as "float32"; "" of what has none."""
    return str(getattr(value, "dtype", "")).removeprefix("torch.")
