"""Answers to `mask_words`."""

import random

import numpy as np
import torch

from assignments.a10_language_models.answers.bank import BANK

PART = "mask_words"


def ordinary(token_ids, special_ids):
    return ~torch.isin(token_ids, torch.tensor(special_ids))


def hidden(token_ids, chosen, mask_id, vocab_size, generator):
    """Inputs: of the chosen tokens 80 % masks, 10 % random, the rest as it was."""
    fate = torch.rand(token_ids.shape, generator=generator)
    words = torch.randint(vocab_size, token_ids.shape, generator=generator)
    inputs = torch.where(chosen & (fate < 0.8), mask_id, token_ids)
    return torch.where(chosen & (fate > 0.9), words, inputs)


def choose(token_ids, special_ids, share, generator):
    return ordinary(token_ids, special_ids) & (
        torch.rand(token_ids.shape, generator=generator) < share
    )


# ------------------------------------------------------------------------------------- right


@BANK.right(PART)
def masked_by_bernoulli(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chances = torch.full(token_ids.shape, share)
    chances.masked_fill_(~ordinary(token_ids, special_ids), 0.0)
    chosen = torch.bernoulli(chances, generator=generator).bool()
    inputs, targets = token_ids.clone(), token_ids.clone()
    targets[~chosen] = -100
    replaced = (
        torch.bernoulli(torch.full(token_ids.shape, 0.8), generator=generator).bool() & chosen
    )
    inputs[replaced] = mask_id
    half = torch.bernoulli(torch.full(token_ids.shape, 0.5), generator=generator).bool()
    other = half & chosen & ~replaced
    inputs[other] = torch.randint(vocab_size, token_ids.shape, generator=generator)[other]
    return inputs, targets


@BANK.right(PART)
def masked_by_one_number(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    number = torch.rand(token_ids.shape, generator=generator) / share
    number[~ordinary(token_ids, special_ids)] = 2.0
    chosen = number < 1
    inputs = token_ids.masked_fill(number < 0.8, mask_id)
    words = torch.randint(0, vocab_size, token_ids.shape, generator=generator)
    inputs = torch.where((number >= 0.8) & (number < 0.9), words, inputs)
    return inputs, torch.where(chosen, token_ids, torch.tensor(-100))


@BANK.right(PART)
def masked_by_categories(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chances = torch.tensor([1 - share, 0.8 * share, 0.1 * share, 0.1 * share])
    fate = torch.multinomial(chances, token_ids.numel(), True, generator=generator)
    fate = fate.reshape(token_ids.shape)
    for one in special_ids:
        fate[token_ids == one] = 0
    words = (torch.rand(token_ids.shape, generator=generator) * vocab_size).long()
    inputs = token_ids.clone()
    inputs[fate == 1] = mask_id
    inputs[fate == 2] = words[fate == 2]
    return inputs, token_ids.masked_fill(fate == 0, -100)


@BANK.right(PART)
def masked_at_the_chosen_places(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, special_ids, share, generator)
    number = int(chosen.sum())
    fate = torch.rand(number, generator=generator)
    words = token_ids[chosen]
    new = torch.randint(vocab_size, (number,), generator=generator)
    words = torch.where(fate < 0.8, mask_id, torch.where(fate < 0.9, new, words))
    inputs, targets = token_ids.clone(), torch.full_like(token_ids, -100)
    inputs[chosen], targets[chosen] = words, token_ids[chosen]
    return inputs, targets


@BANK.right(PART)
def masked_without_special_random_words(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, special_ids, share, generator)
    usual = torch.tensor([word for word in range(vocab_size) if word not in special_ids])
    words = usual[torch.randint(len(usual), token_ids.shape, generator=generator)]
    fate = torch.rand(token_ids.shape, generator=generator)
    inputs = torch.where(chosen & (fate < 0.8), mask_id, token_ids)
    inputs = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), words, inputs)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.right(PART)
def masked_by_scatter(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    flat = token_ids.flatten()
    chosen = choose(flat, special_ids, share, generator)
    places = chosen.nonzero().squeeze(1)
    order = torch.rand(len(places), generator=generator)
    inputs = flat.scatter(0, places[order < 0.8], mask_id)
    some = places[order >= 0.9]
    new = torch.randint(vocab_size, some.shape, generator=generator)
    inputs = inputs.scatter(0, some, new)
    targets = torch.full_like(flat, -100).scatter(0, places, flat[places])
    return inputs.view_as(token_ids), targets.view_as(token_ids)


@BANK.right(PART)
def masked_by_comparing_with_each_special_id(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    special = sum((token_ids == one).long() for one in special_ids) > 0
    chosen = torch.empty(token_ids.shape).uniform_(generator=generator).lt(share) & ~special
    return [
        hidden(token_ids, chosen, mask_id, vocab_size, generator),
        token_ids * chosen + -100 * ~chosen,
    ]


@BANK.right(PART)
def masked_sentence_by_sentence(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    inputs, targets = [], []
    for row in token_ids:
        chosen = choose(row, special_ids, share, generator)
        inputs.append(hidden(row, chosen, mask_id, vocab_size, generator))
        targets.append(row.masked_fill(~chosen, -100))
    return torch.stack(inputs), torch.stack(targets)


# ------------------------------------------------------------------------------------- wrong


@BANK.wrong(PART, named="all chosen words masked")
def nothing_but_masks(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, share, generator)
    return torch.where(chosen, mask_id, token_ids), torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="80 % masked, 20 % random")
def none_stays(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, share, generator)
    words = torch.randint(vocab_size, token_ids.shape, generator=generator)
    masked = torch.rand(token_ids.shape, generator=generator) < 0.8
    changed = torch.where(masked, mask_id, words)
    return torch.where(chosen, changed, token_ids), torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="80 % masked, 20 % kept")
def no_random_words(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, share, generator)
    masked = chosen & (torch.rand(token_ids.shape, generator=generator) < 0.8)
    return token_ids.masked_fill(masked, mask_id), torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="a tenth of the rest")
def ten_percent_of_what_is_left(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, special_ids, share, generator)
    masked = chosen & (torch.rand(token_ids.shape, generator=generator) < 0.8)
    other = chosen & ~masked & (torch.rand(token_ids.shape, generator=generator) < 0.1)
    words = torch.randint(vocab_size, token_ids.shape, generator=generator)
    inputs = torch.where(other, words, token_ids.masked_fill(masked, mask_id))
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="masks overwritten")
def random_words_over_masks(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, special_ids, share, generator)
    inputs = token_ids.clone()
    inputs[chosen & (torch.rand(token_ids.shape, generator=generator) < 0.8)] = mask_id
    other = chosen & (torch.rand(token_ids.shape, generator=generator) < 0.1)
    inputs[other] = torch.randint(vocab_size, (int(other.sum()),), generator=generator)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="a tenth of the rest")
