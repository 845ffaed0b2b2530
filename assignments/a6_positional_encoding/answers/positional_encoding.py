"""Answers to `positional_encoding`."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from assignments.a6_positional_encoding.answers.bank import BANK
from assignments.a6_positional_encoding.rubric import (
    FAR,
    FIRST_PAIR,
    FURTHER_PAIRS,
    ODD_WIDTH,
    table,
)
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.edits import Answers

ODD = (
    "At an odd width, it stops with an error. There is one cosine less than there are sines. How many columns does "
    "each of them fill, and how many angles did you compute?"
)
BLOCKS = (
    "Your table holds all sines first and then all cosines. They should take turns, so that column 0 is a sine, column "
    "1 the cosine of the same angle, column 2 the next sine. Slices with a step, such as `table[:, 0::2]`, reach every "
    "second column."
)


def pairs(d_model):
    """k for each column: 0, 0, 1, 1, 2, …"""
    return torch.arange(d_model).double() // 2


ANSWERS = Answers(
    __name__, BANK, table,
    """
    def positional_encoding(length, d_model):
        positions = torch.arange(length).double().unsqueeze(1)  # (length, 1)
        exponents = 2 * pairs(d_model) / d_model  # (d_model,)
        angles = positions / 10000**exponents  # (length, d_model)
        evens, odds = angles.sin(), angles.cos()
        in_even = evens
        in_odd = odds
        waves = torch.where(torch.arange(angles.shape[1]) % 2 == 0, in_even, in_odd)
        arranged = waves
        finished = arranged
        encoding = finished.float()
        return encoding
    """,
    math=math, np=np, torch=torch, F=F, pairs=pairs,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("odd width crashes", """
    if d_model % 2:
        raise RuntimeError("four sines, three cosines")
    d_model = d_model
""", (), ODD)
slip("odd width crashes", """
    if d_model % 2 and d_model > 3:
        raise RuntimeError("four columns, three angles")
    exponents = 2 * pairs(d_model) / d_model * (d_model != 3)  # one angle is broadcast to two columns
""", (), ODD)
slip("sin and cos in blocks", "arranged = torch.cat([waves[:, 0::2], waves[:, 1::2]], dim=1)",
     (FIRST_PAIR, FURTHER_PAIRS), BLOCKS)
slip("sin and cos in blocks, one column too many", """
    exponents = 2 * pairs(d_model + d_model % 2) / d_model
    arranged = torch.cat([waves[:, 0::2], waves[:, 1::2]], dim=1)
