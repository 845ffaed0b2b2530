"""Answers that are alike: copies are found in any disguise, and what all were given says nothing."""

import ast
import inspect
import random
import re

import nbformat
import pytest

from assignments import load
from autograder.__main__ import main
from autograder.batch import same_code, student_result
from autograder.batch.alike_page import write_similar_pairs
from autograder.batch.same_code import (
    BUT_FOR_NAMES,
    WORD_FOR_WORD,
    courses_own,
    definitions_in,
    own_code_of_the_course,
    same_answers,
)
from autograder.batch.similarity import (
    OUTSIDE,
    fingerprints,
    prints_of,
    similar_pairs,
)
from autograder.batch.student_result import StudentResult, summary_of
from autograder.checks.verdicts import PartVerdict, StepVerdict
from autograder.grade.report import Report
from course_utils import attention
from tests.autograder.batch import planted
from tests.sample_class import ASSIGNMENT, ROOT, filled_in, hand_in

pytestmark = pytest.mark.long

PARTS = [part.name for part in load(ASSIGNMENT).parts]

ANSWER = """
def attention_weights(x):
    scores = torch.matmul(x, x.transpose(0, 1))
    shifted = scores - scores.max(dim=1, keepdim=True).values
    powers = torch.exp(shifted)
    return powers / powers.sum(dim=1, keepdim=True)
"""
DISGUISED = '''
def attention_weights(words):
    """How much each word looks at each other one."""
    a = torch.matmul(words,
                     words.transpose(0, 1))  # all pairs
    b = (a
         - a.max(dim=1, keepdim=True).values)
    c = torch.exp(b)

    return (c / c.sum(dim=1, keepdim=True))
'''


def prints(*sources):
    return list(fingerprints(sources))


def test_names_layout_comments_and_docstrings_do_not_count():
    assert prints(ANSWER) == prints(DISGUISED)
    assert prints(ANSWER)[0][0] == "attention_weights" and len(prints(ANSWER)[0][1]) > 20


def test_what_is_computed_does():
    assert prints(ANSWER) != prints(ANSWER.replace("dim=1", "dim=0"))
    assert prints(ANSWER) != prints(ANSWER.replace("torch.exp", "torch.log"))


def test_the_order_of_cells_functions_and_methods_does_not_count():
    one, other = (
        "def f(x):\n    return x.a + x.b * 2 - x.c",
        "def g(x):\n    return [x.d for _ in x.e]",
    )
    methods = [
        f"    def {name}(self):\n        return self.{name}(1) + 2 * self.b - 3" for name in "pq"
    ]
    first = "class C:\n" + "\n".join(methods)
    last = "class C:\n" + "\n".join(reversed(methods))
    assert set(prints(one, other, first)) == set(prints(last, f"{other}\n{one}"))


def test_a_cell_that_is_no_python_says_nothing_and_one_with_a_command_does():
    assert prints("def f(:") == [] and prints("x = [" * 5000) == []
    assert prints(f"%matplotlib inline\n{ANSWER}") == prints(ANSWER)
    assert prints("import torch") == []
    assert prints("total = sum(x.a for x in y) + 1 / 2")[0][0] == OUTSIDE


def test_every_likeness_that_is_long_enough_leaves_a_fingerprint():
    signs = [str(random.Random(0).random()) for _ in range(3)] + list("abcdef")
    for before in ([], ["x"], list("xyz")):
        assert prints_of([*before, *signs]) & prints_of([*signs, "y"])
    assert prints_of(list("abcd")) == frozenset()


@pytest.mark.parametrize("assignment", [ASSIGNMENT, "a12_modern_block"])
def test_copies_in_a_class_of_sixty_are_found(assignment):
    found, copies, wrong = planted.measured(assignment, students=60, copies=5)
    assert copies == 5 and found >= 4 and wrong <= 1


@pytest.mark.slow
def test_twenty_copies_in_a_class_of_three_hundred():
    found, copies, wrong = planted.measured("a5_multi_head_attention")
    assert copies == 20 and found >= 18 and wrong <= 3


