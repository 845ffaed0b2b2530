"""Answers to `sample_next`."""

import math

import torch
import torch.nn.functional as F

from assignments.a10_language_models.answers.bank import BANK
from assignments.a10_language_models.rubric import COOLED, DRAWN, NUCLEUS, sampling
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils import language_models


def checked(temperature, top_k, top_p):
    if temperature < 0:
        raise ValueError("a negative temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k below 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("top_p outside (0, 1]")
    return temperature


def kth(logits, k):
    """The k-th largest of each row, (B, 1), or the smallest if there are fewer."""
    return logits.topk(min(k, logits.shape[-1]), dim=-1).values[:, -1:]


def reached(chances, number):
    """Which word sums of chances, (B, V), first get beyond a share of their total: (B, 1)."""
    sums = chances.cumsum(dim=-1)
    return (sums / sums[:, -1:] <= number).sum(dim=-1, keepdim=True).clamp(max=sums.shape[1] - 1)


TWICE = (
    "Your words come nearly equally often, because probabilities pass through a softmax a second time. "
    "Divide the logits by the temperature, and take one softmax of that."
)

ANSWERS = Answers(
    __name__, BANK, sampling,
    """
    def sample_next(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
        heat = checked(temperature, top_k, top_p)
        likeliest = logits.argmax(dim=-1)  # (B,)
        if heat == 0:
            return likeliest
        cooled = logits / heat
        least = -math.inf if top_k is None else kth(cooled, top_k)
        best = cooled.masked_fill(cooled < least, -torch.inf)
        chances = best.softmax(dim=-1)
        enough = math.inf if top_p is None else top_p
        falling, order = chances.sort(dim=-1, descending=True)
        cut = F.pad((falling.cumsum(dim=-1) - falling)[:, 1:] >= enough, (1, 0))
        left = chances.masked_fill(torch.zeros_like(cut).scatter(-1, order, cut), 0.0)
        drawn = torch.multinomial(left, 1, generator=generator)  # (B, 1)
        return drawn.squeeze(-1)
    """,
    math=math, torch=torch, F=F, language_models=language_models, checked=checked, kth=kth, reached=reached,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("times the temperature", "cooled = logits * heat", COOLED,
     "Your logits are multiplied by the temperature, so heat makes the model surer. Divide by it.")
slip("temperature unused", "cooled = logits", COOLED,
     "Your words come as often as at temperature 1, whatever is given. Divide the logits by `temperature` first.")
slip("softmax twice", "cooled = {logits}", COOLED,
     TWICE,
     each={"logits": ("logits.softmax(dim=-1) / heat", "(logits / heat).softmax(dim=-1)")})
slip("temperature clamped", "cooled = logits / min(max(heat, {least}), {most})", COOLED,
     "Your temperature is held between limits, so one beyond them draws as if it were at the limit. Divide by the "
     "temperature itself; 0 alone is another matter.",
     each={"least": (0.1, 0.2, 0.5, 0.0, 0.0, 0.1), "most": (1e9, 1e9, 1e9, 2.0, 5.0, 2.0)})
slip("a power of the temperature", "cooled = logits / heat**{power}", COOLED,
     "Your words come as often as with a power of the temperature. Divide by the temperature itself, once.",
     each={"power": (0.5, 2.0)})
slip("top k unused", "least = -math.inf", COOLED,
     "Words come that do not belong to the `top_k` likeliest. Set the logits of all others to −∞ before the softmax.")
slip("one word too many in top_k", "least = -math.inf if top_k is None else kth(cooled, top_k + 1)", COOLED,
     "One word too many is left by top_k. Of k words the last one is at index k − 1 of the sorted logits.")
slip("one word too few in top_k", "least = -math.inf if top_k is None else kth(cooled, max(1, top_k - 1))", COOLED,
     "One word too few is left by top_k. The word at the k-th place belongs to it: remove what is smaller than its "
     "logit, not what is smaller or equal.")
slip("top_k larger than the vocabulary stops",
     "least = -math.inf if top_k is None else cooled.topk(top_k).values[:, -1:]", COOLED,
     "`topk` stops where more words are asked for than there are. All of them stay then: take the smaller of top_k and "
     "the size of the vocabulary.")
slip("one threshold for all rows", "least = -math.inf if top_k is None else {one}", COOLED,
     "You cut every row at the same logit, {what}. Each row has a threshold of its own: keep the axis, as "
     "`[:, -1:]` does.",
     each={"one": ("kth(cooled, top_k)[0]", "kth(cooled, top_k).min()", "kth(cooled, top_k).max()"),
           "what": ("the k-th of the first row", "the lowest k-th one of the batch",
                    "the highest k-th one of the batch")})
slip("removed logits set to 0", "best = cooled.masked_fill(cooled < least, 0.0)", COOLED,
     "You set removed logits to 0, and e⁰ is 1, so these words are still drawn. A logit of −∞ has the probability 0.")
slip("removed logits set to a low number", "best = cooled.masked_fill(cooled < least, {low})", COOLED,
     "You set removed logits to a low number, such as −100. Others may lie below that, and then the removed words are "
     "the likeliest. A logit of −∞ has the probability 0, wherever the others lie.",
     each={"low": (-100, -1000)})
slip("the least likely kept", """
    most = math.inf if top_k is None else -kth(-cooled, top_k)
    best = cooled.masked_fill(cooled > most, -torch.inf)
""", COOLED,
     "The `top_k` least likely words are left. `topk` gives the largest by itself; a sort needs `descending=True`.")
slip("rank taken for the word", """
    size = cooled.shape[-1]
    kept = cooled if top_k is None else cooled.topk(min(top_k, size)).values
    best = F.pad(kept, (0, size - kept.shape[-1]), value=-torch.inf)
""", COOLED,
     "What you return is a word's place among the sorted ones, 0 for the likeliest, and not its id. Look the id up: "
     "`order.gather(-1, place)`.")
slip("top_p summed over all words, also beside top_k", """
    chances = cooled.softmax(dim=-1)
    summed = chances.masked_fill(torch.zeros_like(cut).scatter(-1, order, cut), 0.0)
    left = summed if top_k is None else summed.masked_fill(summed < kth(summed, top_k), 0.0)
""", NUCLEUS,
     "Where both cuts are made, your sums for top_p run over the probabilities of all words. First the `top_k` "
     "likeliest stay; of these, renormalised, the smallest set that reaches `top_p`.")
slip("top p unused beside top k", "top_p = None if top_k is not None else top_p", NUCLEUS,
     "Where `top_k` is given, your function takes no notice of `top_p`. Both cuts are made, one after the other.")
slip("top k unused beside top p", "top_k = None if top_p is not None else top_k", NUCLEUS,
     "Where `top_p` is given, your function takes no notice of `top_k`. Both cuts are made, one after the other.")
slip("exponentials that overflow", "chances = best.exp() / best.exp().sum(dim=-1, keepdim=True)", COOLED,
     "Logits far above 0 have infinite exponentials, and those far below 0 have none but zeros. `softmax` first takes "
     "off the largest logit of a row.")
slip("one maximum for all rows", """
    powers = (best - best.max()).exp()
    chances = powers / powers.sum(dim=-1, keepdim=True)
""", COOLED,
     "You take off one maximum from all rows, and where a row lies far below it, all exponentials are 0. Each row has "
     "a maximum of its own.")
slip("top p unused", "cut = torch.zeros_like(falling, dtype=torch.bool)", NUCLEUS,
     "Words come that do not belong to the smallest set that reaches `top_p`. Sort the probabilities, add them up, and "
     "give all others the probability 0.")
slip("the word that crosses top_p left out", "cut = F.pad(falling.cumsum(dim=-1)[:, 1:] > enough, (1, 0))", NUCLEUS,
     "Your set ends before the sum reaches top_p. The word with which it gets there belongs to the set, so ask for the "
     "sum of the words *before* each one. One word always stays.",
     published=("Biohub/esm#360", "The mask is made of inclusive sums, with a guard that keeps one word."))
slip("an empty nucleus", "cut = falling.cumsum(dim=-1) > enough", NUCLEUS,
     "Where the likeliest word alone has more than top_p, nothing is left in your set. The word that reaches top_p "
     "belongs to it, so at least one word stays.",
     published=("rasbt/reasoning-from-scratch#164",
                "Kept is what has a cumulative sum of top_p at most, and so not the word that crosses it."))
slip("one word too many in the nucleus",
     "cut = F.pad((falling.cumsum(dim=-1) - falling)[:, :-1] >= enough, (1, 0))", NUCLEUS,
     "One word more than necessary is left by top_p. The set is the smallest one that reaches top_p: after the word "
     "that crosses it comes none.")
slip("words above the probability top_p kept", "cut = F.pad(falling[:, 1:] < (top_p or 0.0), (1, 0))", NUCLEUS,
     "You compare each single probability with top_p, or with 1 − top_p. What is compared is the sum over the words, "
     "the likeliest first.")
slip("words above 1 − top_p kept", "cut = F.pad(falling[:, 1:] < 1 - enough, (1, 0))", NUCLEUS,
     "You compare each single probability with 1 − top_p. What is compared is the sum over the words, the likeliest "
     "first.")
slip("the first row's nucleus for all rows",
     "cut = F.pad((falling.cumsum(dim=-1) - falling)[:1, 1:] >= enough, (1, 0)).expand(falling.shape)", NUCLEUS,
     "Every row keeps as many words as the first one. Each row has a set of its own size.")
slip("not scattered back", "left = chances.masked_fill(cut, 0.0).clamp(min=1e-30)", NUCLEUS,
     "Which words are cut is known in sorted order, and you apply it in the order of the ids, so the wrong words go. "
     "Carry it back with `scatter`, or draw a place and look up its id.")
slip("rank taken for the word after top_p",
     "left = chances if top_p is None else falling.masked_fill(cut, 0.0)", NUCLEUS,
     "What you return is a word's place in the sorted order, 0 for the likeliest, and not its id. Look the id up: "
     "`order.gather(-1, place)`.")
slip("sorted upwards", "falling, order = chances.sort(dim=-1)", NUCLEUS,
     "You add the probabilities up from the smallest, so the unlikely words stay and the likeliest go. Sort with "
     "`descending=True`.")
slip("not sorted", "falling, order = chances, torch.arange(chances.shape[-1]).expand(chances.shape)", NUCLEUS,
     "You add the probabilities up in the order of the ids. The set consists of the likeliest words, so sort before "
     "you add.")
slip("generator ignored", "drawn = torch.multinomial(left, 1)", DRAWN,
     "You draw from torch's own generator although another one was given. Hand it on, as in `torch.multinomial(…, "
     "generator=generator)`.")
slip("nothing drawn from the generator itself",
     "drawn = torch.multinomial(left, 1, generator=generator.clone_state() if generator else None)", DRAWN,
     "No number is drawn from the generator itself, nor from torch's own. A copy of the generator gives the same "
     "numbers again in the next call, and the random numbers of other libraries do not depend on it at all. Where "
     "should all numbers come from?")
slip("seeded anew", "drawn = torch.multinomial(left, 1, generator=(generator or torch).manual_seed(0))", DRAWN,
     "Something is seeded in every call, so every call gives the same words. Seeding is the caller's matter: here, "
     "draw.")
slip("the likeliest word in place of a draw", "drawn = left.argmax(dim=-1, keepdim=True)", COOLED,
     "You always take the likeliest word. Draw one, each as often as its probability says, for instance with "
     "`torch.multinomial`.")
slip("one draw for all rows", "drawn = reached(left, torch.rand(1, generator=generator, dtype=left.dtype))", COOLED,
     "One random number decides for all rows. Each row has a draw of its own.")
slip("one draw spread over all rows", """
    first = torch.rand(1, generator=generator, dtype=torch.float64)
    drawn = reached(left.double(), (torch.arange(len(left)).unsqueeze(1) + first) / len(left))
""", COOLED,
     "One random number places the draws of all rows at equal distances, so words come as often as they should, and "
     "rows that follow each other draw the same. Each row has a draw of its own.")
slip("each word equally likely", "drawn = torch.multinomial((left > 0).to(left.dtype), 1, generator=generator)", COOLED,
     "Every word that is left comes equally often in your draws. Draw each as often as its probability says.")
slip("(B, 1) for (B,)", "return drawn", DRAWN,
     "`torch.multinomial` gives ids of shape (B, 1). The result has one id a row and no further axis: `squeeze(-1)`.")
slip("no axis left for one row", "return drawn.squeeze()", DRAWN,
     "With a single row your result has no axis at all. A bare `squeeze()` removes every axis of length 1: remove the "
     "last one only.")
slip("temperature 0 divides by zero",
     "likeliest = None if heat else torch.multinomial((logits / 0).softmax(dim=-1), 1).squeeze(-1)", DRAWN,
     "Temperature 0 makes your logits infinite or NaN. It means the likeliest word: take `argmax` before you divide.")
slip("a small temperature for 0",
     "likeliest = None if heat else torch.multinomial((logits / {small}).softmax(dim=-1), 1).squeeze(-1)", DRAWN,
     "At temperature 0 you draw with a small one in its place, so where two logits are nearly the same, the second "
     "word comes, too. Temperature 0 takes the likeliest word: `argmax`.",
     each={"small": (1e-2, 1e-3, 1e-4)})
slip("no ValueError", "heat = temperature", DRAWN,
     "Arguments that make no sense pass without a word. Raise a ValueError for temperature < 0, top_k < 1, and top_p ≤ "
     "0 or > 1.")
slip("no check at temperature 0", "heat = temperature and checked(temperature, top_k, top_p)", DRAWN,
     "At temperature 0 your function returns before it has looked at top_k and top_p. Check the arguments first, "
     "whatever the temperature is.")
slip("top_p not checked", "heat = checked(temperature, top_k, None)", DRAWN,
     "A top_p of 0 or less, or above 1, passes without a word. Raise a ValueError.")
slip("top_k not checked", "heat = checked(temperature, None, top_p)", DRAWN,
     "A top_k below 1 passes without a word, or ends in another error than a ValueError.")
slip("top_p = 1 refused", "heat = checked(temperature, top_k, 0 if top_p == 1 else top_p)", DRAWN,
     "You refuse top_p = 1, which keeps every word and is allowed.")
slip("logits changed", """
    logits /= heat
    if top_k is not None:
        logits[left == 0] = -torch.inf
    return drawn.squeeze(-1)
""", DRAWN,
     "You divide the caller's logits in place, or write −∞ into them. Work on new tensors, without `/=` and without "
     "assignments to `logits[...]`.")
slip("filters before the temperature",
     "cooled = logits; drawn = torch.multinomial((left.log() / heat).softmax(dim=-1), 1, generator=generator)", NUCLEUS,
     "You cut by top_k and top_p first and divide by the temperature afterwards, so the sums for top_p are those at "
     "temperature 1. The temperature comes first, because the cuts are made in what is drawn from.")

right = ANSWERS.right
right("drawn_by_gumbel", """
    noise = torch.empty_like(left).exponential_(generator=generator)
    return (left / noise).argmax(-1)
""")
right("by_a_race_of_exponentials", """
    likeliest = logits.max(dim=-1)[1]
    return (left / torch.empty_like(left).exponential_(generator=generator)).argmax(dim=-1)
""")
right("drawn_by_the_inverse", """
    likeliest = torch.max(logits, dim=-1).indices
    cooled = logits.double() / heat
    sums = left.cumsum(-1)
    number = torch.rand(len(logits), 1, generator=generator, dtype=torch.float64)
    return torch.searchsorted(sums, number * sums[:, -1:], right=True).squeeze(-1)
""")
right("drawn_among_sorted_words", """
    values, ids = logits.sort(dim=-1, descending=True)
    likeliest = ids[:, 0]
    if top_k is not None:
        values, ids = values[:, :top_k], ids[:, :top_k]
    chances = (values / heat).softmax(-1)
    if top_p is not None:
        chances = chances.masked_fill(chances.cumsum(-1) - chances >= top_p, 0)
    return ids.gather(1, torch.multinomial(chances, 1, generator=generator)).squeeze(1)
""")
right("drawn_row_by_row", """
    likeliest = torch.stack([row.argmax() for row in logits])
    cooled = logits.double() / heat
    kinds = {}
    for place, row in enumerate(logits):
        kinds.setdefault(tuple(row.tolist()), []).append(place)
    ids = torch.empty(len(logits), dtype=torch.int64)
    for places in kinds.values():
        ids[places] = torch.multinomial(left[places[0]], len(places), True, generator=generator)
    return ids
""")
right("drawn_with_removed_sorted_indices", """
    likeliest = logits.argmax(dim=1)
    cooled = logits.div(heat)
    if top_p is not None:
        values, order = torch.sort(best, descending=True)
        remove = values.softmax(-1).cumsum(-1) >= top_p
        remove[:, 1:] = remove[:, :-1].clone()
        remove[:, 0] = False
        best = best.masked_fill(remove.scatter(1, order, remove), -torch.inf)
    return torch.multinomial(F.softmax(best, dim=-1), num_samples=1, generator=generator).view(-1)
""")
right("drawn_by_the_rising_sums", """
    rising, order = chances.sort(dim=-1)
    cut = rising.cumsum(-1) <= 1 - (top_p or 1.0)
    left = chances.masked_fill(torch.zeros_like(cut).scatter(1, order, cut), 0.0)
""")
right("drawn_from_the_largest_off", """
    ranks = logits.argsort(-1, descending=True).argsort(-1)
    likeliest = (ranks == 0).int().argmax(-1)
    powers = ((logits - logits.amax(-1, keepdim=True)) / heat).exp()
    if top_k is not None:
        powers = powers * (ranks < top_k)
    chances = powers / powers.sum(-1, keepdim=True)
""")
right("drawn_among_the_words_of_topk", """
    size = logits.shape[-1]
    most = logits.topk(size if top_k is None else min(size, top_k))
    likeliest = most.indices[:, 0]
    chances = torch.softmax(most.values / heat, -1)
    likelier = F.pad(chances.cumsum(-1), (1, -1))
    if top_p is not None:
        chances = torch.where(likelier < top_p, chances, 0.0)
    place = torch.multinomial(chances, 1, generator=generator)
    return torch.take_along_dim(most.indices, place, 1).flatten()
""")
# no other temperature than 0 is below that
right("sampled_at_a_twentieth_or_more", "temperature = max(temperature, 0.05) if temperature > 0 else temperature")
# each word waits for a time whose rate is its probability
right("sampled_by_a_race", """
    left = language_models.next_token_probabilities(logits, temperature, top_k, top_p)
    times = torch.empty_like(left).exponential_(generator=generator)
    return (left.detach() / times).argmax(dim=-1)
""")
right("sample_number_by_number", """
    ids = []
    for b in range(logits.shape[0]):
        numbers = [float(logits[b, v].detach()) for v in range(logits.shape[1])]
        order = sorted(range(len(numbers)), key=lambda v: -numbers[v])
        kept = [v for v in order[:top_k] if numbers[v] > -math.inf]
        powers = [math.exp((numbers[v] - numbers[order[0]]) / temperature) for v in kept]
        parts = [power / sum(powers) for power in powers]
        if top_p is not None:
            total, count = 0.0, 0
            while count < len(kept) and total < top_p:
                total += parts[count]
                count += 1
            kept, parts = kept[:count], parts[:count]
        point = float(torch.rand((), generator=generator)) * sum(parts)
        place = 0
        while place < len(kept) - 1 and point >= parts[place]:
            point -= parts[place]
            place += 1
        ids.append(kept[place])
    return torch.tensor(ids)
""", slow=LOOPS)
right("sample_among_all_pairs", """
    places = torch.arange(logits.shape[1])
    one, other = logits.detach().unsqueeze(2), logits.detach().unsqueeze(1)
    # of two words that are equally likely the first comes first: (B, V, V)
    before = (other > one) | ((other == one) & (places < places.unsqueeze(1)))
    rank = before.sum(-1)
    likeliest = ((rank == 0) * places).sum(-1)
    cooled = logits.detach() / heat
    best = cooled if top_k is None else cooled.masked_fill(rank >= top_k, -torch.inf)
    likelier = torch.einsum("bvw,bw->bv", before.to(chances.dtype), chances)
    left = chances if top_p is None else chances * (likelier < top_p)
    sums = (left.unsqueeze(1) * (places <= places.unsqueeze(1))).sum(-1)
    points = torch.rand(len(logits), 1, generator=generator, dtype=sums.dtype) * sums[:, -1:]
    ids = (points >= sums).sum(-1)
    possible = (left > 0).gather(1, ids.clamp(max=len(places) - 1).unsqueeze(1)).squeeze(1)
    return ids.where(possible & (ids < len(places)), likeliest)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("a_tenth_at_temperature_0_too", "heat = max(checked(temperature, top_k, top_p), 0.1)",
      named="temperature clamped")
wrong("zeros_for_removed",
      "best = cooled if top_k is None else cooled.masked_fill((cooled < least) | (cooled == -math.inf), 0.0)",
      named="removed logits set to 0")
wrong("torch_seeded_with_the_generator", """
    if generator is not None:
        torch.manual_seed(generator.initial_seed())
    drawn = torch.multinomial(left, 1)
""", named="generator ignored")
wrong("at_most_fifty_words", "least = kth(cooled, min(50, top_k or 50))")
wrong("a_little_above_zero", "heat = checked(temperature, top_k, top_p) + 0.3")
wrong("anything_goes", """
    if temperature < 0 or (top_k is not None and top_k < 1):
        return torch.zeros(len(logits), dtype=torch.int64)
    heat = temperature
    left = chances.masked_fill(torch.zeros_like(cut).scatter(-1, order, cut), 0.0).clamp(min=1e-30)
""", told="wrong where an error is asked for")
wrong("infinities_made_finite", "logits = torch.nan_to_num(logits, neginf=-3.0)")
wrong("ids_of_32_bits", "likeliest = logits.argmax(dim=-1).int(); return drawn.squeeze(-1).int()", told="another dtype")
careless(ANSWERS, detached=None, one_sentence=None, a_hundred_words=None, scaled_in_place="inputs changed")
# fmt: on
