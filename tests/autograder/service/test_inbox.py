"""What students can write is read with care: the exchange is theirs."""

import os
import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
from dateutil import tz

from autograder.batch.exchange_time import Clock
from autograder.bounds import LARGEST_NOTEBOOK, MOST_FILES
from autograder.grade.invalid import InvalidSubmission
from autograder.grade.submission import read_folder
from autograder.service import inbox
from autograder.service.inbox import (
    Copy,
    Exchange,
    Refused,
    Unfinished,
    account,
    arrivals_in,
    parsed,
    utc,
    when_it_came,
)

ME = account(os.getuid())
A = "a2_self_attention"


def stamp(seconds=0.0):
    return f"{utc(time.time() + seconds):%Y-%m-%d %H:%M:%S.%f} UTC"


class Inbound:
    def __init__(self, folder):
        self.exchange = Exchange(folder / "exchange", "attention", check_owner=True)
        self.exchange.inbound.mkdir(parents=True)
        self.kept = folder / "kept"

    def put(self, student=ME, name="", mode=0o777):
        name = name or f"{student}+{A}+{stamp()}+letters"
        folder = self.exchange.inbound / name
        folder.mkdir()
        (folder / f"{A}.ipynb").write_text("{}", encoding="utf-8")
        (folder / "submission_secret.txt").write_text("secret", encoding="ascii")
        folder.chmod(mode)
        return folder

    def take(self, folder):
        return self.exchange.take(folder.name, self.kept)


@pytest.fixture
def inbound(tmp_path):
    return Inbound(tmp_path)


def test_a_submission_is_copied_with_its_time_and_the_names_of_its_feedback(inbound):
    folder = inbound.put()
    (folder / "timestamp.txt").write_text("1999-01-01 00:00:00 UTC", encoding="ascii")
    arrival = inbound.take(folder)
    assert (arrival.student, arrival.assignment) == (ME, A)
    assert abs(arrival.came_in - utc(time.time())) < timedelta(seconds=60)
    assert len(arrival.keys) == 1
    said = (inbound.kept / "timestamp.txt").read_text(encoding="ascii")
    assert said.startswith(f"{arrival.came_in:%Y-%m-%d %H:%M:%S}")


def test_names_of_students_may_hold_a_plus_and_others_are_refused():
    student, assignment, when = parsed(f"a+b+{A}+2026-03-01 12:00:00.5 UTC+x_-9")
    assert (student, assignment, when) == ("a+b", A, "2026-03-01 12:00:00.5 UTC")
    assert parsed(f"ada+{A}+2026-03-01 12:00:00 UTC")[0] == "ada"
    for name in ("", "ada", f"ada+{A}", f"ada+{A}+soon+x", f"..+{A}+2026-03-01+x", f"a\n+{A}+2026-03-01+x"):  # fmt: skip
        with pytest.raises(Refused):
            parsed(name)


def test_the_time_in_a_name_is_read_by_the_clock_of_the_exchange(inbound, tmp_path):
    inbound.exchange.clock = Clock(tz.gettz("Asia/Almaty"))
    before = time.time() - 100
    there = utc(before + 5 * 3600)  # where it is five hours later
    inbound.put(name=f"{ME}+{A}+{there:%Y-%m-%d %H:%M:%S.%f} +05+x_9")
    [[name]] = inbound.exchange.names().values()
    arrival = inbound.exchange.take(name, inbound.kept)
    assert arrival.work == (ME, A) and abs(arrival.came_in - utc(before)) < timedelta(seconds=1)
    written = (inbound.kept / "timestamp.txt").read_text(encoding="ascii")
    assert Clock(tz.gettz("Asia/Almaty")).moment(written) == arrival.came_in

    # of a name that leaves it open, the files say it
    arrival = inbound.take(inbound.put(name=f"{ME}+{A}+{utc(before):%Y-%m-%d %H:%M:%S.%f} IST+x_9"))
    assert abs(arrival.came_in - utc(time.time())) < timedelta(seconds=60)


