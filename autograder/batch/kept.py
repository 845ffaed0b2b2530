"""Values by student that wait beside the results of an assignment, in a small JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from autograder.errors import CourseError
from autograder.files import write_whole


def read_kept(path: Path, kind: Any, remedy: str) -> dict[str, Any]:
    """The values of such a file, all of one kind; none if there is no file.

    Of one that cannot be read, a `CourseError` says to move it away, and then the remedy.
    """
    if not path.exists():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, kind])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} cannot be read: {error}. Move it away, and {remedy}") from None


def write_kept(path: Path, values: Mapping[str, Any]) -> None:
    """Write the values whole, in the order of the students' names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(values, indent=1, sort_keys=True) + "\n")
