"""Command line: build assignments, grade a class, or check one notebook of your own.

python -m autograder build [ASSIGNMENT ...] [--course FOLDER]
python -m autograder grade ASSIGNMENT [--course FOLDER] [--student ID] [--jobs N]
python -m autograder check NOTEBOOK [--assignment ID] [--html FILE]
python -m autograder extension ASSIGNMENT [STUDENT "2 days"]
python -m autograder archive FILE
python -m autograder restore FILE FOLDER
python -m autograder next-term FOLDER
python -m autograder lms scores|unpack|feedback ASSIGNMENT ... [--course FOLDER]
python -m autograder export PLATFORM ASSIGNMENT [--course FOLDER] [--to FOLDER]
python -m autograder watch [--course FOLDER] [--status]
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path

try:
    from autograder.batch import anonymous, archive, extensions, next_term
    from autograder.batch.engine import engine_for
    from autograder.batch.settings import Settings
    from autograder.checks.course import allowed_modules, course
    from autograder.errors import CourseError, EngineError
    from autograder.files import printable
    from autograder.lms import command as lms
    from autograder.platforms import command as platforms
    from autograder.sandbox import bubblewrap, limits
    from autograder.sandbox.bubblewrap import SandboxError
    from autograder.service import command as watching
except ModuleNotFoundError as error:
    print(
        f"expected a Python that has the grader's packages, found {sys.executable}, in which there is no "
        f"{error.name}. Where the course was set up with make, start with .venv/bin/python, or put its "
        "folder first on PATH: export PATH=$PWD/.venv/bin:$PATH",
        file=sys.stderr,
    )
    sys.exit(2)

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
    grade.add_argument(
        "assignment", type=without_slash, help="its id, which begins with a and a number"
    )
    grade.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    grade.add_argument("--student", action="append", default=[], help="only this one; repeatable")
    grade.add_argument("--jobs", type=positive, default=Settings.workers, help="side by side")
    grade.add_argument("--again", action="store_true", help="grade also what has not changed")
    grade.add_argument(
        "--collected-times",
        action="store_true",
        help="take when work came in from timestamp.txt, as `nbgrader collect` writes it; only "
        "where students cannot put such a file there themselves",
    )
    grade.add_argument(
        "--dry-run", action="store_true", help="show whose score would change, and write none of it"
    )
    grade.add_argument(
        "--renamed",
        action="append",
        type=two_names,
        default=[],
        metavar="OLD=NEW",
        help="a cell or a part that was renamed since it was given out, so that answers and scores "
        "follow; said once, and remembered; repeatable",
    )
    grade.add_argument("--no-feedback", action="store_true", help="write no feedback pages")
    grade.add_argument(
        "--feedback-zip",
        action="store_true",
        help="also put all feedback pages, one a student, into one file to upload somewhere",
    )
    grade.add_argument(
        "--alike",
        action="store_true",
        help="also compare submissions with each other, on a page for the instructor alone",
    )
    grade.add_argument(
        "--engine", choices=ENGINES, default=ENGINES[0], help="grade here, or on a Dask cluster"
    )
    grade.add_argument("--scheduler", default="", help="address of the cluster's scheduler")
    grade.add_argument(
        "--isolation",
        choices=(bubblewrap.FULL, bubblewrap.NONE),
        default=bubblewrap.FULL,
        help="none: submissions can read and change all that you can; only where that is no harm",
    )
    group = grade.add_argument_group("what one submission may use")
    for name, default, help_text in limits.flags():
        group.add_argument(
            f"--{name.replace('_', '-')}",
            type=positive,
            default=default,
            metavar="N",
            help=f"{help_text} (default {default})",
        )
    build = commands.add_parser("build", help="write what students get, from what authors write")
    build.add_argument("assignments", nargs="*", type=without_slash, help="their ids; all if none")
    build.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    check = commands.add_parser("check", help="grade your own notebook; it is not changed")
    check.add_argument("notebook", type=Path, help="the notebook with your answers")
    check.add_argument("--assignment", default="", help="its id, if the file has another name")
    check.add_argument("--html", type=Path, help="also write the feedback as a page")
    for module in (anonymous, archive, extensions, next_term, lms, platforms, watching):
        module.add_to(commands)
    options = parser.parse_args(arguments)
    if options.command == "grade" and (options.engine == "dask") != bool(options.scheduler):
        parser.error("--engine dask and --scheduler ADDRESS go together: give both, or neither")
    if "run" in options:
        return options.run(options)
    runs = {"build": run_build, "grade": run_grade, "check": run_check}
    return runs[options.command](options)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, got {text}")
    return number


def two_names(text: str) -> tuple[str, str]:
    old, _, new = text.partition("=")
    if not (old and new) or "=" in new:
        raise argparse.ArgumentTypeError(f"expected OLD=NEW, two names of cells, got {text}")
    return old, new


def without_slash(text: str) -> str:
    """An assignment's id, also where a shell has completed it as a folder."""
    return text.rstrip("/")


