"""Answers to the assignments, right ones and wrong ones, against which the checks are tested.

One file per assignment. They come on top of the reference and of the named mistakes that the
checks hold themselves.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

# two slow ways to write a right answer, in which every part has one
LOOPS, PRODUCTS = "loops over single numbers", "products that are not optimised"


@dataclass(frozen=True)
class Answer:
    """One answer to one part: a function or a class, whether it is right, and what is true of it.

    `named` holds names of mistakes, `told` kinds of sentences on how results differ, and
    `published` is where a public project, or a person in a forum, made the same mistake. `slow` says in
    which slow way a right one is written, `LOOPS` or `PRODUCTS`.
    """

    part: str
    code: Callable
    right: bool
    named: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    published: str | None = None
    slow: str = ""


def address_of(source: str) -> str:
    """Where to read of a published mistake: a link to what `published` says.

    Raises:
        ValueError: it is neither owner/repository#number nor a link.
    """
    issue = re.fullmatch(r"([\w.-]+/[\w.-]+)#(\d+)", source)
    if issue:  # GitHub leads from an issue's number to the pull request that has it
        return f"https://github.com/{issue[1]}/issues/{issue[2]}"
    if re.fullmatch(r"https://[\w.-]+/[\w./-]+", source):
        return source
    raise ValueError(f"expected owner/repository#number or a link, got {source!r}")


@dataclass
class Bank:
    """The answers to one assignment, collected by decorators.

        BANK = Bank("a5_multi_head_attention")

        @BANK.right("split_heads")
        def with_a_loop(x, num_heads): ...

        @BANK.right("split_heads", slow=LOOPS)
        def number_by_number(x, num_heads): ...

        @BANK.wrong("split_heads", named="reshape without transpose")
        def axes_in_the_wrong_order(x, num_heads): ...

    `named` holds the names of mistakes that are true of the answer, one or several, and `told` the
    kinds of sentences on how its results differ that are. Whatever else its author read would
    mislead. Where there are names, one of them must be read.
    `published="owner/repository#number"`, or a link, says where people really made the mistake.

    What is `slow` costs at most a second a case, which a test measures: slow is not wrong, so no size that
    a case asks for may stop such an answer.

    `remembering` names parts of which a mistake keeps something from call to call, so that what it does
    depends on what it was asked before. Each answer to them is judged on inputs on which nothing else was
    tried.
    """

    assignment: str
    remembering: tuple[str, ...] = ()
    answers: list[Answer] = field(default_factory=list)

    def right(self, part: str, slow: str = "") -> Callable[[Callable], Callable]:
        return self._collect(lambda code: Answer(part, code, True, slow=slow))

    def wrong(
        self,
        part: str,
        named: str | tuple[str, ...] = (),
        told: str | tuple[str, ...] = (),
        published: str | None = None,
    ) -> Callable[[Callable], Callable]:
        true_of_it = as_names(named), as_names(told), published
        return self._collect(lambda code: Answer(part, code, False, *true_of_it))

    def _collect(self, answer: Callable[[Callable], Answer]) -> Callable[[Callable], Callable]:
        def remember(code: Callable) -> Callable:
            self.answers.append(answer(code))
            return code

        return remember


def as_names(names: str | tuple[str, ...]) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    return (names,) if isinstance(names, str) else names
