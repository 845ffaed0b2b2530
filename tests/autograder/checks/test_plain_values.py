"""Numbers, text and containers agree by what they hold, and a sentence says what differs."""

import math
import sys

import numpy as np
import pytest
import torch

from autograder.checks.cases import Case
from autograder.checks.check import Assignment, Part
from autograder.checks.compare import strict_differences, values_agree
from autograder.checks.decide import decide
from autograder.probe.probe import answer
from autograder.probe.wire import decode, encode

FLOAT32 = np.float32(1 / 3)
NAN, INFINITY = math.nan, math.inf

# what is right, and what also is
EQUAL = [
    (5.0, 5.0), (5.0, 5), (5, 5), (5, 5.0), (0.1 + 0.2, 0.3), (5.0, np.float64(5)), (np.float64(5), 5.0),
    (FLOAT32, 1 / 3), (1 / 3, FLOAT32), (np.float32(5), np.array(5.0)), (NAN, NAN), (-INFINITY, -INFINITY),
    (10**30, 10**30), (np.int64(7), 7), (True, np.bool_(True)), (np.bool_(False), False), (5.0, torch.tensor(5.0)),
    ("abc", "abc"), ("", ""), (None, None), ([], []), ([1, 2.0], (1, 2)), ([np.float64(1)], [1.0]),
    ({"a": 1, "b": [2.0]}, {"b": [2.0], "a": 1}), ({1: "x"}, {"1": "x"}), ({3, 1}, {1, 3}), ({(1, "a")}, {(1, "a")}),
    ((1.5, "x"), (1.5, "x")), ({"x": np.eye(2)}, {"x": np.eye(2)}), ([[1.0], [2.0, 3.0]], [[1.0], [2.0, 3.0]]),
]  # fmt: skip

# what is right, what came, and what is said of it
DIFFERENT = [
    (5.0, 6.0, "expected 5, got 6"),
    (5.0, 5.00001, "it should be 5 and is off by 1e-05: too far apart for float64"),
    (5.0, NAN, "the result holds NaN or infinity"),
    (5.0, -5.0, "expected 5, got -5"),
    (5, 6, "expected 5, got 6"),
    (5, True, "expected 5 of type int, got True of type bool"),
    (True, 1, "expected True, got 1 of type int"),
    (5.0, "5.0", "expected 5 of type float, got '5.0' of type str"),
    (5.0, None, "expected 5 of type float, got None (is there a `return`?)"),
    (5.0, np.ones(2), "expected 5 of type float, got a NumPy float64 array of shape (2,)"),
    (10**30, 10**30 + 1, f"expected {10**30}, got {10**30 + 1}"),
    (10**400, 1.0, "got 1.0"),
    (None, 5, "expected None (is there a `return`?), got 5 of type int"),
    ("cat", "Cat", "expected the text 'cat', got 'Cat': they differ in capital letters alone"),
    ("a b", "a  b\n", "expected the text 'a b', got 'a  b\\n': they differ in blanks and line breaks alone"),
    ("cat", "car", "expected the text 'cat', got 'car': they differ from character 2 on (counting from 0)"),
    ("cat", "cats", "they differ from character 3 on (counting from 0)"),
    ("cat", ["cat"], "expected 'cat' of type str, got a list of 1 ('cat' of type str)"),
    ([1, 2], [1], "expected a list of 2 entries, got a list of 1 entry"),
    ([1, 2], [1, 3], "in entry 1 (counting from 0), expected 2, got 3"),
    ([1, 2], [2, 1], "these are the right entries, in another order: entry 0 (counting from 0) should be 1 and is 2"),
    ([1, 2], np.array([1, 2]), "expected a list of 2 (1 of type int, 2 of type int), got a NumPy int64 array of shape (2,)"),
    ([[1], [2]], [[1], [3]], "in entry 1 (counting from 0), in entry 0 (counting from 0), expected 2, got 3"),
    ({"a": 1}, {}, "the key 'a' is missing"),
    ({"a": 1, "c": 2}, {"a": 1, "b": 2}, "the key 'c' is missing; there are ['a', 'b']"),
    ({"a": 1}, {"a": 1, "b": 2}, "there is a key 'b', which should not be there"),
    ({"a": 1}, {"a": 2}, "under the key 'a', expected 1, got 2"),
    ({"a": (1, 2)}, {"a": (1, 3)}, "under the key 'a', in the second result, expected 2, got 3"),
    ({1, 2}, {1}, "2 should be in the set, and is not"),
    ({1, 2}, {1, 2, 3}, "3 is in the set, and should not be"),
    ({1, 2}, [1, 2], "expected a set of 2, got a list of 2 (1 of type int, 2 of type int)"),
    ((1.0, "x"), (1.0, "y"), "in the second result, expected the text 'x', got 'y': they differ from character 0 on"),
    (np.ones(2), 1.0, "expected a NumPy float64 array of shape (2,), got 1 of type float"),
    (torch.tensor(1.0), 1.0, "expected a tensor of shape (), got 1 of type float"),
]  # fmt: skip

