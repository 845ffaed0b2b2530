"""The trusted end of a channel to a forked kernel, which may send anything, or nothing."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autograder.probe.disallowed import Disallowed
from autograder.sandbox import bubblewrap
from autograder.sandbox.channel import Channel, ChannelClosed
from autograder.sandbox.forks import ZygoteClient, ZygoteError
from autograder.sandbox.fresh import FreshKernels
from autograder.sandbox.limits import Limits
from autograder.sandbox.spawn import Confinement, SpawnRequest

WORK = "/tmp/work"  # where a sandboxed kernel finds its files
# beyond what the kernel itself keeps to, before it is taken for stuck
SECONDS_OF_GRACE = 5


class KernelDied(Exception):
    """The kernel's process has ended, or sends what it never would by itself."""


class KernelStuck(Exception):
    """The kernel does not answer in time, not even when it was told to stop."""


@dataclass(frozen=True)
class Done:
    """How a cell ended: its number in the order of execution, and "ok", "error", "late" or "exit"."""

    count: int | None
    status: str


class KernelClient(contextlib.AbstractContextManager["KernelClient"]):
    """A kernel of a zygote's own kind, `autograder.sandbox.kernel`, for one notebook.

    Args:
        zygote: where to fork it.
        limits: what the notebook may use.
        files: (name, content) of the files beside the notebook, with plain relative names.
        closed: what no code in it can use, from its first cell on.
        bars: what it will be told to close while it is asked.

    Raises:
        ZygoteError: the zygote is no more.
        KernelDied, KernelStuck: the kernel does not take the files.
    """

    def __init__(
        self,
        zygote: ZygoteClient | FreshKernels,
        limits: Limits,
        files: Iterable[tuple[str, bytes]] = (),
        closed: Disallowed | None = None,
        disallowed_lists: Sequence[Disallowed] = (),
    ) -> None:
        self.limits = limits
        self._deadline = time.monotonic() + limits.seconds
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if zygote.isolation == bubblewrap.FULL:
            confinement = Confinement(limits, WORK, zygote.modules)
            known = {name: os.environ[name] for name in bubblewrap.HARMLESS if name in os.environ}
            start = SpawnRequest(
                known, WORK, confinement, closed=closed, disallowed_lists=disallowed_lists
            )
        else:
            self._folder = tempfile.TemporaryDirectory(
                prefix=f"ag-{os.getpid()}-", ignore_cleanup_errors=True
            )
            start = SpawnRequest(
                dict(os.environ),
                self._folder.name,
                closed=closed,
                disallowed_lists=disallowed_lists,
            )
        if self._folder and zygote.isolation == bubblewrap.USER:
            place = self._folder.name
            os.chown(place, bubblewrap.OTHER_USER, bubblewrap.OTHER_USER)
            known = {name: os.environ[name] for name in bubblewrap.HARMLESS if name in os.environ}
            known |= {"HOME": place, "USER": "student", "IPYTHONDIR": place, "MPLCONFIGDIR": place}
            start = replace(start, env=known, limits=limits)
        ours, theirs = socket.socketpair()
        self.channel = Channel(ours)
        try:
            with theirs:
                self.process = zygote.fork(start, theirs)
        except ZygoteError:
            self.__exit__()
            raise
        try:
            for name, content in files:
                self._send({"do": "file", "name": name}, content)
        except (KernelDied, KernelStuck, ZygoteError):
            self.__exit__()
            raise

    def run(self, code: str, cell: str, take: Callable[[str, dict[str, Any]], None]) -> Done:
        """Run a cell.

        Args:
            code: its source.
            cell: its id.
            take: is given the type and content of each output message, as it comes.

        Raises:
            KernelDied, KernelStuck: nothing more will come of this kernel.
            ZygoteError: it ended with its zygote, by no doing of its own.
        """
        cpu, seconds = self.limits.seconds_per_cell, self._clock(self.limits.clock_per_cell)
        self._send({"do": "cell", "code": code, "cell": cell, "cpu": cpu, "seconds": seconds})
        deadline = time.monotonic() + seconds + SECONDS_OF_GRACE
        while True:
            header, _ = self._receive(deadline)
            kind, content = header.get("type"), header.get("content")
            if kind == "done":
                count = header.get("count")
                plain = (
                    isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 1 << 31
                )
                return Done(count if plain else None, str(header.get("status")))
            if isinstance(kind, str) and isinstance(content, dict):
                take(kind, content)

    def ask(self, message: bytes) -> bytes:
        """What the probe answers to a message.

        Raises:
            KernelDied, KernelStuck, ZygoteError: as from `run`.
        """
        cpu, seconds = self.limits.seconds_per_call, self._clock(self.limits.clock_per_call)
        self._send({"do": "probe", "cpu": cpu, "seconds": seconds}, message)
        deadline = time.monotonic() + self._clock(self.limits.clock_per_cell) + SECONDS_OF_GRACE
        while True:
            header, answers = self._receive(deadline)
            if header.get("type") == "answers":
                return answers

    @property
    def seconds_left(self) -> float:
        """Of those on the clock that the notebook has."""
        return self._deadline - time.monotonic()

    def _clock(self, seconds: float) -> float:
        """Time on the clock, within what is left of the notebook's."""
        if self.seconds_left <= 0:
            raise KernelStuck
        return min(seconds, self.seconds_left)

    def _send(self, header: dict[str, Any], body: bytes = b"") -> None:
        # who has said that a cell is done and goes on with it may not read what comes next
        patience = self._clock(self.limits.clock_per_cell) + SECONDS_OF_GRACE
        try:
            self.channel.send(header, body, time.monotonic() + patience)
        except TimeoutError:
            raise KernelStuck from None
        except ChannelClosed as error:
            self._died(error)

    def _receive(self, deadline: float) -> tuple[dict[str, Any], bytes]:
        try:
            return self.channel.receive(min(deadline, self._deadline + SECONDS_OF_GRACE))
        except TimeoutError:
            raise KernelStuck from None
        except ChannelClosed as error:
            self._died(error)
            raise  # never reached

    def _died(self, error: ChannelClosed) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.lost:
            raise ZygoteError("a kernel ended with what it was forked from") from error
        raise KernelDied(str(error)) from error

    def __exit__(self, *_: object) -> None:
        """Let go of the kernel, which its zygote then kills."""
        self.channel.close()
        if hasattr(self, "process"):
            self.process.close()
        if self._folder:
            self._folder.cleanup()
