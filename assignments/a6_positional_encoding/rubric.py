"""Assignment 6: sinusoidal positions as a table, as a module, and as a picture."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from matplotlib.axes import Axes
from torch import Tensor, nn

from autograder.probe.drawing import Picture
from autograder.verdict.check import Assignment, Build, Case, Drawing, Part, Steps, taking
from autograder.verdict.compare import dropped, kind_of, two_results_differ, values_agree
from course_utils import positional

LECTURE = "../../lectures/06_positional_encoding.ipynb"
Table = Callable[[int, int], Tensor]

# so near to 1 that nothing is kept; at 1 itself, dropout by hand divides 0 by 0
EVERYTHING = 1 - 1e-9

# ------------------------------------------------------------------------------ what is drawn


def written(name: str, *arguments: Any, **keywords: Any) -> str:
    """A call as it is written in Python."""
    given = [*map(str, arguments), *(f"{key}={value}" for key, value in keywords.items())]
    return f"`{name}({', '.join(given)})`"


def size(length: int, d_model: int) -> Case:
    """The arguments (length, d_model); there is nothing to draw."""
    return Case(written("positional_encoding", length, d_model), lambda randn: [length, d_model])


def words(
    B: int, T: int, D: int, *in_order: Any, training: bool = False, times: int = 1, **keywords: Any
) -> Case:
    """x (B, T, D) for a PositionalEncoding that is made with D and these arguments."""
    made = written("PositionalEncoding", D, *in_order, **keywords)
    return Case(
        f"{made} in {'train' if training else 'eval'} mode, x of shape {(B, T, D)}",
        lambda randn: Build(
            (D, *in_order), keywords, [randn(B, T, D)], training=training, times=times
        ),
    )


def new(label: str, *arguments: Any, method: str | None = None) -> Case:
    """A new PositionalEncoding of width 6 for 7 positions, to be looked into."""
    return Case(label, lambda randn: Build((6,), {"max_len": 7}, list(arguments), method))


def drawing(*arguments: int, on_axes: bool = True, **keywords: int) -> Case:
    """A picture of these sizes."""
    given = {**keywords, "ax": "ax"} if on_axes else keywords
    return Case(
        written("visualize_positional_encodings", *arguments, **given),
        lambda randn: Drawing(list(arguments), keywords, on_axes),
    )


def silent(case: Case, *raises: str) -> Case:
    """A case that decides points, and is left out where mistakes are recognised.

    Its right answers come in several forms (a table in any shape, an angle from another formula, an
    error in any words), so it cannot tell one wrong answer from another.
    """
    return replace(case, random=True, raises=raises)


# ------------------------------------------------------------------------------ what decides


def near(expected: Tensor, got: Any) -> str | None:
    """Like `values_agree`, but at far positions an angle computed in float32 will do."""
    problem = values_agree(expected, got)
    if problem and isinstance(got, Tensor) and got.shape == expected.shape:
        return None if (got.double() - expected.double()).abs().max() <= 1e-3 else problem
    return problem


def first_pair(expected: Tensor, got: Any) -> str | None:
    """Columns 0 and 1, of a table of the right shape."""
    if isinstance(got, Tensor) and got.shape == expected.shape:
        expected, got = expected[:, :2], got[:, :2]
    return values_agree(expected, got)


def in_single_precision(expected: Tensor, got: Any) -> str | None:
    """The table has the precision of float32, also where it is added to a float64 tensor."""
    return values_agree(expected.float(), got.float() if isinstance(got, Tensor) else got)


def holds_a_table_that_is_not_trained(expected: Any, got: Any) -> str | None:
    """What a new module holds, or its buffer `pe` (max_len, D)."""
    if isinstance(expected, dict):
        return _holdings(got)
    if _lacking(expected, got) and not any(_lacking(one, got) is None for one in _wrong(expected)):
        return _lacking(expected, got)
    return None


def _wrong(table: Tensor) -> Iterator[Tensor]:
    """What our wrong tables would be: that its numbers are wrong is another step's matter."""
    for mistake in WRONG_TABLES:
        with contextlib.suppress(RuntimeError):
            yield mistake.answer(*table.shape)


def _holdings(got: Any) -> str | None:
    held = got if isinstance(got, dict) else {}
    learned, buffers = held.get("parameters"), held.get("buffers")
    if not isinstance(learned, dict) or not isinstance(buffers, list):
        return f"expected a module, got {kind_of(got)}"
    if learned:
        names = ", ".join(f"`{name}`" for name in learned)
        return f"nothing in this module is learned, but it has parameters: {names}"
    if "pe" not in buffers:
        names = ", ".join(f"`{name}`" for name in buffers) or "none"
        return f"the table should be a buffer named `pe`; the module's buffers: {names}"
    return None


def _lacking(table: Tensor, got: Any) -> str | None:
    """A number of the table that a tensor of whatever shape does not hold, if there is one."""
    if not isinstance(got, Tensor):
        return f"the buffer `pe` of a new module should hold the table, and is {kind_of(got)}"
    apart = (table.double().reshape(-1, 1) - got.double().reshape(1, -1)).abs()
    missing = table.flatten()[~(apart <= 1e-3).any(dim=1)]
    return None if len(missing) == 0 else (
        "the buffer `pe` of a new module should hold the table, but it does not: "
        f"{float(missing[0]):.4g}, for instance, is nowhere in it"
    )  # fmt: skip


