"""What answers to three parts have in common: a model in eval mode, hooks on it, and ways to leave a trace."""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from assignments.common.slow import each_word, mapped, mapped_at_once, weighed, weighed_at_once
from autograder.bank.edits import Answers
from autograder.checks.cases import Step
from course_utils.evaluation import evaluating
from course_utils.masks import causal_mask

Hooks = Iterable[tuple[nn.Module, str, Callable[..., Any]]]  # of a module, and of which kind

# ------------------------------------------------------------------ steps of the right answers


def refuse(fits: bool) -> None:
    if not fits:
        raise ValueError("there is no such place in the model, or in the text")


def checked(fits: bool, mode: AbstractContextManager) -> AbstractContextManager:
    """A context in which the model is in its mode, once the arguments have been checked."""
    refuse(fits)
    return mode


def within(context: AbstractContextManager, run: Callable[[], Tensor]) -> Tensor:
    with context:
        return run()


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


def walk(
    model: Any,
    x: Tensor,
    mask: Tensor | None,
    through: Callable[..., Tensor] = lambda layer, x, mask: layer(x, mask),
) -> list[Tensor]:
    """The stream before the first layer, and after each one."""
    found = [x]
    for layer in model.layers:
        found.append(through(layer, found[-1], mask))
    return found


# --------------------------------------------------------------------------- ways to go wrong


@contextmanager
def evaluating_but(model: nn.Module, leave: str, after: str = "all") -> Iterator[None]:
    """Eval mode that is left otherwise.

    Args:
        leave: the modes afterwards: "eval", "train", "one for all", or those that were "before".
        after: "all", or "success" if an error leaves eval mode on.
    """
    before = {module: module.training for module in model.modules()}
    model.eval()
    succeeds = False
    try:
        with torch.no_grad():
            yield
        succeeds = True
    finally:
        if after == "all" or succeeds:
            training = {"eval": False, "train": True}.get(leave, before[model])
            for module, was in before.items():
                module.training = was if leave == "before" else training


@contextmanager
def checked_inside(fits: bool, mode: AbstractContextManager) -> Iterator[None]:
    """The same mode, in which arguments are checked too late to leave the model alone."""
    with mode:
        refuse(fits)
        yield


def never_removed(hooks: Hooks) -> AbstractContextManager:
    registered(hooks)
    return nullcontext()


@contextmanager
def without_finally(hooks: Hooks) -> Iterator[None]:
    handles = registered(hooks)
    yield
    for handle in handles:
        handle.remove()


@contextmanager
def all_removed(hooks: Hooks) -> Iterator[None]:
    """Afterwards the hooks of others are gone as well."""
    hooks = list(hooks)
    registered(hooks)
    try:
        yield
    finally:
        for module, _, _ in hooks:
            module._forward_hooks.clear()
            module._forward_pre_hooks.clear()


NAMES = {
    one.__name__: one
    for one in (
        refuse, checked, within, registered, removed_afterwards, walk, evaluating_but, checked_inside, never_removed,
        without_finally, all_removed, evaluating, causal_mask, nullcontext, contextmanager,
    )
} | {"torch": torch, "nn": nn, "F": F}  # fmt: skip

# ------------------------------------------------------------- slips with hooks, modes and runs

# fmt: off
LEFT = (
    ("model left in eval mode", "eval", ("all",), (
        "Afterwards the whole model is in eval mode. Each module should be in the mode in which it was before; what "
        "has to be noted before `model.eval()`?"
    )),
    ("all parts in train mode afterwards", "train", ("all", "success"), (
        "Afterwards every module is in train mode, whatever it was before. Note the mode of each module before "
        "`model.eval()`, and give each its own back in a `finally`."
    )),
    ("the model's own mode given to all its parts", "one for all", ("all", "success"), (
        "Afterwards every module has the mode of the whole model. Somebody may train a model of which one layer stays "
        "in eval mode, so note the mode of each module, and give each its own back in a `finally`."
    )),
)  # of a mistake: its name, the modes that it leaves, after what, and what is said of it


def runs_and_answers(answers: Answers, costs: Step, manners: Step) -> None:
    """Give names to wrong ways through the model, to wrong answers, and to checks that come too late."""
    slip = answers.slip
    slip("mask forgotten", "def run(ids): return model.unembed(walk(model, model.embed(ids), None)[-1])", costs,
         "You call the layers without a mask, so words see what follows them. Each layer is called with the causal "
         "mask.")
    slip("no norm", "def run(ids): return walk(model, model.embed(ids), mask)[-1] @ model.embedding.weight.T", costs,
         "You leave out the last norm. `model.unembed` takes the norm of the stream first, and so does the model "
         "itself.")
    slip("stream for logits", "def run(ids): return walk(model, model.embed(ids), mask)[-1]", costs,
         "You return the last stream, (B, T, D). The logits are asked for, which `model.unembed` makes of it.")
    slip("probabilities for logits", "return within(entered, logits).{form}(dim=-1)", costs,
         "You return probabilities, or their logarithms. The raw logits are asked for, as the model gives them.",
         each={"form": ("softmax", "log_softmax")})
    slip("last position only", "return within(entered, logits)[:, -1]", costs,
         "You return the logits of the last position alone. All positions are asked for, (B, T, V).")
    for name, leave, after, message in LEFT:
        slip(name, f"entered = checked_inside(fits, evaluating_but(model, {leave!r}, {{after}}))", manners, message,
             each={"after": tuple(map(repr, after))})
    slip("left in eval mode after an error",
         "entered = checked_inside(fits, evaluating_but(model, 'before', 'success'))", manners,
         "Where there is an error, the model stays in eval mode, also where it is your own ValueError. Check the "
         "arguments before anything is changed, and put what has to happen in any case into a `finally`.")