def test_a_submission_in_another_students_name_is_refused(inbound):
    with pytest.raises(Refused, match=f"says nobody, but it belongs to {ME}"):
        inbound.take(inbound.put("nobody"))
    inbound.exchange.check_owner = False
    assert inbound.take(inbound.put("nobody")).student == "nobody"


def test_links_pipes_and_files_are_no_submissions(inbound, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    names = [f"{ME}+{A}+{stamp()}+{kind}" for kind in ("link", "pipe", "file")]
    places = [inbound.exchange.inbound / name for name in names]
    places[0].symlink_to(outside)
    os.mkfifo(places[1])
    places[2].write_text("x", encoding="ascii")
    for place in places:
        with pytest.raises(Refused, match="not a folder"):
            inbound.take(place)


def test_links_and_pipes_in_a_submission_are_not_followed(inbound, tmp_path):
    secret = tmp_path / "solution.txt"
    secret.write_text("the answer", encoding="ascii")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "more.txt").write_text("the answer", encoding="ascii")
    folder = inbound.put()
    (folder / "link.txt").symlink_to(secret)
    (folder / "linked").symlink_to(tmp_path / "outside")
    os.mkfifo(folder / "pipe")
    (folder / "data.csv").write_text("1,2", encoding="ascii")
    inbound.take(folder)
    found = {path.name for path in inbound.kept.rglob("*")}
    assert found == {f"{A}.ipynb", "submission_secret.txt", "timestamp.txt", "data.csv"}


