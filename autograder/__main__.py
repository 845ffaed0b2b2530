"""Command line: python -m autograder grade ASSIGNMENT [--course FOLDER] [--student ID]."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from autograder.classroom import CourseError, as_table, grade_class


def show_progress(done: int, of: int, student: str) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == of else ""
        print(f"\r\033[Kgrading {done} of {of}  {student}", end=end, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0: all graded; 1: some submission could not be run; 2: nothing could be done."""
    parser = argparse.ArgumentParser(prog="python -m autograder")
    commands = parser.add_subparsers(dest="command", required=True)
    grade = commands.add_parser("grade", help="grade all submissions of an assignment")
    grade.add_argument("assignment", help="its id, such as a2_self_attention")
    grade.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    grade.add_argument("--student", action="append", default=[], help="only this one; repeatable")
    options = parser.parse_args(arguments)
    try:
        rows = grade_class(options.course, options.assignment, show_progress, options.student)
    except CourseError as error:
        print(f"grading stopped: {error}", file=sys.stderr)
        return 2
    print(as_table(rows))
    failed = [row.student for row in rows if row.failed]
    if failed:
        print(f"\nneeds a human look: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
