"""Answers to assignment 6."""

import math

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from torch import nn

from assignments.bank import Bank

BANK = Bank("a6_positional_encoding")


# ----------------------------------------------------------------------- positional_encoding


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


@BANK.wrong("positional_encoding", named="odd width crashes")
def table_as_in_many_tutorials(length, d_model):
    pe = torch.zeros(length, d_model)
    position = torch.arange(0, length, dtype=torch.float).unsqueeze(1)
    speed = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * speed)
    pe[:, 1::2] = torch.cos(position * speed)
    return pe


@BANK.wrong("positional_encoding")
def table_of_a_tutorial_that_counts_from_one(length, d_model):
    return table_as_in_many_tutorials(length + 1, d_model)[1:]


@BANK.wrong("positional_encoding", named="sin and cos in blocks")
def table_in_two_halves(length, d_model):
    pe = torch.zeros(length, d_model)
    half = (d_model + 1) // 2
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    pe[:, :half], pe[:, half:] = angles.sin(), angles.cos()[:, : d_model - half]
    return pe


@BANK.wrong("positional_encoding", named="an angle of its own for each column")
def table_with_an_angle_for_each_column(length, d_model):
    table = torch.empty(length, d_model)
    for i in range(d_model):
        angle = torch.arange(length) / 10000 ** (i / d_model)
        table[:, i] = angle.cos() if i % 2 else angle.sin()
    return table


@BANK.wrong("positional_encoding", named="number of the column for k")
def table_of_a_tutorial_that_doubles_the_column(length, d_model):
    table = torch.zeros(length, d_model)
    for pos in range(length):
        for i in range(0, d_model, 2):
            table[pos, i] = math.sin(pos / 10000 ** (2 * i / d_model))
            if i + 1 < d_model:
                table[pos, i + 1] = math.cos(pos / 10000 ** (2 * (i + 1) / d_model))
    return table


@BANK.wrong("positional_encoding")
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


@BANK.wrong("positional_encoding")
def table_as_numpy(length, d_model):
    return table_by_numpy(length, d_model).numpy()


@BANK.wrong("positional_encoding")
def table_as_a_list(length, d_model):
    return table_by_numpy(length, d_model).tolist()


@BANK.wrong("positional_encoding")
def table_of_another_base(length, d_model):
    return table_by_exp_and_log(length, d_model, base=1000.0)


@BANK.wrong("positional_encoding", named="degrees for radians")
def table_in_degrees(length, d_model):
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    angles = torch.deg2rad(angles)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


@BANK.wrong("positional_encoding")
def table_with_whole_exponents(length, d_model):
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, d_model, 2) // d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


