"""Assignment 13: induction scores, ablation, patching and the logit lens."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from autograder.checks.cases import Call, Case, Chain, Randn, given_to, model, set_of
from autograder.checks.check import Part
from autograder.probe.wire import Instance
from course_utils import inside, modern

LECTURE = "../../lectures/12_looking_inside.ipynb"
WORDS, MANY_WORDS, D_FF = 11, 307, 5
DEEP, SHALLOW, NARROW, LARGE = (3, 2, 6), (2, 3, 4), (4, 3, 2), (2, 9, 4)  # L, H, d_k
THIN = 2, 1, 2  # for long sentences
TWO_HEADS = [(0, 1), (2, 0)]


# ------------------------------------------------------------------------------ what is drawn


def weights(
    B: int, H: int, T: int, period: int, start: int | None = None, *, any_numbers: bool = False
) -> Case:
    """Weights (B, H, T, T), rows of a softmax or ``any_numbers``, a period and perhaps a start."""

    def draw(randn: Randn) -> list[Any]:
        return [_weights(randn, B, H, T, any_numbers), period, *_given(start)]

    notes = f"{B=}, {H=}, {T=}, {period=}" + ("" if start is None else f", {start=}")
    return Case(notes + ", weights of any size" * any_numbers, draw)


def _weights(randn: Randn, B: int, H: int, T: int, any_numbers: bool = False) -> Tensor:
    scores = 2 * randn(B, H, T, T)
    return scores if any_numbers else scores.softmax(dim=-1)


def _given(start: int | None) -> list[int]:
    return [] if start is None else [start]


def scored_again() -> Case:
    """Calls with other weights, of which the first and the last differ in nothing else."""

    def draw(randn: Randn) -> Chain:
        return Chain(
            [
                [_weights(randn, 2, 6, 9), 3, 1],
                [_weights(randn, 1, 7, 9), 2],
                [_weights(randn, 2, 6, 8), 3, 1],
                [_weights(randn, 2, 6, 9), 3, 1],
            ]
        )

    return Case("calls one after the other, with other weights, period and start", draw)


def nothing_repeats(T: int, period: int, start: int) -> Case:
    """The first copy fills the row, or is longer."""
    return Case(
        f"{T=}, {period=}, {start=}, so that nothing is repeated",
        lambda randn: [_weights(randn, 2, period + 1, T), period, start],
        raises=("ValueError",),
    )


def looked_into(randn: Randn, size: tuple[int, int, int], mode: str, hooked: bool) -> Instance:
    """A model of this size.

    Args:
        mode: "eval", "train" with dropout everywhere, "dropout" for this module alone, or "in part"
            for a model in train mode of which a layer is not.
        hooked: somebody else has hooks on some of its parts, and trains it.
    """
    L, H, d_k = size
    construct = words_of(size), H * d_k, H, L, D_FF
    names = [name for name, _ in modern.ModernLanguageModel(*construct).named_modules()]
    training = {
        "eval": [],
        "train": names,
        "dropout": ["dropout"],
        "in part": [name for name in names if not name.startswith("layers.1")],
    }[mode]
    parts = ["", "layers.0", "layers.0.w_o", "layers.1", "norm"] if hooked else []
    return model(
        modern.ModernLanguageModel,
        *construct,
        randn=randn,
        training=training,
        recorded=parts,
        dropout=0.0 if mode == "eval" else 0.5,
    )


def words_of(size: tuple[int, int, int]) -> int:
    """How many words a model of this size knows."""
    return MANY_WORDS if size == LARGE else WORDS


def ids(randn: Randn, *shape: int, words: int = WORDS) -> Tensor:
    return torch.randint(words, shape, generator=randn.generator)


def outside(token_ids: Tensor) -> Tensor:
    """The same ids but the last, which is no word."""
    changed = token_ids.clone()
    changed[-1, -1] = WORDS
    return changed


def about(size: tuple[int, int, int], B: int, T: int, mode: str, hooked: bool) -> str:
    """What a label says of a model and its words."""
    L, H, d_k = size
    told = {
        "eval": "",
        "train": ", a model in train mode with dropout 0.5",
        "dropout": ", a model in eval mode whose dropout of 0.5 is in train mode",
        "in part": ", a model in train mode with dropout 0.5, one layer of which is in eval mode",
    }
    words = f", {words_of(size)} words" * (size == LARGE)
    return f"{B=}, {T=}, {L=}, {H=}, {d_k=}{words}{told[mode]}" + (
        ", hooks and gradients of somebody else's on it" * hooked
    )


def errors(beyond: bool | str, refused: bool = False) -> tuple[str, ...]:
    """Which errors are asked for: where something is refused, or an id is beyond the vocabulary."""
    return ("ValueError",) if refused else ("Exception",) if beyond else ()


Pairs = list[tuple[int, int]]


def ablated(
    size: tuple[int, int, int],
    B: int,
    T: int,
    heads: Pairs,
    *,
    form: type = list,
    means: bool = False,
    mode: str = "eval",
    hooked: bool = False,
    beyond: bool = False,
    refused: bool = False,
) -> Case:
    """A model, its words and heads, in a list, tuple or set, and perhaps means of all heads.

    Args:
        mode, hooked: of the model, see `looked_into`.
        beyond: an id is outside the vocabulary.
        refused: a pair is outside the model.
    """

    def draw(randn: Randn) -> Call:
        token_ids = ids(randn, B, T, words=words_of(size))
        pairs = set_of(heads) if form is set else form(heads)
        shown = outside(token_ids) if beyond else token_ids
        given: list[Any] = [looked_into(randn, size, mode, hooked), shown, pairs]
        if means:
            given.append(randn(*size))
        return Call(given, tries=[token_ids])

    named = f", heads {heads}" + ("" if form is list else f" in a {form.__name__}")
    return Case(
        about(size, B, T, mode, hooked)
        + named
        + ", means given" * means
        + ", an id outside the vocabulary" * beyond,
        draw,
        raises=errors(beyond, refused),
    )


def patched(
    size: tuple[int, int, int],
    B: int,
    T: int,
    layer: int,
    position: int,
    *,
    mode: str = "eval",
    hooked: bool = False,
    beyond: str = "",
    refused: bool = False,
    corrupted: tuple[int, int] | None = None,
) -> Case:
    """A model, clean and corrupted words, a layer and a position.

    Args:
        mode, hooked: of the model, see `looked_into`.
        beyond: in which run an id is outside the vocabulary.
        refused: layer, position or shapes do not fit.
        corrupted: shape of the corrupted words, where it is another one.
    """

    def draw(randn: Randn) -> Call:
        clean, other = (
            ids(randn, *shape, words=words_of(size)) for shape in ((B, T), corrupted or (B, T))
        )
        made = looked_into(randn, size, mode, hooked)
        runs = [
            outside(run) if beyond == name else run
            for name, run in (("clean", clean), ("corrupted", other))
        ]
        return Call([made, *runs, layer, position], tries=[clean])

    return Case(
        about(size, B, T, mode, hooked)
        + f", {layer=}, {position=}"
        + (f", corrupted ids of shape {corrupted}" if corrupted else "")
        + (f", an id outside the vocabulary in the {beyond} run" if beyond else ""),
        draw,
        raises=errors(beyond, refused),
    )


def lens(
    size: tuple[int, int, int],
    B: int,
    T: int,
    *,
    mode: str = "eval",
    hooked: bool = False,
    beyond: bool = False,
) -> Case:
    """A model and its words, one of which may be outside the vocabulary."""

    def draw(randn: Randn) -> Call:
        token_ids = ids(randn, B, T, words=words_of(size))
        shown = outside(token_ids) if beyond else token_ids
        return Call([looked_into(randn, size, mode, hooked), shown], tries=[token_ids])

    return Case(
        about(size, B, T, mode, hooked) + ", an id outside the vocabulary" * beyond,
        draw,
        raises=errors(beyond),
    )


def again(label: str, runs: int, *more: list[Any], means: bool = False) -> Case:
    """Calls with one model, the first two of which differ in the words alone.

    Args:
        runs: how many runs of words each call is given.
        more: what each is given after them; with ``means``, the last is given means of all heads as well.
    """

    def draw(randn: Randn) -> Chain:
        calls: list[list[Any]] = []
        made = looked_into(randn, DEEP, "train", False)
        for (B, T), given in zip(((2, 5), (2, 5), (1, 4)), more or ([], [], []), strict=True):
            words = [ids(randn, B, T) for _ in range(runs)]
            calls.append([given_to(0, 0) if calls else made, *words, *given])
        if means:
            calls[-1].append(randn(*DEEP))
        return Chain(calls)

    return Case(f"calls with one model{label}", draw)


# --------------------------------------------------------------------------- induction_score

score = Part(
    "induction_score(weights (B, H, T, T), period, start=0) -> (H,)",
    inside.induction_score,
    reads=("lecture 12, on a score for heads", f"{LECTURE}#2.-Attention-maps-and-a-score"),
)
SUMMED = score.step(
    "for each query, the weights on the words after all earlier copies are summed",
    1,
    weights(B=1, H=7, T=5, period=3),
    weights(B=2, H=6, T=8, period=3),
    weights(B=3, H=7, T=6, period=3),
    weights(B=1, H=6, T=70, period=2),
    weights(B=2, H=6, T=10, period=4, any_numbers=True),
)
AVERAGED = score.step(
    "the mean over sentences and repeated queries, `start`, a ValueError where nothing is repeated; "
    "float64, untouched inputs, any memory layout, gradients",
    1,
    weights(B=2, H=6, T=9, period=3, start=1),
    weights(B=3, H=7, T=11, period=4, start=2),
    weights(B=2, H=6, T=8, period=2, start=2, any_numbers=True),
    weights(B=1, H=7, T=4, period=3, start=0),
    nothing_repeats(T=6, period=6, start=0),
    nothing_repeats(T=6, period=4, start=2),
    nothing_repeats(T=5, period=7, start=0),
    scored_again(),
    weights(B=2, H=6, T=9, period=3, start=1).in_float64(),
    weights(B=2, H=7, T=8, period=3, start=1).with_gaps(),
    weights(B=2, H=6, T=8, period=3, start=2).with_gradients(),
    strict=True,
)


# ------------------------------------------------------------------------------ ablate_heads

ablation = Part(
    "ablate_heads(model, token_ids (B, T), heads, means (L, H, d_k)=None) -> (B, T, V)",
    inside.ablate_heads,
    reads=("lecture 12, on ablation", f"{LECTURE}#3.-Ablation:-switch-a-head-off"),
)
SILENCED = ablation.step(
    "what these heads hand to `w_o` becomes zero, and later layers see the change",
    1,
    ablated(SHALLOW, B=1, T=5, heads=[(0, 1)]),
    ablated(DEEP, B=2, T=5, heads=[(0, 1), (2, 0)]),
    ablated(NARROW, B=2, T=6, heads=[(1, 2), (1, 0), (3, 1), (0, 0)]),
    ablated(DEEP, B=3, T=4, heads=[(1, 1), (1, 1)]),
    ablated(SHALLOW, B=2, T=4, heads=[]),
    ablated(NARROW, B=1, T=5, heads=[(3, 2), (0, 1)], form=tuple),
    ablated(LARGE, B=1, T=2, heads=[(1, 5), (0, 8)], form=set),
    ablated(THIN, B=1, T=60, heads=[(1, 0)]),
)
REPLACED = ablation.step(
    "with `means`, it becomes the mean of that head, at every sentence and position",
    1,
    ablated(SHALLOW, B=1, T=5, heads=[(1, 0)], means=True),
    ablated(DEEP, B=2, T=5, heads=[(2, 1), (0, 0)], means=True),
    ablated(NARROW, B=2, T=4, heads=[(1, 2), (1, 0), (3, 1)], means=True),
    ablated(SHALLOW, B=3, T=4, heads=[], means=True),
    ablated(DEEP, B=2, T=4, heads=[(1, 0), (1, 0)], form=tuple, means=True),
)
ABLATION_MANNERS = ablation.step(
    "pairs outside the model are refused; eval mode, and no trace in the model, also after an error; "
    "float64, untouched inputs, any memory layout",
    1,
    ablated(DEEP, B=2, T=4, heads=[(0, 1), (3, 0)], refused=True),
    ablated(DEEP, B=2, T=4, heads=[(0, 2)], refused=True),
    ablated(DEEP, B=2, T=4, heads=[(-1, 0)], refused=True),
    ablated(DEEP, B=2, T=4, heads=[(1, 1), (0, -1)], form=tuple, refused=True, mode="in part"),
    ablated(SHALLOW, B=2, T=5, heads=[(0, 2)], mode="train"),
    ablated(DEEP, B=2, T=4, heads=[(0, 1), (2, 1)], mode="in part", hooked=True),
    ablated(NARROW, B=2, T=4, heads=[(2, 1)], means=True, mode="dropout"),
    ablated(DEEP, B=2, T=4, heads=[(0, 1), (1, 0)], mode="in part", beyond=True),
    ablated(SHALLOW, B=1, T=4, heads=[(1, 1)], means=True, hooked=True, beyond=True),
    again(", other words and other heads", 1, [TWO_HEADS], [TWO_HEADS], [[(1, 1)]], means=True),
    ablated(DEEP, B=2, T=5, heads=[(2, 0)], mode="train", hooked=True).in_float64(),
    ablated(NARROW, B=2, T=5, heads=[(1, 1), (0, 2)], means=True, mode="train").with_gaps(),
    strict=True,
)


# -------------------------------------------------------------------------- patch_activation

patching = Part(
    "patch_activation(model, clean_ids (B, T), corrupted_ids (B, T), layer, position) -> (B, T, V)",
    inside.patch_activation,
    reads=("lecture 12, on patching", f"{LECTURE}#4.-Activation-patching:-put-one-vector-back"),
)
PATCHED = patching.step(
    "the logits of the corrupted run in which one vector before one layer is the clean one",
    1,
    patched(SHALLOW, B=1, T=5, layer=1, position=2),
    patched(DEEP, B=2, T=5, layer=1, position=1),
    patched(DEEP, B=3, T=4, layer=0, position=2),
    patched(NARROW, B=2, T=6, layer=3, position=5),
    patched(LARGE, B=1, T=2, layer=1, position=0),
    patched(THIN, B=1, T=60, layer=1, position=0),
    patched(SHALLOW, B=2, T=3, layer=0, position=0),
)
PATCH_MANNERS = patching.step(
    "what does not fit is refused; eval mode, and no trace in the model, also after an error; float64, "
    "untouched inputs, any memory layout",
    1,
    patched(DEEP, B=2, T=4, layer=3, position=1, refused=True),
    patched(DEEP, B=2, T=4, layer=-1, position=1, refused=True),
    patched(DEEP, B=2, T=4, layer=1, position=4, refused=True),
    patched(DEEP, B=2, T=4, layer=1, position=-1, refused=True, mode="in part"),
    patched(DEEP, B=2, T=5, layer=1, position=1, corrupted=(2, 4), refused=True),
    patched(DEEP, B=1, T=4, layer=1, position=1, corrupted=(3, 4), refused=True),
    patched(SHALLOW, B=2, T=5, layer=1, position=1, mode="train"),
    patched(DEEP, B=2, T=4, layer=0, position=2, mode="in part", hooked=True),
    patched(NARROW, B=2, T=4, layer=3, position=1, mode="dropout"),
    patched(DEEP, B=2, T=4, layer=1, position=1, mode="in part", beyond="corrupted"),
    patched(SHALLOW, B=2, T=4, layer=1, position=1, hooked=True, beyond="clean"),
    again(", other words, another layer and position", 2, [1, 2], [1, 2], [2, 1]),
    patched(DEEP, B=2, T=5, layer=2, position=1, mode="train", hooked=True).in_float64(),
    patched(NARROW, B=2, T=5, layer=2, position=3, mode="train").with_gaps(),
    strict=True,
)


# -------------------------------------------------------------------------------- logit_lens

looking = Part(
    "logit_lens(model, token_ids (B, T)) -> (L + 1, B, T, V)",
    inside.logit_lens,
    reads=(
        "lecture 12, on the logit lens",
        f"{LECTURE}#5.-Logit-lens-and-probe:-read-in-the-middle",
    ),
)
ROWS = looking.step(
    "the logits of the embeddings and of the stream after each layer, the last ones the model's own",
    1,
    lens(SHALLOW, B=1, T=5),
    lens(LARGE, B=1, T=2),
    lens(THIN, B=1, T=60),
    lens(NARROW, B=3, T=6),
    lens((1, 2, 4), B=2, T=3),
)
LENS_MANNERS = looking.step(
    "eval mode, and no trace in the model, also after an error; float64, untouched inputs, any memory "
    "layout",
    1,
    lens(SHALLOW, B=2, T=5, mode="train"),
    lens(DEEP, B=2, T=4, mode="in part", hooked=True),
    lens(NARROW, B=2, T=4, mode="dropout"),
    lens(DEEP, B=2, T=4, mode="in part", beyond=True),
    lens(SHALLOW, B=2, T=4, hooked=True, beyond=True),
    again(" and other words", 1),
    lens(DEEP, B=2, T=5, mode="train", hooked=True).in_float64(),
    lens(NARROW, B=2, T=5, mode="train").with_gaps(),
    strict=True,
)
