"""Submissions that attack, break or exhaust the grader: each gets what it earned, others all theirs.

One class hands in, each student the same right answers and one cell of mischief before the third of
four checks. Who ends or blocks the own process keeps the points of the first two parts.
"""

import base64
import os
import sqlite3
import stat
import time
from pathlib import Path

import nbformat
import pytest

from autograder.batch.settings import Settings
from autograder.sandbox import bubblewrap, kernels
from autograder.sandbox.limits import Limits
from tests.sample_class import (
    ASSIGNMENT,
    SUBMISSIONS,
    answers_in,
    filled_in,
    grade,
    hand_in,
    place_for,
)

pytestmark = pytest.mark.long

ALL, FIRST_TWO = 10, 5
NO_NOTEBOOKS = (
    "link", "pipe", "device", "empty", "folder", "deep", "not_text", "old_format", "huge", "surrogate",
)  # fmt: skip

SECRET = "nobody may read this"

PLACES = ("", "/etc", "/dev", "/dev/shm", "/box", "/stash", "/proc", "/tmp", "/usr", "/lib")

# name -> (code, the points that remain)
MISCHIEF = {
    # time and resources
    "loop": ("while True: pass", ALL),
    "loop_that_swallows": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        None,
    ),
    "c_loop": ("sum(range(10**13))", FIRST_TWO),
    "fork_bomb": ("import os\nwhile True: os.fork()", ALL),
    "threads": (
        ("import threading, time\nthreads = []\ntry:\n    while True:\n"
        "        threads.append(threading.Thread(target=time.sleep, args=(60,), daemon=True))\n"
        "        threads[-1].start()\nexcept RuntimeError: pass"),
        None,
    ),
    "memory_bomb": ("hoard = [bytearray(1 << 26) for _ in range(1000)]", ALL),
    "endless_print": ("while True: print('x' * 1000)", ALL),
    "huge_html": ("from IPython.display import HTML\nHTML('<b>' * 5_000_000)", ALL),
    "full_disk": (
        "for number in range(10_000):\n    open(f'/tmp/{number}', 'wb').write(bytes(1 << 24))",
        ALL,
    ),
    # exits
    "os_exit": ("import os; os._exit(0)", FIRST_TWO),
    "segfault": ("import ctypes; ctypes.string_at(0)", FIRST_TWO),
    "exit": ("exit()", None),
    "input": ("input('Your name? ')", ALL),
    # reach
    "read_solutions": ("print(open('{course}/solutions/{assignment}/{assignment}.ipynb').read())", ALL),
    "read_secret": ("print(open('{secret}').read())", ALL),
    "read_checks": ("from assignments import load; print(load('{assignment}'))", ALL),
    "delete": ("import shutil\nshutil.rmtree('{course}', ignore_errors=True)\nshutil.rmtree('..', ignore_errors=True)", ALL),
    "kill_all": ("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos.kill(-1, signal.SIGKILL)", None),
    "socket": ("import socket; socket.create_connection(('127.0.0.1', {port}), timeout=2)", ALL),
    "download": ("import urllib.request as r; r.urlopen('http://192.0.2.1/', timeout=2)", ALL),
    "read_cells": ("print(*In, *vars(get_ipython()), sep='\\n')", ALL),
    "own_module": ("try:\n    import helper\nexcept ImportError:\n    del self_attention", ALL),
    "pip": ("%pip install anything", ALL),
    "pickle": ("import pickle; pickle.load(open('evil.pickle', 'rb'))", ALL),
    "gradebook": ("import sqlite3\nsqlite3.connect('{course}/gradebook.db').execute('delete from grade')", ALL),
    # cheating
    "ast_transformer": (
        ("import ast\nclass Drop(ast.NodeTransformer):\n    def visit_Assert(self, node): return ast.Pass()\n"
        "get_ipython().ast_transformers.append(Drop())"),
        ALL,
    ),
    "half_a_character": ("print('\\ud800')\nraise ValueError('\\ud800')", ALL),
    "outlive": ("import ctypes\nctypes.CDLL(None).prctl(1, 0, 0, 0, 0)", ALL),
    "leave_something": (
        (
            f"for place in {PLACES}:\n    try: open(place + '/left', 'w').write('an answer')\n"
            "    except OSError: pass"
        ),
        ALL,
    ),
    "search_for_something": (
        f"import os\nprint('found in', [place for place in {PLACES} if os.path.exists(place + '/left')])",
        ALL,
    ),
    "environment": ("print(open('/proc/self/environ').read())", ALL),
    # accidents
    "many_magics": ("%pwd\n" * 600, None),  # IPython itself takes seconds for them
    "own_torch": ("import torch; print(torch.__version__)", ALL),
}  # fmt: skip

# answers that are wrong and pretend: they earn nothing
PRETENCE = {
    "always_equal": "class Yes:\n    shape = (3, 3)\n    def __eq__(self, other): return True\n"
    "    def __getattr__(self, name): return Yes()\n"
    "def {name}(*arguments): return Yes()",
    "lying_tensor": "import torch\nclass Liar(torch.Tensor):\n    @classmethod\n"
    "    def __torch_function__(cls, *_, **__): return True\n"
    "def {name}(*arguments): return torch.zeros(3, 3).as_subclass(Liar)",
    "forged_answers": "from IPython.display import display\nimport autograder.probe.probe as probe\n"
    "probe.answer = lambda message, namespace, seconds=5: b'forged'\n"
    "def {name}(*arguments): return None",
    "updated_display": "import torch\nfrom IPython.display import display, update_display\n"
    "def {name}(*arguments):\n"
    "    for one in ('a', 'b'): display({{'text/plain': 'x'}}, raw=True, display_id=one)\n",
    "forged_verdict": "import IPython\nIPython.display.display({{'application/vnd.autograder."
    "verdict+json': {{'earned': 10, 'points': 10}}}}, raw=True)\ndef {name}(*arguments): return None",
}


