"""The right answers of assignment 6 in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from matplotlib.axes import Axes
from torch import Tensor, nn

from assignments.a6_positional_encoding.rubric import (
    ADDED,
    ADDING_MANNERS,
    FAR,
    FIRST_PAIR,
    FURTHER_PAIRS,
    ODD_WIDTH,
    module,
    picture,
    table,
    wrong_tables,
)
from autograder.checks.mistakes import Steps, called, costs, message, variants
from course_utils import positional

Table = Callable[[int, int], Tensor]


# ------------------------------------------------------------------------ positional_encoding


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
    "Your table holds all sines first and then all cosines. They should take turns, so that "
    "column 0 is a sine, column 1 the cosine of the same angle, column 2 the next sine. Slices "
    "with a step, such as `table[:, 0::2]`, reach every second column."
)


@table.mistakes_in(TableInSteps.fit)
class TableFit:
    @message(ODD)
    def odd_width_crashes(self, d_model):
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


@table.mistakes_in(TableInSteps.arranged, costs=(FIRST_PAIR, FURTHER_PAIRS))
class TableArranged:
    @message(BLOCKS)
    def sin_and_cos_in_blocks(self, waves):
        return torch.cat([waves[:, 0::2], waves[:, 1::2]], dim=1)


@table.mistake(
    "sin and cos in blocks, one column too many",
    f"{BLOCKS} At an odd width yours has one column too many: there is one cosine less.",
    costs=(FIRST_PAIR, ODD_WIDTH),
)
class InBlocksTooWide(TableInSteps):
    def exponents(self, d_model):
        return 2 * pairs(d_model + d_model % 2) / d_model

    def arranged(self, waves):
        return torch.cat([waves[:, 0::2], waves[:, 1::2]], dim=1)


@table.mistakes_in(TableInSteps.exponents, costs=(FURTHER_PAIRS, FAR))
class TableExponents:
    def exponent_k_for_2k(self, d_model):
        """Your frequencies fall half as fast as they should, because there is k where the exponent
        needs 2k. Which numbers does your `arange` hold, and are they k or already 2k?"""
        return pairs(d_model) / d_model

    def exponent_4k_for_2k(self, d_model):
        """Your frequencies fall twice as fast as they should. `torch.arange(0, d_model, 2)` holds
        0, 2, 4, …. Is something that is 2k already multiplied by two again?"""
        return 4 * pairs(d_model) / d_model

    @costs(FIRST_PAIR, FURTHER_PAIRS)
    def number_of_the_column_for_k(self, d_model):
        """Your exponent is twice the number of the column, divided by d_model. It is twice the
        number of the pair, so columns 2 and 3 are pair 1, so both have the exponent 2 / d_model. A
        loop over 0, 2, 4, … already counts 2k."""
        return 2 * torch.arange(d_model).double() / d_model

    @costs(FIRST_PAIR, FURTHER_PAIRS)
    def an_angle_of_its_own_for_each_column(self, d_model):
        """Your cosines have another angle than the sines to their left. Columns 2k and 2k + 1 are a
        pair and share one angle, with the exponent 2k / d_model for both."""
        return torch.arange(d_model).double() / d_model

    @costs(FIRST_PAIR, FURTHER_PAIRS)
    def exponents_count_from_1(self, d_model):
        """Your first pair has the exponent 2 / d_model. Pairs count from 0, so the angle of columns
        0 and 1 is the position itself."""
        return 2 * (pairs(d_model) + 1) / d_model

    def angles_multiplied_instead_of_divided(self, d_model):
        """Your later columns turn faster and faster. The position is divided by 10000 to the
        exponent; if you multiply, the exponent needs a minus sign."""
        return -2 * pairs(d_model) / d_model

    @called("division by d_model outside the exponent")
    @costs(FIRST_PAIR, FURTHER_PAIRS)
    @variants("sign", (-1, 1))
    def divided_outside(self, d_model, sign):
        """Your angles are those of pos / 10000^(2k), multiplied or divided by d_model. The division
        by d_model belongs into the exponent, and `**` binds tighter than `/`, so the exponent needs
        brackets."""
        # pos / (10000^(2k) / d_model) or pos / 10000^(2k) / d_model, as one power
        return 2 * pairs(d_model) + sign * math.log(d_model, 10000)

    @called("division by d_model forgotten")
    def not_divided(self, d_model):
        """Your exponent is 2k and not 2k / d_model, so that every pair after the first hardly turns
        at all."""
        return 2 * pairs(d_model)

    def fraction_of_the_exponent_lost(self, d_model):
        """All your pairs have the same angle, the position itself, because 2k / d_model is below 1,
        and `//` makes 0 of it. Divide by `/`."""
        return 2 * pairs(d_model) // d_model

    @costs(FIRST_PAIR, FURTHER_PAIRS)
    def logarithm_rounded_down(self, d_model):
        """Your logarithm of 10000 became a whole number before it was combined with the columns,
        because `//` is outside the brackets that it was meant for, and rounds down. Divide by
        d_model with `/`."""
        return pairs(d_model) * -2 * (-math.log(10000.0) / d_model // 1) / math.log(10000.0)

    @costs(FIRST_PAIR, FURTHER_PAIRS)
    def base_and_exponent_exchanged(self, d_model):
        """You raise the fraction 2k / d_model to a power of 1e-4. That fraction is the exponent,
        and 10000, or 1e-4, is what is raised to it."""
        speeds = (2 * pairs(d_model) / d_model) ** 1e-4
        return -torch.log(speeds) / math.log(10000.0)

    def exponents_spread_from_0_to_1(self, d_model):
        """Your last exponent is exactly 1. It is (d_model − 2) / d_model at an even width, because
        the exponents are 2k / d_model, and 1 is never reached."""
        return torch.linspace(0, 1, (d_model + 1) // 2)[pairs(d_model).int()].double()

    @called("exponents divided by d_model − 2")
    def divided_by_two_less(self, d_model):
        """Your exponents divide by d_model − 2, so that the last one is about 1. They divide by
        d_model itself."""
        return 2 * pairs(d_model) / max(d_model - 2, 1)

    @costs()
    def odd_width_treated_like_the_next_even_one(self, d_model):
        """At an odd width, your exponents divide by d_model + 1. They divide by d_model itself,
        whatever it is."""
        return 2 * pairs(d_model) / (d_model + d_model % 2)

    @costs()
    def odd_width_treated_like_the_even_one_below(self, d_model):
        """At an odd width, your exponents divide by d_model − 1. They divide by d_model itself,
        whatever it is."""
        return 2 * pairs(d_model) / max(d_model - d_model % 2, 1)

    @costs()
    @variants("rounded", (True, False))
    def a_column_missing_at_odd_widths(self, d_model, rounded):
        """At an odd width your table has one column too few. The last column is a sine without its
        cosine."""
        even = d_model - d_model % 2
        return 2 * pairs(even) / (even if rounded else d_model)

    @costs()
    @variants("rounded", (True, False))
    def a_column_too_many_at_odd_widths(self, d_model, rounded):
        """At an odd width your table has one column too many. The last column is a sine without its
        cosine, so cut what you put together to d_model columns."""
        even = d_model + d_model % 2
        return 2 * pairs(even) / (even if rounded else d_model)


@table.mistakes_in(TableInSteps.positions, costs=(FIRST_PAIR, FURTHER_PAIRS))
class TablePositions:
    def positions_from_1(self, length):
        """Your row 0 holds the angles of position 1, so everything is one row too high. Positions
        count from 0, so the first row is 0, 1, 0, 1, …"""
        return torch.arange(1, length + 1).double()

    def positions_stretched(self, length):
        """Your positions run from 0 to `length` in `length` steps, as `linspace` counts, so that
        they are no whole numbers. They are 0, 1, 2, … up to length − 1."""
        return torch.linspace(0, length, length).double()

    def positions_as_shares_of_the_length(self, length):
        """Your positions are divided by the length, so that a word's vector depends on how long its
        sentence is. They are 0, 1, 2, … as they come."""
        return torch.arange(length).double() / length


@table.mistake("sine and cosine swapped", costs=(FIRST_PAIR, FURTHER_PAIRS))
class CosineFirst(TableInSteps):
    """Your even columns hold cosines and your odd ones sines. It should be the other way round. At
    position 0, the first numbers are 0, 1, 0, 1."""

    def even(self, angles):
        return angles.cos()

    def odd(self, angles):
        return angles.sin()


@table.mistakes_in(TableInSteps.angles, costs=(FURTHER_PAIRS, FAR))
class TableAngles:
    @variants("base", (1000.0, 100000.0, math.exp(4)))
    def another_base_than_10000(self, positions, exponents, base):
        """Your angles fall from pair to pair as if another number stood in place of 10000. How many
        zeros does yours have? If you use a logarithm, is it the one that belongs to `exp`?"""
        return positions / base**exponents

    def angles_rounded_down(self, positions, exponents):
        """You divide the positions by `//`, so that angles are rounded down to whole numbers. Then
        later pairs stand still for many positions. Divide by `/`."""
        return positions // 10000**exponents

    @costs(FIRST_PAIR, FURTHER_PAIRS)
    def degrees_for_radians(self, positions, exponents):
        """Your angles are read as degrees, so a sine's first full turn takes you 360 positions, not
        2π. Sine and cosine take the angle as it is, in radians, so nothing is left to convert."""
        return torch.deg2rad(positions / 10000**exponents)


@table.mistakes_in(TableInSteps.odd, costs=(FIRST_PAIR, FURTHER_PAIRS))
class TableOdd:
    def sines_only(self, angles):
        """All your columns are sines. Odd columns hold the cosine of the angle to their left."""
        return angles.sin()


@table.mistakes_in(TableInSteps.even, costs=(FIRST_PAIR, FURTHER_PAIRS))
class TableEven:
    def cosines_only(self, angles):
        """All your columns are cosines. Even columns hold the sine of the angle that they share
        with the column to their right."""
        return angles.cos()

    @costs()
    def last_column_a_cosine_at_odd_widths(self, angles):
        """At an odd width your last column is a cosine. Columns with an even number are sines, also
        where no cosine follows."""
        d_model = angles.shape[1]
        is_last = (torch.arange(d_model) == d_model - 1) & (d_model % 2 == 1)
        return torch.where(is_last, angles.cos(), angles.sin())


@table.mistake("angles alone", costs=(FIRST_PAIR, FURTHER_PAIRS))
class AnglesAlone(TableInSteps):
    """You return the angles. What is asked for are their sines and cosines, in turns."""

    def even(self, angles):
        return angles

    def odd(self, angles):
        return angles


@table.mistakes_in(TableInSteps.finished)
class TableFinished:
    @costs(FAR)
    def table_transposed(self, waves):
        """Your result is (d_model, length). Rows are positions, so it is (length, d_model)."""
        return waves.T

    @costs(FAR)
    @variants("axis", (0, 1))
    def an_axis_for_the_batch(self, waves, axis):
        """Your table has an axis of length 1 for the sentences of a batch. The table alone is asked, (length,
        d_model), and adding it broadcasts over the batch without such an axis."""
        return waves.unsqueeze(axis)

    @called("last column empty at odd widths")
    def last_column_left_out(self, waves):
        """At an odd width your last column is zero. It is a sine, because there is one more of them
        than there are cosines."""
        d_model = waves.shape[1]
        return F.pad(waves[:, : d_model - d_model % 2], (0, d_model % 2))

    def last_column_repeated_at_odd_widths(self, waves):
        """At an odd width your last column is the one to its left once more. It is the sine of the
        next angle."""
        return torch.cat([waves[:, :-1], waves[:, -2:-1]], dim=1) if waves.shape[1] % 2 else waves


@table.mistakes_in(TableInSteps.written)
class TableWritten:
    # two that differ beyond the seventh digit
    @variants("convert", (lambda table: table, lambda table: table.float().double()))
    def float64_returned(self, table, convert):
        """The numbers are right, but they are float64. Computing in float64 is fine (at far
        positions even better); turn the result into float32 at the end."""
        return convert(table)

    def a_NumPy_array(self, table):
        """The numbers are right, but they come as a NumPy array. `torch.tensor` and
        `torch.from_numpy` make a tensor of it; it should be float32."""
        return table.numpy()


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


# ------------------------------------------------------------------------- PositionalEncoding


class InSteps(nn.Module):
    """PositionalEncoding in steps, of which a mistake changes one."""

    pe: Tensor

    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 5000) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.hold(self.table(max_len, d_model))

    def table(self, length: int, d_model: int) -> Tensor:
        return positional.positional_encoding(length, d_model)

    def hold(self, pe: Tensor) -> None:
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1] > len(self.pe):
            raise ValueError(f"length {x.shape[1]} is beyond max_len {len(self.pe)}")
        return self.summed(x, self.pe[: x.shape[1]])

    def summed(self, x: Tensor, rows: Tensor) -> Tensor:
        """From x (B, T, D) and the first T rows of the table."""
        return self.dropout(x + rows)


@module.mistakes_in(InSteps.hold)
class ModuleHold:
    def parameter_instead_of_buffer(self, pe):
        """Your `pe` is an `nn.Parameter`, which is there to be trained. A buffer moves to another
        device with the module as well, and nothing trains it. `self.register_buffer` takes its
        name and the tensor."""
        self.pe = nn.Parameter(pe)

    @called("plain attribute instead of buffer")
    def attribute(self, pe):
        """Your `pe` is a plain attribute, which stays behind when the module moves to another
        device. A buffer goes along, and `self.register_buffer` takes its name and the tensor."""
        self.pe = pe


@module.mistakes_in(InSteps.summed, costs=(ADDED, ADDING_MANNERS))
class ModuleSummed:
    def batch_axis_indexed(self, x, rows):
        """The positions follow the sentences of the batch, so every word of sentence 0 gets the
        vector of position 0, every word of sentence 1 that of position 1. In x (B, T, D) words are
        counted along axis 1. Code made for (T, B, D) looks at axis 0."""
        return self.dropout(x + self.pe[: len(x)].unsqueeze(1))

    @called("batch axis indexed")
    def by_batch_without_axis(self, x, rows):
        """You take as many positions as there are sentences. In x (B, T, D) the words of a sentence
        are counted along axis 1."""
        return self.dropout(x + self.pe[: len(x)])

    def table_not_cut_to_the_sentence(self, x, rows):
        """You add the whole table of max_len rows, which fits no shorter sentence. Take the rows of
        the first T positions."""
        return self.dropout(x + self.pe)

    def one_vector_for_all_words(self, x, rows):
        """Every word gets the same vector, that of position T. A range of rows needs a colon."""
        return self.dropout(x + self.pe[x.shape[1]])

    def positions_without_words(self, x, rows):
        """You return the positions alone. They are added to x."""
        return self.dropout(rows.expand_as(x))

    @costs()
    def dropout_in_eval_mode(self, x, rows):
        """In eval mode the sum must come out whole, but entries are dropped or scaled. `nn.Dropout`
        looks at the mode on its own, but `F.dropout` has to be told with
        `training=self.training`."""
        return F.dropout(x + rows, self.dropout.p)

    @costs()
    @variants("share", (0.1, 0.5))
    def a_fixed_dropout_in_either_mode(self, x, rows, share):
        """Whatever `dropout` is, the same share of entries is dropped, and in eval mode as well. `F.dropout`
        knows neither your argument nor the mode of your module. Who tells it?"""
        return F.dropout(x + rows, share)

    @costs()
    def no_dropout(self, x, rows):
        """In train mode nothing is dropped. The sum goes through dropout before it is returned."""
        return x + rows

    @costs()
    def no_dropout_after_eval_mode(self, x, rows):
        """Once your module was used in eval mode, it drops nothing in train mode either. What does
        it keep of the mode, where `self.training` could be asked each time?"""
        self.dropout.p = self.dropout.p if self.training else 0.0
        return self.dropout(x + rows)

    @costs()
    def dropout_on_the_words_only(self, x, rows):
        """You drop entries of x and add the positions afterwards. Dropout acts on the sum."""
        return self.dropout(x) + rows

    @costs()
    def dropout_on_the_positions_only(self, x, rows):
        """You drop entries of the positions and keep x whole. Dropout acts on the sum."""
        return x + self.dropout(rows.expand_as(x))

    @called("words multiplied by √d_model")
    def words_scaled(self, x, rows):
        """You multiply x by √d_model. In a transformer, the embedding does this; here x is taken as
        it comes."""
        return self.dropout(x * x.shape[-1] ** 0.5 + rows)

    def words_and_positions_multiplied(self, x, rows):
        """You multiply words and positions. They are added."""
        return self.dropout(x * rows)

    def positions_subtracted(self, x, rows):
        """You subtract the positions. They are added."""
        return self.dropout(x - rows)

    def words_alone(self, x, rows):
        """Your words come out as they came in (but for dropout). Where is the table added?"""
        return self.dropout(x)

    def positions_from_the_end(self, x, rows):
        """The last word gets the vector of position 0. The first word should. Are the rows turned
        round?"""
        return self.dropout(x + rows.flip(0))

    def the_last_rows_of_the_table(self, x, rows):
        """You add the last T rows of the table. The words of a sentence stand at positions 0 to T −
        1. On which side of the colon does T belong?"""
        return self.dropout(x + self.pe[-x.shape[1] :])

    def positions_joined_to_the_words(self, x, rows):
        """Your result is twice as wide, because you put the positions next to the words. They
        should be added."""
        return self.dropout(torch.cat([x, rows.expand_as(x)], dim=-1))


@module.mistakes_in(InSteps.table, costs=(ADDED, ADDING_MANNERS))
class ModuleTable:
    @called("{wrong.name}")
    @message("{wrong.message}")
    @variants(
        "wrong", [wrong for wrong in wrong_tables() if wrong.costs != (FIRST_PAIR, ODD_WIDTH)]
    )
    def table_otherwise(self, length, d_model, wrong):
        return wrong.answer(length, d_model)


# ------------------------------------------------------------- visualize_positional_encodings


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


TURNED = (
    "Positions run to the right and dimensions downwards, so the table was turned round. One row of "
    "the table is one position, and so is one row of the picture."
)
NO_LABELS = "The axes have no labels. Say what runs to the right and what runs downwards."
NO_BAR = "Without a colour bar, nobody can tell which colour stands for which number."

for labelled in (("dimension", "position"), ("position", "dimension"), ("", "")):
    for bar in (True, False):
        made = {"axes swapped": TURNED}
        if not all(labelled):
            made["no labels"] = NO_LABELS
        if not bar:
            made["no colour bar"] = NO_BAR

        @picture.mistake(
            " and ".join(made),
            " ".join(made.values()),
            costs_more="two mistakes at once" if len(made) > 1 else "",
        )
        def turned(length, d_model=512, ax=None, labelled=labelled, bar=bar):
            ax = draw(length, d_model, ax, turned=True, bar=bar)
            ax.set(xlabel=labelled[0], ylabel=labelled[1])
            return ax


@picture.mistake("axes swapped")
def turned_from_below(length, d_model=512, ax=None):
    """Positions run to the right and dimensions upwards, so the table was turned round. One row of
    the table is one position, and so is one row of the picture. Position 0 is on top."""
    return draw(length, d_model, ax, turned=True, from_below=True)


@picture.mistake("position axis not inverted")
def from_below(length, d_model=512, ax=None):
    """Position 0 is at the bottom. `pcolormesh` counts upwards, as curves do; `imshow` counts
    downwards, as text is read. The y axis of an Axes can be inverted."""
    return draw(length, d_model, ax, from_below=True)


@picture.mistake("position axis counts backwards")
def counting_backwards(length, d_model=512, ax=None):
    """The rows are in the right order, but the numbers next to them run backwards, so by the y axis
    position 0 is the last one. An `extent` replaces the numbers on the axes. Without one, `imshow`
    counts rows from 0."""
    return draw(length, d_model, ax, extent=(0, d_model, 0, length))


@picture.mistake("numbers that differ share one colour")
def colours_from_zero(length, d_model=512, ax=None):
    """Numbers that differ have the same colour, as all negative ones have where the colours begin
    at 0. The values run from −1 to 1. What do `vmin` and `vmax` say, how many colours has the map,
    and can they be seen?"""
    return draw(length, d_model, ax, vmin=0, vmax=1)


@picture.mistake("limits of another width")
def limits_of_width_512(length, d_model=512, ax=None):
    """Your x axis always runs to 512, so a narrower table fills a small part of the picture. The
    limits follow from `d_model`, and `imshow` and `pcolormesh` find them by themselves."""
    ax = draw(length, d_model, ax)
    ax.set_xlim(0, 512)
    return ax


@picture.mistake("axes not labelled", NO_LABELS)
def without_labels(length, d_model=512, ax=None):
    return draw(length, d_model, ax, labels=False)


@picture.mistake("labels on the current Axes")
def labelled_by_plt(length, d_model=512, ax=None):
    """Your labels are not on the Axes with the picture. `plt.xlabel` and `plt.ylabel` label
    whichever Axes is current, and that need not be the one you were given. Use `ax.set_xlabel` and
    `ax.set_ylabel`."""
    ax = draw(length, d_model, ax, labels=False)
    plt.xlabel("dimension")
    plt.ylabel("position")
    return ax


@picture.mistake("labels exchanged")
def with_labels_exchanged(length, d_model=512, ax=None):
    """Your picture is right, but each axis has the other one's label, because dimensions run to the
    right and positions downwards."""
    ax = draw(length, d_model, ax)
    ax.set(xlabel="position", ylabel="dimension")
    return ax


for limited in ("xy", "x", "y"):

    @picture.mistake("edge cells cut in half")
    def with_limits_at_the_centres(length, d_model=512, ax=None, limited=limited):
        """The limits run from the centre of the first cell to the centre of the last, so half of
        each cell at the edge is cut off. A cell reaches half a step to either side of its number,
        so leave the limits to `imshow`, or add that half."""
        ax = draw(length, d_model, ax)
        if "x" in limited:
            ax.set_xlim(0, d_model - 1)
        if "y" in limited:
            ax.set_ylim(length - 1, 0)
        return ax


@picture.mistake("no colour bar", NO_BAR)
def without_bar(length, d_model=512, ax=None):
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


for labels_on, returned in (
    ("current", "current"), ("current", "given"), ("given", "given"), ("current", "none"),
):  # fmt: skip

    @picture.mistake("drawn on the current Axes")
    def on_the_current_axes(length, d_model=512, ax=None, to_label=labels_on, to_return=returned):
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


@picture.mistake("figure closed")
def closed(length, d_model=512, ax=None):
    """You close the figure. The Axes comes back, but `plt` no longer shows or saves what is on it. Leave it
    open for the caller."""
    ax = draw(length, d_model, ax)
    plt.close(ax.figure)
    return ax


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

    @picture.mistake("shown on a figure of its own", costs_more="three mistakes at once")
    def shown_on_its_own_figure(length, d_model=512, ax=None, fixed=fixed):
        """Your function opens a figure, shows it and keeps it to itself, which is fine for one look
        but of no use as a panel next to others. Draw on `ax` if there is one, open a figure only if
        there is none, return the Axes, and leave showing to the caller."""
        shown(length, 512 if fixed else d_model, None)
