"""Say in which cases an answer is right, and in which it is not: a true statement about all of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from autograder.arrays import as_numpy, is_array, is_tensor
from autograder.checks.axes import built_with, sizes_of
from autograder.checks.check import Part
from autograder.checks.compare import values_agree
from autograder.checks.drawn_cases import (
    CaseRun,
    arguments_of,
    defaults_of,
    is_in_train_mode,
    is_left_to_chance,
    method_of,
    times_of,
)
from autograder.checks.explain.evidence import Explanation
from autograder.checks.problem import Kind
from autograder.probe.messages import AnyRequest, ModuleRequest

LOUD = 50.0  # an input with larger numbers is out of the ordinary

# a trait of cases: how it reads with it and without it, and what to ask where it decides
Trait = tuple[str, str, str]

PLAIN: dict[str, Trait] = {
    "an error asked": (
        "where an error is asked for",
        "where a result is asked for",
        "When should the error come, and of which type should it be?",
    ),
    "an error kept back": (
        "where something that it calls stops with an error",
        "where nothing stops",
        "The error should reach the caller. What in your code keeps it back, such as an `except`?",
    ),
    "an error on the way": (
        "where something that it calls stops with an error",
        "where nothing stops",
        "Which of its lines are not reached then, and what should they have put back?",
    ),
    "new module": (
        "about what a new module holds",
        "about what it calculates",
        "What is made in `__init__`, and with which first values?",
    ),
    "gradients": (
        "about gradients",
        "about numbers",
        "Where is the path of the gradients to inputs and weights cut, or led through NaN or changed numbers?",
    ),
    "gaps": (
        "with gaps in memory",
        "with inputs that lie closely",
        "Which step counts on how the numbers lie in memory, as view does?",
    ),
    "calls": (
        "with several calls",
        "with one call",
        "What is kept from one call to the next?",
    ),
    "calls that go on": (
        "with several calls that should draw other numbers",
        "with one call, or several that should draw the same",
        "Is something seeded anew in every call, or a copy of a generator used?",
    ),
    "used before": (
        "after another call",
        "without a call before",
        "What is kept from one call to the next?",
    ),
    "empty": (
        "with a row in which nothing may be seen",
        "without such a row",
        "What should come out where all is hidden, and what does a softmax of −∞ alone give?",
    ),
    "train mode": (
        "in train mode with dropout",
        "in eval mode, or without dropout",
        "What happens there alone? Which numbers are dropped, and what becomes of the others?",
    ),
    "train mode without dropout": (
        "in train mode",
        "in eval mode",
        "What happens there alone, where nothing should be dropped?",
    ),
    "float64": (
        "in float64",
        "in float32",
        "Which tensor does your code make in a dtype of its own?",
    ),
}
# what to ask instead where all numbers are right
WRITES = "Which line writes into an input there, and there alone?"
# these need several cases on either side before they say anything
COUNTED: dict[str, Trait] = {
    "T and S": (
        "with T ≠ S",
        "with T = S",
        "Where does your code take one length for the other?",
    ),
    "several sentences": (
        "with several sentences",
        "with one sentence",
        "What do the sentences share that each should have of its own?",
    ),
    "several heads": (
        "with several heads",
        "with one head",
        "What do the heads share that each should have of its own?",
    ),
    "True": (
        "where True is right",
        "where False is right",
        "Is there a case in which your answer is anything else?",
    ),
    "loud": (
        "with very large or very small numbers",
        "with ordinary numbers",
        "Which step overflows, or loses its digits?",
    ),
}


def when_it_is_right(attempts: Sequence[CaseRun]) -> Explanation | None:
    """What all wrong cases have and no right one has."""
    has = [(item, _traits(item)) for item in attempts]
    wrong = [traits for item, traits in has if item.problem]
    right = [traits for item, traits in has if not item.problem]
    if not wrong or not right:
        return None
    # where the right cases were looked at in another way, it may be the look that decides
    looks = {_look(item) for item in attempts if item.problem}
    alike = [traits for item, traits in has if not item.problem and _look(item) in looks]
    known = {
        name: trait
        for name, trait in {**PLAIN, **COUNTED, **_of_arguments(attempts[0].part)}.items()
        if name in PLAIN or len({traits.get(name) for traits in [*wrong, *alike]}) > 1
    }
    if all(item.problem.kind is Kind.INPUT_CHANGED for item in attempts if item.problem):
        known = {name: (yes, no, WRITES) for name, (yes, no, _) in known.items()}
    for name, (with_it, without, question) in known.items():
        divides = _divides(name, wrong, right)
        if divides is not None:
            bad, good = (with_it, without) if divides else (without, with_it)
            return Explanation(f"wrong {bad}", _counted(right, wrong, good, bad) + question)
    return (_from_some_size_on(attempts) if alike else None) or _only_among(known, wrong, right)


def _look(item: CaseRun) -> tuple[Any, ...]:
    """What decides a case, and whether it is about an error, a new module or a result."""
    return (
        item.step.judge,
        item.step.strict,
        item.case.random,
        bool(item.case.raises),
        is_about_a_new_module(item.request),
    )


def _only_among(
    known: Mapping[str, Trait], wrong: list[dict[str, bool]], right: list[dict[str, bool]]
) -> Explanation | None:
    """The rarest trait that all wrong cases have, and that no case without it is wrong for."""
    shared = [name for name in known if all(item.get(name) for item in wrong)]
    also = {name: sum(item.get(name, False) for item in right) for name in shared}
    without = {name: len(right) - also[name] for name in shared}

    def tells(name: str) -> bool:
        if name in PLAIN:
            return without[name] >= also[name]
        if name.startswith("odd") or "axes" in name:
            return False
        return len(wrong) > 2 and len(wrong) > also[name]

    good = [name for name in shared if without[name] >= 3 and tells(name)]
    if not good:
        return None
    name = min(good, key=lambda name: also[name])
    with_it, without_it, question = known[name]
    cases = len(wrong) + also[name]
    sentence = (
        f"Right in all {without[name]} cases {without_it}; wrong in {len(wrong)} of {cases} "
        f"{with_it}. {question}"
    )
    return Explanation(f"wrong {with_it}", sentence)


def _divides(name: str, wrong: list[dict[str, bool]], right: list[dict[str, bool]]) -> bool | None:
    """Whether all wrong cases have a trait and no right one has (True), or the other way round."""
    least = 1 if name in PLAIN else 2
    if (
        any(name not in traits for traits in (*wrong, *right))
        or min(len(wrong), len(right)) < least
    ):
        return None
    bad, good = ({traits[name] for traits in side} for side in (wrong, right))
    if bad == {True} and good == {False}:
        return True
    if bad == {False} and good == {True} and name not in PLAIN:
        return False
    return None


def _counted(right: Sequence[Any], wrong: Sequence[Any], good: str, bad: str) -> str:
    """Which cases are right and which are wrong, in words that hold of all of either."""

    def cases(number: int) -> str:
        return {1: "the only case", 2: "both cases"}.get(number, f"all {number} cases")

    return f"Right in {cases(len(right))} {good}, wrong in {cases(len(wrong))} {bad}. "


def _traits(item: CaseRun) -> dict[str, bool]:
    request, case = item.request, item.case
    sizes = sizes_of(item)
    expected = item.expected.value
    found = {
        "an error asked": bool(case.raises) and case.raises[0] != "Exception",
        "an error kept back": _is_kept_back(item),
        "an error on the way": case.raises[:1] == ("Exception",),
        "gaps": case.strided,
        "gradients": case.gradient,
        "new module": is_about_a_new_module(request),
        "calls": _is_called_again(item) and not _draws_on(item),
        "calls that go on": _draws_on(item),
        "used before": isinstance(request, ModuleRequest) and bool(request.before),
        "train mode": is_in_train_mode(request) and _dropout(item) > 0,
        "train mode without dropout": is_in_train_mode(request) and _dropout(item) == 0,
        "empty": _has_an_empty_row(item),
        f"{method_of(request)}()": True,
    }
    arrays = [as_numpy(value) for value in request.arguments if is_array(value)]
    floating = [value for value in arrays if value.dtype.kind == "f" and value.size]
    if floating:
        found["float64"] = floating[0].dtype == np.float64
        found["loud"] = any(
            bool((np.abs(value[np.isfinite(value)]) > LOUD).any()) for value in floating
        )
    if "T" in sizes and "S" in sizes:
        found["T and S"] = sizes["T"] != sizes["S"]
    for name, letter in (("several sentences", "B"), ("several heads", "H")):
        if letter in sizes:
            found[name] = sizes[letter] > 1
    if isinstance(expected, bool):
        found["True"] = expected
    given = {**arguments_of(request), **built_with(item)}
    for name, default in _defaults(item.part).items():
        value = given.get(name, default)
        found[f"`{name}`"] = not (
            value is default or (not hasattr(value, "shape") and value == default)
        )
    for name, value in given.items():
        if isinstance(value, int) and not isinstance(value, bool):
            found[f"odd `{name}`"] = value % 2 == 1
        if hasattr(value, "ndim"):
            for number in range(1, 5):
                found[f"{number} axes of `{name}`"] = value.ndim == number
    return found


def _is_called_again(item: CaseRun) -> bool:
    """Whether several calls are made whose results do not follow from what a module drops."""
    return times_of(item.request) > 1 and not is_in_train_mode(item.request)


def _draws_on(item: CaseRun) -> bool:
    """Whether several calls are made that should draw other numbers each time."""
    results = item.expected.value
    return (
        _is_called_again(item)
        and isinstance(results, list)
        and values_agree(results[0], results[1]) is not None
    )


def _is_kept_back(item: CaseRun) -> bool:
    """Whether something stopped on the way, and the caller learns nothing of it."""
    return item.case.raises[:1] == ("Exception",) and item.actual.status == "returned"


def is_about_a_new_module(request: AnyRequest) -> bool:
    """Whether a case looks at what a module holds, and at nothing that it calculates."""
    return isinstance(request, ModuleRequest) and (
        request.method is None or "target" in request.names
    )


def _dropout(item: CaseRun) -> float:
    given = {**_defaults(item.part), **built_with(item)}
    return next((given[name] for name in given if name.startswith("dropout")), 0.0)


def _has_an_empty_row(item: CaseRun) -> bool:
    """Whether a mask that went in, or the weights that should come out, have a row of zeros."""
    value = item.expected.value
    candidates = [*item.request.arguments, *(value if isinstance(value, tuple) else ())]
    for array in candidates:
        if not is_tensor(array) or array.ndim < 1 or array.numel() < 2:
            continue
        numbers = as_numpy(array)
        shows = numbers.dtype == bool or isinstance(value, tuple)
        if shows and bool((numbers == 0).all(axis=-1).any() and numbers.any()):
            return True
    return False


@cache
def _defaults(part: Part) -> dict[str, Any]:
    """Arguments that may be left out, of the function, or of a module and its forward."""
    found = defaults_of(part.reference)
    if isinstance(part.reference, type) and hasattr(part.reference, "forward"):
        found |= defaults_of(part.reference.forward)
    return found


@cache
def _of_arguments(part: Part) -> dict[str, Trait]:
    """Traits that the part's own arguments make."""
    found: dict[str, Trait] = {}
    for name in _defaults(part):
        found[f"`{name}`"] = (
            f"with `{name}` given",
            f"without `{name}`",
            f"What does your code do with `{name}`, and with what stands in its place?",
        )
    for name in re.findall(r"(\w+)\(", part.signature)[1:]:
        found[f"{name}()"] = (
            f"with `{name}`",
            f"without `{name}`",
            f"What does `{name}` do alone?",
        )
    numbers = [*inspect.signature(part.reference).parameters]
    for name in numbers:
        if name.endswith(("_id", "_len")) or name.startswith("dropout"):
            continue
        found[f"odd `{name}`"] = (
            f"with an odd `{name}`",
            f"with an even `{name}`",
            "Which step divides by 2, or takes every second one?",
        )
    for name in dict.fromkeys([*re.findall(r"(\w+) \(", part.signature), *_defaults(part)]):
        for number in range(1, 5):
            words = f"{number} ax{'i' if number == 1 else 'e'}s"
            found[f"{number} axes of `{name}`"] = (
                f"with {words} of `{name}`",
                f"with more or fewer than {words} of `{name}`",
                "Count axes from the end. Which index, product or shape counts them from the front?",
            )
    return found