def hand_in_mischief(course, secret):
    right = answers_in(SUBMISSIONS / "right_matrices.py")
    places = {"course": course, "assignment": ASSIGNMENT, "secret": secret, "port": 9}
    notebooks = {}
    for student, (code, _) in {**MISCHIEF, "right": ("1", ALL)}.items():
        notebook = notebooks[student] = filled_in(right)
        for place, text in places.items():
            code = code.replace("{" + place + "}", str(text))
        names = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]
        cell = nbformat.v4.new_code_cell(code, id="mischief")
        notebook.cells.insert(names.index("check_self_attention"), cell)
    other = notebooks["other_kernel"] = filled_in(right)
    other.metadata.kernelspec = {"name": "julia-1.9", "display_name": "Julia", "language": "julia"}
    for student, code in PRETENCE.items():
        notebooks[student] = filled_in({name: code.format(name=name) for name in right})
    later = "from IPython.display import update_display\nfor one in ('a', 'b'):\n"
    later += "    update_display({'text/plain': '3.0'}, raw=True, display_id=one)"
    notebooks["updated_display"].cells.append(nbformat.v4.new_code_cell(later, id="later"))
    hand_in(course, notebooks)
    (course / "submitted/own_torch" / ASSIGNMENT / "torch.py").write_text("1 / 0")
    (course / "submitted/own_module" / ASSIGNMENT / "helper.py").write_text("ready = True")
    (course / "submitted/pickle" / ASSIGNMENT / "evil.pickle").write_bytes(
        f"cos\nsystem\n(S'touch {course}/touched'\ntR.".encode()
    )
    # what is no notebook at all
    path = {student: place_for(course, student) for student in NO_NOTEBOOKS}
    path["link"].symlink_to(secret)
    os.mkfifo(path["pipe"])
    if os.geteuid() == 0:
        os.mknod(path["device"], stat.S_IFCHR | 0o600, os.makedev(1, 5))  # zeros without an end
    nbformat.write(filled_in(right), place_for(course, "renamed").with_name("my answers.ipynb"))
    path["surrogate"].write_text(
        '{"cells": [], "metadata": {"who": "\\ud800"}, "nbformat": 4, "nbformat_minor": 5}'
    )
    with path["huge"].open("wb") as file:
        file.truncate(200 << 20)
    path["empty"].touch()
    path["folder"].mkdir()
    path["deep"].write_text("[" * 100_000)
    path["not_text"].write_bytes(base64.b64decode("//79/A=="))
    path["old_format"].write_text(
        '{"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": []}'
    )


def digest(folder):
    return {
        path: path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    if bubblewrap.missing():
        pytest.skip(bubblewrap.missing())
    course, outside = tmp_path_factory.mktemp("hostile"), tmp_path_factory.mktemp("outside")
    secret = outside / "secret.txt"
    secret.write_text(SECRET)
    hand_in_mischief(course, secret)
    before = {**digest(course / "submitted"), **digest(course / "solutions"), **digest(outside)}
    settings = Settings(
        workers=2, limits=Limits(seconds_per_cell=4, clock_per_cell=8, seconds=20), feedback=False
    )
    rows = grade(course, settings=settings)
    after = {**digest(course / "submitted"), **digest(course / "solutions"), **digest(outside)}
    return course, {row.student: row for row in rows}, before == after


@pytest.mark.parametrize("student", [*MISCHIEF, "right", "other_kernel", "renamed"])
def test_who_attacks_keeps_what_was_earned(graded, student):
    row = graded[1][student]
    expected = MISCHIEF.get(student, ("", ALL))[1]
    assert not row.failed, row
    if expected is None:  # mischief against oneself: how far it gets is up to chance
        assert FIRST_TWO <= row.points <= ALL
    else:
        assert row.points == expected, row


@pytest.mark.parametrize("student", PRETENCE)
def test_pretence_earns_nothing(graded, student):
    assert graded[1][student].points == 0


@pytest.mark.parametrize("student", NO_NOTEBOOKS)
def test_what_is_no_notebook_gets_a_row_with_a_reason(graded, student):
    row = graded[1][student]
    assert row.points == 0
    # two are notebooks after all, though empty ones
    assert row.failed or student in ("old_format", "surrogate")
    assert row.reasons


def test_nothing_outside_was_touched_or_read(graded):
    course, rows, untouched = graded
    assert untouched
    assert not (course / "touched").exists()
    graded_pages = "".join(path.read_text() for path in course.glob("autograded/**/*.ipynb"))
    assert SECRET not in graded_pages
    page = course / "autograded/search_for_something" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    assert "found in []" in page.read_text()
    page = (course / "autograded/environment" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_text()
    assert "PYTEST" not in page and "HOME=/root" not in page
    for student in ("read_solutions", "read_secret", "read_checks"):
        page = (course / "autograded" / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_text()
        assert "FileNotFoundError" in page or "ModuleNotFoundError" in page, student
    with sqlite3.connect(course / "gradebook.db") as gradebook:
        (count,) = gradebook.execute("select count(*) from submitted_assignment").fetchone()
    assert count == len(rows)


def test_nothing_is_left_running(graded):
    kernels.close()  # those that other tests had in this very process
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        left = [
            (path, _read(path))
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if b"autograder.sandbox.zygote" in _read(path) and _parent(path) in (1, os.getpid())
        ]
        if not left:
            return
        time.sleep(0.1)
    assert not left


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _parent(path):
    """The parent of a process; that of one whose own has ended is the first of all."""
    try:
        return int((path.parent / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0
