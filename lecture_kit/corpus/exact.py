"""How probable every sentence of a kind is: the dice fall in every way that they can."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lecture_kit.corpus.clauses import Clause
from lecture_kit.corpus.dice import Option
from lecture_kit.corpus.draws import Draw
from lecture_kit.corpus.sentences import write_down


class EveryThrow(Draw):
    """Dice that are thrown again and again until every outcome has come up once.

    Each throw repeats the outcomes of `_planned` and then takes first options. `advance` changes
    the last outcome that has another option left, as one counts through numbers.
    """

    def __init__(self) -> None:
        super().__init__(seed=0)
        self._planned: list[int] = []  # outcomes to repeat
        self._left: list[int] = []  # for each outcome of this throw, how many options follow it
        self.probability = 1.0  # of this throw

    def begin(self) -> None:
        """Forget the sentence before, and how probable it was."""
        super().begin()
        self._left = []
        self.probability = 1.0

    def advance(self) -> bool:
        """Plan the next throw; False if this one was the last."""
        while self._left and not self._left[-1]:
            self._left.pop()
        self._planned = self._planned[: len(self._left)]
        if not self._left:
            return False
        self._planned[-1] += 1
        return True

    def chance(self, probability: float) -> bool:
        """Both, each with its probability."""
        return self._outcome([probability, 1 - probability]) == 0

    def pick(self, options: Sequence[Option]) -> Option:
        """Every option, all alike."""
        return options[self._outcome([1 / len(options)] * len(options))]

    def weighted(self, table: Sequence[tuple[int, Option]]) -> Option:
        """Every option, in proportion to the number before it."""
        total = sum(share for share, _ in table)
        return table[self._outcome([share / total for share, _ in table])][1]

    def _outcome(self, probabilities: list[float]) -> int:
        place = len(self._left)
        if place == len(self._planned):
            self._planned.append(0)
        outcome = self._planned[place]
        self._left.append(len(probabilities) - 1 - outcome)
        self.probability *= probabilities[outcome]
        return outcome


def throws(kind: Callable[[Draw], Clause]) -> Iterator[tuple[str, float]]:
    """Every way in which the dice can fall for one kind: the English sentence, and how probable.

    Args:
        kind: such as `lecture_kit.corpus.statements.mood`.

    Yields:
        (sentence, probability). Throws that the corpus rejects are left out, so the probabilities
        sum to less than one; and one sentence can come from several throws.
    """
    dice = EveryThrow()
    more = True
    while more:
        dice.begin()
        written = write_down(kind(dice))
        if written is not None:
            yield written[1], dice.probability
        more = dice.advance()


def distribution(kinds: Sequence[tuple[float, Callable[[Draw], Clause]]]) -> dict[str, float]:
    """The probability of every English sentence of some kinds.

    Args:
        kinds: pairs of a share and a kind, as in `lecture_kit.corpus.sentences.KINDS`; a kind
            must be small enough to be counted through.

    Returns:
        dict from sentences to probabilities, which sum to one.
    """
    probabilities: dict[str, float] = {}
    for share, kind in kinds:
        for sentence, probability in throws(kind):
            probabilities[sentence] = probabilities.get(sentence, 0.0) + share * probability
    total = sum(probabilities.values())
    return {sentence: probability / total for sentence, probability in probabilities.items()}
