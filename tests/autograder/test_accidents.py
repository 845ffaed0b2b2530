"""What happens to the machine, the gradebook or a process costs nobody a grade."""

import contextlib
import dataclasses
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import nbformat
import pytest

from autograder import sandbox
from autograder.classroom import as_table, grade_class
from autograder.engine import Task
from autograder.errors import CourseError
from autograder.local import DEATHS, Local
from tests.autograder.test_batch import command, hand_in, outcome
from tests.sample_class import (
    ASSIGNMENT,
    ISOLATION,
    ROOT,
    SETTINGS,
    SUBMISSIONS,
    answers_in,
    filled_in,
)

ALONE = dataclasses.replace(SETTINGS, feedback=False)
STUDENTS = ["right_loops_0", "scaled_scores_0"]


def grade(course, students=STUDENTS, settings=ALONE):
    return grade_class(course, ASSIGNMENT, lambda *_: None, students, settings)


@pytest.fixture
def course(tmp_path):
    hand_in(tmp_path / "course")
    return tmp_path / "course"


def test_a_locked_gradebook_is_named_and_nothing_is_lost(course):
    expected = grade(course)
    (course / "grading" / ASSIGNMENT / "journal.jsonl").unlink()
    with contextlib.closing(sqlite3.connect(course / "gradebook.db")) as other:
        other.execute("begin exclusive")
        with pytest.raises(CourseError, match=r"locked"):
            grade(course)
        other.rollback()
    assert grade(course) == expected


needs_bubblewrap = pytest.mark.skipif(
    bool(sandbox.missing()),
    reason="needs bubblewrap, to make a small disk without an administrator",
)


