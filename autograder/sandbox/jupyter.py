"""A fork that becomes a Jupyter kernel as any client knows it: ipykernel, over ZMQ."""

from __future__ import annotations

import importlib.util
import socket
import sys
from collections.abc import Sequence

from autograder.probe.probe import prepare as prepare_probe
from autograder.sandbox.messages import SpawnRequest
from autograder.sandbox.preload import import_all, settle

Request = SpawnRequest


def prepare(modules: Sequence[str]) -> None:
    """In the zygote: see `preload.import_all`."""
    import_all(modules)
    prepare_probe(modules)


def become(request: SpawnRequest, _sockets: list[socket.socket]) -> None:
    """In a fork: serve as is asked."""
    settle(request)
    from ipykernel.kernelapp import IPKernelApp

    launcher = importlib.util.find_spec("ipykernel_launcher")
    sys.argv = [launcher.origin if launcher and launcher.origin else "", *request.arguments]
    IPKernelApp.launch_instance()
