"""A platform's archive of submissions into the folders from which a class is graded.

The latest attempt counts. What it takes the place of is kept aside in full, so that nothing is lost,
and unpacking the same archive again, or an older one, changes nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from autograder.batch.course import open_assignment
from autograder.batch.run_lock import only_one
from autograder.errors import CourseError
from autograder.files import plain_files, printable
from autograder.grade.submission import (
    LARGEST_FILES,
    LARGEST_NOTEBOOK,
    MOST_FILES,
    TIME,
    read_plain,
)
from autograder.lms.archives import NOTEBOOK, Archive, Refused, safe
from autograder.lms.platform import SubmittedFile
from autograder.lms.roster import listed, roster_of

# what platforms and browsers put behind a name that there is already
AGAIN = re.compile(r"(?:-\d+| ?\(\d+\))$")


@dataclass
class Unpacked:
    """What has become of an archive, by student.

    Attributes:
        new: had nothing here before.
        replaced: had an earlier attempt here, and where that is now.
        same: have this very attempt here.
        older: have a later attempt here than this one.
        late: are marked as late by the platform.
        renamed: gave the notebook another name.
        not_taken: handed in something from which no attempt could be made, and why.
        refused: entries that were not unpacked.
        strangers: entries of nobody in the platform's table.
        absent: stand in the platform's table, and handed in nothing.
        odd: people of that table who have no id that names a folder.
    """

    new: list[str] = field(default_factory=list)
    replaced: dict[str, Path] = field(default_factory=dict)
    same: list[str] = field(default_factory=list)
    older: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    not_taken: dict[str, str] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    strangers: list[Refused] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    odd: Sequence[str] = ()

    @property
    def whole(self) -> bool:
        """Whether all that was handed in is here, and everybody known."""
        return not (self.not_taken or self.refused or self.strangers or self.odd)


def unpack(
    course: Path, assignment: str, archive: Path, table: Path | None, by: str, dry_run: bool = False
) -> Unpacked:
    """Unpack what a class handed in into ``submitted/<student>/<assignment>/``.

    Args:
        course: the course folder.
        assignment: the assignment's id.
        archive: the platform's archive.
        table: the platform's export, which says who is who; None where its numbers are the ids.
        by: the column of that table with the ids.
        dry_run: write nothing.

    Raises:
        CourseError: there is no such course, assignment, archive or table.
    """
    open_assignment(course, assignment)
    with contextlib.closing(Archive(archive)) as opened:
        files, refused = opened.files()
        if not files:
            why = f" For example, {refused[0]}" if refused else ""
            raise CourseError(
                f"expected what students handed in in {archive}, named as Moodle or Canvas name it, "
                f"found nothing.{why}"
            )
        people = roster_of(course, assignment, table, by, opened.platform)
        by_student, strangers = people.by_student(files)
        outcome = Unpacked(
            refused=refused,
            strangers=strangers,
            odd=people.odd,
            absent=sorted(set(people.ids.values()) - by_student.keys()),
            late=sorted(name for name, of_one in by_student.items() if any(map(people.late, of_one))),
        )  # fmt: skip
        with contextlib.nullcontext() if dry_run else _alone(course / "grading" / assignment):
            for student, of_one in sorted(by_student.items()):
                attempts = _attempts(opened, of_one, assignment, student, outcome)
                if attempts:
                    _put(course, assignment, student, attempts, outcome, dry_run)
    return outcome


def _alone(kept: Path) -> contextlib.AbstractContextManager[None]:
    """Keep grading out while folders change."""
    kept.mkdir(parents=True, exist_ok=True)
    return only_one(kept / "lock")


def _attempts(
    archive: Archive,
    files: Sequence[SubmittedFile],
    assignment: str,
    student: str,
    outcome: Unpacked,
) -> list[dict[str, bytes]]:
    """A student's attempts, the latest last, each as files by name; empty where there is none."""
    notebooks = [file for file in files if file.own.casefold().endswith(NOTEBOOK)]
    named = [file for file in notebooks if _title(file)[0] == assignment.casefold()]
    chosen = sorted(named or notebooks, key=lambda file: (file.order, _title(file)[1], file.index))
    if not chosen or (not named and len(chosen) > 1):
        names = ", ".join(printable(file.own)[:80] for file in (notebooks or files)[:5])
        wanted = f"one notebook, or one named {assignment}{NOTEBOOK}" if notebooks else "a notebook"
        outcome.not_taken[student] = f"expected {wanted}, found {names}"
        return []
    beside = _beside(archive, [file for file in files if file not in notebooks], outcome)
    attempts = []
    for file in chosen:
        data = archive.read(file)
        if isinstance(data, bytes):
            attempts.append({**beside, f"{assignment}{NOTEBOOK}": data})
            continue
        outcome.refused.append(data)
        if file is chosen[-1]:  # an earlier attempt must not count in its place
            outcome.not_taken[student] = f"its latest notebook is refused, since {data.why}"
            return []
    if PurePosixPath(chosen[-1].own).name != f"{assignment}{NOTEBOOK}":
        outcome.renamed[student] = chosen[-1].own
    outcome.refused += [
        Refused(file.path, "another notebook than the assignment's")
        for file in notebooks
        if file not in chosen
    ]
    return attempts


