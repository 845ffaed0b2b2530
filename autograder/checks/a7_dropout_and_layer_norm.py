"""Assignment 7: layer norm, and attention with dropout on its weights and a norm on its output.

Two more points are for a written answer, which a person grades.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from autograder.check import Assignment, Build, Case, Mistake, Part, Step
from autograder.compare import kind_of, numbers, values_agree
from course_utils import layers

LECTURE = "../../lectures/07_layer_normalization.ipynb"

# so near to 1 that nothing is kept; at 1 itself, dropout by hand divides 0 by 0
EVERYTHING = 1 - 1e-9
NOTHING = 1e-9
EPS = 1e-5

# Left out where mistakes are recognised: what is left to chance, what wrong answers turn into NaN
# (which equals nothing), and what a new module holds (which is no tensor).
silent = partial(Case, random=True)


# ------------------------------------------------------------------------ what a norm is given


def scale_and_shift(features: int) -> dict[str, Tensor]:
    """γ of both signs, never near 0, and β: different for neighbouring features."""
    k = torch.arange(features)
    sign = torch.where(k % 3 == 1, -1.0, 1.0)
    return {"weight": sign * (0.5 + 0.5 * (k % 4)), "bias": (k % 5) - 1.5}


def plain(features: int) -> dict[str, Tensor]:
    return {"weight": torch.ones(features), "bias": torch.zeros(features)}


def tokens(
    *shape: int,
    least: float = 3.0,
    most: float = 60.0,
    state: Callable[[int], dict[str, Tensor]] = plain,
    dtype: torch.dtype = torch.float32,
    training: bool = False,
    **keywords: float,
) -> Callable[..., Build]:
    """Draws x (shape) whose tokens differ in centre, and in spread from ``least`` to ``most``.

    From 3 on, a token that is only centred, or divided by its variance, is clearly off.
    """

    def draw(generator: torch.Generator) -> Build:
        x = torch.randn(*shape, generator=generator, dtype=torch.float64)
        x = (x - x.mean(dim=-1, keepdim=True)) / x.std(dim=-1, keepdim=True, correction=0)
        # means that are no larger than that cost the variance no digits, however it is computed
        x = x + 4 * torch.rand(*shape[:-1], 1, generator=generator, dtype=torch.float64) - 2
        count = math.prod(shape[:-1])
        sizes = torch.linspace(math.log(least), math.log(most), count).exp().double()
        sizes = sizes[torch.randperm(count, generator=generator)]
        x = x * sizes.reshape(*shape[:-1], 1)
        features = shape[-1]
        return Build(
            (features,), keywords, [x.to(dtype)], "forward", state(features), training, dtype
        )

    return draw


def flat_tokens(generator: torch.Generator) -> Build:
    """Tokens of equal features whose mean is exact in any order of summing."""
    values = torch.tensor([-2.0, 0.5, 3.0])[torch.randperm(3, generator=generator)]
    return Build((8,), arguments=[values.repeat_interleave(8).reshape(3, 8)], state=plain(8))


def new_norm(generator: torch.Generator) -> Build:
    return Build((6,), method=None)


def rows_in_proportion(weight: Tensor, bias: Tensor, expected: Tensor, got: Any) -> str | None:
    """Accept rows that are the expected ones times a factor near 1, once γ and β are undone.

    So that one slip in the variance or in ε does not cost the points for everything else.
    """
    if not isinstance(got, Tensor) or got.shape != expected.shape:
        return values_agree(expected, got)
    if not torch.isfinite(got).all():
        return "the result holds NaN or infinity"
    wanted = ((expected - bias) / weight).double().reshape(-1, expected.shape[-1])
    found = ((got - bias) / weight).double().reshape(wanted.shape)
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


def normalised(expected: Tensor, got: Any) -> str | None:
    """Judges a result with γ = 1 and β = 0, whatever exactly the spread was taken to be."""
    return rows_in_proportion(torch.tensor(1.0), torch.tensor(0.0), expected, got)


def scaled_and_shifted(expected: Any, got: Any) -> str | None:
    """Judges γ and β at work, and what a new module holds."""
    if isinstance(expected, dict):
        return _new_parameters(expected, got)
    state = scale_and_shift(expected.shape[-1])
    return rows_in_proportion(state["weight"], state["bias"], expected, got)


def _new_parameters(expected: dict, got: Any) -> str | None:
    parameters = got.get("parameters") if isinstance(got, dict) else None
    if not isinstance(parameters, dict):
        return f"expected a module, got {kind_of(got)}"
    for name, wanted in expected["parameters"].items():
        if name not in parameters:
            return f"`{name}` is no parameter: an optimiser would never see it"
        problem = values_agree(wanted, parameters[name])
        if problem:
            return f"in a new module, `{name}` is not what it should be: {problem}"
    return None


def within_five_percent(expected: Tensor, got: Any) -> str | None:
    """Judges where ε stands, which matters far more than 5 %; with many features, no variance does."""
    if not isinstance(got, Tensor) or got.shape != expected.shape:
        return values_agree(expected, got)
    if torch.allclose(got.double(), expected.double(), rtol=0.05, atol=0.02):
        return None
    return values_agree(expected, got) or "the result holds NaN or infinity"


# --------------------------------------------------------------------------- wrong layer norms
# Each is a whole implementation, so that it can be run against the same inputs as a submission's.


class InSteps(layers.LayerNorm):
    """The reference step by step, so that each mistake below can replace one step."""

    def forward(self, x):
        centred = x - self.mean(x)
        return self.finish(centred / self.spread(x, centred))

    def mean(self, x):
        return x.mean(dim=-1, keepdim=True)

    def spread(self, x, centred):
        return torch.sqrt(centred.square().mean(dim=-1, keepdim=True) + self.eps)

    def finish(self, y):
        return y * self.weight + self.bias


def over(name: str, says: str, *ways: Callable[[Tensor], tuple[int, ...]]) -> list[Mistake]:
    """Statistics over other axes, with the spread in each of the usual ways to write it.

    ``ways`` are the axes as people write them: they agree on (B, T, D) and differ elsewhere.
    """

    def variant(axes: Callable, correction: int, outside: bool) -> type[nn.Module]:
        class OverAxes(InSteps):
            def mean(self, x):
                return x.mean(dim=axes(x), keepdim=True)

            def spread(self, x, centred):
                variance = x.var(dim=axes(x), keepdim=True, correction=correction)
                return variance.sqrt() + self.eps if outside else (variance + self.eps).sqrt()

        return OverAxes

    return [
        Mistake(name, variant(axes, correction, outside), says)
        for axes in ways
        for correction in (0, 1)
        for outside in (False, True)
    ]


class OverAllTokens(InSteps):
    """Batch norm on a table with one row for each token."""

    def forward(self, x):
        return super().forward(x.reshape(-1, x.shape[-1])).reshape(x.shape)

    def mean(self, x):
        return x.mean(dim=0)

    def spread(self, x, centred):
        return torch.sqrt(centred.square().mean(dim=0) + self.eps)


class ThreeAxesOnly(layers.LayerNorm):
    def forward(self, x):
        _, _, _ = x.shape
        return super().forward(x)


class Unbiased(InSteps):
    def spread(self, x, centred):
        return torch.sqrt(x.var(dim=-1, keepdim=True) + self.eps)


class EpsOutside(InSteps):
    def spread(self, x, centred):
        return torch.sqrt(centred.square().mean(dim=-1, keepdim=True)) + self.eps


class UnbiasedEpsOutside(InSteps):
    def spread(self, x, centred):
        return x.std(dim=-1, keepdim=True) + self.eps


class WithoutEps(InSteps):
    def spread(self, x, centred):
        return torch.sqrt(centred.square().mean(dim=-1, keepdim=True))


class UnbiasedWithoutEps(InSteps):
    def spread(self, x, centred):
        return x.std(dim=-1, keepdim=True)


class EpsFixed(layers.LayerNorm):
    def __init__(self, features, eps=EPS):
        super().__init__(features)


class EpsSquared(InSteps):
    def spread(self, x, centred):
        return torch.sqrt(centred.square().mean(dim=-1, keepdim=True) + self.eps**2)


class NotCentred(InSteps):
    def mean(self, x):
        return 0.0

    def spread(self, x, centred):
        return torch.sqrt(x.var(dim=-1, keepdim=True, correction=0) + self.eps)


class RootMeanSquare(InSteps):
    def mean(self, x):
        return 0.0


class NotDivided(InSteps):
    def spread(self, x, centred):
        return 1.0


class DividedByVariance(InSteps):
    def spread(self, x, centred):
        return centred.square().mean(dim=-1, keepdim=True) + self.eps


class DividedByTheSum(InSteps):
    def spread(self, x, centred):
        return torch.sqrt(centred.square().sum(dim=-1, keepdim=True) + self.eps)


class MeanAbsoluteDeviation(InSteps):
    def spread(self, x, centred):
        return centred.abs().mean(dim=-1, keepdim=True) + self.eps


class WithoutKeepdim(InSteps):
    def mean(self, x):
        return x.mean(dim=-1)

    def spread(self, x, centred):
        return torch.sqrt(x.var(dim=-1, correction=0) + self.eps)


class WithoutParameters(nn.Module):
    def __init__(self, features, eps=EPS):
        super().__init__()


class WithoutBias(nn.Module):
    def __init__(self, features, eps=EPS):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))


class NeitherUsed(InSteps):
    def finish(self, y):
        return y


class WeightUnused(InSteps):
    def finish(self, y):
        return y + self.bias


class BiasUnused(InSteps):
    def finish(self, y):
        return y * self.weight


class ShiftedFirst(InSteps):
    def finish(self, y):
        return (y + self.bias) * self.weight


class Swapped(InSteps):
    def finish(self, y):
        return y * self.bias + self.weight


# ------------------------------------------------------------------- what attention is given


def sentences(
    batch: int,
    queries: int,
    keys: int,
    d_k: int,
    features: int,
    rate: float = 0.0,
    dtype: torch.dtype = torch.float32,
    training: bool = False,
    by_name: bool = True,
    size: float = 2.0,
    keys_alike: bool = False,
) -> Callable[..., Build]:
    """Draws query (batch, queries, d_k), key (batch, keys, d_k), value (batch, keys, features).

    ``size`` is that of the values. With ``keys_alike`` the scale of the scores decides nothing, as
    it does at d_k = 1.
    """

    def draw(generator: torch.Generator) -> Build:
        shapes = (batch, queries, d_k), (batch, keys, d_k), (batch, keys, features)
        query, key, value = (
            torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes
        )
        if keys_alike:
            key = key[:, :1].repeat(1, keys, 1)
        arguments = [item.to(dtype) for item in (1.2 * query, 1.2 * key, size * value)]
        keywords = {"features": features, "dropout_rate": rate} if by_name else {}
        return Build(
            () if by_name else (features, rate), keywords, arguments, training=training, dtype=dtype
        )

    return draw


def bias_of_its_norm(generator: torch.Generator) -> Build:
    """Nothing runs but the constructor: tells what stops there from what stops in `forward`."""
    return Build((6,), arguments=["layer_norm.bias"], method="get_parameter")


def new_attention(generator: torch.Generator) -> Build:
    return Build((6,), method=None)


def holds_its_submodules(expected: Any, got: Any) -> str | None:
    """Judges results that are not left to chance, what a new module holds, and dropped weights."""
    if isinstance(expected, dict):
        names = got.get("modules") if isinstance(got, dict) else None
        if not isinstance(names, list):
            return f"expected a module, got {kind_of(got)}"
        missing = [name for name in ("dropout", "layer_norm") if name not in names]
        if missing:
            there = ", ".join(f"`{name}`" for name in names) or "none"
            return f"there is no submodule `{missing[0]}`; the submodules are: {there}"
        return None
    if isinstance(expected, list):
        return drops_weights(0.1, expected, got)
    return values_agree(expected, got)


KEYS, SIZE = 11, 0.02


def seen_through(
    batch: int, queries: int, rate: float | None = None, d_k: int = 1, reach: float = 1.0
) -> Callable[..., Build]:
    """Draws a case from whose output the weights can be computed back.

    Value s is a small number in columns s and s + KEYS and zero elsewhere, and the last column is
    zero for all. So what is collected holds each weight twice. With γ = 1 and β = 0 the norm keeps
    it up to a shift, which the last column shows, and a factor, which ε shows: the values are so
    small that the variance of a row of output is clearly below 1. Entries of query and key lie
    between plus and minus ``reach``.
    """

    def draw(generator: torch.Generator) -> Build:
        query = reach * (2 * torch.rand(batch, queries, d_k, generator=generator) - 1)
        key = reach * (2 * torch.rand(batch, KEYS, d_k, generator=generator) - 1)
        one = SIZE * torch.eye(KEYS)
        value = torch.cat([one, one, torch.zeros(KEYS, 1)], dim=1).repeat(batch, 1, 1)
        features = 2 * KEYS + 1
        state = {f"layer_norm.{name}": item for name, item in plain(features).items()}
        keywords = {"features": features} | ({} if rate is None else {"dropout_rate": rate})
        return Build((), keywords, [query, key, value], state=state, training=True, times=2)

    return draw


def read_back(output: Tensor) -> tuple[Tensor, Tensor]:
    """The two copies of the weights, (B, T, KEYS) each, from an output of `seen_through`."""
    output = output.double()
    # with γ = 1 and β = 0 a row's variance is σ² / (σ² + ε)
    variance = output.var(dim=-1, keepdim=True, correction=0)
    spread = torch.sqrt(EPS / (1 - variance))  # √(σ² + ε)
    collected = (output - output[..., -1:]) * spread / SIZE
    return collected[..., :KEYS], collected[..., KEYS:-1]


def drops_weights(p: float, expected: list, got: Any) -> str | None:
    """Every weight is 0 or 1/(1 - p) times the one of eval mode, each decided by itself.

    About a share of p is 0, within six standard deviations.
    """
    if not isinstance(got, list) or len(got) != 2:
        return f"expected {kind_of(expected[0])}, got {kind_of(got)}"
    for found in got:
        problem = _dropped_once(p, expected[0], found)
        if problem:
            return f"in train mode with dropout {p:g}, {problem}"
    if torch.equal(got[0], got[1]):
        return "two calls in train mode give the same result: nothing is left to chance"
    return None


def _dropped_once(p: float, expected: Tensor, got: Any) -> str | None:
    if not isinstance(got, Tensor) or got.shape != expected.shape:
        return f"expected {kind_of(expected)}, got {kind_of(got)}"
    if not torch.isfinite(got).all():
        return "the result holds NaN or infinity: what about a row that has lost all its weights?"
    whole, _ = read_back(expected)
    first, second = read_back(got)
    if not torch.allclose(got.double().mean(dim=-1), torch.zeros(1).double(), atol=1e-3) or not (
        torch.isfinite(first).all()
    ):
        return (
            "the output is not normalised, though the norm has a weight of ones and a bias of zeros: is "
            "the norm the last step?"
        )
    if not torch.allclose(first, second, atol=2e-3):
        return (
            "two columns that are the same in all values come out different. If a weight is "
            "dropped, its value is missing in all columns: what do you drop instead?"
        )
    is_zero = first.abs() < 2e-3
    kept = torch.isclose(first * (1 - p), whole, rtol=2e-3, atol=1e-3)
    if not (is_zero | kept).all():
        b, t, s = (int(item) for item in (~(is_zero | kept)).nonzero()[0])
        return (
            f"each weight should be 0 or 1/(1 - {p:g}) times what it is in eval mode. Computed back "
            f"from your output, the weight [{b}, {t}, {s}] is {float(first[b, t, s]):.3g}, and in eval "
            f"mode it is {float(whole[b, t, s]):.3g}"
        )
    share = float(is_zero.double().mean())
    if abs(share - p) > 6 * (p * (1 - p) / is_zero.numel()) ** 0.5:
        return f"a share of {share:.2f} of the weights is 0"
    if any((is_zero == is_zero.narrow(axis, 0, 1)).all() for axis in (0, 1, 2)):
        return (
            "whole rows, columns or sentences are dropped together: each weight by itself, please"
        )
    if any((count == count.flatten()[0]).all() for count in (is_zero.sum(-1), is_zero.sum(-2))):
        return (
            "every row, or every column, loses the same number of weights. Each weight is dropped by "
            "itself, so that number is left to chance, too"
        )
    return None


def scaled_in_train_mode(expected: Any, got: Any) -> str | None:
    """Judges what is not left to chance, and in train mode only how the weights of a row compare.

    What is wrong with the dropout is another step's matter: of the rows that kept three weights or
    more, a quarter with three that stand to each other as in eval mode will do.
    """
    if not isinstance(expected, list):
        return values_agree(expected, got)
    if not isinstance(got, list) or len(got) != 2:
        return f"expected {kind_of(expected[0])}, got {kind_of(got)}"
    found = got[0]
    if not isinstance(found, Tensor) or found.shape != expected[0].shape:
        return f"expected {kind_of(expected[0])}, got {kind_of(found)}"
    whole, _ = read_back(expected[0])
    # the norm's factor, one for each row, does not matter here
    collected = (found - found[..., -1:])[..., :KEYS].double()
    ratio = (collected / whole).sort(dim=-1).values
    least, most = ratio[..., :-2], ratio[..., 2:]  # of three neighbours
    kept = least > 1e-3 * ratio[..., -1:]
    telling = kept.any(dim=-1)
    alike = (kept & (most < 1.003 * least)).any(dim=-1)
    if alike.sum() < 0.25 * telling.sum():
        return (
            "the weights of a row do not stand to each other as they do in eval mode: are the scores "
            "divided by √d_k in train mode, too?"
        )
    return None


# --------------------------------------------------------------------------- wrong attentions


class Attending(layers.SelfAttentionWithDropoutAndNorm):
    """The reference step by step, so that each mistake below can replace one step."""

    def forward(self, query, key, value):
        scores = query @ key.transpose(1, 2) / self.divisor(query, key, value)
        return self.finish(self.weigh(scores), value)

    def divisor(self, query, key, value):
        return math.sqrt(key.shape[-1])

    def weigh(self, scores):
        return self.dropout(scores.softmax(dim=-1))

    def finish(self, weights, value):
        return self.layer_norm(weights @ value)


class ConstructorThatStops(nn.Module):
    """As the printed class, whose constructor uses a name that nobody has defined."""

    def __init__(self, *arguments, **keywords):
        raise NameError("name 'features' is not defined")


class RateFirst(layers.SelfAttentionWithDropoutAndNorm):
    def __init__(self, dropout_rate=0.1, features=None):
        super().__init__(features, dropout_rate)


class Unscaled(Attending):
    def divisor(self, query, key, value):
        return 1.0


class ScaledAfterSoftmax(Unscaled):
    def finish(self, weights, value):
        return super().finish(weights / math.sqrt(self.d_k), value)

    def divisor(self, query, key, value):
        self.d_k = key.shape[-1]
        return 1.0


class RootOfFeatures(Attending):
    def divisor(self, query, key, value):
        return math.sqrt(value.shape[-1])


class RootOfLength(Attending):
    def divisor(self, query, key, value):
        return math.sqrt(key.shape[1])


class RootOfQueries(Attending):
    def divisor(self, query, key, value):
        return math.sqrt(query.shape[1])


class DividedByWidth(Attending):
    def divisor(self, query, key, value):
        return key.shape[-1]


class Multiplied(Attending):
    def divisor(self, query, key, value):
        return key.shape[-1] ** -0.5


class SoftmaxOver(Attending):
    dim = 1

    def weigh(self, scores):
        return self.dropout(scores.softmax(dim=self.dim))


class SoftmaxOverBatch(SoftmaxOver):
    dim = 0


class NoSoftmax(Attending):
    def weigh(self, scores):
        return self.dropout(scores)


class NormWithoutParameters(layers.SelfAttentionWithDropoutAndNorm):
    def __init__(self, features, dropout_rate=0.1):
        super().__init__(features, dropout_rate)
        self.layer_norm = nn.LayerNorm(features, elementwise_affine=False)


class NormMissing(Attending):
    def finish(self, weights, value):
        return weights @ value


class NormUnused(Attending):
    def finish(self, weights, value):
        return nn.functional.layer_norm(weights @ value, value.shape[-1:])


class NormBefore(Attending):
    def finish(self, weights, value):
        return weights @ self.layer_norm(value)


class NormTwice(Attending):
    def finish(self, weights, value):
        return self.layer_norm(weights @ self.layer_norm(value))


class DropoutOnScores(Attending):
    def weigh(self, scores):
        return self.dropout(scores).softmax(dim=-1)


class DropoutAwake(Attending):
    def weigh(self, scores):
        return nn.functional.dropout(scores.softmax(dim=-1), self.dropout.p)


class DropoutUpsideDown(Attending):
    def weigh(self, scores):
        return nn.functional.dropout(scores.softmax(dim=-1), self.dropout.p, not self.training)


class NoDropout(Attending):
    def weigh(self, scores):
        return scores.softmax(dim=-1)


class DropoutAfterNorm(NoDropout):
    def finish(self, weights, value):
        return self.dropout(super().finish(weights, value))


class TwoResults(layers.SelfAttentionWithDropoutAndNorm):
    def forward(self, query, key, value):
        weights = (query @ key.mT / math.sqrt(key.shape[-1])).softmax(dim=-1)
        return super().forward(query, key, value), weights


class TwoResultsDropped(Attending):
    def forward(self, query, key, value):
        weights = self.weigh(query @ key.mT / math.sqrt(key.shape[-1]))
        return self.finish(weights, value), weights


def with_either_norm(name: str, says: str, base: type[nn.Module]) -> list[Mistake]:
    """A mistake that gives the norm a wrong width: PyTorch's refuses it, one by hand may not."""

    class WithLibraryNorm(base):
        def __init__(self, features, dropout_rate=0.1):
            super().__init__(features, dropout_rate)
            self.layer_norm = nn.LayerNorm(features)

    return [Mistake(name, base, says), Mistake(name, WithLibraryNorm, says)]


