"""A process that has imported what its forks need, and forks a kernel or a worker when asked.

    python -m autograder.zygote kernel|worker DESCRIPTOR

It talks over one socket that it is given as a file descriptor. A request is a JSON object with
one end of a socket pair attached: the *line* of the new process. On its line, the zygote reads
signal numbers for the process and writes how it ended; when the other end of the line is closed,
the process is killed. Further sockets of a request are the new process's own. When the request
socket is closed, the zygote kills all and ends.

It stays single-threaded and makes no ZMQ context and no tensor operation, so that forks are safe.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import inspect
import json
import os
import random
import selectors
import signal
import socket
import sys
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autograder import sandbox

LARGEST_REQUEST, MOST_SOCKETS = 1 << 20, 3
CELLS = "/tmp/ipykernel_"  # how file names of cells begin

Become = Callable[[dict[str, Any], list[socket.socket]], None]

# what notebooks and kernels import, also what they import late
MODULES = (
    "ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.debugger", "tornado.platform.asyncio",
    "tornado.queues", "IPython.core.completerlib", "IPython.core.logger", "IPython.core.oinspect",
    "IPython.core.completer", "IPython.core.magics",
    "IPython.core.payloadpage", "IPython.core.pylabtools", "IPython.extensions.storemagic",
    "matplotlib.pyplot", "matplotlib_inline.config", "numpy.random", "numpy.testing", "sqlite3",
    "torch.nn.functional", "torch.utils.flop_counter", "dateutil.tz",
    "autograder.drawing", "autograder.probe", "course_utils.signoff", "course_utils.transformer",
)  # fmt: skip


def import_for_kernels() -> None:
    """Import what notebooks and kernels import, and do once what each would do again."""
    # ipykernel sets this before a notebook's first import; here the import comes first
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    for name in MODULES:
        importlib.import_module(name)
    import torch
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.core.ultratb import FormattedTB

    from course_utils.signoff import installed_packages

    installed_packages()
    inspect.getmodule = module_of
    # IPython formats each traceback a second time, for a history that ends with the kernel
    InteractiveShell._format_exception_for_storage = lambda *_: None
    try:
        torch.nn.Linear(1, 1, device="meta")(None)  # no tensor is computed
    except TypeError:
        # a traceback reads and analyses the whole files that it passes through
        FormattedTB("Context").structured_traceback(*sys.exc_info())


_getmodule = inspect.getmodule


def module_of(thing: Any, _filename: str | None = None) -> types.ModuleType | None:
    """What `inspect.getmodule` returns; it goes through all modules before it finds that a cell is none.

    For a traceback it is called some ten times with each frame.
    """
    code = thing.f_code if isinstance(thing, types.FrameType) else thing
    if isinstance(code, types.CodeType) and code.co_filename.startswith(CELLS):
        return None
    return _getmodule(thing, _filename)


def main(kind: str, descriptor: int) -> None:
    """Serve requests until the other end of the socket is closed."""
    if kind == "kernel":
        import_for_kernels()
        become: Become = become_kernel
    else:
        from autograder.worker import become_worker as become
    if threading.active_count() > 1:
        others = [thread.name for thread in threading.enumerate()][1:]
        raise RuntimeError(f"an import has started threads ({', '.join(others)}): no safe fork")
    gc.collect()
    gc.freeze()  # a kernel's garbage collector need not go through all that was imported
    requests = socket.socket(fileno=descriptor)
    requests.send(b"ready")
    Zygote(requests, become).serve()


class Zygote:
    """The parent of all processes that it has forked.

    Args:
        requests: the socket on which requests arrive.
        become: what a fork does with its request and its sockets; it does not return.
    """

    def __init__(self, requests: socket.socket, become: Become) -> None:
        self.requests, self.become = requests, become
        self.lines: dict[int, socket.socket] = {}
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
            for key, _ in self.selector.select():
                if key.fileobj is self.requests:
                    if not self._answer():
                        return self._end()
                elif key.fileobj is self.alarm:
                    self.alarm.recv(4096)
                else:
                    self._forward(key.data, key.fileobj)
            self._reap()

    def _answer(self) -> bool:
        """Fork one process; False if nobody will ask any more."""
        message, descriptors, _, _ = socket.recv_fds(self.requests, LARGEST_REQUEST, MOST_SOCKETS)
        if not message:
            return False
        line, *others = (socket.socket(fileno=number) for number in descriptors)
        try:
            pid = os.fork()
        except OSError:
            pid = -1  # whoever asked sees the end of its line
            line.close()
        if pid == 0:
            line.close()
            self._run(json.loads(message), others)
        for other in others:
            other.close()
        if pid > 0:
            self.lines[pid] = line
            self.selector.register(line, selectors.EVENT_READ, pid)
            with contextlib.suppress(OSError):  # whoever asked may be gone; then the fork goes, too
                line.send(f"pid {pid}\n".encode())
        return True

    def _run(self, request: dict[str, Any], sockets: list[socket.socket]) -> None:
        """In a fork: let go of everything that is the zygote's, and do what was asked."""
        status = 1
        try:
            self._forget()
            os.setsid()
            silence()
            self.become(request, sockets)
            status = 0
        except SystemExit as leaving:
            status = leaving.code if isinstance(leaving.code, int) else 0
        finally:
            os._exit(status)

    def _forget(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.selector.close()
        for opened in (self.requests, self.alarm, self.bell, *self.lines.values()):
            opened.close()

    def _forward(self, pid: int, line: socket.socket) -> None:
        try:
            message = line.recv(4096)
        except ConnectionError:
            message = b""
        if not message:
            self.selector.unregister(line)
            signals = [signal.SIGKILL]
        else:
            signals = [int(number) for number in message.split()]
        for number in signals:
            if pid in self.lines:
                os.kill(pid, number)

    def _reap(self) -> None:
        while self.lines:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            line = self.lines.pop(pid, None)
            if line is None:
                continue
            if line in {key.fileobj for key in self.selector.get_map().values()}:
                self.selector.unregister(line)
            try:
                line.send(f"exit {os.waitstatus_to_exitcode(status)}\n".encode())
            except OSError:
                pass  # nobody wants to know
            line.close()

    def _end(self) -> None:
        for pid in self.lines:
            os.kill(pid, signal.SIGKILL)
        for pid in self.lines:
            os.waitpid(pid, 0)


def become_kernel(request: dict[str, Any], _sockets: list[socket.socket]) -> None:
    """Turn this fork into a Jupyter kernel.

    Args:
        request: ``arguments`` of the kernel's command line, its ``env`` and ``cwd``, and ``walls``
            for `sandbox.enter`.
    """
    os.environ.clear()
    os.environ.update(request["env"])
    sandbox.enter(request["walls"])
    os.chdir(request["cwd"])
    seed = time.time_ns() ^ os.getpid()
    random.seed(seed)
    import numpy
    import torch

    numpy.random.seed(seed % 2**32)
    torch.default_generator.manual_seed(seed % 2**63)
    # IPython puts the working folder here, but not in a Python that was started without it (-P)
    places = [place for place, path in enumerate(sys.path) if Path(path).name == "site-packages"]
    sys.path.insert(min(places, default=0), "")
    from ipykernel.kernelapp import IPKernelApp

    sys.argv = [importlib.util.find_spec("ipykernel_launcher").origin, *request["arguments"]]
    IPKernelApp.launch_instance()


def silence() -> None:
    """Nothing to read, and prints go nowhere, unless a kernel catches them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