def _beside(
    archive: Archive, files: Sequence[SubmittedFile], outcome: Unpacked
) -> dict[str, bytes]:
    """What a student handed in besides notebooks, by name."""
    found: dict[str, bytes] = {}
    size = 0
    odd = [file for file in files if not file.text and not safe(file.own)]
    outcome.refused += [
        Refused(file.path, "a name that cannot be given to a file everywhere") for file in odd
    ]
    for file in files:
        if file.text or file in odd:
            continue
        data = archive.read(file)
        if isinstance(data, bytes):
            size += len(data)
            if len(found) < MOST_FILES and size <= LARGEST_FILES:
                found[file.own] = data
                continue
            why = f"more than {MOST_FILES} files or {LARGEST_FILES >> 20} MiB of one student"
            data = Refused(file.path, why)
        outcome.refused.append(data)
    return found


def _title(file: SubmittedFile) -> tuple[str, int]:
    """A notebook's name without its ending, and the number that a platform or browser put behind it."""
    stem = PurePosixPath(file.own).stem
    again = AGAIN.search(stem)
    return AGAIN.sub("", stem).casefold(), int(re.sub(r"\D", "", again[0])) if again else 0


def _put(
    course: Path,
    assignment: str,
    student: str,
    attempts: Sequence[Mapping[str, bytes]],
    outcome: Unpacked,
    dry_run: bool,
) -> None:
    """Put the latest attempt where it is graded from, and all others aside."""
    folder = course / "submitted" / student / assignment
    if (
        folder.parent.is_symlink()
        or folder.is_symlink()
        or (folder.exists() and not folder.is_dir())
    ):
        outcome.not_taken[student] = f"expected a folder {folder}, found a link or a file"
        return
    earlier = course / "grading" / assignment / "earlier" / student
    latest, before = attempts[-1], _content(folder)
    if before == latest:
        outcome.same.append(student)
    elif before and (earlier / digest_of(latest)).exists():
        outcome.older.append(student)
        return
    elif before:
        outcome.replaced[student] = earlier / digest_of(before)
    else:
        outcome.new.append(student)
    if dry_run:
        return
    aside = course / "grading" / assignment / "unpacking"
    for attempt in attempts[:-1]:
        target = earlier / digest_of(attempt)
        if attempt != latest and not target.exists():
            _write(attempt, aside, target)
    if before == latest:
        return
    if folder.exists():
        target = earlier / digest_of(before)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            shutil.rmtree(folder)
        else:
            os.replace(folder, target)
    _write(latest, aside, folder)


def _content(folder: Path) -> dict[str, bytes]:
    """The files that lie in a folder, by name, but for those of programs."""
    found = {}
    if folder.is_dir():
        for path in plain_files(folder):
            name = path.relative_to(folder)
            if str(name) != TIME and not any(part.startswith(".") for part in name.parts):
                found[name.as_posix()] = read_plain(path, LARGEST_NOTEBOOK + LARGEST_FILES) or b""
    return found


def _write(attempt: Mapping[str, bytes], aside: Path, target: Path) -> None:
    """Make a folder with these files, which is there complete or not at all."""
    shutil.rmtree(aside, ignore_errors=True)
    for name, data in attempt.items():
        path = aside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(aside, target)


def digest_of(attempt: Mapping[str, bytes]) -> str:
    """A short name for an attempt, by which it is known again."""
    found = hashlib.sha256()
    for name, data in sorted(attempt.items()):
        for piece in (name.encode("utf-8", "replace"), data):
            found.update(b"%d:" % len(piece) + piece)
    return found.hexdigest()[:16]


def in_words(outcome: Unpacked) -> str:
    """What has become of the archive, with everybody to whom something happened."""
    counts = f"{len(outcome.new)} new, {len(outcome.replaced)} replaced by a later attempt"
    not_taken = [f"{student}: {why}" for student, why in outcome.not_taken.items()]
    lines = [
        [f"{counts}, {len(outcome.same)} here already"],
        listed("replaced", [f"{student} (before: {path})" for student, path in outcome.replaced.items()]),
        listed("of an earlier attempt than the one here, left as it is", outcome.older),
        listed("late, by the platform's mark", outcome.late),
        listed("named otherwise, and renamed", [f"{student} ({own})" for student, own in outcome.renamed.items()]),
        listed("in the platform's table, and handed in nothing", outcome.absent),
        listed("not taken", not_taken, one_a_line=True),
        listed("of nobody known", list(map(str, outcome.strangers)), one_a_line=True),
        listed("without a usable id in the platform's table", outcome.odd, one_a_line=True),
        listed("refused", list(map(str, outcome.refused)), one_a_line=True),
    ]  # fmt: skip
    return "\n".join(itertools.chain(*lines))