class KeyForValue(layers.SelfAttentionWithDropoutAndNorm):
    def forward(self, query, key, value):
        return super().forward(query, key, key)


class QueryForValue(layers.SelfAttentionWithDropoutAndNorm):
    def forward(self, query, key, value):
        return super().forward(query, key, query)


class SwappedQueryAndKey(layers.SelfAttentionWithDropoutAndNorm):
    def forward(self, query, key, value):
        return super().forward(key, query, value)


class Residual(layers.SelfAttentionWithDropoutAndNorm):
    def forward(self, query, key, value):
        weights = (query @ key.mT / math.sqrt(key.shape[-1])).softmax(dim=-1)
        return self.layer_norm(query + self.dropout(weights) @ value)


# -------------------------------------------------------------------------------- the parts

UNBIASED = (
    "Your spread is a little too large, as if the sum of squares were divided by D − 1. PyTorch's "
    "`var` and `std` do this unless they are told otherwise. What does the formula divide by?"
)
OUTSIDE = (
    "Ordinary tokens come out right, faint ones too large: they match σ + ε. In the formula, is ε "
    "added before or after the root is taken?"
)
NO_EPS = (
    "Your numbers match a division by σ alone, as if ε were 0. Where all features of a token are "
    "equal, σ is 0, too. Where does ε stand in the formula?"
)

