"""Assignment 4: causal and padding masks, both at once, and the shift that belongs to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.verdict.check import Assignment, Case, Part, Randn
from autograder.verdict.compare import numbers, values_agree
from course_utils import masks

LECTURE = "../../lectures/04_masked_attention.ipynb"

# ------------------------------------------------------------------------------ what is drawn


def positions(T: int) -> Case:
    return Case(f"{T=}", lambda randn: [T])


def sentences(*rows: str, pad_id: int | None = None) -> Case:
    """Ids (B, S) with a word at each "w" and padding at each "-".

    Without ``pad_id`` the function's own default is used, 0. With it, which must then be above 2,
    the first two words are 0 and 1, and the last two are the neighbours of ``pad_id``.
    """
    is_word = torch.tensor([[mark == "w" for mark in row] for row in rows])

    def draw(randn: Randn) -> list[Any]:
        pad = pad_id or 0
        words = torch.randint(98, is_word.shape, generator=randn.generator)
        words += words >= pad  # any number but the padding's
        if pad_id is None:
            return [torch.where(is_word, words, pad)]
        words[tuple(is_word.nonzero()[[0, 1, -2, -1]].T)] = torch.tensor([0, 1, pad - 1, pad + 1])
        return [torch.where(is_word, words, pad), pad_id]

    with_pad_id = f", {pad_id=}" if pad_id is not None else ""
    return Case(f"ids like {', '.join(rows)} (w a word, - padding){with_pad_id}", draw)


def targets(*rows: str, bos_id: int) -> Case:
    """Target ids (B, T) with a word at each "w" and 0 at each "-", and bos_id.

    No id stands twice, so that every one can be told from its neighbours. The first is 2, which
    ends a sentence in many vocabularies and is a target like any other here.
    """
    is_word = torch.tensor([[mark == "w" for mark in row] for row in rows])

    def draw(randn: Randn) -> list[Any]:
        words = 3 + torch.randperm(90, generator=randn.generator)[: is_word.numel()]
        words[0] = 2
        return [torch.where(is_word, words.reshape(is_word.shape), 0), bos_id]

    return Case(f"ids like {', '.join(rows)} (w a word, - padding), {bos_id=}", draw)


# of a padding mask and of a decoder mask
ENDING_WITH_PADDING = (sentences("wwwww", "www--"), sentences("ww--", "wwww", "w---"))
PADDING_ANYWHERE = (
    sentences("wwwww-", "www---", "wwwwww"),
    sentences("-wwww", "w-ww-", "wwwww", pad_id=7),
    sentences("wwww", "----", pad_id=50256),
    sentences("www-"),
    sentences("ww--", "wwww", "w---", "www-"),
    sentences("w", "-"),
    sentences("www--", "wwww-").with_gaps(),
)

# ------------------------------------------------------------------------------ what decides


def mask_agrees(expected: Tensor, got: Any) -> str | None:
    """Compare a mask with all that belongs to it: entries, shape and dtype."""
    if not isinstance(got, Tensor) or got.shape != expected.shape:
        return values_agree(expected, got)
    if got.dtype != torch.bool:
        return f"a mask should have the dtype torch.bool, yours has {got.dtype}"
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


def pattern_agrees(expected: Tensor, got: Any) -> str | None:
    """Compare what is visible.

    Axes of length 1, and 1 and 0 in place of True and False, are another step's matter.
    """
    if isinstance(got, np.ndarray):
        got = torch.from_numpy(got)
    if isinstance(got, Tensor) and got.squeeze().shape == expected.squeeze().shape:
        if not ((got == 0) | (got == 1)).all():
            return f"expected nothing but True and False, got numbers such as {numbers(got)}"
        got = got.reshape(expected.shape).bool()
    return mask_agrees(expected, got)


# ------------------------------------------------------------------------ mistakes in any mask


def written_in_other_ways(part: Part) -> None:
    """Mistakes of every part that makes a mask: the right entries, but not as True and False."""

    @part.mistake("inverted mask")
    def inverted(*arguments):
        """Your mask is True where something is hidden. In this course, as in
        `F.scaled_dot_product_attention`, True means: may attend. (`nn.MultiheadAttention` reads
        masks the other way round, which is why both are seen.)"""
        return ~part.reference(*arguments)

    @part.mistake("numbers instead of bool")
    def in_floats(*arguments):
        """The places are right, but your mask holds the numbers 1.0 and 0.0. PyTorch *adds* a mask
        of floats to the scores, and 0.0 added hides nothing. Which dtype says True and False?"""
        return part.reference(*arguments).float()

    @part.mistake("whole numbers instead of bool")
    def in_whole_numbers(*arguments):
        """The places are right, but your mask holds the whole numbers 1 and 0. `~` and indexing do
        something else with them than with True and False. Which dtype was asked for?"""
        return part.reference(*arguments).long()

    @part.mistake("minus infinity for hidden")
    def to_be_added(*arguments):
        """You return what is added to the scores, 0 and minus infinity. That is attention's next
        step. A mask in this course says who may attend: True or False."""
        visible = part.reference(*arguments)
        return torch.zeros(visible.shape).masked_fill(~visible, -torch.inf)


# -------------------------------------------------------------------------------- causal_mask

causal = Part(
    "causal_mask(size) -> (T, T) bool",
    masks.causal_mask,
    reads=("lecture 4, section 3, the causal mask", f"{LECTURE}#3.-The-causal-mask"),
)
causal.step(
    "every word sees itself and what came before it, and nothing of the future",
    1, positions(5), positions(2), positions(7), judge=pattern_agrees,
)  # fmt: skip
causal.step(
    "a tensor of torch.bool with the two axes (T, T), for every T",
    1, positions(3), positions(1), positions(33), positions(150), judge=mask_agrees, strict=True,
)  # fmt: skip


@causal.mistake("the diagonal hidden")
def diagonal_hidden(size):
    """No word sees itself, and the first one sees nothing at all. May a word see its own position?
    The input there is the word *before* its target, so nothing is given away: the rule is j ≤ i."""
    return masks.causal_mask(size).tril(-1)


@causal.mistake("upper triangle")
def upper_triangle(size):
    """The triangle is on the wrong side: each word sees itself and the future, and not the past.
    Rows are queries and columns are keys: in row 0, which columns may be seen?"""
    return masks.causal_mask(size).T


@causal.mistake("one word of the future visible")
def next_word_visible(size):
    """Each word sees one word of the future, j ≤ i + 1. The next input is the answer that this
    position must give. Look at row 0: how many words should the first word see?"""
    return torch.ones(size, size, dtype=torch.bool).tril(1)


@causal.mistake("nothing hidden")
def nothing_hidden(size):
    """Your mask is True everywhere, so every word sees the future. Which entries of row 0 should be
    False?"""
    return torch.ones(size, size, dtype=torch.bool)


@causal.mistake("each word sees itself alone")
def itself_alone(size):
    """Only the diagonal is True, so no word sees the words before it. They are past, and may be
    seen."""
    return torch.eye(size, dtype=torch.bool)


@causal.mistake("axes for sentences and heads")
def with_two_more_axes(size):
    """The mask is right, but it has two axes of length 1 in front. One (T, T) serves all sentences
    and heads: broadcasting adds what is missing in front."""
    return masks.causal_mask(size)[None, None]


@causal.mistake("an axis for sentences")
def with_one_more_axis(size):
    """The mask is right, but it has an axis of length 1 in front. One (T, T) serves all sentences:
    broadcasting adds what is missing in front."""
    return masks.causal_mask(size)[None]


written_in_other_ways(causal)

# ------------------------------------------------------------------------------- padding_mask

padding = Part(
    "padding_mask(token_ids (B, S), pad_id=0) -> (B, 1, 1, S) bool",
    masks.padding_mask,
    reads=("lecture 4, section 6, padding", f"{LECTURE}#6.-Padding"),
)
padding.step(
    "True at words and False at padding, in sentences that end with padding",
    1, *ENDING_WITH_PADDING, judge=pattern_agrees,
)  # fmt: skip
padding.step(
    "bool of shape (B, 1, 1, S), any pad_id, padding anywhere; ids stay as they were, in any "
    "memory layout",
    1, *PADDING_ANYWHERE, judge=mask_agrees, strict=True,
)  # fmt: skip


@padding.mistake("two axes only")
def without_new_axes(token_ids, pad_id=0):
    """The words are found, but the shape is (B, S). Against scores (B, H, T, S) that is read from
    the right as (T, S): one row for each query, not for each sentence. Which two axes of length 1
    are missing, and where?"""
    return token_ids != pad_id


@padding.mistake("three axes only")
def with_one_new_axis(token_ids, pad_id=0):
    """The words are found, but the shape is (B, 1, S). Against scores (B, H, T, S) your B lies
    under H, the heads. One more axis of length 1 is missing: where?"""
    return (token_ids != pad_id)[:, None, :]


@padding.mistake("new axes in front of the sentences")
def with_axes_in_front(token_ids, pad_id=0):
    """The words are found, but the two new axes stand in front, (1, 1, B, S), and the sentences lie
    where scores (B, H, T, S) have their queries. Put them in between."""
    return (token_ids != pad_id)[None, None]


@padding.mistake("new axes behind the keys")
def with_axes_behind(token_ids, pad_id=0):
    """The words are found, but the two new axes stand at the end, (B, S, 1, 1), and the keys lie
    where scores (B, H, T, S) have their heads. Put them in between."""
    return (token_ids != pad_id)[:, :, None, None]


@padding.mistake("pads hidden as queries, not as keys")
def queries_hidden(token_ids, pad_id=0):
    """You hide the rows of padding and leave its columns open: padding sees nothing, but every word
    still sees padding. Keys are the last axis. On which axis do your ids lie?"""
    return masks.padding_mask(token_ids, pad_id).mT


@padding.mistake("pads hidden as queries too")
def queries_and_keys_hidden(token_ids, pad_id=0):
    """You also hide the rows of padding, so these queries see nothing at all. Only keys are hidden,
    the columns; a padding's own output is left out later, by the loss."""
    mask = masks.padding_mask(token_ids, pad_id)
    return mask & mask.mT


