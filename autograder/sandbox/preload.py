"""What a zygote of kernels imports, and what each of its forks does before it is a kernel."""

from __future__ import annotations

import contextlib
import importlib
import os
import random
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from msgspec import structs

from autograder import patches
from autograder.arrays import INSTALLED, pytorch
from autograder.probe.messages import ModuleRequest, Observation, Questions
from autograder.probe.runners import run_case
from autograder.probe.wire import decode, encode
from autograder.sandbox import bubblewrap, silent_cell
from autograder.sandbox.limits import keep_threads_to, keep_to
from autograder.sandbox.messages import SpawnRequest

# what notebooks and kernels import, also what they import late
MODULES = (
    "ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.debugger", "tornado.platform.asyncio",
    "tornado.queues", "IPython.core.completerlib", "IPython.core.logger", "IPython.core.oinspect",
    "IPython.core.completer", "IPython.core.magics",
    "IPython.core.payloadpage", "IPython.core.pylabtools", "IPython.extensions.storemagic", "einops",
    "jaxtyping",
    "matplotlib.pyplot", "matplotlib_inline.config", "numpy.random", "numpy.testing", "sqlite3",
    "torch.nn.functional", "torch.utils.flop_counter", "dateutil.tz", "autograder.probe.drawing",
)  # fmt: skip

WITH_PYTORCH = ("autograder.probe.memory", "autograder.probe.side_effects")


def import_all(modules: Sequence[str]) -> None:
    """Import what notebooks and kernels import, and do once what each would do again."""
    # ipykernel sets this before a notebook's first import; here the import comes first
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    for name in (*MODULES, *modules):
        if name in modules or find_spec(name.partition(".")[0]):
            importlib.import_module(name)
    with contextlib.suppress(ImportError):  # Windows has none
        importlib.import_module("resource")
    for name in modules:
        # a module may have something to look up once
        getattr(sys.modules[name], "installed_packages", lambda: None)()
    patches.for_kernels()
    silent_cell.put_in_place()
    if not bubblewrap.missing_library():
        from autograder.sandbox.confine import prepare

        prepare(modules)
    if INSTALLED:
        for name in WITH_PYTORCH:
            importlib.import_module(name)
        exercise()
        stop_once()


def forget_folders() -> None:
    """Drop what Python knows of the folders it imports from, last of all: each fork would, and takes longer."""
    sys.path_importer_cache.clear()


def exercise() -> None:
    """Use once, on tiny tensors, what nearly every notebook uses.

    An operation's first use costs more than all later ones, and a fork begins with what its parent
    has used. Gradients are left out where PyTorch could wake up a GPU for them.
    """
    import torch
    from torch import nn

    x = torch.randn(2, 3, 4)
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    scores = (x @ x.transpose(-2, -1) / 4**0.5).masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    torch.einsum("btd,bsd->bts", x, x).exp().sum(-1, keepdim=True)
    torch.where(mask, weights, 0.0).argmax(-1).tolist()
    torch.stack([x, torch.zeros_like(x)]).flatten(0, 1).unflatten(0, (2, 2)).permute(1, 0, 2, 3)
    torch.cat(x.chunk(2, dim=-1), dim=-1).reshape(6, 4).std().item()
    torch.allclose(x, x.double().float()), torch.equal(x, x), torch.arange(3) < 2
    repr(x), x.numpy().mean(axis=0), torch.tensor([[1.0]])
    layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 4))
    layers.add_module("norm", nn.LayerNorm(4))
    request = ModuleRequest(
        subject="layers",
        arguments=[x],
        names=["x"],
        method="forward",
        state=layers.state_dict(),
        training=True,
        strided=True,
        gradient=torch.version.cuda is None,
    )
    double = structs.replace(request, arguments=[x.double()], dtype="float64")
    run_case(lambda: layers, double)
    decode(encode(Questions(requests=[request])), Questions)
    decode(encode([run_case(lambda: layers.float(), request)]), list[Observation])


def stop_once() -> None:
    """Make a traceback, which reads and analyses the whole files that it passes through."""
    import torch
    from IPython.core.ultratb import FormattedTB

    try:
        torch.nn.Linear(1, 1, device="meta")(None)  # no tensor is computed
    except TypeError:
        FormattedTB("Context").structured_traceback(*sys.exc_info())


def settle(start: SpawnRequest) -> None:
    """In a fork: take on its environment, confine itself, and forget the zygote's random numbers."""
    os.environ.clear()
    os.environ.update(start.env)
    if start.limits and start.confined:
        from autograder.sandbox.confine import enter

        enter(start.limits, Path(start.cwd), start.modules)
    elif start.limits:
        keep_to(start.limits)
        keep_threads_to(start.limits)
    os.chdir(start.cwd)
    seed = time.time_ns() ^ os.getpid()
    random.seed(seed)
    import numpy

    numpy.random.seed(seed % 2**32)
    if torch := pytorch():
        torch.default_generator.manual_seed(seed % 2**63)
    # IPython puts the working folder here, but not in a Python that was started without it (-P)
    places = [place for place, path in enumerate(sys.path) if Path(path).name == "site-packages"]
    sys.path.insert(min(places, default=0), "")
