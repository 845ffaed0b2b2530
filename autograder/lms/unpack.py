"""A platform's archive of submissions into the folders from which a class is graded.

The latest attempt counts, as the platform says which it is. What it takes the place of is kept aside in full, so
that nothing is lost, and unpacking the same archive again, or an older one, changes nothing.
"""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import tzinfo
from pathlib import Path, PurePosixPath

from autograder.batch.came_in import Times, moment_in
from autograder.batch.course import assignments_of, open_assignment
from autograder.batch.roster import FILE
from autograder.batch.run_lock import only_one
from autograder.bounds import LARGEST_FILE, LARGEST_FILES, MOST_FILES
from autograder.checks.course import Course
from autograder.checks.course import course as taught_course
from autograder.errors import CourseError
from autograder.files import NO_ROOM, TIME, printable
from autograder.lms.archives import NOTEBOOK, Archive, Refused, refuse_anothers, safe, whose
from autograder.lms.came_in import TimesOfTable, due_in
from autograder.lms.platform import SubmittedFile
from autograder.lms.roster import Roster, roster_of
from autograder.lms.summary import Summary
from autograder.lms.target import NotTaken, Origin, Target

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
    later: bool = False,
    dry_run: bool = False,
) -> Summary:
    """Unpack what a class handed in into ``submitted/<student>/<assignment>/``.

    Args:
        table: the platform's export, which says who is who; None where its numbers are the ids.
        by: the column of that table with the ids.
        zone: of the times in that table.
        later: whether this archive is the later one where the platform does not say.
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
        target = Target(course, assignment, zone, later, dry_run)
        not_taken: dict[str, str] = {}
        renamed: dict[str, str] = {}
        with contextlib.ExitStack() as stack:
            if not dry_run:  # keep grading out while folders change
                target.grading.mkdir(parents=True, exist_ok=True)
                stack.enter_context(only_one(target.grading / "lock"))
            for student, of_one in sorted(by_student.items()):
                origin = _origin(of_one, roster)
                try:
                    attempts, own = _attempts(opened, of_one, assignment, others, refused, taught)
                    if PurePosixPath(own).name != f"{assignment}{NOTEBOOK}":
                        renamed[student] = own
                    target.put(student, attempts, origin)
                except NotTaken as why_not:
                    not_taken[student] = str(why_not)
                    target.keep(student, why_not.files, origin)
                except OSError as error:
                    if error.errno in NO_ROOM:
                        raise
                    not_taken[student] = f"its folder cannot be written ({error})"
                except Exception as error:  # noqa: BLE001 (one student's work stops nobody else's)
                    not_taken[student] = f"it cannot be unpacked ({type(error).__name__}: {error})"
            if not dry_run:  # or a service that looks on takes them for handed in just now
                Times(course, assignment).put_unknown([*target.new, *target.kept])
    late = sorted(
        student for student, of_one in by_student.items() if any(map(roster.late, of_one))
    )
    kept, by_hand = Times(course, assignment), []
    times = TimesOfTable(zone, due_in(course, assignment))
    for student in target.taken:
        text, before = _origin(by_student[student], roster).time, kept.get(student)
        ours = None, target.came_in(student), moment_in(text, zone)
        if student in (*target.same, *target.kept) and before not in ours:
            by_hand.append(student)
        else:
            times.add(student, text, student in late, student in target.replaced)
    if not dry_run:
        kept.put(times.found)
        target.remember(times.found)
    absent = sorted(set(roster.ids.values()) - by_student.keys()) if roster.sheet else []
    counts = f"{len(target.new)} new, {len(target.replaced)} replaced by a later attempt"
    summary = Summary([f"{counts}, {len(target.same)} here already"])
    summary.tell("replaced", [f"{name} ({which})" for name, which in target.replaced.items()])
    older = [f"{name} ({which})" for name, which in target.older.items()]
    summary.tell("of an earlier attempt than the one here, so that nothing changes", older)
    summary.tell("with another time by lms came-in, which stays", by_hand)
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
    summary.miss(
        "of another attempt than the one here, and nothing says which is later, so that nothing changes; --later "
        "unpacks them",
        [f"{name}: {which}" for name, which in target.unclear.items()],
        one_a_line=True,
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


def _origin(files: Sequence[SubmittedFile], roster: Roster) -> Origin:
    """Which attempt a student's files are, as far as the platform says it."""
    [time] = {roster.came_in(file) for file in files}
    return Origin(max(file.order for file in files), time)


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
