"""Why there is no answer to decide; and no right answer loses by an earlier one that is not there."""

import pytest
import torch

from assignments import load
from autograder.probe.probe import answer
from autograder.verdict.absent import says_unanswered, why_missing
from autograder.verdict.decide import decide
from autograder.verdict.obstacles import Obstacle

UNANSWERED = 'raise NotImplementedError("not answered yet")'


def decided(assignment, part, cells, failed_before=()):
    """The verdict on cells that are run in a namespace of their own, as a notebook's are."""
    namespace = {"torch": torch, "nn": torch.nn}
    for cell in cells:
        exec(cell, namespace)
    checks = load(assignment)
    return decide(
        checks, checks.part(part), lambda message: answer(message, namespace), cells, failed_before
    )


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
    ("forward", "says"),
    [
        ("\n    def foward(self, x):\n        return x", "yours is called `foward`"),
        ("\n        def forward(self, x):\n            return x", "written inside `__init__`"),
    ],
)
def test_a_forward_that_is_not_found_is_not_called_unanswered(forward, says):
    verdict = decided("a7_dropout_and_layer_norm", "LayerNorm", [norm(forward)])
    assert verdict.obstacle is Obstacle.NONE
    assert says in verdict.remark


def test_the_released_line_is_known_with_and_without_its_source():
    error = {"type": "NotImplementedError", "types": [], "message": "x", "line": "raise NotImpl"}
    assert says_unanswered(error)
    assert says_unanswered({**error, "line": "", "message": "not answered yet"})
    assert not says_unanswered({**error, "line": "x @ y"})
    assert not says_unanswered({**error, "type": "ValueError"})


def test_a_cell_with_more_magics_than_ipython_reads_is_read():
    cell = "%pwd\n" * 600 + "def part(q):\n    return q\n"
    assert "Line 603, `)`" in why_missing("part", [cell + ")\n"])
    assert "typing error" not in why_missing("part", [cell])
