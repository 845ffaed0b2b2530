"""Scores into Moodle's two tables, held against what its importers do, and into tables of other platforms."""

import csv
import io

import pytest

from autograder.lms.moodle import submitted_file
from tests.autograder.lms import (
    GRADES_HEAD,
    TITLE,
    GradesImport,
    WorksheetImport,
    course_with,
    edit,
    grade_book,
    lms,
    worksheet,
    written,
)
from tests.sample_class import ASSIGNMENT

SCORES = {"anna": 9, "bo": 6.5, "wei": 10, "none": None, "dropped": 4}
EMAILS = {"anna": "anna@example.org", "bo": "bo@example.org", "wei": "Wei@example.org"}
SHEET = [
    [501, "Anna Ångström", "s001", "anna@example.org", "Submitted for grading", ""],
    [
        502,
        'Al "Bo" O\'Neil',
        "s002",
        "bo@example.org",
        "Submitted for grading - 1 day 2 hours late",
        "6.50",
    ],
    [503, "Wei Li", "s003", "wei@example.org", "Submitted for grading - Graded", "2.00"],
    [504, "Wei Li", "s004", "wei2@example.org", "No submission", ""],
]
BOOK = [
    ["Anna", "Ångström", "s001", "anna@example.org", "-"],
    ["Al, Bo", "O'Neil", "s002", "bo@example.org", "6.50"],
    ["Wei", "Li", "s003", "wei@example.org", "2.00"],
    ["Wei", "Li", "s004", "wei2@example.org", "-"],
]
COLUMN = f"Assignment: {TITLE} (Real)"
USERS = {"anna@example.org", "bo@example.org", "wei@example.org", "wei2@example.org"}


@pytest.fixture
def course(tmp_path):
    return course_with(tmp_path / "course", SCORES, EMAILS)


@pytest.fixture
def export(tmp_path):
    def write(text, mark=b"", encoding="utf-8"):
        path = tmp_path / "export.csv"
        path.write_bytes(mark + text.encode(encoding))
        return path

    return write


def upload(course):
    return (course / "grading" / ASSIGNMENT / "scores_export.csv").read_bytes()


# ------------------------------------------------------------------------------------- worksheet


@pytest.mark.parametrize(
    ("separator", "line_end", "mark", "comma"),
    [(",", "\n", b"\xef\xbb\xbf", False), (",", "\n", b"", True), (";", "\r\n", b"", True), ("\t", "\n", b"", False)],
)  # fmt: skip
def test_moodle_takes_the_scores_of_a_worksheet(
    course, export, capsys, separator, line_end, mark, comma
):
    def local(rows):
        change = {"10.00": "10,00", "6.50": "6,50", "2.00": "2,00"} if comma else {}
        return [[change.get(cell, cell) for cell in row] for row in rows]

    file = export(written(local(worksheet(SHEET)), separator, line_end), mark)
    before = WorksheetImport(file.read_bytes(), separator, comma)
    assert lms(course, "scores", file) == 1
    after = WorksheetImport(upload(course), separator, comma)
    assert after.grades == {"501": 9, "502": 6.5, "503": 10}
    assert after.feedback == before.feedback
    said = capsys.readouterr().out
    assert "Moodle worksheet: column “Grade”, 10 points; students by “Email address”" in said
    assert "2 to change, 1 there already" in said
    assert "1 in the platform's table, and not known here: Wei Li (wei2@example.org)" in said
    assert "2 known here, and not in the platform's table: dropped, none" in said

    again = course / "again.csv"
    again.write_bytes(upload(course))
    lms(course, "scores", again, "-o", course / "twice.csv")
    assert (course / "twice.csv").read_bytes() == again.read_bytes()


def test_only_the_column_of_grades_changes_in_a_worksheet(course, export):
    file = export(written(worksheet(SHEET), line_end="\r\n", quote=csv.QUOTE_NONNUMERIC))
    lms(course, "scores", file)
    old, new = (
        [*csv.reader(io.StringIO(data.decode(), newline=""))]
        for data in (file.read_bytes(), upload(course))
    )
    assert {
        column
        for a, b in zip(old, new, strict=True)
        for column in range(11)
        if a[column] != b[column]
    } == {5}
    assert upload(course).replace(b'"9.00"', b'""').replace(
        b'"10.00",', b'"2.00",'
    ) == file.read_bytes().replace(b'"10.00",', b'"2.00",')


