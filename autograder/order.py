"""In which order numbered things are listed: by their numbers."""

from __future__ import annotations

import re
from pathlib import PurePath


def by_number(name: str | PurePath) -> tuple[tuple[str | int, ...], str]:
    """A key for `sorted`, by which a10 comes after a9, and 10 after 09 and after 9.

    Args:
        name: a name with numbers in it, or a path.
    """
    text = name.as_posix() if isinstance(name, PurePath) else name
    pieces = re.split(r"([0-9]+)", text)  # words and numbers in turn, a word first
    return tuple(int(piece) if turn % 2 else piece for turn, piece in enumerate(pieces)), text
