"""Grade again what has been graded: an assignment, its points or a check has changed since.

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

from autograder.batch.cell_migration import (
    ByHand,
    Change,
    bring_up_to,
    cells_in,
    cells_of_source,
    change_between,
    release,
    renamed_cells,
    state_of_release,
)
from autograder.batch.entries import make_index
from autograder.batch.gradebook_writer import GradebookWriter
from autograder.batch.run import Work
from autograder.batch.score_changes import (
    ScoreChanges,
    Scores,
    compare,
    keep_by_hand,
    scores_of,
    write_changes,
)
from autograder.batch.settings import Settings
from autograder.errors import CourseError
from autograder.files import write_whole
from autograder.grade.messages import ReleasedCell
from autograder.grade.release_history import ReleaseHistory, read_history, write_history
from autograder.grade.restore import with_history


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
        change: what became of them since work was graded.
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
        self.change = Change()
        self._log = kept / "log.txt"
        self._before: dict[str, Scores] = {}
        self._handed_in_again: set[str] = set()
        self._earlier = ReleaseHistory()
        self._begun = self._released = False
        self._state = kept / "released.txt"

    def prepare(self) -> None:
        """Find out what has changed; where nobody has been graded, tell the gradebook at once.

        Raises:
            CourseError: nbgrader cannot release the assignment, or a name is not as it is said.
        """
        there, self._begun = cells_in(self.gradebook, self.assignment)
        if self._begun or self.settings.dry_run:
            self._before = scores_of(self.gradebook, self.assignment)
        if self._state.exists():
            state = state_of_release(self.api, self.assignment, there)
            self._released = self._state.read_bytes() == state.encode()
        if self._released:
            cells = there
        elif self._begun or self.settings.dry_run:
            cells = cells_of_source(self.api, self.assignment, self._log)
        else:
            release(self.api, self.assignment, self._log)
            cells, _ = cells_in(self.gradebook, self.assignment)
        there = there or cells
        earlier = read_history(self.course, self.assignment)
        renamed = renamed_cells(self.settings.renamed, earlier.renamed, there, cells)
        change = change_between(there, cells, renamed)
        names = {cell.name for cell in cells}
        self._earlier = earlier.and_now(renamed, set(change.added), names)
        self.cells = with_history(cells, self._earlier)
        if self._begun:
            self.change = change
        elif change and not self.settings.dry_run:
            write_history(self.course, self.assignment, self._earlier)

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
            if self.settings.dry_run or self.change or stands or recorder.replaces(work):
                recorder.hold(work)
            else:
                now.append(work)
        recorder.take(now)

    def finish(self, recorder: GradebookWriter) -> ScoreChanges:
        """Write what was held, and say whose score it changes; with `dry_run`, only say it."""
        after: dict[str, Scores] = {}
        removed: list[ByHand] = []
        write = not self.settings.dry_run

        def change_cells() -> frozenset[str]:
            if self.change or (self.settings.dry_run and not self._begun):
                removed.extend(
                    bring_up_to(self.gradebook, self.assignment, self.cells, self.change)
                )
            return frozenset(self.change.worth)

        def look() -> None:
            after.update(scores_of(self.gradebook, self.assignment))
            if write and self.change:
                # before the gradebook is, so that nothing is lost wherever this is stopped
                keep_by_hand(self.kept, removed)
                write_history(self.course, self.assignment, self._earlier)

        recorder.take_held(change_cells, look, files=write)
        if write and not self._released:
            if self._begun:
                release(self.api, self.assignment, self._log)
            cells, _ = cells_in(self.gradebook, self.assignment)
            write_whole(self._state, state_of_release(self.api, self.assignment, cells))
        changes = compare(
            self._before,
            after,
            self.change,
            self._handed_in_again,
            removed,
            written=write,
            never_ran={row.student for row in recorder.rows.values() if row.failed},
        )
        write_changes(self.kept, changes)
        return changes
