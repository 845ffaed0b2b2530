"""What the journal remembers, also after a crash in the middle of a line."""

import time
from datetime import datetime

from autograder.service.inbox import utc
from autograder.service.journal import Event, Journal


def came(name, at=1.0):
    return Event("in", name, at, student="ada", assignment="a1", came_in=utc(at), keys=("k",))


def test_it_reads_what_it_wrote(tmp_path):
    journal = Journal(tmp_path / "grading" / "journal.jsonl")
    journal.write(came("one"))
    journal.write(came("two", 2.0))
    journal.write(Event("refused", "three", 3.0, why="no folder"))
    journal.write(Event("replaced", "one", 4.0))
    journal.write(Event("placed", "two", 5.0))
    journal.write(Event("graded", "two", 6.0, points=7.5, seconds=2.0, shown="page 1", hand="h"))
    journal.write(Event("shown", "two", 7.0, shown="page 2"))
    again = Journal(journal.path)
    assert again.known == journal.known and again.refused == {"three": "no folder"}
    assert again.placed == {("ada", "a1"): "two"}
    assert [item.state for item in again.known.values()] == ["replaced", "graded"]
    two = again.known["two"]
    assert (two.points, two.shown, two.hand) == (7.5, "page 2", "")
    assert again.waiting() == []


def test_nothing_was_graded_in_time_to_come(tmp_path):
    """A clock that ran ahead would let its student wait until that time, and an hour more."""
    journal = Journal(tmp_path / "journal.jsonl")
    now = time.time()
    for name, at in (("one", now - 10), ("two", now + 7e6)):
        journal.write(came(name))
        journal.write(Event("graded", name, at))
    assert [item.arrival.name for item in journal.graded_since(now - 3600)["ada"]] == ["one"]


def test_a_line_that_was_cut_short_costs_only_itself(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    journal.write(came("one"))
    journal.write(came("two"))
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole[:-7])
    again = Journal(journal.path)
    assert list(again.known) == ["one"]
    again.write(came("two"))
    again.write(came("three"))
    assert list(Journal(journal.path).known) == ["one", "two", "three"]


def test_the_lines_of_a_service_that_ran_before_are_read(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text(
        '{"what":"in","name":"ada+a1+1","at":5.0,"student":"ada","assignment":"a1",'
        '"came_in":"2026-03-01T12:00:00.5","keys":["k"]}\n'
        '{"what":"placed","name":"ada+a1+1","at":6.0}\n'
        '{"what":"graded","name":"ada+a1+1","at":7.0,"points":9.5,"seconds":2.0,"shown":"points","hand":"h"}\n'
        '{"what":"refused","name":"x","at":8.0,"why":"its name"}\n',
        encoding="ascii",
    )
    journal = Journal(path)
    [item] = journal.known.values()
    assert item.arrival.came_in == datetime(2026, 3, 1, 12, 0, 0, 500000)
    assert (item.arrival.work, item.arrival.keys) == (("ada", "a1"), ("k",))
    assert (item.state, item.points, item.shown, item.hand) == ("graded", 9.5, "points", "h")
    assert journal.placed == {("ada", "a1"): "ada+a1+1"} and journal.refused == {"x": "its name"}
    assert journal.graded_since(6.5) == {"ada": [item]} and journal.graded_since(7.0) == {}
