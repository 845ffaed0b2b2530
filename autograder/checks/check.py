"""What a check is made of: an assignment's parts, their steps and cases, and mistakes with a name.

A part reads from top to bottom: what is asked, and the steps that earn points. Wrong answers that
people give, each with the sentence that its author reads, stand in a file of their own:

    weights = Part("attention_weights(x (T, D)) -> (T, T)", attention.attention_weights, READS)
    ROWS = weights.step("each row sums to one", 1, sentence(T=5, D=3), judge=rows_rank)
    weights.manners(1, sentence(T=7, D=4))

    @weights.mistake("softmax over the columns", costs=ROWS)
    def softmax_over_the_columns(x):
        \"\"\"Your weights match a softmax over the wrong axis: use `dim=-1`.\"\"\"
        return (x @ x.T).softmax(dim=0)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from autograder.checks.cases import Case, Judge, Step
from autograder.checks.compare import values_agree
from autograder.checks.course import NO_COURSE, Course, Letter
from autograder.checks.mistakes import Mistake, plain

Answer = TypeVar("Answer", bound=Callable[..., Any])

HINT = re.compile(r"<details><summary>Hint</summary>(.*?)</details>", re.DOTALL)
MANNERS = "float64 stays float64, inputs stay as they were, any memory layout works, gradients flow"
MANNERS_OF_NUMPY = "inputs stay as they were, any memory layout works"


class Part:
    """One graded definition of an assignment.

    Args:
        signature: how it is called, with shapes; it begins with the name that students define.
        reference: the right answer.
        reads: where a lecture explains it, as (text, link relative to the assignment), if one does.
        may_call: earlier parts that this one may build on.
        lend: whether the reference, source and all, may come to where a submission runs, in the place of a
            wrong answer to this part, while later ones are asked. A course whose references are secret, of
            which several hand-ins of one student count, says False.
        disallowed: what this part may not use, where that differs from the assignment's other parts.
        near: compares two results as a judge does and takes them for the same, where the text allows less
            precision than is usual. A mistake then has its name though its digits are others.

    Attributes:
        name: the name the student defines.
        steps: what earns points.
        mistakes: wrong answers with names; the first that does what the student's code did is reported.
        letters, charge_once: of the course that loads it and sets them, see `Course`.
        example: a case of few numbers, in eval mode, for which students who have earned everything
            are asked about their own code; None if they are not.
    """

    def __init__(
        self,
        signature: str,
        reference: Callable[..., Any],
        reads: tuple[str, str] = ("", ""),
        may_call: tuple[str, ...] = (),
        disallowed: tuple[str, ...] | None = None,
        near: Judge | None = None,
        lend: bool = True,
    ) -> None:
        self.name = signature.partition("(")[0]
        self.signature, self.reference, self.reads = signature, reference, reads
        self.may_call, self.disallowed, self.near, self.lend = may_call, disallowed, near, lend
        self.steps: list[Step] = []
        self.mistakes: list[Mistake] = []
        self.example: Case | None = None
        self.letters: Mapping[str, Letter] = {}
        self.charge_once = True

    def __repr__(self) -> str:
        return f"Part({self.signature!r})"

    @property
    def points(self) -> float:
        return sum(step.points for step in self.steps)

    def step(
        self,
        asks: str,
        points: float,
        *cases: Case,
        judge: Judge = values_agree,
        strict: bool = False,
    ) -> Step:
        """Add a step, see `Step`, and return it."""
        self.steps.append(Step(asks, points, cases, judge, strict))
        return self.steps[-1]

    def manners(
        self,
        points: float,
        case: Case,
        *more: Case,
        also: str = "",
        asks: str = "",
        judge: Judge = values_agree,
    ) -> Step:
        """Add the step that asks for what every function of arrays should do, beside its numbers.

        Args:
            points: what the step earns.
            case: tried with gaps in memory; of tensors, also in float64 and with gradients.
            more: further cases of the same step, as they are.
            also: what else the step asks for, put before the rest.
            asks: the phrase, where a part has fewer manners or other words.
            judge: as in a `Step`, which is strict.
        """
        cases: tuple[Case, ...] = (case.in_float64(), case.with_gaps(), case.with_gradients())
        usual = MANNERS
        if case.is_numpys:
            cases, usual = (case.with_gaps(),), MANNERS_OF_NUMPY
        return self.step(also + (asks or usual), points, *cases, *more, judge=judge, strict=True)

    def mistake(
        self,
        name: str,
        message: str = "",
        costs: Step | tuple[Step, ...] = (),
        costs_more: str = "",
    ) -> Callable[[Answer], Answer]:
        """Give a whole wrong answer a name; its docstring is what the student reads, or ``message``.

        The decorated function or class stays as it is. ``costs`` and ``costs_more`` are those of a `Mistake`.
        `autograder.bank.edits` makes mistakes of single steps.

        Raises:
            ValueError: it has no docstring of its own, and there is no ``message``.
        """

        def remember(answer: Answer) -> Answer:
            own = vars(answer).get("__doc__") if isinstance(answer, type) else answer.__doc__
            sentence = message or plain(own)
            if not sentence:
                raise ValueError(
                    f"the mistake '{name}' of {self.name} has nothing to say: give "
                    f"{answer.__name__} a docstring, which its author will read, or `says`"
                )
            steps = costs if isinstance(costs, tuple) else (costs,)
            self.mistakes.append(Mistake(name, answer, sentence, steps, costs_more))
            return answer

        return remember

    def named(self, *names: str) -> list[Mistake]:
        """The mistakes of these names, in the order of the names, so that other parts can share them.

        Raises:
            KeyError: there is no mistake of such a name.
        """
        for name in names:
            if all(mistake.name != name for mistake in self.mistakes):
                raise KeyError(f"{self.name} has no mistake '{name}'")
        return [mistake for name in names for mistake in self.mistakes if mistake.name == name]


@dataclass(frozen=True)
class Assignment:
    """All checks of one assignment.

    Attributes:
        name: the assignment's id, such as ``a1_name``.
        parts: in the order of the notebook.
        disallowed: names of functions and classes that would be the answer itself.
        allowed_modules: modules of the course that the notebook may import, and import from.
        course: the course that has loaded it.
    """

    name: str
    parts: tuple[Part, ...]
    disallowed: tuple[str, ...] = ()
    allowed_modules: tuple[str, ...] = ()
    course: Course = field(default=NO_COURSE, repr=False, compare=False)

    def part(self, name: str) -> Part:
        for part in self.parts:
            if part.name == name:
                return part
        names = ", ".join(part.name for part in self.parts)
        raise KeyError(f"{self.name} has no part '{name}'; its parts are {names}")

    @property
    def by_a_person(self) -> float:
        """Points for answers in words, as far as the released text is here."""
        marks = [cell["metadata"].get("nbgrader", {}) for cell in self.course.released(self.name)]
        return sum(mark["points"] for mark in marks if mark.get("grade") and mark.get("solution"))

    def hint(self, part: str) -> str:
        """The hint that the text gives for a part, as Markdown; "" where it has none, or the text is not here."""
        above = ""
        for cell in self.course.released(self.name):
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == part:
                break
            above = cell["source"] if cell["cell_type"] == "markdown" else above
        found = HINT.search(above)
        return found[1].strip() if found else ""
