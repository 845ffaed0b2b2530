"""Graders see no names: not in paths, not in the gradebook's file; and what they give comes back."""

import contextlib
import csv
import shutil
import sqlite3
import warnings
from pathlib import Path

import nbgrader
import pytest
from nbgrader.api import Gradebook

from assignments import allowed_modules
from autograder.__main__ import main
from autograder.batch.anonymous import pseudonym
from autograder.batch.engine import engine_for
from tests.autograder.batch.living import Living
from tests.sample_class import ASSIGNMENT, SETTINGS

pytestmark = pytest.mark.long

STUDENTS = ("adalovelace", "bobmoog")


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    with engine_for(SETTINGS, allowed_modules(ASSIGNMENT)) as engine:
        course = Living(tmp_path_factory.mktemp("blind") / "course", engine)
        course.hand_in("adalovelace", "right_loops", why="I, Lovelace, say so.")
        course.hand_in("bobmoog", "right_einsum")
        course.grade()
    with course.gradebook() as gradebook, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbgrader's own, of SQLAlchemy
        gradebook.update_or_create_student("adalovelace", first_name="Ada", last_name="Lovelace", email="ada@example.org")  # fmt: skip
        gradebook.update_or_create_student("onlyelsewhere", last_name="Elsewhere")
        gradebook.update_or_create_assignment("a1_other")
        gradebook.add_submission("a1_other", "onlyelsewhere")
    return course


@pytest.fixture
def course(graded, tmp_path):
    shutil.copytree(graded.folder, tmp_path / "course")
    return Living(tmp_path / "course", None)


def anonymous(course, *flags):
    where = str(course.folder.parent / "graders")
    return main(["anonymous", ASSIGNMENT, where, "--course", str(course.folder), *flags])


def names_of(course):
    with (course.folder / "grading" / "pseudonyms.csv").open(encoding="utf-8-sig") as file:
        return {row["student"]: row["pseudonym"] for row in csv.DictReader(file)}


def give(folder, student, score, comment=None):
    """What the formgrader writes when a grader gives a score."""
    with Gradebook(f"sqlite:///{folder}/gradebook.db", "attention") as gradebook:
        grade = gradebook.find_grade("why", ASSIGNMENT, ASSIGNMENT, student)
        grade.manual_score, grade.needs_manual_grade = score, False
        gradebook.find_comment("why", ASSIGNMENT, ASSIGNMENT, student).manual_comment = comment
        gradebook.db.commit()


def test_no_name_is_left_in_the_graders_folder(course, capsys):
    assert anonymous(course) == 0
    said = capsys.readouterr().out
    assert "Their own id, name or address stands in the work of: adalovelace" in said
    names, folder = names_of(course), course.folder.parent / "graders"
    assert set(names) == set(STUDENTS)
    assert names["bobmoog"].startswith("student-") and len(set(names.values())) == 2
    assert sorted(path.name for path in (folder / "autograded").iterdir()) == sorted(names.values())
    for path in folder.rglob("*"):
        assert not any(student in str(path.relative_to(folder)) for student in STUDENTS)
    held = (folder / "gradebook.db").read_bytes()
    for word in (*STUDENTS, "Lovelace", "ada@example.org", "onlyelsewhere"):
        assert word.encode() not in held
    assert not (folder / "grading").exists() and not (folder / "submitted").exists()
    assert anonymous(course) == 2 and "is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("plan of Bob Møøg.txt", ""),
        ("mail.txt", "From: Robert <R.M@EXAMPLE.org>"),
        ("notes.json", '{"by": "M\\u00f8\\u00f8g"}'),
        ("notes.txt", "MØØG wrote this"),
    ],
    ids=["a file's name", "an address", "as JSON writes it", "in large letters"],
)
def test_a_name_is_found_wherever_it_stands(course, capsys, file, content):
    with course.gradebook() as gradebook, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbgrader's own, of SQLAlchemy
        gradebook.update_or_create_student("bobmoog", last_name="Møøg", email="r.m@example.org")
    beside = course.folder / "autograded" / "bobmoog" / ASSIGNMENT / file
    beside.write_text(content, encoding="utf-8")
    assert anonymous(course) == 0
    assert "in the work of: adalovelace, bobmoog" in capsys.readouterr().out


