"""Say how a wrong answer differs from the right one, where no mistake has a name.

What is said is true of what came back: a relation between its numbers and the right ones, the form of the
results, how it stops, and in which cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograder.arrays import dtype_name, is_array, quietly
from autograder.checks.axes import axes_of, built_with, results_beside, sizes_of
from autograder.checks.compare import values_agree
from autograder.checks.drawn_cases import CaseRun, is_left_to_chance
from autograder.checks.explain.cases import is_about_a_new_module, when_it_is_right
from autograder.checks.explain.errors import how_it_stops, unfit
from autograder.checks.explain.evidence import Explanation, ResultPair, Sentences, as_array
from autograder.checks.explain.relations import in_common
from autograder.checks.explain.result_types import (
    ever_the_same,
    form,
    is_a_chain,
    is_right_at_first,
    wrong_picture,
)
from autograder.checks.problem import Kind
from autograder.probe.messages import DrawingRequest

FLOATING = ("float32", "float64")

# a wrong result: the case that it is of, its place among the case's results, and the right one beside it
WrongResult = tuple[CaseRun, int, ResultPair]


@quietly
def relations_in(attempts: Sequence[CaseRun]) -> Sentences:
    """How wrong results differ from right ones, as (name, sentence) pairs: at most two.

    One says how results differ, one in which cases they do. Both are true of what came back.
    """
    if not all(item.actual.came_to_an_end for item in attempts):
        return ()
    if not any(item.problem for item in attempts):
        return ()
    how = unfit(attempts) or ever_the_same(attempts) or _by_numbers(attempts)
    how = how or wrong_picture(attempts) or form(attempts) or how_it_stops(attempts)
    return tuple(filter(None, (how, when_it_is_right(attempts))))


def _by_numbers(attempts: Sequence[CaseRun]) -> Explanation | None:
    """What relates wrong numbers to right ones.

    Results of several calls say nothing beside those of one call, because a later call may be wrong
    by what is left of an earlier one. Alone they speak only if the first call is wrong as well.
    """
    wrong = [(item, place, pair) for item in attempts for place, pair in result_pairs(item)]
    shown = [result for result in wrong if not is_a_chain(result[0])]
    at_first = [result for result in wrong if not is_right_at_first(result[0])]
    related = shown or at_first
    return _related(related) or _related_in_places(related)


def _by_place(results: Sequence[WrongResult]) -> Iterator[list[WrongResult]]:
    """The results of each place: the last place first, since weights stand behind an output."""
    for own in sorted({place for _, place, _ in results}, reverse=True):
        yield [result for result in results if result[1] == own]


def _related(results: Sequence[WrongResult]) -> Explanation | None:
    """What relates right and wrong numbers in all wrong cases."""
    found = (in_common([pair for _, _, pair in here]) for here in _by_place(results))
    return next(filter(None, found), None)


def _related_in_places(results: Sequence[WrongResult]) -> Explanation | None:
    """What relates right and wrong numbers in the cases of one step, or in its first one."""
    for here in _by_place(results):
        for step in here[0][0].part.steps:
            of_step = [result for result in here if result[0].step is step]
            for chosen in (of_step, of_step[:1]):
                found = in_common([pair for _, _, pair in chosen], weak=len(chosen) > 1)
                if found:
                    name, sentence = found
                    one = f"On {chosen[0][0].case.label}: "
                    where = one if len(chosen) == 1 else f"Where asked for this: {step.asks}. "
                    return Explanation(name, f"{where}{sentence}")
    return None


def result_pairs(item: CaseRun) -> Iterator[tuple[int, ResultPair]]:
    """The wrong arrays of a case beside the right ones, each with its place among the results."""
    request, actual = item.request, item.actual
    if not item.problem or actual.status != "returned" or item.case.raises:
        return
    if is_left_to_chance(item):
        return
    if item.problem.kind is Kind.INPUT_CHANGED or is_about_a_new_module(request):
        return
    sizes = sizes_of(item)
    built = built_with(item)
    dropout = next((built[name] for name in built if name.startswith("dropout")), 0.0)
    inputs = {
        name: array
        for name, given in zip(request.names, request.arguments, strict=False)
        if is_array(given)
        and dtype_name(given) in FLOATING
        and (array := as_array(given)) is not None
    }
    for number, (called, letters, right, got) in enumerate(results_beside(item)):
        if not is_array(right) or values_agree(right, got) is None:
            continue
        wanted, found = as_array(right), as_array(got)
        if wanted is None or found is None:
            continue
        if isinstance(request, DrawingRequest):  # of a picture, only its cells are numbers
            called = "table of cells"
        axes = axes_of(called, letters, wanted.ndim, item.part.letters)
        dtypes = dtype_name(right), dtype_name(got)
        result = ResultPair(
            wanted, found, axes, called, inputs, sizes, 1.0 - dropout, *dtypes, item.part.letters
        )
        # right numbers in another form are another matter
        if not result.close(wanted, found) and not result.lost_digits_alone:
            yield number, result