BATCH_NORM = (
    "You have one mean and one variance for each feature, over all tokens: that is batch norm. Layer "
    "norm has one pair for each token."
)
THREE_AXES = (
    "On sentences (B, T, D) the mean is right, with fewer or more axes in front it is not. However "
    "many there are, the features lie along the last one: how is it named without counting the others?"
)

LIBRARY_NORMS = (
    "LayerNorm", "layer_norm", "native_layer_norm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d",
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "SyncBatchNorm", "batch_norm",
    "native_batch_norm", "_batch_norm_impl_index", "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional", "_batch_norm_with_update", "GroupNorm", "group_norm",
    "native_group_norm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
    "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d", "instance_norm",
    "RMSNorm", "rms_norm", "_fused_rms_norm",
    # these hold a layer norm that could be taken out
    "TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer",
)  # fmt: skip

LayerNorm = Part(
    name="LayerNorm",
    signature="LayerNorm(features, eps=1e-5)(x (..., features)) -> (..., features)",
    reference=layers.LayerNorm,
    steps=(
        Step(
            "each token by itself is centred, and divided by its own spread",
            1,
            (
                Case("a sentence (T, D) = (3, 7)", tokens(3, 7)),
                Case("a batch (B, T, D) = (2, 3, 5)", tokens(2, 3, 5)),
                Case("as many sentences as words and features, (4, 4, 4)", tokens(4, 4, 4)),
            ),
            judge=normalised,
        ),
        Step(
            "the variance is exact, for any leading axes",
            1,
            (
                Case("a batch (2, 3, 5)", tokens(2, 3, 5)),
                Case("one token without further axes, (6,)", tokens(6)),
                Case("four axes (2, 3, 5, 4)", tokens(2, 3, 5, 4)),
                Case("a wide sentence (2, 130)", tokens(2, 130)),
                silent("a single token (1, 1, 5)", tokens(1, 1, 5)),
                silent("one sentence of one word (1, 7)", tokens(1, 7)),
                silent("two features (3, 2)", tokens(3, 2)),
            ),
        ),
        Step(
            "`weight` scales and `bias` shifts each feature; a new module has ones and zeros",
            1,
            (
                silent("what a new module holds", new_norm),
                Case("a batch (2, 3, 5)", tokens(2, 3, 5, state=scale_and_shift)),
                Case("as many words as features, (6, 6)", tokens(6, 6, state=scale_and_shift)),
                Case("four axes (2, 3, 2, 7)", tokens(2, 3, 2, 7, state=scale_and_shift)),
            ),
            judge=scaled_and_shifted,
        ),
        Step(
            "ε stands under the root, and a token of equal features does no harm",
            1,
            (
                Case("faint tokens (2, 3, 64)", tokens(2, 3, 64, least=0.002, most=0.004)),
                Case("eps=0.5, (3, 64)", tokens(3, 64, least=0.5, most=1.2, eps=0.5)),
                Case("eps=0.001, (2, 2, 64)", tokens(2, 2, 64, least=0.02, most=0.05, eps=1e-3)),
                silent("tokens of equal features, (3, 8)", flat_tokens),
                silent(
                    "gradients where all features of a token are equal, σ = 0",
                    flat_tokens,
                    gradient=True,
                ),
            ),
            judge=within_five_percent,
        ),
        Step(
            "float64 stays float64, x stays as it was, any memory layout, any mode, gradients",
            1,
            (
                # large tokens, so that the place of ε decides nothing here
                Case(
                    "x in float64, (2, 3, 5)",
                    tokens(2, 3, 5, least=1e5, most=2e5, dtype=torch.float64),
                ),
                Case("x with gaps in memory, (2, 3, 5)", tokens(2, 3, 5), strided=True),
                Case("train mode, (2, 3, 5)", tokens(2, 3, 5, training=True)),
                Case(
                    "gradients for x, weight and bias, (2, 3, 5)",
                    tokens(2, 3, 5, least=5, most=9, state=scale_and_shift),
                    gradient=True,
                ),
            ),
            strict=True,
        ),
    ),
    mistakes=(
        Mistake(
            "weight and bias missing",
            WithoutParameters,
            "The module has no `weight` and no `bias`, or not as parameters. γ and β are learned: a "
            "plain tensor is not registered with the module, so no optimiser would find it. Are both "
            "made in `__init__`, as `nn.Parameter`, under these names?",
        ),
        Mistake(
            "bias missing",
            WithoutBias,
            "The module has a `weight`, but no parameter `bias`. Which letter of the formula is that?",
        ),
        *over(
            "batch axis",
            "Your mean and variance run over axis 0, so what comes out for a word depends on the other "
            "words or sentences that it is handed over with. A token is normalised over its own "
            "features: which axis do they lie along?",
            lambda x: (0,),
        ),
        *over(
            "axis of the words",
            "Your mean and variance run along the sentence, one pair for each feature, so a word's "
            "result depends on the words around it. A token is normalised over its own features: "
            "which axis do they lie along?",
            lambda x: (-2,),
            lambda x: (1,),
        ),
        *over(
            "batch norm: one mean for each feature",
            BATCH_NORM,
            lambda x: tuple(range(x.dim() - 1)),
            lambda x: (0, 1),
        ),
        Mistake("batch norm: one mean for each feature", OverAllTokens, BATCH_NORM),
        *over(
            "one mean for everything",
            "All tokens share one mean and one variance. Each token has its own: which axis has to be "
            "named when the mean is taken?",
            lambda x: tuple(range(x.dim())),
        ),
        *over(
            "one mean for each sentence",
            "All words of a sentence share one mean and one variance, so a word's result depends on "
            "the words around it. Each token has its own pair.",
            lambda x: (-2, -1),
            lambda x: (1, 2),
            lambda x: tuple(range(1, x.dim())) or (0,),
        ),
        Mistake("right for three axes only", ThreeAxesOnly, THREE_AXES),
        *over("right for three axes only", THREE_AXES, lambda x: (2,)),
        Mistake("unbiased variance", Unbiased, UNBIASED),
        Mistake("epsilon outside the root", EpsOutside, OUTSIDE),
        Mistake(
            "unbiased variance and epsilon outside the root",
            UnbiasedEpsOutside,
            f"Two things. {UNBIASED} And faint tokens come out too large: is ε added before or after "
            "the root is taken?",
        ),
        Mistake("epsilon missing", WithoutEps, NO_EPS),
        Mistake(
            "unbiased variance and epsilon missing", UnbiasedWithoutEps, f"{NO_EPS} And: {UNBIASED}"
        ),
        Mistake(
            "argument eps ignored",
            EpsFixed,
            "With the ε that a module has by default all is right; with another one, nothing changes. "
            "What becomes of the argument `eps`?",
        ),
        Mistake(
            "epsilon squared",
            EpsSquared,
            "Your ε is squared before it is added. Under the root stands σ² + ε, with ε as it is.",
        ),
        Mistake(
            "mean not taken off",
            NotCentred,
            "Your tokens are divided by their standard deviation but keep their mean. Which "
            "difference stands above the line of the fraction?",
        ),
        Mistake(
            "RMS norm: mean not taken off",
            RootMeanSquare,
            "Your numbers match x divided by the root of the mean of x², which is RMS norm. Layer norm "
            "takes the mean off first, above the line and in the variance.",
        ),
        Mistake(
            "not divided by the spread",
            NotDivided,
            "Your tokens have mean 0, but each keeps its spread. What are the differences divided by?",
        ),
        Mistake(
            "divided by the variance",
            DividedByVariance,
            "Your differences are divided by the variance. Something is still to be done with it.",
        ),
        Mistake(
            "squares summed, not averaged",
            DividedByTheSum,
            "Your tokens come out with length 1. The variance is the mean of the squares, not their "
            "sum.",
        ),
        Mistake(
            "mean absolute deviation",
            MeanAbsoluteDeviation,
            "Your spread is the mean of the absolute differences. The formula squares them, averages "
            "and takes the root.",
        ),
        Mistake(
            "statistics without their axis",
            WithoutKeepdim,
            "For one token all is right; with more of them it stops, or tokens meet the mean of "
            "others. The means of x (B, T, D) have the shape (B, T), and that does not broadcast "
            "against x as it should. How can the last axis be kept, with size 1?",
        ),
        Mistake(
            "weight and bias not used",
            NeitherUsed,
            "The module has `weight` and `bias`, but the result does not depend on them. What is the "
            "last step of the formula?",
        ),
        Mistake(
            "weight not used",
            WeightUnused,
            "The features are shifted but not scaled. Which letter of the formula is missing?",
        ),
        Mistake(
            "bias not used",
            BiasUnused,
            "The features are scaled but not shifted. Which letter of the formula is missing?",
        ),
        Mistake(
            "shifted before scaled",
            ShiftedFirst,
            "You add β first and multiply by γ afterwards, so the shift is scaled too. Which comes "
            "first in the formula?",
        ),
        Mistake(
            "weight and bias swapped",
            Swapped,
            "You multiply by `bias` and add `weight`. Which one is the scale?",
        ),
    ),
    reads=(
        "lecture 7, on layer norm and its three details",
        f"{LECTURE}#2.-Layer-norm,-one-token-at-a-time",
    ),
    stand_ins="course_utils.layers",
    barred=LIBRARY_NORMS,
)

