"""Questions on a student's own code, whose answers are computed here once more, by other means."""

import ast
import importlib
import inspect
import random
import re
import sys
import textwrap

import nbformat
import numpy as np
import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook

from assignments import COURSE
from assignments.a2_self_attention.rubric import weights
from autograder.__main__ import main
from autograder.bounds import in_time
from autograder.grade.code_changes import changes_in
from autograder.grade.own_code import MOST, OwnQuestion, drawn_from
from autograder.probe import probe
from tests.sample_class import ASSIGNMENT, ROOT, submission

ASKED = COURSE.known()[:9]
UNASKED = {"is_permutation_equivariant", "visualize_positional_encodings", "greedy_decode"}
# right answers that alone give less than two questions, and how many
FEWER = {
    "causal_by_numpy": 0, "causal_by_vmap": 1, "shift_into_an_empty_tensor": 0, "padding_by_subtracting": 1,
    "merge_by_a_loop": 1, "NetworkDroppingBeforeTheReLU": 1, "NetworkWithAModuleForEachStep": 1,
    "ModelWithAFrozenTableOfSinusoids": 0,
}  # fmt: skip
CHANGED = re.compile(
    r"Line (\d+) of your `([\w.]+)` is\n\n    (.+)\n\nSomebody makes of it\n\n    (.+)\n\n"
    r"(Which number \(to two decimals\) is|How many entries are True in) `(result[\d, \[\]]*)` then, "
    r"after this cell\?\n\n((?:    .*\n?)+)"
)
BY_LINE = re.compile(
    r"with the numbers of its lines:\n\n((?: +\d+  .*\n)+)\nThis cell calls it:\n\n((?:    .*\n)+)\n"
    r"After which line is there, for the first time, a variable or a value of a `return` (.+)\? Answer"
)
HAS = {
    "with rows that sum to one": lambda x: np.allclose(x.sum(-1), 1, atol=1e-4),
    "with rows whose mean is 0": lambda x: (
        np.allclose(x.mean(-1), 0, atol=1e-4) and np.ptp(x) > 0.01
    ),
    "with numbers below -1000, such as minus infinity": lambda x: x.min() < -1000,
    "with four axes": lambda x: x.ndim == 4,
}


class InThisProcess:
    """A kernel that runs cells and asks functions here."""

    def __init__(self, names):
        self.names = dict(names)

    def run(self, cell, index):
        exec(cell.source, self.names)

    def ask(self, message):
        return probe.answer(message, self.names)


def source_of(code):
    lines = textwrap.dedent(inspect.getsource(code)).splitlines()
    return "\n".join(line for line in lines if not line.startswith("@BANK"))


def typed(answer):
    """The cells in which a student would have typed an answer of a bank, and what they import."""
    helpers, names = {}, {}

    def read(code):
        around = vars(sys.modules[code.__module__])
        names.update({name: value for name, value in around.items() if name not in names})
        for node in ast.walk(ast.parse(source_of(code))):
            found = around.get(node.id) if isinstance(node, ast.Name) else None
            of_the_bank = getattr(found, "__module__", "").startswith("assignments.")
            if of_the_bank and found is not answer.code and node.id not in helpers:
                helpers[node.id] = ""
                read(found)
                helpers[node.id] = helpers.pop(node.id) + source_of(found)  # after what it calls

    read(answer.code)
    own = re.sub(rf"\b{answer.code.__name__}\b", answer.part, source_of(answer.code))
    return [*helpers.values(), own], names


def asked_of(cells, parts, names, student="ada"):
    notebook = new_notebook(cells=[new_code_cell(source) for source in cells])
    return drawn_from(InThisProcess(names), notebook, parts, random.Random(student))


def answer_to(text, cells, names):
    """The answer of a question, computed once more."""
    if "After which line" in text:
        return first_line(text, names)
    line, name, old, new, what, place, cell = CHANGED.match(text).groups()
    names, changed = dict(names), 0
    for source in cells:
        lines = source.splitlines()
        for start in starts_of(name, source):
            at = start + int(line) - 2
            if at < len(lines) and lines[at].strip() == old:
                lines[at], changed = lines[at].replace(old, new), changed + 1
        exec("\n".join(lines), names)
    assert changed == 1 and old != new, text
    exec(textwrap.dedent(cell), names)
    found = torch.as_tensor(eval(place, names))
    return int(found.sum()) if what.startswith("How many") else round(found.item(), 2)


def starts_of(name, source):
    """On which lines a function, a class or a method of this name begins."""
    *outer, inner = name.split(".")
    for node in ast.walk(ast.parse(source)):
        if not outer or getattr(node, "name", "") == outer[0]:
            body = node.body if outer else [node]
            for one in body:
                if getattr(one, "name", "") == inner:
                    yield min(each.lineno for each in (one, *one.decorator_list))


