"""A term's dates: read without guessing, held against the calendar, and given to the gradebook."""

import json
import shutil
from datetime import UTC, datetime

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.batch.dates import odd, read_dates
from autograder.errors import CourseError
from autograder.lms.came_in import due_in
from tests.sample_class import ASSIGNMENT, grade, hand_in, submission

LECTURE_OF = {"a1_first": "01_one", ASSIGNMENT: "02_two", "a10_tenth": None}
NOW = datetime(2026, 10, 1, tzinfo=UTC)
ZONE = 'zone = "Europe/Berlin"\n'


@pytest.fixture
def course(tmp_path):
    """Three assignments, of which two belong to lectures."""
    folder = tmp_path / "course"
    hand_in(folder, {})
    for name, lecture in LECTURE_OF.items():
        path = folder / "solutions" / name / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        if name != ASSIGNMENT:
            path.write_text(json.dumps({"metadata": {"course": {"lecture": lecture}}}))
    (folder / "lectures").mkdir(exist_ok=True)
    for name in ("01_one", "02_two", "03_three"):
        (folder / "lectures" / f"{name}.ipynb").write_text("{}")
    return folder


def write(course, text):
    (course / "term.toml").write_text(text, encoding="utf-8")
    return course


def due_dates(course):
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        return {one.name: one.duedate for one in gradebook.assignments}


def test_without_a_plan_there_are_no_dates(course):
    assert not read_dates(course).due
    assert not read_dates(write(course, "pass_at = 50\n")).due


def test_where_only_assignments_are_the_days_of_lectures_stop_nobody(course):
    """An archive of a course holds no lectures, and is graded all the same."""
    write(course, FINE)
    shutil.rmtree(course / "lectures")
    assert len(read_dates(course).due) == 3


def test_a_date_is_in_the_zone_of_the_course_or_has_its_own(course):
    text = f"{ZONE}[due]\na10_tenth = 2026-11-02T23:59:00\na1_first = 2026-10-19T23:59:00Z\n{ASSIGNMENT} = 2026-07-06 12:00:00"
    due = read_dates(write(course, text)).due
    assert {name: when.astimezone(UTC).isoformat() for name, when in due.items()} == {
        "a1_first": "2026-10-19T23:59:00+00:00",
        ASSIGNMENT: "2026-07-06T10:00:00+00:00",  # in summer
        "a10_tenth": "2026-11-02T22:59:00+00:00",  # in winter
    }
    assert list(due) == ["a1_first", ASSIGNMENT, "a10_tenth"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[due]\na1_first = 2026-10-19T23:59:00", "expected a time zone for a1_first, found none"),
        (f"{ZONE}[due]\na1_first = 2026-10-19", "a day and an hour such as 2026-10-19T23:59:00"),
        (f'{ZONE}[due]\na1_first = "Friday, 5 March"', "found “Friday, 5 March”"),
        (f"{ZONE}[due]\na1_frist = 2026-10-19T23:59:00", "found a1_frist. Did you mean a1_first?"),
        (f"{ZONE}[due]\na1_first = 2026-10-25T02:30:00", "no hour or two"),  # comes twice
        (f"{ZONE}[due]\na1_first = 2026-03-29T02:30:00", "no hour or two"),  # never comes
        (f"{ZONE}[lectures]\n4 = 2026-10-19", "expected lectures of the course, found 4"),
        (f'{ZONE}[lectures]\n1 = "next week"', "expected a day such as 2026-10-12"),
        ("zone = 'Mars'\n[lectures]\n1 = 2026-10-19", "expected a time zone such as Europe/Berlin in zone"),
        ("due = 5", "Expected `object`"),
        ("[due]\na1_first = 2026-02-30T10:00:00Z", "cannot be read, since it is not TOML"),
    ],
)  # fmt: skip
def test_what_leaves_something_to_guess_is_refused(course, capsys, text, said):
    with pytest.raises(CourseError, match=r"term\.toml") as refused:
        read_dates(write(course, text))
    assert said in str(refused.value)
    assert main(["plan", "--course", str(course)]) == 2
    assert "no plan: " in capsys.readouterr().err


FINE = f"""{ZONE}
[lectures]
1 = 2026-10-12
2 = 2026-10-19

[due]
a1_first = 2026-10-19T09:00:00
{ASSIGNMENT} = 2026-10-26T09:00:00
a10_tenth = 2026-11-02T09:00:00
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", []),
        ("10-26T09", "10-25T09", [f"{ASSIGNMENT} is due on a Sunday"]),
        ("11-02T09", "10-23T09", [f"a10_tenth is due before {ASSIGNMENT}"]),
        ("11-02T09", "10-26T12", [f"{ASSIGNMENT}, a10_tenth are due on one day, 2026-10-26"]),
        ("a1_first = 2026", "a1_first = 2025", ["a1_first is due on a Sunday",
         "a1_first was due in the past, and nobody has handed in",
         "a1_first is due before its lecture, 1, is over, on 2026-10-12"]),
        ("2 = 2026-10-19", "2 = 2026-10-26", [f"{ASSIGNMENT} is due before its lecture, 2, is over, on 2026-10-26"]),
        ("2 = 2026-10-19", "2 = 2026-10-05", ["lecture 2 comes before lecture 1"]),
        ("2 = 2026-10-19", "2 = 2026-10-12", ["lecture 1, lecture 2 are on one day, 2026-10-12"]),
    ],
)  # fmt: skip
def test_what_nobody_would_have_meant_is_said(course, old, new, said):
    assert FINE.count(old) == 1 or not old
    write(course, FINE.replace(old, new))
    assert list(odd(read_dates(course), course, NOW)) == said


def test_what_has_come_in_may_be_past(course):
    write(course, FINE)
    later = datetime(2026, 10, 20, tzinfo=UTC)
    assert len(list(odd(read_dates(course), course, later))) == 1
    (course / "submitted" / "anna" / "a1_first").mkdir(parents=True)
    assert list(odd(read_dates(course), course, later)) == []


def test_the_plan_is_shown_and_entered_into_the_gradebook(course, capsys):
    write(course, FINE.replace("2026", "2126"))
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        gradebook.add_assignment("a3_third", duedate="2126-01-01 00:00 UTC")
        gradebook.add_assignment("a1_first", duedate="2126-01-02 10:00 UTC")
    main(["plan", "--course", str(course)])
    said = capsys.readouterr().out
    assert "2126-10-19  Sat  09:00  a1_first is due\n" in said
    assert (
        "the gradebook's due date of a1_first is that of term.toml now, and was 2126-01-02" in said
    )
    assert "due by the gradebook alone: a3_third" in said
    assert due_dates(course)["a1_first"] == datetime(2126, 10, 19, 7)
    assert due_dates(course)["a10_tenth"] == datetime(2126, 11, 2, 8)
    main(["plan", "--course", str(course)])
    assert "gradebook's due date" not in capsys.readouterr().out
    assert due_in(course, ASSIGNMENT) == datetime(2126, 10, 26, 7)


@pytest.mark.long
def test_grading_goes_by_the_plan(tmp_path):
    hand_in(tmp_path, {"anna": submission("right_loops")})
    (tmp_path / "term.toml").write_text(f"[due]\n{ASSIGNMENT} = 2026-10-26T09:00:00Z\n")
    [row] = grade(tmp_path)
    assert row.due == datetime(2026, 10, 26, 9)
