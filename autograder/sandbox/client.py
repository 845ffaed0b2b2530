"""The trusted end of a channel to a forked kernel, which may send anything, or nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NoReturn

from msgspec import structs

from autograder.faults import GraderError
from autograder.probe.deadline import waited
from autograder.probe.disallowed import Disallowed
from autograder.probe.messages import Ending
from autograder.probe.wire import joined
from autograder.sandbox import bubblewrap
from autograder.sandbox.channel import Channel, ChannelClosed
from autograder.sandbox.forks import SECONDS_TO_IMPORT, ZygoteClient, ZygoteError
from autograder.sandbox.fresh import FreshKernels
from autograder.sandbox.limits import Limits
from autograder.sandbox.messages import (
    REPLIES,
    Answer,
    Answered,
    CellOrder,
    Done,
    FileOrder,
    Order,
    Output,
    ProbeOrder,
    Ready,
    Reply,
    SpawnRequest,
)

WORK = "/tmp/work"  # where a sandboxed kernel finds its files
# beyond what the kernel itself keeps to, before it is taken for stuck
SECONDS_OF_GRACE, SECONDS_BETWEEN_LOOKS = 5, 1


class KernelNotStarted(GraderError):
    """A kernel's process failed before the first line of a submission could run; the message says how."""


class KernelDied(Exception):
    """The kernel's process has ended, or sends what it never would by itself.

    Attributes:
        how: it ended.
    """

    def __init__(self, message: str, how: Ending) -> None:
        super().__init__(message)
        self.how = how


class KernelStuck(Exception):
    """The kernel does not answer in time, not even when it was told to stop."""


class KernelSpent(Exception):
    """The kernel has waited as long as a notebook may in all, and is asked no more."""


