"""Wrong answers that people give: what they are called, what they say, and how they are made.

The right answer is written in steps, as a `Steps` or a module. A mistake takes one of them in another
way, and two that take different ones can be made at once.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from autograder.verdict.check import Step

Way = TypeVar("Way", bound=Callable[..., Any])


class Steps:
    """A function cut into its steps, so that a mistake can take one of them in another way.

    A subclass defines ``answer``, which takes the function's arguments and calls the steps, and a
    method for each step.
    """

    def answer(self, *arguments: Any) -> Any:
        raise NotImplementedError

    @classmethod
    def function(cls) -> Callable[..., Any]:
        """The function itself; its name and sentence are those of the class."""

        def call(*arguments: Any, **keywords: Any) -> Any:
            return cls().answer(*arguments, **keywords)

        call.__name__, call.__doc__ = cls.__name__, vars(cls).get("__doc__")
        return call


@dataclass(frozen=True)
class Told:
    """What the decorators below say of one wrong way to take a step."""

    called: str = ""
    says: str = ""
    costs: tuple[Step, ...] | None = None
    costs_more: str = ""
    variants: tuple[dict[str, Any], ...] = ()


def _telling(**what: Any) -> Callable[[Way], Way]:
    def tell(way: Way) -> Way:
        way.told = replace(getattr(way, "told", Told()), **what)  # type: ignore[attr-defined]
        return way

    return tell


def called(name: str) -> Callable[[Way], Way]:
    """The mistake's name, where it is not the method's, with blanks."""
    return _telling(called=name)


def says(sentence: str) -> Callable[[Way], Way]:
    """What the student reads, where several mistakes share it."""
    return _telling(says=sentence)


def costs(*steps: Step) -> Callable[[Way], Way]:
    """The steps that it costs, where they are not those of the mistakes beside it."""
    return _telling(costs=steps)


def costs_more(reason: str) -> Callable[[Way], Way]:
    """Why it may cost more than half of the part's points."""
    return _telling(costs_more=reason)


def variants(names: str, values: Iterable[Any]) -> Callable[[Way], Way]:
    """The same mistake in several forms: arguments of the method, and what they are in each.

    Args:
        names: of the arguments, as in ``"power"`` or ``"left, right"``.
        values: one for each form; a tuple where there are several names.
    """
    keys = [name.strip() for name in names.split(",")]
    rows = [(value,) if len(keys) == 1 else value for value in values]
    return _telling(variants=tuple(dict(zip(keys, row, strict=True)) for row in rows))


def taking(
    right: type, step: Callable[..., Any], **values: Any
) -> Callable[[Callable[..., Any]], type]:
    """Make a wrong answer of a method: it takes this step so, and all others as the right one does.

    Args:
        right: the right answer in steps.
        step: the method of ``right`` whose place the decorated one takes.
        values: arguments of the decorated one that the step does not have.
    """

    def make(way: Callable[..., Any]) -> type:
        def taken(*arguments: Any, **keywords: Any) -> Any:
            return way(*arguments, **keywords, **values)

        changed = {step.__name__: taken if values else way, "__doc__": way.__doc__}
        return type(way.__name__, (right,), changed)

    return make


def owner_of(step: Callable[..., Any]) -> type:
    """The class whose method this is.

    Raises:
        TypeError: it is no method of a class at the top of a module.
    """
    name, _, method = step.__qualname__.rpartition(".")
    owner = getattr(sys.modules.get(step.__module__), name, None)
    if not inspect.isclass(owner) or not method:
        raise TypeError(
            f"{step.__qualname__} is no step: expected a method of the right answer's class, such as "
            "Weighing.share, and where it is inherited also of=Weighing"
        )
    return owner


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that people give, and what to tell them.

    Attributes:
        name: the mistake in a few words, for the class report.
        answer: an implementation that makes the mistake.
        says: what the student reads: what happened, and what to do.
        in_steps: the class in which the mistake overrides a step, if it was made so.
        costs: the steps that are about it. Others are earned by results that are right but for
            this mistake; without any, every step that it spoils is lost.
        costs_more: why it may cost more than half of the part's points.
    """

    name: str
    answer: Callable[..., Any]
    says: str
    in_steps: type | None = None
    costs: tuple[Step, ...] = ()
    costs_more: str = ""

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