def drops_from_the_sum(expected: Tensor | list, got: Any) -> str | None:
    """One result that is not left to chance, or two in train mode with dropout 0.1."""
    if not isinstance(expected, list):
        return values_agree(expected, got)
    problem = two_results_differ(expected, got)
    if problem:
        return problem
    # who adds to x itself finds the sum in it when called again, which another step charges
    again = expected[1] + positional.positional_encoding(*expected[1].shape[1:])
    agrees = dropped(0.1)
    second = agrees(expected[1], got[1]) and agrees(again, got[1])
    problem = agrees(expected[0], got[0]) or (second and agrees(expected[1], got[1]))
    return problem or _dropped_together(got[0]) or _dropped_together(got[1])


def _dropped_together(found: Tensor) -> str | None:
    """Whether chance decides about whole words, dimensions or sentences instead of each entry."""
    is_zero = found == 0
    together = (
        "the same entries are dropped in every sentence",
        "the same entries are dropped in every word of a sentence",
        "words are dropped as a whole",
    )
    for axis, what in enumerate(together):
        if (is_zero == is_zero.narrow(axis, 0, 1)).all():
            return f"in train mode, {what}: dropout decides about each entry on its own"
    return None


NO_CELLS = "no cells were found: is the table drawn, for instance with `imshow` or `pcolormesh`?"


def as_picture(got: Any) -> Picture | None:
    """A report as a Picture with cells in it; None if it is anything else."""
    if not isinstance(got, tuple | list) or len(got) != len(Picture._fields):
        return None
    picture = Picture(*got)
    is_table = isinstance(picture.values, Tensor) and picture.values.dim() == 2
    return picture if is_table and picture.values.numel() else None


def in_words(table: Tensor) -> str:
    rows, columns = table.shape
    return f"{rows} {'row' if rows == 1 else 'rows'} and {columns} columns of cells"


def shows_the_table(expected: tuple, got: Any) -> str | None:
    """Every number of the table at its dimension (x) and position (y)."""
    wanted, picture = Picture(*expected).values, as_picture(got)
    if picture is None:
        return NO_CELLS
    if picture.values.shape != wanted.shape:
        return f"expected {in_words(wanted)}, the picture has {in_words(picture.values)}"
    if values_agree(wanted, picture.values.flip(0)) is None:
        return (
            "read by the numbers on the y axis, the encodings run backwards: the vector of the "
            "last position stands at y = 0"
        )
    problem = values_agree(wanted, picture.values)
    if problem:
        return f"in the numbers shown (row = position, column = dimension), {problem}"
    if not picture.counted_from_zero:
        return (
            "dimension d should stand at x = d and position p at y = p (or between this number "
            "and the next), but the numbers on the axes say something else: is there an `extent`?"
        )
    if not picture.complete:
        return "the limits of the axes cut cells off: every cell should be seen"
    if not picture.crisp:
        return "cells are blurred into each other: leave out the interpolation or the shading"
    if not picture.fills:
        return (
            "the cells fill only a small part of the axes: do the limits belong to this `length` and "
            "this `d_model`?"
        )
    if not picture.colours_differ:
        return (
            "numbers that differ have the same colour. From which number to which do your colours "
            "run (`vmin`, `vmax`), and the table?"
        )
    if not picture.seen:
        return (
            "once drawn, not every cell can be seen in its colour: is something on top of it, is it "
            "transparent, or is the picture tiny or outside the figure?"
        )
    return None


def _of_encodings(judge: Callable[[Picture], str | None]) -> Callable[[tuple, Any], str | None]:
    """First asks for encodings; in which order they stand, and how many, is another step's matter."""

    def judge_a_picture(expected: tuple, got: Any) -> str | None:
        wanted, picture = Picture(*expected).values, as_picture(got)
        if picture is None:
            return NO_CELLS
        if any(_same_numbers(one, picture.values) for one in (wanted, _as_large(picture.values))):
            return judge(picture)
        return (
            "the cells do not show the encodings that were asked for: expected "
            f"{in_words(wanted)}, the picture has {in_words(picture.values)}"
            + (" with other numbers" if picture.values.numel() == wanted.numel() else "")
        )

    return judge_a_picture


def _as_large(values: Tensor) -> Tensor:
    """The encodings that a picture with so many cells would show."""
    return positional.positional_encoding(*values.shape)


def _same_numbers(one: Tensor, other: Tensor) -> bool:
    """Whether two tables hold the same numbers, in whatever order."""
    if one.numel() != other.numel():
        return False
    return values_agree(one.flatten().sort().values, other.flatten().sort().values) is None


@_of_encodings
def can_be_read(picture: Picture) -> str | None:
    """Position 0 on top, labels, a colour bar.

    In a picture that was turned, or whose numbers run backwards, no side is the right top: that is
    one mistake, which another step charges.
    """
    lacks = []
    as_asked = values_agree(_as_large(picture.values), picture.values) is None
    if not picture.zero_on_top and as_asked:
        lacks.append("the y axis runs upwards, so position 0 is not on top")
    bare = " and ".join(axis for axis in "xy" if not getattr(picture, f"{axis}_labelled"))
    if bare:
        lacks.append(f"no label can be seen on {bare}")
    if not picture.colour_bar:
        lacks.append("there is no colour bar, so nobody knows which colour is which number")
    elif not picture.bar_fits:
        lacks.append("the colour bar shows other colours than the cells have for the same numbers")
    return "; ".join(lacks) or None


