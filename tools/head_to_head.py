"""How our answers fare with the tests of another course: who lets how many wrong ones pass.

python -m tools.head_to_head           measure, and write the section of docs/grading.md
python -m tools.head_to_head --print   only say it

The tests are those of TorchCode, from the package torch-judge, which the course does not need for
anything else.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from importlib import import_module, metadata
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from autograder.bank.measure import bank_of, ours_may_answer, verdict_on
from autograder.checks.check import Part
from autograder.checks.course import load
from tools.accuracy import PAGE, with_section

HEADING = "Beside the tests of another course"
MISSING = """\
The package torch-judge is not installed. It holds the tests of TorchCode, and nothing else of the
course needs it, so put it into an environment of its own, one that sees the course's packages:
    python -m venv --system-site-packages /tmp/beside
    /tmp/beside/bin/pip install --no-deps torch-judge
    /tmp/beside/bin/python -m tools.head_to_head"""
TEXT = """\
[TorchCode](https://github.com/duoan/TorchCode) has exercises on PyTorch with tests, of which {tasks} ask for what one
of our parts asks for. `python -m tools.head_to_head` runs its tests on the answers of our banks, as far as they can be
told from right ones by what the task itself asks: outputs and gradients, in float32.

| TorchCode's task | our part | right | refused there | refused here | wrong | full marks there | full marks here |
|---|---|--:|--:|--:|--:|--:|--:|
{lines}

Measured on {today} with torch-judge {judge} and PyTorch {torch}. This is no contest between equals, since our checks
were developed with these answers. Those tests run in an instant, cover many more tasks, and are made for practice.
"""


@dataclass(frozen=True)
class Task:
    """A task of TorchCode that asks for what one of our parts asks for, and its scope.

    Its cross-attention is not among them: it would count the answers to MultiHeadAttention twice.

    Attributes:
        name: of the task, in torch-judge.
        assignment, part: ours.
        adapted: makes of an answer to our part what the task asks for.
        results: what such a thing gives on inputs that the task's own text allows, a sequence of
            tensors: outputs, and gradients if text or tests ask for autograd.
        tolerance: relative; absolute it is ten times as wide, and wider than in the task's tests.
    """

    name: str
    assignment: str
    part: str
    adapted: Callable[[Callable[..., Any]], Any]
    results: Callable[[Any], Iterator[Tensor]]
    tolerance: float = 1e-5


# ---------------------------------------------------- our answers in the form of TorchCode's tasks


def output_of(result: Any) -> Any:
    """The output alone: our functions return the weights beside it."""
    return result[0] if isinstance(result, tuple | list) else result


def softmax_of_tensors(answer: Callable[..., Any]) -> Callable[..., Tensor]:
    """Ours is one of NumPy's arrays."""

    def my_softmax(x: Tensor, dim: int = -1) -> Tensor:
        return torch.as_tensor(answer(x.detach().clone().numpy(), dim)).to(x.dtype)

    return my_softmax


def attention_alone(answer: Callable[..., Any]) -> Callable[..., Any]:
    return lambda Q, K, V: output_of(answer(Q, K, V))


def layer_norm_function(answer: Callable[..., Any]) -> Callable[..., Any]:
    """Ours is a module; what it learns is handed over instead."""

    def my_layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Any:
        features = x.shape[-1]
        module = answer(features) if eps == 1e-5 else answer(features, eps)
        return functional_call(module, {"weight": gamma, "bias": beta}, (x,))

    return my_layer_norm


def heads_with_large_letters(answer: Callable[..., Any]) -> type[nn.Module]:
    """Its maps are named W_q, W_k, W_v and W_o, and it returns the output alone."""

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model: int, num_heads: int) -> None:
            super().__init__()
            ours = answer(d_model, num_heads)
            self.ours = ours
            self.W_q, self.W_k, self.W_v, self.W_o = ours.w_q, ours.w_k, ours.w_v, ours.w_o

        def forward(self, Q: Tensor, K: Tensor, V: Tensor) -> Any:
            return output_of(self.ours(Q, K, V))

    return MultiHeadAttention


# ----------------------------------------------------------------- what the tasks' texts allow


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape) + seed))


def with_gradients(function: Callable[..., Any], *inputs: Tensor) -> Iterator[Tensor]:
    """The output, and the derivatives of a sum of it in which each number counts differently."""
    leaves = [item.clone().requires_grad_() for item in inputs]
    output = function(*leaves)
    yield output
    (output * torch.linspace(1, 2, output.numel()).view(output.shape)).sum().backward()
    for leaf in leaves:
        yield leaf.grad if leaf.grad is not None else torch.full_like(leaf, torch.nan)


def softmax_results(function: Any) -> Iterator[Tensor]:
    """Tensors of one to three axes, along each; "numerically stable" means large numbers, too."""
    for shape in ((7,), (4, 6), (2, 3, 5)):
        for dim in range(-len(shape), len(shape)):
            for size, shift in ((1, 0), (30, 0), (1, 1000), (1, -1000), (1000, 0)):
                yield function(size * drawn(*shape) + shift, dim=dim)


def attention_results(function: Any) -> Iterator[Tensor]:
    """(batch, seq, width) with any lengths and widths; stability is not asked for."""
    for B, T, S, d_k, d_v in ((2, 4, 4, 8, 8), (2, 3, 5, 4, 6), (1, 5, 2, 7, 3), (3, 1, 1, 2, 2)):
        for size in (1, 3):
            query, key = size * drawn(B, T, d_k), size * drawn(B, S, d_k, seed=1)
            yield from with_gradients(function, query, key, drawn(B, S, d_v, seed=2))


