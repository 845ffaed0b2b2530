"""nbgrader's view of a course folder."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import sys
import tempfile
from pathlib import Path

from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config, PyFileConfigLoader

from autograder import patches
from autograder.batch.nbgrader_settings import use_own_programs
from autograder.errors import CourseError
from autograder.files import listed, meant, printable
from autograder.order import by_number


class AnyName(CourseDirectory):
    """nbgrader's course folder, whose patterns for paths also match names with line ends."""

    def format_path(
        self, nbgrader_step: str, student_id: str, assignment_id: str, escape: bool = False
    ) -> str:
        path = super().format_path(nbgrader_step, student_id, assignment_id, escape=escape)
        return f"(?s){path}" if escape else path


def open_course(course: Path) -> NbGraderAPI:
    """nbgrader, as the course folder configures it.

    Raises:
        CourseError: it is no course folder.
    """
    use_own_programs()
    patches.for_gradebooks()
    config_file = course / "nbgrader_config.py"
    if not config_file.exists():
        raise CourseError(
            f"no nbgrader_config.py in {course}: name the course folder with --course, or start in it"
        )
    config: Config = PyFileConfigLoader(config_file.name, path=str(course)).load_config()
    root = str(course.resolve())
    config.CourseDirectory.root = root
    if root not in sys.path:  # where nbgrader looks for plugins, but after everything else
        sys.path.append(root)
    return NbGraderAPI(AnyName(config=config), config=config)


def open_assignment(course: Path, assignment: str) -> NbGraderAPI:
    """The same, where the assignment must be there.

    Raises:
        CourseError: it is no course folder, or has no such assignment.
    """
    api = open_course(course)
    solutions = course / api.coursedir.source_directory
    if not (solutions / assignment / f"{assignment}.ipynb").exists():
        there = assignments_of(api, course)
        raise CourseError(
            f"there is no assignment '{printable(assignment)}' in {solutions}. "
            f"{meant(assignment, there) or listed(there)}"
        )
    return api


def assignments_of(api: NbGraderAPI, course: Path) -> list[str]:
    """Ids of the assignments that a course folder has sources of."""
    folders = (course / api.coursedir.source_directory).glob("*/")
    names = (path.name for path in folders if (path / f"{path.name}.ipynb").exists())
    return sorted(names, key=by_number)


def course_secret(course: Path) -> str:
    """What the inputs of checks depend on, beside the submission; made when it is first needed.

    Without it, the inputs could be worked out at home, and answered from a table. It stays the same,
    so that grading again changes nothing; sandboxed code never sees it.
    """
    path = course / "grading" / "secret"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="ascii") as file:
            file.write(secrets.token_hex(16))
            file.flush()
            with contextlib.suppress(FileExistsError):  # another process was faster
                os.link(file.name, path)
    return path.read_text(encoding="ascii")


def scores_in(course: Path) -> list[tuple[str, str, float | None]]:
    """What the gradebook holds for the grader: (student, cell, points), sorted; no person's scores."""
    query = """
        select submitted_assignment.student_id, base_cell.name, grade.auto_score from grade
        join submitted_notebook on grade.notebook_id = submitted_notebook.id
        join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
        join base_cell on grade.cell_id = base_cell.id order by 1, 2
    """
    with contextlib.closing(sqlite3.connect(course / "gradebook.db")) as gradebook:
        return gradebook.execute(query).fetchall()
