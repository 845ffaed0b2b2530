"""`sample_next` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch

from assignments.a10_language_models.rubric import COOLED, DRAWN, NUCLEUS, sampling
from autograder.checks.mistakes import Steps, called, costs, message, variants


class Sampling(Steps):
    """The reference step by step."""

    def answer(self, logits, temperature=1.0, top_k=None, top_p=None, generator=None):
        self.check(temperature, top_k, top_p)
        if temperature == 0:
            return self.certain(logits)
        left = self.filtered(self.cooled(logits, temperature), top_k, top_p)
        return self.result(self.draw(left, generator))

    def check(self, temperature, top_k, top_p):
        if temperature < 0:
            raise ValueError("a negative temperature")
        if top_k is not None and top_k < 1:
            raise ValueError("top_k below 1")
        if top_p is not None and not 0 < top_p <= 1:
            raise ValueError("top_p outside (0, 1]")

    def certain(self, logits):
        return logits.argmax(dim=-1)

    def cooled(self, logits, temperature):
        return logits / temperature

    def filtered(self, logits, top_k, top_p):
        if top_k is not None:
            logits = self.best(logits, top_k)
        chances = self.shares(logits)
        return chances if top_p is None else self.nucleus(chances, top_p)

    def shares(self, logits):
        return logits.softmax(dim=-1)

    def best(self, logits, top_k):
        least = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[:, -1:]
        return logits.masked_fill(logits < least, -torch.inf)

    def nucleus(self, chances, top_p):
        falling, order = chances.sort(dim=-1, descending=True)
        cut = self.beyond(falling, top_p)
        return chances.masked_fill(torch.zeros_like(cut).scatter(-1, order, cut), 0.0)

    def beyond(self, falling, top_p):
        """Of words by falling probability, which ones are left out."""
        cut = falling.cumsum(dim=-1) - falling >= top_p
        cut[:, 0] = False
        return cut

    def draw(self, chances, generator):
        return torch.multinomial(chances, 1, generator=generator)

    def result(self, ids):
        return ids.squeeze(-1)


TWICE = (
    "Your words come nearly equally often, because probabilities pass through a softmax a second time. "
    "Divide the logits by the temperature, and take one softmax of that."
)


@sampling.mistakes_in(Sampling.cooled, costs=COOLED)
class SamplingCooled:
    @called("times the temperature")
    def multiplied(self, logits, temperature):
        """Your logits are multiplied by the temperature, so heat makes the model surer. Divide by it."""
        return logits * temperature

    def temperature_unused(self, logits, temperature):
        """Your words come as often as at temperature 1, whatever is given. Divide the logits by
        `temperature` first."""
        return logits

    @called("softmax twice")
    @message(TWICE)
    def after_the_softmax(self, logits, temperature):
        return logits.softmax(dim=-1) / temperature

    @called("softmax twice")
    @message(TWICE)
    def probabilities_for_logits(self, logits, temperature):
        return (logits / temperature).softmax(dim=-1)

    @called("temperature clamped")
    @variants(
        "least, most", ((0.1, 1e9), (0.2, 1e9), (0.5, 1e9), (0.0, 2.0), (0.0, 5.0), (0.1, 2.0))
    )
    def held_between_limits(self, logits, temperature, least, most):
        """Your temperature is held between limits, so one beyond them draws as if it were at the limit.
        Divide by the temperature itself; 0 alone is another matter."""
        return logits / min(max(temperature, least), most)

    @variants("power", (0.5, 2.0))
    def a_power_of_the_temperature(self, logits, temperature, power):
        """Your words come as often as with a power of the temperature. Divide by the temperature
        itself, once."""
        return logits / temperature**power


@sampling.mistakes_in(Sampling.best, costs=COOLED)
class SamplingBest:
    def top_k_unused(self, logits, top_k):
        """Words come that do not belong to the `top_k` likeliest. Set the logits of all others to −∞
        before the softmax."""
        return logits

    @called("one word too many in top_k")
    def one_too_many(self, logits, top_k):
        """One word too many is left by top_k. Of k words the last one is at index k − 1 of the sorted
        logits."""
        return Sampling.best(self, logits, top_k + 1)

    @called("one word too few in top_k")
    def one_too_few(self, logits, top_k):
        """One word too few is left by top_k. The word at the k-th place belongs to it: remove what is
        smaller than its logit, not what is smaller or equal."""
        return Sampling.best(self, logits, max(1, top_k - 1))

    @called("top_k larger than the vocabulary stops")
    def none_to_spare(self, logits, top_k):
        """`topk` stops where more words are asked for than there are. All of them stay then: take the
        smaller of top_k and the size of the vocabulary."""
        least = logits.topk(top_k, dim=-1).values[:, -1:]
        return logits.masked_fill(logits < least, -torch.inf)

    @called("one threshold for all rows")
    @variants(
        "chosen_from, what",
        (
            (lambda each: each[0], "the k-th of the first row"),
            (torch.min, "the lowest k-th one of the batch"),
            (torch.max, "the highest k-th one of the batch"),
        ),
    )
    def one_threshold(self, logits, top_k, chosen_from, what):
        """You cut every row at the same logit, {what}. Each row has a threshold of its own: keep the
        axis, as `[:, -1:]` does."""
        least = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[:, -1]
        return logits.masked_fill(logits < chosen_from(least), -torch.inf)

    @called("removed logits set to 0")
    def zero_for_minus_infinity(self, logits, top_k):
        """You set removed logits to 0, and e⁰ is 1, so these words are still drawn. A logit of −∞ has
        the probability 0."""
        least = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[:, -1:]
        return logits.masked_fill(logits < least, 0.0)

    @called("removed logits set to a low number")
    @variants("low", (-100, -1000))
    def low_for_minus_infinity(self, logits, top_k, low):
        """You set removed logits to a low number, such as −100. Others may lie below that, and then the removed
        words are the likeliest. A logit of −∞ has the probability 0, wherever the others lie."""
        least = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[:, -1:]
        return logits.masked_fill(logits < least, low)

    def the_least_likely_kept(self, logits, top_k):
        """The `top_k` least likely words are left. `topk` gives the largest by itself; a sort needs
        `descending=True`."""
        most = (-logits).topk(min(top_k, logits.shape[-1]), dim=-1).values[:, -1:]
        return logits.masked_fill(-logits < most, -torch.inf)

    @called("rank taken for the word")
    def ranks(self, logits, top_k):
        """What you return is a word's place among the sorted ones, 0 for the likeliest, and not its id.
        Look the id up: `order.gather(-1, place)`."""
        kept = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values
        return torch.nn.functional.pad(
            kept, (0, logits.shape[-1] - kept.shape[-1]), value=-torch.inf
        )


@sampling.mistakes_in(Sampling.filtered, costs=NUCLEUS)
class SamplingFiltered:
    @called("top_p summed over all words, also beside top_k")
    def sums_over_all(self, logits, top_k, top_p):
        """Where both cuts are made, your sums for top_p run over the probabilities of all words. First
        the `top_k` likeliest stay; of these, renormalised, the smallest set that reaches `top_p`."""
        chances = logits.softmax(dim=-1)
        if top_p is not None:
            chances = self.nucleus(chances, top_p)
        return chances if top_k is None else self.best(chances.log(), top_k).softmax(dim=-1)

    def top_p_unused_beside_top_k(self, logits, top_k, top_p):
        """Where `top_k` is given, your function takes no notice of `top_p`. Both cuts are made, one
        after the other."""
        return Sampling.filtered(self, logits, top_k, None if top_k is not None else top_p)

    def top_k_unused_beside_top_p(self, logits, top_k, top_p):
        """Where `top_p` is given, your function takes no notice of `top_k`. Both cuts are made, one
        after the other."""
        return Sampling.filtered(self, logits, None if top_p is not None else top_k, top_p)


@sampling.mistakes_in(Sampling.shares, costs=COOLED)
class SamplingShares:
    @called("exponentials that overflow")
    def bare(self, logits):
        """Logits far above 0 have infinite exponentials, and those far below 0 have none but zeros.
        `softmax` first takes off the largest logit of a row."""
        powers = logits.exp()
        return powers / powers.sum(dim=-1, keepdim=True)

    def one_maximum_for_all_rows(self, logits):
        """You take off one maximum from all rows, and where a row lies far below it, all exponentials are 0.
        Each row has a maximum of its own."""
        powers = (logits - logits.max()).exp()
        return powers / powers.sum(dim=-1, keepdim=True)


@sampling.mistakes_in(Sampling.beyond, costs=NUCLEUS)
class SamplingBeyond:
    def top_p_unused(self, falling, top_p):
        """Words come that do not belong to the smallest set that reaches `top_p`. Sort the
        probabilities, add them up, and give all others the probability 0."""
        return torch.zeros_like(falling, dtype=torch.bool)

    @called("the word that crosses top_p left out")
    def without_the_crossing_word(self, falling, top_p):
        """Your set ends before the sum reaches top_p. The word with which it gets there belongs to the
        set, so ask for the sum of the words *before* each one. One word always stays."""
        cut = falling.cumsum(dim=-1) > top_p
        cut[:, 0] = False
        return cut

    @called("an empty nucleus")
    def nothing_left(self, falling, top_p):
        """Where the likeliest word alone has more than top_p, nothing is left in your set. The word that
        reaches top_p belongs to it, so at least one word stays."""
        return falling.cumsum(dim=-1) > top_p

    @called("one word too many in the nucleus")
    def one_too_many(self, falling, top_p):
        """One word more than necessary is left by top_p. The set is the smallest one that reaches
        top_p: after the word that crosses it comes none."""
        before = falling.cumsum(dim=-1) - falling
        return torch.nn.functional.pad(before >= top_p, (1, 0))[:, :-1]

    @called("words above the probability top_p kept")
    def by_single_probabilities(self, falling, top_p):
        """You compare each single probability with top_p, or with 1 − top_p. What is compared is the sum
        over the words, the likeliest first."""
        cut = falling < top_p
        cut[:, 0] = False
        return cut

    @called("words above 1 − top_p kept")
    @message(
        "You compare each single probability with 1 − top_p. What is compared is the sum over the words, "
        "the likeliest first."
    )
    def by_what_is_missing(self, falling, top_p):
        cut = falling < 1 - top_p
        cut[:, 0] = False
        return cut

    @called("the first row's nucleus for all rows")
    def one_size(self, falling, top_p):
        """Every row keeps as many words as the first one. Each row has a set of its own size."""
        return Sampling.beyond(self, falling, top_p)[:1].expand_as(falling)


@sampling.mistakes_in(Sampling.nucleus, costs=NUCLEUS)
class SamplingNucleus:
    @called("not scattered back")
    def places_for_words(self, chances, top_p):
        """Which words are cut is known in sorted order, and you apply it in the order of the ids, so the
        wrong words go. Carry it back with `scatter`, or draw a place and look up its id."""
        falling = chances.sort(dim=-1, descending=True).values
        return chances.masked_fill(self.beyond(falling, top_p), 0.0).clamp(min=1e-30)

    @called("rank taken for the word after top_p")
    def ranks(self, chances, top_p):
        """What you return is a word's place in the sorted order, 0 for the likeliest, and not its id.
        Look the id up: `order.gather(-1, place)`."""
        falling = chances.sort(dim=-1, descending=True).values
        return falling.masked_fill(self.beyond(falling, top_p), 0.0)

    @called("sorted upwards")
    def the_least_likely_first(self, chances, top_p):
        """You add the probabilities up from the smallest, so the unlikely words stay and the likeliest
        go. Sort with `descending=True`."""
        rising, order = chances.sort(dim=-1)
        cut = self.beyond(rising, top_p)
        return chances.masked_fill(torch.zeros_like(cut).scatter(-1, order, cut), 0.0)

    @called("not sorted")
    def in_the_order_of_the_ids(self, chances, top_p):
        """You add the probabilities up in the order of the ids. The set consists of the likeliest words,
        so sort before you add."""
        return chances.masked_fill(self.beyond(chances, top_p), 0.0)


@sampling.mistakes_in(Sampling.draw, costs=DRAWN)
class SamplingDraw:
    def generator_ignored(self, chances, generator):
        """You draw from torch's own generator although another one was given. Hand it on, as in
        `torch.multinomial(…, generator=generator)`."""
        return torch.multinomial(chances, 1)

    def nothing_drawn_from_the_generator_itself(self, chances, generator):
        """No number is drawn from the generator itself, nor from torch's own. A copy of the generator gives
        the same numbers again in the next call, and the random numbers of other libraries do not depend
        on it at all. Where should all numbers come from?"""
        if generator is not None:
            copy = torch.Generator()
            copy.set_state(generator.get_state())
            generator = copy
        return torch.multinomial(chances, 1, generator=generator)

    def seeded_anew(self, chances, generator):
        """Something is seeded in every call, so every call gives the same words. Seeding is the
        caller's matter: here, draw."""
        if generator is not None:
            generator.manual_seed(0)
        else:
            torch.manual_seed(0)
        return torch.multinomial(chances, 1, generator=generator)

    @costs(COOLED)
    @called("the likeliest word in place of a draw")
    def not_drawn(self, chances, generator):
        """You always take the likeliest word. Draw one, each as often as its probability says, for
        instance with `torch.multinomial`."""
        return chances.argmax(dim=-1, keepdim=True)

    @costs(COOLED)
    @called("one draw for all rows")
    def one_number(self, chances, generator):
        """One random number decides for all rows. Each row has a draw of its own."""
        number = torch.rand(1, generator=generator, dtype=chances.dtype)
        below = chances.cumsum(dim=-1) / chances.sum(dim=-1, keepdim=True) <= number
        return below.sum(dim=-1, keepdim=True).clamp(max=chances.shape[-1] - 1)

    @costs(COOLED)
    @called("one draw spread over all rows")
    def at_equal_distances(self, chances, generator):
        """One random number places the draws of all rows at equal distances, so words come as often as they
        should, and rows that follow each other draw the same. Each row has a draw of its own."""
        B, V = chances.shape
        first = torch.rand(1, generator=generator, dtype=torch.float64)
        numbers = ((torch.arange(B) + first) / B).unsqueeze(1)
        sums = chances.double().cumsum(dim=-1)
        return (sums / sums[:, -1:] <= numbers).sum(dim=-1, keepdim=True).clamp(max=V - 1)

    @costs(COOLED)
    @called("each word equally likely")
    def uniform(self, chances, generator):
        """Every word that is left comes equally often in your draws. Draw each as often as its
        probability says."""
        return torch.multinomial((chances > 0).to(chances.dtype), 1, generator=generator)


