"""Right answers that are slow: in loops over single numbers, and in products that are not optimised."""

import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from assignments.a6_positional_encoding.answers.bank import BANK
from autograder.bank.answers import LOOPS, PRODUCTS


def table_number_by_number(length, d_model):
    table = torch.zeros(length, d_model)
    for position in range(length):
        for column in range(d_model):
            angle = position / 10000 ** (column // 2 * 2 / d_model)
            table[position, column] = math.sin(angle) if column % 2 == 0 else math.cos(angle)
    return table


def table_by_products(length, d_model):
    places = torch.arange(length, dtype=torch.float64)
    columns = torch.arange(d_model)
    speeds = 10000 ** (-(columns - columns % 2).double() / d_model)
    angles = torch.einsum("p,d,de->pe", places, speeds, torch.eye(d_model).double())
    is_sine = (columns % 2 == 0).double()
    table = torch.einsum("pd,d->pd", angles.sin(), is_sine)
    return (table + torch.einsum("pd,d->pd", angles.cos(), 1 - is_sine)).float()


BANK.right("positional_encoding", slow=LOOPS)(table_number_by_number)
BANK.right("positional_encoding", slow=PRODUCTS)(table_by_products)


@BANK.right("PositionalEncoding", slow=LOOPS)
class NumberByNumber(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pe", table_number_by_number(max_len, d_model))

    def forward(self, x):
        B, T, d_model = x.shape
        if T > len(self.pe):
            raise ValueError(f"{T} words are more than {len(self.pe)}")
        sums = []
        for b in range(B):
            for t in range(T):
                for d in range(d_model):
                    sums.append(x[b, t, d] + self.pe[t, d])
        return self.dropout(torch.stack(sums).reshape(B, T, d_model))


@BANK.right("PositionalEncoding", slow=PRODUCTS)
class InProducts(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.rate = dropout
        self.register_buffer("pe", table_by_products(max_len, d_model))

    def forward(self, x):
        B, T, _ = x.shape
        if T > len(self.pe):
            raise ValueError(f"{T} words are more than {len(self.pe)}")
        every = torch.ones(B, dtype=x.dtype)
        first = torch.eye(T, len(self.pe), dtype=x.dtype)  # (T, max_len), a row for each word
        added = torch.einsum("b,tp,pd->btd", every, first, self.pe.to(x.dtype))
        return F.dropout(x + added, self.rate, self.training)


def drawn(table, ax):
    if ax is None:
        _, ax = plt.subplots()
    ax.figure.colorbar(ax.imshow(table, aspect="auto"), ax=ax)
    ax.set(xlabel="dimension", ylabel="position")
    return ax


@BANK.right("visualize_positional_encodings", slow=LOOPS)
def picture_number_by_number(length, d_model=512, ax=None):
    return drawn(table_number_by_number(length, d_model), ax)


@BANK.right("visualize_positional_encodings", slow=PRODUCTS)
def picture_by_products(length, d_model=512, ax=None):
    return drawn(table_by_products(length, d_model), ax)
