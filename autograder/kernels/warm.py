"""What a zygote of kernels imports, and what each of its forks does before it is a kernel."""

from __future__ import annotations

import importlib
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from autograder import patches
from autograder.kernels import sandbox
from autograder.kernels.start import Start

# what notebooks and kernels import, also what they import late
MODULES = (
    "ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.debugger", "tornado.platform.asyncio",
    "tornado.queues", "IPython.core.completerlib", "IPython.core.logger", "IPython.core.oinspect",
    "IPython.core.completer", "IPython.core.magics",
    "IPython.core.payloadpage", "IPython.core.pylabtools", "IPython.extensions.storemagic",
    "matplotlib.pyplot", "matplotlib_inline.config", "numpy.random", "numpy.testing", "sqlite3",
    "torch.nn.functional", "torch.utils.flop_counter", "dateutil.tz", "autograder.probe.drawing",
)  # fmt: skip


def import_all(modules: Sequence[str]) -> None:
    """Import what notebooks and kernels import, and do once what each would do again.

    Args:
        modules: of the course, those that notebooks may import here.
    """
    # ipykernel sets this before a notebook's first import; here the import comes first
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    for name in (*MODULES, *modules):
        importlib.import_module(name)
    for name in modules:
        # a module may have something to look up once
        getattr(sys.modules[name], "installed_packages", lambda: None)()
    import torch
    from IPython.core.ultratb import FormattedTB

    patches.for_kernels()
    if not sandbox.missing_library():
        from autograder.kernels.walls import system_calls

        system_calls()
    try:
        torch.nn.Linear(1, 1, device="meta")(None)  # no tensor is computed
    except TypeError:
        # a traceback reads and analyses the whole files that it passes through
        FormattedTB("Context").structured_traceback(*sys.exc_info())


def settle(start: Start) -> None:
    """In a fork: take on its environment, close the doors, and forget the zygote's random numbers."""
    os.environ.clear()
    os.environ.update(start.env)
    if start.walls:
        from autograder.kernels.walls import enter

        enter(start.walls)
    os.chdir(start.cwd)
    seed = time.time_ns() ^ os.getpid()
    random.seed(seed)
    import numpy
    import torch

    numpy.random.seed(seed % 2**32)
    torch.default_generator.manual_seed(seed % 2**63)
    # IPython puts the working folder here, but not in a Python that was started without it (-P)
    places = [place for place, path in enumerate(sys.path) if Path(path).name == "site-packages"]
    sys.path.insert(min(places, default=0), "")
