"""The random numbers behind a sentence.

Whatever is drawn is drawn with `random.Random(seed).random()` alone: Python promises that this
method gives the same numbers on every platform and in every version.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

Option = TypeVar("Option")


class Dice:
    """A stream of random numbers, and the words that a sentence has used up."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random
        self.used: set[str] = set()

    def begin(self) -> None:
        """Forget the sentence before: its words may come again."""
        self.used.clear()

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._random() < probability

    def pick(self, options: Sequence[Option]) -> Option:
        """One of some options, all alike."""
        return options[int(self._random() * len(options))]

    def weighted(self, table: Sequence[tuple[int, Option]]) -> Option:
        """One of some options, each drawn in proportion to the number before it."""
        totals = list(accumulate(share for share, _ in table))
        return table[bisect(totals, self._random() * totals[-1])][1]

    def maybe(self, options: Sequence[str], probability: float) -> str:
        """One of some words with this probability; "" otherwise, and where there are none."""
        return self.pick(options) if options and self.chance(probability) else ""

    def fresh(self, words: Sequence[str]) -> str:
        """A word not used in this sentence so far, "" if every one has been used."""
        left = [word for word in words if word not in self.used]
        if not left:
            return ""
        word = self.pick(left)
        self.used.add(word)
        return word
