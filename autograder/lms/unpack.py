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
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import tzinfo
from pathlib import Path, PurePosixPath

from autograder.batch.came_in import Times
from autograder.batch.course import assignments_of, open_assignment
from autograder.batch.roster import FILE
from autograder.batch.run_lock import only_one
from autograder.bounds import LARGEST_FILE, LARGEST_FILES, MOST_FILES
from autograder.checks.course import Course
from autograder.checks.course import course as taught_course
from autograder.errors import CourseError
from autograder.files import NO_ROOM, plain_files, printable
from autograder.grade.submission import TIME, read_plain
from autograder.lms.archives import NOTEBOOK, Archive, Refused, refuse_anothers, safe, whose
from autograder.lms.came_in import TimesOfTable, due_in
from autograder.lms.platform import SubmittedFile
from autograder.lms.roster import roster_of
from autograder.lms.summary import Summary

# what platforms and browsers put behind a name that there is already
AGAIN = re.compile(r"(?:-\d{1,9}| ?\(\d{1,9}\))$")
BLOCK = 4 << 10  # bytes of the disk that a small file takes
MOST_ALIKE = 5  # refused files of one person that are listed with the same reason


def unpack(
    course: Path,
    assignment: str,
    archive: Path,
    table: Path | None,
    by: str,
    zone: tzinfo,
    dry_run: bool = False,
) -> Summary:
    """Unpack what a class handed in into ``submitted/<student>/<assignment>/``.

    Args:
        table: the platform's export, which says who is who; None where its numbers are the ids.
        by: the column of that table with the ids.
        zone: of the times in that table.
        dry_run: write nothing.

    Raises:
        CourseError: there is no such course, assignment, archive or table.
    """
    api, taught = open_assignment(course, assignment), taught_course()
    with contextlib.closing(Archive(archive)) as opened:
        files, refused = opened.files()
        if not files:
            why = f" For example, {refused[0]}" if refused else ""
            raise CourseError(
                f"expected what students handed in in {archive}, named as Moodle or Canvas name it, "
                f"found nothing.{why}"
            )
        roster = roster_of(course, assignment, table, by, opened.platform)
        by_student, strangers = roster.by_student(files)
        others = [name for name in assignments_of(api, course) if name != assignment]
        refuse_anothers(files, assignment, others, archive)
        target = Target(course, assignment, dry_run)
        not_taken: dict[str, str] = {}
        renamed: dict[str, str] = {}
        with contextlib.ExitStack() as stack:
            if not dry_run:  # keep grading out while folders change
                target.grading.mkdir(parents=True, exist_ok=True)
                stack.enter_context(only_one(target.grading / "lock"))
            for student, of_one in sorted(by_student.items()):
                try:
                    attempts, own = _attempts(opened, of_one, assignment, others, refused, taught)
                    if PurePosixPath(own).name != f"{assignment}{NOTEBOOK}":
                        renamed[student] = own
                    target.put(student, attempts)
                except NotTaken as why_not:
                    not_taken[student] = str(why_not)
                    target.keep(student, why_not.files)
                except OSError as error:
                    if error.errno in NO_ROOM:
                        raise
                    not_taken[student] = f"its folder cannot be written ({error})"
                except Exception as error:  # noqa: BLE001 (one student's work stops nobody else's)
                    not_taken[student] = f"it cannot be unpacked ({type(error).__name__}: {error})"
            if not dry_run:  # or a service that looks on takes them for handed in just now
                Times(course, assignment).put_unknown(target.new)
    late = sorted(
        student for student, of_one in by_student.items() if any(map(roster.late, of_one))
    )
    times = TimesOfTable(zone, due_in(course, assignment))
    for student in target.taken:
        [text] = {roster.came_in(file) for file in by_student[student]}
        times.add(student, text, student in late, student in target.replaced)
    if not dry_run:
        Times(course, assignment).put(times.found)
    absent = sorted(set(roster.ids.values()) - by_student.keys()) if roster.sheet else []
    counts = f"{len(target.new)} new, {len(target.replaced)} replaced by a later attempt"
    summary = Summary([f"{counts}, {len(target.same)} here already"])
    summary.tell("replaced", [f"{name} (before: {path})" for name, path in target.replaced.items()])
    summary.tell("of an earlier attempt than the one here, so that nothing changes", target.older)
    summary.tell(
        "late, by the platform's mark", [name for name in late if name not in times.by_mark]
    )
    times.tell(summary)
    summary.tell(
        "named otherwise, and renamed", [f"{name} ({own})" for name, own in renamed.items()]
    )
    summary.tell("in the platform's table, and handed in nothing", absent)
    summary.miss(f"not in {FILE}", roster.not_listed(by_student))
    summary.miss(
        "not taken", [f"{name}: {why}" for name, why in not_taken.items()], one_a_line=True
    )
    summary.miss("of nobody known", strangers, one_a_line=True)
    summary.miss("without a usable id in the platform's table", roster.odd, one_a_line=True)
    summary.miss("refused", in_short(refused), one_a_line=True, count=len(refused))
    return summary


