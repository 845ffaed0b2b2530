"""The service grades what comes in: students hand in and read feedback by nbgrader's own exchange."""

import contextlib
import csv
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import timedelta

import msgspec
import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.batch.came_in import Times
from autograder.batch.engine import engine_for
from autograder.batch.run_lock import only_one
from autograder.errors import CourseError
from autograder.sandbox import bubblewrap
from autograder.service import daemon as module
from autograder.service import grader
from autograder.service.command import order, status_of
from autograder.service.daemon import GradingService
from autograder.service.inbox import utc
from autograder.service.journal import Event
from tests.autograder.service.students import Classroom
from tests.sample_class import (
    ASSIGNMENT,
    ISOLATION,
    ROOT,
    SETTINGS,
    allowed_modules,
    hand_in,
    new_course,
    submission,
)

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(bubblewrap.missing()), reason=bubblewrap.missing()),
]

RIGHT, WRONG = "right_loops", "softmax_over_columns"
ITS_NAME = "Softmax over the columns"


@pytest.fixture(scope="module")
def engine():
    with engine_for(SETTINGS, allowed_modules(ASSIGNMENT)) as warm:
        yield warm


@pytest.fixture
def classroom(tmp_path, engine, monkeypatch):
    monkeypatch.setattr(grader, "engine_for", lambda *_: contextlib.nullcontext(engine))
    monkeypatch.setattr(module, "EVERY", 0.0)
    return Classroom(tmp_path)


def watching(classroom):
    return GradingService(classroom.course, ISOLATION, lambda _line: None)


def until_nothing_is_left(daemon):
    """Take steps; a step that says that it did nothing has nothing to do."""
    for _ in range(50):
        if not daemon.step():
            return
    raise AssertionError("it goes on and on")


def told(page):
    """The text of a page, without its marks."""
    return " ".join(re.sub(r"<[^>]*>", " ", page.partition("<main>")[2]).split())


def gradebook(classroom):
    return Gradebook(f"sqlite:///{classroom.course}/gradebook.db")


def results_in(folder):
    """The files of what was run, which are called by their keys."""
    return [path for path in folder.glob("*.json") if re.fullmatch("[0-9a-f]{32}", path.stem)]


def set_due(classroom, hours):
    with gradebook(classroom) as book:
        due = utc(time.time()) + timedelta(hours=hours)
        book.update_or_create_assignment(ASSIGNMENT, duedate=due)


def score_of(classroom, student):
    with gradebook(classroom) as book:
        return book.find_submission(ASSIGNMENT, student).score


def test_each_student_sees_points_and_reasons_and_the_gradebook_has_them(classroom):
    classroom.submit("ada", submission(RIGHT))
    classroom.submit("ben", submission(WRONG))
    classroom.submit("eve", "no json")
    until_nothing_is_left(watching(classroom))
    assert all(one["has_exchange_feedback"] for name in ("ada", "ben", "eve") for one in classroom.listed(name))  # fmt: skip
    assert "10 of 10 points" in told(*classroom.feedback("ada"))
    assert "9 of 10 points" in told(*classroom.feedback("ben"))
    assert ITS_NAME in told(*classroom.feedback("ben"))
    assert "the file is not JSON" in told(*classroom.feedback("eve"))
    assert [score_of(classroom, name) for name in ("ada", "ben", "eve")] == [10, 9, 0]


def test_the_latest_counts_and_earlier_ones_that_wait_are_not_graded(classroom):
    first = classroom.submit("ada", submission(WRONG))
    last = classroom.submit("ada", submission(RIGHT))
    daemon = watching(classroom)
    until_nothing_is_left(daemon)
    assert daemon.journal.known[first].state == "replaced"
    assert daemon.journal.known[last].state == "graded"
    pages = classroom.feedback("ada")
    assert "handed in a newer version" in told(pages[0]) and "10 of 10" in told(pages[1])
    classroom.submit("ada", submission(WRONG))
    until_nothing_is_left(daemon)
    assert score_of(classroom, "ada") == 9
    assert "9 of 10" in told(classroom.feedback("ada")[-1])


