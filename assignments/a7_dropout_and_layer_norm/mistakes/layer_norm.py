"""`LayerNorm` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import torch
from torch import Tensor

from assignments.a7_dropout_and_layer_norm.rubric import (
    CENTRED,
    EPS,
    INSIDE_THE_ROOT,
    PARAMETERS,
    VARIANCE,
    norm,
)
from autograder.checks.cases import Step
from autograder.checks.mistakes import called, costs, message, variants
from course_utils import layers

NOTHING_RUNS = "weights that the text names are missing, so nothing can be run"

UNBIASED = (
    "Your spread is a little too large, as if the sum of squares were divided by D − 1. PyTorch's "
    "`var` and `std` do this unless they are told otherwise. What does the formula divide by?"
)
NO_EPS = (
    "Your numbers match a division by σ alone, as if ε were 0. Where all features of a token are "
    "equal, σ is 0 as well. Where is ε in the formula?"
)
BATCH_NORM = (
    "You have one mean and one variance for each feature, over all tokens, which is batch norm. "
    "Layer norm has one pair for each token."
)
THREE_AXES = (
    "On sentences (B, T, D) the mean is right, but with fewer or more leading axes it is not. "
    "However many there are, the features are along the last axis. How is that axis named without "
    "counting the others?"
)


class Norm(layers.LayerNorm):
    """The right norm in steps, each of which a mistake can take in another way."""

    def axes(self, x: Tensor) -> int | tuple[int, ...]:
        return -1

    def centred(self, x: Tensor) -> Tensor:
        return x - x.mean(self.axes(x), keepdim=True)

    def variance(self, x: Tensor) -> Tensor:
        return x.var(self.axes(x), keepdim=True, correction=0)

    def sigma(self, variance: Tensor) -> Tensor:
        return (variance + self.eps).sqrt()

    def scaled(self, y: Tensor) -> Tensor:
        return y * self.weight

    def shifted(self, y: Tensor) -> Tensor:
        return y + self.bias

    def affine(self, y: Tensor) -> Tensor:
        return self.shifted(self.scaled(y))

    def forward(self, x):
        return self.affine(self.centred(x) / self.sigma(self.variance(x)))


class Lacking(Norm):
    """The right norm with plain numbers in place of some of its parameters."""

    def __init__(self, features, eps, **numbers):
        super().__init__(features, eps)
        for name, number in numbers.items():
            delattr(self, name)
            setattr(self, name, number)


@norm.mistake("weight and bias missing", costs_more=NOTHING_RUNS)
def without_parameters(features, eps=EPS):
    """The module has no `weight` and no `bias`, or they are not parameters. γ and β are learned,
    but a plain tensor is not registered with the module, so no optimiser would find it. Are both
    made in `__init__`, as `nn.Parameter`, under these names?"""
    return Lacking(features, eps, weight=1.0, bias=0.0)


@norm.mistake("bias missing", costs_more=NOTHING_RUNS)
def without_bias(features, eps=EPS):
    """The module has a `weight`, but no parameter `bias`. Which letter of the formula is the
    bias?"""
    return Lacking(features, eps, bias=0.0)


@norm.mistake("unbiased variance", UNBIASED, costs=VARIANCE)
class Unbiased(Norm):
    def variance(self, x):
        return x.var(self.axes(x), keepdim=True, correction=1)


@norm.mistake("epsilon outside the root", costs=INSIDE_THE_ROOT)
class EpsOutside(Norm):
    """Ordinary tokens come out right, but faint ones are too large, as if they were divided by σ +
    ε. In the formula, is ε added before or after the root is taken?"""

    def sigma(self, variance):
        return variance.sqrt() + self.eps


@norm.mistake(
    "unbiased variance and epsilon outside the root",
    f"There are two slips. {UNBIASED} Besides, faint tokens come out too large. Is ε added before "
    "or after the root is taken?",
    costs=(VARIANCE, INSIDE_THE_ROOT),
)
class BothSlips(Unbiased, EpsOutside):
    pass


@norm.mistake("epsilon missing", NO_EPS, costs=INSIDE_THE_ROOT)
class WithoutEps(Norm):
    def sigma(self, variance):
        return variance.sqrt()


@norm.mistake(
    "unbiased variance and epsilon missing",
    f"{NO_EPS} There is a second slip. {UNBIASED}",
    costs=(VARIANCE, INSIDE_THE_ROOT),
)
class UnbiasedWithoutEps(Unbiased, WithoutEps):
    pass


@norm.mistakes_in(Norm.__init__, costs=INSIDE_THE_ROOT, of=Norm)
class NormInit:
    def argument_eps_ignored(self, features, eps=EPS):
        """With the default ε all is right, but with another one nothing changes. What becomes of
        the argument `eps`?"""
        Norm.__init__(self, features)

    @called("another default for epsilon")
    @variants("default", (1e-6, 1e-12, 1e-9, 1e-8, 1e-7, 1e-4, 1e-3))
    def another_default(self, features, eps=None, default=1e-6):
        """With the ε that a case names all is right, and where none is named, faint tokens come out as
        with another ε than the text's. Which value does the text give to `eps` in the constructor?"""
        Norm.__init__(self, features, default if eps is None else eps)


