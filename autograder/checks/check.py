"""What a check is made of: an assignment's parts, their steps and cases, and mistakes with a name.

A part reads from top to bottom: what is asked, and the steps that earn points. Wrong answers that
people give, each with the sentence that its author reads, stand in a file of their own:

    weights = Part("attention_weights(x (T, D)) -> (T, T)", attention.attention_weights, READS)
    ROWS = weights.step("each row sums to one", 1, sentence(T=5, D=3), judge=rows_rank)
    weights.manners(1, sentence(T=7, D=4))

    @weights.mistakes_in(Weighing.share, costs=ROWS)
    class WeightsShare:
        def softmax_over_the_columns(self, scores):
            \"\"\"Your weights match a softmax over the wrong axis: use `dim=-1`.\"\"\"
            return scores.softmax(dim=0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import torch
from torch import nn

from autograder.checks.compare import values_agree
from autograder.checks.mistakes import Mistake, class_of, mistakes_of, plain
from autograder.checks.problem import Judgement
from autograder.checks.weights import drawn_weights, shapes_of
from autograder.probe.wire import GIVEN, RETURNED, Instance

Judge = Callable[[Any, Any], Judgement]
Answer = TypeVar("Answer", bound=Callable[..., Any])
Group = TypeVar("Group", bound=type)

MANNERS = "float64 stays float64, inputs stay as they were, any memory layout works, gradients flow"


class Randn:
    """Draws normal numbers in the dtype that a case asks for: ``randn(B, T, D)``.

    Attributes:
        generator: the seeded generator, for whatever else is drawn (``torch.randint`` and so on).
        dtype: of the numbers; they are drawn in float64, so that both dtypes see the same ones.
    """

    def __init__(self, seed: int, dtype: torch.dtype = torch.float32) -> None:
        self.generator, self.dtype = torch.Generator().manual_seed(seed), dtype

    def __call__(self, *shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=self.generator, dtype=torch.float64).to(self.dtype)


@dataclass(frozen=True)
class Build:
    """How a module is built, loaded and used in one case.

    Attributes:
        construct, keywords: arguments of the constructor.
        arguments: arguments of the method.
        method: the method to call; None looks at what the module holds when it is new.
        state: weights by name. Weights that stand in the reference and not here are drawn.
        training: in train mode; otherwise in eval mode.
        rested: the method was called once in eval mode before, which should leave no trace.
        before: arguments of another call made before, which should leave no trace; empty for none.
        dtype: of the module's parameters; None is the case's own.
        times: how often the method is called; above one, the value is the list of all results.
    """

    construct: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    arguments: list[Any] = field(default_factory=list)
    method: str | None = "forward"
    state: dict[str, torch.Tensor] = field(default_factory=dict)
    training: bool = False
    rested: bool = False
    before: list[Any] = field(default_factory=list)
    dtype: torch.dtype | None = None
    times: int = 1


@dataclass(frozen=True)
class Call:
    """How a function is called in one case, where a list of arguments does not say enough.

    Attributes:
        arguments: arguments of the function.
        times: how often it is called; above one, the value is the list of all results.
        anew: each call gets arguments of its own, such as a generator in its first state. Otherwise
            all calls share them, so that a generator goes on where it was left.
        tries: arguments with which models among the arguments are called before and afterwards. In a
            strict step they should give the same again.
    """

    arguments: list[Any]
    times: int = 1
    anew: bool = False
    tries: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Chain:
    """Several calls of a function, one after the other; the value is a tuple of all results.

    Attributes:
        calls: arguments of each call; `returned_by` stands for what an earlier one returned, and
            `given_to` for what it was given, such as the same model.
    """

    calls: list[list[Any]]


def returned_by(call: int, place: int) -> Instance:
    """What an earlier call of a `Chain`, counted from 0, returned at this place of its result."""
    return Instance(RETURNED, {"call": call, "place": place})


def given_to(call: int, place: int) -> Instance:
    """The argument that an earlier call of a `Chain`, counted from 0, was given at this place."""
    return Instance(GIVEN, {"call": call, "place": place})


def model(
    kind: type[nn.Module],
    *construct: Any,
    randn: Randn,
    training: Iterable[str] = (),
    recorded: Iterable[str] = (),
    **keywords: Any,
) -> Instance:
    """A module to hand to a function, with weights that are drawn for each submission.

    Args:
        kind: its class, in a module of the course that the notebook may import.
        construct, keywords: arguments of its constructor.
        randn: draws the weights, and says of which dtype they are.
        training: names of the modules in it that are in train mode, "" for the module itself; all
            others are in eval mode.
        recorded: names of the modules in it on which somebody else's hooks are.
    """
    shapes = shapes_of(kind, construct, keywords)
    state = drawn_weights(shapes, randn.generator)
    return Instance(
        "module",
        {
            "made_by": f"{kind.__module__}.{kind.__qualname__}",
            "construct": list(construct),
            "keywords": keywords,
            "state": {name: value.to(randn.dtype) for name, value in state.items()},
            "dtype": str(randn.dtype).removeprefix("torch."),
            "training": list(training),
            "recorded": list(recorded),
        },
    )


def set_of(items: Iterable[Any]) -> Instance:
    """A set to hand to a function."""
    return Instance("set_of", {"items": list(items)})


@dataclass(frozen=True)
class Drawing:
    """How a function that draws is called in one case; the value is a `drawing.Picture`.

    Attributes:
        arguments: arguments of the function.
        keywords: further ones, by name.
        on_axes: also hand it matplotlib Axes to draw on, as ``ax``.
    """

    arguments: list[Any]
    keywords: dict[str, Any] = field(default_factory=dict)
    on_axes: bool = True


@dataclass(frozen=True)
class Chance:
    """What is right where chance decides, which is how often each outcome comes.

    Attributes:
        expects: from the arguments of the function, how often each outcome should come on average,
            a float tensor (N,); what can never come has a 0.
        tally: from a result, how often each outcome came, a tensor (N,). What is asked of it is a
            result of the reference's type and shape.
        outcomes: what each of the N is, in words, to follow "came 7 times".
    """

    expects: Callable[..., torch.Tensor]
    tally: Callable[[Any], torch.Tensor]
    outcomes: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """One use of the student's function or class.

    Attributes:
        label: what is special about the inputs, for the feedback ("two sentences, T=3, S=5").
        draw: makes the arguments of a function, its `Call`, a `Chain` of calls, the `Build` of a
            module, or the `Drawing` of a picture, so that every submission gets its own.
        dtype: what `Randn` draws, and of a module's parameters.
        strided: hand tensors over with gaps in memory.
        gradient: also compare the derivatives with respect to floating arguments and weights.
        raises: an error is what is right: the name of its type, "Exception" for any, then words that
            its message must hold.
        random: the result is left to chance, so the judge is given what the reference returns in
            eval mode, and the case is not used to recognise mistakes.
        chance: how often each outcome of a `random` result should come. Mistakes are recognised,
            too, by how often they come.
        memory: so many numbers new memory may not hold at any time while the function runs, unless 0.
    """

    label: str
    draw: Callable[[Randn], list[Any] | Call | Chain | Build | Drawing]
    dtype: torch.dtype = torch.float32
    strided: bool = False
    gradient: bool = False
    raises: tuple[str, ...] = ()
    random: bool = False
    chance: Chance | None = None
    memory: int = 0

    def in_float64(self) -> Case:
        return replace(self, label=f"{self.label}, float64", dtype=torch.float64)

    def with_gaps(self) -> Case:
        return replace(self, label=f"{self.label}, inputs with gaps in memory", strided=True)

    def with_gradients(self) -> Case:
        return replace(self, label=f"{self.label}, gradients", gradient=True)


@dataclass(frozen=True)
class Step:
    """Something a part must get right, worth points of its own; all its cases must pass.

    Attributes:
        asks: what is asked, as a phrase that can follow a tick or a cross.
        points: what the step earns.
        cases: the calls that decide it.
        judge: compares (expected, got) and returns None, or what differs, as a sentence will do.
        strict: also demand the exact type, dtype and untouched inputs.
    """

    asks: str
    points: float
    cases: tuple[Case, ...]
    judge: Judge = values_agree
    strict: bool = False


class Part:
    """One graded definition of an assignment.

    Args:
        signature: how it is called, with shapes; it begins with the name that students define.
        reference: the right answer.
        reads: where a lecture explains it, as (text, link relative to the assignment), if one does.
        may_call: earlier parts that this one may build on.
        disallowed: what this part may not use, where that differs from the assignment's other parts.

    Attributes:
        name: the name the student defines.
        steps: what earns points.
        mistakes: wrong answers with names; the first that does what the student's code did is reported.
        in_steps: the right answer in steps, of which mistakes take one in another way. It is one
            class, so that two mistakes can be made at once.
    """

    def __init__(
        self,
        signature: str,
        reference: Callable[..., Any],
        reads: tuple[str, str] = ("", ""),
        may_call: tuple[str, ...] = (),
        disallowed: tuple[str, ...] | None = None,
    ) -> None:
        self.name = signature.partition("(")[0]
        self.signature, self.reference, self.reads = signature, reference, reads
        self.may_call, self.disallowed = may_call, disallowed
        self.steps: list[Step] = []
        self.mistakes: list[Mistake] = []
        self.in_steps: type | None = None

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
        asks: str = MANNERS,
        judge: Judge = values_agree,
    ) -> Step:
        """Add the step that asks for what every tensor function should do, beside its numbers.

        Args:
            points: what the step earns.
            case: tried in float64, with gaps in memory, and with gradients.
            more: further cases of the same step, as they are.
            also: what else the step asks for, put before the rest.
            asks: the phrase, where a part has fewer manners or other words.
            judge: as in a `Step`, which is strict.
        """
        cases = (case.in_float64(), case.with_gaps(), case.with_gradients(), *more)
        return self.step(also + asks, points, *cases, judge=judge, strict=True)

    def mistake(
        self,
        name: str,
        message: str = "",
        costs: Step | tuple[Step, ...] = (),
        costs_more: str = "",
    ) -> Callable[[Answer], Answer]:
        """Give a whole wrong answer a name; its docstring is what the student reads, or ``message``.

        Wrong ways to take a single step stand together, see `mistakes_in`. The decorated function
        or class stays as it is. ``costs`` and ``costs_more`` are those of a `Mistake`.

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
            self.mistakes.append(Mistake.made_by(answer, name, sentence, costs, costs_more))
            return answer

        return remember

    def mistakes_in(
        self,
        step: Callable[..., Any],
        costs: Step | tuple[Step, ...] = (),
        of: type | None = None,
    ) -> Callable[[Group], Group]:
        """Give names to wrong ways to take one step: each function of the class is one of them.

        Args:
            step: the method whose place the functions take, of the right answer in steps, which is
                a `Steps` or a module.
            costs: steps of this part, see `Mistake`.
            of: the right answer, where it inherits the step.

        Raises:
            ValueError: as in `mistakes_of`; or the step is of another class than those before it;
                or a function's name says the same as an earlier mistake with another sentence, and
                @called does not say that this is meant.
        """
        base = of or class_of(step)
        if getattr(base, step.__name__, None) is not step:
            raise ValueError(f"{base.__name__} has no step `{step.__qualname__}`")
        self.in_steps = self.in_steps or base
        if base is not self.in_steps:
            raise ValueError(
                f"`{step.__qualname__}` is a step of {base.__name__}, and mistakes of {self.name} "
                f"are made in {self.in_steps.__name__}; for a step that is inherited, say whose it "
                "is with `of=`"
            )

        def remember(group: Group) -> Group:
            for function, made in mistakes_of(group, base, step, costs):
                meant = "called" in vars(function)
                for new in made:
                    message = {old.message for old in self.mistakes if old.name == new.name}
                    if message - {new.message} and not meant:
                        raise ValueError(
                            f"{self.name} has a mistake '{new.name}' that says something else: "
                            f"give {function.__qualname__} another name, or this one with @called"
                        )
                self.mistakes += made
            return group

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
    """

    name: str
    parts: tuple[Part, ...]
    disallowed: tuple[str, ...] = ()
    allowed_modules: tuple[str, ...] = ()

    def part(self, name: str) -> Part:
        for part in self.parts:
            if part.name == name:
                return part
        names = ", ".join(part.name for part in self.parts)
        raise KeyError(f"{self.name} has no part '{name}'; its parts are {names}")
