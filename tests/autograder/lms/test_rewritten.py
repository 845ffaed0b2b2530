"""Tables whose ids are not written as ours: by Brightspace, or by a program that wrote a table again."""

import csv
import io

import pytest

from autograder.batch.roster import roster_of
from autograder.files import plain_id
from tests.autograder.lms import (
    TITLE,
    CanvasImport,
    archive,
    canvas_export,
    course_with,
    lms,
    written,
)
from tests.sample_class import ASSIGNMENT

ITEM = f"{TITLE} Points Grade <Numeric MaxPoints:10 Weight:5 Category:Work CategoryWeight:50>"
BRIGHTSPACE = (
    f'OrgDefinedId,Username,Last Name,First Name,Email,"{ITEM}",Calculated Final Grade Numerator,'
    "End-of-Line Indicator\r\n"
    "#0101,#anna,Ångström,Anna,anna@example.org,,4,#\r\n"
    '#0102,#bo,"O\'Neil, Jr.",Bo,bo@example.org,6.5,4,#\r\n'
)


@pytest.mark.parametrize(
    ("text", "known_as"),
    [("101.0", "101"), ("101,0", "101"), (" 007.00 ", "007"), ("#anna", "anna"), ("#0101", "0101"),
     ("#101.0", "101"), ("anna", "anna"), ("1.5", "1.5"), ("v1.0", "v1.0"), ("#", "#"), ("", "")],
)  # fmt: skip
def test_an_id_is_known_whoever_wrote_it(text, known_as):
    assert plain_id(text) == known_as


@pytest.mark.parametrize(
    ("ids", "by"),
    [(("0101", "0102"), "id"), (("anna", "bo"), "login"), (("anna@example.org", "bo@example.org"), "email")],
)  # fmt: skip
def test_brightspaces_users_are_found_and_every_other_byte_stays(tmp_path, capsys, ids, by):
    course = course_with(tmp_path / "course", dict(zip(ids, (9, 6.5), strict=True)))
    table = tmp_path / "Course_GradesExport.csv"
    table.write_text(BRIGHTSPACE, encoding="utf-8", newline="")
    for flags in (["--by", by], []):
        assert lms(course, "scores", table, "--column", TITLE, *flags) == 0
        sent = (course / "grading" / ASSIGNMENT / f"scores_{table.name}").read_bytes().decode()
        assert sent == BRIGHTSPACE.replace("anna@example.org,,4,#", "anna@example.org,9.00,4,#")
        said = capsys.readouterr().out
        assert f"Brightspace grades: column “{ITEM}”, 10 points" in said
        assert "Anna Ångström" in said and "1 to change, 1 there already" in said


def test_brightspaces_columns_that_are_no_points_take_none(tmp_path, capsys):
    course = course_with(tmp_path / "course", {"anna": 9})
    table = tmp_path / "t.csv"
    table.write_text(BRIGHTSPACE, encoding="utf-8")
    assert lms(course, "scores", table, "--column", "Calculated Final Grade Numerator") == 2
    assert f"There is: {ITEM}" in capsys.readouterr().err


def test_a_table_with_numbers_as_pandas_writes_them_is_read_and_stays(tmp_path, capsys):
    course = course_with(tmp_path / "course", {"101": 9, "102": 6.5, "103": None})
    text = "Matriculation,Score\n101.0,\n102.0,1.0\n,\n103.0,\n"
    table = tmp_path / "t.csv"
    table.write_text(text)
    flags = ["--by", "Matriculation", "--column", "Score", "--points", "10"]
    assert lms(course, "scores", table, *flags) == 0
    sent = (course / "grading" / ASSIGNMENT / "scores_t.csv").read_text()
    assert sent == text.replace("101.0,", "101.0,9.00").replace("102.0,1.0", "102.0,6.50")
    assert "2 to change" in capsys.readouterr().out


