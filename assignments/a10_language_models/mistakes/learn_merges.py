"""`learn_merges` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from assignments.a10_language_models.rubric import COUNTED, ENDS, merging
from autograder.checks.mistakes import Steps, called, costs, message


class Merging(Steps):
    """The reference step by step: slow, and plain."""

    def answer(self, word_counts, num_merges):
        words = {word: self.begin(word) for word in word_counts}
        merges: list[tuple[str, str]] = []
        frequency: Counter = Counter()
        while len(merges) < self.rounds(num_merges):
            frequency = self.count(words, word_counts, frequency)
            if self.ended(frequency):
                break
            best = self.best(frequency)
            merges.append(best)
            words = {word: self.join(symbols, best) for word, symbols in words.items()}
        return self.result(merges)

    def begin(self, word):
        return list(word)

    def rounds(self, num_merges):
        return num_merges

    def count(self, words, word_counts, frequency):
        found: Counter = Counter()
        for word, symbols in words.items():
            for pair in self.pairs(symbols):
                found[pair] += self.weight(word_counts[word])
        return found

    def pairs(self, symbols):
        return list(pairwise(symbols))

    def weight(self, number):
        return number

    def ended(self, frequency):
        return not frequency

    def best(self, frequency):
        most = max(frequency.values())
        return min(pair for pair, number in frequency.items() if number == most)

    def join(self, symbols, pair):
        joined, place = [], 0
        while place < len(symbols):
            if tuple(symbols[place : place + 2]) == pair:
                joined.append(pair[0] + pair[1])
                place += 2
            else:
                joined.append(symbols[place])
                place += 1
        return joined

    def result(self, merges):
        return merges


@merging.mistakes_in(Merging.weight, costs=COUNTED)
class MergingWeight:
    @called("counts ignored")
    def once_each(self, number):
        """Every word counts once in your frequencies. A pair counts as often as its words occur: add
        the word's count, not 1."""
        return 1


@merging.mistakes_in(Merging.pairs, costs=COUNTED)
class MergingPairs:
    @costs(ENDS)
    @called("each pair counted once a word")
    def as_a_set(self, symbols):
        """A pair that stands twice in a word counts once in your frequencies. It counts as often as it
        stands there."""
        return sorted(set(pairwise(symbols)))

    @costs(ENDS)
    @called("overlapping pairs counted once")
    def without_overlaps(self, symbols):
        """In `a a a` you count the pair `a a` once, because you leave out overlaps. Counted is every
        place where it stands; only joining leaves overlaps out."""
        found, place = [], 0
        while place + 1 < len(symbols):
            found.append((symbols[place], symbols[place + 1]))
            place += 2 if symbols[place : place + 2] == symbols[place + 1 : place + 3] else 1
        return found

    @called("pairs without regard to order")
    def sorted_pairs(self, symbols):
        """For you, the pairs `a b` and `b a` are the same. They are joined to different symbols, so
        they count apart."""
        return [tuple(sorted(pair)) for pair in pairwise(symbols)]

    @called("pairs at even places only")
    def every_other(self, symbols):
        """You count pairs at every other place. Each neighbouring pair counts: (0, 1), (1, 2), (2, 3)
        and so on."""
        return list(zip(symbols[::2], symbols[1::2], strict=False))


@merging.mistakes_in(Merging.count, costs=COUNTED)
class MergingCount:
    @called("not counted again")
    def counted_once(self, words, word_counts, frequency):
        """You count once, at the beginning, and then take pair after pair from this table. Each merge
        changes which symbols stand side by side, so count anew in every round."""
        if not frequency:
            return Merging.count(self, words, word_counts, frequency)
        return Counter(
            {pair: number for pair, number in frequency.items() if pair != self.best(frequency)}
        )

    @called("pairs across words")
    def across(self, words, word_counts, frequency):
        """You count pairs whose left half ends one word and whose right half begins the next. Words are
        cut apart before anything is counted."""
        found = Merging.count(self, words, word_counts, frequency)
        in_order = list(words)
        for one, other in pairwise(in_order):
            if words[one] and words[other]:
                found[words[one][-1], words[other][0]] += 1
        return found


@merging.mistakes_in(Merging.begin, costs=ENDS)
class MergingBegin:
    @called("upper and lower case taken for one")
    def lowered(self, word):
        """You turn all letters into lower case. *The* and *the* begin with different letters."""
        return list(word.lower())

    @costs(COUNTED)
    @called("an end-of-word symbol")
    def with_an_end(self, word):
        """You put a symbol for the end of the word behind its letters. This function leaves that to its
        caller, who can write it into the words."""
        return [*word, "</w>"]

    @costs(COUNTED)
    @called("the last letter joined with the end of the word")
    def end_in_the_last_letter(self, word):
        """You add a mark for the end of a word to its last letter. This function leaves that to its
        caller, who can write it into the words."""
        return [*word[:-1], word[-1] + "</w>"]


@merging.mistakes_in(Merging.rounds, costs=COUNTED)
class MergingRounds:
    @called("one merge too many")
    def one_more(self, num_merges):
        """You learn one merge more than were asked for."""
        return num_merges + 1

    @called("one merge too few")
    def one_less(self, num_merges):
        """You learn one merge less than were asked for."""
        return num_merges - 1