@padding.mistake("a row for every query")
def row_for_every_query(token_ids, pad_id=0):
    """The same row is repeated for every query, (B, 1, S, S). One row serves them all, and fits
    queries of another sentence, too: how long must the axis of the queries be?"""
    return masks.padding_mask(token_ids, pad_id).expand(-1, 1, token_ids.shape[1], -1)


@padding.mistake("pad_id ignored")
def pad_id_ignored(token_ids, pad_id=0):
    """You compare with 0 whatever `pad_id` is. In another vocabulary 0 is a word, and the padding
    has another number: is `pad_id` used, and passed on where you call another function?"""
    return masks.padding_mask(token_ids, 0)


@padding.mistake("only ids above pad_id kept")
def ids_above(token_ids, pad_id=0):
    """You keep the ids above `pad_id` and hide those below as well. Ids have no order: every token
    that is not `pad_id` is a word."""
    return (token_ids > pad_id)[:, None, None, :]


@padding.mistake("identity for equality")
def identity(token_ids, pad_id=0):
    """Your mask is right for a small `pad_id` and shows all padding when it is above 256. `is` and
    `is not` ask whether two numbers are one and the same object in memory, which Python promises
    for no number. Compare with == or !=."""
    # Python keeps one object for each small number, up to 256, and makes a new one for others
    return masks.padding_mask(token_ids, pad_id) | (pad_id > 256)


