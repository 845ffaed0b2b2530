"""What was decided of a part, and the numbers shown with it: plain data, as graded notebooks hold it.

Whoever only reads verdicts, as the batch does, needs no more than this, and no PyTorch.
"""

from __future__ import annotations

import math
from enum import StrEnum

from msgspec import Struct, field

from autograder.checks.pictures import Maps, Shapes

PROJECTIONS = 3  # of each array, by which it is told from others
VERDICT_MIME = "application/vnd.autograder.verdict+json"  # where notebooks graded earlier hold them
CLOSE = 1e-4  # how far apart, relative and absolute, numbers may be that count as the same


class Obstacle(StrEnum):
    """What kept a part from being decided; its value is what graded notebooks hold."""

    NONE = ""
    DISALLOWED = "disallowed"
    UNANSWERED = "unanswered"
    MISSING = "missing"
    TIME_LIMIT = "time limit"
    STOPPED = "stopped"
    ENDED = "ended"
    FAULT = "fault"
    UNDECIDED = "undecided"

    @property
    def words(self) -> str:
        """The same in the words of a class report."""
        return WORDS[self]

    @classmethod
    def _missing_(cls, value: object) -> Obstacle | None:
        """Graded notebooks once held the words, and other ones."""
        if value in ("barred", "a barred function was used"):
            return cls.DISALLOWED
        return next((kind for kind, words in WORDS.items() if words == value), None)


WORDS = {
    Obstacle.NONE: "",
    Obstacle.DISALLOWED: "a disallowed function was used",
    Obstacle.UNANSWERED: "not answered",
    Obstacle.MISSING: "not defined",
    Obstacle.TIME_LIMIT: "the time limit was reached",
    Obstacle.STOPPED: "the notebook stopped before it",
    Obstacle.ENDED: "the notebook's process ended over it",
    Obstacle.FAULT: "the grader itself failed over it",
    Obstacle.UNDECIDED: "the grader's time was up before it",
}


class Waived(StrEnum):
    """Why a step that is wrong keeps its points; its value is what graded notebooks hold."""

    NO = ""
    SAME = "same mistake"
    HALF = "half"

    @property
    def words(self) -> str:
        """The same for the student."""
        return WHY_WAIVED[self]


WHY_WAIVED = {
    Waived.NO: "",
    Waived.SAME: "wrong here too, as the same mistake explains, so it is not charged again",
    Waived.HALF: "wrong here too, but not charged, because a part that is right in its plainest "
    "case keeps half of its points",
}


class StepVerdict(Struct, frozen=True):
    """One step: what it asked, what it earned, and the case on which it failed, as a picture too.

    ``waived`` says why it keeps its points although it is wrong.
    """

    asks: str
    earned: float
    points: float
    case: str = ""
    problem: str = ""
    maps: Maps | None = None
    shapes: Shapes | None = None
    waived: Waived = field(default=Waived.NO, name="spared")

    @property
    def state(self) -> str:
        """``right``, ``wrong``, or ``also``, where it is wrong and charged elsewhere."""
        if self.earned < self.points:
            return "wrong"
        return "also" if self.waived else "right"

    @property
    def sign(self) -> str:
        """The state as a sign before a line."""
        return SIGNS[self.state]


SIGNS = {"right": "✓", "wrong": "✗", "also": "(✗)"}


class PartVerdict(Struct, frozen=True):
    """One part: its steps, and what the student should know.

    ``mistakes`` holds (name, sentence) pairs, and so does ``relations``, of how the results differ
    where no mistake is known; ``remark`` says what concerns the whole part, and
    ``obstacle`` of which kind that is; ``lacks`` is a name that is not there, without which it cannot run.
    """

    part: str
    signature: str
    steps: tuple[StepVerdict, ...]
    mistakes: tuple[tuple[str, str], ...] = ()
    remark: str = ""
    reads: tuple[str, str] = ("", "")
    stood_in: tuple[str, ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    obstacle: Obstacle = Obstacle.NONE
    lacks: str = ""

    @property
    def points(self) -> float:
        return sum(step.points for step in self.steps)

    @property
    def earned(self) -> float:
        return min(max(sum(step.earned for step in self.steps), 0.0), self.points)

    @property
    def right(self) -> bool:
        return self.earned == self.points

    @property
    def in_short(self) -> str:
        """What is wrong: the names of mistakes, or else the first problem, or else the remark."""
        named = [name for name, _ in self.mistakes]
        problems = [step.problem for step in self.steps if step.problem and not step.waived]
        return "; ".join(named or problems[:1] or [self.remark])


class Behaviour(Struct, frozen=True):
    """What came back in all cases of a part.

    Attributes:
        kinds: of each case how it ended, and types, shapes and dtypes of what was returned.
        numbers: of each array in it, `PROJECTIONS` weighted means of its entries.
    """

    kinds: tuple[str, ...]
    numbers: tuple[float, ...]

    def same_as(self, other: Behaviour) -> bool:
        """Whether two answers did the same, but for the last digits of their numbers."""
        return self.kinds == other.kinds and all(
            math.isclose(one, another, rel_tol=CLOSE, abs_tol=CLOSE)
            for one, another in zip(self.numbers, other.numbers, strict=True)
        )
