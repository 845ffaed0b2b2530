"""The folders from which a class is graded: which attempt lies there, and which may take its place.

What is later says the platform: by the time that its table has, or by the number that it gave a file. The order in
which archives are unpacked says nothing, since an old one may be unpacked last. Nor does what is in them, since a
student may hand in once more what was there before.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path

from msgspec import Struct, structs

from autograder.batch.came_in import InUtc, moment_in
from autograder.batch.kept import read_kept, write_kept
from autograder.bounds import LARGEST_FILE, LARGEST_FILES
from autograder.files import TIME, plain_files, printable
from autograder.grade.submission import read_plain
from autograder.lms.archives import NOTEBOOK


class NotTaken(Exception):
    """A student handed in something from which no attempt can be made; the message says why.

    Args:
        why: the message.
        files: what came in all the same, by name, to be kept where a person finds it.
    """

    def __init__(self, why: str, files: Mapping[str, bytes] | None = None) -> None:
        super().__init__(why)
        self.files = files or {}


class Origin(Struct, frozen=True):
    """Which attempt something is, as far as the platform says it.

    Attributes:
        number: of its latest file, which grows with time; 0 where the platform has none.
        time: when it came in, as the platform's table has it; empty if it does not say.
        digest: of its files.
        came_in: what the time was taken for when it was unpacked.
    """

    number: int = 0
    time: str = ""
    digest: str = ""
    came_in: InUtc | None = None

    def later_than(self, other: Origin, zone: tzinfo) -> bool | None:
        """Whether this came in after the other one; None if the platform does not say, or says that it is the same."""
        mine: int | datetime | None = self.number or moment_in(self.time, zone)
        others = other.number or moment_in(other.time, zone)
        if type(mine) is not type(others) or mine is None or mine == others:
            return None
        return mine > others  # type: ignore[operator]

    def __str__(self) -> str:
        return printable(self.time)[:60] or (f"file {self.number}" if self.number else "no time")


NOWHERE = Origin()


class Target:
    """The folders from which a class is graded, and what has become of them.

    Args:
        zone: of the times that the platform's table has.
        later: whether what comes is the later one where nothing says so.
        dry_run: write nothing.

    Attributes:
        origins: of what lies in the folders, by student.
        new: students who had nothing here before.
        replaced: who had an earlier attempt here: which of the two is which, and where the earlier one is now.
        same: who have this very attempt here.
        kept: who have files without the notebook here, which came with this attempt.
        older: who have a later attempt here than this one, and which is which.
        unclear: who have another attempt here, and nothing says which is later; both by what is known of them.
    """

    def __init__(
        self, course: Path, assignment: str, zone: tzinfo, later: bool, dry_run: bool
    ) -> None:
        self.submitted, self.assignment = course / "submitted", assignment
        self.zone, self.later, self.dry_run = zone, later, dry_run
        self.grading = course / "grading" / assignment
        self.origins = self._kept()
        self.new: list[str] = []
        self.replaced: dict[str, str] = {}
        self.same: list[str] = []
        self.kept: list[str] = []
        self.older: dict[str, str] = {}
        self.unclear: dict[str, str] = {}

    @property
    def taken(self) -> list[str]:
        """Whose work here is that of the archive, be it a notebook or not."""
        return [*self.new, *self.replaced, *self.same, *self.kept]

    def put(self, student: str, attempts: Sequence[Mapping[str, bytes]], origin: Origin) -> None:
        """Put the latest attempt where it is graded from unless a later one is there, and all others aside.

        Raises:
            NotTaken: something else is there than a folder.
        """
        folder = self.submitted / student / self.assignment
        links = folder.parent.is_symlink() or folder.is_symlink()
        if links or (folder.exists() and not folder.is_dir()):
            raise NotTaken(f"expected a folder {folder}, found a link or a file")
        latest, before = attempts[-1], _content(folder)
        here = self._origin_here(student, before)
        later = origin.later_than(here, self.zone)
        both = f"here {here}, in the archive {origin}"
        kept = self._earlier(student, before)
        unknown = later is None and before != latest and not self.later
        unknown &= (
            f"{self.assignment}{NOTEBOOK}" in before
        )  # without it, nothing here can be graded
        stays = bool(before) and (later is False or unknown)
        lies = before if stays else latest
        if not self.dry_run:
            for attempt in attempts:
                self._put_aside(student, attempt, lies)
            if before != lies:
                self._replace(folder, lies, kept)
        if stays:
            (self.unclear if unknown else self.older)[student] = both
            return
        known = structs.replace(origin, digest=digest_of(lies), came_in=here.came_in)
        self.origins[student] = known
        if before == latest:
            self.same.append(student)
        elif before:
            self.replaced[student] = f"{origin}; before, {here}: {kept}"
        else:
            self.new.append(student)

    def _put_aside(
        self, student: str, attempt: Mapping[str, bytes], lies: Mapping[str, bytes]
    ) -> None:
        """Keep an attempt unless it is kept, or lies where it is graded from."""
        place = self._earlier(student, attempt)
        if attempt != lies and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(self._made(attempt), place)

    def keep(self, student: str, files: Mapping[str, bytes], origin: Origin) -> None:
        """Put files without the notebook where it would lie, so that grading tells the student what is missing.

        A notebook that is there stays.
        """
        folder = self.submitted / student / self.assignment
        before = _content(folder)
        linked = folder.parent.is_symlink() or folder.is_symlink()
        if not files or linked or folder.is_file() or before not in ({}, files):
            return
        if not (before or self.dry_run):
            self._replace(folder, files, self._earlier(student, before))
        came_in = self._origin_here(student, before).came_in
        self.origins[student] = structs.replace(origin, digest=digest_of(files), came_in=came_in)
        self.kept.append(student)

    def came_in(self, student: str) -> datetime | None:
        """When the attempt here came in, as it was taken from the platform; None if it was not."""
        return self.origins.get(student, NOWHERE).came_in

    def remember(self, times: Mapping[str, datetime | None]) -> None:
        """Keep what is known of the attempts here, and the times that were taken for theirs."""
        for student, when in times.items():
            self.origins[student] = structs.replace(self.origins[student], came_in=when)
        kept = {
            student: {**structs.asdict(one), "came_in": one.came_in and one.came_in.isoformat()}
            for student, one in {**self._kept(), **self.origins}.items()
        }
        write_kept(self.grading / "unpacked.json", kept)

    def _kept(self) -> dict[str, Origin]:
        remedy = "unpack with --later what is the later one"
        return read_kept(self.grading / "unpacked.json", Origin, remedy)

    def _origin_here(self, student: str, content: Mapping[str, bytes]) -> Origin:
        """What is known of what lies in a student's folder; nothing where another program has put it there."""
        known = self.origins.get(student, NOWHERE)
        return known if known.digest == digest_of(content) else NOWHERE

    def _earlier(self, student: str, attempt: Mapping[str, bytes]) -> Path:
        """Where an attempt is kept that does not count."""
        return self.grading / "earlier" / student / digest_of(attempt)

    def _replace(self, folder: Path, attempt: Mapping[str, bytes], kept: Path) -> None:
        """Put an attempt into a folder, and what was there aside, once all that can fail is done."""
        made = self._made(attempt)
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.exists() and kept.exists():
            shutil.rmtree(folder)
        elif folder.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            os.replace(folder, kept)
        os.replace(made, folder)

    def _made(self, attempt: Mapping[str, bytes]) -> Path:
        """A folder with these files, to be moved to its place, so that it is there complete or not at all."""
        aside = self.grading / "unpacking"
        shutil.rmtree(aside, ignore_errors=True)
        for name, data in attempt.items():
            path = aside / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return aside


def _content(folder: Path) -> dict[str, bytes]:
    """The files that lie in a folder, by name, but for those of programs."""
    found = {}
    if folder.is_dir():
        for path in plain_files(folder):
            name = path.relative_to(folder)
            if str(name) != TIME and not any(part.startswith(".") for part in name.parts):
                found[name.as_posix()] = read_plain(path, LARGEST_FILE + LARGEST_FILES) or b""
    return found


def digest_of(attempt: Mapping[str, bytes]) -> str:
    """A short name for an attempt, by which it is known again."""
    found = hashlib.sha256()
    for name, data in sorted(attempt.items()):
        for piece in (name.encode("utf-8", "replace"), data):
            found.update(b"%d:" % len(piece) + piece)
    return found.hexdigest()[:16]
