"""See how large the pieces of memory are that PyTorch takes while a function runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode


class MemoryWatch(TorchDispatchMode):
    """Notes the largest piece of memory that an operation returns and that nobody had given.

    Views of what was given are free. What NumPy takes is not seen.

    Args:
        given: arguments of the function that is watched.

    Attributes:
        largest: how many numbers it holds.
    """

    def __init__(self, given: Iterable[Any]) -> None:
        super().__init__()
        self.largest = 0
        self._given = {place for item in tensors_in(list(given)) if (place := _place(item))}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        for item in tensors_in(made):
            if _place(item) not in self._given:
                numbers = item.untyped_storage().nbytes() // item.element_size()
                self.largest = max(self.largest, numbers)
        return made


def tensors_in(value: Any) -> list[torch.Tensor]:
    """All tensors in lists, tuples and dicts, in their order."""
    return [item for item in _pytree.tree_leaves(value) if isinstance(item, torch.Tensor)]


def _place(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
