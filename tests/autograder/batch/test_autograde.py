"""nbgrader's own command grades as a batch does: the same points and words, behind the same sandbox."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from autograder.batch.course import course_secret, scores_in
from autograder.sandbox import bubblewrap
from tests.sample_class import ASSIGNMENT, ISOLATION, grade, hand_in, submission
from tests.sample_class.small import without_the_time

pytestmark = pytest.mark.long
needs_walls = pytest.mark.skipif(ISOLATION != bubblewrap.FULL, reason=bubblewrap.missing())
SPIES = """
from pathlib import Path
for place in ({course!r}, "..", "../../..", "/"):
    for path in ("grading/secret", "solutions", "gradebook.db", "submitted"):
        print(path, Path(place, path).exists())
"""


def looking_around(course):
    notebook = submission("right_loops")
    notebook.cells.insert(1, new_code_cell(SPIES.format(course=str(course)), id="looking"))
    return notebook


def autograde(course, *words):
    """The stock command, on PATH or not."""
    program = Path(sys.executable).with_name("nbgrader")
    return subprocess.run(
        [program, "autograde", ASSIGNMENT, *words],
        cwd=course, env={**os.environ, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@needs_walls
def test_the_command_gives_what_a_batch_gives_and_a_submission_sees_nothing(tmp_path):
    course = tmp_path / "course"
    names = ("right_loops", "scaled_scores", "edited_tests", "deleted_cells", "half_finished")
    hand_in(course, {name: submission(name) for name in names} | {"spy": looking_around(course)})
    secret = course_secret(course)
    grade(course)
    by_batch = scores_in(course)
    pages = {path: path.read_text() for path in course.glob("autograded/*/*/*.ipynb")}
    assert len(pages) == len(names) + 1
    done = autograde(course, "--force")
    assert done.returncode == 0, done.stderr
    assert scores_in(course) == by_batch
    for path, text in pages.items():
        again = path.read_text()
        assert without_the_time(again).strip() == without_the_time(text).strip(), path
        assert secret not in again
    seen = nbformat.reads(again_of(course, "spy"), as_version=4).cells[1].outputs
    assert seen and "True" not in "".join(output.text for output in seen)


def again_of(course, student):
    return (course / "autograded" / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_text()


def test_without_a_sandbox_the_command_says_what_to_do_and_keeps_what_is_there(tmp_path):
    course = tmp_path / "course"
    hand_in(course, {"ada": submission("right_loops")})
    grade(course)
    before = scores_in(course)
    config = course / "nbgrader_config.py"
    config.write_text(
        "from autograder.sandbox import bubblewrap\n"
        "bubblewrap.missing = lambda: 'the sandbox needs Linux; this is Plan 9.'\n"
        + config.read_text()
    )
    done = autograde(course, "--force")
    assert done.returncode != 0
    assert 'c.Grade.isolation = "none"' in done.stderr
    assert scores_in(course) == before
    config.write_text(config.read_text() + '\nc.Grade.isolation = "none"\n')
    done = autograde(course, "--force")
    assert done.returncode == 0, done.stderr
    assert scores_in(course) == before


def test_the_command_takes_the_one_notebook_under_any_name_and_what_nbgrader_cannot_read(tmp_path):
    course = tmp_path / "course"
    text = nbformat.writes(submission("scaled_scores"))
    hand_in(course, {"ada": text, "bob": f"\ufeff{text}", "eve": text})
    folder = course / "submitted" / "ada" / ASSIGNMENT
    (folder / f"{ASSIGNMENT}.ipynb").rename(folder / f"Copy of {ASSIGNMENT}.ipynb")
    grade(course)
    before = scores_in(course)
    of_each = {
        student: [row[1:] for row in before if row[0] == student]
        for student in ("ada", "bob", "eve")
    }
    assert of_each["ada"] == of_each["bob"] == of_each["eve"]
    done = autograde(course, "--force")
    assert done.returncode == 0, done.stderr
    assert f"Taking Copy of {ASSIGNMENT}.ipynb for {ASSIGNMENT}.ipynb" in done.stderr
    assert scores_in(course) == before
    assert "scaled" in again_of(course, "ada") and again_of(course, "bob")
