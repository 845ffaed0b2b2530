"""Why there is no answer to decide; and no right answer loses by an earlier one that is not there."""

import math

import nbformat
import pytest
import torch
from msgspec.structs import replace

from assignments import load
from autograder.checks.decide import decide
from autograder.checks.missing import (
    StoppedCell,
    Surroundings,
    is_unanswered,
    why_missing,
)
from autograder.checks.verdicts import Obstacle
from autograder.probe.messages import ErrorSeen
from autograder.probe.probe import answer
from tests.sample_class import ROOT

UNANSWERED = 'raise NotImplementedError("not answered yet")'


def decided(assignment, part, cells, failed_before=(), handed_out=""):
    """The verdict on cells that are run in a namespace of their own, as a notebook's are."""
    namespace = {"torch": torch, "nn": torch.nn, "math": math, "F": torch.nn.functional}
    for cell in cells:
        exec(cell, namespace)
    checks = load(assignment)

    def probe(message):
        return answer(message, namespace)

    return decide(checks, checks.part(part), probe, cells, failed_before, handed_out=handed_out)


def unanswered(signature):
    return f"def {signature}:\n    {UNANSWERED}\n"


BASIC = """
def basic_self_attention(x):
    weights = attention_weights(x)
    return weights @ x, weights
"""
SOFTMAX_OF_INTEGERS = "def attention_weights(x):\n    return (x @ x.T).long().softmax(-1)\n"


@pytest.mark.parametrize("earlier", [unanswered("attention_weights(x)"), SOFTMAX_OF_INTEGERS])
def test_a_right_part_keeps_its_points_whatever_the_earlier_one_does(earlier):
    cells = [earlier, BASIC]
    verdict = decided("a2_self_attention", "basic_self_attention", cells, ["attention_weights"])
    assert verdict.right and verdict.stood_in == ("attention_weights",)


def test_an_unanswered_part_after_an_unanswered_one_is_not_answered():
    cells = [unanswered("attention_weights(x)"), unanswered("basic_self_attention(x)")]
    verdict = decided("a2_self_attention", "basic_self_attention", cells, ["attention_weights"])
    assert verdict.obstacle is Obstacle.UNANSWERED
    assert verdict.remark == "This part is not answered yet."


def test_an_error_of_pytorch_is_no_missing_answer():
    verdict = decided("a2_self_attention", "attention_weights", [SOFTMAX_OF_INTEGERS])
    assert verdict.obstacle is Obstacle.NONE
    assert "not implemented for" in verdict.steps[0].problem


def test_a_class_as_it_was_given_out_has_no_answer_beside_its_raise_line():
    methods = ["__init__(self, d_model, d_ff)", "forward(self, x)"]
    lines = ["class SwiGLU(torch.nn.Module):"]
    for method in methods:
        lines.append(f"    def {method}:")
        lines += ["        super().__init__()"] * method.startswith("__init__")
        lines.append(f"        {UNANSWERED}")
    cell = "import torch\n\n\n" + "\n".join(lines) + "\n"
    verdict = decided("a12_modern_block", "SwiGLU", [cell])
    assert verdict.obstacle is Obstacle.UNANSWERED
    assert verdict.remark == "This part is not answered yet."


def test_a_raise_line_that_was_kept_is_named():
    cell = f"def attention_weights(x):\n    {UNANSWERED}\n    return (x @ x.T).softmax(-1)\n"
    verdict = decided("a2_self_attention", "attention_weights", [cell])
    assert verdict.obstacle is Obstacle.NONE and verdict.earned == 0
    assert "Take that line out" in verdict.remark and "not answered" not in verdict.remark


def norm(forward):
    return f"""
class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
{forward}
"""


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        ("\n    def foward(self, x):\n        return x", "yours is called `foward`"),
        ("\n        def forward(self, x):\n            return x", "written inside `__init__`"),
    ],
)
def test_a_forward_that_is_not_found_is_not_called_unanswered(forward, message):
    verdict = decided("a7_dropout_and_layer_norm", "LayerNorm", [norm(forward)])
    assert verdict.obstacle is Obstacle.NONE
    assert message in verdict.remark


def test_the_released_line_is_known_with_and_without_its_source():
    error = ErrorSeen("NotImplementedError", [], "x", "raise NotImpl")
    assert is_unanswered(error)
    assert is_unanswered(replace(error, line="", message="not answered yet"))
    assert not is_unanswered(replace(error, line="x @ y"))
    assert not is_unanswered(replace(error, type="ValueError"))


def test_a_cell_with_more_magics_than_ipython_reads_is_read():
    cell = "%pwd\n" * 600 + "def part(q):\n    return q\n"
    assert "Line 603, `)`" in why_missing("part", [cell + ")\n"])
    assert "typing error" not in why_missing("part", [cell])


# ----------------------------------------------------------------------- what is to be repaired

A7, REPAIRED = "a7_dropout_and_layer_norm", "SelfAttentionWithDropoutAndNorm"


def cell_of(folder, name):
    notebook = nbformat.read(ROOT / folder / A7 / f"{A7}.ipynb", as_version=4)
    return next(cell.source for cell in notebook.cells if cell.id == name)


GIVEN = cell_of("exercises", REPAIRED)
NORM = cell_of("solutions", "LayerNorm")
RIGHT = cell_of("solutions", REPAIRED)


