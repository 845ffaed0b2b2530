"""Command line: grade a class, or check one notebook of your own.

python -m autograder grade ASSIGNMENT [--course FOLDER] [--student ID] [--jobs N]
python -m autograder check NOTEBOOK [--assignment ID] [--html FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from pathlib import Path

from autograder import sandbox
from autograder.engine import engine_for
from autograder.errors import CourseError, EngineError
from autograder.files import printable
from autograder.sandbox import Limits, SandboxError
from autograder.settings import Settings

ENGINES = ("local", "dask")


class Progress:
    """A line that tells how far the batch is, how fast it goes and when it will be done."""

    def __init__(self) -> None:
        self.began = time.monotonic()

    def __call__(self, done: int, of: int, what: str) -> None:
        if not sys.stderr.isatty():
            return
        if done == 1:
            self.began = time.monotonic()  # starting is over
        rate = (done - 1) / max(time.monotonic() - self.began, 1e-3)
        speed = f"{rate:.1f} a second, {(of - done) / rate:.0f} s left" if rate else ""
        line = f"{'█' * (20 * done // of):<20} {done} of {of}  {speed}  {printable(what)}"
        end = "\n" if done == of else ""
        print(f"\r\033[K{line}", end=end, file=sys.stderr, flush=True)


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
        "--engine", choices=ENGINES, default=ENGINES[0], help="grade here, or on a Dask cluster"
    )
    grade.add_argument("--scheduler", default="", help="address of the cluster's scheduler")
    grade.add_argument(
        "--isolation",
        choices=(sandbox.FULL, sandbox.NONE),
        default=sandbox.FULL,
        help="none: submissions can read and change all that you can; only where that is no harm",
    )
    limits = grade.add_argument_group("what one submission may use")
    for name, default, help_text in (
        ("seconds-per-cell", Settings.seconds_per_cell, "for one cell"),
        ("seconds", Settings.seconds, "for the whole notebook"),
        ("cpu", Limits.cpu, "seconds of processor time"),
        ("memory", Limits.memory >> 20, "MiB beyond what the imports take"),
        ("disk", Limits.disk >> 20, "MiB in its folder and /tmp together"),
        ("file", Limits.file >> 20, "MiB in one file"),
        ("files", Limits.files, "open files"),
        ("output", Limits.output >> 20, "MiB that it may print and show"),
    ):
        help_text = f"{help_text} (default {default})"
        limits.add_argument(
            f"--{name}", type=positive, default=default, metavar="N", help=help_text
        )
    check = commands.add_parser("check", help="grade your own notebook; it is not changed")
    check.add_argument("notebook", type=Path, help="the notebook with your answers")
    check.add_argument("--assignment", default="", help="its id, if the file has another name")
    check.add_argument("--html", type=Path, help="also write the feedback as a page")
    options = parser.parse_args(arguments)
    if options.command == "grade" and (options.engine == "dask") != bool(options.scheduler):
        parser.error("--engine dask and --scheduler ADDRESS go together: give both, or neither")
    return run_grade(options) if options.command == "grade" else run_check(options)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, got {text}")
    return number


def run_grade(options: argparse.Namespace) -> int:
    """Exit status 0: all graded; 1: some submission could not be run; 2: nothing could be done.

    Status 130: stopped by Ctrl-C.
    """
    settings = Settings(
        workers=options.jobs,
        isolation=options.isolation,
        seconds_per_cell=options.seconds_per_cell,
        seconds=options.seconds,
        limits=Limits(
            memory=options.memory << 20,
            cpu=options.cpu,
            file=options.file << 20,
            disk=options.disk << 20,
            files=options.files,
            output=options.output << 20,
        ),
        feedback=not options.no_feedback,
        again=options.again,
        scheduler=options.scheduler,
    )
    try:
        with contextlib.closing(engine_for(settings)) as engine:
            # only here, so that the engine's processes import while this one does
            from autograder.class_report import write_report
            from autograder.classroom import as_table, grade_class

            rows = grade_class(
                options.course, options.assignment, Progress(), options.student, settings, engine
            )
            if not options.student:
                pages = write_report(options.course, options.assignment, rows, options.isolation)
                report = f"class report: {', '.join(map(str, pages))}"
            else:
                report = "class report: left as it was, since it is about the whole class"
    except KeyboardInterrupt:
        print("\nstopped; what is graded is kept, and the same command goes on", file=sys.stderr)
        return 130
    except (CourseError, SandboxError, EngineError, OSError) as error:
        print(f"grading stopped: {error}", file=sys.stderr)
        return 2
    print(as_table(rows))
    print(f"\nisolation: {options.isolation}")
    print(report)
    failed = [row.student for row in rows if row.failed]
    waiting = [row.student for row in rows if row.needs_person and not row.failed]
    if failed:
        print(f"could not be run: {', '.join(map(printable, failed))}")
    if waiting:
        print(f"waits for a person: {', '.join(map(printable, waiting))}")
    return 1 if failed else 0


def run_check(options: argparse.Namespace) -> int:
    """Exit status 0: every point earned; 1: points were lost; 2: it could not be graded."""
    from autograder.alone import NotGradable, check_notebook, page, summary

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