def test_canvass_own_numbers_as_pandas_writes_them(tmp_path):
    course = course_with(tmp_path / "course", {"s001": 9})
    rows = canvas_export([["Li, Wei", "101.0", "s001", "wei@example.org", "S1", None]])
    table = tmp_path / "gradebook.csv"
    table.write_text(written(rows), encoding="utf-8")
    packed = archive(tmp_path / "submissions.zip", {f"liwei_101_5001_{ASSIGNMENT}.ipynb": "{}"})
    assert lms(course, "unpack", packed, "--students", table, "--by", "sis") == 0
    assert (course / "submitted" / "s001" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").exists()
    lms(course, "scores", table, "--by", "sis", "--column", TITLE)
    sent = (course / "grading" / ASSIGNMENT / "scores_gradebook.csv").read_text(encoding="utf-8")
    assert "101.0,s001" in sent


def test_an_id_that_two_programs_wrote_in_two_ways_names_nobody(tmp_path, capsys):
    course = course_with(tmp_path / "course", {"101": 9})
    table = tmp_path / "t.csv"
    table.write_text("Id,Score\n101.0,\n101,\n")
    assert lms(course, "scores", table, "--by", "Id", "--column", "Score", "--points", "10") == 1
    assert (
        "1 shared by several rows or students, so that it names nobody: 101"
        in capsys.readouterr().out
    )


def test_times_and_the_class_list_are_read_so_too(tmp_path, capsys):
    course = course_with(tmp_path / "course", {"101": None})
    (course / "students.csv").write_text(
        "id,email,lms_user_id\n101.0,anna@example.org,7.0\n102.0,,\n"
    )
    roster = roster_of(course)
    assert list(roster) == ["101", "102"] and roster["101"].lms_user_id == "7"
    table = tmp_path / "t.csv"
    table.write_text("student,time\n101.0,2026-03-05 23:58\n#102,2026-03-06 07:30 UTC\n")
    assert lms(course, "came-in", table, "--time-zone", "UTC") == 0
    assert (
        '"101": "2026-03-05T23:58:00"'
        in (course / "grading" / ASSIGNMENT / "came_in.json").read_text()
    )


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("Final Project", "Canvas may pass over “Final Project (11001)”"),
        ("Currently attention", "Canvas may pass over"),
        ("Part 1 Final Score", "Canvas passes over"),
        ("final project", ""),
        (TITLE, ""),
    ],
)
def test_a_title_that_canvas_takes_for_a_total_is_said_before_the_file_is_made(
    tmp_path, capsys, title, said
):
    course = course_with(tmp_path / "course", {"s001": 9})
    rows = canvas_export([["Li, Wei", 101, "s001", "wei@example.org", "S1", None]])
    rows[0] = [name.replace(f"{TITLE} (", f"{title} (") for name in rows[0]]
    table = tmp_path / "gradebook.csv"
    table.write_text(written(rows), encoding="utf-8")
    assert lms(course, "scores", table, "--column", "11001", "--dry-run") == 0
    assert not list(course.glob(f"grading/{ASSIGNMENT}/*.csv"))
    heard = capsys.readouterr().out
    assert heard.startswith(said) and ("say that there are no changes" in heard) == bool(said)
    if said.endswith("passes over"):
        lms(course, "scores", table, "--column", "11001")
        after = CanvasImport(
            (course / "grading" / ASSIGNMENT / "scores_gradebook.csv").read_bytes()
        )
        assert after.scores[101] == {11000: "4.00"}, "as the importer does"


def test_blackboards_work_offline_table_needs_three_flags(tmp_path):
    course = course_with(tmp_path / "course", {"anna": 9, "bo": 6.5})
    column = f"{TITLE} [Total Pts: 10 Score] |664617"
    rows = [["Last Name", "First Name", "Username", "Student ID", column],
            ["Ångström", "Anna", "anna", "0101", ""], ["Li", "Bo", "bo", "0102", "Needs Grading(6.50)"]]  # fmt: skip
    table = tmp_path / "gc_course.xls"
    text = written(rows, "\t", "\r\n", csv.QUOTE_ALL)
    table.write_bytes(text.encode("utf-16"))
    assert (
        lms(course, "scores", table, "--by", "Username", "--column", column, "--points", "10") == 1
    )
    sent = (course / "grading" / ASSIGNMENT / f"scores_{table.name}").read_bytes().decode("utf-16")
    assert sent == text.replace('"0101"\t""', '"0101"\t"9.00"')
    assert len(list(csv.reader(io.StringIO(sent), delimiter="\t"))) == 3


def test_two_rows_of_one_login_are_said_to_be_two(tmp_path, capsys):
    course = course_with(tmp_path / "course", {"anna": 9, "bo": 4})
    table = tmp_path / "t.csv"
    table.write_text("Id,Score\nanna,\nanna,\nbo,\n")
    assert lms(course, "scores", table, "--by", "Id", "--column", "Score", "--points", "10") == 1
    said = capsys.readouterr().out
    assert "1 shared by several rows or students, so that it names nobody: anna" in said
    assert (
        "zeros" not in said and "not known here" not in said and "not in the platform" not in said
    )
    sent = course / "grading" / ASSIGNMENT / "scores_t.csv"
    assert sent.read_text() == "Id,Score\nanna,\nanna,\nbo,4.00\n"