@merging.mistakes_in(Merging.ended, costs=ENDS)
class MergingEnded:
    @called("stops when pairs stand only once")
    def rare(self, frequency):
        """You stop where no pair stands more than once. A pair that stands once is merged, too, as long
        as there are merges to learn."""
        return not frequency or max(frequency.values()) < 2

    @called("stops with an error when no pair is left")
    def never(self, frequency):
        """When no pair is left, your function stops with an error. Fewer merges are then the right
        answer: end the loop."""
        return False


TIES = (
    "Of several pairs that are equally frequent you take {}. The text asks for the smallest in the "
    "order of Python's tuples, so that the same words always give the same merges."
)


@merging.mistakes_in(Merging.best, costs=ENDS)
class MergingBest:
    @called("of equal pairs the first one seen")
    @message(TIES.format("the one that you saw first"))
    def first_seen(self, frequency):
        return max(frequency, key=frequency.__getitem__)

    @called("of equal pairs the last one seen")
    @message(TIES.format("the one that you saw last"))
    def last_seen(self, frequency):
        return max(reversed(list(frequency)), key=frequency.__getitem__)

    @called("of equal pairs the largest")
    @message(TIES.format("the largest"))
    def largest(self, frequency):
        return max(frequency, key=lambda pair: (frequency[pair], pair))

    @called("of equal pairs the smallest joined text")
    @message(TIES.format("the one whose joined text is smallest"))
    def by_text(self, frequency):
        return min(frequency, key=lambda pair: (-frequency[pair], "".join(pair)))

    @costs(COUNTED)
    @called("the rarest pair")
    def rarest(self, frequency):
        """You merge the pair that is least frequent. It is the most frequent one that saves most
        symbols."""
        return min(frequency, key=lambda pair: (frequency[pair], pair))

    @costs(COUNTED)
    @called("the smallest pair whatever its frequency")
    def alphabetical(self, frequency):
        """You take pairs by the alphabet, and not by how often they stand. The alphabet decides only
        between equals."""
        return min(frequency)


@merging.mistakes_in(Merging.join, costs=COUNTED)
class MergingJoin:
    @costs(ENDS)
    @called("joined from right to left")
    def from_the_right(self, symbols, pair):
        """You join from right to left, so `a a a` becomes `a aa`. Join from left to right."""
        back = Merging.join(self, symbols[::-1], pair[::-1])
        return [pair[0] + pair[1] if one == pair[1] + pair[0] else one for one in back[::-1]]

    @called("only the first place in a word joined")
    def once(self, symbols, pair):
        """In each word you join the pair at its first place only. It is joined wherever it stands."""
        for place in range(len(symbols) - 1):
            if tuple(symbols[place : place + 2]) == pair:
                return [*symbols[:place], pair[0] + pair[1], *symbols[place + 2 :]]
        return symbols

    @called("nothing joined")
    def apart(self, symbols, pair):
        """Your words stay letters, so the same pair wins again and again. Join it to one symbol in every
        word before you count anew."""
        return symbols

    @costs(ENDS)
    @called("overlapping pairs joined")
    def overlapping(self, symbols, pair):
        """Where a pair overlaps itself, as in `a a a`, you use the middle symbol twice. After a merge go
        on behind both of its symbols."""
        joined, place = [], 0
        while place < len(symbols):
            if tuple(symbols[place : place + 2]) == pair:
                joined.append(pair[0] + pair[1])
                place += 2 if tuple(symbols[place + 1 : place + 3]) != pair else 1
            else:
                joined.append(symbols[place])
                place += 1
        return joined

    @costs(ENDS)
    @called("joined by text and not by symbols")
    def by_replacing(self, symbols, pair):
        """You join with `str.replace` on the symbols written with blanks between them, so the end of a
        longer symbol counts as a symbol of its own. Compare whole symbols."""
        return " ".join(symbols).replace(" ".join(pair), "".join(pair)).split()

    @called("the second symbol left standing")
    def doubled(self, symbols, pair):
        """After a merge, the right half stands beside the joined symbol once more. Skip both of its
        symbols."""
        joined = []
        for place in range(len(symbols)):
            if tuple(symbols[place : place + 2]) == pair:
                joined.append(pair[0] + pair[1])
            else:
                joined.append(symbols[place])
        return joined


@merging.mistakes_in(Merging.result, costs=COUNTED)
class MergingResult:
    @called("the joined text for the pair")
    def texts(self, merges):
        """You return the joined symbols as texts. Whoever applies the merges needs to know where they
        were joined, so return pairs, (left, right)."""
        return [left + right for left, right in merges]

    @called("(right, left) for (left, right)")
    def turned(self, merges):
        """Your pairs are (right, left). The symbol on the left comes first."""
        return [(right, left) for left, right in merges]

    @called("merges in reverse order")
    def backwards(self, merges):
        """Your list begins with the pair that was merged last. They are applied in the order in which
        they were learned, so that one comes first which was merged first."""
        return merges[::-1]

    @called("merges in alphabetical order")
    def in_alphabetical_order(self, merges):
        """You sort the merges. They are applied in the order in which they were learned, so this order is
        the result."""
        return sorted(merges)