def test_a_folder_exchanged_for_a_link_while_it_is_read_leads_nowhere(
    inbound, tmp_path, monkeypatch
):
    """Between looking at a name and opening it, its owner can put something else there."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "solution.txt").write_text("the answer", encoding="ascii")
    folder = inbound.put()
    (folder / "data").mkdir()
    real = os.open

    def slow_open(path, flags, *more, **by_name):
        if path == "data":
            os.rmdir(folder / "data")
            (folder / "data").symlink_to(outside)
        return real(path, flags, *more, **by_name)

    monkeypatch.setattr(os, "open", slow_open)
    inbound.take(folder)
    assert (folder / "data").is_symlink()
    assert not list(inbound.kept.rglob("solution.txt"))


@pytest.mark.skipif(os.getuid() != 0, reason="giving a file away takes root: run the tests as root")
def test_a_file_of_another_account_is_left_out(inbound):
    folder = inbound.put()
    (folder / "linked.txt").write_text("somebody else's", encoding="ascii")
    os.chown(folder / "linked.txt", 65534, 65534)
    inbound.take(folder)
    assert not (inbound.kept / "linked.txt").exists()


def test_too_much_is_cut_and_grading_can_still_say_how_large_it_was(inbound):
    folder = inbound.put()
    with (folder / f"{A}.ipynb").open("wb") as file:
        file.truncate(5 * LARGEST_NOTEBOOK)
    for number in range(5000):
        (folder / f"{number}.txt").touch()
    inbound.take(folder)
    assert len(list(inbound.kept.iterdir())) <= 700
    with pytest.raises(InvalidSubmission, match="the file has 80 MiB, and is not JSON"):
        place = inbound.kept.parent / "submitted" / A
        place.parent.mkdir()
        read_folder(inbound.kept.rename(place), A)


def test_what_is_still_being_written_waits(inbound):
    folder = inbound.put(mode=0o755)
    with pytest.raises(Unfinished):
        inbound.take(folder)
    assert not inbound.kept.exists()
    folder.chmod(0o777)
    inbound.take(folder)


@pytest.mark.parametrize("name", ["data.csv", "more/data.csv"])
def test_what_is_changed_again_and_again_is_not_copied_each_time(inbound, monkeypatch, name):
    folder = inbound.put(mode=0o755)
    (folder / "more").mkdir()
    (folder / name).touch()
    monkeypatch.setattr(inbox, "QUIET", 0.5)
    time.sleep(0.6)
    (folder / name).write_text("1", encoding="ascii")
    monkeypatch.setattr(Copy, "one", lambda *_: pytest.fail("it is copied"))
    with pytest.raises(Unfinished):
        inbound.take(folder)


def test_a_time_that_the_files_contradict_is_not_believed(inbound):
    early = inbound.put(name=f"{ME}+{A}+{stamp(-7200)}+x")
    ahead = inbound.put(name=f"{ME}+{A}+{stamp(+7200)}+y")
    for folder in (early, ahead):
        assert abs(inbound.take(folder).came_in - utc(time.time())) < timedelta(seconds=60)
    now = time.time()
    assert when_it_came(utc(now - 30), now) == utc(now - 30)


def test_nothing_came_in_in_time_to_come():
    """The time of a file is that of a clock, which may have been put right since."""
    now = time.time()
    assert when_it_came(utc(now), now + 7e6) <= utc(time.time())
    assert when_it_came(utc(now + 7e6), now + 7e6) <= utc(time.time())


def test_an_earlier_notebook_that_is_put_back_is_another_submission(tmp_path):
    folder = tmp_path / "ada" / A
    folder.mkdir(parents=True)
    names = []
    for text in ("[]", "{}", "[]"):
        (folder / f"{A}.ipynb").write_text(text, encoding="utf-8")
        os.utime(folder / f"{A}.ipynb", (100, 100))
        names += [arrival.name for arrival in arrivals_in(tmp_path, [A])]
        time.sleep(0.02)
    assert len(set(names)) == 3


@pytest.mark.parametrize("name", [f"{A}.ipynb", f"Copy of {A}.ipynb"])
def test_in_the_courses_folder_the_one_notebook_may_have_any_name(tmp_path, name):
    folder = tmp_path / "ada" / A
    folder.mkdir(parents=True)
    (folder / name).write_text("{}", encoding="utf-8")
    assert not list(arrivals_in(tmp_path, [A]))  # it has just been written
    os.utime(folder / name, (0, 0))
    assert [arrival.work for arrival in arrivals_in(tmp_path, [A, "a3_none"])] == [("ada", A)]


@pytest.mark.parametrize("when", [-7e10, 4e11, 1e18])
def test_a_time_that_no_calendar_has_stops_nobody(tmp_path, monkeypatch, when):
    """Some file systems take any time that is asked for, and most tests run on others."""
    for student in ("ada", "ben"):
        folder = tmp_path / student / A
        folder.mkdir(parents=True)
        (folder / f"{A}.ipynb").write_text("{}", encoding="utf-8")
        os.utime(folder / f"{A}.ipynb", (0, 0))
    nanoseconds = int(when) * 10**9
    odd = SimpleNamespace(st_mtime=when, st_mtime_ns=nanoseconds, st_ctime_ns=0, st_size=2)
    real = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path: odd if "ada" in path.parts else real(path))
    found = {arrival.student: arrival.came_in for arrival in arrivals_in(tmp_path, [A])}
    assert found["ben"] == utc(0)
    assert utc(0) <= found["ada"] <= utc(time.time())


def test_a_notebook_changed_in_time_to_come_is_taken_as_of_now(tmp_path):
    folder = tmp_path / "ada" / A
    folder.mkdir(parents=True)
    (folder / f"{A}.ipynb").write_text("{}", encoding="utf-8")
    os.utime(folder / f"{A}.ipynb", (time.time() + 7e6,) * 2)
    [arrival] = arrivals_in(tmp_path, [A])
    assert arrival.came_in <= utc(time.time())


def test_a_notebook_of_another_name_is_copied_however_many_files_there_are(inbound):
    folder = inbound.put()
    (folder / f"{A}.ipynb").rename(folder / "zz.ipynb")
    for number in range(3 * MOST_FILES):
        (folder / f"{number}.txt").touch()
    inbound.take(folder)
    assert read_folder(inbound.kept, A).notebook == "{}"
