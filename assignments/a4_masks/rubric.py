"""Assignment 4: causal and padding masks, both at once, and the shift that belongs to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.checks.cases import Case, Judge, Randn
from autograder.checks.check import Part
from autograder.checks.compare import kind_of, numbers, values_agree
from autograder.checks.problem import Judgement
from course_utils import masks

LECTURE = "../../lectures/04_masked_attention.ipynb"


# ------------------------------------------------------------------------------ what is drawn


def positions(T: int) -> Case:
    return Case(f"{T=}", lambda randn: [T])


def sentences(*rows: str, pad_id: int | None = None) -> Case:
    """Ids (B, S) with a word at each "w" and padding at each "-".

    Without ``pad_id`` the function's own default is used, 0. With it, which must then not be 0, the
    first two words are 0 and 1, and the last two are the neighbours of ``pad_id``, each once and
    without ``pad_id`` itself. Where there are more, one has the size of ``pad_id`` or its last eight
    bits, and one its last sixteen.
    """
    is_word = torch.tensor([[mark == "w" for mark in row] for row in rows])

    def draw(randn: Randn) -> list[Any]:
        pad = 0 if pad_id is None else pad_id
        words = torch.randint(70_000, is_word.shape, generator=randn.generator)
        words += words >= pad  # any number but the padding's
        if pad_id is None:
            return [torch.where(is_word, words, pad)]
        near = [0, 1, pad - 1, pad + 1, -pad if pad < 0 else pad + 2**8, pad + 2**16]
        near = [word for word in dict.fromkeys(near) if word != pad]
        places = is_word.nonzero()[[0, 1, -2, -1, 2, 3]] if is_word.sum() > 5 else is_word.nonzero()
        words[tuple(places[: len(near)].T)] = torch.tensor(near[: len(places)])
        return [torch.where(is_word, words, pad), pad_id]

    with_pad_id = f", {pad_id=}" if pad_id is not None else ""
    return Case(f"ids like {_shown(rows)} (w a word, - padding){with_pad_id}", draw)


def targets(*rows: str, bos_id: int) -> Case:
    """Target ids (B, T) with a word at each "w" and 0 at each "-", and bos_id.

    No id stands twice, so that every one can be told from its neighbours. The first is 2, which
    ends a sentence in many vocabularies and is a target like any other here. Sentences show ids of up to
    four digits as they are, which all are where there are few.
    """
    is_word = torch.tensor([[mark == "w" for mark in row] for row in rows])

    def draw(randn: Randn) -> list[Any]:
        words = 3 + 11 * torch.randperm(is_word.numel() + 900, generator=randn.generator)
        words = words[: is_word.numel()]
        words[0] = 2
        return [torch.where(is_word, words.reshape(is_word.shape), 0), bos_id]

    return Case(f"ids like {_shown(rows)} (w a word, - padding), {bos_id=}", draw)


def _shown(rows: tuple[str, ...]) -> str:
    """Rows for a label; of many, or long ones, their numbers."""
    if len(rows) > 4 or len(rows[0]) > 10:
        return f"{len(rows)} rows of {len(rows[0])} that begin as {rows[0][:6]}"
    return ", ".join(rows)


# of a padding mask and of a decoder mask
IN_FRONT = sentences("-wwww", "w-ww-", "wwwww", pad_id=7)
SMALL = (sentences("www-"), sentences("ww--", "wwww", "w---", "www-"), sentences("w", "-"))
PADDING_ANYWHERE = (
    sentences("wwwww", "www--"),
    sentences("w----", "wwww-"),
    sentences("ww--", "wwww", "w---"),
    sentences(*["wwwww-", "www---", "wwwwww"] * 4),
    sentences("w" * 150, "w" * 110 + "-" * 40),
    IN_FRONT,
    sentences("--www", "wwww-", pad_id=-100),
    sentences("wwww", "----", pad_id=50256),
    *SMALL,
    sentences("www--", "w-www", pad_id=1),
)
ANY_SIZE = (sentences("wwwww-", "www---", "wwwwww"), IN_FRONT, *SMALL)
UNTOUCHED = (IN_FRONT, sentences("www--", "wwww-").with_gaps())


# ------------------------------------------------------------------------------ what decides

HIDES = 1000.0  # a number this far below zero, added to a score, leaves it no weight


def entry_agrees(expected: Tensor, got: Tensor, asked: Tensor | None = None) -> Judgement:
    """The first entry that is wrong, of two bool tensors of one shape, where it is ``asked``."""
    wrong = expected != got if asked is None else (expected != got) & asked
    if not wrong.any():
        return None
    place = wrong.nonzero()[0].tolist()
    row, right = tuple(place[:-1]), bool(expected[tuple(place)])
    means = {True: "True (may attend)", False: "False (hidden)"}
    problem = (
        f"the entry {place} (counting from 0) should be {means[right]} and is {means[not right]}"
    )
    if place[-1] >= SHOWN:
        return problem
    return f"{problem}; its row should be {numbers(expected[row], SHOWN)} and is " + numbers(
        got[row], SHOWN
    )


SHOWN = 8  # entries of a row that a sentence can hold


def visible(expected: Tensor, got: Any) -> Tensor | str:
    """What a mask shows, as bool of the expected shape, in whatever way it is written; or why not.

    Read are 1 and 0 for True and False, lists of them, what is added to scores (0 and minus
    infinity), axes of length 1 left out, and a row repeated for every query. How a mask is to be
    written is another step's matter.
    """
    got = _as_tensor(got)
    if not isinstance(got, Tensor):
        return f"expected {kind_of(expected)}, got {kind_of(got)}"
    if ((got == 0) | (got < -HIDES)).all() and got.dtype != torch.bool:
        got = got == 0
    elif not ((got == 0) | (got == 1)).all():
        return f"expected nothing but True and False, got numbers such as {numbers(got)}"
    got = got.bool()
    if got.squeeze().shape == expected.squeeze().shape:
        return got.reshape(expected.shape)
    # one row for every query, of as many sentences and keys
    same_keys = got.shape[:-2] == expected.shape[:-2] and got.shape[-1] == expected.shape[-1]
    if same_keys and _fits(expected, got):
        return _of_all_rows(expected.expand_as(got), got)
    if _fits(got, expected):
        return got.expand_as(expected)
    return f"expected shape {tuple(expected.shape)}, got {tuple(got.shape)}"


def _as_tensor(got: Any) -> Any:
    """An array, or lists of numbers, as a tensor; anything else as it is."""
    if not isinstance(got, np.ndarray | list):
        return got
    try:
        return torch.as_tensor(got)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return got


def _fits(small: Tensor, large: Tensor) -> bool:
    """Whether one shape broadcasts to the other, as the masks of this course do to scores."""
    try:
        return torch.broadcast_shapes(small.shape, large.shape) == large.shape
    except RuntimeError:
        return False


def _of_all_rows(expected: Tensor, got: Tensor) -> Tensor:
    """One row for all queries, of a mask (B, 1, T, S) that has one for each.

    Rows that show nothing say nothing, if others do. Of the others, one that is wrong counts.
    """
    wrong = (expected != got).any(dim=-1, keepdim=True) & got.any(dim=-1, keepdim=True)
    shows = got.any(dim=-1, keepdim=True)
    place = (2 * wrong.int() + shows.int()).argmax(dim=-2, keepdim=True)
    return got.take_along_dim(place, dim=-2)


def _is_inverted(expected: Tensor, shown: Tensor) -> bool:
    """True for hidden, and rightly so throughout: that True means "may attend" is another matter."""
    both = bool(expected.any()) and not bool(expected.all())  # else nobody can tell
    return both and shown.shape == expected.shape and bool((shown == ~expected).all())


def shows_the_right_places(expected: Tensor, got: Any) -> Judgement:
    """Compare what is visible, in whatever way it is written."""
    shown = visible(expected, got)
    if isinstance(shown, str):
        return shown
    return None if _is_inverted(expected, shown) else entry_agrees(expected, shown)


def _shows_or_hides_nothing(expected: Tensor, got: Tensor) -> Judgement:
    one_of_two = expected.shape[-1] > 1 and expected.any() and not expected.all()
    if one_of_two and bool(got.bool().all()):
        return "your mask is True everywhere, so it hides nothing"
    if one_of_two and not bool(got.bool().any()):
        return "your mask is False everywhere, so nobody may attend to anything"
    return None


def has_the_shape(expected: Tensor, got: Any) -> Judgement:
    """A tensor of the right shape with something in it."""
    read = _as_tensor(got)
    if not isinstance(read, Tensor) or read.shape != expected.shape:
        return values_agree(expected, got)
    return _shows_or_hides_nothing(expected, read)


def is_written_as_bool(expected: Tensor, got: Any) -> Judgement:
    """True and False, and True means "may attend"."""
    if not isinstance(got, Tensor):
        return f"expected a torch tensor, got {kind_of(got)}"
    if got.dtype != torch.bool:
        return f"a mask should have the dtype torch.bool, yours has {got.dtype}"
    shown = visible(expected, got)
    if isinstance(shown, Tensor) and _is_inverted(expected, shown):
        return "True and False are exchanged: True means may attend"
    return _shows_or_hides_nothing(expected, got)


def is_a_mask(expected: Tensor, got: Any) -> Judgement:
    """The right shape and dtype, and True means "may attend"; the places are another step's."""
    return has_the_shape(expected, got) or is_written_as_bool(expected, got)


