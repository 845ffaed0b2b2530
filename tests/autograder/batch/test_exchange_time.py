"""Times that nbgrader's exchange writes, in whatever zone, are read as the moments that they are."""

import dataclasses
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from zoneinfo import ZoneInfo, available_timezones

import pytest
from dateutil import tz
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import Exchange
from nbgrader.exchange.abc import exchange as nbgraders
from nbgrader.exchange.default import ExchangeCollect
from traitlets.config import Config

from autograder.batch.exchange_time import Clock, clock_of, pieces_of, read_in_its_zone
from tests.sample_class import ASSIGNMENT, SETTINGS, grade, hand_in, submission

BERLIN = Config({"Exchange": {"timezone": "Europe/Berlin"}})
NOON = datetime(2026, 7, 1, 10)  # in Berlin, in UTC


def written(config, moment, monkeypatch):
    """What nbgrader itself writes at a moment."""

    class AtThatTime(datetime):
        @classmethod
        def now(cls, zone=None):
            return moment.replace(tzinfo=UTC).astimezone(zone)

    monkeypatch.setattr(nbgraders, "datetime", SimpleNamespace(datetime=AtThatTime))
    exchange = Exchange(config=config)
    exchange.set_timestamp()
    return exchange.timestamp


def unlike_zones():
    """One zone for each course of the clock through this year, and the days on which it is put forward or back."""
    days = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day) for day in range(366)]
    found = {}
    for name in sorted(available_timezones()):
        if tz.gettz(name):
            there = [day.astimezone(ZoneInfo(name)).strftime("%Z %z") for day in days]
            changes = [
                day for day, now, then in zip(days, there, there[1:], strict=False) if now != then
            ]
            found[tuple(there)] = name, [day.replace(tzinfo=None) for day in changes]
    return list(found.values())


def test_what_nbgrader_writes_in_any_zone_is_that_moment(monkeypatch):
    zones = unlike_zones()
    assert len(zones) > 80
    for name, changes in zones:
        config = Config({"Exchange": {"timezone": name}})
        clock = clock_of(config)
        hours = [day + timedelta(minutes=30 * half) for day in changes for half in range(1, 48, 2)]
        for moment in (datetime(2026, 1, 15), datetime(2026, 7, 15, 12, 34, 56, 789000), *hours):
            text = written(config, moment, monkeypatch)
            assert clock.moment(text) == moment, (name, text)
            assert pieces_of(f"ada+{ASSIGNMENT}+{text}+aA_-09") == ("ada", ASSIGNMENT, text)


@pytest.mark.parametrize(
    "form", ["%Y-%m-%dT%H:%M:%S%z", "%c %Z", "%a %b %d %H:%M:%S %Z %Y", "%Y%m%d%H%M%S %z"]
)
def test_whatever_form_is_configured(monkeypatch, form):
    config = Config({"Exchange": {"timezone": "Europe/Berlin", "timestamp_format": form}})
    assert clock_of(config).moment(written(config, NOON, monkeypatch)) == NOON


@pytest.mark.parametrize(
    ("zone", "text", "moment"),
    [
        # the hour that comes twice has two names, and nothing else tells them apart
        ("Europe/Berlin", "2026-10-25 02:30:00.0 CEST", datetime(2026, 10, 25, 0, 30)),
        ("Europe/Berlin", "2026-10-25 02:30:00.0 CET", datetime(2026, 10, 25, 1, 30)),
        ("Europe/Berlin", "2026-03-29 02:30:00.0 CET", None),  # nor was there such an hour
        ("Europe/Berlin", "2026-07-01 12:00:00.0 CET", None),
        ("Europe/Berlin", "2026-07-01 10:00:00.0 UTC", NOON),
        ("Europe/Berlin", "2026-07-01 12:00:00 +0200", NOON),
        ("Europe/Berlin", "2026-07-01 06:00:00 EDT", None),  # of another zone
        ("Europe/Berlin", "2026-07-01 10:00:00", NOON),  # as zip_collect writes it
        ("Europe/London", "2026-01-01 12:00:00 GMT", datetime(2026, 1, 1, 12)),
        ("UTC", "2026-07-01 12:00:00 CEST", None),
        ("UTC+3", "2026-07-01 12:00:00 UTC", None),  # its clock says UTC, and is three hours ahead
        ("UTC", "2026-07-01 12:00 GMT+3", None),
        ("Asia/Tokyo", "2026-07-01 19:00:00.5 JST", NOON + timedelta(milliseconds=500)),
        ("Asia/Kathmandu", "2026-07-01 15:45:00 +0545", NOON),
        ("Pacific/Guam", "2026-07-01 20:00:00 ChST", NOON),
        ("UTC", "2026-07-01", None),
        ("UTC", "03", None),
        ("UTC", "yesterday", None),
        ("UTC", "2026-02-03 04:05:06 ☃", None),
        ("UTC", "", None),
        ("UTC", "9" * 101, None),
    ],
)  # fmt: skip
def test_a_time_is_read_or_left_open_and_never_guessed(zone, text, moment):
    assert clock_of(Config({"Exchange": {"timezone": zone}})).moment(text) == moment


