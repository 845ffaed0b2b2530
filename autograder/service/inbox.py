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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nbgrader.utils import notebook_hash, parse_utc

from autograder.bounds import DEEPEST_FOLDER, LARGEST_FILE, LARGEST_FILES, MOST_FILES
from autograder.files import printable
from autograder.grade.submission import TIME, notebook_in_folder, read_plain

try:
    import pwd
except ImportError:  # where there are no accounts of this kind, owners cannot be checked
    pwd = None  # type: ignore[assignment]

FINISHED = 0o777  # the mode that nbgrader gives a submission's folder when all is in it
QUIET = 10.0  # seconds after which a folder of another mode is taken for finished, too
SLACK = 300.0  # seconds that copying a submission may take, after its name was chosen
MOST_NOTEBOOKS = 20
SECRET = "submission_secret.txt"  # nbgrader's own, which names a submission's feedback
OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
OPEN_FOLDER = OPEN | getattr(os, "O_DIRECTORY", 0)


class Refused(Exception):
    """Something in the exchange that is no submission; the message says why."""


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


def utc(seconds: float) -> datetime:
    """Seconds since 1970 as nbgrader keeps times: UTC, without a time zone."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def parsed(name: str) -> tuple[str, str, datetime]:
    """Student, assignment and time in the name of a folder in the exchange.

    Raises:
        Refused: it has another form.
    """
    for pieces in (name.rsplit("+", 3)[:3], name.rsplit("+", 2)):
        if len(pieces) < 3:
            continue
        student, assignment, when = pieces
        with contextlib.suppress(ValueError, OverflowError, TypeError, ArithmeticError):
            if student.isprintable() and student not in ("", ".", "..") and len(when) < 60:
                return student, assignment, parse_utc(when)
    raise Refused("its name is not of the form STUDENT+ASSIGNMENT+TIME+LETTERS")


class Exchange:
    """The part of nbgrader's exchange that belongs to a course.

    Args:
        root: of the exchange.
        course_id: as nbgrader_config.py names the course.
        check_owner: each submission must belong to the account whose name it bears.
    """

    def __init__(self, root: Path, course_id: str, check_owner: bool) -> None:
        self.inbound = root / course_id / "inbound"
        self.feedback = root / course_id / "feedback"
        self.check_owner = check_owner and pwd is not None

    def names(self) -> list[str]:
        """What lies there."""
        with contextlib.suppress(FileNotFoundError):
            return sorted(os.listdir(self.inbound))
        return []

    def take(self, name: str, kept: Path) -> Incoming:
        """Copy a submission, and say what it is.

        Args:
            name: of its folder.
            kept: where the copy goes; what lies there is replaced.

        Raises:
            Unfinished: it is still being written.
            Refused: it is none.
        """
        student, assignment, claimed = parsed(name)
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
            aside = kept.with_name(f".{kept.name}")
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir(parents=True)
            copy = Copy(status.st_uid)
            # copied first, however many other files there are
            needed = (f"{assignment}.ipynb", SECRET, *copy.notebooks(folder))
            first = [copy.one(folder, name, aside) for name in needed]
            changed = max(status.st_ctime, *first, copy.into(folder, aside))
        finally:
            os.close(folder)
        finished = stat.S_IMODE(status.st_mode) & FINISHED == FINISHED
        if not finished and time.time() - changed < QUIET:
            shutil.rmtree(aside)
            raise Unfinished
        came_in = when_it_came(claimed, changed)
        # read by the grader, instead of what a student may have put there
        (aside / TIME).write_text(f"{came_in:%Y-%m-%d %H:%M:%S.%f} UTC", "ascii")
        keys = feedback_keys(aside)
        shutil.rmtree(kept, ignore_errors=True)
        os.replace(aside, kept)
        return Incoming(name, student, assignment, came_in, keys)

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


def account(number: int) -> str:
    """The name of an account, by its number."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"account {number}"


def when_it_came(claimed: datetime, changed: float) -> datetime:
    """When a submission came in: the time in its name, unless its files say that it was later.

    A student can choose the name, but cannot set back when files were last changed (their ctime).

    Args:
        claimed: UTC, from the name.
        changed: when its folder or its files were last changed, in seconds since 1970.
    """
    seen = utc(changed)
    apart = (seen - claimed).total_seconds()
    return claimed if 0 <= apart <= SLACK else seen


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

    Too many files are left out. One that is too large becomes an empty file of the same size, which
    takes no disk, so that grading can say how large it was.

    Args:
        owner: number of the account.
    """

    def __init__(self, owner: int) -> None:
        self.owner = owner
        self.bytes = LARGEST_FILE + LARGEST_FILES
        self.files = 2 * MOST_FILES

    def into(self, folder: int, target: Path, depth: int = 1) -> float:
        """Copy what is in a folder, by its descriptor; the time when its newest file was changed."""
        newest = 0.0
        for name, status in self._entries(folder):
            if stat.S_ISDIR(status.st_mode) and depth <= DEEPEST_FOLDER + 1:
                with contextlib.suppress(OSError):
                    below = os.open(name, OPEN_FOLDER, dir_fd=folder)
                    try:
                        (target / name).mkdir(exist_ok=True)
                        newest = max(newest, self.into(below, target / name, depth + 1))
                    finally:
                        os.close(below)
            elif stat.S_ISREG(status.st_mode):
                newest = max(newest, self.one(folder, name, target))
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
        with contextlib.suppress(OSError), open(os.open(name, OPEN, dir_fd=folder), "rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_uid == self.owner:
                with (target / name).open("wb") as copy:
                    if status.st_size > self.bytes:
                        copy.truncate(status.st_size)
                    else:
                        self.bytes -= copy.write(file.read(status.st_size))
                return status.st_ctime
        return 0.0

    def _entries(self, folder: int) -> Iterator[tuple[str, os.stat_result]]:
        with os.scandir(folder) as entries:
            for entry, _ in zip(entries, range(4 * MOST_FILES), strict=False):
                with contextlib.suppress(OSError):
                    yield entry.name, entry.stat(follow_symlinks=False)


def arrivals_in(submitted: Path, assignments: Sequence[str]) -> Iterator[Incoming]:
    """What lies in the course's own ``submitted/``, where a teacher or another program puts submissions.

    It has to have been left alone for a moment; a changed notebook is another submission.

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
                if time.time() - status.st_mtime > 1:
                    name = f"{student}+{assignment}+{status.st_mtime_ns}+{status.st_size}"
                    yield Incoming(name, student, assignment, utc(status.st_mtime))
