"""Slow is not wrong: right answers in plain loops, or in products as they are written, have time for each case.

What a case costs is processor time, set against that of a fixed loop in the same process. A machine that is
slow or busy makes both dearer, so the figure says how much work a case is, and not how fast it was done.
"""

import time
from functools import partial

import pytest
import torch

from assignments import known, load
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.measure import bank_of
from autograder.checks.drawn_cases import CaseRun, DrawnCases
from autograder.checks.judge import problem_with
from tests.assignments.visible import failure

SLOW = [(name, given) for name in known() for given in bank_of(name) if given.slow]
PARTS = [(name, part) for name in known() for part in load(name).parts]
STEPS, STEPS_A_SECOND = 1_000, 140_000  # of the fixed loop, where the sizes of cases were chosen
TRIES = 5  # what else runs makes a figure larger and never smaller, so the least one counts


def shown(value):
    """What stands for a parameter in a test's id."""
    code = getattr(value, "code", None)
    return f"{value.part}-{code.__name__}" if code else getattr(value, "name", value)


def a_thousand_steps():
    """A product and a sum of two numbers out of a tensor, again and again."""
    x, total = torch.ones(2, STEPS), 0.0
    for k in range(STEPS):
        total = total + x[0, k] * x[1, k]


def processor_time(work):
    """Seconds of processor time that a call took, and what it returned."""
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


@pytest.fixture(scope="module")
def measured():
    """Counts what a call costs in seconds of a machine that goes through the fixed loop in its own time."""

    def seconds_for(work):
        least = float("inf")
        for _ in range(TRIES):
            took, result = processor_time(work)
            least = min(least, took / second)
            if least <= 1:
                break
        return least, result

    second = min(processor_time(a_thousand_steps)[0] for _ in range(9)) * STEPS_A_SECOND / STEPS
    return seconds_for


@pytest.mark.parametrize(("assignment", "part"), PARTS, ids=shown)
def test_a_part_has_an_answer_of_each_slow_way(assignment, part):
    assert [given.slow for _, given in SLOW if given.part == part.name] == [LOOPS, PRODUCTS]


@pytest.mark.long
@pytest.mark.parametrize(("assignment", "given"), SLOW, ids=shown)
def test_a_slow_answer_is_right_and_no_case_asks_too_much_of_it(assignment, given, measured):
    drawn = DrawnCases(load(assignment).part(given.part), 0)
    for number, (_, case) in enumerate(drawn.plan):
        # a partial is another answer to `done_by`, which keeps what it has seen
        took, actual = measured(lambda number=number: drawn.done_by(partial(given.code), number))
        assert took <= 1, (
            f"{given.slow} take {took:.1f} s of processor time in the case '{case.label}'. A size is there so "
            "that it cannot be typed: make one axis long at a time"
        )
        assert problem_with(CaseRun(drawn, number, actual)) is None


@pytest.mark.parametrize(("assignment", "given"), SLOW, ids=shown)
def test_an_example_asks_too_much_of_no_slow_answer(assignment, given, measured):
    took, said = measured(lambda: failure(assignment, given.part, given.code))
    assert said is None and took <= 1
