"""Assignment 4: causal and padding masks, both at once, and the shift that belongs to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.check import Assignment, Case, Mistake, Part, Step
from autograder.compare import kind_of, numbers
from course_utils import masks

LECTURE = "../../lectures/04_masked_attention.ipynb"

# ----------------------------------------------------------------------------- what is drawn


def positions(size: int) -> Callable[..., list]:
    return lambda generator: [size]


def sentences(*rows: str, pad_id: int | None = None) -> Callable[..., list]:
    """Draws ids (B, S) with a word at each "w" and padding at each "-".

    Without ``pad_id`` the function's own default is used, 0. With it, which must then be above 2,
    the first two words are 0 and 1, and the last two are the neighbours of ``pad_id``.
    """
    is_word = torch.tensor([[mark == "w" for mark in row] for row in rows])

    def draw(generator: torch.Generator) -> list[Any]:
        pad = pad_id or 0
        words = torch.randint(98, is_word.shape, generator=generator)
        words += words >= pad  # any number but the padding's
        if pad_id is None:
            return [torch.where(is_word, words, pad)]
        places = is_word.nonzero()[[0, 1, -2, -1]]
        words[tuple(places.T)] = torch.tensor([0, 1, pad - 1, pad + 1])
        return [torch.where(is_word, words, pad), pad_id]

    return draw


def targets(*rows: str, bos_id: int) -> Callable[..., list]:
    """Draws target ids (B, T) with a word at each "w" and 0 at each "-", and gives bos_id.

    No id stands twice, so that every one can be told from its neighbours. The first is 2, which ends
    a sentence in many vocabularies and is a target like any other here.
    """
    is_word = torch.tensor([[mark == "w" for mark in row] for row in rows])

    def draw(generator: torch.Generator) -> list[Any]:
        words = 3 + torch.randperm(90, generator=generator)[: is_word.numel()]
        words[0] = 2
        return [torch.where(is_word, words.reshape(is_word.shape), 0), bos_id]

    return draw


# ------------------------------------------------------------------------------ what decides


def _tensor_in(expected: Tensor, got: Any) -> Tensor | str:
    """The tensor or array in an answer as a tensor, or what is there instead."""
    if isinstance(got, np.ndarray):
        return torch.from_numpy(got)
    if isinstance(got, Tensor):
        return got
    # a list of lists would fill a page if its entries were described one by one
    found = f"a list of {len(got)}" if isinstance(got, list) else kind_of(got)
    return f"expected {kind_of(expected)}, got {found}"


def pattern_agrees(expected: Tensor, got: Any) -> str | None:
    """Compare what is visible.

    Axes of length 1, and 1 and 0 in place of True and False, are another step's matter.
    """
    got = _tensor_in(expected, got)
    if isinstance(got, str):
        return got
    if got.squeeze().shape != expected.squeeze().shape:
        return f"expected shape {tuple(expected.shape)}, got {tuple(got.shape)}"
    if not ((got == 0) | (got == 1)).all():
        return f"expected nothing but True and False, got numbers such as {numbers(got)}"
    return _entries_agree(expected, got.reshape(expected.shape).bool())


def mask_agrees(expected: Tensor, got: Any) -> str | None:
    """Compare a mask with all that belongs to it: entries, shape and dtype."""
    got = _tensor_in(expected, got)
    if isinstance(got, str):
        return got
    if got.shape != expected.shape:
        return f"expected shape {tuple(expected.shape)}, got {tuple(got.shape)}"
    if got.dtype != torch.bool:
        return f"a mask should have the dtype torch.bool, yours has {got.dtype}"
    return _entries_agree(expected, got)


def _entries_agree(expected: Tensor, got: Tensor) -> str | None:
    wrong = expected != got
    if not wrong.any():
        return None
    place = wrong.nonzero()[0].tolist()
    row, right = tuple(place[:-1]), bool(expected[tuple(place)])
    means = {True: "True (may attend)", False: "False (hidden)"}
    return (
        f"the entry {place} (counting from 0) should be {means[right]} and is {means[not right]}; "
        f"its row should be {numbers(expected[row])} and is {numbers(got[row])}"
    )


def ids_agree(expected: Tensor, got: Any) -> str | None:
    """Compare ids exactly; their dtype is another step's matter."""
    got = _tensor_in(expected, got)
    if isinstance(got, str):
        return got
    if got.shape != expected.shape:
        return f"expected shape {tuple(expected.shape)}, got {tuple(got.shape)}"
    wrong = (expected != got).any(dim=-1)
    if not wrong.any():
        return None
    row = int(wrong.nonzero()[0])
    return f"row {row} should be {numbers(expected[row])} and is {numbers(got[row])}"


