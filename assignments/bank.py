"""Answers to the assignments, right ones and wrong ones, against which the checks are tested.

One file per assignment. They come on top of the reference and of the named mistakes that the
checks hold themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Answer:
    """One answer to one part: a function or a class, whether it is right, and its name if known."""

    part: str
    code: Callable
    right: bool
    named: str | None = None


@dataclass
class Bank:
    """The answers to one assignment, collected by decorators.

        BANK = Bank("a5_multi_head_attention")

        @BANK.right("split_heads")
        def with_a_loop(x, num_heads): ...

        @BANK.wrong("split_heads", named="reshape without transpose")
        def axes_in_the_wrong_order(x, num_heads): ...

    `named` says which named mistake the student must read; without it any or none will do.
    """

    assignment: str
    answers: list[Answer] = field(default_factory=list)

    def right(self, part: str) -> Callable[[Callable], Callable]:
        return self._collect(part, True, None)

    def wrong(self, part: str, named: str | None = None) -> Callable[[Callable], Callable]:
        return self._collect(part, False, named)

    def _collect(self, part: str, right: bool, named: str | None) -> Callable:
        def remember(code: Callable) -> Callable:
            self.answers.append(Answer(part, code, right, named))
            return code

        return remember
