"""`python -m autograder check`: a reader's own notebook, graded without an instructor."""

import dataclasses
import re

import nbformat
import pytest

from assignments import load
from autograder.__main__ import main
from autograder.bank.measure import verdict_on
from autograder.batch.sheets import Sheets
from autograder.checks.rendering import as_text
from autograder.grade import grading
from autograder.grade.self_check import check_notebook
from tests.sample_class import ASSIGNMENT, ROOT, SETTINGS, grade, hand_in, submission

WRITTEN = "a7_dropout_and_layer_norm"
SOLUTION = ROOT / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"


def write(path, student):
    nbformat.write(submission(student), path)
    return path


def test_a_right_notebook_earns_everything(capsys):
    assert main(["check", str(SOLUTION)]) == 0
    assert "10 of 10 points" in capsys.readouterr().out


def test_the_untouched_release_earns_nothing(capsys):
    assert main(["check", str(ROOT / "exercises" / ASSIGNMENT / SOLUTION.name)]) == 1
    printed = capsys.readouterr().out
    assert "0 of 10 points" in printed
    assert printed.count("not answered yet") == 4


def test_what_an_error_of_ours_leaves_undecided_is_said(monkeypatch, capsys):
    def fails(*_, **__):
        raise KeyError("odd")

    monkeypatch.setattr(grading, "decide", fails)
    assert main(["check", str(SOLUTION)]) == 1
    assert capsys.readouterr().out.count(grading.UNDECIDED) == 4
    assert main(["ask", str(SOLUTION)]) == 2
    assert "come after full points" in capsys.readouterr().err


@pytest.mark.long
def test_code_to_be_repaired_is_not_answered_until_it_is_changed(tmp_path, capsys):
    notebook = nbformat.read(ROOT / "exercises" / WRITTEN / f"{WRITTEN}.ipynb", as_version=4)
    [cell] = [cell for cell in notebook.cells if cell.id == "SelfAttentionWithDropoutAndNorm"]
    cell.source = f"# I have read it\n{cell.source}"
    path = tmp_path / f"{WRITTEN}.ipynb"
    nbformat.write(notebook, path)
    assert main(["check", str(path)]) == 1
    printed = capsys.readouterr().out
    assert "0 of 13 points" in printed and printed.count("not answered yet") == 3
    assert "is as it was handed out" in printed
    cell.source = cell.source.replace("features", "6")
    nbformat.write(notebook, path)
    assert main(["check", str(path)]) == 1
    assert capsys.readouterr().out.count("not answered yet") == 2


def test_mistakes_are_named_and_the_file_is_not_changed(tmp_path, capsys):
    path = write(tmp_path / "mine.ipynb", "swapped_query_and_key")
    before = path.read_bytes()
    page = tmp_path / "feedback.html"
    arguments = ["check", str(path), "--assignment", ASSIGNMENT, "--html", str(page)]
    assert main(arguments) == 1
    printed = capsys.readouterr().out
    for name in ("Results in the wrong order", "Query and key swapped", "Invariance tested"):
        assert name in printed
        assert name in page.read_text(encoding="utf-8")
    assert path.read_bytes() == before


@pytest.mark.long
def test_points_that_a_person_gives_are_told(tmp_path, capsys):
    page = tmp_path / "feedback.html"
    solution = ROOT / "solutions" / WRITTEN / f"{WRITTEN}.ipynb"
    assert main(["check", str(solution), "--html", str(page)]) == 0
    printed = capsys.readouterr()
    assert "13 of 13 points that this check can give; 2 more are given by a person" in printed.out
    told = page.read_text(encoding="utf-8")
    assert "13 of 15 points" in told and "In words: four dropout rates" in told
    assert "<math" not in told and "$(1, 0.6, 0.4)$" in told, (
        "an answer's formula is as it was typed"
    )


@pytest.mark.long
def test_it_tells_what_it_is_doing(tmp_path, capsys):
    assert main(["check", str(write(tmp_path / f"{ASSIGNMENT}.ipynb", "right_loops"))]) == 0
    doing = capsys.readouterr().err.splitlines()
    parts = [line for line in doing if line.startswith("deciding")]
    assert parts[1] == "deciding part 2 of 4: basic_self_attention" and len(parts) == 4
    assert doing[0].startswith("running cell 1 of ")


@pytest.mark.long
def test_words_and_points_are_those_of_a_class_that_is_asked_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(
        Sheets, "of", lambda *_: ""
    )  # nor is there a secret, so the cells alone draw
    student, course = "mixed_batch", tmp_path / "course"
    alone = check_notebook(write(tmp_path / f"{ASSIGNMENT}.ipynb", student))
    hand_in(course, {student: submission(student)})
    (course / "grading").mkdir()
    (course / "grading" / "secret").touch()
    grade(course, settings=dataclasses.replace(SETTINGS, feedback=False))
    graded = nbformat.read(course / "autograded" / student / ASSIGNMENT / SOLUTION.name, 4)
    texts = [
        output.data["text/plain"]
        for cell in graded.cells
        if cell.cell_type == "code" and cell.id.startswith("check_")
        for output in cell.outputs
        if output.output_type == "display_data"
    ]
    assert [as_text(verdict) for verdict in alone.report.verdicts.values()] == texts


@pytest.mark.long
def test_the_cells_tell_which_assignment_it_is(tmp_path, capsys):
    assert (
        main(["check", str(write(tmp_path / f"Copy of {ASSIGNMENT} (1).ipynb", "right_loops"))])
        == 0
    )
    assert "10 of 10 points" in capsys.readouterr().out


def test_an_assignment_that_is_not_there_is_said(tmp_path, capsys):
    path = write(tmp_path / "mine.ipynb", "right_loops")
    assert main(["check", str(path), "--assignment", "a99_nonsense"]) == 2
    assert "no assignment 'a99_nonsense'; there are a1_" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("nowhere.ipynb", None, "there is no file"),
        (
            "homework.ipynb",
            '{"cells": []}',
            "name of homework.ipynb nor its .*--assignment.*a2_self_attention",
        ),
        (f"{ASSIGNMENT}.ipynb", "no json", "not JSON"),
    ],
)
def test_what_cannot_be_graded_is_said(tmp_path, capsys, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    assert main(["check", str(path)]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_no_error_looks_like_a_line_of_ours_or_acts_in_a_terminal():
    """An instructor may check a student's notebook, whose errors are told with their texts."""

    def attention_weights(x):
        raise ValueError(
            "no\nattention_weights: 3 of 3 points\r  ✓ 1 of 1  all is right\u2028\x1b[2J"
        )

    part = load(ASSIGNMENT).part("attention_weights")
    first, *lines = as_text(verdict_on(ASSIGNMENT, part, attention_weights)).splitlines()
    assert first == "attention_weights: 0 of 3 points"
    assert "attention_weights: 3 of 3 points   ✓ 1 of 1" in " ".join(lines), "it is told"
    assert not [line for line in lines if line.lstrip().startswith(("✓", "attention_weights"))]
    assert all(line.isprintable() for line in lines)
