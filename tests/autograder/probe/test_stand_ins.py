"""What stands in for an earlier part computes as ours does, elsewhere, and nothing of it is here."""

import copy

import pytest
import torch

from assignments import load
from autograder.checks.follow_through import source_of
from autograder.probe.stand_ins import StandIns, stand_ins
from autograder.probe.wire import Instance, decode, encode

FUNCTIONS = """
import torch
from torch import nn

def weigh(x, scale=1.0, device=None, dtype=None):
    if x.ndim != 2:
        raise ValueError(f"two axes, got {x.ndim}")
    weights = (x @ x.T * scale).softmax(-1)
    return weights, {"mask": weights > 0.1, "sizes": [x.shape[0], None, "text"]}

class Layer(nn.Module):
    def __init__(self, size):
        super().__init__()
        if size < 1:
            raise ValueError("a layer of nothing")
        self.inner = nn.Sequential(nn.Linear(size, size), nn.Dropout(0.5))
        self.register_buffer("shift", torch.ones(size))

    def forward(self, x):
        return self.inner(x) + self.shift

    def twice(self, x, *, times=2):
        return self.forward(x) * times, (times,)
"""
SOURCES = dict.fromkeys(("weigh", "Layer"), FUNCTIONS)


@pytest.fixture
def here():
    names = {"__name__": "here"}
    exec(FUNCTIONS, names)
    return names


@pytest.fixture
def elsewhere():
    ours = StandIns(SOURCES)
    return stand_ins(ours.answer, ours.kinds)


X = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))


def test_a_function_gives_what_ours_gives(here, elsewhere):
    for keywords in ({}, {"scale": 0.5}, {"device": torch.device("cpu"), "dtype": torch.float32}):
        (ours, more), (theirs, others) = (n["weigh"](X, **keywords) for n in (here, elsewhere))
        torch.testing.assert_close([ours, more["mask"]], [theirs, others["mask"]])
        assert more["sizes"] == others["sizes"]
    with pytest.raises(ValueError, match="two axes, got 1"):
        elsewhere["weigh"](X[0])


def test_gradients_come_from_the_other_side_as_well(here, elsewhere):
    found = []
    for names in (here, elsewhere):
        x = X.clone().requires_grad_()
        weights, _ = names["weigh"](x * 2)
        (weights[0] ** 2).sum().backward(retain_graph=True)
        weights.sum().backward()
        found.append(x.grad)
    torch.testing.assert_close(*found)
    with torch.no_grad():
        assert not elsewhere["weigh"](X.clone().requires_grad_())[0].requires_grad


def test_a_batch_may_be_made_of_single_calls(here, elsewhere):
    batch = torch.stack([X, X + 1, X * 2])
    ours, theirs = (torch.vmap(lambda x, n=n: n["weigh"](x)[0])(batch) for n in (here, elsewhere))
    torch.testing.assert_close(ours, theirs)


def modules(here, elsewhere):
    one, other = here["Layer"](4), elsewhere["Layer"](4)
    other.load_state_dict(one.state_dict())
    return one, other


def test_a_module_has_the_tensors_that_ours_has(here, elsewhere):
    one, other = modules(here, elsewhere)
    assert [name for name, _ in one.named_parameters()] == [n for n, _ in other.named_parameters()]
    assert [name for name, _ in one.named_modules()] == [name for name, _ in other.named_modules()]
    assert type(other).__name__ == "Layer" and type(other.inner).__name__ == "Sequential"
    with pytest.raises(ValueError, match="a layer of nothing"):
        elsewhere["Layer"](0)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_module_computes_with_its_tensors_as_they_are(here, elsewhere, training, dtype):
    found = []
    for module in modules(here, elsewhere):
        module.to(dtype).train(training)
        with torch.no_grad():
            module.inner[0].weight.mul_(2)
        x = X.to(dtype, copy=True).requires_grad_()
        torch.manual_seed(5)
        first, (result, times) = module(x), module.twice(x, times=3)
        result = result + module.inner(x) + module.inner[0](x)
        (first.sum() + (result**2).sum()).backward()
        gradients = [parameter.grad for parameter in module.parameters()]
        found.append((first, result, times, x.grad, gradients, torch.rand(1)))
    torch.testing.assert_close(*found)


def test_a_copy_is_a_module_of_its_own(here, elsewhere):
    one, other = modules(here, elsewhere)
    copies = copy.deepcopy(one), copy.deepcopy(other)
    for each in (one, other):
        each.eval()
        each.shift.zero_()
    torch.testing.assert_close(one(X), other(X))
    torch.testing.assert_close(*(each.eval()(X) for each in copies))


def test_nothing_of_ours_is_in_what_stands_in():
    """Not in its code, nor in anything that leads on from it, as far as there is a process between."""
    loaded = load("a2_self_attention")
    reference = loaded.part("attention_weights").reference
    server = StandIns({"attention_weights": source_of(reference, loaded.course.libraries)})
    crossed = []

    def transport(message):
        crossed.append(message)
        crossed.append(server.answer(message))
        return crossed[-1]

    stand_in = stand_ins(transport, server.kinds)["attention_weights"]
    stand_in(X)
    assert all(b"softmax" not in each and b"def " not in each for each in crossed)
    assert "softmax" not in str(stand_in.__code__.co_consts) + str(stand_in.__code__.co_names)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"nonsense",
        encode(5),
        encode({"do": "none"}),
        encode({"do": "call", "name": "other", "given": [[], {}], "tensors": [], "wanted": []}),
        encode({"do": "_init__"}),
        encode({"do": "backward", "graph": 99, "gradients": []}),
        encode({"do": "call", "name": "weigh", "given": [5], "tensors": [], "wanted": [7]}),
    ],
)
def test_what_is_no_call_is_answered_with_an_error(message):
    assert "error" in decode(StandIns(SOURCES).answer(message))


SPYING = """
import gc, types
held = [one for one in gc.get_objects() if isinstance(one, types.FunctionType) and one.__name__ == "weigh"]
def spy(): return held[0].__code__.co_names
"""
USED = {"module": 0, "place": "", "training": [], "state": {}, "tensors": [], "wanted": []}


@pytest.mark.parametrize(
    "order",
    [
        {"do": "_init__", "sources": {"spy": SPYING}},
        {"do": "_init__", "sources": {}, "functions": ["os.getcwd"]},
        {"do": "run", "subject": "weigh", "given": [[], {}], "tensors": [], "held": [], "wanted": []},
        {"do": "_class__"},
        {"do": "use", "method": "__getattribute__", "given": [["__doc__"], {}], **USED},
        {"do": "use", "method": "__repr__", "given": [[], {}], **USED},
        {"do": "use", "method": "state_dict", "given": [[], {}], **USED},
        {"do": "call", "name": "weigh", "given": [[Instance("dtype", {"name": "load"})], {}],
         "tensors": [], "wanted": []},
    ],
)  # fmt: skip
def test_an_order_of_a_submissions_own_is_refused(order):
    """Its process has the transport, so it can send what it likes."""
    ours = StandIns(SOURCES)
    made = {"do": "make", "name": "Layer", "given": [[2], {}]}
    assert "module" in decode(ours.answer(encode(made)))
    drawn = {"drawn": torch.default_generator.get_state()} if order["do"] == "use" else {}
    said = decode(ours.answer(encode(order | drawn)))
    assert (
        "no order" in said["message"]
        or "no method" in said["message"]
        or "no dtype" in said["message"]
    )
    assert "module" in decode(ours.answer(encode(made)))  # and goes on
