"""Wrong answers with a name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autograder.checks.cases import Step

# whole sentences: no small letter opens them, unless it is a name such as `x` or `w_o`, and a mark ends them
WHOLE = re.compile(r"(?![a-z]{2,}\b).+[.?!…]\)?", re.DOTALL)


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that people give, and what to tell them.

    Attributes:
        name: the mistake in a few words, for the class report.
        answer: an implementation that makes the mistake.
        message: what the student reads: what happened, and what to do.
        costs: the steps of the part that are about it. Others are earned by results that are right
            but for this mistake; without any, the first step that it spoils is lost.
        costs_more: why it may cost more than half of the part, if it does; without ``costs``, it
            costs every step that it spoils.
    """

    name: str
    answer: Callable[..., Any]
    message: str
    costs: tuple[Step, ...] = ()
    costs_more: str = ""

    def __post_init__(self) -> None:
        if not WHOLE.fullmatch(self.message):
            raise ValueError(
                f"what is said of the mistake '{self.name}' should be whole sentences, which begin with a "
                f"capital and end with a mark, but it is: {self.message}"
            )

    @property
    def combines(self) -> bool:
        """Whether it can be made at once with another."""
        return False

    def together_with(self, other: Mistake) -> Callable[..., Any] | None:
        """An implementation that makes both mistakes; None where there is none."""
        return None


def plain(docstring: str | None) -> str:
    """A docstring as one line of text."""
    return " ".join(inspect.cleandoc(docstring or "").split())