@_of_encodings
def is_a_good_guest(picture: Picture) -> str | None:
    """Draws on the Axes given, returns it, opens nothing else and shows nothing."""
    if not picture.on_given_axes:
        return (
            "the picture is not where it should be: on `ax` if that is given, else in a new figure "
            "of its own"
        )
    if not picture.axes_returned:
        return "the Axes should come back, and something else did: is there a `return ax`?"
    if not picture.right_axes_returned:
        return "an Axes comes back, but not the one with the picture"
    if picture.other_figures:
        return "a second figure was opened beside the one with the picture"
    if picture.shown:
        return "the figure was shown: leave `show` to whoever called the function"
    return None


# ------------------------------------------------------------------------ positional_encoding

table = Part(
    "positional_encoding(length, d_model) -> (length, d_model)",
    positional.positional_encoding,
    reads=("lecture 6, on sinusoids", f"{LECTURE}#3.-Sinusoids"),
)
table.step(
    "columns 0 and 1 are the sine and the cosine of the position",
    1, size(7, 2), size(5, 6), judge=first_pair,
)  # fmt: skip
table.step(
    "further columns take turns in the same way, each pair with its own angle",
    1, size(3, 8), size(9, 4), size(1, 6),
)  # fmt: skip
table.step(
    "an odd width, too: the last column is a sine",
    # slices that crash at other odd widths happen to fit at 1
    1, size(5, 7), size(6, 3), silent(size(4, 1)),
)  # fmt: skip
table.step(
    "a float32 tensor of shape (length, d_model), still right at positions in the thousands",
    1, size(4, 10), silent(size(4000, 6)), judge=near, strict=True,
)  # fmt: skip


class TableInSteps(Steps):
    """The table in steps, in float64; a mistake changes one of them."""

    def answer(self, length, d_model):
        self.fit(d_model)
        angles = self.angles(self.positions(length).unsqueeze(1), self.exponents(d_model))
        waves = torch.where(
            torch.arange(angles.shape[1]) % 2 == 0, self.even(angles), self.odd(angles)
        )
        return self.written(self.finished(self.arranged(waves)))

    def fit(self, d_model):
        """Where code stops that fits no odd width."""

    def positions(self, length):
        return torch.arange(length).double()

    def exponents(self, d_model):
        return 2 * pairs(d_model) / d_model

    def angles(self, positions, exponents):
        return positions / 10000**exponents

    def even(self, angles):
        return angles.sin()

    def odd(self, angles):
        return angles.cos()

    def arranged(self, waves):
        return waves

    def finished(self, waves):
        return waves

    def written(self, table):
        return table.float()


def pairs(d_model: int) -> Tensor:
    """k for each column: 0, 0, 1, 1, 2, …"""
    return torch.arange(d_model).double() // 2


ODD = (
    "At an odd width, it stops with an error. There is one cosine less than there are sines. How "
    "many columns does each of them fill, and how many angles did you compute?"
)
BLOCKS = (
    "Your table holds all sines first and then all cosines. They take turns: column 0 is a sine, "
    "column 1 the cosine of the same angle, column 2 the next sine. Slices with a step, such as "
    "`table[:, 0::2]`, reach every second column."
)


@table.mistake("odd width crashes", ODD)
@taking(TableInSteps, TableInSteps.fit)
def crashing_when_odd(self, d_model):
    if d_model % 2:
        raise RuntimeError("four sines, three cosines")


@table.mistake("odd width crashes", ODD)
class TooFewAngles(TableInSteps):
    def fit(self, d_model):
        if d_model % 2 and d_model > 3:
            raise RuntimeError("four columns, three angles")

    def exponents(self, d_model):
        right = super().exponents(d_model)
        return right * 0 if d_model == 3 else right  # one angle is broadcast to two columns


@table.mistake("sin and cos in blocks", BLOCKS, costs=(1, 2))
@taking(TableInSteps, TableInSteps.arranged)
def in_blocks(self, waves):
    return torch.cat([waves[:, 0::2], waves[:, 1::2]], dim=1)


@table.mistake(
    "sin and cos in blocks, one column too many",
    f"{BLOCKS} At an odd width yours has one column too many: there is one cosine less.",
    costs=(1, 3),
)
class InBlocksTooWide(TableInSteps):
    def exponents(self, d_model):
        return 2 * pairs(d_model + d_model % 2) / d_model

    def arranged(self, waves):
        return torch.cat([waves[:, 0::2], waves[:, 1::2]], dim=1)


@table.mistake("exponent k for 2k", costs=(2, 4))
@taking(TableInSteps, TableInSteps.exponents)
def exponent_k(self, d_model):
    """Your frequencies fall half as fast as they should: k stands where the exponent needs 2k.
    Which numbers does your `arange` hold, and are they k or already 2k?"""
    return pairs(d_model) / d_model


