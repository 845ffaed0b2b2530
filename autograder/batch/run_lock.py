"""While a class is graded: no second run beside it, nothing lost, and the table readable."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout
from nbgrader.api import Gradebook, InvalidEntry
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import DatabaseError

from autograder.errors import CourseError

LOG = "autograder"


@contextlib.contextmanager
def nothing_lost(gradebook: str) -> Iterator[None]:
    """Say what to do where the gradebook or the disk refuses; results so far are kept."""
    again = "Put that right and grade again: what is done is kept, and nothing is lost"
    try:
        yield
    except (DatabaseError, InvalidEntry) as error:
        raise CourseError(
            f"the gradebook {gradebook} cannot be used: {getattr(error, 'orig', error)}. Does another "
            f"program hold it, is it read-only, or the disk full? {again}"
        ) from error
    except OSError as error:
        raise CourseError(f"a file cannot be written: {error}. {again}") from error


@contextlib.contextmanager
def open_gradebook(course: CourseDirectory) -> Iterator[Gradebook]:
    """The gradebook of a course, with what to do where it refuses."""
    with nothing_lost(course.db_url), Gradebook(course.db_url, course.course_id) as gradebook:
        yield gradebook


@contextlib.contextmanager
def only_one(path: Path) -> Iterator[None]:
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


@contextlib.contextmanager
def logged(path: Path) -> Iterator[None]:
    """Send what nbgrader logs and warns of to a file, so that the table stays readable."""
    handler = logging.FileHandler(path, mode="w", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger = logging.getLogger("traitlets")
    before = logger.handlers[:], logger.propagate
    logger.handlers, logger.propagate = [handler], False
    # the grader's own errors, what Python warns of, and what nbgrader's gradebook complains to
    others = [logging.getLogger(name) for name in (LOG, "py.warnings", "tornado.application")]
    for other in others:
        other.addHandler(handler)
        other.propagate = False
    try:
        # a warning inside nbgrader is for the log, also where Python was told to make it an error
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            logging.captureWarnings(True)
            yield
    finally:
        logging.captureWarnings(False)
        for other in others:
            other.removeHandler(handler)
            other.propagate = True
        logger.handlers, logger.propagate = before
        handler.close()
