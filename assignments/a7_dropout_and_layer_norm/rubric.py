"""Assignment 7: layer norm, attention with dropout and a norm, and the sums of rows under dropout.

Two more points are for a written answer, which a person grades.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from assignments.a7_dropout_and_layer_norm.drawn_sums import (
    TOLERANCE,
    WHOLE,
    shaken,
    shaken_twice,
)
from assignments.common.draws import again_or_not, copied_along
from autograder.checks.cases import Build, Case, Judge, Randn
from autograder.checks.check import Part
from autograder.checks.compare import kind_of, numbers, values_agree
from autograder.checks.problem import Judgement
from course_utils import layers

LECTURE = "../../lectures/07_layer_normalization.ipynb"
ROWS = f"{LECTURE}#What-happens-to-rows-that-summed-to-one"
# so near to 1 that nothing is kept; at 1 itself, dropout by hand divides 0 by 0
EVERYTHING = 1 - 1e-9
NOTHING = 1e-9
EPS = 1e-5


# ------------------------------------------------------------------------------ what is drawn


def silent(case: Case) -> Case:
    """Leave a case out where mistakes are recognised.

    This concerns what is left to chance, what wrong answers turn into NaN (which equals nothing),
    and what a new module holds (which is no tensor).
    """
    return replace(case, random=True)


def parameters(features: int, affine: bool = False) -> dict[str, Tensor]:
    """γ = 1 and β = 0, or else γ of both signs and never near 0, and β, both unlike their neighbours."""
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
    again: bool = False,
) -> Case:
    """x (shape) whose tokens differ in centre, and in spread between two bounds.

    With ``again``, the module was used on other tokens of the same shape before.
    """
    least, most = spread
    keywords = {} if eps is None else {"eps": eps}

    def draw(randn: Randn) -> Build:
        x = randn(*shape)
        x = (x - x.mean(dim=-1, keepdim=True)) / x.std(dim=-1, keepdim=True, correction=0)
        # means that are no larger than that cost the variance no digits, however it is computed
        centre = torch.empty(*shape[:-1], 1).uniform_(-2, 2, generator=randn.generator)
        # in float64, so that roots of variances are not whole numbers of float32
        sizes = torch.logspace(
            math.log10(least), math.log10(most), centre.numel(), dtype=torch.float64
        )
        sizes = sizes[torch.randperm(len(sizes), generator=randn.generator)].reshape(centre.shape)
        return Build(
            shape[-1:],
            keywords,
            [(x + centre) * sizes.to(x.dtype)],
            state=parameters(shape[-1], affine),
            training=training,
            before=[least * randn(*shape)] if again else [],
        )

    notes = [f"x {shape}"] + [f"{eps=}"] * bool(keywords)
    notes += [f"spread {least:g} to {most:g}"] * (spread != ORDINARY)
    notes += ["with γ and β"] * affine + ["train mode"] * training + ["used before"] * again
    return Case(", ".join(notes), draw)


def flat_tokens(randn: Randn) -> Build:
    """Tokens of equal features whose mean is exact in any order of summing."""
    values = torch.tensor([-2.0, 0.5, 3.0])[torch.randperm(3, generator=randn.generator)]
    return Build((8,), arguments=[values[:, None].repeat(2, 1, 8)], state=parameters(8))


FLAT = silent(Case("x (2, 3, 8), all features of a token equal, σ = 0", flat_tokens))
NEW = silent(Case("what a new module holds", lambda randn: Build((6,), method=None)))


def sentences(
    B: int, T: int, S: int, d_k: int, features: int, rate: float = 0.0, *, training: bool = False,
    by_name: bool = True, size: float = 2.0, keys_alike: bool = False, before: int = 0,
) -> Case:  # fmt: skip
    """query (B, T, d_k), key (B, S, d_k), value (B, S, features), whose values have a ``size``.

    With ``keys_alike`` the scale of the scores decides nothing, as it does at d_k = 1. With
    ``before``, the module was used on as many sentences and words with this d_k before.
    """

    def draw(randn: Randn) -> Build:
        key = randn(B, 1, d_k).repeat(1, S, 1) if keys_alike else randn(B, S, d_k)
        arguments = [1.2 * randn(B, T, d_k), 1.2 * key, size * randn(B, S, features)]
        if not by_name:
            return Build((features, rate), arguments=arguments, training=training)
        keywords = {"features": features, "dropout_rate": rate}
        others = [randn(B, T, before), randn(B, S, before), randn(B, S, features)]
        return Build((), keywords, arguments, training=training, before=others if before else [])

    notes = [f"{B=}, {T=}, {S=}, {d_k=}, {features=}"]
    mode = "train" if training else "eval"
    notes += [f"dropout_rate={rate}, {mode} mode"] * (training or rate > 0)
    notes += [f"values of size {size:g}"] * (size != 2.0) + ["all keys alike"] * keys_alike
    notes += ["the constructor's arguments by place"] * (not by_name)
    notes += [f"used before with d_k={before}"] * bool(before)
    return Case(", ".join(notes), draw)


KEYS, SIZE = 11, 0.02


def seen_through(
    B: int, T: int, rate: float | None = None, d_k: int = 1, reach: float = 1.0
) -> Case:
    """Two calls in train mode, from whose outputs the weights can be computed back.

    Value s is a small number in columns s and s + KEYS and zero elsewhere, and the last column is
    zero for all, so the weighted sum holds each weight twice. With γ = 1 and β = 0 the norm keeps
    it up to a shift, which the last column shows, and a factor, which ε shows, because the values
    are so small that the variance of a row of output is clearly below 1. Entries of query and key lie
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