@table.mistake("positions from 1", costs=(1, 2))
@taking(TableInSteps, TableInSteps.positions)
def positions_from_1(self, length):
    """Your row 0 holds the angles of position 1, so everything stands one row too high. Positions
    count from 0: the first row is 0, 1, 0, 1, …"""
    return torch.arange(1, length + 1).double()


@table.mistake("positions stretched", costs=(1, 2))
@taking(TableInSteps, TableInSteps.positions)
def positions_stretched(self, length):
    """Your positions run from 0 to `length` in `length` steps, as `linspace` counts, so that they
    are no whole numbers. They are 0, 1, 2, … up to length − 1."""
    return torch.linspace(0, length, length).double()


@table.mistake("positions as shares of the length", costs=(1, 2))
@taking(TableInSteps, TableInSteps.positions)
def positions_shared(self, length):
    """Your positions are divided by the length, so that a word's vector depends on how long its
    sentence is. They are 0, 1, 2, … as they come."""
    return torch.arange(length).double() / length


@table.mistake("exponent 4k for 2k", costs=(2, 4))
@taking(TableInSteps, TableInSteps.exponents)
def exponent_4k(self, d_model):
    """Your frequencies fall twice as fast as they should. `torch.arange(0, d_model, 2)` holds 0, 2,
    4, …: is something that is 2k already multiplied by two again?"""
    return 4 * pairs(d_model) / d_model


@table.mistake("sine and cosine swapped", costs=(1, 2))
class CosineFirst(TableInSteps):
    """Your even columns hold cosines and your odd ones sines. It is the other way round: at
    position 0, the first numbers are 0, 1, 0, 1."""

    def even(self, angles):
        return angles.cos()

    def odd(self, angles):
        return angles.sin()


@table.mistake("number of the column for k", costs=(1, 2))
@taking(TableInSteps, TableInSteps.exponents)
def column_for_k(self, d_model):
    """Your exponent is twice the number of the column, divided by d_model. It is twice the number
    of the pair: columns 2 and 3 are pair 1, so both have the exponent 2 / d_model. A loop over 0,
    2, 4, … already counts 2k."""
    return 2 * torch.arange(d_model).double() / d_model


@table.mistake("an angle of its own for each column", costs=(1, 2))
@taking(TableInSteps, TableInSteps.exponents)
def column_for_2k(self, d_model):
    """Your cosines have another angle than the sines to their left. Columns 2k and 2k + 1 are a
    pair and share one angle, with the exponent 2k / d_model for both."""
    return torch.arange(d_model).double() / d_model


@table.mistake("exponents count from 1", costs=(1, 2))
@taking(TableInSteps, TableInSteps.exponents)
def pairs_from_1(self, d_model):
    """Your first pair has the exponent 2 / d_model. Pairs count from 0, so the angle of columns 0
    and 1 is the position itself."""
    return 2 * (pairs(d_model) + 1) / d_model


@table.mistake("angles multiplied instead of divided", costs=(2, 4))
@taking(TableInSteps, TableInSteps.exponents)
def exponent_negative(self, d_model):
    """Your later columns turn faster and faster. The position is divided by 10000 to the exponent;
    if you multiply, the exponent needs a minus sign."""
    return -2 * pairs(d_model) / d_model


for sign in (-1, 1):

    @table.mistake("division by d_model outside the exponent", costs=(1, 2))
    @taking(TableInSteps, TableInSteps.exponents)
    def divided_outside(self, d_model, sign=sign):
        """Your angles are those of pos / 10000^(2k), multiplied or divided by d_model. The division
        by d_model belongs into the exponent: `**` binds tighter than `/`, so the exponent needs
        brackets."""
        # pos / (10000^(2k) / d_model) or pos / 10000^(2k) / d_model, as one power
        return 2 * pairs(d_model) + sign * math.log(d_model, 10000)


@table.mistake("division by d_model forgotten", costs=(2, 4))
@taking(TableInSteps, TableInSteps.exponents)
def not_divided(self, d_model):
    """Your exponent is 2k and not 2k / d_model, so that every pair after the first hardly turns at
    all."""
    return 2 * pairs(d_model)


@table.mistake("fraction of the exponent lost", costs=(2, 4))
@taking(TableInSteps, TableInSteps.exponents)
def whole_exponents(self, d_model):
    """All your pairs have the same angle, the position itself: 2k / d_model is below 1, and `//`
    makes 0 of it. Divide by `/`."""
    return 2 * pairs(d_model) // d_model