def test_a_grade_that_moodle_would_pass_over_is_left_and_listed(course, export, capsys):
    edit(course, "anna", extra_credit=3.0)
    rows = worksheet(SHEET)
    rows[3][7] = "No"
    assert lms(course, "scores", export(written(rows))) == 1
    assert WorksheetImport(upload(course)).grades == {"502": 6.5, "503": 2}
    said = capsys.readouterr().out
    assert "anna (Moodle takes 10 at most, and would pass over 12: empty)" in said
    assert "wei (Moodle says that the grade cannot be changed: 2.00)" in said


def test_a_worksheet_says_how_many_points_there_are(course, export, capsys):
    assert lms(course, "scores", export(written(worksheet(SHEET, most="100.00")))) == 2
    assert "gives 100 points at most, and here it is 10" in capsys.readouterr().err
    assert lms(course, "scores", export(written(worksheet(SHEET, most="100.00"))), "--scale") == 1
    assert WorksheetImport(upload(course)).grades["501"] == 90
    assert lms(course, "scores", export(written(worksheet(SHEET, most="Good\nBad")))) == 2
    assert "Points cannot go into a scale" in capsys.readouterr().err


# ------------------------------------------------------------------------------------ grade book


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_moodle_takes_the_scores_of_a_grade_book(course, export, capsys, separator):
    file = export(written(grade_book(BOOK), separator))
    assert lms(course, "scores", file, "--column", TITLE, "--points", "10") == 1
    after = GradesImport(upload(course), "Email address", COLUMN, USERS, separator)
    assert after.grades == {"anna@example.org": 9, "bo@example.org": 6.5, "wei@example.org": 10}
    said = capsys.readouterr().out
    assert f"Moodle grade book: column “{COLUMN}”, 10 points; students by “Email address”" in said

    again = course / "again.csv"
    again.write_bytes(upload(course))
    capsys.readouterr()
    lms(course, "scores", again, "--column", TITLE, "--points", "10", "-o", course / "twice.csv")
    assert (course / "twice.csv").read_bytes() == again.read_bytes()
    assert "0 to change, 3 there already" in capsys.readouterr().out


def test_what_could_delete_or_override_a_grade_is_not_in_the_file(course, export):
    """No feedback, no other grades, nobody without a score: Moodle's import overrides what it reads."""
    lms(course, "scores", export(written(grade_book(BOOK))), "--column", TITLE, "--points", "10")
    after = GradesImport(upload(course), "Email address", COLUMN, USERS)
    assert after.head == ["First name", "Last name", "Email address", COLUMN, GRADES_HEAD[-1]]
    assert None not in after.grades.values() and "wei2@example.org" not in after.grades


def test_a_grade_book_does_not_say_how_many_points_there_are(course, export, capsys):
    file = export(written(grade_book(BOOK)))
    assert lms(course, "scores", file, "--column", TITLE) == 2
    assert "does not say how many points" in capsys.readouterr().err
    assert lms(course, "scores", file, "--column", TITLE, "--points", "100") == 2
    assert lms(course, "scores", file, "--column", TITLE, "--points", "100", "--scale") == 1
    assert (
        GradesImport(upload(course), "Email address", COLUMN, USERS).grades["bo@example.org"] == 65
    )


@pytest.mark.parametrize(
    "column", [f"Assignment: {TITLE} (Feedback)", "Institution", "Assignment 3"]
)
def test_feedback_and_columns_of_words_take_no_scores(course, export, column, capsys):
    file = export(written(grade_book(BOOK)))
    if column == "Institution":
        file = export(written([[cell or "HQ" for cell in row] for row in grade_book(BOOK)]))
    assert lms(course, "scores", file, "--column", column, "--points", "10") == 2
    assert COLUMN in capsys.readouterr().err