def layer_norm_results(function: Any) -> Iterator[Tensor]:
    """Any leading axes; features near together, so that the formula's ε shows."""
    for shape in ((8,), (3, 5), (2, 3, 8), (4, 4, 4)):
        for size, shift in ((1, 0), (3, 5), (0.003, 0)):
            x = size * drawn(*shape) + shift
            weights = drawn(shape[-1], seed=1), drawn(shape[-1], seed=2)
            yield from with_gradients(function, x, *weights)


def loaded(made: Any, d_model: int) -> Any:
    """A module of four maps with the same weights each time."""
    for number, name in enumerate(("W_q", "W_k", "W_v", "W_o")):
        layer = getattr(made, name)
        with torch.no_grad():
            layer.weight.copy_(drawn(d_model, d_model, seed=number) / d_model**0.5)
            if layer.bias is not None:  # the text leaves it open
                layer.bias.zero_()
    return made


def heads_results(kind: Any) -> Iterator[Tensor]:
    """Any number of heads that divides the width, any lengths, query, key and value apart."""
    for B, T, S, d_model, H in (
        (2, 4, 4, 8, 2),
        (2, 3, 5, 12, 3),
        (1, 5, 2, 6, 6),
        (2, 3, 4, 5, 1),
    ):
        made = loaded(kind(d_model, H), d_model)
        inputs = (drawn(B, length, d_model, seed=n) for n, length in enumerate((T, S, S)))
        yield from with_gradients(made, *inputs)


TASKS = (
    Task(
        "softmax",
        "a3_scaled_dot_product_attention",
        "stable_softmax",
        softmax_of_tensors,
        softmax_results,
    ),
    Task(
        "attention",
        "a3_scaled_dot_product_attention",
        "scaled_dot_product_attention",
        attention_alone,
        attention_results,
    ),
    Task(
        "mha",
        "a5_multi_head_attention",
        "MultiHeadAttention",
        heads_with_large_letters,
        heads_results,
    ),
    Task(
        "layernorm",
        "a7_dropout_and_layer_norm",
        "LayerNorm",
        layer_norm_function,
        layer_norm_results,
        tolerance=1e-4,
    ),
)


# ------------------------------------------------------------------------------ who says what


def is_right_for(task: Task, answer: Callable[..., Any]) -> bool:
    """Whether an answer does what the task's text asks, whoever tests it."""
    reference = load(task.assignment).part(task.part).reference
    wanted = list(task.results(task.adapted(reference)))
    try:
        with torch.random.fork_rng(devices=[]):
            found = list(task.results(task.adapted(answer)))
    except Exception:  # noqa: BLE001 (whatever a wrong answer may raise)
        return False
    relative, absolute = task.tolerance, 10 * task.tolerance
    return all(
        isinstance(got, Tensor)
        and got.shape == expected.shape
        and torch.allclose(got.to(expected.dtype), expected, relative, absolute)
        for expected, got in zip(wanted, found, strict=True)
    )


def full_marks_there(task: Task, description: dict[str, Any], answer: Callable[..., Any]) -> bool:
    """Whether all of a task's tests pass, run as torch-judge runs them."""
    name = description["function_name"]
    torch.manual_seed(0)
    try:
        adapted = task.adapted(answer)
        for test in description["tests"]:
            code = test["code"].replace("{fn}", name)
            exec(compile(code, test["name"], "exec"), {name: adapted})  # noqa: S102
    except Exception:  # noqa: BLE001 (a test that fails, or whatever a wrong answer may raise)
        return False
    return True


def full_marks_here(task: Task, part: Part, answer: Callable[..., Any]) -> bool:
    with ours_may_answer():
        return verdict_on(task.assignment, part, answer, ["0"]).earned == part.points


Answers = list[Callable[..., Any]]


def in_scope(task: Task) -> tuple[Answers, Answers]:
    """Our right answers, but for slow ones, and the wrong ones that are wrong for the task, too."""
    bank = [given for given in bank_of(task.assignment) if given.part == task.part]
    mistakes = load(task.assignment).part(task.part).mistakes
    wrong = [given.code for given in bank if not given.right] + [one.answer for one in mistakes]
    right = [given.code for given in bank if given.right and not given.slow]
    return right, [answer for answer in wrong if not is_right_for(task, answer)]


def counts_of(task: Task, description: dict[str, Any]) -> list[int]:
    """Right answers, refused there, refused here; wrong ones in scope, full marks there, here."""
    part = load(task.assignment).part(task.part)
    counts = []
    for answers, counted in zip(in_scope(task), (False, True), strict=True):
        there = [full_marks_there(task, description, answer) for answer in answers]
        here = [full_marks_here(task, part, answer) for answer in answers]
        counts += [len(answers), there.count(counted), here.count(counted)]
    return counts


def section() -> str:
    """The section of docs/grading.md, measured now."""
    get_task = import_module("torch_judge.tasks").get_task  # no dependency of the course
    lines, total = [], [0] * 6
    for task in TASKS:
        counts = counts_of(task, get_task(task.name))
        total = [one + other for one, other in zip(total, counts, strict=True)]
        lines.append(f"| `{task.name}` | `{task.part}` | " + " | ".join(map(str, counts)) + " |")
    lines.append("| together | | " + " | ".join(map(str, total)) + " |")
    return TEXT.format(
        tasks=len(TASKS),
        lines="\n".join(lines),
        today=date.today().isoformat(),
        judge=metadata.version("torch-judge"),
        torch=torch.__version__.split("+")[0],
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.head_to_head")
    parser.add_argument("--print", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    try:
        metadata.version("torch-judge")
    except metadata.PackageNotFoundError:
        sys.exit(MISSING)
    found = section()
    print(found)
    if not options.print:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_section(text, HEADING, found), encoding="utf-8")
        print(f"written: the section “{HEADING}” of docs/grading.md")


if __name__ == "__main__":
    main()
