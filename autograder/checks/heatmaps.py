"""A student's numbers beside the right ones: a part of the array that is small enough to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from autograder.arrays import Array, as_numpy, is_array, quietly
from autograder.checks.axes import Axis, arrays_of, axes_of, results_beside
from autograder.checks.compare import tolerances
from autograder.checks.drawn_cases import CaseRun
from autograder.checks.pictures import Grid, Maps, Shapes, around
from autograder.faults import note

# of a picture; truth values are narrower than numbers
MOST_ROWS, MOST_COLUMNS, MOST_TRUTHS = 12, 8, 12
MOST_AXES = 8


@quietly
def pictured(item: CaseRun) -> tuple[Maps | None, Shapes | None]:
    """What can be shown of a case that went wrong, if its result is one of numbers; for others, nothing."""
    if item.actual.status != "returned" or item.case.random or item.case.raises:
        return None, None
    try:
        for name, letters, wanted, found in _pairs(item):
            if not _is_numeric(wanted) or not _is_numeric(found):
                return None, None
            wanted, found = as_numpy(wanted), as_numpy(found)
            axes = axes_of(name, letters, wanted.ndim, item.part.letters)
            if wanted.shape != found.shape:
                return None, _shapes(name, axes, wanted, found)
            maps = _maps(name, axes, wanted, found)
            if maps:
                return maps, None
    except Exception as error:  # noqa: BLE001 (noted; points do not depend on a picture)
        note(f"drawing a result of `{item.part.name}`", error, undecided=False)
    return None, None


def _pairs(item: CaseRun) -> Iterator[tuple[str, tuple[str, ...], Any, Any]]:
    """Name, letters of the axes, what is right and what came, of results and then of gradients."""
    results = list(results_beside(item))
    for name, letters, right, own in results:
        yield name, letters, right, own
    if results and item.case.gradient:
        came = item.actual.gradients or {}
        for name, gradient in item.expected.gradients.items():
            if gradient is not None and came.get(name) is not None:
                letters = arrays_of(item.part).get(name, ())
                yield f"gradient for {name}", letters, gradient, came[name]


def _is_numeric(value: Any) -> bool:
    return is_array(value) and value.ndim <= MOST_AXES


def _shapes(name: str, axes: tuple[Axis, ...], wanted: Array, found: Array) -> Shapes:
    right = tuple((axis.letter, size) for axis, size in zip(axes, wanted.shape, strict=True))
    return Shapes(name, right, tuple(found.shape))


def _maps(name: str, axes: tuple[Axis, ...], wanted: Array, found: Array) -> Maps | None:
    """The maps of two arrays of one shape; None if they agree, or are one number or none."""
    if not wanted.ndim or not wanted.size:
        return None
    relative, absolute = tolerances(wanted, found)
    truths = wanted.dtype == found.dtype == bool
    right, yours = wanted.astype(np.float64), found.astype(np.float64)
    same = np.isclose(right, yours, rtol=relative, atol=absolute, equal_nan=True)
    apart = np.nan_to_num(np.abs(right - yours), nan=np.inf, posinf=np.inf)
    if same.all():
        return None
    apart[same] = 0
    where = [int(index) for index in np.unravel_index(int(apart.argmax()), wanted.shape)]
    if wanted.ndim == 1:
        right, yours, where, axes = right[None], yours[None], [0, *where], (Axis("", "", ""), *axes)
    fixed, (row, column) = tuple(where[:-2]), where[-2:]
    right, yours = right[fixed], yours[fixed]
    rows = around(row, right.shape[0], MOST_ROWS)
    columns = around(column, right.shape[1], MOST_TRUTHS if truths else MOST_COLUMNS)
    shown = slice(rows.start, rows.stop), slice(columns.start, columns.stop)
    right, yours = right[shown], yours[shown]
    if truths:
        grids = _marks(right, "FT"), _marks(yours, "FT"), _marks(right != yours, "·≠")
    else:
        grids = _texts(right), _texts(yours), _texts(yours - right)
    worst = row - rows.start, column - columns.start
    place = _place(axes, fixed)
    value, own = grids[0][worst[0]][worst[1]], grids[1][worst[0]][worst[1]]
    entry = _place(axes, where)
    off = f" (off by {grids[2][worst[0]][worst[1]].lstrip('-')})" if value == own else ""
    message = (
        f"{int((~same).sum())} of {same.size} entries differ; furthest off is {entry} "
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
        message=message,
    )


def _place(axes: Sequence[Axis], where: Sequence[int]) -> str:
    """An entry by its place on each axis that counts anything."""
    return ", ".join(
        axis.place(index)
        for axis, index in zip(axes, where, strict=False)
        if axis.one and axis.letter != "1"
    )


def _named(axis: Axis) -> str:
    told = not axis.letter or axis.letter in axis.many
    return axis.many if told else f"{axis.many} ({axis.letter})"


def _marks(grid: Array, letters: str) -> Grid:
    """Two letters for what is zero and what is not."""
    return tuple(tuple(letters[value != 0] for value in row) for row in grid.tolist())


def _texts(grid: Array) -> Grid:
    """Numbers with as many decimals as their size wants, at most four digits."""
    values = grid.tolist()
    finite = np.abs(grid)[np.isfinite(grid)]
    largest = float(finite.max()) if finite.size else 0.0
    whole = bool((finite == finite.round()).all())
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


def _text(value: float, decimals: int | None) -> str:
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "∞" if value > 0 else "-∞"
    if decimals is None or abs(value) >= 10_000:
        mantissa, _, power = f"{value:.0e}".partition("e")
        return f"{mantissa}e{int(power)}" if value else "0"
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if not float(text) else text
