"""Grade again what has been graded: a check, or a text of the assignment, has changed since.

New work is recorded as it comes. Results that replace others are held back until the last one is there,
and then stand in the gradebook all at once, so that it never holds half a class by the old measure and
half by the new one.
"""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI

from autograder.batch.entries import make_index
from autograder.batch.gradebook_writer import GradebookWriter
from autograder.batch.released import (
    cells_in,
    cells_of_source,
    refuse_others,
    release,
    state_of_release,
)
from autograder.batch.run import Work
from autograder.batch.score_changes import (
    ScoreChanges,
    Scores,
    compare,
    scores_of,
    write_changes,
)
from autograder.batch.settings import Settings
from autograder.errors import CourseError
from autograder.files import write_whole
from autograder.grade.messages import ReleasedCell


@contextlib.contextmanager
def gradebook_of(api: NbGraderAPI, dry_run: bool) -> Iterator[Gradebook]:
    """The course's gradebook; to try something, a copy that is thrown away, so that nobody has to wait.

    Raises:
        CourseError: it is no SQLite file, which alone can be copied.
    """
    url, course = api.coursedir.db_url, api.coursedir.course_id
    with contextlib.ExitStack() as stack:
        if dry_run:
            path = url.removeprefix("sqlite:///")
            if path == url:
                raise CourseError(f"--dry-run expects a gradebook in an SQLite file, found {url}")
            aside = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            url = f"sqlite:///{aside}/gradebook.db"
            if Path(path).exists():
                _copy(path, aside / "gradebook.db")
        gradebook = stack.enter_context(Gradebook(url, course))
        make_index(gradebook)
        yield gradebook


def _copy(gradebook: str, target: Path) -> None:
    """Copy an SQLite file as it is at one moment, also while others write."""
    with (
        contextlib.closing(sqlite3.connect(gradebook)) as old,
        contextlib.closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new)


class Regrade:
    """One grading of a class, in view of what was graded before.

    Args:
        gradebook: an open gradebook; with `Settings.dry_run` a copy, which may be written.
        kept: folder of the assignment's results.

    Attributes:
        cells: the assignment's cells today.
    """

    def __init__(
        self,
        api: NbGraderAPI,
        course: Path,
        assignment: str,
        gradebook: Gradebook,
        kept: Path,
        settings: Settings,
    ) -> None:
        self.api, self.course, self.assignment = api, course, assignment
        self.gradebook, self.kept, self.settings = gradebook, kept, settings
        self.cells: Sequence[ReleasedCell] = ()
        self._log = kept / "log.txt"
        self._before: dict[str, Scores] = {}
        self._handed_in_again: set[str] = set()
        self._state = kept / "released.txt"

    def prepare(self) -> None:
        """Let the gradebook have the assignment as its source is today, and note the scores that stand there.

        Raises:
            CourseError: nbgrader cannot release it, or its cells are not those by which students have been graded.
        """
        there, begun = cells_in(self.gradebook, self.assignment)
        if begun or self.settings.dry_run:
            self._before = scores_of(self.gradebook, self.assignment)
        if self._state.exists():
            state = state_of_release(self.api, self.assignment, there)
            if self._state.read_bytes() == state.encode():
                self.cells = there
                return
        if begun:
            self.cells = cells_of_source(self.api, self.assignment, self._log)
            refuse_others(self.assignment, there, self.cells)
        elif self.settings.dry_run:
            url = str(self.gradebook.engine.url)  # the copy's
            self.cells = cells_of_source(self.api, self.assignment, self._log, url)
        if not self.settings.dry_run:
            release(self.api, self.assignment, self._log)
            self.gradebook.db.expire_all()
            self.cells, _ = cells_in(self.gradebook, self.assignment)
            write_whole(self._state, state_of_release(self.api, self.assignment, self.cells))

    def take(self, recorder: GradebookWriter, works: Iterable[Work]) -> None:
        """Record results, or hold back until all are there what replaces others, and what stands already."""
        now = []
        for work in works:
            known = recorder.recorded.get(work.student)
            if (
                work.student in self._before
                and known
                and not recorder.same_work(work.student, work.digest)
            ):
                self._handed_in_again.add(work.student)
            stands = work.result is None
            if self.settings.dry_run or stands or recorder.replaces(work):
                recorder.hold(work)
            else:
                now.append(work)
        recorder.take(now)

    def finish(self, recorder: GradebookWriter) -> ScoreChanges:
        """Write what was held, and say whose score it changes; with `dry_run`, only say it."""
        write = not self.settings.dry_run
        recorder.take_held(files=write)
        changes = compare(
            self._before,
            scores_of(self.gradebook, self.assignment),
            self._handed_in_again,
            written=write,
        )
        write_changes(self.kept, changes)
        return changes
