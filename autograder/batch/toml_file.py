"""A file of the course folder in which people set something (TOML)."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from autograder.bounds import LARGEST_SETTINGS
from autograder.errors import CourseError
from autograder.grade.submission import read_plain


def read_toml(path: Path) -> dict[str, Any] | None:
    """What the file says; None if there is none.

    Raises:
        CourseError: it is something else than a file, or no TOML.
    """
    if not path.exists() and not path.is_symlink():
        return None
    data = read_plain(Path(os.path.realpath(path)), LARGEST_SETTINGS)
    if data is None:
        raise CourseError(
            f"{path} cannot be read: expected a plain file of at most {LARGEST_SETTINGS >> 20} MiB that is yours "
            "to read, found something else"
        )
    try:
        return tomllib.loads(data.decode())
    except RecursionError:
        raise CourseError(f"{path} cannot be read: it is nested too deeply") from None
    except ValueError as error:  # no UTF-8, no TOML, or a number of thousands of digits
        raise CourseError(f"{path} cannot be read, since it is not TOML: {error}") from None
