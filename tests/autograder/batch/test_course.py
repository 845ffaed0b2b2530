"""A course has a secret of its own, and its gradebook can be asked for scores."""

import subprocess
import sys
from pathlib import Path

import pytest

from assignments import load
from autograder.batch.classroom import _submitted, misplaced
from autograder.batch.command import _lost_in_words
from autograder.batch.course import course_secret, scores_in
from autograder.checks.decide import decide, seed_of
from autograder.errors import CourseError
from autograder.probe.messages import Questions
from autograder.probe.wire import decode, encode
from tests.sample_class import ASSIGNMENT, new_course

MAKE = "import sys, pathlib, autograder.batch.course as c; print(c.course_secret(pathlib.Path(sys.argv[1])))"


def test_a_secret_is_made_once_and_stays(tmp_path):
    secret = course_secret(tmp_path)
    assert len(secret) == 32 and set(secret) <= set("0123456789abcdef")
    assert course_secret(tmp_path) == secret
    assert (tmp_path / "grading" / "secret").read_text() == secret
    assert [path.name for path in (tmp_path / "grading").iterdir()] == ["secret"]


def test_two_courses_have_two_secrets(tmp_path):
    assert course_secret(tmp_path / "one") != course_secret(tmp_path / "two")


def test_processes_that_make_it_at_the_same_time_agree(tmp_path):
    running = [
        subprocess.Popen([sys.executable, "-c", MAKE, str(tmp_path)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    said = {process.communicate()[0] for process in running}
    assert said == {f"{course_secret(tmp_path)}\n".encode()}


def test_who_made_it_a_moment_earlier_wins(tmp_path, monkeypatch):
    """The other process's file appears after this one has looked for it."""
    path = tmp_path / "grading" / "secret"

    def token(length):
        path.write_text("theirs")
        return "ours"

    monkeypatch.setattr("autograder.batch.course.secrets.token_hex", token)
    assert course_secret(tmp_path) == "theirs"


@pytest.mark.parametrize(
    ("place", "found"),
    [
        (f"ada/{ASSIGNMENT.upper()}/x.ipynb", f"such as submitted/ada/{ASSIGNMENT.upper()}."),
        (f"ada/{ASSIGNMENT}.ipynb", f"such as submitted/ada/{ASSIGNMENT}.ipynb."),
        ("ada/a2/x.ipynb", "such as submitted/ada/a2."),
        (f"{ASSIGNMENT}/ada/x.ipynb", f"such as submitted/{ASSIGNMENT}/ada/x.ipynb."),
        ("x.zip", "found nothing."),
    ],
)
def test_where_nothing_can_be_graded_it_is_said_what_lies_there(
    tmp_path, monkeypatch, place, found
):
    new_course(tmp_path)
    monkeypatch.chdir(tmp_path)
    path = Path("submitted", place)
    path.parent.mkdir(parents=True)
    path.touch()
    with pytest.raises(CourseError) as stopped:
        _submitted(Path(), ASSIGNMENT)
    said = str(stopped.value)
    assert f"no folder matches submitted/STUDENT/{ASSIGNMENT}, " in said and found in said


def test_work_in_a_folder_of_another_name_is_not_taken_for_nothing(tmp_path):
    new_course(tmp_path)
    for name in (f"ada/{ASSIGNMENT}", "ben/a2", "cem/notes", "dee/a4_masks", f"eve/.{ASSIGNMENT}"):
        (tmp_path / "submitted" / name).mkdir(parents=True)
    assert misplaced(tmp_path, ASSIGNMENT) == [tmp_path / "submitted/ben/a2"]


def test_one_folder_or_several_of_another_name_are_told_in_whole_sentences():
    one, two = (_lost_in_words(lost, "a2") for lost in (["x"], ["x", "y"]))
    assert one == "1 not graded, since its folder is not called a2: x"
    assert two == "2 not graded, since their folders are not called a2: x, y"


def inputs(secret):
    """What the probe is sent for a submission, in a course with this secret."""
    sent = []

    def probe(message):
        sent.extend(decode(message, Questions).requests)
        return encode([])

    assignment = load(ASSIGNMENT)
    decide(assignment, assignment.parts[0], probe, ["x = 1"], seed=seed_of("a2", ["x = 1"], secret))
    return [request.arguments[0].tolist() for request in sent]


def test_inputs_can_be_foretold_by_who_knows_the_secret_alone():
    assert inputs("one") == inputs("one")
    assert inputs("one") != inputs("two")
    assert inputs("one") != inputs("")
    assert seed_of("a2", ["x"], "one") != seed_of("a2", ["x"])


def test_scores_are_sorted_and_each_stands_there_once(course, rows):
    scores = scores_in(course)
    assert scores == sorted(scores)
    assert len({(student, cell) for student, cell, _ in scores}) == len(scores)
    for student, row in rows.items():
        assert sum(points for who, _, points in scores if who == student) == row.points
