"""What a notebook may find switched for the whole process: put back before a part is asked, and left alone after.

A part is asked with PyTorch's own defaults, whatever an earlier cell has set: what the part itself sets in
its own function is its own doing.
"""

from __future__ import annotations

import contextlib
import copy
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch.utils._device as default_device

Read = Callable[[], Any]
Write = Callable[[Any], object]


def _set_deterministic(value: tuple[bool, bool]) -> None:
    torch.use_deterministic_algorithms(value[0], warn_only=value[1])


def _set_autocast(value: tuple[bool, torch.dtype]) -> None:
    torch.set_autocast_enabled("cpu", value[0])
    torch.set_autocast_dtype("cpu", value[1])


def _set_filters(value: list[Any]) -> None:
    warnings.filters[:] = value  # type: ignore[index]
    warnings._filters_mutated()  # type: ignore[attr-defined] # what it has remembered of them


def _set_environment(value: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(value)


def _pictures() -> dict[str, Any]:
    """matplotlib's settings, read past its own look at each of them, which would choose a backend."""
    matplotlib = sys.modules.get("matplotlib")
    return dict(dict.items(matplotlib.rcParams)) if matplotlib else {}


def _set_pictures(value: dict[str, Any]) -> None:
    dict.update(sys.modules["matplotlib"].rcParams, value)


def _precisions() -> tuple[str, ...]:
    """Of products, by where PyTorch lets them be set; its older name cannot be read where these say otherwise."""
    return tuple(place.fp32_precision for place in _with_precision())


def _set_precisions(value: tuple[str, ...]) -> None:
    for place, precision in zip(_with_precision(), value, strict=True):
        place.fp32_precision = precision


def _with_precision() -> tuple[Any, ...]:
    backends: Any = torch.backends
    return backends, backends.mkldnn, backends.mkldnn.matmul


def _device() -> torch.device | None:
    # PyTorch's own question makes a tensor there, which fails where there is no such device
    return default_device.CURRENT_DEVICE


# how each is read, and how it is set
SWITCHES: dict[str, tuple[Read, Write]] = {
    "default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "default device": (_device, torch.set_default_device),
    "gradients": (torch.is_grad_enabled, torch.set_grad_enabled),
    "anomaly detection": (torch.is_anomaly_enabled, torch.set_anomaly_enabled),
    "deterministic algorithms": (
        lambda: (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ),
        _set_deterministic,
    ),
    "autocast": (
        lambda: (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")),
        _set_autocast,
    ),
    "precision of products": (
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
    ),
    "precision of products, by backend": (_precisions, _set_precisions),
    "how tensors are printed": (
        lambda: copy.copy(vars(torch._tensor_str.PRINT_OPTS)),
        lambda value: vars(torch._tensor_str.PRINT_OPTS).update(value),
    ),
    "NumPy's errors": (np.geterr, lambda value: np.seterr(**value)),
    "how arrays are printed": (np.get_printoptions, lambda value: np.set_printoptions(**value)),
    "filters of warnings": (lambda: list(warnings.filters), _set_filters),
    "settings of pictures": (_pictures, _set_pictures),
    "environment": (lambda: dict(os.environ), _set_environment),
    "working folder": (os.getcwd, os.chdir),
    "depth of calls": (sys.getrecursionlimit, sys.setrecursionlimit),
    "Python's random numbers": (random.getstate, random.setstate),
    "NumPy's random numbers": (np.random.get_state, np.random.set_state),
    "PyTorch's random numbers": (
        torch.default_generator.get_state,
        torch.default_generator.set_state,
    ),
}
State = dict[str, Any]


def state() -> State:
    """How everything is switched, as far as it can be read: a notebook may have removed its own folder."""
    found: State = {}
    for name, (read, _) in SWITCHES.items():
        with contextlib.suppress(Exception):
            found[name] = read()
    return found


def switch_to(wanted: State) -> None:
    """Switch everything as it was; what cannot be switched any more stays as it is.

    Only what differs is set: to set the determinism of algorithms, for one, imports PyTorch's compiler.
    """
    for name, value in wanted.items():
        read, write = SWITCHES[name]
        with contextlib.suppress(Exception):
            if not _same(read(), value):
                write(value)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor | np.ndarray):
        return bool((one == other).all())
    try:
        return bool(one == other)
    except ValueError:  # a tuple with arrays in it
        return len(one) == len(other) and all(map(_same, one, other))


_start = state()


def note_start() -> None:
    """Take how everything is switched now for how a part is to find it; before a notebook runs."""
    _start.update(state())


@contextlib.contextmanager
def as_at_the_start() -> Iterator[None]:
    """Switch everything as it was before the notebook ran, and afterwards back to how the notebook has it."""
    found = state()
    switch_to(_start)
    try:
        yield
    finally:
        switch_to(found)
