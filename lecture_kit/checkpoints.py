"""Checkpoints on disk: tensors in one or several files of the format safetensors, read one by one.

The safetensors library reads the files, which never executes anything that stands in them. What is
left to do here is to find the files of a checkpoint, and to say in words what is wrong with one.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError, safe_open
from torch import Tensor

DTYPES = ("F32", "F16", "BF16")
ONE_FILE, INDEX = "model.safetensors", "model.safetensors.index.json"
INCOMPLETE = "The file is incomplete or of another kind, so fetch it again."


class Stored(NamedTuple):
    """One tensor in a file, not read yet."""

    path: Path
    dtype: str  # as the format calls it, such as "BF16"
    shape: tuple[int, ...]


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


def stored_in(path: Path) -> dict[str, Stored]:
    """What a file holds, by name, from its header alone.

    Args:
        path: a file of the format safetensors.

    Raises:
        ValueError: it is no such file, or not a whole one.
    """
    try:
        with safe_open(path, framework="pt") as file:
            parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  no dict
            return {
                name: Stored(path, part.get_dtype(), tuple(part.get_shape()))
                for name, part in parts.items()
            }
    except SafetensorError as error:
        raise ValueError(
            f"expected {path} to be a file of the format safetensors, but reading it stops with "
            f"'{error}'. {INCOMPLETE} If it is a small text file, it is a pointer of Git LFS, and "
            "`git lfs pull` fetches the file itself."
        ) from error


def read(name: str, stored: Stored) -> Tensor:
    """One tensor as float32, of its own shape.

    Raises:
        ValueError: the numbers are not float32, float16 or bfloat16.
    """
    if stored.dtype not in DTYPES:
        raise ValueError(
            f"expected {name} in {stored.path} as one of {', '.join(DTYPES)}, found {stored.dtype}. "
            "Take a version of the checkpoint that is not quantised."
        )
    with safe_open(stored.path, framework="pt") as file:
        tensor: Tensor = file.get_tensor(name)
    return tensor.float()


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
