"""What is drawn to see the sums of rows under dropout, and how often each mean and spread should come.

There are many equal rows and few draws, so that all that can come is known exactly, with its probability.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, product
from typing import Any

import torch
from torch import Tensor

from assignments.common.draws import a_generator, in_which_state
from autograder.checks.cases import Call, Case, Chance, Randn

ROWS = 2000


def shaken(
    row: tuple[float, ...],
    rate: float,
    draws: int,
    *,
    rows: int = ROWS,
    seeded: bool = False,
) -> Case:
    """weights (rows, S) that are all the same row, in an order that differs by submission.

    What is counted is how many rows have which mean, and which standard deviation.
    """

    def draw(randn: Randn) -> list[Any]:
        order = torch.randperm(len(row), generator=randn.generator)
        weights = torch.tensor(row, dtype=randn.dtype)[order].repeat(rows, 1)
        return [weights, rate, draws, *([a_generator(randn)] if seeded else [])]

    how_many = f"{rows} rows" if rows > 1 else "a single row"
    notes = f"{how_many} of {', '.join(f'{weight:.3g}' for weight in row)}, {rate=}, {draws=}"
    notes += ", with a generator" * seeded
    return Case(notes, draw, random=True, chance=means_and_spreads(row, rate, draws, rows))


def outcomes_of(
    row: tuple[float, ...], rate: float, draws: int
) -> list[tuple[float, float, float]]:
    """(mean, standard deviation, probability) of each way in which the draws of one row can end."""
    one: dict[float, float] = {}  # the sum in a single draw, and its probability
    for mask in product((0, 1), repeat=len(row)):
        total = sum(weight for weight, kept in zip(row, mask, strict=True) if kept) / (1 - rate)
        chance = math.prod(1 - rate if kept else rate for kept in mask)
        one[round(total, 9)] = one.get(round(total, 9), 0.0) + chance
    found = []
    for sums in combinations_with_replacement(sorted(one), draws):
        orders = math.factorial(draws) // math.prod(
            math.factorial(sums.count(s)) for s in set(sums)
        )
        mean = sum(sums) / draws
        variance = sum((each - mean) ** 2 for each in sums) / draws
        found.append((mean, math.sqrt(variance), orders * math.prod(one[each] for each in sums)))
    return found


TOLERANCE = 2e-3  # in float32, the root of a difference of squares is off by no more
WIDTH, WIDEST = (
    0.1,
    6.0,
)  # of the intervals for numbers that cannot come, and where the last one ends


class Places:
    """Numbers that can come, those within a tolerance taken together, and intervals for all others.

    Args:
        numbers: (number, probability) pairs.

    Attributes:
        chances: the probability of each place.
        names: of each place, in words.
    """

    def __init__(self, numbers: list[tuple[float, float]], what: str) -> None:
        self.ends: list[list[float]] = []
        self.chances: list[float] = []
        for number, chance in sorted(numbers):
            if self.ends and number - self.ends[-1][1] < 2 * TOLERANCE:
                self.ends[-1][1] = number
                self.chances[-1] += chance
            else:
                self.ends.append([number, number])
                self.chances.append(chance)
        self.names = [f"{what} of {least:.3f}" for least, _ in self.ends]
        self.names += [f"{what} that is negative or no number"]
        self.names += [f"{what} near {WIDTH * (k + 0.5):.2f}, which no masks give,"
                       for k in range(round(WIDEST / WIDTH) + 1)]  # fmt: skip
        self.chances += [0.0] * (len(self.names) - len(self.chances))

    def tally(self, numbers: Tensor) -> Tensor:
        """How many numbers are in each place."""
        numbers = numbers.reshape(-1, 1).double()
        ends = torch.tensor(self.ends, dtype=torch.float64)
        inside = (numbers > ends[:, 0] - TOLERANCE) & (numbers < ends[:, 1] + TOLERANCE)
        beyond = numbers[:, 0].nan_to_num(-1.0, WIDEST, -1.0).clamp(-WIDTH, WIDEST) / WIDTH
        other = len(self.ends) + 1 + beyond.floor().long()
        where = torch.where(inside.any(dim=1), inside.int().argmax(dim=1), other)
        return torch.bincount(where, minlength=len(self.names))


HEAD = (
    "the sum without any dropout, in all rows and draws,",
    "the mean and the standard deviation that theory expects, in all rows,",
    "a mean that all rows have in common",
)


def means_and_spreads(row: tuple[float, ...], rate: float, draws: int, rows: int) -> Chance:
    """How many rows have which mean and which spread, and how many have the mean of the next row.

    Where all rows have one mean although chance decides, that is all that is counted: which mean it
    is, says nothing.
    """
    ends = outcomes_of(row, rate, draws)
    means = Places([(mean, chance) for mean, _, chance in ends], "a mean")
    spreads = Places([(std, chance) for _, std, chance in ends], "a standard deviation")
    alone = [rows * chance for chance in means.chances + spreads.chances]
    usual = [*[0.0] * len(HEAD), *alone, (rows - 1) * sum(chance**2 for chance in means.chances)]
    in_theory = math.sqrt(rate / (1 - rate) * sum(weight**2 for weight in row))

    def which_of_head(mean: Tensor, std: Tensor) -> int:
        if abs(float(mean[0]) - sum(row)) >= TOLERANCE:
            return 2
        if not std.any():
            return 0
        return 1 if (std - in_theory).abs().max() < TOLERANCE else 2

    def tally(result: Any) -> Tensor:
        mean, std = (each.reshape(-1) for each in result)
        same = (mean[1:] - mean[:-1]).abs() < TOLERANCE
        counts = torch.zeros(len(usual), dtype=torch.int64)
        if rate > 0 and len(mean) > 1 and same.all():
            counts[which_of_head(mean, std)] = len(mean)
        else:
            counts[len(HEAD) :] = torch.cat(
                [means.tally(mean), spreads.tally(std), same.sum()[None]]
            )
        return counts

    names = (*HEAD, *means.names, *spreads.names, "a mean that the next row has, too,")
    return Chance(lambda *_: torch.tensor(usual, dtype=torch.float64), tally, names)


WHOLE = Case(
    "150 rows, rate=0.0, draws=7", lambda randn: [0.4 * randn(150, 3).abs(), 0.0, 7], random=True
)


def shaken_twice(anew: bool, seeded: bool = True) -> Case:
    """Two calls: with a generator in the same state each, with one that goes on, or with none."""

    def draw(randn: Randn) -> Call:
        given: list[Any] = [randn(300, 3).softmax(dim=-1), 0.4, 3]
        if seeded:
            given.append(a_generator(randn))
        return Call(given, times=2, anew=anew)

    return Case(in_which_state(anew, seeded), draw, random=True)