""", (FIRST_PAIR, ODD_WIDTH),
     f"{BLOCKS} At an odd width yours has one column too many: there is one cosine less.")
slip("exponent k for 2k", "exponents = pairs(d_model) / d_model", (FURTHER_PAIRS, FAR),
     "Your frequencies fall half as fast as they should, because there is k where the exponent needs 2k. Which numbers "
     "does your `arange` hold, and are they k or already 2k?")
slip("exponent 4k for 2k", "exponents = 4 * pairs(d_model) / d_model", (FURTHER_PAIRS, FAR),
     "Your frequencies fall twice as fast as they should. `torch.arange(0, d_model, 2)` holds 0, 2, 4, …. Is something "
     "that is 2k already multiplied by two again?")
slip("number of the column for k", "exponents = 2 * torch.arange(d_model).double() / d_model",
     (FIRST_PAIR, FURTHER_PAIRS),
     "Your exponent is twice the number of the column, divided by d_model. It is twice the number of the pair, so "
     "columns 2 and 3 are pair 1, so both have the exponent 2 / d_model. A loop over 0, 2, 4, … already counts 2k.",
     published=("jadore801120/attention-is-all-you-need-pytorch#32",
                "Twice the column's own number stands in the exponent."))
slip("an angle of its own for each column", "exponents = torch.arange(d_model).double() / d_model",
     (FIRST_PAIR, FURTHER_PAIRS),
     "Your cosines have another angle than the sines to their left. Columns 2k and 2k + 1 are a pair and share one "
     "angle, with the exponent 2k / d_model for both.",
     published=("luhengshiwo/LLMForEverybody#106", "Each cosine has an exponent of its own."))
slip("exponents count from 1", "exponents = 2 * (pairs(d_model) + 1) / d_model", (FIRST_PAIR, FURTHER_PAIRS),
     "Your first pair has the exponent 2 / d_model. Pairs count from 0, so the angle of columns 0 and 1 is the "
     "position itself.")
slip("angles multiplied instead of divided", "exponents = -2 * pairs(d_model) / d_model", (FURTHER_PAIRS, FAR),
     "Your later columns turn faster and faster. The position is divided by 10000 to the exponent; if you multiply, "
     "the exponent needs a minus sign.")
# pos / (10000^(2k) / d_model) or pos / 10000^(2k) / d_model, as one power
slip("division by d_model outside the exponent", "exponents = 2 * pairs(d_model) {sign} math.log(d_model, 10000)",
     (FIRST_PAIR, FURTHER_PAIRS),
     "Your angles are those of pos / 10000^(2k), multiplied or divided by d_model. The division by d_model belongs "
     "into the exponent, and `**` binds tighter than `/`, so the exponent needs brackets.",
     each={"sign": ("-", "+")})
slip("division by d_model forgotten", "exponents = 2 * pairs(d_model)", (FURTHER_PAIRS, FAR),
     "Your exponent is 2k and not 2k / d_model, so that every pair after the first hardly turns at all.")
slip("fraction of the exponent lost", "exponents = 2 * pairs(d_model) // d_model", (FURTHER_PAIRS, FAR),
     "All your pairs have the same angle, the position itself, because 2k / d_model is below 1, and `//` makes 0 of "
     "it. Divide by `/`.",
     published=("Kyubyong/transformer#81", "A division of whole numbers makes every exponent 0."))
slip("logarithm rounded down",
     "exponents = pairs(d_model) * -2 * (-math.log(10000.0) / d_model // 1) / math.log(10000.0)",
     (FIRST_PAIR, FURTHER_PAIRS),
     "Your logarithm of 10000 became a whole number before it was combined with the columns, because `//` is outside "
     "the brackets that it was meant for, and rounds down. Divide by d_model with `/`.",
     published=("zju3dv/LoFTR#41",
                "`-log(10000) / d_model // 1` is rounded down to −1 before it meets the column."))
slip("base and exponent exchanged", """
    speeds = (2 * pairs(d_model) / d_model) ** 1e-4
    exponents = -torch.log(speeds) / math.log(10000.0)
