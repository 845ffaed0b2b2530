"""What comes from a submission's process is checked and cut before anything else is done with it."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from autograder.arrays import dtype_name, is_array, is_tensor
from autograder.bounds import (
    DEEPEST_VALUE,
    LONGEST_VALUE,
    LONGEST_WORD,
    MOST_AXES,
    MOST_WORDS,
)
from autograder.checks.drawn_cases import is_a_state
from autograder.files import cut
from autograder.probe.messages import (
    AnyRequest,
    ChainRequest,
    ErrorSeen,
    ModuleRequest,
    Observation,
    RepeatedRequest,
    Unfit,
    WrongShape,
)
from autograder.probe.wire import Opaque, WireError, decode

# of which PyTorch has tensors, and few operations: nobody can compare them
HARDLY_COMPUTED_WITH = ("uint16", "uint32", "uint64")


def observations_in(message: bytes, number: int) -> list[Observation]:
    """The observations in a message of the probe, as many as were asked for; or one fault.

    Raises:
        WireError: it is no message, or not with so many observations that are what they claim to be.
    """
    found = decode(message, list[Observation])
    if len(found) != number and [seen.status for seen in found] != ["fault"]:
        raise WireError("not as many answers as were asked for")
    return [_cut(seen) for seen in found]


def refuse_forged(request: AnyRequest, right: Observation, seen: Observation) -> None:
    """See to it that an answer has what the probe itself puts around whatever a student's code does.

    What is right here is what comes of the request with an answer of ours.

    Raises:
        WireError: the probe has not sent it.
    """
    states = [
        (was, now)
        for was, now in zip(right.arguments, seen.arguments, strict=False)
        if is_a_state(was)
    ]
    if seen.status == "returned" and not _is_wrapped_as_asked(request, seen.value):
        raise WireError("a value that the probe does not send")
    if not all(_is_of_one_form(was, now) for was, now in states):
        raise WireError("a state that the probe does not send")


def _is_wrapped_as_asked(request: AnyRequest, value: Any) -> bool:
    if isinstance(request, ChainRequest):
        return isinstance(value, tuple) and len(value) == len(request.argument_names)
    if isinstance(request, ModuleRequest) and request.method is None:
        form = {"parameters": {}, "distinct": 0, "buffers": [""], "modules": [""]}
        return _is_of_one_form(form, value)
    if isinstance(request, RepeatedRequest) and request.times > 1:
        return isinstance(value, list) and len(value) == request.times
    return True


def _is_of_one_form(form: Any, value: Any) -> bool:
    """Whether a value is of the type of a form, and so is what is in it: lists hold texts, and a dict of
    truth values nothing else, under whatever names."""
    if type(value) is not type(form):
        return False
    if isinstance(form, list):
        return all(isinstance(item, str) for item in value)
    if isinstance(form, dict) and form:
        if all(isinstance(item, bool) for item in form.values()):
            return all(isinstance(item, bool) for item in value.values())
        return value.keys() == form.keys() and all(
            _is_of_one_form(item, value[name]) for name, item in form.items()
        )
    return True


def _cut(seen: Observation) -> Observation:
    if not all(one is None or is_tensor(one) for one in seen.gradients.values()):
        raise WireError("gradients that are no tensors")
    return structs.replace(
        seen,
        value=_plain(seen.value),
        arguments=_plain(seen.arguments),
        line=cut(seen.line),
        error=_cut_error(seen.error) if seen.error else None,
        unfit=_cut_unfit(seen.unfit) if seen.unfit else None,
    )


def _cut_error(error: ErrorSeen) -> ErrorSeen:
    return ErrorSeen(
        cut(error.type, LONGEST_WORD), _names(error.types), cut(error.message), cut(error.line)
    )


def _cut_unfit(unfit: Unfit) -> Unfit:
    return Unfit(
        kind=cut(unfit.kind, LONGEST_WORD),
        missing=_names(unfit.missing),
        has=_names(unfit.has),
        shapes=[
            WrongShape(cut(one.name, LONGEST_WORD), one.asked[:MOST_AXES], one.found[:MOST_AXES])
            for one in unfit.shapes[:MOST_WORDS]
        ],
    )


def _names(names: list[str]) -> list[str]:
    return [cut(name, LONGEST_WORD) for name in names[:MOST_WORDS]]


def _plain(value: Any, depth: int = 0) -> Any:
    """A value with its texts cut, in which nothing is but what a student's code can return.

    Raises:
        WireError: it is nested too deeply.
    """
    if depth > DEEPEST_VALUE:  # whoever looks at a value goes down by calls
        raise WireError(f"an answer of more than {DEEPEST_VALUE} lists in lists")
    if is_tensor(value) and dtype_name(value) in HARDLY_COMPUTED_WITH:
        return Opaque(f"{value.dtype} tensor of shape {tuple(value.shape)}")
    if value is None or is_array(value) or isinstance(value, bool | int | float | Opaque):
        return value
    if isinstance(value, str):
        return cut(value, LONGEST_VALUE)
    if isinstance(value, list | tuple | frozenset):
        return type(value)(_plain(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return {
            cut(str(name), LONGEST_VALUE): _plain(item, depth + 1) for name, item in value.items()
        }
    return Opaque(type(value).__name__)
