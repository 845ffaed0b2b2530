"""See how much memory PyTorch holds at a time while a function runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode


class MemoryWatch(TorchDispatchMode):
    """Notes how much is held at a time of what operations return and nobody had given.

    Views of what was given are free, and so is what nobody can reach any more. What NumPy takes is not
    seen.

    Attributes:
        largest: how many numbers were held together, when they were most.
    """

    def __init__(self, given: Iterable[Any]) -> None:
        super().__init__()
        self.largest = 0
        self._held: dict[StorageWeakRef, int] = {}  # some of it may be gone by now
        self._sum = 0
        self._given = {item.untyped_storage().data_ptr() for item in tensors_in(list(given))} - {0}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Whether PyTorch keeps its compiler out, which it imports for that first.

        This takes seconds, and they would count as the answer's own.
        """
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        for item in tensors_in(made):
            storage = item.untyped_storage()
            if storage.data_ptr() not in self._given:
                one, numbers = StorageWeakRef(storage), storage.nbytes() // item.element_size()
                self._sum += numbers - self._held.get(one, 0)
                self._held[one] = numbers
        if self._sum > self.largest:
            self._held = {one: size for one, size in self._held.items() if not one.expired()}
            self._sum = sum(self._held.values())
            self.largest = max(self.largest, self._sum)
        return made


def tensors_in(value: Any) -> list[torch.Tensor]:
    """All tensors in lists, tuples and dicts, in their order."""
    return [item for item in _pytree.tree_leaves(value) if isinstance(item, torch.Tensor)]