def first_line(text, names):
    """What a debugger sees after each line."""
    listed, cell, what = BY_LINE.search(text).groups()
    source = "\n".join(re.findall(r"^ +\d+  (.*)$", listed, re.MULTILINE))
    statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    names, last, hits = dict(names), {}, []

    def statement_at(line):
        around = [one for one in statements if one.lineno <= line <= one.end_lineno]
        return max(around, key=lambda one: one.lineno)

    def trace(frame, event, value):
        if frame.f_code.co_filename != "own" or frame.f_code.co_name.startswith("<"):
            return None
        values = [*frame.f_locals.values(), *([value] if event == "return" else [])]
        if frame in last and any(map(HAS[what], arrays_in(values, "axes" in what))):
            hits.append(last[frame].lineno)
        now = statement_at(frame.f_lineno)
        if not isinstance(now, ast.With) or frame not in last:  # which is left through its head
            last[frame] = now
        return trace

    exec(compile(source.replace("empty", "zeros"), "own", "exec"), names)  # no chance numbers
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        exec(textwrap.dedent(cell), names)
    finally:
        sys.settrace(before)
    return hits[0]


def arrays_in(values, of_any_kind):
    """Arrays and tensors among values, in lists, and in modules; with rows of numbers, or of any kind."""
    values = [
        one for each in values for one in (each if isinstance(each, tuple | list) else [each])
    ]
    modules = [each for each in values if isinstance(each, torch.nn.Module)]
    values += [one for each in modules for one in vars(each).values()]
    for each in values:
        # within `torch.vmap` a tensor has no numbers that can be read
        readable = not (
            isinstance(each, torch.Tensor) and torch._C._functorch.is_batchedtensor(each)
        )
        if isinstance(each, torch.Tensor | np.ndarray) and readable:
            array = torch.as_tensor(each).detach().double().numpy()
            of_floats = each.dtype in (torch.float32, torch.float64, np.dtype("float64"))
            if of_any_kind or (of_floats and array.ndim and array.shape[-1] > 1):
                yield array


BANKS = {
    name: importlib.import_module(f"assignments.{name}.answers.bank").BANK.answers for name in ASKED
}
RIGHT = [
    pytest.param(COURSE.load(name).part(answer.part), answer, id=answer.code.__name__)
    for name in ASKED
    for answer in BANKS[name]
    if answer.right and answer.part not in UNASKED
]


# `make test-all` takes every fifth, and `make test-slow` all others
@pytest.mark.parametrize(
    ("part", "answer"),
    [
        pytest.param(
            *one.values, id=one.id, marks=pytest.mark.slow if number % 5 else pytest.mark.long
        )
        for number, one in enumerate(RIGHT)
    ],
)
def test_right_answers_give_two_questions_whose_answers_are_what_the_code_gives(part, answer):
    cells, names = typed(answer)
    asked = asked_of(cells, (part,), names)
    assert len(asked) == FEWER.get(answer.code.__name__, 2)
    for question in asked:
        assert question.answer == pytest.approx(answer_to(question.text, cells, names)), (
            question.text
        )


@pytest.mark.long
@pytest.mark.parametrize("name", FEWER)
def test_a_whole_notebook_gives_two_questions_where_one_answer_gives_fewer(name):
    assignment = next(n for n in ASKED if any(name == each.code.__name__ for each in BANKS[n]))
    right = {answer.part: answer for answer in BANKS[assignment] if answer.right}
    right |= {each.part: each for each in BANKS[assignment] if each.code.__name__ == name}
    cells, names = [], {}
    for answer in right.values():
        more, imported = typed(answer)
        cells, names = cells + more, imported | names
    assert len(asked_of(cells, COURSE.load(assignment).parts, names)) == 2


IMPORTS = {"torch": torch, "F": torch.nn.functional}
WEIGHTS = (COURSE.load(ASSIGNMENT).part("attention_weights"),)
SPELT_OUT = """def attention_weights(x):
    scores = x @ x.T
    powers = scores.exp()
    totals = powers.sum(dim=1, keepdim=True)
    shares = powers / totals
    return shares"""


def by_line(source):
    return [one.answer for one in asked_of([source], WEIGHTS, IMPORTS) if "which line" in one.text]