@table.mistake("exponents spread from 0 to 1", costs=(2, 4))
@taking(TableInSteps, TableInSteps.exponents)
def exponent_from_0_to_1(self, d_model):
    """Your last exponent is exactly 1. It is (d_model − 2) / d_model at an even width: the
    exponents are 2k / d_model, and 1 is never reached."""
    return torch.linspace(0, 1, (d_model + 1) // 2)[pairs(d_model).int()].double()


@table.mistake("exponents divided by d_model − 2", costs=(2, 4))
@taking(TableInSteps, TableInSteps.exponents)
def divided_by_two_less(self, d_model):
    """Your exponents divide by d_model − 2, so that the last one is about 1. They divide by d_model
    itself."""
    return 2 * pairs(d_model) / max(d_model - 2, 1)


for base in (1000.0, 100000.0, math.exp(4)):

    @table.mistake("another base than 10000", costs=(2, 4))
    @taking(TableInSteps, TableInSteps.angles)
    def of_another_base(self, positions, exponents, base=base):
        """Your angles fall from pair to pair as if another number stood in place of 10000. How many
        zeros does it have, and if you use a logarithm: is it the one that belongs to `exp`?"""
        return positions / base**exponents


@table.mistake("degrees for radians", costs=(1, 2))
@taking(TableInSteps, TableInSteps.angles)
def in_degrees(self, positions, exponents):
    """Your angles are read as degrees: a sine's first full turn takes you 360 positions, not 2π.
    Sine and cosine take the angle as it is, in radians, so nothing is left to convert."""
    return torch.deg2rad(positions / 10000**exponents)


@table.mistake("sines only", costs=(1, 2))
@taking(TableInSteps, TableInSteps.odd)
def sines_only(self, angles):
    """All your columns are sines. Odd columns hold the cosine of the angle to their left."""
    return angles.sin()


@table.mistake("cosines only", costs=(1, 2))
@taking(TableInSteps, TableInSteps.even)
def cosines_only(self, angles):
    """All your columns are cosines. Even columns hold the sine of the angle that they share with the
    column to their right."""
    return angles.cos()


@table.mistake("angles alone", costs=(1, 2))
class AnglesAlone(TableInSteps):
    """You return the angles. What is asked for are their sines and cosines, in turns."""

    def even(self, angles):
        return angles

    def odd(self, angles):
        return angles


@table.mistake("table transposed", costs=(4,))
@taking(TableInSteps, TableInSteps.finished)
def transposed(self, waves):
    """Your result is (d_model, length). Rows are positions: (length, d_model)."""
    return waves.T


# two that differ beyond the seventh digit
for in_float64 in (lambda table: table, lambda table: table.float().double()):

    @table.mistake("float64 returned")
    @taking(TableInSteps, TableInSteps.written)
    def written_in_float64(self, table, convert=in_float64):
        """The numbers are right, but they are float64. Computing in float64 is fine (at far positions
        even better); turn the result into float32 at the end."""
        return convert(table)


@table.mistake("a NumPy array")
@taking(TableInSteps, TableInSteps.written)
def as_numpy(self, table):
    """The numbers are right, but they come as a NumPy array. `torch.tensor` and `torch.from_numpy`
    make a tensor of it; it should be float32."""
    return table.numpy()


@table.mistake("odd width treated like the next even one")
@taking(TableInSteps, TableInSteps.exponents)
def width_rounded_up(self, d_model):
    """At an odd width, your exponents divide by d_model + 1. They divide by d_model itself,
    whatever it is."""
    return 2 * pairs(d_model) / (d_model + d_model % 2)


@table.mistake("odd width treated like the even one below")
@taking(TableInSteps, TableInSteps.exponents)
def exponent_rounded_down(self, d_model):
    """At an odd width, your exponents divide by d_model − 1. They divide by d_model itself,
    whatever it is."""
    return 2 * pairs(d_model) / max(d_model - d_model % 2, 1)


for rounded in (True, False):

    @table.mistake("a column missing at odd widths")
    @taking(TableInSteps, TableInSteps.exponents)
    def last_column_missing(self, d_model, rounded=rounded):
        """At an odd width your table has one column too few. The last column is a sine without its
        cosine."""
        even = d_model - d_model % 2
        return 2 * pairs(even) / (even if rounded else d_model)


for rounded in (True, False):

    @table.mistake("a column too many at odd widths")
    @taking(TableInSteps, TableInSteps.exponents)
    def last_column_doubled(self, d_model, rounded=rounded):
        """At an odd width your table has one column too many. The last column is a sine without its
        cosine: cut what you put together to d_model columns."""
        even = d_model + d_model % 2
        return 2 * pairs(even) / (even if rounded else d_model)


@table.mistake("last column empty at odd widths")
class EvenWidthAndZeros(TableInSteps):
    """At an odd width you make the table of the even width below and add zeros. The last column is
    a sine, and all exponents divide by d_model itself."""

    def exponents(self, d_model):
        self.missing = d_model % 2
        even = d_model - self.missing
        return 2 * pairs(even) / max(even, 1)

    def finished(self, waves):
        return F.pad(waves, (0, self.missing))


@table.mistake("last column empty at odd widths")
@taking(TableInSteps, TableInSteps.finished)
def last_column_left_out(self, waves):
    """At an odd width your last column is zero. It is a sine: there is one more of them than there
    are cosines."""
    d_model = waves.shape[1]
    return F.pad(waves[:, : d_model - d_model % 2], (0, d_model % 2))


@table.mistake("last column a cosine at odd widths")
@taking(TableInSteps, TableInSteps.even)
def last_column_a_cosine(self, angles):
    """At an odd width your last column is a cosine. Columns with an even number are sines, also
    where no cosine follows."""
    d_model = angles.shape[1]
    is_last = (torch.arange(d_model) == d_model - 1) & (d_model % 2 == 1)
    return torch.where(is_last, angles.cos(), angles.sin())


@table.mistake("last column repeated at odd widths")
@taking(TableInSteps, TableInSteps.finished)
def last_column_repeated(self, waves):
    """At an odd width your last column is the one to its left once more. It is the sine of the next
    angle."""
    return torch.cat([waves[:, :-1], waves[:, -2:-1]], dim=1) if waves.shape[1] % 2 else waves


# ------------------------------------------------------------------------- PositionalEncoding

module = Part(
    "PositionalEncoding(d_model, dropout=0.1, max_len=5000)(x (B, T, D)) -> (B, T, D)",
    positional.PositionalEncoding,
    reads=("lecture 6, on adding positions to words", f"{LECTURE}#6.-Adding-positions-to-words"),
    may_call=("positional_encoding",),
)
module.step(
    "every word gets the vector of its own position added",
    1,
    words(2, 3, 6, dropout=0.0, max_len=11),
    words(5, 2, 4, dropout=0.0, max_len=9),
    words(4, 4, 8, dropout=0.0, max_len=6),  # as many sentences as words
    words(1, 7, 2, dropout=0.0),
)
module.step(
    "float64 stays float64, any width and memory layout, x stays as it was, gradients flow",
    1,
    words(2, 3, 7, dropout=0.0, max_len=8),
    silent(words(2, 3, 6, dropout=0.0, max_len=8).in_float64()),
    words(2, 3, 6, dropout=0.0, max_len=8).with_gaps(),
    words(2, 3, 6, dropout=0.0, max_len=8).with_gradients(),
    judge=in_single_precision,
    strict=True,
)
module.step(
    "`pe` is a buffer, and nothing is learned",
    1,
    silent(new("what a new module holds")),
    # PyTorch asks for a tensor where `pe` is a buffer, of whatever shape, and says that the name is
    # taken where it is a parameter or a plain attribute
    replace(
        new("a number put in the place of the buffer `pe`", "pe", 0, method="register_buffer"),
        raises=("TypeError",),
    ),
    silent(new("the buffer `pe`", "pe", method="get_buffer")),
    judge=holds_a_table_that_is_not_trained,
)
module.step(
    "dropout acts on the sum, and in train mode only",
    1,
    silent(words(2, 3, 6, dropout=0.5, max_len=8)),
    words(3, 3, 6, dropout=EVERYTHING, max_len=8),
    words(2, 3, 6, training=True, dropout=0.0, max_len=8),
    words(2, 3, 6, training=True, dropout=EVERYTHING, max_len=8),
    silent(words(3, 31, 16, training=True, times=2)),  # dropout left out, so 0.1
    judge=drops_from_the_sum,
)
module.step(
    "a ValueError beyond max_len, and none before",
    1,
    words(1, 1, 4, dropout=0.0, max_len=1),
    silent(words(2, 6, 4, max_len=5), "ValueError"),
    silent(words(2, 3, 4, training=True, max_len=1), "ValueError"),
    silent(words(1, 5, 4, dropout=0.0, max_len=5)),
    silent(words(1, 3, 4, dropout=0.0, max_len=5)),
    silent(words(2, 5, 4, 0.0, 5)),
    silent(words(1, 5000, 2, dropout=0.0)),
    silent(words(1, 5001, 2), "ValueError"),
    judge=near,
)


class InSteps(nn.Module):
    """PositionalEncoding in steps, of which a mistake changes one."""

    table = staticmethod(positional.positional_encoding)
    pe: Tensor

    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 5000) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.hold(self.table(max_len, d_model))

    def hold(self, pe: Tensor) -> None:
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1] > len(self.pe):
            raise ValueError(f"length {x.shape[1]} is beyond max_len {len(self.pe)}")
        return self.summed(x, self.pe[: x.shape[1]])

    def summed(self, x: Tensor, rows: Tensor) -> Tensor:
        """From x (B, T, D) and the first T rows of the table."""
        return self.dropout(x + rows)


