"""A fork that becomes a Jupyter kernel as any client knows it: ipykernel, over ZMQ."""

from __future__ import annotations

import importlib.util
import socket
import sys
from collections.abc import Sequence

import msgspec

from autograder.kernels.start import Start
from autograder.kernels.warm import import_all, settle
from autograder.probe.probe import prepare as prepare_probe


def prepare(modules: Sequence[str]) -> None:
    """In the zygote: see `warm.import_all`."""
    import_all(modules)
    prepare_probe()


def become(request: bytes, _sockets: list[socket.socket]) -> None:
    """In a fork: serve as the `Start` says."""
    start = msgspec.json.decode(request, type=Start)
    settle(start)
    from ipykernel.kernelapp import IPKernelApp

    launcher = importlib.util.find_spec("ipykernel_launcher")
    sys.argv = [launcher.origin if launcher and launcher.origin else "", *start.arguments]
    IPKernelApp.launch_instance()
