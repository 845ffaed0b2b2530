"""A student's numbers beside the right ones: a part of the array that is small enough to look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np
import torch

from autograder.pages import SHADES
from autograder.verdict.axes import ARRAY, Axis, axes_of, results_in
from autograder.verdict.compare import tolerances
from autograder.verdict.exam import Attempt

# of a picture; truth values are narrower than numbers
MOST_ROWS, MOST_COLUMNS, MOST_TRUTHS = 12, 8, 12
MOST_PRINTED = 6  # rows and columns in a terminal
MOST_AXES = 8
NOT_FINITE = {"NaN": float("nan"), "∞": float("inf"), "-∞": float("-inf"), "T": 1.0, "F": 0.0}

Grid = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Cell:
    """A number in a map: its text, its shade, and whether it is the one that is furthest off."""

    text: str
    shade: int
    worst: bool


@dataclass(frozen=True)
class Maps:
    """The right result, a student's, and the difference, around the entry that is furthest off.

    Attributes:
        of: what is compared, as the signature calls it: ``weights``; "" where it has no name.
        down, across: what the rows and the columns count; "" for the rows of a vector.
        place: where on its other axes the slice lies, in words; "" if there are none.
        rows, columns: the indices that are shown.
        right, yours, difference: numbers of at most four digits, as texts, row by row.
        worst: row and column, among those shown, of the entry that is furthest off.
        says: the same as a sentence.
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
    says: str

    @property
    def subject(self) -> str:
        """What is shown, in a line: the result, the slice, and its axes."""
        name = f"`{self.of}`" if self.of else "the result"
        place = f" at {self.place}" if self.place else ""
        rows = f"rows are {self.down}, " if self.down else ""
        return f"{name}{place}: {rows}columns are {self.across}"

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


@dataclass(frozen=True)
class Shapes:
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
    if np.isnan(value) or not scale:
        return 0
    return round(SHADES * min(max(value / scale, -1.0), 1.0))


def pictured(item: Attempt) -> tuple[Maps | None, Shapes | None]:
    """What can be shown of a wrong result, if it is one of numbers; for other results, nothing.

    Args:
        item: a case that went wrong.
    """
    if item.report["status"] != "returned" or item.case.random or item.case.raises:
        return None, None
    try:
        for name, letters, wanted, found in _pairs(item):
            if not _is_numeric(wanted) or not _is_numeric(found):
                return None, None
            if wanted.shape != found.shape:
                return None, _shapes(name, letters, wanted, found)
            maps = _maps(name, letters, wanted, found)
            if maps:
                return maps, None
    except Exception:  # noqa: BLE001 (a submission may return anything at all)
        return None, None
    return None, None


def _pairs(item: Attempt) -> Iterator[tuple[str, tuple[str, ...], Any, Any]]:
    """Name, letters of the axes, what is right and what came, of results and then of gradients."""
    wanted, found = item.expected["value"], item.report.get("value")
    if isinstance(wanted, tuple):
        if not isinstance(found, tuple | list) or len(found) != len(wanted):
            return
        pairs = list(zip(wanted, found, strict=True))
    else:
        pairs = [(wanted, found)]
    names = chain(results_in(item), repeat(("", ())))
    for (one, other), (name, letters) in zip(pairs, names, strict=False):
        yield name, letters, _tensor(one), _tensor(other)
    if item.case.gradient:
        arrays = dict(ARRAY.findall(item.part.signature))
        came = item.report.get("gradients") or {}
        for name, gradient in item.expected["gradients"].items():
            if gradient is not None and came.get(name) is not None:
                letters = tuple(arrays[name].split(", ")) if name in arrays else ()
                yield f"gradient for {name}", letters, _tensor(gradient), _tensor(came[name])


