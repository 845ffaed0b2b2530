"""Assignment 6: sinusoidal positions as a table, as a module, and as a picture."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from torch import Tensor, nn

from autograder.check import Assignment, Build, Case, Drawing, Mistake, Part, Step
from autograder.compare import dropped, kind_of, two_results_differ, values_agree
from autograder.drawing import Picture
from course_utils import positional
from course_utils.positional import positional_encoding as encoding

LECTURE = "../../lectures/06_positional_encoding.ipynb"

# so near to 1 that nothing is kept; at 1 itself, dropout by hand divides 0 by 0
EVERYTHING = 1 - 1e-9

# What follows is right in several forms (a table in any shape, an angle from another formula, an
# error in any words), so that it cannot tell one wrong answer from another: it decides points, and
# is left out where mistakes are recognised.
silent = partial(Case, random=True)


def size(length: int, d_model: int) -> Callable[..., list]:
    """The arguments (length, d_model); there is nothing to draw."""
    return lambda generator: [length, d_model]


def words(
    batch: int,
    length: int,
    width: int,
    dtype: torch.dtype = torch.float32,
    training: bool = False,
    times: int = 1,
    **keywords: Any,
) -> Callable[..., Build]:
    """Draws x (batch, length, width) for a PositionalEncoding made with these keywords."""

    def draw(generator: torch.Generator) -> Build:
        x = torch.randn(batch, length, width, generator=generator, dtype=torch.float64)
        return Build((width,), keywords, [x.to(dtype)], training=training, dtype=dtype, times=times)

    return draw


def made_in_order(length: int) -> Callable[..., Build]:
    """A PositionalEncoding made without naming its arguments, for 5 positions."""

    def draw(generator: torch.Generator) -> Build:
        return Build((4, 0.0, 5), arguments=[torch.randn(2, length, 4, generator=generator)])

    return draw


def new(*arguments: Any, method: str | None = None) -> Callable[..., Build]:
    """A new PositionalEncoding of width 6 for 7 positions, to be looked into."""
    return lambda generator: Build((6,), {"max_len": 7}, list(arguments), method)


def drawing(*arguments: int, on_axes: bool = True, **keywords: int) -> Callable[..., Drawing]:
    """A picture of these sizes."""
    return lambda generator: Drawing(list(arguments), keywords, on_axes)


# ------------------------------------------------------------------------------------- judges


def near(expected: Tensor, got: Any) -> str | None:
    """Like `values_agree`, but at far positions an angle computed in float32 will do."""
    problem = values_agree(expected, got)
    if problem and isinstance(got, Tensor) and got.shape == expected.shape:
        apart = (got.double() - expected.double()).abs().max()
        return None if apart <= 1e-3 else problem
    return problem


def first_pair(expected: Tensor, got: Any) -> str | None:
    """Judges columns 0 and 1, of a table of the right shape."""
    if isinstance(got, Tensor) and got.shape == expected.shape:
        return values_agree(expected[:, :2], got[:, :2])
    return values_agree(expected, got)


def in_single_precision(expected: Tensor, got: Any) -> str | None:
    """The table has the precision of float32, also where it is added to a float64 tensor."""
    return values_agree(expected.float(), got.float() if isinstance(got, Tensor) else got)


def holds_a_table_that_is_not_trained(expected: Any, got: Any) -> str | None:
    """Judges a sum (B, T, D), what a new module holds, and its table (max_len, D)."""
    if isinstance(expected, dict):
        return _holdings(got)
    return _lacking(expected, got) if expected.dim() == 2 else values_agree(expected, got)


def _lacking(table: Tensor, got: Any) -> str | None:
    """A number of the table that a tensor of whatever shape does not hold, if there is one."""
    if not isinstance(got, Tensor):
        return f"the buffer `pe` of a new module should hold the table, and is {kind_of(got)}"
    wanted, found = table.double().reshape(-1, 1), got.double().reshape(1, -1)
    there = ((wanted - found).abs() <= 1e-3).any(dim=1)
    if there.all():
        return None
    missing = float(wanted[~there][0])
    return (
        "the buffer `pe` of a new module should hold the table, but it does not: "
        f"{missing:.4g}, for instance, is nowhere in it"
    )


def _holdings(got: Any) -> str | None:
    if not isinstance(got, dict) or not isinstance(got.get("parameters"), dict):
        return f"expected a module, got {kind_of(got)}"
    if got["parameters"]:
        names = ", ".join(f"`{name}`" for name in got["parameters"])
        return f"nothing in this module is learned, but it has parameters: {names}"
    if "pe" not in got["buffers"]:
        names = ", ".join(f"`{name}`" for name in got["buffers"]) or "none"
        return f"the table should be a buffer named `pe`; the module's buffers: {names}"
    return None


def drops_from_the_sum(expected: Tensor | list, got: Any) -> str | None:
    """Judges one result that is not left to chance, or two in train mode with dropout 0.1."""
    if not isinstance(expected, list):
        return values_agree(expected, got)
    problem = two_results_differ(expected, got)
    for wanted, found in zip(expected, got, strict=True) if problem is None else ():
        problem = problem or dropped(0.1)(wanted, found) or _dropped_together(found)
    return problem


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


def as_picture(got: Any) -> Picture | None:
    """A report as a Picture with cells in it; None if it is anything else."""
    if not isinstance(got, tuple | list) or len(got) != len(Picture._fields):
        return None
    picture = Picture(*got)
    is_table = isinstance(picture.values, Tensor) and picture.values.dim() == 2
    return picture if is_table and picture.values.numel() else None


NO_CELLS = "no cells were found: is the table drawn, for instance with `imshow` or `pcolormesh`?"


def in_words(table: Tensor) -> str:
    rows, columns = table.shape
    return f"{rows} {'row' if rows == 1 else 'rows'} and {columns} columns of cells"


def shows_the_table(expected: tuple, got: Any) -> str | None:
    """Every number of the table at its dimension (x) and position (y)."""
    wanted, picture = Picture(*expected), as_picture(got)
    if picture is None:
        return NO_CELLS
    if picture.values.shape != wanted.values.shape:
        return f"expected {in_words(wanted.values)}, the picture has {in_words(picture.values)}"
    if values_agree(wanted.values, picture.values.flip(0)) is None:
        return (
            "read by the numbers on the y axis, the encodings run backwards: the vector of the "
            "last position stands at y = 0"
        )
    problem = values_agree(wanted.values, picture.values)
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
    return None


def can_be_read(expected: tuple, got: Any) -> str | None:
    """Position 0 on top, labels, a colour bar."""
    picture = as_picture(got)
    missing = _not_this_table(Picture(*expected), picture)
    if missing:
        return missing
    lacks = []
    if not picture.zero_on_top:
        lacks.append("the y axis runs upwards, so position 0 is not on top")
    if not (picture.x_labelled and picture.y_labelled):
        axes = [("x", picture.x_labelled), ("y", picture.y_labelled)]
        names = " and ".join(name for name, labelled in axes if not labelled)
        lacks.append(f"no label can be seen on {names}")
    if not picture.colour_bar:
        lacks.append("there is no colour bar, so nobody knows which colour is which number")
    return "; ".join(lacks) or None


def is_a_good_guest(expected: tuple, got: Any) -> str | None:
    """Draws on the Axes given, returns it, opens nothing else and shows nothing."""
    picture = as_picture(got)
    missing = _not_this_table(Picture(*expected), picture)
    if missing:
        return missing
    if not picture.on_given_axes:
        return (
            "the picture is not where it should be: on `ax` if that is given, else in a new figure of "
            "its own"
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


def _not_this_table(wanted: Picture, picture: Picture | None) -> str | None:
    """Why there is nothing to look at; in which order the numbers stand does not matter here."""
    if picture is None:
        return NO_CELLS
    same_size = picture.values.numel() == wanted.values.numel()
    one, other = wanted.values.flatten().sort().values, picture.values.flatten().sort().values
    if same_size and values_agree(one, other) is None:
        return None
    return (
        f"the cells do not show the encodings that were asked for: expected "
        f"{in_words(wanted.values)}, the picture has {in_words(picture.values)}"
        + (" with other numbers" if same_size else "")
    )


# ------------------------------------------------------------------------------ wrong tables
# Each is a whole implementation, so that it can be run against the same inputs as a submission's.

Table = Callable[[int, int], Tensor]


def interleaved(length: int, d_model: int, exponents: Tensor, first: int = 0) -> Tensor:
    """Sines in the even and cosines in the odd columns, with one exponent for each pair."""
    positions = torch.arange(first, first + length, dtype=torch.float64).unsqueeze(1)
    angles = positions / 10000**exponents
    table = torch.empty(length, d_model)
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles[:, : d_model // 2])
    return table


def evens(d_model: int) -> Tensor:
    return torch.arange(0, d_model, 2, dtype=torch.float64)


def exponent_k(length: int, d_model: int) -> Tensor:
    return interleaved(length, d_model, evens(d_model) / 2 / d_model)


def exponent_4k(length: int, d_model: int) -> Tensor:
    return interleaved(length, d_model, evens(d_model) * 2 / d_model)


def exponent_from_0_to_1(length: int, d_model: int) -> Tensor:
    return interleaved(length, d_model, torch.linspace(0, 1, (d_model + 1) // 2).double())


def exponent_negative(length: int, d_model: int) -> Tensor:
    return interleaved(length, d_model, -evens(d_model) / d_model)


def exponent_outside(length: int, d_model: int) -> Tensor:
    # 10000^(2k) / d_model, as one power
    return interleaved(length, d_model, evens(d_model) - math.log(d_model, 10000))


def positions_from_1(length: int, d_model: int) -> Tensor:
    return interleaved(length, d_model, evens(d_model) / d_model, first=1)


def exponent_of_its_own(length: int, d_model: int) -> Tensor:
    angles = torch.arange(length).double().unsqueeze(1)
    angles = angles / 10000 ** (torch.arange(d_model).double() / d_model)
    is_even = torch.arange(d_model) % 2 == 0
    return torch.where(is_even, angles.sin(), angles.cos()).float()


def in_blocks(length: int, d_model: int) -> Tensor:
    table = encoding(length, d_model)
    return torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)


def in_blocks_too_wide(length: int, d_model: int) -> Tensor:
    angles = torch.arange(length).double().unsqueeze(1) / 10000 ** (evens(d_model) / d_model)
    return torch.cat([angles.sin(), angles.cos()], dim=1).float()


def cosine_first(length: int, d_model: int) -> Tensor:
    angles = torch.arange(length).double().unsqueeze(1) / 10000 ** (evens(d_model) / d_model)
    table = torch.empty(length, d_model)
    table[:, 0::2] = torch.cos(angles)
    table[:, 1::2] = torch.sin(angles[:, : d_model // 2])
    return table


def sines_only(length: int, d_model: int) -> Tensor:
    table = encoding(length, d_model)
    table[:, 1::2] = table[:, 0::2][:, : d_model // 2]
    return table


def transposed(length: int, d_model: int) -> Tensor:
    return encoding(length, d_model).T


def two_exponents_a_pair(length: int, d_model: int) -> Tensor:
    angles = torch.arange(length).double().unsqueeze(1)
    angles = angles / 10000 ** (2 * torch.arange(d_model).double() / d_model)
    is_even = torch.arange(d_model) % 2 == 0
    return torch.where(is_even, angles.sin(), angles.cos()).float()


def in_float64(length: int, d_model: int) -> Tensor:
    angles = torch.arange(length).double().unsqueeze(1) / 10000 ** (evens(d_model) / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


def turned_into_float64(length: int, d_model: int) -> Tensor:
    return encoding(length, d_model).double()


def width_rounded_up(length: int, d_model: int) -> Tensor:
    return encoding(length, d_model + d_model % 2)[:, :d_model]


def exponent_rounded_down(length: int, d_model: int) -> Tensor:
    return interleaved(length, d_model, evens(d_model) / max(d_model - d_model % 2, 1))


def width_rounded_down(length: int, d_model: int) -> Tensor:
    return encoding(length, d_model - d_model % 2)


def last_column_cut_off(length: int, d_model: int) -> Tensor:
    return encoding(length, d_model)[:, : d_model - d_model % 2]


def last_column_empty(length: int, d_model: int) -> Tensor:
    table = torch.zeros(length, d_model)
    even = d_model - d_model % 2
    table[:, :even] = encoding(length, even)
    return table


def last_column_left_out(length: int, d_model: int) -> Tensor:
    table = encoding(length, d_model)
    table[:, d_model - d_model % 2 :] = 0
    return table


def crashing_when_odd(table: Table) -> Table:
    """The same, but the cosines do not fit when there is one less of them."""

    def answer(length: int, d_model: int) -> Tensor:
        if d_model % 2:
            raise RuntimeError("four sines, three cosines")
        return table(length, d_model)

    return answer


# ------------------------------------------------------------------------------ wrong modules


def module(
    forward: Callable[[nn.Module, Tensor, Tensor], Tensor] | None = None,
    table: Table = encoding,
    hold: Callable[[nn.Module, Tensor], None] | None = None,
) -> type[nn.Module]:
    """A PositionalEncoding with something wrong in it.

    Args:
        forward: takes the module, x and the whole table (max_len, D).
        table: what is added.
        hold: keeps the table as `pe`; None registers a buffer.
    """

    class PositionalEncoding(nn.Module):
        def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 5000) -> None:
            super().__init__()
            self.dropout = nn.Dropout(dropout)
            (hold or as_buffer)(self, table(max_len, d_model))

        def forward(self, x: Tensor) -> Tensor:
            if x.shape[1] > len(self.pe):
                raise ValueError(f"length {x.shape[1]} is beyond max_len {len(self.pe)}")
            return (forward or added)(self, x, self.pe.to(x.dtype))

    return PositionalEncoding


def as_buffer(self: nn.Module, pe: Tensor) -> None:
    self.register_buffer("pe", pe)


def as_parameter(self: nn.Module, pe: Tensor) -> None:
    self.pe = nn.Parameter(pe)


def added(self: nn.Module, x: Tensor, pe: Tensor) -> Tensor:
    return self.dropout(x + pe[: x.shape[1]])


def by_batch(self: nn.Module, x: Tensor, pe: Tensor) -> Tensor:
    return self.dropout(x + pe[: x.shape[0]].unsqueeze(1))


def by_batch_without_axis(self: nn.Module, x: Tensor, pe: Tensor) -> Tensor:
    return self.dropout(x + pe[: x.shape[0]])


def whole_table(self: nn.Module, x: Tensor, pe: Tensor) -> Tensor:
    return self.dropout(x + pe)


def vector_of_the_length(self: nn.Module, x: Tensor, pe: Tensor) -> Tensor:
    return self.dropout(x + pe[x.shape[1]])


def positions_alone(self: nn.Module, x: Tensor, pe: Tensor) -> Tensor:
    return self.dropout(pe[: x.shape[1]].expand_as(x))


def always_dropping(self: nn.Module, x: Tensor, pe: Tensor) -> Tensor:
    return nn.functional.dropout(x + pe[: x.shape[1]], self.dropout.p)


def never_dropping(self: nn.Module, x: Tensor, pe: Tensor) -> Tensor:
    return x + pe[: x.shape[1]]


def dropping_words(self: nn.Module, x: Tensor, pe: Tensor) -> Tensor:
    return self.dropout(x) + pe[: x.shape[1]]


def dropping_positions(self: nn.Module, x: Tensor, pe: Tensor) -> Tensor:
    return x + self.dropout(pe[: x.shape[1]].expand_as(x))


def words_scaled(self: nn.Module, x: Tensor, pe: Tensor) -> Tensor:
    return self.dropout(x * x.shape[-1] ** 0.5 + pe[: x.shape[1]])


# ----------------------------------------------------------------------------- wrong pictures


def draw(
    length: int,
    d_model: int = 512,
    ax: Axes | None = None,
    *,
    turned: bool = False,
    from_below: bool = False,
    labels: bool = True,
    bar: bool = True,
    **options: Any,
) -> Axes:
    """The right picture, or one with a fault."""
    if ax is None:
        _, ax = plt.subplots()
    table = encoding(length, d_model).numpy()
    cells = ax.imshow(
        table.T if turned else table, origin="lower" if from_below else "upper", **options
    )
    if labels:
        ax.set(xlabel="dimension", ylabel="position")
    if bar:
        ax.figure.colorbar(cells, ax=ax)
    return ax


def counting_backwards(length: int, d_model: int = 512, ax: Axes | None = None) -> Axes:
    return draw(length, d_model, ax, extent=(0, d_model, 0, length))


def of_width_512(length: int, d_model: int = 512, ax: Axes | None = None) -> Axes:
    return draw(length, 512, ax)


def on_its_own_figure(length: int, d_model: int = 512, ax: Axes | None = None) -> Axes:
    return draw(length, d_model, None)


def on_its_own_figure_unreturned(length: int, d_model: int = 512, ax: Axes | None = None) -> None:
    draw(length, d_model, None)


def on_the_current_axes(
    length: int,
    d_model: int = 512,
    ax: Axes | None = None,
    *,
    labels: str = "current",
    returns: str = "current",
) -> Axes | None:
    """Cells on whichever Axes is current; labels and what is returned may belong to another."""
    if ax is None:
        _, ax = plt.subplots()
    axes = {"current": plt.gca(), "given": ax, "none": None}
    draw(length, d_model, axes["current"], labels=False)
    axes[labels].set(xlabel="dimension", ylabel="position")
    return axes[returns]


def returning_nothing(length: int, d_model: int = 512, ax: Axes | None = None) -> None:
    draw(length, d_model, ax)


def shown(length: int, d_model: int = 512, ax: Axes | None = None) -> Axes:
    ax = draw(length, d_model, ax)
    plt.show()
    return ax


def shown_and_nothing_returned(length: int, d_model: int = 512, ax: Axes | None = None) -> None:
    shown(length, d_model, ax)


def shown_on_its_own_figure(length: int, d_model: int = 512, ax: Axes | None = None) -> None:
    draw(length, d_model, None)
    plt.show()


def shown_on_its_own_figure_of_512(length: int, d_model: int = 512, ax: Axes | None = None) -> None:
    shown_on_its_own_figure(length, 512)


# ---------------------------------------------------------------------------------- sentences

BLOCKS = (
    "Your table holds all sines first and then all cosines. They take turns: column 0 is a sine, "
    "column 1 the cosine of the same angle, column 2 the next sine. Slices with a step, such as "
    "`table[:, 0::2]`, reach every second column."
)
EXPONENT_K = (
    "Your frequencies fall half as fast as they should: k stands where the exponent needs 2k. "
    "Which numbers does your `arange` hold, and are they k or already 2k?"
)
FROM_1 = (
    "Your row 0 holds the angles of position 1, so everything stands one row too high. Positions "
    "count from 0: the first row is 0, 1, 0, 1, …"
)
ODD = "At an odd width, it stops with an error."
FITTING = (
    "There is one cosine less than there are sines. How many columns does each of them fill, and "
    "how many angles did you compute?"
)


def both_ways(name: str, table: Table, says: str) -> tuple[Mistake, Mistake]:
    """A wrong table, right or crashing at odd widths."""
    odd = f"{says} {ODD} {FITTING}"
    return (
        Mistake(name, table, says),
        Mistake(f"{name}, and odd width crashes", crashing_when_odd(table), odd),
    )


positional_encoding = Part(
    name="positional_encoding",
    signature="positional_encoding(length, d_model) -> (length, d_model)",
    reference=positional.positional_encoding,
    steps=(
        Step(
            "columns 0 and 1 are the sine and the cosine of the position",
            1,
            (
                Case("length 7, d_model 2", size(7, 2)),
                Case("length 5, d_model 6", size(5, 6)),
            ),
            judge=first_pair,
        ),
        Step(
            "further columns take turns in the same way, each pair with its own angle",
            1,
            (
                Case("length 3, d_model 8", size(3, 8)),
                Case("length 9, d_model 4", size(9, 4)),
                Case("length 1, d_model 6", size(1, 6)),
            ),
        ),
        Step(
            "an odd width, too: the last column is a sine",
            1,
            (
                Case("length 5, d_model 7", size(5, 7)),
                Case("length 6, d_model 3", size(6, 3)),
                # slices that crash at other odd widths happen to fit at 1
                silent("length 4, d_model 1", size(4, 1)),
            ),
        ),
        Step(
            "a float32 tensor, still right at positions in the thousands",
            1,
            (
                Case("length 4, d_model 10", size(4, 10)),
                silent("length 4000, d_model 6", size(4000, 6)),
            ),
            judge=near,
            strict=True,
        ),
    ),
    mistakes=(
        Mistake("odd width crashes", crashing_when_odd(encoding), f"{ODD} {FITTING}"),
        *both_ways("sin and cos in blocks", in_blocks, BLOCKS),
        Mistake(
            "sin and cos in blocks, one column too many",
            in_blocks_too_wide,
            f"{BLOCKS} At an odd width yours has one column too many: there is one cosine less.",
        ),
        *both_ways("exponent k for 2k", exponent_k, EXPONENT_K),
        *both_ways("positions from 1", positions_from_1, FROM_1),
        *both_ways(
            "exponent 4k for 2k",
            exponent_4k,
            "Your frequencies fall twice as fast as they should. `torch.arange(0, d_model, 2)` "
            "holds 0, 2, 4, …: is something that is 2k already multiplied by two again?",
        ),
        *both_ways(
            "sine and cosine swapped",
            cosine_first,
            "Your even columns hold cosines and your odd ones sines. It is the other way round: at "
            "position 0, the first numbers are 0, 1, 0, 1.",
        ),
        *both_ways(
            "number of the column for k",
            two_exponents_a_pair,
            "Your exponent is twice the number of the column, divided by d_model. It is twice the "
            "number of the pair: columns 2 and 3 are pair 1, so both have the exponent "
            "2 / d_model. A loop over 0, 2, 4, … already counts 2k.",
        ),
        *both_ways(
            "an angle of its own for each column",
            exponent_of_its_own,
            "Your cosines have another angle than the sines to their left. Columns 2k and 2k + 1 "
            "are a pair and share one angle, with the exponent 2k / d_model for both.",
        ),
        *both_ways(
            "angles multiplied instead of divided",
            exponent_negative,
            "Your later columns turn faster and faster. The position is divided by 10000 to the "
            "exponent; if you multiply, the exponent needs a minus sign.",
        ),
        *both_ways(
            "d_model outside the exponent",
            exponent_outside,
            "Your angles match pos / (10000^(2k) / d_model). The division by d_model belongs into "
            "the exponent: `**` binds tighter than `/`, so the exponent needs brackets.",
        ),
        *both_ways(
            "exponents spread from 0 to 1",
            exponent_from_0_to_1,
            "Your last exponent is exactly 1. It is (d_model − 2) / d_model at an even width: the "
            "exponents are 2k / d_model, and 1 is never reached.",
        ),
        Mistake(
            "sines only",
            sines_only,
            "All your columns are sines. Odd columns hold the cosine of the angle to their left.",
        ),
        Mistake(
            "table transposed",
            transposed,
            "Your result is (d_model, length). Rows are positions: (length, d_model).",
        ),
        *(
            Mistake(
                "float64 returned",
                answer,
                "The numbers are right, but they are float64. Computing in float64 is fine (at far "
                "positions even better); turn the result into float32 at the end.",
            )
            for answer in (in_float64, turned_into_float64)
        ),
        Mistake(
            "odd width treated like the next even one",
            width_rounded_up,
            "At an odd width, your exponents divide by d_model + 1. They divide by d_model itself, "
            "whatever it is.",
        ),
        Mistake(
            "odd width treated like the even one below",
            exponent_rounded_down,
            "At an odd width, your exponents divide by d_model − 1. They divide by d_model itself, "
            "whatever it is.",
        ),
        *(
            Mistake(
                "a column missing at odd widths",
                answer,
                "At an odd width your table has one column too few. The last column is a sine "
                "without its cosine.",
            )
            for answer in (width_rounded_down, last_column_cut_off)
        ),
        Mistake(
            "last column empty at odd widths",
            last_column_empty,
            "At an odd width you make the table of the even width below and add zeros. The last "
            "column is a sine, and all exponents divide by d_model itself.",
        ),
        Mistake(
            "last column empty at odd widths",
            last_column_left_out,
            "At an odd width your last column is zero. It is a sine: there is one more of them "
            "than there are cosines.",
        ),
    ),
    reads=("lecture 6, on sinusoids", f"{LECTURE}#3.-Sinusoids"),
    stand_ins="course_utils.positional",
)

PositionalEncoding = Part(
    name="PositionalEncoding",
    signature="PositionalEncoding(d_model, dropout=0.1, max_len=5000)(x (B, T, D)) -> (B, T, D)",
    reference=positional.PositionalEncoding,
    steps=(
        Step(
            "every word gets the vector of its own position added",
            1,
            (
                Case("B=2, T=3, D=6", words(2, 3, 6, dropout=0.0, max_len=11)),
                Case("B=5, T=2, D=4", words(5, 2, 4, dropout=0.0, max_len=9)),
                Case("as many sentences as words, B=T=4", words(4, 4, 8, dropout=0.0, max_len=6)),
                Case("B=1, T=7, with max_len left out", words(1, 7, 2, dropout=0.0)),
            ),
        ),
        Step(
            "float64 stays float64, any width and memory layout, x stays as it was, gradients flow",
            1,
            (
                Case("float32, D=7", words(2, 3, 7, dropout=0.0, max_len=8)),
                silent("float64", words(2, 3, 6, torch.float64, dropout=0.0, max_len=8)),
                Case("x with gaps in memory", words(2, 3, 6, dropout=0.0, max_len=8), strided=True),
                Case("the gradient for x", words(2, 3, 6, dropout=0.0, max_len=8), gradient=True),
            ),
            judge=in_single_precision,
            strict=True,
        ),
        Step(
            "`pe` is a buffer, and nothing is learned",
            1,
            (
                silent("what a new module holds", new()),
                # PyTorch asks for a tensor where `pe` is a buffer, of whatever shape, and says that
                # the name is taken where it is a parameter or a plain attribute
                Case(
                    "a number put in the place of the buffer `pe`",
                    new("pe", 0, method="register_buffer"),
                    raises=("TypeError",),
                ),
                Case("a single word, B=T=1", words(1, 1, 6, dropout=0.0, max_len=7)),
                silent("the buffer `pe`", new("pe", method="get_buffer")),
            ),
            judge=holds_a_table_that_is_not_trained,
        ),
        Step(
            "dropout acts on the sum, and in train mode only",
            1,
            (
                silent("eval mode, dropout 0.5", words(2, 3, 6, dropout=0.5, max_len=8)),
                Case("eval mode, dropout almost 1", words(2, 3, 6, dropout=EVERYTHING, max_len=8)),
                Case(
                    "train mode, dropout 0", words(2, 3, 6, training=True, dropout=0.0, max_len=8)
                ),
                Case(
                    "train mode, dropout almost 1",
                    words(2, 3, 6, training=True, dropout=EVERYTHING, max_len=8),
                ),
                silent(
                    "train mode, dropout left out, so 0.1",
                    words(3, 31, 16, training=True, times=2),
                ),
            ),
            judge=drops_from_the_sum,
        ),
        Step(
            "a ValueError beyond max_len, and none before",
            1,
            (
                Case("T=1, max_len=1", words(1, 1, 4, dropout=0.0, max_len=1)),
                silent("T=6, max_len=5", words(2, 6, 4, max_len=5), raises=("ValueError",)),
                silent(
                    "T=3, max_len=1, train mode",
                    words(2, 3, 4, training=True, max_len=1),
                    raises=("ValueError",),
                ),
                silent("T=5, max_len=5", words(1, 5, 4, dropout=0.0, max_len=5)),
                silent("T=5, made by `PositionalEncoding(4, 0.0, 5)`", made_in_order(5)),
                silent("T=5000, with max_len left out", words(1, 5000, 2, dropout=0.0)),
                silent("T=5001, with max_len left out", words(1, 5001, 2), raises=("ValueError",)),
            ),
            judge=near,
        ),
    ),
    mistakes=(
        Mistake(
            "parameter instead of buffer",
            module(hold=as_parameter),
            "The module has no buffer `pe`. An `nn.Parameter` would be changed by training, and a "
            "plain attribute would stay behind when the module moves to another device. A buffer "
            "does neither: `self.register_buffer` takes its name and the tensor.",
        ),
        Mistake(
            "batch axis indexed",
            module(by_batch),
            "The positions follow the sentences of the batch: every word of sentence 0 gets the "
            "vector of position 0, every word of sentence 1 that of position 1. In x (B, T, D) "
            "words are counted along axis 1. Code made for (T, B, D) looks at axis 0.",
        ),
        Mistake(
            "batch axis indexed",
            module(by_batch_without_axis),
            "You take as many positions as there are sentences. In x (B, T, D) the words of a "
            "sentence are counted along axis 1.",
        ),
        Mistake(
            "table not cut to the sentence",
            module(whole_table),
            "You add the whole table of max_len rows, which fits no shorter sentence. Take the "
            "rows of the first T positions.",
        ),
        Mistake(
            "one vector for all words",
            module(vector_of_the_length),
            "Every word gets the same vector, that of position T. A range of rows needs a colon.",
        ),
        Mistake(
            "positions without words",
            module(positions_alone),
            "You return the positions alone. They are added to x.",
        ),
        Mistake(
            "dropout in eval mode",
            module(always_dropping),
            "In eval mode the sum must come out whole, but entries are dropped or scaled. "
            "`nn.Dropout` looks at the mode by itself; `F.dropout` has to be told: "
            "`training=self.training`.",
        ),
        Mistake(
            "no dropout",
            module(never_dropping),
            "In train mode nothing is dropped. The sum goes through dropout before it is returned.",
        ),
        Mistake(
            "dropout on the words only",
            module(dropping_words),
            "You drop entries of x and add the positions afterwards. Dropout acts on the sum.",
        ),
        Mistake(
            "dropout on the positions only",
            module(dropping_positions),
            "You drop entries of the positions and keep x whole. Dropout acts on the sum.",
        ),
        Mistake(
            "words multiplied by √d_model",
            module(words_scaled),
            "You multiply x by √d_model. In a transformer, the embedding does this; here x is "
            "taken as it comes.",
        ),
        Mistake("positions from 1", module(table=positions_from_1), FROM_1),
        Mistake("sin and cos in blocks", module(table=in_blocks), BLOCKS),
        Mistake("exponent k for 2k", module(table=exponent_k), EXPONENT_K),
    ),
    reads=("lecture 6, on adding positions to words", f"{LECTURE}#6.-Adding-positions-to-words"),
    may_call=("positional_encoding",),
    stand_ins="course_utils.positional",
)

visualize_positional_encodings = Part(
    name="visualize_positional_encodings",
    signature="visualize_positional_encodings(length, d_model=512, ax=None) -> Axes",
    reference=positional.visualize_positional_encodings,
    steps=(
        Step(
            "a column for each dimension, a row for each position, all to be seen",
            1,
            (
                Case("length 5, d_model 8, on a given Axes", drawing(5, 8)),
                Case("length 11, d_model 7, on a given Axes", drawing(11, d_model=7)),
                Case("length 3, nothing else given", drawing(3, on_axes=False)),
            ),
            judge=shows_the_table,
        ),
        Step(
            "position 0 on top, both axes labelled, a colour bar",
            1,
            (
                Case("length 7, d_model 4, on a given Axes", drawing(7, 4)),
                Case("length 4, d_model 6, no Axes given", drawing(4, 6, on_axes=False)),
            ),
            judge=can_be_read,
        ),
        Step(
            "drawn on the Axes given, which comes back; no other figure, no show",
            1,
            (
                Case("length 6, d_model 5, on a given Axes", drawing(6, 5)),
                Case("length 5, d_model 9, no Axes given", drawing(5, 9, on_axes=False)),
            ),
            judge=is_a_good_guest,
        ),
    ),
    mistakes=(
        Mistake(
            "axes swapped",
            partial(draw, turned=True),
            "Positions run to the right and dimensions downwards: the table was turned round. One "
            "row of the table is one position, and so is one row of the picture.",
        ),
        Mistake(
            "axes swapped",
            partial(draw, turned=True, from_below=True),
            "Positions run to the right and dimensions upwards: the table was turned round. One "
            "row of the table is one position, and so is one row of the picture. Position 0 stands "
            "on top.",
        ),
        Mistake(
            "position axis not inverted",
            partial(draw, from_below=True),
            "Position 0 is at the bottom. `pcolormesh` counts upwards, as curves do; `imshow` "
            "counts downwards, as text is read. The y axis of an Axes can be inverted.",
        ),
        Mistake(
            "position axis counts backwards",
            counting_backwards,
            "The rows stand in the right order, but the numbers beside them run backwards: by the "
            "y axis, position 0 is the last one. An `extent` replaces the numbers on the axes; "
            "without one, `imshow` counts rows from 0.",
        ),
        Mistake(
            "axes not labelled",
            partial(draw, labels=False),
            "The axes have no labels. Say what runs to the right and what runs downwards.",
        ),
        Mistake(
            "no colour bar",
            partial(draw, bar=False),
            "Without a colour bar, nobody can tell which colour stands for which number.",
        ),
        Mistake(
            "width fixed to 512",
            of_width_512,
            "The picture always has 512 dimensions. Use the argument `d_model`; 512 is only what "
            "it is when nothing is given.",
        ),
        Mistake(
            "ax ignored",
            on_its_own_figure,
            "You open a figure of your own although an Axes was given. Make one only if `ax` is "
            "None.",
        ),
        Mistake(
            "ax ignored and nothing returned",
            on_its_own_figure_unreturned,
            "You open a figure of your own although an Axes was given, and nothing comes back. Make "
            "one only if `ax` is None, and return the Axes with the picture.",
        ),
        *(
            Mistake(
                "drawn on the current Axes",
                partial(on_the_current_axes, labels=labels, returns=returns),
                "Functions of `plt`, such as `plt.imshow` and `plt.xlabel`, draw on whichever Axes "
                "is current, and that need not be the one you were given. Use the methods of `ax`.",
            )
            for labels, returns in (
                ("current", "current"),
                ("current", "given"),
                ("given", "given"),
                ("current", "none"),
            )
        ),
        Mistake(
            "Axes not returned",
            returning_nothing,
            "The picture is right, but the Axes does not come back, so that nobody can add a title "
            "to it. Return `ax`.",
        ),
        Mistake(
            "figure shown",
            shown,
            "You call `show`. In a program it may wait until the window is closed, and what the "
            "caller wants to add comes too late. Draw, and return the Axes.",
        ),
        Mistake(
            "figure shown and nothing returned",
            shown_and_nothing_returned,
            "You call `show` and return nothing. Leave showing to the caller, and return `ax`.",
        ),
        *(
            Mistake(
                "shown on a figure of its own",
                answer,
                "Your function opens a figure, shows it and keeps it to itself: fine for looking "
                "at once, of no use as a panel beside others. Draw on `ax` if there is one, open a "
                "figure only if there is none, return the Axes, and leave showing to the caller.",
            )
            for answer in (shown_on_its_own_figure, shown_on_its_own_figure_of_512)
        ),
    ),
    reads=("lecture 6, on the picture of the whole table", f"{LECTURE}#The-whole-table"),
    may_call=("positional_encoding",),
    stand_ins="course_utils.positional",
)

ASSIGNMENT = Assignment(
    name="a6_positional_encoding",
    parts=(positional_encoding, PositionalEncoding, visualize_positional_encodings),
    barred=(),
)
