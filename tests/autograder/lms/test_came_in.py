"""When work came in, by a platform's table or by one's own: read without guessing, kept, and counted."""

import json
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from nbgrader.api import Gradebook

from autograder.batch.came_in import Times, moment_in
from autograder.batch.extensions import Waiting
from autograder.errors import CourseError
from tests.autograder.lms import archive, canvas_export, course_with, lms, worksheet, written
from tests.sample_class import ASSIGNMENT, grade, hand_in, submission

NOTEBOOK = f"{ASSIGNMENT}.ipynb"
BERLIN = ("--time-zone", "Europe/Berlin")
DUE = "2026-03-05 18:00:00 UTC"


@pytest.fixture
def course(tmp_path):
    return course_with(tmp_path / "course", {"s001": 1, "s002": 1})


def set_due(course):
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        gradebook.update_or_create_assignment(ASSIGNMENT, duedate=DUE)


def times(course):
    path = course / "grading" / ASSIGNMENT / "came_in.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Thursday, 5 March 2026, 11:58 PM", "2026-03-05T22:58"),
        ("5 July 2026, 23:58", "2026-07-05T21:58"),  # an hour further from UTC in summer
        ("2026-03-05 23:58:10 UTC", "2026-03-05T23:58:10"),
        ("2026-03-05T23:58Z", "2026-03-05T23:58"),
        ("2026-03-05 23:58+0500", "2026-03-05T18:58"),
        ("05/03/2026 23:58", None),  # in May or in March
        ("Friday, 5 March 2026, 11:58 PM", None),  # which was a Thursday
        ("Thu 5 Mar 2026 23:58", "2026-03-05T22:58"),
        ("Fri 5 Mar 2026 23:58", None),
        ("2026-03-05 23:58 CST", None),  # of Chicago, of China or of Cuba
        ("5 March 2026", None),
        ("5 March, 11:58 PM", None),
        ("Donnerstag, 5. März 2026, 23:58", None),
        ("2026-13-40 10:00", None),
        ("-", None),
        ("March 2026, 11:58 PM", None),  # of no day
        ("Thursday, 5 2026, 11:58 PM", None),
        ("Thursday 2026, 11:58 PM", None),
        ("Thu 05/03/2026 23:58", None),  # a day of the week does not say which of two
        ("2026-13-05 10:00", None),
        ("Mar 5 06 2026 10:00", None),
        ("2026-03-05 +01:00", None),
        ("2026-03-05 23:58 UTC+3", None),  # before UTC to some, behind it to others
        ("2026-10-25 02:30", None),  # the clock shows it twice
        ("2026-10-25 02:30+0100", "2026-10-25T01:30"),
        ("2026-03-29 02:30", None),  # the clock never shows it
        ("05-Mar-2026 23:58", "2026-03-05T22:58"),
        ("2026-03-05 23:58 " + "1" * 5000, None),
        ("abc" * 100_000 + " 2026 12:00", None),
    ],
    ids=lambda text: (text or "none")[:40],
)
def test_a_time_is_read_where_nothing_has_to_be_guessed(text, moment):
    expected = datetime.fromisoformat(moment) if moment else None
    assert moment_in(text, ZoneInfo("Europe/Berlin")) == expected


def moodle(folder, when, content="anna"):
    """A worksheet and an archive of one student, and of another who handed in nothing."""
    rows = [
        [501, "Anna Ångström", "s001", "a@example.org", "Submitted for grading - 5 hours late", ""],
        [502, "Al O'Neil", "s002", "al@example.org", "No submission", ""],
    ]
    table = worksheet(rows)
    column = table[0].index("Last modified (submission)")
    table[1][column], table[2][column] = when, "-"
    path = folder / "worksheet.csv"
    path.write_text(written(table), encoding="utf-8")
    name = f"Anna Ångström_501_assignsubmission_file_/{NOTEBOOK}"
    return archive(folder / "moodle.zip", {name: content}), "--students", path, "--by", "id"


def notebook(course):
    return (course / "submitted/s001" / ASSIGNMENT / NOTEBOOK).read_text("utf-8")


def test_moodles_worksheet_says_when_it_came_in(course, tmp_path, capsys):
    words = moodle(tmp_path, "Thursday, 5 March 2026, 11:58 PM")
    assert lms(course, "unpack", *words, *BERLIN, "--dry-run") == 0
    assert not (course / "grading" / ASSIGNMENT).exists()
    assert lms(course, "unpack", *words, *BERLIN) == 0
    assert times(course) == {"s001": "2026-03-05T22:58:00"}
    said = capsys.readouterr().out
    assert "1 with the time at which it came in, read in the time zone Europe/Berlin" in said
    assert "late by a mark" not in said


