"""Questions as their authors write them, read from TOML and checked.

A file is called after its lecture, `03_scaled_dot_product_attention.toml`, and holds a table
`[[question]]` for each question. Text between backticks is code; there is no other mark.
"""

import math
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

FOLDER = files("lecture_kit.questions")
FILE_NAME = re.compile(r"(\d{2})_\w+\.toml")
ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several answers, and what a reader who takes it is told."""

    text: str
    says: str
    right: bool = False


@dataclass(frozen=True, slots=True)
class WrongNumber:
    """A number that readers arrive at, and what they overlooked."""

    value: float
    says: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step of several, and what a reader is told who takes it too early."""

    text: str
    too_early: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What all questions have.

    Attributes:
        id: its name, unique in the course.
        lecture: the two digits of its lecture.
        number: its place among the questions of the lecture, from 1.
        text: what is asked.
        answered_by: a heading or a phrase that stands before it in the lecture, and answers it.
    """

    id: str
    lecture: str
    number: int
    text: str
    answered_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceQuestion(Question):
    """One of its choices is right.

    They are in alphabetical order, in whatever order they were written, so that a place tells nothing.
    """

    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberQuestion(Question):
    """A number within `tolerance` of `answer` is right; `hint` answers any other."""

    answer: float
    tolerance: float
    says: str
    hint: str
    wrong: tuple[WrongNumber, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderQuestion(Question):
    """Steps in their right order; `shown` holds the places in which a reader finds them."""

    steps: tuple[Step, ...]
    shown: tuple[int, ...]
    says: str


def lectures() -> list[str]:
    """The lectures that have questions, as two digits each."""
    return sorted(
        found[1] for entry in FOLDER.iterdir() if (found := FILE_NAME.fullmatch(entry.name))
    )


@cache
def questions_of(lecture: str) -> tuple[Question, ...]:
    """The questions of a lecture, in their order.

    Args:
        lecture: two digits, such as "03".

    Raises:
        ValueError: there are no questions of this lecture, or one of them is not as it must be.
    """
    for entry in FOLDER.iterdir():
        if entry.name.startswith(f"{lecture}_") and FILE_NAME.fullmatch(entry.name):
            return parsed(entry.name, entry.read_text(encoding="utf-8"))
    raise ValueError(
        f"lecture: expected one of {', '.join(lectures())}; found {lecture!r}. Questions stand in "
        "lecture_kit/questions/NN_name.toml."
    )


def parsed(name: str, text: str) -> tuple[Question, ...]:
    """The questions in the text of a file.

    Raises:
        ValueError: the text is no TOML, or a question lacks something.
    """
    try:
        tables = tomllib.loads(text)["question"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise ValueError(f"{name}: expected tables [[question]] in TOML; found {error}.") from None
    found = tuple(
        _question(f"{name}, question {number}", name[:2], number, table)
        for number, table in enumerate(tables, start=1)
    )
    ids = [question.id for question in found]
    if twice := sorted({each for each in ids if ids.count(each) > 1}):
        raise ValueError(f"{name}: expected each id once; found {', '.join(twice)} again.")
    return found


def _question(where: str, lecture: str, number: int, table: dict[str, Any]) -> Question:
    kind = table.get("kind")
    if kind not in KINDS:
        raise ValueError(f"{where}: expected a kind out of {', '.join(KINDS)}; found {kind!r}.")
    shared = {
        "id": table.get("id"),
        "lecture": lecture,
        "number": number,
        "text": table.get("text"),
        "answered_by": table.get("answered_by"),
    }
    if not ID.fullmatch(str(shared["id"])):
        raise ValueError(
            f"{where}: expected an id of small letters and hyphens; found {shared['id']!r}."
        )
    _refuse_empty(where, [shared["text"], shared["answered_by"]])
    own = {name: value for name, value in table.items() if name not in {*shared, "kind"}}
    try:
        question = KINDS[kind](shared, own)
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{where} ({shared['id']}): something is missing, or too much, or of another kind: {error}."
        ) from None
    _refuse_wrong(f"{where} ({question.id})", question)
    return question


def _choice(shared: dict[str, Any], own: dict[str, Any]) -> ChoiceQuestion:
    written = [Choice(**choice) for choice in own.pop("choices")]
    choices = tuple(sorted(written, key=lambda choice: choice.text))
    return ChoiceQuestion(**shared, **own, choices=choices)


def _number(shared: dict[str, Any], own: dict[str, Any]) -> NumberQuestion:
    wrong = tuple(WrongNumber(**number) for number in own.pop("wrong"))
    return NumberQuestion(**shared, tolerance=own.pop("tolerance", 0.0), **own, wrong=wrong)


def _order(shared: dict[str, Any], own: dict[str, Any]) -> OrderQuestion:
    steps = tuple(Step(**step) for step in own.pop("steps"))
    return OrderQuestion(**shared, shown=tuple(own.pop("shown")), **own, steps=steps)


KINDS = {"choice": _choice, "number": _number, "order": _order}


def _refuse_wrong(where: str, question: Question) -> None:
    """
    Raises:
        ValueError: a sentence is missing, or nothing or everything is right.
    """
    match question:
        case ChoiceQuestion(choices=choices):
            _refuse_empty(where, [part for each in choices for part in (each.text, each.says)])
            right = sum(choice.right for choice in choices)
            if right != 1 or len(choices) < 3:
                raise ValueError(
                    f"{where}: expected three choices or more, one of them right; found "
                    f"{len(choices)} and {right}."
                )
        case NumberQuestion(wrong=wrong):
            _refuse_empty(where, [question.says, question.hint, *(each.says for each in wrong)])
            numbers = [question.answer, *(each.value for each in wrong)]
            gaps = [abs(x - y) for n, x in enumerate(numbers) for y in numbers[:n]]
            if (
                not wrong
                or min(gaps) <= 2 * question.tolerance
                or not all(map(math.isfinite, numbers))
            ):
                raise ValueError(
                    f"{where}: expected typical wrong numbers that lie apart from the answer and from "
                    f"each other; found {numbers} with the tolerance {question.tolerance}."
                )
        case OrderQuestion(steps=steps, shown=shown):
            _refuse_empty(where, [question.says, *(step.text for step in steps)])
            _refuse_empty(where, [step.too_early for step in steps[1:]])
            if sorted(shown) != list(range(len(steps))) or shown == tuple(range(len(steps))):
                raise ValueError(
                    f"{where}: expected each of the {len(steps)} places once in `shown`, in another "
                    f"order than the right one; found {list(shown)}."
                )


def _refuse_empty(where: str, texts: list[Any]) -> None:
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise ValueError(
            f"{where}: expected sentences; found an empty one, or none. Each answer says why."
        )
