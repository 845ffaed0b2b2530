"""What came in: submissions in nbgrader's exchange, or in the course's own folder.

Students can write in the exchange, and change what lies there while it is read. So folders are opened
by descriptors and never by paths that somebody could exchange for a link, reading is bounded, and
what has been read is a copy that belongs to the course.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nbgrader.utils import notebook_hash

from autograder.batch.exchange_time import Clock, pieces_of
from autograder.bounds import DEEPEST_FOLDER, LARGEST_FILE, LARGEST_FILES, MOST_FILES
from autograder.files import NO_ROOM, TIME, printable
from autograder.grade.submission import notebook_in_folder, read_plain

try:
    import pwd
except ImportError:  # where there are no accounts of this kind, owners cannot be checked
    pwd = None  # type: ignore[assignment]

FINISHED = 0o777  # the mode that nbgrader gives a submission's folder when all is in it
QUIET = 10.0  # seconds after which a folder of another mode is taken for finished, too
SLACK = 300.0  # seconds that copying a submission may take, after its name was chosen
MOST_NOTEBOOKS = 20
SECRET = "submission_secret.txt"  # nbgrader's own, which names a submission's feedback
BLOCK = 512  # bytes in which a file system says how much it stores
OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
OPEN_FOLDER = OPEN | getattr(os, "O_DIRECTORY", 0)


class Refused(Exception):
    """Something in the exchange that is not taken; the message says why.

    Args:
        message: why.
        arrival: what it is, where its student can be told.
    """

    def __init__(self, message: str, arrival: Incoming | None = None) -> None:
        super().__init__(message)
        self.arrival = arrival


class Unfinished(Exception):
    """A submission that is still being written."""


@dataclass(frozen=True)
class Incoming:
    """A submission that came in.

    Attributes:
        name: of its folder in the exchange, or made up from what stands in ``submitted/``.
        student: the id.
        assignment: the assignment's id.
        came_in: UTC, without a time zone, as nbgrader keeps times.
        keys: names under which its student looks for feedback, one for each notebook.
    """

    name: str
    student: str
    assignment: str
    came_in: datetime
    keys: tuple[str, ...] = ()

    @property
    def work(self) -> tuple[str, str]:
        """Student and assignment."""
        return self.student, self.assignment


def as_text(name: str) -> str:
    """The name of a folder as a file of text can hold it: what is not UTF-8 stands there with backslashes."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def utc(seconds: float) -> datetime:
    """Seconds since 1970 as nbgrader keeps times: UTC, without a time zone."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def parsed(name: str) -> tuple[str, str, str]:
    """Student, assignment and time in the name of a folder in the exchange.

    Raises:
        Refused: it has another form.
    """
    pieces = pieces_of(name)
    if pieces and pieces[0].isprintable() and pieces[0] not in ("", ".", ".."):
        return pieces
    raise Refused("its name is not of the form STUDENT+ASSIGNMENT+TIME+LETTERS")


def student_in(name: str) -> str:
    """The student in the name of a folder, if it is one that nbgrader would write."""
    pieces = pieces_of(name)
    return pieces[0] if pieces else name.rsplit("+", 3)[0]


class Exchange:
    """The part of nbgrader's exchange that belongs to a course.

    Args:
        root: of the exchange.
        course_id: as nbgrader_config.py names the course.
        check_owner: each submission must belong to the account whose name it bears.
        clock: by which times in names are written; one that stands at UTC if it is left out.
    """

    def __init__(
        self, root: Path, course_id: str, check_owner: bool, clock: Clock | None = None
    ) -> None:
        self.inbound = root / course_id / "inbound"
        self.feedback = root / course_id / "feedback"
        self.check_owner, self.clock = check_owner and pwd is not None, clock or Clock()

    def names(self) -> dict[str, list[str]]:
        """What lies there, the newest first, by the account that it belongs to; by its name where no account counts.

        A name that is no text is written with backslashes, under which nothing can be opened.
        """
        found: dict[str, list[tuple[float, str]]] = defaultdict(list)
        with contextlib.suppress(FileNotFoundError), os.scandir(self.inbound) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # gone since
                    status = entry.stat(follow_symlinks=False)
                    name = as_text(entry.name)
                    whose = str(status.st_uid) if self.check_owner else student_in(name)
                    found[whose].append((status.st_ctime, name))
        return {
            account(int(whose)) if self.check_owner else whose: [
                name for _, name in sorted(of_one, reverse=True)
            ]
            for whose, of_one in found.items()
        }

    def take(self, name: str, kept: Path) -> Incoming:
        """Copy a submission, and say what it is.

        Args:
            name: of its folder.
            kept: where the copy goes; what lies there is replaced.

        Raises:
            Unfinished: it is still being written.
            Refused: it is none, or cannot be copied.
            OSError: this machine has no room, which is no fault of the submission.
        """
        student, assignment, when = parsed(name)
        claimed = self.clock.moment(when)
        try:
            inbound = os.open(self.inbound, OPEN_FOLDER)
        except OSError as error:
            raise Unfinished from error
        try:
            folder = self._open(name, inbound)
        finally:
            os.close(inbound)
        try:
            status = os.fstat(folder)
            if self.check_owner:
                owner = account(status.st_uid)
                if owner != student:
                    raise Refused(
                        f"its name says {printable(student)}, but it belongs to {printable(owner)}"
                    )
            finished = stat.S_IMODE(status.st_mode) & FINISHED == FINISHED
            if not finished:  # looked at before all of it is copied
                changed = max(status.st_ctime, Copy(status.st_uid).newest(folder))
                if time.time() - changed < QUIET:
                    raise Unfinished
            aside = kept.with_name(f".{kept.name}")
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir(parents=True)
            try:
                changed = self._copy(folder, status, assignment, aside)
                if not finished and time.time() - changed < QUIET:
                    raise Unfinished
                came_in = when_it_came(claimed, changed)
                # read by the grader, instead of what a student may have put there
                (aside / TIME).write_text(f"{came_in:%Y-%m-%d %H:%M:%S.%f} +0000", "ascii")
                keys = feedback_keys(aside)
                shutil.rmtree(kept, ignore_errors=True)
                os.replace(aside, kept)
            except Unfinished:
                raise
            except Exception as error:
                if is_no_room(error):
                    raise
                came_in = when_it_came(claimed, status.st_ctime)
                found = Incoming(name, student, assignment, came_in, feedback_keys(aside))
                why = f"it could not be copied ({type(error).__name__}: {printable(str(error))})"
                raise Refused(why, found) from error
            finally:
                shutil.rmtree(aside, ignore_errors=True)
        finally:
            os.close(folder)
        return Incoming(name, student, assignment, came_in, keys)

    def _copy(self, folder: int, status: os.stat_result, assignment: str, target: Path) -> float:
        """Copy what an open folder holds; when it or what is in it was last changed."""
        copy = Copy(status.st_uid)
        # copied first, however many other files there are
        needed = (f"{assignment}.ipynb", SECRET, *copy.notebooks(folder))
        first = [copy.one(folder, name, target) for name in needed]
        return max(status.st_ctime, *first, copy.into(folder, target))

    def _open(self, name: str, inbound: int) -> int:
        """A submission's folder; while it is being written, the course may not be able to open it."""
        try:
            return os.open(name, OPEN_FOLDER, dir_fd=inbound)
        except PermissionError as error:
            status = os.stat(name, dir_fd=inbound, follow_symlinks=False)
            if time.time() - status.st_ctime < SLACK:
                raise Unfinished from error
            raise Refused("the course's account may not open it") from error
        except OSError as error:
            raise Refused("it is not a folder that can be opened") from error


