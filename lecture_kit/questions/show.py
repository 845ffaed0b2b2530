"""Questions as live views, and as HTML for readers without a script."""

import re
from dataclasses import asdict
from html import escape

from lecture_kit.live.page import View, framed
from lecture_kit.questions.read import (
    ChoiceQuestion,
    NumberQuestion,
    OrderQuestion,
    Question,
    questions_of,
)

NAMES = {ChoiceQuestion: "choice", NumberQuestion: "number", OrderQuestion: "order"}
CODE = re.compile(r"`([^`]+)`")
LINE = 32
"""Pixels that a choice or a step takes, until the script knows better."""


def ask(lecture: str, id: str) -> View:
    """A question of a lecture, to be answered in the page.

    The answer is kept in the reader's browser and goes nowhere else.

    Args:
        lecture: two digits, such as "03".
        id: which question.

    Raises:
        ValueError: there is no such question, or it is not as it must be.
    """
    found = {question.id: question for question in questions_of(lecture)}
    if id not in found:
        raise ValueError(
            f"id: expected a question of lecture {lecture}, {', '.join(found)}; found {id!r}."
        )
    question = found[id]
    content = {"kind": NAMES[type(question)], **asdict(question)}
    del content["answered_by"]  # for authors alone
    caption = f"Question {question.number} of lecture {int(lecture)}"
    lines = len(content.get("choices", content.get("steps", [])))
    return framed("question", caption, content, stand_in(question), 190 + LINE * lines)


def stand_in(question: Question) -> str:
    """The question with its answer folded, as plain HTML."""
    return (
        f"<p><b>Question.</b> {marked(question.text)}</p>{offered(question)}"
        f"<details><summary>Answer</summary>{answered(question)}</details>"
    )


def offered(question: Question) -> str:
    """What a reader may choose from, as HTML; nothing for a number."""
    match question:
        case ChoiceQuestion(choices=choices):
            return _list("ul", [choice.text for choice in choices])
        case OrderQuestion(steps=steps, shown=shown):
            return _list("ul", [steps[place].text for place in shown])
    return ""


def answered(question: Question) -> str:
    """The right answer and why the wrong ones are wrong, as HTML."""
    match question:
        case ChoiceQuestion(choices=choices):
            right = next(choice for choice in choices if choice.right)
            wrong = [f"{each.text} – {each.says}" for each in choices if not each.right]
            return f"<p><b>{marked(right.text)}</b> {marked(right.says)}</p>{_list('ul', wrong)}"
        case NumberQuestion(wrong=wrong):
            others = [f"{each.value:g} – {each.says}" for each in wrong]
            return f"<p><b>{question.answer:g}</b> {marked(question.says)}</p>{_list('ul', others)}"
        case OrderQuestion(steps=steps):
            right_order = _list("ol", [step.text for step in steps])
            return f"{right_order}<p>{marked(question.says)}</p>"
    raise TypeError(f"a question of a kind that is none: {type(question).__name__}")


def marked(text: str) -> str:
    """The text as HTML, with code between backticks."""
    return CODE.sub(r"<code>\1</code>", escape(text, quote=False))


def _list(tag: str, texts: list[str]) -> str:
    return f"<{tag}>{''.join(f'<li>{marked(text)}</li>' for text in texts)}</{tag}>"
