"""What a check asks: its steps, their cases, and what is drawn for one anew for each submission."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.arrays import Array
from autograder.checks.compare import values_agree
from autograder.checks.problem import Judgement
from autograder.probe.wire import GIVEN, RETURNED, Instance

if TYPE_CHECKING:
    import torch
    from torch import nn

Judge = Callable[[Any, Any], Judgement]
Shapes = list[tuple[str, tuple[int, ...]]]


class Randn:
    """Draws normal numbers as tensors in the dtype that a case asks for: ``randn(B, T, D)``.

    Attributes:
        generator: the seeded generator, for whatever else is drawn (``torch.randint`` and so on).
        dtype: of the numbers; they are drawn in float64, so that both dtypes see the same ones.
    """

    def __init__(self, seed: int, dtype: str = "float32") -> None:
        import torch  # here, since a part of NumPy's draws none

        self.generator = torch.Generator().manual_seed(seed)
        self.dtype: torch.dtype = getattr(torch, dtype)

    def __call__(self, *shape: int) -> torch.Tensor:
        import torch

        return torch.randn(*shape, generator=self.generator, dtype=torch.float64).to(self.dtype)


@dataclass(frozen=True)
class Build:
    """How a module is built, loaded and used in one case.

    Attributes:
        construct, keywords: arguments of the constructor.
        arguments: arguments of the method.
        method: the method to call; None looks at what the module holds when it is new.
        state: weights by name. Weights that stand in the reference and not here are drawn.
        fitted: a module whose weights have other lengths is used all the same. What is too long for them
            is cut, and what is missing is zero, so only what is zero in ``state`` may be lost.
        training: in train mode; otherwise in eval mode.
        rested: the method was called once in eval mode before, which should leave no trace.
        before: arguments of another call made before, which should leave no trace; empty for none.
        before_method: the method that was called then; None is the same.
        dtype: of the module's parameters; None is the case's own.
        times: how often the method is called; above one, the value is the list of all results.
    """

    construct: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    arguments: list[Any] = field(default_factory=list)
    method: str | None = "forward"
    state: dict[str, torch.Tensor] = field(default_factory=dict)
    fitted: bool = False
    training: bool = False
    rested: bool = False
    before: list[Any] = field(default_factory=list)
    before_method: str | None = None
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

    expects: Callable[..., torch.Tensor | Array]
    tally: Callable[[Any], torch.Tensor | Array]
    outcomes: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """One use of the student's function or class.

    Attributes:
        label: what is special about the inputs, for the feedback ("two sentences, T=3, S=5").
        draw: makes the arguments of a function, its `Call`, a `Chain` of calls, the `Build` of a
            module, or the `Drawing` of a picture, from what it is given: a `Randn`, which draws tensors,
            or where it calls that ``rng``, a Generator of NumPy's.
        dtype: what `Randn` draws, and of a module's parameters.
        strided: hand arrays over with gaps in memory.
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
    draw: Callable[[Any], list[Any] | Call | Chain | Build | Drawing]
    dtype: str = "float32"
    strided: bool = False
    gradient: bool = False
    raises: tuple[str, ...] = ()
    random: bool = False
    chance: Chance | None = None
    memory: int = 0

    @property
    def is_numpys(self) -> bool:
        """Whether it is drawn by a Generator of NumPy's."""
        return "rng" in _parameters(self.draw)

    def source(self, seed: int) -> Randn | np.random.Generator:
        """What it is drawn from, in the state that belongs to a seed."""
        return np.random.default_rng(seed) if self.is_numpys else Randn(seed, self.dtype)

    def in_float64(self) -> Case:
        return replace(self, label=f"{self.label}, float64", dtype="float64")

    def with_gaps(self) -> Case:
        return replace(self, label=f"{self.label}, inputs with gaps in memory", strided=True)

    def with_gradients(self) -> Case:
        return replace(self, label=f"{self.label}, gradients", gradient=True)


@cache
def _parameters(draw: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(draw).parameters)


@dataclass(frozen=True, eq=False)  # each is itself, whatever another asks
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


@dataclass(frozen=True)
class Recipe:
    """How a module is made; two are the same if they read the same, for not all in them has a hash.

    Attributes:
        reference: its class.
        written: the arguments as Python writes them.
        construct, keywords: the arguments of the constructor.
    """

    reference: Callable[..., Any]
    written: str
    construct: Sequence[Any] = field(compare=False)
    keywords: dict[str, Any] = field(compare=False)

    @classmethod
    def of(
        cls, reference: Callable[..., Any], construct: Sequence[Any], keywords: dict[str, Any]
    ) -> Recipe:
        return cls(reference, repr((tuple(construct), keywords)), construct, keywords)

    def make(self) -> nn.Module:
        return self.reference(*self.construct, **self.keywords)


def shapes_of(
    reference: Callable[..., Any], construct: Sequence[Any], keywords: dict[str, Any]
) -> Shapes:
    """Names and shapes of a module's parameters; it is built once for all submissions."""
    return _shapes_in(Recipe.of(reference, construct, keywords))


@lru_cache(maxsize=256)
def _shapes_in(recipe: Recipe) -> Shapes:
    named = recipe.make().named_parameters()
    return [(name, tuple(parameter.shape)) for name, parameter in named]


def drawn_weights(shapes: Shapes, generator: torch.Generator) -> dict[str, torch.Tensor]:
    """Weights for every parameter, of a size at which no layer is silent or saturated."""
    import torch

    state = {}
    for name, shape in shapes:
        values = torch.randn(shape, generator=generator)
        if len(shape) > 1:
            values *= shape[-1] ** -0.5
        elif name.endswith("weight"):
            values = 1 + 0.4 * values
        else:
            values *= 0.5
        state[name] = values
    return state
