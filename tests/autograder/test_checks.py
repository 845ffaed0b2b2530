"""Grade the grader: right answers earn all, wrong ones lose points, named mistakes are named."""

import subprocess
import sys

import pytest
import torch

from autograder.check import Part
from autograder.checks import known, load
from autograder.probe import answer
from autograder.verdict import decide, seed_of
from tests.sample_class import SUBMISSIONS, answers_in

PARTS = [(name, part) for name in known() for part in load(name).parts]
MISTAKES = [(name, part, mistake) for name, part in PARTS for mistake in part.mistakes]
IDS = {"ids": lambda value: getattr(value, "name", value)}


def verdict_on(assignment: str, part: Part, function, cells=("",), **namespace):
    namespace[part.name] = function
    return decide(
        load(assignment), part, lambda message: answer(message, namespace), cells=list(cells)
    )


@pytest.mark.parametrize(("assignment", "part"), PARTS, **IDS)
def test_the_reference_earns_every_point(assignment, part):
    for seed in range(20):
        verdict = verdict_on(assignment, part, part.reference, cells=[str(seed)])
        assert verdict.earned == part.points, [step for step in verdict.steps if step.problem]
        assert verdict.mistakes == ()


@pytest.mark.parametrize(("assignment", "part", "mistake"), MISTAKES, **IDS)
def test_a_named_mistake_loses_points_and_is_named(assignment, part, mistake):
    for seed in range(5):
        verdict = verdict_on(assignment, part, mistake.answer, cells=[str(seed)])
        assert verdict.earned < part.points
        assert [name for name, _ in verdict.mistakes] == [mistake.name]


def constant(*arguments):
    return torch.full((3, 3), 1 / 3)


def copied_input(*arguments):
    return arguments[-1]


def random_array(*arguments):
    return torch.rand_like(arguments[-1].float())


def a_pair_of_inputs(*arguments):
    return arguments[0], arguments[0]


def nothing(*arguments):
    return None


def true(*arguments):
    return True


def false(*arguments):
    return False


EMPTY_ANSWERS = [constant, copied_input, random_array, a_pair_of_inputs, nothing, true, false]


@pytest.mark.parametrize(("assignment", "part"), PARTS, **IDS)
@pytest.mark.parametrize("function", EMPTY_ANSWERS, ids=lambda function: function.__name__)
def test_no_step_is_earned_by_an_answer_that_computes_nothing(assignment, part, function):
    assert verdict_on(assignment, part, function).earned == 0


@pytest.mark.parametrize(("assignment", "part"), PARTS, **IDS)
def test_points_are_those_of_the_course(assignment, part):
    points = {
        "attention_weights": 3,
        "basic_self_attention": 2,
        "self_attention": 3,
        "is_permutation_equivariant": 2,
    }
    assert part.points == points[part.name]
    assert sum(part.points for part in load("a2_self_attention").parts) == 10


def test_seeds_differ_by_submission_and_repeat():
    assert seed_of("a2", ["x = 1"]) == seed_of("a2", ["x = 1"])
    assert seed_of("a2", ["x = 1"]) != seed_of("a2", ["x = 2"])


def test_an_error_in_an_earlier_part_is_not_charged_again():
    assignment = load("a2_self_attention")
    part = assignment.part("basic_self_attention")
    cells = [
        "def attention_weights(x):\n    return (x @ x.T).softmax(0)",
        "def basic_self_attention(x):\n    w = attention_weights(x)\n    return w @ x, w",
    ]
    namespace = {}
    exec("\n".join(cells), namespace)

    def probe(message):
        return answer(message, namespace)

    alone = decide(assignment, part, probe, cells)
    assert alone.earned == 0
    fair = decide(assignment, part, probe, cells, failed_before=["attention_weights"])
    assert fair.earned == part.points
    assert fair.stood_in == ("attention_weights",)
    assert "charged once" in fair.remark


def test_a_barred_function_earns_nothing_and_is_named():
    assignment = load("a2_self_attention")
    part = assignment.part("self_attention")
    source = (
        "def self_attention(q, k, v):\n    return F.scaled_dot_product_attention(q, k, v, scale=1)"
    )
    namespace = {"F": torch.nn.functional}
    exec(source, namespace)
    verdict = decide(assignment, part, lambda message: answer(message, namespace), [source])
    assert verdict.earned == 0
    assert "`F.scaled_dot_product_attention`" in verdict.remark


def test_a_typing_error_is_shown_with_its_line():
    assignment = load("a2_self_attention")
    part = assignment.part("attention_weights")
    verdict = decide(
        assignment,
        part,
        lambda message: answer(message, {}),
        ["def attention_weights(x)\n    return x"],
    )
    assert verdict.earned == 0
    assert "Line 1, `def attention_weights(x)`" in verdict.remark


@pytest.mark.parametrize("lie", [b"", b"junk", "short"])
def test_answers_that_are_no_answers_earn_nothing(lie):
    from autograder.wire import encode

    assignment = load("a2_self_attention")
    part = assignment.part("attention_weights")
    message = encode([]) if lie == "short" else lie
    assert decide(assignment, part, lambda _: message, [""]).earned == 0


PROBE_PROCESS = """
import sys
import torch
from autograder.probe import answer
namespace = {"torch": torch}
exec(sys.argv[1], namespace)
sys.stdout.buffer.write(answer(sys.stdin.buffer.read(), namespace))
"""


@pytest.mark.parametrize("student", ["right_loops", "softmax_over_columns", "half_finished"])
def test_the_probe_may_run_in_another_process_with_the_same_verdict(student):
    assignment = load("a2_self_attention")
    source = "\n".join(answers_in(SUBMISSIONS / f"{student}.py").values())
    namespace = {"torch": torch}
    exec(source, namespace)

    def elsewhere(message: bytes) -> bytes:
        command = [sys.executable, "-c", PROBE_PROCESS, source]
        return subprocess.run(command, input=message, capture_output=True, check=True).stdout

    part = assignment.part("attention_weights")
    here = decide(assignment, part, lambda message: answer(message, namespace), [source])
    there = decide(assignment, part, elsewhere, [source])
    assert there == here


def test_an_unknown_assignment_or_part_is_named_with_those_there_are():
    with pytest.raises(LookupError, match=r"no assignment 'a99'.*a2_self_attention"):
        load("a99")
    with pytest.raises(KeyError, match=r"no part 'nonsense'.*attention_weights"):
        load("a2_self_attention").part("nonsense")