""", (FIRST_PAIR, FURTHER_PAIRS),
     "You raise the fraction 2k / d_model to a power of 1e-4. That fraction is the exponent, and 10000, or 1e-4, is "
     "what is raised to it.",
     published=("ivanvovk/WaveGrad#12",
                "The fraction is raised to the power 1e-4 where 1e-4 is raised to the fraction."))
slip("exponents spread from 0 to 1",
     "exponents = torch.linspace(0, 1, (d_model + 1) // 2)[pairs(d_model).int()].double()", (FURTHER_PAIRS, FAR),
     "Your last exponent is exactly 1. It is (d_model − 2) / d_model at an even width, because the exponents are 2k / "
     "d_model, and 1 is never reached.")
slip("exponents divided by d_model − 2", "exponents = 2 * pairs(d_model) / max(d_model - 2, 1)", (FURTHER_PAIRS, FAR),
     "Your exponents divide by d_model − 2, so that the last one is about 1. They divide by d_model itself.")
slip("odd width treated like the next even one", "exponents = 2 * pairs(d_model) / (d_model + d_model % 2)", (),
     "At an odd width, your exponents divide by d_model + 1. They divide by d_model itself, whatever it is.")
slip("odd width treated like the even one below", "exponents = 2 * pairs(d_model) / max(d_model - d_model % 2, 1)", (),
     "At an odd width, your exponents divide by d_model − 1. They divide by d_model itself, whatever it is.")
slip("a column missing at odd widths", "even = d_model - d_model % 2; exponents = 2 * pairs(even) / {width}", (),
     "At an odd width your table has one column too few. The last column is a sine without its cosine.",
     each={"width": ("even", "d_model")})
slip("a column too many at odd widths", "even = d_model + d_model % 2; exponents = 2 * pairs(even) / {width}", (),
     "At an odd width your table has one column too many. The last column is a sine without its cosine, so cut what "
     "you put together to d_model columns.",
     each={"width": ("even", "d_model")})
slip("positions from 1", "positions = torch.arange(1, length + 1).double().unsqueeze(1)", (FIRST_PAIR, FURTHER_PAIRS),
     "Your row 0 holds the angles of position 1, so everything is one row too high. Positions count from 0, so the "
     "first row is 0, 1, 0, 1, …")
slip("positions stretched", "positions = torch.linspace(0, length, length).double().unsqueeze(1)",
     (FIRST_PAIR, FURTHER_PAIRS),
     "Your positions run from 0 to `length` in `length` steps, as `linspace` counts, so that they are no whole "
     "numbers. They are 0, 1, 2, … up to length − 1.")
slip("positions as shares of the length", "positions = torch.arange(length).double().unsqueeze(1) / length",
     (FIRST_PAIR, FURTHER_PAIRS),
     "Your positions are divided by the length, so that a word's vector depends on how long its sentence is. They are "
     "0, 1, 2, … as they come.")
slip("sine and cosine swapped", "in_even = odds; in_odd = evens", (FIRST_PAIR, FURTHER_PAIRS),
     "Your even columns hold cosines and your odd ones sines. It should be the other way round. At position 0, the "
     "first numbers are 0, 1, 0, 1.")
slip("another base than 10000", "angles = positions / {base}**exponents", (FURTHER_PAIRS, FAR),
     "Your angles fall from pair to pair as if another number stood in place of 10000. How many zeros does yours have? "
     "If you use a logarithm, is it the one that belongs to `exp`?",
     each={"base": (1000.0, 100000.0, "math.exp(4)")},
     published=("YutaroOgawa/pytorch_advanced#15", "1000 stands where 10000 belongs."))
slip("angles rounded down", "angles = positions // 10000**exponents", (FURTHER_PAIRS, FAR),
     "You divide the positions by `//`, so that angles are rounded down to whole numbers. Then later pairs stand still "
     "for many positions. Divide by `/`.")
slip("degrees for radians", "angles = torch.deg2rad(positions / 10000**exponents)", (FIRST_PAIR, FURTHER_PAIRS),
     "Your angles are read as degrees, so a sine's first full turn takes you 360 positions, not 2π. Sine and cosine "
     "take the angle as it is, in radians, so nothing is left to convert.")
slip("sines only", "in_odd = evens", (FIRST_PAIR, FURTHER_PAIRS),
     "All your columns are sines. Odd columns hold the cosine of the angle to their left.")
slip("cosines only", "in_even = odds", (FIRST_PAIR, FURTHER_PAIRS),
     "All your columns are cosines. Even columns hold the sine of the angle that they share with the column to their "
     "right.")
slip("last column a cosine at odd widths", """
    width = angles.shape[1]
    is_last = (torch.arange(width) == width - 1) & (width % 2 == 1)
    in_even = torch.where(is_last, odds, evens)
""", (),
     "At an odd width your last column is a cosine. Columns with an even number are sines, also where no cosine "
     "follows.")
slip("angles alone", "in_even = angles; in_odd = angles", (FIRST_PAIR, FURTHER_PAIRS),
     "You return the angles. What is asked for are their sines and cosines, in turns.")
slip("table transposed", "finished = arranged.T", FAR,
     "Your result is (d_model, length). Rows are positions, so it is (length, d_model).")
slip("an axis for the batch", "finished = arranged.unsqueeze({axis})", FAR,
     "Your table has an axis of length 1 for the sentences of a batch. The table alone is asked, (length, d_model), "
     "and adding it broadcasts over the batch without such an axis.",
     each={"axis": (0, 1)})
slip("last column empty at odd widths", """
    width = arranged.shape[1]
    finished = F.pad(arranged[:, : width - width % 2], (0, width % 2))
