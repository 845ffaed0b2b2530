"""Answers to `sample_next`."""

import math

import torch
from torch.nn import functional as F

from assignments.a10_language_models.answers.bank import BANK

PART = "sample_next"


def check(temperature, top_k, top_p):
    if temperature < 0:
        raise ValueError("the temperature is negative")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k is below 1")
    if top_p is not None and (top_p <= 0 or top_p > 1):
        raise ValueError("top_p is not above 0 and at most 1")


def keep_best(logits, top_k):
    if top_k is None or top_k >= logits.shape[-1]:
        return logits
    least = torch.topk(logits, top_k).values[..., -1, None]
    return torch.where(logits < least, -math.inf, logits)


def keep_nucleus(chances, top_p):
    if top_p is None:
        return chances
    falling, order = torch.sort(chances, descending=True)
    before = falling.cumsum(-1) - falling
    return torch.zeros_like(chances).scatter(-1, order, falling * (before < top_p))


def distribution(logits, temperature, top_k, top_p):
    return keep_nucleus(keep_best(logits / temperature, top_k).softmax(-1), top_p)


def draw(chances, generator):
    return torch.multinomial(chances, 1, generator=generator)[:, 0]


# ------------------------------------------------------------------------------------- right


@BANK.right(PART)
def drawn_by_gumbel(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    chances = distribution(logits, temperature, top_k, top_p)
    noise = torch.empty_like(chances).exponential_(generator=generator)
    return (chances / noise).argmax(-1)


@BANK.right(PART)
def drawn_by_the_inverse(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return torch.max(logits, dim=-1).indices
    sums = distribution(logits.double(), temperature, top_k, top_p).cumsum(-1)
    number = torch.rand(len(logits), 1, generator=generator, dtype=torch.float64)
    return torch.searchsorted(sums, number * sums[:, -1:], right=True).squeeze(-1)


@BANK.right(PART)
def drawn_among_sorted_words(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    values, order = logits.sort(dim=-1, descending=True)
    if temperature == 0:
        return order[:, 0]
    if top_k is not None:
        values, order = values[:, :top_k], order[:, :top_k]
    chances = (values / temperature).softmax(-1)
    if top_p is not None:
        chances = chances.masked_fill(chances.cumsum(-1) - chances >= top_p, 0)
    place = torch.multinomial(chances, 1, generator=generator)
    return order.gather(1, place).squeeze(1)


@BANK.right(PART)
def drawn_row_by_row(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return torch.stack([row.argmax() for row in logits])
    kinds = {}
    for place, row in enumerate(logits):
        kinds.setdefault(tuple(row.tolist()), []).append(place)
    ids = torch.empty(len(logits), dtype=torch.int64)
    for row, places in kinds.items():
        chances = distribution(torch.tensor([row], dtype=torch.float64), temperature, top_k, top_p)
        ids[places] = torch.multinomial(chances[0], len(places), True, generator=generator)
    return ids


@BANK.right(PART)
def drawn_with_removed_sorted_indices(
    logits, temperature=1.0, top_k=None, top_p=None, generator=None
):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(dim=1)
    logits = keep_best(logits.div(temperature), top_k)
    if top_p is not None:
        values, order = torch.sort(logits, descending=True)
        remove = values.softmax(-1).cumsum(-1) >= top_p
        remove[:, 1:] = remove[:, :-1].clone()
        remove[:, 0] = False
        logits = logits.masked_fill(remove.scatter(1, order, remove), -torch.inf)
    return torch.multinomial(F.softmax(logits, dim=-1), num_samples=1, generator=generator).view(-1)


@BANK.right(PART)
def drawn_by_the_rising_sums(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    chances = keep_best(logits / temperature, top_k).softmax(-1)
    if top_p is not None and top_p < 1:
        rising, order = chances.sort(dim=-1)
        cut = rising.cumsum(-1) <= 1 - top_p
        chances = chances.masked_fill(torch.zeros_like(cut).scatter(1, order, cut), 0.0)
    return draw(chances, generator)


@BANK.right(PART)
def drawn_from_the_largest_off(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    ranks = logits.argsort(-1, descending=True).argsort(-1)
    if temperature == 0:
        return (ranks == 0).int().argmax(-1)
    powers = ((logits - logits.amax(-1, keepdim=True)) / temperature).exp()
    if top_k is not None:
        powers = powers * (ranks < top_k)
    chances = powers / powers.sum(-1, keepdim=True)
    return draw(keep_nucleus(chances, top_p), generator)


@BANK.right(PART)
def drawn_among_the_words_of_topk(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    size = logits.shape[-1]
    best = logits.topk(size if top_k is None else min(size, top_k))
    if temperature == 0:
        return best.indices[:, 0]
    chances = torch.softmax(best.values / temperature, -1)
    likelier = F.pad(chances.cumsum(-1), (1, -1))
    if top_p is not None:
        chances = torch.where(likelier < top_p, chances, 0.0)
    place = torch.multinomial(chances, 1, generator=generator)
    return torch.take_along_dim(best.indices, place, 1).flatten()


# ------------------------------------------------------------------------------------- wrong


@BANK.wrong(PART, named="times the temperature")
def hotter_is_surer(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    return draw(distribution(logits, 1 / temperature, top_k, top_p), generator)


@BANK.wrong(PART, named="temperature unused")
def always_at_one(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    return draw(distribution(logits, 1.0, top_k, top_p), generator)


@BANK.wrong(PART, named="temperature unused")
def probabilities_divided(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    chances = keep_best(logits, top_k).softmax(-1)
    return draw(keep_nucleus(chances, top_p) / temperature, generator)


@BANK.wrong(PART, named="softmax twice")
def softmax_of_a_softmax(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    return draw(distribution((logits / temperature).softmax(-1), 1.0, top_k, top_p), generator)


@BANK.wrong(PART, named="temperature clamped")
def never_below_a_tenth(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    return draw(distribution(logits, max(temperature, 0.1), top_k, top_p), generator)


@BANK.wrong(PART, named="temperature clamped")
def a_tenth_at_temperature_0_too(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    return draw(distribution(logits, max(temperature, 0.1), top_k, top_p), generator)


def drawn_by_powers(powers, temperature, top_k, top_p, generator):
    if top_k is not None:
        least = powers.topk(min(top_k, powers.shape[-1])).values[:, -1:]
        powers = powers * (powers >= least)
    chances = powers / powers.sum(-1, keepdim=True)
    return draw(keep_nucleus(chances, top_p), generator)


@BANK.wrong(PART, named="exponentials that overflow")
def exponentials_as_they_are(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    powers = torch.exp(logits / temperature)
    return drawn_by_powers(powers, temperature, top_k, top_p, generator)


@BANK.wrong(PART, named="one maximum for all rows")
def the_largest_of_all_taken_off(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    powers = torch.exp((logits - logits.max()) / temperature)
    return drawn_by_powers(powers, temperature, top_k, top_p, generator)


@BANK.wrong(PART)
def at_most_fifty_words(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    best = logits.topk(min(50, logits.shape[-1] if top_k is None else top_k, logits.shape[-1]))
    place = draw(distribution(best.values, temperature, None, top_p), generator)
    return best.indices.gather(1, place[:, None])[:, 0]


@BANK.wrong(PART, named="filters before the temperature")
def filters_before_the_temperature(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    chances = distribution(logits, 1.0, top_k, top_p)
    return draw((chances.log() / temperature).softmax(-1), generator)


@BANK.wrong(PART, named="one word too few in top_k")
def not_above_the_kth(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    logits = logits / temperature
    if top_k is not None and top_k > 1:
        least = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        logits = logits.masked_fill(logits <= least, -math.inf)
    else:
        logits = keep_best(logits, top_k)
    return draw(keep_nucleus(logits.softmax(-1), top_p), generator)


@BANK.wrong(PART, named="one word too many in top_k")
def sorted_at_k(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    more = None if top_k is None else top_k + 1
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    return draw(distribution(logits, temperature, more, top_p), generator)


@BANK.wrong(PART, named="top_k larger than the vocabulary stops")
def topk_of_more_than_there_are(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    if top_k is not None:
        logits = logits.masked_fill(logits < logits.topk(top_k).values[:, [-1]], -math.inf)
    return draw(distribution(logits, temperature, None, top_p), generator)


@BANK.wrong(PART, named="one threshold for all rows")
def cut_by_the_first_row(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    if top_k is not None:
        least = logits[0].sort(descending=True).values[min(top_k, logits.shape[1]) - 1]
        logits = torch.where(logits < least, -math.inf, logits)
    return draw(distribution(logits, temperature, None, top_p), generator)


@BANK.wrong(PART, named="removed logits set to 0")
def zeros_for_removed(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    logits = logits / temperature
    if top_k is not None:
        logits = torch.where(keep_best(logits, top_k) == -math.inf, 0.0, logits)
    return draw(keep_nucleus(logits.softmax(-1), top_p), generator)


@BANK.wrong(PART, named="the word that crosses top_p left out")
def cumsum_up_to_top_p(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    chances = distribution(logits, temperature, top_k, None)
    if top_p is not None:
        falling, order = chances.sort(descending=True)
        keep = falling.cumsum(-1) <= top_p
        keep[:, 0] = True
        chances = torch.zeros_like(chances).scatter(-1, order, falling * keep)
    return draw(chances, generator)


@BANK.wrong(PART, named="an empty nucleus")
def nothing_for_a_sure_model(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    chances = distribution(logits, temperature, top_k, None)
    if top_p is not None:
        falling, order = chances.sort(descending=True)
        keep = (falling.cumsum(-1) <= top_p).scatter(-1, order, falling.cumsum(-1) <= top_p)
        chances = chances * keep
    return draw(chances, generator)


@BANK.wrong(PART, named="one word too many in the nucleus")
def one_more_than_reaches(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    chances = distribution(logits, temperature, top_k, None)
    if top_p is not None:
        falling, order = chances.sort(descending=True)
        keep = falling.cumsum(-1) < top_p
        keep = torch.cat([torch.ones_like(keep[:, :2]), keep[:, :-2]], -1)
        chances = torch.zeros_like(chances).scatter(-1, order, falling * keep)
    return draw(chances, generator)


@BANK.wrong(PART, named="not scattered back")
def sorted_cut_on_unsorted_words(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    chances = distribution(logits, temperature, top_k, None)
    if top_p is not None:
        falling = chances.sort(descending=True).values
        cut = falling.cumsum(-1) - falling >= top_p
        chances = torch.where(cut, 0.0, chances).clamp(min=1e-30)
    return draw(chances, generator)


@BANK.wrong(PART, named="rank taken for the word after top_p")
def place_among_the_sorted(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    chances = distribution(logits, temperature, top_k, None)
    if top_p is not None:
        falling = chances.sort(descending=True).values
        chances = falling * (falling.cumsum(-1) - falling < top_p)
    return draw(chances, generator)


@BANK.wrong(PART, named="rank taken for the word")
def place_among_the_best(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    if top_k is not None:
        logits = logits.topk(min(top_k, logits.shape[-1])).values
    return draw(distribution(logits, temperature, None, top_p), generator)


@BANK.wrong(PART, named="top_p summed over all words, also beside top_k")
def nucleus_before_the_best(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    chances = distribution(logits, temperature, None, top_p)
    return draw(keep_best(chances.log(), top_k).softmax(-1), generator)


@BANK.wrong(PART, named="not sorted")
def summed_as_they_stand(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    chances = distribution(logits, temperature, top_k, None)
    if top_p is not None:
        chances = chances * (chances.cumsum(-1) - chances < top_p)
    return draw(chances, generator)


@BANK.wrong(PART, named="sorted upwards")
def unlikely_words_first(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    chances = distribution(logits, temperature, top_k, None)
    if top_p is not None:
        rising, order = chances.sort()
        keep = rising.cumsum(-1) - rising < top_p
        chances = torch.zeros_like(chances).scatter(-1, order, rising * keep)
    return draw(chances, generator)


@BANK.wrong(PART, named="generator ignored")
def generator_not_handed_on(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    return draw(distribution(logits, temperature, top_k, top_p), None)


@BANK.wrong(PART, named="nothing drawn from the generator itself")
def generator_cloned(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    if generator is not None:
        generator = generator.clone_state()
    return draw(distribution(logits, temperature, top_k, top_p), generator)


@BANK.wrong(PART, named="generator ignored")
def torch_seeded_with_the_generator(
    logits, temperature=1.0, top_k=None, top_p=None, generator=None
):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    if generator is not None:
        torch.manual_seed(generator.initial_seed())
    return draw(distribution(logits, temperature, top_k, top_p), None)


@BANK.wrong(PART, named="one draw for all rows")
def one_random_number(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    sums = distribution(logits, temperature, top_k, top_p).cumsum(-1)
    number = torch.rand((), generator=generator)
    return (sums / sums[:, -1:] <= number).sum(-1)


@BANK.wrong(PART, named="one draw spread over all rows")
def numbers_at_equal_distances(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    """One draw places all rows' numbers, so that each word comes as often as it should, and in a row."""
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    sums = distribution(logits.double(), temperature, top_k, top_p).cumsum(-1)
    first = torch.rand(1, generator=generator, dtype=torch.float64)
    numbers = ((torch.arange(len(logits)) + first) / len(logits)).unsqueeze(1)
    return (sums / sums[:, -1:] <= numbers).sum(-1)


@BANK.wrong(PART, named="the likeliest word in place of a draw")
def never_random(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    return logits.argmax(-1)


@BANK.wrong(PART, named="each word equally likely")
def uniform_among_what_is_left(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    left = distribution(logits, temperature, top_k, top_p) > 0
    return draw(left.float(), generator)


@BANK.wrong(PART, named="(B, 1) for (B,)")
def as_multinomial_gives_it(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    chances = distribution(logits, temperature, top_k, top_p)
    return torch.multinomial(chances, 1, generator=generator)


@BANK.wrong(PART, named="no axis left for one row")
def squeezed_to_nothing(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    chances = distribution(logits, temperature, top_k, top_p)
    return torch.multinomial(chances, 1, generator=generator).squeeze()


@BANK.wrong(PART, named="temperature 0 divides by zero")
def divided_by_nothing(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    return draw(distribution(logits, temperature, top_k, top_p), generator)


@BANK.wrong(PART)
def a_little_above_zero(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    return draw(distribution(logits, temperature + 0.3, top_k, top_p), generator)


@BANK.wrong(PART, told="wrong where an error is asked for")
def anything_goes(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    if temperature == 0:
        return logits.argmax(-1)
    if temperature < 0 or (top_k is not None and top_k < 1):
        return torch.zeros(len(logits), dtype=torch.int64)
    return draw(distribution(logits, temperature, top_k, top_p).clamp(min=1e-30), generator)


@BANK.wrong(PART, named="no check at temperature 0")
def checked_after_argmax(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    if temperature == 0:
        return logits.argmax(-1)
    check(temperature, top_k, top_p)
    return draw(distribution(logits, temperature, top_k, top_p), generator)


@BANK.wrong(PART, named="top_p not checked")
def nucleus_of_any_size(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, None)
    if temperature == 0:
        return logits.argmax(-1)
    chances = keep_best(logits / temperature, top_k).softmax(-1)
    if top_p is not None and 0 < top_p < 1:
        chances = keep_nucleus(chances, top_p)
    return draw(chances, generator)


@BANK.wrong(PART)
def infinities_made_finite(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    logits = torch.nan_to_num(logits, neginf=-3.0)
    if temperature == 0:
        return logits.argmax(-1)
    return draw(distribution(logits, temperature, top_k, top_p), generator)


@BANK.wrong(PART, told="another dtype")
def ids_of_32_bits(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    return drawn_by_gumbel(logits, temperature, top_k, top_p, generator).int()


@BANK.wrong(PART, named="one threshold for all rows")
def cut_at_the_lowest_threshold(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[1])).values[:, -1].min()
        logits = torch.where(logits < least, -math.inf, logits)
    return draw(distribution(logits, temperature, None, top_p), generator)


@BANK.right(PART)
def by_a_race_of_exponentials(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.max(dim=-1)[1]
    chances = distribution(logits, temperature, top_k, top_p)
    return (chances / torch.empty_like(chances).exponential_(generator=generator)).argmax(dim=-1)


@BANK.wrong(PART, named="removed logits set to a low number")
def with_a_low_number_for_what_is_removed(
    logits, temperature=1.0, top_k=None, top_p=None, generator=None
):
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    logits = logits / temperature
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        logits = torch.where(logits < least, -100.0, logits)
    return torch.multinomial(distribution(logits, 1.0, None, top_p), 1, generator=generator)[:, 0]


@BANK.wrong(PART, named="a small temperature for 0")
def with_a_small_temperature(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    check(temperature, top_k, top_p)
    chances = distribution(logits, max(temperature, 1e-3), top_k, top_p)
    return torch.multinomial(chances, 1, generator=generator)[:, 0]
