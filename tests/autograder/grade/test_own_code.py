"""Questions on a student's own code, whose answers are computed here once more, by other means."""

import ast
import inspect
import random
import re
import textwrap

import nbformat
import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook

from assignments.a2_self_attention.answers.bank import BANK
from assignments.a2_self_attention.rubric import batch, weights
from autograder.__main__ import main
from autograder.grade.own_code import MOST, TRIES, OwnQuestion, drawn_from
from autograder.probe import probe
from tests.sample_class import ASSIGNMENT, ROOT, submission

PARTS = (weights, batch)
IMPORTS = "import math\nimport torch\nimport torch.nn.functional as F\n"
CHANGED = re.compile(
    r"Line (\d+) of your `(\w+)` is\n\n    (.+)\n\nSomebody makes of it\n\n    (.+)\n\n"
    r"Which number is at (\[[\d, ]+\]) of the result then, for (.+)\? Give"
)


class InThisProcess:
    """A kernel that runs cells and asks functions here."""

    def __init__(self):
        self.names = {}

    def run(self, cell, index):
        exec(cell.source, self.names)

    def ask(self, message):
        return probe.answer(message, self.names)


def source_of(answer, name):
    """A right answer of the bank as a student would have typed it."""
    lines = textwrap.dedent(inspect.getsource(answer)).splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("def "))
    return "\n".join(lines[start:]).replace(f"def {answer.__name__}(", f"def {name}(", 1)


def asked_of(source, part, student="ada"):
    notebook = new_notebook(cells=[new_code_cell(IMPORTS), new_code_cell(source)])
    return drawn_from(InThisProcess(), notebook, (part,), random.Random(student))


def computed(text, source):
    """The answer of a question on a change, by changing the line and calling the function."""
    line, name, old, new, place, given = CHANGED.match(text).groups()
    lines = source.splitlines()
    typed = lines[int(line) - 1]
    assert typed.strip() == old != new
    lines[int(line) - 1] = typed.replace(old, new)
    names = {}
    exec(IMPORTS + "\n".join(lines), names)
    values = re.findall(r"= (\[.*?\])(?=, \w+ =|$)", given)
    arguments = [torch.tensor(ast.literal_eval(value), dtype=torch.float32) for value in values]
    return round(names[name](*arguments)[tuple(ast.literal_eval(place))].item(), 2)


RIGHT = [
    pytest.param(part, answer.code, id=answer.code.__name__)
    for part in PARTS
    for answer in BANK.answers
    if answer.right and answer.part == part.name
]


@pytest.mark.parametrize(("part", "answer"), RIGHT)
def test_answers_are_what_the_changed_code_gives(part, answer):
    source = source_of(answer, part.name)
    for question in asked_of(source, part):
        if "Which number is at" in question.text:
            assert question.answer == computed(question.text, source), question.text
        else:
            numbered = re.findall(r"^ +(\d+)  (.*)$", question.text, re.MULTILINE)
            assert [line for _, line in numbered] == source.splitlines()
            assert 1 < question.answer <= len(numbered)


def test_nearly_every_way_to_answer_gives_a_question():
    """One from each of two parts makes two for nearly every student."""
    asked = [asked_of(source_of(answer, part.name), part) for part, answer in (case.values for case in RIGHT)]  # fmt: skip
    assert len(asked) >= 20 and sum(map(bool, asked)) >= 0.9 * len(asked)


SPELT_OUT = """def attention_weights(x):
    scores = x @ x.T
    powers = scores.exp()
    totals = powers.sum(dim=1, keepdim=True)
    shares = powers / totals
    return shares"""


def test_the_line_is_the_first_whose_rows_sum_to_one():
    first, second = asked_of(SPELT_OUT, weights)
    assert "which line" in first.text and first.answer == 5
    assert second.answer == computed(second.text, SPELT_OUT)


@pytest.mark.parametrize(
    "body",
    [
        "weights = x.new_zeros(len(x), len(x))\n    for i, word in enumerate(x):\n        weights[i] = torch.softmax(x.mv(word), 0)\n    return weights",
        "weights = (x @ x.T).exp()\n    weights /= weights.sum(dim=1, keepdim=True)\n    return weights",
    ],
    ids=["in a loop", "in place"],
)
def test_where_no_single_line_does_it_none_is_asked_for(body):
    asked = asked_of(f"def attention_weights(x):\n    {body}", weights)
    assert not any("which line" in question.text for question in asked)


