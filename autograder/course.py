"""nbgrader's view of a course folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config, PyFileConfigLoader

from autograder.errors import CourseError


def use_own_programs() -> None:
    """Put this environment's programs on PATH: nbgrader starts ``alembic`` by its bare name."""
    own = str(Path(sys.executable).parent)
    if own not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = own + os.pathsep + os.environ["PATH"]


def open_course(course: Path) -> NbGraderAPI:
    """nbgrader, as the course folder configures it.

    Raises:
        CourseError: it is no course folder.
    """
    use_own_programs()
    config_file = course / "nbgrader_config.py"
    if not config_file.exists():
        raise CourseError(
            f"no nbgrader_config.py in {course}: name the course folder with --course, or start in it"
        )
    config: Config = PyFileConfigLoader(config_file.name, path=str(course)).load_config()
    config.CourseDirectory.root = str(course.resolve())
    return NbGraderAPI(CourseDirectory(config=config), config=config)


def open_assignment(course: Path, assignment: str) -> NbGraderAPI:
    """The same, where the assignment must be there.

    Raises:
        CourseError: it is no course folder, or has no such assignment.
    """
    api = open_course(course)
    solutions = course / api.coursedir.source_directory
    if not (solutions / assignment / f"{assignment}.ipynb").exists():
        there = sorted(path.name for path in solutions.glob("*") if path.is_dir())
        raise CourseError(
            f"there is no assignment '{assignment}' in {solutions}. "
            f"There {'are' if there else 'is'}: {', '.join(there) or 'none'}."
        )
    return api