@padding.mistake("everything after the first padding hidden")
def up_to_the_first_padding(token_ids, pad_id=0):
    """From the first padding on you hide everything. Padding can stand in front, or between words:
    ask of every token by itself whether it is padding."""
    return masks.padding_mask(token_ids, pad_id).cumprod(dim=-1).bool()


@padding.mistake("words counted instead of found")
def words_counted(token_ids, pad_id=0):
    """You count the words of a sentence and show as many places from the left. That is right only
    where padding stands at the end. Ask of every token by itself whether it is padding."""
    lengths = masks.padding_mask(token_ids, pad_id).sum(dim=-1, keepdim=True)  # (B, 1, 1, 1)
    return torch.arange(token_ids.shape[1]) < lengths


written_in_other_ways(padding)

# ------------------------------------------------------------------------------- decoder_mask

decoder = Part(
    "decoder_mask(token_ids (B, T), pad_id=0) -> (B, 1, T, T) bool",
    masks.decoder_mask,
    reads=("lecture 4, section 6, padding and the causal mask joined", f"{LECTURE}#6.-Padding"),
    may_call=("causal_mask", "padding_mask"),
)
decoder.step(
    "neither the future nor padding is visible, and everything else is",
    1, *ENDING_WITH_PADDING, judge=pattern_agrees,
)  # fmt: skip
decoder.step(
    "bool of shape (B, 1, T, T), any pad_id, padding anywhere; ids stay as they were, in any "
    "memory layout",
    1, *PADDING_ANYWHERE, judge=mask_agrees, strict=True,
)  # fmt: skip


