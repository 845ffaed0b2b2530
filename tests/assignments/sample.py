"""Which answers `make test` tries of all that are known; `make test-all` tries them all.

Names decide, so that the sample is the same on every machine and grows with the course. Of each part it
holds the first mistake by name for each step that mistakes say they cost, the first of those that
name no step, and of the bank the first right answers by name and the first wrong one for each set of
sentences that are true of one. Right ones that are slow have a test of their own. A test holds that together they lose every step of every part.
"""

from collections.abc import Callable, Hashable, Iterable
from functools import cache
from typing import Any, TypeVar

import pytest

from assignments import load
from autograder.bank.answers import Answer
from autograder.bank.measure import bank_of
from autograder.checks.mistakes import Mistake

Wrong = TypeVar("Wrong")

RIGHT_ANSWERS, WRONG_ANSWERS = 1, 3  # of a part, at most
# and those without which a step would not be lost
BESIDE = ("EvenWidthsOnly", "NoModule", "NetworkForFloat32Input")
# wrong ones behind which two mistakes are looked for, for ten seconds each
DEAR = ("a_fate_for_each_column", "ablated_and_frozen", "as_arrays_of_numpy", "patched_and_frozen")


def first_of_each(
    wrong: Iterable[Wrong],
    name: Callable[[Wrong], str],
    kinds: Callable[[Wrong], Iterable[Hashable]],
) -> list[Wrong]:
    """The first by name of each kind, each once; of one name, which may have variants, the first written."""
    found: dict[Hashable, Wrong] = {}
    for one in sorted(wrong, key=name):
        for kind in kinds(one):
            found.setdefault(kind, one)
    return list({id(one): one for one in found.values()}.values())


@cache
def mistakes_in_sample(assignment: str, part: str) -> list[Mistake]:
    """The named mistakes of a part that are always tried."""
    mistakes = load(assignment).part(part).mistakes
    return first_of_each(mistakes, lambda one: one.name, lambda one: one.costs or (None,))


@cache
def answers_in_sample(assignment: str, part: str) -> list[Answer]:
    """The answers of a part's bank that are always tried."""
    bank = [one for one in bank_of(assignment) if one.part == part and name_of(one) not in DEAR]
    right = sorted((one for one in bank if one.right and not one.slow), key=name_of)
    wrong = first_of_each([one for one in bank if not one.right], name_of, lambda one: (one.told,))
    beside = [one for one in wrong[WRONG_ANSWERS:] if name_of(one) in BESIDE]
    return right[:RIGHT_ANSWERS] + wrong[:WRONG_ANSWERS] + beside


def name_of(answer: Answer) -> str:
    """The name under which an answer stands in its bank."""
    return answer.code.__name__


def always(tried: bool, *values: Any) -> Any:
    """A test's parameters, and whether `make test` tries them or leaves them to `make test-all`."""
    return pytest.param(*values, marks=() if tried else pytest.mark.long)


def shown(value: Any) -> Any:
    """What stands for a test's parameter in its id."""
    code = getattr(value, "code", None)
    return f"{value.part}-{code.__name__}" if code else getattr(value, "name", value)
