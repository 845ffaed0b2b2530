"""The kernels of this process: forks of a zygote of its own, or fresh ones where forks are not safe."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from autograder.sandbox.forks import Zygote, ZygoteClient
from autograder.sandbox.fresh import FreshKernels

KERNEL = "autograder.sandbox.kernel"  # what a kernels' zygote forks

Kernels = ZygoteClient | FreshKernels

_own: dict[tuple[str, tuple[str, ...]], Zygote] = {}


def begin(isolation: str, modules: Sequence[str] = ()) -> None:
    """Let what `own_kernels` gives be imported while this process goes on."""
    if sys.platform == "linux":
        _zygote(isolation, tuple(modules))


def own_kernels(isolation: str, modules: Sequence[str] = ()) -> Kernels:
    """Where this process gets kernels; a `Zygote` of this isolation is started when it is first needed."""
    if sys.platform != "linux":
        return FreshKernels(modules)
    zygote = _zygote(isolation, tuple(modules))
    zygote.wait_until_ready()
    return zygote.client


def _zygote(isolation: str, modules: tuple[str, ...]) -> Zygote:
    zygote = _own.get((isolation, modules))
    if zygote is None or not zygote.alive():
        zygote = _own[isolation, modules] = Zygote(KERNEL, isolation, modules)
    return zygote


def close() -> None:
    """End this process's own zygotes; the next kernel starts another."""
    while _own:
        _own.popitem()[1].close()
