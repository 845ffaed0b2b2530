"""Grade the grader: right answers earn all, wrong ones and empty ones lose points."""

import re
import subprocess
import sys

import nbformat
import pytest
import torch

from assignments import COURSE, allowed_modules, known, load
from autograder.bank.measure import (
    RIGHT,
    WRONG,
    bank_of,
    ours_may_answer,
    outcome_of,
    verdict_at,
    verdict_on,
)
from autograder.checks.decide import decide, seed_of
from autograder.checks.verdicts import Obstacle
from autograder.probe.probe import answer
from tests.assignments.sample import always, answers_in_sample, shown
from tests.sample_class import ROOT, SUBMISSIONS, answers_in

PARTS = [(name, part) for name in known() for part in load(name).parts]
ANSWERS = [
    always(given in answers_in_sample(name, given.part), name, given)
    for name in known()
    for given in bank_of(name)
    if not given.slow  # `test_slow_answers.py` holds that they are right in every case
]


IDS = {"ids": shown}
POINTS = {
    "a1_rnn_attention": 10,
    "a2_self_attention": 10,
    "a3_scaled_dot_product_attention": 12,
    "a4_masks": 8,
    "a5_multi_head_attention": 15,
    "a6_positional_encoding": 12,
    "a7_dropout_and_layer_norm": 13,  # and 2 for a written answer, graded by hand
    "a8_transformer_layer": 8,
    "a9_transformer": 12,
    "a10_language_models": 12,
    "a11_fast_attention": 12,
    "a12_modern_block": 10,
    "a13_looking_inside": 9,
}


@pytest.fixture(autouse=True)
def _the_course_may_call_itself():
    with ours_may_answer():
        yield


def test_points_are_those_of_the_course():
    found = {name: sum(part.points for part in load(name).parts) for name in known()}
    assert {name: found[name] for name in POINTS} == POINTS


@pytest.mark.parametrize("assignment", known())
def test_allowed_modules_are_read_as_they_would_be_imported(assignment):
    assert allowed_modules(assignment) == (
        *load(assignment).allowed_modules,
        *COURSE.handed_over,
    )


def test_an_unknown_assignment_may_import_what_all_may():
    assert allowed_modules("a99_nonsense") == ("course_utils.signoff", *COURSE.handed_over)


@pytest.mark.parametrize(("assignment", "part"), PARTS, **IDS)
@pytest.mark.parametrize(
    "seeds",
    [
        range(1),
        pytest.param(range(1, 5), marks=pytest.mark.long),
        pytest.param(range(5, 200), marks=pytest.mark.slow),
    ],
    ids=["1", "4", "195"],
)
def test_the_reference_earns_every_point(assignment, part, seeds):
    for seed in seeds:
        verdict = verdict_on(assignment, part, part.reference, cells=[str(seed)])
        assert verdict.earned == part.points, [step for step in verdict.steps if step.problem]
        assert verdict.mistakes == verdict.relations == ()


@pytest.mark.parametrize(("assignment", "given"), ANSWERS, **IDS)
def test_right_answers_earn_all_and_wrong_ones_do_not(assignment, given):
    outcome = judged(assignment, given, seed=0)
    # on these inputs the numbers of docs/grading.md are measured
    assert not outcome.misled, (
        "its author reads what is not said to be true of it. If it is true of this answer, say so in the bank, a "
        "mistake's name by `named=` and anything else by `told=`. If it is not, the check misleads"
    )


@pytest.mark.slow
@pytest.mark.parametrize("assignment", known())
def test_right_answers_earn_all_and_wrong_ones_do_not_with_other_inputs(assignment):
    for given in bank_of(assignment):
        judged(assignment, given, seed=1)


def judged(assignment, given, seed):
    """What became of an answer of the bank; whatever else, it earns all if and only if it is right."""
    part = load(assignment).part(given.part)
    verdict = verdict_at(assignment, part, given.code, seed)
    named = {name for name, _ in verdict.mistakes}
    said = [f"{step.case}: {step.problem}" for step in verdict.steps if step.problem]
    right = verdict.earned == part.points
    assert right == given.right, (given.code.__name__, said, verdict.relations)
    assert right or said
    if given.named:
        assert named and named <= set(given.named), (named, verdict.relations)
    kind = RIGHT if given.right else WRONG
    return outcome_of(assignment, part, kind, verdict, given.named, given.told)


