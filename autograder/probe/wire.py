"""Plain data as bytes, and back: what crosses the border between verdict and probe.

It is a tree in MessagePack, in which arrays are a type and a shape, and behind it the numbers of all
arrays in their order: nothing in it can run code when it is read, and the length of the tree bounds
how many objects it can become. Whatever has no plain form, or too large a one, arrives as an
:class:`Opaque` that holds the name of its type and nothing else.
"""

from __future__ import annotations

import importlib
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.msgpack import Ext

from autograder.arrays import INSTALLED, is_array, is_tensor, pytorch

if TYPE_CHECKING:
    import torch

# bytes of a message, and of the tree in it, which may be nothing but empty maps of one byte each
LARGEST_MESSAGE, LARGEST_TREE = 64 << 20, 1 << 20
MOST_NUMBERS, MOST_AXES = 1 << 20, 64  # of one array
LONGEST_TEXT, LONGEST_NAME = 1 << 16, 80  # characters of a text, and of a type's name
MOST_BITS = 1024  # of a whole number
MARK = b"probe1"  # how every message begins
LENGTH = struct.Struct(">I")  # of the tree, which stands behind it


class WireError(ValueError):
    """Bytes that are no message of ours: too large, damaged, or forged."""


class Message(Struct, frozen=True, forbid_unknown_fields=True):
    """What crosses as a map of its fields: only they may be there, and each is of its type."""


@dataclass(frozen=True)
class Function:
    """A function of the course, by its name (``autograder.probe.objects``)."""

    name: str


@dataclass(frozen=True)
class Instance:
    """An object that the probe makes by name from plain arguments (``autograder.probe.objects``)."""

    name: str
    arguments: dict[str, Any]


# an instance of one of these names is what an earlier call returned, or what it was given
RETURNED, GIVEN = "returned", "given"


@dataclass(frozen=True)
class Opaque:
    """A value that has no plain form, by the name of its type."""

    type_name: str


@dataclass(frozen=True)
class Packed:
    """A value in its plain form, which `encode` writes as it is (`packed`)."""

    tree: Any
    numbers: list[bytes]


# what an extension of MessagePack holds
ARRAY, TUPLE, FUNCTION, INSTANCE, OPAQUE, SET, WHOLE = range(1, 8)
# the bytes of a number by NumPy's letters for whole numbers, floats and truth values; no other is read
DTYPES = {kind: np.dtype(kind).itemsize for kind in "?bhilqBHILQefd"}


