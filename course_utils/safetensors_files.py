"""Tensors in files of the format safetensors, read one by one, and checkpoints of one or several such files.

A file is eight bytes, a header and data. The eight bytes are the length of the header, an unsigned
whole number whose lowest byte comes first. The header is a JSON object that gives each tensor's dtype,
its shape, and where in the data it begins and ends. Nothing in such a file is ever executed.

Source: the description of the format in the safetensors library, github.com/huggingface/safetensors.
"""

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
ONE_FILE, INDEX = "model.safetensors", "model.safetensors.index.json"
INCOMPLETE = "The file is incomplete or of another kind, so fetch it again."


def json_object(path: Path) -> dict[str, Any]:
    """What a file of JSON says.

    Raises:
        ValueError: it holds no JSON object.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    with suppress(ValueError):
        if isinstance(found := json.loads(text), dict):
            return found
    raise ValueError(f"expected a JSON object in {path}, found {text[:60]!r} … {INCOMPLETE}")


class Stored(NamedTuple):
    """One tensor in a file, not read yet."""

    path: Path
    dtype: str  # as the format calls it, such as "BF16"
    shape: tuple[int, ...]
    begin: int  # bytes from the beginning of the file
    end: int


def stored_in(path: Path) -> dict[str, Stored]:
    """What a file holds, by name, from its header alone.

    Args:
        path: a file of the format safetensors.

    Raises:
        ValueError: the header is no such header, or it promises more bytes than the file has.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > size - 8:
            raise ValueError(
                f"expected {path} to begin with the length of its header, but the first 8 bytes say "
                f"{length} and the whole file has {size}. {INCOMPLETE} (If it is a small text file, it "
                "is a pointer of Git LFS, and `git lfs pull` fetches the file itself.)"
            )
        header = file.read(length)
    try:
        entries = json.loads(header)
        entries.pop("__metadata__", None)
        found = {
            name: Stored(
                path,
                entry["dtype"],
                tuple(entry["shape"]),
                *(8 + length + offset for offset in entry["data_offsets"]),
            )
            for name, entry in entries.items()
        }
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise ValueError(
            f"expected the header of {path} to give dtype, shape and data_offsets of each tensor as "
            f"JSON, found {header[:60]!r} … {INCOMPLETE}"
        ) from error
    needed = max((tensor.end for tensor in found.values()), default=0)
    if needed > size:
        raise ValueError(f"expected {path} to have {needed} bytes, found {size}. {INCOMPLETE}")
    return found


def read(name: str, stored: Stored) -> Tensor:
    """One tensor as float32, of its own shape.

    Raises:
        ValueError: the numbers are not float32, float16 or bfloat16, or not as many as the shape says.
    """
    if stored.dtype not in DTYPES:
        raise ValueError(
            f"expected {name} in {stored.path} as one of {', '.join(DTYPES)}, found {stored.dtype}. "
            "Take a version of the checkpoint that is not quantised."
        )
    dtype = DTYPES[stored.dtype]
    needed = math.prod(stored.shape) * dtype.itemsize
    if stored.end - stored.begin != needed:
        raise ValueError(
            f"expected {needed} bytes for {name} of shape {stored.shape} in {stored.path}, found "
            f"{stored.end - stored.begin}. {INCOMPLETE}"
        )
    with stored.path.open("rb") as file:
        file.seek(stored.begin)
        data = bytearray(file.read(needed))
    return torch.frombuffer(data, dtype=dtype).view(stored.shape).float()


def stored_in_checkpoint(folder: Path) -> dict[str, Stored]:
    """What a checkpoint holds, by name, in one file or in the files that its index names.

    Args:
        folder: holds model.safetensors, or model.safetensors.index.json and the files of its map.

    Raises:
        FileNotFoundError: neither is there, or a file that the index names is missing.
        ValueError: a file is not as it should be, or the index and its files name different tensors.
    """
    if (folder / ONE_FILE).exists():
        return stored_in(folder / ONE_FILE)
    if not (folder / INDEX).exists():
        there = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
        raise FileNotFoundError(
            f"expected {ONE_FILE} or {INDEX} in {folder}, found {there}. Files that end in .bin or .pth "
            "are pickles, which may execute code when they are read; save the model with "
            "safe_serialization=True, or take a version with safetensors."
        )
    file_of = json_object(folder / INDEX).get("weight_map", {})
    found: dict[str, Stored] = {}
    for file_name in sorted(set(file_of.values())):
        path = folder / file_name
        if path.parent != folder or not path.exists():
            raise FileNotFoundError(
                f"expected the file {file_name} of {INDEX} in {folder} itself, and it is not there. "
                "Fetch all files that the index names."
            )
        here = stored_in(path)
        named = {name for name, file in file_of.items() if file == file_name}
        if differ := sorted(named ^ here.keys()):
            raise ValueError(
                f"expected {path} to hold the tensors that {INDEX} says, but only one of the two names "
                f"{', '.join(differ[:3])}. Fetch the index and its files from one place."
            )
        found |= here
    return found
