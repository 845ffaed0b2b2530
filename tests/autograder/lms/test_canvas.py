"""Scores into Canvas's own export: one column changes, and Canvas's importer sees those scores alone."""

import csv
import io
import re

import pytest

from autograder.lms.canvas import submitted_file
from tests.autograder.lms import (
    CANVAS_HEAD,
    TITLE,
    CanvasImport,
    canvas_export,
    course_with,
    edit,
    lms,
    written,
)
from tests.sample_class import ASSIGNMENT

SCORES = {
    "s001": 9, "s002": 6.5, "s003": 10, "s004": 7, "s005": 3, "s006": None, "s007": 8, "dropped": 5,
}  # fmt: skip
PEOPLE = [
    ["Ångström, Anna", 101, "s001", "anna@example.org", "S1", None],
    ['O\'Neil, Al "Bo"', 102, "s002", "al@example.org", "S1", "6.50"],
    ["Li, Wei", 103, "s003", "wei@example.org", "S1 and S2", "2.00"],
    ["Li, Wei", 104, "s004", "wei2@example.org", "S1", "EX"],
    ["王, 小明", 105, "s005", "ming@example.org", "S1", "N/A"],
    ["Late, Lou", 106, "s006", "lou@example.org", "S1", "1.00"],
    ["New, Nina", 107, "s999", "nina@example.org", "S1", None],
    ['="=1+1"', 108, "s007", "one@example.org", "S1", ""],
]
WANTED = {
    101: "9.00",
    102: "6.50",
    103: "10.00",
    104: "EX",
    105: "N/A",
    106: "1.00",
    107: "",
    108: "8.00",
}


@pytest.fixture
def course(tmp_path):
    return course_with(tmp_path / "course", SCORES)


@pytest.fixture
def export(tmp_path):
    def write(text, mark=b"", encoding="utf-8"):
        path = tmp_path / "2026-03-05T1200_Grades-NLP.csv"
        path.write_bytes(mark + text.encode(encoding))
        return path

    return write


def upload(course, export):
    return (course / "grading" / ASSIGNMENT / f"scores_{export.name}").read_bytes()


def test_canvas_takes_the_scores_and_nothing_else(course, export, capsys):
    file = export(written(canvas_export(PEOPLE)))
    before = CanvasImport(file.read_bytes())
    assert lms(course, "scores", file, "--column", "11001") == 1, "somebody is listed"
    after = CanvasImport(upload(course, file))
    assert {
        number: scores[11001] for number, scores in after.scores.items() if number != 999
    } == WANTED
    assert after.scores[999] == before.scores[999]
    assert {n: s[11000] for n, s in after.scores.items()} == {
        n: s[11000] for n, s in before.scores.items()
    }
    assert after.points == before.points == {11000: "5.00", 11001: "10.00"}
    assert after.new_assignments == before.new_assignments == []

    said = capsys.readouterr().out
    assert (
        f"Canvas gradebook: column “{TITLE} (11001)”, 10 points; students by “SIS User ID”" in said
    )
    assert "3 to change, 1 there already" in said
    assert re.search(r"^s003 +2\.00 +10\.00  Li, Wei$", said, re.MULTILINE)
    assert (
        "2 left unchanged: s004 (excused in Canvas: EX), s005 (not assigned to them in Canvas: N/A)"
        in said
    )
    assert "1 in the platform's table, and without a score here: s006" in said
    assert "1 known here, and not in the platform's table: dropped" in said
    assert "1 in the platform's table, and not known here: New, Nina (s999)" in said
    assert "1 not a student: Student, Test (no id): Canvas's test student" in said


def test_every_other_byte_stays_and_a_second_run_changes_nothing(course, export, capsys):
    file = export(written(canvas_export(PEOPLE), line_end="\r\n", quote=csv.QUOTE_ALL))
    lms(course, "scores", file, "--column", TITLE)
    once = upload(course, file)
    lines = zip(file.read_bytes().split(b"\r\n"), once.split(b"\r\n"), strict=True)
    changed = [(old, new) for old, new in lines if old != new]
    assert len(changed) == 3
    for old, new in changed:
        old, new = (next(csv.reader([line.decode()])) for line in (old, new))
        assert [place for place in range(len(old)) if old[place] != new[place]] == [6]
    capsys.readouterr()
    lms(course, "scores", file, "--column", TITLE)
    assert upload(course, file) == once
    again = course / "again.csv"
    again.write_bytes(once)
    capsys.readouterr()
    lms(course, "scores", again, "--column", TITLE, "-o", course / "twice.csv")
    assert (course / "twice.csv").read_bytes() == once
    assert "0 to change, 4 there already" in capsys.readouterr().out


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "marked"])
def test_semicolons_and_decimal_commas_stay_what_they_are(course, export, mark):
    rows = canvas_export([[*row[:5], row[5] and row[5].replace(".", ",")] for row in PEOPLE])
    rows = [
        [cell.replace(".00", ",00") if isinstance(cell, str) else cell for cell in row]
        for row in rows
    ]
    file = export(written(rows, ";"), mark)
    assert lms(course, "scores", file, "--column", TITLE) == 1
    data = upload(course, file)
    assert data.startswith(mark) and ";9,00;" in data.decode("utf-8-sig")
    after = CanvasImport(data)
    assert {
        number: scores[11001] for number, scores in after.scores.items() if number != 999
    } == WANTED


