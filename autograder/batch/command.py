"""``python -m autograder grade``: a class, or some of its students."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.batch.engine import Engine, engine_for
from autograder.batch.settings import Settings
from autograder.checks.course import allowed_modules
from autograder.errors import CourseError, EngineError
from autograder.files import printable
from autograder.sandbox import bubblewrap, limits
from autograder.sandbox.bubblewrap import SandboxError

if TYPE_CHECKING:  # the engine's processes import while this one does, see `run`
    from autograder.batch.classroom import Graded

ENGINES = ("local", "dask")
HOW_TIMES_ARE_SET = (
    "`hand-in FILE --student ID --at TIME` sets it for one, `lms came-in` for all of a table"
)


def add_to(commands: Any) -> None:
    """Add the command to those of ``python -m autograder``."""
    grade = commands.add_parser("grade", help="grade all submissions of an assignment")
    grade.set_defaults(run=run, refuse=grade.error)
    grade.add_argument(
        "assignment",
        type=lambda text: text.rstrip("/"),
        help="its id, which begins with a and a number",
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
    grade.add_argument("--no-feedback", action="store_true", help="write no feedback pages")
    grade.add_argument(
        "--feedback-zip",
        action="store_true",
        help="also put all feedback pages, one a student, into one file to upload somewhere",
    )
    grade.add_argument(
        "--alike",
        action="store_true",
        help="also compare submissions with each other, in a table for the instructor alone",
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


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, got {text}")
    return number


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


def run(options: argparse.Namespace) -> int:
    """Exit status 0: all graded; 1: some submission could not be run; 2: nothing could be done.

    130: stopped by Ctrl-C.
    """
    if (options.engine == "dask") != bool(options.scheduler):
        options.refuse("--engine dask and --scheduler ADDRESS go together: give both, or neither")
    settings = Settings(
        workers=options.jobs,
        isolation=options.isolation,
        limits=limits.from_flags(vars(options)),
        feedback=not options.no_feedback,
        again=options.again,
        collected_times=options.collected_times,
        dry_run=options.dry_run,
        scheduler=options.scheduler,
    )
    try:
        with engine_for(settings, allowed_modules(options.assignment)) as engine:
            graded, lines = _graded(options, settings, engine)
            lost = [] if options.student else _misplaced(options)
    except KeyboardInterrupt:
        print("\nstopped; what is graded is kept, and the same command goes on", file=sys.stderr)
        return 130
    except (CourseError, SandboxError, EngineError, OSError) as error:
        print(f"grading stopped: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines).lstrip("\n"))
    from autograder.batch.appeals import in_the_end  # here, since it brings nbgrader along

    failed = [row.student for row in graded.rows if row.failed and row.needs_person]
    waiting = [row.student for row in graded.rows if row.needs_person and not row.failed]
    if failed:
        print(f"{len(failed)} could not be run: {', '.join(map(printable, failed))}")
        print(
            f"    points by hand settle it, in the formgrader or by `settle {options.assignment} ID --points N`"
        )
    if waiting:
        waits = "waits" if len(waiting) == 1 else "wait"
        print(f"{len(waiting)} {waits} for a person: {', '.join(map(printable, waiting))}")
    asked = {row.student: row.asked for row in graded.rows}
    if said := in_the_end(asked, _where_asked(options)):
        print(said)
    timeless = [row.student for row in graded.rows if row.timeless]
    if timeless:
        print(f"{len(timeless)} without a time at which it came in, and so never late: "
              f"{', '.join(map(printable, timeless))}\n    {HOW_TIMES_ARE_SET}")  # fmt: skip
    if lost:
        print(_lost_in_words(lost, options.assignment))
    return 1 if failed or lost else 0


def _where_asked(options: argparse.Namespace) -> str:
    from autograder.batch.class_report import ASKED

    page = options.course / "grading" / options.assignment / ASKED
    if options.student or options.dry_run:
        return f"grading the whole class writes {page}, which says at what, and how to settle it"
    return f"{page} says at what and why, and how to settle it"


def _misplaced(options: argparse.Namespace) -> list[str]:
    from autograder.batch.classroom import misplaced

    return [printable(str(path)) for path in misplaced(options.course, options.assignment)]


def _lost_in_words(lost: Sequence[str], assignment: str) -> str:
    """Whose work is not graded for its folder's name."""
    why = "its folder is" if len(lost) == 1 else "their folders are"
    return f"{len(lost)} not graded, since {why} not called {assignment}: {', '.join(lost)}"


def _graded(
    options: argparse.Namespace, settings: Settings, engine: Engine
) -> tuple[Graded, list[str]]:
    """Grade, write the reports that are asked for, and say what came of it."""
    from autograder.batch import class_report, score_changes
    from autograder.batch.classroom import grade_and_compare
    from autograder.batch.excused import excused_from, without_excused
    from autograder.batch.roster import enrol, roster_of

    roster = roster_of(options.course)
    if not options.dry_run:
        enrol(options.course, roster)
    excused = excused_from(options.course, options.assignment)
    graded = grade_and_compare(
        options.course, options.assignment, Progress(), options.student, settings, engine
    )
    graded = replace(graded, rows=without_excused(graded.rows, excused))
    changes = score_changes.as_text(graded.changes)
    isolation = bubblewrap.in_words(options.isolation)
    whole_class = {} if options.student else roster
    lines = [] if options.dry_run else [class_report.as_text(graded.rows, whole_class, excused)]
    lines += [f"\n{line}" for line in graded.dated]
    if options.dry_run or graded.changes.students:
        lines.append(f"\n{changes}")
    lines.append(f"\nisolation: {isolation}")
    if options.dry_run:
        lines.append("nothing was written. The same command without --dry-run writes it")
    else:
        lines += _reports(options, graded, isolation)
    return graded, lines


def _reports(options: argparse.Namespace, graded: Graded, isolation: str) -> Iterator[str]:
    """Write the reports, and say where they are."""
    from autograder.batch.class_report import write_report
    from autograder.batch.feedback_zip import pack_feedback

    about = options.course, options.assignment, graded.rows
    if options.student:
        yield "class report: left as it was, since it is about the whole class"
    else:
        yield f"class report: {', '.join(map(str, write_report(*about, isolation)))}"
        if options.alike:
            from autograder.batch.similarity import write_pairs

            table, pairs = write_pairs(options.course, options.assignment)
            yield f"answers that are alike, for you alone: {table}, pairs: {pairs}"
    if options.feedback_zip:
        yield f"feedback of {pack_feedback(*about)}"