def masks_over_random_words(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, special_ids, share, generator)
    other = chosen & (torch.rand(token_ids.shape, generator=generator) < 0.1)
    words = torch.randint(vocab_size, token_ids.shape, generator=generator)
    inputs = torch.where(other, words, token_ids)
    masked = chosen & (torch.rand(token_ids.shape, generator=generator) < 0.8)
    return inputs.masked_fill(masked, mask_id), torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="kept words not asked for")
def only_what_changed(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, share, generator)
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, generator)
    return inputs, torch.where(inputs == token_ids, -100, token_ids)


@BANK.wrong(PART, named="only masks asked for")
def only_what_is_masked(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, share, generator)
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, generator)
    return inputs, torch.where(chosen & (inputs == mask_id), token_ids, -100)


@BANK.wrong(PART, named="targets everywhere")
def every_word_asked(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, share, generator)
    return hidden(token_ids, chosen, mask_id, vocab_size, generator), token_ids.clone()


@BANK.wrong(PART, named="targets turned round")
def the_unchosen_asked(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, share, generator)
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, generator)
    return inputs, torch.where(chosen, -100, token_ids)


@BANK.wrong(PART, named="0 in place of −100")
def zeros_where_nothing_is_asked(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, special_ids, share, generator)
    return hidden(token_ids, chosen, mask_id, vocab_size, generator), token_ids * chosen


