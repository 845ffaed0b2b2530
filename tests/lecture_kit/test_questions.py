"""Questions that answer: each is asked once, in its place, and every wrong answer is told why."""

import re
from collections import Counter
from html import unescape

import jupytext
import pytest
import torch

from lecture_kit import questions
from lecture_kit.questions import read
from tests.build.test_minutes import LECTURES

ALL = [question for lecture in questions.lectures() for question in questions.questions_of(lecture)]
NUMBERS = {  # what the answer is computed from, by somebody who did not write the question
    "how-far-ahead-a-word-is-of-the-others": 64 / 64**0.5,
    "a-louder-query": (100 * 4 * 1) ** 0.5 / 100**0.5,
    "how-many-cells-are-visible": sum(range(1, 7)),
    "parameters-of-five-heads": 3 * 5 * 100 * (100 // 5) + 100 * 100,
    "the-hand-of-pair-one": 2 * 3.141592653589793 * 10000 ** (2 / 4),
    "a-token-of-two-features": (3 - 2) / (((1 - 2) ** 2 + (3 - 2) ** 2) / 2) ** 0.5,
    "an-entry-that-survives": 0.4 / (1 - 0.2),
    "passes-for-five-words": 5 + 1,
    "rows-without-a-cache": sum(range(1, 11)),
    "what-top-p-keeps": next(n for n in range(6) if sum([50, 20, 15, 10, 5][:n]) >= 80),
    "how-much-cache": 2 * 10 * 4 * 50 * 2,
    "rms-of-two-features": 7 / ((1**2 + 7**2) / 2) ** 0.5,
    "two-thirds": 2 * 768 * 3072 / (3 * 768),
    "which-key": 1 + max(place for place in range(8) if (8 - place) % 5 == 0),
    "which-key-head": [query // 4 for query in range(12)][5],
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


def core_sections(path):
    """The numbers of the sections of the core that ask a question, in their order."""
    found, section = [], None
    for cell in jupytext.read(path, fmt="py:percent").cells:
        if cell.cell_type == "markdown":
            for heading in re.finditer(
                r"^## (?:(\d+)\. )?(Going deeper)?", cell.source, re.MULTILINE
            ):
                section = None if heading[2] else heading[1]
        elif "questions.ask(" in cell.source and section and section not in found:
            found.append(section)
    return found


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem[:2])
def test_check_yourself_says_where_the_questions_are(path):
    text = one_line(path.read_text(encoding="utf-8").replace("\n# ", " "))
    *most, last = core_sections(path)
    said = f"The questions in sections {', '.join(most)} and {last} can be checked on the spot."
    assert said in text.split("## Check yourself")[1][:200]


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


def test_no_place_of_a_choice_gives_the_answer_away():
    choices = [
        question.choices for question in ALL if isinstance(question, questions.ChoiceQuestion)
    ]
    places = Counter(next(n for n, each in enumerate(them) if each.right) for them in choices)
    assert {0, 1, 2} <= set(places) and max(places.values()) <= len(choices) / 2


def right_choice(name):
    question = next(question for question in ALL if question.id == name)
    return next(choice.text for choice in question.choices if choice.right)


def test_what_the_choices_claim_is_so():
    """The choices that a few lines of PyTorch can decide."""
    torch.manual_seed(0)
    x = torch.randn(8, 16)
    scores = x @ x.T
    columns, rows = scores.softmax(dim=0), scores.softmax(dim=1)
    assert right_choice("softmax-along-the-other-axis") == "The transpose of the right weights."
    assert torch.allclose(columns, rows.T) and not torch.allclose(columns, rows)

    words = 10 * torch.arange(1, 5).unsqueeze(1) + torch.arange(1, 7)  # 24 is feature 4 of token 2
    trap = words.reshape(1, 2, 4, 3)
    assert right_choice("a-row-of-the-trap") == "Features 4 to 6 of token 1."
    assert trap[0, 0, 1].tolist() == [14, 15, 16]

    assert right_choice("a-flat-padding-mask").startswith("An error")
    with pytest.raises(RuntimeError):
        torch.zeros(3, 2, 5, 5).masked_fill(torch.ones(3, 5, dtype=torch.bool), 0.0)

    visible, hidden = torch.tensor([-5.0, -5.0, 0.0]).softmax(dim=0).split([2, 1])
    assert right_choice("zero-for-hidden-scores").endswith("to the hidden tokens.")
    assert hidden > 0.98 and visible.sum() < 0.02

    row = torch.tensor([-200.0, -201.0])  # far below the largest score of the matrix, here 0
    assert "far below" in right_choice("one-maximum-for-all-rows")
    assert (row.exp() / row.exp().sum()).isnan().all()


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
