"""What the journal remembers, also after a crash in the middle of a line."""

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
