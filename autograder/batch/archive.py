"""A whole course in one file, for the cupboard or another machine; and a new folder for the next term.

    python -m autograder archive FILE [--course FOLDER]
    python -m autograder restore FILE FOLDER
    python -m autograder next-term FOLDER [--course FOLDER]

The file is a zip archive whose first entry, ``manifest.json``, names every other one with its size and
SHA-256, and the versions that graded. The gradebook is copied by SQLite's own backup, so that it is whole
even while a grader writes. Restoring takes the files that the manifest names and no others. The next term
gets all that is taught and nothing of its students.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
import shutil
import sqlite3
import stat
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec

from autograder.batch.dates import HANDING_IN, without_dates
from autograder.batch.final_mark import RULES
from autograder.checks.course import course as taught
from autograder.errors import CourseError
from autograder.files import plain_files, printable
from autograder.order import by_number

if TYPE_CHECKING:  # nbgrader is imported when a command runs
    from nbgrader.coursedir import CourseDirectory

MANIFEST, FORMAT = "manifest.json", 1
MOST_FILES, LARGEST_MANIFEST = 2_000_000, 512 << 20
GRADEBOOK = "gradebook.db"
# made again when they are needed, or in nobody's way
LEFT_OUT_FOLDERS = {"__pycache__", ".ipynb_checkpoints", "aside"}
LOCK = "lock"
LINK = re.compile(r"\]\((?!\w+:)([^)\s#]+)")
OF_CLASS = (".csv", ".zip", ".db")  # files that hold names


class ArchivedFile(msgspec.Struct, frozen=True):
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
    files: dict[str, ArchivedFile]
    folders: list[str] = []
    left_out: list[str] = []

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files.values())


def taught_in(coursedir: CourseDirectory) -> Iterator[Path]:
    """Source and release, packages in the folder and the files beside them; no links and no devices."""
    root = Path(coursedir.root)
    for path in sorted(root.iterdir()):
        of_course = not path.name.startswith((".", GRADEBOOK)) and path.suffix not in (
            ".csv",
            ".zip",
        )
        if of_course and path.is_file() and not path.is_symlink():
            yield path
    packages = [folder.resolve() for folder in taught().folders]
    for folder in (
        root / coursedir.source_directory,
        root / coursedir.release_directory,
        *(folder for folder in packages if folder.is_relative_to(root)),
    ):
        if not folder.is_symlink():
            yield from (path for path in plain_files(folder) if _is_kept(path, root))


def _is_kept(path: Path, root: Path) -> bool:
    return path.name != LOCK and LEFT_OUT_FOLDERS.isdisjoint(path.relative_to(root).parts)


def write_archive(course: Path, target: Path) -> Manifest:
    """Put a course folder into one file.

    Raises:
        CourseError: it is there, the gradebook is no SQLite file, or the course is being graded.
    """
    from autograder.batch.course import open_course
    from autograder.batch.run import grader_digest
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
    with contextlib.ExitStack() as stack:
        for folder in sorted((root / "grading").glob("*/")):
            stack.enter_context(only_one(folder / LOCK))
        aside = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=target.parent)))
        paths, folders, left_out = _sorted_out(coursedir)
        if gradebook.exists():
            paths[GRADEBOOK] = aside / GRADEBOOK
            back_up(gradebook, paths[GRADEBOOK])
        manifest = Manifest(
            FORMAT,
            f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
            _versions(),
            grader_digest(),
            {name: _described(paths[name]) for name in sorted(paths, key=by_number)},
            folders,
            left_out,
        )
        made = aside / target.name
        made.touch(mode=0o600)  # the course's secret is in it
        _pack(made, manifest, paths)
        made.rename(target)
    return manifest


def _sorted_out(coursedir: CourseDirectory) -> tuple[dict[str, Path], list[str], list[str]]:
    """The files of a course by their names, its empty folders, and what no archive takes along.

    A folder in which somebody handed in nothing has a row in the table, too. The gradebook is left to
    `back_up`, since it may be written meanwhile.
    """
    root = Path(coursedir.root)
    paths = [*taught_in(coursedir), *sorted(root.glob("*.csv"))]
    for name in (
        coursedir.submitted_directory,
        coursedir.autograded_directory,
        coursedir.feedback_directory,
        "grading",
    ):
        if not (root / name).is_symlink():
            paths += sorted((root / name).rglob("*"))
    files, folders, left_out = {}, [], []
    for path in paths:
        name = path.relative_to(root).as_posix()
        is_folder = path.is_dir() and not path.is_symlink()
        if not _is_kept(path, root) or (is_folder and any(path.iterdir())):
            continue
        is_text = name == name.encode(errors="replace").decode() and "\\" not in name
        if path.is_symlink() or not (path.is_file() or is_folder) or not is_text:
            left_out.append(printable(name))
        elif is_folder:
            folders.append(name)
        else:
            files[name] = path
    return files, folders, left_out


def _pack(target: Path, manifest: Manifest, paths: Mapping[str, Path]) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
        for name, described in manifest.files.items():
            # of 1980: the manifest has the true time
            path, info = paths[name], zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            with path.open("rb") as file, archive.open(info, "w", force_zip64=True) as packed:
                shutil.copyfileobj(file, packed)
            if _described(path) != described:
                raise CourseError(f"{path} was changed while it was archived. Archive again")


def back_up(source: Path, target: Path) -> None:
    """Copy an SQLite file as it is at one moment, also while others write."""
    with _opened(source) as old, contextlib.closing(sqlite3.connect(target)) as new:
        old.backup(new)


def _opened(gradebook: Path) -> contextlib.closing[sqlite3.Connection]:
    """The file, to be read and not to be made."""
    url = f"{gradebook.absolute().as_uri()}?mode=ro"
    return contextlib.closing(sqlite3.connect(url, uri=True))


def _versions() -> dict[str, str]:
    packages = ("nbgrader", "sqlalchemy", "torch", "numpy")
    return {"python": sys.version.split()[0], **{name: version(name) for name in packages}}


def _described(path: Path) -> ArchivedFile:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        known = os.fstat(file.fileno())
    private = not stat.S_IMODE(known.st_mode) & 0o077
    return ArchivedFile(known.st_size, digest, known.st_mtime_ns, private)


def restore(source: Path, folder: Path) -> Manifest:
    """Make a course folder of an archive: all of it, or nothing.

    Raises:
        CourseError: the folder holds something, or the archive is not what its manifest says.
    """
    refuse_used(folder, or_link=True)
    try:
        with zipfile.ZipFile(source) as archive:
            manifest = _manifest(archive)
            _refuse_what_does_not_fit(archive, manifest, folder)
            folder.parent.mkdir(parents=True, exist_ok=True)
            aside = Path(tempfile.mkdtemp(prefix=".restoring-", dir=folder.parent))
            try:
                _unpack(archive, manifest, aside)
                _refuse_broken(aside / GRADEBOOK)
                if folder.exists():
                    folder.rmdir()
                aside.rename(folder)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise CourseError(f"{source} is no archive of a course: {error}") from error
    return manifest


def refuse_used(folder: Path, or_link: bool = False) -> None:
    """Refuse to make a folder where something is, with a `CourseError`."""
    used = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if used or (or_link and folder.is_symlink()):
        raise CourseError(f"{folder} is there already: name a new folder, or an empty one")


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
    free = shutil.disk_usage(above).free
    if manifest.size > free:
        raise CourseError(
            f"the course takes {manifest.size >> 20} MiB, and {above} has {free >> 20} left"
        )


def _stays_inside(name: str) -> bool:
    """Whether a name is a plain path below the folder, on every system."""
    path = PurePosixPath(name)
    whole = path.as_posix() == name and not path.is_absolute() and ".." not in path.parts
    return (
        whole and name not in ("", ".") and not set(name) & set("\\\0") and ":" not in path.parts[0]
    )


def _unpack(archive: zipfile.ZipFile, manifest: Manifest, folder: Path) -> None:
    files = manifest.files
    # sizes come first, since more than an entry says of itself is never unpacked
    odd = [name for name in files if archive.getinfo(name).file_size != files[name].size]
    if not odd:
        archive.extractall(folder, files)
        odd = [name for name in files if _described(folder / name).sha256 != files[name].sha256]
    if odd:
        raise CourseError(
            f"{printable(odd[0])} is not what the manifest says. Nothing was restored"
        )
    for name, file in files.items():
        (folder / name).chmod(0o600 if file.private else 0o644)
        os.utime(folder / name, ns=(file.modified, file.modified))
    for name in manifest.folders:
        (folder / name).mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)


def _refuse_broken(gradebook: Path) -> None:
    if gradebook.exists():
        with _opened(gradebook) as opened:
            (found,) = opened.execute("pragma integrity_check").fetchone()
        if found != "ok":
            raise CourseError(f"the gradebook in the archive is broken: {found}")


def start_next_term(course: Path, folder: Path) -> list[str]:
    """Copy what is taught into a new folder, and name the assignments that are there now.

    The checks get a new secret, the gradebook is empty, and the plan has no dates.

    What texts link to comes along, such as guides, lectures and figures, so that links lead there as well.

    Raises:
        CourseError: the folder holds something, or lies in the old one.
    """
    from autograder.batch.course import open_course

    coursedir = open_course(course).coursedir
    root = Path(coursedir.root)
    refuse_used(folder)
    if folder.resolve().is_relative_to(root):
        raise CourseError(f"{folder} lies in the old course: name a folder beside it")
    of_class = [coursedir.submitted_directory, coursedir.autograded_directory]
    of_class += [coursedir.feedback_directory, "grading"]
    for path in with_linked(taught_in(coursedir), root, of_class):
        place = folder / path.relative_to(root)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path != root / RULES:
            shutil.copy2(path, place)
        elif rules := without_dates(path.read_text("utf-8", "replace")):
            place.write_text(rules, encoding="utf-8")
    solutions = (folder / coursedir.source_directory).glob("*")
    return sorted((path.name for path in solutions if path.is_dir()), key=by_number)


def with_linked(paths: Iterable[Path], root: Path, of_class: Collection[str]) -> Iterator[Path]:
    """These files, and those below `root` to which their texts link, and the texts of these.

    From the folders `of_class`, which hold what students did, nothing comes along.
    """
    todo = [path.resolve() for path in paths]
    known = set(todo)
    while todo:
        path = todo.pop()
        yield path
        if path.suffix not in (".md", ".ipynb"):
            continue
        for target in LINK.findall(path.read_text("utf-8", "replace")):
            linked = (path.parent / unquote(target)).resolve()
            # of a name that no file can have, this one says that there is none
            if linked in known or not (linked.is_relative_to(root) and os.path.isfile(linked)):
                continue
            top = linked.relative_to(root).parts[0]
            package = (root / top / "__init__.py").exists()  # a piece of one would hide the whole
            if top not in of_class and linked.suffix not in OF_CLASS and not package:
                known.add(linked)
                todo.append(linked)


def add_to(commands: Any) -> None:
    """Add the subcommands to those of the command line."""
    command = commands.add_parser("archive", help="put the whole course into one file")
    command.add_argument("file", type=Path, help="the file to make, which ends with .zip")
    command.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    command.set_defaults(run=run, carry_out=_archive, refusal="not archived")
    command = commands.add_parser("restore", help="make a course folder of such a file")
    command.add_argument("file", type=Path, help="the archive; restore only what you trust")
    command.add_argument("folder", type=Path, help="the folder to make")
    command.set_defaults(run=run, carry_out=_restore, refusal="not restored")


def add_next_term_to(commands: Any) -> None:
    """Add the subcommand that begins the next term."""
    command = commands.add_parser("next-term", help="a new course folder, without the students")
    command.add_argument("folder", type=Path, help="the folder to make")
    command.add_argument("--course", type=Path, default=Path(), help="folder of the old course")
    command.set_defaults(run=run, carry_out=_next_term, refusal="no new course folder")


def run(options: argparse.Namespace) -> int:
    """Exit status 0: done; 2: nothing was done, and the message says why."""
    try:
        for line in options.carry_out(options):
            print(line)
    except (CourseError, OSError, sqlite3.Error) as error:
        print(f"{options.refusal}: {error}", file=sys.stderr)
        return 2
    return 0


def _archive(options: argparse.Namespace) -> Iterator[str]:
    manifest = write_archive(options.course, options.file)
    packed = options.file.stat().st_size
    yield (
        f"{options.file}: {len(manifest.files)} files, {manifest.size / 1e6:.1f} MB, "
        f"packed {packed / 1e6:.1f}"
    )
    if manifest.left_out:
        yield f"left out, since they are links or no plain files: {', '.join(manifest.left_out)}"
    yield "It holds names, answers and the secret of the checks, so keep it where only you can read it."


def _restore(options: argparse.Namespace) -> Iterator[str]:
    from autograder.batch.run import grader_digest

    manifest = restore(options.file, options.folder)
    yield f"{options.folder}: {len(manifest.files)} files of {manifest.made} UTC, all as they were"
    here = _versions()
    other = [
        f"{name} {was}, here {here[name]}"
        for name, was in manifest.versions.items()
        if here.get(name, was) != was
    ]
    if other or manifest.grader != grader_digest():
        text = (
            "It was graded by other code, so the next grading works its results out again; --dry-run "
            f"shows first whose score that changes. {'; '.join(other)}"
        )
        yield text.rstrip()


def _next_term(options: argparse.Namespace) -> Iterator[str]:
    names = start_next_term(options.course, options.folder)
    count = f"{len(names)} assignment{'' if len(names) == 1 else 's'}"
    yield f"{options.folder}: {count}, no students; it gets a gradebook of its own"
    yield f"Dates were last term's, so none came along: write new ones into {RULES}."
    if (options.course / RULES).exists() and not (options.folder / RULES).exists():
        yield f"{RULES} itself did not either, since its dates could not be told from its rules."
    if (options.folder / HANDING_IN).exists():
        yield f"{HANDING_IN} is last term's: see whether a date stands in it."