NOT_FINITE = "the result should be finite, but it contains NaN or infinity"


def rows_in_proportion(expected: Tensor, got: Any, affine: bool = False) -> Judgement:
    """Accept rows that are the expected ones times a factor near 1, once γ and β are undone.

    One slip in the variance or in ε then does not cost the points for everything else.
    """
    if not isinstance(got, Tensor) or got.shape != expected.shape:
        return values_agree(expected, got)
    if not torch.isfinite(got).all():
        return NOT_FINITE
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
        f"token {row} (counted through all axes, from 0) should become "
        f"{numbers(expected.reshape(wanted.shape)[row])}, but it is "
        f"{numbers(got.reshape(wanted.shape)[row])}"
    )


def scaled_and_shifted(expected: Any, got: Any) -> Judgement:
    """Judges γ and β at work, and what a new module holds."""
    if not isinstance(expected, dict):
        return rows_in_proportion(expected, got, affine=True)
    found = got.get("parameters") if isinstance(got, dict) else None
    if not isinstance(found, dict):
        return f"expected a module, got {kind_of(got)}"
    for name, wanted in expected["parameters"].items():
        if name not in found:
            names = ", ".join(f"`{one}`" for one in found)
            return (
                f"a parameter should have the name `{name}`; the module's parameters: {names}"
                if found
                else f"`{name}` should be a parameter, but it is none, so an optimiser would never see it"
            )
        problem = values_agree(wanted, found[name])
        if problem:
            return f"in a new module, `{name}` is not what it should be: {problem}"
    return None


def within_five_percent(expected: Tensor, got: Any) -> Judgement:
    """Judges where ε is, which matters far more than the variance where there are many features."""
    if not isinstance(got, Tensor) or got.shape != expected.shape:
        return values_agree(expected, got)
    if torch.allclose(got.double(), expected.double(), rtol=0.05, atol=0.02):
        return None
    return values_agree(expected, got) or NOT_FINITE


def submodules_are_there(expected: dict, got: Any) -> Judgement:
    names = got.get("modules") if isinstance(got, dict) else None
    if not isinstance(names, list):
        return f"expected a module, got {kind_of(got)}"
    missing = [name for name in expected["modules"] if name not in names]
    if missing:
        there = ", ".join(f"`{name}`" for name in names) or "none"
        return f"expected a submodule `{missing[0]}`, but the submodules are {there}"
    return None


def in_train_mode(judge: Callable[[Tensor, list[Tensor]], Judgement]) -> Judge:
    """Gives the two outputs of `seen_through` to ``judge``, with the one of eval mode before them.

    All other results are compared by value, and new modules by their submodules.
    """

    def judge_each(expected: Any, got: Any) -> Judgement:
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


