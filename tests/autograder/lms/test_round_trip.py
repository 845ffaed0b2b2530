"""From a platform and back with the grader in between: handed in there, graded here, scored there."""

import nbformat
import pytest

from autograder.__main__ import main
from tests.autograder.lms import (
    CanvasImport,
    archive,
    canvas_export,
    course_with,
    lms,
    worksheet,
    written,
)
from tests.sample_class import ASSIGNMENT, ISOLATION, new_course, submission

NOTEBOOK = f"{ASSIGNMENT}.ipynb"


@pytest.mark.long
def test_what_is_handed_in_on_canvas_is_graded_and_its_score_goes_back(tmp_path, capsys):
    course, table = tmp_path / "course", tmp_path / "gradebook.csv"
    new_course(course)
    people = [
        ["Ångström, Anna", 101, "s001", "anna@example.org", "S1", None],
        ["Li, Wei", 102, "s002", "wei@example.org", "S1", "10.00"],
    ]
    table.write_text(written(canvas_export(people)), encoding="utf-8")
    files = {
        f"ångströmanna_101_5001_{NOTEBOOK}": "the first attempt, which is no notebook",
        f"ångströmanna_101_5002_{ASSIGNMENT}-1.ipynb": nbformat.writes(submission("right_loops")),
        "liwei_LATE_102_5003_mine.ipynb": nbformat.writes(submission("softmax_over_columns")),
    }
    packed = archive(tmp_path / "submissions.zip", files)
    assert lms(course, "unpack", packed, "--students", table, "--by", "sis") == 0
    flags = ["--isolation", ISOLATION, "--jobs", "2", "--course", str(course)]
    assert main(["grade", ASSIGNMENT, *flags]) == 0
    assert lms(course, "scores", table, "--by", "sis", "--column", "11001") == 0
    after = CanvasImport((course / "grading" / ASSIGNMENT / "scores_gradebook.csv").read_bytes())
    assert (after.scores[101][11001], after.scores[102][11001]) == ("10.00", "9.00")
    assert lms(course, "feedback", "--like", packed, "--students", table, "--by", "sis") == 0
    assert "2 pages for Canvas" in capsys.readouterr().out

    # before anybody hands in again, the class is graded as it was
    assert lms(course, "unpack", packed, "--students", table) == 0
    assert "0 new, 0 replaced by a later attempt, 2 here already" in capsys.readouterr().out


def test_a_score_without_end_is_not_sent_and_keeps_nobody_elses_back(tmp_path, capsys):
    course = course_with(tmp_path / "course", {"s001": float("inf"), "s002": 3})
    table = tmp_path / "t.csv"
    table.write_text("Id,Score\ns001,\ns002,\n")
    assert lms(course, "scores", table, "--by", "Id", "--column", "Score", "--points", "10") == 1
    sent = course / "grading" / ASSIGNMENT / "scores_t.csv"
    assert sent.read_text() == "Id,Score\ns001,\ns002,3.00\n"
    assert "s001 (the gradebook holds a score without end: empty)" in capsys.readouterr().out


@pytest.mark.parametrize("most", ["9" * 400, "\x1b[2J"], ids=["without end", "a terminal's order"])
def test_a_maximum_that_is_none_is_said(tmp_path, capsys, most):
    course = course_with(tmp_path / "course", {"s001": 1})
    table = tmp_path / "worksheet.csv"
    table.write_text(written(worksheet([[501, "A", "s001", "a@x.org", "Submitted", ""]], most)))
    assert lms(course, "scores", table, "--by", "id", "--scale") == 2
    said = capsys.readouterr().err
    assert "expected one maximum grade" in said and "\x1b" not in said