@norm.mistakes_in(Norm.sigma, costs=(CENTRED, VARIANCE))
class NormSigma:
    @costs(INSIDE_THE_ROOT)
    def epsilon_squared(self, variance):
        """Your ε is squared before it is added. Under the root the formula has σ² + ε, with ε as it
        is."""
        return (variance + self.eps**2).sqrt()

    def not_divided_by_the_spread(self, variance):
        """Your tokens have mean 0, but each keeps its spread. What are the differences divided
        by?"""
        return torch.ones_like(variance)

    def divided_by_the_variance(self, variance):
        """Your differences are divided by the variance. What does the formula do to the variance
        before it divides by it?"""
        return variance + self.eps


@norm.mistakes_in(Norm.centred, costs=(CENTRED, VARIANCE))
class NormCentred:
    def mean_not_taken_off(self, x):
        """Your tokens are divided by their standard deviation but keep their mean. Which difference
        is in the numerator of the formula?"""
        return x


@norm.mistake("RMS norm: mean not taken off", costs=(CENTRED, VARIANCE))
class RootMeanSquare(Norm):
    """Your numbers match x divided by the root of the mean of x², which is RMS norm. Layer norm
    subtracts the mean first, in the numerator and in the variance."""

    def centred(self, x):
        return x

    def variance(self, x):
        return x.square().mean(dim=self.axes(x), keepdim=True)


@norm.mistakes_in(Norm.variance, costs=(CENTRED, VARIANCE))
class NormVariance:
    @called("squares summed, not averaged")
    def squares_summed(self, x):
        """Your tokens come out with length 1. The variance is the mean of the squares, not their
        sum."""
        mean = x.mean(self.axes(x), keepdim=True)
        return (x - mean).square().sum(dim=self.axes(x), keepdim=True)

    def variance_not_around_the_mean(self, x):
        """You divide by the root of the mean of x², from which the mean was not subtracted. The
        variance is the mean of the squared differences from μ."""
        return x.square().mean(dim=self.axes(x), keepdim=True)


@norm.mistake("mean absolute deviation", costs=VARIANCE)
class MeanAbsoluteDeviation(Norm):
    """Your spread is the mean of the absolute differences. The formula squares the differences,
    averages the squares and takes the root."""

    def variance(self, x):
        mean = x.mean(self.axes(x), keepdim=True)
        return (x - mean).abs().mean(dim=self.axes(x), keepdim=True)

    def sigma(self, variance):
        return variance + self.eps


@norm.mistake("statistics without their axis", costs_more="it stops with an error")
class WithoutKeepdim(Norm):
    """One token comes out right, but with more of them the module stops, or tokens get the mean of
    other tokens. The means of x (B, T, D) have the shape (B, T), which does not broadcast against x
    as it should. How can the last axis be kept, with size 1?"""

    def centred(self, x):
        return x - x.mean(dim=-1)

    def variance(self, x):
        return x.var(dim=-1, correction=0)


