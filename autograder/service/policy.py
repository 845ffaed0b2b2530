"""What an instructor decides about grading on submission: a file of settings in the course folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec
import msgspec.structs
from msgspec import Meta, Struct

from autograder.batch.toml_file import read_toml
from autograder.errors import CourseError

FILE = "service.toml"

When = Literal["at once", "after the deadline", "by hand"]
Show = Literal["mistakes", "points"]
Counts = Literal["last", "best"]
CHOICES = {"when": get_args(When), "show": get_args(Show), "counts": get_args(Counts)}


class Policy(Struct, frozen=True, forbid_unknown_fields=True):
    """How one assignment is treated.

    Attributes:
        when: submissions are graded as they come in, after the student's deadline, or on order.
        show: before the deadline students see the whole feedback page, or points alone.
        counts: which of a student's submissions stands in the gradebook.
    """

    when: When = "at once"
    show: Show = "mistakes"
    counts: Counts = "last"


class ServiceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file; every key may be left out.

    Attributes:
        exchange: nbgrader's exchange; without one, ``submitted/`` of the course folder is watched.
        check_owner: a submission must belong to the account that its folder's name gives.
        per_hour: gradings that a student has within an hour; further submissions wait.
        workers: submissions graded side by side.
        every: rules for all assignments.
        assignment: rules for some, by id; what a table leaves out stands in ``every``.
    """

    exchange: str = ""
    check_owner: bool = True
    per_hour: Annotated[int, Meta(ge=1)] = 6
    workers: Annotated[int, Meta(ge=1)] = os.cpu_count() or 1
    every: Policy = Policy()
    assignment: dict[str, dict[str, str]] = {}

    def rules(self, assignment: str) -> Policy:
        """The rules for one assignment."""
        own = self.assignment.get(assignment, {})
        return msgspec.convert({**msgspec.to_builtins(self.every), **own}, Policy)


Kind = TypeVar("Kind", bound=Struct)


def read_settings(course: Path, assignments: Sequence[str]) -> ServiceSettings:
    """The settings of a course; the usual ones if it has no such file.

    Raises:
        CourseError: the file says something that cannot be; the message says where and what may.
    """
    path = course / FILE
    said = read_toml(path)
    if said is None:
        return ServiceSettings()
    settings = _converted(said, ServiceSettings, str(path))
    for name in settings.assignment:
        if name not in assignments:
            raise CourseError(
                f"{path}: [assignment.{name}] names an assignment that is not there. "
                f"There are: {', '.join(assignments)}"
            )
        whole = {**msgspec.to_builtins(settings.every), **settings.assignment[name]}
        _converted(whole, Policy, f"{path}: [assignment.{name}]")
    if settings.exchange and not Path(settings.exchange).is_absolute():
        raise CourseError(
            f"{path}: exchange must be a path from the root on, found {settings.exchange!r}"
        )
    best = [name for name in assignments if settings.rules(name).counts == "best"]
    if best and not settings.exchange:
        raise CourseError(
            f'{path}: counts = "best" needs an exchange, since a folder keeps one submission of a '
            f"student. It is asked for {', '.join(best)}"
        )
    return settings


def _converted(data: dict[str, Any], kind: type[Kind], where: str) -> Kind:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        message = str(error)
        field = message.rpartition("`$")[2].strip("`.").rpartition(".")[2]
        may_be = ""
        if field in CHOICES:
            may_be = f". It can be one of: {', '.join(map(repr, CHOICES[field]))}"
        elif "unknown field" in message:
            fields = msgspec.structs.fields(kind)
            known = [field.name for field in fields] + ([] if kind is Policy else [*CHOICES])
            may_be = f". Known are: {', '.join(known)}"
        raise CourseError(f"{where}: {message[:1].lower()}{message[1:]}{may_be}") from None
