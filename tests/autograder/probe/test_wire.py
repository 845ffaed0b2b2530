import contextlib
import tracemalloc

import msgspec
import numpy as np
import pytest
import torch
from msgspec.msgpack import Ext
from torch import nn

from autograder.bounds import DEEPEST_VALUE, LONGEST_VALUE
from autograder.checks.reply import observations_in
from autograder.probe.messages import Observation
from autograder.probe.wire import (
    ARRAY,
    LARGEST_TREE,
    LENGTH,
    LONGEST_NAME,
    LONGEST_TEXT,
    MARK,
    MOST_NUMBERS,
    TUPLE,
    Function,
    Opaque,
    WireError,
    decode,
    encode,
)


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


@pytest.mark.parametrize("value", [object(), lambda x: x, 1j, torch.nn.Linear(1, 1)])
def test_what_has_no_plain_form_arrives_as_its_type_name(value):
    assert decode(encode([value])) == [Opaque(type(value).__name__)]


def message_of(tree, numbers=b""):
    """A message of these bytes, whatever they are."""
    return MARK + LENGTH.pack(len(tree)) + tree + numbers


def forged(content, numbers=b""):
    """A message that claims to be an array."""
    array = msgspec.msgpack.encode(Ext(ARRAY, msgspec.msgpack.encode(content)))
    return message_of(array, numbers)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"not a message",
        b"\xff" * 100,
        encode([1])[:-1],
        encode([1]) + b"\x00",
        encode(torch.ones(2))[:-1],
        encode(torch.ones(2)) + b"\x00",
        MARK,
        message_of(b"\xc1"),
        forged([True, "O", [1]], b"12345678"),
        forged([True, "f", [3]], b"1234"),
        forged([True, "f", [-1, -1]], b"1234"),
        forged([True, "f", [True]], b"1234"),
        forged([True, "f", [0, 1 << 63]]),
        forged([True, "f", [1] * 65], b"1234"),
        forged([True, ["f"], [1]], b"1234"),
        forged([True, "f", "shape"], b"1234"),
        forged([True, "f", [1], b"1234"]),
        forged([True, "?", [MOST_NUMBERS + 1]], bytes(MOST_NUMBERS + 1)),
        forged("no array at all"),
        message_of(b"\x91" * 100_000 + b"\x01"),
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


MIB = 1 << 20


def most_memory(what):
    """Bytes that Python held at once while this was done."""
    tracemalloc.start()
    try:
        with contextlib.suppress(WireError):
            what()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "message",
    [
        MARK + b"\x80" * 60_000_000,
        message_of(b"\xdd" + LENGTH.pack(60_000_000) + b"\x80" * 60_000_000),
        message_of(b"\xdd" + LENGTH.pack(LARGEST_TREE - 5) + b"\x80" * (LARGEST_TREE - 5)),
    ],
    ids=["maps", "a_list_of_maps", "as_many_as_are_read"],
)
def test_empty_maps_take_no_more_memory_than_a_message_may(message):
    assert most_memory(lambda: decode(message)) < 150 * MIB


def test_many_small_arrays_share_no_numbers():
    one = Ext(ARRAY, msgspec.msgpack.encode([True, "d", [1000]]))
    many = msgspec.msgpack.encode([one] * 10_000)
    with pytest.raises(WireError):
        decode(message_of(many, bytes(8000)))


def test_arrays_stand_in_the_order_of_their_numbers():
    tree = [torch.ones(2), (np.zeros(3), {"a": torch.arange(2)}), torch.tensor(True)]
    one, (two, three), four = decode(encode(tree))
    assert torch.equal(one, tree[0]) and torch.equal(four, tree[2])
    assert np.array_equal(two, np.zeros(3)) and torch.equal(three["a"], torch.arange(2))


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (type("E" * 10_000_000, (), {})(), "E" * LONGEST_NAME),
        ("x" * (LONGEST_TEXT + 1), f"str of {LONGEST_TEXT + 1} characters"),
        (10**5000, "int of 16610 bits"),
        (torch.zeros(1).expand(1 << 40), f"torch.float32 array of {1 << 40} numbers"),
        (np.zeros(MOST_NUMBERS + 1), f"float64 array of {MOST_NUMBERS + 1} numbers"),
    ],
    ids=["type", "text", "number", "tensor", "array"],
)
def test_what_is_too_large_crosses_by_a_short_name(value, name):
    assert decode(encode([value])) == [Opaque(name)]


def test_a_type_s_name_is_cut_also_where_it_arrives():
    name = Ext(5, msgspec.msgpack.encode("E" * 500_000))
    assert decode(message_of(msgspec.msgpack.encode(name))) == Opaque("E" * LONGEST_NAME)


def answers(value):
    """The value in a report, as it arrives."""
    (seen,) = observations_in(encode([Observation(status="returned", value=value)]), 1)
    return seen.value


def test_texts_of_an_answer_are_cut():
    value = answers({"x" * 50_000: ["y" * 50_000, ("z" * 50_000, 1.5, None, torch.ones(1))]})
    (name,) = value
    assert max(map(len, (name, value[name][0], value[name][1][0]))) == LONGEST_VALUE
    assert value[name][1][1:3] == (1.5, None)


@pytest.mark.parametrize("kind", [list, tuple])
def test_an_answer_may_be_nested_so_deep_and_no_deeper(kind):
    deep = 1
    for _ in range(DEEPEST_VALUE):
        deep = kind([deep])
    assert answers(deep) == deep
    with pytest.raises(WireError, match="lists in lists"):
        answers(kind([deep]))


@pytest.mark.parametrize("value", [b"x" * 1000, Function("f"), Ext(TUPLE, b"\x90")])
def test_what_no_student_can_return_has_no_content(value):
    tree = msgspec.msgpack.encode([{"status": "returned", "value": value}])
    if isinstance(value, Function):
        tree = encode([{"status": "returned", "value": value}])[len(MARK) + LENGTH.size :]
    (seen,) = observations_in(message_of(tree), 1)
    assert seen.value == () or isinstance(seen.value, Opaque)
