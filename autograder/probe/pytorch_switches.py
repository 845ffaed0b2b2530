"""What of PyTorch's a notebook may find switched for the whole process, see `autograder.probe.switches`."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
import torch.utils._device as default_device


def _set_deterministic(value: tuple[bool, bool]) -> None:
    torch.use_deterministic_algorithms(value[0], warn_only=value[1])


def _set_autocast(value: tuple[bool, torch.dtype]) -> None:
    torch.set_autocast_enabled("cpu", value[0])
    torch.set_autocast_dtype("cpu", value[1])


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
SWITCHES: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
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
    "PyTorch's random numbers": (
        torch.default_generator.get_state,
        torch.default_generator.set_state,
    ),
}
