"""A process that has imported what its forks need, and forks one whenever it is asked.

    python -m autograder.sandbox.zygote DESCRIPTOR PARENT PURPOSE ISOLATION [MODULE ...]

PARENT is the process that starts it and with which it ends, also while it imports.
PURPOSE is a module with ``prepare(modules)``, called once, ``become(request, sockets)``, called in
each fork, and ``Request``, the type of what a request asks for. Inside the sandbox, forks of a purpose
that says ``FIRST_PROCESS`` begin a namespace of processes, and are killed when they have more threads
than its ``threads(request)``: Linux itself counts those of all processes of a user together, and root's
not at all.

Requests arrive on one socket that is given as a file descriptor: JSON, with one end of a socket
pair attached that belongs to the new process alone. On it, the zygote reads signal numbers for the
process, of which 0 asks how much processor time it has used, and writes that and how it ended; when the
other end is closed, the process is killed. Further sockets of a request are handed to the fork. When the
request socket is closed, the zygote kills all and ends.

It stays single-threaded and makes no ZMQ context, so that forks are safe.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import selectors
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec

from autograder.sandbox import bubblewrap, namespaces

LARGEST_REQUEST, MOST_SOCKETS = 1 << 20, 3
SECONDS_BETWEEN_COUNTS = 0.02
CLOCK_OF_A_PROCESS = 2  # beside its number, in the number of a clock of Linux's


def main(descriptor: int, parent: int, purpose: str, isolation: str, *modules: str) -> None:
    """Prepare, and serve requests until the other end of the socket is closed."""
    gc.disable()  # imports make much and drop little
    if isolation != bubblewrap.FULL and sys.platform == "linux":  # else bubblewrap sees to it
        namespaces.end_with_parent(parent)
    module: Any = importlib.import_module(purpose)
    alone = isolation == bubblewrap.FULL and getattr(module, "FIRST_PROCESS", False)
    if alone:
        namespaces.own_processes()
    module.prepare(modules)
    if number_of_threads() > 1:
        raise RuntimeError("an import has started a thread: no safe fork")
    gc.collect()
    gc.freeze()  # a fork's garbage collector need not go through all that was imported
    gc.enable()
    requests = socket.socket(fileno=descriptor)
    requests.send(b"ready")
    Server(requests, module, alone).serve()
    os._exit(0)  # there is nothing to write, and taking down what was imported takes a while


def number_of_threads() -> int:
    """How many threads this process has, those that Python does not know of included."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.exists() else threading.active_count()


class Server:
    """The parent of all processes that it has forked.

    Args:
        requests: the socket on which requests arrive.
        purpose: the module that says what forks become.
        alone: whether each is the first process of a namespace, and has its threads counted.
    """

    def __init__(self, requests: socket.socket, purpose: Any, alone: bool) -> None:
        self.requests, self.purpose, self.alone = requests, purpose, alone
        self.decode = msgspec.json.Decoder(purpose.Request).decode
        self.before = getattr(purpose, "before_fork", lambda _: None)
        self.counted: dict[int, tuple[Path, int]] = {}  # where its threads are, and how many may be
        self.pid = os.getpid()
        self.channels: dict[int, socket.socket] = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(requests, selectors.EVENT_READ)
        self.alarm, self.bell = socket.socketpair()
        self.alarm.setblocking(False)
        self.bell.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.bell.fileno(), warn_on_full_buffer=False)
        self.selector.register(self.alarm, selectors.EVENT_READ)

    def serve(self) -> None:
        while True:
            for key, _ in self.selector.select(SECONDS_BETWEEN_COUNTS if self.counted else None):
                if key.fileobj is self.requests:
                    if not self._answer():
                        return self._end()
                elif key.fileobj is self.alarm:
                    self.alarm.recv(4096)
                else:
                    self._forward(key.data, self.channels.get(key.data))
            self._count()
            self._reap()

    def _answer(self) -> bool:
        """Fork one process; False if nobody will ask any more."""
        message, descriptors, _, _ = socket.recv_fds(self.requests, LARGEST_REQUEST, MOST_SOCKETS)
        if not message:
            return False
        channel, *others = (socket.socket(fileno=number) for number in descriptors)
        request = self.decode(message)
        self.before(request)
        try:
            pid = namespaces.fork_as_first() if self.alone else os.fork()
        except OSError:
            pid = -1  # whoever asked sees the end of its channel
            channel.close()
        if pid == 0:
            channel.close()
            self._run(request, others)
        for other in others:
            other.close()
        if pid > 0:
            self.channels[pid] = channel
            if self.alone:
                self.counted[pid] = namespaces.threads_of(pid), self.purpose.threads(request)
            self.selector.register(channel, selectors.EVENT_READ, pid)
            with contextlib.suppress(OSError):  # whoever asked may be gone; then the fork goes, too
                channel.send(f"pid {pid}\n".encode())
        return True

    def _run(self, request: Any, sockets: list[socket.socket]) -> None:
        """In a fork: let go of everything that is the zygote's, and do what was asked."""
        status = 1
        try:
            self._forget()
            if sys.platform == "linux" and not self.alone:
                namespaces.end_with_parent(self.pid)
            os.setsid()
            silence()
            self.purpose.become(request, sockets)
            status = 0
        except SystemExit as leaving:
            status = leaving.code if isinstance(leaving.code, int) else 0
        finally:
            os._exit(status)

    def _forget(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.selector.close()
        for opened in (self.requests, self.alarm, self.bell, *self.channels.values()):
            opened.close()

    def _forward(self, pid: int, channel: socket.socket | None) -> None:
        if channel is None:
            return
        try:
            message = channel.recv(4096)
        except ConnectionError:
            message = b""
        if not message:
            self.selector.unregister(channel)
            numbers = [int(signal.SIGKILL)]
        else:
            numbers = [int(number) for number in message.split()]
        for number in numbers:
            if number:
                os.kill(pid, number)
            else:
                used = time.clock_gettime(~pid << 3 | CLOCK_OF_A_PROCESS)
                with contextlib.suppress(OSError):
                    channel.send(f"cpu {used}\n".encode())

    def _count(self) -> None:
        for pid, (threads, most) in self.counted.items():
            with contextlib.suppress(FileNotFoundError):  # it has ended
                if threads.stat().st_nlink - 2 > most:  # a folder for each, beside its own two
                    os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        while self.channels:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                return
            channel = self.channels.pop(pid, None)
            self.counted.pop(pid, None)
            if channel is None:
                continue
            if channel in {key.fileobj for key in self.selector.get_map().values()}:
                self.selector.unregister(channel)
            with contextlib.suppress(OSError):  # nobody may want to know
                used = usage.ru_utime + usage.ru_stime
                channel.send(f"exit {os.waitstatus_to_exitcode(status)} {used}\n".encode())
            channel.close()

    def _end(self) -> None:
        for pid in self.channels:
            os.kill(pid, signal.SIGKILL)
        for pid in self.channels:
            os.waitpid(pid, 0)


def silence() -> None:
    """Nothing to read, and prints go nowhere, unless a kernel catches them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