def test_the_best_counts_where_the_instructor_says_so(classroom):
    classroom.settings('[every]\ncounts = "best"')
    best = classroom.submit("ada", submission(RIGHT))
    daemon = watching(classroom)
    until_nothing_is_left(daemon)
    classroom.submit("ada", submission(WRONG))
    until_nothing_is_left(daemon)
    assert score_of(classroom, "ada") == 10
    assert ["10 of 10" in told(classroom.feedback("ada")[0]), "9 of 10" in told(classroom.feedback("ada")[1])] == [True, True]  # fmt: skip
    assert daemon.scheduler.counting(("ada", ASSIGNMENT)).arrival.name == best
    assert (
        len(results_in(classroom.course / "grading" / ASSIGNMENT)) == 2
    )  # what was put back was not run again


def test_after_the_deadline_or_by_hand_nothing_is_graded_before(classroom):
    classroom.settings('[every]\nwhen = "after the deadline"')
    name = classroom.submit("ada", submission(RIGHT))
    daemon = watching(classroom)
    until_nothing_is_left(daemon)
    assert "has not been set so far" in told(*classroom.feedback("ada"))
    set_due(classroom, +1)
    until_nothing_is_left(daemon)
    assert daemon.journal.known[name].state == "waits"
    assert any("after the deadline, 2" in line for line in status_of(daemon))
    set_due(classroom, -1)
    until_nothing_is_left(daemon)
    assert "10 of 10" in told(*classroom.feedback("ada"))

    classroom.settings('[every]\nwhen = "by hand"')
    classroom.submit("ada", submission(WRONG))
    until_nothing_is_left(daemon)
    assert "your instructor starts" in told(classroom.feedback("ada")[-1])
    with pytest.raises(CourseError, match="no assignment"):
        order(daemon, "a99_nothing")
    assert order(daemon, ASSIGNMENT) == f"1 of {ASSIGNMENT} wait; the service will grade them when it is started"  # fmt: skip
    until_nothing_is_left(daemon)
    assert "9 of 10" in told(classroom.feedback("ada")[-1])
    assert not list((daemon.course.place / "now").iterdir())


def test_points_alone_are_shown_until_the_work_is_due(classroom):
    classroom.settings('[every]\nshow = "points"')
    set_due(classroom, +1)
    classroom.submit("ben", submission(WRONG))
    daemon = watching(classroom)
    until_nothing_is_left(daemon)
    page = told(*classroom.feedback("ben"))
    assert "9 of 10 points" in page and "attention_weights 2 of 3" in page
    assert ITS_NAME not in page and "when the work is due" in page
    set_due(classroom, -1)
    until_nothing_is_left(daemon)
    assert ITS_NAME in told(*classroom.feedback("ben"))


def test_a_score_given_by_hand_reaches_the_student(classroom):
    classroom.submit("ben", submission(WRONG))
    daemon = watching(classroom)
    until_nothing_is_left(daemon)
    before = classroom.listed("ben")
    classroom.feedback("ben")
    with gradebook(classroom) as book:
        grade = book.find_grade("check_attention_weights", ASSIGNMENT, ASSIGNMENT, "ben")
        grade.manual_score = 2.5
        comment = book.find_comment("attention_weights", ASSIGNMENT, ASSIGNMENT, "ben")
        comment.manual_comment = "Nearly: which axis sums to one?"
        book.db.commit()
    until_nothing_is_left(daemon)
    assert before[0]["has_exchange_feedback"] and classroom.listed("ben")[0]["feedback_updated"]
    page = told(*classroom.feedback("ben"))
    assert "9.5 of 10 points" in page and "which axis sums to one?" in page
    assert not daemon.step()


