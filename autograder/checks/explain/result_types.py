"""Say in what form results come, where it is not the one that is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from autograder.checks.axes import results_in
from autograder.checks.compare import strict_differences, values_agree
from autograder.checks.drawn_cases import CaseRun
from autograder.checks.explain.evidence import Sentences
from autograder.checks.problem import Kind
from autograder.probe.messages import ChainRequest, DrawingRequest
from autograder.probe.wire import Opaque


def form(attempts: Sequence[CaseRun]) -> Sentences:
    """What is wrong with the form of all results that are wrong, as (name, sentence)."""
    all_wrong = [item for item in attempts if item.problem and not item.case.raises]
    # where one call alone is wrong already, a later one says nothing of its own
    wrong = [item for item in all_wrong if not is_right_at_first(item)] or all_wrong
    opening = "In a first call: " if len(wrong) < len(all_wrong) else ""
    by_rule = [item for item in wrong if not item.case.random]
    here = [[item for item in by_rule if item.step is step] for step in attempts[0].part.steps]
    for where, chosen in (
        (opening, wrong),
        ("Where nothing is left to chance: ", by_rule),
        *((f"Where asked for this: {items[0].step.asks}. ", items) for items in here if items),
    ):
        if not chosen or any(item.actual.status != "returned" for item in chosen):
            continue
        told = [dict.fromkeys(_forms(item)) for item in chosen]
        for name, sentence in told[0]:
            if all((name, sentence) in others for others in told[1:]):
                return ((name, f"{where}{sentence}"),)
    return ()


def is_a_chain(item: CaseRun) -> bool:
    """Whether a case is a chain of calls, with a result for each."""
    return isinstance(item.request, ChainRequest)


def is_right_at_first(item: CaseRun) -> bool:
    """Whether a case is a chain of calls of which the first gives the right numbers and not all do."""
    expected, value = item.expected.value, item.actual.value
    if not is_a_chain(item) or not expected or not isinstance(value, tuple | list) or not value:
        return False
    return values_agree(expected[0], value[0]) is None and values_agree(expected, value) is not None


def _forms(item: CaseRun) -> Iterator[tuple[str, str]]:
    expected, value = item.expected.value, item.actual.value
    names = [] if is_a_chain(item) else [name for name, _ in results_in(item)]
    if value is None:
        yield (
            "nothing comes back",
            (
                "Nothing comes back (None). Does the last line begin with `return`, on every way through "
                "the function?"
            ),
        )
    elif isinstance(value, Opaque):
        yield (
            "another type comes back",
            f"A value of type {value.type_name} comes back. Which type does the text ask for?",
        )
    elif isinstance(value, dict) and not isinstance(expected, dict):
        yield (
            "results in a dict",
            "The results come in a dict. The text asks for them one after the other. In which order?",
        )
    elif isinstance(expected, torch.Tensor | np.ndarray):
        yield from _forms_of_one(expected, value)
    elif isinstance(expected, tuple):
        yield from _forms_of_several(expected, value, names)
    if isinstance(expected, bool) and isinstance(value, bool):
        yield (
            f"{value} where {expected} is right",
            (
                f"Wherever this is wrong, it says {value} where {expected} is right. For which functions or "
                "inputs should your condition say the other, and which entries does it look at?"
            ),
        )
    if values_agree(expected, value) is None:
        yield from _forms_of_right_numbers(item)


def _forms_of_one(expected: Any, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, tuple | list) and any(
        isinstance(part, torch.Tensor | np.ndarray) for part in value
    ):
        right = [n for n, part in enumerate(value) if values_agree(expected, part) is None]
        if right:
            yield (
                "more results than asked",
                (
                    f"The right result is there, as number {right[0]} (counting from 0) of several. One "
                    "alone is asked: what should `return` give back?"
                ),
            )
        yield (
            "several results where one is asked",
            (
                f"{len(value)} results come back where one is asked. Which of them, or what is made of "
                "them, is the answer?"
            ),
        )
    elif isinstance(value, list | tuple):
        yield (
            "a list of numbers",
            (
                "Plain numbers come back in a list. What is asked is an array or a tensor. Which "
                "operations keep it one?"
            ),
        )
    elif isinstance(value, int | float):
        yield (
            "one number",
            "A single number comes back where an array is asked. Which axes are summed away?",
        )


def _forms_of_several(expected: tuple, value: Any, names: list[str]) -> Iterator[tuple[str, str]]:
    def called(number: int) -> str:
        return f"the {names[number]}" if number < len(names) else f"result {number + 1}"

    if isinstance(value, tuple | list):
        if len(value) != len(expected):
            yield (
                "another number of results",
                (
                    f"{len(value)} results come back where {len(expected)} are asked. Compare with what "
                    "the text says `return` gives back."
                ),
            )
            return
        right = [
            values_agree(wanted, found) is None
            for wanted, found in zip(expected, value, strict=True)
        ]
        if len(expected) > 1 and not any(right):
            turned = zip(expected, reversed(value), strict=True)
            if all(values_agree(wanted, found) is None for wanted, found in turned):
                yield (
                    "results in the wrong order",
                    "Both results are right, in the wrong order. Which comes first?",
                )
        if len(expected) == 2 and sum(right) == 1:
            good, bad = (called(0), called(1)) if right[0] else (called(1), called(0))
            yield (
                f"{good} right, {bad} wrong",
                (
                    f"{good[0].upper()}{good[1:]} {'are' if good.endswith('s') else 'is'} right in these "
                    f"cases, and {bad} {'are' if bad.endswith('s') else 'is'} wrong. What happens between "
                    "the two?"
                ),
            )
        return
    for number, wanted in enumerate(expected):
        if values_agree(wanted, value) is None:
            yield (
                "one result of several",
                (
                    f"Only {called(number)} comes back, and is right. {len(expected)} results are asked: "
                    "which ones?"
                ),
            )
    if isinstance(value, torch.Tensor | np.ndarray):
        yield (
            "one result of several",
            (
                f"One array comes back where {len(expected)} results are asked. What else does the text "
                "name?"
            ),
        )


def _forms_of_right_numbers(item: CaseRun) -> Iterator[tuple[str, str]]:
    """The numbers are right, and yet something is not: its framework, its dtype, its inputs."""
    expected, value = item.expected.value, item.actual.value
    different = strict_differences(expected, value)
    if different and different.kind is Kind.DTYPE:
        found = str(_first(value).dtype).removeprefix("torch.")
        yield (
            "another dtype",
            (
                f"The numbers are right, but they come as {found}. Which step, or which tensor that your "
                "code makes, decides about the dtype?"
            ),
        )
    elif different:
        yield (
            "another type",
            (
                "The numbers are right, but not of the type that is asked. Which step leaves torch, or "
                "NumPy?"
            ),
        )
    if item.problem and item.problem.kind is Kind.INPUT_CHANGED:
        yield (
            "inputs changed",
            (
                "All numbers are right, but the caller finds an input changed afterwards. Which line "
                "writes into a tensor that is not its own?"
            ),
        )
    if item.problem and item.problem.kind is Kind.MODE_CHANGED:
        yield (
            "modes left changed",
            (
                "All numbers are right, but the model is not left in the modes it came in. Which of its "
                "parts were in which mode before?"
            ),
        )
    if item.problem and item.problem.kind is Kind.MODEL_CHANGED:
        yield (
            "left in the model",
            (
                "All numbers are right, but the model is not what it was before. What does your code put "
                "into it, and is it taken out on every way out of the function, an error included?"
            ),
        )
    if item.case.gradient:
        missing = [
            name
            for name, wanted in item.expected.gradients.items()
            if wanted is not None and item.actual.gradients.get(name) is None
        ]
        if missing:
            names = " and ".join(f"`{name}`" for name in missing[:3])
            more = " and others" if len(missing) > 3 else ""
            yield (
                "no gradient",
                (
                    f"The numbers are right, but no gradient reaches {names}{more}. On which line is "
                    "the path of the gradients cut?"
                ),
            )
        else:
            yield (
                "wrong gradient",
                (
                    "The numbers are right, but a gradient is not. Which way from an input to the result "
                    "is cut, passes through NaN, or uses numbers that are changed later?"
                ),
            )


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple | list) and value else value


def picture(attempts: Sequence[CaseRun]) -> Sentences:
    """Whether a picture holds the right numbers, and what else about it is wrong, as (name, sentence)."""
    wrong = [item for item in attempts if item.problem]
    if not wrong or not all(isinstance(item.request, DrawingRequest) for item in wrong):
        return ()
    if any(item.actual.status != "returned" for item in wrong):
        return ()
    pairs: list[tuple[Any, Any]] = [(item.expected.value, item.actual.value) for item in wrong]
    if any(not isinstance(found, tuple) or len(found) != len(right) for right, found in pairs):
        return ()
    differ = {
        place
        for right, found in pairs
        for place, (one, other) in enumerate(zip(right, found, strict=True))
        if values_agree(one, other) is not None
    }
    if differ and 0 not in differ:  # the numbers in the cells come first
        return (
            (
                "the picture, not its numbers",
                (
                    "The cells show the right numbers, but something else about "
                    "the picture is not as asked. Compare it with the text. What should its reader be able to see?"
                ),
            ),
        )
    if all(getattr(found[0], "numel", lambda: 1)() == 0 for _, found in pairs):
        return (
            (
                "no cells",
                (
                    "There is no grid of cells in the picture that is looked at. Which function draws one "
                    "cell for each number, and on which Axes?"
                ),
            ),
        )
    if all(values_agree(right[0], found[0]) is not None for right, found in pairs):
        return (
            (
                "other numbers in the picture",
                (
                    "The picture has cells, but they show other numbers than the encodings that are asked "
                    "for. What do you hand to the function that draws?"
                ),
            ),
        )
    return ()


def ever_the_same(attempts: Sequence[CaseRun]) -> Sentences:
    """One shape, or one answer, whatever is asked, as (name, sentence)."""
    returned = [item for item in attempts if item.actual.status == "returned"]
    pairs = [
        (_last(item.expected.value), _last(item.actual.value))
        for item in returned
        if not item.case.raises
    ]
    arrays = [
        (tuple(right.shape), tuple(found.shape))
        for right, found in pairs
        if hasattr(right, "shape") and hasattr(found, "shape")
    ]
    wanted, shapes = {right for right, _ in arrays}, {found for _, found in arrays}
    if len(arrays) == len(pairs) > 2 and len(wanted) > 1 and len(shapes) == 1:
        return (
            (
                "always one shape",
                (
                    f"The shape is {shapes.pop()} in every case, whatever goes in. Are numbers of an "
                    "example written where the code should look at its inputs?"
                ),
            ),
        )
    answers = {found for _, found in pairs if isinstance(found, bool)}
    right_answers = {right for right, _ in pairs if isinstance(right, bool)}
    if (
        len(pairs) > 2
        and len(right_answers) == 2
        and all(isinstance(found, bool) for _, found in pairs)
    ):
        if len(answers) == 1:
            return (
                (
                    f"always {answers.copy().pop()}",
                    f"The answer is {answers.pop()} in every case. Which condition should decide?",
                ),
            )
        if all(found != right for right, found in pairs):
            return (
                (
                    "the opposite",
                    "Every answer is the opposite of the right one. Is there a `not` too many?",
                ),
            )
    return ()


def _last(value: Any) -> Any:
    return value[-1] if isinstance(value, tuple | list) and value else value
