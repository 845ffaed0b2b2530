"""Answers to `learn_merges`."""

import heapq
import re
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np

from assignments.a10_language_models.answers.bank import BANK

PART = "learn_merges"


def join(symbols, pair):
    joined, place = [], 0
    while place < len(symbols):
        fits = tuple(symbols[place : place + 2]) == tuple(pair)
        joined.append(pair[0] + pair[1] if fits else symbols[place])
        place += 1 + fits
    return joined


def count(words, weigh=lambda number: number):
    pairs = Counter()
    for symbols, number in words:
        for pair in pairwise(symbols):
            pairs[pair] += weigh(number)
    return pairs


def learn(word_counts, num_merges, count=count, best=None, join=join, begin=list, least=1):
    """The loop of most wrong answers, of which each takes one thing in another way."""
    best = best or (lambda pairs: min(pairs, key=lambda pair: (-pairs[pair], pair)))
    words = [(begin(word), number) for word, number in word_counts.items()]
    merges = []
    for _ in range(num_merges):
        pairs = count(words)
        if not pairs or max(pairs.values()) < least:
            break
        merges.append(best(pairs))
        words = [(join(symbols, merges[-1]), number) for symbols, number in words]
    return merges


# ------------------------------------------------------------------------------------- right


@BANK.right(PART)
def merges_by_tuples(word_counts, num_merges):
    words, merges = {tuple(word): n for word, n in word_counts.items()}, []
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
        words = {tuple(join(symbols, pair)): number for symbols, number in words.items()}
    return merges


@BANK.right(PART)
def merges_by_a_heap(word_counts, num_merges):
    words, merges = [(list(word), number) for word, number in word_counts.items()], []
    while len(merges) < num_merges:
        heap = [(-number, pair) for pair, number in count(words).items()]
        if not heap:
            break
        heapq.heapify(heap)
        pair = heapq.heappop(heap)[1]
        merges.append(list(pair))
        words = [(join(symbols, pair), number) for symbols, number in words]
    return tuple(merges)


@BANK.right(PART)
def merges_by_recursion(word_counts, num_merges):
    def further(words, left):
        pairs = count(words)
        if not pairs or left == 0:
            return []
        pair = min(pairs.items(), key=lambda item: (-item[1], item[0]))[0]
        return [pair, *further([(join(one, pair), number) for one, number in words], left - 1)]

    return further([(list(word), number) for word, number in word_counts.items()], num_merges)


@BANK.right(PART)
def merges_by_marks(word_counts, num_merges):
    words, merges = [["\n".join(word), number] for word, number in word_counts.items()], []
    for _ in range(num_merges):
        pairs = count([(text.split("\n"), number) for text, number in words])
        if not pairs:
            break
        pair = max(sorted(pairs), key=pairs.__getitem__)
        merges.append(pair)
        pattern = re.compile(rf"(?<![^\n]){re.escape(pair[0])}\n{re.escape(pair[1])}(?![^\n])")
        for word in words:
            word[0] = pattern.sub(lambda _, pair=pair: "".join(pair), word[0])
    return merges


@BANK.right(PART)
def merges_by_numbers(word_counts, num_merges):
    names = sorted({letter for word in word_counts for letter in word})
    ids = {name: place for place, name in enumerate(names)}
    words = [([ids[letter] for letter in word], number) for word, number in word_counts.items()]
    merges = []
    while len(merges) < num_merges:
        pairs = count(words)
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


@BANK.right(PART)
def merges_by_deleting_from_lists(word_counts, num_merges):
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


@BANK.right(PART)
def merges_by_numpy(word_counts, num_merges):
    words, merges = [(list(word), number) for word, number in word_counts.items()], []
    for _ in range(num_merges):
        pairs = count(words)
        if not pairs:
            break
        names = sorted(pairs)
        best = names[int(np.argmax([pairs[name] for name in names]))]
        merges.append(best)
        words = [(join(symbols, best), number) for symbols, number in words]
    return merges


