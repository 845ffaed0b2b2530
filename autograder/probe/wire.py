"""Plain data as bytes, and back: what crosses the border between verdict and probe.

It is MessagePack, in which arrays are plain numbers beside their type and shape: nothing in it can
run code when it is read. Whatever has no plain form arrives as an :class:`Opaque` that holds
the name of its type and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import torch
from msgspec.msgpack import Ext

LARGEST_MESSAGE = 64 * 2**20
MARK = b"probe1"  # how every message begins


class WireError(ValueError):
    """Bytes that are no message of ours: too large, damaged, or forged."""


@dataclass(frozen=True)
class Function:
    """A function that the probe knows by name (``autograder.probe.functions``)."""

    name: str


@dataclass(frozen=True)
class Instance:
    """An object that the probe makes by name from plain arguments (``autograder.probe.scripted``)."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Opaque:
    """A value that has no plain form, by the name of its type."""

    type_name: str


# what an extension of MessagePack holds
ARRAY, TUPLE, FUNCTION, INSTANCE, OPAQUE = range(1, 6)
# NumPy's letters for whole numbers, floats and truth values; nothing else is read
DTYPES = frozenset("?bhilqBHILQefd")


def _pack(value: Any) -> Any:
    if value is None or type(value) in (bool, float):
        return value
    if type(value) is int:
        return value if abs(value) < 1 << 63 else str(value)
    if isinstance(value, str):  # half a character has no bytes
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, torch.Tensor | np.ndarray | np.generic):
        return _pack_array(value)
    if isinstance(value, list):
        return [_pack(item) for item in value]
    if isinstance(value, tuple):
        return Ext(TUPLE, _bytes([_pack(item) for item in value]))
    if isinstance(value, dict):
        return {_pack(str(key)): _pack(item) for key, item in value.items()}
    if isinstance(value, Function):
        return Ext(FUNCTION, _bytes(value.name))
    if isinstance(value, Instance):
        return Ext(INSTANCE, _bytes([value.name, _pack(value.arguments)]))
    name = value.type_name if isinstance(value, Opaque) else type(value).__name__
    return Ext(OPAQUE, _bytes(_pack(name)))


def _pack_array(value: torch.Tensor | np.ndarray | np.generic) -> Any:
    torchy = isinstance(value, torch.Tensor)
    try:
        if isinstance(value, torch.Tensor):
            array = value.detach().cpu().resolve_conj().numpy()
        else:
            array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):
        # NumPy has no such kind: bfloat16, sparse, nested, or not initialised yet
        layout = getattr(value, "layout", "")
        return _pack(Opaque(f"{value.dtype} tensor ({layout}) without plain numbers"))
    if array.dtype.char not in DTYPES or not array.dtype.isnative:
        return _pack(Opaque(f"array of {array.dtype}"))
    return Ext(ARRAY, _bytes([torchy, array.dtype.char, array.shape, array.tobytes()]))


def _unpack(code: int, data: memoryview) -> Any:
    """What an extension stands for; whatever is wrong with it is a ValueError or a TypeError."""
    content = _read(data)
    if code == ARRAY:
        torchy, kind, shape, raw = content
        if kind not in DTYPES:
            raise ValueError(f"no array: {kind!r}")
        array = np.frombuffer(raw, dtype=kind).reshape(shape).copy()  # so it may be written to
        return torch.from_numpy(array) if torchy else array
    if code == TUPLE:
        return tuple(content)
    if code == FUNCTION:
        return Function(str(content))
    if code == INSTANCE:
        name, arguments = content
        return Instance(str(name), dict(arguments))
    return Opaque(str(content))


_bytes = msgspec.msgpack.Encoder().encode
_read = msgspec.msgpack.Decoder(ext_hook=_unpack).decode


def encode(value: Any) -> bytes:
    """Turn a tree of dicts, lists, tuples, scalars, strings and arrays into bytes."""
    return MARK + _bytes(_pack(value))


def decode(message: bytes) -> Any:
    """Turn bytes made by :func:`encode` back into a tree.

    Raises:
        WireError: the message is larger than ``LARGEST_MESSAGE`` or is not one of ours.
    """
    if len(message) > LARGEST_MESSAGE:
        raise WireError(f"a message of {len(message)} bytes; at most {LARGEST_MESSAGE} are read")
    if not message.startswith(MARK):
        raise WireError("not a message of the probe")
    try:
        return _read(message[len(MARK) :])
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
        raise WireError(f"not a message of the probe: {type(error).__name__}") from None
