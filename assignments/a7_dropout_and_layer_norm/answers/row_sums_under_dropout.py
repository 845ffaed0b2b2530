"""Answers to `row_sums_under_dropout`."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from assignments.a7_dropout_and_layer_norm.answers.bank import BANK
from assignments.a7_dropout_and_layer_norm.rubric import OWN_MASKS, SUMS, row_sums
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers

ANSWERS = Answers(
    __name__, BANK, row_sums,
    """
    def row_sums_under_dropout(weights, rate, draws, generator=None):
        numbers = torch.rand(draws, *weights.shape, generator=generator)
        kept = numbers >= rate
        left = weights * kept  # (draws, T, S)
        dropped = left / (1 - rate)
        sums = dropped.sum(dim=-1)  # (draws, T)
        mean = sums.mean(dim=0)
        std = sums.std(dim=0, correction=0)
        return mean, std
    """,
    math=math, np=np, torch=torch, F=F, nn=nn,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("generator ignored", "generator = None", OWN_MASKS,
     "You draw from torch's own random numbers although a generator was given. Which functions of PyTorch take a "
     "`generator`, and do you hand it to each of them?")
slip("nothing drawn from the generator itself",
     "generator = generator and torch.Generator().set_state(generator.get_state())", OWN_MASKS,
     "No number is drawn from the generator itself, nor from torch's own. A copy of a generator, or a new one with "
     "the same seed, gives the same numbers again in the next call, and the random numbers of other libraries do not "
     "depend on it at all. Where should all numbers come from?")
slip("seeded anew", "generator = (generator or torch).manual_seed(0)", OWN_MASKS,
     "Something is seeded in every call, so each call gives the same numbers. Who decides about the seed, your "
     "function or whoever calls it?")
slip("one mask for all draws",
     "numbers = torch.rand(weights.shape, generator=generator).expand(draws, *weights.shape)", OWN_MASKS,
     "A mask is drawn only once, so the sum of a row is the same in all draws and `std` is 0. In which shape are the "
     "random numbers drawn, and how often?")
slip("one mask for all rows", "numbers = torch.rand(draws, 1, weights.shape[1], generator=generator)", OWN_MASKS,
     "In each draw all rows lose the weights of the same columns. Every weight of the table should be decided by "
     "itself. In which shape are the random numbers drawn?")
slip("whole rows dropped", "numbers = torch.rand(draws, len(weights), 1, generator=generator)", OWN_MASKS,
     "Your rows keep all their weights or lose all of them. Every weight of a row should be decided by itself. In "
     "which shape are the random numbers drawn?")
slip("one draw less", "numbers = torch.rand(max(draws - 1, 1), *weights.shape, generator=generator)", SUMS,
     "Your results are those of one draw less than was asked for. How often is a mask drawn?")
slip("argument draws ignored", "numbers = torch.rand(1000, *weights.shape, generator=generator)", SUMS,
     "Your results are those of many draws, whatever `draws` is. What becomes of the argument?")
slip("kept with the probability rate", "kept = numbers < rate", SUMS,
     "You keep a weight with probability `rate`, but it should be dropped with that probability. On which side of "
     "`rate` does a random number between 0 and 1 lie with probability `rate`?")
slip("half of the weights dropped whatever the rate", "kept = numbers >= 0.5", SUMS,
     "Whatever `rate` is, you drop half of the weights. With what do you compare the random numbers?")
slip("not divided by 1 − rate", "dropped = left", SUMS,
     "The weights that you keep stay as they are, so a row's sum is smaller on average than without dropout. By what "
     "does inverted dropout divide them?")
slip("divided by the rate", "dropped = left / rate", SUMS,
     "You divide the weights that are kept by `rate`. Inverted dropout divides by the probability with which a weight "
     "is kept.")
slip("multiplied by 1 − rate", "dropped = left * (1 - rate)", SUMS,
     "You multiply the weights that are kept by 1 − `rate`, which makes the sums smaller still. Should the factor "
     "make up for what is lost, or repeat the loss?")
slip("rows made to sum to one", "dropped = left / left.sum(dim=-1, keepdim=True){care}", SUMS,
     "You divide each row by its own sum after the dropout, so all sums are 1. A kept weight should be divided by 1 − "
     "`rate`, and nothing else should happen to the row.",
     each={"care": ("", ".clamp(min=1e-9)")})
slip("nothing dropped", "kept = torch.ones_like(numbers); dropped = left", SUMS,
     "None of your weights is ever dropped, so every sum is what it was before. Does your dropout know that it should "
     "act? A module in eval mode, or `F.dropout` with `training=False`, hands everything on.")
slip("argument rate ignored", "rate = 0.5", SUMS,
     "Whatever `rate` is, half of your weights are dropped and the others are doubled, as PyTorch's dropout does when "
     "it is told no rate. What becomes of the argument?")
slip("computed from the formula, and nothing drawn", """
    torch.rand(draws, *weights.shape, generator=generator)
    mean = weights.sum(dim=-1)
    std = (rate / (1 - rate) * weights.square().sum(dim=-1)).sqrt()
