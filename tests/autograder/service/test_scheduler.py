"""Whose turn it is."""

from datetime import datetime, timedelta

from autograder.service.inbox import Incoming
from autograder.service.journal import QueueItem
from autograder.service.scheduler import HOUR, free_at, next_batch, outdated

NOON = datetime(2026, 3, 1, 12)


def item(student, second, assignment="a1", state="waits", **more):
    came_in = NOON + timedelta(seconds=second)
    return QueueItem(
        Incoming(f"{student}+{assignment}+{second}", student, assignment, came_in),
        0.0,
        state=state,
        **more,
    )


def names(batch):
    return [item.arrival.name for item in batch]


def nobody(_student):
    return 0.0


def test_whoever_came_first_goes_first():
    ready = [item("ben", 2), item("ada", 1), item("eve", 3)]
    assert names(next_batch(ready, nobody, 2)) == ["ada+a1+1", "ben+a1+2"]


def test_ten_submissions_of_one_student_take_one_turn():
    ready = [*(item("ada", second) for second in range(10)), item("ben", 10)]
    assert names(next_batch(ready, nobody, 4)) == ["ada+a1+9", "ben+a1+10"]


def test_whoever_has_used_the_machine_goes_later():
    ready = [item("ada", 1), item("ben", 2), item("eve", 3)]
    used = {"ada": 240.0, "ben": 1.5, "eve": 0.0}
    assert names(next_batch(ready, used.__getitem__, 3)) == ["eve+a1+3", "ben+a1+2", "ada+a1+1"]


def test_a_batch_is_of_one_assignment():
    ready = [item("ada", 1, "a2"), item("ben", 2, "a1"), item("eve", 3, "a2")]
    assert names(next_batch(ready, nobody, 4)) == ["ada+a2+1", "eve+a2+3"]
    assert next_batch([], nobody, 4) == []


def test_what_is_older_than_another_submission_of_the_same_student_need_not_be_graded():
    old, middle, new = item("ada", 1), item("ada", 2), item("ada", 3)
    assert outdated([middle, new, old]) == [old, middle]
    assert outdated([old]) == []
    late = item("ada", 1)
    assert outdated([item("ada", 5, state="graded"), late]) == [late]
    assert outdated([item("ada", 5, state="replaced"), late]) == []


def test_the_limit_frees_a_place_an_hour_after_the_oldest_of_so_many():
    graded = [item("ada", n, state="graded", graded_at=1000.0 + n) for n in range(3)]
    assert free_at(graded, 4) == 0.0
    assert free_at(graded, 3) == 1000.0 + HOUR
    assert free_at(graded, 1) == 1002.0 + HOUR