SelfAttentionWithDropoutAndNorm = Part(
    name="SelfAttentionWithDropoutAndNorm",
    signature="SelfAttentionWithDropoutAndNorm(features, dropout_rate=0.1)(query (B, T, d_k), "
    "key (B, S, d_k), value (B, S, features)) -> (B, T, features)",
    reference=layers.SelfAttentionWithDropoutAndNorm,
    steps=(
        Step(
            "made for any width; each query collects values, and the norm comes last",
            1,
            (
                Case("a new module, features=6: the bias of its `layer_norm`", bias_of_its_norm),
                # at d_k = 1, dividing by √d_k or not is the same
                Case(
                    "one sentence, T=3, S=5, d_k=1, features=6",
                    sentences(1, 3, 5, 1, 6, by_name=False),
                ),
                Case(
                    "two sentences, T=4, S=3, d_k=1, features=7",
                    sentences(2, 4, 3, 1, 7, by_name=False),
                ),
            ),
        ),
        Step(
            "scores are divided by √d_k, whatever the lengths and widths",
            2,
            (
                Case("B=2, T=3, S=5, d_k=4, features=6", sentences(2, 3, 5, 4, 6)),
                Case("B=3, T=7, S=2, d_k=9, features=5", sentences(3, 7, 2, 9, 5)),
                Case("B=2, T=S=5, d_k=features=6", sentences(2, 5, 5, 6, 6)),
                Case("B=1, T=4, S=3, d_k=5, features=8", sentences(1, 4, 3, 5, 8)),
                Case("a single query, T=1, S=4, d_k=3", sentences(2, 1, 4, 3, 5)),
                Case("a single key, T=4, S=1, d_k=3", sentences(2, 4, 1, 3, 5)),
                Case("wide: d_k=64, features=32", sentences(2, 3, 5, 64, 32)),
                # so small that ε counts, and with it every factor before the norm
                Case("small values, T=3, S=5, d_k=16", sentences(2, 3, 5, 16, 9, size=0.006)),
                silent(
                    "train mode, dropout almost 0, d_k=2, S=11",
                    seen_through(2, 20, NOTHING, d_k=2, reach=2.0),
                ),
            ),
            judge=scaled_in_train_mode,
        ),
        Step(
            "in train mode dropout acts on the weights, after the softmax, each by itself; gradients pass",
            1,
            (
                Case(
                    "train mode, dropout 0",
                    sentences(2, 3, 5, 1, 6, rate=0.0, training=True),
                ),
                Case(
                    "train mode, dropout almost 1: all weights are dropped",
                    sentences(2, 3, 5, 1, 6, rate=EVERYTHING, training=True),
                ),
                silent("train mode, dropout 0.5, 880 weights", seen_through(2, 40, 0.5)),
                # at 0 itself, dropout in place does nothing and would do no harm
                Case(
                    "train mode, dropout almost 0: gradients for query, key, value and the norm",
                    sentences(2, 3, 5, 1, 6, rate=NOTHING, training=True),
                    gradient=True,
                ),
            ),
            judge=lambda expected, got: (
                drops_weights(0.5, expected, got)
                if isinstance(expected, list)
                else values_agree(expected, got)
            ),
        ),
        Step(
            "nothing is dropped in eval mode; the submodules are there; the rate is 0.1 by default",
            1,
            (
                Case(
                    # so large that weights times 1 - rate are not taken for dropped ones
                    "eval mode, dropout almost 1, large values",
                    sentences(2, 3, 5, 1, 6, rate=EVERYTHING, size=1e11),
                ),
                # so small that a factor of all weights shows
                silent(
                    "eval mode, dropout 0.5, small values",
                    sentences(2, 3, 5, 1, 6, rate=0.5, size=0.006),
                ),
                silent("what a new module holds", new_attention),
                silent("train mode, dropout left out, 1100 weights", seen_through(2, 50)),
            ),
            judge=holds_its_submodules,
        ),
        Step(
            "float64 stays float64, inputs stay as they were, any memory layout, gradients",
            1,
            (
                Case("float64", sentences(2, 3, 5, 1, 6, dtype=torch.float64)),
                Case("inputs with gaps in memory", sentences(2, 3, 5, 1, 6), strided=True),
                Case(
                    "inputs with gaps in memory, d_k=4, all keys alike",
                    # so large that a factor of all weights does not show: step 2 asks for it
                    sentences(2, 3, 5, 4, 6, keys_alike=True, size=50.0),
                    strided=True,
                ),
                Case(
                    "gradients for query, key, value and the norm",
                    sentences(2, 3, 5, 1, 6),
                    gradient=True,
                ),
            ),
            strict=True,
        ),
    ),
    mistakes=(
        Mistake(
            "features undefined",
            ConstructorThatStops,
            "No module can be made from `features` and `dropout_rate`: the constructor stops, and the "
            "line above says with which error. In the printed class, `features` is a name that nobody "
            "has given a meaning, and no argument brings it in. (If yours has the argument: is "
            "`super().__init__()` its first line?)",
        ),
        Mistake(
            "arguments of the constructor in the wrong order",
            RateFirst,
            "By name the constructor's arguments arrive, by place they do not: the width of the "
            "values comes first, then the rate. `dropout_rate` has a default, so it stands last.",
        ),
        Mistake(
            "no layer_norm with weight and bias",
            NormWithoutParameters,
            "The module has no submodule `layer_norm` with a `weight` and a `bias`. Is it made in "
            "`__init__`, under this name, and with its scale and shift?",
        ),
        Mistake(
            "not scaled",
            Unscaled,
            "Your numbers match plain dot products, as in the printed class. Before the softmax each "
            "score is divided by a root (lecture 3).",
        ),
        Mistake(
            "scaled after the softmax",
            ScaledAfterSoftmax,
            "You divide the weights, after the softmax. The norm takes out nearly any factor of a row, "
            "so this does next to nothing. What is to be kept from getting large, and before which "
            "step?",
        ),
        Mistake(
            "divided by the root of the value's width",
            RootOfFeatures,
            "Your numbers match scores divided by √features. A score adds up as many products as "
            "query and key have entries: which width is that?",
        ),
        Mistake(
            "divided by the root of the length",
            RootOfLength,
            "Your numbers match scores divided by √S, the number of keys. A score adds up as many "
            "products as query and key have entries: which axis is that?",
        ),
        Mistake(
            "divided by the root of the length",
            RootOfQueries,
            "Your numbers match scores divided by √T, the number of queries. A score adds up as many "
            "products as query and key have entries: which axis is that?",
        ),
        Mistake(
            "divided by d_k",
            DividedByWidth,
            "Your numbers match scores divided by d_k. It is its root: the standard deviation of a "
            "sum of d_k products grows with √d_k.",
        ),
        Mistake(
            "multiplied by √d_k",
            Multiplied,
            "Your numbers match scores multiplied by √d_k. What is the factor there to undo?",
        ),
        Mistake(
            "softmax over the queries",
            SoftmaxOver,
            "Your weights match a softmax over the queries. Each query shares out its attention over "
            "the keys: which axis of (B, T, S) is that?",
        ),
        Mistake(
            "softmax over the batch",
            SoftmaxOverBatch,
            "Your weights match a softmax over the batch, so sentences compete with each other. Each "
            "query shares out its attention over the keys: which axis of (B, T, S) is that?",
        ),
        Mistake(
            "no softmax",
            NoSoftmax,
            "You weigh the values with the scores themselves. What makes weights of a row of scores?",
        ),
        Mistake(
            "norm missing",
            NormMissing,
            "The module has a `layer_norm`, but the output is what was collected, before any norm. "
            "What is the last step of the formula?",
        ),
        Mistake(
            "weight and bias of the norm not used",
            NormUnused,
            "Your output is normalised, but it does not depend on the `weight` and the `bias` of "
            "`layer_norm`. Which norm does `forward` use?",
        ),
        Mistake(
            "norm before the product",
            NormBefore,
            "You normalise the values and then average them. An average of normalised rows is not "
            "normalised itself. Which step comes last?",
        ),
        Mistake(
            "norm before and after the product",
            NormTwice,
            "You normalise the values and the output. The formula has one norm: which one stays?",
        ),
        Mistake(
            "dropout on the scores",
            DropoutOnScores,
            "You drop before the softmax, and the softmax shares out all the weight again. A score of 0 "
            "is no weight of 0, since exp(0) = 1. What should be dropped, and after which step?",
        ),
        Mistake(
            "dropout in eval mode",
            DropoutAwake,
            "In eval mode something is dropped. `nn.Dropout` looks at the module's mode by itself; "
            "`F.dropout` does not, it has to be told.",
        ),
        Mistake(
            "train and eval mode mixed up",
            DropoutUpsideDown,
            "You drop in eval mode, and in train mode you do not. In which mode should a word now and "
            "then be missing?",
        ),
        Mistake(
            "no dropout",
            NoDropout,
            "In train mode nothing is dropped. Between which two steps does the dropout stand?",
        ),
        Mistake(
            "dropout after the norm",
            DropoutAfterNorm,
            "You drop entries of the output, after the norm. Dropout acts on the weights, so that a "
            "query misses whole words, and the norm comes last.",
        ),
        *(
            Mistake(
                "weights returned beside the output",
                answer,
                "You return a pair. This module returns the output alone.",
            )
            for answer in (TwoResults, TwoResultsDropped)
        ),
        *with_either_norm(
            "key used as value",
            "You collect keys: what the weights multiply is the key. The value brings its own "
            "content, with a width of its own.",
            KeyForValue,
        ),
        *with_either_norm(
            "query used as value",
            "You collect queries: what the weights multiply is the query. What the weights weigh is "
            "the value.",
            QueryForValue,
        ),
        Mistake(
            "query and key swapped",
            SwappedQueryAndKey,
            "You score keys against queries, (B, S, T), so it only runs where T = S, and is wrong "
            "there. Rows of the scores belong to the queries: (B, T, S).",
        ),
        Mistake(
            "residual added",
            Residual,
            "You add the query to what was collected. A residual connection belongs to a whole layer "
            "(assignment 8); this class has none, and query and value may differ in width.",
        ),
    ),
    reads=(
        "lecture 7, on rows that summed to one, and lecture 3 on the scale",
        f"{LECTURE}#What-happens-to-rows-that-summed-to-one",
    ),
    may_call=("LayerNorm",),
    stand_ins="course_utils.layers",
)

ASSIGNMENT = Assignment(
    name="a7_dropout_and_layer_norm",
    parts=(LayerNorm, SelfAttentionWithDropoutAndNorm),
    barred=(
        "scaled_dot_product_attention", "_scaled_dot_product_attention", "flex_attention",
        "_scaled_dot_product_attention_math", "_scaled_dot_product_flash_attention_for_cpu",
        "MultiheadAttention", "multi_head_attention_forward", "_native_multi_head_attention",
        "TransformerEncoderLayer", "TransformerDecoderLayer", "TransformerEncoder",
        "TransformerDecoder", "Transformer",
    ),
)  # fmt: skip
