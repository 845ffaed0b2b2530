"""What a notebook may find switched for the whole process: put back before a part is asked, and left alone after.

A part is asked with PyTorch's own defaults, whatever an earlier cell has set: what the part itself sets in
its own function is its own doing.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograder.arrays import INSTALLED, is_array

Switch = tuple[Callable[[], Any], Callable[[Any], object]]


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


# how each is read, and how it is set
SWITCHES: dict[str, Switch] = {
    "NumPy's errors": (np.geterr, lambda value: np.seterr(**value)),
    "how arrays are printed": (np.get_printoptions, lambda value: np.set_printoptions(**value)),
    "filters of warnings": (lambda: list(warnings.filters), _set_filters),
    "settings of pictures": (_pictures, _set_pictures),
    "environment": (lambda: dict(os.environ), _set_environment),
    "working folder": (os.getcwd, os.chdir),
    "depth of calls": (sys.getrecursionlimit, sys.setrecursionlimit),
    "Python's random numbers": (random.getstate, random.setstate),
    "NumPy's random numbers": (np.random.get_state, np.random.set_state),
}
if INSTALLED:
    from autograder.probe import pytorch_switches

    SWITCHES |= pytorch_switches.SWITCHES

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
    if is_array(one):
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
