"""What is wrong with a result: of which kind, and the sentence that a student reads.

Whatever decides looks at the kind; the sentence is for people, and can be put into other words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

NTH = ("the first result", "the second result", "the third result")


class Kind(Enum):
    """What a problem is about."""

    TYPE = auto()  # another type came than was asked for, or another number of results
    SHAPE = auto()
    NUMBERS = auto()
    DTYPE = auto()
    INPUT_CHANGED = auto()
    MODE_CHANGED = auto()  # of a model among the inputs
    MODEL_CHANGED = auto()  # hooks, weights or anything else that was left in such a model
    RANDOMNESS = auto()  # numbers were drawn from elsewhere than from the generator given
    MEMORY = auto()  # too much was held at a time
    GRADIENT = auto()
    RAISED = auto()
    NOT_RAISED = auto()  # the error that was asked for did not come
    UNFIT = auto()
    TIME_LIMIT = auto()
    NO_ANSWER = auto()
    ODD = auto()  # nobody can compare it
    JUDGED = auto()  # the author of a rubric says so, in a sentence


@dataclass(frozen=True)
class Problem:
    """Something that is wrong with what came back.

    Attributes:
        kind: what it is about.
        message: a sentence for the student, without a full stop.
        inside: numbers of the result that it is in, where there are several: the outermost first.
    """

    kind: Kind
    message: str
    inside: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, names: Sequence[str] = ()) -> str:
        """The whole sentence.

        Args:
            names: of the results in their order, as the signature calls them; "" has no name.
        """
        where = [nth(number) for number in self.inside]
        if self.inside and self.inside[0] < len(names) and names[self.inside[0]]:
            where[0] = f"`{names[self.inside[0]]}`"
        return "".join(f"in {place}, " for place in where) + self.message

    def in_result(self, number: int) -> Problem:
        """The same, in one of several results, counted from 0."""
        return replace(self, inside=(number, *self.inside))


# what a judge returns; a plain sentence is a problem that was `JUDGED`
Judgement = Problem | str | None


def as_problem(said: Judgement) -> Problem | None:
    """What a judge says, as a problem."""
    return Problem(Kind.JUDGED, said) if isinstance(said, str) else said


def nth(number: int) -> str:
    """One of several results in words, counted from 0."""
    return NTH[number] if number < len(NTH) else f"result {number + 1}"
