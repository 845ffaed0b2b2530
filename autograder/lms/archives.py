"""An archive of submissions as a platform gives it out; any entry in it may be odd.

A student names files, and may have packed them; nothing is unpacked that leaves its folder, is no
plain file, or is larger than it says. What is refused is refused by itself, with the reason.
"""

from __future__ import annotations

import contextlib
import re
import stat
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from autograder.bounds import DEEPEST_FOLDER, LARGEST_FILE, LARGEST_FILES, LONGEST_NAME
from autograder.errors import CourseError
from autograder.files import plain_name, printable
from autograder.lms.canvas import ANONYMOUS, CANVAS
from autograder.lms.moodle import MOODLE
from autograder.lms.platform import SubmittedFile

MOST_ENTRIES = 100_000
LONGEST_PATH = 1_000  # bytes; platforms let a file's name have 255
NOTEBOOK = ".ipynb"
LEFT_BEHIND = ("__MACOSX", ".DS_Store", "Thumbs.db", ".ipynb_checkpoints")
ENCRYPTED, IN_UTF_8 = 0x1, 0x800
# ways of packing that take no more memory than they are asked for
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@dataclass(frozen=True)
class Refused:
    """An entry that is not unpacked, and why."""

    path: str
    why: str

    def __str__(self) -> str:
        return f"{printable(self.path)[:120]}: {self.why}"


class Archive:
    """A platform's archive of submissions.

    Attributes:
        platform: whose it is, by the names in it.

    Raises:
        CourseError: it is no archive, or has no end of entries.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except FileNotFoundError as error:
            raise CourseError(
                f"expected the platform's archive of submissions in {path}, found no such file"
            ) from error
        except Exception as error:  # whatever stands in it, it is none
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
        moodles = any(
            MOODLE.submitted_file(_name_of(info)) for info in self._infos if not _wrong_with(info)
        )
        self.platform = MOODLE if moodles else CANVAS

    def close(self) -> None:
        self._zip.close()

    def files(self) -> tuple[list[SubmittedFile], list[Refused]]:
        """What students handed in, and what is refused; the system files of a Mac are passed over."""
        files, refused = [], []
        seen: set[str] = set()
        for index, info in enumerate(self._infos):
            name = _name_of(info)
            parts = name.split("/")
            if info.is_dir() or set(parts) & set(LEFT_BEHIND) or parts[-1].startswith("._"):
                continue
            why = _wrong_with(info) or (
                "there are two entries of this name" if name in seen else ""
            )
            seen.add(name)
            file = None if why else self.platform.submitted_file(name)
            if not why and file is None:
                why = "not named as Moodle names what is handed in"
                if self.platform is CANVAS:
                    why = (
                        "not named as Moodle or Canvas names what is handed in, or with more numbers in "
                        "it than can be told apart"
                    )
                    if ANONYMOUS.match(name):
                        why = "it names nobody, since the assignment is anonymous on Canvas. Show names there first"
            if file is None:
                refused.append(Refused(name, why))
            else:
                ways = [
                    replace(way, index=index, size=info.file_size) for way in (file, *file.others)
                ]
                files.append(replace(ways[0], others=tuple(ways[1:])))
        return files, refused

    def read(self, file: SubmittedFile) -> bytes | Refused:
        """The content of a file, or why there is none."""
        most = LARGEST_FILE if file.own.endswith(NOTEBOOK) else LARGEST_FILES
        if file.size > most:
            return Refused(file.path, f"it has more than {most >> 20} MiB")
        try:
            with self._zip.open(self._infos[file.index]) as opened:
                # one byte more than is listed, since only at the end the checksum is looked at
                return opened.read(file.size + 1)
        except Exception as error:  # noqa: BLE001 (a damaged entry fails alone, whatever is wrong with it)
            return Refused(file.path, f"it cannot be unpacked ({error})")


def _name_of(info: zipfile.ZipInfo) -> str:
    """An entry's name; some programs, a Mac's among them, write UTF-8 and do not say so."""
    if not info.flag_bits & IN_UTF_8:
        with contextlib.suppress(UnicodeError):
            return info.filename.encode("cp437").decode("utf-8")
    return info.filename


def _wrong_with(info: zipfile.ZipInfo) -> str:
    """Why an entry must not be unpacked, by what stands in the archive's list; empty if it may."""
    if len(info.filename.encode("utf-8", "replace")) > LONGEST_PATH:
        return f"a name of more than {LONGEST_PATH} bytes"
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        return "a link, a device or another thing that is no file"
    if info.flag_bits & ENCRYPTED:
        return "it needs a password"
    if info.compress_type not in PACKED:
        return "it is packed in a way that is not read; expected the usual one of zip, deflate"
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
    return all(
        plain_name(part) == part and len(part.encode()) < LONGEST_NAME for part in own.split("/")
    )


def whose(file: SubmittedFile, assignment: str, others: Sequence[str]) -> str:
    """The other assignment after which a notebook is named; empty if it is none."""
    stem = PurePosixPath(file.own).stem.casefold()

    def named(name: str) -> bool:
        return bool(re.search(rf"(?<![^\W_]){re.escape(name.casefold())}(?![^\W_])", stem))

    return "" if named(assignment) else next(filter(named, others), "")


def refuse_anothers(
    files: Sequence[SubmittedFile], assignment: str, others: Sequence[str], archive: Path
) -> None:
    """Refuse an archive in which all notebooks are named like those of another assignment.

    Raises:
        CourseError: it is one.
    """
    notebooks = [file for file in files if file.own.casefold().endswith(NOTEBOOK)]
    names = {whose(file, assignment, others) for file in notebooks}
    if names and "" not in names:
        raise CourseError(
            f"expected notebooks of {assignment} in {archive}, found those of {', '.join(sorted(names))}. Name the "
            "assignment whose archive it is"
        )
