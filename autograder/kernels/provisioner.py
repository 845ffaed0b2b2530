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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jupyter_client.provisioning import LocalProvisioner
from traitlets import Instance, List, Unicode

from autograder.files import copy_files
from autograder.kernels import sandbox
from autograder.kernels.direct import WORK
from autograder.kernels.forks import Fork, Zygote, ZygoteClient
from autograder.kernels.limits import Limits
from autograder.kernels.start import Start, Walls

JUPYTER = "autograder.kernels.jupyter"

_own: dict[tuple[str, str, tuple[str, ...]], Zygote] = {}


def own_zygote(
    purpose: str = JUPYTER, isolation: str = sandbox.NONE, modules: Sequence[str] = ()
) -> ZygoteClient:
    """A zygote of this process's own, started when it is first needed.

    Args:
        purpose, isolation, modules: see `Zygote`.
    """
    key = purpose, isolation, tuple(modules)
    zygote = _own.get(key)
    if zygote is None or not zygote.alive():
        zygote = _own[key] = Zygote(purpose, isolation, modules)
    zygote.wait_until_ready()
    return zygote.client


def close() -> None:
    """End this process's own zygotes; the next kernel starts another."""
    while _own:
        _own.popitem()[1].close()


class WarmProvisioner(LocalProvisioner):
    """Forks kernels of this Python environment; starts any other kernel the usual way."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict[str, Any]:
        arguments = _arguments_of_ipykernel(cmd)
        if arguments is None:
            return await super().launch_kernel(cmd, **kwargs)
        self._take(own_zygote().fork(self._start(arguments, kwargs)))
        return self.connection_info

    def _start(self, arguments: list[str], kwargs: dict[str, Any]) -> Start:
        env, cwd = kwargs.get("env", dict(os.environ)), str(kwargs.get("cwd") or Path.cwd())
        return Start(env, cwd, arguments=arguments)

    def _take(self, fork: Fork) -> None:
        self.process: Fork | None = fork
        self.pid = fork.pid

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
    """Forks kernels behind the walls of `autograder.kernels.sandbox`, or does not start any.

    A kernel gets a copy of its working folder. It talks over sockets in the file system, because
    it has a network of its own, in which there is nobody.
    """

    limits = Instance(Limits, args=(), help="what one notebook may use")
    modules = List(
        Unicode(), ["course_utils.signoff"], help="modules of the course that it may import"
    )

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        self.run = self._zygote().new_run()
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
        kernel = self._zygote().fork(self._start(arguments, kwargs))
        self._take(kernel)
        # a client that knocks before there is a door waits a tenth of a second before the next try
        while kernel.poll() is None and not all(
            Path(f"{self.run}/k-{port}").exists() for port in range(1, 6)
        ):
            await asyncio.sleep(0.002)
        return self.connection_info

    def _zygote(self) -> ZygoteClient:
        return own_zygote(isolation=sandbox.FULL, modules=self.modules)

    def _start(self, arguments: list[str], kwargs: dict[str, Any]) -> Start:
        given = kwargs.get("env", os.environ)
        known = {name: given[name] for name in sandbox.HARMLESS if name in given}
        return Start(
            known, WORK, Walls(self.limits, WORK, tuple(self.modules), str(self.run)), arguments
        )

    async def cleanup(self, restart: bool = False) -> None:
        await super().cleanup(restart)
        shutil.rmtree(self.run, ignore_errors=True)


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
