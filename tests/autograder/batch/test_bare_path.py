"""nbgrader's own commands do their work where this environment's programs are not on PATH."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sample_class import ASSIGNMENT, ROOT, hand_in, submission

pytestmark = pytest.mark.long

BARE = "/usr/bin:/bin"  # where no alembic is
NOTEBOOK = f"{ASSIGNMENT}/{ASSIGNMENT}.ipynb"
STUDENT = "ada"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course folder with an assignment, released once, and one submission; no gradebook yet."""
    folder = tmp_path_factory.mktemp("bare") / "course"
    hand_in(folder, {STUDENT: submission("softmax_over_columns")})
    (folder / "exercises" / ASSIGNMENT).mkdir(parents=True)
    (folder / "exercises" / NOTEBOOK).write_bytes((ROOT / "exercises" / NOTEBOOK).read_bytes())
    return folder


def nbgrader(course, *arguments):
    """What a command of nbgrader's says, called by its place as somebody would who activates nothing."""
    inherited = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        [Path(sys.executable).parent / "nbgrader", *arguments],
        cwd=course, env={**inherited, "PATH": BARE, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_a_class_is_graded_by_commands_that_nobody_put_on_the_path(course):
    assert not (course / "gradebook.db").exists(), "else nobody asks for alembic"
    released = (course / "exercises" / NOTEBOOK).read_text(encoding="utf-8")
    nbgrader(course, "generate_assignment", ASSIGNMENT, "--force")
    assert (course / "exercises" / NOTEBOOK).read_text(
        encoding="utf-8"
    ).rstrip() == released.rstrip()
    nbgrader(course, "autograde", ASSIGNMENT)
    nbgrader(course, "generate_feedback", ASSIGNMENT)
    [page] = (course / "feedback" / STUDENT / ASSIGNMENT).glob("*.html")
    assert "oftmax over the columns" in page.read_text(encoding="utf-8")
    assert "Success" in nbgrader(course, "validate", f"solutions/{NOTEBOOK}")
