"""What has become of every submission: a file that only grows, and what it says when it is read.

Each line stands on the disk before the next thing is done. A line that was cut short by a crash is left
out, and whatever it was about is done again, from results that are kept.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from autograder.service.inbox import Incoming


class Event(Struct, frozen=True, omit_defaults=True):
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
class QueueItem:
    """A submission, and how far it is: it waits until it is graded, or replaced by a newer one.

    Attributes:
        arrival: what came in.
        seen: for the first time, in seconds since 1970.
        graded_at: also in seconds since 1970; 0 before that.
        points, seconds, shown, hand: as of the `Event` that said it last.
    """

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
    """All submissions, and what has become of them, in a file that is made when there is something to say.

    Attributes:
        known: by name.
        of: those of each student's work.
        refused: what was no submission, by name, and why.
        placed: the submission of each student's work that lies in ``submitted/``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[str, QueueItem] = {}
        self.of: dict[Work, list[QueueItem]] = defaultdict(list)
        self.refused: dict[str, str] = {}
        self.placed: dict[Work, str] = {}
        for event in self._read():
            self._apply(event)

    def _read(self) -> Iterator[Event]:
        if not self.path.exists():
            return
        for line in self.path.read_bytes().splitlines():
            try:
                yield msgspec.json.decode(line, type=Event)
            except msgspec.MsgspecError:
                continue  # cut short

    def _apply(self, event: Event) -> None:
        """Change the state of a submission; nothing else does."""
        name = event.name
        if event.what == "refused":
            self.refused[name] = event.why
        elif event.what == "in" and event.came_in and name not in self.known:
            arrival = Incoming(name, event.student, event.assignment, event.came_in, event.keys)
            self.known[name] = QueueItem(arrival, event.at)
            self.of[arrival.work].append(self.known[name])
        elif item := self.known.get(name):
            if event.what == "placed":
                self.placed[item.arrival.work] = name
            elif event.what == "replaced":
                item.state = "replaced"
            elif event.what == "graded":
                item.state, item.graded_at = "graded", event.at
                item.points, item.seconds = event.points, event.seconds
            if event.shown:
                item.shown, item.hand = event.shown, event.hand

    def write(self, event: Event) -> None:
        """Note something, and have it on the disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":  # a line that was cut short ends here
                    file.write(b"\n")
            file.write(msgspec.json.encode(event) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._apply(event)

    def waiting(self) -> list[QueueItem]:
        """What is not graded, in the order in which it came in."""
        waits = [item for item in self.known.values() if item.state == "waits"]
        return sorted(waits, key=lambda item: item.order)

    def graded_since(self, moment: float) -> dict[str, list[QueueItem]]:
        """What each student had graded since then, the oldest first.

        Not what was graded in time to come, by a clock that has been put right since.
        """
        now = time.time()
        graded = [item for item in self.known.values() if moment < item.graded_at <= now]
        found: dict[str, list[QueueItem]] = defaultdict(list)
        for item in sorted(graded, key=lambda item: item.graded_at):
            found[item.arrival.student].append(item)
        return found
