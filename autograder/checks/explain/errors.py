"""Say how an answer stops, or why its weights cannot be set."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autograder.checks.axes import sizes_of
from autograder.checks.drawn_cases import CaseRun
from autograder.checks.explain.evidence import Explanation
from autograder.checks.missing import is_unanswered
from autograder.probe.messages import ErrorSeen

# the first pattern that an error's type and message match, and what to ask then
HINTS = {
    r"CUDA|NVIDIA|\bmps\b|\bxpu\b|accelerator device": (
        "The grader has a CPU and no other device. Leave `.cuda()` and names of devices out: with "
        "`device=x.device` or `.to(x.device)`, code follows its input `x`, wherever that is."
    ),
    r"Boolean value of Tensor|truth value of an array": (
        "`and`, `or`, `not` and `if` ask for one truth value, and a tensor holds many. For bool "
        "tensors, 'and' is `&`, 'or' is `|`, 'not' is `~`."
    ),
    r"missing the required \"forward\"": (
        "A module was called whose class has no `forward`. If the class is yours, is there a method of "
        "just this name, and not inside another one? If it is not, which methods does the text promise?"
    ),
    r"Module\.__init__\(\) call": (
        "`super().__init__()` must come first in `__init__`, because it is what lets a module hold layers."
    ),
    r"^NameError: name '(torch|nn|F|np|math|plt|einops)'": (
        "That name comes from an import. Is the cell with the imports there, and was it run?"
    ),
    r"^NameError": (
        "Nothing has that name there. Is it written as in the signature, and defined before?"
    ),
    r"'NoneType'": "Something is None there. Which argument may be None, and what should happen then?",
    r"^RecursionError": (
        "A function calls itself without end. Is that meant, or is the name in that line another function's?"
    ),
    r"(?=.*(numpy|ndarray|NumPy))(?=.*(unsupported operand|Concatenation operation))": (
        "A NumPy array and a tensor meet there, and no operator takes both. Where does the array come from? "
        "`torch.from_numpy` makes a tensor of it, and in an exercise with NumPy alone no tensor is needed."
    ),
    r"return_types|can only concatenate tuple": (
        "A function that gives several things at once gave them all: `max` along an axis, for one, gives values and "
        "indices. Which of them is meant?"
    ),
    r"for @: .*'(float|int)'|does not have enough dimensions": (
        "`@` multiplies matrices, and one side is a single number. Is it `*` that is meant?"
    ),
    r"unsupported operand.*'list'": (
        "A list is no tensor: it has lengths, and no arithmetic. Where should it become a tensor?"
    ),
    r"permute\(|duplicate dims": (
        "`permute` names each axis of its input once, and here some are missing, named twice, or not there. How many "
        "axes does the input have? (PyTorch writes sparse_coo into that message whatever the tensor is.)"
    ),
    r"inhomogeneous|expected sequence of length": (
        "Rows of different lengths make no array. Which row is longer, and should it be?"
    ),
    r"0-dimensional arrays|array element with a sequence": (
        "A single number belongs there, and an array came. Since 2.4 NumPy does not take one for a number even if it "
        "holds just one; before, it only warned. Which index takes the number out, or one axis too many away?"
    ),
    r"one element tensors|cannot be converted to Scalar|implicitly created only for scalar": (
        "A single number is asked there, and the tensor holds several. Which one is meant, or over which axes "
        "is a sum or a mean to be taken?"
    ),
    r"mask \[.*at index|boolean index did not match": (
        "A mask in an index has the shape of what it is taken from, length by length. Print both shapes: where do they "
        "differ, and should the mask be broadcast first, or used in `masked_fill` or `where`?"
    ),
    r"valid indices|interpreted as an integer|of ints, not float|must be int, not float": (
        "A whole number is asked there. A division with `/` gives a float, even where nothing remains; "
        "which division makes it, and would `//` do?"
    ),
    r"torch\.Size' object is not callable|builtin_function_or_method' object is not subscr": (
        "`x.shape` is a tuple and takes square brackets, `x.size(…)` is a function and takes round ones. Which of the "
        "two is in that line?"
    ),
    r"only one dimension can be inferred": (
        "One length can be left to PyTorch as -1, not two. Which of them do you know?"
    ),
    r"not require grad and": (
        "Nothing on the way to this number wants a gradient. Where was the way cut: by `detach`, `item`, `no_grad`, or "
        "an array?"
    ),
    r"backward through the graph a second": (
        "`backward` throws its notes away, and this graph was gone through before. Is something kept from an earlier "
        "step that should be computed anew, or detached?"
    ),
    r"probability tensor contains|multinomial distribution": (
        "What is drawn from must be probabilities: not negative, no NaN, and more than zero in all. Is the softmax "
        "there, and does a row of it have nothing that is allowed?"
    ),
    r"view size is not compatible|view\(\)": (
        "`view` cannot follow numbers that lie apart in memory, as after a transpose. Which function "
        "may move them?"
    ),
    (
        r"[Tt]oo many values to unpack|[Nn]ot enough values to unpack|[Tt]oo many indices"
        r"|Dimension out of range|Expected .*3D|batch1 must be a 3D|IndexError: tuple|[1-3]D tensors? expected"
        r"|must be a matrix|number of subscripts|too many subscripts|axes don't match|bounds for array of dimension"
    ): (
        "The code counts on a certain number of axes, and this input has another. Which axes can you "
        "count from the end?"
    ),
    (
        r"broadcast|must match|cannot be multiplied|mismatch|size of tensor|Expected size"
        r"|Sizes of tensors|stack expects|not aligned|shape '.*' is invalid|normalized_shape"
        r"|inconsistent tensor size|cannot reshape array|sizes to sum|must match exactly|to match target"
    ): (
        "Two lengths do not fit there. Print the shapes in that line, and write each length with "
        "its letter. Which letters are paired?"
    ),
    r"has no attribute": (
        "Something is used there that was not made before, or is of another type than expected. Where "
        "is it made, and under which name?"
    ),
    r"modified by an inplace|a leaf Variable that requires grad": (
        "A tensor is changed in place that the backward pass still needs. Which line writes into one, with an "
        "assignment to x[…], with +=, or with a name that ends in _?"
    ),
    r"out of range|out of bounds": "Which index is too large, and what does it count?",
    r"numpy\(\)|requires grad": "Gradients end where a tensor becomes an array. Which step needs that?",
    r"unexpected keyword argument '(dim|keepdim)'": (
        "NumPy calls these arguments `axis` and `keepdims`, PyTorch `dim` and `keepdim`. Whose function is it?"
    ),
    r"positional argument|keyword argument|combination of arguments": (
        "Compare the arguments with those that the text names."
    ),
    r"argument '.*must be": (
        "An argument of a function is of another type than it takes: what does it get there, a number, a tuple or a "
        "tensor, and what does its documentation say?"
    ),
    r"dtype|operator\.invert|\b[Bb]ool\b|Long|Half|Double|Float": "Of which dtype is each thing in that line?",
}


def how_it_stops(attempts: Sequence[CaseRun]) -> Explanation | None:
    """What all errors have in common where a result was asked for."""
    wrong = [item for item in attempts if item.problem]
    stopped = [item.actual.error for item in wrong if item.actual.error and not item.case.raises]
    if not stopped or any(map(is_unanswered, stopped)):
        return None
    kinds = [*map(kind_of, stopped)]
    kind = max(kinds, key=kinds.count)
    errors = [error for error in stopped if kind_of(error) == kind]
    lines = {error.line for error in errors}
    line = lines.pop() if len(lines) == 1 else ""
    where = f"{', always' if len(errors) > 1 else ','} in `{line}`" if line else ""
    if len(errors) == len(attempts):
        what = "It stops in every case"
    elif len(errors) == len(wrong):
        what = "Whatever is wrong here is an error"
    else:
        what = f"It stops in {len(stopped)} of {len(wrong)} wrong cases"
    if len(errors) < len(stopped):
        what += f", in {len(errors)} of them with this"
    first = errors[0].type
    message = f"{first}: {errors[0].message}"
    hint = next((hint for pattern, hint in HINTS.items() if re.search(pattern, message)), "")
    if not hint and re.match(r"\s*(raise|assert)\b", line):
        hint = "Which condition leads there, and does the text ask for it?"
    elif not hint:
        hint = "Run that line by itself with the inputs of the case. What does it get, and what should it get?"
    return Explanation(f"stops with {kind}", f"{what}: {first}{where}. {hint}")


def kind_of(error: ErrorSeen) -> str:
    """An error's type, the same for each release of PyTorch.

    More and more of its RuntimeErrors, as that of `1 - mask` for a bool mask, are of a type below that one.
    """
    return "RuntimeError" if error.type == "NotImplementedError" else error.type


def unfit(attempts: Sequence[CaseRun]) -> Explanation | None:
    """How the weights that a module has differ from those that are asked."""
    item = next((item for item in attempts if item.actual.unfit), None)
    if item is None or item.actual.unfit is None:
        return None
    found = item.actual.unfit
    if found.kind:
        return Explanation(
            "no module",
            "What the class makes is no nn.Module, so it has no weights that could be set. From "
            "which class should yours inherit, and is its `__init__` called?",
        )
    if found.missing and not found.has:
        return Explanation(
            "weights that are not found",
            "The module has no weights at all that torch can see. Layers are found if they are "
            "attributes, made in `__init__`, but not in a plain list, and not in `forward`. A "
            "single weight is found if it is an `nn.Parameter`, but not as a plain tensor.",
        )
    if found.missing:
        return Explanation("weights with other names", _other_names(found.missing, found.has))
    if not found.shapes:
        return None
    first = found.shapes[0]
    sentence = _another_shape(attempts, first.name, first.asked, first.found)
    return Explanation("weights of another shape", sentence)


def _another_shape(
    attempts: Sequence[CaseRun], name: str, asked: Sequence[int], found: Sequence[int]
) -> str:
    if len(asked) == len(found):
        if sorted(asked) == sorted(found):
            return f"`{name}` has its two lengths exchanged. Which comes first, in or out?"
        lengths = _made_with(attempts, name)
        if lengths:
            right, own = max(lengths)  # several are several names of the same length
            return (
                f"`{name}` is made with {own} where {right} is asked. What goes into this layer, and "
                "what comes out?"
            )
    return (
        f"`{name}` is made with another shape than the text gives it. Which lengths belong into "
        "it, and where do they come from?"
    )


def _made_with(attempts: Sequence[CaseRun], name: str) -> set[tuple[str, str]]:
    """The length that is asked and the one in its place, as the text calls both, where this holds in all cases."""
    in_each = [
        {
            (right, own)
            for right, size in sizes_of(item).items()
            for own, other in sizes_of(item).items()
            if [(size, other)] == _that_differ(shape.asked, shape.found)
        }
        for item in attempts
        for shape in (item.actual.unfit.shapes if item.actual.unfit else ())
        if shape.name == name
    ]
    return set.intersection(*in_each)


def _that_differ(asked: Sequence[int], found: Sequence[int]) -> list[tuple[int, int]]:
    return [pair for pair in zip(asked, found, strict=False) if pair[0] != pair[1]]


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
    owner = first.rpartition(".")[0]
    if owner in has:
        return (
            f"`{owner}` is a parameter by itself, where a layer is asked, whose weights go by the name "
            f"`{first}`. Which layer is it, from which width to which?"
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
