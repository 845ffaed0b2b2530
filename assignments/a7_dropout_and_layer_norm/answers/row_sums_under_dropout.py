"""Answers to `row_sums_under_dropout`."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from assignments.a7_dropout_and_layer_norm.answers.bank import BANK

PART = "row_sums_under_dropout"


def masks(weights, rate, draws, generator):
    return torch.rand(draws, *weights.shape, generator=generator) >= rate


def told(sums):
    return sums.mean(0), sums.var(0, correction=0).sqrt()


# ------------------------------------------------------------------------------------- right


@BANK.right(PART)
def sums_at_once(weights, rate, draws, generator=None):
    kept = torch.rand((draws, *weights.shape), generator=generator, dtype=weights.dtype) > rate
    std, mean = torch.std_mean((weights * kept).sum(-1) / (1 - rate), dim=0, correction=0)
    return mean, std


@BANK.right(PART)
def sums_draw_by_draw(weights, rate, draws, generator=None):
    sums = []
    for _ in range(draws):
        mask = (torch.rand(weights.shape, generator=generator) >= rate).to(weights.dtype)
        sums.append((mask * weights / (1 - rate)).sum(dim=1))
    sums = torch.stack(sums)
    mean = sums.mean(dim=0)
    return mean, ((sums - mean) ** 2).mean(dim=0).sqrt()


@BANK.right(PART)
def sums_row_by_row(weights, rate, draws, generator=None):
    means, stds = [], []
    for row in weights:
        dropped = torch.stack(
            [row * (torch.rand(len(row), generator=generator) >= rate) for _ in range(draws)]
        )
        sums = dropped.sum(dim=1) / (1 - rate)
        means.append(sums.mean())
        stds.append(sums.std(unbiased=False))
    return torch.stack(means), torch.stack(stds)


@BANK.right(PART)
def sums_by_bernoulli(weights, rate, draws, generator=None):
    chances = torch.full((draws, *weights.shape), 1.0 - rate, dtype=weights.dtype)
    kept = torch.bernoulli(chances, generator=generator)
    sums = torch.einsum("nts,ts->nt", kept, weights) / (1 - rate)
    return sums.mean(dim=0), sums.std(dim=0, unbiased=False)


@BANK.right(PART)
def sums_by_bernoulli_in_place(weights, rate, draws, generator=None):
    kept = torch.empty(draws, *weights.shape).bernoulli_(1 - rate, generator=generator)
    return told((kept * (weights / (1 - rate))).sum(dim=2))


@BANK.right(PART)
def sums_by_functional_dropout(weights, rate, draws, generator=None):
    if generator is None:
        dropped = F.dropout(weights.expand(draws, *weights.shape), rate)
    else:
        dropped = weights * masks(weights, rate, draws, generator) / (1 - rate)
    return told(dropped.sum(dim=-1))


@BANK.right(PART)
def sums_by_a_module(weights, rate, draws, generator=None):
    if generator is not None:
        return sums_at_once(weights, rate, draws, generator)
    dropout = nn.Dropout(rate)
    return told(torch.stack([dropout(weights).sum(-1) for _ in range(draws)]))


@BANK.right(PART)
def sums_kept_as_moments(weights, rate, draws, generator=None):
    first = torch.zeros(len(weights), dtype=torch.float64)
    second = torch.zeros_like(first)
    for _ in range(draws):
        kept = torch.rand(weights.shape, generator=generator) >= rate
        sums = (weights.double() * kept).sum(-1) / (1 - rate)
        first += sums / draws
        second += sums.square() / draws
    std = (second - first.square()).clamp(min=0).sqrt()
    return first.to(weights.dtype), std.to(weights.dtype)


@BANK.right(PART)
def sums_by_a_difference_of_squares_with_care(weights, rate, draws, generator=None):
    sums = (weights * masks(weights, rate, draws, generator)).sum(dim=-1) / (1 - rate)
    mean = sums.mean(dim=0)
    return mean, ((sums**2).mean(dim=0) - mean**2).relu().sqrt()


@BANK.right(PART)
def sums_as_running_moments(weights, rate, draws, generator=None):
    mean = weights.new_zeros(weights.shape[0])
    squares = torch.zeros_like(mean)
    for number in range(1, draws + 1):
        kept = torch.empty(weights.shape).uniform_(generator=generator) >= rate
        new = torch.where(kept, weights / (1 - rate), torch.zeros_like(weights)).sum(dim=1)
        step = new - mean
        mean = mean + step / number
        squares = squares + step * (new - mean)
    return mean, torch.sqrt(squares / draws)


@BANK.right(PART)
def sums_weight_by_weight(weights, rate, draws, generator=None):
    T, S = weights.shape
    sums = torch.zeros(draws, T, dtype=weights.dtype)
    for j in range(S):
        kept = torch.rand(draws, T, generator=generator).ge(rate)
        sums += kept * weights[:, j] / (1 - rate)
    return [sums.mean(0), torch.linalg.vector_norm(sums - sums.mean(0), dim=0) / math.sqrt(draws)]


@BANK.right(PART)
def sums_from_masked_copies(weights, rate, draws, generator=None):
    copies = weights.unsqueeze(0).repeat(draws, 1, 1)
    copies[torch.rand(copies.shape, generator=generator) < rate] = 0
    copies /= 1 - rate
    return told(copies.sum(-1))


@BANK.right(PART)
def sums_by_matrix_products(weights, rate, draws, generator=None):
    kept = masks(weights, rate, draws, generator).to(weights.dtype)
    sums = (kept.permute(1, 0, 2) @ weights[:, :, None] / (1 - rate))[..., 0]  # (T, draws)
    return sums.mean(-1), sums.std(-1, correction=0)


# ------------------------------------------------------------------------------------- wrong


@BANK.wrong(PART, named="not divided by 1 − rate")
def sums_of_bare_masks(weights, rate, draws, generator=None):
    return told((weights * masks(weights, rate, draws, generator)).sum(-1))


@BANK.wrong(PART, named="not divided by 1 − rate")
def sums_of_bernoulli_masks(weights, rate, draws, generator=None):
    chances = torch.full((draws, *weights.shape), 1.0 - rate)
    return told((weights * torch.bernoulli(chances, generator=generator)).sum(-1))


@BANK.wrong(PART, named="kept with the probability rate")
def sums_of_what_should_go(weights, rate, draws, generator=None):
    kept = torch.rand(draws, *weights.shape, generator=generator) <= rate
    return told((weights * kept / (1 - rate)).sum(-1))


@BANK.wrong(PART, named=("kept with the probability rate", "divided by the rate"))
def sums_kept_and_divided_by_the_rate(weights, rate, draws, generator=None):
    chances = torch.full((draws, *weights.shape), rate)
    kept = torch.bernoulli(chances, generator=generator)
    return told((weights * kept / rate).sum(-1))


@BANK.wrong(PART, named="divided by the rate")
def sums_divided_by_what_is_lost(weights, rate, draws, generator=None):
    return told((weights * masks(weights, rate, draws, generator)).sum(-1) / rate)


@BANK.wrong(PART, named="one mask for all draws")
def sums_of_one_mask(weights, rate, draws, generator=None):
    mask = torch.rand(weights.shape, generator=generator) >= rate
    return told(torch.stack([(weights * mask / (1 - rate)).sum(-1) for _ in range(draws)]))


@BANK.wrong(PART, named="one mask for all draws")
def sums_dropped_once(weights, rate, draws, generator=None):
    mask = torch.empty(weights.shape).bernoulli_(1 - rate, generator=generator)
    mean = (weights * mask).sum(1) / (1 - rate)
    return mean, torch.zeros_like(mean)


@BANK.wrong(PART, named="one mask for all rows")
def sums_with_columns_dropped(weights, rate, draws, generator=None):
    mask = torch.rand(draws, 1, weights.shape[-1], generator=generator) >= rate
    return told((weights * mask / (1 - rate)).sum(-1))


@BANK.wrong(PART, named="one mask for all rows")
def sums_with_a_mask_a_draw(weights, rate, draws, generator=None):
    sums = []
    for _ in range(draws):
        mask = torch.bernoulli(torch.full(weights[0].shape, 1 - rate), generator=generator)
        sums.append(weights @ mask.to(weights.dtype) / (1 - rate))
    return told(torch.stack(sums))


@BANK.wrong(PART, named="whole rows dropped")
def sums_with_whole_rows_dropped(weights, rate, draws, generator=None):
    mask = torch.rand(draws, weights.shape[0], generator=generator) >= rate
    return told(mask * weights.sum(dim=1) / (1 - rate))


@BANK.wrong(PART)
def sums_with_as_many_kept_in_each_row(weights, rate, draws, generator=None):
    T, S = weights.shape
    order = torch.rand(draws, T, S, generator=generator).argsort(dim=-1)
    kept = order >= round(rate * S)
    return told((weights * kept / (1 - rate)).sum(-1))


@BANK.wrong(PART)
def sums_with_masks_shared_by_pairs(weights, rate, draws, generator=None):
    T = len(weights)
    numbers = torch.rand(draws, T // 2 + 1, weights.shape[1], generator=generator)
    kept = numbers.repeat_interleave(2, dim=1)[:, :T] >= rate
    return told((weights * kept / (1 - rate)).sum(-1))


@BANK.wrong(PART)
def sums_with_the_largest_weight_kept(weights, rate, draws, generator=None):
    kept = masks(weights, rate, draws, generator)
    kept = kept | (weights == weights.amax(dim=1, keepdim=True))
    return told((weights * kept / (1 - rate)).sum(-1))


@BANK.wrong(PART, named="columns summed")
def sums_of_columns(weights, rate, draws, generator=None):
    kept = masks(weights, rate, draws, generator)
    return told((weights * kept / (1 - rate)).sum(1))


@BANK.wrong(PART, named="mean of a row in place of its sum")
def means_for_sums(weights, rate, draws, generator=None):
    kept = masks(weights, rate, draws, generator)
    return told((weights * kept / (1 - rate)).mean(-1))


@BANK.wrong(PART, named="mean over the rows as well")
def one_mean_for_all(weights, rate, draws, generator=None):
    sums = (weights * masks(weights, rate, draws, generator) / (1 - rate)).sum(-1)
    return sums.mean(), sums.std(0, correction=0)


@BANK.wrong(PART, told="another number of axes")
def two_numbers_for_all(weights, rate, draws, generator=None):
    sums = (weights * masks(weights, rate, draws, generator) / (1 - rate)).sum(-1)
    return sums.mean(), sums.std()


@BANK.wrong(
    PART,
    named=(
        "mean over the rows, not over the draws",
        "standard deviation over the rows, not over the draws",
    ),
)
def both_over_the_rows(weights, rate, draws, generator=None):
    sums = (weights * masks(weights, rate, draws, generator) / (1 - rate)).sum(-1)
    return sums.mean(1), sums.std(1, correction=0)


@BANK.wrong(PART, told="the mean right, result 2 wrong")
def spread_of_the_weights(weights, rate, draws, generator=None):
    dropped = weights * masks(weights, rate, draws, generator) / (1 - rate)
    return dropped.sum(-1).mean(0), dropped.std(-1, correction=0).mean(0)


@BANK.wrong(PART, named="unbiased standard deviation")
def sums_with_torchs_std(weights, rate, draws, generator=None):
    sums = (weights * masks(weights, rate, draws, generator) / (1 - rate)).sum(-1)
    mean = sums.mean(0)
    return mean, ((sums - mean).square().sum(0) / (draws - 1)).sqrt()


@BANK.wrong(PART, named="variance returned")
def sums_with_their_variance(weights, rate, draws, generator=None):
    sums = (weights * masks(weights, rate, draws, generator) / (1 - rate)).sum(-1)
    return sums.mean(0), (sums - sums.mean(0)).square().mean(0)


@BANK.wrong(PART, named="standard deviation of the mean")
def sums_with_the_error_of_their_mean(weights, rate, draws, generator=None):
    mean, std = sums_at_once(weights, rate, draws, generator)
    return mean, std / math.sqrt(draws)


@BANK.wrong(PART)
def spread_as_predicted(weights, rate, draws, generator=None):
    mean, _ = sums_at_once(weights, rate, draws, generator)
    return mean, (rate / (1 - rate) * weights.square().sum(dim=1)).sqrt()


@BANK.wrong(
    PART,
    named=(
        "computed from the formula, and nothing drawn",
        "nothing drawn from the generator itself",
    ),
)
def both_as_predicted(weights, rate, draws, generator=None):
    return weights.sum(1), (rate / (1 - rate) * weights.square().sum(dim=1)).sqrt()


@BANK.wrong(PART, told="the mean right, result 2 wrong")
def spread_about_the_sum_before(weights, rate, draws, generator=None):
    sums = (weights * masks(weights, rate, draws, generator) / (1 - rate)).sum(-1)
    return sums.mean(0), (sums - weights.sum(1)).square().mean(0).sqrt()


@BANK.wrong(PART, told="the mean right, result 2 wrong")
def spread_by_a_difference_of_squares(weights, rate, draws, generator=None):
    sums = (weights * masks(weights, rate, draws, generator) / (1 - rate)).sum(-1)
    return sums.mean(0), (sums.square().mean(0) - sums.mean(0).square()).sqrt()


@BANK.wrong(PART, named="rows made to sum to one")
def sums_repaired(weights, rate, draws, generator=None):
    kept = weights * masks(weights, rate, draws, generator)
    return told((kept / (kept.sum(-1, keepdim=True) + 1e-12)).sum(-1))


@BANK.wrong(PART, named="nothing dropped")
def sums_with_dropout_asleep(weights, rate, draws, generator=None):
    torch.rand(draws, *weights.shape, generator=generator)
    return told(F.dropout(weights.expand(draws, -1, -1), rate, training=False).sum(-1))


@BANK.wrong(PART, named=("nothing dropped", "nothing drawn from the generator itself"))
def sums_with_a_module_asleep(weights, rate, draws, generator=None):
    return told(nn.Dropout(rate).eval()(weights.repeat(draws, 1, 1)).sum(-1))


@BANK.wrong(PART, named="half of the weights dropped whatever the rate")
def sums_with_half_dropped(weights, rate, draws, generator=None):
    kept = torch.randint(2, (draws, *weights.shape), generator=generator)
    return told((weights * kept / (1 - rate)).sum(-1))


@BANK.wrong(
    PART, named=("argument rate ignored", "generator ignored", "`generator` taken for its default")
)
def sums_by_the_default_of_dropout(weights, rate, draws, generator=None):
    return told(F.dropout(weights.expand(draws, -1, -1)).sum(-1))


@BANK.wrong(PART, named=("generator ignored", "`generator` taken for its default"))
def sums_by_dropout_alone(weights, rate, draws, generator=None):
    return told(F.dropout(weights.expand(draws, -1, -1), rate).sum(-1))


@BANK.wrong(PART, named=("seeded anew", "generator ignored", "`generator` taken for its default"))
def sums_with_a_seed_inside(weights, rate, draws, generator=None):
    torch.manual_seed(0)
    return sums_at_once(weights, rate, draws)


@BANK.wrong(PART, named=("generator ignored", "`generator` taken for its default"))
def sums_seeded_with_the_generators_seed(weights, rate, draws, generator=None):
    if generator is not None:
        torch.manual_seed(generator.initial_seed())
    return told(F.dropout(weights.expand(draws, -1, -1), rate).sum(-1))


@BANK.wrong(PART, told="wrong with several calls that should draw other numbers")
def sums_seeded_where_no_generator_is(weights, rate, draws, generator=None):
    return sums_at_once(weights, rate, draws, generator or torch.Generator().manual_seed(42))


@BANK.wrong(PART, named="nothing drawn from the generator itself")
def sums_from_a_copy(weights, rate, draws, generator=None):
    if generator is not None:
        generator = torch.Generator().manual_seed(generator.initial_seed())
    return sums_at_once(weights, rate, draws, generator)


@BANK.wrong(PART, named="nothing drawn from the generator itself")
def sums_by_numpy(weights, rate, draws, generator=None):
    kept = np.random.rand(draws, *weights.shape) >= rate
    return told((weights * torch.from_numpy(kept) / (1 - rate)).sum(-1))


@BANK.wrong(PART, named="argument draws ignored")
def sums_of_a_thousand_draws(weights, rate, draws, generator=None):
    return sums_at_once(weights, rate, 1000, generator)


@BANK.wrong(PART)
def sums_of_one_draw_more(weights, rate, draws, generator=None):
    return sums_at_once(weights, rate, draws + 1, generator)


@BANK.wrong(PART)
def sums_of_weights_overwritten(weights, rate, draws, generator=None):
    sums = []
    whole = weights.clone()
    for _ in range(draws):
        weights.copy_(whole * (torch.rand(weights.shape, generator=generator) >= rate))
        sums.append(weights.sum(-1) / (1 - rate))
    return told(torch.stack(sums))


@BANK.wrong(PART)
def sums_with_less_and_less_left(weights, rate, draws, generator=None):
    sums = []
    for _ in range(draws):
        weights = weights * (torch.rand(weights.shape, generator=generator) >= rate) / (1 - rate)
        sums.append(weights.sum(-1))
    return told(torch.stack(sums))


@BANK.wrong(PART, told=("another dtype", "wrong in float64"))
def sums_in_single_precision(weights, rate, draws, generator=None):
    return sums_at_once(weights.float(), rate, draws, generator)


@BANK.wrong(PART)
def sums_in_double_precision(weights, rate, draws, generator=None):
    return sums_at_once(weights.double(), rate, draws, generator)


@BANK.wrong(PART, told=("stops with RuntimeError", "wrong with gaps in memory"))
def sums_of_a_view(weights, rate, draws, generator=None):
    T, S = weights.shape
    flat = weights.view(T * S)
    kept = torch.rand(draws, T * S, generator=generator) >= rate
    return told((flat * kept / (1 - rate)).view(draws, T, S).sum(-1))


@BANK.wrong(PART, named="results in the wrong order")
def spread_first(weights, rate, draws, generator=None):
    return torch.std_mean(
        (weights * masks(weights, rate, draws, generator) / (1 - rate)).sum(-1), 0, correction=0
    )


@BANK.wrong(PART)
def mean_alone(weights, rate, draws, generator=None):
    return sums_at_once(weights, rate, draws, generator)[0]


@BANK.wrong(PART)
def lists_of_floats(weights, rate, draws, generator=None):
    return tuple(one.tolist() for one in sums_at_once(weights, rate, draws, generator))


@BANK.wrong(PART, named="no axis left for one row")
def sums_squeezed(weights, rate, draws, generator=None):
    mean, std = sums_at_once(weights, rate, draws, generator)
    return torch.squeeze(mean), torch.squeeze(std)


@BANK.wrong(PART, told="all the same")
def sums_for_rows_of_one(weights, rate, draws, generator=None):
    kept = weights * masks(weights, rate, draws, generator) / (1 - rate)
    return told(kept.sum(-1) / weights.sum(-1))