def repaired(*cells, failed_before=(), handed_out=GIVEN):
    return decided(A7, REPAIRED, [NORM, *cells], failed_before, handed_out)


def with_another_docstring(code):
    first, _, rest = code.partition('"""')
    return first + '"""Mine."""' + rest.partition('"""')[2]


@pytest.mark.parametrize(
    "change",
    [
        str,
        lambda code: f"# my answer\n\n{code}\n\n# done\n",
        lambda code: code.replace("    def ", "\n\n    # why?\n    def "),
        lambda code: code.replace("    ", "  "),
        lambda code: code.replace("key.transpose(1, 2)", "key.transpose( 1,\n 2, )"),
        with_another_docstring,
        lambda code: f"features = 6\n{code}\nx = 1",
    ],
)
def test_code_as_it_was_handed_out_is_no_answer(change):
    assert change is str or change(GIVEN) != GIVEN
    verdict = repaired(change(GIVEN))
    assert verdict.obstacle is Obstacle.UNANSWERED and verdict.earned == 0
    assert verdict.remark.endswith(f"the code of `{REPAIRED}` is as it was handed out.")
    assert verdict.mistakes == ()


def test_a_change_to_the_code_is_an_answer():
    for change in (("0.1", "0.2"), ("dim=-1", "dim=1"), ("shares @ value", "value")):
        verdict = repaired(GIVEN.replace(*change, 1))
        assert verdict.obstacle is Obstacle.NONE
        assert [name for name, _ in verdict.mistakes] == ["features undefined"]


def test_where_nobody_knows_what_was_handed_out_code_is_judged_as_it_is():
    verdict = repaired(GIVEN, handed_out="")
    assert verdict.obstacle is Obstacle.NONE and verdict.earned == 0
    assert [name for name, _ in verdict.mistakes] == ["features undefined"]


def test_an_answer_below_what_was_handed_out_counts_and_one_above_is_named():
    assert repaired(GIVEN, RIGHT).right
    verdict = repaired(RIGHT, GIVEN)
    assert verdict.obstacle is Obstacle.UNANSWERED
    assert "the later one is not answered yet" in verdict.remark


def test_a_class_that_is_repaired_from_outside_is_an_answer():
    methods = RIGHT.replace(f"class {REPAIRED}", "class Mine").replace("super()", "nn.Module")
    methods = methods.replace("nn.Module.__init__()", "nn.Module.__init__(self)")
    patched = f"{methods}\n{REPAIRED}.__init__ = Mine.__init__\n{REPAIRED}.forward = Mine.forward"
    assert repaired(GIVEN, patched).right
    assert repaired(GIVEN, patched.replace(" / math", " * math")).obstacle is Obstacle.NONE


def test_code_that_runs_as_it_was_handed_out_earns_nothing_either():
    running = "def attention_weights(x):\n    return (x @ x.T).softmax(0)\n"
    answered = decided("a2_self_attention", "attention_weights", [running])
    assert answered.earned > 0
    verdict = decided("a2_self_attention", "attention_weights", [running], handed_out=running)
    assert verdict.earned == 0 and verdict.obstacle is Obstacle.UNANSWERED


def test_what_was_handed_out_is_not_decided_with_ours_in_an_earlier_place():
    verdict = repaired(GIVEN, failed_before=["LayerNorm"])
    assert verdict.obstacle is Obstacle.UNANSWERED and verdict.stood_in == ()


def test_code_that_is_too_deep_to_be_read_is_not_what_was_handed_out():
    deep = f"def attention_weights(x):\n    return x + {'-' * 3000}1\n"
    verdict = decided("a2_self_attention", "attention_weights", [], handed_out=deep)
    assert verdict.obstacle is Obstacle.MISSING


def test_a_name_that_is_given_to_nothing_has_not_stopped():
    verdict = decided("a2_self_attention", "attention_weights", ["attention_weights = None"])
    assert verdict.obstacle is Obstacle.MISSING
    assert verdict.remark.endswith("gives the name to nothing that could be called.")


def test_a_name_that_is_assigned_is_defined_by_its_cell():
    assert "typing error" in why_missing("part", ["part = lambda x: (x\n"])
    assert "no cell defines it" in why_missing("part", ["part == 1", "other = 1", "f(part=1)"])


@pytest.mark.parametrize("magic", ["%%timeit", "%%writefile part.py", "%%python"])
def test_a_magic_that_keeps_nothing_is_named(magic):
    told = why_missing("part", [f"{magic}\ndef part(x):\n    return x\n"])
    assert f"its cell begins with `{magic}`" in told
    assert "begins with" not in why_missing("part", ["%%time\ndef part(x):\n    return x\n"])


@pytest.mark.parametrize(
    ("line", "error", "handed_out"),
    [
        ('raise NotImplementedError("not answered yet")', "NotImplementedError: not answered yet", True),
        ("hidden = 1 - mask", "NotImplementedError: Subtraction with a bool tensor is not supported", False),
    ],
)  # fmt: skip
def test_a_line_that_was_handed_out_is_one_that_raises(line, error, handed_out):
    """PyTorch raises errors of that type, too, and more of them in each release."""
    cell = f"{line}\ndef helper(x):\n    return x"
    told = why_missing("helper", [cell], Surroundings((StoppedCell(cell, error, line),)))
    assert error in told
    assert ("was handed out" in told) == handed_out