# -------------------------------------------------------------------------------- causal_mask


def is_a_triangle(expected: Tensor, got: Any) -> Judgement:
    """Compare what is visible, also in a triangle that is one row and column too large or small."""
    if isinstance(got, Tensor) and got.dim() == 2 and got.shape[0] == got.shape[1]:
        size = min(len(expected), len(got))
        if abs(len(expected) - len(got)) == 1 and size:
            return shows_the_right_places(expected[:size, :size], got[:size, :size])
    return shows_the_right_places(expected, got)


causal = Part(
    "causal_mask(size) -> (T, T) bool",
    masks.causal_mask,
    reads=("lecture 4, section 3, the causal mask", f"{LECTURE}#3.-The-causal-mask"),
)
causal.example = positions(4)
PAST = causal.step(
    "every word sees itself and what came before it, and nothing of the future",
    1,
    positions(5), positions(2), positions(7), positions(33), positions(520),
    judge=is_a_triangle,
)  # fmt: skip
CAUSAL_FORM = causal.step(
    "a tensor of torch.bool with the two axes (T, T), for every T; True means may attend",
    1, positions(3), positions(5), positions(1), positions(33), judge=is_a_mask, strict=True,
)  # fmt: skip


# ------------------------------------------------------------------------------- padding_mask

