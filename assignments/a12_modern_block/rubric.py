"""Assignment 12: RMSNorm, rotary positions, SwiGLU, and the block that is made of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from assignments.common.layers import drawn_mask, near_mask
from autograder.checks.cases import Build, Case, Chain, Randn
from autograder.checks.check import Part
from autograder.checks.compare import kind_of, values_agree
from autograder.checks.problem import Judgement
from course_utils import modern

LECTURE = "../../lectures/11_block_of_today.ipynb"
SHARP = 40.0  # of the entries of `w_q`, where scores are in the hundreds


# ------------------------------------------------------------------------------ what is drawn


def new(kind: str, *construct: int) -> Case:
    """A module that is made and not used."""
    label = f"a new {kind}({', '.join(map(str, construct))})"
    return Case(label, lambda randn: Build(construct, method=None), random=True)


def tokens(
    *shape: int,
    size: float = 2.0,
    centre: float = 0.0,
    eps: float | None = None,
    by_place: bool = False,
    training: bool = False,
    before: tuple[int, ...] = (),
) -> Case:
    """x of this shape for an RMSNorm, which was used on another x of the shape ``before``, if any.

    ε is handed over by name, or by place.
    """

    def draw(randn: Randn) -> Build:
        x = size * randn(*shape) + centre
        named = {} if eps is None or by_place else {"eps": eps}
        construct = (shape[-1], eps) if by_place else shape[-1:]
        return Build(construct, named, [x], training=training, before=earlier(randn, before))

    notes = f"x {shape} of size {size:g}" + f" around {centre:g}" * bool(centre)
    notes += ("" if eps is None else f", {eps=:g}") + ", train mode" * training
    return Case(notes + used(before), draw)


def earlier(randn: Randn, shape: tuple[int, ...]) -> list[Any]:
    """The arguments of a call with x of this shape; nothing for no call."""
    return [randn(*shape)] if shape else []


def used(before: tuple[int, ...]) -> str:
    """What a label says of such a call."""
    return f", used before on x {before}" if before else ""


def a_row_of_zeros() -> Case:
    """Two sentences whose first token is zero."""

    def draw(randn: Randn) -> Build:
        x = randn(2, 3, 5)
        x[:, 0] = 0
        return Build((5,), arguments=[x])

    return Case("x (2, 3, 5) with a row of zeros", draw, random=True)


def turned(
    B: int,
    H: int,
    T: int,
    d_k: int,
    *,
    last: int | None = None,
    own: bool = False,
    base: float | None = None,
    factor: float | None = None,
) -> Case:
    """x (B, H, T, d_k) and positions: 0 … T - 1, or any up to ``last``; ``own`` of each sentence."""

    def draw(randn: Randn) -> list[Any]:
        given: list[Any] = [randn(B, H, T, d_k), places(randn, B, T, last, own)]
        if base is not None or factor is not None:
            given.append(10000.0 if base is None else base)
        if factor is not None:
            given.append(factor)
        return given

    notes = f"{B=}, {H=}, {T=}, {d_k=}, positions "
    notes += f"0 to {T - 1}" if last is None else f"of any order up to {last}"
    notes += ", each sentence its own" * own
    notes += f", {base=:g}" if base else ""
    return Case(notes + (f", {factor=:g}" if factor else ""), draw)


def places(randn: Randn, B: int, T: int, last: int | None, own: bool) -> Tensor:
    """Positions (T,) or, where each sentence has its own, (B, T)."""
    if last is None:
        return torch.arange(T)
    shape = (B, T) if own else (T,)
    found = torch.randint(last + 1, shape, generator=randn.generator)
    found[..., 0] = last  # one is as far as it gets, and none stands where its number would be
    return found


def turned_again() -> Case:
    """Calls one after the other, some of which differ in the numbers alone, others in shapes as well."""

    def draw(randn: Randn) -> Chain:
        def call(T: int, d_k: int, last: int, own: bool, *more: float) -> list[Any]:
            return [randn(2, 3, T, d_k), places(randn, 2, T, last, own), *more]

        return Chain(
            [
                call(5, 8, 40, True),
                call(5, 8, 40, False),
                call(5, 8, 90, False),
                call(5, 8, 40, True, 500.0, 3.0),
                call(5, 8, 60, True, 500.0, 3.0),
                call(7, 6, 60, False),
            ]
        )

    return Case("calls one after the other, with other positions, base and factor", draw)


def odd(d_k: int) -> Case:
    """A width that leaves one feature without a partner."""

    def draw(randn: Randn) -> list[Any]:
        return [randn(2, 3, 4, d_k), torch.arange(4)]

    return Case(f"{d_k=}", draw, raises=("ValueError", str(d_k)))


def network(
    *shape: int,
    d_ff: int,
    units: int = 0,
    training: bool = False,
    size: float = 1.0,
    before: tuple[int, ...] = (),
) -> Case:
    """x of this shape for a SwiGLU, which was used on another x of the shape ``before``, if any.

    Args:
        units: all but so many inner features give zeros, so that a network with more or fewer of them
            can be used all the same; 0 uses them all.
    """

    def draw(randn: Randn) -> Build:
        x = size * randn(*shape)
        d_model, state = shape[-1], {}
        if units:
            up, down = randn(d_ff, d_model), randn(d_model, d_ff)
            up[units:] = down[:, units:] = 0
            state = {"w_up.weight": up * d_model**-0.5, "w_down.weight": down * units**-0.5}
        return Build(
            (d_model, d_ff),
            arguments=[x],
            state=state,
            fitted=units > 0,
            training=training,
            before=earlier(randn, before),
        )

    notes = f"x {shape}, {d_ff=}" + f", numbers of size {size:g}" * (size != 1)
    return Case(notes + ", train mode" * training + used(before), draw)


def layer(
    B: int,
    T: int,
    d_model: int,
    H: int,
    d_ff: int,
    *,
    mask: str = "",
    blind: str = "",
    near: bool = False,
    last: int | None = None,
    own: bool = False,
    base: float | None = None,
    eps: float | None = None,
    silent: str = "",
    training: bool = False,
    before: str = "",
    sharp: bool = False,
) -> Case:
    """A block and x (B, T, d_model), with a mask of the axes named, and positions up to ``last``.

    Args:
        blind: "all heads" if the mask's first row shows nothing, "one head" if one of one head does not.
        near: the mask shows each word itself and the two before it.
        silent: the weights of this layer are zero.
        before: on what the block was used before: "as many words", with a mask and positions, or
            "fewer words", without.
        sharp: `w_q` is so large that scores are in the hundreds.
    """

    def draw(randn: Randn) -> Build:
        seen = None
        if mask:
            sizes = {"B": B, "H": H, "T": T, "1": 1}
            shape = tuple(sizes[axis] for axis in mask.split(", "))
            seen = near_mask(T) if near else drawn_mask(randn, shape, blind == "all heads")
            if blind == "one head":
                seen[0, 1, 2] = False
        arguments: list[Any] = [randn(B, T, d_model)]
        if seen is not None or last is not None:
            arguments.append(seen)
        if last is not None:
            arguments.append(places(randn, B, T, last, own))
        widths = {"w_o": (d_model, d_model), "feed_forward.w_down": (d_model, d_ff)}
        state = {f"{silent}.weight": torch.zeros(widths[silent])} if silent else {}
        if sharp:
            state["w_q.weight"] = SHARP * randn(d_model, d_model)
        used_on: list[Any] = []
        if before == "as many words":
            used_on = [randn(B, T, d_model), drawn_mask(randn, (T, T)), 7 * torch.arange(T)]
        elif before == "fewer words":
            used_on = [randn(B, T - 2, d_model)]
        return Build(
            (d_model, H, d_ff),
            {name: value for name, value in (("base", base), ("eps", eps)) if value is not None},
            arguments,
            state=state,
            training=training,
            before=used_on,
        )

    notes = f"{B=}, {T=}, {d_model=}, num_heads={H}, {d_ff=}"
    notes += f", mask ({mask})" * bool(mask)
    notes += f", a row that shows nothing to {blind}" * bool(blind)
    notes += f", positions up to {last}" * (last is not None) + ", each sentence its own" * own
    notes += f", {base=:g}" if base else ""
    notes += f", {eps=:g}" if eps else ""
    notes += f", `{silent}` gives zeros" * bool(silent) + ", train mode" * training
    return Case(
        notes + f", used before on {before}" * bool(before) + ", large scores" * sharp, draw
    )


def refused(d_model: int, H: int) -> Case:
    """Heads of unequal width; the error names both numbers."""
    return Case(
        f"ModernBlock({d_model}, {H}, 10)",
        lambda randn: Build((d_model, H, 10), method=None),
        raises=("ValueError", str(d_model), str(H)),
    )


# ------------------------------------------------------------------------------ what decides


def about(expected: Any, got: Any, tolerance: float = 2e-4) -> Judgement:
    """Compare as closely as tables of angles in float32 allow.

    In float64 this is as close as anywhere for a single word, which stands at position 0 and is turned
    by nothing.
    """
    if isinstance(expected, tuple):
        if not isinstance(got, tuple) or len(got) != len(expected):
            return values_agree(expected, got)
        for number, (wanted, found) in enumerate(zip(expected, got, strict=True), 1):
            problem = about(wanted, found, tolerance)
            if problem:
                return f"in call {number} of {len(expected)}, {problem}"
        return None
    return None if _near(expected, got, tolerance) else values_agree(expected, got)


def far_away(expected: Any, got: Any) -> Judgement:
    """Compare at positions in the thousands, where an angle in float32 has three digits left."""
    return about(expected, got, tolerance=1e-3)


def _near(expected: Tensor, got: Any, tolerance: float) -> bool:
    if expected.dtype == torch.float64 and expected.shape[-2] == 1:
        return False
    return (
        isinstance(got, Tensor)
        and got.shape == expected.shape
        and got.dtype.is_floating_point
        and torch.allclose(got.double(), expected.double(), rtol=tolerance, atol=tolerance)
    )


def is_made_or_right(expected: Any, got: Any) -> Judgement:
    """A new module has these parameters and no others; of one that is used, the results are right."""
    if not isinstance(expected, dict):
        return about(expected, got)
    found = got.get("parameters") if isinstance(got, dict) else None
    if not isinstance(found, dict):
        return f"expected a module, got {kind_of(got)}"
    names = ", ".join(f"`{name}`" for name in found) or "none"
    for name, wanted in expected["parameters"].items():
        if name not in found:
            return f"`{name}` should be a parameter of the module; its parameters are {names}"
        if wanted.dim() == 1:  # a norm's weight; maps begin as they like
            problem = values_agree(wanted, found[name])
            if problem:
                return f"in a new module, `{name}` is not what it should be: {problem}"
    if got.get("distinct") == expected["distinct"]:
        return None
    surplus = ", ".join(f"`{name}`" for name in found if name not in expected["parameters"])
    return f"the module has parameters that it should not have: {surplus or names}"


# ----------------------------------------------------------------------------------- RMSNorm

rms = Part(
    "RMSNorm(features, eps=1e-6); forward(x (..., features)) -> (..., features)",
    modern.RMSNorm,
    reads=("lecture 11, on RMSNorm", f"{LECTURE}#2.-RMSNorm:-a-norm-without-a-mean"),
)
ROOT = rms.step(
    "each token is divided by the root of its own mean square, and each feature scaled by `weight`, "
    "the one parameter, of ones in a new module",
    1,
    tokens(2, 3, 5),
    tokens(12, 140, 3, centre=3.0),
    tokens(6),
    tokens(2, 3, 4, 5, size=400.0),
    tokens(4, 4, 4),
    tokens(1, 1, 600),
    new("RMSNorm", 6),
    judge=is_made_or_right,
)
EPSILON = rms.step(
    "ε under the root, a token of zeros, float64, any layout, gradients",
    1,
    tokens(2, 3, 6, size=1.0, eps=0.5),
    tokens(2, 3, 6, size=0.5, eps=0.5, by_place=True),
    tokens(2, 3, 64, size=1e-3),
    a_row_of_zeros(),
    tokens(2, 3, 5, before=(2, 3, 5)),
    tokens(2, 3, 5, before=(2, 2, 5)),
    tokens(2, 3, 5, training=True),
    tokens(2, 3, 5).in_float64(),
    tokens(2, 3, 5).with_gaps(),
    # this ε and its root are the same in float32
    tokens(2, 3, 5, eps=0.25).in_float64().with_gradients(),
    a_row_of_zeros().with_gradients(),
    strict=True,
)


# ------------------------------------------------------------------------------ apply_rotary

rotary = Part(
    "apply_rotary(x (B, H, T, d_k), positions (T,) or (B, T), base=10000.0, factor=1.0) -> (B, H, T, d_k)",
    modern.apply_rotary,
    reads=("lecture 11, on rotary positions", f"{LECTURE}#4.-Rotary-positions,-and-the-block"),
    near=far_away,
)
TURNED = rotary.step(
    "neighbouring features are turned by the position times the speed of their pair",
    1,
    turned(B=1, H=2, T=4, d_k=6),
    turned(B=2, H=17, T=7, d_k=8),
    turned(B=3, H=1, T=20, d_k=130),
    turned(B=2, H=3, T=6, d_k=10, last=60),
    judge=about,
)
ANYWHERE = rotary.step(
    "any positions, a row for each sentence, any `base` and `factor`",
    1,
    turned(B=2, H=3, T=5, d_k=8, last=180),
    turned(B=2, H=5, T=4, d_k=6, last=90, own=True),
    turned(B=3, H=3, T=5, d_k=8, last=90, own=True),
    turned(B=2, H=3, T=6, d_k=10, last=150, base=500.0),
    turned(B=2, H=5, T=3, d_k=8, last=150, factor=4.0),
    turned(B=2, H=3, T=5, d_k=6, last=150, factor=2.5, base=77.0, own=True),
    turned(B=12, H=2, T=1, d_k=6, last=9),
    judge=about,
)
ROTARY_MANNERS = rotary.step(
    "an odd width is refused; far positions, float64, x as it was, any layout, gradients",
    1,
    odd(5),
    odd(7),
    turned(B=2, H=3, T=5, d_k=8, last=3900),
    turned(B=1, H=2, T=3, d_k=4, last=40000),
    turned_again(),
    turned(B=2, H=3, T=5, d_k=8, last=30, own=True).in_float64(),
    turned(B=2, H=3, T=1, d_k=8).in_float64(),
    turned(B=2, H=3, T=5, d_k=8, last=30).with_gaps(),
    turned(B=2, H=3, T=4, d_k=6, last=9).with_gradients(),
    judge=lambda expected, got: (
        about(expected, got) if isinstance(expected, tuple) else far_away(expected, got)
    ),
    strict=True,
)


# ------------------------------------------------------------------------------------ SwiGLU

gated = Part(
    "SwiGLU(d_model, d_ff); forward(x (..., d_model)) -> (..., d_model)",
    modern.SwiGLU,
    reads=("lecture 11, on a gate", f"{LECTURE}#3.-SwiGLU:-a-feed-forward-network-with-a-gate"),
)
GATE = gated.step(
    "SiLU of `w_gate`, times `w_up`, through `w_down`, three maps without biases and nothing else",
    1,
    network(2, 3, 5, d_ff=7),
    network(1, 2, 60, d_ff=3),
    network(1, 2, 3, d_ff=140),
    network(12, 3, 4, d_ff=4, size=4.0),
    network(1, 150, 2, d_ff=3),
    network(1, 1, 5, d_ff=1),
    new("SwiGLU", 5, 7),
    judge=is_made_or_right,
)
GATE_MANNERS = gated.step(
    "any leading axes, float64, any layout, any mode, gradients",
    1,
    network(6, d_ff=8, units=4),
    network(2, 3, 4, 5, d_ff=6, units=3),
    network(2, 3, 5, d_ff=7, units=4, before=(2, 3, 5)),
    network(2, 3, 5, d_ff=7, units=4, before=(2, 2, 5)),
    network(2, 3, 5, d_ff=7, units=4).in_float64(),
    network(2, 3, 5, d_ff=7, units=4).with_gaps(),
    network(2, 6, 5, d_ff=9, units=5, training=True),
    network(2, 3, 5, d_ff=7, units=4).in_float64().with_gradients(),
    strict=True,
)


# ------------------------------------------------------------------------------- ModernBlock

block = Part(
    "ModernBlock(d_model, num_heads, d_ff, base=10000.0, eps=1e-6); "
    "forward(x (B, T, d_model), mask=None, positions=None) -> (B, T, d_model)",
    modern.ModernBlock,
    reads=("lecture 11, on the block", f"{LECTURE}#The-block-as-a-class"),
    may_call=("RMSNorm", "apply_rotary", "SwiGLU"),
    near=about,
)
ATTENDS = block.step(
    "attention on the normed x, with queries and keys turned in each head, is added to x",
    1,
    layer(B=1, T=4, d_model=8, H=2, d_ff=5, silent="feed_forward.w_down"),
    layer(B=2, T=5, d_model=12, H=3, d_ff=7, silent="feed_forward.w_down"),
    layer(B=3, T=4, d_model=6, H=1, d_ff=5, silent="feed_forward.w_down"),
    layer(B=2, T=6, d_model=16, H=4, d_ff=5, sharp=True, silent="feed_forward.w_down"),
    layer(B=2, T=5, d_model=12, H=3, d_ff=7, mask="T, T", silent="feed_forward.w_down"),
    layer(B=2, T=5, d_model=12, H=3, d_ff=7, mask="B, 1, 1, T", silent="feed_forward.w_down"),
    judge=about,
)
FEEDS = block.step(
    "SwiGLU on the normed sum is added to the sum, with masks of every shape and no further weights",
    1,
    layer(B=2, T=3, d_model=8, H=2, d_ff=5, silent="w_o"),
    layer(B=1, T=40, d_model=2, H=1, d_ff=2),
    layer(B=1, T=2, d_model=16, H=8, d_ff=3),
    layer(B=1, T=2, d_model=4, H=1, d_ff=70),
    layer(B=1, T=1, d_model=8, H=4, d_ff=3),
    layer(B=2, T=5, d_model=12, H=3, d_ff=7, mask="T, T"),
    layer(B=1, T=130, d_model=2, H=1, d_ff=2, mask="T, T", near=True),
    layer(B=2, T=5, d_model=8, H=4, d_ff=7, mask="B, H, T, T", blind="one head"),
    layer(B=3, T=4, d_model=8, H=2, d_ff=5, mask="H, 1, T"),
    replace(layer(B=2, T=4, d_model=8, H=2, d_ff=5, mask="T, T", blind="all heads"), random=True),
    new("ModernBlock", 8, 2, 6),
    judge=is_made_or_right,
)
BLOCK_MANNERS = block.step(
    "positions, `base` and `eps` are used; heads that do not fit are refused; "
    "float64, any layout and mode, gradients",
    1,
    layer(B=2, T=5, d_model=8, H=2, d_ff=5, last=120),
    layer(B=3, T=5, d_model=12, H=3, d_ff=5, last=120, own=True),
    layer(B=2, T=6, d_model=12, H=2, d_ff=5, last=60, base=50.0),
    layer(B=2, T=5, d_model=8, H=2, d_ff=5, eps=0.5),
    layer(B=2, T=5, d_model=8, H=2, d_ff=5, before="as many words"),
    layer(B=2, T=5, d_model=8, H=2, d_ff=5, mask="T, T", last=120, before="as many words"),
    layer(B=2, T=5, d_model=8, H=2, d_ff=5, before="fewer words"),
    layer(B=30, T=2, d_model=4, H=1, d_ff=3, training=True),
    refused(d_model=10, H=4),
    refused(d_model=9, H=2),
    layer(
        B=2, T=4, d_model=8, H=2, d_ff=5, mask="B, H, T, T", blind="one head", last=9
    ).in_float64(),
    layer(B=2, T=1, d_model=8, H=2, d_ff=5).in_float64(),
    layer(B=2, T=4, d_model=8, H=2, d_ff=5, mask="B, 1, 1, T").with_gaps(),
    layer(B=2, T=4, d_model=8, H=2, d_ff=5, mask="T, T").with_gradients(),
    layer(B=2, T=4, d_model=8, H=2, d_ff=5, mask="B, H, T, T", blind="one head").with_gradients(),
    judge=about,
    strict=True,
)