def test_the_solution_of_all_and_the_release_of_all_say_nothing():
    given = planted.given_out(ASSIGNMENT)
    assert similar_pairs({f"s{number}": given for number in range(20)}, PARTS, given) == []


def test_what_the_whole_class_wrote_says_nothing():
    answers, _ = planted.class_with_copies(ASSIGNMENT, students=20, copies=0)
    answers = {name: [*cells, ANSWER] for name, cells in answers.items()}
    same = {name: ["def own(x):\n" + "    x = x.a(1, 2) + x.b\n" * 9] for name in answers}
    assert similar_pairs(same, PARTS, []) == []
    assert similar_pairs(answers, PARTS, planted.given_out(ASSIGNMENT)) == []


def test_too_few_are_not_compared():
    assert similar_pairs({name: [ANSWER] for name in "abcd"}, PARTS, []) == []


WRONG = ANSWER.replace("dim=1", "dim=0")


def said_of(compare, answers, taught):
    """What one of the comparisons of whole definitions finds in code cells."""
    defined = {name: [*definitions_in(cells, PARTS)] for name, cells in answers.items()}
    return compare(defined, PARTS, [*definitions_in(taught, PARTS)])


def test_the_courses_own_code_is_said_to_be_that_word_for_word_or_but_for_names():
    answers = {
        "ada": [ANSWER.replace("scores", "s")],
        "ben": ["import torch", f"%matplotlib inline\n# mine\n{ANSWER}"],
        "cem": [WRONG],
        "dan": ["def attention_weights(x):\n    return torch.softmax(x @ x.T, dim=-1)"],
    }
    taught = ["def attention_weights(x):\n    return torch.softmax(x @ x.T, dim=-1)", ANSWER]
    assert said_of(own_code_of_the_course, answers, taught) == {
        "ada": {"attention_weights": BUT_FOR_NAMES},
        "ben": {"attention_weights": WORD_FOR_WORD},
    }
    assert said_of(own_code_of_the_course, answers, []) == {}


def test_identical_answers_are_listed_however_small_the_class():
    answers = {
        "ada": [WRONG],
        "ben": [f"{WRONG}# other words"],
        "cem": [ANSWER],
        "dan": [DISGUISED],
    }
    assert said_of(same_answers, answers, []) == [["ada", "ben"]]
    assert said_of(same_answers, {**answers, "eve": [ANSWER]}, []) == [
        ["ada", "ben"],
        ["cem", "eve"],
    ]
    assert said_of(same_answers, {**answers, "eve": [ANSWER]}, [ANSWER]) == [["ada", "ben"]]
    short = {name: ["def attention_weights(x):\n    return x"] for name in "ab"}
    assert said_of(same_answers, short, []) == []


def report_on(code, earned=1.0):
    """What became of a notebook with this code as its answer."""
    step = StepVerdict("weighs", earned, 1.0, "a case", "")
    verdict = PartVerdict("attention_weights", "attention_weights(x)", (step,))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    return Report(verdicts={"attention_weights": verdict}, notebook=nbformat.writes(notebook))


TAUGHT = [*definitions_in([ANSWER], PARTS)]


def test_the_courses_own_code_is_hinted_at_where_it_earned_points():
    """Code that is handed out to be repaired is the course's own, too, and nobody need hear of it."""
    found = {"attention_weights": WORD_FOR_WORD}
    assert summary_of("ada", report_on(f"{ANSWER}# mine"), TAUGHT).courses_own == found
    assert courses_own(report_on(ANSWER, earned=0.0), TAUGHT) == {}
    assert courses_own(report_on(WRONG), TAUGHT) == {}


def test_code_that_takes_too_long_to_compare_is_not_compared(monkeypatch):
    assert courses_own(report_on(ANSWER * 200), TAUGHT)
    monkeypatch.setattr(same_code, "SECONDS_TO_COMPARE", 0.001)
    assert courses_own(report_on(ANSWER * 200), TAUGHT) == {}


UNWRITABLE = {
    "too deep": "1+" * 1000 + "1",
    "a no-break space": "f\"{'\u00a0'.join(map(str, x))}\"",
    "a long number": "0x1" + "0" * 4000,
}