@module.mistake("parameter instead of buffer")
class AsParameter(InSteps):
    """The module has no buffer `pe`. An `nn.Parameter` would be changed by training, and a plain
    attribute would stay behind when the module moves to another device. A buffer does neither:
    `self.register_buffer` takes its name and the tensor."""

    def hold(self, pe):
        self.pe = nn.Parameter(pe)


@module.mistake("batch axis indexed", costs=(1, 2))
class ByBatch(InSteps):
    """The positions follow the sentences of the batch: every word of sentence 0 gets the vector of
    position 0, every word of sentence 1 that of position 1. In x (B, T, D) words are counted along
    axis 1. Code made for (T, B, D) looks at axis 0."""

    def summed(self, x, rows):
        return self.dropout(x + self.pe[: len(x)].unsqueeze(1))


@module.mistake("batch axis indexed", costs=(1, 2))
class ByBatchWithoutAxis(InSteps):
    """You take as many positions as there are sentences. In x (B, T, D) the words of a sentence are
    counted along axis 1."""

    def summed(self, x, rows):
        return self.dropout(x + self.pe[: len(x)])


@module.mistake("table not cut to the sentence", costs=(1, 2))
class WholeTable(InSteps):
    """You add the whole table of max_len rows, which fits no shorter sentence. Take the rows of the
    first T positions."""

    def summed(self, x, rows):
        return self.dropout(x + self.pe)


