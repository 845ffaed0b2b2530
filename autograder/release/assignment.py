"""An assignment's text becomes nbgrader's source version, and that its release."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from traitlets.config import PyFileConfigLoader

from autograder import patches
from autograder.release.source import (
    ASSIGNMENT_EXAMPLE,
    ASSIGNMENT_NAME,
    ASSIGNMENT_TEXT,
    Source,
    clean_metadata,
    give_ids,
    sources_in,
    write_notebook,
)
from autograder.release.tags import BuildError, add_nbgrader_metadata, checks_of


def assignments_in(package: Path) -> list[Source]:
    """The texts of all assignments in a course's package."""
    texts = f"{package.name}/*/{ASSIGNMENT_TEXT}"
    return sources_in(package.parent, texts, ASSIGNMENT_NAME, ASSIGNMENT_EXAMPLE)


def build_solution(source: Source) -> NotebookNode:
    """nbgrader's source version of an assignment: answers and hidden checks in it, no outputs."""
    notebook = nbformat.from_dict(source.notebook)
    add_nbgrader_metadata(notebook, source.file, checks_of(source.name))
    give_ids(notebook, source.file)
    clean_metadata(notebook, source.course)
    return notebook


def release(assignment: str, course: Path, solutions: Path, exercises: Path) -> None:
    """Run nbgrader's own release step: solutions/<id>/ in, exercises/<id>/ out.

    The course's nbgrader_config.py says what stands in an answer's place.
    """
    # here, since whoever builds a lecture does without nbgrader, which takes a while to import
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.utils import capture_log

    from autograder.batch.nbgrader_settings import use_own_programs

    use_own_programs()
    patches.for_gradebooks()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(solutions / assignment, Path(folder, "solutions", assignment))
        config = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
        config.CourseDirectory.root = folder
        config.CourseDirectory.source_directory = "solutions"
        config.CourseDirectory.release_directory = "exercises"
        config.CourseDirectory.assignment_id = assignment
        config.GenerateAssignment.permissions = 644
        coursedir = CourseDirectory(config=config)
        converter = GenerateAssignment(coursedir=coursedir, config=config)
        result = capture_log(converter)
        if not result["success"]:
            raise BuildError(f"nbgrader could not release {assignment}:\n{result['log']}")
        shutil.rmtree(exercises / assignment, ignore_errors=True)
        shutil.copytree(Path(folder, "exercises", assignment), exercises / assignment)


def build_assignments(course: Path, package: Path, names: list[str]) -> list[str]:
    """Write solutions/ and exercises/ of a course, of all its assignments or some; their ids come back."""
    sources = [
        source for source in assignments_in(package) if source.name in (names or [source.name])
    ]
    missing = set(names) - {source.name for source in sources}
    if missing:
        raise BuildError(f"no assignment '{missing.pop()}' with a {ASSIGNMENT_TEXT} in {package}.")
    for source in sources:
        solution = course / "solutions" / source.name / f"{source.name}.ipynb"
        write_notebook(build_solution(source), solution)
        release(source.name, course, course / "solutions", course / "exercises")
    return [source.name for source in sources]
