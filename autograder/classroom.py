"""Grade a class: many submissions side by side, each behind walls, and lose none of them.

nbgrader's folders and gradebook stay the truth: what is written here, the formgrader shows,
``nbgrader export`` exports, and ``nbgrader generate_feedback`` turns into pages.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import logging
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import nbformat
from filelock import FileLock, Timeout
from nbgrader.api import Gradebook, InvalidEntry
from nbgrader.apps import NbGraderAPI
from sqlalchemy.exc import OperationalError

from autograder import sandbox
from autograder.batch import run_jobs
from autograder.course import open_assignment
from autograder.engine import Engine, Job, Result, engine_for
from autograder.errors import CourseError
from autograder.files import plain_files, printable
from autograder.intake import ReleasedCell, released_cells
from autograder.local import Local
from autograder.record import Recorder, Row
from autograder.settings import Settings

LARGEST_NOTEBOOK, LARGEST_FILES = 16 << 20, 16 << 20


class Unreadable(Exception):
    """A submission that cannot be run; the message says why and what to do."""


def grade_class(
    course: Path,
    assignment: str,
    progress: Callable[[int, int, str], None],
    students: Sequence[str] = (),
    settings: Settings | None = None,
    engine: Engine | None = None,
) -> list[Row]:
    """Grade every submission of an assignment, record it, and write feedback pages.

    What was interrupted is taken up where it was; what has not changed is not graded again.

    Args:
        course: folder with nbgrader_config.py, solutions/ and submitted/.
        assignment: the assignment's id.
        progress: told (done, of, what) after each submission, then after each feedback page.
        students: grade only these; all if empty.
        settings: how to run them; the defaults of `Settings` if None.
        engine: what runs them; if None, the one of the settings, for as long as this lasts.

    Returns:
        one row per student, in alphabetical order, broken submissions among them.

    Raises:
        CourseError: no such course folder, assignment or student, or nothing was submitted.
        EngineError: nothing can be run.
        sandbox.SandboxError: full isolation is asked for and not to be had on this machine.
    """
    settings = settings or Settings()
    if engine is None:
        with contextlib.closing(engine_for(settings)) as own:
            return grade_class(course, assignment, progress, students, settings, own)
    api = open_assignment(course, assignment)
    submitted = _submitted(course, assignment)
    for student in students:
        if student not in submitted:
            raise CourseError(
                f"no submission of '{student}' for {assignment}. There are: {', '.join(submitted)}."
            )
    students = [student for student in submitted if student in (students or submitted)]
    kept = course / "grading" / assignment
    kept.mkdir(parents=True, exist_ok=True)
    with _only_one(kept / "lock"), _logged(kept / "log.txt"), _nothing_lost():
        _release(api, assignment, kept / "log.txt")
        with Gradebook(api.coursedir.db_url, api.coursedir.course_id) as gradebook:
            released = released_cells(gradebook, assignment, assignment)
            recorder = Recorder(api, course, assignment, gradebook, kept, settings.again)

            def jobs() -> Iterator[tuple[str, Job | Result]]:
                for student in students:
                    folder = course / "submitted" / student / assignment
                    try:
                        yield student, _job(folder, assignment, released, settings)
                    except Unreadable as problem:
                        yield student, {"broken": str(problem)}
                    except OSError as error:
                        yield student, {"broken": f"a file cannot be read: {error}"}

            def tell(student: str, key: str, result: Result) -> None:
                recorder.take(student, key, result)
                progress(len(recorder.rows), len(students), student)

            run_jobs(jobs(), kept, engine, tell, settings.again)
        if settings.feedback:
            write_feedback(recorder, settings, engine, progress)
    return [recorder.rows[student] for student in students]


def write_feedback(
    recorder: Recorder,
    settings: Settings,
    engine: Engine,
    progress: Callable[[int, int, str], None],
) -> None:
    """Make feedback pages for what is new, and for those that lack one, side by side."""
    students = recorder.without_feedback()
    if not students:
        return
    if not isinstance(engine, Local):  # pages are made beside the gradebook
        with contextlib.closing(Local(settings.workers, sandbox.NONE)) as local:
            return write_feedback(recorder, settings, local, progress)
    count = itertools.count(1)

    def done(student: str, written: bool) -> None:
        recorder.take_feedback(student, written)
        progress(next(count), len(students), f"feedback of {student}")

    engine.write_feedback(recorder.course, recorder.assignment, students, done)


def _submitted(course: Path, assignment: str) -> list[str]:
    folders = (course / "submitted").glob(f"*/{assignment}")
    students = sorted(path.parent.name for path in folders)
    for student in students:
        if student != student.encode(errors="replace").decode():
            raise CourseError(
                f"the folder submitted/{printable(student)} has a name that is not UTF-8: rename it"
            )
    if not students:
        raise CourseError(
            f"nothing to grade: no folder matches {course / 'submitted'}/STUDENT/{assignment}. "
            "Put each student's notebook there, or collect them with nbgrader."
        )
    return students


def _job(folder: Path, assignment: str, released: list[ReleasedCell], settings: Settings) -> Job:
    """Everything that grading one submission needs.

    Raises:
        Unreadable: it is not what a student hands in.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise Unreadable(f"expected a folder {assignment}, found something else. Ask for it again")
    path = folder / f"{assignment}.ipynb"
    problem = unreadable(path)
    if problem:
        raise Unreadable(problem)
    files, size = {}, 0
    for other in plain_files(folder, but=".ipynb"):
        size += other.stat().st_size
        if size > LARGEST_FILES:
            raise Unreadable(
                f"the files beside the notebook have more than {LARGEST_FILES >> 20} MiB"
            )
        files[str(other.relative_to(folder))] = base64.b64encode(other.read_bytes()).decode()
    return {
        "assignment": assignment,
        "notebook": path.read_text(encoding="utf-8"),
        "files": files,
        "released": [asdict(cell) for cell in released],
        "seconds_per_cell": settings.seconds_per_cell,
        "seconds": settings.seconds,
        "isolation": settings.isolation,
        "limits": asdict(settings.limits),
    }