@norm.mistakes_in(Norm.affine, costs=PARAMETERS)
class NormAffine:
    def weight_and_bias_not_used(self, y):
        """The module has `weight` and `bias`, but the result does not depend on them. What is the
        last step of the formula?"""
        return y

    def shifted_before_scaled(self, y):
        """You add β first and multiply by γ afterwards, so the shift is scaled as well. Which of
        the two comes first in the formula?"""
        return self.scaled(self.shifted(y))

    def weight_and_bias_swapped(self, y):
        """You multiply by `bias` and add `weight`. Which of the two is the scale?"""
        return y * self.bias + self.weight


@norm.mistakes_in(Norm.scaled, costs=PARAMETERS)
class NormScaled:
    def weight_not_used(self, y):
        """The features are shifted but not scaled. Which letter of the formula is missing?"""
        return y

    def divided_by_the_weight(self, y):
        """Your features are divided by γ. What does the formula do with it?"""
        return y / self.weight

    def one_added_to_the_weight(self, y):
        """You multiply by 1 + γ. The formula has γ alone, and a new module has ones there."""
        return y * (1 + self.weight)


@norm.mistakes_in(Norm.shifted, costs=PARAMETERS)
class NormShifted:
    def bias_not_used(self, y):
        """The features are scaled but not shifted. Which letter of the formula is missing?"""
        return y

    def bias_taken_off(self, y):
        """Your features are shifted the wrong way, because β is subtracted. Which sign does it have
        in the formula?"""
        return y - self.bias


@norm.mistakes_in(Norm.forward, costs=PARAMETERS)
class NormForward:
    def scaled_and_shifted_before_the_norm(self, x):
        """You scale and shift x, and normalise the result. γ and β should come last, because a norm
        after them divides out again what they learned."""
        y = self.affine(x)
        return self.centred(y) / self.sigma(self.variance(y))

    @called("batch norm: one mean for each feature")
    @costs(CENTRED, VARIANCE)
    @message(BATCH_NORM)
    def on_a_table_of_tokens(self, x):
        table = x.reshape(-1, x.shape[-1])
        centred = table - table.mean(dim=0)
        return self.affine(centred / self.sigma(table.var(dim=0, correction=0))).reshape(x.shape)


def over_axes(
    name: str,
    message: str,
    *ways: Callable[[Tensor], Any],
    costs: Step | tuple[Step, ...] = (CENTRED, VARIANCE),
) -> None:
    """Names statistics over other axes, with the spread in each of the usual ways to write it.

    ``ways`` are the axes as people write them: they agree on (B, T, D) and differ elsewhere.
    """
    for slips, axes in product(((Norm,), (Unbiased,), (EpsOutside,), (BothSlips,)), ways):
        own = {"axes": lambda self, x, axes=axes: axes(x)}
        norm.mistake(name, message, costs)(type("OverAxes", slips, own))


over_axes(
    "batch axis",
    "Your mean and variance run over axis 0, so the result for a word depends on the other words or "
    "sentences in the same input. A token should be normalised over its own features. Which axis "
    "are they along?",
    lambda x: 0,
)
over_axes(
    "axis of the words",
    "Your mean and variance run along the sentence, one pair for each feature, so a word's result "
    "depends on the words around it. A token should be normalised over its own features. Which axis "
    "are they along?",
    lambda x: -2,
    lambda x: 1,
)
over_axes(
    "batch norm: one mean for each feature",
    BATCH_NORM,
    lambda x: tuple(range(x.dim() - 1)),
    lambda x: (0, 1),
)


over_axes(
    "one mean for everything",
    "All tokens share one mean and one variance, but each token should have its own. Which axis has "
    "to be named when the mean is taken?",
    lambda x: tuple(range(x.dim())),
)
over_axes(
    "one mean for each sentence",
    "All words of a sentence share one mean and one variance, so a word's result depends on the "
    "words around it. Each token should have its own pair.",
    lambda x: (-2, -1),
    lambda x: (1, 2),
    lambda x: tuple(range(1, x.dim())) or 0,
)


@norm.mistakes_in(Norm.axes, costs=VARIANCE)
class NormAxes:
    @message(THREE_AXES)
    def right_for_three_axes_only(self, x):
        _, _, _ = x.shape
        return -1


over_axes("right for three axes only", THREE_AXES, lambda x: 2, costs=VARIANCE)
