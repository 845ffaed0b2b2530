"""Whatever an answer returns can be judged: no part's checks stumble over an odd result.

An error of the checks' own would be noted as the grader's fault, and a person would have to look.
"""

import numpy as np
import pytest
import torch

from assignments import known, load
from autograder.checks.drawn_cases import CaseRun, DrawnCases, times_of
from autograder.checks.judge import problem_with
from autograder.probe.messages import Observation
from autograder.probe.wire import Opaque

pytestmark = pytest.mark.long

PARTS = [(name, part.name) for name in known() for part in load(name).parts]


def anything(right):
    """What could come back in the place of what is right, of every type that can travel."""
    yield right
    yield None
    yield Opaque("Thing")
    yield from (
        True,
        3,
        -1.5,
        "text",
        [],
        (),
        {},
        [None],
        [[1.0, 2.0], [3.0]],
        {"a": 1},
        [Opaque("x")],
    )
    yield from (
        torch.tensor(2.0),
        torch.tensor([]),
        torch.zeros(2, 0, 3),
        torch.zeros(1, 1, 1, 1, 1),
    )
    yield from (np.zeros(3), np.array(2.5), np.zeros((2, 2), dtype=bool))
    if isinstance(right, tuple | list):
        for place in range(len(right)):
            for value in anything(right[place]):
                yield type(right)([*right[:place], value, *right[place + 1 :]])
    if isinstance(right, dict) and "parameters" in right:  # what a module holds
        for name in right["parameters"]:
            for value in anything(None):
                yield {**right, "parameters": {**right["parameters"], name: value}}
    if isinstance(right, torch.Tensor):
        yield from (
            right.numpy(),
            right[None],
            right.long(),
            right.bool(),
            right.half(),
            right.tolist(),
        )
        yield from (torch.full(right.shape, torch.nan), torch.full(right.shape, torch.inf))
        yield from ((right,), [right, right], right.double(), right.flatten()[:1], right[None][:0])


def values(right, times):
    """The same; where an answer is called several times, the results of all calls come in one list."""
    if times == 1:
        yield from anything(right)
    else:
        for value in anything(right[-1]):
            yield from ([*right[:-1], value], [value] * times)


def kind_of(value):
    """A result without its sizes."""
    if isinstance(value, torch.Tensor):
        return value.dtype, value.dim()
    if isinstance(value, dict):
        return tuple((name, kind_of(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return type(value), *dict.fromkeys(map(kind_of, value))
    return type(value)


def one_of_each_kind(exam):
    """Cases, by number, of which each is judged in a way of its own: by its step, or for a result of another kind."""
    found = {}
    for number, (step, case) in enumerate(exam.plan):
        expected = exam.expected[number]
        if expected.status == "returned":
            many = times_of(exam.requests[number]) > 1
            counted = case.chance and case.chance.tally.__code__
            asked = bool(case.gradient), bool(case.memory), counted, many
            kind = step.asks, asked, kind_of(expected.value)
            found.setdefault(kind, number)
    return found.values()


@pytest.mark.parametrize(("assignment", "part"), PARTS)
@pytest.mark.filterwarnings("default")
def test_an_odd_result_is_judged_without_an_error_of_the_checks_own(assignment, part):
    exam = DrawnCases(load(assignment).part(part), seed=11)
    for number in one_of_each_kind(exam):
        right = exam.expected[number].value
        for value in values(right, times_of(exam.requests[number])):
            for left in ({}, {"arguments": [None]}, {"gradients": {"x": torch.ones(3)}}):
                seen = Observation(status="returned", value=value, **left)
                problem_with(CaseRun(exam, number, seen))
