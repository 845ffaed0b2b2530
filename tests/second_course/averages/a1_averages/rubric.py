"""What earns points, and the wrong answers that have a name."""

from autograder.checks.cases import Case
from autograder.checks.check import Part


def series(n: int, window: int) -> Case:
    return Case(f"{n} numbers, {window=}", lambda randn: [randn(n), window])


def table(n: int, k: int) -> Case:
    return Case(f"{n=}, {k=}", lambda randn: [3 * randn(n, k) + 5])


def averages(x, window):
    return x.unfold(0, window, 1).mean(dim=-1)


def standard(x):
    return (x - x.mean(dim=0)) / x.std(dim=0)


moving_average = Part("moving_average(x (n,), window) -> (n - window + 1,)", averages)
INSIDE = moving_average.step("each mean is that of its window", 2, series(9, 3), series(8, 5))
EDGE = moving_average.step("a window as long as the series", 1, series(6, 6), series(5, 5))


@moving_average.mistake("last window left out", costs=(EDGE,))
def one_too_few(x, window):
    """Your result is one number too short: the window that ends with the last number is missing."""
    return averages(x, window)[:-1]


standardise = Part("standardise(x (n, k)) -> (n, k)", standard)
COLUMNS = standardise.step("each column has mean 0 and deviation 1", 1, table(7, 3), table(4, 5))
STANDARDISE_MANNERS = standardise.manners(1, table(5, 2))


@standardise.mistake("rows instead of columns", costs=(COLUMNS,))
def by_rows(x):
    """You standardise rows. A column is one quantity, so take its mean with `dim=0`."""
    return standard(x.T).T
