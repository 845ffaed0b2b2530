"""Errors of the code under test, told apart from the probe's own."""

from __future__ import annotations

import linecache
import os
import traceback
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

from autograder.probe.messages import ErrorSeen

LONGEST_MESSAGE = 400


class TimeLimit(BaseException):
    """A call ran too long. Not an Exception, so that a loop's ``except Exception`` lets it pass."""


class SubjectError(Exception):
    """The code under test has raised an error, which is the cause of this one."""

    @property
    def seen(self) -> ErrorSeen:
        """The error, as it is told."""
        return describe(self.__cause__ or self)


class errors_are_its_own:
    """Whatever is raised inside is the subject's doing, and becomes the cause of a `SubjectError`.

    It is no generator, which would take its own end for such an error where time runs out on the way in.
    """

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _place: object) -> None:
        # student code may raise SystemExit, too
        if error is not None and not isinstance(error, KeyboardInterrupt | TimeLimit):
            raise SubjectError from error


def describe(error: BaseException) -> ErrorSeen:
    """Type, its bases, message and the subject's own line of an error."""
    line = ""
    for frame, number in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        # what lies in a package is the grader's, the course's or a library's: no line for its author
        if _is_in_a_package(name):
            continue
        linecache.checkcache(name)
        line = linecache.getline(name, number, frame.f_globals).strip() or line
    return ErrorSeen(
        _text_of(attrgetter("__name__"), type(error)),
        [_text_of(attrgetter("__name__"), kind) for kind in type(error).__mro__],
        _text_of(str, error),
        line[:LONGEST_MESSAGE],
    )


def _text_of(read: Callable[[Any], object], what: object) -> str:
    """What is read of something, which an error's own code may make; nothing where that raises an error, too."""
    try:
        return str(read(what))[:LONGEST_MESSAGE]
    except (KeyboardInterrupt, TimeLimit):
        raise
    except BaseException:  # noqa: BLE001 (student code may raise SystemExit)
        return ""


def _is_in_a_package(file: str) -> bool:
    beside = os.path.join(os.path.dirname(file), "__init__.py")
    return os.path.exists(beside) or "site-packages" in Path(file).parts
