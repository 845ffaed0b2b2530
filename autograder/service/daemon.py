"""The service itself: collect, choose, grade with the batch's own code, hand back; and again.

What it must remember stands in the journal and in folders, so that it can be killed at any moment. Started
again, it does what was not finished, from results that are kept, and nothing a second time.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from nbgrader.apps import NbGraderAPI

from autograder.batch.classroom import grade_class
from autograder.batch.course import open_course
from autograder.batch.engine import Engine, engine_for
from autograder.batch.run_lock import only_one
from autograder.batch.settings import Settings as HowToGrade
from autograder.batch.student_result import StudentResult
from autograder.batch.term import title_of
from autograder.checks.course import allowed_modules
from autograder.errors import CourseError, EngineError
from autograder.files import printable
from autograder.order import by_number
from autograder.sandbox.bubblewrap import SandboxError
from autograder.service import visibility
from autograder.service.gradebook import Entered, entered_in, points_by_checks
from autograder.service.inbox import (
    Exchange,
    Folder,
    Incoming,
    Refused,
    Unfinished,
    folder_of,
    utc,
)
from autograder.service.journal import Entry, Journal, Standing, Work
from autograder.service.policy import FILE, read_settings
from autograder.service.scheduler import HOUR, free_at, next_batch, outdated

PLACE = Path("grading", "service")  # in the course folder
ENGINES = 2  # kept warm: assignments differ in what submissions may import
BATCH = 2  # submissions of a batch, for each worker
EVERY = 15.0  # seconds between two looks at what other programs have changed
PAUSE, LONGEST_PAUSE = 5.0, 600.0  # seconds before something that failed is tried again


class GradingService:
    """Grades what comes in to a course.

    Args:
        course: the course folder.
        isolation: see `autograder.sandbox.bubblewrap`.
        tell: takes a line for whoever looks on.

    Raises:
        CourseError: it is no course folder, or its settings say something that cannot be.
    """

    def __init__(self, course: Path, isolation: str, tell: Callable[[str], None]) -> None:
        self.course, self.isolation, self.tell = course, isolation, tell
        self.api: NbGraderAPI = open_course(course)
        self.place = course / PLACE
        self.journal = Journal(self.place / "journal.jsonl")
        self.assignments = assignments_of(self.api, course)
        self.settings = read_settings(course, self.assignments)
        self.entered = Entered()
        self._engines: OrderedDict[tuple[str, ...], contextlib.ExitStack] = OrderedDict()
        self._made: dict[tuple[str, ...], Engine] = {}
        self._read_at: dict[Path, tuple[int, int]] = {}
        self._looked = 0.0
        self._failures: dict[str, tuple[int, float]] = {}
        self._complaint = ""

    def close(self) -> None:
        """End what grades."""
        while self._engines:
            self._drop_engine(next(iter(self._engines)))

    def warm_up(self) -> None:
        """Start what grades, before anything comes in, for what most assignments may import."""
        allowed = Counter(tuple(allowed_modules(name)) for name in self.assignments)
        for modules, _ in allowed.most_common(1):
            self._engine(self._how(), modules)

    def step(self) -> bool:
        """Do the next thing that there is to do; false if there is nothing."""
        try:
            self._read_what_people_say()
            self._collect()
            batch = self._next_batch()
            if batch:
                self._grade(batch)
                return True
            return self._put_back() or self._look_around()
        except (CourseError, EngineError, SandboxError, OSError) as error:
            self._complain(str(error))
            time.sleep(PAUSE)
            return False

    # ------------------------------------------------------------------ what people say, and hand in

    def _read_what_people_say(self) -> None:
        if self._changed(self.course / FILE):
            try:
                self.settings = read_settings(self.course, self.assignments)
            except CourseError as error:
                self._complain(f"{error}. The settings of before hold until that is put right")
        if self._changed(self.course / "gradebook.db"):
            self.entered = entered_in(self.course)

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

    @property
    def exchange(self) -> Exchange | None:
        """The one that is watched, if there is one."""
        if not self.settings.exchange:
            return None
        root, course_id = Path(self.settings.exchange), self.api.coursedir.course_id
        return Exchange(root, course_id, self.settings.check_owner)

    def _collect(self) -> None:
        for arrival in self._new():
            self._note("in", arrival.name, student=arrival.student, assignment=arrival.assignment,
                       came_in=arrival.came_in, keys=arrival.keys)  # fmt: skip
            self._replace(arrival.student, arrival.assignment)
            standing = self.journal.known[arrival.name]
            why = self.held(standing, self.gradings(time.time()), time.time())
            if standing.state == "waits" and why:
                self._show_notice(standing, why)

    def _new(self) -> Iterator[Incoming]:
        exchange = self.exchange
        if exchange is None:
            for arrival in Folder(self.course / "submitted", self.assignments).arrivals():
                if arrival.name not in self.journal.known:
                    yield arrival
            return
        for name in exchange.names():
            if name in self.journal.known or name in self.journal.refused:
                continue
            try:
                arrival = exchange.take(name, self._kept(name))
                if arrival.assignment not in self.assignments:
                    self.assignments = assignments_of(self.api, self.course)
                if arrival.assignment not in self.assignments:
                    raise Refused(f"there is no assignment {printable(arrival.assignment)}")
                yield arrival
            except Unfinished:
                continue
            except Refused as why:
                shutil.rmtree(self._kept(name), ignore_errors=True)
                self._note("refused", name, why=str(why))
                self.tell(f"refused {printable(name)}: {why}")

    def _kept(self, name: str) -> Path:
        """Where the copy of a submission lies until another one counts."""
        return self.place / "arrivals" / folder_of(name)

    def _replace(self, student: str, assignment: str) -> None:
        """Where the last one counts, take a student's older ones out of the queue."""
        if self.settings.rules(assignment).counts == "best":
            return
        for old in outdated(self.journal.of[student, assignment]):
            self._note("replaced", old.arrival.name)
            shutil.rmtree(self._kept(old.arrival.name), ignore_errors=True)
            self._show_notice(old, "You handed in a newer version before its turn came, so that one "
                                   "is graded instead.")  # fmt: skip

    # ------------------------------------------------------------------------------ who is next

    def gradings(self, now: float) -> dict[str, list[Standing]]:
        """What each student had graded within the last hour, the oldest first."""
        found: dict[str, list[Standing]] = defaultdict(list)
        for item in self.journal.known.values():
            if item.state == "graded" and now - item.graded_at < HOUR:
                found[item.arrival.student].append(item)
        for items in found.values():
            items.sort(key=lambda item: item.graded_at)
        return found

    def held(self, standing: Standing, gradings: dict[str, list[Standing]], now: float) -> str:
        """What a submission waits for, in a sentence; empty if it is for its turn alone.

        Args:
            standing: the submission.
            gradings: see the method.
            now: seconds since 1970.
        """
        arrival = standing.arrival
        if not (self.place / "now" / arrival.assignment).exists():
            when = self.settings.rules(arrival.assignment).when
            if when == "by hand":
                return "It is graded when your instructor starts that."
            if when == "after the deadline":
                due = self.entered.due(arrival.student, arrival.assignment)
                if due is None:
                    return "It is graded after the deadline, which has not been set so far."
                if utc(now) < due:
                    return f"It is graded after the deadline, {due.strftime(visibility.AT)}."
        most = self.settings.per_hour
        free = free_at(gradings.get(arrival.student, []), most)
        if free > now:
            times = "submission" if most == 1 else "submissions"
            return (
                f"You have had {most} {times} graded within an hour, so this one waits until "
                f"{utc(free).strftime(visibility.AT)}."
            )
        return ""

    def _next_batch(self) -> list[Standing]:
        now = time.time()
        gradings = self.gradings(now)
        ready = [
            standing
            for standing in self.journal.waiting()
            if self._failures.get(standing.arrival.name, (0, 0.0))[1] <= now
            and not self.held(standing, gradings, now)
        ]

        def used(student: str) -> float:
            return sum(item.seconds for item in gradings.get(student, ()))

        return next_batch(ready, used, BATCH * self.settings.workers)

    # ------------------------------------------------------------------------------ grading

    def _grade(self, batch: list[Standing]) -> None:
        assignment = batch[0].arrival.assignment
        hands = dict(self.entered.hands)
        for standing in batch:
            if self._place(standing.arrival):
                self._note("placed", standing.arrival.name)
        rows = self._rows(assignment, [standing.arrival.student for standing in batch], batch)
        points = points_by_checks(self.course, assignment, rows)
        for standing in batch:
            arrival = standing.arrival
            row = rows.get(arrival.student)
            if row is None:
                continue
            mark = self._show(standing, row)
            self._note("graded", arrival.name, points=points.get(arrival.student, 0.0),
                       seconds=row.seconds, visibility=mark,
                       hand=hands.get((arrival.student, assignment), ""))  # fmt: skip
            waited = time.time() - standing.seen
            told = f"{row.points:g} of {row.of:g} points, {waited:.0f} s after it was seen"
            self.tell(f"{printable(arrival.student)}  {assignment}  {told}")
            self._tidy(arrival.student, assignment)
        order = self.place / "now" / assignment
        if not any(item.arrival.assignment == assignment for item in self.journal.waiting()):
            order.unlink(missing_ok=True)
        self._complaint = ""

    def _place(self, arrival: Incoming) -> bool:
        """Put the copy of a submission where the batch looks for it; false if it lies there anyway."""
        if self.exchange is None:
            return False
        target = self.course / "submitted" / arrival.student / arrival.assignment
        aside = target.with_name(f".{arrival.assignment}")
        shutil.rmtree(aside, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(self._kept(arrival.name), aside)
        shutil.rmtree(target, ignore_errors=True)
        aside.replace(target)
        return True

    def _rows(
        self, assignment: str, students: list[str], batch: Iterable[Standing] = ()
    ) -> dict[str, StudentResult]:
        """Grade with the batch's own code; where that fails for several, one after the other."""
        how = self._how()
        modules = tuple(allowed_modules(assignment))
        kept = self.course / "grading" / assignment
        kept.mkdir(parents=True, exist_ok=True)
        with only_one(kept / "lock"):
            pass  # nobody else is at it, or this is where to hear of it
        try:
            engine = self._engine(how, modules)
            rows = grade_class(self.course, assignment, lambda *_: None, students, how, engine)
            return {row.student: row for row in rows}
        except (CourseError, SandboxError, EngineError, OSError):
            self._drop_engine(modules)
            raise
        except Exception as error:  # noqa: BLE001 (one submission stops nobody)
            self._drop_engine(modules)
            names = [standing.arrival.name for standing in batch]
            if len(names) > 1:
                rows_of = [
                    self._rows(assignment, [standing.arrival.student], [standing])
                    for standing in batch
                ]
                return {student: row for rows in rows_of for student, row in rows.items()}
            for name in names:
                times = self._failures.get(name, (0, 0.0))[0] + 1
                pause = min(PAUSE * 2**times, LONGEST_PAUSE)
                self._failures[name] = times, time.time() + pause
            who = ", ".join(map(printable, students))
            self._complain(f"{assignment} of {who} fails ({type(error).__name__}: {error})")
            return {}

    def _how(self) -> HowToGrade:
        return HowToGrade(
            workers=self.settings.workers,
            isolation=self.isolation,
            collected_times=self.exchange is not None,
        )

    def _engine(self, how: HowToGrade, modules: tuple[str, ...]) -> Engine:
        """One that is warm, or a new one in place of the one that was used the longest ago."""
        if modules not in self._engines:
            while len(self._engines) >= ENGINES:
                self._drop_engine(next(iter(self._engines)))
            stack = self._engines[modules] = contextlib.ExitStack()
            self._made[modules] = stack.enter_context(engine_for(how, modules))
        self._engines.move_to_end(modules)
        return self._made[modules]

    def _drop_engine(self, modules: tuple[str, ...]) -> None:
        if modules in self._engines:
            del self._made[modules]
            self._engines.pop(modules).close()

    def counting(self, work: Work) -> Standing | None:
        """The submission that stands in the gradebook, of those that are graded."""
        graded = [item for item in self.journal.of.get(work, ()) if item.state == "graded"]
        if self.settings.rules(work[1]).counts == "best":
            there = [item for item in graded if self._kept(item.arrival.name).exists()]
            return max(there, key=lambda item: (item.points, item.order), default=None)
        return max(graded, key=lambda item: item.order, default=None)

    def _tidy(self, student: str, assignment: str) -> None:
        """Keep copies of what waits, and of the one that counts."""
        counts = self.counting((student, assignment))
        for item in self.journal.of[student, assignment]:
            if item.state != "waits" and item is not counts:
                shutil.rmtree(self._kept(item.arrival.name), ignore_errors=True)

    def _put_back(self) -> bool:
        """Where a better submission counts than the one graded last, put it back into the gradebook."""
        if self.exchange is None:
            return False
        for work, placed in list(self.journal.placed.items()):
            counts = self.counting(work)
            if (
                counts
                and counts.arrival.name != placed
                and self._kept(counts.arrival.name).exists()
            ):
                self._place(counts.arrival)
                if self._rows(work[1], [work[0]]):
                    self._note("placed", counts.arrival.name)
                    return True
        return False

    # ------------------------------------------------------------------------------ handing back

    def _look_around(self) -> bool:
        """Hand back what people or deadlines have changed since it was last shown."""
        if time.time() - self._looked < EVERY:
            return False
        self._looked = time.time()
        hands = dict(self.entered.hands)
        changed: dict[str, list[Standing]] = {}
        for work in list(self.journal.of):
            counts = self.counting(work)
            if counts and self._is_behind(counts):
                changed.setdefault(work[1], []).append(counts)
        for assignment, standings in changed.items():
            rows = self._rows(assignment, [item.arrival.student for item in standings])
            for item in standings:
                if row := rows.get(item.arrival.student):
                    mark = self._show(item, row)
                    hand = hands.get((item.arrival.student, assignment), "")
                    self._note("shown", item.arrival.name, visibility=mark, hand=hand)
                    self.tell(f"{printable(item.arrival.student)}  {assignment}  feedback is new")
        return bool(changed)

    def _is_behind(self, standing: Standing) -> bool:
        """Whether a student sees something else than what there is to see by now."""
        hand = self.entered.hands.get((standing.arrival.student, standing.arrival.assignment), "")
        return hand != standing.hand or standing.shown != self._mark(standing.arrival)

    def _page(self, arrival: Incoming) -> Path:
        where = self.course / "feedback" / arrival.student / arrival.assignment
        return where / f"{arrival.assignment}.html"

    def _mark(self, arrival: Incoming) -> str:
        """What there is to be shown of a graded submission, as `Entry.shown` holds it."""
        if self._points_alone(arrival):
            return "points"
        try:
            return f"page {self._page(arrival).stat().st_mtime_ns}"
        except FileNotFoundError:
            return "no page"

    def _points_alone(self, arrival: Incoming) -> bool:
        if self.settings.rules(arrival.assignment).show == "mistakes":
            return False
        due = self.entered.due(arrival.student, arrival.assignment)
        return due is None or utc(time.time()) < due

    def _show(self, standing: Standing, row: StudentResult) -> str:
        """Hand out what a student is to see of a graded submission; a mark of it."""
        arrival = standing.arrival
        exchange, mark = self.exchange, self._mark(standing.arrival)
        if exchange is None or mark == "no page":
            return mark
        page: str | bytes
        if mark == "points":
            due = self.entered.due(arrival.student, arrival.assignment)
            page = visibility.points_page(titled(self.course, arrival.assignment), row, due)
        else:
            page = self._page(arrival).read_bytes()
        visibility.hand_out(page, arrival.keys, exchange.feedback)
        return mark

    def _show_notice(self, standing: Standing, message: str) -> None:
        exchange, arrival = self.exchange, standing.arrival
        if exchange is not None:
            title = titled(self.course, arrival.assignment)
            page = visibility.notice(title, arrival.came_in, message)
            visibility.hand_out(page, arrival.keys, exchange.feedback)

    # ------------------------------------------------------------------------------ in words

    def _note(self, what: str, name: str, **more: object) -> None:
        self.journal.write(Entry(what=what, name=name, at=time.time(), **more))  # type: ignore[arg-type]

    def _complain(self, text: str) -> None:
        """Say once what is wrong, until something goes well again."""
        if text != self._complaint:
            self.tell(f"waits: {text}")
        self._complaint = text


def assignments_of(api: NbGraderAPI, course: Path) -> list[str]:
    """Ids of the assignments that a course folder has sources of."""
    folders = (course / api.coursedir.source_directory).glob("*/")
    names = (path.name for path in folders if (path / f"{path.name}.ipynb").exists())
    return sorted(names, key=by_number)


@cache
def titled(course: Path, assignment: str) -> str:
    """The title of an assignment, read once."""
    return title_of(course, assignment)
