"""Say in what form results come, where it is not the one that is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from autograder.arrays import as_numpy, dtype_name, is_array, is_tensor
from autograder.checks.axes import results_in
from autograder.checks.compare import strict_differences, values_agree
from autograder.checks.drawn_cases import CaseRun
from autograder.checks.explain.evidence import Explanation
from autograder.checks.problem import Kind
from autograder.probe.messages import ChainRequest, DrawingRequest
from autograder.probe.wire import Opaque

# what is wrong though all numbers are right, for kinds of problems that need no further look
BESIDE_THE_NUMBERS: dict[Kind, Explanation] = {
    Kind.INPUT_CHANGED: Explanation(
        "inputs changed",
        "All numbers are right, but the caller finds an input changed afterwards. Which line "
        "writes into an argument instead of something new?",
    ),
    Kind.MODE_CHANGED: Explanation(
        "modes left changed",
        "All numbers are right, but the model is not left in the modes it came in. Which of its "
        "parts were in which mode before?",
    ),
    Kind.MODEL_CHANGED: Explanation(
        "left in the model",
        "All numbers are right, but the model is not what it was before. What does your code put "
        "into it, and is it taken out on every way out of the function, an error included?",
    ),
}


def is_a_chain(item: CaseRun) -> bool:
    """Whether a case is a chain of calls, with a result for each."""
    return isinstance(item.request, ChainRequest)


def is_right_at_first(item: CaseRun) -> bool:
    """Whether a case is a chain of calls of which the first gives the right numbers and not all do."""
    expected, value = item.expected.value, item.actual.value
    if not is_a_chain(item) or not expected or not isinstance(value, tuple | list) or not value:
        return False
    return values_agree(expected[0], value[0]) is None and values_agree(expected, value) is not None


def form(attempts: Sequence[CaseRun]) -> Explanation | None:
    """What is wrong with the form of all results that are wrong."""
    all_wrong = [item for item in attempts if item.problem and not item.case.raises]
    # where one call alone is wrong already, a later one says nothing of its own
    wrong = [item for item in all_wrong if not is_right_at_first(item)] or all_wrong
    opening = "In the first or only call of a case: " if len(wrong) < len(all_wrong) else ""
    by_rule = [item for item in wrong if not item.case.random]
    here = [[item for item in by_rule if item.step is step] for step in attempts[0].part.steps]
    for where, chosen in (
        (opening, wrong),
        ("Where nothing is left to chance: ", by_rule),
        *((f"Where asked for this: {items[0].step.asks}. ", items) for items in here if items),
    ):
        if not chosen or any(item.actual.status != "returned" for item in chosen):
            continue
        first, *others = (list(_forms(item)) for item in chosen)
        for name, sentence in first:
            if all((name, sentence) in forms for forms in others):
                return Explanation(name, f"{where}{sentence}")
    return None


def _forms(item: CaseRun) -> Iterator[Explanation]:
    expected, value = item.expected.value, item.actual.value
    names = [] if is_a_chain(item) else [name for name, _ in results_in(item)]
    if value is None:
        yield Explanation(
            "nothing comes back",
            "Nothing comes back (None). Does the last line begin with `return`, on every way through "
            "the function?",
        )
    elif isinstance(value, Opaque):
        yield Explanation(
            "another type comes back",
            f"A value of type {value.type_name} comes back. Which type does the text ask for?",
        )
    elif isinstance(value, dict) and not isinstance(expected, dict):
        several = "The results come in a dict. The text asks for them one after the other. In which order?"
        alone = "The result comes in a dict. The text asks for it alone. What should stand behind `return`?"
        yield Explanation("results in a dict", several if isinstance(expected, tuple) else alone)
    elif is_array(expected):
        yield from _forms_of_one(expected, value)
    elif isinstance(expected, tuple) and isinstance(value, tuple | list):
        yield from _forms_of_several(expected, value, names)
    elif isinstance(expected, tuple):
        yield from _one_of_several(expected, value, names)
    if isinstance(expected, bool) and isinstance(value, bool):
        yield Explanation(
            f"{value} where {expected} is right",
            f"Wherever this is wrong, it says {value} where {expected} is right. For which functions or "
            "inputs should your condition say the other, and which entries does it look at?",
        )
    if values_agree(expected, value) is None:
        yield from _forms_of_right_numbers(item)


def _forms_of_one(expected: Any, value: Any) -> Iterator[Explanation]:
    if isinstance(value, tuple | list) and any(is_array(part) for part in value):
        right = [n for n, part in enumerate(value) if values_agree(expected, part) is None]
        if right and len(value) == 1:
            yield Explanation(
                "more results than asked",
                "The right result is there, but in a list or tuple of its own. Is there a comma, or are "
                "there brackets, too many behind `return`?",
            )
        elif right:
            yield Explanation(
                "more results than asked",
                f"The right result is there, as number {right[0]} (counting from 0) of several. One "
                "alone is asked: what should `return` give back?",
            )
        if not right:
            yield from _pieces(expected, value)
        several = "A list of results comes" if isinstance(value, list) else "Several results come"
        yield Explanation(
            "several results where one is asked",
            f"{several} back where one is asked. Which of them, or what is made of them, is the answer?",
        )
    elif isinstance(value, list | tuple):
        yield Explanation(
            "a list of numbers",
            "Plain numbers come back in a list. What is asked is an array or a tensor. Which "
            "operations keep it one?",
        )
    elif isinstance(value, bool):
        yield Explanation(
            "one truth value",
            "A single True or False comes back where an array is asked. Which comparison looks at each "
            "entry, and not at the whole?",
        )
    elif isinstance(value, int | float) and not expected.ndim:
        yield Explanation(
            "a number of Python",
            "A plain number of Python comes back, through which no gradient flows. What is asked is a tensor "
            "without axes. Where is the number taken out of it, as by `.item()` or `float()`?",
        )
    elif isinstance(value, int | float):
        yield Explanation(
            "one number",
            "A single number comes back where an array is asked. Which axes are summed away?",
        )


def _pieces(expected: Any, value: Sequence[Any]) -> Iterator[Explanation]:
    """The right numbers, in several arrays instead of one."""
    arrays = [as_numpy(part) for part in value if is_array(part)]
    wanted = as_numpy(expected)
    shapes = [row.shape for row in wanted] if wanted.ndim else []
    if len(arrays) != len(value) or [part.shape for part in arrays] != shapes:
        return
    if values_agree(wanted, np.stack(arrays)) is None:
        yield Explanation(
            "one result in pieces",
            "The numbers are right, but they come in a list, with an array for each place of axis 0. "
            "Which function makes one array of them, with a new axis in front?",
        )


def _forms_of_several(
    expected: tuple, value: Sequence[Any], names: list[str]
) -> Iterator[Explanation]:
    if len(value) != len(expected):
        yield Explanation(
            "another number of results",
            f"{len(value)} results come back where {len(expected)} are asked. Compare with what "
            "the text says `return` gives back.",
        )
        return
    right = _which_agree(expected, value)
    if len(expected) > 1 and not any(right) and all(_which_agree(expected, value[::-1])):
        yield Explanation(
            "results in the wrong order",
            "Both results are right, in the wrong order. Which comes first?",
        )
    if len(expected) == 2 and sum(right) == 1:
        good, bad = (_called(number, names) for number in (right.index(True), right.index(False)))
        yield Explanation(
            f"{good} right, {bad} wrong",
            f"{good[0].upper()}{good[1:]} {'are' if good.endswith('s') else 'is'} right in these "
            f"cases, and {bad} {'are' if bad.endswith('s') else 'is'} wrong. What happens between "
            "the two?",
        )


def _one_of_several(expected: tuple, value: Any, names: list[str]) -> Iterator[Explanation]:
    for number, wanted in enumerate(expected):
        if values_agree(wanted, value) is None:
            yield Explanation(
                "one result of several",
                f"Only {_called(number, names)} comes back, and is right. {len(expected)} results are "
                "asked: which ones?",
            )
    if is_array(value):
        yield Explanation(
            "one result of several",
            f"One array comes back where {len(expected)} results are asked. What else does the text "
            "name?",
        )


def _called(number: int, names: list[str]) -> str:
    return f"the {names[number]}" if number < len(names) else f"result {number + 1}"


def _which_agree(expected: Sequence[Any], values: Sequence[Any]) -> list[bool]:
    return [
        values_agree(wanted, found) is None for wanted, found in zip(expected, values, strict=True)
    ]


def _other_dtypes(expected: Any, value: Any) -> Iterator[str]:
    """The dtypes of tensors that should have another one, also of those in tuples."""
    if isinstance(expected, tuple):
        for wanted, found in zip(expected, value, strict=True):
            yield from _other_dtypes(wanted, found)
    elif is_tensor(expected) and value.dtype != expected.dtype:
        yield dtype_name(value)


def _forms_of_right_numbers(item: CaseRun) -> Iterator[Explanation]:
    """The numbers are right, and yet something is not: its framework, its dtype, its inputs."""
    expected, value = item.expected.value, item.actual.value
    different = strict_differences(expected, value)
    if different and different.kind is Kind.DTYPE:
        other = next(_other_dtypes(expected, value))
        yield Explanation(
            "another dtype",
            f"The numbers are right, but they come as {other}. Which "
            "step, or which tensor that your code makes, decides about the dtype?",
        )
    elif different:
        yield Explanation(
            "another type",
            "The numbers are right, but not of the type that is asked. Which step leaves torch, or "
            "NumPy?",
        )
    if item.problem and item.problem.kind in BESIDE_THE_NUMBERS:
        yield BESIDE_THE_NUMBERS[item.problem.kind]
    if not item.case.gradient:
        return
    came = item.actual.gradients or {}
    missing = [
        f"`{name}`"
        for name, wanted in item.expected.gradients.items()
        if wanted is not None and came.get(name) is None
    ]
    if missing:
        more = " and others" if len(missing) > 3 else ""
        yield Explanation(
            "no gradient",
            f"The numbers are right, but no gradient reaches {' and '.join(missing[:3])}{more}. On "
            "which line is the path of the gradients cut?",
        )
    else:
        yield Explanation(
            "wrong gradient",
            "The numbers are right, but a gradient is not. Which way from an input to the result "
            "is cut, passes through NaN, or uses numbers that are changed later?",
        )


def wrong_picture(attempts: Sequence[CaseRun]) -> Explanation | None:
    """Whether a picture holds the right numbers, and what else about it is wrong."""
    wrong = [item for item in attempts if item.problem]
    if not wrong or not all(isinstance(item.request, DrawingRequest) for item in wrong):
        return None
    if any(item.actual.status != "returned" for item in wrong):
        return None
    pairs: list[tuple[Any, Any]] = [(item.expected.value, item.actual.value) for item in wrong]
    if any(not isinstance(found, tuple) or len(found) != len(right) for right, found in pairs):
        return None
    agree = [_which_agree(right, found) for right, found in pairs]
    # the numbers in the cells come first
    if all(cells for cells, *_ in agree) and not all(map(all, agree)):
        return Explanation(
            "the picture, not its numbers",
            "The cells show the right numbers, but something else about "
            "the picture is not as asked. Compare it with the text. What should its reader be able to see?",
        )
    if all(is_array(found[0]) and as_numpy(found[0]).size == 0 for _, found in pairs):
        return Explanation(
            "no cells",
            "There is no grid of cells in the picture that is looked at. Which function draws one "
            "cell for each number, and on which Axes?",
        )
    if not any(cells for cells, *_ in agree):
        return Explanation(
            "other numbers in the picture",
            "The picture has cells, but they show other numbers than the encodings that are asked "
            "for. What do you hand to the function that draws?",
        )
    return None


def ever_the_same(attempts: Sequence[CaseRun]) -> Explanation | None:
    """One shape, or one answer, whatever is asked."""
    pairs = [
        (_last(item.expected.value), _last(item.actual.value))
        for item in attempts
        if item.actual.status == "returned" and not item.case.raises
    ]
    if len(pairs) < 3:
        return None
    rights, found = zip(*pairs, strict=True)
    if all(hasattr(value, "shape") for value in (*rights, *found)):
        shapes = {tuple(value.shape) for value in found}
        if len(shapes) == 1 < len({tuple(value.shape) for value in rights}):
            return Explanation(
                "always one shape",
                f"The shape is {shapes.pop()} in every case, whatever goes in. Are numbers of an "
                "example written where the code should look at its inputs?",
            )
    asked = {value for value in rights if isinstance(value, bool)}
    if len(asked) == 2 and all(isinstance(value, bool) for value in found):
        if len(set(found)) == 1:
            return Explanation(
                f"always {found[0]}",
                f"The answer is {found[0]} in every case. Which condition should decide?",
            )
        if all(value != right for right, value in pairs):
            return Explanation(
                "the opposite",
                "Every answer is the opposite of the right one. Is there a `not` too many?",
            )
    return None


def _last(value: Any) -> Any:
    return value[-1] if isinstance(value, tuple | list) and value else value