@module.mistake("one vector for all words", costs=(1, 2))
class VectorOfTheLength(InSteps):
    """Every word gets the same vector, that of position T. A range of rows needs a colon."""

    def summed(self, x, rows):
        return self.dropout(x + self.pe[x.shape[1]])


@module.mistake("positions without words", costs=(1, 2))
class PositionsAlone(InSteps):
    """You return the positions alone. They are added to x."""

    def summed(self, x, rows):
        return self.dropout(rows.expand_as(x))


@module.mistake("dropout in eval mode")
class AlwaysDropping(InSteps):
    """In eval mode the sum must come out whole, but entries are dropped or scaled. `nn.Dropout`
    looks at the mode by itself; `F.dropout` has to be told: `training=self.training`."""

    def summed(self, x, rows):
        return F.dropout(x + rows, self.dropout.p)


@module.mistake("no dropout")
class NeverDropping(InSteps):
    """In train mode nothing is dropped. The sum goes through dropout before it is returned."""

    def summed(self, x, rows):
        return x + rows


@module.mistake("dropout on the words only")
class DroppingWords(InSteps):
    """You drop entries of x and add the positions afterwards. Dropout acts on the sum."""

    def summed(self, x, rows):
        return self.dropout(x) + rows


@module.mistake("dropout on the positions only")
class DroppingPositions(InSteps):
    """You drop entries of the positions and keep x whole. Dropout acts on the sum."""

    def summed(self, x, rows):
        return x + self.dropout(rows.expand_as(x))


@module.mistake("words multiplied by √d_model", costs=(1, 2))
class WordsScaled(InSteps):
    """You multiply x by √d_model. In a transformer, the embedding does this; here x is taken as it
    comes."""

    def summed(self, x, rows):
        return self.dropout(x * x.shape[-1] ** 0.5 + rows)


@module.mistake("words and positions multiplied", costs=(1, 2))
class Multiplied(InSteps):
    """You multiply words and positions. They are added."""

    def summed(self, x, rows):
        return self.dropout(x * rows)


@module.mistake("positions subtracted", costs=(1, 2))
class Subtracted(InSteps):
    """You subtract the positions. They are added."""

    def summed(self, x, rows):
        return self.dropout(x - rows)


@module.mistake("words alone", costs=(1, 2))
class WordsAlone(InSteps):
    """Your words come out as they came in (but for dropout): where is the table added?"""

    def summed(self, x, rows):
        return self.dropout(x)


@module.mistake("positions from the end", costs=(1, 2))
class FromTheEnd(InSteps):
    """The last word gets the vector of position 0. The first word should: are the rows turned
    round?"""

    def summed(self, x, rows):
        return self.dropout(x + rows.flip(0))


@module.mistake("the last rows of the table", costs=(1, 2))
class LastRows(InSteps):
    """You add the last T rows of the table. The words of a sentence stand at positions 0 to T − 1:
    on which side of the colon does T belong?"""

    def summed(self, x, rows):
        return self.dropout(x + self.pe[-x.shape[1] :])


@module.mistake("positions joined to the words", costs=(1, 2))
class SideBySide(InSteps):
    """Your result is twice as wide: you put the positions beside the words. They are added."""

    def summed(self, x, rows):
        return self.dropout(torch.cat([x, rows.expand_as(x)], dim=-1))


def with_table(answer: Table) -> type[nn.Module]:
    return type("WithTable", (InSteps,), {"table": staticmethod(answer)})


WRONG_TABLES = [mistake for mistake in table.mistakes if set(mistake.costs) & {1, 2}]
for mistake in WRONG_TABLES:
    if mistake.costs != (1, 3):
        module.mistake(mistake.name, mistake.says, costs=(1, 2))(with_table(mistake.answer))

# ------------------------------------------------------------- visualize_positional_encodings

picture = Part(
    "visualize_positional_encodings(length, d_model=512, ax=None) -> Axes",
    positional.visualize_positional_encodings,
    reads=("lecture 6, on the picture of the whole table", f"{LECTURE}#The-whole-table"),
    may_call=("positional_encoding",),
)
picture.step(
    "a column for each dimension, a row for each position, all to be seen",
    1, drawing(5, 8), drawing(11, d_model=7), drawing(3, on_axes=False), judge=shows_the_table,
)  # fmt: skip
picture.step(
    "position 0 on top, both axes labelled, a colour bar",
    1, drawing(7, 4), drawing(4, 6, on_axes=False), judge=can_be_read,
)  # fmt: skip
picture.step(
    "drawn on the Axes given, which comes back; no other figure, no show",
    1, drawing(6, 5), drawing(5, 9, on_axes=False), judge=is_a_good_guest,
)  # fmt: skip


def draw(
    length: int,
    d_model: int,
    ax: Axes | None,
    turned: bool = False,
    from_below: bool = False,
    labels: bool = True,
    bar: bool = True,
    **options: Any,
) -> Axes:
    """The right picture, or one with a fault."""
    if ax is None:
        _, ax = plt.subplots()
    cells = positional.positional_encoding(length, d_model).numpy()
    image = ax.imshow(
        cells.T if turned else cells, origin="lower" if from_below else "upper", **options
    )
    if labels:
        ax.set(xlabel="dimension", ylabel="position")
    if bar:
        ax.figure.colorbar(image, ax=ax)
    return ax