def unreadable(path: Path) -> str:
    """Why a submitted file cannot be graded, in words; empty if it can."""
    if path.is_symlink():
        return f"{path.name} is a link to somewhere else. Ask for the file itself"
    if not path.is_file():
        others = sorted(item.name for item in path.parent.iterdir())
        if any(name.endswith(".ipynb") for name in others):
            return f"expected a file named {path.name}, found {', '.join(others)}: rename it"
        found = f"found only {', '.join(others)}" if others else "the folder is empty"
        return f"expected a notebook named {path.name}, {found}. Ask for the notebook"
    if path.stat().st_size == 0:
        return "the file is empty. Ask for it again"
    if path.stat().st_size > LARGEST_NOTEBOOK:
        return (
            f"the notebook has {path.stat().st_size >> 20} MiB, more than {LARGEST_NOTEBOOK >> 20}. "
            "Ask for it again without its outputs"
        )
    try:
        notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
        nbformat.validate(notebook)
        nbformat.writes(notebook).encode()
    except UnicodeEncodeError:
        return (
            "not a valid notebook: it holds half a character (a lone surrogate). Ask for it again"
        )
    except UnicodeDecodeError:
        return "not a notebook: the file is not UTF-8 text. Ask for it again"
    except (nbformat.reader.NotJSONError, json.JSONDecodeError):
        return "not a notebook: the file is not JSON. Ask for it again"
    except RecursionError:
        return "not a valid notebook: it is nested too deeply. Ask for it again"
    except (nbformat.ValidationError, ValueError, KeyError, AttributeError, TypeError) as error:
        return f"not a valid notebook: {_last_line(str(error))}. Ask for it again"
    return ""


def _release(api: NbGraderAPI, assignment: str, log: Path) -> None:
    """Tell the gradebook about the assignment as its source stands now."""
    outcome = api.generate_assignment(assignment, force=True, create=True)
    if not outcome["success"]:
        if "KeyboardInterrupt" in outcome.get("error", ""):
            raise KeyboardInterrupt
        reason = _last_line(outcome.get("error") or outcome.get("log") or "")
        raise CourseError(
            f"nbgrader could not make the release version of {assignment}: {reason}. More in {log}"
        )


@contextlib.contextmanager
def _nothing_lost() -> Iterator[None]:
    """Say what to do where the gradebook or the disk refuses; results so far are kept."""
    again = "Put that right and grade again: what is done is kept, and nothing is lost"
    try:
        yield
    except (OperationalError, InvalidEntry) as error:
        raise CourseError(
            f"the gradebook cannot be used: {getattr(error, 'orig', error)}. Does another program hold it, is it "
            f"read-only, or the disk full? {again}"
        ) from error
    except OSError as error:
        raise CourseError(f"a file cannot be written: {error}. {again}") from error


@contextlib.contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """Keep a second run of the same assignment out while this one lasts."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise CourseError(
            f"another process is grading this assignment (it holds {path}). Wait for it, or end it"
        ) from None
    try:
        yield
    finally:
        lock.release()


def _last_line(text: str) -> str:
    lines = [line.strip() for line in (text or "no reason given").splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no reason given"


@contextlib.contextmanager
def _logged(path: Path) -> Iterator[None]:
    """Send what nbgrader logs and warns of to a file, so that the table stays readable."""
    handler = logging.FileHandler(path, mode="w", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger = logging.getLogger("traitlets")
    before = logger.handlers[:], logger.propagate
    logger.handlers, logger.propagate = [handler], False
    warned = logging.getLogger("py.warnings")
    warned.addHandler(handler)
    warned.propagate = False
    try:
        # a warning inside nbgrader is for the log, also where Python was told to make it an error
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            logging.captureWarnings(True)
            yield
    finally:
        logging.captureWarnings(False)
        warned.removeHandler(handler)
        logger.handlers, logger.propagate = before
        handler.close()


def as_table(rows: list[Row]) -> str:
    """The rows as text: points, points by part, and below each row why points were lost."""
    width = max(len("student"), *(len(row.student) for row in rows))
    parts = next((list(row.parts) for row in rows if row.parts), [])
    head = "  ".join(["student".ljust(width), "points".rjust(9), *parts])
    lines = [head, "─" * len(head)]
    for row in rows:
        cells = [(f"{row.parts[part]:g}" if row.parts else "–").rjust(len(part)) for part in parts]
        total = f"{row.points:g} / {row.of:g}".rjust(9)
        lines.append("  ".join([row.student.ljust(width), total, *cells]))
        for reason in row.reasons:
            lines.extend(
                textwrap.wrap(reason, 96, initial_indent="    ", subsequent_indent="      ")
            )
    return "\n".join(map(printable, lines))