@sampling.mistakes_in(Sampling.result, costs=DRAWN)
class SamplingResult:
    @called("(B, 1) for (B,)")
    def with_an_axis(self, ids):
        """`torch.multinomial` gives ids of shape (B, 1). The result has one id a row and no further
        axis: `squeeze(-1)`."""
        return ids

    @called("no axis left for one row")
    def squeezed_bare(self, ids):
        """With a single row your result has no axis at all. A bare `squeeze()` removes every axis of
        length 1: remove the last one only."""
        return ids.squeeze()


@sampling.mistakes_in(Sampling.certain, costs=DRAWN)
class SamplingCertain:
    @called("temperature 0 divides by zero")
    def divided_by_zero(self, logits):
        """Temperature 0 makes your logits infinite or NaN. It means the likeliest word: take `argmax`
        before you divide."""
        return torch.multinomial((logits / 0).softmax(dim=-1), 1).squeeze(-1)

    @called("a small temperature for 0")
    @variants("small", (1e-2, 1e-3, 1e-4))
    def drawn_all_the_same(self, logits, small):
        """At temperature 0 you draw with a small one in its place, so where two logits are nearly the same,
        the second word comes, too. Temperature 0 takes the likeliest word: `argmax`."""
        return torch.multinomial((logits / small).softmax(dim=-1), 1).squeeze(-1)


