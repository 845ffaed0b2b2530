"""Whose turn it is: a student's newest submission counts, and who has used least goes first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from autograder.service.journal import Standing

HOUR = 3600.0


def outdated(standings: Iterable[Standing]) -> list[Standing]:
    """Of one student's submissions, those that wait although a newer one waits or is graded."""
    ordered = sorted(standings, key=lambda standing: standing.order)
    newest = next((item for item in reversed(ordered) if item.state != "replaced"), None)
    return [item for item in ordered if item.state == "waits" and item is not newest]


def free_at(gradings: Sequence[Standing], per_hour: int) -> float:
    """When a student may have another grading, in seconds since 1970; 0 for now.

    Args:
        gradings: the student's within the last hour, the oldest first.
        per_hour: how many there may be.
    """
    return gradings[-per_hour].graded_at + HOUR if len(gradings) >= per_hour else 0.0


def next_batch(
    ready: Iterable[Standing], used: Callable[[str], float], most: int
) -> list[Standing]:
    """The submissions to grade now, all of one assignment and each of another student.

    Whoever has used less of the machine within the last hour goes first, then whoever came first. So
    ten submissions of one student, or one that runs into every limit, hold nobody up twice.

    Args:
        ready: what waits for nothing else.
        used: seconds that a student's submissions took within the last hour.
        most: how many to take.
    """
    newest: dict[str, dict[str, Standing]] = defaultdict(dict)
    for item in sorted(ready, key=lambda item: item.order):
        newest[item.arrival.assignment][item.arrival.student] = item
    everybody = [item for of_one in newest.values() for item in of_one.values()]
    everybody.sort(key=lambda item: (used(item.arrival.student), item.order))
    first = everybody[0].arrival.assignment if everybody else ""
    return [item for item in everybody if item.arrival.assignment == first][:most]
