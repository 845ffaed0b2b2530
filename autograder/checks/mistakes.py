"""Wrong answers with a name: a right answer cut into steps, and other ways to take one of them.

The right answer stands first, each of its steps a method. Wrong ways to take one step stand
together in a class below it, where a function's name is the mistake's, with blanks, and its
docstring is what its author reads:

    class Weighing(Steps):
        def answer(self, x):
            return self.share(self.scale(x @ x.T, x))
        ...

    @weights.mistakes_in(Weighing.scale, costs=EXACT)
    class WeightsScale:
        @variants("power", (0.5, 1.0))
        def divided_by_the_number_of_words(self, scores, x, power):
            \"\"\"Your numbers match scores divided by the number of words, or by its root.\"\"\"
            return scores / len(x) ** power

Small decorators say what a plain function cannot: `called`, `says`, `costs`, `costs_more` and
`variants`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from autograder.checks.cases import Step

Function = TypeVar("Function", bound=Callable[..., Any])

# whole sentences: no small letter opens them, unless it is a name such as `x` or `w_o`, and a mark ends them
WHOLE = re.compile(r"(?![a-z]{2,}\b).+[.?!…]\)?", re.DOTALL)


class Steps:
    """A function cut into its steps, so that a mistake can take one of them in another way.

    A subclass defines ``answer``, which takes the function's arguments and calls the steps, and a
    method for each step. Beside the right one, every mistake is a subclass that overrides a step;
    two that override different ones can be made at once.
    """

    def answer(self, *arguments: Any) -> Any:
        raise NotImplementedError

    @classmethod
    def function(cls) -> Callable[..., Any]:
        """The function itself, under the name of the class."""

        def call(*arguments: Any, **keywords: Any) -> Any:
            return cls().answer(*arguments, **keywords)

        call.__name__ = cls.__name__
        return call


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that people give, and what to tell them.

    Attributes:
        name: the mistake in a few words, for the class report.
        answer: an implementation that makes the mistake.
        message: what the student reads: what happened, and what to do.
        in_steps: the class in which the mistake overrides a step, if it was made so.
        costs: the steps of the part that are about it. Others are earned by results that are right
            but for this mistake; without any, the first step that it spoils is lost.
        costs_more: why it may cost more than half of the part, if it does; without ``costs``, it
            costs every step that it spoils.
    """

    name: str
    answer: Callable[..., Any]
    message: str
    in_steps: type | None = None
    costs: tuple[Step, ...] = ()
    costs_more: str = ""

    def __post_init__(self) -> None:
        if not WHOLE.fullmatch(self.message):
            raise ValueError(
                f"what is said of the mistake '{self.name}' should be whole sentences, which begin with a "
                f"capital and end with a mark, but it is: {self.message}"
            )

    @classmethod
    def made_by(
        cls,
        wrong: Callable[..., Any],
        name: str,
        message: str,
        costs: Step | tuple[Step, ...] = (),
        costs_more: str = "",
    ) -> Mistake:
        """The mistake that a wrong function or class makes; of a `Steps`, its function is asked."""
        in_steps = wrong if isinstance(wrong, type) else None
        if in_steps and issubclass(in_steps, Steps):
            wrong = in_steps.function()
        steps = costs if isinstance(costs, tuple) else (costs,)
        return cls(name, wrong, message, in_steps, steps, costs_more)

    @property
    def combines(self) -> bool:
        """Whether it can be made at once with another."""
        return self.in_steps is not None

    def together_with(self, other: Mistake) -> Callable[..., Any] | None:
        """An implementation that makes both mistakes; None where they touch the same step."""
        if self.in_steps is None or other.in_steps is None:
            return None
        common = next(kind for kind in self.in_steps.__mro__ if issubclass(other.in_steps, kind))
        changed, changed_too = _changed(self.in_steps, common), _changed(other.in_steps, common)
        if not changed or not changed_too or changed & changed_too:
            return None
        both = type("Both", (self.in_steps, other.in_steps), {})
        return both.function() if issubclass(both, Steps) else both


def _changed(kind: type, base: type) -> set[str]:
    """Names of the methods that a class and its parents below ``base`` define anew."""
    found: set[str] = set()
    for parent in kind.__mro__[: kind.__mro__.index(base)]:
        found |= {name for name, value in vars(parent).items() if callable(value)}
    return found