@sampling.mistakes_in(Sampling.check, costs=DRAWN)
class SamplingCheck:
    @called("no ValueError")
    def unchecked(self, temperature, top_k, top_p):
        """Arguments that make no sense pass without a word. Raise a ValueError for temperature < 0,
        top_k < 1, and top_p ≤ 0 or > 1."""

    @called("no check at temperature 0")
    def warm_only(self, temperature, top_k, top_p):
        """At temperature 0 your function returns before it has looked at top_k and top_p. Check the
        arguments first, whatever the temperature is."""
        if temperature != 0:
            Sampling.check(self, temperature, top_k, top_p)

    @called("top_p not checked")
    def nucleus_unchecked(self, temperature, top_k, top_p):
        """A top_p of 0 or less, or above 1, passes without a word. Raise a ValueError."""
        Sampling.check(self, temperature, top_k, None)

    @called("top_k not checked")
    def best_unchecked(self, temperature, top_k, top_p):
        """A top_k below 1 passes without a word, or ends in another error than a ValueError."""
        Sampling.check(self, temperature, None, top_p)

    @called("top_p = 1 refused")
    def one_refused(self, temperature, top_k, top_p):
        """You refuse top_p = 1, which keeps every word and is allowed."""
        Sampling.check(self, temperature, top_k, top_p)
        if top_p == 1:
            raise ValueError("top_p")


@sampling.mistake("logits changed", costs=(DRAWN,))
def dividing_in_place(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    """You divide the caller's logits in place, or write −∞ into them. Work on new tensors, without
    `/=` and without assignments to `logits[...]`."""
    Sampling().check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(dim=-1)
    left = Sampling().filtered(logits / temperature, top_k, top_p)
    ids = torch.multinomial(left, 1, generator=generator).squeeze(-1)
    logits /= temperature
    if top_k is not None:
        logits[left == 0] = -torch.inf
    return ids


@sampling.mistake("filters before the temperature", costs=(NUCLEUS,))
class FiltersFirst(Sampling):
    """You cut by top_k and top_p first and divide by the temperature afterwards, so the sums for top_p are
    those at temperature 1. The temperature comes first, because the cuts are made in what is drawn from."""

    def answer(self, logits, temperature=1.0, top_k=None, top_p=None, generator=None):
        self.check(temperature, top_k, top_p)
        if temperature == 0:
            return self.certain(logits)
        left = self.filtered(logits, top_k, top_p)
        return self.result(self.draw((left.log() / temperature).softmax(dim=-1), generator))
