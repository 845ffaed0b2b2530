"""What a check is made of: assignments, parts, steps, cases and named mistakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from autograder.compare import values_agree

Judge = Callable[[Any, Any], str | None]


@dataclass(frozen=True)
class Build:
    """How a module is built, loaded and used in one case.

    Attributes:
        construct, keywords: arguments of the constructor.
        arguments: arguments of the method.
        method: the method to call; None looks at what the module holds when it is new.
        state: weights by name. Weights that stand in the reference and not here are drawn.
        training: in train mode; otherwise in eval mode.
        dtype: of the module's parameters.
        times: how often the method is called; above one, the value is the list of all results.
    """

    construct: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    arguments: list[Any] = field(default_factory=list)
    method: str | None = "forward"
    state: dict[str, torch.Tensor] = field(default_factory=dict)
    training: bool = False
    dtype: torch.dtype = torch.float32
    times: int = 1


@dataclass(frozen=True)
class Case:
    """One use of the student's function or class.

    Attributes:
        label: what is special about the inputs, for the feedback ("two sentences, T=3, S=5").
        draw: makes the arguments of a function, or the `Build` of a module, from a seeded
            generator, so that every submission gets its own.
        strided: hand tensors over with gaps in memory.
        gradient: also compare the derivatives with respect to floating arguments and weights.
        raises: an error is what is right: the name of its type, then words that its message must
            hold.
        random: the result is left to chance, so the judge is given what the reference returns in
            eval mode, and the case is not used to recognise mistakes.
    """

    label: str
    draw: Callable[[torch.Generator], list[Any] | Build]
    strided: bool = False
    gradient: bool = False
    raises: tuple[str, ...] = ()
    random: bool = False


@dataclass(frozen=True)
class Step:
    """Something a part must get right, worth points of its own; all its cases must pass.

    Attributes:
        asks: what is asked, as a phrase that can follow a tick or a cross.
        points: what the step earns.
        cases: the calls that decide it.
        judge: compares (expected, got) and returns None or the sentence that says what differs.
        strict: also demand the exact type, dtype and untouched inputs.
    """

    asks: str
    points: float
    cases: tuple[Case, ...]
    judge: Judge = values_agree
    strict: bool = False


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that people give, and what to tell them.

    Attributes:
        name: the mistake in a few words, for the class report.
        answer: an implementation that makes the mistake.
        says: what the student reads: what happened, and what to do.
    """

    name: str
    answer: Callable[..., Any]
    says: str


@dataclass(frozen=True)
class Part:
    """One graded definition of an assignment.

    Attributes:
        name: the name the student defines.
        signature: how it is called, with shapes.
        reference: the right answer.
        steps: what earns points.
        mistakes: wrong answers with names; the first that explains the failures is reported.
        may_call: earlier parts that this one may build on.
        stand_ins: module that holds the reference of each earlier part.
        reads: where the lecture explains it, as (text, link relative to the assignment).
        barred: what this part may not use, where that differs from the assignment's other parts.
    """

    name: str
    signature: str
    reference: Callable[..., Any]
    steps: tuple[Step, ...]
    mistakes: tuple[Mistake, ...]
    reads: tuple[str, str]
    may_call: tuple[str, ...] = ()
    stand_ins: str = "course_utils.attention"
    barred: tuple[str, ...] | None = None

    @property
    def points(self) -> float:
        return sum(step.points for step in self.steps)


@dataclass(frozen=True)
class Assignment:
    """All checks of one assignment.

    Attributes:
        name: the assignment's id, such as ``a2_self_attention``.
        parts: in the order of the notebook.
        barred: names of functions and classes that would be the answer itself.
        allowed_modules: modules of the course that the notebook may import, and import from.
    """

    name: str
    parts: tuple[Part, ...]
    barred: tuple[str, ...]
    allowed_modules: tuple[str, ...] = ("course_utils.signoff",)

    def part(self, name: str) -> Part:
        for part in self.parts:
            if part.name == name:
                return part
        names = ", ".join(part.name for part in self.parts)
        raise KeyError(f"{self.name} has no part '{name}'; its parts are {names}")
