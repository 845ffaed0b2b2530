"""Wrong answers that nothing explains stand together on the page where they do the same."""

import re

import msgspec
import pytest

from assignments import load
from autograder.bank.measure import ours_may_answer, verdict_on
from autograder.batch.class_report import as_page
from autograder.checks.behaviour import behaviour_of, is_unexplained
from autograder.checks.verdicts import Behaviour
from autograder.probe.probe import answer
from tests.sample_class import ASSIGNMENT, answers_in, filled_in, grade, hand_in
from tests.sample_class import SUBMISSIONS as FILES

PART = "attention_weights"
# none of the three has a name, and the first two compute the same
ODD = """
def attention_weights(x):
    scores = x @ x.T
    return torch.softmax(scores + 3 * torch.tanh(scores), dim=-1)
"""
SAME = """
def attention_weights(words):
    likeness = torch.stack([words @ word for word in words])
    rows = [(one + one.tanh() * 3).softmax(0) for one in likeness]
    return torch.stack(rows)
"""
OTHER = ODD.replace("3", "4")


def seen(code, secret=""):
    namespace = {}
    exec(f"import torch\n{code}", namespace)  # as a kernel would
    assignment = load(ASSIGNMENT)
    return behaviour_of(
        assignment, assignment.part(PART), lambda asked: answer(asked, namespace), (), secret
    )


def test_what_does_the_same_is_the_same_however_it_is_written():
    assert seen(ODD).same_as(seen(SAME)) and seen(SAME).same_as(seen(ODD))
    assert not seen(ODD).same_as(seen(OTHER))
    assert not seen(ODD).same_as(seen(ODD, "another course's secret")), "its inputs are others"


@pytest.mark.parametrize(
    "ending",
    [
        "return None",
        "return 1 / 0",
        "return x[0]",
        "return x.log()",
        "return ['a', 1]",
        "return 10**400",
        "return x.double() * 0 + 1e308",
        "return (x.double() * 0 + 1e308).numpy()",
        "return x * 0 + 1e38",
    ],
)
@pytest.mark.filterwarnings("error")
def test_whatever_comes_back_has_a_behaviour(ending):
    code = f"def attention_weights(x):\n    {ending}"
    assert seen(code).same_as(seen(code)) and not seen(code).same_as(seen(ODD))
    # as it travels, where a number without end is none
    assert msgspec.json.decode(msgspec.json.encode(seen(code)), type=Behaviour) == seen(code)


def test_no_message_is_no_behaviour():
    assignment = load(ASSIGNMENT)
    assert behaviour_of(assignment, assignment.part(PART), lambda _: b"") is None


@pytest.mark.long
def test_the_page_puts_those_together_who_did_the_same(tmp_path):
    right = answers_in(FILES / "right_loops.py")
    given = {"ada": ODD, "bob": SAME, "eve": OTHER, "joe": SAME.replace("likeness", "s")}
    hand_in(tmp_path, {name: filled_in({**right, PART: code}) for name, code in given.items()})
    rows = grade(tmp_path)
    findings = {row.student: row.findings[0] for row in rows}
    assert all(item.part == PART and not item.mistakes for item in findings.values())
    assert all(item.behaviour for item in findings.values()), "nothing else explains them"
    lines = re.findall(r"<summary>(.*?)</summary>", as_page(ASSIGNMENT, "", rows, ""), re.DOTALL)
    told = [" ".join(re.sub("<[^>]+>", "", line).split()) for line in lines]
    assert [line.split()[0] for line in told] == ["3", "1"]
    assert ["(all with the same results)" in line for line in told] == [True, False]


@pytest.mark.long
def test_what_is_explained_or_right_is_not_asked_again(rows):
    for row in rows.values():
        for item in row.findings:
            explained = item.mistakes or item.relations or item.obstacle
            assert item.behaviour is None or not explained


def test_a_right_part_is_not_unexplained():
    assignment = load(ASSIGNMENT)
    part = assignment.part(PART)

    with ours_may_answer():
        assert not is_unexplained(verdict_on(ASSIGNMENT, part, part.reference))
