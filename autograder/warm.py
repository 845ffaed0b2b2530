"""Jupyter kernels that are forked, warm, from a process that has imported everything already.

`WarmProvisioner` is a kernel provisioner of jupyter_client, so whatever starts kernels can use it:
``JUPYTER_DEFAULT_PROVISIONER_NAME=warm-provisioner`` makes nbgrader, nbclient and nbval do so.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import time
from pathlib import Path
from queue import Empty
from typing import Any

import zmq
from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner
from traitlets import DottedObjectName, Instance, Type

from autograder import sandbox
from autograder.files import copy_files
from autograder.forks import SECONDS_TO_IMPORT, Fork, Line, Zygote, ZygoteError

LARGEST_MESSAGE = 100 << 20  # more than the probe's largest answers take as text
WORK = Path("/tmp/work")  # where a sandboxed kernel finds its files

_line: Line | None = None
_own: Zygote | None = None


def use(line: Line) -> None:
    """Fork this process's kernels from a zygote of another process."""
    global _line
    _line = line


def kernels(isolation: str = sandbox.NONE) -> Line:
    """Where this process's kernels are forked: the zygote it was told to use, or its own."""
    global _line, _own
    if _line is None or _line.isolation != isolation or (_own and not _own.alive()):
        close()
        _own = Zygote("kernel", isolation)
        _own.wait_until_ready()
        _line = _own.line
    return _line


def close() -> None:
    """End this process's own zygote, if it has one; the next kernel starts another."""
    global _line, _own
    if _own:
        _own.close()
    _line = _own = None


class WarmProvisioner(LocalProvisioner):
    """Forks kernels of this Python environment; starts any other kernel the usual way."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict[str, Any]:
        arguments = _arguments_of_ipykernel(cmd)
        if arguments is None:
            return await super().launch_kernel(cmd, **kwargs)
        self._take(kernels(sandbox.NONE).fork(self._request(arguments, kwargs)))
        return self.connection_info

    def _request(self, arguments: list[str], kwargs: dict[str, Any]) -> dict[str, Any]:
        return {
            "arguments": arguments,
            "env": kwargs.get("env", dict(os.environ)),
            "cwd": str(kwargs.get("cwd") or Path.cwd()),
            "walls": None,
        }

    def _take(self, fork: Fork) -> None:
        self.process, self.pid = fork, fork.pid

    async def kill(self, restart: bool = False) -> None:
        await super().kill(restart)
        if isinstance(self.process, Fork):
            # whoever asked looks again only after a tenth of a second
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait_async(), timeout=2)

    async def wait(self) -> int | None:
        if not isinstance(self.process, Fork):
            return await super().wait()
        status = await self.process.wait_async()
        self.process = None
        return status


class SandboxedProvisioner(WarmProvisioner):
    """Forks kernels behind the walls of `autograder.sandbox`, or does not start any.

    A kernel gets a copy of its working folder. It talks over sockets in the file system, because
    it has a network of its own, in which there is nobody.
    """

    limits = Instance(sandbox.Limits, args=(), help="what one notebook may use")

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        self.run = kernels(sandbox.FULL).new_run()
        manager = self.parent
        manager.transport, manager.ip = "ipc", str(self.run / "k")
        manager.connection_file = str(self.run / "kernel.json")
        return await super().pre_launch(**kwargs)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict[str, Any]:
        arguments = _arguments_of_ipykernel(cmd)
        if arguments is None:
            raise sandbox.SandboxError(
                f"only kernels of this Python, {sys.executable}, run in the sandbox; asked for {cmd[0]}"
            )
        copy_files(Path(kwargs.get("cwd") or Path.cwd()), self.run / "files")
        self._take(kernels(sandbox.FULL).fork(self._request(arguments, kwargs)))
        # a client that knocks before there is a door waits a tenth of a second before the next try
        while self.process.poll() is None and not all(
            Path(f"{self.run}/k-{port}").exists() for port in range(1, 6)
        ):
            await asyncio.sleep(0.002)
        return self.connection_info

    def _request(self, arguments: list[str], kwargs: dict[str, Any]) -> dict[str, Any]:
        environment = kwargs.get("env", os.environ)
        return {
            "arguments": arguments,
            "env": {name: environment[name] for name in sandbox.HARMLESS if name in environment},
            "cwd": str(WORK),
            "walls": sandbox.request(self.limits, self.run, WORK),
        }

    async def cleanup(self, restart: bool = False) -> None:
        await super().cleanup(restart)
        shutil.rmtree(self.run, ignore_errors=True)


class QuickClient(AsyncKernelClient):
    """Takes a kernel for ready when it has answered on both channels.

    jupyter_client's own client then listens for another fifth of a second in case more comes, which
    is longer than a warm kernel takes to start. Messages that are too large to read are dropped.
    """

    def start_channels(self, **kwargs: bool) -> None:
        self.context.setsockopt(zmq.MAXMSGSIZE, LARGEST_MESSAGE)
        super().start_channels(**kwargs)

    async def wait_for_ready(self, timeout: float | None = None) -> None:
        deadline = time.monotonic() + (timeout or SECONDS_TO_IMPORT)
        while time.monotonic() < deadline:
            asked = self.kernel_info()
            if await self._heard(self.shell_channel, asked, "kernel_info_reply", 1.0):
                # published only to those who have subscribed: if this is missed, ask again
                if await self._heard(self.iopub_channel, asked, "status", 0.2):
                    return
            elif not await self.is_alive():
                raise ZygoteError("a kernel died before it was ready")
        raise ZygoteError(f"a kernel was not ready after {timeout} seconds")

    async def _heard(self, channel: Any, asked: str, kind: str, seconds: float) -> bool:
        """Whether the last word of this kind about a request comes in time; others are dropped."""
        try:
            while True:
                message = await channel.get_msg(timeout=seconds)
                about = message["parent_header"].get("msg_id")
                last = message["content"].get("execution_state", "idle") == "idle"
                if about == asked and message["msg_type"] == kind and last:
                    return True
        except Empty:
            return False


class QuickManager(AsyncKernelManager):
    """Talks to its kernel through a `QuickClient`."""

    client_class = DottedObjectName("autograder.warm.QuickClient")
    client_factory = Type(klass=QuickClient)


def _arguments_of_ipykernel(cmd: list[str]) -> list[str] | None:
    """What follows the launcher in a command that starts a kernel of this Python, else None."""
    own, found = Path(sys.executable), shutil.which(cmd[0])
    if found is None or not Path(found).name.startswith("python"):
        return None
    if not Path(found).parent.samefile(own.parent):
        return None
    for place, word in enumerate(cmd):
        if word in ("ipykernel", "ipykernel_launcher"):
            return cmd[place + 1 :]
    return None