@BANK.wrong("positional_encoding")
def table_without_brackets(length, d_model):
    table = torch.zeros(length, d_model)
    for pos in range(length):
        for column in range(d_model):
            angle = pos / 10000 ** (2 * (column // 2)) / d_model
            table[pos, column] = math.cos(angle) if column % 2 else math.sin(angle)
    return table


@BANK.wrong("positional_encoding")
def table_of_an_even_width_with_a_cosine_repeated(length, d_model):
    table = table_by_two_loops(length, d_model)
    if d_model % 2 and d_model > 1:
        table[:, -1] = table[:, -2]
    return table


@BANK.wrong("positional_encoding")
def table_of_the_example(length, d_model):
    rows = torch.tensor([[0.0, 1.0, 0.0, 1.0], [0.8415, 0.5403, 0.0100, 0.9999]])
    return rows.repeat(length, d_model)[:length, :d_model]


@BANK.wrong("positional_encoding")
def table_that_counts_to_the_length(length, d_model):
    positions = torch.linspace(0, length, length)[:, None]
    angles = positions / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


@BANK.wrong("positional_encoding")
def table_in_half_precision(length, d_model):
    return table_by_two_loops(length, d_model).half()


@BANK.wrong("positional_encoding")
def table_with_coarse_angles(length, d_model):
    # right at the first positions, off by tenths at the thousandth
    speed = torch.round(10000.0 ** (-torch.arange(0, d_model, 2) / d_model), decimals=4)
    angles = torch.arange(length)[:, None] * speed
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


# ------------------------------------------------------------------------ PositionalEncoding


@BANK.right("PositionalEncoding")
class WithATableForOneSentence(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        self.register_buffer("pe", table_by_exp_and_log(max_len, d_model).unsqueeze(0))

    def forward(self, x):
        if x.size(1) > self.pe.size(1):
            raise ValueError("too long")
        return self.dropout(x + self.pe[:, : x.size(1)])


@BANK.right("PositionalEncoding")
class WithoutSavingTheTable(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.max_len, self.rate = max_len, dropout
        self.register_buffer("pe", table_by_two_loops(max_len, d_model), persistent=False)

    def forward(self, x, start=0):
        batch, length, width = x.shape
        if start + length > self.max_len:
            raise ValueError(f"{length} > {self.max_len}")
        summed = x + self.pe[start : start + length].to(x.dtype).expand(batch, length, width)
        return F.dropout(summed, self.rate, self.training)


@BANK.right("PositionalEncoding")
class WithTimeOnTheFirstAxis(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000, batch_first=True):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.register_buffer("pe", table_by_stacked_pairs(max_len, d_model)[:, None, :])

    def forward(self, x):
        if x.shape[1] > self.pe.shape[0]:
            raise ValueError
        x = x.transpose(0, 1)
        return self.drop(x + self.pe[: x.shape[0]]).transpose(0, 1)


@BANK.right("PositionalEncoding")
class WithDropoutByHand(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.p = dropout
        self.register_buffer("pe", table_by_shifted_sines(max_len, d_model).contiguous())

    def forward(self, x):
        positions = torch.arange(x.shape[1])
        if len(positions) > len(self.pe):
            raise ValueError("longer than max_len")
        total = x + F.embedding(positions, self.pe)
        if not self.training or self.p == 0:
            return total
        keep = torch.rand_like(total) >= self.p
        return total * keep / (1 - self.p)


@BANK.right("PositionalEncoding")
class WithALoopOverWords(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        nn.Module.__init__(self)
        self.layers = nn.Sequential(nn.Identity(), nn.Dropout(dropout))
        self.pe = nn.Buffer(table_by_where(max_len, d_model))

    def forward(self, x):
        longest = self.pe.size(0)
        if x.size(-2) > longest:
            raise ValueError(f"at most {longest} words")
        words = [x[:, t] + self.pe[t] for t in range(x.size(1))]
        return self.layers(torch.stack(words, dim=1))


@BANK.right("PositionalEncoding")
class WithTwoBuffers(nn.Module):
    class TooLong(ValueError):
        pass

    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pe", table_by_numpy(max_len, d_model))
        self.register_buffer("longest", torch.tensor(max_len))

    def forward(self, x):
        if x.shape[1] > self.longest:
            raise self.TooLong(x.shape)
        return self.dropout(torch.add(x, self.pe.narrow(0, 0, x.shape[1])))


@BANK.right("PositionalEncoding")
class AsADropoutWithATurnedTable(nn.Dropout):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__(dropout)
        self.register_buffer("pe", table_by_where(max_len, d_model).T)

    def forward(self, x):
        if not x.shape[1] <= self.pe.shape[1]:
            raise ValueError("too long")
        return super().forward(x + self.pe.T[: x.shape[1]])


@BANK.right("PositionalEncoding")
class WithATableLongerThanNeeded(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.max_len, self.dropout = max_len, nn.Dropout(dropout, inplace=True)
        self.register_buffer("pe", table_by_two_loops(max_len + 3, d_model).double())

    def forward(self, x):
        if x.shape[1] > self.max_len:
            raise ValueError("too long")
        return self.dropout(x + self.pe[: x.shape[1]].to(x))


class Right(nn.Module):
    """What most wrong answers below share."""

    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pe", table_by_exp_and_log(max_len, d_model).unsqueeze(0))

    def check(self, x):
        if x.shape[1] > self.pe.shape[1]:
            raise ValueError(f"{x.shape[1]} words, max_len {self.pe.shape[1]}")

    def positions(self, x):
        return self.pe[:, : x.shape[1]]

    def forward(self, x):
        self.check(x)
        return self.dropout(x + self.positions(x))


@BANK.wrong("PositionalEncoding", named="parameter instead of buffer")
class WithAFrozenParameter(Right):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__(d_model, dropout, max_len)
        table = self.pe
        del self.pe
        self.pe = nn.Parameter(table, requires_grad=False)


@BANK.wrong("PositionalEncoding", named="parameter instead of buffer")
class WithAPlainAttribute(Right):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__(d_model, dropout, max_len)
        table = self.pe
        del self.pe
        self.pe = table


@BANK.wrong("PositionalEncoding", named="dropout in eval mode")
class WithDropoutThatNeverSleeps(Right):
    def forward(self, x):
        self.check(x)
        return F.dropout(x + self.positions(x), self.dropout.p)


@BANK.wrong("PositionalEncoding", named="batch axis indexed")
class AsForTimeFirst(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pe", table_by_exp_and_log(max_len, d_model).unsqueeze(1))

    def forward(self, x):
        if x.size(1) > len(self.pe):
            raise ValueError("too long")
        return self.dropout(x + self.pe[: x.size(0)])


@BANK.wrong("PositionalEncoding")
class WithLearnedPositions(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout, self.pe = nn.Dropout(dropout), nn.Embedding(max_len, d_model)

    def forward(self, x):
        if x.shape[1] > self.pe.num_embeddings:
            raise ValueError("too long")
        return self.dropout(x + self.pe(torch.arange(x.shape[1])))


@BANK.wrong("PositionalEncoding")
class WithALearnedScale(Right):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__(d_model, dropout, max_len)
        self.scale = nn.Parameter(torch.ones(1))

    def positions(self, x):
        return self.scale * super().positions(x)


@BANK.wrong("PositionalEncoding")
class InPlace(Right):
    def forward(self, x):
        self.check(x)
        with torch.no_grad():
            x += self.positions(x)
        return self.dropout(x)


@BANK.wrong("PositionalEncoding")
class Detached(Right):
    def forward(self, x):
        self.check(x)
        return self.dropout(x.detach() + self.positions(x))


@BANK.wrong("PositionalEncoding")
class AlwaysFloat32(Right):
    def forward(self, x):
        self.check(x)
        return self.dropout(x.float() + self.positions(x).float())


@BANK.wrong("PositionalEncoding")
class OfContiguousInputOnly(Right):
    def forward(self, x):
        self.check(x)
        return self.dropout(x.view(-1).view(x.shape) + self.positions(x))


@BANK.wrong("PositionalEncoding")
class WithoutACheck(Right):
    def check(self, x):
        pass


@BANK.wrong("PositionalEncoding")
class WithAnAssert(Right):
    def check(self, x):
        assert x.shape[1] <= self.pe.shape[1], "too long"


@BANK.wrong("PositionalEncoding")
class WithAnErrorTooEarly(Right):
    def check(self, x):
        if x.shape[1] >= self.pe.shape[1]:
            raise ValueError("too long")


@BANK.wrong("PositionalEncoding")
class WithAnErrorInEvalModeOnly(Right):
    def check(self, x):
        if not self.training:
            super().check(x)
        elif x.shape[1] > self.pe.shape[1]:
            raise RuntimeError("too long")


@BANK.wrong("PositionalEncoding")
class WithArgumentsInAnotherOrder(Right):
    def __init__(self, d_model, max_len=5000, dropout=0.1):
        super().__init__(d_model, dropout, int(max_len))


@BANK.wrong("PositionalEncoding")
class WithAnEmptyBuffer(Right):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__(d_model, dropout, max_len)
        self.register_buffer("pe", torch.zeros_like(self.pe))

    def positions(self, x):
        return table_by_where(x.shape[1], x.shape[2])


@BANK.wrong("PositionalEncoding")
class WithATableMadeWhenNeeded(Right):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__(d_model, dropout, max_len)
        self.max_len = max_len
        self.register_buffer("pe", torch.empty(0))

    def check(self, x):
        if x.shape[1] > self.max_len:
            raise ValueError("too long")
        self.pe = table_by_where(x.shape[1], x.shape[2]).unsqueeze(0)


@BANK.wrong("PositionalEncoding")
class WithALimitOnTheBatch(Right):
    def check(self, x):
        if x.shape[0] > self.pe.shape[1]:
            raise ValueError("too long")


@BANK.wrong("PositionalEncoding")
class CutToTheTable(Right):
    def forward(self, x):
        x = x[:, : self.pe.shape[1]]
        return self.dropout(x + self.positions(x))


@BANK.wrong("PositionalEncoding")
class RoundAndRound(Right):
    def forward(self, x):
        positions = torch.arange(x.shape[1]) % self.pe.shape[1]
        return self.dropout(x + self.pe[:, positions])


@BANK.wrong("PositionalEncoding")
class WithAShorterTable(Right):
    def __init__(self, d_model, dropout=0.1, max_len=512):
        super().__init__(d_model, dropout, max_len)


@BANK.wrong("PositionalEncoding")
class WithATableOfNumPysNumbers(Right):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__(d_model, dropout, max_len)
        self.pe = self.pe.double()


@BANK.wrong("PositionalEncoding")
class WithMoreDropout(Right):
    def __init__(self, d_model, dropout=0.5, max_len=5000):
        super().__init__(d_model, dropout, max_len)


@BANK.wrong("PositionalEncoding")
class WithTwoDropouts(Right):
    def forward(self, x):
        self.check(x)
        return self.dropout(x) + self.dropout(self.positions(x).expand_as(x))


@BANK.wrong("PositionalEncoding")
class WithTheSameDropoutEveryTime(Right):
    def forward(self, x):
        self.check(x)
        if not self.training:
            return x + self.positions(x)
        generator = torch.Generator().manual_seed(0)
        keep = torch.rand(x.shape, generator=generator) >= self.dropout.p
        return (x + self.positions(x)) * keep / (1 - self.dropout.p)


@BANK.wrong("PositionalEncoding")
class DroppingWithoutMakingUpForIt(Right):
    def forward(self, x):
        self.check(x)
        total = x + self.positions(x)
        return total * (torch.rand_like(total) >= self.dropout.p) if self.training else total


@BANK.wrong("PositionalEncoding")
class DroppingWholeWords(Right):
    def forward(self, x):
        self.check(x)
        return (x + self.positions(x)) * self.dropout(torch.ones_like(x[..., :1]))


@BANK.wrong("PositionalEncoding")
class DroppingTheSameInEverySentence(Right):
    def forward(self, x):
        self.check(x)
        return (x + self.positions(x)) * self.dropout(torch.ones_like(x[:1]))


@BANK.wrong("PositionalEncoding")
class DroppingWholeDimensions(Right):
    def forward(self, x):
        self.check(x)
        return (x + self.positions(x)) * self.dropout(torch.ones_like(x[:, :1]))


@BANK.wrong("PositionalEncoding")
class SideBySide(Right):
    def forward(self, x):
        self.check(x)
        return self.dropout(torch.cat([x, self.positions(x).expand_as(x)], dim=-1))


@BANK.wrong("PositionalEncoding")
class FromTheEnd(Right):
    def positions(self, x):
        return super().positions(x).flip(1)


@BANK.wrong("PositionalEncoding")
class OfTheFirstSentence(Right):
    def forward(self, x):
        self.check(x)
        return self.dropout(x[0] + self.positions(x))


@BANK.wrong("PositionalEncoding")
class AsATuple(Right):
    def forward(self, x):
        return super().forward(x), self.positions(x)


@BANK.wrong("PositionalEncoding")
class NoModule:
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        self.pe = table_by_exp_and_log(max_len, d_model)

    def forward(self, x):
        return x + self.pe[: x.shape[1]]


# ------------------------------------------------------------ visualize_positional_encodings


def axes_or_new(ax):
    return plt.subplots(figsize=(6, 4))[1] if ax is None else ax


def labelled(ax):
    ax.set_xlabel("embedding dimension")
    ax.set_ylabel("position in the sentence")
    return ax


@BANK.right("visualize_positional_encodings")
def picture_by_imshow(length, d_model=512, ax=None, cmap="viridis"):
    ax = axes_or_new(ax)
    ax.figure.colorbar(ax.imshow(table_by_two_loops(length, d_model), cmap=cmap), ax=ax)
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_by_pcolormesh(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    mesh = ax.pcolormesh(table_by_numpy(length, d_model).numpy(), cmap="coolwarm")
    ax.set_xlim(0, d_model)
    ax.set_ylim(length, 0)
    plt.colorbar(mesh, ax=ax, orientation="horizontal")
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_by_pcolormesh_with_places(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    mesh = ax.pcolormesh(
        range(d_model), range(length), table_by_where(length, d_model), shading="nearest"
    )
    ax.invert_yaxis()
    ax.get_figure().colorbar(mesh)
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_by_matshow(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    image = ax.matshow(table_by_shifted_sines(length, d_model), aspect="auto")
    ax.figure.colorbar(image, cax=ax.inset_axes([1.05, 0, 0.05, 1]))
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_by_current_axes_made_the_given_ones(length, d_model=512, ax=None):
    if ax is None:
        plt.figure(figsize=(12, 8))
    else:
        plt.sca(ax)
    ax = plt.gca()
    plt.imshow(table_by_stacked_pairs(length, d_model), vmin=-1, vmax=1, aspect="auto")
    plt.colorbar()
    plt.xlabel("dimension")
    plt.ylabel("position")
    plt.title("Positions")
    return ax


@BANK.right("visualize_positional_encodings")
def picture_as_a_heat_map_with_lines(length, d_model=512, ax=None):
    if ax is None:
        ax = plt.figure().gca()
    mesh = ax.pcolormesh(table_by_exp_and_log(length, d_model), edgecolors="w", linewidth=0.1)
    ax.set(xticks=np.arange(d_model) + 0.5, yticks=np.arange(length) + 0.5, ylim=(length, 0))
    ax.set(xticklabels=range(d_model), yticklabels=range(length))
    ax.figure.colorbar(mesh, ax=ax)
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_from_below_with_the_axis_turned(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.imshow(table_by_two_loops(length, d_model), origin="lower", interpolation="nearest")
    ax.yaxis.set_inverted(True)
    ax.figure.colorbar(ScalarMappable(Normalize(-1, 1)), ax=ax)
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_with_whole_numbers_at_the_edges(length, d_model=512, ax=None):
    if ax is None:
        ax = plt.figure(layout="constrained").add_subplot()
    image = ax.imshow(table_by_numpy(length, d_model), extent=(0, d_model, length, 0))
    ax.xaxis.tick_top()
    ax.figure.colorbar(image, ax=ax, location="bottom")
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", named="axes swapped")
def picture_turned_round(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.set_xlabel("position")
    ax.set_ylabel("dimension")
    ax.figure.colorbar(ax.imshow(table_by_two_loops(length, d_model).T), ax=ax)
    return ax


@BANK.wrong("visualize_positional_encodings", named="position axis not inverted")
def picture_by_pcolormesh_upwards(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    plt.colorbar(ax.pcolormesh(table_by_two_loops(length, d_model)), ax=ax)
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", named="axes not labelled")
def picture_with_a_title_only(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.set_title("x: dimension, y: position")
    ax.figure.colorbar(ax.imshow(table_by_two_loops(length, d_model)), ax=ax)
    return ax


@BANK.wrong("visualize_positional_encodings", named="shown on a figure of its own")
def picture_as_printed(length, d_model=512, ax=None):
    plt.figure(figsize=(12, 8))
    plt.pcolormesh(table_by_two_loops(length, 512), cmap="viridis")
    plt.xlabel("Dimensions")
    plt.xlim((0, 512))
    plt.ylim((length, 0))
    plt.ylabel("Positions")
    plt.colorbar()
    plt.show()


@BANK.wrong("visualize_positional_encodings", named="Axes not returned")
def picture_with_its_figure_returned(length, d_model=512, ax=None):
    return picture_by_imshow(length, d_model, ax).figure


@BANK.wrong("visualize_positional_encodings", named="drawn on the current Axes")
def picture_on_whichever_axes(length, d_model=512, ax=None):
    if ax is None:
        _, ax = plt.subplots()
    plt.imshow(table_by_two_loops(length, d_model))
    plt.colorbar()
    return labelled(plt.gca())


@BANK.wrong("visualize_positional_encodings", named="drawn on the current Axes")
def picture_on_whichever_axes_with_labels_on_the_given(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    plt.imshow(table_by_two_loops(length, d_model))
    plt.colorbar()
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", named="drawn on the current Axes")
def picture_on_whichever_axes_that_is_not_the_one_returned(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    plt.pcolormesh(table_by_two_loops(length, d_model))
    plt.gca().invert_yaxis()
    plt.colorbar()
    labelled(plt.gca())
    return ax


@BANK.wrong("visualize_positional_encodings")
def picture_in_whatever_figure_is_open(length, d_model=512, ax=None):
    return picture_by_imshow(length, d_model, ax or plt.gca())


@BANK.wrong("visualize_positional_encodings", named="ax ignored and nothing returned")
def picture_for_itself(length, d_model=512, ax=None):
    plt.figure(figsize=(12, 8))
    plt.imshow(table_by_two_loops(length, d_model), aspect="auto")
    plt.colorbar()
    labelled(plt.gca())


@BANK.wrong("visualize_positional_encodings")
def picture_with_one_label(length, d_model=512, ax=None):
    ax = picture_by_imshow(length, d_model, ax)
    ax.set_ylabel("")
    return ax


@BANK.wrong("visualize_positional_encodings")
def picture_without_axes(length, d_model=512, ax=None):
    ax = picture_by_imshow(length, d_model, ax)
    ax.set_axis_off()
    return ax


@BANK.wrong("visualize_positional_encodings")
def picture_of_the_first_dimensions(length, d_model=512, ax=None):
    return picture_by_imshow(length, min(d_model, 6), ax)


@BANK.wrong("visualize_positional_encodings")
def picture_with_tight_limits(length, d_model=512, ax=None):
    ax = picture_by_pcolormesh(length, d_model, ax)
    ax.set_ylim(length - 1, 0)
    return ax


@BANK.wrong("visualize_positional_encodings")
def picture_with_smooth_colours(length, d_model=512, ax=None):
    ax = picture_by_imshow(length, d_model, ax)
    ax.images[0].set_interpolation("bicubic")
    return ax


@BANK.wrong("visualize_positional_encodings")
def picture_with_places_from_one(length, d_model=512, ax=None):
    ax = picture_by_imshow(length, d_model, ax)
    ax.images[0].set_extent((0.5, d_model + 0.5, length + 0.5, 0.5))
    return ax


@BANK.wrong("visualize_positional_encodings")
def picture_in_shares_of_one(length, d_model=512, ax=None):
    ax = picture_by_imshow(length, d_model, ax)
    ax.images[0].set_extent((0, 1, 1, 0))
    return ax


@BANK.wrong("visualize_positional_encodings")
def picture_of_curves(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.plot(table_by_two_loops(length, d_model))
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings")
def picture_of_other_numbers(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.figure.colorbar(ax.imshow(table_by_two_loops(length, d_model).abs()), ax=ax)
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings")
def picture_of_random_numbers(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.figure.colorbar(ax.imshow(torch.rand(length, d_model)), ax=ax)
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings")
def picture_beside_an_empty_figure(length, d_model=512, ax=None):
    plt.figure(figsize=(12, 8))
    return picture_by_imshow(length, d_model, axes_or_new(ax))


@BANK.wrong("visualize_positional_encodings")
def picture_with_its_colour_bar_returned(length, d_model=512, ax=None):
    ax = picture_by_imshow(length, d_model, ax)
    return ax.images[0].colorbar.ax


@BANK.wrong("visualize_positional_encodings")
def picture_with_the_colour_bar_elsewhere(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    other = plt.figure()
    other.colorbar(ax.imshow(table_by_two_loops(length, d_model)), cax=other.subplots())
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings")
def picture_on_the_first_call_only(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    if length != 3:
        return ax
    return picture_by_imshow(length, d_model, ax)


# ----------------------------------------------------------------- more ways, right and wrong


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


@BANK.right("PositionalEncoding")
class WithAnEmbeddingOfTheTable(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.register_buffer("pe", table_by_padding_to_even(max_len, d_model))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch, length, _ = x.shape
        if length > self.pe.size(0):
            raise ValueError(f"{length} is more than {self.pe.size(0)}")
        places = torch.arange(length, device=x.device).repeat(batch, 1)
        return self.dropout(x + self.pe[places])


@BANK.wrong("PositionalEncoding")
class AddedInPlaceWithoutNoGrad(Right):
    def forward(self, x):
        self.check(x)
        x += self.positions(x)
        return self.dropout(x)


@BANK.wrong("PositionalEncoding", named="words alone")
class PositionsForgotten(Right):
    def forward(self, x):
        self.check(x)
        return self.dropout(x)


@BANK.wrong("PositionalEncoding", named="the last rows of the table")
class WithTheEndOfTheTable(Right):
    def positions(self, x):
        return self.pe[:, -x.shape[1] :]


@BANK.wrong("PositionalEncoding", named="words and positions multiplied")
class WithAProduct(Right):
    def forward(self, x):
        self.check(x)
        return self.dropout(x * self.positions(x))


@BANK.wrong("PositionalEncoding", named="dropout on the positions only")
class WithDropoutInside(Right):
    def forward(self, x):
        self.check(x)
        return x + self.dropout(self.positions(x).expand_as(x))


@BANK.right("visualize_positional_encodings")
def picture_by_pcolormesh_with_edges(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    x, y = np.arange(d_model + 1) - 0.5, np.arange(length + 1) - 0.5
    mesh = ax.pcolormesh(x, y, table_by_numpy(length, d_model).numpy(), shading="flat")
    ax.set_ylim(length - 0.5, -0.5)
    ax.figure.colorbar(mesh, ax=ax)
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_from_the_first_to_the_last_number(length, d_model=512, ax=None):
    # column d is the cell that has x = d within its edges
    ax = axes_or_new(ax)
    edges = (0, d_model - 1, length - 1, 0)
    image = ax.imshow(table_by_numpy(length, d_model), extent=edges, aspect="auto")
    ax.figure.colorbar(image, ax=ax)
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_by_pcolor_with_a_grid(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    x, y = np.meshgrid(np.arange(d_model + 1), np.arange(length + 1))
    mesh = ax.pcolor(x, y, table_by_where(length, d_model), cmap="RdBu", vmin=-1.5, vmax=1.5)
    ax.set_ylim(ax.get_ylim()[::-1])
    ax.figure.colorbar(mesh, ax=ax, label="value")
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_with_ten_colours_and_half_transparent(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    colours = plt.get_cmap("coolwarm", 10)
    image = ax.imshow(table_by_numpy(length, d_model), cmap=colours, alpha=0.6, aspect="auto")
    ax.grid(True)
    ax.figure.colorbar(image, ax=ax)
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_with_a_number_on_each_cell(length, d_model=512, ax=None):
    table = table_by_numpy(length, d_model)
    ax = picture_by_imshow(length, d_model, ax)
    for place, number in np.ndenumerate(table.numpy()[:, :20]):
        ax.text(place[1], place[0], f"{number:.1f}", ha="center", va="center", fontsize=5)
    return ax


def looked_at(change, like=picture_by_imshow):
    def picture(length, d_model=512, ax=None):
        ax = like(length, d_model, ax)
        change(ax, length, d_model)
        return ax

    return picture


@BANK.wrong("visualize_positional_encodings", named="negative numbers share one colour")
def picture_with_colours_from_zero(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    image = ax.imshow(table_by_numpy(length, d_model), vmin=0, vmax=1, aspect="auto")
    ax.figure.colorbar(image, ax=ax)
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings")
def picture_with_colours_up_to_a_half(length, d_model=512, ax=None):
    return looked_at(lambda ax, length, d_model: ax.images[0].set_clim(-0.5, 0.5))(
        length, d_model, ax
    )


@BANK.wrong("visualize_positional_encodings")
def picture_in_two_colours(length, d_model=512, ax=None):
    return looked_at(lambda ax, length, d_model: ax.images[0].set_cmap(plt.get_cmap("bwr", 2)))(
        length, d_model, ax
    )


@BANK.wrong("visualize_positional_encodings", named="limits of another width")
def picture_with_the_limits_of_512(length, d_model=512, ax=None):
    return looked_at(lambda ax, length, d_model: ax.set_xlim((0, 512)))(length, d_model, ax)


@BANK.wrong("visualize_positional_encodings")
def picture_behind_a_patch(length, d_model=512, ax=None):
    def cover(ax, length, d_model):
        ax.axhspan(-1, length, color="w", zorder=9)

    return looked_at(cover)(length, d_model, ax)


@BANK.wrong("visualize_positional_encodings")
def picture_as_small_as_a_stamp(length, d_model=512, ax=None):
    def shrink(ax, length, d_model):
        ax.set_position([0.4, 0.4, 0.01, 0.01])

    return looked_at(shrink)(length, d_model, ax)


@BANK.wrong("visualize_positional_encodings")
def picture_that_is_transparent(length, d_model=512, ax=None):
    return looked_at(lambda ax, length, d_model: ax.images[0].set_alpha(0.0))(length, d_model, ax)


@BANK.wrong("visualize_positional_encodings")
def picture_cut_from_below(length, d_model=512, ax=None):
    return looked_at(lambda ax, length, d_model: ax.set_ylim(length // 2, -0.5))(
        length, d_model, ax
    )


@BANK.wrong("visualize_positional_encodings")
def picture_with_a_bar_of_other_colours(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.imshow(table_by_numpy(length, d_model), cmap="coolwarm", aspect="auto")
    ax.figure.colorbar(ScalarMappable(Normalize(-1, 1), cmap="viridis"), ax=ax)
    return labelled(ax)
