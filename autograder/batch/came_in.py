"""When work came in, where a table says it: times wait beside the results and count when a class is graded.

nbgrader reads such a time from a file beside the work, which students can write, too. What a platform or an
instructor says stands in ``grading/<assignment>/came_in.json``, where students cannot.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from dateutil import parser, tz
from msgspec import Meta

from autograder.batch.kept import read_kept, write_kept
from autograder.bounds import LONGEST_TIME

# a day of which nothing is left to guess: with a month in words, or as ISO 8601 has it
MONTH = r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b"
DAY = re.compile(
    rf"{MONTH}.*\b\d{{4}}\b|\b\d{{4}}\b.*{MONTH}|^\d{{4}}-(?:0[1-9]|1[0-2])-\d\d(?!\d)",
    re.IGNORECASE,
)
# UTC+3 is to some three hours before UTC, and to others three hours behind it
NAMED_OFFSET = re.compile(rf"\b(?!{MONTH})[a-z]{{3,5}}\s*[+-]\s*\d", re.IGNORECASE)
InUtc = Annotated[datetime, Meta(tz=False)]
TWO_DAYS = datetime(2000, 1, 1), datetime(2004, 2, 15, 1, 1)
WEEKDAYS = "mon", "tue", "wed", "thu", "fri", "sat", "sun"
WEEKDAY = re.compile(rf"\b({'|'.join(WEEKDAYS)})[a-z]*\b", re.IGNORECASE)
CLOCK = re.compile(r"(?<!\d)\d{1,2}:\d\d")


class Times:
    """When the work of an assignment came in, by student, in UTC; None where that is not known any more.

    Raises:
        CourseError: they cannot be read any more.
    """

    def __init__(self, course: Path, assignment: str) -> None:
        self.path = self.place(course, assignment)
        self._kept = self._read()

    @staticmethod
    def place(course: Path, assignment: str) -> Path:
        """Where they stand."""
        return course / "grading" / assignment / "came_in.json"

    def _read(self) -> dict[str, datetime | None]:
        return read_kept(self.path, InUtc | None, "take the times once more with lms came-in")

    @property
    def kept(self) -> Mapping[str, datetime | None]:
        """All of them."""
        return self._kept

    def put(self, times: Mapping[str, datetime | None]) -> None:
        """Keep these times in place of earlier ones of the same students."""
        self._kept = {**self._read(), **times}  # another process may have put some meanwhile
        kept = {name: when and when.isoformat() for name, when in self._kept.items()}
        write_kept(self.path, kept)

    def put_unknown(self, students: Iterable[str]) -> None:
        """Keep that nobody knows when these students' work came in, unless something is known of it."""
        self.put({student: None for student in students if student not in self._read()})

    def __contains__(self, student: str) -> bool:
        return student in self._kept

    def get(self, student: str) -> datetime | None:
        """When a student's work came in; None if that is not known."""
        return self._kept.get(student)

    def hand_over(self, submission: Any) -> None:
        """Give a submission's entry the time that has waited for it."""
        if submission.student_id in self._kept:
            submission.timestamp = self._kept[submission.student_id]


def moment_in(text: str, zone: tzinfo) -> datetime | None:
    """The moment that a text names, in UTC; None where it is none, or could be several.

    Args:
        text: such as "Thursday, 5 March 2026, 11:58 PM" or "2026-03-05 23:58 UTC".
        zone: where the clock stood, if the text does not say.
    """

    def named(name: str | None, offset: int | None) -> tzinfo:
        if offset is not None:
            return tz.tzoffset(None, offset)
        if name is not None:  # of its letters, several zones may be called so
            raise ValueError(name)
        return zone

    if len(text) > LONGEST_TIME or NAMED_OFFSET.search(text):
        return None
    if not (DAY.search(text) and CLOCK.search(text)):
        return None
    try:
        # what the text does not say comes from the default, so that it shows
        when, other = (parser.parse(text, default=day, tzinfos=named) for day in TWO_DAYS)
        if when != other or str(when.year) not in text:
            return None
        said = {name.casefold() for name in WEEKDAY.findall(text)}
        if not said <= {WEEKDAYS[when.weekday()]}:  # either the day is wrong or its name
            return None
        # a clock that is put back shows some hours twice, and others never where it is put forward
        if tz.datetime_ambiguous(when) or not tz.datetime_exists(when):
            return None
        return when.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


def zone_named(text: str) -> tzinfo:
    """A time zone by its name, as "Europe/Berlin"."""
    try:
        return ZoneInfo(text)
    except (ValueError, KeyError, OSError):
        raise argparse.ArgumentTypeError(
            f"expected a time zone such as Europe/Berlin or UTC, got '{text}'"
        ) from None


def zone_in_words(zone: tzinfo) -> str:
    """What a zone is called."""
    return "this machine's time zone" if zone == tz.tzlocal() else f"the time zone {zone}"


def add_zone_to(command: argparse.ArgumentParser) -> None:
    """Let a command be told in which zone a table's times are; this machine's, if it is not."""
    command.add_argument(
        "--time-zone",
        type=zone_named,
        metavar="ZONE",
        help="of times that name none, as Europe/Berlin; if left out, that of term.toml, or else this machine's",
    )
