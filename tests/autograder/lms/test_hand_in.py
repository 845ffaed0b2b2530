"""One file, as it comes by e-mail, goes in by one command with its student and its time."""

from datetime import datetime

import nbformat
import pytest

from autograder.__main__ import main
from autograder.batch.came_in import Times
from tests.sample_class import ASSIGNMENT, ROOT, new_course, submission

AT = "2026-03-05T10:00+01:00"
NINE = datetime(2026, 3, 5, 9)
OTHER = "a5_multi_head_attention"


@pytest.fixture
def course(tmp_path):
    folder = tmp_path / "course"
    new_course(folder)
    (folder / "students.csv").write_text("id\nada\nbo\n", encoding="utf-8")
    return folder


@pytest.fixture
def mailed(tmp_path):
    """A notebook under a name that says nothing."""
    path = tmp_path / "final (2).ipynb"
    path.write_text(nbformat.writes(submission("right_loops")), encoding="utf-8")
    return path


def hand_in(course, file, *words, student="ada", at=AT):
    words = ["hand-in", str(file), "--student", student, "--at", at, *words]
    return main([*words, "--course", str(course)])


def place(course, student="ada"):
    return course / "submitted" / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"


def test_a_file_goes_where_its_cells_belong_with_its_time(course, mailed, capsys):
    assert hand_in(course, mailed) == 0
    assert place(course).read_bytes() == mailed.read_bytes()
    assert Times(course, ASSIGNMENT).get("ada") == NINE
    assert "came in 2026-03-05 09:00 UTC" in capsys.readouterr().out


def test_what_was_there_is_kept_aside(course, mailed, capsys):
    assert hand_in(course, mailed) == 0
    before = mailed.read_bytes()
    mailed.write_text(nbformat.writes(submission("mixed_batch")), encoding="utf-8")
    assert hand_in(course, mailed) == 0
    assert place(course).read_bytes() == mailed.read_bytes()
    [kept] = (course / "grading" / ASSIGNMENT / "earlier" / "ada").glob("*/*.ipynb")
    assert kept.read_bytes() == before and str(kept.parent) in capsys.readouterr().out


def test_of_a_file_that_is_there_it_sets_the_time_and_nothing_else(course, mailed):
    assert hand_in(course, mailed) == 0
    beside = place(course).with_name("data.csv")
    beside.write_text("1,2\n")
    assert hand_in(course, place(course), at="2026-03-06 08:00 UTC") == 0
    assert beside.exists() and Times(course, ASSIGNMENT).get("ada") == datetime(2026, 3, 6, 8)


def test_what_is_no_notebook_goes_by_its_name(course, tmp_path):
    file = tmp_path / f"{ASSIGNMENT} (1).ipynb"
    file.write_text('{"cells": [')
    assert hand_in(course, file) == 0
    assert place(course).read_text() == '{"cells": ['


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"student": "adda"}, "Did you mean ada?"),
        ({"student": "../ada"}, "expected a student's id"),
        ({"at": "05/03/2026 10:00"}, "expected a time that is over"),
        ({"at": "2999-01-01 10:00 UTC"}, "expected a time that is over"),
    ],
)
def test_what_cannot_be_is_refused(course, mailed, capsys, words, said):
    assert hand_in(course, mailed, **words) == 2
    assert said in capsys.readouterr().err
    assert not (course / "submitted").exists()


def test_an_assignment_that_cannot_be_told_is_asked_for(course, tmp_path, capsys):
    file = tmp_path / "notes.ipynb"
    file.write_text("{}")
    assert hand_in(course, file) == 2
    assert "--assignment" in capsys.readouterr().err
    other = ROOT / "exercises" / OTHER / f"{OTHER}.ipynb"
    assert hand_in(course, other) == 2, "the course does not have it"
    assert hand_in(course, file, "--assignment", ASSIGNMENT) == 0