def called(name: str) -> Callable[[Function], Function]:
    """Give a mistake a name that is no identifier, or that another sentence has already.

    Of a mistake with `variants`, names and sentences may hold their values in braces: ``{axis}``.
    """
    return _noted("called", name)


def message(sentence: str) -> Callable[[Function], Function]:
    """Give a mistake a sentence that has a name of its own, in place of a docstring."""
    return _noted("message", sentence)


def costs(*steps: Step) -> Callable[[Function], Function]:
    """Give a mistake other steps that are about it than those its class costs; or none."""
    return _noted("costs", steps)


def costs_more(reason: str) -> Callable[[Function], Function]:
    """Say why a mistake may cost more than half of its part."""
    return _noted("costs_more", reason)


def variants(parameters: str, values: Iterable[Any]) -> Callable[[Function], Function]:
    """Make a mistake of each value, all alike but for these last parameters of the function.

    Of several parameters, with commas between their names, a value is a tuple.
    """
    names = parameters.split(", ")
    each = [dict(zip(names, one if names[1:] else [one], strict=True)) for one in values]
    return _noted("variants", each)


def _noted(what: str, value: Any) -> Callable[[Function], Function]:
    def note(function: Function) -> Function:
        if not inspect.isfunction(function):
            raise TypeError(
                f"`{what}` is said of a function in a class of mistakes, and not of {function!r}"
            )
        vars(function)[what] = value
        return function

    return note


def mistakes_of(
    group: type, base: type, step: Callable[..., Any], usual: Step | tuple[Step, ...]
) -> Iterator[tuple[Callable[..., Any], list[Mistake]]]:
    """Make mistakes of the functions of a class, each with its own: one, or its variants.

    Args:
        group: the class; each of its functions takes the place of the step.
        base: the right answer in steps: a `Steps`, or a module.
        step: the method of ``base`` that is taken in other ways.
        usual: the steps of the part that the mistakes cost, where they do not say otherwise.

    Raises:
        ValueError: something in the class is no way to take the step, or has nothing to say.
    """
    place = step.__name__
    for own, function in vars(group).items():
        if own.startswith("__"):
            continue
        where = f"{group.__name__}.{own}"
        if not inspect.isfunction(function):
            raise ValueError(f"{where} is no function, so it cannot take the place of `{place}`")
        if "__class__" in function.__code__.co_freevars:
            raise ValueError(
                f"{where} calls super(), which is not {base.__name__} where it is written: "
                f"say `{base.__name__}.{place}(self, …)`"
            )
        noted = vars(function)
        sentence = noted.get("message") or plain(function.__doc__)
        if not sentence:
            raise ValueError(
                f"{where} has nothing to say: give it a docstring, which its author will read, "
                "or @says"
            )
        name = noted.get("called") or own.replace("_", " ")
        made = [
            Mistake.made_by(
                type(own, (base,), {place: _with(values, function)}),
                name.format(**values) if values else name,
                sentence.format(**values) if values else sentence,
                noted.get("costs", usual),
                noted.get("costs_more", ""),
            )
            for values in noted.get("variants", [{}])
        ]
        yield function, made


def class_of(step: Callable[..., Any]) -> type:
    """The class of a module in whose body a method is defined; a `ValueError` if there is none."""
    name, _, own = step.__qualname__.rpartition(".")
    found = vars(sys.modules[step.__module__]).get(name)
    if not isinstance(found, type) or vars(found).get(own) is not step:
        raise ValueError(f"`{step.__qualname__}` is no method of a class in {step.__module__}")
    return found


def _with(values: dict[str, Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with values for some of its parameters."""
    if not values:
        return function
    unknown = values.keys() - inspect.signature(function).parameters.keys()
    if unknown:
        raise ValueError(f"{function.__qualname__} takes no {' and no '.join(sorted(unknown))}")

    def step(*arguments: Any, **keywords: Any) -> Any:
        return function(*arguments, **keywords, **values)

    return step


def plain(docstring: str | None) -> str:
    """A docstring as one line of text."""
    return " ".join(inspect.cleandoc(docstring or "").split())