def report_on(classroom):
    """The rows of the class's table, by student, and the text of its page."""
    place = classroom.course / "grading" / ASSIGNMENT
    with (place / "class.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    return rows, told((place / "class.html").read_text(encoding="utf-8"))


def test_the_class_has_its_reports_and_who_is_missing_is_in_them(classroom, monkeypatch):
    monkeypatch.setattr(module, "REPORT_EVERY", 0.0)
    names = "id,first_name\nada,Ada\nben,Ben\neve,Eve\n"
    (classroom.course / "students.csv").write_text(names, encoding="utf-8")
    daemon = watching(classroom)
    until_nothing_is_left(daemon)
    with gradebook(classroom) as book:
        assert {one.id: one.first_name for one in book.students}["eve"] == "Eve"
    classroom.submit("ada", submission(RIGHT))
    until_nothing_is_left(daemon)
    classroom.settings('[every]\nwhen = "by hand"\n')
    classroom.submit("ben", submission(WRONG))
    daemon = watching(classroom)
    until_nothing_is_left(daemon)
    with gradebook(classroom) as book:
        grade = book.find_grade("check_attention_weights", ASSIGNMENT, ASSIGNMENT, "ada")
        grade.manual_score = 1.0
        book.db.commit()
    until_nothing_is_left(daemon)
    rows, page = report_on(classroom)
    assert [(row["name"], row["points"]) for row in rows.values()] == [("Ada", "8.0"), ("Eve", "")]
    assert "1 submission graded" in page and "1 on the list has handed in nothing" in page


def test_a_report_that_a_killed_service_did_not_write_is_written_by_the_next(
    classroom, monkeypatch
):
    classroom.submit("ada", submission(RIGHT))
    with monkeypatch.context() as killed:
        killed.setattr(GradingService, "_report", lambda _self: False)
        until_nothing_is_left(watching(classroom))
    assert not (classroom.course / "grading" / ASSIGNMENT / "class.csv").exists()
    until_nothing_is_left(watching(classroom))
    rows, _ = report_on(classroom)
    assert rows["ada"]["points"] == "10.0"
    assert not watching(classroom).step(), "there is nothing new to report"


def test_a_list_that_cannot_be_read_holds_nobody_up(classroom):
    (classroom.course / "students.csv").write_text("name\nAda\n", encoding="utf-8")
    said = []
    classroom.submit("ada", submission(RIGHT))
    until_nothing_is_left(GradingService(classroom.course, ISOLATION, said.append))
    assert score_of(classroom, "ada") == 10
    assert any("names a column id" in line for line in said)


def test_more_than_so_many_in_an_hour_wait(classroom):
    classroom.settings("per_hour = 1")
    classroom.submit("ada", submission(WRONG))
    daemon = watching(classroom)
    until_nothing_is_left(daemon)
    name = classroom.submit("ada", submission(RIGHT))
    classroom.submit("ben", submission(RIGHT))
    until_nothing_is_left(daemon)
    assert daemon.journal.known[name].state == "waits"
    assert "1 submission graded within an hour" in told(classroom.feedback("ada")[-1])
    assert score_of(classroom, "ben") == 10
    # an hour later, by the journal's clock
    daemon.journal.known[next(iter(daemon.journal.known))].graded_at -= 3600
    until_nothing_is_left(daemon)
    assert "10 of 10" in told(classroom.feedback("ada")[-1])


def test_late_is_what_the_name_in_the_exchange_says_and_not_the_students_file(classroom):
    set_due(classroom, -2)
    name = classroom.submit("ada", submission(RIGHT))
    (classroom.inbound / name / "timestamp.txt").write_text("2001-01-01 00:00:00 UTC", "ascii")
    until_nothing_is_left(watching(classroom))
    with gradebook(classroom) as book:
        entry = book.find_submission(ASSIGNMENT, "ada")
        assert abs(entry.timestamp - utc(time.time())) < timedelta(minutes=2)
        assert 7100 < entry.total_seconds_late < 7300


def test_what_is_no_submission_is_refused_once_and_said(classroom):
    classroom.settings("check_owner = true")
    name = classroom.submit("somebody_else", submission(RIGHT))
    (classroom.inbound / "link").symlink_to(classroom.course)
    daemon = watching(classroom)
    until_nothing_is_left(daemon)
    assert set(daemon.journal.refused) == {name, "link"}
    status = "\n".join(status_of(daemon))
    assert "its name says somebody_else, but it belongs to" in status
    assert not (classroom.course / "submitted").exists()


def test_without_an_exchange_the_courses_own_folder_is_watched(tmp_path, engine, monkeypatch):
    monkeypatch.setattr(grader, "engine_for", lambda *_: contextlib.nullcontext(engine))
    course = tmp_path / "course"
    new_course(course)
    hand_in(course, {"ada": submission(RIGHT), "ben": submission(WRONG)})
    for path in course.glob("submitted/*/*/*.ipynb"):
        os.utime(path, (time.time() - 60, time.time() - 60))
    daemon = GradingService(course, ISOLATION, lambda _line: None)
    until_nothing_is_left(daemon)
    pages = {path.parts[-3]: path.read_text() for path in course.glob("feedback/*/*/*.html")}
    assert "10 of 10" in told(pages["ada"]) and ITS_NAME in told(pages["ben"])
    assert len(daemon.journal.known) == 2
    until_nothing_is_left(daemon)
    assert len(daemon.journal.known) == 2


def test_what_lies_in_the_courses_own_folder_counts_also_where_it_is_older(
    tmp_path, engine, monkeypatch
):
    """From a backup, or out of an archive, a notebook comes with the time that it had there."""
    monkeypatch.setattr(grader, "engine_for", lambda *_: contextlib.nullcontext(engine))
    course = tmp_path / "course"
    hand_in(course, {"ada": submission(WRONG)})
    [path] = course.glob("submitted/ada/*/*.ipynb")
    os.utime(path, (time.time() - 60,) * 2)
    daemon = GradingService(course, ISOLATION, lambda _line: None)
    until_nothing_is_left(daemon)
    path.write_text(nbformat.writes(submission(RIGHT)), encoding="utf-8")
    os.utime(path, (time.time() - 600,) * 2)
    until_nothing_is_left(daemon)
    assert daemon.scheduler.counting(("ada", ASSIGNMENT)).points == 10
    assert [item.state for item in daemon.journal.known.values()] == ["graded", "graded"]


def test_what_is_put_into_the_courses_own_folder_came_in_when_it_was_seen(
    tmp_path, engine, monkeypatch
):
    """What lay there before the service looked on came in at no known time, and says so."""
    monkeypatch.setattr(grader, "engine_for", lambda *_: contextlib.nullcontext(engine))
    monkeypatch.setattr(module, "PAUSE", 0.0)
    course = tmp_path / "course"

    def put(student):
        hand_in(course, {student: submission(RIGHT)})
        [path] = course.glob(f"submitted/{student}/*/*.ipynb")
        os.utime(path, (time.time() - 6000,) * 2)  # as its owner has chosen

    def came_in():
        with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
            return {
                one.student_id: one.timestamp for one in book.assignment_submissions(ASSIGNMENT)
            }

    put("ada")
    daemon = GradingService(course, ISOLATION, lambda _line: None)
    until_nothing_is_left(daemon)
    began = utc(time.time())
    put("ben")
    put("cy")
    Times(course, ASSIGNMENT).put_unknown(["cy"])
    until_nothing_is_left(daemon)
    times = came_in()
    assert times["ada"] is times["cy"] is None
    assert began <= times["ben"] <= utc(time.time())
    [path] = course.glob("submitted/ben/*/*.ipynb")
    path.write_text(nbformat.writes(submission(WRONG)), encoding="utf-8")
    os.utime(path, (time.time() - 5000,) * 2)
    until_nothing_is_left(daemon)
    assert came_in()["ben"] > times["ben"]


def test_nothing_is_put_where_somebody_else_grades(classroom, monkeypatch):
    """Who grades by hand would find half of one submission and half of another."""
    monkeypatch.setattr(module, "PAUSE", 0.0)
    classroom.submit("ada", submission(RIGHT))
    daemon = watching(classroom)
    kept = classroom.course / "grading" / ASSIGNMENT
    kept.mkdir(parents=True)
    with only_one(kept / "lock"):
        assert not daemon.step()
        assert not (classroom.course / "submitted").exists()


def test_while_somebody_else_grades_it_waits_and_then_goes_on(classroom, monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.0)
    name = classroom.submit("ada", submission(RIGHT))
    lines = []
    daemon = GradingService(classroom.course, ISOLATION, lines.append)
    kept = classroom.course / "grading" / ASSIGNMENT
    kept.mkdir(parents=True)
    with only_one(kept / "lock"):
        assert not daemon.step()
        assert not daemon.step()
    assert len(lines) == 1 and "another process is grading" in lines[0]
    until_nothing_is_left(daemon)
    assert daemon.journal.known[name].state == "graded"


def test_one_submission_over_which_grading_fails_holds_nobody_up(classroom, monkeypatch):
    classroom.submit("ada", submission(RIGHT))
    name = classroom.submit("ben", submission(RIGHT))
    real = grader.grade_class

    def fails_for_ben(course, assignment, progress, students, *more):
        if "ben" in students:
            raise RuntimeError("nobody has thought of this")
        return real(course, assignment, progress, students, *more)

    monkeypatch.setattr(grader, "grade_class", fails_for_ben)
    daemon = watching(classroom)
    until_nothing_is_left(daemon)
    assert score_of(classroom, "ada") == 10
    assert daemon.journal.known[name].state == "waits"
    monkeypatch.setattr(grader, "grade_class", real)
    daemon.grader._failures.clear()
    until_nothing_is_left(daemon)
    assert score_of(classroom, "ben") == 10


def start(course, *flags):
    return subprocess.Popen(
        [sys.executable, "-m", "autograder", "watch", "--course", str(course), "--isolation", ISOLATION, *flags],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def events(classroom):
    lines = (classroom.course / "grading/service/journal.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Event) for line in lines]


def test_killed_at_any_moment_nothing_is_lost_and_nothing_done_twice(tmp_path):
    classroom = Classroom(tmp_path)
    names = [classroom.submit(f"student{number}", submission(RIGHT)) for number in range(7)]
    names += [classroom.submit("wrong", submission(WRONG))]
    results = classroom.course / "grading" / ASSIGNMENT
    for graded in (0, 2, 5):
        service = start(classroom.course)
        deadline = time.monotonic() + 120
        while len(results_in(results)) <= graded and time.monotonic() < deadline:
            assert service.poll() is None, service.stdout.read()
            time.sleep(0.02)
        os.killpg(service.pid, signal.SIGKILL)
        service.wait()
        service.stdout.close()
    done = start(classroom.course, "--once")
    said, _ = done.communicate(timeout=300)
    assert done.returncode == 0, said
    did = Counter((event.what, event.name) for event in events(classroom))
    assert {name for what, name in did if what == "graded"} == set(names)
    assert all(did["graded", name] == did["in", name] == 1 for name in names)
    assert len(results_in(results)) == len(names)  # each was run to its end once
    scores = [score_of(classroom, f"student{number}") for number in range(7)]
    assert scores == [10] * 7 and score_of(classroom, "wrong") == 9
    assert all("10 of 10" in told(*classroom.feedback(f"student{number}")) for number in range(7))


def test_a_second_service_waits_for_the_first(tmp_path):
    classroom = Classroom(tmp_path)
    first = start(classroom.course)
    assert "watching" in first.stdout.readline()
    second = start(classroom.course)
    assert "another service grades this course" in second.stdout.readline()
    first.terminate()
    assert "stopped; what waits is kept" in first.communicate(timeout=60)[0]
    assert first.returncode == 0
    assert "watching" in second.stdout.readline()
    second.terminate()
    second.communicate(timeout=60)


def test_settings_that_cannot_be_stop_the_command_with_a_sentence(tmp_path):
    classroom = Classroom(tmp_path)
    classroom.settings("per_hour = 0")
    run = start(classroom.course, "--once")
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 2 and "not watching" in said and "per_hour" in said
