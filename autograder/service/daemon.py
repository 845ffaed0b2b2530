"""The service itself: collect, choose, grade, hand back; and again.

What it must remember stands in the journal and in folders, so that it can be killed at any moment. Started
again, it does what was not finished, from results that are kept, and nothing a second time.
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path

from autograder.batch.came_in import Times
from autograder.batch.class_report import write_report
from autograder.batch.student_result import StudentResult
from autograder.bounds import MOST_HAND_INS, MOST_IN_TURN, MOST_WAITING
from autograder.errors import CourseError, EngineError
from autograder.files import TIME, printable
from autograder.sandbox import bubblewrap
from autograder.sandbox.bubblewrap import SandboxError
from autograder.service.course import WatchedCourse
from autograder.service.gradebook import points_by_checks
from autograder.service.grader import PAUSE, Grader
from autograder.service.inbox import (
    Exchange,
    Incoming,
    Refused,
    Unfinished,
    arrivals_in,
    as_text,
    is_no_room,
    parsed,
    student_in,
    utc,
)
from autograder.service.journal import Event, Journal, QueueItem
from autograder.service.scheduler import Scheduler, outdated
from autograder.service.visibility import Visibility

REPORT_EVERY = 60.0  # seconds between two reports on a class, which is read as a whole for each
EVERY = 15.0  # seconds between two looks at what other programs have changed
NEWER = "You handed in a newer version before its turn came, so that one is graded instead."
NOT_TAKEN = (
    "It is not graded: {why}. Hand in again, with the notebook and what belongs to it alone in the "
    "folder. Your instructor sees this, too."
)
FAILED = (
    "The grader itself failed over it, which is no fault of yours. It is tried again, and your "
    "instructor sees this, too."
)


class GradingService:
    """Grades what comes in to a course.

    Args:
        isolation: see `autograder.sandbox.bubblewrap`.
        tell: takes a line for whoever looks on.

    Raises:
        CourseError: it is no course folder, or its settings say something that cannot be.
    """

    def __init__(self, folder: Path, isolation: str, tell: Callable[[str], None]) -> None:
        self.course, self.isolation, self.tell = WatchedCourse(folder), isolation, tell
        self.grader = Grader(self.course, isolation, self._complain)
        self.visibility = Visibility(self.course)
        self._looked = -math.inf
        self._looks_on = (
            False  # before the first look, nobody can tell since when something lies there
        )
        self._reported: dict[str, float] = {}
        self._crowds: set[str] = set()
        self._failed: set[str] = set()
        self._complaint = ""
        self.read_journal()
        self._unreported = set(self._behind())

    def read_journal(self) -> None:
        """Read what has become of all submissions."""
        self.journal = Journal(self.course.place / "journal.jsonl")
        self.scheduler = Scheduler(self.course, self.journal)

    def close(self) -> None:
        """End what grades."""
        self.grader.close()

    def step(self) -> bool:
        """Do the next thing that there is to do; false if there is nothing."""
        try:
            self._read_again()
            came = self._collect()
            batch = self.scheduler.next_batch(self.grader.may_try)
            if batch:
                self._grade(batch)
                return True
            return came or self._put_back() or self._look_around() or self._report()
        except (CourseError, EngineError, SandboxError, OSError) as error:
            self._complain(str(error))
            time.sleep(PAUSE)
            return False

    def _read_again(self) -> None:
        try:
            self.course.read_again()
        except CourseError as error:
            self._complain(f"{error}. The settings of before hold until that is put right")

    def _collect(self) -> bool:
        """Note what came in, and say what it waits for; whether anything came."""
        graded = self.scheduler.graded()
        before = len(self.journal.known) + len(self.journal.refused)
        for arrival in self._arrivals():
            assignment = arrival.assignment
            if self._looks_on and self.course.exchange is None:
                with self.grader.only_one_at(
                    assignment
                ):  # or somebody is about to say when it came in
                    self._note_in(arrival)
                    self._take_time(self.journal.known[arrival.name])
            else:
                self._note_in(arrival)
            if self.course.settings.rules(assignment).counts == "last":
                for old in outdated(self.journal.of[arrival.work]):
                    self._note("replaced", old.arrival.name)
                    self.course.drop_copy(old.arrival.name)
                    self._tell_student(old.arrival, NEWER)
            item = self.journal.known[arrival.name]
            if item.state == "waits" and (message := self.scheduler.held(item, graded)):
                self._tell_student(arrival, message)
        self._looks_on = True
        return len(self.journal.known) + len(self.journal.refused) > before

    def _note_in(self, arrival: Incoming) -> None:
        student, assignment = arrival.work
        self._note("in", arrival.name, student=student, assignment=assignment,
                   came_in=arrival.came_in, keys=arrival.keys)  # fmt: skip

    def _take_time(self, item: QueueItem) -> None:
        """Let what was put into ``submitted/`` have come in when it was seen, unless somebody says when it did."""
        student, assignment = item.arrival.work
        times = Times(self.course.folder, assignment)
        own = [utc(earlier.seen) for earlier in self.journal.of[item.arrival.work]]
        said = student in times and times.get(student) not in own
        if not (said or (self.course.folder / "submitted" / student / assignment / TIME).exists()):
            times.put({student: utc(item.seen)})

    def _arrivals(self) -> Iterator[Incoming]:
        """What came in and is not known so far."""
        exchange = self.course.exchange
        if exchange is None:
            for arrival in arrivals_in(self.course.folder / "submitted", self.course.assignments):
                name = as_text(arrival.name)
                if self._is_new(name) and name == arrival.name:
                    yield self._latest(arrival)
                elif self._is_new(name):
                    self._refuse(name, Refused("the name of its folder is not UTF-8"))
            return
        for name in self._in_turn(exchange.names()):
            try:
                yield self._taken(exchange, name)
            except Unfinished:
                continue
            except Refused as why:
                self._refuse(name, why)

    def _latest(self, arrival: Incoming) -> Incoming:
        """What lies in the course's own folder, as the latest of its student: one from a backup has an older time."""
        before = [item.arrival.came_in for item in self.journal.of.get(arrival.work, ())]
        if any(when >= arrival.came_in for when in before):
            return replace(
                arrival, came_in=max(utc(time.time()), max(before) + datetime.resolution)
            )
        return arrival

    def _is_new(self, name: str) -> bool:
        return name not in self.journal.known and name not in self.journal.refused

    def _in_turn(self, names: Mapping[str, Sequence[str]]) -> Iterator[str]:
        """The next names that nobody has looked at: a few of each account, so that none waits for another's."""
        waiting = Counter(item.arrival.student for item in self.journal.waiting())
        for account, of_one in names.items():
            if len(of_one) > MOST_HAND_INS and account not in self._crowds:
                self._crowds.add(account)
                self.tell(
                    f"{printable(account)} has {len(of_one)} folders in the exchange, of which the newest "
                    f"{MOST_HAND_INS} are looked at"
                )
            new = (name for name in of_one[:MOST_HAND_INS] if self._is_new(name))
            for name in islice(new, MOST_IN_TURN):
                # copies of what waits take room
                if waiting[student_in(name)] < MOST_WAITING:
                    yield name

    def _taken(self, exchange: Exchange, name: str) -> Incoming:
        """What is handed in under a name, copied; errors are those of `Exchange.take`."""
        _, assignment, _ = parsed(name)
        if not self.course.has(assignment):
            raise Refused(f"there is no assignment {printable(assignment)}")
        return exchange.take(name, self.course.copy_of(name))

    def _refuse(self, name: str, why: Refused) -> None:
        """Write down that something is not taken, and tell its student where that can be."""
        self.course.drop_copy(name)
        self._note("refused", name, why=str(why))
        self.tell(f"refused {printable(name)}: {why}")
        if why.arrival:
            self._tell_student(why.arrival, NOT_TAKEN.format(why=why))

    def _tell_student(self, arrival: Incoming, message: str) -> None:
        """Hand out a sentence; where that fails, nobody else waits for it."""
        try:
            self.visibility.show_notice(arrival, message)
        except Exception as error:  # noqa: BLE001 (one student's page stops nobody)
            self._complain(
                f"{printable(arrival.name)} gets no notice ({type(error).__name__}: {error})"
            )

    def _grade(self, batch: list[QueueItem]) -> None:
        assignment = batch[0].arrival.assignment
        with self.grader.only_one_at(assignment):  # who grades by hand reads what lies there
            placed = [item for item in batch if self._alone(item.arrival, self._put)]
        rows = self.grader.rows(assignment, [item.arrival for item in placed]) if placed else {}
        self._unreported.add(assignment)
        points = points_by_checks(self.course.folder, assignment, rows)
        for item in batch:
            arrival = item.arrival
            row = rows.get(arrival.student)
            if row is None or not self._alone(arrival, partial(self._hand_back, row, points)):
                if arrival.name not in self._failed:
                    self._failed.add(arrival.name)
                    self._tell_student(arrival, FAILED)
                continue
            waited = time.time() - item.seen
            self.tell(
                f"{printable(arrival.student)}  {assignment}  {row.points:g} of {row.of:g} points, "
                f"{waited:.0f} s after it was seen"
            )
            self._tidy(item)
        if not any(item.arrival.assignment == assignment for item in self.journal.waiting()):
            self.course.order(assignment).unlink(missing_ok=True)
        self._complaint = ""

    def _alone(self, arrival: Incoming, do: Callable[[Incoming], object]) -> bool:
        """Do something for one submission; where that fails it is tried later, and false."""
        try:
            do(arrival)
        except Exception as error:
            if is_no_room(error):
                raise
            self.grader.note_failure([arrival], error)
            return False
        return True

    def _put(self, arrival: Incoming) -> None:
        if self.course.put(arrival):
            self._note("placed", arrival.name)

    def _hand_back(
        self, row: StudentResult, points: Mapping[str, float], arrival: Incoming
    ) -> None:
        """Show a student what a submission got, and write that down."""
        shown = self.visibility.show(arrival, row)
        self._note("graded", arrival.name, points=points.get(arrival.student, 0.0),
                   seconds=row.seconds, shown=shown, hand=self.visibility.hand(arrival))  # fmt: skip

    def _tidy(self, graded: QueueItem) -> None:
        """Keep copies of what waits, and of the one that counts."""
        counting = self.scheduler.counting(graded.arrival.work)
        for item in self.journal.of[graded.arrival.work]:
            if item.state != "waits" and item is not counting:
                self.course.drop_copy(item.arrival.name)

    def _put_back(self) -> bool:
        """Where a better submission counts than the one graded last, put it back into the gradebook."""
        if self.course.exchange is None:
            return False
        for item in self.scheduler.all_counting():
            arrival = item.arrival
            placed = self.journal.placed.get(arrival.work, arrival.name)
            if placed != arrival.name and self.course.copy_of(arrival.name).exists():
                if not self.grader.may_try(arrival.name):
                    continue
                with self.grader.only_one_at(arrival.assignment):
                    if not self._alone(arrival, self.course.put):
                        continue
                if self.grader.rows(arrival.assignment, [arrival]):
                    self._note("placed", arrival.name)
                    return True
        return False

    def _look_around(self) -> bool:
        """Hand back what people or deadlines have changed since it was last shown."""
        if time.monotonic() - self._looked < EVERY:
            return False
        self._looked = time.monotonic()
        behind: dict[str, list[Incoming]] = defaultdict(list)
        for item in self.scheduler.all_counting():
            if self.visibility.is_behind(item):
                behind[item.arrival.assignment].append(item.arrival)
        for assignment, arrivals in behind.items():
            rows = self.grader.rows(assignment, arrivals, one_by_one=False)
            self._unreported.add(assignment)
            for arrival in arrivals:
                row = rows.get(arrival.student)
                if row and self._alone(arrival, partial(self._show_again, row)):
                    self.tell(f"{printable(arrival.student)}  {assignment}  feedback is new")
        return bool(behind)

    def _show_again(self, row: StudentResult, arrival: Incoming) -> None:
        shown, hand = self.visibility.show(arrival, row), self.visibility.hand(arrival)
        self._note("shown", arrival.name, shown=shown, hand=hand)

    def _behind(self) -> Iterator[str]:
        """Assignments of which something was graded since their report was written."""
        for item in self.scheduler.all_counting():
            table = self.course.folder / "grading" / item.arrival.assignment / "class.csv"
            if not table.exists() or table.stat().st_mtime < item.graded_at:
                yield item.arrival.assignment

    def _report(self) -> bool:
        """Write the report on a class of which something is new, when there is nothing else to do."""
        due = time.monotonic() - REPORT_EVERY
        ready = (name for name in self._unreported if self._reported.get(name, -math.inf) <= due)
        assignment = next(ready, None)
        if assignment is None:
            return False
        self._reported[assignment] = time.monotonic()
        counting = (item.arrival for item in self.scheduler.all_counting())
        arrivals = [arrival for arrival in counting if arrival.assignment == assignment]
        waiting = (item.arrival for item in self.journal.waiting())
        ungraded = {arrival.student for arrival in waiting if arrival.assignment == assignment}
        try:
            rows = self.grader.rows(assignment, arrivals, one_by_one=False) if arrivals else {}
            if rows:
                isolation = bubblewrap.in_words(self.isolation)
                write_report(self.course.folder, assignment, [*rows.values()], isolation, ungraded)
        except (CourseError, EngineError, SandboxError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 (a report keeps nobody's feedback back)
            self._complain(f"no report on {assignment} ({type(error).__name__}: {error})")
        self._unreported.discard(assignment)
        return True

    def _note(self, what: str, name: str, **more: object) -> None:
        self.journal.write(Event(what=what, name=name, at=time.time(), **more))  # type: ignore[arg-type]

    def _complain(self, text: str) -> None:
        """Say once what is wrong, until something goes well again."""
        if text != self._complaint:
            self.tell(f"waits: {text}")
        self._complaint = text