def test_what_is_no_notebook_has_the_time_of_the_platform_too(course, tmp_path, capsys):
    """Without it, the class was told that nobody knows when it came in, and its points were never late."""
    table, *words = moodle(tmp_path, "Thursday, 5 March 2026, 11:58 PM")[1:]
    packed = tmp_path / "moodle.zip"
    archive(packed, {"Anna Ångström_501_assignsubmission_file_/a2.py": "import torch"})
    for _ in range(2):
        assert lms(course, "unpack", packed, table, *words, *BERLIN) == 1
        assert times(course) == {"s001": "2026-03-05T22:58:00"}
    Times(course, ASSIGNMENT).put({"s001": datetime(2026, 3, 4, 12)})
    assert lms(course, "unpack", packed, table, *words, *BERLIN) == 1
    assert times(course) == {"s001": "2026-03-04T12:00:00"}, "what a person gave stays"
    assert "with another time by lms came-in, which stays: s001" in capsys.readouterr().out
    lms(course, "unpack", *moodle(tmp_path, "Friday, 6 March 2026, 10:00 AM"), *BERLIN)
    assert times(course) == {"s001": "2026-03-06T09:00:00"}
    assert notebook(course) == "anna"


def test_a_time_that_is_not_understood_is_shown_and_a_replaced_one_is_over(
    course, tmp_path, capsys
):
    lms(course, "unpack", *moodle(tmp_path, "Thursday, 5 March 2026, 11:58 PM"), *BERLIN)
    words = moodle(tmp_path, "Freitag, 6. März 2026, 10:00", "anna, once more")
    capsys.readouterr()
    assert lms(course, "unpack", *words, *BERLIN) == 1
    said = capsys.readouterr().out
    assert "1 of another attempt than the one here, and nothing says which is later" in said
    assert "s001: here Thursday, 5 March 2026, 11:58 PM, in the archive Freitag, 6. März" in said
    assert times(course) == {"s001": "2026-03-05T22:58:00"}
    assert notebook(course) == "anna"
    assert lms(course, "unpack", *words, *BERLIN, "--later") == 0
    assert "1 with a time that is not understood" in capsys.readouterr().out
    assert times(course) == {"s001": None}
    assert notebook(course) == "anna, once more"


MARCH = {day: f"{name}, {day} March 2026, 11:58 PM" for day, name in enumerate(("Sunday", "Monday", "Tuesday"), 1)}  # fmt: skip


def test_what_was_handed_in_once_more_after_a_wrong_upload_counts(course, tmp_path, capsys):
    """What lies in an archive says nothing of its time: the first attempt may be the third one, too."""
    for day, content in ((1, "A"), (2, "B"), (3, "A")):
        capsys.readouterr()
        assert lms(course, "unpack", *moodle(tmp_path, MARCH[day], content), *BERLIN) == 0
        assert notebook(course) == content
        assert times(course) == {"s001": f"2026-03-0{day}T22:58:00"}
    said = capsys.readouterr().out
    assert f"1 replaced: s001 ({MARCH[3]}; before, {MARCH[2]}: " in said


@pytest.mark.parametrize("days", [(3, 1), (3, 2), (2, 1)])
@pytest.mark.parametrize("content", ["A", "B"], ids=["the same", "another"])
def test_an_archive_from_before_changes_nothing_whatever_is_in_it(
    course, tmp_path, capsys, days, content
):
    """It was downloaded before, and is unpacked after: its attempt may never have lain here."""
    lms(course, "unpack", *moodle(tmp_path, MARCH[days[0]], "A"), *BERLIN)
    capsys.readouterr()
    assert lms(course, "unpack", *moodle(tmp_path, MARCH[days[1]], content), *BERLIN) == 0
    assert notebook(course) == "A"
    assert times(course) == {"s001": f"2026-03-0{days[0]}T22:58:00"}
    said = capsys.readouterr().out
    assert "1 of an earlier attempt than the one here, so that nothing changes: s001 " in said
    assert f"(here {MARCH[days[0]]}, in the archive {MARCH[days[1]]})" in said
    kept = [path.read_text() for path in (course / "grading").rglob(NOTEBOOK)]
    assert kept == (["B"] if content == "B" else [])


def test_a_zone_that_was_wrong_is_corrected_by_the_same_archive(course, tmp_path):
    words = moodle(tmp_path, MARCH[2])
    lms(course, "unpack", *words, "--time-zone", "UTC")
    assert times(course) == {"s001": "2026-03-02T23:58:00"}
    assert lms(course, "unpack", *words, *BERLIN) == 0
    assert times(course) == {"s001": "2026-03-02T22:58:00"}


