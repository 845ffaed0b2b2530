"""Arguments that are not used, or not handed on, have names that nobody wrote down."""

import torch
from torch import nn

from assignments import load
from autograder.bank.measure import attempts_at, verdict_on
from autograder.checks.arguments import mistakes_about_arguments
from autograder.checks.cases import Build, Case
from autograder.checks.check import Part
from autograder.checks.diagnosis import diagnosis_of
from course_utils.positional import PositionalEncoding


def powers(x, exponent=2.0):
    """A part of our own with an argument that has a default."""
    return x**exponent


def part_of_powers():
    part = Part("powers(x (N), exponent=2.0)", powers, ("lecture 0", "link"))
    part.step("squares", 1, Case("squares", lambda randn: [randn(7)]))
    part.step("cubes", 1, Case("cubes", lambda randn: [randn(7), 3.0]))
    return part


def test_an_argument_that_is_taken_for_its_default_has_a_name():
    found = diagnosis_of(attempts_at(part_of_powers(), lambda x, exponent=2.0: x * x))
    assert [mistake.name for mistake in found.mistakes] == ["`exponent` taken for its default"]
    assert "its default, 2.0" in found.mistakes[0].message


def test_a_name_of_the_authors_own_comes_first():
    part = part_of_powers()
    part.mistake("always squared", "Which power is asked?")(lambda x, exponent=2.0: x * x)
    found = diagnosis_of(attempts_at(part, lambda x, exponent=2.0: x * x))
    assert [mistake.name for mistake in found.mistakes] == ["always squared"]


class Scaled(nn.Module):
    """A module with an argument that its own modules are told, too."""

    def __init__(self, factor=3.0):
        super().__init__()
        self.factor = factor
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.factor * self.weight * x


class Both(nn.Module):
    def __init__(self, factor=1.0):
        super().__init__()
        self.first = nn.ModuleList([Scaled(factor)])
        self.second = Scaled(factor)

    def forward(self, x):
        return self.second(self.first[0](x).sin())


class SecondIsNotTold(Both):
    def __init__(self, factor=1.0):
        super().__init__(factor)
        self.second = Scaled()


def test_a_module_that_is_not_told_is_named():
    part = Part("Both(factor); forward(x)", Both, ("lecture 0", "link"))
    for factor in (1.0, 5.0):
        made = Build((factor,), arguments=[])
        part.step(
            f"factor {factor}", 1,
            Case("seven", lambda randn, made=made: Build(made.construct, arguments=[randn(7)])),
        )  # fmt: skip
    names = [mistake.name for mistake in mistakes_about_arguments(part)]
    assert names == [
        "`factor` taken for its default",
        "`factor` not handed on to `first`",
        "`factor` not handed on to `second`",
    ]
    found = diagnosis_of(attempts_at(part, SecondIsNotTold))
    assert [mistake.name for mistake in found.mistakes] == ["`factor` not handed on to `second`"]
    assert "factor = 3.0, which is the default of Scaled" in found.mistakes[0].message


def test_every_constructor_of_the_course_is_looked_at():
    transformer = load("a9_transformer").part("Transformer")
    names = {mistake.name for mistake in mistakes_about_arguments(transformer)}
    assert {
        f"`dropout` not handed on to `{child}`" for child in ("encoder_layers", "decoder_layers")
    } <= names


def test_a_table_of_the_usual_length_is_named():
    part = load("a6_positional_encoding").part("PositionalEncoding")

    class Always(PositionalEncoding):
        def __init__(self, d_model, dropout=0.1, max_len=5000):
            super().__init__(d_model, dropout)

    verdict = verdict_on("a6_positional_encoding", part, Always)
    assert verdict.earned == part.points - 1
    assert [name for name, _ in verdict.mistakes] == ["`max_len` taken for its default"]


class Dropping(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(x)


def test_a_share_that_is_kept_in_place_of_the_one_that_is_dropped_has_a_name():
    part = Part("Dropping(dropout=0.1); forward(x (T, D))", Dropping, ("lecture 0", "link"))
    part.step(
        "nothing is dropped",
        1,
        Case("no dropout", lambda randn: Build((0.0,), arguments=[randn(4, 5)], training=True)),
    )
    found = diagnosis_of(attempts_at(part, lambda dropout=0.1: Dropping(1 - dropout)))
    assert [mistake.name for mistake in found.mistakes] == [
        "`dropout` taken for the share that is kept"
    ]
