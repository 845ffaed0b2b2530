"""Ways to be careless that every part knows, as wrong answers made of the right one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from autograder.bank.answers import Answer, as_names
from autograder.bank.edits import Answers


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Careless:
    """What is done to the first argument before the right answer sees it, and to its results afterwards.

    `told` holds the kinds of sentences that are true of it.
    """

    told: tuple[str, ...]
    before: Callable[[Any], Any] = _same
    after: Callable[[Any], Any] = _same

    def made_of(self, code: Any, name: str) -> Any:
        """A function or a class that does this to what the right one takes and gives."""
        before, after = self.before, self.after

        def given(result: Any) -> Any:
            return tuple(map(given, result)) if isinstance(result, tuple) else after(result)

        if isinstance(code, type):

            def forward(self: Any, first: Any, *more: Any) -> Any:
                return given(code.forward(self, before(first), *more))  # type: ignore[attr-defined]

            return type(name, (code,), {"forward": forward})

        def answer(first: Any, *more: Any) -> Any:
            return given(code(before(first), *more))

        answer.__name__ = name
        return answer


def _scaled_in_place(x: torch.Tensor) -> torch.Tensor:
    x *= 1.5
    return x / 1.5


def _turned_in_place(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        x.unsqueeze_(0)
    return x.squeeze(0)


CARELESS = {
    "detached": Careless(("no gradient", "wrong about gradients"), after=torch.Tensor.detach),
    "in_float32": Careless(("another dtype", "wrong in float64"), after=torch.Tensor.float),
    "one_sentence": Careless(
        ("too short or too long", "wrong with several sentences"), before=lambda x: x[:1]
    ),
    "a_hundred_words": Careless(("too short or too long",), before=lambda x: x[:, :100]),
    "without_gaps": Careless(
        ("stops with RuntimeError", "wrong with gaps in memory"),
        before=lambda x: x.view(-1).view(x.shape),
    ),
    "scaled_in_place": Careless(("stops with RuntimeError",), before=_scaled_in_place),
    "turned_in_place": Careless(("inputs changed",), before=_turned_in_place),
    "printed": Careless(("nothing comes back",), after=lambda result: None),
    "one_shape": Careless(
        ("always one shape",), after=lambda result: torch.arange(12.0).view(1, 2, 3, 2)
    ),
    "zeros": Careless(("all the same",), after=torch.zeros_like),
}
# what cannot be done to a part that takes numbers alone
WITHOUT_TENSORS = dict.fromkeys(name for name, way in CARELESS.items() if way.before is not _same)


def careless(answers: Answers, **told: str | tuple[str, ...] | None) -> None:
    """Add the careless answers to a part's bank.

    Args:
        answers: of the part.
        told: of single ones, what is true of them in this part, or None where it is no mistake there.
    """
    for name, way in CARELESS.items():
        true_of_it = told.get(name, way.told)
        if true_of_it is not None:
            code = way.made_of(answers.code, name)
            answer = Answer(answers.part.name, code, False, told=as_names(true_of_it))
            answers.bank.answers.append(answer)
