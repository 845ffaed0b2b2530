"""A batch that is killed and started again ends as one that was left in peace."""

import contextlib
import copy
import dataclasses
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from unittest.mock import ANY

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from assignments import allowed_modules
from autograder.batch.classroom import grade_class
from autograder.batch.engine import engine_for
from autograder.errors import CourseError
from tests.sample_class import ASSIGNMENT, SETTINGS, grade, hand_in, same_inputs
from tests.sample_class.small import COPIES, STUDENTS, command, outcome, small_class


@pytest.mark.slow
@pytest.mark.parametrize("copies", [COPIES, 250], ids=["a_dozen", "a_thousand"])
def test_a_batch_that_is_killed_again_and_again_ends_like_an_undisturbed_one(tmp_path, copies):
    calm, disturbed = tmp_path / "calm", tmp_path / "disturbed"
    hand_in(calm, small_class(copies))
    hand_in(disturbed, small_class(copies))
    same_inputs(calm, disturbed)
    began = time.monotonic()
    assert subprocess.run(command(calm), capture_output=True, check=False).returncode == 0
    whole = time.monotonic() - began
    chance = random.Random(0)
    for _ in range(5):
        run = subprocess.Popen(
            command(disturbed), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            run.wait(timeout=5 + chance.uniform(0.05, 0.3) * whole)
        except subprocess.TimeoutExpired:
            os.kill(run.pid, signal.SIGKILL)
            run.wait()
    last = subprocess.run(command(disturbed), capture_output=True, check=False)
    assert last.returncode == 0
    assert outcome(disturbed) == outcome(calm)
    scores, _, pages = outcome(calm)
    assert len(pages) == 2 * len(STUDENTS) * copies
    assert len(scores) == len({(student, name) for student, name, *_ in scores})


@pytest.fixture
def again(tmp_path):
    """Grade students of a small class as often as a test likes, in the processes of one engine."""
    course = tmp_path / "course"
    hand_in(course, small_class())
    settings = dataclasses.replace(SETTINGS, feedback=False)
    with engine_for(settings, allowed_modules(ASSIGNMENT)) as engine:

        def grade_again(*students, **changes):
            changed = dataclasses.replace(settings, **changes)
            return grade_class(course, ASSIGNMENT, lambda *_: None, students, changed, engine)

        yield course, grade_again


@pytest.mark.long
def test_what_was_lost_or_spoilt_in_between_is_made_again(again):
    course, grade = again
    students = ["right_loops_0", "scaled_scores_0"]
    first = grade(*students)
    # what is recorded is not read again, and rows are the same
    kept = list((course / "grading" / ASSIGNMENT).glob("*.json"))
    contents = [path.read_bytes() for path in kept]
    for path in kept:
        path.write_bytes(b"unreadable")
    assert grade(*students) == first
    for path, content in zip(kept, contents, strict=True):
        path.write_bytes(content)
    (course / "gradebook.db").unlink()
    assert grade(*students) == first
    shutil.rmtree(course / "autograded" / "right_loops_0")
    assert grade(*students) == first
    assert (course / "autograded" / "right_loops_0").exists()
    # for one day there is no notebook, then the same one again
    path = course / "submitted" / "right_loops_0" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    text = path.read_text(encoding="utf-8")
    path.write_text("gone", encoding="utf-8")
    assert grade("right_loops_0")[0].points == 0
    page = course / "feedback" / "right_loops_0" / ASSIGNMENT / f"{ASSIGNMENT}.html"
    assert "could not be graded" in page.read_text(encoding="utf-8")
    in_its_place = course / "autograded" / "right_loops_0" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    assert "could not be run" in in_its_place.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    assert grade("right_loops_0") == first[:1]
    # what a person or another program has entered for the grader gives way when asked
    with contextlib.closing(sqlite3.connect(course / "gradebook.db")) as gradebook:
        gradebook.execute("update grade set auto_score = 0")
        gradebook.commit()
    expected = [dataclasses.replace(first[0], seconds=ANY)]
    assert grade("right_loops_0", again=True) == expected


@pytest.mark.long
def test_ctrl_c_stops_at_once_and_the_next_start_goes_on(tmp_path):
    course = tmp_path / "course"
    notebooks = small_class()
    hand_in(course, notebooks)
    # the last one takes so long that no run is over before it is stopped
    last = course / "submitted" / max(notebooks) / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    slow = copy.deepcopy(notebooks[max(notebooks)])
    slow.cells.append(new_code_cell("import time; time.sleep(1000)", id="slow"))
    nbformat.write(slow, last)
    # what a shell starts in the background ignores Ctrl-C, and so would what it starts itself
    run = subprocess.Popen(
        ["env", "--default-signal=INT", *command(course), "--clock-per-cell=900", "--seconds=900"],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    while not list(course.glob("autograded/*")) and run.poll() is None:
        time.sleep(0.1)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=300)  # long before the cell has slept
    assert run.returncode == 130
    assert said.decode().strip() == "stopped; what is graded is kept, and the same command goes on"
    nbformat.write(notebooks[max(notebooks)], last)
    assert subprocess.run(command(course), capture_output=True, check=False).returncode == 0
    assert len(list(course.glob("feedback/*"))) == len(STUDENTS) * COPIES


def test_only_one_run_at_a_time(tmp_path):
    hand_in(tmp_path / "course", small_class())
    lock = tmp_path / "course" / "grading" / ASSIGNMENT
    lock.mkdir(parents=True)
    holder = subprocess.Popen(
        [
            sys.executable, "-c",
            (
                f"import filelock, time; lock = filelock.FileLock({str(lock / 'lock')!r});"
                "lock.acquire(); print('held', flush=True); time.sleep(60)"
            ),
        ],
        stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(CourseError, match="another process is grading"):
            grade(tmp_path / "course")
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
