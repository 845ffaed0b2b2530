"""Plain data as bytes, and back: what crosses the border between verdict and probe.

Arrays travel as safetensors and the structure around them as JSON in the header: neither format
can run code when it is read. Whatever has no plain form arrives as an :class:`Opaque` that holds
the name of its type and nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load, save

LARGEST_MESSAGE = 64 * 2**20


class WireError(ValueError):
    """Bytes that are no message of ours: too large, damaged, or forged."""


@dataclass(frozen=True)
class Function:
    """A function that the probe knows by name (``autograder.functions``)."""

    name: str


@dataclass(frozen=True)
class Instance:
    """An object that the probe makes by name from plain arguments (``autograder.scripted``)."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Opaque:
    """A value that has no plain form, by the name of its type."""

    type_name: str


def _pack(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if type(value) in (int, float):
        return value
    if isinstance(value, torch.Tensor | np.ndarray | np.generic):
        torchy = isinstance(value, torch.Tensor)
        try:
            array = value.detach().cpu().resolve_conj().numpy() if torchy else np.asarray(value)
        except (TypeError, ValueError, RuntimeError):
            # NumPy has no such kind: bfloat16, sparse, nested, or not initialised yet
            return {"opaque": f"{value.dtype} tensor ({value.layout}) without plain numbers"}
        if array.dtype.kind not in "fiub":
            return {"opaque": f"array of {array.dtype}"}
        key = str(len(arrays))
        arrays[key] = np.array(array, order="C", copy=True)
        return {"array": key, "torch": torchy}
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_pack(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"dict": {str(key): _pack(item, arrays) for key, item in value.items()}}
    if isinstance(value, Function):
        return {"function": value.name}
    if isinstance(value, Instance):
        return {"instance": value.name, "arguments": _pack(value.arguments, arrays)}
    if isinstance(value, Opaque):
        return {"opaque": value.type_name}
    return {"opaque": type(value).__name__}


def _unpack(node: Any, arrays: dict[str, np.ndarray]) -> Any:
    if not isinstance(node, dict):
        return node
    if "array" in node:
        array = arrays[node["array"]]  # of its own, so it may be written to
        return torch.from_numpy(array) if node["torch"] else array
    if "tuple" in node:
        return tuple(_unpack(item, arrays) for item in node["tuple"])
    if "list" in node:
        return [_unpack(item, arrays) for item in node["list"]]
    if "dict" in node:
        return {key: _unpack(item, arrays) for key, item in node["dict"].items()}
    if "function" in node:
        return Function(node["function"])
    if "instance" in node:
        return Instance(node["instance"], _unpack(node["arguments"], arrays))
    return Opaque(str(node["opaque"]))


def encode(value: Any) -> bytes:
    """Turn a tree of dicts, lists, tuples, scalars, strings and arrays into bytes."""
    arrays: dict[str, np.ndarray] = {}
    tree = json.dumps(_pack(value, arrays))
    # safetensors wants at least one array to write a header for
    arrays.setdefault("none", np.zeros(1, dtype=np.uint8))
    return save(arrays, metadata={"tree": tree})


def decode(message: bytes) -> Any:
    """Turn bytes made by :func:`encode` back into a tree.

    Raises:
        WireError: the message is larger than ``LARGEST_MESSAGE`` or is not one of ours.
    """
    if len(message) > LARGEST_MESSAGE:
        raise WireError(f"a message of {len(message)} bytes; at most {LARGEST_MESSAGE} are read")
    try:
        length = int.from_bytes(message[:8], "little")
        header = json.loads(message[8 : 8 + length])
        arrays = {key: array.copy() for key, array in load(message).items()}
        return _unpack(json.loads(header["__metadata__"]["tree"]), arrays)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise WireError(f"not a message of the probe: {type(error).__name__}") from None
