"""`mask_words` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch

from assignments.a10_language_models.rubric import CHOSEN, REPLACED, masking
from autograder.checks.mistakes import Steps, called, variants

IGNORED = -100


class Hiding(Steps):
    """The reference step by step."""

    def answer(self, token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
        generator = self.source(generator)
        chosen = self.choose(token_ids, special_ids, share, generator)
        inputs = self.hide(token_ids, chosen, mask_id, vocab_size, generator)
        return self.collect(inputs, token_ids, chosen)

    def source(self, generator):
        return generator

    def choose(self, token_ids, special_ids, share, generator):
        return self.hit(token_ids, share, generator) & ~self.special(token_ids, special_ids)

    def hit(self, token_ids, share, generator):
        return torch.rand(token_ids.shape, generator=generator) < share

    def special(self, token_ids, special_ids):
        return torch.isin(token_ids, torch.tensor(special_ids))

    def hide(self, token_ids, chosen, mask_id, vocab_size, generator):
        masked, random = self.fates(token_ids, chosen, generator)
        drawn = self.random_words(token_ids, vocab_size, generator)
        return torch.where(random, drawn, token_ids.masked_fill(masked, mask_id))

    def fates(self, token_ids, chosen, generator):
        fate = torch.rand(token_ids.shape, generator=generator)
        return chosen & (fate < 0.8), chosen & (fate >= 0.9)

    def random_words(self, token_ids, vocab_size, generator):
        return torch.randint(vocab_size, token_ids.shape, generator=generator)

    def collect(self, inputs, token_ids, chosen):
        return inputs, token_ids.masked_fill(~chosen, IGNORED)


@masking.mistakes_in(Hiding.hit, costs=CHOSEN)
class HidingHit:
    def share_fixed(self, token_ids, share, generator):
        """You choose 15 % of the words, whatever `share` is. Compare the random numbers with the
        argument."""
        return torch.rand(token_ids.shape, generator=generator) < 0.15

    @called("the share that is left alone")
    def the_others(self, token_ids, share, generator):
        """You choose the share of words that should be left alone. A random number between 0 and 1 is
        below `share` with the probability `share`: compare with `<`."""
        return torch.rand(token_ids.shape, generator=generator) >= share

    @called("the same places in every sentence")
    def by_columns(self, token_ids, share, generator):
        """The same places are chosen in every sentence. Draw a number for each token, in the shape of
        `token_ids`."""
        drawn = torch.rand(1, token_ids.shape[1], generator=generator)
        return (drawn < share).expand(token_ids.shape)

    def whole_sentences_chosen(self, token_ids, share, generator):
        """Whole sentences are chosen, or none of their words. Draw a number for each token, in the shape
        of `token_ids`."""
        drawn = torch.rand(token_ids.shape[0], 1, generator=generator)
        return (drawn < share).expand(token_ids.shape)

    @called("exactly the share chosen")
    @variants("among", ("batch", "sentence"))
    def exactly_so_many(self, token_ids, share, generator, among):
        """You choose exactly so many tokens of a batch, or of each sentence, as `share` says, so each choice
        depends on the others. Each token is chosen by itself, and how many are differs from call to
        call."""
        B, T = token_ids.shape
        drawn = torch.rand((B, T) if among == "sentence" else (1, B * T), generator=generator)
        ranks = drawn.argsort(dim=1).argsort(dim=1)
        return (ranks < round(share * ranks.shape[1])).reshape(B, T)

    def a_fixed_number_in_every_sentence(self, token_ids, share, generator):
        """You choose beginnings, ends or every n-th word. Each token is chosen by itself, by a random
        number of its own."""
        count = max(1, round(share * token_ids.shape[1]))
        return (torch.arange(token_ids.shape[1]) < count).expand(token_ids.shape)


@masking.mistakes_in(Hiding.choose, costs=CHOSEN)
class HidingChoose:
    @variants("among", ("sentence", "batch"))
    def one_word_at_least_chosen(self, token_ids, special_ids, share, generator, among):
        """Where no word happens to be chosen, you choose one all the same, so words of short sentences are
        chosen too often. Each token is chosen by itself, and that may be none at all."""
        usual = ~self.special(token_ids, special_ids)
        chosen = Hiding.choose(self, token_ids, special_ids, share, generator)
        for place in range(len(token_ids)):
            rows = slice(None) if among == "batch" else slice(place, place + 1)
            if usual[rows].any() and not chosen[rows].any():
                open_places = usual[rows].nonzero()
                picked = torch.randint(len(open_places), (), generator=generator)
                row, column = open_places[picked].tolist()
                chosen[rows][row, column] = True
        return chosen


@masking.mistakes_in(Hiding.special, costs=CHOSEN)
class HidingSpecial:
    def special_tokens_chosen(self, token_ids, special_ids):
        """Special tokens are chosen, too. Whoever has to guess where padding stands learns nothing:
        leave out every token whose id is in `special_ids`."""
        return torch.zeros_like(token_ids, dtype=torch.bool)

    @called("only the first special id left out")
    def the_first_alone(self, token_ids, special_ids):
        """Of the special ids you leave out the first one only. All ids of `special_ids` are left
        alone: `torch.isin` asks for several at once."""
        return token_ids == special_ids[0]

    @called("only id 0 left out")
    def zero_alone(self, token_ids, special_ids):
        """You leave out the id 0, and not the ids in `special_ids`."""
        return token_ids == 0

    def special_ids_taken_for_a_range(self, token_ids, special_ids):
        """You leave out all ids up to the largest special one, among them words. Only the ids in
        `special_ids` themselves are special."""
        return token_ids <= max(special_ids)


@masking.mistakes_in(Hiding.fates, costs=REPLACED)
class HidingFates:
    def all_chosen_words_masked(self, token_ids, chosen, generator):
        """Every chosen word becomes `mask_id`. One in ten should become a random word and one in ten
        stay, because later there are no masks, and a model should learn to doubt any word."""
        return chosen, torch.zeros_like(chosen)

    @called("80 % masked, 20 % random")
    def none_kept(self, token_ids, chosen, generator):
        """No chosen word stays as it is. Of ten, eight become `mask_id`, one a random word, and one
        stays."""
        fate = torch.rand(token_ids.shape, generator=generator)
        return chosen & (fate < 0.8), chosen & (fate >= 0.8)

    @called("80 % masked, 20 % kept")
    def none_random(self, token_ids, chosen, generator):
        """No chosen word becomes a random one. Of ten, eight become `mask_id`, one a random word, and
        one stays."""
        fate = torch.rand(token_ids.shape, generator=generator)
        return chosen & (fate < 0.8), torch.zeros_like(chosen)

    @called("a tenth of the rest")
    def nested(self, token_ids, chosen, generator):
        """Your tenth is one of the 20 % that were left after masking, which is 2 %. Half of what is left
        becomes a random word, so that it is a tenth of all that were chosen."""
        masked = chosen & (torch.rand(token_ids.shape, generator=generator) < 0.8)
        random = chosen & ~masked & (torch.rand(token_ids.shape, generator=generator) < 0.1)
        return masked, random

    @called("masks overwritten")
    def overwritten(self, token_ids, chosen, generator):
        """Your random words overwrite masks: the tenth is drawn from all chosen words again, so 72 % are
        left as masks. One number should decide between the three fates of a word."""
        masked = chosen & (torch.rand(token_ids.shape, generator=generator) < 0.8)
        return masked, chosen & (torch.rand(token_ids.shape, generator=generator) < 0.1)

    @called("one fate for a whole sentence")
    def by_sentences(self, token_ids, chosen, generator):
        """All chosen words of a sentence share one fate. Draw a number for each token."""
        fate = torch.rand(token_ids.shape[0], 1, generator=generator)
        return chosen & (fate < 0.8), chosen & (fate >= 0.9)

    @called("a fate that the word decides")
    @variants("random", (0, 1))
    def by_the_word(self, token_ids, chosen, generator, random):
        """Whether a chosen token stays or becomes a random one depends on its id, such as whether it is even.
        Each token draws its fate by itself, whatever stands there."""
        masked = chosen & (torch.rand(token_ids.shape, generator=generator) < 0.8)
        return masked, chosen & ~masked & (token_ids % 2 == random)

    @called("exactly 80 % masked")
    def exactly_so_many(self, token_ids, chosen, generator):
        """Of the chosen tokens, exactly 80 % become `mask_id` and exactly 10 % a random word, so each fate
        depends on the others. Each token draws its own fate, and how many are masked differs from call to
        call."""
        drawn = torch.rand(token_ids.shape, generator=generator).masked_fill(~chosen, 2.0)
        ranks = drawn.flatten().argsort().argsort().view_as(drawn)
        number = int(chosen.sum())
        masked, random = ranks < int(0.8 * number), ranks >= int(0.9 * number)
        return masked, chosen & random

    @called("mask and random word exchanged")
    def exchanged(self, token_ids, chosen, generator):
        """Eight of ten chosen words become random ones, and one becomes `mask_id`. It is the other way
        round."""
        masked, random = Hiding.fates(self, token_ids, chosen, generator)
        return random, masked

    def all_words_and_not_the_chosen_alone(self, token_ids, chosen, generator):
        """Words become `mask_id` or random that were not chosen. Only what is asked for changes: join the
        condition with the chosen places by `&`."""
        return Hiding.fates(self, token_ids, torch.ones_like(chosen), generator)


@masking.mistakes_in(Hiding.random_words, costs=REPLACED)
class HidingRandomWords:
    @called("one random word for all places")
    def one_word(self, token_ids, vocab_size, generator):
        """The same random word stands in all places. Draw one for each token, in the shape of
        `token_ids`."""
        return torch.randint(vocab_size, (1,), generator=generator).expand(token_ids.shape)

    @called("the last id never drawn")
    def one_too_few(self, token_ids, vocab_size, generator):
        """The id vocab_size − 1 is never drawn. The upper end of `torch.randint` is left out anyway, so
        give it `vocab_size` itself."""
        return torch.randint(vocab_size - 1, token_ids.shape, generator=generator)

    @called("the first id never drawn")
    def from_one_on(self, token_ids, vocab_size, generator):
        """The id 0 is never drawn as a random word. The ids run from 0 to vocab_size − 1, so let
        `torch.randint` begin with 0."""
        return torch.randint(1, vocab_size, token_ids.shape, generator=generator)

    @called("the word itself never drawn")
    def another_word(self, token_ids, vocab_size, generator):
        """Your random id is never the one that stood there, so a word stays too rarely. Draw uniformly
        from 0 to vocab_size − 1, whatever stands there."""
        drawn = torch.randint(vocab_size - 1, token_ids.shape, generator=generator)
        return drawn + (drawn >= token_ids)

    @called("only the first ids drawn")
    @variants("most", (50, 100, 256, 500))
    def the_first_ids(self, token_ids, vocab_size, generator, most):
        """Your random ids come from the first ones alone, up to a number that stands in your code. Draw
        from the whole vocabulary, 0 to vocab_size − 1, however large it is."""
        return torch.randint(min(most, vocab_size), token_ids.shape, generator=generator)

    @called("an id beyond the vocabulary drawn")
    def one_too_many(self, token_ids, vocab_size, generator):
        """The id vocab_size is drawn, and there is no such word: ids run from 0 to vocab_size − 1."""
        return torch.randint(vocab_size + 1, token_ids.shape, generator=generator)

    @called("random words taken from the batch")
    def shuffled(self, token_ids, vocab_size, generator):
        """Your random words are words of this batch, in another order. Draw from the whole vocabulary,
        each id as often as any other."""
        places = torch.randint(token_ids.numel(), token_ids.shape, generator=generator)
        return token_ids.flatten()[places]


@masking.mistakes_in(Hiding.collect, costs=CHOSEN)
class HidingCollect:
    @called("targets everywhere")
    def all_asked(self, inputs, token_ids, chosen):
        """Your targets hold every word, so the model is asked for words that it sees. Where no word was
        chosen, the target is −100."""
        return inputs, token_ids.clone()

    @called("targets turned round")
    def inverted(self, inputs, token_ids, chosen):
        """You ask for the words that were not chosen, and write −100 where they were."""
        return inputs, token_ids.masked_fill(chosen, IGNORED)

    @variants("filled", (0, -1))
    @called("{filled} in place of −100")
    def another_number(self, inputs, token_ids, chosen, filled):
        """Where nothing is asked, your targets hold another number than −100, which
        `F.cross_entropy` then takes for a word, or stops at. It leaves out −100 by itself."""
        return inputs, token_ids.masked_fill(~chosen, filled)

    @called("targets taken after masking")
    def too_late(self, inputs, token_ids, chosen):
        """Your targets are the ids after they were hidden, so the answer is nearly always `mask_id`.
        The target is the word that stood there before."""
        return inputs, inputs.masked_fill(~chosen, IGNORED)

    @called("kept words not asked for")
    def only_changes_asked(self, inputs, token_ids, chosen):
        """You ask only for the words that were changed, so those that stayed are never asked for, and
        the model learns that a word which is no mask is always right. All chosen words are targets."""
        return inputs, token_ids.masked_fill(inputs == token_ids, IGNORED)

    @called("only masks asked for")
    def masks_asked(self, inputs, token_ids, chosen):
        """You ask only for the words behind a mask. All chosen words are targets, those that stayed and
        those that became random as well."""
        gone = chosen & (inputs != token_ids) & (inputs == inputs.mode().values.mode().values)
        return inputs, token_ids.masked_fill(~gone, IGNORED)

    @called("targets before inputs")
    def turned(self, inputs, token_ids, chosen):
        """You return the targets first. The result is (inputs, targets)."""
        return token_ids.masked_fill(~chosen, IGNORED), inputs


@masking.mistakes_in(Hiding.source, costs=REPLACED)
class HidingSource:
    def generator_ignored(self, generator):
        """You draw from torch's own generator although another one was given. Every call that draws
        takes `generator=generator`."""
        return

    def nothing_drawn_from_the_generator_itself(self, generator):
        """No number is drawn from the generator itself, nor from torch's own. A copy of the generator gives
        the same numbers again in the next call, and the random numbers of other libraries do not depend
        on it at all. Where should all numbers come from?"""
        if generator is None:
            return None
        copy = torch.Generator()
        copy.set_state(generator.get_state())
        return copy

    def seeded_anew(self, generator):
        """Something is seeded in every call, so the same words are hidden again and again. Seeding is
        the caller's matter."""
        if generator is None:
            torch.manual_seed(0)
        else:
            generator.manual_seed(0)
        return generator


@masking.mistakes_in(Hiding.hide, costs=REPLACED)
class HidingHide:
    @called("hidden words become 0")
    def zero_for_the_mask(self, token_ids, chosen, mask_id, vocab_size, generator):
        """Hidden words become the id 0. The id that hides a word is `mask_id`."""
        return Hiding.hide(self, token_ids, chosen, 0, vocab_size, generator)
