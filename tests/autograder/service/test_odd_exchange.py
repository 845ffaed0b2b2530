"""Whatever lies in the exchange, every honest submission is graded, and nobody waits for what is odd."""

import contextlib
import os
import random
from pathlib import Path

import pytest

from autograder.bounds import MOST_IN_TURN, MOST_WAITING
from autograder.sandbox import bubblewrap
from autograder.service import daemon as module
from autograder.service import grader
from autograder.service.command import status_of
from autograder.service.daemon import GradingService
from autograder.service.inbox import Exchange, Refused
from tests.autograder.service.odd_exchange import (
    CHANGES,
    NAMES,
    NOTEBOOK,
    put,
    put_honest,
    put_odd,
    raw,
    stamp,
)
from tests.autograder.service.students import Classroom
from tests.sample_class import ASSIGNMENT, ISOLATION


class Quick:
    """A grader that gives nobody anything, at once."""

    def rows(self, *_arguments, **_by_name):
        return {}

    def note_failure(self, *_arguments):
        return None

    def may_try(self, _name):
        return False


@pytest.fixture
def classroom(tmp_path, monkeypatch):
    monkeypatch.setattr(grader, "engine_for", lambda *_: contextlib.nullcontext(None))
    return Classroom(tmp_path)


def watching(classroom, lines=None):
    service = GradingService(
        classroom.course, ISOLATION, [].append if lines is None else lines.append
    )
    service.grader = Quick()
    return service


def until_nothing_is_new(service):
    for _ in range(400):
        if not service.step():
            return
    raise AssertionError("it goes on and on")


def came_in(service):
    return {item.arrival.student for item in service.journal.known.values()}


@pytest.mark.parametrize("kind", CHANGES)
def test_an_honest_hand_in_is_taken_beside_an_odd_one(classroom, kind):
    CHANGES[kind](put(classroom.inbound, "odd"))
    put(classroom.inbound, "zoe")
    service = watching(classroom)
    until_nothing_is_new(service)
    assert "zoe" in came_in(service)
    until_nothing_is_new(watching(classroom))  # nor does it stop a service that starts again


@pytest.mark.parametrize("name", NAMES)
def test_an_honest_hand_in_is_taken_beside_an_odd_name(classroom, name):
    whole = name.replace(b"{assignment}", ASSIGNMENT.encode()).replace(b"{time}", stamp().encode())
    os.mkdir(raw(classroom.inbound, whole[:255]))
    put(classroom.inbound, "zoe")
    service = watching(classroom)
    until_nothing_is_new(service)
    assert "zoe" in came_in(service)
    again = watching(classroom)
    assert again.journal.refused == service.journal.refused
    assert list(status_of(again))


def test_an_error_of_any_kind_is_written_down_and_said_to_the_student(classroom, monkeypatch):
    bad = put(classroom.inbound, "ada")
    put(classroom.inbound, "zoe")
    real = Exchange._copy

    def fails_for_ada(self, folder, status, assignment, target):
        changed = real(self, folder, status, assignment, target)
        if "ada" in (target / "submission_secret.txt").read_text():
            raise ZeroDivisionError("nobody \udcff has thought of this")
        return changed

    monkeypatch.setattr(Exchange, "_copy", fails_for_ada)
    lines = []
    service = watching(classroom, lines)
    until_nothing_is_new(service)
    assert came_in(service) == {"zoe"}
    assert "ZeroDivisionError" in service.journal.refused[bad.name]
    assert any("refused ada" in line for line in lines)
    [page] = (classroom.exchange / "attention" / "feedback").glob("*.html")
    text = page.read_text(encoding="utf-8")
    assert "It is not graded: it could not be copied" in text and "Hand in again" in text


def test_a_machine_without_room_refuses_nobody(classroom, monkeypatch):
    put(classroom.inbound, "ada")

    def full(*_arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Exchange, "_copy", full)
        patch.setattr(module, "PAUSE", 0.0)
        service = watching(classroom)
        assert not service.step()
        assert not service.journal.refused
    until_nothing_is_new(service)
    assert came_in(service) == {"ada"}


