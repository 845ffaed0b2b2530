"""A whole class through nbgrader: every score, every named mistake, nothing lost."""

import csv
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from tests.sample_class import (
    ASSIGNMENT,
    ROOT,
    SUBMISSIONS,
    filled_in,
    grade,
    hand_in,
    submission,
    whole_class,
)

PARTS = (
    "attention_weights",
    "basic_self_attention",
    "self_attention",
    "is_permutation_equivariant",
)


@dataclass
class Expected:
    """Points by part, and sentences that must stand in the table and on the feedback page."""

    points: tuple[float, float, float, float]
    named: list[str] = field(default_factory=list)


CLASS = {
    "right_matrices": Expected((3, 2, 3, 2)),
    "right_loops": Expected((3, 2, 3, 2)),
    "right_einsum": Expected((3, 2, 3, 2)),
    "softmax_over_columns": Expected((2, 2, 3, 2), ["softmax over the columns"]),
    "scaled_scores": Expected((2, 1, 2, 2), ["scaled although unscaled was asked"]),
    "swapped_query_and_key": Expected(
        (3, 1, 2, 1),
        [
            "results in the wrong order",
            "query and key swapped",
            "invariance tested, not equivariance",
        ],
    ),
    "key_used_as_value": Expected((3, 2, 2, 1), ["key used as value", "exact equality"]),
    "mixed_batch": Expected(
        (2, 1, 2, 1),
        [
            "softmax over the columns",
            "context vectors written over the words",
            "sentences of a batch mixed",
            "tensor returned for a bool",
        ],
    ),
    "half_finished": Expected((3, 1, 0, 0), ["z returned without the weights", "not answered yet"]),
    "library_answer": Expected(
        (3, 1, 0, 1),
        [
            "torch.nn.functional.scaled_dot_product_attention",
            "permutation undone in the wrong direction",
        ],
    ),
    "syntax_error": Expected((0, 2, 3, 2), ["typing error"]),
    "endless_loop": Expected(
        (3, 2, 0, 2), ["no answer within 5 seconds of processor time; ours takes less than 0.1"]
    ),
    "deleted_cells": Expected((3, 2, 3, 2)),
    "edited_tests": Expected((0, 1, 0, 0), ["put right"]),
    "not_json": Expected((0, 0, 0, 0), ["not JSON"]),
}


def feedback(course, student):
    page = course / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html"
    return page.read_text(encoding="utf-8")


def test_every_submission_has_a_row_and_an_expectation(rows):
    assert set(rows) == set(CLASS) == {path.stem for path in SUBMISSIONS.glob("*.py")}


@pytest.mark.parametrize("student", CLASS)
def test_points_are_fair(rows, student):
    expected, row = CLASS[student].points, rows[student]
    assert row.points == sum(expected)
    assert row.of == 10
    if not row.failed:
        assert tuple(row.parts[part] for part in PARTS) == expected


@pytest.mark.parametrize("student", CLASS)
def test_the_gradebook_holds_the_same_points(course, rows, student):
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        submission = gradebook.find_submission(ASSIGNMENT, student)
        assert submission.score == rows[student].points
        assert submission.max_score == 10
        assert submission.needs_manual_grade == (student == "not_json")


@pytest.mark.parametrize("student", CLASS)
def test_the_reasons_are_given(course, rows, student):
    reasons = "\n".join(rows[student].reasons)
    for name in CLASS[student].named:
        assert name in reasons
        if student != "not_json" and name != "put right":
            page = feedback(course, student)
            assert name in page or name[0].upper() + name[1:] in page
    if student.startswith("right_"):
        assert reasons == ""


def test_what_was_put_back_is_said(rows):
    assert "check_attention_weights" in "\n".join(rows["deleted_cells"].reasons)


def test_feedback_shows_steps_and_the_case_on_which_they_failed(course, rows):
    page = feedback(course, "softmax_over_columns")
    assert "the weights are exact, whatever the length and width" in page
    assert "on a sentence of T=5 words, D=3: " in page
    assert "Read again" in page


