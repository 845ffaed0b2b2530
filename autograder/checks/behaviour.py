"""What an answer does on inputs that the whole class has in common, so that answers can be grouped by it.

Inputs of checks differ by run, so two wrong answers that do the same return other numbers. Where
nothing tells what is wrong with an answer, it is asked once more, on inputs that depend on the course and
the part alone. Nothing is decided by that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograder.arrays import as_numpy, is_array, is_tensor
from autograder.checks.check import Assignment, Part
from autograder.checks.decide import disallowed_in, seed_of
from autograder.checks.drawn_cases import drawn_for
from autograder.checks.follow_through import source_of
from autograder.checks.reply import observations_in
from autograder.checks.verdicts import PROJECTIONS, Behaviour, PartVerdict
from autograder.files import digest_of
from autograder.probe.messages import Questions
from autograder.probe.wire import Opaque, WireError, encode

LARGEST = 1e100  # number that is told from larger ones


def is_unexplained(verdict: PartVerdict) -> bool:
    """Whether points were lost, and neither a mistake, nor a relation, nor an obstacle tells why."""
    told = verdict.mistakes or verdict.relations or verdict.obstacle
    return not verdict.right and not told


def behaviour_of(
    assignment: Assignment,
    part: Part,
    probe: Callable[[bytes], bytes],
    stood_in: tuple[str, ...] = (),
    secret: str = "",
) -> Behaviour | None:
    """What an answer does on the inputs of the class; None where what comes back is no answer.

    Ours stand in for the same earlier parts as when the part was decided; the probe is as for `decide`.
    """
    drawn = drawn_for(part, seed_of(f"{assignment.name}/{part.name}", ["the class"], secret))
    ours = {
        name: source_of(assignment.part(name).reference, assignment.course.libraries)
        for name in stood_in
    }
    questions = Questions(
        requests=drawn.requests, substitutes=ours, disallowed=disallowed_in(assignment, part)
    )
    try:
        observations = observations_in(probe(encode(questions)), len(drawn.requests))
    except WireError:
        return None
    if any(seen.status == "fault" for seen in observations):
        return None
    kinds: list[str] = []
    numbers: list[float] = []
    for (_, case), seen in zip(drawn.plan, observations, strict=True):
        if case.random or case.chance is not None:
            continue  # the same answer would do something else the next time
        kinds.append(f"{seen.status} {seen.error.type if seen.error else ''}".strip())
        for kind, mean in _looks_of(seen.value):
            kinds.append(kind)
            numbers += mean
    return Behaviour(tuple(kinds), tuple(numbers))


def _looks_of(value: Any) -> Iterator[tuple[str, list[float]]]:
    """The kind of a value, and of all that is in it, with the numbers of what is an array."""
    if is_array(value):
        array = as_numpy(value.double()) if is_tensor(value) else value
        finite = np.isfinite(array)
        holes = "" if finite.all() else f" not finite {digest_of(finite.tobytes().hex())}"
        yield f"{type(value).__name__} {array.shape} {value.dtype}{holes}", _means(array[finite])
    elif isinstance(value, list | tuple):
        yield f"{type(value).__name__} of {len(value)}", []
        for item in value:
            yield from _looks_of(item)
    elif isinstance(value, dict):
        yield f"dict of {sorted(map(str, value))}", []
        for _, item in sorted(value.items(), key=lambda pair: str(pair[0])):
            yield from _looks_of(item)
    elif isinstance(value, int | float):
        yield type(value).__name__, [float(value)] if math.isfinite(value) else []
    else:
        told = value.type_name if isinstance(value, Opaque) else digest_of(str(value))
        yield f"{type(value).__name__} {told}", []


def _means(array: np.ndarray) -> list[float]:
    """Weighted means of an array's entries, with weights that are the same for each size.

    An entry beyond `LARGEST` counts as that, so that no mean is without end.
    """
    entries = array.astype(np.float64).ravel().clip(-LARGEST, LARGEST)
    weights = np.random.default_rng(entries.size).standard_normal((PROJECTIONS, entries.size))
    return [float(mean) for mean in weights @ entries / max(math.sqrt(entries.size), 1.0)]
