"""A course folder for the next term: all that is taught, and nothing of its students.

python -m autograder next-term FOLDER [--course FOLDER]
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

from autograder.errors import CourseError
from autograder.order import by_number


def start_next_term(course: Path, folder: Path) -> list[str]:
    """Copy what is taught into a new folder. The checks get a new secret, and the gradebook is empty.

    Args:
        course: the old folder.
        folder: the new one, which must not be there, or be empty.

    Returns:
        the assignments that are there now.

    Raises:
        CourseError: the folder holds something, or lies in the old one.
    """
    from autograder.batch.course import open_course
    from autograder.batch.course_files import files_of_course

    coursedir = open_course(course).coursedir
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CourseError(f"{folder} is there already: name a new folder, or an empty one")
    if folder.resolve().is_relative_to(coursedir.root):
        raise CourseError(f"{folder} lies in the old course: name a folder beside it")
    for path in files_of_course(coursedir):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(Path(coursedir.root, path), folder / path)
    solutions = (folder / coursedir.source_directory).glob("*")
    return sorted((path.name for path in solutions if path.is_dir()), key=by_number)


def add_to(commands: Any) -> None:
    """Add the subcommand to those of the command line."""
    command = commands.add_parser("next-term", help="a new course folder, without the students")
    command.add_argument("folder", type=Path, help="the folder to make")
    command.add_argument("--course", type=Path, default=Path(), help="folder of the old course")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit status 0: done; 2: nothing was done, and the message says why."""
    try:
        names = start_next_term(options.course, options.folder)
    except (CourseError, OSError) as error:
        print(f"no new course folder: {error}", file=sys.stderr)
        return 2
    count = f"{len(names)} assignment{'' if len(names) == 1 else 's'}"
    print(f"{options.folder}: {count}, no students; it gets a gradebook of its own")
    print("Due dates were last term's, so set new ones.")
    return 0