""", SUMS,
     "Your results are those that theory expects over all draws, and not those of `draws` masks. Draw the masks, and "
     "let the formula tell you whether the results can be right.")
slip("columns summed", "sums = dropped.sum(dim=-2)", SUMS,
     "You sum columns, (S,), over the words that ask. A row holds the weights of one query. Over which axis of (T, S) "
     "does its sum run?")
slip("mean of a row in place of its sum", "sums = dropped.mean(dim=-1)", SUMS,
     "You take the mean of a row's weights, which is its sum divided by S. The sum is asked for.")
slip("mean over the rows as well", "mean = sums.mean()", SUMS,
     "Your mean is one number for all rows. Each row has a mean of its own, over the draws. Which axis of your sums "
     "are the draws along?")
slip("mean over the rows, not over the draws", "mean = sums.mean(dim=1)", SUMS,
     "Your means are one for each draw, over the rows. Each row should have one, over the draws. Which axis of your "
     "sums are the draws along?")
slip("sums added up", "mean = sums.sum(dim=0)", SUMS,
     "Your first result adds up the sums of all draws. What is left to do to make their mean of it?")
slip("unbiased standard deviation",
     "std = ((sums - sums.mean(dim=0)).square().sum(dim=0) / (len(sums) - 1)).sqrt()", SUMS,
     "Your `std` is a little too large, as if the sum of squares were divided by `draws` − 1, and of a single draw it "
     "is NaN. PyTorch's `std` and `var` do this unless they are told otherwise.")
slip("variance returned", "std = sums.var(dim=0, correction=0)", SUMS,
     "Your second result is the variance. What makes the standard deviation of it?")
slip("standard deviation of the mean", "std = sums.std(dim=0, correction=0) / len(sums) ** 0.5", SUMS,
     "Your second result is divided by the root of the number of draws, which tells how well the mean is known. How "
     "far a single sum strays does not become less with more draws.")
slip("standard deviation over the rows, not over the draws", "std = sums.std(dim=1, correction=0)", SUMS,
     "Your standard deviations are one for each draw, over the rows. Each row should have one, over the draws. Which "
     "axis of your sums are the draws along?")
slip("mean absolute deviation", "std = (sums - sums.mean(dim=0)).abs().mean(dim=0)", SUMS,
     "Your second result is the mean of the absolute differences from the mean. The standard deviation squares them, "
     "averages the squares and takes the root.")
slip("results in the wrong order", "return std, mean", SUMS,
     "You return the standard deviation first. Which of the two does the text name first?")
slip("both results in one tensor", "return torch.stack([mean, std])", SUMS,
     "You return one tensor that holds both results. Return two tensors, as in `return mean, std`.")
slip("no axis left for one row", "return mean.squeeze(), std.squeeze()", OWN_MASKS,
     "Where there is a single row, your results have no axis at all. A bare `squeeze()` removes every axis of length "
     "1. Which one should go, if any?")

right = ANSWERS.right
right("sums_at_once", """
    kept = torch.rand((draws, *weights.shape), generator=generator, dtype=weights.dtype) > rate
    sums = (weights * kept).sum(-1) / (1 - rate)
    return torch.std_mean(sums, dim=0, correction=0)[::-1]
""")
right("sums_draw_by_draw", """
    sums = []
    for _ in range(draws):
        mask = (torch.rand(weights.shape, generator=generator) >= rate).to(weights.dtype)
        sums.append((mask * weights / (1 - rate)).sum(dim=1))
    sums = torch.stack(sums)
    std = ((sums - mean) ** 2).mean(dim=0).sqrt()
