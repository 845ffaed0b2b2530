"""What was decided of a part, and the numbers shown with it: plain data, as graded notebooks hold it.

Whoever only reads verdicts, as the batch does, needs no more than this, and no PyTorch.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any

from msgspec import Struct, field, to_builtins

from autograder.pages import SHADES

PROJECTIONS = 3  # of each array, by which it is told from others
CLOSE = 1e-4  # how far apart, relative and absolute, numbers may be that count as the same
NOT_FINITE = {"NaN": float("nan"), "∞": float("inf"), "-∞": float("-inf"), "T": 1.0, "F": 0.0}

Grid = tuple[tuple[str, ...], ...]


class Obstacle(StrEnum):
    """What kept a part from being decided; its value is what graded notebooks hold."""

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


class Cell(Struct, frozen=True):
    """A number in a map: its text, its shade, and whether it is the one that is furthest off."""

    text: str
    shade: int
    worst: bool


class Maps(Struct, frozen=True):
    """The right result, a student's, and the difference, around the entry that is furthest off.

    Attributes:
        of: what is compared, as the signature calls it: ``weights``; "" where it has no name.
        down, across: what the rows and the columns count; "" for the rows of a vector.
        place: where on its other axes the slice lies, in words; "" if there are none.
        rows, columns: the indices that are shown.
        right, yours, difference: numbers of at most four digits, as texts, row by row.
        worst: row and column, among those shown, of the entry that is furthest off.
        message: the same as a sentence.
    """

    of: str
    down: str
    across: str
    place: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    right: Grid
    yours: Grid
    difference: Grid
    worst: tuple[int, int]
    message: str = field(name="says")

    @property
    def subject(self) -> str:
        """What is shown, in a line: the result, the slice, and its axes."""
        name = f"`{self.of}`" if self.of else "the result"
        place = f" at {self.place}" if self.place else ""
        rows = f"rows are {self.down}, " if self.down else ""
        return f"{name}{place}: {rows}columns are {self.across}"

    @property
    def letters(self) -> int:
        """How many letters the widest number has, of the three maps and the columns' names."""
        grids = (self.right, self.yours, self.difference)
        texts = [text for grid in grids for row in grid for text in row]
        return max(len(text) for text in [*texts, *map(str, self.columns)])

    def tables(self) -> list[tuple[str, list[tuple[str, list[Cell]]]]]:
        """Caption and rows of each of the three maps; a row is its index and its cells."""
        scale = _largest(self.right) or _largest(self.yours)
        names = [str(row) for row in self.rows] if self.down else [""]
        last = "where they differ" if self.difference[0][0] in "·≠" else "difference: yours − right"
        return [
            (caption, list(zip(names, self._cells(grid, deepest), strict=True)))
            for caption, grid, deepest in (
                ("right", self.right, scale),
                ("yours", self.yours, scale),
                (last, self.difference, _largest(self.difference)),
            )
        ]

    def _cells(self, grid: Grid, deepest: float) -> list[list[Cell]]:
        return [
            [
                Cell(text, shade(text, deepest), (down, across) == self.worst)
                for across, text in enumerate(row)
            ]
            for down, row in enumerate(grid)
        ]


class Shapes(Struct, frozen=True):
    """Two shapes that should be one.

    Attributes:
        of: as in `Maps`.
        right: (letter, length) of each axis; the letter is "" where it has none.
        yours: the lengths.
    """

    of: str
    right: tuple[tuple[str, int], ...]
    yours: tuple[int, ...]

    def axes(self) -> list[tuple[str, int, bool]]:
        """Letter and length of each right axis, and whether it is like that in the student's."""
        return [
            ("" if letter.isdigit() else letter, length, self._fits(place, length))
            for place, (letter, length) in enumerate(self.right)
        ]

    def own_axes(self) -> list[tuple[str, int, bool]]:
        """The same of the student's, whose axes have no letters."""
        return [("", length, self._fits(place, length)) for place, length in enumerate(self.yours)]

    def _fits(self, place: int, length: int) -> bool:
        return (
            len(self.yours) != len(self.right)
            or self.right[place][1] == self.yours[place] == length
        )


def shade(text: str, scale: float) -> int:
    """How deep the colour of a number is, from -`SHADES` to `SHADES`; no number has 0.

    Args:
        text: the number, as in `Maps`.
        scale: the number that has the deepest shade.
    """
    value = _number(text)
    if math.isnan(value) or not scale:
        return 0
    return round(SHADES * min(max(value / scale, -1.0), 1.0))


def _number(text: str) -> float:
    """The size of what `_text` wrote; NaN where it is no number."""
    if text in NOT_FINITE:
        return NOT_FINITE[text]
    try:
        return float(text)
    except ValueError:
        return 1.0 if text == "≠" else float("nan")


def _largest(grid: Grid) -> float:
    sizes = (abs(_number(text)) for row in grid for text in row)
    return max((size for size in sizes if math.isfinite(size)), default=0.0)


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
    ``obstacle`` of which kind that is.
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

    @property
    def points(self) -> float:
        return sum(step.points for step in self.steps)

    @property
    def earned(self) -> float:
        return min(max(sum(step.earned for step in self.steps), 0.0), self.points)

    @property
    def right(self) -> bool:
        return self.earned == self.points

    def as_dict(self) -> dict[str, Any]:
        """As it lies in a graded notebook, with the points for whoever reads it there."""
        return {**to_builtins(self), "earned": self.earned, "points": self.points}


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
