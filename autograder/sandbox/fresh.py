"""A kernel in a process of its own, where no process may be forked from one that is warm: on macOS.

    python -P -m autograder.sandbox.fresh DESCRIPTOR [MODULE ...]

It imports all that a zygote of kernels has imported already, which takes some seconds, and then is the
same kernel and answers the same channel. The `SpawnRequest` comes on its standard input.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence

import msgspec

from autograder.sandbox import bubblewrap
from autograder.sandbox.messages import SpawnRequest


class FreshKernel(subprocess.Popen[bytes]):
    """A started kernel, with what `forks.Fork` has beside the methods of `subprocess.Popen`."""

    lost = False  # it has no zygote to end with

    def processor_time(self) -> float:
        """Nothing that is known, so what counts is the clock."""
        return 0.0

    def close(self) -> None:
        """Let go of the process, which is killed."""
        self.kill()
        self.wait()


class FreshKernels:
    """Starts kernels as a `forks.ZygoteClient` forks them; there is no sandbox around them."""

    isolation = bubblewrap.NONE

    def __init__(self, modules: Sequence[str] = ()) -> None:
        self.modules = tuple(modules)

    def fork(self, request: SpawnRequest, channel: socket.socket) -> FreshKernel:
        """Start a kernel, which gets a copy of its end of the channel."""
        places = [*map(str, bubblewrap.places_of(self.modules))]
        environment = dict(os.environ)
        path = os.pathsep.join(filter(None, [*places, environment.get("PYTHONPATH")]))
        if path:
            environment["PYTHONPATH"] = path
        descriptor = channel.fileno()
        command = [sys.executable, "-P", "-m", "autograder.sandbox.fresh", str(descriptor)]
        kernel = FreshKernel(
            [*command, *self.modules],
            pass_fds=[descriptor],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for whoever has started it
        )
        assert kernel.stdin is not None
        with kernel.stdin as request_pipe:
            request_pipe.write(msgspec.json.encode(request))
        return kernel


def main(descriptor: int, *modules: str) -> None:
    from autograder.sandbox import kernel

    request = msgspec.json.decode(sys.stdin.buffer.read(), type=SpawnRequest)
    kernel.prepare(modules)
    kernel.become(request, [socket.socket(fileno=descriptor)])


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