# ---------------------------------------------------------------------- wrong causal masks


def triangle(size: int, diagonal: int = 0) -> Tensor:
    """Query i sees the keys up to i + diagonal."""
    return torch.ones(size, size, dtype=torch.bool).tril(diagonal)


def diagonal_hidden(size: int) -> Tensor:
    return triangle(size, -1)


def next_word_visible(size: int) -> Tensor:
    return triangle(size, 1)


def upper_triangle(size: int) -> Tensor:
    return triangle(size).T


def causal_inverted(size: int) -> Tensor:
    return ~triangle(size)


def causal_nothing_hidden(size: int) -> Tensor:
    return torch.ones(size, size, dtype=torch.bool)


def itself_alone(size: int) -> Tensor:
    return torch.eye(size, dtype=torch.bool)


def causal_with_two_more_axes(size: int) -> Tensor:
    return triangle(size)[None, None]


def causal_with_one_more_axis(size: int) -> Tensor:
    return triangle(size)[None]


# --------------------------------------------------------------------- wrong padding masks


def is_word(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return token_ids != pad_id


def is_above(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return token_ids > pad_id


def is_not_zero(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return token_ids != 0


def is_another_object(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    # Python keeps one object for each small number, up to 256, and makes a new one for others
    return (token_ids != pad_id) | (pad_id > 256)


def is_before_all_padding(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return (token_ids != pad_id).cumprod(dim=-1).bool()


def is_within_the_number_of_words(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    lengths = (token_ids != pad_id).sum(dim=-1, keepdim=True)  # (B, 1)
    return torch.arange(token_ids.shape[-1]) < lengths


def as_padding_mask(visible: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """padding_mask with another idea of what a word is."""

    def answer(token_ids: Tensor, pad_id: int = 0) -> Tensor:
        return visible(token_ids, pad_id)[:, None, None, :]

    return answer


def padding_inverted(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return ~masks.padding_mask(token_ids, pad_id)


def padding_without_new_axes(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return is_word(token_ids, pad_id)


def padding_with_one_new_axis(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return is_word(token_ids, pad_id)[:, None, :]


def padding_with_axes_in_front(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return is_word(token_ids, pad_id)[None, None]


def padding_with_axes_behind(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return is_word(token_ids, pad_id)[:, :, None, None]


def pads_hidden_as_queries(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return is_word(token_ids, pad_id)[:, None, :, None]


def pads_hidden_as_queries_and_keys(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    mask = masks.padding_mask(token_ids, pad_id)
    return mask & mask.transpose(-2, -1)


def padding_for_every_query(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    length = token_ids.shape[1]
    return masks.padding_mask(token_ids, pad_id).expand(-1, 1, length, length)


# --------------------------------------------------------------------- wrong decoder masks


def as_decoder_mask(
    not_padding: Callable[..., Tensor] = masks.padding_mask,
    not_future: Callable[..., Tensor] = masks.causal_mask,
) -> Callable[..., Tensor]:
    """decoder_mask made of other masks."""

    def answer(token_ids: Tensor, pad_id: int = 0) -> Tensor:
        return not_padding(token_ids, pad_id) & not_future(token_ids.shape[1])

    return answer


def padding_forgotten(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    batch, length = token_ids.shape
    return masks.causal_mask(length).expand(batch, 1, length, length)


def causal_mask_alone(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return masks.causal_mask(token_ids.shape[1])


def causal_mask_for_one_sentence(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return masks.causal_mask(token_ids.shape[1])[None, None]


def joined_by_or(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return masks.padding_mask(token_ids, pad_id) | masks.causal_mask(token_ids.shape[1])


def decoder_inverted(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return ~masks.decoder_mask(token_ids, pad_id)


def decoder_without_heads(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return masks.decoder_mask(token_ids, pad_id)[:, 0]


def always_sees_itself(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return masks.decoder_mask(token_ids, pad_id) | itself_alone(token_ids.shape[1])


def empty_rows_opened(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    mask = masks.decoder_mask(token_ids, pad_id)
    return mask | ~mask.any(dim=-1, keepdim=True)


def padding_of_the_first_sentence(token_ids: Tensor, pad_id: int = 0) -> Tensor:
    return masks.padding_mask(token_ids[:1], pad_id).expand(len(token_ids), -1, -1, -1)


# ------------------------------------------------- right masks, written down in another way


def in_numbers(mask: Callable[..., Tensor], dtype: torch.dtype) -> Callable[..., Tensor]:
    """1 for True and 0 for False."""
    return lambda *arguments: mask(*arguments).to(dtype)


def to_be_added(mask: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """0 for True and minus infinity for False."""

    def answer(*arguments: Any) -> Tensor:
        visible = mask(*arguments)
        return torch.zeros(visible.shape).masked_fill(~visible, -torch.inf)

    return answer


# ----------------------------------------------------------------------------- wrong shifts


def first_column(target_ids: Tensor, bos_id: int) -> Tensor:
    return target_ids.new_full((len(target_ids), 1), bos_id)


def shifted_left(target_ids: Tensor, bos_id: int) -> Tensor:
    return torch.cat([target_ids[:, 1:], first_column(target_ids, bos_id)], dim=1)


def shifted_left_with_zeros(target_ids: Tensor, bos_id: int) -> Tensor:
    return F.pad(target_ids[:, 1:], (0, 1))


def without_the_first(target_ids: Tensor, bos_id: int) -> Tensor:
    return target_ids[:, 1:]


def rolled_left(target_ids: Tensor, bos_id: int) -> Tensor:
    return target_ids.roll(-1, dims=1)


def bos_behind(target_ids: Tensor, bos_id: int) -> Tensor:
    return torch.cat([target_ids[:, :-1], first_column(target_ids, bos_id)], dim=1)


def last_token_kept(target_ids: Tensor, bos_id: int) -> Tensor:
    return torch.cat([first_column(target_ids, bos_id), target_ids], dim=1)


def rolled(target_ids: Tensor, bos_id: int) -> Tensor:
    return target_ids.roll(1, dims=1)


def first_word_overwritten(target_ids: Tensor, bos_id: int) -> Tensor:
    return torch.cat([first_column(target_ids, bos_id), target_ids[:, 1:]], dim=1)


def shifted_along_the_batch(target_ids: Tensor, bos_id: int) -> Tensor:
    return torch.cat([torch.full_like(target_ids[:1], bos_id), target_ids[:-1]], dim=0)


def without_bos(target_ids: Tensor, bos_id: int) -> Tensor:
    return target_ids[:, :-1]


def not_shifted(target_ids: Tensor, bos_id: int) -> Tensor:
    return target_ids.clone()


def bos_everywhere(target_ids: Tensor, bos_id: int) -> Tensor:
    return torch.full_like(target_ids, bos_id)


def bos_is_one(target_ids: Tensor, bos_id: int) -> Tensor:
    return masks.shift_right(target_ids, 1)


def bos_is_zero(target_ids: Tensor, bos_id: int) -> Tensor:
    return masks.shift_right(target_ids, 0)


def shifted_as_float(target_ids: Tensor, bos_id: int) -> Tensor:
    return masks.shift_right(target_ids, bos_id).float()


def single_target_kept(target_ids: Tensor, bos_id: int) -> Tensor:
    return target_ids.clone() if target_ids.shape[1] == 1 else masks.shift_right(target_ids, bos_id)


def last_word_left_out(target_ids: Tensor, bos_id: int) -> Tensor:
    shifted = masks.shift_right(target_ids, bos_id)
    return torch.where(target_ids == 0, 0, shifted)


# ---------------------------------------------------------------------- what students read

INVERTED = (
    "Your mask is True where something is hidden. In this course, as in "
    "`F.scaled_dot_product_attention`, True means: may attend. (`nn.MultiheadAttention` reads masks "
    "the other way round, which is why both are seen.)"
)
DIAGONAL = (
    "No word sees itself, and the first one sees nothing at all. May a word see its own position? "
    "The input there is the word *before* its target, so nothing is given away: the rule is j ≤ i."
)
NEXT_WORD = (
    "Each word sees one word of the future, j ≤ i + 1. The next input is the answer that this "
    "position must give. Look at row 0: how many words should the first word see?"
)
UPPER = (
    "The triangle is on the wrong side: each word sees itself and the future, and not the past. "
    "Rows are queries and columns are keys: in row 0, which columns may be seen?"
)
FLOAT = (
    "The places are right, but your mask holds the numbers 1.0 and 0.0. PyTorch *adds* a mask of "
    "floats to the scores, and 0.0 added hides nothing. Which dtype says True and False?"
)
WHOLE = (
    "The places are right, but your mask holds the whole numbers 1 and 0. `~` and indexing do "
    "something else with them than with True and False. Which dtype was asked for?"
)
ADDED = (
    "You return what is added to the scores, 0 and minus infinity. That is attention's next step. "
    "A mask in this course says who may attend: True or False."
)
NO_WORD_ORDER = (
    "From the first padding on you hide everything. Padding can stand in front, or between words: "
    "ask of every token by itself whether it is padding."
)
IDENTITY = (
    "Your mask is right for a small `pad_id` and shows all padding when it is above 256. `is` and "
    "`is not` ask whether two numbers are one and the same object in memory, which Python promises "
    "for no number. Compare with == or !=."
)
COUNTED = (
    "You count the words of a sentence and show as many places from the left. That is right only "
    "where padding stands at the end. Ask of every token by itself whether it is padding."
)
ABOVE = (
    "You keep the ids above `pad_id` and hide those below as well. Ids have no order: every token "
    "that is not `pad_id` is a word."
)
PAD_ID = (
    "You compare with 0 whatever `pad_id` is. In another vocabulary 0 is a word, and the padding "
    "has another number: is `pad_id` used, and passed on where you call another function?"
)
QUERIES_TOO = (
    "You also hide the rows of padding, so these queries see nothing at all. Only keys are hidden, "
    "the columns; a padding's own output is left out later, by the loss."
)
QUERIES_NOT_KEYS = (
    "You hide the rows of padding and leave its columns open: padding sees nothing, but every word "
    "still sees padding. Keys are the last axis. On which axis do your ids lie?"
)
NO_BOS = "Position 0 has no word before it. Which token stands there instead?"

# ------------------------------------------------------------------------------- the parts

causal_mask = Part(
    name="causal_mask",
    signature="causal_mask(size) -> (T, T) bool",
    reference=masks.causal_mask,
    steps=(
        Step(
            "every word sees itself and what came before it, and nothing of the future",
            1,
            (
                Case("T=5 positions", positions(5)),
                Case("T=2 positions", positions(2)),
                Case("T=7 positions", positions(7)),
            ),
            judge=pattern_agrees,
        ),
        Step(
            "a tensor of torch.bool with the two axes (T, T), for every T",
            1,
            (
                Case("T=3 positions", positions(3)),
                Case("a single position, T=1", positions(1)),
                Case("T=33 positions", positions(33)),
            ),
            judge=mask_agrees,
            strict=True,
        ),
    ),
    mistakes=(
        Mistake("the diagonal hidden", diagonal_hidden, DIAGONAL),
        Mistake("upper triangle", upper_triangle, UPPER),
        Mistake("inverted mask", causal_inverted, INVERTED),
        Mistake("one word of the future visible", next_word_visible, NEXT_WORD),
        Mistake("numbers instead of bool", in_numbers(masks.causal_mask, torch.float32), FLOAT),
        Mistake("whole numbers instead of bool", in_numbers(masks.causal_mask, torch.int64), WHOLE),
        Mistake("minus infinity for hidden", to_be_added(masks.causal_mask), ADDED),
        Mistake(
            "nothing hidden",
            causal_nothing_hidden,
            "Your mask is True everywhere, so every word sees the future. Which entries of row 0 "
            "should be False?",
        ),
        Mistake(
            "each word sees itself alone",
            itself_alone,
            "Only the diagonal is True, so no word sees the words before it. They are past, and "
            "may be seen.",
        ),
        Mistake(
            "axes for sentences and heads",
            causal_with_two_more_axes,
            "The mask is right, but it has two axes of length 1 in front. One (T, T) serves all "
            "sentences and heads: broadcasting adds what is missing in front.",
        ),
        Mistake(
            "an axis for sentences",
            causal_with_one_more_axis,
            "The mask is right, but it has an axis of length 1 in front. One (T, T) serves all "
            "sentences: broadcasting adds what is missing in front.",
        ),
    ),
    reads=("lecture 4, section 3, the causal mask", f"{LECTURE}#3.-The-causal-mask"),
    stand_ins="course_utils.masks",
)

padding_mask = Part(
    name="padding_mask",
    signature="padding_mask(token_ids (B, S), pad_id=0) -> (B, 1, 1, S) bool",
    reference=masks.padding_mask,
    steps=(
        Step(
            "True at words and False at padding, in sentences that end with padding",
            1,
            (
                Case("two sentences, S=5, one ends with two pads", sentences("wwwww", "www--")),
                Case("three sentences, S=4", sentences("ww--", "wwww", "w---")),
            ),
            judge=pattern_agrees,
        ),
        Step(
            "bool of shape (B, 1, 1, S), any pad_id, padding anywhere; ids stay as they were, in "
            "any memory layout",
            1,
            (
                Case("three sentences, S=6", sentences("wwwww-", "www---", "wwwwww")),
                Case(
                    "three sentences, S=5, pad_id=7, padding in front and in between",
                    sentences("-wwww", "w-ww-", "wwwww", pad_id=7),
                ),
                Case(
                    "two sentences, S=4, pad_id=50256, one of them all padding",
                    sentences("wwww", "----", pad_id=50256),
                ),
                Case("one sentence, S=4", sentences("www-")),
                Case("four sentences, S=4", sentences("ww--", "wwww", "w---", "www-")),
                Case("two single tokens, S=1", sentences("w", "-")),
                Case("ids with gaps in memory, S=5", sentences("www--", "wwww-"), strided=True),
            ),
            judge=mask_agrees,
            strict=True,
        ),
    ),
    mistakes=(
        Mistake("inverted mask", padding_inverted, INVERTED),
        Mistake(
            "two axes only",
            padding_without_new_axes,
            "The words are found, but the shape is (B, S). Against scores (B, H, T, S) that is read "
            "from the right as (T, S): one row for each query, not for each sentence. Which two "
            "axes of length 1 are missing, and where?",
        ),
        Mistake(
            "three axes only",
            padding_with_one_new_axis,
            "The words are found, but the shape is (B, 1, S). Against scores (B, H, T, S) your B "
            "lies under H, the heads. One more axis of length 1 is missing: where?",
        ),
        Mistake(
            "new axes in front of the sentences",
            padding_with_axes_in_front,
            "The words are found, but the two new axes stand in front, (1, 1, B, S), and the "
            "sentences lie where scores (B, H, T, S) have their queries. Put them in between.",
        ),
        Mistake(
            "new axes behind the keys",
            padding_with_axes_behind,
            "The words are found, but the two new axes stand at the end, (B, S, 1, 1), and the keys "
            "lie where scores (B, H, T, S) have their heads. Put them in between.",
        ),
        Mistake("pads hidden as queries, not as keys", pads_hidden_as_queries, QUERIES_NOT_KEYS),
        Mistake("pads hidden as queries too", pads_hidden_as_queries_and_keys, QUERIES_TOO),
        Mistake(
            "a row for every query",
            padding_for_every_query,
            "The same row is repeated for every query, (B, 1, S, S). One row serves them all, and "
            "fits queries of another sentence, too: how long must the axis of the queries be?",
        ),
        Mistake("numbers instead of bool", in_numbers(masks.padding_mask, torch.float32), FLOAT),
        Mistake(
            "whole numbers instead of bool", in_numbers(masks.padding_mask, torch.int64), WHOLE
        ),
        Mistake("minus infinity for hidden", to_be_added(masks.padding_mask), ADDED),
        Mistake("pad_id ignored", as_padding_mask(is_not_zero), PAD_ID),
        Mistake("only ids above pad_id kept", as_padding_mask(is_above), ABOVE),
        Mistake("identity for equality", as_padding_mask(is_another_object), IDENTITY),
        Mistake(
            "everything after the first padding hidden",
            as_padding_mask(is_before_all_padding),
            NO_WORD_ORDER,
        ),
        Mistake(
            "words counted instead of found",
            as_padding_mask(is_within_the_number_of_words),
            COUNTED,
        ),
    ),
    reads=("lecture 4, section 6, padding", f"{LECTURE}#6.-Padding"),
    stand_ins="course_utils.masks",
)

decoder_mask = Part(
    name="decoder_mask",
    signature="decoder_mask(token_ids (B, T), pad_id=0) -> (B, 1, T, T) bool",
    reference=masks.decoder_mask,
    steps=(
        Step(
            "neither the future nor padding is visible, and everything else is",
            1,
            (
                Case("two sentences, T=5, one ends with two pads", sentences("wwwww", "www--")),
                Case("three sentences, T=4", sentences("ww--", "wwww", "w---")),
            ),
            judge=pattern_agrees,
        ),
        Step(
            "bool of shape (B, 1, T, T), any pad_id, padding anywhere; ids stay as they were, in "
            "any memory layout",
            1,
            (
                Case("three sentences, T=6", sentences("wwwww-", "www---", "wwwwww")),
                Case(
                    "three sentences, T=5, pad_id=7, padding in front and in between",
                    sentences("-wwww", "w-ww-", "wwwww", pad_id=7),
                ),
                Case(
                    "two sentences, T=4, pad_id=50256, one of them all padding",
                    sentences("wwww", "----", pad_id=50256),
                ),
                Case("one sentence, T=4", sentences("www-")),
                Case("four sentences, T=4", sentences("ww--", "wwww", "w---", "www-")),
                Case("two single tokens, T=1", sentences("w", "-")),
                Case("ids with gaps in memory, T=5", sentences("www--", "wwww-"), strided=True),
            ),
            judge=mask_agrees,
            strict=True,
        ),
    ),
    mistakes=(
        Mistake(
            "padding forgotten",
            padding_forgotten,
            "The future is hidden, padding is not. Which keys of this sentence are no words?",
        ),
        Mistake(
            "the causal mask alone",
            causal_mask_alone,
            "This is the causal mask alone, (T, T). Padding differs from sentence to sentence, so "
            "the result needs an axis for them, (B, 1, T, T).",
        ),
        Mistake(
            "the causal mask for one sentence",
            causal_mask_for_one_sentence,
            "This is the causal mask, once for all sentences, (1, 1, T, T). Padding differs from "
            "sentence to sentence: where do the ids come in?",
        ),
        Mistake(
            "the future not hidden",
            padding_for_every_query,
            "Padding is hidden, the future is not: row 0 should see one key at most.",
        ),
        Mistake(
            "the padding mask alone",
            masks.padding_mask,
            "This is the padding mask alone, (B, 1, 1, T). The future must be hidden, too, and that "
            "differs from query to query.",
        ),
        Mistake(
            "joined by or",
            joined_by_or,
            "A key is visible in your mask if one of the two masks shows it. It should be visible "
            "only if both do.",
        ),
        Mistake("inverted mask", decoder_inverted, INVERTED),
        Mistake(
            "pads hidden as queries, not as keys",
            as_decoder_mask(pads_hidden_as_queries),
            QUERIES_NOT_KEYS,
        ),
        Mistake(
            "pads hidden as queries too",
            as_decoder_mask(pads_hidden_as_queries_and_keys),
            QUERIES_TOO,
        ),
        Mistake(
            "padding of shape (B, T) with the causal mask",
            as_decoder_mask(padding_without_new_axes),
            "The padding has the shape (B, T) when it meets the causal mask (T, T). Shapes are "
            "lined up from the right: so sentences meet queries. That stops with an error, or, "
            "where B and T happen to be equal, silently gives query i the padding of sentence i.",
        ),
        Mistake(
            "the axis of the heads left out",
            decoder_without_heads,
            "The entries are right, but the shape is (B, T, T). Against scores (B, H, T, T) your B "
            "would lie under H, the heads. An axis of length 1 is missing: where?",
        ),
        Mistake(
            "the diagonal hidden",
            as_decoder_mask(not_future=diagonal_hidden),
            DIAGONAL,
        ),
        Mistake("upper triangle", as_decoder_mask(not_future=upper_triangle), UPPER),
        Mistake(
            "the future shown and the past hidden",
            as_decoder_mask(not_future=causal_inverted),
            "Padding is hidden as it should be, but the causal half is inverted: your words see "
            "nothing but the future. True means: may attend, in both halves.",
        ),
        Mistake(
            "padding shown and words hidden",
            as_decoder_mask(padding_inverted),
            "The future is hidden as it should be, but the padding half is inverted: your words "
            "see nothing but padding. True means: may attend, in both halves.",
        ),
        Mistake(
            "one word of the future visible",
            as_decoder_mask(not_future=next_word_visible),
            NEXT_WORD,
        ),
        Mistake(
            "padding sees itself",
            always_sees_itself,
            "Your diagonal is True throughout, so a pad sees itself. A row without any True may "
            "stand here: attention gives it zeros.",
        ),
        Mistake(
            "rows without any True opened",
            empty_rows_opened,
            "Where a row would hold no True, you make all of it True, and the word sees the future "
            "and the padding. Such a row may stand here: attention gives it zeros.",
        ),
        Mistake("numbers instead of bool", in_numbers(masks.decoder_mask, torch.float32), FLOAT),
        Mistake(
            "whole numbers instead of bool", in_numbers(masks.decoder_mask, torch.int64), WHOLE
        ),
        Mistake("minus infinity for hidden", to_be_added(masks.decoder_mask), ADDED),
        Mistake("pad_id ignored", as_decoder_mask(as_padding_mask(is_not_zero)), PAD_ID),
        Mistake("only ids above pad_id kept", as_decoder_mask(as_padding_mask(is_above)), ABOVE),
        Mistake(
            "identity for equality",
            as_decoder_mask(as_padding_mask(is_another_object)),
            IDENTITY,
        ),
        Mistake(
            "everything after the first padding hidden",
            as_decoder_mask(as_padding_mask(is_before_all_padding)),
            NO_WORD_ORDER,
        ),
        Mistake(
            "words counted instead of found",
            as_decoder_mask(as_padding_mask(is_within_the_number_of_words)),
            COUNTED,
        ),
        Mistake(
            "the first sentence's padding for all",
            as_decoder_mask(padding_of_the_first_sentence),
            "Every sentence gets the padding of the first one. Keep axis 0 of the ids throughout.",
        ),
    ),
    reads=("lecture 4, section 6, padding and the causal mask joined", f"{LECTURE}#6.-Padding"),
    may_call=("causal_mask", "padding_mask"),
    stand_ins="course_utils.masks",
)

shift_right = Part(
    name="shift_right",
    signature="shift_right(target_ids (B, T), bos_id) -> (B, T) int64",
    reference=masks.shift_right,
    steps=(
        Step(
            "each position holds the target before its own, and the first holds bos_id",
            1,
            (
                Case("two sentences, T=5, bos_id=1", targets("wwwww", "www--", bos_id=1)),
                Case("three sentences, T=4, bos_id=1", targets("wwww", "ww--", "wwww", bos_id=1)),
            ),
            judge=ids_agree,
        ),
        Step(
            "any bos_id and length; int64, target_ids stays as it was, in any memory layout",
            1,
            (
                Case("two sentences, T=5, bos_id=101", targets("www--", "wwwww", bos_id=101)),
                Case("one sentence, T=3, bos_id=0", targets("www", bos_id=0)),
                Case("three single targets, T=1, bos_id=101", targets("w", "w", "w", bos_id=101)),
                Case("three sentences, T=3, bos_id=1", targets("www", "ww-", "w--", bos_id=1)),
                Case(
                    "ids with gaps in memory, T=5, bos_id=1",
                    targets("wwwww", "wwww-", bos_id=1),
                    strided=True,
                ),
            ),
            judge=ids_agree,
            strict=True,
        ),
    ),
    mistakes=(
        Mistake(
            "shifted left",
            shifted_left,
            "Your rows moved to the left: each position holds the target *after* its own. It should "
            "hold the one before.",
        ),
        Mistake(
            "shifted left, with 0 at the end",
            shifted_left_with_zeros,
            "Your rows moved to the left, with 0 at the end: each position holds the target *after* "
            "its own. It should hold the one before. " + NO_BOS,
        ),
        Mistake(
            "first target cut off",
            without_the_first,
            "You cut off the first target: each position holds the target *after* its own, and your "
            "rows are one too short. It is the last place that is left out, and `bos_id` comes in "
            "front.",
        ),
        Mistake(
            "rolled to the left",
            rolled_left,
            "Your rows moved to the left, and the first word came round to the end. Each position "
            "should hold the target *before* its own. " + NO_BOS,
        ),
        Mistake(
            "bos_id at the end",
            bos_behind,
            "The targets stayed in their places, and `bos_id` took the last one. It begins the "
            "sentence: what moves, and where to, to make room for it in front?",
        ),
        Mistake(
            "last token kept",
            last_token_kept,
            "`bos_id` stands in front, but then all T targets follow: your rows are one longer than "
            "the targets. Which target is never an input?",
        ),
        Mistake(
            "last token brought round to the front",
            rolled,
            "The rows are rolled: the last token came round to position 0, so the model sees how "
            "the sentence ends. " + NO_BOS,
        ),
        Mistake(
            "first word overwritten",
            first_word_overwritten,
            "`bos_id` stands in place of the first word, and the others did not move: from position "
            "1 on, each input is its own target.",
        ),
        Mistake(
            "shifted along the batch",
            shifted_along_the_batch,
            "Whole sentences moved down by one. Axis 0 holds the sentences; the positions are on "
            "axis 1.",
        ),
        Mistake(
            "bos_id missing",
            without_bos,
            "The last token is gone, but nothing came in front, so your rows are one too short. "
            + NO_BOS,
        ),
        Mistake(
            "not shifted",
            not_shifted,
            "The targets come back as they are. As its input, each position would see its own "
            "target, the answer that it must give.",
        ),
        Mistake(
            "bos_id everywhere",
            bos_everywhere,
            "`bos_id` stands at every position. If you move words from left to right one by one, "
            "each is overwritten before its turn: read from the targets, write to a new tensor.",
        ),
        Mistake(
            "bos_id ignored, 1 in its place",
            bos_is_one,
            "Position 0 always holds 1. Other vocabularies have another number: use `bos_id`.",
        ),
        Mistake(
            "bos_id ignored, 0 in its place",
            bos_is_zero,
            "Position 0 always holds 0. Use `bos_id`.",
        ),
        Mistake(
            "floats instead of whole numbers",
            shifted_as_float,
            "The ids are right, but they are floats: `torch.zeros`, `torch.ones` and "
            "`torch.empty` make floats unless told otherwise. An embedding wants whole numbers.",
        ),
        Mistake(
            "a single target left as it is",
            single_target_kept,
            "Longer rows are right, but where there is one target alone it comes back as it is. It "
            "is the last place, so it is left out, and `bos_id` is all that remains.",
        ),
        Mistake(
            "last word left out instead of the last place",
            last_word_left_out,
            "You leave out the last word of each sentence and keep the padding. Leave out the last "
            "place of the row, whatever stands there: this function does not know what padding is.",
        ),
    ),
    reads=("lecture 4, section 2, shifted targets", f"{LECTURE}#2.-Shifted-targets"),
    stand_ins="course_utils.masks",
)

ASSIGNMENT = Assignment(
    name="a4_masks",
    parts=(causal_mask, padding_mask, decoder_mask, shift_right),
    barred=(
        "generate_square_subsequent_mask", "_generate_square_subsequent_mask",
        "causal_upper_left", "causal_lower_right", "CausalBias",
    ),
)  # fmt: skip