def run_build(options: argparse.Namespace) -> int:
    """Exit status 0: all is written; 2: something cannot be built, and the message says what."""
    from autograder.release.assignment import build_assignments
    from autograder.release.tags import BuildError

    try:
        for name in build_assignments(options.course, course().folders[0], options.assignments):
            print(f"assignment  {name}")
    except (BuildError, LookupError) as error:
        print(f"build stopped: {error}", file=sys.stderr)
        return 2
    return 0


def run_grade(options: argparse.Namespace) -> int:
    """Exit status 0: all graded; 1: some submission could not be run; 2: nothing could be done.

    Status 3: the grader itself failed; 130: stopped by Ctrl-C.
    """
    settings = Settings(
        workers=options.jobs,
        isolation=options.isolation,
        limits=limits.from_flags(vars(options)),
        feedback=not options.no_feedback,
        again=options.again,
        collected_times=options.collected_times,
        dry_run=options.dry_run,
        renamed=tuple(options.renamed),
        scheduler=options.scheduler,
    )
    try:
        with engine_for(settings, allowed_modules(options.assignment)) as engine:
            # only here, so that the engine's processes import while this one does
            from autograder.batch.class_report import write_report
            from autograder.batch.classroom import grade_and_compare
            from autograder.batch.feedback_zip import pack_feedback
            from autograder.batch.score_changes import as_text
            from autograder.batch.table import as_table

            graded = grade_and_compare(
                options.course, options.assignment, Progress(), options.student, settings, engine
            )
            rows, changes = graded.rows, as_text(graded.changes)
            isolation = bubblewrap.in_words(options.isolation)
            if options.dry_run:
                report = "nothing was written. The same command without --dry-run writes it"
            elif not options.student:
                pages = write_report(options.course, options.assignment, rows, isolation)
                report = f"class report: {', '.join(map(str, pages))}"
                if options.alike:
                    from autograder.batch.similarity import write_alike

                    page = write_alike(options.course, options.assignment, rows)
                    report += f"\nanswers that are alike, for you alone: {page}"
            else:
                report = "class report: left as it was, since it is about the whole class"
            if options.feedback_zip and not options.dry_run:
                report += f"\nfeedback of {pack_feedback(options.course, options.assignment, rows)}"
    except KeyboardInterrupt:
        print("\nstopped; what is graded is kept, and the same command goes on", file=sys.stderr)
        return 130
    except (CourseError, SandboxError, EngineError, OSError) as error:
        print(f"grading stopped: {error}", file=sys.stderr)
        return 2
    if not options.dry_run:
        print(as_table(rows))
    if options.dry_run or graded.changes.students or graded.changes.change:
        print(f"\n{changes}")
    print(f"\nisolation: {isolation}")
    print(report)
    failed = [row.student for row in rows if row.failed]
    waiting = [row.student for row in rows if row.needs_person and not row.failed]
    if failed:
        print(f"{len(failed)} could not be run: {', '.join(map(printable, failed))}")
    if waiting:
        waits = "waits" if len(waiting) == 1 else "wait"
        print(f"{len(waiting)} {waits} for a person: {', '.join(map(printable, waiting))}")
    return 1 if failed else 0


def run_check(options: argparse.Namespace) -> int:
    """Exit status 0: every point earned; 1: points were lost; 2: it could not be graded."""
    from autograder.grade.self_check import NotGradable, check_notebook, page, summary

    try:
        checked = check_notebook(options.notebook, options.assignment, tell_doing)
    except NotGradable as error:
        print(f"not graded: {error}", file=sys.stderr)
        return 2
    tell_doing("")
    print(summary(checked))
    if options.html:
        options.html.write_text(page(checked, options.notebook, options.html), encoding="utf-8")
        print(f"The same as a page: {options.html}")
    return 0 if all(verdict.right for verdict in checked.report.verdicts.values()) else 1


def tell_doing(what: str) -> None:
    """Say what is being done: in one line of a terminal, or in a file line by line."""
    if sys.stderr.isatty():
        print(f"\r\033[K{printable(what)}", end="", file=sys.stderr, flush=True)
    elif what:
        print(printable(what), file=sys.stderr, flush=True)


def guarded() -> int:
    """`main`; a crash of the grader itself has an exit status of its own, 3."""
    try:
        return main()
    except Exception:  # noqa: BLE001 (whatever nobody has thought of)
        traceback.print_exc()
        print("the grader itself failed: please report the lines above. Nothing graded is lost",
              file=sys.stderr)  # fmt: skip
        return 3


if __name__ == "__main__":
    sys.exit(guarded())