@BANK.wrong(PART, named="targets taken after masking")
def labels_of_the_masked_text(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, special_ids, share, generator)
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, generator)
    targets = inputs.clone()
    targets[~chosen] = -100
    return inputs, targets


@BANK.wrong(PART, named="special tokens chosen")
def padding_hidden_too(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = torch.rand(token_ids.shape, generator=generator) < share
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, generator)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="only the first special id left out")
def one_special_id(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids[:1], share, generator)
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, generator)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="special ids taken for a range")
def all_ids_up_to_the_largest(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, tuple(range(max(special_ids) + 1)), share, generator)
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, generator)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="share fixed")
def fifteen_percent_always(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, 0.15, generator)
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, generator)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="the same places in every sentence")
def columns_hidden(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    column = torch.rand(token_ids.shape[1], generator=generator) < share
    chosen = column & ordinary(token_ids, special_ids)
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, generator)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="exactly the share chosen")
def exactly_so_many_of_all_places(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    places = ordinary(token_ids, special_ids).flatten().nonzero().squeeze(1)
    order = torch.randperm(len(places), generator=generator)
    chosen = torch.zeros(token_ids.numel(), dtype=torch.bool)
    chosen[places[order[: round(share * len(places))]]] = True
    chosen = chosen.view_as(token_ids)
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, generator)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="exactly the share chosen")
def exactly_so_many_of_each_sentence(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    number = torch.rand(token_ids.shape, generator=generator)
    number[~ordinary(token_ids, special_ids)] = 2.0
    few = (share * ordinary(token_ids, special_ids).sum(dim=1, keepdim=True)).round()
    chosen = number.argsort(dim=1).argsort(dim=1) < few
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, generator)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART)
def shuffled_and_cut(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    """Exactly so many of each sentence, special ones among them."""
    order = torch.rand(token_ids.shape, generator=generator).argsort(dim=1)
    chosen = (order < share * token_ids.shape[1]) & ordinary(token_ids, special_ids)
    chosen[:, 0] = chosen[:, 0] | chosen[:, 1] & ordinary(token_ids, special_ids)[:, 0]
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, generator).clamp(min=1)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="one fate for a whole sentence")
def a_fate_for_each_sentence(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, special_ids, share, generator)
    fate = torch.rand(len(token_ids), 1, generator=generator)
    words = torch.randint(vocab_size, token_ids.shape, generator=generator)
    inputs = torch.where(chosen & (fate < 0.8), mask_id, token_ids)
    inputs = torch.where(chosen & (fate >= 0.9), words, inputs)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="one random word for all places")
def one_word_everywhere(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, share, generator)
    fate = torch.rand(token_ids.shape, generator=generator)
    word = torch.randint(vocab_size, (), generator=generator)
    inputs = torch.where(chosen & (fate < 0.8), mask_id, token_ids)
    return torch.where(chosen & (fate >= 0.9), word, inputs), torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="the last id never drawn")
def up_to_the_last_but_one(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, share, generator)
    inputs = hidden(token_ids, chosen, mask_id, vocab_size - 1, generator)
    return inputs, torch.where(chosen, token_ids, -100)


def with_words(token_ids, chosen, mask_id, words, generator):
    fate = torch.rand(token_ids.shape, generator=generator)
    inputs = torch.where(chosen & (fate < 0.8), mask_id, token_ids)
    return torch.where(chosen & (fate >= 0.9), words, inputs), torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="only the first ids drawn")
