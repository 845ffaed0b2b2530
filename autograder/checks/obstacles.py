"""What kept a part from being decided, or a call from coming back."""

from __future__ import annotations

from enum import StrEnum


class Obstacle(StrEnum):
    """One of the things that a class has in common; its value is what graded notebooks hold."""

    NONE = ""
    DISALLOWED = "disallowed"
    UNANSWERED = "unanswered"
    MISSING = "missing"
    TIME_LIMIT = "time limit"
    STOPPED = "stopped"
    FAULT = "fault"

    @property
    def words(self) -> str:
        """The same in the words of a class report."""
        return WORDS[self]

    @classmethod
    def _missing_(cls, value: object) -> Obstacle | None:
        """Graded notebooks once held the words."""
        return next((kind for kind, words in WORDS.items() if words == value), None)


WORDS = {
    Obstacle.NONE: "",
    Obstacle.DISALLOWED: "a disallowed function was used",
    Obstacle.UNANSWERED: "not answered",
    Obstacle.MISSING: "not defined",
    Obstacle.TIME_LIMIT: "the time limit was reached",
    Obstacle.STOPPED: "the notebook stopped before it",
    Obstacle.FAULT: "the grader itself failed over it",
}
