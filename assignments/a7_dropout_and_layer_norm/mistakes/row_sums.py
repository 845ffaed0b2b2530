"""`row_sums_under_dropout` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch

from assignments.a7_dropout_and_layer_norm.rubric import OWN_MASKS, SUMS, row_sums
from autograder.checks.mistakes import Steps, called, costs


class Shaking(Steps):
    """The reference step by step."""

    def answer(self, weights, rate, draws, generator=None):
        numbers = self.numbers(weights, draws, self.source(generator))
        kept = weights * self.kept(numbers, rate)  # (draws, T, S)
        sums = self.sums(self.made_up(kept, rate))  # (draws, T)
        return self.result(self.mean(sums), self.spread(sums))

    def source(self, generator):
        return generator

    def numbers(self, weights, draws, generator):
        return torch.rand(draws, *weights.shape, generator=generator)

    def kept(self, numbers, rate):
        return numbers >= rate

    def made_up(self, kept, rate):
        return kept / (1 - rate)

    def sums(self, weights):
        return weights.sum(dim=-1)

    def mean(self, sums):
        return sums.mean(dim=0)

    def spread(self, sums):
        return sums.std(dim=0, correction=0)

    def result(self, mean, std):
        return mean, std


@row_sums.mistakes_in(Shaking.source, costs=OWN_MASKS)
class ShakingSource:
    def generator_ignored(self, generator):
        """You draw from torch's own random numbers although a generator was given. Which functions of
        PyTorch take a `generator`, and do you hand it to each of them?"""
        return

    def nothing_drawn_from_the_generator_itself(self, generator):
        """No number is drawn from the generator itself, nor from torch's own. A copy of a generator, or a
        new one with the same seed, gives the same numbers again in the next call, and the random numbers of
        other libraries do not depend on it at all. Where should all numbers come from?"""
        if generator is None:
            return None
        return torch.Generator().set_state(generator.get_state())

    def seeded_anew(self, generator):
        """Something is seeded in every call, so each call gives the same numbers. Who decides about the
        seed, your function or whoever calls it?"""
        if generator is None:
            torch.manual_seed(0)
            return None
        return generator.manual_seed(0)


@row_sums.mistakes_in(Shaking.numbers, costs=OWN_MASKS)
class ShakingNumbers:
    def one_mask_for_all_draws(self, weights, draws, generator):
        """A mask is drawn only once, so the sum of a row is the same in all draws and `std` is 0. In which
        shape are the random numbers drawn, and how often?"""
        return torch.rand(weights.shape, generator=generator).expand(draws, *weights.shape)

    def one_mask_for_all_rows(self, weights, draws, generator):
        """In each draw all rows lose the weights of the same columns. Every weight of the table should be
        decided by itself. In which shape are the random numbers drawn?"""
        numbers = torch.rand(draws, 1, weights.shape[1], generator=generator)
        return numbers.expand(draws, *weights.shape)

    def whole_rows_dropped(self, weights, draws, generator):
        """Your rows keep all their weights or lose all of them. Every weight of a row should be decided
        by itself. In which shape are the random numbers drawn?"""
        return torch.rand(draws, weights.shape[0], 1, generator=generator).expand(
            draws, *weights.shape
        )

    @costs(SUMS)
    def one_draw_less(self, weights, draws, generator):
        """Your results are those of one draw less than was asked for. How often is a mask drawn?"""
        return torch.rand(max(draws - 1, 1), *weights.shape, generator=generator)

    @costs(SUMS)
    def argument_draws_ignored(self, weights, draws, generator):
        """Your results are those of many draws, whatever `draws` is. What becomes of the argument?"""
        return torch.rand(1000, *weights.shape, generator=generator)


@row_sums.mistakes_in(Shaking.kept, costs=SUMS)
class ShakingKept:
    def kept_with_the_probability_rate(self, numbers, rate):
        """You keep a weight with probability `rate`, but it should be dropped with that probability. On
        which side of `rate` does a random number between 0 and 1 lie with probability `rate`?"""
        return numbers < rate

    def half_of_the_weights_dropped_whatever_the_rate(self, numbers, rate):
        """Whatever `rate` is, you drop half of the weights. With what do you compare the random
        numbers?"""
        return numbers >= 0.5


@row_sums.mistakes_in(Shaking.made_up, costs=SUMS)
class ShakingMadeUp:
    @called("not divided by 1 − rate")
    def not_made_up_for(self, kept, rate):
        """The weights that you keep stay as they are, so a row's sum is smaller on average than without
        dropout. By what does inverted dropout divide them?"""
        return kept

    def divided_by_the_rate(self, kept, rate):
        """You divide the weights that are kept by `rate`. Inverted dropout divides by the probability
        with which a weight is kept."""
        return kept / rate

    @called("multiplied by 1 − rate")
    def multiplied_by_the_share(self, kept, rate):
        """You multiply the weights that are kept by 1 − `rate`, which makes the sums smaller still. Should
        the factor make up for what is lost, or repeat the loss?"""
        return kept * (1 - rate)

    def rows_made_to_sum_to_one(self, kept, rate):
        """You divide each row by its own sum after the dropout, so all sums are 1. A kept weight should be
        divided by 1 − `rate`, and nothing else should happen to the row."""
        return kept / kept.sum(dim=-1, keepdim=True)

    @called("rows made to sum to one")
    def rows_made_to_sum_to_one_with_care(self, kept, rate):
        """You divide each row by its own sum after the dropout, so all sums are 1. A kept weight should be
        divided by 1 − `rate`, and nothing else should happen to the row."""
        return kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-9)


@row_sums.mistake("nothing dropped", costs=SUMS)
class NothingDropped(Shaking):
    """None of your weights is ever dropped, so every sum is what it was before. Does your dropout know
    that it should act? A module in eval mode, or `F.dropout` with `training=False`, hands everything
    on."""

    def kept(self, numbers, rate):
        return torch.ones_like(numbers)

    def made_up(self, kept, rate):
        return kept


@row_sums.mistake("argument rate ignored", costs=SUMS)
class RateIgnored(Shaking):
    """Whatever `rate` is, half of your weights are dropped and the others are doubled, as PyTorch's dropout
    does when it is told no rate. What becomes of the argument?"""

    def answer(self, weights, rate, draws, generator=None):
        return super().answer(weights, 0.5, draws, generator)


@row_sums.mistake("computed from the formula, and nothing drawn", costs=SUMS)
class Computed(Shaking):
    """Your results are those that theory expects over all draws, and not those of `draws` masks. Draw the
    masks, and let the formula tell you whether the results can be right."""

    def answer(self, weights, rate, draws, generator=None):
        generator = self.source(generator)
        self.numbers(weights, draws, generator)
        spread = rate / (1 - rate) * weights.square().sum(dim=-1)
        return self.result(weights.sum(dim=-1), spread.sqrt())


@row_sums.mistakes_in(Shaking.sums, costs=SUMS)
class ShakingSums:
    def columns_summed(self, weights):
        """You sum columns, (S,), over the words that ask. A row holds the weights of one query. Over which
        axis of (T, S) does its sum run?"""
        return weights.sum(dim=-2)

    @called("mean of a row in place of its sum")
    def means_of_rows(self, weights):
        """You take the mean of a row's weights, which is its sum divided by S. The sum is asked for."""
        return weights.mean(dim=-1)