def drops_weights(p: float, by_itself: bool = True) -> Judge:
    """Every weight is 0 or 1/(1 - p) times the one of eval mode, each decided ``by_itself``.

    About a share of p is 0, within six standard deviations.
    """

    def judge(expected: Tensor, got: list[Tensor]) -> Judgement:
        for found in got:
            problem = _dropped_once(p, expected, found) or (
                by_itself and _dropped_together(p, expected, found)
            )
            if problem:
                return f"in train mode with dropout {p:g}, {problem}"
        if torch.equal(*got):
            return "two calls in train mode should differ, but they give the same result. Is anything left to chance?"
        return None

    return in_train_mode(judge)


def _dropped_once(p: float, expected: Tensor, got: Tensor) -> Judgement:
    if not torch.isfinite(got).all():
        return f"{NOT_FINITE}. What becomes of a row that has lost all its weights?"
    whole, _ = read_back(expected)
    first, second = read_back(got)
    if got.double().mean(dim=-1).abs().max() > 1e-3 or not torch.isfinite(first).all():
        return (
            "the output should be normalised, since the norm has a weight of ones and a bias of zeros, "
            "but it is not. Is the norm the last step?"
        )
    if not torch.allclose(first, second, atol=2e-3):
        return (
            "two columns that are the same in all values should stay the same, but they differ. If a "
            "weight is dropped, its value is missing in all columns. What do you drop instead?"
        )
    is_zero = first.abs() < 2e-3
    possible = is_zero | torch.isclose(first * (1 - p), whole, rtol=2e-3, atol=1e-3)
    if not possible.all():
        b, t, s = (~possible).nonzero()[0].tolist()
        return (
            f"each weight should be 0 or 1/(1 - {p:g}) times what it is in eval mode. Computed "
            f"back from your output, the weight [{b}, {t}, {s}] is {float(first[b, t, s]):.3g}, "
            f"whereas in eval mode it is {float(whole[b, t, s]):.3g}"
        )
    share = float(is_zero.double().mean())
    if abs(share - p) > 6 * (p * (1 - p) / is_zero.numel()) ** 0.5:
        return f"a share of about {p:g} of the weights should be 0, but it is {share:.2f}"
    return None


def _dropped_together(p: float, expected: Tensor, got: Tensor) -> Judgement:
    """Whether the weights that are dropped are not left to chance, each by itself."""
    whole, _ = read_back(expected)
    is_zero = read_back(got)[0].abs() < 2e-3
    if any((is_zero == is_zero.narrow(axis, 0, 1)).all() for axis in range(3)):
        return (
            "each weight should be dropped independently, but whole rows, columns or sentences are "
            "dropped together"
        )
    if any(copied_along(is_zero, axis) for axis in range(3)):
        return (
            "each weight should be dropped independently, but some rows, columns or sentences lose "
            "the same weights as others, far more often than by chance"
        )
    above = whole - whole.mean(dim=-1, keepdim=True)
    if ((is_zero.double() - p) * above).sum().abs() > 6 * (
        p * (1 - p) * above.square().sum()
    ).sqrt():
        return (
            "which weights are dropped should not depend on how large they are, but in yours it does. "
            "Where do the numbers come from that decide?"
        )
    if any((count == count.flatten()[0]).all() for count in (is_zero.sum(-1), is_zero.sum(-2))):
        return (
            "every row, or every column, loses the same number of weights. Each weight should be "
            "dropped independently, so that this number is left to chance as well"
        )
    return None