def leaves_traces(answers: Answers, costs: Step) -> None:
    """Give names to the ways in which an answer to this part may leave traces in the model."""
    slip = answers.slip
    slip("run in train mode", "mode = nullcontext()", costs,
         "Your numbers are those of a model in train mode, where dropout acts. Look at a model in eval mode, "
         "`model.eval()`, and give every module its own mode back.")
    for name, leave, after, message in LEFT:
        slip(name, f"mode = evaluating_but(model, {leave!r}, {{after}})", costs, message,
             each={"after": tuple(map(repr, after))})
    slip("left in eval mode after an error", "mode = evaluating_but(model, 'before', 'success')", costs,
         "Where the model stops with an error, it stays in eval mode. What has to happen in any case stands in a "
         "`finally`.")
    slip("hook left", "hooked = never_removed", costs,
         "Your hook stays on the model, so whoever calls it next gets your change, too. Keep what the call that "
         "registers it returns, and `remove()` it.")
    slip("hook left after an error", "hooked = without_finally", costs,
         "Where the model stops with an error, your hook stays on it. Remove it in a `finally`.")
    slip("hooks of others removed", "hooked = all_removed", costs,
         "Afterwards the hooks that somebody else had put on the model are gone as well. Remove your own ones alone, "
         "by what the call that registers them returns.")
# fmt: on


# --------------------------------------------------- slow ways through the model, which are right


class Numbers:
    """A model's own steps, number by number."""

    @staticmethod
    def turned(x, base):
        def word(word, place):
            numbers = []
            for j in range(0, len(word), 2):
                angle = place / base ** (j / len(word))
                cos, sin = math.cos(angle), math.sin(angle)
                numbers += [word[j] * cos - word[j + 1] * sin, word[j] * sin + word[j + 1] * cos]
            return torch.stack(numbers)

        words = [word(row, place) for head in x.flatten(0, 1) for place, row in enumerate(head)]
        return torch.stack(words).view(x.shape)

    @staticmethod
    def norm(norm, x):
        def word(word):
            total = sum(word[j] * word[j] for j in range(len(word)))
            root = (total / len(word) + norm.eps) ** 0.5
            return torch.stack([word[j] / root * norm.weight[j] for j in range(len(word))])

        return each_word(word, x)

    @staticmethod
    def linear(layer, x):
        return each_word(lambda word: mapped(layer, word), x)

    @staticmethod
    def embed(table, ids):
        words = [
            [table.weight[token, j] for j in range(table.embedding_dim)]
            for row in ids
            for token in row
        ]
        return torch.stack([torch.stack(word) for word in words]).view(*ids.shape, -1)

    @staticmethod
    def unembed(table, x):
        def word(word):
            logits = []
            for v in range(table.num_embeddings):
                total = word.new_zeros(())
                for j in range(len(word)):
                    total = total + table.weight[v, j] * word[j]
                logits.append(total)
            return torch.stack(logits)

        return each_word(word, x)

    @staticmethod
    def attend(q, k, v, seen):
        sentences = (zip(*one, strict=True) for one in zip(q, k, v, strict=True))
        return torch.stack(
            [torch.stack([weighed(*head, seen)[0] for head in heads]) for heads in sentences]
        )


class Products:
    """A model's own steps, everything with everything."""

    linear = staticmethod(mapped_at_once)

    @staticmethod
    def turned(x, base):
        T, d_k = x.shape[-2:]
        speeds = base ** (torch.arange(0, d_k, 2).double() / d_k)
        angles = torch.arange(T).double().unsqueeze(-1) / speeds  # (T, d_k / 2)
        cos, sin = angles.cos(), angles.sin()
        turn = torch.stack([cos, -sin, sin, cos], -1).unflatten(-1, (2, 2))  # of each pair
        return (turn.to(x.dtype) * x.unflatten(-1, (-1, 1, 2))).sum(-1).flatten(-2)

    @staticmethod
    def norm(norm, x):
        square = torch.einsum("...i,...i->...", x, x).unsqueeze(-1) / x.shape[-1]
        return x * (square + norm.eps) ** -0.5 * norm.weight

    @staticmethod
    def embed(table, ids):
        if ids.max() >= table.num_embeddings:
            raise IndexError(f"there is no word {ids.max()}")
        hot = (ids.unsqueeze(-1) == torch.arange(table.num_embeddings)).to(table.weight.dtype)
        return torch.einsum("btv,vd->btd", hot, table.weight)

    @staticmethod
    def unembed(table, x):
        return (x.unsqueeze(-2) * table.weight).sum(-1)

    @staticmethod
    def attend(q, k, v, seen):
        return weighed_at_once(q, k, v, seen)[0]


def after(way, layer, x, change=lambda context: context):
    """The stream after a layer; what its heads give, (B, H, T, d_k), may be changed."""
    T, H = x.shape[1], layer.num_heads
    normed = way.norm(layer.norm1, x)
    q, k, v = (
        way.linear(each, normed).unflatten(-1, (H, -1)).transpose(1, 2)
        for each in (layer.w_q, layer.w_k, layer.w_v)
    )
    q, k = way.turned(q, layer.base), way.turned(k, layer.base)
    context = change(way.attend(q, k, v, torch.ones(T, T, dtype=torch.bool).tril()))
    x = x + way.linear(layer.w_o, context.transpose(1, 2).flatten(2))
    normed, network = way.norm(layer.norm2, x), layer.feed_forward
    gate = way.linear(network.w_gate, normed)
    return x + way.linear(network.w_down, gate * gate.sigmoid() * way.linear(network.w_up, normed))


def logits_of(way, model, x):
    return way.unembed(model.embedding, way.norm(model.norm, x))


SLOW = {"after": after, "logits_of": logits_of, "Numbers": Numbers, "Products": Products}
