"""Grade a class: many submissions side by side, each in a sandbox, and lose none of them.

nbgrader's folders and gradebook stay the truth: what is written here, the formgrader shows,
``nbgrader export`` exports, and ``nbgrader generate_feedback`` turns into pages.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.batch.course import (
    assignments_of,
    course_secret,
    open_assignment,
    open_course,
)
from autograder.batch.dates import enter, read_dates
from autograder.batch.engine import Engine
from autograder.batch.gradebook_writer import GradebookWriter
from autograder.batch.pool import Pool
from autograder.batch.regrade import Regrade, gradebook_of
from autograder.batch.release_text import own_text
from autograder.batch.run import digest_of_class, run_jobs
from autograder.batch.run_lock import logged, nothing_lost, only_one
from autograder.batch.score_changes import ScoreChanges
from autograder.batch.settings import Settings
from autograder.batch.sheets import Sheets
from autograder.batch.student_result import StudentResult
from autograder.batch.whose_notebook import another_instead
from autograder.checks.course import course as taught_course
from autograder.checks.course import course_named
from autograder.errors import CourseError
from autograder.files import cut, listed, meant, nearest, printable
from autograder.grade.invalid import InvalidSubmission
from autograder.grade.messages import Job, ReleasedCell
from autograder.grade.report import Report
from autograder.grade.submission import read_folder
from autograder.sandbox import bubblewrap


@dataclass(frozen=True)
class Graded:
    """What a grading gave: a row for each student, whose score it changed, and whether the due date is another."""

    rows: list[StudentResult]
    changes: ScoreChanges
    dated: Sequence[str] = ()


def grade_class(
    course: Path,
    assignment: str,
    progress: Callable[[int, int, str], None],
    students: Sequence[str],
    settings: Settings,
    engine: Engine,
) -> list[StudentResult]:
    """The rows of `grade_and_compare`."""
    return grade_and_compare(course, assignment, progress, students, settings, engine).rows


def grade_and_compare(
    course: Path,
    assignment: str,
    progress: Callable[[int, int, str], None],
    students: Sequence[str],
    settings: Settings,
    engine: Engine,
) -> Graded:
    """Grade every submission of an assignment, record it, and write feedback pages.

    What was interrupted is taken up where it was; what has not changed is not graded again. Where the
    assignment, or what decides it, has changed since work was graded, all new results are
    written at once, when the last of them is there.

    Args:
        course: folder with nbgrader_config.py, solutions/ and submitted/.
        progress: told (done, of, what) after each submission, then after each feedback page.
        students: grade only these; all if empty.
        engine: what runs them, as `engine_for` opens it.

    Returns:
        one row per student, in alphabetical order, broken submissions among them; and what changed.

    Raises:
        CourseError: no such course folder, assignment or student, nothing was submitted, or cells or
            points are not those by which students have been graded.
        EngineError: nothing can be run.
        bubblewrap.SandboxError: full isolation is asked for and unavailable on this machine.
    """
    api = open_assignment(course, assignment)
    submitted = _submitted(course, assignment)
    for student in students:
        if student not in submitted:
            raise CourseError(
                f"no submission of '{printable(student)}' for {assignment}. "
                f"{meant(student, submitted) or listed(submitted)}"
            )
    some = bool(students)
    students = [student for student in submitted if student in (students or submitted)]
    kept = course / "grading" / assignment
    kept.mkdir(parents=True, exist_ok=True)
    with only_one(kept / "lock"), logged(kept / "log.txt"), nothing_lost(api.coursedir.db_url):
        with gradebook_of(api, settings.dry_run) as gradebook:
            dated = enter(gradebook, read_dates(course).due, [assignment])
            regrade = Regrade(api, course, assignment, gradebook, kept, settings)
            regrade.prepare()
            recorder = GradebookWriter(api, course, assignment, gradebook, kept, settings)
            if not (some or settings.dry_run):
                recorder.let_go(students)
            whole = job_of_class(course, assignment, tuple(regrade.cells), settings)
            sheets = Sheets(kept, keep=not settings.dry_run)

            def jobs() -> Iterator[tuple[str, Job | Report]]:
                for student in students:
                    folder = course / "submitted" / student / assignment
                    try:
                        job = job_of(folder, whole)
                        yield student, replace(job, sheet=sheets.of(student, job.digest))
                    except InvalidSubmission as problem:
                        yield student, problem.report
                    except Exception as error:  # noqa: BLE001 (one student's folder stops nobody)
                        reason = (
                            f"what was handed in cannot be read: {type(error).__name__}: {error}"
                        )
                        yield student, Report(cut(reason))

            common, done = digest_of_class(whole), itertools.count(1)
            for works in run_jobs(jobs(), common, kept, engine, recorder.has, settings.again):
                regrade.take(recorder, works)
                for work in works:
                    progress(next(done), len(students), work.student)
            changes = regrade.finish(recorder)
        if settings.feedback and not settings.dry_run:
            write_feedback(recorder, settings, engine, progress)
    return Graded([recorder.rows[student] for student in students], changes, dated)


def write_feedback(
    recorder: GradebookWriter,
    settings: Settings,
    engine: Engine,
    progress: Callable[[int, int, str], None],
) -> None:
    """Make feedback pages for what is new, and for those that lack one, side by side."""
    students = recorder.without_feedback()
    if not students:
        return
    with contextlib.ExitStack() as stack:
        if isinstance(engine, Pool):
            local = engine
        else:  # pages are made beside the gradebook
            local = stack.enter_context(
                contextlib.closing(Pool(settings.workers, bubblewrap.NONE, ()))
            )
        writing = {
            local.write_feedback(recorder.course, recorder.assignment, student): student
            for student in students
        }
        for count, future in enumerate(as_completed(writing), 1):
            student = writing[future]
            recorder.take_feedback(student, future.result())
            progress(count, len(students), f"feedback of {student}")


def _submitted(course: Path, assignment: str) -> list[str]:
    folders = (course / "submitted").glob("*")
    # also where it is a link to nothing
    students = sorted(path.name for path in folders if os.path.lexists(path / assignment))
    if not students:
        submitted = course / "submitted"
        others = (path for depth in ("*/*/*.ipynb", "*/*.ipynb") for path in submitted.glob(depth))
        lies = next(iter(misplaced(course, assignment)), None) or min(others, default=None)
        found = f"found others, such as {printable(str(lies))}" if lies else "found nothing"
        raise CourseError(
            f"nothing to grade: no folder matches {submitted}/STUDENT/{assignment}, {found}. Each student's notebook "
            f"belongs there, as {submitted}/STUDENT/{assignment}/{assignment}.ipynb."
        )
    return students


def misplaced(course: Path, assignment: str) -> list[Path]:
    """What students have in ``submitted/`` that is named nearly like an assignment, so that it is not graded."""
    there = assignments_of(open_course(course), course)
    found = (course / "submitted").glob("[!.]*/[!.]*")
    return sorted(
        path for path in found if path.name not in there and nearest(path.name, there) == assignment
    )


def job_of_class(
    course: Path, assignment: str, released: tuple[ReleasedCell, ...], settings: Settings
) -> Job:
    """A job with all that a class has in common, and no submission in it."""
    solutions = course / open_assignment(course, assignment).coursedir.source_directory
    taught = taught_course()
    return Job(
        assignment=assignment,
        notebook="",
        released=released,
        isolation=settings.isolation,
        limits=settings.limits,
        modules=taught.allowed_modules(assignment),
        course=taught.package,
        secret=course_secret(course),
        own_text=own_text(solutions, assignment),
    )


def job_of(folder: Path, whole: Job) -> Job:
    """Everything that grading the submission in a folder needs; what the class has in common is given.

    Raises:
        InvalidSubmission: it is not what a student hands in.
    """
    assignment = whole.assignment
    handed_in = read_folder(folder, assignment, course_named(whole.course))
    own = {cell.name for cell in whole.released}
    other = another_instead(folder.parents[2], assignment, own, handed_in.notebook)
    if other:
        problem = InvalidSubmission(
            f"this is the notebook of “{other}”, and none of {assignment}",
            f"Ask for {assignment}.ipynb",
        )
        problem.digest, problem.came_in = handed_in.digest, handed_in.came_in
        raise problem
    remark = (
        f"files beside the notebook that are too many, too large or too deep: {handed_in.left_out}"
    )
    return replace(
        whole,
        notebook=handed_in.notebook,
        digest=handed_in.digest,
        came_in=handed_in.came_in,
        files=handed_in.files,
        remark=remark if handed_in.left_out else "",
    )