@in_train_mode
def weights_compare(expected: Tensor, got: list[Tensor]) -> Judgement:
    """Judges in train mode only how the weights of a row compare.

    Another step decides about the dropout itself. So, of the rows that kept three weights or more,
    it is enough if a quarter have three in the same proportions as in eval mode.
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
            "the weights of a row should be in the same proportions as in eval mode, but they are not. "
            "Are the scores also divided by √d_k in train mode?"
        )
    return None


def sums_agree(expected: Any, got: Any) -> Judgement:
    """Compares means, and standard deviations within what a difference of squares loses."""
    if not isinstance(got, tuple | list) or len(got) != 2:
        return f"expected {kind_of(expected)}, got {kind_of(got)}"
    problem = values_agree(expected[0], got[0])
    if problem or not isinstance(got[1], Tensor) or got[1].shape != expected[1].shape:
        return (
            problem
            or f"expected {kind_of(expected[1])} as the second result, got {kind_of(got[1])}"
        )
    if not torch.isfinite(got[1]).all():
        return "`std` should be finite, but it contains NaN or infinity"
    furthest = float((got[1].double() - expected[1].double()).abs().max())
    return (
        f"`std` should be 0 in all rows, but it is up to {furthest:.3g}"
        if furthest > TOLERANCE
        else None
    )


# ---------------------------------------------------------------------------------- LayerNorm

norm = Part(
    "LayerNorm(features, eps=1e-5)(x (..., features)) -> (..., features)",
    layers.LayerNorm,
    reads=(
        "lecture 7, on layer norm and its three details",
        f"{LECTURE}#2.-Layer-norm,-one-token-at-a-time",
    ),
    disallowed=(
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
norm.example = tokens(2, 3)
CENTRED = norm.step(
    "each token is centred on its own, and divided by its own spread",
    1, tokens(2, 3, 7), tokens(2, 3, 5), tokens(4, 4, 4), judge=rows_in_proportion,
)  # fmt: skip
VARIANCE = norm.step(
    "the variance is exact, for any leading axes",
    1, tokens(2, 3, 5), tokens(6), tokens(12, 3, 5, 4), tokens(12, 130),
    silent(tokens(1, 1, 5)), silent(tokens(1, 7)), silent(tokens(3, 2)), silent(tokens(2, 1100)),
    silent(tokens(2, 3, 7, spread=(1e5, 2e5))),
)  # fmt: skip
PARAMETERS = norm.step(
    "`weight` scales and `bias` shifts each feature, and a new module has ones and zeros there",
    1, NEW, tokens(2, 3, 5, affine=True), tokens(2, 6, 6, affine=True),
    tokens(2, 3, 7, affine=True), judge=scaled_and_shifted,
)  # fmt: skip
INSIDE_THE_ROOT = norm.step(
    "ε is under the root, and a token of equal features does no harm",
    1,
    tokens(2, 3, 64, spread=(0.002, 0.004)),
    tokens(2, 3, 64, spread=(0.5, 1.2), eps=0.5),
    tokens(2, 2, 64, spread=(0.02, 0.05), eps=0.001),
    FLAT,
    FLAT.with_gradients(),
    judge=within_five_percent,
)
NORM_MANNERS = norm.step(
    "float64 stays float64, x stays as it was, any memory layout, any mode, gradients",
    1,
    # large tokens, so that the place of ε decides nothing here
    tokens(2, 3, 5, spread=(1e5, 2e5)).in_float64(),
    tokens(2, 3, 5).with_gaps(),
    tokens(2, 3, 5, training=True),
    tokens(2, 3, 5, training=True, again=True),
    tokens(2, 3, 5, spread=(5.0, 9.0), affine=True).with_gradients(),
    strict=True,
)


# ------------------------------------------------------------ SelfAttentionWithDropoutAndNorm

attention = Part(
    "SelfAttentionWithDropoutAndNorm(features, dropout_rate=0.1)(query (B, T, d_k), "
    "key (B, S, d_k), value (B, S, features)) -> (B, T, features)",
    layers.SelfAttentionWithDropoutAndNorm,
    reads=("lecture 7, on rows that summed to one, and lecture 3 on the scale", ROWS),
    may_call=("LayerNorm",),
)
# at d_k = 1 the division by √d_k changes nothing, so only the second step asks for it
scale_free = partial(sentences, B=2, T=3, S=5, d_k=1, features=6)
attention.example = sentences(B=1, T=2, S=3, d_k=2, features=3)
COLLECTS = attention.step(
    "it can be made for any width, each query collects values, and the norm comes last",
    1,
    # only the constructor runs, which tells what stops there from what stops in `forward`
    Case(
        "a new module, features=6: the bias of its `layer_norm`",
        lambda randn: Build((6,), arguments=["layer_norm.bias"], method="get_parameter"),
    ),
    sentences(B=1, T=3, S=5, d_k=1, features=6, by_name=False),
    sentences(B=2, T=4, S=3, d_k=1, features=7, by_name=False),
    # one width and length, where a residual, or another input in place of the values, would fit
    sentences(B=2, T=4, S=4, d_k=5, features=5, by_name=False, keys_alike=True),
)
SCALED = attention.step(
    "scores are divided by √d_k, whatever the lengths and widths",
    2,
    sentences(B=2, T=3, S=5, d_k=4, features=6),
    sentences(B=12, T=7, S=2, d_k=9, features=5, before=6),
    sentences(B=2, T=5, S=5, d_k=6, features=6),
    sentences(B=1, T=4, S=3, d_k=5, features=8),
    sentences(B=2, T=1, S=4, d_k=3, features=5),
    sentences(B=2, T=4, S=1, d_k=3, features=5),
    sentences(B=2, T=3, S=5, d_k=64, features=32),
    sentences(B=2, T=70, S=3, d_k=2, features=4),
    sentences(B=2, T=3, S=130, d_k=2, features=4),
    sentences(B=2, T=3, S=2, d_k=4, features=70),
    # so small that ε counts, and with it every factor before the norm
    sentences(B=2, T=3, S=5, d_k=16, features=9, size=0.006),
    seen_through(B=2, T=20, rate=NOTHING, d_k=2, reach=2.0),
    judge=weights_compare,
)
DROPS = attention.step(
    "in train mode, dropout acts on each weight independently, after the softmax; gradients pass",
    1,
    scale_free(training=True),
    scale_free(rate=EVERYTHING, training=True),
    scale_free(T=5, rate=EVERYTHING, training=True),
    seen_through(B=2, T=30, rate=0.5),
    # at 0 itself, dropout in place does nothing and would do no harm
    scale_free(rate=NOTHING, training=True).with_gradients(),
    judge=drops_weights(0.5),
)
EVAL_MODE = attention.step(
    "nothing is dropped in eval mode, the submodules are there, and the rate is 0.1 by default",
    1,
    # so large that weights times 1 - rate are not taken for dropped ones
    scale_free(rate=EVERYTHING, size=1e11),
    # so small that a factor of all weights shows
    silent(scale_free(rate=0.5, size=0.006)),
    NEW,
    seen_through(B=2, T=40),
    # whether each weight is dropped by itself is the matter of the step before
    judge=drops_weights(0.1, by_itself=False),
)
MANNERS = attention.manners(
    1,
    scale_free(),
    # so large that a factor of all weights does not show, since step 2 asks for it
    scale_free(d_k=4, keys_alike=True, size=50.0).with_gaps(),
    scale_free(before=1),
    asks="float64 stays float64, inputs stay as they were, any memory layout, gradients",
)


# --------------------------------------------------------------------- row_sums_under_dropout

row_sums = Part(
    "row_sums_under_dropout(weights (T, S), rate, draws, generator=None) -> mean (T,), std (T,)",
    layers.row_sums_under_dropout,
    reads=("lecture 7, on rows that summed to one", ROWS),
)
SHARES = (1 / 7, 2 / 7, 4 / 7)  # each choice of these has a sum of its own
row_sums.example = Case("two rows", lambda randn: [randn(2, 3), 0.5, 4], random=True)
SUMS = row_sums.step(
    "which sums a row has after dropout, how often, and their mean and standard deviation",
    1,
    shaken(SHARES, 0.5, draws=1),
    shaken(SHARES, 0.5, draws=2),
    shaken((0.25, 0.375, 0.875), 0.3, draws=2),
    shaken((1.0, 0.0, 0.0, 0.0), 0.75, draws=1),
    shaken((1.0, 0.0), 0.3, draws=5),
    shaken((1.0, 0.0, 0.0), 0.5, draws=21, rows=300),
    shaken((0.5, 1.0, 2.0), 0.1, draws=3),
    shaken((0.5, 0.3, 0.2), 0.0, draws=2, rows=500),
    WHOLE,
    WHOLE.in_float64(),
    judge=sums_agree,
)
OWN_MASKS = row_sums.step(
    "each weight of each draw is dropped by itself; the generator, float64, weights as they were",
    1,
    shaken(SHARES, 0.6, draws=1, seeded=True),
    shaken((0.5, 0.0, 0.25), 0.4, draws=2, seeded=True),
    shaken(SHARES, 0.5, draws=2).in_float64(),
    shaken(SHARES, 0.25, draws=2).with_gaps(),
    shaken((0.4, 0.6), 0.0, draws=2, rows=1),
    shaken((1.5,), 0.5, draws=3),
    shaken((0.3, 0.9), 0.0, draws=4),
    shaken_twice(anew=True),
    shaken_twice(anew=False),
    shaken_twice(anew=False, seeded=False),
    judge=again_or_not(values_agree),
    strict=True,
)
