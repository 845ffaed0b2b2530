"""Questions that answer: a reader chooses, types a number or orders steps, and learns why at once.

    from lecture_kit import questions

    questions.ask("03", "what-the-root-does")

The questions of a lecture stand in one file of this folder, which is part of the package so that a
student's copy has them too. jupyterquiz, which was looked at first, has no steps to put in order, no
form without a script, no role or label for screen readers and no dark colours, and H5P wants a server
or a player of several megabytes; so these are views like the others of `lecture_kit.live`.
"""

from lecture_kit.questions.read import (
    Choice,
    ChoiceQuestion,
    NumberQuestion,
    OrderQuestion,
    Question,
    Step,
    WrongNumber,
    lectures,
    questions_of,
)
from lecture_kit.questions.show import answered, ask, marked, offered, stand_in

__all__ = [
    "Choice",
    "ChoiceQuestion",
    "NumberQuestion",
    "OrderQuestion",
    "Question",
    "Step",
    "WrongNumber",
    "answered",
    "ask",
    "lectures",
    "marked",
    "offered",
    "questions_of",
    "stand_in",
]