def test_the_line_is_the_first_whose_rows_sum_to_one():
    first, second = asked_of([SPELT_OUT], WEIGHTS, IMPORTS)
    assert "rows that sum to one" in first.text and first.answer == 5
    assert second.answer == answer_to(second.text, [SPELT_OUT], IMPORTS)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("weights = x.new_zeros(len(x), len(x))\n    for i, word in enumerate(x):\n        weights[i] = torch.softmax(x.mv(word), 0)\n    return weights", 4),
        ("weights = (x @ x.T).exp()\n    weights /= weights.sum(dim=1, keepdim=True)\n    return weights", 3),
        ("scores = x @ x.T\n    return torch.softmax(\n        scores,\n        dim=1,\n    )", 3),
    ],
    ids=["in a loop", "in place", "on several lines"],
)  # fmt: skip
def test_the_line_is_found_wherever_it_stands(body, line):
    assert by_line(f"def attention_weights(x):\n    {body}") == [line]


def test_helpers_and_decorators_belong_to_the_code():
    helper = (
        "def shares(scores):\n    powers = scores.exp()\n    return powers / powers.sum(1, True)"
    )
    own = "@torch.no_grad()\ndef attention_weights(x):\n    scores = x @ x.T\n    return shares(scores)"
    questions = asked_of([helper, "def unused(): pass", own], WEIGHTS, IMPORTS)
    (text,) = (each.text for each in questions if "which line" in each.text)
    assert f"{helper}\n\n{own}".splitlines() == re.findall(r"^ +\d+  (.*)$", text, re.MULTILINE)


def test_a_change_may_be_in_a_decorator():
    own = "def scaled(by):\n    return lambda f: lambda x: f(x) * by\n\n\n@scaled(by=1)\ndef attention_weights(x):\n    return x"
    asked = asked_of([own], WEIGHTS, IMPORTS)
    assert any("@scaled(by=0)" in question.text for question in asked)
    for question in asked:
        assert question.answer == answer_to(question.text, [own], IMPORTS)


def test_another_student_is_asked_other_questions_and_the_same_one_the_same():
    asked = {each: tuple(asked_of([SPELT_OUT], WEIGHTS, IMPORTS, each)) for each in "abcdefgh"}
    assert asked["a"] == tuple(asked_of([SPELT_OUT], WEIGHTS, IMPORTS, "a"))
    assert len(set(asked.values())) >= 6


def test_code_that_gives_nothing_to_ask_is_asked_nothing():
    assert (
        asked_of(["def attention_weights(x):\n    return torch.eye(len(x))"], WEIGHTS, IMPORTS)
        == []
    )
    assert asked_of(["attention_weights = lambda x: x"], WEIGHTS, IMPORTS) == []


def test_an_answer_is_right_to_two_decimals():
    question = OwnQuestion("?", 0.67)
    assert all(map(question.is_right, ("0.67", "0,67", "0.666", " 0.67 ")))
    assert not any(map(question.is_right, ("0.66", "0.68", "", "two thirds")))


