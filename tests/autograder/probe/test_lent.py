"""What stands in for an earlier part is ours in all but that it tells when it is used."""

import copy
import inspect
import pickle
import sys

import pytest
import torch
from torch import nn

from autograder.probe.lent import lent
from autograder.probe.messages import CallRequest, Observation, Questions
from autograder.probe.probe import answer
from autograder.probe.wire import decode, encode

FUNCTION = """
import torch

def weigh(x, scale=1.0):
    if x.ndim != 2:
        raise ValueError(f"two axes, got {x.ndim}")
    return (x @ x.T * scale).softmax(-1)
"""
CLASS = """
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self, size, bias=True):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(size, size, bias), nn.Dropout(0.5))
        self.register_buffer("shift", torch.ones(size))

    def forward(self, x):
        return self.inner(x) + self.shift

    @staticmethod
    def halved(x):
        return x / 2
"""
X = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def told():
    return []


@pytest.fixture
def layer(told):
    return lent("Layer", CLASS, told.append)


def test_a_function_is_ours_and_tells_of_each_call(told):
    weigh = lent("weigh", FUNCTION, told.append)
    assert weigh.__name__ == "weigh" and list(inspect.signature(weigh).parameters) == ["x", "scale"]
    x = X.clone().requires_grad_()
    weigh(x, scale=0.5).square().sum().backward()
    assert x.grad.abs().sum() > 0
    batch = torch.vmap(weigh)(torch.stack([X, X + 1]))
    torch.testing.assert_close(batch[0], (X @ X.T).softmax(-1))
    with pytest.raises(ValueError, match="two axes, got 1"):
        weigh(X[0])
    assert told == ["weigh"] * 3


def test_a_class_is_ours_and_tells_of_each_object(told, layer):
    made = layer(4)
    assert isinstance(made, layer) and type(made).__name__ == "Layer"
    assert [*made.state_dict()] == ["shift", "inner.0.weight", "inner.0.bias"]
    assert [*inspect.signature(layer).parameters] == ["size", "bias"]
    assert torch.equal(layer.halved(X), X / 2)
    assert told == ["Layer"]
    layer(4, bias=False)
    assert told == ["Layer"] * 2


def test_a_student_builds_a_class_on_it(told, layer):
    class Twice(layer):
        def __init__(self, size):
            super().__init__(size, bias=False)

        def forward(self, x):
            return 2 * super().forward(x)

    made = nn.ModuleList([Twice(4).eval(), layer(4)])
    assert told == ["Layer"] * 2 and all(isinstance(one, layer) for one in made)
    torch.testing.assert_close(made[0](X), 2 * (X @ made[0].inner[0].weight.T + 1))


def test_a_copy_is_one_of_its_own(layer, monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "Layer", layer, raising=False)
    made = layer(4).eval()
    copies = copy.deepcopy(made), pickle.loads(pickle.dumps(made))
    expected = made(X)
    nn.init.zeros_(made.shift)
    for each in copies:
        assert isinstance(each, layer)
        torch.testing.assert_close(each(X), expected)


NOTEBOOK = """
def double(x): return x
also = double
def by_its_name(x): return double(x)
def by_another(x): return also(x)
def by_neither(x): return x
"""
DOUBLE = "def double(x): return 2 * x"


@pytest.mark.parametrize("name", ["by_its_name", "by_another", "by_neither"])
def test_it_is_told_which_were_used_and_the_notebook_has_its_own_again(name):
    names = {}
    exec(NOTEBOOK, names)
    request = CallRequest(subject=name, arguments=[3], names=["x"])
    questions = Questions(requests=[request], substitutes={"double": DOUBLE})
    [seen] = decode(answer(encode(questions), names), list[Observation])
    if name == "by_neither":
        assert seen.value == 3 and not seen.stood_in
    else:
        assert seen.value == 6 and seen.stood_in == ["double"]
    assert names["double"] is names["also"] and names["double"](1) == 1
