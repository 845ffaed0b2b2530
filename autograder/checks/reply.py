"""What comes from a submission's process is checked and cut before anything else is done with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from msgspec import structs

from autograder.bounds import (
    DEEPEST_VALUE,
    LONGEST_VALUE,
    LONGEST_WORD,
    MOST_AXES,
    MOST_WORDS,
)
from autograder.files import cut
from autograder.probe.messages import ErrorSeen, Observation, Unfit, WrongShape
from autograder.probe.wire import Opaque, WireError, decode


def observations_in(message: bytes, number: int) -> list[Observation]:
    """The observations in a message of the probe, as many as were asked for; or one fault.

    Raises:
        WireError: it is no message, or not with so many observations that are what they claim to be.
    """
    found = decode(message, list[Observation])
    if len(found) != number and [seen.status for seen in found] != ["fault"]:
        raise WireError("not as many answers as were asked for")
    return [_cut(seen) for seen in found]


def _cut(seen: Observation) -> Observation:
    return structs.replace(
        seen,
        value=_plain(seen.value),
        arguments=_plain(seen.arguments),
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
    if value is None or isinstance(value, bool | int | float | torch.Tensor | np.ndarray | Opaque):
        return value
    if isinstance(value, str):
        return cut(value, LONGEST_VALUE)
    if isinstance(value, list | tuple):
        return type(value)(_plain(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return {
            cut(str(name), LONGEST_VALUE): _plain(item, depth + 1) for name, item in value.items()
        }
    return Opaque(type(value).__name__)