def test_a_time_that_a_person_gave_stays_until_something_else_comes_in(course, tmp_path, capsys):
    lms(course, "unpack", *moodle(tmp_path, MARCH[2]), *BERLIN)
    table = tmp_path / "times.csv"
    table.write_text("student,time\ns001,2026-03-01 09:00 UTC\n")
    assert lms(course, "came-in", table) == 0
    assert lms(course, "unpack", *moodle(tmp_path, MARCH[2]), *BERLIN) == 0
    assert "1 with another time by lms came-in, which stays: s001" in capsys.readouterr().out
    assert times(course) == {"s001": "2026-03-01T09:00:00"}
    assert lms(course, "unpack", *moodle(tmp_path, MARCH[3], "more"), *BERLIN) == 0
    assert times(course) == {"s001": "2026-03-03T22:58:00"}


def test_a_table_of_ones_own_says_which_attempt_is_later(course, tmp_path):
    """Where Moodle speaks another language than English, its worksheet is of no use."""
    table = tmp_path / "who.csv"
    name = f"Anna Ångström_501_assignsubmission_file_/{NOTEBOOK}"
    for day, content, lies in ((1, "A", "A"), (3, "B", "B"), (2, "C", "B")):
        table.write_text(f"number,student,time\n501,s001,2026-03-0{day} 10:00 UTC\n")
        packed = archive(tmp_path / "m.zip", {name: content})
        assert lms(course, "unpack", packed, "--students", table) == 0
        assert notebook(course) == lies
    assert times(course) == {"s001": "2026-03-03T10:00:00"}


def test_where_nothing_is_known_of_what_lies_there_a_person_says_which_is_later(
    course, tmp_path, capsys
):
    """It was put there by hand, or by another program."""
    folder = course / "submitted/s001" / ASSIGNMENT
    folder.mkdir(parents=True)
    (folder / NOTEBOOK).write_text("by mail")
    words = moodle(tmp_path, MARCH[2], "B")
    assert lms(course, "unpack", *words, *BERLIN) == 1
    assert notebook(course) == "by mail"
    assert f"    s001: here no time, in the archive {MARCH[2]}" in capsys.readouterr().out
    assert lms(course, "unpack", *words, *BERLIN, "--later") == 0
    assert notebook(course) == "B"


@pytest.mark.parametrize("due", [True, False], ids=["due", "no due date"])
def test_canvass_mark_counts_as_one_minute_since_it_does_not_say_by_how_much(
    course, tmp_path, capsys, due
):
    if due:
        set_due(course)
    rows = [
        ["Ångström, Anna", 101, "s001", "a", "S1", None],
        ["Li, Wei", 102, "s002", "w", "S1", None],
    ]
    table = tmp_path / "gradebook.csv"
    table.write_text(written(canvas_export(rows)), encoding="utf-8")
    names = {f"ångströmanna_LATE_101_5_{NOTEBOOK}": "anna", f"liwei_102_6_{NOTEBOOK}": "wei"}
    words = archive(tmp_path / "s.zip", names), "--students", table, "--by", "sis"
    assert lms(course, "unpack", *words) == 0
    assert times(course) == {"s001": "2026-03-05T18:01:00" if due else None, "s002": None}
    said = capsys.readouterr().out
    assert ("1 late, by the platform's mark: s001" in said) != due
    assert ("so that one minute counts until lms came-in says more: s001" in said) == due


def test_any_table_says_when_work_came_in(course, tmp_path, capsys):
    table = tmp_path / "times.csv"
    rows = "s001,2026-03-05 19:00 UTC\ns002,05/03/2026 19:00\nzoe,2026-03-05 19:00\n"
    table.write_text(f"Student , Time\n{rows}", encoding="utf-8")
    assert lms(course, "came-in", table, *BERLIN) == 1
    said = capsys.readouterr().out
    assert "takes a table with times such as 2026-03-05 23:58): s002 (“05/03/2026 19:00”)" in said
    assert "1 in the table, and not known here: zoe" in said
    assert times(course) == {"s001": "2026-03-05T19:00:00"}
    table.write_text("Matriculation;Abgabe\ns002;2026-03-05 19:00\n", encoding="utf-8")
    assert lms(course, "came-in", table, "--by", "Matriculation") == 2
    assert "Name the one with the times with --column" in capsys.readouterr().err
    named = ("--by", "Matriculation", "--column", "Abgabe")
    assert lms(course, "came-in", table, *named, *BERLIN, "--dry-run") == 0
    assert "s002" not in times(course)
    assert lms(course, "came-in", table, *named, *BERLIN) == 0
    assert times(course)["s002"] == "2026-03-05T18:00:00"


