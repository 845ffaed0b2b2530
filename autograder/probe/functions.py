"""Functions of a sequence, (T, D) in and T rows out, that a check may hand to student code.

A function cannot cross the border as data, so a check names one of these and the probe looks it up.
What student code gets is none of these but an operation that PyTorch carries out for it, with a name
drawn anew: it can be called, and holds nothing else that could be read. For that they are written
in what of Python PyTorch's own compiler understands.
"""

from __future__ import annotations

import inspect
import secrets
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor


def doubled(x: Tensor) -> Tensor:
    """Treats each row alone: equivariant."""
    return 2 * x


def unchanged(x: Tensor) -> Tensor:
    """The identity: equivariant, not invariant."""
    return x.clone()


def centred(x: Tensor) -> Tensor:
    """Mixes rows through their mean: equivariant, with rounding that depends on the order."""
    return x - x.mean(dim=0)


def share_of_total(x: Tensor) -> Tensor:
    """Softmax down the sequence: equivariant, with rounding that depends on the order."""
    return x.softmax(dim=0)


def total_everywhere(x: Tensor) -> Tensor:
    """The same row at every position: equivariant and invariant at once."""
    return x.sum(dim=0).expand_as(x).clone()


def row_lengths(x: Tensor) -> Tensor:
    """One number a row, shape (T,): equivariant."""
    return x.norm(2, dim=1)


def running_sum(x: Tensor) -> Tensor:
    """Each row adds those before it: depends on the order."""
    return x.cumsum(dim=0)


def backwards(x: Tensor) -> Tensor:
    """Rows in reverse: depends on the order."""
    return x.flip(0)


def sorted_rows(x: Tensor) -> Tensor:
    """Sorts each column: the order of the input leaves no trace, so invariant, not equivariant."""
    return x.sort(dim=0)[0]


def minus_first(x: Tensor) -> Tensor:
    """Compares each row with the first: depends on the order."""
    return x - x[0]


def slightly_positional(x: Tensor) -> Tensor:
    """Adds 0.0005 times the position: depends on the order, but only a little."""
    return x + 0.0005 * _positions(x)


def barely_positional(x: Tensor) -> Tensor:
    """Numbers near 1 with an effect of order below the tolerances: equivariant for all purposes."""
    return 1 + torch.sigmoid(x) + 6e-5 * _positions(x) / len(x)


def large_and_barely_positional(x: Tensor) -> Tensor:
    """Numbers near 1000 with an effect of order of 0.03: forgiven by the relative tolerance only."""
    return 1000 + torch.sigmoid(x) + 0.03 * _positions(x) / len(x)


def nearly_nothing(x: Tensor) -> Tensor:
    """Numbers below 1e-5 that depend on the order: forgiven by the absolute tolerance only."""
    return (8e-6 * _positions(x) / len(x)).expand_as(x).clone()


def large_and_positional(x: Tensor) -> Tensor:
    """Numbers near 1000 with an effect of order of 0.4: too large for the relative tolerance."""
    return 1000 + torch.sigmoid(x) + 0.7 * _positions(x) / len(x)


def small_and_positional(x: Tensor) -> Tensor:
    """Numbers below 1e-4 that depend on the order: too much for the absolute tolerance."""
    return (8e-5 * _positions(x) / len(x)).expand_as(x).clone()


def last_column_positional(x: Tensor) -> Tensor:
    """Only the last column depends on the order."""
    return torch.cat([x[:, :-1], x[:, -1:] + _positions(x)], dim=1)


def first_everywhere(x: Tensor) -> Tensor:
    """The first row at every position: one number of each row grows or shrinks with the order."""
    return x[:1].expand_as(x).clone()


def minus_first_everywhere(x: Tensor) -> Tensor:
    """The first row, negated, at every position."""
    return -x[:1].expand_as(x)


def in_three_axes(x: Tensor) -> Tensor:
    """Each row times itself, shape (T, D, D): equivariant, with a third axis."""
    return x.unsqueeze(2) * x.unsqueeze(1)


def _positions(x: Tensor) -> Tensor:
    return torch.ones_like(x[:, :1]).cumsum(0) - 1


def all_pairs(x: Tensor) -> Tensor:
    """Distances between rows, shape (T, T): permutes along both axes, so not equivariant."""
    return torch.cdist(x, x)


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    function.__name__: function
    for function in (
        doubled, unchanged, centred, share_of_total, total_everywhere, row_lengths,
        running_sum, backwards, sorted_rows, minus_first, slightly_positional, barely_positional,
        large_and_barely_positional, large_and_positional, nearly_nothing, small_and_positional,
        last_column_positional, first_everywhere, minus_first_everywhere, in_three_axes, all_pairs,
    )
}  # fmt: skip

NAMESPACE = "probe"
_operations: list[Any] = []  # what is defined lasts as long as what has defined it


def disguised(name: str) -> Callable[[Tensor], Tensor]:
    """One of `FUNCTIONS` as an operation of PyTorch's, of which nothing but its results can be seen."""
    operation = f"f_{secrets.token_hex(8)}"
    library = torch._C._dispatch_library("FRAGMENT", NAMESPACE, "")
    library.define(f"{operation}(Tensor x) -> Tensor", "")
    library.impl(operation, "CPU", compiled()[name])
    _operations.append(library)
    return torch._C._jit_get_operation(f"{NAMESPACE}::{operation}")[0]


@cache
def compiled() -> dict[str, Callable[[Tensor], Tensor]]:
    """All functions in a form that runs without Python, each under the same name and used twice.

    PyTorch looks at what it has compiled when it runs for the first times, which takes a while.
    """
    made, helper = {}, inspect.getsource(_positions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated in favour of what needs a compiler of C
        for name, function in FUNCTIONS.items():
            text = inspect.getsource(function).replace(f"def {name}(", "def f(", 1)
            needed = helper if "_positions(" in text else ""
            made[name] = torch.jit.CompilationUnit(f"{needed}\n{text}").f
            for _ in range(2):
                made[name](torch.ones(2, 2))
    return made
