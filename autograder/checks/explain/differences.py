"""Say how a wrong answer differs from the right one, where no mistake has a name.

What is said is true of what came back: a relation between its numbers and the right ones, a change
of inputs that leads from ours to theirs, the form of the results, how it stops, and in which cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from autograder.checks.axes import axes_of, built_with, results_in, sizes_of
from autograder.checks.compare import values_agree
from autograder.checks.drawn_cases import CaseRun, is_in_train_mode, times_of
from autograder.checks.explain.cases import is_about_a_new_module, when_it_is_right
from autograder.checks.explain.errors import how_it_stops, unfit
from autograder.checks.explain.evidence import Relation, ResultPair, Sentences, as_array, in_common
from autograder.checks.explain.numbers import nearly_right
from autograder.checks.explain.partial import right_in_part
from autograder.checks.explain.relations import RELATIONS, SHAPES
from autograder.checks.explain.result_types import (
    ever_the_same,
    form,
    is_a_chain,
    is_right_at_first,
    picture,
)
from autograder.checks.explain.shapes import shorter_or_longer
from autograder.checks.explain.variations import varied
from autograder.checks.problem import Kind


def relations_in(attempts: Sequence[CaseRun]) -> Sentences:
    """How wrong results differ from right ones, as (name, sentence) pairs: at most two.

    One says how results differ, one in which cases they do. Both are true of what came back.

    Args:
        attempts: all cases of a part, with what is wrong with them.
    """
    if any(item.actual.status in ("timeout", "missing") for item in attempts):
        return ()
    if not any(item.problem for item in attempts):
        return ()
    what = (
        unfit(attempts)
        or ever_the_same(attempts)
        or _related(attempts)
        or varied(_with_values(attempts))
        or _related_in_places(attempts)
        or picture(attempts)
        or form(attempts)
        or how_it_stops(attempts)
    )
    return (*what, *when_it_is_right(attempts))[:2]


def _related(attempts: Sequence[CaseRun]) -> Sentences:
    """What relates right and wrong numbers in all wrong cases."""
    for results in _by_place(attempts):
        found = _in_common([result for _, result in results])
        if found:
            return found
    return ()


def _related_in_places(attempts: Sequence[CaseRun]) -> Sentences:
    """What relates right and wrong numbers in the cases of one step, or in its first one."""
    for results in _by_place(attempts):
        for step in attempts[0].part.steps:
            here = [(item, result) for item, result in results if item.step is step]
            for chosen in (here, here[:1]):
                found = _in_common(
                    [result for _, result in chosen], WEAK if len(chosen) == 1 else ()
                )
                if found:
                    (name, sentence), cases = found[0], [item.case.label for item, _ in chosen]
                    one = f"On {cases[0]}: "
                    where = one if len(cases) == 1 else f"Where asked for this: {step.asks}. "
                    return ((name, f"{where}{sentence}"),)
    return ()


def _by_place(attempts: Sequence[CaseRun]) -> list[list[tuple[CaseRun, ResultPair]]]:
    """What was seen of each wrong result: the last first, since weights stand behind an output.

    Results of several calls say nothing beside those of one call, because a later call may be wrong
    by what is left of an earlier one. Alone they speak only if the first call is wrong as well.
    """
    shown = [item for item in attempts if not is_a_chain(item) and any(_seen(item))]
    shown = shown or [item for item in attempts if not is_right_at_first(item)]
    seen = [(item, number, result) for item in shown for number, result in _seen(item)]
    places = sorted({number for _, number, _ in seen}, reverse=True)
    return [[(item, result) for item, place, result in seen if place == own] for own in places]


def _with_values(attempts: Sequence[CaseRun]) -> list[CaseRun]:
    return [item for item in attempts if any(_seen(item)) and not is_right_at_first(item)]


# by chance, these are true of one case more easily than of all
WEAK = (right_in_part, nearly_right, shorter_or_longer)


def _in_common(seen: list[ResultPair], without: Sequence[Relation] = ()) -> Sentences:
    shapes = {result.same_shape for result in seen}
    relations = RELATIONS if shapes == {True} else SHAPES
    return in_common([pair for pair in relations if pair[1] not in without], seen)


def _seen(item: CaseRun) -> Iterator[tuple[int, ResultPair]]:
    """The wrong arrays of an attempt beside the right ones, each with its place among the results."""
    request, actual = item.request, item.actual
    by_chance = item.case.random and (
        item.case.chance or is_in_train_mode(request) or times_of(request) > 1
    )
    if not item.problem or actual.status != "returned" or item.case.raises or by_chance:
        return
    if item.problem.kind is Kind.INPUT_CHANGED or is_about_a_new_module(request):
        return
    expected, value = item.expected.value, actual.value
    several = isinstance(expected, tuple)
    if several and not (isinstance(value, tuple | list) and len(value) == len(expected)):
        return
    names = results_in(item)
    rights: tuple[Any, ...] = expected if several else (expected,)
    values: Any = value if several else (value,)
    sizes = sizes_of(item)
    built = built_with(item)
    dropout = next((built[name] for name in built if name.startswith("dropout")), 0.0)
    inputs = {
        name: array
        for name, given in zip(request.names, request.arguments, strict=False)
        if getattr(given, "dtype", None) in FLOATING and (array := as_array(given)) is not None
    }
    for number, (right, got) in enumerate(zip(rights, values, strict=True)):
        if not isinstance(right, torch.Tensor | np.ndarray) or values_agree(right, got) is None:
            continue
        wanted, found = as_array(right), as_array(got)
        if wanted is None or found is None:
            continue
        called, letters = names[number] if number < len(names) else ("", ())
        result = ResultPair(
            wanted,
            found,
            axes_of(called, letters, wanted.ndim),
            called,
            inputs,
            sizes,
            1.0 - dropout,
            _dtype(right),
            _dtype(got),
        )
        if not result.close(wanted, found):  # right numbers in another form are another matter
            yield number, result


FLOATING = (torch.float32, torch.float64, np.dtype("float32"), np.dtype("float64"))


def _dtype(value: Any) -> str:
    return str(getattr(value, "dtype", "")).removeprefix("torch.")
