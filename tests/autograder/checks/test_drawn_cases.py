"""What ours do has the form in which a student's comes back."""

import numpy as np
import pytest
import torch
from torch import nn

from autograder.checks.cases import Case, Recipe
from autograder.checks.check import Part
from autograder.checks.drawn_cases import DrawnCases
from autograder.probe.wire import Opaque, decode, encode


def part_that_returns(value):
    part = Part("f(x (T,)) -> (T,)", lambda x: value)
    part.step("is right", 1, Case("one", lambda randn: [randn(3)]))
    return part


VALUES = {
    "plain": (None, True, 3, 2.5, "text", [1, "a"], {"a": (1, [2.0])}),
    "tensors": (torch.ones(2, 3).T, torch.arange(3), torch.tensor(True), torch.zeros(0, 2)),
    "parameters": nn.Linear(2, 3).weight,
    "results with gradients": (torch.ones(2, 2, requires_grad=True) * 2).T,
    "no plain numbers": [torch.ones(2, dtype=torch.bfloat16), torch.ones(2).to_sparse()],
    "arrays": [np.arange(3.0), np.float32(1.5), np.array(["a"])],
    "large": [2**63 - 1, 2**63, -(2**63), 2**2000, "a" * (1 << 17), torch.ones(1).expand(1 << 21)],
    "half a character": "\ud800 and é",
    "keys": {1: "one", None: "none"},
    "of no form": [object(), len, {1, 2}, slice(3)],
}


def look(value):
    """A value that can be compared, with the types in it."""
    if isinstance(value, torch.Tensor | np.ndarray):
        array = np.asarray(value)
        return type(value), array.dtype, array.shape, value.tolist(), not_flat(value)
    if isinstance(value, list | tuple):
        return type(value), [look(item) for item in value]
    if isinstance(value, dict):
        return {key: look(item) for key, item in value.items()}
    return type(value), value.type_name if isinstance(value, Opaque) else value


def not_flat(value):
    return isinstance(value, torch.Tensor) and (value.requires_grad or not value.is_contiguous())


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_value_of_ours_comes_back_as_a_students_does(value):
    drawn = DrawnCases(part_that_returns(value), 0)
    ours = drawn.expected[0].value, drawn.done_by(lambda x: value, 0).value
    assert [look(each) for each in ours] == [look(decode(encode(value)))] * 2


def test_what_came_back_stays_when_its_tensor_is_changed():
    shared = torch.zeros(3)
    drawn = DrawnCases(part_that_returns(shared), 0)
    value = drawn.expected[0].value
    shared += 1
    assert value.tolist() == [0.0, 0.0, 0.0]


def test_recipes_are_the_same_if_they_read_the_same():
    one, same, other = (Recipe.of(nn.Linear, [2, width], {"bias": True}) for width in (3, 3, 4))
    assert one == same != other
    assert hash(one) == hash(same)
    assert one.make().weight.shape == (3, 2)
