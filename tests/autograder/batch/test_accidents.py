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
from pathlib import Path

import pytest

from assignments import allowed_modules
from autograder.batch.class_report import as_text
from autograder.batch.classroom import grade_class
from autograder.batch.pool import DEATHS, Pool
from autograder.errors import CourseError
from autograder.grade.messages import Job, from_json, to_json
from autograder.grade.report import Report
from autograder.sandbox import bubblewrap
from tests.sample_class import (
    ASSIGNMENT,
    ISOLATION,
    ROOT,
    SETTINGS,
    grade,
    hand_in,
    same_inputs,
    submission,
)
from tests.sample_class.small import command, outcome, small_class

pytestmark = pytest.mark.long

ALONE = dataclasses.replace(SETTINGS, feedback=False)
STUDENTS = ["right_loops_0", "scaled_scores_0"]


def graded(course, students=STUDENTS, settings=ALONE):
    return grade(course, students, settings)


@pytest.fixture
def course(tmp_path):
    hand_in(tmp_path / "course", small_class())
    return tmp_path / "course"


@pytest.mark.slow
def test_a_locked_gradebook_is_named_and_nothing_is_lost(course):
    expected = graded(course)
    (course / "grading" / ASSIGNMENT / "journal.jsonl").unlink()
    with contextlib.closing(sqlite3.connect(course / "gradebook.db")) as other:
        other.execute("begin exclusive")
        with pytest.raises(CourseError, match=r"locked"):
            graded(course)
        other.rollback()
    assert graded(course) == expected


needs_bubblewrap = pytest.mark.skipif(bool(bubblewrap.missing()), reason=bubblewrap.missing())


