"""What goes wrong before the first line of a submission runs is the grader's own fault, and costs no points."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import Future
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from assignments import allowed_modules
from autograder.batch.classroom import grade_and_compare
from autograder.grade.messages import Job, to_json
from autograder.grade.run import attempt, broken
from autograder.grade.self_check import NotGradable, check_notebook
from autograder.sandbox import bubblewrap, client
from autograder.sandbox.client import KernelNotStarted
from autograder.sandbox.forks import Zygote, ZygoteError
from autograder.sandbox.kernels import KERNEL
from autograder.sandbox.limits import Limits
from tests.sample_class import ASSIGNMENT, ISOLATION, ROOT, SETTINGS, hand_in, submission

walled = pytest.mark.skipif(ISOLATION != bubblewrap.FULL, reason="no sandbox here")

# A kernel's zygote, in whose forks a step of the start fails that the environment names.
PLANTED = """
import os, time
from autograder.sandbox import kernel, preload
from autograder.sandbox.kernel import FIRST_PROCESS, Request, before_fork, threads

def fail(*_, **__):
    raise OSError(12, "planted: Cannot allocate memory")

def prepare(modules):
    kernel.prepare(modules)

def become(request, sockets):
    step = request.env.get("PLANTED", "")
    places = {"kernel": kernel, "os": os}
    try:
        from autograder.sandbox import confine, limits, namespaces, seccomp
        places |= {"confine": confine, "limits": limits}
    except ImportError:
        pass
    place, _, name = step.partition(".")
    if step == "killed":
        preload.keep_to = kernel.settle = lambda *_: os._exit(3)
    elif step == "silent":
        kernel.settle = lambda *_: time.sleep(60)
    elif step == "first message":
        kernel.Ready = lambda *_: kernel.Done(1, "ok")
    elif name:
        assert hasattr(places[place], name)
        setattr(places[place], name, fail)
    kernel.become(request, sockets)
