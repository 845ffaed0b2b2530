"""Assignment 7: layer norm, and attention with dropout on its weights and a norm on its output.

Two more points are for a written answer, which a person grades.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from autograder.verdict.check import Assignment, Build, Case, Judge, Part, Randn, taking
from autograder.verdict.compare import kind_of, numbers, values_agree
from course_utils import layers

LECTURE = "../../lectures/07_layer_normalization.ipynb"
# so near to 1 that nothing is kept; at 1 itself, dropout by hand divides 0 by 0
EVERYTHING = 1 - 1e-9
NOTHING = 1e-9
EPS = 1e-5

# ------------------------------------------------------------------------------ what is drawn


def silent(case: Case) -> Case:
    """Leaves a case out where mistakes are recognised.

    Such are what is left to chance, what wrong answers turn into NaN (which equals nothing), and
    what a new module holds (which is no tensor).
    """
    return replace(case, random=True)


def parameters(features: int, affine: bool = False) -> dict[str, Tensor]:
    """γ = 1 and β = 0; or γ of both signs, never near 0, and β, both unlike their neighbours."""
    if not affine:
        return {"weight": torch.ones(features), "bias": torch.zeros(features)}
    k = torch.arange(features)
    sign = torch.where(k % 3 == 1, -1.0, 1.0)
    return {"weight": sign * (0.5 + 0.5 * (k % 4)), "bias": (k % 5) - 1.5}


# from 3 on, a token that is only centred, or divided by its variance, is clearly off
ORDINARY = (3.0, 60.0)


def tokens(
    *shape: int,
    spread: tuple[float, float] = ORDINARY,
    affine: bool = False,
    training: bool = False,
    eps: float | None = None,
) -> Case:
    """x (shape) whose tokens differ in centre, and in spread between two bounds."""
    least, most = spread
    keywords = {} if eps is None else {"eps": eps}

    def draw(randn: Randn) -> Build:
        x = randn(*shape)
        x = (x - x.mean(dim=-1, keepdim=True)) / x.std(dim=-1, keepdim=True, correction=0)
        # means that are no larger than that cost the variance no digits, however it is computed
        centre = torch.empty(*shape[:-1], 1).uniform_(-2, 2, generator=randn.generator)
        sizes = torch.logspace(math.log10(least), math.log10(most), centre.numel())
        sizes = sizes[torch.randperm(len(sizes), generator=randn.generator)].reshape(centre.shape)
        state = parameters(shape[-1], affine)
        return Build(shape[-1:], keywords, [(x + centre) * sizes], state=state, training=training)

    notes = [f"x {shape}"] + [f"{eps=}"] * bool(keywords)
    notes += [f"spread {least:g} to {most:g}"] * (spread != ORDINARY)
    notes += ["with γ and β"] * affine + ["train mode"] * training
    return Case(", ".join(notes), draw)


def flat_tokens(randn: Randn) -> Build:
    """Tokens of equal features whose mean is exact in any order of summing."""
    values = torch.tensor([-2.0, 0.5, 3.0])[torch.randperm(3, generator=randn.generator)]
    return Build((8,), arguments=[values[:, None].repeat(2, 1, 8)], state=parameters(8))


FLAT = silent(Case("x (2, 3, 8), all features of a token equal, σ = 0", flat_tokens))
NEW = silent(Case("what a new module holds", lambda randn: Build((6,), method=None)))


def sentences(
    B: int, T: int, S: int, d_k: int, features: int, rate: float = 0.0, *, training: bool = False,
    by_name: bool = True, size: float = 2.0, keys_alike: bool = False,
) -> Case:  # fmt: skip
    """query (B, T, d_k), key (B, S, d_k), value (B, S, features), whose values have a ``size``.

    With ``keys_alike`` the scale of the scores decides nothing, as it does at d_k = 1.
    """

    def draw(randn: Randn) -> Build:
        key = randn(B, 1, d_k).repeat(1, S, 1) if keys_alike else randn(B, S, d_k)
        arguments = [1.2 * randn(B, T, d_k), 1.2 * key, size * randn(B, S, features)]
        if not by_name:
            return Build((features, rate), arguments=arguments, training=training)
        keywords = {"features": features, "dropout_rate": rate}
        return Build((), keywords, arguments, training=training)

    notes = [f"{B=}, {T=}, {S=}, {d_k=}, {features=}"]
    mode = "train" if training else "eval"
    notes += [f"dropout_rate={rate}, {mode} mode"] * (training or rate > 0)
    notes += [f"values of size {size:g}"] * (size != 2.0) + ["all keys alike"] * keys_alike
    notes += ["the constructor's arguments by place"] * (not by_name)
    return Case(", ".join(notes), draw)


KEYS, SIZE = 11, 0.02


def seen_through(
    B: int, T: int, rate: float | None = None, d_k: int = 1, reach: float = 1.0
) -> Case:
    """Two calls in train mode, from whose outputs the weights can be computed back.

    Value s is a small number in columns s and s + KEYS and zero elsewhere, and the last column is
    zero for all. So what is collected holds each weight twice. With γ = 1 and β = 0 the norm keeps
    it up to a shift, which the last column shows, and a factor, which ε shows: the values are so
    small that the variance of a row of output is clearly below 1. Entries of query and key lie
    between plus and minus ``reach``.
    """
    features = 2 * KEYS + 1
    state = {f"layer_norm.{name}": value for name, value in parameters(features).items()}

    def draw(randn: Randn) -> Build:
        query, key = (
            torch.empty(B, length, d_k).uniform_(-reach, reach, generator=randn.generator)
            for length in (T, KEYS)
        )
        value = F.pad(SIZE * torch.eye(KEYS).repeat(B, 1, 2), (0, 1))
        keywords = {"features": features} | ({} if rate is None else {"dropout_rate": rate})
        return Build((), keywords, [query, key, value], state=state, training=True, times=2)

    notes = ["train mode", "dropout_rate left out" if rate is None else f"dropout_rate={rate}"]
    return silent(Case(", ".join([*notes, f"{d_k=}, {B * T * KEYS} weights"]), draw))


# ------------------------------------------------------------------------------------- judges


def rows_in_proportion(expected: Tensor, got: Any, affine: bool = False) -> str | None:
    """Accept rows that are the expected ones times a factor near 1, once γ and β are undone.

    So that one slip in the variance or in ε does not cost the points for everything else.
    """
    if not isinstance(got, Tensor) or got.shape != expected.shape:
        return values_agree(expected, got)
    if not torch.isfinite(got).all():
        return "the result holds NaN or infinity"
    state = parameters(expected.shape[-1], affine)
    wanted, found = (
        ((y.double() - state["bias"]) / state["weight"]).reshape(-1, y.shape[-1])
        for y in (expected, got)
    )
    factor = (found * wanted).sum(-1, keepdim=True) / (wanted * wanted).sum(-1, keepdim=True)
    apart = (found - factor * wanted).abs().amax(dim=-1)
    wrong = (apart > 1e-3) | (factor[:, 0] < 0.5) | (factor[:, 0] > 2.0)
    if not wrong.any():
        return None
    row = int(wrong.nonzero()[0])
    return (
        f"token {row} (counted through all axes, from 0) should come out as "
        f"{numbers(expected.reshape(wanted.shape)[row])} and is "
        f"{numbers(got.reshape(wanted.shape)[row])}"
    )


def scaled_and_shifted(expected: Any, got: Any) -> str | None:
    """Judges γ and β at work, and what a new module holds."""
    if not isinstance(expected, dict):
        return rows_in_proportion(expected, got, affine=True)
    found = got.get("parameters") if isinstance(got, dict) else None
    if not isinstance(found, dict):
        return f"expected a module, got {kind_of(got)}"
    for name, wanted in expected["parameters"].items():
        if name not in found:
            return f"`{name}` is no parameter: an optimiser would never see it"
        problem = values_agree(wanted, found[name])
        if problem:
            return f"in a new module, `{name}` is not what it should be: {problem}"
    return None


def within_five_percent(expected: Tensor, got: Any) -> str | None:
    """Judges where ε stands, which matters far more; with many features, no variance does."""
    if not isinstance(got, Tensor) or got.shape != expected.shape:
        return values_agree(expected, got)
    if torch.allclose(got.double(), expected.double(), rtol=0.05, atol=0.02):
        return None
    return values_agree(expected, got) or "the result holds NaN or infinity"


def submodules_are_there(expected: dict, got: Any) -> str | None:
    names = got.get("modules") if isinstance(got, dict) else None
    if not isinstance(names, list):
        return f"expected a module, got {kind_of(got)}"
    missing = [name for name in expected["modules"] if name not in names]
    if missing:
        there = ", ".join(f"`{name}`" for name in names) or "none"
        return f"there is no submodule `{missing[0]}`; the submodules are: {there}"
    return None


def in_train_mode(judge: Callable[[Tensor, list[Tensor]], str | None]) -> Judge:
    """Gives the two outputs of `seen_through` to ``judge``, with the one of eval mode before them.

    All other results are compared by value, and new modules by their submodules.
    """

    def judge_each(expected: Any, got: Any) -> str | None:
        if isinstance(expected, dict):
            return submodules_are_there(expected, got)
        if not isinstance(expected, list):
            return values_agree(expected, got)
        if not isinstance(got, list) or len(got) != 2:
            return f"expected {kind_of(expected[0])}, got {kind_of(got)}"
        for found in got:
            if not isinstance(found, Tensor) or found.shape != expected[0].shape:
                return f"expected {kind_of(expected[0])}, got {kind_of(found)}"
        return judge(expected[0], got)

    return judge_each


def read_back(output: Tensor) -> tuple[Tensor, Tensor]:
    """The two copies of the weights, (B, T, KEYS) each, from an output of `seen_through`."""
    output = output.double()
    # with γ = 1 and β = 0 a row's variance is σ² / (σ² + ε)
    variance = output.var(dim=-1, keepdim=True, correction=0)
    spread = torch.sqrt(EPS / (1 - variance))  # √(σ² + ε)
    collected = (output - output[..., -1:]) * spread / SIZE
    return collected[..., :KEYS], collected[..., KEYS:-1]


def drops_weights(p: float) -> Judge:
    """Every weight is 0 or 1/(1 - p) times the one of eval mode, each decided by itself.

    About a share of p is 0, within six standard deviations.
    """

    def judge(expected: Tensor, got: list[Tensor]) -> str | None:
        for found in got:
            problem = _dropped_once(p, expected, found)
            if problem:
                return f"in train mode with dropout {p:g}, {problem}"
        if torch.equal(*got):
            return "two calls in train mode give the same result: nothing is left to chance"
        return None

    return in_train_mode(judge)


def _dropped_once(p: float, expected: Tensor, got: Tensor) -> str | None:
    if not torch.isfinite(got).all():
        return "the result holds NaN or infinity: what about a row that has lost all its weights?"
    whole, _ = read_back(expected)
    first, second = read_back(got)
    if got.double().mean(dim=-1).abs().max() > 1e-3 or not torch.isfinite(first).all():
        return (
            "the output is not normalised, though the norm has a weight of ones and a bias of "
            "zeros: is the norm the last step?"
        )
    if not torch.allclose(first, second, atol=2e-3):
        return (
            "two columns that are the same in all values come out different. If a weight is "
            "dropped, its value is missing in all columns: what do you drop instead?"
        )
    is_zero = first.abs() < 2e-3
    possible = is_zero | torch.isclose(first * (1 - p), whole, rtol=2e-3, atol=1e-3)
    if not possible.all():
        b, t, s = (~possible).nonzero()[0].tolist()
        return (
            f"each weight should be 0 or 1/(1 - {p:g}) times what it is in eval mode. Computed "
            f"back from your output, the weight [{b}, {t}, {s}] is {float(first[b, t, s]):.3g}, "
            f"and in eval mode it is {float(whole[b, t, s]):.3g}"
        )
    share = float(is_zero.double().mean())
    if abs(share - p) > 6 * (p * (1 - p) / is_zero.numel()) ** 0.5:
        return f"a share of {share:.2f} of the weights is 0"
    if any((is_zero == is_zero.narrow(axis, 0, 1)).all() for axis in range(3)):
        return (
            "whole rows, columns or sentences are dropped together: each weight by itself, please"
        )
    if any((count == count.flatten()[0]).all() for count in (is_zero.sum(-1), is_zero.sum(-2))):
        return (
            "every row, or every column, loses the same number of weights. Each weight is dropped "
            "by itself, so that number is left to chance, too"
        )
    return None


@in_train_mode
def weights_compare(expected: Tensor, got: list[Tensor]) -> str | None:
    """Judges in train mode only how the weights of a row compare.

    What is wrong with the dropout is another step's matter: of the rows that kept three weights or
    more, a quarter with three that stand to each other as in eval mode will do.
    """
    whole, _ = read_back(expected)
    # the norm's factor, one for each row, does not matter here
    found = got[0].double()
    collected = (found - found[..., -1:])[..., :KEYS]
    ratio = (collected / whole).sort(dim=-1).values
    least, most = ratio[..., :-2], ratio[..., 2:]  # of three neighbours
    kept = least > 1e-3 * ratio[..., -1:]
    telling = kept.any(dim=-1)
    alike = (kept & (most < 1.003 * least)).any(dim=-1)
    if alike.sum() < 0.25 * telling.sum():
        return (
            "the weights of a row do not stand to each other as they do in eval mode: are the "
            "scores divided by √d_k in train mode, too?"
        )
    return None


# ---------------------------------------------------------------------------------- LayerNorm

norm = Part(
    "LayerNorm(features, eps=1e-5)(x (..., features)) -> (..., features)",
    layers.LayerNorm,
    reads=(
        "lecture 7, on layer norm and its three details",
        f"{LECTURE}#2.-Layer-norm,-one-token-at-a-time",
    ),
    barred=(
        "LayerNorm", "layer_norm", "native_layer_norm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d",
        "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "SyncBatchNorm", "batch_norm",
        "native_batch_norm", "_batch_norm_impl_index", "_native_batch_norm_legit",
        "_native_batch_norm_legit_functional", "_batch_norm_with_update", "GroupNorm", "group_norm",
        "native_group_norm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
        "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d", "instance_norm",
        "RMSNorm", "rms_norm", "_fused_rms_norm",
        # these hold a layer norm that could be taken out
        "TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer",
    ),
)  # fmt: skip
norm.step(
    "each token by itself is centred, and divided by its own spread",
    1, tokens(2, 3, 7), tokens(2, 3, 5), tokens(4, 4, 4), judge=rows_in_proportion,
)  # fmt: skip
norm.step(
    "the variance is exact, for any leading axes",
    1, tokens(2, 3, 5), tokens(6), tokens(2, 3, 5, 4), tokens(2, 130),
    silent(tokens(1, 1, 5)), silent(tokens(1, 7)), silent(tokens(3, 2)),
)  # fmt: skip
norm.step(
    "`weight` scales and `bias` shifts each feature; a new module has ones and zeros",
    1, NEW, tokens(2, 3, 5, affine=True), tokens(2, 6, 6, affine=True),
    tokens(2, 3, 7, affine=True), judge=scaled_and_shifted,
)  # fmt: skip
norm.step(
    "ε stands under the root, and a token of equal features does no harm",
    1,
    tokens(2, 3, 64, spread=(0.002, 0.004)),
    tokens(2, 3, 64, spread=(0.5, 1.2), eps=0.5),
    tokens(2, 2, 64, spread=(0.02, 0.05), eps=0.001),
    FLAT,
    FLAT.with_gradients(),
    judge=within_five_percent,
)
norm.step(
    "float64 stays float64, x stays as it was, any memory layout, any mode, gradients",
    1,
    # large tokens, so that the place of ε decides nothing here
    tokens(2, 3, 5, spread=(1e5, 2e5)).in_float64(),
    tokens(2, 3, 5).with_gaps(),
    tokens(2, 3, 5, training=True),
    tokens(2, 3, 5, spread=(5.0, 9.0), affine=True).with_gradients(),
    strict=True,
)

UNBIASED = (
    "Your spread is a little too large, as if the sum of squares were divided by D − 1. PyTorch's "
    "`var` and `std` do this unless they are told otherwise. What does the formula divide by?"
)
NO_EPS = (
    "Your numbers match a division by σ alone, as if ε were 0. Where all features of a token are "
    "equal, σ is 0, too. Where does ε stand in the formula?"
)
BATCH_NORM = (
    "You have one mean and one variance for each feature, over all tokens: that is batch norm. "
    "Layer norm has one pair for each token."
)
THREE_AXES = (
    "On sentences (B, T, D) the mean is right, with fewer or more axes in front it is not. However "
    "many there are, the features lie along the last one: how is it named without counting the "
    "others?"
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


@norm.mistake("weight and bias missing")
def without_parameters(features, eps=EPS):
    """The module has no `weight` and no `bias`, or not as parameters. γ and β are learned: a
    plain tensor is not registered with the module, so no optimiser would find it. Are both made
    in `__init__`, as `nn.Parameter`, under these names?"""
    return nn.LayerNorm(features, eps, elementwise_affine=False)


@norm.mistake("bias missing")
def without_bias(features, eps=EPS):
    """The module has a `weight`, but no parameter `bias`. Which letter of the formula is that?"""
    return nn.LayerNorm(features, eps, bias=False)


@norm.mistake("unbiased variance", UNBIASED, costs=(2,))
class Unbiased(Norm):
    def variance(self, x):
        return x.var(self.axes(x), keepdim=True, correction=1)


@norm.mistake("epsilon outside the root", costs=(4,))
class EpsOutside(Norm):
    """Ordinary tokens come out right, faint ones too large: they match σ + ε. In the formula, is
    ε added before or after the root is taken?"""

    def sigma(self, variance):
        return variance.sqrt() + self.eps


@norm.mistake(
    "unbiased variance and epsilon outside the root",
    f"Two things. {UNBIASED} And faint tokens come out too large: is ε added before or after the "
    "root is taken?",
    costs=(2, 4),
)
class BothSlips(Unbiased, EpsOutside):
    pass


@norm.mistake("epsilon missing", NO_EPS, costs=(4,))
class WithoutEps(Norm):
    def sigma(self, variance):
        return variance.sqrt()


@norm.mistake("unbiased variance and epsilon missing", f"{NO_EPS} And: {UNBIASED}", costs=(2, 4))
class UnbiasedWithoutEps(Unbiased, WithoutEps):
    pass


@norm.mistake("argument eps ignored", costs=(4,))
@taking(Norm, Norm.__init__)
def eps_ignored(self, features, eps=EPS):
    """With the ε that a module has by default all is right; with another one, nothing changes.
    What becomes of the argument `eps`?"""
    Norm.__init__(self, features)


@norm.mistake("epsilon squared", costs=(4,))
@taking(Norm, Norm.sigma)
def eps_squared(self, variance):
    """Your ε is squared before it is added. Under the root stands σ² + ε, with ε as it is."""
    return (variance + self.eps**2).sqrt()


@norm.mistake("mean not taken off", costs=(1, 2))
class NotCentred(Norm):
    """Your tokens are divided by their standard deviation but keep their mean. Which difference
    stands above the line of the fraction?"""

    def centred(self, x):
        return x


@norm.mistake("RMS norm: mean not taken off", costs=(1, 2))
class RootMeanSquare(NotCentred):
    """Your numbers match x divided by the root of the mean of x², which is RMS norm. Layer norm
    takes the mean off first, above the line and in the variance."""

    def variance(self, x):
        return x.square().mean(dim=self.axes(x), keepdim=True)


@norm.mistake("not divided by the spread", costs=(1, 2))
@taking(Norm, Norm.sigma)
def not_divided(self, variance):
    """Your tokens have mean 0, but each keeps its spread. What are the differences divided by?"""
    return torch.ones_like(variance)


@norm.mistake("divided by the variance", costs=(1, 2))
@taking(Norm, Norm.sigma)
def divided_by_variance(self, variance):
    """Your differences are divided by the variance. Something is still to be done with it."""
    return variance + self.eps


@norm.mistake("squares summed, not averaged", costs=(1, 2))
@taking(Norm, Norm.variance)
def squares_summed(self, x):
    """Your tokens come out with length 1. The variance is the mean of the squares, not their
    sum."""
    mean = x.mean(self.axes(x), keepdim=True)
    return (x - mean).square().sum(dim=self.axes(x), keepdim=True)


@norm.mistake("mean absolute deviation", costs=(2,))
class MeanAbsoluteDeviation(Norm):
    """Your spread is the mean of the absolute differences. The formula squares them, averages and
    takes the root."""

    def variance(self, x):
        mean = x.mean(self.axes(x), keepdim=True)
        return (x - mean).abs().mean(dim=self.axes(x), keepdim=True)

    def sigma(self, variance):
        return variance + self.eps


@norm.mistake("statistics without their axis")
class WithoutKeepdim(Norm):
    """For one token all is right; with more of them it stops, or tokens meet the mean of others.
    The means of x (B, T, D) have the shape (B, T), and that does not broadcast against x as it
    should. How can the last axis be kept, with size 1?"""

    def centred(self, x):
        return x - x.mean(dim=-1)

    def variance(self, x):
        return x.var(dim=-1, correction=0)


@norm.mistake("weight and bias not used", costs=(3,))
@taking(Norm, Norm.affine)
def neither_used(self, y):
    """The module has `weight` and `bias`, but the result does not depend on them. What is the last
    step of the formula?"""
    return y


@norm.mistake("weight not used", costs=(3,))
@taking(Norm, Norm.scaled)
def weight_unused(self, y):
    """The features are shifted but not scaled. Which letter of the formula is missing?"""
    return y


@norm.mistake("bias not used", costs=(3,))
@taking(Norm, Norm.shifted)
def bias_unused(self, y):
    """The features are scaled but not shifted. Which letter of the formula is missing?"""
    return y


@norm.mistake("shifted before scaled", costs=(3,))
@taking(Norm, Norm.affine)
def shifted_first(self, y):
    """You add β first and multiply by γ afterwards, so the shift is scaled too. Which comes first
    in the formula?"""
    return self.scaled(self.shifted(y))


@norm.mistake("weight and bias swapped", costs=(3,))
@taking(Norm, Norm.affine)
def swapped(self, y):
    """You multiply by `bias` and add `weight`. Which one is the scale?"""
    return y * self.bias + self.weight


@norm.mistake("bias taken off", costs=(3,))
@taking(Norm, Norm.shifted)
def bias_subtracted(self, y):
    """Your features are shifted to the wrong side: β is taken off. Which sign does it have in the
    formula?"""
    return y - self.bias


@norm.mistake("divided by the weight", costs=(3,))
@taking(Norm, Norm.scaled)
def divided_by_weight(self, y):
    """Your features are divided by γ. What does the formula do with it?"""
    return y / self.weight


@norm.mistake("variance not around the mean", costs=(1, 2))
@taking(Norm, Norm.variance)
def variance_around_zero(self, x):
    """You divide by the root of the mean of x², with the mean still in it. The variance is the mean
    of the squared differences from μ."""
    return x.square().mean(dim=self.axes(x), keepdim=True)


@norm.mistake("scaled and shifted before the norm", costs=(3,))
@taking(Norm, Norm.forward)
def affine_first(self, x):
    """You scale and shift x, and normalise what comes of it. γ and β come last: what they learned
    would be divided out again."""
    y = self.affine(x)
    return self.centred(y) / self.sigma(self.variance(y))


@norm.mistake("one added to the weight", costs=(3,))
@taking(Norm, Norm.scaled)
def one_more(self, y):
    """You multiply by 1 + γ. The formula has γ alone, and a new module has ones there."""
    return y * (1 + self.weight)


def over_axes(
    name: str, says: str, *ways: Callable[[Tensor], Any], costs: tuple[int, ...] = (1, 2)
) -> None:
    """Names statistics over other axes, with the spread in each of the usual ways to write it.

    ``ways`` are the axes as people write them: they agree on (B, T, D) and differ elsewhere.
    """
    for slips, axes in product(((Norm,), (Unbiased,), (EpsOutside,), (BothSlips,)), ways):
        own = {"axes": lambda self, x, axes=axes: axes(x)}
        norm.mistake(name, says, costs)(type("OverAxes", slips, own))


over_axes(
    "batch axis",
    "Your mean and variance run over axis 0, so what comes out for a word depends on the other "
    "words or sentences that it is handed over with. A token is normalised over its own features: "
    "which axis do they lie along?",
    lambda x: 0,
)
over_axes(
    "axis of the words",
    "Your mean and variance run along the sentence, one pair for each feature, so a word's result "
    "depends on the words around it. A token is normalised over its own features: which axis do "
    "they lie along?",
    lambda x: -2,
    lambda x: 1,
)
over_axes(
    "batch norm: one mean for each feature",
    BATCH_NORM,
    lambda x: tuple(range(x.dim() - 1)),
    lambda x: (0, 1),
)


@norm.mistake("batch norm: one mean for each feature", BATCH_NORM, costs=(1, 2))
@taking(Norm, Norm.forward)
def on_a_table_of_tokens(self, x):
    table = x.reshape(-1, x.shape[-1])
    centred = table - table.mean(dim=0)
    return self.affine(centred / self.sigma(table.var(dim=0, correction=0))).reshape(x.shape)


over_axes(
    "one mean for everything",
    "All tokens share one mean and one variance. Each token has its own: which axis has to be "
    "named when the mean is taken?",
    lambda x: tuple(range(x.dim())),
)
over_axes(
    "one mean for each sentence",
    "All words of a sentence share one mean and one variance, so a word's result depends on the "
    "words around it. Each token has its own pair.",
    lambda x: (-2, -1),
    lambda x: (1, 2),
    lambda x: tuple(range(1, x.dim())) or 0,
)


@norm.mistake("right for three axes only", THREE_AXES, costs=(2,))
@taking(Norm, Norm.axes)
def three_axes_only(self, x):
    _, _, _ = x.shape
    return -1


over_axes("right for three axes only", THREE_AXES, lambda x: 2, costs=(2,))


# ------------------------------------------------------------ SelfAttentionWithDropoutAndNorm

attention = Part(
    "SelfAttentionWithDropoutAndNorm(features, dropout_rate=0.1)(query (B, T, d_k), "
    "key (B, S, d_k), value (B, S, features)) -> (B, T, features)",
    layers.SelfAttentionWithDropoutAndNorm,
    reads=(
        "lecture 7, on rows that summed to one, and lecture 3 on the scale",
        f"{LECTURE}#What-happens-to-rows-that-summed-to-one",
    ),
    may_call=("LayerNorm",),
)
# at d_k = 1, dividing by √d_k or not is the same: the second step asks for it, and no other
scale_free = partial(sentences, B=2, T=3, S=5, d_k=1, features=6)
attention.step(
    "made for any width; each query collects values, and the norm comes last",
    1,
    # nothing runs but the constructor: tells what stops there from what stops in `forward`
    Case(
        "a new module, features=6: the bias of its `layer_norm`",
        lambda randn: Build((6,), arguments=["layer_norm.bias"], method="get_parameter"),
    ),
    sentences(B=1, T=3, S=5, d_k=1, features=6, by_name=False),
    sentences(B=2, T=4, S=3, d_k=1, features=7, by_name=False),
    # of one width and length, where a residual, or another input in the values' place, gets through
    sentences(B=2, T=4, S=4, d_k=5, features=5, by_name=False, keys_alike=True),
)
attention.step(
    "scores are divided by √d_k, whatever the lengths and widths",
    2,
    sentences(B=2, T=3, S=5, d_k=4, features=6),
    sentences(B=3, T=7, S=2, d_k=9, features=5),
    sentences(B=2, T=5, S=5, d_k=6, features=6),
    sentences(B=1, T=4, S=3, d_k=5, features=8),
    sentences(B=2, T=1, S=4, d_k=3, features=5),
    sentences(B=2, T=4, S=1, d_k=3, features=5),
    sentences(B=2, T=3, S=5, d_k=64, features=32),
    # so small that ε counts, and with it every factor before the norm
    sentences(B=2, T=3, S=5, d_k=16, features=9, size=0.006),
    seen_through(B=2, T=20, rate=NOTHING, d_k=2, reach=2.0),
    judge=weights_compare,
)
attention.step(
    "in train mode dropout acts on the weights, after the softmax, each by itself; gradients pass",
    1,
    scale_free(training=True),
    scale_free(rate=EVERYTHING, training=True),
    scale_free(T=5, rate=EVERYTHING, training=True),
    seen_through(B=2, T=40, rate=0.5),
    # at 0 itself, dropout in place does nothing and would do no harm
    scale_free(rate=NOTHING, training=True).with_gradients(),
    judge=drops_weights(0.5),
)
attention.step(
    "nothing is dropped in eval mode; the submodules are there; the rate is 0.1 by default",
    1,
    # so large that weights times 1 - rate are not taken for dropped ones
    scale_free(rate=EVERYTHING, size=1e11),
    # so small that a factor of all weights shows
    silent(scale_free(rate=0.5, size=0.006)),
    NEW,
    seen_through(B=2, T=50),
    judge=drops_weights(0.1),
)
attention.manners(
    1,
    scale_free(),
    # so large that a factor of all weights does not show: step 2 asks for it
    scale_free(d_k=4, keys_alike=True, size=50.0).with_gaps(),
    asks="float64 stays float64, inputs stay as they were, any memory layout, gradients",
)


class Attention(layers.SelfAttentionWithDropoutAndNorm):
    """The right module in steps, each of which a mistake can take in another way."""

    def divisor(self, query: Tensor, key: Tensor, value: Tensor) -> float:
        return math.sqrt(key.shape[-1])

    def share(self, scores: Tensor) -> Tensor:
        return scores.softmax(dim=-1)

    def weigh(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return self.share(query @ key.mT / self.divisor(query, key, value))

    def drop(self, weights: Tensor) -> Tensor:
        return self.dropout(weights)

    def collect(self, weights: Tensor, value: Tensor) -> Tensor:
        return weights @ value

    def norm(self, collected: Tensor) -> Tensor:
        return self.layer_norm(collected)

    def finish(self, collected: Tensor, query: Tensor, value: Tensor) -> Tensor:
        return self.norm(collected)

    def forward(self, query, key, value):
        weights = self.drop(self.weigh(query, key, value))
        return self.finish(self.collect(weights, value), query, value)


@attention.mistake("features undefined")
def constructor_that_stops(*arguments, **keywords):
    """No module can be made from `features` and `dropout_rate`: the constructor stops, and the
    line above says with which error. In the printed class, `features` is a name that nobody has
    given a meaning, and no argument brings it in."""
    raise NameError("name 'features' is not defined")


@attention.mistake("call of super().__init__() missing")
def constructor_without_super(*arguments, **keywords):
    """No module can be made: an `nn.Module` has to be set up before it can hold other modules. Is
    `super().__init__()` the first line of your constructor?"""
    raise AttributeError("cannot assign module before Module.__init__() call")


@attention.mistake("features undefined")
def constructor_of_other_arguments(*arguments, **keywords):
    """No module can be made: your constructor does not take `features` and `dropout_rate`, in this
    order and under these names. In the printed class nothing brings `features` in; the caller knows
    the width."""
    raise TypeError("__init__() got an unexpected keyword argument")


@attention.mistake("arguments of the constructor in the wrong order")
def rate_first(dropout_rate=0.1, features=None):
    """By name the constructor's arguments arrive, by place they do not: the width of the values
    comes first, then the rate. `dropout_rate` has a default, so it stands last."""
    return layers.SelfAttentionWithDropoutAndNorm(features, dropout_rate)


@attention.mistake("no layer_norm with weight and bias")
def norm_without_parameters(features, dropout_rate=0.1):
    """The module has no submodule `layer_norm` with a `weight` and a `bias`. Is it made in
    `__init__`, under this name, and with its scale and shift?"""
    model = layers.SelfAttentionWithDropoutAndNorm(features, dropout_rate)
    model.layer_norm = nn.LayerNorm(features, elementwise_affine=False)
    return model


@attention.mistake("argument dropout_rate not kept", costs=(3, 4))
@taking(Attention, Attention.__init__)
def rate_not_kept(self, features, dropout_rate=0.1):
    """Whatever `dropout_rate` is, your module drops a tenth, as it does by default. What becomes of
    the argument?"""
    Attention.__init__(self, features)


@attention.mistake("not scaled", costs=(2,))
@taking(Attention, Attention.divisor)
def unscaled(self, query, key, value):
    """Your numbers match plain dot products, as in the printed class. Before the softmax each
    score is divided by a root (lecture 3)."""
    return 1.0


@attention.mistake("scaled after the softmax", costs=(2,))
@taking(Attention, Attention.weigh)
def scaled_after_softmax(self, query, key, value):
    """You divide the weights, after the softmax. The norm takes out nearly any factor of a row, so
    this does next to nothing. What is to be kept from getting large, and before which step?"""
    return self.share(query @ key.mT) / self.divisor(query, key, value)


@attention.mistake("divided by the root of the value's width", costs=(2,))
@taking(Attention, Attention.divisor)
def root_of_features(self, query, key, value):
    """Your numbers match scores divided by √features. A score adds up as many products as query
    and key have entries: which width is that?"""
    return math.sqrt(value.shape[-1])


@attention.mistake("divided by the root of the length", costs=(2,))
@taking(Attention, Attention.divisor)
def root_of_keys(self, query, key, value):
    """Your numbers match scores divided by √S, the number of keys. A score adds up as many
    products as query and key have entries: which axis is that?"""
    return math.sqrt(key.shape[1])


@attention.mistake("divided by the root of the length", costs=(2,))
@taking(Attention, Attention.divisor)
def root_of_queries(self, query, key, value):
    """Your numbers match scores divided by √T, the number of queries. A score adds up as many
    products as query and key have entries: which axis is that?"""
    return math.sqrt(query.shape[1])


@attention.mistake("divided by d_k", costs=(2,))
@taking(Attention, Attention.divisor)
def divided_by_width(self, query, key, value):
    """Your numbers match scores divided by d_k. It is its root: the standard deviation of a sum
    of d_k products grows with √d_k."""
    return key.shape[-1]


@attention.mistake("multiplied by √d_k", costs=(2,))
@taking(Attention, Attention.divisor)
def multiplied(self, query, key, value):
    """Your numbers match scores multiplied by √d_k. What is the factor there to undo?"""
    return key.shape[-1] ** -0.5


@attention.mistake("softmax over the queries", costs=(1,))
@taking(Attention, Attention.share)
def over_queries(self, scores):
    """Your weights match a softmax over the queries. Each query shares out its attention over the
    keys: which axis of (B, T, S) is that?"""
    return scores.softmax(dim=1)


@attention.mistake("softmax over the batch", costs=(1,))
@taking(Attention, Attention.share)
def over_batch(self, scores):
    """Your weights match a softmax over the batch, so sentences compete with each other. Each
    query shares out its attention over the keys: which axis of (B, T, S) is that?"""
    return scores.softmax(dim=0)


@attention.mistake("no softmax", costs=(1,))
@taking(Attention, Attention.share)
def without_softmax(self, scores):
    """You weigh the values with the scores themselves. What makes weights of a row of scores?"""
    return scores


@attention.mistake("softmax taken twice", costs=(1,))
@taking(Attention, Attention.share)
def softmax_twice(self, scores):
    """Your weights have passed a softmax twice, so they are nearly even. After the first one they
    are weights already: which of the two can go?"""
    return scores.softmax(dim=-1).softmax(dim=-1)


@attention.mistake("later words hidden", costs=(1,))
@taking(Attention, Attention.share)
def causal(self, scores):
    """Your queries do not see later keys. There is no mask in this class: each query shares out its
    attention over all of them."""
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores.masked_fill(~seen, -torch.inf).softmax(dim=-1)


@attention.mistake("norm missing", costs=(1,))
class WithoutNorm(Attention):
    """The module has a `layer_norm`, but the output is what was collected, before any norm. What
    is the last step of the formula?"""

    def norm(self, collected):
        return collected


@attention.mistake("weight and bias of the norm not used", costs=(1,))
@taking(Attention, Attention.norm)
def norm_of_its_own(self, collected):
    """Your output is normalised, but it does not depend on the `weight` and the `bias` of
    `layer_norm`. Which norm does `forward` use?"""
    return F.layer_norm(collected, collected.shape[-1:])


@attention.mistake("norm before the product", costs=(1,))
class NormBefore(WithoutNorm):
    """You normalise the values and then average them. An average of normalised rows is not
    normalised itself. Which step comes last?"""

    def collect(self, weights, value):
        return weights @ self.layer_norm(value)


@attention.mistake("norm before and after the product", costs=(1,))
@taking(Attention, Attention.collect)
def norm_twice(self, weights, value):
    """You normalise the values and the output. The formula has one norm: which one stays?"""
    return weights @ self.layer_norm(value)


@attention.mistake("no dropout", costs=(3,))
class WithoutDropout(Attention):
    """In train mode nothing is dropped. Between which two steps does the dropout stand?"""

    def drop(self, weights):
        return weights


@attention.mistake("dropout on the scores", costs=(3,))
class DropoutOnScores(WithoutDropout):
    """You drop before the softmax, and the softmax shares out all the weight again. A score of 0
    is no weight of 0, since exp(0) = 1. What should be dropped, and after which step?"""

    def weigh(self, query, key, value):
        return self.share(self.dropout(query @ key.mT / self.divisor(query, key, value)))


@attention.mistake("dropout on what was collected", costs=(3,))
class DropoutOnCollected(WithoutDropout):
    """You drop numbers of what was collected. Dropout acts on the weights, so that a query misses
    whole words: which of the two products in the formula does it stand in?"""

    def collect(self, weights, value):
        return self.dropout(weights @ value)


@attention.mistake("dropout on the values", costs=(3,))
class DropoutOnValues(WithoutDropout):
    """You drop numbers of the values, the same for all queries. Dropout acts on the weights: each
    query by itself misses whole words."""

    def collect(self, weights, value):
        return weights @ self.dropout(value)


@attention.mistake("dropout after the norm", costs=(3,))
class DropoutAfterNorm(WithoutDropout):
    """You drop entries of the output, after the norm. Dropout acts on the weights, so that a query
    misses whole words, and the norm comes last."""

    def norm(self, collected):
        return self.dropout(self.layer_norm(collected))


@attention.mistake("dropout also on what was collected", costs=(3,))
@taking(Attention, Attention.collect)
def dropout_also_on_collected(self, weights, value):
    """You drop weights, and numbers of what was collected as well. The formula has one dropout, on
    the weights."""
    return self.dropout(weights @ value)


@attention.mistake("rows made to sum to one after the dropout", costs=(3,))
@taking(Attention, Attention.drop)
def renormalised(self, weights):
    """After the dropout you make each row sum to one again. What is dropped may be missing: kept
    weights are divided by 1 − p and by nothing else, so that rows sum to one on average."""
    kept = self.dropout(weights)
    return kept / kept.sum(dim=-1, keepdim=True)


@attention.mistake("rows made to sum to one after the dropout", costs=(3,))
@taking(Attention, Attention.drop)
def renormalised_with_care(self, weights):
    """After the dropout you make each row sum to one again. What is dropped may be missing: kept
    weights are divided by 1 − p and by nothing else, so that rows sum to one on average."""
    kept = self.dropout(weights)
    return kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-9)


@attention.mistake("dropout in eval mode", costs=(4,))
@taking(Attention, Attention.drop)
def dropout_awake(self, weights):
    """In eval mode something is dropped. `nn.Dropout` looks at the module's mode by itself;
    `F.dropout` does not, it has to be told."""
    return F.dropout(weights, self.dropout.p)


@attention.mistake("train and eval mode mixed up", costs=(3, 4))
@taking(Attention, Attention.drop)
def dropout_upside_down(self, weights):
    """You drop in eval mode, and in train mode you do not. In which mode should a word now and
    then be missing?"""
    return F.dropout(weights, self.dropout.p, not self.training)


@attention.mistake("weights returned beside the output", costs=(1,))
@taking(Attention, Attention.forward)
def output_and_weights(self, query, key, value):
    """You return a pair. This module returns the output alone."""
    return Attention.forward(self, query, key, value), self.weigh(query, key, value)


@attention.mistake("weights returned beside the output", costs=(1,))
@taking(Attention, Attention.forward)
def output_and_dropped_weights(self, query, key, value):
    """You return a pair. This module returns the output alone."""
    weights = self.drop(self.weigh(query, key, value))
    return self.finish(self.collect(weights, value), query, value), weights


@attention.mistake("key used as value", costs=(1,))
@taking(Attention, Attention.forward)
def key_for_value(self, query, key, value):
    """You collect keys: what the weights multiply is the key. The value brings its own content,
    with a width of its own."""
    return Attention.forward(self, query, key, key)


@attention.mistake("query used as value", costs=(1,))
@taking(Attention, Attention.forward)
def query_for_value(self, query, key, value):
    """You collect queries: what the weights multiply is the query. What the weights weigh is the
    value."""
    return Attention.forward(self, query, key, query)


def with_library_norm(answer: Callable[..., Any]) -> Callable[..., Any]:
    """The same with PyTorch's norm, which refuses a wrong width; one by hand may not."""

    def build(features, dropout_rate=0.1):
        model = answer(features, dropout_rate)
        model.layer_norm = nn.LayerNorm(features)
        return model

    return build


