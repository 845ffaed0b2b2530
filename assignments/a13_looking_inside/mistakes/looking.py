"""What three parts have in common: a model in eval mode, hooks on it, and ways to leave a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn

from autograder.verdict.check import Part, Step
from autograder.verdict.mistakes import Steps, called
from course_utils.evaluation import evaluating

Hooks = Iterable[tuple[nn.Module, str, Callable[..., Any]]]


class Looking(Steps):
    """The steps that every look into a model takes."""

    def mode(self, model: nn.Module) -> AbstractContextManager:
        return evaluating(model)

    def hooked(self, hooks: Hooks) -> AbstractContextManager:
        """A context in which these hooks, each with its module and kind, are on."""
        return removed_afterwards(hooks)


def registered(hooks: Hooks) -> list[Any]:
    return [getattr(module, f"register_{kind}_hook")(hook) for module, kind, hook in hooks]


@contextmanager
def removed_afterwards(hooks: Hooks) -> Iterator[None]:
    handles = registered(hooks)
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def evaluating_but(leave: Callable[[nn.Module, dict], Any], model: nn.Module) -> Iterator[None]:
    """Eval mode that is left otherwise, by a function of the model and of all modes before."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    with torch.no_grad():
        try:
            yield
        finally:
            leave(model, modes)


class Modes:
    """Wrong ways to be in eval mode for a while."""

    @called("run in train mode")
    def not_at_all(self, model):
        """Your numbers are those of a model in train mode, where dropout acts. Look at a model in eval
        mode, `model.eval()`, and give every module its own mode back."""
        return nullcontext()

    @called("model left in eval mode")
    def left(self, model):
        """Afterwards the whole model is in eval mode. Each module should be in the mode in which it was
        before; what has to be noted before `model.eval()`?"""
        return evaluating_but(lambda model, modes: None, model)

    @called("all parts in train mode afterwards")
    def train(self, model):
        """Afterwards every module is in train mode, whatever it was before. Note the mode of each module
        before `model.eval()`."""
        return evaluating_but(lambda model, modes: model.train(), model)

    @called("the model's own mode given to all its parts")
    def one_for_all(self, model):
        """Afterwards every module has the mode of the whole model. Somebody may train a model of which one
        layer stays in eval mode, so note the mode of each module."""
        return evaluating_but(lambda model, modes: model.train(modes[model]), model)

    @called("left in eval mode after an error")
    @contextmanager
    def without_finally(self, model):
        """Where the model stops with an error, it stays in eval mode. What has to happen in any case
        stands in a `finally`."""
        modes = {module: module.training for module in model.modules()}
        model.eval()
        with torch.no_grad():
            yield
        for module, training in modes.items():
            module.training = training


class Leaving:
    """Wrong ways to have hooks on a model for a while."""

    @called("hook left")
    def never_removed(self, hooks):
        """Your hook stays on the model, so whoever calls it next gets your change, too. Keep what the call
        that registers it returns, and `remove()` it."""
        registered(hooks)
        return nullcontext()

    @called("hook left after an error")
    @contextmanager
    def without_finally(self, hooks):
        """Where the model stops with an error, your hook stays on it. Remove it in a `finally`."""
        handles = registered(hooks)
        yield
        for handle in handles:
            handle.remove()

    @called("hooks of others removed")
    @contextmanager
    def all_of_them(self, hooks):
        """Afterwards the hooks that somebody else had put on the model are gone as well. Remove your own
        ones alone, by what the call that registers them returns."""
        hooks = list(hooks)
        registered(hooks)
        try:
            yield
        finally:
            for module, _, _ in hooks:
                module._forward_hooks.clear()
                module._forward_pre_hooks.clear()


def leaves_traces(part: Part, base: type[Looking], costs: Step) -> None:
    """Give names to the ways in which an answer to this part may leave traces in the model."""
    part.mistakes_in(Looking.mode, costs=costs, of=base)(Modes)
    part.mistakes_in(Looking.hooked, costs=costs, of=base)(Leaving)
