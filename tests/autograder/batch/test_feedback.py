"""The same feedback page, whoever asks nbgrader for it."""

import subprocess
import sys

import pytest
from nbgrader.api import Gradebook

from autograder.batch.course import open_course
from tests.sample_class import ASSIGNMENT, SETTINGS, grade, hand_in, submission

STUDENT = "softmax_over_columns"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = tmp_path_factory.mktemp("feedback") / "course"
    hand_in(course, {STUDENT: submission(STUDENT), "not_json": submission("not_json")})
    grade(course, settings=SETTINGS)
    return course


def page_of(course, student=STUDENT):
    return course / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html"


def by_command(course):
    command = [sys.executable, "-m", "nbgrader", "generate_feedback", "--assignment", ASSIGNMENT]
    subprocess.run([*command, "--force"], cwd=course, check=True, capture_output=True)


def by_formgrader(course):
    assert open_course(course).generate_feedback(ASSIGNMENT, STUDENT)["success"]


@pytest.mark.long
@pytest.mark.parametrize("ask", [by_command, by_formgrader])
def test_the_command_and_the_formgrader_write_the_page_of_a_batch(course, ask):
    page = page_of(course)
    text = page.read_text(encoding="utf-8")
    assert "Assignment 2: self-attention without parameters" in text and "<caption" in text
    page.write_text("something else")
    ask(course)
    assert page.read_text(encoding="utf-8") == text


def test_a_grade_and_a_comment_of_a_person_reach_the_page(course):
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        given = gradebook.find_grade("check_attention_weights", ASSIGNMENT, ASSIGNMENT, STUDENT)
        given.manual_score, given.extra_credit = 2.5, 0.25
        comment = gradebook.find_comment("attention_weights", ASSIGNMENT, ASSIGNMENT, STUDENT)
        comment.manual_comment = "Which axis are the words on?"
        gradebook.db.commit()
    by_formgrader(course)
    text = page_of(course).read_text(encoding="utf-8")
    assert "2.75 of 3 points" in text and "0.25 of them on top" in text
    assert text.index("Which axis are the words on?") < text.index("<section")


def test_the_page_of_a_file_that_cannot_be_read_speaks_of_the_assignment(course):
    text = page_of(course, "not_json").read_text(encoding="utf-8")
    assert "<title>Assignment 2: self-attention without parameters</title>" in text
    assert "0 of 10 points so far" in text and "Nothing is\nlost" in text
