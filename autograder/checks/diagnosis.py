"""Name the mistakes that a student made: find the wrong answer that does what theirs did.

Best is a mistake that does what the student's code did in every case, right or wrong. Where there
is none, one that does so in every wrong case will do, if one of them tells enough: two different
mistakes rarely give the same numbers. Where one alone does not, two at once are tried, and at last
one that does so in a whole step, beside something that has no name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache, partial
from typing import Any

import numpy as np

from autograder.arrays import Array, as_numpy, is_array, quietly
from autograder.checks.arguments import mistakes_about_arguments
from autograder.checks.check import Part
from autograder.checks.compare import (
    ABSOLUTE,
    RELATIVE,
    are_pairs,
)
from autograder.checks.drawn_cases import CaseRun, size_of, state_of
from autograder.checks.explain.evidence import Sentences, as_array
from autograder.checks.judge import problem_with
from autograder.checks.mistakes import Mistake
from autograder.checks.problem import Kind
from autograder.checks.sameness import (
    alike,
    are_near,
    does_the_same,
    drew_the_same,
    same_gradients,
    tells_of_mistakes,
)
from autograder.probe.messages import Observation

MOST_RUNS = 20_000  # of two mistakes at once, each counted by the weights that it takes
FUNCTION_RUN = 50  # what a run counts that takes none
MOST_CASES = 3  # right ones, and wrong ones, by which pairs are ruled out before they are run
MANY_CELLS = 24  # of a mask, that no two mistakes have in common in every case
MOST_STEPS = 3  # in which one mistake beside something unknown is looked for


class Evidence(Enum):
    """How much of what a student's code did a mistake explains; its value opens the sentence."""

    ALL = ""
    WRONG = (
        "Wherever something is wrong, your results are those of this mistake. Other cases in which it "
        "would show are right."
    )
    STEP = "In one step your results are those of this mistake, but it does not explain all the others."


@dataclass(frozen=True)
class Diagnosis:
    """One mistake, or two at once, with an answer of ours that makes them."""

    mistakes: tuple[Mistake, ...]
    answer: Callable[..., Any]
    evidence: Evidence = Evidence.ALL


def mistakes_in(attempts: Sequence[CaseRun], found: Diagnosis | None) -> Sentences:
    """The named mistakes in what came back, as (name, sentence) pairs.

    Where `diagnosis_of` has found nothing that is behind all of it, single steps are looked at.
    """
    mistakes = found.mistakes if found else _in_single_steps(attempts)
    evidence = found.evidence if found else Evidence.STEP
    return tuple(
        (mistake.name, f"{evidence.value} {mistake.message}".lstrip()) for mistake in mistakes
    )


@quietly
def diagnosis_of(attempts: Sequence[CaseRun]) -> Diagnosis | None:
    """The named mistakes that are behind what came back: one, two where it takes two at once, or None.

    A case counts as wrong if it was judged wrong and its value shows it; what is right in a form of
    its own says nothing about a mistake.
    """
    if not all(item.actual.came_to_an_end for item in attempts):
        return None
    telling = [item for item in attempts if tells_of_mistakes(item.case)]
    wrong = [
        item for item in telling if item.problem and not alike(item, item.expected, item.actual)
    ]
    if not wrong:
        return _found_by_chance(attempts)
    right = [item for item in telling if item not in wrong]
    # what is wrong rules most mistakes out, so it is looked at first, what costs least before all
    wrong.sort(key=size_of)
    all_of_them = wrong + right
    enough = any(_tells(item) for item in wrong)
    for evidence, shown in ((Evidence.ALL, all_of_them), (Evidence.WRONG, wrong)):
        for mistake in _known(attempts[0].part) if enough or shown is all_of_them else ():
            if does_the_same(mistake.answer, shown):
                return _with_another_by_chance(mistake, evidence, shown, attempts)
    return _two_at_once(wrong, right) if enough else None


def _found_by_chance(attempts: Sequence[CaseRun]) -> Diagnosis | None:
    """The mistake behind what is wrong only in gradients, or where results are left to chance.

    Who draws as often and as many numbers from the same seed gets the same; so two dropouts in the
    same place agree, unless one is written by hand.
    """
    wrong = [item for item in attempts if item.problem and (item.case.random or item.case.gradient)]
    if not wrong or any(item.actual.status != "returned" for item in wrong):
        return None
    telling = [item for item in attempts if tells_of_mistakes(item.case)]
    for mistake in _known(attempts[0].part):
        if does_the_same(mistake.answer, telling) and all(
            _is_as_wrong(item, item.drawn.done_by(mistake.answer, item.number)) for item in wrong
        ):
            return Diagnosis((mistake,), mistake.answer)
    return None