def words_of_the_first_hundred(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, special_ids, share, generator)
    words = torch.randint(min(vocab_size, 100), token_ids.shape, generator=generator)
    return with_words(token_ids, chosen, mask_id, words, generator)


@BANK.wrong(PART, told="the targets right, the inputs wrong")
def words_near_the_one_that_stood_there(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, special_ids, share, generator)
    step = torch.randint(1, vocab_size // 2, token_ids.shape, generator=generator)
    return with_words(token_ids, chosen, mask_id, (token_ids + step) % vocab_size, generator)


@BANK.wrong(PART, told="the targets right, the inputs wrong")
def words_by_the_number_that_decides(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, special_ids, share, generator)
    fate = torch.rand(token_ids.shape, generator=generator)
    inputs = torch.where(chosen & (fate < 0.8), mask_id, token_ids)
    inputs = torch.where(chosen & (fate >= 0.9), (fate * vocab_size).long(), inputs)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="a fate that the word decides")
def even_ids_stay_and_odd_ones_are_replaced(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, special_ids, share, generator)
    words = torch.randint(vocab_size, token_ids.shape, generator=generator)
    replaced = torch.where(token_ids % 2 == 0, token_ids, words)
    masked = torch.rand(token_ids.shape, generator=generator) < 0.8
    inputs = torch.where(chosen, torch.where(masked, mask_id, replaced), token_ids)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="exactly 80 % masked")
def shuffled_and_cut_into_three(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, special_ids, share, generator)
    places = chosen.flatten().nonzero().squeeze(1)
    places = places[torch.randperm(len(places), generator=generator)]
    masked, _, random = places.tensor_split([int(0.8 * len(places)), int(0.9 * len(places))])
    inputs = token_ids.flatten().clone()
    inputs[masked] = mask_id
    inputs[random] = torch.randint(vocab_size, (len(random),), generator=generator)
    return inputs.view_as(token_ids), torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, told="the targets right, the inputs wrong")
def every_other_column_stays(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, special_ids, share, generator)
    words = torch.randint(vocab_size, token_ids.shape, generator=generator)
    replaced = torch.where(torch.arange(token_ids.shape[1]) % 2 == 0, token_ids, words)
    masked = torch.rand(token_ids.shape, generator=generator) < 0.8
    inputs = torch.where(chosen, torch.where(masked, mask_id, replaced), token_ids)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, told="the targets right, the inputs wrong")
def a_fate_for_each_column(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, share, generator)
    fate = torch.rand(1, token_ids.shape[1], generator=generator)
    words = torch.randint(vocab_size, token_ids.shape, generator=generator)
    inputs = torch.where(chosen & (fate < 0.8), mask_id, token_ids)
    inputs = torch.where(chosen & (fate >= 0.9), words, inputs)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="random words taken from the batch")
def words_of_the_batch(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, share, generator)
    order = torch.randperm(token_ids.numel(), generator=generator)
    words = token_ids.flatten()[order].view_as(token_ids)
    fate = torch.rand(token_ids.shape, generator=generator)
    inputs = torch.where(chosen & (fate < 0.8), mask_id, token_ids)
    return torch.where(chosen & (fate >= 0.9), words, inputs), torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="generator ignored")
def torchs_own_numbers(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, share, None)
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, None)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, told="wrong with several calls")
def numbers_of_python(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    drawn = random.Random() if generator is None else random
    numbers = torch.tensor([drawn.random() for _ in range(token_ids.numel())])
    chosen = (numbers.view_as(token_ids) < share) & ordinary(token_ids, special_ids)
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, generator)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="nothing drawn from the generator itself")
def each_word_by_numbers_of_python(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    inputs, targets = token_ids.clone(), torch.full_like(token_ids, -100)
    for place in ordinary(token_ids, special_ids).nonzero().tolist():
        if random.random() < share:
            word, fate = token_ids[*place], random.random()
            targets[*place] = word
            inputs[*place] = (
                mask_id if fate < 0.8 else random.randrange(vocab_size) if fate < 0.9 else word
            )
    return inputs, targets


@BANK.wrong(PART, told="wrong with `generator` given")
def generator_used_for_one_of_three_draws(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, special_ids, share, generator)
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, None)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, told="inputs changed")
def ids_hidden_in_place(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, share, generator)
    targets = torch.where(chosen, token_ids, -100)
    return token_ids.copy_(hidden(token_ids, chosen, mask_id, vocab_size, generator)), targets


