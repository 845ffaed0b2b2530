"""Answers that are alike, and those that are the course's own code: copies are named, and natural lines are not."""

import ast
import csv
import inspect
import random
import textwrap
import time
from itertools import combinations

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from assignments import known
from autograder.__main__ import main
from autograder.bank.measure import bank_of
from autograder.batch import student_result
from autograder.batch.same_code import courses_own, definitions_in, given_out, taught_by
from autograder.batch.similarity import similar_pairs
from autograder.batch.student_result import summary_of
from autograder.checks.verdicts import PartVerdict, StepVerdict
from autograder.grade.report import Report
from course_utils import attention
from tests.sample_class import ASSIGNMENT, ROOT, filled_in, hand_in

pytestmark = pytest.mark.long

ANSWER = """
def attention_weights(x):
    if x.ndim != 2 or x.shape[1] < 1:
        raise ValueError(f"expected words in rows, found {x.shape}")
    scores = torch.matmul(x, x.transpose(0, 1))
    largest = scores.max(dim=1, keepdim=True)
    shifted = scores - largest.values
    powers = torch.exp(shifted)
    return powers / powers.sum(dim=1, keepdim=True)
"""
DISGUISED = '''
import math
def attention_weights(words: torch.Tensor) -> torch.Tensor:
    """How much each word looks at each other one."""
    if (words.ndim != 2
            or words.shape[1] < 1):
        raise ValueError(f"what is {words.shape}?")
    a = torch.matmul(words,
                     words.transpose(0, 1))  # all pairs
    m = (a.max(dim=1, keepdim=True))
    b = a - m.values
    c = torch.exp(b)

    return (c / c.sum(dim=1, keepdim=True))
'''
LOOPS = """
def attention_weights(x):
    rows = []
    for word in x:
        powers = [math.exp(float(word @ other)) for other in x]
        rows.append([power / sum(powers) for power in powers])
    return torch.tensor(rows)
"""
PART = "attention_weights"


def named(**answers):
    return [pair[:2] for pair in similar_pairs({one: [code] for one, code in answers.items()}, [])]


def test_a_copy_is_named_in_any_disguise_and_another_way_is_not():
    assert named(ada=ANSWER, ben=DISGUISED, eve=LOOPS) == [("ada", "ben")]
    assert named(ada=ANSWER, ben=ANSWER.replace("torch.exp(shifted)", "shifted ** 2")) == []


def test_what_was_given_out_and_what_is_short_say_nothing():
    alike = {"ada": [ANSWER], "ben": [ANSWER]}
    assert similar_pairs(alike, [ANSWER]) == []
    assert similar_pairs(alike, given_out(ROOT, ASSIGNMENT)) == [("ada", "ben", 1.0)]
    line = f"def {PART}(x):\n    return (x @ x.mT).softmax(dim=-1)"
    assert named(ada=line, ben=line) == []


def test_what_cannot_be_read_says_nothing():
    deep, long = "x = " + "-" * 90_000 + "x", "y = " + "+".join(["x"] * 50_000)
    began = time.process_time()
    for odd in ("", "def f(:", deep, long, 'x = "\\d"', "x = '\ud800'"):
        assert named(ada=odd, ben=odd) == [] or odd == long
    assert time.process_time() - began < 30


def right_answers(assignment):
    """The texts of a bank's right answers by part, with those that they inherit from."""
    found = {}
    for answer in bank_of(assignment):
        if answer.right:
            kinds = getattr(answer.code, "__mro__", [answer.code])
            ours = [kind for kind in kinds if kind.__module__.startswith("assignments")]
            text = "\n".join(textwrap.dedent(inspect.getsource(kind)) for kind in reversed(ours))
            tree = ast.parse(text)
            for definition in tree.body:
                definition.decorator_list = []
            tree.body[-1].name = answer.part
            found.setdefault(answer.part, []).append(ast.unparse(tree))
    return found


def test_of_right_answers_to_one_part_hardly_two_are_alike():
    """As the guide says: without a part beside them, which is where most is alike."""
    pairs = alike = 0
    for assignment in known():
        given = given_out(ROOT, assignment)
        for part, texts in right_answers(assignment).items():
            taught = taught_by(ROOT, assignment, [part])
            assert not definitions_in(texts, [part]) & taught
            answers = {f"{place:02}": [text] for place, text in enumerate(texts)}
            pairs += len([*combinations(answers, 2)])
            alike += len(similar_pairs(answers, given))
    assert pairs > 3_000 and alike <= 0.003 * pairs, (alike, pairs)


