"""Name the mistakes that a student made: find the wrong answer that does what theirs did.

Best is a mistake that does what the student's code did in every case, right or wrong. Where there
is none, one that explains every wrong answer will do, if one of them tells enough: two different
mistakes rarely give the same numbers. Where one alone does not explain them, two at once are tried,
and at last one that explains a whole step, beside something that has no name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from autograder.probe.experiments import Report
from autograder.verdict.check import Case, Mistake, Part
from autograder.verdict.compare import strict_differences, values_agree
from autograder.verdict.exam import Try
from autograder.verdict.judge import wrong_error
from autograder.verdict.relations import Sentences

MOST_PAIRS = 50  # of two mistakes at once that are run, so that a wrong answer costs little
MOST_CASES = 3  # by which pairs are ruled out before they are run
MOST_STEPS = 3  # in which one mistake beside something unknown is looked for


@dataclass(frozen=True)
class Found:
    """One mistake, or two at once, with an answer of ours that makes them."""

    mistakes: tuple[Mistake, ...]
    answer: Callable[..., Any]


def mistakes_in(part: Part, tries: Sequence[Try]) -> Sentences:
    """The named mistakes that explain what came back, as (name, sentence) pairs; see `found_in`."""
    found = found_in(part, tries)
    mistakes = found.mistakes if found else _in_single_steps(part, tries)
    return tuple((mistake.name, mistake.says) for mistake in mistakes)


def found_in(part: Part, tries: Sequence[Try]) -> Found | None:
    """The named mistakes that explain what came back.

    A case counts as wrong if it was judged wrong and its value shows it; what is right in a form of
    its own says nothing about a mistake.

    Args:
        part: whose mistakes are tried.
        tries: all its cases, with what is wrong with them.

    Returns:
        one mistake, two where it takes two at once, or None.
    """
    if any(item.report["status"] in ("timeout", "missing") for item in tries):
        return None
    telling = [item for item in tries if tells_of_mistakes(item.case)]
    wrong = [
        item
        for item in telling
        if item.problem and not _alike(item.case, item.expected, item.report)
    ]
    if not wrong:
        return _found_by_chance(part, tries)
    right = [item for item in telling if item not in wrong]
    # what is wrong rules most mistakes out, so it is looked at first, what costs least before all
    wrong.sort(key=_size)
    all_of_them = wrong + right
    enough = any(_tells(item) for item in wrong)
    for explained in (all_of_them, wrong) if enough else (all_of_them,):
        for mistake in part.mistakes:
            if explains(mistake.answer, explained):
                return Found((mistake,), mistake.answer)
    return _two_at_once(part, wrong, right) if enough else None


def _found_by_chance(part: Part, tries: Sequence[Try]) -> Found | None:
    """The mistake that explains what is wrong only where results are left to chance.

    Who draws as often and as many numbers from the same seed gets the same; so two dropouts in the
    same place agree, unless one is written by hand.
    """
    wrong = [item for item in tries if item.case.random and item.problem]
    if not wrong or any(item.report["status"] != "returned" for item in wrong):
        return None
    telling = [item for item in tries if tells_of_mistakes(item.case)]
    for mistake in part.mistakes:
        if explains(mistake.answer, telling) and all(
            drew_the_same(item.exam.attempt(mistake.answer, item.number), item.report)
            for item in wrong
        ):
            return Found((mistake,), mistake.answer)
    return None


def drew_the_same(one: Report, other: Report) -> bool:
    """Whether two implementations returned the same where results are left to chance."""
    if not one["status"] == "returned" == other["status"]:
        return False
    value, found = one["value"], other.get("value")
    if isinstance(value, list) and isinstance(found, list):
        value, found = tuple(value), tuple(found)
    return values_agree(value, found) is None


def tells_of_mistakes(case: Case) -> bool:
    """Whether a case is looked at to recognise a mistake."""
    return not case.gradient and not case.random


def _tells(item: Try) -> bool:
    """Whether a try says much: many mistakes share an error, or a bare True."""
    if item.case.raises or item.report["status"] == "unfit":
        return True
    value = item.report.get("value")
    return item.report["status"] == "returned" and not isinstance(value, bool)


def _size(item: Try) -> int:
    """How many numbers go into a case, which is roughly what it costs."""
    values = [*item.request["arguments"], *item.request.get("state", {}).values()]
    return sum(math.prod(value.shape) for value in values if hasattr(value, "shape"))


def _two_at_once(part: Part, wrong: Sequence[Try], right: Sequence[Try]) -> Found | None:
    """Two mistakes of different steps that explain all cases together, and neither alone.

    Args:
        part: whose mistakes are tried.
        wrong: cases to explain, those that cost least first.
        right: the others.
    """
    judged_by = [item for item in wrong if item.report["status"] == "returned" and _tells(item)]
    judged_by = judged_by[:MOST_CASES]
    in_steps = [mistake for mistake in part.mistakes if mistake.in_steps]
    if not judged_by:
        return None
    first, failed, run = judged_by[0], set(), 0
    for number, one in enumerate(in_steps):
        for other in in_steps[number + 1 :]:
            if one.name == other.name or not all(
                _may_act_together(one, other, item) for item in judged_by
            ):
                continue
            alone = (_fingerprint(one, first), _fingerprint(other, first))
            both = None if alone in failed else _both(one, other)
            if both is None or run == MOST_PAIRS:
                continue
            run += 1
            if not explains(both, [first]):
                failed.add(alone)
            elif explains(both, [*wrong, *right]):
                return Found((one, other), both)
    return None


@lru_cache(maxsize=4096)
def _both(one: Mistake, other: Mistake) -> Callable[..., Any] | None:
    return one.together_with(other)


def _may_act_together(one: Mistake, other: Mistake, item: Try) -> bool:
    """Whether two mistakes may explain a case together, by what each does alone.

    Where only one of them changes anything, that one explains the case, or nothing does. Where the
    numbers are right, neither may change them.
    """
    attempts = [item.exam.attempt(mistake.answer, item.number) for mistake in (one, other)]
    acts = [not _alike(item.case, item.expected, attempt) for attempt in attempts]
    if not any(acts):
        return False
    expected = item.expected.get("value")
    if values_agree(expected, item.report.get("value")) is None and not all(
        attempt["status"] == "returned" and values_agree(expected, attempt["value"]) is None
        for attempt in attempts
    ):
        return False
    return all(acts) or _alike(item.case, attempts[acts.index(True)], item.report)


def _fingerprint(mistake: Mistake, item: Try) -> str | bytes:
    """What a mistake gives in a case, to the third digit."""
    report = item.exam.attempt(mistake.answer, item.number)
    value = report.get("value")
    if report["status"] != "returned":
        return f"{report['status']} {report.get('error', {}).get('type')}"
    values = value if isinstance(value, tuple | list) else (value,)
    return b"|".join(
        repr(one.shape).encode() + np.asarray(one, dtype=np.float64).round(3).tobytes()
        if isinstance(one, torch.Tensor | np.ndarray)
        else repr(one).encode()
        for one in values
    )


def _in_single_steps(part: Part, tries: Sequence[Try]) -> tuple[Mistake, ...]:
    """Mistakes that alone explain all cases of a step, where something else is wrong in others.

    At least one case of the step must be wrong and tell much, so that no mistake is named that was
    not made.
    """
    if any(item.report["status"] in ("timeout", "missing") for item in tries):
        return ()
    found: list[Mistake] = []
    failed = dict.fromkeys(item.step for item in tries if item.problem)
    for step in list(failed)[:MOST_STEPS]:
        asked = [item for item in tries if item.step is step and tells_of_mistakes(item.case)]
        wrong = [
            item
            for item in asked
            if item.problem and not _alike(item.case, item.expected, item.report)
        ]
        if not any(_tells_much(item) for item in wrong):
            continue
        asked.sort(key=lambda item: (item not in wrong, _size(item)))
        mistake = next((each for each in part.mistakes if explains(each.answer, asked)), None)
        if mistake and all(mistake.name != other.name for other in found):
            found.append(mistake)
    return tuple(found[:2])


def _tells_much(item: Try) -> bool:
    """Whether so many different numbers came back that no other mistake gives the same."""
    value = item.report.get("value")
    values = value if isinstance(value, tuple | list) else (value,)
    return item.report["status"] == "returned" and any(
        isinstance(one, torch.Tensor | np.ndarray)
        and torch.as_tensor(one).is_floating_point()
        and len(torch.as_tensor(one).unique()) >= 6
        for one in values
    )


def explains(answer: Callable[..., Any], tries: Sequence[Try]) -> bool:
    """Whether a wrong implementation of ours does what the student's code did.

    Where the student's code did nothing but stop, one of its errors at least must be ours, too.
    """
    if not all(
        _alike(item.case, item.exam.attempt(answer, item.number), item.report) for item in tries
    ):
        return False
    return any(item.report["status"] != "raised" for item in tries) or any(
        item.exam.attempt(answer, item.number)["error"]["type"] == item.report["error"]["type"]
        for item in tries
    )


def _alike(case: Case, one: Report, other: Report) -> bool:
    """Whether two implementations did the same in a case, as far as a mistake would show."""
    if one["status"] != other["status"]:
        return False
    if one["status"] == "unfit":
        return one.get("missing") == other.get("missing") and one.get("shapes") == other.get(
            "shapes"
        )
    if case.raises:
        # right errors come in words of their own, and so do wrong ones of one type
        wrong = [bool(wrong_error(case.raises, report)) for report in (one, other)]
        same_type = one["status"] != "raised" or one["error"]["type"] == other["error"]["type"]
        return wrong == [False, False] or (all(wrong) and same_type)
    if one["status"] == "raised":
        return True
    value, found = one["value"], other.get("value")
    return values_agree(value, found) is None and strict_differences(value, found) is None
