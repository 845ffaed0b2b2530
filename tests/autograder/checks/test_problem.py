"""What decides reads data: put into other words, a verdict is the same."""

import re
from dataclasses import replace

import pytest
import torch

from assignments import load
from autograder.bank.measure import attempts_at, ours_may_answer, verdict_on
from autograder.checks import axes, compare, decide, heatmaps, judge
from autograder.checks.drawn_cases import CaseRun, DrawnCases
from autograder.checks.explain.differences import relations_in
from autograder.checks.judge import in_words
from autograder.checks.problem import Kind, Problem, as_problem
from autograder.checks.verdicts import WORDS, Obstacle
from autograder.grade.feedback_page import Mark, Section, Task
from autograder.probe.messages import Ending, Observation

SELF_ATTENTION = load("a2_self_attention").part("self_attention")
BASIC = load("a2_self_attention").part("basic_self_attention")


@pytest.fixture(autouse=True)
def _the_course_may_call_itself():
    with ours_may_answer():
        yield


@pytest.fixture
def in_other_words(monkeypatch):
    """Every problem says something else."""

    def otherwise(kind, message, inside=()):
        return Problem(kind, "fnord", inside)

    for module in (compare, judge):
        monkeypatch.setattr(module, "Problem", otherwise)


def changes_its_value(query, key, value):
    output = SELF_ATTENTION.reference(query, key, value)
    value.data += 1
    return output


def in_float32(query, key, value):
    return SELF_ATTENTION.reference(query.float(), key.float(), value.float())


@pytest.mark.parametrize(
    ("code", "name"), [(changes_its_value, "inputs changed"), (in_float32, "another dtype")]
)
def test_what_is_said_of_the_form_does_not_hang_on_words(code, name, in_other_words):
    attempts = attempts_at(SELF_ATTENTION, code)
    assert {str(item.problem) for item in attempts if item.problem} == {"fnord"}
    assert next(found for found, _ in relations_in(attempts)) == name


def test_modes_that_are_left_changed_are_seen_in_other_words(in_other_words):
    part = load("a9_transformer").part("greedy_decode")

    def left_in_train_mode(model, *arguments, **keywords):
        found = part.reference(model, *arguments, **keywords)
        model.train(not model.training)
        return found

    names = [name for name, _ in relations_in(attempts_at(part, left_in_train_mode))]
    assert "modes left changed" in names


def test_results_get_their_names_in_other_words(in_other_words):
    attempts = attempts_at(BASIC, lambda x: (x + 1, x))
    assert in_words(next(item for item in attempts if item.problem)) == "in `z`, fnord"


def test_an_entry_without_a_letter_is_found_in_other_words(monkeypatch):
    def pictured():
        drawn = DrawnCases(load("a5_multi_head_attention").part("split_heads"), 0)
        wrong = drawn.expected[0].value.clone()
        wrong.view(-1)[0] = 9.0
        found, _ = heatmaps.pictured(CaseRun(drawn, 0, Observation(status="returned", value=wrong)))
        return found

    monkeypatch.setattr(heatmaps, "axes_of", lambda *_: [axes.Axis.numbered(n) for n in range(4)])
    plain = pictured()
    assert "index 0 of axis 0, index 0 of axis 1" in plain.message
    numbered = axes.Axis.numbered
    monkeypatch.setattr(
        heatmaps, "axes_of", lambda *_: [replace(numbered(n), one="thing") for n in range(4)]
    )
    assert pictured() == plain


def test_a_part_without_an_answer_is_known_in_other_words(monkeypatch):
    def unanswered(*arguments):
        raise NotImplementedError

    monkeypatch.setitem(WORDS, Obstacle.UNANSWERED, "fnord")
    monkeypatch.setattr(decide, "why_unanswered", lambda *_: "fnord")
    verdict = verdict_on("a2_self_attention", SELF_ATTENTION, unanswered)
    assert verdict.remark == "fnord"
    task = Task("check_x", "x", "X", "", 1.0, False)
    assert not Section(task, Mark(0.0, 1.0), verdict).answered


def test_what_graded_notebooks_once_held_is_still_known():
    assert [Obstacle(words) for words in WORDS.values()] == [Obstacle(kind) for kind in WORDS]
    with pytest.raises(ValueError, match="nonsense"):
        Obstacle("nonsense")


def test_a_plain_sentence_of_a_judge_is_a_problem():
    assert as_problem("too few") == Problem(Kind.JUDGED, "too few")
    assert as_problem(None) is None
    held = Problem(Kind.SHAPE, "too few")
    assert as_problem(held) is held


def test_results_inside_results_are_named_from_outside():
    right = (torch.ones(2), (torch.ones(2), torch.zeros(2)))
    problem = compare.values_agree(right, (torch.ones(2), (torch.ones(2), torch.ones(2))))
    assert (problem.kind, problem.inside) == (Kind.NUMBERS, (1, 1))
    assert str(problem).startswith("in the second result, in the second result, expected")
    assert problem.in_words(["", "pair"]).startswith("in `pair`, in the second result, expected")
    fifth = replace(problem, inside=(4,))
    assert re.match("in result 5, ", fifth.in_words(["a", "b", "c"]))


LATE = {
    ("while True: pass", False): "takes less than 0.1. It was in the line `while True: pass`. Does this loop come to an",
    ("total += x[i]", False): "no answer within 5 seconds of processor time; ours takes less than 0.1. It was in the line",
    ("", False): "ours takes less than 0.1. It was stopped",
    ("time.sleep(9)", True): "in which it computed next to nothing. It was in the line `time.sleep(9)`. What does it wait",
}  # fmt: skip


@pytest.mark.parametrize(("line", "waited"), LATE)
def test_of_what_took_too_long_is_said_what_was_seen(line, waited):
    seen = Observation(status="timeout", seconds=5.0, waited=waited, line=line)
    item = CaseRun(DrawnCases(BASIC, 1), 0, seen)
    problem = judge.problem_with(item)
    assert problem.kind is Kind.TIME_LIMIT and LATE[line, waited] in problem.message
    assert ("come to an end?" in problem.message) == line.startswith("while")


@pytest.mark.parametrize("how", Ending)
def test_of_a_process_that_ended_is_said_how(how):
    item = CaseRun(DrawnCases(BASIC, 1), 0, Observation(status="ended", ended=how))
    problem = judge.problem_with(item)
    assert ("os._exit" in problem.message) == (how is Ending.EXIT)
    assert ("memory" in problem.message) == (how is Ending.KILLED)
