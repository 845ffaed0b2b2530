"""Command line: grade a class, or check one notebook of your own.

python -m autograder grade ASSIGNMENT [--course FOLDER] [--student ID]
python -m autograder check NOTEBOOK [--assignment ID] [--html FILE]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from autograder.alone import NotGradable, check_notebook, page, summary
from autograder.classroom import CourseError, as_table, grade_class


def show_progress(done: int, of: int, student: str) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == of else ""
        print(f"\r\033[Kgrading {done} of {of}  {student}", end=end, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0: all well; 1: something lost points or needs a look; 2: nothing was done."""
    parser = argparse.ArgumentParser(prog="python -m autograder")
    commands = parser.add_subparsers(dest="command", required=True)
    grade = commands.add_parser("grade", help="grade all submissions of an assignment")
    grade.add_argument("assignment", help="its id, such as a2_self_attention")
    grade.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    grade.add_argument("--student", action="append", default=[], help="only this one; repeatable")
    check = commands.add_parser("check", help="grade your own notebook; it is not changed")
    check.add_argument("notebook", type=Path, help="the notebook with your answers")
    check.add_argument("--assignment", default="", help="its id, if the file has another name")
    check.add_argument("--html", type=Path, help="also write the feedback as a page")
    options = parser.parse_args(arguments)
    return run_grade(options) if options.command == "grade" else run_check(options)


def run_grade(options: argparse.Namespace) -> int:
    """Exit status 0: all graded; 1: some submission could not be run; 2: nothing could be done."""
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


def run_check(options: argparse.Namespace) -> int:
    """Exit status 0: every point earned; 1: points were lost; 2: it could not be graded."""
    try:
        verdicts = check_notebook(options.notebook, options.assignment)
    except NotGradable as error:
        print(f"not graded: {error}", file=sys.stderr)
        return 2
    print(summary(verdicts))
    if options.html:
        options.html.write_text(page(options.notebook.stem, verdicts), encoding="utf-8")
        print(f"The same as a page: {options.html}")
    return 0 if all(verdict.right for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
