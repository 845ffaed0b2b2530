"""All that grading one assignment needs, in a folder that works on a machine without this course."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import tomllib
from dataclasses import replace
from pathlib import Path

from nbgrader.api import Gradebook

from autograder.arrays import INSTALLED
from autograder.batch.course import course_secret, open_assignment
from autograder.batch.release_text import own_text
from autograder.batch.released import release
from autograder.checks.course import allowed_modules, course
from autograder.grade.messages import Job, to_json
from autograder.grade.restore import released_cells
from autograder.sandbox.bubblewrap import FULL

JOB = "job.json"  # the assignment, as a job without a notebook
REQUIREMENTS = "requirements.txt"
COURSE = "course.txt"  # the name of the package that holds the assignments
ENGINE = Path(__file__).resolve().parent.parent
LOCKED = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
# what no check needs of a folder: texts with answers
stays_behind = shutil.ignore_patterns("__pycache__", "notebook.py", "*.egg-info")


def pack(folder: Path, assignment: str, target: Path, secret: bool = True) -> None:
    """Put engine, checks and released cells into a folder, which is made anew.

    Texts with answers stay behind, but the checks hold right answers to each part.

    Args:
        folder: the course's.
        target: where to put it.
        secret: whether the inputs of checks depend on a secret, as they should where students cannot read
            it. It is made of the course's own, which cannot be told from it.

    Raises:
        CourseError: no such course folder or assignment.
        LookupError: the checks of the assignment are not there.
    """
    job = job_of(folder, assignment)
    if secret:
        seed = f"{course_secret(folder)} outside {assignment}"
        job = replace(job, secret=hashlib.sha256(seed.encode()).hexdigest()[:32])
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for source in (ENGINE, *course().folders):
        shutil.copytree(source, target / source.name, ignore=stays_behind)
    for other in set(course().known()) - {assignment}:
        shutil.rmtree(target / course().package / other)
    (target / JOB).write_bytes(to_json(job))
    (target / COURSE).write_text(course().package, encoding="utf-8")
    (target / REQUIREMENTS).write_text(requirements(folder), encoding="utf-8")


def job_of(folder: Path, assignment: str) -> Job:
    """A job for the assignment as its source stands now, without a notebook and without a secret.

    nbgrader makes its release in a folder of its own, so that the course's gradebook stays as it was.
    """
    source = open_assignment(folder, assignment).coursedir.source_directory
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        shutil.copy(folder / "nbgrader_config.py", copy)
        shutil.copytree(folder / source / assignment, copy / source / assignment)
        api = open_assignment(copy, assignment)
        release(api, assignment, copy / "log.txt")
        with Gradebook(api.coursedir.db_url, api.coursedir.course_id) as gradebook:
            cells = released_cells(gradebook, assignment, assignment)
        return Job(
            assignment=assignment,
            notebook="",
            released=tuple(cells),
            isolation=FULL,
            modules=allowed_modules(assignment),
            course=course().package,
            own_text=own_text(copy / source, assignment),
        )


def requirements(folder: Path) -> str:
    """The engine's requirements, one a line, pinned where the course folder has a ``requirements.lock``.

    PyTorch is among them where it is installed, since then notebooks need it.
    """
    lock = folder / "requirements.lock"
    locked = dict(LOCKED.findall(lock.read_text(encoding="utf-8"))) if lock.exists() else {}
    project = tomllib.loads((ENGINE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = project["dependencies"] + (
        project["optional-dependencies"]["torch"] if INSTALLED else []
    )
    return "".join(f"{_pinned(item, locked)}\n" for item in needed)


def _pinned(item: str, locked: dict[str, str]) -> str:
    """A requirement in its locked version; where it is needed stays as it was."""
    wanted, mark, where = item.partition(";")
    name = re.match(r"[\w.-]+", wanted)
    version = locked.get(name[0]) if name else None
    return f"{name[0]}=={version}{mark}{where}" if name and version else item
