"""Frames over a socket: a message as JSON, and bytes beside it that need not become text.

Either side may be hostile to the other, so what arrives is measured before it is read.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import struct
import threading
import time
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from autograder.probe.deadline import hold

LENGTHS = struct.Struct(">II")
LARGEST_HEADER, LARGEST_BODY = 16 << 20, 64 << 20
PIECE, LARGEST_PIECE = 1 << 16, 1 << 20
SIGNS = b",", b"[", b"{"
MOST_VALUES = 500_000  # of a header, each of which takes memory beside its letters

Arriving = TypeVar("Arriving")


class ChannelClosed(Exception):
    """The other side is gone, or sends what is no frame."""


class FrameTooLarge(ChannelClosed):
    """A frame that nobody would read, and so was not sent; the channel is as it was."""


class Channel(Generic[Arriving]):
    """One end of a connected pair of sockets.

    Args:
        arriving: the type of the messages that are read at this end.
    """

    def __init__(self, end: socket.socket, arriving: Any) -> None:
        self.socket, self.arriving = end, arriving
        self._sending = threading.Lock()
        self._arrived = bytearray()  # of the next frames
        self._polls: dict[int, select.poll] = {}

    def send(self, message: Struct, body: bytes = b"", deadline: float | None = None) -> None:
        """Send one frame whole, also where several threads do.

        Args:
            message, body: what the frame holds.
            deadline: when to give up, by `time.monotonic`; None waits for ever.

        Raises:
            TimeoutError: the other side did not read it in time. It may have begun to, so nothing
                that is sent after it makes sense.
            ChannelClosed: nobody listens any more.
            FrameTooLarge: it has more bytes than `receive` takes.
        """
        text = _as_json(message).encode()
        if len(text) > LARGEST_HEADER or len(body) > LARGEST_BODY:
            raise FrameTooLarge(f"a frame of {len(text)} and {len(body)} bytes")
        try:
            # an error in the middle of a frame would make nonsense of all that follow
            with self._sending, hold():
                self._write(LENGTHS.pack(len(text), len(body)) + text + body, deadline)
        except TimeoutError:
            raise
        except OSError as error:
            raise ChannelClosed(str(error)) from error

    def _write(self, data: bytes, deadline: float | None) -> None:
        if deadline is None:
            return self.socket.sendall(data)
        left = memoryview(data)
        while left:
            try:
                left = left[self.socket.send(left, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, deadline)

    def receive(self, deadline: float | None = None) -> tuple[Arriving, bytes]:
        """The next message that is one, and what is beside it; others are passed over.

        Args:
            deadline: when to give up, by `time.monotonic`; None waits for ever.

        Raises:
            TimeoutError: nothing whole came in time.
            ChannelClosed: the other side is gone, or what it sends is no frame of ours.
        """
        while True:
            # what has come already is taken without waiting, and may be thousands of frames
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError
            text, body = self._frame(deadline)
            if values_in(text) > MOST_VALUES:
                _look_through(text)
                continue
            header = _header_in(text)
            # a name may hold half a character, which is no text
            with contextlib.suppress(msgspec.ValidationError, UnicodeEncodeError):
                return msgspec.convert(header, self.arriving), body

    def _frame(self, deadline: float | None) -> tuple[bytes, bytes]:
        """A frame, which is taken whole: who gave up in its middle may go on waiting for it."""
        arrived, begin = self._arrived, LENGTHS.size
        self._wait_for(begin, deadline)
        header_length, body_length = LENGTHS.unpack_from(arrived)
        if header_length > LARGEST_HEADER or body_length > LARGEST_BODY:
            raise ChannelClosed(f"a frame of {header_length} and {body_length} bytes")
        middle, end = begin + header_length, begin + header_length + body_length
        self._wait_for(end, deadline)
        with memoryview(arrived) as whole:
            frame = bytes(whole[begin:middle]), bytes(whole[middle:end])
        del arrived[:end]
        return frame

    def _wait_for(self, length: int, deadline: float | None) -> None:
        arrived = self._arrived
        while (missing := length - len(arrived)) > 0:
            if deadline is not None:
                self._wait(select.POLLIN, deadline)
            try:
                # a small frame comes whole at once, and more of what follows does no harm
                more = self.socket.recv(max(PIECE, min(missing, LARGEST_PIECE)))
            except OSError as error:
                raise ChannelClosed(str(error)) from error
            if not more:
                raise ChannelClosed("the other side has ended")
            arrived += more

    def _wait(self, event: int, deadline: float) -> None:
        """Until the socket can be read or written; `TimeoutError` if that is too late."""
        seconds = deadline - time.monotonic()
        if event not in self._polls:
            self._polls[event] = select.poll()
            self._polls[event].register(self.socket, event)
        if seconds <= 0 or not self._polls[event].poll(seconds * 1000):
            raise TimeoutError

    def close(self) -> None:
        self.socket.close()


def _header_in(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ChannelClosed(f"no frame: {type(error).__name__}") from None
    if not isinstance(header, dict):
        raise ChannelClosed("no frame: its header is no object")
    return header


def _look_through(text: bytes) -> None:
    """Pass over a header of too many values, if it is one; nothing of it is made."""
    try:
        msgspec.json.decode(text, type=Struct)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ChannelClosed(f"no frame: {type(error).__name__}") from None


def values_in(text: bytes) -> int:
    """How many values a JSON text may hold, by the signs before them; of many, only those outside of texts."""
    number = sum(map(text.count, SIGNS))
    if number <= MOST_VALUES:
        return number
    signs = np.frombuffer(text.replace(rb"\\", b"").replace(rb"\"", b""), np.uint8)
    in_a_text = np.logical_xor.accumulate(signs == ord('"'))
    return sum(int(np.count_nonzero((signs == ord(sign)) & ~in_a_text)) for sign in SIGNS)


def _plain(value: Any) -> Any:
    """What stands in JSON for what has no form there: a message's fields, or else a description."""
    if not isinstance(value, Struct):
        return repr(value)
    config = value.__struct_config__
    tag = {config.tag_field: config.tag} if config.tag_field else {}
    return tag | msgspec.structs.asdict(value)


_as_json = json.JSONEncoder(default=_plain).encode
