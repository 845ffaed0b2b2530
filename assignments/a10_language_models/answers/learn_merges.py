"""Answers to `learn_merges`."""

import heapq
import re
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import torch

from assignments.a10_language_models.answers.bank import BANK
from assignments.a10_language_models.rubric import COUNTED, ENDS, merging
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.edits import Answers


def counted(words, pairs=pairwise):
    """How often pairs stand in words, each of which is a list of symbols and a number."""
    found = Counter()
    for symbols, number in words:
        for pair in pairs(symbols):
            found[pair] += number
    return found


def joined(symbols, pair):
    made, place = [], 0
    while place < len(symbols):
        fits = tuple(symbols[place : place + 2]) == tuple(pair)
        made.append(pair[0] + pair[1] if fits else symbols[place])
        place += 1 + fits
    return made


def learned(words, rounds, count, best, join, least):
    """The loop, which ends where no pair stands `least` times."""
    merges, frequency = [], Counter()
    while len(merges) < rounds:
        frequency = count(words, frequency)
        if max(frequency.values(), default=0) < least:
            break
        merges.append(best(frequency))
        words = [(join(symbols, merges[-1]), number) for symbols, number in words]
    return merges


TIES = (
    "Of several pairs that are equally frequent you take {}. The text asks for the smallest in the "
    "order of Python's tuples, so that the same words always give the same merges."
)

