"""What three parts have in common: a model in eval mode, hooks on it, and ways to leave a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn

from autograder.checks.cases import Step
from autograder.checks.check import Part
from autograder.checks.mistakes import Steps, called, message, plain, variants
from course_utils.evaluation import evaluating
from course_utils.masks import causal_mask

Hooks = Iterable[tuple[nn.Module, str, Callable[..., Any]]]


class Looking(Steps):
    """The steps that every look into a model takes."""

    def mode(self, model: nn.Module) -> AbstractContextManager:
        return evaluating(model)

    @contextmanager
    def entered(self, model: nn.Module, check: Callable[[], Any]) -> Iterator[None]:
        """A context in which arguments are checked, and the model is in its mode."""
        check()
        with self.mode(model):
            yield

    def run(self, model: nn.Module, token_ids: torch.Tensor) -> torch.Tensor:
        return model(token_ids)

    def form(self, logits: torch.Tensor) -> torch.Tensor:
        """What is given back of the logits."""
        return logits

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
def evaluating_but(
    leave: Callable[[nn.Module, dict], Any], model: nn.Module, after: str = "all"
) -> Iterator[None]:
    """Eval mode that is left otherwise, by a function of the model and of all modes before.

    Args:
        after: "all", or "success" if an error leaves eval mode on.
    """
    modes = {module: module.training for module in model.modules()}
    model.eval()
    stopped = True
    try:
        with torch.no_grad():
            yield
        stopped = False
    finally:
        if after == "all" or not stopped:
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
    @variants("after", ("all", "success"))
    def train(self, model, after):
        """Afterwards every module is in train mode, whatever it was before. Note the mode of each module
        before `model.eval()`, and give each its own back in a `finally`."""
        return evaluating_but(lambda model, modes: model.train(), model, after)

    @called("the model's own mode given to all its parts")
    @variants("after", ("all", "success"))
    def one_for_all(self, model, after):
        """Afterwards every module has the mode of the whole model. Somebody may train a model of which one
        layer stays in eval mode, so note the mode of each module, and give each its own back in a
        `finally`."""
        return evaluating_but(lambda model, modes: model.train(modes[model]), model, after)

    @called("left in eval mode after an error")
    def without_finally(self, model):
        """Where the model stops with an error, it stays in eval mode. What has to happen in any case
        stands in a `finally`."""
        return evaluating_but(give_back, model, "success")


def give_back(model: nn.Module, modes: dict[nn.Module, bool]) -> None:
    for module, training in modes.items():
        module.training = training


@contextmanager
def checked_inside(mode: AbstractContextManager, check: Callable[[], Any]) -> Iterator[None]:
    """The same mode, in which arguments are checked too late to leave the model alone."""
    with mode:
        check()
        yield


class ModesBeforeTheCheck:
    """The same ways, of those who check the arguments when the mode is changed already."""

    @called("model left in eval mode")
    @message(plain(Modes.left.__doc__))
    def left(self, model, check):
        return checked_inside(Modes.left(self, model), check)

    @called("all parts in train mode afterwards")
    @message(plain(Modes.train.__doc__))
    @variants("after", ("all", "success"))
    def train(self, model, check, after):
        return checked_inside(Modes.train(self, model, after), check)

    @called("the model's own mode given to all its parts")
    @message(plain(Modes.one_for_all.__doc__))
    @variants("after", ("all", "success"))
    def one_for_all(self, model, check, after):
        return checked_inside(Modes.one_for_all(self, model, after), check)

    @called("left in eval mode after an error")
    def without_finally(self, model, check):
        """Where there is an error, the model stays in eval mode, also where it is your own ValueError.
        Check the arguments before anything is changed, and put what has to happen in any case into a
        `finally`."""
        return checked_inside(Modes.without_finally(self, model), check)


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


def last_stream(model: Any, token_ids: torch.Tensor, masked: bool = True) -> torch.Tensor:
    """The stream after the last layer, (B, T, D), layer by layer."""
    x = model.embed(token_ids)
    for layer in model.layers:
        x = layer(x, causal_mask(token_ids.shape[1]) if masked else None)
    return x


class Runs:
    """Wrong ways to go through the layers by oneself."""

    @called("mask forgotten")
    def unmasked(self, model, token_ids):
        """You call the layers without a mask, so words see what follows them. Each layer is called with
        the causal mask."""
        return model.unembed(last_stream(model, token_ids, masked=False))

    @called("no norm")
    def raw(self, model, token_ids):
        """You leave out the last norm. `model.unembed` takes the norm of the stream first, and so does the
        model itself."""
        return last_stream(model, token_ids) @ model.embedding.weight.T

    @called("stream for logits")
    def stream(self, model, token_ids):
        """You return the last stream, (B, T, D). The logits are asked for, which `model.unembed` makes of
        it."""
        return last_stream(model, token_ids)


class Forms:
    """Something else that is given back instead of the logits."""

    @called("probabilities for logits")
    @variants("logs", (False, True))
    def probabilities(self, logits, logs):
        """You return probabilities, or their logarithms. The raw logits are asked for, as the model gives
        them."""
        return logits.log_softmax(dim=-1) if logs else logits.softmax(dim=-1)

    @called("last position only")
    def at_the_end(self, logits):
        """You return the logits of the last position alone. All positions are asked for, (B, T, V)."""
        return logits[:, -1]


def runs_and_answers(part: Part, base: type[Looking], costs: Step, manners: Step) -> None:
    """Give names to wrong ways through the model, to wrong answers, and to checks that come too late."""
    part.mistakes_in(Looking.run, costs=costs, of=base)(Runs)
    part.mistakes_in(Looking.form, costs=costs, of=base)(Forms)
    part.mistakes_in(Looking.entered, costs=manners, of=base)(ModesBeforeTheCheck)


def leaves_traces(part: Part, base: type[Looking], costs: Step) -> None:
    """Give names to the ways in which an answer to this part may leave traces in the model."""
    part.mistakes_in(Looking.mode, costs=costs, of=base)(Modes)
    part.mistakes_in(Looking.hooked, costs=costs, of=base)(Leaving)
