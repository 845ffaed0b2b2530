"""Jupyter kernels that are forked, warm, from a process that has imported everything already.

`WarmProvisioner` is a kernel provisioner of jupyter_client, so whatever starts kernels can use it:
``JUPYTER_DEFAULT_PROVISIONER_NAME=warm-provisioner`` makes nbgrader, nbclient and nbval do so.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner
from traitlets import DottedObjectName, Instance, Type

from autograder import sandbox
from autograder.files import copy_files

SECONDS_TO_IMPORT = 120
WORK = Path("/tmp/work")  # where a sandboxed kernel finds its files
# what a sandboxed kernel may know of the environment
HARMLESS = ("PATH", "LANG", "LC_ALL", "TZ", "OMP_NUM_THREADS", "NBGRADER_EXECUTION")


class ZygoteError(Exception):
    """The process that kernels are forked from did not start; the message says why."""


class Zygote:
    """A running zygote, which ends with this process.

    Args:
        isolation: `sandbox.FULL`, or `sandbox.NONE` for a zygote with no walls.
    """

    def __init__(self, isolation: str) -> None:
        self.isolation = isolation
        # sockets live here, and their paths must be short
        self.runs = Path(tempfile.mkdtemp(prefix="ag-", dir="/tmp")).resolve()
        atexit.register(shutil.rmtree, self.runs, ignore_errors=True)
        walls = sandbox.command(self.runs) if isolation == sandbox.FULL else []
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        if walls:
            environment.setdefault("MPLCONFIGDIR", "/tmp/matplotlib")
        with theirs:
            self.process = subprocess.Popen(
                [*walls, sys.executable, "-P", "-m", "autograder.zygote", str(theirs.fileno())],
                pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
        self.requests = ours
        ours.settimeout(SECONDS_TO_IMPORT)
        try:
            ready = ours.recv(64)
        except OSError:
            ready = b""
        if ready != b"ready":
            self.process.kill()
            reason = self.process.communicate()[1].decode(errors="replace").strip()
            raise ZygoteError(f"the process that forks kernels did not start: {reason[-800:]}")

    def new_run(self) -> Path:
        """A folder for one kernel's connection file, sockets and ``files``."""
        run = Path(tempfile.mkdtemp(prefix="", dir=self.runs))
        (run / "files").mkdir()
        return run

    def fork(self, request: dict[str, Any]) -> Fork:
        """Start a kernel as `autograder.zygote.become_kernel` reads the request."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self.requests, [json.dumps(request).encode()], [theirs.fileno()])
        return Fork(ours)

    def close(self) -> None:
        """End the zygote and every kernel that it forked."""
        self.requests.close()
        self.process.wait()
        self.process.stderr.close()
        shutil.rmtree(self.runs, ignore_errors=True)


class Fork:
    """A kernel that a zygote forked, with the methods of `subprocess.Popen` that are needed."""

    stdin = stdout = stderr = None

    def __init__(self, line: socket.socket) -> None:
        self.line = line
        self.returncode: int | None = None
        self._heard = b""
        line.settimeout(SECONDS_TO_IMPORT)
        while b"\n" not in self._heard:
            more = line.recv(256)
            if not more:
                raise ZygoteError("the process that forks kernels has ended")
            self._heard += more
        first, self._heard = self._heard.split(b"\n", 1)
        self.pid = int(first.split()[1])
        line.setblocking(False)

    def poll(self) -> int | None:
        while self.returncode is None:
            try:
                more = self.line.recv(256)
            except BlockingIOError:
                return None
            except OSError:
                more = b""
            self._take(more)
        return self.returncode

    def _take(self, more: bytes) -> None:
        self._heard += more
        if b"exit " in self._heard and self._heard.endswith(b"\n"):
            self.returncode = int(self._heard.split()[1])
        elif not more:
            self.returncode = -signal.SIGKILL  # the zygote itself has ended
        if self.returncode is not None:
            self.line.close()

    async def wait_async(self) -> int:
        while self.returncode is None:
            self._take(await asyncio.get_running_loop().sock_recv(self.line, 256))
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(OSError):
                self.line.send(f"{int(number)} ".encode())

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


_zygote: Zygote | None = None


def shared_zygote(isolation: str = sandbox.NONE) -> Zygote:
    """This process's zygote, started on first use."""
    global _zygote
    if _zygote is None or _zygote.process.poll() is not None or _zygote.isolation != isolation:
        if _zygote is not None:
            _zygote.close()
        _zygote = Zygote(isolation)
    return _zygote


class WarmProvisioner(LocalProvisioner):
    """Forks kernels of this Python environment; starts any other kernel the usual way."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict[str, Any]:
        arguments = _arguments_of_ipykernel(cmd)
        if arguments is None:
            return await super().launch_kernel(cmd, **kwargs)
        self._take(shared_zygote(sandbox.NONE).fork(self._request(arguments, kwargs)))
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
        self.run = shared_zygote(sandbox.FULL).new_run()
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
        self._take(shared_zygote(sandbox.FULL).fork(self._request(arguments, kwargs)))
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
            "env": {name: environment[name] for name in HARMLESS if name in environment},
            "cwd": str(WORK),
            "walls": sandbox.request(self.limits, self.run, WORK),
        }

    async def cleanup(self, restart: bool = False) -> None:
        await super().cleanup(restart)
        shutil.rmtree(self.run, ignore_errors=True)


class QuickClient(AsyncKernelClient):
    """Takes a kernel for ready when it has answered on both channels.

    jupyter_client's own client then listens for another fifth of a second in case more comes, which
    is longer than a warm kernel takes to start.
    """

    async def wait_for_ready(self, timeout: float | None = None) -> None:
        deadline = time.monotonic() + (timeout or SECONDS_TO_IMPORT)
        while time.monotonic() < deadline:
            asked = self.kernel_info()
            if await self._heard(self.shell_channel, asked, "kernel_info_reply", 1.0):
                # published only to those who have subscribed: if this is missed, ask again
                if await self._heard(self.iopub_channel, asked, "status", 0.2):
                    return
            elif not await self.is_alive():
                raise RuntimeError("the kernel died before it was ready")
        raise RuntimeError(f"the kernel was not ready after {timeout} seconds")

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
