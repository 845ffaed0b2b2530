"""Say how a wrong answer differs from the right one, where no named mistake explains it.

What is said is true of what came back: a relation between its numbers and the right ones, a change
of inputs that leads from ours to theirs, the form of the results, how it stops, and in which cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from autograder.verdict import patterns
from autograder.verdict.axes import axes_of, built_with, results_of, sizes_of
from autograder.verdict.check import Part
from autograder.verdict.compare import values_agree
from autograder.verdict.exam import Try
from autograder.verdict.relations import (
    RELATIONS,
    SHAPES,
    Relation,
    Seen,
    Sentences,
    as_array,
    in_common,
    nearly_right,
    right_in_part,
    shorter_or_longer,
)
from autograder.verdict.variations import varied


def relations_in(part: Part, tries: Sequence[Try]) -> Sentences:
    """How wrong results differ from right ones, as (name, sentence) pairs: at most two.

    One says how results differ, one in which cases they do. Both are true of what came back.

    Args:
        part: whose results they are.
        tries: all its cases, with what is wrong with them.
    """
    if any(item.report["status"] in ("timeout", "missing") for item in tries):
        return ()
    if not any(item.problem for item in tries):
        return ()
    what = (
        patterns.unfit(part, tries)
        or patterns.ever_the_same(tries)
        or _related(part, tries)
        or varied(part, _with_values(part, tries))
        or _related_in_places(part, tries)
        or patterns.picture(tries)
        or patterns.form(part, tries)
        or patterns.how_it_stops(tries)
    )
    return (*what, *patterns.when_it_is_right(part, tries))[:2]


def _related(part: Part, tries: Sequence[Try]) -> Sentences:
    """What relates right and wrong numbers in all wrong cases."""
    for results in _by_place(part, tries):
        found = _in_common([result for _, result in results])
        if found:
            return found
    return ()


def _related_in_places(part: Part, tries: Sequence[Try]) -> Sentences:
    """What relates right and wrong numbers in the cases of one step, or in its first one."""
    for results in _by_place(part, tries):
        for step in part.steps:
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


def _by_place(part: Part, tries: Sequence[Try]) -> list[list[tuple[Try, Seen]]]:
    """What was seen of each wrong result: the last first, since weights stand behind an output."""
    seen = [(item, number, result) for item in tries for number, result in _seen(part, item)]
    places = sorted({number for _, number, _ in seen}, reverse=True)
    return [[(item, result) for item, place, result in seen if place == own] for own in places]


def _with_values(part: Part, tries: Sequence[Try]) -> list[Try]:
    return [item for item in tries if any(_seen(part, item))]


# by chance, these are true of one case more easily than of all
WEAK = (right_in_part, nearly_right, shorter_or_longer)


def _in_common(seen: list[Seen], without: Sequence[Relation] = ()) -> Sentences:
    shapes = {result.same_shape for result in seen}
    relations = RELATIONS if shapes == {True} else SHAPES
    return in_common([pair for pair in relations if pair[1] not in without], seen)


def _seen(part: Part, item: Try) -> Iterator[tuple[int, Seen]]:
    """The wrong arrays of a try beside the right ones, each with its place among the results."""
    request, report = item.request, item.report
    by_chance = item.case.random and (request.get("training") or request.get("times", 1) > 1)
    if not item.problem or report["status"] != "returned" or item.case.raises or by_chance:
        return
    expected, value = item.expected["value"], report.get("value")
    several = isinstance(expected, tuple)
    if several and not (isinstance(value, tuple | list) and len(value) == len(expected)):
        return
    names = results_of(part, request.get("method") or part.name)
    rights: tuple[Any, ...] = expected if several else (expected,)
    values: Any = value if several else (value,)
    sizes = sizes_of(part, item)
    built = built_with(part, item.request)
    dropout = next((built[name] for name in built if name.startswith("dropout")), 0.0)
    inputs = {
        name: array
        for name, given in zip(request["names"], request["arguments"], strict=False)
        if getattr(given, "dtype", None) in FLOATING and (array := as_array(given)) is not None
    }
    for number, (right, got) in enumerate(zip(rights, values, strict=True)):
        if not isinstance(right, torch.Tensor | np.ndarray) or values_agree(right, got) is None:
            continue
        wanted, found = as_array(right), as_array(got)
        if wanted is None or found is None:
            continue
        called, letters = names[number] if number < len(names) else ("", ())
        result = Seen(
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
