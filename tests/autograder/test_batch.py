"""A batch that is killed and started again ends as one that was left in peace; warm is like cold."""

import contextlib
import dataclasses
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from unittest.mock import ANY

import nbformat
import pytest
from nbclient import NotebookClient

from autograder.classroom import grade_class
from autograder.errors import CourseError
from tests.sample_class import (
    ASSIGNMENT,
    ISOLATION,
    ROOT,
    SETTINGS,
    SUBMISSIONS,
    answers_in,
    filled_in,
)

STUDENTS = ("right_loops", "scaled_scores", "softmax_over_columns", "mixed_batch")
COPIES = 3
SCORES = """
    select submitted_assignment.student_id, base_cell.name, grade.auto_score, grade.manual_score,
           grade.needs_manual_grade
    from grade join submitted_notebook on grade.notebook_id = submitted_notebook.id
    join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
    join base_cell on grade.cell_id = base_cell.id order by 1, 2
"""


def hand_in(course, copies=COPIES):
    course.mkdir()
    shutil.copy(ROOT / "nbgrader_config.py", course)
    (course / "solutions" / ASSIGNMENT).mkdir(parents=True)
    name = f"{ASSIGNMENT}/{ASSIGNMENT}.ipynb"
    shutil.copy(ROOT / "solutions" / name, course / "solutions" / name)
    for copy in range(copies):
        for student in STUDENTS:
            target = course / "submitted" / f"{student}_{copy}" / name
            target.parent.mkdir(parents=True)
            notebook = filled_in(answers_in(SUBMISSIONS / f"{student}.py"))
            notebook.cells.append(nbformat.v4.new_code_cell(f"# {copy}", id="signature"))
            nbformat.write(notebook, target)


def command(course):
    return [
        sys.executable, "-m", "autograder", "grade", ASSIGNMENT, "--course", str(course),
        "--isolation", ISOLATION, "--jobs", "2",
    ]  # fmt: skip


def outcome(course):
    """Scores in the gradebook, and what the graded notebooks and the feedback pages say."""
    with sqlite3.connect(course / "gradebook.db") as gradebook:
        scores = gradebook.execute(SCORES).fetchall()
    pages = {
        path.relative_to(course): without_the_time(path.read_text(encoding="utf-8"))
        for pattern in ("autograded/*/*/*.ipynb", "feedback/*/*/*.html")
        for path in sorted(course.glob(pattern))
    }
    return scores, pages


def without_the_time(page):
    """A notebook or page, but for the line that says when it ran, and ids that are drawn anew."""
    page = re.sub(r"Finished  \S+ \S+ UTC", "", page)
    return re.sub(r"ipykernel_\d+|[0-9a-f]{8}-[0-9a-f-]{27}", "", page)


@pytest.mark.parametrize(
    "copies",
    [COPIES, pytest.param(250, marks=pytest.mark.slow)],
    ids=["a_dozen", "a_thousand"],
)
def test_a_batch_that_is_killed_again_and_again_ends_like_an_undisturbed_one(tmp_path, copies):
    calm, disturbed = tmp_path / "calm", tmp_path / "disturbed"
    hand_in(calm, copies)
    hand_in(disturbed, copies)
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
    scores, pages = outcome(calm)
    assert len(pages) == 2 * len(STUDENTS) * copies
    assert len(scores) == len({(student, name) for student, name, *_ in scores})


def test_what_was_lost_or_spoilt_in_between_is_made_again(tmp_path):
    course = tmp_path / "course"
    hand_in(course)

    def grade(*students):
        return grade_class(course, ASSIGNMENT, lambda *_: None, students, settings)

    settings = dataclasses.replace(SETTINGS, feedback=False)
    students = ["right_loops_0", "scaled_scores_0"]
    first = grade(*students)
    assert grade(*students) == first
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
    assert not (course / "autograded" / "right_loops_0" / ASSIGNMENT).exists()
    path.write_text(text, encoding="utf-8")
    assert grade("right_loops_0") == first[:1]
    # what a person or another program has entered for the grader gives way when asked
    with contextlib.closing(sqlite3.connect(course / "gradebook.db")) as gradebook:
        gradebook.execute("update grade set auto_score = 0")
        gradebook.commit()
    settings = dataclasses.replace(settings, again=True)
    assert grade("right_loops_0") == [dataclasses.replace(first[0], seconds=ANY)]


def test_ctrl_c_stops_at_once_and_the_next_start_goes_on(tmp_path):
    course = tmp_path / "course"
    hand_in(course)
    run = subprocess.Popen(command(course), stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not list(course.glob("autograded/*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=20)
    assert run.returncode == 130
    assert said.decode().strip() == "stopped; what is graded is kept, and the same command goes on"
    assert subprocess.run(command(course), capture_output=True, check=False).returncode == 0
    assert len(list(course.glob("feedback/*"))) == len(STUDENTS) * COPIES


def test_only_one_run_at_a_time(tmp_path):
    hand_in(tmp_path / "course")
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
            grade_class(tmp_path / "course", ASSIGNMENT, lambda *_: None, settings=SETTINGS)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


CELLS = (
    "import sys, os, math\nprint(__name__, sys.path[0], os.getcwd(), sys.argv[0].endswith('.py'))",
    "import torch\ntorch.manual_seed(3)\nprint(torch.randn(2))",
    "print(sys.path.index(''), len(sys.path))\nfrom helper import helped\nprint(helped)",
    "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint(plt.get_backend())",
    "print(sorted(name for name in dir() if not name.startswith('_'))[:20])",
    "1 / 0",
    "!echo hello",
)


def outputs_with(provisioner, folder, monkeypatch):
    """What a notebook gives in a process whose kernels start in this way."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(code, id=f"c{place}") for place, code in enumerate(CELLS)]
    )
    (folder / "helper.py").write_text("helped = True")
    path = folder / f"{provisioner}.ipynb"
    nbformat.write(notebook, path)
    program = (
        "import nbformat, sys; from nbclient import NotebookClient; path = sys.argv[1];"
        "nb = nbformat.read(path, 4);"
        "NotebookClient(nb, allow_errors=True, resources={'metadata': {'path': sys.argv[2]}},"
        "extra_arguments=['--log-level=ERROR']).execute(); nbformat.write(nb, path)"
    )
    environment = {**os.environ, "JUPYTER_DEFAULT_PROVISIONER_NAME": provisioner}
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, path, folder], env=environment, check=True
    )
    outputs = [cell.outputs for cell in nbformat.read(path, 4).cells]
    for output in (item for cell in outputs for item in cell):
        output.get("data", {}).pop("image/png", None)
    return outputs


def test_a_warm_kernel_gives_what_a_cold_one_gives(tmp_path, monkeypatch):
    cold = outputs_with("local-provisioner", tmp_path, monkeypatch)
    assert outputs_with("warm-provisioner", tmp_path, monkeypatch) == cold


def test_two_warm_kernels_draw_different_numbers(monkeypatch):
    from autograder import warm

    drawn = set()
    try:
        for _ in range(2):
            notebook = nbformat.v4.new_notebook(
                cells=[
                    nbformat.v4.new_code_cell(
                        "import random, numpy, torch\n"
                        "print(random.random(), numpy.random.rand(), torch.rand(1).item())"
                    )
                ]
            )
            client = NotebookClient(notebook, kernel_name="python3")
            manager = client.create_kernel_manager()
            manager.kernel_spec.metadata["kernel_provisioner"] = {
                "provisioner_name": "warm-provisioner"
            }
            client.execute()
            drawn.update(notebook.cells[0].outputs[0].text.split())
    finally:
        warm.close()
    assert len(drawn) == 6