def test_a_table_of_a_class_that_agrees_ends_well(course, export, tmp_path):
    course = course_with(tmp_path / "small", {"s001": 9, "s002": 6.5})
    assert lms(course, "scores", export(written(canvas_export(PEOPLE[:2]))), "--column", TITLE) == 0


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("Assignment 3", "There are: Warm-up \\(11000\\), Assignment 2 \\(11001\\)"),
        ("Final Score", "found no column of that name"),
        ("Section", "found no column of that name"),
        ("", "which column .* takes the scores"),
    ],
)
def test_a_column_that_would_become_a_new_assignment_is_refused(
    course, export, capsys, column, said
):
    file = export(written(canvas_export(PEOPLE)))
    assert lms(course, "scores", file, *(["--column", column] if column else [])) == 2
    assert not list(course.glob(f"grading/{ASSIGNMENT}/*.csv"))
    assert re.search(said, capsys.readouterr().err)


def test_an_assignment_of_the_same_name_is_found_without_asking(course, export):
    rows = canvas_export(PEOPLE)
    rows[0] = [name.replace(f"{TITLE} (", f"{ASSIGNMENT} (") for name in CANVAS_HEAD]
    assert lms(course, "scores", export(written(rows))) == 1


def test_other_points_stop_it_unless_it_is_told_to_scale(course, export, capsys):
    file = export(written(canvas_export(PEOPLE, possible="100.00")))
    assert lms(course, "scores", file, "--column", TITLE) == 2
    said = capsys.readouterr().err
    assert (
        "gives 100 points at most, and here it is 10" in said and "--scale multiply by 10" in said
    )
    assert lms(course, "scores", file, "--column", TITLE, "--scale") == 1
    assert CanvasImport(upload(course, file)).scores[101][11001] == "90.00"


def test_a_column_without_points_or_for_reading_only_is_refused(course, export, capsys):
    for possible in ("", "0.00", "(read only)"):
        file = export(written(canvas_export(PEOPLE, possible=possible)))
        assert lms(course, "scores", file, "--column", TITLE, "--scale") == 2
    rows = [row for row in canvas_export(PEOPLE) if row[0] != "    Points Possible"]
    assert lms(course, "scores", export(written(rows)), "--column", TITLE) == 2
    assert "expected a row “Points Possible”" in capsys.readouterr().err


def test_two_columns_that_name_students_have_to_be_told_apart(tmp_path, export, capsys):
    course = course_with(tmp_path / "course", {"101": 9, "s002": 4})
    file = export(written(canvas_export(PEOPLE[:2])))
    assert lms(course, "scores", file, "--column", TITLE) == 2
    said = capsys.readouterr().err
    assert "--by sis (“SIS User ID”, names 1 of our students)" in said
    assert "--by id (“ID”, names 1 of our students)" in said
    lms(course, "scores", file, "--column", TITLE, "--by", "id")
    assert CanvasImport(upload(course, file)).scores[101][11001] == "9.00"
    assert CanvasImport(upload(course, file)).scores[102][11001] == "6.50", "as it was"


def test_logins_do_not_care_for_capitals_and_emails_of_the_gradebook_are_used(
    tmp_path, export, capsys
):
    course = course_with(tmp_path / "course", {"ANNA@example.org": 9, "al@example.org": 4})
    file = export(written(canvas_export(PEOPLE[:2])))
    assert lms(course, "scores", file, "--column", TITLE) == 0
    assert "students by “SIS Login ID”" in capsys.readouterr().out


def test_an_id_that_two_people_have_names_neither(course, export, capsys):
    twice = [*PEOPLE, ["Ghost, Gus", 109, " S001", "gus@example.org", "S1", "1.00"]]
    file = export(written(canvas_export(twice)))
    assert lms(course, "scores", file, "--column", TITLE) == 1
    after = CanvasImport(upload(course, file))
    assert (after.scores[101][11001], after.scores[109][11001]) == ("", "1.00")
    assert (
        "1 shared by several rows or students, so that it names nobody: s001"
        in capsys.readouterr().out
    )


