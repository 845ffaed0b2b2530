"""Grades submissions with the batch's own code, on engines that stay warm."""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence

from autograder.batch.classroom import grade_class
from autograder.batch.engine import Engine, engine_for
from autograder.batch.run_lock import only_one
from autograder.batch.settings import Settings
from autograder.batch.student_result import StudentResult
from autograder.checks.course import allowed_modules
from autograder.errors import CourseError, EngineError
from autograder.files import printable
from autograder.sandbox.bubblewrap import SandboxError
from autograder.service.course import WatchedCourse
from autograder.service.inbox import Incoming, is_no_room

ENGINES = 2  # kept warm: assignments differ in what submissions may import
PAUSE, LONGEST_PAUSE = 5.0, 600.0  # seconds before something that failed is tried again


class Grader:
    """What grades, and which submissions it has failed over.

    Args:
        course: the course.
        isolation: see `autograder.sandbox.bubblewrap`.
        complain: takes a sentence on what went wrong.
    """

    def __init__(
        self, course: WatchedCourse, isolation: str, complain: Callable[[str], None]
    ) -> None:
        self.course, self.isolation, self.complain = course, isolation, complain
        self._engines: OrderedDict[tuple[str, ...], tuple[Engine, contextlib.ExitStack]] = (
            OrderedDict()
        )
        self._failures: dict[str, tuple[int, float]] = {}

    def close(self) -> None:
        """End all engines."""
        while self._engines:
            self._drop_engine(next(iter(self._engines)))

    def warm_up(self) -> None:
        """Start an engine, before anything comes in, for what most assignments may import."""
        allowed = Counter(tuple(allowed_modules(name)) for name in self.course.assignments)
        for modules, _ in allowed.most_common(1):
            self._engine(modules)

    def may_try(self, name: str) -> bool:
        """Whether a submission has not failed, or that is long enough ago."""
        return self._failures.get(name, (0, -math.inf))[1] <= time.monotonic()

    def only_one_at(self, assignment: str) -> contextlib.AbstractContextManager[None]:
        """Keep others from grading an assignment; `CourseError` where somebody does."""
        kept = self.course.folder / "grading" / assignment
        kept.mkdir(parents=True, exist_ok=True)
        return only_one(kept / "lock")

    def rows(
        self, assignment: str, arrivals: Sequence[Incoming], one_by_one: bool = True
    ) -> dict[str, StudentResult]:
        """Grade what lies in ``submitted/``, of each student one; what each got.

        Where that fails for several, they can be tried one by one.
        """
        modules = tuple(allowed_modules(assignment))
        with self.only_one_at(assignment):
            pass  # nobody else is at it, or this is where to hear of it
        students = [arrival.student for arrival in arrivals]
        try:
            engine = self._engine(modules)
            rows = grade_class(
                self.course.folder, assignment, lambda *_: None, students, self._settings(), engine
            )
            return {row.student: row for row in rows}
        except (CourseError, SandboxError, EngineError):
            self._drop_engine(modules)
            raise
        except Exception as error:
            self._drop_engine(modules)
            if is_no_room(error):
                raise
            if one_by_one and len(arrivals) > 1:
                rows_of_each = [self.rows(assignment, [arrival]) for arrival in arrivals]
                return {student: row for rows in rows_of_each for student, row in rows.items()}
            self.note_failure(arrivals, error)
            return {}

    def note_failure(self, arrivals: Sequence[Incoming], error: Exception) -> None:
        """Say that submissions fail, and try them again after a pause that grows each time."""
        for arrival in arrivals:
            times = self._failures.get(arrival.name, (0, 0.0))[0] + 1
            pause = min(PAUSE * 2**times, LONGEST_PAUSE)
            self._failures[arrival.name] = times, time.monotonic() + pause
        who = ", ".join(printable(arrival.student) for arrival in arrivals)
        self.complain(
            f"{arrivals[0].assignment} of {who} fails ({type(error).__name__}: {printable(str(error))})"
        )

    def _settings(self) -> Settings:
        return Settings(
            workers=self.course.settings.workers,
            isolation=self.isolation,
            collected_times=self.course.exchange is not None,
        )

    def _engine(self, modules: tuple[str, ...]) -> Engine:
        """One that is warm, or a new one in place of the one that was used the longest ago."""
        if modules not in self._engines:
            while len(self._engines) >= ENGINES:
                self._drop_engine(next(iter(self._engines)))
            stack = contextlib.ExitStack()
            engine = stack.enter_context(engine_for(self._settings(), modules))
            self._engines[modules] = engine, stack
        self._engines.move_to_end(modules)
        return self._engines[modules][0]

    def _drop_engine(self, modules: tuple[str, ...]) -> None:
        if modules in self._engines:
            _, stack = self._engines.pop(modules)
            stack.close()
