"""Whether two answers did the same in a case, as far as a mistake would show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograder.arrays import as_numpy
from autograder.bounds import MOST_WORDS
from autograder.checks.cases import Case
from autograder.checks.chance import drawn_alike
from autograder.checks.check import Part
from autograder.checks.compare import strict_differences, values_agree
from autograder.checks.drawn_cases import CaseRun, is_a_state
from autograder.checks.judge import takes_too_much, wrong_error
from autograder.probe.messages import Observation


def does_the_same(answer: Callable[..., Any], attempts: Sequence[CaseRun]) -> bool:
    """Whether a wrong implementation of ours does what the student's code did.

    Where the student's code did nothing but stop, one of its errors at least must be ours, too.
    """
    if not all(
        alike(item, item.drawn.done_by(answer, item.number), item.actual) for item in attempts
    ):
        return False
    return any(item.actual.status != "raised" for item in attempts) or any(
        _error_type(item.drawn.done_by(answer, item.number)) == _error_type(item.actual)
        for item in attempts
    )


def alike(item: CaseRun, one: Observation, other: Observation) -> bool:
    """Whether ours, right or wrong, and the other did the same in a case, as far as a mistake would show."""
    case = item.case
    if one.status != other.status:
        return False
    if one.status == "unfit":
        return _what_is_unfit(one) == _what_is_unfit(other)
    if case.raises:
        # right errors come in words of their own, and so do wrong ones of one type
        wrong = [bool(wrong_error(case.raises, seen)) for seen in (one, other)]
        same_type = _error_type(one) == _error_type(other)
        same_error = wrong == [False, False] or (all(wrong) and same_type)
        return same_error and _states(one) == _states(other)
    if one.status == "raised":
        return True  # a slip stops with whatever error comes of it
    value, found = one.value, other.value
    if case.chance is not None:
        return drawn_alike(case.chance, value, found) and _states(one) == _states(other)
    return (
        takes_too_much(case, one) == takes_too_much(case, other)
        and are_near(item.part, value, found)
        and strict_differences(value, found) is None
        and _states(one) == _states(other)
    )


def are_near(part: Part, one: Any, other: Any) -> bool:
    """Whether two results have the same numbers, as far as the text of a part goes."""
    if values_agree(one, other) is None:
        return True
    return part.near is not None and part.near(one, other) is None


def _error_type(seen: Observation) -> str:
    return seen.error.type if seen.error else ""


def _what_is_unfit(seen: Observation) -> Any:
    """The weights that do not fit, and which of them have a bare parameter where a layer is asked.

    Only as many as an answer can tell of, since ours tells of all.
    """
    if not seen.unfit:
        return None
    missing, has = seen.unfit.missing[:MOST_WORDS], seen.unfit.has[:MOST_WORDS]
    bare = [name for name in missing if name.rpartition(".")[0] in has]
    return missing, seen.unfit.shapes[:MOST_WORDS], bare


def _states(seen: Observation) -> list[str]:
    """What was left in models among the arguments, and what was done with generators.

    Of hooks it says whether there are any: on which parts of a model they are, is a matter of taste.
    """
    return [
        str({name: bool(value) if "hooks" in name else value for name, value in item.items()})
        for item in seen.arguments
        if is_a_state(item)
    ]


def drew_the_same(one: Observation, other: Observation) -> bool:
    """Whether two implementations returned the same where results are left to chance."""
    if not one.status == "returned" == other.status:
        return False
    value, found = one.value, other.value
    if isinstance(value, list) and isinstance(found, list):
        value, found = tuple(value), tuple(found)
    return values_agree(value, found) is None


def same_gradients(one: Observation, other: Observation) -> bool:
    """Whether two implementations have the same derivatives, NaN where the other has NaN.

    To what has no say at all, one may pass zeros and the other nothing.
    """
    ours, theirs = one.gradients, other.gradients
    return ours.keys() == theirs.keys() and all(
        _same_gradient(ours[name], theirs[name]) for name in ours
    )


def _same_gradient(one: Any, other: Any) -> bool:
    if one is None or other is None:
        present = one if other is None else other
        return present is None or values_agree(np.zeros_like(as_numpy(present)), present) is None
    return values_agree(one, other) is None


def tells_of_mistakes(case: Case) -> bool:
    """Whether a case is looked at to recognise a mistake."""
    return not case.gradient and (not case.random or case.chance is not None)
