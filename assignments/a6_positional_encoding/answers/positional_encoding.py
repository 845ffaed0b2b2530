"""Answers to `positional_encoding`."""

import math

import numpy as np
import torch

from assignments.a6_positional_encoding.answers.bank import BANK


@BANK.right("positional_encoding")
def table_by_two_loops(length, d_model):
    table = torch.zeros(length, d_model)
    for pos in range(length):
        for column in range(d_model):
            angle = pos / 10000 ** (2 * (column // 2) / d_model)
            table[pos, column] = math.cos(angle) if column % 2 else math.sin(angle)
    return table


@BANK.right("positional_encoding")
def table_by_exp_and_log(length, d_model, base=10000.0):
    pe = torch.zeros(length, d_model)
    position = torch.arange(0, length).float().unsqueeze(1)
    speed = torch.exp(torch.arange(0, d_model, 2).float() * -(math.log(base) / d_model))
    pe[:, 0::2] = torch.sin(position * speed)
    pe[:, 1::2] = torch.cos(position * speed[: d_model // 2])
    return pe


@BANK.right("positional_encoding")
def table_by_shifted_sines(length, d_model):
    columns = torch.arange(d_model)
    angles = torch.outer(torch.arange(length), 10000.0 ** (-(columns - columns % 2) / d_model))
    return torch.sin(angles + columns % 2 * math.pi / 2)


@BANK.right("positional_encoding")
def table_by_numpy(length, d_model):
    columns = np.arange(d_model)[None, :]
    angles = np.arange(length)[:, None] / np.power(10000, (columns // 2) * 2 / d_model)
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return torch.tensor(angles, dtype=torch.float32)


@BANK.right("positional_encoding")
def table_by_stacked_pairs(length, d_model):
    speed = 1 / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    angles = torch.arange(length)[:, None] * speed
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


@BANK.right("positional_encoding")
def table_by_turning_complex_numbers(length, d_model):
    angles = torch.arange(length).double()[:, None] / 10000 ** (
        torch.arange(0, d_model, 2).double() / d_model
    )
    turned = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_real(turned).flip(-1)  # (cos, sin) -> (sin, cos)
    return pairs.reshape(length, -1)[:, :d_model].float()


@BANK.right("positional_encoding")
def table_by_where(length, d_model):
    position = torch.arange(length, dtype=torch.float32).reshape(-1, 1)
    column = torch.arange(d_model).expand(length, d_model)
    angle = position / torch.pow(10000.0, 2 * (column // 2) / d_model)
    return torch.where(column % 2 == 0, angle.sin(), angle.cos())


@BANK.right("positional_encoding")
def table_by_turning_step_by_step(length, d_model):
    columns = []
    for k in range((d_model + 1) // 2):
        speed, turned = 10000 ** (-2 * k / d_model), [(0.0, 1.0)]
        for _ in range(length - 1):
            sine, cosine = turned[-1]
            along, across = math.cos(speed), math.sin(speed)
            turned.append((sine * along + cosine * across, cosine * along - sine * across))
        columns += zip(*turned, strict=True)
    return torch.tensor(columns[:d_model], dtype=torch.float32).T


@BANK.wrong("positional_encoding", named="exponent k for 2k")
def table_with_the_number_of_the_pair(length, d_model):
    pe = torch.zeros(length, d_model)
    position = torch.arange(length).float().unsqueeze(1)
    pairs = torch.arange((d_model + 1) // 2)
    speed = torch.exp(-pairs * math.log(10000.0) / d_model)
    pe[:, 0::2] = torch.sin(position * speed)
    pe[:, 1::2] = torch.cos(position * speed[: d_model // 2])
    return pe


@BANK.wrong("positional_encoding", named="odd width crashes", published="codertimo/BERT-pytorch#78")
def table_as_in_many_tutorials(length, d_model):
    """At an odd width there is one cosine too many, and it stops."""
    pe = torch.zeros(length, d_model)
    position = torch.arange(0, length, dtype=torch.float).unsqueeze(1)
    speed = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * speed)
    pe[:, 1::2] = torch.cos(position * speed)
    return pe


@BANK.wrong("positional_encoding", named=("odd width crashes", "positions from 1"))
def table_of_a_tutorial_that_counts_from_one(length, d_model):
    return table_as_in_many_tutorials(length + 1, d_model)[1:]


@BANK.wrong("positional_encoding", named="sin and cos in blocks")
def table_in_two_halves(length, d_model):
    pe = torch.zeros(length, d_model)
    half = (d_model + 1) // 2
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    pe[:, :half], pe[:, half:] = angles.sin(), angles.cos()[:, : d_model - half]
    return pe


@BANK.wrong(
    "positional_encoding",
    named="an angle of its own for each column",
    published="luhengshiwo/LLMForEverybody#106",
)
def table_with_an_angle_for_each_column(length, d_model):
    """Each cosine has an exponent of its own."""
    table = torch.empty(length, d_model)
    for i in range(d_model):
        angle = torch.arange(length) / 10000 ** (i / d_model)
        table[:, i] = angle.cos() if i % 2 else angle.sin()
    return table


@BANK.wrong(
    "positional_encoding",
    named="number of the column for k",
    published="jadore801120/attention-is-all-you-need-pytorch#32",
)
def table_of_a_tutorial_that_doubles_the_column(length, d_model):
    """Twice the column's own number stands in the exponent."""
    table = torch.zeros(length, d_model)
    for pos in range(length):
        for i in range(0, d_model, 2):
            table[pos, i] = math.sin(pos / 10000 ** (2 * i / d_model))
            if i + 1 < d_model:
                table[pos, i + 1] = math.cos(pos / 10000 ** (2 * (i + 1) / d_model))
    return table


@BANK.wrong(
    "positional_encoding", named=("odd width crashes", "an angle of its own for each column")
)
def table_with_an_angle_for_each_column_of_a_pair(length, d_model):
    table = torch.zeros(length, d_model)
    for i in range(0, d_model, 2):
        table[:, i] = torch.sin(torch.arange(length) / 10000 ** (i / d_model))
        table[:, i + 1] = torch.cos(torch.arange(length) / 10000 ** ((i + 1) / d_model))
    return table


@BANK.wrong("positional_encoding", named="float64 returned")
def table_by_numpy_as_it_comes(length, d_model):
    columns = np.arange(d_model)
    angles = np.arange(length)[:, None] / 10000 ** (columns // 2 * 2 / d_model)
    return torch.from_numpy(np.where(columns % 2, np.cos(angles), np.sin(angles)))


@BANK.wrong("positional_encoding", named="odd width treated like the even one below")
def table_with_whole_pairs_counted(length, d_model):
    pairs = max(d_model // 2, 1)
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(pairs + d_model % 2) / pairs)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


@BANK.wrong("positional_encoding", named="a column missing at odd widths")
def table_of_whole_pairs_only(length, d_model):
    speed = 1 / 10000 ** (2 * torch.arange(d_model // 2) / d_model)
    angles = torch.arange(length)[:, None] * speed
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


@BANK.wrong("positional_encoding", named="last column empty at odd widths")
def table_with_the_last_column_left_out(length, d_model):
    table, whole = torch.zeros(length, d_model), d_model // 2
    speed = 1 / 10000 ** (2 * torch.arange(whole) / d_model)
    angles = torch.arange(length)[:, None] * speed
    table[:, 0 : 2 * whole : 2], table[:, 1::2] = angles.sin(), angles.cos()
    return table


@BANK.wrong("positional_encoding", named="a NumPy array")
def table_as_numpy(length, d_model):
    return table_by_numpy(length, d_model).numpy()


@BANK.wrong("positional_encoding", told="a list of numbers")
def table_as_a_list(length, d_model):
    return table_by_numpy(length, d_model).tolist()


@BANK.wrong(
    "positional_encoding",
    named="another base than 10000",
    published="YutaroOgawa/pytorch_advanced#15",
)
def table_of_another_base(length, d_model):
    """1000 stands where 10000 belongs."""
    return table_by_exp_and_log(length, d_model, base=1000.0)


@BANK.wrong("positional_encoding", named="degrees for radians")
def table_in_degrees(length, d_model):
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    angles = torch.deg2rad(angles)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


@BANK.wrong(
    "positional_encoding",
    named="fraction of the exponent lost",
    published="Kyubyong/transformer#81",
)
def table_with_whole_exponents(length, d_model):
    """A division of whole numbers makes every exponent 0."""
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, d_model, 2) // d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


@BANK.wrong("positional_encoding", named="division by d_model outside the exponent")
def table_without_brackets(length, d_model):
    table = torch.zeros(length, d_model)
    for pos in range(length):
        for column in range(d_model):
            angle = pos / 10000 ** (2 * (column // 2)) / d_model
            table[pos, column] = math.cos(angle) if column % 2 else math.sin(angle)
    return table


@BANK.wrong("positional_encoding", named="last column repeated at odd widths")
def table_of_an_even_width_with_a_cosine_repeated(length, d_model):
    table = table_by_two_loops(length, d_model)
    if d_model % 2 and d_model > 1:
        table[:, -1] = table[:, -2]
    return table


@BANK.wrong("positional_encoding", told="right in part")
def table_of_the_example(length, d_model):
    rows = torch.tensor([[0.0, 1.0, 0.0, 1.0], [0.8415, 0.5403, 0.0100, 0.9999]])
    return rows.repeat(length, d_model)[:length, :d_model]


@BANK.wrong("positional_encoding", named="positions stretched")
def table_that_counts_to_the_length(length, d_model):
    positions = torch.linspace(0, length, length)[:, None]
    angles = positions / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


@BANK.wrong("positional_encoding", told="rounded")
def table_in_half_precision(length, d_model):
    return table_by_two_loops(length, d_model).half()


@BANK.wrong("positional_encoding", told="right in part")
def table_with_coarse_angles(length, d_model):
    # right at the first positions, off by tenths at the thousandth
    speed = torch.round(10000.0 ** (-torch.arange(0, d_model, 2) / d_model), decimals=4)
    angles = torch.arange(length)[:, None] * speed
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


@BANK.right("positional_encoding")
def table_by_padding_to_even(length, d_model):
    even = d_model + d_model % 2
    columns = np.arange(0, even, 2)
    angles = np.arange(length).reshape(-1, 1) / np.power(10000.0, columns / d_model)
    table = np.empty((length, even))
    table[:, ::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    return torch.from_numpy(table[:, :d_model]).to(torch.float32)


@BANK.right("positional_encoding")
def table_row_by_row(length, d_model):
    rows = []
    for pos in range(length):
        row = []
        for i in range(0, d_model, 2):
            angle = pos / math.pow(10000, i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row[:d_model])
    return torch.tensor(rows)


@BANK.wrong("positional_encoding", named="odd width crashes")
def table_with_too_few_angles(length, d_model):
    table = torch.zeros(length, d_model)
    speed = 10000.0 ** (-2 * torch.arange(d_model // 2) / d_model)
    angles = torch.arange(length)[:, None] * speed
    if d_model > 1:
        table[:, 0::2] = angles.sin()
        table[:, 1::2] = angles.cos()
    return table


@BANK.wrong("positional_encoding", named="a column too many at odd widths")
def table_not_cut(length, d_model):
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


@BANK.wrong("positional_encoding", named="last column a cosine at odd widths")
def table_that_ends_with_a_cosine(length, d_model):
    table = table_by_two_loops(length, d_model)
    if d_model % 2:
        table[:, -1] = torch.cos(torch.arange(length) / 10000 ** ((d_model - 1) / d_model))
    return table


@BANK.wrong("positional_encoding", named="another base than 10000")
def table_by_the_wrong_logarithm(length, d_model):
    speed = torch.exp(torch.arange(0, d_model, 2) * -(math.log10(10000.0) / d_model))
    angles = torch.arange(length)[:, None] * speed
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


@BANK.wrong("positional_encoding", named="exponents count from 1")
def table_of_pairs_from_one(length, d_model):
    columns = torch.arange(d_model)
    angles = torch.arange(length)[:, None] / 10000 ** (2 * (columns // 2 + 1) / d_model)
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos())


@BANK.wrong("positional_encoding", named="division by d_model forgotten")
def table_of_whole_powers(length, d_model):
    columns = torch.arange(d_model).double()
    angles = torch.arange(length)[:, None] / 10000 ** (columns - columns % 2)
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos()).float()


@BANK.wrong("positional_encoding", named="angles rounded down")
def table_with_whole_angles(length, d_model):
    table = torch.zeros(length, d_model)
    for k in range(0, d_model, 2):
        angles = torch.arange(length).float() // 10000 ** (k / d_model)
        table[:, k] = angles.sin()
        table[:, k + 1 : k + 2] = angles.cos()[:, None][:, : d_model - k - 1]
    return table


@BANK.wrong("positional_encoding")
def table_of_five_thousand_rows(length, d_model):
    return table_by_two_loops(min(length, 5000), d_model)


@BANK.wrong("positional_encoding", named=("positions from 1", "last column empty at odd widths"))
def table_from_one_without_the_last_column(length, d_model):
    half = d_model // 2
    places = torch.arange(1, length + 1, dtype=torch.float64).unsqueeze(1)
    angles = places / 10000 ** (2 * torch.arange(half, dtype=torch.float64) / d_model)
    table = torch.zeros(length, d_model)
    table[:, 0 : 2 * half : 2], table[:, 1::2] = angles.sin(), angles.cos()
    return table


@BANK.wrong("positional_encoding", named="an axis for the batch")
def table_as_a_module_keeps_it(length, d_model):
    return table_by_exp_and_log(length, d_model).unsqueeze(0)


@BANK.wrong("positional_encoding", named="an angle of its own for each column")
def table_of_many_angles_in_float32(length, d_model):
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(d_model) / d_model)
    return torch.where(torch.arange(d_model) % 2 == 0, angles.sin(), angles.cos())


@BANK.right("positional_encoding")
def table_by_a_map_over_entries(length, d_model):
    def entry(pos, column):
        angle = pos / 10000 ** (2 * torch.div(column, 2, rounding_mode="floor") / d_model)
        return torch.where(column % 2 == 0, angle.sin(), angle.cos())

    rows = torch.vmap(torch.vmap(entry, (None, 0)), (0, None))
    return rows(torch.arange(length).double(), torch.arange(d_model).double()).float()