def test_a_clock_that_names_no_zone_is_believed_where_that_makes_no_difference():
    text = "2026-07-01 12:00:00"
    assert Clock(tz.gettz("Europe/Berlin"), names_zone=False).moment(text) is None
    assert Clock(tz.UTC, names_zone=False).moment(text) == datetime(2026, 7, 1, 12)


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("ada+a1_x+2026-07-01 12:00:00.5 +03+x_-9", ("ada", "a1_x", "2026-07-01 12:00:00.5 +03")),
        ("a+b+a1_x+2026-07-01 12:00:00.5 +0545", ("a+b", "a1_x", "2026-07-01 12:00:00.5 +0545")),
        ("ada+a1_x+2026-07-01 12:00:00 UTC", ("ada", "a1_x", "2026-07-01 12:00:00 UTC")),
        ("ada+a1_x+soon+x", None),
        ("ada+a1_x", None),
        ("", None),
    ],
)
def test_the_name_of_a_folder_falls_into_its_pieces(name, pieces):
    assert pieces_of(name) == pieces


def test_nbgraders_own_commands_read_it_so_too(tmp_path):
    read_in_its_zone()
    folder = tmp_path / "submitted" / "ada" / "a1_x"
    folder.mkdir(parents=True)
    stamp = folder / "timestamp.txt"
    place = CourseDirectory(config=BERLIN, root=str(tmp_path))
    api = NbGraderAPI(place, config=BERLIN)
    assert place.get_existing_timestamp(str(folder)) is None
    for text, moment in [("2026-07-01 12:00:00 CEST", NOON), ("2026-07-01 12:00:00 EDT", None), ("", None)]:  # fmt: skip
        stamp.write_text(text, encoding="ascii")
        assert place.get_existing_timestamp(str(folder)) == moment
        assert api.get_submitted_timestamp("a1_x", "ada") == moment
    collect = ExchangeCollect(coursedir=place, config=BERLIN)
    name = "ada+a1_x+2026-07-01 12:00:00 CEST+x_9"
    assert collect._path_to_record(f"/in/{name}") == {
        "username": "ada", "filename": name, "timestamp": NOON,
    }  # fmt: skip


def test_a_late_penalty_follows_the_clock_of_the_exchange_and_an_open_question_is_asked(tmp_path):
    course = tmp_path / "course"
    stamps = {"ada": "2026-07-01 12:00:00 CEST", "eve": "2026-07-01 12:00:01 CEST", "zoe": "2026-07-01 12:00:00 IST"}  # fmt: skip
    hand_in(course, {name: submission("right_loops") for name in stamps})
    for name, text in stamps.items():
        Path(course, "submitted", name, ASSIGNMENT, "timestamp.txt").write_text(text, "ascii")
    with (course / "nbgrader_config.py").open("a") as file:
        file.write(
            '\nc.Exchange.timezone = "Europe/Berlin"\n'
            'c.AssignLatePenalties.plugin_class = "autograder.batch.late_penalty.PercentADay"\n'
        )
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        gradebook.update_or_create_assignment(ASSIGNMENT, duedate="2026-07-01 10:00:00 UTC")
    settings = dataclasses.replace(SETTINGS, collected_times=True, feedback=False)
    for _ in range(2):  # also where nothing is to be graded any more
        rows = {row.student: row for row in grade(course, (), settings)}
        assert [rows[name].points for name in ("ada", "eve", "zoe")] == [10, 9, 10]
        assert (rows["ada"].came_in, rows["zoe"].came_in) == (NOON, None)
        [said] = rows["zoe"].reasons
        assert "2026-07-01 12:00:00 IST" in said and "c.Exchange.timezone" in said
        assert rows["zoe"].needs_person and not rows["ada"].needs_person