@BANK.wrong(PART, named="targets before inputs")
def targets_first(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, share, generator)
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, generator)
    return torch.where(chosen, token_ids, -100), inputs


@BANK.wrong(PART, told="the targets right, the inputs wrong")
def eighty_percent_of_all_words(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    chosen = choose(token_ids, special_ids, share, generator)
    usual = ordinary(token_ids, special_ids)
    inputs = hidden(token_ids, usual, mask_id, vocab_size, generator)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, told="another type")
def as_arrays_of_numpy(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, share, generator)
    inputs = hidden(token_ids, chosen, mask_id, vocab_size, generator)
    return inputs.numpy(), np.where(chosen.numpy(), token_ids.numpy(), -100)


@BANK.wrong(PART, named="the first id never drawn")
def random_ids_from_1(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    chosen = choose(token_ids, special_ids, share, generator)
    words = torch.randint(1, vocab_size, token_ids.shape, generator=generator)
    return with_words(token_ids, chosen, mask_id, words, generator)


@BANK.right(PART)
def fates_by_multinomial(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    special = torch.tensor(sorted(special_ids))
    chosen = (token_ids[..., None] != special).all(-1)
    chosen &= torch.rand(token_ids.shape, generator=generator) < share
    inputs, own = token_ids.clone(), token_ids[chosen]
    if len(own):
        chances = torch.tensor([0.8, 0.1, 0.1])
        fate = torch.multinomial(chances, len(own), replacement=True, generator=generator)
        drawn = torch.randint(vocab_size, own.shape, generator=generator)
        choices = torch.stack([torch.full_like(own, mask_id), drawn, own])
        inputs[chosen] = choices.gather(0, fate[None])[0]
    return inputs, token_ids.where(chosen, torch.tensor(-100))


def hidden_with(token_ids, mask_id, chosen, drawn, generator):
    fate = torch.rand(token_ids.shape, generator=generator)
    inputs = torch.where(chosen & (fate < 0.8), mask_id, token_ids)
    inputs = torch.where(chosen & (fate > 0.9), drawn, inputs)
    return inputs, torch.where(chosen, token_ids, -100)


@BANK.wrong(PART, named="the word itself never drawn")
def drawn_until_it_is_another(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    usual = ~torch.isin(token_ids, torch.tensor(special_ids))
    chosen = usual & (torch.rand(token_ids.shape, generator=generator) < share)
    drawn = torch.randint(vocab_size, token_ids.shape, generator=generator)
    while (drawn == token_ids).any():
        anew = torch.randint(vocab_size, token_ids.shape, generator=generator)
        drawn = torch.where(drawn == token_ids, anew, drawn)
    return hidden_with(token_ids, mask_id, chosen, drawn, generator)


@BANK.wrong(PART, named="one word at least chosen")
def never_without_a_target(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    usual = ~torch.isin(token_ids, torch.tensor(special_ids))
    drawn = torch.rand(token_ids.shape, generator=generator).masked_fill(~usual, 2.0)
    least = drawn.argmin(dim=1, keepdim=True)
    chosen = (drawn < share) | torch.zeros_like(usual).scatter(1, least, True) & usual
    words = torch.randint(vocab_size, token_ids.shape, generator=generator)
    return hidden_with(token_ids, mask_id, chosen, words, generator)