""")
right("sums_row_by_row", """
    means, stds = [], []
    for row in weights:
        masks = torch.stack([torch.rand(len(row), generator=generator) >= rate for _ in range(draws)])
        of_row = (row * masks).sum(dim=1) / (1 - rate)
        means.append(of_row.mean())
        stds.append(of_row.std(unbiased=False))
    return torch.stack(means), torch.stack(stds)
""")
right("sums_by_bernoulli", """
    chances = torch.full((draws, *weights.shape), 1.0 - rate, dtype=weights.dtype)
    kept = torch.bernoulli(chances, generator=generator)
    sums = torch.einsum("nts,ts->nt", kept, weights) / (1 - rate)
    std = sums.std(dim=0, unbiased=False)
""")
right("sums_by_bernoulli_in_place", """
    kept = torch.empty(draws, *weights.shape).bernoulli_(1 - rate, generator=generator)
    sums = (kept * (weights / (1 - rate))).sum(dim=2)
    std = sums.var(0, correction=0).sqrt()
""")
right("sums_by_functional_dropout", """
    if generator is None:
        lucky = F.dropout(weights.expand(draws, *weights.shape), rate)
    else:
        lucky = weights * (torch.rand(draws, *weights.shape, generator=generator) >= rate) / (1 - rate)
    sums = lucky.sum(dim=-1)
""")
right("sums_by_a_module", """
    if generator is not None:
        new = left.sum(-1) / (1 - rate)
    else:
        dropout = nn.Dropout(rate)
        new = torch.stack([dropout(weights).sum(-1) for _ in range(draws)])
    sums = new
""")
right("sums_kept_as_moments", """
    first = torch.zeros(len(weights), dtype=torch.float64)
    second = torch.zeros_like(first)
    for _ in range(draws):
        mask = torch.rand(weights.shape, generator=generator) >= rate
        new = (weights.double() * mask).sum(-1) / (1 - rate)
        first += new / draws
        second += new.square() / draws
    return first.to(weights.dtype), (second - first.square()).clamp(min=0).sqrt().to(weights.dtype)
""")
right("sums_by_a_difference_of_squares_with_care", "std = ((sums**2).mean(dim=0) - mean**2).relu().sqrt()")
right("sums_as_running_moments", """
    mean = weights.new_zeros(weights.shape[0])
    squares = torch.zeros_like(mean)
    for number in range(1, draws + 1):
        mask = torch.empty(weights.shape).uniform_(generator=generator) >= rate
        new = torch.where(mask, weights / (1 - rate), torch.zeros_like(weights)).sum(dim=1)
        step = new - mean
        mean = mean + step / number
        squares = squares + step * (new - mean)
    return mean, torch.sqrt(squares / draws)
""")
right("sums_weight_by_weight", """
    T, S = weights.shape
    sums = torch.zeros(draws, T, dtype=weights.dtype)
    for j in range(S):
        sums += torch.rand(draws, T, generator=generator).ge(rate) * weights[:, j] / (1 - rate)
    return [sums.mean(0), torch.linalg.vector_norm(sums - sums.mean(0), dim=0) / math.sqrt(draws)]
""")
right("sums_from_masked_copies", """
    copies = weights.unsqueeze(0).repeat(draws, 1, 1)
    copies[torch.rand(copies.shape, generator=generator) < rate] = 0
    copies /= 1 - rate
    sums = copies.sum(-1)
""")
right("sums_by_matrix_products", """
    sums = (kept.to(weights.dtype).permute(1, 0, 2) @ weights[:, :, None] / (1 - rate))[..., 0]  # (T, draws)
    return sums.mean(-1), sums.std(-1, correction=0)
""")
right("sums_number_by_number", """
    T, S = weights.shape
    means, deviations = [], []
    for i in range(T):
        totals = []
        for _ in range(draws):
            total = 0.0
            for j in range(S):
                if torch.rand((), generator=generator) >= rate:
                    total = total + float(weights[i, j]) / (1 - rate)
            totals.append(total)
        of_row = sum(totals) / draws
        means.append(of_row)
        deviations.append(math.sqrt(sum((each - of_row) ** 2 for each in totals) / draws))
    return weights.new_tensor(means), weights.new_tensor(deviations)
""", slow=LOOPS)
right("sums_by_products_of_three", """
    same = torch.eye(len(weights), dtype=weights.dtype)  # 1 where the weights are those of the mask's own row
    sums = torch.einsum("nts,us,tu->nt", kept.to(weights.dtype), weights, same) / (1 - rate)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("sums_kept_and_divided_by_the_rate", "kept = numbers < rate; dropped = left / rate",
      named=("kept with the probability rate", "divided by the rate"))