@row_sums.mistakes_in(Shaking.mean, costs=SUMS)
class ShakingMean:
    def mean_over_the_rows_as_well(self, sums):
        """Your mean is one number for all rows. Each row has a mean of its own, over the draws. Which axis
        of your sums are the draws along?"""
        return sums.mean()

    @called("mean over the rows, not over the draws")
    def means_of_draws(self, sums):
        """Your means are one for each draw, over the rows. Each row should have one, over the draws. Which
        axis of your sums are the draws along?"""
        return sums.mean(dim=1)

    def sums_added_up(self, sums):
        """Your first result adds up the sums of all draws. What is left to do to make their mean of it?"""
        return sums.sum(dim=0)


@row_sums.mistakes_in(Shaking.spread, costs=SUMS)
class ShakingSpread:
    def unbiased_standard_deviation(self, sums):
        """Your `std` is a little too large, as if the sum of squares were divided by `draws` − 1, and of a
        single draw it is NaN. PyTorch's `std` and `var` do this unless they are told otherwise."""
        squares = (sums - sums.mean(dim=0)).square().sum(dim=0)
        return (squares / (len(sums) - 1)).sqrt()

    def variance_returned(self, sums):
        """Your second result is the variance. What makes the standard deviation of it?"""
        return sums.var(dim=0, correction=0)

    def standard_deviation_of_the_mean(self, sums):
        """Your second result is divided by the root of the number of draws, which tells how well the mean
        is known. How far a single sum strays does not become less with more draws."""
        return sums.std(dim=0, correction=0) / len(sums) ** 0.5

    @called("standard deviation over the rows, not over the draws")
    def spread_of_draws(self, sums):
        """Your standard deviations are one for each draw, over the rows. Each row should have one, over
        the draws. Which axis of your sums are the draws along?"""
        return sums.std(dim=1, correction=0)

    def mean_absolute_deviation(self, sums):
        """Your second result is the mean of the absolute differences from the mean. The standard deviation
        squares them, averages the squares and takes the root."""
        return (sums - sums.mean(dim=0)).abs().mean(dim=0)


@row_sums.mistakes_in(Shaking.result, costs=SUMS)
class ShakingResult:
    def results_in_the_wrong_order(self, mean, std):
        """You return the standard deviation first. Which of the two does the text name first?"""
        return std, mean

    def both_results_in_one_tensor(self, mean, std):
        """You return one tensor that holds both results. Return two tensors, as in `return mean, std`."""
        return torch.stack([mean, std])

    @called("no axis left for one row")
    @costs(OWN_MASKS)
    def squeezed(self, mean, std):
        """Where there is a single row, your results have no axis at all. A bare `squeeze()` removes every
        axis of length 1. Which one should go, if any?"""
        return mean.squeeze(), std.squeeze()
