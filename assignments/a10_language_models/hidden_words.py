"""Assignment 10, what is drawn for `mask_words`: sentences of which words are hidden, and how often each fate comes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from assignments.common.draws import a_generator, twice
from autograder.checks.cases import Call, Case, Chain, Chance, Randn
from course_utils import language_models

BATCH = 110, 240
MANY = 100  # a vocabulary in which random ids come too rarely to be counted one by one
APART = 2  # a number of words so far from their share is not nearly that


def hidden_words(
    share: float | None,
    *,
    V: int = 53,
    mask_id: int = 4,
    special: tuple[int, ...] = (0, 4, 1),
    seeded: bool = False,
    fates: bool = False,
) -> Case:
    """ids (B, T) of twelve words of V, with special ones among them.

    What is counted is which words were chosen or, with ``fates``, what chosen ones became.
    """
    words = _twelve_words(V, mask_id, special)

    def draw(randn: Randn) -> Call:
        ids = torch.randint(len(words) + len(special), BATCH, generator=randn.generator)
        ids = torch.tensor([*words, *special])[ids]
        given: list[Any] = [ids, mask_id, V, special]
        if share is not None or seeded:
            given.append(0.15 if share is None else share)
        if seeded:
            given.append(a_generator(randn))
        return Call(given)

    by_default = 0.15 if share is None else share
    chance = (becomes if fates else chosen)(by_default, V, mask_id, special)
    notes = f"token_ids of shape {BATCH}, {mask_id=}, vocab_size={V}, special_ids={special}"
    notes += f", {share=}" * (share is not None) + ", with a generator" * seeded
    return Case(notes, draw, random=True, chance=chance)


def hidden_again_and_again(
    calls: int,
    few: tuple[int, int],
    share: float,
    *,
    V: int = 53,
    mask_id: int = 4,
    special: tuple[int, ...] = (5, 1),
    fates: bool = False,
) -> Case:
    """Many calls with a few sentences each, which all begin with a special id.

    Few things are counted, so that a number which never differs stands out: that of chosen words or,
    with ``fates``, that of masks among words that are all chosen.
    """
    words = torch.tensor(_twelve_words(V, mask_id, special))
    ordinary = few[0] * (few[1] - 1)
    rate = share * (0.8 + 0.1 / V if fates else 1.0)

    def draw(randn: Randn) -> Chain:
        ids = words[torch.randint(len(words), (calls, *few), generator=randn.generator)]
        ids[:, :, 0] = special[0]
        return Chain([[token_ids, mask_id, V, special, share] for token_ids in ids])

    def expects(*given: list[Any]) -> Tensor:
        usual = ~torch.isin(torch.cat([ids for ids, *_ in given]), torch.tensor(special))
        hit = rate * float(usual.sum())
        pairs = [rate**2 * float((one & other).sum()) for one, other in _neighbours(usual)]
        number = torch.arange(ordinary + 1, dtype=torch.float64)
        binomial = torch.distributions.Binomial(ordinary, torch.tensor(rate, dtype=number.dtype))
        near = (number - rate * ordinary).abs() < APART
        often = calls * float(binomial.log_prob(number).exp()[near].sum())
        counts = [hit, usual.numel() - hit, *pairs, often, calls - often, 0.0, 0.0]
        return torch.tensor(counts, dtype=torch.float64)

    def tally(results: Any) -> Tensor:
        both = torch.cat([one for one, _ in results]), torch.cat([other for _, other in results])
        before, is_chosen, fate = _words_and_fates(both, mask_id)
        hit = fate == 1 if fates else is_chosen
        pairs = [one & other for one, other in _neighbours(hit)]
        number = torch.stack([one.sum() for one in hit.split(few[0])])
        near = (number - rate * ordinary).abs() < APART
        special_ones = is_chosen & torch.isin(before, torch.tensor(special))
        others = ~torch.isin(before, torch.tensor([*words, *special]))
        return torch.stack(
            [one.sum() for one in (hit, ~hit, *pairs, near, ~near, special_ones, others)]
        )

    what = "mask_id in the place of a chosen word" if fates else "a chosen word"
    names = [what, f"anything but {what}"]
    names += [f"{what}, beside another one,", f"{what}, in the same place of two rows that follow,"]
    done = "masked" if fates else "chosen"
    names += [f"a call in which {rate:.0%} of the words, or nearly so, were {done},"]
    names += [f"a call in which another number of words were {done}"]
    names += ["a special id, chosen,", "an id that did not stand there before"]
    return Case(
        f"{calls} calls with token_ids of shape {few}, {mask_id=}, vocab_size={V}, "
        f"special_ids={special}, {share=}",
        draw,
        random=True,
        chance=Chance(expects, tally, tuple(names)),
    )


def _twelve_words(V: int, mask_id: int, special: tuple[int, ...]) -> list[int]:
    """Words from the whole vocabulary, with even and odd ids."""
    usual = [word for word in range(V) if word not in special and word != mask_id]
    return [usual[2 + place * (len(usual) - 3) // 11] for place in range(12)]


def _words_and_fates(result: Any, mask_id: int) -> tuple[Tensor, Tensor, Tensor]:
    """The ids before, as a result tells them; whether each was chosen; and what it became."""
    inputs, targets = result
    is_chosen = targets != language_models.IGNORED
    words = torch.where(is_chosen, targets, inputs)
    fate = torch.where(inputs == mask_id, 1, torch.where(inputs == words, 2, 3))
    return words, is_chosen, torch.where(is_chosen, fate, 0)


def chosen(share: float, V: int, mask_id: int, special: tuple[int, ...]) -> Chance:
    """Which ids were chosen and which left alone, and neighbours that were chosen together."""

    def ordinary(words: Tensor) -> Tensor:
        return ~torch.isin(words, torch.tensor(special))

    def expects(token_ids: Tensor, *_: Any) -> Tensor:
        usual = ordinary(token_ids)
        number = torch.bincount(token_ids[usual], minlength=V).double()
        rest = torch.bincount(token_ids[~usual], minlength=V).double()
        pairs = torch.stack([(one & other).sum() for one, other in _neighbours(usual)])
        together = share**2 * pairs.double()
        total = torch.stack([share * number.sum(), torch.zeros_like(together[0])])
        return torch.cat([share * number, (1 - share) * number + rest, together, total])

    def tally(result: Any) -> Tensor:
        words, is_chosen, _ = _words_and_fates(result, mask_id)
        known = (words >= 0) & (words < V)
        by_word = [
            torch.bincount(words[known & one], minlength=V) for one in (is_chosen, ~is_chosen)
        ]
        together = [(one & other).sum() for one, other in _neighbours(is_chosen)]
        return torch.cat([*by_word, torch.stack([*together, is_chosen.sum(), (~known).sum()])])

    names = [f"the word {word}, chosen" for word in range(V)]
    names += [f"the word {word}, not chosen (by what inputs and targets say)" for word in range(V)]
    names += [
        "a chosen word beside a chosen one",
        "a chosen word in the same place of the next row",
        "a chosen word",
    ]
    return Chance(expects, tally, (*names, "an id outside the vocabulary"))


def becomes(share: float, V: int, mask_id: int, special: tuple[int, ...]) -> Chance:
    """What the chosen words became: the mask, themselves, or which other word.

    Special ids among the random ones are free, so these are not counted, and how often each other id is
    expected lies half-way between the two. In a large vocabulary, random ids are counted by the part of it
    from which they come, and each word's fate by itself.
    """
    at_random = 0.1 * (1 / V + 1 / (V - len(special))) / 2
    large = V >= MANY
    words = torch.tensor(_twelve_words(V, mask_id, special) if large else [], dtype=torch.int64)
    others = torch.tensor([word for word in range(V) if word not in special and word != mask_id])
    half = int(others[len(others) // 2])
    width = MANY // 2 if large else 1
    parts = others // width

    def expects(token_ids: Tensor, *_: Any) -> Tensor:
        usual = ~torch.isin(token_ids, torch.tensor(special))
        own = share * torch.bincount(token_ids[usual], minlength=V).double()
        number = own.sum()
        fates = number * torch.tensor([0.8 + 0.1 / V, 0.1 + 0.1 / V], dtype=torch.float64)
        pairs = share**2 * torch.stack([(one & other).sum() for one, other in _neighbours(usual)])
        together = torch.outer(pairs.double(), torch.tensor([0.64, 0.01]).double())
        each = at_random * (number - own[others])
        each = torch.zeros(V // width + 1).double().index_add(0, parts, each)
        kept = (0.1 + at_random) * own[words]
        lower = at_random * own[words] * ((others < half).sum() - (words < half).double())
        upper = at_random * own[words] * ((others >= half).sum() - (words >= half).double())
        nothing = torch.zeros(1, dtype=torch.float64)
        return torch.cat([fates, together.flatten(), each, kept, lower, upper, nothing])

    def tally(result: Any) -> Tensor:
        before, _, fate = _words_and_fates(result, mask_id)
        inputs = result[0]
        fates = torch.stack([(fate == one).sum() for one in (1, 2)])
        together = torch.stack(
            [
                ((one == which) & (other == which)).sum()
                for one, other in _neighbours(fate)
                for which in (1, 2)
            ]
        )
        drawn, instead_of = inputs[fate == 3], before[fate == 3]
        usual = torch.isin(drawn, others)
        each = torch.bincount(drawn[usual] // width, minlength=V // width + 1)
        lower, upper = usual & (drawn < half), usual & (drawn >= half)
        by_word = [
            (words.unsqueeze(1) == one).sum(dim=1)
            for one in (before[fate == 2], instead_of[lower], instead_of[upper])
        ]
        unknown = ((inputs < 0) | (inputs >= V)).sum().reshape(1)
        return torch.cat([fates, together, each, *by_word, unknown])

    names = ["mask_id in the place of a chosen word", "a chosen word that stayed"]
    for where in ("beside", "in the same place of the next row as"):
        names += [f"mask_id {where} mask_id", f"a chosen word that stayed {where} another one"]
    for first in range(0, V + 1, width):
        ids = f"the id {first}" if width == 1 else f"an id from {first} to {first + width - 1}"
        names += [f"{ids} in the place of another, chosen word"]
    names += [f"the word {word}, chosen and kept," for word in words]
    for ids in (f"a random id below {half}", f"a random id from {half} on"):
        names += [f"{ids}, in the place of the word {word}," for word in words]
    return Chance(expects, tally, (*names, "an id outside the vocabulary"))


def words_that_stay(V: int, mask_id: int) -> Case:
    """All words of a small vocabulary, in which a random id is often the one that stood there.

    How many stay as they were is all that is counted, and it is about the same whether the mask, which
    is the only special id, is left out of the random ones or not.
    """

    def draw(randn: Randn) -> list[Any]:
        ids = torch.randint(V, (100, 240), generator=randn.generator)
        return [ids, mask_id, V, (mask_id,), 1.0]

    def expects(token_ids: Tensor, *_: Any) -> Tensor:
        often = 0.1 + 0.1 * (1 / V + 1 / (V - 1)) / 2
        return often * (token_ids != mask_id).sum().double().reshape(1)

    def tally(result: Any) -> Tensor:
        return (_words_and_fates(result, mask_id)[2] == 2).sum().reshape(1)

    what = "a chosen word that stayed, or became itself by chance,"
    label = f"token_ids of shape (100, 240), {mask_id=}, vocab_size={V}, special_ids=({mask_id},), share=1.0"
    return Case(label, draw, random=True, chance=Chance(expects, tally, (what,)))


def _neighbours(places: Tensor) -> list[tuple[Tensor, Tensor]]:
    """What stands side by side, and what stands in the same place of two rows that follow."""
    return [(places[:, 1:], places[:, :-1]), (places[1:], places[:-1])]


def hidden_twice(anew: bool, seeded: bool = True) -> Case:
    def given(randn: Randn) -> list[Any]:
        return [torch.randint(5, 30, (9, 21), generator=randn.generator), 3, 30, (0, 1, 2, 3), 0.4]

    return twice(given, anew, seeded)
