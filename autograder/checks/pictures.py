"""What a verdict shows of numbers: plain data, which travels and lies in graded notebooks.

It is drawn from that data alone, without PyTorch: as lines for a terminal, as tables for a page.
"""

from __future__ import annotations

import math

from msgspec import Struct, field

from autograder.pages import SHADES

NOT_FINITE = {"NaN": float("nan"), "∞": float("inf"), "-∞": float("-inf"), "T": 1.0, "F": 0.0}

MOST_PRINTED = 6  # rows and columns in a terminal

Grid = tuple[tuple[str, ...], ...]


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

    def as_lines(self) -> list[str]:
        """The right numbers and the student's, side by side for a terminal; the worst has a star."""
        row, column = self.worst
        rows = around(row, len(self.rows), MOST_PRINTED)
        columns = around(column, len(self.columns), MOST_PRINTED)
        wide = max(
            len(grid[r][c]) for grid in (self.right, self.yours) for r in rows for c in columns
        )
        wide = max(wide, len(str(self.columns[columns[-1]])))

        def block(grid: Grid, r: int) -> str:
            return " ".join(
                grid[r][c].rjust(wide)
                + ("*" if (r, c) == self.worst and grid is self.yours else " ")
                for c in columns
            )

        head = " ".join(str(self.columns[c]).rjust(wide) + " " for c in columns)
        margin = max(len(str(self.rows[rows[-1]])), 1)
        lines = [
            f"{' ' * margin}  {'right'.ljust(len(head))} |  yours",
            f"{' ' * margin}  {head} |  {head}".rstrip(),
        ]
        for r in rows:
            index = str(self.rows[r]).rjust(margin) if self.down else " " * margin
            lines.append(f"{index}  {block(self.right, r)} |  {block(self.yours, r)}".rstrip())
        return [self.subject, *lines, f"* {self.message}"]

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
    """How deep the colour of a number is, from -`SHADES` to `SHADES`, that of `scale`; no number has 0."""
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


def around(place: int, size: int, most: int) -> range:
    """So many indices around one, or all if there are no more."""
    start = min(max(0, place - most // 2), max(0, size - most))
    return range(start, min(size, start + most))