def _from_some_size_on(attempts: Sequence[CaseRun]) -> Explanation | None:
    """Whether all is right up to some length and wrong from there on, or the other way round."""
    wrong = [sizes_of(item) for item in attempts if item.problem]
    right = [sizes_of(item) for item in attempts if not item.problem]
    # cases of chance are large for the sake of counting, and right or wrong for another reason
    if all(item.problem or item.case.random for item in attempts):
        return None
    if all(is_left_to_chance(item) for item in attempts if item.problem):
        return None
    if len(wrong) < 2 or len(right) < 2:
        return None
    for letter in sorted(set.intersection(*(set(sizes) for sizes in [*wrong, *right]))):
        bad, good = ([sizes[letter] for sizes in side] for side in (wrong, right))
        if max(good) < min(bad):
            words = (f"up to {letter} = {max(good)}", f"from {letter} = {min(bad)} on")
        elif max(bad) < min(good):
            words = (f"from {letter} = {min(good)} on", f"up to {letter} = {max(bad)}")
        else:
            continue
        question = f"What in your code depends on {letter}, or should: a number, a shape, an index?"
        name = f"wrong for {'larger' if max(good) < min(bad) else 'smaller'} {letter}"
        return Explanation(name, _counted(right, wrong, *words) + question)
    return None
