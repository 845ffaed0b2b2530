"""Charge a mistake once: the steps that it is not about are decided as if it were no mistake.

A missing scale makes every number of a layer wrong, and a step that asks about masks would fail
with all others. Where a named mistake is seen in the steps that it costs, what other steps get is
therefore compared with what an otherwise right answer with this mistake gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from autograder.verdict.check import Part, Step
from autograder.verdict.exam import Attempt
from autograder.verdict.judge import problem_with
from autograder.verdict.naming import Found, does_the_same, drew_the_same, tells_of_mistakes

Find = Callable[[], Found | None]


def charged_once(attempts: Sequence[Attempt], find: Find) -> list[Attempt]:
    """The same attempts, where problems that come from a mistake charged elsewhere are none.

    Args:
        attempts: all cases of a part, with what is wrong with them. Of the part's mistakes, those
            that do not say what they cost are left out.
        find: what is behind all of them, as `found_in` says; asked only where more than one step
            failed.
    """
    failed = {item.step for item in attempts if item.problem}
    if len(failed) < 2:
        return list(attempts)
    best: set[Step] = set()
    for answer, costs in _suspects(attempts[0].part, find):
        free = failed - costs
        if not failed & costs or not free or not _seen(answer, costs, attempts):
            continue
        right = {step for step in free if _right_but_for(answer, step, attempts)}
        best = max(best, right, key=lambda steps: sum(step.points for step in steps))
    return [replace(item, problem=None) if item.step in best else item for item in attempts]


def _suspects(part: Part, find: Find) -> Iterator[tuple[Callable[..., Any], set[Step]]]:
    """Wrong answers with the steps that they cost: each mistake, and two that were made at once."""
    for mistake in part.mistakes:
        if mistake.costs:
            yield mistake.answer, set(mistake.costs)
    found = find()
    if found and len(found.mistakes) > 1 and all(mistake.costs for mistake in found.mistakes):
        yield found.answer, {step for mistake in found.mistakes for step in mistake.costs}


def _seen(answer: Callable[..., Any], costs: set[Step], attempts: Sequence[Attempt]) -> bool:
    """Whether a submission does what a mistake does, in all steps that the mistake costs."""
    telling = [item for item in attempts if item.step in costs and tells_of_mistakes(item.case)]
    wrong = [item for item in attempts if item.step in costs and item.problem]
    # that something stops with an error, many mistakes have in common
    return any(item.report["status"] == "returned" for item in wrong) and does_the_same(
        answer, telling
    )


def _right_but_for(answer: Callable[..., Any], step: Step, attempts: Sequence[Attempt]) -> bool:
    """Whether a step's problems all come from a mistake.

    That both stop with an error says nothing, so something must have come back.
    """
    asked = [item for item in attempts if item.step is step]
    return any(item.report["status"] == "returned" for item in asked) and all(
        item.problem is None or _comes_from(answer, item) for item in asked
    )


def _comes_from(answer: Callable[..., Any], item: Attempt) -> bool:
    """Whether a problem is none, if what a wrong answer of ours does counts as right."""
    given = item.exam.done_by(answer, item.number)
    if not given["status"] == "returned" == item.report["status"]:
        return given["status"] == item.report["status"] in ("raised", "unfit")
    if item.case.random and not isinstance(given["value"], dict):
        return drew_the_same(given, item.report)
    if problem_with(item, given) is None:
        return True
    # a judge that asks for weights does not know the numbers that came in their place
    numbers_alone = not item.step.strict and not item.case.gradient
    return numbers_alone and drew_the_same(given, item.report)
