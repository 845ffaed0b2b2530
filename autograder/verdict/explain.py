"""Name the mistakes that a student made: find the wrong answer that does what theirs did.

Best is a mistake that does what the student's code did in every case, right or wrong. Where there
is none, one that explains every wrong answer will do, if one of them tells enough: two different
mistakes rarely give the same numbers. Where one alone does not explain them, two at once are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

from autograder.probe.experiments import Report
from autograder.verdict.check import Case, Mistake, Part
from autograder.verdict.compare import strict_differences, values_agree
from autograder.verdict.exam import Try
from autograder.verdict.judge import wrong_error

Sentences = tuple[tuple[str, str], ...]

MOST_PAIRS = 600  # of two mistakes at once, so that a wrong answer costs at most a second or so


@dataclass(frozen=True)
class Found:
    """One mistake, or two at once, with an answer of ours that makes them."""

    mistakes: tuple[Mistake, ...]
    answer: Callable[..., Any]


def mistakes_in(part: Part, tries: Sequence[Try]) -> Sentences:
    """The named mistakes that explain what came back, as (name, sentence) pairs; see `found_in`."""
    found = found_in(part, tries)
    return tuple((mistake.name, mistake.says) for mistake in found.mistakes) if found else ()


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
    # what is wrong rules most mistakes out, so it is looked at first
    all_of_them = wrong + right
    enough = any(_tells(item) for item in wrong)
    for explained in (all_of_them, wrong) if enough else (all_of_them,):
        for mistake in part.mistakes:
            if explains(mistake.answer, explained):
                return Found((mistake,), mistake.answer)
    if enough:
        for one, other, both in _pairs(part):
            if explains(both, all_of_them):
                return Found((one, other), both)
    return None


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


@cache
def _pairs(part: Part) -> list[tuple[Mistake, Mistake, Callable[..., Any]]]:
    """Mistakes of a part, two by two, with an answer that makes both."""
    return list(_combined(part.mistakes))[:MOST_PAIRS]


def _combined(
    mistakes: Sequence[Mistake],
) -> Iterator[tuple[Mistake, Mistake, Callable[..., Any]]]:
    for one, other in combinations(mistakes, 2):
        both = one.together_with(other) if one.name != other.name else None
        if both is not None:
            yield one, other, both


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