attention.inherit(attention, with_library_norm, key_for_value, query_for_value, costs=(1,))


@attention.mistake("query and key swapped", costs=(1,))
@taking(Attention, Attention.forward)
def swapped_query_and_key(self, query, key, value):
    """You score keys against queries, (B, S, T), so it only runs where T = S, and is wrong there.
    Rows of the scores belong to the queries: (B, T, S)."""
    return Attention.forward(self, key, query, value)


RESIDUAL = (
    "You add the {} to what was collected. A residual connection belongs to a whole layer "
    "(assignment 8); this class has none, and its inputs may differ in width and length."
)


@attention.mistake("residual added", RESIDUAL.format("query"), costs=(1,))
@taking(Attention, Attention.finish)
def residual(self, collected, query, value):
    return self.norm(query + collected)


@attention.mistake("residual added behind the norm", RESIDUAL.format("query"), costs=(1,))
@taking(Attention, Attention.finish)
def residual_behind(self, collected, query, value):
    return query + self.norm(collected)


@attention.mistake("value added as a residual", RESIDUAL.format("value"), costs=(1,))
@taking(Attention, Attention.finish)
def residual_of_values(self, collected, query, value):
    return self.norm(value + collected)


ASSIGNMENT = Assignment(
    "a7_dropout_and_layer_norm",
    parts=(norm, attention),
    barred=(
        "scaled_dot_product_attention", "_scaled_dot_product_attention", "flex_attention",
        "_scaled_dot_product_attention_math", "_scaled_dot_product_flash_attention_for_cpu",
        "MultiheadAttention", "multi_head_attention_forward", "_native_multi_head_attention",
        "TransformerEncoderLayer", "TransformerDecoderLayer", "TransformerEncoder",
        "TransformerDecoder", "Transformer",
    ),
)  # fmt: skip
