"""A platform's archive of submissions into the folders from which a class is graded.

The latest attempt counts. What it takes the place of is kept aside in full, so that nothing is lost,
and unpacking the same archive again, or an older one, changes nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
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
from autograder.grade.submission import LARGEST_FILES, LARGEST_NOTEBOOK, MOST_FILES, read_plain
from autograder.lms.archive_entry import Entry, Refused
from autograder.lms.archives import NOTEBOOK, Archive, safe
from autograder.lms.roster import Roster, roster_of

COLLECTED = "timestamp.txt"  # nbgrader's own, beside what a student handed in
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
        entries, outcome = [], Unpacked()
        for entry in opened.entries():
            if isinstance(entry, Refused):
                outcome.refused.append(entry)
            else:
                entries.append(entry)
        if not entries:
            why = f" For example, {outcome.refused[0]}" if outcome.refused else ""
            raise CourseError(
                f"expected what students handed in in {archive}, named as Moodle or Canvas name it, "
                f"found nothing.{why}"
            )
        people = roster_of(course, assignment, table, by, numbers=opened.canvas)
        outcome.odd = people.odd
        by_student = _by_student(entries, people, outcome)
        with contextlib.nullcontext() if dry_run else _alone(course / "grading" / assignment):
            for student, found in sorted(by_student.items()):
                attempts = _attempts(opened, found, assignment, student, outcome)
                if attempts:
                    _put(course, assignment, student, attempts, outcome, dry_run)
    handed_in = set(by_student)
    outcome.absent = sorted(set(people.ids.values()) - handed_in)
    return outcome


def _alone(kept: Path) -> contextlib.AbstractContextManager[None]:
    """Keep grading out while folders change."""
    kept.mkdir(parents=True, exist_ok=True)
    return only_one(kept / "lock")


def _by_student(
    entries: Sequence[Entry], people: Roster, outcome: Unpacked
) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        try:
            student, read = people.whose(entry)
        except LookupError as error:
            outcome.strangers.append(Refused(entry.path, str(error)))
            continue
        found.setdefault(student, []).append(read)
        if people.late(read) and student not in outcome.late:
            outcome.late.append(student)
    return found


def _attempts(
    archive: Archive, entries: Sequence[Entry], assignment: str, student: str, outcome: Unpacked
) -> list[dict[str, bytes]]:
    """A student's attempts, the latest last, each as files by name; empty where there is none."""
    notebooks = [entry for entry in entries if entry.own.casefold().endswith(NOTEBOOK)]
    named = [entry for entry in notebooks if _stem(entry) == assignment.casefold()]
    chosen = sorted(named or notebooks, key=lambda entry: (entry.order, _again(entry), entry.place))
    if not chosen or (not named and len(chosen) > 1):
        outcome.not_taken[student] = _instead(entries, notebooks, assignment)
        return []
    beside = [entry for entry in entries if entry not in notebooks and not entry.text]
    beside = [entry for entry in beside if not _refuse_odd(entry, outcome)]
    files: dict[str, bytes] = {}
    size = 0
    for entry in beside:
        data = archive.read(entry)
        if isinstance(data, Refused):
            outcome.refused.append(data)
            continue
        size += len(data)
        if len(files) >= MOST_FILES or size > LARGEST_FILES:
            why = f"more than {MOST_FILES} files or {LARGEST_FILES >> 20} MiB of one student"
            outcome.refused.append(Refused(entry.path, why))
            continue
        files[entry.own] = data
    attempts = []
    for entry in chosen:
        data = archive.read(entry)
        if isinstance(data, Refused):
            outcome.refused.append(data)
            if entry is chosen[-1]:  # an earlier attempt must not count in its place
                outcome.not_taken[student] = f"its latest notebook is refused, since {data.why}"
                return []
            continue
        attempts.append({**files, f"{assignment}{NOTEBOOK}": data})
    if PurePosixPath(chosen[-1].own).name != f"{assignment}{NOTEBOOK}":
        outcome.renamed[student] = chosen[-1].own
    for entry in notebooks:
        if entry not in chosen:
            outcome.refused.append(Refused(entry.path, "another notebook than the assignment's"))
    return attempts


def _refuse_odd(entry: Entry, outcome: Unpacked) -> bool:
    if safe(entry.own):
        return False
    outcome.refused.append(Refused(entry.path, "a name that cannot be given to a file everywhere"))
    return True


def _stem(entry: Entry) -> str:
    """A notebook's name without its ending, and without what a platform put behind it."""
    return AGAIN.sub("", PurePosixPath(entry.own).stem).casefold()


def _again(entry: Entry) -> int:
    found = AGAIN.search(PurePosixPath(entry.own).stem)
    return int(re.sub(r"\D", "", found[0])) if found else 0


def _instead(entries: Sequence[Entry], notebooks: Sequence[Entry], assignment: str) -> str:
    names = ", ".join(printable(entry.own)[:80] for entry in (notebooks or entries)[:5])
    if notebooks:
        return f"expected one notebook, or one named {assignment}{NOTEBOOK}, found {names}"
    return f"expected a notebook, found {names}"


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
    latest, there = attempts[-1], _content(folder)
    if there == latest:
        outcome.same.append(student)
    elif there and (earlier / digest_of(latest)).exists():
        outcome.older.append(student)
        return
    elif there:
        outcome.replaced[student] = earlier / digest_of(there)
    else:
        outcome.new.append(student)
    if dry_run:
        return
    aside = course / "grading" / assignment / "unpacking"
    for attempt in attempts[:-1]:
        target = earlier / digest_of(attempt)
        if attempt != latest and not target.exists():
            _write(attempt, aside, target)
    if there == latest:
        return
    if folder.exists():
        target = earlier / digest_of(there)
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
            name = path.relative_to(folder).as_posix()
            if name != COLLECTED and not any(part.startswith(".") for part in name.split("/")):
                found[name] = read_plain(path, LARGEST_NOTEBOOK + LARGEST_FILES) or b""
    return found


def _write(attempt: Mapping[str, bytes], aside: Path, target: Path) -> None:
    """Make a folder with these files, which is there complete or not at all."""
    shutil.rmtree(aside, ignore_errors=True)
    for name, data in attempt.items():
        place = aside / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
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
    lines = [f"{counts}, {len(outcome.same)} here already"]
    replaced = [f"{student} (before: {path})" for student, path in outcome.replaced.items()]
    for what, who in (
        ("replaced", replaced),
        ("of an earlier attempt than the one here, left as it is", outcome.older),
        ("late, by the platform's mark", sorted(outcome.late)),
        ("named otherwise, and renamed", [f"{student} ({own})" for student, own in outcome.renamed.items()]),
        ("in the platform's table, and handed in nothing", outcome.absent),
    ):  # fmt: skip
        if who:
            lines.append(f"{len(who)} {what}: {', '.join(map(printable, who))}")
    for what, whys in (
        ("not taken", [f"{student}: {why}" for student, why in outcome.not_taken.items()]),
        ("of nobody known", list(map(str, outcome.strangers))),
        ("without a usable id in the platform's table", list(outcome.odd)),
        ("refused", list(map(str, outcome.refused))),
    ):
        if whys:
            lines += [f"{len(whys)} {what}:", *(f"    {printable(why)}" for why in whys)]
    return "\n".join(lines)