def _with_another_by_chance(
    mistake: Mistake, evidence: Evidence, shown: Sequence[CaseRun], attempts: Sequence[CaseRun]
) -> Diagnosis:
    """A mistake that is behind all cases by which one is known, and one more where a step is wrong by chance alone.

    What else is wrong in a step that this mistake breaks costs nothing more, so it is not looked for.
    """
    broken = {item.step for item in attempts if item.problem and tells_of_mistakes(item.case)}
    left = [
        item
        for item in attempts
        if item.problem
        and item.step not in broken
        and item.actual.status == "returned"
        and not _is_as_wrong(item, item.drawn.done_by(mistake.answer, item.number))
    ]
    left.sort(key=size_of)
    for other in attempts[0].part.mistakes if left else ():
        both = _both(mistake, other) if other.name != mistake.name else None
        if (
            both
            and all(_is_as_wrong(item, item.drawn.done_by(both, item.number)) for item in left)
            and does_the_same(both, shown)
        ):
            return Diagnosis((mistake, other), both, evidence)
    return Diagnosis((mistake,), mistake.answer, evidence)


def _is_as_wrong(item: CaseRun, done: Observation) -> bool:
    """Whether a mistake of ours drew the same as a student's code, and is wrong in the same way."""
    problem = problem_with(replace(item, actual=done))
    if not problem or not item.problem or problem.kind is not item.problem.kind:
        return False
    return drew_the_same(done, item.actual) and (
        item.problem.kind is not Kind.GRADIENT or same_gradients(done, item.actual)
    )


def _known(part: Part) -> tuple[Mistake, ...]:
    """All mistakes of a part, those that its author wrote down first."""
    return (*part.mistakes, *mistakes_about_arguments(part))


def _tells(item: CaseRun) -> bool:
    """Whether an attempt says much: many mistakes share an error, or a bare True."""
    if item.case.raises or item.actual.status == "unfit":
        return True
    value = item.actual.value
    return item.actual.status == "returned" and not isinstance(value, bool)


def _two_at_once(wrong: Sequence[CaseRun], right: Sequence[CaseRun]) -> Diagnosis | None:
    """Two mistakes of different steps that are behind all cases together, and neither alone.

    Of the wrong cases, those that cost least come first.

    What each does alone in a few cases rules most pairs out, and says which are to be run first.
    """
    returned = [
        item
        for item in wrong
        if item.actual.status == "returned" and not item.case.raises and _tells(item)
    ]
    # one number everywhere, such as 0, is what many pairs come to that nobody has made
    if not returned or _is_one_number([item.actual.value for item in returned]):
        return None
    quiet = [item for item in right if item.problem is None and not item.case.raises]
    looked_at = [*returned[:MOST_CASES], *sorted(quiet, key=size_of)[:MOST_CASES]]
    in_steps = [mistake for mistake in wrong[0].part.mistakes if mistake.combines]
    alone = {mistake: [_effect(mistake, item) for item in looked_at] for mistake in in_steps}
    unchanged = [_right_results(item) for item in looked_at]
    as_many = {
        mistake: all(_gives_as_many(mistake, item) for item in looked_at) for mistake in alone
    }
    has_weights = bool(state_of(returned[0].request))
    likely: list[tuple[int, bool, Mistake, Mistake]] = []
    for number, one in enumerate(in_steps):
        for other in in_steps[number + 1 :]:
            evidence = _evidence(alone[one], alone[other], unchanged)
            if one.name == other.name or (evidence is None and has_weights):
                continue
            # beside another, a mistake may act where it does not alone; a function is quickly run
            # one of the two is behind the number of results
            elsewhere = not (as_many[one] or as_many[other])
            likely.append((1 if evidence is None else -evidence, elsewhere, one, other))
    likely.sort(key=lambda pair: pair[:2])
    run = 0
    for _, _, one, other in likely:
        both = _both(one, other)
        if both is None:
            continue
        if does_the_same(both, [*wrong, *right]):
            return Diagnosis((one, other), both)
        run += len(state_of(returned[0].request)) or FUNCTION_RUN
        if run > MOST_RUNS:
            return None
    return None


@lru_cache(maxsize=8192)
def _both(one: Mistake, other: Mistake) -> Callable[..., Any] | None:
    return one.together_with(other)


# of each result of a case, whether a mistake changes it, and whether to what the student has
Effect = list[tuple[bool, bool]] | None


def _effect(mistake: Mistake, item: CaseRun) -> Effect:
    """What a mistake alone does to each result of a case; None where it gives none at all."""
    done = item.drawn.done_by(mistake.answer, item.number)
    if done.status != "returned":
        return None
    given, right, found = (_results(seen.value) for seen in (done, item.expected, item.actual))
    same = partial(_same, item.part)
    if not len(given) == len(right) == len(found):
        return [(True, same(done.value, item.actual.value))] * len(right)
    return [
        (not same(one, wanted), same(one, own))
        for one, wanted, own in zip(given, right, found, strict=True)
    ]