def test_who_waits_for_a_person_keeps_what_is_there(course, export, capsys):
    edit(course, "s003", needs_manual_grade=True)
    file = export(written(canvas_export(PEOPLE)))
    lms(course, "scores", file, "--column", TITLE)
    assert CanvasImport(upload(course, file)).scores[103][11001] == "2.00"
    assert (
        "1 waiting for a person, left unchanged without --also-waiting: s003"
        in capsys.readouterr().out
    )
    lms(course, "scores", file, "--column", TITLE, "--also-waiting")
    assert CanvasImport(upload(course, file)).scores[103][11001] == "10.00"


def test_late_penalties_and_points_given_by_hand_count(course, export):
    edit(course, "s001", penalty=1.25)
    edit(course, "s003", manual_score=4.5)
    file = export(written(canvas_export(PEOPLE)))
    lms(course, "scores", file, "--column", TITLE)
    after = CanvasImport(upload(course, file))
    assert (after.scores[101][11001], after.scores[103][11001]) == ("7.75", "4.50")


def test_a_dry_run_writes_nothing(course, export, capsys):
    file = export(written(canvas_export(PEOPLE)))
    before = sorted(course.rglob("*"))
    assert lms(course, "scores", file, "--column", TITLE, "--dry-run") == 1
    assert sorted(course.rglob("*")) == before
    said = capsys.readouterr().out
    assert "3 to change" in said and "nothing was written" in said


def test_a_row_that_a_spreadsheet_has_spoilt_stops_it(course, export, capsys):
    text = written(canvas_export(PEOPLE)).replace('"Li, Wei",103', "Li, Wei,103")
    assert lms(course, "scores", export(text), "--column", TITLE) == 2
    assert "line 6 of" in capsys.readouterr().err


def test_first_and_last_names_may_have_columns_of_their_own(course, export, capsys):
    rows = canvas_export(PEOPLE[:3])
    for row in rows:
        last, _, first = (row[0] or "").partition(", ")
        row[:1] = [last, first] if row is not rows[0] else ["LastName", "FirstName"]
    assert lms(course, "scores", export(written(rows)), "--column", TITLE) == 1
    assert "Canvas's test student" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("begin", "encoding", "said"),
    [
        ("", "utf-8", ""),
        ("sep=;\n", "utf-8", "“sep=;”, which platforms take"),
        ("", "cp1252", "is not in UTF-8"),
    ],
)
def test_what_excel_has_left_behind_is_kept_and_told(course, export, capsys, begin, encoding, said):
    people = [person for person in PEOPLE if person[1] != 105]  # cp1252 has no Chinese
    file = export(begin + written(canvas_export(people), ";"), encoding=encoding)
    assert lms(course, "scores", file, "--column", TITLE) == 1
    assert upload(course, file).decode(encoding).count(";9.00;") == 1
    assert "Excel" not in (text := capsys.readouterr().out) or begin
    assert said in text


def test_nothing_graded_yet(tmp_path, export, capsys):
    course = course_with(tmp_path / "course", {"s001": None})
    assert lms(course, "scores", export(written(canvas_export(PEOPLE))), "--column", TITLE) == 2
    assert "Grade it first: python -m autograder grade" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "number", "late", "own", "order"),
    [
        ("ångströmanna_101_5001_a2.ipynb", "101", False, "a2.ipynb", 5001),
        (
            "lou_LATE_106_5002_a2_self_attention-2.ipynb",
            "106",
            True,
            "a2_self_attention-2.ipynb",
            5002,
        ),
        ("van_der_berg_LATE_7_8_9_10.csv", "7", True, "9_10.csv", 8),
        ("王小明_105_5003_a2.ipynb", "105", False, "a2.ipynb", 5003),
    ],
)
def test_names_in_an_archive_are_read_as_canvas_reads_them(name, number, late, own, order):
    entry = submitted_file(name)
    assert (entry.number, entry.late, entry.own, entry.order) == (number, late, own, order)
    assert entry.prefix + entry.own == name
    # Canvas's own way, infer_comment_context_from_filename
    parts = [part for part in name.split("_") if part != "LATE"]
    assert [part for part in parts if part.isdecimal()][:2] == [number, str(order)]


@pytest.mark.parametrize(
    "name",
    ["a2.ipynb", "anna_101_text.html", "anon_x1y2_5001_a2.ipynb", "a/b_1_2_c.ipynb", "anna_1_2_"],
)
def test_other_names_are_not_canvass(name):
    entry = submitted_file(name)
    assert entry is None or not entry.own


def test_the_examples_are_tables(export):
    assert len({len(row) for row in csv.reader(io.StringIO(written(canvas_export(PEOPLE))))}) == 1
