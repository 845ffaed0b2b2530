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

from autograder.sandbox import bubblewrap
from autograder.sandbox.forks import Fork, Zygote, ZygoteClient
from autograder.sandbox.messages import SpawnRequest

JUPYTER = "autograder.sandbox.jupyter"

_own: dict[tuple[str, str, tuple[str, ...]], Zygote] = {}


def own_zygote(
    purpose: str = JUPYTER, isolation: str = bubblewrap.NONE, modules: Sequence[str] = ()
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

    def _start(self, arguments: list[str], kwargs: dict[str, Any]) -> SpawnRequest:
        env, cwd = kwargs.get("env", dict(os.environ)), str(kwargs.get("cwd") or Path.cwd())
        return SpawnRequest(env=env, cwd=cwd, arguments=arguments)

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
