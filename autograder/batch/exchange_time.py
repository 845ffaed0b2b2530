"""When work came in, as nbgrader's exchange writes it: into the name of a folder, and into a file in it.

nbgrader 0.9.6 writes with the zone's abbreviation, and reads back what it wrote as UTC wherever that abbreviation
is not also the name of a zone's file: 12:00 CEST is two hours late, and +0100 is a hundred seconds. What zone an
abbreviation stands for says its own configuration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any

from dateutil import parser, tz
from nbgrader.api import Assignment, SubmittedAssignment
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import Exchange
from nbgrader.exchange.default import ExchangeCollect
from sqlalchemy import select

from autograder.batch.came_in import NAMED_OFFSET, TWO_DAYS, Times
from autograder.bounds import LONGEST_TIME
from autograder.errors import CourseError
from autograder.files import TIME
from autograder.grade.submission import read_plain

FORMS = [  # of a folder's name; letters at its end keep apart what comes in at one moment
    re.compile(
        rf"(?P<student>.*)\+(?P<assignment>[^+]*)\+(?P<time>[^+]*{offset}){letters}", re.DOTALL
    )
    for offset in (r"\+\d\d(?::?\d\d)*", "")
    for letters in (r"\+[\w-]+", "")
]


@dataclass(frozen=True)
class Clock:
    """The clock by which an exchange writes times.

    Attributes:
        zone: where it stands.
        names_zone: what it writes says the zone.
    """

    zone: tzinfo = UTC
    names_zone: bool = True

    def moment(self, text: str) -> datetime | None:
        """The moment that it wrote, in UTC; None where that is none, or could be several."""
        found = self._moments(text)
        return found.pop() if len(found) == 1 else None

    def _moments(self, text: str) -> set[datetime]:
        said: set[tuple[str | None, int | None]] = set()

        def zone_of(name: str | None, offset: int | None) -> tzinfo | None:
            said.add((name, offset))
            return None if offset is None else tz.tzoffset(None, offset)

        if len(text) > LONGEST_TIME or not text.isascii() or NAMED_OFFSET.search(text):
            return set()
        try:
            # in capitals, since only those are taken for a zone; what the text does not say shows
            when, other = (
                parser.parse(text.upper(), default=day, tzinfos=zone_of) for day in TWO_DAYS
            )
            [(name, _)] = said
            if when != other:
                return set()
            local, found = when.replace(tzinfo=None), set()
            if when.tzinfo:
                found.add(when.astimezone(UTC).replace(tzinfo=None))
            elif not name and self.names_zone:
                found.add(local)  # nbgrader's zip_collect, which has made it UTC
            elif not name:
                found |= {local, *self._readings(local)}
            return found | self._readings(local, name) if name else found
        except (ValueError, OverflowError, TypeError, ArithmeticError):
            return set()

    def _readings(self, local: datetime, name: str = "") -> set[datetime]:
        """The moments at which the clock shows a time; an hour that is put back comes twice, by two names."""
        shown = [tz.enfold(local.replace(tzinfo=self.zone), fold) for fold in (0, 1)]
        return {
            when.astimezone(UTC).replace(tzinfo=None)
            for when in shown
            if tz.datetime_exists(when) and name in ("", (when.tzname() or "").upper())
        }


def clock_of(config: Any) -> Clock:
    """The clock of a course's exchange; none of its abbreviations is known where its zone is not."""
    exchange = Exchange(config=config)
    form = exchange.timestamp_format
    return Clock(tz.gettz(exchange.timezone) or UTC, "%Z" in form or "%z" in form)


def unread(text: str, config: Any) -> str:
    """That a time cannot be read, and what to do."""
    zone = Exchange(config=config).timezone
    return (
        f"when it came in is not known: the zone or the hour in “{text[:LONGEST_TIME]}” can't be told by the clock "
        f"of nbgrader_config.py ({zone}). Set c.Exchange.timezone to the zone in which students hand in, or say "
        "when it came in with lms came-in: please look"
    )