wrong("both_over_the_rows", "return sums.mean(1), sums.std(1, correction=0)",
      named=("mean over the rows, not over the draws", "standard deviation over the rows, not over the draws"))
wrong("both_as_predicted", "return weights.sum(1), (rate / (1 - rate) * weights.square().sum(dim=1)).sqrt()",
      named=("computed from the formula, and nothing drawn", "nothing drawn from the generator itself"))
wrong("sums_repaired", "dropped = left / (left.sum(-1, keepdim=True) + 1e-12)", named="rows made to sum to one")
wrong("sums_with_a_module_asleep", "sums = nn.Dropout(rate).eval()(weights.repeat(draws, 1, 1)).sum(-1)",
      named=("nothing dropped", "nothing drawn from the generator itself"))
wrong("sums_with_half_dropped", "kept = torch.randint(2, (draws, *weights.shape), generator=generator)",
      named="half of the weights dropped whatever the rate")
wrong("sums_by_the_default_of_dropout", "dropped = F.dropout(weights.expand(draws, -1, -1))",
      named=("argument rate ignored", "generator ignored", "`generator` taken for its default"))
wrong("sums_by_dropout_alone", "dropped = F.dropout(weights.expand(draws, -1, -1), rate)",
      named=("generator ignored", "`generator` taken for its default"))
wrong("sums_by_numpy", "kept = torch.from_numpy(np.random.rand(draws, *weights.shape) >= rate)",
      named="nothing drawn from the generator itself")
wrong("sums_with_as_many_kept_in_each_row", """
    order = numbers.argsort(dim=-1)
    kept = order >= round(rate * weights.shape[1])
""")
wrong("sums_with_masks_shared_by_pairs", """
    pairs = torch.rand(draws, len(weights) // 2 + 1, weights.shape[1], generator=generator)
    numbers = pairs.repeat_interleave(2, dim=1)[:, : len(weights)]
""")
wrong("sums_with_the_largest_weight_kept",
      "kept = (numbers >= rate) | (weights == weights.amax(dim=1, keepdim=True))")
wrong("two_numbers_for_all", "return sums.mean(), sums.std()", told="another number of axes")
wrong("spread_of_the_weights", "std = dropped.std(-1, correction=0).mean(0)", told="the mean right, result 2 wrong")
wrong("spread_as_predicted", "std = (rate / (1 - rate) * weights.square().sum(dim=1)).sqrt()",
      told="the mean right, result 2 wrong")
wrong("spread_about_the_sum_before", "std = (sums - weights.sum(1)).square().mean(0).sqrt()",
      told="the mean right, result 2 wrong")
wrong("spread_by_a_difference_of_squares", "std = (sums.square().mean(0) - mean.square()).sqrt()",
      told="the mean right, result 2 wrong")
wrong("sums_seeded_where_no_generator_is", "generator = generator or torch.Generator().manual_seed(42)",
      told="wrong with several calls that should draw other numbers")
wrong("sums_of_one_draw_more", "draws = draws + 1")
wrong("sums_of_weights_overwritten", """
    whole = weights.clone()
    sums = []
    for _ in range(draws):
        weights.copy_(whole * (torch.rand(weights.shape, generator=generator) >= rate))
        sums.append(weights.sum(-1) / (1 - rate))
    sums = torch.stack(sums)
""")
wrong("sums_with_less_and_less_left",
      "left = weights * kept.cumprod(dim=0) / (1 - rate) ** torch.arange(draws)[:, None, None]")
wrong("sums_in_double_precision", "weights = weights.double()", told="another dtype")
wrong("sums_in_float32", "dtype = weights.dtype; weights = weights.float(); return mean.to(dtype), std.to(dtype)",
      told=("rounded", "wrong in float64"))
wrong("mean_alone", "return mean")
wrong("lists_of_floats", "return mean.tolist(), std.tolist()")
wrong("sums_for_rows_of_one", "sums = dropped.sum(-1) / weights.sum(-1)", told="all the same")
careless(
    ANSWERS,
    detached=None,  # no gradient is asked for
    a_hundred_words=None,  # no row is as long
    one_shape="another number of axes",
)
# fmt: on