@pytest.mark.parametrize(("assignment", "part"), PARTS, **IDS)
def test_the_bank_is_large_enough(assignment, part):
    answers = [given for given in bank_of(assignment) if given.part == part.name]
    assert sum(given.right for given in answers) >= 5
    assert sum(not given.right for given in answers) + len(part.mistakes) >= 15
    names = [given.code.__name__ for given in answers]
    assert len(set(names)) == len(names), "two answers of one part have the same name"


def constant(*arguments):
    return torch.full((3, 3), 1 / 3)


def copied_input(*arguments):
    return arguments[-1]


def random_array(*arguments):
    tensors = [item for item in arguments if isinstance(item, torch.Tensor)]
    return torch.rand_like(tensors[-1].float()) if tensors else torch.rand(3, 3)


def a_pair_of_inputs(*arguments):
    return arguments[0], arguments[0]


def nothing(*arguments):
    return None


def true(*arguments):
    return True


def false(*arguments):
    return False


def module_that_answers(reference, function):
    """A class with the layers of the reference whose methods compute nothing."""

    class Empty(torch.nn.Module):
        def __init__(self, *construct, **keywords):
            super().__init__()
            try:
                model = reference(*construct, **keywords)
            except ValueError:
                return
            for name, child in model.named_children():
                self.add_module(name, child)
            for name, parameter in model.named_parameters(recurse=False):
                self.register_parameter(name, parameter)

        def forward(self, *arguments):
            return function(*arguments)

        encode = decode = forward

    return Empty


MORE_EMPTY_ANSWERS = [nothing, copied_input, random_array, a_pair_of_inputs, true, false]
EMPTY_ANSWERS = [constant, *(always(False, one) for one in MORE_EMPTY_ANSWERS)]


@pytest.mark.parametrize("function", EMPTY_ANSWERS, ids=lambda function: function.__name__)
@pytest.mark.parametrize(("assignment", "part"), PARTS, **IDS)
def test_no_step_is_earned_by_an_answer_that_computes_nothing(assignment, part, function):
    is_module = isinstance(part.reference, type)
    code = module_that_answers(part.reference, function) if is_module else function
    assert verdict_on(assignment, part, code, cells=["0"]).earned == 0


def test_seeds_differ_by_submission_and_repeat():
    assert seed_of("a2", ["x = 1"]) == seed_of("a2", ["x = 1"])
    assert seed_of("a2", ["x = 1"]) != seed_of("a2", ["x = 2"])


def test_who_does_not_know_the_secret_cannot_tell_the_inputs():
    seeds = {seed_of("a2", ["x = 1"], secret) for secret in ("", "one", "another")}
    assert len(seeds) == 3
    assert seed_of("a2", ["x = 1"], "one") in seeds


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
    assert alone.earned < part.points
    fair = decide(assignment, part, probe, cells, failed_before=["attention_weights"])
    assert fair.earned == part.points
    assert fair.stood_in == ("attention_weights",)
    assert "charged once" in fair.remark


BARRED_NORM = """
class RMSNorm(torch.nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.norm = torch.nn.RMSNorm(features, eps=eps)
        self.weight = self.norm.weight

    def forward(self, x):
        return self.norm(x)
"""


def test_what_an_earlier_part_uses_and_may_not_is_charged_there():
    assignment = load("a12_modern_block")
    solution = nbformat.read(
        ROOT / "solutions" / "a12_modern_block" / "a12_modern_block.ipynb", as_version=4
    )
    answers = [
        cell.source
        for cell in solution.cells
        if re.match(r"(class|def) (apply_rotary|SwiGLU|ModernBlock)\b", cell.source)
    ]
    assert len(answers) == 3
    cells = ["import torch\nfrom torch import nn", BARRED_NORM, *answers]
    namespace = {}
    exec("\n\n".join(cells), namespace)

    def probe(message):
        return answer(message, namespace)

    norm = decide(assignment, assignment.part("RMSNorm"), probe, cells)
    assert norm.earned == 0 and norm.obstacle is Obstacle.DISALLOWED
    block = assignment.part("ModernBlock")
    with ours_may_answer():
        verdict = decide(assignment, block, probe, cells, failed_before=["RMSNorm"])
    assert verdict.earned == block.points
    assert verdict.stood_in == ("RMSNorm",)
    assert "decided with ours in its place" in verdict.remark


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
    from autograder.probe.wire import encode

    assignment = load("a2_self_attention")
    part = assignment.part("attention_weights")
    message = encode([]) if lie == "short" else lie
    assert decide(assignment, part, lambda _: message, [""]).earned == 0


PROBE_PROCESS = """
import sys
import torch
from autograder.probe.probe import answer
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
