"""Say when an answer is right and when it is not, how it stops, and in what form results come.

These are true statements about all cases of a part, made without knowing which mistake was made.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from autograder.probe.wire import Opaque
from autograder.verdict.axes import built_with, results_in, sizes_of
from autograder.verdict.check import Part
from autograder.verdict.compare import strict_differences, values_agree
from autograder.verdict.exam import Attempt
from autograder.verdict.problem import Kind
from autograder.verdict.relations import Sentences

LOUD = 50.0  # an input with larger numbers is out of the ordinary

# a trait of cases: how it reads with it and without it, and what to ask where it decides
Trait = tuple[str, str, str]

PLAIN: dict[str, Trait] = {
    "an error asked": (
        "where an error is asked for",
        "where a result is asked for",
        "When should the error come, and of which type should it be?",
    ),
    "new module": (
        "about what a new module holds",
        "about what it calculates",
        "What is made in `__init__`, and with which first values?",
    ),
    "gradients": (
        "about gradients",
        "about numbers",
        "Which step cuts the way from the result back to the inputs and weights?",
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
    "empty": (
        "with a row in which nothing may be seen",
        "without such a row",
        "What should come out where all is hidden, and what does a softmax of −∞ alone give?",
    ),
    "train mode": (
        "in train mode with dropout",
        "in eval mode, or without dropout",
        "What should act in train mode alone, and how does the code know which mode it is in?",
    ),
    "float64": (
        "in float64",
        "in float32",
        "Which tensor does your code make in a dtype of its own?",
    ),
}
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


def when_it_is_right(attempts: Sequence[Attempt]) -> Sentences:
    """What all wrong cases have and no right one has, as (name, sentence), or nothing."""
    wrong = [_traits(item) for item in attempts if item.problem]
    right = [_traits(item) for item in attempts if not item.problem]
    if not wrong or not right:
        return ()
    traits = {**PLAIN, **COUNTED, **_of_arguments(attempts[0].part)}
    for name, trait in traits.items():
        least = 1 if name in PLAIN else 2
        sides = _sides(name, wrong, right, least)
        if sides:
            with_it, without, question = trait
            bad, good = (with_it, without) if sides == "wrong with" else (without, with_it)
            return ((f"wrong {bad}", _told(right, wrong, good, bad) + question),)
    return _from_some_size_on(attempts) or _only_among(traits, wrong, right)


def _only_among(
    traits: Mapping[str, Trait], wrong: list[dict[str, bool]], right: list[dict[str, bool]]
) -> Sentences:
    """The rarest trait that all wrong cases have, and that no case without it is wrong for."""
    shared = [name for name in traits if all(item.get(name) for item in wrong)]
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
        return ()
    name = min(good, key=lambda name: also[name])
    with_it, without_it, question = traits[name]
    cases = len(wrong) + also[name]
    sentence = (
        f"Right in all {without[name]} cases {without_it}; wrong in {len(wrong)} of {cases} "
        f"{with_it}. {question}"
    )
    return ((f"wrong {with_it}", sentence),)


def _sides(
    name: str, wrong: list[dict[str, bool]], right: list[dict[str, bool]], least: int
) -> str:
    """Whether a trait divides the wrong cases from the right ones: "wrong with" it, "without" it."""
    known_wrong = [traits[name] for traits in wrong if name in traits]
    known_right = [traits[name] for traits in right if name in traits]
    if len(known_wrong) < len(wrong) or len(known_right) < max(least, 1) or len(wrong) < least:
        return ""
    if len(known_right) < len(right):
        return ""
    if all(known_wrong) and not any(known_right):
        return "wrong with"
    if not any(known_wrong) and all(known_right) and least > 1:
        return "wrong without"
    return ""


def _told(right: Sequence[Any], wrong: Sequence[Any], good: str, bad: str) -> str:
    def cases(number: int) -> str:
        return {1: "the only case", 2: "both cases"}.get(number, f"all {number} cases")

    return f"Right in {cases(len(right))} {good}, wrong in {cases(len(wrong))} {bad}. "


def _traits(item: Attempt) -> dict[str, bool]:
    request, case = item.request, item.case
    sizes = sizes_of(item)
    expected = item.expected.get("value")
    found = {
        "an error asked": bool(case.raises),
        "gaps": case.strided,
        "gradients": case.gradient,
        "new module": request["experiment"] == "module"
        and (request["method"] is None or "target" in request["names"]),
        "calls": request.get("times", 1) > 1 and not request.get("training"),
        "train mode": bool(request.get("training")) and _dropout(item) > 0,
        "empty": _has_an_empty_row(item),
        f"{request.get('method')}()": True,
    }
    arrays = [
        value for value in request["arguments"] if isinstance(value, torch.Tensor | np.ndarray)
    ]
    floating = [torch.as_tensor(value) for value in arrays]
    floating = [value for value in floating if value.is_floating_point() and value.numel()]
    if floating:
        found["float64"] = floating[0].dtype == torch.float64
        found["loud"] = any(
            bool((value[value.isfinite()].abs() > LOUD).any()) for value in floating
        )
    if "T" in sizes and "S" in sizes:
        found["T and S"] = sizes["T"] != sizes["S"]
    for name, letter in (("several sentences", "B"), ("several heads", "H")):
        if letter in sizes:
            found[name] = sizes[letter] > 1
    if isinstance(expected, bool):
        found["True"] = expected
    given = {
        **dict(zip(request["names"], request["arguments"], strict=False)),
        **built_with(item),
    }
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


def _dropout(item: Attempt) -> float:
    given = {**_defaults(item.part), **built_with(item)}
    return next((given[name] for name in given if name.startswith("dropout")), 0.0)


def _has_an_empty_row(item: Attempt) -> bool:
    """Whether a mask that went in, or the weights that should come out, have a row of zeros."""
    value = item.expected.get("value")
    candidates = [*item.request["arguments"], *(value if isinstance(value, tuple) else ())]
    for array in candidates:
        if not isinstance(array, torch.Tensor) or array.dim() < 1 or array.numel() < 2:
            continue
        shows = array.dtype == torch.bool or isinstance(value, tuple)
        if shows and bool((array == 0).all(dim=-1).any()) and bool((array != 0).any()):
            return True
    return False


def _defaults(part: Part) -> dict[str, Any]:
    """Arguments that may be left out, of the function, or of a module and its forward."""
    found: dict[str, Any] = {}
    functions: list[Callable[..., Any]] = [part.reference]
    if isinstance(part.reference, type) and hasattr(part.reference, "forward"):
        functions.append(part.reference.forward)
    for function in functions:
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.default is not inspect.Parameter.empty:
                found[name] = parameter.default
    return found


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
    for name in {*re.findall(r"(\w+) \(", part.signature), *_defaults(part)}:
        for number in range(1, 5):
            words = f"{number} ax{'i' if number == 1 else 'e'}s"
            found[f"{number} axes of `{name}`"] = (
                f"with {words} of `{name}`",
                f"with more or fewer than {words} of `{name}`",
                "Count axes from the end: which index, product or shape counts them from the front?",
            )
    return found


def _from_some_size_on(attempts: Sequence[Attempt]) -> Sentences:
    """Whether all is right up to some length and wrong from there on, or the other way round."""
    wrong = [sizes_of(item) for item in attempts if item.problem]
    right = [sizes_of(item) for item in attempts if not item.problem]
    if len(wrong) < 2 or len(right) < 2:
        return ()
    for letter in sorted(set.intersection(*(set(sizes) for sizes in [*wrong, *right]))):
        bad, good = ([sizes[letter] for sizes in side] for side in (wrong, right))
        if max(good) < min(bad):
            words = (f"up to {letter} = {max(good)}", f"from {letter} = {min(bad)} on")
        elif max(bad) < min(good):
            words = (f"from {letter} = {min(good)} on", f"up to {letter} = {max(bad)}")
        else:
            continue
        question = f"Which number in your code should follow {letter}?"
        name = f"wrong for {'larger' if max(good) < min(bad) else 'smaller'} {letter}"
        return ((name, _told(right, wrong, *words) + question),)
    return ()


# ------------------------------------------------------------------------------ how it stops

HINTS = (
    (
        r"view size is not compatible|view\(\)",
        (
            "`view` cannot follow numbers that lie apart in memory, as after a transpose. Which function "
            "may move them?"
        ),
    ),
    (
        (
            r"[Tt]oo many values to unpack|[Nn]ot enough values to unpack|[Tt]oo many indices"
            r"|Dimension out of range|Expected .*3D|batch1 must be a 3D|IndexError: tuple"
        ),
        (
            "The code counts on a certain number of axes, and this input has another. Which axes can you "
            "count from the end?"
        ),
    ),
    (
        (
            r"broadcast|must match|cannot be multiplied|mismatch|size of tensor|Expected size"
            r"|Sizes of tensors|stack expects|not aligned|shape '.*' is invalid|normalized_shape"
        ),
        (
            "Two lengths do not fit there. Print the shapes of what stands in that line, and write each "
            "length with its letter: which letter meets which?"
        ),
    ),
    (
        r"has no attribute",
        (
            "Something is used there that was not made before, or is of another type than expected. Where "
            "is it made, and under which name?"
        ),
    ),
    (
        r"modified by an inplace|a leaf Variable that requires grad",
        (
            "A tensor is changed that the way back still needs. Which line writes into one: an "
            "assignment to x[…], +=, or a name that ends in _?"
        ),
    ),
    (r"out of range|out of bounds", "Which index is too large, and what does it count?"),
    (
        r"numpy\(\)|requires grad",
        "Gradients end where a tensor becomes an array. Which step needs that?",
    ),
    (
        r"positional argument|keyword argument",
        "Compare the arguments with those that the text names.",
    ),
    (r"dtype|[Bb]ool|Long|Half|Double|Float", "Of which dtype is each thing in that line?"),
)


def how_it_stops(attempts: Sequence[Attempt]) -> Sentences:
    """What all errors have in common where a result was asked for, as (name, sentence)."""
    stopped = [
        item
        for item in attempts
        if item.problem and item.report["status"] == "raised" and not item.case.raises
    ]
    wrong = [item for item in attempts if item.problem]
    kinds = [item.report["error"]["type"] for item in stopped]
    if not stopped or "NotImplementedError" in kinds:
        return ()
    kind = max(kinds, key=kinds.count)
    stopped = [item for item in stopped if item.report["error"]["type"] == kind]
    lines = {item.report["error"]["line"] for item in stopped}
    line = lines.pop() if len(lines) == 1 else ""
    where = (
        f", always in `{line}`" if line and len(stopped) > 1 else f", in `{line}`" if line else ""
    )
    what = (
        "it stops in every case"
        if len(stopped) == len(attempts)
        else "whatever is wrong here is an error"
        if len(stopped) == len(wrong)
        else f"it stops in {len(stopped)} of {len(wrong)} wrong cases"
    )
    message = f"{kind}: {stopped[0].report['error']['message']}"
    hint = next((hint for pattern, hint in HINTS if re.search(pattern, message)), "")
    if not hint:
        hint = "Which condition leads there, and does the text ask for it?"
        if not re.match(r"\s*(raise|assert)\b", line):
            hint = "Run that line by itself with the inputs of the case: what does it get, and what should it?"
    return ((f"stops with {kind}", f"{what[0].upper()}{what[1:]}: {kind}{where}. {hint}"),)


# ------------------------------------------------------------------------------ in what form


def form(attempts: Sequence[Attempt]) -> Sentences:
    """What is wrong with the form of all results that are wrong, as (name, sentence)."""
    wrong = [item for item in attempts if item.problem and not item.case.raises]
    by_rule = [item for item in wrong if not item.case.random]
    here = [[item for item in by_rule if item.step is step] for step in attempts[0].part.steps]
    for where, chosen in (
        ("", wrong),
        ("Where nothing is left to chance: ", by_rule),
        *((f"Where asked for this: {items[0].step.asks}. ", items) for items in here if items),
    ):
        if not chosen or any(item.report["status"] != "returned" for item in chosen):
            continue
        told = [dict.fromkeys(_forms(item)) for item in chosen]
        for name, sentence in told[0]:
            if all((name, sentence) in others for others in told[1:]):
                return ((name, f"{where}{sentence}"),)
    return ()


def _forms(item: Attempt) -> Iterator[tuple[str, str]]:
    expected, value = item.expected["value"], item.report.get("value")
    names = [name for name, _ in results_in(item)]
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
            "The results come in a dict. The text asks for them one after the other: in which order?",
        )
    elif isinstance(expected, torch.Tensor | np.ndarray):
        yield from _forms_of_one(expected, value)
    elif isinstance(expected, tuple):
        yield from _forms_of_several(expected, value, names)
    if isinstance(expected, bool) and isinstance(value, bool):
        yield (
            f"{value} where {expected} is right",
            (
                f"Whatever is wrong here is a {value} where {expected} is right. For which functions or "
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
                "Plain numbers come back in a list. What is asked is a tensor: which operations keep it "
                "one?"
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


def _forms_of_right_numbers(item: Attempt) -> Iterator[tuple[str, str]]:
    """The numbers are right, and yet something is not: its framework, its dtype, its inputs."""
    expected, value = item.expected["value"], item.report.get("value")
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
    if item.case.gradient:
        missing = [
            name
            for name, wanted in item.expected["gradients"].items()
            if wanted is not None and (item.report.get("gradients") or {}).get(name) is None
        ]
        if missing:
            names = " and ".join(f"`{name}`" for name in missing[:3])
            more = " and others" if len(missing) > 3 else ""
            yield (
                "no gradient",
                (
                    f"The numbers are right, but no gradient reaches {names}{more}. On which line does "
                    "the way back end?"
                ),
            )
        else:
            yield (
                "wrong gradient",
                (
                    "The numbers are right, but a gradient is not. Which way from an input to the result "
                    "is cut, or passes through NaN?"
                ),
            )


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple | list) and value else value


SHOWN = {
    "counted_from_zero": "the numbers on its axes",
    "complete": "the limits of its axes",
    "crisp": "how its cells are filled",
    "zero_on_top": "which end of its y axis is up",
    "x_labelled": "its label on x",
    "y_labelled": "its label on y",
    "colour_bar": "its colour bar",
    "on_given_axes": "where it is drawn",
    "axes_returned": "what comes back",
    "right_axes_returned": "which Axes come back",
    "other_figures": "how many figures there are",
    "shown": "that it is shown at once",
}


def picture(attempts: Sequence[Attempt]) -> Sentences:
    """Whether a picture holds the right numbers, and what else about it is wrong, as (name, sentence)."""
    wrong = [item for item in attempts if item.problem]
    if not wrong or any(item.request["experiment"] != "drawing" for item in wrong):
        return ()
    if any(item.report["status"] != "returned" for item in wrong):
        return ()
    pairs: list[tuple[Any, Any]] = [
        (item.expected["value"], item.report.get("value")) for item in wrong
    ]
    if any(not isinstance(found, tuple) or len(found) != len(right) for right, found in pairs):
        return ()
    names = ["values", *SHOWN]
    differ = {
        name
        for right, found in pairs
        for name, one, other in zip(names, right, found, strict=False)
        if values_agree(one, other) is not None
    }
    if "values" not in differ and differ:
        what = " and ".join(words for name, words in SHOWN.items() if name in differ)
        return (
            (
                "the picture, not its numbers",
                (
                    f"The cells show the right numbers; what differs is {what}. Look at your picture beside "
                    "the text: what should its reader be able to see?"
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


# ---------------------------------------------------------------------------- across the cases


def ever_the_same(attempts: Sequence[Attempt]) -> Sentences:
    """One shape, or one answer, whatever is asked, as (name, sentence)."""
    returned = [item for item in attempts if item.report["status"] == "returned"]
    pairs = [
        (_last(item.expected["value"]), _last(item.report.get("value")))
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


def unfit(attempts: Sequence[Attempt]) -> Sentences:
    """How the weights that a module has differ from those that are asked, as (name, sentence)."""
    reports = [item.report for item in attempts if item.report["status"] == "unfit"]
    if not reports:
        return ()
    report = reports[0]
    if "kind" in report:
        return (
            (
                "no module",
                (
                    "What the class makes is no nn.Module, so it has no weights that could be set. From "
                    "which class should yours inherit, and is its `__init__` called?"
                ),
            ),
        )
    missing, has = report.get("missing") or [], report.get("has") or []
    if missing and not has:
        return (
            (
                "weights that are not found",
                (
                    "The module has no weights at all that torch can see. Layers are found if they are "
                    "attributes, made in `__init__`: not in a plain list, and not in `forward`."
                ),
            ),
        )
    if missing:
        return (("weights with other names", _other_names(missing, has)),)
    if not report.get("shapes"):
        return ()
    name, asked, found = report["shapes"][0]
    item = next(item for item in attempts if item.report["status"] == "unfit")
    letters = {size: letter for letter, size in sizes_of(item).items()}
    differ = [n for n in range(min(len(asked), len(found))) if asked[n] != found[n]]
    if len(asked) == len(found) and sorted(asked) == sorted(found):
        sentence = f"`{name}` has its two lengths exchanged. Which comes first, in or out?"
    elif (
        len(asked) == len(found)
        and len(differ) == 1
        and {
            asked[differ[0]],
            found[differ[0]],
        }
        <= set(letters)
    ):
        sentence = (
            f"`{name}` is made with {letters[found[differ[0]]]} where {letters[asked[differ[0]]]} is "
            "asked. What goes into this layer, and what comes out?"
        )
    else:
        sentence = (
            f"`{name}` is made with another shape than the text gives it. Which lengths belong into "
            "it, and where do they come from?"
        )
    return (("weights of another shape", sentence),)


def _other_names(missing: Sequence[str], has: Sequence[str]) -> str:
    def plain(name: str) -> str:
        return name.lower().replace("_", "")

    first = missing[0]
    alike = [name for name in has if plain(name) == plain(first)]
    if alike:
        return (
            f"`{first}` is asked, and there is `{alike[0]}`. Weights are found by their names: are "
            "they written as in the text?"
        )
    ends = [name for name in has if name.endswith(f".{first}") or first.endswith(f".{name}")]
    if ends:
        return (
            f"`{first}` is asked, and there is `{ends[0]}`: it is made at another level. Of which "
            "module should it be an attribute?"
        )
    others = [name for name in missing if not name.endswith(".bias")]
    if not others:
        return (
            f"Every weight is there, but `{first}` is not. Which argument of a layer decides whether "
            "it has a bias?"
        )
    return (
        f"There is no `{first}`; weights are set by their names. Is each layer made in `__init__`, as "
        "an attribute with the name of the text?"
    )
