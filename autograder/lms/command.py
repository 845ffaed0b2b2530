"""``python -m autograder lms``: scores, submissions and feedback between a course and a platform."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from autograder.batch.came_in import add_zone_to
from autograder.batch.dates import zone_of
from autograder.errors import CourseError
from autograder.files import write_whole
from autograder.lms.summary import Summary


def add_to(commands: argparse._SubParsersAction) -> None:
    """Add the command and its own commands to the parser's."""
    description = (
        "take submissions, scores and feedback from and to Canvas, Moodle or another platform"
    )
    lms = commands.add_parser("lms", help=description, description=description)
    lms.set_defaults(run=run)
    jobs = lms.add_subparsers(dest="job", required=True)

    scores = _job(jobs, "scores", "put scores into the platform's own table")
    scores.add_argument("export", type=Path, help="the table, as the platform exports it (CSV)")
    scores.add_argument("--column", default="", help="takes the scores; by its title or number")
    scores.add_argument(
        "--points", type=positive, help="what the column gives at most, if the table is silent"
    )
    scores.add_argument("--scale", action="store_true", help="turn our points into the platform's")
    scores.add_argument(
        "--also-waiting", action="store_true", help="also those for whom a person has to look first"
    )
    scores.add_argument("-o", "--output", type=Path, help="the file to upload")
    scores.add_argument("--dry-run", action="store_true", help="say what would be, write nothing")

    students = "the platform's table that says who is who: Canvas's gradebook, Moodle's worksheet"
    unpack = _job(jobs, "unpack", "unpack the platform's archive of submissions")
    unpack.add_argument("archive", type=Path, help="the archive (zip), as the platform gives it")
    unpack.add_argument("--students", type=Path, help=students)
    later = "this archive is later than what is here, where the platform does not say which is"
    unpack.add_argument("--later", action="store_true", help=later)
    unpack.add_argument("--dry-run", action="store_true", help="say what would be, write nothing")
    add_zone_to(unpack)

    came_in = _job(jobs, "came-in", "take from a table when work came in")
    came_in.add_argument("table", type=Path, help="with a row a student (CSV)")
    came_in.add_argument("--column", default="", help="holds the times; “time” if it is left out")
    came_in.add_argument("--dry-run", action="store_true", help="say what would be, write nothing")
    add_zone_to(came_in)

    feedback = _job(jobs, "feedback", "pack feedback pages as the platform takes them")
    like = "the platform's archive of submissions, whose names are taken; or Moodle's worksheet"
    feedback.add_argument("--like", type=Path, required=True, help=like)
    feedback.add_argument("--students", type=Path, help=students)


def _job(jobs: argparse._SubParsersAction, name: str, description: str) -> argparse.ArgumentParser:
    """One of the command's own commands, with what all of them have."""
    job = jobs.add_parser(name, help=description, description=description)
    job.add_argument("assignment", type=lambda text: text.rstrip("/"), help="its id")
    job.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    job.add_argument(
        "--by", default="", help="column with your ids: sis, login, id, email, or its name"
    )
    return job


def positive(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"expected points above 0, got {text}")
    return number


def run(options: argparse.Namespace) -> int:
    """Exit status 0: done, for everybody; 1: done, and somebody is listed; 2: nothing was done."""
    jobs = {"scores": _scores, "unpack": _unpack, "came-in": _came_in, "feedback": _feedback}
    try:
        summary = jobs[options.job](options)
    except (CourseError, OSError) as error:
        print(f"stopped: {error}", file=sys.stderr)
        return 2
    print("\n".join(summary.lines))
    return 0 if summary.complete else 1


def _scores(options: argparse.Namespace) -> Summary:
    from autograder.lms.scores import Options, summary_of, transfer_of

    wanted = Options(
        options.by, options.column, options.points, options.scale, options.also_waiting
    )
    scores = transfer_of(options.course, options.assignment, options.export, wanted)
    if caution := scores.sheet.caution(scores.column):
        print(f"{caution}.\n")
    summary = summary_of(scores)
    folder = options.course / "grading" / options.assignment
    target = options.output or folder / f"scores_{options.export.name}"
    if options.dry_run:
        summary.lines.append(f"nothing was written; without --dry-run it would be {target}")
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, scores.to_upload())
        advice = scores.sheet.advice
        summary.lines.append(f"to upload {advice}: {target}" if advice else str(target))
    return summary


def _unpack(options: argparse.Namespace) -> Summary:
    from autograder.lms.unpack import unpack

    summary = unpack(
        options.course,
        options.assignment,
        options.archive,
        options.students,
        options.by,
        zone_of(options),
        options.later,
        options.dry_run,
    )
    if options.dry_run:
        summary.lines.append("nothing was written")
    return summary


def _came_in(options: argparse.Namespace) -> Summary:
    from autograder.lms.came_in import take_times

    by, column, zone = options.by, options.column, zone_of(options)
    return take_times(
        options.course, options.assignment, options.table, by, column, zone, options.dry_run
    )


def _feedback(options: argparse.Namespace) -> Summary:
    from autograder.lms.pack import pack

    return pack(options.course, options.assignment, options.like, options.students, options.by)
