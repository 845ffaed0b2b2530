"""`is_permutation_equivariant` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch
from torch import Tensor

from assignments.a2_self_attention.rubric import (
    TELLS,
    equivariant,
)
from autograder.checks.mistakes import Steps, called, costs, costs_more, variants


def close(one: Tensor, other: Tensor, rtol: float = 1e-4, atol: float = 1e-5) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, rtol=rtol, atol=atol)


class Asking(Steps):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def answer(self, f, x, permutation):
        permutation = self.order(x, permutation)
        return self.compare(self.before(f, x, permutation), self.after(f, x, permutation))

    def order(self, x, permutation):
        return permutation

    def before(self, f, x, permutation):
        return f(x[permutation])

    def after(self, f, x, permutation):
        return f(x)[permutation]

    def compare(self, before, after):
        return close(before, after)


@equivariant.mistakes_in(Asking.after, costs=TELLS)
class EquivariantAfter:
    @called("invariance tested, not equivariance")
    def invariance(self, f, x, permutation):
        """You compare f(x) with f(x[permutation]), which asks whether the order leaves no trace
        (invariance). Equivariance asks whether the output is reordered in the same way."""
        return f(x)

    @called("permutation undone in the wrong direction")
    @costs()
    def reordered_backwards(self, f, x, permutation):
        """On one side of your equation the words are reordered, on the other they are put back.
        Both are the same only for permutations that undo themselves, such as swapping two words.
        Try it by hand with three words moved round."""
        return f(x)[permutation.argsort()]

    def f_left_out_on_one_side(self, f, x, permutation):
        """You compare f(x[permutation]) with the reordered words themselves. The other side needs f
        as well, f(x)[permutation]."""
        return x[permutation]

    def an_output_compared_with_itself_reordered(self, f, x, permutation):
        """You compare an output of f with the same output reordered, which asks whether its rows
        are alike. One side needs f(x[permutation]), the other f(x)[permutation]. If your code says
        `x = x[permutation]`, x is the reordered words from then on, on both sides. Give them a
        name of their own."""
        return f(x[permutation])[permutation]


@equivariant.mistakes_in(Asking.answer)
class EquivariantAnswer:
    @called("permutation undone in the wrong direction")
    def permutation_undone_by_itself(self, f, x, permutation):
        """This holds only for permutations that are their own inverse, such as swapping two words.
        Try it by hand with three words moved round."""
        return self.compare(f(x[permutation])[permutation], f(x))

    @costs(TELLS)
    def f_left_out_on_one_side(self, f, x, permutation):
        """You compare f(x[permutation]) with the reordered words themselves. The other side needs f
        as well, f(x)[permutation]."""
        return torch.allclose(f(x[permutation]), x[permutation], rtol=1e-4, atol=1e-5)


@equivariant.mistakes_in(Asking.compare)
class EquivariantCompare:
    def exact_equality(self, before, after):
        """Sums in another order differ in the last digits of float32, and `torch.equal` forgives
        nothing. Compare with a tolerance, rtol 1e-4, atol 1e-5."""
        return torch.equal(before, after)

    @costs(TELLS)
    def numbers_compared_without_their_places(self, before, after):
        """You compare which numbers come out, wherever they stand. Each row must land exactly where
        the permutation puts it."""
        return close(before.flatten().sort().values, after.flatten().sort().values)

    @costs(TELLS)
    @variants("boil_down", (torch.sum, torch.mean, torch.norm, torch.max))
    def one_number_compared_for_the_whole_output(self, before, after, boil_down):
        """You compare one number of the two sides, such as their sum, mean or norm. Reordering rows
        does not change it, so it says nothing about where each row went. Compare entry by entry."""
        return close(boil_down(before), boil_down(after))

    @costs(TELLS)
    def rows_averaged_before_they_are_compared(self, before, after):
        """You compare the mean over the words. It is the same in any order, so it says nothing
        about where each row went. Compare the two sides row by row."""
        return close(before.mean(dim=0), after.mean(dim=0))

    @costs_more("as good as no answer")
    def always_True(self, before, after):
        """Your answer is True for every f. Do you compare numbers, not shapes? And do your two
        sides differ. Are the words reordered before f on one, f(x[permutation]), and after f on the
        other, f(x)[permutation]?"""
        return before.shape == after.shape

    @called("numbers compared without their places")
    @costs(TELLS)
    def same_columns_anywhere(self, before, after):
        """You sort before you compare, so it does not matter where a row stands. Each row must land
        exactly where the permutation puts it."""
        return close(before.sort(dim=0).values, after.sort(dim=0).values)

    @costs(TELLS)
    def one_agreement_is_enough(self, before, after):
        """Your answer is True as soon as one entry of the two sides agrees. All of them must agree.
        Is it `any` or `all`?"""
        return bool(torch.isclose(before, after, rtol=1e-4, atol=1e-5).any())

    @costs(TELLS)
    def True_and_False_exchanged(self, before, after):
        """Your answer is True where the two sides differ and False where they agree. Is there a
        `not` too much, or a `!=`, or are two returns exchanged?"""
        return not close(before, after)

    @costs(TELLS)
    def an_answer_for_each_number(self, before, after):
        """Your answer is a tensor that says True or False for each number. One answer is asked for,
        which is whether all of them agree. `.all()` says so, and `bool(…)` makes it a plain bool."""
        return torch.isclose(before, after, rtol=1e-4, atol=1e-5)

    def tensor_returned_for_a_bool(self, before, after):
        """The answer is right, but it is a tensor. Wrap it in `bool(…)`."""
        return torch.isclose(before, after, rtol=1e-4, atol=1e-5).all()

    @called("torch.allclose with its own tolerances")
    def default_tolerance(self, before, after):
        """`torch.allclose` without further arguments uses rtol 1e-5 and atol 1e-8. Give it the
        tolerances of the text, rtol 1e-4 and atol 1e-5."""
        return torch.allclose(before, after)

    @variants("rtol, atol", ((1e-4, 0.0), (1e-4, 1e-8)))
    def absolute_tolerance_too_small(self, before, after, rtol, atol):
        """Near 0 a relative tolerance forgives next to nothing, and rounding is not relative to a
        sum that cancels. The text asks for rtol 1e-4 and atol 1e-5. Without `atol`,
        `torch.allclose` takes 1e-8."""
        return torch.allclose(before, after, rtol=rtol, atol=atol)

    @variants("rtol, atol", ((0.0, 1e-5), (1e-5, 1e-5)))
    def relative_tolerance_too_small(self, before, after, rtol, atol):
        """Large numbers are rounded by more than your comparison forgives. The text asks for rtol
        1e-4 and atol 1e-5. Without `rtol`, `torch.allclose` takes 1e-5."""
        return torch.allclose(before, after, rtol=rtol, atol=atol)

    def difference_without_its_absolute_value(self, before, after):
        """You ask whether the difference is small, but a large negative difference is small too.
        Take its absolute value, or use `torch.allclose`."""
        return bool((before - after).max() < 1e-5)

    @called("difference without its absolute value")
    @variants("sign", (1, -1))
    def difference_one_way(self, before, after, sign):
        """You ask whether the difference is small, but a large negative difference is small too.
        Take its absolute value, or use `torch.allclose`."""
        return bool((sign * (before - after) <= 1e-5 + 1e-4 * after.abs()).all())

    @called("too strict with large numbers, too generous with small ones")
    def the_two_tolerances_exchanged(self, before, after):
        """Your comparison is too strict with large numbers and too generous with small ones, as it
        is where the two tolerances are exchanged, or the absolute one stands alone. The text asks
        for both, rtol 1e-4 and atol 1e-5."""
        return close(before, after, rtol=1e-5, atol=1e-4)

    @variants(
        "rtol, atol",
        (
            (0.01, 0.01),
            (1e-4, 1e-3),
            (1e-3, 1e-5),
            (1e-4, 1e-4),
            (1e-3, 1e-4),
            (1e-3, 1e-3),
            (0.0, 1e-3),
        ),
    )
    def tolerance_too_wide(self, before, after, rtol, atol):
        """A small effect of the order goes unnoticed. Use rtol 1e-4 and atol 1e-5."""
        return close(before, after, rtol=rtol, atol=atol)

    def mean_difference_compared(self, before, after):
        """You ask whether the two sides agree on average. A single wrong row is lost in a mean, so
        every entry must agree within the tolerances."""
        return bool((before - after).abs().mean() < 1e-3)

    @called("only the {which} row compared")
    @costs(TELLS)
    @variants("place, which", ((0, "first"), (-1, "last")))
    def one_row_compared(self, before, after, place, which):
        """You look at the {which} row alone. The order may leave its trace in any other row, so
        compare all of them."""
        return close(before[place], after[place])


@equivariant.mistakes_in(Asking.order, costs=TELLS)
class EquivariantOrder:
    @variants("reverse", (lambda x, p: torch.arange(len(x) - 1, -1, -1), lambda x, p: p.flip(0)))
    def another_permutation_than_the_one_given(self, x, permutation, reverse):
        """You reorder the words by a permutation of your own, such as the reverse order. The
        question is about the one that was given, `permutation`."""
        return reverse(x, permutation)


@equivariant.mistakes_in(Asking.before)
class EquivariantBefore:
    @costs_more("as good as no answer")
    def always_False(self, f, x, permutation):
        """Your answer is False for every f. Are the words reordered, the rows of x
        (`x[permutation]`), and not its columns? And does your comparison forgive rounding?"""
        return f(x[:, permutation % x.shape[1]])