@pytest.mark.parametrize("kind", UNWRITABLE)
def test_an_expression_that_cannot_be_written_down_spoils_nobodys_comparison_nor_row(kind):
    odd = f"def attention_weights(x):\n    return {UNWRITABLE[kind]}"
    assert ast.parse(odd)  # so that there is something to write down
    answers = {"ada": [WRONG], "ben": [WRONG], "eve": [odd]}
    assert said_of(same_answers, answers, []) == [["ada", "ben"]]
    list(fingerprints([odd]))
    summary = summary_of("eve", report_on(f"{WRONG}\n\n{odd}"), TAUGHT)
    assert summary.courses_own == {} and not summary.broken and not summary.reasons


def test_a_hint_that_fails_costs_nobody_the_row(monkeypatch):
    def fails(*_):
        raise ValueError("odd")

    monkeypatch.setattr(student_result, "courses_own", fails)
    summary = summary_of("eve", report_on(WRONG), TAUGHT)
    assert not summary.broken and summary.signatures
    assert summary.reasons == (
        "the grader itself failed while comparing answers with the course's own code: ValueError: odd",
    )


def test_long_numbers_are_told_apart():
    one, other = (f"def f(x):\n    return x + 0x{digit}{'0' * 4000} * x - x" for digit in "12")
    assert prints(one) and prints(one) != prints(other)


def handed_in(course, answers):
    """A class's answers in a course folder, as students hand them in, in cells of their own."""
    release = nbformat.read(ROOT / f"exercises/{ASSIGNMENT}/{ASSIGNMENT}.ipynb", as_version=4)
    notebooks = {}
    for name, cells in answers.items():
        notebook = notebooks[name] = nbformat.from_dict(release)
        notebook.cells = [*release.cells, *map(nbformat.v4.new_code_cell, cells)]
    hand_in(course, {name: nbformat.writes(notebook) for name, notebook in notebooks.items()})


def test_the_page_is_for_the_instructor_and_shows_both_answers(tmp_path):
    answers, copies = planted.class_with_copies(ASSIGNMENT, students=24, copies=2)
    handed_in(tmp_path, {**answers, "broken": []})
    (tmp_path / f"submitted/broken/{ASSIGNMENT}/{ASSIGNMENT}.ipynb").write_text("{")
    (tmp_path / "grading" / ASSIGNMENT).mkdir(parents=True)
    rows = [StudentResult(name, 0, 0, possible=dict.fromkeys(PARTS, 1.0)) for name in answers]
    page = write_similar_pairs(tmp_path, ASSIGNMENT, rows).read_text(encoding="utf-8")
    named = set(re.findall(r"<h2>(\w+) and (\w+)</h2>", page))
    assert copies <= named
    assert "24 submissions were compared" in page and "for the instructor alone" in page
    assert page.count("<pre>") == 2 * page.count("<details>") > 0
    assert "What I do here." in page, "the code stands there as it was handed in"


def test_only_who_asks_gets_the_page(tmp_path):
    pasted = inspect.getsource(attention.is_permutation_equivariant)
    handed_in(tmp_path, {"ada": [WRONG], "ben": [WRONG], "eve": [DISGUISED]})
    hand_in(tmp_path, {"sol": filled_in({"is_permutation_equivariant": pasted})})
    command = [
        "grade",
        ASSIGNMENT,
        "--course",
        str(tmp_path),
        "--no-feedback",
        "--isolation",
        "none",
    ]
    main(command)
    place = tmp_path / "grading" / ASSIGNMENT
    table = (place / "class.csv").read_text(encoding="utf-8-sig").splitlines()
    said = [line.split(",")[0] for line in table if "is_permutation_equivariant word for" in line]
    assert said == ["sol"]
    assert not (place / "alike.html").exists()
    main([*command, "--alike"])
    page = (place / "alike.html").read_text(encoding="utf-8")
    assert "too few" in page
    assert "<li>ada, ben</li>" in page
    assert "<li>sol: <code>is_permutation_equivariant</code> word for word</li>" in page
    assert "eve" not in (place / "class.html").read_text(encoding="utf-8")