@needs_bubblewrap
def test_a_read_only_gradebook_is_named(course):
    expected = grade(course)[:1]
    db = str(course / "gradebook.db")
    run = subprocess.run(
        [
            "bwrap", "--dev-bind", "/", "/", "--ro-bind", db, db,
            *command(course), "--isolation", "none", "--no-feedback", "--student", "mixed_batch_0",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 2
    assert "readonly" in run.stderr and "nothing is lost" in run.stderr, run.stderr
    assert grade(course)[:1] == expected
    assert grade(course, ["mixed_batch_0"])[0].points > 0


@needs_bubblewrap
def test_a_full_disk_is_named_and_the_next_start_goes_on(course, tmp_path):
    expected = grade(course)
    small = tmp_path / "small"
    small.mkdir()
    for name in ("grading", "autograded", "gradebook.db"):
        path = course / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    words = " ".join([*command(small), "--isolation", "none", "--no-feedback"])
    words += "".join(f" --student {student}" for student in STUDENTS)
    scores = "import sqlite3; print(sqlite3.connect('gradebook.db').execute('select sum(auto_score) from grade').fetchone()[0])"
    program = f"""
        cp -r {course}/. {small} && cd {small} || exit 9
        head -c 100M /dev/zero > filler 2> /dev/null
        {words}; echo "status $?"
        rm filler
        {words} > /dev/null; echo "status $?"
        {sys.executable} -c "{scores}"
    """
    run = subprocess.run(
        ["bwrap", "--dev-bind", "/", "/", "--size", str(12 << 20), "--tmpfs", str(small),
         "sh", "-c", program],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = run.stdout.split()
    assert said[:2] == ["status", "2"], run
    assert "nothing is lost" in run.stderr or "disk" in run.stderr, run.stderr
    assert said[2:4] == ["status", "0"], run
    assert float(said[4]) == sum(row.points for row in expected), run


def test_workers_and_zygotes_that_are_killed_cost_nobody_a_point(course, tmp_path):
    expected = {row.student: row.points for row in grade(course, ())}
    again = tmp_path / "again"
    hand_in(again)
    with contextlib.closing(Local(2, ISOLATION)) as engine:
        over = threading.Event()

        def kill_now_and_then():
            """As the kernel does when memory is short: without a word, whoever it is."""
            for kind in ("worker", "kernel"):
                if over.wait(1.0):
                    return
                os.kill(engine._zygotes[kind].process.pid, signal.SIGKILL)

        rows = []

        def progress(done, of, student):
            if done == 1:
                killer.start()

        killer = threading.Thread(target=kill_now_and_then)
        rows = grade_class(again, ASSIGNMENT, progress, (), ALONE, engine)
        over.set()
        killer.join()
    assert {row.student: row.points for row in rows} == expected
    assert not any(row.failed for row in rows)


def test_a_job_over_which_workers_die_is_poisoned_and_the_others_are_graded(tmp_path):
    done = []
    with contextlib.closing(Local(1, sandbox.NONE)) as engine:
        asked = []

        def die(worker, order, seconds):
            asked.append(order)
            worker.process.kill()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("autograder.local.Worker.obey", die)
            task = Task("ada", "key", {"seconds": 1}, tmp_path / "key.json")
            engine.run(iter([task]), done.append)
    assert done == [task]
    assert len(asked) == DEATHS
    assert "died" in task.target.read_text()


def test_identical_submissions_do_not_get_in_each_others_way(course):
    shutil.rmtree(course / "submitted")
    notebook = filled_in(answers_in(SUBMISSIONS / "scaled_scores.py"))
    for name in "abcdefgh":
        target = course / "submitted" / name / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        target.parent.mkdir(parents=True)
        nbformat.write(notebook, target)
    settings = dataclasses.replace(ALONE, workers=4)
    first = grade(course, (), settings)
    again = grade(course, (), dataclasses.replace(settings, again=True))
    assert len({(row.points, row.reasons, row.failed) for row in [*first, *again]}) == 1


ODD = ("ana maria", "o'neill", "müller", "-x", "[1]", "<b>x", "a%2Fb", "...", "$(id)", "x\x1b[2J")


def test_odd_names_are_names(tmp_path):
    course = tmp_path / "course"
    hand_in(course)
    shutil.rmtree(course / "submitted")
    notebook = filled_in(answers_in(SUBMISSIONS / "right_loops.py"))
    for name in ODD:
        target = course / "submitted" / name / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        target.parent.mkdir(parents=True)
        nbformat.write(notebook, target)
    rows = grade(course, (), SETTINGS)
    assert {row.student for row in rows} == set(ODD)
    assert all(row.points == row.of for row in rows), rows
    for name in ODD[:4] + ODD[5:]:
        assert (course / "feedback" / name / ASSIGNMENT / f"{ASSIGNMENT}.html").exists(), name
    # a pattern for nbgrader itself
    assert [row.student for row in rows if row.needs_person] == ["[1]"]
    assert "\x1b" not in as_table(rows)


NOBODY = 65534


@needs_bubblewrap
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_and_root_get_the_same(course):
    expected = grade(course)
    needed = [Path(sys.base_prefix), Path(sys.prefix), ROOT]
    walls = ["bwrap", "--dev-bind", "/", "/"]
    for path in needed:
        for folder in path.parents:
            # such as root's home, in which Python may stand: opened, with nothing else in it
            if folder != Path("/") and not folder.stat().st_mode & stat.S_IXOTH:
                inside = str(folder / path.relative_to(folder).parts[0])
                walls += ["--tmpfs", str(folder), "--ro-bind", inside, inside]
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        theirs = Path(folder, "course")
        hand_in(theirs)
        for path in (Path(folder), *Path(folder).rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        users = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
        students = [f"--student={student}" for student in STUDENTS]
        run = subprocess.run(
            [*walls, *users, *command(theirs), *students],
            env={**os.environ, "HOME": folder, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        assert (theirs / "gradebook.db").stat().st_uid == NOBODY
        scores, pages = outcome(theirs)
        assert len(pages) == 2 * len(STUDENTS)
    ours = outcome(course)[0]
    assert [row for row in scores if row[0] in STUDENTS] == ours
    assert sum(row[2] for row in ours) == sum(row.points for row in expected)
