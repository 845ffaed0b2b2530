"""Wrong answers to assignment 6 that public projects really gave, written anew."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a6_positional_encoding.answers.bank import BANK
from assignments.a6_positional_encoding.answers.positional_encoding import table_by_exp_and_log


def table_of(length, d_model, speeds):
    """Sine and cosine of each speed in turns, cut to the width."""
    angles = torch.arange(length)[:, None] * speeds
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


@BANK.wrong(
    "positional_encoding", named="base and exponent exchanged", published="ivanvovk/WaveGrad#12"
)
def table_with_base_and_exponent_exchanged(length, d_model):
    """The fraction is raised to the power 1e-4 where 1e-4 is raised to the fraction."""
    fractions = torch.arange(0, d_model, 2) / d_model
    return table_of(length, d_model, fractions**1e-4)


@BANK.wrong("positional_encoding", named="logarithm rounded down", published="zju3dv/LoFTR#41")
def table_with_a_floor_where_brackets_were_meant(length, d_model):
    """`-log(10000) / d_model // 1` is rounded down to −1 before it meets the column."""
    speeds = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model // 1))
    return table_of(length, d_model, speeds)


@BANK.wrong(
    "positional_encoding",
    named=("an angle of its own for each column", "another base than 10000"),
    published="maxjcohen/transformer#62",
)
def table_to_base_1000_with_angles_of_their_own(length, d_model):
    """The base is 1000, and each cosine has an exponent of its own."""
    position, columns = torch.arange(length).unsqueeze(1), torch.arange(d_model)
    angles = position / torch.pow(torch.tensor(1000.0), columns / d_model)
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos())


@BANK.wrong(
    "PositionalEncoding", named="parameter instead of buffer", published="henry9zhr/QANet-pytorch#3"
)
class WithATableThatLearns(nn.Module):
    """The sinusoids are a parameter, so training changes them."""

    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.pe = nn.Parameter(table_by_exp_and_log(max_len, d_model))

    def forward(self, x):
        if x.shape[1] > self.pe.shape[0]:
            raise ValueError(f"{x.shape[1]} positions, but only {self.pe.shape[0]} are known")
        return self.dropout(x + self.pe[: x.shape[1]])


class WithABuffer(nn.Module):
    """What the answers below share: the table, and an error beyond it."""

    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pe", table_by_exp_and_log(max_len, d_model)[None])

    def check(self, x):
        if x.shape[1] > self.pe.shape[1]:
            raise ValueError(f"{x.shape[1]} positions, but only {self.pe.shape[1]} are known")


@BANK.wrong(
    "PositionalEncoding", named="one vector for all words", published="DiffPoseTalk/DiffPoseTalk#20"
)
class WithoutTheColon(WithABuffer):
    """`pe[:, T]` for `pe[:, :T]`: all words get the vector of the place behind the last."""

    def forward(self, x):
        self.check(x)
        return self.dropout(x + self.pe[:, x.shape[1]].unsqueeze(1))


@BANK.wrong(
    "PositionalEncoding", named="no dropout after eval mode", published="NVIDIA/Megatron-LM#411"
)
class WithDropoutThatNeverWakesAgain(WithABuffer):
    """The first call in eval mode sets the rate to 0, and it stays 0 in training."""

    def forward(self, x):
        self.check(x)
        self.dropout.p = self.dropout.p if self.training else 0.0
        return F.dropout(x + self.pe[:, : x.shape[1]], self.dropout.p)