class Patience:
    """For how long replies are waited for, however many come meanwhile.

    Attributes:
        until: when it is looked at again, by `time.monotonic`.
        late: when its time was up, and the processor time of the kernel then; None before.
    """

    def __init__(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds
        self.late: tuple[float, float] | None = None


def _how_it_ended(code: int) -> Ending:
    """What the exit status of a kernel tells; the first process of a namespace exits where others are ended."""
    if abs(code) == signal.SIGXCPU:
        return Ending.TIME
    if code >= 0:
        return Ending.EXIT
    return Ending.KILLED if code == -signal.SIGKILL else Ending.CRASH


class KernelClient(contextlib.AbstractContextManager["KernelClient"]):
    """A kernel of a zygote's own kind, `autograder.sandbox.kernel`, for one notebook.

    Args:
        files: (name, content) of the files beside the notebook, with plain relative names.
        disallowed_lists: what it will be told to close while it is asked.

    Raises:
        ZygoteError: the zygote is no more.
        KernelNotStarted: the kernel's process failed before anything could run in it.
    """

    def __init__(
        self,
        zygote: ZygoteClient | FreshKernels,
        limits: Limits,
        files: Collection[tuple[str, bytes]] = (),
        disallowed_lists: Sequence[Disallowed] = (),
    ) -> None:
        self.limits = limits
        self._spent = 0.0  # seconds on the clock
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if zygote.isolation != bubblewrap.FULL:
            self._folder = tempfile.TemporaryDirectory(
                prefix=f"ag-{os.getpid()}-", ignore_cleanup_errors=True
            )
        start = SpawnRequest(
            env=bubblewrap.environment(zygote.isolation),
            cwd=self._folder.name if self._folder else WORK,
            limits=None if zygote.isolation == bubblewrap.NONE else limits,
            confined=zygote.isolation == bubblewrap.FULL,
            modules=zygote.modules,
            disallowed_lists=disallowed_lists,
            files=len(files),
        )
        if zygote.isolation == bubblewrap.USER:
            home = dict.fromkeys(("HOME", "IPYTHONDIR", "MPLCONFIGDIR"), start.cwd)
            start = structs.replace(start, env={**start.env, **home, "USER": "student"})
            os.chown(start.cwd, bubblewrap.OTHER_USER, bubblewrap.OTHER_USER)
        ours, theirs = socket.socketpair()
        self.channel: Channel[Reply] = Channel(ours, REPLIES)
        try:
            with theirs:
                self.process = zygote.fork(start, theirs)
        except ZygoteError:
            self.__exit__()
            raise
        try:
            self._begin(files)
        except (KernelNotStarted, ZygoteError):
            self.__exit__()
            raise

    def _begin(self, files: Collection[tuple[str, bytes]]) -> None:
        """Hand over the files, and hear that the kernel stands before its first line."""
        try:
            with contextlib.suppress(KernelDied):  # it may have said why
                for name, content in files:
                    self._send(FileOrder(name), content)
            ready, _ = self._receive(Patience(SECONDS_TO_IMPORT))
        except KernelDied:
            end = f"its process ended with status {self.process.returncode}"
            raise KernelNotStarted(f"a kernel did not start: {end}") from None
        except KernelStuck:
            raise KernelNotStarted("a kernel did not start in time") from None
        failed = ready.failed if isinstance(ready, Ready) else f"found {ready!r}"
        if failed:
            failure = KernelNotStarted(f"a kernel did not start: {failed.splitlines()[-1]}")
            failure.add_note(failed)
            raise failure

    def run(
        self, code: str, cell: str, take: Callable[[str, dict[str, Any]], None], asks: bool = False
    ) -> Done:
        """Run a cell.

        Args:
            take: is given the type and content of each output message, as it comes.
            asks: see `CellOrder`.

        Raises:
            KernelDied, KernelStuck, KernelSpent: nothing more will come of this kernel.
            ZygoteError: it ended with its zygote, by no doing of its own.
        """
        cpu, seconds = self.limits.seconds_per_cell, self.limits.clock_per_cell
        with self._timed():
            self._send(CellOrder(code, cell, cpu, seconds, asks))
            patience = Patience(seconds + SECONDS_OF_GRACE)
            while True:
                reply, _ = self._receive(patience)
                if isinstance(reply, Done):
                    return reply
                if isinstance(reply, Output):
                    take(reply.kind, reply.content)

    def ask(self, message: bytes, seen: list[bytes] | None = None) -> bytes:
        """What the probe answers to a message, which is encoded `Questions`; errors are those of `run`.

        Args:
            seen: where each answer is put as it comes, behind those to what was asked before.
        """
        cpu, seconds = self.limits.seconds_per_call, self.limits.clock_per_call
        seen = [] if seen is None else seen
        with self._timed():
            self._send(ProbeOrder(cpu, seconds), message)
        while True:
            with self._timed():
                reply, body = self._next_answer(Patience(seconds + SECONDS_OF_GRACE))
            if isinstance(reply, Answered):
                return joined(seen)
            seen.append(body)

    def _next_answer(self, patience: Patience) -> tuple[Reply, bytes]:
        while True:
            reply, body = self._receive(patience)
            if isinstance(reply, Answer | Answered):
                return reply, body

    @contextlib.contextmanager
    def _timed(self) -> Iterator[None]:
        """Count the time of what runs inside; `KernelSpent` where that before it has waited too long."""
        most, spent = self.limits.seconds, self._spent
        if spent > most and waited(spent, self.process.processor_time()) > most:
            raise KernelSpent
        began = time.monotonic()
        try:
            yield
        finally:
            self._spent += time.monotonic() - began

    def _send(self, order: Order, body: bytes = b"") -> None:
        # who has said that a cell is done and goes on with it may not read what comes next
        patience = self.limits.clock_per_cell + SECONDS_OF_GRACE
        try:
            self.channel.send(order, body, time.monotonic() + patience)
        except TimeoutError:
            raise KernelStuck from None
        except ChannelClosed as error:
            self._died(error)

    def _receive(self, patience: Patience) -> tuple[Reply, bytes]:
        """The next reply: in time, or later as long as the kernel computes, but no more than a cell may."""
        most = self.limits.seconds_per_cell + SECONDS_OF_GRACE
        while True:
            try:
                return self.channel.receive(patience.until)
            except ChannelClosed as error:
                self._died(error)
            except TimeoutError:
                now, computed = time.monotonic(), self.process.processor_time()
            if not patience.late:
                patience.late = now, computed
            clock, cpu = now - patience.late[0], computed - patience.late[1]
            if waited(clock, cpu) > SECONDS_OF_GRACE or cpu > most:
                raise KernelStuck
            patience.until = now + SECONDS_BETWEEN_LOOKS

    def _died(self, error: ChannelClosed) -> NoReturn:
        until = time.monotonic() + SECONDS_BETWEEN_LOOKS
        while not self.ended and time.monotonic() < until:
            time.sleep(0.005)
        by_itself = self.ended
        self.process.kill()
        code = self.process.wait()
        how = _how_it_ended(code) if by_itself or code != -signal.SIGKILL else Ending.JUNK
        if self.process.lost:
            raise ZygoteError("a kernel ended with what it was forked from") from error
        raise KernelDied(str(error), how) from error

    @property
    def ended(self) -> bool:
        """Whether its process has."""
        return self.process.poll() is not None

    def __exit__(self, *_: object) -> None:
        """Let go of the kernel, which its zygote then kills."""
        self.channel.close()
        if hasattr(self, "process"):
            self.process.close()
        if self._folder:
            self._folder.cleanup()
