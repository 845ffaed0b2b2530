"""Sentences on when an answer is right, how it stops, and in what form results come."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from autograder.bank.measure import attempts_at
from autograder.checks.axes import sizes_of
from autograder.checks.cases import Build, Call, Case, Chain, Step
from autograder.checks.check import Part
from autograder.checks.compare import values_agree
from autograder.checks.drawn_cases import CaseRun, DrawnCases
from autograder.checks.explain.cases import when_it_is_right
from autograder.checks.explain.errors import how_it_stops, unfit
from autograder.checks.explain.result_types import ever_the_same, form


def double(x, extra=0):
    """A part of our own: twice the numbers."""
    return 2 * x + extra


def drawn(*shape):
    return Case(f"{shape}", lambda randn: [randn(*shape)])


def part_of(reference, *cases, signature="double(x (T, D), extra=0) -> z (T, D)", **step):
    part = Part(signature, reference, ("lecture 0", "link"))
    part.steps.append(Step("the numbers are right", 1, cases, **step))
    return part


SIZES = [drawn(2, 3), drawn(3, 4), drawn(5, 4), drawn(6, 3)]
DOUBLE = part_of(double, *SIZES)


# ------------------------------------------------------------------------------ when it is right


def test_from_some_size_on():
    found = when_it_is_right(attempts_at(DOUBLE, lambda x: double(x) * (len(x) < 4)))
    assert found[0] == "wrong for larger T"
    assert found[1].startswith(
        "Right in both cases up to T = 3, wrong in both cases from T = 5 on. What in your"
    )


def test_the_sizes_of_several_calls_are_those_of_the_first():
    chain = Case("a chain", lambda randn: Chain([[randn(4, 3)], [randn(2, 3)]]))
    [attempt] = attempts_at(part_of(double, chain), double)
    assert sizes_of(attempt) == {"T": 4, "D": 3}


class Dropping(nn.Module):
    """A part of our own: a module that drops numbers."""

    def __init__(self, dropout=0.5):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(x)


def test_a_size_decides_nothing_where_what_is_wrong_was_left_to_chance():
    """Many sentences are drawn to count what is dropped, not because their number matters."""

    def asked(T, **how):
        return Case(f"{T=}", lambda randn: Build((), {}, [randn(T, 4)], **how))

    part = Part("Dropping(), forward(x (T, D)) -> z (T, D)", Dropping, ("lecture 0", "link"))
    part.step("in eval mode", 1, asked(2), asked(3))
    large = [replace(asked(T, training=True), random=True) for T in (300, 400)]
    part.step("in train mode", 1, *large, judge=lambda expected, got: "too few are dropped")
    found = when_it_is_right(attempts_at(part, lambda: Dropping(0.1)))
    assert found is None or "wrong for" not in found[0]


def test_a_length_decides_nothing_where_it_is_another_look_that_finds_the_mistake():
    """Short inputs are only asked for their shape, so that they are right says nothing of lengths."""
    part = Part("double(x (T, D))", double, ("lecture 0", "link"))
    same_shape = [drawn(2, 3), drawn(3, 3)]
    part.step("of one shape", 1, *same_shape, judge=lambda expected, got: None)
    part.step("doubled", 1, drawn(5, 3), drawn(6, 3))
    assert when_it_is_right(attempts_at(part, lambda x: x)) is None


class Twice(nn.Module):
    """A part of our own: a module that doubles."""

    def __init__(self, width):
        super().__init__()
        self.factor = nn.Parameter(torch.full((width,), 2.0))

    def forward(self, x):
        return self.factor * x


class FirstForEver(Twice):
    """It goes on with what it was given first."""

    def forward(self, x):
        self.first = getattr(self, "first", x)
        return self.factor * self.first


def built(width, method="forward", before=()):
    return Case(
        f"{width=}, {before=}",
        lambda randn: Build(
            (width,),
            arguments=[randn(2, width)] if method else [],
            before=[torch.ones(size, width) for size in before],
            method=method,
        ),
        random=True,
    )


def test_what_a_call_before_leaves_behind():
    part = part_of(Twice, built(3), built(5), built(4, before=(2,)), signature="Twice(width)")
    assert when_it_is_right(attempts_at(part, Twice)) is None
    name, sentence = when_it_is_right(attempts_at(part, FirstForEver))
    assert name == "wrong after another call"
    assert "What is kept from one call to the next?" in sentence


def test_what_happens_in_train_mode_alone_is_not_laid_to_another_call():
    """Of two cases in train mode, one has a call before; what is wrong in both is wrong in train mode."""

    class Larger(Twice):
        def forward(self, x):
            return super().forward(x) * (1.1 if self.training else 1.0)

    def in_train_mode(case):
        return replace(case, draw=lambda randn: replace(case.draw(randn), training=True))

    cases = [in_train_mode(built(4)), in_train_mode(built(4, before=(2,)))]
    part = part_of(Twice, built(3), built(5), *cases, signature="Twice(width)")
    assert when_it_is_right(attempts_at(part, Larger)).name == "wrong in train mode"


def test_calls_that_should_draw_on_are_told_from_others():
    def drawing(x, generator=None):
        return x + torch.rand(x.shape, generator=generator)

    def seeded(x, generator=None):
        return drawing(x, generator or torch.Generator().manual_seed(0))

    def twice(*more):
        return Case("twice", lambda randn: Call([randn(2, 3), *more], times=2), random=True)

    def alike(expected, got):
        if not isinstance(expected, list):
            return None
        same, alike = (bool(torch.equal(*pair)) for pair in (expected, got))
        return None if same == alike else "another number of draws"

    part = part_of(drawing, drawn(2, 3), twice(), signature="drawing(x (T, D))", judge=alike)
    name, sentence = when_it_is_right(attempts_at(part, seeded))
    assert name == "wrong with several calls that should draw other numbers"
    assert "Is something seeded anew in every call" in sentence


def test_where_only_an_input_was_changed_nothing_is_asked_about_numbers():
    def masked(x, mask):
        return x.masked_fill(~mask, 0.0)

    def opening(x, mask):
        mask_before = mask.clone()
        mask[~mask.any(dim=-1)] = True
        return masked(x, mask_before)

    def hidden(*rows):
        visible = torch.tensor([[row not in rows] * 3 for row in range(4)])
        return Case(f"{rows=}", lambda randn: [randn(4, 3), visible.clone()])

    signature = "masked(x (T, D), mask (T, D)) -> z (T, D)"
    part = part_of(masked, hidden(), hidden(1), hidden(0, 2), signature=signature, strict=True)
    name, sentence = when_it_is_right(attempts_at(part, opening))
    assert name == "wrong with a row in which nothing may be seen"
    assert sentence.endswith("Which line writes into an input there, and there alone?")
    _, sentence = when_it_is_right(
        attempts_at(part, lambda x, mask: masked(x, mask) / mask.any(-1, True))
    )
    assert sentence.endswith("what does a softmax of −∞ alone give?")


def test_what_is_found_in_strict_steps_alone_says_nothing_of_arguments():
    """The dtype is looked at in one step, whose cases happen to be those with `extra`."""
    part = Part("double(x (T, D), extra=0)", double, ("lecture 0", "link"))
    part.step("doubled", 1, *SIZES)
    given = [Case("given", lambda randn, n=n: [randn(n, 3), 2]) for n in (2, 3)]
    part.step("in its dtype", 1, *given, strict=True)
    attempts = attempts_at(part, lambda x, extra=0: double(x, extra).double())
    assert when_it_is_right(attempts) is None


def test_a_width_decides_nothing_where_only_a_new_module_is_right():
    """Its width happens to be even, and no result of that width was looked at."""

    class Thrice(Twice):
        def forward(self, x):
            return 3 * x

    new = [built(width, method=None) for width in (6, 8)]
    part = part_of(
        Twice,
        *(built(3), built(5), *new),
        signature="Twice(width)",
        judge=lambda expected, got: (
            None if isinstance(expected, dict) else values_agree(expected, got)
        ),
    )
    assert "odd" not in str(when_it_is_right(attempts_at(part, Thrice)))


def test_what_all_wrong_cases_have_and_no_right_one():
    cases = [drawn(2, 3), drawn(2, 4).in_float64()]
    attempts = attempts_at(part_of(double, *cases), lambda x: double(x) + (x.dtype == torch.double))
    assert when_it_is_right(attempts).name == "wrong in float64"


def test_nothing_is_said_of_when_where_all_is_wrong_or_all_is_right():
    assert when_it_is_right(attempts_at(DOUBLE, lambda x: x)) is None
    assert when_it_is_right(attempts_at(DOUBLE, double)) is None


def test_an_argument_that_decides_is_named():
    given = [Case("given", lambda randn, n=n: [randn(n, 3), 2]) for n in (2, 3)]
    part = part_of(double, drawn(2, 3), drawn(3, 3), *given)
    assert (
        when_it_is_right(attempts_at(part, lambda x, extra=0: 2 * x)).name
        == "wrong with `extra` given"
    )


# --------------------------------------------------------------------------------- how it stops


def test_errors_of_one_kind_are_told_with_a_question():
    def stops(x):
        return x @ x

    name, sentence = how_it_stops(attempts_at(DOUBLE, stops))
    assert name == "stops with RuntimeError"
    assert sentence.startswith("It stops in every case: RuntimeError")
    assert "Which letters are paired?" in sentence


def test_an_error_has_one_name_whatever_release_of_pytorch_raises_it():
    """As `1 - mask` does, whose type has changed; the sentence has the type that was seen."""

    def stops(x):
        return x.bool().softmax(0)

    def of_a_bool(x):
        return 1 - (x > 0)

    name, sentence = how_it_stops(attempts_at(DOUBLE, stops))
    assert name == "stops with RuntimeError"
    assert sentence.startswith("It stops in every case: NotImplementedError")
    name, sentence = how_it_stops(attempts_at(DOUBLE, of_a_bool))
    assert name == "stops with RuntimeError" and "Of which dtype" in sentence


ARRAY, ONES = np.ones((2, 3)), torch.ones(2, 3)
LEAF = torch.ones(3, requires_grad=True)
MASK = torch.ones(2, 4, dtype=torch.bool)


@pytest.mark.parametrize(
    ("stops", "asked"),
    [
        (lambda x: ARRAY * ONES, "A NumPy array and a tensor meet"),
        (lambda x: ARRAY + ONES, "A NumPy array and a tensor meet"),
        (lambda x: ARRAY @ ONES, "A NumPy array and a tensor meet"),
        (lambda x: ONES.permute(0, 2, 1), "How many axes does the input have?"),
        (lambda x: ONES.permute(1, 1), "How many axes does the input have?"),
        (lambda x: ARRAY.transpose(0, 2, 1), "Which axes can you count from the end?"),
        (lambda x: ARRAY.sum(axis=2), "Which axes can you count from the end?"),
        (lambda x: torch.mm(torch.ones(2, 2, 2), ONES), "Which axes can you count from the end?"),
        (lambda x: torch.dot(torch.ones(2), torch.ones(3)), "Which letters are paired?"),
        (lambda x: ONES.split([1, 1], dim=1), "Which letters are paired?"),
        (lambda x: ARRAY.reshape(4, 2), "Which letters are paired?"),
        (lambda x: ONES[MASK], "A mask in an index"),
        (lambda x: ARRAY[MASK.numpy()], "A mask in an index"),
        (
            lambda x: np.zeros((2, 2)).__setitem__((0, 0), np.ones((1, 3)) @ np.ones(3)),
            "Since 2.4 NumPy",
        ),
        (lambda x: float(np.ones(1)), "Since 2.4 NumPy"),
        (lambda x: float(ONES), "the tensor holds several"),
        (lambda x: ONES.item(), "the tensor holds several"),
        (lambda x: (LEAF * 1).backward(), "the tensor holds several"),
        (lambda x: ONES[1.0], "would `//` do?"),
        (lambda x: torch.zeros(4 / 2), "would `//` do?"),
        (lambda x: np.zeros((4 / 2, 2)), "would `//` do?"),
        (lambda x: ONES @ 2.0, "Is it `*` that is meant?"),
        (lambda x: ARRAY @ 2.0, "Is it `*` that is meant?"),
        (lambda x: ONES - ONES.max(dim=-1), "Which of them is meant?"),
        (lambda x: [1.0] - ONES, "A list is no tensor"),
        (lambda x: ONES.shape(), "square brackets"),
        (lambda x: ONES.size[0], "square brackets"),
        (lambda x: ONES.view(-1, -1), "One length can be left"),
        (lambda x: ONES.sum().backward(), "Where was the way cut"),
        (
            lambda x: torch.multinomial(torch.tensor([float("nan"), 1.0]), 1),
            "must be probabilities",
        ),
        (lambda x: torch.tensor([[1, 2], [3]]), "Which row is longer"),
        (lambda x: np.array([[1, 2], [3]]), "Which row is longer"),
        (lambda x: torch.sqrt(3), "what does it get there"),
        (lambda x: ~ONES, "Of which dtype"),
        (lambda x: torch.softmax(torch.ones(2, dtype=torch.long), -1), "Of which dtype"),
        (lambda x: ONES @ torch.ones(3, 2, dtype=torch.long), "Of which dtype"),
        (lambda x: nn.Embedding(3, 2)(torch.tensor([5])), "Which index is too large"),
        (lambda x: torch.softmax(ONES, dim=2), "Which axes can you count from the end?"),
        (
            lambda x: torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 3, 4)),
            "Which letters are paired?",
        ),
        (lambda x: LEAF.add_(1), "changed in place"),
        (lambda x: LEAF.numpy(), "becomes an array"),
        (lambda x: bool(ONES == 1), "one truth value"),
        (lambda x: x + None, "Something is None"),
        (lambda x: math.sqrt(x), "Is the cell with the imports there"),  # noqa: F821
        (lambda x: np.ones(2).sum(axis=0, keepdim=True), "and `keepdims`, PyTorch `dim`"),
    ],
)
def test_the_errors_that_students_meet_are_told_with_a_question_of_their_own(stops, asked):
    _, sentence = how_it_stops(attempts_at(DOUBLE, stops))
    assert asked in sentence


def test_how_many_of_the_wrong_cases_stop_is_told():
    def stops(x):
        if len(x) > 5:
            raise ValueError("fnord")
        return x

    _, sentence = how_it_stops(attempts_at(DOUBLE, stops))
    assert sentence.startswith("It stops in 1 of 4 wrong cases: ValueError")


def test_that_some_stop_with_another_error_is_told_too():
    def stops(x):
        raise TypeError("fnord") if len(x) > 5 else ValueError("fnord")

    _, sentence = how_it_stops(attempts_at(DOUBLE, stops))
    assert sentence.startswith("It stops in 4 of 4 wrong cases, in 3 of them with this: ValueError")


def test_an_answer_that_is_not_there_does_not_stop():
    def unanswered(x):
        raise NotImplementedError("not answered yet")

    assert how_it_stops(attempts_at(DOUBLE, unanswered)) is None


class Two(nn.Module):
    """A part of our own with weights: one linear map."""

    def __init__(self, width):
        super().__init__()
        self.map = nn.Linear(width, 2 * width)

    def forward(self, x):
        return self.map(x)


LAYER = part_of(
    Two,
    Case("a layer", lambda randn: Build((3,), arguments=[randn(4, 3)])),
    signature="Two(width), forward(x (T, width)) -> z (T, 2·width)",
)


def with_map(make):
    class Other(Two):
        def __init__(self, width):
            super().__init__(width)
            make(self, width)

    return Other


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda self, _: delattr(self, "map"), "no weights at all"),
        (
            lambda self, n: (delattr(self, "map"), setattr(self, "Map", nn.Linear(n, 2 * n))),
            "there is `Map.weight`",
        ),
        (
            lambda self, n: (
                delattr(self, "map"),
                setattr(self, "map", nn.Parameter(torch.ones(n))),
            ),
            "`map` is a parameter by itself",
        ),
        (lambda self, n: setattr(self, "map", nn.Linear(2 * n, n)), "two lengths exchanged"),
        (lambda self, n: setattr(self, "map", nn.Linear(n, n)), "another shape|made with"),
        (lambda self, n: setattr(self, "map", nn.Linear(n, 2 * n, bias=False)), "has a bias"),
    ],
    ids=["none", "other name", "bare", "exchanged", "narrow", "no bias"],
)
def test_weights_that_do_not_fit_are_told(make, words):
    _, sentence = unfit(attempts_at(LAYER, with_map(make)))
    assert re.search(words, sentence), sentence


class Between(nn.Module):
    """A linear map from one width to another."""

    def __init__(self, width, inner):
        super().__init__()
        self.map = nn.Linear(width, inner)

    def forward(self, x):
        return self.map(x)


@pytest.mark.parametrize(
    ("widths", "words"), [((3,), "with T where inner"), ((3, 5), "with another shape")]
)
def test_a_length_that_a_weight_has_by_chance_is_not_told(widths, words):
    """A map with one feature more than it is wide has as many as there are words, in a single case."""
    cases = (
        Case(f"{width=}", lambda randn, width=width: Build((width, 7), arguments=[randn(4, width)]))
        for width in widths
    )
    signature = "Between(width, inner), forward(x (T, width)) -> z (T, inner)"
    part = part_of(Between, *cases, signature=signature)
    sentence = unfit(attempts_at(part, lambda width, _: Between(width, width + 1))).sentence
    assert f"`map.weight` is made {words}" in sentence


def test_what_is_no_module_is_told():
    assert unfit(attempts_at(LAYER, lambda width: width)).name == "no module"


# ------------------------------------------------------------------------------- in what form


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (lambda x: None, "nothing comes back"),
        (lambda x: {"z": 2 * x}, "results in a dict"),
        (lambda x: (x, 2 * x), "more results than asked"),
        (lambda x: (2 * x,), "more results than asked"),
        (lambda x: (x, x), "several results where one is asked"),
        (lambda x: list(2 * x), "one result in pieces"),
        (lambda x: list(3 * x), "several results where one is asked"),
        (lambda x: (2 * x).tolist(), "a list of numbers"),
        (lambda x: 2.0, "one number"),
        (lambda x: x is not None, "one truth value"),
    ],
)
def test_the_form_of_all_wrong_results_is_told(code, name):
    assert form(attempts_at(DOUBLE, code)).name == name


PAIR = part_of(
    lambda x: (2 * x, x.sum(0)), *SIZES, signature="pair(x (T, D)) -> (output (T, D), weights (D))"
)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (lambda x: (x.sum(0), 2 * x), "results in the wrong order"),
        (lambda x: (2 * x, x.sum(0), x), "another number of results"),
        (lambda x: 2 * x, "one result of several"),
        (lambda x: (2 * x, x.mean(0)), "the output right, the weights wrong"),
    ],
)
def test_the_form_of_several_results_is_told(code, name):
    assert form(attempts_at(PAIR, code)).name == name


def test_one_shape_whatever_is_asked():
    assert ever_the_same(attempts_at(DOUBLE, lambda x: torch.eye(2))).name == "always one shape"


@pytest.mark.parametrize(
    ("code", "name"), [(lambda x: True, "always True"), (lambda x: len(x) % 2 == 1, "the opposite")]
)
def test_one_truth_whatever_is_asked(code, name):
    even = part_of(lambda x: len(x) % 2 == 0, *SIZES, signature="even(x (T, D)) -> bool")
    assert ever_the_same(attempts_at(even, code)).name == name


def test_an_attempt_knows_its_part_and_case():
    drawn = DrawnCases(DOUBLE, 0)
    item = CaseRun(drawn, 2, drawn.expected[2])
    assert (item.part, item.case, item.step) == (DOUBLE, SIZES[2], DOUBLE.steps[0])