def in_short(refused: Sequence[Refused]) -> list[str]:
    """What is refused, a line each, but for what of one person's is refused for the same reason time and again."""
    alike: dict[tuple[str, str], list[Refused]] = defaultdict(list)
    for one in refused:
        alike[re.split("[/_]", one.path)[0], one.why].append(one)
    lines: list[str] = []
    for (person, why), all_of_them in alike.items():
        lines += map(str, all_of_them[:MOST_ALIKE])
        if len(all_of_them) > MOST_ALIKE:
            more = len(all_of_them) - MOST_ALIKE
            lines.append(f"{person[:120]}: {more} more, {why}")
    return lines


class NotTaken(Exception):
    """A student handed in something from which no attempt can be made; the message says why.

    Args:
        why: the message.
        files: what came in all the same, by name, to be kept where a person finds it.
    """

    def __init__(self, why: str, files: Mapping[str, bytes] | None = None) -> None:
        super().__init__(why)
        self.files = files or {}


def _attempts(
    archive: Archive,
    files: Sequence[SubmittedFile],
    assignment: str,
    other_assignments: Sequence[str],
    refused: list[Refused],
    taught: Course,
) -> tuple[list[dict[str, bytes]], str]:
    """A student's attempts, the latest last, each as files by name; and how the latest was called.

    Copies of what the course itself is made of are as if they were not there.

    Raises:
        NotTaken: there is none.
    """
    handed_in = {_own(file) for file in files}
    theirs = [file for file in files if not taught.owns(_own(file), handed_in.__contains__)]
    notebooks = [file for file in files if file.own.casefold().endswith(NOTEBOOK)]
    named = [file for file in notebooks if _title(file)[0] == assignment.casefold()]
    possible = named or [
        file for file in notebooks if not whose(file, assignment, other_assignments)
    ]
    # one in a folder of the student's own is a copy, where another lies above it
    above = min(map(_depth, named), default=0)
    chosen = sorted(
        (file for file in possible if not named or _depth(file) == above),
        key=lambda file: _place(file, assignment),
    )
    places = [_place(file, assignment) for file in chosen[-2:]]
    if not chosen or (len(chosen) > 1 and (not named or places[0] == places[1])):
        names = ", ".join(printable(file.own)[:80] for file in (notebooks or files)[:5])
        wanted = "a notebook"
        if notebooks:
            wanted = f"{'one notebook, or ' if chosen else ''}one named {assignment}{NOTEBOOK}"
        if named:
            wanted = f"one notebook {assignment}{NOTEBOOK}"
        kept = _beside(archive, theirs, f"{assignment}{NOTEBOOK}", refused)
        raise NotTaken(f"expected {wanted}, found {names}", kept)
    others = [file for file in theirs if file not in notebooks]
    copies = [file for file in named if file not in chosen]
    why = "a copy of the notebook in a folder, where another lies above it that counts"
    refused += [Refused(file.path, why) for file in copies]
    beside = _beside(archive, others, f"{assignment}{NOTEBOOK}", refused)
    attempts: list[dict[str, bytes]] = []
    # each attempt is kept with all that lies beside it
    shared = sum(map(len, beside.values())) + BLOCK * (len(beside) + 1)
    room = LARGEST_FILE
    for file in reversed(chosen):
        latest = file is chosen[-1]
        if not latest and shared + file.size > room:
            why = f"attempts of one student with more than {LARGEST_FILE >> 20} MiB"
            refused.append(Refused(file.path, why))
            continue
        room -= shared + file.size
        data = archive.read(file)
        if isinstance(data, bytes):
            attempts.insert(0, {**beside, f"{assignment}{NOTEBOOK}": data})
            continue
        refused.append(data)
        if latest:  # an earlier attempt must not count in its place
            raise NotTaken(f"its latest notebook is refused, since {data.why}")
    unused = [file for file in notebooks if file not in chosen and file not in copies]
    refused += [Refused(file.path, "another notebook than the assignment's") for file in unused]
    return attempts, chosen[-1].own


