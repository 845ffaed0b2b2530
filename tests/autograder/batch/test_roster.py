"""The list of the class reaches the gradebook, and the reports say who of it has handed in nothing."""

import csv
import os

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.batch.class_report import as_page, as_text, table_rows, write_report
from autograder.batch.grades_table import grades
from autograder.batch.roster import FILE, Enrolled, enrol, roster_of
from autograder.batch.student_result import StudentResult
from autograder.errors import CourseError
from tests.sample_class import ASSIGNMENT, new_course

ADA = Enrolled("Ada", "Lovelace", "ada@x.org")
TEXT = "id,first_name,last_name,email\nada,Ada,Lovelace,ada@x.org\n\n ben ,,,\n"
ROWS = [StudentResult("ada", 2, 3, {"double": 2.0}, {"double": 3.0})]


@pytest.fixture
def course(tmp_path):
    new_course(tmp_path)
    (tmp_path / FILE).write_text(TEXT, encoding="utf-8")
    return tmp_path


def in_gradebook(course):
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        return {one.id: (one.first_name, one.last_name, one.email) for one in gradebook.students}


@pytest.mark.parametrize("text", [TEXT, "\ufeff" + TEXT.replace(",", ";")], ids=["commas", "excel"])
def test_the_list_has_nbgraders_columns(course, text):
    (course / FILE).write_text(text, encoding="utf-8")
    assert roster_of(course) == {"ada": ADA, "ben": Enrolled()}
    assert ADA.name == "Ada Lovelace" and Enrolled(last_name="Ada").name == "Ada"


def test_without_a_list_nobody_is_missing(course):
    (course / FILE).unlink()
    assert roster_of(course) == {}
    enrol(course, {})
    assert not (course / "gradebook.db").exists()
    assert "name" not in next(table_rows(ROWS, "full"))
    assert "handed in nothing" not in as_text(ROWS)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "found nothing"),
        (
            b"name,email\nAda,\n",
            "expected a first line that names a column id. The columns are id, ",
        ),
        (b"name,email\nAda,\n", "Found: name, email"),
        (b"id\n\xff\n", "Save it as CSV in UTF-8"),
    ],
)
def test_a_list_that_cannot_be_read_is_said(course, content, says):
    (course / FILE).write_bytes(content)
    with pytest.raises(CourseError) as stopped:
        roster_of(course)
    assert says in str(stopped.value) and FILE in str(stopped.value)


OTHERS = "ada,Ada,,ada@x.org\n"
MISLEADING = {
    "a quote without an end": ('id,first_name\nada,"Ada\nben,Ben\ncem,Cem\n', "line 2"),
    "an id twice": (
        f"id,first_name,last_name,email\n{OTHERS}ada,,,eve@x.org\n",
        "“ada” again in line 3",
    ),
    "an id in other letters": ("id\nada\nADA\n", "“ada” again in line 3"),
    "an id of other signs": ("id\nj\u00fcrgen\nju\u0308rgen\n", "again in line 3"),
    "a column twice": ("id,email,email\nada,ada@x.org,eve@x.org\n", "one column email"),
    "a comma that nobody quoted": ("id,first_name,email\nada,King, Ada,ada@x.org\n", "in line 2"),
    "an id that is a path": ("id\nada\n../eve\n", "in line 3, found “../eve”"),
    "an id that is a folder above": ("id\n..\n", "in line 2"),
    "an id with what a terminal obeys": ("id\nada\x1b[2J\n", "in line 2, found “ada�[2J”"),
    "an id that turns the line round": ("id\nada\u202e\n", "in line 2"),
    "an id without end": (f"id\n{'x' * 300}\n", "in line 2"),
    "a null": ("id\nada\0\n", "found other bytes"),
    "columns without end": (",".join(f"c{number}" for number in range(9000)), "a column id"),
    "lines without end": ("id\n" + "\n" * 300_000, "found more"),
}


