"""What is left to chance: whether two calls should give the same again, and what is not independent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.checks.cases import Call, Case, Judge, Randn
from autograder.checks.compare import kind_of, values_agree
from autograder.checks.problem import Judgement
from autograder.probe.wire import Instance


def a_generator(randn: Randn) -> Instance:
    """A `torch.Generator` among the arguments, with a seed that differs by submission."""
    seed = int(torch.randint(2**31, (), generator=randn.generator))
    return Instance("generator", {"seed": seed})


def in_which_state(anew: bool, seeded: bool) -> str:
    """The label of such a case."""
    if not seeded:
        return "two calls, without a generator"
    states = "a generator in the same state each time" if anew else "one generator that goes on"
    return f"two calls, {states}"


def twice(given: Callable[[Randn], list[Any]], anew: bool, seeded: bool = True) -> Case:
    """Two calls: with a generator in the same state each, with one that goes on, or with none."""

    def draw(randn: Randn) -> Call:
        arguments = given(randn)
        if seeded:
            arguments.append(a_generator(randn))
        return Call(arguments, times=2, anew=anew)

    return Case(in_which_state(anew, seeded), draw, random=True)


def copied_along(gone: Tensor, axis: int) -> bool:
    """Whether places some steps apart are dropped together, far more often than by chance.

    Args:
        gone: where something was dropped, bool.
        axis: along which the places are.
    """
    length, share = gone.shape[axis], float(gone.double().mean())
    often = share**2 + (1 - share) ** 2
    for lag in {1, 2, 3, length // 2}:
        if 0 < lag < length:
            one, other = (gone.narrow(axis, start, length - lag) for start in (0, lag))
            alike = (one == other).double()
            if float(alike.mean()) - often > 7 * (often * (1 - often) / alike.numel()) ** 0.5:
                return True
    return False


def again_or_not(judge: Judge) -> Judge:
    """Judges two calls by whether they give the same as one another, as ours do, or do not.

    Args:
        judge: of a single result.
    """

    def judge_each(expected: Any, got: Any) -> Judgement:
        if not isinstance(expected, list):
            return judge(expected, got)
        if not isinstance(got, list) or len(got) != 2:
            return f"expected two results, got {kind_of(got)}"
        first, second = (tuple(one) if isinstance(one, list) else one for one in got)
        wanted, found = (one if isinstance(one, tuple) else (one,) for one in (expected[0], first))
        forms = [kind_of(one) for one in wanted], [kind_of(one) for one in found]
        if forms[0] != forms[1] or isinstance(expected[0], tuple) != isinstance(first, tuple):
            return f"expected {kind_of(expected[0])}, got {kind_of(first)}"
        same = values_agree(first, second) is None
        if same == (values_agree(*expected) is None):
            return None
        if same:
            return (
                "the second of two calls gives the same result as the first, although it should go on "
                "with the numbers that follow. Is something seeded anew in every call, or a copy used?"
            )
        return (
            "two calls with a generator in the same state should give the same result, and they do "
            "not. Do all numbers that are drawn come from `generator`?"
        )

    return judge_each