# right values of another kind, and what a strict step says of them
STRICT = [
    (5.0, 5, None), (5.0, np.array(5.0), None), (np.float64(5), 5.0, None), (np.int64(5), 5, None), (5, np.array(5), None),
    (np.bool_(True), True, None), ("a", "a", None), ([1.0], [1], None), ({"a": 1.0}, {"a": 2}, None), (None, None, None),
    ({1}, {1}, None),
    (5, 5.0, "expected a whole number, an int, got 5 of type float"),
    (5.0, torch.tensor(5.0), "expected a plain number, got a tensor of shape (): take the number out with `.item()`"),
    (True, np.array(True), "expected a plain Python bool, got a NumPy bool array of shape (): wrap it in bool(…)"),
    ({"a": 5}, {"a": 5.0}, "expected a whole number, an int, got 5 of type float"),
]  # fmt: skip


def crossed(value):
    """A value as it comes out of a submission's process."""
    return decode(encode(value))


@pytest.mark.parametrize(("expected", "got"), EQUAL, ids=str)
def test_what_is_equal_agrees(expected, got):
    assert values_agree(expected, got) is None
    assert values_agree(expected, crossed(got)) is None


@pytest.mark.parametrize(("expected", "got", "said"), DIFFERENT, ids=str)
def test_what_differs_is_said(expected, got, said):
    for value in (got, crossed(got)):
        assert said in str(values_agree(expected, value))


@pytest.mark.parametrize(("expected", "got", "said"), STRICT, ids=str)
def test_the_kind_of_a_value_is_a_matter_of_strict_steps(expected, got, said):
    for value in (got, crossed(got)):
        assert (str(strict_differences(expected, value)) if said else None) == said


def table_of(words):
    return {word: words.count(word) / len(words) for word in words}


def verdict_on(reference, code, cases, **options):
    part = Part("f(words)", reference)
    part.step("what stands in the text", 2, *cases, **options)
    assignment = Assignment("a1", parts=(part,))
    return decide(assignment, part, lambda asked: answer(asked, {"f": code}), [""])


WORDS = [Case("three words", lambda randn: [["a", "b", "a"]])]


def test_a_part_may_ask_for_a_dict():
    assert verdict_on(table_of, table_of, WORDS).earned == 2

    def counted(words):
        return {word: words.count(word) for word in words}

    verdict = verdict_on(table_of, counted, WORDS)
    assert verdict.earned == 0
    assert "under the key 'a', expected 0.6667, got 2" in verdict.steps[0].problem


def test_a_result_of_ours_that_nobody_can_compare_asks_for_a_judge():
    def imaginary(words):
        return 1j

    with pytest.raises(TypeError, match="type complex can't be compared: the step needs a judge"):
        verdict_on(imaginary, imaginary, WORDS)
    verdict = verdict_on(imaginary, imaginary, WORDS, judge=lambda expected, got: None)
    assert verdict.earned == 2


def test_a_notebook_that_hides_pytorch_costs_the_grader_nothing(monkeypatch):
    """What the probe needs of it was there before any submission ran."""
    part = Part("f(x (T, D)) -> (T, D)", lambda x: 2 * x)
    part.manners(1, Case("T=3, D=4", lambda randn: [randn(3, 4)]))
    assignment = Assignment("a1", parts=(part,))

    def hidden(asked):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "torch", None)
            return answer(asked, {"f": lambda x: x + x})

    assert decide(assignment, part, hidden, [""]).earned == 1