def test_a_time_at_which_nothing_can_have_come_in_is_listed(course, tmp_path, capsys):
    table = tmp_path / "times.csv"
    table.write_text("student,time\ns001,2062-03-05 10:00\ns002,1970-01-01 00:00 UTC\n")
    assert lms(course, "came-in", table) == 1
    assert "or cannot be" in (said := capsys.readouterr().out)
    assert "s001 (“2062-03-05 10:00”), s002 (“1970-01-01 00:00 UTC”)" in said
    assert times(course) == {}


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        (
            "name,student,time\nM,s001,2026-03-09 10:00,s002,2026-03-01 10:00\n",
            1,
            "line 2: expected 3 cells",
        ),
        (
            "student,time\ns001,2026-03-09 10:00\nS001,2026-03-01 10:00\n",
            1,
            "so that it names nobody: s001",
        ),
        (
            "student,time,time\ns001,2026-03-09 10:00,2026-03-01 10:00\n",
            2,
            "found 2 columns of that name",
        ),
        ("student,student,time\ns001,s002,2026-03-09 10:00\n", 2, "found 2 columns of that name"),
        ("student,t\x1b[2Jime\ns001,2026-03-09 10:00\n", 2, "t�[2Jime"),
        (",".join(["student", *map(str, range(9999))]) + "\ns001\n", 2, "--column"),
    ],
    ids=[
        "a comma in a name",
        "a twin",
        "two times",
        "two ids",
        "a terminal's order",
        "10 000 columns",
    ],
)
def test_no_table_gives_somebody_a_time_of_another(course, tmp_path, capsys, text, status, says):
    table = tmp_path / "times.csv"
    table.write_text(text, encoding="utf-8")
    assert lms(course, "came-in", table, *BERLIN) == status
    said = "".join(capsys.readouterr())
    assert says in said and "\x1b" not in said and len(said) < 2000
    path = course / "grading" / ASSIGNMENT / "came_in.json"
    assert not path.exists() or times(course) == {}


def test_times_that_others_keep_meanwhile_are_not_lost(course):
    one, other = Times(course, ASSIGNMENT), Times(course, ASSIGNMENT)
    one.put({"s001": datetime(2026, 3, 5)})
    other.put({"s002": datetime(2026, 3, 6)})
    assert [*times(course)] == ["s001", "s002"]


SPOILT = ["{", "[]", '{"s001": 5}', '{"s001": "yesterday"}', '{"s001": "2026-03-05T10:00:00Z"}', '{"s001": 1e300}']  # fmt: skip


@pytest.mark.parametrize("text", SPOILT)
@pytest.mark.parametrize(
    ("kept", "file"),
    [(Times, "came_in.json"), (Waiting, "extensions.json")],
    ids=["times", "more time"],
)
def test_what_is_kept_and_cannot_be_read_is_named(course, text, kept, file):
    path = course / "grading" / ASSIGNMENT / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    if (kept, text) == (Waiting, '{"s001": 5}'):
        assert kept(course, ASSIGNMENT).lengths == {"s001": timedelta(seconds=5)}
        return
    with pytest.raises(CourseError, match=f"{file} cannot be read"):
        kept(course, ASSIGNMENT)


def test_a_zone_that_is_none_is_refused(course, tmp_path, capsys):
    with pytest.raises(SystemExit):
        lms(course, "came-in", tmp_path / "t.csv", "--time-zone", "Mars")
    assert (
        "expected a time zone such as Europe/Berlin or UTC, got 'Mars'" in capsys.readouterr().err
    )


@pytest.mark.long
def test_the_time_counts_when_the_class_is_graded_and_no_file_of_a_students_does(tmp_path):
    hand_in(tmp_path, {"anna": submission("right_loops")})
    config = tmp_path / "nbgrader_config.py"
    plugin = 'c.AssignLatePenalties.plugin_class = "autograder.batch.late_penalty.PercentADay"\n'
    config.write_text(config.read_text() + plugin)
    early = tmp_path / "submitted/anna" / ASSIGNMENT / "timestamp.txt"
    early.write_text("2026-03-01 00:00:00 UTC")
    grade(tmp_path)
    set_due(tmp_path)
    Times(tmp_path, ASSIGNMENT).put({"anna": datetime(2026, 3, 6, 17)})
    [row] = grade(tmp_path)
    assert (row.came_in, row.penalty, row.points) == (datetime(2026, 3, 6, 17), 1.0, 9.0)
    Times(tmp_path, ASSIGNMENT).put({"anna": None})
    [row] = grade(tmp_path)
    assert (row.came_in, row.penalty, row.points) == (None, 0.0, 10.0)
