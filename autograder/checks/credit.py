"""Charge an error once: decide which of the steps that failed cost points.

A missing scale makes every number of a layer wrong, and a step that asks about masks fails with all
others. Three rules keep one error from costing a whole part:

1. A mistake that has a name costs the steps of which its author says so, or else the first that it
   explains. Other steps that it explains are wrong, and keep their points. Where its author only
   gives a reason why it costs more (it is as good as no answer), it costs all that it breaks. Of two
   mistakes, each costs what it would cost alone.
2. Gradients that are wrong in the same way in several steps cost the last of these. Another one keeps its
   points if the numbers are right there.
3. What has no name costs half of a part at most, as long as the part is right in its plainest case,
   which is the smallest one of the first step that compares numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autograder.arrays import quietly
from autograder.checks.cases import Step
from autograder.checks.compare import values_agree
from autograder.checks.diagnosis import Diagnosis, Evidence, tells_much
from autograder.checks.drawn_cases import CaseRun, size_of
from autograder.checks.judge import problem_with
from autograder.checks.mistakes import Mistake
from autograder.checks.problem import Kind
from autograder.checks.sameness import (
    alike,
    does_the_same,
    drew_the_same,
    same_gradients,
    tells_of_mistakes,
)
from autograder.checks.verdicts import Waived
from autograder.probe.messages import CallRequest, ModuleRequest, Observation

# what is wrong beside a result, of which the result tells nothing
BESIDE_IT = (Kind.INPUT_CHANGED, Kind.MODE_CHANGED, Kind.MODEL_CHANGED, Kind.MEMORY)
Find = Callable[[], Diagnosis | None]


@quietly
def waived(attempts: Sequence[CaseRun], find: Find) -> dict[Step, Waived]:
    """The steps that failed, in their order, each with why it keeps its points, if it does.

    What is behind all of them, as `diagnosis_of` says, is asked for only where more than one step failed.
    """
    part = attempts[0].part
    wrong = {item.step for item in attempts if item.problem}
    failed = [step for step in part.steps if step in wrong]
    why = dict.fromkeys(failed, Waived.NO)
    if len(failed) < 2:
        return why
    cause = _best_cause(failed, attempts, find)
    why |= dict.fromkeys(cause.spares, Waived.SAME)
    charged = [step for step in failed if not why[step]]
    why |= dict.fromkeys(_gradients_of_a_later_step(charged, attempts), Waived.SAME)
    if _right_in_its_plainest_case(attempts):
        lost = _points(step for step in cause.costs if not why[step])
        for step in failed:
            if why[step] or step in cause.costs:
                continue
            if lost and lost + step.points > part.points / 2:
                why[step] = Waived.HALF
            else:
                lost += step.points
    return why


def _gradients_of_a_later_step(
    charged: Sequence[Step], attempts: Sequence[CaseRun]
) -> Iterator[Step]:
    """Steps in which nothing but gradients is wrong, and in the same way as in a later one."""
    right = {item.step for item in attempts if not item.problem}
    wrong = {
        step: [item for item in attempts if item.step is step and item.problem] for step in charged
    }
    ways = {
        step: {item.problem.kind for item in items if item.problem and item.case.gradient}
        for step, items in wrong.items()
    }
    for number, step in enumerate(charged):
        later = set().union(*(ways[other] for other in charged[number + 1 :]))
        alone = step in right and all(item.case.gradient for item in wrong[step])
        if alone and ways[step] & later:
            yield step


@dataclass(frozen=True)
class Cause:
    """A mistake, or two, with the steps that they cost, and those that fail for no other reason."""

    costs: frozenset[Step] = frozenset()
    spares: frozenset[Step] = frozenset()


def _points(steps: Iterable[Step]) -> float:
    return math.fsum(step.points for step in steps)


def _best_cause(failed: Sequence[Step], attempts: Sequence[CaseRun], find: Find) -> Cause:
    """The first cause of those that spare most; nothing is run for one that cannot spare more."""
    best: Cause | None = None
    # most mistakes are ruled out by what is wrong, and what costs least is asked before all
    cheap_first = sorted(attempts, key=lambda item: (item.problem is None, size_of(item)))
    for found in _suspects(attempts, find):
        least = _points(best.spares) if best else -1.0
        about = _about(found, failed, cheap_first, least)
        if not about and found.evidence is Evidence.STEP:
            continue
        costs = (about or {failed[0]}) & set(failed)
        if _points(set(failed) - costs) <= least:
            continue
        if not _is_shown(found, about or costs, costs, cheap_first):
            continue
        others = [step for step in failed if step not in costs]
        spares = frozenset(step for step in others if _right_but_for(found, step, cheap_first))
        if best is None or _points(spares) > _points(best.spares):
            best = Cause(frozenset(costs), spares)
    return best or Cause()


def _suspects(attempts: Sequence[CaseRun], find: Find) -> Iterator[Diagnosis]:
    """What may be behind it: what was found, and each mistake by itself, seen in its own steps."""
    found = find()
    if found:
        yield found
    for mistake in attempts[0].part.mistakes:
        yield Diagnosis((mistake,), mistake.answer, Evidence.STEP)


def _about(
    found: Diagnosis, failed: Sequence[Step], attempts: Sequence[CaseRun], least: float
) -> set[Step]:
    """The steps that mistakes cost; none where nothing that fails is theirs.

    Where its author says nothing, or nothing that fits, a mistake costs the first step that it breaks alone: what
    fails before that is another's. Of one that was not found, it is asked only if it may spare more than `least`.
    """
    if any(mistake.costs_more and not mistake.costs for mistake in found.mistakes):
        return set(failed)
    about: set[Step] = set()
    for mistake in found.mistakes:
        own = set(mistake.costs)
        if found.evidence is not Evidence.STEP:
            own = own if own & set(failed) else _first_broken_by(mistake, failed, attempts)
        # most are seen nowhere, which few cases tell; what one breaks takes all of them
        elif not own and _may_be_behind(mistake, failed, attempts, least):
            own = _first_broken_by(mistake, failed, attempts)
        about |= own
    return about


def _may_be_behind(
    mistake: Mistake, failed: Sequence[Step], attempts: Sequence[CaseRun], least: float
) -> bool:
    """Whether a mistake is seen in a step and wrong where the submission is, and breaks none before in another way.

    It spares none of the steps before that, so at some step those that are left no longer come to `least`.
    """
    for number, step in enumerate(failed):
        if _points(failed[number + 1 :]) <= least:
            return False
        wrong = [
            item
            for item in attempts
            if item.step is step and item.problem and item.actual.status == "returned"
        ]
        seen = bool(wrong) and _seen(mistake.answer, {step}, attempts)
        run_already = [item for item in wrong if tells_of_mistakes(item.case)][:1]
        for item in wrong if seen else run_already:
            if _is_wrong(item.drawn.done_by(mistake.answer, item.number), item):
                return seen
    return False


def _first_broken_by(
    mistake: Mistake, steps: Sequence[Step], attempts: Sequence[CaseRun]
) -> set[Step]:
    """The first of the steps that would be wrong if this mistake were the only one."""
    for step in steps:
        asked = (item for item in attempts if item.step is step)
        if any(_is_wrong(item.drawn.done_by(mistake.answer, item.number), item) for item in asked):
            return {step}
    return set()


def _is_shown(
    found: Diagnosis, about: set[Step], costs: set[Step], attempts: Sequence[CaseRun]
) -> bool:
    """Whether the mistakes are seen in the steps that they are about."""
    if found.evidence is not Evidence.STEP:
        # who only stops with the same error has not shown that anything else is right
        return any(tells_much(item) for item in attempts)
    return bool(costs) and _seen(found.answer, about, attempts)


def _seen(answer: Callable[..., Any], costs: set[Step], attempts: Sequence[CaseRun]) -> bool:
    """Whether a submission does what a mistake does, in all steps that the mistake costs."""
    asked = [item for item in attempts if item.step in costs]
    # that something stops with an error, many mistakes have in common
    return any(item.problem and item.actual.status == "returned" for item in asked) and (
        does_the_same(answer, [item for item in asked if tells_of_mistakes(item.case)])
    )


def _right_but_for(found: Diagnosis, step: Step, attempts: Sequence[CaseRun]) -> bool:
    """Whether a step's problems all come from a mistake.

    That both stop with an error says nothing, unless the mistake is behind all that went wrong.
    """
    asked = [item for item in attempts if item.step is step]
    says_something = any(item.actual.status == "returned" for item in asked)
    return (says_something or found.evidence is not Evidence.STEP) and all(
        item.problem is None or _comes_from(found.answer, item) for item in asked
    )


def _comes_from(answer: Callable[..., Any], item: CaseRun) -> bool:
    """Whether a problem is none, if what a wrong answer of ours does counts as right."""
    given = item.drawn.done_by(answer, item.number)
    if not given.status == "returned" == item.actual.status:
        # an error that is asked for is no fault of a mistake that raises it as it should be
        stops = given.status == item.actual.status in ("raised", "unfit")
        return stops and _is_wrong(given, item)
    if item.problem and item.problem.kind in BESIDE_IT:
        own = problem_with(replace(item, actual=given))
        return own is not None and own.kind is item.problem.kind
    if item.case.chance is not None:
        return alike(item, given, item.actual)
    if item.case.random and not isinstance(given.value, dict):
        # a function has no eval mode, so its judge compares any two results
        judged = isinstance(item.request, CallRequest) and problem_with(item, given) is None
        return judged or drew_the_same(given, item.actual)
    if problem_with(item, given) is None:
        return True
    if item.step.strict or item.case.gradient:
        return alike(item, given, item.actual) and same_gradients(given, item.actual)
    # a judge that asks for weights does not know the numbers that came in their place
    return drew_the_same(given, item.actual)


def _is_wrong(given: Observation, item: CaseRun) -> bool:
    """Whether what a wrong answer of ours does in a case is wrong there."""
    return problem_with(replace(item, actual=given)) is not None


def _right_in_its_plainest_case(attempts: Sequence[CaseRun]) -> bool:
    """Whether the smallest case of the first step that compares numbers came back exactly right."""
    plain = [
        item
        for item in attempts
        if tells_of_mistakes(item.case) and not item.case.raises and _computes(item)
    ]
    if not plain:
        return False
    item = min((each for each in plain if each.step is plain[0].step), key=size_of)
    return (
        item.problem is None
        and tells_much(item)
        and (
            item.case.chance is not None
            or values_agree(item.expected.value, item.actual.value) is None
        )
    )


def _computes(item: CaseRun) -> bool:
    """Whether what is called is the author's own, and does not only look at what a module holds."""
    if not isinstance(item.request, ModuleRequest):
        return True
    from torch import nn  # here, since only modules need it

    method = item.request.method
    return method is not None and (method == "forward" or not hasattr(nn.Module, method))
