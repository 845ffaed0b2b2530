"""What has become of every submission: a file that only grows, and what it says when it is read.

Each line stands on the disk before the next thing is done. A line that was cut short by a crash is left
out, and whatever it was about is done again, from results that are kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from autograder.service.inbox import Incoming


class Entry(Struct, frozen=True, omit_defaults=True):
    """A line of the journal.

    Attributes:
        what: a submission came in, was refused, lies in ``submitted/``, was graded, or replaced by
            a newer one before its turn; or its student was shown something.
        name: the submission.
        at: seconds since 1970.
        student, assignment, came_in, keys: what it is, see `Incoming`.
        why: it was refused.
        points: what the checks gave, late penalty taken off.
        seconds: what running it took.
        shown: what its student was shown, and of when that is.
        hand: what persons had entered, as far as it is on that page.
    """

    what: Literal["in", "refused", "placed", "graded", "replaced", "shown"]
    name: str
    at: float
    student: str = ""
    assignment: str = ""
    came_in: datetime | None = None
    keys: tuple[str, ...] = ()
    why: str = ""
    points: float = 0.0
    seconds: float = 0.0
    shown: str = ""
    hand: str = ""


@dataclass
class Standing:
    """A submission, and how far it is; see `Entry`."""

    arrival: Incoming
    seen: float
    state: Literal["waits", "graded", "replaced"] = "waits"
    graded_at: float = 0.0
    points: float = 0.0
    seconds: float = 0.0
    shown: str = ""
    hand: str = ""

    @property
    def order(self) -> tuple[datetime, str]:
        """By which the submissions of a student are older and newer."""
        return self.arrival.came_in, self.arrival.name


Work = tuple[str, str]  # student and assignment


class Journal:
    """All submissions by name, those of each student's work, and those that were refused.

    Args:
        path: the file; made when there is something to say.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[str, Standing] = {}
        self.of: dict[Work, list[Standing]] = {}
        self.refused: dict[str, str] = {}
        self.placed: dict[Work, str] = {}
        for entry in self._read():
            self._apply(entry)

    def _read(self) -> Iterator[Entry]:
        if not self.path.exists():
            return
        for line in self.path.read_bytes().splitlines():
            try:
                yield msgspec.json.decode(line, type=Entry)
            except msgspec.MsgspecError:
                continue  # cut short

    def _apply(self, entry: Entry) -> None:
        if entry.what == "refused":
            self.refused[entry.name] = entry.why
            return
        if entry.what == "in" and entry.came_in:
            arrival = Incoming(
                entry.name, entry.student, entry.assignment, entry.came_in, entry.keys
            )
            if entry.name not in self.known:
                standing = self.known[entry.name] = Standing(arrival, entry.at)
                self.of.setdefault((entry.student, entry.assignment), []).append(standing)
            return
        known = self.known.get(entry.name)
        if known is None:
            return
        if entry.what == "placed":
            self.placed[known.arrival.student, known.arrival.assignment] = entry.name
        elif entry.what == "replaced":
            known.state = "replaced"
        elif entry.what == "graded":
            known.state, known.graded_at = "graded", entry.at
            known.points, known.seconds = entry.points, entry.seconds
        if entry.shown:
            known.shown, known.hand = entry.shown, entry.hand

    def write(self, entry: Entry) -> None:
        """Note something, and have it on the disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":  # a line that was cut short ends here
                    file.write(b"\n")
            file.write(msgspec.json.encode(entry) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._apply(entry)

    def waiting(self) -> list[Standing]:
        """What is not graded, in the order in which it came in."""
        waits = [standing for standing in self.known.values() if standing.state == "waits"]
        return sorted(waits, key=lambda standing: standing.order)
