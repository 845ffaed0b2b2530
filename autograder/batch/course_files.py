"""Which files a course folder is made of: the course's own, and those of its students."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.checks.course import course as taught
from autograder.files import plain_files

GRADEBOOK = "gradebook.db"
# made again when they are needed, or in nobody's way
LEFT_OUT_FOLDERS = ("__pycache__", ".ipynb_checkpoints", "aside")
LEFT_OUT = ("lock",)


def files_of_course(coursedir: CourseDirectory) -> Iterator[Path]:
    """What is taught: source and release, the packages that lie in the folder, and what lies beside them.

    Args:
        coursedir: nbgrader's view of the folder.

    Yields:
        paths relative to the folder, without links and devices.
    """
    root = Path(coursedir.root)
    for path in sorted(root.iterdir()):
        beside = (
            path.is_file() and not path.is_symlink() and not path.name.startswith((".", GRADEBOOK))
        )
        if beside and path.suffix not in (".csv", ".zip"):
            yield path.relative_to(root)
    inside = [path.resolve() for path in taught().folders]
    packages = [path.relative_to(root) for path in inside if path.is_relative_to(root)]
    folders = Path(coursedir.source_directory), Path(coursedir.release_directory), *packages
    for folder in folders:
        yield from _below(root, folder)


def files_of_students(coursedir: CourseDirectory) -> Iterator[Path]:
    """What was handed in and what came of it, but for the gradebook: it may be written meanwhile.

    Args, Yields:
        as for `files_of_course`.
    """
    root = Path(coursedir.root)
    for path in sorted(root.glob("*.csv")):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(root)
    for folder in (
        coursedir.submitted_directory,
        coursedir.autograded_directory,
        coursedir.feedback_directory,
        "grading",
    ):
        yield from _below(root, Path(folder))


def links_below(coursedir: CourseDirectory) -> list[str]:
    """Links, pipes and devices in the students' folders, which no archive takes along."""
    root = Path(coursedir.root)
    names = (coursedir.submitted_directory, coursedir.autograded_directory, "grading")
    return [
        str(path.relative_to(root))
        for name in names
        for path in sorted((root / name).rglob("*"))
        if path.is_symlink() or not (path.is_file() or path.is_dir())
    ]


def empty_folders(coursedir: CourseDirectory) -> list[str]:
    """Folders in which somebody handed in nothing: they have a row in the table, too."""
    root = Path(coursedir.root)
    return [
        path.relative_to(root).as_posix()
        for path in sorted((root / coursedir.submitted_directory).rglob("*"))
        if path.is_dir() and not path.is_symlink() and not any(path.iterdir())
    ]


def _below(root: Path, folder: Path) -> Iterator[Path]:
    if (root / folder).is_symlink():
        return
    for path in plain_files(root / folder):
        name = path.relative_to(root)
        if path.name not in LEFT_OUT and not set(name.parts) & set(LEFT_OUT_FOLDERS):
            yield name
