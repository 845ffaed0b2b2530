"""Whose turn it is: a student's newest submission counts, and who has used least goes first."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from autograder.service.course import WatchedCourse
from autograder.service.inbox import utc
from autograder.service.journal import Journal, QueueItem, Work
from autograder.service.visibility import AT

HOUR = 3600.0
BATCH = 2  # submissions of a batch, for each worker


class Scheduler:
    """What waits, and for what, by the journal and what people have decided."""

    def __init__(self, course: WatchedCourse, journal: Journal) -> None:
        self.course, self.journal = course, journal

    def waiting(self) -> Iterator[tuple[QueueItem, str]]:
        """What is not graded, and what it waits for, in a sentence; none if it is for its turn alone."""
        graded = self.graded()
        for item in self.journal.waiting():
            yield item, self.held(item, graded)

    def graded(self) -> dict[str, list[QueueItem]]:
        """What each student had graded within the last hour, the oldest first."""
        return self.journal.graded_since(time.time() - HOUR)

    def next_batch(self, ready: Callable[[str], bool]) -> list[QueueItem]:
        """The submissions to grade now, of those whose names are ready to be tried."""
        free = [item for item, why in self.waiting() if not why and ready(item.arrival.name)]
        used: dict[str, float] = defaultdict(float)
        for student, items in self.graded().items():
            used[student] = sum(item.seconds for item in items)
        return next_batch(free, used.__getitem__, BATCH * self.course.settings.workers)

    def all_counting(self) -> list[QueueItem]:
        """The submission that counts of each student's work of which one is graded."""
        items = map(self.counting, self.journal.of)
        return [item for item in items if item is not None]

    def counting(self, work: Work) -> QueueItem | None:
        """The submission that has to stand in the gradebook, of those that are graded."""
        graded = [item for item in self.journal.of.get(work, ()) if item.state == "graded"]
        if self.course.settings.rules(work[1]).counts == "best":
            kept = [item for item in graded if self.course.copy_of(item.arrival.name).exists()]
            return max(kept, key=lambda item: (item.points, item.order), default=None)
        return max(graded, key=lambda item: item.order, default=None)

    def held(self, item: QueueItem, graded: Mapping[str, Sequence[QueueItem]]) -> str:
        """What a submission waits for, in a sentence; empty if it is for its turn alone."""
        student, assignment = item.arrival.work
        if not self.course.order(assignment).exists():
            when = self.course.settings.rules(assignment).when
            if when == "by hand":
                return "It is graded when your instructor starts that."
            if when == "after the deadline":
                due = self.course.entered.due(student, assignment)
                if due is None:
                    return "It is graded after the deadline, which has not been set so far."
                if utc(time.time()) < due:
                    return f"It is graded after the deadline, {due.strftime(AT)}."
        most = self.course.settings.per_hour
        free = free_at(graded.get(student, ()), most)
        if free > time.time():
            times = "submission" if most == 1 else "submissions"
            return (
                f"You have had {most} {times} graded within an hour, so this one waits until "
                f"{utc(free).strftime(AT)}."
            )
        return ""


def outdated(items: Iterable[QueueItem]) -> list[QueueItem]:
    """Of one student's submissions, those that wait although a newer one waits or is graded."""
    ordered = sorted(items, key=lambda item: item.order)
    newest = next((item for item in reversed(ordered) if item.state != "replaced"), None)
    return [item for item in ordered if item.state == "waits" and item is not newest]


def free_at(graded: Sequence[QueueItem], per_hour: int) -> float:
    """When a student may have another grading after those of the last hour, in seconds since 1970; 0 for now."""
    return graded[-per_hour].graded_at + HOUR if len(graded) >= per_hour else 0.0


def next_batch(
    ready: Iterable[QueueItem], used: Callable[[str], float], most: int
) -> list[QueueItem]:
    """The submissions to grade now, all of one assignment and each of another student.

    Whoever has used less of the machine within the last hour goes first, then whoever came first. So
    ten submissions of one student, or one that runs into every limit, hold nobody up twice.

    Args:
        ready: what waits for nothing else.
        used: seconds that a student's submissions took within the last hour.
        most: how many to take.
    """
    newest: dict[str, dict[str, QueueItem]] = defaultdict(dict)
    for item in sorted(ready, key=lambda item: item.order):
        newest[item.arrival.assignment][item.arrival.student] = item
    everybody = [item for of_one in newest.values() for item in of_one.values()]
    everybody.sort(key=lambda item: (used(item.arrival.student), item.order))
    first = everybody[0].arrival.assignment if everybody else ""
    return [item for item in everybody if item.arrival.assignment == first][:most]
