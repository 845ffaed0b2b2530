"""Command line: grade a class, or check one notebook of your own.

python -m autograder grade ASSIGNMENT [--course FOLDER] [--student ID] [--jobs N]
python -m autograder check NOTEBOOK [--assignment ID] [--html FILE]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from autograder import sandbox
from autograder.alone import NotGradable, check_notebook, page, summary
from autograder.batch import WorkerError
from autograder.class_report import write_report
from autograder.classroom import CourseError, Settings, as_table, grade_class
from autograder.sandbox import SandboxError


class Progress:
    """A line that tells how far the batch is, how fast it goes and when it will be done."""

    def __init__(self) -> None:
        self.began = time.monotonic()

    def __call__(self, done: int, of: int, student: str) -> None:
        if not sys.stderr.isatty():
            return
        rate = done / max(time.monotonic() - self.began, 1e-3)
        left = (of - done) / rate
        bar = "█" * (20 * done // of)
        end = "\n" if done == of else ""
        print(
            f"\r\033[K{bar:<20} {done} of {of}  {rate:.1f} a second, {left:.0f} s left  {student}",
            end=end, file=sys.stderr, flush=True,
        )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0: all well; 1: something lost points or needs a look; 2: nothing was done."""
    parser = argparse.ArgumentParser(prog="python -m autograder")
    commands = parser.add_subparsers(dest="command", required=True)
    grade = commands.add_parser("grade", help="grade all submissions of an assignment")
    grade.add_argument("assignment", help="its id, such as a2_self_attention")
    grade.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    grade.add_argument("--student", action="append", default=[], help="only this one; repeatable")
    grade.add_argument("--jobs", type=positive, default=Settings.workers, help="side by side")
    grade.add_argument("--again", action="store_true", help="grade also what has not changed")
    grade.add_argument("--no-feedback", action="store_true", help="write no feedback pages")
    grade.add_argument(
        "--isolation",
        choices=(sandbox.FULL, sandbox.NONE),
        default=sandbox.FULL,
        help="none: submissions can read and change all that you can; only where that is no harm",
    )
    check = commands.add_parser("check", help="grade your own notebook; it is not changed")
    check.add_argument("notebook", type=Path, help="the notebook with your answers")
    check.add_argument("--assignment", default="", help="its id, if the file has another name")
    check.add_argument("--html", type=Path, help="also write the feedback as a page")
    options = parser.parse_args(arguments)
    return run_grade(options) if options.command == "grade" else run_check(options)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number of processes from 1 on, got {text}")
    return number


def run_grade(options: argparse.Namespace) -> int:
    """Exit status 0: all graded; 1: some submission could not be run; 2: nothing could be done."""
    settings = Settings(
        workers=options.jobs,
        isolation=options.isolation,
        feedback=not options.no_feedback,
        again=options.again,
    )
    try:
        rows = grade_class(
            options.course, options.assignment, Progress(), options.student, settings
        )
    except (CourseError, SandboxError, WorkerError) as error:
        print(f"grading stopped: {error}", file=sys.stderr)
        return 2
    print(as_table(rows))
    print(f"\nisolation: {options.isolation}")
    pages = write_report(options.course, options.assignment, rows, options.isolation)
    print(f"class report: {', '.join(str(page) for page in pages)}")
    failed = [row.student for row in rows if row.failed]
    if failed:
        print(f"needs a human look: {', '.join(failed)}")
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