padding = Part(
    "padding_mask(token_ids (B, S), pad_id=0) -> (B, 1, 1, S) bool",
    masks.padding_mask,
    reads=("lecture 4, section 4, padding", f"{LECTURE}#4.-Padding"),
)
padding.example = sentences("www", "w--")
PADDING = padding.step(
    "words are visible and padding is hidden, for any pad_id and wherever padding stands",
    1, *PADDING_ANYWHERE, judge=shows_the_right_places,
)  # fmt: skip
PADDING_FORM = padding.step(
    "a bool tensor of shape (B, 1, 1, S), in which True means may attend; ids stay as they were, "
    "in any memory layout",
    1, *ANY_SIZE, *UNTOUCHED, judge=is_a_mask, strict=True,
)  # fmt: skip


# ------------------------------------------------------------------------------- decoder_mask


def _in_one_half(asked: Callable[[Tensor], Tensor]) -> Judge:
    """A judge of some entries of a decoder mask; ``asked`` tells them from the right mask."""

    def judge(expected: Tensor, got: Any) -> Judgement:
        shown = visible(expected, got)
        if isinstance(shown, str):
            return shown
        if _is_inverted(expected, shown):
            return None
        return entry_agrees(expected, shown, asked(expected).expand_as(expected))

    return judge