def test_a_hole_stays_one_on_its_way_into_the_course(classroom):
    folder = put(classroom.inbound, "ada")
    CHANGES["notebook of 2 GiB of nothing"](folder)
    CHANGES["file of 2 GiB of nothing"](folder)
    service = watching(classroom)
    until_nothing_is_new(service)
    [item] = service.journal.waiting()
    assert service.course.put(item.arrival)
    placed = classroom.course / "submitted" / "ada" / ASSIGNMENT
    stored = [path.stat().st_blocks * 512 for path in (placed, *placed.iterdir())]
    assert (placed / NOTEBOOK).stat().st_size == 2 << 30
    assert sum(stored) < 1 << 20


def test_many_folders_of_one_student_are_taken_by_turns_and_up_to_a_number(classroom, monkeypatch):
    most = 40
    monkeypatch.setattr(module, "MOST_HAND_INS", most)
    for number in range(most + 10):
        folder = classroom.inbound / f"ada+{ASSIGNMENT}+{stamp()}+{number}"
        folder.mkdir()
        folder.chmod(0o777)
    put(classroom.inbound, "zoe")
    lines = []
    service = watching(classroom, lines)
    service.step()
    assert "zoe" in came_in(service)
    assert len(service.journal.known) == 1 + MOST_IN_TURN
    newest = max(service.journal.of["ada", ASSIGNMENT], key=lambda item: item.order)
    assert newest.arrival.name.endswith(f"+{most + 9}") and newest.state == "waits"
    until_nothing_is_new(service)
    assert len(service.journal.known) == 1 + most
    said = [line for line in lines if "folders in the exchange" in line]
    assert len(said) == 1 and f"ada has {most + 10}" in said[0]


def test_where_the_best_counts_no_more_wait_than_there_is_room_for(classroom):
    classroom.settings('[every]\ncounts = "best"')
    for number in range(2 * MOST_WAITING):
        put(classroom.inbound, "ada", name=f"ada+{ASSIGNMENT}+{stamp()}+{number}")
    service = watching(classroom)
    until_nothing_is_new(service)
    assert len(service.journal.waiting()) == MOST_WAITING
    assert len(list((service.course.place / "arrivals").iterdir())) == MOST_WAITING


def test_an_id_with_a_plus_is_its_students_alone(classroom):
    """Else the folders of ada+x@example.org would be counted as those of ada, and none as its own."""
    classroom.settings('[every]\ncounts = "best"')
    for number in range(2 * MOST_WAITING):
        name = f"ada+x@example.org+{ASSIGNMENT}+{stamp()}+{number}"
        put(classroom.inbound, "ada+x@example.org", name=name)
    for _ in range(3):
        put(classroom.inbound, "ada")
    service = watching(classroom)
    until_nothing_is_new(service)
    waiting = [item.arrival.student for item in service.journal.waiting()]
    assert waiting.count("ada+x@example.org") == MOST_WAITING and waiting.count("ada") == 3


def test_no_descriptor_is_left_open(classroom):
    for number, change in enumerate(CHANGES.values()):
        change(put(classroom.inbound, f"odd{number}"))
    service = watching(classroom)
    before = len(list(Path("/proc/self/fd").iterdir()))
    until_nothing_is_new(service)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_whose_it_is_is_looked_at_before_anything_is_copied(classroom, monkeypatch):
    monkeypatch.setattr(Exchange, "_copy", lambda *_: pytest.fail("it was copied"))
    exchange = Exchange(classroom.exchange, "attention", check_owner=True)
    name = put(classroom.inbound, "somebody_else").name
    with pytest.raises(Refused, match="it belongs to"):
        exchange.take(name, classroom.course / "kept")


@pytest.mark.long
@pytest.mark.skipif(bool(bubblewrap.missing()), reason=bubblewrap.missing())
def test_a_hundred_odd_hand_ins_leave_every_honest_one_graded(tmp_path):
    classroom = Classroom(tmp_path)
    drawn = random.Random(39)
    for number in range(50):
        put_odd(classroom.inbound, number, drawn)
    honest = put_honest(classroom.inbound, 10)
    for number in range(50, 100):
        put_odd(classroom.inbound, number, drawn)
    service = GradingService(classroom.course, ISOLATION, lambda _line: None)
    with contextlib.closing(service):
        for _ in range(400):
            if not service.step():
                break
    points = {
        item.arrival.student: item.points
        for item in service.journal.known.values()
        if item.state == "graded"
    }
    assert {student: points.get(student) for student in honest} == dict.fromkeys(honest, 10)
    assert not any(points[student] for student in points.keys() - set(honest))
    assert all(item.state != "waits" for item in service.journal.known.values())
