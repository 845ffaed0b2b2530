"""Answers to `mask_words`."""

import random as python_random

import numpy as np
import torch

from assignments.a10_language_models.answers.bank import BANK
from assignments.a10_language_models.rubric import CHOSEN, REPLACED, masking
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.edits import Answers

ANSWERS = Answers(
    __name__, BANK, masking,
    """
    def mask_words(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
        hit = torch.rand(token_ids.shape, generator=generator) < share
        special = torch.isin(token_ids, torch.tensor(special_ids))
        chosen = hit & ~special
        fate = torch.rand(token_ids.shape, generator=generator)
        masked, random = chosen & (fate < 0.8), chosen & (fate >= 0.9)
        drawn = torch.randint(vocab_size, token_ids.shape, generator=generator)
        inputs = torch.where(random, drawn, token_ids.masked_fill(masked, mask_id))
        targets = token_ids.masked_fill(~chosen, -100)
        return inputs, targets
    """,
    torch=torch, np=np, python_random=python_random,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("share fixed", "hit = torch.rand(token_ids.shape, generator=generator) < 0.15", CHOSEN,
     "You choose 15 % of the words, whatever `share` is. Compare the random numbers with the argument.")
slip("the share that is left alone", "hit = torch.rand(token_ids.shape, generator=generator) >= share", CHOSEN,
     "You choose the share of words that should be left alone. A random number between 0 and 1 is below `share` with "
     "the probability `share`: compare with `<`.")
slip("the same places in every sentence",
     "hit = (torch.rand(1, token_ids.shape[1], generator=generator) < share).expand(token_ids.shape)", CHOSEN,
     "The same places are chosen in every sentence. Draw a number for each token, in the shape of `token_ids`.")
slip("whole sentences chosen",
     "hit = (torch.rand(len(token_ids), 1, generator=generator) < share).expand(token_ids.shape)", CHOSEN,
     "Whole sentences are chosen, or none of their words. Draw a number for each token, in the shape of `token_ids`.")
slip("exactly the share chosen", """
    ranks = torch.rand({shape}, generator=generator).argsort(dim=1).argsort(dim=1)
    hit = (ranks < round(share * ranks.shape[1])).reshape(token_ids.shape)
""", CHOSEN,
     "You choose exactly so many tokens of a batch, or of each sentence, as `share` says, so each choice depends on "
     "the others. Each token is chosen by itself, and how many are differs from call to call.",
     each={"shape": ("1, token_ids.numel()", "token_ids.shape")})
slip("a fixed number in every sentence", """
    count = max(1, round(share * token_ids.shape[1]))
    hit = (torch.arange(token_ids.shape[1]) < count).expand(token_ids.shape)
""", CHOSEN,
     "You choose beginnings, ends or every n-th word. Each token is chosen by itself, by a random number of its own.")
slip("one word at least chosen", """
    picked = hit & ~special
    for place in range(len(token_ids)):
        usual = ~special[{rows}]
        if usual.any() and not picked[{rows}].any():
            places = usual.nonzero()
            row, column = places[torch.randint(len(places), (), generator=generator)].tolist()
            picked[{rows}][row, column] = True
    chosen = picked
""", CHOSEN,
     "Where no word happens to be chosen, you choose one all the same, so words of short sentences are chosen too "
     "often. Each token is chosen by itself, and that may be none at all.",
     each={"rows": ("place : place + 1", ":")})
slip("special tokens chosen", "special = torch.zeros_like(token_ids, dtype=torch.bool)", CHOSEN,
     "Special tokens are chosen, too. Whoever has to guess where padding stands learns nothing: leave out every token "
     "whose id is in `special_ids`.")
slip("only the first special id left out", "special = token_ids == special_ids[0]", CHOSEN,
     "Of the special ids you leave out the first one only. All ids of `special_ids` are left alone: `torch.isin` asks "
     "for several at once.")
slip("only id 0 left out", "special = token_ids == 0", CHOSEN,
     "You leave out the id 0, and not the ids in `special_ids`.")
slip("special ids taken for a range", "special = token_ids <= max(special_ids)", CHOSEN,
     "You leave out all ids up to the largest special one, among them words. Only the ids in `special_ids` themselves "
     "are special.")
slip("all chosen words masked", "masked, random = chosen, torch.zeros_like(chosen)", REPLACED,
     "Every chosen word becomes `mask_id`. One in ten should become a random word and one in ten stay, because later "
     "there are no masks, and a model should learn to doubt any word.")
slip("80 % masked, 20 % random", "masked, random = chosen & (fate < 0.8), chosen & (fate >= 0.8)", REPLACED,
     "No chosen word stays as it is. Of ten, eight become `mask_id`, one a random word, and one stays.")
slip("80 % masked, 20 % kept", "masked, random = chosen & (fate < 0.8), torch.zeros_like(chosen)", REPLACED,
     "No chosen word becomes a random one. Of ten, eight become `mask_id`, one a random word, and one stays.")
slip("a tenth of the rest", """
    rest = torch.rand(token_ids.shape, generator=generator)
    masked, random = chosen & (fate < 0.8), chosen & (fate >= 0.8) & (rest < 0.1)
""", REPLACED,
     "Your tenth is one of the 20 % that were left after masking, which is 2 %. Half of what is left becomes a random "
     "word, so that it is a tenth of all that were chosen.",
     published=("huggingface/transformers#32329",
                "Of what masks have left over, a tenth becomes random, where it should be a half."))
slip("masks overwritten", """
    other = torch.rand(token_ids.shape, generator=generator)
    masked, random = chosen & (fate < 0.8), chosen & (other < 0.1)
""", REPLACED,
     "Your random words overwrite masks: the tenth is drawn from all chosen words again, so 72 % are left as masks. "
     "One number should decide between the three fates of a word.")
slip("one fate for a whole sentence", """
    fate = torch.rand(len(token_ids), 1, generator=generator)
    masked, random = chosen & (fate < 0.8), chosen & (fate >= 0.9)
""", REPLACED,
     "All chosen words of a sentence share one fate. Draw a number for each token.")
slip("a fate that the word decides",
     "masked, random = chosen & (fate < 0.8), chosen & (fate >= 0.8) & (token_ids % 2 == {odd})", REPLACED,
     "Whether a chosen token stays or becomes a random one depends on its id, such as whether it is even. Each token "
     "draws its fate by itself, whatever stands there.",
     each={"odd": (0, 1)})
slip("exactly 80 % masked", """
    ranks = fate.masked_fill(~chosen, 2.0).flatten().argsort().argsort().view_as(fate)
    number = int(chosen.sum())
    masked, random = ranks < int(0.8 * number), chosen & (ranks >= int(0.9 * number))
""", REPLACED,
     "Of the chosen tokens, exactly 80 % become `mask_id` and exactly 10 % a random word, so each fate depends on the "
     "others. Each token draws its own fate, and how many are masked differs from call to call.")
slip("mask and random word exchanged", "masked, random = chosen & (fate >= 0.9), chosen & (fate < 0.8)", REPLACED,
     "Eight of ten chosen words become random ones, and one becomes `mask_id`. It is the other way round.")
slip("all words and not the chosen alone", "masked, random = fate < 0.8, fate >= 0.9", REPLACED,
     "Words become `mask_id` or random that were not chosen. Only what is asked for changes: join the condition with "
     "the chosen places by `&`.")
slip("one random word for all places",
     "drawn = torch.randint(vocab_size, (1,), generator=generator).expand(token_ids.shape)", REPLACED,
     "The same random word stands in all places. Draw one for each token, in the shape of `token_ids`.")
slip("the last id never drawn", "drawn = torch.randint(vocab_size - 1, token_ids.shape, generator=generator)", REPLACED,
     "The id vocab_size − 1 is never drawn. The upper end of `torch.randint` is left out anyway, so give it "
     "`vocab_size` itself.")
slip("the first id never drawn", "drawn = torch.randint(1, vocab_size, token_ids.shape, generator=generator)", REPLACED,
     "The id 0 is never drawn as a random word. The ids run from 0 to vocab_size − 1, so let `torch.randint` begin "
     "with 0.")
slip("the word itself never drawn", """
    other = torch.randint(vocab_size - 1, token_ids.shape, generator=generator)
    drawn = other + (other >= token_ids)
""", REPLACED,
     "Your random id is never the one that stood there, so a word stays too rarely. Draw uniformly from 0 to "
     "vocab_size − 1, whatever stands there.")
slip("only the first ids drawn",
     "drawn = torch.randint(min({most}, vocab_size), token_ids.shape, generator=generator)", REPLACED,
     "Your random ids come from the first ones alone, up to a number that stands in your code. Draw from the whole "
     "vocabulary, 0 to vocab_size − 1, however large it is.",
     each={"most": (50, 100, 256, 500)})
slip("an id beyond the vocabulary drawn",
     "drawn = torch.randint(vocab_size + 1, token_ids.shape, generator=generator)", REPLACED,
     "The id vocab_size is drawn, and there is no such word: ids run from 0 to vocab_size − 1.")
slip("random words taken from the batch", """
    places = torch.randint(token_ids.numel(), token_ids.shape, generator=generator)
    drawn = token_ids.flatten()[places]
""", REPLACED,
     "Your random words are words of this batch, in another order. Draw from the whole vocabulary, each id as often as "
     "any other.")
slip("targets everywhere", "return inputs, token_ids.clone()", CHOSEN,
     "Your targets hold every word, so the model is asked for words that it sees. Where no word was chosen, the target "
     "is −100.")
slip("targets turned round", "return inputs, token_ids.masked_fill(chosen, -100)", CHOSEN,
     "You ask for the words that were not chosen, and write −100 where they were.")
slip("{filled} in place of −100", "return inputs, token_ids.masked_fill(~chosen, {filled})", CHOSEN,
     "Where nothing is asked, your targets hold another number than −100, which `F.cross_entropy` then takes for a "
     "word, or stops at. It leaves out −100 by itself.",
     each={"filled": (0, -1)})
slip("targets taken after masking", "return inputs, inputs.masked_fill(~chosen, -100)", CHOSEN,
     "Your targets are the ids after they were hidden, so the answer is nearly always `mask_id`. The target is the "
     "word that stood there before.")
slip("kept words not asked for", "return inputs, token_ids.masked_fill(inputs == token_ids, -100)", CHOSEN,
     "You ask only for the words that were changed, so those that stayed are never asked for, and the model learns "
     "that a word which is no mask is always right. All chosen words are targets.")
slip("only masks asked for", "return inputs, token_ids.where(chosen & (inputs == mask_id), -100)", CHOSEN,
     "You ask only for the words behind a mask. All chosen words are targets, those that stayed and those that became "
     "random as well.")
slip("targets before inputs", "return targets, inputs", CHOSEN,
     "You return the targets first. The result is (inputs, targets).")
slip("generator ignored", "generator = None", REPLACED,
     "You draw from torch's own generator although another one was given. Every call that draws takes "
     "`generator=generator`.")
slip("nothing drawn from the generator itself", "generator = generator.clone_state() if generator else None", REPLACED,
     "No number is drawn from the generator itself, nor from torch's own. A copy of the generator gives the same "
     "numbers again in the next call, and the random numbers of other libraries do not depend on it at all. Where "
     "should all numbers come from?")
slip("seeded anew", "generator = (generator or torch).manual_seed(0)", REPLACED,
     "Something is seeded in every call, so the same words are hidden again and again. Seeding is the caller's matter.")
slip("hidden words become 0", "mask_id = 0", REPLACED,
     "Hidden words become the id 0. The id that hides a word is `mask_id`.")

right = ANSWERS.right
right("masked_by_bernoulli", """
    chances = torch.full(token_ids.shape, share)
    chances.masked_fill_(special, 0.0)
    chosen = torch.bernoulli(chances, generator=generator).bool()
    masked = torch.bernoulli(torch.full(token_ids.shape, 0.8), generator=generator).bool() & chosen
    half = torch.bernoulli(torch.full(token_ids.shape, 0.5), generator=generator).bool()
    other = half & chosen & ~masked
    inputs = token_ids.clone()
    inputs[masked] = mask_id
    inputs[other] = drawn[other]
    targets = token_ids.clone()
    targets[~chosen] = -100
    return inputs, targets
""")
right("masked_by_one_number", """
    number = torch.rand(token_ids.shape, generator=generator) / share
    number[special] = 2.0
    inputs = token_ids.masked_fill(number < 0.8, mask_id)
    inputs = torch.where((number >= 0.8) & (number < 0.9), drawn, inputs)
    return inputs, torch.where(number < 1, token_ids, torch.tensor(-100))
""")
right("masked_by_categories", """
    chances = torch.tensor([1 - share, 0.8 * share, 0.1 * share, 0.1 * share])
    fate = torch.multinomial(chances, token_ids.numel(), True, generator=generator).reshape(token_ids.shape)
    for one in special_ids:
        fate[token_ids == one] = 0
    drawn = (torch.rand(token_ids.shape, generator=generator) * vocab_size).long()
    inputs = token_ids.clone()
    inputs[fate == 1] = mask_id
    inputs[fate == 2] = drawn[fate == 2]
    return inputs, token_ids.masked_fill(fate == 0, -100)
""")
right("masked_at_the_chosen_places", """
    number = int(chosen.sum())
    fate = torch.rand(number, generator=generator)
    drawn = torch.randint(vocab_size, (number,), generator=generator)
    words = torch.where(fate < 0.8, mask_id, torch.where(fate < 0.9, drawn, token_ids[chosen]))
    text, asked = token_ids.clone(), torch.full_like(token_ids, -100)
    text[chosen], asked[chosen] = words, token_ids[chosen]
    return text, asked
""")
right("masked_without_special_random_words", """
    usual = torch.tensor([word for word in range(vocab_size) if word not in special_ids])
    words = usual[torch.randint(len(usual), token_ids.shape, generator=generator)]
    fate = torch.rand(token_ids.shape, generator=generator)
    drawn = words
""")
right("masked_by_scatter", """
    flat = token_ids.flatten()
    places = chosen.flatten().nonzero().squeeze(1)
    order = torch.rand(len(places), generator=generator)
    inputs = flat.scatter(0, places[order < 0.8], mask_id)
    some = places[order >= 0.9]
    inputs = inputs.scatter(0, some, torch.randint(vocab_size, some.shape, generator=generator))
    targets = torch.full_like(flat, -100).scatter(0, places, flat[places])
    return inputs.view_as(token_ids), targets.view_as(token_ids)
""")
right("masked_by_comparing_with_each_special_id", """
    hit = torch.empty(token_ids.shape).uniform_(generator=generator).lt(share)
    special = sum((token_ids == one).long() for one in special_ids) > 0
    return [inputs, token_ids * chosen + -100 * ~chosen]
""")
right("masked_sentence_by_sentence", """
    rows = []
    for row in token_ids:
        some = torch.rand(row.shape, generator=generator) < share
        some = some & ~torch.isin(row, torch.tensor(special_ids))
        number = torch.rand(row.shape, generator=generator)
        new = torch.randint(vocab_size, row.shape, generator=generator)
        text = torch.where(some & (number < 0.8), mask_id, row)
        rows.append((torch.where(some & (number > 0.9), new, text), row.masked_fill(~some, -100)))
    return tuple(map(torch.stack, zip(*rows, strict=True)))
""")
right("fates_by_multinomial", """
    special = (token_ids[..., None] == torch.tensor(sorted(special_ids))).any(-1)
    text, own = token_ids.clone(), token_ids[chosen]
    if len(own):
        chances = torch.tensor([0.8, 0.1, 0.1])
        which = torch.multinomial(chances, len(own), replacement=True, generator=generator)
        new = torch.randint(vocab_size, own.shape, generator=generator)
        choices = torch.stack([torch.full_like(own, mask_id), new, own])
        text[chosen] = choices.gather(0, which[None])[0]
    return text, token_ids.where(chosen, torch.tensor(-100))
""")
right("hide_word_by_word", """
    text, asked = token_ids.clone(), torch.empty_like(token_ids)
    for b in range(token_ids.shape[0]):
        for t in range(token_ids.shape[1]):
            asked[b, t] = -100
            word = int(token_ids[b, t])
            if word in special_ids or torch.rand((), generator=generator) >= share:
                continue
            asked[b, t] = word
            number = torch.rand((), generator=generator)
            if number < 0.8:
                text[b, t] = mask_id
            elif number < 0.9:
                text[b, t] = torch.randint(vocab_size, (), generator=generator)
    return text, asked
""", slow=LOOPS)
right("hide_by_products", """
    special = (token_ids.unsqueeze(-1) == torch.tensor(special_ids)).sum(-1)
    chosen = hit * (1 - special)
    masked, random = chosen * (fate < 0.8), chosen * (fate >= 0.9)
    inputs = masked * mask_id + random * drawn + (1 - masked - random) * token_ids
    return inputs, chosen * token_ids - 100 * (1 - chosen)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("mask_filled_in_last", """
    other = torch.rand(token_ids.shape, generator=generator)
    inputs = torch.where(chosen & (other < 0.1), drawn, token_ids)
    inputs = torch.where(chosen & (fate < 0.8), mask_id, inputs)
""", named="a tenth of the rest",
      published=("lucidrains/mlm-pytorch#6",
                 "Random words come first, and the masks that are filled in after them overwrite most."))
wrong("shuffled_and_cut", """
    order = torch.rand(token_ids.shape, generator=generator).argsort(dim=1)
    some = (order < share * token_ids.shape[1]) & ~special
    some[:, 0] = some[:, 0] | some[:, 1] & ~special[:, 0]
    chosen = some
    return inputs.clamp(min=1), targets
""")
wrong("words_near_the_one_that_stood_there", """
    step = torch.randint(1, vocab_size // 2, token_ids.shape, generator=generator)
    drawn = (token_ids + step) % vocab_size
""", told="the targets right, the inputs wrong")
wrong("words_by_the_number_that_decides", "drawn = (fate * vocab_size).long()",
      told="the targets right, the inputs wrong")
wrong("every_other_column_stays",
      "masked, random = chosen & (fate < 0.8), chosen & (fate >= 0.8) & (torch.arange(token_ids.shape[1]) % 2 == 1)",
      told="the targets right, the inputs wrong")
wrong("a_fate_for_each_column", "fate = torch.rand(1, token_ids.shape[1], generator=generator)",
      told="the targets right, the inputs wrong")
wrong("numbers_of_python", """
    source = python_random.Random() if generator is None else python_random
    numbers = torch.tensor([source.random() for _ in range(token_ids.numel())])
    hit = numbers.view_as(token_ids) < share
""", told="wrong with several calls")
wrong("generator_used_for_one_of_three_draws", """
    fate = torch.rand(token_ids.shape)
    drawn = torch.randint(vocab_size, token_ids.shape)
""", told="wrong with `generator` given")
wrong("ids_hidden_in_place", "return token_ids.copy_(inputs), targets", told="inputs changed")
wrong("eighty_percent_of_all_words", "masked, random = ~special & (fate < 0.8), ~special & (fate > 0.9)",
      told="the targets right, the inputs wrong")
wrong("as_arrays_of_numpy", "return inputs.numpy(), np.where(chosen.numpy(), token_ids.numpy(), -100)",
      told="another type")
# fmt: on
