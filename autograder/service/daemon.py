"""The service itself: collect, choose, grade, hand back; and again.

What it must remember stands in the journal and in folders, so that it can be killed at any moment. Started
again, it does what was not finished, from results that are kept, and nothing a second time.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from autograder.errors import CourseError, EngineError
from autograder.files import printable
from autograder.sandbox.bubblewrap import SandboxError
from autograder.service.course import WatchedCourse
from autograder.service.gradebook import points_by_checks
from autograder.service.grader import PAUSE, Grader
from autograder.service.inbox import Incoming, Refused, Unfinished, arrivals_in
from autograder.service.journal import Event, Journal, QueueItem
from autograder.service.scheduler import Scheduler, outdated
from autograder.service.visibility import Visibility

EVERY = 15.0  # seconds between two looks at what other programs have changed
NEWER = "You handed in a newer version before its turn came, so that one is graded instead."


class GradingService:
    """Grades what comes in to a course.

    Args:
        folder: the course folder.
        isolation: see `autograder.sandbox.bubblewrap`.
        tell: takes a line for whoever looks on.

    Raises:
        CourseError: it is no course folder, or its settings say something that cannot be.
    """

    def __init__(self, folder: Path, isolation: str, tell: Callable[[str], None]) -> None:
        self.course, self.isolation, self.tell = WatchedCourse(folder), isolation, tell
        self.grader = Grader(self.course, isolation, self._complain)
        self.visibility = Visibility(self.course)
        self._looked = 0.0
        self._complaint = ""
        self.read_journal()

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
            self._collect()
            batch = self.scheduler.next_batch(self.grader.may_try)
            if batch:
                self._grade(batch)
                return True
            return self._put_back() or self._look_around()
        except (CourseError, EngineError, SandboxError, OSError) as error:
            self._complain(str(error))
            time.sleep(PAUSE)
            return False

    def _read_again(self) -> None:
        try:
            self.course.read_again()
        except CourseError as error:
            self._complain(f"{error}. The settings of before hold until that is put right")

    def _collect(self) -> None:
        """Note what came in, and say what it waits for."""
        graded = self.scheduler.graded()
        for arrival in self._arrivals():
            student, assignment = arrival.work
            self._note("in", arrival.name, student=student, assignment=assignment,
                       came_in=arrival.came_in, keys=arrival.keys)  # fmt: skip
            if self.course.settings.rules(assignment).counts == "last":
                for old in outdated(self.journal.of[arrival.work]):
                    self._note("replaced", old.arrival.name)
                    self.course.drop_copy(old.arrival.name)
                    self.visibility.show_notice(old.arrival, NEWER)
            item = self.journal.known[arrival.name]
            if item.state == "waits" and (message := self.scheduler.held(item, graded)):
                self.visibility.show_notice(arrival, message)

    def _arrivals(self) -> Iterator[Incoming]:
        """What came in and is not known so far."""
        exchange = self.course.exchange
        if exchange is None:
            found = arrivals_in(self.course.folder / "submitted", self.course.assignments)
            yield from (arrival for arrival in found if arrival.name not in self.journal.known)
            return
        for name in exchange.names():
            if name in self.journal.known or name in self.journal.refused:
                continue
            try:
                arrival = exchange.take(name, self.course.copy_of(name))
                if not self.course.has(arrival.assignment):
                    raise Refused(f"there is no assignment {printable(arrival.assignment)}")
                yield arrival
            except Unfinished:
                continue
            except Refused as why:
                self.course.drop_copy(name)
                self._note("refused", name, why=str(why))
                self.tell(f"refused {printable(name)}: {why}")

    def _grade(self, batch: list[QueueItem]) -> None:
        assignment = batch[0].arrival.assignment
        for item in batch:
            if self.course.put(item.arrival):
                self._note("placed", item.arrival.name)
        rows = self.grader.rows(assignment, [item.arrival for item in batch])
        points = points_by_checks(self.course.folder, assignment, rows)
        for item in batch:
            arrival = item.arrival
            row = rows.get(arrival.student)
            if row is None:
                continue
            shown = self.visibility.show(arrival, row)
            self._note("graded", arrival.name, points=points.get(arrival.student, 0.0),
                       seconds=row.seconds, shown=shown, hand=self.visibility.hand(arrival))  # fmt: skip
            waited = time.time() - item.seen
            self.tell(
                f"{printable(arrival.student)}  {assignment}  {row.points:g} of {row.of:g} points, "
                f"{waited:.0f} s after it was seen"
            )
            self._tidy(item)
        if not any(item.arrival.assignment == assignment for item in self.journal.waiting()):
            self.course.order(assignment).unlink(missing_ok=True)
        self._complaint = ""

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
                self.course.put(arrival)
                if self.grader.rows(arrival.assignment, [arrival]):
                    self._note("placed", arrival.name)
                    return True
        return False

    def _look_around(self) -> bool:
        """Hand back what people or deadlines have changed since it was last shown."""
        if time.time() - self._looked < EVERY:
            return False
        self._looked = time.time()
        behind: dict[str, list[Incoming]] = defaultdict(list)
        for item in self.scheduler.all_counting():
            if self.visibility.is_behind(item):
                behind[item.arrival.assignment].append(item.arrival)
        for assignment, arrivals in behind.items():
            rows = self.grader.rows(assignment, arrivals, one_by_one=False)
            for arrival in arrivals:
                if row := rows.get(arrival.student):
                    shown = self.visibility.show(arrival, row)
                    hand = self.visibility.hand(arrival)
                    self._note("shown", arrival.name, shown=shown, hand=hand)
                    self.tell(f"{printable(arrival.student)}  {assignment}  feedback is new")
        return bool(behind)

    def _note(self, what: str, name: str, **more: object) -> None:
        self.journal.write(Event(what=what, name=name, at=time.time(), **more))  # type: ignore[arg-type]

    def _complain(self, text: str) -> None:
        """Say once what is wrong, until something goes well again."""
        if text != self._complaint:
            self.tell(f"waits: {text}")
        self._complaint = text
