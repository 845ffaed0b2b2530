"""An archive of submissions as a platform gives it out; any entry in it may be odd.

A student names files, and may have packed them; nothing is unpacked that leaves its folder, is no
plain file, or is larger than it says. What is refused is refused by itself, with the reason.
"""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from autograder.errors import CourseError
from autograder.files import plain_name
from autograder.grade.submission import DEEPEST_FOLDER, LARGEST_FILES, LARGEST_NOTEBOOK
from autograder.lms import canvas, moodle
from autograder.lms.archive_entry import Entry, Refused

MOST_ENTRIES = 100_000
NOTEBOOK = ".ipynb"
LEFT_BEHIND = ("__MACOSX", ".DS_Store", "Thumbs.db", ".ipynb_checkpoints")
ENCRYPTED = 0x1


class Archive:
    """A platform's archive of submissions.

    Args:
        path: of the file.

    Raises:
        CourseError: it is no archive, or has no end of entries.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except FileNotFoundError as error:
            raise CourseError(
                f"expected the platform's archive of submissions in {path}, found no such file"
            ) from error
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise CourseError(
                f"expected the platform's archive of submissions in {path}, found none that can be "
                f"opened ({error}). Download it again"
            ) from error
        self._infos = self._zip.infolist()
        if len(self._infos) > MOST_ENTRIES:
            self.close()
            raise CourseError(
                f"expected at most {MOST_ENTRIES} entries in {path}, found {len(self._infos)}. Is it "
                "the platform's archive of submissions?"
            )

    @property
    def canvas(self) -> bool:
        """Whether the names are Canvas's, and not Moodle's."""
        return not any(moodle.in_archive(info.filename) for info in self._infos)

    def close(self) -> None:
        self._zip.close()

    def entries(self) -> Iterator[Entry | Refused]:
        """What stands in it, by what the names say; the system files of a Mac are passed over."""
        in_archive = canvas.in_archive if self.canvas else moodle.in_archive
        seen: set[str] = set()
        for place, info in enumerate(self._infos):
            name = info.filename
            parts = name.split("/")
            if info.is_dir() or set(parts) & set(LEFT_BEHIND) or parts[-1].startswith("._"):
                continue
            entry = in_archive(name)
            why = _wrong_with(info) or (
                "there are two entries of this name" if name in seen else ""
            )
            seen.add(name)
            if why:
                yield Refused(name, why)
            elif entry is None:
                platform = "Moodle or Canvas" if self.canvas else "Moodle"
                yield Refused(name, f"not named as {platform} names what is handed in")
            else:
                others = tuple(replace(other, place=place) for other in entry.others)
                yield replace(entry, place=place, others=others)

    def read(self, entry: Entry) -> bytes | Refused:
        """The content of an entry, or why there is none."""
        most = LARGEST_NOTEBOOK if entry.own.endswith(NOTEBOOK) else LARGEST_FILES
        try:
            with self._zip.open(self._infos[entry.place]) as file:
                data = file.read(most + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError,
                NotImplementedError, ValueError) as error:  # fmt: skip
            return Refused(entry.path, f"it cannot be unpacked ({error})")
        if len(data) > most:
            return Refused(entry.path, f"it has more than {most >> 20} MiB")
        return data


def _wrong_with(info: zipfile.ZipInfo) -> str:
    """Why an entry must not be unpacked, by what stands in the archive's list; empty if it may."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        return "a link, a device or another thing that is no file"
    if info.flag_bits & ENCRYPTED:
        return "it needs a password"
    parts = info.filename.split("/")
    if len(parts) > DEEPEST_FOLDER + 1:
        return f"more than {DEEPEST_FOLDER} folders deep"
    # zipfile has cut the name at a null, and turned \ into / where the system does
    if info.filename != info.orig_filename or "\\" in info.filename:
        return "a name with a sign that separates folders, or ends names"
    if any(part in ("", ".", "..") for part in parts) or ":" in parts[0]:
        return "a name that leads out of its folder"
    return ""


def safe(own: str) -> bool:
    """Whether a student's name for a file can be given to one as it is."""
    return all(plain_name(part) == part for part in own.split("/"))