def test_another_student_is_asked_other_questions_and_the_same_one_the_same():
    asked = {student: tuple(asked_of(SPELT_OUT, weights, student)) for student in "abcdefgh"}
    assert asked["a"] == tuple(asked_of(SPELT_OUT, weights, "a"))
    assert len(set(asked.values())) >= 6


def test_code_that_gives_nothing_to_ask_is_asked_nothing():
    assert asked_of("def attention_weights(x):\n    return torch.eye(len(x))", weights) == []
    assert asked_of("attention_weights = lambda x: x", weights) == []


def test_an_answer_is_right_to_two_decimals():
    question = OwnQuestion("?", 0.67)
    assert all(map(question.is_right, ("0.67", "0,67", "0.666", " 0.67 ")))
    assert not any(map(question.is_right, ("0.66", "0.68", "", "two thirds")))


def test_a_right_notebook_is_asked_and_its_answers_are_judged(capsys):
    path = str(ROOT / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")
    assert main(["ask", path, "--student", "ada", "--solutions"]) == 0
    answers = re.findall(r"The answer is (\S+)\.$", capsys.readouterr().out, re.MULTILINE)
    assert len(answers) == 2
    assert main(["ask", path, "--student", "ada", "--answers", answers[0], "17"]) == 1
    told = capsys.readouterr().out
    assert f"{answers[0]} is right." in told and "17 is wrong." in told and "The answer" not in told


def test_who_has_lost_points_is_not_asked(tmp_path, capsys):
    path = tmp_path / f"{ASSIGNMENT}.ipynb"
    nbformat.write(submission("softmax_over_columns"), path)
    assert main(["ask", str(path)]) == 2
    assert "come after full points" in capsys.readouterr().err


class Counting(InThisProcess):
    asked = 0

    def ask(self, message):
        self.asked += 1
        return super().ask(message)


RIGHT_END = "return torch.softmax(x @ x.T, dim=-1)"
ODD_CODE = {
    "nested deeply": f"y = 0{' + 0' * 400}\n    {RIGHT_END}",
    "notes of its own": f"_seen = [[1, 2, 3]]\n    y = [1]\n    {RIGHT_END}",
    "lines that are none": "w = torch.softmax(x @ x.T, dim=-1)\n    _seen = [('\x1b[2J', w), (99, w)]\n    z = w\n    return w",
    "truth values": f"if x.max() <= 2: return (x @ x.T).sum(dim=-1) > 2\n    {RIGHT_END}",
    "complex numbers": "return torch.softmax(x @ x.T, dim=-1) * 1j",
    "whole numbers": "return (x @ x.T).sum(dim=-1).long()",
    "a million numbers": "return torch.zeros(1 << 20) + x.sum(dim=-1).sum()",
    "a list": "return [torch.softmax(x @ x.T, dim=-1)]",
    "a line of a formula": f"y = (\n  x\n  /\n  2\n)\n    {RIGHT_END}",
    "one line": f"y = x; {RIGHT_END}",
    "letters without end": "y = 1\n" + "    y = 2\n" * 30_000 + f"    {RIGHT_END}",
}


@pytest.mark.parametrize("kind", ODD_CODE)
def test_whatever_the_code_is_an_answer_is_a_number(kind):
    for question in asked_of(f"def attention_weights(x):\n    {ODD_CODE[kind]}", weights):
        assert isinstance(question.answer, int | float) and len(question.text) < 5000


def test_only_some_of_many_changes_are_tried():
    source = (
        "def attention_weights(x):\n    y = 1\n"
        + "    y = y + 0\n" * 500
        + "    return x @ x.T * 0"
    )
    kernel = Counting()
    notebook = new_notebook(cells=[new_code_cell(IMPORTS), new_code_cell(source)])
    assert drawn_from(kernel, notebook, (weights,), random.Random("ada")) == []
    assert kernel.asked <= TRIES * (MOST + 1)


def test_a_line_is_what_python_takes_for_one():
    source = SPELT_OUT.replace("scores = ", '"one\x0ctwo\u2028three"\n    scores = ')
    line, change = asked_of(source, weights)
    assert line.answer == 6
    assert re.findall(r"^ +(\d+)  ", line.text, re.MULTILINE) == [str(n) for n in range(1, 8)]
    _, _, old, new, _, _ = CHANGED.match(change.text).groups()
    assert old != new