@BANK.right(PART)
def merges_with_each_word_repeated(word_counts, num_merges):
    words = [list(word) for word, number in word_counts.items() for _ in range(number)]
    merges = []
    while len(merges) < num_merges:
        pairs = Counter(pair for symbols in words for pair in pairwise(symbols))
        if not pairs:
            break
        merges.append(min(pairs, key=lambda pair: (-pairs[pair], pair)))
        words = [join(symbols, merges[-1]) for symbols in words]
    return merges


# ------------------------------------------------------------------------------------- wrong


@BANK.wrong(PART)
def fifty_rounds_at_most(word_counts, num_merges):
    return learn(word_counts, min(num_merges, 50))


@BANK.wrong(PART)
def words_of_up_to_twenty_letters(word_counts, num_merges):
    return learn(word_counts, num_merges, begin=lambda word: list(word[:20]))


@BANK.wrong(PART, named="counts ignored")
def each_word_once(word_counts, num_merges):
    return learn(dict.fromkeys(word_counts, 1), num_merges)


@BANK.wrong(PART, named="each pair counted once a word")
def a_set_of_pairs(word_counts, num_merges):
    def once(words):
        pairs = Counter()
        for symbols, number in words:
            pairs.update(dict.fromkeys(set(pairwise(symbols)), number))
        return pairs

    return learn(word_counts, num_merges, count=once)


@BANK.wrong(PART, named="of equal pairs the first one seen")
def most_common_of_a_counter(word_counts, num_merges):
    return learn(word_counts, num_merges, best=lambda pairs: pairs.most_common(1)[0][0])


@BANK.wrong(PART, named="of equal pairs the largest")
def largest_of_equals(word_counts, num_merges):
    def best(pairs):
        return max((number, pair) for pair, number in pairs.items())[1]

    return learn(word_counts, num_merges, best=best)


@BANK.wrong(PART, named="of equal pairs the last one seen")
def last_of_equals(word_counts, num_merges):
    def best(pairs):
        found = None
        for pair, number in pairs.items():
            if found is None or number >= pairs[found]:
                found = pair
        return found

    return learn(word_counts, num_merges, best=best)


@BANK.wrong(PART, named="of equal pairs the smallest joined text")
def by_the_joined_text(word_counts, num_merges):
    def best(pairs):
        return min(pairs, key=lambda pair: (-pairs[pair], pair[0] + pair[1]))

    return learn(word_counts, num_merges, best=best)


@BANK.wrong(PART, named="not counted again")
def the_first_table_for_all(word_counts, num_merges):
    pairs = count([(list(word), number) for word, number in word_counts.items()])
    return sorted(pairs, key=lambda pair: (-pairs[pair], pair))[:num_merges]


@BANK.wrong(PART, named="only the first place in a word joined")
def joined_once_a_word(word_counts, num_merges):
    def first(symbols, pair):
        symbols = list(symbols)
        for place, two in enumerate(pairwise(symbols)):
            if two == pair:
                symbols[place : place + 2] = [pair[0] + pair[1]]
                break
        return symbols

    return learn(word_counts, num_merges, join=first)


@BANK.wrong(PART, named="joined by text and not by symbols")
def replaced_in_a_text(word_counts, num_merges):
    def replaced(symbols, pair):
        return " ".join(symbols).replace(f"{pair[0]} {pair[1]}", pair[0] + pair[1]).split(" ")

    return learn(word_counts, num_merges, join=replaced)


@BANK.wrong(PART, named="joined from right to left")
def from_the_end(word_counts, num_merges):
    def backwards(symbols, pair):
        joined, place = [], len(symbols) - 1
        while place >= 0:
            if place > 0 and (symbols[place - 1], symbols[place]) == pair:
                joined.append(pair[0] + pair[1])
                place -= 2
            else:
                joined.append(symbols[place])
                place -= 1
        return joined[::-1]

    return learn(word_counts, num_merges, join=backwards)


@BANK.wrong(PART, named=("overlapping pairs counted once", "each pair counted once a word"))
def without_counting_overlaps(word_counts, num_merges):
    def apart(words):
        pairs = Counter()
        for symbols, number in words:
            for pair in set(pairwise(symbols)):
                times = len(symbols) - len(join(symbols, pair))
                pairs[pair] += number * times
        return Counter({pair: pairs[pair] for pair in count(words)})

    return learn(word_counts, num_merges, count=apart)


