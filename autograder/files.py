"""What other people wrote: which files are taken, how they are shown, how results are put down."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path


def plain_files(folder: Path, but: str = "") -> Iterator[Path]:
    """The plain files below a folder, sorted; links, pipes and devices are left out.

    Args:
        folder: where to look.
        but: a suffix whose files are left out, too.
    """
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and not (but and path.suffix == but):
            yield path


def copy_files(source: Path, target: Path, but: str = "") -> None:
    """Copy the `plain_files` below a folder to the same places below another, where these are free."""
    for path in plain_files(source, but):
        place = target / path.relative_to(source)
        with contextlib.suppress(FileExistsError, NotADirectoryError):
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists():
                shutil.copyfile(path, place)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there complete or not at all."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    # half a character is what a student's text may hold, and no file can
    with aside.open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)


def printable(text: str) -> str:
    """Text that other people wrote, without what a terminal would take for a command."""
    return "".join(sign if sign.isprintable() else "�" for sign in text)
