"""What coming in late costs, and extensions: what is given, kept, counted and taken back."""

import argparse
import dataclasses
from datetime import datetime, timedelta

import pytest
from nbgrader.api import Gradebook
from nbgrader.plugins import BasePlugin
from nbgrader.preprocessors import AssignLatePenalties
from traitlets import TraitError
from traitlets.config import Config

from autograder.__main__ import main
from autograder.batch.extensions import length_of, spelt_out
from autograder.batch.late_penalty import PercentADay
from tests.sample_class import ASSIGNMENT, SETTINGS, grade, hand_in, submission

pytestmark = pytest.mark.long

HOUR = 3600
DAY = 24 * HOUR


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        (2 * HOUR, None),
        (2 * HOUR + 1, 0.8),
        (26 * HOUR, 0.8),
        (26 * HOUR + 1, 1.6),
        (4 * DAY, 3.2),
        (6 * DAY, 4),
        (365 * DAY, 4),
    ],
)
def test_a_day_that_has_begun_costs_its_share_after_the_grace_and_up_to_the_most(late, expected):
    plugin = PercentADay(grace_hours=2, percent_a_day=10, most_percent=50)
    assert plugin.late_submission_penalty("ada", 8.0, late) == expected


def test_a_penalty_is_not_rounded_and_nothing_earned_loses_nothing():
    assert PercentADay().late_submission_penalty("ada", 7.77, 1) == 0.777
    assert PercentADay(percent_a_day=33).late_submission_penalty("ada", 1.0, 1) == 0.33
    assert PercentADay().late_submission_penalty("ada", 7.949999999999999, 1) == 0.795
    assert PercentADay().late_submission_penalty("ada", 0.0, 100 * DAY) == 0


@pytest.mark.parametrize("name", ["grace_hours", "percent_a_day", "most_percent"])
def test_settings_that_make_no_sense_are_refused(name):
    with pytest.raises(TraitError):
        PercentADay(**{name: -1})
    with pytest.raises(TraitError):
        PercentADay(most_percent=101)


def test_nbgrader_makes_it_by_its_name_with_the_settings_of_the_course():
    config = Config()
    config.AssignLatePenalties.plugin_class = "autograder.batch.late_penalty.PercentADay"
    config.PercentADay.percent_a_day = 25
    made = AssignLatePenalties(config=config)
    made.init_plugin()
    assert isinstance(made.plugin_inst, BasePlugin)
    assert made.plugin_inst.late_submission_penalty("ada", 4.0, 1) == 1


@pytest.mark.parametrize(
    ("text", "hours"),
    [("2 days", 48), ("1 day 12 hours", 36), ("90 minutes", 1.5), ("1 week", 168), ("1.5 days", 36),
     ("1 day, 1 hour and 30 minutes", 25.5), ("2days", 48)],
)  # fmt: skip
def test_a_length_of_time_is_read(text, hours):
    assert length_of(text) == timedelta(hours=hours)
    assert length_of(spelt_out(length_of(text))) == timedelta(hours=hours)


@pytest.mark.parametrize("text", ["", "two days", "2", "0 days", "2 days ago", "-1 day", "99999 weeks", "0.2 minutes"])  # fmt: skip
def test_what_is_no_length_of_time_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="expected a length of time"):
        length_of(text)


@pytest.fixture
def course(tmp_path):
    """Ada and Eve handed in a day and an hour late; a day begun costs a tenth."""
    folder = tmp_path / "course"
    hand_in(folder, {name: submission("right_loops") for name in ("ada", "eve")})
    for name in ("ada", "eve"):
        stamp = folder / "submitted" / name / ASSIGNMENT / "timestamp.txt"
        stamp.write_text("2026-01-02 13:00:00 UTC")
    with (folder / "nbgrader_config.py").open("a") as file:
        file.write(
            '\nc.AssignLatePenalties.plugin_class = "autograder.batch.late_penalty.PercentADay"\n'
            "c.PercentADay.percent_a_day = 10\n"
        )
    with Gradebook(f"sqlite:///{folder}/gradebook.db", "attention") as gradebook:
        gradebook.update_or_create_assignment(ASSIGNMENT, duedate="2026-01-01 12:00:00 UTC")
    return folder


def graded(course):
    settings = dataclasses.replace(SETTINGS, collected_times=True, feedback=False)
    return {row.student: row for row in grade(course, (), settings)}


def extension(course, *words):
    return main(["extension", ASSIGNMENT, *words, "--course", str(course)])


def test_an_extension_is_given_listed_counted_and_taken_back(course, capsys):
    assert extension(course, "ada", "1 day 2 hours") == 0
    assert extension(course, "zoe", "1 week") == 0
    said = capsys.readouterr().out
    assert f"ada has 1 day 2 hours more for {ASSIGNMENT}.\nIt counts" in said
    assert "Nobody called 'zoe' is known yet" in said and "Nobody called 'ada'" not in said

    rows = graded(course)
    assert (rows["ada"].points, rows["eve"].points) == (10, 8)
    assert rows["ada"].due == datetime(2026, 1, 2, 14) and not rows["ada"].late
    assert "came in 25 h late: 2 points taken off" in rows["eve"].reasons

    capsys.readouterr()
    assert extension(course) == 0
    assert capsys.readouterr().out == "ada: 1 day 2 hours\nzoe: 7 days\n"

    assert extension(course, "eve", "3 hours") == 0
    assert extension(course, "ada", "--remove") == 0
    rows = graded(course)
    assert (rows["ada"].points, rows["eve"].points) == (8, 9)
    capsys.readouterr()
    assert extension(course) == 0
    assert capsys.readouterr().out == "eve: 3 hours\nzoe: 7 days\n"


def test_where_a_list_says_who_there_is_nobody_else_gets_an_extension(course, capsys):
    (course / "students.csv").write_text("id\nada.b\n", encoding="utf-8")
    assert extension(course, "ada.b", "1 day") == extension(course, "eve", "1 day") == 0
    assert "is known yet" not in capsys.readouterr().out
    assert extension(course, "adab", "1 day") == 2
    said = capsys.readouterr().err
    assert "nobody in students.csv has the id “adab”. Did you mean ada.b?" in said
    assert extension(course) == 0
    assert capsys.readouterr().out == "ada.b: 1 day\neve: 1 day\n"


@pytest.mark.parametrize("words", [["ada"], ["ada", "1 day", "--remove"], ["--remove"]])
def test_half_a_command_changes_nothing(course, words, capsys):
    assert extension(course, *words) == 2
    assert "name a student and a length of time" in capsys.readouterr().err


def test_without_a_due_date_the_command_says_so(course, capsys):
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        gradebook.find_assignment(ASSIGNMENT).duedate = None
        gradebook.db.commit()
    assert extension(course, "ada", "1 day") == 0
    assert "has no due date yet" in capsys.readouterr().out
    assert extension(course) == 0
    assert capsys.readouterr().out.startswith("ada: 1 day")
