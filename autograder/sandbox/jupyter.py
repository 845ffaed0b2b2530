"""A fork that becomes a Jupyter kernel as any client knows it: ipykernel, over ZMQ."""

from __future__ import annotations

import importlib.util
import socket
import sys
from collections.abc import Sequence

import msgspec

from autograder.probe.probe import prepare as prepare_probe
from autograder.sandbox.preload import import_all, settle
from autograder.sandbox.spawn import SpawnRequest


def prepare(modules: Sequence[str]) -> None:
    """In the zygote: see `warm.import_all`."""
    import_all(modules)
    prepare_probe()


def become(request: bytes, _sockets: list[socket.socket]) -> None:
    """In a fork: serve as the `SpawnRequest` says."""
    start = msgspec.json.decode(request, type=SpawnRequest)
    settle(start)
    from ipykernel.kernelapp import IPKernelApp

    launcher = importlib.util.find_spec("ipykernel_launcher")
    sys.argv = [launcher.origin if launcher and launcher.origin else "", *start.arguments]
    IPKernelApp.launch_instance()
