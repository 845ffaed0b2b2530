"""Charge a mistake once: the steps that it is not about are decided as if it were no mistake.

A missing scale makes every number of a layer wrong, and a step that asks about masks would fail
with all others. Where a named mistake is seen in the steps that it costs, what other steps get is
therefore compared with what an otherwise right answer with this mistake gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from autograder.probe.experiments import Report
from autograder.verdict.check import Mistake, Part, Step
from autograder.verdict.compare import values_agree
from autograder.verdict.exam import Try
from autograder.verdict.explain import explains, found_in, tells_of_mistakes
from autograder.verdict.judge import problem_with


def charged_once(part: Part, tries: Sequence[Try]) -> list[Try]:
    """The same tries, where problems that come from a mistake charged elsewhere are none.

    Args:
        part: whose mistakes are tried; those that do not say what they cost are left out.
        tries: all its cases, with what is wrong with them.
    """
    failed = {item.step for item in tries if item.problem}
    if len(failed) < 2:
        return list(tries)
    best: set[Step] = set()
    for answer, costs in _suspects(part, tries):
        free = failed - costs
        if not failed & costs or not free or not _seen(answer, costs, tries):
            continue
        right = {step for step in free if _right_but_for(answer, step, tries)}
        best = max(best, right, key=lambda steps: sum(step.points for step in steps))
    return [replace(item, problem=None) if item.step in best else item for item in tries]


def _suspects(part: Part, tries: Sequence[Try]) -> Iterator[tuple[Callable[..., Any], set[Step]]]:
    """Wrong answers with the steps that they cost: each mistake, and two that explain together."""
    for mistake in part.mistakes:
        if mistake.costs:
            yield mistake.answer, _charged(part, mistake)
    found = found_in(part, tries)
    if found and len(found.mistakes) > 1 and all(mistake.costs for mistake in found.mistakes):
        both = (_charged(part, mistake) for mistake in found.mistakes)
        yield found.answer, set().union(*both)


def _charged(part: Part, mistake: Mistake) -> set[Step]:
    return {part.steps[number - 1] for number in mistake.costs}


def _seen(answer: Callable[..., Any], costs: set[Step], tries: Sequence[Try]) -> bool:
    """Whether a submission does what a mistake does, in all steps that the mistake costs."""
    telling = [item for item in tries if item.step in costs and tells_of_mistakes(item.case)]
    return bool(telling) and explains(answer, telling)


def _right_but_for(answer: Callable[..., Any], step: Step, tries: Sequence[Try]) -> bool:
    """Whether a step's problems all come from a mistake; that both stop tells nothing."""
    came_back = False
    for item in tries:
        if item.step is not step or not item.problem:
            continue
        given = item.exam.attempt(answer, item.number)
        if given["status"] == "returned" == item.report["status"]:
            came_back = True
            if not _agree(item, given):
                return False
        elif not given["status"] == "raised" == item.report["status"]:
            return False
    return came_back


def _agree(item: Try, given: Report) -> bool:
    """Whether a result is right, if that of a wrong answer of ours counts as right."""
    value = given["value"]
    if not item.case.random or isinstance(value, dict):
        return problem_with(item, given) is None
    # what is left to chance is the same for who draws as often and as many
    got = item.report.get("value")
    if isinstance(value, list) and isinstance(got, list):
        value, got = tuple(value), tuple(got)
    return values_agree(value, got) is None