def test_who_is_who_is_read_also_where_somebody_has_put_a_line_into_it(course):
    place = course.folder / "grading" / "pseudonyms.csv"
    place.write_text("student;pseudonym\nsomebody\nother;student-x\n", encoding="utf-8")
    assert anonymous(course) == 0
    assert names_of(course)["other"] == "student-x"


def test_what_graders_give_is_taken_back_once_and_nothing_else(course, capsys):
    anonymous(course)
    folder, names = course.folder.parent / "graders", names_of(course)
    give(folder, names["adalovelace"], 2.0, "Well said.")
    give(folder, names["bobmoog"], 0.5)
    give(course.folder, "bobmoog", 1.0)  # meanwhile, by somebody who knows the name
    capsys.readouterr()
    assert anonymous(course, "--take-back") == 1
    said = capsys.readouterr().out
    assert "2 entries taken into the gradebook" in said
    assert f"{names['bobmoog']}, why: the gradebook has got another entry since (manual score 0.5)" in said  # fmt: skip
    assert course.marks("adalovelace")["why"] == (2, 2, False)
    assert course.marks("bobmoog")["why"] == (1, 2, False)
    with course.gradebook() as gradebook:
        comment = gradebook.find_comment("why", ASSIGNMENT, ASSIGNMENT, "adalovelace")
        assert comment.manual_comment == "Well said."
    assert anonymous(course, "--take-back") == 1
    assert "0 entries taken" in capsys.readouterr().out


def test_a_cell_that_is_gone_is_said(course, capsys):
    anonymous(course)
    give(course.folder.parent / "graders", names_of(course)["bobmoog"], 1.5)
    with (
        contextlib.closing(sqlite3.connect(course.folder / "gradebook.db")) as gradebook,
        gradebook,
    ):
        gradebook.execute("delete from grade where cell_id in (select id from base_cell where name = 'why')")  # fmt: skip
    assert anonymous(course, "--take-back") == 1
    assert "why: the cell is gone (manual score 1.5)" in capsys.readouterr().out


def test_a_folder_that_is_no_graders_is_refused(course, capsys):
    folder = course.folder.parent / "graders"
    assert anonymous(course, "--take-back") == 2
    shutil.copytree(course.folder, folder)
    assert anonymous(course, "--take-back") == 2
    said = capsys.readouterr().err
    assert "there is no gradebook in" in said and "was not made by" in said


def test_a_pseudonym_stays_and_depends_on_the_secret():
    assert pseudonym("one", "ada") == pseudonym("one", "ada") != pseudonym("one", "bob")
    assert pseudonym("one", "ada") != pseudonym("two", "ada")


def test_the_formgrader_hides_names_no_better_than_the_guide_says():
    """nbgrader's own pages: a click shows the name, and the path in the link has the id all the while."""
    pages = Path(nbgrader.__file__).parent / "server_extensions" / "formgrader"
    listed = (pages / "static" / "js" / "gradebook_notebook_submissions.js").read_text()
    assert 'addClass("name-hidden")' in listed and 'this.model.get("student")' in listed
    form = (pages / "templates" / "formgrade" / "formgrade_macros.html.j2").read_text()
    assert "{{ resources.student }}" in form and "{{ resources.notebook_path }}" in form
    everybody = (pages / "static" / "js" / "manage_submissions.js").read_text()
    assert "name-hidden" not in everybody and "student-name" in everybody


def test_who_is_who_is_no_formula_and_is_known_again(course):
    with course.gradebook() as gradebook, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbgrader's own, of SQLAlchemy
        gradebook.add_student("+1+1")
        gradebook.add_submission(ASSIGNMENT, "+1+1")
    for _ in range(2):
        assert anonymous(course) == 0
        shutil.rmtree(course.folder.parent / "graders")
        assert sorted(names_of(course)) == ["'+1+1", *STUDENTS]
