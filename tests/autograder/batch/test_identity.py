"""A student hands in again while the class is graded: what was read is what is graded and recorded."""

import dataclasses
import shutil
from concurrent.futures import Future

import nbformat
import pytest
from nbgrader.api import Gradebook

from assignments import allowed_modules
from autograder.batch.classroom import grade_and_compare
from autograder.batch.engine import engine_for
from tests.sample_class import ASSIGNMENT, SETTINGS, hand_in, submission

FIRST, SECOND = "half_finished", "right_loops"
HOW = dataclasses.replace(SETTINGS, feedback=False, collected_times=True)


def put(course, answers, when, note):
    """What one student hands in: a notebook, a file beside it, and nbgrader's note of the time."""
    folder = course / "submitted" / "ada" / ASSIGNMENT
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    nbformat.write(submission(answers), folder / f"{ASSIGNMENT}.ipynb")
    (folder / "note.txt").write_text(note, encoding="utf-8")
    (folder / "timestamp.txt").write_text(f"{when} UTC", encoding="ascii")


class HandsInMeanwhile:
    """An engine beside which a student hands in again: all is read, and nothing is recorded yet."""

    def __init__(self, engine, act):
        self.engine, self.act = engine, act

    def at_once(self):
        return self.engine.at_once()

    def submit(self, job, seconds):
        told = Future()

        def tell(graded):
            self.act()
            told.set_result(graded.result())

        self.engine.submit(job, seconds).add_done_callback(tell)
        return told

    def close(self):
        self.engine.close()


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Version 1 is read and graded, version 2 arrives before it is recorded, and there is a second run."""
    course = tmp_path_factory.mktemp("class") / "course"
    hand_in(course, {})
    put(course, FIRST, "2026-01-01 10:00:00", "one")

    def grade(engine):
        return grade_and_compare(course, ASSIGNMENT, lambda *_: None, (), HOW, engine)

    def by_hand():
        with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
            (grade_of_one,) = [
                one
                for one in gradebook.find_submission_notebook(ASSIGNMENT, ASSIGNMENT, "ada").grades
                if one.name == "check_attention_weights"
            ]
            grade_of_one.manual_score = 1.5
            grade_of_one.needs_manual_grade = False
            gradebook.db.commit()

    with engine_for(HOW, allowed_modules(ASSIGNMENT)) as engine:
        arrives = HandsInMeanwhile(
            engine, lambda: put(course, SECOND, "2026-01-02 11:00:00", "two")
        )
        first = grade(arrives)
        beside = (course / "autograded/ada" / ASSIGNMENT / "note.txt").read_text(encoding="utf-8")
        by_hand()
        second = grade(engine)
    return first, beside, second


def test_the_first_run_records_the_first_version_whole(graded):
    first, beside, _ = graded
    (row,) = first.rows
    assert row.parts["basic_self_attention"] < row.possible["basic_self_attention"]
    assert beside == "one"
    assert f"{row.came_in:%d %H}" == "01 10"


def test_the_second_version_is_graded_at_the_next_run_as_work_that_came_in_again(graded):
    *_, second = graded
    (row,) = second.rows
    assert row.parts["basic_self_attention"] == row.possible["basic_self_attention"]
    assert f"{row.came_in:%d %H}" == "02 11"
    (change,) = second.changes.students
    assert all("handed in again" in reason for reason in change.reasons)


def test_what_a_person_gave_for_the_first_is_to_be_seen_again(graded):
    *_, second = graded
    (row,) = second.rows
    assert row.needs_person
    assert any("attention_weights" in reason for reason in row.reasons)