def _gives_as_many(mistake: Mistake, item: CaseRun) -> bool:
    """Whether a mistake alone gives as many results as the student's code."""
    done = item.drawn.done_by(mistake.answer, item.number)
    return done.status == "returned" and len(_results(done.value)) == len(
        _results(item.actual.value)
    )


def _right_results(item: CaseRun) -> list[bool]:
    """Which results of a case are right in the student's answer."""
    right, found = _results(item.expected.value), _results(item.actual.value)
    if len(right) != len(found):
        return [False] * len(right)
    return [_same(item.part, wanted, own) for wanted, own in zip(right, found, strict=True)]


def _evidence(one: list[Effect], other: list[Effect], right: list[list[bool]]) -> int | None:
    """How much speaks for two mistakes at once, by what each does alone; None if they cannot be.

    Where only one of them changes a result, it alone is behind that result; where neither does, the
    result must be right; where a result is right, neither has changed it.
    """
    fitting = acting = 0
    for effects, effects_too, rights in zip(one, other, right, strict=True):
        if effects is None or effects_too is None:
            return None
        for (acts, fits), (acts_too, fits_too), is_right in zip(
            effects, effects_too, rights, strict=False
        ):
            if is_right == (acts or acts_too):
                return None
            if acts != acts_too:
                if not (fits if acts else fits_too):
                    return None
                fitting += 1
            acting |= acts | 2 * acts_too
    # one that changes nothing in these cases could be any
    return fitting if acting == 3 or fitting else None


def _results(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _same(part: Part, one: Any, other: Any) -> bool:
    """Whether two results are the same within float32; quicker than a sentence on the difference."""
    if not (is_array(one) and is_array(other)):
        return type(one) is type(other) and are_near(part, one, other)
    first, second = as_array(one), as_array(other)
    if first is None or second is None:
        return False
    if first.shape != second.shape:
        return False
    with np.errstate(all="ignore"):
        near = np.abs(first - second) <= ABSOLUTE + RELATIVE * np.abs(first)
    equal = near | (first == second) | (np.isnan(first) & np.isnan(second))
    return bool(equal.all()) or (part.near is not None and part.near(one, other) is None)


def _in_single_steps(attempts: Sequence[CaseRun]) -> tuple[Mistake, ...]:
    """Mistakes that alone are behind all cases of a step, where something else is wrong in others.

    At least one case of the step must be wrong and tell much, so that no mistake is named that was
    not made.
    """
    if not all(item.actual.came_to_an_end for item in attempts):
        return ()
    found: list[Mistake] = []
    failed = dict.fromkeys(item.step for item in attempts if item.problem)
    for step in list(failed)[:MOST_STEPS]:
        asked = [item for item in attempts if item.step is step and tells_of_mistakes(item.case)]
        wrong = [
            item for item in asked if item.problem and not alike(item, item.expected, item.actual)
        ]
        if not any(tells_much(item) for item in wrong):
            continue
        asked.sort(key=lambda item: (item not in wrong, size_of(item)))
        mistake = next(
            (each for each in attempts[0].part.mistakes if does_the_same(each.answer, asked)), None
        )
        if mistake and all(mistake.name != other.name for other in found):
            found.append(mistake)
    return tuple(found[:2])


def tells_much(item: CaseRun) -> bool:
    """Whether so many different numbers came back that no other mistake gives the same."""
    value = item.actual.value
    if item.actual.status == "returned" and (item.case.chance or are_pairs(value)):
        return True
    return item.actual.status == "returned" and any(map(_is_telling, _arrays_in(value)))


def _is_telling(array: Array) -> bool:
    if array.dtype == bool:
        return array.size >= MANY_CELLS
    return array.dtype.kind == "f" and len(_different(array)) >= 6


def _is_one_number(results: Sequence[Any]) -> bool:
    """Whether all arrays of several results hold one and the same real number."""
    arrays = [array for value in results for array in _arrays_in(value)]
    if not arrays or not all(array.dtype.kind == "f" for array in arrays):
        return False
    return len(_different(np.concatenate([array.ravel() for array in arrays]))) == 1


def _different(array: Array) -> Array:
    return np.unique(array, equal_nan=False)


def _arrays_in(value: Any) -> Iterator[Array]:
    """The arrays of a result, or of a result in a result."""
    for item in value if isinstance(value, tuple | list) else (value,):
        if isinstance(item, tuple | list):
            yield from _arrays_in(item)
        elif is_array(item):
            yield as_numpy(item)
