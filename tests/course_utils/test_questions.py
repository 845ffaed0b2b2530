"""Questions that answer: each is asked once, in its place, and every wrong answer is told why."""

import re
from html import unescape

import jupytext
import pytest

from course_utils import questions
from course_utils.questions import read
from tests.build.test_minutes import LECTURES

ALL = [question for lecture in questions.lectures() for question in questions.questions_of(lecture)]
NUMBERS = {  # what the answer is computed from, by somebody who did not write the question
    "how-far-ahead-a-word-is-of-the-others": 64 / 64**0.5,
    "the-width-of-a-context-vector": 7,
    "a-louder-query": (100 * 4 * 1) ** 0.5 / 100**0.5,
    "how-many-cells-are-visible": sum(range(1, 7)),
    "parameters-of-five-heads": 3 * 5 * 100 * (100 // 5) + 100 * 100,
    "the-hand-of-pair-one": 2 * 3.141592653589793 * 10000 ** (2 / 4),
    "a-token-of-two-features": (3 - 2) / (((1 - 2) ** 2 + (3 - 2) ** 2) / 2) ** 0.5,
    "a-weight-that-survives": 0.4 / (1 - 0.2),
    "passes-for-five-words": 5 + 1,
    "rows-without-a-cache": sum(range(1, 11)),
}


def one_line(text):
    return re.sub(r"\s+", " ", text)


def asked_in(path):
    """id → all that stands before it in a lecture, on one line."""
    found, before = {}, ""
    for cell in jupytext.read(path, fmt="py:percent").cells:
        call = re.fullmatch(r'questions\.ask\("(\d\d)", "([\w-]+)"\)', cell.source)
        if call:
            assert call[1] == path.stem[:2]
            assert call[2] not in found, f"{call[2]} is asked twice"
            found[call[2]] = one_line(before)
        before += f"\n{cell.source}"
    return found


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem[:2])
def test_a_lecture_asks_its_questions_after_what_answers_them(path):
    asked = asked_in(path)
    own = questions.questions_of(path.stem[:2])
    assert len(own) >= 3
    assert list(asked) == [question.id for question in own], "once each, in this order"
    for question in own:
        assert one_line(question.answered_by) in asked[question.id]


def test_ids_are_unique_in_the_course():
    assert len({question.id for question in ALL}) == len(ALL)


def test_the_kinds_are_all_in_use():
    kinds = {questions.ChoiceQuestion, questions.NumberQuestion, questions.OrderQuestion}
    assert {type(question) for question in ALL} == kinds


def test_the_numbers_are_right():
    asked = {q.id: q for q in ALL if isinstance(q, questions.NumberQuestion)}
    assert set(asked) == set(NUMBERS)
    for name, expected in NUMBERS.items():
        assert abs(asked[name].answer - expected) <= max(asked[name].tolerance, 1e-9), name


@pytest.mark.parametrize("question", ALL, ids=lambda question: question.id)
def test_every_answer_says_why(question):
    """A sentence or two of its own for each, which ends as a sentence does."""
    match question:
        case questions.ChoiceQuestion(choices=choices):
            said = [choice.says for choice in choices]
        case questions.NumberQuestion():
            said = [question.says, question.hint, *(wrong.says for wrong in question.wrong)]
        case questions.OrderQuestion(steps=steps):
            said = [question.says, *(step.too_early for step in steps[1:])]
    assert len(set(said)) == len(said)
    for text in said:
        assert len(text.split()) >= 6
        assert text[-1] in ".?"


def told(question):
    """What a reader without a script is told of the right answer and of the wrong ones."""
    match question:
        case questions.ChoiceQuestion(choices=choices):
            return [choice.says for choice in choices]
        case questions.NumberQuestion():
            return [question.says, *(wrong.says for wrong in question.wrong)]
    return [question.says, *(step.text for step in question.steps)]


@pytest.mark.parametrize("question", ALL, ids=lambda question: question.id)
def test_a_reader_without_a_script_has_it_all(question):
    shown = questions.stand_in(question)
    assert "<script" not in shown
    assert one_line(shown).count("<details>") == 1
    question_text, answer = shown.split("<details>")
    plain = unescape(answer.replace("<code>", "`").replace("</code>", "`"))
    for text in told(question):
        assert text in plain
    assert question.text.split("`")[0] in question_text.replace("&lt;", "<").replace("&amp;", "&")


def test_what_an_author_writes_is_only_ever_text():
    text = """[[question]]
id = "a"
kind = "number"
answered_by = "x"
text = "<img src=x onerror=alert(1)> `<b>`"
answer = 1
says = "<script>yes</script>"
hint = "Look."
wrong = [{ value = 3, says = "No & never." }]
"""
    (question,) = read.parsed("01_x.toml", text)
    shown = questions.stand_in(question)
    assert "<img" not in shown and "<script" not in shown
    assert "<code>&lt;b&gt;</code>" in shown and "No &amp; never." in shown


GOOD = """[[question]]
id = "a-b"
kind = "choice"
answered_by = "x"
text = "Which?"
choices = [
  { text = "one", says = "Right, because.", right = true },
  { text = "two", says = "Not this one." },
  { text = "three", says = "Nor this." },
]
"""
ORDER = """[[question]]
id = "a"
kind = "order"
answered_by = "x"
text = "Order."
shown = [1, 0]
says = "So."
steps = [{ text = "one" }, { text = "two", too_early = "Not yet." }]
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[question", "TOML"),
        ("x = 1", r"\[\[question\]\]"),
        (GOOD.replace('"choice"', '"essay"'), "kind out of choice, number, order; found 'essay'"),
        (GOOD.replace('"a-b"', '"A b"'), "small letters and hyphens; found 'A b'"),
        (GOOD.replace('"Which?"', '" "'), "expected sentences"),
        (GOOD.replace('"Nor this."', '""'), "expected sentences"),
        (GOOD.replace(", right = true", ""), "one of them right; found 3 and 0"),
        (GOOD.replace('  { text = "three", says = "Nor this." },\n', ""), "three choices or more"),
        (GOOD.replace("right", "correct"), "something is missing, or too much"),
        (GOOD + GOOD, "each id once; found a-b again"),
        (ORDER.replace("[1, 0]", "[0, 1]"), "another order than the right one"),
        (ORDER.replace("[1, 0]", "[1, 1]"), "each of the 2 places once"),
        (ORDER.replace(', too_early = "Not yet."', ""), "expected sentences"),
    ],
)
def test_what_is_missing_is_named(text, message):
    with pytest.raises(ValueError, match=message) as found:
        read.parsed("01_x.toml", text)
    assert str(found.value).startswith("01_x.toml")


def test_questions_that_are_not_there_are_named():
    with pytest.raises(ValueError, match=r"expected one of 01, 02.*; found '77'"):
        questions.questions_of("77")
    with pytest.raises(ValueError, match=r"expected a question of lecture 03.*; found 'nope'"):
        questions.ask("03", "nope")