def is_no_room(error: Exception) -> bool:
    """Whether the machine lacks something that every submission needs."""
    return isinstance(error, OSError) and error.errno in NO_ROOM


def account(number: int) -> str:
    """The name of an account, by its number."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"account {number}"


def when_it_came(claimed: datetime | None, changed: float) -> datetime:
    """When a submission came in: the time in its name, unless its files say that it was later.

    A student can choose the name, but cannot set back when files were last changed (their ctime).

    Args:
        claimed: UTC, from the name; None where its clock leaves open which moment that is.
        changed: when its folder or its files were last changed, in seconds since 1970; not later than now,
            whatever a clock has said that was put right since.
    """
    seen = utc(min(changed, time.time()))
    if claimed and 0 <= (seen - claimed).total_seconds() <= SLACK:
        return claimed
    return seen


def feedback_keys(folder: Path) -> tuple[str, ...]:
    """Names under which nbgrader looks for the feedback of a submission: of each notebook in it.

    The list of assignments offers feedback only where every notebook of the folder has some.
    """
    secret = read_plain(folder / SECRET, most=1000)
    if not secret:
        return ()
    keys = []
    for path in sorted(folder.glob("*.ipynb"))[:MOST_NOTEBOOKS]:
        with contextlib.suppress(UnicodeError, AssertionError):
            keys.append(notebook_hash(secret=secret.decode("utf-8"), notebook_id=path.stem))
    return tuple(keys)


class Copy:
    """Copies plain files that belong to one account, and no more than a submission may hold.

    Too many files and folders are left out. One that is too large, as it is stored or as it is read,
    becomes an empty file of the same size, which takes no disk, so that grading can say how large it was.

    Args:
        owner: number of the account.
    """

    def __init__(self, owner: int) -> None:
        self.owner = owner
        self.bytes = LARGEST_FILE + LARGEST_FILES
        self.files = 2 * MOST_FILES
        self.entries = 4 * MOST_FILES

    def into(self, folder: int, target: Path, depth: int = 1) -> float:
        """Copy what is in a folder, by its descriptor; the time when its newest file was changed."""
        newest = 0.0
        for name, status in self._entries(folder):
            if depth == 1 and name == TIME:
                continue  # whatever it is: the course puts its own there
            if stat.S_ISDIR(status.st_mode) and depth <= DEEPEST_FOLDER + 1:
                below = _opened(name, OPEN_FOLDER, folder)
                if below is None:
                    continue
                try:
                    (target / name).mkdir(exist_ok=True)
                    newest = max(newest, self.into(below, target / name, depth + 1))
                finally:
                    os.close(below)
            elif stat.S_ISREG(status.st_mode):
                newest = max(newest, self.one(folder, name, target))
        return newest

    def newest(self, folder: int, depth: int = 1) -> float:
        """When the newest file in a folder was changed, without reading any."""
        newest = 0.0
        for name, status in self._entries(folder):
            if stat.S_ISREG(status.st_mode) and status.st_uid == self.owner:
                if depth > 1 or name != TIME:
                    newest = max(newest, status.st_ctime)
            elif stat.S_ISDIR(status.st_mode) and depth <= DEEPEST_FOLDER + 1:
                below = _opened(name, OPEN_FOLDER, folder)
                if below is None:
                    continue
                try:
                    newest = max(newest, self.newest(below, depth + 1))
                finally:
                    os.close(below)
        return newest

    def notebooks(self, folder: int) -> list[str]:
        """Names of notebooks that lie in a folder: the only one is graded, whatever it is called."""
        names = (name for name, _ in self._entries(folder) if name.endswith(".ipynb"))
        return sorted(names)[:MOST_NOTEBOOKS]

    def one(self, folder: int, name: str, target: Path) -> float:
        """Copy one file, unless it is there; the time when it was changed, 0 if it is not copied."""
        if self.files == 0 or (target / name).exists():
            return 0.0
        self.files -= 1
        descriptor = _opened(name, OPEN, folder)
        if descriptor is None:
            return 0.0
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != self.owner:
                return 0.0
            size = max(status.st_size, BLOCK * status.st_blocks)
            with (target / name).open("wb") as copy:
                if size > self.bytes:
                    copy.truncate(status.st_size)
                else:
                    self.bytes -= size
                    with open(descriptor, "rb", closefd=False) as file:
                        copy.write(file.read(status.st_size))
            return status.st_ctime
        finally:
            os.close(descriptor)

    def _entries(self, folder: int) -> Iterator[tuple[str, os.stat_result]]:
        with os.scandir(folder) as entries:
            for entry in entries:
                if self.entries == 0:
                    return
                self.entries -= 1
                with contextlib.suppress(OSError):
                    yield entry.name, entry.stat(follow_symlinks=False)


def _opened(name: str, flags: int, folder: int) -> int | None:
    """A descriptor of what a folder holds; None where it is gone, a link, or closed to the course."""
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if is_no_room(error):
            raise
        return None


def keep_holes(source: str, target: str) -> str:
    """Copy a file of a `Copy`, for `shutil.copytree`; what is too large to be read stays an empty one."""
    size = os.stat(source).st_size
    if size <= LARGEST_FILE:
        return shutil.copyfile(source, target)
    with open(target, "wb") as file:
        file.truncate(size)
    return target


def arrivals_in(submitted: Path, assignments: Sequence[str]) -> Iterator[Incoming]:
    """What lies in the course's own ``submitted/``, where a teacher or another program puts submissions.

    It has to have been left alone for a moment; a changed notebook is another submission, and so is an
    earlier one that is put back. When it was changed, its owner may have chosen: a time to come is taken for
    now, one before 1970 for 1970.

    Args:
        submitted: the folder.
        assignments: ids of the course's assignments.
    """
    students = sorted(os.listdir(submitted)) if submitted.is_dir() else []
    for student in students:
        for assignment in assignments:
            with contextlib.suppress(OSError):
                notebook = notebook_in_folder(submitted / student / assignment, assignment)
                status = os.lstat(notebook)
                now = time.time()
                if abs(now - status.st_mtime) > 1:
                    times = f"{status.st_mtime_ns}+{status.st_ctime_ns}"
                    name = f"{student}+{assignment}+{times}+{status.st_size}"
                    came_in = utc(min(max(status.st_mtime, 0.0), now))
                    yield Incoming(name, student, assignment, came_in)
