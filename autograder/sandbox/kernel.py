"""A Jupyter kernel that stands before the fork, and afterwards answers one channel.

What a notebook sees is ipykernel's own kernel and IPython's own shell. What it does not need is left
out: sockets, heartbeat, event loops of its own, threads, a history on disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import socket
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ipykernel.ipkernel import IPythonKernel
from IPython.core.pylabtools import activate_matplotlib
from jupyter_client.session import Session
from matplotlib_inline.backend_inline import configure_inline_support
from traitlets.config import Application, Config

from autograder.probe import op_blocker
from autograder.probe.deadline import deadline
from autograder.probe.first_uses import get_ready_for
from autograder.probe.probe import answers
from autograder.probe.probe import prepare as prepare_probe
from autograder.probe.switches import as_at_the_start, note_start
from autograder.sandbox.channel import Channel, ChannelClosed, FrameTooLarge
from autograder.sandbox.inert import make_inert, tell, unwrapped
from autograder.sandbox.limits import Limits
from autograder.sandbox.messages import (
    LARGEST_COUNT,
    ORDERS,
    OVERFLOW,
    Answer,
    Answered,
    CellOrder,
    Done,
    FileOrder,
    Order,
    Output,
    ProbeOrder,
    Ready,
    SpawnRequest,
)
from autograder.sandbox.preload import forget_folders, import_all, settle
from autograder.sandbox.rest import Rest

OUTPUTS = (
    "stream",
    "display_data",
    "update_display_data",
    "execute_result",
    "error",
    "clear_output",
)
SECONDS_BETWEEN_FLUSHES, CHARACTERS_BETWEEN_FLUSHES = 0.2, 1 << 20

BACKEND = "module://matplotlib_inline.backend_inline"

# tracebacks are plain: IPython's own takes longer than most answers
CONFIG = Config(
    {
        "HistoryManager": {"enabled": False},
        "InteractiveShell": {"xmode": "Plain", "colors": "nocolor"},
    }
)


class Outlet(Session):
    """A session of jupyter_client whose messages leave as frames; only outputs do."""

    channel: Channel[Order]

    def send(self, stream: Any, msg_or_type: Any, content: Any = None, *_: Any, **__: Any) -> None:
        if isinstance(msg_or_type, dict):
            msg_or_type, content = msg_or_type["header"]["msg_type"], msg_or_type["content"]
        if msg_or_type in OUTPUTS:
            try:
                self.channel.send(Output(msg_or_type, content))
            except FrameTooLarge:
                self.channel.send(Output(OVERFLOW, {}))


class Stream(io.TextIOBase):
    """What a notebook prints, sent in pieces."""

    encoding = "UTF-8"

    def __init__(self, name: str, session: Session) -> None:
        self.name = name
        # a function, since whoever has what is printed to could else reach the channel
        self._send = lambda text: session.send(None, "stream", {"name": name, "text": text})
        self._pieces: list[str] = []
        self._waiting = 0  # characters
        self._flushed = 0.0
        self._lock = threading.RLock()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text)}")
        with self._lock:
            self._pieces.append(text)
            self._waiting += len(text)
        late = time.monotonic() > self._flushed + SECONDS_BETWEEN_FLUSHES
        if late or self._waiting > CHARACTERS_BETWEEN_FLUSHES:
            self.flush()
        return len(text)

    def flush(self) -> None:
        with self._lock:
            text, self._pieces, self._waiting = "".join(self._pieces), [], 0
        self._flushed = time.monotonic()
        if text:
            self._send(text)


Request = SpawnRequest
FIRST_PROCESS = True  # its forks are, of a namespace


@cache
def shell() -> Shell:
    """The kernel that all forks of this process copy."""
    return Shell()


def prepare(modules: Sequence[str]) -> None:
    """In the zygote: import, and make the kernel."""
    import_all(modules)
    prepare_probe()
    shell().exercise()
    forget_folders()


def before_fork(request: SpawnRequest) -> None:
    """In the zygote: work out what all forks for an assignment would."""
    for disallowed in request.disallowed_lists:
        op_blocker.make_ready(disallowed)


def threads(request: SpawnRequest) -> int:
    """How many threads a fork may have that is asked for."""
    return (request.limits or Limits()).threads


def become(request: SpawnRequest, sockets: list[socket.socket]) -> None:
    """In a fork: settle as is asked, and answer the channel that came with the request.

    What fails before it is ready is told, since it is the grader's own, whoever wrote the notebook.
    """
    channel: Channel[Order] = Channel(sockets[0], ORDERS)
    try:
        settle(request)
        note_start()
        _take_files(channel, request.files)
    except Exception:
        channel.send(Ready(traceback.format_exc()))
        raise
    channel.send(Ready())
    shell().serve(channel)


def _take_files(channel: Channel[Order], number: int) -> None:
    """Write the files that lie beside the notebook."""
    for _ in range(number):
        match channel.receive():
            case FileOrder(name), content:
                place = Path(name)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
                if place.suffix == ".py":
                    get_ready_for(content.decode(errors="replace"))


class CellTimeoutError(KeyboardInterrupt):
    """A cell has used the time that it may take."""

    def __str__(self) -> str:
        return "The cell was stopped, since it took too long. Is there a loop without an end?"


class Shell:
    """The kernel, made once; each fork of the process has its own copy."""

    def __init__(self) -> None:
        self.session = Outlet(key=b"", config=CONFIG)
        log = logging.getLogger(__name__)
        self.kernel = IPythonKernel(session=self.session, log=log, config=CONFIG)
        # who asks for the event loop, to stop it on `exit()`, asks in vain
        self.kernel.io_loop = SimpleNamespace(call_later=lambda *_: None, stop=None)
        self.kernel.shell_channel_thread = SimpleNamespace(parent_thread=None)
        self.kernel.shell.displayhook.get_execution_count = lambda: self.kernel.execution_count
        # where `%matplotlib` looks for a kernel
        application: Any = Application.instance()
        application.kernel = self.kernel
        # as matplotlib's inline backend does when it is imported inside a kernel
        activate_matplotlib(BACKEND)
        configure_inline_support(self.kernel.shell, BACKEND)
        make_inert(self.kernel)
        self._missing: set[str] = set()  # what imports have failed to bring

    def exercise(self) -> None:
        """Run a cell that says and changes nothing: the first one costs more than all later ones."""
        loop = asyncio.new_event_loop()
        loop.run_until_complete(self.kernel.do_execute("pass", False, store_history=False))
        loop.close()

    def serve(self, channel: Channel[Order]) -> None:
        """Run cells and answer probes as orders come, until nobody is there any more."""
        self.session.channel = channel
        sys.stdout, sys.stderr = Stream("stdout", self.session), Stream("stderr", self.session)
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            while True:
                match channel.receive():
                    case ProbeOrder() as order, questions:
                        self._answer(order, questions)
                    case CellOrder() as order, _:
                        self._run(order, loop)
        except ChannelClosed:
            return

    def _answer(self, order: ProbeOrder, questions: bytes) -> None:
        """Let the probe answer, and send each answer as it comes: the next request may end this process."""
        names, channel = self.kernel.shell.user_ns, self.session.channel
        with (
            contextlib.suppress(FrameTooLarge, MemoryError, RecursionError),
            contextlib.closing(answers(questions, names, order.cpu, order.seconds)) as coming,
        ):
            for seen in coming:
                channel.send(Answer(), seen)
        channel.send(Answered())

    def _run(self, order: CellOrder, loop: asyncio.AbstractEventLoop) -> None:
        reply: dict[str, Any] = {"status": "late"}
        code = unwrapped(order.code)
        get_ready_for(code)
        try:
            switched = as_at_the_start() if order.asks else contextlib.nullcontext()
            with deadline(order.cpu, order.seconds, CellTimeoutError), switched:
                self._see_to_streams()
                before = getattr(sys, "last_value", None)
                reply = self._execute(code, order.cell, loop)
                if getattr(sys, "last_value", None) is not before:
                    reply = self._run_the_rest(code, order.cell, reply, loop)
        except CellTimeoutError:
            pass  # in the moment between the cell and its end
        except Exception:  # noqa: BLE001 (a notebook may have changed the shell itself)
            reply = {"status": "error"}
        self.flush()
        following = self.kernel.execution_count  # which a notebook may have put there
        plain = type(following) is int and 0 < following <= LARGEST_COUNT
        self.session.channel.send(Done(following - 1 if plain else None, reply["status"]))

    def _execute(
        self, code: str, cell: str, loop: asyncio.AbstractEventLoop, counted: bool = True
    ) -> dict[str, Any]:
        task = self.kernel.do_execute(code, False, store_history=counted, cell_id=cell)
        reply: dict[str, Any] = loop.run_until_complete(task)
        if self.kernel.shell.exit_now:  # `exit()` ends its cell and nothing else
            self.kernel.shell.exit_now = False
            tell("exit(), and the cells below are run")
        return reply

    def _run_the_rest(
        self, code: str, cell: str, reply: dict[str, Any], loop: asyncio.AbstractEventLoop
    ) -> dict[str, Any]:
        """After a line has failed, run what stands below it and does not need it; the first reply counts."""
        rest, latest = Rest(self.kernel.shell, code, self._missing), reply
        while latest["status"] == "error" and rest.is_left_after(sys.last_value):
            latest = self._execute(code, cell, loop, counted=False)
        return reply

    def _see_to_streams(self) -> None:
        """Let there be something to print to, whatever an earlier cell has put in its place or closed."""
        for name in ("stdout", "stderr"):
            try:
                getattr(sys, name).flush()
            except Exception:  # noqa: BLE001 (whatever is there instead)
                setattr(sys, name, Stream(name, self.session))

    def flush(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:  # noqa: BLE001, S110 (a notebook may have put anything in its place)
                pass
