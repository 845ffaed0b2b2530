"""``python -m autograder build``: what students get, from what authors write."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


def add_to(commands: Any) -> None:
    """Add the command to those of ``python -m autograder``."""
    build = commands.add_parser("build", help="write what students get, from what authors write")
    build.add_argument(
        "assignments", nargs="*", type=lambda text: text.rstrip("/"), help="their ids; all if none"
    )
    build.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    build.set_defaults(run=run)
    course = commands.add_parser(
        "new-course", help="lay out a course of your own that works at once"
    )
    course.add_argument("name", help="of its package, such as averages")
    course.add_argument("--to", type=Path, default=Path(), help="folder for it")
    course.set_defaults(run=lay_out_course)
    solution = commands.add_parser(
        "solution", help="write what students may read after the deadline: answers and reasons"
    )
    solution.add_argument("assignment", type=lambda text: text.rstrip("/"), help="its id")
    solution.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    solution.add_argument("--to", type=Path, default=Path("build/solutions"), help="folder for it")
    solution.set_defaults(run=write_solution)


def run(options: argparse.Namespace) -> int:
    """Exit status 0: all is written; 2: something cannot be built, and the message says what."""
    from autograder.checks.course import course
    from autograder.release.assignment import build_assignments
    from autograder.release.tags import BuildError

    try:
        for name in build_assignments(options.course, course().folders[0], options.assignments):
            print(f"assignment  {name}")
    except (BuildError, LookupError) as error:
        print(f"build stopped: {error}", file=sys.stderr)
        return 2
    return 0


def lay_out_course(options: argparse.Namespace) -> int:
    """Exit status 0: all is written; 2: nothing is, and the message says why."""
    from autograder.release.new_course import NotNew, lay_out, what_next

    try:
        for path in lay_out(options.name, options.to):
            print(path)
    except NotNew as problem:
        print(f"nothing was written: {problem}", file=sys.stderr)
        return 2
    print(what_next(options.name))
    return 0


def write_solution(options: argparse.Namespace) -> int:
    """Exit status 0: both files are written; 2: there is no such assignment."""
    import nbformat

    from autograder.batch.course import open_assignment
    from autograder.checks.course import load
    from autograder.errors import CourseError
    from autograder.release.worked_solution import as_page, worked_solution

    name = options.assignment
    try:
        coursedir = open_assignment(options.course, name).coursedir
        assignment = load(name)
    except (CourseError, LookupError) as error:
        print(f"no solution: {error}", file=sys.stderr)
        return 2
    source = options.course / coursedir.source_directory / name / f"{name}.ipynb"
    notebook = worked_solution(nbformat.read(source, as_version=4), assignment)
    options.to.mkdir(parents=True, exist_ok=True)
    target = options.to / f"{name}_solution.ipynb"
    target.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    page = target.with_suffix(".html")
    page.write_text(as_page(notebook, source.parent), encoding="utf-8")
    print(f"{target}: its links work where the assignment lies\n{page}: to upload anywhere")
    return 0