@picture.mistake("axes swapped")
def turned(length, d_model=512, ax=None):
    """Positions run to the right and dimensions downwards: the table was turned round. One row of
    the table is one position, and so is one row of the picture."""
    return draw(length, d_model, ax, turned=True)


@picture.mistake("axes swapped")
def turned_from_below(length, d_model=512, ax=None):
    """Positions run to the right and dimensions upwards: the table was turned round. One row of the
    table is one position, and so is one row of the picture. Position 0 stands on top."""
    return draw(length, d_model, ax, turned=True, from_below=True)


@picture.mistake("position axis not inverted")
def from_below(length, d_model=512, ax=None):
    """Position 0 is at the bottom. `pcolormesh` counts upwards, as curves do; `imshow` counts
    downwards, as text is read. The y axis of an Axes can be inverted."""
    return draw(length, d_model, ax, from_below=True)


@picture.mistake("position axis counts backwards")
def counting_backwards(length, d_model=512, ax=None):
    """The rows stand in the right order, but the numbers beside them run backwards: by the y axis,
    position 0 is the last one. An `extent` replaces the numbers on the axes; without one, `imshow`
    counts rows from 0."""
    return draw(length, d_model, ax, extent=(0, d_model, 0, length))


@picture.mistake("negative numbers share one colour")
def colours_from_zero(length, d_model=512, ax=None):
    """Your colours begin at 0, so that all negative numbers look alike. The values run from −1 to 1:
    what do `vmin` and `vmax` say?"""
    return draw(length, d_model, ax, vmin=0, vmax=1)


@picture.mistake("limits of another width")
def limits_of_width_512(length, d_model=512, ax=None):
    """Your x axis always runs to 512, so a narrower table fills a small part of the picture. The
    limits follow from `d_model`, and `imshow` and `pcolormesh` find them by themselves."""
    ax = draw(length, d_model, ax)
    ax.set_xlim(0, 512)
    return ax


@picture.mistake("axes not labelled")
def without_labels(length, d_model=512, ax=None):
    """The axes have no labels. Say what runs to the right and what runs downwards."""
    return draw(length, d_model, ax, labels=False)


@picture.mistake("no colour bar")
def without_bar(length, d_model=512, ax=None):
    """Without a colour bar, nobody can tell which colour stands for which number."""
    return draw(length, d_model, ax, bar=False)


@picture.mistake("width fixed to 512")
def of_width_512(length, d_model=512, ax=None):
    """The picture always has 512 dimensions. Use the argument `d_model`; 512 is only what it is
    when nothing is given."""
    return draw(length, 512, ax)


@picture.mistake("ax ignored")
def on_its_own_figure(length, d_model=512, ax=None):
    """You open a figure of your own although an Axes was given. Make one only if `ax` is None."""
    return draw(length, d_model, None)


@picture.mistake("ax ignored and nothing returned")
def on_its_own_figure_unreturned(length, d_model=512, ax=None):
    """You open a figure of your own although an Axes was given, and nothing comes back. Make one
    only if `ax` is None, and return the Axes with the picture."""
    draw(length, d_model, None)


for labelled, returned in (
    ("current", "current"), ("current", "given"), ("given", "given"), ("current", "none"),
):  # fmt: skip

    @picture.mistake("drawn on the current Axes")
    def on_the_current_axes(length, d_model=512, ax=None, to_label=labelled, to_return=returned):
        """Functions of `plt`, such as `plt.imshow` and `plt.xlabel`, draw on whichever Axes is
        current, and that need not be the one you were given. Use the methods of `ax`."""
        if ax is None:
            _, ax = plt.subplots()
        axes = {"current": plt.gca(), "given": ax, "none": None}
        draw(length, d_model, axes["current"], labels=False)
        axes[to_label].set(xlabel="dimension", ylabel="position")
        return axes[to_return]


@picture.mistake("Axes not returned")
def returning_nothing(length, d_model=512, ax=None):
    """The picture is right, but the Axes does not come back, so that nobody can add a title to it.
    Return `ax`."""
    draw(length, d_model, ax)


@picture.mistake("figure shown")
def shown(length, d_model=512, ax=None):
    """You call `show`. In a program it may wait until the window is closed, and what the caller
    wants to add comes too late. Draw, and return the Axes."""
    ax = draw(length, d_model, ax)
    plt.show()
    return ax


@picture.mistake("figure shown and nothing returned")
def shown_and_nothing_returned(length, d_model=512, ax=None):
    """You call `show` and return nothing. Leave showing to the caller, and return `ax`."""
    shown(length, d_model, ax)


for fixed in (False, True):

    @picture.mistake("shown on a figure of its own")
    def shown_on_its_own_figure(length, d_model=512, ax=None, fixed=fixed):
        """Your function opens a figure, shows it and keeps it to itself: fine for looking at once,
        of no use as a panel beside others. Draw on `ax` if there is one, open a figure only if
        there is none, return the Axes, and leave showing to the caller."""
        shown(length, 512 if fixed else d_model, None)


ASSIGNMENT = Assignment("a6_positional_encoding", parts=(table, module, picture))