def set_by_hand(course, student, score):
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        grade = gradebook.find_grade("check_self_attention", ASSIGNMENT, ASSIGNMENT, student)
        grade.manual_score = score
        gradebook.db.commit()


def test_grading_again_changes_nothing_but_keeps_a_score_entered_by_hand(course, rows):
    students = ["key_used_as_value", "right_loops"]
    set_by_hand(course, "key_used_as_value", 2.5)
    changed, same = grade(course, students)
    set_by_hand(course, "key_used_as_value", None)
    assert same == rows["right_loops"]
    assert changed.parts["self_attention"] == 2.5
    before = rows["key_used_as_value"]
    assert changed.points == before.points - before.parts["self_attention"] + 2.5


def test_an_unknown_student_is_named_with_those_there_are(course, rows, capsys):
    assert main(["grade", ASSIGNMENT, "--course", str(course), "--student", "nobody"]) == 2
    said = capsys.readouterr().err
    assert "no submission of 'nobody'" in said
    assert "right_loops" in said


def nbgrader(course, *arguments):
    command = [sys.executable, "-m", "nbgrader", *arguments]
    return subprocess.run(command, cwd=course, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_stock_commands_work_on_the_same_folders(course, rows):
    for student in ("softmax_over_columns", "right_loops"):
        options = ("--assignment", ASSIGNMENT, "--student", student, "--force")
        done = nbgrader(course, "autograde", *options)
        assert done.returncode == 0, done.stderr
        with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
            assert gradebook.find_submission(ASSIGNMENT, student).score == rows[student].points
    done = nbgrader(course, "generate_feedback", "--assignment", ASSIGNMENT, "--force")
    assert done.returncode == 0, done.stderr
    done = nbgrader(course, "export")
    assert done.returncode == 0, done.stderr
    with (course / "grades.csv").open() as table:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(table)}
    assert scores == {student: sum(CLASS[student].points) for student in CLASS}


@pytest.mark.long
@pytest.mark.parametrize(
    ("student", "passes"), [("right_loops", True), ("key_used_as_value", False)]
)
def test_validate_says_the_truth(tmp_path, student, passes):
    nbformat.write(submission(student), tmp_path / "answer.ipynb")
    done = nbgrader(tmp_path, "validate", "answer.ipynb")
    assert done.returncode == 0, done.stderr
    assert ("Success! Your notebook passes all the tests." in done.stdout) is passes
    assert ("AssertionError: self_attention: " in done.stdout) is not passes


@pytest.mark.long
def test_validate_of_the_untouched_release_says_that_answers_are_missing(tmp_path):
    """With the course's settings, as students have them; alone, nbgrader knows of errors only, and there is none."""
    nbformat.write(filled_in({}), tmp_path / f"{ASSIGNMENT}.ipynb")
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    done = nbgrader(tmp_path, "validate", f"{ASSIGNMENT}.ipynb")
    assert done.stdout.count("This part is not answered yet.") == 4


def test_an_unknown_assignment_is_named_with_those_there_are(course, capsys):
    assert main(["grade", "a99_nonsense", "--course", str(course)]) == 2
    said = capsys.readouterr().err
    assert "no assignment 'a99_nonsense'" in said
    assert ASSIGNMENT in said


@pytest.mark.long
def test_an_empty_class_is_said_to_be_empty(tmp_path, capsys):
    hand_in(tmp_path / "course", whole_class())
    for folder in (tmp_path / "course" / "submitted").iterdir():
        folder.rename(tmp_path / folder.name)
    assert main(["grade", ASSIGNMENT, "--course", str(tmp_path / "course")]) == 2
    assert "nothing to grade" in capsys.readouterr().err
    assert main(["grade", ASSIGNMENT, "--course", str(tmp_path / "elsewhere")]) == 2
    assert "no nbgrader_config.py" in capsys.readouterr().err
