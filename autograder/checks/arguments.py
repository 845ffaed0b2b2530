"""Mistakes that nobody need write down: an argument that is not used, not handed on, or turned round.

Of each argument with a default there is an answer that takes the default whatever it is given, and of
each rate of dropout one that drops what should be kept. Of each module inside a module, there is one
that is made with a default of its own class.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from autograder.arrays import is_module_class
from autograder.checks.cases import Build
from autograder.checks.check import Part
from autograder.checks.drawn_cases import defaults_of
from autograder.checks.mistakes import Mistake

TAKEN = (
    "Whatever is given as `{argument}`, your results are those with its default, {default!r}. Where "
    "does your code read the argument, and is it the argument that it reads there?"
)
KEPT = (
    "Your results are those with 1 − `{argument}` in place of `{argument}`, so what should be kept is "
    "dropped. Does the function that you call ask for the share that is dropped, or that is kept?"
)
NOT_HANDED_ON = (
    "`{child}` works with {argument} = {default!r}, which is the default of {kind}, whatever your own "
    "`{argument}` is. Hand it on where you make `{child}`."
)


@lru_cache(maxsize=64)
def mistakes_about_arguments(part: Part) -> tuple[Mistake, ...]:
    """Wrong answers made of the reference, by taking defaults for what is given."""
    reference = part.reference
    defaults = defaults_of(reference)
    made = [
        Mistake(
            f"`{name}` taken for its default",
            _with_other(reference, name, _always(default)),
            TAKEN.format(argument=name, default=default),
        )
        for name, default in defaults.items()
    ]
    made += [
        Mistake(
            f"`{name}` taken for the share that is kept",
            _with_other(reference, name, lambda rate: 1 - rate),
            KEPT.format(argument=name),
        )
        for name in defaults
        if name.startswith("dropout")
    ]
    if is_module_class(reference):
        own = inspect.signature(reference).parameters
        made += [
            Mistake(
                f"`{name}` not handed on to `{child}`",
                _with_child_of_its_own(reference, child, name, default),
                NOT_HANDED_ON.format(
                    child=child, argument=name, default=default, kind=kind.__name__
                ),
            )
            for child, kind in _children(part, reference).items()
            for name, default in defaults_of(kind).items()
            if name in own
        ]
    return tuple(made)


def _always(value: Any) -> Callable[[Any], Any]:
    return lambda _: value


def _with_other(
    reference: Callable[..., Any], name: str, change: Callable[[Any], Any]
) -> Callable[..., Any]:
    """The reference, for which an argument is always something else than what is given."""
    signature = inspect.signature(reference)

    def changed(given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        return {**bound.arguments, name: change(bound.arguments[name])}

    if not isinstance(reference, type):
        return lambda *given, **named: reference(**changed(given, named))

    class Changing(reference):  # type: ignore[misc, valid-type]
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(**changed(given, named))

    return Changing


def _with_child_of_its_own(reference: type[Any], child: str, name: str, default: Any) -> type[Any]:
    """The reference, one of whose modules is made as if an argument had this value."""
    changing = _with_other(reference, name, _always(default))

    class Untold(reference):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            setattr(self, child, getattr(changing(*given, **named), child))

    return Untold


def _children(part: Part, reference: type[Any]) -> dict[str, type[Any]]:
    """The modules that the part's module holds in any of its cases, with their classes."""
    from torch import nn  # here, since only modules need it

    found: dict[str, type[Any]] = {}
    for case in (case for step in part.steps for case in step.cases):
        drawn = None if case.raises else case.draw(case.source(0))
        if isinstance(drawn, Build):
            for name, module in reference(*drawn.construct, **drawn.keywords).named_children():
                for each in module if isinstance(module, nn.ModuleList) else (module,):
                    found[name] = type(each)
    return found