"""
CONFINED = (
    "confine.call", "confine.mount", "confine._make_read_only", "confine._hide_other_processes",
    "confine.keep_to", "confine.end_on", "confine.drop_capabilities", "confine.system_calls",
)  # fmt: skip
EVERYWHERE = ("os.chdir", "kernel.settle", "kernel.note_start", "kernel._take_files")
STEPS = [*(pytest.param(step, marks=walled) for step in CONFINED), *EVERYWHERE]


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A zygote of such kernels, and what has them fail at a step."""
    folder = tmp_path_factory.mktemp("planted")
    (folder / "planted_kernel.py").write_text(PLANTED, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        inside = (*bubblewrap.PACKAGES_INSIDE, folder / "planted_kernel.py")
        patch.setattr(bubblewrap, "PACKAGES_INSIDE", inside)
        places = filter(None, [str(folder), os.environ.get("PYTHONPATH")])
        patch.setenv("PYTHONPATH", os.pathsep.join(places))
        zygote = Zygote("planted_kernel", ISOLATION, allowed_modules(ASSIGNMENT))
    try:
        zygote.wait_until_ready()
        yield zygote.client
    finally:
        zygote.close()


@pytest.fixture
def fails_at(planted, monkeypatch):
    given = bubblewrap.environment

    def fails_at(step):
        monkeypatch.setattr(
            bubblewrap, "environment", lambda *names: given(*names) | {"PLANTED": step}
        )
        return planted

    return fails_at


def graded(zygote, files=None, limits=None):
    """What becomes of a right submission."""
    job = Job(
        ASSIGNMENT,
        nbformat.writes(submission("right_loops")),
        (),
        ISOLATION,
        files=files or {},
        limits=limits or Limits(),
    )
    return attempt(job, zygote)


def is_a_fault(report, *words):
    """Nothing is scored, and a person reads why."""
    [fault] = report.faults
    assert report.broken and not report.scores and not report.verdicts
    assert "no fault of yours" in report.told
    assert fault.undecided and all(word in f"{fault.error}{fault.trace}" for word in words)
    return True


def test_without_a_planted_failure_it_earns_its_points(fails_at):
    report = graded(fails_at(""))
    assert not report.faults and report.earned == report.of


@pytest.mark.parametrize("step", STEPS)
def test_a_failure_at_any_step_of_the_start_is_a_fault(step, fails_at):
    assert is_a_fault(graded(fails_at(step)), "a kernel did not start", "planted: Cannot allocate")


def test_a_kernel_that_is_killed_at_its_start_is_a_fault(fails_at):
    assert is_a_fault(graded(fails_at("killed")), "its process ended with status 3")


def test_a_kernel_whose_first_message_is_none_is_a_fault(fails_at):
    assert is_a_fault(graded(fails_at("first message")), "a kernel did not start: found Done")


def test_a_kernel_that_never_is_ready_is_a_fault(fails_at, monkeypatch):
    monkeypatch.setattr(client, "SECONDS_TO_IMPORT", 0)
    monkeypatch.setattr(client, "SECONDS_OF_GRACE", 0.5)
    assert is_a_fault(graded(fails_at("silent")), "a kernel did not start in time")


@walled
def test_files_for_which_there_is_no_room_are_a_fault(planted):
    limits = Limits(disk=1 << 20)
    assert is_a_fault(graded(planted, {"data.bin": bytes(2 << 20)}, limits), "No space left")


def test_what_a_submission_does_first_is_no_fault(planted):
    """The line is drawn before its first cell: what ends the process there is its own."""
    notebook = submission("right_loops")
    next(
        cell for cell in notebook.cells if cell.cell_type == "code"
    ).source = "import os; os._exit(3)"
    report = attempt(Job(ASSIGNMENT, nbformat.writes(notebook), (), ISOLATION), planted)
    assert not report.faults and report.earned == 0


def test_what_fails_before_any_fork_ends_the_zygote_with_its_reason(tmp_path, monkeypatch):
    """It stops the class, with these words, before a notebook is asked for."""
    program = "def prepare(modules): raise OSError('planted: no such library')\n"
    (tmp_path / "planted_import.py").write_text(program, encoding="utf-8")
    monkeypatch.setattr(
        bubblewrap, "PACKAGES_INSIDE", (*bubblewrap.PACKAGES_INSIDE, tmp_path / "planted_import.py")
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    zygote = Zygote("planted_import", ISOLATION)
    with pytest.raises(ZygoteError, match="planted: no such library"):
        zygote.wait_until_ready()
    zygote.close()


def test_whoever_checks_a_notebook_at_home_is_told_whose_failure_it_is(
    fails_at, tmp_path, monkeypatch
):
    zygote = fails_at("kernel.settle")
    monkeypatch.setattr("autograder.grade.self_check.own_kernels", lambda *_: zygote)
    path = tmp_path / f"{ASSIGNMENT}.ipynb"
    nbformat.write(submission("right_loops"), path)
    with pytest.raises(NotGradable, match=r"the grader itself failed.*planted: Cannot allocate"):
        check_notebook(path)


class Failing:
    """An engine on whose machine no kernel starts."""

    def at_once(self):
        return 1

    def submit(self, job, seconds):
        done = Future()
        done.set_result(to_json(broken(KernelNotStarted("a kernel did not start: planted"))))
        return done


@pytest.mark.long
def test_in_a_class_a_person_looks_and_nobody_has_a_score(tmp_path):
    course = tmp_path / "course"
    hand_in(course, {"ada": submission("right_loops")})
    (row,) = grade_and_compare(course, ASSIGNMENT, lambda *_: None, (), SETTINGS, Failing()).rows
    assert row.needs_person and row.failed
    assert any("a kernel did not start: planted" in reason for reason in row.reasons)
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        grades = gradebook.find_submission_notebook(ASSIGNMENT, ASSIGNMENT, "ada").grades
        worth = [grade for grade in grades if grade.cell.max_score]
        assert worth and all(
            grade.auto_score is None and grade.needs_manual_grade for grade in worth
        )
    page = course / "feedback" / "ada" / ASSIGNMENT / f"{ASSIGNMENT}.html"
    text = page.read_text(encoding="utf-8")
    assert "no fault of yours" in text and "Hand in the file again" not in text


@walled
@pytest.mark.long
def test_a_zygote_that_is_ended_while_it_starts_leaves_nothing_behind():
    """A child of bubblewrap's waits at first for its parent, which may be gone."""
    before = zygotes_of_this_process()
    for number in range(12):
        zygote = Zygote(KERNEL, ISOLATION)
        time.sleep(number / 2000)
        zygote.close()
    deadline = time.monotonic() + 60
    while left := zygotes_of_this_process() - before:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def zygotes_of_this_process():
    """Their numbers, with those of bubblewrap's processes around them; each is told whose it is."""
    found = set()
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = place.read_bytes().decode(errors="replace").split("\0")
            if "autograder.sandbox.zygote" in words and str(os.getpid()) in words:
                found.add(place.parent.name)
    return found


# --------------------------------------------------------------------- an engine below /tmp


def test_a_place_within_another_is_not_shown_twice(monkeypatch, tmp_path):
    """Which of two is mounted first would else decide whether the other can be: read-only, nothing is made in it."""
    engine = tmp_path / "venv/lib/python3/site-packages/autograder"
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    monkeypatch.setattr(bubblewrap, "PACKAGES_INSIDE", (engine / "files.py", engine / "probe"))
    shown = bubblewrap.visible_paths()
    assert tmp_path / "venv" in shown and shown == sorted(shown)
    assert not any(path in other.parents for path in shown for other in shown)


GRADES = """
import sys
from pathlib import Path
import autograder
from autograder.sandbox import bubblewrap, kernels
from autograder.sandbox.client import KernelClient, KernelNotStarted
from autograder.sandbox.limits import Limits
assert Path(autograder.__file__).is_relative_to(sys.prefix), autograder.__file__
bubblewrap.PACKAGES_INSIDE += tuple(map(Path, sys.argv[1:]))  # others, which this environment borrows
with KernelClient(kernels.own_kernels(bubblewrap.FULL), Limits(), [("a.txt", b"beside")]) as kernel:
    kernel.run("print(open('a.txt').read())", "id", lambda _, content: print(content["text"], end=""))
kernels.close()
"""


@walled
@pytest.mark.long
def test_an_engine_that_is_installed_below_tmp_starts_its_kernels():
    """In whatever order a set of places comes: in most of them, no kernel started."""
    with tempfile.TemporaryDirectory(prefix="engine-", dir="/tmp") as folder:
        venv = Path(folder, "venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        [site] = venv.glob("lib/python*/site-packages")
        # the packages that are installed here, but for what is installed as source
        packages = [path for path in sys.path if Path(path).name == "site-packages"]
        (site / "others.pth").write_text("\n".join(packages), encoding="utf-8")
        source = Path(folder, "autograder")
        shutil.copytree(
            ROOT / "autograder", source, ignore=shutil.ignore_patterns("__pycache__", "build")
        )
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run(
            [*install, "--no-build-isolation", "--target", site, source], cwd=folder, check=True
        )
        for seed in range(4):
            said = subprocess.run(
                [venv / "bin/python", "-P", "-c", GRADES, *packages],
                cwd=folder,
                env={"PATH": os.environ["PATH"], "PYTHONHASHSEED": str(seed)},
                capture_output=True,
                text=True,
                check=False,
            )
            assert said.stdout == "beside\n", (seed, said.stderr)