@pytest.mark.parametrize("kind", MISLEADING)
def test_a_list_that_could_name_the_wrong_person_is_refused_with_the_line(course, kind):
    content, says = MISLEADING[kind]
    (course / FILE).write_text(content, encoding="utf-8")
    with pytest.raises(CourseError) as stopped:
        roster_of(course)
    said = str(stopped.value)
    assert says in said and len(said) < 2000 and said.isprintable()


@pytest.mark.parametrize(
    "kind", ["a pipe", "a folder", "a device", "a link to itself", "a lost link"]
)
def test_a_list_that_is_no_file_is_refused_at_once(course, kind):
    path = course / FILE
    path.unlink()
    to = {"a device": "/dev/zero", "a link to itself": path, "a lost link": course / "none.csv"}
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    else:
        path.symlink_to(to[kind])
    with pytest.raises(CourseError, match="found no such file"):
        roster_of(course)


@pytest.mark.parametrize(
    "content",
    [
        "sep=;\nid;first_name;last_name;email\nada;Ada;Lovelace;ada@x.org\nben\n",
        "ID;First Name;last-name;E_mail;Email\nada;Ada;Lovelace;;ada@x.org\nben\n",
        "id\tfirst_name\tlast_name\temail\nada\tAda\tLovelace\tada@x.org\nben\n",
        "id,first_name,last_name,email\nada,Ada,Lovelace,ada@x.org\nada,Ada,Lovelace,ada@x.org\nben\n",
        'id,first_name,last_name,email,note\r\nada,"Ada",Lovelace,ada@x.org,"1\r\n2"\r\nben,,,,\r\n',
    ],
    ids=["excel", "large letters", "tabs", "a row twice", "a cell of two lines"],
)
@pytest.mark.parametrize("mark", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_list_is_read_however_it_was_saved(course, content, mark):
    (course / FILE).write_bytes(content.encode(mark))
    assert roster_of(course) == {"ada": ADA, "ben": Enrolled()}


@pytest.mark.parametrize("end", ["\u2028", "\x0b", "\x0c", "\x1c", "\x85"])
def test_a_name_that_ends_a_line_makes_nobody_else(course, end):
    name = f"Eve{end}ada,Mallory,,eve@x.org"
    (course / FILE).write_text(
        f'id,first_name,last_name,email\n{OTHERS}eve,"{name}"\nzoe,Zoë{end}id\n'
    )
    found = roster_of(course)
    assert [*found] == ["ada", "eve", "zoe"] and found["ada"].email == "ada@x.org"
    assert found["zoe"].name == "Zoë id"


def test_a_name_without_end_is_cut_and_a_list_can_be_a_link(course):
    (course / "list.csv").write_text(f"id,first_name\nada,{'x' * 200_000}\n")
    (course / FILE).unlink()
    (course / FILE).symlink_to(course / "list.csv")
    roster = roster_of(course)
    assert len(roster["ada"].name) == 200
    assert "handed in nothing, 1 of 1" in as_text([], roster)


def test_the_gradebook_learns_names_and_forgets_none(course):
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        gradebook.add_student("ada", email="old@x.org")
        gradebook.add_student("ben", first_name="Ben")
        gradebook.add_student("eve", first_name="Eve")
    for _ in range(2):
        enrol(course, roster_of(course))
    assert in_gradebook(course) == {
        "ada": ("Ada", "Lovelace", "ada@x.org"),
        "ben": ("Ben", None, None),
        "eve": ("Eve", None, None),
    }


def test_who_has_handed_in_nothing_is_named_in_the_tables_and_counted_on_the_page(course):
    roster = {"cem": Enrolled("=Cem"), "ada": ADA, "ben": Enrolled()}
    assert as_text(ROWS, roster).endswith("\n\nhanded in nothing, 2 of 3: =Cem (cem), ben")
    head, *lines = table_rows(ROWS, "full", roster=roster)
    columns = [head.index(name) for name in ("student", "name", "points", "of", "reasons")]
    assert [[line[place] for place in columns] for line in lines] == [
        ["ada", "Ada Lovelace", 2, 3, ""],
        ["cem", "'=Cem", "", 3, "handed in nothing"],
        ["ben", "", "", 3, "handed in nothing"],
    ]
    assert {len(line) for line in lines} == {len(head)}
    page = as_page(ASSIGNMENT, "Assignment 2", ROWS, "full", missing=2)
    assert "2 on the list have handed in nothing" in page and "cem" not in page


def test_whoever_waits_to_be_graded_is_not_missing(course):
    (course / "grading" / ASSIGNMENT).mkdir(parents=True)
    enrol(course, roster_of(course))
    for ungraded, missing in (((), ["ben"]), (("ben", "ada"), [])):
        page, table = write_report(course, ASSIGNMENT, ROWS, "full", ungraded)
        with table.open(encoding="utf-8-sig", newline="") as file:
            lines = list(csv.DictReader(file))
        assert [line["student"] for line in lines if not line["points"]] == missing
        assert lines[0]["name"] == "Ada Lovelace"
        assert ("1 on the list has handed in nothing" in page.read_text("utf-8")) == bool(missing)


def test_a_list_that_cannot_be_read_stops_grading_before_it_begins(course, capsys):
    (course / FILE).write_text("name\n", encoding="utf-8")
    assert main(["grade", ASSIGNMENT, "--course", str(course)]) == 2
    assert "expected a first line that names a column id" in capsys.readouterr().err


def test_the_export_lists_everybody_by_name(course):
    enrol(course, roster_of(course))
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        gradebook.add_assignment(ASSIGNMENT)
        _, *rows = grades(gradebook)
    assert [(row[3], row[4], row[7]) for row in rows] == [("ben", None, 0.0), ("ada", "Lovelace", 0.0)]  # fmt: skip


def test_an_id_in_other_letters_than_its_folder_or_the_gradebook_is_refused(course):
    """Both would be the same person, of whom one has handed in nothing and the other is on no list."""
    (course / "submitted" / "Ada").mkdir(parents=True)
    with pytest.raises(CourseError, match="expected the id “Ada”, as a folder has it, found “ada”"):
        enrol(course, roster_of(course))
    (course / "submitted" / "Ada").rename(course / "submitted" / "ada")
    enrol(course, roster_of(course))
    (course / FILE).write_text(TEXT.replace("ben", "BEN"), encoding="utf-8")
    with pytest.raises(CourseError, match="“ben”, as the gradebook has it, found “BEN”"):
        enrol(course, roster_of(course))
    assert set(in_gradebook(course)) == {"ada", "ben"}


def test_what_a_spreadsheet_has_made_of_an_id_is_refused(course):
    (course / "submitted" / "00123").mkdir(parents=True)
    (course / FILE).write_text("id,email\n123,a@x.org\n", encoding="utf-8")
    with pytest.raises(
        CourseError, match="expected the id “00123”, as a folder has it, found “123”"
    ):
        enrol(course, roster_of(course))
    (course / FILE).write_text("id,email\n123,a@x.org\n00123,b@x.org\n", encoding="utf-8")
    enrol(course, roster_of(course))
    assert set(in_gradebook(course)) == {"123", "00123"}, "where the list has both, they are two"
    (course / FILE).write_text("id,email\n1.23457E+11,a@x.org\n", encoding="utf-8")
    with pytest.raises(
        CourseError, match=r"line 2, found “1\.23457E\+11”, which a spreadsheet makes"
    ):
        roster_of(course)


def test_who_has_handed_in_and_is_not_on_the_list_is_named(course):
    rows = [*ROWS, StudentResult("ada@x.org", 2, 3, {"double": 2.0}, {"double": 3.0})]
    assert as_text(rows, roster_of(course)).endswith(
        "1 of 2: ben\n\n1 not in students.csv: ada@x.org"
    )
    assert "not in students.csv" not in as_text(rows)
