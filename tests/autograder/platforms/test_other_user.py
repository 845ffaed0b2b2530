"""Where a container refuses namespaces, submissions run as a user who can neither read checks nor change results."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import pytest

from autograder.__main__ import main
from autograder.platforms import runner
from autograder.sandbox import bubblewrap
from tests.autograder.platforms import platforms
from tests.sample_class import ASSIGNMENT, filled_in, new_course

pytestmark = pytest.mark.long

CONTAINER = Path(__file__).with_name("container.sh")
MOUNTS = ["unshare", "--mount", "--propagation", "private"]


def can_imitate():
    """Whether this user may mount, which a container's root may not need to."""
    tried = subprocess.run([*MOUNTS, "true"], capture_output=True, check=False)
    return os.geteuid() == 0 and tried.returncode == 0


needs_root = pytest.mark.skipif(not can_imitate(), reason="needs root, and leave to mount")

# prints what a submission can do, one line each
CURIOUS = """
import os, pathlib, signal
root = pathlib.Path({root!r})

def tried(name, action):
    try:
        action()
        print(name, "was possible")
    except Exception as error:
        print(name, "failed with", type(error).__name__)

print("user", os.getuid())
tried("reading the secret", lambda: (root / "source/job.json").read_text())
tried("reading the rubric", lambda: (root / "source/assignments/{assignment}/rubric.py").read_text())
tried("reading the reference", lambda: (root / "source/course_utils/attention.py").read_text())
tried("importing the checks", lambda: __import__("assignments.{assignment}.rubric"))
tried("writing results", lambda: (root / "results/results.json").write_text("{{}}"))
tried("changing the grader", lambda: (root / "source/autograder/cell.py").write_text(""))
tried("ending the grader", lambda: os.kill({grader}, signal.SIGKILL))
tried("a file of its own", lambda: pathlib.Path("own.txt").write_text("mine"))
"""


def seen(root, command, code):
    """What a submission with this cell prints, by the notebook that comes out, and what Gradescope reads."""
    folder = root / "submission"
    folder.mkdir(exist_ok=True)
    notebook = filled_in({})
    notebook.cells.insert(0, nbformat.v4.new_code_cell(code))
    (folder / f"{ASSIGNMENT}.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")
    known = {"AUTOGRADER_ROOT": str(root), "BUBBLEWRAPS": " ".join(bubblewrap.programs())}
    done = platforms.run(
        [*MOUNTS, "bash", str(CONTAINER), sys.base_prefix, *command], root, **known
    )
    assert done.returncode == 0, done.stderr
    return platforms.read(root / "results" / "results.json")


@pytest.fixture
def container(tmp_path):
    course = tmp_path / "course"
    new_course(course)
    assert main(["export", "gradescope", ASSIGNMENT, "--course", str(course)]) == 0
    archive = course / "build" / "export" / f"gradescope_{ASSIGNMENT}.zip"
    with tempfile.TemporaryDirectory() as place:  # since pytest's own are for its user alone
        root = Path(place)
        root.chmod(0o755)
        yield root, platforms.gradescope_container(archive, root)


@needs_root
def test_a_submission_is_another_user_and_reaches_nothing(container):
    root, command = container
    report = root / "report"
    report.mkdir(mode=0o777)
    report.chmod(0o777)
    code = CURIOUS.format(root=str(root), assignment=ASSIGNMENT, grader=os.getpid())
    code = (
        f"import contextlib\nwith contextlib.redirect_stdout(open({str(report / 'said')!r}, 'w')):\n"
        + "".join(f"    {line}\n" for line in code.splitlines())
    )
    found = seen(root, command, code)
    said = (report / "said").read_text().splitlines()
    assert said == [
        f"user {bubblewrap.OTHER_USER}",
        "reading the secret failed with PermissionError",
        "reading the rubric failed with PermissionError",
        "reading the reference failed with PermissionError",
        "importing the checks failed with PermissionError",
        "writing results failed with PermissionError",
        "changing the grader failed with PermissionError",
        "ending the grader failed with PermissionError",
        "a file of its own was possible",
    ]
    assert found["score"] == 0 and len(found["tests"]) == 4
    assert "Isolation: user" in found["output"] and "container is the sandbox" in found["output"]


@needs_root
def test_right_answers_earn_their_points_there_and_what_hangs_on_is_ended(container):
    root, command = container
    left = "import subprocess; subprocess.Popen(['sleep', '987'], start_new_session=True)"
    found = seen(root, command, left)
    running = subprocess.run(
        ["ps", "-eo", "uid,stat,args"], capture_output=True, text=True, check=True
    )
    lines = [
        line.split() for line in running.stdout.splitlines() if str(bubblewrap.OTHER_USER) in line
    ]
    # what is dead stays in the list until somebody asks for it, which a container's first process may not
    assert not [line for line in lines if not line[1].startswith("Z")]
    assert found["tests"]
    platforms.hand_in(root / "submission", "right_einsum", f"{ASSIGNMENT}.ipynb")
    known = {"AUTOGRADER_ROOT": str(root), "BUBBLEWRAPS": " ".join(bubblewrap.programs())}
    platforms.run([*MOUNTS, "bash", str(CONTAINER), sys.base_prefix, *command], root, **known)
    assert platforms.read(root / "results" / "results.json")["score"] == 10


def test_who_can_be_no_other_user_grades_nothing(monkeypatch):
    monkeypatch.setattr(
        bubblewrap, "missing", lambda: "bubblewrap may not make namespaces here. So"
    )
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(runner.NotGraded, match="Let the grader run as root"):
        runner.isolation_here(may_be_open=False)
    assert runner.isolation_here(may_be_open=True) == bubblewrap.NONE
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert runner.isolation_here(may_be_open=False) == bubblewrap.USER


def test_what_stays_open_to_others_is_what_a_sandbox_shows(tmp_path, monkeypatch):
    packed = tmp_path / "packed"
    for name in ("shown/a.py", "hidden/b.py", "job.json"):
        (packed / name).parent.mkdir(parents=True, exist_ok=True)
        (packed / name).write_text("")
    monkeypatch.setattr(bubblewrap, "visible_paths", lambda _: {packed / "shown"})
    runner.close_to_others(packed, ())
    modes = {name: (packed / name).stat().st_mode & 0o777 for name in ("shown/a.py", "hidden/b.py", "job.json", "hidden")}  # fmt: skip
    assert modes == {"shown/a.py": 0o644, "hidden/b.py": 0o600, "job.json": 0o600, "hidden": 0o755}