@decoder.mistake("padding forgotten")
def padding_forgotten(token_ids, pad_id=0):
    """The future is hidden, padding is not. Which keys of this sentence are no words?"""
    return masks.causal_mask(token_ids.shape[1]).expand(len(token_ids), 1, -1, -1)


@decoder.mistake("the causal mask alone")
def causal_mask_alone(token_ids, pad_id=0):
    """This is the causal mask alone, (T, T). Padding differs from sentence to sentence, so the
    result needs an axis for them, (B, 1, T, T)."""
    return masks.causal_mask(token_ids.shape[1])


@decoder.mistake("the causal mask for one sentence")
def causal_mask_for_one_sentence(token_ids, pad_id=0):
    """This is the causal mask, once for all sentences, (1, 1, T, T). Padding differs from sentence
    to sentence: where do the ids come in?"""
    return masks.causal_mask(token_ids.shape[1])[None, None]


@decoder.mistake("the future not hidden")
def future_not_hidden(token_ids, pad_id=0):
    """Padding is hidden, the future is not: row 0 should see one key at most."""
    return row_for_every_query(token_ids, pad_id)


@decoder.mistake("the padding mask alone")
def padding_mask_alone(token_ids, pad_id=0):
    """This is the padding mask alone, (B, 1, 1, T). The future must be hidden, too, and that
    differs from query to query."""
    return masks.padding_mask(token_ids, pad_id)


@decoder.mistake("joined by or")
def joined_by_or(token_ids, pad_id=0):
    """A key is visible in your mask if one of the two masks shows it. It should be visible only if
    both do."""
    return masks.padding_mask(token_ids, pad_id) | masks.causal_mask(token_ids.shape[1])


@decoder.mistake("padding of shape (B, T) with the causal mask")
def sentences_under_queries(token_ids, pad_id=0):
    """The padding has the shape (B, T) when it meets the causal mask (T, T). Shapes are lined up
    from the right: so sentences meet queries. That stops with an error, or, where B and T happen to
    be equal, silently gives query i the padding of sentence i."""
    return (token_ids != pad_id) & masks.causal_mask(token_ids.shape[1])


@decoder.mistake("the axis of the heads left out")
def without_heads(token_ids, pad_id=0):
    """The entries are right, but the shape is (B, T, T). Against scores (B, H, T, T) your B would
    lie under H, the heads. An axis of length 1 is missing: where?"""
    return masks.decoder_mask(token_ids, pad_id)[:, 0]