def pieces_of(name: str) -> tuple[str, str, str] | None:
    """Student, assignment and time in the name of a folder in the exchange; None if it has another form.

    A student's id may hold a plus, and so may the time: where no abbreviation is in use, nbgrader writes "+03".
    """
    for form in FORMS:
        match = form.fullmatch(name)
        if match and _is_time(match["time"]):
            return match["student"], match["assignment"], match["time"]
    return None


def _is_time(text: str) -> bool:
    """Whether a text names a day and a minute, in whatever zone."""
    try:
        days = (
            parser.parse(text.upper(), default=day, tzinfos=lambda *_: None) for day in TWO_DAYS
        )
        return len(text) < LONGEST_TIME and len({day.replace(tzinfo=None) for day in days}) == 1
    except (ValueError, OverflowError, TypeError, ArithmeticError):
        return False


def _told(api: NbGraderAPI, assignment: str) -> Mapping[str, datetime | None]:
    """When work came in by a platform or a person, by student; read once for a class."""
    course = Path(api.coursedir.root)
    path = Times.place(course, assignment)
    try:
        return _read(course, assignment, path.stat().st_mtime_ns if path.exists() else 0)
    except CourseError as error:  # grading says so and stops; a page need not
        api.log.warning("%s", error)
        return {}


@lru_cache(maxsize=16)
def _read(course: Path, assignment: str, _written: int) -> Mapping[str, datetime | None]:
    return Times(course, assignment).kept


def read_in_its_zone() -> None:
    """Let nbgrader's own commands, and the formgrader, read these times alike; twice does no more than once."""
    if hasattr(CourseDirectory.get_existing_timestamp, "__wrapped__"):
        return
    record, autograded = ExchangeCollect._path_to_record, NbGraderAPI.get_autograded_students

    @wraps(CourseDirectory.get_existing_timestamp)
    def get_existing_timestamp(self: CourseDirectory, dest_path: str) -> datetime | None:
        written = read_plain(Path(dest_path) / TIME, LONGEST_TIME) or b""
        text = written.decode("utf-8", "replace").strip()
        when = clock_of(self.config).moment(text)
        if text and not when:
            self.log.warning("%s: %s", dest_path, unread(text, self.config))
        return when

    def get_submitted_timestamp(
        self: NbGraderAPI, assignment_id: str, student_id: str
    ) -> datetime | None:
        """As grading has it: work with another time in the gradebook is to nbgrader none that was graded."""
        told = _told(self, assignment_id)
        if student_id in told:
            return told[student_id]
        folder = self.coursedir.submitted_directory
        path = self.coursedir.format_path(folder, student_id, assignment_id)
        return self.coursedir.get_existing_timestamp(path)

    @wraps(NbGraderAPI.get_autograded_students)
    def get_autograded_students(self: NbGraderAPI, assignment_id: str) -> set[str]:
        """Also those whose collected time was not believed, so that the gradebook has none."""
        told, place = _told(self, assignment_id), self.coursedir.format_path
        question = select(SubmittedAssignment.student_id).join(Assignment)
        question = question.where(Assignment.name == assignment_id)
        with self.gradebook as gradebook:
            timeless = gradebook.db.scalars(question.where(SubmittedAssignment.timestamp.is_(None)))
            graded = self.coursedir.autograded_directory
            return autograded(self, assignment_id) | {
                student
                for student in timeless
                if not told.get(student) and Path(place(graded, student, assignment_id)).is_dir()
            }

    def _path_to_record(self: ExchangeCollect, path: str) -> dict[str, Any]:
        pieces = pieces_of(Path(path).name)
        when = clock_of(self.config).moment(pieces[2]) if pieces else None
        if not (pieces and when):
            return record(self, path)  # which only says what comes before what
        return {"username": pieces[0], "filename": Path(path).name, "timestamp": when}

    CourseDirectory.get_existing_timestamp = get_existing_timestamp
    NbGraderAPI.get_submitted_timestamp = get_submitted_timestamp
    NbGraderAPI.get_autograded_students = get_autograded_students
    ExchangeCollect._path_to_record = _path_to_record