@_in_one_half
def hides_the_future(expected: Tensor) -> Tensor:
    """The keys that are words, which the last query of all may see, and all that is future."""
    return expected[:, :, -1:, :] | ~masks.causal_mask(expected.shape[-1])


@_in_one_half
def hides_padding(expected: Tensor) -> Tensor:
    """The keys up to each query."""
    return masks.causal_mask(expected.shape[-1])


decoder = Part(
    "decoder_mask(token_ids (B, T), pad_id=0) -> (B, 1, T, T) bool",
    masks.decoder_mask,
    reads=("lecture 4, section 4, padding and the causal mask joined", f"{LECTURE}#4.-Padding"),
    may_call=("causal_mask", "padding_mask"),
)
decoder.example = sentences("www", "w--")
OWN_PLACE = decoder.step(
    "of the words, each query sees those up to its own place, and none of the future",
    0.5, *PADDING_ANYWHERE, judge=hides_the_future,
)  # fmt: skip
WORDS = decoder.step(
    "of what came before, words are visible and padding is hidden, for any pad_id and wherever "
    "padding stands",
    0.5, *PADDING_ANYWHERE, judge=hides_padding,
)  # fmt: skip
DECODER_SHAPE = decoder.step("the shape (B, 1, T, T)", 0.5, *ANY_SIZE, judge=has_the_shape)
DECODER_FORM = decoder.step(
    "a bool tensor in which True means may attend; ids stay as they were, in any memory layout",
    0.5, *ANY_SIZE, *UNTOUCHED, judge=is_written_as_bool, strict=True,
)  # fmt: skip


# -------------------------------------------------------------------------------- shift_right


def moves_to_the_right(expected: Tensor, got: Any) -> Judgement:
    """Compare the ids; how many of them stand in a row is another step's matter.

    A row that is one too long is read from the left, one that is one too short lacks bos_id.
    """
    if isinstance(got, Tensor) and got.dim() == 2 and len(got) == len(expected):
        longer = got.shape[1] - expected.shape[1]
        if longer == 1:
            return values_agree(expected, got[:, :-1])
        if longer == -1:
            return values_agree(expected[:, 1:], got)
    return values_agree(expected, got)


def has_the_form_of_ids(expected: Tensor, got: Any) -> Judgement:
    """A row for each row of targets, as long as they are, and something done to them."""
    if not isinstance(got, Tensor) or got.shape != expected.shape or not got.numel():
        return values_agree(expected, got)
    begun_at_the_end = (got[:, -1] == expected[:, 0]).all()
    as_they_are = expected.shape[1] > 1 and (got[:, :-1] == expected[:, 1:]).all()
    if as_they_are and not begun_at_the_end:
        return "the targets came back, from the first on, as they are"
    return None


shift = Part(
    "shift_right(target_ids (B, T), bos_id) -> (B, T) int64",
    masks.shift_right,
    reads=("lecture 4, section 2, shifted targets", f"{LECTURE}#2.-Shifted-targets"),
)
shift.example = targets("www", "ww-", bos_id=1)
SHIFTED = shift.step(
    "each position holds the target before its own, and the first holds bos_id, whatever that is",
    1,
    targets("wwwww", "www--", bos_id=1),
    targets("wwww", "ww--", "wwww", bos_id=1),
    targets("www--", "wwwww", bos_id=1),
    targets(*["w" * 150] * 12, bos_id=50_000),
    targets("www", bos_id=0),
    targets("w", "w", "w", bos_id=101),
    targets("ww-w", "wwww", bos_id=-1),
    judge=moves_to_the_right,
)  # fmt: skip
SHIFTED_FORM = shift.step(
    "as long as the targets, of any length; int64, target_ids stays as it was, in any memory "
    "layout",
    1,
    targets("www--", "wwwww", bos_id=101),
    targets("www", "ww-", "w--", bos_id=1),
    targets("w", "w", "w", bos_id=101),
    targets("wwwww", "wwww-", bos_id=1).with_gaps(),
    judge=has_the_form_of_ids,
    strict=True,
)
