"""A whole course in one file: for the cupboard, or to go on grading on another machine.

    python -m autograder archive FILE [--course FOLDER]
    python -m autograder restore FILE FOLDER

The file is a zip archive whose first entry, ``manifest.json``, names every other one with its size and
SHA-256, and the versions that graded. The gradebook is copied by SQLite's own backup, so that it is whole
even while a grader writes. Restoring takes the files that the manifest names and no others.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import shutil
import sqlite3
import stat
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import IO, Any

import msgspec

from autograder.errors import CourseError
from autograder.files import printable
from autograder.order import by_number

MANIFEST, FORMAT = "manifest.json", 1
MOST_FILES, LARGEST_MANIFEST = 2_000_000, 512 << 20
PIECE = 1 << 20


class Entry(msgspec.Struct, frozen=True):
    """One file of an archive; ``modified`` in nanoseconds, ``private`` where only its owner reads it."""

    size: int
    sha256: str
    modified: int
    private: bool = False


class Manifest(msgspec.Struct, frozen=True):
    """What an archive holds, and what made it.

    Attributes:
        format: of the archive.
        made: UTC.
        versions: of what graded, by package.
        grader: digest of the grader's and the course's code; where it differs, results are worked out again.
        files: by path, with "/" between folders.
        folders: that hold nothing.
        left_out: paths of links and devices, and of names that are no text.
    """

    format: int
    made: str
    versions: dict[str, str]
    grader: str
    files: dict[str, Entry]
    folders: list[str] = []
    left_out: list[str] = []


def write_archive(course: Path, target: Path) -> Manifest:
    """Put a course folder into one file.

    Args:
        course: the folder.
        target: the file, which must not be there yet.

    Raises:
        CourseError: it is there, the gradebook is no SQLite file, or the course is being graded.
    """
    from autograder.batch.course import open_course
    from autograder.batch.course_files import (
        GRADEBOOK,
        empty_folders,
        files_of_course,
        files_of_students,
        links_below,
    )
    from autograder.batch.run_lock import only_one

    coursedir = open_course(course).coursedir
    root = Path(coursedir.root)
    if target.exists():
        raise CourseError(f"{target} is there already: name a new file, or move that one away")
    gradebook = root / GRADEBOOK
    if coursedir.db_url != f"sqlite:///{gradebook}":
        raise CourseError(
            f"expected the gradebook {gradebook}, found {coursedir.db_url}. Archive such a database "
            "with its own tools"
        )
    left_out = links_below(coursedir)
    paths: dict[str, Path] = {}
    with contextlib.ExitStack() as stack:
        for folder in sorted((root / "grading").glob("*/")):
            stack.enter_context(only_one(folder / "lock"))
        aside = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=target.parent)))
        for path in (*files_of_course(coursedir), *files_of_students(coursedir)):
            name = path.as_posix()
            if _is_text(name):
                paths[name] = root / path
            else:
                left_out.append(printable(name))
        if gradebook.exists():
            paths[GRADEBOOK] = aside / GRADEBOOK
            back_up(gradebook, paths[GRADEBOOK])
        manifest = Manifest(
            FORMAT,
            f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
            _versions(),
            _grader(),
            {name: _entry(paths[name]) for name in sorted(paths, key=by_number)},
            [name for name in empty_folders(coursedir) if _is_text(name)],
            left_out,
        )
        made = aside / target.name
        made.touch(mode=0o600)  # the course's secret is in it
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
            for name, entry in manifest.files.items():
                # of a day that every zip archive knows: the manifest has the true one
                _put(archive, zipfile.ZipInfo(name), paths[name], entry)
        made.rename(target)
    return manifest


def _is_text(name: str) -> bool:
    """Whether every zip archive can hold a name."""
    return name == name.encode(errors="replace").decode() and "\\" not in name


def back_up(source: Path, target: Path) -> None:
    """Copy an SQLite file as it is at one moment, also while others write."""
    with (
        contextlib.closing(
            sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)
        ) as old,
        contextlib.closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new)


def _versions() -> dict[str, str]:
    packages = ("nbgrader", "sqlalchemy", "torch", "numpy")
    return {"python": sys.version.split()[0], **{name: version(name) for name in packages}}


def _grader() -> str:
    from autograder.batch.run import grader_digest

    return grader_digest()


def _entry(path: Path) -> Entry:
    known, digest = path.stat(), hashlib.sha256()
    with path.open("rb") as file:
        size = sum(len(piece) for piece in _pieces(file, digest))
    return Entry(
        size, digest.hexdigest(), known.st_mtime_ns, not stat.S_IMODE(known.st_mode) & 0o077
    )


def _pieces(file: IO[bytes], digest: Any) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        digest.update(piece)
        yield piece


def _put(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path, entry: Entry) -> None:
    info.compress_type = zipfile.ZIP_DEFLATED
    digest = hashlib.sha256()
    with path.open("rb") as file, archive.open(info, "w", force_zip64=True) as packed:
        for piece in _pieces(file, digest):
            packed.write(piece)
    if digest.hexdigest() != entry.sha256:
        raise CourseError(f"{path} was changed while it was archived. Archive again")


def restore(source: Path, folder: Path) -> Manifest:
    """Make a course folder of an archive: all of it, or nothing.

    Args:
        source: the archive.
        folder: the folder to make, which must not be there, or be empty.

    Raises:
        CourseError: the folder holds something, or the archive is not what its manifest says.
    """
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise CourseError(f"{folder} is there already: name a new folder, or an empty one")
    try:
        with zipfile.ZipFile(source) as archive:
            manifest = _manifest(archive)
            _refuse_what_does_not_fit(archive, manifest, folder)
            folder.parent.mkdir(parents=True, exist_ok=True)
            aside = Path(tempfile.mkdtemp(prefix=".restoring-", dir=folder.parent))
            try:
                for name, entry in manifest.files.items():
                    _take_out(archive, name, entry, aside / name)
                for name in manifest.folders:
                    (aside / name).mkdir(parents=True, exist_ok=True)
                _refuse_broken_gradebook(aside / "gradebook.db")
                aside.chmod(0o755)
                if folder.exists():
                    folder.rmdir()
                aside.rename(folder)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise CourseError(f"{source} is no archive of a course: {error}") from error
    return manifest


def _manifest(archive: zipfile.ZipFile) -> Manifest:
    if MANIFEST not in archive.namelist():
        raise CourseError(f"{archive.filename} is no archive of a course: it has no {MANIFEST}")
    with archive.open(MANIFEST) as file:
        text = file.read(LARGEST_MANIFEST + 1)
    try:
        manifest = msgspec.json.decode(text, type=Manifest)
    except msgspec.MsgspecError as error:
        raise CourseError(f"{MANIFEST} of {archive.filename} cannot be read: {error}") from error
    if manifest.format != FORMAT:
        raise CourseError(
            f"{archive.filename} has format {manifest.format}, and this grader reads {FORMAT}. "
            "Restore it with the version of the course that made it"
        )
    return manifest


def _refuse_what_does_not_fit(archive: zipfile.ZipFile, manifest: Manifest, folder: Path) -> None:
    """Refuse names that lead elsewhere, links, files that the manifest lacks, and more than there is room for."""
    infos = [info for info in archive.infolist() if info.filename != MANIFEST]
    names = [info.filename for info in infos]
    if len(infos) > MOST_FILES or len(archive.infolist()) != len(infos) + 1:
        raise CourseError(f"{archive.filename} has too many files, or two of one name")
    if sorted(names) != sorted(manifest.files):
        odd = sorted(set(names) ^ set(manifest.files)) or ["two of one name"]
        raise CourseError(f"files and manifest of {archive.filename} differ: {printable(odd[0])}")
    links = [info.filename for info in infos if stat.S_ISLNK(info.external_attr >> 16)]
    outside = [name for name in (*names, *manifest.folders) if not _stays_inside(name)]
    for name in (*links, *outside):
        raise CourseError(
            f"{archive.filename} has an entry that leads out of the folder, or is a link: "
            f"{printable(name)}. Nothing was restored"
        )
    above = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    needed, free = (
        sum(entry.size for entry in manifest.files.values()),
        shutil.disk_usage(above).free,
    )
    if needed > free:
        raise CourseError(f"the course takes {needed >> 20} MiB, and {above} has {free >> 20} left")


def _stays_inside(name: str) -> bool:
    """Whether a name is a plain path below the folder, on every system."""
    path = PurePosixPath(name)
    whole = path.as_posix() == name and not path.is_absolute() and ".." not in path.parts
    return (
        whole and name not in ("", ".") and not set(name) & set("\\\0") and ":" not in path.parts[0]
    )


def _take_out(archive: zipfile.ZipFile, name: str, entry: Entry, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with archive.open(name) as packed, place.open("xb") as file:
        for piece in _pieces(packed, digest):
            size += len(piece)
            if size > entry.size:
                break
            file.write(piece)
    if (size, digest.hexdigest()) != (entry.size, entry.sha256):
        raise CourseError(f"{printable(name)} is not what the manifest says. Nothing was restored")
    place.chmod(0o600 if entry.private else 0o644)
    os.utime(place, ns=(entry.modified, entry.modified))


def _refuse_broken_gradebook(path: Path) -> None:
    if path.exists():
        with contextlib.closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        ) as gradebook:
            (said,) = gradebook.execute("pragma integrity_check").fetchone()
        if said != "ok":
            raise CourseError(f"the gradebook in the archive is broken: {said}")


def add_to(commands: Any) -> None:
    """Add the subcommands to those of the command line."""
    command = commands.add_parser("archive", help="put the whole course into one file")
    command.add_argument("file", type=Path, help="the file to make, which ends with .zip")
    command.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    command.set_defaults(run=run_archive)
    command = commands.add_parser("restore", help="make a course folder of such a file")
    command.add_argument("file", type=Path, help="the archive; restore only what you trust")
    command.add_argument("folder", type=Path, help="the folder to make")
    command.set_defaults(run=run_restore)


def run_archive(options: argparse.Namespace) -> int:
    """Exit status 0: done; 2: nothing was done, and the message says why."""
    try:
        manifest = write_archive(options.course, options.file)
    except (CourseError, OSError, sqlite3.Error) as error:
        print(f"not archived: {error}", file=sys.stderr)
        return 2
    total = sum(entry.size for entry in manifest.files.values())
    size = options.file.stat().st_size
    print(
        f"{options.file}: {len(manifest.files)} files, {total / 1e6:.1f} MB, packed {size / 1e6:.1f}"
    )
    if manifest.left_out:
        print(f"left out, since they are links or no plain files: {', '.join(manifest.left_out)}")
    print(
        "It holds names, answers and the secret of the checks, so keep it where only you can read it."
    )
    return 0


def run_restore(options: argparse.Namespace) -> int:
    """Exit status 0: done; 2: nothing was done, and the message says why."""
    try:
        manifest = restore(options.file, options.folder)
    except (CourseError, OSError, sqlite3.Error) as error:
        print(f"not restored: {error}", file=sys.stderr)
        return 2
    print(f"{options.folder}: {len(manifest.files)} files of {manifest.made} UTC, all as they were")
    here = _versions()
    other = [
        f"{name} {was}, here {here[name]}"
        for name, was in manifest.versions.items()
        if name in here and here[name] != was
    ]
    if other or manifest.grader != _grader():
        print(
            "It was graded by other code, so the next grading works its results out again; --dry-run "
            f"shows first whose score that changes. {'; '.join(other)}".rstrip()
        )
    return 0