ANSWERS = Answers(
    __name__, BANK, merging,
    """
    def learn_merges(word_counts, num_merges):
        cut = [(list(word), number) for word, number in word_counts.items()]
        pairs = pairwise
        count = lambda words, frequency: counted(words, pairs)
        best = lambda frequency: min(frequency, key=lambda pair: (-frequency[pair], pair))
        join = joined
        least = 1
        merges = learned(cut, num_merges, count, best, join, least)
        return merges
    """,
    Counter=Counter, counted=counted, defaultdict=defaultdict, heapq=heapq, joined=joined, learned=learned, np=np,
    pairwise=pairwise, re=re, torch=torch,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("counts ignored", "word_counts = dict.fromkeys(word_counts, 1)", COUNTED,
     "Every word counts once in your frequencies. A pair counts as often as its words occur: add the word's count, not "
     "1.")
slip("each pair counted once a word", "pairs = lambda symbols: sorted(set(pairwise(symbols)))", ENDS,
     "A pair that stands twice in a word counts once in your frequencies. It counts as often as it stands there.")
slip("overlapping pairs counted once", """
    def pairs_apart(symbols):
        found, place = [], 0
        while place + 1 < len(symbols):
            found.append((symbols[place], symbols[place + 1]))
            place += 2 if symbols[place : place + 2] == symbols[place + 1 : place + 3] else 1
        return found

    pairs = pairs_apart
""", ENDS,
     "In `a a a` you count the pair `a a` once, because you leave out overlaps. Counted is every place where it "
     "stands; only joining leaves overlaps out.")
slip("pairs without regard to order",
     "pairs = lambda symbols: [tuple(sorted(pair)) for pair in pairwise(symbols)]", COUNTED,
     "For you, the pairs `a b` and `b a` are the same. They are joined to different symbols, so they count apart.")
slip("pairs at even places only", "pairs = lambda symbols: zip(symbols[::2], symbols[1::2], strict=False)", COUNTED,
     "You count pairs at every other place. Each neighbouring pair counts: (0, 1), (1, 2), (2, 3) and so on.")
slip("not counted again", """
    def once(words, frequency):
        left = {pair: number for pair, number in frequency.items() if pair != best(frequency)}
        return Counter(left) if frequency else counted(words, pairs)

    count = once
""", COUNTED,
     "You count once, at the beginning, and then take pair after pair from this table. Each merge changes which "
     "symbols stand side by side, so count anew in every round.")
slip("pairs across words", """
    def across(words, frequency):
        found = counted(words, pairs)
        for (one, _), (other, _) in pairwise(words):
            if one and other:
                found[one[-1], other[0]] += 1
        return found

    count = across
""", COUNTED,
     "You count pairs whose left half ends one word and whose right half begins the next. Words are cut apart before "
     "anything is counted.")
slip("upper and lower case taken for one",
     "cut = [(list(word.lower()), number) for word, number in word_counts.items()]", ENDS,
     "You turn all letters into lower case. *The* and *the* begin with different letters.")
slip("an end-of-word symbol", "cut = [([*word, '</w>'], number) for word, number in word_counts.items()]", COUNTED,
     "You put a symbol for the end of the word behind its letters. This function leaves that to its caller, who can "
     "write it into the words.")
slip("the last letter joined with the end of the word",
     "cut = [([*word[:-1], word[-1] + '</w>'], number) for word, number in word_counts.items()]", COUNTED,
     "You add a mark for the end of a word to its last letter. This function leaves that to its caller, who can write "
     "it into the words.")
slip("one merge too many", "num_merges = num_merges + 1", COUNTED,
     "You learn one merge more than were asked for.")
slip("one merge too few", "num_merges = num_merges - 1", COUNTED,
     "You learn one merge less than were asked for.")
slip("stops when pairs stand only once", "least = 2", ENDS,
     "You stop where no pair stands more than once. A pair that stands once is merged, too, as long as there are "
     "merges to learn.")
slip("stops with an error when no pair is left", "least = 0", ENDS,
     "When no pair is left, your function stops with an error. Fewer merges are then the right answer: end the loop.")
slip("of equal pairs the first one seen", "best = lambda frequency: max(frequency, key=frequency.__getitem__)", ENDS,
     TIES.format("the one that you saw first"))
slip("of equal pairs the last one seen",
     "best = lambda frequency: max(reversed(list(frequency)), key=frequency.__getitem__)", ENDS,
     TIES.format("the one that you saw last"))
slip("of equal pairs the largest",
     "best = lambda frequency: max(frequency, key=lambda pair: (frequency[pair], pair))", ENDS,
     TIES.format("the largest"))
slip("of equal pairs the smallest joined text",
     "best = lambda frequency: min(frequency, key=lambda pair: (-frequency[pair], ''.join(pair)))", ENDS,
     TIES.format("the one whose joined text is smallest"))
slip("the rarest pair", "best = lambda frequency: min(frequency, key=lambda pair: (frequency[pair], pair))", COUNTED,
     "You merge the pair that is least frequent. It is the most frequent one that saves most symbols.")
slip("the smallest pair whatever its frequency", "best = min", COUNTED,
     "You take pairs by the alphabet, and not by how often they stand. The alphabet decides only between equals.")
slip("joined from right to left", """
    def from_the_right(symbols, pair):
        text, turned = pair[0] + pair[1], pair[1] + pair[0]
        return [text if one == turned else one for one in joined(symbols[::-1], pair[::-1])[::-1]]

    join = from_the_right
""", ENDS,
     "You join from right to left, so `a a a` becomes `a aa`. Join from left to right.")
slip("only the first place in a word joined", """
    def once(symbols, pair):
        for place, two in enumerate(pairwise(symbols)):
            if two == pair:
                return [*symbols[:place], pair[0] + pair[1], *symbols[place + 2 :]]
        return symbols

    join = once
""", COUNTED,
     "In each word you join the pair at its first place only. It is joined wherever it stands.")
slip("nothing joined", "join = lambda symbols, pair: symbols", COUNTED,
     "Your words stay letters, so the same pair wins again and again. Join it to one symbol in every word before you "
     "count anew.")
slip("overlapping pairs joined", """
    def overlapping(symbols, pair):
        made, place = [], 0
        while place < len(symbols):
            fits = tuple(symbols[place : place + 2]) == pair
            made.append(pair[0] + pair[1] if fits else symbols[place])
            place += 2 if fits and tuple(symbols[place + 1 : place + 3]) != pair else 1
        return made

    join = overlapping
""", ENDS,
     "Where a pair overlaps itself, as in `a a a`, you use the middle symbol twice. After a merge go on behind both of "
     "its symbols.")
slip("joined by text and not by symbols",
     "join = lambda symbols, pair: ' '.join(symbols).replace(' '.join(pair), ''.join(pair)).split()", ENDS,
     "You join with `str.replace` on the symbols written with blanks between them, so the end of a longer symbol "
     "counts as a symbol of its own. Compare whole symbols.")
slip("the second symbol left standing", """
    def doubled(symbols, pair):
        places = range(len(symbols))
        return ["".join(pair) if tuple(symbols[k : k + 2]) == pair else symbols[k] for k in places]

    join = doubled
""", COUNTED,
     "After a merge, the right half stands beside the joined symbol once more. Skip both of its symbols.")
slip("the joined text for the pair", "return [left + right for left, right in merges]", COUNTED,
     "You return the joined symbols as texts. Whoever applies the merges needs to know where they were joined, so "
     "return pairs, (left, right).")
slip("(right, left) for (left, right)", "return [(right, left) for left, right in merges]", COUNTED,
     "Your pairs are (right, left). The symbol on the left comes first.")
slip("merges in reverse order", "return merges[::-1]", COUNTED,
     "Your list begins with the pair that was merged last. They are applied in the order in which they were learned, "
     "so that one comes first which was merged first.")
slip("merges in alphabetical order", "return sorted(merges)", COUNTED,
     "You sort the merges. They are applied in the order in which they were learned, so this order is the result.")

right = ANSWERS.right
right("merges_by_tuples", """
    words, merges = {tuple(word): number for word, number in word_counts.items()}, []
    while len(merges) < num_merges:
        pairs = defaultdict(int)
        for symbols, number in words.items():
            for left, right in pairwise(symbols):
                pairs[left, right] += number
        if not pairs:
            return merges
        most = max(pairs.values())
        pair = min(one for one, number in pairs.items() if number == most)
        merges.append(pair)
        words = {tuple(joined(symbols, pair)): number for symbols, number in words.items()}
    return merges
""")
right("merges_by_a_heap", """
    words, merges = cut, []
    while len(merges) < num_merges:
        heap = [(-number, pair) for pair, number in counted(words).items()]
        if not heap:
            break
        heapq.heapify(heap)
        pair = heapq.heappop(heap)[1]
        merges.append(list(pair))
        words = [(joined(symbols, pair), number) for symbols, number in words]
    return tuple(merges)
""")
right("merges_by_recursion", """
    def further(words, left):
        pairs = counted(words)
        if not pairs or left == 0:
            return []
        pair = min(pairs.items(), key=lambda item: (-item[1], item[0]))[0]
        return [pair, *further([(joined(one, pair), number) for one, number in words], left - 1)]

    return further(cut, num_merges)
""")
right("merges_by_marks", r"""
    words, merges = [["\n".join(word), number] for word, number in word_counts.items()], []
    for _ in range(num_merges):
        pairs = counted([(text.split("\n"), number) for text, number in words])
        if not pairs:
            break
        pair = max(sorted(pairs), key=pairs.__getitem__)
        merges.append(pair)
        pattern = re.compile(rf"(?<![^\n]){re.escape(pair[0])}\n{re.escape(pair[1])}(?![^\n])")
        for word in words:
            word[0] = pattern.sub(lambda _, pair=pair: "".join(pair), word[0])
    return merges
""")
right("merges_by_numbers", """
    names = sorted({letter for word in word_counts for letter in word})
    ids = {name: place for place, name in enumerate(names)}
    words = [([ids[letter] for letter in word], number) for word, number in word_counts.items()]
    merges = []
    while len(merges) < num_merges:
        pairs = counted(words)
        if not pairs:
            break
        pair = min(pairs, key=lambda one: (-pairs[one], names[one[0]], names[one[1]]))
        merges.append((names[pair[0]], names[pair[1]]))
        text = names[pair[0]] + names[pair[1]]
        if text not in ids:
            ids[text] = len(names)
            names.append(text)
        made = []
        for symbols, number in words:
            rest, place = [], 0
            while place < len(symbols):
                two = tuple(symbols[place : place + 2]) == pair
                rest.append(ids[text] if two else symbols[place])
                place += 2 if two else 1
            made.append((rest, number))
        words = made
    return merges
""")
right("merges_by_deleting_from_lists", """
    words, merges = {word: [*word] for word in word_counts}, []
    while num_merges > len(merges):
        pairs = {}
        for word, symbols in words.items():
            for place in range(len(symbols) - 1):
                pair = (symbols[place], symbols[place + 1])
                pairs[pair] = pairs.get(pair, 0) + word_counts[word]
        if pairs == {}:
            break
        best = min(sorted(pairs), key=lambda pair: -pairs[pair])
        merges += [best]
        for symbols in words.values():
            place = 0
            while place < len(symbols) - 1:
                if (symbols[place], symbols[place + 1]) == best:
                    symbols[place : place + 2] = ["".join(best)]
                place += 1
    return merges
""")
right("merges_by_numpy", """
    def first_of_the_most(frequency):
        names = sorted(frequency)
        return names[int(np.argmax([frequency[name] for name in names]))]

    best = first_of_the_most
""")
right("merges_with_each_word_repeated", """
    words = [list(word) for word, number in word_counts.items() for _ in range(number)]
    merges = []
    while len(merges) < num_merges:
        pairs = Counter(pair for symbols in words for pair in pairwise(symbols))
        if not pairs:
            break
        merges.append(min(pairs, key=lambda pair: (-pairs[pair], pair)))
        words = [joined(symbols, merges[-1]) for symbols in words]
    return merges
""")
right("merges_letter_by_letter", """
    words = [[letter for letter in word] for word in word_counts]
    numbers = [word_counts[word] for word in word_counts]
    merges = []
    for _ in range(num_merges):
        counts = {}
        for symbols, number in zip(words, numbers, strict=True):
            for place in range(len(symbols) - 1):
                pair = symbols[place], symbols[place + 1]
                counts[pair] = counts.get(pair, 0) + number
        best = None
        for pair, count in counts.items():
            if best is None or (-count, pair) < (-counts[best], best):
                best = pair
        if best is None or counts[best] == 0:
            break
        merges.append(best)
        for symbols in words:
            place = 0
            while place < len(symbols) - 1:
                if (symbols[place], symbols[place + 1]) == best:
                    symbols[place : place + 2] = [best[0] + best[1]]
                place += 1
    return merges
""", slow=LOOPS)
right("merges_of_all_symbols_with_all", """
    words, merges = {word: tuple(word) for word in word_counts}, []
    while len(merges) < num_merges:
        symbols = sorted({symbol for word in words.values() for symbol in word})
        place = {symbol: number for number, symbol in enumerate(symbols)}
        counts = torch.zeros(len(symbols), len(symbols), dtype=torch.int64)
        for word, parts in words.items():
            if len(parts) > 1:
                hot = torch.eye(len(symbols), dtype=torch.int64)[[place[one] for one in parts]]
                pairs = hot[:-1].unsqueeze(2) * hot[1:].unsqueeze(1)
                counts = counts + word_counts[word] * pairs.sum(0)
        if not counts.any():
            break
        best = min((-int(counts[i, j]), symbols[i], symbols[j]) for i, j in counts.nonzero())[1:]
        merges.append(best)
        for word, parts in words.items():
            words[word] = tuple(joined(parts, best))
    return merges
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("fifty_rounds_at_most", "num_merges = min(num_merges, 50)")
wrong("words_of_up_to_twenty_letters", "cut = [(list(word[:20]), number) for word, number in word_counts.items()]")
wrong("pairs_with_their_ranks", "return [(pair, rank) for rank, pair in enumerate(merges)]")
wrong("word_counts_emptied", "word_counts.clear(); return merges", told="inputs changed")
wrong("a_dict_of_ranks", "return {pair: rank for rank, pair in enumerate(merges)}", told="results in a dict")
wrong("split_into_pairs_of_letters", "return sorted(counted(cut))[:num_merges]",
      named=("not counted again", "the smallest pair whatever its frequency"))
# fmt: on