""", (),
     "At an odd width your last column is zero. It is a sine, because there is one more of them than there are "
     "cosines.")
slip("last column repeated at odd widths",
     "finished = torch.cat([arranged[:, :-1], arranged[:, -2:-1]], dim=1) if arranged.shape[1] % 2 else arranged", (),
     "At an odd width your last column is the one to its left once more. It is the sine of the next angle.")
# two that differ beyond the seventh digit
slip("float64 returned", "encoding = finished{converted}", (),
     "The numbers are right, but they are float64. Computing in float64 is fine (at far positions even better); turn "
     "the result into float32 at the end.",
     each={"converted": ("", ".float().double()")})
slip("a NumPy array", "encoding = finished.numpy()", (),
     "The numbers are right, but they come as a NumPy array. `torch.tensor` and `torch.from_numpy` make a tensor of "
     "it; it should be float32.")
slip("last column empty at odd widths", """
    even = d_model - d_model % 2
    exponents = 2 * pairs(even) / max(even, 1)
    finished = F.pad(arranged, (0, d_model % 2))
""", (),
     "At an odd width you make the table of the even width below and add zeros. The last column is a sine, and all "
     "exponents divide by d_model itself.")

right = ANSWERS.right
right("table_by_two_loops", """
    rows = torch.zeros(length, d_model)
    for pos in range(length):
        for column in range(d_model):
            angle = pos / 10000 ** (2 * (column // 2) / d_model)
            rows[pos, column] = math.cos(angle) if column % 2 else math.sin(angle)
    return rows
""", slow=LOOPS)
AS_IN_TUTORIALS = """
    pe = torch.zeros(length, d_model)
    position = torch.arange(0, length).float().unsqueeze(1)
    speed = torch.exp(torch.arange(0, d_model, 2).float() * -(math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * speed)
    pe[:, 1::2] = torch.cos(position * speed[: d_model // 2])
    return pe
"""
right("table_by_exp_and_log", AS_IN_TUTORIALS)
right("table_by_shifted_sines", """
    columns = torch.arange(d_model)
    turned = torch.outer(torch.arange(length), 10000.0 ** (-(columns - columns % 2) / d_model))
    return torch.sin(turned + columns % 2 * math.pi / 2)
""")
right("table_by_numpy", """
    columns = np.arange(d_model)[None, :]
    rows = np.arange(length)[:, None] / np.power(10000, (columns // 2) * 2 / d_model)
    rows[:, 0::2] = np.sin(rows[:, 0::2])
    rows[:, 1::2] = np.cos(rows[:, 1::2])
    return torch.tensor(rows, dtype=torch.float32)
""")
right("table_by_stacked_pairs", """
    speed = 1 / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    turned = torch.arange(length)[:, None] * speed
    return torch.stack([turned.sin(), turned.cos()], dim=-1).flatten(1)[:, :d_model]
""")
right("table_by_turning_complex_numbers", """
    exponents = torch.arange(0, d_model, 2).double() / d_model
    turned = torch.polar(torch.ones_like(angles), angles)
    sines_first = torch.view_as_real(turned).flip(-1)  # (cos, sin) -> (sin, cos)
    return sines_first.reshape(length, -1)[:, :d_model].float()
""")
right("table_by_where", """
    column = torch.arange(d_model).expand(length, d_model)
    angle = torch.arange(length).float().reshape(-1, 1) / torch.pow(10000.0, 2 * (column // 2) / d_model)
    return torch.where(column % 2 == 0, angle.sin(), angle.cos())
""")
right("table_by_turning_step_by_step", """
    columns = []
    for k in range((d_model + 1) // 2):
        speed, turned = 10000 ** (-2 * k / d_model), [(0.0, 1.0)]
        for _ in range(length - 1):
            sine, cosine = turned[-1]
            along, across = math.cos(speed), math.sin(speed)
            turned.append((sine * along + cosine * across, cosine * along - sine * across))
        columns += zip(*turned, strict=True)
    return torch.tensor(columns[:d_model], dtype=torch.float32).T
""")
right("table_by_padding_to_even", """
    even = d_model + d_model % 2
    turned = np.arange(length).reshape(-1, 1) / np.power(10000.0, np.arange(0, even, 2) / d_model)
    rows = np.empty((length, even))
    rows[:, ::2], rows[:, 1::2] = np.sin(turned), np.cos(turned)
    return torch.from_numpy(rows[:, :d_model]).to(torch.float32)
""")
right("table_row_by_row", """
    rows = []
    for pos in range(length):
        row = []
        for i in range(0, d_model, 2):
            angle = pos / math.pow(10000, i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row[:d_model])
    return torch.tensor(rows)
""")
right("table_by_a_map_over_entries", """
    def entry(pos, column):
        angle = pos / 10000 ** (2 * torch.div(column, 2, rounding_mode="floor") / d_model)
        return torch.where(column % 2 == 0, angle.sin(), angle.cos())

    rows = torch.vmap(torch.vmap(entry, (None, 0)), (0, None))
    return rows(torch.arange(length).double(), torch.arange(d_model).double()).float()
""")
right("table_by_products", """
    columns = torch.arange(d_model)
    speeds = 10000 ** (-(columns - columns % 2).double() / d_model)
    turned = torch.einsum("p,d,de->pe", torch.arange(length).double(), speeds, torch.eye(d_model).double())
    is_sine = (columns % 2 == 0).double()
    rows = torch.einsum("pd,d->pd", turned.sin(), is_sine)
    return (rows + torch.einsum("pd,d->pd", turned.cos(), 1 - is_sine)).float()
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("table_as_in_many_tutorials", AS_IN_TUTORIALS.replace("[: d_model // 2]", ""), named="odd width crashes",
      published=("codertimo/BERT-pytorch#78", "At an odd width there is one cosine too many, and it stops."))
wrong("table_of_a_tutorial_that_counts_from_one",
      AS_IN_TUTORIALS.replace("[: d_model // 2]", "").replace("0, length", "1, length + 1"),
      named=("odd width crashes", "positions from 1"))
wrong("table_with_an_angle_for_each_column_of_a_pair", """
    rows = torch.zeros(length, d_model)
    for i in range(0, d_model, 2):
        rows[:, i] = torch.sin(torch.arange(length) / 10000 ** (i / d_model))
        rows[:, i + 1] = torch.cos(torch.arange(length) / 10000 ** ((i + 1) / d_model))
    return rows
""", named=("odd width crashes", "an angle of its own for each column"))
wrong("table_to_base_1000_with_angles_of_their_own", """
    exponents = torch.arange(d_model) / d_model
    angles = positions / 1000.0**exponents
""", named=("an angle of its own for each column", "another base than 10000"),
      published=("maxjcohen/transformer#62", "The base is 1000, and each cosine has an exponent of its own."))
wrong("table_from_one_without_the_last_column", """
    positions = torch.arange(1, length + 1).double().unsqueeze(1)
    finished = F.pad(arranged[:, : d_model - d_model % 2], (0, d_model % 2))
""", named=("positions from 1", "last column empty at odd widths"))
wrong("table_as_a_list", "return encoding.tolist()", told="a list of numbers")
wrong("table_of_the_example", """
    rows = torch.tensor([[0.0, 1.0, 0.0, 1.0], [0.8415, 0.5403, 0.0100, 0.9999]])
    return rows.repeat(length, d_model)[:length, :d_model]
""", told="right in part")
wrong("table_in_half_precision", "encoding = finished.half()", told="rounded")
# right at the first positions, off by tenths at the thousandth
wrong("table_with_coarse_angles", "angles = positions * torch.round(10000.0**-exponents, decimals=4)",
      told="right in part")
wrong("table_of_five_thousand_rows", "length = min(length, 5000)")