def _tensor(value: Any) -> Any:
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def _is_numeric(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() <= MOST_AXES


def _shapes(
    name: str, letters: tuple[str, ...], wanted: torch.Tensor, found: torch.Tensor
) -> Shapes:
    axes = axes_of(name, letters, wanted.dim())
    right = tuple((axis.letter, size) for axis, size in zip(axes, wanted.shape, strict=True))
    return Shapes(name, right, tuple(found.shape))


def _maps(
    name: str, letters: tuple[str, ...], wanted: torch.Tensor, found: torch.Tensor
) -> Maps | None:
    """The maps of two arrays of one shape; None if they agree, or are one number or none."""
    if not wanted.dim() or not wanted.numel():
        return None
    relative, absolute = tolerances(wanted, found)
    truths = wanted.dtype == found.dtype == torch.bool
    kind = torch.complex128 if wanted.is_complex() or found.is_complex() else torch.float64
    right, yours = wanted.to(kind), found.to(kind)
    same = torch.isclose(right, yours, rtol=relative, atol=absolute, equal_nan=True)
    if same.all():
        return None
    apart = (right - yours).abs().nan_to_num(nan=torch.inf, posinf=torch.inf)
    apart[same] = 0
    where = [int(index) for index in np.unravel_index(int(apart.argmax()), wanted.shape)]
    axes = axes_of(name, letters, wanted.dim())
    if wanted.dim() == 1:
        right, yours, where, axes = right[None], yours[None], [0, *where], (Axis("", "", ""), *axes)
    fixed, (row, column) = tuple(where[:-2]), where[-2:]
    right, yours = right[fixed], yours[fixed]
    rows = _around(row, right.shape[0], MOST_ROWS)
    columns = _around(column, right.shape[1], MOST_TRUTHS if truths else MOST_COLUMNS)
    shown = slice(rows.start, rows.stop), slice(columns.start, columns.stop)
    right, yours = right[shown], yours[shown]
    if truths:
        grids = _marks(right, "FT"), _marks(yours, "FT"), _marks(right != yours, "·≠")
    else:
        grids = _texts(right), _texts(yours), _texts(yours - right)
    worst = row - rows.start, column - columns.start
    place = ", ".join(map(Axis.place, axes, fixed))
    value, own = grids[0][worst[0]][worst[1]], grids[1][worst[0]][worst[1]]
    entry = ", ".join(
        axis.place(index) for axis, index in zip(axes, where, strict=True) if axis.one
    )
    off = f" (off by {grids[2][worst[0]][worst[1]].lstrip('-')})" if value == own else ""
    says = (
        f"{int((~same).sum())} of {same.numel()} entries differ; furthest off is {entry} "
        f"(counting from 0): right {value}, yours {own}{off}."
    )
    return Maps(
        of=name,
        down=_named(axes[-2]),
        across=_named(axes[-1]),
        place=place,
        rows=tuple(rows),
        columns=tuple(columns),
        right=grids[0],
        yours=grids[1],
        difference=grids[2],
        worst=worst,
        says=says,
    )


def _named(axis: Axis) -> str:
    return (
        f"{axis.many} ({axis.letter})"
        if axis.letter and axis.letter not in axis.many
        else axis.many
    )


def _around(place: int, size: int, most: int) -> range:
    """So many indices around one, or all if there are no more."""
    start = min(max(0, place - most // 2), max(0, size - most))
    return range(start, min(size, start + most))


def _marks(grid: torch.Tensor, letters: str) -> Grid:
    """Two letters for what is zero and what is not."""
    return tuple(tuple(letters[value != 0] for value in row) for row in grid.tolist())


def _texts(grid: torch.Tensor) -> Grid:
    """Numbers with as many decimals as their size wants, at most four digits."""
    values = grid.tolist()
    finite = grid.abs()[grid.abs().isfinite()]
    largest = float(finite.max()) if finite.numel() else 0.0
    whole = not grid.is_complex() and bool((finite == finite.round()).all())
    decimals = 0 if whole else _decimals(largest)
    return tuple(tuple(_text(value, decimals) for value in row) for row in values)


def _decimals(largest: float) -> int | None:
    """How many decimals numbers up to this one get; None for powers of ten."""
    if largest >= 1000:
        return 0
    if largest >= 100:
        return 1
    if largest >= 0.1:
        return 2
    return 3 if largest >= 0.01 else None


def _text(value: complex, decimals: int | None) -> str:
    if isinstance(value, complex):
        return f"{_text(value.real, None)}{'' if value.imag < 0 else '+'}{_text(value.imag, None)}i"
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "∞" if value > 0 else "-∞"
    if decimals is None or abs(value) >= 10_000:
        mantissa, _, power = f"{value:.0e}".partition("e")
        return f"{mantissa}e{int(power)}" if value else "0"
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if not float(text) else text


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
    return max((size for size in sizes if np.isfinite(size)), default=0.0)


def as_lines(maps: Maps) -> list[str]:
    """The right numbers and the student's, side by side for a terminal; the worst has a star."""
    row, column = maps.worst
    rows = _around(row, len(maps.rows), MOST_PRINTED)
    columns = _around(column, len(maps.columns), MOST_PRINTED)
    wide = max(len(grid[r][c]) for grid in (maps.right, maps.yours) for r in rows for c in columns)
    wide = max(wide, len(str(maps.columns[columns[-1]])))

    def block(grid: Grid, r: int) -> str:
        return " ".join(
            grid[r][c].rjust(wide) + ("*" if (r, c) == maps.worst and grid is maps.yours else " ")
            for c in columns
        )

    head = " ".join(str(maps.columns[c]).rjust(wide) + " " for c in columns)
    margin = max(len(str(maps.rows[rows[-1]])), 1)
    lines = [
        f"{' ' * margin}  {'right'.ljust(len(head))} |  yours",
        f"{' ' * margin}  {head} |  {head}".rstrip(),
    ]
    for r in rows:
        index = str(maps.rows[r]).rjust(margin) if maps.down else " " * margin
        lines.append(f"{index}  {block(maps.right, r)} |  {block(maps.yours, r)}".rstrip())
    return [maps.subject, *lines, f"* {maps.says}"]
