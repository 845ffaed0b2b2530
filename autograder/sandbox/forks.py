"""Processes that are forked from one which has imported everything already, seen from outside."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from autograder.sandbox import bubblewrap

SECONDS_TO_IMPORT, SECONDS_TO_END = 120, 10
# workers compute many small things side by side: more threads would only wait for each other
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# bubblewrap ends with the thread that has started it, so that is one which stays
_starter = ThreadPoolExecutor(max_workers=1)
ASKS = 0  # in the place of a signal's number: how much processor time a fork has used
LOST = "kernels have ended with the process that they are forked from"


def remove_leftovers() -> None:
    """Remove the folders of processes that were killed."""
    for folder in Path("/tmp").glob("ag-*-*"):
        with contextlib.suppress(ValueError, PermissionError):  # not ours, so not our business
            try:
                os.kill(int(folder.name.split("-")[1]), 0)
            except ProcessLookupError:
                shutil.rmtree(folder, ignore_errors=True)


class ZygoteError(Exception):
    """The process that others are forked from did not start, or ended; the message says why."""


class Zygote:
    """A running `autograder.sandbox.zygote`, which ends with this process.

    It imports while this process goes on; what is asked of it meanwhile waits.

    Args:
        purpose: the module that says what its forks become, see `autograder.sandbox.zygote`.
        isolation: `bubblewrap.FULL`, or for a zygote without a sandbox `bubblewrap.NONE` and `bubblewrap.USER`, the
            second of which runs as another user than this process, which must be root.
        modules: of the course, those that its forks may import; also what ``prepare`` is given.
        packages: others that its forks find where this process does, which no sandbox keeps from them.
    """

    def __init__(
        self,
        purpose: str,
        isolation: str = bubblewrap.NONE,
        modules: Sequence[str] = (),
        packages: Sequence[str] = (),
    ) -> None:
        self.isolation, self.modules = isolation, tuple(modules)
        self._ready = False
        remove_leftovers()
        confinement = bubblewrap.command(modules) if isolation == bubblewrap.FULL else []
        self.requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = bubblewrap.environment(isolation, "PYTHONPATH") | ONE_THREAD
        # the folder in which a class is graded may have packages of its own, as a restored one does
        places = [*map(str, bubblewrap.places_of((*modules, *packages)))]
        if places:
            rest = filter(None, [environment.get("PYTHONPATH")])
            environment["PYTHONPATH"] = os.pathsep.join([*places, *rest])
        if isolation != bubblewrap.NONE:  # a fork can read what its zygote was started with
            environment["MPLCONFIGDIR"] = "/tmp/matplotlib"
        other: dict[str, Any] = {}
        if isolation == bubblewrap.USER:
            environment |= {"HOME": "/tmp", "USER": "student"}  # no account says so
            other = {
                "user": bubblewrap.OTHER_USER,
                "group": bubblewrap.OTHER_USER,
                "extra_groups": [],
                "cwd": "/",
            }
        start: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen
        with theirs:
            self.process = _starter.submit(
                start,
                [*confinement, os.path.abspath(sys.executable), "-P", "-m", "autograder.sandbox.zygote",
                 str(theirs.fileno()), str(os.getpid()), purpose, isolation, *modules],
                pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                **other,
                start_new_session=True,  # Ctrl-C is for this process, which then ends the others
            ).result()  # fmt: skip

    def wait_until_ready(self) -> None:
        """Wait until all is imported; from then on this returns at once. A `ZygoteError` says why it never will."""
        if self._ready:
            return
        self.requests.settimeout(SECONDS_TO_IMPORT)
        try:
            ready = self.requests.recv(64)
        except OSError:
            ready = b""
        if ready != b"ready":
            self._kill()
            reason = self.process.communicate()[1].decode(errors="replace").strip()
            raise ZygoteError(f"the process that others fork from did not start: {reason[-800:]}")
        self._ready = True

    @property
    def client(self) -> ZygoteClient:
        """What other processes need to ask this zygote for forks."""
        return ZygoteClient(self.requests, Address(self.isolation, self.modules))

    def alive(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        """End the zygote and every process that it forked."""
        if not self._ready:  # it imports, for nobody
            self._kill()
        with contextlib.suppress(OSError):
            self.requests.shutdown(socket.SHUT_RDWR)  # also the ends that other processes hold
        self.requests.close()
        try:
            self.process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._kill()
            self.process.wait()
        if self.process.stderr:
            self.process.stderr.close()

    def _kill(self) -> None:
        """Kill it with its children: one of bubblewrap's waits for its parent at first, and would for ever."""
        if self.alive():
            os.killpg(self.process.pid, signal.SIGKILL)


@dataclass(frozen=True)
class Address:
    """What another process must know of a zygote and its forks, beside the socket on which it reads."""

    isolation: str
    modules: tuple[str, ...]


class ZygoteClient:
    """A way to a zygote, perhaps another process's, by the socket on which it reads."""

    def __init__(self, requests: socket.socket, address: Address) -> None:
        self.requests, self.address = requests, address
        self.isolation, self.modules = address.isolation, address.modules

    def fork(self, request: object, *sockets: socket.socket) -> Fork:
        """Ask for a fork.

        Args:
            request: for the purpose's ``become``, of its type ``Request``.
            sockets: what the fork is handed, copies of which it then owns.

        Raises:
            ZygoteError: the zygote is no more.
        """
        ours, theirs = socket.socketpair()
        descriptors = [theirs.fileno(), *(item.fileno() for item in sockets)]
        with theirs:
            try:
                socket.send_fds(self.requests, [msgspec.json.encode(request)], descriptors)
            except OSError as error:
                ours.close()
                raise ZygoteError("the process that others fork from has ended") from error
        return Fork(ours)


class Fork:
    """A forked process, with the methods of `subprocess.Popen` that are needed."""

    stdin = stdout = stderr = None

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.returncode: int | None = None
        self.lost = False  # ended with its zygote, by no doing of its own
        self._seconds, self._told = 0.0, 0
        self._heard = b""
        channel.settimeout(SECONDS_TO_IMPORT)
        while b"\n" not in self._heard:
            try:
                more = channel.recv(256)
            except OSError:
                more = b""
            if not more:
                channel.close()
                raise ZygoteError("the process that others fork from has ended")
            self._heard += more
        first, self._heard = self._heard.split(b"\n", 1)
        self.pid = int(first.split()[1])
        channel.setblocking(False)

    def poll(self) -> int | None:
        while self.returncode is None:
            try:
                more = self.channel.recv(256)
            except BlockingIOError:
                return None
            except OSError:
                more = b""
            self._take(more)
        return self.returncode

    def processor_time(self) -> float:
        """Seconds of processor time that it has used so far, as its zygote sees it."""
        told, until = self._told, time.monotonic() + SECONDS_TO_END
        self.send_signal(ASKS)
        while self.poll() is None and self._told == told and time.monotonic() < until:
            time.sleep(0.005)
        return self._seconds

    def _take(self, more: bytes) -> None:
        *lines, self._heard = (self._heard + more).split(b"\n")
        for line in lines:
            kind, number, *rest = line.split()
            self._seconds, self._told = float([number, *rest][-1]), self._told + 1
            if kind == b"exit":
                self.returncode = int(number)
        if not more and self.returncode is None:
            self.returncode, self.lost = -signal.SIGKILL, True
        if self.returncode is not None:
            self.channel.close()

    def wait(self) -> int:
        while (status := self.poll()) is None:
            time.sleep(0.005)
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(OSError):
                self.channel.send(f"{int(number)} ".encode())

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Let go of the process, which its zygote then kills."""
        self.channel.close()
