"""The course that is watched: its folders, and what its people have decided, read again when it changes."""

from __future__ import annotations

import shutil
from pathlib import Path

from nbgrader.apps import NbGraderAPI

from autograder.batch.course import assignments_of, open_course
from autograder.batch.exchange_time import clock_of
from autograder.batch.roster import FILE as LIST
from autograder.batch.roster import enrol, roster_of
from autograder.errors import CourseError
from autograder.files import digest_of
from autograder.service.gradebook import Entered, entered_in
from autograder.service.inbox import Exchange, Incoming, keep_holes
from autograder.service.policy import FILE, read_settings


class WatchedCourse:
    """A course folder and its exchange.

    Attributes:
        place: what the service keeps.
        assignments: ids of those that the course folder has sources of.
        settings: of the service, as `FILE` has them.
        entered: what people have entered in the gradebook.

    Raises:
        CourseError: it is no course folder, or its settings say something that cannot be.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = folder / "grading" / "service"
        self._api: NbGraderAPI = open_course(folder)
        self.assignments = assignments_of(self._api, self.folder)
        self.settings = read_settings(folder, self.assignments)
        self.entered = Entered()
        self._read_at: dict[Path, tuple[int, int]] = {}

    def read_again(self) -> None:
        """Read what people have changed.

        Raises:
            CourseError: the settings say something that cannot be, and those of before hold; or the
                list of the class cannot be read.
        """
        if self._changed(self.folder / "gradebook.db"):
            self.entered = entered_in(self.folder)
        if self._changed(self.folder / FILE):
            self.settings = read_settings(self.folder, self.assignments)
        if self._changed(self.folder / LIST):
            try:
                enrol(self.folder, roster_of(self.folder))
            except CourseError:
                self._read_at.pop(self.folder / LIST)
                raise

    def _changed(self, path: Path) -> bool:
        """Whether a file is another one than when this was last asked."""
        try:
            status = path.stat()
            seen = status.st_mtime_ns, status.st_size
        except FileNotFoundError:
            seen = 0, 0
        before = self._read_at.get(path)
        self._read_at[path] = seen
        return seen != before

    def has(self, assignment: str) -> bool:
        """Whether there is such an assignment, also since a moment ago."""
        if assignment not in self.assignments:
            self.assignments = assignments_of(self._api, self.folder)
        return assignment in self.assignments

    @property
    def exchange(self) -> Exchange | None:
        """The one that is watched, if there is one."""
        if not self.settings.exchange:
            return None
        course_id = self._api.coursedir.course_id
        clock = clock_of(self._api.config)
        return Exchange(Path(self.settings.exchange), course_id, self.settings.check_owner, clock)

    def order(self, assignment: str) -> Path:
        """A file that is there while what waits of an assignment is to be graded now."""
        return self.place / "now" / assignment

    def copy_of(self, name: str) -> Path:
        """Where the copy of a submission lies until another one counts."""
        return self.place / "arrivals" / digest_of(name)

    def drop_copy(self, name: str) -> None:
        shutil.rmtree(self.copy_of(name), ignore_errors=True)

    def put(self, arrival: Incoming) -> bool:
        """Put the copy of a submission where the batch looks for it; false if it lies there anyway."""
        if self.exchange is None:
            return False
        target = self.folder / "submitted" / arrival.student / arrival.assignment
        aside = target.with_name(f".{arrival.assignment}")
        shutil.rmtree(aside, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(self.copy_of(arrival.name), aside, copy_function=keep_holes)
        shutil.rmtree(target, ignore_errors=True)
        aside.replace(target)
        return True
