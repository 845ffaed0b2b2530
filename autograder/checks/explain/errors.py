"""Say how an answer stops, or why its weights cannot be set."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import astuple

from autograder.checks.axes import sizes_of
from autograder.checks.drawn_cases import CaseRun
from autograder.checks.explain.evidence import Sentences
from autograder.checks.missing import is_unanswered

HINTS = (
    (
        r"Boolean value of Tensor|truth value of an array",
        (
            "`and`, `or`, `not` and `if` ask for one truth value, and a tensor holds many. For bool "
            "tensors, 'and' is `&`, 'or' is `|`, 'not' is `~`."
        ),
    ),
    (
        r"missing the required \"forward\"",
        (
            "A module was called whose class has no `forward`. If the class is yours, is there a method of "
            "just this name, and not inside another one? If it is not, which methods does the text promise?"
        ),
    ),
    (
        r"Module\.__init__\(\) call",
        "`super().__init__()` must come first in `__init__`, because it is what lets a module hold layers.",
    ),
    (
        r"^NameError",
        "Nothing has that name there. Is it written as in the signature, and defined before?",
    ),
    (
        r"'NoneType'",
        "Something is None there. Which argument may be None, and what should happen then?",
    ),
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
            "Two lengths do not fit there. Print the shapes in that line, and write each length with "
            "its letter. Which letters are paired?"
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
            "A tensor is changed in place that the backward pass still needs. Which line writes into one, with an "
            "assignment to x[…], with +=, or with a name that ends in _?"
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
    (r"dtype|\b[Bb]ool\b|Long|Half|Double|Float", "Of which dtype is each thing in that line?"),
)


def how_it_stops(attempts: Sequence[CaseRun]) -> Sentences:
    """What all errors have in common where a result was asked for, as (name, sentence)."""
    stopped = [
        item.actual.error
        for item in attempts
        if item.problem and item.actual.error and not item.case.raises
    ]
    wrong = [item for item in attempts if item.problem]
    kinds = [error.type for error in stopped]
    if not stopped or any(map(is_unanswered, stopped)):
        return ()
    kind = max(kinds, key=kinds.count)
    stopped = [error for error in stopped if error.type == kind]
    lines = {error.line for error in stopped}
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
    message = f"{kind}: {stopped[0].message}"
    hint = next((hint for pattern, hint in HINTS if re.search(pattern, message)), "")
    if not hint:
        hint = "Which condition leads there, and does the text ask for it?"
        if not re.match(r"\s*(raise|assert)\b", line):
            hint = "Run that line by itself with the inputs of the case. What does it get, and what should it get?"
    return ((f"stops with {kind}", f"{what[0].upper()}{what[1:]}: {kind}{where}. {hint}"),)


def unfit(attempts: Sequence[CaseRun]) -> Sentences:
    """How the weights that a module has differ from those that are asked, as (name, sentence)."""
    item = next((item for item in attempts if item.actual.unfit), None)
    found = item.actual.unfit if item else None
    if item is None or found is None:
        return ()
    if found.kind:
        return (
            (
                "no module",
                (
                    "What the class makes is no nn.Module, so it has no weights that could be set. From "
                    "which class should yours inherit, and is its `__init__` called?"
                ),
            ),
        )
    if found.missing and not found.has:
        return (
            (
                "weights that are not found",
                (
                    "The module has no weights at all that torch can see. Layers are found if they are "
                    "attributes, made in `__init__`, but not in a plain list, and not in `forward`. A "
                    "single weight is found if it is an `nn.Parameter`, but not as a plain tensor."
                ),
            ),
        )
    if found.missing:
        return (("weights with other names", _other_names(found.missing, found.has)),)
    if not found.shapes:
        return ()
    name, asked, given = astuple(found.shapes[0])
    letters = {size: letter for letter, size in sizes_of(item).items()}
    differ = [n for n in range(min(len(asked), len(given))) if asked[n] != given[n]]
    if len(asked) == len(given) and sorted(asked) == sorted(given):
        sentence = f"`{name}` has its two lengths exchanged. Which comes first, in or out?"
    elif (
        len(asked) == len(given)
        and len(differ) == 1
        and {
            asked[differ[0]],
            given[differ[0]],
        }
        <= set(letters)
    ):
        sentence = (
            f"`{name}` is made with {letters[given[differ[0]]]} where {letters[asked[differ[0]]]} is "
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