def _beside(
    archive: Archive, files: Sequence[SubmittedFile], notebook: str, refused: list[Refused]
) -> dict[str, bytes]:
    """What a student handed in besides notebooks, by name; that of the notebook is taken."""
    found: dict[str, bytes] = {}
    room = LARGEST_FILES
    latest = {_own(file): file for file in sorted(files, key=lambda file: file.order)}
    for file in files:
        if file.text:
            continue
        data: bytes | Refused
        own = _own(file)
        if latest[own] is not file:
            data = Refused(
                file.path, "another file of the same name counts, which stands behind it"
            )
        elif not safe(own):
            data = Refused(file.path, "a name that cannot be given to a file everywhere")
        elif own.partition("/")[0].casefold() == TIME:
            why = "the name of nbgrader's own file, which says when something came in"
            data = Refused(file.path, why)
        elif _in_the_way(own, {notebook, *found}):
            data = Refused(file.path, "another file has the name of its folder, or lies in it")
        elif len(found) == MOST_FILES or file.size > room:
            why = f"more than {MOST_FILES} files or {LARGEST_FILES >> 20} MiB of one student"
            data = Refused(file.path, why)
        else:
            room -= file.size
            data = archive.read(file)
        if isinstance(data, bytes):
            found[own] = data
        else:
            refused.append(data)
    return found


def _in_the_way(name: str, taken: Collection[str]) -> bool:
    """Whether a file of this name would have to be a folder for another one, or the other for this."""
    return any(one.startswith(f"{name}/") or name.startswith(f"{one}/") for one in taken)


def _own(file: SubmittedFile) -> str:
    """The name under which a file is kept: a Mac writes an accent as a letter of its own, and keyboards do not."""
    return unicodedata.normalize("NFC", file.own)


def _depth(file: SubmittedFile) -> int:
    return file.own.count("/")


def _place(file: SubmittedFile, assignment: str) -> tuple[int, int, bool]:
    """By which the latest of a student's notebooks is found, as far as platforms and names say it."""
    exact = PurePosixPath(file.own).name == f"{assignment}{NOTEBOOK}"
    return file.order, _title(file)[1], exact


def _title(file: SubmittedFile) -> tuple[str, int]:
    """A notebook's name without its ending, and the number that a platform or browser put behind it."""
    stem = PurePosixPath(file.own).stem
    again = AGAIN.search(stem)
    return AGAIN.sub("", stem).casefold(), int(re.sub(r"\D", "", again[0])) if again else 0


class Target:
    """The folders from which a class is graded, and what has become of them.

    Attributes:
        new: students who had nothing here before.
        replaced: who had an earlier attempt here, and where that is now.
        same: who have this very attempt here.
        older: who have a later attempt here than this one.
    """

    def __init__(self, course: Path, assignment: str, dry_run: bool) -> None:
        self.submitted, self.assignment, self.dry_run = course / "submitted", assignment, dry_run
        self.grading = course / "grading" / assignment
        self.new: list[str] = []
        self.replaced: dict[str, Path] = {}
        self.same: list[str] = []
        self.older: list[str] = []

    @property
    def taken(self) -> list[str]:
        """Whose work here is that of the archive."""
        return [*self.new, *self.replaced, *self.same]

    def put(self, student: str, attempts: Sequence[Mapping[str, bytes]]) -> None:
        """Put the latest attempt where it is graded from, and all others aside.

        Raises:
            NotTaken: something else is there than a folder.
        """
        folder = self.submitted / student / self.assignment
        links = folder.parent.is_symlink() or folder.is_symlink()
        if links or (folder.exists() and not folder.is_dir()):
            raise NotTaken(f"expected a folder {folder}, found a link or a file")
        earlier = self.grading / "earlier" / student
        latest, before = attempts[-1], _content(folder)
        kept = earlier / digest_of(before)
        if before and before != latest and (earlier / digest_of(latest)).exists():
            self.older.append(student)
            return
        if not self.dry_run:
            for attempt in attempts[:-1]:
                place = earlier / digest_of(attempt)
                if attempt != latest and not place.exists():
                    place.parent.mkdir(parents=True, exist_ok=True)
                    os.replace(self._made(attempt), place)
            if before != latest:
                self._replace(folder, latest, kept)
        if before == latest:
            self.same.append(student)
        elif before:
            self.replaced[student] = kept
        else:
            self.new.append(student)

    def keep(self, student: str, files: Mapping[str, bytes]) -> None:
        """Put files without the notebook where it would lie, so that grading tells the student what is missing.

        A notebook that is there stays.
        """
        folder = self.submitted / student / self.assignment
        before = _content(folder)
        linked = folder.parent.is_symlink() or folder.is_symlink()
        if files and not (before or linked or folder.is_file() or self.dry_run):
            self._replace(folder, files, self.grading / "earlier" / student / digest_of(before))

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