@needs_bubblewrap
@pytest.mark.slow
def test_a_read_only_gradebook_is_named(course):
    expected = graded(course)[:1]
    db = str(course / "gradebook.db")
    run = subprocess.run(
        [
            bubblewrap.bubblewrap(), "--dev-bind", "/", "/", "--ro-bind", db, db,
            *command(course), "--isolation", "none", "--no-feedback", "--student", "mixed_batch_0",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 2
    assert "readonly" in run.stderr and "nothing is lost" in run.stderr, run.stderr
    assert graded(course)[:1] == expected
    assert graded(course, ["mixed_batch_0"])[0].points > 0


@needs_bubblewrap
def test_a_full_disk_is_named_and_the_next_start_goes_on(course, tmp_path):
    expected = graded(course)
    small = tmp_path / "small"
    small.mkdir()
    for name in (f"grading/{ASSIGNMENT}", "autograded", "gradebook.db"):
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
        [bubblewrap.bubblewrap(), "--dev-bind", "/", "/", "--size", str(12 << 20), "--tmpfs", str(small),
         "sh", "-c", program],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = run.stdout.split()
    assert said[:2] == ["status", "2"], run
    assert "nothing is lost" in run.stderr or "disk" in run.stderr, run.stderr
    assert said[2:4] == ["status", "0"], run
    assert float(said[4]) == sum(row.points for row in expected), run


def test_workers_and_zygotes_that_are_killed_cost_nobody_a_point(course, tmp_path):
    expected = {row.student: row.points for row in graded(course, ())}
    again = tmp_path / "again"
    hand_in(again, small_class())
    same_inputs(course, again)
    with contextlib.closing(Pool(2, ISOLATION, allowed_modules(ASSIGNMENT))) as engine:
        killed = {}

        def progress(done, of, student):
            """Kill as Linux does when memory is short: without a word, whoever it is."""
            kind = {2: "worker", 6: "kernel"}.get(done)
            if kind:
                killed[kind] = engine._zygotes[kind]
                os.kill(killed[kind].process.pid, signal.SIGKILL)

        rows = grade_class(again, ASSIGNMENT, progress, (), ALONE, engine)
        assert killed.keys() == engine._zygotes.keys()
        assert not any(zygote is engine._zygotes[kind] for kind, zygote in killed.items())
    assert {row.student: row.points for row in rows} == expected
    assert not any(row.failed for row in rows)


def test_a_job_over_which_workers_die_is_poisoned_and_the_others_are_graded():
    with contextlib.closing(Pool(1, bubblewrap.NONE, ())) as engine:
        asked = []

        def die(worker, order, *_):
            asked.append(order)
            worker.process.kill()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("autograder.batch.pool.Worker.obey", die)
            job = to_json(Job(ASSIGNMENT, "", (), bubblewrap.NONE))
            result = from_json(engine.submit(job, 1).result(), Report)
    assert len(asked) == DEATHS
    assert result.poisoned and "died" in result.broken


UNREADABLE = to_json(Job(ASSIGNMENT, "no notebook", (), bubblewrap.NONE))


def graded_by(engine, seconds=1):
    return from_json(engine.submit(UNREADABLE, seconds).result(), Report)


def test_a_worker_that_died_while_it_waited_costs_its_next_job_one_try():
    with contextlib.closing(Pool(2, bubblewrap.NONE, ())) as engine:
        both = [engine.submit(UNREADABLE, 1) for _ in range(2)]
        assert not any(from_json(one.result(), Report).poisoned for one in both)
        for worker in list(engine._idle):
            os.kill(worker.process.pid, signal.SIGKILL)
            worker.process.wait()
        assert "not JSON" in graded_by(engine).broken


def test_a_job_that_takes_too_long_is_poisoned_and_its_workers_are_ended(monkeypatch):
    monkeypatch.setattr("autograder.batch.pool.SECONDS_OF_GRACE", 0)
    with contextlib.closing(Pool(1, bubblewrap.NONE, ())) as engine:
        result = graded_by(engine, seconds=0)
        assert result.poisoned and f"died {DEATHS} times" in result.broken
        assert not engine._idle


def test_processes_that_still_import_when_nobody_needs_them_are_ended_at_once():
    engine = Pool(1, bubblewrap.NONE, ())
    processes = [zygote.process for zygote in engine._zygotes.values()]
    engine.close()
    assert [process.returncode for process in processes] == [-signal.SIGKILL] * 2


@pytest.mark.slow
def test_identical_submissions_do_not_get_in_each_others_way(tmp_path):
    course = tmp_path / "course"
    hand_in(course, dict.fromkeys("abcdefgh", submission("scaled_scores")))
    settings = dataclasses.replace(ALONE, workers=4)
    first = graded(course, (), settings)
    again = graded(course, (), dataclasses.replace(settings, again=True))
    assert len({(row.points, row.reasons, row.failed) for row in [*first, *again]}) == 1


ODD = ("ana maria", "o'neill", "müller", "-x", "[1]", "<b>x", "a%2Fb", "...", "$(id)", "x\x1b[2J")


def test_odd_names_are_names(tmp_path):
    course = tmp_path / "course"
    hand_in(course, dict.fromkeys(ODD, submission("right_loops")))
    rows = graded(course, (), SETTINGS)
    assert {row.student for row in rows} == set(ODD)
    assert all(row.points == row.of for row in rows), rows
    for name in ODD:
        assert (course / "feedback" / name / ASSIGNMENT / f"{ASSIGNMENT}.html").exists(), name
    assert not any(row.needs_person for row in rows)
    assert "\x1b" not in as_text(rows)


NOBODY = 65534


@needs_bubblewrap
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.slow
def test_an_ordinary_user_and_root_get_the_same(course):
    expected = graded(course)
    needed = [Path(sys.base_prefix), Path(sys.prefix), ROOT]
    confinement = [bubblewrap.bubblewrap(), "--dev-bind", "/", "/"]
    for path in needed:
        for folder in path.parents:
            # such as root's home, in which Python may stand: opened, with nothing else in it
            if folder != Path("/") and not folder.stat().st_mode & stat.S_IXOTH:
                inside = str(folder / path.relative_to(folder).parts[0])
                confinement += ["--tmpfs", str(folder), "--ro-bind", inside, inside]
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        theirs = Path(folder, "course")
        hand_in(theirs, small_class())
        same_inputs(course, theirs)
        for path in (Path(folder), *Path(folder).rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        users = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
        students = [f"--student={student}" for student in STUDENTS]
        run = subprocess.run(
            [*confinement, *users, *command(theirs), *students],
            env={**os.environ, "HOME": folder, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        assert (theirs / "gradebook.db").stat().st_uid == NOBODY
        scores, _, pages = outcome(theirs)
        assert len(pages) == 2 * len(STUDENTS)
    ours = outcome(course)[0]
    assert [row for row in scores if row[0] in STUDENTS] == ours
    assert sum(row[2] for row in ours) == sum(row.points for row in expected)