@BANK.wrong(PART, named="nothing joined")
def letters_for_ever(word_counts, num_merges):
    return learn(word_counts, num_merges, join=lambda symbols, pair: symbols)


@BANK.wrong(PART, named="one merge too many")
def up_to_and_including(word_counts, num_merges):
    return learn(word_counts, num_merges + 1)


@BANK.wrong(PART, named="one merge too few")
def stops_one_early(word_counts, num_merges):
    return learn(word_counts, num_merges - 1)


@BANK.wrong(PART, named="stops when pairs stand only once")
def twice_at_least(word_counts, num_merges):
    return learn(word_counts, num_merges, least=2)


@BANK.wrong(PART, named="stops with an error when no pair is left")
def maximum_of_nothing(word_counts, num_merges):
    words, merges = [(list(word), number) for word, number in word_counts.items()], []
    for _ in range(num_merges):
        pairs = count(words)
        most = max(pairs.values())
        merges.append(min(pair for pair in pairs if pairs[pair] == most))
        words = [(join(symbols, merges[-1]), number) for symbols, number in words]
    return merges


@BANK.wrong(PART, named="the joined text for the pair")
def symbols_for_pairs(word_counts, num_merges):
    return ["".join(pair) for pair in learn(word_counts, num_merges)]


@BANK.wrong(PART, named="(right, left) for (left, right)")
def right_before_left(word_counts, num_merges):
    return [pair[::-1] for pair in learn(word_counts, num_merges)]


@BANK.wrong(PART)
def pairs_with_their_counts(word_counts, num_merges):
    words, merges = [(list(word), number) for word, number in word_counts.items()], []
    for _ in range(num_merges):
        pairs = count(words)
        if not pairs:
            break
        pair = min(pairs, key=lambda one: (-pairs[one], one))
        merges.append((pair, pairs[pair]))
        words = [(join(symbols, pair), number) for symbols, number in words]
    return merges


@BANK.wrong(PART, named="an end-of-word symbol")
def with_the_end_of_the_paper(word_counts, num_merges):
    return learn(word_counts, num_merges, begin=lambda word: [*word, "</w>"])


@BANK.wrong(PART, named="upper and lower case taken for one")
def in_lower_case(word_counts, num_merges):
    return learn(word_counts, num_merges, begin=lambda word: list(word.lower()))


@BANK.wrong(PART, named="the rarest pair")
def least_frequent(word_counts, num_merges):
    def best(pairs):
        return min(pairs, key=lambda pair: (pairs[pair], pair))

    return learn(word_counts, num_merges, best=best)


@BANK.wrong(PART, named="pairs without regard to order")
def either_way_round(word_counts, num_merges):
    def either(words):
        pairs = Counter()
        for symbols, number in words:
            for left, right in pairwise(symbols):
                pairs[min(left, right), max(left, right)] += number
        return pairs

    return learn(word_counts, num_merges, count=either)


@BANK.wrong(PART, told="inputs changed")
def word_counts_emptied(word_counts, num_merges):
    merges = learn(word_counts, num_merges)
    word_counts.clear()
    return merges


@BANK.wrong(PART, named=("not counted again", "the smallest pair whatever its frequency"))
def split_into_pairs_of_letters(word_counts, num_merges):
    pairs = count([(list(word), number) for word, number in word_counts.items()])
    return sorted(pairs)[:num_merges]


@BANK.wrong(PART, told="results in a dict")
def a_dict_of_ranks(word_counts, num_merges):
    return {pair: rank for rank, pair in enumerate(learn(word_counts, num_merges))}


@BANK.wrong(PART, named="merges in alphabetical order")
def sorted_in_the_end(word_counts, num_merges):
    return sorted(learn(word_counts, num_merges))


@BANK.wrong(PART, named="merges in reverse order")
def newest_first(word_counts, num_merges):
    return list(reversed(learn(word_counts, num_merges)))