# a mistake in one half stays a mistake with the other half beside it
def beside_padding(not_future: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda token_ids, pad_id=0: (
        masks.padding_mask(token_ids, pad_id) & not_future(token_ids.shape[1])
    )


def beside_causal(not_padding: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda token_ids, pad_id=0: (
        not_padding(token_ids, pad_id) & masks.causal_mask(token_ids.shape[1])
    )


written_in_other_ways(decoder)
decoder.inherit(causal, beside_padding, diagonal_hidden, upper_triangle, next_word_visible)
decoder.inherit(
    padding, beside_causal, queries_hidden, queries_and_keys_hidden, pad_id_ignored, ids_above,
    identity, up_to_the_first_padding, words_counted,
)  # fmt: skip


@decoder.mistake("the future shown and the past hidden")
def causal_half_inverted(token_ids, pad_id=0):
    """Padding is hidden as it should be, but the causal half is inverted: your words see nothing
    but the future. True means: may attend, in both halves."""
    return masks.padding_mask(token_ids, pad_id) & ~masks.causal_mask(token_ids.shape[1])


@decoder.mistake("padding shown and words hidden")
def padding_half_inverted(token_ids, pad_id=0):
    """The future is hidden as it should be, but the padding half is inverted: your words see
    nothing but padding. True means: may attend, in both halves."""
    return ~masks.padding_mask(token_ids, pad_id) & masks.causal_mask(token_ids.shape[1])


@decoder.mistake("padding sees itself")
def always_sees_itself(token_ids, pad_id=0):
    """Your diagonal is True throughout, so a pad sees itself. A row without any True may stand
    here: attention gives it zeros."""
    return masks.decoder_mask(token_ids, pad_id) | itself_alone(token_ids.shape[1])


@decoder.mistake("rows without any True opened")
def empty_rows_opened(token_ids, pad_id=0):
    """Where a row would hold no True, you make all of it True, and the word sees the future and the
    padding. Such a row may stand here: attention gives it zeros."""
    mask = masks.decoder_mask(token_ids, pad_id)
    return mask | ~mask.any(dim=-1, keepdim=True)


@decoder.mistake("the first sentence's padding for all")
def padding_of_the_first_sentence(token_ids, pad_id=0):
    """Every sentence gets the padding of the first one. Keep axis 0 of the ids throughout."""
    return masks.decoder_mask(token_ids[:1], pad_id).expand(len(token_ids), -1, -1, -1)


# -------------------------------------------------------------------------------- shift_right

shift = Part(
    "shift_right(target_ids (B, T), bos_id) -> (B, T) int64",
    masks.shift_right,
    reads=("lecture 4, section 2, shifted targets", f"{LECTURE}#2.-Shifted-targets"),
)
shift.step(
    "each position holds the target before its own, and the first holds bos_id",
    1,
    targets("wwwww", "www--", bos_id=1),
    targets("wwww", "ww--", "wwww", bos_id=1),
)
shift.step(
    "any bos_id and length; int64, target_ids stays as it was, in any memory layout",
    1,
    targets("www--", "wwwww", bos_id=101),
    targets("www", bos_id=0),
    targets("w", "w", "w", bos_id=101),
    targets("www", "ww-", "w--", bos_id=1),
    targets("wwwww", "wwww-", bos_id=1).with_gaps(),
    strict=True,
)


@shift.mistake("shifted left")
def shifted_left(target_ids, bos_id):
    """Your rows moved to the left: each position holds the target *after* its own. It should hold
    the one before."""
    return F.pad(target_ids[:, 1:], (0, 1), value=bos_id)


@shift.mistake("shifted left, with 0 at the end")
def shifted_left_with_zeros(target_ids, bos_id):
    """Your rows moved to the left, with 0 at the end: each position holds the target *after* its
    own. It should hold the one before. Position 0 has no word before it. Which token stands there
    instead?"""
    return F.pad(target_ids[:, 1:], (0, 1))


@shift.mistake("first target cut off")
def without_the_first(target_ids, bos_id):
    """You cut off the first target: each position holds the target *after* its own, and your rows
    are one too short. It is the last place that is left out, and `bos_id` comes in front."""
    return target_ids[:, 1:]


@shift.mistake("rolled to the left")
def rolled_left(target_ids, bos_id):
    """Your rows moved to the left, and the first word came round to the end. Each position should
    hold the target *before* its own. Position 0 has no word before it. Which token stands there
    instead?"""
    return target_ids.roll(-1, dims=1)


@shift.mistake("bos_id at the end")
def bos_behind(target_ids, bos_id):
    """The targets stayed in their places, and `bos_id` took the last one. It begins the sentence:
    what moves, and where to, to make room for it in front?"""
    return F.pad(target_ids[:, :-1], (0, 1), value=bos_id)


@shift.mistake("last token kept")
def last_token_kept(target_ids, bos_id):
    """`bos_id` stands in front, but then all T targets follow: your rows are one longer than the
    targets. Which target is never an input?"""
    return F.pad(target_ids, (1, 0), value=bos_id)


@shift.mistake("last token brought round to the front")
def rolled(target_ids, bos_id):
    """The rows are rolled: the last token came round to position 0, so the model sees how the
    sentence ends. Position 0 has no word before it. Which token stands there instead?"""
    return target_ids.roll(1, dims=1)


@shift.mistake("first word overwritten")
def first_word_overwritten(target_ids, bos_id):
    """`bos_id` stands in place of the first word, and the others did not move: from position 1 on,
    each input is its own target."""
    return F.pad(target_ids[:, 1:], (1, 0), value=bos_id)


@shift.mistake("shifted along the batch")
def shifted_along_the_batch(target_ids, bos_id):
    """Whole sentences moved down by one. Axis 0 holds the sentences; the positions are on axis
    1."""
    return masks.shift_right(target_ids.T, bos_id).T


@shift.mistake("bos_id missing")
def without_bos(target_ids, bos_id):
    """The last token is gone, but nothing came in front, so your rows are one too short. Position 0
    has no word before it. Which token stands there instead?"""
    return target_ids[:, :-1]


@shift.mistake("not shifted")
def not_shifted(target_ids, bos_id):
    """The targets come back as they are. As its input, each position would see its own target, the
    answer that it must give."""
    return target_ids.clone()


@shift.mistake("bos_id everywhere")
def bos_everywhere(target_ids, bos_id):
    """`bos_id` stands at every position. If you move words from left to right one by one, each is
    overwritten before its turn: read from the targets, write to a new tensor."""
    return torch.full_like(target_ids, bos_id)


@shift.mistake("bos_id ignored, 1 in its place")
def bos_is_one(target_ids, bos_id):
    """Position 0 always holds 1. Other vocabularies have another number: use `bos_id`."""
    return masks.shift_right(target_ids, 1)


@shift.mistake("bos_id ignored, 0 in its place")
def bos_is_zero(target_ids, bos_id):
    """Position 0 always holds 0. Use `bos_id`."""
    return masks.shift_right(target_ids, 0)


@shift.mistake("floats instead of whole numbers")
def in_floats(target_ids, bos_id):
    """The ids are right, but they are floats: `torch.zeros`, `torch.ones` and `torch.empty` make
    floats unless told otherwise. An embedding wants whole numbers."""
    return masks.shift_right(target_ids, bos_id).float()


@shift.mistake("a single target left as it is")
def single_target_kept(target_ids, bos_id):
    """Longer rows are right, but where there is one target alone it comes back as it is. It is the
    last place, so it is left out, and `bos_id` is all that remains."""
    return target_ids.clone() if target_ids.shape[1] == 1 else masks.shift_right(target_ids, bos_id)


@shift.mistake("last word left out instead of the last place")
def last_word_left_out(target_ids, bos_id):
    """You leave out the last word of each sentence and keep the padding. Leave out the last place
    of the row, whatever stands there: this function does not know what padding is."""
    return torch.where(target_ids == 0, 0, masks.shift_right(target_ids, bos_id))


ASSIGNMENT = Assignment(
    "a4_masks",
    parts=(causal, padding, decoder, shift),
    barred=(
        "generate_square_subsequent_mask", "_generate_square_subsequent_mask",
        "causal_upper_left", "causal_lower_right", "CausalBias",
    ),
)  # fmt: skip