@pytest.mark.long
@pytest.mark.parametrize("assignment", [ASSIGNMENT, "a8_transformer_layer"])
def test_a_right_notebook_is_asked_and_its_answers_are_judged(assignment, capsys):
    path = ROOT / "solutions" / assignment / f"{assignment}.ipynb"
    assert main(["ask", str(path), "--student", "ada", "--solutions"]) == 0
    printed = capsys.readouterr().out
    answers = re.findall(r"The answer is (\S+)\.$", printed, re.MULTILINE)
    texts = re.findall(r"^\d\. (.*?)\n\n   The answer", printed, re.MULTILINE | re.DOTALL)
    cells, names = [], {}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code" and not re.search(r"assert|autograder|check\(", cell.source):
            cells.append(cell.source)
            exec(cell.source, names)
    assert len(answers) == len(texts) == 2
    for text, answer in zip(texts, answers, strict=True):
        assert float(answer) == pytest.approx(answer_to(text, cells, names)), text
    assert main(["ask", str(path), "--student", "ada", "--answers", answers[0], "17"]) == 1
    told = capsys.readouterr().out
    assert f"{answers[0]} is right." in told and "17 is wrong." in told and "The answer" not in told


def test_who_has_lost_points_is_not_asked(tmp_path, capsys):
    path = tmp_path / f"{ASSIGNMENT}.ipynb"
    nbformat.write(submission("softmax_over_columns"), path)
    assert main(["ask", str(path)]) == 2
    assert "come after full points" in capsys.readouterr().err


def test_an_assignment_without_such_questions_says_so(monkeypatch, capsys):
    for part in COURSE.load(ASSIGNMENT).parts:
        monkeypatch.setattr(part, "example", None)
    assert main(["ask", str(ROOT / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")]) == 2
    assert f"no questions on one's own code for {ASSIGNMENT}" in capsys.readouterr().err


class Counting(InThisProcess):
    changed = 0

    def run(self, cell, index):
        self.changed += "_note" not in cell.source
        super().run(cell, index)


RIGHT_END = "return torch.softmax(x @ x.T, dim=-1)"
ODD_CODE = {
    "nested deeply": f"y = 0{' + 0' * 400}\n    {RIGHT_END}",
    "notes of its own": f"_seen.append([1, 2, 3])\n    y = [1]\n    {RIGHT_END}",
    "lines that are none": f"_note('\x1b[2J', [x])\n    _note(99, [x])\n    z = x\n    {RIGHT_END}",
    "truth values": f"if x.max() <= 2: return (x @ x.T).sum(dim=-1) > 2\n    {RIGHT_END}",
    "complex numbers": "return torch.softmax(x @ x.T, dim=-1) * 1j",
    "whole numbers": "return (x @ x.T).sum(dim=-1).long()",
    "a million numbers": "return torch.zeros(1 << 20) + x.sum(dim=-1).sum()",
    "a list": "return [torch.softmax(x @ x.T, dim=-1)]",
    "a line of a formula": f"y = (\n  x\n  /\n  2\n)\n    {RIGHT_END}",
    "one line": f"y = x; {RIGHT_END}",
    "what Python does not write": f"y = f\"{{'\u00a0'}}\", 0x1{'0' * 4000}\n    {RIGHT_END}",
    "half a letter": f"y = '->\\ud800ab'\n    {RIGHT_END}",
    "a table": f"y = [{'0,1,' * 40_000}]\n    {RIGHT_END}",
    "arrows": f"y = '{'->' * 90_000}'\n    {RIGHT_END}",
    "numbers on lines of their own": f"y = float(\n'-inf')\n    {RIGHT_END}",
    "letters without end": "y = 1\n" + "    y = 2\n" * 30_000 + f"    {RIGHT_END}",
}


@pytest.mark.parametrize("kind", ODD_CODE)
def test_whatever_the_code_is_an_answer_is_a_number(kind):
    cells = [f"def attention_weights(x):\n    {ODD_CODE[kind]}"]
    for question in asked_of(cells, [weights], {"torch": torch}):
        assert isinstance(question.answer, int | float) and len(question.text) < 5000


@pytest.mark.parametrize("first", ["", "@(\n  torch.no_grad()\n)\n"])
def test_a_definition_that_is_none_by_itself_is_no_error(first):
    scores = "def attention_weights(x):\n    scores = x @ x.T"
    source = f"{first}{scores}\n    return scores.softmax(dim=-1) \\\n\n"
    asked = asked_of([source], WEIGHTS, IMPORTS)
    assert len(asked) == (0 if first else 2)
    assert not any("\\" in question.text for question in asked)


@pytest.mark.parametrize("value", ["->" * 6_000, "a, " * 4_000])
def test_the_largest_definitions_are_looked_through_at_once(value):
    source = (
        f"def attention_weights(x):\n    a = 1\n    y = [{value if ',' in value else repr(value)}]"
    )
    assert in_time(5, lambda: changes_in(source), None) is not None


def test_a_change_is_made_where_it_was_found():
    source = "def f(é, b):\n    s = torch.einsum('é->ab', é)\n    return s.sum(dim=-1) / -0.5"
    lines = source.splitlines()
    changes = {(one.line, one.made_in(lines[one.line - 1]).strip()) for one in changes_in(source)}
    assert changes == {
        (2, "s = torch.einsum('é->ab', b)"),
        (2, "s = torch.einsum('é->ba', é)"),
        (3, "return s.sum(dim=-1) * -0.5"),
        (3, "return s.mean(dim=-1) / -0.5"),
        (3, "return s.sum(dim=0) / -0.5"),
    }


def test_only_some_of_many_changes_are_tried():
    lines = "    y = y + 0\n" * 500
    source = f"def attention_weights(x):\n    y = 1\n{lines}    return x @ x.T * 0"
    kernel = Counting({"torch": torch})
    notebook = new_notebook(cells=[new_code_cell(source)])
    assert drawn_from(kernel, notebook, (weights,), random.Random("ada")) == []
    assert kernel.changed <= MOST + 4


def test_a_line_is_what_python_takes_for_one():
    body = ['"one\x0ctwo\u2028three"', "scores = x @ x.T", "e = torch.exp(scores)"]
    body += ["total = e.sum(dim=-1, keepdim=True)", "return e / total"]
    cells = ["\n    ".join(["def attention_weights(x):", *body])]
    questions = asked_of(cells, [weights], {"torch": torch})
    assert [question.answer for question in questions if "After which" in question.text] == [6]
    for question in questions:
        listed = re.findall(r"^ +(\d+)  ", question.text, re.MULTILINE)
        assert listed in ([], ["1", "2", "3", "4", "5", "6"])
