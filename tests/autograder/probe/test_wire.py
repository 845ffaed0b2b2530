import msgspec
import numpy as np
import pytest
import torch
from msgspec.msgpack import Ext
from torch import nn

from autograder.probe.wire import ARRAY, MARK, Function, Opaque, WireError, decode, encode


def test_a_tree_comes_back_as_it_was_sent():
    tree = {
        "call": "f",
        "arguments": [torch.arange(6.0).reshape(2, 3), np.arange(4), 2, 0.5, True, None, "text"],
        "pair": (torch.tensor([True, False]), torch.zeros(0, 3, dtype=torch.float64)),
        "function": Function("doubled"),
    }
    back = decode(encode(tree))
    assert torch.equal(back["arguments"][0], tree["arguments"][0])
    assert isinstance(back["arguments"][1], np.ndarray)
    assert np.array_equal(back["arguments"][1], np.arange(4))
    assert back["arguments"][2:] == [2, 0.5, True, None, "text"]
    assert isinstance(back["pair"], tuple)
    assert back["pair"][0].dtype == torch.bool
    assert back["pair"][1].shape == (0, 3) and back["pair"][1].dtype == torch.float64
    assert back["function"] == Function("doubled")


def test_a_strided_tensor_crosses_by_its_values():
    x = torch.arange(12.0).reshape(3, 4).T
    assert torch.equal(decode(encode(x)), x)


def test_a_tensor_that_requires_a_gradient_crosses_without_it():
    back = decode(encode(torch.ones(2, requires_grad=True)))
    assert torch.equal(back, torch.ones(2))
    assert not back.requires_grad


@pytest.mark.parametrize("value", [object(), lambda x: x, {1, 2}, torch.nn.Linear(1, 1)])
def test_what_has_no_plain_form_arrives_as_its_type_name(value):
    assert decode(encode([value])) == [Opaque(type(value).__name__)]


def forged(content):
    """A message that claims to be an array."""
    return MARK + msgspec.msgpack.encode(Ext(ARRAY, msgspec.msgpack.encode(content)))


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"not a message",
        b"\xff" * 100,
        encode([1])[:-1],
        encode([1]) + b"\x00",
        MARK + b"\xc1",
        forged([True, "O", [1], b"12345678"]),
        forged([True, "f", [3], b"1234"]),
        forged([True, "f", [-1, 0], b""]),
        forged([True, "f", "shape", b"1234"]),
        forged("no array at all"),
        MARK + b"\x91" * 100_000 + b"\x01",
    ],
)
def test_damaged_or_forged_bytes_are_refused(message):
    with pytest.raises(WireError):
        decode(message)


@pytest.mark.parametrize(
    "value",
    [
        torch.ones(2, dtype=torch.bfloat16),
        torch.eye(2).to_sparse(),
        torch.ones(2, device="meta"),
        nn.LazyLinear(3).weight,
    ],
    ids=["bfloat16", "sparse", "meta", "uninitialised"],
)
def test_tensors_without_plain_numbers_cross_by_name(value):
    assert isinstance(decode(encode({"x": value}))["x"], Opaque)