class _Writer:
    """Turns values into what MessagePack has; the numbers of arrays go beside."""

    def __init__(self) -> None:
        self.numbers: list[bytes] = []

    def pack(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is float:
            return value
        if kind is int:
            return self._whole_number(value)
        if isinstance(value, str):
            if len(value) > LONGEST_TEXT:
                return self.pack(Opaque(f"str of {len(value)} characters"))
            # half a character has no bytes
            return value if value.isascii() else value.encode("utf-8", "replace").decode()
        if is_array(value) or isinstance(value, np.generic):
            return self._array(value)
        if isinstance(value, list):
            return [self.pack(item) for item in value]
        if isinstance(value, tuple):
            return Ext(TUPLE, _bytes([self.pack(item) for item in value]))
        if isinstance(value, set | frozenset):
            return Ext(SET, _bytes([self.pack(item) for item in value]))
        if isinstance(value, dict):
            # of two keys with one text, the second counts, and the numbers of the first are not written
            named = {self.pack(str(key)[:LONGEST_TEXT]): item for key, item in value.items()}
            return {name: self.pack(item) for name, item in named.items()}
        if isinstance(value, Message):
            return self._message(value)
        if isinstance(value, Packed):
            self.numbers += value.numbers
            return value.tree
        if isinstance(value, Function):
            return Ext(FUNCTION, _bytes(value.name))
        if isinstance(value, Instance):
            return Ext(INSTANCE, _bytes([value.name, self.pack(value.arguments)]))
        name = value.type_name if isinstance(value, Opaque) else type(value).__name__
        return Ext(OPAQUE, _bytes(self.pack(name[:LONGEST_NAME])))

    def _message(self, value: Message) -> dict[str, Any]:
        fields = {name: self.pack(getattr(value, name)) for name in value.__struct_fields__}
        config = value.__struct_config__
        return {config.tag_field: config.tag, **fields} if config.tag_field else fields

    def _whole_number(self, value: int) -> Any:
        if value.bit_length() < 64:
            return value
        if value.bit_length() > MOST_BITS:  # Python itself writes no more than some thousand digits
            return self.pack(Opaque(f"int of {value.bit_length()} bits"))
        return Ext(WHOLE, _bytes(str(value)))

    def _array(self, value: torch.Tensor | np.ndarray | np.generic) -> Any:
        torchy = is_tensor(value)
        try:
            number = max(math.prod(value.shape), *value.shape, 0)
            if number > MOST_NUMBERS:  # perhaps more than there is memory: one number, expanded
                return self.pack(Opaque(f"{value.dtype} array of {number} numbers"))
            if torchy:
                # by PyTorch's own methods, since a subclass may have others
                plain = pytorch().Tensor.detach(value)
                array = plain.cpu().resolve_conj().numpy()
            else:
                array = np.asarray(value)
        except (TypeError, ValueError, RuntimeError):
            # NumPy has no such kind: bfloat16, sparse, nested, or not initialised yet
            layout = getattr(value, "layout", "")
            return self.pack(Opaque(f"{value.dtype} tensor ({layout}) without plain numbers"))
        if array.dtype.char not in DTYPES or not array.dtype.isnative:
            return self.pack(Opaque(f"array of {array.dtype}"))
        self.numbers.append(array.tobytes())
        return Ext(ARRAY, _bytes([torchy, array.dtype.char, array.shape]))


class _Reader:
    """Turns bytes into values; each array takes its numbers from those that are left.

    Args:
        numbers: of all arrays, in their order.
        kind: what the whole is to be; it has to be of this type.
    """

    def __init__(self, numbers: memoryview, kind: Any) -> None:
        self.left = numbers
        self.read = msgspec.msgpack.Decoder(kind, ext_hook=self._unpack).decode
        self._read_content = msgspec.msgpack.Decoder(ext_hook=self._unpack).decode

    def _content(self, code: int, data: memoryview) -> Any:
        """What is in an extension: never an array, since to go through it may take all memory."""
        content = self._read_content(data)
        if type(content) is not (list if code in (ARRAY, TUPLE, INSTANCE, SET) else str):
            raise TypeError(f"extension {code} holds {type(content).__name__}")
        return content

    def _unpack(self, code: int, data: memoryview) -> Any:
        """What an extension stands for; whatever is wrong with it is a ValueError or a TypeError."""
        content = self._content(code, data)
        if code == ARRAY:
            return self._array(*content)
        if code == TUPLE:
            return tuple(content)
        if code == SET:
            return frozenset(content)
        if code == FUNCTION:
            return Function(content[:LONGEST_NAME])
        if code == INSTANCE:
            name, arguments = content
            if type(name) is not str or type(arguments) is not dict:
                raise TypeError(f"an instance of {type(name).__name__}, {type(arguments).__name__}")
            return Instance(name[:LONGEST_NAME], arguments)
        if code == WHOLE:
            return int(content[:MOST_BITS])  # as many digits as are sent have fewer bits
        return Opaque(content[:LONGEST_NAME])

    def _array(self, torchy: bool, kind: str, shape: list[int]) -> Any:
        if type(torchy) is not bool or type(kind) is not str or kind not in DTYPES:
            raise ValueError("no kind of array")
        if type(shape) is not list or len(shape) > MOST_AXES:
            raise ValueError("no shape")
        numbers = 1
        for length in shape:
            # without numbers, too, no axis is longer than an array may be
            if type(length) is not int or not 0 <= length <= MOST_NUMBERS:
                raise ValueError("no shape")
            numbers *= length
        size = numbers * DTYPES[kind]
        if numbers > MOST_NUMBERS or size > len(self.left):
            raise ValueError(f"{size} bytes of numbers, and {len(self.left)} are left")
        raw, self.left = self.left[:size], self.left[size:]
        array = np.frombuffer(raw, dtype=kind).reshape(shape).copy()  # so it may be written to
        return _tensor_of(array) if torchy else array


def _tensor_of(array: np.ndarray) -> Any:
    torch = pytorch()
    if torch is None and INSTALLED:  # nothing here has needed it, until a submission gave a tensor
        torch = importlib.import_module("torch")
    if torch is None:
        raise ValueError("a tensor, where PyTorch is not installed")
    return torch.from_numpy(array)


_bytes = msgspec.msgpack.Encoder().encode


def encode(value: Any) -> bytes:
    """Turn a tree of dicts, lists, tuples, sets, scalars, strings and arrays into bytes."""
    writer = _Writer()
    tree = _bytes(writer.pack(value))
    return b"".join([MARK, LENGTH.pack(len(tree)), tree, *writer.numbers])


def joined(messages: Sequence[bytes]) -> bytes:
    """A message that holds a list of what these hold, which nobody has looked at yet.

    Raises:
        WireError: one of them is no message.
    """
    parts = [_tree_and_numbers(message) for message in messages]
    tree = _bytes([msgspec.Raw(tree) for tree, _ in parts])
    return b"".join([MARK, LENGTH.pack(len(tree)), tree, *(numbers for _, numbers in parts)])


def _tree_and_numbers(message: bytes) -> tuple[memoryview, memoryview]:
    start = len(MARK) + LENGTH.size
    if not message.startswith(MARK) or len(message) < start:
        raise WireError("not a message of the probe")
    (length,) = LENGTH.unpack(message[len(MARK) : start])
    body = memoryview(message)[start:]
    return body[:length], body[length:]


def packed(value: Any) -> Packed:
    """The plain form of a value, for which its code may run, and which `encode` takes without looking.

    Raises:
        WireError: `decode` would not read it.
    """
    writer = _Writer()
    tree = writer.pack(value)
    length, size = len(_bytes(tree)), sum(map(len, writer.numbers))
    if length > LARGEST_TREE or size + length > LARGEST_MESSAGE:
        raise WireError(f"{size} bytes of numbers and {length} beside them are too many")
    return Packed(tree, writer.numbers)


def decode(message: bytes, kind: Any = Any) -> Any:
    """Turn bytes made by :func:`encode` back into a tree.

    Args:
        kind: the type that it must be, made of messages and plain data.

    Raises:
        WireError: the message is larger than ``LARGEST_MESSAGE``, or the tree in it than
            ``LARGEST_TREE``, or it is not one of ours.
    """
    if len(message) > LARGEST_MESSAGE:
        raise WireError(f"a message of {len(message)} bytes; at most {LARGEST_MESSAGE} are read")
    tree, numbers = _tree_and_numbers(message)
    if len(tree) > LARGEST_TREE:
        raise WireError(
            f"{len(tree)} bytes beside the numbers of arrays; at most {LARGEST_TREE} are read"
        )
    reader = _Reader(numbers, kind)
    try:
        value = reader.read(tree)
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise WireError(f"not a message of the probe: {type(error).__name__}") from None
    if reader.left:
        raise WireError("not a message of the probe: numbers that are no array's")
    return value