def test_a_german_grade_book_is_known_by_its_last_column(course, export):
    rows = grade_book(BOOK)
    rows[0] = ["Vorname", "Nachname", "ID-Nummer", "Institution", "Abteilung", "E-Mail-Adresse", "Aufgabe: Eins (Punkte)",
               "Aufgabe: Eins (Feedback)", "Aufgabe: Zwei (Punkte)", "Aufgabe: Zwei (Feedback)", "Kurs (Punkte)", "Zuletzt"]  # fmt: skip
    rows[1:] = [
        [
            str(cell).replace(".", ",") if place in (6, 8, 10) else cell
            for place, cell in enumerate(row)
        ]
        for row in rows[1:]
    ]
    by_id = course_with(course.parent / "ids", {"s001": 9, "s002": 6.5, "s003": 10, "s004": 1.25})
    words = ("--column", "Aufgabe: Zwei (Punkte)", "--points", "10")
    assert lms(by_id, "scores", export(written(rows, ";")), *words, "--by", "ID-Nummer") == 0
    text = upload(by_id).decode()
    assert text.splitlines()[0] == "Vorname;Nachname;ID-Nummer;Aufgabe: Zwei (Punkte);Zuletzt"
    assert [line.split(";")[3] for line in text.splitlines()[1:]] == [
        "9,00",
        "6,50",
        "10,00",
        "1,25",
    ]
    # where nobody says it, no column of another language is taken for the right one
    assert lms(by_id, "scores", export(written(rows, ";")), *words) == 2


# --------------------------------------------------------------------------------- other platforms


def test_any_other_table_needs_to_be_told_what_is_what(course, export, capsys):
    file = export(
        "Matrikel;Wer;A2\r\nanna;Anna;\r\nbo;Bo;6,5\r\nwei;Wei;-\r\ndropped;D;1,0\r\nnone;N;\r\n"
    )
    words = ("--by", "Matrikel", "--column", "A2", "--points", "10")
    for missing in (0, 2, 4):
        assert lms(course, "scores", file, *words[:missing], *words[missing + 2 :]) == 2
    assert lms(course, "scores", file, *words) == 0
    assert upload(course).decode().split("\r\n")[1:5] == [
        "anna;Anna;9,00",
        "bo;Bo;6,5",
        "wei;Wei;10,00",
        "dropped;D;4,00",
    ]


def test_names_are_never_matched(course, export, capsys):
    """Two people are called Wei Li, and a column of names is taken by nobody who does not ask for it."""
    file = export(written(worksheet([[501, "anna", "", "", "", ""]])))
    assert lms(course, "scores", file) == 2
    assert "Name it with --by" in capsys.readouterr().err


# ---------------------------------------------------------------------------------- names of files


@pytest.mark.parametrize(
    ("name", "number", "called", "own"),
    [
        ("Anna Ångström_501_assignsubmission_file_/a2.ipynb", "501", "Anna Ångström", "a2.ipynb"),
        ("Anna Ångström_501_assignsubmission_file/a2.ipynb", "501", "Anna Ångström", "a2.ipynb"),
        ("Wei Li_503_assignsubmission_file_/data/x_1.csv", "503", "Wei Li", "data/x_1.csv"),
        ("Wei Li_503_assignsubmission_file_my_a2.ipynb", "503", "Wei Li", "my_a2.ipynb"),
        ("Participant_77_assignsubmission_file_/a2.ipynb", "77", "Participant", "a2.ipynb"),
    ],
)
def test_names_in_an_archive_are_read_as_moodle_reads_them(name, number, called, own):
    entry = submitted_file(name)
    assert (entry.number, entry.called, entry.own, entry.text) == (number, called, own, False)
    assert entry.prefix + own == name and import_zip(entry.prefix + "page.html") == (
        number,
        "page.html",
    )


def import_zip(path):
    """`is_valid_filename_for_import`: the person's number, and the name that the file gets."""
    parts = path.split("/")
    while parts:
        info = parts.pop(0).split("_", 4)
        if (
            len(info) < 4
            or not info[1].isdecimal()
            or (info[2], info[3]) != ("assignsubmission", "file")
        ):
            continue
        rest = [info[4] if len(info) > 4 else "", *parts]
        return info[1], "/".join(rest).lstrip("/")
    return None


def test_what_was_typed_into_a_form_is_no_file():
    assert submitted_file("Wei Li_503_assignsubmission_onlinetext_/onlinetext.html").text


@pytest.mark.parametrize(
    "name", ["a2.ipynb", "x/Wei Li_503_assignsubmission_file_/a", "Wei_Li_503_file_a2.ipynb"]
)
def test_other_names_are_not_moodles(name):
    assert submitted_file(name) is None