def copied(texts, chance):
    """Answers with every name of a variable changed, a docstring in front, and in another order."""
    cells = [
        text.replace("scores", "my_scores").replace("weights)", "my_weights)") for text in texts
    ]
    chance.shuffle(cells)
    return [f'"""What I do here."""\n{cell}  # so' for cell in cells]


@pytest.mark.parametrize("assignment", [ASSIGNMENT, "a4_masks"])
def test_copies_in_a_class_are_named_and_nobody_else(assignment):
    """Each student takes one of the bank's right answers to every part."""
    chance, bank = random.Random(1), right_answers(assignment)
    answers = {f"a{place:02}": [*map(chance.choice, bank.values())] for place in range(40)}
    copies = {(one, f"c{one}"): copied(answers[one], chance) for one in ("a03", "a17", "a31")}
    answers |= {copy: cells for (_, copy), cells in copies.items()}
    found = similar_pairs(answers, given_out(ROOT, assignment))
    assert {pair[:2] for pair in found} == set(copies)


# ------------------------------------------------------------------------- the course's own code


def report_on(code, earned=1.0):
    """What became of a notebook with this code as its answer."""
    step = StepVerdict("weighs", earned, 1.0, "a case", "")
    verdict = PartVerdict(PART, f"{PART}(x)", (step,))
    notebook = nbformat.writes(new_notebook(cells=[new_code_cell(code)]))
    return Report(verdicts={PART: verdict}, notebook=notebook)


TAUGHT = definitions_in([ANSWER], [PART])


def test_the_courses_own_code_is_said_to_be_that_where_it_earned_points():
    assert summary_of("ada", report_on(f"%matplotlib inline\n# mine\n{ANSWER}"), TAUGHT).courses_own == (PART,)  # fmt: skip
    assert courses_own(report_on(ANSWER, earned=0.0), TAUGHT) == ()
    assert courses_own(report_on(DISGUISED), TAUGHT) == courses_own(report_on(LOOPS), TAUGHT) == ()


def test_a_line_or_two_that_the_text_dictates_are_nobodys():
    lines = [f"def {PART}(x):\n    scores = x @ x.T\n    return scores.softmax(dim=-1)"]
    assert not definitions_in(lines, [PART])


@pytest.mark.parametrize("odd", ["1+" * 1000 + "1", "f\"{'\u00a0'.join(map(str, x))}\"", "0x1" + "0" * 4000])  # fmt: skip
def test_an_expression_that_cannot_be_written_down_spoils_nobodys_row(odd):
    summary = summary_of("eve", report_on(f"{LOOPS}\n\ndef {PART}(x):\n    return {odd}"), TAUGHT)
    assert summary.courses_own == () and not summary.broken and not summary.reasons


def test_code_that_is_long_is_not_compared():
    assert courses_own(report_on(ANSWER * 900), TAUGHT) == ()


def test_a_hint_that_fails_costs_nobody_the_row(monkeypatch):
    def fails(*_):
        raise ValueError("odd")

    monkeypatch.setattr(student_result, "courses_own", fails)
    summary = summary_of("eve", report_on(LOOPS), TAUGHT)
    assert not summary.broken and summary.signatures
    assert summary.reasons == (
        "the grader itself failed while comparing answers with the course's own code: ValueError: odd",
    )


# --------------------------------------------------------------------------------- as it is typed


def test_only_who_asks_gets_the_table(tmp_path):
    pasted = inspect.getsource(attention.self_attention)
    hand_in(tmp_path, {"sol": filled_in({"self_attention": pasted})})
    for name in ("ada", "ben"):
        hand_in(tmp_path, {name: filled_in({PART: ANSWER})})
    hand_in(tmp_path, {"eve": filled_in({PART: LOOPS})})
    command = ["grade", ASSIGNMENT, "--course", str(tmp_path), "--no-feedback", "--isolation", "none"]  # fmt: skip
    main(command)
    place = tmp_path / "grading" / ASSIGNMENT
    assert not (place / "alike.csv").exists()
    main([*command, "--alike"])
    with (place / "alike.csv").open(encoding="utf-8-sig", newline="") as file:
        assert [*csv.reader(file)] == [["student", "and", "% in common"], ["ada", "ben", "100"]]
    own = (place / "alike" / "ada.py").read_text(encoding="utf-8")
    assert ANSWER.strip() in own and "assert" not in own
